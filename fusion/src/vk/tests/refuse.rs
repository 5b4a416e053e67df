//! Whatever Vulkan would call invalid usage is an error here, and submits nothing.

use super::*;
use crate::vk::{DeviceSelector, Point};

/// Submits one command and returns its error, checking that nothing reached the queue.
fn refused(gpu: &Gpu, command: Command) -> DeviceError {
    let (before, last) = (gpu.stats(), gpu.queue(0).unwrap().last());
    let error = gpu.queue(0).unwrap().submit(&[command], &[], false).unwrap_err();
    // The command, and what it held, is gone by now.
    let live = before.live;
    assert_eq!(crate::vk::GpuStats { live, ..gpu.stats() }, before);
    assert_eq!(gpu.queue(0).unwrap().last(), last);
    error
}

fn dispatch_with(gpu: &Gpu, change: impl FnOnce(&mut Dispatch)) -> Command {
    let pipeline = add_pipeline(gpu);
    let memory = zeroed(gpu, 256);
    let mut dispatch = add(&pipeline, &memory, &memory, 1);
    change(&mut dispatch);
    Command::Dispatch(dispatch)
}

#[test]
fn zero_groups() {
    let Some(gpu) = open(false) else { return };
    let command = dispatch_with(&gpu, |d| d.groups = [1, 0, 1]);
    assert_eq!(refused(&gpu, command), DeviceError::ZeroGroups { groups: [1, 0, 1] });
}

#[test]
fn group_counts_over_the_limit() {
    let Some(gpu) = open(false) else { return };
    let limit = gpu.caps().limits().max_groups[1];
    let Some(asked) = limit.checked_add(1) else {
        return;
    };
    let command = dispatch_with(&gpu, |d| d.groups = [1, asked, 1]);
    assert!(matches!(
        refused(&gpu, command),
        DeviceError::OverLimit { asked: a, limit: l, .. } if (a, l) == (asked.into(), limit.into())
    ));
}

#[test]
fn push_constants_too_short() {
    let Some(gpu) = open(false) else { return };
    let command = dispatch_with(&gpu, |d| d.push = push(&[1]));
    assert_eq!(refused(&gpu, command), DeviceError::PushSize { given: 4, needed: 8 });
}

#[test]
fn a_binding_missing_superfluous_or_given_twice() {
    let Some(gpu) = open(false) else { return };
    let missing = dispatch_with(&gpu, |d| drop(d.bindings.pop()));
    assert!(matches!(
        refused(&gpu, missing),
        DeviceError::Binding { at: SetBinding { set: 0, binding: 1, .. }, problem } if problem.contains("not given")
    ));
    let extra = dispatch_with(&gpu, |d| {
        let Resource::Buffer(memory) = d.bindings[0].resource.clone() else { panic!("a buffer") };
        d.bindings.push(whole(3, 4, &memory));
    });
    assert!(matches!(
        refused(&gpu, extra),
        DeviceError::Binding { at: SetBinding { set: 3, binding: 4, .. }, problem } if problem.contains("not declare")
    ));
    let twice = dispatch_with(&gpu, |d| d.bindings.push(d.bindings[1].clone()));
    assert!(matches!(
        refused(&gpu, twice),
        DeviceError::Binding { at: SetBinding { set: 0, binding: 1, .. }, problem } if problem.contains("twice")
    ));
}

#[test]
fn bindings_out_of_range_empty_misaligned_or_too_long() {
    let Some(gpu) = open(false) else { return };
    let outside = dispatch_with(&gpu, |d| d.bindings[0].len = 1025);
    assert!(matches!(refused(&gpu, outside), DeviceError::OutOfRange { size: 1024, .. }));
    let wrapping = dispatch_with(&gpu, |d| d.bindings[0].offset = u64::MAX - 3);
    assert!(matches!(refused(&gpu, wrapping), DeviceError::OutOfRange { .. }));
    let empty = dispatch_with(&gpu, |d| d.bindings[0].len = 0);
    assert!(matches!(refused(&gpu, empty), DeviceError::Binding { .. }));
    let crooked = dispatch_with(&gpu, |d| {
        d.bindings[0].offset = 2;
        d.bindings[0].len = 4;
    });
    assert!(matches!(refused(&gpu, crooked), DeviceError::Misaligned { value: 2, .. }));

    let limit = gpu.caps().limits().max_storage_range;
    let Ok(large) = gpu.allocate(limit + 4, MemoryKind::Device) else {
        return;
    };
    let long = dispatch_with(&gpu, |d| d.bindings[0] = whole(0, 0, &large));
    assert!(matches!(refused(&gpu, long), DeviceError::OverLimit { name: "maxStorageBufferRange", .. }));
}

#[test]
fn an_error_in_the_last_command_submits_none() {
    let Some(gpu) = open(false) else { return };
    let memory = memory_of(&gpu, &[5; 16]);
    let good = Command::Fill { dst: memory.clone(), offset: 0, len: 64, word: 1 };
    let bad = Command::Fill { dst: memory.clone(), offset: 64, len: 4, word: 1 };
    gpu.queue(0).unwrap().submit(&[good, bad], &[], false).unwrap_err();
    assert_eq!(read(&gpu, &memory, gpu.queue(0).unwrap().last()), vec![5; 16]);
}

#[test]
fn transfers_out_of_range_misaligned_or_overlapping() {
    let Some(gpu) = open(false) else { return };
    let m = zeroed(&gpu, 16);
    let fill = |offset, len| Command::Fill { dst: m.clone(), offset, len, word: 0 };
    assert!(matches!(refused(&gpu, fill(2, 4)), DeviceError::Misaligned { .. }));
    assert!(matches!(refused(&gpu, fill(0, 6)), DeviceError::Misaligned { .. }));
    assert!(matches!(refused(&gpu, fill(60, 8)), DeviceError::OutOfRange { .. }));
    let copy = |src_offset, dst_offset, len| Command::Copy {
        src: m.clone(),
        src_offset,
        dst: m.clone(),
        dst_offset,
        len,
    };
    assert!(matches!(refused(&gpu, copy(0, 4, 8)), DeviceError::OverlappingCopy { .. }));
    assert!(matches!(refused(&gpu, copy(4, 0, 8)), DeviceError::OverlappingCopy { .. }));
    assert!(matches!(refused(&gpu, copy(60, 0, 8)), DeviceError::OutOfRange { .. }));
    assert!(matches!(refused(&gpu, copy(u64::MAX, 0, 8)), DeviceError::OutOfRange { .. }));
    let update = |offset, len: usize| Command::Update { dst: m.clone(), offset, bytes: vec![0; len].into() };
    assert!(matches!(refused(&gpu, update(0, 3)), DeviceError::Misaligned { .. }));
    assert!(matches!(refused(&gpu, update(0, 65_540)), DeviceError::OverLimit { .. }));
    assert!(matches!(refused(&gpu, update(64, 4)), DeviceError::OutOfRange { .. }));
}

#[test]
fn a_fill_may_round_the_size_up_to_a_word() {
    let Some(gpu) = open(false) else { return };
    let memory = gpu.allocate(5, MemoryKind::Device).unwrap();
    let fill = Command::Fill { dst: memory.clone(), offset: 0, len: 8, word: 0x0101_0101 };
    let point = gpu.queue(0).unwrap().submit(&[fill], &[], false).unwrap().point;
    let mut bytes = [0; 5];
    gpu.queue(0).unwrap().download(&memory, 0, &mut bytes, &[point]).unwrap();
    assert_eq!(bytes, [1; 5]);
    let too_far = Command::Fill { dst: memory, offset: 0, len: 12, word: 0 };
    assert!(matches!(refused(&gpu, too_far), DeviceError::OutOfRange { .. }));
}

#[test]
fn allocations_of_nothing_and_of_too_much() {
    let Some(gpu) = open(false) else { return };
    assert_eq!(gpu.allocate(0, MemoryKind::Device).unwrap_err(), DeviceError::ZeroSize);
    for bytes in [gpu.caps().limits().max_memory_object + 1, u64::MAX, u64::MAX - 15] {
        let error = gpu.allocate(bytes, MemoryKind::Device).unwrap_err();
        assert!(matches!(error, DeviceError::OverLimit { asked, .. } if asked == bytes), "{error}");
    }
}

#[test]
fn objects_of_another_context() {
    let (Some(one), Some(two)) = (open(false), open(false)) else {
        return;
    };
    let mine = zeroed(&one, 16);
    let fill = Command::Fill { dst: mine.clone(), offset: 0, len: 4, word: 0 };
    assert_eq!(refused(&two, fill), DeviceError::Foreign { what: "memory object" });
    let pipeline = add_pipeline(&one);
    let theirs = zeroed(&two, 16);
    let dispatch = Command::Dispatch(add(&pipeline, &theirs, &theirs, 0));
    assert_eq!(refused(&two, dispatch), DeviceError::Foreign { what: "pipeline" });
    let error = two.queue(0).unwrap().download(&mine, 0, &mut [0; 4], &[]).unwrap_err();
    assert_eq!(error, DeviceError::Foreign { what: "memory object" });
    let error = two.queue(0).unwrap().upload(&mine, 0, &[0; 4], &[]).unwrap_err().error;
    assert_eq!(error, DeviceError::Foreign { what: "memory object" });
}

#[test]
fn points_nobody_gave_out() {
    let Some(gpu) = open(false) else { return };
    for point in [Point { queue: 0, value: 1000 }, Point { queue: 77, value: 1 }] {
        let expected = DeviceError::Foreign { what: "event" };
        assert_eq!(gpu.wait(point, None).unwrap_err(), expected);
        assert_eq!(gpu.queue(0).unwrap().submit(&[], &[point], false).unwrap_err(), expected);
        assert!(!gpu.is_done(point));
    }
}

#[test]
fn devices_nobody_has() {
    let Some(gpu) = open(false) else { return };
    let open = |device| Gpu::open(&GpuOptions { device, ..GpuOptions::default() });
    for selector in [DeviceSelector::Index(99), DeviceSelector::Name("no such".to_owned())] {
        let error = open(selector).unwrap_err();
        let DeviceError::NoSuchDevice { available, .. } = error else { panic!("{error}") };
        assert!(available.contains(&gpu.caps().info.name));
    }
    let name = gpu.caps().info.name.to_uppercase();
    let same = open(DeviceSelector::Name(name)).unwrap();
    assert_eq!(same.caps().info.name, gpu.caps().info.name);
    let listed = Gpu::enumerate().unwrap();
    assert_eq!(listed[gpu.caps().info.index], gpu.caps().info);
}

#[test]
fn a_list_of_nothing_is_fine() {
    let Some(gpu) = open(false) else { return };
    let point = gpu.queue(0).unwrap().submit(&[], &[], true).unwrap().point;
    assert!(gpu.wait(point, None).unwrap());
}
