//! `vkfuse cache`: listing, checking and tidying the store that a run filled.

use crate::process::{example, has_device, json, vkfuse};
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
    assert_eq!(entries.len(), 1);
    let key = entries[0]["key"].as_str().expect("a key");
    assert_eq!(entries[0]["defect"], Value::Null);

    let (status, shown) = on_store(&["show", &key[..8]]);
    assert_eq!(status, 0);
    assert_eq!(shown["entry"]["key"], key);
    assert_eq!(on_store(&["stats"]).1["entries"], 1);
    assert_eq!(on_store(&["path"]).1["path"], dir.as_str());
    let (status, same) = on_store(&["explain", key, key]);
    assert_eq!((status, &same["differences"]), (0, &json!([])));
    let (status, sound) = on_store(&["verify"]);
    assert_eq!((status, &sound["checked"], &sound["damaged"]), (0, &json!(1), &json!([])));

    // A damaged entry is found, and harms no run.
    for file in files(folder.path(), "bin") {
        let mut bytes = fs::read(&file).expect("readable");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&file, bytes).expect("writable");
    }
    let (status, damaged) = on_store(&["verify"]);
    assert_eq!((status, damaged["damaged"].as_array().map(Vec::len)), (1, Some(1)), "{damaged:#}");
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
