//! `vkfuse cache`: listing, checking and tidying the store that a run filled.

use crate::process::{command, example, finish, has_device, json, vkfuse};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// All files below `folder` with this extension.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut next = vec![folder.to_owned()];
    while let Some(folder) = next.pop() {
        for entry in fs::read_dir(folder).expect("a readable folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                next.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn a_store_is_listed_checked_and_cleared() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = folder.path().display().to_string();
    let on_store = |args: &[&str]| json(&[&["cache"], args, &["--cache-dir", &dir]].concat());
    assert_eq!(json(&["run", &example("chain.toml"), "--cache-dir", &dir, "--mode", "fused"]).0, 0);

    let (status, list) = on_store(&["ls"]);
    assert_eq!(status, 0);
    let entries = list["entries"].as_array().expect("a list");
    // Two kernels' normal forms, and the fused code.
    let of = |name: &str| entries.iter().filter(|entry| entry["sections"][0][0] == name).count();
    assert_eq!((of("form"), of("spirv"), entries.len()), (2, 1, 3), "{list:#}");
    let key = entries[0]["key"].as_str().expect("a key");
    assert_eq!(entries[0]["defect"], Value::Null);

    let (status, shown) = on_store(&["show", &key[..8]]);
    assert_eq!(status, 0);
    assert_eq!(shown["entry"]["key"], key);
    assert_eq!(on_store(&["stats"]).1["entries"], 3);
    assert_eq!(on_store(&["path"]).1["path"], dir.as_str());
    let (status, same) = on_store(&["explain", key, key]);
    assert_eq!((status, &same["differences"]), (0, &json!([])));
    let (status, sound) = on_store(&["verify"]);
    assert_eq!((status, &sound["checked"], &sound["damaged"]), (0, &json!(3), &json!([])));

    // A damaged entry is found, and harms no run.
    for file in files(folder.path(), "bin") {
        let mut bytes = fs::read(&file).expect("readable");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&file, bytes).expect("writable");
    }
    let (status, damaged) = on_store(&["verify"]);
    assert_eq!((status, damaged["damaged"].as_array().map(Vec::len)), (1, Some(3)), "{damaged:#}");
    let (status, run) = json(&["run", &example("chain.toml"), "--cache-dir", &dir]);
    assert_eq!((status, &run["cache"]["disk"]), (0, &json!("miss")));

    assert_eq!(on_store(&["clear"]).0, 0);
    assert_eq!(on_store(&["ls"]).1["entries"], json!([]));
}

#[test]
fn a_store_that_is_not_there_is_empty_and_not_made() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = folder.path().join("none");
    let name = dir.display().to_string();
    let (status, list) = json(&["cache", "ls", "--cache-dir", &name]);
    assert_eq!((status, &list["entries"]), (0, &json!([])));
    assert!(!dir.exists());
    let finished = vkfuse(&["cache", "show", "12", "--cache-dir", &name]);
    assert_eq!(finished.status, 2);
    let finished = vkfuse(&["cache", "prune", "--to", "many", "--cache-dir", &name]);
    assert_eq!(finished.status, 2);
    assert!(finished.stderr.contains("many"), "{}", finished.stderr);
}

#[test]
fn lists_are_built_ahead_explained_and_compared() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = folder.path().display().to_string();
    let on_store = |args: &[&str]| json(&[&["cache"], args, &["--cache-dir", &dir]].concat());
    let (chain, other) = (example("chain.toml"), example("softmax.toml"));

    // Nothing is there, and nothing is like it.
    let (status, cold) = on_store(&["explain", &chain]);
    assert_eq!(status, 0, "{cold:#}");
    let step = &cold["lists"][0][0];
    assert_eq!((&step["levels"]["code"], &step["code_miss"]), (&json!(false), &json!("not stored")));
    assert_eq!(step["nearest"], Value::Null);
    let names = |list: &Value| -> Vec<String> {
        let list = list.as_array().expect("a list").iter();
        list.map(|field| field["name"].as_str().expect("a name").to_owned()).collect()
    };
    let ingredients = names(&step["ingredients"]);
    for wanted in ["kernel 0", "recipe", "code version", "shared bytes", "strict floats"] {
        assert!(ingredients.iter().any(|name| name == wanted), "no {wanted} in {ingredients:?}");
    }
    assert!(names(&step["driver"]).iter().any(|name| name == "pipelineCacheUUID"));
    assert_eq!(on_store(&["ls"]).1["entries"], json!([]), "to explain is not to store");

    let (status, warmed) = on_store(&["warm", &chain]);
    assert_eq!(status, 0, "{warmed:#}");
    let dispatches = warmed["files"][0]["dispatches"].as_u64().expect("a number");
    assert!(dispatches > 0);
    assert_eq!(warmed["files"][0]["built"], dispatches);
    // What was interrupted, or is done, is not done again.
    let (status, again) = on_store(&["warm", &chain, &other, "--jobs", "2"]);
    assert_eq!(status, 0, "{again:#}");
    assert_eq!((&again["files"][0]["built"], &again["files"][0]["stored"]), (&json!(0), &json!(dispatches)));

    let (_, warm) = on_store(&["explain", &chain]);
    assert_eq!(warm["lists"][0][0]["levels"]["code"], true);
    let (status, run) = json(&["run", &chain, "--cache-dir", &dir, "--mode", "fused"]);
    assert_eq!((status, &run["cache"]["disk"]), (0, &json!("hit")));

    let (status, verified) = on_store(&["verify", &chain]);
    assert_eq!((status, &verified["damaged"]), (0, &json!([])));
    // Each dispatch's code, and the normal forms of the two kernels.
    assert_eq!(verified["rebuilt"]["equal"], dispatches + 2);
    assert_eq!(verified["rebuilt"]["different"], 0);

    // Another list says what it lacks to be the nearest one.
    let (_, unlike) = on_store(&["explain", &example("mirror_local.toml")]);
    let nearest = &unlike["lists"][0][0]["nearest"];
    assert!(!nearest["differences"].as_array().expect("a list").is_empty(), "{nearest:#}");

    let finished = vkfuse(&["cache", "warm", "no such file", "--cache-dir", &dir]);
    assert_eq!(finished.status, 2, "{}", finished.stdout);
    let finished = vkfuse(&["cache", "explain", &chain, "--cache-dir", &dir]);
    assert!(finished.stdout.contains("code         found"), "{}", finished.stdout);
}

#[test]
fn recorded_lists_are_built_elsewhere() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (record, first, second) = (path("lists"), path("first"), path("second"));
    for _ in 0..2 {
        let arguments =
            ["run", &example("chain.toml"), "--mode", "fused", "--cache-dir", &first, "--repeat", "2"];
        let run = finish(command().args(arguments).env("VKFUSE_CACHE_RECORD", &record));
        assert_eq!(run.status, 0, "{}", run.stderr);
    }
    // A process that died while it wrote.
    let whole = fs::read(&record).expect("a recording");
    let torn = [&whole[..], &whole[..whole.len() / 3]].concat();
    fs::write(&record, torn).expect("writable");
    let (status, warmed) = json(&["cache", "warm", &record, "--cache-dir", &second]);
    assert_eq!((status, &warmed["files"][0]["lists"]), (0, &json!(1)), "{warmed:#}");
    assert!(warmed["files"][0]["built"].as_u64() > Some(0));
    let arguments = ["run", &example("chain.toml"), "--mode", "fused", "--cache-dir", &second];
    let (status, run) = json(&arguments);
    assert_eq!((status, &run["cache"]["disk"]), (0, &json!("hit")), "{run:#}");
    let (_, explained) = json(&["cache", "explain", &record, "--cache-dir", &second]);
    assert_eq!(explained["lists"][0][0]["levels"]["code"], true);
}
