//! Whose folder it is: nothing is touched in a folder that is not this store's.
//!
//! Names such as `lock`, `tmp` and `v1` are anybody's. So a folder is used if it has the mark of a store, or if it is
//! empty, and then it is marked before anything else comes into it. A store that is older than the mark is known by its
//! record, or by the empty folders that it begins with; it is marked where it has the folder for itself.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::disk::{self, Disk, FileKind};
use crate::store::ledger::{self, LOCK};
use crate::store::names::{self, MARK, TMP};
use crate::store::reason::{Disabled, Fault};

/// What people find in the mark. The name alone counts.
const WORDS: &[u8] =
    b"This folder is a cache of vkfuse, which removes what it likes here. It can be deleted at any time.\n";
/// How often a folder is looked at that others are marking.
const LOOKS: usize = 3;

/// Makes sure that a folder is this store's.
pub(crate) fn claim(disk: &dyn Disk, root: &File, path: &Path, user: u32) -> Result<(), Disabled> {
    let failed = |operation| {
        move |error| Disabled::Folder { path: path.to_owned(), fault: Fault::of(operation)(error) }
    };
    for _ in 0..LOOKS {
        if is_marked(disk, root, user).map_err(failed("stat"))? {
            return Ok(());
        }
        let names = disk.list(root).map_err(failed("list"))?;
        let is_older = is_older(disk, root, user, &names);
        if !names.is_empty() && !is_older {
            // A listing may have missed what another process has made meanwhile.
            if is_marked(disk, root, user).map_err(failed("stat"))? {
                return Ok(());
            }
            return Err(Disabled::NotACache(path.to_owned()));
        }
        match mark(disk, root) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // A folder that can only be read serves hits.
            Err(_) if is_older => return Ok(()),
            Err(error) => return Err(failed("create")(error)),
        }
    }
    Err(Disabled::NotACache(path.to_owned()))
}

/// Marks a folder again that is this store's, where the mark was taken away.
pub(crate) fn keep(disk: &dyn Disk, root: &File) {
    if matches!(disk.meta_at(root, MARK), Err(error) if error.kind() == io::ErrorKind::NotFound) {
        // A folder that cannot be written is not written to.
        let _ = mark(disk, root);
    }
}

fn mark(disk: &dyn Disk, root: &File) -> io::Result<()> {
    let file = disk.create(root, MARK)?;
    let _ = disk::write_all(disk, &file, WORDS);
    Ok(())
}

/// Whether a folder has the mark, made by this user.
pub(crate) fn is_marked(disk: &dyn Disk, root: &File, user: u32) -> io::Result<bool> {
    match disk.meta_at(root, MARK) {
        Ok(meta) => Ok(meta.kind == FileKind::Regular && !meta.is_foreign(user)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether there is a store without a mark, and nothing else.
fn is_older(disk: &dyn Disk, root: &File, user: u32, found: &[(String, FileKind)]) -> bool {
    let has = |wanted: &str| found.iter().any(|(name, _)| name == wanted);
    let folders = || found.iter().map(|(name, _)| name.as_str()).filter(|name| *name != LOCK);
    if !has(LOCK) || !folders().all(|name| name == TMP || names::is_version(name)) {
        return false;
    }
    if ledger::is_record(disk, root, user) {
        return true;
    }
    let is_empty = |name: &str| {
        disk.open_folder(root, name).and_then(|folder| disk.list(&folder)).is_ok_and(|names| names.is_empty())
    };
    let lock = disk.meta_at(root, LOCK);
    let was_never_written =
        lock.is_ok_and(|meta| meta.kind == FileKind::Regular && meta.owner == user && meta.length == 0);
    was_never_written && has(TMP) && folders().count() > 1 && folders().all(is_empty)
}
