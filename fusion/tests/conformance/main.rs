//! What SYCL's extension does, a file for each of its chapters, and the table of conformance: every row names tests that exist, or says why there is none. `./x conformance` runs them and
//! prints the table with their results.

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

mod ba_api_and_events;
mod ba_device_addresses;
mod bb_synchronization;
mod bc_refusals;
mod bd_internalization;
mod be_ranges;
mod bf_cache;
mod bg_barriers_and_groups;
mod bh_kept_lists;

use std::{collections::HashSet, fs, path::Path};

struct Row {
    part: String,
    name: String,
    what: String,
}

fn rows() -> Vec<Row> {
    let text = include_str!("table.txt");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(" | ").collect();
        let [part, name, what] = fields[..] else { panic!("not three fields: {line}") };
        Row { part: part.to_owned(), name: name.to_owned(), what: what.to_owned() }
    };
    lines.map(row).collect()
}

/// The tests of a file, by the attribute before the function.
fn tests_of(file: &str) -> HashSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance").join(format!("{file}.rs"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines: Vec<&str> = text.lines().collect();
    let name = |pair: &[&str]| {
        let function = pair[1].strip_prefix("fn ")?.split('(').next()?;
        (pair[0] == "#[test]").then(|| function.to_owned())
    };
    lines.windows(2).filter_map(name).collect()
}

#[test]
fn every_row_has_a_test_or_a_reason() {
    let mut named = HashSet::new();
    for Row { part, name, what } in rows() {
        assert!(named.insert(format!("{part} {name}")), "{name} is there twice");
        match what.strip_prefix("- ") {
            Some(reason) => assert!(reason.len() > 10, "{name} says nothing"),
            None => {
                for test in what.split(", ") {
                    let (file, function) = test.split_once("::").unwrap_or_else(|| panic!("{name}: {test}"));
                    assert!(tests_of(file).contains(function), "{name}: no test {test}");
                }
            }
        }
    }
    assert_eq!(named.len(), 90, "a row was added or lost; say so here");
}

/// And the other way around: no test of the files that are named after parts of the table is missing in it, except for those
/// that go beyond it.
#[test]
fn every_test_of_a_row_is_in_the_table() {
    let beyond = [
        "bc_refusals::an_accessor_opts_out",
        "bc_refusals::barriers_go_only_on_trust",
        "bc_refusals::a_promoted_buffer_that_is_used_later",
    ];
    let rows = rows();
    let named: HashSet<&str> = rows.iter().flat_map(|row| row.what.split(", ")).collect();
    let files = [
        "ba_api_and_events",
        "ba_device_addresses",
        "bb_synchronization",
        "bc_refusals",
        "bd_internalization",
        "be_ranges",
        "bf_cache",
        "bg_barriers_and_groups",
        "bh_kept_lists",
    ];
    for file in files {
        for test in tests_of(file) {
            let test = format!("{file}::{test}");
            assert!(named.contains(&*test) || beyond.contains(&&*test), "{test} is not in the table");
        }
    }
}
