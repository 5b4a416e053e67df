//! Pieces of memory, and what was in them.

use std::collections::BTreeMap;
use std::path::Path;
use vkfuse_layer::trace::Held;

/// Bytes of a memory, from the first to the one behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) memory: u64,
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Span {
    pub(super) fn overlaps(self, other: Span) -> bool {
        self.memory == other.memory && self.start < other.end && other.start < self.end
    }

    pub(super) fn contains(self, other: Span) -> bool {
        self.memory == other.memory && self.start <= other.start && other.end <= self.end
    }

    pub(super) fn len(self) -> u64 {
        self.end - self.start
    }
}

/// What is left of some spans without another one.
pub(super) fn without(spans: &[Span], gone: Span) -> Vec<Span> {
    let mut left = Vec::with_capacity(spans.len() + 1);
    for span in spans {
        if !span.overlaps(gone) {
            left.push(*span);
            continue;
        }
        if span.start < gone.start {
            left.push(Span { end: gone.start, ..*span });
        }
        if gone.end < span.end {
            left.push(Span { start: gone.end, ..*span });
        }
    }
    left
}

/// The pieces that spans which overlap make together. Those that only touch stay apart.
pub(super) fn connected(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if last.overlaps(span) => last.end = last.end.max(span.end),
            _ => joined.push(span),
        }
    }
    joined
}

/// The files with bytes of memory, read when they are asked for.
pub(super) struct Bytes<'f> {
    folder: &'f Path,
    known: BTreeMap<String, Vec<u8>>,
}

impl<'f> Bytes<'f> {
    pub(super) fn new(folder: &'f Path) -> Bytes<'f> {
        Bytes { folder, known: BTreeMap::new() }
    }

    /// What was in a piece of memory, if all of it is known: of what is held twice the first, or the last.
    pub(super) fn of(&mut self, span: Span, held: &[Held], last: bool) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(span.len()).ok()?];
        let mut unknown = vec![span];
        let order: Vec<&Held> = if last { held.iter().rev().collect() } else { held.iter().collect() };
        for one in order {
            let own = Span { memory: one.memory, start: one.at, end: one.at + one.len };
            if !unknown.iter().any(|left| left.overlaps(own)) {
                continue;
            }
            let source = self.file(&one.hash)?;
            for left in unknown.iter().filter(|left| left.overlaps(own)) {
                let (start, end) = (left.start.max(own.start), left.end.min(own.end));
                let from = source.get((start - own.start) as usize..(end - own.start) as usize)?;
                bytes[(start - span.start) as usize..(end - span.start) as usize].copy_from_slice(from);
            }
            unknown = without(&unknown, own);
        }
        unknown.is_empty().then_some(bytes)
    }

    fn file(&mut self, hash: &str) -> Option<&[u8]> {
        if !self.known.contains_key(hash) {
            let bytes = std::fs::read(self.folder.join("bytes").join(hash)).ok()?;
            self.known.insert(hash.to_owned(), bytes);
        }
        self.known.get(hash).map(Vec::as_slice)
    }

    /// Lets go of what was read.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u64, end: u64) -> Span {
        Span { memory: 1, start, end }
    }

    #[test]
    fn spans_are_joined_where_they_overlap_and_cut_where_one_goes() {
        let joined = connected(vec![span(8, 12), span(0, 4), span(2, 6), span(6, 8)]);
        assert_eq!(joined, [span(0, 6), span(6, 8), span(8, 12)]);
        assert_eq!(without(&[span(0, 10)], span(2, 4)), [span(0, 2), span(4, 10)]);
        assert_eq!(without(&[span(0, 10)], Span { memory: 2, ..span(2, 4) }), [span(0, 10)]);
        assert!(without(&[span(2, 4)], span(0, 10)).is_empty());
    }

    #[test]
    fn contents_are_the_first_or_the_last_that_is_known() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("bytes")).expect("a folder");
        let mut held = Vec::new();
        for (hash, at, bytes) in [("a", 0, [1u8; 4]), ("b", 2, [2; 4])] {
            std::fs::write(folder.path().join("bytes").join(hash), bytes).expect("it is written");
            held.push(Held { memory: 1, at, len: 4, hash: hash.to_owned() });
        }
        let mut bytes = Bytes::new(folder.path());
        assert_eq!(bytes.of(span(1, 6), &held, false).as_deref(), Some(&[1, 1, 1, 2, 2][..]));
        assert_eq!(bytes.of(span(1, 6), &held, true).as_deref(), Some(&[1, 2, 2, 2, 2][..]));
        assert_eq!(bytes.of(span(1, 7), &held, true), None);
    }
}
