//! A list without its buffers: what is left of it when those are numbers.
//!
//! Byte ranges stay as they are: the buffers that may take each other's place start where their memory does, and one over
//! the user's memory has no other in its place.

use std::{borrow::Borrow, iter, ops::Range, sync::Arc};

use smallvec::SmallVec;

use crate::submission::{
    buffer::BufferInner, device::Device, entry::Entry, graph::Touch, identity::Span, signature::Buffers,
};

/// The submissions of a list, with the buffers as numbers.
#[derive(Debug)]
pub(crate) struct Structure {
    listed: Vec<Listed>,
    reads: Vec<Read>,
}

/// A submission.
#[derive(Debug)]
struct Listed {
    /// Without buffers; the memories in it are those of the list that this was made of.
    entry: Entry,
    /// The number of the buffer of each touch.
    places: SmallVec<[u32; 8]>,
    /// What it reads, but for what submissions before it certainly write: its part of all.
    reads: Range<usize>,
}

/// An access that reads.
#[derive(Debug)]
struct Read {
    place: u32,
    span: Span,
    /// What earlier submissions certainly write of the same memory.
    written: SmallVec<[Span; 1]>,
}

/// Which buffers of a list are looked at, by their numbers, as bits. Those for which there is no bit always are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places(pub(crate) u64);

impl Places {
    /// All.
    pub(crate) const ALL: Places = Places(u64::MAX);

    #[inline]
    pub(crate) fn has(self, place: u32) -> bool {
        place >= u64::BITS || self.0 >> place & 1 == 1
    }

    /// These of so many.
    #[inline]
    pub(crate) fn of(self, count: usize) -> impl Iterator<Item = usize> + Clone {
        let (mut bits, mut rest) = (self.0, u64::BITS as usize..count);
        if count < u64::BITS as usize {
            bits &= (1 << count) - 1;
        }
        iter::from_fn(move || {
            if bits == 0 {
                return rest.next();
            }
            let place = bits.trailing_zeros();
            bits &= bits - 1;
            Some(place as usize)
        })
    }
}

/// The number of a buffer of a list.
pub(crate) fn place_of(buffers: &Buffers, buffer: &BufferInner) -> usize {
    let place = buffers.iter().position(|known| known.handle == buffer.handle);
    place.expect("invariant: the buffers of a list are those of its submissions")
}

impl Structure {
    /// The structure of a list with these buffers.
    pub(crate) fn of(device: &Device, entries: &[Entry], buffers: &Buffers) -> Structure {
        let place = |buffer: &Arc<BufferInner>| place_of(buffers, buffer) as u32;
        let mut reads = Vec::new();
        let listed = entries.iter().enumerate().map(|(at, entry)| {
            let places: SmallVec<[u32; 8]> = entry.buffers.iter().map(place).collect();
            let before = reads.len();
            reads.extend(Read::of(device, &entries[..at], entry, &places));
            let reads = before..reads.len();
            Listed { entry: Entry { buffers: SmallVec::new(), ..entry.clone() }, places, reads }
        });
        Structure { listed: listed.collect(), reads }
    }

    pub(crate) fn len(&self) -> usize {
        self.listed.len()
    }

    /// The push constants of a submission, as its kernel takes them.
    pub(crate) fn push(&self, at: usize) -> &[u8] {
        &self.listed[at].entry.submission.push
    }

    /// A submission, without its buffers.
    pub(crate) fn unbound(&self, at: usize) -> Option<&Entry> {
        self.listed.get(at).map(|listed| &listed.entry)
    }

    /// A submission, on buffers.
    pub(crate) fn entry(&self, at: usize, buffers: &Buffers) -> Entry {
        let Listed { entry, places, .. } = &self.listed[at];
        let mut entry = entry.clone();
        for (position, place) in places.iter().enumerate() {
            let buffer = &buffers[*place as usize];
            entry.touches[position].memory = buffer.shared.id;
            if let Some(arg) = entry.submission.args.get_mut(position) {
                arg.buffer = buffer.shared.id.planned();
            }
            entry.buffers.push(buffer.clone());
        }
        entry
    }

    /// What a submission touches, on buffers.
    pub(crate) fn touches<'a>(
        &'a self,
        at: usize,
        buffer: impl Fn(usize) -> &'a BufferInner + 'a,
    ) -> impl Iterator<Item = Touch> + 'a {
        let Listed { entry, places, .. } = &self.listed[at];
        let memory = move |place: &u32| buffer(*place as usize).shared.id;
        entry.touches.iter().zip(places).map(move |(touch, place)| Touch { memory: memory(place), ..*touch })
    }

    /// Whether all submissions find something readable in these places.
    pub(crate) fn all_readable<B: Borrow<Arc<BufferInner>>>(&self, buffers: &[B], places: Places) -> bool {
        self.reads
            .iter()
            .all(|read| !places.has(read.place) || read.is_readable(buffers[read.place as usize].borrow()))
    }

    /// Whether a submission finds something readable in buffers, now that the list would run.
    #[inline]
    pub(crate) fn readable<'a>(&self, at: usize, buffer: impl Fn(usize) -> &'a BufferInner) -> bool {
        self.reads[self.listed[at].reads.clone()]
            .iter()
            .all(|read| read.is_readable(buffer(read.place as usize)))
    }
}

impl Read {
    /// Every read of a submission that may find something unreadable, with what those before it write.
    fn of(device: &Device, earlier: &[Entry], entry: &Entry, places: &[u32]) -> SmallVec<[Read; 4]> {
        let reads = entry.touches.iter().zip(places).enumerate().filter(|(_, (touch, _))| touch.reads);
        let read = |(position, (touch, place)): (usize, (&Touch, &u32))| {
            let written = earlier.iter().flat_map(|entry| entry.overwritten(device, touch.memory));
            Read { place: *place, span: entry.read_span(device, position), written: written.collect() }
        };
        reads.map(read).filter(|read| !read.written.iter().any(|span| span.covers(read.span))).collect()
    }

    #[inline]
    fn is_readable(&self, buffer: &BufferInner) -> bool {
        buffer.unreadable(self.span).is_none()
            || buffer.unreadable_after(self.span, self.written.iter().copied()).is_none()
    }
}
