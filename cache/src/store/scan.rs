//! A walk over everything that is stored, of every format version.
//!
//! The walk takes no lock, so what it finds may be gone, or may have been joined by more, when it is
//! acted on. Names that are not of this store are passed over: they are neither counted nor removed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;

use crate::disk::{Disk, FileKind, Meta, Stamp};
use crate::store::inner::Inner;
use crate::store::lookup::Place;
use crate::store::names::{self, FOLDER_BYTES, LEVELS, Named, Role};
use crate::store::reason::Fault;

/// One file of an entry.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub(crate) name: String,
    pub(crate) driver: String,
    pub(crate) role: Role,
    pub(crate) meta: Meta,
}

/// The files of one key.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// Relative to the root, with the version.
    pub(crate) folder: String,
    /// What the key is called.
    pub(crate) stem: String,
    pub(crate) number: u32,
    /// Ordered by role, the entry first, the source last.
    pub(crate) pieces: Vec<Piece>,
}

impl Group {
    pub(crate) fn piece(&self, role: Role) -> Option<&Piece> {
        self.pieces.iter().find(|piece| piece.role == role)
    }

    pub(crate) fn place(&self) -> Place {
        Place { folder: self.folder.clone(), stem: self.stem.clone(), number: self.number }
    }

    /// When the entry was used last: the stamp of the `.bin`, or of what else there is.
    pub(crate) fn stamp(&self) -> Stamp {
        self.piece(Role::Entry).or_else(|| self.pieces.first()).map_or((0, 0), |piece| piece.meta.stamp)
    }
}

/// Everything that is stored.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) groups: Vec<Group>,
    /// What it takes of the disk, folders among it.
    pub(crate) bytes: u64,
    /// Folders with nothing of ours in them, which a dead process may have left. The inner before the
    /// outer ones.
    pub(crate) empty: Vec<String>,
    /// What first could not be looked at, so that there is more than was found.
    pub(crate) incomplete: Option<Fault>,
}

impl Found {
    /// Something could not be looked at. What is not there another process may have removed meanwhile.
    fn miss(&mut self, operation: &'static str, error: io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            self.incomplete.get_or_insert(Fault::of(operation)(error));
        }
    }
}

/// Walks all version folders.
pub(crate) fn scan(inner: &Inner, root: &File) -> Result<Found, Fault> {
    let mut found = Found::default();
    let names = list(inner, root, ".").map_err(Fault::of("list"))?;
    for (name, kind) in names {
        if names::is_version(&name) && may_be_folder(kind) {
            walk(inner, root, name, LEVELS, &mut found);
        }
    }
    Ok(found)
}

fn may_be_folder(kind: FileKind) -> bool {
    matches!(kind, FileKind::Folder | FileKind::Unknown)
}

fn list(inner: &Inner, root: &File, path: &str) -> io::Result<Vec<(String, FileKind)>> {
    let folder = inner.disk.open_folder(root, path)?;
    inner.disk.list(&folder)
}

fn walk(inner: &Inner, root: &File, path: String, levels: usize, found: &mut Found) {
    let opened = inner.disk.open_folder(root, &path);
    let folder = match opened {
        Ok(folder) => folder,
        Err(error) => {
            found.miss("open", error);
            return;
        }
    };
    let names = match inner.disk.list(&folder) {
        Ok(names) => names,
        Err(error) => {
            found.miss("list", error);
            return;
        }
    };
    let mut is_empty = true;
    for (name, kind) in &names {
        if levels > 0 && names::is_level(name) && may_be_folder(*kind) {
            is_empty = false;
            found.bytes += FOLDER_BYTES;
            walk(inner, root, format!("{path}/{name}"), levels - 1, found);
        }
    }
    // The version folder has no files, and stays.
    if levels < LEVELS && !collect(&*inner.disk, &folder, &path, &names, found) && is_empty {
        found.empty.push(path);
    }
}

/// Adds the files of a folder. Says whether there are any.
fn collect(
    disk: &dyn Disk,
    folder: &File,
    path: &str,
    names: &[(String, FileKind)],
    found: &mut Found,
) -> bool {
    let mut groups: BTreeMap<(&str, u32), Vec<Piece>> = BTreeMap::new();
    for (name, _) in names {
        let Some(Named { stem, number, driver, role }) = names::parse(name) else {
            continue;
        };
        let meta = match disk.meta_at(folder, name) {
            Ok(meta) => meta,
            Err(error) => {
                found.miss("stat", error);
                continue;
            }
        };
        if meta.kind != FileKind::Regular {
            continue;
        }
        found.bytes += names::stored_bytes(role, meta.length);
        groups.entry((stem, number)).or_default().push(Piece {
            name: name.clone(),
            driver: driver.to_owned(),
            role,
            meta,
        });
    }
    let has_any = !groups.is_empty();
    for ((stem, number), mut pieces) in groups {
        pieces.sort_by(|a, b| (a.role, &a.name).cmp(&(b.role, &b.name)));
        found.groups.push(Group { folder: path.to_owned(), stem: stem.to_owned(), number, pieces });
    }
    has_any
}
