//! Putting files into the store, so that a reader sees all of an entry or nothing.
//!
//! Everything slow is done before the lock is taken: encoding, writing temporary files. Under the
//! lock: find the number, charge the size, move the key, then the entry into place. The entry names
//! the hash of its key, so whichever of the two moves a reader comes between, it finds a whole entry,
//! or one that does not fit and is a miss.

use std::fs::File;
use std::io;

use crate::container::{self, Kind};
use crate::disk::FileKind;
use crate::entry::Entry;
use crate::key::Key;
use crate::store::evict;
use crate::store::inner::Inner;
use crate::store::ledger::{Ledger, Record};
use crate::store::lookup::{self, Place, SourceIs};
use crate::store::names::{self, FOLDER_BYTES};
use crate::store::reason::{Fault, Skip};
use crate::store::stats;
use crate::store::temp::Temp;

/// How often a put looks again after making room or finding that it needs something more.
pub(crate) const ROUNDS: usize = 6;

/// Folders that an entry may need.
const FOLDERS: u64 = 2;

/// Checks the size of one file against the limits.
pub(crate) fn check_size(inner: &Inner, bytes: u64) -> Result<(), Skip> {
    let config = &inner.config;
    let over = |limit: u64| limit != 0 && bytes > limit;
    if bytes < config.min_item_size {
        return Err(Skip::TooSmall { bytes });
    }
    if over(config.max_item_size) || bytes > config.max_file_bytes || over(config.max_size) {
        return Err(Skip::TooLarge { bytes });
    }
    Ok(())
}

/// What a write may do for room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// Evict.
    Make,
    /// Nothing: what does not fit is not written.
    AsItIs,
}

/// Stores an entry under its key. Returns the size of its file.
pub(crate) fn put(inner: &Inner, key: &Key, entry: &Entry, room: Room) -> Result<u64, Skip> {
    if !entry.is_storable() {
        return Err(Skip::Malformed);
    }
    let bytes = container::encode(Kind::Entry, &key.id().0, entry.sections()).map_err(Fault::of("encode"))?;
    let length = bytes.len() as u64;
    check_size(inner, length)?;
    let whole =
        names::disk_bytes(length) + names::disk_bytes(key.source().len() as u64) + FOLDERS * FOLDER_BYTES;
    let is_too_large = inner.config.max_size != 0 && whole > inner.config.max_size;
    if is_too_large || key.source().len() as u64 > inner.config.max_file_bytes {
        // Nothing is evicted for what will never fit.
        return Err(Skip::TooLarge { bytes: length });
    }
    let root = inner.root_to_write()?;
    let now = inner.now();
    let mut new = Temp::write(inner, &root, &bytes, now)?;
    let mut source = None;
    if lookup::locate(inner, &root, key).is_err() {
        source = Some(Temp::write(inner, &root, key.source(), now)?);
    }
    for _ in 0..ROUNDS {
        let mut ledger = match inner.locks {
            true => Some(inner.lock(&root)?),
            false => None,
        };
        let slot = find_slot(inner, &root, key)?;
        if !slot.has_source && source.is_none() {
            drop(ledger);
            source = Some(Temp::write(inner, &root, key.source(), now)?);
            continue;
        }
        let mut cost = names::disk_bytes(length);
        if !slot.has_source {
            cost += names::disk_bytes(key.source().len() as u64);
        }
        if let Some(held) = &ledger
            && !fits(inner, held, cost + slot.missing_folders * FOLDER_BYTES)
        {
            // A store that has not been counted yet may have room all the same.
            if room == Room::AsItIs && held.record.is_some() {
                return Err(Skip::Full);
            }
            drop(ledger);
            evict::make_room(inner, &root, cost + FOLDERS * FOLDER_BYTES)?;
            continue;
        }
        charge(&mut ledger, cost + slot.missing_folders * FOLDER_BYTES)?;
        make_folders(inner, &root, &slot.place.folder)?;
        if !slot.has_source
            && let Some(source) = &mut source
        {
            source.publish(&root, &slot.place.source()).map_err(Fault::of("rename"))?;
        }
        new.publish(&root, &slot.place.entry()).map_err(Fault::of("rename"))?;
        credit(&mut ledger, slot.replaced);
        inner.note_stored(&ledger);
        stats::add(&inner.counters.written_bytes, length);
        return Ok(length);
    }
    Err(Skip::LockTimeout)
}

/// Whether `cost` more bytes are within the limit. Without a record nothing fits: everything has to
/// be counted first.
pub(crate) fn fits(inner: &Inner, ledger: &Ledger<'_>, cost: u64) -> bool {
    ledger.record.is_some_and(|record| {
        inner.config.max_size == 0 || record.bytes.saturating_add(cost) <= inner.config.max_size
    })
}

/// Counts `cost` bytes before they are there.
pub(crate) fn charge(ledger: &mut Option<Ledger<'_>>, cost: u64) -> Result<(), Fault> {
    let Some(ledger) = ledger else {
        return Ok(());
    };
    let record = ledger.record.unwrap_or_default();
    ledger.write(Record {
        bytes: record.bytes.saturating_add(cost),
        added: record.added.wrapping_add(cost),
        ..record
    })
}

/// Counts `freed` bytes after they are gone. If that cannot be written the record stays too high,
/// which the next recount corrects.
pub(crate) fn credit(ledger: &mut Option<Ledger<'_>>, freed: u64) {
    if let Some(ledger) = ledger
        && let Some(record) = ledger.record
        && freed > 0
    {
        let _ = ledger.write(Record { bytes: record.bytes.saturating_sub(freed), ..record });
    }
}

struct Slot {
    place: Place,
    /// The key's own `.src` is there.
    has_source: bool,
    /// What the files that will be replaced take.
    replaced: u64,
    missing_folders: u64,
}

/// The number under which `key` is to be stored: its own, else the first that is free or unusable.
fn find_slot(inner: &Inner, root: &File, key: &Key) -> Result<Slot, Skip> {
    let first = lookup::place_of(inner, key);
    let missing_folders = missing_folders(inner, root, &first.folder);
    let slot = |number| Slot {
        place: Place { number, ..first.clone() },
        has_source: false,
        replaced: 0,
        missing_folders,
    };
    if missing_folders > 0 {
        return Ok(slot(0));
    }
    let used = lookup::numbers(inner, root, &first).unwrap_or_default();
    let mut reusable = None;
    for &number in &used {
        let mut slot = slot(number);
        let source = slot.place.source();
        match lookup::check_source(inner, root, &source, key) {
            SourceIs::Same => {
                slot.has_source = true;
                if let Some(entry) = replaceable(inner, root, &slot.place.entry()) {
                    slot.replaced = entry;
                    return Ok(slot);
                }
            }
            SourceIs::Other => {}
            SourceIs::Bad(_) if reusable.is_some() => {}
            SourceIs::Bad(_) => {
                let sizes =
                    replaceable(inner, root, &source).zip(replaceable(inner, root, &slot.place.entry()));
                if let Some((source, entry)) = sizes {
                    slot.replaced = source + entry;
                    reusable = Some(slot);
                }
            }
        }
    }
    if let Some(slot) = reusable {
        return Ok(slot);
    }
    for number in (0..names::MAX_COLLISIONS).filter(|number| used.binary_search(number).is_err()) {
        let mut slot = slot(number);
        if let Some(entry) = replaceable(inner, root, &slot.place.entry()) {
            slot.replaced = entry;
            return Ok(slot);
        }
    }
    Err(Skip::Crowded)
}

/// What a file to be replaced takes of the disk; `None` for a folder, which a file cannot replace.
pub(crate) fn replaceable(inner: &Inner, root: &File, path: &str) -> Option<u64> {
    match inner.disk.meta_at(root, path) {
        Ok(meta) if meta.kind == FileKind::Regular => Some(names::disk_bytes(meta.length)),
        Ok(meta) if meta.kind == FileKind::Folder => None,
        Ok(_) => Some(0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(0),
        Err(_) => None,
    }
}

/// How many levels of an entry's folder are not there yet.
fn missing_folders(inner: &Inner, root: &File, folder: &str) -> u64 {
    let mut path = folder;
    let mut missing = 0;
    while inner.disk.open_folder(root, path).is_err() {
        missing += 1;
        match path.rsplit_once('/') {
            Some((above, _)) => path = above,
            None => break,
        }
    }
    missing
}

/// Makes the folders of an entry, and takes away what is in the place of one.
pub(crate) fn make_folders(inner: &Inner, root: &File, folder: &str) -> Result<(), Fault> {
    if inner.disk.open_folder(root, folder).is_ok() {
        return Ok(());
    }
    let ends = folder.match_indices('/').map(|(index, _)| index);
    for end in ends.chain([folder.len()]) {
        let path = &folder[..end];
        if matches!(inner.disk.meta_at(root, path), Ok(meta) if meta.kind != FileKind::Folder) {
            inner.disk.remove(root, path).map_err(Fault::of("remove"))?;
        }
        inner.disk.make_folder(root, path).map_err(Fault::of("make folder"))?;
    }
    Ok(())
}
