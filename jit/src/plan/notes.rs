//! Finds what a list does that can be run, and that may be a mistake: parts that are read and never written, values that are written over before
//! anything reads them, work-groups without work, lost updates, races, overlapping arguments.
//!
//! # Guarantees
//! - of a list that reads what was written or has contents, and uses what it writes, nothing is noted
//! - equal lists have equal notes, in the same order
//!
//! # Refuses
//! - to say anything that follows from accesses where a kernel of the list follows device addresses: these reach memory without an argument
//! - to say of buffers in arrays of descriptors what is read or written: which of them it is need not be known

mod words;

use std::collections::BTreeMap;

use crate::kernel::Binding;
use crate::plan::input::limits::Limits;
use crate::plan::input::submission::{Arg, BufferId, Promote, Submission};
use crate::plan::old_contents::{OldRead, Span, groups_in_use, lost_updates, may_read, may_write, old_reads};
use crate::plan::races::{Race, WriteRace, race, write_race};
use crate::plan::repeated::{repeated, repeated_inside};
use crate::plan::rewrites::must_write::overwrites;
use crate::plan::touching::touching;

pub use words::{in_words, writers_in_words};

/// Something in a list that can be run, and that may be a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// The submission that it is about, counted from 0.
    pub submission: usize,
    /// What it is.
    pub kind: NoteKind,
}

/// What may be a mistake in a submission. Arguments are named by their places in [`Submission::args`], bytes are those of the buffer.
// Exhaustive, so that who puts notes into words hears of a new kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// The buffer of an argument may stay inside of a fused kernel, and no submission reads it: then what is written to it is lost.
    PromotedUnread {
        /// The argument.
        arg: usize,
    },
    /// Two arguments share a part of a buffer, and what the kernel writes through one of them it may also access through the other: invocations may
    /// read what others write.
    Overlap {
        /// One argument.
        first: usize,
        /// The other one.
        second: usize,
        /// The bytes that both have.
        shared: Span,
    },
    /// It reads a buffer without contents, and only a later submission writes that.
    ReadEarly {
        /// The argument through which it reads.
        arg: usize,
        /// The first submission that writes it.
        written_by: usize,
    },
    /// It reads a part of a buffer without contents that no submission before writes, though they write others.
    ReadInPart {
        /// The argument through which it reads.
        arg: usize,
        /// What is read and not written, in order.
        bytes: Vec<Span>,
        /// The submissions before that write to the buffer.
        writers: Vec<usize>,
        /// No less than what they write, in order.
        written: Vec<Span>,
    },
    /// It is the last to write to an output without contents, and a part of that stays as it was.
    WrittenInPart {
        /// The argument through which it writes.
        arg: usize,
        /// What nothing writes.
        left: Vec<Span>,
    },
    /// It writes over all that an earlier submission has written to a buffer, and nothing has read that.
    Overwritten {
        /// The argument through which it writes.
        arg: usize,
        /// The earlier submission.
        of: usize,
    },
    /// With its numbers, no invocation reads or writes anything.
    Nothing,
    /// At least half of the work-groups in a dimension have nothing to do.
    Idle {
        /// The dimension: 0 is x.
        dimension: usize,
        /// Work-groups in it.
        groups: u32,
        /// How many of them, from the first on, may have something to do.
        used: u32,
    },
    /// Many work-groups of one invocation each: a kernel that does not say its local size.
    OneByOne {
        /// How many.
        groups: u64,
    },
    /// All invocations read and write the same bytes without an atomic operation: what some of them write is lost.
    LostUpdates {
        /// The argument.
        arg: usize,
        /// The first byte.
        byte: u64,
    },
    /// An invocation reads what another one writes, in no order.
    Race(Race),
    /// It reads a buffer without contents that no submission writes.
    NeverWritten {
        /// The argument through which it reads.
        arg: usize,
    },
    /// Two invocations write different values to one place, in no order.
    WriteRace(WriteRace),
    /// Work-groups that differ in one dimension alone write the same elements.
    Repeated {
        /// The dimension: `x`, `y` or `z`.
        dimension: &'static str,
    },
    /// The invocations of a work-group that differ in one dimension alone write the same elements.
    RepeatedInside {
        /// The dimension: `y` or `z`.
        dimension: &'static str,
    },
}

/// What is known of a list besides its submissions.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Whether a buffer has contents before the list, or may have.
    pub has_contents: &'a dyn Fn(BufferId) -> bool,
    /// Buffers that the list is to write as a whole, with their bytes.
    pub outputs: &'a [(BufferId, u64)],
    /// Those of the device.
    pub limits: &'a Limits,
}

/// From how many work-groups of one invocation on a device is certainly slowed down by them.
const MANY: u64 = 4096;

/// All that may be a mistake in a list.
#[must_use]
pub fn notes(list: &[Submission], known: &Known<'_>) -> Vec<Note> {
    let list = List::of(list, known);
    let mut notes = list.promoted_unread();
    notes.extend(list.each(overlapping));
    // What is reached by its address is used without an argument.
    if list.list.iter().all(|one| !one.kernel.interface.uses_device_addresses) {
        let early = list.read_early();
        notes.extend(early.clone());
        notes.extend(list.read_in_part(&early));
        notes.extend(list.written_in_part());
        notes.extend(list.overwritten());
        notes.extend(list.each(idle));
        notes.extend(list.each(one_by_one));
        notes.extend(list.each(|one| {
            let (arg, byte) = lost_updates(one).filter(|_| !has_arrays(one))?;
            Some(NoteKind::LostUpdates { arg, byte })
        }));
        notes.extend(list.each(unordered));
        notes.extend(list.never_written());
        notes.extend(list.each(again));
    }
    notes
}

/// A list, with what several notes ask for.
struct List<'a> {
    list: &'a [Submission],
    known: &'a Known<'a>,
    /// The uses of each buffer, in order.
    uses: BTreeMap<BufferId, Vec<Use<'a>>>,
}

/// One submission's use of a buffer.
#[derive(Clone, Copy)]
struct Use<'a> {
    submission: usize,
    arg: usize,
    bound: &'a Arg,
    binding: &'a Binding,
    /// Whether the submission has work-groups.
    runs: bool,
    /// Whether some invocation may read it with the numbers of the submission.
    may_read: bool,
}

impl Use<'_> {
    fn note(&self, kind: NoteKind) -> Note {
        Note { submission: self.submission, kind }
    }

    /// Whether it is in an array of descriptors.
    fn is_in_array(&self) -> bool {
        is_in_array(self.binding)
    }

    /// Whether it is an image, and no buffer seen through a format.
    fn is_image(&self) -> bool {
        self.binding.kind.texture().is_some_and(|kind| !kind.is_texels())
    }
}

impl<'a> List<'a> {
    fn of(list: &'a [Submission], known: &'a Known<'a>) -> Self {
        let mut uses: BTreeMap<BufferId, Vec<Use<'a>>> = BTreeMap::new();
        for (submission, one) in list.iter().enumerate() {
            let read = may_read(one);
            let all = one.args.iter().zip(&one.kernel.interface.bindings).enumerate();
            for (arg, (bound, binding)) in all {
                let may_read = binding.reads && read.contains(&arg);
                let used = Use { submission, arg, bound, binding, runs: one.runs(), may_read };
                uses.entry(bound.buffer).or_default().push(used);
            }
        }
        Self { list, known, uses }
    }

    /// The notes on submissions by themselves.
    fn each(&self, note: impl Fn(&Submission) -> Option<NoteKind>) -> Vec<Note> {
        let all = self.list.iter().enumerate();
        all.filter_map(|(submission, one)| Some(Note { submission, kind: note(one)? })).collect()
    }

    /// Whether nothing is known of what is read or written of a buffer, or it has contents.
    fn has_contents(&self, buffer: BufferId) -> bool {
        let uses = self.uses.get(&buffer);
        (self.known.has_contents)(buffer) || uses.is_some_and(|uses| uses.iter().any(Use::is_in_array))
    }

    /// The uses of buffers without contents by submissions that do something.
    fn blank(&self) -> impl Iterator<Item = Vec<Use<'a>>> {
        let blank = self.uses.iter().filter(|(buffer, _)| !self.has_contents(**buffer));
        blank.map(|(_, uses)| uses.iter().filter(|one| one.runs).copied().collect())
    }

    fn promoted_unread(&self) -> Vec<Note> {
        let is_lost = |one: &Use<'_>| !one.binding.reads && one.bound.promote != Promote::None;
        let lost = self.uses.values().filter(|uses| uses.iter().all(is_lost));
        lost.map(|uses| uses[0].note(NoteKind::PromotedUnread { arg: uses[0].arg })).collect()
    }

    fn read_early(&self) -> Vec<Note> {
        let early = |uses: Vec<Use<'a>>| {
            let written_by = uses.iter().find(|one| one.binding.writes)?.submission;
            let read = uses.iter().find(|one| one.may_read)?;
            let kind = NoteKind::ReadEarly { arg: read.arg, written_by };
            (read.submission < written_by).then(|| read.note(kind))
        };
        self.blank().filter_map(early).collect()
    }

    /// Reads beyond what was written before; of what is read early already, that is said.
    fn read_in_part(&self, early: &[Note]) -> Vec<Note> {
        let is_early = |buffer: BufferId| {
            early.iter().any(|note| match note.kind {
                NoteKind::ReadEarly { arg, .. } => self.list[note.submission].args[arg].buffer == buffer,
                _ => false,
            })
        };
        let found = old_reads(self.list, |buffer| self.has_contents(buffer) || is_early(buffer));
        let note = |OldRead { submission, arg, bytes, writers, written }| Note {
            submission,
            kind: NoteKind::ReadInPart { arg, bytes, writers, written },
        };
        found.into_iter().map(note).collect()
    }

    fn written_in_part(&self) -> Vec<Note> {
        let part = |&(buffer, bytes): &(BufferId, u64)| {
            if self.has_contents(buffer) {
                return None;
            }
            let uses: Vec<_> = self.uses.get(&buffer)?.iter().filter(|one| one.binding.writes).collect();
            let last = uses.last()?;
            let mut spans: Vec<Span> = Vec::new();
            for one in &uses {
                let writes = may_write(&self.list[one.submission]);
                spans.extend(writes.iter().filter(|(arg, _)| *arg == one.arg).map(|write| write.1));
            }
            let first = spans.iter().map(|span| span.0).min()?;
            let behind = spans.iter().map(|span| span.1).max()?;
            let ends = [(0, first), (behind, bytes)].into_iter().filter(|(from, to)| from < to);
            let left: Vec<Span> = ends.collect();
            (!left.is_empty()).then(|| last.note(NoteKind::WrittenInPart { arg: last.arg, left }))
        };
        self.known.outputs.iter().filter_map(part).collect()
    }

    fn overwritten(&self) -> Vec<Note> {
        let is_lost = |uses: &[Use<'_>], first: &Use<'_>, second: &Use<'_>| {
            let (a, range) = (first.bound, second.bound);
            let end = |arg: &Arg| arg.offset.saturating_add(arg.len);
            first.submission < second.submission
                && first.binding.writes
                && !second.binding.reads
                && range.offset <= a.offset
                && end(a) <= end(range)
                && uses.iter().filter(|one| one.submission == second.submission).count() == 1
                && may_write(&self.list[first.submission]).iter().any(|(arg, _)| *arg == first.arg)
                && overwrites(&self.list[second.submission], second.arg, self.known.limits)
        };
        let of_buffer = |uses: &Vec<Use<'a>>| {
            let uses: Vec<Use<'a>> = uses.iter().filter(|one| one.runs).copied().collect();
            if uses.iter().any(|one| one.is_image() || one.is_in_array()) {
                return None;
            }
            let pair = uses.windows(2).find(|pair| is_lost(&uses, &pair[0], &pair[1]))?;
            Some(pair[1].note(NoteKind::Overwritten { arg: pair[1].arg, of: pair[0].submission }))
        };
        self.uses.values().filter_map(of_buffer).collect()
    }

    fn never_written(&self) -> Vec<Note> {
        let never = |uses: Vec<Use<'a>>| {
            let read = uses.iter().find(|one| one.may_read)?;
            let is_written = uses.iter().any(|one| one.binding.writes);
            (!is_written).then(|| read.note(NoteKind::NeverWritten { arg: read.arg }))
        };
        self.blank().filter_map(never).collect()
    }
}

fn is_in_array(binding: &Binding) -> bool {
    binding.array.is_some_and(|array| array.len > 1)
}

fn has_arrays(one: &Submission) -> bool {
    one.kernel.interface.bindings.iter().any(is_in_array)
}

fn overlapping(one: &Submission) -> Option<NoteKind> {
    let found = touching(one)?;
    let [first, second] = found.args;
    Some(NoteKind::Overlap { first, second, shared: found.bytes })
}

/// A race that lost updates do not explain: one note is enough for one mistake.
fn unordered(one: &Submission) -> Option<NoteKind> {
    if has_arrays(one) || lost_updates(one).is_some() {
        return None;
    }
    race(one).map(NoteKind::Race).or_else(|| write_race(one).map(NoteKind::WriteRace))
}

fn again(one: &Submission) -> Option<NoteKind> {
    if !one.runs() {
        return None;
    }
    let of_groups = repeated(&one.kernel, one.groups).map(|dimension| NoteKind::Repeated { dimension });
    of_groups.or_else(|| Some(NoteKind::RepeatedInside { dimension: repeated_inside(&one.kernel)? }))
}

fn one_by_one(one: &Submission) -> Option<NoteKind> {
    let groups = one.groups.iter().fold(1, |all: u64, &count| all.saturating_mul(u64::from(count)));
    let is_one = one.kernel.interface.local_size == [1; 3];
    (is_one && groups >= MANY).then_some(NoteKind::OneByOne { groups })
}

fn idle(one: &Submission) -> Option<NoteKind> {
    let used = groups_in_use(one)?;
    if used == [0; 3] {
        return Some(NoteKind::Nothing);
    }
    let dimension = (0..3).find(|&d| used[d] <= one.groups[d] / 2)?;
    Some(NoteKind::Idle { dimension, groups: one.groups[dimension], used: used[dimension] })
}
