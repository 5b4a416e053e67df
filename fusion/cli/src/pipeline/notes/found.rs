//! What the library finds in a list ([`notes`]), in words with the names and places of the file.

use super::List;
use crate::pipeline::bind;
use crate::pipeline::model::{Argument, BufferDecl, Extent, Promotion};
use crate::pipeline::problem::Problem;
use vkfuse_jit::plan::{
    BufferId, Known, Limits, Note, NoteKind, Race, Span, WriteRace, in_words, notes, writers_in_words,
};

impl List<'_> {
    /// What is found with what the file says besides: which buffers have contents of their own, and which are outputs.
    pub(super) fn found(&self) -> Vec<Problem> {
        let limits = Limits { robust: self.pipeline.fusion.robust, ..Limits::default() };
        let has_contents = |buffer: BufferId| self.pipeline.buffers[buffer.0 as usize].initialised;
        let known = Known { has_contents: &has_contents, outputs: &self.output_buffers(), limits: &limits };
        let all = notes(&self.submissions, &known);
        let buffer = |note: &Note, arg: usize| {
            self.pipeline.submits[note.submission].args[self.submits[note.submission].args[arg]].buffer
        };
        // Where what is not written is read, that is said.
        let is_read = |written: usize| {
            all.iter().any(|note| match note.kind {
                NoteKind::ReadEarly { arg, .. } | NoteKind::ReadInPart { arg, .. } => {
                    buffer(note, arg) == written
                }
                _ => false,
            })
        };
        let is_new = |note: &&Note| match note.kind {
            NoteKind::WrittenInPart { arg, .. } => !is_read(buffer(note, arg)),
            _ => true,
        };
        all.iter().filter(is_new).filter_map(|note| self.in_words(note)).collect()
    }

    /// What the file names as outputs, or else all that has memory: not what may be promoted, nor what is written by slices only to be read.
    pub(super) fn outputs(&self) -> Vec<usize> {
        let has_memory = |&index: &usize| {
            let buffer = &self.pipeline.buffers[index];
            let is_read = self.uses_of(index).any(|one| one.binding.reads);
            let is_slice = self.uses_of(index).all(|one| !one.binding.writes || one.arg.len < buffer.len);
            !is_read || buffer.image.is_none() && buffer.promote == Promotion::None && !is_slice
        };
        let all = || (0..self.pipeline.buffers.len()).filter(has_memory).collect();
        self.pipeline.fusion.outputs.clone().unwrap_or_else(all)
    }

    /// The outputs that are buffers, with their bytes.
    fn output_buffers(&self) -> Vec<(BufferId, u64)> {
        let buffers = &self.pipeline.buffers;
        let outputs = self.outputs().into_iter().filter(|&index| buffers[index].image.is_none());
        outputs.map(|index| (BufferId(index as u64), buffers[index].bytes())).collect()
    }

    /// Whether one submission writes, and its `global` makes no more than one work-group.
    fn counts_invocations(&self, writers: &[usize]) -> bool {
        let &[only] = writers else { return false };
        let is_one = self.submits[only].groups == [1; 3];
        is_one && matches!(self.pipeline.submits[only].extent, Extent::Global(_))
    }

    /// Whether counts of work-groups may be others when the list runs: those in a buffer that something writes.
    fn may_change(&self, extent: &Extent) -> bool {
        let Extent::Indirect { buffer, .. } = *extent else { return false };
        self.uses_of(buffer).any(|one| one.binding.writes)
    }

    fn in_words(&self, note: &Note) -> Option<Problem> {
        let number = note.submission;
        let submit = &self.pipeline.submits[number];
        let kernel = &self.pipeline.kernels[submit.kernel].name;
        let argument = |arg: usize| -> (&Argument, &BufferDecl) {
            let arg = &submit.args[self.submits[number].args[arg]];
            (arg, &self.pipeline.buffers[arg.buffer])
        };
        let (place, message) = match &note.kind {
            NoteKind::PromotedUnread { arg } => {
                let buffer = argument(*arg).1;
                let message = format!(
                    "buffer {} is to be promoted, and no submission reads it: if it is, its contents are lost",
                    buffer.name
                );
                (&buffer.place, message)
            }
            NoteKind::Overlap { first, second, shared } => {
                let ((first, _), (second, buffer)) = (argument(*first), argument(*second));
                let message = format!(
                    "this shares {} of {} with the argument at {}, and the kernel writes to one of them: invocations may read what others write, docs/reasons.md#overlap",
                    elements(&[*shared], buffer),
                    buffer.name,
                    bind::dotted(first.at),
                );
                (&second.place, message)
            }
            NoteKind::ReadEarly { arg, written_by } => {
                let (arg, BufferDecl { name, .. }) = argument(*arg);
                let message = format!(
                    "submission {number} reads {name} before submission {written_by} writes it, and {name} has no `init`: it reads zeros"
                );
                (&arg.place, message)
            }
            NoteKind::ReadInPart { arg, bytes, writers, written } => {
                let (arg, buffer) = argument(*arg);
                let name = &buffer.name;
                let message = format!(
                    "submission {number} reads {} of {name}, which nothing before it writes ({} {} at most{}), and {name} has no `init`: it reads zeros, docs/reasons.md#old-contents",
                    elements(bytes, buffer),
                    writers_in_words(writers),
                    elements(written, buffer),
                    if self.counts_invocations(writers) { "; `global` counts invocations" } else { "" },
                );
                (&arg.place, message)
            }
            NoteKind::WrittenInPart { arg, left } => {
                let (arg, buffer) = argument(*arg);
                let message = format!(
                    "nothing writes {} of {}, which is an output and has no `init`: it holds zeros there",
                    elements(left, buffer),
                    buffer.name,
                );
                (&arg.place, message)
            }
            NoteKind::Overwritten { arg, of } => {
                let (arg, BufferDecl { name, .. }) = argument(*arg);
                let message = format!(
                    "submission {number} writes over all that submission {of} has written to {name}, and nothing has read it"
                );
                (&arg.place, message)
            }
            NoteKind::OneByOne { groups } => {
                let message = format!(
                    "kernel {kernel} has {groups} work-groups of one invocation each, which is slow: say `layout(local_size_x = 64) in;` (GLSL), or `@workgroup_size(64)` (WGSL), and `global` for the number of invocations"
                );
                (&submit.place, message)
            }
            NoteKind::Nothing | NoteKind::Idle { .. } if self.may_change(&submit.extent) => return None,
            NoteKind::Nothing => {
                let message = format!(
                    "kernel {kernel} does nothing: with these numbers, no invocation reads or writes anything"
                );
                (&submit.place, message)
            }
            NoteKind::Idle { dimension, groups, used } => {
                let name = ["x", "y", "z"][(*dimension).min(2)];
                let counts = match submit.extent {
                    Extent::Groups(_) => "; `global` counts invocations, `groups` work-groups",
                    _ => "",
                };
                let message = format!(
                    "kernel {kernel} has {groups} work-groups in {name}, and at most the first {used} have something to do{counts}"
                );
                (&submit.place, message)
            }
            NoteKind::LostUpdates { arg, byte } => {
                let (arg, buffer) = argument(*arg);
                let message = format!(
                    "all invocations of kernel {kernel} read and write element {} of {} without an atomic operation: what some write is lost",
                    byte / buffer.ty.size() as u64,
                    buffer.name,
                );
                (&arg.place, message)
            }
            NoteKind::Race(Race { arg, byte, reader, writer }) => {
                let (arg, buffer) = argument(*arg);
                let message = format!(
                    "invocation {reader:?} of kernel {kernel} reads element {} of {}, and {writer:?} writes it, in no order: read from one buffer and write to another, or update one element by an atomic operation",
                    byte / buffer.ty.size() as u64,
                    buffer.name,
                );
                (&arg.place, message)
            }
            NoteKind::WriteRace(WriteRace { arg, byte, writers: [first, second] }) => {
                let (arg, buffer) = argument(*arg);
                let message = format!(
                    "invocations {first:?} and {second:?} of kernel {kernel} write different values to element {} of {}, in no order: which of them stays is not defined",
                    byte / buffer.ty.size() as u64,
                    buffer.name,
                );
                (&arg.place, message)
            }
            NoteKind::NeverWritten { arg } => {
                let buffer = argument(*arg).1;
                let message = format!(
                    "{name} is read, no submission writes it, and it has no `init`: it holds zeros",
                    name = buffer.name
                );
                (&buffer.place, message)
            }
            NoteKind::Repeated { dimension } => {
                let message = format!(
                    "kernel {kernel} is dispatched with work-groups that differ in {dimension} alone and write the same elements: it does not ask for its place in {dimension}"
                );
                (&submit.place, message)
            }
            NoteKind::RepeatedInside { dimension } => {
                let message = format!(
                    "kernel {kernel} has work-groups of several invocations in {dimension} that write the same elements: it does not ask for its place in {dimension}"
                );
                (&submit.place, message)
            }
        };
        Some(self.pipeline.problem(place, message))
    }
}

/// Runs of elements of a buffer, in words.
fn elements(spans: &[Span], buffer: &BufferDecl) -> String {
    in_words("element", spans, buffer.ty.size() as u64)
}
