//! What the analysis knows of a list with its numbers: parts that are read or compared and never written, values that are written for nothing,
//! work-groups without work, updates that are lost.

use super::{List, Submitted, Use};
use crate::pipeline::model::{Argument, Extent, Promotion};
use crate::pipeline::problem::Problem;
use vkfuse_jit::plan::{
    Limits, OldRead, Span, groups_in_use, lost_updates, may_write, old_reads, overwrites, race,
};

impl<'a> List<'a> {
    pub(super) fn by_numbers(&self) -> Vec<Problem> {
        let mut notes = self.read_in_part();
        notes.extend(self.written_in_part());
        notes.extend(self.overwritten());
        notes.extend(self.without_work());
        notes.extend(self.updates_lost());
        notes.extend(self.races());
        notes
    }

    /// Buffers without contents of their own that are read beyond what was written before.
    fn read_in_part(&self) -> Vec<Problem> {
        self.old_reads().iter().map(|one| self.in_part(one)).collect()
    }

    fn argument_of(&self, one: &OldRead) -> &Argument {
        &self.pipeline.submits[one.submission].args[self.submits[one.submission].args[one.arg]]
    }

    fn old_reads(&self) -> Vec<OldRead> {
        let is_known = |index: usize| {
            let declared = &self.pipeline.buffers[index];
            declared.initialised || declared.image.is_some() || self.early(index).is_some()
        };
        let known: Vec<bool> = (0..self.pipeline.buffers.len()).map(is_known).collect();
        old_reads(&self.submissions, |buffer| known[buffer.0 as usize])
    }

    fn in_part(&self, one: &OldRead) -> Problem {
        let arg = self.argument_of(one);
        let buffer = &self.pipeline.buffers[arg.buffer];
        let (name, size) = (&buffer.name, buffer.ty.size() as u64);
        let message = format!(
            "submission {} reads {} of {name}, which nothing before it writes ({} {} at most), and {name} has no `init`: it reads zeros, docs/reasons.md#old-contents",
            one.submission,
            elements(&one.bytes, size),
            writers(&one.writers),
            elements(&one.written, size),
        );
        self.pipeline.problem(&arg.place, message)
    }

    /// Outputs without contents of their own that are written in part: those that the file names, or else all that have memory, if
    /// nothing reads more of them than is written.
    fn written_in_part(&self) -> Vec<Problem> {
        let kept = || {
            let noted: Vec<usize> = self.old_reads().iter().map(|one| self.argument_of(one).buffer).collect();
            let is_kept = |&index: &usize| {
                let is_read = self.uses_of(index).any(|one| one.binding.reads);
                let buffer = &self.pipeline.buffers[index];
                let is_inside = buffer.promote != Promotion::None;
                // A slice is chosen.
                let is_slice = self.uses_of(index).all(|one| !one.binding.writes || one.arg.len < buffer.len);
                !(is_read && (is_inside || is_slice || noted.contains(&index) || self.early(index).is_some()))
            };
            (0..self.pipeline.buffers.len()).filter(is_kept).collect()
        };
        let outputs: Vec<usize> = self.pipeline.fusion.outputs.clone().unwrap_or_else(kept);
        let part = |&index: &usize| {
            let buffer = &self.pipeline.buffers[index];
            if buffer.initialised || buffer.image.is_some() {
                return None;
            }
            let uses: Vec<Use<'a>> = self.uses_of(index).filter(|one| one.binding.writes).collect();
            let last = uses.last()?;
            let mut spans: Vec<Span> = Vec::new();
            for one in &uses {
                let writes = may_write(&self.submissions[one.submission]);
                let args = &self.submits[one.submission].args;
                let place = |arg: usize| &self.pipeline.submits[one.submission].args[args[arg]];
                spans.extend(writes.iter().filter(|(arg, _)| place(*arg).buffer == index).map(|one| one.1));
            }
            let all = buffer.bytes();
            let first = spans.iter().map(|span| span.0).min()?;
            let behind = spans.iter().map(|span| span.1).max()?;
            let ends = [(0, first), (behind, all)].into_iter().filter(|(from, to)| from < to);
            let ends: Vec<Span> = ends.collect();
            (!ends.is_empty()).then(|| {
                let (name, size) = (&buffer.name, buffer.ty.size() as u64);
                let message = format!(
                    "nothing writes {} of {name}, which is an output and has no `init`: it holds zeros there",
                    elements(&ends, size)
                );
                self.pipeline.problem(&last.arg.place, message)
            })
        };
        outputs.iter().filter_map(part).collect()
    }

    /// What is written, and written over before anything reads it.
    fn overwritten(&self) -> Vec<Problem> {
        let limits = Limits { robust: self.pipeline.fusion.robust, ..Limits::default() };
        let mut notes = Vec::new();
        for (index, buffer) in self.pipeline.buffers.iter().enumerate().filter(|(_, one)| one.image.is_none())
        {
            let uses: Vec<Use<'a>> =
                self.uses_of(index).filter(|one| self.has_work(one.submission)).collect();
            let lost = uses.windows(2).find_map(|pair| {
                let [first, second] = pair else { return None };
                let arg = |one: &Use<'_>| {
                    let args = &self.submissions[one.submission].args;
                    args.iter().position(|arg| arg.at == one.arg.at)
                };
                let (a, b) = (arg(first)?, arg(second)?);
                let (a, range) = (
                    &self.submissions[first.submission].args[a],
                    &self.submissions[second.submission].args[b],
                );
                let is_within = range.offset <= a.offset && a.offset + a.len <= range.offset + range.len;
                let is_lost = first.submission < second.submission
                    && first.binding.writes
                    && !second.binding.reads
                    && is_within
                    && uses.iter().filter(|one| one.submission == second.submission).count() == 1
                    && overwrites(&self.submissions[second.submission], b, &limits);
                is_lost.then_some((first.submission, second))
            });
            notes.extend(lost.map(|(first, second)| {
                let (name, second_number) = (&buffer.name, second.submission);
                let message = format!(
                    "submission {second_number} writes over all that submission {first} has written to {name}, and nothing has read it"
                );
                self.pipeline.problem(&second.arg.place, message)
            }));
        }
        notes
    }

    /// Submissions with work-groups that do nothing, half of them or more.
    fn without_work(&self) -> Vec<Problem> {
        self.on_each(|Submitted { submit, planned, .. }| {
            if matches!(submit.extent, Extent::Indirect { .. }) {
                return None;
            }
            let used = groups_in_use(planned)?;
            let kernel = &self.pipeline.kernels[submit.kernel].name;
            let message = if used == [0; 3] {
                format!(
                    "kernel {kernel} does nothing: with these numbers, no invocation reads or writes anything"
                )
            } else {
                let (d, name) = [(0, "x"), (1, "y"), (2, "z")]
                    .into_iter()
                    .find(|&(d, _)| used[d] <= planned.groups[d] / 2)?;
                let (groups, used) = (planned.groups[d], used[d]);
                let counts = match submit.extent {
                    Extent::Groups(_) => "; `global` counts invocations, `groups` work-groups",
                    _ => "",
                };
                format!(
                    "kernel {kernel} has {groups} work-groups in {name}, and at most the first {used} have something to do{counts}"
                )
            };
            Some(self.pipeline.problem(&submit.place, message))
        })
    }

    /// Submissions whose invocations all read and write one element.
    fn updates_lost(&self) -> Vec<Problem> {
        self.on_each(|one| {
            let (arg, byte) = lost_updates(one.planned)?;
            let arg = one.argument(arg);
            let buffer = &self.pipeline.buffers[arg.buffer];
            let kernel = &self.pipeline.kernels[one.submit.kernel].name;
            let message = format!(
                "all invocations of kernel {kernel} read and write element {} of {} without an atomic operation: what some write is lost",
                byte / buffer.ty.size() as u64,
                buffer.name,
            );
            Some(self.pipeline.problem(&arg.place, message))
        })
    }

    /// Submissions whose invocations read what others of them write.
    fn races(&self) -> Vec<Problem> {
        self.on_each(|one| {
            let race = race(one.planned)?;
            let arg = one.argument(race.arg);
            let buffer = &self.pipeline.buffers[arg.buffer];
            let (kernel, name) = (&self.pipeline.kernels[one.submit.kernel].name, &buffer.name);
            let (element, reader, writer) = (race.byte / buffer.ty.size() as u64, race.reader, race.writer);
            let message = format!(
                "invocation {reader:?} of kernel {kernel} reads element {element} of {name}, and {writer:?} writes it, in no order: read from one buffer and write to another"
            );
            Some(self.pipeline.problem(&arg.place, message))
        })
    }
}

/// Most runs of elements, and most submissions, that a sentence names.
const NAMED: usize = 3;

/// Runs of elements of `size` bytes: `elements 0 to 31 and 64`.
pub(super) fn elements(spans: &[Span], size: u64) -> String {
    let runs = spans.iter().map(|&(from, to)| (from / size, to.saturating_sub(1) / size));
    let text = |(first, last)| if first == last { format!("{first}") } else { format!("{first} to {last}") };
    let is_one = matches!(*spans, [(from, to)] if to - from <= size);
    format!("{} {}", if is_one { "element" } else { "elements" }, named(runs.map(text).collect()))
}

/// `submission 0 writes`, or `submissions 0 and 1 write`.
fn writers(writers: &[usize]) -> String {
    match writers {
        [one] => format!("submission {one} writes"),
        all => format!("submissions {} write", named(all.iter().map(usize::to_string).collect())),
    }
}

/// The first of some names.
fn named(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let last = match more {
        0 => names.pop().unwrap_or_default(),
        more => format!("{more} more"),
    };
    if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) }
}
