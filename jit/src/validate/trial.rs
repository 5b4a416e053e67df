//! One instance, run unfused and as planned, and compared.

use std::collections::BTreeMap;

use ahash::AHashSet;

use super::images::Images;
use super::instance::Instance;
use super::{NotApplicable, Verdict};
use crate::kernel::TextureKind;
use crate::plan::{Bound, FloatMode, Internalization, Limits, Number, Numbers, Plan, Step, plan_unfused};
use vkfuse_interp::{
    Bind, Dispatch, Findings, Memory, ObjectId, Options, OracleError, Order, Program, execute,
};

/// Instructions after which a run is given up.
const MAX_STEPS: u64 = 1 << 25;

/// What buffers hold at first.
#[derive(Clone, Copy)]
enum Fill {
    /// Small numbers, which can be sizes and indices.
    Numbers,
    /// Numbers below 256, none of them 0 at the beginning of a buffer.
    Bytes,
    /// Floats between -2 and 2.
    Floats,
}

/// An instance with its plan.
pub(super) struct Trial<'a> {
    instance: &'a Instance,
    plan: &'a Plan,
    float: FloatMode,
    limits: &'a Limits,
    /// How many bytes each buffer has, by number.
    sizes: BTreeMap<u64, u64>,
    images: Images,
    /// Buffers that stay inside.
    inside: AHashSet<u64>,
}

/// What a run left, by buffer.
type Bytes = BTreeMap<u64, Vec<u8>>;

impl<'a> Trial<'a> {
    pub(super) fn new(instance: &'a Instance, plan: &'a Plan, float: FloatMode, limits: &'a Limits) -> Self {
        let mut sizes = BTreeMap::new();
        let images = Images::of(&instance.list);
        for one in &instance.list {
            for (arg, binding) in one.args.iter().zip(&one.kernel.interface.bindings) {
                let size = sizes.entry(arg.buffer.0).or_insert(0);
                let has_bytes = binding.kind.texture().is_none_or(TextureKind::is_texels);
                if has_bytes {
                    *size = arg.offset.saturating_add(arg.len).max(*size);
                }
            }
        }
        sizes.extend(images.sizes());
        let inside = plan.report.buffers.iter().filter(|b| b.got != Internalization::None);
        let inside = inside.map(|b| b.buffer.0).collect();
        Self { instance, plan, float, limits, sizes, images, inside }
    }

    pub(super) fn verdict(&self) -> Verdict {
        let mut undefined = None;
        let mut instances = 0;
        for fill in [Fill::Numbers, Fill::Bytes, Fill::Floats] {
            match self.compare(fill) {
                Ok(None) => instances = 1,
                Ok(Some(what)) => return Verdict::Differs { instance: self.instance.name.clone(), what },
                Err(reason) => undefined = Some(reason),
            }
        }
        match undefined {
            Some(reason) if instances == 0 => Verdict::NotApplicable { reason },
            _ => Verdict::Agreed { instances },
        }
    }

    /// What differs, if anything.
    fn compare(&self, fill: Fill) -> Result<Option<String>, NotApplicable> {
        let unfused: Vec<Step> = self
            .instance
            .list
            .iter()
            .map(|one| plan_unfused(one, self.float, self.limits))
            .collect::<Result<_, _>>()
            .map_err(|error| NotApplicable::Interpreter(error.to_string()))?;
        let mut unfused = programs(&unfused)?;
        let formats = self.images.formats(&unfused)?;
        self.images.tell(&mut unfused, &formats)?;
        // At first only numbers count as initialised; what else the list reads before it writes it has to be.
        let known = self.instance.list.iter().flat_map(|one| &one.args).filter(|arg| arg.numbers.is_some());
        let mut initialised: AHashSet<u32> = known.map(|arg| self.object(arg.buffer.0).0).collect();
        let (expected, before) = loop {
            let before = self.memory(fill, &initialised);
            let (bytes, findings) = self.run(&unfused, &before, Order::Forward).map_err(not_run)?;
            let read = findings.uninitialised.list.iter().filter_map(|read| read.object);
            let more: Vec<ObjectId> = read.filter(|object| !initialised.contains(&object.0)).collect();
            if more.is_empty() {
                if let Some(finding) = first_of(&findings) {
                    return Err(NotApplicable::Undefined(finding));
                }
                break (bytes, before);
            }
            initialised.extend(more.iter().map(|object| object.0));
        };
        // The order of atomic operations is not defined.
        if self.instance.list.iter().any(|one| one.kernel.interface.has_atomics) {
            for order in Order::ALL {
                if self.run(&unfused, &before, order).map_err(not_run)?.0 != expected {
                    return Err(NotApplicable::Undefined("its results depend on the order".to_owned()));
                }
            }
        }
        let untouched: Bytes = self.numbered(&before);
        let mut fused = match programs(&self.plan.steps) {
            Ok(fused) => fused,
            Err(NotApplicable::Interpreter(what)) if what.starts_with("it does not stand") => {
                return Ok(Some(what));
            }
            Err(reason) => return Err(reason),
        };
        self.images.tell(&mut fused, &formats)?;
        for order in Order::ALL {
            let (got, findings) = match self.run(&fused, &before, order) {
                Ok(ran) => ran,
                Err(OracleError::Unreachable { .. }) => {
                    return Ok(Some(format!("{order:?}: it reaches what cannot be reached")));
                }
                Err(error) => return Err(not_run(error)),
            };
            if let Some(finding) = first_of(&findings) {
                return Ok(Some(format!("{order:?}: {finding}")));
            }
            for (buffer, expected) in &expected {
                let expected = if self.inside.contains(buffer) { &untouched[buffer] } else { expected };
                if let Some(at) = expected.iter().zip(&got[buffer]).position(|(a, b)| a != b) {
                    let kind = if self.inside.contains(buffer) { "internalized buffer" } else { "buffer" };
                    return Ok(Some(format!("{order:?}: {kind} {buffer} at byte {at}")));
                }
            }
        }
        Ok(None)
    }

    /// The buffers before a run; objects are numbered as `sizes` is ordered.
    fn memory(&self, fill: Fill, initialised: &AHashSet<u32>) -> Memory {
        let mut memory = Memory::new();
        for (number, (&buffer, &size)) in self.sizes.iter().enumerate() {
            let extent = self.images.extent(buffer);
            let words = (size as u32).div_ceil(4);
            let word = |k: u32| match fill {
                Fill::Numbers => k.wrapping_mul(7) % 61 + number as u32 % 5,
                Fill::Bytes => (k.wrapping_mul(37) + 3 + number as u32) % 251,
                Fill::Floats => {
                    (((k.wrapping_mul(37) + 11 * number as u32) % 257) as f32 / 64.0 - 2.0).to_bits()
                }
            };
            if initialised.contains(&(number as u32)) {
                let mut bytes: Vec<u8> = (0..words).flat_map(|k| word(k).to_le_bytes()).collect();
                bytes.truncate(size as usize);
                match extent {
                    Some(extent) => memory.add_image(bytes, extent),
                    None => memory.add(bytes),
                };
            } else {
                let id = match extent {
                    Some(extent) => memory.add_uninitialised_image(size as usize, extent),
                    None => memory.add_uninitialised(size as usize),
                };
                // Other garbage with each fill: a byte that one side alone writes differs from one of the two.
                if matches!(fill, Fill::Floats) {
                    memory.bytes_mut(id).fill(0x3c);
                }
            }
        }
        for arg in self.instance.list.iter().flat_map(|one| &one.args) {
            for Number { offset, width, value } in arg.numbers.iter().flat_map(Numbers::iter) {
                let start = (arg.offset + u64::from(offset)) as usize;
                let bytes = memory.bytes_mut(self.object(arg.buffer.0)).get_mut(start..);
                let word = &value.to_le_bytes()[..usize::from(width / 8)];
                if let Some(bytes) = bytes.and_then(|bytes| bytes.get_mut(..word.len())) {
                    bytes.copy_from_slice(word);
                }
            }
        }
        memory
    }

    /// A binding of a step. Of an image all of it is bound, whatever sees it.
    fn bind(&self, bound: &Bound) -> Bind {
        let (set, binding) = (bound.at.set, bound.at.binding);
        let object = self.object(bound.buffer.0);
        let (offset, len) = match self.images.extent(bound.buffer.0) {
            Some(_) => (0, self.sizes.get(&bound.buffer.0).copied().unwrap_or_default()),
            None => (bound.offset, bound.len),
        };
        Bind { set, binding, object, offset, len }
    }

    fn object(&self, buffer: u64) -> ObjectId {
        ObjectId(self.sizes.keys().position(|&known| known == buffer).unwrap_or(0) as u32)
    }

    fn numbered(&self, memory: &Memory) -> Bytes {
        let ids = self.sizes.keys().zip(0..);
        ids.map(|(&buffer, id)| (buffer, memory.bytes(ObjectId(id)).to_vec())).collect()
    }

    fn run(
        &self,
        steps: &[(&Step, Program)],
        before: &Memory,
        order: Order,
    ) -> Result<(Bytes, Findings), OracleError> {
        let mut memory = before.clone();
        let mut dispatches: Vec<Dispatch<'_>> = steps
            .iter()
            .map(|(step, program)| Dispatch {
                program,
                groups: step.groups,
                bindings: step.bindings.iter().map(|b| self.bind(b)).collect(),
                push: step.push.to_vec(),
            })
            .collect();
        for (dispatch, (step, _)) in dispatches.iter_mut().zip(steps) {
            if let Some(at) = step.push_buffer() {
                dispatch.move_push(&mut memory, step.push_bytes() as usize, (at.set, at.binding));
            }
        }
        let options = Options {
            order,
            seed: 1,
            max_steps: MAX_STEPS,
            robust: self.limits.robust,
            ..Options::default()
        };
        let findings = execute(&dispatches, &mut memory, &options)?;
        Ok((self.numbered(&memory), findings))
    }
}

fn programs(steps: &[Step]) -> Result<Vec<(&Step, Program)>, NotApplicable> {
    steps
        .iter()
        .map(|step| {
            let words = step
                .build()
                .map_err(|error| NotApplicable::Interpreter(format!("it does not stand: {error}")))?;
            let program = Program::decode(&words).map_err(not_run)?;
            Ok((step, program.in_subgroups_of(step.subgroup_size())))
        })
        .collect()
}

fn not_run(error: OracleError) -> NotApplicable {
    NotApplicable::Interpreter(error.to_string())
}

/// One finding as text, if there is any.
fn first_of(findings: &Findings) -> Option<String> {
    let race = findings.races.list.first().map(ToString::to_string);
    let bounds = || findings.out_of_bounds.list.first().map(ToString::to_string);
    let uninitialised = || findings.uninitialised.list.first().map(ToString::to_string);
    let divergent = || findings.divergent_barriers.list.first().map(ToString::to_string);
    let constant = || findings.changed_constants.list.first().map(ToString::to_string);
    // Whatever else there is to find one day.
    let other = || (!findings.is_clean()).then(|| "it is not clean".to_owned());
    race.or_else(bounds).or_else(uninitialised).or_else(divergent).or_else(constant).or_else(other)
}
