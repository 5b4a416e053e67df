//! Holds what counts as covered against the truth: random writes and one read, done by every invocation of a few
//! work-groups, byte by byte.

use std::collections::HashSet;

use super::*;
use crate::analysis::affine::Ranges;
use crate::analysis::brute::Random;
use crate::analysis::evaluate::AccessForm;

/// Greatest group id, local ids and cell.
const MOST: [i128; 4] = [2, 3, 1, 2];

fn evaluate(ids: &[AtomId; 4], form: &Affine, at: [i128; 4]) -> i128 {
    form.constant + ids.iter().zip(at).map(|(&id, value)| form.coefficient(id) * value).sum::<i128>()
}

/// Every value of group id, local ids and cell.
fn points() -> impl Iterator<Item = [i128; 4]> {
    let [g, x, y, c] = MOST;
    (0..=g).flat_map(move |g| {
        (0..=x).flat_map(move |x| (0..=y).flat_map(move |y| (0..=c).map(move |c| [g, x, y, c])))
    })
}

fn access(
    random: &mut Random,
    atoms: &Atoms,
    ids: &[AtomId; 4],
    kind: AccessKind,
    own: i128,
) -> (Element, Instance) {
    let mut offset = Affine::constant(random.below(5) as i128);
    offset.add_term(ids[0], own);
    let [x, y] = random.pick(&[[1, 4], [2, 8], [2, 1], [1, 0], [0, 1], [0, 0], [-1, 4], [4, 16], [3, 1]]);
    offset.add_term(ids[1], x);
    offset.add_term(ids[2], y);
    let mut facts = Vec::new();
    for _ in 0..random.below(3) {
        let mut fact = Affine::default();
        for &id in ids {
            if random.below(3) == 0 {
                fact.add_term(id, random.pick(&[1, 1, -1, 4, 2]));
            }
        }
        fact.constant = random.below(9) as i128 - 6;
        facts.push(fact);
    }
    let mut ranges = Ranges::default();
    ranges.apply(atoms, &facts);
    let never = ranges.is_empty();
    let size = random.pick(&[1, 1, 2, 4]);
    let form = AccessForm {
        offset: offset.clone(),
        size,
        facts: facts.clone(),
        ranges,
        conditions: facts.clone(),
        certain: true,
        followed: true,
        counters: SmallVec::new(),
        begun: SmallVec::new(),
        unknown: false,
        never,
        accessor: (0, 4096),
    };
    let member = usize::from(kind == AccessKind::Read);
    let instance = Instance {
        counters: SmallVec::new(),
        offset,
        pieces: Rc::from([(0, size)]),
        conditions: facts.clone(),
        facts,
        certain: true,
    };
    (Element::bare(member, kind, form), instance)
}

/// What is claimed of one random list, by invocation and by work-group, and whether it is true.
fn list(seed: u64) -> [(bool, bool); 2] {
    let mut random = Random(seed);
    let mut atoms = Atoms::default();
    let kinds =
        [Atom::Group(0), Atom::Local(0), Atom::Local(1), Atom::Cell { buffer: 0, offset: 0, width: 32 }];
    let [g, x, y, c] = kinds;
    let ids = [(g, 0), (x, 1), (y, 2), (c, 3)].map(|(atom, n)| atoms.intern(atom, MOST[n]));
    let own = random.pick(&[0, 8, 16, 32]);
    let (read, one) = access(&mut random, &atoms, &ids, AccessKind::Read, own);
    let writes: Vec<(Element, Instance)> =
        (0..1 + random.below(4)).map(|_| access(&mut random, &atoms, &ids, AccessKind::Write, own)).collect();
    let happens = |form: &AccessForm, at| form.facts.iter().all(|fact| evaluate(&ids, fact, at) <= 0);
    let bytes = |form: &AccessForm, at| {
        let start = evaluate(&ids, &form.offset, at);
        start..start + form.size
    };
    let mut by_one: HashSet<([i128; 4], i128)> = HashSet::new();
    let mut by_all: HashSet<(i128, i128, i128)> = HashSet::new();
    for at in points() {
        for (write, _) in writes.iter().filter(|(write, _)| happens(&write.form, at)) {
            by_one.extend(bytes(&write.form, at).map(|byte| (at, byte)));
            by_all.extend(bytes(&write.form, at).map(|byte| (at[0], at[3], byte)));
        }
    }
    let reads: Vec<([i128; 4], i128)> = points()
        .filter(|&at| happens(&read.form, at))
        .flat_map(|at| bytes(&read.form, at).map(move |byte| (at, byte)))
        .collect();
    let written: Vec<(&Element, Vec<Instance>)> = writes
        .iter()
        .filter(|(write, _)| !write.form.never)
        .map(|(write, one)| (write, vec![one.copy()]))
        .collect();
    let claimed = |all: bool| {
        !read.form.never
            && match all {
                true => by_group(&atoms, &read, &one, &written),
                false => by_invocation(&[], &atoms, &read, &one, &written),
            }
    };
    [
        (claimed(false), reads.iter().all(|read| by_one.contains(read))),
        (claimed(true), reads.iter().all(|&(at, byte)| by_all.contains(&(at[0], at[3], byte)))),
    ]
}

impl Instance {
    fn copy(&self) -> Self {
        Self {
            counters: self.counters.clone(),
            offset: self.offset.clone(),
            pieces: self.pieces.clone(),
            facts: self.facts.clone(),
            conditions: self.conditions.clone(),
            certain: self.certain,
        }
    }
}

#[test]
fn what_counts_as_covered_was_written() {
    let mut counts = [0usize; 2];
    for seed in 0..6_000u64 {
        let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for ((claimed, is_true), count) in list(seed).into_iter().zip(&mut counts) {
            assert!(is_true || !claimed, "seed {seed:#x}");
            *count += usize::from(claimed);
        }
    }
    println!("of 6000 reads covered: {counts:?} (by the invocation, by the work-group)");
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
}

/// What the comparison above is worth: each rule, weakened, is caught.
#[cfg(feature = "mutation")]
#[test]
fn weakened_rules_cover_too_much() {
    use crate::mutation::{Mutant, with};
    for mutant in [Mutant::AnyConditionCovers, Mutant::AnyGroupWriteCovers, Mutant::GapsAreCovered] {
        let is_wrong = |seed: &u64| {
            let found = with(mutant, || list(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            found.iter().any(|&(claimed, is_true)| claimed && !is_true)
        };
        let first = (0..6_000u64).find(is_wrong);
        println!("{mutant:?}: list {first:?}");
        assert!(first.is_some(), "{mutant:?}");
    }
}
