//! From the runtime's fusion report to the fields of the printed one.
//!
//! The report speaks of buffers by identity and of reasons as values; here both become the words of
//! the pipeline file and of people.

use crate::pipeline::{Pipeline, Promotion};
use crate::report::json::{Again, Barrier, BufferOutcome, Cache, Group, Pi, Rewrite, Split, Trusted};
use vkfuse::{BufferId, FusionReport, Promote, Tier};
use vkfuse_jit::plan::{
    BufferReport, GroupReport, InlineReport, Internalization, Places, RewriteReport, SplitReport,
    TrustedReport,
};

/// What a fused run did with the list.
pub(crate) struct Gathered {
    /// What became of the list as a whole; `None` where nothing was to be fused.
    pub(crate) outcome: Option<String>,
    pub(crate) groups: Vec<Group>,
    pub(crate) splits: Vec<Split>,
    pub(crate) trusted: Vec<Trusted>,
    pub(crate) rewrites: Vec<Rewrite>,
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
    let plan = &report.plan;
    let find = |id: &BufferId| plan.buffers.iter().find(|buffer| buffer.buffer == *id);
    Gathered {
        outcome: Some(report.outcome.to_string()),
        groups: plan.groups.iter().map(|group| self::group(group, report)).collect(),
        splits: plan.splits.iter().map(|split| self::split(split, name)).collect(),
        trusted: plan.trusted.iter().map(|pair| self::trusted(pair, name)).collect(),
        rewrites: {
            let inlined = plan.inlined.iter().map(|one| inlined(one, name));
            plan.rewrites.iter().map(rewrite).chain(inlined).collect()
        },
        buffers: ids
            .iter()
            .enumerate()
            .map(|(index, id)| find(id).map_or_else(|| untouched(pipeline, index), buffer))
            .collect(),
        internalized: ids
            .iter()
            .map(|id| find(id).is_some_and(|buffer| buffer.got != Internalization::None))
            .collect(),
    }
}

/// What an unfused run does with the list: one dispatch for each submission, nothing promoted.
pub(crate) fn unfused(pipeline: &Pipeline, local_sizes: &[[u32; 3]]) -> Gathered {
    let groups = local_sizes.iter().enumerate().map(|(index, local_size)| Group {
        kernels: vec![index],
        fused: false,
        work_group: *local_size,
        items_per_invocation: 1,
        loads_kept: 0,
        work_groups: 1,
        alone: None,
        barriers: Vec::new(),
        key: None,
    });
    Gathered {
        outcome: None,
        groups: groups.collect(),
        splits: Vec::new(),
        trusted: Vec::new(),
        rewrites: Vec::new(),
        buffers: (0..pipeline.buffers.len()).map(|index| untouched(pipeline, index)).collect(),
        internalized: vec![false; pipeline.buffers.len()],
    }
}

/// Where the kernels of a fused run came from.
pub(crate) fn cache(report: &FusionReport) -> Cache {
    let word = |tier| match tier {
        // Switched off: the field does not apply, as where a faster level had it.
        Tier::Off => None,
        tier => tier.word(),
    };
    Cache { memory: word(report.memory()), disk: word(report.disk()) }
}

fn group(group: &GroupReport, report: &FusionReport) -> Group {
    let barriers = group.barriers.iter().map(|barrier| Barrier {
        after: barrier.after,
        kept: barrier.kept,
        reason: barrier.reason.to_string(),
    });
    Group {
        kernels: group.members.clone().collect(),
        fused: group.fused,
        work_group: group.work_group,
        items_per_invocation: group.items_per_invocation,
        loads_kept: group.loads_kept,
        work_groups: group.work_groups,
        alone: group.alone.map(|why| why.to_string()),
        barriers: barriers.collect(),
        key: report
            .steps
            .iter()
            .find(|step| step.members == group.members)
            .map(|step| blake3::Hash::from_bytes(step.key).to_hex().to_string()),
    }
}

fn split(split: &SplitReport, name: impl Fn(BufferId) -> Option<String>) -> Split {
    Split {
        after: split.after,
        buffer: split.buffer.and_then(name),
        reason: split.reason.to_string(),
        detail: split.reason.in_full(),
        tried: split.tried.as_ref().map(ToString::to_string),
        explained_at: split.reason.explained_at(),
    }
}

fn rewrite(one: &RewriteReport) -> Rewrite {
    let (order, length) = match one.places {
        Places::Rows { length } => ("rows", length),
        Places::Grid { width } => ("grid", width),
    };
    let pi = Pi { order, length, work_group: one.work_group, groups: one.groups, items: one.items };
    Rewrite {
        kind: "place",
        kernel: one.submission,
        partner: one.partner,
        pi: Some(pi),
        again: None,
        detail: one.to_string(),
    }
}

fn inlined(one: &InlineReport, name: impl Fn(BufferId) -> Option<String>) -> Rewrite {
    let InlineReport { loads, times, paid, saved, .. } = *one;
    Rewrite {
        kind: "inline",
        kernel: one.submission,
        partner: one.producer,
        pi: None,
        again: Some(Again { buffer: name(one.buffer), loads, times, paid, saved }),
        detail: one.to_string(),
    }
}

fn trusted(pair: &TrustedReport, name: impl Fn(BufferId) -> Option<String>) -> Trusted {
    Trusted {
        first: pair.first,
        second: pair.second,
        buffer: pair.buffer.and_then(name),
        reason: pair.reason.to_string(),
    }
}

fn buffer(report: &BufferReport) -> BufferOutcome {
    let asked = match report.asked {
        Promote::None => Promotion::None,
        Promote::Private => Promotion::Private,
        Promote::Local => Promotion::Local,
        Promote::Auto => Promotion::Auto,
    };
    let got = match report.got {
        Internalization::None => Promotion::None,
        Internalization::Private => Promotion::Private,
        Internalization::Local => Promotion::Local,
    };
    BufferOutcome {
        asked: asked.name().to_owned(),
        got: got.name().to_owned(),
        reason: report.reason.as_ref().map(ToString::to_string),
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
    BufferOutcome {
        asked: asked.unwrap_or(property).name().to_owned(),
        got: Promotion::None.name().to_owned(),
        reason: None,
    }
}
