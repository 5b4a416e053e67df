//! What is drawn: a stage for each dispatch, with its kernels and what they hand to each other inside; and what goes through memory
//! before, between and after the stages.

use super::Picture;
use crate::{
    jit::{AccessPair, BufferId, InlineReport, Internalization, Members, Places, Reason, SplitReport},
    report::list::ArgumentReport,
};

/// A list as stages, from the top to the bottom.
pub(super) struct Graph {
    pub(super) title: String,
    pub(super) subtitle: String,
    /// What the list moves through memory, and what it no longer does.
    pub(super) notes: Vec<String>,
    pub(super) stages: Vec<Stage>,
}

/// A dispatch.
pub(super) struct Stage {
    pub(super) title: String,
    pub(super) nodes: Vec<Node>,
    /// From node to node.
    pub(super) edges: Vec<(usize, usize)>,
    /// What it reads from memory, and what it leaves there.
    pub(super) reads: Vec<Through>,
    pub(super) leaves: Vec<Through>,
    /// Why the next stage is a dispatch of its own.
    pub(super) cut: Option<Cut>,
}

/// What is in the box of a dispatch.
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) lines: Vec<String>,
    /// What a pointer over it shows.
    pub(super) hint: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A kernel; whether a barrier follows it, and whether it does not run because what it stores is computed elsewhere.
    Kernel { barrier: bool, gone: bool },
    /// A buffer's contents, handed from one kernel of the dispatch to another.
    Handed(Where),
}

/// Where contents are between the kernels that write and read them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    Register,
    Shared,
    Memory,
    /// Nowhere: the consumer recomputes them.
    Again,
}

/// A buffer in memory that a stage reads or leaves, with the nodes that do.
pub(super) struct Through {
    pub(super) buffer: BufferId,
    pub(super) text: String,
    pub(super) bytes: u64,
    pub(super) nodes: Vec<usize>,
}

pub(super) struct Cut {
    pub(super) reason: String,
    pub(super) lines: Vec<String>,
}

/// The last writer of a range of a buffer, in a stage.
struct Written {
    argument: ArgumentReport,
    node: usize,
}

impl Graph {
    pub(super) fn of(picture: &Picture<'_>) -> Graph {
        let report = picture.report;
        let groups: Vec<Members> = if report.plan.groups.is_empty() {
            report.steps.iter().map(|step| step.members.clone()).collect()
        } else {
            report.plan.groups.iter().map(|group| group.members.clone()).collect()
        };
        let mut stages: Vec<Stage> =
            groups.iter().enumerate().map(|(number, members)| stage(picture, number, members)).collect();
        say_costs(&mut stages);
        let count = |n: usize, what: &str, more: &str| format!("{n} {}", if n == 1 { what } else { more });
        let subtitle = format!(
            "{} in {}",
            count(report.submissions, "kernel", "kernels"),
            count(report.dispatches, "dispatch", "dispatches")
        );
        let subtitle = match (picture.total_unfused(), picture.fused_us) {
            // Nothing is fused: the dispatches are the same, and a ratio of their times says nothing.
            (Some(before), Some(after)) if !report.plan.groups.iter().any(|group| group.fused) => {
                format!("{subtitle} · {} before, {} after", time(before), time(after))
            }
            (Some(before), Some(after)) if after > 0.0 => {
                format!("{subtitle} · {} before, {} after, {:.2}×", time(before), time(after), before / after)
            }
            (Some(before), _) => format!("{subtitle} · {} one by one", time(before)),
            (None, Some(after)) => format!("{subtitle} · {}", time(after)),
            (None, None) => subtitle,
        };
        let notes = moved(picture, &stages).into_iter().chain(kept_inside(picture)).collect();
        Graph { title: report.outcome.to_string(), subtitle, notes, stages }
    }
}

/// The bytes that the dispatches move at least, before and after: each argument once for each kernel, each buffer once for each
/// dispatch. Nothing where a dispatch has an image, whose bytes are not known, or a value is recomputed, which reads more.
fn moved(picture: &Picture<'_>, stages: &[Stage]) -> Option<String> {
    let report = picture.report;
    let arguments = || report.kernels.iter().flat_map(|one| &one.arguments);
    if arguments().any(|argument| argument.bytes == 0) || !report.plan.inlined.is_empty() {
        return None;
    }
    let times = |argument: &ArgumentReport| u64::from(argument.reads) + u64::from(argument.writes);
    let before: u64 = arguments().map(|argument| argument.bytes * times(argument)).sum();
    let through = stages.iter().flat_map(|stage| stage.reads.iter().chain(&stage.leaves));
    let after: u64 = through.map(|one| one.bytes).sum();
    let is_less = after < before;
    is_less.then(|| format!("{} through memory before, {} after", bytes(before), bytes(after)))
}

/// The buffers that never reach memory.
fn kept_inside(picture: &Picture<'_>) -> Option<String> {
    const NAMED: usize = 6;
    let report = picture.report;
    let inside = report.plan.buffers.iter().filter(|one| one.got != Internalization::None);
    let mut names: Vec<&str> =
        inside.map(|one| report.buffer_name(one.buffer).unwrap_or("a buffer without a name")).collect();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("never in memory: {}{more}", names.join(", ")))
}

/// Says at each cut what goes through memory because of it.
fn say_costs(stages: &mut [Stage]) {
    for number in 1..stages.len() {
        let (before, after) = stages.split_at_mut(number);
        let (Some(stage), Some(next)) = (before.last_mut(), after.first()) else { continue };
        let Some(cut) = &mut stage.cut else { continue };
        let is_read = |one: &&Through| next.reads.iter().any(|read| read.buffer == one.buffer);
        let crosses: Vec<&Through> = stage.leaves.iter().filter(is_read).collect();
        let cost: u64 = crosses.iter().map(|one| one.bytes).sum();
        if cost > 0 {
            cut.lines.push(format!("{} written here and read again by the next dispatch", bytes(cost)));
        }
    }
}

fn stage(picture: &Picture<'_>, number: usize, members: &Members) -> Stage {
    let report = picture.report;
    let mut stage = Stage {
        title: title(picture, number, members),
        nodes: members.iter().map(|&submission| kernel(picture, submission)).collect(),
        edges: Vec::new(),
        reads: Vec::new(),
        leaves: Vec::new(),
        cut: None,
    };
    let mut written: Vec<Written> = Vec::new();
    for (node, &submission) in members.iter().enumerate() {
        let Some(one) = report.kernels.get(submission) else { continue };
        for argument in one.arguments.iter().filter(|argument| argument.reads) {
            // The latest first: what it wrote hides what was there.
            match written.iter().rev().find(|other| other.argument.overlaps(argument)) {
                Some(from) => {
                    let producer = members[from.node];
                    hand_over(picture, &mut stage, argument, (from.node, producer), (node, submission));
                }
                None => through(picture, &mut stage.reads, argument, node),
            }
        }
        let writes = one.arguments.iter().filter(|argument| argument.writes);
        written.extend(writes.map(|argument| Written { argument: *argument, node }));
    }
    for Written { argument, node } in &written {
        if got(picture, argument.buffer) == Internalization::None {
            through(picture, &mut stage.leaves, argument, *node);
        }
    }
    let cut = report.plan.splits.iter().find(|split| members.last() == Some(&split.after));
    stage.cut = cut.map(|split| self::cut(picture, split));
    stage
}

fn title(picture: &Picture<'_>, number: usize, members: &Members) -> String {
    let report = picture.report;
    let mut title = format!("dispatch {number}");
    if let Some(group) = report.plan.groups.iter().find(|group| group.members == *members) {
        let [x, y, z] = group.work_group;
        title += &format!(" · work-groups of {x}×{y}×{z}");
        if group.items_per_invocation > 1 {
            title += &format!(" · {} items an invocation", group.items_per_invocation);
        }
        if group.work_groups > 1 {
            title += &format!(" · {} work-groups side by side", group.work_groups);
        }
        if group.push_buffer_bytes > 0 {
            title += &format!(" · {} bytes of push constants in a buffer", group.push_buffer_bytes);
        }
    }
    let whole = picture.fused_us.filter(|_| report.dispatches == 1);
    let own = picture.dispatches_us.get(number).filter(|_| picture.dispatches_us.len() == report.dispatches);
    let Some(after) = whole.or(own.copied()) else { return title };
    let alone = members.iter().map(|&at| picture.unfused_us.get(at).copied());
    let before = alone.sum::<Option<f64>>().filter(|_| members.len() > 1 && report.dispatches > 1);
    match before {
        Some(before) => title + &format!(" · {} instead of {}", time(after), time(before)),
        None => title + &format!(" · {}", time(after)),
    }
}

fn kernel(picture: &Picture<'_>, submission: usize) -> Node {
    let plan = &picture.report.plan;
    let gone = plan.inlined.iter().any(|one| one.producer == submission && one.gone);
    let appended = plan.epilogues.iter().find(|one| one.submission == submission);
    let barriers = plan.groups.iter().flat_map(|group| &group.barriers);
    let after = barriers.into_iter().find(|barrier| barrier.after == submission);
    let placed = plan.rewrites.iter().find(|one| one.submission == submission);
    let mut second = format!("submission {submission}");
    if let Some(before) = picture.unfused_us.get(submission) {
        second += &format!(" · {} alone", time(*before));
    }
    let mut lines = vec![picture.name(submission).to_owned(), second];
    lines.extend(placed.map(|one| match one.places {
        Places::Rows { length } => format!("done in rows of {length}"),
        Places::Blocks { length, .. } => format!("done in blocks of {length}"),
        Places::Grid { width } => format!("done in lines of {width}"),
        Places::Line { start } => format!("done from item {start} on"),
        Places::Padded { invocations } => format!("done by {invocations} invocations of each work-group"),
    }));
    lines.extend(gone.then(|| "does not run: recomputed where it is read".to_owned()));
    lines.extend(appended.map(|one| format!("epilogue of submission {}", one.producer)));
    let hint = after.map_or_else(String::new, |barrier| {
        let is_kept = if barrier.kept { "a barrier" } else { "no barrier" };
        format!("{is_kept} after it: {}", barrier.reason)
    });
    let barrier = after.is_some_and(|barrier| barrier.kept);
    lines.extend(barrier.then(|| "barrier".to_owned()));
    Node { kind: Kind::Kernel { barrier, gone }, lines, hint }
}

/// Adds the node of what is handed from one kernel to another, or an edge to it if others get it too.
fn hand_over(
    picture: &Picture<'_>,
    stage: &mut Stage,
    argument: &ArgumentReport,
    (from, producer): (usize, usize),
    (to, consumer): (usize, usize),
) {
    let is_it = |one: &&InlineReport| one.submission == consumer && one.buffer == argument.buffer;
    let again = picture.report.plan.inlined.iter().find(is_it).is_some_and(|one| one.producer == producer);
    let place = match got(picture, argument.buffer) {
        _ if again => Where::Again,
        Internalization::Private => Where::Register,
        Internalization::Local => Where::Shared,
        Internalization::None => Where::Memory,
    };
    let lines = vec![text(picture, argument), place.word().to_owned()];
    let found = stage.edges.iter().find(|(start, end)| {
        let node = &stage.nodes[*end];
        *start == from && node.kind == Kind::Handed(place) && node.lines == lines
    });
    let node = found.map_or(stage.nodes.len(), |(_, end)| *end);
    if node == stage.nodes.len() {
        stage.nodes.push(Node { kind: Kind::Handed(place), lines, hint: String::new() });
        stage.edges.push((from, node));
    }
    if !stage.edges.contains(&(node, to)) {
        stage.edges.push((node, to));
    }
}

fn through(picture: &Picture<'_>, all: &mut Vec<Through>, argument: &ArgumentReport, node: usize) {
    let known = all.iter_mut().find(|one| one.buffer == argument.buffer);
    match known {
        Some(one) => {
            one.bytes = one.bytes.max(argument.bytes);
            if !one.nodes.contains(&node) {
                one.nodes.push(node);
            }
        }
        None => all.push(Through {
            buffer: argument.buffer,
            text: text(picture, argument),
            bytes: argument.bytes,
            nodes: vec![node],
        }),
    }
}

fn got(picture: &Picture<'_>, buffer: BufferId) -> Internalization {
    let reports = &picture.report.plan.buffers;
    reports.iter().find(|one| one.buffer == buffer).map_or(Internalization::None, |one| one.got)
}

fn text(picture: &Picture<'_>, argument: &ArgumentReport) -> String {
    let name = picture.report.buffer_name(argument.buffer).unwrap_or("buffer");
    if argument.bytes == 0 { name.to_owned() } else { format!("{name} · {}", bytes(argument.bytes)) }
}

fn cut(picture: &Picture<'_>, split: &SplitReport) -> Cut {
    let name = split.buffer.and_then(|buffer| picture.report.buffer_name(buffer));
    let mut lines = match &split.reason {
        Reason::CrossGroup(pair) | Reason::UniformWritten(pair) | Reason::SampledWritten(pair) => {
            sites(picture, pair, name)
        }
        Reason::SharedElements { pair, .. } => sites(picture, pair, name),
        reason if reason.to_string() == split.detail => Vec::new(),
        _ => vec![split.detail.clone()],
    };
    lines.extend(split.tried.as_ref().map(|why| format!("No rewrite closes it: {why}")));
    Cut { reason: split.reason.to_string(), lines }
}

/// The accesses that decided, with the names that the program gave.
fn sites(picture: &Picture<'_>, pair: &AccessPair, buffer: Option<&str>) -> Vec<String> {
    let sites = [&pair.first, &pair.second].map(|site| {
        let at = format!("binding {}.{}", site.at.set, site.at.binding);
        let what = buffer.map_or_else(|| at.clone(), |name| format!("{name} ({at})"));
        let (who, verb, at) = (picture.name(site.submission), site.verb(), site.short_index());
        let why = site.unfollowed.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
        let unit = if site.is_texel { "texel" } else { "byte" };
        let line = site.in_lines().map_or_else(String::new, |lines| format!(", {lines}"));
        format!("{who}, submission {}, {verb} {what} at {unit} {at}{line}{why}", site.submission)
    });
    sites.to_vec()
}

impl ArgumentReport {
    fn overlaps(&self, other: &ArgumentReport) -> bool {
        let end = |one: &ArgumentReport| one.offset.saturating_add(one.bytes.max(1));
        self.buffer == other.buffer && self.offset < end(other) && other.offset < end(self)
    }
}

impl Where {
    pub(super) fn word(self) -> &'static str {
        match self {
            Where::Register => "in registers",
            Where::Shared => "in shared memory",
            Where::Memory => "through memory",
            Where::Again => "recomputed",
        }
    }
}

/// A number of bytes, in units of powers of 1000.
fn bytes(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 999.5 && unit + 1 < units.len() {
        (value, unit) = (value / 1000.0, unit + 1);
    }
    let digits = usize::from(unit > 0 && value < 99.5);
    format!("{value:.digits$} {}", units[unit])
}

/// Microseconds whatever they are, so that numbers of a picture can be compared.
fn time(us: f64) -> String {
    let digits = usize::from(us < 999.5);
    format!("{us:.digits$} µs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_times_have_three_digits_or_so() {
        assert_eq!(
            [0, 999, 4000, 999_600, 400_000_000].map(bytes),
            ["0 B", "999 B", "4.0 kB", "1.0 MB", "400 MB"]
        );
        assert_eq!([0.04, 482.0, 12_345.6].map(time), ["0.0 µs", "482.0 µs", "12346 µs"]);
    }
}
