//! Driver blobs: what a driver made of an entry, kept beside it under a key of its own.
//!
//! A damaged blob can crash a driver, and a checksum cannot prove that a blob is harmless. So a load
//! leaves a marker while it lasts. The marker is locked by the loading process: one that still has its
//! name and is not locked belongs to a process that died. That blob is then removed, and the death is
//! noted. The process may have died of something else, so the driver's next blob is stored again; after
//! a second death none of that driver and entry is, until the last death is old enough to be forgotten
//! or is forgiven (`vkfuse cache forgive`).

use std::fs::File;
use std::io;
use std::sync::Arc;

use crate::container::{self, Kind};
use crate::event::Event;
use crate::key::{Key, Part};
use crate::store::evict;
use crate::store::inner::Inner;
use crate::store::lookup::{self, Place, Read};
use crate::store::names::{self, MARKER_BYTES, Role};
use crate::store::publish::{self, Room, charge, check_size, credit, fits};
use crate::store::reason::{Fault, Miss, Skip};
use crate::store::stats;
use crate::store::temp::Temp;
use crate::store::{Layer, Store};

/// Deaths after which no blob of that driver is stored for that entry.
const DEATHS: usize = 2;
/// How often a marker is looked at anew that was taken away or replaced meanwhile.
const LOOKS: usize = 8;
const HASH: usize = 32;

/// A verified blob that is about to be given to a driver.
///
/// As long as this lives, a marker on the disk says so. If the process dies before it is dropped, the
/// blob is set aside at the next attempt.
#[must_use = "the driver has to be given the bytes while this lives"]
pub struct BlobLoad {
    store: Store,
    /// The folder in which the load began, for another may have come in its place, and where the blob is in it. `None` if the
    /// blob is not in the store.
    at: Option<(Arc<File>, Place)>,
    driver: String,
    bytes: Vec<u8>,
    /// The locked marker; none where the folder cannot be written or another process loads too.
    marker: Option<File>,
    layer: Layer,
}

impl BlobLoad {
    /// The driver's bytes, as they were stored.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where the blob was found.
    pub fn layer(&self) -> Layer {
        self.layer
    }

    /// Ends the load: the process has survived it. The same as dropping.
    pub fn finish(self) {}

    /// Ends the load and removes the blob, because the driver refused it.
    pub fn reject(self) {
        let (Some(inner), Some((root, place))) = (self.store.inner(), &self.at) else {
            return;
        };
        if let Ok(mut ledger) = inner.lock(root) {
            let path = place.sibling(&self.driver, "blob");
            let freed = evict::remove_piece(inner, root, &path);
            evict::settle(&mut ledger, freed);
        }
    }
}

impl Drop for BlobLoad {
    fn drop(&mut self) {
        let Some(marker) = self.marker.take() else {
            return;
        };
        let (Some(inner), Some((root, place))) = (self.store.inner(), &self.at) else {
            return;
        };
        let path = place.sibling(&self.driver, "load");
        // Another process may have put its own marker in the place of this one.
        let mine = inner.disk.meta(&marker).ok();
        let named = inner.disk.meta_at(root, &path).ok();
        if mine.zip(named).is_some_and(|(a, b)| a.is_same_file(&b)) {
            let _ = inner.disk.remove(root, &path);
        }
    }
}

fn hash_of(blob: &[u8]) -> [u8; HASH] {
    *blake3::hash(blob).as_bytes()
}

/// Reads and verifies a blob.
pub(crate) fn read(
    inner: &Inner,
    root: &File,
    place: &Place,
    key: &Key,
    driver: &Part,
) -> Result<Read<Vec<u8>>, Miss> {
    let path = place.sibling(&names::driver(driver), "blob");
    let (mut bytes, file, meta) = inner.read(root, &path)?;
    let length = bytes.len() as u64;
    let container = container::decode(Kind::Blob, &bytes)?;
    if container.bound != key.id().0 || container.section("driver") != Some(driver.as_bytes()) {
        return Err(Miss::Binding);
    }
    let sections = container.ranges().into_iter();
    let blob = sections.rev().find(|(name, _)| name == "blob");
    let (_, range) = blob.ok_or(Miss::Malformed("blob without bytes"))?;
    // In place, for a blob may be large.
    bytes.truncate(range.end);
    bytes.drain(..range.start);
    Ok(Read { value: bytes, bytes: length, file, meta })
}

/// Stores a blob beside its entry. Returns the size of its file.
pub(crate) fn put(inner: &Inner, key: &Key, driver: &Part, blob: &[u8], room: Room) -> Result<u64, Skip> {
    let sections = [("driver", driver.as_bytes()), ("blob", blob)];
    let bytes =
        container::encode(Kind::Blob, &key.id().0, sections.into_iter()).map_err(Fault::of("encode"))?;
    let length = bytes.len() as u64;
    check_size(inner, length)?;
    let root = inner.root_to_write()?;
    let name = names::driver(driver);
    let mut new = Temp::write(inner, &root, &bytes, inner.now())?;
    for _ in 0..publish::ROUNDS {
        let mut ledger = match inner.locks {
            true => Some(inner.lock(&root)?),
            false => None,
        };
        // Looked up under the lock, so that no eviction comes between.
        let place = lookup::locate(inner, &root, key).map_err(|_| Skip::NoEntry)?;
        if deaths(inner, &root, &place.sibling(&name, "bad")).len() >= DEATHS {
            return Err(Skip::Quarantined);
        }
        let path = place.sibling(&name, "blob");
        let cost = names::stored_bytes(Role::Blob, length);
        if let Some(held) = &ledger
            && !fits(inner, held, cost)
        {
            // A store that has not been counted yet may have room all the same.
            if room == Room::AsItIs && held.record.is_some() {
                return Err(Skip::Full);
            }
            drop(ledger);
            evict::make_room(inner, &root, cost)?;
            continue;
        }
        let replaced = publish::replaceable(inner, &root, &path);
        let replaced = match replaced.ok_or(Skip::Crowded)? {
            0 => 0,
            bytes => bytes + MARKER_BYTES,
        };
        charge(&mut ledger, cost)?;
        new.publish(&root, &path).map_err(Fault::of("rename"))?;
        credit(&mut ledger, replaced);
        inner.note_stored(&ledger);
        stats::add(&inner.counters.written_bytes, length);
        return Ok(length);
    }
    Err(Skip::LockTimeout)
}

/// Finds a blob and marks it as being loaded.
pub(crate) fn begin(store: &Store, key: &Key, driver: &Part) -> Result<BlobLoad, Miss> {
    let inner = store.inner().ok_or(Miss::Disabled)?;
    let root = inner.root();
    let place = lookup::locate(inner, &root, key)?;
    let name = names::driver(driver);
    let read = match read(inner, &root, &place, key, driver) {
        Ok(read) => read,
        Err(Miss::Absent) if !deaths(inner, &root, &place.sibling(&name, "bad")).is_empty() => {
            return Err(Miss::Quarantined);
        }
        Err(miss) => return Err(miss),
    };
    let marker = place.sibling(&name, "load");
    let marker = match left_by(inner, &root, &marker) {
        Left::Nothing => mark(inner, &root, &marker, &read.value),
        Left::Loading => None,
        Left::Dead(_held) => {
            quarantine(inner, &root, &place, &name, &read.value);
            inner.emit(|| Event::DidQuarantine { key: key.id() });
            return Err(Miss::Quarantined);
        }
    };
    inner.touch(&read.file, &read.meta);
    stats::add(&inner.counters.read_bytes, read.bytes);
    let (store, layer) = (store.clone(), Layer::Store);
    Ok(BlobLoad { store, at: Some((root, place)), driver: name, bytes: read.value, marker, layer })
}

/// Finds a blob in a lower store, or in the remote one. It is copied into the store if that has room, for there a death over
/// it can be noted.
pub(crate) fn begin_elsewhere(store: &Store, key: &Key, driver: &Part) -> Option<BlobLoad> {
    let (layer, blob) = store
        .readable()
        .find_map(|(number, lower)| {
            let root = lower.root();
            let place = lookup::locate(lower, &root, key).ok()?;
            let found = read(lower, &root, &place, key, driver).ok()?;
            stats::add(&lower.counters.read_bytes, found.bytes);
            Some((Layer::Lower(number), found.value))
        })
        .or_else(|| Some((Layer::Remote, store.remote()?.blob(key, driver).ok()?.value)))?;
    if let Some(inner) = store.inner() {
        let entry = match lookup::peek(inner, key) {
            Ok(_) => Ok(0),
            // On its way into the store, or below it.
            Err(_) => store
                .peek(key)
                .map_err(|_| Skip::NoEntry)
                .and_then(|entry| publish::put(inner, key, &entry, Room::AsItIs)),
        };
        if entry.and_then(|_| put(inner, key, driver, &blob, Room::AsItIs)).is_ok() {
            match begin(store, key, driver) {
                Ok(mut load) => {
                    load.layer = layer;
                    return Some(load);
                }
                Err(Miss::Quarantined) => return None,
                Err(_) => {}
            }
        }
    }
    Some(BlobLoad {
        store: store.clone(),
        at: None,
        driver: names::driver(driver),
        bytes: blob,
        marker: None,
        layer,
    })
}

/// What the marker of a load says.
enum Left {
    /// No load is in progress.
    Nothing,
    /// A load is in progress, or that cannot be known.
    Loading,
    /// A process died during its load. The lock of its marker is held, so that only one process acts on it.
    Dead(File),
}

/// Looks at the marker of a load. The lock of a file that has lost its name says nothing: its owner took
/// the name away when it was done, or another marker took its place.
fn left_by(inner: &Inner, root: &File, marker: &str) -> Left {
    let disk = &*inner.disk;
    for _ in 0..LOOKS {
        let file = match disk.open(root, marker) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Left::Nothing,
            Err(_) => return Left::Loading,
        };
        match disk.try_lock(&file) {
            Ok(true) => {}
            Ok(false) => return Left::Loading,
            Err(_) => return Left::Nothing,
        }
        let Ok(held) = disk.meta(&file) else {
            return Left::Loading;
        };
        match disk.meta_at(root, marker) {
            Ok(named) if named.is_same_file(&held) => return Left::Dead(file),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Left::Loading,
            _ => {}
        }
    }
    Left::Loading
}

/// Puts a locked marker in place. Where that is not possible the load goes on without.
fn mark(inner: &Inner, root: &File, path: &str, blob: &[u8]) -> Option<File> {
    let mut temp = Temp::write(inner, root, &hash_of(blob), inner.now()).ok()?;
    temp.publish(root, path).ok()?
}

/// The hashes of the blobs that processes died of; none if the last death, which is the time of the
/// file, is older than `quarantine_age` or lies in the future.
fn deaths(inner: &Inner, root: &File, path: &str) -> Vec<[u8; HASH]> {
    let Ok((bytes, _, meta)) = inner.read(root, path) else {
        return Vec::new();
    };
    let age = inner.now().0.saturating_sub(meta.stamp.0);
    let longest = i64::try_from(inner.config.quarantine_age.as_secs()).unwrap_or(i64::MAX);
    if !(0..longest).contains(&age) {
        return Vec::new();
    }
    let (hashes, _) = bytes.as_chunks::<HASH>();
    hashes.to_vec()
}

/// Notes a death and removes the blob. If the death cannot be written down, the marker stays as it is
/// and says the same the next time.
fn quarantine(inner: &Inner, root: &File, place: &Place, name: &str, blob: &[u8]) {
    stats::add(&inner.counters.quarantined, 1);
    let Ok(ledger) = inner.lock(root) else {
        return;
    };
    let marker = place.sibling(name, "load");
    let bad = place.sibling(name, "bad");
    // The marker names the blob that was being loaded, which may have been replaced since.
    let died_over = match inner.read(root, &marker) {
        Ok((bytes, ..)) => <[u8; HASH]>::try_from(bytes.as_slice()).ok(),
        Err(_) => None,
    };
    let is_replaced = died_over.is_some_and(|hash| hash != hash_of(blob));
    let mut hashes = deaths(inner, root, &bad);
    hashes.push(died_over.unwrap_or_else(|| hash_of(blob)));
    let Some(before) = publish::replaceable(inner, root, &bad) else {
        return;
    };
    let Ok(mut temp) = Temp::write(inner, root, &hashes.concat(), inner.now()) else {
        return;
    };
    let after = names::stored_bytes(Role::Bad, (hashes.len() * HASH) as u64);
    let is_counted = ledger.record.is_some();
    let mut ledger = Some(ledger);
    if is_counted && charge(&mut ledger, after.saturating_sub(before)).is_err() {
        return;
    }
    if temp.publish(root, &bad).is_err() {
        return;
    }
    let mut freed = before.saturating_sub(after);
    // One that has come since is innocent, unless all are barred now.
    if !is_replaced || hashes.len() >= DEATHS {
        freed += evict::remove_piece(inner, root, &place.sibling(name, "blob"));
    }
    let _ = inner.disk.remove(root, &marker);
    if let Some(ledger) = &mut ledger {
        evict::settle(ledger, freed);
    }
}

/// Forgets the deaths over the blobs of a driver, and the marker of a process that died and that has not
/// been noticed yet. Returns whether there were any, and their size on disk. The lock must be held.
///
/// # Errors
/// What stopped the removal.
pub(crate) fn forgive(inner: &Inner, root: &File, place: &Place, name: &str) -> Result<(bool, u64), Fault> {
    let marker = place.sibling(name, "load");
    let mut found = false;
    if let Left::Dead(_held) = left_by(inner, root, &marker) {
        inner.disk.remove(root, &marker).map_err(Fault::of("remove"))?;
        found = true;
    }
    let bad = place.sibling(name, "bad");
    let bytes = publish::replaceable(inner, root, &bad).unwrap_or(0);
    match inner.disk.remove(root, &bad) {
        Ok(()) => Ok((true, bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((found, 0)),
        Err(error) => Err(Fault::of("remove")(error)),
    }
}

/// Reads a blob without giving it to anybody.
pub(crate) fn peek(inner: &Inner, key: &Key, driver: &Part) -> Result<Vec<u8>, Miss> {
    let root = inner.root();
    let place = lookup::locate(inner, &root, key)?;
    Ok(read(inner, &root, &place, key, driver)?.value)
}

/// Verifies the bytes of a blob file against the key that its place stands for. Returns its driver.
pub(crate) fn verify(bytes: &[u8], id: &crate::KeyId) -> Result<Option<Part>, Miss> {
    let container = container::decode(Kind::Blob, bytes)?;
    if container.bound != id.0 {
        return Err(Miss::Binding);
    }
    Ok(container.section("driver").and_then(Part::from_bytes))
}
