//! What the tools make of kernels, kept in the persistent store: found by other processes, refused when damaged.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::support::{Rig, shader};
use vkfuse::{Artifact, CacheOptions, Context, ContextOptions, QueueOptions, SpecValue, Stats};
use vkfuse_cache::{Entry, Store, StoreConfig};
use vkfuse_jit::kernel::tool_runs;

const N: usize = 300;

/// The count of runs of the tools is the process's.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open(folder: &Path) -> Option<Context> {
    // What was made is on the disk when the call returns: these tests look at it there.
    let at_once = vkfuse_cache::CacheOptions { queue_size: Some(0), ..Default::default() };
    let cache = CacheOptions::new().settings(at_once).directory(folder);
    let rig = Rig::with(ContextOptions::from_env().validation_layer(true).cache(cache))?;
    Some(rig.context.clone())
}

/// Loads a kernel and runs it fused with itself; says how often the tools ran meanwhile, and what was counted.
fn run(context: &Context) -> (u64, Stats) {
    let (before, runs) = (context.stats(), tool_runs());
    let queue = context.queue(QueueOptions::new().enable_fusion(true)).unwrap();
    let scale = context.load_spirv(shader("pair/scale")).unwrap();
    let data: Vec<i32> = (0..N as i32).collect();
    let (a, tmp, out) = (
        context.buffer_from(&data).unwrap(),
        context.scratch::<i32>(N).unwrap(),
        context.buffer::<i32>(N).unwrap(),
    );
    let fused = queue.fuse(|queue| {
        for (from, to) in [(&a, &tmp), (&tmp, &out)] {
            queue.submit(|h| {
                h.arg(0, from.read()).arg(1, to.write()).push(&(N as u32)).push(&7);
                h.dispatch_items(&scale, [N as u32, 1, 1]);
            })?;
        }
        Ok(())
    });
    fused.unwrap();
    let expected: Vec<i32> = data.iter().map(|value| value * 49).collect();
    assert_eq!(out.download().unwrap(), expected);
    assert_eq!(context.validation_messages(), 0);
    (tool_runs() - runs, context.stats() - before)
}

/// All files below a folder that hold, or name, an artifact.
fn files(folder: &Path) -> Vec<PathBuf> {
    let store = Store::open(StoreConfig::at(folder));
    let entries = store.entries(&mut |_| {});
    let artifacts = entries.iter().filter(|entry| entry.sections.iter().any(|(name, _)| name == "form"));
    artifacts.flat_map(|entry| entry.files().map(|file| folder.join(file))).collect()
}

/// The other process of the test below.
#[test]
#[ignore = "a part of another test"]
fn child() {
    let folder = std::env::var_os("VKFUSE_TEST_FOLDER").expect("a folder");
    let context = open(Path::new(&folder)).expect("a device");
    let (runs, stats) = run(&context);
    println!(
        "runs={runs} hits={} misses={} jit={}",
        stats.kernel_hits, stats.kernel_misses, stats.jit_builds
    );
}

/// What another process prints of its counts.
fn process(folder: &Path, prepare: impl FnOnce(&mut Command)) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "kernel_artifacts::child", "--ignored", "--nocapture"])
        .env("VKFUSE_TEST_FOLDER", folder);
    prepare(&mut command);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let from = text.find("runs=").expect("its counts");
    text[from..].lines().next().unwrap().to_owned()
}

/// Puts a script in the place of the `spirv-val` on `PATH`, whose folder it is given; returns the `PATH` on which it is found.
#[cfg(all(unix, not(feature = "compiled-spirv-tools")))]
fn replaced_tool(folder: &Path, script: impl FnOnce(&Path) -> String) -> OsString {
    let path = std::env::var_os("PATH").unwrap();
    let known = std::env::split_paths(&path).find(|at| at.join("spirv-val").is_file()).expect("spirv-val");
    let (text, program) = (folder.join("script"), folder.join("spirv-val"));
    std::fs::write(&text, script(&known)).unwrap();
    // Another process writes the program: one that a test starts meanwhile could keep it open, and then it cannot be run.
    let installed =
        std::process::Command::new("install").args(["-m", "755"]).args([&text, &program]).status().unwrap();
    assert!(installed.success(), "{installed}");
    std::env::join_paths(std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path))).unwrap()
}

/// A tool is the program and not what it says of itself.
#[cfg(all(unix, not(feature = "compiled-spirv-tools")))]
#[test]
fn a_tool_that_was_replaced_is_another_one() {
    let _alone = alone();
    let (folder, tools) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    if open(folder.path()).is_none() {
        return;
    }
    let with = |remark: &str| {
        let path = replaced_tool(tools.path(), |known| {
            format!("#!/bin/sh\n# {remark}\nexec {}/spirv-val \"$@\"\n", known.display())
        });
        process(folder.path(), |command| {
            command.env("PATH", path);
        })
    };
    let counts = |text: &str| text[text.find("hits").unwrap()..].to_owned();
    assert_eq!(counts(&with("one")), "hits=0 misses=1 jit=1");
    assert_eq!(counts(&with("one")), "hits=1 misses=0 jit=0");
    // It makes the same artifact, from which the same code was made.
    assert_eq!(counts(&with("another")), "hits=0 misses=1 jit=0");
}

/// Neither to validate, nor to ask for a version: what counts is on `PATH`.
#[cfg(all(unix, not(feature = "compiled-spirv-tools")))]
#[test]
fn a_second_process_starts_no_program() {
    let _alone = alone();
    let (folder, tools) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    if open(folder.path()).is_none() {
        return;
    }
    let log = tools.path().join("log");
    // The last line, which is never run, is what the program says of itself.
    let path = replaced_tool(tools.path(), |known| {
        let (log, known) = (log.display(), known.display());
        format!("#!/bin/sh\necho run >>{log}\nexec {known}/spirv-val \"$@\"\nSPIRV-Tools v0, which counts\n")
    });
    let runs = || {
        process(folder.path(), |command| {
            command.env("PATH", &path);
        });
        std::fs::read_to_string(&log).unwrap().lines().count()
    };
    let first = runs();
    assert!(first > 0);
    assert_eq!(runs(), first);
}

#[test]
fn a_second_process_runs_no_tool() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    if open(folder.path()).is_none() {
        return;
    }
    let start = || process(folder.path(), |_| {});
    let first = start();
    assert!(!first.starts_with("runs=0 ") && first.ends_with("hits=0 misses=1 jit=1"), "{first}");
    for _ in 0..2 {
        assert_eq!(start(), "runs=0 hits=1 misses=0 jit=0");
    }
}

#[test]
fn damaged_entries_are_refused_and_put_right() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let Some(context) = open(folder.path()) else { return };
    let load = || {
        let (before, runs) = (context.stats(), tool_runs());
        let kernel = context.load_spirv(shader("pair/scale")).unwrap();
        let artifact = kernel.specialized(&[]).unwrap();
        let normal = artifact.normal.as_ref().map(|normal| format!("{:?}", normal.module)).unwrap();
        let stats = context.stats() - before;
        ((stats.kernel_hits, stats.kernel_misses), tool_runs() > runs, (artifact.plain.clone(), normal))
    };
    let (made, _, sound) = load();
    assert_eq!(made, (0, 1));
    let all = files(folder.path());
    assert_eq!(all.len(), 2);
    let long = std::env::var_os("VKFUSE_LONG_TESTS").is_some();
    let mut spoilt = 0;
    for file in &all {
        let bytes = std::fs::read(file).unwrap();
        let step = if long { 1 } else { bytes.len() / 40 };
        for at in (0..bytes.len()).step_by(step) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            for other in [flipped, bytes[..at].to_vec(), [&bytes[..], &bytes[..=at]].concat()] {
                std::fs::write(file, other).unwrap();
                let (counts, ran, artifact) = load();
                assert_eq!((counts, ran), ((0, 1), true), "{} at {at}", file.display());
                assert_eq!(artifact, sound);
                let (counts, _, artifact) = load();
                // Other tests of the process may run tools meanwhile.
                assert_eq!(counts, (1, 0), "{} at {at}: put right", file.display());
                assert_eq!(artifact, sound);
                spoilt += 1;
            }
        }
    }
    println!("{spoilt} damaged entries refused and put right");
}

/// A sound entry with the bytes of another artifact, or with none, as no checksum can tell.
#[test]
fn sound_entries_of_other_contents_are_made_anew() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let Some(context) = open(folder.path()) else { return };
    context.load_spirv(shader("pair/scale")).unwrap();
    let store = Store::open(StoreConfig::at(folder.path()));
    let info = store.entries(&mut |_| {}).remove(0);
    let key = info.key.clone().unwrap();
    let artifact = store.read(&info).unwrap().section("form").unwrap().to_vec();
    let half = artifact[..artifact.len() / 2].to_vec();
    for entry in [Entry::new(), Entry::new().with("spirv", artifact.clone()), Entry::new().with("form", half)]
    {
        assert!(store.put(&key, &entry).is_published());
        let before = context.stats();
        context.load_spirv(shader("pair/scale")).unwrap();
        let stats = context.stats() - before;
        assert_eq!(stats.kernel_misses, 1);
        assert_eq!(store.peek(&key).unwrap().section("form"), Some(&artifact[..]));
    }
}

#[test]
fn refuses_invalid_modules_with_a_store_too() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let Some(context) = open(folder.path()) else { return };
    let plain = Context::with(ContextOptions::from_env().cache(CacheOptions::off())).unwrap();
    let mut bytes = std::fs::read(shader("pair/scale")).unwrap();
    context.kernel_from_bytes("scale", &bytes).unwrap();
    // Without the return of its last function.
    let at = bytes.len() - 8;
    bytes.drain(at..at + 4);
    let words = plain.kernel_from_bytes("scale", &bytes).unwrap_err().to_string();
    for _ in 0..3 {
        assert_eq!(context.kernel_from_bytes("scale", &bytes).unwrap_err().to_string(), words);
    }
    assert_eq!(context.stats().kernel_hits, 0);
    assert_eq!(context.cache_stats().store.published, 1);
}

#[test]
fn other_constants_are_another_entry() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let Some(context) = open(folder.path()) else { return };
    let path = shader("groups/exclusive_scan");
    let kernel = context.load_spirv(&path).unwrap();
    let operator = |value| [(kernel.spec_constants()[0].id, SpecValue::U32(value))];
    let (values, others) = (operator(1), operator(2));
    kernel.specialized(&values).unwrap();
    assert_eq!((context.stats().kernel_hits, context.stats().kernel_misses), (0, 2));
    drop((kernel, context));
    let context = open(folder.path()).unwrap();
    let kernel = context.load_spirv(&path).unwrap();
    kernel.specialized(&values).unwrap();
    assert_eq!((context.stats().kernel_hits, context.stats().kernel_misses), (2, 0));
    kernel.specialized(&others).unwrap();
    assert_eq!((context.stats().kernel_hits, context.stats().kernel_misses), (2, 1));
}

#[test]
fn verifying_compares_forms_and_looking_writes_nothing() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let with = |options: CacheOptions| {
        let cache = options.directory(folder.path());
        Context::with(ContextOptions::from_env().cache(cache)).unwrap()
    };
    let Some(_) = Rig::open() else { return };
    let look = with(CacheOptions::new().look_only(true));
    run(&look);
    assert_eq!((look.stats().kernel_misses, look.cache_stats().store.published), (1, 0));
    assert_eq!(look.is_cacheable(Artifact::Kernel), Ok(()));
    run(&with(CacheOptions::new()));
    let verify = with(CacheOptions::new().verify(true).no_memory());
    run(&verify);
    let stats = verify.stats();
    assert_eq!((stats.kernel_hits, stats.disk_verified, stats.disk_different), (0, 2, 0));
    drop(verify);
    // Another artifact under the same key, as if the key had forgotten something.
    let store = Store::open(StoreConfig::at(folder.path()));
    let artifacts = store.entries(&mut |_| {}).into_iter().filter(|entry| entry.sections[0].0 == "form");
    for info in artifacts {
        let mut artifact = store.read(&info).unwrap().section("form").unwrap().to_vec();
        artifact.push(0);
        assert!(store.put(info.key.as_ref().unwrap(), &Entry::new().with("form", artifact)).is_published());
    }
    for different in [1, 0] {
        let verify = with(CacheOptions::new().verify(true));
        verify.load_spirv(shader("pair/scale")).unwrap();
        assert_eq!(verify.stats().disk_different, different);
    }
}
