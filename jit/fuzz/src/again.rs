//! Who touches what where submissions work out what others store: the producer's reads, in the place of the consumer's.

use std::borrow::Cow;
use std::collections::HashMap;

use vkfuse_interp::{AccessKind, Touched, Trace};
use vkfuse_jit::kernel::SetBinding;
use vkfuse_jit::plan::Plan;

/// A binding that no variable has: what was read by another submission.
const ELSEWHERE: SetBinding = SetBinding { set: u32::MAX, binding: u32::MAX };

/// The accesses of a list as the plan has its submissions do them.
pub(crate) fn as_planned<'t>(plan: &Plan, trace: &'t Trace) -> Cow<'t, Trace> {
    let mut trace = Cow::Borrowed(trace);
    let mut gone = Vec::new();
    for one in &plan.report.inlined {
        let object = one.buffer.0 as u32;
        let mine = |t: &&Touched| t.dispatch as usize == one.producer;
        // The invocation that stored each byte, and what each of them read.
        let mut stored: HashMap<u64, u32> = HashMap::new();
        let mut reads: HashMap<u32, Vec<Touched>> = HashMap::new();
        for t in trace.touches.iter().filter(mine) {
            match t.kind {
                AccessKind::Write if t.object.0 == object => drop(stored.insert(t.offset, t.invocation)),
                AccessKind::Read => reads.entry(t.invocation).or_default().push(*t),
                _ => {}
            }
        }
        let mut touches = Vec::with_capacity(trace.touches.len());
        for t in &trace.touches {
            let at = SetBinding { set: t.set, binding: t.binding };
            let replaced = t.dispatch as usize == one.submission
                && t.object.0 == object
                && t.kind == AccessKind::Read
                && (at == one.at || at == ELSEWHERE);
            if !replaced {
                touches.push(*t);
                continue;
            }
            let Some(invocation) = stored.get(&t.offset) else {
                // Nobody stored it: the read stays, and is found to be one of something else.
                touches.push(*t);
                continue;
            };
            let SetBinding { set, binding } = ELSEWHERE;
            let again = reads.get(invocation).into_iter().flatten();
            touches.extend(again.map(|read| Touched {
                dispatch: t.dispatch,
                invocation: t.invocation,
                set,
                binding,
                ..*read
            }));
        }
        // Of what does not run, nothing is touched.
        if one.gone {
            gone.push(one.producer);
        }
        trace = Cow::Owned(Trace { touches });
    }
    if !gone.is_empty() {
        trace.to_mut().touches.retain(|t| !gone.contains(&(t.dispatch as usize)));
    }
    trace
}
