//! What the handles of a buffer share.

use std::{
    ops::{Deref, Range},
    sync::{
        Arc, OnceLock, Weak,
        atomic::{
            AtomicBool, AtomicU8, AtomicUsize,
            Ordering::{Acquire, Relaxed, Release, SeqCst},
        },
    },
};

use parking_lot::Mutex;
use vulkano::format::Format;

use crate::{
    error::{BufferError, Error, Unreadable},
    jit::{ImageSize, Promote},
    report::list::default_name,
    submission::{
        dependencies::{Dependencies, Touch},
        device::Device,
        identity::{HandleId, SharedMemory, Span},
    },
    vk::{Command, Memory, MemoryKind, Resource, Texture},
};

/// The promotions that a buffer may ask for; one of them is stored as its place here.
const PROMOTIONS: [Promote; 4] = [Promote::None, Promote::Private, Promote::Local, Promote::Auto];

/// Size in bytes up to which the engine remembers what the host writes to a buffer.
const SMALL: u64 = 4096;

/// What the handles of a buffer share. What a graph looks at when it is launched on other buffers comes first, together.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct BufferInner {
    pub(crate) handle: HandleId,
    pub(crate) shared: Arc<SharedMemory>,
    /// Bytes.
    pub(crate) size: u64,
    memory: OnceLock<Arc<Memory>>,
    /// What it is if it is no buffer: an image, a sampler, or both. It has no bytes then, but is ordered and named as buffers are.
    pub(crate) texture: Option<Arc<Texture>>,
    promote: AtomicU8,
    /// Whether it is over the user's memory, which other buffers may be over too.
    pub(crate) imported: bool,
    /// Whether there are, or were, views of it through a format.
    is_viewed: AtomicBool,
    /// Whether the zeros that a new buffer has are still to be written.
    is_blank: AtomicBool,
    is_named: AtomicBool,
    /// Whether a run may be known that names it.
    known: AtomicBool,
    /// Whether a queue may keep it because it expects a list on it.
    expected: AtomicBool,
    /// How many handles tell when they go.
    handles: AtomicUsize,
    pub(crate) device: Arc<Device>,
    /// Where it starts in its memory; 0 except for imported buffers.
    base: u64,
    /// What can be reached from its address.
    pub(crate) reach: Span,
    /// What it is a view of, if it is a buffer seen through a format.
    viewed: Option<Arc<BufferInner>>,
    name: Mutex<Option<Arc<str>>>,
}

/// A handle of the user. What the engine keeps of a buffer is not counted here, and is notified when the user drops the last handle.
#[derive(Debug)]
pub(crate) struct Handle(Arc<BufferInner>);

impl Handle {
    pub(crate) fn new(buffer: Arc<BufferInner>) -> Handle {
        buffer.handles.fetch_add(1, Relaxed);
        Handle(buffer)
    }
}

impl Clone for Handle {
    fn clone(&self) -> Handle {
        Handle::new(self.0.clone())
    }
}

impl Deref for Handle {
    type Target = Arc<BufferInner>;

    #[inline]
    fn deref(&self) -> &Arc<BufferInner> {
        &self.0
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // A list that expects this buffer cannot come again, so it is not kept for that.
        if self.0.handles.fetch_sub(1, SeqCst) == 1
            && self.0.expected.load(SeqCst)
            && let Some(owner) = self.0.device.owner.upgrade()
        {
            owner.buffer_gone(self.0.handle);
        }
    }
}

impl BufferInner {
    fn with(
        device: &Arc<Device>,
        shared: Arc<SharedMemory>,
        (base, reach): (u64, Span),
        size: u64,
        memory: OnceLock<Arc<Memory>>,
    ) -> Arc<BufferInner> {
        Arc::new(BufferInner {
            device: device.clone(),
            handle: HandleId::next(),
            shared,
            base,
            reach,
            size,
            is_blank: AtomicBool::new(memory.get().is_none()),
            imported: memory.get().is_some(),
            memory,
            texture: None,
            viewed: None,
            is_viewed: AtomicBool::new(false),
            promote: AtomicU8::new(0),
            is_named: AtomicBool::new(false),
            name: Mutex::default(),
            known: AtomicBool::new(false),
            expected: AtomicBool::new(false),
            handles: AtomicUsize::new(0),
        })
    }

    /// A buffer whose memory is allocated, and zeroed, when it is first needed.
    pub(crate) fn new(device: &Arc<Device>, size: u64) -> Arc<BufferInner> {
        BufferInner::with(device, SharedMemory::new(), (0, Span::new(0, size)), size, OnceLock::new())
    }

    /// A buffer over memory that exists. It shares what its aliases share, so that they are ordered by bytes.
    pub(crate) fn imported(device: &Arc<Device>, memory: Arc<Memory>) -> Result<Arc<BufferInner>, Error> {
        let place = memory.place();
        let user: Weak<Memory> = Arc::downgrade(&memory);
        let shared = device.imports.memory_of(&place, memory.buffer_life(), user);
        let shared = shared.ok_or_else(|| Error::buffer("imported", BufferError::JoinsMemories))?;
        let (at, size) = ((place.range.start, place.buffer.into()), memory.size());
        Ok(BufferInner::with(device, shared, at, size, OnceLock::from(memory)))
    }

    /// The size of the image that it is, if it is one.
    pub(crate) fn image_size(&self) -> Option<ImageSize> {
        self.texture.as_ref()?.size()
    }

    /// An image or a sampler. Those of one image share a memory: each is a range of it that all others overlap, and none
    /// covers another, so that work is ordered, and one is not taken for another.
    pub(crate) fn textured(
        device: &Arc<Device>,
        shared: Option<&Arc<SharedMemory>>,
        number: u64,
        texture: &Arc<Texture>,
    ) -> Arc<BufferInner> {
        /// More than there are ways to see an image.
        const EXTENT: u64 = 1 << 40;
        let shared = shared.cloned().unwrap_or_else(SharedMemory::new);
        let reach = Span::of_len(number, EXTENT);
        let mut inner = BufferInner::with(device, shared, (number, reach), EXTENT, OnceLock::new());
        let made = Arc::get_mut(&mut inner).expect("invariant: it was made here");
        // It stands for itself alone, as what is the user's does.
        (made.imported, made.texture) = (true, Some(texture.clone()));
        inner
    }

    /// A range of a buffer seen through a format: the same bytes of the same memory.
    pub(crate) fn texels(
        self: &Arc<Self>,
        deps: &mut Dependencies,
        format: Format,
        range: Range<u64>,
    ) -> Result<Arc<BufferInner>, Error> {
        let memory = self.memory(deps)?.clone();
        let texture = self.device.gpu.make_texels(&memory, format, range.clone())?;
        // Runs that are known take it for any buffer of its size.
        if !self.is_viewed.swap(true, SeqCst) {
            self.changed();
        }
        let (size, start) = (range.end - range.start, self.base + range.start);
        let at = (start, self.reach);
        let mut inner = BufferInner::with(&self.device, self.shared.clone(), at, size, OnceLock::new());
        let made = Arc::get_mut(&mut inner).expect("invariant: it was made here");
        (made.imported, made.texture, made.viewed) = (true, Some(texture), Some(self.clone()));
        made.is_blank = AtomicBool::new(false);
        Ok(inner)
    }

    /// Of a buffer seen through a format: the buffer, the format and the bytes of it.
    pub(crate) fn view(&self) -> Option<(&Arc<BufferInner>, Format, Range<u64>)> {
        let (viewed, format) = (self.viewed.as_ref()?, self.texture.as_ref()?.texel_format()?);
        let start = self.base - viewed.base;
        Some((viewed, format, start..start + self.size))
    }

    /// Whether no other buffer can be in its place without a look at what it has bytes in common with: it is over the user's
    /// memory, or there are views of it.
    pub(crate) fn stands_alone(&self) -> bool {
        self.imported || self.is_viewed.load(SeqCst)
    }

    /// What it is bound as; memory is allocated and filled with zeros now if it was not yet.
    #[inline]
    pub(crate) fn resource(&self, deps: &mut Dependencies) -> Result<Resource, Error> {
        match &self.texture {
            Some(texture) => Ok(Resource::Texture(texture.clone())),
            None => Ok(Resource::Buffer(self.memory(deps)?.clone())),
        }
    }

    /// Whether it is what was bound.
    pub(crate) fn is_bound(&self, resource: &Resource) -> bool {
        match (resource, &self.texture) {
            (Resource::Buffer(memory), _) => self.is_over(memory),
            (Resource::Texture(bound), Some(own)) => Arc::ptr_eq(bound, own),
            (Resource::Texture(_), None) => false,
        }
    }

    /// Gives it a name.
    pub(crate) fn set_name(&self, name: &str) {
        *self.name.lock() = Some(Arc::from(name));
        self.is_named.store(true, SeqCst);
        // Existing reports keep the old name.
        self.changed();
    }

    /// Notes that a run may be known that names it, before looking at what that run rests on. Of a change and this, one sees
    /// the other: hence the order of all of them.
    pub(crate) fn make_known(&self) {
        if !self.known.load(Acquire) {
            self.known.store(true, SeqCst);
        }
    }

    /// Notes that a queue means to keep it for a list that it expects. Whether it may: only until the user has no handle of it
    /// any more. Of that and this, one sees the other.
    pub(crate) fn may_be_kept(&self) -> bool {
        if !self.expected.load(Acquire) {
            self.expected.store(true, SeqCst);
        }
        self.handles.load(SeqCst) > 0
    }

    /// Notes that something changed that runs which are in force may rest on.
    fn changed(&self) {
        if self.known.load(SeqCst) {
            self.device.contents.fetch_add(1, Release);
        }
    }

    /// Whether it is over a piece of memory.
    pub(crate) fn is_over(&self, memory: &Arc<Memory>) -> bool {
        self.memory.get().is_some_and(|own| Arc::ptr_eq(own, memory))
    }

    /// The name that it was given.
    #[inline]
    pub(crate) fn given_name(&self) -> Option<Arc<str>> {
        if !self.is_named.load(SeqCst) {
            return None;
        }
        self.name.lock().clone()
    }

    /// The promotion it asks for.
    pub(crate) fn promote(&self) -> Promote {
        PROMOTIONS[usize::from(self.promote.load(SeqCst))]
    }

    /// Asks for a promotion.
    pub(crate) fn set_promote(&self, promote: Promote) {
        let place = PROMOTIONS.iter().position(|one| *one == promote).unwrap_or(0);
        self.promote.store(place as u8, SeqCst);
        self.changed();
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

    /// Whether the engine remembers what the host writes to it, which may be numbers that indices depend on. Memory of the user may have
    /// unknown writers.
    pub(crate) fn is_small(&self) -> bool {
        self.size <= SMALL && !self.imported
    }

    /// Whether it may be bound as a uniform buffer: an imported one may have been made without that usage.
    pub(crate) fn may_be_uniform(&self) -> bool {
        self.memory.get().is_none_or(|memory| memory.is_uniform())
    }

    pub(crate) fn name(&self) -> Arc<str> {
        let viewed = || self.viewed.as_ref().map(|viewed| viewed.name());
        self.given_name().or_else(viewed).unwrap_or_else(|| default_name(self.shared.id.planned()))
    }

    /// Whether a kernel may find any of it by an address.
    pub(crate) fn is_addressed(&self) -> bool {
        self.shared.is_escaped(self.whole())
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
    #[inline]
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
            self.device.contents.fetch_add(1, Release);
        }
    }

    pub(crate) fn lost(&self, span: Span, why: Unreadable) {
        if self.shared.contents.lost(span, why) {
            self.device.contents.fetch_add(1, Release);
        }
    }

    /// Bytes of it are written, or stay inside a fused kernel.
    pub(crate) fn takes_effect(&self, span: Span, inside: bool) {
        if inside { self.lost(span, Unreadable::Internalized) } else { self.written(span) }
    }

    pub(crate) fn error(&self, problem: BufferError) -> Error {
        Error::buffer(&self.name(), problem)
    }

    /// The memory, allocated now if it was not yet, and perhaps without the zeros that it should have. The caller writes them before
    /// anything reads it.
    pub(crate) fn unfilled(&self) -> Result<&Arc<Memory>, Error> {
        if let Some(memory) = self.memory.get() {
            return Ok(memory);
        }
        let memory = self.device.gpu.allocate(self.size, MemoryKind::Device)?;
        Ok(self.memory.get_or_init(|| memory))
    }

    /// The memory for a command that overwrites these bytes of it, which are noted with [`BufferInner::overwritten`] once it
    /// was submitted.
    pub(crate) fn to_overwrite(
        &self,
        deps: &mut Dependencies,
        bytes: &Range<u64>,
    ) -> Result<&Arc<Memory>, Error> {
        if *bytes == (0..self.size) { self.unfilled() } else { self.memory(deps) }
    }

    /// Notes that bytes of it were overwritten: they can be read.
    pub(crate) fn overwritten(&self, bytes: Range<u64>) {
        if bytes == (0..self.size) {
            self.filled();
        }
        self.written(self.span(bytes));
    }

    /// Notes that all of it was overwritten: it needs no zeros any more.
    pub(crate) fn filled(&self) {
        self.is_blank.store(false, Release);
    }

    /// Whether it has its memory already, or needs none.
    pub(crate) fn has_memory(&self) -> bool {
        self.texture.is_some()
            || self.memory.get().is_some()
            || self.viewed.as_ref().is_some_and(|of| of.has_memory())
    }

    /// The memory, allocated now if it was not yet, without contents. The caller overwrites all of it at once.
    pub(crate) fn allocate(&self) -> Result<&Arc<Memory>, Error> {
        self.filled();
        self.unfilled()
    }

    /// The memory, allocated and filled with zeros now if it was not yet. The dependency graph is locked, so no other thread does that at
    /// the same time.
    #[inline]
    pub(crate) fn memory(&self, deps: &mut Dependencies) -> Result<&Arc<Memory>, Error> {
        match self.memory.get() {
            Some(memory) if !self.is_blank.load(Acquire) => Ok(memory),
            _ => self.zeroed(deps),
        }
    }

    fn zeroed(&self, deps: &mut Dependencies) -> Result<&Arc<Memory>, Error> {
        let memory = self.unfilled()?;
        if self.is_blank.load(Acquire) {
            let len = self.size.next_multiple_of(4);
            let fill = Command::Fill { dst: memory.clone(), offset: 0, len, word: 0 };
            let touch = self.touch(0..self.size, false, true);
            self.device.transfer(deps, 0, &Arc::from("zero"), &[fill], &[touch])?;
            self.filled();
        }
        Ok(memory)
    }
}

impl Drop for BufferInner {
    fn drop(&mut self) {
        // What was recorded with its memory goes with it.
        if self.known.load(Acquire)
            && let Some(owner) = self.device.owner.upgrade()
        {
            owner.buffer_gone(self.handle);
        }
    }
}
