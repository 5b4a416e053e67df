//! Autotuning: the first runs of a list are measured where the planner does not know which way to run it is the fastest.
//!
//! A list is *in doubt* where [`doubts`](crate::jit::doubts) names other ways to run it. Its first runs take turns among the ways. All ways give the
//! same bits, so every measured run is one that the program asked for. The device takes the times, and
//! no call waits for a time or for code: a way takes part once a background thread has built it. The usual way stays
//! unless another has a clearly smaller median. The choice is kept in the persistent store, under the driver's
//! identity.
//!
//! The time of a list that was fused by force may depend on the contents of its buffers (indices in order, or not). So it is watched: a run is timed now and
//! then, also the first of a process, and where one takes longer than the usual way did, all ways are measured again.
//!
//! # Guarantees
//! - a way that is clearly slower gets no third turn
//! - a list that is not in doubt costs a look at its plan, and one that is known nothing

use std::{num::NonZeroUsize, time::Duration};

use lru::LruCache;
use parking_lot::Mutex;
use smallvec::SmallVec;
use vkfuse_cache::Entry;

use super::programs::Programs;
use crate::{
    jit::{FuseOptions, Plan, Way},
    report::list::{ChoiceReport, WayReport},
    vk::Submitted,
};

/// Most lists that are remembered.
const CAPACITY: usize = 256;
/// Times that are measured for each way.
const TURNS: usize = 5;
/// Number of first turns whose times do not count: caches and clocks are cold, and memory is new.
const COLD: usize = 1;
/// Turns after which a way that was never within [`HOPELESS`] of the best is given up.
const EARLY: usize = 2;
const HOPELESS: f64 = 1.25;
/// Another way has to take less than this much of the usual one's time.
const BETTER: f64 = 0.98;
/// Runs after which a list is no longer measured, whatever is still missing. Runs during which a way is being built do not count.
const PATIENCE: u32 = 256;
/// A watched run that takes more than this of the usual way's time has everything measured anew.
const WORSE: f64 = 1.05;

/// The section of an entry of the store that says which way is the fastest.
pub(crate) const CHOICE: &str = "choice";

/// What a context measured.
#[derive(Debug)]
pub(crate) struct Autotune {
    is_on: bool,
    trials: Mutex<LruCache<[u8; 32], Trial>>,
}

/// A list in doubt.
#[derive(Debug)]
struct Trial {
    /// The usual way first.
    ways: SmallVec<[Measured; 3]>,
    runs: u32,
    chosen: Option<Chosen>,
}

/// The way that stays.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Chosen {
    way: Way,
    /// Nanoseconds of the usual way, when they were measured together.
    usual: u64,
}

#[derive(Debug)]
struct Measured {
    way: Way,
    /// Runs that are not known to be complete.
    pending: SmallVec<[Submitted; 4]>,
    turns: usize,
    /// Nanoseconds, without those of cold runs.
    times: SmallVec<[u64; TURNS]>,
    is_given_up: bool,
}

/// How a list in doubt runs now.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) way: Way,
    /// What is known of the ways.
    pub(crate) report: ChoiceReport,
    /// Where its time goes, if this run is one that is measured.
    pub(crate) turn: Option<Turn>,
}

/// Whether the code of a way is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    Ready,
    /// A background thread builds it.
    Building,
    Missing,
}

/// A run that is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    list: [u8; 32],
    way: Way,
}

impl Autotune {
    pub(crate) fn new(is_on: bool) -> Autotune {
        let room = NonZeroUsize::new(CAPACITY).unwrap_or(NonZeroUsize::MIN);
        Autotune { is_on, trials: Mutex::new(LruCache::new(room)) }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// How to run a list with this usual plan, for which there are these other ways. `code` says of a way whether its code is there, and sees to it
    /// that it will be; where the run may not be measured, what is known decides.
    pub(crate) fn choose(
        &self,
        programs: &Programs,
        (plan, options): (&Plan, &FuseOptions),
        others: &[Way],
        may_measure: bool,
        mut code: impl FnMut(Way) -> Code,
    ) -> Choice {
        let list = structure(plan, options);
        // Which ways there are may be another matter with other buffers.
        let may_run = |way: Way| way == Way::Usual || others.contains(&way);
        let mut trials = self.trials.lock();
        if !trials.contains(&list) {
            // Only lists in doubt wait for the store here.
            let chosen = stored(programs, &list);
            let chosen = chosen.filter(|one| may_run(one.way));
            trials.put(list, Trial::new(others, chosen));
        }
        let Some(trial) = trials.get_mut(&list) else { return Choice::usual() };
        trial.allow(others);
        trial.gather(|run| programs.gpu.is_done(run.point));
        if trial.chosen.is_none()
            && let Some(found) = trial.decide()
        {
            trial.chosen = Some(found);
            keep(programs, &list, trial);
        }
        let way = match trial.chosen {
            // It has to be watched.
            Some(Chosen { way: Way::Forced, .. }) if !may_measure => Way::Usual,
            Some(Chosen { way, .. }) if !may_run(way) => Way::Usual,
            Some(chosen) => chosen.way,
            None if may_measure => {
                trial.next(&mut |way| if may_run(way) { code(way) } else { Code::Missing })
            }
            None => Way::Usual,
        };
        let is_timed = may_measure && (trial.chosen.is_none() || way == Way::Forced);
        Choice { way, report: trial.report(way), turn: is_timed.then_some(Turn { list, way }) }
    }

    /// Notes that a run was submitted.
    pub(crate) fn ran(&self, turn: Turn, submitted: &Submitted) {
        let mut trials = self.trials.lock();
        let Some(trial) = trials.get_mut(&turn.list) else { return };
        let Some(measured) = trial.ways.iter_mut().find(|one| one.way == turn.way) else { return };
        measured.turns += 1;
        if submitted.profile.is_some() {
            measured.pending.push(submitted.clone());
        } else {
            // The queue tells no times.
            trial.chosen = Some(Chosen { way: Way::Usual, usual: 0 });
        }
    }

    /// Forgets what is in memory.
    pub(crate) fn clear(&self) {
        self.trials.lock().clear();
    }
}

impl Choice {
    fn usual() -> Choice {
        let report = ChoiceReport { way: Way::Usual, is_decided: false, measured: Vec::new() };
        Choice { way: Way::Usual, report, turn: None }
    }
}

impl Trial {
    fn new(others: &[Way], chosen: Option<Chosen>) -> Trial {
        let mut trial = Trial { ways: SmallVec::new(), runs: 0, chosen };
        trial.allow(&[Way::Usual]);
        trial.allow(others);
        trial
    }

    /// Takes in ways that it does not have yet.
    fn allow(&mut self, ways: &[Way]) {
        for &way in ways {
            if self.ways.iter().all(|one| one.way != way) {
                let (pending, times) = (SmallVec::new(), SmallVec::new());
                self.ways.push(Measured { way, pending, turns: 0, times, is_given_up: false });
            }
        }
    }

    /// Takes the times of runs that are complete.
    fn gather(&mut self, is_done: impl Fn(&Submitted) -> bool) {
        if let Some(chosen) = self.chosen {
            self.watch(chosen, is_done);
            return;
        }
        for one in &mut self.ways {
            let pending = std::mem::take(&mut one.pending);
            for (number, run) in (one.turns - pending.len()..).zip(pending) {
                if !is_done(&run) {
                    one.pending.push(run);
                } else if number >= COLD {
                    let time = run.profile.as_ref().and_then(|profile| profile.gpu_time());
                    // The usual way runs for as long as others are being built: its first times are enough.
                    let time = time.filter(|_| one.times.len() < PATIENCE as usize);
                    one.times.extend(time.map(|time| time.as_nanos() as u64));
                }
            }
        }
        let best = self.ways.iter().filter_map(Measured::least).min();
        for one in self.ways.iter_mut().skip(1).filter(|one| one.times.len() >= EARLY) {
            if let (Some(best), Some(least)) = (best, one.least()) {
                one.is_given_up |= least as f64 > HOPELESS * best as f64;
            }
        }
    }

    /// Looks at the times of runs after the way was chosen, and starts anew where one was worse than the usual way.
    fn watch(&mut self, chosen: Chosen, is_done: impl Fn(&Submitted) -> bool) {
        let mut times: SmallVec<[Duration; 4]> = SmallVec::new();
        for one in &mut self.ways {
            one.pending.retain(|run| {
                let is_done = is_done(run);
                if is_done && one.way == chosen.way {
                    times.extend(run.profile.as_ref().and_then(|profile| profile.gpu_time()));
                }
                !is_done
            });
        }
        times.into_iter().for_each(|time| self.saw(chosen, time));
    }

    /// A run of the chosen way took so long.
    fn saw(&mut self, chosen: Chosen, time: Duration) {
        if chosen.way != Way::Usual && time.as_nanos() as f64 > WORSE * chosen.usual as f64 {
            tracing::info!(way = %chosen.way, "a list takes longer than when it was measured, and is measured anew");
            let others: Vec<Way> = self.ways.iter().skip(1).map(|one| one.way).collect();
            *self = Trial::new(&others, None);
        }
    }

    /// The way that is the fastest, once that is known.
    fn decide(&self) -> Option<Chosen> {
        let usual = &self.ways[0];
        let others = || self.ways[1..].iter().filter(|one| !one.is_given_up);
        let is_over = self.runs >= PATIENCE;
        let is_measured = |one: &Measured| one.times.len() >= TURNS;
        if !is_over && others().count() > 0 && !(is_measured(usual) && others().all(is_measured)) {
            return None;
        }
        let limit = usual.median().map(|usual| usual as f64 * BETTER);
        let measured = others().filter(|one| is_measured(one));
        let best = measured.filter_map(|one| Some((one.median()?, one.way))).min_by_key(|(time, _)| *time);
        let way = match (best, limit) {
            (Some((time, way)), Some(limit)) if (time as f64) < limit => way,
            _ => Way::Usual,
        };
        Some(Chosen { way, usual: usual.median().unwrap_or(0) })
    }

    /// Whose turn it is: of the ways that can run, the one that had the fewest.
    fn next(&mut self, code: &mut impl FnMut(Way) -> Code) -> Way {
        let ways = self.ways.iter().filter(|one| !one.is_given_up && one.turns < COLD + TURNS);
        let ways = ways.map(|one| (one, if one.way == Way::Usual { Code::Ready } else { code(one.way) }));
        let ways: SmallVec<[_; 3]> = ways.collect();
        // How long a build takes says nothing about the speed of the code.
        self.runs += u32::from(ways.iter().all(|(_, code)| *code != Code::Building));
        let ready = ways.into_iter().filter_map(|(one, code)| (code == Code::Ready).then_some(one));
        let mut ready: SmallVec<[_; 3]> = ready.collect();
        // The usual one goes first.
        ready.sort_by_key(|one| one.turns);
        ready.first().map_or(Way::Usual, |one| one.way)
    }

    fn report(&self, way: Way) -> ChoiceReport {
        let of = |one: &Measured| WayReport {
            way: one.way,
            runs: one.times.len() as u32,
            gpu_time: one.median().map(Duration::from_nanos),
            is_given_up: one.is_given_up,
        };
        ChoiceReport { way, is_decided: self.chosen.is_some(), measured: self.ways.iter().map(of).collect() }
    }
}

impl Measured {
    fn least(&self) -> Option<u64> {
        self.times.iter().copied().min()
    }

    fn median(&self) -> Option<u64> {
        let mut times = self.times.clone();
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    }
}

/// What makes two lists one, as far as time goes: the code of the usual way, and how much there is to do.
fn structure(plan: &Plan, options: &FuseOptions) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("{options:?}").as_bytes());
    for step in &plan.steps {
        hasher.update(&step.key);
        for count in step.groups {
            hasher.update(&count.to_le_bytes());
        }
        for bound in &step.bindings {
            hasher.update(&bound.len.to_le_bytes());
        }
    }
    *hasher.finalize().as_bytes()
}

/// What an earlier context found out, on this device with this driver.
fn stored(programs: &Programs, list: &[u8; 32]) -> Option<Chosen> {
    let entry = programs.store.get(&programs.identity.of_choice(list)).ok()?;
    let (word, usual) = std::str::from_utf8(entry.section(CHOICE)?).ok()?.split_once(' ')?;
    let way = Way::ALL.into_iter().find(|way| way.to_string() == word)?;
    Some(Chosen { way, usual: usual.parse().ok()? })
}

fn keep(programs: &Programs, list: &[u8; 32], trial: &Trial) {
    let Some(Chosen { way, usual }) = trial.chosen else { return };
    let said = |one: &Measured| one.median().map(|time| format!("{} {:.1} µs", one.way, time as f64 / 1e3));
    let times = trial.ways.iter().filter_map(said).collect::<Vec<_>>().join(", ");
    tracing::info!(%way, times, "a list that was in doubt was measured");
    if programs.writes() {
        let entry = Entry::new().with(CHOICE, format!("{way} {usual}").into_bytes());
        // What becomes of it is reported by an event.
        let _ = programs.store.put_later(&programs.identity.of_choice(list), entry);
    }
}

#[cfg(test)]
mod tests;
