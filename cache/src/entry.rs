//! What is stored under a key: named byte sections.

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
    sections: Vec<(String, Vec<u8>)>,
}

impl Entry {
    /// An entry without sections.
    pub fn new() -> Entry {
        Entry::default()
    }

    /// Adds a section, or replaces the one of that name. A name has 1 to 64 bytes, an entry at most
    /// 64 sections; the store does not take other entries.
    pub fn with(mut self, name: &str, bytes: impl Into<Vec<u8>>) -> Entry {
        let bytes = bytes.into();
        match self.sections.iter_mut().find(|(other, _)| other == name) {
            Some((_, old)) => *old = bytes,
            None => self.sections.push((name.to_owned(), bytes)),
        }
        self
    }

    /// The bytes of a section.
    pub fn section(&self, name: &str) -> Option<&[u8]> {
        self.sections.iter().find(|(other, _)| other == name).map(|(_, bytes)| bytes.as_slice())
    }

    /// All sections in order.
    pub fn sections(&self) -> impl Iterator<Item = (&str, &[u8])> + Clone {
        self.sections.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }

    pub(crate) fn is_storable(&self) -> bool {
        self.sections.len() <= MAX_SECTIONS
            && self.sections.iter().all(|(name, _)| (1..=MAX_NAME).contains(&name.len()))
    }
}
