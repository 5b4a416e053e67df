//! Common mistakes, each in a small list, and the messages for them.

use crate::process::{has_device, json, vkfuse};
use std::path::Path;

/// A kernel of 64 invocations with what `P` is and what it does with place `i`.
fn kernel(push: &str, body: &str) -> String {
    format!(
        "struct P {{ {push} }}
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<immediate> p: P;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_id) l: vec3<u32>) {{
    let i = id.x; if (i < p.n) {{ {body} }}
}}"
    )
}

/// A list of one submission of that kernel.
fn list(groups: &str, push: &str) -> String {
    format!(
        "format = 1\nkernels.k.path = \"k.wgsl\"\nbuffers.x = {{ type = \"f32\", len = 256, init = \"random\" }}\n\
         buffers.y = {{ type = \"f32\", len = 256, init = \"zeros\" }}\n[[submit]]\nkernel = \"k\"\ngroups = {groups}\npush = {push}\n\
         args = {{ 0 = \"x\", 1 = \"y\" }}\n[fusion]\noutputs = [\"y\"]\n"
    )
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let file = folder.join(name);
    std::fs::write(&file, text).expect("the folder can be written");
    file.display().to_string()
}

/// What a command says on the standard error of a list and its kernel.
fn said(command: &str, kernel: &str, list: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "k.wgsl", kernel);
    vkfuse(&[command, &write(folder.path(), "list.toml", list)]).stderr
}

/// Different values that several invocations write to one place are noted, and neither equal ones nor those that are not followed.
#[test]
fn writes_of_different_values_to_one_place_are_noted() {
    let different = "write different values to element 0 of y, in no order";
    for (body, is_noted) in [
        ("y[i / 2u] = x[i];", true),
        ("y[i >> 1u] = sqrt(abs(x[i])) + 1.0;", true),
        ("y[i % 32u] = x[i];", true),
        ("y[i / 64u] = f32(i);", true),
        ("y[i] = x[i]; y[0] = 2.0;", true),
        // Of flags all that counts is that one is set.
        ("y[0] = 1.0;", false),
        ("if (x[i] > 0.5) { y[0] = 1.0; }", false),
        ("y[0] = f32(p.n);", false),
        // What is the same for all that write there.
        ("y[i / 2u] = f32(i / 2u);", false),
        ("y[i / 4u] = x[i / 4u * 4u] + x[i / 4u * 4u + 1u];", false),
        ("let j = min(i, p.n - 1u); y[j] = x[j];", false),
        ("y[i] = x[i]; y[i + 1u] = x[i + 1u];", false),
        // One of them alone writes, or which is not known.
        ("if ((i & 1u) == 0u) { y[i / 2u] = x[i]; }", false),
        ("y[u32(x[i])] = x[i];", false),
        ("y[i] = x[i];", false),
    ] {
        let said = said("check", &kernel("n: u32", body), &list("[2]", "[{ u32 = 128 }]"));
        assert_eq!(said.contains(different), is_noted, "{body}\n{said}");
    }
}

/// Work-groups, and invocations of one, that are alike and write the same elements.
#[test]
fn places_that_do_not_tell_invocations_apart_are_noted() {
    let groups = "is dispatched with work-groups that differ in x alone and write the same elements";
    for (body, is_noted) in [
        ("y[l.x] = x[l.x];", true),
        ("y[i] = x[i];", false),
        ("y[l.x] = 1.0;", false),
        ("y[l.x] = f32(p.n);", false),
    ] {
        let body = body.replace("if (i < p.n)", "");
        let free = kernel("n: u32", &body).replace("if (i < p.n) {", "{");
        let said = said("check", &free, &list("[2]", "[{ u32 = 128 }]"));
        assert_eq!(said.contains(groups), is_noted, "{body}\n{said}");
    }
    let inside = "has work-groups of several invocations in y that write the same elements: it does not ask for its place in y";
    let rows = kernel("n: u32", "y[i] = x[i];").replace("@workgroup_size(64)", "@workgroup_size(8, 8)");
    for (kernel, is_noted) in [(rows.clone(), true), (rows.replace("id.x;", "id.x + id.y * 8u;"), false)] {
        let said = said("check", &kernel, &list("[2]", "[{ u32 = 128 }]"));
        assert_eq!(said.contains(inside), is_noted, "{kernel}\n{said}");
    }
}

/// A list of push constants is compared with the members of the block.
#[test]
fn push_constants_are_named_by_their_members() {
    let kernel = kernel("n: u32, origin: vec3<f32>, scale: f32", "y[i] = x[i] * p.scale + p.origin.y;");
    let block = "(n u32 at byte 0, origin 3 f32 at 16, scale f32 at 28)";
    let words = |values: &str| {
        let value = |value: &str| {
            let ty = if value.contains('.') { "f32" } else { "u32" };
            format!("{{ {ty} = {value} }}")
        };
        format!("[{}]", values.split(' ').map(value).collect::<Vec<_>>().join(", "))
    };
    for (values, wanted) in [
        ("64 0 0 0 1.0 2.0 3.0 0.5", None),
        (
            "64 1.0 2.0 3.0 0.5",
            Some(
                "takes 32 bytes of push constants, 20 are given: value 1 of the list, f32, lies at byte 4 of the push constants, where kernel k has nothing",
            ),
        ),
        (
            "64 1 0 0 1.0 2.0 3.0 0.5",
            Some("with { u32 = 0 }, { u32 = 0 }, { u32 = 0 } before it, it is for origin.x"),
        ),
        (
            "64 0 0 0 1.0 2.0 3 0.5",
            Some("kernel k has f32 at byte 24 of its push constants, and u32 is given for origin.z"),
        ),
        ("64 0 0 0 1.0 2.0 3.0 0.5 1.0", Some("takes 32 bytes of push constants, and 36 are given (n u32")),
        ("64", Some("takes 32 bytes of push constants, 4 are given (n u32")),
    ] {
        let said = said("check", &kernel, &list("[1]", &words(values)));
        match wanted {
            Some(wanted) => assert!(said.contains(wanted), "{values}\n{said}"),
            None => assert_eq!(said, "", "{values}"),
        }
        assert!(wanted.is_none_or(|wanted| wanted.contains("origin.z") || said.contains(block)), "{said}");
    }
    let none = "@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { y[id.x] = x[id.x]; }";
    let said = said("check", none, &list("[1]", "[{ u32 = 64 }]"));
    assert!(said.contains("kernel k takes no push constants, and 4 bytes are given"), "{said}");
}

/// Images: those of another format or kind than the kernel's, and parts that nothing writes.
#[test]
fn images_are_compared_with_what_kernels_declare_and_write() {
    let kernel = "@group(0) @binding(0) var a: texture_storage_2d<rgba8unorm, read>;
@group(0) @binding(1) var b: texture_storage_2d<rgba8unorm, write>;
@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let at = vec2<i32>(id.xy); if (id.x < 16u && id.y < 24u) { textureStore(b, at, textureLoad(a, at)); }
}";
    let list = "format = 1\nkernels.k.path = \"k.wgsl\"\nimages.a = { format = \"rgba8\", size = [16, 24], init = \"iota\" }\n\
        images.b = { format = \"rgba8\", size = [16, 24] }\n[[submit]]\nkernel = \"k\"\ngroups = [2, 3]\nargs = { 0 = \"a\", 1 = \"b\" }\n";
    let b = "images.b = { format = \"rgba8\", size = [16, 24]";
    for (from, to, wanted) in [
        ("", "", ""),
        (
            "groups = [2, 3]",
            "groups = [2, 2]",
            "submit[0].args.1: nothing writes rows 16 to 23 of b, an image of 24 rows",
        ),
        ("groups = [2, 3]", "groups = [1, 3]", "nothing writes columns 8 to 15 of b, an image of 16 columns"),
        ("groups = [2, 3]", "groups = [2, 2]\nbase = [0, 1]", "nothing writes rows 0 to 7 of b"),
        (b, "images.b = { format = \"rgba8\", size = [16, 32]", "nothing writes rows 24 to 31 of b"),
        (
            b,
            "images.b = { format = \"r32f\", size = [16, 24]",
            "0.1 (b) of kernel k is declared as rgba8, and image b has r32f",
        ),
        (
            b,
            "images.b = { format = \"rgba8ui\", size = [16, 24]",
            "is declared as rgba8, and image b has rgba8ui",
        ),
        (
            b,
            "images.b = { format = \"rgba8\", size = [384]",
            "is declared as a 2D image, and image b has one size",
        ),
    ] {
        let text = list.replacen(from, to, 1);
        let said = said("check", kernel, &text);
        assert!(said.contains(wanted) && said.is_empty() == wanted.is_empty(), "{to}\n{said}");
    }
    // Two that write parts each, and one that has contents.
    let twice = "groups = [2, 1]\nargs = { 0 = \"a\", 1 = \"b\" }\n[[submit]]\nkernel = \"k\"\ngroups = [2, 2]\nbase = [0, 1]";
    assert_eq!(said("check", kernel, &list.replacen("groups = [2, 3]", twice, 1)), "");
    let filled = list.replacen("groups = [2, 3]", "groups = [2, 2]", 1).replacen(
        b,
        &format!("{b}, init = \"zeros\""),
        1,
    );
    assert_eq!(said("check", kernel, &filled), "");
}

/// Bytes of one type for elements of another: copies, and texels of buffers.
#[test]
fn copies_between_types_have_to_be_casts() {
    let list = |types: [&str; 2], from: &str| {
        let [x, z] = types.map(|ty| {
            let len = 256 / ty[1..].parse::<u64>().expect("bits") * 8;
            format!("{{ type = \"{ty}\", len = {len}, init = \"zeros\" }}")
        });
        format!(
            "format = 1\nbuffers.x = {x}\nbuffers.z = {z}\n[[submit]]\ncopy = {{ from = {from}, to = \"z\" }}\n"
        )
    };
    let wrong = "would become f32 without a conversion; where its bytes are meant, say from = { buffer = \"x\", cast = true }";
    for (types, from, is_wrong) in [
        (["u32", "f32"], "\"x\"", true),
        (["f16", "f32"], "\"x\"", true),
        (["f64", "f32"], "\"x\"", true),
        (["u32", "f32"], "{ buffer = \"x\", cast = true }", false),
        (["f32", "f32"], "\"x\"", false),
        (["i32", "u32"], "\"x\"", false),
        (["u8", "f32"], "\"x\"", false),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let finished = vkfuse(&["check", &write(folder.path(), "list.toml", &list(types, from))]);
        assert_eq!(finished.stderr.contains(wrong), is_wrong, "{types:?} {from}: {}", finished.stderr);
        assert_eq!(finished.status, if is_wrong { 2 } else { 0 }, "{types:?} {from}");
    }
}

/// A word that is mistyped, or that another language has.
#[test]
fn what_may_be_meant_is_said() {
    let good = list("[1]", "[{ u32 = 64 }]");
    for (from, to, wanted) in [
        ("kernels.k.path", "kernel.k.path", "did you mean \"kernels\"?"),
        ("[[submit]]", "[[submits]]", "did you mean \"submit\"?"),
        ("groups =", "gruops =", "did you mean \"groups\"?"),
        ("kernel = \"k\"", "kernle = \"k\"", "did you mean \"kernel\"?"),
        ("\"f32\"", "\"float\"", "did you mean \"f32\"?"),
        ("u32 = 64", "uint = 64", "the type is u32 here"),
        ("\"random\"", "\"Zeros\"", "expected zeros, iota"),
        ("outputs = [\"y\"]", "policy = \"prov\"", "did you mean \"prove\"?"),
        ("0 = \"x\"", "0 = { image = \"x\" }", "x is a buffer, expected { buffer = \"x\" }"),
        (
            "groups = [1]",
            "indirect = \"x\"",
            "expected three u32 of a buffer, { buffer = \"NAME\", offset = 0 }",
        ),
        (
            "groups = [1]",
            "indirect = { buffer = \"x\" }",
            "expected a buffer of at least three u32, found 256 f32",
        ),
        ("groups = [1]", "groups = [1]\nspec = [64]", "expected a table by id, { 0 = { u32 = 64 } }"),
        ("init = \"random\"", "init = { values = [1] }", "1 values for 256 elements"),
    ] {
        assert!(good.contains(from), "{from}");
        let said = said("check", &kernel("n: u32", "y[i] = x[i];"), &good.replacen(from, to, 1));
        assert!(said.contains(wanted) && said.lines().count() == 1, "{to}\n{said}");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let steps = "format = 1\nbuffers.x = { type = \"f32\", len = 64, init = \"zeros\" }\n[[submit]]\n";
    for (step, wanted) in [
        ("kopy = { from = \"x\", to = \"x\" }", "did you mean \"copy\"?"),
        ("copy = [\"x\", \"x\"]", "expected two buffers, { from = \"NAME\", to = \"NAME\" }"),
        ("fill = \"x\"", "expected a buffer and a number, { buffer = \"NAME\", value = 0 }"),
    ] {
        let file = write(folder.path(), "list.toml", &format!("{steps}{step}\n"));
        let finished = vkfuse(&["check", &file]);
        assert!(finished.status == 2 && finished.stderr.contains(wanted), "{step}: {}", finished.stderr);
    }
    let capture = vkfuse(&["capture", "./program"]);
    assert!(capture.stderr.contains("behind `--`: vkfuse capture -- ./program"), "{}", capture.stderr);
    let saved = vkfuse(&["run", "list.toml", "--save", "y=y.txt"]);
    assert!(saved.status == 2 && saved.stderr.contains("raw bytes and not text"), "{}", saved.stderr);
    let limits = vkfuse(&[
        "plan",
        &write(folder.path(), "l.toml", &format!("{steps}fill = {{ buffer = \"x\", value = 1 }}\n")),
        "--limits",
        "android",
    ]);
    assert!(limits.stderr.contains("or `apple`"), "{}", limits.stderr);
}

/// Counts that are zero in their buffer.
#[test]
fn indirect_counts_of_zero_are_noted() {
    let text = list("[1]", "[{ u32 = 64 }]")
        .replacen("groups = [1]", "indirect = { buffer = \"c\" }", 1)
        .replacen("buffers.y", "buffers.c = { type = \"u32\", len = 3 }\nbuffers.y", 1);
    let kernel = kernel("n: u32", "y[i] = x[i];");
    let said_of = |text: &str| said("check", &kernel, text);
    let wanted = "kernel k is dispatched with the counts 0, 0 and 0 that are in c, and does not run";
    assert!(said_of(&text).contains(wanted), "{}", said_of(&text));
    assert_eq!(said_of(&text.replacen("len = 3", "len = 3, init = { fill = 1 }", 1)), "");
}

/// A note that loops are longer than the driver's limit is there where results are wrong for that reason, and nowhere else.
#[test]
fn the_limit_of_loops_is_exact() {
    if !has_device() {
        return;
    }
    let once = "for (var k = 0u; k < p.n; k++) { s += 1u; }";
    let twice = format!("{once} for (var k = 0u; k < p.m; k++) {{ s += 1u; }}");
    let nested = "for (var j = 0u; j < p.m; j++) { for (var k = 0u; k < p.n; k++) { s += 1u; } }";
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (body, n, m, sum) in [
        (once, 65_534, 0, 65_534),
        (once, 65_535, 0, 65_535),
        (once, 65_536, 0, 65_536),
        (&twice, 32_767, 32_767, 65_534),
        (&twice, 32_768, 32_768, 65_536),
        (&twice, 65_534, 1, 65_535),
        (nested, 65_535, 1, 65_535),
        (nested, 3, 13_107, 39_321),
        (nested, 3, 13_108, 39_324),
        (nested, 255, 256, 65_280),
    ] {
        // What is added is not known, so that no compiler counts it out.
        let body = body.replace("s += 1u", "s += x[i] + (k & 0u)");
        let kernel = format!(
            "struct P {{ n: u32, m: u32 }}\nvar<immediate> p: P;\n@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{ let i = id.x; var s = p.m & 0u; {body} y[i] = s; }}"
        );
        write(folder.path(), "k.wgsl", &kernel);
        let text = format!(
            "format = 1\nkernels.k.path = \"k.wgsl\"\nbuffers.x = {{ type = \"u32\", len = 4, init = {{ fill = 1 }} }}\n\
             buffers.y = {{ type = \"u32\", len = 4 }}\n[[submit]]\nkernel = \"k\"\ngroups = [1]\npush = [{{ u32 = {n} }}, {{ u32 = {m} }}]\n\
             args = {{ 0 = \"x\", 1 = \"y\" }}\n"
        );
        let (_, report) = json(&["run", &write(folder.path(), "list.toml", &text), "--no-cache"]);
        let is_right = report["outputs"]["y"]["head"][0] == sum;
        let is_noted = report["notes"].to_string().contains("this driver ends all loops");
        assert_eq!(is_noted, !is_right, "{body} {n} {m}: {report:#}");
    }
}

/// A kernel that another one recomputes is said to be recomputed, times of a single run make no speed-up, and columns say what they count.
#[test]
fn reports_say_what_their_words_count() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "k.wgsl", &kernel("n: u32", "y[i] = x[i] * 2.0;"));
    write(folder.path(), "l.wgsl", &kernel("n: u32", "y[i] = x[i] + x[min(i + 1u, p.n - 1u)];"));
    let text = list("[4]", "[{ u32 = 256 }]")
        .replacen("buffers.y", "kernels.l.path = \"l.wgsl\"\nbuffers.z = { type = \"f32\", len = 256 }\nbuffers.y", 1)
        .replacen("[fusion]", "[[submit]]\nkernel = \"l\"\ngroups = [4]\npush = [{ u32 = 256 }]\nargs = { 0 = \"y\", 1 = \"z\" }\n[fusion]", 1)
        .replacen("outputs = [\"y\"]", "outputs = [\"z\"]", 1);
    let file = write(folder.path(), "list.toml", &text);
    let planned = vkfuse(&["plan", &file, "--limits", "apple"]).stdout;
    assert!(planned.contains("none after 0 (recomputed)"), "{planned}");
    assert!(planned.contains("items per invocation  groups per work-group"), "{planned}");
    if !has_device() {
        return;
    }
    let once = vkfuse(&["run", &file, "--no-cache"]).stdout;
    assert!(once.contains("times of one run, which say little: `vkfuse bench` measures"), "{once}");
    assert!(!once.contains("speed-up"), "{once}");
    let thrice = vkfuse(&["run", &file, "--no-cache", "--repeat", "3"]).stdout;
    assert!(thrice.contains("speed-up") && !thrice.contains("say little"), "{thrice}");
}

/// Why a list of three is cut names the kernels on both sides of the cut, and two numbers that differ.
#[test]
fn what_is_not_placed_is_named_with_its_numbers() {
    let join = |own: &str, from: &str| {
        format!(
            "struct P {{ r: u32, a: u32, b: u32 }}
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<immediate> p: P;
@compute @workgroup_size(16, 4) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    if (id.y < p.r && id.x < p.{own}) {{ y[id.y * (p.a + p.b) + {from} id.x] = x[id.y * p.{own} + id.x]; }}
}}"
        )
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "a.wgsl", &join("a", ""));
    write(folder.path(), "b.wgsl", &join("b", "p.a +"));
    write(folder.path(), "k.wgsl", &kernel("n: u32", "y[i] = x[i] + x[(i + 1u) % p.n];"));
    let buffers = [("u", 512), ("v", 256), ("t", 768), ("z", 768)];
    let buffers = buffers.map(|(name, len)| {
        let init = if len < 768 { ", init = \"iota\"" } else { "" };
        format!("buffers.{name} = {{ type = \"f32\", len = {len}{init} }}\n")
    });
    let part = |kernel: &str, from: &str, columns: u32| {
        format!(
            "[[submit]]\nkernel = \"{kernel}\"\nglobal = [{columns}, 8]\npush = [{{ u32 = 8 }}, {{ u32 = 64 }}, {{ u32 = 32 }}]\n\
             args = {{ 0 = \"{from}\", 1 = \"t\" }}\n"
        )
    };
    let text = format!(
        "format = 1\nkernels.a.path = \"a.wgsl\"\nkernels.b.path = \"b.wgsl\"\nkernels.k.path = \"k.wgsl\"\n{}{}{}\
         [[submit]]\nkernel = \"k\"\nglobal = [768]\npush = [{{ u32 = 768 }}]\nargs = {{ 0 = \"t\", 1 = \"z\" }}\n",
        buffers.concat(),
        part("a", "u", 64),
        part("b", "v", 32),
    );
    let file = write(folder.path(), "list.toml", &text);
    let planned = vkfuse(&["plan", &file, "--limits", "apple"]).stdout;
    let wanted = "no rewrite closes it: submission 2 cannot be done at the positions of submission 0: it goes by rows of 96, and the grid there is 64 wide";
    assert!(planned.contains(wanted), "{planned}");
}

/// Two variables at one binding, where an argument is left over: they may be meant as two buffers.
#[test]
fn a_binding_of_two_variables_is_noted_where_an_argument_is_left_over() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kernel = crate::process::root().join("shaders/views/two_types.spv");
    let list = |args: &str| {
        format!(
            "format = 1\nkernels.k.path = \"{}\"\nbuffers.x = {{ type = \"u32\", len = 64, init = \"iota\" }}\n\
             buffers.y = {{ type = \"u32\", len = 64, init = \"iota\" }}\nbuffers.z = {{ type = \"u32\", len = 64 }}\n[[submit]]\n\
             kernel = \"k\"\nglobal = [64]\nargs = {{ {args} }}\n",
            kernel.display(),
        )
    };
    let said = |args: &str| vkfuse(&["check", &write(folder.path(), "list.toml", &list(args))]).stderr;
    let left_over = said("0 = \"x\", 1 = \"y\", 2 = \"z\"");
    let expected = "is given an argument for binding 2, which it does not use; its variables A and F have one number, binding 0, and are one buffer";
    assert!(left_over.contains(expected), "{left_over}");
    let all_used = said("0 = \"x\", 1 = \"z\"");
    assert!(!all_used.contains("one buffer"), "{all_used}");
}
