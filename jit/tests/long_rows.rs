//! Lists on rows of many lengths with the facts of a large device: which kernels are one dispatch. What is right to choose was
//! measured (`docs/performance.md`); here it is planned, and nothing is timed.

mod list;

use list::{List, kernel};
use vkfuse_fuzz::devices::desktop;
use vkfuse_jit::RewriteReason;
use vkfuse_jit::plan::{
    BlockCoarseningLimits, FuseOptions, Limits, Plan, Promote, ShapeLimits, Submission,
    ThreadCoarseningLimits, UnrollLimits, Way, doubts, plan,
};

/// Elements of a buffer.
const ELEMENTS: u32 = 1 << 26;

/// The facts of an H200, as `fusion/src/vk/caps.rs` has them.
fn limits() -> Limits {
    Limits {
        max_groups: [u32::MAX >> 1, 65_535, 65_535],
        shape: ShapeLimits {
            group_size: 256,
            items: 4,
            vectors: true,
            rounds: 1,
            least: 64,
            superword: 4,
            lanes: 32,
            conditions: None,
        },
        kept_result_bytes: 512,
        block_coarsening: BlockCoarseningLimits {
            work_groups: 8,
            least: 2048,
            private_bytes: 64,
            shared_bytes: 18 << 10,
        },
        thread_coarsening: ThreadCoarseningLimits {
            invocations: 32,
            least: 8192,
            private_bytes: 128,
            any_loops: false,
            subgroup: 32,
            shuffles: true,
            packed: 4,
            side_by_side: 4,
            lane_elements: 0,
            uniform: true,
        },
        unroll: UnrollLimits {
            rounds: 128,
            at_once: 16,
            private_bytes: 512,
            registers: 1 << 16,
            ..UnrollLimits::default()
        },
        max_broadcast_bytes: Some(16 << 20),
        ..desktop()
    }
}

/// A kernel, its buffers, and whether it goes by elements: else a work-group has a row.
type Part = (&'static str, &'static [u64], bool);

/// A list on rows of a length; buffers from 20 on are promoted.
fn planned(parts: &[Part], columns: u32, options: &FuseOptions, limits: &Limits) -> Plan {
    planned_with(parts, columns, options, limits).0
}

/// The same, with the list.
fn planned_with(
    parts: &[Part],
    columns: u32,
    options: &FuseOptions,
    limits: &Limits,
) -> (Plan, Vec<Submission>) {
    let mut list = List::new(ELEMENTS);
    for buffer in 20..30 {
        list.promote(buffer, Promote::Auto);
    }
    let rows = ELEMENTS / columns;
    for &(name, buffers, flat) in parts {
        let of_flat = [ELEMENTS, columns].map(u32::to_le_bytes).concat();
        let (groups, push) = match flat {
            true => (ELEMENTS / 256, of_flat),
            false => (rows, columns.to_le_bytes().to_vec()),
        };
        let kernel = kernel(&format!("{name}.spv"));
        let size = kernel.interface.push.as_ref().map_or(0, |push| push.size as usize);
        list.submit(&kernel, [groups, 1, 1], buffers, &push[..size.min(push.len())]);
    }
    let plan = plan(&list.submissions, options, limits).expect("a plan");
    (plan, list.submissions)
}

/// How many kernels each dispatch has.
fn dispatches(plan: &Plan) -> Vec<usize> {
    plan.report.groups.iter().map(|group| group.members.len()).collect()
}

const RESIDUAL: &[Part] = &[
    ("seams/add", &[0, 1, 2], true),
    ("seams/rms_norm", &[2, 20], false),
    ("seams/weight", &[20, 3, 4], true),
];
const NORM: &[Part] = &[("seams/rms_norm", &[0, 20], false), ("seams/weight", &[20, 1, 2], true)];
const SOFTMAX: &[Part] = &[
    ("softmax/row_max", &[0, 20], false),
    ("softmax/exp_sub", &[0, 20, 21], false),
    ("softmax/row_sum", &[21, 22], false),
    ("softmax/divide", &[21, 22, 1], false),
];
const FLAT_SOFTMAX: &[Part] = &[
    ("softmax/row_max", &[0, 20], false),
    ("seams/exp_sub", &[0, 20, 21], true),
    ("softmax/row_sum", &[21, 22], false),
    ("seams/divide", &[21, 22, 1], true),
];
const BIASED: &[Part] = &[
    ("seams/bias", &[0, 1, 20], true),
    ("softmax/row_max", &[20, 21], false),
    ("softmax/exp_sub", &[20, 21, 22], false),
    ("softmax/row_sum", &[22, 23], false),
    ("softmax/divide", &[22, 23, 2], false),
];
const LAYER_NORM: &[Part] = &[
    ("workloads/row_mean", &[0, 20], false),
    ("workloads/center", &[0, 20, 21], false),
    ("workloads/row_square", &[21, 22], false),
    ("workloads/normalize", &[21, 22, 1, 2, 3], false),
];

#[test]
fn what_no_invocation_keeps_is_not_stored_on_rows() {
    for columns in [1024, 8192, 16_384, 32_768] {
        let plan = planned(RESIDUAL, columns, &FuseOptions::default(), &limits());
        assert_eq!(dispatches(&plan), [3], "{columns}: {:#?}", plan.report);
        assert_eq!(plan.report.groups[0].loads_kept, 2, "{columns}: the sum is not loaded");
        let plan = planned(BIASED, columns, &FuseOptions::default(), &limits());
        assert_eq!(dispatches(&plan), [5], "{columns}: {:#?}", plan.report);
    }
    for (columns, bytes) in [(65_536, 1024), (131_072, 2048)] {
        let plan = planned(RESIDUAL, columns, &FuseOptions::default(), &limits());
        assert_eq!(dispatches(&plan), [1, 2], "{columns}: {:#?}", plan.report);
        assert_eq!(plan.report.splits[0].tried, Some(RewriteReason::NotKept { bytes, room: 0 }));
        // What it is made of is loaded once for each reader, and nothing is stored.
        let plan = planned(BIASED, columns, &FuseOptions::default(), &limits());
        assert_eq!(dispatches(&plan), [5], "{columns}: {:#?}", plan.report);
        assert!(plan.report.inlined.iter().all(|one| one.gone), "{columns}: {:#?}", plan.report);
    }
}

#[test]
fn what_stores_nothing_for_others_takes_rows_of_any_length() {
    for columns in [1024, 32_768, 131_072] {
        for (name, parts) in
            [("norm", NORM), ("softmax", SOFTMAX), ("flat softmax", FLAT_SOFTMAX), ("layer norm", LAYER_NORM)]
        {
            let plan = planned(parts, columns, &FuseOptions::default(), &limits());
            assert_eq!(dispatches(&plan), [parts.len()], "{name}, {columns}: {:#?}", plan.report);
        }
    }
}

#[test]
fn rows_of_a_few_rounds_are_done_by_one_sub_group() {
    for (name, parts) in
        [("norm", NORM), ("softmax", SOFTMAX), ("flat softmax", FLAT_SOFTMAX), ("layer norm", LAYER_NORM)]
    {
        // Of rounds that only some invocations do, two are few enough for one tree. Too much is in flight at once in rows of 4,096.
        let uneven = if matches!(name, "softmax" | "layer norm") { 8 } else { 1 };
        for (columns, items) in [(64, 8), (256, 8), (1000, uneven), (1024, 8), (4096, 1)] {
            let plan = planned(parts, columns, &FuseOptions::default(), &limits());
            let group = &plan.report.groups[0];
            // Four of one sub-group each are one.
            let work_group = [if items == 1 { 256 } else { 4 * 256 / items }, 1, 1];
            assert_eq!(
                (group.items_per_invocation, group.work_group),
                (items, work_group),
                "{name}, {columns}"
            );
            let few = Limits {
                thread_coarsening: ThreadCoarseningLimits { least: u32::MAX, ..limits().thread_coarsening },
                ..limits()
            };
            let plan = planned(parts, columns, &FuseOptions::default(), &few);
            assert_eq!(plan.report.groups[0].items_per_invocation, 1, "{name}, {columns}: few work-groups");
        }
    }
}

#[test]
fn long_rows_side_by_side_are_measured() {
    let usual = FuseOptions::default();
    let list = |columns: u32, options: &FuseOptions| planned_with(SOFTMAX, columns, options, &limits());
    // Of 1,024 rows, 512 work-groups are left; of 512, too few.
    for (columns, ways) in [
        (65_536, &[Way::Coarser, Way::Kept, Way::KeptMore, Way::Apart][..]),
        (131_072, &[Way::Kept, Way::KeptMore, Way::Apart]),
    ] {
        let (plan, submissions) = list(columns, &usual);
        assert_eq!(plan.report.groups[0].work_groups, 1, "{columns}");
        assert_eq!(doubts(&plan, &submissions, &usual, &limits()), ways, "{columns}");
    }
    let coarser = Way::Coarser.options(&usual);
    let (plan, submissions) = list(65_536, &coarser);
    assert_eq!((plan.report.groups[0].work_groups, plan.steps[0].groups), (2, [512, 1, 1]));
    assert_eq!(doubts(&plan, &submissions, &coarser, &limits()), []);
    // Instead, each may keep a part of its row.
    let kept = Way::Kept.options(&usual);
    let (plan, submissions) = list(65_536, &kept);
    assert_eq!((plan.report.groups[0].work_groups, plan.steps[0].groups), (1, [1024, 1, 1]));
    assert_eq!(doubts(&plan, &submissions, &kept, &limits()), []);
    // Rows that stay in registers are read once.
    let (plan, submissions) = list(8192, &usual);
    assert_eq!(doubts(&plan, &submissions, &usual, &limits()), []);
}

#[test]
fn a_part_of_a_long_row_may_stay_in_registers() {
    let usual = FuseOptions::default();
    let kept = Way::Kept.options(&usual);
    let all = [
        ("norm", NORM),
        ("residual", RESIDUAL),
        ("softmax", SOFTMAX),
        ("flat softmax", FLAT_SOFTMAX),
        ("biased", BIASED),
        ("layer norm", LAYER_NORM),
    ];
    for (name, parts) in all {
        for (columns, is_long) in [(32_768, false), (65_536, true), (131_072, true)] {
            let [(plan, list), (other, _)] =
                [usual, kept].map(|options| planned_with(parts, columns, &options, &limits()));
            let differs = plan.steps.iter().map(|step| step.key).ne(other.steps.iter().map(|step| step.key));
            let ways = doubts(&plan, &list, &usual, &limits());
            assert_eq!((differs, ways.contains(&Way::Kept)), (is_long, is_long), "{name}, {columns}");
            let unroll = UnrollLimits { registers: 0, ..limits().unroll };
            let unknown = Limits { unroll, ..limits() };
            let [(plan, list), (other, _)] =
                [usual, kept].map(|options| planned_with(parts, columns, &options, &unknown));
            assert!(plan.steps.iter().map(|step| step.key).eq(other.steps.iter().map(|step| step.key)));
            assert!(!doubts(&plan, &list, &usual, &unknown).contains(&Way::Kept), "{name}, {columns}");
        }
    }
}

#[test]
fn memory_that_is_a_cache_costs_nothing() {
    let long = |options: &FuseOptions, limits: &Limits| planned(RESIDUAL, 131_072, options, limits);
    let processor = Limits { max_broadcast_bytes: None, ..limits() };
    assert_eq!(dispatches(&long(&FuseOptions::default(), &processor)), [3]);
    let large = Limits { max_broadcast_bytes: Some(12 * u64::from(ELEMENTS)), ..limits() };
    assert_eq!(dispatches(&long(&FuseOptions::default(), &large)), [3]);
    let insists = FuseOptions { force: true, ..FuseOptions::default() };
    assert_eq!(dispatches(&long(&insists, &limits())), [3], "the user insists");
    // Registers for 512 rounds, or shared memory for a promoted row.
    let unroll = UnrollLimits { rounds: 512, ..limits().unroll };
    let registers = Limits { kept_result_bytes: 2048, unroll, ..limits() };
    assert_eq!(dispatches(&long(&FuseOptions::default(), &registers)), [3]);
}
