//! Lists that are kept and run again.

use vkfuse::{BufferId, CancelCause, Error, FusedList, FusionError, FusionProperties, Rebind};

use super::{
    calls::unless_lost,
    data::{LEN, Memory, Touch},
    kernels::{Call, Kind},
    world::{Checked, Listed, Rule, State, World},
};

/// A kept list, and what its submissions were.
pub struct Kept {
    list: FusedList,
    calls: Vec<Call>,
    /// The memory of their arguments: a buffer's place can be taken by another one.
    ids: Vec<BufferId>,
    /// The queue it was recorded on, which it keeps alive.
    pub queue: usize,
}

fn touches(calls: &[Call], memory: &[Memory]) -> Vec<Touch> {
    calls.iter().flat_map(|call| call.touches(memory)).collect()
}

impl World<'_> {
    /// Completes the list of a queue and keeps it.
    pub fn keep(&mut self, memory: &[Memory], queue: usize) -> Checked {
        let listing = self.slots[queue].list.is_some();
        match self.slots[queue].wrapper.complete_and_keep(&FusionProperties::new()) {
            Ok((event, list)) => {
                let listed = || self.slots[queue].list.iter().flatten();
                let calls: Vec<Call> = listed().map(|listed| listed.call.clone()).collect();
                let ids: Vec<BufferId> =
                    listed().flat_map(|listed| listed.touches.iter().map(|touch| touch.id)).collect();
                if self.strict && (!listing || list.len() != calls.len()) {
                    return Err(format!("a list of {} was kept with {}", calls.len(), list.len()));
                }
                self.completed(memory, queue, &event, (false, false))?;
                let outcome = event.outcome();
                self.note(event, queue, State::Ended(outcome));
                if self.strict {
                    self.kept.push(Kept { list, calls, ids, queue });
                }
                Ok(())
            }
            Err(Error::Fusion(FusionError::NotKept { outcome }))
                if !self.strict || self.slots[queue].completed.as_ref() == Some(&outcome) =>
            {
                Ok(())
            }
            Err(Error::Fusion(FusionError::NotFusing))
                if !self.strict || self.slots[queue].completed.is_none() && !listing =>
            {
                Ok(())
            }
            Err(error) => Err(format!("keeping a list failed: {error}")),
        }
    }

    /// Runs a kept list; in fusion mode it joins the list of the queue.
    pub fn again(
        &mut self,
        memory: &[Memory],
        pick: usize,
        queue: usize,
        changed: Option<(usize, usize)>,
    ) -> Checked {
        let Some(number) = pick.checked_rem(self.kept.len()).filter(|_| self.strict) else { return Ok(()) };
        let Kept { list, calls, ids, queue: own } = &self.kept[number];
        let (first, own, mut calls) = (list.clone(), *own, calls.clone());
        let mut list = first.clone();
        let same = |touches: &[Touch]| touches.iter().map(|touch| touch.id).eq(ids.iter().copied());
        if calls.is_empty() || !same(&touches(&calls, memory)) {
            return Ok(());
        }
        if let Some(pair) = changed {
            let Some(other) = change(&list, &mut calls, memory, pair)? else { return Ok(()) };
            list = other;
        }
        if calls.iter().any(|call| call.is_racy(memory)) {
            return Ok(());
        }
        let result = match changed {
            // Every second one without a list of its own.
            Some(pair) if own == queue && (pair.0 + pair.1 + pick).is_multiple_of(2) => {
                with(&first, &calls, memory, pair).run()
            }
            _ => list.run_on(&self.slots[queue].queue),
        };
        let touches = touches(&calls, memory);
        self.observe(&touches, Some(queue), Rule::Conflict, CancelCause::OtherQueue);
        let lost = touches.iter().any(|touch| touch.reads && memory[touch.buffer].is_lost(&touch.range));
        let Some(event) = unless_lost(result, lost)? else { return Ok(()) };
        calls.iter().for_each(|call| call.apply(memory));
        let number = self.note(event.clone(), queue, State::Listed);
        let elements = calls.into_iter().map(|call| {
            let touches = call.touches(memory);
            Listed { event: number, touches, call }
        });
        let elements: Vec<Listed> = elements.collect();
        match &mut self.slots[queue].list {
            Some(list) => list.extend(elements),
            slot => {
                // A list of its own, which is no list of the queue's.
                *slot = Some(elements);
                let before = self.slots[queue].completed.take();
                self.completed(memory, queue, &event, (false, false))?;
                self.slots[queue].completed = before;
            }
        }
        Ok(())
    }
}

/// Whether a buffer shares bytes with the others of a list exactly where another does.
fn shares_alike(calls: &[Call], memory: &[Memory], old: usize, new: usize) -> bool {
    let whole = |buffer: usize| memory[buffer].touch(buffer, 0..LEN, true, true);
    (0..memory.len()).filter(|other| *other != old && calls.iter().any(|call| call.uses(*other))).all(
        |other| {
            let distance = |buffer: usize| {
                let (a, b) = (whole(buffer), whole(other));
                a.overlaps(&b).then(|| a.bytes.start as i64 - b.bytes.start as i64)
            };
            distance(old) == distance(new)
        },
    )
}

/// The list with another buffer or another scalar, which is that of its first call by now.
fn with<'a>(
    list: &'a FusedList,
    calls: &[Call],
    memory: &'a [Memory],
    (old, new): (usize, usize),
) -> Rebind<'a> {
    let (old, new) = (old % memory.len(), new % memory.len());
    match &calls[0] {
        call if old == new => list.rebind().push(0, &[call.count() as u32, call.factor]),
        _ => list.rebind().buffer(&memory[old].real, &memory[new].real),
    }
}

/// The list on another buffer or with another scalar; nothing where that has to be refused.
fn change(
    list: &FusedList,
    calls: &mut [Call],
    memory: &[Memory],
    (old, new): (usize, usize),
) -> Result<Option<FusedList>, String> {
    let (old, new) = (old % memory.len(), new % memory.len());
    if old == new {
        let Some(call) = calls.first_mut().filter(|call| matches!(call.kind, Kind::Scale | Kind::InPlace))
        else {
            return Ok(None);
        };
        call.factor += 1;
        let changed = with(list, calls, memory, (old, new)).finish();
        return changed.map(Some).map_err(|error| format!("another scalar: {error}"));
    }
    let has = |buffer: usize| calls.iter().any(|call| call.uses(buffer));
    let fits = has(old)
        && !has(new)
        && calls.iter().flat_map(|call| call.asked_of(old)).all(|asked| asked == memory[new].property)
        && shares_alike(calls, memory, old, new)
        && !calls.iter().any(|call| call.kind == Kind::Address);
    match with(list, calls, memory, (old, new)).finish() {
        Ok(changed) if fits => {
            calls.iter_mut().for_each(|call| call.replace(old, new));
            Ok(Some(changed))
        }
        Err(Error::Fusion(FusionError::Rebind { .. })) if !fits => Ok(None),
        // With addresses in its push constants a list may be refused or not; it is not run.
        Ok(_) if calls.iter().any(|call| call.kind == Kind::Address) => Ok(None),
        other => Err(format!("buffer {old} replaced by {new}: {other:?}")),
    }
}
