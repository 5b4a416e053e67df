//! Internalization that must succeed: one test per row of that part of the conformance table, named after the row.
//!
//! Each demands one dispatch, the right result in every element, equal bits with the unfused run, and temporaries
//! whose memory still holds the poison it had before.

use crate::support::{Buf, Pair, Ran, Rig, Size, Submit, Workload};
use vkfuse::Promote::{self, Local, Private};

/// The base case: the promotion is asked for on both accessors.
#[test]
fn private_internalization() {
    let rig = rig!();
    for n in [512, 509] {
        let mut pair = Pair::buffers(n as usize);
        pair.submit_as("pair/add", "pair/mul", Size::Items([n, 1, 1]), &[n], &[], Private);
        let ran = pair.workload.check_fused(&rig);
        pair.assert_out(&ran);
        ran.assert_internalized(pair.tmp, Private);
        assert_eq!(ran.barriers_kept(), 0);
    }
}

/// The promotion is a property of the buffer, which accessors inherit.
#[test]
fn buffer_internalization() {
    let rig = rig!();
    let mut pair = Pair::new(512);
    pair.workload.promote(pair.tmp, Private);
    let ran = pair.workload.check_fused(&rig);
    pair.assert_out(&ran);
    ran.assert_internalized(pair.tmp, Private);
}

/// The temporary lives in shared memory.
#[test]
fn local_internalization() {
    let rig = rig!();
    for on_buffer in [false, true] {
        let mut pair = Pair::buffers(512);
        let on_accessor = if on_buffer { Promote::None } else { Local };
        pair.submit_as("pair/add", "pair/mul", Size::Items([512, 1, 1]), &[512], &[16], on_accessor);
        if on_buffer {
            pair.workload.promote(pair.tmp, Local);
        }
        let ran = pair.workload.check_fused(&rig);
        pair.assert_out(&ran);
        ran.assert_internalized(pair.tmp, Local);
    }
}

/// What an item reads, its mirror image in the work-group wrote: shared memory with a barrier. 128 items a group,
/// so that no device runs a group in lock step.
#[test]
fn barrier_local_internalization() {
    let rig = rig!();
    for reader in ["pair/mul_grouped", "pair/mul"] {
        for local in [128, 256] {
            let mut pair = Pair::buffers(2048);
            let groups = Size::Groups([2048 / local, 1, 1]);
            pair.workload.promote(pair.tmp, Local);
            pair.submit("pair/add_mirrored", reader, groups, &[2048], &[local]);
            let ran = pair.workload.check_fused(&rig);
            pair.assert_out(&ran);
            ran.assert_internalized(pair.tmp, Local);
            assert_eq!(ran.barriers_kept(), 1);
        }
    }
}

/// The first kernel has shared memory and a barrier of its own, which the promoted buffer must not overlap.
#[test]
fn existing_local_accessor() {
    let rig = rig!();
    for local in [16, 128] {
        let mut pair = Pair::buffers(512);
        pair.workload.promote(pair.tmp, Local);
        let groups = Size::Groups([512 / local, 1, 1]);
        pair.submit("pair/add_own_shared", "pair/mul", groups, &[512], &[local]);
        let ran = pair.workload.check_fused(&rig);
        pair.assert_out(&ran);
        ran.assert_internalized(pair.tmp, Local);
    }
}

/// Four consecutive elements per item in shared memory.
#[test]
fn non_unit_local_size() {
    let rig = rig!();
    let mut pair = Pair::buffers(512);
    pair.submit_as("pair/add_four", "pair/mul_four", Size::Items([128, 1, 1]), &[128], &[8], Local);
    let ran = pair.workload.check_fused(&rig);
    pair.assert_out(&ran);
    ran.assert_internalized(pair.tmp, Local);
}

/// Three elements per item, one member of a struct and permuted bytes.
fn struct_and_bytes(rig: &Rig, reader: &str) {
    let (items, n) = (128, 384);
    let mut list = Workload::default();
    let x = list.ints("x", 0..n);
    let wide = list.poisoned("wide", 8 * n as usize);
    let bytes = list.poisoned("bytes", n as usize / 4);
    let out = list.poisoned("out", n as usize);
    list.promote(wide, Private);
    list.promote(bytes, Private);
    let size = Size::Items([items, 1, 1]);
    list.submit(
        Submit::new("pair/write_struct_bytes", size).read(0, x).write(1, wide).write(2, bytes).push(items),
    );
    list.submit(Submit::new(reader, size).read(0, wide).read(1, bytes).write(2, out).push(items));
    let ran = list.check_fused(rig);
    for (i, &value) in (0..).zip(ran.ints(out)) {
        assert_eq!(value, i * i + i32::from((i ^ 0xaa) as i8), "out[{i}]");
    }
    ran.assert_internalized(wide, Private);
    ran.assert_internalized(bytes, Private);
}

/// Slots of three per item, of a struct whose other members no one writes.
#[test]
fn internalize_non_unit_localsize() {
    struct_and_bytes(&rig!(), "pair/read_struct_bytes");
}

/// Bytes written in another order than they are read, and read in that order too.
#[test]
fn i8_remapping() {
    struct_and_bytes(&rig!(), "pair/read_struct_bytes_permuted");
}

/// Four-component elements.
#[test]
fn internalize_vec() {
    let rig = rig!();
    let mut pair = Pair::buffers(4 * 512);
    pair.submit_as("pair/add_vec4", "pair/mul_vec4", Size::Items([512, 1, 1]), &[512], &[], Private);
    let ran = pair.workload.check_fused(&rig);
    pair.assert_out(&ran);
    ran.assert_internalized(pair.tmp, Private);
}

/// Four elements per item of a buffer of 2048, as scalars at `4 * i + k`.
#[test]
fn internalize_vfunc() {
    let rig = rig!();
    let mut pair = Pair::buffers(2048);
    pair.submit_as("pair/add_four", "pair/mul_four", Size::Items([512, 1, 1]), &[512], &[16], Private);
    let ran = pair.workload.check_fused(&rig);
    pair.assert_out(&ran);
    ran.assert_internalized(pair.tmp, Private);
}

/// The same elements through two views: as four scalars by one kernel and as a vector by the other. The kernels fuse;
/// the temporary may stay in memory, if the report says why.
#[test]
fn internalize_vfunc_with_two_views() {
    let rig = rig!();
    for (add, mul) in [("pair/add_vec4", "pair/mul_four"), ("pair/add_four", "pair/mul_vec4")] {
        let mut pair = Pair::buffers(2048);
        pair.submit_as(add, mul, Size::Items([512, 1, 1]), &[512], &[16], Private);
        let ran = pair.workload.check_fused(&rig);
        pair.assert_out(&ran);
        let promoted = ran.buffer_report(pair.tmp).expect("a promotion was asked for");
        if promoted.reason.is_some() {
            pair.assert_tmp_written(&ran);
        } else {
            ran.assert_internalized(pair.tmp, Private);
        }
    }
}

/// Pointers computed in steps, copied, and used more than once.
#[test]
fn internalize_multi_ptr() {
    let rig = rig!();
    let mut pair = Pair::buffers(512);
    pair.submit_as("pair/add_pointer_chain", "pair/mul", Size::Items([512, 1, 1]), &[512], &[], Private);
    let ran = pair.workload.check_fused(&rig);
    pair.assert_out(&ran);
    ran.assert_internalized(pair.tmp, Private);
}

/// Elements are structs nested four deep, stored whole by one kernel and read by member in the other.
#[test]
fn internalize_deep() {
    let rig = rig!();
    let mut pair = Pair::buffers(4 * 512);
    pair.submit_as("pair/add_deep", "pair/mul_deep", Size::Items([512, 1, 1]), &[512], &[], Private);
    let ran = pair.workload.check_fused(&rig);
    pair.assert_out(&ran);
    ran.assert_internalized(pair.tmp, Private);
}

/// Two elements that are structs of arrays of vectors, in registers.
#[test]
fn internalize_array_wrapper() {
    let rig = rig!();
    let mut pair = Pair::buffers(2 * 8);
    pair.submit_as("pair/add_wrapped", "pair/mul_wrapped", Size::Items([2, 1, 1]), &[2], &[], Private);
    let ran = pair.workload.check_fused(&rig);
    pair.assert_out(&ran);
    ran.assert_internalized(pair.tmp, Private);
}

/// The same in shared memory, sixteen elements in groups of four.
#[test]
fn internalize_array_wrapper_local() {
    let rig = rig!();
    let mut pair = Pair::buffers(16 * 8);
    pair.submit_as("pair/add_wrapped", "pair/mul_wrapped", Size::Items([16, 1, 1]), &[16], &[4], Local);
    let ran = pair.workload.check_fused(&rig);
    pair.assert_out(&ran);
    ran.assert_internalized(pair.tmp, Local);
}

/// Every argument is a slice at another offset of a larger buffer; nothing outside the slices is touched.
#[test]
fn ranged_offset_accessor() {
    let rig = rig!();
    let (n, total) = (512, 2560);
    for local in [16, 64] {
        let mut list = Workload::default();
        let in1 = list.ints("in1", (0..total).map(|i| 2 * i));
        let in2 = list.ints("in2", (0..total).map(|i| 3 * i));
        let in3 = list.ints("in3", (0..total).map(|i| 4 * i));
        let tmp = list.poisoned("tmp", total as usize);
        let out = list.poisoned("out", total as usize);
        let items = Size::Items([n, 1, 1]);
        list.submit(
            Submit::new("pair/add", items)
                .read(0, in1)
                .range(0, 513)
                .read(1, in2)
                .range(512, 514)
                .write(2, tmp)
                .range(1024, 515)
                .promote(Private)
                .push(n)
                .local(&[local]),
        );
        list.submit(
            Submit::new("pair/mul", items)
                .read(0, tmp)
                .range(1024, 515)
                .promote(Private)
                .read(1, in3)
                .range(1536, 516)
                .write(2, out)
                .range(2048, 512)
                .push(n)
                .local(&[local]),
        );
        let ran = list.check_fused(&rig);
        ran.assert_internalized(tmp, Private);
        for (i, &value) in (0..).zip(ran.ints(out)) {
            if i < 2048 {
                assert_eq!(value as u32, list.preset(out)[i as usize], "out[{i}] is outside the slice");
            } else {
                let k = i - 2048;
                let sum: i32 = 2 * k + 3 * (k + 512);
                assert_eq!(value, sum.wrapping_mul(4 * (k + 1536)), "out[{i}]");
            }
        }
    }
}

/// The second kernel takes a table of ten integers by value.
#[test]
fn struct_with_array() {
    let rig = rig!();
    let n = 512;
    let mut pair = Pair::buffers(n as usize);
    let items = Size::Items([n, 1, 1]);
    pair.workload.submit(
        Submit::new("pair/add", items)
            .read(0, pair.in1)
            .read(1, pair.in2)
            .write(2, pair.tmp)
            .promote(Private)
            .push(n)
            .local(&[8]),
    );
    let by_table = Submit::new("pair/mul_table", items)
        .read(0, pair.tmp)
        .promote(Private)
        .write(1, pair.out)
        .push(n)
        .local(&[8]);
    pair.workload.submit((0..10).fold(by_table, Submit::push));
    let ran = pair.workload.check_fused(&rig);
    for (i, &value) in (0..).zip(ran.ints(pair.out)) {
        assert_eq!(value, 5 * i * (i % 8), "out[{i}]");
    }
    ran.assert_internalized(pair.tmp, Private);
}

/// Two dimensions, also with sizes that no work-group divides.
#[test]
fn two_dimensional() {
    let rig = rig!();
    for [width, height] in [[32, 16], [79, 67]] {
        let mut pair = Pair::buffers((width * height) as usize);
        let items = Size::Items([width, height, 1]);
        pair.submit_as("pair/add_2d", "pair/mul_2d", items, &[width, height], &[8, 4], Private);
        let ran = pair.workload.check_fused(&rig);
        pair.assert_out(&ran);
        ran.assert_internalized(pair.tmp, Private);
    }
}

/// Three dimensions, also with sizes that no work-group divides.
#[test]
fn three_dimensional() {
    let rig = rig!();
    for [width, height, depth] in [[4, 8, 16], [7, 5, 3]] {
        let mut pair = Pair::buffers((width * height * depth) as usize);
        let items = Size::Items([width, height, depth]);
        let push = [width, height, depth];
        pair.submit_as("pair/add_3d", "pair/mul_3d", items, &push, &[4, 2, 2], Private);
        let ran = pair.workload.check_fused(&rig);
        pair.assert_out(&ran);
        ran.assert_internalized(pair.tmp, Private);
    }
}

/// Four submissions in a diamond; two of them are the same kernel on other buffers.
#[test]
fn diamond_shape() {
    diamond(&rig!(), Private);
}

/// The diamond in shared memory.
#[test]
fn diamond_shape_local() {
    diamond(&rig!(), Local);
}

/// A pointer to an element goes into a function that is not to be inlined.
#[test]
fn pointer_arg_function() {
    let rig = rig!();
    let mut pair = Pair::buffers(512);
    let items = Size::Items([512, 1, 1]);
    pair.submit_as("pair/add_pointer_argument", "pair/mul", items, &[512], &[], Private);
    let ran = pair.workload.check_fused(&rig);
    pair.assert_out(&ran);
    ran.assert_internalized(pair.tmp, Private);
}

/// t1 = in1 + in2; t2 = t1 * in3; t3 = t1 * 5; out = t2 + t3.
fn diamond(rig: &Rig, promote: Promote) {
    let n = 512;
    let mut list = Workload::default();
    let [in1, in2, in3] = [2, 3, 4].map(|factor| list.ints("in", (0..n).map(|i| factor * i)));
    let [t1, t2, t3] = ["t1", "t2", "t3"].map(|name| list.poisoned(name, n as usize));
    let out = list.poisoned("out", n as usize);
    for temporary in [t1, t2, t3] {
        list.promote(temporary, promote);
    }
    let kernel = |name| Submit::new(name, Size::Items([n as u32, 1, 1])).push(n as u32);
    let binary = |name, x: Buf, y: Buf, z: Buf| kernel(name).read(0, x).read(1, y).write(2, z);
    list.submit(binary("pair/add", in1, in2, t1));
    list.submit(binary("pair/mul", t1, in3, t2));
    list.submit(kernel("pair/scale").push(5).read(0, t1).write(1, t3));
    list.submit(binary("pair/add", t2, t3, out));
    let ran: Ran = list.check_fused(rig);
    for (i, &value) in (0..).zip(ran.ints(out)) {
        assert_eq!(value, 20 * i * i + 25 * i, "out[{i}]");
    }
    for temporary in [t1, t2, t3] {
        ran.assert_internalized(temporary, promote);
    }
}
