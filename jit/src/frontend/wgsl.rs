//! WGSL as a source of kernels.
//!
//! `translate` is the way through naga; `overrides` keeps a text whose words depend on values that are given later.

mod overrides;
mod translate;

use super::error::KernelError;
use super::guard::text_of_another_language;
pub(crate) use overrides::Overrides;
use translate::{parse, write};

/// What a text becomes.
pub(crate) struct Compiled {
    /// The words of every entry point, with overrides at their defaults.
    pub(crate) words: Vec<u32>,
    /// The overrides, if the text has any: then the words of a kernel are made when its overrides are known.
    pub(crate) overrides: Option<Overrides>,
}

/// Compiles every entry point of a WGSL module. The words are checked like any other input afterwards.
pub(crate) fn compile(module: &str, text: &str) -> Result<Compiled, KernelError> {
    let parsed = parse(module, text).map_err(|error| match text_of_another_language(text) {
        Some(looks_like) => KernelError::NotWgsl { module: module.to_owned(), looks_like },
        None => error,
    })?;
    if parsed.module.overrides.is_empty() {
        let words = write(module, &parsed.module, &parsed.info)?;
        return Ok(Compiled { words, overrides: None });
    }
    let overrides = Overrides::of(module, text, parsed)?;
    let words = overrides.defaults().to_vec();
    Ok(Compiled { words, overrides: Some(overrides) })
}
