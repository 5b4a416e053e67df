//! What each list moves in a second, by the bytes it moves at the least, beside what a copy moves.

use crate::page::escaped;
use std::fmt::Write as _;

/// One list.
pub(super) struct Mark<'a> {
    pub(super) title: &'a str,
    pub(super) by_hand: bool,
    pub(super) bytes: u64,
    /// GB/s.
    pub(super) rate: f64,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 58.0;
const BOTTOM: f64 = 40.0;
const EDGE: f64 = 14.0;

/// Draws the lists and, where it is known, the copy; both in GB/s.
pub(super) fn draw(marks: &[Mark<'_>], copy: Option<f64>) -> String {
    let top = marks.iter().map(|mark| mark.rate).chain(copy).fold(1e-3, f64::max) * 1.12;
    let exponents = || marks.iter().map(|mark| (mark.bytes.max(1) as f64).log10());
    let first = exponents().fold(f64::MAX, f64::min).min(9.0).floor();
    let last = exponents().fold(first, f64::max).ceil().max(first + 1.0);
    let across = |bytes: f64| LEFT + (bytes.log10() - first) / (last - first) * (WIDTH - LEFT - 2.0 * EDGE);
    let up = |rate: f64| HEIGHT - BOTTOM - rate / top * (HEIGHT - BOTTOM - EDGE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"r\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\">\
         <title>bytes moved in a second, by bytes</title><style>.r text{{font:11px system-ui,sans-serif;fill:var(--soft)}}\
         .r-g{{stroke:var(--rim)}}.r-p{{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:6 4}}.r-f{{fill:var(--accent)}}\
         .r-h{{fill:none;stroke:var(--accent);stroke-width:1.5}}</style><g class=\"r\">"
    );
    let mut line =
        |class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64), text: &str, at: (f64, f64, &str)| {
            let (x, y, anchor) = at;
            let _ = write!(
                svg,
                "<path class=\"{class}\" fill=\"none\" d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\"/>\
             <text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
                escaped(text)
            );
        };
    let (right, floor) = (WIDTH - EDGE, HEIGHT - BOTTOM);
    let step = step(top);
    let mut rate = 0.0;
    while rate <= top {
        let y = up(rate);
        let text = if step < 1.0 { format!("{rate:.2}") } else { format!("{rate:.0}") };
        line("r-g", (LEFT, y), (right, y), &text, (LEFT - 6.0, y + 4.0, "end"));
        rate += step;
    }
    let mut exponent = first;
    while exponent <= last {
        let x = across(10_f64.powf(exponent));
        line("r-g", (x, EDGE), (x, floor), &power(exponent), (x, floor + 16.0, "middle"));
        exponent += 1.0;
    }
    if let Some(copy) = copy {
        let text = format!("copy, {} GB/s", rate_text(copy));
        line("r-p", (LEFT, up(copy)), (right, up(copy)), &text, (right, up(copy) - 5.0, "end"));
    }
    let _ = write!(
        svg,
        "<text x=\"{LEFT}\" y=\"{:.1}\">GB/s, by bytes that have to be moved</text>",
        HEIGHT - 6.0
    );
    let mut labels: Vec<(f64, f64)> = Vec::new();
    for (number, mark) in (1..).zip(marks) {
        let (x, y) = (across(mark.bytes.max(1) as f64), up(mark.rate));
        let class = if mark.by_hand { "r-h" } else { "r-f" };
        let (at_x, at_y) = beside((x, y), &labels);
        labels.push((at_x, at_y));
        let _ = write!(
            svg,
            "<g><title>{}: {} GB/s</title><circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\"/>\
             <text x=\"{at_x:.1}\" y=\"{at_y:.1}\">{number}</text></g>",
            escaped(mark.title),
            rate_text(mark.rate)
        );
    }
    svg + "</g></svg>"
}

/// Where the number of a point goes, so that it does not cover another's.
fn beside((x, y): (f64, f64), taken: &[(f64, f64)]) -> (f64, f64) {
    let places =
        [(7.0, 4.0), (-20.0, 4.0), (7.0, -7.0), (-20.0, -7.0), (-6.0, -9.0), (7.0, 15.0), (-20.0, 15.0)];
    let places = || places.into_iter().map(|(right, down)| (x + right, y + down));
    let is_free =
        |at: &(f64, f64)| taken.iter().all(|one| (one.0 - at.0).abs() > 14.0 || (one.1 - at.1).abs() > 10.0);
    places().find(is_free).unwrap_or((x + 7.0, y + 4.0))
}

fn rate_text(rate: f64) -> String {
    let digits = usize::from(rate < 99.5);
    format!("{rate:.digits$}")
}

/// A step of the scale: 1, 2 or 5 times a power of ten, four to nine of them.
fn step(top: f64) -> f64 {
    let power = 10_f64.powf((top / 4.0).log10().floor());
    [5.0, 2.0, 1.0].map(|by| by * power).into_iter().find(|step| top / step >= 4.0).unwrap_or(power)
}

fn power(exponent: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let exponent = exponent.max(0.0) as usize;
    let unit = (exponent / 3).min(units.len() - 1);
    format!("{} {}", 10_u64.pow((exponent - 3 * unit) as u32), units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_points_do_not_cover_each_other() {
        let mut labels = Vec::new();
        for point in [(50.0, 50.0), (51.0, 50.0), (50.0, 52.0), (49.0, 49.0)] {
            let at = beside(point, &labels);
            assert!(
                labels
                    .iter()
                    .all(|one: &(f64, f64)| (one.0 - at.0).abs() > 14.0 || (one.1 - at.1).abs() > 10.0)
            );
            labels.push(at);
        }
    }

    #[test]
    fn scales_have_few_steps() {
        for top in [0.002, 0.3, 1.0, 7.0, 45.0, 4300.0] {
            let steps = top / step(top);
            assert!((3.9..=10.1).contains(&steps), "{top}: {steps}");
        }
        assert_eq!([3.0, 5.0, 9.0].map(power), ["1 kB", "100 kB", "1 GB"]);
    }
}
