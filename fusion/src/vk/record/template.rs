//! Dispatches that are checked once, and run on other memory each time.
//!
//! A template names memories by number. What does not depend on them (pipelines, counts, push constants, which bindings there
//! are) is checked when the template is made; of the memories it runs on, only that each range can be bound.
//!
//! Where all sets may be written after they were bound, what was recorded of a template is submitted again on other memories once its latest
//! submission is complete. It is the same recording where template, push constants, the barrier that comes first and what is around
//! it are the same; arguments that are read through a buffer come with the sets. Push constants other than the template's own are worth that when
//! they come again.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use smallvec::SmallVec;

use crate::jit::SetBinding;
use crate::vk::{
    Barrier, BindingKind, Command, DeviceError, Dispatch, Gpu, GpuQueue, Pipeline, Point, Resource,
    ReusableCommands, Submitted,
    check::{self, Needs},
    gpu::{GpuInner, unique_id},
    record::recorder::{Descriptor, Ranges, Surroundings},
    stats::Recorded,
};

/// Dispatches on memories by number.
#[derive(Debug)]
pub(crate) struct CommandTemplate {
    /// A number that no other has.
    id: u64,
    gpu: u64,
    pub(in crate::vk) parts: Vec<Part>,
    needs: Needs,
    /// Whether all sets of its pipelines may be written after they were bound.
    is_rewritable: bool,
    /// Whether a part has arguments in a buffer of their own.
    pub(in crate::vk) passes: bool,
    /// Tags of runs that were passed other push constants, each in a place that follows from it. Those that come once are not worth a recording.
    passed: [AtomicU64; 8],
}

/// Push constants, dispatch by dispatch.
pub(crate) type Pushes = SmallVec<[SmallVec<[u8; 64]>; 1]>;

/// A template as it is recorded once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Played<'a> {
    pub(crate) template: &'a Arc<CommandTemplate>,
    /// What comes first.
    pub(crate) first: Option<Barrier>,
    /// Push constants instead of its own.
    pub(crate) pushes: Option<&'a Pushes>,
}

/// A template as it is to be recorded, or was.
#[derive(Debug, Clone, Copy)]
pub(in crate::vk) struct Wanted<'a> {
    played: Played<'a>,
    around: Surroundings,
    /// Whether the recording is to have a description.
    described: bool,
    /// Of recordings that are the same; others may have it too. Never 0.
    pub(in crate::vk) tag: u64,
}

/// What was recorded, without anything that it needs: who has the same template and submits it again has that.
#[derive(Debug)]
pub(in crate::vk) struct RecordedTemplate {
    template: u64,
    first: Option<Barrier>,
    pushes: Option<Pushes>,
    around: Surroundings,
    described: bool,
    pub(in crate::vk) tag: u64,
    /// What each submission adds.
    pub(in crate::vk) counts: Recorded,
}

impl Wanted<'_> {
    /// What is recorded of it. Bytes that are read through a buffer are not.
    pub(in crate::vk) fn recorded(&self, counts: Recorded) -> RecordedTemplate {
        let Wanted { played: Played { template, first, pushes }, around, described, tag } = *self;
        let (template, pushes) = (template.id, pushes.cloned());
        RecordedTemplate { template, first, pushes, around, described, tag, counts }
    }

    /// Whether that was recorded: the commands are the same, except for what the sets name.
    pub(in crate::vk) fn is(&self, recording: &RecordedTemplate) -> bool {
        let Wanted { played, around, described, tag } = *self;
        let was = recording;
        (tag, played.template.id, played.first) == (was.tag, was.template, was.first)
            && (around, described) == (was.around, was.described)
            && self.pushes_are(was.pushes.as_ref())
    }

    fn pushes_are(&self, pushes: Option<&Pushes>) -> bool {
        if let (None, None) = (self.played.pushes, pushes) {
            return true;
        }
        let recorded = Played { pushes, ..self.played };
        let mut both = self.played.parts().zip(recorded.parts());
        both.all(|((part, push), (_, recorded))| {
            let len = part.pipeline.push_bytes() as usize;
            push[..len] == recorded[..len]
        })
    }
}

/// One dispatch.
#[derive(Debug)]
pub(in crate::vk) struct Part {
    /// What it has to come after in the same submission.
    pub(in crate::vk) barrier: Option<Barrier>,
    pub(in crate::vk) pipeline: Arc<Pipeline>,
    /// In the order of the pipeline's.
    pub(in crate::vk) bindings: SmallVec<[Binding; 8]>,
    pub(in crate::vk) push: SmallVec<[u8; 64]>,
    pub(in crate::vk) groups: [u32; 3],
}

/// A range of a memory.
#[derive(Debug)]
pub(in crate::vk) struct Binding {
    at: SetBinding,
    kind: BindingKind,
    place: usize,
    offset: u64,
    len: u64,
}

/// Memories of a template, by number.
pub(crate) type Resources = SmallVec<[Resource; 8]>;

/// What is recorded.
#[derive(Debug)]
pub(in crate::vk) enum Recordable<'a> {
    Commands(&'a [Command]),
    /// A template on these memories, which are taken from there.
    Template(Played<'a>, &'a mut Resources),
}

impl Recordable<'_> {
    /// Checks everything before anything is recorded. Of a template, what its bindings are is put into `ranges`.
    pub(in crate::vk) fn check(&self, gpu: &GpuInner, ranges: &mut Ranges) -> Result<Needs, DeviceError> {
        match self {
            Recordable::Commands(commands) => check::commands(gpu, commands),
            Recordable::Template(played, on) => played.check(gpu, on, ranges),
        }
    }
}

impl<'a> Played<'a> {
    /// Checks it on memories, and puts what its bindings are into `ranges`, part by part.
    pub(in crate::vk) fn check(
        self,
        gpu: &GpuInner,
        on: &[Resource],
        ranges: &mut Ranges,
    ) -> Result<Needs, DeviceError> {
        let Played { template, first: _, pushes } = self;
        if let Some(pushes) = pushes {
            let fits = pushes.iter().map(SmallVec::len).eq(template.parts.iter().map(|part| part.push.len()));
            if !fits {
                return Err(DeviceError::Foreign { what: "push constants" });
            }
        }
        template.check(gpu, on, ranges)
    }

    /// What it is recorded as, if that can be submitted again on other memories, and is likely to be.
    pub(in crate::vk) fn wanted(self, around: Surroundings, described: bool) -> Option<Wanted<'a>> {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let Played { template, first, pushes } = self;
        if !template.is_rewritable {
            return None;
        }
        let Surroundings { entry_barrier, host, usage: _ } = around;
        let first_number = first.map_or(0, |first| first as u64 + 1);
        let flags =
            u64::from(entry_barrier) | u64::from(host) << 1 | u64::from(described) << 2 | first_number << 3;
        let mut tag = (template.id << 8 | flags).wrapping_mul(ODD);
        if pushes.is_some() {
            for (part, push) in self.parts() {
                for word in push[..part.pipeline.push_bytes() as usize].as_chunks::<4>().0 {
                    tag = (tag.rotate_left(5) ^ u64::from(u32::from_ne_bytes(*word))).wrapping_mul(ODD);
                }
            }
        }
        tag |= 1;
        if pushes.is_some() {
            let latest = &template.passed[(tag >> 61) as usize];
            if latest.load(Relaxed) != tag {
                latest.store(tag, Relaxed);
                return None;
            }
        }
        Some(Wanted { played: self, around, described, tag })
    }

    /// As [`parts`](Played::parts), with what their bindings are.
    pub(in crate::vk) fn bound<'b>(
        self,
        mut ranges: &'b [Descriptor],
    ) -> impl Iterator<Item = (&'a Part, &'a [u8], &'b [Descriptor])> {
        self.parts().map(move |(part, push)| {
            let (own, rest) = ranges.split_at(part.bindings.len());
            ranges = rest;
            (part, push, own)
        })
    }

    /// The dispatches, each with its push constants.
    pub(in crate::vk) fn parts(self) -> impl Iterator<Item = (&'a Part, &'a [u8])> {
        let Played { template, first: _, pushes } = self;
        let push = move |at: usize, part: &'a Part| pushes.map_or(&*part.push, |pushes| &pushes[at]);
        template.parts.iter().enumerate().map(move |(at, part)| (part, push(at, part)))
    }
}

impl Binding {
    /// Checks what is bound; whether the host may look at it.
    #[cold]
    fn check(&self, gpu: &GpuInner, on: &[Resource]) -> Result<(bool, Descriptor), DeviceError> {
        let Binding { at, kind, place, offset, len } = *self;
        match on.get(place) {
            Some(resource) => {
                let host = check::bound(gpu, (at, kind), resource, (offset, len))?;
                Ok((host, Descriptor::of(resource, offset, len)))
            }
            None => Err(DeviceError::Binding { at, problem: "is of a memory that was not given" }),
        }
    }
}

impl CommandTemplate {
    fn check(&self, gpu: &GpuInner, on: &[Resource], ranges: &mut Ranges) -> Result<Needs, DeviceError> {
        if self.gpu != gpu.id {
            return Err(DeviceError::Foreign { what: "template" });
        }
        let mut needs = self.needs;
        let align = gpu.caps.limits().storage_offset_align.max(1);
        for part in &self.parts {
            for binding in &part.bindings[..] {
                // How much may be bound was checked with the dispatch; where, depends on the memory.
                if let Binding { kind: BindingKind::Storage, place, offset, len, .. } = binding
                    && let Some(Resource::Buffer(memory)) = on.get(*place)
                    && memory.has(gpu.id, *offset, *len)
                    && (memory.base() + offset) & (align - 1) == 0
                {
                    needs.host |= memory.host_may_look();
                    ranges.push(Descriptor::of_buffer(memory, *offset, *len));
                } else {
                    let (host, descriptor) = binding.check(gpu, on)?;
                    needs.host |= host;
                    ranges.push(descriptor);
                }
            }
        }
        Ok(needs)
    }
}

impl Gpu {
    /// Makes a template of dispatches with the barriers before them. `place` numbers their memories. Nothing where it has no
    /// number for one, or one keeps memory that it does not bind.
    pub(crate) fn template<'a>(
        &self,
        dispatches: impl Iterator<Item = (Option<Barrier>, &'a Dispatch)>,
        place: impl Fn(&Resource) -> Option<usize>,
    ) -> Result<Option<CommandTemplate>, DeviceError> {
        let (mut parts, mut needs) = (Vec::new(), Needs::default());
        for (barrier, dispatch) in dispatches {
            check::dispatch(&self.0, dispatch, &mut needs)?;
            let Dispatch { pipeline, bindings: given, push, groups, keeps } = dispatch;
            let mut bindings = SmallVec::with_capacity(given.len());
            for (number, (at, kind)) in pipeline.given().iter().enumerate() {
                let bound = check::find(given, number, *at);
                let Some((bound, place)) = bound.and_then(|bound| Some((bound, place(&bound.resource)?)))
                else {
                    return Ok(None);
                };
                bindings.push(Binding { at: *at, kind: *kind, place, offset: bound.offset, len: bound.len });
            }
            if !keeps.is_empty() {
                return Ok(None);
            }
            let (pipeline, push, groups) = (pipeline.clone(), push.clone(), *groups);
            parts.push(Part { barrier, pipeline, bindings, push, groups });
        }
        needs.host = false;
        let passes = parts.iter().any(|part: &Part| part.pipeline.push_buffer().is_some());
        let is_rewritable = parts.iter().all(|part: &Part| part.pipeline.is_rewritable());
        Ok(Some(CommandTemplate {
            id: unique_id(),
            gpu: self.0.id,
            parts,
            needs,
            is_rewritable,
            passes,
            passed: Default::default(),
        }))
    }
}

impl GpuQueue<'_> {
    /// As [`GpuQueue::submit`], of a template on memories.
    pub(crate) fn submit_template(
        &self,
        played: Played<'_>,
        on: &mut Resources,
        waits: &[Point],
        profile: bool,
    ) -> Result<Submitted, DeviceError> {
        self.hand_over(Recordable::Template(played, on), waits, profile)
    }

    /// Checks and records a template on memories, to be submitted any number of times with
    /// [`Gpu::play`](crate::vk::Gpu::play).
    pub(crate) fn record_template(
        &self,
        played: Played<'_>,
        on: &mut Resources,
    ) -> Result<ReusableCommands, DeviceError> {
        self.reusable(Recordable::Template(played, on))
    }
}
