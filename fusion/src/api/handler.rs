//! The description of one dispatch: kernel, arguments, push constants, size.

use std::sync::Arc;

use bytemuck::NoUninit;

use crate::{
    api::{kernel::Kernel, rust::Launch},
    error::{Error, SubmitError},
    jit::{SetBinding, SpecValue},
    runtime::{context::ContextInner, event::Event},
    submission::{
        accessor::Accessor,
        held::Held,
        request::{Request, Size},
    },
};

/// Describes one dispatch, in the closure of [`Queue::submit`](crate::Queue::submit).
///
/// It takes arguments ([`arg`](Handler::arg)), push
/// constants ([`push`](Handler::push)), specialization constants ([`spec`](Handler::spec)), and the kernel with its size
/// ([`dispatch`](Handler::dispatch), [`dispatch_items`](Handler::dispatch_items)).
///
/// Methods may be called in any order, and return the handler for chaining. Exactly one kernel has to be dispatched. The description is
/// checked when the closure ends; if it does not fit the kernel, nothing is submitted.
///
/// The handler borrows buffers and kernels until [`Queue::submit`](crate::Queue::submit) returns. A closure that makes a buffer, or moves
/// one into itself, passes [`Accessor::into_owned`]; kernels have to be made outside of the closure.
#[derive(Debug)]
pub struct Handler<'a> {
    pub(crate) request: Request<'a>,
    /// What it comes after.
    pub(crate) after: Vec<Event>,
    /// A kernel written in Rust; becomes a dispatch when the closure ends.
    pub(crate) launch: Option<Box<Launch>>,
    /// The first mistake that could be seen at once.
    pub(crate) mistake: Option<Error>,
}

impl<'a> Handler<'a> {
    // Made where it stays: most of it is room for arguments, which is not to be moved.
    #[inline(always)]
    pub(crate) fn new() -> Handler<'a> {
        Handler { request: Request::new(), after: Vec::new(), launch: None, mistake: None }
    }

    /// Binds a buffer, an image, or a part of a buffer. `at` is the binding in descriptor set 0, or `(set, binding)`.
    ///
    /// A single element of an array of descriptors is `SetBinding::from(…).element(n)`; [`args`](Handler::args) binds all of them.
    #[inline]
    pub fn arg(&mut self, at: impl Into<SetBinding>, accessor: impl Into<Accessor<'a>>) -> &mut Handler<'a> {
        self.request.args.push((at.into(), accessor.into()));
        self
    }

    /// Binds all elements of an array of descriptors (`buffer Rows { … } rows[4];`, `texture2D textures[8]`), in order.
    ///
    /// There have to be as many accessors as the array has elements. Where the kernel reads, or writes, any element, it is assumed to do so with all of
    /// them.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), vkfuse::Error> {
    /// # let context = vkfuse::Context::new()?;
    /// # let queue = context.queue(vkfuse::QueueOptions::new())?;
    /// # let sum = context.load_spirv("sum.spv")?;
    /// # let total = context.buffer::<f32>(64)?;
    /// let rows = [context.buffer::<f32>(64)?, context.buffer::<f32>(64)?, context.buffer::<f32>(64)?];
    /// queue.submit(|h| {
    ///     h.args(0, rows.iter().map(|row| row.read())).arg(1, total.write()).dispatch(&sum, [1, 1, 1]);
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn args<A: Into<Accessor<'a>>>(
        &mut self,
        at: impl Into<SetBinding>,
        accessors: impl IntoIterator<Item = A>,
    ) -> &mut Handler<'a> {
        let at = at.into();
        let args = (0..).zip(accessors).map(|(element, accessor)| (at.element(element), accessor.into()));
        self.request.args.extend(args);
        self
    }

    /// Declares that the kernel accesses a buffer through its address ([`Buffer::device_address`](crate::Buffer::device_address))
    /// rather than through a binding.
    ///
    /// Accesses through addresses are not analysed. The accessor is trusted: it orders the submission against others that use the buffer, and
    /// keeps the buffer alive. A kernel that uses addresses without declaring any buffer is ordered against all other work of its queue;
    /// against other queues and the host only [`depends_on`](Handler::depends_on) and waits order it.
    pub fn uses(&mut self, accessor: impl Into<Accessor<'a>>) -> &mut Handler<'a> {
        self.request.uses.push(accessor.into());
        self
    }

    /// Appends a value to the push constants, at the next offset that is a multiple of the value's alignment in Rust.
    ///
    /// For a block of scalars, pushing the members in order gives the right offsets. Vectors have a larger alignment in shaders than in Rust:
    /// push a block with vectors as one `repr(C)` struct with explicit padding.
    ///
    /// Scalars, and arrays of up to four, are compared with the block's: a float is no integer, and 32 bits are no 64. More values than the
    /// block has are an error too. [`push_bytes`](Handler::push_bytes) takes any bytes.
    #[inline]
    pub fn push<P: PushValue>(&mut self, value: &P) -> &mut Handler<'a> {
        let push = &mut self.request.push;
        if !push.len().is_multiple_of(align_of::<P>()) {
            push.resize(push.len().next_multiple_of(align_of::<P>()), 0);
        }
        self.request.pushed.put::<P>(push.len());
        push.extend_from_slice(bytemuck::bytes_of(value));
        self
    }

    /// Appends bytes to the push constants, without any alignment. They may be of any type, and those beyond the block are ignored.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> &mut Handler<'a> {
        self.request.push.extend_from_slice(bytes);
        self
    }

    /// Sets the specialization constant with this `SpecId`. The others keep their defaults.
    pub fn spec(&mut self, id: u32, value: impl IntoSpecValue) -> &mut Handler<'a> {
        self.request.spec.push((id, value.into_spec_value()));
        self
    }

    /// Dispatches a kernel with this many work-groups in each dimension. If one of the counts is 0, the kernel does not run.
    #[inline]
    pub fn dispatch(&mut self, kernel: &'a Kernel, groups: [u32; 3]) -> &mut Handler<'a> {
        self.set_dispatch(kernel, Size::Groups(groups))
    }

    /// Dispatches a kernel with at least this many invocations in each dimension, rounded up to whole work-groups.
    ///
    /// The kernel has to compare its invocation id with the size of its data, since the last work-groups may go beyond it.
    #[inline]
    pub fn dispatch_items(&mut self, kernel: &'a Kernel, items: [u32; 3]) -> &mut Handler<'a> {
        self.set_dispatch(kernel, Size::Items(items))
    }

    /// Dispatches a kernel like [`dispatch`](Handler::dispatch), with work-group ids (and so global ids) that start at `base` instead of 0,
    /// like `vkCmdDispatchBase`.
    ///
    /// Such a submission is never fused. The base is compiled into the code, so that every new base compiles the kernel once; the code is cached
    /// like any other.
    pub fn dispatch_base(
        &mut self,
        kernel: &'a Kernel,
        base: [u32; 3],
        groups: [u32; 3],
    ) -> &mut Handler<'a> {
        self.request.base = base;
        self.set_dispatch(kernel, Size::Groups(groups))
    }

    #[inline]
    fn set_dispatch(&mut self, kernel: &'a Kernel, size: Size) -> &mut Handler<'a> {
        if self.request.dispatch.is_some() || self.launch.is_some() {
            self.second(kernel.name());
        } else {
            self.request.dispatch = Some((Held::Lent(&kernel.inner), size));
        }
        self
    }

    pub(crate) fn set_launch(&mut self, launch: Launch) {
        if self.request.dispatch.is_some() || self.launch.is_some() {
            self.second(launch.name());
        } else {
            self.launch = Some(Box::new(launch));
        }
    }

    /// Notes the mistake that something is dispatched already.
    #[cold]
    fn second(&mut self, name: &str) {
        let dispatched = self.request.dispatch.as_ref().map(|(first, _)| first.jit.name());
        let first = dispatched.or(self.launch.as_ref().map(|launch| launch.name()));
        let problem = SubmitError::SecondDispatch { first: first.unwrap_or("?").to_owned() };
        self.mistake.get_or_insert(Error::submit(name, problem));
    }

    /// Orders the submission after the work of an event, in addition to the order that follows from its buffers.
    ///
    /// In fusion mode, events of the same list have no effect. If the event's submission is in the open list of another queue, that list is
    /// cancelled and runs unfused.
    pub fn depends_on(&mut self, event: &Event) -> &mut Handler<'a> {
        self.after.push(event.clone());
        self
    }

    /// Ends the closure's part.
    pub(crate) fn finish(&mut self, context: &Arc<ContextInner>) -> Result<(), Error> {
        if let Some(mistake) = self.mistake.take() {
            return Err(mistake);
        }
        if let Some(launch) = self.launch.take() {
            launch.resolve(context, &mut self.request)?;
        }
        let foreign = self.after.iter().any(|event| !Arc::ptr_eq(&event.inner.origin.context, context));
        if foreign {
            let kernel = self.request.dispatch.as_ref().map_or("", |(kernel, _)| kernel.jit.name());
            return Err(Error::submit(kernel, SubmitError::Foreign { what: "the event".to_owned() }));
        }
        Ok(())
    }

    /// Whether it is a plain request, which a known one may agree with.
    pub(crate) fn is_plain(&self) -> bool {
        self.launch.is_none() && self.mistake.is_none()
    }
}

/// What can be pushed: every type whose bytes are all initialised, [`NoUninit`]. A tuple is none:
///
/// ```compile_fail,E0277
/// fn push(h: &mut vkfuse::Handler<'_>) {
///     h.push(&(1u32, 2f32));
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be pushed: its bytes are not known to be plain data",
    note = "a structure with its members in the order of the kernel's block says so with `#[repr(C)]` and `#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]`",
    note = "a tuple has no fixed layout: push its members one after the other"
)]
pub trait PushValue: NoUninit {}

#[diagnostic::do_not_recommend]
impl<T: NoUninit> PushValue for T {}

/// Return types of a submit closure: `()`, or a result whose error cancels the submission.
#[diagnostic::on_unimplemented(
    message = "the closure of `submit` returns `{Self}`, and may return `()` or `Result<(), vkfuse::Error>`",
    note = "methods of the handler return it: end the closure's last statement with a semicolon, `|h| {{ h.…dispatch(…); }}`"
)]
pub trait SubmitResult {
    /// As a result.
    ///
    /// # Errors
    ///
    /// What the closure returned.
    fn into_result(self) -> Result<(), Error>;
}

impl SubmitResult for () {
    fn into_result(self) -> Result<(), Error> {
        Ok(())
    }
}

impl SubmitResult for Result<(), Error> {
    fn into_result(self) -> Result<(), Error> {
        self
    }
}

/// Types of values of specialization constants: the scalars of Rust, and [`SpecValue`] itself (for f16).
pub trait IntoSpecValue {
    /// The value with its type.
    fn into_spec_value(self) -> SpecValue;
}

impl IntoSpecValue for SpecValue {
    fn into_spec_value(self) -> SpecValue {
        self
    }
}

macro_rules! spec_values {
    ($($ty:ty => $variant:ident,)+) => {
        $(impl IntoSpecValue for $ty {
            fn into_spec_value(self) -> SpecValue {
                SpecValue::$variant(self)
            }
        })+
    };
}

spec_values! {
    bool => Bool, i8 => I8, u8 => U8, i16 => I16, u16 => U16, i32 => I32, u32 => U32, i64 => I64, u64 => U64,
    f32 => F32, f64 => F64,
}
