//! What an exhibit is, and how it is judged.

use vkfuse::{CacheOptions, CheckedBy, ContextOptions, FusionProperties, Promote};

use crate::support::{Buf, Rig, Size, Submit, Workload};

/// What has to become of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// One kernel, with this many barriers between its members.
    Fused(usize),
    /// This many dispatches, because work-groups meet in a buffer.
    Split(u64),
    /// This many dispatches, for a reason with these words in it.
    Refused(u64, &'static str),
}

impl Verdict {
    /// The word that the catalogue has for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Verdict::Fused(_) => "fused",
            Verdict::Split(_) => "split",
            Verdict::Refused(..) => "refused",
        }
    }
}

/// A list with what is known of its results.
#[derive(Default)]
pub(crate) struct Exhibit {
    list: Workload,
    expected: Vec<(Buf, Vec<u32>)>,
    inside: Vec<Buf>,
    in_memory: Vec<Buf>,
    exhibit: &'static str,
}

impl Exhibit {
    /// An exhibit whose kernels are `shaders/museum/<name>.<stage>`.
    pub(crate) fn of(exhibit: &'static str) -> Exhibit {
        Exhibit { exhibit, ..Exhibit::default() }
    }

    /// A buffer of small numbers, different from element to element.
    pub(crate) fn numbers(&mut self, name: &str, len: u32) -> Buf {
        self.list.words(name, numbers(len))
    }

    /// The same as floats between -2 and 2.
    pub(crate) fn floats(&mut self, name: &str, len: u32) -> Buf {
        self.list.floats(name, floats(len))
    }

    /// A buffer with the given words.
    pub(crate) fn words(&mut self, name: &str, words: impl IntoIterator<Item = u32>) -> Buf {
        self.list.words(name, words)
    }

    /// A buffer with the given floats.
    pub(crate) fn given(&mut self, name: &str, floats: impl IntoIterator<Item = f32>) -> Buf {
        self.list.floats(name, floats)
    }

    /// An output.
    pub(crate) fn poisoned(&mut self, name: &str, len: u32) -> Buf {
        self.list.poisoned(name, len as usize)
    }

    /// A temporary: `auto` is asked for.
    pub(crate) fn temporary(&mut self, name: &str, len: u32) -> Buf {
        let buffer = self.poisoned(name, len);
        self.list.promote(buffer, Promote::Auto);
        buffer
    }

    /// Asks for another promotion.
    pub(crate) fn promote(&mut self, buffer: Buf, promote: Promote) {
        self.list.promote(buffer, promote);
    }

    /// Submits a stage with this many work-groups, these buffers by binding, and push constants.
    pub(crate) fn run(&mut self, stage: &str, groups: u32, buffers: &[(u32, Buf)], push: &[u32]) {
        let name = format!("museum/{}.{stage}", self.exhibit);
        let submit = Submit::new(&name, Size::Groups([groups, 1, 1]));
        let submit =
            buffers.iter().fold(submit, |submit, &(binding, buffer)| submit.read_write(binding, buffer));
        self.list.submit(push.iter().fold(submit, |submit, &word| submit.push(word)));
    }

    /// States what a buffer holds afterwards.
    pub(crate) fn expect(&mut self, buffer: Buf, words: impl IntoIterator<Item = u32>) {
        self.expected.push((buffer, words.into_iter().collect()));
    }

    /// States that a buffer stays inside the fused kernel.
    pub(crate) fn inside(&mut self, buffer: Buf) {
        self.inside.push(buffer);
    }

    /// States that a buffer may not stay inside.
    pub(crate) fn in_memory(&mut self, buffer: Buf) {
        self.in_memory.push(buffer);
    }

    /// Runs the list unfused and fused, and demands equal bits and the verdict. That is one on kernels that load what others
    /// stored: where they work it out again, they are run as they are, too.
    pub(crate) fn judge(self, rig: &Rig, verdict: Verdict) {
        let unfused = self.list.run_unfused(rig);
        for (buffer, words) in &self.expected {
            assert_eq!(unfused.words(*buffer), words, "the unfused run");
        }
        let mut fused = self.list.run_fused(rig, &FusionProperties::default());
        fused.assert_equals(&unfused);
        if !fused.report().plan.inlined.is_empty() {
            fused = self.list.run_fused(rig, &FusionProperties::default().no_rewrites());
            fused.assert_equals(&unfused);
        }
        for (buffer, words) in &self.expected {
            assert_eq!(fused.words(*buffer), words, "the fused run");
        }
        let plan = &fused.report().plan;
        match verdict {
            Verdict::Fused(barriers) => {
                fused.assert_one_fused_group();
                assert_eq!(fused.barriers_kept(), barriers, "{:#?}", plan.groups);
            }
            Verdict::Split(dispatches) | Verdict::Refused(dispatches, _) => {
                let words = match verdict {
                    Verdict::Refused(_, words) => words,
                    _ => "cross-work-group",
                };
                assert_eq!(fused.stats.dispatches, dispatches, "{plan:#?}");
                assert!(!plan.splits.is_empty(), "{plan:#?}");
                for split in &plan.splits {
                    assert!(split.reason.to_string().contains(words), "{}", split.reason);
                }
            }
        }
        for &buffer in &self.inside {
            assert_ne!(fused.buffer_report(buffer).map(|b| b.got), Some(vkfuse::Internalization::None));
        }
        for &buffer in &self.in_memory {
            fused.assert_in_memory(buffer);
        }
        // The interpreter, where it can tell, finds the fused code to do the same.
        for check in &fused.report().checks {
            assert_eq!(check.by, CheckedBy::Interpreter);
            assert_ne!(check.agreed, Some(false), "{}", check.detail);
        }
        rig.assert_no_validation_messages();
    }
}

/// A device that validates fused code before it uses it; `None`, visibly, where there is none.
pub(crate) fn rig() -> Option<Rig> {
    let options = ContextOptions::from_env().validation_layer(true).validate_code(true);
    Rig::with(options.cache(CacheOptions::default().no_disk()))
}

/// What [`Exhibit::numbers`] holds.
pub(crate) fn numbers(len: u32) -> impl Iterator<Item = u32> {
    (0..len).map(|k| (k * 37 + 11) % 251)
}

/// What [`Exhibit::floats`] holds.
pub(crate) fn floats(len: u32) -> impl Iterator<Item = f32> {
    numbers(len).map(|number| (number as f32 - 125.0) / 64.0)
}

/// Declares exhibits: each is a test, and all of them are in `ALL` with their verdicts.
macro_rules! exhibits {
    ($($(#[$meta:meta])* fn $name:ident() -> $verdict:expr; $body:block)*) => {
        $($(#[$meta])* #[test] fn $name() {
            let Some(rig) = $crate::frame::rig() else { return };
            $body.judge(&rig, $verdict);
        })*

        /// The exhibits of this file, with their verdicts.
        pub(crate) const ALL: &[(&str, $crate::frame::Verdict)] = &[$((stringify!($name), $verdict)),*];
    };
}
