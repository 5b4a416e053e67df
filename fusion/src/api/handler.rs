//! What a submit closure fills in: arguments, scalars, the dispatch.

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

/// What a submit closure fills in. Every method returns the handler, so that calls can be chained.
///
/// It borrows the buffers and kernels that it is given until the call of [`Queue::submit`](crate::Queue::submit) returns: a submission
/// that is known from before is only compared with. A closure that makes them itself, or takes them along (`move`), hands over
/// [`Accessor::into_owned`], and kernels from outside.
///
/// A submission is one dispatch. Mistakes are found when the closure ends, and then nothing is recorded or run.
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

    /// Passes a buffer, or a part of one, to a binding: a number for set 0, or `(set, binding)`. An element of an array
    /// of descriptors is `SetBinding::from(…).element(n)`; all of them are passed by [`args`](Handler::args).
    #[inline]
    pub fn arg(&mut self, at: impl Into<SetBinding>, accessor: impl Into<Accessor<'a>>) -> &mut Handler<'a> {
        self.request.args.push((at.into(), accessor.into()));
        self
    }

    /// Passes the elements of an array of descriptors (`buffer Rows { … } rows[4];`, `texture2D textures[8]`), in order: as many as the
    /// array has. Each is ordered as an argument of its own; that all of them are read, or written, is assumed where any is.
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

    /// Says that the kernel reaches a buffer by its address ([`Buffer::device_address`](crate::Buffer::device_address))
    /// rather than through a binding. What the code does with an address is not followed, so the accessor is believed: it
    /// orders the submission, and keeps the buffer alive.
    ///
    /// A kernel that follows addresses and says nothing is kept apart from everything else on its queue; against other
    /// queues and the host only [`depends_on`](Handler::depends_on) and waits order it.
    pub fn uses(&mut self, accessor: impl Into<Accessor<'a>>) -> &mut Handler<'a> {
        self.request.uses.push(accessor.into());
        self
    }

    /// Appends a value to the push constants, at the next offset that is a multiple of the value's alignment.
    ///
    /// Pushing the members of a block in their order gives their offsets where the block is made of scalars; a block with
    /// vectors, whose alignment in a shader is larger than in Rust, is best pushed whole as a `repr(C)` struct.
    #[inline]
    pub fn push<P: NoUninit>(&mut self, value: &P) -> &mut Handler<'a> {
        let push = &mut self.request.push;
        if !push.len().is_multiple_of(align_of::<P>()) {
            push.resize(push.len().next_multiple_of(align_of::<P>()), 0);
        }
        push.extend_from_slice(bytemuck::bytes_of(value));
        self
    }

    /// Appends bytes to the push constants as they are.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> &mut Handler<'a> {
        self.request.push.extend_from_slice(bytes);
        self
    }

    /// Gives a specialization constant a value, by its `SpecId`. Constants without one keep their defaults.
    pub fn spec(&mut self, id: u32, value: impl IntoSpecValue) -> &mut Handler<'a> {
        self.request.spec.push((id, value.into_spec_value()));
        self
    }

    /// Runs a kernel on this many work-groups. With a count of 0 it does nothing, in its place among the others.
    #[inline]
    pub fn dispatch(&mut self, kernel: &'a Kernel, groups: [u32; 3]) -> &mut Handler<'a> {
        self.set_dispatch(kernel, Size::Groups(groups))
    }

    /// Runs a kernel on at least this many items, rounded up to whole work-groups in each dimension. The kernel is to check
    /// that it stays inside its data.
    #[inline]
    pub fn dispatch_items(&mut self, kernel: &'a Kernel, items: [u32; 3]) -> &mut Handler<'a> {
        self.set_dispatch(kernel, Size::Items(items))
    }

    /// As [`dispatch`](Handler::dispatch), with work-group ids (and so global ids) that start at `base` instead of 0, as
    /// `vkCmdDispatchBase` does. In a fusion list such a submission runs by itself. The base is part of the code: each one that a
    /// kernel is dispatched with is compiled when it is first used, and cached like any other code.
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

    /// Orders the submission after the work of an event, besides what its buffers order it after.
    ///
    /// Inside a fusion list, events of the same list say nothing new and are dropped; depending on an event that another
    /// queue has listed ends that queue's list.
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

/// What a submit closure may return: nothing, or a result whose error cancels the submission.
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

/// What can be the value of a specialization constant: the scalars of Rust, and [`SpecValue`] itself (for f16).
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
