//! The device of a context, and what its buffers share.

use std::{
    fmt,
    sync::{Arc, Weak, atomic::AtomicU64},
};

use smallvec::SmallVec;

use crate::{
    error::Error,
    jit::Limits,
    submission::{
        dependencies::{Dependencies, Stage, Touch},
        identity::{HandleId, Imports},
    },
    vk::{Command, Gpu, Point, Submitted},
};

/// Who is notified that a buffer is gone.
pub(crate) trait BufferGone: fmt::Debug + Send + Sync {
    /// A buffer is gone that a graph may name, or the user's last handle of one that a queue may keep for a list that it expects.
    fn buffer_gone(&self, buffer: HandleId);
}

/// The device of a context, and what its buffers share.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) limits: Limits,
    pub(crate) imports: Imports,
    /// Counts changes of what can be read of any buffer, of what is known of its address, and of the name and the promotion of
    /// one that a run is known of.
    pub(crate) contents: AtomicU64,
    pub(crate) owner: Weak<dyn BufferGone>,
    pub(crate) gpu: Gpu,
}

impl Device {
    /// Tells the dependency graph how far the queues are known to have come.
    pub(crate) fn refresh(&self, deps: &mut Dependencies) {
        for lane in 0..self.gpu.queues() as u32 {
            deps.seen(lane, self.gpu.done(lane));
        }
    }

    /// Drops the points that other queues have already reached from those that a submission waits for, and updates the dependency graph. This happens before each
    /// wait: a queue without new submissions is not looked at otherwise, and its completed work would be waited for again and again.
    #[inline]
    pub(crate) fn pending(&self, deps: &mut Dependencies, lane: u32, waits: &mut SmallVec<[Point; 4]>) {
        waits.retain(|point| {
            let is_pending = point.queue == lane || !self.gpu.is_done(*point);
            deps.seen(point.queue, self.gpu.done(point.queue));
            is_pending
        });
    }

    /// Submits copies, fills or updates that together make the given accesses.
    pub(crate) fn transfer(
        &self,
        deps: &mut Dependencies,
        lane: u32,
        label: &Arc<str>,
        transfers: &[Command],
        touches: &[Touch],
    ) -> Result<Submitted, Error> {
        self.refresh(deps);
        let mut batch = deps.begin(lane);
        let mut needs = deps.add(&mut batch, label, Stage::Transfer, touches);
        self.pending(deps, lane, &mut needs.waits);
        let mut commands: SmallVec<[Command; 2]> = SmallVec::with_capacity(transfers.len() + 1);
        commands.extend(needs.barrier.map(Command::Barrier));
        commands.extend(transfers.iter().cloned());
        match self.gpu.queue(lane as usize).and_then(|queue| queue.submit(&commands, &needs.waits, false)) {
            Ok(submitted) => {
                deps.commit(&batch, submitted.point);
                Ok(submitted)
            }
            Err(error) => {
                deps.roll_back(&batch);
                Err(error.into())
            }
        }
    }
}
