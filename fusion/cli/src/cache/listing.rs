//! Entries of the store as rows of a listing.

use super::PARTS;
use serde::Serialize;
use std::time::UNIX_EPOCH;
use vkfuse_cache::{BlobInfo, Difference, EntryInfo};

/// One entry.
#[derive(Serialize)]
pub(super) struct EntryRow {
    /// The key's hash in hexadecimal, or the file's place if the key cannot be read.
    pub(super) key: String,
    pub(super) bytes: u64,
    /// Seconds since 1970.
    pub(super) last_used: u64,
    pub(super) sections: Vec<(String, u64)>,
    pub(super) blobs: Vec<BlobRow>,
    /// Drivers whose blobs are set aside because processes died loading them.
    pub(super) quarantined: Vec<String>,
    pub(super) defect: Option<String>,
}

/// One driver blob.
#[derive(Serialize)]
pub(super) struct BlobRow {
    pub(super) driver: String,
    pub(super) bytes: u64,
    pub(super) defect: Option<String>,
}

/// One field in which two keys differ; `null` where one has no such field.
#[derive(Serialize)]
pub(super) struct DifferenceRow {
    pub(super) part: &'static str,
    pub(super) field: String,
    pub(super) first: Option<String>,
    pub(super) second: Option<String>,
}

pub(super) fn difference(difference: &Difference) -> DifferenceRow {
    DifferenceRow {
        part: difference.part.name(),
        field: difference.name.clone(),
        first: difference.here.as_ref().map(ToString::to_string),
        second: difference.there.as_ref().map(ToString::to_string),
    }
}

impl EntryRow {
    pub(super) fn new(entry: &EntryInfo) -> EntryRow {
        let used = entry.last_used.duration_since(UNIX_EPOCH);
        EntryRow {
            key: identity(entry),
            bytes: entry.bytes,
            last_used: used.map_or(0, |used| used.as_secs()),
            sections: entry.sections.clone(),
            blobs: entry.blobs.iter().map(blob).collect(),
            quarantined: entry.quarantined.clone(),
            defect: entry.defect.as_ref().map(ToString::to_string),
        }
    }

    pub(super) fn is_damaged(&self) -> bool {
        self.defect.is_some() || self.blobs.iter().any(|blob| blob.defect.is_some())
    }
}

fn blob(blob: &BlobInfo) -> BlobRow {
    BlobRow {
        driver: blob.driver.clone(),
        bytes: blob.bytes,
        defect: blob.defect.as_ref().map(ToString::to_string),
    }
}

/// What an entry is called.
pub(super) fn identity(entry: &EntryInfo) -> String {
    match entry.id() {
        Some(id) => format!("{id:#}"),
        None => format!("{}/{}.{}", entry.folder, entry.stem, entry.number),
    }
}

/// The ingredients of an entry's key: part, then field and value.
pub(super) fn parts(entry: &EntryInfo) -> Vec<(&'static str, Vec<(String, String)>)> {
    let Some(key) = &entry.key else {
        return Vec::new();
    };
    let fields = |kind| {
        let fields = key.part(kind).fields().into_iter();
        fields.map(|field| (field.name, field.value.to_string())).collect()
    };
    PARTS.iter().map(|kind| (kind.name(), fields(*kind))).collect()
}
