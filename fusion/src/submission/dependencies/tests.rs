//! The dependency graph by itself: which barriers and waits follow from which accesses.

use std::ops::Range;

use super::*;
use crate::{jit::BufferId, submission::identity::SharedMemory};

fn memory(number: u64) -> MemoryId {
    MemoryId::of_plan(BufferId(number))
}

fn read(number: u64, range: Range<u64>) -> Touch {
    Touch { memory: memory(number), span: range.into(), reads: true, writes: false }
}

fn write(number: u64, range: Range<u64>) -> Touch {
    Touch { memory: memory(number), span: range.into(), reads: false, writes: true }
}

/// Submits one piece of work and returns what it needed.
fn submit(deps: &mut Dependencies, lane: u32, value: u64, stage: Stage, touches: &[Touch]) -> Needs {
    let mut batch = deps.begin(lane);
    let needs = deps.add(&mut batch, &Arc::from("work"), stage, touches);
    deps.commit(&batch, Point { queue: lane, value });
    needs
}

#[test]
fn reads_need_nothing() {
    let mut deps = Dependencies::default();
    for value in 1..5 {
        let needs = submit(&mut deps, 0, value, Stage::Compute, &[read(1, 0..16)]);
        assert_eq!(needs.barrier, None);
        assert!(needs.waits.is_empty());
    }
}

#[test]
fn disjoint_ranges_need_nothing() {
    let mut deps = Dependencies::default();
    submit(&mut deps, 0, 1, Stage::Compute, &[write(1, 0..16)]);
    let needs = submit(&mut deps, 0, 2, Stage::Compute, &[write(1, 16..32), read(2, 0..16)]);
    assert_eq!(needs.barrier, None);
}

#[test]
fn every_hazard_needs_a_barrier() {
    for (first, second) in [
        (write(1, 0..16), read(1, 8..24)),
        (read(1, 0..16), write(1, 0..16)),
        (write(1, 0..16), write(1, 15..16)),
    ] {
        let mut deps = Dependencies::default();
        submit(&mut deps, 0, 1, Stage::Compute, &[first]);
        let needs = submit(&mut deps, 0, 2, Stage::Compute, &[second]);
        assert_eq!(needs.barrier, Some(Barrier::ComputeToCompute));
    }
}

#[test]
fn one_barrier_orders_everything_before_it() {
    let mut deps = Dependencies::default();
    submit(&mut deps, 0, 1, Stage::Compute, &[write(1, 0..16)]);
    submit(&mut deps, 0, 2, Stage::Compute, &[write(2, 0..16)]);
    assert!(submit(&mut deps, 0, 3, Stage::Compute, &[read(1, 0..16)]).barrier.is_some());
    assert_eq!(submit(&mut deps, 0, 4, Stage::Compute, &[read(2, 0..16)]).barrier, None);
}

#[test]
fn a_barrier_for_copies_does_not_order_kernels() {
    let mut deps = Dependencies::default();
    submit(&mut deps, 0, 1, Stage::Compute, &[write(1, 0..16)]);
    let copy = submit(&mut deps, 0, 2, Stage::Transfer, &[read(1, 0..16), write(2, 0..16)]);
    assert_eq!(copy.barrier, Some(Barrier::ComputeToTransfer));
    let kernel = submit(&mut deps, 0, 3, Stage::Compute, &[read(1, 0..16)]);
    assert_eq!(kernel.barrier, Some(Barrier::ComputeToCompute));
    let both = submit(&mut deps, 0, 4, Stage::Compute, &[read(2, 0..16), write(1, 0..16)]);
    assert_eq!(both.barrier, Some(Barrier::Full));
}

#[test]
fn another_queue_waits_instead() {
    let mut deps = Dependencies::default();
    submit(&mut deps, 0, 7, Stage::Compute, &[write(1, 0..16)]);
    let needs = submit(&mut deps, 1, 1, Stage::Compute, &[read(1, 0..16)]);
    assert_eq!(needs.barrier, None);
    assert_eq!(needs.waits.as_slice(), [Point { queue: 0, value: 7 }]);
}

#[test]
fn a_covering_write_stands_for_what_it_covers() {
    let mut deps = Dependencies::default();
    submit(&mut deps, 0, 1, Stage::Compute, &[write(1, 0..16)]);
    submit(&mut deps, 1, 1, Stage::Compute, &[write(1, 0..32)]);
    let needs = submit(&mut deps, 2, 1, Stage::Compute, &[read(1, 0..16)]);
    assert_eq!(needs.waits.as_slice(), [Point { queue: 1, value: 1 }], "that one waited for the first");
}

#[test]
fn a_partial_write_leaves_the_rest_in_force() {
    let mut deps = Dependencies::default();
    submit(&mut deps, 0, 1, Stage::Compute, &[write(1, 0..32)]);
    submit(&mut deps, 1, 1, Stage::Compute, &[write(1, 0..16)]);
    let needs = submit(&mut deps, 2, 1, Stage::Compute, &[read(1, 0..32)]);
    assert_eq!(needs.waits.len(), 2);
}

#[test]
fn what_is_done_is_forgotten() {
    let mut deps = Dependencies::default();
    submit(&mut deps, 0, 1, Stage::Compute, &[write(1, 0..16)]);
    submit(&mut deps, 0, 2, Stage::Compute, &[write(2, 0..16)]);
    deps.seen(0, 1);
    deps.sweep();
    assert_eq!(deps.works.iter().count(), 1);
    assert_eq!(submit(&mut deps, 0, 3, Stage::Compute, &[read(1, 0..16)]).barrier, None);
    deps.seen(0, 3);
    deps.sweep();
    assert!(deps.live.iter().next().is_none());
    assert_eq!(deps.works.iter().count(), 0);
}

#[test]
fn what_failed_never_was() {
    let mut deps = Dependencies::default();
    submit(&mut deps, 0, 1, Stage::Compute, &[write(1, 0..16)]);
    let mut batch = deps.begin(0);
    assert!(deps.add(&mut batch, &Arc::from("lost"), Stage::Compute, &[write(1, 0..16)]).barrier.is_some());
    deps.roll_back(&batch);
    let needs = submit(&mut deps, 0, 2, Stage::Compute, &[read(1, 0..16)]);
    assert_eq!(needs.barrier, Some(Barrier::ComputeToCompute), "the first write is still unordered");
}

#[test]
fn the_table_stays_small() {
    let mut deps = Dependencies::default();
    for value in 1..1000 {
        submit(&mut deps, 0, value, Stage::Compute, &[read(1, 0..16), write(2, 0..16)]);
    }
    assert!(deps.live.iter().map(|(_, all)| all.len()).sum::<usize>() <= 2);
}

#[test]
fn host_access_waits_for_the_latest_of_each_queue() {
    let mut deps = Dependencies::default();
    submit(&mut deps, 0, 1, Stage::Compute, &[write(1, 0..8)]);
    submit(&mut deps, 0, 2, Stage::Compute, &[write(1, 8..16)]);
    submit(&mut deps, 1, 5, Stage::Compute, &[read(1, 0..4)]);
    assert_eq!(deps.conflicts(&read(1, 0..16)).as_slice(), [Point { queue: 0, value: 2 }]);
    let mut points = deps.conflicts(&write(1, 0..16));
    points.sort();
    assert_eq!(points.as_slice(), [Point { queue: 0, value: 2 }, Point { queue: 1, value: 5 }]);
}

#[test]
fn dot_names_work_and_hazard() {
    let mut deps = Dependencies::default();
    submit(&mut deps, 0, 1, Stage::Compute, &[write(1, 0..16)]);
    submit(&mut deps, 0, 2, Stage::Compute, &[read(1, 0..16)]);
    let dot = deps.dot();
    assert!(dot.contains("read after write") && dot.contains("work"), "{dot}");
}

#[test]
fn dot_goes_by_no_order_of_a_map() {
    let dot = || {
        let mut deps = Dependencies::default();
        let writes: Vec<_> = (0..64).map(|number| write(number, 0..16)).collect();
        for (value, touch) in (1..).zip(&writes) {
            submit(&mut deps, 0, value, Stage::Compute, std::slice::from_ref(touch));
        }
        let reads: Vec<_> = (0..64).map(|number| read(number, 0..16)).collect();
        submit(&mut deps, 0, 65, Stage::Compute, &reads);
        deps.dot()
    };
    assert_eq!(dot(), dot());
}

#[test]
fn what_is_repeated_keeps_its_place() {
    let mut deps = Dependencies::default();
    let touches = [read(1, 0..16), write(2, 0..16)];
    let mut batch = deps.begin(0);
    deps.add(&mut batch, &Arc::from("work"), Stage::Compute, &touches);
    let mark = deps.commit_repeatable(&batch, Point { queue: 0, value: 1 }, false).unwrap();
    assert_eq!(deps.repeat(mark, 0), Some(true));
    assert_eq!(deps.repeat(mark, 1), None, "on another queue it is something else");
    submit(&mut deps, 1, 1, Stage::Compute, &[write(3, 0..16), read(2, 16..32)]);
    assert_eq!(deps.repeat(mark, 0), Some(true), "others have nothing to do with it");
    deps.repeated(mark, Point { queue: 0, value: 2 }, true);
    // Everybody now waits for the second run.
    assert_eq!(deps.conflicts(&read(2, 0..4)).as_slice(), [Point { queue: 0, value: 2 }]);
    let needs = submit(&mut deps, 1, 2, Stage::Compute, &[write(1, 0..16)]);
    assert_eq!(needs.waits.as_slice(), [Point { queue: 0, value: 2 }]);
    assert_eq!(deps.repeat(mark, 0), None, "something came between");
}

/// A submission that reads one memory and writes another, and may be repeated.
fn repeatable(deps: &mut Dependencies, memory: MemoryId, waited: bool) -> Option<Mark> {
    let read = Touch { memory, ..read(1, 0..16) };
    let mut batch = deps.begin(0);
    deps.add(&mut batch, &Arc::from("work"), Stage::Compute, &[read, write(2, 0..16)]);
    deps.commit_repeatable(&batch, Point { queue: 0, value: 1 }, waited)
}

#[test]
fn what_is_out_of_force_is_not_repeated() {
    let id = read(1, 0..1).memory;
    assert_eq!(repeatable(&mut Dependencies::default(), id, true), None, "it would have to wait again");
    for touch in [write(1, 8..9), read(2, 3..4), write(2, 0..16)] {
        let mut deps = Dependencies::default();
        let mark = repeatable(&mut deps, id, false).unwrap();
        submit(&mut deps, 0, 2, Stage::Compute, &[touch]);
        assert_eq!(deps.repeat(mark, 0), None, "{touch:?}");
    }
    let mut deps = Dependencies::default();
    let mark = repeatable(&mut deps, id, false).unwrap();
    deps.seen(0, 1);
    assert_eq!(deps.repeat(mark, 0), Some(false));
    deps.sweep();
    assert_eq!(deps.repeat(mark, 0), None);
    submit(&mut deps, 0, 2, Stage::Compute, &[write(7, 0..1)]);
    assert_eq!(deps.repeat(mark, 0), None, "another has its place now");
    // Nor is what something else has taken the place of.
    let mut deps = Dependencies::default();
    let mark = repeatable(&mut deps, id, false).unwrap();
    let mut batch = deps.begin(0);
    deps.add(&mut batch, &Arc::from("work"), Stage::Compute, &[read(1, 0..16)]);
    deps.repeat_no_more(Some(mark));
    let next = deps.commit_repeatable(&batch, Point { queue: 0, value: 2 }, false).unwrap();
    assert_eq!((deps.repeat(mark, 0), deps.repeat(next, 0)), (None, Some(true)));
    // What is known of a memory ends with the next write, which has to be looked at.
    let mut deps = Dependencies::default();
    let memory = SharedMemory::new();
    let mark = repeatable(&mut deps, memory.id, false).unwrap();
    deps.know(&memory, 0, &[1, 2]);
    assert_eq!(deps.repeat(mark, 0), None);
}

#[test]
fn what_is_done_orders_nothing_and_goes_with_the_next_access() {
    let mut deps = Dependencies::default();
    submit(&mut deps, 0, 1, Stage::Compute, &[write(1, 0..16)]);
    submit(&mut deps, 0, 2, Stage::Compute, &[write(1, 16..32)]);
    deps.seen(0, 2);
    let needs = submit(&mut deps, 1, 1, Stage::Compute, &[read(1, 0..32)]);
    assert!(needs.waits.is_empty());
    assert_eq!(deps.works.iter().count(), 1, "a read stands for no write, but those are complete");
}

#[test]
fn what_is_repeated_needs_its_barrier_until_it_is_complete() {
    let mut deps = Dependencies::default();
    let mut batch = deps.begin(0);
    deps.add(&mut batch, &Arc::from("work"), Stage::Compute, &[write(2, 0..16)]);
    let mark = deps.commit_repeatable(&batch, Point { queue: 0, value: 1 }, false).unwrap();
    deps.repeated(mark, Point { queue: 0, value: 2 }, true);
    deps.seen(0, 1);
    assert_eq!(deps.repeat(mark, 0), Some(true));
    deps.seen(0, 2);
    assert_eq!(deps.repeat(mark, 0), Some(false));
    deps.repeated(mark, Point { queue: 0, value: 3 }, false);
    // No barrier was recorded before the third run, so it needs one after it.
    let needs = submit(&mut deps, 0, 4, Stage::Compute, &[read(2, 0..16)]);
    assert_eq!(needs.barrier, Some(Barrier::ComputeToCompute));
}

#[test]
fn dispatches_of_one_submission_see_each_other() {
    let mut deps = Dependencies::default();
    let mut batch = deps.begin(0);
    let label: Arc<str> = Arc::from("work");
    assert_eq!(deps.add(&mut batch, &label, Stage::Compute, &[write(1, 0..16)]).barrier, None);
    let second = deps.add(&mut batch, &label, Stage::Compute, &[read(1, 8..9), write(2, 0..4)]);
    assert_eq!(second.barrier, Some(Barrier::ComputeToCompute));
    assert_eq!(deps.add(&mut batch, &label, Stage::Compute, &[read(1, 0..4)]).barrier, None);
    deps.commit(&batch, Point { queue: 0, value: 1 });
    assert_eq!(deps.conflicts(&write(1, 0..16)).as_slice(), [Point { queue: 0, value: 1 }]);
}

#[test]
fn what_several_read_and_repeat_stays_in_force() {
    let mut deps = Dependencies::default();
    let mut marks = Vec::new();
    for value in 1..5 {
        let touches = [read(1, 0..16), write(1 + value, 0..16)];
        let mut batch = deps.begin(0);
        deps.add(&mut batch, &Arc::from("work"), Stage::Compute, &touches);
        let point = Point { queue: 0, value };
        marks.push(deps.commit_repeatable(&batch, point, false).unwrap());
        deps.seen(0, value);
    }
    assert!(marks.iter().all(|mark| deps.repeat(*mark, 0) == Some(false)));
    deps.repeated(marks[1], Point { queue: 0, value: 9 }, false);
    assert_eq!(deps.conflicts(&write(1, 0..4)).as_slice(), [Point { queue: 0, value: 9 }]);
    submit(&mut deps, 0, 10, Stage::Compute, &[write(1, 3..4)]);
    assert!(marks.iter().all(|mark| deps.repeat(*mark, 0).is_none()), "they come after the write now");
    // Those that are never repeated again do not stay for ever.
    for value in 11..200 {
        let mut batch = deps.begin(0);
        deps.add(&mut batch, &Arc::from("work"), Stage::Compute, &[read(1, 0..16)]);
        deps.commit_repeatable(&batch, Point { queue: 0, value }, false);
        deps.seen(0, value);
    }
    assert!(deps.works.iter().count() <= CROWD + 2);
}

#[test]
fn what_is_swept_between_a_look_and_a_commit_loses_its_place_and_nothing_else() {
    let mut deps = Dependencies::default();
    let mut batch = deps.begin(0);
    deps.add(&mut batch, &Arc::from("late"), Stage::Compute, &[write(1, 0..16), read(2, 0..16)]);
    // Another one takes the place.
    deps.sweep();
    submit(&mut deps, 0, 1, Stage::Compute, &[write(3, 0..16)]);
    deps.commit(&batch, Point { queue: 0, value: 2 });
    let values = [write(1, 0..4), write(2, 0..4), write(3, 0..4)]
        .map(|touch| deps.conflicts(&touch).iter().map(|point| point.value).collect::<Vec<_>>());
    assert_eq!(values, [[2], [2], [1]]);
}
