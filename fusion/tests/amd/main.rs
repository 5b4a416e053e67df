//! Random lists where the driver only compiles: both generators, planned under the device's limits, fused code next to that of its members.
//!
//! `./x amd` runs this once for each family of AMD's, with `RADV_FORCE_FAMILY` set; on a device that runs things there is nothing to do.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_AMD_LISTS` | how many lists; 300 by default |
//! | `VKFUSE_AMD_SEED` | the first seed |
//! | `VKFUSE_AMD_SPIRV` | a folder for every module that was emitted |
//!
//! A compiler that crashes ends the process: the last line names the list.

mod compile_only;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::str::FromStr;

use vkfuse::report::CodeFigures;
use vkfuse::{CacheOptions, Context, ContextOptions, PlannedList, StepReport, Tuning};
use vkfuse_fuzz::wgsl::{Case, Epilogues, Forms, Generator, Grids, Seams};
use vkfuse_fuzz::{List, Pool, ROWS, has_front_end};
use vkfuse_jit::plan::{FuseOptions, Submission};

/// Lists of one source in a row, and kernels of a pool of the second generator.
const PER_SEED: usize = 25;
const KERNELS: usize = 14;

/// Lists that what is wrong is printed of.
const SHOWN: usize = 8;

/// The complaint about a fused kernel whose occupancy is less than half of its members'.
const HALF: &str = "less than half of the occupancy";

fn number<T: FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A context where nothing runs, with the coarsening of every second seed whatever the size of a dispatch.
fn open(seed: u64) -> Option<Context> {
    let tuning = if seed % 2 == 1 { Tuning::new().least_work_groups(1) } else { Tuning::new() };
    let cache = CacheOptions::default().no_disk();
    let options = ContextOptions::from_env().compile_only(true).cache(cache).tuning(tuning);
    let options = match std::env::var_os("VKFUSE_AMD_SPIRV") {
        Some(folder) => options.dump_spirv(folder),
        None => options,
    };
    Context::with_options(options).ok()
}

/// What was found.
#[derive(Default)]
struct Found {
    lists: usize,
    dispatches: usize,
    fused: usize,
    /// Of these, how many leave less occupancy than any of their members.
    lower: usize,
    /// Lists that the driver, or the planner, does not take.
    refused: BTreeMap<String, usize>,
    /// By what is wrong.
    wrong: BTreeMap<&'static str, usize>,
    shown: usize,
}

impl Found {
    fn list(
        &mut self,
        context: &Context,
        submissions: &[Submission],
        name: &str,
        describe: impl Fn() -> String,
    ) {
        // So that the last line names the list that a compiler dies of.
        let _ = write!(std::io::stderr(), "\r{name:<40}");
        self.lists += 1;
        let planned = match PlannedList::on(context, submissions, &FuseOptions::default()) {
            Ok(planned) => planned,
            Err(error) => {
                *self.refused.entry(error.to_string()).or_default() += 1;
                return;
            }
        };
        self.dispatches += planned.report.steps.len();
        for step in planned.report.steps.iter().filter(|step| step.members.len() > 1) {
            self.fused += 1;
            let members: Vec<CodeFigures> = planned
                .alone
                .iter()
                .filter(|one| step.members.contains(&one.members[0]))
                .map(StepReport::figures)
                .collect();
            let least = members.iter().filter_map(|one| one.subgroups).fold(f64::MAX, f64::min);
            self.lower += usize::from(step.figures().subgroups.is_some_and(|own| own < least));
            for what in worse(&step.figures(), &members) {
                *self.wrong.entry(what).or_default() += 1;
                if self.shown < SHOWN {
                    self.shown += 1;
                    let group = planned.report.plan.groups.iter().find(|group| group.members == step.members);
                    let schedule = group.map_or("", |group| &group.schedule);
                    let (fused, text) = (step.figures(), describe());
                    println!("{name}: {what}: {schedule}\n{fused:?}\nmembers {members:#?}\n{text}");
                }
            }
        }
    }
}

/// In what fused code is worse than all of its members. Rounds and work-groups side by side take registers, so that fewer sub-groups are on a unit,
/// and hide what these would; where that leaves less than half of them, it is too much.
fn worse(fused: &CodeFigures, members: &[CodeFigures]) -> Vec<&'static str> {
    let most = |of: fn(&CodeFigures) -> Option<f64>| members.iter().filter_map(of).fold(0.0, f64::max);
    let mut found = Vec::new();
    if fused.spills > Some(0.0) && most(|one| one.spills) == 0.0 {
        found.push("registers are spilled");
    }
    if fused.scratch > Some(0.0) && most(|one| one.scratch) == 0.0 {
        found.push("scratch memory");
    }
    let least = members.iter().filter_map(|one| one.subgroups).fold(f64::MAX, f64::min);
    if fused.subgroups.is_some_and(|subgroups| 2.0 * subgroups < least) {
        found.push(HALF);
    }
    found
}

/// Lists of the first generator, of all its kinds by turns.
fn first(context: &Context, seed: u64, count: usize, found: &mut Found) {
    let takes = |case: &Case| case.kernels.iter().all(|kernel| context.kernel(&kernel.module, None).is_ok());
    let generator = Generator::new(seed, 4).sizes(4);
    let (mut seams, mut grids) = (Seams::new(seed), Grids::new(seed));
    let (mut forms, mut epilogues) = (Forms::new(seed), Epilogues::new(seed));
    for list in 0..count {
        let case = match list % 7 {
            0 => Some(generator.case(list)),
            1 => Some(generator.by_turns(list, 2 + list % 3)),
            2 => generator.of_pool(list),
            3 => Some(seams.case(list)),
            4 => Some(grids.case(list)),
            5 => Some(forms.case(list)),
            _ => Some(epilogues.case(list)),
        };
        if let Some(case) = case.filter(takes) {
            found.list(context, &case.submissions, &format!("first {seed}:{list}"), || case.describe());
        }
    }
}

/// Lists of the second generator.
fn second(context: &Context, seed: u64, count: usize, found: &mut Found) {
    let pool = Pool::new(seed, KERNELS);
    let takes: Vec<bool> = pool.modules().map(|module| context.kernel(module, None).is_ok()).collect();
    for number in 0..count {
        let list = List::new(&pool, seed, number, 2);
        if !(0..list.len()).all(|at| takes[list.kernel(at)]) {
            continue;
        }
        let Ok(submissions) = list.submissions(&pool) else { continue };
        found.list(context, &submissions, &format!("second {seed}:{number}"), || {
            vkfuse_fuzz::describe(&pool, &list)
        });
    }
}

#[test]
fn random_lists_are_compiled_no_worse_than_their_kernels() {
    let Some(context) = open(0).filter(|context| context.device_info().is_null_hardware()) else {
        let _ = writeln!(std::io::stderr(), "SKIPPED: not a device without hardware");
        return;
    };
    println!("{}, {}", context.device_info().name, context.device_info().driver_info);
    let lists: usize = number("VKFUSE_AMD_LISTS", 300);
    let start: u64 = number("VKFUSE_AMD_SEED", 0);
    let mut found = Found::default();
    for seed in (start..).take(lists.div_ceil(PER_SEED)) {
        let context = open(seed).expect("what was opened before");
        // A fifth by the second generator, half of that over rows of a few elements.
        match seed % 10 {
            3 if has_front_end() => second(&context, seed, PER_SEED, &mut found),
            8 if has_front_end() => second(&context, ROWS + seed, PER_SEED, &mut found),
            _ => first(&context, seed, PER_SEED, &mut found),
        }
    }
    let Found { lists, dispatches, fused, lower, refused, mut wrong, .. } = found;
    println!(
        "\n{lists} lists, {dispatches} dispatches, {fused} of them fused, {lower} with less occupancy; refused: {refused:?}; worse: {wrong:?}"
    );
    assert!(lists == 0 || fused > lists / 4, "too little was fused to say anything");
    // Long rows that are kept in registers: one in some 600 fused dispatches.
    let low = wrong.remove(HALF).unwrap_or(0);
    assert!(100 * low <= fused, "{low} of {fused} leave less than half of the occupancy");
    assert!(wrong.is_empty(), "{wrong:?}");
}
