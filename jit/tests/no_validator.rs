//! Machines without spirv-val: kernels load and fuse, and of what it would refuse, nothing that is made here is wrong.
//!
//! The other process of each test has a `PATH` without programs. What it makes of damaged modules is shown to the validator
//! here.

#[path = "damage/mod.rs"]
mod damage;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use spirv_tools::TargetEnv;
use spirv_tools::val::{Validator, ValidatorOptions};
use vkfuse_jit::kernel::{Kernel, KernelError, Module, artifact_tools, is_validated, tool_runs, validator};
use vkfuse_jit::plan::{Arg, BufferId, FuseOptions, Limits, Promote, Submission, plan};

use damage::{Numbers, count, damage, sources};

/// Runs one of the tests below that only another process runs.
fn elsewhere(test: &str, folder: &Path) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env("PATH", "")
        .env("VKFUSE_TEST_FOLDER", folder)
        .output()
        .unwrap()
}

/// The tests of this crate, here and in other files, are nothing without it.
#[test]
fn tests_have_a_validator() {
    assert!(is_validated(), "install SPIRV-Tools (Debian: spirv-tools): tests need spirv-val");
    assert_ne!(validator(), "no spirv-val");
}

#[test]
#[cfg(not(feature = "compiled-spirv-tools"))]
fn kernels_load_without_a_validator() {
    let folder = tempfile::tempdir().unwrap();
    let output = elsewhere("loads", folder.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "a part of another test"]
fn loads() {
    assert!(!is_validated());
    assert!(artifact_tools().is_some_and(|tools| tools.starts_with("no spirv-val, ")));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    for name in ["chain", "control", "shared", "spec", "image", "hlsl"] {
        let bytes = std::fs::read(root.join(format!("{name}.spv"))).unwrap();
        let kernel = Kernel::from_bytes(name, &bytes, None).unwrap().specialize(&[]).unwrap();
        assert!(kernel.normal.is_ok(), "{name}");
    }
    let mut paths = Vec::new();
    for folder in ["tests/kernels", "../shaders", "interp/tests"] {
        damage::modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut paths);
    }
    let mut refused = Vec::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "spv")) {
        let read = Module::from_bytes("valid", &std::fs::read(path).unwrap());
        if let Err(KernelError::Invalid { detail, .. }) = read {
            refused.push(format!("{}: {detail}", path.display()));
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
    assert_eq!(tool_runs(), 0);
}

/// Two dispatches of a kernel, one behind the other.
fn list(kernel: &std::sync::Arc<vkfuse_jit::kernel::Specialized>) -> Vec<Submission> {
    let one = |first: u64| {
        let bindings = kernel.interface.bindings.iter().enumerate();
        let args = bindings.map(|(number, binding)| Arg {
            at: binding.at,
            buffer: BufferId(first + number as u64),
            offset: 0,
            len: 1 << 16,
            promote: Promote::None,
            numbers: None,
            image: None,
        });
        let push = kernel.interface.push.as_ref().map_or(0, |push| push.size as usize);
        Submission {
            kernel: kernel.clone(),
            base: [0; 3],
            groups: [4, 1, 1],
            args: args.collect(),
            push: std::iter::repeat_n(0, push).collect(),
        }
    };
    vec![one(0), one(1)]
}

/// Takes a module as far as it goes; returns what was made of it for devices.
fn made(words: &[u32]) -> Result<Vec<Vec<u32>>, KernelError> {
    use rspirv::binary::Assemble;
    let module = Module::from_words("damaged", words)?;
    let mut made = Vec::new();
    for entry in module.entry_points() {
        let kernel = Kernel::new(&module, Some(entry))?.specialize(&[])?;
        let Ok(normal) = &kernel.normal else { continue };
        made.push(normal.module.assemble());
        let list = list(&kernel);
        let Ok(plan) = plan(&list, &FuseOptions::default(), &Limits::default()) else { continue };
        for step in plan.steps.iter().filter(|step| step.is_fused()) {
            made.extend(step.build().map(|words| words.to_vec()));
        }
    }
    Ok(made)
}

/// How long a damaged module may take, unoptimised and on a machine that does other things.
const LONGEST: Duration = Duration::from_secs(20);

#[test]
#[ignore = "a part of another test"]
fn damaged() {
    assert!(!is_validated());
    let folder = std::env::var_os("VKFUSE_TEST_FOLDER").expect("a folder");
    let folder = Path::new(&folder);
    let sources = sources();
    let mut numbers = Numbers::of(11);
    let (mut loaded, mut formed, mut fused, mut wrong) = (0, 0, 0, Vec::new());
    let count = count(2_000);
    for number in 0..count {
        let mut words = sources[number % sources.len()].clone();
        for _ in 0..=numbers.below(3) {
            damage(&mut words, &mut numbers);
        }
        // What is there if the process ends here.
        write(&folder.join("current.spv"), &words);
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| made(&words)));
        if result.is_err() || start.elapsed() > LONGEST {
            wrong.push(number);
            write(&folder.join(format!("{number}.wrong.spv")), &words);
        }
        let Ok(Ok(made)) = result else { continue };
        loaded += 1;
        formed += usize::from(!made.is_empty());
        fused += usize::from(made.len() > 1);
        if made.is_empty() {
            continue;
        }
        write(&folder.join(format!("{number}.given.spv")), &words);
        for (at, words) in made.iter().enumerate() {
            write(&folder.join(format!("{number}.made{at}.spv")), words);
        }
    }
    println!("{count} damaged: {loaded} loaded, {formed} with a form, {fused} fused with themselves");
    assert!(wrong.is_empty(), "a panic, or too slow: {wrong:?}");
    assert!(fused > 0 && loaded < count);
}

fn write(path: &Path, words: &[u32]) {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(path, bytes).unwrap();
}

/// What the validator says of a module.
fn said(path: &Path) -> Result<(), String> {
    let bytes = std::fs::read(path).unwrap();
    let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
    let validator = spirv_tools::val::create(Some(TargetEnv::Vulkan_1_3));
    let options = ValidatorOptions { scalar_block_layout: true, ..ValidatorOptions::default() };
    validator.validate(&words, Some(options)).map_err(|error| error.to_string())
}

#[test]
#[cfg(not(feature = "compiled-spirv-tools"))]
fn damaged_modules_are_refused_or_come_to_valid_ones() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = std::env::var_os("VKFUSE_KEEP_MUTATIONS").map_or(temporary.path().to_owned(), Into::into);
    let output = elsewhere("damaged", &folder);
    println!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut made, mut refused, mut wrong) = (0, 0, Vec::new());
    let mut paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|one| one.unwrap().path()).collect();
    paths.sort();
    for path in paths.into_iter().filter(|path| !path.ends_with("current.spv")) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        made += usize::from(name.contains("made"));
        match said(&path) {
            Ok(()) => {}
            Err(_) if name.contains("given") => refused += 1,
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    // What instructions need beyond the types of their operands, and capabilities, are the validator's alone.
    println!("{refused} of those with a form are not valid, {} were made of them", wrong.len());
    assert!(wrong.len() * 20 <= made, "not valid, and made here: {wrong:#?}");
}
