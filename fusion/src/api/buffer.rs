//! Typed memory on the device.

use std::{
    marker::PhantomData,
    sync::{Arc, atomic::Ordering::Release},
};

use bytemuck::Pod;

use crate::{
    api::context::Context,
    error::{BufferError, Error},
    jit::{BufferId, Promote},
    runtime::context::ContextInner,
    submission::{
        accessor::{Access, Accessor},
        buffer::{BufferInner, Handle},
        element::element_type,
    },
};

mod host;

pub(crate) use host::repeated_word;

/// Typed memory on the device. A handle: clones are the same memory, which lives until the last handle and the last
/// submission that uses it are gone.
///
/// New buffers are filled with zeros. Buffers of [`Context::scratch`] get device memory when something first needs it,
/// which is never where every use of them was kept inside fused kernels.
#[derive(Debug)]
pub struct Buffer<T> {
    pub(crate) inner: Handle,
    pub(crate) context: Arc<ContextInner>,
    element: PhantomData<fn() -> T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Buffer { inner: self.inner.clone(), context: self.context.clone(), element: PhantomData }
    }
}

impl<T: Pod> Buffer<T> {
    pub(crate) fn over(context: &Arc<ContextInner>, inner: Arc<BufferInner>) -> Buffer<T> {
        Buffer { inner: Handle::new(inner), context: context.clone(), element: PhantomData }
    }

    /// Number of elements.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        (self.inner.size / size_of::<T>().max(1) as u64) as usize
    }

    /// Whether there are no elements; so only of an import of fewer bytes than an element has.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.inner.size
    }

    /// The identity of the memory, as reports name it. Buffers over the same imported memory have the same.
    #[must_use]
    pub fn id(&self) -> BufferId {
        self.inner.shared.id.planned()
    }

    /// The name in messages and reports: the one given, or `buffer` with a number.
    #[must_use]
    pub fn name(&self) -> String {
        self.inner.name().to_string()
    }

    /// The context it belongs to.
    #[must_use]
    pub fn context(&self) -> Context {
        Context { inner: self.context.clone() }
    }

    /// The same memory as elements of another type, as many as fit. A kernel's element type is compared with it.
    /// Nothing is converted.
    ///
    /// A submission is an error where a kernel has elements of another type than the buffer: floats instead of integers, or
    /// scalars of another size. Integers with and without sign are one, a buffer of scalars may be vectors or structures of them,
    /// and a buffer of `u8` anything.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), vkfuse::Error> {
    /// # let context = vkfuse::Context::new()?;
    /// let bits = context.buffer_from(&[0x3f80_0000_u32])?;
    /// let floats = bits.cast::<f32>();
    /// assert_eq!(floats.download()?, [1.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cast<U: Pod>(&self) -> Buffer<U> {
        Buffer { inner: self.inner.clone(), context: self.context.clone(), element: PhantomData }
    }

    /// The address of the first element, for kernels that take pointers. Such a kernel's submission must say what it
    /// reaches through them, with [`Handler::uses`](crate::Handler::uses).
    ///
    /// From then on no fused kernel keeps contents of that memory to itself, whichever buffer names them: the address of
    /// one part of an imported vulkano buffer leads to the others.
    ///
    /// # Errors
    ///
    /// A device without buffer addresses, or no memory left.
    pub fn device_address(&self) -> Result<u64, Error> {
        let memory = self.inner.memory(&mut self.context.lock().graph)?.clone();
        if self.inner.shared.tell(self.inner.reach) {
            // What is known about lists with it does not hold any more.
            self.context.contents.fetch_add(1, Release);
        }
        memory.device_address().ok_or_else(|| self.inner.error(BufferError::NoAddress))
    }

    /// Gives it a name for messages and reports, which every handle has.
    pub fn set_name(&self, name: &str) {
        self.inner.set_name(name);
    }

    /// Says whether and how fused kernels may keep the contents to themselves. A property of the memory: every handle has it.
    pub fn set_promotion(&self, promote: Promote) {
        self.inner.set_promote(promote);
    }

    /// As [`set_name`](Buffer::set_name), in the expression that makes the buffer.
    #[must_use]
    pub fn named(self, name: &str) -> Buffer<T> {
        self.set_name(name);
        self
    }

    /// As [`set_promotion`](Buffer::set_promotion), in the expression that makes the buffer.
    fn promoted(self, promote: Promote) -> Buffer<T> {
        self.set_promotion(promote);
        self
    }

    /// Asks that fused kernels keep the contents in registers: each element is only used by one invocation.
    ///
    /// A property of the memory: every handle has it. What could not be shown to be right is not done, and the report
    /// says why.
    #[must_use]
    pub fn promote_private(self) -> Buffer<T> {
        self.promoted(Promote::Private)
    }

    /// Asks that fused kernels keep the contents in shared memory: each element is only used by one work-group.
    #[must_use]
    pub fn promote_local(self) -> Buffer<T> {
        self.promoted(Promote::Local)
    }

    /// Leaves it to the planner whether and how the contents stay inside a fused kernel.
    #[must_use]
    pub fn promote_auto(self) -> Buffer<T> {
        self.promoted(Promote::Auto)
    }

    /// Takes a promotion back.
    #[must_use]
    pub fn no_promotion(self) -> Buffer<T> {
        self.promoted(Promote::None)
    }

    /// An accessor that only reads.
    #[must_use]
    #[inline]
    pub fn read(&self) -> Accessor<'_> {
        self.accessor(Access::Read)
    }

    /// An accessor that writes.
    #[must_use]
    #[inline]
    pub fn write(&self) -> Accessor<'_> {
        self.accessor(Access::Write)
    }

    /// An accessor that reads and writes.
    #[must_use]
    #[inline]
    pub fn read_write(&self) -> Accessor<'_> {
        self.accessor(Access::ReadWrite)
    }

    /// An accessor that only reads, of contents that stay as they are: see [`Accessor::constant`].
    #[must_use]
    pub fn constant(&self) -> Accessor<'_> {
        self.read().constant()
    }

    #[inline]
    fn accessor(&self, access: Access) -> Accessor<'_> {
        let element = (size_of::<T>() as u64, element_type::<T>());
        Accessor::new(&self.inner, element, self.len() as u64, access)
    }
}

impl<'a, T: Pod> From<&'a Buffer<T>> for Accessor<'a> {
    fn from(buffer: &'a Buffer<T>) -> Accessor<'a> {
        buffer.read_write()
    }
}
