//! Why the store did not do what it was asked: misses, skipped writes, a store that is off.
//!
//! None of these is an error to the caller, who builds what is missing and goes on. They are kept
//! apart so that a person can see *why* nothing was found or kept.

use std::io;
use std::path::PathBuf;

/// A fault of the file system during one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{operation} failed: {kind}")]
pub struct Fault {
    /// The operation, for example `open` or `write`.
    pub operation: &'static str,
    /// What the system answered.
    pub kind: io::ErrorKind,
}

impl Fault {
    pub(crate) fn of(operation: &'static str) -> impl Fn(io::Error) -> Fault {
        move |error| Fault { operation, kind: error.kind() }
    }
}

/// Why a look-up gave nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Miss {
    /// The store is off.
    #[error("the store is off")]
    Disabled,
    /// There is no such entry.
    #[error("not stored")]
    Absent,
    /// The key is there, the entry is not: its writer did not finish, or was asked to stop.
    #[error("the entry was not finished")]
    Incomplete,
    /// Other keys have the same folder name, this one is not among them.
    #[error("only other keys are stored under this name")]
    OtherKey,
    /// Not a file of this cache.
    #[error("not a file of this cache")]
    Magic,
    /// A file of another format version.
    #[error("format version {found}")]
    Version {
        /// The version in the file.
        found: u32,
    },
    /// The file is shorter or longer than it says.
    #[error("{found} bytes instead of {expected}")]
    Length {
        /// The length in the header, or the least possible one.
        expected: u64,
        /// The length of the file.
        found: u64,
    },
    /// The contents do not match the checksum.
    #[error("wrong checksum")]
    Checksum,
    /// The checksum is right, the contents make no sense.
    #[error("malformed {0}")]
    Malformed(&'static str),
    /// A sound file that belongs to another key.
    #[error("belongs to another key")]
    Binding,
    /// A link, a folder, a pipe or a device where a file should be.
    #[error("not a regular file")]
    NotRegular,
    /// Another user owns the file, or may write it.
    #[error("owned or writable by others")]
    Foreign,
    /// Larger than any file this store reads.
    #[error("{found} bytes is over the limit for one file")]
    TooLarge {
        /// The length of the file.
        found: u64,
    },
    /// It came from elsewhere, and its maker is not trusted.
    #[error("its maker is not trusted")]
    Untrusted,
    /// The process died while a driver loaded this blob.
    #[error("quarantined: the process died while this was being loaded")]
    Quarantined,
    /// The file system failed.
    #[error(transparent)]
    Io(#[from] Fault),
}

impl Miss {
    /// Whether something is there that should not be as it is, so that a new entry has to replace it.
    pub fn is_defect(&self) -> bool {
        !matches!(
            self,
            Miss::Disabled
                | Miss::Absent
                | Miss::OtherKey
                | Miss::Untrusted
                | Miss::Quarantined
                | Miss::Io(_)
        )
    }

    /// A short name for counters and traces.
    pub fn name(&self) -> &'static str {
        match self {
            Miss::Disabled => "disabled",
            Miss::Absent => "absent",
            Miss::Incomplete => "incomplete",
            Miss::OtherKey => "other-key",
            Miss::Magic => "magic",
            Miss::Version { .. } => "version",
            Miss::Length { .. } => "length",
            Miss::Checksum => "checksum",
            Miss::Malformed(_) => "malformed",
            Miss::Binding => "binding",
            Miss::NotRegular => "not-regular",
            Miss::Foreign => "foreign",
            Miss::TooLarge { .. } => "too-large",
            Miss::Untrusted => "untrusted",
            Miss::Quarantined => "quarantined",
            Miss::Io(_) => "io",
        }
    }
}

/// Why the remote store gave nothing, or took nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteMiss {
    /// It has no such object.
    #[error("not there")]
    Absent,
    /// It had no such object a moment ago, and was not asked.
    #[error("not there a moment ago")]
    KnownAbsent,
    /// It failed some times in a row, or lied, and is not asked for a while.
    #[error("it failed and is not asked for a while")]
    Resting,
    /// It did not answer in time.
    #[error("no answer in time")]
    TimedOut,
    /// It could not be reached, or answered with an error.
    #[error("it could not be reached, or answered with an error")]
    Failed,
    /// More bytes than an object may have.
    #[error("more bytes than an object may have")]
    TooLarge,
    /// Not an object of this format.
    #[error("not an object of this format")]
    Malformed,
    /// An object of another key.
    #[error("an object of another key")]
    OtherKey,
    /// It names a trusted signer that did not sign it.
    #[error("the signature is wrong")]
    Forged,
    /// It has no signature by a trusted signer.
    #[error("its signer is not trusted")]
    Untrusted,
    /// As much as may wait is waiting to be uploaded.
    #[error("the queue of uploads is full")]
    QueueFull,
}

impl RemoteMiss {
    /// A short name for counters and traces.
    pub fn name(&self) -> &'static str {
        match self {
            RemoteMiss::Absent => "absent",
            RemoteMiss::KnownAbsent => "known-absent",
            RemoteMiss::Resting => "resting",
            RemoteMiss::TimedOut => "timed-out",
            RemoteMiss::Failed => "failed",
            RemoteMiss::TooLarge => "too-large",
            RemoteMiss::Malformed => "malformed",
            RemoteMiss::OtherKey => "other-key",
            RemoteMiss::Forged => "forged",
            RemoteMiss::Untrusted => "untrusted",
            RemoteMiss::QueueFull => "queue-full",
        }
    }
}

/// Why a write was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Skip {
    /// The store is off.
    #[error("the store is off")]
    Disabled,
    /// Smaller than the least size worth a file.
    #[error("{bytes} bytes is under the least size")]
    TooSmall {
        /// The size of the file it would have been.
        bytes: u64,
    },
    /// Larger than one entry, or the whole store, may be.
    #[error("{bytes} bytes is over the limit")]
    TooLarge {
        /// The size of the file it would have been.
        bytes: u64,
    },
    /// More sections, or longer names, than the format holds.
    #[error("the entry has too many sections or too long names")]
    Malformed,
    /// Too many keys share one folder name.
    #[error("too many keys share one name")]
    Crowded,
    /// The lock of the store was not to be had in time.
    #[error("the lock of the store was not free in time")]
    LockTimeout,
    /// It waits to be written behind as much as may wait.
    #[error("the queue of writes is full")]
    QueueFull,
    /// There is no room, and none was to be made.
    #[error("the store is full")]
    Full,
    /// A blob without its entry.
    #[error("there is no entry for this blob")]
    NoEntry,
    /// A blob that the process died on before.
    #[error("the process died while it loaded this blob before")]
    Quarantined,
    /// The file system failed.
    #[error(transparent)]
    Io(#[from] Fault),
}

impl Skip {
    /// A short name for counters and traces.
    pub fn name(&self) -> &'static str {
        match self {
            Skip::Disabled => "disabled",
            Skip::TooSmall { .. } => "too-small",
            Skip::TooLarge { .. } => "too-large",
            Skip::Malformed => "malformed",
            Skip::Crowded => "crowded",
            Skip::LockTimeout => "lock-timeout",
            Skip::QueueFull => "queue-full",
            Skip::Full => "full",
            Skip::NoEntry => "no-entry",
            Skip::Quarantined => "quarantined",
            Skip::Io(_) => "io",
        }
    }
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Outcome {
    /// Any process can read it now.
    Published {
        /// Size of the file.
        bytes: u64,
    },
    /// It will be written later. Events and counters say what becomes of it.
    Queued,
    /// Nothing was stored; the caller keeps what it built.
    Skipped(Skip),
}

impl Outcome {
    /// Whether it was stored.
    pub fn is_published(&self) -> bool {
        matches!(self, Outcome::Published { .. })
    }
}

/// Why a store is off. What would help is in the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Disabled {
    /// It was switched off.
    #[error("switched off")]
    Asked,
    /// Neither a folder nor a place for one was given.
    #[error("no folder: neither VKFUSE_CACHE_DIR nor XDG_CACHE_HOME nor HOME is usable")]
    NoFolder,
    /// The folder is not absolute.
    #[error("the cache folder {} is not an absolute path; name it from the root", .0.display())]
    Relative(PathBuf),
    /// The folder could not be made or opened.
    #[error("the cache folder {} cannot be used: {fault}; name a folder that can be made and written", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What failed.
        fault: Fault,
    },
    /// The folder is a symbolic link or no folder at all.
    #[error("{} is a link or not a folder; name the folder itself", .0.display())]
    NotAFolder(PathBuf),
    /// The folder has files in it that are not this cache's.
    #[error("{} holds other files and is not a cache of this kind; name an empty folder, or a new one in it", .0.display())]
    NotACache(PathBuf),
    /// The folder belongs to another user.
    #[error("{} belongs to another user; use a folder of your own", .0.display())]
    ForeignOwner(PathBuf),
    /// Others may write into the folder.
    #[error("others may write into {}; chmod go-w it", .0.display())]
    SharedFolder(PathBuf),
    /// The process runs with another user's rights than its caller's.
    #[error("the process runs with raised rights")]
    RaisedRights,
    /// The folder is on a network file system, where locks and renames are not dependable.
    #[error("{} is on a network file system ({name}); name a local folder", .path.display())]
    Network {
        /// The folder.
        path: PathBuf,
        /// The file system.
        name: &'static str,
    },
    /// The file system does not support locks.
    #[error("{} is on a file system without locks; name a folder on another", .0.display())]
    NoLocks(PathBuf),
    /// There is no implementation for this operating system.
    #[error("not supported on this system")]
    Unsupported,
}
