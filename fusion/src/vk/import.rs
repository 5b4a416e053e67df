//! The user's own vulkano buffers as memory.

use std::sync::Arc;

use vulkano::{
    buffer::{BufferUsage, Subbuffer},
    device::DeviceOwned,
};

use super::{DeviceError, Gpu, Memory, memory::Origin};

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
    /// Takes a vulkano buffer range of the user's as memory.
    pub(crate) fn import(&self, buffer: &UserBuffer) -> Result<Arc<Memory>, DeviceError> {
        let range = buffer.bytes.clone();
        if range.buffer().device() != self.device() {
            return Err(DeviceError::Foreign { what: "imported buffer" });
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
        let origin = Origin { imported: true, in_reach: self.0.direct };
        Ok(Arc::new(Memory::over(self, range, size, origin)))
    }
}
