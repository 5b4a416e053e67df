//! Buffers with memory behind them.
//!
//! Memory that the host can reach is used in place only where it is coherent, so that no flush is ever needed: on the
//! rest, bytes travel through staging memory; Vulkan guarantees a coherent kind of it.

use std::{
    any::Any,
    collections::VecDeque,
    ops::Range,
    ptr::NonNull,
    sync::{Arc, Weak},
};

use ash::vk;
use parking_lot::Mutex;
use smallvec::SmallVec;
use vulkano::{
    VulkanObject,
    buffer::{Buffer, BufferMemory, BufferUsage, Subbuffer},
    memory::MemoryPropertyFlags,
};

use crate::vk::{DeviceError, Gpu, gpu::unique_id, raw::Kept, stats::Alive};

/// A buffer with memory behind it. `Send + Sync`; freed when the last handle goes, which the submissions that use it
/// hold too. What binding it takes comes first, together.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Memory {
    id: u64,
    gpu: u64,
    size: u64,
    handle: vk::Buffer,
    /// Where the range starts in the buffer.
    base: u64,
    /// Whether the host could see the bytes at all, through this crate or its own mapping.
    host_visible: bool,
    /// Bytes that exist from the start of the range: `size` rounded up, for memory allocated here.
    capacity: u64,
    address: Option<u64>,
    host: Option<HostView>,
    /// Whether it may be bound as a uniform buffer.
    uniform: bool,
    /// What is known of the memory of a buffer that came by its handle.
    bound: Option<Bound>,
    /// What the user gave to live as long.
    _kept: Option<Kept>,
    _alive: Alive,
    /// Keeps buffer and memory.
    buffer: Subbuffer<[u8]>,
    /// Where the buffer goes when no one uses it any more.
    spares: Option<Arc<Spares>>,
}

/// Buffers that no one uses any more, to be used again: making one takes the driver longer than all that a list takes here.
#[derive(Debug, Default)]
pub(in crate::vk) struct Spares(Mutex<VecDeque<Subbuffer<[u8]>>>);

/// Bytes up to which a buffer is kept to be used again.
const SPARE: u64 = 16 << 20;

/// Bytes, and number, of those that are kept at the most.
const SPARES: (u64, usize) = (64 << 20, 64);

impl Spares {
    /// A buffer of exactly this many bytes, the latest of them.
    pub(in crate::vk) fn take(&self, bytes: u64) -> Option<Subbuffer<[u8]>> {
        let mut spares = self.0.lock();
        let place = spares.iter().rposition(|spare| spare.size() == bytes)?;
        spares.remove(place)
    }

    /// Lets go of all. Whether there were any.
    pub(in crate::vk) fn clear(&self) -> bool {
        !std::mem::take(&mut *self.0.lock()).is_empty()
    }

    fn put(&self, buffer: Subbuffer<[u8]>) {
        if buffer.size() > SPARE {
            return;
        }
        let mut spares = self.0.lock();
        spares.push_back(buffer);
        let (bytes, count) = SPARES;
        let mut gone: SmallVec<[_; 4]> = SmallVec::new();
        while spares.len() > count || spares.iter().map(Subbuffer::size).sum::<u64>() > bytes {
            gone.extend(spares.pop_front());
        }
        // Freed outside the lock.
        drop(spares);
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(spares) = self.spares.take() {
            spares.put(self.buffer.clone());
        }
    }
}

/// What holds the bytes of a buffer: device memory, or the buffer itself where that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    /// A `VkDeviceMemory`; several buffers may be bound to the same bytes of it.
    Memory(u64),
    /// A `VkBuffer` with sparse or foreign memory.
    Buffer(u64),
}

/// Where bytes are. Two ranges of one holder are the same bytes where they overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) holder: Holder,
    /// The whole buffer, in bytes of the holder.
    pub(crate) buffer: Range<u64>,
    /// The range taken of it, in bytes of the holder.
    pub(crate) range: Range<u64>,
}

/// Where a buffer comes from.
#[derive(Debug, Clone)]
pub(in crate::vk) struct Origin {
    /// Whether the host may use a mapping of it.
    pub(in crate::vk) in_reach: bool,
    /// For a buffer that came by its handle: where its bytes are.
    pub(in crate::vk) bound: Option<Bound>,
    /// Lives as long as the memory object.
    pub(in crate::vk) kept: Option<Kept>,
}

/// Where the bytes of a whole Vulkan buffer are.
#[derive(Debug, Clone, Copy)]
pub(in crate::vk) struct Bound {
    pub(in crate::vk) holder: Holder,
    /// Its first byte in the holder.
    pub(in crate::vk) start: u64,
    /// How many there are.
    pub(in crate::vk) size: u64,
}

/// The mapping of coherent memory.
#[derive(Debug)]
struct HostView {
    start: NonNull<u8>,
    /// Fast to read: not write-combined.
    cached: bool,
    /// Held during a copy, so that two threads of the host never race on the bytes.
    lock: Mutex<()>,
}

// SAFETY: the pointer is to a mapping that lives as long as the memory, is not tied to a thread, and is only followed
// under the lock beside it.
unsafe impl Send for HostView {}
// SAFETY: as above.
unsafe impl Sync for HostView {}

impl Memory {
    /// Describes a buffer range that exists.
    pub(in crate::vk) fn over(gpu: &Gpu, range: Subbuffer<[u8]>, size: u64, origin: Origin) -> Memory {
        let memory_types = &gpu.device().physical_device().memory_properties().memory_types;
        let flags = match range.buffer().memory() {
            BufferMemory::Normal(memory) => {
                let index = memory.device_memory().memory_type_index();
                memory_types[index as usize].property_flags
            }
            // Sparse or foreign memory: it may be visible to the host, but not through vulkano.
            _ => MemoryPropertyFlags::empty(),
        };
        let known = matches!(range.buffer().memory(), BufferMemory::Normal(_));
        let coherent = flags.contains(MemoryPropertyFlags::HOST_VISIBLE | MemoryPropertyFlags::HOST_COHERENT);
        let host = if coherent && origin.in_reach { range.mapped_slice().ok() } else { None };
        let usage = range.buffer().usage();
        let addressable = gpu.caps().device_addresses && usage.contains(BufferUsage::SHADER_DEVICE_ADDRESS);
        Memory {
            id: unique_id(),
            gpu: gpu.0.id,
            size,
            capacity: range.size(),
            handle: range.buffer().handle(),
            base: range.offset(),
            address: if addressable { range.device_address().ok().map(|a| a.get()) } else { None },
            host: host.map(|bytes| HostView {
                start: bytes.cast(),
                cached: flags.contains(MemoryPropertyFlags::HOST_CACHED),
                lock: Mutex::new(()),
            }),
            host_visible: !known || flags.contains(MemoryPropertyFlags::HOST_VISIBLE),
            uniform: usage.contains(BufferUsage::UNIFORM_BUFFER),
            bound: origin.bound,
            _kept: origin.kept,
            _alive: gpu.0.counters.live_buffers.one_more(),
            buffer: range,
            spares: None,
        }
    }

    /// With its buffer used again when no one uses it any more.
    pub(in crate::vk) fn with_spares(mut self, spares: &Arc<Spares>) -> Memory {
        self.spares = Some(spares.clone());
        self
    }

    /// A number no other memory object of this process ever has.
    #[allow(dead_code, reason = "for tests")]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Bytes, as asked for.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Whether the host can write into it directly.
    pub(crate) fn is_host_visible(&self) -> bool {
        self.host.is_some()
    }

    /// The address kernels see, where the device has addresses.
    pub(crate) fn device_address(&self) -> Option<u64> {
        self.address
    }

    /// How long the Vulkan buffer lives that this may be a part of.
    pub(crate) fn buffer_life(&self) -> Weak<dyn Any + Send + Sync> {
        let buffer: Weak<Buffer> = Arc::downgrade(self.buffer.buffer());
        buffer
    }

    /// Where the bytes really are. Imported memory objects may share them.
    pub(crate) fn place(&self) -> Place {
        let buffer = self.buffer.buffer();
        let Bound { holder, start, size } = match (self.bound, buffer.memory()) {
            (Some(bound), _) => bound,
            (None, BufferMemory::Normal(memory)) => {
                let holder = Holder::Memory(vk::Handle::as_raw(memory.device_memory().handle()));
                Bound { holder, start: memory.offset(), size: buffer.size() }
            }
            (None, _) => {
                let holder = Holder::Buffer(vk::Handle::as_raw(self.handle));
                Bound { holder, start: 0, size: buffer.size() }
            }
        };
        let range = start + self.base..start + self.base + self.size;
        Place { holder, buffer: start..start + size, range }
    }

    pub(in crate::vk) fn belongs_to(&self, gpu: u64) -> bool {
        self.gpu == gpu
    }

    pub(in crate::vk) fn handle(&self) -> vk::Buffer {
        self.handle
    }

    /// Where the range starts in its Vulkan buffer.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// A part of it as vulkano has it. The range lies inside.
    pub(in crate::vk) fn part(&self, range: Range<u64>) -> Subbuffer<[u8]> {
        self.buffer.clone().slice(range)
    }

    pub(in crate::vk) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(crate) fn is_uniform(&self) -> bool {
        self.uniform
    }

    pub(in crate::vk) fn host_may_look(&self) -> bool {
        self.host_visible
    }

    /// Whether the host reads it at full speed.
    pub(in crate::vk) fn is_host_cached(&self) -> bool {
        self.host.as_ref().is_some_and(|host| host.cached)
    }

    /// How many bytes a command that writes whole words writes for these: rounded up into the padding at the end of what
    /// was allocated here, never into bytes of others. Nothing where it cannot be such a command.
    pub(crate) fn words(&self, offset: u64, len: u64) -> Option<u64> {
        let words = len.checked_next_multiple_of(4)?;
        let is_padded = offset + len == self.size && offset + words <= self.capacity;
        let starts = (self.base + offset).is_multiple_of(4);
        (starts && (words == len || is_padded)).then_some(words)
    }

    /// Whether it is of this context and has this range.
    #[inline]
    pub(in crate::vk) fn has(&self, gpu: u64, offset: u64, len: u64) -> bool {
        self.gpu == gpu && offset.checked_add(len).is_some_and(|end| end <= self.size)
    }

    /// Checks that a range lies inside.
    #[inline]
    pub(in crate::vk) fn check(&self, what: &'static str, offset: u64, len: u64) -> Result<(), DeviceError> {
        match offset.checked_add(len) {
            Some(end) if end <= self.size => Ok(()),
            _ => Err(DeviceError::OutOfRange { what, offset, len, size: self.size }),
        }
    }

    /// Copies bytes in. The caller has checked the range and that the device does not use it now.
    pub(in crate::vk) fn write_mapped(&self, offset: u64, bytes: &[u8]) -> bool {
        let Some(host) = &self.host else { return false };
        if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > self.capacity) {
            return false;
        }
        let _alone = host.lock.lock();
        // SAFETY: the range was just checked to lie inside the mapping, which is `capacity` bytes long.
        let to = unsafe { host.start.add(offset as usize) };
        // SAFETY: `to` is valid for that many bytes, no other thread of this crate writes or reads them (lock), and
        // `bytes` is ordinary memory that no mapping overlaps.
        unsafe { to.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        true
    }

    /// Copies bytes out. The caller has checked the range and that the device does not write it now.
    pub(in crate::vk) fn read_mapped(&self, offset: u64, out: &mut [u8]) -> bool {
        let Some(host) = &self.host else { return false };
        if offset.checked_add(out.len() as u64).is_none_or(|end| end > self.capacity) {
            return false;
        }
        let _alone = host.lock.lock();
        // SAFETY: the range was just checked to lie inside the mapping, which is `capacity` bytes long.
        let from = unsafe { host.start.add(offset as usize) };
        // SAFETY: `from` is valid for that many bytes, no other thread of this crate writes them (lock), and `out` is
        // ordinary memory that no mapping overlaps.
        unsafe { from.as_ptr().copy_to_nonoverlapping(out.as_mut_ptr(), out.len()) };
        true
    }
}
