//! Buffers with memory behind them.
//!
//! Memory that the host can reach is used in place only where it is coherent, so that no flush is ever needed: on the
//! rest, bytes travel through staging memory, of which Vulkan guarantees a coherent kind.

use std::{
    ops::Range,
    ptr::NonNull,
    sync::{Arc, Mutex, PoisonError},
};

use ash::vk;
use vulkano::{
    Validated, VulkanError, VulkanObject,
    buffer::{AllocateBufferError, Buffer, BufferCreateInfo, BufferMemory, BufferUsage, Subbuffer},
    memory::{
        MemoryPropertyFlags,
        allocator::{AllocationCreateInfo, DeviceLayout, MemoryAllocatorError, MemoryTypeFilter},
    },
    sync::Sharing,
};

use super::{DeviceError, DeviceKind, Gpu, gpu::unique_id};

/// What the size of every allocation is rounded up to, so that whole words (and 16-byte accesses) fit at its end.
const GRANULE: u64 = 16;

/// Where memory lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum MemoryKind {
    /// Fast for the device; the host may or may not reach it.
    Device,
    /// Mapped, written by the host in order.
    Upload,
    /// Mapped, read by the host in any order.
    Readback,
}

/// A buffer with memory behind it. `Send + Sync`; freed when the last handle goes, which the submissions that use it
/// hold too.
#[derive(Debug)]
pub(crate) struct Memory {
    id: u64,
    gpu: u64,
    size: u64,
    /// Bytes that exist from the start of the range: `size` rounded up, for memory allocated here.
    capacity: u64,
    handle: vk::Buffer,
    /// Where the range starts in the buffer.
    base: u64,
    address: Option<u64>,
    host: Option<HostView>,
    /// Whether the host could see the bytes at all, through this crate or its own mapping.
    host_visible: bool,
    imported: bool,
    /// Whether it may be bound as a uniform buffer.
    uniform: bool,
    /// Keeps buffer and memory.
    _buffer: Subbuffer<[u8]>,
}

/// Where a buffer comes from.
#[derive(Debug, Clone, Copy)]
struct Origin {
    imported: bool,
    /// Whether the host may use a mapping of it.
    in_reach: bool,
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
    /// A number no other memory object of this process ever has.
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

    /// What the bytes really are: an identity, and a range in it. Two imported memory objects may share a buffer;
    /// those conflict where the identity is equal and the ranges overlap. Memory allocated here has its own.
    pub(crate) fn alias_key(&self) -> (u64, Range<u64>) {
        if self.imported {
            let key = vk::Handle::as_raw(self.handle) | 1 << 63;
            (key, self.base..self.base + self.size)
        } else {
            (self.id, 0..self.size)
        }
    }

    pub(super) fn belongs_to(&self, gpu: u64) -> bool {
        self.gpu == gpu
    }

    pub(super) fn handle(&self) -> vk::Buffer {
        self.handle
    }

    pub(super) fn base(&self) -> u64 {
        self.base
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(super) fn is_uniform(&self) -> bool {
        self.uniform
    }

    pub(super) fn host_may_look(&self) -> bool {
        self.host_visible
    }

    /// Whether the host reads it at full speed.
    pub(super) fn is_host_cached(&self) -> bool {
        self.host.as_ref().is_some_and(|host| host.cached)
    }

    /// Checks that a range lies inside.
    pub(super) fn check(
        &self,
        what: &'static str,
        offset: u64,
        len: u64,
    ) -> Result<(), DeviceError> {
        match offset.checked_add(len) {
            Some(end) if end <= self.size => Ok(()),
            _ => Err(DeviceError::OutOfRange {
                what,
                offset,
                len,
                size: self.size,
            }),
        }
    }

    /// Copies bytes in. The caller has checked the range and that the device does not use it now.
    pub(super) fn write_mapped(&self, offset: u64, bytes: &[u8]) -> bool {
        let Some(host) = &self.host else { return false };
        if offset
            .checked_add(bytes.len() as u64)
            .is_none_or(|end| end > self.capacity)
        {
            return false;
        }
        let _alone = host.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the range was just checked to lie inside the mapping, which is `capacity` bytes long.
        let to = unsafe { host.start.add(offset as usize) };
        // SAFETY: `to` is valid for that many bytes, no other thread of this crate writes or reads them (lock), and
        // `bytes` is ordinary memory that no mapping overlaps.
        unsafe {
            to.as_ptr()
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
        };
        true
    }

    /// Copies bytes out. The caller has checked the range and that the device does not write it now.
    pub(super) fn read_mapped(&self, offset: u64, out: &mut [u8]) -> bool {
        let Some(host) = &self.host else { return false };
        if offset
            .checked_add(out.len() as u64)
            .is_none_or(|end| end > self.capacity)
        {
            return false;
        }
        let _alone = host.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the range was just checked to lie inside the mapping, which is `capacity` bytes long.
        let from = unsafe { host.start.add(offset as usize) };
        // SAFETY: `from` is valid for that many bytes, no other thread of this crate writes them (lock), and `out` is
        // ordinary memory that no mapping overlaps.
        unsafe {
            from.as_ptr()
                .copy_to_nonoverlapping(out.as_mut_ptr(), out.len())
        };
        true
    }
}

/// A vulkano buffer range of the user's, with the user's word that it is free to use.
///
/// vulkano does not know what this crate submits, so its own checks cannot keep the two apart; that is why making
/// this value is `unsafe` and everything after it is not.
#[derive(Debug, Clone)]
pub struct UserBuffer {
    bytes: Subbuffer<[u8]>,
}

impl UserBuffer {
    /// Vouches for a buffer range.
    ///
    /// # Safety
    ///
    /// As long as a buffer of this crate made from it lives, or work that uses it runs:
    ///
    /// - nobody else reads or writes the range, neither through vulkano nor otherwise, except between an event of
    ///   this crate that says all work on it is done and the next submission that uses it;
    /// - the buffer has memory bound and may be used by the queue families of the context it is given to (one family,
    ///   or concurrent sharing).
    #[must_use]
    pub unsafe fn new(range: Subbuffer<[u8]>) -> UserBuffer {
        UserBuffer { bytes: range }
    }

    /// Bytes of the range.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.bytes.size()
    }
}

impl Gpu {
    /// Allocates memory of unspecified contents. Usable as storage and uniform buffer and as source and destination
    /// of copies, by every queue of this device.
    pub(crate) fn allocate(
        &self,
        bytes: u64,
        kind: MemoryKind,
    ) -> Result<Arc<Memory>, DeviceError> {
        if bytes == 0 {
            return Err(DeviceError::ZeroSize);
        }
        let limit = self.caps().limits().max_memory_object;
        let over = DeviceError::OverLimit {
            what: "a memory object",
            asked: bytes,
            limit,
            name: "maxBufferSize, maxMemoryAllocationSize",
        };
        let capacity = bytes
            .checked_next_multiple_of(GRANULE)
            .filter(|size| *size <= limit)
            .ok_or_else(|| over.clone())?;
        let layout = DeviceLayout::from_size_alignment(capacity, GRANULE).ok_or(over)?;
        let mut usage = BufferUsage::STORAGE_BUFFER
            | BufferUsage::UNIFORM_BUFFER
            | BufferUsage::TRANSFER_SRC
            | BufferUsage::TRANSFER_DST;
        if self.caps().device_addresses {
            usage |= BufferUsage::SHADER_DEVICE_ADDRESS;
        }
        let info = BufferCreateInfo {
            sharing: self.sharing(),
            usage,
            ..BufferCreateInfo::default()
        };
        let allocation = AllocationCreateInfo {
            memory_type_filter: self.filter(kind),
            ..AllocationCreateInfo::default()
        };
        let buffer = Buffer::new(self.0.allocator.clone(), info, allocation, layout)
            .map_err(|error| allocation_error(kind, bytes, &error))?;
        self.0.counters.allocation();
        // On a plain device the host reaches staging memory only.
        let in_reach = self.0.direct || kind != MemoryKind::Device;
        Ok(Arc::new(self.wrap(
            Subbuffer::new(buffer),
            bytes,
            Origin {
                imported: false,
                in_reach,
            },
        )))
    }

    /// Takes a vulkano buffer range of the user's as memory.
    pub(crate) fn import(&self, buffer: &UserBuffer) -> Result<Arc<Memory>, DeviceError> {
        let range = buffer.bytes.clone();
        if vulkano::device::DeviceOwned::device(range.buffer().as_ref()) != self.device() {
            return Err(DeviceError::Foreign {
                what: "imported buffer",
            });
        }
        let needed = [
            (BufferUsage::STORAGE_BUFFER, "STORAGE_BUFFER"),
            (BufferUsage::TRANSFER_SRC, "TRANSFER_SRC"),
            (BufferUsage::TRANSFER_DST, "TRANSFER_DST"),
        ];
        for (usage, name) in needed {
            if !range.buffer().usage().contains(usage) {
                return Err(DeviceError::MissingUsage { usage: name });
            }
        }
        let size = range.size();
        let origin = Origin {
            imported: true,
            in_reach: self.0.direct,
        };
        Ok(Arc::new(self.wrap(range, size, origin)))
    }

    fn wrap(&self, range: Subbuffer<[u8]>, size: u64, origin: Origin) -> Memory {
        let memory_types = &self
            .device()
            .physical_device()
            .memory_properties()
            .memory_types;
        let flags = match range.buffer().memory() {
            BufferMemory::Normal(memory) => {
                let index = memory.device_memory().memory_type_index();
                memory_types[index as usize].property_flags
            }
            // Sparse or foreign memory: it may be visible to the host, but not through vulkano.
            _ => MemoryPropertyFlags::empty(),
        };
        let known = matches!(range.buffer().memory(), BufferMemory::Normal(_));
        let coherent =
            flags.contains(MemoryPropertyFlags::HOST_VISIBLE | MemoryPropertyFlags::HOST_COHERENT);
        let host = if coherent && origin.in_reach {
            range.mapped_slice().ok()
        } else {
            None
        };
        let usage = range.buffer().usage();
        let addressable =
            self.caps().device_addresses && usage.contains(BufferUsage::SHADER_DEVICE_ADDRESS);
        Memory {
            id: unique_id(),
            gpu: self.0.id,
            size,
            capacity: range.size(),
            handle: range.buffer().handle(),
            base: range.offset(),
            address: if addressable {
                range.device_address().ok().map(|a| a.get())
            } else {
                None
            },
            host: host.map(|bytes| HostView {
                start: bytes.cast(),
                cached: flags.contains(MemoryPropertyFlags::HOST_CACHED),
                lock: Mutex::new(()),
            }),
            host_visible: !known || flags.contains(MemoryPropertyFlags::HOST_VISIBLE),
            imported: origin.imported,
            uniform: usage.contains(BufferUsage::UNIFORM_BUFFER),
            _buffer: range,
        }
    }

    fn sharing(&self) -> Sharing<smallvec::SmallVec<[u32; 4]>> {
        if self.0.families.len() > 1 {
            Sharing::Concurrent(self.0.families.clone())
        } else {
            Sharing::Exclusive
        }
    }

    fn filter(&self, kind: MemoryKind) -> MemoryTypeFilter {
        use MemoryPropertyFlags as F;
        let mapped = F::HOST_VISIBLE | F::HOST_COHERENT;
        match kind {
            MemoryKind::Device => MemoryTypeFilter {
                required_flags: F::empty(),
                preferred_flags: F::DEVICE_LOCAL,
                // The window through which the host sees a card's memory is small and slow to read.
                not_preferred_flags: if self.caps().info.kind == DeviceKind::Discrete {
                    F::HOST_VISIBLE
                } else {
                    F::empty()
                },
            },
            MemoryKind::Upload => MemoryTypeFilter {
                required_flags: mapped,
                preferred_flags: F::empty(),
                not_preferred_flags: F::HOST_CACHED | F::DEVICE_LOCAL,
            },
            MemoryKind::Readback => MemoryTypeFilter {
                required_flags: mapped,
                preferred_flags: F::HOST_CACHED,
                not_preferred_flags: F::DEVICE_LOCAL,
            },
        }
    }
}

fn allocation_error(
    kind: MemoryKind,
    bytes: u64,
    error: &Validated<AllocateBufferError>,
) -> DeviceError {
    use AllocateBufferError as A;
    let out_of_memory = matches!(
        error,
        Validated::Error(
            A::CreateBuffer(VulkanError::OutOfDeviceMemory | VulkanError::OutOfHostMemory)
                | A::BindMemory(VulkanError::OutOfDeviceMemory | VulkanError::OutOfHostMemory)
                | A::AllocateMemory(
                    MemoryAllocatorError::AllocateDeviceMemory(_)
                        | MemoryAllocatorError::FindMemoryType
                        | MemoryAllocatorError::BlockSizeExceeded
                        | MemoryAllocatorError::OutOfPoolMemory
                )
        )
    );
    if out_of_memory {
        let kind = match kind {
            MemoryKind::Device => "device",
            MemoryKind::Upload => "upload",
            MemoryKind::Readback => "readback",
        };
        DeviceError::OutOfMemory {
            kind,
            bytes,
            reason: error.to_string(),
        }
    } else {
        DeviceError::call("vkCreateBuffer", error)
    }
}
