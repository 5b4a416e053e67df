//! A lost device: every waiter gets an error, nothing hangs, nothing in use is freed.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::*;

#[test]
fn waiters_get_an_error_at_once() {
    let Some(gpu) = open(false) else { return };
    let (pipeline, data) = (busy_pipeline(&gpu), zeroed(&gpu, 64));
    let point = gpu.queue(0).unwrap().submit(&[busy(&pipeline, &data, 60_000)], &[], false).unwrap().point;
    let started = Instant::now();
    thread::scope(|scope| {
        let waiters: Vec<_> = (0..3).map(|_| scope.spawn(|| gpu.wait(point, None))).collect();
        thread::sleep(Duration::from_millis(5));
        gpu.inject_loss();
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap(), Err(DeviceError::Lost));
        }
    });
    assert!(started.elapsed() < Duration::from_secs(5));
    assert!(gpu.is_lost());
    assert!(!gpu.is_done(point));
}

#[test]
fn what_was_pending_is_kept_and_nothing_more_is_taken() {
    let Some(gpu) = open(false) else { return };
    let (pipeline, data) = (busy_pipeline(&gpu), zeroed(&gpu, 64));
    let queue = gpu.queue(0).unwrap();
    let done = queue.submit(&[], &[], false).unwrap().point;
    gpu.wait(done, None).unwrap();
    let point = queue.submit(&[busy(&pipeline, &data, 60_000)], &[], false).unwrap().point;
    gpu.inject_loss();
    assert!(Arc::strong_count(&data) > 1, "kept by the submission");
    let stats = gpu.stats();
    assert_eq!(queue.submit(&[], &[], false).unwrap_err(), DeviceError::Lost);
    assert_eq!(queue.upload(&data, 0, &[0; 4], &[]).unwrap_err().error, DeviceError::Lost);
    assert_eq!(queue.download(&data, 0, &mut [0; 4], &[]).unwrap_err(), DeviceError::Lost);
    assert_eq!(gpu.wait_idle().unwrap_err(), DeviceError::Lost);
    assert_eq!(gpu.wait(point, Some(Duration::ZERO)).unwrap_err(), DeviceError::Lost);
    assert_eq!(gpu.wait(done, None), Ok(true), "what was seen complete stays so");
    let words = add_words();
    let source = PipelineSource {
        words: &words,
        entry: c"main",
        bindings: &ADD_BINDINGS,
        push_bytes: 8,
        push_buffer: 0,
        subgroups: false,
        lanes: None,
        statistics: false,
        blob: None,
    };
    assert_eq!(gpu.pipeline(&source).unwrap_err(), DeviceError::Lost);
    assert_eq!(gpu.stats(), stats);
    assert!(Arc::strong_count(&data) > 1, "still kept");
}
