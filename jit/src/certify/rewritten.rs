//! What each rewrite of a list rests on.

use std::sync::Arc;

use super::behind::Epilogue;
use super::by_rounds::ByRounds;
use super::inlined::Inlined;
use super::placed::{Placed, Wrong};
use super::text::Inquiry;
use super::{Checker, Claim, Outcome, group};
use crate::plan::output::again::{Again, Behind, Counted, Left};
use crate::plan::{RenameReport, Submission};

impl Checker<'_, '_> {
    /// A list that is done in another order: nothing to be solved, for the arguments are numbers.
    pub(super) fn reordered(&mut self, asked: &[Submission], order: &[usize]) {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        let outcome = match sorted.into_iter().eq(0..asked.len()) {
            true => Outcome::Proved,
            false => Outcome::Refuted("not each submission is done once".to_owned()),
        };
        self.push(Claim::Shape, format!("order {order:?}"), outcome, None);
        let written: Vec<Option<Vec<usize>>> = asked.iter().map(group::written).collect();
        for (number, &later) in order.iter().enumerate() {
            for &earlier in order[number..].iter().filter(|&&at| at < later) {
                let pair = [earlier, later].map(|at| (&asked[at], written[at].as_deref()));
                let outcome = match group::common(pair) {
                    None => Outcome::Proved,
                    Some(what) => Outcome::Refuted(what),
                };
                let subject = format!("submissions {earlier} and {later}");
                self.push(Claim::Order, subject, outcome, None);
            }
        }
    }

    /// A value that is not in memory, of a list in which those before it have buffers of their own: nothing to be solved, for the
    /// arguments are numbers. That others overwrite it is not claimed.
    pub(super) fn renamed(&mut self, list: &[Submission], value: &RenameReport) {
        let subject = format!("buffer {}, {:?}", value.buffer.0, value.arguments);
        let outcome = group::missed(list, value).map_or(Outcome::Proved, Outcome::Refuted);
        self.push(Claim::Renamed, subject, outcome, None);
    }

    /// Says whether two submissions fit together, whatever their instructions do.
    fn fits(&mut self, whole: &str, mismatch: Option<String>) -> bool {
        let fits = mismatch.is_none();
        self.push(Claim::Shape, whole.to_owned(), mismatch.map_or(Outcome::Proved, Outcome::Refuted), None);
        fits
    }

    /// Says that nothing is claimed of what is not read.
    fn unread(&mut self, claim: Claim, whole: String, cause: &str) {
        self.push(claim, whole, Outcome::Unknown(cause.to_owned()), None);
    }

    /// A submission in which a producer is computed.
    pub(super) fn inlined(&mut self, again: &Again) {
        if let Some((own, counted)) = &again.by_rounds {
            self.by_rounds(own, &again.source, *counted);
        }
        let whole = format!("submission {}, for loads of submission {}", again.producer, again.next);
        let pair = if again.is_texels { None } else { Inlined::new(again) };
        let Some(pair) = pair else {
            let cause = if again.is_texels { "texels are not followed" } else { "the kernels are not read" };
            return self.unread(Claim::Inlined, whole, cause);
        };
        let order = self.plan.report.reordered.as_ref().map(|one| &*one.order);
        if !self.fits(&whole, pair.mismatch((self.list, order), &self.plan.again)) {
            return;
        }
        let subject = format!("{whole}: one item for each element");
        self.ask(Claim::Inlined, subject, &mut |attempt| pair.once(&mut pair.world(), attempt > 0));
        if pair.has_sites() {
            let subject = format!("{whole}: one element for each store of an item");
            let mut make = |attempt| pair.sites_apart(&mut pair.world(), attempt > 0);
            self.ask(Claim::Inlined, subject, &mut make);
        } else if pair.has_several() {
            let subject = format!("{whole}: one store for each item");
            let mut make = |attempt| pair.one_store(&mut pair.world(), attempt > 0);
            self.ask(Claim::Inlined, subject, &mut make);
        }
        for load in pair.loads() {
            let subject = format!("{whole}: what is loaded at {:?} is stored", load.at);
            self.ask(Claim::Inlined, subject, &mut |attempt| {
                pair.stored(&mut pair.world(), load, attempt > 0)
            });
            if again.below || again.above {
                let subject = format!("{whole}: what is still loaded at {:?} is not stored", load.at);
                let mut make = |attempt| pair.apart(&mut pair.world(), load, attempt > 0);
                self.ask(Claim::Inlined, subject, &mut make);
            }
        }
    }

    /// A submission that is done where another stores.
    pub(super) fn behind(&mut self, behind: &Behind) {
        if let Some((own, counted)) = &behind.by_rounds {
            self.by_rounds(own, &behind.list[behind.next], *counted);
        }
        let [producer, next] = behind.positions;
        let whole = format!("submission {next}, behind the stores of submission {producer}");
        let Some(pair) = Epilogue::new(behind) else {
            return self.unread(Claim::Behind, whole, "the kernels are not read");
        };
        if !self.fits(&whole, pair.mismatch()) {
            return;
        }
        let claim = Claim::Behind;
        let subject = |what: &str| format!("{whole}: {what}");
        self.ask(claim, subject("no element is stored twice"), &mut |attempt| {
            pair.once(&mut pair.world(), attempt > 0)
        });
        for (number, other) in pair.others().enumerate().filter(|&(_, other)| other > behind.producer) {
            let what = subject(&format!("submission {other} stores none of its elements"));
            self.ask(claim, what, &mut |attempt| pair.apart_from(&mut pair.world(), number, attempt > 0));
        }
        self.ask(claim, subject("nothing else is stored"), &mut |attempt| {
            pair.apart(&mut pair.world(), attempt > 0)
        });
        self.ask(claim, subject("each element has an item"), &mut |_| pair.has_item(&mut pair.world()));
        let what = subject("an item that writes reads its element");
        self.ask(claim, what, &mut |_| pair.reads_its_element(&mut pair.world()));
        self.ask(claim, subject("its element is stored"), &mut |_| pair.stored(&mut pair.world()));
        if behind.left == Left::StoredBack {
            let what = subject("each element is stored back");
            self.ask(claim, what, &mut |_| pair.stored_back(&mut pair.world()));
        }
    }

    /// A submission that takes part in an epilogue, and was placed before, or after.
    pub(super) fn placed_beside(&mut self, own: &Submission, last: &Submission, position: usize) {
        let plan = self.plan;
        let parts = || plan.behind.iter().filter(|behind| behind.positions.contains(&position));
        let before =
            parts().next().map(|behind| match (&behind.by_rounds, behind.positions[0] == position) {
                (Some((own, _)), false) => own,
                (_, true) => &behind.list[behind.producer],
                (None, false) => &behind.list[behind.next],
            });
        let made = parts().rev().find(|behind| behind.positions[0] == position).map(|behind| &behind.made);
        let Some(before) = before else { return };
        for (_, placed) in plan.placed.iter().filter(|(at, _)| *at == position) {
            let is_made = made.is_some_and(|made| Arc::ptr_eq(&made.kernel, &placed.kernel));
            self.placed(placed, if is_made { last } else { before }, position);
        }
        let is_placed = plan.placed.iter().any(|(at, _)| *at == position);
        let is_inlined = plan.report.inlined.iter().any(|one| one.submission == position);
        if !is_placed && !is_inlined && !Arc::ptr_eq(&own.kernel, &before.kernel) {
            self.placed(own, before, position);
        }
    }

    /// A submission with a loop, and the submission that does each iteration of that as an item.
    pub(super) fn by_rounds(&mut self, own: &Submission, by: &Submission, counted: Counted) {
        let whole = format!("submission {} ({}) by rounds", counted.at, own.kernel.name);
        let Some(pair) = ByRounds::new(own, by, counted) else {
            return self.unread(Claim::Placed, whole, "the kernels are not read");
        };
        if !self.fits(&whole, pair.mismatch()) {
            return;
        }
        for is_own in [true, false] {
            for access in pair.writes(is_own) {
                let ((block, at), what) =
                    (access.at, if is_own { "every round" } else { "nothing but rounds" });
                let subject = format!("{whole}: {what}, write at {block}:{at}");
                let question = pair.question(&mut pair.world(), access, is_own);
                if let Inquiry::Asked(question) = question {
                    self.ask(Claim::Placed, subject, &mut |_| question.clone());
                }
            }
        }
        for (a, b) in pair.pairs() {
            let subject = format!("{whole}: rounds stay apart, {:?} and {:?}", a.at, b.at);
            self.ask(Claim::Placed, subject, &mut |_| pair.meeting(&mut pair.world(), a, b));
        }
    }

    /// A submission and what it was placed as.
    pub(super) fn placed(&mut self, own: &Submission, placed: &Submission, position: usize) {
        let whole = format!("submission {position} ({})", own.kernel.name);
        let mut rewrites = self.plan.report.rewrites.iter();
        let places = rewrites.find(|one| one.submission == position).map(|one| one.places);
        let Some(pair) = Placed::new(own, placed, position, places) else {
            return self.unread(Claim::Placed, whole, "it is not read how it was placed");
        };
        let fits = self.fits(&whole, pair.mismatch());
        let claims = [Wrong::Twice, Wrong::More, Wrong::Less];
        for wrong in claims.into_iter().filter(|_| fits) {
            for access in pair.writes(wrong) {
                let (block, at) = access.at;
                let what = match wrong {
                    Wrong::Twice => "no item twice",
                    Wrong::More => "nothing but items",
                    Wrong::Less => "every item",
                };
                let subject = format!("submission {position}: {what}, write at {block}:{at}");
                let mut world = pair.world();
                let question = pair.question(&mut world, access, wrong);
                if let Inquiry::Asked(question) = question {
                    self.ask(Claim::Placed, subject, &mut |_| question.clone());
                }
            }
        }
    }
}
