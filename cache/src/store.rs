//! The persistent store: verified entries in a folder that many processes share.
//!
//! Reading takes no lock and trusts nothing. Writing makes complete files first and moves them into
//! place under a short kernel lock. Whatever is damaged, missing, foreign or in the way is a [`Miss`]
//! with its reason and is replaced by the next [`Store::put`]; nothing here is an error to the caller.
//! `docs/cache-format.md` describes the files.

mod blob;
mod evict;
mod inner;
mod ledger;
mod lookup;
mod names;
mod own;
mod publish;
pub(crate) mod reason;
mod scan;
mod stats;
mod sweep;
mod temp;
#[cfg(test)]
mod tests;
mod tools;

use std::io;
use std::path::Path;
use std::sync::Arc;

pub use blob::BlobLoad;
pub use evict::Pruned;
pub use stats::StoreStats;
pub use sweep::Swept;
pub use tools::{BlobInfo, EntryInfo, Progress, Usage};

use crate::config::StoreConfig;
use crate::disk::{self, Disk};
use crate::entry::Entry;
use crate::event::Event;
use crate::key::{Key, Part, PartKind};
use inner::Inner;
use reason::{Disabled, Miss, Outcome, Skip};

/// A folder of entries, or the reason why there is none. Cheap to clone.
///
/// ```
/// use vkfuse_cache::{Entry, Key, Part, Store, StoreConfig};
///
/// # let folder = tempfile::tempdir().unwrap();
/// let store = Store::open(StoreConfig::at(folder.path().join("cache")));
/// let part = |name: &str| Part::new().str("name", name);
/// let key = Key::new(part("device"), part("image"), part("spec"), part("options"));
/// assert!(store.get(&key).is_err());
/// let outcome = store.put(&key, &Entry::new().with("spirv", [3, 2, 35, 7]));
/// assert!(outcome.is_published());
/// assert_eq!(store.get(&key).unwrap().section("spirv"), Some(&[3, 2, 35, 7][..]));
/// ```
#[derive(Clone)]
pub struct Store {
    state: Result<Arc<Opened>, Disabled>,
}

/// How often a write is begun, where what it had made so far was taken away: by somebody who emptied
/// the folder, or a program that clears caches.
const ATTEMPTS: usize = 3;

/// Sweeps once more when the last clone of a store goes.
struct Opened(Inner);

impl Drop for Opened {
    fn drop(&mut self) {
        sweep::sweep(&self.0, &self.0.root());
    }
}

impl Store {
    /// Opens a store. If that is not possible the store is off and says why.
    pub fn open(config: StoreConfig) -> Store {
        match disk::system() {
            Some(disk) => Store::open_on(config, disk),
            None => Store::off(&config, Disabled::Unsupported),
        }
    }

    /// A store that is off.
    pub fn disabled(reason: Disabled) -> Store {
        Store { state: Err(reason) }
    }

    pub(crate) fn open_on(config: StoreConfig, disk: Arc<dyn Disk>) -> Store {
        let inner = match Inner::open(config.clone(), disk) {
            Ok(inner) => inner,
            Err(reason) => return Store::off(&config, reason),
        };
        let root = inner.root();
        // A folder that can only be read still serves hits, so none of this has to succeed.
        let _ = inner.prepare(&root);
        sweep::sweep(&inner, &root);
        sweep::trim(&inner, &root);
        Store { state: Ok(Arc::new(Opened(inner))) }
    }

    fn off(config: &StoreConfig, reason: Disabled) -> Store {
        if let Some(subscriber) = &config.subscriber {
            let reason = reason.clone();
            subscriber(&Event::DidDisable { reason });
        }
        Store::disabled(reason)
    }

    pub(crate) fn inner(&self) -> Option<&Inner> {
        self.state.as_ref().ok().map(|opened| &opened.0)
    }

    /// Whether entries can be found and stored.
    pub fn is_enabled(&self) -> bool {
        self.state.is_ok()
    }

    /// Why the store is off.
    pub fn disabled_reason(&self) -> Option<&Disabled> {
        self.state.as_ref().err()
    }

    /// The root folder.
    pub fn path(&self) -> Option<&Path> {
        self.inner().map(|inner| inner.path.as_path())
    }

    /// The entry of a key.
    ///
    /// # Errors
    /// The reason why there is no complete, sound entry of exactly this key. `.ok()` for callers who
    /// do not care.
    pub fn get(&self, key: &Key) -> Result<Entry, Miss> {
        let inner = self.inner().ok_or(Miss::Disabled)?;
        trace(inner, key);
        match lookup::get(inner, key) {
            Ok(read) => {
                stats::add(&inner.counters.hits, 1);
                stats::add(&inner.counters.read_bytes, read.bytes);
                inner.emit(|| Event::DidHitDisk { key: key.id(), bytes: read.bytes });
                Ok(read.value)
            }
            Err(miss) => {
                stats::add(&inner.counters.misses, 1);
                inner.counters.miss(&miss);
                inner.emit(|| Event::DidMissDisk { key: key.id(), miss });
                Err(miss)
            }
        }
    }

    /// Stores an entry, in the place of whatever is there.
    pub fn put(&self, key: &Key, entry: &Entry) -> Outcome {
        self.write(key, |inner| publish::put(inner, key, entry), false)
    }

    /// Stores what a driver made of an entry that is stored already. `driver` has to identify the
    /// driver and device in full, and the code that the blob was made from.
    pub fn put_blob(&self, key: &Key, driver: &Part, blob: &[u8]) -> Outcome {
        self.write(key, |inner| blob::put(inner, key, driver, blob), true)
    }

    /// The blob of a driver, to be handed to it: a marker lasts until the result is dropped, and if
    /// the process dies before, the blob is not given out again.
    ///
    /// # Errors
    /// The reason why there is no sound blob of this entry and driver.
    pub fn begin_load(&self, key: &Key, driver: &Part) -> Result<BlobLoad, Miss> {
        let inner = self.inner().ok_or(Miss::Disabled)?;
        match blob::begin(self, key, driver) {
            Ok(load) => {
                stats::add(&inner.counters.blob_hits, 1);
                inner.emit(|| Event::DidHitBlob { key: key.id(), bytes: load.bytes().len() as u64 });
                Ok(load)
            }
            Err(miss) => {
                stats::add(&inner.counters.blob_misses, 1);
                inner.counters.miss(&miss);
                inner.emit(|| Event::DidMissBlob { key: key.id(), miss });
                Err(miss)
            }
        }
    }

    /// The blob of a driver for looking at only.
    ///
    /// # Errors
    /// The reason why there is no sound blob of this entry and driver.
    pub fn get_blob(&self, key: &Key, driver: &Part) -> Result<Vec<u8>, Miss> {
        blob::peek(self.inner().ok_or(Miss::Disabled)?, key, driver)
    }

    /// The counters since the store was opened.
    pub fn stats(&self) -> StoreStats {
        self.inner().map(|inner| inner.counters.read()).unwrap_or_default()
    }

    fn write(&self, key: &Key, work: impl Fn(&Inner) -> Result<u64, Skip>, is_blob: bool) -> Outcome {
        let Some(inner) = self.inner() else {
            return Outcome::Skipped(Skip::Disabled);
        };
        let key = key.id();
        let mut done = work(inner);
        for _ in 1..ATTEMPTS {
            match done {
                // Makes the folders and files again. What was counted for them stays counted, until a
                // recount.
                Err(Skip::Io(fault)) if fault.kind == io::ErrorKind::NotFound => done = work(inner),
                _ => break,
            }
        }
        match done {
            Ok(bytes) if is_blob => {
                stats::add(&inner.counters.blobs_published, 1);
                inner.emit(|| Event::DidPublishBlob { key, bytes });
                Outcome::Published { bytes }
            }
            Ok(bytes) => {
                stats::add(&inner.counters.published, 1);
                inner.emit(|| Event::DidPublish { key, bytes });
                Outcome::Published { bytes }
            }
            Err(skip) => {
                inner.counters.skip(&skip);
                inner.emit(|| Event::DidSkip { key, skip });
                Outcome::Skipped(skip)
            }
        }
    }
}

fn trace(inner: &Inner, key: &Key) {
    if inner.config.trace {
        inner.emit(|| Event::Attributes {
            key: key.id(),
            fields: PartKind::ALL
                .into_iter()
                .flat_map(|kind| {
                    let fields = key.part(kind).fields();
                    fields.into_iter().map(move |field| (kind, field))
                })
                .collect(),
        });
    }
}
