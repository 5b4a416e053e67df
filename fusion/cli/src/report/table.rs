//! The report for people: what was fused, promoted and split, why, and the times.

use super::json::{BufferOutcome, Choice, Group, Named, Output, Report, Rewrite, Split, Times};
use std::io::{self, Write};

/// Rows of text whose columns line up.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column titles.
    pub(crate) fn new(titles: &[&str]) -> Table {
        let mut table = Table::default();
        table.row(titles.iter().map(|title| (*title).to_owned()));
        table
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Prints the rows; a table of nothing but titles prints nothing.
    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.rows.len() < 2 {
            return Ok(());
        }
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = String::from(" ");
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(&format!(" {cell:<width$} "));
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        writeln!(out)
    }
}

/// Prints the report of `vkfuse run`. `labels` names the kernel of each submission.
pub(crate) fn print_run(out: &mut dyn Write, report: &Report, labels: &[String]) -> io::Result<()> {
    let title = report.name.as_deref().unwrap_or("fusion list");
    writeln!(out, "{title}, {} submissions, mode {}", labels.len(), report.mode)?;
    writeln!(out, "{} ({})\n", report.device, report.driver)?;

    if let Some(outcome) = &report.outcome {
        writeln!(out, "  {outcome}\n")?;
    }
    print_groups(out, &report.groups, labels)?;
    print_rewrites(out, &report.rewrites, labels)?;
    print_splits(out, &report.splits, labels)?;
    let mut changed = Table::new(&["runs alone, changed", "what was changed"]);
    for one in &report.changed {
        changed.row([label(labels, one.kernel), one.detail.clone()]);
    }
    changed.print(out)?;
    if !report.changed.is_empty() {
        writeln!(out, "  docs/unfused.md says what is changed in kernels that run alone, and why\n")?;
    }
    print_choice(out, report.choice.as_ref())?;
    let mut checks = Table::new(&["compared by", "submissions", "result", ""]);
    for one in &report.checks {
        let members = one.kernels.iter().map(|member| label(labels, *member));
        let result = match one.agreed {
            Some(true) => "equal",
            Some(false) => "DIFFERENT",
            None => "not compared",
        };
        checks.row([
            one.by.to_owned(),
            members.collect::<Vec<_>>().join(", "),
            result.to_owned(),
            one.detail.clone(),
        ]);
    }
    checks.print(out)?;

    print_promotions(out, &report.buffers)?;

    let mut trusted = Table::new(&["trusted", "buffer", "not proven"]);
    for pair in &report.trusted {
        let members = format!("{} and {}", label(labels, pair.first), label(labels, pair.second));
        trusted.row([members, pair.buffer.clone().unwrap_or_default(), pair.reason.clone()]);
    }
    trusted.print(out)?;

    let is_fused = is_any_fused(&report.groups);
    print_times(out, &report.time_us, Timing { is_fused, runs: report.runs.len() })?;
    if report.cache.memory.is_some() || report.cache.disk.is_some() {
        let level = |state: Option<&'static str>| state.unwrap_or("not asked");
        let (memory, disk) = (level(report.cache.memory), level(report.cache.disk));
        writeln!(out, "  cache: memory {memory}, disk {disk}\n")?;
    }

    let mut outputs = Table::new(&["output", "fused = unfused", "first elements", "difference"]);
    for (name, output) in &report.outputs.0 {
        let head = output.head.iter().flatten().map(ToString::to_string);
        let equal = match (output.equal, &output.head) {
            (Some(true), _) if output.nan_payloads > Some(0) => "equal except NaN payloads",
            (Some(true), _) => "equal",
            (Some(false), _) => "DIFFERENT",
            (None, Some(_)) => "not compared",
            (None, None) => "internalized",
        };
        outputs.row([name.clone(), equal.to_owned(), head.collect::<Vec<_>>().join(" "), difference(output)]);
    }
    outputs.print(out)
}

/// Prints what was done to kernels so that they could be fused: placed on the items of others, recomputed, done where others store.
pub(crate) fn print_rewrites(out: &mut dyn Write, list: &[Rewrite], labels: &[String]) -> io::Result<()> {
    let mut rewrites = Table::new(&["runs in the order of", "submission", "items"]);
    let mut inlined = Table::new(&["recomputes", "submission", "what it costs"]);
    let mut epilogues = Table::new(&["stores", "epilogue", "where"]);
    for one in list {
        if let Some(value) = &one.value {
            writeln!(out, "  `{}`: {}\n", value.buffer.as_deref().unwrap_or("a buffer"), one.detail)?;
            continue;
        }
        let table = match one.kind {
            "place" => &mut rewrites,
            "epilogue" => &mut epilogues,
            _ => &mut inlined,
        };
        match (one.partner, one.kernel) {
            (Some(partner), Some(kernel)) => {
                table.row([label(labels, partner), label(labels, kernel), one.detail.clone()]);
            }
            _ => writeln!(out, "  done {}\n", one.detail)?,
        }
    }
    rewrites.print(out)?;
    inlined.print(out)?;
    epilogues.print(out)
}

/// Prints the dispatches.
pub(crate) fn print_groups(out: &mut dyn Write, list: &[Group], labels: &[String]) -> io::Result<()> {
    let mut groups = Table::new(&[
        "dispatch",
        "submissions",
        "fused",
        "work-group",
        "schedule",
        "items per invocation",
        "groups per work-group",
        "barriers",
    ]);
    for (index, group) in list.iter().enumerate() {
        let members = group.kernels.iter().map(|member| label(labels, *member));
        let barriers = group.barriers.iter().map(|barrier| {
            let kept = if barrier.kept { "kept" } else { "none" };
            format!("{kept} after {} ({})", barrier.after, barrier.reason)
        });
        groups.row([
            index.to_string(),
            members.collect::<Vec<_>>().join(", "),
            match (group.fused, group.push_buffer_bytes) {
                (false, _) => "no".to_owned(),
                (true, 0) => "yes".to_owned(),
                (true, bytes) => format!("yes ({bytes} bytes of push constants in a buffer)"),
            },
            group.work_group.map(|size| size.to_string()).join("x"),
            group.schedule.clone(),
            group.items_per_invocation.to_string(),
            group.work_groups.to_string()
                + &group.alone.as_ref().map_or_else(String::new, |why| format!(" ({why})")),
            barriers.collect::<Vec<_>>().join(", "),
        ]);
    }
    groups.print(out)?;
    let mut code = Table::new(&["dispatch", "what the driver says of its code"]);
    for (index, group) in list.iter().enumerate().filter(|(_, group)| !group.statistics.0.is_empty()) {
        let statistics = group.statistics.0.iter().map(|(name, value)| format!("{name} {value}"));
        code.row([index.to_string(), statistics.collect::<Vec<_>>().join(", ")]);
    }
    code.print(out)
}

/// Prints which promotions were asked for, and what became of them.
pub(crate) fn print_promotions(out: &mut dyn Write, all: &Named<BufferOutcome>) -> io::Result<()> {
    let mut buffers = Table::new(&["buffer", "promotion asked", "got", "reason"]);
    for (name, buffer) in all.0.iter().filter(|(_, buffer)| buffer.asked != "none") {
        let reason = [&buffer.reason, &buffer.explained_at].into_iter().flatten().cloned();
        let reason = reason.collect::<Vec<_>>().join(", ");
        buffers.row([name.clone(), buffer.asked.to_owned(), buffer.got.to_owned(), reason]);
    }
    buffers.print(out)
}

/// Prints where the list was cut.
pub(crate) fn print_splits(out: &mut dyn Write, list: &[Split], labels: &[String]) -> io::Result<()> {
    for split in list {
        write!(out, "  split after {}: {}", label(labels, split.after), split.reason)?;
        if let Some(buffer) = &split.buffer {
            write!(out, " through `{buffer}`")?;
        }
        writeln!(out, ", {}", split.explained_at)?;
        for clause in split.detail.split("; ").filter(|clause| !clause.is_empty() && **clause != split.reason)
        {
            writeln!(out, "    {clause}")?;
        }
        if let Some(tried) = &split.tried {
            writeln!(out, "    no rewrite closes it: {tried}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Prints which way a list in doubt ran, and the times that were measured.
pub(crate) fn print_choice(out: &mut dyn Write, choice: Option<&Choice>) -> io::Result<()> {
    let Some(choice) = choice else { return Ok(()) };
    let mut ways = Table::new(&["way", "GPU time in µs", "runs", ""]);
    for one in &choice.measured {
        let time = one.gpu_us.map_or_else(String::new, |time| format!("{time:.1}"));
        let is_it = one.way == choice.way;
        let what = match (is_it, choice.decided, one.given_up) {
            (true, true, _) => "the fastest",
            (true, false, _) => "now",
            (false, _, true) => "given up",
            _ => "",
        };
        ways.row([one.way.clone(), time, one.runs.to_string(), what.to_owned()]);
    }
    ways.print(out)
}

/// Whether fused code ran: otherwise both runs are the same dispatches, and a ratio of their times says nothing.
pub(crate) fn is_any_fused(groups: &[Group]) -> bool {
    groups.iter().any(|group| group.fused)
}

/// What was timed.
#[derive(Clone, Copy)]
pub(crate) struct Timing {
    /// Whether fused code ran.
    pub(crate) is_fused: bool,
    /// How often.
    pub(crate) runs: usize,
}

/// Fewest runs whose medians make a speed-up: times of single ones differ by more than fusing gains.
const FEWEST_RUNS: usize = 3;

/// Prints the times that were taken, and the speed-up where there are fused dispatches: over all kernels recorded in one command buffer
/// where that was timed.
pub(crate) fn print_times(
    out: &mut dyn Write,
    times: &Times,
    Timing { is_fused, runs }: Timing,
) -> io::Result<()> {
    let is_recorded = times.recorded_wall.is_some();
    let is_few = runs < FEWEST_RUNS && !is_recorded;
    let mut titles = vec!["time in µs", if is_recorded { "each by itself" } else { "unfused" }];
    titles.extend(is_recorded.then_some("one command buffer"));
    titles.extend(["fused", if is_few { "" } else { "speed-up" }]);
    let mut table = Table::new(&titles);
    let mut row =
        |name: &str, unfused: Option<f64>, recorded: Option<f64>, fused: Option<f64>, ratio: String| {
            let cells = [Some(name.to_owned()), Some(micros(unfused)), is_recorded.then(|| micros(recorded))];
            table.row(cells.into_iter().flatten().chain([micros(fused), ratio]));
        };
    let rows = [
        ("GPU", times.unfused_gpu, times.recorded_gpu, times.fused_gpu),
        ("wall", times.unfused_wall, times.recorded_wall, times.fused_wall),
    ];
    for (name, unfused, recorded, fused) in rows.into_iter().filter(|row| row.1.or(row.3).is_some()) {
        let ratio = match (if is_recorded { recorded } else { unfused }, fused) {
            (Some(_), Some(_)) if !is_fused => "same dispatches".to_owned(),
            _ if is_few => String::new(),
            (Some(before), Some(fused)) if fused > 0.0 => format!("{:.2}x", before / fused),
            _ => String::new(),
        };
        row(name, unfused, recorded, fused, ratio);
    }
    table.print(out)?;
    if is_few && is_fused && times.unfused_wall.is_some() && times.fused_wall.is_some() {
        let what = if runs == 1 { "one run" } else { "two runs" };
        writeln!(out, "  times of {what}, which say little: `vkfuse bench` measures, or `--repeat N`\n")?;
    }
    print_first_runs(out, times)
}

/// Prints what the untimed first runs took: no result, as caches and drivers were cold in them.
fn print_first_runs(out: &mut dyn Write, times: &Times) -> io::Result<()> {
    let millis = |time: f64| format!("{:.1} ms", time / 1000.0);
    let parts = [("JIT", times.jit), ("driver", times.driver)];
    let parts: Vec<String> =
        parts.into_iter().filter_map(|(name, time)| Some(format!("{name} {}", millis(time?)))).collect();
    let runs: Vec<String> = [("unfused", times.first_unfused_wall), ("fused", times.first_fused_wall)]
        .into_iter()
        .filter_map(|(name, time)| Some(format!("{name} {}", millis(time?))))
        .collect();
    match (runs.is_empty(), parts.is_empty()) {
        (true, true) => Ok(()),
        (true, false) => writeln!(out, "  compilation: {}\n", parts.join(", ")),
        (false, true) => writeln!(out, "  first runs, not in the table: {}\n", runs.join(", ")),
        (false, false) => {
            writeln!(
                out,
                "  first runs, not in the table: {} (of it {})\n",
                runs.join(", "),
                parts.join(", ")
            )
        }
    }
}

fn micros(time: Option<f64>) -> String {
    time.map(|time| format!("{time:.1}")).unwrap_or_default()
}

fn label(labels: &[String], submission: usize) -> String {
    let kernel = labels.get(submission).map_or("?", String::as_str);
    format!("{submission} {kernel}")
}

fn difference(output: &Output) -> String {
    let (Some(first), Some(count)) = (output.first_difference, output.differences) else {
        return String::new();
    };
    let mut text = format!("{count} elements, the first at {first}");
    if let Some([unfused, fused]) = &output.differing {
        text.push_str(&format!(": unfused {unfused}, fused {fused}"));
    }
    if let Some(ulp) = output.max_ulp {
        text.push_str(&format!("; at most {ulp} ulp"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_driver_says_of_the_code_is_printed_where_it_says_something() {
        let group = |numbers: &[(&str, f64)]| Group {
            kernels: vec![0],
            fused: true,
            work_group: [32, 1, 1],
            schedule: "x: grid | 8 unrolled / 32 lanes".to_owned(),
            items_per_invocation: 8,
            loads_kept: 0,
            work_groups: 1,
            alone: None,
            push_buffer_bytes: 0,
            barriers: Vec::new(),
            key: None,
            statistics: Named(numbers.iter().map(|&(name, value)| (name.to_owned(), value)).collect()),
        };
        let printed = |groups: &[Group]| {
            let mut out = Vec::new();
            print_groups(&mut out, groups, &["sum".to_owned()]).expect("memory");
            String::from_utf8(out).expect("text")
        };
        let silent = printed(&[group(&[])]);
        assert!(!silent.contains("the driver"), "{silent}");
        assert!(silent.contains("x: grid | 8 unrolled / 32 lanes"), "{silent}");
        let told = printed(&[group(&[]), group(&[("Register Count", 40.0), ("Shared Memory Size", 1024.0)])]);
        assert!(told.contains("1         Register Count 40, Shared Memory Size 1024"), "{told}");
    }
}
