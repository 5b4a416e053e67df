//! What buffers hold according to the model.
//!
//! Bytes are in stores, and several buffers may be over one: imports of the same Vulkan buffer, of overlapping parts of it,
//! and of another Vulkan buffer bound to the same device memory.

use std::{
    ops::Range,
    sync::{Arc, Mutex, MutexGuard},
};

use bytemuck::Pod;
use vkfuse::{Accessor, Buffer, BufferId, Context, Promote};
use vulkano::buffer::Subbuffer;

use super::{
    support::own::{Own, import},
    world::lock,
};

/// Elements of every buffer: two halves, each a multiple of any offset alignment.
pub const LEN: usize = 128;
pub const HALF: usize = LEN / 2;

/// Bytes of an element.
const WORD: usize = 4;

/// Bytes that buffers are over.
#[derive(Debug)]
struct Store {
    bytes: Vec<u8>,
    /// Bytes that a fused kernel may have kept to itself: reading them gives the right value or an error.
    lost: Vec<bool>,
}

type Shared = Arc<Mutex<Store>>;

fn store(words: &[u32]) -> Shared {
    let bytes: Vec<u8> = bytemuck::cast_slice(words).to_vec();
    let lost = vec![false; bytes.len()];
    Arc::new(Mutex::new(Store { bytes, lost }))
}

fn words(salt: u32, len: usize) -> Vec<u32> {
    (0..len as u32).map(|i| salt.wrapping_mul(31).wrapping_add(i) % 1009).collect()
}

/// Vulkan buffers of the test's own, which several buffers of a group are over.
pub struct Ground {
    store: Shared,
    /// Over all of it, and over its second half: both bound to the same device memory.
    given: [Subbuffer<[u8]>; 2],
}

/// Elements of the ground.
const GROUND: usize = 3 * LEN;

impl Ground {
    pub fn new(own: &Own, context: &Context, salt: u32) -> Ground {
        let data = words(salt, GROUND);
        let size = (WORD * GROUND) as u64;
        let memory = own.memory(size, salt.is_multiple_of(2));
        let at = (WORD * LEN) as u64;
        let given = [own.buffer_on(&memory, 0, size), own.buffer_on(&memory, at, size - at)];
        import::<u32>(context, &given[0], 0..size).upload(&data).expect("an upload");
        Ground { store: store(&data), given }
    }
}

/// A buffer and what it holds.
pub struct Memory {
    pub real: Buffer<u32>,
    store: Shared,
    /// Its first element in the store.
    base: usize,
    pub property: Promote,
}

/// What the buffer of a number asks for.
fn with_property(real: Buffer<u32>, property: Promote) -> Buffer<u32> {
    match property {
        Promote::Private => real.promote_private(),
        Promote::Local => real.promote_local(),
        Promote::Auto => real.promote_auto(),
        _ => real.no_promotion(),
    }
}

impl Memory {
    /// A buffer of the engine's own; or, of some numbers, one over the ground if there is one.
    pub fn new(context: &Context, ground: Option<&Ground>, number: usize, salt: u32) -> Memory {
        let property = [Promote::None, Promote::Auto, Promote::Private, Promote::Local, Promote::None]
            [(number + number / 5) % 5];
        let name = format!("b{number}");
        // The whole of the one Vulkan buffer's start, half a buffer further, and by way of the other Vulkan buffer.
        let place = [None, None, Some((0, 0)), Some((0, HALF)), Some((1, LEN)), None][number % 6];
        if let (Some(ground), Some((which, base))) = (ground, place) {
            let start = (WORD * (base - which * LEN)) as u64;
            let real = import(context, &ground.given[which], start..start + (WORD * LEN) as u64);
            let real = with_property(real.named(&name), property);
            return Memory { real, store: ground.store.clone(), base, property };
        }
        let data = words(salt, LEN);
        let (real, data) = if number % 6 == 1 {
            (context.scratch::<u32>(LEN).expect("a buffer"), vec![0; LEN])
        } else {
            (context.buffer_from(&data).expect("a buffer"), data)
        };
        Memory { real: with_property(real.named(&name), property), store: store(&data), base: 0, property }
    }

    /// Asks for another promotion from now on.
    pub fn ask(&mut self, property: Promote) {
        let _ = with_property(self.real.clone(), property);
        self.property = property;
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        lock(&self.store)
    }

    /// Whether it is over what other buffers may be over too.
    pub fn is_over(&self, ground: &Ground) -> bool {
        Arc::ptr_eq(&self.store, &ground.store)
    }

    fn bytes(&self, range: &Range<usize>) -> Range<usize> {
        WORD * (self.base + range.start)..WORD * (self.base + range.end)
    }

    pub fn is_lost(&self, range: &Range<usize>) -> bool {
        self.store().lost[self.bytes(range)].iter().any(|lost| *lost)
    }

    /// Says whether elements may be lost.
    pub fn mark(&self, range: &Range<usize>, lost: bool) {
        let bytes = self.bytes(range);
        self.store().lost[bytes].fill(lost);
    }

    /// What elements hold.
    pub fn values(&self, range: Range<usize>) -> Vec<u32> {
        let bytes = self.bytes(&range);
        let word = |word: &[u8]| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
        self.store().bytes[bytes].chunks_exact(WORD).map(word).collect()
    }

    /// Changes an element, as a writer does that may have written other elements as well.
    pub fn set(&self, at: usize, value: u32) {
        let bytes = self.bytes(&(at..at + 1));
        self.store().bytes[bytes].copy_from_slice(&value.to_ne_bytes());
    }

    /// Replaces a range by data.
    pub fn write(&self, at: usize, data: &[u32]) {
        let range = at..at + data.len();
        let bytes = self.bytes(&range);
        self.store().bytes[bytes].copy_from_slice(bytemuck::cast_slice(data));
        self.mark(&range, false);
    }

    /// Compares what was read with what should be there.
    pub fn compare(&self, at: usize, got: &[u32], what: &str) -> Result<(), String> {
        let wanted = self.values(at..at + got.len());
        match got.iter().zip(&wanted).position(|(got, wanted)| got != wanted) {
            None => Ok(()),
            Some(k) => Err(format!(
                "{what}: {}[{}] is {:#x} and should be {:#x}",
                self.real.name(),
                at + k,
                got[k],
                wanted[k]
            )),
        }
    }

    /// The use of a part of it.
    pub fn touch(&self, buffer: usize, range: Range<usize>, reads: bool, writes: bool) -> Touch {
        let bytes = self.bytes(&range);
        Touch { buffer, id: self.real.id(), range, bytes, reads, writes, promoted: false }
    }
}

impl Ground {
    /// The part of a range that there is.
    pub fn clamp(&self, range: Range<usize>) -> Range<usize> {
        range.start.min(WORD * GROUND - 1)..range.end.min(WORD * GROUND)
    }

    /// Another handle on its bytes.
    pub fn import<T: Pod>(&self, context: &Context, range: &Range<usize>) -> Buffer<T> {
        import(context, &self.given[0], range.start as u64..range.end as u64)
    }

    /// The use of some of its bytes.
    pub fn touch(&self, of: &Memory, bytes: Range<usize>, reads: bool, writes: bool) -> Touch {
        Touch { buffer: usize::MAX, id: of.real.id(), range: 0..0, bytes, reads, writes, promoted: false }
    }

    pub fn write(&self, at: usize, data: &[u8]) {
        let mut store = lock(&self.store);
        store.bytes[at..at + data.len()].copy_from_slice(data);
        store.lost[at..at + data.len()].fill(false);
    }

    pub fn bytes(&self, range: Range<usize>) -> Vec<u8> {
        lock(&self.store).bytes[range].to_vec()
    }
}

/// A part of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Whole,
    First,
    Second,
}

impl Part {
    pub fn range(self) -> Range<usize> {
        match self {
            Part::Whole => 0..LEN,
            Part::First => 0..HALF,
            Part::Second => HALF..LEN,
        }
    }

    pub fn of(self, accessor: Accessor<'_>) -> Accessor<'_> {
        match self {
            Part::Whole => accessor,
            part => accessor.range(part.range().start, HALF),
        }
    }
}

/// The part of a buffer that an action uses, and how.
#[derive(Clone, Debug)]
pub struct Touch {
    pub buffer: usize,
    /// Which memory, as a buffer's place can be taken by another one.
    pub id: BufferId,
    /// Elements of the buffer.
    pub range: Range<usize>,
    /// The same as bytes of the store.
    pub bytes: Range<usize>,
    pub reads: bool,
    pub writes: bool,
    /// Whether a fused kernel may keep the contents to itself.
    pub promoted: bool,
}

impl Touch {
    pub fn overlaps(&self, other: &Touch) -> bool {
        self.id == other.id && self.bytes.start < other.bytes.end && other.bytes.start < self.bytes.end
    }

    pub fn conflicts(&self, other: &Touch) -> bool {
        (self.writes || other.writes) && self.overlaps(other)
    }
}
