//! Weakens one rule of the analysis after the other and demands that the probes, or random lists, notice.
//!
//! `cargo test -p vkfuse-jit --features mutation --test rules mutation -- --nocapture` prints what noticed first: the
//! probe that `mutants.md` names is asked before the others. With `VKFUSE_MUTATION_ALL=1` all
//! probes are asked, as the table counts them. With `VKFUSE_MUTATION_LISTS=N` each mutant also meets N random lists,
//! whatever the probes say; without, random lists are tried only on mutants that no probe notices.
//! `VKFUSE_MUTANTS=NAME,NAME` tries those mutants only.
//!
//! Who fails under a mutant is asked twice more, each time on a new thread, which keeps nothing from before: under the mutant, where it has to
//! fail again, and without it, where it must not fail. Otherwise that it failed is reported, and counts for nothing.

use std::any::Any;
use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use vkfuse_fuzz::wgsl::smoke;
use vkfuse_jit::mutation::{Mutant, with};

use super::lab::weakened;

/// Probes by name.
pub(crate) type Probes = &'static [(&'static str, fn())];

/// The probes of each file.
pub(crate) const PROBES: &[(&str, Probes)] = &[
    ("hazards", super::hazards::ALL),
    ("splits", super::splits::ALL),
    ("indices", super::indices::ALL),
    ("guards", super::guards::ALL),
    ("neighbours", super::neighbours::ALL),
    ("arms", super::arms::ALL),
    ("arms_random", super::arms_random::ALL),
    ("images", super::images::ALL),
    ("concatenations", super::concatenations::ALL),
    ("dimensions", super::dimensions::ALL),
    ("early_returns", super::early_returns::ALL),
    ("loops", super::loops::ALL),
    ("certain", super::certain::ALL),
    ("numbers", super::numbers::ALL),
    ("one_store", super::one_store::ALL),
    ("sites", super::sites::ALL),
    ("order", super::order::ALL),
    ("other_rows", super::other_rows::ALL),
    ("overlaps", super::overlaps::ALL),
    ("recurrences", super::recurrences::ALL),
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
    ("line_parts", super::line_parts::ALL),
    ("line_parts_random", super::line_parts_random::ALL),
    ("floats", super::floats::ALL),
    ("fetched", super::fetched::ALL),
    ("inline_rows", super::inline_rows::ALL),
    ("inlining", super::inlining::ALL),
    ("inlining_halves", super::inlining_halves::ALL),
    ("inlining_narrow", super::inlining_narrow::ALL),
    ("placement", super::placement::ALL),
    ("packed", super::packed::ALL),
    ("padding", super::padding::ALL),
    ("padding_random", super::padding_random::ALL),
    ("padding_subgroups", super::padding_subgroups::ALL),
    ("placed_blocks", super::placed_blocks::ALL),
    ("placed_blocks_random", super::placed_blocks_random::ALL),
    ("placed_grids", super::placed_grids::ALL),
    ("placed_lines", super::placed_lines::ALL),
    ("epilogue_halves", super::epilogue_halves::ALL),
    ("epilogue_rows", super::epilogue_rows::ALL),
    ("epilogues", super::epilogues::ALL),
    ("placed_elements", super::placed_elements::ALL),
    ("placed_groups", super::placed_groups::ALL),
    ("placed_groups_random", super::placed_groups_random::ALL),
    ("placed_rounds", super::placed_rounds::ALL),
    ("squares", super::squares::ALL),
    ("columns", super::columns::ALL),
    ("kept_results", super::kept_results::ALL),
    ("lockstep", super::lockstep::ALL),
    ("narrow", super::narrow::ALL),
    ("settled", super::settled::ALL),
    ("side_by_side", super::side_by_side::ALL),
    ("subgroups", super::subgroups::ALL),
    ("normal", super::normal::ALL),
    ("tested_at_end", super::tested_at_end::ALL),
    ("texels", super::texels::ALL),
    ("written_out", super::written_out::ALL),
    ("unpromoted", super::unpromoted::ALL),
    ("values", super::values::ALL),
    ("weaknesses", super::weaknesses::ALL),
];

/// What `mutants.md` says of a mutant.
fn row(mutant: Mutant) -> &'static str {
    let name = format!("`{mutant:?}` |");
    include_str!("mutants.md").lines().find(|line| line.starts_with(&name)).unwrap_or("")
}

/// What became of one mutant.
struct Row {
    mutant: Mutant,
    /// Probes that notice; the first that does, unless all are asked.
    names: Vec<String>,
    /// Whether random lists come out wrong, if they were asked.
    lists: Option<bool>,
    /// What failed, but not for the mutant, and how.
    flakes: Vec<String>,
}

/// Whether something fails, and what it says of that.
fn fails(ask: impl FnOnce() + std::panic::UnwindSafe) -> Option<String> {
    let said = |payload: Box<dyn Any + Send>| match payload.downcast::<String>() {
        Ok(said) => *said,
        Err(other) => other.downcast_ref::<&str>().copied().unwrap_or("a panic").to_owned(),
    };
    catch_unwind(ask).err().map(said)
}

/// Whether what failed under a mutant did so for the mutant: it does again, and not without. If not, why.
fn confirm(mutant: Mutant, ask: impl Fn() + Copy + Send + std::panic::UnwindSafe) -> Result<(), String> {
    let anew = |mutant: Option<Mutant>| {
        let run = move || match mutant {
            Some(mutant) => with(mutant, || fails(ask)),
            None => fails(ask),
        };
        thread::scope(|scope| scope.spawn(run).join()).unwrap_or_else(|_| Some("a panic".to_owned()))
    };
    match (anew(Some(mutant)), anew(None)) {
        (_, Some(said)) => Err(format!("fails without the mutant: {said}")),
        (None, None) => Err("does not fail again".to_owned()),
        (Some(_), None) => Ok(()),
    }
}

impl Row {
    fn of(mutant: Mutant, all: bool, lists: usize) -> Self {
        let mut found = Self { mutant, names: Vec::new(), lists: None, flakes: Vec::new() };
        weakened(mutant, || found.ask_probes(all));
        if lists > 0 || found.names.is_empty() {
            found.ask_lists(if lists > 0 { lists } else { 200 });
        }
        found
    }

    fn ask_probes(&mut self, all: bool) {
        let said = row(self.mutant);
        let mut probes: Vec<(String, fn())> = Vec::new();
        for (file, of_file) in PROBES {
            probes.extend(of_file.iter().map(|(name, probe)| (format!("{file}::{name}"), *probe)));
        }
        if !all {
            probes.sort_by_key(|(name, _)| !said.contains(&format!("`{name}`")));
        }
        for (name, probe) in probes {
            let Some(said) = fails(probe) else { continue };
            match confirm(self.mutant, probe) {
                Ok(()) => self.names.push(name),
                Err(why) => self.flakes.push(format!("{name} {why}\n  at first: {said}")),
            }
            if !all && !self.names.is_empty() {
                break;
            }
        }
    }

    fn ask_lists(&mut self, lists: usize) {
        let mutant = self.mutant;
        let mut are_wrong = false;
        for seed in 0..lists.div_ceil(50) as u64 {
            let ask = move || {
                smoke(seed, 4, 50);
            };
            let Some(said) = with(mutant, || fails(ask)) else { continue };
            match confirm(mutant, ask) {
                Ok(()) => are_wrong = true,
                Err(why) => self.flakes.push(format!("lists of seed {seed}: {why}\n  at first: {said}")),
            }
            if are_wrong {
                break;
            }
        }
        self.lists = Some(are_wrong);
    }

    fn is_noticed(&self) -> bool {
        !self.names.is_empty() || self.lists == Some(true)
    }

    /// The row, with the names of all probes or the first one.
    fn text(&self, all_names: bool) -> String {
        let Self { mutant, names, lists, .. } = self;
        let names = match names.as_slice() {
            [] => "-".to_owned(),
            [first, ..] if !all_names => format!("{} probes, first {first}", names.len()),
            all => all.join(", "),
        };
        let lists = match lists {
            None => "not asked",
            Some(true) => "wrong",
            Some(false) => "right",
        };
        format!("{mutant:?} | {names} | lists {lists}")
    }

    /// What speaks against the mutant's place in the table or the list of those that no one notices.
    fn complaints(&self) -> Vec<String> {
        let Self { mutant, flakes, .. } = self;
        let mut complaints = Vec::new();
        if row(*mutant).is_empty() {
            complaints.push(format!("{mutant:?} has no row in mutants.md"));
        }
        if self.is_noticed() == STOOD_IN_FOR.contains(mutant) {
            let noticed = if self.is_noticed() { "noticed" } else { "not noticed" };
            complaints.push(format!("{noticed}: {}\n  {}", self.text(true), mutant.what()));
            complaints.extend(flakes.iter().map(|flake| format!("  by accident: {flake}")));
        }
        complaints
    }
}

/// Rules whose weakening no one notices, since another rule stands in for them. `StoresToViewsWait`: a kernel whose own views overlap in part
/// runs alone, so that none of its stores can wait.
const STOOD_IN_FOR: [Mutant; 1] = [Mutant::StoresToViewsWait];

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
                    let row = Row::of(mutant, all, asked);
                    rows.lock().expect("no thread panics").push(row);
                }
            });
        }
    });
    std::panic::set_hook(hook);
    let mut rows = rows.into_inner().expect("no thread panicked");
    rows.sort_by_key(|row| row.mutant as usize);
    let text = |row: &Row| row.text(!all) + "\n";
    println!("{}", rows.iter().map(text).collect::<String>());
    for (row, flake) in rows.iter().flat_map(|row| row.flakes.iter().map(move |flake| (row, flake))) {
        println!("by accident, under {:?}: {flake}", row.mutant);
    }
    let complaints: Vec<String> = rows.iter().flat_map(Row::complaints).collect();
    assert!(complaints.is_empty(), "not noticed, or not as listed:\n{}", complaints.join("\n"));
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

/// A file whose probes are not asked notices nothing.
#[test]
fn every_file_of_probes_is_asked() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules");
    for file in std::fs::read_dir(folder).expect("the folder") {
        let path = file.expect("a file").path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        if std::fs::read_to_string(&path).is_ok_and(|text| text.contains("\nprobes! {\n")) {
            assert!(PROBES.iter().any(|(file, _)| *file == name), "{name} is not in the list of probes");
        }
    }
}
