//! The page that `vkfuse run --html` writes: the list as a picture, and what the report says in tables.

use crate::page::{Page, number};
use crate::reasons::{self, anchor};
use crate::report::is_any_fused;
use crate::report::json::{Output, Report};

/// Microseconds on the device.
#[derive(Debug, Default)]
pub(crate) struct DispatchTimes {
    /// Of each submission in the unfused run.
    pub(crate) alone: Vec<Option<f64>>,
    /// Of each dispatch of the fused list.
    pub(crate) fused: Vec<Option<f64>>,
}

impl DispatchTimes {
    /// Of these submissions in the unfused run together.
    fn before(&self, submissions: &[usize]) -> Option<f64> {
        submissions.iter().map(|one| self.alone.get(*one).copied().flatten()).sum()
    }

    /// Of a dispatch of the fused list.
    fn after(&self, dispatch: usize) -> Option<f64> {
        self.fused.get(dispatch).copied().flatten()
    }
}

/// The page. `picture` is there unless the list was not to be fused.
pub(crate) fn page(
    report: &Report,
    labels: &[String],
    picture: Option<&str>,
    dispatches: &DispatchTimes,
) -> String {
    let title = report.name.as_deref().unwrap_or("fusion list");
    let about = format!("{} ({}), mode {}", report.device, report.driver, report.mode);
    let mut page = Page::new(title, &about);
    for (name, output) in report.outputs.0.iter().filter(|(_, output)| output.equal == Some(false)) {
        let differ = output.differences.map_or_else(String::new, |count| format!(" in {count} elements"));
        page.line("bad", &format!("{name} differs between the fused and the unfused run{differ}."));
    }
    if let Some(picture) = picture {
        page.picture(picture);
    }
    splits(&mut page, report, labels);
    times(&mut page, report);
    buffers(&mut page, report);
    groups(&mut page, report, labels, dispatches);
    let outputs =
        report.outputs.0.iter().map(|(name, output)| vec![name.clone(), said(output), head(output)]);
    page.heading("Outputs");
    page.table("text", &["output", "fused and unfused", "first elements"], &outputs.collect::<Vec<_>>());
    explanations(&mut page, report);
    page.finish()
}

fn splits(page: &mut Page, report: &Report, labels: &[String]) {
    if report.splits.is_empty() {
        return;
    }
    page.heading("Splits");
    for split in &report.splits {
        page.line("bad", &format!("After {}: {}", label(labels, split.after), split.reason));
        if split.detail != split.reason {
            page.folded(&split.detail);
        }
        if let Some(tried) = &split.tried {
            page.line("soft", &format!("No rewrite closes it: {tried}"));
        }
        page.line_to("soft", "What can be done:", anchor(&split.explained_at));
    }
}

/// What the page of reasons says about those that are named.
fn explanations(page: &mut Page, report: &Report) {
    let mut anchors: Vec<&str> = report.splits.iter().map(|split| anchor(&split.explained_at)).collect();
    anchors.sort_unstable();
    anchors.dedup();
    let texts: Vec<(&str, String)> =
        anchors.into_iter().filter_map(|anchor| Some((anchor, reasons::html(anchor)?))).collect();
    if !texts.is_empty() {
        page.heading("Reasons");
        texts.iter().for_each(|(anchor, html)| page.section(anchor, html));
    }
}

fn times(page: &mut Page, report: &Report) {
    let times = &report.time_us;
    let row = |what: &str, unfused: Option<f64>, fused: Option<f64>| {
        let both = unfused.zip(fused).filter(|_| is_any_fused(&report.groups));
        let ratio = both.filter(|(_, fused)| *fused > 0.0).map(|(unfused, fused)| unfused / fused);
        vec![what.to_owned(), number(unfused, 1), number(fused, 1), number(ratio, 2)]
    };
    // Neither is the same thing with other code: no ratio.
    let first = vec![
        "the first time".to_owned(),
        number(times.first_unfused_wall, 1),
        number(times.first_fused_wall, 1),
        String::new(),
    ];
    page.heading("Times, in µs");
    let rows = [
        row("on the device", times.unfused_gpu, times.fused_gpu),
        row("from submission to result", times.unfused_wall, times.fused_wall),
        first,
        row("of it making SPIR-V", None, times.jit),
        row("of it the driver's compiler", None, times.driver),
    ];
    page.table("", &["", "unfused", "fused", "ratio"], &rows);
}

fn buffers(page: &mut Page, report: &Report) {
    let asked = report.buffers.0.iter().filter(|(_, buffer)| buffer.asked != "none");
    let rows: Vec<Vec<String>> = asked
        .map(|(name, buffer)| {
            let reason = buffer.reason.clone().unwrap_or_default();
            vec![name.clone(), buffer.asked.to_owned(), buffer.got.to_owned(), reason]
        })
        .collect();
    if !rows.is_empty() {
        page.heading("Promotions");
        page.table("text", &["buffer", "asked", "got", "why not"], &rows);
    }
}

fn groups(page: &mut Page, report: &Report, labels: &[String], times: &DispatchTimes) {
    page.heading("Dispatches");
    // The only one is the list, whose times stand above and in the picture.
    let whole = (report.groups.len() == 1).then_some(&report.time_us);
    let before = whole.and_then(|whole| whole.unfused_gpu);
    let after = whole.and_then(|whole| whole.fused_gpu);
    let rows: Vec<Vec<String>> = (report.groups.iter().enumerate())
        .map(|(number, group)| {
            let members: Vec<String> = group.kernels.iter().map(|member| label(labels, *member)).collect();
            let barriers = group.barriers.iter().map(|barrier| {
                let kept = if barrier.kept { "barrier" } else { "none" };
                format!("{kept} after {} ({})", barrier.after, barrier.reason)
            });
            vec![
                number.to_string(),
                members.join(", "),
                self::number(before.or_else(|| times.before(&group.kernels)), 1),
                self::number(after.or_else(|| times.after(number)), 1),
                group.work_group.map(|size| size.to_string()).join("×"),
                group.schedule.clone(),
                group.items_per_invocation.to_string(),
                group.work_groups.to_string(),
                barriers.collect::<Vec<_>>().join("; "),
            ]
        })
        .collect();
    let titles = [
        "dispatch",
        "submissions",
        "µs unfused",
        "µs",
        "work-group",
        "schedule",
        "items",
        "side by side",
        "barriers",
    ];
    page.table("text", &titles, &rows);
}

fn label(labels: &[String], submission: usize) -> String {
    let name = labels.get(submission).map_or("", String::as_str);
    format!("{submission} ({name})")
}

fn said(output: &Output) -> String {
    let words = match (output.equal, &output.head) {
        (Some(true), _) if output.nan_payloads > Some(0) => "equal except NaN payloads",
        (Some(true), _) => "equal, bit for bit",
        (Some(false), _) => "DIFFERENT",
        (None, Some(_)) => "not compared",
        (None, None) => "stays inside the fused kernel",
    };
    words.to_owned()
}

fn head(output: &Output) -> String {
    let first = output.head.iter().flatten().map(ToString::to_string);
    first.collect::<Vec<_>>().join(" ")
}
