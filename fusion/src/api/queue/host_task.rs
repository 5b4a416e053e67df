//! Host tasks: closures that take their place among the work of the device.

use std::{
    ops::Range,
    sync::{Arc, mpsc},
    thread,
};

use bytemuck::Pod;
use smallvec::SmallVec;

use super::Queue;
use crate::{
    api::buffer::Buffer,
    code::build::caught,
    error::{BufferError, BuildError, Error},
    report::outcome::CancelCause,
    runtime::{
        context::HostHold,
        event::{Done, Event, EventInner, HostDone},
    },
    submission::{
        accessor::{Access, Accessor},
        dependencies::{Touch, Touches},
    },
    vk::{Gpu, Point},
};

/// What a host task may use: the buffers that it listed.
#[derive(Debug)]
pub struct HostScope {
    parts: SmallVec<[Accessor<'static>; 4]>,
    hold: HostHold,
}

impl HostScope {
    /// The byte ranges of a buffer that the task listed, of those that may be written if it writes.
    fn listed<T: Pod>(&self, buffer: &Buffer<T>, writes: bool) -> Result<SmallVec<[Range<u64>; 2]>, Error> {
        let of_buffer = |part: &&Accessor<'static>| part.buffer.handle == buffer.inner.handle;
        let mut parts = self.parts.iter().filter(of_buffer).peekable();
        if parts.peek().is_none() {
            return Err(buffer.inner.error(BufferError::NotListed));
        }
        let fitting = parts.filter(|part| !writes || part.access.may_write()).map(|part| {
            let (offset, len) = part.bytes();
            offset..offset + len
        });
        let mut ranges: SmallVec<[Range<u64>; 2]> = fitting.collect();
        if ranges.is_empty() {
            return Err(buffer.inner.error(BufferError::NotWritable));
        }
        // Ranges that meet are one.
        ranges.sort_unstable_by_key(|range| range.start);
        ranges.dedup_by(|next, range| {
            let meets = next.start <= range.end;
            if meets {
                range.end = range.end.max(next.end);
            }
            meets
        });
        Ok(ranges)
    }

    /// All that was listed of a buffer, if that is one range.
    fn whole<T: Pod>(&self, buffer: &Buffer<T>, writes: bool) -> Result<Range<u64>, Error> {
        match &self.listed(buffer, writes)?[..] {
            [range] => Ok(range.clone()),
            _ => Err(buffer.inner.error(BufferError::SeveralRanges)),
        }
    }

    /// Elements as bytes, if the task listed all of them.
    fn part<T: Pod>(
        &self,
        buffer: &Buffer<T>,
        elements: Range<usize>,
        writes: bool,
    ) -> Result<Range<u64>, Error> {
        let bytes = buffer.byte_range(elements)?;
        let has = |ranges: &[Range<u64>]| {
            ranges.iter().any(|range| range.start <= bytes.start && bytes.end <= range.end)
        };
        if has(&self.listed(buffer, writes)?) {
            return Ok(bytes);
        }
        let is_listed = writes && has(&self.listed(buffer, false)?);
        Err(buffer.inner.error(if is_listed { BufferError::NotWritable } else { BufferError::NotListed }))
    }

    /// The elements that the task listed of this buffer. Another buffer over the same imported memory is another one.
    ///
    /// # Errors
    ///
    /// A buffer that was not listed, or with several ranges that do not meet; one that holds nothing readable; the device.
    pub fn read<T: Pod>(&self, buffer: &Buffer<T>) -> Result<Vec<T>, Error> {
        self.read_bytes(buffer, self.whole(buffer, false)?)
    }

    /// Some of the elements that the task listed, by their places in the buffer.
    ///
    /// # Errors
    ///
    /// Elements that were not listed; what holds nothing readable; the device.
    pub fn read_range<T: Pod>(&self, buffer: &Buffer<T>, elements: Range<usize>) -> Result<Vec<T>, Error> {
        self.read_bytes(buffer, self.part(buffer, elements, false)?)
    }

    /// Runs `f` on the elements that the task listed to write, and writes back what it leaves.
    ///
    /// # Errors
    ///
    /// A buffer that was not listed to be written, or with several ranges that do not meet; the device.
    pub fn write<T: Pod, R>(&self, buffer: &Buffer<T>, f: impl FnOnce(&mut [T]) -> R) -> Result<R, Error> {
        self.write_bytes(buffer, self.whole(buffer, true)?, f)
    }

    /// As [`write`](HostScope::write), for some of the elements, by their places in the buffer.
    ///
    /// # Errors
    ///
    /// Elements that were not listed to be written; the device.
    pub fn write_range<T: Pod, R>(
        &self,
        buffer: &Buffer<T>,
        elements: Range<usize>,
        f: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R, Error> {
        self.write_bytes(buffer, self.part(buffer, elements, true)?, f)
    }

    fn read_bytes<T: Pod>(&self, buffer: &Buffer<T>, range: Range<u64>) -> Result<Vec<T>, Error> {
        buffer.inner.check_readable(&range)?;
        self.in_memory(buffer, range)
    }

    fn write_bytes<T: Pod, R>(
        &self,
        buffer: &Buffer<T>,
        range: Range<u64>,
        f: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R, Error> {
        let mut data = self.in_memory(buffer, range.clone())?;
        let result = f(&mut data);
        buffer.write_bytes(&self.hold, range, bytemuck::cast_slice(&data), &[])?;
        Ok(result)
    }

    fn in_memory<T: Pod>(&self, buffer: &Buffer<T>, range: Range<u64>) -> Result<Vec<T>, Error> {
        let count = (range.end - range.start) / size_of::<T>().max(1) as u64;
        let mut data = vec![T::zeroed(); count as usize];
        buffer.read_bytes(&self.hold, range, bytemuck::cast_slice_mut(&mut data), &[])?;
        Ok(data)
    }
}

impl Queue {
    /// Runs a closure on a thread of its own, after all work that conflicts with what it lists, and before all later
    /// work that does. It reaches the listed buffers through the [`HostScope`] only; another use of them from inside the
    /// closure is an error.
    ///
    /// Later work that conflicts, or that depends on the task's event, waits on the host, in the call that submits it
    /// (in fusion mode too), until the task is done. The task must therefore not itself wait for such work. It may
    /// otherwise do what any thread may: submit, fuse, read and write other buffers.
    ///
    /// It ends fusion lists that conflict with it. A panic in it is an error of its event.
    ///
    /// A program waits for its tasks before it ends, for instance with [`Context::wait`](crate::Context::wait): drivers do not
    /// survive being called while the process exits.
    ///
    /// # Errors
    ///
    /// An accessor outside its buffer; the device.
    pub fn host_task<'a>(
        &self,
        touches: impl IntoIterator<Item = Accessor<'a>>,
        task: impl FnOnce(&HostScope) -> Result<(), Error> + Send + 'static,
    ) -> Result<Event, Error> {
        let parts: SmallVec<[Accessor<'static>; 4]> = touches.into_iter().map(Accessor::into_owned).collect();
        let mut touches = Touches::with_capacity(parts.len());
        for part in &parts {
            let range = part.checked(&self.inner.context.device)?;
            touches.push(part.buffer.touch(range, part.access != Access::Write, part.access.may_write()));
        }

        // The thread comes first: nothing has to be taken back if there can be none. It waits for its job, which is
        // everything that it uses.
        let context = self.inner.context.clone();
        let done = Arc::new(HostDone::default());
        let (job, jobs) = mpsc::channel();
        let finished = done.clone();
        let spawned = thread::Builder::new().name("vkfuse host task".to_owned()).spawn(move || {
            let Ok((task, scope, gpu, points)) = jobs.recv() else { return };
            finished.runs_here();
            let result = run(task, scope, gpu, points);
            finished.finish(result);
        });
        let thread = spawned.map_err(Error::custom)?.thread().id();

        let buffer = parts.first().map_or_else(|| Arc::from(""), |part| part.buffer.name());
        let buffers = parts.iter().map(|part| &*part.buffer);
        let mut schedule =
            context.observe(&touches, buffers, None, Touch::conflicts, CancelCause::HostTask)?;
        for part in &parts {
            part.buffer.memory(&mut schedule.deps)?;
        }
        context.refresh(&mut schedule.deps);
        let points: SmallVec<[Point; 4]> =
            touches.iter().flat_map(|touch| schedule.deps.conflicts(touch)).collect();
        let hold = context.hold_now(&mut schedule, buffer, touches, thread);
        let mut state = self.inner.state();
        state.tasks.retain(|task| !matches!(task.poll(), Some(Ok(()))));
        state.tasks.push(done.clone());
        drop((state, schedule));
        let scope = HostScope { parts, hold };
        if job.send((task, scope, context.gpu.clone(), points)).is_err() {
            done.finish(Err(Error::custom("the thread of a host task is gone")));
        }
        Ok(EventInner::done(&self.inner.origin, Done::Host(done)))
    }
}

/// Runs a task once the points are reached. Everything that the task uses is dropped before its completion is signalled: its bytes
/// are free then, and a program that exits at that point has no other thread that is still closing the device, which drivers and
/// layers do not survive.
fn run(
    task: impl FnOnce(&HostScope) -> Result<(), Error>,
    scope: HostScope,
    gpu: Gpu,
    points: SmallVec<[Point; 4]>,
) -> Result<(), Error> {
    let work = move || {
        gpu.wait_all(&points, None)?;
        task(&scope)
    };
    caught(work).unwrap_or_else(|problem| match problem {
        BuildError::Panic(message) => Err(Error::TaskPanicked { message }),
        source => Err(Error::Build { kernel: "host task".to_owned(), source }),
    })
}
