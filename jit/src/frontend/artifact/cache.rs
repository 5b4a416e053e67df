//! Where what the tools make of kernels may be kept from one process to the next.
//!
//! Making a [`Specialized`](super::Specialized) kernel runs spirv-val once and spirv-opt two or three times, which is
//! most of what loading a kernel costs. All of that follows from the module's words, the entry point, the constants, and
//! the versions of this code and of the tools: an [`Origin`]. A [`FormStore`] keeps the result under it.
//!
//! # Guarantees
//! - only what was made without an error is kept: a module that is refused is refused by the tools each time
//! - bytes that are not what [`FormStore::keep`] was given are found out where that shows, and made anew

use std::fmt;

use super::Form;
use crate::frontend::tools;

/// The tools with their version, and the rules that they apply; `None` where installed tools do not say which they are: then
/// nothing is kept. Installed tools are asked once in a process.
pub fn form_tools() -> Option<&'static str> {
    tools::identity()
}

/// Raised whenever a form is made or written otherwise for the same words.
pub const FORM_VERSION: u32 = 4;

/// Everything that a form follows from. A store has to find a form under the very same origin and no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// BLAKE3 of all words of the module, as they were given: [`Module::hash`](super::Module::hash).
    pub module: [u8; 32],
    /// Number of these words.
    pub words: u64,
    /// Name of the entry point.
    pub entry: &'a str,
    /// Id and bits of every specialization constant, given or not, by ascending id.
    pub spec: &'a [(u32, u64)],
    /// [`FORM_VERSION`].
    pub version: u32,
    /// [`form_tools`].
    pub tools: &'static str,
}

/// Keeps the forms of kernels, as bytes, under their origins.
pub trait FormStore: fmt::Debug + Send + Sync {
    /// What was kept under this origin.
    fn find(&self, origin: &Origin<'_>) -> Option<Vec<u8>>;

    /// Keeps these bytes, in the place of what is there.
    fn keep(&self, origin: &Origin<'_>, form: &[u8]);
}

/// The form of an origin, if it is kept and sound.
pub(crate) fn find(store: Option<&dyn FormStore>, origin: &Origin<'_>) -> Option<Form> {
    let (store, _) = store.zip(form_tools())?;
    let bytes = store.find(origin)?;
    let form = Form::decode(&bytes);
    if form.is_none() {
        tracing::warn!(entry = origin.entry, bytes = bytes.len(), "a kept form of a kernel cannot be read");
    }
    form
}

/// Keeps the form of an origin. One that could not be read again is not kept: normalisation can write a module that is
/// larger than the gate lets in.
pub(crate) fn keep(store: Option<&dyn FormStore>, origin: &Origin<'_>, form: &Form) {
    if let Some((store, _)) = store.zip(form_tools()) {
        let bytes = form.encode();
        if Form::decode(&bytes).is_some() {
            store.keep(origin, &bytes);
        }
    }
}
