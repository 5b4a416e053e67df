//! The page `vkfuse bench --html` writes: one file with tables, and nothing it would have to load.

use crate::bench::Bench;
use std::fmt::Write as _;
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
        let times = &self.bench.time_us;
        ratio(times.unfused_gpu.or(times.unfused_wall), times.fused_gpu.or(times.fused_wall))
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
    let mut page = String::from(HEAD);
    if let Some(bench) = benches.first() {
        let _ = writeln!(
            page,
            "<p>{} ({}), medians of {} runs. Times are of the device, in microseconds.</p>",
            text(&bench.device),
            text(&bench.driver),
            bench.iters
        );
    }
    table(&mut page, &rows);
    cold(&mut page, &lists);
    page.push_str("</body></html>\n");
    page
}

fn row<'a>(file: &Path, bench: &'a Bench) -> Row<'a> {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    match stem.strip_suffix(".hand") {
        Some(rest) => Row { stem: rest.to_owned(), by_hand: true, bench },
        None => Row { stem, by_hand: false, bench },
    }
}

const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>vkfuse bench</title>\n<style>\n\
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; color: #222 }\n\
table { border-collapse: collapse } td, th { padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd }\n\
td:first-child, th:first-child { text-align: left }\n</style></head><body>\n<h1>vkfuse bench</h1>\n";

fn text(raw: &str) -> String {
    raw.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
}

/// What is copied in the same run at the same size is what the memory can do.
fn copy_bandwidth(rows: &[Row<'_>]) -> Option<f64> {
    let copies = rows.iter().filter(|row| row.bench.submissions == 1 && row.title().starts_with("copy"));
    copies.filter_map(Row::bandwidth).max_by(f64::total_cmp)
}

fn table(page: &mut String, rows: &[Row<'_>]) {
    let peak = copy_bandwidth(rows);
    page.push_str(
        "<table><tr><th>list</th><th>kernels</th><th>dispatches</th><th>elements</th><th>unfused</th>\
         <th>fused</th><th>speed-up</th><th>by hand</th><th>fused / by hand</th><th>GB/s</th>\
         <th>of the copy</th></tr>\n",
    );
    for row in rows.iter().filter(|row| !row.by_hand) {
        let hand = rows.iter().find(|other| {
            other.by_hand && other.stem == row.stem && other.bench.elements == row.bench.elements
        });
        let hand = hand.and_then(Row::fused);
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{}</td><td>{}</td></tr>",
            text(row.title()),
            row.bench.submissions,
            row.bench.groups.len().max(1),
            row.bench.elements,
            number(row.bench.time_us.unfused_gpu.or(row.bench.time_us.unfused_wall), 1),
            number(row.fused(), 1),
            number(row.speed_up(), 2),
            number(hand, 1),
            number(ratio(row.fused(), hand), 3),
            number(row.bandwidth(), 0),
            number(ratio(row.bandwidth(), peak).map(|share| share * 100.0), 0) + " %",
        );
    }
    page.push_str("</table>\n");
}

/// Where the time of a first and of a later call goes.
fn cold(page: &mut String, rows: &[&Row<'_>]) {
    page.push_str(
        "<h2>First and later calls</h2>\n<table><tr><th>list</th><th>first call</th><th>of it JIT</th>\
         <th>of it driver</th><th>later call</th><th>of it device</th></tr>\n",
    );
    for row in rows {
        let times = &row.bench.time_us;
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{:.0}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            text(row.title()),
            row.bench.cold_wall_us,
            number(times.jit, 0),
            number(times.driver, 0),
            number(times.fused_wall, 0),
            number(times.fused_gpu, 0)
        );
    }
    page.push_str("</table>\n");
}
