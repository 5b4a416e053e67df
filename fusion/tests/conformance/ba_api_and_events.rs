//! Plain fusion, the control interface and events: one test per row of that part of the conformance table, named
//! after the row.

use std::time::Duration;

use crate::support::{Pair, Rig, Size, Submit, Workload};
use vkfuse::{CancelCause, Event, FusionProperties, FusionWrapper, Outcome, Policy};

/// A list fuses into exactly one dispatch; without promotion the temporary is materialised.
#[test]
fn complete_fusion() {
    let rig = rig!();
    for n in [512, 509] {
        let pair = Pair::new(n);
        let ran = pair.workload.check_fused(&rig);
        pair.assert_out(&ran);
        pair.assert_tmp_written(&ran);
        assert_eq!(ran.barriers_kept(), 0);
    }
    let trusting = FusionProperties::default().no_barriers().policy(Policy::Trust);
    let pair = Pair::new(512);
    let ran = pair.workload.check_fused_with(&rig, &trusting);
    pair.assert_out(&ran);
}

/// A cancelled list runs as separate dispatches in submission order.
#[test]
fn cancel_fusion() {
    let rig = rig!();
    let pair = Pair::new(512);
    let (before, buffers) = (rig.context.stats(), pair.workload.allocate(&rig));
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    assert!(fusion.is_in_fusion_mode());
    let events = pair.workload.submit_all(&rig, &buffers);
    assert!(events.iter().all(|event| event.outcome() == Outcome::Pending));
    fusion.cancel_fusion().unwrap();
    assert!(!fusion.is_in_fusion_mode());
    rig.queue.wait().unwrap();

    assert_out(&buffers[4].download().unwrap());
    assert_eq!((rig.context.stats() - before).dispatches, 2);
    for event in &events {
        assert_eq!(event.outcome(), Outcome::Cancelled { by: CancelCause::Explicit });
    }
    // Cancelling without a list is no error.
    fusion.cancel_fusion().unwrap();
    rig.assert_no_validation_messages();
}

/// Events handed out in fusion mode resolve after a cancel, each only when its kernel has run.
#[test]
fn event_wait_cancel() {
    let rig = rig!();
    let pair = Pair::new(512);
    for first in [0, 1] {
        let buffers = pair.workload.allocate(&rig);
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        let events = submit_dependent(&rig, &pair, &buffers);
        fusion.cancel_fusion().unwrap();
        assert!(!fusion.is_in_fusion_mode());
        events[first].wait().unwrap();
        if first == 1 {
            // The second kernel read what the first wrote, so the first is done.
            assert!(events[0].is_complete());
        }
        events[1 - first].wait().unwrap();
        assert!(events.iter().all(Event::is_complete));
        assert_out(&buffers[4].download().unwrap());
    }
    rig.assert_no_validation_messages();
}

/// Events handed out in fusion mode resolve with the fused dispatch, as does the completing event.
#[test]
fn event_wait_complete() {
    let rig = rig!();
    let pair = Pair::new(512);
    let (before, buffers) = (rig.context.stats(), pair.workload.allocate(&rig));
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    let events = pair.workload.submit_all(&rig, &buffers);
    assert!(!events[0].is_complete(), "nothing has run yet");
    let complete = fusion.complete_fusion(&FusionProperties::default()).unwrap();
    complete.wait().unwrap();
    assert!(complete.is_complete());
    for event in &events {
        event.wait().unwrap();
        assert!(event.wait_timeout(Duration::ZERO).unwrap());
        assert!(event.is_complete());
        assert_eq!(event.outcome(), Outcome::Fused);
        assert!(event.report().is_some());
    }
    assert_eq!((rig.context.stats() - before).dispatches, 1);
    assert_out(&buffers[4].download().unwrap());
    rig.assert_no_validation_messages();
}

/// A dependence between two kernels of the same list is no reason to leave fusion mode.
#[test]
fn internal_explicit_dependency() {
    let rig = rig!();
    let pair = Pair::new(512);
    let (before, buffers) = (rig.context.stats(), pair.workload.allocate(&rig));
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    let events = submit_dependent(&rig, &pair, &buffers);
    assert!(fusion.is_in_fusion_mode());
    let complete = fusion.complete_fusion(&FusionProperties::default()).unwrap();
    Event::wait_all(&events).unwrap();
    complete.wait().unwrap();
    assert_eq!(complete.outcome(), Outcome::Fused);
    assert_eq!((rig.context.stats() - before).dispatches, 1);
    assert_out(&buffers[4].download().unwrap());
    rig.assert_no_validation_messages();
}

/// Nothing but the buffers tells that the second kernel depends on the first; waiting on the queue suffices.
#[test]
fn usm_no_dependencies() {
    let rig = rig!();
    let pair = Pair::new(512);
    let (before, buffers) = (rig.context.stats(), pair.workload.allocate(&rig));
    let complete = rig
        .queue
        .fuse(|_| {
            pair.workload.submit_all(&rig, &buffers);
            Ok(())
        })
        .unwrap();
    rig.queue.wait().unwrap();
    assert!(complete.is_complete());
    assert_eq!(complete.outcome(), Outcome::Fused);
    assert_eq!((rig.context.stats() - before).dispatches, 1);
    assert_out(&buffers[4].download().unwrap());
    rig.assert_no_validation_messages();
}

/// Calls into the extended instruction set survive linking, from two modules that each import it.
#[test]
fn math_function() {
    let rig = rig!();
    let n = 1000_u32;
    let mut list = Workload::default();
    let ones = list.floats("ones", (0..n).map(|_| 1.0));
    let tmp = list.poisoned("tmp", n as usize);
    let out = list.poisoned("out", n as usize);
    let items = Size::Items([n, 1, 1]);
    list.submit(Submit::new("forms/round_cos", items).read(0, ones).write(1, tmp).push(n));
    list.submit(Submit::new("forms/fma_index", items).read(0, tmp).write(1, out).push(n));
    let ran = list.check_fused(&rig);
    for (i, &value) in ran.floats(out).iter().enumerate() {
        assert_eq!(value, -3.0 * i as f32, "out[{i}]");
    }
}

/// The device says whether it can fuse, and a queue that is to fuse is refused where it cannot.
#[test]
fn device_info_descriptor() {
    let rig = rig!();
    let info = rig.context.device_info();
    assert!(info.supports_fusion());
    assert!(rig.queue.fusion_enabled());
    assert!(info.limits.max_push_bytes >= 128);
    assert!(info.limits.max_shared_bytes >= 16 * 1024);
    let listed = vkfuse::Context::devices().unwrap();
    assert!(listed.iter().any(|device| device.name == info.name));
}

/// Copies between kernels, with fusion started before everything, after the filling kernels, and after the copy.
#[test]
fn queue_shortcut_functions() {
    let rig = rig!();
    let n = 1024_u32;
    for start in 0..3 {
        let mut list = Workload::default();
        let target = list.floats("target", (0..n).map(|_| 0.0));
        let source = list.floats("source", (0..n).map(|_| 0.0));
        let buffers = list.allocate(&rig);
        let before = rig.context.stats();
        let increment = |buffer, step| {
            Submit::new("access/increment", Size::Items([n, 1, 1]))
                .read_write(0, buffer)
                .push(n)
                .push_f32(step)
        };
        let submit = |submit: Submit| {
            let kernel = submit.kernel(&rig);
            rig.queue.submit(|h| submit.record(&kernel, &buffers, h)).unwrap()
        };
        let fusion = FusionWrapper::new(&rig.queue).unwrap();

        if start == 0 {
            fusion.start_fusion().unwrap();
        }
        let filled = submit(increment(target, 10.0));
        submit(increment(source, 5.0));
        assert_eq!(fusion.is_in_fusion_mode(), start == 0);
        if start == 1 {
            fusion.start_fusion().unwrap();
        }
        let half = n as usize / 2;
        rig.queue.copy(buffers[1].read().range(0, half), buffers[0].write().range(0, half)).unwrap();
        // In the first round the copy touches what listed kernels write: their list has ended.
        assert_eq!(fusion.is_in_fusion_mode(), start == 1);
        if start == 2 {
            fusion.start_fusion().unwrap();
        }
        submit(increment(target, 0.25));
        submit(increment(target, 0.75));
        let complete = fusion.complete_fusion(&FusionProperties::default()).unwrap();
        rig.queue.wait().unwrap();

        let dispatches = (rig.context.stats() - before).dispatches;
        if start == 0 {
            assert_eq!(filled.outcome(), Outcome::Cancelled { by: CancelCause::Command });
            assert_eq!(complete.outcome(), filled.outcome());
            assert_eq!(dispatches, 4);
        } else {
            assert_eq!(complete.outcome(), Outcome::Fused);
            assert_eq!(dispatches, 3, "two to fill, one fused");
        }
        let result = buffers[0].download().unwrap();
        for (i, value) in result.into_iter().map(f32::from_bits).enumerate() {
            assert_eq!(value, if i < half { 6.0 } else { 11.0 }, "round {start}, element {i}");
        }
    }
    rig.assert_no_validation_messages();
}

/// Copies, fills and updates are never listed: they run at once, and the list stays fusable unless they touch it.
#[test]
fn non_kernel_cg() {
    let rig = rig!();
    let pair = Pair::new(512);
    let data: Vec<u32> = (0..64).collect();
    let other = rig.context.buffer_from(&data).unwrap();
    let target = rig.context.buffer::<u32>(64).unwrap();

    // On buffers of their own, in the middle of a list.
    let (before, buffers) = (rig.context.stats(), pair.workload.allocate(&rig));
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    pair.workload.submit_all(&rig, &buffers);
    rig.queue.copy(&other, &target).unwrap();
    assert!(fusion.is_in_fusion_mode());
    assert_eq!(target.download().unwrap(), data);
    rig.queue.fill(&target, 7_u32).unwrap();
    assert_eq!(target.download().unwrap(), [7; 64]);
    rig.queue.update(&target, &data).unwrap();
    assert_eq!(target.download().unwrap(), data);
    assert!(fusion.is_in_fusion_mode());
    assert_eq!((rig.context.stats() - before).dispatches, 0, "the list is still a list");
    let complete = fusion.complete_fusion(&FusionProperties::default()).unwrap();
    complete.wait().unwrap();
    assert_eq!(complete.outcome(), Outcome::Fused);
    assert_out(&buffers[4].download().unwrap());

    // On a buffer that a listed kernel writes: the list ends first, and its results are what the command sees.
    for command in 0..3 {
        let buffers = pair.workload.allocate(&rig);
        let copied = rig.context.buffer::<u32>(512).unwrap();
        fusion.start_fusion().unwrap();
        let events = pair.workload.submit_all(&rig, &buffers);
        match command {
            0 => rig.queue.copy(&buffers[4], &copied).unwrap(),
            1 => rig.queue.fill(&buffers[4], 7_u32).unwrap(),
            _ => rig.queue.update(&buffers[4], &[9_u32; 512]).unwrap(),
        };
        assert!(!fusion.is_in_fusion_mode());
        assert_eq!(events[0].outcome(), Outcome::Cancelled { by: CancelCause::Command });
        rig.queue.wait().unwrap();
        match command {
            0 => assert_out(&copied.download().unwrap()),
            1 => assert_eq!(buffers[4].download().unwrap(), [7; 512]),
            _ => assert_eq!(buffers[4].download().unwrap(), [9; 512]),
        }
    }

    // Completing an empty list gives an event that is complete.
    fusion.start_fusion().unwrap();
    rig.queue.copy(&other, &target).unwrap();
    let nothing = fusion.complete_fusion(&FusionProperties::default()).unwrap();
    nothing.wait().unwrap();
    assert!(matches!(nothing.outcome(), Outcome::Refused { .. }), "{:?}", nothing.outcome());
    rig.assert_no_validation_messages();
}

/// A kernel whose work-groups speak to each other: what its last group writes, another group's item reads in the
/// next kernel, so that kernel is not fused with it.
#[test]
fn cooperative_kernel() {
    let rig = rig!();
    let (n, groups) = (64 * 50, 50);
    for _ in 0..3 {
        let mut list = Workload::default();
        let x = list.poisoned("x", n as usize);
        let partial = list.poisoned("partial", groups as usize);
        let done = list.words("done", [0]);
        let result = list.poisoned("result", 1);
        let twice = list.poisoned("twice", 1);
        list.submit(Submit::new("groups/iota", Size::Items([n, 1, 1])).write(0, x).push(n));
        list.submit(
            Submit::new("groups/reduce_last_group", Size::Groups([groups, 1, 1]))
                .read(0, x)
                .read_write(1, partial)
                .read_write(2, done)
                .write(3, result),
        );
        list.submit(
            Submit::new("pair/add", Size::Items([1, 1, 1]))
                .read(0, result)
                .read(1, result)
                .write(2, twice)
                .push(1),
        );
        let ran = list.check_equal(&rig);
        assert_eq!(ran.words(result), [n * (n - 1) / 2]);
        assert_eq!(ran.words(twice), [n * (n - 1)]);
        assert_eq!(ran.words(done), [groups]);
        ran.assert_ran(&Outcome::Split, 2);
        let report = ran.report();
        let after: Vec<usize> = report.plan.splits.iter().map(|split| split.after).collect();
        assert!(after.contains(&1), "it says where and why: {report:#?}");
    }
}

/// Submits the pair with the second kernel explicitly depending on the first one's event.
fn submit_dependent(rig: &Rig, pair: &Pair, buffers: &[vkfuse::Buffer<u32>]) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for submit in pair.workload.submits() {
        let kernel = submit.kernel(rig);
        let event = rig.queue.submit(|h| {
            if let Some(before) = events.last() {
                h.depends_on(before);
            }
            submit.record(&kernel, buffers, h);
        });
        events.push(event.unwrap());
    }
    events
}

/// Demands the pair's result.
fn assert_out(out: &[u32]) {
    for (i, &value) in out.iter().enumerate() {
        assert_eq!(value as usize, 20 * i * i, "out[{i}]");
    }
}
