//! Contents that can be checked: every key has its own, every build of it says which build it is.

use std::path::Path;
use std::time::Duration;

use vkfuse_cache::{Entry, Key, Part, StoreConfig};

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    /// Small numbers far more often than large ones.
    pub(crate) fn zipf(&mut self, count: u64) -> u64 {
        let x = self.next() as f64 / (1u64 << 53) as f64;
        ((count as f64).powf(x) as u64 - 1).min(count - 1)
    }
}

pub(crate) fn key(number: u64) -> Key {
    Key::new(
        Part::new().str("device", "test"),
        Part::new().u64("image", number),
        Part::new().u64("spec", number % 7),
        Part::new(),
    )
}

/// Bytes of one build of a key. Every page of 4 KiB is the same except for its number, which makes this
/// cheap enough to be checked at every hit, and still shows pages that are missing or mixed.
pub(crate) fn fill(number: u64, build: u64, length: usize) -> Vec<u8> {
    let mut page = [0; 4096];
    blake3::Hasher::new()
        .update(&number.to_le_bytes())
        .update(&build.to_le_bytes())
        .finalize_xof()
        .fill(&mut page);
    let mut bytes = Vec::with_capacity(length.next_multiple_of(page.len()));
    for index in 0..length.div_ceil(page.len()) as u64 {
        page[4088..].copy_from_slice(&index.to_le_bytes());
        bytes.extend_from_slice(&page);
    }
    bytes.truncate(length);
    bytes
}

/// Every build of a key is different, and says so in both sections.
fn build_of(number: u64, build: u64, length: usize) -> Entry {
    Entry::new().with("spirv", fill(number, build, length)).with("report", build.to_le_bytes())
}

/// An entry of 1 KiB and up to `most` more, the same for every build of a key.
pub(crate) fn payload(number: u64, build: u64, most: usize) -> Entry {
    build_of(number, build, 1024 + (fill(number, 0, 8)[0] as usize * most / 256))
}

/// An entry of 1 KiB to `most`, as many of 1 to 2 KiB as of 512 KiB to 1 MiB.
pub(crate) fn payload_of_any_size(number: u64, build: u64, most: usize) -> Entry {
    let share = f64::from(fill(number, 0, 8)[0]) / 255.0;
    build_of(number, build, (1024.0 * (most as f64 / 1024.0).powf(share)) as usize)
}

/// Which build of its key an entry is.
pub(crate) fn build_in(entry: &Entry) -> Option<u64> {
    let build = entry.section("report")?.try_into().ok()?;
    Some(u64::from_le_bytes(build))
}

/// Whether an entry is one whole build of this key.
pub(crate) fn is_right(number: u64, entry: &Entry) -> bool {
    let (Some(build), Some(code)) = (build_in(entry), entry.section("spirv")) else {
        return false;
    };
    code == fill(number, build, code.len())
}

pub(crate) fn config(dir: &Path, limit: u64) -> StoreConfig {
    let mut config = StoreConfig::at(dir);
    config.max_size = limit;
    config.touch_interval = Duration::ZERO;
    config.sweep_age = Duration::ZERO;
    config
}
