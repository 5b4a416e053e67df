//! The SPIR-V of fused lists as text, one file for each list in `snapshots/`, and what each stage of emission changed, in
//! `snapshots/stages`.
//!
//! A difference is to be read: does the new text do what the old one did? `BLESS=1` writes the files anew. Where the text of a
//! list changes and its key does not, `CODE_VERSION` has to be raised, or stores go on giving out what they have.

#[path = "list/fixed.rs"]
mod fixed;
mod list;

use std::path::{Path, PathBuf};

use fixed::{blurs, bytes, chain, pair, product, softmax, split, stencils, two_elements};
use list::{List, kernel};
use rspirv::binary::Disassemble;
use vkfuse_fuzz::devices::{cpu, desktop, gpu, nvidia};
use vkfuse_jit::plan::{FuseOptions, Internalization, Limits, Plan, Promote, ShapeLimits, Step, plan};

/// Kernels of 256 and of 16 invocations in a work-group, on as many elements.
fn two_local_sizes() -> List {
    let mut list = List::new(4096);
    list.submit(&kernel("chain/mul.spv"), [16, 1, 1], &[0, 1, 2], &bytes(&[4096]));
    list.submit(&kernel("pair/scale.spv"), [256, 1, 1], &[2, 3], &bytes(&[4096, 3]));
    list
}

/// Three kernels with a block each; two of its numbers are the same in all of them.
fn merged_push_constants() -> List {
    let mut list = List::new(4096);
    let scale = kernel("pair/scale.spv");
    for (step, factor) in [3, 3, 5].into_iter().enumerate() {
        list.submit(&scale, [256, 1, 1], &[step as u64, step as u64 + 1], &bytes(&[4096, factor]));
    }
    list
}

/// Checks a list against its file.
fn check(name: &str, list: &List, limits: &Limits) {
    check_with(name, list, &FuseOptions::default(), limits);
}

fn check_with(name: &str, list: &List, options: &FuseOptions, limits: &Limits) {
    let plan = plan(&list.submissions, options, limits).expect("plan");
    compare(name, &text(list, &plan));
}

/// Compares a text with its file, or writes that.
fn compare(name: &str, text: &str) {
    let path = path(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).expect("written");
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let line = known.lines().zip(text.lines()).position(|(known, now)| known != now);
    let line = line.unwrap_or_else(|| known.lines().count().min(text.lines().count()));
    assert!(
        known == text,
        "{name}: other code than before, from line {} on:\n- {}\n+ {}\nBLESS=1 writes {}",
        line + 1,
        known.lines().nth(line).unwrap_or("(the end)"),
        text.lines().nth(line).unwrap_or("(the end)"),
        path.file_name().expect("a name").display(),
    );
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.spvasm"))
}

/// What the plan says, and the modules of its steps.
fn text(list: &List, plan: &Plan) -> String {
    let mut text = String::new();
    for buffer in plan.report.buffers.iter().filter(|buffer| buffer.got != Internalization::None) {
        text += &format!("; buffer {} is {:?}\n", buffer.buffer.0, buffer.got);
    }
    for split in &plan.report.splits {
        text += &format!("; split: {}\n", split.reason);
    }
    for step in &plan.steps {
        text += &step_text(list, step);
    }
    text
}

fn step_text(list: &List, step: &Step) -> String {
    let names = step.members.of(&list.submissions).map(|s| s.kernel.name.as_str());
    let mut text = format!("\n; {}\n", names.collect::<Vec<_>>().join(", "));
    let key: String = step.key[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    text += &format!("; key {key}, code version {}\n", step.ingredients().code_version);
    text += &format!("; {:?} work-groups of {:?}\n", step.groups, step.local_size());
    for bound in &step.bindings {
        text += &format!("; set {}, binding {}: buffer {}\n", bound.at.set, bound.at.binding, bound.buffer.0);
    }
    let words: Vec<u32> =
        step.push.chunks(4).map(|c| c.iter().rev().fold(0, |n, &b| n << 8 | u32::from(b))).collect();
    text += &format!("; push constants {words:?}\n");
    let words = step.build().expect("the module stands");
    let module = rspirv::dr::load_words(&*words).expect("decodes");
    text += &module.disassemble();
    text.truncate(text.trim_end().len());
    text + "\n"
}

#[test]
fn chain_in_registers() {
    check("chain", &chain(1_000_003), &desktop());
}

#[test]
fn chain_of_four_items_an_invocation() {
    let shape = ShapeLimits { group_size: 128, items: 4, vectors: true, ..ShapeLimits::default() };
    check("chain_four_items", &chain(1_000_003), &Limits { shape, ..desktop() });
}

#[test]
fn rows_of_a_softmax() {
    check("softmax_rows", &softmax(1024, 1024), &desktop());
}

#[test]
fn reversal_in_the_group_through_memory() {
    let list = pair("pair/add_mirrored.spv", "pair/mul_grouped.spv", [4, 1, 1], &[], Promote::None);
    check("reversal_in_the_group", &list, &desktop());
}

#[test]
fn reversal_in_the_group_through_shared_memory() {
    let list = pair("pair/add_mirrored.spv", "pair/mul_grouped.spv", [4, 1, 1], &[], Promote::Local);
    check("promoted_to_local", &list, &desktop());
}

#[test]
fn tiles_in_shared_memory_of_their_own() {
    let list = pair("pair/add_own_shared.spv", "pair/mul_grouped.spv", [4, 1, 1], &[], Promote::Local);
    check("tiles", &list, &desktop());
}

#[test]
fn two_dimensions() {
    let list = pair("pair/add_2d.spv", "pair/mul_2d.spv", [10, 9, 1], &[79, 67, 1], Promote::Private);
    check("two_dimensions", &list, &desktop());
}

#[test]
fn strided_loop_over_four_elements() {
    let list = pair("pair/add_four.spv", "pair/mul_four.spv", [16, 1, 1], &[128], Promote::Private);
    check("strided_loop", &list, &desktop());
}

#[test]
fn kernels_of_two_local_sizes() {
    check("two_local_sizes", &two_local_sizes(), &desktop());
}

#[test]
fn push_constants_that_are_the_same_are_one() {
    check("merged_push_constants", &merged_push_constants(), &desktop());
}

#[test]
fn list_that_is_split() {
    let options = FuseOptions { no_rewrites: true, ..FuseOptions::default() };
    check_with("split", &split(), &options, &desktop());
}

/// The same list: what the reversal reads is computed where it is read.
#[test]
fn list_that_is_inlined() {
    check("inlined", &split(), &desktop());
}

/// What each stage of emission changes, for the kinds of devices that the engine tells apart.
#[test]
fn stages_of_emission() {
    let lists = [
        ("chain", chain(1_000_003)),
        ("chain_even", chain(1 << 20)),
        ("softmax", softmax(1024, 1024)),
        ("softmax_short_rows", softmax(16_384, 256)),
        ("softmax_rows_of_100", softmax(16_384, 100)),
        ("mirrored", pair("pair/add_mirrored.spv", "pair/mul_grouped.spv", [4, 1, 1], &[], Promote::Local)),
        (
            "two_dimensions",
            pair("pair/add_2d.spv", "pair/mul_2d.spv", [10, 9, 1], &[79, 67, 1], Promote::Private),
        ),
        (
            "strided_loop",
            pair("pair/add_four.spv", "pair/mul_four.spv", [16, 1, 1], &[128], Promote::Private),
        ),
        ("two_local_sizes", two_local_sizes()),
        ("recomputed", split()),
        ("product", product()),
        ("stencils", stencils()),
        ("two_elements", two_elements()),
        ("blurs", blurs(1024)),
        ("blurs_small", blurs(512)),
    ];
    for (device, limits) in [("cpu", cpu()), ("gpu", gpu()), ("nvidia", nvidia())] {
        // What the engine chooses for NVIDIA's devices alone is about work-groups with barriers; superword code is for graphics processors.
        let lists = lists.iter().filter(|(name, _)| match device {
            "cpu" => !name.starts_with("blurs"),
            "gpu" => true,
            _ => name.starts_with("softmax"),
        });
        for (name, list) in lists {
            let plan = plan(&list.submissions, &FuseOptions::default(), &limits).expect("plan");
            let mut text = String::new();
            for step in &plan.steps {
                let names = step.members.of(&list.submissions).map(|s| s.kernel.name.as_str());
                text += &format!("; {}\n", names.collect::<Vec<_>>().join(", "));
                text += &format!("; {:?} work-groups of {:?}\n", step.groups, step.local_size());
                text += &format!("; {}\n", step.schedule());
                step.verify_passes().expect("each pass leaves a valid module");
                for stage in step.stages().expect("the module stands") {
                    text += &format!("\n{stage}");
                }
            }
            compare(&format!("stages/{device}/{name}"), &text);
        }
    }
}
