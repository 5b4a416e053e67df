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
///
/// # The program's own submissions
///
/// What this crate submits is ordered by the bytes it uses, over all queues of a context; what the program submits by itself
/// is not seen. So the program orders its own work on a range that it has imported:
///
/// - *After the crate's.* Wait for the event of the last submission that uses the range, or for the context. (A list that is
///   still recorded runs as it is waited for.) The writes are available then. The program's work makes them visible to
///   itself: with a memory barrier from all commands and `MEMORY_WRITE` to whatever it does first, or by waiting for a
///   semaphore that was signalled on that queue afterwards.
/// - *Before the crate's.* Wait for the program's work on the host, by its fence or semaphore, before the next call that
///   uses the range. Its last command is a memory barrier from its writes to all commands and
///   `MEMORY_READ | MEMORY_WRITE`, because this crate begins with a barrier only after work of its own.
/// - *The host* sees through a mapping of the program's own what an event says is done, where the memory is coherent. What
///   it wrote there is seen by everything submitted later.
///
/// Waits may not be left out because both submit to the same Vulkan queue: which one this crate uses is its affair, unless
/// the context was made over one. Over one queue, the barriers alone order work that was submitted between two calls of
/// this crate, if no list with the range is being recorded.
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
    ///   this crate that says all work on it is done and the next submission that uses it, ordered as
    ///   [above](UserBuffer#the-programs-own-submissions);
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
        let origin = Origin { in_reach: self.0.direct };
        Ok(Arc::new(Memory::over(self, range, size, origin)))
    }
}
