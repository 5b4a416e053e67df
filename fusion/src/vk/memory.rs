//! Buffers with memory behind them.

use std::sync::Arc;

use super::{DeviceError, Gpu};

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
    size: u64,
}

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
        false
    }

    /// The address kernels see, where the device has addresses.
    pub(crate) fn device_address(&self) -> Option<u64> {
        None
    }

    /// The identity and range of the underlying Vulkan buffer. Two imported memory objects may share a buffer; those
    /// conflict where these ranges overlap. For memory allocated here the key is its own.
    pub(crate) fn alias_key(&self) -> (u64, std::ops::Range<u64>) {
        (self.id, 0..self.size)
    }
}

impl Gpu {
    /// Allocates memory of unspecified contents. Usable as storage and uniform buffer and as source and destination
    /// of copies, by every queue of this device.
    pub(crate) fn allocate(&self, bytes: u64, kind: MemoryKind) -> Result<Arc<Memory>, DeviceError> {
        let _ = (bytes, kind);
        Err(DeviceError::Lost)
    }

    /// Takes a vulkano buffer range of the user's as memory.
    ///
    /// # Safety
    ///
    /// While the memory or any submission that uses it lives: nobody else accesses the range, through vulkano or
    /// otherwise, except after an event of this crate says that the work is done; the buffer may be used by the
    /// queue families of this context; and it has memory bound.
    pub(crate) unsafe fn import(&self, buffer: vulkano::buffer::Subbuffer<[u8]>) -> Result<Arc<Memory>, DeviceError> {
        let _ = buffer;
        Err(DeviceError::Lost)
    }
}
