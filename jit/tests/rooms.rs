//! No folder of `src` uses one that comes later in the pipeline.

use std::path::{Path, PathBuf};

/// The folders in order. What is not named here (the switches of `mutation`) may be used by all.
const ROOMS: &[&str] =
    &["frontend", "ir", "analysis", "reason", "kernel", "rewrite", "plan", "emit", "validate", "certify"];

fn rank(name: &str) -> Option<usize> {
    let name = if name == "Reason" { "reason" } else { name };
    ROOMS.iter().position(|room| *room == name)
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// Names of the rooms that a text names as `crate::ROOM` or in `crate::{…}`.
fn named(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for after in text.split("crate::").skip(1) {
        let list = match after.strip_prefix('{') {
            // Names at the outer level of the braces.
            Some(inner) => {
                let mut depth = 0;
                let mut outer = String::new();
                for c in inner.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        c if depth == 0 => outer.push(c),
                        _ => {}
                    }
                }
                outer
            }
            None => after.split_inclusive([';', ' ', '\n', '(', '{']).next().unwrap_or_default().to_owned(),
        };
        for part in list.split(',') {
            let name =
                part.trim().split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            names.push(name.to_owned());
        }
    }
    names
}

#[test]
fn names_are_found() {
    assert_eq!(named("use crate::plan::{Step, a::B};"), ["plan"]);
    assert_eq!(named("use crate::{Reason, plan::{Step, emit}, kernel};"), ["Reason", "plan", "kernel"]);
    assert_eq!(named("let x: crate::kernel::Specialized = y"), ["kernel"]);
}

#[test]
fn no_use_line_runs_back() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    files(&source, &mut paths);
    let mut seen = vec![0; ROOMS.len()];
    let mut back = Vec::new();
    for path in paths {
        let inside = path.strip_prefix(&source).expect("inside").to_string_lossy().into_owned();
        let own = inside.split(['/', '\\', '.']).next().unwrap_or_default();
        let Some(own) = rank(own) else { continue };
        seen[own] += 1;
        let text = std::fs::read_to_string(&path).expect("text");
        for line in text.split_inclusive(';').filter(|line| line.contains("crate::")) {
            let later = named(line).into_iter().filter(|name| rank(name).is_some_and(|room| room > own));
            back.extend(later.map(|name| format!("{inside} uses {name}")));
        }
    }
    assert!(seen.iter().all(|files| *files > 0), "a room is empty: {seen:?}");
    assert!(back.is_empty(), "{back:#?}");
}
