//! From a list to dispatches: planned and fused, or one for each submission.

use std::{sync::Arc, time::Instant};

use ahash::AHashSet;
use smallvec::SmallVec;

use super::verify::First;
use crate::{
    code::{
        autotune::{Choice, Code, Turn},
        memo::{Numbered, Planned},
        programs::micros,
    },
    error::{BuildError, Error, FusionError},
    jit::{
        self, Arg, BufferId, FloatMode, FuseOptions, Internalization, Plan, PushFlow, Reason, Report, Step,
        Submission, Way,
    },
    options::fusion::FusionProperties,
    report::{
        list::{self, FusionReport, StepReport},
        notes::Noted,
        outcome::Outcome,
    },
    runtime::{
        commit::{Piece, label, touched},
        context::ContextInner,
        end::{End, Keep, error_source},
        schedule::List,
        warnings,
    },
    submission::{
        buffer::BufferInner,
        device::Device,
        entry::{Effect, Entry},
    },
    vk::Point,
};

/// A list ready to be submitted.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) report: FusionReport,
    /// The error to return although the list runs.
    pub(crate) forced: Option<Error>,
    /// It runs as planned in this way, with its buffers by number: the same list would run the same way again.
    pub(crate) planned: Option<Arc<PushFlow>>,
    /// As planned with numbers in buffers: only where those are the same.
    pub(crate) by_numbers: bool,
    /// Its time on the device is wanted.
    pub(crate) turn: Option<Turn>,
    /// Its fused code is to be compared with the unfused on the device, which no run did before.
    pub(crate) verify: Option<First>,
}

impl ContextInner {
    /// Finds or builds the code for a list.
    pub(crate) fn prepare(&self, list: &List, end: &End, keep: &Keep<'_>) -> Result<Prepared, Error> {
        let Some(properties) = end.properties().filter(|_| !list.entries.is_empty()) else {
            let outcome = match end {
                End::Cancel(by, _) => Outcome::Cancelled { by: *by },
                _ => Outcome::Refused { reason: Reason::Empty },
            };
            // An empty list has no kernel to become, whatever was forced.
            return Ok(Prepared { forced: None, ..self.prepare_unfused(list, end, outcome)? });
        };
        let start = Instant::now();
        let (mut submissions, in_memory, believed) = list.submissions(properties.policy);
        let by_numbers = self.with_numbers(list, &mut submissions, &properties.options())?;
        let (mut planned, mut numbers) = self.plan(list, &submissions, &properties.options())?;
        let choice = self.choice(list, &submissions, (properties, keep), &planned.plan);
        let way = choice.as_ref().map_or(Way::Usual, |choice| choice.way);
        let options = way.options(&properties.options());
        if way != Way::Usual {
            (planned, numbers) = self.plan(list, &submissions, &options)?;
        }
        let (plan, mut report) = (&planned.plan, numbers.report(&planned.plan.report));
        let is_inside = |buffer: BufferId| {
            report.buffers.iter().any(|b| b.buffer == buffer && b.got != Internalization::None)
        };
        let believed = believed.into_iter().filter(|one| one.buffer.is_some_and(is_inside));
        report.trusted.extend(believed.collect::<Vec<_>>());
        report.buffers.extend(in_memory);
        if let Some(recorder) = &self.programs.recorder {
            recorder.record(&submissions, &properties.options());
        }
        let outcome = Outcome::of(plan);
        let is_new = warnings::listens() && self.warnings.is_new_list(&list.entries);
        let checks = if self.validate {
            self.judged.validate(&submissions, &options, (plan, &self.limits), &self.counters)
        } else {
            Vec::new()
        };
        let unfused = if let Some(reason) = self.judged.dropped(&plan.steps) {
            tracing::error!(list = %list.label(), %reason, "fused code is not used");
            Some(Outcome::Refused { reason })
        } else if properties.force && plan.steps.len() != 1 {
            Some(Outcome::Refused { reason: Outcome::refusal(plan) })
        } else if properties.background && self.programs.building(&labels(list), &plan.steps) {
            Some(Outcome::Building)
        } else {
            None
        };
        if let Some(outcome) = unfused {
            let mut prepared = self.prepare_unfused(list, end, outcome)?;
            (prepared.report.plan, prepared.report.checks) = (report, checks);
            if let Some(Error::Fusion(FusionError::Forced { place, reason })) = &mut prepared.forced
                && *reason == Outcome::refusal(plan)
            {
                *place = prepared.report.first_split();
            }
            if is_new {
                self.tell_notes(&prepared.report);
            }
            return Ok(prepared);
        }
        let plan_us = micros(start);
        let mut prepared = self.pieces(list, &plan.steps, outcome, report, plan_us)?;
        for bound in prepared.pieces.iter_mut().flat_map(|piece| &mut piece.step.bindings) {
            bound.buffer = numbers.buffer(bound.buffer);
        }
        // What is still measured is not known: the next run may be another. Nor is what is watched, where it would be known for ever.
        let is_pinned = matches!(keep, Keep::Pinned(..));
        let stays = |choice: &Choice| choice.report.is_decided && !(is_pinned && choice.way == Way::Forced);
        prepared.planned = choice.as_ref().is_none_or(stays).then(|| planned.flow.clone());
        prepared.turn = choice.as_ref().and_then(|choice| choice.turn);
        prepared.report.choice = choice.map(|choice| choice.report);
        prepared.by_numbers = by_numbers;
        prepared.report.checks = checks;
        if is_new {
            self.tell_notes(&prepared.report);
        }
        if properties.verify {
            let keys = self.judged.unverified(&plan.steps);
            if !keys.is_empty() {
                let plain = Box::new(self.prepare_unfused(list, end, Outcome::Unfused)?);
                prepared.verify = Some(First { keys, plain });
            }
        }
        Ok(prepared)
    }

    /// How a list runs whose fastest way the planner does not know; `None` for any other.
    fn choice(
        &self,
        list: &List,
        submissions: &[Submission],
        (properties, keep): (&FusionProperties, &Keep<'_>),
        usual: &Plan,
    ) -> Option<Choice> {
        if !self.autotune.is_on() || properties.no_autotune || !self.programs.keeps() {
            return None;
        }
        let options = properties.options();
        let mut others = jit::doubts(usual, submissions, &options, &self.limits);
        // What stays inside otherwise is not to be given memory for this.
        if !list.entries.iter().flat_map(|entry| &entry.buffers).all(|buffer| buffer.has_memory()) {
            others.retain(|way| !way.fuses_less());
        }
        if others.is_empty() {
            return None;
        }
        let may_measure = !matches!(keep, Keep::Recorded) && !properties.verify && !properties.background;
        let code = |way: Way| {
            let Ok((planned, _)) = self.plan(list, submissions, &way.options(&options)) else {
                return Code::Missing;
            };
            let steps = &planned.plan.steps;
            if self.programs.building(&labels(list), steps) {
                Code::Building
            } else if steps.iter().all(|step| self.programs.has(&step.key)) {
                Code::Ready
            } else {
                Code::Missing
            }
        };
        Some(self.autotune.choose(&self.programs, (usual, &options), &others, may_measure, code))
    }

    /// Whether a list is planned with the numbers that its buffers hold; they are taken out of the submissions where there is
    /// nothing more to gain from them. Then the plan holds whatever the buffers hold next time.
    fn with_numbers(
        &self,
        list: &List,
        submissions: &mut Vec<Submission>,
        options: &FuseOptions,
    ) -> Result<bool, Error> {
        if submissions.iter().flat_map(|one| &one.args).all(|arg| arg.numbers.is_none()) {
            return Ok(false);
        }
        let without = jit::without_numbers(submissions);
        let (planned, _) = self.plan(list, &without, options)?;
        let is_best = jit::is_one_kernel(&planned.plan);
        if is_best {
            *submissions = without;
        }
        Ok(!is_best)
    }

    /// The plan of a list, with its buffers numbered: made before, or now.
    fn plan(
        &self,
        list: &List,
        submissions: &[Submission],
        options: &FuseOptions,
    ) -> Result<(Arc<Planned>, Numbered), Error> {
        let memo = || self.memo.lock();
        if let (Some(planned), numbers) = memo().get(submissions.iter(), options) {
            return Ok((planned, numbers));
        }
        // Outside the lock: several threads may plan the same, and each gets the same plan.
        let plan = jit::plan(submissions, options, &self.limits)
            .map_err(|error| Error::Build { kernel: list.label(), source: BuildError::Plan(error) })?;
        let planned = memo().put(submissions.iter(), options, plan);
        Ok((planned, Numbered::of(submissions.iter())))
    }

    /// The same list after its fused code could not be built.
    pub(crate) fn prepare_refused(&self, list: &List, end: &End, error: &Error) -> Result<Prepared, Error> {
        let reason = match (error, error_source(error)) {
            (Error::Build { source: BuildError::Died { how }, .. }, _) => {
                Reason::CompilerDies { how: how.clone() }
            }
            (_, source) if source.is_empty() => Reason::Internal { what: error.to_string() },
            (_, source) => Reason::Internal { what: format!("{error}: {source}") },
        };
        self.prepare_unfused(list, end, Outcome::Refused { reason })
    }

    /// A list that is not fused.
    fn prepare_unfused(&self, list: &List, end: &End, outcome: Outcome) -> Result<Prepared, Error> {
        let mut steps = Vec::with_capacity(list.entries.len());
        for (position, entry) in list.entries.iter().enumerate().filter(|(_, entry)| entry.runs()) {
            let mut step = self.plain_step(entry, self.float_of(end))?;
            step.members = (position..position + 1).into();
            steps.push(step);
        }
        let forced = end.forced(&outcome);
        let mut prepared = self.pieces(list, &steps, outcome, Report::default(), 0.0)?;
        prepared.report.cancelled = end.cancelled(list);
        Ok(Prepared { forced, ..prepared })
    }

    /// How floats are compiled in the kernels of a list that run alone.
    pub(crate) fn float_of(&self, end: &End) -> FloatMode {
        end.properties().map_or(self.float, |properties| properties.float)
    }

    /// One submission by itself.
    pub(crate) fn plain_step(&self, entry: &Entry, float: FloatMode) -> Result<Step, Error> {
        jit::plan_unfused(&entry.submission, float, &self.limits).map_err(|error| Error::Build {
            kernel: entry.label.to_string(),
            source: BuildError::Plan(error),
        })
    }

    /// The dispatch of one submission by itself, and what is reported of it.
    pub(crate) fn plain_piece(&self, entry: &Entry, float: FloatMode) -> Result<(Piece, StepReport), Error> {
        let step = self.plain_step(entry, float)?;
        let (program, report) = self.programs.program(&entry.label, &step)?;
        Ok((Piece { step, program }, report))
    }

    fn pieces(
        &self,
        list: &List,
        steps: &[Step],
        outcome: Outcome,
        plan: Report,
        plan_us: f64,
    ) -> Result<Prepared, Error> {
        let mut pieces = Vec::with_capacity(steps.len());
        let mut reports = Vec::with_capacity(steps.len());
        for (step, (program, mut report)) in
            steps.iter().zip(self.programs.programs_of(&labels(list), steps)?)
        {
            report.members = step.members.clone();
            reports.push(report);
            pieces.push(Piece { step: step.clone(), program });
        }
        let report = list.report(outcome, plan, reports, plan_us);
        let (forced, planned, turn, verify) = Default::default();
        Ok(Prepared { pieces, report, forced, planned, by_numbers: false, turn, verify })
    }
}

/// The memories of a list, as reports name them, with the names of their buffers.
pub(crate) fn names(entries: &[Entry]) -> Vec<(BufferId, Arc<str>)> {
    let mut seen = AHashSet::new();
    let buffers = entries.iter().flat_map(|entry| &entry.buffers).filter(|buffer| seen.insert(buffer.handle));
    list::names(buffers.map(|buffer| (buffer.shared.id.planned(), buffer.name())))
}

/// What there may be notes on. Nothing has run of it yet, or what has is taken for contents.
pub(crate) fn noted(entries: &[Entry]) -> Noted {
    let buffers = || entries.iter().flat_map(|entry| &entry.buffers);
    let is_blank =
        |buffer: &&Arc<BufferInner>| !buffer.has_memory() && buffer.unreadable(buffer.whole()).is_none();
    let blank = buffers().filter(is_blank).map(|buffer| buffer.shared.id.planned()).collect();
    let limits = buffers().next().map(|buffer| buffer.device.limits).unwrap_or_default();
    Noted::of(entries.iter().map(|entry| entry.submission.clone()).collect(), blank, limits)
}

/// The names of the kernels of steps.
fn labels(list: &List) -> impl Fn(&Step) -> Arc<str> + Sync {
    |step| label(&list.entries, step)
}

impl List {
    /// The kernels' names, for messages.
    pub(crate) fn label(&self) -> String {
        self.entries.iter().map(|entry| &*entry.label).collect::<Vec<_>>().join(" + ")
    }

    /// What it comes after besides, on the device.
    pub(crate) fn waits(&self) -> SmallVec<[Point; 2]> {
        self.entries.iter().flat_map(|entry| entry.after.points.iter().copied()).collect()
    }

    /// What became of it.
    pub(crate) fn report(
        &self,
        outcome: Outcome,
        plan: Report,
        steps: Vec<StepReport>,
        plan_us: f64,
    ) -> FusionReport {
        let kernels = self.entries.iter().map(Entry::report).collect();
        let mut report = FusionReport::new(outcome, plan, (kernels, names(&self.entries)), steps, plan_us);
        report.noted = noted(&self.entries);
        report.rejected = self.rejected.as_deref().map(|(count, first)| match count {
            1 => format!("1 submission failed and is not in the list: {first}"),
            _ => format!("{count} submissions failed and are not in the list; the first: {first}"),
        });
        report
    }

    /// What the writes of the list do to contents, in order: the kernel that runs one may keep the bytes to itself instead of writing
    /// them to memory; one that is not certain does nothing. Of what was renamed nothing has to reach memory: others write over it. A buffer that
    /// stays in memory may be bound by no piece either, where specialization leaves no store to it: nothing of it is kept.
    pub(crate) fn effects(&self, device: &Device, pieces: &[Piece], plan: &Report) -> Vec<Effect> {
        let overwritten: AHashSet<(usize, usize)> =
            plan.renamed.iter().flat_map(|one| &one.arguments).copied().collect();
        let promoted: AHashSet<BufferId> = plan
            .buffers
            .iter()
            .filter(|one| one.got != Internalization::None)
            .map(|one| one.buffer)
            .collect();
        let mut effects = Vec::new();
        for (number, entry) in self.entries.iter().enumerate() {
            for (position, touch) in entry.touches.iter().enumerate().filter(|(_, touch)| touch.writes) {
                let is_promoted = |arg: &Arg| promoted.contains(&arg.buffer);
                let reaches_memory = || {
                    let mut pieces = pieces.iter().filter(|piece| piece.step.members.contains(&number));
                    pieces.any(|piece| {
                        let mut writes = piece.step.bindings.iter().filter(|bound| bound.writes);
                        writes.any(|bound| touched(bound).overlaps(touch))
                    })
                };
                // What a kernel writes by address always reaches memory.
                let inside = entry.submission.args.get(position).is_some_and(is_promoted)
                    && !overwritten.contains(&(number, position))
                    && !reaches_memory();
                effects.extend(entry.effect(device, position, inside));
            }
        }
        effects
    }
}
