//! The kernel boundary between members: where floats are hidden from the driver's compiler.
//!
//! A compiler that sees a value of one member in another simplifies across what used to be two kernels: `log(exp(x))`
//! is `x` to it, `1 / sqrt(x)` another instruction. A hidden value is one it cannot see through, because it has been
//! combined with a push constant (`emit::hide`). What has to be hidden from a member is whatever an earlier one may
//! have left for it or looked at as well: elements of buffers, in memory or internalized, and arguments. Numbers that
//! become floats are hidden in the kernel that makes them (`rewrite::close`).
//!
//! Between members whose float arithmetic is plain (`analysis::floats`) nothing is hidden.
//!
//! Within a member, too, a compiler knows more in a fused kernel: which bindings are the same memory, which arguments are
//! equal. So what two of its bindings or arguments have in common is hidden. What else it knows of numbers, paths and memory shows it no more floats than in the
//! kernel alone: that is what closed kernels are for.

use std::sync::Arc;

use crate::analysis::floats::Floats;
use crate::kernel::Specialized;
use crate::plan::input::options::FloatMode;
use crate::plan::input::submission::Submission;
use crate::plan::output::recipe::{Hidden, Member, Target, UnifiedBinding};

fn floats(kernel: &Specialized) -> Floats {
    kernel.normal.as_ref().map_or(Floats::Any, |normal| normal.floats.kind)
}

/// Whether floats of one of two members that follow each other must be hidden from the other.
fn is_open(earlier: Floats, later: Floats) -> bool {
    // A kernel without floats may leave constants that others read as floats.
    later != Floats::None && (earlier != Floats::Plain || later == Floats::Any)
}

/// Whether a zero may be needed that hides floats: between these submissions, or in one of them.
pub(crate) fn may_need_zero<'a>(list: impl IntoIterator<Item = &'a Submission>, float: FloatMode) -> bool {
    float == FloatMode::Strict && !mutant!(NothingIsHidden) && { list }
        .into_iter()
        .any(|submission| computes(&submission.kernel))
}

/// Whether a kernel has to do with floats.
fn computes(kernel: &Specialized) -> bool {
    floats(kernel) != Floats::None
}

fn writes(kernel: &Specialized, binding: usize) -> bool {
    let accesses = kernel.normal.as_ref().map(|normal| &normal.analysis.accesses);
    accesses.is_ok_and(|all| all.iter().any(|access| access.binding == binding && access.kind.writes()))
}

/// Whether a kernel reads back what it has stored through a binding, whatever a compiler knows of that.
fn reads_back(kernel: &Specialized, binding: usize) -> bool {
    kernel.normal.as_ref().is_ok_and(|normal| {
        let mut accesses = normal.analysis.accesses.iter().enumerate();
        accesses.any(|(number, access)| access.binding == binding && normal.is_volatile(number))
    })
}

/// What is hidden from each member.
pub(crate) fn hidden(
    members: &[Member],
    kernels: &[Arc<Specialized>],
    bindings: &[UnifiedBinding],
) -> Vec<Hidden> {
    let all: Vec<Floats> = kernels.iter().map(|kernel| floats(kernel)).collect();
    let of = |(number, member): (usize, &Member)| {
        let open: Vec<usize> = (0..number).filter(|&earlier| is_open(all[earlier], all[number])).collect();
        let computes = all[number] != Floats::None && !mutant!(TwinsAreOpen);
        // Two bindings of one member may be the same memory, which a compiler that sees the kernel alone does not know.
        let reached = |(at, target): (usize, &Target)| {
            let earlier = open.iter().flat_map(|&earlier| {
                // Integers that are only read show nothing about plain floats.
                let all = all[earlier] != Floats::None || all[number] == Floats::Any;
                let targets = members[earlier].targets.iter().enumerate();
                targets.filter(move |(at, _)| all || writes(&kernels[earlier], *at)).map(|(_, target)| target)
            });
            // Where it stays inside, no load is volatile.
            let is_inside = matches!(target, Target::Internal { .. }) && !mutant!(ReadBackIsOpen);
            if is_inside && reads_back(&kernels[number], at) {
                return true;
            }
            let own = member.targets.iter().enumerate().filter(|(other, _)| computes && *other != at);
            { earlier }.chain(own.map(|(_, other)| other)).any(|other| may_meet(other, target, bindings))
        };
        let shared = |slot: &u16| member.push.iter().filter(|other| *other == slot).count() > 1;
        let passed = |slot: &u16| {
            !mutant!(ArgumentsAreNotHidden)
                && open.iter().any(|&earlier| members[earlier].push.contains(slot))
                || computes && shared(slot)
        };
        Hidden {
            bindings: member.targets.iter().enumerate().map(reached).collect(),
            push: member.push.iter().map(passed).collect(),
        }
    };
    members.iter().enumerate().map(of).collect()
}

/// Whether two targets can be the same memory.
fn may_meet(a: &Target, b: &Target, bindings: &[UnifiedBinding]) -> bool {
    match (a, b) {
        (Target::Bound(_), Target::Bound(_)) if mutant!(MemoryIsNotHidden) => false,
        (Target::Bound(a), Target::Bound(b)) => {
            let overlaps = |n: u16| bindings.get(usize::from(n)).is_none_or(|binding| !binding.restrict);
            a == b || overlaps(*a) && overlaps(*b)
        }
        (Target::Internal { index: a, .. }, Target::Internal { index: b, .. }) => a == b,
        _ => false,
    }
}
