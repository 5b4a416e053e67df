//! Barriers, group functions and reductions: one test per row of that part of the conformance table, named after the
//! row.
//!
//! Expected values differ from what memory held before and from what an empty kernel leaves, and the exchange
//! crosses what a device could run in lock step.

use crate::support::{Pair, Rig, Size, Submit, Workload};
use vkfuse::Outcome;

/// An inserted barrier orders memory, not only execution: the exchanged buffer stays in memory.
#[test]
fn work_group_barrier() {
    let rig = rig!();
    for local in [32, 128, 512] {
        for reader in ["pair/mul", "pair/mul_grouped"] {
            let mut pair = Pair::buffers(4096);
            let groups = Size::Groups([4096 / local, 1, 1]);
            pair.submit("pair/add_mirrored", reader, groups, &[4096], &[local]);
            let ran = pair.workload.check_fused(&rig);
            pair.assert_out(&ran);
            pair.assert_tmp_written(&ran);
            assert_eq!(ran.barriers_kept(), 1);
        }
    }
}

/// The inserted barrier and the second kernel's own barrier both survive.
#[test]
fn group_barrier() {
    let rig = rig!();
    for local in [64, 256] {
        let n = 1024;
        let mut list = Workload::default();
        let (x, out) = (list.poisoned("x", n), list.poisoned("out", n));
        let n = n as u32;
        list.submit(Submit::new("groups/iota", Size::Items([n, 1, 1])).local(&[local]).write(0, x).push(n));
        list.submit(
            Submit::new("groups/stage_by_first", Size::Groups([n / local, 1, 1]))
                .local(&[local])
                .read(0, x)
                .write(1, out),
        );
        let ran = list.check_fused(&rig);
        assert_eq!(ran.words(out), (0..n).collect::<Vec<_>>());
        assert_eq!(ran.barriers_kept(), 1);
    }
}

/// One item of each group writes a value which the next kernel hands to the whole group.
#[test]
fn group_broadcast() {
    let rig = rig!();
    let (groups, local) = (8, 64);
    let mut list = Workload::default();
    let values = list.poisoned("values", groups as usize);
    let out = list.poisoned("out", (groups * local) as usize);
    let size = Size::Groups([groups, 1, 1]);
    list.submit(Submit::new("groups/first_of_group", size).local(&[local]).write(0, values));
    list.submit(Submit::new("groups/broadcast", size).local(&[local]).read(0, values).write(1, out));
    let ran = list.check_fused(&rig);
    for (i, &value) in (0..).zip(ran.words(out)) {
        assert_eq!(value, 7 * (i / local) + 3, "out[{i}]");
    }
}

/// Kernels with barriers of their own and different group counts: the guard of the smaller one is uniform.
#[test]
fn group_broadcast_remapping() {
    let rig = rig!();
    for order in [[512, 256], [256, 512]] {
        let mut list = Workload::default();
        let outputs = order.map(|n| {
            let out = list.poisoned("out", n as usize);
            let size = Size::Groups([n / 16, 1, 1]);
            list.submit(Submit::new("groups/broadcast_group_id", size).local(&[16]).write(0, out));
            out
        });
        let ran = list.check_fused(&rig);
        for out in outputs {
            for (i, &value) in (0..).zip(ran.words(out)) {
                assert_eq!(value, i / 16, "out[{i}]");
            }
        }
    }
}

/// A predicate over a whole group that holds for one group and fails for another.
#[test]
fn all_of() {
    let rig = rig!();
    let n = 128;
    let mut list = Workload::default();
    let (x, out) = (list.poisoned("x", n as usize), list.poisoned("out", 2));
    list.submit(Submit::new("groups/iota", Size::Items([n, 1, 1])).write(0, x).push(n));
    list.submit(Submit::new("groups/all_below", Size::Groups([2, 1, 1])).read(0, x).write(1, out).push(100));
    let ran = list.check_fused(&rig);
    assert_eq!(ran.words(out), [1, 2]);
}

/// Scans within groups with every operator and two starting values.
#[test]
fn exclusive_scan() {
    let rig = rig!();
    let operators: [fn(u32, u32) -> u32; 7] =
        [u32::wrapping_add, u32::min, u32::max, u32::wrapping_mul, |a, b| a | b, |a, b| a ^ b, |a, b| a & b];
    let n = 128;
    for (which, operator) in (0..).zip(operators) {
        for init in [1, 42] {
            let mut list = Workload::default();
            let (x, out) = (list.poisoned("x", n as usize), list.poisoned("out", n as usize));
            list.submit(Submit::new("groups/iota", Size::Items([n, 1, 1])).write(0, x).push(n));
            list.submit(
                Submit::new("groups/exclusive_scan", Size::Groups([2, 1, 1]))
                    .spec(1, which)
                    .read(0, x)
                    .write(1, out)
                    .push(init),
            );
            let ran = list.check_fused(&rig);
            let mut sum = init;
            for (i, &value) in (0..).zip(ran.words(out)) {
                if i % 64 == 0 {
                    sum = init;
                }
                assert_eq!(value, sum, "operator {which}, init {init}, out[{i}]");
                sum = operator(sum, i);
            }
        }
    }
}

/// Exchange inside sub-groups next to a kernel of another size; the sub-groups are those of the unfused run.
#[test]
fn permute() {
    let rig = rig!();
    let mut list = Workload::default();
    let mut outputs = Vec::new();
    for n in [512, 256] {
        let x = list.words("x", (0..n).map(|i| 3 * i + 1));
        let out = list.poisoned("out", n as usize);
        let sizes = list.poisoned("sizes", n as usize);
        list.submit(
            Submit::new("groups/shuffle_xor", Size::Groups([n / 16, 1, 1]))
                .local(&[16])
                .read(0, x)
                .write(1, out)
                .write(2, sizes),
        );
        outputs.push((out, sizes));
    }
    let ran = list.check_fused(&rig);
    for (out, sizes) in outputs {
        let subgroup = ran.words(sizes)[0];
        assert!(subgroup > 1 && subgroup <= 128);
        assert!(ran.words(sizes).iter().all(|&size| size == subgroup));
        for (i, &value) in (0..).zip(ran.words(out)) {
            assert_eq!(value, 3 * (i ^ 1) + 1, "out[{i}]");
        }
    }
}

/// Sum, and maximum where the kernels compute it, of 0..n.
fn reduce(rig: &Rig, n: u32, local: u32, sum_kernel: &str, max_kernel: Option<&str>) {
    let mut list = Workload::default();
    let x = list.poisoned("x", n as usize);
    let (sum, most) = (list.words("sum", [0]), list.words("most", [0]));
    let groups = Size::Groups([n / local, 1, 1]);
    list.submit(Submit::new("groups/iota", Size::Items([n, 1, 1])).local(&[local]).write(0, x).push(n));
    let kernel = |name, result| Submit::new(name, groups).local(&[local]).read(0, x).read_write(1, result);
    list.submit(kernel(sum_kernel, sum));
    if let Some(max_kernel) = max_kernel {
        list.submit(kernel(max_kernel, most));
    }
    let ran = list.check_fused(rig);
    assert_eq!(ran.words(sum), [n * (n - 1) / 2], "{n} elements in groups of {local}");
    if max_kernel.is_some() {
        assert_eq!(ran.words(most), [n - 1], "{n} elements in groups of {local}");
    }
}

/// A tree in shared memory per group and an atomic across groups.
#[test]
fn local_mem_tree_and_atomic_cross_wg() {
    let rig = rig!();
    for (n, local) in [(16, 1), (16, 4), (16, 16), (512, 8), (512, 64), (512, 512)] {
        reduce(&rig, n, local, "groups/reduce_sum_tree", Some("groups/reduce_max_tree"));
    }
}

/// Atomics on shared memory per group and an atomic across groups.
#[test]
fn local_atomic_and_atomic_cross_wg() {
    let rig = rig!();
    for (n, local) in [(16, 1), (16, 16), (512, 64)] {
        reduce(&rig, n, local, "groups/reduce_local_atomic", None);
    }
}

/// One kernel with two reductions, each an atomic per item.
#[test]
fn reduction() {
    let rig = rig!();
    for n in [16, 512, 509] {
        let mut list = Workload::default();
        let x = list.poisoned("x", n as usize);
        let (sum, most) = (list.words("sum", [0]), list.words("most", [0]));
        let items = Size::Items([n, 1, 1]);
        list.submit(Submit::new("groups/iota", items).write(0, x).push(n));
        list.submit(
            Submit::new("groups/reduce_atomic", items)
                .read(0, x)
                .read_write(1, sum)
                .read_write(2, most)
                .push(n),
        );
        let ran = list.check_fused(&rig);
        assert_eq!(ran.words(sum), [n * (n - 1) / 2]);
        assert_eq!(ran.words(most), [n - 1]);
    }
}

/// The group that finishes last adds up: right whatever became of the list, and in repeated runs.
#[test]
fn group_reduce_and_last_wg_detection() {
    let rig = rig!();
    let (n, groups) = (512, 8);
    for _ in 0..5 {
        let mut list = Workload::default();
        let x = list.poisoned("x", n as usize);
        let partial = list.poisoned("partial", groups as usize);
        let (done, result) = (list.words("done", [0]), list.poisoned("result", 1));
        list.submit(Submit::new("groups/iota", Size::Items([n, 1, 1])).write(0, x).push(n));
        list.submit(
            Submit::new("groups/reduce_last_group", Size::Groups([groups, 1, 1]))
                .read(0, x)
                .read_write(1, partial)
                .read_write(2, done)
                .write(3, result),
        );
        let ran = list.check_equal(&rig);
        ran.assert_ran(&Outcome::Fused, 1);
        assert_eq!(ran.words(result), [n * (n - 1) / 2]);
    }
}
