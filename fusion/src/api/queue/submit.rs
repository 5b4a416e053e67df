//! Submitting kernels: checked, then listed or run.

use std::{slice, sync::Arc};

use super::Queue;
use crate::{
    api::handler::{Handler, SubmitResult},
    error::Error,
    jit::PushFlow,
    replay::{graph::Ran, launch::Launch},
    report::outcome::CancelCause,
    runtime::{
        check::{check, readable},
        commit::Piece,
        end::Keep,
        event::{Done, Event, EventInner, Settled},
        schedule::{Mode, Tasks},
        warnings,
    },
    submission::{
        dependencies::Touch,
        entry::{After, Entry},
        ready::Readies,
        signature::Given,
    },
};

impl Queue {
    /// Submits one dispatch of a kernel. The closure describes it through a [`Handler`]: kernel, arguments, size.
    ///
    /// In fusion mode the dispatch is added to the list; otherwise it is given to the device before this returns. The returned event stands
    /// for its completion. If the closure fails or panics, or if arguments do not fit the kernel, nothing is submitted.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), vkfuse::Error> {
    /// # let context = vkfuse::Context::new()?;
    /// # let queue = context.queue(vkfuse::QueueOptions::new())?;
    /// # let (scale, data) = (context.load_spirv("scale.spv")?, context.buffer::<f32>(1000)?);
    /// let event = queue.submit(|h| {
    ///     h.arg(0, data.read_write()).push(&1000u32).dispatch_items(&scale, [1000, 1, 1]);
    /// })?;
    /// event.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the closure fails, if arguments do not fit the kernel ([`Error::Submit`]), if code cannot be built, or if the device fails.
    pub fn submit<'a, R: SubmitResult>(
        &self,
        describe: impl FnOnce(&mut Handler<'a>) -> R,
    ) -> Result<Event, Error> {
        let submitted = self.try_submit(describe);
        if let Err(error) = &submitted {
            self.reject(error);
        }
        submitted
    }

    /// Notes that a submission failed, for the report of the list that it would have been in.
    #[cold]
    fn reject(&self, error: &Error) {
        if let Mode::Recording(list) = &mut self.inner.state().mode {
            list.rejected.get_or_insert_with(|| Box::new((0, error.to_string()))).0 += 1;
        }
    }

    fn try_submit<'a, R: SubmitResult>(
        &self,
        describe: impl FnOnce(&mut Handler<'a>) -> R,
    ) -> Result<Event, Error> {
        self.inner.context.gpu.wait_for_room(self.inner.lane);
        let mut handler = Handler::new();
        describe(&mut handler).into_result()?;
        for (_, accessor) in handler.request.args.iter().filter(|(_, accessor)| accessor.constant) {
            self.inner.context.learn(accessor)?;
        }
        let origin = &self.inner.origin;
        if handler.is_plain()
            && let Some(event) =
                origin.follow_alone(&self.inner.context.contents, &mut handler.request, &handler.after)
        {
            return Ok(event);
        }
        if let Some(event) = self.again(&mut handler) {
            return Ok(event);
        }
        let context = &self.inner.context;
        handler.finish(context)?;
        let request = &handler.request;
        // Before anything is checked: a property that changes meanwhile makes it another request.
        let given = Given::of(request);
        self.place(check(context, request, given)?, &handler.after)
    }

    /// Lists or runs what was listed or run before in the same way, where the queue's own list does not know that. `None` where that is not known or not possible now.
    fn again(&self, handler: &mut Handler<'_>) -> Option<Event> {
        if !handler.is_plain() {
            return None;
        }
        let (context, origin) = (&self.inner.context, &self.inner.origin);
        let Handler { request, after, .. } = handler;
        let mut schedule = context.lock();
        let schedule = &mut *schedule;
        let state = &mut *origin.state();
        if let Mode::Recording(list) = &mut state.mode
            && let Some(event) = origin.follow(list, Some(schedule), &context.contents, request, after)
        {
            return Some(event);
        }
        let (cached, buffers, pushes) = schedule.known_submission((origin, state), request, after)?;
        let (exec, pushes) = (cached.exec(&buffers), pushes.as_ref());
        let launch = Launch { graph: &cached.graph, buffers: &buffers, pushes, exec: exec.as_ref() };
        let (submitted, summary) = context.launch(schedule, origin, &launch, false)?;
        let settled = Settled::of_launch(Done::Gpu(submitted), summary);
        Some(Event::of_all(EventInner::at_once(origin, settled)))
    }

    /// Lists or runs a submission, after everything that has to come before it.
    ///
    /// Host tasks that it was asked to come after are waited for here, also in fusion mode: a list that waited for them
    /// would keep others waiting too, the task itself among them.
    fn place(&self, mut entry: Entry, after: &[Event]) -> Result<Event, Error> {
        let context = &self.inner.context;
        let mut made: Option<(Piece, Arc<PushFlow>)> = None;
        loop {
            // Ends lists of other queues that this depends on by event, then those it depends on by buffer.
            for event in after.iter().filter(|event| event.inner.origin.id != self.inner.id) {
                // A list that this thread builds itself is found below.
                let _ = context.cancel_list_of(&event.inner, CancelCause::OtherQueue);
            }
            let mut schedule = context.observe(
                &entry.touches,
                entry.buffers.iter(),
                Some(self.inner.id),
                Touch::conflicts,
                CancelCause::OtherQueue,
            )?;
            let settled = settled(after)?;
            if settled.tasks.iter().any(|task| task.poll().is_none()) {
                // Everything is looked at again afterwards.
                drop(schedule);
                wait_for_tasks(&settled.tasks)?;
                continue;
            }
            wait_for_tasks(&settled.tasks)?;
            let (deps, mut state) = (&schedule.deps, self.inner.state());
            match &mut state.mode {
                Mode::Ending(_, thread) => {
                    let thread = *thread;
                    drop(state);
                    context.wait_for_list(&mut schedule, thread)?;
                    continue;
                }
                Mode::Recording(list) => {
                    list.materialize(deps);
                    entry.learn(deps);
                    readable(&entry, Some(list))?;
                    entry.after = settled.after;
                    let place = list.entries.len();
                    list.entries.push(entry);
                    return Ok(Event::of_some(list.completion.clone(), place..place + 1));
                }
                Mode::Direct => drop(state),
            }
            readable(&entry, None)?;
            entry.after = settled.after;
            let profile = self.inner.profiling;
            if !entry.runs() {
                let waits = &entry.after.points;
                let submitted = context.commit(&mut schedule, &self.inner, Readies::new(), waits, profile)?;
                return Ok(EventInner::done(&self.inner.origin, Done::Gpu(submitted)));
            }
            let Some((piece, flow)) = made.take() else {
                // May take long, so it is not done under the lock; then everything is looked at again.
                drop(schedule);
                let (piece, _) = context.plain_piece(&entry, context.float)?;
                if warnings::listens() {
                    context.tell_alone(&entry);
                }
                let flow = Arc::new(PushFlow::of_one(&entry.submission, &piece.step));
                made = Some((piece, flow));
                continue;
            };
            let (entries, waits) = (slice::from_ref(&entry), &entry.after.points);
            let readies = context.ready(&mut schedule, vec![piece], entries)?;
            if waits.is_empty() && context.programs.keeps() {
                let effects = &*entry.effects(context);
                let ran = Ran { entries, effects, readies: &readies, report: None, flow: Some(&flow) };
                Keep::Cached(None).keep(context, &mut schedule, ran);
            }
            let submitted = context.commit(&mut schedule, &self.inner, readies, waits, profile)?;
            entry.note_written(context);
            return Ok(EventInner::done(&self.inner.origin, Done::Gpu(submitted)));
        }
    }
}

/// What the events that something depends on come down to.
#[derive(Default)]
struct Depends {
    after: After,
    tasks: Tasks,
}

/// Events still listed can only be of the list that this joins.
fn settled(after: &[Event]) -> Result<Depends, Error> {
    let mut depends = Depends::default();
    for event in after {
        match event.result() {
            None => depends.after.listed.push(event.of.clone()),
            Some(Ok(Done::Nothing)) => {}
            Some(Ok(Done::Gpu(submitted))) => depends.after.points.push(submitted.point),
            Some(Ok(Done::Host(task))) => depends.tasks.push(task),
            Some(Err(error)) => return Err(error),
        }
    }
    Ok(depends)
}

fn wait_for_tasks(tasks: &Tasks) -> Result<(), Error> {
    for task in tasks {
        if let Some(Err(error)) = task.wait(None) {
            return Err(Error::Earlier(error));
        }
    }
    Ok(())
}
