//! Random lists: what is planned is right, in the judgement of who touched what, and in every order the interpreter tries.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_SECOND_LISTS` | how many lists; a few hundred by default |
//! | `VKFUSE_SECOND_SEED` | first seed; `SEED:LIST` judges that one list of that seed and prints it |
//! | `VKFUSE_SECOND_ALL` | `1` goes on after a wrong list, and says at the end how many there were of each class |
//! | `VKFUSE_SECOND_DUMP` | a folder for the wrong list, shortened: sources, modules, buffers, and a pipeline file |

use std::collections::BTreeMap;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::str::FromStr;

use vkfuse_fuzz::{Class, Failure, List, Pool, Tally, Verdict, describe, dump, has_front_end, judge, shrunk};

/// Kernels of a pool, and lists over it.
const KERNELS: usize = 14;
const LISTS: usize = 48;
const REPEATS: usize = 2;

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
            Ok(verdict) => println!("{}\n{verdict:?}", describe(&pool, &list)),
            Err(failure) => println!("{}", report(&pool, &list, &failure, &text)),
        }
        return;
    }
    let lists: usize = number("VKFUSE_SECOND_LISTS", 5 * LISTS);
    let go_on = number("VKFUSE_SECOND_ALL", 0) == 1;
    let mut tally = Tally::default();
    let mut wrong: BTreeMap<Class, (usize, String)> = BTreeMap::new();
    let mut rejected = 0;
    for seed in first..first + lists.div_ceil(LISTS) as u64 {
        let pool = Pool::new(seed, KERNELS);
        rejected += pool.rejected.len();
        for number in 0..LISTS.min(lists - (seed - first) as usize * LISTS) {
            let list = List::new(&pool, seed, number, REPEATS);
            let name = format!("{seed}:{number}");
            match judged(&pool, &list) {
                Ok(verdict) => tally.count(&pool, &list, &verdict),
                Err(failure) if go_on => {
                    let done = tally.all.lists + wrong.values().map(|(count, _)| count).sum::<usize>() + 1;
                    let (count, _) = wrong.entry(failure.class).or_insert_with(|| (0, name.clone()));
                    *count += 1;
                    let what = failure.what.lines().next().unwrap_or("").to_owned();
                    let _ = writeln!(std::io::stderr(), "{name} (list {done}): {:?}: {what}", failure.class);
                    if *count <= 6 {
                        println!("{}", report(&pool, &list, &failure, &name));
                    }
                }
                Err(failure) => panic!("{}", report(&pool, &list, &failure, &name)),
            }
        }
    }
    println!("{tally}{rejected} texts were not taken");
    println!("wrong: {wrong:#?}");
    if lists < 5 * LISTS || !wrong.is_empty() {
        return;
    }
    // The judgement means something only if all of these happen.
    let all = &tally.all;
    assert!(all.undefined * 5 < all.lists * 2, "too many lists without a defined result");
    assert!(all.fused > 0 && all.split > 0 && all.internalized > 0 && all.refused > 0);
}
