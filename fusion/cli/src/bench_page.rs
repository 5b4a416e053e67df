//! The page `vkfuse bench --html` writes: the bandwidth of each list, and tables.

mod bandwidth;

use crate::bench::Bench;
use crate::page::{Page, number};
use crate::report::is_any_fused;
use bandwidth::Mark;
use std::path::Path;

/// One result with what it is called in its file name.
struct Row<'a> {
    /// File name without extension and `.hand`: rows of one stem belong together.
    stem: String,
    by_hand: bool,
    bench: &'a Bench,
}

impl Row<'_> {
    fn title(&self) -> &str {
        self.bench.name.as_deref().unwrap_or(&self.stem)
    }

    fn speed_up(&self) -> Option<f64> {
        let is_fused = is_any_fused(&self.bench.groups);
        ratio(self.recorded().filter(|_| is_fused), self.fused())
    }

    /// All kernels in one command buffer.
    fn recorded(&self) -> Option<f64> {
        self.bench.time_us.recorded_gpu.or(self.bench.time_us.recorded_wall)
    }

    fn fused(&self) -> Option<f64> {
        self.bench.time_us.fused_gpu.or(self.bench.time_us.fused_wall)
    }

    /// Bytes per second, in units of 10^9.
    fn bandwidth(&self) -> Option<f64> {
        ratio(Some(self.bench.bytes as f64 / 1e3), self.fused())
    }
}

fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    let (a, b) = (a?, b?);
    (b > 0.0).then_some(a / b)
}

/// The page for results and the files they came from.
pub(crate) fn page(files: &[&Path], benches: &[Bench]) -> String {
    let rows: Vec<Row<'_>> = files.iter().zip(benches).map(|(file, bench)| row(file, bench)).collect();
    let lists: Vec<&Row<'_>> = rows.iter().filter(|row| row.bench.submissions > 1).collect();
    let about = benches.first().map_or_else(String::new, |bench| {
        let iters = bench.iters;
        format!(
            "{} ({}), medians of {iters} runs. Times are of the device, in µs.",
            bench.device, bench.driver
        )
    });
    let mut page = Page::new("vkfuse bench", &about);
    bandwidths(&mut page, &rows);
    table(&mut page, &rows);
    cold(&mut page, &lists);
    page.finish()
}

fn row<'a>(file: &Path, bench: &'a Bench) -> Row<'a> {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    match stem.strip_suffix(".hand") {
        Some(rest) => Row { stem: rest.to_owned(), by_hand: true, bench },
        None => Row { stem, by_hand: false, bench },
    }
}

/// Why lists by hand stand beside none: a sentence for each.
pub(crate) fn not_beside(files: &[&Path], benches: &[Bench]) -> Vec<String> {
    let rows: Vec<Row<'_>> = files.iter().zip(benches).map(|(file, bench)| row(file, bench)).collect();
    let problem = |(hand, file): (&Row<'_>, &&Path)| {
        let lists = || rows.iter().filter(|row| !row.by_hand && row.stem == hand.stem);
        let file = file.display();
        match lists().next() {
            None => Some(format!(
                "{file} is by hand, and {}.toml is not on the command line: it is compared with nothing",
                hand.stem
            )),
            Some(list) if lists().all(|list| list.bench.elements != hand.bench.elements) => Some(format!(
                "{file} is another list than {}.toml: its largest buffer has {} elements, and not {}: they are not compared",
                hand.stem, hand.bench.elements, list.bench.elements
            )),
            Some(_) => None,
        }
    };
    rows.iter().zip(files).filter(|(row, _)| row.by_hand).filter_map(problem).collect()
}

/// What is copied in the same run at the same size is what the memory can do.
fn copy_bandwidth(rows: &[Row<'_>]) -> Option<f64> {
    let copies = rows.iter().filter(|row| row.bench.submissions == 1 && row.title().starts_with("copy"));
    copies.filter_map(Row::bandwidth).max_by(f64::total_cmp)
}

fn bandwidths(page: &mut Page, rows: &[Row<'_>]) {
    let of = |row: &Row<'_>| row.bandwidth();
    let marks: Vec<Mark<'_>> = rows
        .iter()
        .filter_map(|row| {
            Some(Mark { title: row.title(), by_hand: row.by_hand, bytes: row.bench.bytes, rate: of(row)? })
        })
        .collect();
    page.heading("Bandwidth");
    page.line("soft", "Bytes that a list has to move, divided by its time when fused.");
    let beside = match copy_bandwidth(rows) {
        Some(_) => {
            "The line is a copy kernel of the same run. Lists whose data stays in caches can be above it."
        }
        None => "A list whose name begins with \"copy\" would be drawn as a line to compare with.",
    };
    page.line("soft", beside);
    page.picture(&bandwidth::draw(&marks, copy_bandwidth(rows)));
    let legend = marks.iter().enumerate().map(|(number, mark)| {
        let by_hand = if mark.by_hand && !mark.title.ends_with("by hand") { ", by hand" } else { "" };
        format!("{} {}{by_hand}", number + 1, mark.title)
    });
    page.line("soft", &legend.collect::<Vec<_>>().join(" · "));
}

fn table(page: &mut Page, rows: &[Row<'_>]) {
    let peak = copy_bandwidth(rows);
    let lines: Vec<Vec<String>> = rows
        .iter()
        .filter(|row| !row.by_hand)
        .map(|row| {
            let hand = rows.iter().find(|other| {
                other.by_hand && other.stem == row.stem && other.bench.elements == row.bench.elements
            });
            let hand = hand.and_then(Row::fused);
            vec![
                row.title().to_owned(),
                row.bench.submissions.to_string(),
                row.bench.groups.len().max(1).to_string(),
                row.bench.elements.to_string(),
                number(row.bench.time_us.unfused_gpu.or(row.bench.time_us.unfused_wall), 1),
                number(row.recorded(), 1),
                number(row.fused(), 1),
                number(row.speed_up(), 2),
                number(hand, 1),
                number(ratio(row.fused(), hand), 3),
                number(row.bandwidth(), if row.bandwidth() < Some(10.0) { 2 } else { 0 }),
                number(ratio(row.bandwidth(), peak).map(|share| share * 100.0), 0) + " %",
            ]
        })
        .collect();
    page.heading("Lists");
    let titles = [
        "list",
        "kernels",
        "dispatches",
        "elements",
        "each by itself",
        "one command buffer",
        "fused",
        "speed-up",
        "by hand",
        "fused / by hand",
        "GB/s",
        "of the copy",
    ];
    columns(page, &titles, &lines, &[0, 1, 2, 3, 4, 5, 6, 7]);
    page.heading("Beside kernels by hand and the copy");
    columns(page, &titles, &lines, &[0, 6, 8, 9, 10, 11]);
}

/// A table of some columns, without those in which no list has anything.
fn columns(page: &mut Page, titles: &[&str], lines: &[Vec<String>], shown: &[usize]) {
    let is_known = |column: &usize| lines.iter().any(|line| !line[*column].starts_with('–'));
    let shown: Vec<usize> = shown.iter().copied().filter(is_known).collect();
    let pick =
        |line: &Vec<String>| -> Vec<String> { shown.iter().map(|column| line[*column].clone()).collect() };
    let titles: Vec<&str> = shown.iter().map(|column| titles[*column]).collect();
    page.table("", &titles, &lines.iter().map(pick).collect::<Vec<_>>());
}

/// Where the time of a first and of a later call goes.
fn cold(page: &mut Page, rows: &[&Row<'_>]) {
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let times = &row.bench.time_us;
            vec![
                row.title().to_owned(),
                number(Some(row.bench.cold_wall_us), 0),
                number(times.jit, 0),
                number(times.driver, 0),
                number(times.fused_wall, 0),
                number(times.fused_gpu, 0),
            ]
        })
        .collect();
    page.heading("First and later calls");
    let titles = ["list", "first call", "of it JIT", "of it driver", "later call", "of it device"];
    page.table("", &titles, &lines);
}
