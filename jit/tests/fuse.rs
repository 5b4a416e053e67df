//! Whole lists through the planner and the emitter, on the kernels of `shaders/`.

mod list;

use list::{List, kernel};
use vkfuse_fuzz::devices::desktop;
use vkfuse_jit::kernel::{Kernel, Module};
use vkfuse_jit::plan::{FuseOptions, Internalization, Limits, Promote, ShapeLimits, plan};
use vkfuse_jit::{Reason, plan::Plan};

fn planned(list: &List) -> Plan {
    let plan = plan(&list.submissions, &FuseOptions::default(), &desktop()).expect("plan");
    for step in &plan.steps {
        step.build().expect("the module stands");
    }
    plan
}

/// `tmp1 = in1 * in2; tmp2 = in1 - in3; tmp3 = tmp2 * in4; out = tmp1 - tmp3`.
fn chain(n: u32, promote: Promote) -> List {
    let mul = kernel("chain/mul.spv");
    let sub = kernel("chain/sub.spv");
    let mut list = List::new(n);
    let (in1, in2, in3, in4, out) = (0, 1, 2, 3, 7);
    for tmp in [4, 5, 6] {
        list.promote(tmp, promote);
    }
    let groups = [n.div_ceil(256), 1, 1];
    list.submit(&mul, groups, &[in1, in2, 4], &n.to_le_bytes());
    list.submit(&sub, groups, &[in1, in3, 5], &n.to_le_bytes());
    list.submit(&mul, groups, &[5, in4, 6], &n.to_le_bytes());
    list.submit(&sub, groups, &[4, 6, out], &n.to_le_bytes());
    list
}

#[test]
fn fuses_the_chain_into_one_step_with_private_temporaries() {
    let plan = planned(&chain(1_000_003, Promote::Private));
    assert_eq!(plan.steps.len(), 1, "{:#?}", plan.report);
    assert!(plan.report.splits.is_empty());
    for buffer in &plan.report.buffers {
        assert_eq!(buffer.got, Internalization::Private, "{buffer:?}");
    }
    assert_eq!(plan.report.buffers.len(), 3);
    assert!(plan.report.groups[0].barriers.iter().all(|b| !b.kept));
    // Five buffers are left, and one push constant for all four kernels.
    assert_eq!(plan.steps[0].bindings.len(), 5);
    assert_eq!(plan.steps[0].push.len(), 4);
}

#[test]
fn another_size_needs_no_new_kernel() {
    let a = planned(&chain(1_000_003, Promote::Private));
    let b = planned(&chain(77, Promote::Private));
    assert_eq!(a.steps[0].key, b.steps[0].key);
    assert_ne!(a.steps[0].push, b.steps[0].push);
}

#[test]
fn same_list_same_words() {
    let build = || planned(&chain(4096, Promote::Private)).steps[0].build().expect("module");
    assert_eq!(build(), build());
}

#[test]
fn splits_at_a_reversal_across_groups() {
    let mul = kernel("chain/mul.spv");
    let reverse = kernel("access/reverse.spv");
    let n = 4096u32.to_le_bytes();
    let mut list = List::new(4096);
    list.submit(&reverse, [16, 1, 1], &[0, 1], &n);
    list.submit(&mul, [16, 1, 1], &[1, 1, 2], &n);
    let as_they_are = FuseOptions { no_rewrites: true, ..FuseOptions::default() };
    let plan = plan(&list.submissions, &as_they_are, &desktop()).expect("plan");
    assert_eq!(plan.steps.len(), 2);
    assert!(matches!(plan.report.splits[0].reason, Reason::CrossGroup(_)), "{:?}", plan.report.splits);
}

/// Two kernels over `tmp` (buffer 2): the first writes it, the second reads it.
fn pair(first: &str, second: &str, groups: [u32; 3], push: &[u8], promote: Promote) -> Plan {
    let mut list = List::new(1 << 20);
    list.promote(2, promote);
    list.submit(&kernel(first), groups, &[0, 1, 2], push);
    list.submit(&kernel(second), groups, &[2, 3, 4], push);
    planned(&list)
}

#[test]
fn keeps_a_barrier_and_grants_shared_memory_for_a_reversal_in_the_group() {
    let plan = pair("pair/add_mirrored.spv", "pair/mul_grouped.spv", [4, 1, 1], &[], Promote::Local);
    assert_eq!(plan.steps.len(), 1, "{:#?}", plan.report);
    assert!(plan.report.groups[0].barriers[0].kept);
    assert_eq!(plan.report.buffers[0].got, Internalization::Local, "{:?}", plan.report.buffers);
}

#[test]
fn refuses_registers_for_a_reversal_in_the_group() {
    let plan = pair("pair/add_mirrored.spv", "pair/mul_grouped.spv", [4, 1, 1], &[], Promote::Private);
    assert_eq!(plan.steps.len(), 1);
    assert!(matches!(plan.report.buffers[0].reason, Some(Reason::SharedElements { .. })));
}

/// A request for either place that neither grants has both reasons, and those of one place have one.
#[test]
fn what_neither_registers_nor_shared_memory_keep_has_both_reasons() {
    let of = |promote: Promote, max_shared_bytes: u32| {
        let mut list = List::new(1 << 20);
        list.promote(2, promote);
        list.submit(&kernel("pair/add_mirrored.spv"), [4, 1, 1], &[0, 1, 2], &[]);
        list.submit(&kernel("pair/mul_grouped.spv"), [4, 1, 1], &[2, 3, 4], &[]);
        let limits = Limits { max_shared_bytes, ..desktop() };
        plan(&list.submissions, &FuseOptions::default(), &limits).expect("plan").report.buffers.remove(0)
    };
    let granted = of(Promote::Auto, 32 << 10);
    assert_eq!((granted.got, granted.why()), (Internalization::Local, None));
    let neither = of(Promote::Auto, 16);
    assert_eq!(neither.got, Internalization::None);
    assert!(matches!(neither.reason, Some(Reason::SharedElements { .. })), "{neither:?}");
    assert!(matches!(neither.not_local, Some(Reason::SharedMemory { .. })), "{neither:?}");
    let why = neither.why().unwrap_or_default();
    assert!(
        why.starts_with("not in registers: elements are shared") && why.contains("; not in shared memory: "),
        "{why}"
    );
    let local = of(Promote::Local, 16);
    assert!(
        matches!((&local.reason, &local.not_local), (Some(Reason::SharedMemory { .. }), None)),
        "{local:?}"
    );
}

#[test]
fn grants_several_elements_per_invocation() {
    for promote in [Promote::Private, Promote::Local] {
        let n = 128u32.to_le_bytes();
        let plan = pair("pair/add_four.spv", "pair/mul_four.spv", [16, 1, 1], &n, promote);
        assert_eq!(plan.steps.len(), 1, "{:#?}", plan.report);
        assert_eq!(plan.report.buffers[0].reason, None, "{:?}", plan.report.buffers);
    }
}

#[test]
fn grants_arrays_inside_elements() {
    let n = 64u32.to_le_bytes();
    let plan = pair("pair/add_wrapped.spv", "pair/mul_wrapped.spv", [16, 1, 1], &n, Promote::Private);
    assert_eq!(plan.report.buffers[0].reason, None, "{:?}", plan.report.buffers);
    let plan = pair("pair/add_deep.spv", "pair/mul_deep.spv", [4, 1, 1], &n, Promote::Private);
    assert_eq!(plan.report.buffers[0].reason, None, "{:?}", plan.report.buffers);
}

#[test]
fn fuses_two_and_three_dimensions() {
    for (dims, groups) in [("2d", [10, 9, 1]), ("3d", [1, 2, 4])] {
        let (w, h, d) = if dims == "2d" { (79u32, 67u32, 1u32) } else { (4, 8, 16) };
        let push: Vec<u8> = [w, h, d].iter().flat_map(|n| n.to_le_bytes()).collect();
        let plan = pair(
            &format!("pair/add_{dims}.spv"),
            &format!("pair/mul_{dims}.spv"),
            groups,
            &push,
            Promote::Private,
        );
        assert_eq!(plan.steps.len(), 1, "{dims}: {:#?}", plan.report);
        assert_eq!(plan.report.buffers[0].reason, None, "{dims}: {:?}", plan.report.buffers);
    }
}

/// Two kernels whose loops go round `rounds` times each, on a driver that ends loops at 65,535.
fn looped(rounds: u32) -> Plan {
    let kernel = kernel("forms/rounds.spv");
    let push: Vec<u8> = [64u32, rounds].iter().flat_map(|n| n.to_le_bytes()).collect();
    let mut list = List::new(64);
    list.submit(&kernel, [1, 1, 1], &[0, 1], &push);
    list.submit(&kernel, [1, 1, 1], &[1, 2], &push);
    let limits = Limits { max_loop_rounds: Some(65_535), ..desktop() };
    plan(&list.submissions, &FuseOptions::default(), &limits).expect("plan")
}

#[test]
fn splits_before_a_driver_ends_loops_early() {
    assert_eq!(looped(30_000).steps.len(), 1);
    let plan = looped(40_000);
    assert_eq!(plan.steps.len(), 2);
    assert_eq!(plan.report.splits[0].reason, Reason::LoopRounds { limit: 65_535, unbounded: None });
}

#[test]
fn two_length_queries_of_one_internalized_buffer_are_both_answered() {
    let text = "@group(0) @binding(0) var<storage, read> a: array<u32>;
        @group(0) @binding(1) var<storage, read_write> z: array<u32>;
        @compute @workgroup_size(64)
        fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            if (id.x >= arrayLength(&z)) { return; }
            z[id.x] = a[id.x] + arrayLength(&z) + arrayLength(&a);
        }";
    let module = vkfuse_jit::kernel::Module::from_wgsl("lengths", text).expect("module");
    let kernel = vkfuse_jit::kernel::Kernel::new(&module, None).expect("entry");
    let kernel = kernel.specialize(&[]).expect("defaults");
    let mut list = List::new(128);
    list.promote(1, Promote::Private);
    list.submit(&kernel, [2, 1, 1], &[0, 1], &[]);
    list.submit(&kernel, [2, 1, 1], &[1, 2], &[]);
    let plan = planned(&list);
    assert_eq!(plan.report.buffers[0].reason, None, "{:?}", plan.report.buffers);
}

#[test]
fn a_larger_member_enlarges_the_work_group_of_the_dispatch() {
    // Item-only kernels of 8, 6 and 16 items: one group is enough each time, but not of eight.
    let text = |size: &str| {
        format!(
            "@group(0) @binding(0) var<storage, read> a: array<u32>;
             @group(0) @binding(1) var<storage, read_write> z: array<u32>;
             @compute @workgroup_size({size})
             fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
                 z[id.y * 4u + id.x] = a[id.y * 4u + id.x] + 1u;
             }}"
        )
    };
    let load = |size: &str| {
        let module = vkfuse_jit::kernel::Module::from_wgsl(size, &text(size)).expect("module");
        let kernel = vkfuse_jit::kernel::Kernel::new(&module, None).expect("entry");
        kernel.specialize(&[]).expect("defaults")
    };
    let mut list = List::new(64);
    list.submit(&load("8"), [1, 1, 1], &[0, 1], &[]);
    list.submit(&load("1"), [6, 1, 1], &[2, 3], &[]);
    list.submit(&load("4, 4"), [1, 1, 1], &[4, 5], &[]);
    let plan = planned(&list);
    assert_eq!(plan.steps.len(), 1, "{:#?}", plan.report);
    assert_eq!((plan.steps[0].groups, plan.steps[0].local_size()), ([1, 1, 1], [16, 1, 1]));
}

/// The chain under a device's taste, and what became of it.
fn shaped(n: u32, group_size: u32, items: u32, vectors: bool, promote: Promote) -> Plan {
    let limits =
        Limits { shape: ShapeLimits { group_size, items, vectors, ..ShapeLimits::default() }, ..desktop() };
    let plan = plan(&chain(n, promote).submissions, &FuseOptions::default(), &limits).expect("plan");
    plan.steps.iter().for_each(|step| drop(step.build().expect("the module stands")));
    plan
}

#[test]
fn gives_an_invocation_several_items() {
    for promote in [Promote::None, Promote::Private] {
        for vectors in [false, true] {
            let plan = shaped(1_000_003, 128, 4, vectors, promote);
            let group = &plan.report.groups[0];
            assert_eq!((group.work_group, group.items_per_invocation), ([128, 1, 1], 4));
            assert_eq!(plan.steps[0].groups, [1_000_192u32.div_ceil(512), 1, 1]);
        }
    }
}

#[test]
fn enlarges_small_work_groups_of_kernels_that_do_not_care() {
    let plan = shaped(1_000_003, 512, 1, false, Promote::Private);
    let group = &plan.report.groups[0];
    assert_eq!((group.work_group, group.items_per_invocation), ([512, 1, 1], 1));
}

#[test]
fn another_size_needs_no_new_kernel_of_another_shape() {
    let key = |n| shaped(n, 256, 4, true, Promote::Private).steps[0].key;
    let [torn, whole] = [[1_000_003, 77, 1, 4095], [1_000_000, 4, 4096, 80]].map(|sizes| sizes.map(key));
    assert!(torn.iter().all(|key| *key == torn[0]));
    // Nothing is left over where the invocations' items are all in range or all out of it.
    assert!(whole.iter().all(|key| *key == whole[0]));
    let other = shaped(4096, 256, 4, false, Promote::Private).steps[0].key;
    assert!(other != torn[0] && other != whole[0] && torn[0] != whole[0]);
}

/// Functions in the module of two kernels over 8192 elements, each with a number of work-groups and of elements.
fn functions(calls: [(u32, u32); 2]) -> usize {
    let mul = kernel("chain/mul.spv");
    let mut list = List::new(1 << 13);
    for ((groups, n), args) in calls.into_iter().zip([[0, 1, 2], [3, 4, 5]]) {
        list.submit(&mul, [groups, 1, 1], &args, &n.to_le_bytes());
    }
    let limits = Limits {
        shape: ShapeLimits { group_size: 256, items: 4, vectors: true, ..ShapeLimits::default() },
        ..desktop()
    };
    let plan = plan(&list.submissions, &FuseOptions::default(), &limits).expect("plan");
    assert_eq!(plan.steps.len(), 1, "{:#?}", plan.report);
    let words = plan.steps[0].build().expect("the module stands");
    let starts = std::iter::successors(Some(5), |&at| words.get(at).map(|word| at + (word >> 16) as usize));
    const OP_FUNCTION: u32 = 54;
    starts.filter_map(|at| words.get(at)).filter(|word| **word & 0xffff == OP_FUNCTION).count()
}

#[test]
fn leaves_items_out_of_range_out_only_where_all_kernels_end_at_the_same_one() {
    assert_eq!(functions([(16, 4096), (16, 4096)]), 1);
    assert_eq!(functions([(16, 4096), (32, 4096)]), 1, "the second has work-groups with nothing to do");
    assert_eq!(functions([(16, 8192), (16, 5000)]), 1, "both end where the work-groups do");
    for calls in [
        [(16, 4096), (16, 2048)],
        [(16, 4096), (8, 4096)],
        [(16, 4094), (16, 4094)],
        [(16, 4096), (16, u32::MAX)].map(|(groups, n)| (groups, n - 1)),
    ] {
        assert!(functions(calls) > 1, "{calls:?}");
    }
}

#[test]
fn keeps_the_shape_of_kernels_that_meet_in_a_work_group() {
    let mut list = List::new(1 << 20);
    list.promote(2, Promote::Local);
    list.submit(&kernel("pair/add_mirrored.spv"), [4, 1, 1], &[0, 1, 2], &[]);
    list.submit(&kernel("pair/mul_grouped.spv"), [4, 1, 1], &[2, 3, 4], &[]);
    let limits = Limits {
        shape: ShapeLimits { group_size: 128, items: 4, vectors: true, ..ShapeLimits::default() },
        ..desktop()
    };
    let plan = plan(&list.submissions, &FuseOptions::default(), &limits).expect("plan");
    let own = list.submissions[0].kernel.interface.local_size;
    let group = &plan.report.groups[0];
    assert_eq!((group.work_group, group.items_per_invocation), (own, 1));
}

/// Whether the kernel certainly writes the whole of one argument of `n` elements.
fn overwrites(path: &str, n: u32, groups: u32, arg: usize, push: &[u32]) -> bool {
    let kernel = kernel(path);
    let mut list = List::new(n);
    let buffers: Vec<u64> = (0..kernel.interface.bindings.len() as u64).collect();
    let push: Vec<u8> = push.iter().flat_map(|word| word.to_le_bytes()).collect();
    list.submit(&kernel, [groups, 1, 1], &buffers, &push);
    vkfuse_jit::plan::overwrites(&list.submissions[0], arg, &desktop())
}

#[test]
fn knows_which_kernels_overwrite_everything() {
    // In order, with a ragged end, backwards, and by work-group.
    assert!(overwrites("pair/scale.spv", 160, 10, 1, &[160, 3]));
    assert!(overwrites("pair/scale.spv", 155, 10, 1, &[155, 3]));
    // No one is there to write.
    assert!(overwrites("pair/scale.spv", 16, 1, 1, &[16, 3]));
    assert!(!overwrites("pair/scale.spv", 16, 0, 1, &[16, 3]));
    assert!(overwrites("access/reverse.spv", 1000, 4, 1, &[1000]));
    assert!(overwrites("access/reverse_group.spv", 1024, 4, 1, &[]));
    assert!(overwrites("access/scale_in_place.spv", 1000, 4, 0, &[1000, 2]));
    assert!(overwrites("pair/add_mirrored.spv", 512, 4, 2, &[]));
}

#[test]
fn knows_rows_and_their_first_items() {
    // One result for each work-group, stored by its first item; elements of rows, stored in a loop.
    assert!(overwrites("softmax/row_max.spv", 4, 4, 1, &[1]));
    assert!(overwrites("softmax/exp_sub.spv", 4096, 4, 2, &[1024]));
    assert!(!overwrites("softmax/row_max.spv", 4, 3, 1, &[1]));
    assert!(overwrites("softmax/exp_sub.spv", 4000, 4, 2, &[1000]));
    // A row is missing, or the end of the last one.
    assert!(!overwrites("softmax/exp_sub.spv", 4096, 3, 2, &[1024]));
    assert!(!overwrites("softmax/exp_sub.spv", 4001, 4, 2, &[1000]));
}

/// What a loop in a WGSL kernel of 8 items writes; `work` writes `z`, whose first `n` elements are asked for.
fn loop_overwrites(n: u32, groups: u32, work: &str) -> bool {
    let text = format!(
        "struct P {{ n: u32, k: u32 }}\nvar<immediate> p: P;\n\
         @group(0) @binding(0) var<storage, read> a: array<u32>;\n\
         @group(0) @binding(1) var<storage, read_write> z: array<u32>;\n\
         @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3<u32>,\n\
         @builtin(num_workgroups) groups: vec3<u32>) {{ let i = id.x; let all = 8u * groups.x;\n{work} }}"
    );
    let module = Module::from_wgsl("loop", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let kernel = Kernel::new(&module, None).expect("entry").specialize(&[]).expect("defaults");
    let mut list = List::new(n);
    let push: Vec<u8> = [100u32, 3].iter().flat_map(|word| word.to_le_bytes()).collect();
    let bindings = &kernel.interface.bindings;
    let buffers: Vec<u64> = bindings.iter().map(|b| b.at.binding.into()).collect();
    let push = if kernel.interface.push.is_some() { &push[..] } else { &[] };
    list.submit(&kernel, [groups, 1, 1], &buffers, push);
    let z = bindings.iter().position(|b| b.at.binding == 1).expect("written");
    vkfuse_jit::plan::overwrites(&list.submissions[0], z, &desktop())
}

#[test]
fn knows_what_loops_write() {
    let strides = "for (var e = i; e < p.n; e += all) { z[e] = a[e]; }";
    assert!(loop_overwrites(100, 2, strides) && loop_overwrites(99, 5, strides));
    assert!(!loop_overwrites(101, 2, strides));
    let blocks = "for (var j = 0u; j < p.k; j++) { let e = i * 3u + j; if (e < p.n) { z[e] = a[e]; } }";
    assert!(loop_overwrites(100, 5, blocks) && loop_overwrites(96, 4, blocks));
    assert!(!loop_overwrites(100, 4, blocks) && !loop_overwrites(101, 5, blocks));
    let again = "for (var j = 0u; j < p.k; j++) { z[i] = a[i] + j; }";
    assert!(loop_overwrites(40, 5, again) && !loop_overwrites(41, 5, again));
    for part in [
        // Every second; half of each block; until something is found; as often as memory says; never at all.
        "for (var e = 2u * i; e < p.n; e += 2u * all) { z[e] = a[e]; }",
        "for (var j = 0u; j < p.k; j++) { z[i * 4u + j] = j; }",
        "for (var e = i; e < p.n; e += all) { if (a[e] == 7u) { break; } z[e] = a[e]; }",
        "for (var e = i; e < p.n; e += all) { z[e] = a[e]; if (a[e] == 7u) { break; } }",
        "for (var e = i; e < p.n; e += all) { if (a[e] == 7u) { continue; } z[e] = a[e]; }",
        "for (var e = i; e < a[0]; e += all) { z[e] = a[e]; }",
        "for (var j = 0u; j < p.k; j++) { for (var e = i; e != a[j]; e += all) { z[e] = a[e]; } }",
        "for (var j = 5u; j < p.k; j++) { z[i] = a[i] + j; }",
        "for (var j = i; j < p.k; j++) { z[i] = a[i] + j; }",
    ] {
        assert!(!loop_overwrites(16, 2, part), "{part}");
    }
}

#[test]
fn knows_that_every_pixel_is_written() {
    let image = |width: u32, height: u32, groups: [u32; 3], elements: u32| {
        let kernel = kernel("workloads/tone.spv");
        let mut list = List::new(elements);
        let push: Vec<u8> = [width, height].iter().flat_map(|word| word.to_le_bytes()).collect();
        list.submit(&kernel, groups, &[0, 1], &push);
        vkfuse_jit::plan::overwrites(&list.submissions[0], 1, &desktop())
    };
    assert!(image(100, 50, [7, 4, 1], 5000));
    assert!(image(64, 32, [4, 2, 1], 2048));
    // A row or a column is missing; the rows do not touch; the buffer goes on.
    assert!(!image(100, 50, [7, 3, 1], 5000));
    assert!(!image(100, 50, [6, 4, 1], 5000));
    assert!(!image(100, 50, [7, 4, 1], 5001));
}

#[test]
fn does_not_believe_what_overwrites_a_part_only() {
    // The guard ends early; too few work-groups; every second element; atomics; indices from a buffer; an input.
    assert!(!overwrites("pair/scale.spv", 160, 10, 1, &[159, 3]));
    assert!(!overwrites("pair/scale.spv", 160, 9, 1, &[160, 3]));
    assert!(!overwrites("access/even.spv", 1000, 4, 1, &[1000]));
    assert!(!overwrites("access/reverse.spv", 1000, 4, 1, &[999]));
    assert!(!overwrites("access/reverse.spv", 1000, 3, 1, &[1000]));
    assert!(!overwrites("pair/add_mirrored.spv", 513, 4, 2, &[]));
    assert!(!overwrites("groups/reduce_atomic.spv", 1, 4, 1, &[1]));
    assert!(!overwrites("access/scatter.spv", 256, 1, 2, &[256]));
    assert!(!overwrites("pair/scale.spv", 160, 10, 0, &[160, 3]));
    assert!(!overwrites("pair/scale.spv", 160, 10, 9, &[160, 3]));
}

/// Which submissions of the softmax of 1,024 rows became one dispatch.
fn softmax_groups(promote: Promote, max_broadcast_bytes: Option<u64>, force: bool) -> Vec<usize> {
    let mut list = List::new(1 << 20);
    let (x, most, powers, sum, out) = (0, 1, 2, 3, 4);
    list.promote(most, promote);
    list.promote(sum, promote);
    let push = 1024u32.to_le_bytes();
    for (name, buffers) in [
        ("row_max", &[x, most][..]),
        ("exp_sub", &[x, most, powers]),
        ("row_sum", &[powers, sum]),
        ("divide", &[powers, sum, out]),
    ] {
        list.submit(&kernel(&format!("softmax/{name}.spv")), [1024, 1, 1], buffers, &push);
    }
    let limits = Limits { max_broadcast_bytes, ..desktop() };
    let plan = plan(&list.submissions, &FuseOptions { force, ..FuseOptions::default() }, &limits);
    let plan = plan.expect("plan");
    for split in &plan.report.splits {
        assert!(matches!(split.reason, Reason::SlowBroadcast { bytes: 12_582_912, .. }), "{split:?}");
        assert!(split.buffer.is_some());
    }
    plan.report.groups.iter().map(|group| group.members.len()).collect()
}

#[test]
fn does_not_hand_single_elements_through_memory_where_that_is_slow() {
    assert_eq!(softmax_groups(Promote::None, None, false), [4]);
    assert_eq!(softmax_groups(Promote::None, Some(1 << 20), false), [1, 2, 1]);
    assert_eq!(softmax_groups(Promote::None, Some(16 << 20), false), [4], "small enough");
    assert_eq!(softmax_groups(Promote::None, Some(1 << 20), true), [4], "the user insists");
    assert_eq!(softmax_groups(Promote::Local, Some(1 << 20), false), [4], "they do not go through memory");
}

/// Ids that a module gives a decoration, each with its first operand, if it has one.
fn decorated(words: &[u32], decoration: u32) -> Vec<(u32, Option<u32>)> {
    const OP_DECORATE: u32 = 71;
    let starts = std::iter::successors(Some(5), |&at| words.get(at).map(|word| at + (word >> 16) as usize));
    let instructions = starts.filter_map(|at| words.get(at..at + (words.get(at)? >> 16) as usize));
    let decorates = |i: &&[u32]| i[0] & 0xffff == OP_DECORATE && i[2] == decoration;
    instructions.filter(decorates).map(|i| (i[1], i.get(3).copied())).collect()
}

#[test]
fn what_is_seen_through_overlapping_bindings_is_coherent() {
    let mul = kernel("chain/mul.spv");
    let mut list = List::new(1 << 13);
    for args in [[0, 1, 2], [2, 3, 4]] {
        list.submit(&mul, [16, 1, 1], &args, &4096u32.to_le_bytes());
    }
    list.submissions[1].args[0].len -= 64;
    let limits = Limits {
        shape: ShapeLimits { group_size: 256, items: 4, vectors: true, ..ShapeLimits::default() },
        ..desktop()
    };
    let plan = plan(&list.submissions, &FuseOptions::default(), &limits).expect("plan");
    assert_eq!(plan.steps.len(), 1, "{:#?}", plan.report);
    let words = plan.steps[0].build().expect("the module stands");
    let (is_coherent, binding) = (23, 33);
    // The third argument, and the same memory as the next kernel sees it.
    let overlapping = |&(_, binding): &(u32, Option<u32>)| matches!(binding, Some(2 | 3));
    let coherent = decorated(&words, is_coherent);
    let views: Vec<_> = decorated(&words, binding).into_iter().filter(overlapping).collect();
    assert!(views.len() >= 2);
    assert!(views.iter().all(|(view, _)| coherent.contains(&(*view, None))), "{views:?} {coherent:?}");
}
