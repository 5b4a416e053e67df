//! Small instances of a list: the same kernels and buffers with other sizes.
//!
//! What a size is, is guessed: a push constant, or a number in a buffer, that the work-group counts follow from, one next to it, or a product of two.
//! A wrong guess costs an instance and never a verdict, because an instance is a list like any other: it counts only if the planner
//! makes the same code of it and the unfused run of it is defined.

use crate::kernel::Binding;
use crate::plan::{Arg, ImageSize, Number, Numbers, Submission};

/// A list with other sizes.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub(super) list: Vec<Submission>,
    /// Its sizes, for people.
    pub(super) name: String,
}

/// Most invocations of one submission of an instance.
const MAX_INVOCATIONS: u64 = 2048;
/// Most bytes that an instance binds of one buffer.
const MAX_BYTES: u64 = 1 << 16;
/// Most texels of an image of an instance.
const MAX_TEXELS: u64 = 1 << 14;
/// Bindings begin at multiples of this on every device.
const ALIGN: u64 = 256;

/// The instances of a list, the smallest last: those in the middle show most.
pub(super) fn all(list: &[Submission]) -> Vec<Instance> {
    let local = |one: &Submission| one.kernel.interface.local_size[0].max(1);
    let widest = list.iter().map(local).max().unwrap_or(1);
    let mut targets = vec![2 * widest + 3, widest + 1, 3 * widest, widest, widest.saturating_sub(1), 1, 0];
    targets.dedup();
    let mut instances: Vec<Instance> = Vec::new();
    let mut add = |instance: Option<Instance>| {
        let Some(instance) = instance.filter(is_small) else { return };
        if !instances.iter().any(|known| same_sizes(&known.list, &instance.list)) {
            instances.push(instance);
        }
    };
    add(Some(Instance { list: list.to_vec(), name: "the sizes that it has".to_owned() }));
    let sizes = Sizes::of(list);
    for target in targets {
        for scaled in [false, true] {
            add(sizes.with(list, target, scaled));
        }
    }
    instances
}

fn is_small(instance: &Instance) -> bool {
    instance.list.iter().all(|one| {
        let local = one.kernel.interface.local_size;
        let invocations = (0..3).map(|d| u64::from(one.groups[d]) * u64::from(local[d])).product::<u64>();
        let fits = |(arg, binding): (&Arg, &Binding)| match (binding.kind.texture(), arg.image) {
            (Some(_), Some(image)) => texels(&image) <= MAX_TEXELS,
            // A sampler has no bytes; whether an image without a known size can be run is decided where it is.
            (Some(_), None) => true,
            (None, _) => arg.offset + arg.len <= 4 * MAX_BYTES,
        };
        invocations <= MAX_INVOCATIONS && one.args.iter().zip(&one.kernel.interface.bindings).all(fits)
    })
}

/// How many texels an image has.
pub(super) fn texels(image: &ImageSize) -> u64 {
    image.extent.iter().map(|&side| u64::from(side.max(1))).product()
}

fn same_sizes(a: &[Submission], b: &[Submission]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.groups == b.groups && a.push == b.push && a.args == b.args)
}

/// What the group counts of a list follow from.
struct Sizes {
    /// Push constants that group counts follow from, largest first.
    tied: Vec<u32>,
    /// Most items of a submission in one dimension.
    most: u64,
}

impl Sizes {
    fn of(list: &[Submission]) -> Self {
        let mut tied: Vec<u32> = Vec::new();
        let mut most = 1;
        for one in list {
            for d in 0..3 {
                most = most.max(u64::from(one.groups[d]) * u64::from(one.kernel.interface.local_size[d]));
                let words = list
                    .iter()
                    .flat_map(|other| words(&other.push).chain(numbers(other)).chain(sides(other)));
                tied.extend(words.filter(|&word| ratio(one, d, word).is_some()));
            }
        }
        tied.sort_unstable_by(|a, b| b.cmp(a));
        tied.dedup();
        Self { tied, most }
    }

    /// The list with its largest size replaced, and the others in proportion.
    fn with(&self, list: &[Submission], target: u32, scaled: bool) -> Option<Instance> {
        let largest = self.tied.first().map_or(self.most, |&word| u64::from(word)).max(1);
        let shrink = |size: u64| size * u64::from(target) / largest;
        // What is smaller than the target is small enough: rows of a large matrix shrink, its columns do not.
        let size = |word: u32| {
            let small = u64::from(word) <= u64::from(target.max(64)) && u64::from(word) < largest;
            if small { word } else { shrink(u64::from(word)) as u32 }
        };
        let submissions = list.iter().map(|one| {
            let mut one = one.clone();
            for d in 0..3 {
                one.groups[d] = self.groups(&one, d, &size, target, largest);
            }
            let push: Vec<u8> =
                words(&one.push).flat_map(|word| self.replaced(word, &size).to_le_bytes()).collect();
            one.push[..push.len()].copy_from_slice(&push);
            for arg in &mut one.args {
                let replaced = |number: Number| match (number.width, number.value as u32) {
                    (32, word) => u64::from(self.replaced(word, &size)),
                    _ => number.value,
                };
                arg.numbers = arg.numbers.as_ref().map(|numbers| numbers.map(replaced));
                if let Some(image) = &mut arg.image {
                    image.extent = image.extent.map(|side| self.side(side, &size));
                    continue;
                }
                if scaled {
                    arg.offset = shrink(arg.offset).next_multiple_of(ALIGN);
                    arg.len = arg.len.min(shrink(arg.len).next_multiple_of(16).max(16));
                } else {
                    arg.len = arg.len.min(MAX_BYTES);
                }
            }
            one
        });
        let bytes = if scaled { ", buffers in proportion" } else { "" };
        Some(Instance { list: submissions.collect(), name: format!("size {target}{bytes}") })
    }

    fn groups(
        &self,
        one: &Submission,
        d: usize,
        size: &impl Fn(u32) -> u32,
        target: u32,
        largest: u64,
    ) -> u32 {
        let (groups, local) = (one.groups[d], one.kernel.interface.local_size[d].max(1));
        let tied = self.tied.iter().find_map(|&word| ratio(one, d, word).map(|ratio| (word, ratio)));
        match tied {
            _ if groups <= 1 => groups,
            Some((word, ratio)) => size(word).div_ceil(local * ratio).max(1),
            None => {
                let shrunk = (u64::from(groups) * u64::from(target)).div_ceil(largest) as u32;
                shrunk.clamp(1, groups)
            }
        }
    }

    /// The side of an image as it is in the instance; an image has at least one texel.
    fn side(&self, side: u32, size: &impl Fn(u32) -> u32) -> u32 {
        if side == 0 { 0 } else { self.replaced(side, size).max(1) }
    }

    /// A push constant as it is in the instance.
    fn replaced(&self, word: u32, size: &impl Fn(u32) -> u32) -> u32 {
        if self.tied.contains(&word) {
            return size(word);
        }
        let is_tied = |word: Option<u32>| word.filter(|word| self.tied.contains(word));
        if let Some(next) = is_tied(word.checked_add(1)) {
            return size(next).saturating_sub(1);
        }
        if let Some(before) = is_tied(word.checked_sub(1)) {
            return size(before) + 1;
        }
        let product = self.tied.iter().flat_map(|&a| self.tied.iter().map(move |&b| (a, b)));
        for (a, b) in product {
            if a.checked_mul(b) == Some(word) {
                return size(a).saturating_mul(size(b));
            }
        }
        word
    }
}

/// How many items of a size an invocation does, if the group count follows from it.
fn ratio(one: &Submission, d: usize, word: u32) -> Option<u32> {
    let (groups, local) = (one.groups[d], one.kernel.interface.local_size[d].max(1));
    let fits =
        |ratio: &u32| local.checked_mul(*ratio).is_some_and(|per_group| word.div_ceil(per_group) == groups);
    (groups > 1 && word > 1).then(|| [1, 2, 4, 8].into_iter().find(fits)).flatten()
}

/// The whole words among the numbers in its buffers.
fn numbers(one: &Submission) -> impl Iterator<Item = u32> + '_ {
    let numbers = one.args.iter().flat_map(|arg| &arg.numbers).flat_map(Numbers::iter);
    numbers.filter(|number| number.width == 32).map(|number| number.value as u32)
}

/// The sides of its images.
fn sides(one: &Submission) -> impl Iterator<Item = u32> + '_ {
    one.args.iter().flat_map(|arg| arg.image).flat_map(|image| image.extent)
}

/// The whole words of push constants.
fn words(push: &[u8]) -> impl Iterator<Item = u32> + '_ {
    push.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word))
}
