//! What is right to fuse and what is not, by access pattern. Wherever fusing would be wrong the list must come out
//! split, refused or unpromoted, with a reason, and with the results of the unfused run.

use crate::support::{Buf, Pair, Ran, Rig, Size, Submit, Workload};
use vkfuse::Promote::{self, Local, Private};
use vkfuse::{Event, FusionProperties, Internalization, Outcome};

/// More elements than any group holds and not a multiple of the group size.
const N: u32 = 65_536 + 77;
const ITEMS: Size = Size::Items([N, 1, 1]);

/// Demands that a run in fusion mode took this many dispatches, and that every split names a reason.
#[track_caller]
fn assert_dispatches(ran: &Ran, dispatches: u64) {
    let report = ran.report();
    assert_eq!(ran.stats.dispatches, dispatches, "{:#?}", report.plan);
    if dispatches > 1 {
        assert_ne!(ran.outcome(), Outcome::Fused);
        let refused = matches!(ran.outcome(), Outcome::Refused { .. });
        assert!(refused || !report.plan.splits.is_empty(), "says no reason: {:#?}", report.plan);
        for split in &report.plan.splits {
            assert!(!split.reason.to_string().is_empty());
        }
    }
}

fn increment(buffer: Buf, step: f32) -> Submit {
    Submit::new("access/increment", ITEMS).read_write(0, buffer).push(N).push_f32(step)
}

/// A kernel that writes `tmp` in its own pattern or one element per item, then one that reads it likewise.
fn two(rig: &Rig, promote: Promote, first: &str, second: &str) -> (Ran, Buf) {
    let mut list = Workload::default();
    let x = list.floats("x", (0..N).map(|i| i as f32));
    let tmp = list.poisoned("tmp", N as usize);
    let out = list.poisoned("out", N as usize);
    list.promote(tmp, promote);
    for (kernel, from, to) in [(first, x, tmp), (second, tmp, out)] {
        let submit = Submit::new(kernel, ITEMS).read(0, from).push(N);
        list.submit(match kernel {
            "chain/mul" => submit.read(1, from).write(2, to),
            _ => submit.write(1, to),
        });
    }
    (list.check_as_they_are(rig), tmp)
}

/// Reversal over everything: what an item reads, an item of a far group wrote.
#[test]
fn splits_after_a_reversed_write() {
    let rig = rig!();
    for promote in [Promote::None, Private, Local] {
        let (ran, tmp) = two(&rig, promote, "access/reverse", "chain/mul");
        assert_dispatches(&ran, 2);
        ran.assert_in_memory(tmp);
    }
}

/// A kernel that reads its own element may scatter its result as it likes: no one of the list reads it.
#[test]
fn fuses_before_a_reversed_write() {
    let rig = rig!();
    let (ran, tmp) = two(&rig, Private, "chain/mul", "access/reverse");
    ran.assert_one_fused_group();
    ran.assert_internalized(tmp, Private);
}

/// Neighbours: at the border of a group, the neighbour belongs to another group.
#[test]
fn splits_before_a_read_of_neighbours() {
    let rig = rig!();
    for promote in [Promote::None, Private, Local] {
        let (ran, tmp) = two(&rig, promote, "chain/mul", "access/neighbours");
        assert_dispatches(&ran, 2);
        ran.assert_in_memory(tmp);
    }
}

/// An in-place update after a read of neighbours is as wrong to fuse as the other way round, also when repeated.
#[test]
fn splits_before_overwriting_what_neighbours_read() {
    let rig = rig!();
    let mut list = Workload::default();
    let x = list.floats("x", (0..N).map(|i| (i % 100) as f32));
    let y = list.poisoned("y", N as usize);
    for _ in 0..3 {
        list.submit(Submit::new("access/neighbours", ITEMS).read(0, x).write(1, y).push(N));
        list.submit(Submit::new("chain/mul", ITEMS).read(0, y).read(1, y).write(2, x).push(N));
    }
    // Two neighbours summed and squared three times over stays finite in f32 only as infinity: equal bits count.
    // With kernels that are recomputed, and values that need no memory, it takes fewer.
    let ran = list.check_as_they_are(&rig);
    assert!(ran.stats.dispatches >= 6, "{:#?}", ran.report().plan);
    assert_dispatches(&ran, ran.stats.dispatches);
}

/// Indices from memory: nothing is known, so nothing is fused.
#[test]
fn splits_at_unknown_indices() {
    let rig = rig!();
    let mut list = Workload::default();
    let x = list.floats("x", (0..N).map(|i| i as f32));
    // A permutation, so that unfused runs are determined.
    let to = list.words("to", (0..N).map(|i| (i * 5 + 3) % N));
    let tmp = list.poisoned("tmp", N as usize);
    let out = list.poisoned("out", N as usize);
    list.submit(Submit::new("access/scatter", ITEMS).read(0, x).read(1, to).write(2, tmp).push(N));
    list.submit(Submit::new("access/gather", ITEMS).read(0, tmp).read(1, to).write(2, out).push(N));
    let ran = list.check_equal(&rig);
    assert_dispatches(&ran, 2);
    assert_eq!(ran.words(out), list.preset(x));
}

/// A list that is fusable in parts becomes as many dispatches as it has parts, not as it has kernels.
#[test]
fn fuses_on_both_sides_of_a_split() {
    let rig = rig!();
    let mut list = Workload::default();
    let x = list.floats("x", (0..N).map(|i| i as f32));
    let y = list.poisoned("y", N as usize);
    let z = list.poisoned("z", N as usize);
    list.submit(increment(x, 1.0));
    list.submit(increment(x, 2.0));
    list.submit(Submit::new("access/neighbours", ITEMS).read(0, x).write(1, y).push(N));
    list.submit(increment(y, 4.0));
    list.submit(Submit::new("access/reverse", ITEMS).read(0, y).write(1, z).push(N));
    let ran = list.check_equal(&rig);
    assert_dispatches(&ran, 2);
    assert_eq!(ran.outcome(), Outcome::Split);
}

/// A permutation stores each element once: a kernel by elements follows it to the store.
#[test]
fn elements_follow_a_permutation() {
    let rig = rig!();
    let mut list = Workload::default();
    let x = list.floats("x", (0..N).map(|i| i as f32));
    let y = list.poisoned("y", N as usize);
    list.submit(Submit::new("access/reverse", ITEMS).read(0, x).write(1, y).push(N));
    list.submit(increment(y, 4.0));
    let ran = list.check_equal(&rig);
    assert_dispatches(&ran, 1);
    for (i, &value) in ran.floats(y).iter().enumerate() {
        assert_eq!(value, (N as usize - 1 - i) as f32 + 4.0, "y[{i}]");
    }
}

/// Two dimensions: a stencil reads what other groups wrote, a transposition writes what other groups read.
#[test]
fn splits_around_stencil_and_transpose() {
    let rig = rig!();
    let (width, height) = (131, 67);
    let n = (width * height) as usize;
    for (first, second) in [("stencil", "stencil"), ("transpose", "stencil"), ("transpose", "transpose")] {
        let mut list = Workload::default();
        let x = list.floats("x", (0..n).map(|i| (i % 97) as f32));
        let tmp = list.poisoned("tmp", n);
        let out = list.poisoned("out", n);
        list.promote(tmp, Local);
        let submit = |name, [width, height]: [u32; 2], from, to| {
            Submit::new(&format!("access/{name}"), Size::Items([width, height, 1]))
                .read(0, from)
                .write(1, to)
                .push(width)
                .push(height)
        };
        let turned = if first == "transpose" { [height, width] } else { [width, height] };
        list.submit(submit(first, [width, height], x, tmp));
        list.submit(submit(second, turned, tmp, out));
        let ran = list.check_as_they_are(&rig);
        assert_dispatches(&ran, 2);
        ran.assert_in_memory(tmp);
        if second == "transpose" {
            assert_eq!(ran.words(out), list.preset(x));
        }
    }
}

/// A temporary that is only partly written before it is read keeps what memory held.
#[test]
fn keeps_old_contents_of_what_was_not_written() {
    let rig = rig!();
    for promote in [Promote::None, Private, Local] {
        let mut list = Workload::default();
        let x = list.floats("x", (0..N).map(|i| i as f32));
        let tmp = list.floats("tmp", (0..N).map(|i| -(i as f32)));
        let out = list.poisoned("out", N as usize);
        list.promote(tmp, promote);
        list.submit(Submit::new("access/even", ITEMS).read(0, x).write(1, tmp).push(N));
        list.submit(Submit::new("chain/sub", ITEMS).read(0, tmp).read(1, x).write(2, out).push(N));
        let ran = list.check_equal(&rig);
        for (i, &value) in ran.floats(out).iter().enumerate() {
            assert_eq!(value, if i % 2 == 0 { 0.0 } else { -2.0 * i as f32 }, "out[{i}]");
        }
    }
}

/// Private memory for what another item reads is refused, local memory with a barrier is right.
#[test]
fn refuses_private_where_the_group_exchanges() {
    let rig = rig!();
    let mut pair = Pair::buffers(2048);
    pair.workload.promote(pair.tmp, Private);
    pair.submit("pair/add_mirrored", "pair/mul", Size::Groups([16, 1, 1]), &[2048], &[128]);
    let ran = pair.workload.check_equal(&rig);
    pair.assert_out(&ran);
    let promoted = ran.buffer_report(pair.tmp).expect("the report speaks of what was asked for");
    assert_ne!(promoted.got, Internalization::Private);
    assert!(promoted.reason.is_some(), "{promoted:?}");
}

/// One dimension produces, two dimensions consume: same linear element, different items unless the map keeps order.
#[test]
fn one_dimension_then_two() {
    let rig = rig!();
    for promote in [Promote::None, Private] {
        let mut pair = Pair::buffers(64 * 64);
        pair.workload.promote(pair.tmp, promote);
        pair.workload.submit(
            Submit::new("pair/add", Size::Items([4096, 1, 1]))
                .read(0, pair.in1)
                .read(1, pair.in2)
                .write(2, pair.tmp)
                .push(4096),
        );
        pair.workload.submit(
            Submit::new("pair/mul_2d", Size::Items([64, 64, 1]))
                .read(0, pair.tmp)
                .read(1, pair.in3)
                .write(2, pair.out)
                .push(64)
                .push(64),
        );
        let ran = pair.workload.check_equal(&rig);
        pair.assert_out(&ran);
    }
}

/// The producer covers fewer elements than the consumer reads.
#[test]
fn a_shorter_producer() {
    let rig = rig!();
    for promote in [Promote::None, Private, Local] {
        let mut list = Workload::default();
        let ones = list.ints("ones", (0..1000).map(|_| 1));
        let tmp = list.ints("tmp", (0..1000).map(|i| 10 * i));
        let out = list.poisoned("out", 1000);
        list.promote(tmp, promote);
        let add = |n, x, y, z| {
            Submit::new("pair/add", Size::Items([n, 1, 1])).read(0, x).read(1, y).write(2, z).push(n)
        };
        list.submit(add(600, ones, ones, tmp));
        list.submit(add(1000, tmp, ones, out));
        let ran = list.check_equal(&rig);
        for (i, &value) in (0..).zip(ran.ints(out)) {
            assert_eq!(value, if i < 600 { 3 } else { 10 * i + 1 }, "out[{i}]");
        }
    }
}

/// The same module with two sets of specialization constants in one list.
#[test]
fn one_module_specialised_twice() {
    let rig = rig!();
    let mut list = Workload::default();
    let x = list.words("x", 1..129);
    let (sum, most) = (list.poisoned("sum", 128), list.poisoned("most", 128));
    for (operator, out) in [(0, sum), (2, most)] {
        list.submit(
            Submit::new("groups/exclusive_scan", Size::Groups([2, 1, 1]))
                .spec(1, operator)
                .read(0, x)
                .write(1, out)
                .push(0),
        );
    }
    // Nothing is handed on, so a GPU had better run both at the same time.
    let ran = list.check_fused_with(&rig, &FusionProperties::default().force_fusion());
    assert_eq!((ran.words(sum)[5], ran.words(most)[5]), (15, 5));
}

/// Softmax of rows in four kernels: one dispatch.
#[test]
fn softmax_of_rows() {
    let rig = rig!();
    let (rows, columns) = (37, 300);
    for promote in [Promote::None, Local, Promote::Auto] {
        let mut list = Workload::default();
        let n = (rows * columns) as usize;
        let x = list.floats("x", (0..n).map(|i| (i * 7919 % 1000) as f32 / 100.0));
        let [most, sum] = ["most", "sum"].map(|name| list.poisoned(name, rows as usize));
        let (exponentials, out) = (list.poisoned("exponentials", n), list.poisoned("out", n));
        for temporary in [most, sum] {
            list.promote(temporary, promote);
        }
        let submit = |name| Submit::new(name, Size::Groups([rows, 1, 1])).push(columns);
        list.submit(submit("softmax/row_max").read(0, x).write(1, most));
        list.submit(submit("softmax/exp_sub").read(0, x).read(1, most).write(2, exponentials));
        list.submit(submit("softmax/row_sum").read(0, exponentials).write(1, sum));
        list.submit(submit("softmax/divide").read(0, exponentials).read(1, sum).write(2, out));
        let ran = list.check_fused(&rig);
        for row in ran.floats(out).chunks(columns as usize) {
            let total: f32 = row.iter().sum();
            assert!((total - 1.0).abs() < 1e-4, "a row adds up to {total}");
        }
    }
}

/// A later use outside the list finds the materialised buffer, and events of split lists resolve.
#[test]
fn events_of_a_split_list() {
    let rig = rig!();
    let (ran, _) = two(&rig, Promote::None, "access/reverse", "chain/mul");
    assert!(ran.events.iter().all(Event::is_complete));
    assert!(ran.events.iter().all(|event| event.outcome() == ran.outcome()));
}
