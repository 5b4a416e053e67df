//! What the analysis knows of a list with its numbers: parts that are read or compared and never written, values that are written for nothing,
//! work-groups without work, updates that are lost.

use super::{List, Submitted, Use};
use crate::pipeline::model::Extent;
use crate::pipeline::problem::Problem;
use vkfuse_jit::plan::{
    Limits, OldRead, Span, Texels, groups_in_use, lost_updates, may_write, may_write_texels, old_reads,
    overwrites, race, write_race,
};

impl<'a> List<'a> {
    pub(super) fn by_numbers(&self) -> Vec<Problem> {
        let mut notes = self.read_in_part();
        notes.extend(self.written_in_part());
        notes.extend(self.drawn_in_part());
        notes.extend(self.overwritten());
        notes.extend(self.without_work());
        notes.extend(self.updates_lost());
        notes.extend(self.races());
        notes.extend(self.write_races());
        notes
    }

    /// Buffers without contents of their own that are read beyond what was written before.
    fn read_in_part(&self) -> Vec<Problem> {
        let is_known = |index: usize| {
            let declared = &self.pipeline.buffers[index];
            declared.initialised || declared.image.is_some() || self.early(index).is_some()
        };
        let known: Vec<bool> = (0..self.pipeline.buffers.len()).map(is_known).collect();
        let found = old_reads(&self.submissions, |buffer| known[buffer.0 as usize]);
        found.iter().map(|one| self.in_part(one)).collect()
    }

    fn in_part(&self, one: &OldRead) -> Problem {
        let submit = &self.pipeline.submits[one.submission];
        let arg = &submit.args[self.submits[one.submission].args[one.arg]];
        let buffer = &self.pipeline.buffers[arg.buffer];
        let (name, size) = (&buffer.name, buffer.ty.size() as u64);
        let message = format!(
            "submission {} reads {} of {name}, which nothing before it writes ({} {} at most{}), and {name} has no `init`: it reads zeros, docs/reasons.md#old-contents",
            one.submission,
            elements(&one.bytes, size),
            writers(&one.writers),
            elements(&one.written, size),
            if self.counts_invocations(&one.writers) { "; `global` counts invocations" } else { "" },
        );
        self.pipeline.problem(&arg.place, message)
    }

    /// Whether one submission writes, and its `global` makes no more than one work-group.
    fn counts_invocations(&self, writers: &[usize]) -> bool {
        let &[only] = writers else { return false };
        let is_one = self.submits[only].groups == [1; 3];
        is_one && matches!(self.pipeline.submits[only].extent, Extent::Global(_))
    }

    /// Outputs without contents of their own that are written in part: those that the file names, or else what nothing reads.
    fn written_in_part(&self) -> Vec<Problem> {
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
        self.outputs().iter().filter_map(part).collect()
    }

    /// What the file names as outputs, or else what nothing reads.
    fn outputs(&self) -> Vec<usize> {
        let unread = || {
            let is_read = |index: usize| self.uses_of(index).any(|one| one.binding.reads);
            (0..self.pipeline.buffers.len()).filter(|&index| !is_read(index)).collect()
        };
        self.pipeline.fusion.outputs.clone().unwrap_or_else(unread)
    }

    /// Images without contents of their own that are outputs and are written in part.
    fn drawn_in_part(&self) -> Vec<Problem> {
        let extent = |index: usize| self.pipeline.buffers[index].image.map(|image| image.extent);
        let part = |index: usize| {
            let image = &self.pipeline.buffers[index];
            let extent_of = extent(index).filter(|_| !image.initialised)?;
            let uses: Vec<Use<'a>> = self.uses_of(index).filter(|one| one.binding.writes).collect();
            let last = uses.last()?;
            let mut all: Option<Texels> = None;
            for one in &uses {
                let (submit, args) =
                    (&self.pipeline.submits[one.submission], &self.submits[one.submission].args);
                let buffer = |arg: usize| submit.args[args[arg]].buffer;
                let written = may_write_texels(&self.submissions[one.submission], |arg| extent(buffer(arg)));
                for (_, texels) in written.into_iter().filter(|(arg, _)| buffer(*arg) == index) {
                    let known = all.unwrap_or(texels);
                    all = Some(std::array::from_fn(|d| {
                        (known[d].0.min(texels[d].0), known[d].1.max(texels[d].1))
                    }));
                }
            }
            let all = all?;
            let (d, lines) = [(1, "rows"), (0, "columns"), (2, "slices")]
                .into_iter()
                .find(|&(d, _)| all[d].0 > 0 || all[d].1 + 1 < extent_of[d])?;
            let ends =
                [(0, all[d].0), (all[d].1 + 1, extent_of[d])].into_iter().filter(|(from, to)| from < to);
            let runs = ends.map(|(from, to)| run((from.into(), u64::from(to) - 1))).collect();
            let name = &image.name;
            let message = format!(
                "nothing writes {lines} {} of {name}, an image of {} {lines} that is an output and has no `init`: it holds zeros there",
                named(runs),
                extent_of[d],
            );
            Some(self.pipeline.problem(&last.arg.place, message))
        };
        self.outputs().into_iter().filter_map(part).collect()
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

    /// Submissions whose invocations write different values to one element.
    fn write_races(&self) -> Vec<Problem> {
        self.on_each(|one| {
            let is_told = race(one.planned).is_some() || lost_updates(one.planned).is_some();
            let race = write_race(one.planned).filter(|_| !is_told)?;
            let arg = one.argument(race.arg);
            let buffer = &self.pipeline.buffers[arg.buffer];
            let (kernel, name) = (&self.pipeline.kernels[one.submit.kernel].name, &buffer.name);
            let (element, [first, second]) = (race.byte / buffer.ty.size() as u64, race.writers);
            let message = format!(
                "invocations {first:?} and {second:?} of kernel {kernel} write different values to element {element} of {name}, in no order: which of them stays is not defined"
            );
            Some(self.pipeline.problem(&arg.place, message))
        })
    }

    /// Submissions whose invocations read what others of them write.
    fn races(&self) -> Vec<Problem> {
        self.on_each(|one| {
            // One sentence is enough for one mistake.
            let race = race(one.planned).filter(|_| lost_updates(one.planned).is_none())?;
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
    let runs = spans.iter().map(|&(from, to)| run((from / size, to.saturating_sub(1) / size)));
    let is_one = matches!(*spans, [(from, to)] if to - from <= size);
    format!("{} {}", if is_one { "element" } else { "elements" }, named(runs.collect()))
}

/// `7`, or `0 to 31`.
fn run((first, last): (u64, u64)) -> String {
    if first == last { format!("{first}") } else { format!("{first} to {last}") }
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
