//! A report in words: a line for each dispatch, split, buffer and rewrite. Submissions are counted from 0, as in the report's fields.

use std::fmt::{self, Display, Formatter};

use super::list::FusionReport;
use crate::jit::{BufferId, Internalization, Promote};

impl Display for FusionReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let plan = &self.plan;
        let count =
            |n: usize, one: &str, plural: &str| format!("{n} {one}{}", if n == 1 { "" } else { plural });
        let submissions = count(self.submissions, "submission", "s");
        let dispatches = count(self.dispatches, "dispatch", "es");
        write!(f, "{}: {submissions}, {dispatches}", self.outcome)?;
        let (earlier, notes) = (self.earlier(), self.sentences());
        if let Some(earlier) = earlier {
            write!(f, "\n{earlier}")?;
        }
        for group in &plan.groups {
            let members: Vec<String> = group.members.iter().map(|&at| self.submission(at)).collect();
            let how = if group.fused { "one kernel" } else { "as submitted" };
            write!(f, "\n{}: {how}", members.join(", "))?;
            for barrier in &group.barriers {
                let is = if barrier.kept { "a barrier" } else { "no barrier" };
                write!(f, "\n  {is} after {}: {}", self.submission(barrier.after), barrier.reason)?;
            }
        }
        for one in &plan.rewrites {
            let (is, by) = (self.submission(one.submission), self.submission(one.partner));
            write!(f, "\n{is} runs in the order of {by}: {one}")?;
        }
        for one in &plan.inlined {
            let (is, by) = (self.submission(one.producer), self.submission(one.submission));
            write!(f, "\n{is} is recomputed in {by}: {one}")?;
        }
        for one in &plan.epilogues {
            let (is, by) = (self.submission(one.submission), self.submission(one.producer));
            write!(f, "\n{is} is an epilogue of {by}: {one}")?;
        }
        if let Some(order) = &plan.reordered {
            write!(f, "\nsubmissions run {order}")?;
        }
        for split in &plan.splits {
            write!(f, "\nsplit after {}: {}", self.submission(split.after), split.reason)?;
            if let Some(buffer) = split.buffer {
                write!(f, ", {}", self.buffer(buffer))?;
            }
            write!(f, ", {}", split.reason.explained_at())?;
            let reason = split.reason.to_string();
            for clause in split.detail.split("; ").filter(|clause| !clause.is_empty() && *clause != reason) {
                write!(f, "; {}", clause.strip_prefix(&format!("{reason}: ")).unwrap_or(clause))?;
            }
            if let Some(tried) = &split.tried {
                write!(f, "\n  no rewrite closes it: {}", tried.detail())?;
            }
        }
        for one in &plan.buffers {
            let place = match one.got {
                Internalization::None => "in memory",
                Internalization::Private => "in registers",
                Internalization::Local => "in shared memory",
            };
            write!(f, "\n{} {place}", self.buffer(one.buffer))?;
            match one.asked {
                Promote::None => {}
                Promote::Private => f.write_str(", asked for registers")?,
                Promote::Local => f.write_str(", asked for shared memory")?,
                Promote::Auto => f.write_str(", asked for promotion")?,
            }
            if let Some(why) = one.why() {
                write!(f, ": {why}")?;
            }
        }
        for one in &plan.renamed {
            write!(f, "\n{}: {one}", self.buffer(one.buffer))?;
        }
        for note in notes.iter().filter(|note| earlier != Some(note.as_str())) {
            write!(f, "\n{note}")?;
        }
        for check in &self.checks {
            let agreed = match check.agreed {
                Some(true) => "equal",
                Some(false) => "different",
                None => "not compared",
            };
            write!(f, "\nfused and unfused are {agreed}: {}", check.detail)?;
        }
        Ok(())
    }
}

impl FusionReport {
    /// Where the list was split first, as the end of a sentence: nothing where it was not.
    pub(crate) fn first_split(&self) -> String {
        let Some(split) = self.plan.splits.first() else { return String::new() };
        let after = self.submission(split.after);
        let before = if split.after + 1 < self.submissions {
            format!(" and {}", self.submission(split.after + 1))
        } else {
            String::new()
        };
        let buffer = split.buffer.map_or(String::new(), |buffer| format!(", over {}", self.buffer(buffer)));
        format!(", between submissions {after}{before}{buffer}")
    }

    pub(super) fn submission(&self, at: usize) -> String {
        match self.kernels.get(at) {
            Some(one) => format!("{at} `{}`", one.kernel),
            None => at.to_string(),
        }
    }

    pub(super) fn buffer(&self, buffer: BufferId) -> String {
        match self.buffer_name(buffer) {
            Some(name) => format!("buffer `{name}`"),
            None => "a buffer".to_owned(),
        }
    }
}
