//! Random programs over raw Vulkan, alone and under the fusing layer: every byte of all memory is compared, at some of their waits and at
//! their ends.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `VKFUSE_FUZZ_PROGRAMS` | how many programs; a few by default |
//! | `VKFUSE_FUZZ_SEED` | the first of them |
//! | `VKFUSE_FUZZ_VALIDATION` | `0` runs without the validation layer |
//!
//! A program is a device's worth of random calls (`program`) whose barriers follow from what is accessed (`memory`). Those of one child process
//! follow each other on one device, two at a time, so that handles, sets and buffers of one come again in the next.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // Plain use of Vulkan on one device.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

mod memory;
mod program;
mod record;
mod submit;
mod world;

/// What a child process does: the first seed, how many, how many at a time, and whether its device is robust.
const PLAYS: &str = "VKFUSE_TEST_PROGRAMS";
/// Seeds of a child process, and how often it plays each.
const EACH: u64 = 16;
const ROUNDS: u64 = 2;

const VALIDATION: &str = "VK_LAYER_KHRONOS_validation";

/// How programs are run: layers, words for the fusing one, and whether validation is among the layers.
struct Way {
    name: &'static str,
    layers: String,
    words: &'static str,
}

fn main() {
    if let Ok(plays) = std::env::var(PLAYS) {
        let words: Vec<u64> = plays.split(' ').map(|word| word.parse().expect("a number")).collect();
        play(words[0]..words[0] + words[1], words[2], words[3] > 0);
        return;
    }
    if std::env::args().any(|arg| arg == "--list") {
        return;
    }
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse::<u64>().expect("a number"))
    };
    let (count, first) = (number("VKFUSE_FUZZ_PROGRAMS", EACH), number("VKFUSE_FUZZ_SEED", 0));
    let validates = number("VKFUSE_FUZZ_VALIDATION", 1) > 0;
    let folder = tempfile::tempdir().expect("a folder");
    let text = vkfuse_layer::FUSE_MANIFEST.replace("./libvkfuse_layer.so", &library().display().to_string());
    std::fs::write(folder.path().join("layer.json"), text).expect("it is written");
    let own = vkfuse_layer::FUSE_NAME.to_owned();
    let with = |layers: [&str; 2]| if validates { layers.join(":") } else { own.clone() };
    let ways = [
        Way { name: "above", layers: with([VALIDATION, &own]), words: "report,wait" },
        Way { name: "below", layers: with([&own, VALIDATION]), words: "report,wait" },
        Way { name: "without waiting", layers: with([&own, VALIDATION]), words: "report" },
    ];
    let ways = if validates { &ways[..] } else { &ways[1..] };
    let alone = Way { name: "alone", layers: String::new(), words: "" };
    let mut totals = vec![[0u64; 4]; ways.len()];
    let mut wrong = Vec::new();
    for (batch, from) in (first..first + count).step_by(EACH as usize).enumerate() {
        let (len, robust) = (EACH.min(first + count - from), batch % 2);
        let plays = format!("{from} {len} 2 {robust}");
        let (expected, _) = lines(folder.path(), &alone, &plays);
        assert_eq!(expected.len() as u64, ROUNDS * len, "a line of each program");
        for (way, total) in ways.iter().zip(&mut totals) {
            let (found, counts) = lines(folder.path(), way, &plays);
            total.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
            if found.len() != expected.len() {
                wrong.push(format!("{}, {PLAYS}='{plays}': {} lines", way.name, found.len()));
            }
            for (found, expected) in found.iter().zip(&expected).filter(|(found, expected)| found != expected)
            {
                wrong.push(format!("{}, {PLAYS}='{plays}':\n  {found}\nand alone\n  {expected}", way.name));
            }
        }
        if count > EACH {
            println!("{} programs, {} wrong, {totals:?}", from + len - first, wrong.len());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (way, [replaced, submitted, before, after]) in ways.iter().zip(totals) {
        println!(
            "{count} programs, {}: {replaced} of {submitted} command buffers replaced, {before} dispatches as {after}",
            way.name
        );
        // Without waiting it depends on the time that building takes.
        assert!(
            replaced > submitted / 20 && after < before || !way.words.contains("wait"),
            "hardly anything is fused"
        );
    }
}

/// Plays programs, some at a time, and all of them again, when their lists are known; prints what each left, in order.
fn play(seeds: std::ops::Range<u64>, threads: u64, is_robust: bool) {
    let world = world::World::new(is_robust);
    let mut left = Vec::new();
    for first in (0..ROUNDS).flat_map(|_| seeds.clone().step_by(threads as usize)) {
        let together = first..seeds.end.min(first + threads);
        std::thread::scope(|scope| {
            let start = |seed| {
                let world = &world;
                scope.spawn(move || program::run(world, seed))
            };
            let all: Vec<_> = together.map(start).collect();
            left.extend(all.into_iter().map(|one| one.join().expect("a program")));
        });
    }
    left.iter().for_each(|line| println!("{line}"));
}

/// The layer's library, beside this program.
fn library() -> PathBuf {
    let own = std::env::current_exe().expect("this program");
    let library = own.parent().unwrap_or(Path::new("")).join("libvkfuse_layer.so");
    assert!(library.exists(), "{} is not built", library.display());
    library
}

/// What programs left in a child process, and what the layer says: command buffers replaced, submitted; dispatches before, after.
fn lines(folder: &Path, way: &Way, plays: &str) -> (Vec<String>, [u64; 4]) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env(PLAYS, plays).env("VK_ADD_LAYER_PATH", folder);
    command.env("VK_INSTANCE_LAYERS", &way.layers).env(vkfuse_layer::FUSE, way.words);
    command.env("VKFUSE_CACHE_DIR", folder.join("cache"));
    let Output { status, stdout, stderr } = command.output().expect("it starts");
    let (said, errors) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    let about = format!("{}, {PLAYS}='{plays}'", way.name);
    assert!(status.success(), "{about}: {status}\n{said}{errors}");
    assert!(!said.contains("VUID") && !said.contains("Validation"), "{about}: {said}");
    if std::env::var_os("VKFUSE_FUZZ_REPORT").is_some() {
        println!("{about}\n{errors}");
    }
    let line = errors.lines().find(|line| line.contains("command buffers replaced")).unwrap_or_default();
    let numbers = line.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok());
    let mut counts = [0; 4];
    counts.iter_mut().zip(numbers).for_each(|(count, number)| *count = number);
    (said.lines().map(str::to_owned).collect(), counts)
}
