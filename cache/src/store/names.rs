//! Names of files and folders in the store, and what they take of the disk.
//!
//! ```text
//! <root>/vkfuse-cache                                   says that the folder is a store's
//! <root>/lock                                           kernel lock and size record
//! <root>/tmp/<32 hex digits>                            files being written
//! <root>/v2/<3 hex digits>/<key>.<n>.src                the full key
//!                          <key>.<n>.bin                the entry
//!                          <key>.<n>.<driver>.blob      a driver's blob
//!                          <key>.<n>.<driver>.load      a process is loading it
//!                          <key>.<n>.<driver>.bad       processes died loading it
//! ```
//!
//! `<key>` is the beginning of the key's hash, and the folder the beginning of that. In `v1` each entry had a folder of its
//! own, four levels down, and `<n>` was all that its files were called.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::key::{Part, push_hex};

/// The mark of a folder that is a store's, whatever its version.
pub(crate) const MARK: &str = "vkfuse-cache";
pub(crate) const TMP: &str = "tmp";
/// The folder of this format version.
pub(crate) const VERSION: &str = if cfg!(vkfuse_next_format) { "v3" } else { "v2" };
/// Folder levels below the version folder, in the format that has most.
pub(crate) const LEVELS: usize = 4;
/// Digits in the name of a folder: enough that few entries are in each, and few enough that there are few folders.
const SHARD_DIGITS: usize = 3;
/// Keys that may share one name.
pub(crate) const MAX_COLLISIONS: u32 = 1024;
/// What an empty folder takes.
pub(crate) const FOLDER_BYTES: u64 = 4096;

/// What the marker of a load, or of deaths, takes.
pub(crate) const MARKER_BYTES: u64 = 4096;

/// What a file takes of the disk, in whole blocks. The same on every file system, so that a recount
/// gives what was charged.
pub(crate) fn disk_bytes(length: u64) -> u64 {
    length.div_ceil(4096).saturating_mul(4096)
}

/// What a file of the store counts for. A blob counts for the marker of its load as well, which
/// comes and goes without the lock.
pub(crate) fn stored_bytes(role: Role, length: u64) -> u64 {
    match role {
        Role::Loading => 0,
        Role::Blob => disk_bytes(length) + MARKER_BYTES,
        Role::Entry | Role::Bad | Role::Source => disk_bytes(length),
    }
}

/// Whether a folder in the root holds entries, of this or of another format version.
pub(crate) fn is_version(name: &str) -> bool {
    name.strip_prefix('v').is_some_and(|number| {
        (1..=4).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// The folder of what is called so.
pub(crate) fn shard(stem: &str) -> &str {
    &stem[..stem.len().min(SHARD_DIGITS)]
}

/// Whether a name is one that `random` makes.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.len() == 32 && is_hex(name)
}

/// Whether a folder name can be a level of a key's path.
pub(crate) fn is_level(name: &str) -> bool {
    (1..=64).contains(&name.len()) && is_hex(name)
}

fn is_hex(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// 128 random bits as a name. The standard library's hasher is seeded by the system; what is added
/// keeps names apart even where that seed were the same.
pub(crate) fn random() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let mut hasher = blake3::Hasher::new();
    for _ in 0..2 {
        hasher.update(&RandomState::new().build_hasher().finish().to_le_bytes());
    }
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    hasher.update(&count.to_le_bytes());
    hasher.update(&std::process::id().to_le_bytes());
    if let Ok(passed) = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
        hasher.update(&passed.as_nanos().to_le_bytes());
    }
    let mut name = String::with_capacity(32);
    push_hex(&mut name, hasher.finalize().as_bytes(), 128);
    name
}

/// The name of a driver in file names.
pub(crate) fn driver(part: &Part) -> String {
    let hash =
        blake3::Hasher::new_derive_key("vkfuse-cache driver name v1").update(part.as_bytes()).finalize();
    let mut name = String::with_capacity(32);
    push_hex(&mut name, hash.as_bytes(), 128);
    name
}

/// What a file in an entry's folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Entry,
    Blob,
    Loading,
    Bad,
    Source,
}

/// The name of a file of an entry, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    /// What the key is called; nothing in the format whose entries have folders of their own.
    pub(crate) stem: &'a str,
    pub(crate) number: u32,
    /// What the driver is called; nothing for files that are no driver's.
    pub(crate) driver: &'a str,
    pub(crate) role: Role,
}

/// Takes apart the name of a file of an entry. `None` for names that are not of this store.
pub(crate) fn parse(name: &str) -> Option<Named<'_>> {
    const DRIVER: usize = 32;
    let pieces: Vec<&str> = name.split('.').take(5).collect();
    let (stem, number, driver, end) = match pieces[..] {
        [number, end] => ("", number, "", end),
        [number, driver, end] if driver.len() == DRIVER => ("", number, driver, end),
        [stem, number, end] if is_level(stem) => (stem, number, "", end),
        [stem, number, driver, end] if is_level(stem) => (stem, number, driver, end),
        _ => return None,
    };
    if number.len() > 4 || (number.len() > 1 && number.starts_with('0')) {
        return None;
    }
    let number = number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())??;
    let role = match (driver, end) {
        ("", "src") => Role::Source,
        ("", "bin") => Role::Entry,
        (driver, end) if driver.len() == DRIVER && is_hex(driver) => match end {
            "blob" => Role::Blob,
            "load" => Role::Loading,
            "bad" => Role::Bad,
            _ => return None,
        },
        _ => return None,
    };
    Some(Named { stem, number, driver, role })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let driver = "d".repeat(32);
        let named = |stem, number, driver, role| Some(Named { stem, number, driver, role });
        assert_eq!(parse("abc.0.src"), named("abc", 0, "", Role::Source));
        assert_eq!(parse("12.7.bin"), named("12", 7, "", Role::Entry));
        assert_eq!(parse("7.bin"), named("", 7, "", Role::Entry));
        assert_eq!(parse(&format!("7.{driver}.bad")), named("", 7, &driver, Role::Bad));
        assert_eq!(parse(&format!("ab.7.{driver}.blob")), named("ab", 7, &driver, Role::Blob));
        let long = "a".repeat(65);
        for name in [
            "",
            ".",
            "0",
            "bin",
            "0.",
            ".bin",
            "01.bin",
            "a.01.bin",
            "12345.bin",
            "a.12345.bin",
            "x.0.bin",
            "A.0.bin",
            "a.0.blob",
            "a.0.bin.old",
            "a.b.0.bin",
            "0.bin.old",
            "a.0.dd.blob",
            "..bin",
            "a..bin",
            "-1.bin",
            &format!("{long}.0.bin"),
            &format!("a.0.{driver}.bin"),
            &format!("a.0.{driver}.blob.x"),
            &format!("a.0.{}.blob", "D".repeat(32)),
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
        assert_eq!((shard("abcdef"), shard("ab"), shard("a")), ("abc", "ab", "a"));
    }
}
