//! The one table of environment variables: the documentation of [`VARIABLES`], `docs/environment.md` and the names that a misspelt
//! one is compared with are all made from it.

/// An environment variable that the library or the `vkfuse` command reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it does, in Markdown.
    pub meaning: &'static str,
    /// What holds where it is not set, in Markdown.
    pub default: &'static str,
}

macro_rules! variables {
    ($($name:ident: $meaning:literal, $default:literal;)*) => {
        /// Every environment variable that the library or the `vkfuse` command reads.
        ///
        /// A value set by the program comes first, then the variable, then the default. An empty value counts as unset; one that
        /// cannot be read is ignored with one warning per process. `1`, `on`, `yes` and `true` are equivalent, as are `0`, `off`,
        /// `no` and `false`.
        ///
        /// | variable | meaning | default |
        /// | --- | --- | --- |
        $(#[doc = concat!("| `", stringify!($name), "` | ", $meaning, " | ", $default, " |")])*
        pub const VARIABLES: &[Variable] =
            &[$(Variable { name: stringify!($name), meaning: $meaning, default: $default }),*];
    };
}

variables! {
    VKFUSE_DEVICE: "number of the device in the loader's order (`vkfuse devices`), or a part of its name", "first usable";
    VKFUSE_VALIDATION: "`1`: enables the Khronos validation layer", "`0`";
    VKFUSE_PROFILING: "`1`: takes GPU times of every submission", "`0`";
    VKFUSE_DUMP_SPIRV: "folder for the code of every kernel built or loaded", "none";
    VKFUSE_PRINT_AFTER: "front-end passes after which each module is printed (not those from a cache): names with commas, or `all`", "none";
    VKFUSE_SCHEDULE: "schedule parameters instead of the device's, such as `items=4 vectors=on unroll=64`; names below", "none";
    VKFUSE_VALIDATE: "`1`: compares fused with unfused code in the interpreter before first use (`ContextOptions::validate_code`)", "`0`";
    VKFUSE_AUTOTUNE: "`0`: never measures lists whose best schedule is in doubt", "`1`";
    VKFUSE_COMPILE_GUARD: "`1`: compiles new code in a child process first, the `vkfuse` command beside the program or in `PATH`; or its path", "`0`; `1` in the command";
    VKFUSE_LOG: "what the `vkfuse` command logs", "warnings";
    VKFUSE_CACHE_PERSISTENT: "`0`: no files", "`1`";
    VKFUSE_CACHE_DIR: "folder of the store, an absolute path", "`$XDG_CACHE_HOME/vkfuse`, `$HOME/.cache/vkfuse`, else off";
    VKFUSE_CACHE_LOWER: "read-only stores to search after it, absolute paths with `:` between", "none";
    VKFUSE_CACHE_MAX_SIZE: "bytes on disk; `0` is no limit", "`1G`";
    VKFUSE_CACHE_MIN_ITEM_SIZE: "smaller files are not kept", "`0`";
    VKFUSE_CACHE_MAX_ITEM_SIZE: "larger files are not kept; at most 256 MiB in any case", "`0` (no limit)";
    VKFUSE_CACHE_MAX_AGE: "entries unused for this long are removed, once a day; `0` is never", "`0`";
    VKFUSE_CACHE_TRACE: "`1`: prints every cache event as a line of JSON, with keys and reasons", "`0`";
    VKFUSE_CACHE_IN_MEM_MAX_SIZE: "bytes of the memory cache; `0` is no limit", "`0`";
    VKFUSE_CACHE_IN_MEM_MAX_ENTRIES: "entries of the memory cache; `0` is no limit", "`4096`";
    VKFUSE_CACHE_FAILURE_AGE: "how long a lasting failure is remembered; `0` is for ever", "`5m`";
    VKFUSE_CACHE_WAIT: "how long a list waits for another thread's build before it fails; `0` is for ever", "`0`";
    VKFUSE_CACHE_QUEUE_SIZE: "bytes that may wait to be written; `0` writes in the building thread", "`64M`";
    VKFUSE_CACHE_CLOSE_WAIT: "how long the end of a context waits for writes and uploads", "`5s`";
    VKFUSE_CACHE_LOCK_TIMEOUT: "how long a write waits for the store's lock", "`1s`";
    VKFUSE_CACHE_QUARANTINE_AGE: "how long a process death over a driver blob is remembered", "`1w`";
    VKFUSE_CACHE_ALLOW_NETWORK: "`1`: uses a network file system", "`0`";
    VKFUSE_CACHE_DURABLE: "`1`: syncs every file to the device", "`0`";
    VKFUSE_CACHE_REMOTE: "remote store (feature `remote`): `redis://HOST:PORT/DATABASE?prefix=P`, `s3://BUCKET/PREFIX?endpoint=URL&region=R`, `http://HOST/PATH`", "none";
    VKFUSE_CACHE_REMOTE_READ_ONLY: "`1`: uploads nothing", "`0`";
    VKFUSE_CACHE_REMOTE_TIMEOUT: "time limit of a look-up there", "`50ms`";
    VKFUSE_CACHE_TRUST: "files of trusted public keys, absolute paths with `:` between", "none";
    VKFUSE_CACHE_SIGN_KEY: "file of the secret key that signs uploads", "none";
    VKFUSE_CACHE_VERIFY: "`1`: builds what is stored all the same, compares, logs and replaces differences", "`0`";
    VKFUSE_CACHE_RECORD: "file to which every fused list is appended, for `vkfuse cache warm`", "none";
}

/// Variables that the layers read.
const OF_LAYERS: [&str; 4] =
    ["VKFUSE_LAYER", "VKFUSE_CAPTURE", "VKFUSE_CAPTURE_CONTENTS", "VKFUSE_CAPTURE_LIMIT"];

/// A variable that `name` may be a misspelling of; nothing where it is one of them, or like none.
pub(super) fn misspelt(name: &str) -> Option<&'static str> {
    let names = || VARIABLES.iter().map(|one| one.name).chain(OF_LAYERS);
    let is_one = names().any(|one| one == name);
    // Half of the letters of a short word are too many for another.
    let is_near = |edits: usize, one: &str| edits <= 2 && 2 * edits < one.len() - "VKFUSE_".len();
    let near = || names().map(|one| (edits(name, one), one)).min();
    if is_one || !name.starts_with("VKFUSE_") {
        None
    } else {
        // A name that goes on where one of them ends is like it, if it is no name of several words more.
        let longer = |one: &str| name.strip_prefix(one).is_some_and(|rest| !rest.contains('_'));
        let longer = || VARIABLES.iter().map(|one| one.name).find(|one| longer(one));
        near().filter(|(edits, one)| is_near(*edits, one)).map(|(_, name)| name).or_else(longer)
    }
}

/// How many letters are to be added, left out or changed to make one text of the other.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_are_recognized() {
        assert_eq!(misspelt("VKFUSE_CAHCE_DIR"), Some("VKFUSE_CACHE_DIR"));
        assert_eq!(misspelt("VKFUSE_DEVCE"), Some("VKFUSE_DEVICE"));
        assert_eq!(misspelt("VKFUSE_CACHE_DIRECTORY"), Some("VKFUSE_CACHE_DIR"));
        assert_eq!(misspelt("VKFUSE_CAPTUR"), Some("VKFUSE_CAPTURE"));
        for name in [
            "VKFUSE_DEVICE",
            "VKFUSE_FOO",
            "VKFUSE_LAYER",
            "VKFUSE_LONG_TESTS",
            "VKFUSE_CACHE_DIR_OF_MINE",
            "HOME",
            "VKFUSE_",
        ] {
            assert_eq!(misspelt(name), None, "{name}");
        }
        // No two of the table are so near to each other that one could be taken for the other.
        for (at, one) in VARIABLES.iter().enumerate() {
            assert!(VARIABLES[..at].iter().all(|other| other.name != one.name), "{}", one.name);
        }
    }
}
