//! Grows fused groups along the list and says which access pair ends one.
//!
//! A group is consecutive. The next submission joins if every pair of accesses to the same memory, at
//! least one a write, can only meet in one invocation (nothing needed) or in one work-group (a barrier
//! between). Equal accesses of several members are kept as one, so a long list costs about its length.

use ahash::{AHashMap, AHashSet};

use crate::Reason;
use crate::analysis::KernelAnalysis;
use crate::analysis::access::{Access, AccessKind};
use crate::analysis::affine::{Atom, AtomId, Atoms};
use crate::analysis::dependence::{Relation, relate};
use crate::analysis::evaluate::{AccessForm, Evaluator};
use crate::kernel::{BindingKind, KernelReason, SetBinding};
use crate::plan::grouping::cause;
use crate::plan::grouping::in_range::{keeps_to_ranges, stays};
use crate::plan::grouping::mapping::{Layout, Shapes};
use crate::plan::grouping::parts::Parts;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::limits::Limits;
use crate::plan::input::options::{FuseOptions, Policy};
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::{BufferId, Promote, Submission};
use crate::plan::input::wish::wish;
#[cfg(feature = "certify")]
use crate::plan::output::again::PairVerdict;
use crate::plan::output::report::{BarrierReason, BarrierReport, TrustedReport};
use crate::reason::{AccessPair, AccessSite, UnboundedLoop};

/// A consecutive part of the list that becomes one dispatch.
pub(crate) struct Group {
    pub(crate) start: usize,
    pub(crate) layout: Layout,
    shapes: Shapes,
    pub(crate) atoms: Atoms,
    /// Forms of the accesses of each member.
    pub(crate) forms: Vec<Vec<AccessForm>>,
    /// What is known of each buffer so far.
    touched: AHashMap<BufferId, Vec<Touch>>,
    /// Pairs of members that need a barrier somewhere between, with the buffer.
    pub(crate) demands: Vec<Demand>,
    pub(crate) trusted: Vec<TrustedReport>,
    /// Loop rounds of each member, where they are known.
    rounds: Vec<Result<u128, usize>>,
}

/// Data handed from one member to a later one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub(crate) first: usize,
    pub(crate) second: usize,
    /// None for memory that is reached by device addresses.
    pub(crate) buffer: Option<BufferId>,
    pub(crate) kind: DemandKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DemandKind {
    /// Stays in one invocation: no barrier.
    Invocation,
    /// Stays in one work-group: a barrier.
    Group,
    /// Unproven and trusted.
    Trusted,
}

/// One kind of access several members may share.
struct Touch {
    form: AccessForm,
    reads: bool,
    writes: bool,
    /// Reads of what the driver takes for unchanged while the kernel runs: of a uniform buffer, or of an image that is sampled.
    constant: bool,
    /// The last member that does it, and an access of that for messages.
    last: usize,
    example: (usize, usize),
}

/// Why a submission does not join.
pub(crate) struct Rejection {
    pub(crate) buffer: Option<BufferId>,
    pub(crate) reason: Reason,
}

impl From<Reason> for Rejection {
    fn from(reason: Reason) -> Self {
        Self { buffer: None, reason }
    }
}

impl Group {
    fn empty(start: usize, layout: Layout, shapes: Shapes) -> Self {
        Self {
            start,
            layout,
            shapes,
            atoms: Atoms::default(),
            forms: Vec::new(),
            touched: AHashMap::new(),
            demands: Vec::new(),
            trusted: Vec::new(),
            rounds: Vec::new(),
        }
    }

    /// A group of one.
    pub(crate) fn new(problem: Problem<'_>, start: usize) -> Result<Self, Reason> {
        let Problem { list, limits, .. } = problem;
        analysis_of(&list[start])?;
        let shapes = Shapes::of(&list[start]);
        let mut group = Self::empty(start, shapes.layout(limits)?, shapes);
        // One kernel has nothing to be compared with.
        group.add(problem.with_options(&FuseOptions::default()), start).map_err(|r| r.reason)?;
        Ok(group)
    }

    pub(crate) fn end(&self) -> usize {
        self.start + self.forms.len()
    }

    /// Adds the next submission or leaves the group as it was.
    pub(crate) fn join(&mut self, problem: Problem<'_>) -> Result<(), Rejection> {
        let Problem { list, limits, .. } = problem;
        let next = self.end();
        analysis_of(&list[next])?;
        compatible(&list[self.start..next], &list[next])?;
        let shapes = self.shapes.with(&list[next]);
        let layout = shapes.layout(limits)?;
        if layout == self.layout {
            self.add(problem, next)?;
            self.shapes = shapes;
            return Ok(());
        }
        // Another mapping gives every member other ids: start over with it. Those first that the next one has a buffer in common
        // with: what keeps it apart from them does so among all.
        let near: Vec<usize> =
            (self.start..next).filter(|&at| have_in_common(&list[at], &list[next])).collect();
        if near.len() < self.forms.len() {
            let mut group = Self::empty(self.start, layout, shapes);
            for position in near.into_iter().chain([next]) {
                group.add(problem, position)?;
            }
        }
        let mut group = Self::empty(self.start, layout, shapes);
        for position in self.start..=next {
            group.add(problem, position)?;
        }
        *self = group;
        Ok(())
    }

    /// The same members with work-groups of their own for each part, of `all` work-groups, if nothing passes from one part to another.
    pub(in crate::plan) fn apart(&self, problem: Problem<'_>, parts: Parts, all: u32) -> Option<Self> {
        let layout = self.shapes.apart(parts, all, problem.limits)?;
        let mut group = Self::empty(self.start, layout, self.shapes);
        for position in self.start..self.end() {
            group.add(problem, position).ok()?;
        }
        let stays = |one: &Demand| parts.first(one.first) == parts.first(one.second);
        (group.trusted.is_empty() && group.demands.iter().all(stays)).then_some(group)
    }

    /// Most rounds of all loops of its members together, if they are known.
    pub(in crate::plan) fn loop_rounds(&self) -> Option<u128> {
        self.rounds.iter().copied().sum::<Result<u128, usize>>().ok()
    }

    /// How often one member evaluates the conditions of its loops at most: one time more than each loop iterates.
    pub(in crate::plan) fn loop_tests(&self, position: usize) -> Option<u128> {
        self.rounds.get(position.checked_sub(self.start)?)?.ok()
    }

    /// The first loop of its members, and then of the next one, whose rounds are not known.
    fn unbounded(
        &self,
        list: &[Submission],
        position: usize,
        rounds: Result<u128, usize>,
    ) -> Option<Box<UnboundedLoop>> {
        let members = self.rounds.iter().copied().zip(self.start..);
        let (index, at) =
            members.chain([(rounds, position)]).find_map(|(rounds, at)| Some((rounds.err()?, at)))?;
        let kernel = &list.get(at)?.kernel;
        let loops = analysis_of(list.get(at)?).map_or(0, |analysis| analysis.loops.len());
        let lines = kernel.module.loop_lines(index, loops);
        Some(Box::new(UnboundedLoop { kernel: kernel.name.clone(), lines }))
    }

    fn add(&mut self, problem: Problem<'_>, position: usize) -> Result<(), Rejection> {
        let Problem { list, uses, limits, .. } = problem;
        let submission = &list[position];
        let analysis = analysis_of(submission)?;
        let sizes = submission.sizes();
        let constants = uses.constants(submission);
        let env = self
            .layout
            .environment(&mut self.atoms, position, submission, &sizes, &constants)
            .ok_or(Reason::RangeTooLarge)?;
        let mut evaluator = Evaluator::new(&self.atoms, analysis, &env);
        let forms: Vec<AccessForm> = analysis
            .accesses
            .iter()
            .map(|access| evaluator.access(&mut self.atoms, access, submission.args[access.binding].offset))
            .collect();
        let rounds = evaluator.loop_rounds(&mut self.atoms);
        if let Some(limit) = limits.max_loop_rounds.filter(|_| !mutant!(IgnoreLoopLimit)) {
            let others = self.loop_rounds();
            // A member without loops changes nothing for the others, known or not. One with loops that goes with such members
            // goes round as often as by itself, unless a rewrite put a loop around it.
            let is_own = !submission.kernel.is_repeated || mutant!(PlacedRoundsAreOwn);
            let alone = rounds == Ok(0) || others == Some(0) && is_own;
            let together = rounds.ok().zip(others).is_some_and(|(a, b)| a + b <= u128::from(limit));
            if !alone && !together {
                let unbounded = self.unbounded(list, position, rounds);
                return Err(Reason::LoopRounds { limit, unbounded }.into());
            }
        }
        if limits.robust && !self.forms.is_empty() {
            let first = (self.forms.len() == 1).then_some((self.start, &self.forms[0][..]));
            for (position, forms) in first.into_iter().chain([(position, &forms[..])]) {
                keeps_to_ranges(&self.atoms, &list[position], position, forms)?;
            }
        }
        let demands = self.demands.len();
        let trusted = self.trusted.len();
        if let Err(rejection) = self.compare(problem, position, &forms) {
            self.demands.truncate(demands);
            self.trusted.truncate(trusted);
            return Err(rejection);
        }
        for (number, (access, form)) in analysis.accesses.iter().zip(&forms).enumerate() {
            if form.never {
                continue;
            }
            let touches = self.touched.entry(submission.args[access.binding].buffer).or_default();
            let (reads, writes) = (access.kind != AccessKind::Write, access.kind.writes());
            let constant = is_constant(submission, access);
            let same = |t: &&mut Touch| {
                t.constant == constant
                    && t.form.offset == form.offset
                    && t.form.size == form.size
                    && (t.form.facts == form.facts || mutant!(MergeWhateverGuards))
                    && t.form.unknown == form.unknown
                    && (t.form.accessor == form.accessor || !form.unknown && !limits.robust)
            };
            match touches.iter_mut().find(same) {
                Some(touch) => {
                    touch.reads |= reads;
                    touch.writes |= writes;
                    touch.last = position;
                    touch.example = (position, number);
                }
                None => touches.push(Touch {
                    form: form.clone(),
                    reads,
                    writes,
                    constant,
                    last: position,
                    example: (position, number),
                }),
            }
        }
        self.forms.push(forms);
        self.rounds.push(rounds);
        Ok(())
    }

    /// Compares the accesses of a new member with those of all before it.
    fn compare(
        &mut self,
        problem: Problem<'_>,
        position: usize,
        forms: &[AccessForm],
    ) -> Result<(), Rejection> {
        let Problem { list, uses, options, limits } = problem;
        self.compare_addresses(list, position, options)?;
        let analysis = analysis_of(&list[position])?;
        let slow = if options.force { None } else { slow_broadcast(&list[position], limits) };
        for (number, (access, form)) in analysis.accesses.iter().zip(forms).enumerate() {
            let buffer = list[position].args[access.binding].buffer;
            let Some(touches) = self.touched.get(&buffer) else {
                continue;
            };
            for touch in touches {
                if !touch.writes && !access.kind.writes() || forgotten(touch, access.kind) {
                    continue;
                }
                let relation = relate(&mut self.atoms, self.layout.shape, &touch.form, form);
                let is_constant = touch.constant || is_constant(&list[position], access);
                let pair = |touch: &Touch| {
                    Box::new(AccessPair {
                        first: site(list, touch.example.0, touch.example.1),
                        second: site(list, position, number),
                    })
                };
                let kind = match relation {
                    Relation::Disjoint => continue,
                    // Drivers hand on to a load what was stored there before, whether it is there or not.
                    _ if limits.robust && !self.stay(&touch.form, form) => {
                        let (submission, at) = (position, list[position].args[access.binding].at);
                        return Err(Rejection {
                            buffer: Some(buffer),
                            reason: Reason::MayLeaveRange { submission, at },
                        });
                    }
                    // Neither program order nor a barrier orders a read of what the driver takes for constant.
                    _ if is_constant && !mutant!(UniformsAreCoherent) => {
                        let reason = match access.texel {
                            None => Reason::UniformWritten(pair(touch)),
                            Some(_) => Reason::SampledWritten(pair(touch)),
                        };
                        return Err(Rejection { buffer: Some(buffer), reason });
                    }
                    Relation::SameInvocation => DemandKind::Invocation,
                    Relation::SameGroup => DemandKind::Group,
                    Relation::Unrelated => {
                        let reason = Reason::CrossGroup(pair(touch));
                        if options.policy == Policy::Prove {
                            return Err(Rejection { buffer: Some(buffer), reason });
                        }
                        self.trusted.push(TrustedReport {
                            first: touch.last,
                            second: position,
                            buffer: Some(buffer),
                            reason,
                        });
                        DemandKind::Trusted
                    }
                };
                let is_handed = kind == DemandKind::Group && touch.writes && access.kind == AccessKind::Read;
                if let Some(reason) = slow.as_ref().filter(|_| is_handed)
                    && self.is_broadcast(form)
                    && wish(list, uses, buffer) == Ok(Promote::None)
                {
                    return Err(Rejection { buffer: Some(buffer), reason: reason.clone() });
                }
                self.demands.push(Demand { first: touch.last, second: position, buffer: Some(buffer), kind });
            }
        }
        Ok(())
    }

    /// Whether two accesses stay in what is bound.
    fn stay(&self, a: &AccessForm, b: &AccessForm) -> bool {
        stays(&self.atoms, a) && stays(&self.atoms, b) || mutant!(OutsideIsInOrder)
    }

    /// Device addresses may lead anywhere: nothing is proven of such a kernel. Under policy `trust` it has a barrier
    /// before and after it.
    fn compare_addresses(
        &mut self,
        list: &[Submission],
        position: usize,
        options: &FuseOptions,
    ) -> Result<(), Rejection> {
        let is_addressed = |&at: &usize| list[at].kernel.interface.uses_device_addresses;
        let first = if is_addressed(&position) {
            (self.start..position).last()
        } else {
            (self.start..position).rev().find(is_addressed)
        };
        let Some(first) = first else { return Ok(()) };
        let reason = Reason::Kernel(KernelReason::DeviceAddresses);
        if options.policy == Policy::Prove {
            return Err(reason.into());
        }
        self.trusted.push(TrustedReport { first, second: position, buffer: None, reason });
        self.demands.push(Demand { first, second: position, buffer: None, kind: DemandKind::Trusted });
        Ok(())
    }

    /// What is known of every two accesses of two members to one buffer.
    #[cfg(feature = "certify")]
    pub(crate) fn verdicts(&mut self, list: &[Submission]) -> Vec<PairVerdict> {
        let all: Vec<(usize, &Access, AccessForm)> = (self.start..self.end())
            .filter_map(|position| Some((position, analysis_of(&list[position]).ok()?)))
            .flat_map(|(position, analysis)| analysis.accesses.iter().map(move |access| (position, access)))
            .zip(self.forms.iter().flatten())
            .map(|((position, access), form)| (position, access, form.clone()))
            .collect();
        let buffer = |(position, access, _): &(usize, &Access, AccessForm)| {
            list[*position].args[access.binding].buffer
        };
        let mut verdicts = Vec::new();
        for (n, a) in all.iter().enumerate() {
            for b in &all[n..] {
                if buffer(a) != buffer(b) || !a.1.kind.writes() && !b.1.kind.writes() {
                    continue;
                }
                let never = a.2.never || b.2.never;
                let relation = match never {
                    true => Relation::Disjoint,
                    false => relate(&mut self.atoms, self.layout.shape, &a.2, &b.2),
                };
                verdicts.push(PairVerdict { first: (a.0, a.1.at), second: (b.0, b.1.at), relation });
            }
        }
        verdicts
    }

    /// Whether all invocations of a work-group reach the same element.
    fn is_broadcast(&self, form: &AccessForm) -> bool {
        let by_group = |&(atom, _): &(AtomId, i128)| matches!(self.atoms.get(atom), Atom::Group(_));
        !form.unknown && form.offset.terms.iter().all(by_group)
    }

    /// Places barriers: each as late as possible, so that one serves as many demands as it can.
    pub(crate) fn barriers(&mut self, options: &FuseOptions) -> (Vec<usize>, Vec<BarrierReport>) {
        let off = options.no_barriers && options.policy == Policy::Trust;
        if off && !mutant!(SilentlyWithoutBarriers) {
            self.trust_without_barriers();
        }
        let mut kept: Vec<(usize, BarrierReason)> = Vec::new();
        let mut demands: Vec<&Demand> =
            self.demands.iter().filter(|d| d.kind != DemandKind::Invocation).collect();
        demands.sort_by_key(|d| d.second);
        for demand in demands {
            // A barrier after member `b` serves whatever was done up to `b`.
            if kept.last().is_some_and(|&(b, _)| demand.first <= b || mutant!(OneBarrierIsEnough)) {
                continue;
            }
            let reason = if demand.kind == DemandKind::Trusted {
                BarrierReason::Trusted
            } else {
                BarrierReason::SameGroup
            };
            kept.push((demand.second - 1, reason));
        }
        let reports = self.barrier_reports(&kept, off);
        if off || mutant!(NoBarriers) {
            return (Vec::new(), reports);
        }
        (kept.iter().map(|&(after, _)| after).collect(), reports)
    }

    /// Lists every hand-over that is left without its barrier.
    fn trust_without_barriers(&mut self) {
        let mut known = AHashSet::new();
        for demand in self.demands.iter().filter(|d| d.kind != DemandKind::Invocation) {
            let &Demand { first, second, buffer, .. } = demand;
            if known.insert((first, second, buffer)) {
                self.trusted.push(TrustedReport {
                    first,
                    second,
                    buffer,
                    reason: Reason::BarrierSwitchedOff,
                });
            }
        }
    }

    /// What stands after each member but the last, and why.
    fn barrier_reports(&self, kept: &[(usize, BarrierReason)], off: bool) -> Vec<BarrierReport> {
        // How many demands of each sort begin and end here: at most all of one list, whatever its length.
        let mut changes = vec![(0i64, 0i64); self.forms.len() + 1];
        for demand in &self.demands {
            let (from, to) = (demand.first - self.start, demand.second - self.start);
            let private = demand.kind == DemandKind::Invocation;
            for (at, step) in [(from, 1), (to, -1)] {
                let count = if private { &mut changes[at].0 } else { &mut changes[at].1 };
                *count += step;
            }
        }
        let mut kept = kept.iter().copied().peekable();
        let (mut private, mut shared) = (0, 0);
        (self.start..self.end().saturating_sub(1))
            .map(|after| {
                let (a, b) = changes[after - self.start];
                (private, shared) = (private + a, shared + b);
                let here = kept.next_if(|&(at, _)| at == after);
                let reason = match here {
                    Some(_) if off => BarrierReason::SwitchedOff,
                    Some((_, reason)) => reason,
                    None if shared > 0 => BarrierReason::Covered,
                    None if private > 0 => BarrierReason::SameInvocation,
                    None => BarrierReason::NoDependency,
                };
                BarrierReport { after, kept: here.is_some() && !off, reason }
            })
            .collect()
    }
}

/// Why a kernel should not take single elements from its work-group through memory, if it should not.
///
/// Measured on an H200 (driver 580.159.04), rows of 1,024, a kernel that reduces each row and one that uses the result on
/// the row: fused they take 1.22 times as long as unfused at 8 M elements and 1.38 times at 134 M. Every invocation waits
/// for the element in every round of its loop. Handing whole rows over through memory pays: 1.31 and 1.14 times faster.
fn slow_broadcast(next: &Submission, limits: &Limits) -> Option<Reason> {
    let limit = limits.max_broadcast_bytes?;
    let bytes = next.args.iter().map(|arg| arg.len).sum();
    (bytes > limit).then_some(Reason::SlowBroadcast { bytes, limit })
}

/// Whether two submissions use one buffer.
pub(in crate::plan) fn have_in_common(a: &Submission, b: &Submission) -> bool {
    a.args.iter().any(|arg| b.args.iter().any(|other| arg.buffer == other.buffer))
}

/// Whether an access reads what the driver takes for unchanged while the kernel runs: through a uniform buffer, or by sampling.
fn is_constant(submission: &Submission, access: &Access) -> bool {
    let kind = submission.kernel.interface.bindings[access.binding].kind;
    kind == BindingKind::UniformBuffer || kind.is_sampled() && !mutant!(SampledImagesAreCoherent)
}

/// One of the hazards, left out by a mutation.
fn forgotten(touch: &Touch, kind: AccessKind) -> bool {
    let (reads, writes) = (kind != AccessKind::Write, kind.writes());
    mutant!(IgnoreReadAfterWrite) && touch.writes && !touch.reads && reads && !writes
        || mutant!(IgnoreWriteAfterRead) && touch.reads && !touch.writes && writes && !reads
        || mutant!(IgnoreWriteAfterWrite) && touch.writes && writes && !touch.reads && !reads
}

/// Whether a kernel can stand in one module with the members of a group at all.
fn compatible(members: &[Submission], next: &Submission) -> Result<(), Reason> {
    let Ok(next) = &next.kernel.normal else { return Ok(()) };
    let mut normals = members.iter().filter_map(|member| member.kernel.normal.as_ref().ok());
    normals.try_for_each(|member| member.modes.agree(&next.modes))
}

/// An access, for people.
pub(crate) fn site(list: &[Submission], submission: usize, access: usize) -> AccessSite {
    let kernel = &list[submission].kernel;
    let analysis = kernel.normal.as_ref().ok().map(|n| &n.analysis);
    let found: Option<(&KernelAnalysis, &Access)> = analysis.and_then(|a| Some((a, a.accesses.get(access)?)));
    let at = found
        .and_then(|(_, a)| kernel.interface.bindings.get(a.binding))
        .map_or(SetBinding::default(), |b| b.at);
    let kind = found.map_or(AccessKind::Read, |(_, a)| a.kind);
    AccessSite {
        submission,
        kernel: kernel.name.clone(),
        at,
        kind,
        index: found.map_or_else(String::new, |(analysis, a)| analysis.describe(a)),
        lines: kernel.module.lines(at, kind != AccessKind::Read).to_vec(),
        is_texel: found.is_some_and(|(_, a)| a.texel.is_some()),
        unfollowed: found.and_then(|(_, a)| cause::unfollowed(&list[submission], a)),
    }
}
