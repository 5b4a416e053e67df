//! Defects of the emitter.

/// A defect of this crate: what a pass made does not stand. Never caused by a kernel alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
