//! Compares `relate` with brute force: random pairs of accesses, with all invocations of small ranges tried.
//!
//! The brute force knows what an atom is, and nothing of digits, windows or ranges: it evaluates the offsets for every
//! invocation and every value of the unknowns, and looks for equal bytes.

use super::super::affine::{Affine, Atom, AtomId, Atoms, Ranges};
use super::super::brute::{self, Random};
use super::super::evaluate::AccessForm;
use super::super::expr::NodeId;
use super::{Relation, Shape, relate};

/// Greatest values of the cell and of what one side alone knows.
const CELL: i128 = 3;
const FREE: i128 = 2;

/// One invocation with everything it may find.
#[derive(Clone, Copy)]
struct Point {
    group: [i128; 3],
    local: [i128; 3],
    cell: i128,
    free: i128,
}

fn evaluate(atoms: &Atoms, form: &Affine, at: &Point) -> i128 {
    brute::evaluate(atoms, form, &|atom| match atom {
        Atom::Group(d) => at.group[usize::from(*d)],
        Atom::Local(d) => at.local[usize::from(*d)],
        Atom::Cell { .. } => at.cell,
        Atom::Free { .. } => at.free,
        other => unreachable!("not made here: {other:?}"),
    })
}

fn points(shape: Shape) -> Vec<Point> {
    let all = |n: [u32; 3]| {
        let [x, y, z] = n.map(i128::from);
        (0..x * y * z).map(move |i| [i % x, i / x % y, i / x / y])
    };
    let mut out = Vec::new();
    for group in all(shape.groups) {
        for local in all(shape.local) {
            for cell in 0..=CELL {
                out.extend((0..=FREE).map(|free| Point { group, local, cell, free }));
            }
        }
    }
    out
}

/// Makes accesses as the evaluator would: what is in a form means something wherever the form's facts hold.
struct Maker<'a> {
    random: &'a mut Random,
    atoms: &'a mut Atoms,
    shape: Shape,
    points: &'a [Point],
    /// Group, local and cell atoms.
    common: Vec<AtomId>,
}

impl Maker<'_> {
    /// `group * size + local` of a dimension.
    fn global(&mut self, dim: u8) -> Affine {
        let mut form = Affine::default();
        if let Some(group) = self.id(Atom::Group(dim)) {
            form.add_term(group, i128::from(self.shape.local[usize::from(dim)]));
        }
        if let Some(local) = self.id(Atom::Local(dim)) {
            form.add_term(local, 1);
        }
        form
    }

    fn id(&self, atom: Atom) -> Option<AtomId> {
        self.atoms.find(&atom).filter(|id| self.common.contains(id))
    }

    fn small(&mut self) -> Affine {
        let mut form = match self.random.below(4) {
            0 => self.global(0),
            1 => self.global(1),
            _ => Affine::default(),
        };
        for _ in 0..self.random.below(3) {
            let (id, c) = (self.random.pick(&self.common.clone()), self.random.between(-3, 5));
            form.add_term(id, c);
        }
        form
    }

    fn where_all_hold(&self, facts: &[Affine]) -> Vec<Point> {
        let holds = |at: &Point| facts.iter().all(|fact| evaluate(self.atoms, fact, at) <= 0);
        self.points.iter().copied().filter(holds).collect()
    }

    /// A quotient or remainder of a form that is not negative where these facts hold.
    fn part(&mut self, facts: &[Affine]) -> Option<AtomId> {
        let mut base = self.small();
        if self.random.one_in(3) {
            let ids: Vec<AtomId> = base.terms.iter().map(|t| t.0).collect();
            ids.into_iter().for_each(|id| base.add_term(id, -2 * base.coefficient(id)));
        }
        let values = self.where_all_hold(facts);
        let least = values.iter().map(|at| evaluate(self.atoms, &base, at)).min()?;
        let spare = if self.random.one_in(2) { 0 } else { self.random.between(0, 3) };
        base.constant += spare - least;
        let most = values.iter().map(|at| evaluate(self.atoms, &base, at)).max()?;
        let divisor = self.random.between(2, 6);
        if base.terms.is_empty() {
            return None;
        }
        Some(if self.random.one_in(2) {
            self.atoms.intern(Atom::Quotient(base, divisor), most / divisor)
        } else {
            self.atoms.intern(Atom::Remainder(base, divisor), divisor - 1)
        })
    }

    /// Something that is at most zero, with a bound that is neither always met nor never.
    fn fact(&mut self, facts: &[Affine], parts: &[AtomId]) -> Option<Affine> {
        let mut form = self.small();
        if !parts.is_empty() && self.random.one_in(3) {
            form.add_term(self.random.pick(parts), self.random.between(-2, 2));
        }
        let values: Vec<i128> =
            self.where_all_hold(facts).iter().map(|at| evaluate(self.atoms, &form, at)).collect();
        if values.is_empty() {
            return None;
        }
        form.constant -= self.random.pick(&values);
        Some(form)
    }

    /// `y * width + x`, `x < width`.
    fn tile(&mut self) -> AccessForm {
        let (x, y) = if self.random.one_in(2) { (0, 1) } else { (1, 0) };
        let width = self.random.between(2, 8);
        let mut guard = self.global(x);
        let offset = guard.plus(&self.global(y), width).unwrap_or_default();
        guard.constant = 1 - width;
        self.form(offset, vec![guard])
    }

    fn access(&mut self, free: AtomId) -> AccessForm {
        if self.random.one_in(5) {
            return self.tile();
        }
        let mut facts: Vec<Affine> = Vec::new();
        for _ in 0..self.random.below(3) {
            facts.extend(self.fact(&facts.clone(), &[]));
        }
        if self.random.one_in(6)
            && let Some(fact) = facts.first()
        {
            // An equation.
            facts.extend(fact.scaled(-1));
        }
        let mut parts = Vec::new();
        for _ in 0..self.random.below(3) {
            parts.extend(self.part(&facts));
        }
        if self.random.one_in(3) {
            facts.extend(self.fact(&facts.clone(), &parts));
        }
        let mut offset = self.small().scaled(self.random.pick(&[1, 2, 4])).unwrap_or_default();
        for &id in &parts {
            offset.add_term(id, self.random.between(-4, 8));
        }
        if self.random.one_in(4) {
            offset.add_term(free, self.random.between(-2, 4));
        }
        offset.constant += self.random.between(-3, 3);
        self.form(offset, facts)
    }

    fn form(&mut self, offset: Affine, facts: Vec<Affine>) -> AccessForm {
        let mut ranges = Ranges::default();
        ranges.apply(self.atoms, &facts);
        let never = ranges.is_empty();
        AccessForm {
            offset,
            size: self.random.pick(&[1, 1, 2, 4]),
            facts,
            ranges,
            conditions: Vec::new(),
            certain: true,
            followed: true,
            counters: Default::default(),
            begun: Default::default(),
            unknown: false,
            never,
            accessor: (0, 1 << 20),
        }
    }

    /// The same place, said or guarded in another way, or nearly so.
    fn like(&mut self, first: &AccessForm, own: AtomId, other: AtomId) -> AccessForm {
        let mut form = first.clone();
        let weight = form.offset.coefficient(own);
        form.offset.add_term(own, -weight);
        form.offset.add_term(other, weight);
        match self.random.below(7) {
            // That of the first invocation of the work-group.
            4 | 5 => {
                let local = self.random.pick(&self.common.clone());
                if matches!(self.atoms.get(local), Atom::Local(_)) {
                    form.offset.add_term(local, -form.offset.coefficient(local));
                }
            }
            0 => {
                let id = self.random.pick(&self.common.clone());
                form.offset.add_term(id, self.random.between(-2, 2));
            }
            1 => form.offset.constant += self.random.between(-4, 4),
            2 => form.offset = form.offset.scaled(2).unwrap_or_default(),
            3 => {
                let facts = form.facts.clone();
                form.facts.extend(self.fact(&facts, &[]));
            }
            _ => {}
        }
        self.form(form.offset, form.facts)
    }
}

/// The relation of two accesses, from all pairs of points.
fn truth(atoms: &Atoms, points: &[Point], a: &AccessForm, b: &AccessForm) -> Relation {
    let places = |form: &AccessForm| {
        let happens = |at: &&Point| form.facts.iter().all(|fact| evaluate(atoms, fact, at) <= 0);
        let mut list: Vec<(i128, Point)> =
            points.iter().filter(happens).map(|at| (evaluate(atoms, &form.offset, at), *at)).collect();
        list.sort_by_key(|(offset, at)| (*offset, at.cell, at.group, at.local));
        list.dedup_by_key(|(offset, at)| (*offset, at.cell, at.group, at.local));
        list
    };
    let (of_a, of_b) = (places(a), places(b));
    let mut worst = Relation::Disjoint;
    for (f, t) in &of_a {
        let from = of_b.partition_point(|(g, _)| g + b.size <= *f);
        for (_, u) in
            of_b[from..].iter().take_while(|(g, _)| *g < f + a.size).filter(|(_, u)| u.cell == t.cell)
        {
            worst = worst.max(match (t.group == u.group, t.local == u.local) {
                (true, true) => Relation::SameInvocation,
                (true, false) => Relation::SameGroup,
                _ => return Relation::Unrelated,
            });
        }
    }
    worst
}

/// One random pair: what is claimed and what is true.
fn pair(seed: u64) -> (Relation, Relation, String) {
    let mut random = Random(seed);
    let shape = Shape {
        groups: [random.pick(&[1, 2, 3, 4]), random.pick(&[1, 1, 2, 3]), 1],
        local: [random.pick(&[1, 2, 3, 4]), random.pick(&[1, 1, 2]), 1],
    };
    let mut atoms = Atoms::default();
    let mut common = Vec::new();
    for d in 0..3u8 {
        for (atom, count) in
            [(Atom::Group(d), shape.groups[usize::from(d)]), (Atom::Local(d), shape.local[usize::from(d)])]
        {
            let id = atoms.intern(atom, i128::from(count) - 1);
            if count > 1 {
                common.push(id);
            }
        }
    }
    common.push(atoms.intern(Atom::Cell { buffer: 0, offset: 0, width: 32 }, CELL));
    let mut free = |member| atoms.intern(Atom::Free { member, node: NodeId(0), base: 0 }, FREE);
    let (first, second) = (free(0), free(1));
    let points = points(shape);
    let mut maker =
        Maker { random: &mut random, atoms: &mut atoms, shape, points: &points, common: common.clone() };
    let a = maker.access(first);
    // Another member, or the same access of another invocation.
    let b = match maker.random.below(3) {
        0 => maker.access(second),
        1 => a.clone(),
        _ => maker.like(&a, first, second),
    };
    let claimed = relate(&mut atoms, shape, &a, &b);
    let text = format!("seed {seed:#x}, {shape:?}\na {a:?}\nb {b:?}\n{atoms:?}");
    (claimed, truth(&atoms, &points, &a, &b), text)
}

#[test]
fn nothing_is_claimed_that_is_not_true() {
    let asked = std::env::var("VKFUSE_RELATION_PAIRS").ok().and_then(|n| n.parse().ok());
    let mut counts = [[0usize; 4]; 4];
    for seed in 0..asked.unwrap_or(4_000u64) {
        let (claimed, true_one, text) = pair(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        assert!(claimed >= true_one, "claimed {claimed:?}, but {true_one:?}: {text}");
        counts[claimed as usize][true_one as usize] += 1;
    }
    println!("claimed by true (disjoint, same invocation, same group, unrelated): {counts:?}");
    // It would be easy never to claim anything.
    for (kind, row) in counts.iter().enumerate() {
        assert!(row[kind] > 100, "{counts:?}");
    }
}

/// What the comparison above is worth: each rule of `relate`, weakened, is caught.
#[cfg(feature = "mutation")]
#[test]
fn weakened_rules_claim_too_much() {
    use crate::mutation::{Mutant, with};
    for mutant in [
        Mutant::AnyDigitIsZero,
        Mutant::DigitsByOwnWeight,
        Mutant::RangesHoldEverywhere,
        Mutant::MergeWithoutFit,
        Mutant::QuotientIsWhole,
        Mutant::RemainderIsWhole,
        Mutant::GroupIsInvocation,
        Mutant::LocalIsEnough,
        Mutant::UnknownIsEqual,
    ] {
        let is_wrong = |seed: &u64| {
            let (claimed, true_one, _) = with(mutant, || pair(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            claimed < true_one
        };
        let first = (0..50_000u64).find(is_wrong);
        println!("{mutant:?}: pair {first:?}");
        assert!(first.is_some(), "{mutant:?}");
    }
}
