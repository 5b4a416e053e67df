//! Making room: what was used longest ago goes first, a third of the limit at a time.
//!
//! The store is counted without the lock; what is chosen is removed under the lock in small batches,
//! and only if it is still the file that was counted, with the stamp that it had. So an entry that was
//! used or replaced meanwhile stays, and the lock is never held for long. Between two batches the lock
//! is left alone for long enough that every waiter gets a turn: a kernel lock is not
//! fair, and a process that takes it again at once wins it again and again.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use crate::disk::{FileKind, Stamp};
use crate::event::Event;
use crate::store::inner::Inner;
use crate::store::ledger::{self, Ledger};
use crate::store::lookup::Place;
use crate::store::names::{self, FOLDER_BYTES, Named, Role};
use crate::store::reason::{Fault, Skip};
use crate::store::scan::{self, Group, Piece};
use crate::store::stats;

/// How long one batch of removals may hold the lock.
const BATCH: Duration = Duration::from_millis(8);
/// Least time that the lock is then free. All waiters look at it within half of that.
const REST: Duration = ledger::LONGEST_PAUSE.saturating_mul(2);

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// Entries and driver blobs removed.
    pub files: u64,
    /// What they took of the disk.
    pub bytes: u64,
    /// What is left.
    pub left: u64,
    /// Entries and driver blobs that should have gone and are still there: they could not be removed, or were used
    /// or replaced meanwhile.
    pub kept: u64,
    /// Why not everything was done: what stopped it, else the first removal that failed.
    pub problem: Option<Skip>,
}

/// Something that can be removed by itself: an entry with all that belongs to it, or one driver blob.
struct Candidate<'a> {
    group: &'a Group,
    blob: Option<&'a Piece>,
    stamp: Stamp,
}

/// What an eviction is to reach.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    /// Nothing is removed for size while at most this is stored.
    pub(crate) trigger: u64,
    /// Once something is removed for size, removal goes on down to this.
    pub(crate) goal: u64,
    /// Everything used before this goes in any case.
    pub(crate) oldest: Option<Stamp>,
}

/// Makes room for `need` more bytes, and writes a new record.
pub(crate) fn make_room(inner: &Inner, root: &File, need: u64) -> Result<Pruned, Skip> {
    let limit = inner.config.max_size;
    let target = if limit == 0 {
        Target { trigger: u64::MAX, goal: u64::MAX, oldest: oldest(inner) }
    } else {
        Target {
            trigger: limit.saturating_sub(need),
            goal: (limit - limit / 3).saturating_sub(need),
            oldest: oldest(inner),
        }
    };
    let (pruned, stopped) = reduce_and_count(inner, root, target);
    // What could not be removed may leave enough room all the same.
    stopped.map(|()| pruned)
}

/// The stamp before which entries are too old.
pub(crate) fn oldest(inner: &Inner) -> Option<Stamp> {
    let age = inner.config.max_age?;
    let seconds = i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
    Some((inner.now().0.saturating_sub(seconds), 0))
}

/// Recounts the store and removes down to the target, as far as it gets.
pub(crate) fn evict(inner: &Inner, root: &File, target: Target) -> Pruned {
    let (mut pruned, stopped) = reduce_and_count(inner, root, target);
    if let Err(problem) = stopped {
        pruned.problem = Some(problem);
    }
    pruned
}

fn reduce_and_count(inner: &Inner, root: &File, target: Target) -> (Pruned, Result<(), Skip>) {
    let mut pruned = Pruned::default();
    let stopped = reduce(inner, root, target, &mut pruned);
    if pruned.files > 0 {
        stats::add(&inner.counters.evicted, pruned.files);
        stats::add(&inner.counters.evicted_bytes, pruned.bytes);
        inner.emit(|| Event::DidEvictDisk { files: pruned.files, bytes: pruned.bytes });
    }
    (pruned, stopped)
}

fn reduce(inner: &Inner, root: &File, target: Target, pruned: &mut Pruned) -> Result<(), Skip> {
    let before = inner.lock(root)?.record;
    let found = scan::scan(inner, root)?;
    pruned.problem = found.incomplete.map(Skip::Io);
    let now = inner.now();
    let mut candidates = candidates(&found.groups);
    for candidate in &mut candidates {
        if candidate.stamp > now {
            // A stamp from the future would make an entry immortal.
            restamp(inner, root, candidate, now);
        }
    }
    candidates.sort_by(|a, b| {
        let name = |c: &Candidate<'_>| c.blob.map(|blob| blob.name.clone());
        let place = |c: &'_ Candidate<'_>| (c.group.folder.clone(), c.group.stem.clone(), c.group.number);
        a.stamp.cmp(&b.stamp).then_with(|| (place(a), name(a)).cmp(&(place(b), name(b))))
    });
    let mut queue = candidates.into_iter().peekable();
    let mut basis = Some(before);
    let mut removing = false;
    let mut empty = found.empty.iter();
    loop {
        let mut ledger = inner.lock(root)?;
        let start = Instant::now();
        let mut record = ledger.record.unwrap_or_default();
        if let Some(before) = basis.take() {
            // What was added since the count began may or may not be in it: count it twice rather
            // than not at all.
            let added = before.map_or(0, |before| record.added.wrapping_sub(before.added));
            let counted = found.bytes.saturating_add(added);
            // If another process removed files meanwhile, the count is too high, and its record may
            // be better: going by the count would evict for both.
            let is_stale = before.is_some_and(|before| before.removed != record.removed);
            record.bytes = match found.incomplete.is_some() {
                true => record.bytes.max(counted),
                false if is_stale => record.bytes.min(counted),
                false => counted,
            };
        }
        for folder in empty.by_ref() {
            record.free(remove_folders(inner, root, folder));
            if start.elapsed() >= BATCH {
                break;
            }
        }
        // At least one removal in each batch, however slow the machine is.
        let done = loop {
            let Some(candidate) = queue.peek() else {
                break true;
            };
            let is_old = target.oldest.is_some_and(|oldest| candidate.stamp < oldest);
            removing |= record.bytes > target.trigger;
            let is_over = removing && record.bytes > target.goal;
            if !is_old && !is_over {
                break true;
            }
            let (freed, fault) = remove(inner, root, candidate);
            pruned.files += u64::from(freed > 0 && fault.is_none());
            pruned.bytes += freed;
            record.free(freed);
            if let Some(fault) = fault {
                pruned.problem.get_or_insert(Skip::Io(fault));
            }
            pruned.kept += u64::from(fault.is_some() || freed == 0 && is_there(inner, root, candidate));
            queue.next();
            if start.elapsed() >= BATCH {
                break false;
            }
        };
        ledger.write(record)?;
        drop(ledger);
        pruned.left = record.bytes;
        if done && empty.len() == 0 {
            break;
        }
        // A machine that is slow to remove files is as slow to wake waiters.
        std::thread::sleep(REST.max(start.elapsed() / 2));
    }
    Ok(())
}

/// Sets the record right after files were removed or replaced in a way that was not counted.
pub(crate) fn settle(ledger: &mut Ledger<'_>, freed: u64) {
    if let Some(mut record) = ledger.record {
        record.free(freed);
        let _ = ledger.write(record);
    }
}

fn candidates(groups: &[Group]) -> Vec<Candidate<'_>> {
    let mut all = Vec::with_capacity(groups.len());
    for group in groups {
        all.push(Candidate { group, blob: None, stamp: group.stamp() });
        // Blobs of a driver that is no longer there get old while their entry is still used.
        for piece in &group.pieces {
            if piece.role == Role::Blob && piece.meta.stamp < group.stamp() {
                all.push(Candidate { group, blob: Some(piece), stamp: piece.meta.stamp });
            }
        }
    }
    all
}

fn restamp(inner: &Inner, root: &File, candidate: &mut Candidate<'_>, now: Stamp) {
    let piece = candidate.blob.or_else(|| candidate.group.pieces.first());
    let Some(piece) = piece else {
        return;
    };
    let path = format!("{}/{}", candidate.group.folder, piece.name);
    if let Ok(file) = inner.disk.open(root, &path)
        && inner.disk.stamp(&file, now).is_ok()
    {
        candidate.stamp = now;
    }
}

/// Removes a candidate if it is still what was counted. Returns what that set free, and what failed.
fn remove(inner: &Inner, root: &File, candidate: &Candidate<'_>) -> (u64, Option<Fault>) {
    let group = candidate.group;
    let Some(first) = candidate.blob.or_else(|| group.pieces.first()) else {
        return (0, None);
    };
    let path = |piece: &Piece| format!("{}/{}", group.folder, piece.name);
    let now = match inner.disk.meta_at(root, &path(first)) {
        Ok(now) => now,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return (0, None),
        Err(error) => return (0, Some(Fault::of("stat")(error))),
    };
    let is_unchanged =
        now.is_same_file(&first.meta) && (now.stamp == first.meta.stamp || now.stamp == candidate.stamp);
    if !is_unchanged {
        return (0, None);
    }
    if let Some(blob) = candidate.blob {
        return remove_file(inner, root, &path(blob))
            .map_or_else(|fault| (0, Some(fault)), |freed| (freed, None));
    }
    remove_group(inner, root, &group.place())
}

/// Whether a file of a candidate is still there.
fn is_there(inner: &Inner, root: &File, candidate: &Candidate<'_>) -> bool {
    let mut pieces: Box<dyn Iterator<Item = &Piece>> = match candidate.blob {
        Some(blob) => Box::new(std::iter::once(blob)),
        None => Box::new(candidate.group.pieces.iter()),
    };
    pieces
        .any(|piece| inner.disk.meta_at(root, &format!("{}/{}", candidate.group.folder, piece.name)).is_ok())
}

/// Removes all files of an entry, its `.bin` first, and the folders that this empties. The lock must
/// be held. Returns what that set free, and the first fault.
pub(crate) fn remove_group(inner: &Inner, root: &File, place: &Place) -> (u64, Option<Fault>) {
    let folder = &*place.folder;
    // Listed anew, for blobs may have come since the count.
    let opened = match inner.disk.open_folder(root, folder) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return (0, None),
        Err(error) => return (0, Some(Fault::of("open")(error))),
    };
    let names = match inner.disk.list(&opened) {
        Ok(names) => names,
        Err(error) => return (0, Some(Fault::of("list")(error))),
    };
    let mut pieces: Vec<(Role, String)> = names
        .into_iter()
        .filter_map(|(name, _)| {
            let named = names::parse(&name)?;
            let role = named.role;
            (named.stem == place.stem && named.number == place.number).then_some((role, name))
        })
        .collect();
    pieces.sort();
    let (mut freed, mut failed) = (0, None);
    for (_, name) in pieces {
        match remove_file(inner, root, &format!("{folder}/{name}")) {
            Ok(bytes) => freed += bytes,
            Err(fault) => failed = failed.or(Some(fault)),
        }
    }
    (freed + remove_folders(inner, root, folder), failed)
}

/// Removes a folder and those above it as far as they are empty. The lock must be held: a writer that makes
/// folders holds it until there is something in them.
fn remove_folders(inner: &Inner, root: &File, folder: &str) -> u64 {
    let mut freed = 0;
    let mut path = folder;
    // The version folder stays.
    while path.contains('/') {
        if inner.disk.remove_folder(root, path).is_err() {
            break;
        }
        freed += FOLDER_BYTES;
        match path.rsplit_once('/') {
            Some((above, _)) => path = above,
            None => break,
        }
    }
    freed
}

/// Removes one file. Returns what that set free, which is nothing if it was not a file of ours or could
/// not be removed.
pub(crate) fn remove_piece(inner: &Inner, root: &File, path: &str) -> u64 {
    remove_file(inner, root, path).unwrap_or(0)
}

/// Removes one file. Returns what that set free, which is nothing if there was none of ours.
fn remove_file(inner: &Inner, root: &File, path: &str) -> Result<u64, Fault> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some(Named { role, .. }) = names::parse(name) else {
        return Ok(0);
    };
    match inner.disk.meta_at(root, path) {
        Ok(meta) if meta.kind == FileKind::Regular && meta.owner == inner.user => {
            match inner.disk.remove(root, path) {
                Ok(()) => Ok(names::stored_bytes(role, meta.length)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
                Err(error) => Err(Fault::of("remove")(error)),
            }
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Fault::of("stat")(error)),
        _ => Ok(0),
    }
}
