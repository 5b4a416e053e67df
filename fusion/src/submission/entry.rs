//! A submission that was checked and can be listed or run.

use std::{ops::Range, sync::Arc};

use smallvec::SmallVec;

use crate::{
    error::Unreadable,
    jit::{self, Numbers, Promote, Submission},
    report::list::{ArgumentReport, SubmissionReport},
    submission::{
        buffer::BufferInner,
        dependencies::{Dependencies, Touch, Touches},
        device::Device,
        identity::{MemoryId, Span},
        ignored::Ignored,
        signature::Given,
    },
    vk::Point,
};

/// A listed submission.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) submission: Submission,
    pub(crate) label: Arc<str>,
    /// What it touches: first by its arguments, in their order, then by address.
    pub(crate) touches: Touches,
    /// The buffer of each touch.
    pub(crate) buffers: SmallVec<[Arc<BufferInner>; 8]>,
    /// The promotion that the buffer of each argument asked for when this was submitted, whatever it asks for now.
    pub(crate) asked: SmallVec<[Promote; 8]>,
    /// Whether each argument was declared to be constant.
    pub(crate) declared: SmallVec<[bool; 8]>,
    /// What it was given and its kernel does not use.
    pub(crate) ignored: Option<Arc<Ignored>>,
    pub(crate) after: After,
    /// What it was asked for; nothing where it cannot be compared with that.
    pub(crate) given: Option<Given>,
}

/// The explicit dependencies of a submission, besides those that follow from its buffers.
///
/// Host tasks are not among them: the submitting call waits for these, so no list ever waits for a thread of the user.
#[derive(Debug, Default, Clone)]
pub(crate) struct After {
    pub(crate) points: SmallVec<[Point; 2]>,
    /// Submissions of the same list, which come first anyway: it fails where they do.
    pub(crate) listed: SmallVec<[Range<u32>; 1]>,
}

/// What a write does to contents: the bytes are written, or a fused kernel keeps them to itself.
#[derive(Debug)]
pub(crate) struct Effect {
    pub(crate) buffer: Arc<BufferInner>,
    pub(crate) span: Span,
    pub(crate) inside: bool,
}

impl Effect {
    /// Makes it so.
    pub(crate) fn apply(&self) {
        self.buffer.takes_effect(self.span, self.inside);
    }
}

impl Entry {
    /// Whether it has work-groups. One without does nothing, in its place.
    pub(crate) fn runs(&self) -> bool {
        self.submission.runs()
    }

    /// Records the known contents of its arguments that indices and conditions depend on. Called when it is added to a list: from then
    /// on, a change of these contents ends the list first.
    pub(crate) fn learn(&mut self, deps: &Dependencies) {
        let submission = &mut self.submission;
        if !submission.runs() {
            return;
        }
        for (position, arg) in submission.args.iter_mut().enumerate() {
            arg.numbers = None;
            let mut places = submission.kernel.number_places(position).peekable();
            let buffer = &self.buffers[position];
            // Memory of the user may have writers that only the user knows.
            let is_known = !buffer.imported || self.declared[position];
            if places.peek().is_some() && is_known && !buffer.is_addressed() {
                let bytes = deps.holds(&buffer.shared, arg.offset);
                let len = usize::try_from(arg.len).unwrap_or(usize::MAX);
                arg.numbers = bytes.and_then(|bytes| Numbers::of(places, &bytes[..bytes.len().min(len)]));
            }
        }
    }

    /// Takes note of what those of its arguments hold that were declared to be constant, and of no other.
    pub(crate) fn learn_declared(&mut self, deps: &Dependencies) {
        self.learn(deps);
        let others = self.submission.args.iter_mut().zip(&self.declared).filter(|(_, declared)| !**declared);
        others.for_each(|(arg, _)| arg.numbers = None);
    }

    /// As if nothing were known of what its arguments hold.
    pub(crate) fn forget_numbers(&mut self) {
        self.submission.args.iter_mut().for_each(|arg| arg.numbers = None);
    }

    /// What its kernel reaches by address: the touches after those of its arguments.
    pub(crate) fn reaches(&self) -> impl Iterator<Item = (Touch, Arc<BufferInner>)> + '_ {
        self.touches.iter().copied().zip(self.buffers.iter().cloned()).skip(self.submission.args.len())
    }

    /// The bytes of one of its touches that it may read: no more than its accesses reach.
    pub(crate) fn read_span(&self, device: &Device, position: usize) -> Span {
        let Touch { span, .. } = self.touches[position];
        if position >= self.submission.args.len() || self.buffers[position].texture.is_some() {
            return span;
        }
        let end = span.start + jit::read_up_to(&self.submission, position, &device.limits);
        Span::new(span.start, end.min(span.end))
    }

    /// The bytes of a memory that it certainly writes, whatever was there before.
    pub(crate) fn overwritten<'a>(
        &'a self,
        device: &'a Device,
        memory: MemoryId,
    ) -> impl Iterator<Item = Span> + 'a {
        let written = move |position: usize| {
            let touch = self.touches[position];
            if touch.memory != memory || !touch.writes {
                return None;
            }
            let end = touch.span.start + jit::written(&self.submission, position, &device.limits);
            Some(Span::new(touch.span.start, end.min(touch.span.end))).filter(|span| !span.is_empty())
        };
        (0..self.submission.args.len()).filter_map(written)
    }

    /// What one of its writes does to contents: nothing, where it is not certain.
    pub(crate) fn effect(&self, device: &Device, position: usize, inside: bool) -> Option<Effect> {
        let (touch, buffer) = (&self.touches[position], &self.buffers[position]);
        let is_certain =
            inside || touch.writes && jit::overwrites(&self.submission, position, &device.limits);
        is_certain.then(|| Effect { buffer: buffer.clone(), span: touch.span, inside })
    }

    /// What its writes do to contents when it runs alone.
    pub(crate) fn effects(&self, device: &Device) -> Vec<Effect> {
        (0..self.touches.len()).filter_map(|position| self.effect(device, position, false)).collect()
    }

    /// Notes that it ran: what it certainly wrote can be read again, if it could not be. Of what it only may have
    /// written nothing is known, so that stays as it was.
    pub(crate) fn note_written(&self, device: &Device) {
        let unreadable = |buffer: &BufferInner, touch: &Touch| buffer.unreadable(touch.span).is_some();
        if self.buffers.iter().zip(&self.touches).any(|(buffer, touch)| unreadable(buffer, touch)) {
            self.effects(device).iter().for_each(Effect::apply);
        }
    }

    /// Notes that it did not run although it was taken: what it should have written cannot be read.
    pub(crate) fn lose(&self) {
        for (touch, buffer) in self.touches.iter().zip(&self.buffers).filter(|(touch, _)| touch.writes) {
            buffer.lost(touch.span, Unreadable::Failed);
        }
    }

    /// The view that is bound at a place, of a buffer that is seen through a format.
    pub(crate) fn texels_at(&self, at: jit::SetBinding) -> Option<&Arc<BufferInner>> {
        let number = self.submission.args.iter().position(|arg| arg.at == at)?;
        self.buffers.get(number).filter(|buffer| buffer.view().is_some())
    }

    /// As reports name it.
    pub(crate) fn report(&self) -> SubmissionReport {
        let all = self.submission.args.iter().zip(&self.touches).zip(&self.buffers);
        let arguments = all.map(|((arg, touch), buffer)| ArgumentReport {
            buffer: arg.buffer,
            offset: arg.offset,
            bytes: if buffer.texture.is_some() && buffer.view().is_none() { 0 } else { arg.len },
            reads: touch.reads,
            writes: touch.writes,
        });
        let notes = self.ignored.iter().flat_map(|ignored| ignored.notes(&self.label));
        SubmissionReport {
            kernel: self.label.clone(),
            arguments: arguments.collect(),
            notes: notes.collect(),
        }
    }

    /// Whether it follows addresses without saying where to.
    pub(crate) fn apart(&self) -> bool {
        self.submission.kernel.interface.uses_device_addresses
            && self.touches.len() == self.submission.args.len()
    }
}
