//! Placeholder.
use std::sync::Arc;
use crate::kernel::Specialized;
/// A defect of this crate: a pass made a module that does not stand.
#[derive(Clone, Debug, thiserror::Error)]
#[error("pass {pass}: {detail}")]
pub struct JitError { /// Name of the pass.
 pub pass: &'static str, /// What is wrong.
 pub detail: String }
pub(crate) fn emit(_r: &crate::plan::recipe::Recipe, _k: &[Arc<Specialized>]) -> Result<Vec<u32>, JitError> { Ok(Vec::new()) }
