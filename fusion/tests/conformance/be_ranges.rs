//! Kernels of different ranges in one list: every id built-in must say what it says unfused.
//!
//! Each kernel of the seven lists writes down its ids in buffers of its own. Nothing flows between the kernels,
//! so every list must become one dispatch.

use crate::support::{Rig, Size, Submit, Workload};

/// A range in items, and the work-group size where the kernel has one to call its own.
type Range = ([u32; 3], Option<[u32; 3]>);

const fn plain(items: [u32; 3]) -> Range {
    (items, None)
}

const fn grouped(items: u32, local: u32) -> Range {
    ([items, 1, 1], Some([local, 1, 1]))
}

/// The lists of the conformance row.
const LISTS: [&[Range]; 7] = [
    &[plain([10, 1, 1]), plain([20, 1, 1])],
    &[plain([10, 1, 1]), plain([20, 1, 1]), plain([30, 1, 1])],
    &[plain([10, 1, 1]), plain([20, 1, 1]), plain([10, 10, 1])],
    &[grouped(10, 2), grouped(20, 2)],
    &[grouped(10, 5), grouped(20, 5), grouped(30, 5)],
    &[plain([67, 1, 1]), plain([87, 1, 1]), plain([64, 1, 1])],
    &[plain([30, 67, 1]), plain([76, 55, 1]), plain([64, 64, 1])],
];

/// Runs one list unfused and fused; returns how many dispatches that took.
fn run(rig: &Rig, ranges: &[Range]) -> u64 {
    let mut list = Workload::default();
    let mut recorded = Vec::new();
    for &(items, local) in ranges {
        let words = 3 * items.iter().product::<u32>() as usize;
        match local {
            None => {
                let ids = list.poisoned("global_id", words);
                list.submit(
                    Submit::new("ids/record_global", Size::Items(items))
                        .write(0, ids)
                        .push(items[0])
                        .push(items[1])
                        .push(items[2]),
                );
                recorded.push(vec![ids]);
            }
            Some(local) => {
                let names = ["global_size", "local_size", "group_count", "global_id", "local_id", "group_id"];
                let ids = names.map(|name| list.poisoned(name, words));
                let groups = [0, 1, 2].map(|c| items[c] / local[c]);
                let submit = Submit::new("ids/record", Size::Groups(groups)).local(&local);
                list.submit((0..).zip(ids).fold(submit, |submit, (binding, ids)| submit.write(binding, ids)));
                recorded.push(ids.to_vec());
            }
        }
    }
    let unfused = list.run_unfused(rig);
    let fused = list.check_fused(rig);

    // Equal runs could be equally wrong, so the ids are checked against the definition, too.
    for (&(items, local), ids) in ranges.iter().zip(&recorded) {
        for at in 0..items.iter().product::<u32>() {
            let global = [at % items[0], at / items[0] % items[1], at / items[0] / items[1]];
            let expected = match local {
                None => vec![global],
                Some(local) => {
                    let each =
                        |of: fn(u32, u32) -> u32, from: [u32; 3]| [0, 1, 2].map(|c| of(from[c], local[c]));
                    let groups = each(|size, local| size / local, items);
                    let local_id = each(|id, local| id % local, global);
                    let group_id = each(|id, local| id / local, global);
                    vec![items, local, groups, global, local_id, group_id]
                }
            };
            for (&buffer, expected) in ids.iter().zip(expected) {
                let words = 3 * at as usize..3 * at as usize + 3;
                assert_eq!(fused.words(buffer)[words], expected, "item {at} of {items:?}");
            }
        }
    }
    unfused.stats.dispatches + fused.stats.dispatches
}

#[test]
fn different_nd_ranges_two_lengths() {
    run(&rig!(), LISTS[0]);
}

#[test]
fn different_nd_ranges_three_lengths() {
    run(&rig!(), LISTS[1]);
}

#[test]
fn different_nd_ranges_one_and_two_dimensions() {
    run(&rig!(), LISTS[2]);
}

#[test]
fn different_nd_ranges_two_group_counts() {
    run(&rig!(), LISTS[3]);
}

#[test]
fn different_nd_ranges_three_group_counts() {
    run(&rig!(), LISTS[4]);
}

#[test]
fn different_nd_ranges_odd_lengths() {
    run(&rig!(), LISTS[5]);
}

#[test]
fn different_nd_ranges_two_dimensions() {
    run(&rig!(), LISTS[6]);
}

/// The whole row: 19 unfused dispatches and 7 fused ones.
#[test]
fn different_nd_ranges() {
    let rig = rig!();
    let dispatches: u64 = LISTS.iter().map(|ranges| run(&rig, ranges)).sum();
    assert_eq!(dispatches, 26);
}
