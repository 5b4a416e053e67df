//! The persistent store: verified entries in a folder that many processes share.
//!
//! Reading takes no lock and trusts nothing. Writing makes complete files first and moves them into
//! place under a short kernel lock. Whatever is damaged, missing, foreign or in the way is a [`Miss`]
//! with its reason and is replaced by the next [`Store::put`]; nothing here is an error to the caller.
//! `docs/cache-format.md` describes the files.

mod blob;
mod evict;
mod inner;
pub(crate) mod lane;
mod later;
mod ledger;
mod lookup;
mod lower;
pub(crate) mod names;
mod own;
mod pack;
mod publish;
pub(crate) mod reason;
mod scan;
pub(crate) mod stats;
mod sweep;
mod temp;
#[cfg(test)]
mod tests;
mod tools;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use blob::BlobLoad;
pub use evict::Pruned;
pub use pack::{Exported, Imported, PackError};
pub use stats::StoreStats;
pub use sweep::Swept;
pub use tools::{BlobInfo, EntryInfo, Progress, Usage};

use crate::config::{RemoteConfig, StoreConfig};
use crate::disk::{self, Disk};
use crate::entry::Entry;
use crate::event::Event;
use crate::key::{Key, KeyId, Part, PartKind};
use crate::remote::Remote;
use inner::Inner;
use later::Later;
use lower::Lower;
use publish::Room;
use reason::{Disabled, Miss, Outcome, Skip};
use stats::Counters;

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
    lower: Arc<[Lower]>,
    remote: Option<Arc<Distant>>,
}

/// The remote store, or the reason why it is off.
struct Distant {
    state: Result<Remote, String>,
    counters: Arc<Counters>,
    patience: Duration,
}

impl Distant {
    fn open(config: &RemoteConfig, store: &StoreConfig) -> Distant {
        let counters = Arc::<Counters>::default();
        let state =
            Remote::open(config, store.max_file_bytes, Arc::clone(&counters), store.subscriber.clone());
        if let (Err(reason), Some(subscriber)) = (&state, &store.subscriber) {
            subscriber(&Event::DidDisableRemote { reason: reason.clone() });
        }
        Distant { state, counters, patience: config.close_patience }
    }
}

impl Drop for Distant {
    fn drop(&mut self) {
        if let Ok(remote) = &self.state {
            remote.drain(self.patience);
        }
    }
}

/// How often a write is begun if its temporary files are removed meanwhile, by a user who empties
/// the folder or a program that clears caches.
const ATTEMPTS: usize = 3;

/// Writes what is in the queue and sweeps once more when the last clone of a store goes.
struct Opened {
    later: Option<Later>,
    inner: Arc<Inner>,
}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Some(later) = &self.later {
            later.drain(self.inner.config.close_patience);
        }
        sweep::sweep(&self.inner, &self.inner.root());
    }
}

/// Where an entry was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layer {
    /// In the store itself, or on its way into it.
    Store,
    /// In a lower store, counted from 0.
    Lower(usize),
    /// In the remote store, made by a trusted signer.
    Remote,
    /// In the remote store, from a maker that is not trusted: it is built here and compared.
    Untrusted,
}

/// An entry, and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The entry.
    pub entry: Entry,
    /// Where it was.
    pub layer: Layer,
}

impl Store {
    /// Opens a store with the lower ones of its configuration. If that is not possible the store is off and says why;
    /// what the lower ones have is found all the same.
    pub fn open(config: StoreConfig) -> Store {
        match disk::system() {
            Some(disk) => Store::open_on(config, disk),
            None => Store::off(&config, Disabled::Unsupported),
        }
    }

    /// A store that is off.
    pub fn disabled(reason: Disabled) -> Store {
        Store { state: Err(reason), lower: Arc::new([]), remote: None }
    }

    pub(crate) fn open_on(config: StoreConfig, disk: Arc<dyn Disk>) -> Store {
        let lower: Arc<[Lower]> =
            config.lower.iter().map(|path| Lower::open(path, &config, Arc::clone(&disk))).collect();
        let remote = config.remote.as_ref().map(|remote| Arc::new(Distant::open(remote, &config)));
        let inner = match Inner::open(config.clone(), disk) {
            Ok(inner) => Arc::new(inner),
            Err(reason) => return Store { lower, remote, ..Store::off(&config, reason) },
        };
        let root = inner.root();
        // A folder that can only be read still serves hits, so none of this has to succeed.
        let _ = inner.prepare(&root);
        let later = inner.config.background.then(|| Later::new(&inner.config));
        match &later {
            Some(later) => later.tidy(&inner),
            None => {
                sweep::sweep(&inner, &root);
                sweep::trim(&inner, &root);
            }
        }
        Store { state: Ok(Arc::new(Opened { later, inner })), lower, remote }
    }

    fn off(config: &StoreConfig, reason: Disabled) -> Store {
        if let Some(subscriber) = &config.subscriber {
            let reason = reason.clone();
            subscriber(&Event::DidDisable { reason });
        }
        Store::disabled(reason)
    }

    pub(crate) fn inner(&self) -> Option<&Arc<Inner>> {
        self.state.as_ref().ok().map(|opened| &opened.inner)
    }

    fn later(&self) -> Option<&Later> {
        // A forked process has the queue without its thread.
        self.state.as_ref().ok().and_then(|opened| opened.later.as_ref()).filter(|later| later.is_here())
    }

    /// The lower stores that can be read.
    pub(crate) fn readable(&self) -> impl Iterator<Item = (usize, &Inner)> {
        self.lower.iter().enumerate().filter_map(|(number, lower)| Some((number, lower.inner()?)))
    }

    pub(crate) fn remote(&self) -> Option<&Remote> {
        self.remote.as_ref()?.state.as_ref().ok()
    }

    /// Why the remote store is off, where there should be one.
    pub fn remote_problem(&self) -> Option<&str> {
        self.remote.as_ref()?.state.as_ref().err().map(String::as_str)
    }

    /// Whether entries can be found.
    pub fn is_enabled(&self) -> bool {
        self.state.is_ok() || self.readable().next().is_some() || self.remote().is_some()
    }

    /// Why nothing can be stored.
    pub fn disabled_reason(&self) -> Option<&Disabled> {
        self.state.as_ref().err()
    }

    /// The lower stores, in the order in which they are asked, with the reason why one is not.
    pub fn lower(&self) -> impl Iterator<Item = (&Path, Option<&Disabled>)> {
        self.lower.iter().map(|lower| (lower.path(), lower.problem()))
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
        match self.find(key)? {
            Found { layer: Layer::Untrusted, .. } => Err(Miss::Untrusted),
            found => Ok(found.entry),
        }
    }

    /// The entry of a key, and where it was: in the store, else in the first lower store that has it, else in the remote
    /// one. What a trusted signer has put there is stored here as well.
    ///
    /// # Errors
    /// As [`Store::get`]; the reason is the store's, or the first lower one's where the store is off.
    pub fn find(&self, key: &Key) -> Result<Found, Miss> {
        let own = match self.inner() {
            Some(inner) => {
                trace(inner, key);
                self.find_here(inner, key)
            }
            None => Err(Miss::Disabled),
        };
        let mut miss = match own {
            Ok(entry) => return Ok(Found { entry, layer: Layer::Store }),
            Err(miss) => miss,
        };
        for (number, inner) in self.readable() {
            match lookup::get(inner, key) {
                Ok(read) => {
                    stats::add(&inner.counters.hits, 1);
                    stats::add(&inner.counters.read_bytes, read.bytes);
                    inner.emit(|| Event::DidHitLower { key: key.id(), layer: number, bytes: read.bytes });
                    return Ok(Found { entry: read.value, layer: Layer::Lower(number) });
                }
                Err(below) => {
                    stats::add(&inner.counters.misses, 1);
                    inner.counters.miss(&below);
                    if miss == Miss::Disabled {
                        miss = below;
                    }
                }
            }
        }
        let Some(Ok(fetched)) = self.remote().map(|remote| remote.entry(key)) else {
            return Err(miss);
        };
        if !fetched.is_trusted {
            return Ok(Found { entry: fetched.value, layer: Layer::Untrusted });
        }
        let _ = self.put_later_here(key, fetched.value.clone());
        Ok(Found { entry: fetched.value, layer: Layer::Remote })
    }

    /// What was found with [`Layer::Untrusted`] is not what is built here: the remote store is not asked again for a while.
    pub fn has_lied(&self) {
        if let Some(remote) = self.remote() {
            remote.has_lied();
        }
    }

    /// The entry of a key that is on its way into the store.
    fn waiting(&self, key: &Key) -> Option<Entry> {
        self.later()?.find(&key.id())
    }

    fn find_here(&self, inner: &Inner, key: &Key) -> Result<Entry, Miss> {
        if let Some(entry) = self.waiting(key) {
            stats::add(&inner.counters.hits, 1);
            inner.emit(|| Event::DidHitDisk { key: key.id(), bytes: 0 });
            return Ok(entry);
        }
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
        if let Some(remote) = self.remote() {
            remote.put(key, entry);
        }
        self.put_here(key, entry)
    }

    fn put_here(&self, key: &Key, entry: &Entry) -> Outcome {
        match self.inner() {
            Some(inner) => write(inner, key, |inner| publish::put(inner, key, entry, Room::Make), false),
            None => Outcome::Skipped(Skip::Disabled),
        }
    }

    /// Stores an entry without waiting for it, where the store was opened with
    /// [`StoreConfig::background`]; [`Store::put`] otherwise. What becomes of it is reported by events and counted. It is found
    /// from now on by this store, and by others once it is written.
    pub fn put_later(&self, key: &Key, entry: Entry) -> Outcome {
        if let Some(remote) = self.remote() {
            remote.put(key, &entry);
        }
        self.put_later_here(key, entry)
    }

    fn put_later_here(&self, key: &Key, entry: Entry) -> Outcome {
        let (Some(inner), Some(later)) = (self.inner(), self.later()) else {
            return self.put_here(key, &entry);
        };
        let bytes =
            entry.sections().map(|(_, data)| data.len() as u64).sum::<u64>() + key.source().len() as u64;
        let ticket = later.ticket(key.id(), &entry);
        let (store, of) = (Arc::clone(inner), key.clone());
        let job = move || {
            let _ = write(&store, &of, |inner| publish::put(inner, &of, &entry, Room::Make), false);
            drop(ticket);
        };
        queued(inner, key, later.write(inner, bytes, Box::new(job)))
    }

    /// Stores what a driver made of an entry that is stored already. `driver` has to identify the
    /// driver and device in full, and the code that the blob was made from.
    pub fn put_blob(&self, key: &Key, driver: &Part, blob: &[u8]) -> Outcome {
        if let Some(remote) = self.remote() {
            remote.put_blob(key, driver, blob);
        }
        self.put_blob_here(key, driver, blob)
    }

    fn put_blob_here(&self, key: &Key, driver: &Part, blob: &[u8]) -> Outcome {
        match self.inner() {
            Some(inner) => write(inner, key, |inner| blob::put(inner, key, driver, blob, Room::Make), true),
            None => Outcome::Skipped(Skip::Disabled),
        }
    }

    /// [`Store::put_blob`] without waiting for it, after all that was put before.
    pub fn put_blob_later(&self, key: &Key, driver: &Part, blob: Vec<u8>) -> Outcome {
        if let Some(remote) = self.remote() {
            remote.put_blob(key, driver, &blob);
        }
        let (Some(inner), Some(later)) = (self.inner(), self.later()) else {
            return self.put_blob_here(key, driver, &blob);
        };
        let (store, of, driver) = (Arc::clone(inner), key.clone(), driver.clone());
        let bytes = blob.len() as u64;
        let job = move || {
            let _ = write(&store, &of, |inner| blob::put(inner, &of, &driver, &blob, Room::Make), true);
        };
        queued(inner, key, later.write(inner, bytes, Box::new(job)))
    }

    /// Waits until everything is written that was put later, for `patience` at most, and again so long until it is
    /// uploaded. Says whether nothing is left to do.
    pub fn flush(&self, patience: Duration) -> bool {
        let written = self.later().is_none_or(|later| later.drain(patience));
        self.remote().is_none_or(|remote| remote.drain(patience)) && written
    }

    /// The blob of a driver, to be handed to it: a marker lasts until the result is dropped, and if
    /// the process dies before, the blob is not given out again.
    ///
    /// # Errors
    /// The reason why there is no sound blob of this entry and driver.
    pub fn begin_load(&self, key: &Key, driver: &Part) -> Result<BlobLoad, Miss> {
        let found = match self.inner() {
            Some(_) => blob::begin(self, key, driver),
            None => Err(Miss::Disabled),
        };
        let found = match found {
            Err(miss) if miss != Miss::Quarantined => blob::begin_elsewhere(self, key, driver).ok_or(miss),
            found => found,
        };
        let Some(inner) =
            self.inner().map(Arc::as_ref).or_else(|| self.readable().next().map(|(_, inner)| inner))
        else {
            return found;
        };
        match &found {
            Ok(load) => {
                stats::add(&inner.counters.blob_hits, 1);
                inner.emit(|| Event::DidHitBlob { key: key.id(), bytes: load.bytes().len() as u64 });
            }
            Err(miss) => {
                stats::add(&inner.counters.blob_misses, 1);
                inner.counters.miss(miss);
                inner.emit(|| Event::DidMissBlob { key: key.id(), miss: *miss });
            }
        }
        found
    }

    /// The blob of a driver for looking at only.
    ///
    /// # Errors
    /// The reason why there is no sound blob of this entry and driver.
    pub fn get_blob(&self, key: &Key, driver: &Part) -> Result<Vec<u8>, Miss> {
        self.look_blob(key, driver).map(|(blob, _)| blob)
    }

    /// [`Store::get_blob`], and where it was.
    ///
    /// # Errors
    /// As [`Store::get_blob`].
    pub fn look_blob(&self, key: &Key, driver: &Part) -> Result<(Vec<u8>, Layer), Miss> {
        let own = self.inner().ok_or(Miss::Disabled).and_then(|inner| blob::peek(inner, key, driver));
        let miss = match own {
            Ok(blob) => return Ok((blob, Layer::Store)),
            Err(miss @ Miss::Quarantined) => return Err(miss),
            Err(miss) => miss,
        };
        let below = |(number, inner)| Some((blob::peek(inner, key, driver).ok()?, Layer::Lower(number)));
        let found = self.readable().find_map(below);
        let remote = || Some((self.remote()?.blob(key, driver).ok()?.value, Layer::Remote));
        found.or_else(remote).ok_or(miss)
    }

    /// The counters since the store was opened.
    pub fn stats(&self) -> StoreStats {
        let mut all = self.inner().map(|inner| inner.counters.read()).unwrap_or_default();
        for (_, inner) in self.readable() {
            let below = inner.counters.read();
            all.lower_hits += below.hits;
            all.lower_misses += below.misses;
            all.lower_defects += below.defects;
            all.blob_hits += below.blob_hits;
            all.blob_misses += below.blob_misses;
            all.read_bytes += below.read_bytes;
        }
        if let Some(distant) = &self.remote {
            all.add(&distant.counters.read());
        }
        all
    }
}

/// What a write that waits in the queue, or had no place in it, says.
fn queued(inner: &Inner, key: &Key, taken: Result<(), Skip>) -> Outcome {
    match taken {
        Ok(()) => {
            stats::add(&inner.counters.queued, 1);
            Outcome::Queued
        }
        Err(skip) => skipped(inner, key.id(), skip),
    }
}

fn skipped(inner: &Inner, key: KeyId, skip: Skip) -> Outcome {
    inner.counters.skip(&skip);
    inner.emit(|| Event::DidSkip { key, skip });
    Outcome::Skipped(skip)
}

/// Writes something, counts it and says so.
fn write(inner: &Inner, key: &Key, work: impl Fn(&Inner) -> Result<u64, Skip>, is_blob: bool) -> Outcome {
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
        Err(skip) => skipped(inner, key, skip),
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
