//! One part of a key: a list of named, typed fields, encoded as it is filled.
//!
//! ```text
//! field  = name length (u32), name, type (u8), value length (u64), value      all little endian
//! part   = field*
//! ```

use std::fmt;

use crate::key::{Difference, PartKind};

const BYTES: u8 = 0;
const TEXT: u8 = 1;
const U32: u8 = 2;
const U64: u8 = 3;
const BOOL: u8 = 4;
const LIST: u8 = 5;

/// An ingredient list. The order of the calls is part of the value.
///
/// ```
/// use vkfuse_cache::Part;
///
/// let device = Part::new().u32("vendor", 0x10de).str("name", "H200").bool("int64", true);
/// assert_eq!(device.fields()[1].to_string(), "name = \"H200\"");
/// assert_ne!(device, Part::new().u64("vendor", 0x10de).str("name", "H200").bool("int64", true));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Part(Vec<u8>);

impl Part {
    /// An empty part.
    pub fn new() -> Part {
        Part::default()
    }

    /// A part with one field named `raw`, for a caller with an encoding of its own.
    pub fn raw(bytes: &[u8]) -> Part {
        Part::new().bytes("raw", bytes)
    }

    /// Adds bytes.
    pub fn bytes(self, name: &str, value: &[u8]) -> Part {
        self.field(name, BYTES, value)
    }

    /// Adds a text.
    pub fn str(self, name: &str, value: &str) -> Part {
        self.field(name, TEXT, value.as_bytes())
    }

    /// Adds a 32-bit number.
    pub fn u32(self, name: &str, value: u32) -> Part {
        self.field(name, U32, &value.to_le_bytes())
    }

    /// Adds a 64-bit number.
    pub fn u64(self, name: &str, value: u64) -> Part {
        self.field(name, U64, &value.to_le_bytes())
    }

    /// Adds a switch.
    pub fn bool(self, name: &str, value: bool) -> Part {
        self.field(name, BOOL, &[u8::from(value)])
    }

    /// Adds a list of texts, in the order given.
    pub fn list<'a>(self, name: &str, items: impl IntoIterator<Item = &'a str>) -> Part {
        let mut value = Vec::new();
        for item in items {
            value.extend_from_slice(&(item.len() as u64).to_le_bytes());
            value.extend_from_slice(item.as_bytes());
        }
        self.field(name, LIST, &value)
    }

    /// The canonical bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The fields, decoded.
    pub fn fields(&self) -> Vec<Field> {
        decode(&self.0).unwrap_or_default()
    }

    /// A part from bytes that [`Part::as_bytes`] gave, or `None` where they are not such bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Part> {
        decode(bytes)?;
        Some(Part(bytes.to_vec()))
    }

    fn field(mut self, name: &str, kind: u8, value: &[u8]) -> Part {
        // A name over 4 GiB is not a name.
        let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
        self.0.extend_from_slice(&length.to_le_bytes());
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(kind);
        self.0.extend_from_slice(&(value.len() as u64).to_le_bytes());
        self.0.extend_from_slice(value);
        self
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_map();
        for field in self.fields() {
            out.entry(&format_args!("{}", field.name), &format_args!("{}", field.value));
        }
        out.finish()
    }
}

/// One field of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Value,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.name, self.value)
    }
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// Bytes.
    Bytes(Vec<u8>),
    /// A text.
    Text(String),
    /// A 32-bit number.
    U32(u32),
    /// A 64-bit number.
    U64(u64),
    /// A switch.
    Bool(bool),
    /// A list of texts.
    List(Vec<String>),
}

impl fmt::Display for Value {
    /// Numbers and texts as they are; bytes as hexadecimal up to 32 of them, longer ones as their
    /// length and BLAKE3.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bytes(bytes) if bytes.len() <= 32 => {
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Value::Bytes(bytes) => {
                let hash = blake3::hash(bytes);
                write!(f, "{} bytes, blake3 {:.16}", bytes.len(), hash.to_hex())
            }
            Value::Text(text) => write!(f, "{text:?}"),
            Value::U32(value) => value.fmt(f),
            Value::U64(value) => value.fmt(f),
            Value::Bool(value) => value.fmt(f),
            Value::List(items) => write!(f, "{items:?}"),
        }
    }
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (head, tail) = bytes.split_at_checked(count)?;
    *bytes = tail;
    Some(head)
}

fn take_u64(bytes: &mut &[u8]) -> Option<usize> {
    let length = u64::from_le_bytes(take(bytes, 8)?.try_into().ok()?);
    usize::try_from(length).ok()
}

fn decode(mut bytes: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let length = u32::from_le_bytes(take(&mut bytes, 4)?.try_into().ok()?);
        let name = std::str::from_utf8(take(&mut bytes, length as usize)?).ok()?;
        let kind = take(&mut bytes, 1)?[0];
        let length = take_u64(&mut bytes)?;
        let value = decode_value(kind, take(&mut bytes, length)?)?;
        fields.push(Field { name: name.to_owned(), value });
    }
    Some(fields)
}

fn decode_value(kind: u8, mut value: &[u8]) -> Option<Value> {
    Some(match kind {
        BYTES => Value::Bytes(value.to_vec()),
        TEXT => Value::Text(String::from_utf8(value.to_vec()).ok()?),
        U32 => Value::U32(u32::from_le_bytes(value.try_into().ok()?)),
        U64 => Value::U64(u64::from_le_bytes(value.try_into().ok()?)),
        BOOL => match value {
            [0] => Value::Bool(false),
            [1] => Value::Bool(true),
            _ => return None,
        },
        LIST => {
            let mut items = Vec::new();
            while !value.is_empty() {
                let length = take_u64(&mut value)?;
                let item = take(&mut value, length)?;
                items.push(String::from_utf8(item.to_vec()).ok()?);
            }
            Value::List(items)
        }
        _ => return None,
    })
}

/// Pairs fields by name and by their number among fields of that name.
pub(crate) fn compare(kind: PartKind, here: &Part, there: &Part, found: &mut Vec<Difference>) {
    if here == there {
        return;
    }
    let mine = here.fields();
    let mut theirs: Vec<Option<Field>> = there.fields().into_iter().map(Some).collect();
    let before = found.len();
    for field in mine {
        let partner = theirs
            .iter_mut()
            .find(|other| other.as_ref().is_some_and(|other| other.name == field.name))
            .and_then(Option::take)
            .map(|other| other.value);
        if partner.as_ref() != Some(&field.value) {
            found.push(Difference { part: kind, name: field.name, here: Some(field.value), there: partner });
        }
    }
    for other in theirs.into_iter().flatten() {
        found.push(Difference { part: kind, name: other.name, here: None, there: Some(other.value) });
    }
    if found.len() == before {
        // The same fields in another order are another key, too.
        found.push(Difference { part: kind, name: String::from("order of fields"), here: None, there: None });
    }
}
