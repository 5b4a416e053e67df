//! Defects of the emitter.

use std::fmt;

use rspirv::binary::Disassemble as _;

/// A defect of this crate: what a pass made does not stand. Never caused by a kernel alone.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("internal error in pass {pass}: {detail}")]
pub struct JitError {
    /// The pass.
    pub pass: &'static str,
    /// What is wrong.
    pub detail: String,
    /// The module as far as it got, for a bug report.
    pub words: Vec<u32>,
}

impl JitError {
    pub(crate) fn new(pass: &'static str, detail: impl Into<String>) -> Self {
        Self { pass, detail: detail.into(), words: Vec::new() }
    }
}

/// The error, and the module as text.
impl fmt::Debug for JitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        match rspirv::dr::load_words(&self.words) {
            Ok(module) => write!(f, "\n{}", module.disassemble()),
            Err(_) => Ok(()),
        }
    }
}
