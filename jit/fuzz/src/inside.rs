//! Whether a promotion could be right, judged by the accesses of each submission when it ran by itself.
//!
//! What is kept inside of a fused dispatch has one owner for each byte (an invocation, or a work-group), and every byte that
//! is read was written before by that owner.

use vkfuse_interp::{AccessKind, Trace};
use vkfuse_jit::plan::{Internalization, Plan, Submission};

use crate::owner;

/// What is wrong with a promotion, as text.
pub(crate) fn wrong(list: &[Submission], plan: &Plan, trace: &Trace, lens: &[usize]) -> Option<String> {
    let own = plan.report.buffers.iter().map(|one| (one.buffer.0 as u32, one.got));
    // Values that were renamed are the last objects.
    let first = lens.len() - plan.report.renamed.len();
    let renamed = plan.report.renamed.iter().zip(first..).map(|(one, object)| (object as u32, one.got));
    for (object, got) in own.chain(renamed).filter(|(_, got)| *got != Internalization::None) {
        let mut writers = vec![u32::MAX; lens[object as usize]];
        let mut home = None;
        for touched in trace.touches.iter().filter(|t| t.object.0 == object) {
            let at = touched.dispatch as usize;
            let Some(step) = plan.steps.iter().position(|s| s.members.contains(&at)) else { continue };
            let Some(placement) = plan.steps[step].placement() else {
                return Some(format!("buffer {object} was promoted, but submission {at} runs by itself"));
            };
            if *home.get_or_insert(step) != step {
                return Some(format!("buffer {object} was promoted, but two dispatches use it"));
            }
            let rewrite = plan.report.rewrites.iter().find(|one| one.submission == at);
            // Which round of an invocation it was is not written down.
            if rewrite.is_some_and(|one| one.rounds > 1) {
                return None;
            }
            let idle = rewrite.is_some_and(|one| !owner::has_place(one, &list[at], touched.invocation));
            if idle && matches!(touched.kind, AccessKind::Read) {
                continue;
            }
            let owner = owner::of(&plan.steps[step], placement, &list[at], rewrite, touched.invocation);
            let owner = if got == Internalization::Private { owner.item } else { owner.group };
            let bytes = touched.offset as usize..touched.offset as usize + touched.bytes as usize;
            match touched.kind {
                AccessKind::Read => {
                    if let Some(&writer) = writers[bytes].iter().find(|&&writer| writer != owner) {
                        let who =
                            if writer == u32::MAX { "nothing".to_owned() } else { format!("owner {writer}") };
                        return Some(format!(
                            "buffer {object} became {:?}, but submission {at} reads byte {} as owner {owner}, which {who} wrote",
                            got, touched.offset
                        ));
                    }
                }
                AccessKind::Write => {
                    if let Some(&writer) =
                        writers[bytes.clone()].iter().find(|&&w| w != owner && w != u32::MAX)
                    {
                        return Some(format!(
                            "buffer {object} became {:?}, but owners {writer} and {owner} write byte {}",
                            got, touched.offset
                        ));
                    }
                    writers[bytes].fill(owner);
                }
                _ => {
                    return Some(format!(
                        "buffer {object} was promoted, but submission {at} has atomics on it"
                    ));
                }
            }
        }
    }
    None
}
