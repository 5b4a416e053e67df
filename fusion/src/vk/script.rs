//! Dispatches that are checked once, and recorded on other memory each time.
//!
//! A script names memories by number. What does not depend on them (pipelines, counts, push constants, which bindings there
//! are) is checked when the script is made; of the memories it is recorded on, only that each range can be bound.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{
    Barrier, BindingKind, Command, DeviceError, Dispatch, Gpu, GpuQueue, Pipeline, Point, Resource,
    Submitted, Tape,
    check::{self, Needs},
    gpu::GpuInner,
};
use crate::jit::SetBinding;

/// Dispatches on memories by number.
#[derive(Debug)]
pub(crate) struct Script {
    gpu: u64,
    pub(super) parts: Vec<Part>,
    needs: Needs,
    /// Whether a part has arguments in a buffer of their own.
    pub(super) passes: bool,
}

/// Push constants, dispatch by dispatch.
pub(crate) type Pushes = SmallVec<[SmallVec<[u8; 64]>; 1]>;

/// A script as it is recorded once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Played<'a> {
    pub(crate) script: &'a Arc<Script>,
    /// What comes first.
    pub(crate) first: Option<Barrier>,
    /// Push constants instead of its own.
    pub(crate) pushes: Option<&'a Pushes>,
}

/// One dispatch.
#[derive(Debug)]
pub(super) struct Part {
    /// What it has to come after in the same submission.
    pub(super) barrier: Option<Barrier>,
    pub(super) pipeline: Arc<Pipeline>,
    /// In the order of the pipeline's.
    pub(super) bindings: SmallVec<[Binding; 8]>,
    pub(super) push: SmallVec<[u8; 64]>,
    pub(super) groups: [u32; 3],
}

/// A range of a memory.
#[derive(Debug)]
pub(super) struct Binding {
    at: SetBinding,
    kind: BindingKind,
    pub(super) place: usize,
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// Memories of a script, by number.
pub(crate) type Resources = SmallVec<[Resource; 8]>;

/// What is recorded.
#[derive(Debug)]
pub(super) enum Recordable<'a> {
    Commands(&'a [Command]),
    /// A script on these memories, which are taken from there.
    Script(Played<'a>, &'a mut Resources),
}

impl Recordable<'_> {
    /// Checks everything before anything is recorded.
    pub(super) fn check(&self, gpu: &GpuInner) -> Result<Needs, DeviceError> {
        match self {
            Recordable::Commands(commands) => check::commands(gpu, commands),
            Recordable::Script(played, on) => played.check(gpu, on),
        }
    }
}

impl<'a> Played<'a> {
    pub(super) fn check(self, gpu: &GpuInner, on: &[Resource]) -> Result<Needs, DeviceError> {
        let Played { script, first: _, pushes } = self;
        if let Some(pushes) = pushes {
            let fits = pushes.iter().map(SmallVec::len).eq(script.parts.iter().map(|part| part.push.len()));
            if !fits {
                return Err(DeviceError::Foreign { what: "push constants" });
            }
        }
        script.check(gpu, on)
    }

    /// The dispatches, each with its push constants.
    pub(super) fn parts(self) -> impl Iterator<Item = (&'a Part, &'a [u8])> {
        let Played { script, first: _, pushes } = self;
        let push = move |at: usize, part: &'a Part| pushes.map_or(&*part.push, |pushes| &pushes[at]);
        script.parts.iter().enumerate().map(move |(at, part)| (part, push(at, part)))
    }
}

impl Binding {
    /// Checks what is bound; whether the host may look at it.
    #[cold]
    fn check(&self, gpu: &GpuInner, on: &[Resource]) -> Result<bool, DeviceError> {
        let Binding { at, kind, place, offset, len } = *self;
        match on.get(place) {
            Some(resource) => check::bound(gpu, (at, kind), resource, (offset, len)),
            None => Err(DeviceError::Binding { at, problem: "is of a memory that was not given" }),
        }
    }
}

impl Script {
    fn check(&self, gpu: &GpuInner, on: &[Resource]) -> Result<Needs, DeviceError> {
        if self.gpu != gpu.id {
            return Err(DeviceError::Foreign { what: "script" });
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
                } else {
                    needs.host |= binding.check(gpu, on)?;
                }
            }
        }
        Ok(needs)
    }
}

impl Gpu {
    /// Makes a script of dispatches with the barriers before them. `place` numbers their memories. Nothing where it has no
    /// number for one, or one keeps memory that it does not bind.
    pub(crate) fn script<'a>(
        &self,
        dispatches: impl Iterator<Item = (Option<Barrier>, &'a Dispatch)>,
        place: impl Fn(&Resource) -> Option<usize>,
    ) -> Result<Option<Script>, DeviceError> {
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
        Ok(Some(Script { gpu: self.0.id, parts, needs, passes }))
    }
}

impl GpuQueue<'_> {
    /// As [`GpuQueue::submit`], of a script on memories.
    pub(crate) fn submit_script(
        &self,
        played: Played<'_>,
        on: &mut Resources,
        waits: &[Point],
        profile: bool,
    ) -> Result<Submitted, DeviceError> {
        self.hand_over(Recordable::Script(played, on), waits, profile)
    }

    /// Checks and records a script on memories, to be submitted any number of times with
    /// [`Gpu::play`](super::Gpu::play).
    pub(crate) fn record_script(&self, played: Played<'_>, on: &mut Resources) -> Result<Tape, DeviceError> {
        self.tape(Recordable::Script(played, on))
    }
}
