//! Compares `places` with brute force: random accesses to one buffer, the slot of each computed as the emitted code computes
//! it, for every invocation and every value of the unknowns.
//!
//! For one owner two accesses have the same slot if and only if they are to the same element.

use std::collections::HashMap;

use super::*;
use crate::analysis::affine::Ranges;
use crate::analysis::brute::{self, Random};
use crate::analysis::evaluate::AccessForm;
use crate::analysis::expr::NodeId;

const GROUPS: u32 = 3;
const LOCALS: u32 = 4;
/// Greatest values of the cell and of each member's counter.
const CELL: i128 = 2;
const ROUNDS: u32 = 3;

struct Point {
    group: i128,
    local: i128,
    cell: i128,
    round: i128,
}

fn evaluate(atoms: &Atoms, form: &Affine, at: &Point) -> i128 {
    brute::evaluate(atoms, form, &|atom| match atom {
        Atom::Group(_) => at.group,
        Atom::Local(_) => at.local,
        Atom::Cell { .. } => at.cell,
        Atom::Free { .. } => at.round,
        other => unreachable!("not made here: {other:?}"),
    })
}

/// What the emitted code computes from the kernel's own index.
fn slot_of(place: &SlotOf, index: i128, at: &Point) -> i128 {
    match place {
        SlotOf::Fixed(slot) => i128::from(*slot),
        SlotOf::Unrolled { first, by } => {
            i128::from(*first) + by.iter().map(|&(_, slots)| i128::from(slots) * at.round).sum::<i128>()
        }
        SlotOf::Relative { group, local, constant, divisor } => {
            let own = i128::from(group[0]) * at.group + i128::from(local[0]) * at.local;
            let sum = (index - own + i128::from(*constant)).rem_euclid(1 << 32);
            sum / i128::from(*divisor)
        }
    }
}

/// Whether some accesses get slots; panics if these are wrong.
fn list(seed: u64) -> bool {
    let mut random = Random(seed);
    let mut atoms = Atoms::default();
    let group = atoms.intern(Atom::Group(0), i128::from(GROUPS) - 1);
    let local = atoms.intern(Atom::Local(0), i128::from(LOCALS) - 1);
    let cell = atoms.intern(Atom::Cell { buffer: 0, offset: 0, width: 32 }, CELL);
    let half = atoms.intern(Atom::Quotient(Affine::atom(local), 2), i128::from(LOCALS - 1) / 2);
    let odd = atoms.intern(Atom::Remainder(Affine::atom(local), 2), 1);
    let kind = random.pick(&[Internalization::Private, Internalization::Local]);
    let stride = random.pick(&[4, 8, 12]);
    let own = (random.pick(&[0, 1, 4, 8, -4]), random.pick(&[0, 1, 1, -1]));
    let mut elements = Vec::new();
    let mut indices = Vec::new();
    for number in 0..1 + random.below(4) {
        let counter =
            atoms.intern(Atom::Free { member: number as u32, node: NodeId(0), base: 0 }, i128::from(ROUNDS));
        let mut index = Affine::constant(random.below(6) as i128);
        let other = random.below(12) == 0;
        index.add_term(group, own.0 + i128::from(other));
        index.add_term(local, own.1);
        for (id, often) in [(counter, 2), (cell, 6), (half, 8), (odd, 8)] {
            if random.below(often) == 0 {
                index.add_term(id, random.pick(&[1, 2, 3, -1]));
            }
        }
        let mut facts = Vec::new();
        for id in [counter, cell, group, local] {
            if random.below(4) == 0 {
                let mut fact = Affine::constant(-(random.below(3) as i128));
                fact.add_term(id, 1);
                facts.push(fact);
            }
        }
        let mut ranges = Ranges::default();
        ranges.apply(&atoms, &facts);
        // Headers and views: usually, but not always, a number of whole elements.
        let base = stride * random.below(3) as i128 + if random.below(10) == 0 { 4 } else { 0 };
        let array = base + stride * random.below(5) as i128 + if random.below(10) == 0 { 4 } else { 0 };
        let start = Affine::constant(array).plus(&index, stride).expect("small");
        let loops = if random.below(2) == 0 {
            Vec::new()
        } else {
            vec![Written { index: 0, counter, sure: ROUNDS, most: ROUNDS }]
        };
        indices.push(index);
        elements.push(Element {
            member: number,
            binding: 0,
            access: 0,
            kind: AccessKind::Write,
            form: AccessForm {
                offset: start.clone(),
                size: stride,
                facts,
                ranges,
                conditions: Vec::new(),
                certain: true,
                followed: true,
                counters: Default::default(),
                begun: Default::default(),
                unknown: false,
                never: false,
                accessor: (base, base + 4096),
            },
            start,
            array,
            loops: loops.into(),
        });
    }
    let Ok((slots, found)) = places(&atoms, &elements, kind, stride) else { return false };
    let mut slot_at: HashMap<(i128, i128, i128, i128), i128> = HashMap::new();
    let mut start_at: HashMap<(i128, i128, i128, i128), i128> = HashMap::new();
    for ((element, index), place) in elements.iter().zip(&indices).zip(&found) {
        // A counter that is unrolled takes these values and no others.
        let last = if matches!(place, SlotOf::Unrolled { .. }) { ROUNDS - 1 } else { ROUNDS };
        for (group, local) in (0..GROUPS).flat_map(|g| (0..LOCALS).map(move |l| (g, l))) {
            for (cell, round) in (0..=CELL).flat_map(|c| (0..=last).map(move |r| (c, i128::from(r)))) {
                let at = Point { group: group.into(), local: local.into(), cell, round };
                if element.form.facts.iter().any(|fact| evaluate(&atoms, fact, &at) > 0) {
                    continue;
                }
                let start = evaluate(&atoms, &element.start, &at);
                let slot = slot_of(place, evaluate(&atoms, index, &at), &at);
                let text = || {
                    format!(
                        "seed {seed:#x}: {elements:#?}\n{atoms:?}\n{found:?}",
                        elements = starts(&elements)
                    )
                };
                assert!((0..i128::from(slots)).contains(&slot), "slot {slot} of {slots}, {}", text());
                let owner = (at.group, if kind == Internalization::Private { at.local } else { 0 }, cell);
                let known = *slot_at.entry((owner.0, owner.1, owner.2, start)).or_insert(slot);
                assert_eq!(known, slot, "one element, two slots, {}", text());
                let known = *start_at.entry((owner.0, owner.1, owner.2, slot)).or_insert(start);
                assert_eq!(known, start, "two elements, one slot, {}", text());
            }
        }
    }
    true
}

fn starts(elements: &[Element]) -> Vec<&Affine> {
    elements.iter().map(|element| &element.start).collect()
}

#[test]
fn one_slot_for_each_element_of_an_owner() {
    let granted = (0..3_000u64).filter(|&seed| list(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))).count();
    println!("{granted} of 3000 lists got slots");
    assert!(granted > 500, "{granted}");
}
