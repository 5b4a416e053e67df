//! Keys: what an entry is made from, in a canonical form.
//!
//! A key has four parts: the device, the kernel images, the specialization constants and the build
//! options. Each part is a list of named, typed fields that the caller fills in a fixed order; names,
//! types and lengths are all in the encoding, so that no two different lists have the same bytes. The
//! caller decides what belongs in a key; this crate only promises that whatever is in it is compared.

mod part;

use std::borrow::Cow;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

pub use part::{Field, Part, Value};

use crate::container::{self, Kind};

/// Bits of a hash in the name of a file.
pub(crate) const NAME_BITS: u32 = 128;

/// A 256-bit name of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(pub [u8; 32]);

impl fmt::Display for KeyId {
    /// The first 16 hexadecimal digits; all 64 with `{:#}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = if f.alternate() { 32 } else { 8 };
        for byte in &self.0[..shown] {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// What can be the key of a memory cache.
pub trait MemoryKey: Copy + Eq + Hash {
    /// The name of the key in events.
    fn id(&self) -> KeyId;
}

impl MemoryKey for KeyId {
    fn id(&self) -> KeyId {
        *self
    }
}

impl MemoryKey for [u8; 32] {
    fn id(&self) -> KeyId {
        KeyId(*self)
    }
}

impl MemoryKey for u64 {
    fn id(&self) -> KeyId {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.to_be_bytes());
        KeyId(bytes)
    }
}

/// The four parts of a key, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartKind {
    /// The device, as far as it changes what is built.
    Device,
    /// The kernels that are built.
    Image,
    /// The values of specialization constants.
    Spec,
    /// Everything else that changes the code.
    Options,
}

impl PartKind {
    /// All parts in order.
    pub const ALL: [PartKind; 4] = [PartKind::Device, PartKind::Image, PartKind::Spec, PartKind::Options];

    /// The name of the part in files, events and tools.
    pub fn name(self) -> &'static str {
        match self {
            PartKind::Device => "device",
            PartKind::Image => "image",
            PartKind::Spec => "spec",
            PartKind::Options => "options",
        }
    }
}

impl fmt::Display for PartKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The key of an entry of the store. Cheap to clone.
#[derive(Clone)]
pub struct Key(Arc<Inner>);

struct Inner {
    parts: [Part; 4],
    /// The contents of the `.src` file.
    source: Vec<u8>,
    /// What names its files.
    stem: String,
    /// BLAKE3 of `source`: what a `.bin` is bound to.
    id: KeyId,
}

impl Key {
    /// A key from its four parts.
    pub fn new(device: Part, image: Part, spec: Part, options: Part) -> Key {
        Key::from_parts([device, image, spec, options])
    }

    pub(crate) fn from_parts(parts: [Part; 4]) -> Key {
        let sections = PartKind::ALL.iter().zip(&parts).map(|(kind, part)| (kind.name(), part.as_bytes()));
        let source = container::encode_small(Kind::Source, &[0; 32], sections);
        let id = KeyId(*blake3::hash(&source).as_bytes());
        let stem = stem(&id, NAME_BITS);
        Key(Arc::new(Inner { parts, source, stem, id }))
    }

    /// The key as one 256-bit value, also good as the key of a memory cache.
    pub fn id(&self) -> KeyId {
        self.0.id
    }

    /// One part of the key.
    pub fn part(&self, kind: PartKind) -> &Part {
        &self.0.parts[kind as usize]
    }

    /// The fields in which `other` differs, in the order of this key's fields. Empty for equal keys.
    pub fn differs(&self, other: &Key) -> Vec<Difference> {
        let mut found = Vec::new();
        for kind in PartKind::ALL {
            part::compare(kind, self.part(kind), other.part(kind), &mut found);
        }
        found
    }

    pub(crate) fn source(&self) -> &[u8] {
        &self.0.source
    }

    /// What the names of the entry's files begin with; this many bits of the key's hash.
    pub(crate) fn stem(&self, bits: u32) -> Cow<'_, str> {
        match bits {
            NAME_BITS => Cow::Borrowed(&self.0.stem),
            _ => Cow::Owned(stem(&self.0.id, bits)),
        }
    }
}

fn stem(id: &KeyId, bits: u32) -> String {
    let mut name = String::with_capacity(32);
    push_hex(&mut name, &id.0, bits);
    name
}

/// Appends the first `bits` bits of a hash, rounded up to whole digits.
pub(crate) fn push_hex(text: &mut String, hash: &[u8; 32], bits: u32) {
    let digits = (bits.div_ceil(4) as usize).clamp(1, 64);
    for index in 0..digits {
        let byte = hash[index / 2];
        let nibble = if index % 2 == 0 { byte >> 4 } else { byte & 15 };
        text.push(char::from(b"0123456789abcdef"[usize::from(nibble)]));
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.0.source == other.0.source
    }
}

impl Eq for Key {}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Key");
        out.field("id", &format_args!("{}", self.0.id));
        for kind in PartKind::ALL {
            out.field(kind.name(), self.part(kind));
        }
        out.finish()
    }
}

/// One field in which two keys differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The part that the field is in.
    pub part: PartKind,
    /// The field's name.
    pub name: String,
    /// Its value here, if it is here.
    pub here: Option<Value>,
    /// Its value in the other key, if it is there.
    pub there: Option<Value>,
}
