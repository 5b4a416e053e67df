//! Driver blobs: what a driver made of an entry, kept beside it under a key of its own.
//!
//! A damaged blob can crash a driver, and a checksum cannot prove that a blob is harmless. So a load
//! leaves a marker while it lasts. The marker is locked by the loading process: one that is there and
//! not locked belongs to a process that died. That blob is then set aside, and not stored again; after
//! a second death over another blob of the same driver and entry, none is.

use std::fs::File;
use std::io;

use crate::container::{self, Kind};
use crate::event::Event;
use crate::key::{Key, Part};
use crate::store::Store;
use crate::store::evict;
use crate::store::inner::Inner;
use crate::store::lookup::{self, Place, Read};
use crate::store::names::{self, MARKER_BYTES, Role};
use crate::store::publish::{self, charge, check_size, credit, fits};
use crate::store::reason::{Fault, Miss, Skip};
use crate::store::stats;
use crate::store::temp::Temp;

/// Deaths after which no blob of that driver is stored for that entry any more.
const DEATHS: usize = 2;
const HASH: usize = 32;

/// A verified blob that is about to be given to a driver.
///
/// As long as this lives, a marker on the disk says so. If the process dies before it is dropped, the
/// blob is set aside at the next attempt.
#[must_use = "the driver has to be given the bytes while this lives"]
pub struct BlobLoad {
    store: Store,
    place: Place,
    driver: String,
    bytes: Vec<u8>,
    /// The locked marker; none where the folder cannot be written or another process loads too.
    marker: Option<File>,
}

impl BlobLoad {
    /// The driver's bytes, as they were stored.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Ends the load: the process has survived it. The same as dropping.
    pub fn finish(self) {}

    /// Ends the load and removes the blob, because the driver refused it.
    pub fn reject(self) {
        let Some(inner) = self.store.inner() else {
            return;
        };
        let root = inner.root();
        if let Ok(mut ledger) = inner.lock(&root) {
            let path = self.place.sibling(&self.driver, "blob");
            let freed = evict::remove_piece(inner, &root, &path);
            evict::settle(&mut ledger, freed);
        }
    }
}

impl Drop for BlobLoad {
    fn drop(&mut self) {
        let (Some(inner), Some(marker)) = (self.store.inner(), self.marker.take()) else {
            return;
        };
        let root = inner.root();
        let path = self.place.sibling(&self.driver, "load");
        // Another process may have put its own marker in the place of this one.
        let mine = inner.disk.meta(&marker).ok();
        let named = inner.disk.meta_at(&root, &path).ok();
        if mine.zip(named).is_some_and(|(a, b)| a.is_same_file(&b)) {
            let _ = inner.disk.remove(&root, &path);
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
pub(crate) fn put(inner: &Inner, key: &Key, driver: &Part, blob: &[u8]) -> Result<u64, Skip> {
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
        let deaths = deaths(inner, &root, &place.sibling(&name, "bad"));
        if deaths.len() >= DEATHS || deaths.contains(&hash_of(blob)) {
            return Err(Skip::Quarantined);
        }
        let path = place.sibling(&name, "blob");
        let cost = names::stored_bytes(Role::Blob, length);
        if let Some(held) = &ledger
            && !fits(inner, held, cost)
        {
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
    let mut exclusive = true;
    match inner.disk.open(&root, &marker) {
        Ok(file) => match inner.disk.try_lock(&file) {
            // Nobody holds it: the process that left it is dead.
            Ok(true) => {
                quarantine(inner, &root, &place, &name, &read.value);
                inner.emit(|| Event::DidQuarantine { key: key.id() });
                return Err(Miss::Quarantined);
            }
            Ok(false) => exclusive = false,
            Err(_) => {}
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(_) => exclusive = false,
    }
    let marker = if exclusive { mark(inner, &root, &marker, &read.value) } else { None };
    inner.touch(&read.file, &read.meta);
    stats::add(&inner.counters.read_bytes, read.bytes);
    Ok(BlobLoad { store: store.clone(), place, driver: name, bytes: read.value, marker })
}

/// Puts a locked marker in place. Where that is not possible the load goes on without.
fn mark(inner: &Inner, root: &File, path: &str, blob: &[u8]) -> Option<File> {
    let mut temp = Temp::write(inner, root, &hash_of(blob), inner.now()).ok()?;
    temp.publish(root, path).ok()?
}

/// The hashes of the blobs that processes died over.
fn deaths(inner: &Inner, root: &File, path: &str) -> Vec<[u8; HASH]> {
    let Ok((bytes, ..)) = inner.read(root, path) else {
        return Vec::new();
    };
    let (hashes, _) = bytes.as_chunks::<HASH>();
    hashes.to_vec()
}

/// Remembers a death and removes the blob. If the death cannot be written down, the marker stays as
/// it is and says the same the next time.
fn quarantine(inner: &Inner, root: &File, place: &Place, name: &str, blob: &[u8]) {
    stats::add(&inner.counters.quarantined, 1);
    let Ok(mut ledger) = inner.lock(root) else {
        return;
    };
    let marker = place.sibling(name, "load");
    let bad = place.sibling(name, "bad");
    // The marker names the blob that was being loaded, which may have been replaced since.
    let died_over = match inner.read(root, &marker) {
        Ok((bytes, ..)) => <[u8; HASH]>::try_from(bytes.as_slice()).ok(),
        Err(_) => None,
    };
    let mut hashes = deaths(inner, root, &bad);
    let is_first = hashes.is_empty();
    hashes.push(died_over.unwrap_or_else(|| hash_of(blob)));
    let Ok(mut temp) = Temp::write(inner, root, &hashes.concat(), inner.now()) else {
        return;
    };
    if temp.publish(root, &bad).is_ok() {
        // The mark takes what the blob counted for its marker.
        let mark = if is_first { MARKER_BYTES } else { 0 };
        let freed = evict::remove_piece(inner, root, &place.sibling(name, "blob"));
        let _ = inner.disk.remove(root, &marker);
        evict::settle(&mut ledger, freed.saturating_sub(mark));
    }
}

/// Reads a blob without giving it to anybody.
pub(crate) fn peek(inner: &Inner, key: &Key, driver: &Part) -> Result<Vec<u8>, Miss> {
    let root = inner.root();
    let place = lookup::locate(inner, &root, key)?;
    Ok(read(inner, &root, &place, key, driver)?.value)
}

/// Verifies the bytes of a blob file of which only the place is known. Returns its driver.
pub(crate) fn verify(bytes: &[u8], id: &crate::KeyId) -> Result<Option<Part>, Miss> {
    let container = container::decode(Kind::Blob, bytes)?;
    if container.bound != id.0 {
        return Err(Miss::Binding);
    }
    Ok(container.section("driver").and_then(Part::from_bytes))
}
