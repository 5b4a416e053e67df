//! After how many lists each weakened rule is noticed.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_SECOND_LISTS` | how many lists each mutant meets at most; 600 by default |
//! | `VKFUSE_SECOND_SECONDS` | begins no list after this many seconds; no limit by default |
//! | `VKFUSE_SECOND_THREADS` | how many threads; one for each processor by default |
//! | `VKFUSE_SECOND_SEED` | first seed |
//! | `VKFUSE_SECOND_MUTANTS` | `OneSlot,NoOwnership` asks for some |
//!
//! A list runs as it stands once, for all mutants; and what is planned under a mutant is judged if it differs from what
//! is planned without. The table says how many lists that were: a mutant that changes no plan is one that the lists have no
//! part in; one that changes many and is never noticed has a rule that is stricter than it has to be, or a judge that looks away.
//!
//! `VKFUSE_SECOND_LISTS=2000 cargo test -p vkfuse-fuzz --features mutation --test mutants -- --ignored --nocapture`
#![cfg(feature = "mutation")]

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Instant;

use vkfuse_fuzz::{Bounds, Class, Failure, List, Pool, Reference, Verdict, Work};
use vkfuse_jit::mutation::{Mutant, forget, is_kept, keeping, with};

const KERNELS: usize = 14;
const LISTS: usize = 48;
const REPEATS: usize = 2;

fn number<T: FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// What comes out of a panic.
fn panicked<T>(_: T) -> Failure {
    Failure { class: Class::Internal, what: "it panicked".to_owned(), report: String::new() }
}

/// One mutant's row.
#[derive(Clone, Default)]
struct Row {
    /// Number of the first list that is wrong, from 1 on, and in which way.
    noticed: Option<(usize, Class)>,
    /// Lists up to there that are planned otherwise than without the mutant.
    changed: usize,
}

struct Run {
    first: u64,
    lists: usize,
    mutants: Vec<Mutant>,
    rows: Mutex<Vec<Row>>,
    start: Instant,
}

impl Run {
    /// One thread's part: pools with their lists. Says how many lists there were.
    fn part(&self, work: &Work) -> usize {
        let mut done = 0;
        while let Some(place) = work.take() {
            let seed = self.first + place as u64;
            forget();
            let mut pool = Pool::new(seed, KERNELS);
            // Values cached with a kernel are recomputed for each mutant that they may depend on.
            let mut fresh: Vec<Option<Pool>> = vec![None; self.mutants.len()];
            for number in 0..LISTS.min(self.lists - place * LISTS) {
                if work.is_over() {
                    break;
                }
                done += 1;
                let count = place * LISTS + number + 1;
                let list = List::new(&pool, seed, number, REPEATS);
                let Ok(Ok(mut reference)) = keeping(|| Reference::new(&pool, &list)) else { continue };
                let usual = reference.said();
                for (at, &mutant) in self.mutants.iter().enumerate() {
                    if self.row(at).noticed.is_some_and(|(earlier, _)| earlier < count) {
                        continue;
                    }
                    let fresh = is_kept(mutant).then(|| &*fresh[at].get_or_insert_with(|| pool.reloaded()));
                    let judged = with(mutant, || {
                        let judged = || judged(&reference, fresh, &list, mutant, &usual);
                        catch_unwind(AssertUnwindSafe(judged)).map_err(panicked).flatten()
                    });
                    self.note(at, count, judged);
                    if fresh.is_none() && is_kept(mutant) {
                        pool = pool.reloaded();
                        reference = reference.reloaded(&pool, &list).unwrap_or(reference);
                    }
                }
            }
        }
        done
    }

    fn row(&self, at: usize) -> Row {
        self.rows.lock().unwrap_or_else(|poisoned| poisoned.into_inner())[at].clone()
    }

    fn note(&self, at: usize, count: usize, judged: Result<bool, Failure>) {
        let mut rows = self.rows.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        rows[at].changed += usize::from(judged.as_ref().map_or(true, |&changed| changed));
        let Err(Failure { class, .. }) = judged else { return };
        if rows[at].noticed.is_none_or(|(earlier, _)| count < earlier) {
            let seconds = self.start.elapsed().as_secs();
            let _ =
                writeln!(std::io::stderr(), "{seconds} s: {:?} after {count}: {class:?}", self.mutants[at]);
            rows[at].noticed = Some((count, class));
        }
    }
}

/// The judgement under the mutant that is active; whether the plan differs from the usual one.
fn judged(
    reference: &Reference,
    fresh: Option<&Pool>,
    list: &List,
    mutant: Mutant,
    usual: &Result<Vec<u8>, String>,
) -> Result<bool, Failure> {
    let reloaded = fresh.and_then(|pool| reference.reloaded(pool, list));
    let reference = reloaded.as_ref().unwrap_or(reference);
    // The only one about how a plan is written as a module.
    let changed = mutant == Mutant::ViewsAreApart || reference.said() != *usual;
    if changed {
        let _: Verdict = reference.judge()?;
    }
    Ok(changed)
}

#[test]
#[ignore = "takes minutes"]
fn weakened_rules_are_noticed() {
    let asked = std::env::var("VKFUSE_SECOND_MUTANTS").unwrap_or_default();
    let is_asked =
        |mutant: &Mutant| asked.is_empty() || asked.split(',').any(|asked| asked == format!("{mutant:?}"));
    let mutants: Vec<Mutant> = Mutant::ALL.iter().copied().filter(is_asked).collect();
    let run = Run {
        first: number("VKFUSE_SECOND_SEED", 0),
        lists: number("VKFUSE_SECOND_LISTS", 600),
        rows: Mutex::new(vec![Row::default(); mutants.len()]),
        mutants,
        start: Instant::now(),
    };
    // Panics are among what is looked for: their messages would bury the table.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let parts = Bounds::from_env("VKFUSE_SECOND").run(run.lists.div_ceil(LISTS), |work| run.part(work));
    std::panic::set_hook(hook);
    let lists: usize = parts.iter().sum();
    let rows = run.rows.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    println!("| mutant | noticed by list | as | other plans |\n| --- | --- | --- | --- |");
    for (mutant, row) in run.mutants.iter().zip(&rows) {
        match row.noticed {
            Some((count, class)) => println!("| `{mutant:?}` | {count} | {class:?} | {} |", row.changed),
            None => println!("| `{mutant:?}` | not within {lists} | | {} |", row.changed),
        }
    }
    println!("{lists} lists in {} s", run.start.elapsed().as_secs());
    assert!(rows.iter().any(|row| row.noticed.is_some()), "no mutant was noticed");
}
