//! Whether a free kernel does not become slower when it is placed on rows.
//!
//! By itself it has one invocation per element. On rows it has the invocations of the rows' work-groups, and each loops over its part of a row.
//! That pays if it saves enough memory traffic.
//!
//! # Requires
//! - rows of a partner, and the members that the placed kernel is to stand with
//!
//! # Refuses
//! - few long rows
//! - far fewer invocations than the kernel has by itself, where that was measured to be slower
//! - rows whose parts do not fit into an invocation's registers, where the kernel stores what other members load: they load it from memory all the
//!   same, and a store that another member sees has to stay in order, which holds back the loads of the rounds after it

use crate::plan::input::analysis::analysis_of;
use crate::plan::input::limits::Limits;
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::{BufferId, Promote, Submission};
use crate::plan::input::uses::Uses;
use crate::plan::input::wish::wish;
use crate::plan::output::report::Places;
use crate::plan::rewrites::proposal::Proposal;
use crate::reason::RewriteReason;

/// Loops of up to this many rounds are no slower than work-groups of their own.
const SHORT_ROUNDS: u64 = 8;
/// A fused dispatch with this many times fewer invocations than one of its members had may take longer than separate dispatches.
const NARROWER: u64 = 8;
/// Number of work-groups that fill a device.
const FILLING_ROWS: u64 = 512;

/// Whether submission `at` of a group that ends with `last` is not slower on the places of a proposal.
pub(in crate::plan) fn pays(
    problem: Problem<'_>,
    (at, last): (usize, usize),
    proposal: &Proposal,
) -> Result<(), RewriteReason> {
    let Problem { list, uses, options, limits } = problem;
    let product = |n: [u32; 3]| n.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
    let invocations = product(proposal.groups).saturating_mul(product(proposal.local));
    let own = list[at].invocations();
    if options.wide && is_narrow(invocations, own, limits) {
        return Err(RewriteReason::Narrow { invocations, own });
    }
    let (Places::Rows { length } | Places::Blocks { length, .. }) = proposal.places else { return Ok(()) };
    if options.force {
        return Ok(());
    }
    let (rows, length) = (product(proposal.groups), u64::from(length));
    let rounds = length.div_ceil(product(proposal.local));
    if rounds > SHORT_ROUNDS && rows < FILLING_ROWS {
        return Err(RewriteReason::FewRows { rows, length });
    }
    let bytes: u64 = list[at].args.iter().map(|arg| arg.len).sum();
    if limits.max_broadcast_bytes.is_none_or(|limit| bytes <= limit) {
        return Ok(());
    }
    for (buffer, size) in handed(list, at, last) {
        let own = rounds.saturating_mul(size);
        let room = room(list, uses, buffer, rounds, limits);
        let is_shared =
            is_local(list, uses, buffer) && length.saturating_mul(size) <= u64::from(limits.max_shared_bytes);
        if own > room && !is_shared {
            return Err(RewriteReason::NotKept { bytes: own, room });
        }
    }
    Ok(())
}

/// Buffers that a submission stores to and a later one of its group loads from, with the bytes that an item stores.
fn handed(list: &[Submission], at: usize, last: usize) -> Vec<(BufferId, u64)> {
    let one = &list[at];
    let accesses = analysis_of(one).map_or(&[][..], |analysis| &analysis.accesses);
    let mut stored: Vec<(BufferId, u64)> = Vec::new();
    for access in accesses.iter().filter(|access| access.kind.writes()) {
        let buffer = one.args[access.binding].buffer;
        match stored.iter_mut().find(|(other, _)| *other == buffer) {
            Some((_, size)) => *size += access.size,
            None => stored.push((buffer, access.size)),
        }
    }
    let loads = |later: &Submission, buffer: BufferId| {
        let mut bindings = later.args.iter().zip(&later.kernel.interface.bindings);
        bindings.any(|(arg, binding)| arg.buffer == buffer && binding.reads)
    };
    stored.retain(|&(buffer, _)| list[at + 1..=last].iter().any(|later| loads(later, buffer)));
    stored
}

/// Bytes of a buffer that an invocation can keep in registers, where it goes through the buffer in `rounds` rounds.
fn room(list: &[Submission], uses: &Uses, buffer: BufferId, rounds: u64, limits: &Limits) -> u64 {
    // Registers have no number: the rounds have to be unrolled.
    if rounds > u64::from(limits.unroll.rounds) {
        return 0;
    }
    match wish(list, uses, buffer) {
        // An explicit request for registers has no limit.
        Ok(Promote::Private) => u64::MAX,
        Ok(Promote::Auto) => limits.unroll.private_bytes.max(limits.kept_result_bytes).into(),
        _ => limits.kept_result_bytes.into(),
    }
}

/// Whether a buffer may stay in shared memory.
fn is_local(list: &[Submission], uses: &Uses, buffer: BufferId) -> bool {
    matches!(wish(list, uses, buffer), Ok(Promote::Local | Promote::Auto))
}

/// Whether a dispatch of `invocations` has far fewer than the kernel by itself, `own`, and leaves most of the device idle.
pub(in crate::plan) fn is_narrow(invocations: u64, own: u64, limits: &Limits) -> bool {
    invocations < limits.overlapping_invocations && own >= invocations.saturating_mul(NARROWER)
}
