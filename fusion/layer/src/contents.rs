//! Contents of buffers, before and after a submission: copies in command buffers of the layer's own, around those of the program.
//!
//! # Requires
//! The queue is the caller's, as it is where a program submits.
//!
//! # Guarantees
//! - copies wait for what is before them in the queue, and what is behind them waits for copies
//! - no call waits for ever: contents that are not there in time are asked for again later (`finish`)

use crate::chain::Device;
use crate::objects::Objects;
use crate::recording::Part;
use crate::sink::{self, lock};
use crate::submission::Given;
use crate::trace::{Contents, Event, Held, When};
use ash::vk;
use std::collections::BTreeMap;

/// How long a submission waits for its contents.
const PATIENCE_NS: u64 = 5_000_000_000;

/// A piece of a buffer: handle, first byte, bytes, and where that is: the memory's number, and the place in it.
#[derive(Clone, Copy)]
pub(crate) struct Piece {
    buffer: vk::Buffer,
    offset: u64,
    len: u64,
    memory: u64,
    at: u64,
}

/// The pieces of memory that parts of buffers cover, those that overlap joined.
pub(crate) fn whole<'p>(objects: &Objects, parts: impl Iterator<Item = &'p Part>) -> Vec<Piece> {
    let mut by_buffer: BTreeMap<vk::Buffer, Vec<(u64, u64)>> = BTreeMap::new();
    for part in parts {
        if let Some(range) = objects.range(part.buffer, part.offset, part.len).filter(|range| range.len > 0) {
            by_buffer.entry(part.buffer).or_default().push((range.offset, range.offset + range.len));
        }
    }
    let mut pieces = Vec::new();
    for (buffer, mut spans) in by_buffer {
        let Some(known) = objects.buffers.get(&buffer) else { continue };
        let Some((memory, at)) = known.memory else { continue };
        if !known.is_readable {
            sink::missing("vkCreateBuffer", "contents of a buffer that cannot be copied from");
            continue;
        }
        spans.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (start, end) in spans {
            match joined.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => joined.push((start, end)),
            }
        }
        pieces.extend(joined.into_iter().map(|(start, end)| Piece {
            buffer,
            offset: start,
            len: end - start,
            memory,
            at: at + start,
        }));
    }
    pieces
}

/// A copy that has been submitted: its batch, whether it is before or after that, and where its bytes will be.
struct Copy {
    batch: usize,
    when: When,
    /// Pieces, with where they begin in the staging buffer.
    pieces: Vec<(Piece, u64)>,
}

/// Copies around the program's command buffers.
pub(crate) struct Taken {
    number: u64,
    buffers: Vec<Vec<vk::CommandBuffer>>,
    staging: Staging,
    copies: Vec<Copy>,
}

impl Taken {
    /// The command buffers of each batch.
    pub(crate) fn buffers(&self) -> &[Vec<vk::CommandBuffer>] {
        &self.buffers
    }
}

/// Contents that have been submitted for.
pub(crate) struct Pending {
    taken: Taken,
    fence: vk::Fence,
}

/// What is destroyed together.
#[derive(Default)]
struct Staging {
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    pool: vk::CommandPool,
    /// What the host sees of it, an address.
    mapped: usize,
}

impl Staging {
    fn destroy(self, device: &Device) {
        // SAFETY: they are the layer's own, and no work on the device uses them any more.
        unsafe {
            device.own.destroy_command_pool(self.pool, None);
            device.own.destroy_buffer(self.buffer, None);
            device.own.free_memory(self.memory, None);
        }
    }

    /// Fills in what it needs, one after the other: what was made until an error is destroyed by the caller.
    fn fill(&mut self, device: &Device, family: u32, bytes: u64) -> Result<(), vk::Result> {
        let own = &device.own;
        let info = vk::BufferCreateInfo::default().size(bytes).usage(vk::BufferUsageFlags::TRANSFER_DST);
        let pool = vk::CommandPoolCreateInfo::default()
            .flags(vk::CommandPoolCreateFlags::TRANSIENT)
            .queue_family_index(family);
        // SAFETY: the structures are as Vulkan wants them, and the handles are those just made.
        unsafe {
            self.buffer = own.create_buffer(&info, None)?;
            let needs = own.get_buffer_memory_requirements(self.buffer);
            let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
            let cached = wanted | vk::MemoryPropertyFlags::HOST_CACHED;
            let types = &device.memory.memory_types[..device.memory.memory_type_count as usize];
            let find = |wanted| {
                let fits = |(index, kind): &(u32, &vk::MemoryType)| {
                    needs.memory_type_bits >> index & 1 == 1 && kind.property_flags.contains(wanted)
                };
                (0..).zip(types).find(fits).map(|(index, _)| index)
            };
            let index = find(cached).or_else(|| find(wanted)).ok_or(vk::Result::ERROR_OUT_OF_HOST_MEMORY)?;
            let info = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(index);
            self.memory = own.allocate_memory(&info, None)?;
            own.bind_buffer_memory(self.buffer, self.memory, 0)?;
            self.mapped =
                own.map_memory(self.memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())? as usize;
            self.pool = own.create_command_pool(&pool, None)?;
        }
        Ok(())
    }
}

/// Makes the copies for a submission; `None` if there is nothing to copy, or, with a message, if it cannot be done.
pub(crate) fn take(
    device: &Device,
    call: &str,
    number: u64,
    family: Option<u32>,
    given: &[Given],
    ranges: &[Vec<Piece>],
) -> Option<Taken> {
    let sides: &[When] =
        if sink::contents() == Contents::Both { &[When::Before, When::After] } else { &[When::Before] };
    let (mut copies, mut bytes) = (Vec::new(), 0u64);
    for (batch, (given, pieces)) in given.iter().zip(ranges).enumerate() {
        if !given.is_plain {
            sink::missing(call, "contents of a batch that is protected, or for several devices");
            continue;
        }
        for when in sides {
            let mut place = |piece: &Piece| {
                let at = bytes;
                bytes = (bytes + piece.len).next_multiple_of(16);
                (*piece, at)
            };
            let pieces: Vec<(Piece, u64)> = pieces.iter().map(&mut place).collect();
            if !pieces.is_empty() {
                copies.push(Copy { batch, when: *when, pieces });
            }
        }
    }
    if bytes == 0 {
        return None;
    }
    let Some(family) = family else {
        sink::missing(call, "contents on a queue of an unknown family");
        return None;
    };
    if !sink::has_room(bytes) {
        sink::missing(call, "contents beyond VKFUSE_CAPTURE_LIMIT");
        return None;
    }
    let mut staging = Staging::default();
    let own = |given: &Given| given.buffers.clone();
    let mut buffers: Vec<Vec<vk::CommandBuffer>> = given.iter().map(own).collect();
    let made = staging.fill(device, family, bytes).and_then(|()| record(device, &staging, &copies));
    match made {
        Ok(made) => {
            for (copy, recorded) in copies.iter().zip(made) {
                let list = &mut buffers[copy.batch];
                let place = if copy.when == When::Before { 0 } else { list.len() };
                list.insert(place, recorded);
            }
            Some(Taken { number, buffers, staging, copies })
        }
        Err(error) => {
            sink::missing(call, &format!("contents: {error}"));
            staging.destroy(device);
            None
        }
    }
}

/// A command buffer for each copy.
fn record(device: &Device, staging: &Staging, copies: &[Copy]) -> Result<Vec<vk::CommandBuffer>, vk::Result> {
    let own = &device.own;
    let info = vk::CommandBufferAllocateInfo::default()
        .command_pool(staging.pool)
        .level(vk::CommandBufferLevel::PRIMARY)
        .command_buffer_count(copies.len() as u32);
    let begin = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
    let all = vk::PipelineStageFlags::ALL_COMMANDS;
    let transfer = vk::PipelineStageFlags::TRANSFER;
    let before = vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
        .dst_access_mask(vk::AccessFlags::TRANSFER_READ);
    let after = vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
        .dst_access_mask(vk::AccessFlags::HOST_READ);
    let none = vk::DependencyFlags::empty();
    // SAFETY: the command buffers are the layer's own; ranges are inside of buffers that the program may use now.
    unsafe {
        let made = own.allocate_command_buffers(&info)?;
        for (buffer, copy) in made.iter().zip(copies) {
            device.adopt(*buffer).ok_or(vk::Result::ERROR_INITIALIZATION_FAILED)?;
            own.begin_command_buffer(*buffer, &begin)?;
            own.cmd_pipeline_barrier(*buffer, all, transfer, none, &[before], &[], &[]);
            for (piece, at) in &copy.pieces {
                let region = vk::BufferCopy { src_offset: piece.offset, dst_offset: *at, size: piece.len };
                own.cmd_copy_buffer(*buffer, piece.buffer, staging.buffer, &[region]);
            }
            let behind = all | vk::PipelineStageFlags::HOST;
            own.cmd_pipeline_barrier(*buffer, transfer, behind, none, &[after], &[], &[]);
            own.end_command_buffer(*buffer)?;
        }
        Ok(made)
    }
}

/// Waits for the contents of a submission, for some time; what is not there then comes later.
pub(crate) fn submitted(device: &Device, queue: vk::Queue, taken: Taken, result: vk::Result) {
    if result != vk::Result::SUCCESS {
        taken.staging.destroy(device);
        return;
    }
    let own = &device.own;
    // SAFETY: the fence is the layer's own, and the queue is the caller's.
    let fence = unsafe {
        let fence = own.create_fence(&vk::FenceCreateInfo::default(), None);
        fence.and_then(|fence| own.queue_submit(queue, &[], fence).map(|()| fence))
    };
    match fence {
        Ok(fence) => {
            // SAFETY: the fence was submitted.
            let _ = unsafe { own.wait_for_fences(&[fence], true, PATIENCE_NS) };
            lock(&device.pending).push(Pending { taken, fence });
            finish(device, false);
        }
        // A lost device; what it uses stays.
        Err(error) => {
            sink::missing("vkQueueSubmit", &format!("contents: {error}"));
            std::mem::forget(taken);
        }
    }
}

/// Writes the contents that are there. At the end of a device all are.
pub(crate) fn finish(device: &Device, is_end: bool) {
    let mut waiting = lock(&device.pending);
    if waiting.is_empty() {
        return;
    }
    // SAFETY: the fences are the layer's own.
    let is_done =
        |pending: &Pending| is_end || unsafe { device.own.get_fence_status(pending.fence) } == Ok(true);
    let (done, rest): (Vec<Pending>, Vec<Pending>) =
        std::mem::take(&mut *waiting).into_iter().partition(is_done);
    *waiting = rest;
    drop(waiting);
    for Pending { taken, fence } in done {
        for copy in &taken.copies {
            let held = copy.pieces.iter().map(|(piece, at)| {
                // SAFETY: as many bytes are mapped, and the device has written them.
                let bytes = unsafe {
                    std::slice::from_raw_parts(
                        (taken.staging.mapped as *const u8).add(*at as usize),
                        piece.len as usize,
                    )
                };
                Held { memory: piece.memory, at: piece.at, len: piece.len, hash: sink::bytes(bytes) }
            });
            let held = held.collect();
            sink::emit(&Event::Contents {
                submission: taken.number,
                batch: copy.batch,
                when: copy.when,
                held,
            });
        }
        // SAFETY: it has been signalled, or the device is idle.
        unsafe { device.own.destroy_fence(fence, None) };
        taken.staging.destroy(device);
    }
    sink::flush();
}
