//! The lock of the store and the size record in it.
//!
//! One file, `lock`, is both: the kernel's advisory lock on it, which ends with its holder, and 72
//! bytes that say how much is stored. The record is charged *before* files appear and credited *after*
//! they are gone, so a process that dies in between leaves it too high and never too low; the next
//! recount, which an eviction begins with, puts it right.
//!
//! ```text
//! 0   8  magic "VKFSIZE1"           24  8  bytes ever removed
//! 8   8  bytes stored now           32  8  time of the last trim by age, seconds since 1970
//! 16  8  bytes ever added           40 32  BLAKE3 of the above
//! ```

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use crate::disk::{self, Disk, FileKind};
use crate::store::reason::{Fault, Skip};

pub(crate) const LOCK: &str = "lock";
const MAGIC: [u8; 8] = *b"VKFSIZE1";
const BODY: usize = 40;
const LENGTH: usize = BODY + 32;
/// Longest pause between two looks at the lock while waiting for it.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// How much is stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) bytes: u64,
    /// The sum of all charges, to see what was added while a scan was under way.
    pub(crate) added: u64,
    /// The sum of all that evictions and tools removed, which shows whether another process removed something.
    pub(crate) removed: u64,
    pub(crate) trimmed: i64,
}

impl Record {
    /// Counts bytes that are gone.
    pub(crate) fn free(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.removed = self.removed.wrapping_add(bytes);
    }

    fn encode(self) -> [u8; LENGTH] {
        let mut out = [0; LENGTH];
        out[..8].copy_from_slice(&MAGIC);
        out[8..16].copy_from_slice(&self.bytes.to_le_bytes());
        out[16..24].copy_from_slice(&self.added.to_le_bytes());
        out[24..32].copy_from_slice(&self.removed.to_le_bytes());
        out[32..40].copy_from_slice(&self.trimmed.to_le_bytes());
        let hash = blake3::hash(&out[..BODY]);
        out[BODY..].copy_from_slice(hash.as_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Option<Record> {
        let number = |at: usize| bytes.get(at..at + 8)?.try_into().ok();
        if bytes.len() != LENGTH
            || bytes[..8] != MAGIC
            || blake3::hash(&bytes[..BODY]).as_bytes() != &bytes[BODY..]
        {
            return None;
        }
        Some(Record {
            bytes: u64::from_le_bytes(number(8)?),
            added: u64::from_le_bytes(number(16)?),
            removed: u64::from_le_bytes(number(24)?),
            trimmed: i64::from_le_bytes(number(32)?),
        })
    }
}

/// The held lock. It ends when this is dropped.
pub(crate) struct Ledger<'a> {
    disk: &'a dyn Disk,
    file: File,
    /// `None` if there is no usable record, so that everything has to be counted.
    pub(crate) record: Option<Record>,
}

impl<'a> Ledger<'a> {
    /// Takes the lock, waiting at most `patience`.
    pub(crate) fn lock(
        disk: &'a dyn Disk,
        root: &File,
        user: u32,
        patience: Duration,
    ) -> Result<Ledger<'a>, Skip> {
        let start = Instant::now();
        let mut pause = Duration::from_micros(50);
        // Each round opens the file anew, for it may have been replaced while this thread waited.
        for _ in 0..8 {
            let Some(file) = open(disk, root, user)? else {
                continue;
            };
            while !disk.try_lock(&file).map_err(Fault::of("lock"))? {
                let left = patience.saturating_sub(start.elapsed());
                if left.is_zero() {
                    return Err(Skip::LockTimeout);
                }
                std::thread::sleep(pause.min(left));
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            let held = disk.meta(&file).map_err(Fault::of("stat"))?;
            match disk.meta_at(root, LOCK) {
                Ok(named) if named.is_same_file(&held) => {
                    let bytes = disk::read_all(disk, &file, LENGTH).map_err(Fault::of("read"))?;
                    let record = Record::decode(&bytes);
                    return Ok(Ledger { disk, file, record });
                }
                // The name was removed: this lock excludes nothing.
                _ => {}
            }
        }
        Err(Skip::LockTimeout)
    }

    /// Writes the record in place. It is smaller than a page, and checked when read.
    pub(crate) fn write(&mut self, record: Record) -> Result<(), Fault> {
        // Without a readable record nothing is published, so a failure here is safe.
        self.record = None;
        disk::write_all(self.disk, &self.file, &record.encode()).map_err(Fault::of("write"))?;
        self.record = Some(record);
        Ok(())
    }
}

/// Whether there is a record of a store.
pub(crate) fn is_record(disk: &dyn Disk, root: &File, user: u32) -> bool {
    let Ok(file) = disk.open(root, LOCK) else {
        return false;
    };
    let is_one = || {
        let meta = disk.meta(&file).ok()?;
        let may_be = meta.kind == FileKind::Regular && meta.owner == user && meta.length == LENGTH as u64;
        let bytes = may_be.then(|| disk::read_all(disk, &file, LENGTH).ok())??;
        Record::decode(&bytes)
    };
    // Read without the lock, it may be half another.
    (0..3).any(|_| is_one().is_some())
}

/// Opens the lock file, or takes away what is in its place; `None` asks for another try.
fn open(disk: &dyn Disk, root: &File, user: u32) -> Result<Option<File>, Fault> {
    match disk.open_record(root, LOCK) {
        Ok(file) => {
            let meta = disk.meta(&file).map_err(Fault::of("stat"))?;
            // A second name means that writing here would change a file elsewhere.
            let ours = meta.kind == FileKind::Regular
                && meta.owner == user
                && meta.links <= 1
                && (meta.length == 0 || meta.length == LENGTH as u64);
            if ours {
                return Ok(Some(file));
            }
        }
        Err(error) => match disk.meta_at(root, LOCK) {
            Ok(meta) if meta.kind != FileKind::Regular && meta.kind != FileKind::Folder => {}
            _ => return Err(Fault::of("open")(error)),
        },
    }
    match disk.remove(root, LOCK) {
        Ok(()) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Fault::of("remove")(error)),
    }
}
