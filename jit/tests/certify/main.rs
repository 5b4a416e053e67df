//! Certificates of lists: everything that their plans rest on is proved by a solver.
//!
//! `VKFUSE_CERTIFY_LISTS=10000` is the long form of the random lists, `VKFUSE_CERTIFY_SEED` begins with other ones,
//! `SEED:LIST` shows one. `VKFUSE_CERTIFY_FILES=FOLDER` writes the question of every certificate that is not proved.

#[path = "../solver/mod.rs"]
mod solver;

mod lists;
mod tally;

use std::path::Path;

use vkfuse_jit::certify::{Certificate, Claim, Outcome, certify};
use vkfuse_jit::fuzzing::{Generator, explain, limits};
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
    for claim in [Claim::SameInvocation, Claim::SameGroup, Claim::Covered, Claim::Slot, Claim::Shape] {
        assert!(tally.proved(claim) > 0, "{tally}");
    }
    assert!(plans.iter().filter(|p| p.steps.len() == 1).count() > plans.len() / 2);
}

#[test]
fn the_corpus_is_proved() {
    let Some((_, plans)) = prove("corpus", lists::corpus()) else { return };
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
    let (lists, first) = (number("VKFUSE_CERTIFY_LISTS", 100), number("VKFUSE_CERTIFY_SEED", 0));
    let per_pool = 150;
    let mut tally = Tally::default();
    for pool in 0..lists.div_ceil(per_pool) {
        let seed = (first + pool) as u64;
        let generator = Generator::new(seed, 4);
        for list in 0..per_pool.min(lists - pool * per_pool) {
            let case = generator.case(list);
            let plan = plan(&case.submissions, &FuseOptions::default(), &limits(&case)).expect("a plan");
            let found = certify(&case.submissions, &plan, &mut solver);
            tally.add(&found);
            for (n, one) in found.iter().enumerate().filter(|(_, c)| c.outcome != Outcome::Proved) {
                keep(one, &format!("{seed}-{list}-{n}"));
                println!("list {seed}:{list}: {} of {}: {:?}", one.claim.name(), one.subject, one.outcome);
            }
        }
    }
    let (all, refuted, _) = tally.totals();
    let each = solver.time.as_secs_f64() * 1000.0 / (all.max(1) as f64);
    println!("{tally}{} questions, {:.1} ms for a certificate", solver.asked, each);
    assert_eq!(refuted, 0, "{tally}");
    // The check means something only if there was something to prove.
    for claim in [Claim::Disjoint, Claim::SameInvocation, Claim::SameGroup] {
        assert!(tally.proved(claim) > 0, "{tally}");
    }
}
