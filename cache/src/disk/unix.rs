//! File operations on Unix, relative to open folders.
//!
//! On Linux `openat2` refuses links anywhere in a path in one call. Elsewhere, and where a sandbox
//! does not know that call, the parts of the path are opened one after the other.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{self, AtFlags, FileType, FlockOperation, Mode, OFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;

use crate::disk::{Disk, FileKind, Meta, Stamp};

const FILE_MODE: Mode = Mode::from_bits_retain(0o600);
const FOLDER_MODE: Mode = Mode::from_bits_retain(0o700);

/// The file system as it is.
#[derive(Debug)]
pub(crate) struct Unix;

fn safe() -> OFlags {
    OFlags::CLOEXEC | OFlags::NOFOLLOW
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | safe()
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn open_beneath(at: &File, path: &str, flags: OFlags, mode: Mode) -> io::Result<File> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // EAGAIN says that a rename elsewhere raced with the check of the path.
    for _ in 0..4 {
        match fs::openat2(at, path, flags, mode, resolve) {
            Ok(file) => return Ok(File::from(file)),
            Err(Errno::AGAIN) => {}
            Err(Errno::NOSYS | Errno::PERM) => break,
            Err(error) => return Err(error.into()),
        }
    }
    open_by_parts(at, path, flags, mode)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn open_beneath(at: &File, path: &str, flags: OFlags, mode: Mode) -> io::Result<File> {
    open_by_parts(at, path, flags, mode)
}

fn open_by_parts(at: &File, path: &str, flags: OFlags, mode: Mode) -> io::Result<File> {
    let Some((folders, name)) = path.rsplit_once('/') else {
        return Ok(File::from(fs::openat(at, path, flags, mode)?));
    };
    let mut folder: Option<File> = None;
    for part in folders.split('/') {
        let next = fs::openat(folder.as_ref().unwrap_or(at), part, folder_flags(), Mode::empty())?;
        folder = Some(File::from(next));
    }
    let file = fs::openat(folder.as_ref().unwrap_or(at), name, flags, mode)?;
    Ok(File::from(file))
}

/// The folder that a path's last part is in, and that part.
fn parent<'a>(at: &File, path: &'a str) -> io::Result<(Option<File>, &'a str)> {
    match path.rsplit_once('/') {
        None => Ok((None, path)),
        Some((folders, name)) => {
            let folder = open_beneath(at, folders, folder_flags(), Mode::empty())?;
            Ok((Some(folder), name))
        }
    }
}

fn kind_of(kind: FileType) -> FileKind {
    match kind {
        FileType::RegularFile => FileKind::Regular,
        FileType::Directory => FileKind::Folder,
        FileType::Unknown => FileKind::Unknown,
        _ => FileKind::Other,
    }
}

// The fields of `stat` have other widths on other systems.
#[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
fn meta_of(stat: &Stat) -> Meta {
    Meta {
        kind: kind_of(FileType::from_raw_mode(stat.st_mode)),
        owner: stat.st_uid,
        mode: u32::from(stat.st_mode) & 0o7777,
        length: u64::try_from(stat.st_size).unwrap_or(0),
        links: stat.st_nlink as u64,
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
        stamp: (stat.st_mtime as i64, stat.st_mtime_nsec as u32),
    }
}

/// File systems that answer over a network, or through a process that may.
#[cfg(any(target_os = "linux", target_os = "android"))]
const NETWORKS: &[(u64, &str)] = &[
    (0x6969, "nfs"),
    (0x517b, "smb"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x5346_414f, "afs"),
    (0x6b41_4653, "kafs"),
    (0x0bd0_0bd0, "lustre"),
    (0x4750_4653, "gpfs"),
    (0x00c3_6400, "ceph"),
    (0x6573_5546, "fuse"),
    (0x0102_1997, "9p"),
    (0x7375_7245, "coda"),
    (0x1983_0326, "beegfs"),
    (0x0116_1970, "gfs2"),
    (0x7461_636f, "ocfs2"),
    (0xaad7_aaea, "panfs"),
];

/// Whether the kernel says that this program has more rights than its caller: capabilities of its file, for example.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_secure() -> bool {
    const AT_SECURE: usize = 23;
    const WORD: usize = size_of::<usize>();
    match std::fs::read("/proc/self/auxv") {
        Ok(bytes) => {
            let (words, _) = bytes.as_chunks::<WORD>();
            let word = |at: usize| words.get(at).map(|bytes| usize::from_ne_bytes(*bytes));
            (0..words.len()).step_by(2).any(|at| word(at) == Some(AT_SECURE) && word(at + 1) != Some(0))
        }
        // The vector of such a program is not its caller's to read.
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn is_secure() -> bool {
    false
}

/// What it means that a lock was not given.
pub(crate) fn lock_answer(error: Errno) -> io::Result<bool> {
    match error {
        Errno::WOULDBLOCK | Errno::INTR => Ok(false),
        Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL => {
            Err(io::ErrorKind::Unsupported.into())
        }
        other => Err(other.into()),
    }
}

impl Disk for Unix {
    fn open_root(&self, path: &Path) -> io::Result<File> {
        let file = fs::open(path, folder_flags(), Mode::empty())?;
        Ok(File::from(file))
    }

    fn make_root(&self, path: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = path.ancestors().take_while(|path| !path.exists()).collect();
        for folder in missing.into_iter().rev() {
            match fs::mkdir(folder, FOLDER_MODE) {
                // The mask of the process may have taken the owner's own rights away.
                Ok(()) => fs::chmod(folder, FOLDER_MODE)?,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn open_folder(&self, at: &File, path: &str) -> io::Result<File> {
        open_beneath(at, path, folder_flags(), Mode::empty())
    }

    fn make_folder(&self, at: &File, path: &str) -> io::Result<bool> {
        let (folder, name) = parent(at, path)?;
        let folder = folder.as_ref().unwrap_or(at);
        match fs::mkdirat(folder, name, FOLDER_MODE) {
            Ok(()) => {
                fs::chmodat(folder, name, FOLDER_MODE, AtFlags::empty())?;
                Ok(true)
            }
            Err(Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn open(&self, at: &File, path: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | safe();
        open_beneath(at, path, flags, Mode::empty())
    }

    fn create(&self, at: &File, path: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | safe();
        let file = open_beneath(at, path, flags, FILE_MODE)?;
        // The mask of the process may have taken the owner's own rights away.
        fs::fchmod(&file, FILE_MODE)?;
        Ok(file)
    }

    fn open_record(&self, at: &File, path: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NONBLOCK | OFlags::NOCTTY | safe();
        let file = open_beneath(at, path, flags, FILE_MODE)?;
        let meta = meta_of(&fs::fstat(&file)?);
        if meta.kind == FileKind::Regular && meta.links == 1 && meta.mode != 0o600 {
            fs::fchmod(&file, FILE_MODE)?;
        }
        Ok(file)
    }

    fn meta(&self, file: &File) -> io::Result<Meta> {
        Ok(meta_of(&fs::fstat(file)?))
    }

    fn meta_at(&self, at: &File, path: &str) -> io::Result<Meta> {
        let (folder, name) = parent(at, path)?;
        let folder = folder.as_ref().unwrap_or(at);
        let stat = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(meta_of(&stat))
    }

    fn read(&self, file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
        file.read_at(into, offset)
    }

    fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
        file.write_at(bytes, offset)
    }

    fn rename(&self, from: &File, name: &str, to: &File, path: &str) -> io::Result<()> {
        let (folder, target) = parent(to, path)?;
        let folder = folder.as_ref().unwrap_or(to);
        Ok(fs::renameat(from, name, folder, target)?)
    }

    fn remove(&self, at: &File, path: &str) -> io::Result<()> {
        let (folder, name) = parent(at, path)?;
        let folder = folder.as_ref().unwrap_or(at);
        Ok(fs::unlinkat(folder, name, AtFlags::empty())?)
    }

    fn remove_folder(&self, at: &File, path: &str) -> io::Result<()> {
        let (folder, name) = parent(at, path)?;
        let folder = folder.as_ref().unwrap_or(at);
        Ok(fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
    }

    fn list(&self, folder: &File) -> io::Result<Vec<(String, FileKind)>> {
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(folder.as_fd())? {
            let entry = entry?;
            match entry.file_name().to_str() {
                Ok("." | "..") | Err(_) => {}
                Ok(name) => names.push((name.to_owned(), kind_of(entry.file_type()))),
            }
        }
        Ok(names)
    }

    fn stamp(&self, file: &File, (seconds, nanos): Stamp) -> io::Result<()> {
        let time = Timespec { tv_sec: seconds, tv_nsec: nanos.into() };
        let times = Timestamps { last_access: time, last_modification: time };
        Ok(fs::futimens(file, &times)?)
    }

    fn try_lock(&self, file: &File) -> io::Result<bool> {
        match fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(error) => lock_answer(error),
        }
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        Ok(fs::fsync(file)?)
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn network(&self, folder: &File) -> io::Result<Option<&'static str>> {
        #[allow(clippy::unnecessary_cast, reason = "another width on other systems")]
        let kind = fs::fstatfs(folder)?.f_type as u64 & 0xffff_ffff;
        let known = NETWORKS.iter().find(|(magic, _)| *magic == kind);
        Ok(known.map(|(_, name)| *name))
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn network(&self, _folder: &File) -> io::Result<Option<&'static str>> {
        Ok(None)
    }

    fn user(&self) -> (u32, bool) {
        use rustix::process::{getegid, geteuid, getgid, getuid};
        let raised = geteuid() != getuid() || getegid() != getgid() || is_secure();
        (geteuid().as_raw(), raised)
    }
}
