//! Pipeline files that are wrong: exit status 2, nothing on the standard output, and one line on the
//! standard error that names file, line, column and key.

use crate::process::{root, vkfuse};
use std::fs;
use std::path::Path;

/// A file that is right, line by line; `@` stands for the folder of the kernels.
const GOOD: &str = r#"format = 1
name = "good"
[kernels.mul]
path = "@/chain/mul.spv"
entry = "main"
[kernels.settings]
path = "@/forms/uniform_buffer.spv"
[buffers.x]
type = "f32"
len = 1024
init = "random"
seed = 7
promote = "none"
[buffers.y]
type = "f32"
len = 1024
init = { fill = 1.5 }
[buffers.z]
type = "f32"
len = 1024
[[submit]]
kernel = "mul"
groups = [4, 1, 1]
spec = { 0 = { u32 = 256 } }
push = [{ u32 = 1024 }]
[submit.args]
"0" = "x"
"0.1" = { buffer = "y", offset = 0, len = 1024 }
"2" = "z"
[fusion]
policy = "prove"
no_barriers = false
force = false
float = "strict"
outputs = ["z"]
"#;

/// What to replace by what, and the start and a part of the message that must come of it.
struct Case(&'static str, &'static str, &'static str, &'static str);

const CASES: &[Case] = &[
    // The text itself.
    Case("[fusion]", "[fusion", "30:8:", "unclosed table"),
    Case("policy = \"prove\"", "policy = ", "31:10: expected a value, found nothing", ""),
    Case("type = \"f32\"", "type = f32", "9:8: expected a value, found f32", "quotation marks: \"f32\""),
    Case("name = \"good\"", "name = good", "2:8: expected a value, found good", "quotation marks: \"good\""),
    Case("name = \"good\"", "format = 1", "2:1: duplicate key \"format\"", "first given in line 1"),
    Case("[buffers.y]", "[buffers.x]", "14:10: duplicate key \"x\"", "first given in line 8"),
    Case(
        "[submit.args]",
        "args = [\"x\"]\n[fusion.args]",
        "26:1: submit[0].args: expected a table by binding",
        "{ 0 = \"NAME\" }, found an array",
    ),
    Case("[fusion]", "[submit]\n[fusion]", "30:2: duplicate key \"submit\"", "begins with [[submit]]"),
    Case("len = 1024", "len = 1k", "10:7: expected an integer", "found 1k"),
    // Version, unknown and missing keys.
    Case("format = 1\n", "", "1:1: missing key \"format\"", "a pipeline file says `format = 1`"),
    Case("init = \"random\"", "init = \"iota\"", "12:1: buffers.x.seed: a seed is for", ""),
    Case("format = 1", "format = 2", "1:1: format: format 2 is not known", "expected 1"),
    Case("format = 1", "format = \"1\"", "1:1: format: expected an integer", "the string \"1\""),
    Case(
        "name = ",
        "force = true\nname = ",
        "2:1: force: unknown key \"force\"",
        "\"force\" is a key of `[fusion]`",
    ),
    Case("name", "nmae", "2:1: nmae: unknown key \"nmae\"", "expected format, name"),
    Case("name = \"good\"", "name = 3", "2:1: name: expected a string", "the integer 3"),
    Case("[fusion]", "[fuse]", "30:2: fuse: unknown key", ""),
    Case(
        "entry =",
        "enter =",
        "5:1: kernels.mul.enter: unknown key",
        "expected path, entry, local_size or subgroup_size",
    ),
    Case("seed = 7", "sed = 7", "12:1: buffers.x.sed: unknown key", ""),
    Case("force", "Force", "33:1: fusion.Force: unknown key", ""),
    Case("kernel = \"mul\"\n", "", "21:1: submit[0]: missing key \"kernel\"", ""),
    Case("groups = [4, 1, 1]\n", "", "21:1: submit[0]: missing key \"groups\"", ""),
    Case("path = \"@/chain/mul.spv\"\n", "", "3:10: kernels.mul: missing key \"path\"", ""),
    Case(
        "type = \"f32\"\nlen = 1024\ninit = \"random\"",
        "len = 1024",
        "8:10: buffers.x: missing key \"type\"",
        "",
    ),
    // Elements.
    Case(
        "[buffers.x]\ntype = \"f32\"",
        "[buffers.x]\ntype = \"f64\"",
        "27:1: submit[0].args.0: binding 0.0 (X) of kernel mul has elements of f32, and buffer x has f64",
        "cast = true",
    ),
    Case(
        "[buffers.y]\ntype = \"f32\"\nlen = 1024\ninit = { fill = 1.5 }",
        "[buffers.y]\ntype = \"i32\"\nlen = 1024\ninit = { fill = 1 }",
        "28:1: submit[0].args.\"0.1\": binding 0.1 (Y) of kernel mul has elements of f32, and buffer y has i32",
        "",
    ),
    // Kernels.
    Case("chain/mul.spv", "chain/none.spv", "4:1: kernels.mul.path: cannot read", "none.spv"),
    Case("chain/mul.spv", "chain/mul.comp", "4:1: kernels.mul.path:", "mul.comp: module `mul`"),
    Case("chain/mul.spv", "chain", "4:1: kernels.mul.path: cannot read", ""),
    Case("\"@/chain/mul.spv\"", "\"\"", "4:1: kernels.mul.path: expected a path", ""),
    Case("entry = \"main\"", "entry = \"mian\"", "5:1: kernels.mul.entry:", "`main`"),
    // Buffers.
    Case(
        "type = \"f32\"",
        "type = \"float\"",
        "9:1: buffers.x.type: unknown word \"float\"",
        "f16, f32, f64",
    ),
    Case("len = 1024", "len = 0", "10:1: buffers.x.len: 0 is out of range", ""),
    Case("len = 1024", "len = -1", "10:1: buffers.x.len: -1 is out of range", ""),
    Case("len = 1024", "len = 1.5", "10:1: buffers.x.len: expected an integer", "the float 1.5"),
    Case("len = 1024", "len = 9000000000000000000", "10:1: buffers.x.len:", "out of range"),
    Case(
        "init = \"random\"",
        "init = \"noise\"",
        "11:1: buffers.x.init: unknown word \"noise\"",
        "zeros, iota, random",
    ),
    Case("init = \"random\"", "init = 3", "11:1: buffers.x.init: expected", "the integer 3"),
    Case("{ fill = 1.5 }", "{ fil = 1.5 }", "17:10: buffers.y.init.fil: unknown key", ""),
    Case("{ fill = 1.5 }", "{ fill = \"1\" }", "17:10: buffers.y.init.fill: expected a number (f32)", ""),
    Case("{ fill = 1.5 }", "{ fill = 1e39 }", "17:10: buffers.y.init.fill: 1e39 is out of range for f32", ""),
    Case("{ fill = 1.5 }", "{ values = [1, 2] }", "17:10: buffers.y.init.values: 2 values", "1024 elements"),
    Case("{ fill = 1.5 }", "{ fill = 1, values = [] }", "17:1: buffers.y.init: expected exactly one of", ""),
    Case("{ fill = 1.5 }", "{ file = \"@/none.bin\" }", "17:10: buffers.y.init.file: cannot read", ""),
    Case("{ fill = 1.5 }", "{ file = \"@/README.md\" }", "17:10: buffers.y.init.file:", "4096 of the buffer"),
    Case("seed = 7", "seed = -7", "12:1: buffers.x.seed: -7 is out of range", ""),
    Case(
        "promote = \"none\"",
        "promote = \"register\"",
        "13:1: buffers.x.promote: unknown word",
        "none, private, local or auto",
    ),
    // Submissions.
    Case(
        "kernel = \"mul\"",
        "kernel = \"mull\"",
        "22:1: submit[0].kernel: unknown kernel \"mull\"",
        "mul or settings",
    ),
    Case("groups = [4, 1, 1]", "groups = []", "23:1: submit[0].groups: expected one to three counts", ""),
    Case("groups = [4, 1, 1]", "groups = [4, 1, 1, 1]", "23:1: submit[0].groups:", "found 4"),
    Case(
        "groups = [4, 1, 1]",
        "groups = [4, 4294967296, 1]",
        "23:14: submit[0].groups[1]: 4294967296 is out of range",
        "0 to 4294967295",
    ),
    Case("groups = [4, 1, 1]", "groups = 4", "23:1: submit[0].groups: expected an array", ""),
    Case("groups = [4, 1, 1]", "groups = [4]\nglobal = [4]", "24:1: submit[0].global:", "only one"),
    Case(
        "groups = [4, 1, 1]",
        "global = [4294967296]",
        "23:11: submit[0].global[0]: 4294967296 is out of range",
        "",
    ),
    Case("{ 0 = {", "{ first = {", "24:10: submit[0].spec.first:", "not a specialization id"),
    Case("{ u32 = 256 }", "{ f32 = 256 }", "24:10: submit[0].spec.0:", "not f32"),
    Case("{ u32 = 256 }", "256", "24:10: submit[0].spec.0: expected a typed number", "the integer 256"),
    Case("{ u32 = 256 }", "{ u8 = 256 }", "24:16: submit[0].spec.0.u8: 256 is out of range for u8", ""),
    Case("{ u32 = 1024 }", "{ int = 1024 }", "25:11: submit[0].push[0].int: unknown key", ""),
    Case("{ u32 = 1024 }", "{ u32 = 1, i32 = 1 }", "25:9: submit[0].push[0]: expected exactly one of", ""),
    Case("[{ u32 = 1024 }]", "1024", "25:1: submit[0].push: expected an array", ""),
    Case("[{ u32 = 1024 }]", "{ hex = \"0004000\" }", "25:10: submit[0].push.hex: 7 hexadecimal digits", ""),
    Case("[{ u32 = 1024 }]", "{ hex = \"0x04\" }", "25:10: submit[0].push.hex: 'x'", "digit; leave out 0x"),
    Case("[{ u32 = 1024 }]", "{ hex = \"0g\" }", "25:10: submit[0].push.hex: 'g'", "a hexadecimal digit"),
    Case("[{ u32 = 1024 }]", "{ u32 = 1024 }", "25:1: submit[0].push: expected an array", "[{ u32 = 64 }]"),
    Case(
        "[{ u32 = 1024 }]",
        "[{ u16 = 1024 }]",
        "25:1: submit[0].push:",
        "4 bytes of push constants, 2 are given",
    ),
    Case("push = [{ u32 = 1024 }]\n", "", "21:1: submit[0]:", "4 bytes of push constants, 0 are given"),
    // Arguments.
    Case("\"0\" = \"x\"", "\"0\" = \"w\"", "27:1: submit[0].args.0: unknown buffer \"w\"", "x, y or z"),
    Case("\"0\" = \"x\"", "\"0\" = 3", "27:1: submit[0].args.0: expected the name of a buffer", ""),
    Case("\"0\" = \"x\"", "\"zero\" = \"x\"", "27:1: submit[0].args.zero:", "its number, such as \"2\""),
    Case("\"0\" = \"x\"", "\"0.0.0\" = \"x\"", "27:1: submit[0].args.\"0.0.0\":", "not a binding"),
    Case("\"0\" = \"x\"", "\"0.2\" = \"x\"", "29:1: submit[0].args.2:", "given twice"),
    Case("\"0\" = \"x\"\n", "", "21:1: submit[0]:", "uses binding 0.0"),
    Case("buffer = \"y\"", "buf = \"y\"", "28:11: submit[0].args.\"0.1\".buf: unknown key", ""),
    Case(
        "offset = 0",
        "offset = 1024",
        "28:25: submit[0].args.\"0.1\".offset: 1024 is out of range",
        "0 to 1023",
    ),
    Case(
        "len = 1024 }",
        "len = 1025 }",
        "28:37: submit[0].args.\"0.1\".len: 1025 is out of range",
        "1 to 1024",
    ),
    Case("len = 1024 }", "len = 0 }", "28:37: submit[0].args.\"0.1\".len: 0 is out of range", ""),
    Case(
        "offset = 0, len = 1024",
        "promote = \"maybe\"",
        "28:25: submit[0].args.\"0.1\".promote: unknown word",
        "",
    ),
    Case(
        "kernel = \"mul\"\ngroups = [4, 1, 1]\nspec = { 0 = { u32 = 256 } }\npush = [{ u32 = 1024 }]\n[submit.args]\n\"0\" = \"x\"",
        "kernel = \"settings\"\ngroups = [4]\n[submit.args]\n\"0\" = { buffer = \"x\", len = 4 }",
        "25:1: submit[0].args.0:",
        "needs at least 48 bytes, the argument has 16",
    ),
    Case(
        "\"0\" = \"x\"",
        "\"0\" = { image = \"photo\" }",
        "27:9: submit[0].args.0.image: unknown image \"photo\"",
        "the file has no images",
    ),
    Case(
        "\"2\" = \"z\"",
        "\"2\" = { buffer = \"z\", constant = true }",
        "29:1: submit[0].args.2: binding 0.2 (Z) of kernel mul is written",
        "said to be constant",
    ),
    // Fusion.
    Case("\"prove\"", "\"guess\"", "31:1: fusion.policy: unknown word \"guess\"", "prove or trust"),
    Case("no_barriers = false", "no_barriers = 0", "32:1: fusion.no_barriers: expected true or false", ""),
    Case("\"strict\"", "\"fast\"", "34:1: fusion.float: unknown word \"fast\"", "strict or contract"),
    Case("[\"z\"]", "[\"w\"]", "35:12: fusion.outputs[0]: unknown buffer \"w\"", "x, y or z"),
    Case("[\"z\"]", "[\"z\", \"z\"]", "35:17: fusion.outputs[1]:", "given twice"),
    Case("[\"z\"]", "\"z\"", "35:1: fusion.outputs: expected an array", ""),
];

fn kernels() -> String {
    root().join("shaders").display().to_string()
}

/// Writes `text` into `folder` and returns what the command says to it, or how it misbehaved.
fn try_complaint(folder: &Path, text: &str) -> Result<String, String> {
    let file = folder.join("case.toml");
    fs::write(&file, text.replace('@', &kernels())).expect("the folder can be written");
    let file = file.display().to_string();
    let finished = vkfuse(&["run", &file, "--json"]);
    let message = finished.stderr.strip_suffix('\n').unwrap_or(&finished.stderr);
    if finished.status != 2 || !finished.stdout.is_empty() || message.contains('\n') {
        return Err(format!(
            "exit status {}, output {:?}, message {message:?}",
            finished.status, finished.stdout
        ));
    }
    let prefix = format!("error: {file}:");
    let rest = message.strip_prefix(&prefix).ok_or_else(|| format!("no {prefix} in {message}"))?;
    Ok(rest.trim_start().to_owned())
}

fn complaint(folder: &Path, text: &str) -> String {
    try_complaint(folder, text).unwrap_or_else(|misbehaviour| panic!("{text}\n{misbehaviour}"))
}

#[test]
fn every_mistake_is_named_with_its_place() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut failed = Vec::new();
    for Case(from, to, start, part) in CASES {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "{from} is not in the file");
        let message = try_complaint(folder.path(), &text).unwrap_or_else(|misbehaviour| misbehaviour);
        if !message.starts_with(start) || !message.contains(part) {
            failed.push(format!("{from}  ->  {to}\n  wanted {start} … {part}\n  found  {message}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn promotions_that_contradict_each_other() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = GOOD
        .replace("promote = \"none\"", "promote = \"local\"")
        .replace("\"0\" = \"x\"", "\"0\" = { buffer = \"x\", promote = \"private\" }");
    let message = complaint(folder.path(), &text);
    assert!(message.starts_with("27:1: submit[0].args.0: "), "{message}");
    assert!(message.contains("private") && message.contains("local"), "{message}");
}

#[test]
fn a_missing_section_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = "format = 1\n[kernels]\n[buffers]\n";
    assert_eq!(
        complaint(folder.path(), text),
        "1:1: missing key \"submit\": each submission begins with [[submit]]"
    );
    let text = "format = 1\nsubmit = []\n[kernels]\n[buffers]\n";
    assert!(complaint(folder.path(), text).starts_with("2:1: submit: there is nothing to run"));
}

#[test]
fn a_file_that_is_no_text_or_not_there() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("case.toml");
    let name = file.display().to_string();
    let finished = vkfuse(&["run", &name]);
    assert_eq!(finished.status, 2);
    assert!(finished.stderr.contains("cannot read the file"), "{}", finished.stderr);
    fs::write(&file, b"format = 1\nname = \"\xff\"\n").expect("the folder can be written");
    let finished = vkfuse(&["run", &name]);
    assert_eq!(finished.status, 2);
    assert!(finished.stderr.contains(":2:9: the file is not UTF-8 text"), "{}", finished.stderr);
    fs::write(&file, 0x0723_0203_u32.to_le_bytes()).expect("the folder can be written");
    let finished = vkfuse(&["run", &name]);
    assert_eq!(finished.status, 2);
    assert!(finished.stderr.contains("it is a SPIR-V module, not a pipeline file"), "{}", finished.stderr);
    // A module under the name of a text.
    fs::copy(root().join("shaders/chain/mul.spv"), folder.path().join("mul.wgsl"))
        .expect("the folder can be written");
    let message = complaint(folder.path(), &GOOD.replace("@/chain/mul.spv", "mul.wgsl"));
    assert!(message.contains("mul.wgsl is a SPIR-V module, whose name should end in .spv"), "{message}");
}

/// Changes the good file in random places: whatever comes out, the command exits with a status of
/// its own and does not panic. Cases that stay valid would need a device; `groups` is left out of
/// the file so that none is valid.
#[test]
fn mutilated_files_never_panic() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let good = GOOD.replace("groups = [4, 1, 1]\n", "");
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for _ in 0..100 {
        let mut bytes = good.clone().into_bytes();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            match random(3) {
                0 => bytes[at] = b"[]{}=\".,\n0a-\\'#"[random(15)],
                1 => drop(bytes.remove(at)),
                _ => bytes.truncate(at.max(1)),
            }
        }
        complaint(folder.path(), &String::from_utf8_lossy(&bytes));
    }
}
