//! The one file format of the store: named sections between a header and a checksum.
//!
//! `.src`, `.bin` and `.blob` files are all containers. A file is accepted whole or not at all: the
//! header says how long it is, and the last 32 bytes are the BLAKE3 of everything before them.
//!
//! ```text
//! offset  size  field                                    all numbers little endian
//!      0     8  magic  "VKFUSE\0\n"
//!      8     4  format version (2)
//!     12     4  kind: 1 source, 2 entry, 3 driver blob
//!     16     8  total length of the file
//!     24     4  number of sections, at most 64
//!     28     4  zero
//!     32    32  bound hash: BLAKE3 of the `.src` file this belongs to; zero in a source
//!     64     *  per section: name length (u32, 1..=64), zero (u32), data length (u64), name
//!      *     *  the sections' data, in the order of the table
//!   last    32  BLAKE3 over all bytes before, in the domain "vkfuse-cache container v1"
//! ```

use std::io;
use std::ops::Range;
use std::sync::LazyLock;

use blake3::hazmat::{ContextKey, HasherExt, hash_derive_key_context};

use crate::store::reason::Miss;

pub(crate) const MAGIC: [u8; 8] = *b"VKFUSE\0\n";
/// `--cfg vkfuse_next_format` makes a build of the next version, to be run beside this one in a test.
pub(crate) const FORMAT: u32 = if cfg!(vkfuse_next_format) { 3 } else { 2 };
pub(crate) const HEADER: usize = 64;
pub(crate) const TRAILER: usize = 32;
pub(crate) const MAX_SECTIONS: usize = 64;
pub(crate) const MAX_NAME: usize = 64;
static DOMAIN: LazyLock<ContextKey> = LazyLock::new(|| hash_derive_key_context("vkfuse-cache container v1"));

/// What a container holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Source = 1,
    Entry = 2,
    Blob = 3,
}

/// Names and data.
type Sections<'a> = Vec<(&'a str, &'a [u8])>;

/// A container whose header, length and checksum have been verified.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Container<'a> {
    pub(crate) bound: [u8; 32],
    pub(crate) sections: Sections<'a>,
    /// Where the data of the sections begins in the file. One section follows the other.
    data: usize,
}

impl<'a> Container<'a> {
    pub(crate) fn section(&self, name: &str) -> Option<&'a [u8]> {
        self.sections.iter().find(|(other, _)| *other == name).map(|(_, data)| *data)
    }

    /// Names of the sections, and where their data is in the file.
    pub(crate) fn ranges(&self) -> Vec<(String, Range<usize>)> {
        let mut at = self.data;
        let place = |(name, data): &(&str, &[u8])| {
            let start = at;
            at += data.len();
            ((*name).to_owned(), start..at)
        };
        self.sections.iter().map(place).collect()
    }
}

/// Writes a container. The caller has checked names and number of sections.
///
/// # Errors
/// `OutOfMemory`, for sections may be large.
pub(crate) fn encode<'a>(
    kind: Kind,
    bound: &[u8; 32],
    sections: impl Iterator<Item = (&'a str, &'a [u8])> + Clone,
) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    out.try_reserve_exact(length(sections.clone()))?;
    fill(&mut out, kind, bound, sections);
    Ok(out)
}

/// The same for sections that are known to be small.
pub(crate) fn encode_small<'a>(
    kind: Kind,
    bound: &[u8; 32],
    sections: impl Iterator<Item = (&'a str, &'a [u8])> + Clone,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(length(sections.clone()));
    fill(&mut out, kind, bound, sections);
    out
}

/// The length of a container of these sections.
fn length<'a>(sections: impl Iterator<Item = (&'a str, &'a [u8])>) -> usize {
    let body: usize = sections.map(|(name, data)| 16 + name.len() + data.len()).sum();
    HEADER + body + TRAILER
}

fn fill<'a>(
    out: &mut Vec<u8>,
    kind: Kind,
    bound: &[u8; 32],
    sections: impl Iterator<Item = (&'a str, &'a [u8])> + Clone,
) {
    let count = sections.clone().count() as u32;
    let total = length(sections.clone());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&FORMAT.to_le_bytes());
    out.extend_from_slice(&(kind as u32).to_le_bytes());
    out.extend_from_slice(&(total as u64).to_le_bytes());
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(bound);
    for (name, data) in sections.clone() {
        out.extend_from_slice(&(name.len() as u32).to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&(data.len() as u64).to_le_bytes());
        out.extend_from_slice(name.as_bytes());
    }
    for (_, data) in sections {
        out.extend_from_slice(data);
    }
    let hash = checksum(out);
    out.extend_from_slice(&hash);
}

fn checksum(bytes: &[u8]) -> [u8; 32] {
    *blake3::Hasher::new_from_context_key(&DOMAIN).update(bytes).finalize().as_bytes()
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(offset..offset.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(offset..offset.checked_add(8)?)?.try_into().ok()?))
}

/// Verifies and takes apart a container. Nothing is allocated for what the file merely claims.
pub(crate) fn decode(kind: Kind, bytes: &[u8]) -> Result<Container<'_>, Miss> {
    let found = bytes.len() as u64;
    if bytes.len() < HEADER + TRAILER {
        let expected = (HEADER + TRAILER) as u64;
        return Err(Miss::Length { expected, found });
    }
    if bytes[..8] != MAGIC {
        return Err(Miss::Magic);
    }
    let version = u32_at(bytes, 8).unwrap_or(0);
    if version != FORMAT {
        return Err(Miss::Version { found: version });
    }
    let expected = u64_at(bytes, 16).unwrap_or(0);
    if expected != found {
        return Err(Miss::Length { expected, found });
    }
    let (body, trailer) = bytes.split_at(bytes.len() - TRAILER);
    if checksum(body) != trailer {
        return Err(Miss::Checksum);
    }
    // From here on the file is what some version of this code wrote; still, nothing is taken on trust.
    if u32_at(bytes, 12) != Some(kind as u32) {
        return Err(Miss::Malformed("another kind of file"));
    }
    let (Some(count), Some(0), Some(bound)) = (u32_at(bytes, 24), u32_at(bytes, 28), body.get(32..64)) else {
        return Err(Miss::Malformed("header"));
    };
    let bound: [u8; 32] = bound.try_into().map_err(|_| Miss::Malformed("header"))?;
    let (data, sections) = table(body, count as usize).ok_or(Miss::Malformed("section table"))?;
    Ok(Container { bound, sections, data })
}

/// The sections, and where the data of the first begins.
fn table(body: &[u8], count: usize) -> Option<(usize, Sections<'_>)> {
    if count > MAX_SECTIONS {
        return None;
    }
    let mut at = HEADER;
    let mut names = Vec::with_capacity(count);
    for _ in 0..count {
        let length = u32_at(body, at)? as usize;
        if length == 0 || length > MAX_NAME || u32_at(body, at + 4)? != 0 {
            return None;
        }
        let data = usize::try_from(u64_at(body, at + 8)?).ok()?;
        at += 16;
        let name = std::str::from_utf8(body.get(at..at + length)?).ok()?;
        at += length;
        names.push((name, data));
    }
    let data = at;
    let mut sections = Vec::with_capacity(count);
    for (name, length) in names {
        // An entry has each name once.
        if sections.iter().any(|(other, _)| *other == name) {
            return None;
        }
        let end = at.checked_add(length)?;
        sections.push((name, body.get(at..end)?));
        at = end;
    }
    (at == body.len()).then_some((data, sections))
}
