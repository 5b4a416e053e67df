//! Whether following a program is worth it.
//!
//! A device has an account. On it stand the processor's time that the layer takes of the program's threads, and what replaced command buffers
//! have saved, as their trials found. The layer looks away (`gate`) once nothing it sees can be fused, while what it saw is being built, and
//! whenever it has taken more than [`ALLOWANCE`] and a hundredth of the program's time beyond what it saved. It looks again when a pipeline is
//! made, when all is built, and at times that get rarer.

use std::time::{Duration, Instant};

/// Time for trials.
const ALLOWANCE: Duration = Duration::from_millis(50);
/// The part of the program's time that may be taken: this is its denominator.
const PART: u32 = 100;
/// Submissions in which nothing happens until the layer looks away: where nothing is known to be fused, where something is on trial, where
/// something was fused, and where what was seen is being built.
const QUIET: u32 = 16;
const QUIET_TRIED: u32 = 64;
const QUIET_WON: u32 = 256;
const QUIET_BUILDING: u32 = 4;
/// Until it looks again: at first, and at most.
const FIRST: Duration = Duration::from_secs(10);
const LAST: Duration = Duration::from_secs(320);

/// What came of a submission that was followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    Nothing,
    /// Something is being built.
    Building,
    /// A side of a trial ran.
    Tried,
    /// The layer's command buffer ran, and saves this, all that the layer does for it taken away.
    Won(Duration),
}

/// Why the layer looks away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Quiet,
    Building,
    Costly,
}

/// The account of a device.
pub(crate) struct Account {
    begun: Instant,
    cost: Duration,
    saved: Duration,
    /// Submissions since something happened.
    quiet: u32,
    is_building: bool,
    has_won: bool,
    away: Option<(Why, Instant)>,
    patience: Duration,
}

impl Account {
    pub(crate) fn new(now: Instant) -> Account {
        Account {
            begun: now,
            cost: Duration::ZERO,
            saved: Duration::ZERO,
            quiet: 0,
            is_building: false,
            has_won: false,
            away: None,
            patience: FIRST,
        }
    }

    fn is_costly(&self, now: Instant) -> bool {
        self.cost > self.saved + ALLOWANCE + now.duration_since(self.begun) / PART
    }

    /// A submission was followed, which took this time: whether to look away. `are_open`: there are trials without a decision.
    pub(crate) fn followed(
        &mut self,
        now: Instant,
        spent: Duration,
        outcome: Outcome,
        are_open: bool,
    ) -> Option<Why> {
        match outcome {
            // What it saves is without what was spent.
            Outcome::Won(saved) => {
                self.saved += saved;
                (self.quiet, self.has_won, self.patience) = (0, true, FIRST);
            }
            Outcome::Tried => self.quiet = 0,
            Outcome::Building => self.is_building = true,
            Outcome::Nothing => {}
        }
        if !matches!(outcome, Outcome::Won(_)) {
            self.cost += spent;
        }
        self.quiet += u32::from(outcome <= Outcome::Building);
        let (most, why) = match (self.has_won, self.is_building, are_open) {
            (true, ..) => (QUIET_WON, Why::Quiet),
            (false, true, _) => (QUIET_BUILDING, Why::Building),
            (false, false, true) => (QUIET_TRIED, Why::Quiet),
            (false, false, false) => (QUIET, Why::Quiet),
        };
        let why =
            if self.is_costly(now) { Some(Why::Costly) } else { Some(why).filter(|_| self.quiet >= most) };
        if let Some(why) = why {
            self.away = Some((why, now));
        }
        why
    }

    /// A submission was passed on: whether to look again.
    pub(crate) fn passed(&mut self, now: Instant, has_news: bool, is_building: bool) -> bool {
        let Some((why, since)) = self.away else { return false };
        let is_late = now.duration_since(since) >= self.patience;
        let looks = match why {
            Why::Building => !is_building,
            Why::Quiet => has_news || is_late,
            Why::Costly => is_late,
        };
        if !looks || self.is_costly(now) {
            return false;
        }
        if is_late {
            self.patience = (self.patience * 2).min(LAST);
        }
        (self.quiet, self.is_building, self.has_won, self.away) = (0, false, false, None);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(1);
    const SPENT: Duration = Duration::from_micros(150);

    /// A program that submits each millisecond, in made-up time.
    struct Program(Account, Instant);

    impl Program {
        fn new() -> Program {
            let now = Instant::now();
            Program(Account::new(now), now)
        }

        /// Submissions until the layer looks away, and why.
        fn followed(&mut self, outcome: Outcome, are_open: bool) -> (u32, Option<Why>) {
            for count in 1..100_000 {
                self.1 += STEP;
                if let Some(why) = self.0.followed(self.1, SPENT, outcome, are_open) {
                    return (count, Some(why));
                }
            }
            (100_000, None)
        }

        /// Seconds until it looks again.
        fn passed(&mut self) -> u64 {
            let since = self.1;
            while !self.0.passed(self.1, false, false) {
                self.1 += STEP;
            }
            self.1.duration_since(since).as_secs()
        }
    }

    #[test]
    fn nothing_to_fuse_is_looked_at_ever_more_rarely() {
        let mut program = Program::new();
        let mut waits = Vec::new();
        for _ in 0..7 {
            assert_eq!(program.followed(Outcome::Nothing, false), (QUIET, Some(Why::Quiet)));
            waits.push(program.passed());
        }
        assert_eq!(waits, [10, 20, 40, 80, 160, 320, 320]);
    }

    #[test]
    fn a_pipeline_has_it_look_at_once() {
        let mut program = Program::new();
        program.followed(Outcome::Nothing, false);
        let Program(account, now) = &mut program;
        assert!(!account.passed(*now, false, false));
        assert!(account.passed(*now, true, false));
    }

    #[test]
    fn it_looks_away_while_something_is_built() {
        let mut program = Program::new();
        assert_eq!(program.followed(Outcome::Building, false), (QUIET_BUILDING, Some(Why::Building)));
        let Program(account, now) = &mut program;
        assert!(!account.passed(*now, true, true));
        assert!(account.passed(*now, false, false));
    }

    #[test]
    fn what_is_saved_is_kept() {
        let mut program = Program::new();
        assert_eq!(program.followed(Outcome::Won(STEP / 10), false), (100_000, None));
        // Until it comes no more.
        assert_eq!(program.followed(Outcome::Nothing, false), (QUIET_WON, Some(Why::Quiet)));
    }

    #[test]
    fn trials_without_an_end_cost_what_they_may_and_no_more() {
        let mut program = Program::new();
        let begun = program.1;
        let mut spent = Duration::ZERO;
        for _ in 0..6 {
            let (count, why) = program.followed(Outcome::Tried, true);
            assert_eq!(why, Some(Why::Costly));
            spent += count * SPENT;
            assert!(spent <= ALLOWANCE + program.1.duration_since(begun) / PART + SPENT);
            assert!(!program.0.passed(program.1, true, false), "not even for a pipeline");
            program.passed();
        }
    }
}
