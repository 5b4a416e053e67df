//! What the parts of the store share: settings, the open root folder, counters.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::clock::since_epoch;
use crate::config::StoreConfig;
use crate::disk::{Disk, FileKind, Meta, Stamp};
use crate::event::Event;
use crate::store::ledger::Ledger;
use crate::store::names::VERSION;
use crate::store::own;
use crate::store::reason::{Disabled, Fault, Miss, Skip};
use crate::store::stats::Counters;
use crate::store::temp;

/// The user who may write everywhere.
const ADMINISTRATOR: u32 = 0;

pub(crate) struct Inner {
    pub(crate) config: StoreConfig,
    pub(crate) path: PathBuf,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) user: u32,
    /// Whether the file system has locks. Without them nothing is counted or evicted.
    pub(crate) locks: bool,
    pub(crate) counters: Counters,
    /// The size by the latest record, to see whether the store gets full.
    pub(crate) stored: AtomicU64,
    /// Whether it is a lower store: it may belong to the administrator, and nothing is written to it.
    is_lower: bool,
    root: Mutex<(Arc<File>, Meta)>,
    /// After a time-out, no call waits for the lock again until then.
    impatient_until: Mutex<Option<Instant>>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    /// Opens and checks the root folder.
    pub(crate) fn open(config: StoreConfig, disk: Arc<dyn Disk>) -> Result<Inner, Disabled> {
        let Some(path) = config.dir.clone() else {
            return Err(config.off.clone().unwrap_or(Disabled::NoFolder));
        };
        let (user, raised) = disk.user();
        if raised {
            return Err(Disabled::RaisedRights);
        }
        if !path.is_absolute() {
            return Err(Disabled::Relative(path));
        }
        let (root, meta) = open_root(&*disk, &path, user)?;
        let network = disk.network(&root).unwrap_or(None);
        if let Some(name) = network
            && !config.allow_network
        {
            return Err(Disabled::Network { path, name });
        }
        own::claim(&*disk, &root, &path, user)?;
        let locks = match Ledger::lock(&*disk, &root, user, Duration::ZERO) {
            Err(Skip::Io(fault)) => !is_unsupported(fault),
            Ok(_) | Err(_) => true,
        };
        if !locks && !config.allow_network {
            return Err(Disabled::NoLocks(path));
        }
        Ok(Inner {
            config,
            path,
            disk,
            user,
            locks,
            counters: Counters::default(),
            stored: AtomicU64::new(0),
            is_lower: false,
            root: Mutex::new((Arc::new(root), meta)),
            impatient_until: Mutex::new(None),
        })
    }

    /// Opens and checks the folder of a lower store, which is read and never written: not marked, locked, counted or
    /// stamped. It belongs to this user or to the administrator, who has all rights anyway.
    pub(crate) fn open_lower(
        path: &Path,
        config: &StoreConfig,
        disk: Arc<dyn Disk>,
    ) -> Result<Inner, Disabled> {
        let path = path.to_owned();
        let (user, raised) = disk.user();
        if raised {
            return Err(Disabled::RaisedRights);
        }
        if !path.is_absolute() {
            return Err(Disabled::Relative(path));
        }
        let folder = |fault| Disabled::Folder { path: path.clone(), fault };
        let root = disk.open_root(&path).map_err(|error| folder(Fault::of("open")(error)))?;
        let meta = disk.meta(&root).map_err(|error| folder(Fault::of("stat")(error)))?;
        if meta.owner != user && meta.owner != ADMINISTRATOR {
            return Err(Disabled::ForeignOwner(path));
        }
        if meta.mode & 0o022 != 0 {
            return Err(Disabled::SharedFolder(path));
        }
        let is_marked = |user| own::is_marked(&*disk, &root, user).unwrap_or(false);
        if !is_marked(user) && !is_marked(ADMINISTRATOR) {
            return Err(Disabled::NotACache(path));
        }
        Ok(Inner {
            config: config.clone(),
            path,
            disk,
            user,
            locks: false,
            counters: Counters::default(),
            stored: AtomicU64::new(0),
            is_lower: true,
            root: Mutex::new((Arc::new(root), meta)),
            impatient_until: Mutex::new(None),
        })
    }

    fn is_foreign(&self, meta: &Meta) -> bool {
        let may_be_the_administrators = self.is_lower && !meta.is_foreign(ADMINISTRATOR);
        meta.is_foreign(self.user) && !may_be_the_administrators
    }

    /// The root folder as it was opened last.
    pub(crate) fn root(&self) -> Arc<File> {
        Arc::clone(&held(&self.root).0)
    }

    /// The root folder that the path names now, made again if it is gone. A store that lost its
    /// folder heals with its next write.
    pub(crate) fn root_to_write(&self) -> Result<Arc<File>, Skip> {
        let skip = |disabled| match disabled {
            Disabled::Folder { fault, .. } => Skip::Io(fault),
            _ => Skip::Io(Fault { operation: "open", kind: io::ErrorKind::PermissionDenied }),
        };
        let (file, meta) = open_root(&*self.disk, &self.path, self.user).map_err(skip)?;
        if held(&self.root).1.is_same_file(&meta) {
            own::keep(&*self.disk, &file);
        } else {
            // Another folder has come in its place.
            own::claim(&*self.disk, &file, &self.path, self.user).map_err(skip)?;
        }
        let mut root = held(&self.root);
        if !root.1.is_same_file(&meta) {
            *root = (Arc::new(file), meta);
        }
        Ok(Arc::clone(&root.0))
    }

    /// Makes the folders that every write needs. Best effort: a folder that can only be read still
    /// serves hits.
    pub(crate) fn prepare(&self, root: &File) -> Result<(), Fault> {
        temp::open_tmp(self, root)?;
        if let Ok(meta) = self.disk.meta_at(root, VERSION) {
            if meta.kind == FileKind::Folder {
                return Ok(());
            }
            self.disk.remove(root, VERSION).map_err(Fault::of("remove"))?;
        }
        self.disk.make_folder(root, VERSION).map_err(Fault::of("make folder"))?;
        Ok(())
    }

    /// Takes the lock of the store, or says that a write has to be dropped.
    pub(crate) fn lock<'a>(&'a self, root: &File) -> Result<Ledger<'a>, Skip> {
        let impatient = held(&self.impatient_until).is_some_and(|until| Instant::now() < until);
        let patience = if impatient { Duration::ZERO } else { self.config.lock_timeout };
        let lock = Ledger::lock(&*self.disk, root, self.user, patience);
        if matches!(lock, Err(Skip::LockTimeout)) && !impatient {
            *held(&self.impatient_until) = Some(Instant::now() + self.config.lock_timeout);
        }
        lock
    }

    /// The time now, as a stamp.
    pub(crate) fn now(&self) -> Stamp {
        since_epoch(self.config.clock.now())
    }

    /// Reads a whole file of the store: regular, ours, of bounded size, without waiting.
    pub(crate) fn read(&self, root: &File, path: &str) -> Result<(Vec<u8>, File, Meta), Miss> {
        let file = match self.disk.open(root, path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Miss::Absent),
            Err(error) => {
                return Err(match self.disk.meta_at(root, path) {
                    Ok(meta) if meta.kind != FileKind::Regular => Miss::NotRegular,
                    _ => Miss::Io(Fault::of("open")(error)),
                });
            }
        };
        let meta = self.disk.meta(&file).map_err(Fault::of("stat"))?;
        if meta.kind != FileKind::Regular {
            return Err(Miss::NotRegular);
        }
        if self.is_foreign(&meta) {
            return Err(Miss::Foreign);
        }
        if meta.length > self.config.max_file_bytes {
            return Err(Miss::TooLarge { found: meta.length });
        }
        let bytes =
            crate::disk::read_all(&*self.disk, &file, meta.length as usize).map_err(Fault::of("read"))?;
        Ok((bytes, file, meta))
    }

    /// Marks a file as used now, if its stamp is old enough, or in the future, to be worth a write.
    pub(crate) fn touch(&self, file: &File, meta: &Meta) {
        if self.is_lower {
            return;
        }
        let now = self.now();
        let nanos = |stamp: Stamp| i128::from(stamp.0) * 1_000_000_000 + i128::from(stamp.1);
        let interval = i128::try_from(self.config.touch_interval.as_nanos()).unwrap_or(i128::MAX);
        let age = nanos(now) - nanos(meta.stamp);
        if age != 0 && (age >= interval || age < 0) {
            // A folder that can only be read keeps its old stamps.
            let _ = self.disk.stamp(file, now);
        }
    }

    /// Remembers what the record says.
    pub(crate) fn note_stored(&self, ledger: &Option<Ledger<'_>>) {
        if let Some(record) = ledger.as_ref().and_then(|ledger| ledger.record) {
            self.stored.store(record.bytes, Relaxed);
        }
    }

    #[inline]
    pub(crate) fn emit(&self, event: impl FnOnce() -> Event) {
        if let Some(subscriber) = &self.config.subscriber {
            subscriber(&event());
        }
    }
}

fn open_root(disk: &dyn Disk, path: &Path, user: u32) -> Result<(File, Meta), Disabled> {
    let folder = |error: io::Error, operation| Disabled::Folder {
        path: path.to_owned(),
        fault: Fault::of(operation)(error),
    };
    let mut opened = disk.open_root(path);
    if matches!(&opened, Err(error) if error.kind() == io::ErrorKind::NotFound) {
        disk.make_root(path).map_err(|error| folder(error, "make folder"))?;
        opened = disk.open_root(path);
    }
    let root = opened.map_err(|error| match std::fs::symlink_metadata(path) {
        Ok(meta) if !meta.is_dir() => Disabled::NotAFolder(path.to_owned()),
        _ => folder(error, "open"),
    })?;
    let meta = disk.meta(&root).map_err(|error| folder(error, "stat"))?;
    if meta.owner != user {
        return Err(Disabled::ForeignOwner(path.to_owned()));
    }
    if meta.mode & 0o022 != 0 {
        return Err(Disabled::SharedFolder(path.to_owned()));
    }
    Ok((root, meta))
}

fn is_unsupported(fault: Fault) -> bool {
    fault.operation == "lock" && fault.kind == io::ErrorKind::Unsupported
}
