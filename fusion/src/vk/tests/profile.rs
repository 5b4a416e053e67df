//! Times of submissions.

use super::*;

#[test]
fn longer_work_takes_longer() {
    let Some(gpu) = open(false) else { return };
    if gpu.caps().timestamp_period == 0.0 {
        println!("skipped: the queue has no timestamps");
        return;
    }
    let (pipeline, data) = (busy_pipeline(&gpu), zeroed(&gpu, 64));
    let time = |rounds| {
        let submitted = gpu.queue(0).unwrap().submit(&[busy(&pipeline, &data, rounds)], &[], true).unwrap();
        let profile = submitted.profile.unwrap();
        gpu.wait(submitted.point, None).unwrap();
        profile.gpu_time().expect("known once the wait is over")
    };
    // The first run on a device may be slow for other reasons.
    time(1);
    let (short, long) = (time(1), time(60_000));
    assert!(long > short, "{short:?} {long:?}");
}

#[test]
fn nobody_pays_for_a_profile_not_asked_for() {
    let Some(gpu) = open(false) else { return };
    assert!(gpu.queue(0).unwrap().submit(&[], &[], false).unwrap().profile.is_none());
}
