//! A plan of a list in another order, or of some of its submissions, expressed in the positions of the list as it was submitted.

use crate::plan::input::submission::{Internalization, Promote, Submission};
use crate::plan::output::plan::Plan;
use crate::plan::output::report::{AloneReason, BufferReport, Report};
use crate::reason::{AccessPair, Reason, RewriteReason};

/// Positions in the order in which they are done become positions in the list: number `n` is `order[n]`.
struct Positions<'a> {
    order: &'a [usize],
    /// How long the list is.
    len: usize,
}

impl Positions<'_> {
    fn of(&self, position: &mut usize) {
        *position = self.order[*position];
    }

    /// Things in the order in which they are done, in the order of the list.
    fn sort<T: Default>(&self, things: Vec<T>) -> Vec<T> {
        let mut sorted: Vec<T> = (0..self.len).map(|_| T::default()).collect();
        things.into_iter().zip(self.order).for_each(|(thing, &at)| sorted[at] = thing);
        sorted
    }

    fn pair(&self, pair: &mut AccessPair) {
        self.of(&mut pair.first.submission);
        self.of(&mut pair.second.submission);
    }

    fn reason(&self, reason: &mut Reason) {
        match reason {
            Reason::CrossGroup(pair)
            | Reason::UniformWritten(pair)
            | Reason::SampledWritten(pair)
            | Reason::SharedElements { pair, between_groups: _ } => self.pair(pair),
            Reason::OldContents { submission, writer, .. } => {
                self.of(submission);
                *writer = writer.map(|at| self.order[at as usize] as u32);
            }
            Reason::MayLeaveRange { submission, .. }
            | Reason::MayLeaveArray { submission, .. }
            | Reason::LocalSize { earlier: submission, .. } => self.of(submission),
            _ => {}
        }
    }

    fn rewrite(&self, reason: &mut RewriteReason) {
        match reason {
            RewriteReason::NoDefinition { producer, .. }
            | RewriteReason::NoItem { producer, .. }
            | RewriteReason::NoSite { producer, .. }
            | RewriteReason::NoLoads { producer, .. }
            | RewriteReason::NotStored { producer } => self.of(producer),
            RewriteReason::NotFree { submission, .. } => self.of(submission),
            RewriteReason::NoEpilogue { submission, producer, of, access, .. } => {
                [submission, producer, of].into_iter().for_each(|at| self.of(at));
                access.iter_mut().for_each(|access| self.of(&mut access.submission));
            }
            RewriteReason::TooEarly { submission, producer, other, .. } => {
                [submission, producer, other].into_iter().for_each(|at| self.of(at));
            }
            RewriteReason::SeveralElements { producer, pair, otherwise } => {
                self.of(producer);
                self.pair(pair);
                otherwise.iter_mut().for_each(|otherwise| self.rewrite(otherwise));
            }
            RewriteReason::Overwritten { producer: one, writer: other }
            | RewriteReason::Count { submission: one, partner: other, .. }
            | RewriteReason::Places { submission: one, partner: other, .. } => {
                self.of(one);
                self.of(other);
            }
            RewriteReason::Rejected(reason) => self.reason(reason),
            _ => {}
        }
    }

    fn report(&self, report: &mut Report) {
        let Report { groups, splits, buffers, trusted, rewrites, inlined, epilogues, reordered, renamed } =
            report;
        // Both are found out after a list was put in another order, and before others are put among its submissions.
        reordered.iter_mut().flat_map(|one| &mut one.order).for_each(|at| self.of(at));
        for one in renamed {
            one.arguments.iter_mut().for_each(|(at, _)| self.of(at));
            one.overwritten_by.iter_mut().for_each(|at| self.of(at));
        }
        for group in groups {
            group.members = group.members.renumbered(self.order);
            group.barriers.iter_mut().for_each(|barrier| self.of(&mut barrier.after));
            if let Some(AloneReason::Member { submission, .. } | AloneReason::Guarded { submission }) =
                &mut group.alone
            {
                self.of(submission);
            }
        }
        for split in splits {
            self.of(&mut split.after);
            self.reason(&mut split.reason);
            split.detail = split.reason.detail();
            split.tried.iter_mut().for_each(|tried| self.rewrite(tried));
        }
        buffers.iter_mut().filter_map(|one| one.reason.as_mut()).for_each(|reason| self.reason(reason));
        for one in trusted {
            self.of(&mut one.first);
            self.of(&mut one.second);
            self.reason(&mut one.reason);
        }
        for one in rewrites {
            self.of(&mut one.submission);
            self.of(&mut one.partner);
        }
        for one in inlined {
            self.of(&mut one.submission);
            self.of(&mut one.producer);
        }
        for one in epilogues {
            self.of(&mut one.submission);
            self.of(&mut one.producer);
        }
    }
}

impl Plan {
    /// The plan of a list in this order, as one of the list.
    pub(in crate::plan) fn renumbered(self, order: &[usize]) -> Self {
        self.in_positions(&Positions { order, len: order.len() })
    }

    /// The plan of the submissions at these positions of a list, in order, as one of the list. The others have no work-groups.
    pub(in crate::plan) fn among(self, positions: &[usize], list: &[Submission]) -> Self {
        let mut plan = self.in_positions(&Positions { order: positions, len: list.len() });
        let others = || (0..list.len()).filter(|&at| !list[at].runs());
        // They come anywhere, so they may come last.
        plan.report.reordered.iter_mut().for_each(|one| one.order.extend(others()));
        for arg in others().flat_map(|at| &list[at].args).filter(|arg| arg.promote != Promote::None) {
            if plan.report.buffers.iter().all(|one| one.buffer != arg.buffer) {
                plan.report.buffers.push(BufferReport {
                    buffer: arg.buffer,
                    asked: arg.promote,
                    got: Internalization::None,
                    reason: Some(Reason::NoWorkGroups),
                    not_local: None,
                });
            }
        }
        #[cfg(feature = "certify")]
        if let Some(rewritten) = &mut plan.rewritten {
            let mut whole = list.to_vec();
            positions.iter().zip(rewritten.drain(..)).for_each(|(&at, one)| whole[at] = one);
            *rewritten = whole;
        }
        plan
    }

    fn in_positions(mut self, positions: &Positions<'_>) -> Self {
        for step in &mut self.steps {
            step.members = step.members.renumbered(positions.order);
            let passed = step.origins.iter_mut().flat_map(|origin| origin.passed());
            passed.for_each(|part| positions.of(&mut part.submission));
        }
        positions.report(&mut self.report);
        self.values.sort(|words| positions.sort(words));
        #[cfg(feature = "certify")]
        {
            for verdict in &mut self.verdicts {
                positions.of(&mut verdict.first.0);
                positions.of(&mut verdict.second.0);
            }
            for again in &mut self.again {
                positions.of(&mut again.producer);
                positions.of(&mut again.next);
            }
            let behind = self.behind.iter_mut().flat_map(|behind| &mut behind.positions);
            behind.for_each(|at| positions.of(at));
            self.placed.iter_mut().for_each(|(at, _)| positions.of(at));
            self.rewritten = self.rewritten.map(|list| {
                let list = positions.sort(list.into_iter().map(Some).collect());
                list.into_iter().flatten().collect()
            });
        }
        self
    }
}
