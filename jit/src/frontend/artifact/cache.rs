//! Where normal forms of kernels may be kept from one process to the next.
//!
//! Making a [`Specialized`](super::Specialized) kernel runs spirv-val, which is most of what loading a kernel costs. All of that follows from the module's words, the entry point, the constants, and
//! the versions of this code and of the validator: an [`Origin`]. An [`ArtifactStore`] keeps the result under it.
//!
//! # Guarantees
//! - only what was made without an error is kept: a module that is refused is refused by the tools each time
//! - bytes that are not what [`ArtifactStore::keep`] was given are found out where that shows, and made anew

use std::fmt;

use rspirv::binary::Assemble;

use super::KernelArtifact;
use crate::frontend::tools;

/// The tools with their version, and the rules that they apply; `None` where installed tools do not say which they are: then
/// nothing is kept. Installed tools are asked once in a process.
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

/// Keeps the artifacts of kernels, as bytes, under their origins.
pub trait ArtifactStore: fmt::Debug + Send + Sync {
    /// What was kept under this origin.
    fn find(&self, origin: &Origin<'_>) -> Option<Vec<u8>>;

    /// Keeps these bytes, in the place of what is there.
    fn keep(&self, origin: &Origin<'_>, artifact: &[u8]);
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

/// Whether bytes that came from elsewhere are an artifact, all of whose modules spirv-val accepts. What is found in a store is not
/// looked at in this way.
pub fn artifact_is_valid(bytes: &[u8]) -> bool {
    KernelArtifact::decode(bytes).is_some_and(|KernelArtifact { repaired, interface: _, plain, normal }| {
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
