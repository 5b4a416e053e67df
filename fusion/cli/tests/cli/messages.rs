//! Error messages name the actual cause, and settings without an effect are reported.

use crate::process::{Finished, changed, command, example, finish, has_device, json, root, vkfuse};
use std::path::Path;

/// A list of one kernel in WGSL over the buffer `x` of 64 elements.
fn list(folder: &Path, kernel: &str, more: &str) -> String {
    std::fs::write(folder.join("k.wgsl"), kernel).expect("the folder can be written");
    let text = format!(
        "format = 1\nkernels.k.path = \"k.wgsl\"\nbuffers.x = {{ type = \"f32\", len = 64, init = \"iota\" }}\n\
         [[submit]]\nkernel = \"k\"\ngroups = [1]\nargs = {{ 0 = \"x\" }}\n{more}"
    );
    let file = folder.join("list.toml");
    std::fs::write(&file, text).expect("the folder can be written");
    file.display().to_string()
}

const DOUBLE: &str = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = 2.0 * x[id.x]; }";

const ENDLESS: &str = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        x[id.x + 64u] = 1.0;
        loop { if x[id.x] < -1.0 { break; } x[id.x] = x[id.x] + 1.0; }
    }";

fn run_with(variable: &str, value: &str, args: &[&str]) -> Finished {
    finish(command().env(variable, value).args(args))
}

fn says(finished: &Finished, status: i32, wanted: &str) {
    assert_eq!(finished.status, status, "{}{}", finished.stdout, finished.stderr);
    assert!(finished.stderr.contains(wanted), "{wanted} is not in {}", finished.stderr);
}

/// What keeps the validator from running is said, and not that it is missing.
#[test]
fn a_temporary_folder_that_is_missing_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = list(folder.path(), DOUBLE, "");
    let finished = run_with("TMPDIR", "/no/such/folder", &["check", &file]);
    if finished.status == 2 {
        says(&finished, 2, "temporary folder /no/such/folder cannot be written");
        assert!(
            finished.stderr.contains("TMPDIR") && !finished.stderr.contains("install"),
            "{}",
            finished.stderr
        );
    }
}

#[cfg(unix)]
#[test]
fn a_validator_that_says_nothing_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = list(folder.path(), DOUBLE, "");
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/bin/sh\nexit 9\n").expect("the folder can be written");
    // Another process writes the program: one that a test starts meanwhile could keep it open, and then it cannot be run.
    let broken = folder.path().join("spirv-val");
    let mut install = std::process::Command::new("install");
    let installed = install.args(["-m", "755"]).args([&script, &broken]).status().expect("install");
    assert!(installed.success(), "{installed}");
    let finished = run_with("PATH", &folder.path().display().to_string(), &["check", &file]);
    if finished.status == 2 {
        says(&finished, 2, "spirv-val ended without a word: exit status: 9");
        assert!(!finished.stderr.contains("is invalid"), "{}", finished.stderr);
    }
}

/// Variables that choose drivers are named where there is no device.
#[test]
fn variables_that_choose_drivers_are_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let damaged = folder.path().join("icd.json").display().to_string();
    std::fs::write(&damaged, "{").expect("the folder can be written");
    for (value, wanted) in [("/no/such/icd.json", "/no/such/icd.json is not there"), (&*damaged, "is set")] {
        let mut command = command();
        command.env("VK_DRIVER_FILES", value).env("VK_ICD_FILENAMES", value);
        let finished = finish(command.args(["run", &example("chain.toml"), "--no-cache"]));
        says(&finished, 3, wanted);
        says(&finished, 3, &format!("VK_DRIVER_FILES={value}"));
        says(&finished, 3, "VK_LOADER_DEBUG=all");
        if value == damaged {
            assert!(!finished.stderr.contains("no Vulkan loader"), "{}", finished.stderr);
        }
    }
}

/// A kernel that follows addresses cannot be given one: nothing of the list runs.
#[test]
fn a_kernel_that_follows_addresses_does_not_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kernel = root().join("jit/tests/kernels/address.spv").display().to_string();
    let file = folder.path().join("list.toml").display().to_string();
    let text = format!(
        "format = 1\nkernels.k.path = \"{kernel}\"\nbuffers.x = {{ type = \"u32\", len = 4096 }}\n[[submit]]\nkernel = \"k\"\n\
         groups = [1]\npush = {{ hex = \"{}\" }}\nargs = {{ @ }}\n",
        "00".repeat(64)
    );
    let args = ["0 = { buffer = \"x\", cast = true }", ""];
    let runs = args.map(|args| {
        std::fs::write(&file, text.replace('@', args)).expect("the folder can be written");
        ["run", "bench", "check"].map(|command| vkfuse(&[command, &file]))
    });
    // One of the two is what the kernel takes.
    let refused = |finished: &Finished| finished.stderr.contains("follows addresses of buffers");
    assert!(runs.iter().any(|all| all.iter().all(refused)), "{}{}", runs[0][0].stderr, runs[1][0].stderr);
    assert!(runs.iter().flatten().all(|finished| finished.status == 2));
}

/// What was found before a loop that does not end is kept.
#[test]
fn what_was_found_until_a_check_was_given_up_is_printed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = list(folder.path(), ENDLESS, "");
    let finished = vkfuse(&["check", &file, "--max-steps", "100k"]);
    says(&finished, 2, "given up after 100000 instructions");
    assert!(finished.stdout.contains("given up in submission 0"), "{}", finished.stdout);
    assert!(finished.stdout.contains("out of bounds"), "{}", finished.stdout);
    let (status, report) = json(&["check", &file, "--max-steps", "100k"]);
    assert_eq!((status, &report["stopped"]), (2, &serde_json::json!(0)));
    assert!(report["out_of_bounds"]["count"].as_u64() > Some(0), "{report:#}");
    assert!(report["given_up"].as_str().is_some_and(|why| why.contains("--max-steps")), "{report:#}");
    let none = vkfuse(&["check", &file, "--max-steps", "100k", "--list", "0"]);
    assert!(none.stdout.contains(" accesses\n"), "{}", none.stdout);
    assert_eq!(vkfuse(&["check", &file, "--max-steps", "0"]).status, 2);
}

/// A list that is to be fused, is not, and whose outputs differ says both.
#[test]
fn forced_and_different_says_both() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("sums.toml").display().to_string();
    let text = format!(
        "format = 1\nkernels.k.path = \"{}/shaders/forms/float_atomics.spv\"\n\
         buffers.x = {{ type = \"f32\", len = 65536, init = \"random\" }}\nbuffers.y = {{ type = \"f32\", len = 1024, init = \"zeros\" }}\n\
         buffers.z = {{ type = \"f32\", len = 1024, init = \"zeros\" }}\n[fusion]\nforce = true\n\
         [[submit]]\nkernel = \"k\"\ngroups = [1024]\nargs = {{ 0 = \"x\", 1 = \"y\", 2 = \"z\" }}\n\
         [[submit]]\nkernel = \"k\"\ngroups = [16]\nargs = {{ 0 = \"z\", 1 = \"y\", 2 = \"z\" }}\n",
        root().display()
    );
    std::fs::write(&file, text).expect("the folder can be written");
    let finished = vkfuse(&["run", &file, "--no-cache"]);
    if finished.status == 4 && finished.stdout.contains("DIFFERENT") {
        says(&finished, 4, "outputs differ as well");
        assert!(finished.stdout.contains("add come in no fixed order"), "{}", finished.stdout);
    }
    assert!(![0, 1].contains(&finished.status), "{}{}", finished.stdout, finished.stderr);
}

/// Files that `--save` does not write are refused before anything runs.
#[test]
fn files_that_are_not_saved() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = list(folder.path(), DOUBLE, "");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let before = std::fs::read(&file).expect("it is there");
    for (saves, wanted) in [
        (vec![format!("x={}", at("x.png"))], "and no .png"),
        (vec![format!("x={file}")], "is a file of the list"),
        (vec![format!("x={}", at("k.wgsl"))], "is a file of the list"),
        (vec![format!("x={}", at("x.bin")), format!("x={}", at("./x.bin"))], "is given for two buffers"),
    ] {
        let mut args = vec!["run", &file];
        args.extend(saves.iter().flat_map(|save| ["--save", save]));
        says(&vkfuse(&args), 2, wanted);
    }
    assert_eq!(std::fs::read(&file).expect("it is there"), before);
    assert!(!folder.path().join("x.bin").exists());
}

/// Settings that have no effect are said, with what they may be.
#[test]
fn settings_without_effect_are_said() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = list(folder.path(), DOUBLE, "");
    for (variable, value, wanted) in [
        ("VKFUSE_SCHEDULE", "items=0", "items=0 is out of range, 1 to 1024"),
        ("VKFUSE_SCHEDULE", "work-group=100000", "work-group=100000 is out of range, 0 to 2048"),
        ("VKFUSE_CACHE_TRUST", "/x.pub", "there is no VKFUSE_CACHE_REMOTE"),
        ("VKFUSE_CACHE_LOWER", "/no/such", "/no/such is not asked: there is no such folder"),
        ("VKFUSE_CAPTUR", "/x", "is VKFUSE_CAPTURE meant?"),
    ] {
        says(&run_with(variable, value, &["run", &file]), 0, wanted);
    }
    let said = run_with("VKFUSE_FOO", "1", &["run", &file]).stderr;
    assert!(!said.contains("VKFUSE_FOO"), "{said}");
    let mut command = command();
    command.env("VKFUSE_CACHE_MIN_ITEM_SIZE", "1M").env("VKFUSE_CACHE_MAX_ITEM_SIZE", "1K");
    says(&finish(command.args(["run", &file])), 0, "VKFUSE_CACHE_MIN_ITEM_SIZE=\"1M\" is left out");
}

/// What a list gives that may be mistaken.
#[test]
fn notes_on_ids_constants_and_outputs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let check = |text: &str, from: &str, to: &str| {
        list(folder.path(), text, "");
        let file = folder.path().join("list.toml");
        let whole = std::fs::read_to_string(&file).expect("it is there");
        assert!(whole.contains(from), "{from}");
        std::fs::write(&file, whole.replace(from, to)).expect("the folder can be written");
        vkfuse(&["plan", "--limits", "apple", &file.display().to_string()]).stderr
    };
    let said = check(DOUBLE, "groups = [1]", "groups = [4000000000]");
    assert!(said.contains("has 256000000000 invocations in x, and ids have 32 bits"), "{said}");
    let said = check(DOUBLE, "[[submit]]", "[[submit]]\npush = [{ float = 1.0 }]");
    assert!(said.contains("unknown key \"float\": the type is f32 here"), "{said}");
    let said = check(DOUBLE, "init = \"iota\"", "init = { fill = NaN }");
    assert!(said.contains("found NaN; TOML writes nan"), "{said}");
    std::fs::write(folder.path().join("empty.spv"), "").expect("the folder can be written");
    let said = check(DOUBLE, "k.wgsl", "empty.spv");
    assert!(said.contains("empty.spv is empty"), "{said}");
    let said = check(DOUBLE, "\"k.wgsl\"", "\"C:\\kernels\\k.wgsl\"");
    assert!(said.contains("paths are written with `/`"), "{said}");
    // Half of what is written has a reader, and the other half nothing has written.
    let halves = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = 1.0; }";
    let to = "len = 128 }";
    let said = check(halves, "len = 64, init = \"iota\" }", to);
    assert!(said.contains("nothing writes elements 64 to 127 of x"), "{said}");
    let said = check(halves, "init = \"iota\" }", "promote = \"auto\" }");
    assert!(said.contains("no submission reads it: if it is, its contents are lost"), "{said}");
}

#[test]
fn a_constant_that_the_list_writes_is_named() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let constant = "\"0\" = { buffer = \"tmp1\", constant = true }";
    let file = changed(folder.path(), "chain.toml", "\"0\" = \"tmp1\"", constant);
    let said = vkfuse(&["plan", &file]).stderr;
    assert!(said.contains("tmp1 is said to be constant, and submission 0 writes it"), "{said}");
}

/// Lists by hand that stand beside no list, or another one.
#[test]
fn a_list_by_hand_that_is_compared_with_nothing_is_named() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = list(folder.path(), DOUBLE, "");
    let hand = folder.path().join("list.hand.toml").display().to_string();
    let text = std::fs::read_to_string(&file).expect("it is there");
    std::fs::write(&hand, text.replace("len = 64", "len = 128")).expect("the folder can be written");
    let bench = |files: &[&str]| vkfuse(&[&["bench", "--iters", "1"], files].concat());
    says(&bench(&[&hand]), 0, "list.toml is not on the command line");
    says(&bench(&[&file, &hand]), 0, "is another list than list.toml");
    assert!(bench(&[&file]).stdout.contains("`vkfuse run` does that"));
}

#[test]
fn a_device_that_is_here_and_one_that_is_elsewhere_exclude_each_other() {
    let finished = vkfuse(&["plan", &example("chain.toml"), "--limits", "apple", "--device", "0"]);
    says(&finished, 2, "cannot be used with");
}

/// A module without compute shaders is not looked at.
#[test]
fn a_fragment_shader_is_not_inspected() {
    let module = root().join("jit/tests/kernels/fragment.spv").display().to_string();
    let finished = vkfuse(&["inspect", &module]);
    assert_eq!((finished.status, &*finished.stdout), (2, ""), "{}", finished.stderr);
}

/// What is neither a pipeline file nor a recording, and contents with a head of numpy's.
#[test]
fn files_of_other_kinds_are_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let other = folder.path().join("other.bin").display().to_string();
    std::fs::write(&other, [0xff, 0xfe, 0, 0, 0, 0, 0, 0]).expect("the folder can be written");
    if has_device() {
        let finished = vkfuse(&[
            "cache",
            "warm",
            &other,
            "--cache-dir",
            &folder.path().join("cache").display().to_string(),
        ]);
        says(&finished, 2, "neither a pipeline file nor a recording");
    }
    let file = list(folder.path(), DOUBLE, "");
    let numpy = folder.path().join("x.npy");
    std::fs::write(&numpy, [&b"\x93NUMPY"[..], &[0; 300]].concat()).expect("the folder can be written");
    let text = std::fs::read_to_string(&file).expect("it is there");
    std::fs::write(&file, text.replace("init = \"iota\"", "init = { file = \"x.npy\" }"))
        .expect("the folder can be written");
    says(&vkfuse(&["check", &file]), 2, "it has numpy's head");
}

/// A cache that is carried to another machine says nothing of what the other one has to find out itself.
#[test]
fn a_cache_is_carried_whole() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (from, to, pack) = (at("from"), at("to"), at("pack"));
    assert_eq!(vkfuse(&["run", &example("chain.toml"), "--cache-dir", &from]).status, 0);
    assert_eq!(vkfuse(&["cache", "export", &pack, "--cache-dir", &from]).status, 0);
    let (status, done) = json(&["cache", "import", &pack, "--cache-dir", &to]);
    assert_eq!((status, &done["invalid"], &done["complete"]), (0, &0.into(), &true.into()), "{done:#}");
    assert!(done["approvals_left_out"].as_u64() > Some(0), "{done:#}");
}

/// The same two instructions at many elements are one row.
#[test]
fn what_is_found_at_neighbouring_elements_is_one_row() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kernel = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x / 2u] = f32(id.x); }";
    let file = list(folder.path(), kernel, "");
    let found = vkfuse(&["check", &file]);
    assert_eq!(found.status, 1, "{}", found.stderr);
    let rows: Vec<&str> = found.stdout.lines().filter(|line| line.contains("0 k ")).collect();
    assert!(rows.len() == 1 && rows[0].contains("0 to 15"), "{}", found.stdout);
    assert!(found.stdout.contains("and 16 more races"), "{}", found.stdout);
}

/// Files that hold a module in another form, and slips of other formats.
#[test]
fn what_a_file_is_instead_is_said() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("the folder can be written");
        path.display().to_string()
    };
    let module = std::fs::read(root().join("shaders/chain/mul.spv")).expect("the shader is there");
    let as_text: Vec<u8> =
        module.iter().flat_map(|&byte| if byte == b'\n' { vec![b'\r', byte] } else { vec![byte] }).collect();
    assert!(!as_text.len().is_multiple_of(4), "a shader with line feeds in it");
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    let words = b"\t0x07230203,0x00010300,0x0008000a,0x00000032\n";
    for (bytes, wanted) in [
        (&*as_text, "it was copied as text"),
        (pointer, "`git lfs pull`"),
        (words, "compile it without `-x`"),
    ] {
        write("k.spv", bytes);
        let file = write(
            "list.toml",
            b"format = 1\nkernels.k.path = \"k.spv\"\nbuffers.x = { type = \"f32\", len = 1 }\n[[submit]]\nkernel = \"k\"\ngroups = [1]\n",
        );
        says(&vkfuse(&["check", &file]), 2, wanted);
    }
    let file = write("list.toml", b"format = 1\n// the kernel\nkernels.k.path = \"k.spv\"\n");
    says(&vkfuse(&["check", &file]), 2, "a comment begins with #");
    let file = write("list.toml", b"format = 1 // the first\nkernels.k.path = \"k.spv\"\n");
    says(&vkfuse(&["check", &file]), 2, "a comment begins with #");
    let sets = list(folder.path(), DOUBLE, "").replace("list.toml", "sets.toml");
    let text = std::fs::read_to_string(folder.path().join("list.toml")).expect("it is there");
    std::fs::write(&sets, text.replace("0 = \"x\"", "\"1.0\" = \"x\"")).expect("the folder can be written");
    says(&vkfuse(&["check", &sets]), 2, "1.0 is given, and none of its bindings: a key is set.binding");
    let spread = root().join("shaders/views/spread.spv").display().to_string();
    let text = format!(
        "format = 1\nkernels.k.path = \"{spread}\"\nbuffers.s = {{ type = \"u32\", len = 256 }}\n[[submit]]\nkernel = \"k\"\n\
         groups = [4]\nargs = {{ 0 = \"s\" }}\n"
    );
    let file = write("list.toml", text.as_bytes());
    says(&vkfuse(&["check", &file]), 2, "the argument has 1024; its elements are 16 bytes apart (std140)");
    says(&vkfuse(&["run", &example("chain.toml"), "--html", "-"]), 2, "a page is a file");
    if has_device() {
        let far = list(folder.path(), &DOUBLE.replace("group(0)", "group(4000)"), "");
        let text = std::fs::read_to_string(&far).expect("it is there");
        std::fs::write(&far, text.replace("0 = \"x\"", "\"4000.0\" = \"x\""))
            .expect("the folder can be written");
        says(&vkfuse(&["run", &far]), 2, "a binding in descriptor set 4000 is over the device's limit of");
        let trusted = vkfuse(&["run", &example("reverse_split.toml"), "--policy", "trust", "--no-cache"]);
        assert!(trusted.stdout.contains("the list was fused on trust"), "{}", trusted.stdout);
    }
}
