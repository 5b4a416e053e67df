//! The page that `vkfuse capture report --html` writes.

use super::report::{REASONS, Report, TITLES, left_out, ranked, rows, shown, summary};
use crate::page::Page;
use crate::reasons::{self, anchor};

/// Lists with a picture: those with the most steps, as often as they were submitted.
const PICTURES: usize = 12;

/// The page.
pub(super) fn page(report: &Report) -> String {
    let capture = &report.capture;
    let about = format!(
        "{} submissions, {} dispatches, captured on {}; lists run on {} ({})",
        capture.submissions, capture.dispatches, capture.device, report.device, report.driver
    );
    let mut page = Page::new(&format!("What fusing {} gains", capture.program), &about);
    summary(report).iter().for_each(|line| page.line("", line));
    page.heading("Why lists are split, by what it costs");
    let (titles, reasons) = shown(&REASONS, ranked(report));
    page.table("text", &titles, &reasons);
    page.heading("Lists");
    let (titles, lists) = shown(&TITLES, rows(report));
    page.table("", &titles, &lists);
    let mut shown: Vec<_> = report.lists.iter().collect();
    shown.sort_by_key(|list| std::cmp::Reverse(list.times * list.steps));
    for list in shown.into_iter().take(PICTURES) {
        page.heading(&format!("{}, {} times", list.file, list.times));
        page.picture(&list.picture);
    }
    let left: Vec<Vec<String>> = left_out(report).into_iter().map(Vec::from).collect();
    if !left.is_empty() {
        page.heading("Left out");
        page.table("text", &["what", "why"], &left);
    }
    let mut anchors: Vec<&str> = report.reasons.iter().map(|one| anchor(&one.explained_at)).collect();
    anchors.dedup();
    let texts = anchors.into_iter().filter_map(|anchor| Some((anchor, reasons::html(anchor)?)));
    let texts: Vec<_> = texts.collect();
    if !texts.is_empty() {
        page.heading("Reasons");
        texts.iter().for_each(|(anchor, html)| page.section(anchor, html));
    }
    page.finish()
}
