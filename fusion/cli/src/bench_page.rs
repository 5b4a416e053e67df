//! The page `vkfuse bench --html` writes: one file with text, a table and plots, and nothing it would have to load.

use crate::bench::Bench;
use std::collections::BTreeMap;
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
    bars(&mut page, "Speed-up by fusion", "unfused time / fused time", &lists, |row| row.speed_up());
    let sized = by(&lists, |row| row.bench.elements as f64);
    lines(&mut page, "Speed-up by size", "elements", &sized);
    let mut lengths: Vec<(f64, f64)> =
        lists.iter().filter_map(|row| Some((row.bench.submissions as f64, row.speed_up()?))).collect();
    lengths.sort_by(|a, b| a.0.total_cmp(&b.0));
    let lengths = BTreeMap::from([("every list".to_owned(), lengths)]);
    lines(&mut page, "Speed-up by number of kernels", "kernels", &lengths);
    bars(&mut page, "Bandwidth", "GB/s the fused list moves at the least", &lists, |row| row.bandwidth());
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
td:first-child, th:first-child { text-align: left } svg { display: block; max-width: 100% }\n\
svg text { font: 12px system-ui, sans-serif; fill: #222 }\n</style></head><body>\n<h1>vkfuse bench</h1>\n";

/// Colours of lines and bars, told apart by eye and in grey.
const COLOURS: [&str; 6] = ["#1b6ca8", "#d1603d", "#4f8a3c", "#7b4ea3", "#b08900", "#444444"];

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

fn bars(
    page: &mut String,
    title: &str,
    unit: &str,
    rows: &[&Row<'_>],
    value: impl Fn(&Row<'_>) -> Option<f64>,
) {
    let bars: Vec<(&Row<'_>, f64)> = rows.iter().filter_map(|row| Some((*row, value(row)?))).collect();
    let most = bars.iter().map(|bar| bar.1).fold(0.0, f64::max);
    if most <= 0.0 {
        return;
    }
    let height = 24 * bars.len() + 8;
    let _ = writeln!(
        page,
        "<h2>{title}</h2><p>{unit}</p>\n<svg viewBox=\"0 0 900 {height}\" width=\"900\" height=\"{height}\">"
    );
    for (number, (row, value)) in bars.iter().enumerate() {
        let y = 24 * number + 4;
        let width = value / most * 480.0;
        let _ = writeln!(
            page,
            "<text x=\"330\" y=\"{}\" text-anchor=\"end\">{}</text><rect x=\"340\" y=\"{y}\" width=\"{width:.1}\" \
             height=\"18\" fill=\"{}\"/><text x=\"{:.1}\" y=\"{}\">{value:.2}</text>",
            y + 14,
            text(row.title()),
            COLOURS[0],
            346.0 + width,
            y + 14
        );
    }
    page.push_str("</svg>\n");
}

/// Speed-ups of rows of one stem, where there are several.
fn by(rows: &[&Row<'_>], x: impl Fn(&Row<'_>) -> f64) -> BTreeMap<String, Vec<(f64, f64)>> {
    let mut series: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for row in rows {
        if let Some(y) = row.speed_up() {
            series.entry(row.title().to_owned()).or_default().push((x(row), y));
        }
    }
    series.values_mut().for_each(|points| points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    series
}

/// Lines over a logarithmic axis; nothing if no line would have two places on it.
fn lines(page: &mut String, title: &str, unit: &str, series: &BTreeMap<String, Vec<(f64, f64)>>) {
    let long = |points: &&Vec<(f64, f64)>| points.first().map(|p| p.0) != points.last().map(|p| p.0);
    let points = || series.values().filter(long).flatten();
    let fold =
        |f: fn(f64, f64) -> f64, start: f64, of: fn(&(f64, f64)) -> f64| points().map(of).fold(start, f);
    let (left, right) = (fold(f64::min, f64::MAX, |p| p.0), fold(f64::max, 0.0, |p| p.0));
    let top = fold(f64::max, 1.0, |p| p.1) * 1.1;
    if points().count() < 2 || left <= 0.0 {
        return;
    }
    let place =
        |(x, y): &(f64, f64)| (60.0 + (x / left).ln() / (right / left).ln() * 560.0, 300.0 - y / top * 280.0);
    let _ = writeln!(
        page,
        "<h2>{title}</h2>\n<svg viewBox=\"0 0 900 340\" width=\"900\" height=\"340\">\n\
         <path d=\"M60 20V300H620\" fill=\"none\" stroke=\"#888\"/><text x=\"60\" y=\"330\">{left}</text>\
         <text x=\"620\" y=\"330\" text-anchor=\"end\">{right} {unit}</text><text x=\"4\" y=\"24\">{top:.1}</text>\
         <text x=\"4\" y=\"304\">0</text>"
    );
    for (number, (name, points)) in series.iter().filter(|(_, points)| long(points)).enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let path: Vec<String> = points.iter().map(place).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            page,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <text x=\"640\" y=\"{}\" style=\"fill:{colour}\">{}</text>",
            path.join(" "),
            34 + 18 * number,
            text(name)
        );
    }
    page.push_str("</svg>\n");
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
