//! Modules that are damaged, and the numbers that say how.

use std::path::{Path, PathBuf};

/// Numbers that follow from a seed.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32
    }

    /// A number below a limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.next() as usize % limit
    }
}

/// Where instructions begin, behind the header.
pub(crate) fn instructions(words: &[u32]) -> Vec<std::ops::Range<usize>> {
    let (mut at, mut found) = (5, Vec::new());
    while let Some(&first) = words.get(at) {
        let count = ((first >> 16) as usize).max(1);
        found.push(at..(at + count).min(words.len()));
        at += count;
    }
    found
}

/// Damages a module in one of several ways.
pub(crate) fn damage(words: &mut Vec<u32>, numbers: &mut Numbers) {
    let at = 5 + numbers.below(words.len() - 5);
    let all = instructions(words);
    let [one, other] = [0, 1].map(|_| all[numbers.below(all.len())].clone());
    match numbers.below(6) {
        0 => words[at] ^= 1 << numbers.below(32),
        1 => words[at] = words[5 + numbers.below(words.len() - 5)],
        2 => words[at] = numbers.below(64) as u32,
        // An instruction in the place of another, behind it, or not at all.
        3 => drop(words.splice(one, words[other].to_vec())),
        4 => {
            let copy = words[other].to_vec();
            drop(words.splice(one.end..one.end, copy));
        }
        _ => drop(words.drain(one)),
    }
}

/// All SPIR-V modules, and WGSL texts, below a folder.
pub(crate) fn modules(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            modules(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "spv" || extension == "wgsl") {
            found.push(path);
        }
    }
}

/// The words of the small modules among those that tests have.
pub(crate) fn sources() -> Vec<Vec<u32>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<PathBuf> = Vec::new();
    modules(&root.join("tests/kernels"), &mut paths);
    modules(&root.join("interp/tests"), &mut paths);
    paths
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "spv"))
        .map(|path| std::fs::read(path).expect("a file"))
        .map(|bytes| bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect())
        .filter(|words: &Vec<u32>| (6..4000).contains(&words.len()) && words[0] == 0x0723_0203)
        .collect()
}

/// How many are damaged: `VKFUSE_IR_MUTATIONS`, or this number.
pub(crate) fn count(usual: usize) -> usize {
    std::env::var("VKFUSE_IR_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}
