//! Recorded graphs: one test per row of that part of the conformance table, named after the row.
//!
//! Their counterpart is the kept list: recorded and completed once, run again, and an element of other lists.

use crate::support::{Rig, poison};
use vkfuse::Promote::{self, Local, Private};
use vkfuse::{
    Accessor, Buffer, Error, Event, FusedList, FusionProperties, FusionWrapper, Internalization, Outcome,
    Policy, Reason,
};

const N: u32 = 512;
const IN1: usize = 0;
const TMP: usize = 3;
const OUT: usize = 4;

/// `in1 = 2i, in2 = 3i, in3 = 4i`, and `tmp` and `out` poisoned.
fn buffers(rig: &Rig, promote: Promote) -> [Buffer<u32>; 5] {
    let ints =
        |factor: u32| rig.context.buffer_from(&(0..N).map(|i| factor * i).collect::<Vec<_>>()).unwrap();
    let poisoned = || rig.context.buffer_from(&poison(N as usize)).unwrap();
    let tmp = match promote {
        Private => poisoned().promote_private(),
        Local => poisoned().promote_local(),
        _ => poisoned(),
    };
    [ints(2), ints(3), ints(4), tmp.named("tmp"), poisoned()]
}

fn as_asked(accessor: Accessor, promote: Promote) -> Accessor {
    match promote {
        Private => accessor.promote_private(),
        Local => accessor.promote_local(),
        _ => accessor,
    }
}

fn binary(rig: &Rig, kernel: &str, [x, y, z]: [Accessor; 3]) -> Result<Event, Error> {
    let kernel = rig.kernel(kernel);
    rig.queue.submit(|h| {
        h.arg(0, x).arg(1, y).arg(2, z);
        if kernel.specialized(&[])?.interface.push.is_some() {
            h.push(&N);
        }
        h.dispatch_items(&kernel, [N, 1, 1]);
        Ok(())
    })
}

/// `tmp = in1 + in2; out = tmp * in3`
fn pair(rig: &Rig, b: &[Buffer<u32>; 5], add: &str, promote: Promote) -> Result<(), Error> {
    binary(rig, add, [b[0].read(), b[1].read(), as_asked(b[TMP].write(), promote)])?;
    let mul = if add == "pair/add" { "pair/mul" } else { "pair/mul_grouped" };
    binary(rig, mul, [as_asked(b[TMP].read(), promote), b[2].read(), b[OUT].write()]).map(drop)
}

/// `x *= 2` in place.
fn double(rig: &Rig, x: &Buffer<u32>) -> Result<(), Error> {
    let kernel = rig.kernel("access/scale_in_place");
    let submitted = rig.queue.submit(|h| {
        h.arg(0, x.read_write()).push(&N).push(&2_u32).dispatch_items(&kernel, [N, 1, 1]);
    });
    submitted.map(drop)
}

/// Records, completes with fusion forced, and keeps.
fn keep(rig: &Rig, record: impl FnOnce() -> Result<(), Error>) -> (Event, FusedList) {
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    record().unwrap();
    let (event, list) = fusion.complete_and_keep(&FusionProperties::new().force_fusion()).unwrap();
    assert_eq!(event.outcome(), Outcome::Fused);
    (event, list)
}

/// Runs something and says how many dispatches that took.
fn dispatches(rig: &Rig, run: impl FnOnce()) -> u64 {
    let before = rig.context.stats();
    run();
    rig.queue.wait().unwrap();
    (rig.context.stats() - before).dispatches
}

fn assert_out(b: &[Buffer<u32>; 5], factor: u32) {
    let expected: Vec<u32> = (0..N).map(|i| factor * i * i).collect();
    assert_eq!(b[OUT].download().unwrap(), expected);
}

/// Nothing was written to the temporary, and reading it is an error that names it.
fn assert_inside(b: &[Buffer<u32>; 5]) {
    assert_eq!(b[TMP].download_stale().unwrap(), poison(N as usize));
    assert!(b[TMP].download().unwrap_err().to_string().contains("`tmp`"));
}

#[test]
fn graph_fusion_buffer() {
    let rig = rig!();
    for promote in [Private, Local] {
        for [on_buffer, on_accessor] in [[promote, Promote::None], [Promote::None, promote], [promote; 2]] {
            let b = buffers(&rig, on_buffer);
            let add = if promote == Local { "pair/add_mirrored" } else { "pair/add" };
            let mut kept = None;
            let ran = dispatches(&rig, || kept = Some(keep(&rig, || pair(&rig, &b, add, on_accessor))));
            assert_eq!(ran, 1, "{on_buffer:?} {on_accessor:?}");
            assert_out(&b, 20);
            assert_inside(&b);
            let (_, list) = kept.unwrap();
            b[OUT].fill(0).unwrap();
            assert_eq!(dispatches(&rig, || assert_eq!(list.run().unwrap().outcome(), Outcome::Fused)), 1);
            assert_out(&b, 20);
        }
    }
    rig.assert_no_validation_messages();
}

#[test]
fn graph_fusion_buffer_mem_cmd_first() {
    let rig = rig!();
    let (b, source) = (buffers(&rig, Private), buffers(&rig, Promote::None));
    let (_, list) = keep(&rig, || pair(&rig, &b, "pair/add", Promote::None));
    b[IN1].fill(0).unwrap();
    let ran = dispatches(&rig, || {
        rig.queue.copy(&source[0], &b[0]).unwrap();
        rig.queue.copy(&source[1], &b[1]).unwrap();
        list.run().unwrap();
    });
    assert_eq!(ran, 1);
    assert_out(&b, 20);
    assert_inside(&b);
    rig.assert_no_validation_messages();
}

#[test]
fn graph_fusion_buffer_mem_cmd_last() {
    let rig = rig!();
    let (b, target) = (buffers(&rig, Private), buffers(&rig, Promote::None));
    let (_, list) = keep(&rig, || pair(&rig, &b, "pair/add", Promote::None));
    let ran = dispatches(&rig, || {
        list.run().unwrap();
        rig.queue.copy(&b[OUT], &target[OUT]).unwrap();
    });
    assert_eq!(ran, 1);
    assert_out(&target, 20);
    rig.assert_no_validation_messages();
}

/// Only one temporary of the diamond asks to stay inside; the others are written.
#[test]
fn graph_fusion_diamond_buffer_prop_accessors() {
    let rig = rig!();
    let b = buffers(&rig, Private);
    let [t2, t3] = [(); 2].map(|()| rig.context.buffer_from(&poison(N as usize)).unwrap());
    let scale = rig.kernel("pair/scale");
    let ran = dispatches(&rig, || {
        keep(&rig, || {
            binary(&rig, "pair/add", [b[0].read(), b[1].read(), b[TMP].write()])?;
            binary(&rig, "pair/mul", [b[TMP].read(), b[2].read(), t2.write()])?;
            rig.queue.submit(|h| {
                h.arg(0, b[TMP].read())
                    .arg(1, t3.write())
                    .push(&N)
                    .push(&5_u32)
                    .dispatch_items(&scale, [N, 1, 1]);
            })?;
            binary(&rig, "pair/add", [t2.read(), t3.read(), b[OUT].write()]).map(drop)
        });
    });
    assert_eq!(ran, 1);
    assert_eq!(b[OUT].download().unwrap(), (0..N).map(|i| 20 * i * i + 25 * i).collect::<Vec<_>>());
    assert_eq!(t2.download().unwrap(), (0..N).map(|i| 20 * i * i).collect::<Vec<_>>());
    assert_eq!(t3.download().unwrap(), (0..N).map(|i| 25 * i).collect::<Vec<_>>());
    assert_inside(&b);
    rig.assert_no_validation_messages();
}

#[test]
fn graph_work_group_barrier() {
    let rig = rig!();
    let b = buffers(&rig, Promote::None);
    let (event, list) = keep(&rig, || pair(&rig, &b, "pair/add_mirrored", Promote::None));
    let report = event.report().unwrap();
    assert!(report.plan.groups[0].barriers[0].kept, "{:#?}", report.plan);
    assert_out(&b, 20);
    b[OUT].fill(0).unwrap();
    assert_eq!(dispatches(&rig, || drop(list.run().unwrap())), 1);
    assert_out(&b, 20);
    rig.assert_no_validation_messages();
}

/// A kept list is the only element of another list.
#[test]
fn fused_subgraph() {
    let rig = rig!();
    let b = buffers(&rig, Private);
    let (_, list) = keep(&rig, || pair(&rig, &b, "pair/add", Promote::None));
    b[OUT].fill(0).unwrap();
    let ran = dispatches(&rig, || {
        let event = rig.queue.fuse(|_| list.run().map(drop)).unwrap();
        assert_eq!(event.outcome(), Outcome::Fused);
    });
    assert_eq!(ran, 1);
    assert_out(&b, 20);
    assert_inside(&b);
    rig.assert_no_validation_messages();
}

/// A kept list, and one more kernel after it.
#[test]
fn fused_subgraph_complex() {
    let rig = rig!();
    let b = buffers(&rig, Private);
    let (_, list) = keep(&rig, || pair(&rig, &b, "pair/add", Promote::None));
    let ran = dispatches(&rig, || {
        list.run().unwrap();
        double(&rig, &b[OUT]).unwrap();
    });
    assert_eq!(ran, 2);
    assert_out(&b, 40);
    assert_inside(&b);
    rig.assert_no_validation_messages();
}

/// What was fused can be fused again, with what comes after it.
#[test]
fn fused_subgraph_nested_fuse() {
    let rig = rig!();
    let b = buffers(&rig, Private);
    let (_, list) = keep(&rig, || pair(&rig, &b, "pair/add", Promote::None));
    let ran = dispatches(&rig, || {
        let (event, _) = keep(&rig, || list.run().and_then(|_| double(&rig, &b[OUT])));
        assert_eq!(event.report().unwrap().submissions, 3);
    });
    assert_eq!(ran, 1);
    assert_out(&b, 40);
    assert_inside(&b);
    rig.assert_no_validation_messages();
}

#[test]
fn fused_subgraph_with_non_kernel_cmds() {
    let rig = rig!();
    let (b, source) = (buffers(&rig, Private), buffers(&rig, Promote::None));
    let (_, list) = keep(&rig, || pair(&rig, &b, "pair/add", Promote::None));
    b[IN1].fill(0).unwrap();
    let ran = dispatches(&rig, || {
        rig.queue.copy(&source[0], &b[0]).unwrap();
        let event = rig.queue.fuse(|_| list.run().and_then(|_| double(&rig, &b[OUT]))).unwrap();
        assert_eq!(event.outcome(), Outcome::Fused);
    });
    assert_eq!(ran, 1);
    assert_out(&b, 40);
    rig.assert_no_validation_messages();
}

/// A temporary whose address someone was given stays in memory; anyone who trusts that no one uses it may have it inside.
fn usm_internalize(promote: Promote) {
    let rig = rig!();
    let b = buffers(&rig, promote);
    b[TMP].device_address().unwrap();
    let add = if promote == Local { "pair/add_mirrored" } else { "pair/add" };
    for policy in [Policy::Prove, Policy::Trust] {
        let ran = dispatches(&rig, || {
            let properties = FusionProperties::new().policy(policy);
            let event = rig.queue.fuse_with(&properties, |_| pair(&rig, &b, add, Promote::None)).unwrap();
            assert_eq!(event.outcome(), Outcome::Fused);
            let report = event.report().unwrap();
            let tmp = report.plan.buffers.iter().find(|buffer| buffer.buffer == b[TMP].id()).unwrap();
            let proving = policy == Policy::Prove;
            assert_eq!(tmp.got == Internalization::None, proving, "{tmp:?}");
            assert_eq!(tmp.reason == Some(Reason::Addressed), proving, "{tmp:?}");
        });
        assert_eq!(ran, 1);
        assert_out(&b, 20);
        assert_eq!(b[TMP].download().is_err(), policy == Policy::Trust);
    }
    rig.assert_no_validation_messages();
}

#[test]
fn usm_private_internalize() {
    usm_internalize(Private);
}

#[test]
fn usm_local_internalize() {
    usm_internalize(Local);
}

/// One kernel reaches the temporary by a pointer: the temporary is written, and only who trusts gets one kernel.
fn usm_mismatch(promote: Promote) {
    let rig = rig!();
    let b = buffers(&rig, promote);
    let addresses = rig.kernel("pair/addresses");
    for policy in [Policy::Prove, Policy::Trust] {
        let ran = dispatches(&rig, || {
            let event = rig.queue.fuse_with(&FusionProperties::new().policy(policy), |_| {
                pair(&rig, &b, "pair/add", Promote::None)?;
                let by_pointer = rig.queue.submit(|h| {
                    for buffer in [&b[TMP], &b[TMP], &b[OUT]] {
                        h.push(&buffer.device_address()?);
                    }
                    h.uses(b[TMP].read()).uses(b[OUT].write()).push(&N).dispatch_items(&addresses, [N, 1, 1]);
                    Ok(())
                });
                by_pointer.map(drop)
            });
            let event = event.unwrap();
            let report = event.report().unwrap();
            let fused = policy == Policy::Trust;
            assert_eq!(event.outcome(), if fused { Outcome::Fused } else { Outcome::Split });
            let reason = if fused { &report.plan.trusted[0].reason } else { &report.plan.splits[0].reason };
            assert_eq!(reason.to_string(), "it uses device addresses", "{:#?}", report.plan);
        });
        assert_eq!(ran, if policy == Policy::Trust { 1 } else { 2 });
        assert_eq!(b[TMP].download().unwrap(), (0..N).map(|i| 5 * i).collect::<Vec<_>>());
        assert_eq!(b[OUT].download().unwrap(), (0..N).map(|i| 10 * i).collect::<Vec<_>>());
    }
    rig.assert_no_validation_messages();
}

#[test]
fn usm_private_mismatch() {
    usm_mismatch(Private);
}

#[test]
fn usm_local_mismatch() {
    usm_mismatch(Local);
}
