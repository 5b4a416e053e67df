//! What was recorded of a template is submitted again on other memories.

use std::thread;

use super::*;
use crate::vk::{Barrier, CommandTemplate, Played, Point, Pushes, Resources};

const N: usize = 256;

/// Rounds of busy kernels that take long.
const LONG: u32 = 60_000;

/// A device that can do it, or that it is skipped here.
fn can(gpu: &Gpu) -> bool {
    let can = gpu.0.rewritable.takes(&ADD_BINDINGS);
    if !can {
        eprintln!("SKIPPED: no descriptors that are updated after they were bound");
    }
    can
}

fn template(
    gpu: &Gpu,
    dispatches: &[(Option<Barrier>, Dispatch)],
    on: &[&Arc<Memory>],
) -> Arc<CommandTemplate> {
    let number = |resource: &Resource| match resource {
        Resource::Buffer(memory) => on.iter().position(|one| one.id() == memory.id()),
        Resource::Texture(_) => None,
    };
    let dispatches = dispatches.iter().map(|(barrier, dispatch)| (*barrier, dispatch));
    Arc::new(gpu.template(dispatches, number).unwrap().expect("a template"))
}

/// `dst[i] = src[i] + k` on memories 0 and 1.
fn adds(gpu: &Gpu, pipeline: &Arc<Pipeline>, k: u32) -> Arc<CommandTemplate> {
    let (src, dst) = (zeroed(gpu, N), zeroed(gpu, N));
    template(gpu, &[(None, add(pipeline, &src, &dst, k))], &[&src, &dst])
}

/// Two in a row, over a temporary: `c[i] = a[i] + 3`.
fn adds_twice(gpu: &Gpu, pipeline: &Arc<Pipeline>) -> Arc<CommandTemplate> {
    let [a, b, c] = [(); 3].map(|()| zeroed(gpu, N));
    let dispatches =
        [(None, add(pipeline, &a, &b, 1)), (Some(Barrier::ComputeToCompute), add(pipeline, &b, &c, 2))];
    template(gpu, &dispatches, &[&a, &b, &c])
}

fn on(memories: &[&Arc<Memory>]) -> Resources {
    memories.iter().map(|memory| Resource::Buffer((*memory).clone())).collect()
}

fn run(
    gpu: &Gpu,
    (template, first, pushes): (&Arc<CommandTemplate>, Option<Barrier>, Option<&Pushes>),
    memories: &[&Arc<Memory>],
) -> Point {
    let played = Played { template, first, pushes };
    gpu.queue(0).unwrap().submit_template(played, &mut on(memories), &[], false).unwrap().point
}

/// Has everything that was submitted seen complete, and its frames idle.
fn settle(gpu: &Gpu) {
    gpu.wait_idle().unwrap();
    gpu.0.queues[0].collect(&gpu.0).unwrap();
}

fn recordings(gpu: &Gpu) -> u64 {
    gpu.stats().recordings
}

fn counting(from: u32) -> Vec<u32> {
    (from..from + N as u32).collect()
}

#[test]
fn a_script_is_recorded_once_for_other_memories() {
    let Some(gpu) = open(false) else { return };
    let pipeline = add_pipeline(&gpu);
    let template = adds_twice(&gpu, &pipeline);
    let before = gpu.stats();
    for round in 0..20 {
        // Gone before the next round, and perhaps at the same address.
        let (a, b, c) = (memory_of(&gpu, &counting(round)), zeroed(&gpu, N), zeroed(&gpu, N));
        settle(&gpu);
        let recorded = recordings(&gpu);
        let point = run(&gpu, (&template, None, None), &[&a, &b, &c]);
        if can(&gpu) {
            assert_eq!(recordings(&gpu) - recorded, u64::from(round == 0), "round {round}");
        }
        assert_eq!(read(&gpu, &c, point), counting(round + 3), "round {round}");
        settle(&gpu);
        assert_eq!(Arc::strong_count(&c), 1, "a retired frame keeps nothing");
    }
    let counted = gpu.stats().dispatches - before.dispatches;
    assert_eq!(counted, 40, "each submission counts its dispatches");
    assert_eq!(Arc::strong_count(&template), 1);
}

#[test]
fn pending_runs_have_sets_of_their_own() {
    let Some(gpu) = open(false) else { return };
    let (pipeline, busy_one) = (add_pipeline(&gpu), busy_pipeline(&gpu));
    let template = adds(&gpu, &pipeline, 5);
    let all: Vec<_> = (0..40).map(|at| (memory_of(&gpu, &counting(1000 * at)), zeroed(&gpu, N))).collect();
    let slow = zeroed(&gpu, 64);
    for round in 0..3 {
        settle(&gpu);
        let recorded = recordings(&gpu);
        // Nothing of what follows is done before this is.
        gpu.queue(0).unwrap().submit(&[busy(&busy_one, &slow, LONG)], &[], false).unwrap();
        let full = Some(Barrier::Full);
        let points: Vec<_> =
            all.iter().map(|(src, dst)| run(&gpu, (&template, full, None), &[src, dst])).collect();
        let last = *points.last().unwrap();
        assert!(recordings(&gpu) > recorded);
        for (at, (_, dst)) in (0..).zip(&all) {
            assert_eq!(read(&gpu, dst, last), counting(1000 * at + 5), "round {round}, {at}");
        }
        for (_, dst) in &all {
            let point = gpu.queue(0).unwrap().upload(dst, 0, &[0; 4 * N], &[]).unwrap();
            gpu.wait(point, None).unwrap();
        }
    }
}

#[test]
fn a_pending_recording_is_not_taken() {
    let Some(gpu) = open(false) else { return };
    let busy_one = busy_pipeline(&gpu);
    let memory = zeroed(&gpu, 64);
    let Command::Dispatch(dispatch) = busy(&busy_one, &memory, LONG) else { unreachable!() };
    let template = template(&gpu, &[(None, dispatch)], &[&memory]);
    let (first, second) = (zeroed(&gpu, 64), zeroed(&gpu, 64));
    settle(&gpu);
    let recorded = recordings(&gpu);
    run(&gpu, (&template, None, None), &[&first]);
    let point = run(&gpu, (&template, None, None), &[&second]);
    assert_eq!(recordings(&gpu) - recorded, 2, "the first was pending");
    for memory in [&first, &second] {
        assert_eq!(read(&gpu, memory, point), vec![4 * LONG; 64]);
    }
    if can(&gpu) {
        settle(&gpu);
        let recorded = recordings(&gpu);
        let point = run(&gpu, (&template, None, None), &[&second]);
        assert_eq!(read(&gpu, &second, point), vec![8 * LONG; 64]);
        assert_eq!(read(&gpu, &first, point), vec![4 * LONG; 64]);
        assert_eq!(recordings(&gpu) - recorded, 0);
    }
}

#[test]
fn what_differs_is_recorded_anew() {
    let Some(gpu) = open(false) else { return };
    if !can(&gpu) {
        return;
    }
    let pipeline = add_pipeline(&gpu);
    let (one, two) = (adds(&gpu, &pipeline, 1), adds(&gpu, &pipeline, 1));
    let passing = |k: u32| -> Pushes { smallvec![push(&[N as u32, k])] };
    let (seven, eight) = (passing(7), passing(8));
    let wanted: [(_, _, Option<&Pushes>, u32); 6] = [
        (&one, None, None, 1),
        (&two, None, None, 1),
        (&one, Some(Barrier::ComputeToCompute), None, 1),
        (&one, Some(Barrier::TransferToCompute), None, 1),
        (&one, None, Some(&seven), 7),
        (&one, None, Some(&eight), 8),
    ];
    let (src, others) = (memory_of(&gpu, &counting(0)), [zeroed(&gpu, N), zeroed(&gpu, N)]);
    for round in 0..2 {
        for (number, (template, first, pushes, k)) in wanted.iter().enumerate() {
            for run_of in 0..3 {
                settle(&gpu);
                let (recorded, dst) = (recordings(&gpu), &others[run_of % 2]);
                let point = run(&gpu, (template, *first, *pushes), &[&src, dst]);
                let recorded = recordings(&gpu) - recorded;
                // What is passed is recorded to stay when it comes again.
                let new = round == 0 && run_of <= usize::from(pushes.is_some());
                let may = round > 0 && run_of == 0 && pushes.is_some();
                assert!(recorded == u64::from(new) || may, "{number}, round {round}, run {run_of}");
                assert_eq!(read(&gpu, dst, point), counting(*k), "{number}, round {round}");
            }
        }
    }
    // The same bytes as the template's own are the same recording or another, and right.
    let point = run(&gpu, (&one, None, Some(&passing(1))), &[&src, &others[0]]);
    assert_eq!(read(&gpu, &others[0], point), counting(1));
    // What a test looks at is described, though it was recorded when no one looked.
    gpu.set_recording(true);
    for _ in 0..2 {
        settle(&gpu);
        gpu.take_recording();
        let point = run(&gpu, (&one, Some(Barrier::ComputeToCompute), None), &[&src, &others[0]]);
        let lines = gpu.take_recording().into_iter().find(|(its, _)| *its == point).unwrap().1;
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("ComputeToCompute") && lines[1].contains("dispatch"), "{lines:?}");
    }
    gpu.set_recording(false);
}

#[test]
fn more_lists_than_frames_stay_right_and_bounded() {
    let Some(gpu) = open(false) else { return };
    let pipeline = add_pipeline(&gpu);
    let live = || gpu.stats().live;
    for round in 0..3 {
        let templates: Vec<_> = (0..80).map(|k| adds(&gpu, &pipeline, k)).collect();
        let src = memory_of(&gpu, &counting(round));
        for (k, template) in (0..).zip(&templates) {
            let dst = zeroed(&gpu, N);
            let point = run(&gpu, (template, None, None), &[&src, &dst]);
            assert_eq!(read(&gpu, &dst, point), counting(round + k));
        }
        settle(&gpu);
        let [_, pipelines, frames] = live();
        assert!(frames <= 32, "{frames} frames");
        assert_eq!(pipelines, 1);
    }
    settle(&gpu);
    assert_eq!(Arc::strong_count(&pipeline), 1, "what is recorded keeps no pipeline");
}

#[test]
fn a_recording_outlives_its_pipeline_and_is_recorded_over() {
    let Some(gpu) = open(false) else { return };
    let (src, dst) = (memory_of(&gpu, &counting(0)), zeroed(&gpu, N));
    for k in 0..40 {
        let template = adds(&gpu, &add_pipeline(&gpu), k);
        let point = run(&gpu, (&template, None, None), &[&src, &dst]);
        assert_eq!(read(&gpu, &dst, point), counting(k));
        settle(&gpu);
        drop(template);
        assert_eq!(gpu.stats().live[1], 0, "pipelines");
    }
}

#[test]
fn many_threads_run_one_template() {
    let Some(gpu) = open(false) else { return };
    let pipeline = add_pipeline(&gpu);
    let template = adds(&gpu, &pipeline, 11);
    thread::scope(|scope| {
        for t in 0..4_u32 {
            let (gpu, template) = (&*gpu, &template);
            scope.spawn(move || {
                let src = memory_of(gpu, &counting(t));
                let all: Vec<_> = (0..50).map(|_| zeroed(gpu, N)).collect();
                let full = Some(Barrier::Full);
                let points: Vec<_> =
                    all.iter().map(|dst| run(gpu, (template, full, None), &[&src, dst])).collect();
                for (dst, point) in all.iter().zip(points) {
                    assert_eq!(read(gpu, dst, point), counting(t + 11));
                }
            });
        }
    });
}

#[test]
fn times_are_taken_of_what_is_submitted_again() {
    let Some(gpu) = open(false) else { return };
    let busy_one = busy_pipeline(&gpu);
    let memory = zeroed(&gpu, 64);
    let Command::Dispatch(dispatch) = busy(&busy_one, &memory, 20_000) else { unreachable!() };
    let template = template(&gpu, &[(None, dispatch)], &[&memory]);
    for _ in 0..3 {
        settle(&gpu);
        let played = Played { template: &template, first: None, pushes: None };
        let submitted =
            gpu.queue(0).unwrap().submit_template(played, &mut on(&[&memory]), &[], true).unwrap();
        gpu.wait(submitted.point, None).unwrap();
        assert!(submitted.profile.is_some() || gpu.caps().timestamp_period == 0.0);
    }
}

#[test]
fn a_lost_device_lets_go_of_what_was_recorded() {
    let Some(gpu) = open(false) else { return };
    let pipeline = add_pipeline(&gpu);
    let template = adds(&gpu, &pipeline, 1);
    let (src, dst) = (zeroed(&gpu, N), zeroed(&gpu, N));
    run(&gpu, (&template, None, None), &[&src, &dst]);
    settle(&gpu);
    run(&gpu, (&template, None, None), &[&src, &dst]);
    gpu.wait_idle().unwrap();
    gpu.inject_loss();
    let played = Played { template: &template, first: None, pushes: None };
    let lost = gpu.queue(0).unwrap().submit_template(played, &mut on(&[&src, &dst]), &[], false).unwrap_err();
    assert_eq!(lost, DeviceError::Lost);
}

#[test]
fn without_the_feature_it_is_recorded_each_time() {
    let Some(gpu) = open(true) else { return };
    let pipeline = add_pipeline(&gpu);
    assert!(!pipeline.is_rewritable());
    let template = adds(&gpu, &pipeline, 5);
    for round in 0..5 {
        let (src, dst) = (memory_of(&gpu, &counting(round)), zeroed(&gpu, N));
        settle(&gpu);
        let recorded = recordings(&gpu);
        let point = run(&gpu, (&template, None, None), &[&src, &dst]);
        assert_eq!(recordings(&gpu) - recorded, 1);
        assert_eq!(read(&gpu, &dst, point), counting(round + 5));
    }
}
