//! The validator spirv-val, behind functions that take words.
//!
//! - With the feature `compiled-spirv-tools` it is compiled in.
//! - Otherwise, with `installed-spirv-tools`, it is the program on `PATH`. Where there is none, one warning of the process
//!   says so.
//! - Otherwise there is none.
//!
//! # Guarantees
//! - what it refuses is refused; without one, nothing is refused here, and the checks of this crate stand alone: `guard` and
//!   `load` for what is given, `ir::verify` for what is made

#[cfg(feature = "compiled-spirv-tools")]
#[path = "tools/compiled.rs"]
mod spirv_val;
#[cfg(all(feature = "installed-spirv-tools", not(feature = "compiled-spirv-tools")))]
#[path = "tools/installed.rs"]
mod spirv_val;

/// No validator.
#[cfg(not(any(feature = "compiled-spirv-tools", feature = "installed-spirv-tools")))]
mod spirv_val {
    pub(super) fn is_there() -> bool {
        false
    }

    pub(super) fn name() -> Option<String> {
        None
    }

    pub(super) fn check(_: super::Rules, _: &[u32]) -> Result<(), super::Complaint> {
        Ok(())
    }
}

use std::borrow::Cow;
use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use super::error::KernelError;

/// The rules that a module is checked against. Layout rules are the most permissive ones: which of them a device has is checked where it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rules {
    /// Those of Vulkan 1.3. Every module up to SPIR-V 1.6 is accepted under them; whether the *device* takes it is the runtime's question.
    Vulkan,
    /// SPIR-V's without Vulkan's.
    Universal,
}

/// The rules in words, for what is kept of the validator's work.
const RULES: &str = "Vulkan 1.3, scalar block layout";

/// Whether modules are validated. If not, the process has been warned.
pub fn is_validated() -> bool {
    spirv_val::is_there()
}

/// The validator, its version and the rules that it applies here, for what is kept of its work; `None` where it does not say
/// which it is.
pub(super) fn identity() -> Option<&'static str> {
    static IDENTITY: OnceLock<Option<String>> = OnceLock::new();
    let name = || match is_validated() {
        true => spirv_val::name(),
        false => Some("no spirv-val".to_owned()),
    };
    IDENTITY.get_or_init(|| Some(format!("{}, {RULES}", name()?))).as_deref()
}

/// Which validator it is, in words: `spirv-val SPIRV-Tools v2023.1 unknown hash`, say, or `no spirv-val`.
pub fn validator() -> &'static str {
    let known = identity().unwrap_or("a spirv-val that does not say its version");
    known.split([',', ';']).next().unwrap_or(known)
}

/// How many times the validator was run.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// How many times this process has run spirv-val through this crate.
pub fn tool_runs() -> u64 {
    RUNS.load(Relaxed)
}

/// Vulkan's rule against layout decorations on types that are used outside of buffers. naga shares one
/// type between a buffer and a work-group variable and breaks it; every driver ignores the
/// decorations there, so modules that break nothing else are accepted.
const LAYOUT_OUTSIDE_BUFFERS: &str = "VUID-StandaloneSpirv-None-10684";

/// What the validator objects to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// Index that it gives, zero if it gives none.
    pub(crate) index: usize,
    /// Its words.
    pub(crate) detail: String,
    /// Whether it could not be run, or said nothing, which only happens to installed ones.
    pub(crate) not_run: bool,
}

impl Complaint {
    pub(super) fn new(index: usize, detail: String) -> Complaint {
        Complaint { index, detail, not_run: false }
    }

    /// Whether the rule is the one that [`validate`] makes an exception of.
    pub(super) fn is_layout_outside_buffers(&self) -> bool {
        self.detail.contains(LAYOUT_OUTSIDE_BUFFERS)
    }

    /// Whether the module may be valid with other values for its constants than their defaults: one of them is the length of an array, and zero.
    pub(super) fn is_of_defaults(&self) -> bool {
        self.detail.contains("default value must be at least 1")
    }

    /// The error for a module with this name.
    pub(super) fn into_error(self, module: &str) -> KernelError {
        let (module, mut detail) = (module.to_owned(), self.detail);
        if self.not_run {
            return KernelError::Tool { module, detail };
        }
        // A capability or an opcode that it does not know may be newer than it.
        if detail.starts_with("Invalid ") {
            detail = format!("{detail} (by {})", validator());
        }
        KernelError::Invalid { module, instruction: self.index, detail }
    }
}

/// Has a module validated, with one exception: see [`LAYOUT_OUTSIDE_BUFFERS`].
pub(crate) fn validate(words: &[u32]) -> Result<(), Complaint> {
    match validate_strictly(words) {
        Err(complaint) if complaint.is_layout_outside_buffers() => counted(Rules::Universal, words),
        result => result,
    }
}

/// Has it validated without that exception.
pub(super) fn validate_strictly(words: &[u32]) -> Result<(), Complaint> {
    counted(Rules::Vulkan, words)
}

/// As [`validate`], but not counted: for what only debug builds check.
pub(super) fn verify(words: &[u32]) -> Result<(), Complaint> {
    match spirv_val::check(Rules::Vulkan, words) {
        Err(complaint) if complaint.is_layout_outside_buffers() => spirv_val::check(Rules::Universal, words),
        result => result,
    }
}

fn counted(rules: Rules, words: &[u32]) -> Result<(), Complaint> {
    if !is_validated() {
        return Ok(());
    }
    RUNS.fetch_add(1, Relaxed);
    spirv_val::check(rules, &with_known_languages(words))
}

/// The last source language that SPIR-V 1.6 began with.
const LAST_LANGUAGE: u32 = 6;

/// A module whose source languages every validator knows. Those that were added since, as Slang was, say nothing about the code, but a validator
/// refuses the number of one that is newer than itself.
fn with_known_languages(words: &[u32]) -> Cow<'_, [u32]> {
    const SOURCE: u32 = 3;
    const FUNCTION: u32 = 54;
    let mut known = Cow::Borrowed(words);
    let mut at = 5;
    while let Some(&first) = words.get(at) {
        let (opcode, count) = (first & 0xffff, (first >> 16) as usize);
        if opcode == FUNCTION || count == 0 {
            break;
        }
        let is_newer = |language: &u32| *language > LAST_LANGUAGE;
        if opcode == SOURCE && count > 1 && words.get(at + 1).is_some_and(is_newer) {
            known.to_mut()[at + 1] = 0;
        }
        at += count;
    }
    known
}
