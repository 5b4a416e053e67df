//! What users' modules mean, by an oracle that shares nothing with the front end: plain Vulkan is given each module as it is, with
//! `VkSpecializationInfo`, its entry point, push constants and ranges (`raw`, `words`), and all bytes that come out are compared with those
//! of the engine, unfused and fused, on the same device.
//!
//! Under `contract`, what runs alone is the user's code, and has to give the user's bits. Under `strict`, the default, kernels with floats
//! are changed; where that changes bits it is a class of its own ([`Class`](compare::Class)), explained list by list: by the user's module
//! with those decorations, or by what the report says was changed. Fused and unfused runs agree.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_ORACLE_LISTS` | how many random lists; a hundred by default |
//! | `VKFUSE_ORACLE_FOLDER` | a folder of modules and pipeline files that are compared as well, and counted in a table |
//! | `VKFUSE_ORACLE_STEPS` | instructions of the interpreter for each set of arguments that is tried there; 2^23 by default |
//! | `VKFUSE_ORACLE_SECONDS` | how long one comparison may take there; 60 by default |
//! | `VKFUSE_ORACLE_JOBS` | how many processes compare there; one by default |
//! | `VKFUSE_ORACLE_EVERY` | takes every n-th test kernel; all by default |
//! | `VKFUSE_ORACLE_VALIDATION` | `1` runs under the validation layers |
//!
//! Modules (`.spv`, `.wgsl`) get made-up arguments, pipeline files (`.toml`) bring theirs ([`folder`]).
//!
//! A long run: `VKFUSE_ORACLE_LISTS=10000 cargo test -p vkfuse --test oracle -- --nocapture`.

mod compare;
mod engine;
mod faults;
mod folder;
mod generators;
mod inputs;
mod kernels;
mod list;
mod modes;
mod pipelines;
mod raw;
mod words;
mod worker;

use std::path::{Path, PathBuf};

use compare::{Class, Counts, Oracle, Verdict};

/// Instructions of the interpreter for a set of arguments.
const STEPS: u64 = 1 << 23;

/// Both sides, or the test is skipped.
macro_rules! oracle {
    () => {
        match Oracle::open() {
            Some(oracle) => oracle,
            None => return,
        }
    };
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn compare_folder(oracle: &mut Oracle, counts: &mut Counts, folder: &Path, every: usize) {
    for path in kernels::files(folder, &["spv", "wgsl"]).into_iter().step_by(every.max(1)) {
        let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        let Some(words) = kernels::read(&path) else {
            counts.skip(worker::NO_MODULE);
            continue;
        };
        for call in kernels::calls(&mut oracle.engine, &name, &words) {
            let made = call.and_then(|(name, call)| kernels::list(&mut oracle.engine, &name, &call, STEPS));
            match made {
                Ok((list, _)) => counts.check(oracle, &list),
                Err(why) => counts.skip(&why),
            }
        }
    }
}

#[test]
fn kernels_of_files_mean_what_vulkan_makes_of_them() {
    let mut oracle = oracle!();
    let every = number("VKFUSE_ORACLE_EVERY", 1);
    let mut counts = Counts::default();
    for folder in ["shaders", "jit/tests/kernels"] {
        compare_folder(&mut oracle, &mut counts, &root().join(folder), every);
    }
    println!("{} pipelines, {} messages", oracle.raw.pipelines(), oracle.raw.messages());
    counts.end("kernels of files");
    // Were all skipped, nothing would be shown.
    assert!(counts.compared() * every >= 400, "{counts}");
    assert!(counts.fused > 0 && counts.of(Class::Equal) * 2 > counts.compared());
}

/// The process of one file of a long run; no test without one.
#[test]
fn worker() {
    let Some(path) = worker::file() else { return };
    let mut oracle = oracle!();
    worker::compare(&mut oracle, &path, number("VKFUSE_ORACLE_STEPS", STEPS as usize) as u64);
}

#[test]
fn files_of_a_folder_mean_what_vulkan_makes_of_them() {
    let Some(folder) = std::env::var_os("VKFUSE_ORACLE_FOLDER") else { return };
    if Oracle::open().is_none() {
        return;
    }
    let wrong = folder::compare(Path::new(&folder));
    assert!(wrong.is_empty(), "{} unexplained:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn random_lists_mean_what_vulkan_makes_of_them() {
    let mut oracle = oracle!();
    let lists = number("VKFUSE_ORACLE_LISTS", 100);
    let per_pool = lists.clamp(1, 100);
    let pools = lists.div_ceil(per_pool) as u64;
    let mut counts = Counts::default();
    generators::first(&mut oracle, &mut counts, pools, per_pool / 2);
    counts.end("the first generator");
    assert!(lists < 100 || counts.compared() * 3 > lists && counts.fused > 0, "{counts}");
    if !vkfuse_fuzz::has_front_end() {
        return;
    }
    let mut counts = Counts::default();
    generators::second(&mut oracle, &mut counts, pools, 8, per_pool / 2);
    counts.end("the second generator");
    assert!(lists < 100 || counts.compared() * 3 > lists && counts.fused > 0, "{counts}");
}

#[test]
fn pipeline_files_mean_what_vulkan_makes_of_them() {
    let mut oracle = oracle!();
    let mut counts = Counts::default();
    let folder = root().join("examples/pipelines");
    let entries = std::fs::read_dir(&folder).expect("the examples");
    let files = entries.flatten().map(|entry| entry.path());
    for path in files.filter(|path| path.extension().is_some_and(|ext| ext == "toml")) {
        match pipelines::list(&mut oracle.engine, &path) {
            Ok(list) => counts.check(&mut oracle, &list),
            Err(why) => counts.skip(&why),
        }
    }
    counts.end("pipeline files");
    assert!(counts.compared() >= 7, "{counts}");
}

/// Inputs on which NVIDIA's driver does not follow the specification (`docs/drivers.md`): it takes `SRem` of specialization
/// constants for `SMod`, and starts at work-group 0 where it has a pipeline of the same module without `DISPATCH_BASE`.
const NVIDIAS_OWN: &[&str] =
    &["constants by operations", "constants by operations, given", "work-groups that begin later"];

impl Oracle {
    /// The inputs that this device's driver gets wrong.
    fn drivers_own(&self) -> &'static [&'static str] {
        if self.engine.context.device_info().name.contains("NVIDIA") { NVIDIAS_OWN } else { &[] }
    }
}

/// What an input has to come to: on plain Vulkan first, which shows that the oracle is right itself.
fn compare_input(oracle: &mut Oracle, input: &inputs::Input) {
    let list = input.list();
    let calls: Vec<_> = list.calls.iter().map(|call| call.vulkan.clone()).collect();
    let ran = oracle.raw.run(&calls, &list.buffers).unwrap_or_else(|error| panic!("{}: {error}", input.name));
    let (words, _) = ran[1].as_chunks::<4>();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    assert_eq!(words, input.wanted(), "{}", input.name);
    let (class, _) = oracle.check(&list, &list).unwrap_or_else(|why| panic!("{}: {why:?}", input.name));
    assert_eq!(class, Class::Equal, "{}", input.name);
}

#[test]
fn entry_points_constants_sizes_and_ranges_are_the_users() {
    let mut oracle = oracle!();
    let drivers_own = oracle.drivers_own();
    let inputs = inputs::all().into_iter().filter(|input| !drivers_own.contains(&input.name));
    inputs.for_each(|input| compare_input(&mut oracle, &input));
}

/// Each size that can be asked for is what the kernel sees in Vulkan, and in the engine, which refuses what it does not run.
#[test]
fn sizes_of_sub_groups_are_those_asked_for() {
    let mut oracle = oracle!();
    let sizes = oracle.raw.subgroup_sizes.clone();
    println!("sub-groups of {sizes:?}");
    for size in sizes {
        let input = inputs::of_subgroups();
        let mut list = input.list();
        list.calls.iter_mut().for_each(|call| call.vulkan.subgroup = Some(size));
        let calls: Vec<_> = list.calls.iter().map(|call| call.vulkan.clone()).collect();
        let ran = oracle.raw.run(&calls, &list.buffers).expect("a size that the device has");
        assert!(ran[1].chunks(4).all(|word| word == size.to_le_bytes()), "{size}");
        match oracle.check(&list, &list) {
            Ok((class, _)) => assert_eq!(class, Class::Equal, "{size}"),
            Err(Verdict::Skipped(why)) => assert!(why.contains("sub-group"), "{why}"),
            Err(Verdict::Wrong(what)) => panic!("{size}: {what:?}"),
        }
    }
}

/// A class of its own for bits that strict floats change: under `contract` they are the user's, and `check` demands that.
#[test]
fn bits_that_strict_floats_change_are_a_class_of_their_own() {
    let mut oracle = oracle!();
    let is_llvmpipe = oracle.engine.context.device_info().name.contains("llvmpipe");
    let mut found = Vec::new();
    for input in inputs::of_floats() {
        let list = input.list();
        let (class, _) = oracle.check(&list, &list).unwrap_or_else(|why| panic!("{}: {why:?}", input.name));
        println!("{}: {class:?}", input.name);
        found.push(class);
    }
    // It simplifies both.
    assert!(!is_llvmpipe || found == [Class::StrictFloats, Class::ClosedForms], "{found:?}");
}

#[test]
fn every_constant_of_a_spec_id_has_its_value() {
    let mut oracle = oracle!();
    inputs::of_spec_ids().iter().for_each(|input| compare_input(&mut oracle, input));
}

#[test]
fn faults_of_a_front_end_are_noticed() {
    let mut oracle = oracle!();
    let (count, missed) = faults::unnoticed(&mut oracle);
    println!("{count} faults, {} of them unnoticed", missed.len());
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Constants that it does not find would be given no value, and their reading would not be compared.
#[test]
fn the_oracle_finds_every_constant() {
    use words::Scalar;
    let unsigned = Scalar::Int { width: 32, signed: false };
    let of = |input: &inputs::Input| words::spec_constants(&inputs::assembled(&input.text));
    for input in inputs::all().iter().chain(&inputs::of_spec_ids()) {
        let known = of(input);
        let unknown = input.spec.iter().find(|(id, _)| *id != 77 && known.iter().all(|one| one.id != *id));
        assert_eq!(unknown, None, "{}", input.name);
    }
    let many = inputs::all().into_iter().find(|input| input.name == "constants by operations");
    let found: Vec<_> = of(&many.expect("that input")).iter().map(|one| (one.id, one.ty, one.bits)).collect();
    let signed = Scalar::Int { width: 32, signed: true };
    let minus_nine = u64::from(-9i32 as u32);
    let float = (6, Scalar::Float { width: 32 }, u64::from(1.5f32.to_bits()));
    assert_eq!(found, [(3, unsigned, 5), (4, signed, minus_nine), (5, Scalar::Bool, 1), float]);
    let by_group = &inputs::of_spec_ids()[0];
    assert_eq!(of(by_group).iter().map(|one| (one.id, one.bits)).collect::<Vec<_>>(), [(3, 5)]);
}

/// The oracle's own half knows of no crate of this workspace.
#[test]
fn the_oracle_shares_nothing_with_the_engine() {
    for (name, text) in [("raw.rs", include_str!("raw.rs")), ("words.rs", include_str!("words.rs"))] {
        let uses = text.lines().filter(|line| line.trim_start().starts_with("use "));
        assert!(uses.clone().count() > 0, "{name}");
        assert!(!text.contains("vkfuse"), "{name} names a crate of the workspace");
        let outside = uses.filter(|line| line.contains("super::") && !line.contains("super::words"));
        assert_eq!(outside.count(), 0, "{name} uses another part of the test");
    }
}
