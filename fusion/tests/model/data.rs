//! What buffers hold according to the model.

use std::ops::Range;

use vkfuse::{Accessor, Buffer, BufferId, Context, Promote};

/// Elements of every buffer: two halves, each a multiple of any offset alignment.
pub const LEN: usize = 128;
pub const HALF: usize = LEN / 2;

/// A buffer and what it holds.
pub struct Memory {
    pub real: Buffer<u32>,
    pub data: Vec<u32>,
    /// Elements that a fused kernel may have kept to itself: reading them gives the right value or an error.
    pub lost: Vec<bool>,
    pub property: Promote,
}

impl Memory {
    pub fn new(context: &Context, number: usize, salt: u32) -> Memory {
        let data: Vec<u32> = (0..LEN as u32).map(|i| salt.wrapping_mul(31).wrapping_add(i) % 1009).collect();
        let property =
            [Promote::None, Promote::Auto, Promote::Private, Promote::Local, Promote::None][number % 5];
        let (real, data) = if number % 5 == 1 {
            (context.scratch::<u32>(LEN).expect("a buffer"), vec![0; LEN])
        } else {
            (context.buffer_from(&data).expect("a buffer"), data)
        };
        let real = real.named(&format!("b{number}"));
        let real = match property {
            Promote::Private => real.promote_private(),
            Promote::Local => real.promote_local(),
            _ => real,
        };
        Memory { real, data, lost: vec![false; LEN], property }
    }

    pub fn is_lost(&self, range: &Range<usize>) -> bool {
        self.lost[range.clone()].iter().any(|lost| *lost)
    }

    pub fn set(&mut self, at: usize, value: u32) {
        self.data[at] = value;
        self.lost[at] = false;
    }

    /// Replaces a range by data.
    pub fn write(&mut self, at: usize, data: &[u32]) {
        for (offset, value) in data.iter().enumerate() {
            self.set(at + offset, *value);
        }
    }

    /// Compares what was read with what should be there.
    pub fn compare(&self, at: usize, got: &[u32], what: &str) -> Result<(), String> {
        let wanted = &self.data[at..at + got.len()];
        match got.iter().zip(wanted).position(|(got, wanted)| got != wanted) {
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

    pub fn of(self, accessor: Accessor) -> Accessor {
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
    pub range: Range<usize>,
    pub reads: bool,
    pub writes: bool,
    /// Whether a fused kernel may keep the contents to itself.
    pub promoted: bool,
}

impl Touch {
    pub fn overlaps(&self, other: &Touch) -> bool {
        self.id == other.id && self.range.start < other.range.end && other.range.start < self.range.end
    }

    pub fn conflicts(&self, other: &Touch) -> bool {
        (self.writes || other.writes) && self.overlaps(other)
    }
}
