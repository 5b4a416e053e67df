//! The bytes of a buffer that may not be read.
//!
//! A fused kernel does not write what it keeps in registers or shared memory, and a run that failed wrote nothing. The
//! memory then holds older bytes, and reading them as if they were the result would be silently wrong. So such
//! ranges are remembered, reading them is an error that names the buffer, and writing them makes them readable again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::{error::Unreadable, submission::identity::Span};

/// The contents of one memory, shared by the buffers over it.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct SharedContents {
    /// Whether there is any range that cannot be read: what nearly every question comes to.
    any: AtomicBool,
    /// Where all that cannot be read is one range from the start on, which a fused kernel kept to itself, its end: what a list loses
    /// that is run on other buffers each time is mostly lost already.
    inside_up_to: AtomicU64,
    ranges: Mutex<Contents>,
}

impl SharedContents {
    /// Updates the summary that is read without the lock.
    fn sum_up(&self, ranges: &Contents) {
        let inside = match ranges.bad[..] {
            [(Span { start: 0, end }, Unreadable::Internalized)] => end,
            _ => 0,
        };
        self.inside_up_to.store(inside, Ordering::Release);
        self.any.store(!ranges.bad.is_empty(), Ordering::Release);
    }

    /// Why the range cannot be read, if it cannot.
    #[inline]
    pub(crate) fn unreadable(&self, range: Span) -> Option<Unreadable> {
        if self.are_good() { None } else { self.ranges.lock().unreadable(range) }
    }

    /// As [`SharedContents::unreadable`], once these ranges were written.
    pub(crate) fn unreadable_after(
        &self,
        range: Span,
        written: impl IntoIterator<Item = Span>,
    ) -> Option<Unreadable> {
        let mut contents = self.ranges.lock().clone();
        written.into_iter().for_each(|range| contents.written(range));
        contents.unreadable(range)
    }

    /// The part of the range that cannot be read is good again: it was written. Whether that changed anything.
    pub(crate) fn written(&self, range: Span) -> bool {
        if self.are_good() {
            return false;
        }
        let mut ranges = self.ranges.lock();
        let changed = ranges.unreadable(range).is_some();
        ranges.written(range);
        self.sum_up(&ranges);
        changed
    }

    /// Whether all of it can be read, so that nothing changes where some is written.
    #[inline]
    pub(crate) fn are_good(&self) -> bool {
        !self.any.load(Ordering::Acquire)
    }

    /// Whether a fused kernel is known to have kept the range to itself. It may be so and not be known here.
    #[inline]
    pub(crate) fn are_inside(&self, range: Span) -> bool {
        (range.start, range.end) == (0, self.inside_up_to.load(Ordering::Acquire))
    }

    /// The range holds nothing that may be read. Whether that is new.
    pub(crate) fn lost(&self, range: Span, why: Unreadable) -> bool {
        if why == Unreadable::Internalized && self.are_inside(range) {
            return false;
        }
        let mut ranges = self.ranges.lock();
        // No two of them overlap, so no other note covers any part of it.
        if ranges.bad.contains(&(range, why)) {
            return false;
        }
        ranges.lost(range, why);
        self.sum_up(&ranges);
        true
    }
}

/// The ranges of one memory that must not be read. Empty for nearly every buffer, nearly always.
#[derive(Debug, Default, Clone)]
pub(crate) struct Contents {
    bad: Vec<(Span, Unreadable)>,
}

impl Contents {
    /// Why the range cannot be read, if it cannot.
    pub(crate) fn unreadable(&self, range: Span) -> Option<Unreadable> {
        self.bad.iter().find(|(bad, _)| bad.overlaps(range)).map(|(_, why)| *why)
    }

    /// The part of the range that cannot be read is good again: it was written.
    pub(crate) fn written(&mut self, range: Span) {
        if self.bad.is_empty() {
            return;
        }
        let mut kept = Vec::with_capacity(self.bad.len() + 1);
        for (bad, why) in self.bad.drain(..) {
            let before = Span::new(bad.start, bad.end.min(range.start));
            let after = Span::new(bad.start.max(range.end), bad.end);
            for part in [before, after] {
                if !part.is_empty() {
                    kept.push((part, why));
                }
            }
        }
        self.bad = kept;
    }

    /// The range holds nothing that may be read.
    pub(crate) fn lost(&mut self, range: Span, why: Unreadable) {
        self.written(range);
        if !range.is_empty() {
            self.bad.push((range, why));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_in_the_middle_leaves_both_ends_bad() {
        let mut contents = Contents::default();
        contents.lost(Span::new(0, 100), Unreadable::Internalized);
        contents.written(Span::new(40, 60));
        assert_eq!(contents.unreadable(Span::new(0, 40)), Some(Unreadable::Internalized));
        assert_eq!(contents.unreadable(Span::new(40, 60)), None);
        assert_eq!(contents.unreadable(Span::new(60, 61)), Some(Unreadable::Internalized));
        contents.written(Span::new(0, 100));
        assert_eq!(contents.unreadable(Span::new(0, 100)), None);
    }

    #[test]
    fn a_write_next_to_it_changes_nothing() {
        let mut contents = Contents::default();
        contents.lost(Span::new(10, 20), Unreadable::Failed);
        contents.written(Span::new(0, 10));
        contents.written(Span::new(20, 30));
        assert_eq!(contents.unreadable(Span::new(10, 20)), Some(Unreadable::Failed));
        assert_eq!(contents.unreadable(Span::new(0, 10)), None);
    }
}
