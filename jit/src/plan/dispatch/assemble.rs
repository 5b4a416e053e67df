//! A finished group into a step: unified bindings and push constants, recipe, key, report.

use std::sync::Arc;

use ahash::AHashSet;
use smallvec::SmallVec;

use crate::Reason;
use crate::analysis::resolved_branches::ResolvedBranch;
use crate::kernel::{BindingKind, FloatControls, Specialized};
use crate::plan::dispatch::candidate::Candidate;
use crate::plan::dispatch::candidates::{self, Propose};
use crate::plan::dispatch::context::{Context, Finished};
use crate::plan::dispatch::{block_coarsening, push_multiples, push_ranges, resolved_branches};
use crate::plan::grouping::boundary;
use crate::plan::grouping::group::{DemandKind, Group};
use crate::plan::grouping::mapping::Layout;
use crate::plan::input::limits::Limits;
use crate::plan::input::options::{FloatMode, FuseOptions};
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::{BufferId, Internalization, Promote, Submission};
use crate::plan::input::uses::Uses;
use crate::plan::input::wish::wish;
use crate::plan::output::plan::Plan;
use crate::plan::output::push::PushBlock;
use crate::plan::output::recipe::{
    Converges, Hidden, Internal, KeptAccess, Member, Recipe, Remap, Target, UnifiedBinding, Unroll,
};
use crate::plan::output::report::{AloneReason, BufferReport, GroupReport};
use crate::plan::output::step::{Bound, Source, Step};
use crate::plan::promotion::internalize::Granted;
use crate::plan::promotion::kept_results::Kept;
use crate::plan::promotion::unroll::{Needed, Unrolled};
use crate::plan::promotion::{internalize, kept_results, unroll};
use crate::schedule::Demands;

/// The user's module as it is.
pub(crate) fn plain(one: &Submission, position: usize, float: FloatMode) -> Step {
    let interface = &one.kernel.interface;
    let bindings = one
        .args
        .iter()
        .zip(&interface.bindings)
        .map(|(arg, binding)| Bound {
            at: binding.at,
            kind: binding.kind,
            buffer: arg.buffer,
            offset: arg.offset,
            len: arg.len,
            reads: binding.reads,
            writes: binding.writes,
        })
        .collect();
    let size = interface.push.as_ref().map_or(0, |p| p.size as usize).next_multiple_of(4);
    let mut push: SmallVec<[u8; 64]> = SmallVec::from_slice(&one.push);
    push.resize(size, 0);
    let recipe = Step::plain_recipe(&one.kernel, float, one.base);
    Step {
        key: *blake3::hash(&recipe).as_bytes(),
        recipe,
        bindings,
        push,
        groups: one.groups,
        members: (position..position + 1).into(),
        floats: FloatControls::default(),
        source: Source::Plain { kernel: one.kernel.clone(), float, base: one.base },
        origins: Vec::new(),
    }
}

/// One submission through the emitter, because its group counts have to be folded.
pub(crate) fn folded(list: &[Submission], group: &Group, options: &FuseOptions, limits: &Limits) -> Step {
    let parts = Parts {
        granted: &[],
        barriers: Vec::new(),
        by_number: None,
        unrolled: Vec::new(),
        resolved: Vec::new(),
        kept: Vec::new(),
        kinds: candidates::AS_SUBMITTED,
    };
    step(list, group, options, limits, parts).0
}

/// A group of several submissions: internalizes, emits the step and reports.
pub(crate) fn fused(problem: Problem<'_>, mut group: Group, plan: &mut Plan) {
    let Problem { list, uses, options, limits } = problem;
    let members = group.start..group.end();
    let (granted, mut reports) = promotions(problem, &mut group, &plan.report.buffers);
    plan.report.buffers.append(&mut reports);
    #[cfg(feature = "certify")]
    plan.verdicts.append(&mut group.verdicts(list));
    let (barriers, barrier_reports) = group.barriers(options);
    let kernels: Vec<_> = list[members.clone()].iter().map(|one| one.kernel.clone()).collect();
    let demands = Demands::of(&kernels, !barriers.is_empty(), false);
    let finished = Finished { list, group: &group, granted: &granted, float: options.float, limits, demands };
    let is_one = group.layout.parts.is_one();
    let by_number = if is_one { candidates::by_number(&finished) } else { None };
    // Items of one invocation pass their elements on as values.
    let kept = match &by_number {
        Some(_) => Vec::new(),
        None => kept_results::choose(problem, &mut group, &granted),
    };
    let layout = by_number.as_ref().map_or(group.layout, |candidate| candidate.layout);
    let needed: Needed =
        granted.iter().flat_map(Granted::loops).chain(kept.iter().flat_map(Kept::loops)).collect();
    let Unrolled { loops: unrolled, may_keep } = if !needed.is_empty() || limits.unroll.at_once > 1 {
        let private = block_coarsening::registers(&granted);
        unroll::all(problem, &mut group, &layout, (&needed, private))
    } else {
        Unrolled::default()
    };
    let resolved = match &by_number {
        Some(_) => Vec::new(),
        None => resolved_branches::find(list, uses, &mut group),
    };
    let loads_kept = kept.iter().flat_map(|one| &one.accesses).filter(|one| one.is_load).count() as u32;
    let kinds = if is_one { candidates::ALL } else { candidates::AS_SUBMITTED };
    let parts = Parts { granted: &granted, barriers, by_number, unrolled, resolved, kept, kinds };
    let (step, alone) = step(list, &group, options, limits, parts);
    plan.report.groups.push(GroupReport {
        members: members.into(),
        fused: true,
        work_group: step.local_size(),
        schedule: step.schedule() + &group.layout.parts.to_string(),
        items_per_invocation: step.items_per_invocation(),
        loads_kept,
        may_keep,
        work_groups: step.coarsened_work_groups(),
        push_buffer_bytes: step.push_buffer().map_or(0, |_| step.push.len() as u32 - step.push_bytes()),
        alone,
        barriers: barrier_reports,
    });
    plan.report.trusted.append(&mut group.trusted);
    plan.steps.push(step);
}

/// The buffers that stay inside of a group, and reports of those that have none yet.
fn promotions(
    problem: Problem<'_>,
    group: &mut Group,
    known: &[BufferReport],
) -> (Vec<Granted>, Vec<BufferReport>) {
    let Problem { list, uses, limits, .. } = problem;
    let members = &list[group.start..group.end()];
    let own: u64 = members.iter().map(|s| u64::from(s.kernel.interface.workgroup_bytes)).sum();
    let mut shared = u64::from(limits.max_shared_bytes).saturating_sub(own);
    let (mut granted, mut reports) = (Vec::new(), Vec::new());
    let reported: AHashSet<BufferId> = known.iter().map(|r| r.buffer).collect();
    for buffer in buffers_of(members) {
        if reported.contains(&buffer) {
            continue;
        }
        let (asked, got) = (Promote::None, Internalization::None);
        let mut report = BufferReport { buffer, asked, got, reason: None, not_local: None };
        if let Some(grant) = internalize::decide(problem, group, buffer, shared, &mut report) {
            if grant.internal.kind == Internalization::Local {
                shared = shared.saturating_sub(grant.bytes);
            }
            granted.push(grant);
        }
        if report.asked != Promote::None || report.reason.is_some() {
            report.asked =
                if report.asked == Promote::None { first_wish(list, uses, buffer) } else { report.asked };
            reports.push(report);
        }
    }
    (granted, reports)
}

/// The buffers that stay inside of a group.
pub(crate) fn promoted(
    problem: Problem<'_>,
    group: &mut Group,
    known: &[BufferReport],
) -> AHashSet<BufferId> {
    let trusted = group.trusted.len();
    let (granted, _) = promotions(problem, group, known);
    // Trusted pairs are reported where they are decided.
    group.trusted.truncate(trusted);
    granted.into_iter().map(|one| one.buffer).collect()
}

pub(crate) fn report_unfused(list: &[Submission], position: usize, step: &Step, plan: &mut Plan) {
    plan.report.groups.push(GroupReport {
        members: (position..position + 1).into(),
        fused: false,
        work_group: list[position].kernel.interface.local_size,
        schedule: step.schedule(),
        items_per_invocation: 1,
        loads_kept: 0,
        may_keep: 0,
        work_groups: 1,
        push_buffer_bytes: 0,
        alone: None,
        barriers: Vec::new(),
    });
}

/// Reports the buffers of producers that do not run any more: nothing is written to them.
pub(crate) fn report_gone(asked: &[Submission], members: std::ops::Range<usize>, plan: &mut Plan) {
    let uses = Uses::of(asked);
    let inlined = plan.report.inlined.iter().map(|one| (one.gone, one.submission, one.buffer));
    let epilogues = plan.report.epilogues.iter().map(|one| (one.gone, one.submission, one.buffer));
    let all = inlined.chain(epilogues).filter(|(gone, submission, _)| *gone && members.contains(submission));
    let mut gone: Vec<BufferId> = all.map(|(.., buffer)| buffer).collect();
    // Several submissions may have stored parts of one.
    let mut seen = AHashSet::new();
    gone.retain(|buffer| seen.insert(*buffer));
    for buffer in gone {
        let wish = wish(asked, &uses, buffer).unwrap_or_default();
        let got = match wish {
            Promote::Local => Internalization::Local,
            _ => Internalization::Private,
        };
        plan.report.buffers.push(BufferReport { buffer, asked: wish, got, reason: None, not_local: None });
    }
}

/// Reports the wishes no fused group has answered.
pub(crate) fn report_wishes(list: &[Submission], uses: &Uses, plan: &mut Plan) {
    let reported: AHashSet<BufferId> = plan.report.buffers.iter().map(|r| r.buffer).collect();
    for &buffer in uses.buffers() {
        let asked = first_wish(list, uses, buffer);
        if asked == Promote::None || reported.contains(&buffer) {
            continue;
        }
        let reason = wish(list, uses, buffer).err().unwrap_or(Reason::NotFused);
        plan.report.buffers.push(BufferReport {
            buffer,
            asked,
            got: Internalization::None,
            reason: Some(reason),
            not_local: None,
        });
    }
}

fn first_wish(list: &[Submission], uses: &Uses, buffer: BufferId) -> Promote {
    let mut wishes = uses.of_buffer(buffer).iter().map(|&(s, binding)| list[s].args[binding].promote);
    wishes.find(|&wish| wish != Promote::None).unwrap_or_default()
}

fn buffers_of(list: &[Submission]) -> Vec<BufferId> {
    let mut seen = ahash::AHashSet::new();
    list.iter().flat_map(|s| &s.args).map(|a| a.buffer).filter(|&b| seen.insert(b)).collect()
}

/// What was decided of a group.
struct Parts<'a> {
    granted: &'a [Granted],
    barriers: Vec<usize>,
    by_number: Option<Candidate>,
    unrolled: Vec<Vec<Unroll>>,
    resolved: Vec<Vec<ResolvedBranch>>,
    kept: Vec<Kept>,
    /// Kinds of schedules that it may have otherwise.
    kinds: &'static [Propose],
}

/// How sub-groups come together before a member with sub-group operations that comes behind others, or in one that not all of them have work for.
fn converges(kernels: &[Arc<Specialized>], limits: &Limits) -> Option<Converges> {
    let behind = kernels.get(1..).unwrap_or_default();
    let is_needed = behind.iter().any(|kernel| kernel.interface.has_subgroup_ops)
        || kernels.iter().any(|kernel| kernel.lanes.is_some());
    let how = if limits.thread_coarsening.uniform { Converges::Asked } else { Converges::AtMerges };
    is_needed.then_some(how)
}

/// The step of a group, and why its work-groups are not coarsened.
fn step(
    list: &[Submission],
    group: &Group,
    options: &FuseOptions,
    limits: &Limits,
    parts: Parts<'_>,
) -> (Step, Option<AloneReason>) {
    let Parts { granted, barriers, by_number, unrolled, resolved, kept, kinds } = parts;
    let layout = by_number.as_ref().map_or(group.layout, |candidate| candidate.layout);
    let range = group.start..group.end();
    let mut push = PushBlock::default();
    let mut bindings: SmallVec<[Bound; 8]> = SmallVec::new();
    let mut members = Vec::with_capacity(range.len());
    for position in range.clone() {
        let submission = &list[position];
        members.push(member(submission, position, &layout, granted, &mut bindings, &mut push));
    }
    // An address may lead into any of the buffers.
    let addressed = list[range.clone()].iter().any(|s| s.kernel.interface.uses_device_addresses);
    let unified: Vec<UnifiedBinding> = bindings
        .iter()
        .enumerate()
        .map(|(n, bound)| UnifiedBinding {
            kind: bound.kind,
            read_only: !addressed && !bindings.iter().any(|b| overlaps(b, bound) && b.writes),
            coherent: addressed
                || group
                    .demands
                    .iter()
                    .any(|d| d.buffer == Some(bound.buffer) && d.kind != DemandKind::Invocation),
            restrict: !addressed && !bindings.iter().enumerate().any(|(m, b)| m != n && overlaps(b, bound)),
        })
        .collect();
    let kernels: Vec<_> = list[range.clone()].iter().map(|s| s.kernel.clone()).collect();
    let mut zero = None;
    if options.float == FloatMode::Strict && !mutant!(NothingIsHidden) {
        let hidden = boundary::hidden(&members, &kernels, &unified);
        let needs_zero = hidden.iter().any(|h| !h.is_empty());
        zero = needs_zero.then(|| push.add_zero());
        members.iter_mut().zip(hidden).for_each(|(member, hidden)| member.hidden = hidden);
    }
    let limit = limits.max_push_bytes;
    let uniform = unified.iter().filter(|binding| binding.kind == BindingKind::UniformBuffer).count() as u32;
    let has_buffer = uniform < limits.max_uniform_buffers;
    let in_buffer = |push: &mut PushBlock| match has_buffer && push.size() > limit {
        true => push.move_behind(limit),
        false => None,
    };
    let has_push_buffer = push.size() > limit && in_buffer(&mut push.clone()).is_some();
    let demands = Demands::of(&kernels, !barriers.is_empty(), has_push_buffer);
    let context = Context {
        finished: Finished { list, group, granted, float: options.float, limits, demands },
        kept: &kept,
        unrolled: &unrolled,
        resolved: &resolved,
        barriers: !barriers.is_empty(),
        push: &push,
        has_buffer,
    };
    let (candidate, alone) = match by_number {
        Some(candidate) => (candidate, None),
        None => candidates::choose(&context, kinds),
    };
    let Candidate { schedule, groups, wide, push: with_numbers, shuffles, zero: zero_of_registers, .. } =
        candidate;
    push = with_numbers.unwrap_or(push);
    zero = zero.or(zero_of_registers);
    // Buffers that the group both writes and reads in memory.
    let is_read_again =
        |bound: &Bound| bound.kind == BindingKind::StorageBuffer && bound.reads && bound.writes;
    let late_stores = Some(limits.late_stores).filter(|&most| most > 1 && bindings.iter().any(is_read_again));
    let behind = in_buffer(&mut push);
    let groups = schedule.dispatch(groups);
    let mut recipe = Recipe {
        float: options.float,
        schedule,
        members,
        bindings: unified,
        internal: granted.iter().map(|g| g.internal.clone()).collect(),
        push: push.slots.clone(),
        behind,
        zero,
        barriers: barriers.iter().map(|b| b - group.start).collect(),
        kept: kept.iter().map(|one| Internal { kind: Internalization::Private, slots: one.slots }).collect(),
        shuffles,
        late_stores,
        converges: converges(&kernels, limits),
        push_ranges: Vec::new(),
        push_multiples: Vec::new(),
    };
    for (index, one) in (0..).zip(kept) {
        for kept_results::KeptAccess { member, access, slot, .. } in one.accesses {
            recipe.members[member - group.start].kept.push(KeptAccess { access, index, slot });
        }
    }
    recipe.members.iter_mut().zip(unrolled).for_each(|(member, loops)| member.unroll = loops);
    recipe.members.iter_mut().zip(resolved).for_each(|(member, branches)| member.resolved = branches);
    recipe.members.iter_mut().zip(wide).for_each(|(member, wide)| member.wide = wide);
    recipe.push_ranges = push_ranges::of(&recipe, &list[range.clone()]);
    recipe.push_multiples = push_multiples::of(&recipe, &list[range.clone()]);
    let encoded = recipe.encode();
    let origins = std::mem::take(&mut push.origins);
    let step = Step {
        key: *blake3::hash(&encoded).as_bytes(),
        recipe: encoded,
        bindings,
        push: push.into_bytes(),
        groups,
        members: range.into(),
        floats: FloatControls::default(),
        source: Source::Fused { kernels, recipe: Arc::new(recipe) },
        origins,
    };
    (step, alone)
}

fn overlaps(a: &Bound, b: &Bound) -> bool {
    a.buffer == b.buffer && a.offset < b.offset + b.len && b.offset < a.offset + a.len
}

fn member(
    submission: &Submission,
    position: usize,
    layout: &Layout,
    granted: &[Granted],
    bindings: &mut SmallVec<[Bound; 8]>,
    push: &mut PushBlock,
) -> Member {
    let mut targets = Vec::with_capacity(submission.args.len());
    let mut widen_barriers = false;
    for (number, (arg, binding)) in
        submission.args.iter().zip(&submission.kernel.interface.bindings).enumerate()
    {
        let internal = granted.iter().enumerate().find(|(_, g)| g.buffer == arg.buffer);
        if let Some((index, grant)) = internal {
            let found = grant.uses.iter().find(|u| u.member == position && u.binding == number);
            widen_barriers |=
                grant.internal.kind == Internalization::Local && found.is_some_and(|u| u.widen_barriers);
            targets.push(Target::Internal {
                index: index as u16,
                slots: found.map(|u| u.slots.clone()).unwrap_or_default(),
                lengths: lengths(submission, number, arg.len, push),
            });
            continue;
        }
        let same = |b: &Bound| {
            b.kind == binding.kind && b.buffer == arg.buffer && b.offset == arg.offset && b.len == arg.len
        };
        let index = bindings.iter().position(same).unwrap_or_else(|| {
            bindings.push(Bound {
                at: (bindings.len() as u32).into(),
                kind: binding.kind,
                buffer: arg.buffer,
                offset: arg.offset,
                len: arg.len,
                reads: false,
                writes: false,
            });
            bindings.len() - 1
        });
        bindings[index].reads |= binding.reads;
        bindings[index].writes |= binding.writes;
        targets.push(Target::Bound(index as u16));
    }
    Member {
        kernel: submission.kernel.hash,
        targets,
        push: push.add_member(submission, position).unwrap_or_default(),
        remap: remap(submission, position, layout, push),
        widen_barriers,
        wide: Vec::new(),
        unroll: Vec::new(),
        hidden: Hidden::default(),
        kept: Vec::new(),
        resolved: Vec::new(),
    }
}

/// Slots with the lengths a kernel asks of a binding that is no longer one.
fn lengths(submission: &Submission, binding: usize, len: u64, push: &mut PushBlock) -> Vec<u16> {
    let Ok(normal) = &submission.kernel.normal else {
        return Vec::new();
    };
    let queries = normal.analysis.lengths.iter().filter(|query| query.binding == binding);
    queries
        .map(|query| {
            let elements = len.saturating_sub(u64::from(query.offset)) / u64::from(query.stride.max(1));
            push.add_u32(u32::try_from(elements).unwrap_or(u32::MAX))
        })
        .collect()
}

fn remap(submission: &Submission, position: usize, layout: &Layout, push: &mut PushBlock) -> Option<Remap> {
    if layout.keeps_groups(submission) {
        return None;
    }
    let guard = layout.needs_guard(submission);
    let counts = layout.counts(submission);
    let first = layout.parts.first(position);
    Some(Remap {
        counts: counts.map(|n| (n != 1).then(|| push.add_u32(n))),
        total: guard.then(|| {
            let total = layout.total(submission) as u32;
            if layout.free { push.add_total(total) } else { push.add_u32(total) }
        }),
        first: (first > 0).then(|| push.add_u32(first)),
        local_size: submission.kernel.interface.local_size,
    })
}
