//! The book: links lead somewhere, every page is in the table of contents, code is that of the examples.

use crate::process::root;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = std::fs::read_dir(root().join("docs"))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.extend(
        ["README.md", "CONTRIBUTING.md", "examples/pipelines/README.md"].map(|name| root().join(name)),
    );
    pages.sort();
    pages
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What a heading is called in a link.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The lines outside of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    })
}

fn anchors(path: &Path) -> BTreeSet<String> {
    let text = read(path);
    let headings =
        prose(&text).filter(|line| line.starts_with('#')).map(|line| anchor(line.trim_start_matches('#')));
    headings.collect()
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        let text = read(&page);
        for line in prose(&text) {
            for part in line.split("](").skip(1) {
                let target = part.split([')', ' ']).next().unwrap_or_default();
                if target.contains("://") || target.starts_with("mailto:") {
                    continue;
                }
                count += 1;
                let (file, heading) = target.split_once('#').unwrap_or((target, ""));
                let path =
                    if file.is_empty() { page.clone() } else { page.parent().expect("a folder").join(file) };
                let is_there = path.exists() && (heading.is_empty() || anchors(&path).contains(heading));
                if !is_there {
                    wrong.push(format!("{}: {target}", page.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 40, "{count} links");
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let summary = read(&root().join("docs/SUMMARY.md"));
    for page in pages().iter().filter(|page| page.starts_with(root().join("docs"))) {
        let name = page.file_name().expect("a name").to_string_lossy();
        assert!(name == "SUMMARY.md" || summary.contains(&format!("]({name})")), "{name}");
    }
}

/// Code that says where it is from is there, line by line, so that it is compiled where that is.
#[test]
fn code_is_that_of_the_examples() {
    let mut blocks = 0;
    for page in pages() {
        let text = read(&page);
        for part in text.split("<!-- from ").skip(1) {
            let (file, rest) = part.split_once(" -->").expect("the end of the comment");
            let code = rest.split("```").nth(1).expect("a block of code");
            let trimmed = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
            let wanted: Vec<String> =
                trimmed(code).into_iter().skip(1).filter(|line| !line.is_empty()).collect();
            let have = trimmed(&read(&root().join(file)));
            let is_there = have.windows(wanted.len()).any(|lines| lines == wanted);
            assert!(is_there, "{}: what is said to be from {file} is not there:{code}", page.display());
            blocks += 1;
        }
    }
    assert!(blocks >= 5, "{blocks} blocks");
}
