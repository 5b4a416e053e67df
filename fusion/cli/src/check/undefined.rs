//! Which undefined results the list depends on.
//!
//! The list runs once more for each instruction that had one, with another result there. What then differs, depends on it.

use crate::interrupt;
use crate::progress::Bar;
use crate::stop::Stop;
use vkfuse_interp::{Dispatch, Findings, Memory, Notice, ObjectId, Options, UndefinedResult, execute_while};

/// The run that noticed them.
pub(super) struct Ran<'a> {
    pub(super) memory: &'a Memory,
    pub(super) objects: &'a [ObjectId],
    pub(super) findings: &'a Findings,
}

/// Results that something depends on.
pub(super) struct Reaching {
    pub(super) list: Vec<(UndefinedResult, Reached)>,
    /// Instructions that had undefined results, and were not looked into.
    pub(super) unfollowed: u64,
}

/// What depends on a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// Which element is accessed, or whether one is.
    Index,
    /// What is stored.
    Result,
    /// When a loop ends.
    Loop,
}

impl Reached {
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Reached::Index => "an index",
            Reached::Result => "a result",
            Reached::Loop => "the end of a loop",
        }
    }
}

/// Those of the noticed results that something depends on.
pub(super) fn reaching(
    dispatches: &[Dispatch<'_>],
    options: &Options,
    ran: &Ran<'_>,
    again: impl Fn() -> Result<Memory, Stop>,
) -> Result<Reaching, Stop> {
    let noticed = &ran.findings.undefined;
    let mut list = Vec::new();
    let bar = Bar::new("undefined results followed", noticed.list.len());
    let mut followed = 0;
    for &result in &noticed.list {
        if interrupt::is_asked() {
            break;
        }
        followed += 1;
        bar.step();
        let other = Notice::Other { dispatch: result.dispatch, word: result.word };
        // A result that lets it run on for so much longer is one that a loop depends on.
        let max_steps = ran.findings.steps.saturating_mul(4).saturating_add(1 << 20).min(options.max_steps);
        let options = Options { undefined: other, max_steps, ..*options };
        let mut memory = again()?;
        let reached = match execute_while(dispatches, &mut memory, &options, &|_| !interrupt::is_asked()) {
            // Nothing was found out.
            Ok(Findings { stopped: Some(_), .. }) => {
                followed -= 1;
                break;
            }
            Err(_) => Some(Reached::Loop),
            Ok(findings) => {
                let accesses = |findings: &Findings| {
                    (
                        [findings.out_of_bounds.clone(), findings.notes.clone()],
                        findings.races.clone(),
                        findings.uninitialised.clone(),
                    )
                };
                let same = |&object: &ObjectId| memory.bytes(object) == ran.memory.bytes(object);
                if accesses(&findings) != accesses(ran.findings) {
                    Some(Reached::Index)
                } else if ran.objects.iter().all(same) {
                    None
                } else {
                    Some(Reached::Result)
                }
            }
        };
        list.extend(reached.map(|reached| (result, reached)));
    }
    Ok(Reaching { list, unfollowed: noticed.count - followed })
}
