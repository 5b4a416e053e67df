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

pub(crate) fn fill(number: u64, build: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new()
        .update(&number.to_le_bytes())
        .update(&build.to_le_bytes())
        .finalize_xof()
        .fill(&mut bytes);
    bytes
}

/// Every build of a key is different, and says so in both sections.
pub(crate) fn payload(number: u64, build: u64, most: usize) -> Entry {
    let length = 1024 + (fill(number, 0, 8)[0] as usize * most / 256);
    Entry::new().with("spirv", fill(number, build, length)).with("report", build.to_le_bytes())
}

/// Whether an entry is one whole build of this key.
pub(crate) fn is_right(number: u64, entry: &Entry) -> bool {
    let build = entry.section("report").and_then(|bytes| bytes.try_into().ok());
    let (Some(build), Some(code)) = (build, entry.section("spirv")) else {
        return false;
    };
    code == fill(number, u64::from_le_bytes(build), code.len())
}

pub(crate) fn config(dir: &Path, limit: u64) -> StoreConfig {
    let mut config = StoreConfig::at(dir);
    config.max_size = limit;
    config.touch_interval = Duration::ZERO;
    config.sweep_age = Duration::ZERO;
    config
}
