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
        let name = names::random();
        let file = disk.create(&folder, &name).map_err(Fault::of("create"))?;
        let temp = Temp {
            inner,
            folder,
            name,
            file: Some(file),
        };
        if let Some(file) = &temp.file {
            // Where locks are not supported a sweep goes by age alone.
            let _ = disk.try_lock(file);
            disk::write_all(disk, file, bytes).map_err(Fault::of("write"))?;
            if inner.config.durable {
                disk.sync(file).map_err(Fault::of("sync"))?;
            }
            disk.stamp(file, stamp).map_err(Fault::of("stamp"))?;
        }
        Ok(temp)
    }

    /// Moves the file to its final name. The handle, and with it the lock, is given back.
    pub(crate) fn publish(&mut self, root: &File, path: &str) -> io::Result<Option<File>> {
        self.inner
            .disk
            .rename(&self.folder, &self.name, root, path)?;
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
    disk.make_folder(root, TMP)
        .map_err(Fault::of("make folder"))?;
    disk.open_folder(root, TMP).map_err(Fault::of("open"))
}
