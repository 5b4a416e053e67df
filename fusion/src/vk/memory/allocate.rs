//! New memory: which kind, how much, and what it costs to ask for too much.

use std::sync::Arc;

use vulkano::{
    Validated, VulkanError,
    buffer::{AllocateBufferError, Buffer, BufferCreateInfo, BufferUsage, Subbuffer},
    memory::{
        MemoryPropertyFlags,
        allocator::{
            AllocationCreateInfo, DeviceLayout, MemoryAllocatePreference, MemoryAllocatorError,
            MemoryTypeFilter,
        },
    },
    sync::Sharing,
};

use crate::vk::{DeviceError, DeviceKind, Gpu, Memory, memory::buffer::Origin};

/// What the size of every allocation is rounded up to, so that whole words (and 16-byte accesses) fit at its end.
const GRANULE: u64 = 16;

/// Staging memory from this size on is allocated by itself.
const OWN_ALLOCATION: u64 = 1 << 20;

/// Where memory lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum MemoryKind {
    /// Fast for the device; the host may or may not reach it.
    Device,
    /// Mapped, written by the host in order.
    Upload,
    /// Mapped, read by the host in any order.
    Readback,
    /// Mapped, written by the host and read by kernels; the device's own where the host reaches that.
    Passed,
}

impl Gpu {
    /// Allocates memory of unspecified contents. Usable as storage and uniform buffer and as source and destination
    /// of copies, by every queue of this device.
    pub(crate) fn allocate(&self, bytes: u64, kind: MemoryKind) -> Result<Arc<Memory>, DeviceError> {
        self.caps().runs()?;
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
        let capacity = bytes.checked_next_multiple_of(GRANULE).filter(|size| *size <= limit).ok_or(over)?;
        // On a plain device the host reaches staging memory only.
        let in_reach = self.0.direct || kind != MemoryKind::Device;
        let over = |buffer| Memory::over(self, buffer, bytes, Origin { in_reach, bound: None, kept: None });
        if kind != MemoryKind::Device {
            return Ok(Arc::new(over(self.new_buffer(bytes, capacity, kind)?)));
        }
        let buffer = match self.0.spares.take(capacity) {
            Some(buffer) => buffer,
            None => match self.new_buffer(bytes, capacity, kind) {
                // What is kept for later is of more use now.
                Err(DeviceError::OutOfMemory { .. }) if self.0.spares.clear() => {
                    self.new_buffer(bytes, capacity, kind)?
                }
                made => made?,
            },
        };
        Ok(Arc::new(over(buffer).with_spares(&self.0.spares)))
    }

    fn new_buffer(
        &self,
        bytes: u64,
        capacity: u64,
        kind: MemoryKind,
    ) -> Result<Subbuffer<[u8]>, DeviceError> {
        let layout = DeviceLayout::from_size_alignment(capacity, GRANULE);
        let layout = layout.ok_or(DeviceError::ZeroSize)?;
        let mut usage = BufferUsage::STORAGE_BUFFER
            | BufferUsage::UNIFORM_BUFFER
            | BufferUsage::UNIFORM_TEXEL_BUFFER
            | BufferUsage::STORAGE_TEXEL_BUFFER
            | BufferUsage::TRANSFER_SRC
            | BufferUsage::TRANSFER_DST;
        if self.caps().device_addresses {
            usage |= BufferUsage::SHADER_DEVICE_ADDRESS;
        }
        let info = BufferCreateInfo { sharing: self.sharing(), usage, ..BufferCreateInfo::default() };
        let allocation = AllocationCreateInfo {
            memory_type_filter: self.filter(kind),
            // A pinned block of the allocator's usual size takes longer to make than most transfers last.
            allocate_preference: if kind != MemoryKind::Device && capacity >= OWN_ALLOCATION {
                MemoryAllocatePreference::AlwaysAllocate
            } else {
                MemoryAllocatePreference::Unknown
            },
            ..AllocationCreateInfo::default()
        };
        let buffer = Buffer::new(self.0.allocator.clone(), info, allocation, layout)
            .map_err(|error| allocation_error(kind, bytes, &error))?;
        self.0.counters.allocation();
        Ok(Subbuffer::new(buffer))
    }

    pub(in crate::vk) fn sharing(&self) -> Sharing<smallvec::SmallVec<[u32; 4]>> {
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
            MemoryKind::Passed => MemoryTypeFilter {
                required_flags: mapped,
                preferred_flags: F::DEVICE_LOCAL,
                not_preferred_flags: F::HOST_CACHED,
            },
            MemoryKind::Readback => MemoryTypeFilter {
                required_flags: mapped,
                preferred_flags: F::HOST_CACHED,
                not_preferred_flags: F::DEVICE_LOCAL,
            },
        }
    }
}

fn allocation_error(kind: MemoryKind, bytes: u64, error: &Validated<AllocateBufferError>) -> DeviceError {
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
            MemoryKind::Passed => "argument",
        };
        DeviceError::OutOfMemory { kind, bytes, reason: error.to_string() }
    } else {
        DeviceError::call("vkCreateBuffer", error)
    }
}
