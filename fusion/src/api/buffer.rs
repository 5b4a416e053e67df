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

/// A buffer of `T` in device memory.
///
/// Buffers are made by [`Context::buffer`] (zeros), [`Context::buffer_from`] (contents), [`Context::scratch`] (temporaries) and
/// [`Context::import`] (memory of the program). Kernels get them as accessors: [`read`](Buffer::read), [`write`](Buffer::write) and
/// [`read_write`](Buffer::read_write). The host accesses them with [`upload`](Buffer::upload), [`download`](Buffer::download) and
/// [`fill`](Buffer::fill), which wait for the work that they depend on.
///
/// A buffer may be *promoted* ([`promote_auto`](Buffer::promote_auto)): then fused kernels may keep its contents in registers or shared
/// memory instead of writing them to device memory. Reading it afterwards is an error until something writes it.
///
/// This is a handle: clones are the same memory, which is freed when the last handle is dropped and the last submission that uses it
/// has completed.
#[derive(Debug)]
pub struct Buffer<T> {
    pub(crate) inner: Handle,
    pub(crate) context: Arc<ContextInner>,
    element: PhantomData<fn() -> T>,
}

/// What a buffer can be made of: every type whose bytes may be any, [`Pod`]. A `bool` is none:
///
/// ```compile_fail,E0277
/// fn make(context: &vkfuse::Context) -> Result<vkfuse::Buffer<bool>, vkfuse::Error> {
///     context.buffer(10)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of a buffer: its bytes are not known to be plain data",
    note = "elements are numbers, arrays of them, and structures with `#[repr(C)]` and `#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]`",
    note = "where a kernel has a `bool` in memory it is a `u32`, 0 or 1"
)]
pub trait BufferElement: Pod {}

#[diagnostic::do_not_recommend]
impl<T: Pod> BufferElement for T {}

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

    /// Whether there are no elements. Only an imported buffer can be empty, if it has fewer bytes than one element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.inner.size
    }

    /// The id of the memory in reports. Buffers over the same imported memory have the same id.
    #[must_use]
    pub fn id(&self) -> BufferId {
        self.inner.shared.id.planned()
    }

    /// The name in messages and reports: the one that was [set](Buffer::set_name), or `buffer` with a number.
    #[must_use]
    pub fn name(&self) -> String {
        self.inner.name().to_string()
    }

    /// The context that it belongs to.
    #[must_use]
    pub fn context(&self) -> Context {
        Context { inner: self.context.clone() }
    }

    /// Returns a handle of the same memory with another element type, and as many elements as fit. No bytes are converted.
    ///
    /// The element type of a buffer is compared with that of the kernel: a submission fails where a kernel declares floats instead of
    /// integers, or scalars of another size. Signed and unsigned integers are not distinguished, a buffer of scalars may be declared as vectors or
    /// structures of them, and a buffer of `u8` as anything.
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

    /// The device address of the first element, for kernels that take pointers. Submissions of such kernels declare the buffers that they
    /// access through pointers with [`Handler::uses`](crate::Handler::uses).
    ///
    /// From then on the contents of this memory are not promoted. For an imported buffer this applies to all of the Vulkan buffer, since
    /// the address of one part leads to the others.
    ///
    /// # Errors
    ///
    /// Fails if the device does not support buffer addresses, or if there is not enough memory.
    pub fn device_address(&self) -> Result<u64, Error> {
        let memory = self.inner.memory(&mut self.context.lock().deps)?.clone();
        if self.inner.shared.escape(self.inner.reach) {
            // What is known about lists with it does not hold any more.
            self.context.contents.fetch_add(1, Release);
        }
        memory.device_address().ok_or_else(|| self.inner.error(BufferError::NoAddress))
    }

    /// Sets the name in messages and reports, for all handles of the buffer.
    pub fn set_name(&self, name: &str) {
        self.inner.set_name(name);
    }

    /// Sets whether, and where, fused kernels may keep the contents instead of writing them to memory, for all handles of the buffer.
    pub fn set_promotion(&self, promote: Promote) {
        self.inner.set_promote(promote);
    }

    /// Sets the name like [`set_name`](Buffer::set_name), and returns the buffer.
    #[must_use]
    pub fn named(self, name: &str) -> Buffer<T> {
        self.set_name(name);
        self
    }

    /// Sets the promotion like [`set_promotion`](Buffer::set_promotion), and returns the buffer.
    fn promoted(self, promote: Promote) -> Buffer<T> {
        self.set_promotion(promote);
        self
    }

    /// Requests that fused kernels keep the contents in registers. This takes lists in which each element is used by one invocation alone.
    ///
    /// The request applies to all handles of the buffer. Where it cannot be shown to be correct the contents are written to memory as usual,
    /// and the report gives the reason.
    #[must_use]
    pub fn promote_private(self) -> Buffer<T> {
        self.promoted(Promote::Private)
    }

    /// Requests that fused kernels keep the contents in shared memory. This takes lists in which each element is used by one work-group alone.
    /// Otherwise as [`promote_private`](Buffer::promote_private).
    #[must_use]
    pub fn promote_local(self) -> Buffer<T> {
        self.promoted(Promote::Local)
    }

    /// Lets the planner choose whether fused kernels keep the contents in registers, in shared memory, or in device memory.
    #[must_use]
    pub fn promote_auto(self) -> Buffer<T> {
        self.promoted(Promote::Auto)
    }

    /// Withdraws a promotion: the contents are always written to device memory.
    #[must_use]
    pub fn no_promotion(self) -> Buffer<T> {
        self.promoted(Promote::None)
    }

    /// Passes the buffer to a kernel that reads it.
    #[must_use]
    #[inline]
    pub fn read(&self) -> Accessor<'_> {
        self.accessor(Access::Read)
    }

    /// Passes the buffer to a kernel that writes it.
    #[must_use]
    #[inline]
    pub fn write(&self) -> Accessor<'_> {
        self.accessor(Access::Write)
    }

    /// Passes the buffer to a kernel that reads and writes it.
    #[must_use]
    #[inline]
    pub fn read_write(&self) -> Accessor<'_> {
        self.accessor(Access::ReadWrite)
    }

    /// Passes the buffer to a kernel that reads it, with contents that do not change: see [`Accessor::constant`].
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
