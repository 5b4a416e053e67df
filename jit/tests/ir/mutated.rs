//! Modules that are damaged: an error or a form that is sound, never a panic or a hang. No validator stands in front.

use std::path::{Path, PathBuf};

use rspirv::dr;
use vkfuse_jit::ir;
use vkfuse_jit::kernel::inline_and_promote;

use crate::kernels::modules;
use crate::round_trip::Numbers;

/// How many: `VKFUSE_IR_MUTATIONS`, or ten thousand.
fn count() -> usize {
    std::env::var("VKFUSE_IR_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(10_000)
}

/// Where instructions begin, behind the header.
fn instructions(words: &[u32]) -> Vec<std::ops::Range<usize>> {
    let (mut at, mut found) = (5, Vec::new());
    while let Some(&first) = words.get(at) {
        let count = ((first >> 16) as usize).max(1);
        found.push(at..(at + count).min(words.len()));
        at += count;
    }
    found
}

/// Whether each instruction that has a string has its end, too.
fn strings_end(words: &[u32]) -> bool {
    const STRINGS: [u32; 11] = [3, 4, 5, 6, 7, 10, 11, 15, 330, 5632, 5633];
    let ends = |range: std::ops::Range<usize>| {
        let inst = &words[range];
        !STRINGS.contains(&(inst[0] & 0xffff)) || inst[1..].iter().any(|word| word >> 24 == 0)
    };
    instructions(words).into_iter().all(ends)
}

/// Damages a module in one of several ways.
fn damage(words: &mut Vec<u32>, numbers: &mut Numbers) {
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

#[test]
fn damaged_modules_are_refused_or_sound() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<PathBuf> = Vec::new();
    modules(&root.join("tests/kernels"), &mut paths);
    modules(&root.join("interp/tests"), &mut paths);
    let sources: Vec<Vec<u32>> = paths
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "spv"))
        .map(|path| std::fs::read(path).expect("a file"))
        .map(|bytes| bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect())
        .filter(|words: &Vec<u32>| (6..4000).contains(&words.len()) && words[0] == 0x0723_0203)
        .collect();
    let mut numbers = Numbers::of(7);
    let (mut decoded, mut imported, mut formed) = (0, 0, 0);
    for number in 0..count() {
        let mut words = sources[number % sources.len()].clone();
        for _ in 0..=numbers.below(3) {
            damage(&mut words, &mut numbers);
        }
        // The decoder takes strings on trust, as the guard in front of it sees to it that they end.
        if !strings_end(&words) {
            continue;
        }
        let Ok(Ok(mut module)) = std::panic::catch_unwind(|| dr::load_words(&words)) else { continue };
        decoded += 1;
        imported += usize::from(ir::import(&module).is_ok_and(|there| ir::verify(&there).is_ok()));
        formed += usize::from(inline_and_promote(&mut module).is_ok());
    }
    println!("{} damaged: {decoded} decoded, {imported} imported, {formed} with a form", count());
    assert!(formed > 0 && imported < count());
}
