//! What is stored under a key: named byte sections.

use std::ops::Range;
use std::sync::Arc;

use crate::container::{MAX_NAME, MAX_SECTIONS};

/// The contents of an entry. The store gives no meaning to names or bytes.
///
/// ```
/// use vkfuse_cache::Entry;
///
/// let entry = Entry::new().with("spirv", [3, 2, 35, 7]).with("report", "{}");
/// assert_eq!(entry.section("report"), Some(&b"{}"[..]));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    sections: Vec<(String, Section)>,
}

/// The bytes of one section: the caller's own, or a part of the file that was read. Neither is copied with the entry.
#[derive(Clone)]
enum Section {
    Own(Arc<Vec<u8>>),
    Part(Arc<Vec<u8>>, Range<usize>),
}

impl Section {
    fn bytes(&self) -> &[u8] {
        match self {
            Section::Own(bytes) => bytes.as_slice(),
            Section::Part(file, range) => file.get(range.clone()).unwrap_or_default(),
        }
    }
}

impl std::fmt::Debug for Section {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.bytes().fmt(f)
    }
}

impl PartialEq for Section {
    fn eq(&self, other: &Section) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Section {}

impl Entry {
    /// An entry without sections.
    pub fn new() -> Entry {
        Entry::default()
    }

    /// Adds a section, or replaces the one of that name. A name has 1 to 64 bytes, an entry at most
    /// 64 sections; the store does not take other entries.
    pub fn with(mut self, name: &str, bytes: impl Into<Vec<u8>>) -> Entry {
        let bytes = Section::Own(Arc::new(bytes.into()));
        match self.sections.iter_mut().find(|(other, _)| other == name) {
            Some((_, old)) => *old = bytes,
            None => self.sections.push((name.to_owned(), bytes)),
        }
        self
    }

    /// The bytes of a section.
    pub fn section(&self, name: &str) -> Option<&[u8]> {
        self.sections.iter().find(|(other, _)| other == name).map(|(_, section)| section.bytes())
    }

    /// An entry whose sections are parts of a file. The names differ.
    pub(crate) fn of_file(file: Vec<u8>, sections: Vec<(String, Range<usize>)>) -> Entry {
        let file = Arc::new(file);
        let part = |(name, range)| (name, Section::Part(Arc::clone(&file), range));
        Entry { sections: sections.into_iter().map(part).collect() }
    }

    /// All sections in order.
    pub fn sections(&self) -> impl Iterator<Item = (&str, &[u8])> + Clone {
        self.sections.iter().map(|(name, section)| (name.as_str(), section.bytes()))
    }

    pub(crate) fn is_storable(&self) -> bool {
        self.sections.len() <= MAX_SECTIONS
            && self.sections.iter().all(|(name, _)| (1..=MAX_NAME).contains(&name.len()))
    }
}
