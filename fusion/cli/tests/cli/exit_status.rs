//! Each exit status, and that only one message goes with it.

use crate::process::{Finished, changed, command, example, finish, has_device, json, root, vkfuse};
use crate::shape::check_run;
use serde_json::{Value, json};

fn one_line(finished: &Finished) {
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    assert!(finished.stderr.starts_with("error: "), "{}", finished.stderr);
    assert_eq!(finished.stdout, "");
}

#[test]
fn status_1_when_an_output_differs() {
    if !has_device() {
        return;
    }
    // Trusting that kernels which hand data from one work-group to another may be fused is wrong:
    // the reader runs before the writer.
    let (status, report) = json(&["run", &example("reverse_split.toml"), "--policy", "trust", "--no-cache"]);
    check_run(&report);
    assert_eq!(report["groups"].as_array().map(Vec::len), Some(1), "{report:#}");
    assert!(!report["trusted"].as_array().expect("checked").is_empty());
    assert_eq!(status, 1, "{report:#}");
    let out = &report["outputs"]["out"];
    assert_eq!(out["equal"], false);
    assert!(out["first_difference"].is_u64() && out["max_ulp"].as_u64() > Some(0), "{out:#}");
    let file = example("reverse_split.toml");
    let printed = vkfuse(&["run", &file, "--policy", "trust", "--no-cache"]);
    assert!(printed.stdout.contains(&format!("`vkfuse check {file}` may find why")), "{}", printed.stdout);
}

#[test]
fn status_2_for_a_wrong_command_line() {
    for args in [
        &["run"] as &[&str],
        &["run", "x.toml", "--mode", "half"],
        &["run", "x.toml", "--repeat", "0"],
        &["run", "x.toml", "--no-cache", "--cache-dir", "x"],
        &["bench", "x.toml", "--iters", "-1"],
        &["check", "x.toml", "--max-bytes", "10X"],
        &["cache", "warm", "x.toml", "--jobs", "0"],
        &["fuse"],
        &[],
    ] {
        let finished = vkfuse(args);
        assert_eq!(finished.status, 2, "{args:?}");
        assert_eq!(finished.stdout, "", "{args:?}");
        assert!(!finished.stderr.is_empty(), "{args:?}");
    }
    // A number below zero is a value like others.
    let finished = vkfuse(&["run", "x.toml", "--repeat", "-1"]);
    assert!(finished.status == 2 && finished.stderr.contains("-1 is not in 1.."), "{}", finished.stderr);
    let finished = vkfuse(&["run", "no/such/file.toml", "--json"]);
    assert_eq!(finished.status, 2);
    one_line(&finished);
}

/// A file without a command, and a file of another kind than the command takes: what was meant is said.
#[test]
fn status_2_for_a_file_in_the_wrong_place() {
    let (list, module) = (example("chain.toml"), root().join("shaders/chain/mul.spv").display().to_string());
    for (args, wanted) in [
        (&[&*list] as &[&str], format!("a command is missing: `vkfuse run {list}`")),
        (&[&*module], format!("a command is missing: `vkfuse inspect {module}`")),
        (&["inspect", &list], format!("`vkfuse plan {list}` shows a list")),
        (&["run", &module], format!("`vkfuse inspect {module}` shows it")),
    ] {
        let finished = vkfuse(args);
        assert_eq!(finished.status, 2, "{args:?}");
        one_line(&finished);
        assert!(finished.stderr.contains(&wanted), "{}", finished.stderr);
    }
    assert!(vkfuse(&["no-such-file.toml"]).stderr.contains("unrecognized subcommand"));
}

/// An execution mode that the device lacks is named before a driver sees it.
#[test]
fn status_2_for_an_execution_mode_that_the_device_lacks() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = format!(
        "format = 1\n[kernels.k]\npath = \"{}/shaders/forms/uniform_flow.spv\"\n\
         [buffers.x]\ntype = \"u32\"\nlen = 64\ninit = \"iota\"\n[buffers.z]\ntype = \"u32\"\nlen = 64\n\
         [[submit]]\nkernel = \"k\"\ngroups = [1]\nargs = {{ 0 = \"x\", 1 = \"z\" }}\n",
        root().display()
    );
    let file = folder.path().join("mode.toml").display().to_string();
    std::fs::write(&file, text).expect("the folder can be written");
    for mode in ["both", "unfused", "fused"] {
        let finished = vkfuse(&["run", &file, "--no-cache", "--mode", mode]);
        if finished.status == 0 {
            continue;
        }
        assert_eq!(finished.status, 2, "{}", finished.stderr);
        one_line(&finished);
        let wanted = "needs the execution mode SubgroupUniformControlFlowKHR, which";
        assert!(finished.stderr.contains(wanted) && finished.stderr.contains("lacks"), "{}", finished.stderr);
    }
}

#[test]
fn status_2_for_what_the_device_cannot_do() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    // A work-group of 2^20 items is over every device's limit.
    let file = changed(folder.path(), "chain_slices.toml", "{ u32 = 64 }", "{ u32 = 1048576 }");
    let finished = vkfuse(&["run", &file, "--no-cache"]);
    assert_eq!(finished.status, 2, "{}", finished.stderr);
    one_line(&finished);
    assert!(finished.stderr.contains("submit[0].kernel"), "{}", finished.stderr);
}

/// A submission that the device cannot do is named by its place, whichever it is, and nothing is said beside that.
#[test]
fn status_2_for_more_work_groups_than_the_device_dispatches() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let second = "\n[[submit]]\nkernel = \"sub\"\nglobal = [65539]";
    let many = second.replace("global = [65539]", "groups = [257, 4000000000, 4000000000]");
    let file = changed(folder.path(), "chain.toml", second, &many);
    for args in [&["run", "--mode", "unfused"] as &[&str], &["run", "--mode", "fused"], &["plan"], &["bench"]]
    {
        let finished = vkfuse(&[args, &[&file]].concat());
        let said: Vec<&str> = finished.stderr.lines().filter(|line| !line.contains("differ in")).collect();
        let [said] = said[..] else { panic!("{args:?}: {}", finished.stderr) };
        assert_eq!((finished.status, &*finished.stdout), (2, ""), "{said}");
        let wanted =
            "submit[1]: 4000000000 work-groups in y are over the device's `maxComputeWorkGroupCount` of ";
        assert!(said.contains(wanted), "{args:?}: {said}");
    }
}

/// What is wrong with a later submission is all that is said: nothing of the list runs, where nothing could run either.
#[test]
fn status_2_for_a_later_submission_that_overruns_its_buffer() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = "[buffers.out]\ntype = \"f32\"\nlen = 65539";
    let file = changed(folder.path(), "chain.toml", out, &out.replace("65539", "100"));
    for args in [&["run", "--mode", "unfused"] as &[&str], &["run", "--mode", "fused"], &["plan"]] {
        let finished = vkfuse(&[args, &[&file]].concat());
        assert_eq!(finished.status, 2, "{args:?}: {}", finished.stderr);
        one_line(&finished);
        assert!(finished.stderr.contains("submit[3]: kernel `sub`: binding 2"), "{}", finished.stderr);
    }
}

#[test]
fn status_3_without_a_device() {
    for args in [
        &["run", &example("chain.toml"), "--json"] as &[&str],
        &["devices"],
        &["bench", &example("chain.toml")],
    ] {
        let mut command = command();
        command.env("VK_DRIVER_FILES", "/no/such/driver.json");
        command.env("VK_ICD_FILENAMES", "/no/such/driver.json");
        let finished = finish(command.args(args));
        assert_eq!(finished.status, 3, "{args:?} {}", finished.stderr);
        one_line(&finished);
    }
    let mut command = command();
    command.env("VK_DRIVER_FILES", "/no/such/driver.json");
    command.env("VK_ICD_FILENAMES", "/no/such/driver.json");
    let finished = finish(command.args(["devices", "--json"]));
    assert_eq!(finished.status, 3);
    let devices: Value = serde_json::from_str(&finished.stdout).expect("an object");
    assert_eq!((&devices["format"], &devices["devices"]), (&json!(1), &json!([])));
}

#[test]
fn status_3_when_no_device_is_what_was_asked_for() {
    for device in ["no such device", "4711"] {
        let finished = vkfuse(&["run", &example("chain.toml"), "--device", device]);
        assert_eq!(finished.status, 3, "{}", finished.stderr);
        one_line(&finished);
    }
    // Families of AMD's are compiled for, and not run on.
    for (command, wanted) in [("plan", "navi21"), ("run", "`vkfuse plan`")] {
        let device = if command == "run" { "navi21" } else { "navi99" };
        let finished = vkfuse(&[command, &example("chain.toml"), "--device", device]);
        one_line(&finished);
        assert!(finished.stderr.contains(wanted), "{}", finished.stderr);
    }
}

#[test]
fn status_2_before_3() {
    let mut command = command();
    command.env("VK_DRIVER_FILES", "/no/such/driver.json");
    command.env("VK_ICD_FILENAMES", "/no/such/driver.json");
    let finished = finish(command.args(["run", "no/such/file.toml"]));
    assert_eq!(finished.status, 2);
}

#[test]
fn status_4_when_fusion_is_forced_and_fails() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let force = "\n[fusion]\nforce = true\n\n[[submit]]\nkernel = \"mul\"";
    let file = changed(folder.path(), "reverse_split.toml", "\n[[submit]]\nkernel = \"mul\"", force);
    let finished = vkfuse(&["run", &file, "--no-cache", "--json"]);
    assert_eq!(finished.status, 4, "{}", finished.stderr);
    assert_eq!(finished.stderr.lines().count(), 1);
    let report: Value = serde_json::from_str(&finished.stdout).expect("the report is there all the same");
    check_run(&report);
    assert_eq!(report["groups"].as_array().map(Vec::len), Some(2));

    let file = changed(folder.path(), "chain.toml", "[fusion]", "[fusion]\nforce = true");
    assert_eq!(vkfuse(&["run", &file, "--no-cache"]).status, 0);
}

#[test]
fn force_overrules_that_there_are_too_few_rows() {
    if !has_device() {
        return;
    }
    // Eight rows, sixteen rounds of a work-group each: fusing would leave most of a device idle.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let patterns = root().join("shaders/patterns").display().to_string();
    let text = std::fs::read_to_string(format!("{patterns}/t_row_128_1024.toml")).expect("the file is there");
    let few = text
        .replace(
            "groups = [16, 1, 1]\npush = [{ u32 = 1024 }]",
            "groups = [8, 1, 1]\npush = [{ u32 = 2048 }]",
        )
        .replace("path = \"", &format!("path = \"{patterns}/"));
    assert_ne!(few, text);
    // What is stored last is read before, so that it cannot be done where the rows are stored.
    let (row, by_elements) = few.split_at(few.rfind("[[submit]]").expect("there are two submissions"));
    let reader = by_elements.replace("\"z\"", "\"w\"").replace("\"y\"", "\"z\"");
    let buffer = "[buffers.w]\ntype = \"f32\"\nlen = 16384\n";
    let few = format!("{row}{reader}\n{by_elements}\n{buffer}");
    for (fusion, groups) in [("", 2), ("[fusion]\nforce = true\n", 1)] {
        let file = folder.path().join("few.toml").display().to_string();
        std::fs::write(&file, format!("{few}{fusion}")).expect("the folder can be written");
        let (status, report) = json(&["run", &file, "--no-cache"]);
        assert_eq!(status, 0, "{report:#}");
        assert_eq!(report["groups"].as_array().map(Vec::len), Some(groups), "{report:#}");
    }
}

#[test]
fn the_first_device_can_be_named() {
    if !has_device() {
        return;
    }
    let (status, devices) = json(&["devices"]);
    assert_eq!(status, 0);
    let first = &devices["devices"][0];
    let bindings = &first["limits"]["storage_buffer_bindings"];
    assert!(bindings.as_u64() >= Some(4), "Vulkan asks for as many: {bindings}");
    assert_eq!(first["index"], 0);
    let name = first["name"].as_str().expect("a name");
    for device in ["0", name] {
        let (status, report) = json(&["run", &example("chain.toml"), "--no-cache", "--device", device]);
        assert_eq!(status, 0);
        assert_eq!(report["device"], name);
        assert_eq!(report["driver"], first["driver"]);
    }
}

/// An option of another command names it.
#[test]
fn an_option_of_another_command_names_it() {
    let finished = vkfuse(&["run", "list.toml", "--iters", "5"]);
    assert_eq!(finished.status, 2, "{}", finished.stderr);
    assert_eq!(finished.stderr.trim(), "error: --iters is no option here, but one of `vkfuse bench`");
    let finished = vkfuse(&["run", "list.toml", "--fast"]);
    assert!(
        finished.status == 2 && finished.stderr.contains("unexpected argument '--fast'"),
        "{}",
        finished.stderr
    );
}
