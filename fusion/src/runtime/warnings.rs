//! Warnings about lists: what may be a mistake in them, and what ended them early.
//!
//! Each sentence is said once in a context: programs run the same lists again and again.

use std::hash::{Hash, Hasher};

use ahash::{AHashMap, AHashSet, AHasher};
use parking_lot::Mutex;

use super::{
    context::ContextInner,
    end::{End, Seen},
    prepare::{names, noted},
    queues::QueueCell,
    schedule::List,
};
use crate::{
    jit::Report,
    report::{
        list::FusionReport,
        outcome::{CancelCause, Outcome},
    },
    submission::entry::Entry,
};

/// What was said.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    sentences: Mutex<AHashSet<String>>,
    /// Lists that were looked at, by hashes of what they are whatever their push constants and buffers.
    lists: Mutex<AHashSet<u64>>,
    /// Kernels that ran outside of lists, by their hashes.
    kernels: Mutex<AHashSet<[u8; 32]>>,
}

/// Most sentences that are said, and most lists and kernels that are looked at.
const MOST_SAID: usize = 256;
const MOST_LISTS: usize = 4096;

impl Warnings {
    /// Whether a sentence is to be said: for the first time.
    fn is_new(&self, sentence: &str) -> bool {
        let mut said = self.sentences.lock();
        said.len() < MOST_SAID && !said.contains(sentence) && said.insert(sentence.to_owned())
    }

    /// Whether nothing like a list was prepared before. With other push constants it is the same.
    pub(crate) fn is_new_list(&self, entries: &[Entry]) -> bool {
        let (mut hasher, mut numbers) = (AHasher::default(), AHashMap::new());
        for Entry { submission, .. } in entries {
            (submission.kernel.hash, submission.base, submission.groups).hash(&mut hasher);
            for arg in &submission.args {
                let next = numbers.len();
                (*numbers.entry(arg.buffer).or_insert(next), arg.offset, arg.len).hash(&mut hasher);
            }
        }
        let mut lists = self.lists.lock();
        lists.len() < MOST_LISTS && lists.insert(hasher.finish())
    }
}

/// Whether anyone wants to know what may be a mistake. Finding it takes time.
pub(crate) fn listens() -> bool {
    tracing::enabled!(target: "vkfuse::notes", tracing::Level::WARN)
}

impl ContextInner {
    /// Says what may be a mistake in a list. What its submissions were given in vain was said before.
    pub(crate) fn tell_notes(&self, report: &FusionReport) {
        for note in report.notes() {
            self.tell_note(report, note.to_string());
        }
    }

    fn tell_note(&self, report: &FusionReport, sentence: String) {
        let is_said = report.kernels.iter().any(|one| one.notes.contains(&sentence));
        if !is_said && self.warnings.is_new(&sentence) {
            tracing::warn!(target: "vkfuse::notes", "{sentence}");
        }
    }

    /// Says what may be a mistake in a submission outside of lists, for the first of its kernel.
    pub(crate) fn tell_alone(&self, entry: &Entry) {
        let mut kernels = self.warnings.kernels.lock();
        let is_new = kernels.len() < MOST_LISTS && kernels.insert(entry.submission.kernel.hash);
        drop(kernels);
        if !is_new {
            return;
        }
        let entries = std::slice::from_ref(entry);
        let named = (vec![entry.report()], names(entries));
        let mut report = FusionReport::new(Outcome::Unfused, Report::default(), named, Vec::new(), 0.0);
        report.noted = noted(entries);
        let (in_a_list, alone) =
            (format!("submission 0 `{}`", entry.label), format!("a submission of `{}`", entry.label));
        for note in report.notes() {
            self.tell_note(&report, note.to_string().replace(&in_a_list, &alone));
        }
    }

    /// Says what became of a list. What cancelled it is a warning, unless that was asked for.
    pub(crate) fn tell_ended(&self, queue: &QueueCell, report: &FusionReport) {
        let FusionReport { submissions, outcome, cancelled, rejected, .. } = report;
        let is_cancelled = matches!(outcome, Outcome::Cancelled { .. });
        if let Some(rejected) = rejected.as_ref().filter(|_| !is_cancelled) {
            tracing::warn!("{rejected}");
        }
        let warns = |sentence: &&String| {
            tracing::enabled!(tracing::Level::WARN) && self.warnings.is_new(sentence.as_str())
        };
        let (queue, dispatches) = (queue.id.0, report.steps.len());
        match cancelled.as_ref().filter(warns) {
            Some(why) => {
                tracing::warn!(queue, submissions, dispatches, %outcome, "fusion list ended: {why}");
            }
            None => tracing::info!(queue, submissions, dispatches, %outcome, "fusion list ended"),
        }
    }
}

impl End {
    /// What cancelled a list, and what to do; nothing where that was asked for, or the list is empty.
    pub(crate) fn cancelled(&self, list: &List) -> Option<String> {
        let End::Cancel(cause, seen) = self else { return None };
        let last = list.entries.len().checked_sub(1)?;
        let place = |at: usize| format!("submission {at} `{}`", list.entries[at].label);
        let what = match cause {
            CancelCause::Explicit => return None,
            CancelCause::Constant => "an argument that is declared constant".to_owned(),
            cause => cause.to_string(),
        };
        let on = if matches!(cause, CancelCause::HostTask) { "on" } else { "of" };
        let of =
            seen.as_ref().and_then(|seen| seen.found(list)).map_or_else(String::new, |(at, name, uses)| {
                format!(" {on} buffer `{name}`, which {} {uses},", place(at))
            });
        let advice = match cause {
            CancelCause::HostWrite | CancelCause::Constant => {
                "move it in front of the list or behind it, or call `complete_fusion` before it"
            }
            CancelCause::HostRead | CancelCause::Command | CancelCause::HostTask | CancelCause::Recorded => {
                "move it behind the list, or call `complete_fusion` before it"
            }
            CancelCause::ScopeLeft => {
                "the closure of `fuse` has to return `Ok`, and a wrapper has to live until `complete_fusion` is called"
            }
            CancelCause::EventWait | CancelCause::QueueWait => {
                "wait behind the list, for the event that `fuse` or `complete_fusion` returns"
            }
            _ => "call `complete_fusion` before it",
        };
        Some(format!(
            "{what}{of} came behind {} and before the list was complete, which ran unfused: {advice}",
            place(last)
        ))
    }
}

impl Seen {
    /// The first submission of a list that it observes, with the buffer and what that does with it.
    fn found(&self, list: &List) -> Option<(usize, String, &'static str)> {
        list.entries.iter().enumerate().find_map(|(at, entry)| {
            let mut touches = entry.touches.iter().zip(&entry.buffers);
            let is_seen = |listed| self.touches.iter().any(|touch| (self.rule)(touch, listed));
            let (touch, buffer) = touches.find(|(listed, _)| is_seen(listed))?;
            Some((at, buffer.name().to_string(), if touch.writes { "writes" } else { "reads" }))
        })
    }
}
