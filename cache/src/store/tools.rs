//! Looking at the store and tidying it by hand: listing, verifying, pruning, clearing.

use std::collections::BTreeSet;
use std::fs::File;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::container::{self, Kind};
use crate::disk::Stamp;
use crate::entry::Entry;
use crate::key::{Difference, Key, KeyId, Part, PartKind};
use crate::store::blob;
use crate::store::evict::{self, Pruned, Target};
use crate::store::inner::Inner;
use crate::store::lookup::{self, Place};
use crate::store::names::{Role, stored_bytes};
use crate::store::reason::{Miss, Skip};
use crate::store::scan::{self, Group};
use crate::store::sweep::{self, Swept};
use crate::store::{Found, Layer, Store};

/// How far a walk over the store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Entries done.
    pub done: usize,
    /// Entries in all.
    pub total: usize,
}

/// What is in the store, counted now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Entries, sound or not.
    pub entries: usize,
    /// Driver blobs.
    pub blobs: usize,
    /// What everything takes of the disk: files in whole blocks, folders, and a block for each driver
    /// blob, for the marker of its load.
    pub bytes: u64,
    /// What the size record says; `None` if there is none.
    pub recorded: Option<u64>,
    /// The size limit; 0 is none.
    pub limit: u64,
}

/// A driver blob in a listing.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BlobInfo {
    /// The hash of the driver in the file's name.
    pub driver: String,
    /// The driver, if the file was read and is sound.
    pub identity: Option<Part>,
    /// Size of the file.
    pub bytes: u64,
    /// When it was used last.
    pub last_used: SystemTime,
    /// What is wrong with it, as far as it was looked at.
    pub defect: Option<Miss>,
}

/// An entry in a listing.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EntryInfo {
    /// The key, if its file is sound.
    pub key: Option<Key>,
    /// The folder, relative to the root.
    pub folder: String,
    /// What the key is called in the names of its files.
    pub stem: String,
    /// The number among entries of that name.
    pub number: u32,
    /// What all its files take of the disk.
    pub bytes: u64,
    /// When it was used last.
    pub last_used: SystemTime,
    /// Names and sizes of the sections.
    pub sections: Vec<(String, u64)>,
    /// Driver blobs.
    pub blobs: Vec<BlobInfo>,
    /// Drivers whose blobs are set aside, because processes died loading them.
    pub quarantined: Vec<String>,
    /// What is wrong with it.
    pub defect: Option<Miss>,
}

impl EntryInfo {
    /// The identity of the entry, if its key is readable.
    pub fn id(&self) -> Option<KeyId> {
        self.key.as_ref().map(Key::id)
    }

    fn place(&self) -> Place {
        Place { folder: self.folder.clone(), stem: self.stem.clone(), number: self.number }
    }

    /// Where the file with its key is, relative to the root, and the file with its sections.
    pub fn files(&self) -> [String; 2] {
        [self.place().source(), self.place().entry()]
    }
}

fn time((seconds, nanos): Stamp) -> SystemTime {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    UNIX_EPOCH.checked_add(Duration::new(seconds, nanos)).unwrap_or(UNIX_EPOCH)
}

/// The key in a `.src` file.
fn read_key(inner: &Inner, root: &File, path: &str) -> Result<Key, Miss> {
    let (bytes, ..) = inner.read(root, path)?;
    key_of(&bytes)
}

/// The key that the bytes of a `.src` file say.
pub(crate) fn key_of(bytes: &[u8]) -> Result<Key, Miss> {
    let container = container::decode(Kind::Source, bytes)?;
    let part = |kind: PartKind| {
        container.section(kind.name()).and_then(Part::from_bytes).ok_or(Miss::Malformed("key"))
    };
    let [device, image, spec, options] = PartKind::ALL;
    let key = Key::from_parts([part(device)?, part(image)?, part(spec)?, part(options)?]);
    if key.source() != bytes {
        return Err(Miss::Malformed("key"));
    }
    Ok(key)
}

fn describe(inner: &Inner, root: &File, group: &Group, with_blobs: bool) -> EntryInfo {
    let mut info = EntryInfo {
        key: None,
        folder: group.folder.clone(),
        stem: group.stem.clone(),
        number: group.number,
        bytes: 0,
        last_used: time(group.stamp()),
        sections: Vec::new(),
        blobs: Vec::new(),
        quarantined: Vec::new(),
        defect: None,
    };
    match read_key(inner, root, &info.place().source()) {
        Ok(key) => info.key = Some(key),
        Err(miss) => info.defect = Some(miss),
    }
    if let Some(id) = info.id() {
        match lookup::read_entry(inner, root, &info.place().entry(), &id) {
            Ok(read) => {
                let sections = read.value.sections();
                info.sections = sections.map(|(name, data)| (name.to_owned(), data.len() as u64)).collect();
            }
            Err(Miss::Absent) => info.defect = Some(Miss::Incomplete),
            Err(miss) => info.defect = Some(miss),
        }
    }
    for piece in &group.pieces {
        info.bytes += stored_bytes(piece.role, piece.meta.length);
        match piece.role {
            Role::Bad => info.quarantined.push(piece.driver.clone()),
            Role::Blob => {
                let mut blob = BlobInfo {
                    driver: piece.driver.clone(),
                    identity: None,
                    bytes: piece.meta.length,
                    last_used: time(piece.meta.stamp),
                    defect: None,
                };
                if with_blobs && let Some(id) = info.id() {
                    let path = format!("{}/{}", group.folder, piece.name);
                    let read = inner.read(root, &path);
                    match read.and_then(|(bytes, ..)| blob::verify(&bytes, &id)) {
                        Ok(identity) => blob.identity = identity,
                        Err(miss) => blob.defect = Some(miss),
                    }
                }
                info.blobs.push(blob);
            }
            Role::Entry | Role::Source | Role::Loading => {}
        }
    }
    info
}

impl Store {
    /// Counts what is in the store. Takes time in proportion to it.
    pub fn usage(&self) -> Usage {
        let Some(inner) = self.inner() else {
            return Usage::default();
        };
        let root = inner.root();
        let found = scan::scan(inner, &root).unwrap_or_default();
        let blobs = found.groups.iter().flat_map(|group| &group.pieces);
        Usage {
            entries: found.groups.len(),
            blobs: blobs.filter(|piece| piece.role == Role::Blob).count(),
            bytes: found.bytes,
            recorded: inner.lock(&root).ok().and_then(|ledger| ledger.record).map(|record| record.bytes),
            limit: inner.config.max_size,
        }
    }

    /// The entry of a key, for looking at only: it does not count as a use. Only the remote store counts
    /// that it was asked, and sends an event.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn peek(&self, key: &Key) -> Result<Entry, Miss> {
        match self.look(key)? {
            Found { layer: Layer::Untrusted, .. } => Err(Miss::Untrusted),
            found => Ok(found.entry),
        }
    }

    /// [`Store::peek`], and where it was.
    ///
    /// # Errors
    /// As [`Store::find`].
    pub fn look(&self, key: &Key) -> Result<Found, Miss> {
        let own = match self.waiting(key) {
            Some(entry) => Ok(entry),
            None => self.inner().ok_or(Miss::Disabled).and_then(|inner| lookup::peek(inner, key)),
        };
        let own = own.map(|entry| Found { entry, layer: Layer::Store });
        own.or_else(|miss| {
            let below = |(number, inner)| {
                let entry = lookup::peek(inner, key).ok()?;
                Some(Found { entry, layer: Layer::Lower(number) })
            };
            let remote = || {
                let fetched = self.remote()?.entry(key).ok()?;
                let layer = if fetched.is_trusted { Layer::Remote } else { Layer::Untrusted };
                Some(Found { entry: fetched.value, layer })
            };
            self.readable().find_map(below).or_else(remote).ok_or(miss)
        })
    }

    /// The stored key with the fewest differences from this one, among those that are `like` it, and these. Takes time in
    /// proportion to the store.
    pub fn nearest(&self, key: &Key, like: impl Fn(&Key) -> bool) -> Option<(KeyId, Vec<Difference>)> {
        let inner = self.inner()?;
        let root = inner.root();
        let groups = scan::scan(inner, &root).ok()?.groups;
        let keys = groups.iter().filter_map(|group| {
            let place = group.place();
            read_key(inner, &root, &place.source()).ok()
        });
        let keys = keys.filter(like);
        keys.map(|other| (other.id(), key.differs(&other))).min_by_key(|(id, list)| (list.len(), *id))
    }

    /// All entries, the last used first. Keys and entries are read and verified, driver blobs only
    /// listed.
    pub fn entries(&self, progress: &mut dyn FnMut(Progress)) -> Vec<EntryInfo> {
        self.walk(&mut |at| (progress(at), true).1, false)
    }

    /// All entries, with every file read and verified.
    pub fn verify(&self, progress: &mut dyn FnMut(Progress)) -> Vec<EntryInfo> {
        self.walk(&mut |at| (progress(at), true).1, true)
    }

    /// As [`Store::verify`], until it may not go on: then those that were read so far.
    pub fn verify_while(&self, goes_on: &mut dyn FnMut(Progress) -> bool) -> Vec<EntryInfo> {
        self.walk(goes_on, true)
    }

    /// The entry of a listing.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub fn read(&self, info: &EntryInfo) -> Result<Entry, Miss> {
        let inner = self.inner().ok_or(Miss::Disabled)?;
        let id = info.id().ok_or(Miss::Malformed("key"))?;
        let read = lookup::read_entry(inner, &inner.root(), &info.place().entry(), &id)?;
        Ok(read.value)
    }

    /// Removes an entry with its driver blobs. Returns what that set free, which is nothing if it was gone.
    ///
    /// # Errors
    /// Why it, or some of it, is still there.
    pub fn remove(&self, info: &EntryInfo) -> Result<u64, Skip> {
        let inner = self.inner().ok_or(Skip::Disabled)?;
        let root = inner.root();
        let mut ledger = inner.lock(&root)?;
        let (freed, problem) = evict::remove_group(inner, &root, &info.place());
        evict::settle(&mut ledger, freed);
        problem.map_or(Ok(freed), |fault| Err(fault.into()))
    }

    /// Removes what was used longest ago until at most `bytes` are left, and recounts. Says in
    /// [`Pruned::problem`] and [`Pruned::kept`] what of that was not done.
    pub fn prune_to(&self, bytes: u64) -> Pruned {
        let Some(inner) = self.inner() else {
            return Pruned { problem: Some(Skip::Disabled), ..Pruned::default() };
        };
        let target = Target { trigger: bytes, goal: bytes, oldest: evict::oldest(inner) };
        let root = inner.root();
        let mut pruned = evict::evict(inner, &root, target);
        if pruned.problem.is_some() && pruned.left == 0 {
            // It was stopped before it counted.
            pruned.left = scan::scan(inner, &root).map_or(0, |found| found.bytes);
        }
        pruned
    }

    /// Removes all entries, blobs and quarantine marks. Says what of that was not done, as
    /// [`Store::prune_to`] does.
    pub fn clear(&self) -> Pruned {
        let pruned = self.prune_to(0);
        self.sweep();
        pruned
    }

    /// Forgets that processes died over driver blobs: of one entry, or of all. Returns for how many drivers and
    /// entries there was something to forget.
    ///
    /// # Errors
    /// Why nothing, or not everything, could be forgotten.
    pub fn forgive(&self, only: Option<&EntryInfo>) -> Result<u64, Skip> {
        let inner = self.inner().ok_or(Skip::Disabled)?;
        let root = inner.root();
        let groups = scan::scan(inner, &root)?.groups;
        let mut ledger = inner.lock(&root)?;
        let mut forgiven = 0;
        for group in &groups {
            let place = group.place();
            if only.is_some_and(|info| info.place() != place) {
                continue;
            }
            let marks = group.pieces.iter().filter(|piece| matches!(piece.role, Role::Bad | Role::Loading));
            let drivers: BTreeSet<&str> = marks.map(|piece| piece.driver.as_str()).collect();
            for driver in drivers {
                let (found, freed) = blob::forgive(inner, &root, &place, driver)?;
                forgiven += u64::from(found);
                evict::settle(&mut ledger, freed);
            }
        }
        Ok(forgiven)
    }

    /// Removes temporary files of dead processes.
    pub fn sweep(&self) -> Swept {
        self.inner().map(|inner| sweep::sweep(inner, &inner.root())).unwrap_or_default()
    }

    fn walk(&self, goes_on: &mut dyn FnMut(Progress) -> bool, with_blobs: bool) -> Vec<EntryInfo> {
        let Some(inner) = self.inner() else {
            return Vec::new();
        };
        let root = inner.root();
        let mut groups = scan::scan(inner, &root).unwrap_or_default().groups;
        groups.sort_by_key(|group| std::cmp::Reverse(group.stamp()));
        let total = groups.len();
        let mut all = Vec::with_capacity(total);
        for group in &groups {
            all.push(describe(inner, &root, group, with_blobs));
            if !goes_on(Progress { done: all.len(), total }) {
                break;
            }
        }
        all
    }
}
