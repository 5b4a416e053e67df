//! What the tools make of kernels, in the persistent store: a later process runs neither spirv-val nor spirv-opt.
//!
//! # Guarantees
//! - a form is found under everything it follows from, compared in full, or not at all
//! - only forms are kept; a module that is refused is refused by the tools each time
//! - where what is stored is to be verified, every form is made anew and compared

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use vkfuse_cache::{Entry, Store};

use super::{keep::note, key};
use crate::{
    jit::{FormStore, Origin, form_tools},
    report::stats::{Stats, count},
};

/// The section of an entry that holds a form.
pub(crate) const FORM: &str = "form";

/// The store, as the JIT sees it.
pub(crate) struct Forms {
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

impl fmt::Debug for Forms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forms").field("store", &self.store.path()).finish_non_exhaustive()
    }
}

impl Forms {
    /// `None` where no form can be kept.
    pub(crate) fn new(store: &Store, verify: bool, look_only: bool) -> Option<Arc<Forms>> {
        let forms = || Forms {
            store: store.clone(),
            verify,
            look_only,
            found: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            verified: AtomicU64::new(0),
            different: AtomicU64::new(0),
        };
        (store.is_enabled() && form_tools().is_some()).then(|| Arc::new(forms()))
    }

    /// Fills in its counters.
    pub(crate) fn count_into(&self, stats: &mut Stats) {
        stats.form_hits = self.found.load(Relaxed);
        stats.form_misses = self.missed.load(Relaxed);
        stats.disk_verified += self.verified.load(Relaxed);
        stats.disk_different += self.different.load(Relaxed);
    }

    fn compare(&self, origin: &Origin<'_>, form: &[u8]) {
        let Ok(stored) = self.store.peek(&key::of_form(origin)) else { return };
        if stored.section(FORM) == Some(form) {
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
}

impl FormStore for Forms {
    fn find(&self, origin: &Origin<'_>) -> Option<Vec<u8>> {
        let key = || key::of_form(origin);
        let found = match (self.verify, self.look_only) {
            (true, _) => None,
            (_, true) => self.store.peek(&key()).ok(),
            _ => self.store.get(&key()).ok(),
        };
        let form = found.and_then(|entry| Some(entry.section(FORM)?.to_vec()));
        if form.is_some() {
            count(&self.found, 1);
        }
        form
    }

    fn keep(&self, origin: &Origin<'_>, form: &[u8]) {
        count(&self.missed, 1);
        if self.verify {
            self.compare(origin, form);
        }
        if !self.look_only {
            note(&self.store, self.store.put(&key::of_form(origin), &Entry::new().with(FORM, form)));
        }
    }
}
