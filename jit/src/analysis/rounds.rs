//! How often loops go round, with the numbers put in, and which rounds come to an access.

use smallvec::SmallVec;

use super::access::{Access, Guard};
use super::affine::{Affine, Atom, AtomId, Atoms};
use super::cfg::Place;
use super::evaluate::Evaluator;
use super::expr::{CompareOp, GoesOn, LoopBound, Node, NodeId, Passed};
use super::loops::{Factor, Products, Rounds};
use super::word::{Value, as_signed, as_unsigned};

/// Rounds of loops that are done one after the other.
#[derive(Clone, Copy, Default)]
struct Rounded {
    /// All of them, with those that find a loop at its end.
    all: u128,
    /// The number of the last that does something, from 1 on; 0 if there is none behind the first of a loop, which is always begun.
    last: u128,
}

impl Rounded {
    /// A loop with these inside, each time `rounds` of its own.
    fn repeated(self, rounds: u128) -> Option<Self> {
        let each = self.all.checked_add(1)?;
        let before = each.checked_mul(rounds.saturating_sub(1))?;
        let own = if rounds > 1 { before.checked_add(1)? } else { 0 };
        let inside = if self.last > 0 && rounds > 0 { before.checked_add(self.last)? } else { 0 };
        // What is inside is passed once more where the end is found.
        Some(Self { all: each.checked_mul(rounds)?.checked_add(each)?, last: own.max(inside) })
    }

    fn followed_by(self, next: Self) -> Option<Self> {
        let last = if next.last > 0 { self.all.checked_add(next.last)? } else { self.last };
        Some(Self { all: self.all.checked_add(next.all)?, last })
    }
}

impl Evaluator<'_> {
    /// An upper bound of the rounds of all loops of the kernel together, or the first loop without a known bound.
    pub(crate) fn loop_rounds(&mut self, atoms: &mut Atoms) -> Result<u128, usize> {
        let rounds = self.most_rounds(atoms)?;
        let mut each: Vec<u128> = Vec::with_capacity(rounds.len());
        let mut total = 0u128;
        for (index, (one, rounds)) in self.analysis.loops.iter().zip(rounds).enumerate() {
            // The round that finds the loop at its end counts as one.
            let around = one.parent.map_or(1, |parent| each[parent]);
            each.push(around.checked_mul(rounds + 1).ok_or(index)?);
            total = total.checked_add(each[each.len() - 1]).ok_or(index)?;
        }
        Ok(total)
    }

    /// The number of the last round that does something, counted over all loops in their order; or the first loop without a known bound. Rounds
    /// before it that find a loop at its end count, those behind it and the first round of a loop do not have to be reached.
    pub(crate) fn last_round(&mut self, atoms: &mut Atoms) -> Result<u128, usize> {
        let rounds = self.most_rounds(atoms)?;
        let loops = &self.analysis.loops;
        let mut inside = vec![Rounded::default(); loops.len()];
        let mut all = Rounded::default();
        // What is inside of a loop has a greater index.
        for (index, rounds) in rounds.into_iter().enumerate().rev() {
            let one = inside[index].repeated(rounds).ok_or(index)?;
            let around = loops[index].parent.map_or(&mut all, |parent| &mut inside[parent]);
            *around = one.followed_by(*around).ok_or(index)?;
        }
        Ok(all.last)
    }

    /// Most rounds of each loop, each time it is entered.
    fn most_rounds(&mut self, atoms: &mut Atoms) -> Result<Vec<u128>, usize> {
        self.leave();
        let analysis = self.analysis;
        let mut all = Vec::with_capacity(analysis.loops.len());
        for (index, one) in analysis.loops.iter().enumerate() {
            let rounds = match one.rounds {
                Rounds::AtMost(n) => Some(u128::from(n)),
                Rounds::Products(products) => self.rounds_of_products(atoms, products).map(u128::from),
                Rounds::Counted => {
                    self.rounds_of(atoms, index).and_then(|(_, most)| u128::try_from(most).ok())
                }
                Rounds::Unknown => {
                    let recurrence = one.recurrence.as_ref();
                    recurrence.and_then(|recurrence| self.run(atoms, recurrence)).map(u128::from)
                }
            };
            all.push(rounds.ok_or(index)?);
        }
        Ok(all)
    }

    /// Rounds of a loop whose counter is multiplied, if all words that they depend on are numbers.
    fn rounds_of_products(&mut self, atoms: &mut Atoms, products: Products) -> Option<u64> {
        self.leave();
        let mut word = |node: NodeId| {
            let number = self.value(atoms, node).constant()?;
            u64::try_from(number.rem_euclid(1 << self.analysis.exprs.get(node).width())).ok()
        };
        let by = match products.by {
            Factor::Two => 2,
            Factor::Word(node) => word(node)?,
            // A shift by as many bits as there are has no value.
            Factor::Shift(node) => 1 << word(node).filter(|&bits| bits < u64::from(products.width))?,
        };
        products.rounds(word(products.first)?, by, word(products.limit)?)
    }

    /// Fewest and most rounds that any invocation does of a loop that nothing but its test ends, and the atom that counts them.
    pub(crate) fn rounds_between(&mut self, atoms: &mut Atoms, index: usize) -> Option<(AtomId, u32, u32)> {
        self.leave();
        let (least, most) = self.rounds_of(atoms, index)?;
        let (node, bound) = self.counted(index)?;
        let counter = atoms.find(&self.round(node))?;
        bound.only_exit.then_some(())?;
        Some((counter, u32::try_from(least).ok()?, u32::try_from(most).ok()?))
    }

    /// The counter of a loop, and what it is tested against.
    fn counted(&self, index: usize) -> Option<(NodeId, LoopBound)> {
        let &node = self.analysis.loops.get(index)?.tested.first()?;
        match *self.analysis.exprs.get(node) {
            Node::Counter { bound: Some(bound), .. } => Some((node, bound)),
            _ => None,
        }
    }

    /// Fewest and most rounds of a loop that counts, each time it is entered, if its test is all that ends it. Outside of
    /// any context.
    fn rounds_of(&mut self, atoms: &mut Atoms, index: usize) -> Option<(i128, i128)> {
        self.round_here(atoms, index)?;
        self.rounds.get(&index).copied()
    }

    /// What counts the rounds of the loops around an access, if it is known which rounds come to the access.
    pub(super) fn counters(&self, atoms: &Atoms, access: &Access) -> Option<SmallVec<[AtomId; 2]>> {
        let counter = |&(index, place): &(usize, Place)| {
            let (node, _) = self.counted(index)?;
            (place != Place::Unclear).then(|| atoms.find(&self.round(node))).flatten()
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

    /// What holds in a round of the loops around an access as long as nothing but their tests has ended them: if it holds
    /// in one, it has held in all before. `None` if that is not known.
    pub(super) fn exits(&mut self, atoms: &mut Atoms, access: &Access) -> Option<Vec<Affine>> {
        let analysis = self.analysis;
        let mut all = Vec::new();
        for &(index, _) in &access.loops {
            if self.counted(index)?.1.only_exit {
                continue;
            }
            self.leave();
            self.round_here(atoms, index)?;
            for exit in analysis.loops[index].exits.as_ref()? {
                let mut forms = Vec::new();
                let exact = self.assume(atoms, exit.condition, exit.holds, &mut forms);
                if !exact || !self.lasts(atoms, &forms, index) {
                    return None;
                }
                all.extend(forms);
            }
        }
        Some(all)
    }

    /// Whether forms that are at most zero in one round of a loop are so in all rounds before.
    fn lasts(&self, atoms: &Atoms, forms: &[Affine], index: usize) -> bool {
        let Some((node, _)) = self.counted(index) else { return false };
        let round = atoms.find(&self.round(node));
        let is_kept = |&(id, c): &(AtomId, i128)| match atoms.get(id) {
            _ if Some(id) == round => c >= 0 || mutant!(WhatHoldsHeldBefore),
            // Of a loop around this one.
            Atom::Round { .. } => true,
            _ => atoms.is_shared(id),
        };
        forms.iter().flat_map(|form| &form.terms).all(is_kept)
    }

    /// For a condition under which counters step: whether what it says of the value that they have if every round before
    /// has stepped says that these have.
    pub(super) fn shows_steps(&self, atoms: &Atoms, guard: &Guard, forms: &[Affine]) -> bool {
        let passed = Passed { block: guard.block, taken: guard.holds };
        let mut of = self.analysis.skipping.iter().filter(|(_, under)| under.contains(&passed));
        of.all(|&(index, _)| self.lasts(atoms, forms, index))
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

    /// What counts the rounds that a loop has done before, if one of its tests bounds them in the present context.
    fn round_here(&mut self, atoms: &mut Atoms, index: usize) -> Option<AtomId> {
        let (least, most) = self.count_here(atoms, index)?;
        if self.context.is_none() {
            self.rounds.insert(index, (least, most));
        }
        let round = self.round(*self.analysis.loops.get(index)?.tested.first()?);
        // An arm's bound is not that of the loop, which is all that others ask the atom for.
        if self.arms.depth > 0 && atoms.find(&round).is_none() {
            return None;
        }
        Some(atoms.intern(round, most))
    }

    /// Fewest and most rounds of a loop, each time it is entered, in the present context.
    fn count_here(&mut self, atoms: &mut Atoms, index: usize) -> Option<(i128, i128)> {
        let analysis = self.analysis;
        let of = analysis.loops.get(index)?;
        let mut known: Option<(i128, i128)> = None;
        let mut all_known = true;
        for &node in &of.tested {
            match (self.count_of(atoms, node), known) {
                (Some((least, most)), Some(others)) => {
                    known = Some((least.min(others.0), most.min(others.1)))
                }
                (Some(count), None) => known = Some(count),
                (None, _) => all_known = false,
            }
        }
        let (least, most) = known?;
        let most = if mutant!(OneRoundLess) { (most - 1).max(0) } else { most };
        // A test that is not followed may end the loop at once.
        let least = if all_known { least.min(most) } else { 0 };
        Some((least, most))
    }

    /// A counter behind its loop, if every invocation does as many rounds of that.
    pub(super) fn counter_behind(&mut self, atoms: &mut Atoms, counter: NodeId) -> Option<Value> {
        let &Node::Counter { init, step, of, .. } = self.analysis.exprs.get(counter) else { return None };
        let (_, bound) = self.counted(of as usize)?;
        let (least, most) = self.count_here(atoms, of as usize)?;
        let is_fixed = bound.only_exit && least == most;
        if !is_fixed && !mutant!(LoopsEndLate) {
            return None;
        }
        let (init, step) = (self.value(atoms, init), self.value(atoms, step).constant()?);
        let steps = Affine::constant(step.checked_mul(most)?);
        let form = init.form.plus(&steps, 1)?;
        Some(self.exact(atoms, form))
    }

    /// Fewest and most rounds by one of the tests of a loop, if its counter comes to its limit without wrapping.
    fn count_of(&mut self, atoms: &mut Atoms, node: NodeId) -> Option<(i128, i128)> {
        let &Node::Counter { width, step, bound: Some(bound), .. } = self.analysis.exprs.get(node) else {
            return None;
        };
        let step = self.value(atoms, step).constant()?;
        let init = self.value(atoms, bound.first);
        let own = self.value(atoms, bound.limit);
        let counted = |this: &Self, atoms: &mut Atoms, limit: &Value, signed: bool| {
            let meaning = if signed { as_signed } else { as_unsigned };
            let range = if signed {
                (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1)
            } else {
                (0, (1i128 << width) - 1)
            };
            // Where the first number may have wrapped it is some word.
            let init =
                meaning(&init, width).unwrap_or_else(|| this.unknown(atoms, bound.first, range.0, range.1));
            let limit = meaning(limit, width)?;
            this.count(atoms, bound.goes_on, &init, &limit, step, range)
        };
        let op = match (bound.goes_on, bound.signed) {
            // Words are equal in either reading.
            (GoesOn::UnlessEqual, _) => {
                return counted(self, atoms, &own, false).or_else(|| counted(self, atoms, &own, true));
            }
            (GoesOn::Below | GoesOn::AtMost, true) => CompareOp::SLess,
            (GoesOn::Below | GoesOn::AtMost, false) => CompareOp::ULess,
            _ => return counted(self, atoms, &own, bound.signed),
        };
        // The least of two numbers is no more than either of them.
        let (mut least, mut most) = counted(self, atoms, &own, bound.signed)?;
        if let Some((x, y)) = self.below(op, bound.limit) {
            for limit in [x, y] {
                let limit = self.value(atoms, limit);
                most = counted(self, atoms, &limit, bound.signed).map_or(most, |count| most.min(count.1));
            }
        }
        least = least.min(most);
        Some((least, most))
    }

    /// The value of a counter: as many steps as its loop has done rounds before, or, where some of them may have left it as
    /// it was, at most as many.
    pub(super) fn counter(
        &mut self,
        atoms: &mut Atoms,
        node: NodeId,
        (init, step): (NodeId, NodeId),
        index: usize,
        steps: bool,
    ) -> Option<Value> {
        let round = self.round_here(atoms, index)?;
        let (init, step) = (self.value(atoms, init), self.value(atoms, step).constant()?);
        let number = match steps {
            true => round,
            false => {
                let most = atoms.max(round);
                atoms.intern(Atom::Steps { member: self.member(), node }, most)
            }
        };
        let form = init.form.plus(&Affine::atom(number), step)?;
        Some(self.exact(atoms, form))
    }

    /// Fewest and most rounds of a loop that compares a number which steps from `init`, and goes on while `goes_on`, if it stays within `range` up to the
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
                // Both may grow with the same id.
                let apart = limit.form.plus(&init.form, -1).map(|form| self.exact(atoms, form));
                let most = apart.map_or(i128::MAX, |apart| apart.high - strict).min(last - init.low);
                fits.then(|| (within(first - init.high, step), within(most, step)))
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
