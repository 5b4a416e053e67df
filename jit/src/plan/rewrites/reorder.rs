//! Proposes another order for a list, in which submissions that can be one kernel are next to each other.
//!
//! Groups are runs of the list. Two chains that are submitted by turns, or a stranger in the middle of one, end a run
//! although nothing else would. Here submissions are gathered that hand something on and may be one kernel, as long as
//! nothing else has to lie between them, and these sets are put in an order which their dependences allow. What comes out is
//! an ordinary list: theorems 1 to 3 decide as of any other, and a bad proposal costs a missed fusion.
//!
//! # Requires
//! - a list that did not become one kernel in its own order
//!
//! # Guarantees
//! - each submission is done once, and of two that depend on each other the earlier one first (`Dependences::allow`)
//!
//! # Refuses
//! - long lists, and those in which each submission depends on the one before

use ahash::AHashMap;
use smallvec::SmallVec;

use crate::kernel::BindingKind;
use crate::plan::grouping::group::Group;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::limits::Limits;
use crate::plan::input::options::{FuseOptions, Policy};
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::{BufferId, Submission};
use crate::plan::input::uses::Uses;
use crate::plan::output::plan::Plan;
use crate::plan::output::step::Bound;

/// Longest list for which another order is looked for.
const MOST: usize = 512;
/// Most dependences of one submission, on average.
const MOST_EDGES: usize = 8;
/// Orders that are planned.
const MOST_TRIED: usize = 2;

/// Which submissions have to come after which.
///
/// A submission depends on an earlier one if
/// - both touch a byte that one of them may write, by what their kernels say of each binding, or
/// - one of them follows device addresses, which may lead anywhere.
///
/// What follows from other dependences may be left out.
pub(crate) struct Dependences {
    /// For each submission: the earlier ones that it depends on, and how many bytes they pass to it.
    before: Vec<SmallVec<[(usize, u64); 4]>>,
    /// For each submission: the later ones that depend on it.
    after: Vec<SmallVec<[(usize, u64); 4]>>,
}

/// Bytes that a submission may touch.
#[derive(Clone, Copy)]
pub(crate) struct Touched {
    pub(crate) buffer: BufferId,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

impl Touched {
    fn overlaps(&self, other: &Self) -> bool {
        let apart = self.start >= other.end || other.start >= self.end;
        self.buffer == other.buffer && !(apart || self.start != other.start && mutant!(ViewsMayMove))
    }

    /// Whether the order of the two matters.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        let writes = match () {
            () if mutant!(ReadsMayMove) => self.writes && other.writes,
            () if mutant!(WritesMayMove) => self.writes != other.writes,
            () => self.writes || other.writes,
        };
        writes && self.overlaps(other)
    }

    fn covers(&self, other: &Self) -> bool {
        self.start <= other.start && (other.end <= self.end || mutant!(PartsCover))
    }
}

/// What a submission may touch by its arguments. Of what is no buffer nothing is known but which memory it is.
pub(crate) fn touched(one: &Submission) -> impl Iterator<Item = Touched> + '_ {
    one.args.iter().zip(&one.kernel.interface.bindings).map(|(arg, binding)| {
        let is_buffer = matches!(binding.kind, BindingKind::StorageBuffer | BindingKind::UniformBuffer);
        let (start, end) = match is_buffer && arg.len > 0 {
            true => (arg.offset, arg.offset.saturating_add(arg.len)),
            false => (0, u64::MAX),
        };
        Touched { buffer: arg.buffer, start, end, reads: binding.reads, writes: binding.writes }
    })
}

/// Whether it may touch what no argument says.
pub(crate) fn is_addressed(one: &Submission) -> bool {
    one.kernel.interface.uses_device_addresses && !mutant!(AddressesMayMove)
}

impl Dependences {
    pub(crate) fn of(list: &[Submission]) -> Self {
        let mut before: Vec<SmallVec<[(usize, u64); 4]>> = vec![SmallVec::new(); list.len()];
        let mut live: AHashMap<BufferId, SmallVec<[(usize, Touched); 4]>> = AHashMap::new();
        // Everything depends on the last one that follows addresses, and that on everything before it.
        let mut fence = None;
        for (at, one) in list.iter().enumerate() {
            let own = &mut before[at];
            if is_addressed(one) {
                own.extend((fence.unwrap_or(0)..at).map(|earlier| (earlier, 0)));
                fence = Some(at);
                live.clear();
                continue;
            }
            own.extend(fence.map(|fence| (fence, 0)));
            for touch in touched(one) {
                let accesses = live.entry(touch.buffer).or_default();
                for (earlier, access) in accesses.iter().filter(|(earlier, _)| *earlier != at) {
                    if !access.conflicts(&touch) {
                        continue;
                    }
                    let handed = match access.writes && touch.reads {
                        true => touch.end.min(access.end) - touch.start.max(access.start),
                        false => 0,
                    };
                    match own.iter_mut().find(|(known, _)| known == earlier) {
                        Some((_, bytes)) => *bytes = bytes.saturating_add(handed),
                        None => own.push((*earlier, handed)),
                    }
                }
                // What conflicts with a covered access conflicts with this one, too.
                if touch.writes {
                    accesses.retain(|(earlier, access)| *earlier == at || !touch.covers(access));
                }
                accesses.push((at, touch));
            }
        }
        let mut after: Vec<SmallVec<[(usize, u64); 4]>> = vec![SmallVec::new(); list.len()];
        for (at, earlier) in before.iter().enumerate() {
            earlier.iter().for_each(|&(earlier, bytes)| after[earlier].push((at, bytes)));
        }
        Self { before, after }
    }

    /// Whether an order has each submission once, and behind those that it depends on.
    pub(crate) fn allow(&self, order: &[usize]) -> bool {
        let mut number = vec![None; self.before.len()];
        let is_new =
            |(n, &at): (usize, &usize)| number.get_mut(at).is_some_and(|number| number.replace(n).is_none());
        order.len() == self.before.len()
            && order.iter().enumerate().all(is_new)
            && self
                .before
                .iter()
                .enumerate()
                .all(|(at, before)| before.iter().all(|&(earlier, _)| number[earlier] < number[at]))
    }

    /// Whether there is no other order.
    fn is_chain(&self) -> bool {
        self.before.iter().enumerate().skip(1).all(|(at, before)| before.iter().any(|b| b.0 == at - 1))
    }
}

/// Disjoint sets of submissions; each set may become one kernel.
struct Sets<'a> {
    dependences: &'a Dependences,
    /// The set of each submission.
    of: Vec<usize>,
    /// The submissions of each set, in order.
    members: Vec<Vec<usize>>,
}

impl<'a> Sets<'a> {
    fn new(dependences: &'a Dependences) -> Self {
        let all = 0..dependences.before.len();
        Self { dependences, of: all.clone().collect(), members: all.map(|at| vec![at]).collect() }
    }

    /// The sets that depend on one, or, backwards, those that it depends on, as often as they do.
    fn next(&self, set: usize, backwards: bool) -> impl Iterator<Item = usize> + '_ {
        let members = self.members[set].iter();
        let all = members.flat_map(move |&at| match backwards {
            true => &self.dependences.before[at],
            false => &self.dependences.after[at],
        });
        all.map(|&(other, _)| self.of[other]).filter(move |&other| other != set)
    }

    /// Joins a set and a later one that depends on it, unless another set has to lie between them.
    fn join(&mut self, earlier: usize, later: usize) {
        let (from, to) = (self.of[earlier], self.of[later]);
        if from == to {
            return;
        }
        let mut seen = vec![false; self.members.len()];
        let mut open: Vec<usize> = self.next(from, false).filter(|&next| next != to).collect();
        while let Some(next) = open.pop() {
            if next == to {
                return;
            }
            if !std::mem::replace(&mut seen[next], true) {
                open.extend(self.next(next, false));
            }
        }
        let moved = std::mem::take(&mut self.members[to]);
        moved.iter().for_each(|&at| self.of[at] = from);
        self.members[from].extend(moved);
        self.members[from].sort_unstable();
    }

    /// An order of all submissions: the sets as their dependences allow, those of one kind after each other. It is made from the
    /// first one on, or from the last one.
    fn order(&self, kinds: &[Kind], backwards: bool) -> Vec<usize> {
        let mut missing = vec![0; self.members.len()];
        for set in 0..self.members.len() {
            self.next(set, backwards).for_each(|other| missing[other] += 1);
        }
        let is_set = |&set: &usize| !self.members[set].is_empty();
        let mut ready: Vec<usize> =
            (0..self.members.len()).filter(is_set).filter(|&set| missing[set] == 0).collect();
        let mut sets = Vec::with_capacity(ready.len());
        let mut run = Run::default();
        while !ready.is_empty() {
            let kind = |set: usize| kinds[self.members[set][0]];
            let place = |set: usize| match (backwards, &*self.members[set]) {
                (true, [.., last]) => self.of.len() - last,
                (_, [first, ..]) => *first,
                _ => 0,
            };
            let best = (0..ready.len()).min_by_key(|&n| (!run.takes(kind(ready[n])), place(ready[n])));
            let set = ready.swap_remove(best.expect("invariant: not empty"));
            self.members[set].iter().for_each(|&at| run.add(kinds[at]));
            sets.push(set);
            for other in self.next(set, backwards) {
                missing[other] -= 1;
                if missing[other] == 0 {
                    ready.push(other);
                }
            }
        }
        if backwards {
            sets.reverse();
        }
        sets.into_iter().flat_map(|set| self.members[set].iter().copied()).collect()
    }
}

/// With which others a submission may be one kernel, as far as that is seen at once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It runs alone.
    Stranger,
    /// It goes with any local size.
    Any,
    /// It goes with those of its own local size.
    Sized([u32; 3]),
}

impl Kind {
    fn of(one: &Submission, policy: Policy) -> Self {
        match analysis_of(one) {
            Err(_) => Self::Stranger,
            Ok(_) if one.kernel.interface.uses_device_addresses && policy == Policy::Prove => Self::Stranger,
            Ok(_) if one.kernel.interface.item_only => Self::Any,
            Ok(_) => Self::Sized(one.kernel.interface.local_size),
        }
    }
}

/// The kinds of submissions that follow each other.
#[derive(Default)]
struct Run {
    kind: Option<Kind>,
}

impl Run {
    fn takes(&self, next: Kind) -> bool {
        match (self.kind, next) {
            (Some(Kind::Stranger), _) | (_, Kind::Stranger) | (None, _) => false,
            (Some(Kind::Any), _) | (_, Kind::Any) => true,
            (Some(kind), next) => kind == next,
        }
    }

    fn add(&mut self, next: Kind) {
        let is_wider = next == Kind::Any && self.takes(next);
        if !is_wider {
            self.kind = Some(next);
        }
    }
}

/// How an earlier submission and one that depends on it get on with each other.
struct Edge {
    earlier: usize,
    later: usize,
    /// Bytes that the one hands to the other.
    bytes: u64,
    /// Whether the two can be one kernel as they are.
    holds: bool,
}

/// How many dispatches an order looks like: if no more is closed than what holds as it is, and if all of it is.
fn looks(order: &[usize], kinds: &[Kind], edges: &[Edge]) -> [usize; 2] {
    let mut open: Vec<SmallVec<[usize; 4]>> = vec![SmallVec::new(); order.len()];
    edges.iter().filter(|edge| !edge.holds).for_each(|edge| open[edge.later].push(edge.earlier));
    [true, false].map(|strict| {
        let mut run_of = vec![usize::MAX; order.len()];
        let (mut run, mut runs) = (Run::default(), 0);
        for &at in order {
            if !run.takes(kinds[at]) || strict && open[at].iter().any(|&earlier| run_of[earlier] == runs) {
                run = Run::default();
                runs += 1;
            }
            run_of[at] = runs;
            run.add(kinds[at]);
        }
        runs
    })
}

/// Other orders of a list for which it may be planned into fewer dispatches, most promising first.
pub(crate) fn proposals(
    list: &[Submission],
    dependences: &Dependences,
    plan: &Plan,
    options: &FuseOptions,
    limits: &Limits,
) -> SmallVec<[Vec<usize>; 2]> {
    if list.len() > MOST || dependences.is_chain() {
        return SmallVec::new();
    }
    let kinds: Vec<Kind> = list.iter().map(|one| Kind::of(one, options.policy)).collect();
    let mut step_of = vec![0; list.len()];
    for (number, step) in plan.steps.iter().enumerate() {
        step.members.iter().for_each(|&at| step_of[at] = number);
    }
    if dependences.before.iter().map(SmallVec::len).sum::<usize>() > MOST_EDGES * list.len() {
        return SmallVec::new();
    }
    let mut edges: Vec<Edge> = Vec::new();
    for (later, before) in dependences.before.iter().enumerate() {
        for &(earlier, bytes) in before {
            if kinds[earlier] != Kind::Stranger && kinds[later] != Kind::Stranger {
                let holds = step_of[earlier] == step_of[later]
                    || bytes > 0 && fits(list, earlier, later, options, limits);
                edges.push(Edge { earlier, later, bytes, holds });
            }
        }
    }
    // What hands most over is joined first. What does not hold as it is may do so by another rewrite.
    edges.sort_by_key(|edge| {
        (!edge.holds, std::cmp::Reverse(edge.bytes), edge.later - edge.earlier, edge.later)
    });
    let own: Vec<usize> = (0..list.len()).collect();
    let as_it_is = looks(&own, &kinds, &edges);
    let mut found: Vec<([usize; 2], Vec<usize>)> = Vec::new();
    for only_holding in [true, false] {
        let mut sets = Sets::new(dependences);
        for edge in edges.iter().filter(|edge| edge.bytes > 0 && (edge.holds || !only_holding)) {
            sets.join(edge.earlier, edge.later);
        }
        for backwards in [false, true] {
            let order = sets.order(&kinds, backwards);
            let looks = looks(&order, &kinds, &edges);
            let may_pay = looks[0] < as_it_is[0] || looks[1] < as_it_is[1];
            if may_pay && order != own && !found.iter().any(|(_, known)| *known == order) {
                found.push((looks, order));
            }
        }
    }
    found.sort_by_key(|(looks, _)| looks.iter().sum::<usize>());
    found.into_iter().take(MOST_TRIED).map(|(_, order)| order).collect()
}

/// Whether two submissions could be one kernel.
fn fits(list: &[Submission], earlier: usize, later: usize, options: &FuseOptions, limits: &Limits) -> bool {
    let pair = [list[earlier].clone(), list[later].clone()];
    let uses = Uses::of(&pair);
    let options = FuseOptions { policy: Policy::Prove, ..*options };
    let problem = Problem { list: &pair, uses: &uses, options: &options, limits };
    Group::new(problem, 0).is_ok_and(|mut group| group.join(problem).is_ok())
}

/// What a plan costs: dispatches, and the bytes that they bind.
fn cost(plan: &Plan) -> (usize, u128) {
    let bounds = plan.steps.iter().flat_map(|step| &step.bindings);
    let bytes = |n: &Bound| u128::from(n.len) * (u128::from(n.reads) + u128::from(n.writes));
    (plan.steps.len(), bounds.map(bytes).sum())
}

/// Whether a plan has no more dispatches than another of the same list, and binds no more bytes.
pub(crate) fn is_no_worse(plan: &Plan, than: &Plan) -> bool {
    let (own, other) = (cost(plan), cost(than));
    own.0 <= other.0 && own.1 <= other.1
}

/// Whether it moreover has fewer dispatches, or binds fewer bytes.
pub(crate) fn is_better(plan: &Plan, than: &Plan) -> bool {
    is_no_worse(plan, than) && cost(plan) != cost(than)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::kernel::{Kernel, Module, Specialized};
    use crate::plan::Arg;

    fn kernel(name: &str) -> Arc<Specialized> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/kernels/{name}.spv"));
        let module = Module::from_bytes(name, &std::fs::read(file).unwrap()).unwrap();
        Kernel::new(&module, None).unwrap().specialize(&[]).unwrap()
    }

    /// A submission with an argument for each binding: buffer, first byte, bytes.
    fn submission(name: &str, args: &[(u64, u64, u64)]) -> Submission {
        let kernel = kernel(name);
        let bindings = kernel.interface.bindings.iter().zip(args);
        let args = bindings.map(|(binding, &(buffer, offset, len))| Arg {
            at: binding.at,
            buffer: BufferId(buffer),
            offset,
            len,
            promote: Default::default(),
            numbers: None,
            image: None,
        });
        Submission { base: [0; 3], groups: [1; 3], args: args.collect(), push: [0; 8][..].into(), kernel }
    }

    #[test]
    fn what_sees_one_image_depends_on_each_other_whatever_its_range() {
        // Bindings: an image that is written, one that is read, a buffer that is read.
        let writes = submission("image", &[(1, 0, 16), (2, 0, 16), (3, 0, 16)]);
        let reads = submission("image", &[(4, 0, 16), (1, 64, 16), (3, 0, 16)]);
        let other = submission("image", &[(5, 0, 16), (2, 64, 16), (3, 0, 16)]);
        let meet = Dependences::of(&[writes.clone(), reads]);
        assert!(meet.allow(&[0, 1]) && !meet.allow(&[1, 0]));
        assert!(Dependences::of(&[writes, other]).allow(&[1, 0]));
    }

    #[test]
    fn an_order_has_each_submission_once() {
        let list = [1, 2, 3].map(|n| submission("image", &[(10 * n, 0, 16), (4, 0, 16), (5, 0, 16)]));
        let dependences = Dependences::of(&list);
        assert!(dependences.allow(&[2, 0, 1]));
        for wrong in [&[0, 1][..], &[0, 1, 1], &[0, 1, 3], &[0, 1, 2, 2], &[]] {
            assert!(!dependences.allow(wrong), "{wrong:?}");
        }
    }
}
