//! Normal forms of kernels, and what spirv-val accepted, in the persistent store: a later process does not run it.
//!
//! # Guarantees
//! - an artifact is found under everything it follows from, compared in full, or not at all
//! - only artifacts are kept; a module that is refused is refused by the tools each time
//! - where what is stored is to be verified, every artifact is made anew and compared

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use vkfuse_cache::{Entry, Key, Store};

use super::key;
use crate::{
    jit::{Accepted, ArtifactStore, Origin, artifact_tools},
    report::stats::{Stats, count},
};

/// The section of an entry that holds an artifact.
pub(crate) const SECTION: &str = "form";

/// The section of an entry that says that a validator accepted words, which its key names. It holds nothing.
pub(crate) const ACCEPTED: &str = "accepted";

/// The store, as the JIT sees it.
pub(crate) struct KernelArtifacts {
    store: Store,
    /// Whether what the store has is made all the same, and compared.
    verify: bool,
    /// Whether nothing is written.
    look_only: bool,
    found: AtomicU64,
    missed: AtomicU64,
    verified: AtomicU64,
    different: AtomicU64,
}

impl fmt::Debug for KernelArtifacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelArtifacts").field("store", &self.store.path()).finish_non_exhaustive()
    }
}

impl KernelArtifacts {
    /// `None` where no artifact can be kept.
    pub(crate) fn new(store: &Store, verify: bool, look_only: bool) -> Option<Arc<KernelArtifacts>> {
        let artifacts = || KernelArtifacts {
            store: store.clone(),
            verify,
            look_only,
            found: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            verified: AtomicU64::new(0),
            different: AtomicU64::new(0),
        };
        (store.is_enabled() && artifact_tools().is_some()).then(|| Arc::new(artifacts()))
    }

    /// Fills in its counters.
    pub(crate) fn count_into(&self, stats: &mut Stats) {
        stats.kernel_hits = self.found.load(Relaxed);
        stats.kernel_misses = self.missed.load(Relaxed);
        stats.disk_verified += self.verified.load(Relaxed);
        stats.disk_different += self.different.load(Relaxed);
    }

    fn compare(&self, origin: &Origin<'_>, artifact: &[u8]) {
        let Ok(stored) = self.store.peek(&key::of_kernel(origin)) else { return };
        if stored.section(SECTION) == Some(artifact) {
            count(&self.verified, 1);
        } else {
            // The key forgets something, or normalisation is not a function.
            count(&self.different, 1);
            let module = crate::code::programs::hex(&origin.module);
            tracing::error!(
                module,
                entry = origin.entry,
                "the persistent cache has another normal form than was made just now"
            );
        }
    }

    /// The entry of a key, unless everything is made anew.
    fn entry(&self, key: impl FnOnce() -> Key) -> Option<Entry> {
        match (self.verify, self.look_only) {
            (true, _) => None,
            (_, true) => self.store.peek(&key()).ok(),
            _ => self.store.get(&key()).ok(),
        }
    }
}

impl ArtifactStore for KernelArtifacts {
    fn find(&self, origin: &Origin<'_>) -> Option<Vec<u8>> {
        let found = self.entry(|| key::of_kernel(origin));
        let artifact = found.and_then(|entry| Some(entry.section(SECTION)?.to_vec()));
        if artifact.is_some() {
            count(&self.found, 1);
        }
        artifact
    }

    fn keep(&self, origin: &Origin<'_>, artifact: &[u8]) {
        count(&self.missed, 1);
        if self.verify {
            self.compare(origin, artifact);
        }
        if !self.look_only {
            let _ = self.store.put_later(&key::of_kernel(origin), Entry::new().with(SECTION, artifact));
        }
    }

    fn is_accepted(&self, accepted: &Accepted) -> bool {
        self.entry(|| key::of_accepted(accepted)).is_some_and(|entry| entry.section(ACCEPTED).is_some())
    }

    fn accept(&self, accepted: &Accepted) {
        if !self.look_only {
            let _ = self.store.put_later(&key::of_accepted(accepted), Entry::new().with(ACCEPTED, []));
        }
    }
}
