//! Artifacts from a store, and into it.
//!
//! # Guarantees
//! - only what was made without an error is kept: a module that is refused is refused by the validator each time
//! - bytes that are not what [`ArtifactStore::keep`] was given are found out where that shows, and made anew

use rspirv::binary::Assemble;

use super::KernelArtifact;
use super::store::{ArtifactStore, Origin, artifact_tools};
use crate::frontend::tools;

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
