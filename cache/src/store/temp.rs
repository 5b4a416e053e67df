//! Files on their way into the store.
//!
//! A temporary file has a random name of 128 bits, is made new, and is locked by its writer for as
//! long as it lives, so that a sweep can tell a slow writer from a dead one by the kernel's word.

use std::fs::File;
use std::io;

use crate::disk::{self, FileKind, Stamp};
use crate::store::inner::Inner;
use crate::store::names::{self, TMP};
use crate::store::reason::Fault;

/// How often a new file is made before a write is dropped.
const ATTEMPTS: usize = 4;

/// A complete temporary file; removed when dropped unless it was moved into place.
pub(crate) struct Temp<'a> {
    inner: &'a Inner,
    folder: File,
    name: String,
    file: Option<File>,
}

impl<'a> Temp<'a> {
    /// Writes `bytes` into a new file with the given stamp.
    pub(crate) fn write(
        inner: &'a Inner,
        root: &File,
        bytes: &[u8],
        stamp: Stamp,
    ) -> Result<Temp<'a>, Fault> {
        let disk = &*inner.disk;
        let folder = open_tmp(inner, root)?;
        let mut temp = Temp { inner, folder, name: String::new(), file: None };
        let file = temp.create()?;
        disk::write_all(disk, file, bytes).map_err(Fault::of("write"))?;
        if inner.config.durable {
            disk.sync(file).map_err(Fault::of("sync"))?;
        }
        disk.stamp(file, stamp).map_err(Fault::of("stamp"))?;
        Ok(temp)
    }

    /// Makes and locks a file. Between the two a sweep may take it for one that a dead process left;
    /// then another is made.
    fn create(&mut self) -> Result<&File, Fault> {
        let disk = &*self.inner.disk;
        for _ in 0..ATTEMPTS {
            self.name = names::random();
            let file = disk.create(&self.folder, &self.name).map_err(Fault::of("create"))?;
            let file = &*self.file.insert(file);
            // Where locks are not supported a sweep goes by age alone.
            let is_locked = disk.try_lock(file).unwrap_or(!self.inner.locks);
            let made = disk.meta(file).map_err(Fault::of("stat"))?;
            let is_named =
                disk.meta_at(&self.folder, &self.name).is_ok_and(|named| named.is_same_file(&made));
            if is_locked && is_named {
                break;
            }
            let _ = disk.remove(&self.folder, &self.name);
            self.file = None;
        }
        self.file.as_ref().ok_or(Fault { operation: "create", kind: io::ErrorKind::NotFound })
    }

    /// Moves the file to its final name. The handle, and with it the lock, is given back.
    pub(crate) fn publish(&mut self, root: &File, path: &str) -> io::Result<Option<File>> {
        self.inner.disk.rename(&self.folder, &self.name, root, path)?;
        Ok(self.file.take())
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // What cannot be removed now is swept later.
            let _ = self.inner.disk.remove(&self.folder, &self.name);
        }
    }
}

/// Opens the folder of temporary files; makes it, or takes away what is in its place.
pub(crate) fn open_tmp(inner: &Inner, root: &File) -> Result<File, Fault> {
    let disk = &*inner.disk;
    if let Ok(folder) = disk.open_folder(root, TMP) {
        return Ok(folder);
    }
    if matches!(disk.meta_at(root, TMP), Ok(meta) if meta.kind != FileKind::Folder) {
        disk.remove(root, TMP).map_err(Fault::of("remove"))?;
    }
    disk.make_folder(root, TMP).map_err(Fault::of("make folder"))?;
    disk.open_folder(root, TMP).map_err(Fault::of("open"))
}
