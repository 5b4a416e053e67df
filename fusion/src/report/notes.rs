//! What may be a mistake in a list, found when a report is first asked for it.
//!
//! The library does not know what the host is about to do with a buffer, so nothing is said of what a list leaves unwritten. Of reads of what nothing
//! has written it speaks where a buffer certainly never was: one made by [`Context::scratch`](crate::Context::scratch), before its first use.

use std::{
    fmt::{self, Debug, Display, Formatter},
    sync::{Arc, OnceLock},
};

use super::list::FusionReport;
use crate::jit::{
    self, BufferId, Internalization, Known, Limits, Note, NoteKind, Race, Span, Submission, WriteRace,
    in_words, writers_in_words,
};

/// Something in a list that ran, and that may be a mistake; `Display` says it in a sentence, with the names of kernels and buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoteReport {
    /// The submission that it is about, and what it is.
    pub note: Note,
    text: String,
}

impl Display for NoteReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What the notes of a list are found in.
#[derive(Clone, Default)]
pub(crate) struct Noted {
    list: Option<Arc<Listed>>,
    found: Arc<OnceLock<Vec<Note>>>,
}

/// A list as it was planned.
struct Listed {
    submissions: Vec<Submission>,
    blank: Vec<BufferId>,
    limits: Limits,
}

impl Debug for Noted {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Noted").field(&self.found.get()).finish()
    }
}

impl Noted {
    /// In a list that found nothing in these buffers, not even zeros that were asked for.
    pub(crate) fn of(submissions: Vec<Submission>, blank: Vec<BufferId>, limits: Limits) -> Noted {
        Noted { list: Some(Arc::new(Listed { submissions, blank, limits })), found: Arc::default() }
    }

    /// In the same list where it runs again, on whatever contents and buffers. With push constants nothing is known: they may be others.
    pub(crate) fn again(&self) -> Noted {
        let has_push = |one: &Submission| !one.push.is_empty();
        let list = self.list.as_ref().filter(|list| !list.submissions.iter().any(has_push));
        let Some(list) = list else { return Noted::default() };
        Noted::of(jit::without_numbers(&list.submissions), Vec::new(), list.limits)
    }

    fn found(&self) -> &[Note] {
        let find = |list: &Listed| {
            let has_contents = |buffer: BufferId| !list.blank.contains(&buffer);
            let known = Known { has_contents: &has_contents, outputs: &[], limits: &list.limits };
            jit::notes(&list.submissions, &known)
        };
        self.found.get_or_init(|| self.list.as_deref().map(find).unwrap_or_default())
    }

    /// Bytes from one element of an argument to the next, as its kernel declares them.
    fn stride(&self, submission: usize, arg: usize) -> Option<u64> {
        let one = self.list.as_ref()?.submissions.get(submission)?;
        one.kernel.elements_at(one.args.get(arg)?.at)?.stride().map(u64::from)
    }

    /// The binding of an argument, as messages have it.
    fn binding(&self, submission: usize, arg: usize) -> String {
        let one = self.list.as_ref().and_then(|list| list.submissions.get(submission));
        one.and_then(|one| one.args.get(arg)).map_or_else(String::new, |arg| arg.at.to_string())
    }
}

impl FusionReport {
    /// What may be a mistake in the list: races, lost updates, values that are written over before anything reads them, work-groups without work,
    /// arguments that overlap, reads of a [scratch](crate::Context::scratch) buffer that nothing has written. What it says is certain; a list may
    /// mean it even so.
    ///
    /// They are found when a report is first asked for them. Of a list that ran before and is only launched again, there are those that do not
    /// depend on push constants or contents: of one with push constants, none.
    #[must_use]
    pub fn notes(&self) -> Vec<NoteReport> {
        let found = self.noted.found().iter();
        found.filter_map(|note| Some(NoteReport { note: note.clone(), text: self.note(note)? })).collect()
    }

    /// All that there is to say, a sentence each and each once: that the list is an earlier one, or empty; what submissions were given and do not use, and the
    /// notes on the list.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut all: Vec<String> =
            self.earlier().into_iter().chain(self.empty()).map(str::to_owned).collect();
        all.extend(self.rejected.iter().chain(&self.cancelled).cloned());
        let given = self.kernels.iter().flat_map(|one| &one.notes).cloned();
        for sentence in given.chain(self.notes().into_iter().map(|note| note.text)) {
            if !all.contains(&sentence) {
                all.push(sentence);
            }
        }
        all
    }

    /// A note in words; nothing where it does not apply to what became of the list.
    fn note(&self, note: &Note) -> Option<String> {
        let number = note.submission;
        let kernel = self.kernels.get(number).map_or("", |one| &*one.kernel);
        let this = format!("submission {}", self.submission(number));
        let at = |arg: usize| Some(self.kernels.get(number)?.arguments.get(arg)?.buffer);
        let buffer = |arg: usize| at(arg).map_or_else(|| "a buffer".to_owned(), |id| self.buffer(id));
        let elements = |arg: usize, spans: &[Span]| match self.noted.stride(number, arg) {
            Some(stride) => in_words("element", spans, stride),
            None => in_words("byte", spans, 1),
        };
        let element = |arg: usize, byte: u64| match self.noted.stride(number, arg) {
            Some(stride) => format!("element {}", byte / stride.max(1)),
            None => format!("byte {byte}"),
        };
        Some(match &note.kind {
            NoteKind::PromotedUnread { arg } => {
                let is_inside = |id| {
                    self.plan.buffers.iter().any(|one| one.buffer == id && one.got != Internalization::None)
                };
                at(*arg).filter(|id| is_inside(*id))?;
                format!(
                    "{} is promoted, and no submission of the list reads it: what is written to it is lost; read it in the list, or do not promote it",
                    buffer(*arg)
                )
            }
            NoteKind::Overlap { first, second, shared } => format!(
                "{this} has {} of {} at {} and at {}, and writes through one of them: invocations may read what others write, docs/reasons.md#overlap",
                elements(*second, &[*shared]),
                buffer(*second),
                self.noted.binding(number, *first),
                self.noted.binding(number, *second),
            ),
            NoteKind::ReadEarly { arg, written_by } => format!(
                "{this} reads {} before submission {} writes it, and nothing has written it before: it reads zeros",
                buffer(*arg),
                self.submission(*written_by),
            ),
            NoteKind::ReadInPart { arg, bytes, writers, written } => format!(
                "{this} reads {} of {}, which nothing has written ({} {} at most): it reads zeros, docs/reasons.md#old-contents",
                elements(*arg, bytes),
                buffer(*arg),
                writers_in_words(writers),
                elements(*arg, written),
            ),
            NoteKind::WrittenInPart { arg, left } => {
                format!("nothing writes {} of {}: it holds zeros there", elements(*arg, left), buffer(*arg))
            }
            NoteKind::Overwritten { arg, of } => format!(
                "{this} writes over all that submission {} has written to {}, and nothing has read it",
                self.submission(*of),
                buffer(*arg),
            ),
            NoteKind::Nothing => format!(
                "{this} does nothing: with its push constants and sizes, no invocation reads or writes anything"
            ),
            NoteKind::Idle { dimension, groups, used } => format!(
                "{this} has {groups} work-groups in {}, and at most the first {used} have something to do: a dispatch by groups counts work-groups, one by items invocations",
                ["x", "y", "z"][(*dimension).min(2)],
            ),
            NoteKind::LostUpdates { arg, byte } => format!(
                "all invocations of {this} read and write {} of {} without an atomic operation: what some write is lost",
                element(*arg, *byte),
                buffer(*arg),
            ),
            NoteKind::Race(Race { arg, byte, reader, writer }) => format!(
                "invocation {reader:?} of {this} reads {} of {}, and {writer:?} writes it, in no order: read from one buffer and write to another, or update one element by an atomic operation",
                element(*arg, *byte),
                buffer(*arg),
            ),
            NoteKind::WriteRace(WriteRace { arg, byte, writers: [first, second] }) => format!(
                "invocations {first:?} and {second:?} of {this} write different values to {} of {}, in no order: which of them stays is not defined",
                element(*arg, *byte),
                buffer(*arg),
            ),
            NoteKind::OneByOne { groups } => format!(
                "{this} has {groups} work-groups of one invocation each, which is slow: its kernel may have forgotten to say a local size"
            ),
            NoteKind::RepeatedInside { dimension } => format!(
                "kernel {kernel} has work-groups of several invocations in {dimension} that write the same elements: it does not ask for its place in {dimension}"
            ),
            NoteKind::NeverWritten { arg } => {
                format!("{this} reads {}, which nothing has written: it reads zeros", buffer(*arg))
            }
            NoteKind::Repeated { dimension } => repeated(kernel, dimension),
        })
    }
}

/// That work-groups of a kernel do again what others did.
pub(crate) fn repeated(kernel: &str, dimension: &str) -> String {
    format!(
        "kernel {kernel} is dispatched with work-groups that differ in {dimension} alone and write the same elements: it does not ask for its \
         place in {dimension}"
    )
}
