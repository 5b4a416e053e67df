//! A graph as SVG: stages from the top to the bottom, what goes through memory between them.

use std::fmt::Write as _;

use super::{
    graph::{Cut, Graph, Kind, Node, Stage, Through, Where},
    layout::{Layout, layout},
    route::{Rect, route},
};
use crate::jit::BufferId;

/// What rows of buffers are broken at, and parts of a stage; still readable on a phone.
const WIDTH: f64 = 560.0;
const MARGIN: f64 = 14.0;
const LINE: f64 = 16.0;
/// Between rows, with space for arrows.
const ROW: f64 = 28.0;
const PILL: f64 = 24.0;
/// Characters of a line of text beneath each other.
const COLUMN: usize = 80;

/// In the light, and in the dark. Names of classes begin with `vf-`, for pages that have several pictures and styles of their own.
const STYLE: &str = "\
.vf{--ink:#1d2430;--soft:#5c6675;--paper:#fff;--box:#f5f7fa;--rim:#cfd6e0;--line:#8794a7;--kernel:#fff;\
--reg:#0b7a43;--regf:#e2f5ea;--sh:#1a56b8;--shf:#e6effd;--mem:#5c6675;--memf:#eceff3;--ag:#7a3db8;--agf:#f2e9fc;\
--bad:#b3261e;--badf:#fdecea;--warn:#a65b00;\
font:13px system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}\
@media(prefers-color-scheme:dark){.vf{--ink:#e7eaf0;--soft:#a0aaba;--paper:#14171c;--box:#1c2027;--rim:#39414d;--line:#77839a;\
--kernel:#252b34;--reg:#6fd39a;--regf:#12301f;--sh:#8db8ff;--shf:#15294a;--mem:#a0aaba;--memf:#2a303a;--ag:#cda2f7;\
--agf:#2e1d42;--bad:#ff8d83;--badf:#3b1715;--warn:#f0ac55}}\
.vf text{fill:var(--ink)}.vf .vf-b{font-weight:600}.vf .vf-s{font-size:11px;fill:var(--soft)}.vf .vf-h{font-size:15px;font-weight:600}\
.vf .vf-t{font-size:11px;fill:var(--soft);paint-order:stroke;stroke:var(--box);stroke-width:5px}\
.vf-paper{fill:var(--paper)}.vf-box{fill:var(--box);stroke:var(--rim)}.vf-k{fill:var(--kernel);stroke:var(--line)}\
.vf-gone{fill:none;stroke:var(--rim);stroke-dasharray:4 3}.vf-e{fill:none;stroke:var(--line);stroke-width:1.4}.vf-a{fill:var(--line)}\
.vf-reg{fill:var(--regf);stroke:var(--reg)}.vf-sh{fill:var(--shf);stroke:var(--sh)}.vf-mem{fill:var(--memf);stroke:var(--mem)}\
.vf-ag{fill:var(--agf);stroke:var(--ag);stroke-dasharray:4 3}.vf-cut{fill:var(--badf);stroke:var(--bad)}\
.vf .vf-bad{fill:var(--bad);font-weight:600}.vf-bar{stroke:var(--warn);stroke-width:3}.vf .vf-warn{fill:var(--warn);font-size:11px}";

/// What is drawn over what: boxes of dispatches, edges, then everything else.
#[derive(Default)]
struct Canvas {
    boxes: String,
    edges: Vec<[(f64, f64); 2]>,
    /// What edges go around.
    obstacles: Vec<Rect>,
    shapes: String,
    width: f64,
    y: f64,
}

/// The text of the picture.
pub(super) fn draw(graph: &Graph) -> String {
    let stages: Vec<(&Stage, Layout)> = graph.stages.iter().map(|stage| (stage, arranged(stage))).collect();
    let under = || std::iter::once(&graph.subtitle).chain(&graph.notes);
    let lines = under().chain([&graph.title]).map(|line| line.chars().count());
    let title = lines.max().unwrap_or(0) as f64 * 7.4;
    let boxes = stages.iter().map(|(stage, layout)| layout.width.max(small(&stage.title)) + 2.0 * MARGIN);
    let rows = between(graph).into_iter().map(|row| row_width(&row.texts()));
    let cuts =
        graph.stages.iter().filter(|stage| stage.cut.is_some()).map(|_| COLUMN as f64 * 6.2 + 2.0 * MARGIN);
    let width =
        boxes.chain(rows).chain(cuts).chain([title.min(WIDTH), 380.0]).fold(0.0, f64::max) + 2.0 * MARGIN;
    let mut canvas = Canvas { width, y: MARGIN, ..Canvas::default() };
    for (class, line) in wrapped(&graph.title, 64).iter().map(|line| ("vf-h", line)).chain(
        under().flat_map(|line| wrapped(line, COLUMN)).collect::<Vec<_>>().iter().map(|line| ("vf-s", line)),
    ) {
        canvas.y += LINE + 2.0;
        canvas.text(MARGIN, canvas.y - 4.0, class, "start", line);
    }
    canvas.y += 10.0;
    // Centres of the nodes of the stage before.
    let mut above: Vec<(f64, f64)> = Vec::new();
    let mut rows = between(graph).into_iter();
    for (number, (stage, layout)) in stages.iter().enumerate() {
        let row = rows.next().unwrap_or_default();
        let left = MARGIN + (width - 2.0 * MARGIN - layout.width) / 2.0;
        canvas.row(&row.left, &above);
        if let Some(cut) = number.checked_sub(1).and_then(|before| graph.stages[before].cut.as_ref()) {
            canvas.cut(cut);
        }
        let pills: Vec<Pill<'_>> = row.carried.into_iter().chain(row.read).collect();
        let starts = canvas.row(&pills, &above);
        above = canvas.stage(stage, layout, left);
        let arrows = pills.iter().zip(starts);
        for (pill, from) in arrows {
            for node in &pill.to {
                let (x, y) = above[*node];
                canvas.edge(from, (x, y - node_size(&stage.nodes[*node]).1 / 2.0));
            }
        }
        // Arrows start beneath a node.
        for (at, node) in above.iter_mut().zip(&stage.nodes) {
            at.1 += node_size(node).1 / 2.0;
        }
    }
    let row = rows.next().unwrap_or_default();
    canvas.row(&row.left, &above);
    canvas.legend(graph);
    canvas.finish(&graph.title, &graph.subtitle)
}

/// Buffers in memory between two stages, before the first or after the last.
#[derive(Default)]
struct Row<'a> {
    /// Of the stage before, and not read by the next.
    left: Vec<Pill<'a>>,
    /// Left by one and read by the next.
    carried: Vec<Pill<'a>>,
    /// Read by the next, and from longer ago.
    read: Vec<Pill<'a>>,
}

struct Pill<'a> {
    text: &'a str,
    /// Nodes of the stage before.
    from: Vec<usize>,
    /// Nodes of the next stage.
    to: Vec<usize>,
}

impl<'a> Row<'a> {
    fn texts(&self) -> Vec<&'a str> {
        [&self.left, &self.carried, &self.read].into_iter().flatten().map(|pill| pill.text).collect()
    }
}

/// One row before each stage, and one after the last.
fn between(graph: &Graph) -> Vec<Row<'_>> {
    let nothing: &[Through] = &[];
    (0..=graph.stages.len())
        .map(|place| {
            let left = place.checked_sub(1).map_or(nothing, |before| &graph.stages[before].leaves);
            let read = graph.stages.get(place).map_or(nothing, |stage| &stage.reads);
            let find = |all: &'_ [Through], buffer: BufferId| {
                all.iter().find(|one| one.buffer == buffer).map_or_else(Vec::new, |one| one.nodes.clone())
            };
            let mut row = Row::default();
            for one in left {
                let to = find(read, one.buffer);
                let into = if to.is_empty() { &mut row.left } else { &mut row.carried };
                into.push(Pill { text: &one.text, from: one.nodes.clone(), to });
            }
            let others = read.iter().filter(|one| left.iter().all(|other| other.buffer != one.buffer));
            row.read =
                others.map(|one| Pill { text: &one.text, from: Vec::new(), to: one.nodes.clone() }).collect();
            row
        })
        .collect()
}

fn arranged(stage: &Stage) -> Layout {
    let sizes: Vec<(f64, f64)> = stage.nodes.iter().map(node_size).collect();
    layout(&sizes, &stage.edges, WIDTH)
}

fn small(text: &str) -> f64 {
    text.chars().count() as f64 * 6.3
}

fn pill_width(text: &str) -> f64 {
    text.chars().count() as f64 * 7.0 + 22.0
}

fn row_width(texts: &[&str]) -> f64 {
    let (mut widest, mut line) = (0.0_f64, 0.0_f64);
    for text in texts {
        let width = pill_width(text) + 10.0;
        line = if line > 0.0 && line + width > WIDTH { width } else { line + width };
        widest = widest.max(line);
    }
    widest
}

fn node_size(node: &Node) -> (f64, f64) {
    let widest = node
        .lines
        .iter()
        .enumerate()
        .map(|(number, line)| if number == 0 { line.chars().count() as f64 * 7.4 } else { small(line) });
    (widest.fold(60.0, f64::max) + 20.0, node.lines.len() as f64 * LINE + 10.0)
}

impl Canvas {
    fn text(&mut self, x: f64, y: f64, class: &str, anchor: &str, text: &str) {
        let text = escaped(text);
        let _ = write!(
            self.shapes,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\" text-anchor=\"{anchor}\">{text}</text>"
        );
    }

    fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), round: f64, class: &str) {
        let _ = write!(
            self.shapes,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{round:.0}\" class=\"{class}\"/>"
        );
    }

    /// From the bottom of one thing to the top of another, around what is between.
    fn edge(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.edges.push([from, to]);
    }

    fn edges(&self) -> String {
        let mut text = String::new();
        for &[(x1, y1), (x2, y2)] in &self.edges {
            let _ = write!(text, "<path class=\"vf-e\" d=\"M{x1:.1} {y1:.1}");
            let mut y1 = y1;
            let mut x1 = x1;
            for (x, y) in route((x1, y1), (x2, y2 - 5.0), &self.obstacles) {
                let middle = (y1 + y) / 2.0;
                if (x - x1).abs() < 0.05 {
                    let _ = write!(text, "V{y:.1}");
                } else {
                    let _ = write!(text, "C{x1:.1} {middle:.1} {x:.1} {middle:.1} {x:.1} {y:.1}");
                }
                (x1, y1) = (x, y);
            }
            let _ = write!(text, "\"/><path class=\"vf-a\" d=\"M{x2:.1} {y2:.1}l-4 -7h8z\"/>");
        }
        text
    }

    /// Draws buffers side by side, near what they belong to, with arrows from the stage above; returns where arrows from them start.
    fn row(&mut self, pills: &[Pill<'_>], above: &[(f64, f64)]) -> Vec<(f64, f64)> {
        if pills.is_empty() {
            return Vec::new();
        }
        if !above.is_empty() {
            self.y += ROW - 8.0;
        }
        let mut lines: Vec<(Vec<usize>, f64)> = Vec::new();
        for (number, pill) in pills.iter().enumerate() {
            let width = pill_width(pill.text) + 10.0;
            match lines.last_mut() {
                Some((line, so_far)) if *so_far + width <= WIDTH => {
                    line.push(number);
                    *so_far += width;
                }
                _ => lines.push((vec![number], width)),
            }
        }
        let mut ends = vec![(0.0, 0.0); pills.len()];
        for (line, total) in lines {
            let mut x = (self.width - total) / 2.0 + 5.0;
            for number in line {
                let pill = &pills[number];
                let width = pill_width(pill.text);
                let centre = x + width / 2.0;
                self.rect((x, self.y), (width, PILL), PILL / 2.0, "vf-mem");
                self.obstacles.push(Rect::new((x, self.y), (width, PILL)));
                self.text(centre, self.y + 16.0, "", "middle", pill.text);
                for start in pill.from.iter().filter_map(|node| above.get(*node)) {
                    self.edge(*start, (centre, self.y));
                }
                ends[number] = (centre, self.y + PILL);
                x += width + 10.0;
            }
            self.y += PILL + 8.0;
        }
        ends
    }

    /// Draws the box of a dispatch; returns the centres of its nodes.
    fn stage(&mut self, stage: &Stage, layout: &Layout, left: f64) -> Vec<(f64, f64)> {
        self.y += ROW - 8.0;
        let width = layout.width.max(small(&stage.title)) + 2.0 * MARGIN;
        let height = layout.height + 2.0 * MARGIN + LINE;
        let x = (self.width - width) / 2.0;
        // Beneath the edges.
        std::mem::swap(&mut self.boxes, &mut self.shapes);
        self.rect((x, self.y), (width, height), 10.0, "vf-box");
        std::mem::swap(&mut self.boxes, &mut self.shapes);
        self.text(x + MARGIN, self.y + 18.0, "vf-t", "start", &stage.title);
        let top = self.y + MARGIN + LINE;
        let at: Vec<(f64, f64)> = layout.centres.iter().map(|(x, y)| (left + x, top + y)).collect();
        for (from, to) in &stage.edges {
            let half = |node: usize| node_size(&stage.nodes[node]).1 / 2.0;
            self.edge((at[*from].0, at[*from].1 + half(*from)), (at[*to].0, at[*to].1 - half(*to)));
        }
        for (node, centre) in stage.nodes.iter().zip(&at) {
            self.node(node, *centre);
        }
        self.y += height;
        at
    }

    fn node(&mut self, node: &Node, (x, y): (f64, f64)) {
        let (width, height) = node_size(node);
        let (class, round) = match node.kind {
            Kind::Kernel { gone: true, .. } => ("vf-gone", 6.0),
            Kind::Kernel { gone: false, .. } => ("vf-k", 6.0),
            Kind::Handed(place) => (place.class(), 13.0),
        };
        let (left, top) = (x - width / 2.0, y - height / 2.0);
        self.shapes += "<g>";
        if !node.hint.is_empty() {
            let _ = write!(self.shapes, "<title>{}</title>", escaped(&node.hint));
        }
        self.rect((left, top), (width, height), round, class);
        self.obstacles.push(Rect::new((left, top), (width, height)));
        let barrier = matches!(node.kind, Kind::Kernel { barrier: true, .. });
        for (number, line) in node.lines.iter().enumerate() {
            let is_barrier = barrier && number + 1 == node.lines.len();
            let class = match number {
                _ if is_barrier => "vf-warn",
                0 => "vf-b",
                _ => "vf-s",
            };
            self.text(x, top + 17.0 + number as f64 * LINE, class, "middle", line);
        }
        if barrier {
            let (x2, bottom) = (left + width - 4.0, top + height - 1.0);
            let x1 = left + 4.0;
            let _ = write!(self.shapes, "<path class=\"vf-bar\" d=\"M{x1:.1} {bottom:.1}H{x2:.1}\"/>");
        }
        self.shapes += "</g>";
    }

    fn cut(&mut self, cut: &Cut) {
        let lines: Vec<String> = cut.lines.iter().flat_map(|line| wrapped(line, COLUMN)).collect();
        let reason = wrapped(&format!("split: {}", cut.reason), COLUMN - 12);
        self.y += 10.0;
        let height = (lines.len() + reason.len()) as f64 * LINE + 12.0;
        let width = self.width - 2.0 * MARGIN;
        self.rect((MARGIN, self.y), (width, height), 8.0, "vf-cut");
        let mut y = self.y + 18.0;
        for (class, line) in reason.iter().map(|l| ("vf-bad", l)).chain(lines.iter().map(|l| ("vf-s", l))) {
            self.text(2.0 * MARGIN, y, class, "start", line);
            y += LINE;
        }
        self.y += height;
    }

    /// What the colours mean that are there.
    fn legend(&mut self, graph: &Graph) {
        self.y += 18.0;
        let mut x = MARGIN;
        let nodes = || graph.stages.iter().flat_map(|stage| &stage.nodes);
        for place in [Where::Register, Where::Shared, Where::Again, Where::Memory] {
            let is_there = place == Where::Memory || nodes().any(|node| node.kind == Kind::Handed(place));
            if is_there {
                let word = if place == Where::Memory { "memory" } else { place.word() };
                self.rect((x, self.y), (16.0, 10.0), 5.0, place.class());
                self.text(x + 22.0, self.y + 9.0, "vf-s", "start", word);
                x += 36.0 + small(word);
            }
        }
        self.y += 10.0;
    }

    fn finish(self, title: &str, subtitle: &str) -> String {
        let (width, height) = (self.width.ceil(), (self.y + MARGIN).ceil());
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"vf\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\"><title>{}: {}</title><style>{STYLE}</style>\
             <rect class=\"vf-paper\" width=\"{width}\" height=\"{height}\"/>{}{}{}</svg>\n",
            escaped(title),
            escaped(subtitle),
            self.boxes,
            self.edges(),
            self.shapes
        )
    }
}

impl Where {
    fn class(self) -> &'static str {
        match self {
            Where::Register => "vf-reg",
            Where::Shared => "vf-sh",
            Where::Memory => "vf-mem",
            Where::Again => "vf-ag",
        }
    }
}

fn escaped(text: &str) -> String {
    // Control characters may not stand in XML, not even as references.
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Lines of at most so many characters, broken at spaces where there are any.
fn wrapped(text: &str, column: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut rest: Vec<char> = word.chars().collect();
        while !rest.is_empty() {
            let part: String = rest.drain(..rest.len().min(column)).collect();
            let last = lines.last_mut().expect("invariant: there is a first line");
            if last.is_empty() {
                *last = part;
            } else if last.chars().count() + 1 + part.chars().count() <= column {
                last.push(' ');
                last.push_str(&part);
            } else {
                lines.push(part);
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_and_escaped() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(escaped("a<b> & \"c\"\u{7}"), "a&lt;b&gt; &amp; &quot;c&quot; ");
    }
}
