//! What happened to a fusion list, as data.
//!
//! One object for three readers: the user, through the event; the log; and tests.

use std::{sync::Arc, time::Duration};

use smallvec::SmallVec;

use crate::{
    jit::{BufferId, CodeChange, Members, Reason, Report, Submission, Way},
    report::{notes::Noted, outcome::Outcome},
};

/// Whether a cache had what was needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Tier {
    /// It had it.
    Hit,
    /// It had nothing, and a lower store had it: see `VKFUSE_CACHE_LOWER`.
    Lower,
    /// None of these had anything, and the remote store had it, made by a trusted signer: see `VKFUSE_CACHE_REMOTE`.
    Remote,
    /// It was asked and had nothing.
    Miss,
    /// It was not asked, because a faster one had it.
    #[default]
    NotAsked,
    /// It is switched off or does not work here.
    Off,
}

impl Tier {
    /// The word used in JSON reports: `hit`, `lower`, `remote`, `miss`, `off`, or `null` (nothing) where it was not asked.
    #[must_use]
    pub fn word(self) -> Option<&'static str> {
        match self {
            Tier::Hit => Some("hit"),
            Tier::Lower => Some("lower"),
            Tier::Remote => Some("remote"),
            Tier::Miss => Some("miss"),
            Tier::Off => Some("off"),
            Tier::NotAsked => None,
        }
    }

    /// Whether it was found, here or in a store behind this one.
    #[must_use]
    pub fn is_hit(self) -> bool {
        matches!(self, Tier::Hit | Tier::Lower | Tier::Remote)
    }

    /// The worse of two: a miss before a hit. What a list of several steps is summed up as.
    #[must_use]
    pub fn and(self, other: Tier) -> Tier {
        let rank = |tier| match tier {
            Tier::NotAsked => 0,
            Tier::Hit => 1,
            Tier::Lower => 2,
            Tier::Remote => 3,
            Tier::Off => 4,
            Tier::Miss => 5,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

/// One dispatch: where its code came from.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StepReport {
    /// Which submissions of the list it runs, counted from 0.
    pub members: Members,
    /// The trace key: equal for whatever runs the same code.
    pub key: [u8; 32],
    /// Whether the memory cache had the pipeline.
    pub memory: Tier,
    /// Whether the persistent store had the SPIR-V.
    pub disk: Tier,
    /// Whether the persistent store had the driver's own blob and the driver took it.
    pub driver_blob: Tier,
    /// Microseconds spent making SPIR-V; 0 on a hit.
    pub jit_us: f64,
    /// Microseconds the driver took to compile the pipeline; 0 where it did not have to.
    pub driver_us: f64,
    /// Microseconds the driver took to make the pipeline of its stored blob.
    pub load_us: f64,
    /// Bytes of the parts of buffers that are bound to be read. With those that are written, it is what the planner compares plans by.
    pub bytes_read: u64,
    /// Bytes of the parts of buffers that are bound to be written.
    pub bytes_written: u64,
    /// What the driver says of the code, such as its registers: where [`ContextOptions::profiling`](crate::ContextOptions::profiling) is on, and the
    /// driver has `VK_KHR_pipeline_executable_properties`.
    pub statistics: Vec<CodeStatistic>,
    /// How its code differs from the user's module, of a dispatch that runs one kernel. Empty where the user's instructions run as they
    /// are, and for fused code.
    pub changes: Vec<CodeChange>,
}

/// One number that the driver gives of the code of a dispatch.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CodeStatistic {
    /// The driver's name for it, such as `Register Count`.
    pub name: String,
    /// The number; 0 or 1 for what is true or not.
    pub value: f64,
}

/// One submission of a list: its kernel, and what it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubmissionReport {
    /// The name of the kernel's entry point.
    pub kernel: Arc<str>,
    /// What it was given, one for each binding.
    pub arguments: Vec<ArgumentReport>,
    /// What there is to say of it, a sentence each: values and arguments that were given, and that its kernel does not use.
    pub notes: Vec<String>,
}

/// A part of a buffer that a submission was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArgumentReport {
    /// The memory; [`FusionReport::buffer_name`] has its name.
    pub buffer: BufferId,
    /// First byte.
    pub offset: u64,
    /// Bytes; 0 for images, which have none that count.
    pub bytes: u64,
    /// Whether the kernel reads it.
    pub reads: bool,
    /// Whether the kernel writes it.
    pub writes: bool,
}

/// What compared the fused with the unfused list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CheckedBy {
    /// The interpreter, on small instances: [`ContextOptions::validate_code`](crate::ContextOptions::validate_code).
    Interpreter,
    /// The device, on the list itself: [`FusionProperties::verify_first_run`](crate::FusionProperties::verify_first_run).
    Device,
}

/// What comparing fused and unfused came to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckReport {
    /// What compared them.
    pub by: CheckedBy,
    /// The submissions it is about.
    pub members: Members,
    /// Whether they are the same; nothing where that could not be found out.
    pub agreed: Option<bool>,
    /// What differs, why it could not be found out, or on how much they agree.
    pub detail: String,
}

/// How a list in doubt ran: one where the planner does not know which way is the fastest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChoiceReport {
    /// How it ran.
    pub way: Way,
    /// Whether that is how it runs from now on; otherwise its runs are still measured.
    pub is_decided: bool,
    /// The ways that it may run; without times where an earlier program measured them.
    pub measured: Vec<WayReport>,
}

/// What was measured of one way to run a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WayReport {
    /// The way.
    pub way: Way,
    /// Runs that were timed.
    pub runs: u32,
    /// The median of their times on the device.
    pub gpu_time: Option<Duration>,
    /// Whether it was not worth more runs.
    pub is_given_up: bool,
}

/// What became of a fusion list.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FusionReport {
    /// What became of it.
    pub outcome: Outcome,
    /// Whether it is of the list before: [`complete_fusion`](crate::FusionWrapper::complete_fusion) was called without a `start_fusion`
    /// after that list.
    pub is_earlier: bool,
    /// How many submissions were listed.
    pub submissions: usize,
    /// The submissions, in order.
    pub kernels: Vec<SubmissionReport>,
    /// How it was grouped, split and promoted, and why. Empty where the list was cancelled.
    pub plan: Report,
    /// How many dispatches ran it.
    pub dispatches: usize,
    /// The dispatches, in order.
    pub steps: Vec<StepReport>,
    /// What comparing fused and unfused came to, where that was asked for.
    pub checks: Vec<CheckReport>,
    /// How it ran, and what was measured, where the planner does not know how it is fastest.
    pub choice: Option<ChoiceReport>,
    /// Microseconds spent planning: analysis of pairs, grouping, keys.
    pub plan_us: f64,
    /// Microseconds spent making SPIR-V, over all steps.
    pub jit_us: f64,
    /// Microseconds spent in the driver's compiler, over all steps.
    pub driver_us: f64,
    pub(crate) names: Vec<(BufferId, Arc<str>)>,
    pub(crate) noted: Noted,
    /// What cancelled it, in words.
    pub(crate) cancelled: Option<String>,
    /// What was submitted, failed and is not in it, in words.
    pub(crate) rejected: Option<String>,
}

impl SubmissionReport {
    /// A report that knows only the kernel of its submission.
    pub(crate) fn of_kernel(one: &Submission) -> SubmissionReport {
        SubmissionReport {
            kernel: Arc::from(one.kernel.name.as_str()),
            arguments: Vec::new(),
            notes: Vec::new(),
        }
    }
}

impl FusionReport {
    /// Of a list with these submissions and names.
    pub(crate) fn new(
        outcome: Outcome,
        plan: Report,
        (kernels, names): (Vec<SubmissionReport>, Vec<(BufferId, Arc<str>)>),
        steps: Vec<StepReport>,
        plan_us: f64,
    ) -> FusionReport {
        FusionReport {
            outcome,
            is_earlier: false,
            submissions: kernels.len(),
            kernels,
            plan,
            dispatches: steps.len(),
            jit_us: steps.iter().map(|step| step.jit_us).sum(),
            driver_us: steps.iter().map(|step| step.driver_us).sum(),
            steps,
            checks: Vec::new(),
            choice: None,
            plan_us,
            names,
            noted: Noted::default(),
            cancelled: None,
            rejected: None,
        }
    }

    /// The same, of a list that was completed again.
    pub(crate) fn of_earlier(&self) -> FusionReport {
        FusionReport { is_earlier: true, ..self.clone() }
    }

    /// That it is of the list before, in words.
    pub(crate) fn earlier(&self) -> Option<&'static str> {
        self.is_earlier.then_some(
            "this is the list before: `start_fusion` was not called after it, and what was submitted since ran as it was submitted",
        )
    }

    /// What an empty list may come from, in words.
    pub(crate) fn empty(&self) -> Option<&'static str> {
        let is_empty = self.submissions == 0 && self.outcome == Outcome::Refused { reason: Reason::Empty };
        is_empty.then_some(
            "nothing was submitted to this queue between `start_fusion` and `complete_fusion`: submit to the queue that the wrapper is of, or to a clone of its handle; what other queues were given ran by itself",
        )
    }

    /// The name of a buffer that the report speaks of.
    #[must_use]
    pub fn buffer_name(&self, id: BufferId) -> Option<&str> {
        self.names.iter().find(|(known, _)| *known == id).map(|(_, name)| &**name)
    }

    /// The memory cache over all steps: a miss if any step missed.
    #[must_use]
    pub fn memory(&self) -> Tier {
        self.steps.iter().fold(Tier::NotAsked, |tier, step| tier.and(step.memory))
    }

    /// The persistent store over all steps: a miss if any step missed.
    #[must_use]
    pub fn disk(&self) -> Tier {
        self.steps.iter().fold(Tier::NotAsked, |tier, step| tier.and(step.disk))
    }
}

/// The memories that a report mentions, each with the names of the buffers over it.
pub(crate) fn names(buffers: impl Iterator<Item = (BufferId, Arc<str>)>) -> Vec<(BufferId, Arc<str>)> {
    let mut names: Vec<(BufferId, Arc<str>)> = Vec::new();
    for (id, name) in buffers {
        match names.iter_mut().find(|(known, _)| *known == id) {
            Some((_, names)) => *names = Arc::from(format!("{names}, {name}")),
            None => names.push((id, name)),
        }
    }
    names
}

/// The name of a buffer that was given none.
pub(crate) fn default_name(id: BufferId) -> Arc<str> {
    Arc::from(format!("buffer {}", id.0))
}

/// Makes a report speak of other buffers.
pub(crate) fn rename(report: &mut Report, mut to: impl FnMut(BufferId) -> BufferId) {
    let Report {
        groups: _,
        splits,
        buffers,
        trusted,
        rewrites: _,
        inlined,
        epilogues,
        reordered: _,
        renamed,
    } = report;
    splits.iter_mut().filter_map(|split| split.buffer.as_mut()).for_each(|buffer| *buffer = to(*buffer));
    buffers.iter_mut().for_each(|report| report.buffer = to(report.buffer));
    trusted.iter_mut().for_each(|report| report.buffer = report.buffer.map(&mut to));
    inlined.iter_mut().for_each(|report| report.buffer = to(report.buffer));
    epilogues.iter_mut().for_each(|report| report.buffer = to(report.buffer));
    renamed.iter_mut().for_each(|report| report.buffer = to(report.buffer));
}

/// What is known about submitted work.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) outcome: Outcome,
    pub(crate) report: Option<Reported>,
}

/// A report, or the data that it is made from on demand.
#[derive(Debug)]
pub(crate) enum Reported {
    Made(Arc<FusionReport>),
    Of(Elsewhere),
}

/// The report on a run of the same list on other buffers.
#[derive(Debug)]
pub(crate) struct Elsewhere {
    /// With the memories of that list.
    pub(crate) of: Arc<(FusionReport, Vec<BufferId>)>,
    /// Those in their place.
    pub(crate) is: SmallVec<[BufferId; 8]>,
    /// Names that were given, by place.
    pub(crate) named: Vec<(usize, Arc<str>)>,
}

impl Reported {
    /// The report.
    pub(crate) fn report(&self) -> Arc<FusionReport> {
        match self {
            Reported::Made(report) => report.clone(),
            Reported::Of(elsewhere) => Arc::new(elsewhere.report()),
        }
    }
}

impl Elsewhere {
    fn report(&self) -> FusionReport {
        let Elsewhere { of, is: now, named } = self;
        let (mut report, was) = (of.0.clone(), &of.1);
        let is = |id: BufferId| was.iter().position(|was| *was == id).map_or(id, |place| now[place]);
        rename(&mut report.plan, is);
        let arguments = report.kernels.iter_mut().flat_map(|one| &mut one.arguments);
        arguments.for_each(|argument| argument.buffer = is(argument.buffer));
        let name = |place: usize| {
            let given = named.iter().find(|(of, _)| *of == place);
            given.map_or_else(|| default_name(now[place]), |(_, name)| name.clone())
        };
        report.names = names(now.iter().enumerate().map(|(place, is)| (*is, name(place))));
        report
    }
}
