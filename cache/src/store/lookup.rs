//! Finding an entry: the place of a key, then its verified contents. No locks.

use std::fs::File;
use std::io;

use crate::container::{self, Kind};
use crate::disk::Meta;
use crate::entry::Entry;
use crate::key::{Key, KeyId};
use crate::store::inner::Inner;
use crate::store::names::{self, Role, VERSION};
use crate::store::reason::{Fault, Miss};

/// Where a key's files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Relative to the root, with the version.
    pub(crate) folder: String,
    /// What the key is called.
    pub(crate) stem: String,
    pub(crate) number: u32,
}

impl Place {
    pub(crate) fn source(&self) -> String {
        self.file(".src")
    }

    pub(crate) fn entry(&self) -> String {
        self.file(".bin")
    }

    fn file(&self, end: &str) -> String {
        match (&*self.stem, self.number) {
            // In the format whose entries have folders of their own.
            ("", number) => format!("{}/{number}{end}", self.folder),
            (stem, 0) => [&self.folder, "/", stem, ".0", end].concat(),
            (stem, number) => format!("{}/{stem}.{number}{end}", self.folder),
        }
    }

    pub(crate) fn sibling(&self, driver: &str, end: &str) -> String {
        self.file(&format!(".{driver}.{end}"))
    }
}

/// What a `.src` file turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceIs {
    /// Exactly this key.
    Same,
    /// A sound file of another key.
    Other,
    /// Unusable.
    Bad(Miss),
}

/// The first place of a key.
pub(crate) fn place_of(inner: &Inner, key: &Key) -> Place {
    let stem = key.stem(inner.config.name_bits).into_owned();
    Place { folder: [VERSION, "/", names::shard(&stem)].concat(), stem, number: 0 }
}

pub(crate) fn check_source(inner: &Inner, root: &File, path: &str, key: &Key) -> SourceIs {
    match inner.read(root, path) {
        Ok((bytes, ..)) if bytes == key.source() => SourceIs::Same,
        Ok((bytes, ..)) => match container::decode(Kind::Source, &bytes) {
            Ok(_) => SourceIs::Other,
            Err(miss) => SourceIs::Bad(miss),
        },
        Err(miss) => SourceIs::Bad(miss),
    }
}

/// Finds where `key` is stored.
pub(crate) fn locate(inner: &Inner, root: &File, key: &Key) -> Result<Place, Miss> {
    search(inner, root, key, |place| Ok(place.clone()))
}

/// Tries every place of `key` until one gives something. The key may be in a second place if the
/// first could not be written.
fn search<T>(
    inner: &Inner,
    root: &File,
    key: &Key,
    accept: impl Fn(&Place) -> Result<T, Miss>,
) -> Result<T, Miss> {
    let mut place = place_of(inner, key);
    let attempt = |place: &Place| match check_source(inner, root, &place.source(), key) {
        SourceIs::Same => accept(place),
        SourceIs::Other => Err(Miss::OtherKey),
        SourceIs::Bad(miss) => Err(miss),
    };
    let mut miss = match attempt(&place) {
        Ok(found) => return Ok(found),
        Err(miss) => miss,
    };
    // The first number may be free because its entry was evicted, so the others are looked at.
    for number in numbers(inner, root, &place)? {
        if number == 0 {
            continue;
        }
        place.number = number;
        match attempt(&place) {
            Ok(found) => return Ok(found),
            Err(other) if other.is_defect() => miss = other,
            Err(Miss::OtherKey) if miss == Miss::Absent => miss = Miss::OtherKey,
            Err(_) => {}
        }
    }
    Err(miss)
}

/// The numbers of the `.src` files of that name, ascending; none where there is no such folder.
pub(crate) fn numbers(inner: &Inner, root: &File, place: &Place) -> Result<Vec<u32>, Miss> {
    let opened = match inner.disk.open_folder(root, &place.folder) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Miss::Io(Fault::of("open")(error))),
    };
    let names = inner.disk.list(&opened).map_err(Fault::of("list"))?;
    let mut numbers: Vec<u32> = names
        .iter()
        .filter_map(|(name, _)| names::parse(name))
        .filter(|named| named.stem == place.stem && named.role == Role::Source)
        .map(|named| named.number)
        .filter(|number| *number < names::MAX_COLLISIONS)
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// A file that was read and verified.
pub(crate) struct Read<T> {
    pub(crate) value: T,
    pub(crate) bytes: u64,
    pub(crate) file: File,
    pub(crate) meta: Meta,
}

/// Reads and verifies an entry at a known place.
pub(crate) fn read_entry(inner: &Inner, root: &File, path: &str, id: &KeyId) -> Result<Read<Entry>, Miss> {
    let (bytes, file, meta) = inner.read(root, path)?;
    let container = container::decode(Kind::Entry, &bytes)?;
    if container.bound != id.0 {
        return Err(Miss::Binding);
    }
    let length = bytes.len() as u64;
    let sections = container.ranges();
    Ok(Read { value: Entry::of_file(bytes, sections), bytes: length, file, meta })
}

/// Finds, reads and verifies the entry of a key, and marks it as used.
pub(crate) fn get(inner: &Inner, key: &Key) -> Result<Read<Entry>, Miss> {
    let read = find(inner, key)?;
    inner.touch(&read.file, &read.meta);
    Ok(read)
}

/// Finds, reads and verifies the entry of a key.
pub(crate) fn peek(inner: &Inner, key: &Key) -> Result<Entry, Miss> {
    Ok(find(inner, key)?.value)
}

fn find(inner: &Inner, key: &Key) -> Result<Read<Entry>, Miss> {
    let root = inner.root();
    search(inner, &root, key, |place| {
        let read = read_entry(inner, &root, &place.entry(), &key.id());
        read.map_err(|miss| match miss {
            Miss::Absent => Miss::Incomplete,
            other => other,
        })
    })
}
