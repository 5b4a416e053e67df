//! A plan of a list in another order, told in the positions of the list as it was submitted.

use super::Plan;
use super::report::{AloneReason, Report};
use crate::reason::{AccessPair, Reason, RewriteReason};

/// Positions in the order in which they are done become positions in the list: number `n` is `order[n]`.
struct Positions<'a>(&'a [usize]);

impl Positions<'_> {
    fn of(&self, position: &mut usize) {
        *position = self.0[*position];
    }

    /// Things in the order in which they are done, in the order of the list.
    fn sort<T: Default>(&self, things: Vec<T>) -> Vec<T> {
        let mut sorted: Vec<T> = things.iter().map(|_| T::default()).collect();
        things.into_iter().zip(self.0).for_each(|(thing, &at)| sorted[at] = thing);
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
            | Reason::SharedElements { pair, between_groups: _ } => self.pair(pair),
            Reason::OldContents { submission, .. }
            | Reason::MayLeaveRange { submission, .. }
            | Reason::MayLeaveArray { submission, .. } => self.of(submission),
            _ => {}
        }
    }

    fn rewrite(&self, reason: &mut RewriteReason) {
        match reason {
            RewriteReason::NoDefinition { producer, .. }
            | RewriteReason::NoItem { producer, .. }
            | RewriteReason::NoLoads { producer, .. }
            | RewriteReason::NotStored { producer } => self.of(producer),
            RewriteReason::Overwritten { producer, writer } => {
                self.of(producer);
                self.of(writer);
            }
            RewriteReason::Rejected(reason) => self.reason(reason),
            _ => {}
        }
    }

    fn report(&self, report: &mut Report) {
        // Values are renamed before a list is put in another order.
        let Report { groups, splits, buffers, trusted, rewrites, inlined, reordered: _, renamed: _ } = report;
        for group in groups {
            group.members = group.members.renumbered(self.0);
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
    }
}

impl Plan {
    /// The plan of a list in this order, as one of the list.
    pub(super) fn renumbered(mut self, order: &[usize]) -> Self {
        let positions = Positions(order);
        for step in &mut self.steps {
            step.members = step.members.renumbered(order);
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
            self.placed.iter_mut().for_each(|(at, _)| positions.of(at));
            self.rewritten = self.rewritten.map(|list| {
                let list = positions.sort(list.into_iter().map(Some).collect());
                list.into_iter().flatten().collect()
            });
        }
        self
    }
}
