//! Fused code compared with the unfused before it is believed: by the interpreter, and on the device at its first run.

use crate::support::{self, Buf, Pair, Rig, Size, Submit, Workload};
use vkfuse::Promote::{self, Private};
use vkfuse::{
    CacheOptions, CheckedBy, ContextOptions, FusionError, FusionProperties, FusionWrapper, Outcome, Policy,
    Reason,
};

const N: u32 = 65_536;
const ITEMS: Size = Size::Items([N, 1, 1]);

fn trust() -> FusionProperties {
    FusionProperties::new().policy(Policy::Trust)
}

fn verify() -> FusionProperties {
    FusionProperties::new().verify_first_run(true)
}

/// What each item reads, an item of a far work-group writes: fused only on trust, and then wrong on every device that
/// begins with the first work-group.
fn wrong() -> (Workload, Buf) {
    let mut list = Workload::default();
    let x = list.floats("x", (0..N).map(|i| i as f32));
    let (tmp, out) = (list.poisoned("tmp", N as usize), list.poisoned("out", N as usize));
    list.submit(Submit::new("access/reverse", ITEMS).read(0, x).write(1, tmp).push(N));
    list.submit(Submit::new("chain/mul", ITEMS).read(0, tmp).read(1, x).write(2, out).push(N));
    (list, out)
}

fn assert_right(ran: &support::Ran, out: Buf) {
    for (i, &value) in ran.floats(out).iter().enumerate() {
        assert_eq!(value, (N as usize - 1 - i) as f32 * i as f32, "out[{i}]");
    }
}

fn rig_with(change: impl FnOnce(ContextOptions) -> ContextOptions) -> Option<Rig> {
    let options = ContextOptions::from_env().validation_layer(true).cache(CacheOptions::default().no_disk());
    Rig::with(change(options))
}

/// The first run is both, the second is fused alone; the bytes are the same, and what stays inside is as it was.
#[test]
fn a_right_list_is_verified_once() {
    let rig = rig!();
    for promote in [Promote::None, Private] {
        let mut pair = Pair::new(4096);
        pair.workload.promote(pair.tmp, promote);
        let before = rig.context.stats();
        let first = pair.workload.run_fused(&rig, &verify());
        assert_eq!(first.outcome(), Outcome::Fused);
        assert_eq!(first.stats.dispatches, 3, "fused once and each kernel once");
        pair.assert_out(&first);
        let checks = &first.report().checks;
        assert_eq!((checks[0].by, checks[0].agreed), (CheckedBy::Device, Some(true)), "{checks:?}");
        if promote == Private {
            // Written by the unfused run, and still not to be read: the second run will not write it.
            first.buffers[3].download().expect_err("it stayed inside");
        }
        let second = pair.workload.run_fused(&rig, &verify());
        second.assert_one_fused_group();
        pair.assert_out(&second);
        assert!(second.report().checks.is_empty());
        let stats = rig.context.stats() - before;
        assert_eq!((stats.verified, stats.verified_different, stats.not_verified), (1, 0, 0));
    }
    rig.assert_no_validation_messages();
}

/// What differs is not used again: not by this list, not by one that asks for no check, not by one that was kept.
#[test]
fn a_wrong_list_is_dropped() {
    let rig = rig!();
    let (list, out) = wrong();
    // Kept before anybody looked.
    let buffers = list.allocate(&rig);
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    list.submit_all(&rig, &buffers);
    let (event, kept) = fusion.complete_and_keep(&trust()).unwrap();
    event.wait().unwrap();
    assert_eq!(event.outcome(), Outcome::Fused);
    for _ in 0..3 {
        kept.run().unwrap().wait().unwrap();
    }

    let first = list.run_fused(&rig, &trust().verify_first_run(true));
    let Outcome::Refused { reason: Reason::Differs { what } } = first.outcome() else {
        panic!("{}", first.outcome())
    };
    assert!(what.contains("`out`"), "{what}");
    assert_eq!(first.report().checks[0].agreed, Some(false));
    assert_right(&first, out);
    for properties in [trust().verify_first_run(true), trust()] {
        let again = list.run_fused(&rig, &properties);
        assert!(matches!(again.outcome(), Outcome::Refused { reason: Reason::Differs { .. } }));
        assert_eq!(again.stats.dispatches, 2);
        assert_right(&again, out);
    }
    let event = kept.run().unwrap();
    event.wait().unwrap();
    assert!(matches!(event.outcome(), Outcome::Refused { reason: Reason::Differs { .. } }));
    assert_eq!(buffers[2].download().unwrap(), first.words(out));
    let stats = rig.context.stats();
    assert_eq!((stats.verified, stats.verified_different), (0, 1));
    rig.assert_no_validation_messages();
}

/// Forced fusion is an error then, and the list ran all the same.
#[test]
fn a_wrong_list_that_was_forced_is_an_error() {
    let rig = rig!();
    let (list, _) = wrong();
    let buffers = list.allocate(&rig);
    for _ in 0..2 {
        let fusion = FusionWrapper::new(&rig.queue).unwrap();
        fusion.start_fusion().unwrap();
        list.submit_all(&rig, &buffers);
        let error = fusion.complete_fusion(&trust().force_fusion().verify_first_run(true)).unwrap_err();
        let vkfuse::Error::Fusion(FusionError::Forced { reason: Reason::Differs { .. }, .. }) = error else {
            panic!("{error}")
        };
        rig.queue.wait().unwrap();
        let out: Vec<f32> = buffers[2].download().unwrap().into_iter().map(f32::from_bits).collect();
        assert_eq!(out[1], (N - 2) as f32);
    }
}

/// Kept lists and known ones: verified at the first run, remembered after the second.
#[test]
fn a_kept_list_is_verified_once() {
    let rig = rig!();
    let pair = Pair::new(1000);
    let buffers = pair.workload.allocate(&rig);
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    pair.workload.submit_all(&rig, &buffers);
    let (_, kept) = fusion.complete_and_keep(&verify()).unwrap();
    let before = rig.context.stats();
    for _ in 0..4 {
        assert_eq!(kept.run().unwrap().outcome(), Outcome::Fused);
    }
    rig.queue.wait().unwrap();
    let stats = rig.context.stats() - before;
    assert_eq!((stats.dispatches, stats.verified), (4, 0));
    assert!(stats.made_again > 0, "it is remembered");
    assert_eq!(buffers[4].download().unwrap()[3], 20 * 9);
    rig.assert_no_validation_messages();
}

/// In place, and from a part of a buffer on: both runs have to begin with the same contents.
#[test]
fn both_runs_begin_with_the_same_contents() {
    let rig = rig!();
    let mut list = Workload::default();
    let x = list.floats("x", (0..N).map(|i| i as f32));
    for step in [1.0, 2.0] {
        let half = Submit::new("access/increment", Size::Items([N / 2, 1, 1]));
        let half = half.read_write(0, x).range(N as usize / 2, N as usize / 2);
        list.submit(half.push(N / 2).push_f32(step));
    }
    let first = list.run_fused(&rig, &verify());
    assert_eq!(first.outcome(), Outcome::Fused);
    assert_eq!(first.report().checks[0].agreed, Some(true));
    for (i, &value) in first.floats(x).iter().enumerate() {
        let added = if i < N as usize / 2 { 0.0 } else { 3.0 };
        assert_eq!(value, i as f32 + added, "x[{i}]");
    }
    rig.assert_no_validation_messages();
}

/// The interpreter agrees with what is right, before it runs, and once for each code.
#[test]
fn translation_validation_agrees() {
    let Some(rig) = rig_with(|options| options.validate_code(true)) else { return };
    let mut pair = Pair::new(100_000);
    pair.workload.promote(pair.tmp, Private);
    for _ in 0..2 {
        let ran = pair.workload.check_fused(&rig);
        pair.assert_out(&ran);
        let report = ran.report();
        let check = &report.checks[0];
        assert_eq!((check.by, check.agreed), (CheckedBy::Interpreter, Some(true)), "{check:?}");
    }
    let stats = rig.context.stats();
    assert_eq!((stats.validated, stats.not_validated, stats.validated_different), (1, 0, 0));
}

/// What it finds wrong never reaches the device.
#[test]
fn translation_validation_drops_what_differs() {
    let Some(rig) = rig_with(|options| options.validate_code(true)) else { return };
    let (list, out) = wrong();
    for _ in 0..2 {
        let ran = list.run_fused(&rig, &trust());
        let Outcome::Refused { reason: Reason::Differs { what } } = ran.outcome() else {
            panic!("{}", ran.outcome())
        };
        assert!(what.contains("translation validation"), "{what}");
        assert_eq!(ran.stats.dispatches, 2);
        assert_right(&ran, out);
        assert_eq!(ran.report().checks[0].agreed, Some(false));
    }
    assert_eq!(rig.context.stats().validated_different, 1);
}
