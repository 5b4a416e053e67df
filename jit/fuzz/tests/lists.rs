//! Random lists: what is planned is right, in the judgement of who touched what, and in every order the interpreter tries.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_SECOND_LISTS` | how many lists; a few hundred by default |
//! | `VKFUSE_SECOND_PER_POOL` | how many of them have the same kernels to choose from; 48 by default |
//! | `VKFUSE_SECOND_SECONDS` | begins no list after this many seconds; no limit by default |
//! | `VKFUSE_SECOND_THREADS` | how many threads; one for each processor by default |
//! | `VKFUSE_SECOND_SEED` | first seed, from 4294967296 on of lists over rows of a few elements alone; `SEED:LIST` judges that one list of that seed and prints it |
//! | `VKFUSE_SECOND_ALL` | `1` goes on after a wrong list, and fails at the end with how many there were of each class |
//! | `VKFUSE_SECOND_DUMP` | a folder for the wrong list, shortened: sources, modules, buffers, and a pipeline file |
//!
//! Needs `glslangValidator` and nothing else. Ends with a table: what the lists contained, and what became of them.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use vkfuse_fuzz::{
    Bounds, Class, Failure, List, Pool, Tally, Verdict, Work, describe, dump, has_front_end, judge, shrunk,
};

/// Kernels of a pool, and lists over it by default.
const KERNELS: usize = 14;
const LISTS: usize = 48;
const REPEATS: usize = 2;

/// Wrong lists of a class that are shortened and printed.
const SHOWN: usize = 6;

fn number<T: FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A panic is a wrong answer, too.
fn judged(pool: &Pool, list: &List) -> Result<Verdict, Failure> {
    catch_unwind(AssertUnwindSafe(|| judge(pool, list))).unwrap_or_else(|_| {
        Err(Failure { class: Class::Internal, what: "it panicked".to_owned(), report: String::new() })
    })
}

fn report(pool: &Pool, list: &List, failure: &Failure, name: &str) -> String {
    let (pool, list) = shrunk(pool, list, &mut |pool, list| {
        judged(pool, list).is_err_and(|other| other.class == failure.class)
    });
    let short = judged(&pool, &list).err().map_or_else(String::new, |failure| failure.to_string());
    if let Ok(folder) = std::env::var("VKFUSE_SECOND_DUMP") {
        let folder = Path::new(&folder).join(name.replace(':', "-"));
        if let Err(error) = dump(&pool, &list, &folder) {
            let _ = writeln!(std::io::stderr(), "{}: {error}", folder.display());
        }
    }
    format!("VKFUSE_SECOND_SEED={name}: {short}\n{}", describe(&pool, &list))
}

/// A run of many lists.
struct Run {
    first: u64,
    lists: usize,
    per_pool: usize,
    go_on: bool,
    start: Instant,
    done: AtomicUsize,
    /// How many wrong lists of each class there were, and the first names.
    wrong: Mutex<BTreeMap<Class, Vec<String>>>,
}

impl Run {
    /// One thread's part: pools with their lists.
    fn part(&self, work: &Work) -> Tally {
        let mut tally = Tally::default();
        while let Some(place) = work.take() {
            let seed = self.first + place as u64;
            let pool = Pool::new(seed, KERNELS);
            tally.rejected += pool.rejected.len();
            for number in 0..self.per_pool.min(self.lists - place * self.per_pool) {
                if work.is_over() {
                    break;
                }
                let list = List::new(&pool, seed, number, REPEATS);
                match judged(&pool, &list) {
                    Ok(verdict) => tally.count(&pool, &list, &verdict),
                    Err(failure) => {
                        tally.count_wrong(&pool, &list, failure.class);
                        if !self.go_on {
                            work.stop();
                        }
                        self.note(&pool, &list, &failure, format!("{seed}:{number}"));
                    }
                }
                let done = self.done.fetch_add(1, Relaxed) + 1;
                if done.is_multiple_of(500) {
                    let seconds = self.start.elapsed().as_secs();
                    let _ = writeln!(std::io::stderr(), "{done} lists in {seconds} s");
                }
            }
        }
        tally
    }

    /// Prints a wrong list, the first of its class shortened.
    fn note(&self, pool: &Pool, list: &List, failure: &Failure, name: String) {
        let what = failure.what.lines().next().unwrap_or("");
        let done = self.done.load(Relaxed) + 1;
        let _ = writeln!(std::io::stderr(), "{name} (list {done}): {:?}: {what}", failure.class);
        let mut wrong = self.wrong.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let names = wrong.entry(failure.class).or_default();
        names.push(name.clone());
        let shown = names.len() <= SHOWN;
        drop(wrong);
        if shown {
            println!("{}", report(pool, list, failure, &name));
        }
    }
}

#[test]
fn plans_of_random_lists_are_right() {
    if !has_front_end() {
        assert!(std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(), "no glslangValidator");
        let _ = writeln!(std::io::stderr(), "SKIPPED: no glslangValidator");
        return;
    }
    let text = std::env::var("VKFUSE_SECOND_SEED").unwrap_or_default();
    let (seed, only) = text.split_once(':').unwrap_or((&text, ""));
    let (first, only): (u64, Option<usize>) = (seed.parse().unwrap_or(0), only.parse().ok());
    if let Some(only) = only {
        let pool = Pool::new(first, KERNELS);
        let list = List::new(&pool, first, only, REPEATS);
        match judged(&pool, &list) {
            Ok(verdict) => {
                pool.rejected.iter().for_each(|what| println!("not taken: {what}"));
                println!("{}\n{verdict:?}", describe(&pool, &list));
            }
            Err(failure) => println!("{}", report(&pool, &list, &failure, &text)),
        }
        return;
    }
    let run = Run {
        first,
        per_pool: number("VKFUSE_SECOND_PER_POOL", LISTS).max(1),
        lists: number("VKFUSE_SECOND_LISTS", 5 * LISTS),
        go_on: number("VKFUSE_SECOND_ALL", 0) == 1,
        start: Instant::now(),
        done: AtomicUsize::new(0),
        wrong: Mutex::default(),
    };
    let parts =
        Bounds::from_env("VKFUSE_SECOND").run(run.lists.div_ceil(run.per_pool), |work| run.part(work));
    let mut tally = Tally::default();
    parts.iter().for_each(|part| tally.merge(part));
    let seconds = run.start.elapsed().as_secs();
    println!("{tally}{} lists in {seconds} s", tally.all.lists);
    let wrong = run.wrong.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    assert!(wrong.is_empty(), "wrong lists by class: {wrong:#?}");
    if tally.all.lists < 5 * LISTS {
        return;
    }
    // The judgement means something only if all of these happen.
    let all = &tally.all;
    assert!(all.undefined * 5 < all.lists * 2, "too many lists without a defined result");
    assert!(all.fused > 0 && all.split > 0 && all.internalized > 0 && all.refused > 0);
}
