//! What a context keeps, what it does not, and why.

use std::path::Path;

use vkfuse_cache::{Disabled, Skip, Store};

use crate::{code::programs::Programs, jit::artifact_tools, options::environment::warn_once};

/// Something that the caches may keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Artifact {
    /// A pipeline, ready to be dispatched, in memory.
    Pipeline,
    /// What a kernel becomes when it is loaded, in the persistent store.
    Kernel,
    /// SPIR-V, in the persistent store.
    Code,
    /// What the driver made of it, in the persistent store.
    DriverBlob,
}

/// Why something is not kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotCacheable {
    /// The memory cache is switched off.
    #[error("the memory cache is switched off")]
    NoMemory,
    /// There is no persistent store.
    #[error("there is no persistent store: {0}")]
    NoStore(Disabled),
    /// The installed spirv-val does not say which it is, and may be another the next time.
    #[error("kernels are validated by a spirv-val that does not answer to `--version`")]
    InstalledTools,
    /// The driver takes code from files, whose contents no key can name.
    #[error("{variable} makes the driver take code from files, which no key can name")]
    Replaced {
        /// The variable.
        variable: String,
    },
    /// The device is lost; what its driver says is not kept.
    #[error("the device is lost")]
    DeviceLost,
}

impl Programs {
    /// Whether a sort of thing is kept; otherwise why not.
    pub(crate) fn is_cacheable(&self, artifact: Artifact) -> Result<(), NotCacheable> {
        let programs = self;
        if artifact == Artifact::Pipeline {
            return if programs.keeps() { Ok(()) } else { Err(NotCacheable::NoMemory) };
        }
        if let Some(reason) = programs.store.disabled_reason() {
            return Err(NotCacheable::NoStore(reason.clone()));
        }
        if artifact == Artifact::Kernel && artifact_tools().is_none() {
            return Err(NotCacheable::InstalledTools);
        }
        if artifact == Artifact::DriverBlob {
            return match &programs.identity.replaces {
                Some(variable) => Err(NotCacheable::Replaced { variable: variable.clone() }),
                None if self.gpu.is_lost() => Err(NotCacheable::DeviceLost),
                None => Ok(()),
            };
        }
        Ok(())
    }
}

/// Says that there is no persistent store, unless that was asked for, and which lower ones are not asked.
pub(crate) fn warn_of_stores(store: &Store) {
    match store.disabled_reason() {
        None => {}
        Some(reason @ Disabled::Asked) => tracing::debug!(%reason, "no persistent cache"),
        Some(reason) => warn_once(&format!(
            "no persistent cache: {reason}; VKFUSE_CACHE_DIR names another folder, VKFUSE_CACHE_PERSISTENT=0 does without"
        )),
    }
    if let Some(reason) = store.remote_problem() {
        warn_once(&format!("the remote cache is not asked: {reason}; see VKFUSE_CACHE_REMOTE"));
    }
    for (folder, reason) in store.lower() {
        if let Some(reason) = reason {
            if !folder.exists() {
                let folder = folder.display();
                warn_once(&format!(
                    "the lower cache {folder} is not asked: there is no such folder; see VKFUSE_CACHE_LOWER"
                ));
                continue;
            }
            let folder = folder.display();
            warn_once(&format!("the lower cache {folder} is not asked: {reason}; see VKFUSE_CACHE_LOWER"));
        }
    }
}

/// Says that nothing can be written to the store, where the folder or the disk is why. What passes, such as a lock that is
/// held, is counted only.
pub(crate) fn note(folder: Option<&Path>, skip: Skip) {
    if let (Skip::Io(fault), Some(folder)) = (skip, folder) {
        let folder = folder.display();
        warn_once(&format!(
            "the persistent cache in {folder} cannot be written: {fault}; free space or make the folder writable, or name \
             another with VKFUSE_CACHE_DIR"
        ));
    }
}
