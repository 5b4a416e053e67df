//! `docs/museum.md` and `docs/weaknesses.md` against the tests: each row has its test, each test its row, and the verdict of an
//! exhibit is the word that its row begins with.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use crate::{burn, flow, inductor, llama, places, seams, xla};

/// Tests that are no exhibits, because one list and one verdict are not all there is to them.
const OTHERS: [&str; 2] =
    ["a_perhaps_does_not_make_old_bytes_new", "a_dropped_barrier_is_reported_as_trusted"];

/// Rows of all tables of a page, by cell.
fn rows(page: &str) -> Vec<Vec<String>> {
    let text = read(&format!("docs/{page}"));
    let lines =
        text.lines().filter(|line| line.starts_with('|') && line.ends_with('|') && line.contains('`'));
    let cells = |line: &str| line[1..line.len() - 1].split('|').map(|cell| cell.trim().to_owned()).collect();
    lines.map(cells).collect()
}

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_museum_and_its_catalogue_agree() {
    let rooms = [inductor::ALL, burn::ALL, llama::ALL, xla::ALL, flow::ALL, places::ALL, seams::ALL];
    let exhibits: Vec<_> = rooms.into_iter().flatten().collect();
    let mut listed = HashSet::new();
    for row in rows("museum.md") {
        let [what, _, here, test] = &row[..] else { panic!("not four cells: {row:?}") };
        let test = test.trim_matches('`');
        assert!(listed.insert(test.to_owned()), "{test} is there twice");
        let Some((_, verdict)) = exhibits.iter().find(|(name, _)| *name == test) else {
            assert!(OTHERS.contains(&test), "{test}: no such exhibit");
            continue;
        };
        assert!(here.starts_with(verdict.word()), "{test} is {verdict:?}, the catalogue says: {here}");
        // Where it is somebody else's, the link has the number that the exhibit has.
        if what.starts_with('[') {
            let number = test.rsplit('_').next().unwrap_or_default();
            assert!(what.contains(&format!("/{number})")), "{test}: {what}");
        }
    }
    for name in exhibits.iter().map(|(name, _)| *name).chain(OTHERS) {
        assert!(listed.contains(name), "{name} is not in the catalogue");
    }
    assert_eq!(listed.len(), exhibits.len() + OTHERS.len());
    assert!(listed.len() >= 30);
}

#[test]
fn every_weakness_has_its_test() {
    let sources = [
        ("`rules`", read("jit/tests/rules/weaknesses.rs")),
        ("`device`", read("fusion/tests/engine/weaknesses.rs")),
    ];
    let rows = rows("weaknesses.md");
    assert_eq!(rows.len(), 21);
    for (number, row) in rows.iter().enumerate() {
        let [name, .., tests] = &row[..] else { panic!("no cells: {row:?}") };
        assert_eq!(*name, format!("W{}", number + 1));
        for test in tests.split(", ") {
            let (place, test) = test.split_once(' ').unwrap_or_else(|| panic!("{name}: {test}"));
            let (_, source) = sources
                .iter()
                .find(|(known, _)| *known == place)
                .unwrap_or_else(|| panic!("{name}: {place}"));
            assert!(source.contains(&format!("fn {}()", test.trim_matches('`'))), "{name}: no test {test}");
        }
    }
}
