//! What bytes are, decided once.
//!
//! Three things are easily taken for each other, and are three types here:
//!
//! - a *memory* ([`MemoryId`]): what hazards, contents and addresses are about. Every buffer made here has its own;
//!   imported buffers share one where their bytes can be the same.
//! - a *handle* ([`HandleId`]): one buffer as the user holds it, clones included. Arguments, the scope of a host task, and
//!   the buffers of a kept list are about handles: two imports of the same bytes are two of them.
//! - between them a *span* ([`Span`]): a byte range of a memory. A plain `Range<u64>` counts from the start of a handle;
//!   [`BufferInner::span`](crate::submission::buffer::BufferInner::span) and
//!   [`BufferInner::within`](crate::submission::buffer::BufferInner::within) are the only ways from one to the other.
//!
//! The planner numbers memories ([`BufferId`]) and counts its offsets from their start, as spans do.

use std::{
    any::Any,
    hash::{BuildHasher, Hasher},
    ops::Range,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use ahash::AHashMap;
use parking_lot::Mutex;

use crate::{
    jit::BufferId,
    submission::contents::SharedContents,
    vk::{Holder, Place},
};

/// A memory, by a number that no other memory of this process ever has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MemoryId(u64);

/// Hashes ids that are numbered consecutively. An attacker cannot choose them, so one multiplication is enough to spread them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ByNumber(u64);

impl BuildHasher for ByNumber {
    type Hasher = ByNumber;

    fn build_hasher(&self) -> ByNumber {
        *self
    }
}

impl Hasher for ByNumber {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A buffer as the user holds it, by a number that no other buffer of this process ever has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct HandleId(u64);

/// A queue's number in its context. There is no 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueueId(pub(crate) u64);

/// The queue that may list and run work on a memory without looking at other queues.
///
/// A queue becomes the owner of a memory without an owner, with its own state locked, or of one that no list of another queue and no hold of
/// the host touches, with the schedule locked. A memory that several queues only read is shared. A queue that may not use a memory
/// locks the schedule, revokes the ownership, and only then looks at lists, each under the lock of its queue: either it
/// sees what that queue has listed, or that queue sees that it is no longer the owner.
#[derive(Debug, Default)]
pub(crate) struct Owner(AtomicU64);

impl Owner {
    /// No owner: every queue has to look at the others.
    const NONE: u64 = u64::MAX;

    /// All queues may read.
    const SHARED: u64 = u64::MAX - 1;

    /// Whether the queue is the owner, now if there never was one.
    #[inline]
    pub(crate) fn is(&self, queue: QueueId) -> bool {
        let (acquire, both) = (Ordering::Acquire, Ordering::AcqRel);
        let owner = self.0.load(acquire);
        owner == queue.0 || (owner == 0 && self.0.compare_exchange(0, queue.0, both, acquire).is_ok())
    }

    /// Whether the queue may use it so without a look at what others do.
    #[inline]
    pub(crate) fn allows(&self, queue: QueueId, writes: bool) -> bool {
        self.is(queue) || (!writes && self.0.load(Ordering::Acquire) == Owner::SHARED)
    }

    /// Revokes the ownership, so that every queue looks at the others. The schedule is locked.
    pub(crate) fn revoke(&self) {
        self.0.store(Owner::NONE, Ordering::Release);
    }

    /// Lets all queues read. The schedule is locked.
    pub(crate) fn share(&self) {
        self.0.store(Owner::SHARED, Ordering::Release);
    }

    /// Makes the queue the owner. The schedule is locked.
    pub(crate) fn give(&self, queue: QueueId) {
        self.0.store(queue.0, Ordering::Release);
    }
}

/// A byte range of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl MemoryId {
    fn next() -> MemoryId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        MemoryId(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// As the planner and its reports name it.
    pub(crate) fn planned(self) -> BufferId {
        BufferId(self.0)
    }

    /// The memory that the planner names.
    pub(crate) fn of_plan(id: BufferId) -> MemoryId {
        MemoryId(id.0)
    }
}

impl HandleId {
    pub(crate) fn next() -> HandleId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        HandleId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Span {
    pub(crate) fn new(start: u64, end: u64) -> Span {
        Span { start, end }
    }

    /// Bytes from an offset on; as many as fit into 64 bits.
    pub(crate) fn of_len(start: u64, len: u64) -> Span {
        Span { start, end: start.saturating_add(len) }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Whether the two have a byte in common.
    pub(crate) fn overlaps(self, other: Span) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Whether the other has no byte outside this one.
    pub(crate) fn covers(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

impl From<Range<u64>> for Span {
    fn from(range: Range<u64>) -> Span {
        Span { start: range.start, end: range.end }
    }
}

/// The state that all handles of a memory share. The fields that a list compares come first, next to each other.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct SharedMemory {
    pub(crate) id: MemoryId,
    pub(crate) owner: Owner,
    /// Counts additions to `escaped`.
    escapes: AtomicU64,
    pub(crate) contents: SharedContents,
    /// The bytes whose address the program has asked for.
    escaped: Mutex<Vec<Span>>,
}

impl SharedMemory {
    pub(crate) fn new() -> Arc<SharedMemory> {
        Arc::new(SharedMemory {
            id: MemoryId::next(),
            contents: SharedContents::default(),
            owner: Owner::default(),
            escaped: Mutex::default(),
            escapes: AtomicU64::new(0),
        })
    }

    /// Notes that the program has the address of these bytes. Returns whether that is new.
    pub(crate) fn escape(&self, span: Span) -> bool {
        let mut escaped = self.escaped.lock();
        let is_new = !escaped.iter().any(|known| known.covers(span));
        if is_new {
            escaped.push(span);
            self.escapes.fetch_add(1, Ordering::Release);
        }
        is_new
    }

    /// Whether the program has the address of any of these bytes.
    pub(crate) fn is_escaped(&self, span: Span) -> bool {
        self.escapes() > 0 && self.escaped.lock().iter().any(|known| known.overlaps(span))
    }

    /// Number of times that the address of further bytes was given out.
    pub(crate) fn escapes(&self) -> u64 {
        self.escapes.load(Ordering::Acquire)
    }
}

/// Whether something still lives.
pub(crate) type Life = Weak<dyn Any + Send + Sync>;

/// The memories of imported buffers.
///
/// A memory keeps its identity as long as its Vulkan buffer lives, not only while there is a handle: work that was submitted with a
/// handle may be pending when that is dropped, and kernels may use an address that was given out.
#[derive(Debug, Default)]
pub(crate) struct Imports {
    /// By what holds the bytes.
    known: Mutex<AHashMap<Holder, Vec<Import>>>,
}

/// A Vulkan buffer that was imported, as a whole or in part.
#[derive(Debug)]
struct Import {
    /// All of it.
    whole: Span,
    memory: Arc<SharedMemory>,
    buffer: Life,
    /// A handle, or work that was submitted with one.
    user: Life,
}

impl Imports {
    /// The memory of a buffer: that of the buffers that it shares bytes with, or a new one. `None` where it shares bytes
    /// with several that are different memories already, which cannot become one any more.
    ///
    /// Where nothing of this crate uses the memory any more, the program may have written it: its contents are taken as they
    /// are.
    pub(crate) fn memory_of(&self, place: &Place, buffer: Life, user: Life) -> Option<Arc<SharedMemory>> {
        let lives = |life: &Life| life.strong_count() > 0;
        let mut known = self.known.lock();
        known.retain(|_, imports| {
            imports.retain(|import| lives(&import.buffer));
            !imports.is_empty()
        });
        let whole = Span::from(place.buffer.clone());
        let imports = known.entry(place.holder).or_default();
        let mut found: Option<Arc<SharedMemory>> = None;
        for Import { memory, .. } in imports.iter().filter(|import| import.whole.overlaps(whole)) {
            match &found {
                Some(first) if first.id != memory.id => return None,
                _ => found = Some(memory.clone()),
            }
        }
        let memory = found.unwrap_or_else(SharedMemory::new);
        let is_of = |import: &Import| Arc::ptr_eq(&import.memory, &memory);
        if !imports.iter().any(|import| is_of(import) && lives(&import.user)) {
            memory.contents.written(Span::new(0, u64::MAX));
        }
        let import = Import { whole, memory: memory.clone(), buffer, user };
        match imports.iter_mut().find(|one| is_of(one) && one.whole == whole && !lives(&one.user)) {
            Some(old) => *old = import,
            None => imports.push(import),
        }
        Some(memory)
    }
}

#[cfg(test)]
mod tests;
