//! Accessors: a buffer, or a part of it, and how a submission accesses it.

use std::{ops::Range, sync::Arc};

use bytemuck::Pod;

use crate::{
    error::{BufferError, Error},
    jit::{ElementType, Promote},
    submission::{buffer::BufferInner, device::Device, element::element_type, held::Held},
};

/// How a submission may use a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Access {
    Read,
    Write,
    ReadWrite,
}

impl Access {
    pub(crate) fn may_write(self) -> bool {
        self != Access::Read
    }
}

/// A buffer, or a part of it, and how a submission accesses it.
///
/// [`Buffer::read`](crate::Buffer::read), [`Buffer::write`](crate::Buffer::write) and
/// [`Buffer::read_write`](crate::Buffer::read_write) make accessors that borrow the buffer; [`into_owned`](Accessor::into_owned) makes one
/// that owns it.
///
/// What a kernel reads and writes is found in its code. The accessor only restricts it: submitting a kernel that writes through a
/// [`Buffer::read`](crate::Buffer::read) accessor is an error.
#[derive(Debug, Clone)]
pub struct Accessor<'a> {
    pub(crate) buffer: Held<'a, BufferInner>,
    pub(crate) access: Access,
    /// Bytes of one element, for messages and ranges.
    pub(crate) element: u64,
    /// What an element is, to be compared with what the kernel takes there.
    pub(crate) ty: ElementType,
    /// In elements, from the start of the buffer.
    pub(crate) offset: u64,
    /// In elements.
    pub(crate) count: u64,
    pub(crate) promote: Option<Promote>,
    /// What it holds stays as it is until the list has run.
    pub(crate) constant: bool,
}

impl<'a> Accessor<'a> {
    #[inline]
    pub(crate) fn new(
        buffer: &'a Arc<BufferInner>,
        (element, ty): (u64, ElementType),
        count: u64,
        access: Access,
    ) -> Accessor<'a> {
        Accessor::with(Held::Lent(buffer), (element, ty), count, access)
    }

    #[inline]
    pub(crate) fn with(
        buffer: Held<'a, BufferInner>,
        (element, ty): (u64, ElementType),
        count: u64,
        access: Access,
    ) -> Accessor<'a> {
        Accessor { buffer, access, element, ty, offset: 0, count, promote: None, constant: false }
    }

    /// Returns an accessor that owns the buffer, for structures that outlive the handle that it was made from.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), vkfuse::Error> {
    /// # let context = vkfuse::Context::new()?;
    /// let kept: vkfuse::Accessor<'static> = {
    ///     let buffer = context.buffer::<f32>(1000)?;
    ///     buffer.read().into_owned()
    /// };
    /// # drop(kept);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn into_owned(self) -> Accessor<'static> {
        let Accessor { buffer, access, element, ty, offset, count, promote, constant } = self;
        let buffer = Held::Own(buffer.into_inner());
        Accessor { buffer, access, element, ty, offset, count, promote, constant }
    }

    /// The same bytes as elements of another type, like [`Buffer::cast`](crate::Buffer::cast). Ranges that are set afterwards count in
    /// these elements.
    #[must_use]
    pub fn cast<T: Pod>(mut self) -> Accessor<'a> {
        let (start, bytes) = self.bytes();
        let size = size_of::<T>().max(1) as u64;
        // What begins inside of an element is outside of the buffer, and found as that.
        self.count =
            if start.is_multiple_of(size) && self.count != u64::MAX { bytes / size } else { u64::MAX };
        (self.offset, self.element, self.ty) = (start / size, size, element_type::<T>());
        self
    }

    /// Says what its elements are where the buffer's type does not: for programs that keep the types of their buffers elsewhere, as
    /// bindings to other languages do. The kernel's are compared with it. Offsets and lengths stay in the buffer's elements.
    #[must_use]
    pub fn elements(mut self, ty: ElementType) -> Accessor<'a> {
        self.ty = ty;
        self
    }

    /// Narrows the accessor to `len` elements from `offset` on, relative to the start of its current range.
    ///
    /// If the range is outside of the buffer, submitting fails with [`SubmitError::OutOfRange`](crate::SubmitError::OutOfRange).
    #[must_use]
    pub fn range(mut self, offset: usize, len: usize) -> Accessor<'a> {
        let outside = (offset as u64).checked_add(len as u64).is_none_or(|end| end > self.count);
        self.offset = self.offset.saturating_add(offset as u64);
        // A range that leaves a narrowed accessor but not the buffer is still an error: it is made to fail the same way.
        self.count =
            if outside && self.offset.saturating_add(len as u64) <= self.buffer.elements(self.element) {
                u64::MAX
            } else {
                len as u64
            };
        self
    }

    /// Requests, like [`Buffer::promote_private`](crate::Buffer::promote_private), that fused kernels keep the contents in registers.
    #[must_use]
    pub fn promote_private(mut self) -> Accessor<'a> {
        self.promote = Some(Promote::Private);
        self
    }

    /// Requests, like [`Buffer::promote_local`](crate::Buffer::promote_local), that fused kernels keep the contents in shared memory.
    #[must_use]
    pub fn promote_local(mut self) -> Accessor<'a> {
        self.promote = Some(Promote::Local);
        self
    }

    /// Lets the planner choose the promotion, like [`Buffer::promote_auto`](crate::Buffer::promote_auto).
    #[must_use]
    pub fn promote_auto(mut self) -> Accessor<'a> {
        self.promote = Some(Promote::Auto);
        self
    }

    /// Overrides the promotion of the buffer: the contents are always written to memory.
    #[must_use]
    pub fn no_promotion(mut self) -> Accessor<'a> {
        self.promote = Some(Promote::None);
        self
    }

    /// Declares that nothing writes these bytes until the submission, or the fusion list that it is in, has run. (For a list that is recorded
    /// into a command buffer: until that has been executed for the last time.) The planner can then use their values like push constants,
    /// for example a row length in a uniform buffer.
    ///
    /// This is not needed for what the host has written to a buffer of up to 4 KiB: the planner uses it anyway, until a
    /// submission or a command may have overwritten it. Other buffers of up to 64 KiB are read when this is submitted,
    /// which waits for work that writes them; imported buffers are read at every submission.
    #[must_use]
    pub fn constant(mut self) -> Accessor<'a> {
        self.constant = true;
        self
    }

    /// The byte range in the buffer, if it is one and the buffer is of this context.
    pub(crate) fn checked(&self, device: &Arc<Device>) -> Result<Range<u64>, Error> {
        if !Arc::ptr_eq(&self.buffer.device, device) {
            return Err(self.buffer.error(BufferError::Foreign));
        }
        if self.buffer.texture.is_some() {
            return Err(self.buffer.error(BufferError::Texture));
        }
        let (offset, count, len) = (self.offset, self.count, self.buffer.elements(self.element));
        if count == 0 || offset.checked_add(count).is_none_or(|end| end > len) {
            return Err(self.buffer.error(BufferError::OutOfRange { offset, count, len }));
        }
        let (start, bytes) = self.bytes();
        Ok(start..start + bytes)
    }

    /// First byte in the buffer, and number of bytes. Only meaningful once the range was checked.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (self.offset.saturating_mul(self.element), self.count.saturating_mul(self.element))
    }
}

impl<'a> From<&Accessor<'a>> for Accessor<'a> {
    fn from(accessor: &Accessor<'a>) -> Accessor<'a> {
        accessor.clone()
    }
}
