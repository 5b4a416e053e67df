//! What a pipeline file says that can be run, and that may be mistaken: a sentence for each.
//!
//! # Guarantees
//! - nothing is noted of a list that writes all its outputs, gives contents to what is read first, and uses what it declares

mod contents;
mod numbers;

use super::bind;
use super::check::CheckedSubmit;
use super::list;
use super::model::{Argument, Extent, Pipeline, Promotion};
use super::problem::Problem;
use vkfuse_jit::kernel::{Binding, SetBinding};
use vkfuse_jit::plan::{Submission, has_work, may_read, repeated};

/// The notes on the list as a whole, those on buffers in the order of the file.
pub(super) fn on_list(pipeline: &Pipeline, submits: &[CheckedSubmit]) -> Vec<Problem> {
    let submissions = list::submissions(pipeline, submits);
    let reads = submissions.iter().map(may_read).collect();
    let list = List { pipeline, submits, submissions, reads };
    let mut notes = list.lost();
    notes.extend(list.misread());
    notes.extend(list.overlapping());
    // What is reached by its address is used without an argument.
    if submits.iter().all(|checked| !checked.kernel.interface.uses_device_addresses) {
        notes.extend(list.unwritten());
        notes.extend(list.read_early());
        notes.extend(list.by_numbers());
        notes.extend(list.never_filled());
        notes.extend(list.unused());
        notes.extend(list.repeated());
    }
    notes
}

struct List<'a> {
    pipeline: &'a Pipeline,
    submits: &'a [CheckedSubmit],
    /// The same as the planner has them.
    submissions: Vec<Submission>,
    /// Of each submission, the arguments that it may read with its numbers.
    reads: Vec<Vec<usize>>,
}

/// A submission as it is in the file, and as the planner has it.
struct Submitted<'a> {
    submit: &'a super::Submit,
    checked: &'a CheckedSubmit,
    planned: &'a Submission,
}

impl<'a> Submitted<'a> {
    /// The argument with this place in [`Submission::args`].
    fn argument(&self, number: usize) -> &'a Argument {
        &self.submit.args[self.checked.args[number]]
    }
}

/// One submission's use of a buffer.
struct Use<'a> {
    submission: usize,
    /// The number of its argument.
    number: usize,
    arg: &'a Argument,
    binding: &'a Binding,
}

impl<'a> List<'a> {
    /// The notes on submissions by themselves.
    fn on_each(&self, note: impl Fn(Submitted<'_>) -> Option<Problem>) -> Vec<Problem> {
        let all = self.pipeline.submits.iter().zip(self.submits).zip(&self.submissions);
        all.filter_map(|((submit, checked), planned)| note(Submitted { submit, checked, planned })).collect()
    }

    fn uses(&self) -> impl Iterator<Item = Use<'a>> {
        let submits = self.pipeline.submits.iter().zip(self.submits).enumerate();
        submits.flat_map(|(submission, (submit, checked))| {
            // `bind` has listed the arguments in the order of the interface's bindings.
            let used = checked.args.iter().zip(&checked.kernel.interface.bindings).enumerate();
            used.map(move |(number, (&arg, binding))| Use {
                submission,
                number,
                arg: &submit.args[arg],
                binding,
            })
        })
    }

    fn uses_of(&self, buffer: usize) -> impl Iterator<Item = Use<'a>> {
        self.uses().filter(move |one| one.arg.buffer == buffer)
    }

    /// Whether some invocation may read what is passed.
    fn is_read(&self, one: &Use<'_>) -> bool {
        one.binding.reads && self.reads[one.submission].contains(&one.number)
    }

    fn has_work(&self, submission: usize) -> bool {
        has_work(self.submits[submission].groups)
    }

    /// Buffers that are to stay inside of a fused kernel, and that none of the submissions reads.
    fn lost(&self) -> Vec<Problem> {
        let is_asked = |promote: Promotion| promote != Promotion::None;
        let is_lost = |index: usize| {
            let mut all = self.uses_of(index).peekable();
            all.peek().is_some()
                && all.all(|one| {
                    !one.binding.reads
                        && is_asked(one.arg.promote.unwrap_or(self.pipeline.buffers[index].promote))
                })
        };
        let lost = self.pipeline.buffers.iter().enumerate().filter(|(index, _)| is_lost(*index));
        lost.map(|(_, buffer)| {
            let name = &buffer.name;
            let message = format!(
                "buffer {name} is to be promoted, and no submission reads it: if it is, its contents are lost"
            );
            self.pipeline.problem(&buffer.place, message)
        })
        .collect()
    }

    /// Arguments of one submission that share a part of a buffer, where one of them is written.
    fn overlapping(&self) -> Vec<Problem> {
        self.on_each(|one| {
            let (first, second) = one.planned.overlap().filter(|_| one.planned.runs())?;
            let at = |at: SetBinding| {
                one.checked.args.iter().map(|&arg| &one.submit.args[arg]).find(|arg| arg.at == at)
            };
            let (first, second) = (at(first)?, at(second)?);
            let buffer = &self.pipeline.buffers[first.buffer];
            let size = buffer.ty.size() as u64;
            let shared =
                (first.offset.max(second.offset), (first.offset + first.len).min(second.offset + second.len));
            let message = format!(
                "this shares {} of {} with the argument at {}, and the kernel writes to one of them: invocations may read what others write, docs/reasons.md#overlap",
                numbers::elements(&[(shared.0 * size, shared.1 * size)], size),
                buffer.name,
                bind::dotted(first.at),
            );
            Some(self.pipeline.problem(&second.place, message))
        })
    }

    /// Outputs that hold at the end what they held before, and an empty list of them.
    fn unwritten(&self) -> Vec<Problem> {
        let Some(outputs) = &self.pipeline.fusion.outputs else { return Vec::new() };
        let Some(place) = &self.pipeline.fusion.outputs_place else { return Vec::new() };
        if outputs.is_empty() {
            return vec![self.pipeline.problem(place, "the list is empty: nothing is compared")];
        }
        // A submission without work-groups has a note of its own.
        let is_written = |index: usize| self.uses_of(index).any(|one| one.binding.writes);
        let unwritten = outputs.iter().filter(|index| !is_written(**index));
        unwritten
            .map(|index| {
                let name = &self.pipeline.buffers[*index].name;
                let message = format!("no submission writes {name}: it is equal whatever the kernels do");
                self.pipeline.problem(place, message)
            })
            .collect()
    }

    /// The use that reads a buffer without contents of its own before another submission, whose number follows, writes it.
    fn early(&self, index: usize) -> Option<(Use<'a>, usize)> {
        if self.pipeline.buffers[index].initialised {
            return None;
        }
        let worked = || self.uses_of(index).filter(|one| self.has_work(one.submission));
        let written = worked().find(|one| one.binding.writes)?.submission;
        let read = worked().find(|one| self.is_read(one))?;
        (read.submission < written).then_some((read, written))
    }

    /// Buffers without contents of their own that are read first, and written only later.
    fn read_early(&self) -> Vec<Problem> {
        let early = |(index, buffer): (usize, &super::BufferDecl)| {
            self.early(index).map(|(read, written)| {
                let (first, name) = (read.submission, &buffer.name);
                let message = format!(
                    "submission {first} reads {name} before submission {written} writes it, and {name} has no `init`: it reads zeros"
                );
                self.pipeline.problem(&read.arg.place, message)
            })
        };
        self.pipeline.buffers.iter().enumerate().filter_map(early).collect()
    }

    /// Buffers without contents of their own that are read and never written.
    fn never_filled(&self) -> Vec<Problem> {
        let is_empty = |(index, buffer): &(usize, &super::BufferDecl)| {
            let worked = || self.uses_of(*index).filter(|one| self.has_work(one.submission));
            !buffer.initialised
                && worked().any(|one| self.is_read(&one))
                && worked().all(|one| !one.binding.writes)
        };
        let empty = self.pipeline.buffers.iter().enumerate().filter(is_empty);
        empty
            .map(|(_, buffer)| {
                let name = &buffer.name;
                let message =
                    format!("{name} is read, no submission writes it, and it has no `init`: it holds zeros");
                self.pipeline.problem(&buffer.place, message)
            })
            .collect()
    }

    /// Kernels and buffers that no submission names.
    fn unused(&self) -> Vec<Problem> {
        let submits = &self.pipeline.submits;
        let kernels = self.pipeline.kernels.iter().enumerate();
        let kernels = kernels.filter(|(index, kernel)| {
            kernel.step.is_none() && submits.iter().all(|submit| submit.kernel != *index)
        });
        let kernels = kernels.map(|(_, kernel)| (&kernel.path_place, "kernel", &kernel.name));
        let counts = |index: usize| {
            submits
                .iter()
                .any(|submit| matches!(submit.extent, Extent::Indirect { buffer, .. } if buffer == index))
        };
        let named =
            |index: usize| submits.iter().flat_map(|submit| &submit.args).any(|arg| arg.buffer == index);
        let buffers = self.pipeline.buffers.iter().enumerate();
        let buffers = buffers.filter(|(index, _)| !named(*index) && !counts(*index)).map(|(_, buffer)| {
            (&buffer.place, if buffer.image.is_some() { "image" } else { "buffer" }, &buffer.name)
        });
        let unused = kernels.chain(buffers);
        unused
            .map(|(place, what, name)| {
                self.pipeline.problem(place, format!("no submission uses the {what} {name}"))
            })
            .collect()
    }

    /// Submissions that have more work-groups than their kernels tell apart.
    fn repeated(&self) -> Vec<Problem> {
        let submits = self.pipeline.submits.iter().zip(self.submits);
        let submits = submits.filter(|(_, checked)| has_work(checked.groups));
        let note = |(submit, checked): (&super::Submit, &CheckedSubmit)| {
            let dim = repeated(&checked.kernel, checked.groups)?;
            let kernel = &self.pipeline.kernels[submit.kernel].name;
            let message = format!(
                "kernel {kernel} is dispatched with work-groups that differ in {dim} alone and write the same elements: it does not ask for its place in {dim}"
            );
            Some(self.pipeline.problem(&submit.place, message))
        };
        submits.filter_map(note).collect()
    }
}
