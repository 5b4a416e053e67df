//! Removes what dead processes left, and what has not been used for too long.

use std::fs::File;

use crate::disk::FileKind;
use crate::event::Event;
use crate::store::evict::{self, Target};
use crate::store::inner::Inner;
use crate::store::names::{self, TMP};

/// How often entries are removed for their age, in seconds.
const TRIM_INTERVAL: i64 = 24 * 3600;

/// What a sweep removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Swept {
    /// Temporary files of dead writers.
    pub files: u64,
    /// Temporary files that stay, because they are young or their writer lives.
    pub kept: u64,
}

/// Removes temporary files whose writers are dead, which shows in that their lock is free. Young
/// ones are left, since there is a moment between making a file and locking it. The sweep holds the lock
/// itself until the file is gone: a writer that comes to lock it meanwhile makes another.
pub(crate) fn sweep(inner: &Inner, root: &File) -> Swept {
    let mut swept = Swept::default();
    let disk = &*inner.disk;
    let Ok(folder) = disk.open_folder(root, TMP) else {
        return swept;
    };
    let Ok(names) = disk.list(&folder) else {
        return swept;
    };
    let now = inner.now().0;
    let least = i64::try_from(inner.config.sweep_age.as_secs()).unwrap_or(i64::MAX);
    for (name, _) in names.iter().filter(|(name, _)| names::is_temporary(name)) {
        let Ok(meta) = disk.meta_at(&folder, name) else {
            continue;
        };
        // A stamp from the future says nothing about the age.
        let is_young = meta.stamp.0 <= now && now - meta.stamp.0 < least;
        let may_be_dead = !is_young && meta.kind == FileKind::Regular && meta.owner == inner.user;
        let opened = if may_be_dead { disk.open(&folder, name).ok() } else { None };
        // Without locks the age alone has to do.
        let held = opened.filter(|file| !inner.locks || disk.try_lock(file).unwrap_or(false));
        let is_removed = held.is_some() && disk.remove(&folder, name).is_ok();
        drop(held);
        if is_removed {
            swept.files += 1;
        } else {
            swept.kept += 1;
        }
    }
    if swept.files > 0 {
        inner.emit(|| Event::DidSweep { files: swept.files });
    }
    swept
}

/// Removes entries over the age limit, once a day over all processes.
pub(crate) fn trim(inner: &Inner, root: &File) {
    if !inner.locks || inner.config.max_age.is_none() {
        return;
    }
    let now = inner.now().0;
    let Ok(mut ledger) = inner.lock(root) else {
        return;
    };
    let Some(record) = ledger.record else {
        return;
    };
    // A trim in the future is a clock that was set back.
    if record.trimmed <= now && now - record.trimmed < TRIM_INTERVAL {
        return;
    }
    let record = crate::store::ledger::Record { trimmed: now, ..record };
    if ledger.write(record).is_err() {
        return;
    }
    drop(ledger);
    let target = Target { trigger: u64::MAX, goal: u64::MAX, oldest: evict::oldest(inner) };
    // Whatever stops it now, it is tried again tomorrow.
    evict::evict(inner, root, target);
}
