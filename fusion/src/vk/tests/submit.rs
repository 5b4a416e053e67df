//! What is submitted runs, in the order that barriers and waits ask for.

use std::{thread, time::Duration};

use smallvec::{SmallVec, smallvec};

use super::*;
use crate::vk::{Barrier, Point};

fn chain_of_dispatches(plain: bool) {
    let Some(gpu) = open(plain) else { return };
    let pipeline = add_pipeline(&gpu);
    let source: Vec<u32> = (0..1000).collect();
    let a = memory_of(&gpu, &source);
    let (b, c) = (zeroed(&gpu, 1000), zeroed(&gpu, 1000));
    let before = gpu.stats();
    let queue = gpu.queue(0).unwrap();
    let submitted = queue
        .submit(
            &[
                Command::Dispatch(add(&pipeline, &a, &b, 5)),
                Command::Barrier(Barrier::ComputeToCompute),
                Command::Dispatch(add(&pipeline, &b, &c, 7)),
            ],
            &[],
            false,
        )
        .unwrap();
    let after = gpu.stats();
    assert!(gpu.wait(submitted.point, Some(Duration::from_secs(10))).unwrap());
    assert!(gpu.is_done(submitted.point));
    assert_eq!(queue.last(), submitted.point);
    let expected: Vec<u32> = source.iter().map(|v| v + 12).collect();
    assert_eq!(read(&gpu, &c, submitted.point), expected);
    assert_eq!(after.dispatches - before.dispatches, 2);
    assert_eq!(after.barriers - before.barriers, 1);
    assert_eq!(after.submits - before.submits, 1);
}

#[test]
fn a_chain_with_a_barrier_gives_the_right_sums() {
    chain_of_dispatches(false);
}

#[test]
fn the_same_without_push_descriptors_and_mapped_memory() {
    chain_of_dispatches(true);
}

#[test]
fn uniform_buffers_and_sets_with_a_gap_work() {
    for plain in [false, true] {
        let Some(gpu) = open(plain) else { return };
        let words = words(include_bytes!("../testdata/sets.spv"));
        let source = PipelineSource {
            words: &words,
            entry: c"main",
            bindings: &[
                (at(2, 5), BindingKind::Storage),
                (at(0, 3), BindingKind::Uniform),
                (at(2, 0), BindingKind::Storage),
            ],
            push_bytes: 0,
            push_buffer: 0,
            subgroups: true,
            lanes: None,
            statistics: false,
            blob: None,
        };
        let (pipeline, _) = gpu.pipeline(&source).unwrap();
        let params = memory_of(&gpu, &[3, 0, 0, 0]);
        let src = memory_of(&gpu, &(0..500).collect::<Vec<_>>());
        let dst = zeroed(&gpu, 500);
        // Twice in one submission, so that one frame needs more sets than one.
        let dispatch = Dispatch {
            pipeline,
            bindings: smallvec![whole(2, 5, &dst), whole(0, 3, &params), whole(2, 0, &src)],
            push: SmallVec::new(),
            groups: [8, 1, 1],
            keeps: smallvec![src.clone()],
        };
        let commands = [
            Command::Dispatch(dispatch.clone()),
            Command::Barrier(Barrier::ComputeToCompute),
            Command::Dispatch(dispatch),
        ];
        for _ in 0..3 {
            let point = gpu.queue(0).unwrap().submit(&commands, &[], false).unwrap().point;
            let expected: Vec<u32> = (0..500).map(|v| v * 3).collect();
            assert_eq!(read(&gpu, &dst, point), expected);
        }
    }
}

#[test]
fn an_offset_binding_touches_its_range_only() {
    let Some(gpu) = open(false) else { return };
    let pipeline = add_pipeline(&gpu);
    let align = gpu.caps().limits().storage_offset_align.max(4);
    let src = memory_of(&gpu, &[1; 64]);
    let dst = zeroed(&gpu, 64 + align as usize);
    let mut dispatch = add(&pipeline, &src, &src, 9);
    dispatch.bindings[1] =
        BoundMemory { at: at(0, 1), resource: Resource::Buffer(dst.clone()), offset: align, len: 64 };
    dispatch.push = push(&[16, 9]);
    let point = gpu.queue(0).unwrap().submit(&[Command::Dispatch(dispatch)], &[], false).unwrap().point;
    let got = read(&gpu, &dst, point);
    let start = align as usize / 4;
    assert!(got[..start].iter().all(|v| *v == 0));
    assert!(got[start..start + 16].iter().all(|v| *v == 10));
    assert!(got[start + 16..].iter().all(|v| *v == 0));
}

#[test]
fn transfers_and_their_barriers() {
    let Some(gpu) = open(false) else { return };
    let pipeline = add_pipeline(&gpu);
    let (a, b) = (zeroed(&gpu, 256), zeroed(&gpu, 256));
    let update: Arc<[u8]> = push(&[41, 42]).to_vec().into();
    let point = gpu
        .queue(0)
        .unwrap()
        .submit(
            &[
                Command::Fill { dst: a.clone(), offset: 0, len: 1024, word: 7 },
                Command::Barrier(Barrier::TransferToTransfer),
                Command::Update { dst: a.clone(), offset: 8, bytes: update },
                Command::Barrier(Barrier::TransferToCompute),
                Command::Dispatch(add(&pipeline, &a, &b, 1)),
                Command::Barrier(Barrier::ComputeToTransfer),
                Command::Copy { src: b.clone(), src_offset: 8, dst: a.clone(), dst_offset: 1000, len: 12 },
                Command::Copy { src: b.clone(), src_offset: 0, dst: a.clone(), dst_offset: 0, len: 0 },
            ],
            &[],
            false,
        )
        .unwrap()
        .point;
    let a = read(&gpu, &a, point);
    assert_eq!(&a[..5], &[7, 7, 41, 42, 7]);
    assert_eq!(&a[249..], &[7, 42, 43, 8, 7, 7, 7]);
}

#[test]
fn a_wait_on_the_same_queue_is_a_barrier() {
    let Some(gpu) = open(false) else { return };
    let pipeline = add_pipeline(&gpu);
    let memory: Vec<_> = (0..9).map(|_| zeroed(&gpu, 300)).collect();
    gpu.set_recording(true);
    let queue = gpu.queue(0).unwrap();
    let mut last = Point { queue: 0, value: 0 };
    for pair in memory.windows(2) {
        let dispatch = Command::Dispatch(add(&pipeline, &pair[0], &pair[1], 1));
        last = queue.submit(&[dispatch], &[last], false).unwrap().point;
    }
    assert_eq!(read(&gpu, &memory[8], last), vec![8; 300]);
    let recording = gpu.take_recording();
    let waits = |lines: &[String]| lines.iter().any(|line| line == "barrier Full (wait)");
    let shape: Vec<bool> = recording.iter().take(8).map(|(_, lines)| waits(lines)).collect();
    // The first waits for a point of value 0, which was always reached.
    assert_eq!(shape, [false, true, true, true, true, true, true, true]);
    assert!(recording.windows(2).all(|w| w[0].0.value < w[1].0.value));
}

#[test]
fn queues_wait_for_each_other() {
    let Some(gpu) = open(false) else { return };
    let pipeline = add_pipeline(&gpu);
    let memory: Vec<_> = (0..9).map(|_| zeroed(&gpu, 300)).collect();
    let mut last = None;
    for (at, pair) in memory.windows(2).enumerate() {
        let dispatch = Command::Dispatch(add(&pipeline, &pair[0], &pair[1], 1));
        let waits: Vec<Point> = last.into_iter().collect();
        last = Some(gpu.queue(at).unwrap().submit(&[dispatch], &waits, false).unwrap().point);
    }
    assert_eq!(read(&gpu, &memory[8], last.unwrap()), vec![8; 300]);
}

#[test]
fn many_threads_submit_to_one_queue() {
    let Some(gpu) = open(false) else { return };
    let pipeline = add_pipeline(&gpu);
    thread::scope(|scope| {
        for t in 0..4_u32 {
            let (gpu, pipeline) = (&*gpu, &pipeline);
            scope.spawn(move || {
                let (a, b) = (memory_of(gpu, &[t; 128]), zeroed(gpu, 128));
                for round in 0..100_u32 {
                    let dispatch = Command::Dispatch(add(pipeline, &a, &b, round));
                    let full = Command::Barrier(Barrier::Full);
                    let point =
                        gpu.queue(0).unwrap().submit(&[full, dispatch], &[], round % 7 == 0).unwrap().point;
                    if round % 10 == 9 {
                        assert_eq!(read(gpu, &b, point), vec![t + round; 128]);
                    }
                }
            });
        }
    });
    gpu.wait_idle().unwrap();
}

#[test]
fn what_is_dropped_while_pending_lives_until_it_is_done() {
    let Some(gpu) = open(false) else { return };
    let queue = gpu.queue(0).unwrap();
    let point = {
        let (pipeline, data) = (busy_pipeline(&gpu), zeroed(&gpu, 64));
        queue.submit(&[busy(&pipeline, &data, 60_000)], &[], false).unwrap().point
    };
    gpu.wait(point, None).unwrap();
    assert!(gpu.is_done(point));
}

#[test]
fn a_context_dropped_with_work_pending_waits_for_it() {
    let Some(gpu) = open(false) else { return };
    let (pipeline, data) = (busy_pipeline(&gpu), zeroed(&gpu, 64));
    gpu.queue(0).unwrap().submit(&[busy(&pipeline, &data, 60_000)], &[], false).unwrap();
    drop((pipeline, data));
    drop(gpu);
}

#[test]
fn a_wait_can_time_out_and_be_repeated() {
    let Some(gpu) = open(false) else { return };
    let (pipeline, data) = (busy_pipeline(&gpu), zeroed(&gpu, 64));
    let rounds = 60_000;
    let point = gpu.queue(0).unwrap().submit(&[busy(&pipeline, &data, rounds)], &[], false).unwrap().point;
    assert!(!gpu.wait(point, Some(Duration::ZERO)).unwrap());
    assert!(!gpu.wait(point, Some(Duration::from_millis(1))).unwrap());
    assert!(!gpu.is_done(point));
    assert!(gpu.wait(point, None).unwrap());
    assert_eq!(read(&gpu, &data, point), vec![4 * rounds; 64]);
}

#[test]
fn frames_are_used_again() {
    let Some(gpu) = open(false) else { return };
    let pipeline = add_pipeline(&gpu);
    let (a, b) = (zeroed(&gpu, 64), zeroed(&gpu, 64));
    let queue = gpu.queue(0).unwrap();
    for _ in 0..3000 {
        let full = Command::Barrier(Barrier::Full);
        queue.submit(&[full, Command::Dispatch(add(&pipeline, &a, &b, 1))], &[], false).unwrap();
    }
    gpu.wait_idle().unwrap();
    assert_eq!(Arc::strong_count(&a), 1, "retired frames keep nothing");
    assert_eq!(Arc::strong_count(&pipeline), 1);
}
