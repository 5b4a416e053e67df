//! Every call, made on the engine and on the model.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Duration,
};

use vkfuse::{CancelCause, Error, Event, FusionError, FusionProperties};

use super::{
    data::{Ground, LEN, Memory, Part, Touch},
    kernels::Call,
    op::{Closure, Op},
    tasks::Task,
    world::{Checked, Rule, Slot, State, World, is_unreadable, lock},
};

/// What a closure that is made to panic throws: not through the hook, which would print it.
pub fn planned_panic() -> ! {
    resume_unwind(Box::new("planned"))
}

pub fn touch(memory: &[Memory], buffer: usize, part: Part, reads: bool, writes: bool) -> Touch {
    memory[buffer].touch(buffer, part.range(), reads, writes)
}

pub fn pattern(value: u32, len: usize) -> Vec<u32> {
    (0..len as u32).map(|i| value.wrapping_mul(7).wrapping_add(i)).collect()
}

/// The result of something that may only fail because a buffer holds nothing readable.
pub fn unless_lost<T>(result: Result<T, Error>, lost: bool) -> Result<Option<T>, String> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if lost && is_unreadable(&error) => Ok(None),
        Err(error) => Err(format!("unexpected error: {error}")),
    }
}

impl World<'_> {
    /// Makes a call and compares.
    pub fn call(&mut self, group: usize, op: &Op) -> Checked {
        let group = group % self.groups.len();
        let (group, ground) = (self.groups[group].clone(), self.grounds[group].clone());
        match op {
            Op::Wait { .. }
            | Op::WaitFor { .. }
            | Op::Poll { .. }
            | Op::WaitAll { .. }
            | Op::WaitQueue { .. }
            | Op::WaitContext
            | Op::NewQueue { .. }
            | Op::ForgetCode
            | Op::Graph
            | Op::Start { .. } => self.control(op)?,
            _ => self.on_memory(&mut lock(&group), ground.as_deref(), op)?,
        }
        self.check()
    }

    fn on_memory(&mut self, memory: &mut [Memory], ground: Option<&Ground>, op: &Op) -> Checked {
        let (queues, buffers) = (self.slots.len(), memory.len());
        match op {
            Op::Submit { queue, call, after, closure } => {
                self.submit(memory, queue % queues, call, *after, *closure).map(drop)
            }
            Op::Complete { queue, force, background } => {
                self.complete(memory, queue % queues, *force, *background && !*force)
            }
            Op::Keep { queue } => self.keep(memory, queue % queues),
            Op::Again { kept, queue, changed, times } => {
                (0..*times).try_for_each(|_| self.again(memory, *kept, queue % queues, *changed))
            }
            Op::Cancel { queue } => {
                let queue = queue % queues;
                self.slots[queue].wrapper.cancel_fusion().map_err(|error| error.to_string())?;
                self.cancel(queue, CancelCause::Explicit);
                Ok(())
            }
            Op::Scope { queue, calls, end } => self.scope(memory, queue % queues, calls, *end),
            Op::Copy { queue, from, to } => {
                self.copy(memory, queue % queues, (from.0 % buffers, from.1), (to.0 % buffers, to.1))
            }
            Op::Fill { queue, to, value } => {
                let (to, part, queue) = (to.0 % buffers, to.1, queue % queues);
                let event = self.slots[queue].queue.fill(part.of(memory[to].real.write()), *value);
                self.command(memory, queue, (to, part), event, vec![*value; part.range().len()])
            }
            Op::Update { queue, to, value } => {
                let (to, part, queue) = (to.0 % buffers, to.1, queue % queues);
                let data = pattern(*value, part.range().len());
                let event = self.slots[queue].queue.update(part.of(memory[to].real.write()), &data);
                self.command(memory, queue, (to, part), event, data)
            }
            Op::Task { queue, reads, writes, value, slow, end, deed } => {
                let (reads, writes) = ((reads.0 % buffers, reads.1), (writes.0 % buffers, writes.1));
                let task = Task { reads, writes, value: *value, slow: *slow, end: *end };
                self.task(memory, queue % queues, task, deed.as_ref())
            }
            Op::Bytes { queue, start, len, how, value } => match ground {
                Some(ground) => self.bytes(memory, ground, queue % queues, *start..start + len, *how, *value),
                None => Ok(()),
            },
            Op::Ask { buffer, property } => {
                memory[buffer % buffers].ask(*property);
                Ok(())
            }
            Op::Replace { buffer } => {
                self.salt += 1;
                let buffer = buffer % buffers;
                memory[buffer] = Memory::new(&self.rig.context, ground, buffer, self.salt);
                Ok(())
            }
            host => self.host(memory, host),
        }
    }

    /// Submits one kernel. Whether it was taken.
    fn submit(
        &mut self,
        memory: &[Memory],
        queue: usize,
        call: &Call,
        after: Option<usize>,
        closure: Closure,
    ) -> Result<bool, String> {
        let after = after.and_then(|pick| pick.checked_rem(self.events.len())).filter(|number| {
            // What depends on failed work fails: that has a test of its own.
            self.events[*number].state != State::Failing && self.strict
        });
        if call.is_racy(memory) {
            return Ok(false);
        }
        let real = self.slots[queue].queue.clone();
        let submitted = catch_unwind(AssertUnwindSafe(|| {
            let prepared = call.prepare(self.rig, memory);
            real.submit(|h| {
                prepared.fill(h);
                if let Some(number) = after {
                    h.depends_on(&self.events[number].event);
                }
                match closure {
                    Closure::Returns => Ok(()),
                    Closure::Fails => Err(Error::custom("planned")),
                    Closure::Panics => planned_panic(),
                }
            })
        }));
        match (submitted, closure) {
            (Err(_), Closure::Panics) => Ok(false),
            (Ok(Err(Error::Custom(_))), Closure::Fails) => Ok(false),
            (Ok(result), Closure::Returns) => {
                if call.is_mistake(memory) {
                    return match result {
                        Err(Error::Submit { .. }) => Ok(false),
                        other => Err(format!("a mistake gave {other:?}")),
                    };
                }
                let touches = call.touches(memory);
                if let Some(other) = after.map(|number| &self.events[number])
                    && other.state == State::Listed
                    && other.queue != queue
                {
                    self.cancel(other.queue, CancelCause::OtherQueue);
                }
                self.observe(&touches, Some(queue), Rule::Conflict, CancelCause::OtherQueue);
                let lost = touches.iter().any(|t| t.reads && memory[t.buffer].is_lost(&t.range));
                let Some(event) = unless_lost(result, lost)? else { return Ok(false) };
                self.submitted(memory, queue, call, event);
                Ok(true)
            }
            (other, _) => Err(format!("a closure that {closure:?} gave {other:?}")),
        }
    }

    fn complete(&mut self, memory: &[Memory], queue: usize, force: bool, background: bool) -> Checked {
        let mut properties = FusionProperties::new();
        if force {
            properties = properties.force_fusion();
        }
        if background {
            properties = properties.build_in_background();
        }
        let result = self.slots[queue].wrapper.complete_fusion(&properties);
        self.after_complete(memory, queue, (force, background), result)
    }

    fn after_complete(
        &mut self,
        memory: &[Memory],
        queue: usize,
        (force, background): (bool, bool),
        result: Result<Event, Error>,
    ) -> Checked {
        let listing = self.slots[queue].list.is_some();
        match result {
            Ok(event) if listing => {
                self.completed(memory, queue, &event, (force, background))?;
                let outcome = event.outcome();
                self.note(event, queue, State::Ended(outcome));
            }
            Ok(event) => {
                let (outcome, wanted) = (event.outcome(), &self.slots[queue].completed);
                if self.strict && wanted.as_ref() != Some(&outcome) {
                    return Err(format!("a late completion is {outcome} and should be {wanted:?}"));
                }
                self.note(event, queue, State::Ended(outcome));
            }
            Err(Error::Fusion(FusionError::Forced { .. })) if force && (listing || !self.strict) => {
                let late = self.slots[queue].wrapper.complete_fusion(&FusionProperties::new());
                if self.strict {
                    self.refused(queue, &late.map_err(|error| error.to_string())?)?;
                }
            }
            Err(Error::Fusion(FusionError::NotFusing))
                if !self.strict || !listing && self.slots[queue].completed.is_none() => {}
            Err(error) => return Err(format!("completion failed: {error}")),
        }
        Ok(())
    }

    fn scope(&mut self, memory: &[Memory], queue: usize, calls: &[Call], end: Closure) -> Checked {
        let (real, was_listing) = (self.slots[queue].queue.clone(), self.slots[queue].list.is_some());
        let mut inside = Ok(());
        let mut entered = false;
        let result = catch_unwind(AssertUnwindSafe(|| {
            real.fuse(|_| {
                entered = true;
                if self.strict {
                    self.slots[queue].list = Some(Vec::new());
                    self.slots[queue].completed = None;
                }
                for call in calls {
                    if let Err(error) = self.submit(memory, queue, call, None, Closure::Returns) {
                        inside = Err(error);
                    }
                }
                match end {
                    Closure::Returns => Ok(()),
                    Closure::Fails => Err(Error::custom("planned")),
                    Closure::Panics => planned_panic(),
                }
            })
        }));
        inside?;
        match (result, end) {
            (Ok(Err(Error::Fusion(FusionError::AlreadyFusing { .. }))), _) if !entered => {
                if was_listing || !self.strict { Ok(()) } else { Err("the queue was not fusing".to_owned()) }
            }
            (_, _) if self.strict && was_listing => Err("the queue was fusing already".to_owned()),
            (Err(_), Closure::Panics) | (Ok(Err(Error::Custom(_))), Closure::Fails) => {
                self.cancel(queue, CancelCause::ScopeLeft);
                Ok(())
            }
            (Ok(result), Closure::Returns) => self.after_complete(memory, queue, (false, false), result),
            (other, _) => Err(format!("a scope that {end:?} gave {other:?}")),
        }
    }

    fn copy(
        &mut self,
        memory: &mut [Memory],
        queue: usize,
        (from, from_part): (usize, Part),
        (to, to_part): (usize, Part),
    ) -> Checked {
        let (source, target) = (memory[from].real.read(), memory[to].real.write());
        let result = self.slots[queue].queue.copy(from_part.of(source), to_part.of(target));
        let (read, write) =
            (touch(memory, from, from_part, true, false), touch(memory, to, to_part, false, true));
        if read.range.len() != write.range.len() || read.overlaps(&write) {
            return match result {
                Err(Error::Buffer { .. }) => Ok(()),
                other => Err(format!("a copy that does not fit gave {other:?}")),
            };
        }
        self.observe(&[read.clone(), write.clone()], None, Rule::Overlap, CancelCause::Command);
        let lost = memory[from].is_lost(&read.range);
        let Some(event) = unless_lost(result, lost)? else { return Ok(()) };
        memory[from].mark(&read.range, false);
        let data = memory[from].values(read.range);
        memory[to].write(write.range.start, &data);
        self.note(event, queue, State::Direct);
        Ok(())
    }

    fn command(
        &mut self,
        memory: &mut [Memory],
        queue: usize,
        (to, part): (usize, Part),
        result: Result<Event, Error>,
        data: Vec<u32>,
    ) -> Checked {
        let event = result.map_err(|error| error.to_string())?;
        self.observe(&[touch(memory, to, part, false, true)], None, Rule::Overlap, CancelCause::Command);
        memory[to].write(part.range().start, &data);
        self.note(event, queue, State::Direct);
        Ok(())
    }

    /// What the host does with buffers.
    fn host(&mut self, memory: &mut [Memory], op: &Op) -> Checked {
        let buffers = memory.len();
        let said = |error: Error| format!("unexpected error: {error}");
        match op {
            Op::Upload { to, value } => {
                let (to, range) = (to.0 % buffers, to.1.range());
                let data = pattern(*value, range.len());
                memory[to].real.upload_at(range.start, &data).map_err(said)?;
                self.observe(
                    &[touch(memory, to, op_part(op), false, true)],
                    None,
                    Rule::Conflict,
                    CancelCause::HostWrite,
                );
                memory[to].write(range.start, &data);
            }
            Op::Download { from } => {
                let (buffer, range) = (from.0 % buffers, from.1.range());
                let got = memory[buffer].real.download_range(range.clone());
                self.observe(
                    &[touch(memory, buffer, from.1, true, false)],
                    None,
                    Rule::Conflict,
                    CancelCause::HostRead,
                );
                if let Some(got) = unless_lost(got, memory[buffer].is_lost(&range))? {
                    memory[buffer].compare(range.start, &got, "a download")?;
                }
            }
            Op::Stale { from } => {
                let buffer = from % buffers;
                let got = memory[buffer].real.download_stale().map_err(said)?;
                self.observe(
                    &[touch(memory, buffer, Part::Whole, true, false)],
                    None,
                    Rule::Conflict,
                    CancelCause::HostRead,
                );
                if !memory[buffer].is_lost(&(0..LEN)) {
                    memory[buffer].compare(0, &got, "what is in memory")?;
                }
            }
            Op::HostRead { from } => {
                let buffer = from % buffers;
                let got = memory[buffer].real.host_read(<[u32]>::to_vec);
                self.observe(
                    &[touch(memory, buffer, Part::Whole, true, false)],
                    None,
                    Rule::Conflict,
                    CancelCause::HostRead,
                );
                if let Some(got) = unless_lost(got, memory[buffer].is_lost(&(0..LEN)))? {
                    memory[buffer].compare(0, &got, "a host read")?;
                }
            }
            Op::HostWrite { to, value } => {
                let (buffer, new) = (to % buffers, pattern(*value, LEN));
                let mut seen = Vec::new();
                let write = |data: &mut [u32]| {
                    seen = data.to_vec();
                    data.copy_from_slice(&new);
                };
                memory[buffer].real.host_write(write).map_err(said)?;
                self.observe(
                    &[touch(memory, buffer, Part::Whole, true, true)],
                    None,
                    Rule::Conflict,
                    CancelCause::HostWrite,
                );
                if !memory[buffer].is_lost(&(0..LEN)) {
                    memory[buffer].compare(0, &seen, "what a host write is given")?;
                }
                memory[buffer].write(0, &new);
            }
            Op::HostFill { to, value } => {
                let buffer = to % buffers;
                memory[buffer].real.fill(*value).map_err(said)?;
                self.observe(
                    &[touch(memory, buffer, Part::Whole, false, true)],
                    None,
                    Rule::Conflict,
                    CancelCause::HostWrite,
                );
                memory[buffer].write(0, &[*value; LEN]);
            }
            other => unreachable!("{other:?} is no use of a buffer by the host"),
        }
        Ok(())
    }

    /// Calls that touch no buffer.
    fn control(&mut self, op: &Op) -> Checked {
        let queues = self.slots.len();
        match op {
            Op::Start { queue } => {
                let slot = &mut self.slots[queue % queues];
                match slot.wrapper.start_fusion() {
                    Ok(()) if slot.list.is_none() => {
                        if self.strict {
                            slot.list = Some(Vec::new());
                            slot.completed = None;
                        }
                    }
                    Err(Error::Fusion(FusionError::AlreadyFusing { .. }))
                        if slot.list.is_some() || !self.strict => {}
                    other => return Err(format!("start_fusion gave {other:?}")),
                }
            }
            Op::Wait { event } => {
                if let Some(number) = event.checked_rem(self.events.len()) {
                    let result = self.events[number].event.clone().wait().map(|()| true);
                    self.waited(number, result, true)?;
                }
            }
            Op::WaitFor { event, micros } => {
                if let Some(number) = event.checked_rem(self.events.len()) {
                    let result =
                        self.events[number].event.clone().wait_timeout(Duration::from_micros(*micros));
                    self.waited(number, result, *micros > 1_000_000)?;
                }
            }
            Op::Poll { event } => {
                if let Some(number) = event.checked_rem(self.events.len()) {
                    let noted = &self.events[number];
                    if noted.event.is_complete() && noted.state == State::Listed {
                        return Err(format!("event {number} is listed and says that it is complete"));
                    }
                }
            }
            Op::WaitAll { events } => {
                let numbers: Vec<usize> =
                    events.iter().filter_map(|e| e.checked_rem(self.events.len())).collect();
                let events: Vec<Event> =
                    numbers.iter().map(|number| self.events[*number].event.clone()).collect();
                let result = Event::wait_all(&events);
                let fails = numbers.iter().any(|number| self.events[*number].state == State::Failing);
                if result.is_err() != fails && self.strict {
                    return Err(format!("wait_all gave {result:?}"));
                }
                for number in numbers {
                    let one = self.events[number].event.clone().wait().map(|()| true);
                    self.waited(number, one, true)?;
                }
            }
            Op::WaitQueue { queue } => {
                let queue = queue % queues;
                let result = self.slots[queue].queue.wait();
                self.cancel(queue, CancelCause::QueueWait);
                let failed = std::mem::take(&mut self.slots[queue].failed);
                if result.is_err() != failed && !self.shared_queues {
                    return Err(format!("a wait for the queue gave {result:?}"));
                }
            }
            Op::WaitContext if self.alone => {
                let result = self.rig.context.wait();
                (0..queues).for_each(|queue| self.cancel(queue, CancelCause::QueueWait));
                let orphan = std::mem::take(&mut self.orphan_failed);
                let failed =
                    self.slots.iter_mut().fold(orphan, |any, slot| std::mem::take(&mut slot.failed) | any);
                if result.is_err() != failed {
                    return Err(format!("a wait for the context gave {result:?}"));
                }
            }
            Op::NewQueue { queue, keep_wrapper } if !self.shared_queues => {
                let queue = queue % queues;
                self.kept.retain(|kept| kept.queue != queue);
                let fresh = Slot::new(World::new_queue(self.rig, queue == 1));
                let old = std::mem::replace(&mut self.slots[queue], fresh);
                if *keep_wrapper {
                    drop(old.queue);
                    if old.wrapper.is_in_fusion_mode() != old.list.is_some() && self.strict {
                        return Err("a wrapper does not keep its queue".to_owned());
                    }
                    drop(old.wrapper);
                } else {
                    drop((old.wrapper, old.queue));
                }
                self.slots[queue].list = old.list;
                self.orphan_failed |= old.failed;
                // The wrapper that began the list ends it, unless the queue goes first.
                let cause = if *keep_wrapper { CancelCause::QueueDropped } else { CancelCause::ScopeLeft };
                self.cancel(queue, cause);
                self.slots[queue].completed = None;
            }
            Op::ForgetCode => self.rig.context.clear_memory_cache(),
            Op::Graph if !self.slots[0].queue.dependency_dot().starts_with("digraph") => {
                return Err("the graph is not one".to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    /// An event was waited for.
    fn waited(&mut self, number: usize, result: Result<bool, Error>, for_ever: bool) -> Checked {
        if self.events[number].state == State::Listed {
            self.cancel(self.events[number].queue, CancelCause::EventWait);
        }
        let noted = &self.events[number];
        match result {
            Err(_) if noted.state == State::Failing || noted.state == State::Unknown => Ok(()),
            Ok(_) if noted.state == State::Failing && for_ever => Err(format!("event {number} did not fail")),
            Ok(false) if !for_ever => Ok(()),
            Ok(true) if noted.event.is_complete() => Ok(()),
            other => Err(format!("waiting for event {number} gave {other:?}")),
        }
    }

    /// Waits for everything and compares every buffer.
    pub fn finish(&mut self) -> Checked {
        for queue in 0..self.slots.len() {
            let failed = self.slots[queue].queue.wait().err();
            let expected = std::mem::take(&mut self.slots[queue].failed) || self.shared_queues;
            if let Some(error) = failed.filter(|_| !expected) {
                return Err(format!("a wait for the queue gave {error}"));
            }
            self.cancel(queue, CancelCause::QueueWait);
        }
        for group in self.groups.clone() {
            for memory in lock(&group).iter() {
                let got = memory.real.download();
                if let Some(got) = unless_lost(got, memory.is_lost(&(0..LEN)))? {
                    memory.compare(0, &got, "in the end")?;
                }
            }
        }
        for number in 0..self.events.len() {
            let result = self.events[number].event.clone().wait().map(|()| true);
            self.waited(number, result, true)?;
        }
        self.check()
    }
}

fn op_part(op: &Op) -> Part {
    match op {
        Op::Upload { to, .. } => to.1,
        _ => Part::Whole,
    }
}
