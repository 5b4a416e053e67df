//! The store of artifacts, and its keys.
//!
//! Making a kernel with its constants runs spirv-val, which is most of what loading a kernel costs. All of that follows from the module's words, the entry point, the constants, and
//! the versions of this code and of the validator: an [`Origin`]. An [`ArtifactStore`] keeps the result under it. Of a module that is no artifact's, such as a
//! kernel that was rewritten, it keeps that the validator accepted it: an [`Accepted`].

use std::fmt;

use crate::frontend::tools::{self, Complaint};
use crate::frontend::words;

/// The validator with its version, and the rules that it applies, also if there is none; `None` where an installed one does not say which it is: then
/// nothing is kept. It is asked once in a process.
pub fn artifact_tools() -> Option<&'static str> {
    tools::identity()
}

/// Raised whenever an artifact is made or written otherwise for the same words.
pub const ARTIFACT_VERSION: u32 = 16;

/// Everything that an artifact follows from. A store has to find an artifact under the very same origin and no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// BLAKE3 of all words of the module, as they were given: [`Module::hash`](super::super::module::Module::hash).
    pub module: [u8; 32],
    /// Number of these words.
    pub words: u64,
    /// Name of the entry point.
    pub entry: &'a str,
    /// Id and bits of the specialization constants that are not what they are by default, by ascending id.
    pub spec: &'a [(u32, u64)],
    /// [`ARTIFACT_VERSION`].
    pub version: u32,
    /// [`artifact_tools`].
    pub tools: &'static str,
}

/// That a validator accepted a module: its words, and which validator it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// BLAKE3 of the words.
    pub module: [u8; 32],
    /// Number of these words.
    pub words: u64,
    /// [`artifact_tools`].
    pub tools: &'static str,
}

/// Keeps the artifacts of kernels, as bytes, under their origins, and what the validator accepted.
pub trait ArtifactStore: fmt::Debug + Send + Sync {
    /// What was kept under this origin.
    fn find(&self, origin: &Origin<'_>) -> Option<Vec<u8>>;

    /// Keeps these bytes, in the place of what is there.
    fn keep(&self, origin: &Origin<'_>, artifact: &[u8]);

    /// Whether this was kept.
    fn is_accepted(&self, accepted: &Accepted) -> bool;

    /// Keeps that.
    fn accept(&self, accepted: &Accepted);
}

/// Has words validated, without any exception, unless the store knows that they were accepted.
pub(crate) fn validate_strictly(store: Option<&dyn ArtifactStore>, words: &[u32]) -> Result<(), Complaint> {
    let Some((store, tools)) = store.zip(artifact_tools()).filter(|_| tools::is_validated()) else {
        return tools::validate_strictly(words);
    };
    let mut hasher = blake3::Hasher::new_derive_key("vkfuse validated words, version 1");
    words::hash(&mut hasher, words);
    let module = *hasher.finalize().as_bytes();
    let accepted = Accepted { module, words: words.len() as u64, tools };
    if store.is_accepted(&accepted) {
        return Ok(());
    }
    tools::validate_strictly(words)?;
    store.accept(&accepted);
    Ok(())
}
