//! Certificates of lists: everything that their plans rest on is proved by a solver.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_CERTIFY_LISTS` | how many random lists; a hundred by default, 10,000 is the long form |
//! | `VKFUSE_CERTIFY_SECONDS` | ends the random lists after this many seconds; no limit by default |
//! | `VKFUSE_CERTIFY_THREADS` | threads for them, each with a solver of its own; one for each processor by default |
//! | `VKFUSE_CERTIFY_SEED` | begins with other lists; `SEED:LIST` shows one |
//! | `VKFUSE_CERTIFY_FILES` | a folder for the question of every certificate that is not proved |

#[path = "../solver/mod.rs"]
mod solver;

mod lists;
mod tally;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::{available_parallelism, scope};
use std::time::{Duration, Instant};

use vkfuse_fuzz::wgsl::{Generator, explain, limits};
use vkfuse_jit::certify::{Certificate, Claim, Outcome, certify};
use vkfuse_jit::plan::{FuseOptions, Plan, plan};

use lists::Named;

use solver::Process;
use tally::Tally;

/// Keeps the question of a certificate that is not proved, for a look by hand.
fn keep(one: &Certificate, name: &str) {
    let (Some(folder), Some(question)) = (std::env::var_os("VKFUSE_CERTIFY_FILES"), &one.question) else {
        return;
    };
    let names: String =
        question.symbols.iter().enumerate().map(|(n, what)| format!("; s{n}: {what}\n")).collect();
    let head = format!("; {}\n; {:?}: {:?}\n{names}", one.subject, one.claim, one.outcome);
    let file = Path::new(&folder).join(format!("{name}.smt2"));
    let _ = std::fs::write(file, format!("{head}{}(check-sat)\n(get-model)\n", question.text));
}

/// What is not proved, as text.
fn unproved(certificates: &[Certificate]) -> String {
    let bad = certificates.iter().filter(|c| c.outcome != Outcome::Proved);
    bad.map(|c| format!("{} of {}: {:?}\n", c.claim.name(), c.subject, c.outcome)).collect()
}

/// Certifies lists in several shapes of dispatch, and demands that nothing is refuted.
fn prove(name: &str, lists: Vec<Named>) -> Option<(Tally, Vec<Plan>)> {
    let mut solver = Process::start()?;
    let mut tally = Tally::default();
    let mut plans = Vec::new();
    for items in [1, 4] {
        for (n, Named { name: title, list }) in lists.iter().enumerate() {
            let plan = plan(list, &FuseOptions::default(), &lists::limits(items)).expect("a plan");
            let before = solver.time;
            let found = certify(list, &plan, &mut solver);
            let took = (solver.time - before).as_secs_f64();
            if took > 10.0 {
                println!("{title}: {} certificates took {took:.0} s", found.len());
            }
            tally.add(&found);
            for (number, one) in found.iter().enumerate().filter(|(_, c)| c.outcome != Outcome::Proved) {
                keep(one, &format!("{name}-{n}-{items}-{number}"));
                println!("{title}: {} of {}: {:?}", one.claim.name(), one.subject, one.outcome);
            }
            plans.push(plan);
        }
    }
    let (all, refuted, _) = tally.totals();
    let each = solver.time.as_secs_f64() * 1000.0 / (all.max(1) as f64);
    println!("{name}: {tally}{} questions, {each:.1} ms for a certificate", solver.asked);
    assert_eq!(refuted, 0, "{tally}");
    Some((tally, plans))
}

#[test]
fn workloads_are_proved() {
    let Some((tally, plans)) = prove("workloads", lists::workloads()) else { return };
    let claims =
        [Claim::SameInvocation, Claim::SameGroup, Claim::Covered, Claim::Slot, Claim::Shape, Claim::Inlined];
    for claim in claims {
        assert!(tally.proved(claim) > 0, "{tally}");
    }
    assert!(plans.iter().filter(|p| p.steps.len() == 1).count() > plans.len() / 2);
}

#[test]
fn the_corpus_is_proved() {
    let Some((tally, plans)) = prove("corpus", lists::corpus()) else { return };
    assert!(tally.proved(Claim::Placed) > 0, "{tally}");
    assert!(plans.iter().any(|p| p.steps.len() == 1));
}

/// Whatever is made of them, it is not wrong.
#[test]
fn traps_are_avoided() {
    prove("traps", lists::traps());
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Random lists over one pool of kernels.
const POOL: usize = 50;

/// Random lists, pool by pool.
struct Run {
    first: usize,
    lists: usize,
    time: Duration,
    start: Instant,
    pool: AtomicUsize,
}

impl Run {
    fn is_over(&self) -> bool {
        self.start.elapsed() >= self.time
    }

    /// One thread's part.
    fn part(&self, mut solver: Process) -> (Tally, Process) {
        solver.until = self.start.checked_add(self.time);
        let mut tally = Tally::default();
        loop {
            let pool = self.pool.fetch_add(1, Relaxed);
            if pool * POOL >= self.lists || self.is_over() {
                return (tally, solver);
            }
            let seed = (self.first + pool) as u64;
            let generator = Generator::new(seed, 4);
            for list in 0..POOL.min(self.lists - pool * POOL) {
                let case = generator.case(list);
                let plan = plan(&case.submissions, &FuseOptions::default(), &limits(&case)).expect("a plan");
                let found = certify(&case.submissions, &plan, &mut solver);
                // Without time, nothing is proved.
                if self.is_over() {
                    break;
                }
                tally.add(&found);
                for (n, one) in found.iter().enumerate().filter(|(_, c)| c.outcome != Outcome::Proved) {
                    keep(one, &format!("{seed}-{list}-{n}"));
                    println!(
                        "list {seed}:{list}: {} of {}: {:?}",
                        one.claim.name(),
                        one.subject,
                        one.outcome
                    );
                }
            }
        }
    }
}

#[test]
fn random_lists_are_proved() {
    let Some(mut solver) = Process::start() else { return };
    if let Ok(name) = std::env::var("VKFUSE_CERTIFY_SEED")
        && let Some((Ok(seed), Ok(list))) = name.split_once(':').map(|(s, l)| (s.parse(), l.parse()))
    {
        let case = Generator::new(seed, 4).case(list);
        let plan = plan(&case.submissions, &FuseOptions::default(), &limits(&case)).expect("a plan");
        let found = certify(&case.submissions, &plan, &mut solver);
        found.iter().enumerate().for_each(|(n, one)| keep(one, &format!("{seed}-{list}-{n}")));
        println!("{}\n{}", explain(&case), unproved(&found));
        return;
    }
    let run = Run {
        first: number("VKFUSE_CERTIFY_SEED", 0),
        lists: number("VKFUSE_CERTIFY_LISTS", 100),
        time: Duration::from_secs(number("VKFUSE_CERTIFY_SECONDS", usize::MAX) as u64),
        start: Instant::now(),
        pool: AtomicUsize::new(0),
    };
    let threads = number("VKFUSE_CERTIFY_THREADS", available_parallelism().map_or(1, usize::from));
    let threads = threads.clamp(1, run.lists.div_ceil(POOL).max(1));
    let solvers: Vec<Process> = (1..threads).filter_map(|_| Process::start()).chain([solver]).collect();
    let parts: Vec<(Tally, Process)> = scope(|threads| {
        let run = &run;
        let started: Vec<_> = solvers.into_iter().map(|one| threads.spawn(move || run.part(one))).collect();
        started.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let (mut tally, mut time, mut asked) = (Tally::default(), Duration::ZERO, 0);
    for (part, solver) in parts {
        tally.merge(part);
        time += solver.time;
        asked += solver.asked;
    }
    let (all, refuted, _) = tally.totals();
    let each = time.as_secs_f64() * 1000.0 / (all.max(1) as f64);
    let (solving, seconds) = (time.as_secs(), run.start.elapsed().as_secs());
    println!(
        "{tally}{asked} questions, {each:.1} ms for a certificate; {solving} s of solving in {seconds} s on \
         {threads} threads"
    );
    assert_eq!(refuted, 0, "{tally}");
    // The check means something only if there was something to prove.
    for claim in [Claim::Disjoint, Claim::SameInvocation, Claim::SameGroup] {
        assert!(tally.proved(claim) > 0 || tally.lists < 100, "{tally}");
    }
}
