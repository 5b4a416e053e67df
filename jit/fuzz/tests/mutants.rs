//! After how many lists each weakened rule is noticed.
//!
//! `VKFUSE_SECOND_LISTS=2000 cargo test -p vkfuse-fuzz --features mutation --test mutants -- --ignored --nocapture` prints a
//! row for each mutant; `VKFUSE_SECOND_MUTANTS=OneSlot,NoOwnership` asks for some.
#![cfg(feature = "mutation")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use vkfuse_fuzz::{List, Pool, judge};
use vkfuse_jit::mutation::{Mutant, with};

const KERNELS: usize = 14;
const LISTS: usize = 48;
const REPEATS: usize = 2;

/// How many lists it takes until one is wrong.
fn noticed(pools: &[(u64, Pool)], mutant: Mutant, lists: usize) -> Option<(usize, String)> {
    for count in 0..lists {
        let (seed, pool) = &pools[count / LISTS];
        let list = List::new(pool, *seed, count % LISTS, REPEATS);
        let judged = with(mutant, || catch_unwind(AssertUnwindSafe(|| judge(pool, &list))));
        match judged {
            Ok(Ok(_)) => {}
            Ok(Err(failure)) => return Some((count + 1, format!("{:?}", failure.class))),
            Err(_) => return Some((count + 1, "a panic".to_owned())),
        }
    }
    None
}

#[test]
#[ignore = "takes minutes"]
fn weakened_rules_are_noticed() {
    let lists: usize = std::env::var("VKFUSE_SECOND_LISTS").ok().and_then(|n| n.parse().ok()).unwrap_or(600);
    let asked = std::env::var("VKFUSE_SECOND_MUTANTS").unwrap_or_default();
    let pools: Vec<(u64, Pool)> =
        (0..lists.div_ceil(LISTS) as u64).map(|seed| (seed, Pool::new(seed, KERNELS))).collect();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut rows = Vec::new();
    for &mutant in Mutant::ALL {
        let name = format!("{mutant:?}");
        if !asked.is_empty() && !asked.split(',').any(|asked| asked == name) {
            continue;
        }
        // What is analysed when a kernel is loaded is analysed anew.
        let fresh = || pools.iter().map(|(seed, pool)| (*seed, pool.reloaded())).collect::<Vec<_>>();
        let found = if mutant.is_at_load() {
            let pools = fresh();
            noticed(&pools, mutant, lists)
        } else {
            noticed(&pools, mutant, lists)
        };
        let row = match found {
            Some((count, class)) => format!("| `{name}` | {count} | {class} |"),
            None => format!("| `{name}` | not within {lists} | |"),
        };
        println!("{row}");
        rows.push(row);
    }
    std::panic::set_hook(hook);
    assert!(rows.iter().any(|row| !row.contains("not within")), "no mutant was noticed");
}
