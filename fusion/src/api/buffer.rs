//! Typed memory on the device.

use std::{
    marker::PhantomData,
    ops::Range,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Release},
        },
    },
};

use bytemuck::Pod;

use crate::{
    api::context::{Context, ContextInner},
    error::{BufferError, Error, Unreadable},
    jit::{BufferId, Promote},
    runtime::schedule::Schedule,
    submission::{
        accessor::{Access, Accessor},
        graph::Touch,
        identity::{HandleId, SharedMemory, Span},
    },
    vk::{Command, Memory, MemoryKind},
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
    pub(crate) inner: Arc<BufferInner>,
    element: PhantomData<fn() -> T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Buffer { inner: self.inner.clone(), element: PhantomData }
    }
}

impl<T: Pod> Buffer<T> {
    pub(crate) fn from_inner(inner: Arc<BufferInner>) -> Buffer<T> {
        Buffer { inner, element: PhantomData }
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        (self.inner.size / size_of::<T>().max(1) as u64) as usize
    }

    /// Whether there are no elements; never so, since an empty buffer cannot be made.
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
        Context { inner: self.inner.context.clone() }
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
        let memory = self.inner.memory(&mut self.inner.context.lock())?.clone();
        if self.inner.shared.tell(self.inner.reach) {
            // What is known about lists with it does not hold any more.
            self.inner.context.contents.fetch_add(1, Release);
        }
        memory.device_address().ok_or_else(|| self.inner.error(BufferError::NoAddress))
    }

    /// Gives it a name for messages and reports.
    #[must_use]
    pub fn named(self, name: &str) -> Buffer<T> {
        self.inner.change(|properties| properties.name = Some(Arc::from(name)));
        self
    }

    fn promoted(self, promote: Promote) -> Buffer<T> {
        self.inner.change(|properties| properties.promote = promote);
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
    pub fn read(&self) -> Accessor {
        Accessor::new(self, Access::Read)
    }

    /// An accessor that writes.
    #[must_use]
    pub fn write(&self) -> Accessor {
        Accessor::new(self, Access::Write)
    }

    /// An accessor that reads and writes.
    #[must_use]
    pub fn read_write(&self) -> Accessor {
        Accessor::new(self, Access::ReadWrite)
    }
}

#[derive(Debug, Default)]
struct Properties {
    name: Option<Arc<str>>,
    promote: Promote,
}

/// What the handles of a buffer share.
#[derive(Debug)]
pub(crate) struct BufferInner {
    pub(crate) context: Arc<ContextInner>,
    pub(crate) handle: HandleId,
    pub(crate) shared: Arc<SharedMemory>,
    /// Where it starts in its memory; 0 except for imported buffers.
    base: u64,
    /// What can be reached from its address.
    reach: Span,
    /// Bytes.
    pub(crate) size: u64,
    memory: OnceLock<Arc<Memory>>,
    properties: Mutex<Properties>,
    /// Counts changes of the properties.
    version: AtomicU64,
    /// Whether a known list may name it.
    pub(crate) known: AtomicBool,
}

impl BufferInner {
    fn with(
        context: &Arc<ContextInner>,
        shared: Arc<SharedMemory>,
        (base, reach): (u64, Span),
        size: u64,
        memory: OnceLock<Arc<Memory>>,
    ) -> Arc<BufferInner> {
        Arc::new(BufferInner {
            context: context.clone(),
            handle: HandleId::next(),
            shared,
            base,
            reach,
            size,
            memory,
            properties: Mutex::default(),
            version: AtomicU64::new(0),
            known: AtomicBool::new(false),
        })
    }

    /// A buffer whose memory is allocated, and zeroed, when it is first needed.
    pub(crate) fn new(context: &Arc<ContextInner>, size: u64) -> Arc<BufferInner> {
        BufferInner::with(context, SharedMemory::new(), (0, Span::new(0, size)), size, OnceLock::new())
    }

    /// A buffer over memory that exists. It shares what its aliases share, so that they are ordered by bytes.
    pub(crate) fn imported(
        context: &Arc<ContextInner>,
        memory: Arc<Memory>,
    ) -> Result<Arc<BufferInner>, Error> {
        let place = memory.place();
        let shared = context.imports.memory_of(&place);
        let shared = shared.ok_or_else(|| Error::buffer("imported", BufferError::JoinsMemories))?;
        let (at, size) = ((place.range.start, place.buffer.into()), memory.size());
        Ok(BufferInner::with(context, shared, at, size, OnceLock::from(memory)))
    }

    fn properties(&self) -> std::sync::MutexGuard<'_, Properties> {
        self.properties.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Properties)) {
        change(&mut self.properties());
        self.version.fetch_add(1, Release);
    }

    /// A number that is another one after any change of the properties.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Acquire) + self.shared.tellings()
    }

    /// A range of it, as bytes of its memory.
    pub(crate) fn span(&self, range: Range<u64>) -> Span {
        Span::new(self.base + range.start, self.base + range.end)
    }

    /// All of it.
    pub(crate) fn whole(&self) -> Span {
        self.span(0..self.size)
    }

    /// Bytes of its memory, counted from its start; nothing where they are not all inside it.
    pub(crate) fn within(&self, span: Span) -> Option<Range<u64>> {
        self.whole().covers(span).then(|| span.start - self.base..span.end - self.base)
    }

    /// A byte of it, counted from the start of the Vulkan buffer, which is what alignments are about.
    pub(crate) fn bound_at(&self, offset: u64) -> u64 {
        self.memory.get().map_or(0, |memory| memory.base()) + offset
    }

    /// How many bytes a fill of these writes in whole words, or nothing where it cannot: see [`Memory::words`]. Memory that
    /// is not there yet will be padded.
    pub(crate) fn words(&self, offset: u64, len: u64) -> Option<u64> {
        match self.memory.get() {
            Some(memory) => memory.words(offset, len),
            None => {
                let words = len.next_multiple_of(4);
                let fits = words == len || offset + len == self.size;
                (offset.is_multiple_of(4) && fits).then_some(words)
            }
        }
    }

    /// Whether it may be bound as a uniform buffer: an imported one may have been made without that usage.
    pub(crate) fn may_be_uniform(&self) -> bool {
        self.memory.get().is_none_or(|memory| memory.is_uniform())
    }

    pub(crate) fn name(&self) -> Arc<str> {
        let name = self.properties().name.clone();
        name.unwrap_or_else(|| Arc::from(format!("buffer {}", self.shared.id.planned().0)))
    }

    /// The promotion it asks for.
    pub(crate) fn promote(&self) -> Promote {
        self.properties().promote
    }

    /// Whether a kernel may find any of it by an address.
    pub(crate) fn is_addressed(&self) -> bool {
        self.shared.is_told(self.whole())
    }

    /// Elements of `element` bytes.
    pub(crate) fn elements(&self, element: u64) -> u64 {
        self.size / element.max(1)
    }

    /// An access to a part of it.
    pub(crate) fn touch(&self, range: Range<u64>, reads: bool, writes: bool) -> Touch {
        Touch { memory: self.shared.id, span: self.span(range), reads, writes }
    }

    /// Why bytes of its memory cannot be read.
    pub(crate) fn unreadable(&self, span: Span) -> Option<Unreadable> {
        self.shared.contents.unreadable(span)
    }

    pub(crate) fn check_readable(&self, range: &Range<u64>) -> Result<(), Error> {
        match self.unreadable(self.span(range.clone())) {
            Some(why) => Err(self.error(BufferError::Unreadable(why))),
            None => Ok(()),
        }
    }

    /// As [`BufferInner::unreadable`], once these were written.
    pub(crate) fn unreadable_after(
        &self,
        span: Span,
        written: impl IntoIterator<Item = Span>,
    ) -> Option<Unreadable> {
        self.shared.contents.unreadable_after(span, written)
    }

    pub(crate) fn written(&self, span: Span) {
        if self.shared.contents.written(span) {
            self.context.contents.fetch_add(1, Release);
        }
    }

    pub(crate) fn lost(&self, span: Span, why: Unreadable) {
        if self.shared.contents.lost(span, why) {
            self.context.contents.fetch_add(1, Release);
        }
    }

    pub(crate) fn error(&self, problem: BufferError) -> Error {
        Error::buffer(&self.name(), problem)
    }

    /// The memory, allocated now if it was not yet. Without contents: for who overwrites all of it at once.
    pub(crate) fn allocate(&self) -> Result<&Arc<Memory>, Error> {
        if let Some(memory) = self.memory.get() {
            return Ok(memory);
        }
        let memory = self.context.gpu.allocate(self.size, MemoryKind::Device)?;
        Ok(self.memory.get_or_init(|| memory))
    }

    /// The memory; allocated and filled with zeros now if it was not yet.
    pub(crate) fn memory(&self, schedule: &mut Schedule) -> Result<&Arc<Memory>, Error> {
        if self.memory.get().is_none() {
            // The schedule's lock is held, so nobody else allocates at the same time.
            let memory = self.context.gpu.allocate(self.size, MemoryKind::Device)?;
            let fill =
                Command::Fill { dst: memory.clone(), offset: 0, len: self.size.next_multiple_of(4), word: 0 };
            self.context.transfer(
                schedule,
                0,
                &Arc::from("zero"),
                &[fill],
                &[self.touch(0..self.size, false, true)],
            )?;
            let _ = self.memory.set(memory);
        }
        self.memory.get().map_or_else(|| self.allocate(), Ok)
    }
}

impl Drop for BufferInner {
    fn drop(&mut self) {
        if !self.known.load(Acquire) {
            return;
        }
        // What was recorded with its memory goes with it: now, or where the lock is held, when it is next looked at.
        match self.context.schedule.try_lock() {
            Ok(mut schedule) => {
                let known = schedule.forget(self.handle);
                drop(schedule);
                drop(known);
            }
            Err(_) => self.context.gone.lock().unwrap_or_else(PoisonError::into_inner).push(self.handle),
        }
    }
}
