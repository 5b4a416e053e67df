//! Lists that do not run: their code is built ahead of time, or looked up.

use std::{sync::Arc, time::Instant};

use super::{FusedList, FusionWrapper};
use crate::{
    api::context::Context,
    code::{
        ahead::{Explanation, Labelled, alone, plan_only},
        programs::micros,
    },
    error::{BuildError, Error, FusionError},
    jit::{self, BufferId},
    options::fusion::FusionProperties,
    report::{
        list::{FusionReport, StepReport, SubmissionReport},
        notes::Noted,
        outcome::Outcome,
    },
    runtime::{context::ContextInner, end::End, prepare::names},
    submission::entry::Entry,
};

/// A list that was planned and built, and not run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PlannedList {
    /// What would become of the list.
    pub report: FusionReport,
    /// The submissions that have work-groups, each by itself.
    pub alone: Vec<StepReport>,
}

/// The code of a dispatch.
type Words = Arc<[u32]>;

impl PlannedList {
    /// Plans a list and makes its code; also returns its dispatches.
    fn made(
        submissions: &[jit::Submission],
        options: &jit::FuseOptions,
        limits: &jit::Limits,
        named: (Vec<SubmissionReport>, Vec<(BufferId, Arc<str>)>),
        make: impl Fn(&[Labelled]) -> Result<Vec<StepReport>, Error>,
    ) -> Result<(PlannedList, Vec<Labelled>), Error> {
        let start = Instant::now();
        let (plan, steps) = plan_only(submissions, options, limits)?;
        let plan_us = micros(start);
        let alone = make(&alone(submissions, options.float, limits)?)?;
        let report = FusionReport::new(Outcome::of(&plan), plan.report, named, make(&steps)?, plan_us);
        Ok((PlannedList { report, alone }, steps))
    }

    /// As [`FusedList::plan`], of submissions that were put together by hand.
    ///
    /// # Errors
    ///
    /// A submission that cannot run on this device; code that cannot be built.
    #[doc(hidden)]
    pub fn on(
        context: &Context,
        submissions: &[jit::Submission],
        options: &jit::FuseOptions,
    ) -> Result<PlannedList, Error> {
        let Context { inner: context } = context;
        let named = (submissions.iter().map(SubmissionReport::of_kernel).collect(), Vec::new());
        let warm = |steps: &[Labelled]| context.programs.warm(steps);
        Ok(PlannedList::made(submissions, options, &context.limits, named, warm)?.0)
    }

    /// As [`FusedList::plan`], for a device that is elsewhere: with the code of each dispatch, and nothing that a driver says of it.
    ///
    /// # Errors
    ///
    /// A submission that cannot run on such a device; code that cannot be made.
    #[doc(hidden)]
    pub fn elsewhere(
        submissions: &[jit::Submission],
        options: &jit::FuseOptions,
        limits: &jit::Limits,
        names: Vec<(BufferId, Arc<str>)>,
    ) -> Result<(PlannedList, Vec<Words>), Error> {
        let unmade =
            |steps: &[Labelled]| Ok(steps.iter().map(|(_, step)| StepReport::unmade(step)).collect());
        let named = (submissions.iter().map(SubmissionReport::of_kernel).collect(), names);
        let (list, steps) = PlannedList::made(submissions, options, limits, named, unmade)?;
        let code = steps.iter().map(|(label, step)| {
            let failed = |error| Error::Build { kernel: label.to_string(), source: BuildError::Jit(error) };
            step.build().map_err(failed)
        });
        Ok((list, code.collect::<Result<_, Error>>()?))
    }
}

impl FusionWrapper {
    /// Leaves fusion mode and keeps the list; nothing of it runs. The events of its submissions say so.
    ///
    /// # Errors
    ///
    /// [`FusionError::NotFusing`].
    pub fn keep_unrun(&self, properties: &FusionProperties) -> Result<FusedList, Error> {
        match self.end(&End::Unrun)? {
            Some((_, Some(list))) => Ok(FusedList::new(self.queue(), properties.clone(), &list.entries)),
            _ => Err(FusionError::NotFusing.into()),
        }
    }
}

impl FusedList {
    /// Builds what [`run`](FusedList::run) would build, and runs nothing. Says where it came from, for each dispatch.
    ///
    /// # Errors
    ///
    /// A submission that cannot run on this device; code that cannot be built.
    pub fn warm(&self) -> Result<Vec<StepReport>, Error> {
        let (context, _, steps) = self.planned()?;
        context.programs.warm(&steps)
    }

    /// Says where the code of each dispatch would come from, and why. Changes nothing.
    ///
    /// # Errors
    ///
    /// A submission that cannot run on this device.
    pub fn explain(&self) -> Result<Vec<Explanation>, Error> {
        let (context, _, steps) = self.planned()?;
        Ok(context.programs.explain(&steps))
    }

    /// Plans the list, builds what it would run and what its submissions would run by themselves, and runs nothing. Says what is planned,
    /// and what the driver says of both: its registers, spills and the like, where the context [takes
    /// profiles](crate::ContextOptions::profiling) or [compiles only](crate::ContextOptions::compile_only).
    ///
    /// # Errors
    ///
    /// A submission that cannot run on this device; code that cannot be built.
    pub fn plan(&self) -> Result<PlannedList, Error> {
        let (context, entries) = self.entries();
        let options = self.inner.family.properties.options();
        let named = (entries.iter().map(Entry::report).collect(), names(&entries));
        let submissions: Vec<_> = entries.into_iter().map(|entry| entry.submission).collect();
        let warm = |steps: &[Labelled]| context.programs.warm(steps);
        let mut list = PlannedList::made(&submissions, &options, &context.limits, named, warm)?.0;
        list.report.noted = Noted::of(submissions, Vec::new(), context.limits);
        Ok(list)
    }

    /// Plans the list, and builds and runs nothing: which submissions would be one dispatch, and why not more of them.
    ///
    /// # Errors
    ///
    /// A submission that cannot run on this device.
    pub fn preview(&self) -> Result<jit::Report, Error> {
        Ok(self.planned()?.1.report)
    }

    fn planned(&self) -> Result<(&Arc<ContextInner>, jit::Plan, Vec<Labelled>), Error> {
        let (context, entries) = self.entries();
        let submissions: Vec<_> = entries.into_iter().map(|entry| entry.submission).collect();
        let (plan, steps) =
            plan_only(&submissions, &self.inner.family.properties.options(), &context.limits)?;
        Ok((context, plan, steps))
    }

    fn entries(&self) -> (&Arc<ContextInner>, Vec<Entry>) {
        let kept = &*self.inner;
        let context = &kept.family.queue.inner.context;
        let mut entries = kept.entries();
        let schedule = context.lock();
        entries.iter_mut().for_each(|entry| entry.learn(&schedule.deps));
        (context, entries)
    }
}
