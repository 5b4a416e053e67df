//! Calls into the engine, without the interpreter's lock.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

use crate::errors::{self, InternalError};

/// Runs something that may wait while other threads of Python go on.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    body: impl FnOnce() -> Result<T, vkfuse::Error> + Send,
) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(body))) {
        Ok(result) => result.map_err(|error| errors::of(&error)),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            Err(InternalError::new_err(format!("internal error: {}", text.unwrap_or_default())))
        }
    }
}
