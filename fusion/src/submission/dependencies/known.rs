//! The known contents of small buffers: bytes that the host wrote or read, until a piece of work may have written them.
//!
//! Planning uses such bytes as numbers. Every write, from any queue, is added to the dependency graph, and forgets exactly the bytes
//! that it may write. A write by the host forgets its bytes when it begins and adds them when it ends, under the hold that
//! excludes all other accesses to them; what is known of other bytes stays in the dependency graph meanwhile, and is never copied out and put
//! back. So two writers of disjoint bytes cannot undo each other's changes.

use std::sync::{Arc, Weak};

use crate::submission::{
    dependencies::{Dependencies, Touch},
    identity::{SharedMemory, Span},
};

/// The known bytes of one memory.
#[derive(Debug)]
pub(super) struct KnownBytes {
    /// In order of their starts. No two overlap or meet.
    pieces: Vec<Piece>,
    /// Gone when nothing uses the memory any more.
    memory: Weak<SharedMemory>,
}

/// Consecutive known bytes.
#[derive(Debug)]
struct Piece {
    start: u64,
    bytes: Vec<u8>,
}

impl Piece {
    fn span(&self) -> Span {
        Span::of_len(self.start, self.bytes.len() as u64)
    }

    /// The known bytes of a span that begins in this piece or at its end.
    fn cut(&self, span: Span) -> Option<Piece> {
        let own = self.span();
        let (start, end) = (span.start.max(own.start), span.end.min(own.end));
        let bytes = self.bytes.get((start - own.start) as usize..end.checked_sub(own.start)? as usize)?;
        (!bytes.is_empty()).then(|| Piece { start, bytes: bytes.to_vec() })
    }
}

impl KnownBytes {
    fn overlaps(&self, span: Span) -> bool {
        self.pieces.iter().any(|piece| piece.span().overlaps(span))
    }

    /// Removes the bytes of a span.
    fn forget(&mut self, span: Span) {
        let pieces = std::mem::take(&mut self.pieces);
        for piece in pieces {
            if !piece.span().overlaps(span) {
                self.pieces.push(piece);
                continue;
            }
            let before = piece.cut(Span::new(piece.start, span.start.max(piece.start)));
            let after = piece.cut(Span::new(span.end.min(piece.span().end), piece.span().end));
            self.pieces.extend(before.into_iter().chain(after));
        }
    }

    /// Adds bytes, in place of what was known of them.
    fn add(&mut self, start: u64, bytes: &[u8]) {
        let span = Span::of_len(start, bytes.len() as u64);
        if let Some(own) = self.pieces.iter_mut().find(|piece| piece.span().covers(span)) {
            own.bytes[(start - own.start) as usize..][..bytes.len()].copy_from_slice(bytes);
            return;
        }
        self.forget(span);
        let at = self.pieces.partition_point(|piece| piece.start < start);
        self.pieces.insert(at, Piece { start, bytes: bytes.to_vec() });
        // The new piece may meet the ones on its sides.
        for left in [Some(at), at.checked_sub(1)].into_iter().flatten() {
            if let Some([piece, next]) = self.pieces.get_mut(left..left + 2)
                && piece.span().end == next.start
            {
                piece.bytes.append(&mut next.bytes);
                self.pieces.remove(left + 1);
            }
        }
    }
}

/// The number of memories with known bytes from which on entries of freed memories are dropped.
const SWEEP_AT: usize = 256;

impl Dependencies {
    /// Notes bytes that the host has just written or read, while it holds them against every other access.
    pub(crate) fn know(&mut self, memory: &Arc<SharedMemory>, start: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.known.len() >= self.forget_at.max(SWEEP_AT) {
            self.known.retain(|_, known| known.memory.strong_count() > 0);
            self.forget_at = 2 * self.known.len();
        }
        // A submission that repeats without asking the dependency graph may write these bytes, and would not forget them.
        self.disturb(memory.id);
        let empty = || KnownBytes { pieces: Vec::new(), memory: Arc::downgrade(memory) };
        self.known.entry(memory.id).or_insert_with(empty).add(start, bytes);
    }

    /// Notes that an access may have written bytes.
    pub(crate) fn forget(&mut self, touch: &Touch) {
        if let Some(known) = self.known.get_mut(&touch.memory)
            && known.overlaps(touch.span)
        {
            known.forget(touch.span);
            if known.pieces.is_empty() {
                self.known.remove(&touch.memory);
            }
        }
    }

    /// The contents of a memory from a byte on, as far as they are known.
    pub(crate) fn holds(&self, memory: &SharedMemory, start: u64) -> Option<&[u8]> {
        let pieces = &self.known.get(&memory.id)?.pieces;
        let piece = pieces.iter().find(|piece| piece.span().covers(Span::of_len(start, 1)))?;
        piece.bytes.get((start - piece.start) as usize..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{submission::dependencies::Stage, vk::Point};

    fn write(deps: &mut Dependencies, memory: &SharedMemory, span: Span, writes: bool) {
        let touch = Touch { memory: memory.id, span, reads: !writes, writes };
        let mut batch = deps.begin(0);
        deps.add(&mut batch, &Arc::from("test"), Stage::Compute, &[touch]);
        deps.commit(&batch, Point { queue: 0, value: 1 });
    }

    #[test]
    fn a_write_forgets_the_bytes_that_it_writes() {
        let mut deps = Dependencies::default();
        let memory = SharedMemory::new();
        deps.know(&memory, 4, &[1, 2, 3, 4]);
        assert_eq!(deps.holds(&memory, 6), Some(&[3, 4][..]));
        assert_eq!((deps.holds(&memory, 3), deps.holds(&memory, 8)), (None, None));
        write(&mut deps, &memory, Span::new(0, 64), false);
        write(&mut deps, &memory, Span::new(8, 64), true);
        assert_eq!(deps.holds(&memory, 4), Some(&[1, 2, 3, 4][..]));
        write(&mut deps, &memory, Span::new(5, 6), true);
        assert_eq!(deps.holds(&memory, 4), Some(&[1][..]));
        assert_eq!(deps.holds(&memory, 5), None);
        assert_eq!(deps.holds(&memory, 6), Some(&[3, 4][..]));
        write(&mut deps, &memory, Span::new(0, 7), true);
        assert_eq!(deps.holds(&memory, 6), None);
        assert_eq!(deps.holds(&memory, 7), Some(&[4][..]));
        write(&mut deps, &memory, Span::new(7, 100), true);
        assert!(deps.known.is_empty());
    }

    #[test]
    fn pieces_agree_with_one_option_for_each_byte() {
        const LEN: usize = 24;
        let mut deps = Dependencies::default();
        let memory = SharedMemory::new();
        let mut model = [None; LEN];
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for round in 0..4_000 {
            let start = random(LEN as u64);
            let end = start + 1 + random(LEN as u64 - start);
            let range = start as usize..end as usize;
            if random(3) == 0 {
                write(&mut deps, &memory, Span::new(start, end), true);
                model[range].fill(None);
            } else {
                let bytes: Vec<u8> = range.clone().map(|at| (at as u64 * 7 + round) as u8).collect();
                deps.know(&memory, start, &bytes);
                model[range].iter_mut().zip(bytes).for_each(|(known, byte)| *known = Some(byte));
            }
            for at in 0..LEN {
                let expected: Vec<u8> = model[at..].iter().map_while(|byte| *byte).collect();
                let held = deps.holds(&memory, at as u64).unwrap_or_default();
                assert_eq!(held, expected, "round {round}, from byte {at}");
            }
        }
    }

    #[test]
    fn memories_that_are_gone_are_dropped() {
        let mut deps = Dependencies::default();
        for _ in 0..4 * SWEEP_AT {
            deps.know(&SharedMemory::new(), 0, &[0; 16]);
        }
        assert!(deps.known.len() <= SWEEP_AT);
    }
}
