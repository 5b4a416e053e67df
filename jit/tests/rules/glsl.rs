//! Kernels in GLSL, compiled by glslang, optimised or not: what other loop shapes, kept variables and merged returns
//! look like.
//!
//! The tools are those of the system. Where they are missing the probes say so and do nothing, unless
//! `VKFUSE_REQUIRE_DEVICE` is set, as it is in CI.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::process::Command;
use std::sync::{Mutex, OnceLock};

/// Ways to compile a kernel.
pub(crate) const RECIPES: &[&str] = &["", "-Od", "-Os", "opt -O", "opt --merge-return"];

/// Whether kernels can be compiled here.
pub(crate) fn is_possible() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let runs = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
        let found = runs("glslangValidator") && runs("spirv-opt");
        if !found {
            assert!(
                std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(),
                "no glslangValidator or no spirv-opt"
            );
            eprintln!("skipped: no glslangValidator or no spirv-opt");
        }
        found
    })
}

/// A GLSL kernel. `names` are its bindings in order: `a`..`m` are read, others written too; a name may carry an element
/// type (`z:vec3`, `z:mat2/row_major`), `uint` otherwise. The body may use the ids `i` (global), `l` (local), `g` (work-group) and the push
/// constants `p.x p.y p.z p.w`; what is declared outside of `main` goes before a line of dashes.
pub(crate) fn glsl(recipe: &str, names: &str, size: &str, body: &str) -> String {
    let mut text = String::from("#version 450\n#extension GL_EXT_shader_8bit_storage : enable\n");
    text.push_str("#extension GL_EXT_shader_16bit_storage : enable\n");
    for width in ["int8", "float16"] {
        let _ = writeln!(text, "#extension GL_EXT_shader_explicit_arithmetic_types_{width} : enable");
    }
    for kind in ["basic", "vote", "ballot", "shuffle", "shuffle_relative", "arithmetic"] {
        let _ = writeln!(text, "#extension GL_KHR_shader_subgroup_{kind} : enable");
    }
    let _ = writeln!(text, "layout(local_size_x = {size}) in;");
    if body.contains("p.") {
        text.push_str("layout(push_constant) uniform P { uint x, y, z, w; } p;\n");
    }
    let (outside, body) = body.split_once("---").unwrap_or(("", body));
    let (types, outside) = outside.split_once("===").unwrap_or(("", outside));
    text.push_str(types);
    for (binding, name) in names.split_whitespace().enumerate() {
        let (name, element) = name.split_once(':').unwrap_or((name, "uint"));
        let (element, layout) = element.split_once('/').unwrap_or((element, "std430"));
        let access = if (b'a'..=b'm').contains(&name.as_bytes()[0]) { "readonly " } else { "" };
        let _ = writeln!(
            text,
            "layout(set = 0, binding = {binding}, std430, {layout}) {access}buffer B{binding} {{ {element} {name}[]; }};"
        );
    }
    let _ = write!(
        text,
        "{outside}\nvoid main() {{\n  uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationID.x, \
         g = gl_WorkGroupID.x;\n  {body}\n}}\n// {recipe}"
    );
    text
}

/// The module of a text of [`glsl`], compiled once in this process.
pub(crate) fn compile(text: &str) -> Vec<u8> {
    static KNOWN: Mutex<Option<HashMap<String, Vec<u8>>>> = Mutex::new(None);
    // A probe that failed under a mutant has not spoilt what is known.
    let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let known = known.get_or_insert_default();
    known.entry(text.to_owned()).or_insert_with(|| compile_anew(text)).clone()
}

fn compile_anew(text: &str) -> Vec<u8> {
    let name = format!("vkfuse-rules-{}-{:x}", std::process::id(), text.len());
    let folder = std::env::temp_dir();
    let (source, result) = (folder.join(format!("{name}.comp")), folder.join(format!("{name}.spv")));
    std::fs::write(&source, text).expect("a temporary file");
    let recipe = text.rsplit_once("// ").map_or("", |(_, recipe)| recipe);
    let (flag, passes) = match recipe.strip_prefix("opt ") {
        Some(passes) => (None, Some(passes)),
        None => (Some(recipe).filter(|flag| !flag.is_empty()), None),
    };
    let mut glslang = Command::new("glslangValidator");
    glslang.args(["--quiet", "-V", "--target-env", "vulkan1.1", "-S", "comp"]).args(flag);
    run(glslang.arg("-o").arg(&result).arg(&source), text);
    if let Some(passes) = passes {
        let mut opt = Command::new("spirv-opt");
        opt.arg("--target-env=vulkan1.1").args(passes.split(' '));
        run(opt.arg(&result).arg("-o").arg(&result), text);
    }
    let bytes = std::fs::read(&result).expect("a module");
    let _ = (std::fs::remove_file(source), std::fs::remove_file(result));
    bytes
}

fn run(command: &mut Command, text: &str) {
    let output = command.output().expect("the tool runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}\n{text}", String::from_utf8_lossy(&output.stderr));
}
