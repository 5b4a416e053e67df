//! Host tasks, what they do besides, and writes of single bytes.

use std::{ops::Range, sync::mpsc, time::Duration};

use bytemuck::Pod;
use vkfuse::{Buffer, BufferError, CancelCause, Error, Event, FusionError, Outcome};

use super::{
    calls::{pattern, planned_panic, touch, unless_lost},
    data::{Ground, Memory, Part, Touch},
    kernels::{Call, Prepared},
    op::{Closure, Deed},
    world::{Checked, Rule, State, World, is_unreadable, lock},
};

/// A host task.
#[derive(Clone, Copy)]
pub struct Task {
    pub reads: (usize, Part),
    pub writes: (usize, Part),
    pub value: u32,
    pub slow: bool,
    pub end: Closure,
}

/// What a deed came to.
enum Done {
    Submitted(Result<Event, Error>),
    Downloaded(Result<Vec<u32>, Error>),
    /// What each submission came to, and the list.
    Fused(Vec<Result<Event, Error>>, Result<Event, Error>),
}

/// How long a deed may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(100);

fn is_own_access(error: &Error) -> bool {
    matches!(error, Error::Buffer { problem: BufferError::HostAccess, .. })
}

impl World<'_> {
    pub fn task(&mut self, memory: &[Memory], queue: usize, task: Task, deed: Option<&Deed>) -> Checked {
        let Task { reads, writes, value, slow, end } = task;
        let touches =
            [touch(memory, reads.0, reads.1, true, false), touch(memory, writes.0, writes.1, true, true)];
        let (from, to) = (memory[reads.0].real.clone(), memory[writes.0].real.clone());
        let range = reads.1.range();
        let wanted = memory[reads.0].values(range.clone());
        let lost = memory[reads.0].is_lost(&range);
        let new = pattern(value, writes.1.range().len());
        let (errors, theirs) = (self.tasks.clone(), new.clone());
        let (say, said) = mpsc::channel();
        let deed = deed.filter(|deed| self.is_possible(memory, deed));
        let mut does = deed.map(|deed| self.deed(memory, deed));
        let event = self.slots[queue].queue.host_task(
            [reads.1.of(from.read()).into_owned(), writes.1.of(to.read_write()).into_owned()],
            move |scope| {
                if let Some(does) = does.take() {
                    // What it holds, a queue among it, is gone before anyone hears that it is done.
                    let done = does();
                    let _ = say.send(done);
                }
                if slow {
                    std::thread::sleep(Duration::from_millis(2));
                }
                // Of two buffers that are the same bytes, either has what was listed of it.
                match scope.read(&from) {
                    Ok(got) if got == wanted => {}
                    Ok(got) => {
                        let at = got.iter().zip(&wanted).position(|(got, wanted)| got != wanted);
                        lock(&errors).push(format!("{}: element {at:?} differs", from.name()));
                    }
                    Err(error) if lost && is_unreadable(&error) => {}
                    Err(error) => lock(&errors).push(error.to_string()),
                }
                match end {
                    Closure::Returns => {}
                    Closure::Fails => return Err(Error::custom("planned")),
                    Closure::Panics => planned_panic(),
                }
                scope.write(&to, |data| data.copy_from_slice(&theirs))
            },
        );
        let event = event.map_err(|error| error.to_string())?;
        self.observe(&touches, None, Rule::Conflict, CancelCause::HostTask);
        if end == Closure::Returns {
            memory[writes.0].write(writes.1.range().start, &new);
            self.note(event, queue, State::Direct);
        } else {
            self.slots[queue].failed = true;
            self.note(event, queue, State::Failing);
        }
        match deed {
            Some(deed) => {
                let done = said.recv_timeout(PATIENCE).map_err(|_| format!("{deed:?} in a task hangs"))?;
                self.did(memory, &touches, deed, done)
            }
            None => Ok(()),
        }
    }

    /// Whether there is one result of it.
    fn is_possible(&self, memory: &[Memory], deed: &Deed) -> bool {
        match deed {
            Deed::Submit { call, .. } => !call.is_racy(memory),
            Deed::Download { .. } => true,
            Deed::Fuse { calls } => {
                calls.iter().all(|call| !call.is_racy(memory) && !call.is_mistake(memory))
            }
        }
    }

    /// A deed that any thread can do.
    fn deed(&self, memory: &[Memory], deed: &Deed) -> Box<dyn FnOnce() -> Done + Send> {
        match deed {
            Deed::Submit { queue, call } => {
                let queue = self.slots[queue % self.slots.len()].queue.clone();
                let call = call.prepare(self.rig, memory);
                Box::new(move || Done::Submitted(queue.submit(|h| call.fill(h))))
            }
            Deed::Download { from } => {
                let (buffer, range) = (memory[from.0 % memory.len()].real.clone(), from.1.range());
                Box::new(move || Done::Downloaded(buffer.download_range(range)))
            }
            Deed::Fuse { calls } => {
                let queue = World::new_queue(self.rig, false);
                let calls: Vec<Prepared> = calls.iter().map(|call| call.prepare(self.rig, memory)).collect();
                Box::new(move || {
                    let mut each = Vec::new();
                    let list = queue.fuse(|queue| {
                        each.extend(calls.iter().map(|call| queue.submit(|h| call.fill(h))));
                        Ok(())
                    });
                    Done::Fused(each, list)
                })
            }
        }
    }

    /// Does to the model what a deed has done, and compares.
    fn did(&mut self, memory: &[Memory], held: &[Touch], deed: &Deed, done: Done) -> Checked {
        let is_held = |touches: &[Touch]| touches.iter().any(|a| held.iter().any(|b| a.conflicts(b)));
        match (deed, done) {
            (Deed::Submit { queue, call }, Done::Submitted(result)) => {
                let queue = queue % self.slots.len();
                if call.is_mistake(memory) {
                    return match result {
                        Err(Error::Submit { .. }) => Ok(()),
                        other => Err(format!("a mistake in a task gave {other:?}")),
                    };
                }
                let touches = call.touches(memory);
                self.observe(&touches, Some(queue), Rule::Conflict, CancelCause::OtherQueue);
                match result {
                    Err(error) if is_held(&touches) && is_own_access(&error) => Ok(()),
                    other if is_held(&touches) => Err(format!("what the task itself holds gave {other:?}")),
                    result => {
                        let lost = touches.iter().any(|t| t.reads && memory[t.buffer].is_lost(&t.range));
                        if let Some(event) = unless_lost(result, lost)? {
                            self.submitted(memory, queue, call, event);
                        }
                        Ok(())
                    }
                }
            }
            (Deed::Download { from }, Done::Downloaded(result)) => {
                let (buffer, range) = (from.0 % memory.len(), from.1.range());
                let touches = [touch(memory, buffer, from.1, true, false)];
                self.observe(&touches, None, Rule::Conflict, CancelCause::HostRead);
                match result {
                    Err(error) if is_held(&touches) && is_own_access(&error) => Ok(()),
                    other if is_held(&touches) => Err(format!("what the task itself holds gave {other:?}")),
                    result => match unless_lost(result, memory[buffer].is_lost(&range))? {
                        Some(got) => memory[buffer].compare(range.start, &got, "a download in a task"),
                        None => Ok(()),
                    },
                }
            }
            (Deed::Fuse { calls }, Done::Fused(each, list)) => self.fused(memory, held, calls, each, list),
            _ => Err("another deed was done".to_owned()),
        }
    }

    fn fused(
        &mut self,
        memory: &[Memory],
        held: &[Touch],
        calls: &[Call],
        each: Vec<Result<Event, Error>>,
        list: Result<Event, Error>,
    ) -> Checked {
        let mut listed = Vec::new();
        for (call, result) in calls.iter().zip(each) {
            let call = call.as_submitted(memory);
            let touches = call.touches(memory);
            self.observe(&touches, None, Rule::Conflict, CancelCause::OtherQueue);
            if touches.iter().any(|a| held.iter().any(|b| a.conflicts(b))) {
                match result {
                    Err(error) if is_own_access(&error) => continue,
                    other => return Err(format!("what the task itself holds gave {other:?}")),
                }
            }
            let lost = touches.iter().any(|t| t.reads && memory[t.buffer].is_lost(&t.range));
            if unless_lost(result, lost)?.is_some() {
                call.apply(memory);
                listed.extend(touches);
            }
        }
        let event = match list {
            // On shared buffers somebody else may have ended it.
            Err(Error::Fusion(FusionError::NotFusing)) if !self.strict => return Ok(()),
            list => list.map_err(|error| format!("a list in a task: {error}"))?,
        };
        for write in listed.iter().filter(|touch| touch.writes) {
            if listed.iter().any(|other| other.id == write.id && other.promoted) {
                memory[write.buffer].mark(&write.range, true);
            }
        }
        if matches!(event.outcome(), Outcome::Failed | Outcome::Pending) {
            return Err(format!("a list in a task is {}", event.outcome()));
        }
        self.count(event.report().map_or(0, |report| report.dispatches));
        Ok(())
    }

    /// Writes bytes of the ground through an import that may start and end anywhere.
    pub fn bytes(
        &mut self,
        memory: &[Memory],
        ground: &Ground,
        queue: usize,
        range: Range<usize>,
        how: usize,
        value: u32,
    ) -> Checked {
        let Some(over) = memory.iter().find(|memory| memory.is_over(ground)) else { return Ok(()) };
        match how % 5 {
            0 => self.typed(over, ground, queue, range, how / 5, value as u8),
            1 => self.typed(over, ground, queue, range, how / 5, (value as u16).wrapping_mul(257)),
            2 => self.typed(over, ground, queue, range, how / 5, [value as u8, 1, 2]),
            3 => self.typed(over, ground, queue, range, how / 5, u64::from(value) << 20 | 3),
            _ => self.typed(over, ground, queue, range, how / 5, value),
        }
    }

    fn typed<T: Pod + Send + Sync>(
        &mut self,
        over: &Memory,
        ground: &Ground,
        queue: usize,
        range: Range<usize>,
        how: usize,
        value: T,
    ) -> Checked {
        let context = &self.rig.context;
        let range = ground.clamp(range);
        let part: Buffer<T> = ground.import(context, &range);
        let len = range.len() / size_of::<T>();
        if part.len() != len {
            return Err(format!("{} elements of {} bytes in {range:?}", part.len(), size_of::<T>()));
        }
        let data = vec![value; len];
        let bytes: &[u8] = bytemuck::cast_slice(&data);
        let written = range.start..range.start + bytes.len();
        if len == 0 {
            return Ok(());
        }
        let real = &self.slots[queue].queue;
        let (rule, cause, result) = match how % 5 {
            0 => (Rule::Overlap, CancelCause::Command, real.fill(part.write(), value).map(drop)),
            1 => (Rule::Overlap, CancelCause::Command, real.update(part.write(), &data).map(drop)),
            2 => (Rule::Conflict, CancelCause::HostWrite, part.upload(&data)),
            3 => (Rule::Conflict, CancelCause::HostWrite, part.fill(value)),
            _ => {
                let from = context.buffer_from(&data).map_err(|error| error.to_string())?;
                (Rule::Overlap, CancelCause::Command, real.copy(from.read(), part.write()).map(drop))
            }
        };
        result.map_err(|error| format!("bytes {range:?}: {error}"))?;
        self.observe(&[ground.touch(over, written.clone(), false, true)], None, rule, cause);
        ground.write(written.start, bytes);
        let got = part.download().map_err(|error| error.to_string())?;
        let got: &[u8] = bytemuck::cast_slice(&got);
        if got != ground.bytes(written) {
            return Err(format!("bytes {range:?} are not those written"));
        }
        Ok(())
    }
}
