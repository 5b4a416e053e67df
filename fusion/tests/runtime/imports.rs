//! Imported buffers: what is the same memory, what is another handle, and every byte range that can be imported.

use std::sync::Arc;

use bytemuck::Pod;
use vkfuse::{Accessor, Buffer, BufferError, Context, Error, FusionProperties, FusionWrapper, Outcome};
use vulkano::{
    command_buffer::{
        AutoCommandBufferBuilder, CommandBufferUsage, CopyBufferInfo,
        allocator::StandardCommandBufferAllocator,
    },
    sync::{self, GpuFuture},
};

use crate::{
    N, scale,
    support::{
        Rig,
        own::{Own, import},
    },
};

/// A context over a device of the test's own.
macro_rules! own {
    () => {
        match Own::open() {
            Some(own) => own,
            None => return,
        }
    };
}

/// Bytes of the buffer that ranges are taken of.
const AROUND: usize = 64;

/// A way to give every element of a buffer a value.
type Write<T> = fn(&Rig, &Buffer<T>, T);

/// Whatever writes elements writes those of the range and nothing beside it.
fn writes_only<T: Pod + PartialEq + std::fmt::Debug>(own: &Own, rig: &Rig, mapped: bool, values: [T; 2]) {
    let size = size_of::<T>();
    let given = own.buffer(AROUND as u64, mapped);
    let all: Buffer<u8> = import(&rig.context, &given, 0..AROUND as u64);
    let writes: [(&str, Write<T>); 6] = [
        ("a fill by the host", |_, buffer, value| buffer.fill(value).unwrap()),
        ("a fill", |rig, buffer, value| drop(rig.queue.fill(buffer.write(), value).unwrap())),
        ("an update", |rig, buffer, value| {
            rig.queue.update(buffer.write(), &vec![value; buffer.len()]).map(drop).unwrap();
        }),
        ("an upload", |_, buffer, value| buffer.upload(&vec![value; buffer.len()]).unwrap()),
        ("a host write", |_, buffer, value| buffer.host_write(|data| data.fill(value)).unwrap()),
        ("a copy", |rig, buffer, value| {
            let from = rig.context.buffer_from(&vec![value; buffer.len()]).unwrap();
            rig.queue.copy(from.read(), buffer.write()).map(drop).unwrap();
        }),
    ];
    for start in 0..5 {
        for len in size..size + 9 {
            let part: Buffer<T> = import(&rig.context, &given, start as u64..(start + len) as u64);
            assert_eq!(part.len(), len / size);
            for (what, write) in &writes {
                let before: Vec<u8> = (0..AROUND as u8).map(|byte| byte ^ 0x5a).collect();
                all.upload(&before).unwrap();
                for value in values {
                    write(rig, &part, value);
                    let mut wanted = before.clone();
                    let elements = vec![value; part.len()];
                    let bytes: &[u8] = bytemuck::cast_slice(&elements);
                    wanted[start..start + bytes.len()].copy_from_slice(bytes);
                    let got = all.download().unwrap();
                    assert_eq!(got, wanted, "{what} of {len} bytes from {start}, mapped {mapped}");
                    assert_eq!(part.download().unwrap(), elements);
                    assert_eq!(part.host_read(<[T]>::to_vec).unwrap(), elements);
                }
            }
        }
    }
}

#[test]
fn every_byte_range_can_be_written_and_nothing_beside_it() {
    let own = own!();
    let rig = Rig::over(own.context());
    for mapped in [true, false] {
        writes_only(&own, &rig, mapped, [0x11_u8, 0xfe]);
        writes_only(&own, &rig, mapped, [0x1212_u16, 0x1234]);
        writes_only(&own, &rig, mapped, [0x1212_1212_u32, 0xdead_beef]);
        writes_only(&own, &rig, mapped, [[0x77_u8; 3], [1, 2, 3]]);
        writes_only(&own, &rig, mapped, [0x0102_0304_0102_0304_u64, u64::MAX - 5]);
    }
    assert_eq!(own.messages(), 0);
}

/// Parts of buffers made by the engine, which have padding at the end and none in between.
#[test]
fn parts_are_filled_and_nothing_beside_them() {
    let rig = rig!();
    for len in [1, 3, 5, 6, 7, 16, 17, 23] {
        let buffer = rig.context.buffer::<u8>(len).unwrap();
        for start in 0..len {
            for count in 1..=len - start {
                buffer.fill(0x5a).unwrap();
                rig.queue.fill(buffer.write().range(start, count), 0xa5_u8).unwrap();
                let mut wanted = vec![0x5a; len];
                wanted[start..start + count].fill(0xa5);
                assert_eq!(buffer.download().unwrap(), wanted, "{count} from {start} of {len}");
            }
        }
    }
    rig.assert_no_validation_messages();
}

/// Two kernels through `tmp`, as one list; what became of it and whether `tmp` was kept inside.
fn fused_through(rig: &Rig, x: &Buffer<i32>, tmp: &Buffer<i32>, out: &Buffer<i32>) -> (Outcome, bool) {
    let event = rig
        .queue
        .fuse(|queue| {
            scale(rig, queue, x, 2, tmp)?;
            scale(rig, queue, tmp, 3, out)?;
            Ok(())
        })
        .unwrap();
    let doubled: Vec<i32> = x.download().unwrap().iter().map(|value| value * 6).collect();
    assert_eq!(out.download().unwrap(), doubled);
    (event.outcome(), tmp.download().is_err())
}

/// Bytes of a buffer of `N` elements, up to the next offset that can be bound.
const ROOM: u64 = 4096;

fn elements(context: &Context, given: &vulkano::buffer::Subbuffer<[u8]>, place: u64) -> Buffer<i32> {
    let start = place * ROOM;
    import(context, given, start..start + 4 * N as u64)
}

#[test]
fn an_address_protects_every_import_of_the_same_vulkan_buffer() {
    let own = own!();
    if !own.device.enabled_features().buffer_device_address {
        return;
    }
    let rig = Rig::over(own.context());
    let x = crate::iota(&rig);
    let out = rig.context.buffer::<i32>(N).unwrap();
    let given = own.buffer(3 * ROOM, true);
    let (told, other) = (elements(&rig.context, &given, 0), elements(&rig.context, &given, 1).promote_auto());
    let overlapping = elements(&rig.context, &given, 1).promote_private();
    assert_eq!(fused_through(&rig, &x, &other, &out), (Outcome::Fused, true), "no address was given out");
    other.fill(0).unwrap();
    told.device_address().unwrap();
    for buffer in [&other, &overlapping] {
        let (outcome, is_inside) = fused_through(&rig, &x, buffer, &out);
        assert_eq!((outcome, is_inside), (Outcome::Fused, false), "a kernel may follow the address");
    }
    // An import that is made later, and another Vulkan buffer.
    let later = elements(&rig.context, &given, 2).promote_auto();
    assert!(!fused_through(&rig, &x, &later, &out).1);
    let apart = elements(&rig.context, &own.buffer(ROOM, true), 0).promote_auto();
    assert!(fused_through(&rig, &x, &apart, &out).1, "what no address leads to is kept inside");
    assert_eq!(own.messages(), 0);
}

#[test]
fn a_list_that_is_known_learns_of_an_address_told_through_an_alias() {
    let own = own!();
    if !own.device.enabled_features().buffer_device_address {
        return;
    }
    let rig = Rig::over(own.context());
    let x = crate::iota(&rig);
    let out = rig.context.buffer::<i32>(N).unwrap();
    let given = own.buffer(2 * ROOM, true);
    let (told, other) = (elements(&rig.context, &given, 0), elements(&rig.context, &given, 1).promote_auto());
    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    let record = || {
        fusion.start_fusion().unwrap();
        scale(&rig, &rig.queue, &x, 2, &other).unwrap();
        scale(&rig, &rig.queue, &other, 3, &out).unwrap();
    };
    record();
    let (_, kept) = fusion.complete_and_keep(&FusionProperties::default()).unwrap();
    for _ in 0..3 {
        kept.run().unwrap();
        record();
        fusion.complete_fusion(&FusionProperties::default()).unwrap();
        assert!(other.download().is_err());
    }
    told.device_address().unwrap();
    kept.run().unwrap();
    assert_eq!(other.download().unwrap(), crate::multiples(2));
    other.fill(0).unwrap();
    record();
    fusion.complete_fusion(&FusionProperties::default()).unwrap();
    assert_eq!(other.download().unwrap(), crate::multiples(2));
}

/// Two Vulkan buffers over the same device memory are the same bytes, and one memory.
#[test]
fn buffers_over_the_same_device_memory_are_one_memory() {
    let own = own!();
    let rig = Rig::over(own.context());
    let memory = own.memory(4 * ROOM, false);
    let align =
        own.buffer_on(&memory, 0, ROOM).buffer().memory_requirements().layout.alignment().as_devicesize();
    assert_eq!(ROOM % align, 0);
    let (first, second) = (own.buffer_on(&memory, 0, 3 * ROOM), own.buffer_on(&memory, ROOM, 3 * ROOM));
    // The same bytes, by way of either.
    let (a, b) = (elements(&rig.context, &first, 1), elements(&rig.context, &second, 0));
    assert_eq!(a.id(), b.id());
    let x = crate::iota(&rig);
    for factor in 2..20 {
        scale(&rig, &rig.queue, &x, factor, &a).unwrap();
        let out = rig.context.buffer::<i32>(N).unwrap();
        scale(&rig, &rig.queue, &b, 1, &out).unwrap();
        assert_eq!(out.download().unwrap(), crate::multiples(factor));
        assert_eq!(b.download().unwrap(), crate::multiples(factor));
    }
    // What a fused kernel keeps to itself cannot be read through the other.
    let (a, out) = (a.promote_auto(), rig.context.buffer::<i32>(N).unwrap());
    assert_eq!(fused_through(&rig, &x, &a, &out), (Outcome::Fused, true));
    assert!(matches!(b.download(), Err(Error::Buffer { problem: BufferError::Unreadable(_), .. })));
    // A kernel reads through the one what another of the list wrote through the other.
    let event = rig.queue.fuse(|queue| {
        scale(&rig, queue, &x, 5, &a)?;
        scale(&rig, queue, &b, 1, &out)?;
        Ok(())
    });
    assert_ne!(event.unwrap().outcome(), Outcome::Failed);
    assert_eq!(out.download().unwrap(), crate::multiples(5));
    // Side by side on the same device memory they are two memories.
    let memory = own.memory(2 * ROOM, false);
    let [left, right] = [0, ROOM].map(|at| elements(&rig.context, &own.buffer_on(&memory, at, ROOM), 0));
    assert_ne!(left.id(), right.id());
    assert_eq!(own.messages(), 0);
}

/// What a host task finds of two imports of one Vulkan buffer is what it listed of each.
#[test]
fn a_host_task_has_what_it_listed_of_each_handle() {
    let own = own!();
    let rig = Rig::over(own.context());
    let given = own.buffer(4 * 256, true);
    let [p, s] = [0..4 * 256, 0..4 * 256].map(|bytes| import::<u32>(&rig.context, &given, bytes));
    p.upload(&(0..256).collect::<Vec<_>>()).unwrap();
    let task = |parts: Vec<Accessor>, f: fn(&vkfuse::HostScope, &Buffer<u32>, &Buffer<u32>)| {
        let (p, s) = (p.clone(), s.clone());
        let event = rig.queue.host_task(parts, move |scope| {
            f(scope, &p, &s);
            Ok(())
        });
        event.unwrap().wait().unwrap();
    };
    fn problem<T: std::fmt::Debug>(result: Result<T, Error>) -> BufferError {
        match result {
            Err(Error::Buffer { problem, .. }) => problem,
            other => panic!("{other:?}"),
        }
    }
    // The one is no way to the other.
    task(vec![p.read_write()], |scope, p, s| {
        assert_eq!(scope.read(p).unwrap().len(), 256);
        assert_eq!(problem(scope.read(s)), BufferError::NotListed);
        assert_eq!(problem(scope.write(s, |_| ())), BufferError::NotListed);
    });
    // Each has its own range.
    task(vec![p.read_write().range(0, 16), s.read_write().range(100, 32)], |scope, p, s| {
        scope.write(s, |data| data.fill(7)).unwrap();
        scope.write(p, |data| data.fill(5)).unwrap();
        assert_eq!((scope.read(p).unwrap().len(), scope.read(s).unwrap().len()), (16, 32));
    });
    let wanted = |i: u32| match i {
        0..16 => 5,
        100..132 => 7,
        other => other,
    };
    assert_eq!(p.download().unwrap(), (0..256).map(wanted).collect::<Vec<_>>());
    // Several ranges of one.
    task(
        vec![p.read().range(0, 20), p.read_write().range(10, 30), p.write().range(200, 8)],
        |scope, p, _| {
            assert_eq!(problem(scope.read(p)), BufferError::SeveralRanges);
            assert_eq!(problem(scope.write(p, |_| ())), BufferError::SeveralRanges);
            assert_eq!(scope.read_range(p, 0..40).unwrap()[16..], (16..40).collect::<Vec<_>>());
            assert_eq!(problem(scope.read_range(p, 30..41)), BufferError::NotListed);
            assert_eq!(problem(scope.write_range(p, 9..12, |_| ())), BufferError::NotWritable);
            assert_eq!(problem(scope.write_range(p, 60..61, |_| ())), BufferError::NotListed);
            assert!(matches!(problem(scope.read_range(p, 250..257)), BufferError::OutOfRange { .. }));
            scope.write_range(p, 202..204, |data| data.fill(1)).unwrap();
            scope.write_range(p, 10..40, |data| data[0] = 2).unwrap();
        },
    );
    let after = p.download().unwrap();
    assert_eq!((after[9], after[10], after[201], after[202], after[203], after[204]), (5, 2, 201, 1, 1, 204));
    // Read whole, written in part: each call has what was listed for it.
    task(vec![p.read(), p.write().range(8, 8)], |scope, p, _| {
        assert_eq!(scope.read(p).unwrap().len(), 256);
        assert_eq!(scope.write(p, |data| data.len()).unwrap(), 8);
    });
    assert_eq!(own.messages(), 0);
}

/// Accesses through different handles of the same bytes, and of neighbouring ones, take place in order.
#[test]
fn aliases_are_ordered_by_their_bytes() {
    let own = own!();
    let rig = Rig::over(own.context());
    let given = own.buffer(3 * ROOM, false);
    let (low, high) = (elements(&rig.context, &given, 0), elements(&rig.context, &given, 1));
    let both: Buffer<i32> = import(&rig.context, &given, 0..2 * ROOM);
    let second = rig.context.queue(vkfuse::QueueOptions::new()).unwrap();
    let x = crate::iota(&rig);
    for factor in 1..30 {
        scale(&rig, &rig.queue, &x, factor, &low).unwrap();
        scale(&rig, &second, &x, -factor, &high).unwrap();
        let seen = both.download().unwrap();
        assert_eq!(seen[..N], crate::multiples(factor));
        assert_eq!(seen[(ROOM / 4) as usize..][..N], crate::multiples(-factor));
        rig.queue.fill(both.write(), 1_i32).unwrap();
        assert_eq!(high.download().unwrap(), [1; N]);
    }
    assert_eq!(own.messages(), 0);
}

/// The program's own submissions between those of the engine: it waits for an event before, and for its fence after.
#[test]
fn submissions_of_the_program_come_between() {
    let own = own!();
    let rig = Rig::over(own.context());
    let given = [own.buffer(ROOM, false), own.buffer(ROOM, false)];
    let [from, to] = [0, 1].map(|k| elements(&rig.context, &given[k], 0));
    let commands: Arc<StandardCommandBufferAllocator> =
        Arc::new(StandardCommandBufferAllocator::new(own.device.clone(), Default::default()));
    let queue = own.queues[own.queues.len() - 1].clone();
    let (x, out) = (crate::iota(&rig), rig.context.buffer::<i32>(N).unwrap());
    for factor in 1..30 {
        // Fused or not, the event stands for all of it.
        let done = rig.queue.fuse(|list| {
            scale(&rig, list, &x, factor, &out)?;
            scale(&rig, list, &out, 3, &from)?;
            Ok(())
        });
        done.unwrap().wait().unwrap();
        let mut builder = AutoCommandBufferBuilder::primary(
            commands.clone(),
            queue.queue_family_index(),
            CommandBufferUsage::OneTimeSubmit,
        )
        .unwrap();
        builder.copy_buffer(CopyBufferInfo::buffers(given[0].clone(), given[1].clone())).unwrap();
        let copy = builder.build().unwrap();
        let copied = sync::now(own.device.clone()).then_execute(queue.clone(), copy).unwrap();
        copied.then_signal_fence_and_flush().unwrap().wait(None).unwrap();
        scale(&rig, &rig.queue, &to, -1, &out).unwrap();
        assert_eq!(out.download().unwrap(), crate::multiples(-3 * factor));
        assert_eq!(to.download().unwrap(), crate::multiples(3 * factor));
    }
    assert_eq!(own.messages(), 0);
}
