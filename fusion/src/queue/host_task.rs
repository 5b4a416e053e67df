//! Host tasks: closures that take their place among the work of the device.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, mpsc},
    thread,
};

use bytemuck::Pod;
use smallvec::SmallVec;

use super::Queue;
use crate::{
    accessor::{Access, Accessor},
    buffer::Buffer,
    context::HostHold,
    error::{BufferError, BuildError, Error},
    event::{Done, Event, EventInner, HostDone},
    fusion::panic_message,
    graph::Touches,
    outcome::CancelCause,
    schedule::Rule,
    vk::Point,
};

/// What a host task may use: the buffers that it listed.
#[derive(Debug)]
pub struct HostScope {
    parts: SmallVec<[Accessor; 4]>,
    hold: HostHold,
}

impl HostScope {
    fn find<T: Pod>(&self, buffer: &Buffer<T>, writes: bool) -> Result<&Accessor, Error> {
        let mut listed = self.parts.iter().filter(|part| part.buffer.id == buffer.id()).peekable();
        if listed.peek().is_none() {
            return Err(buffer.inner.error(BufferError::NotListed));
        }
        let fitting = listed.find(|part| !writes || part.access != Access::Read);
        fitting.ok_or_else(|| buffer.inner.error(BufferError::NotWritable))
    }

    /// The elements that the task listed.
    ///
    /// # Errors
    ///
    /// A buffer that was not listed; one that holds nothing readable; the device.
    pub fn read<T: Pod>(&self, buffer: &Buffer<T>) -> Result<Vec<T>, Error> {
        let (offset, len) = self.find(buffer, false)?.bytes();
        let range = offset..offset + len;
        buffer.inner.check_readable(&range)?;
        let mut data = vec![T::zeroed(); (len / size_of::<T>().max(1) as u64) as usize];
        buffer.read_bytes(&self.hold, range, bytemuck::cast_slice_mut(&mut data), &[])?;
        Ok(data)
    }

    /// Runs `f` on the elements that the task listed, and writes back what it leaves.
    ///
    /// # Errors
    ///
    /// A buffer that was not listed to be written; the device.
    pub fn write<T: Pod, R>(&self, buffer: &Buffer<T>, f: impl FnOnce(&mut [T]) -> R) -> Result<R, Error> {
        let (offset, len) = self.find(buffer, true)?.bytes();
        let range = offset..offset + len;
        let mut data = vec![T::zeroed(); (len / size_of::<T>().max(1) as u64) as usize];
        buffer.read_bytes(&self.hold, range.clone(), bytemuck::cast_slice_mut(&mut data), &[])?;
        let result = f(&mut data);
        buffer.write_bytes(&self.hold, range, bytemuck::cast_slice(&data), &[])?;
        Ok(result)
    }
}

impl Queue {
    /// Runs a closure on a thread of its own, after all work that conflicts with what it lists, and before all later
    /// work that does. It reaches the listed buffers through the [`HostScope`] only; another use of them from inside the
    /// closure is an error.
    ///
    /// Later work that conflicts waits on the host, in the call that submits it, until the task is done. The task must
    /// therefore not itself wait for such work.
    ///
    /// It ends fusion lists that conflict with it. A panic in it is an error of its event.
    ///
    /// # Errors
    ///
    /// An accessor outside its buffer; the device.
    pub fn host_task(
        &self,
        touches: impl IntoIterator<Item = Accessor>,
        task: impl FnOnce(&HostScope) -> Result<(), Error> + Send + 'static,
    ) -> Result<Event, Error> {
        let parts: SmallVec<[Accessor; 4]> = touches.into_iter().collect();
        let mut touches = Touches::with_capacity(parts.len());
        for part in &parts {
            let range = part.checked(&self.inner.context)?;
            touches.push(part.buffer.touch(range, part.access != Access::Write, part.access.may_write()));
        }

        // The thread comes first: nothing has to be taken back if there can be none. It waits for its job.
        let context = self.inner.context.clone();
        let done = Arc::new(HostDone::default());
        let (job, jobs) = mpsc::channel::<(HostScope, SmallVec<[Point; 4]>)>();
        let (finished, gpu) = (done.clone(), context.gpu.clone());
        let spawned = thread::Builder::new().name("vkfuse host task".to_owned()).spawn(move || {
            let Ok((scope, points)) = jobs.recv() else { return };
            let result = match gpu.wait_all(&points, None) {
                Err(error) => Err(error.into()),
                Ok(_) => catch_unwind(AssertUnwindSafe(|| task(&scope))).unwrap_or_else(|panic| {
                    let source = BuildError::Panic(panic_message(&*panic));
                    Err(Error::Build { kernel: "host task".to_owned(), source })
                }),
            };
            // The bytes are free before anyone hears that the task is done.
            drop(scope);
            finished.finish(result);
        });
        let thread = spawned.map_err(Error::custom)?.thread().id();

        let buffer = parts.first().map_or_else(|| Arc::from(""), |part| part.buffer.name());
        let mut schedule = context.observe(&touches, None, Rule::Conflict, CancelCause::HostTask)?;
        for part in &parts {
            part.buffer.memory(&mut schedule)?;
        }
        context.refresh(&mut schedule);
        let points: SmallVec<[Point; 4]> =
            touches.iter().flat_map(|touch| schedule.graph.conflicts(touch)).collect();
        let hold = context.hold_now(&mut schedule, buffer, touches, thread);
        let state = schedule.queue(self.inner.id);
        state.tasks.retain(|task| !matches!(task.poll(), Some(Ok(()))));
        state.tasks.push(done.clone());
        drop(schedule);
        if job.send((HostScope { parts, hold }, points)).is_err() {
            done.finish(Err(Error::custom("the thread of a host task is gone")));
        }
        Ok(EventInner::done(&context, self.inner.id, Done::Host(done)))
    }
}
