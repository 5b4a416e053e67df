//! Where the items of a submission end, by its range guards and the numbers of the call.

use rspirv::spirv::Op;

use crate::analysis::if_conversion::RangeGuard;
use crate::ir::entity::Value;
use crate::kernel::NormalKernel;
use crate::plan::input::planned_push::number_of;
use crate::plan::input::submission::Submission;

/// Items of a submission whose range is a line, whole work-groups counted.
pub(crate) fn total(one: &Submission) -> u128 {
    u128::from(one.groups[0]) * u128::from(one.kernel.interface.local_size[0])
}

/// The first item that a guard turns away, if that is known.
pub(crate) fn end(one: &Submission, normal: &NormalKernel, guard: &RangeGuard) -> Option<u64> {
    let limit = number(one, normal, guard.limit)?;
    let inclusive = matches!(
        (guard.op, guard.swapped),
        (Op::ULessThanEqual | Op::SLessThanEqual | Op::UGreaterThan | Op::SGreaterThan, false)
            | (Op::ULessThan | Op::SLessThan | Op::UGreaterThanEqual | Op::SGreaterThanEqual, true)
    );
    let signed =
        matches!(guard.op, Op::SLessThan | Op::SLessThanEqual | Op::SGreaterThan | Op::SGreaterThanEqual);
    // A negative limit turns all away.
    if signed && (limit as i32) < 0 {
        return Some(0);
    }
    Some(u64::from(limit) + u64::from(inclusive))
}

/// Whether a guard of the submission's own keeps out every item that would come behind its last, before it has done anything. As far as
/// numbers with a sign go.
pub(crate) fn ends_by_itself(one: &Submission) -> bool {
    let Ok(normal) = &one.kernel.normal else { return false };
    let comes_first = |guard: &&RangeGuard| guard.first || mutant!(EffectsComeAfterGuards);
    let mut ends = normal.guards().filter(comes_first).filter_map(|guard| end(one, normal, guard));
    ends.any(|end| u128::from(end) <= total(one) || mutant!(GuardsEndAnywhere))
}

/// Value of an unsigned number made of arguments.
fn number(one: &Submission, normal: &NormalKernel, value: Value) -> Option<u32> {
    let word = |at: u32| {
        let bytes = one.push.get(at as usize..at as usize + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    number_of(normal, value, &word)
}
