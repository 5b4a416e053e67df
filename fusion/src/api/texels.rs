//! Buffers for kernels that read and write them through a format.

use std::{ops::Range, sync::Arc};

use bytemuck::Pod;
use vulkano::format::Format;

use crate::{
    api::buffer::Buffer,
    error::{BufferError, Error},
    jit::ElementType,
    submission::{
        accessor::{Access, Accessor},
        buffer::BufferInner,
    },
};

/// A buffer, or a part of it, seen through a format.
///
/// A kernel takes it as `samplerBuffer`, `textureBuffer` or `imageBuffer`.
/// This is a handle: clones are the same view, which keeps the buffer.
///
/// It has the bytes of the buffer, so work on either is in order with work on the other. A kernel with such arguments is a dispatch of
/// its own in a fusion list; what comes before and after it fuses.
///
/// ```no_run
/// # use vkfuse::vulkano::format::Format;
/// # fn main() -> Result<(), vkfuse::Error> {
/// # let context = vkfuse::Context::new()?;
/// # let queue = context.queue(vkfuse::QueueOptions::new())?;
/// # let curve = context.load_spirv("curve.spv")?;
/// let table = context.buffer_from(&[0u8, 64, 128, 255])?;
/// let values = context.buffer_from(&[0.0f32; 1024])?;
/// let table = table.texels(Format::R8_UNORM)?;
/// queue.submit(|h| {
///     h.arg(0, table.read()).arg(1, values.read_write()).dispatch_items(&curve, [1024, 1, 1]);
/// })?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Texels {
    buffer: Arc<BufferInner>,
}

impl<T: Pod> Buffer<T> {
    /// All of it, seen through a format. The buffer gets memory now if it had none yet.
    ///
    /// # Errors
    ///
    /// A format that the device has no texel buffers of (of a buffer made by this crate: no uniform and storage ones); one whose
    /// texels do not fill the buffer exactly; more texels than `maxTexelBufferElements`; an imported buffer without the usages
    /// `UNIFORM_TEXEL_BUFFER` and `STORAGE_TEXEL_BUFFER`; no memory left.
    pub fn texels(&self, format: Format) -> Result<Texels, Error> {
        self.texels_of(format, 0..self.len())
    }

    /// A range of its elements, seen through a format.
    ///
    /// # Errors
    ///
    /// As for [`texels`](Buffer::texels); a range that is empty, reaches outside, or starts where the device has no texel buffers
    /// start (`minTexelBufferOffsetAlignment`).
    pub fn texels_of(&self, format: Format, range: Range<usize>) -> Result<Texels, Error> {
        let (start, end, len) = (range.start, range.end, self.len());
        if start >= end || end > len {
            let (offset, count) = (start as u64, end.saturating_sub(start) as u64);
            return Err(self.inner.error(BufferError::OutOfRange { offset, count, len: len as u64 }));
        }
        let element = size_of::<T>() as u64;
        let bytes = start as u64 * element..end as u64 * element;
        let deps = &mut self.context.lock().deps;
        Ok(Texels { buffer: self.inner.texels(deps, format, bytes)? })
    }
}

impl Texels {
    fn accessor(&self, access: Access) -> Accessor<'_> {
        Accessor::new(&self.buffer, (1, ElementType::Bytes), self.buffer.size, access)
    }

    /// An accessor that only reads.
    #[must_use]
    pub fn read(&self) -> Accessor<'_> {
        self.accessor(Access::Read)
    }

    /// An accessor that writes.
    #[must_use]
    pub fn write(&self) -> Accessor<'_> {
        self.accessor(Access::Write)
    }

    /// An accessor that reads and writes.
    #[must_use]
    pub fn read_write(&self) -> Accessor<'_> {
        self.accessor(Access::ReadWrite)
    }

    /// Number of bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.buffer.size
    }
}

impl<'a> From<&'a Texels> for Accessor<'a> {
    fn from(texels: &'a Texels) -> Accessor<'a> {
        texels.read_write()
    }
}
