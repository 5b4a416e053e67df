//! Lists that put any kernels after any others: other work-group shapes, other ways of sharing out the elements, any
//! buffers. Each kernel is right by itself; what may be fused is not known.

use std::sync::Arc;

use super::bench::{Bench, Cover, Element, Size};
use super::case::{Case, Family, Legality};
use super::list::push;
use super::memory::Buffers;
use super::pool::{Kind, Pool, PoolKernel, Use};
use super::random::Random;
use super::recipe::{Guard, Recipe};
use vkfuse_jit::kernel::Interface;
use vkfuse_jit::plan::{Arg, BufferId, Submission};

/// A list over all kernels of one element type.
pub(super) fn mixed(random: &mut Random, detail: &mut Random, pool: &Pool) -> Option<Case> {
    let element = if random.one_in(3) { Element::F32 } else { Element::U32 };
    let [width, height] = [1 + detail.below(30) as u32, 1 + detail.below(12) as u32];
    let size = Size { n: width * height, width, height, depth: 1, groups: [1; 3] };
    let few = random.one_in(3);
    let buffers = Buffers::new(random, few, element, &size);
    let fits = |kernel: &'_ &Arc<PoolKernel>| match &kernel.kind {
        Kind::Known { recipe, .. } => recipe.bench.element == element && recipe.guard != Guard::Exact,
        Kind::Soup { .. } => false,
    };
    let candidates: Vec<&Arc<PoolKernel>> = pool.kernels.iter().filter(fits).collect();
    let mut submissions = Vec::new();
    let mut kernels = Vec::new();
    for _ in 0..2 + random.below(5) {
        let kernel = *candidates.get(random.below(candidates.len()))?;
        let Kind::Known { recipe, uses, .. } = &kernel.kind else { continue };
        let size = sized(detail, recipe, &size);
        submissions.push(Submission {
            kernel: kernel.kernel.clone(),
            base: [0; 3],
            groups: size.groups,
            args: args(random, &buffers, &kernel.kernel.interface, uses, size.n).into(),
            push: push(kernel, recipe, &size, 1 + detail.below(4) as u32),
        });
        kernels.push(kernel.clone());
    }
    let buffers = buffers.contents(detail, size.n, element);
    let (family, legality) = (Family::Mixed, Legality::Unlabelled);
    Some(Case { family, legality, violation: "", submissions, kernels, buffers })
}

fn sized(random: &mut Random, recipe: &Recipe, size: &Size) -> Size {
    let Bench { local: [lx, ly, lz], dims, cover, .. } = recipe.bench;
    let mut size = *size;
    let linear = |per_group: u32| [size.n.div_ceil(per_group), 1, 1];
    size.groups = match cover {
        Cover::Rows => [size.height, 1, 1],
        Cover::GridStride => [1 + random.below(3) as u32, 1, 1],
        Cover::Blocked(k) | Cover::Tiled(k) => linear(lx * k),
        Cover::One if dims == 1 => linear(lx * ly * lz),
        Cover::One => [size.width.div_ceil(lx), size.height.div_ceil(ly), 1],
    };
    size
}

/// A buffer for each binding; none is written and used by another binding too, so that no kernel races with itself.
fn args(random: &mut Random, buffers: &Buffers, interface: &Interface, uses: &[Use], n: u32) -> Vec<Arg> {
    let mut work: Vec<usize> = (0..buffers.logical.len()).filter(|&l| l != buffers.table).collect();
    let mut args = Vec::new();
    for binding in &interface.bindings {
        let used = uses.iter().find(|u| (u.set, u.binding) == (binding.at.set, binding.at.binding));
        let Some(used) = used else { continue };
        let logical = if used.table {
            buffers.table
        } else {
            let from =
                if used.writes { work.iter().position(|&l| !buffers.is_input(l)).unwrap_or(0) } else { 0 };
            let at = from + random.below((work.len() - from).min(4));
            work.remove(at)
        };
        let view = &buffers.logical[logical];
        args.push(Arg {
            at: binding.at,
            buffer: BufferId(view.physical as u64),
            offset: view.offset,
            len: if used.by_length { 4 * u64::from(n) } else { view.len },
            promote: buffers.wishes[view.physical],
            numbers: None,
            image: None,
        });
    }
    args
}
