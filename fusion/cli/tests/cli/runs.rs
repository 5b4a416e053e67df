//! `vkfuse run` and `vkfuse bench` on a device: what the reports say.

use crate::process::{changed, example, finish, has_device, json, root, vkfuse};
use crate::shape::{check_bench, check_run};
use serde_json::{Value, json};
use std::fs;

/// Runs an example from a cache of its own.
fn run(name: &str, more: &[&str]) -> (i32, Value) {
    let cache = tempfile::tempdir().expect("a temporary folder");
    let cache = cache.path().display().to_string();
    let file = example(name);
    let args = [&["run", &file, "--cache-dir", &cache], more].concat();
    let (status, report) = json(&args);
    check_run(&report);
    (status, report)
}

#[test]
fn chain_becomes_one_kernel_with_private_temporaries() {
    if !has_device() {
        return;
    }
    let (status, report) = run("chain.toml", &[]);
    assert_eq!(status, 0, "{report:#}");
    assert_eq!(report["mode"], "both");
    assert_eq!(report["outcome"], "fused");
    let groups = report["groups"].as_array().expect("checked");
    assert_eq!(groups.len(), 1, "{report:#}");
    assert_eq!(groups[0]["kernels"], json!([0, 1, 2, 3]));
    assert_eq!(groups[0]["fused"], true);
    assert_eq!(report["splits"], json!([]));
    for tmp in ["tmp1", "tmp2", "tmp3"] {
        let granted = json!({ "asked": "private", "got": "private", "reason": null, "explained_at": null });
        assert_eq!(report["buffers"][tmp], granted);
    }
    assert_eq!(report["buffers"]["in1"]["asked"], "none");
    let outputs = report["outputs"].as_object().expect("checked");
    assert_eq!(outputs.keys().collect::<Vec<_>>(), ["out"]);
    assert_eq!(outputs["out"]["equal"], true);
    assert_eq!(outputs["out"]["first_difference"], Value::Null);
    assert_eq!(outputs["out"]["max_ulp"], 0);
    assert_eq!(outputs["out"]["head"].as_array().map(Vec::len), Some(8));
    assert_eq!(report["cache"], json!({ "memory": "miss", "disk": "miss" }));
    for time in ["jit", "driver", "unfused_wall", "fused_wall"] {
        assert!(report["time_us"][time].is_number(), "{time} in {report:#}");
    }
}

#[test]
fn all_commands_say_what_is_recomputed() {
    if !has_device() {
        return;
    }
    let file = example("images.toml");
    for command in [&["run"][..], &["plan"], &["bench", "--iters", "2"]] {
        let done = vkfuse(&[command, &[&file, "--no-cache"]].concat());
        assert_eq!(done.status, 0, "{command:?}: {}", done.stderr);
        assert!(done.stdout.contains("recomputes"), "{command:?}: {}", done.stdout);
    }
}

#[test]
fn every_example_gives_equal_outputs() {
    if !has_device() {
        return;
    }
    let mut count = 0;
    for entry in fs::read_dir(root().join("examples/pipelines")).expect("the examples are there") {
        let name = entry.expect("a readable folder").file_name().into_string().expect("plain names");
        let needs_wgsl = ["chain_wgsl.toml", "entries.toml"].contains(&name.as_str());
        if name.ends_with(".toml") && (cfg!(feature = "wgsl") || !needs_wgsl) {
            let (status, report) = run(&name, &[]);
            assert_eq!(status, 0, "{name}: {report:#}");
            for (output, found) in report["outputs"].as_object().expect("checked") {
                assert_eq!(found["equal"], true, "{name}: {output}");
            }
            count += 1;
        }
    }
    assert!(count >= 6, "only {count} examples");
}

#[test]
fn one_mode_alone_has_nothing_to_compare() {
    if !has_device() {
        return;
    }
    let (status, both) = run("chain.toml", &[]);
    assert_eq!(status, 0);
    let (status, fused) = run("chain.toml", &["--mode", "fused"]);
    assert_eq!(status, 0);
    assert_eq!(fused["mode"], "fused");
    assert_eq!(fused["outputs"]["out"]["equal"], Value::Null);
    assert_eq!(fused["outputs"]["out"]["blake3"], both["outputs"]["out"]["blake3"]);
    assert_eq!(fused["time_us"]["unfused_wall"], Value::Null);

    let (status, unfused) = run("chain.toml", &["--mode", "unfused"]);
    assert_eq!(status, 0);
    assert_eq!(unfused["mode"], "unfused");
    assert_eq!(unfused["outputs"]["out"]["equal"], Value::Null);
    assert_eq!(unfused["outputs"]["out"]["max_ulp"], Value::Null);
    assert_eq!(unfused["outputs"]["out"]["blake3"], both["outputs"]["out"]["blake3"]);
    assert_eq!(unfused["groups"].as_array().map(Vec::len), Some(4));
    assert_eq!(unfused["cache"], json!({ "memory": null, "disk": null }));
    for time in ["jit", "driver", "fused_gpu", "fused_wall"] {
        assert_eq!(unfused["time_us"][time], Value::Null, "{time}");
    }
}

#[test]
fn a_second_process_finds_the_kernel_on_disk() {
    if !has_device() {
        return;
    }
    let cache = tempfile::tempdir().expect("a temporary folder");
    let cache = cache.path().display().to_string();
    let args = ["run", &example("chain.toml"), "--cache-dir", &cache, "--mode", "fused"];
    let (_, cold) = json(&args);
    assert_eq!(cold["cache"], json!({ "memory": "miss", "disk": "miss" }));
    assert!(cold["time_us"]["jit"].as_f64() > Some(0.0), "{cold:#}");
    let (_, warm) = json(&args);
    assert_eq!(warm["cache"], json!({ "memory": "miss", "disk": "hit" }));
    assert_eq!(warm["time_us"]["jit"], 0.0, "{warm:#}");
    assert_eq!(warm["outputs"], cold["outputs"]);
}

#[test]
fn repetitions_hit_the_memory_cache_unless_there_is_none() {
    if !has_device() {
        return;
    }
    let (status, report) = run("chain.toml", &["--repeat", "3"]);
    assert_eq!(status, 0);
    let runs = report["runs"].as_array().expect("checked");
    assert_eq!(runs.len(), 3);
    assert_eq!(report["cache"], json!({ "memory": "miss", "disk": "miss" }));
    assert_eq!(runs[0]["cache"], json!({ "memory": "hit", "disk": null }));
    assert_eq!(runs[1]["cache"], json!({ "memory": "hit", "disk": null }));
    assert_eq!(runs[2]["time_us"]["jit"], 0.0);

    let (_, report) = json(&["run", &example("chain.toml"), "--repeat", "2", "--no-cache"]);
    assert_eq!(report["runs"][1]["cache"], json!({ "memory": null, "disk": null }));
}

#[test]
fn a_cross_group_dependency_splits_and_says_why() {
    if !has_device() {
        return;
    }
    let (status, report) = run("reverse_split.toml", &[]);
    assert_eq!(status, 0);
    assert_eq!(report["groups"].as_array().map(Vec::len), Some(2));
    let split = &report["splits"][0];
    assert_eq!(split["after"], 0);
    assert_eq!(split["buffer"], "tmp");
    assert!(split["reason"].as_str().is_some_and(|reason| !reason.is_empty()));
    assert_eq!(report["buffers"]["tmp"]["asked"], "private");
    assert_eq!(report["buffers"]["tmp"]["got"], "none");
    assert!(report["buffers"]["tmp"]["reason"].is_string());
    // By default whatever stayed in memory is an output.
    assert_eq!(report["outputs"]["tmp"]["equal"], true);
}

/// Of the fused run: what runs alone is compiled as the file says, and what that changes is said.
#[test]
fn code_of_kernels_that_run_alone_is_the_users_or_the_report_says_how_it_differs() {
    if !has_device() {
        return;
    }
    let (status, strict) = run("reverse_split.toml", &[]);
    assert_eq!(status, 0);
    let changed_of = |report: &Value| report["changed"].as_array().expect("checked").clone();
    let mul = changed_of(&strict).into_iter().find(|one| one["kernel"] == 1).expect("a product is changed");
    assert_eq!(mul["changes"][0], "no_contraction", "{mul}");
    assert!(mul["detail"].as_str().is_some_and(|detail| detail.starts_with("NoContraction added")), "{mul}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let contract = "name = \"reverse\"\n\n[fusion]\nfloat = \"contract\"";
    let file = changed(folder.path(), "reverse_split.toml", "name = \"reverse\"", contract);
    let dump = folder.path().join("dump");
    let (status, report) = json(&["run", &file, "--no-cache", "--dump-spirv", &dump.display().to_string()]);
    check_run(&report);
    assert_eq!((status, changed_of(&report)), (0, Vec::new()));
    let outputs = report["outputs"].as_object().expect("checked");
    assert!(outputs.values().all(|output| output["equal"] == true), "{report:#}");
    // The unfused run is compiled in the same way: it has the same code.
    assert_eq!(fs::read_dir(dump).expect("the code was written").count(), 2);
    // A fused list has code of its own.
    assert_eq!(changed_of(&run("chain.toml", &[]).1), Vec::<Value>::new());
}

#[test]
fn a_group_dependency_keeps_one_barrier() {
    if !has_device() {
        return;
    }
    let (status, report) = run("mirror_local.toml", &[]);
    assert_eq!(status, 0);
    assert_eq!(report["groups"][0]["barriers"][0]["after"], 0);
    assert_eq!(report["groups"][0]["barriers"][0]["kept"], true);
    assert_eq!(report["buffers"]["tmp"]["got"], "local");
}

#[test]
fn slices_leave_the_rest_of_a_buffer_alone() {
    if !has_device() {
        return;
    }
    let (status, report) = run("chain_slices.toml", &[]);
    assert_eq!(status, 0);
    assert_eq!(report["outputs"]["out"]["head"], json!([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]));
    assert_eq!(report["buffers"]["tmp"]["asked"], "private");
}

#[test]
fn an_output_that_was_internalized_has_nothing_to_show() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = changed(folder.path(), "chain.toml", "outputs = [\"out\"]", "outputs = [\"tmp1\", \"out\"]");
    let (status, report) = json(&["run", &file, "--no-cache"]);
    check_run(&report);
    assert_eq!(status, 0);
    assert_eq!(report["outputs"]["out"]["equal"], true);
    for field in ["equal", "first_difference", "max_ulp", "blake3", "head"] {
        assert_eq!(report["outputs"]["tmp1"][field], Value::Null, "{field}");
    }
}

#[test]
fn the_code_of_each_dispatch_is_written_where_asked() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dump = folder.path().join("dump");
    let (status, report) =
        run("chain.toml", &["--mode", "fused", "--dump-spirv", &dump.display().to_string()]);
    assert_eq!(status, 0);
    let key = report["groups"][0]["key"].as_str().expect("checked");
    let bytes = fs::read(dump.join(format!("{}.spv", &key[..16]))).expect("the dispatch was written");
    assert_eq!(bytes[..4], 0x0723_0203_u32.to_le_bytes());
}

#[test]
fn people_get_tables() {
    if !has_device() {
        return;
    }
    let finished = vkfuse(&["run", &example("reverse_split.toml"), "--no-cache"]);
    assert_eq!(finished.status, 0, "{}", finished.stderr);
    for word in ["reverse, 2 submissions", "split after", "tmp", "equal", "unfused", "runs alone, changed"] {
        assert!(finished.stdout.contains(word), "no {word} in\n{}", finished.stdout);
    }
    assert_eq!(finished.stderr, "");
}

#[test]
fn bench_gives_medians_of_both() {
    if !has_device() {
        return;
    }
    let (status, report) = json(&["bench", &example("chain.toml"), "--iters", "3", "--no-cache"]);
    assert_eq!(status, 0);
    check_bench(&report);
    assert_eq!(report["iters"], 3);
    assert!(report["time_us"]["unfused_wall"].as_f64() > Some(0.0));
    assert!(report["time_us"]["fused_wall"].as_f64() > Some(0.0));
}

#[test]
fn bench_runs_a_list_again_whose_buffers_stay_inside_and_writes_a_page() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("temporary folder");
    let page = folder.path().join("page.html");
    let page = page.to_str().expect("UTF-8");
    let files = [example("softmax.toml"), example("chain.toml")];
    let (status, report) =
        json(&["bench", &files[0], &files[1], "--iters", "2", "--no-cache", "--html", page]);
    assert_eq!(status, 0);
    let benches = report["benches"].as_array().expect("one for each file");
    benches.iter().for_each(check_bench);
    assert_eq!(benches.len(), 2);
    let text = std::fs::read_to_string(page).expect("the page");
    assert!(
        text.contains("softmax")
            && text.contains("</table>")
            && text.contains("<circle")
            && text.ends_with("</html>\n")
    );
}

#[test]
fn a_closed_pipe_is_no_failure() {
    if !has_device() {
        return;
    }
    let mut shell = std::process::Command::new("sh");
    let line = format!("{} devices --json | head -c 1", env!("CARGO_BIN_EXE_vkfuse"));
    let finished = finish(shell.args(["-c", &line]));
    assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("{", ""));
}

/// A file may say how many invocations a sub-group has to have; another device is an error.
#[test]
fn a_sub_group_size_is_that_of_the_device_or_an_error() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let shader = root().join("shaders/library/line.spv").display().to_string();
    let file = folder.path().join("sizes.toml").display().to_string();
    let run = |size: u64| {
        let text = format!(
            "format = 1\n[kernels.line]\npath = \"{shader}\"\nsubgroup_size = {size}\n[buffers.a]\ntype = \"f32\"\nlen = 64\n\
             [buffers.b]\ntype = \"f32\"\nlen = 64\n[[submit]]\nkernel = \"line\"\nglobal = [64]\n\
             args = {{ 0 = \"a\", 1 = \"b\" }}\npush = [{{ u32 = 64 }}]\n"
        );
        std::fs::write(&file, text).expect("the folder can be written");
        vkfuse(&["run", &file, "--json"])
    };
    let finished = run(200);
    assert!(finished.status == 2 && finished.stderr.contains("subgroup_size: 200"), "{}", finished.stderr);
    // One of them is the device's.
    let sizes = [1, 2, 4, 8, 16, 32, 64, 128];
    let right: Vec<u64> = sizes.into_iter().filter(|size| run(*size).status == 0).collect();
    assert_eq!(right.len(), 1, "{right:?}");
    let wrong = run(if right[0] == 128 { 64 } else { 128 });
    let said = format!("runs kernels with sub-groups of {}", right[0]);
    assert!(wrong.status == 2 && wrong.stderr.contains(&said), "{}", wrong.stderr);
}

/// A mistyped id, and an argument for a binding that no kernel uses, are accepted as in Vulkan, and said: once, however many
/// submissions have them.
#[test]
fn what_is_given_in_vain_is_said() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let fault = |name: &str| root().join("jit/tests/kernels/given").join(name).display().to_string();
    let submit = |spec: &str, args: &str| {
        format!("[[submit]]\nkernel = \"k\"\nglobal = [64]\nspec = {{ {spec} }}\nargs = {{ {args} }}\n")
    };
    let of = |submits: &str| {
        let text = format!(
            "format = 1\n[kernels.k]\npath = \"{}\"\n[buffers.x]\ntype = \"u32\"\nlen = 64\ninit = {{ fill = 7 }}\n\
             [buffers.y]\ntype = \"u32\"\nlen = 64\n{submits}",
            fault("spec_id_by_group.spv")
        );
        let file = folder.path().join("given.toml");
        fs::write(&file, text).expect("the folder can be written");
        let args = ["run", &file.display().to_string(), "--json"].map(str::to_owned);
        finish(crate::process::command().args(args))
    };
    let run = |submits: &str| {
        let finished = of(submits);
        let report: Value =
            serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{}", finished.stderr));
        assert_eq!(finished.status, 0, "{report:#}");
        (report, finished.stderr)
    };
    let args = "0 = \"x\", 1 = \"y\"";
    // Given, and used: 7 + 100.
    let (report, said) = run(&submit("3 = { u32 = 100 }", args));
    assert_eq!(report["outputs"]["y"]["head"][0], 107);
    assert_eq!((&report["notes"], said.as_str()), (&json!([]), ""));
    let twice = submit("4 = { u32 = 100 }", &format!("{args}, 9 = \"x\"")).repeat(2);
    let (report, said) = run(&twice);
    assert_eq!(report["outputs"]["y"]["head"][0], 12);
    let notes: Vec<&str> =
        report["notes"].as_array().expect("checked").iter().filter_map(Value::as_str).collect();
    // The second submission does what the first did.
    let [constant, argument, over] = notes[..] else { panic!("{notes:?}") };
    assert!(
        constant
            .ends_with("kernel k is given a value for specialization constant 4, which it does not declare"),
        "{constant}"
    );
    assert!(
        argument.ends_with("kernel k is given an argument for binding 9, which it does not use"),
        "{argument}"
    );
    assert!(over.contains("submission 1 writes over all that submission 0 has written to y"), "{over}");
    assert!(constant.contains("given.toml:"), "{constant}");
    for note in notes {
        assert_eq!(said.matches(note).count(), 1, "{said}");
    }
}

/// A list of multiplications and reversals over five buffers of 1,024 elements. `t` may be promoted.
fn list_of(folder: &std::path::Path, submits: &[(&str, &[&str], u32)]) -> String {
    use std::fmt::Write as _;
    let shaders = root().join("shaders");
    let mut text = format!(
        "format = 1\n[kernels.mul]\npath = {:?}\n[kernels.reverse]\npath = {:?}\n",
        shaders.join("chain/mul.spv"),
        shaders.join("access/reverse.spv"),
    );
    for (name, more) in
        [("a", "init = \"random\""), ("t", "promote = \"auto\""), ("x", ""), ("y", ""), ("z", "")]
    {
        writeln!(text, "[buffers.{name}]\ntype = \"f32\"\nlen = 1024\n{more}").expect("a string");
    }
    for (kernel, args, n) in submits {
        writeln!(
            text,
            "[[submit]]\nkernel = \"{kernel}\"\nglobal = [{n}]\npush = [{{ u32 = {n} }}]\n[submit.args]"
        )
        .expect("a string");
        for (at, buffer) in args.iter().enumerate() {
            writeln!(text, "\"{at}\" = \"{buffer}\"").expect("a string");
        }
    }
    let file = folder.join("list.toml");
    fs::write(&file, text).expect("written");
    file.display().to_string()
}

/// A list that becomes two dispatches: what the reversal reads depends on `x`, which the last submission writes.
const IN_TWO: &[(&str, &[&str], u32)] = &[
    ("mul", &["a", "a", "t"], 1024),
    ("mul", &["t", "x", "z"], 1024),
    ("reverse", &["z", "y"], 1024),
    ("mul", &["a", "y", "x"], 1024),
];

/// The page times each dispatch by itself. `t` is promoted where the first dispatch is a list of its own, and not in the whole list,
/// whose second dispatch reads it.
#[test]
fn a_page_promotes_what_the_list_promoted() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let again: &[(&str, &[&str], u32)] = &[("mul", &["t", "x", "z"], 1024)];
    let file = list_of(folder.path(), &[IN_TWO, again].concat());
    let page = folder.path().join("page.html").display().to_string();
    let (status, report) = json(&["run", &file, "--no-cache", "--html", &page]);
    assert_eq!(status, 0);
    assert_eq!(report["groups"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["buffers"]["t"]["got"], "none");
    assert!(fs::read_to_string(&page).expect("the page").ends_with("</html>\n"));
}

/// Runs after the first find a promoted buffer without contents. A kernel reads more of it here than the list writes, or before it
/// does.
#[test]
fn bench_fills_promoted_buffers_that_are_read_before_they_are_written() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = list_of(folder.path(), &[("mul", &["a", "a", "t"], 1000), ("mul", &["t", "a", "x"], 1000)]);
    let (status, report) = json(&["run", &file, "--no-cache"]);
    assert_eq!((status, &report["buffers"]["t"]["got"]), (0, &"private".into()));
    let (status, report) = json(&["bench", &file, "--no-cache", "--iters", "2"]);
    assert_eq!(status, 0);
    check_bench(&report);
}

/// A list that has to be one kernel and becomes two runs as it was submitted, and the report says so: nothing is fused or promoted, and
/// every buffer is compared.
#[test]
fn a_forced_list_that_is_refused_is_reported_as_it_ran() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = list_of(folder.path(), IN_TWO);
    let (status, report) = json(&["run", &file, "--no-cache"]);
    assert_eq!((status, &report["buffers"]["t"]["got"]), (0, &"private".into()));
    let text = fs::read_to_string(&file).expect("the list");
    fs::write(&file, format!("{text}[fusion]\nforce = true\n")).expect("written");
    let (status, report) = json(&["run", &file, "--no-cache"]);
    assert_eq!(status, 4);
    let groups = report["groups"].as_array().expect("the dispatches");
    assert_eq!(groups.len(), 4);
    assert!(groups.iter().all(|group| group["fused"] == false), "{groups:#?}");
    assert_eq!(report["buffers"]["t"]["got"], "none");
    assert_eq!(report["outputs"]["t"]["equal"], true);
}

/// Where the bytes of a buffer of another type are meant, `cast` says so, or bytes are declared.
#[test]
fn a_buffer_of_another_type_is_cast() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let words = r#"in1]
type = "u32"
len = 65539
init = { fill = 0x40000000 }
"#;
    let text = fs::read_to_string(example("chain.toml")).expect("the example is there");
    let (from, to) = (text.find("in1]").expect("in1"), text.find("[buffers.in2]").expect("in2"));
    let declared = text[from..to].to_owned();
    let file = changed(folder.path(), "chain.toml", &declared, words);
    let refused = vkfuse(&["run", &file]);
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("elements of f32, and buffer in1 has u32"), "{}", refused.stderr);
    let cast =
        fs::read_to_string(&file).expect("written").replace("\"in1\"", "{ buffer = \"in1\", cast = true }");
    fs::write(&file, cast).expect("the folder can be written");
    let (status, report) = json(&["run", &file, "--no-cache"]);
    assert_eq!(status, 0, "{report:#}");
}

/// The first run, in which code is compiled, is not among the timed ones; and the same dispatches have no speed-up.
#[test]
fn times_are_of_runs_behind_the_first() {
    if !has_device() {
        return;
    }
    let (status, report) = run("chain.toml", &["--repeat", "3"]);
    assert_eq!(status, 0);
    assert_eq!(report["runs"].as_array().map(Vec::len), Some(3));
    for run in report["runs"].as_array().expect("runs") {
        assert_eq!(run["cache"]["memory"], "hit", "{run}");
        assert_eq!(run["time_us"]["driver"], 0.0, "{run}");
    }
    assert_eq!(report["cache"]["memory"], "miss");
    assert!(report["time_us"]["driver"].as_f64() > Some(0.0), "{report:#}");
    for first in ["first_unfused_wall", "first_fused_wall"] {
        assert!(report["time_us"][first].as_f64() > Some(0.0), "{first}");
    }
    let printed = |name: &str, more: &[&str]| vkfuse(&[more, &[&example(name)]].concat()).stdout;
    let chain = printed("chain.toml", &["run", "--no-cache", "--repeat", "3"]);
    assert!(chain.contains("x\n") && !chain.contains("same dispatches"), "{chain}");
    let split = printed("reverse_split.toml", &["run", "--no-cache"]);
    assert!(split.contains("same dispatches"), "{split}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let title = |name: &str| {
        let page = folder.path().join("page.html").display().to_string();
        printed(name, &["run", "--no-cache", "--html", &page]);
        let page = fs::read_to_string(page).expect("the page");
        let svg = &page[page.find("<svg").expect("a picture")..];
        svg[svg.find("<title>").expect("a title")..svg.find("</title>").expect("its end")].to_owned()
    };
    assert!(title("chain.toml").ends_with('×'), "{}", title("chain.toml"));
    assert!(!title("reverse_split.toml").contains('×'), "{}", title("reverse_split.toml"));
}

/// What fusion is compared with is all kernels in one command buffer.
#[test]
fn bench_times_one_command_buffer_as_well() {
    if !has_device() {
        return;
    }
    let bench = ["bench", &example("chain.toml"), "--no-cache", "--iters", "2"];
    let (status, report) = json(&bench);
    assert_eq!(status, 0);
    check_bench(&report);
    for time in ["unfused_wall", "recorded_wall", "fused_wall"] {
        assert!(report["time_us"][time].as_f64() > Some(0.0), "{time}: {report:#}");
    }
    let printed = vkfuse(&bench).stdout;
    let title = printed.lines().find(|line| line.contains("time in µs")).expect("a table of times");
    let columns: Vec<&str> = title.split("  ").map(str::trim).filter(|part| !part.is_empty()).collect();
    assert_eq!(columns, ["time in µs", "each by itself", "one command buffer", "fused", "speed-up"]);
}
