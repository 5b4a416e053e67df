//! The first run of fused code, verified on the device.
//!
//! The fused list runs on copies of all memory that it writes, then the unfused one on the memory itself, from the same
//! contents. So the results are the unfused ones whatever the fused code does, and both can be compared byte for byte.
//!
//! # Requires
//! - the list is ending: anyone who conflicts with it waits, so no one changes its memory before it was compared
//!
//! # Refuses
//! - kernels that follow device addresses, which would leave the copies; and what there is no memory for

use std::{mem, ops::Range, sync::Arc};

use super::prepare::Prepared;
use crate::{
    code::judged::StepKey,
    error::{Error, FusionError},
    jit::Reason,
    report::{
        list::{CheckReport, CheckedBy},
        outcome::Outcome,
        stats::count,
    },
    runtime::{
        commit::{Piece, touched},
        context::ContextInner,
        end::End,
        event::Done,
        queues::QueueCell,
        schedule::List,
    },
    submission::{
        buffer::BufferInner,
        dependencies::Touch,
        entry::Effect,
        identity::{MemoryId, Span},
    },
    vk::{Command, Point, Resource},
};

/// Bytes that are compared at a time.
const CHUNK: usize = 16 << 20;

/// What a first run needs besides the fused list.
#[derive(Debug)]
pub(crate) struct First {
    /// The fused code that no run verified yet.
    pub(crate) keys: Vec<StepKey>,
    /// The list unfused.
    pub(crate) plain: Box<Prepared>,
}

/// A copy of what a list uses of one memory that it writes.
struct Copy {
    memory: MemoryId,
    span: Span,
    buffer: Arc<BufferInner>,
    /// What is bound of it: where in the copy each part starts, the buffer that has it, and where in that it is.
    parts: Vec<(u64, Arc<BufferInner>, Range<u64>)>,
}

impl ContextInner {
    /// Runs a list fused and unfused, compares, and settles it.
    pub(crate) fn run_first(
        &self,
        queue: &QueueCell,
        list: &List,
        mut fused: Prepared,
        First { keys, plain }: First,
        end: &End,
    ) -> Result<(), Error> {
        self.gpu.wait_all(&list.waits(), None)?;
        let effects = list.effects(self, &fused.pieces, &fused.report.plan);
        let pieces = mem::take(&mut fused.pieces);
        let copies = self.copies(list, &pieces);
        let ran = copies
            .and_then(|copies| self.run_on_copies(queue, list, pieces, &copies).map(|point| (copies, point)));
        // The results, whatever became of that.
        let submitted = {
            let mut schedule = self.lock();
            let readies = self.ready(&mut schedule, plain.pieces, &list.entries)?;
            self.commit(&mut schedule, queue, readies, &[], queue.profiling)?
        };
        let compared = ran.and_then(|(copies, point)| {
            let points = [point, submitted.point];
            copies.iter().find_map(|copy| self.differs(copy, &points).transpose()).transpose()
        });
        let mut report = plain.report;
        report.plan = fused.report.plan.clone();
        let mut checks = mem::take(&mut fused.report.checks);
        let (counter, agreed, detail) = match compared {
            Ok(None) => {
                self.judged.verify(&keys);
                report = fused.report;
                (&self.counters.verified, Some(true), "all bytes are equal".to_owned())
            }
            Ok(Some(what)) => {
                let what = format!("first run on the device: {what}");
                tracing::warn!(list = %list.label(), %what, "a fused list gives other results than the unfused one");
                self.judged.drop_all(&keys, &what);
                report.outcome = Outcome::Refused { reason: Reason::Differs { what: what.clone() } };
                (&self.counters.verified_different, Some(false), what)
            }
            Err(error) => {
                let what = error.to_string();
                tracing::warn!(list = %list.label(), %what, "a fused list could not be verified and ran unfused");
                report.outcome = Outcome::Refused { reason: Reason::NotCompared { what: what.clone() } };
                (&self.counters.not_verified, None, what)
            }
        };
        let forced = end.forced(&report.outcome);
        count(counter, 1);
        let members = (0..list.entries.len()).into();
        checks.push(CheckReport { by: CheckedBy::Device, members, agreed, detail });
        report.checks = checks;
        let mut schedule = self.lock();
        // Who reads it after the second run finds it as after the first.
        match agreed {
            Some(true) => effects.iter().for_each(Effect::apply),
            _ => list.entries.iter().for_each(|entry| entry.note_written(self)),
        }
        list.settle_ran(&mut schedule.counts, Ok(Done::Gpu(submitted)), report, Vec::new());
        forced.map_or(Ok(()), Err)
    }

    /// Copies, without contents, for all memory that the pieces write.
    fn copies(&self, list: &List, pieces: &[Piece]) -> Result<Vec<Copy>, Error> {
        let refused = |what: &str| Error::from(FusionError::NotCompared { what: what.to_owned() });
        let bindings = || pieces.iter().flat_map(|piece| &piece.step.bindings);
        let mut members = pieces.iter().flat_map(|piece| piece.step.members.of(&list.entries));
        if members.any(|entry| entry.apart() || entry.reaches().next().is_some()) {
            return Err(refused("a kernel follows device addresses"));
        }
        if bindings().any(|bound| bound.kind.texture().is_some()) {
            return Err(refused("a kernel has images, which are not copied"));
        }
        let touches = || bindings().map(touched);
        let mut copies: Vec<Copy> = Vec::new();
        for Touch { memory, .. } in touches().filter(|touch| touch.writes) {
            if copies.iter().any(|copy| copy.memory == memory) {
                continue;
            }
            let spans = || touches().filter(|other| other.memory == memory).map(|other| other.span);
            let hull = |a: Span, b: Span| Span::new(a.start.min(b.start), a.end.max(b.end));
            let span = spans().reduce(hull).unwrap_or(Span::new(0, 0));
            let buffer = BufferInner::new(&self.device, span.end - span.start);
            buffer.allocate()?;
            let parts = spans().filter_map(|part| {
                let buffers = list.entries.iter().flat_map(|entry| &entry.buffers);
                let mut of_memory = buffers.filter(|buffer| buffer.shared.id == memory);
                let (of, local) = of_memory.find_map(|of| Some((of, of.within(part)?)))?;
                Some((part.start - span.start, of.clone(), local))
            });
            copies.push(Copy { memory, span, parts: parts.collect(), buffer });
        }
        Ok(copies)
    }

    /// Fills the copies and runs the pieces on them.
    fn run_on_copies(
        &self,
        queue: &QueueCell,
        list: &List,
        pieces: Vec<Piece>,
        copies: &[Copy],
    ) -> Result<Point, Error> {
        let mut schedule = self.lock();
        let lane = queue.lane;
        for copy in copies {
            for (at, buffer, local) in &copy.parts {
                let len = local.end - local.start;
                let touches =
                    [buffer.touch(local.clone(), true, false), copy.buffer.touch(*at..at + len, false, true)];
                let (src, src_offset) = (buffer.memory(&mut schedule.deps)?.clone(), local.start);
                let (dst, dst_offset) = (copy.buffer.memory(&mut schedule.deps)?.clone(), *at);
                let command = Command::Copy { src, src_offset, dst, dst_offset, len };
                self.transfer(&mut schedule.deps, lane, &Arc::from("first run"), &[command], &touches)?;
            }
        }
        let mut readies = self.ready(&mut schedule, pieces, &list.entries)?;
        for ready in &mut readies {
            for (bound, touch) in ready.dispatch.bindings.iter_mut().zip(&mut ready.touches) {
                if let Some(copy) = copies.iter().find(|copy| copy.memory == touch.memory) {
                    bound.resource = Resource::Buffer(copy.buffer.memory(&mut schedule.deps)?.clone());
                    bound.offset = touch.span.start - copy.span.start;
                    let range = bound.offset..bound.offset + bound.len;
                    *touch = copy.buffer.touch(range, touch.reads, touch.writes);
                }
            }
        }
        Ok(self.commit(&mut schedule, queue, readies, &[], false)?.point)
    }

    /// The first byte of a copy that is not as in the memory it was made of.
    fn differs(&self, copy: &Copy, points: &[Point]) -> Result<Option<String>, Error> {
        let lane = points.first().map_or(0, |point| point.queue);
        let lane = self.gpu.queue(lane as usize)?;
        for (at, buffer, local) in &copy.parts {
            for start in local.clone().step_by(CHUNK) {
                let len = (local.end - start).min(CHUNK as u64);
                let bytes = |of: &BufferInner, from| {
                    let mut bytes = vec![0; len as usize];
                    lane.download(of.allocate()?, from, &mut bytes, points)?;
                    Ok::<_, Error>(bytes)
                };
                let (fused, unfused) =
                    (bytes(&copy.buffer, at + start - local.start)?, bytes(buffer, start)?);
                if let Some(at) = fused.iter().zip(&unfused).position(|(a, b)| a != b) {
                    let (name, byte) = (buffer.name(), start + at as u64);
                    let (fused, unfused) = (fused[at], unfused[at]);
                    return Ok(Some(format!(
                        "byte {byte} of `{name}` is {fused:#04x} fused and {unfused:#04x} unfused"
                    )));
                }
            }
        }
        Ok(None)
    }
}
