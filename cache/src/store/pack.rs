//! Entries in one file, to be carried to another machine: `vkfuse cache export` and `import`.
//!
//! ```text
//! magic "VKFPACK\n", version (u32, 1), zero (u32)                          all numbers little endian
//! records: kind (u32: 1 entry, 2 driver blob), zero (u32), length of the key (u64), length of the body (u64),
//!          the key as a `.src` file, the body as a `.bin` or `.blob` file
//! end:     kind 0, zero, two lengths of zero, then the BLAKE3 of everything before
//! ```
//!
//! Each record is checked by itself, as a file of the store is, and is stored before the next is read: of a file that ends
//! early, what came before its end is there. A checksum says that a file is whole, and nothing about its origin.

use std::io::{self, Read, Write};

use crate::container::{self, Kind};
use crate::entry::Entry;
use crate::key::{Key, KeyId, Part};
use crate::store::Store;
use crate::store::inner::Inner;
use crate::store::names::Role;
use crate::store::reason::{Miss, Outcome, Skip};
use crate::store::scan;
use crate::store::tools::{self, Progress};

const MAGIC: [u8; 8] = *b"VKFPACK\n";
const VERSION: u32 = 1;
const ENTRY: u32 = 1;
const BLOB: u32 = 2;
const END: u32 = 0;
const HEAD: usize = 24;

/// What was written into a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// Entries.
    pub entries: u64,
    /// Driver blobs.
    pub blobs: u64,
    /// Length of the file.
    pub bytes: u64,
    /// Entries and blobs that are damaged or went away meanwhile, and are not in the file.
    pub left_out: u64,
}

/// What was taken out of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// Entries stored.
    pub entries: u64,
    /// Driver blobs stored.
    pub blobs: u64,
    /// Driver blobs in the file that were not asked for.
    pub blobs_left_out: u64,
    /// Records that are not sound.
    pub damaged: u64,
    /// Sound entries that were not accepted, and their driver blobs.
    pub refused: u64,
    /// Sound records that the store did not take.
    pub skipped: u64,
    /// Why it did not take the first of them.
    pub problem: Option<Skip>,
}

/// Why a file could not be read to its end. What came before is stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// Not a file of `vkfuse cache export`, or of a later version.
    #[error("not a file that `vkfuse cache export` of this version wrote")]
    NotAPack,
    /// The file ends early, or not with the hash of its contents.
    #[error("the file is cut off or was changed")]
    Incomplete,
    /// Nothing can be stored.
    #[error("the store is off")]
    Disabled,
}

/// Writes through, and hashes and counts what it writes.
struct Hashing<'a> {
    out: &'a mut dyn Write,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn record(&mut self, kind: u32, key: &[u8], body: &[u8]) -> io::Result<()> {
        let mut head = Vec::with_capacity(HEAD);
        head.extend_from_slice(&kind.to_le_bytes());
        head.extend_from_slice(&[0; 4]);
        head.extend_from_slice(&(key.len() as u64).to_le_bytes());
        head.extend_from_slice(&(body.len() as u64).to_le_bytes());
        for piece in [&head[..], key, body] {
            self.write(piece)?;
        }
        Ok(())
    }
}

struct Record {
    kind: u32,
    key: Vec<u8>,
    body: Vec<u8>,
}

impl Store {
    /// Writes the entries that are `wanted` into a file, with the blobs of drivers if `blobs` says so. Damaged ones are
    /// left out.
    ///
    /// # Errors
    /// Those of writing.
    pub fn export(
        &self,
        out: &mut dyn Write,
        blobs: bool,
        wanted: impl Fn(&KeyId) -> bool,
        progress: &mut dyn FnMut(Progress),
    ) -> io::Result<Exported> {
        let mut done = Exported::default();
        let mut out = Hashing { out, hasher: blake3::Hasher::new(), bytes: 0 };
        out.write(&MAGIC)?;
        out.write(&VERSION.to_le_bytes())?;
        out.write(&[0; 4])?;
        if let Some(inner) = self.inner() {
            let root = inner.root();
            let groups = scan::scan(inner, &root).map_err(|fault| io::Error::from(fault.kind))?.groups;
            for (number, group) in groups.iter().enumerate() {
                let read =
                    |piece: &scan::Piece| inner.read(&root, &format!("{}/{}", group.folder, piece.name));
                let of = |role| group.piece(role).ok_or(Miss::Absent).and_then(read).map(|(bytes, ..)| bytes);
                let key = of(Role::Source).and_then(|bytes| Ok((tools::key_of(&bytes)?, bytes)));
                match key {
                    Ok((key, _)) if !wanted(&key.id()) => {}
                    Ok((key, source)) => {
                        match of(Role::Entry).and_then(|body| check(&key, ENTRY, &body).map(|_| body)) {
                            Ok(body) => {
                                out.record(ENTRY, &source, &body)?;
                                done.entries += 1;
                                let pieces =
                                    group.pieces.iter().filter(|piece| blobs && piece.role == Role::Blob);
                                for piece in pieces {
                                    let body = read(piece).map(|(bytes, ..)| bytes);
                                    match body.and_then(|body| check(&key, BLOB, &body).map(|_| body)) {
                                        Ok(body) => {
                                            out.record(BLOB, &source, &body)?;
                                            done.blobs += 1;
                                        }
                                        Err(_) => done.left_out += 1,
                                    }
                                }
                            }
                            Err(_) => done.left_out += 1,
                        }
                    }
                    Err(_) => done.left_out += 1,
                }
                progress(Progress { done: number + 1, total: groups.len() });
            }
        }
        out.record(END, &[], &[])?;
        let hash = *out.hasher.finalize().as_bytes();
        out.out.write_all(&hash)?;
        out.out.flush()?;
        done.bytes = out.bytes + hash.len() as u64;
        Ok(done)
    }

    /// Stores what is in a file that [`Store::export`] wrote: entries that `accept` takes, for the store knows nothing of what
    /// they hold; blobs of drivers only if `blobs` says so, for they run in the driver's process as they are.
    ///
    /// # Errors
    /// Why the file was not read to its end, and what was stored all the same.
    pub fn import(
        &self,
        from: &mut dyn Read,
        blobs: bool,
        accept: &mut dyn FnMut(&Entry) -> bool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Imported, (PackError, Imported)> {
        let mut done = Imported::default();
        match self.import_into(from, blobs, accept, progress, &mut done) {
            Ok(()) => Ok(done),
            Err(error) => Err((error, done)),
        }
    }

    fn import_into(
        &self,
        from: &mut dyn Read,
        blobs: bool,
        accept: &mut dyn FnMut(&Entry) -> bool,
        progress: &mut dyn FnMut(u64),
        done: &mut Imported,
    ) -> Result<(), PackError> {
        let inner = self.inner().ok_or(PackError::Disabled)?;
        let mut hasher = blake3::Hasher::new();
        let mut start = [0; 16];
        exactly(from, &mut start)
            .map_err(|error| if cut(&error) { PackError::NotAPack } else { error.into() })?;
        hasher.update(&start);
        if start[..8] != MAGIC || start[8..12] != VERSION.to_le_bytes() || start[12..] != [0; 4] {
            return Err(PackError::NotAPack);
        }
        // The latest entry that was not accepted; its blobs come after it.
        let mut refused = None;
        while let Some(record) = next(from, inner, &mut hasher)? {
            let key = tools::key_of(&record.key);
            let stored = match key.and_then(|key| Ok((check(&key, record.kind, &record.body)?, key))) {
                Err(_) => {
                    done.damaged += 1;
                    None
                }
                Ok((Sound::Entry(entry), key)) if !accept(&entry) => {
                    done.refused += 1;
                    refused = Some(key.id());
                    None
                }
                Ok((Sound::Blob(..), key)) if refused == Some(key.id()) => {
                    done.refused += 1;
                    None
                }
                Ok((Sound::Entry(entry), key)) => Some((self.put(&key, &entry), &mut done.entries)),
                Ok((Sound::Blob(..), _)) if !blobs => {
                    done.blobs_left_out += 1;
                    None
                }
                Ok((Sound::Blob(driver, blob), key)) => {
                    Some((self.put_blob(&key, &driver, &blob), &mut done.blobs))
                }
            };
            match stored {
                Some((Outcome::Skipped(skip), _)) => {
                    done.skipped += 1;
                    done.problem.get_or_insert(skip);
                }
                Some((_, counter)) => *counter += 1,
                None => {}
            }
            progress(done.entries);
        }
        let mut hash = [0; 32];
        exactly(from, &mut hash)?;
        if hasher.finalize().as_bytes() == &hash { Ok(()) } else { Err(PackError::Incomplete) }
    }
}

enum Sound {
    Entry(Entry),
    Blob(Part, Vec<u8>),
}

/// Verifies the body of a record as a file of the store is verified.
fn check(key: &Key, kind: u32, body: &[u8]) -> Result<Sound, Miss> {
    let kind = match kind {
        ENTRY => Kind::Entry,
        BLOB => Kind::Blob,
        _ => return Err(Miss::Malformed("kind of record")),
    };
    let container = container::decode(kind, body)?;
    if container.bound != key.id().0 {
        return Err(Miss::Binding);
    }
    if kind == Kind::Entry {
        let sections = container.sections.iter();
        return Ok(Sound::Entry(sections.fold(Entry::new(), |entry, (name, data)| entry.with(name, *data))));
    }
    let driver = container.section("driver").and_then(Part::from_bytes).ok_or(Miss::Malformed("driver"))?;
    let blob = container.section("blob").ok_or(Miss::Malformed("blob without bytes"))?;
    Ok(Sound::Blob(driver, blob.to_vec()))
}

fn cut(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::UnexpectedEof
}

fn exactly(from: &mut dyn Read, into: &mut [u8]) -> io::Result<()> {
    from.read_exact(into)
}

/// The next record; `None` at the end of them. Nothing is allocated for what a length merely claims.
fn next(
    from: &mut dyn Read,
    inner: &Inner,
    hasher: &mut blake3::Hasher,
) -> Result<Option<Record>, PackError> {
    let incomplete = |error: io::Error| if cut(&error) { PackError::Incomplete } else { error.into() };
    let mut head = [0; HEAD];
    exactly(from, &mut head).map_err(incomplete)?;
    hasher.update(&head);
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| head[at + byte]));
    let kind = number(0);
    let (key, body) = (number(8), number(16));
    if kind == u64::from(END) && key == 0 && body == 0 {
        return Ok(None);
    }
    let most = inner.config.max_file_bytes;
    let (true, Ok(kind)) = (key <= most && body <= most, u32::try_from(kind)) else {
        return Err(PackError::Incomplete);
    };
    let mut take = |length: u64| -> Result<Vec<u8>, PackError> {
        let mut bytes = Vec::new();
        (&mut *from).take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != length {
            return Err(PackError::Incomplete);
        }
        hasher.update(&bytes);
        Ok(bytes)
    };
    Ok(Some(Record { kind, key: take(key)?, body: take(body)? }))
}
