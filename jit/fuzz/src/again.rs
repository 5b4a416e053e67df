//! The accesses of a list as its plan changes them: renamed values are objects of their own, a submission that recomputes what another
//! stores does the reads of that producer, and the accesses of an epilogue belong to the invocations that store its elements.

use std::borrow::Cow;
use std::collections::HashMap;

use vkfuse_interp::{AccessKind, Touched, Trace};
use vkfuse_jit::kernel::SetBinding;
use vkfuse_jit::plan::{EpilogueReport, InlineReport, Plan, Submission};

/// A binding that no variable has: what was read by another submission.
const ELSEWHERE: SetBinding = SetBinding { set: u32::MAX, binding: u32::MAX, element: 0 };

/// Bytes of each object, those of values that were renamed behind the others.
pub(crate) fn lens(plan: &Plan, contents: &[Vec<u8>]) -> Vec<usize> {
    let renamed = plan.report.renamed.iter().map(|one| contents[one.buffer.0 as usize].len());
    contents.iter().map(Vec::len).chain(renamed).collect()
}

/// The accesses of a list as the plan has its submissions do them. `objects` is how many there are without renamed values.
pub(crate) fn as_planned<'t>(
    list: &[Submission],
    plan: &Plan,
    trace: &'t Trace,
    objects: usize,
) -> Cow<'t, Trace> {
    let value = |place: (usize, usize)| {
        let number = plan.report.renamed.iter().position(|one| one.arguments.contains(&place))?;
        Some((objects + number) as u32)
    };
    let mut trace = Cow::Borrowed(trace);
    if !plan.report.renamed.is_empty() {
        for t in &mut trace.to_mut().touches {
            let at = SetBinding::from((t.set, t.binding));
            let submission = t.dispatch as usize;
            let number = list[submission].args.iter().position(|arg| arg.at == at);
            if let Some(value) = number.and_then(|number| value((submission, number))) {
                t.object.0 = value;
            }
        }
    }
    let stores = |one: &InlineReport| {
        let producer = &list[one.producer];
        let bindings = producer.args.iter().zip(&producer.kernel.interface.bindings);
        let stores = bindings.enumerate().find(|(_, (arg, b))| arg.buffer == one.buffer && b.writes);
        stores.and_then(|(number, _)| value((one.producer, number))).unwrap_or(one.buffer.0 as u32)
    };
    let handed = |one: &EpilogueReport| {
        let args = list[one.producer].args.iter().enumerate();
        let mut numbers = args.filter(|(_, arg)| arg.buffer == one.buffer).map(|(number, _)| number);
        numbers.find_map(|number| value((one.producer, number)))
    };
    let mut gone = Vec::new();
    for one in &plan.report.inlined {
        let object = stores(one);
        let mine = |t: &&Touched| t.dispatch as usize == one.producer;
        // The store of each byte, as an invocation and how many it had done before, and what was read for each store: what the
        // invocation read after the one before. What it read before its first store, and uses for all, counts for that one.
        let mut stored: HashMap<u64, (u32, usize)> = HashMap::new();
        let mut reads: HashMap<(u32, usize), Vec<Touched>> = HashMap::new();
        let mut stores_of: HashMap<u32, usize> = HashMap::new();
        for t in trace.touches.iter().filter(mine) {
            let done = stores_of.entry(t.invocation).or_default();
            match t.kind {
                AccessKind::Write if t.object.0 == object => {
                    stored.insert(t.offset, (t.invocation, *done));
                    *done += 1;
                }
                AccessKind::Read => reads.entry((t.invocation, *done)).or_default().push(*t),
                _ => {}
            }
        }
        let mut touches = Vec::with_capacity(trace.touches.len());
        for t in &trace.touches {
            let at = SetBinding::from((t.set, t.binding));
            let replaced = t.dispatch as usize == one.submission
                && t.object.0 == object
                && t.kind == AccessKind::Read
                && (at == one.at || at == ELSEWHERE);
            if !replaced {
                touches.push(*t);
                continue;
            }
            let Some(store) = stored.get(&t.offset) else {
                // It was not stored: the read stays, and the checks find what it reads instead.
                touches.push(*t);
                continue;
            };
            let SetBinding { set, binding, .. } = ELSEWHERE;
            let again = reads.get(store).into_iter().flatten();
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
    for one in &plan.report.epilogues {
        let object = handed(one).unwrap_or(one.buffer.0 as u32);
        move_epilogue(trace.to_mut(), one, object);
    }
    trace
}

/// Has the invocation that stores an element touch what the item of an epilogue touches: from the first item of an invocation on, or from where it
/// reads another element.
fn move_epilogue(trace: &mut Trace, one: &EpilogueReport, object: u32) {
    let is_of = |t: &Touched, submission: usize| t.dispatch as usize == submission;
    let stored = trace.touches.iter().filter(|t| is_of(t, one.producer) && t.object.0 == object);
    let stored: HashMap<u64, u32> =
        stored.filter(|t| t.kind == AccessKind::Write).map(|t| (t.offset, t.invocation)).collect();
    let element = |t: &Touched| {
        let is_element = is_of(t, one.submission) && t.object.0 == object;
        stored.get(&t.offset).copied().filter(|_| is_element)
    };
    // The first element of each invocation, and the present one.
    let mut first: HashMap<u32, u32> = HashMap::new();
    for t in &trace.touches {
        if let Some(to) = element(t) {
            first.entry(t.invocation).or_insert(to);
        }
    }
    let mut present = first.clone();
    let mut touches = Vec::with_capacity(trace.touches.len());
    for t in &trace.touches {
        if !is_of(t, one.submission) {
            touches.push(*t);
            continue;
        }
        if let Some(to) = element(t) {
            present.insert(t.invocation, to);
        }
        // An item without an element writes nothing, and is not done.
        let SetBinding { set, binding, .. } = ELSEWHERE;
        match present.get(&t.invocation) {
            Some(&invocation) => {
                touches.push(Touched { dispatch: one.producer as u32, invocation, set, binding, ..*t });
            }
            None if t.kind == AccessKind::Read => {}
            None => touches.push(*t),
        }
    }
    trace.touches = touches;
}
