//! How often loops go round, with the numbers put in, and which rounds come to an access.

use smallvec::SmallVec;

use super::access::Access;
use super::affine::{Affine, Atom, AtomId, Atoms};
use super::cfg::Place;
use super::evaluate::Evaluator;
use super::expr::{GoesOn, LoopBound, Node, NodeId};
use super::trip_counts::Rounds;
use super::word::{Value, as_signed, as_unsigned};

impl Evaluator<'_> {
    /// Most rounds of all loops of the kernel together, if every loop's are known.
    pub(crate) fn loop_rounds(&mut self, atoms: &mut Atoms) -> Option<u128> {
        self.leave();
        let analysis = self.analysis;
        let mut each: Vec<u128> = Vec::with_capacity(analysis.loops.len());
        let mut total = 0u128;
        for one in &analysis.loops {
            let rounds = match one.rounds {
                Rounds::AtMost(n) => u128::from(n),
                Rounds::Counter(node) => {
                    self.value(atoms, node);
                    u128::try_from(self.rounds.get(&node)?.1).ok()?
                }
                Rounds::Unknown => return None,
            };
            // The round that finds the loop at its end counts as one.
            let around = one.parent.map_or(1, |parent| each[parent]);
            each.push(around.checked_mul(rounds + 1)?);
            total = total.checked_add(each[each.len() - 1])?;
        }
        Some(total)
    }

    /// Rounds of a loop that goes round equally often in every invocation, and the atom that counts them.
    pub(crate) fn exact_rounds(&mut self, atoms: &mut Atoms, index: usize) -> Option<(AtomId, u32)> {
        self.leave();
        let (least, most) = self.rounds_of(atoms, index)?;
        let (node, bound) = self.counted(index)?;
        let counter = atoms.find(&self.round(node))?;
        (bound.only_exit && least == most).then_some((counter, u32::try_from(most).ok()?))
    }

    /// The counter of a loop, and what it is tested against.
    fn counted(&self, index: usize) -> Option<(NodeId, LoopBound)> {
        let Rounds::Counter(node) = self.analysis.loops.get(index)?.rounds else { return None };
        match *self.analysis.exprs.get(node) {
            Node::Counter { bound: Some(bound), .. } => Some((node, bound)),
            _ => None,
        }
    }

    /// Fewest and most rounds of a loop that counts, each time it is entered, if its test is all that ends it. Outside of
    /// any context.
    fn rounds_of(&mut self, atoms: &mut Atoms, index: usize) -> Option<(i128, i128)> {
        let (node, _) = self.counted(index)?;
        self.value(atoms, node);
        self.rounds.get(&node).copied()
    }

    /// What counts the rounds of the loops around an access, if each of them is left by its test alone and it is known
    /// which rounds come to the access.
    pub(super) fn counters(&self, atoms: &Atoms, access: &Access) -> Option<SmallVec<[AtomId; 2]>> {
        let counter = |&(index, place): &(usize, Place)| {
            let (node, bound) = self.counted(index)?;
            let known = bound.only_exit && place != Place::Unclear;
            known.then(|| atoms.find(&self.round(node))).flatten()
        };
        access.loops.iter().map(counter).collect()
    }

    /// For each loop around an access that is tested after it only: the last round that is certainly begun.
    pub(super) fn begun(&mut self, atoms: &mut Atoms, access: &Access) -> SmallVec<[Option<i128>; 2]> {
        if access.loops.iter().any(|&(_, place)| place == Place::BeforeTest) {
            self.leave();
        }
        let last = |&(index, place): &(usize, Place)| {
            // The first round is begun whatever the test will say.
            let least = || self.rounds_of(atoms, index).map_or(0, |(least, _)| least);
            (place == Place::BeforeTest && !mutant!(EveryRoundIsBegun)).then(least)
        };
        access.loops.iter().map(last).collect()
    }

    /// What counts the rounds of a loop.
    fn round(&self, node: NodeId) -> Atom {
        let member = self.member();
        if mutant!(RoundIsValue) {
            Atom::Free { member, node, base: 0 }
        } else {
            Atom::Round { member, node }
        }
    }

    /// The value of a counter, if it comes to its limit without wrapping.
    pub(super) fn counter(
        &mut self,
        atoms: &mut Atoms,
        node: NodeId,
        width: u8,
        init: NodeId,
        step: NodeId,
        bound: LoopBound,
    ) -> Option<Value> {
        let step = self.value(atoms, step);
        if !step.form.terms.is_empty() {
            return None;
        }
        let step = step.form.constant;
        let (init, limit) = (self.value(atoms, init), self.value(atoms, bound.limit));
        let reading = |signed: bool| {
            let meaning = if signed { as_signed } else { as_unsigned };
            Some((meaning(&init, width)?, meaning(&limit, width)?))
        };
        let counted = |this: &Self, signed: bool| {
            let (init, limit) = reading(signed)?;
            let range = if signed {
                (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1)
            } else {
                (0, (1i128 << width) - 1)
            };
            Some((init.form.clone(), this.count(atoms, bound.goes_on, &init, &limit, step, range)?))
        };
        let (init, (least, most)) = match bound.goes_on {
            // Words are equal in either reading.
            GoesOn::UnlessEqual => counted(self, false).or_else(|| counted(self, true))?,
            _ => counted(self, bound.signed)?,
        };
        let most = if mutant!(OneRoundLess) { (most - 1).max(0) } else { most };
        let least = least.min(most);
        if self.context.is_none() {
            self.rounds.insert(node, (least, most));
        }
        let round = self.round(node);
        let form = init.plus(&Affine::atom(atoms.intern(round, most)), step)?;
        Some(self.exact(atoms, form))
    }

    /// Fewest and most rounds of a counter that steps from `init` while `goes_on`, if it stays within `range` up to the
    /// value that ends the loop. Rounds of single invocations lie between.
    fn count(
        &self,
        atoms: &Atoms,
        goes_on: GoesOn,
        init: &Value,
        limit: &Value,
        step: i128,
        range: (i128, i128),
    ) -> Option<(i128, i128)> {
        // Steps of `by` that are begun within a distance.
        let within = |distance: i128, by: i128| if distance < 0 { 0 } else { distance / by + 1 };
        let strict = i128::from(matches!(goes_on, GoesOn::Below | GoesOn::Above));
        match goes_on {
            GoesOn::Below | GoesOn::AtMost => {
                // The counter steps only up to here, so one step more is the most it can become.
                let (first, last) = (limit.low - strict, limit.high - strict);
                let fits = step > 0 && init.high.max(last + step) <= range.1;
                fits.then(|| (within(first - init.high, step), within(last - init.low, step)))
            }
            GoesOn::Above | GoesOn::AtLeast => {
                let (first, last) = (limit.low + strict, limit.high + strict);
                let fits = step < 0 && init.low.min(first + step) >= range.0;
                fits.then(|| (within(init.low - last, -step), within(init.high - first, -step)))
            }
            GoesOn::UnlessEqual => {
                // It must come to the very number, and not go round all words before.
                let distance = limit.form.plus(&init.form, -1)?.scaled(step.signum())?;
                let distance = self.exact(atoms, distance);
                let by = step.abs();
                let meets = by == 1 || distance.low == distance.high && by > 1 && distance.low % by == 0;
                let meets = meets || mutant!(EveryLimitIsMet);
                (meets && distance.low >= 0).then(|| (distance.low / by, distance.high / by))
            }
        }
    }
}
