//! Weakens one rule of the analysis after the other and demands that the probes, or random lists, notice.
//!
//! `cargo test -p vkfuse-jit --features mutation --test rules mutation -- --nocapture` prints what noticed first: the
//! probe that the table in `docs/fusion-model.md` names is asked before the others. With `VKFUSE_MUTATION_ALL=1` all
//! probes are asked, as the table counts them. With `VKFUSE_MUTATION_LISTS=N` each mutant also meets N random lists,
//! whatever the probes say; without, random lists are tried only on mutants that no probe notices.
//! `VKFUSE_MUTANTS=NAME,NAME` tries those mutants only.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use vkfuse_fuzz::wgsl::smoke;
use vkfuse_jit::mutation::{Mutant, with};

use super::lab::forget_kernels;

/// Probes by name.
pub(crate) type Probes = &'static [(&'static str, fn())];

/// The probes of each file.
pub(crate) const PROBES: &[(&str, Probes)] = &[
    ("hazards", super::hazards::ALL),
    ("splits", super::splits::ALL),
    ("indices", super::indices::ALL),
    ("guards", super::guards::ALL),
    ("images", super::images::ALL),
    ("dimensions", super::dimensions::ALL),
    ("loops", super::loops::ALL),
    ("certain", super::certain::ALL),
    ("numbers", super::numbers::ALL),
    ("order", super::order::ALL),
    ("views", super::views::ALL),
    ("kinds", super::kinds::ALL),
    ("blocks", super::blocks::ALL),
    ("promotion", super::promotion::ALL),
    ("rename", super::rename::ALL),
    ("returns", super::returns::ALL),
    ("robust", super::robust::ALL),
    ("rounds", super::rounds::ALL),
    ("late_stores", super::late_stores::ALL),
    ("limits", super::limits::ALL),
    ("floats", super::floats::ALL),
    ("inlining", super::inlining::ALL),
    ("placement", super::placement::ALL),
    ("packed", super::packed::ALL),
    ("placed_blocks", super::placed_blocks::ALL),
    ("placed_blocks_random", super::placed_blocks_random::ALL),
    ("placed_grids", super::placed_grids::ALL),
    ("placed_lines", super::placed_lines::ALL),
    ("placed_elements", super::placed_elements::ALL),
    ("placed_rounds", super::placed_rounds::ALL),
    ("squares", super::squares::ALL),
    ("load_once", super::load_once::ALL),
    ("lockstep", super::lockstep::ALL),
    ("narrow", super::narrow::ALL),
    ("settled", super::settled::ALL),
    ("side_by_side", super::side_by_side::ALL),
    ("subgroups", super::subgroups::ALL),
    ("tested_at_end", super::tested_at_end::ALL),
    ("texels", super::texels::ALL),
    ("written_out", super::written_out::ALL),
    ("values", super::values::ALL),
    ("weaknesses", super::weaknesses::ALL),
];

/// What the table in the documents says of a mutant.
fn row(mutant: Mutant) -> &'static str {
    let name = format!("| `{mutant:?}` |");
    include_str!("../../../docs/fusion-model.md").lines().find(|line| line.starts_with(&name)).unwrap_or("")
}

/// Names of the probes that fail under a mutant; the first that does, unless all are asked.
fn noticing(mutant: Mutant, all: bool) -> Vec<String> {
    if mutant.is_at_load() {
        forget_kernels();
    }
    let said = row(mutant);
    let mut probes: Vec<(String, fn())> = Vec::new();
    for (file, of_file) in PROBES {
        probes.extend(of_file.iter().map(|(name, probe)| (format!("{file}::{name}"), *probe)));
    }
    if !all {
        probes.sort_by_key(|(name, _)| !said.contains(&format!("`{name}`")));
    }
    let mut names = Vec::new();
    for (name, probe) in probes {
        if with(mutant, || catch_unwind(probe)).is_err() {
            names.push(name);
            if !all {
                break;
            }
        }
    }
    if mutant.is_at_load() {
        forget_kernels();
    }
    names
}

/// Whether random lists come out wrong under a mutant.
fn lists_notice(mutant: Mutant, lists: usize) -> bool {
    (0..lists.div_ceil(50))
        .any(|seed| with(mutant, || catch_unwind(AssertUnwindSafe(|| smoke(seed as u64, 4, 50)))).is_err())
}

/// Rules whose weakening no probe notices. `StoresToViewsWait`: a kernel whose own views overlap in part runs alone, so that none of its
/// stores can wait. For the other three, a probe that needs the rule has yet to be found; that none can be is not shown.
const STOOD_IN_FOR: [Mutant; 4] = [
    Mutant::StoresToViewsWait,
    Mutant::AnyRoundIsReached,
    Mutant::OutsideIsStored,
    Mutant::OutsideIsWorkedOut,
];

#[test]
fn every_weakened_rule_is_noticed() {
    let asked: usize = std::env::var("VKFUSE_MUTATION_LISTS").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let all = std::env::var("VKFUSE_MUTATION_ALL").is_ok_and(|value| value == "1");
    // Failing probes are what is wanted here: their messages would bury the table.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let only = std::env::var("VKFUSE_MUTANTS").unwrap_or_default();
    let is_meant =
        |mutant: &Mutant| only.is_empty() || only.split(',').any(|one| one == format!("{mutant:?}"));
    let meant: Vec<Mutant> = Mutant::ALL.iter().copied().filter(is_meant).collect();
    // A mutant is its thread's alone, and half of the time goes to tools that run as processes.
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(&mutant) = meant.get(next.fetch_add(1, Relaxed)) {
                    let names = noticing(mutant, all);
                    let lists = (asked > 0 || names.is_empty()).then(|| lists_notice(mutant, asked.max(200)));
                    rows.lock().expect("no thread panics").push((mutant, names, lists));
                }
            });
        }
    });
    let mut rows = rows.into_inner().expect("no thread panicked");
    rows.sort_by_key(|(mutant, ..)| *mutant as usize);
    let mut missed = Vec::new();
    let mut table = String::new();
    for (mutant, names, lists) in rows {
        let first = names.first().map_or("-", String::as_str);
        let lists = match lists {
            None => "not asked",
            Some(true) => "wrong",
            Some(false) => "right",
        };
        let count = if all { format!("{} probes, first ", names.len()) } else { String::new() };
        table.push_str(&format!("{mutant:?} | {count}{first} | lists {lists}\n"));
        let is_noticed = !names.is_empty() || lists == "wrong";
        if row(mutant).is_empty() {
            missed.push(format!("{mutant:?} has no row in docs/fusion-model.md"));
        }
        if is_noticed == STOOD_IN_FOR.contains(&mutant) {
            missed.push(format!("{mutant:?}: {}, noticed: {is_noticed}", mutant.what()));
        }
    }
    std::panic::set_hook(hook);
    println!("{table}");
    assert!(missed.is_empty(), "noticed by nobody, or against what stands here: {missed:#?}");
}

/// The table above means something only if nothing fails without a mutant.
#[test]
fn nothing_is_noticed_where_nothing_is_weakened() {
    for (file, probes) in PROBES {
        for (name, probe) in *probes {
            assert!(catch_unwind(probe).is_ok(), "{file}::{name}");
        }
    }
}
