//! A file system that fails or stops the world at a chosen operation, for tests.
//!
//! Dying means that the operation chosen and all after it, those of destructors among them, have no
//! effect. That is what `SIGKILL` leaves behind; the locks of the dead end with their handles.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::disk::unix::{Unix, lock_answer};
use crate::disk::{Disk, Meta, Stamp};

/// What happens at the chosen operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The process is killed before the operation.
    Die,
    /// A write puts half of its bytes down, then the process is killed.
    Torn,
    /// The operation fails with this error number, once.
    Once(i32),
    /// This one and all later operations that change something fail with this error number.
    Lasting(i32),
    /// A write takes half of its bytes; the next one says that the device is full.
    Short,
}

/// Another process, as a function that is called before each operation with its number, counted from 1, and its name.
struct Other(Box<dyn Fn(usize, &'static str) + Send + Sync>);

impl fmt::Debug for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Other")
    }
}

#[derive(Debug)]
pub(crate) struct Faulty {
    count: AtomicUsize,
    at: usize,
    trouble: Trouble,
    dead: AtomicBool,
    full: AtomicBool,
    log: Mutex<Vec<&'static str>>,
    other: Option<Other>,
    /// What the file system says it is.
    pub(crate) network: Option<&'static str>,
    /// Error number of every attempt to lock.
    pub(crate) no_locks: Option<i32>,
    pub(crate) raised: bool,
}

impl Faulty {
    /// Trouble at the `at`-th operation, counted from 1; 0 is never.
    pub(crate) fn new(at: usize, trouble: Trouble) -> Faulty {
        Faulty {
            count: AtomicUsize::new(0),
            at,
            trouble,
            dead: AtomicBool::new(false),
            full: AtomicBool::new(false),
            log: Mutex::new(Vec::new()),
            other: None,
            network: None,
            no_locks: None,
            raised: false,
        }
    }

    /// No trouble.
    pub(crate) fn none() -> Faulty {
        Faulty::new(0, Trouble::Die)
    }

    /// No faults, but another process acts before each operation.
    pub(crate) fn beside(other: impl Fn(usize, &'static str) + Send + Sync + 'static) -> Faulty {
        Faulty { other: Some(Other(Box::new(other))), ..Faulty::none() }
    }

    /// The operations so far, in order.
    pub(crate) fn operations(&self) -> Vec<&'static str> {
        self.log.lock().unwrap().clone()
    }

    /// Kills the process now.
    pub(crate) fn kill(&self) {
        self.dead.store(true, Ordering::SeqCst);
    }

    fn step(&self, name: &'static str, changes: bool) -> io::Result<()> {
        if self.dead.load(Ordering::SeqCst) {
            return Err(io::Error::other("dead"));
        }
        let number = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        self.log.lock().unwrap().push(name);
        if let Some(Other(act)) = &self.other {
            act(number, name);
        }
        let reached = self.at != 0 && number >= self.at;
        match self.trouble {
            Trouble::Die if reached => {
                self.dead.store(true, Ordering::SeqCst);
                Err(io::Error::other("dead"))
            }
            Trouble::Once(code) if number == self.at => Err(io::Error::from_raw_os_error(code)),
            Trouble::Lasting(code) if reached && changes => Err(io::Error::from_raw_os_error(code)),
            _ => Ok(()),
        }
    }
}

impl Disk for Faulty {
    fn open_root(&self, path: &Path) -> io::Result<File> {
        self.step("open_root", false)?;
        Unix.open_root(path)
    }

    fn make_root(&self, path: &Path) -> io::Result<()> {
        self.step("make_root", true)?;
        Unix.make_root(path)
    }

    fn open_folder(&self, at: &File, path: &str) -> io::Result<File> {
        self.step("open_folder", false)?;
        Unix.open_folder(at, path)
    }

    fn make_folder(&self, at: &File, path: &str) -> io::Result<bool> {
        self.step("make_folder", true)?;
        Unix.make_folder(at, path)
    }

    fn open(&self, at: &File, path: &str) -> io::Result<File> {
        self.step("open", false)?;
        Unix.open(at, path)
    }

    fn create(&self, at: &File, path: &str) -> io::Result<File> {
        self.step("create", true)?;
        Unix.create(at, path)
    }

    fn open_record(&self, at: &File, path: &str) -> io::Result<File> {
        self.step("open_record", false)?;
        Unix.open_record(at, path)
    }

    fn meta(&self, file: &File) -> io::Result<Meta> {
        self.step("meta", false)?;
        Unix.meta(file)
    }

    fn meta_at(&self, at: &File, path: &str) -> io::Result<Meta> {
        self.step("meta_at", false)?;
        Unix.meta_at(at, path)
    }

    fn read(&self, file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.step("read", false)?;
        Unix.read(file, into, offset)
    }

    fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.step("write", true)?;
        let chosen = self.at != 0 && self.count.load(Ordering::SeqCst) == self.at;
        match self.trouble {
            Trouble::Torn if chosen => {
                self.dead.store(true, Ordering::SeqCst);
                let _ = Unix.write(file, &bytes[..bytes.len() / 2], offset);
                Err(io::Error::other("dead"))
            }
            Trouble::Short if chosen => {
                self.full.store(true, Ordering::SeqCst);
                Unix.write(file, &bytes[..bytes.len() / 2], offset)
            }
            Trouble::Short if self.full.swap(false, Ordering::SeqCst) => {
                Err(io::ErrorKind::StorageFull.into())
            }
            _ => Unix.write(file, bytes, offset),
        }
    }

    fn rename(&self, from: &File, name: &str, to: &File, path: &str) -> io::Result<()> {
        self.step("rename", true)?;
        Unix.rename(from, name, to, path)
    }

    fn remove(&self, at: &File, path: &str) -> io::Result<()> {
        self.step("remove", false)?;
        Unix.remove(at, path)
    }

    fn remove_folder(&self, at: &File, path: &str) -> io::Result<()> {
        self.step("remove_folder", false)?;
        Unix.remove_folder(at, path)
    }

    fn list(&self, folder: &File) -> io::Result<Vec<(String, crate::disk::FileKind)>> {
        self.step("list", false)?;
        Unix.list(folder)
    }

    fn stamp(&self, file: &File, stamp: Stamp) -> io::Result<()> {
        self.step("stamp", true)?;
        Unix.stamp(file, stamp)
    }

    fn try_lock(&self, file: &File) -> io::Result<bool> {
        self.step("try_lock", false)?;
        match self.no_locks {
            Some(code) => lock_answer(rustix::io::Errno::from_raw_os_error(code)),
            None => Unix.try_lock(file),
        }
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.step("sync", true)?;
        Unix.sync(file)
    }

    fn network(&self, folder: &File) -> io::Result<Option<&'static str>> {
        self.step("network", false)?;
        match self.network {
            Some(name) => Ok(Some(name)),
            None => Unix.network(folder),
        }
    }

    fn user(&self) -> (u32, bool) {
        (Unix.user().0, self.raised)
    }
}
