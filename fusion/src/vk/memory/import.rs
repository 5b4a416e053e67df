//! The user's own buffers as memory: vulkano's objects, or handles.

use std::{any::Any, sync::Arc};

use ash::vk::{self, Handle};
use vulkano::{
    VulkanObject,
    buffer::{BufferCreateInfo, BufferUsage, Subbuffer, sys},
    device::DeviceOwned,
};

use crate::vk::{
    DeviceError, Gpu, Memory,
    memory::buffer::{Bound, Holder, Origin},
    raw::Kept,
};

/// A buffer range of the user's, with the user's word that it is free to use.
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
///   semaphore that was signalled on that queue afterwards. Instead of waiting on the host, its submission may wait for
///   the event's semaphore ([`Event::semaphore`](crate::Event::semaphore)), or for one that
///   [`Queue::signal_semaphore`](crate::Queue::signal_semaphore) signals.
/// - *Before the crate's.* Wait for the program's work on the host, by its fence or semaphore, before the next call that
///   uses the range. Its last command is a memory barrier from its writes to all commands and
///   `MEMORY_READ | MEMORY_WRITE`, because this crate begins with a barrier only after work of its own. Or let the queue wait
///   for a semaphore that the program's work signals ([`Queue::wait_semaphore`](crate::Queue::wait_semaphore)), which needs
///   neither.
/// - *The host* sees through a mapping of the program's own what an event says is done, where the memory is coherent. What
///   it wrote there is seen by everything submitted later.
///
/// Waits may not be left out because both submit to the same Vulkan queue: which one this crate uses is its affair, unless
/// the context was made over one. Over one queue, the barriers alone order work that was submitted between two calls of
/// this crate, if no list with the range is being recorded.
#[derive(Debug, Clone)]
pub struct UserBuffer {
    bytes: Bytes,
    kept: Option<Kept>,
}

/// A part of a Vulkan buffer by its handle: see [`UserBuffer::from_raw`].
#[derive(Debug, Clone, Copy)]
pub struct RawBuffer {
    /// The buffer.
    pub buffer: vk::Buffer,
    /// The usage that it was made with.
    pub usage: vk::BufferUsageFlags,
    /// Where the part starts, in bytes.
    pub offset: u64,
    /// How many bytes it has.
    pub size: u64,
    /// The memory that the buffer is bound to, and the offset there. Without it no other buffer that a context is given may be
    /// bound to the same bytes; with it they are known to be the same.
    pub memory: Option<(vk::DeviceMemory, u64)>,
}

/// What a buffer range comes as.
#[derive(Debug, Clone)]
enum Bytes {
    Vulkano(Subbuffer<[u8]>),
    Raw(RawBuffer),
}

impl UserBuffer {
    /// Vouches for a vulkano buffer range.
    ///
    /// # Safety
    ///
    /// As long as a buffer of this crate made from it lives, or work that uses it runs:
    ///
    /// - no one else reads or writes the range, neither through vulkano nor otherwise, except between an event of
    ///   this crate that says all work on it is done and the next submission that uses it, ordered as
    ///   [above](UserBuffer#the-programs-own-submissions);
    /// - the buffer has memory bound and may be used by the queue families of the context it is given to (one family,
    ///   or concurrent sharing).
    #[must_use]
    pub unsafe fn new(range: Subbuffer<[u8]>) -> UserBuffer {
        UserBuffer { bytes: Bytes::Vulkano(range), kept: None }
    }

    /// Vouches for a part of a Vulkan buffer by its handle.
    ///
    /// # Safety
    ///
    /// The description is true of the handle, which is null or a buffer of the context's device, and lives as long as a buffer of this
    /// crate made from it or work that uses it; and all that [`new`](UserBuffer::new) asks for.
    #[must_use]
    pub unsafe fn from_raw(buffer: &RawBuffer) -> UserBuffer {
        UserBuffer { bytes: Bytes::Raw(*buffer), kept: None }
    }

    /// Keeps something of the program's, such as an object that owns the Vulkan buffer, as long as a buffer of this crate made from
    /// it lives, or work that uses it runs.
    #[must_use]
    pub fn keeping(mut self, kept: Arc<dyn Any + Send + Sync>) -> UserBuffer {
        self.kept = Some(Kept(kept));
        self
    }

    /// Bytes of the range.
    #[must_use]
    pub fn size(&self) -> u64 {
        match &self.bytes {
            Bytes::Vulkano(range) => range.size(),
            Bytes::Raw(raw) => raw.size,
        }
    }
}

impl Gpu {
    /// Takes a buffer range of the user's as memory.
    pub(crate) fn import(&self, buffer: &UserBuffer) -> Result<Arc<Memory>, DeviceError> {
        let (range, bound) = match &buffer.bytes {
            Bytes::Vulkano(range) => (range.clone(), None),
            Bytes::Raw(raw) => {
                let (range, bound) = self.borrow(raw)?;
                (range, Some(bound))
            }
        };
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
        let origin = Origin { in_reach: self.0.direct, bound, kept: buffer.kept.clone() };
        Ok(Arc::new(Memory::over(self, range, size, origin)))
    }

    /// A vulkano object over a buffer that it does not destroy.
    fn borrow(&self, raw: &RawBuffer) -> Result<(Subbuffer<[u8]>, Bound), DeviceError> {
        let RawBuffer { buffer: handle, usage, offset, size, memory } = *raw;
        if handle.is_null() {
            return Err(DeviceError::NullHandle { what: "buffer" });
        }
        if size == 0 {
            return Err(DeviceError::ZeroSize);
        }
        let device = self.device();
        let mut needs = vk::MemoryRequirements::default();
        // SAFETY: device and buffer are alive (the latter by the user's word), and `needs` outlives the call.
        unsafe { (device.fns().v1_0.get_buffer_memory_requirements)(device.handle(), handle, &mut needs) };
        // The buffer's own size cannot be asked for. It is at most this.
        let end = offset.checked_add(size).filter(|end| *end <= needs.size);
        let Some(end) = end else {
            return Err(DeviceError::OutOfRange {
                what: "an imported buffer",
                offset,
                len: size,
                size: needs.size,
            });
        };
        let info = BufferCreateInfo { size: end, usage: usage.into(), ..BufferCreateInfo::default() };
        // SAFETY: the buffer is of this device, has memory bound, and outlives this object, which does not destroy it (the
        // user's word). Its real size is at least this one.
        let whole =
            unsafe { sys::RawBuffer::from_handle_borrowed(device.clone(), handle, info).assume_bound() };
        let (holder, start) = match memory {
            Some((memory, at)) => (Holder::Memory(memory.as_raw()), at),
            None => (Holder::Buffer(handle.as_raw()), 0),
        };
        let range = Subbuffer::new(Arc::new(whole)).slice(offset..end);
        Ok((range, Bound { holder, start, size: needs.size }))
    }
}
