//! Where normal forms of kernels, and what the validator accepted, may be kept from one process to the next.
//!
//! Making a [`Specialized`](super::Specialized) kernel runs spirv-val, which is most of what loading a kernel costs. All of that follows from the module's words, the entry point, the constants, and
//! the versions of this code and of the validator: an [`Origin`]. An [`ArtifactStore`] keeps the result under it. Of a module that is no artifact's, such as a
//! kernel that was rewritten, it keeps that the validator accepted it: an [`Accepted`].
//!
//! # Guarantees
//! - only what was made without an error is kept: a module that is refused is refused by the validator each time
//! - bytes that are not what [`ArtifactStore::keep`] was given are found out where that shows, and made anew

use std::fmt;

use rspirv::binary::Assemble;

use super::KernelArtifact;
use crate::frontend::tools::{self, Complaint};
use crate::frontend::words;

/// The validator with its version, and the rules that it applies, also if there is none; `None` where an installed one does not say which it is: then
/// nothing is kept. It is asked once in a process.
pub fn artifact_tools() -> Option<&'static str> {
    tools::identity()
}

/// Raised whenever an artifact is made or written otherwise for the same words.
pub const ARTIFACT_VERSION: u32 = 13;

/// Everything that an artifact follows from. A store has to find an artifact under the very same origin and no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// BLAKE3 of all words of the module, as they were given: [`Module::hash`](super::Module::hash).
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

/// The artifact of an origin, if it is kept and sound.
pub(crate) fn find(store: Option<&dyn ArtifactStore>, origin: &Origin<'_>) -> Option<KernelArtifact> {
    let (store, _) = store.zip(artifact_tools())?;
    let bytes = store.find(origin)?;
    let artifact = KernelArtifact::decode(&bytes);
    if artifact.is_none() {
        tracing::warn!(
            entry = origin.entry,
            bytes = bytes.len(),
            "a kept artifact of a kernel cannot be read"
        );
    }
    artifact
}

/// Whether bytes that came from elsewhere are an artifact, all of whose modules spirv-val accepts: none are where there is no validator.
/// What is found in a store is not looked at in this way.
pub fn artifact_is_valid(bytes: &[u8]) -> bool {
    let artifact = KernelArtifact::decode(bytes).filter(|_| tools::is_validated());
    artifact.is_some_and(|KernelArtifact { repaired, interface: _, plain, normal }| {
        let normal = normal.ok().map(|module| module.assemble());
        let modules = [Some(&plain.contract), Some(&plain.strict), normal.as_ref(), repaired.as_ref()];
        modules.into_iter().flatten().all(|words| tools::validate(words).is_ok())
    })
}

/// Keeps the artifact of an origin. One that could not be read again is not kept: normalisation can write a module that is
/// larger than the gate lets in.
pub(crate) fn keep(store: Option<&dyn ArtifactStore>, origin: &Origin<'_>, artifact: &KernelArtifact) {
    if let Some((store, _)) = store.zip(artifact_tools()) {
        let bytes = artifact.encode();
        if KernelArtifact::decode(&bytes).is_some() {
            store.keep(origin, &bytes);
        }
    }
}
