//! The tables: what became of each list, in words.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use vkfuse::{FusionReport, Internalization};

use crate::support::Rig;

/// A table under construction.
pub(crate) struct Table<'a> {
    pub(crate) rig: &'a Rig,
    text: String,
}

impl Table<'_> {
    /// Adds a line for a list that has run, and one for the same list forced into one dispatch, if that is possible.
    pub(crate) fn add(&mut self, name: &str, report: &FusionReport, forced: Option<&FusionReport>) {
        self.line(name, report);
        for split in &report.plan.splits {
            let tried = split.tried.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
            let _ = writeln!(self.text, "    behind {}: {}{tried}", split.after, split.reason);
        }
        for one in report.plan.buffers.iter().filter(|one| one.got == Internalization::None) {
            let Some(reason) = one.reason.as_ref().filter(|_| report.dispatches == 1) else { continue };
            let _ = writeln!(self.text, "    in memory: {reason}");
        }
        if let Some(forced) = forced {
            self.line("    forced", forced);
        }
    }

    fn line(&mut self, name: &str, report: &FusionReport) {
        let plan = &report.plan;
        let mut how = vec!["alone"; report.submissions];
        for group in plan.groups.iter().filter(|group| group.members.len() > 1) {
            let first = group.members.iter().copied().min();
            for &at in &group.members {
                how[at] = if plan.epilogues.iter().any(|one| one.submission == at) {
                    "epilogue"
                } else if plan.inlined.iter().any(|one| one.submission == at) {
                    "inlined"
                } else if plan.rewrites.iter().any(|one| one.submission == at) {
                    "placed"
                } else if first == Some(at) {
                    "first"
                } else {
                    "joined"
                };
            }
        }
        let inside = plan.buffers.iter().filter(|one| one.got != Internalization::None).count();
        let (buffers, how) = (plan.buffers.len(), how.join(", "));
        let (dispatches, all) = (report.dispatches, report.submissions);
        let _ =
            writeln!(self.text, "{name:<48} | {dispatches} of {all} | {inside} of {buffers} inside | {how}");
    }
}

/// Runs lists, and compares what became of them with the table of that name.
pub(crate) fn check(name: &str, lists: impl Fn(&mut Table)) {
    let rig = rig!();
    let mut table = Table { rig: &rig, text: String::new() };
    lists(&mut table);
    rig.assert_no_validation_messages();
    let text = table.text;
    println!("{text}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/pairs/table/{name}.txt"));
    // Other devices have other limits.
    if !rig.context.device_info().name.contains("llvmpipe") {
        let _ = writeln!(std::io::stderr(), "NOT COMPARED with {name}.txt: another device");
        return;
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = text.lines().zip(wanted.lines()).find(|(found, wanted)| found != wanted);
    if let Some((found, wanted)) = differs {
        panic!("{name}.txt has\n{wanted}\nand this is\n{found}\n(BLESS=1 writes {})", path.display());
    }
    assert_eq!(text.lines().count(), wanted.lines().count(), "{name}.txt has other lists");
}
