//! Typed memory on the device.

use std::{
    marker::PhantomData,
    ops::Range,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{AcqRel, Acquire, Relaxed, Release},
        },
    },
};

use bytemuck::Pod;

use crate::{
    accessor::{Access, Accessor},
    contents::SharedContents,
    context::{Context, ContextInner},
    error::{BufferError, Error, Unreadable},
    graph::Touch,
    jit::{BufferId, Promote},
    schedule::Schedule,
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

    /// The identity of the memory, as reports name it.
    #[must_use]
    pub fn id(&self) -> BufferId {
        self.inner.id
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
    /// # Errors
    ///
    /// A device without buffer addresses, or no memory left.
    pub fn device_address(&self) -> Result<u64, Error> {
        let memory = self.inner.memory(&mut self.inner.context.lock())?.clone();
        if !self.inner.addressed.swap(true, AcqRel) {
            // What is known about lists with it does not hold any more.
            self.inner.version.fetch_add(1, Release);
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

/// Keeps the numbers of imported memory apart from those given out here.
const IMPORTED: u64 = 1 << 63;

#[derive(Debug, Default)]
struct Properties {
    name: Option<Arc<str>>,
    promote: Promote,
}

/// What the handles of a buffer share.
#[derive(Debug)]
pub(crate) struct BufferInner {
    pub(crate) context: Arc<ContextInner>,
    pub(crate) id: BufferId,
    /// Where it starts in the memory object that `id` stands for; 0 except for parts of imported buffers.
    pub(crate) base: u64,
    /// Bytes.
    pub(crate) size: u64,
    memory: OnceLock<Arc<Memory>>,
    properties: Mutex<Properties>,
    /// Whether somebody was told the address.
    pub(crate) addressed: AtomicBool,
    /// Counts changes of the properties.
    version: AtomicU64,
    /// Whether a known list may name it.
    pub(crate) known: AtomicBool,
    /// Ranges are those of the memory object, so that aliases can share it.
    contents: Arc<SharedContents>,
}

impl BufferInner {
    /// A buffer whose memory is allocated, and zeroed, when it is first needed.
    pub(crate) fn new(context: &Arc<ContextInner>, size: u64) -> Arc<BufferInner> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Arc::new(BufferInner {
            context: context.clone(),
            id: BufferId(NEXT.fetch_add(1, Relaxed)),
            base: 0,
            size,
            memory: OnceLock::new(),
            properties: Mutex::default(),
            addressed: AtomicBool::new(false),
            version: AtomicU64::new(0),
            known: AtomicBool::new(false),
            contents: Arc::default(),
        })
    }

    /// A buffer over memory that exists. Its number is made of what its aliases share, so that they are ordered by bytes.
    pub(crate) fn imported(context: &Arc<ContextInner>, memory: Arc<Memory>) -> Arc<BufferInner> {
        let (alias, range) = memory.alias_key();
        Arc::new(BufferInner {
            context: context.clone(),
            id: BufferId(IMPORTED | alias),
            base: range.start,
            size: memory.size(),
            memory: OnceLock::from(memory),
            properties: Mutex::default(),
            addressed: AtomicBool::new(false),
            version: AtomicU64::new(0),
            known: AtomicBool::new(false),
            contents: context.alias_contents(alias),
        })
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
        self.version.load(Acquire)
    }

    fn absolute(&self, range: &Range<u64>) -> Range<u64> {
        self.base + range.start..self.base + range.end
    }

    pub(crate) fn name(&self) -> Arc<str> {
        self.properties().name.clone().unwrap_or_else(|| Arc::from(format!("buffer {}", self.id.0)))
    }

    /// The promotion it asks for.
    pub(crate) fn promote(&self) -> Promote {
        self.properties().promote
    }

    /// Elements of `element` bytes.
    pub(crate) fn elements(&self, element: u64) -> u64 {
        self.size / element.max(1)
    }

    /// An access to a part of it, in bytes from its start.
    pub(crate) fn touch(&self, range: Range<u64>, reads: bool, writes: bool) -> Touch {
        Touch { memory: self.id.0, range: self.base + range.start..self.base + range.end, reads, writes }
    }

    /// Why a part of it, in bytes from its start, cannot be read.
    pub(crate) fn unreadable(&self, range: &Range<u64>) -> Option<Unreadable> {
        self.contents.unreadable(&self.absolute(range))
    }

    pub(crate) fn check_readable(&self, range: &Range<u64>) -> Result<(), Error> {
        match self.unreadable(range) {
            Some(why) => Err(self.error(BufferError::Unreadable(why))),
            None => Ok(()),
        }
    }

    /// As [`BufferInner::unreadable`], once these ranges (of the memory object) were written.
    pub(crate) fn unreadable_after(
        &self,
        range: &Range<u64>,
        written: impl IntoIterator<Item = Range<u64>>,
    ) -> Option<Unreadable> {
        self.contents.unreadable_after(&self.absolute(range), written)
    }

    pub(crate) fn written(&self, range: &Range<u64>) {
        if self.contents.written(&self.absolute(range)) {
            self.context.contents.fetch_add(1, Release);
        }
    }

    pub(crate) fn lost(&self, range: Range<u64>, why: Unreadable) {
        if self.contents.lost(self.absolute(&range), why) {
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
                let known = schedule.forget(self.id);
                drop(schedule);
                drop(known);
            }
            Err(_) => self.context.gone.lock().unwrap_or_else(PoisonError::into_inner).push(self.id),
        }
    }
}
