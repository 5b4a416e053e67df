//! From the runtime's fusion report to the fields of the printed one.
//!
//! The report speaks of buffers by identity and of reasons as values; here both become the words of
//! the pipeline file and of people.

use crate::pipeline::check::Checked;
use crate::pipeline::{Pipeline, Promotion};
use crate::report::json::{BufferOutcome, Changed, Check, Choice, Group, Rewrite, Split, Trusted};
use vkfuse::report::json::{List, Named};
use vkfuse::{BufferId, FusionReport, Internalization, Outcome, Reason};
use vkfuse_jit::plan::{has_work, unfused_schedule};

/// What a fused run did with the list.
pub(crate) struct Gathered {
    /// What became of the list as a whole; `None` where nothing was to be fused.
    pub(crate) outcome: Option<String>,
    pub(crate) groups: Vec<Group>,
    pub(crate) splits: Vec<Split>,
    pub(crate) trusted: Vec<Trusted>,
    pub(crate) changed: Vec<Changed>,
    pub(crate) rewrites: Vec<Rewrite>,
    pub(crate) checks: Vec<Check>,
    pub(crate) choice: Option<Choice>,
    /// For each buffer of the file.
    pub(crate) buffers: Vec<BufferOutcome>,
    /// For each buffer of the file, whether its memory was left unwritten.
    pub(crate) internalized: Vec<bool>,
}

/// Collects what `report` says about `pipeline`, whose buffers have the identities `ids`.
pub(crate) fn fused(pipeline: &Pipeline, ids: &[BufferId], report: &FusionReport) -> Gathered {
    let name = |id: BufferId| {
        let index = ids.iter().position(|other| *other == id)?;
        Some(pipeline.buffers[index].name.clone())
    };
    let list = List::of(report, name);
    // A list that had to be one kernel and is not, or whose code is still being built, ran as it was submitted, whatever was planned.
    let is_as_submitted = matches!(report.outcome, Outcome::Refused { .. } | Outcome::Building)
        && report.plan.groups.iter().any(|group| group.fused);
    let find = |id: &BufferId| {
        report.plan.buffers.iter().find(|buffer| buffer.buffer == *id).filter(|_| !is_as_submitted)
    };
    Gathered {
        outcome: Some(list.outcome),
        groups: if is_as_submitted { Vec::new() } else { list.groups },
        splits: list.splits,
        trusted: list.trusted,
        changed: list.changed,
        rewrites: list.rewrites,
        checks: list.checks,
        choice: list.choice,
        buffers: ids
            .iter()
            .enumerate()
            .map(|(index, id)| find(id).map_or_else(|| untouched(pipeline, index), BufferOutcome::from))
            .collect(),
        internalized: ids
            .iter()
            .map(|id| find(id).is_some_and(|buffer| buffer.got != Internalization::None))
            .collect(),
    }
}

/// What an unfused run does with the list: one dispatch for each submission that has work-groups, nothing promoted.
pub(crate) fn unfused(pipeline: &Pipeline, checked: &Checked) -> Gathered {
    let submits = checked.submits.iter().enumerate().filter(|(_, submit)| has_work(submit.groups));
    let groups = submits.map(|(index, submit)| Group {
        kernels: vec![index],
        fused: false,
        work_group: submit.kernel.interface.local_size,
        schedule: unfused_schedule(submit.kernel.interface.local_size),
        items_per_invocation: 1,
        loads_kept: 0,
        work_groups: 1,
        push_buffer_bytes: 0,
        alone: None,
        barriers: Vec::new(),
        key: None,
        statistics: Named(Vec::new()),
    });
    Gathered {
        outcome: None,
        groups: groups.collect(),
        splits: Vec::new(),
        trusted: Vec::new(),
        changed: Vec::new(),
        rewrites: Vec::new(),
        checks: Vec::new(),
        choice: None,
        buffers: (0..pipeline.buffers.len()).map(|index| untouched(pipeline, index)).collect(),
        internalized: vec![false; pipeline.buffers.len()],
    }
}

/// A buffer that fusion says nothing about: what the file asks for, and nothing got.
fn untouched(pipeline: &Pipeline, index: usize) -> BufferOutcome {
    let args = pipeline.submits.iter().flat_map(|submit| &submit.args);
    let mut asked = args.filter(|arg| arg.buffer == index).filter_map(|arg| arg.promote);
    let property = pipeline.buffers[index].promote;
    let asked = if property == Promotion::None {
        asked.find(|promotion| *promotion != Promotion::None)
    } else {
        None
    };
    let asked = asked.unwrap_or(property);
    let is_used = pipeline.submits.iter().flat_map(|submit| &submit.args).any(|arg| arg.buffer == index);
    let reason = match (asked, is_used) {
        (Promotion::None, _) => None,
        (_, false) => Some("no submission uses it".to_owned()),
        (_, true) => Some(Reason::NotFused.to_string()),
    };
    let explained_at = reason.is_some().then(|| Reason::NotFused.explained_at()).filter(|_| is_used);
    BufferOutcome { asked: asked.name(), got: Promotion::None.name(), reason, explained_at }
}
