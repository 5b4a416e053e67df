//! Replaces the kernels of a list by their closed forms, where floats are strict.
//!
//! A compiler can simplify the floats of a closed form (`rewrite::close`) in the same way wherever it stands. So it replaces the
//! kernel in every plan, also where it runs alone: fused and unfused code are made from the same module. A kernel without open floats is its own closed form.
//!
//! # Guarantees
//! - the push constants of the list are those of the caller: the zero behind them is what is not there
//! - a kernel that has no closed form, or no room for its zero, runs alone, as it is

use std::borrow::Cow;
use std::sync::Arc;

use crate::kernel::{BindingKind, Specialized};
use crate::plan::grouping::group::Group;
use crate::plan::input::limits::Limits;
use crate::plan::input::options::{FloatMode, FuseOptions};
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::Submission;
use crate::plan::input::uses::Uses;
use crate::plan::output::push::PushBlock;
use crate::rewrite;
use crate::{NoPushBuffer, Reason};

/// The list with closed kernels.
pub(in crate::plan) fn list<'a>(
    list: &'a [Submission],
    float: FloatMode,
    limits: &Limits,
) -> Cow<'a, [Submission]> {
    let mut list = Cow::Borrowed(list);
    if float != FloatMode::Strict || mutant!(NothingIsHidden) {
        return list;
    }
    for at in 0..list.len() {
        if let Some(closed) = closed(&list[at], limits) {
            list.to_mut()[at] = closed;
        }
    }
    list
}

fn closed(one: &Submission, limits: &Limits) -> Option<Submission> {
    if !one.kernel.zeros.is_empty() {
        return None;
    }
    let open = |reason: Reason| {
        let kernel = Specialized { normal: Err(reason), ..(*one.kernel).clone() };
        Some(Submission { kernel: Arc::new(kernel), ..one.clone() })
    };
    let kernel = match rewrite::closed(&one.kernel) {
        Ok(closed) => closed?,
        Err(what) => return open(Reason::Internal { what: what.to_owned() }),
    };
    let mut closed = Submission { kernel, ..one.clone() };
    // Push constants beyond those that the kernel declares have no reader.
    closed.push.truncate(rewrite::words_at(&one.kernel) as usize);
    match has_room(&closed, limits) {
        Ok(()) => Some(closed),
        Err(reason) => open(reason),
    }
}

/// Whether there is room for its push constants, in a uniform buffer if need be.
fn has_room(one: &Submission, limits: &Limits) -> Result<(), Reason> {
    let (needed, limit) = (rewrite::words_at(&one.kernel), limits.max_push_bytes);
    if needed <= limit || mutant!(IgnoreLimits) {
        return Ok(());
    }
    let bindings = &one.kernel.interface.bindings;
    let uniform = bindings.iter().filter(|binding| binding.kind == BindingKind::UniformBuffer).count() as u32;
    let mut push = PushBlock::default();
    let fits = push.add_member(one, 0).is_ok() && push.fits_with_buffer(0, limit);
    let list = std::slice::from_ref(one);
    let problem = Problem { list, uses: &Uses::of(list), options: &FuseOptions::default(), limits };
    let no_buffer = if uniform >= limits.max_uniform_buffers {
        NoPushBuffer::AllBound { limit: limits.max_uniform_buffers }
    } else if !fits || one.base != [0; 3] || Group::new(problem, 0).is_err() {
        NoPushBuffer::Fixed
    } else {
        return Ok(());
    };
    Err(Reason::PushConstants { needed, limit, no_buffer })
}
