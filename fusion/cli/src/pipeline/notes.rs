//! What a pipeline file says that can be run, and that may be mistaken: a sentence for each.
//!
//! # Guarantees
//! - nothing is noted of a list that writes all its outputs, gives contents to what is read first, and uses what it declares

mod contents;
mod found;
mod texels;

use super::check::CheckedSubmit;
use super::list;
use super::model::{Argument, Extent, Pipeline};
use super::problem::Problem;
use vkfuse_jit::kernel::Binding;
use vkfuse_jit::plan::Submission;

/// The notes on the list as a whole.
pub(super) fn on_list(pipeline: &Pipeline, submits: &[CheckedSubmit]) -> Vec<Problem> {
    let list = List { pipeline, submits, submissions: list::submissions(pipeline, submits) };
    let mut notes = list.misread();
    // What is reached by its address is used without an argument.
    let is_all = submits.iter().all(|checked| !checked.kernel.interface.uses_device_addresses);
    if is_all {
        notes.extend(list.unwritten());
    }
    notes.extend(list.found());
    if is_all {
        notes.extend(list.drawn_in_part());
        notes.extend(list.unused());
    }
    notes
}

struct List<'a> {
    pipeline: &'a Pipeline,
    submits: &'a [CheckedSubmit],
    /// The same as the planner has them.
    submissions: Vec<Submission>,
}

/// One submission's use of a buffer.
struct Use<'a> {
    submission: usize,
    arg: &'a Argument,
    binding: &'a Binding,
}

impl<'a> List<'a> {
    fn uses(&self) -> impl Iterator<Item = Use<'a>> {
        let submits = self.pipeline.submits.iter().zip(self.submits).enumerate();
        submits.flat_map(|(submission, (submit, checked))| {
            // `bind` has listed the arguments in the order of the interface's bindings.
            let used = checked.args.iter().zip(&checked.kernel.interface.bindings);
            used.map(move |(&arg, binding)| Use { submission, arg: &submit.args[arg], binding })
        })
    }

    fn uses_of(&self, buffer: usize) -> impl Iterator<Item = Use<'a>> {
        self.uses().filter(move |one| one.arg.buffer == buffer)
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
}
