//! Rows in work-groups of several sizes, with sub-groups: one dispatch where they are whole sub-groups, with the words that a processor computes.

use crate::support::{Ran, Rig, Size, Submit, Workload};
use vkfuse::Promote::{self, Auto};
use vkfuse::RewriteReason;

const ROWS: u32 = 6;
const COLUMNS: u32 = 512;

/// What `groups/subgroup_rows` makes of all rows in work-groups of `local` invocations, in sub-groups of `own`.
fn rows(x: &[u32], local: u32, own: u32) -> Vec<u32> {
    let row = |x: &[u32]| {
        let sum = x.iter().fold(0u32, |sum, one| sum.wrapping_add(*one));
        let odd = x.iter().filter(|one| *one % 2 == 1).count() as u32;
        let most = x.iter().max().copied().unwrap_or(0);
        let all = sum.wrapping_add(most.wrapping_mul(7)).wrapping_add(11 * odd + 1000 * local.max(own));
        x.iter().map(|one| one.wrapping_mul(3).wrapping_add(all)).collect::<Vec<_>>()
    };
    x.chunks(COLUMNS as usize).flat_map(row).collect()
}

/// Runs one kernel after the other, and compares with what a processor computes.
#[track_caller]
fn check(rig: &Rig, locals: &[u32], promote: Promote) -> Ran {
    let n = ROWS * COLUMNS;
    let mut list = Workload::default();
    let x: Vec<u32> = (0..n).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect();
    let mut from = list.words("x", x.iter().copied());
    let mut expected = x;
    for (number, &local) in locals.iter().enumerate() {
        let to = list.poisoned(&format!("row {number}"), n as usize);
        if number + 1 < locals.len() {
            list.promote(to, promote);
        }
        let rows_of = Submit::new("groups/subgroup_rows", Size::Groups([ROWS, 1, 1])).local(&[local]);
        list.submit(rows_of.read(0, from).write(1, to).push(COLUMNS));
        from = to;
        expected = rows(&expected, local, rig.context.device_info().subgroup_size);
    }
    let ran = list.check_equal(rig);
    assert_eq!(ran.words(from), expected);
    ran
}

#[test]
fn work_groups_of_whole_sub_groups_are_one_dispatch() {
    let rig = rig!();
    let is_llvmpipe = rig.context.device_info().driver == "llvmpipe";
    for promote in [Promote::None, Auto] {
        for locals in [&[256, 64][..], &[64, 256], &[256, 64, 128, 256]] {
            let ran = check(&rig, locals, promote);
            let report = ran.report();
            let whys = report.plan.splits.iter().map(|split| &split.tried);
            let why: Vec<_> =
                whys.filter(|why| !matches!(why, Some(RewriteReason::NotPadded { .. }))).collect();
            assert!(why.is_empty(), "{:#?}", report.plan);
            assert!(ran.stats.dispatches == 1 || !is_llvmpipe, "{:#?}", report.plan);
        }
    }
}

#[test]
fn parts_of_sub_groups_stay_apart() {
    let rig = rig!();
    // Less than any sub-group has that comes in several sizes of work-groups.
    let ran = check(&rig, &[256, 2], Promote::None);
    assert!(ran.stats.dispatches > 1, "{:#?}", ran.report().plan);
}
