//! Refusals of fusion or of internalization: one test per row of that part of the conformance table, named after the
//! row. Results are right in every case, and the report or the error says what was refused and why.

use crate::support::{Pair, Ran, Rig, Size, Submit, Workload};
use vkfuse::Promote::{self, Local, Private};
use vkfuse::{
    BarrierReason, Buffer, Event, FusionProperties, FusionWrapper, Internalization, Outcome, Policy, Reason,
};

/// Kernels that go by their own work-group size, with different ones, do not fuse as they are; rewritten, one takes the items of the
/// other. Item-only kernels may.
#[test]
fn abort_fusion_different_local_sizes() {
    let rig = rig!();
    let mut list = Workload::default();
    let buffers: Vec<_> = [16, 8]
        .into_iter()
        .map(|local| {
            let (index, group) = (list.poisoned("index", 512), list.poisoned("group", 512));
            let groups = Size::Groups([512 / local, 1, 1]);
            list.submit(
                Submit::new("ids/record_index", groups).local(&[local]).write(0, index).write(1, group),
            );
            (local, index, group)
        })
        .collect();
    let ran = list.check_as_they_are(&rig);
    for (local, index, group) in buffers {
        for i in 0..512 {
            assert_eq!(ran.words(index)[i as usize], i % local);
            assert_eq!(ran.words(group)[i as usize], i / local);
        }
    }
    assert!(
        matches!(ran.outcome(), Outcome::Refused { reason: Reason::LocalSize { .. } }),
        "{}",
        ran.outcome()
    );
    assert_eq!(ran.stats.dispatches, 2);
    assert_says(&ran, "local size");

    let mut pair = Pair::buffers(512);
    let items = Size::Items([512, 1, 1]);
    let kernel = |name, local: u32| Submit::new(name, items).local(&[local]).push(512);
    pair.workload.submit(kernel("pair/add", 16).read(0, pair.in1).read(1, pair.in2).write(2, pair.tmp));
    pair.workload.submit(kernel("pair/mul", 8).read(0, pair.tmp).read(1, pair.in3).write(2, pair.out));
    let ran = pair.workload.check_equal(&rig);
    ran.assert_ran(&Outcome::Fused, 1);
    pair.assert_out(&ran);
}

/// Completing an empty list: nothing runs, the event is complete, and the reason is that and no other.
#[test]
fn abort_fusion_empty_list() {
    let rig = rig!();
    let before = rig.context.stats();
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    let complete = fusion.complete_fusion(&FusionProperties::default()).unwrap();
    assert!(!fusion.is_in_fusion_mode());
    complete.wait().unwrap();
    assert_eq!(complete.outcome(), Outcome::Refused { reason: Reason::Empty });
    assert_eq!((rig.context.stats() - before).dispatches, 0);
}

/// Nine items in groups of three that go by their group, and a plain range of 512: no group size suits both.
#[test]
fn abort_fusion_uneven_groups() {
    let rig = rig!();
    let mut list = Workload::default();
    let (index, group) = (list.poisoned("index", 9), list.poisoned("group", 9));
    let [x, y] = [3, 4].map(|factor| list.ints("x", (0..512).map(|i| factor * i)));
    let out = list.poisoned("out", 512);
    let grouped = Submit::new("ids/record_index", Size::Groups([3, 1, 1])).local(&[3]);
    list.submit(grouped.write(0, index).write(1, group));
    list.submit(
        Submit::new("pair/add", Size::Items([512, 1, 1])).read(0, x).read(1, y).write(2, out).push(512),
    );
    let ran = list.check_equal(&rig);
    assert!(
        matches!(ran.outcome(), Outcome::Refused { reason: Reason::LocalSize { .. } }),
        "{}",
        ran.outcome()
    );
    assert_eq!(ran.stats.dispatches, 2);
    assert_eq!(ran.words(index), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    assert_eq!(ran.words(group), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
    assert!((0..).zip(ran.ints(out)).all(|(i, &value)| value == 7 * i));
}

/// Two-dimensional work-groups in grids of different width: ids are right, fused or not.
#[test]
fn abort_fusion_two_dimensional_groups() {
    let rig = rig!();
    let mut list = Workload::default();
    let mut local_ids = Vec::new();
    for groups in [1, 2] {
        let words = 3 * (2 * groups * 2 * groups) as usize;
        let ids = [(); 6].map(|()| list.poisoned("ids", words));
        let submit = Submit::new("ids/record", Size::Groups([groups, groups, 1])).local(&[2, 2, 1]);
        list.submit((0..).zip(ids).fold(submit, |submit, (binding, ids)| submit.write(binding, ids)));
        local_ids.push((2 * groups, ids[4]));
    }
    let ran = list.check_equal(&rig);
    ran.assert_ran(&Outcome::Fused, 1);
    for (width, ids) in local_ids {
        for at in 0..width * width {
            let words = 3 * at as usize..3 * at as usize + 3;
            assert_eq!(ran.words(ids)[words], [at % width % 2, at / width % 2, 0]);
        }
    }
}

/// Accessors that ask for different things: fused, but the temporary stays in memory, and the report says why.
#[test]
fn abort_internalization() {
    let rig = rig!();
    for [first, second] in [
        [Promote::None, Local],
        [Promote::None, Private],
        [Local, Promote::None],
        [Private, Promote::None],
        [Local, Private],
        [Private, Local],
    ] {
        let mut pair = Pair::buffers(512);
        let kernel = |name| Submit::new(name, Size::Items([512, 1, 1])).push(512);
        pair.workload
            .submit(kernel("pair/add").read(0, pair.in1).read(1, pair.in2).write(2, pair.tmp).promote(first));
        pair.workload.submit(
            kernel("pair/mul").read(0, pair.tmp).promote(second).read(1, pair.in3).write(2, pair.out),
        );
        let ran = pair.workload.check_fused(&rig);
        pair.assert_out(&ran);
        pair.assert_tmp_written(&ran);
        let report = ran.buffer_report(pair.tmp).expect("a promotion was asked for");
        assert_eq!(report.got, Internalization::None, "{first:?} with {second:?}");
        assert!(report.reason.is_some(), "{first:?} with {second:?}");
    }
}

/// An accessor that opts out of its buffer's property.
#[test]
fn an_accessor_opts_out() {
    let rig = rig!();
    let pair = Pair::new(512);
    let buffers = pair.workload.allocate(&rig);
    let tmp = buffers[3].clone().promote_private();
    let (add, mul) = (rig.kernel("pair/add"), rig.kernel("pair/mul"));
    let complete = rig
        .queue
        .fuse(|queue| {
            queue.submit(|h| {
                h.arg(0, buffers[0].read()).arg(1, buffers[1].read()).arg(2, tmp.write().no_promotion());
                h.push(&512_u32).dispatch_items(&add, [512, 1, 1]);
            })?;
            queue.submit(|h| {
                h.arg(0, tmp.read()).arg(1, buffers[2].read()).arg(2, buffers[4].write());
                h.push(&512_u32).dispatch_items(&mul, [512, 1, 1]);
            })?;
            Ok(())
        })
        .unwrap();
    complete.wait().unwrap();
    assert_eq!(complete.outcome(), Outcome::Fused);
    assert!(tmp.download().unwrap().iter().enumerate().all(|(i, &value)| value as usize == 5 * i));
}

/// The buffer's length is asked for: its answer must be that of the unfused run, promoted or not.
#[test]
fn abort_internalization_length() {
    let rig = rig!();
    for promote in [Private, Local] {
        let mut list = Workload::default();
        let x = list.floats("x", (0..1000).map(|i| i as f32));
        let (tmp, out) = (list.poisoned("tmp", 1000), list.poisoned("out", 1000));
        list.promote(tmp, promote);
        let items = Size::Items([1024, 1, 1]);
        list.submit(Submit::new("forms/length", items).read(0, x).write(1, tmp));
        list.submit(Submit::new("forms/length", items).read(0, tmp).write(1, out));
        let ran = list.check_fused(&rig);
        for (i, &value) in ran.floats(out).iter().enumerate() {
            assert_eq!(value, 4.0 * i as f32, "out[{i}]");
        }
    }
}

/// A buffer that says private and an accessor that says local: an error at once, and the list as it was.
#[test]
fn internalization_mismatch() {
    let rig = rig!();
    let pair = Pair::new(512);
    let buffers = pair.workload.allocate(&rig);
    let add = rig.kernel("pair/add");
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    let tmp = buffers[3].clone().promote_private();
    let error = rig
        .queue
        .submit(|h| {
            h.arg(0, buffers[0].read()).arg(1, buffers[1].read()).arg(2, tmp.write().promote_local());
            h.push(&512_u32).dispatch_items(&add, [512, 1, 1]);
        })
        .expect_err("a contradiction");
    let message = format!("{error:?} {error}").to_lowercase();
    assert!(message.contains("private") && message.contains("local") && message.contains("tmp"), "{message}");
    assert!(fusion.is_in_fusion_mode());
    fusion.cancel_fusion().unwrap();
}

/// Barriers are dropped only on trust, and the report lists what was trusted.
#[test]
fn barriers_go_only_on_trust() {
    let rig = rig!();
    let mut pair = Pair::buffers(4096);
    pair.submit("pair/add_mirrored", "pair/mul", Size::Groups([32, 1, 1]), &[4096], &[128]);
    let proven = pair.workload.check_fused_with(&rig, &FusionProperties::default().no_barriers());
    pair.assert_out(&proven);
    assert_eq!(proven.barriers_kept(), 1);
    assert!(proven.report().plan.trusted.is_empty());

    // What comes out of this is the user's affair; that it ran as asked, and was reported, is ours.
    let properties = FusionProperties::default().no_barriers().policy(Policy::Trust);
    let trusting = pair.workload.run_fused(&rig, &properties);
    assert_eq!(trusting.outcome(), Outcome::Fused);
    assert_eq!(trusting.barriers_kept(), 0);
    let report = trusting.report();
    assert_eq!(report.plan.groups[0].barriers[0].reason, BarrierReason::SwitchedOff);
}

/// A promoted buffer that a later group, or a later submission, reads: its contents must be there or be refused.
#[test]
fn a_promoted_buffer_that_is_used_later() {
    let rig = rig!();
    // The third kernel is in another group, because it reads what other work-groups wrote.
    let n = 4096;
    let mut list = Workload::default();
    let x = list.floats("x", (0..n).map(|i| i as f32));
    let [tmp, middle, out] = ["tmp", "middle", "out"].map(|name| list.poisoned(name, n as usize));
    list.promote(tmp, Private);
    let items = Size::Items([n, 1, 1]);
    list.submit(Submit::new("chain/mul", items).read(0, x).read(1, x).write(2, tmp).push(n));
    list.submit(Submit::new("chain/sub", items).read(0, tmp).read(1, x).write(2, middle).push(n));
    list.submit(Submit::new("access/neighbours", items).read(0, tmp).write(1, out).push(n));
    let ran = list.check_as_they_are(&rig);
    ran.assert_in_memory(tmp);
    assert!(ran.buffer_report(tmp).is_some_and(|report| report.reason.is_some()));

    // After the list: an error that names it, until something writes it.
    let pair = Pair::new(512);
    let buffers = pair.workload.allocate(&rig);
    let tmp = buffers[3].clone().promote_private();
    let complete = fuse_pair(&rig, &pair, &buffers);
    assert_eq!(complete.outcome(), Outcome::Fused);
    let scale = rig.kernel("access/scale_in_place");
    let read_later = || {
        rig.queue.submit(|h| {
            h.arg(0, tmp.read_write().no_promotion());
            h.push(&[512_u32, 2]).dispatch_items(&scale, [512, 1, 1]);
        })
    };
    let error = read_later().expect_err("reads what a fused kernel kept to itself");
    assert!(format!("{error:?} {error}").contains("tmp"), "{error}");
    tmp.upload(&[21; 512]).unwrap();
    read_later().unwrap();
    assert_eq!(tmp.download().unwrap(), [42; 512]);
    rig.assert_no_validation_messages();
}

fn fuse_pair(rig: &Rig, pair: &Pair, buffers: &[Buffer<u32>]) -> Event {
    let complete = rig.queue.fuse(|_| {
        pair.workload.submit_all(rig, buffers);
        Ok(())
    });
    let complete = complete.unwrap();
    complete.wait().unwrap();
    complete
}

/// Demands that outcome or splits speak of something.
fn assert_says(ran: &Ran, what: &str) {
    let report = ran.report();
    let mut text = ran.outcome().to_string();
    for split in &report.plan.splits {
        text += &format!("; {}", split.reason);
    }
    assert!(text.contains(what), "does not speak of {what}: {text}");
}
