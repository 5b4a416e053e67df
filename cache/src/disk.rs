//! The file operations that the store is made of, as a seam.
//!
//! Everything the store does to files goes through [`Disk`], one operation per system call. So a test
//! can count the operations of a put, fail any one of them in any way, and stop the world after any
//! one of them, which is what a killed process does.
//!
//! Paths are relative to an open folder, have `/` between their parts, and are never followed through
//! links or out of the folder. Handles are never inherited by child processes.

#[cfg(test)]
pub(crate) mod faulty;
#[cfg(unix)]
mod unix;

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A time stamp of a file: seconds and nanoseconds since 1970.
pub(crate) type Stamp = (i64, u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Regular,
    Folder,
    Other,
    /// The file system does not say in a listing.
    Unknown,
}

/// What the store wants to know about a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meta {
    pub(crate) kind: FileKind,
    pub(crate) owner: u32,
    pub(crate) mode: u32,
    pub(crate) length: u64,
    pub(crate) links: u64,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) stamp: Stamp,
}

impl Meta {
    /// Whether another user could have written it.
    pub(crate) fn is_foreign(&self, user: u32) -> bool {
        self.owner != user || self.mode & 0o022 != 0
    }

    pub(crate) fn is_same_file(&self, other: &Meta) -> bool {
        self.device == other.device && self.inode == other.inode
    }
}

pub(crate) trait Disk: Send + Sync + Debug {
    /// Opens the root folder, which must not be a link.
    fn open_root(&self, path: &Path) -> io::Result<File>;
    /// Makes the root folder and what is missing above it, for the owner only.
    fn make_root(&self, path: &Path) -> io::Result<()>;
    /// Opens a folder.
    fn open_folder(&self, at: &File, path: &str) -> io::Result<File>;
    /// Makes a folder for the owner only; false if there is something already.
    fn make_folder(&self, at: &File, path: &str) -> io::Result<bool>;
    /// Opens a file for reading, without waiting for anything.
    fn open(&self, at: &File, path: &str) -> io::Result<File>;
    /// Makes a new file for the owner only.
    fn create(&self, at: &File, path: &str) -> io::Result<File>;
    /// Opens a file for reading and writing in place, and makes it if it is not there.
    fn open_record(&self, at: &File, path: &str) -> io::Result<File>;
    fn meta(&self, file: &File) -> io::Result<Meta>;
    /// About the name itself, not what it links to.
    fn meta_at(&self, at: &File, path: &str) -> io::Result<Meta>;
    fn read(&self, file: &File, into: &mut [u8], offset: u64) -> io::Result<usize>;
    fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<usize>;
    fn rename(&self, from: &File, name: &str, to: &File, path: &str) -> io::Result<()>;
    fn remove(&self, at: &File, path: &str) -> io::Result<()>;
    fn remove_folder(&self, at: &File, path: &str) -> io::Result<()>;
    /// Names in a folder; those that are not UTF-8 are not ours and are left out.
    fn list(&self, folder: &File) -> io::Result<Vec<(String, FileKind)>>;
    /// Sets the stamp that says when a file was last used.
    fn stamp(&self, file: &File, stamp: Stamp) -> io::Result<()>;
    /// Takes the exclusive lock of an open file if it is free. Dropping the handle releases it. A file
    /// system without locks answers `Unsupported`.
    fn try_lock(&self, file: &File) -> io::Result<bool>;
    /// Writes a file through to the device.
    fn sync(&self, file: &File) -> io::Result<()>;
    /// The name of the file system, if it is one where locks and renames are not dependable.
    fn network(&self, folder: &File) -> io::Result<Option<&'static str>>;
    /// The user that this process is, and whether its rights are raised over its caller's.
    fn user(&self) -> (u32, bool);
}

/// The file system of this machine, if there is an implementation for it.
pub(crate) fn system() -> Option<Arc<dyn Disk>> {
    #[cfg(unix)]
    return Some(Arc::new(unix::Unix));
    #[cfg(not(unix))]
    None
}

/// Reads at most `limit` bytes of a file whose length is known, and one more to see that it has not
/// grown.
///
/// # Errors
/// Those of reading, and `OutOfMemory` for a large file that there is no memory for.
pub(crate) fn read_all(disk: &dyn Disk, file: &File, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = zeros(length + 1)?;
    let mut filled = 0;
    while filled < bytes.len() {
        match disk.read(file, &mut bytes[filled..], filled as u64) {
            Ok(count) => {
                filled += count;
                // A regular file gives less than was asked for only at its end.
                if count == 0 || filled == length {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// A buffer whose size a file has given. Small ones are made as everything else is.
fn zeros(length: usize) -> io::Result<Vec<u8>> {
    const LARGE: usize = 1 << 20;
    if length < LARGE {
        return Ok(vec![0; length]);
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length)?;
    bytes.resize(length, 0);
    Ok(bytes)
}

/// Writes all bytes; a device that takes no more is an error.
pub(crate) fn write_all(disk: &dyn Disk, file: &File, bytes: &[u8]) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match disk.write(file, &bytes[done..], done as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
