//! Lists of which nothing runs: their code is built ahead of time, or looked for.

use std::{mem, sync::Arc};

use super::{FusedList, FusionWrapper};
use crate::{
    code::ahead::{Explanation, Labelled, plan_only},
    error::{Error, FusionError},
    options::fusion::FusionProperties,
    report::{list::StepReport, outcome::Outcome},
    runtime::{context::ContextInner, event::Settled, schedule::Mode},
};

impl FusionWrapper {
    /// Leaves fusion mode and keeps the list; nothing of it runs. The events of its submissions say so.
    ///
    /// # Errors
    ///
    /// [`FusionError::NotFusing`].
    pub fn keep_unrun(&self, properties: &FusionProperties) -> Result<FusedList, Error> {
        let queue = self.queue();
        self.ended();
        let context = &queue.inner.context;
        let mut schedule = context.lock();
        let list = loop {
            let mut state = queue.inner.state();
            match mem::replace(&mut state.mode, Mode::Direct) {
                Mode::Direct => return Err(FusionError::NotFusing.into()),
                Mode::Recording(mut list) => {
                    list.unfold(&schedule.graph);
                    state.completion = Some(list.completion.clone());
                    break list;
                }
                Mode::Ending(list, thread) => {
                    state.mode = Mode::Ending(list, thread);
                    drop(state);
                    schedule = context.wait_for_list(schedule, thread)?;
                }
            }
        };
        drop(schedule);
        let result = Err(Arc::new(Error::from(FusionError::NotRun)));
        list.completion.settle(Settled::new(result, Outcome::Failed, None));
        context.changed.notify_all();
        Ok(FusedList::new(queue, properties.clone(), &list.entries))
    }
}

impl FusedList {
    /// Builds what [`run`](FusedList::run) would build, and runs nothing. Says where it came from, for each dispatch.
    ///
    /// # Errors
    ///
    /// A submission that cannot run on this device; code that cannot be built.
    pub fn warm(&self) -> Result<Vec<StepReport>, Error> {
        let (context, steps) = self.steps()?;
        context.programs.warm(&steps)
    }

    /// Says where the code of each dispatch would come from, and why. Changes nothing.
    ///
    /// # Errors
    ///
    /// A submission that cannot run on this device.
    pub fn explain(&self) -> Result<Vec<Explanation>, Error> {
        let (context, steps) = self.steps()?;
        Ok(context.programs.explain(&steps))
    }

    fn steps(&self) -> Result<(&Arc<ContextInner>, Vec<Labelled>), Error> {
        let kept = &*self.inner;
        let context = &kept.queue.inner.context;
        let mut entries = kept.entries();
        let schedule = context.lock();
        entries.iter_mut().for_each(|entry| entry.learn(&schedule.graph));
        drop(schedule);
        let submissions: Vec<_> = entries.into_iter().map(|entry| entry.submission).collect();
        Ok((context, plan_only(&submissions, &kept.properties.options(), &context.limits)?))
    }
}
