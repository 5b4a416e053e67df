//! Modules that are damaged: an error or a form that is sound, never a panic or a hang. No validator stands in front.

use rspirv::dr;
use vkfuse_jit::ir;
use vkfuse_jit::kernel::inline_and_promote;

use crate::damage::{Numbers, count, damage, instructions, sources};

/// Whether each instruction that has a string has its end, too.
fn strings_end(words: &[u32]) -> bool {
    const STRINGS: [u32; 11] = [3, 4, 5, 6, 7, 10, 11, 15, 330, 5632, 5633];
    let ends = |range: std::ops::Range<usize>| {
        let inst = &words[range];
        !STRINGS.contains(&(inst[0] & 0xffff)) || inst[1..].iter().any(|word| word >> 24 == 0)
    };
    instructions(words).into_iter().all(ends)
}

#[test]
fn damaged_modules_are_refused_or_sound() {
    let sources = sources();
    let mut numbers = Numbers::of(7);
    let (mut decoded, mut imported, mut formed) = (0, 0, 0);
    let count = count(10_000);
    for number in 0..count {
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
    println!("{count} damaged: {decoded} decoded, {imported} imported, {formed} with a form");
    assert!(formed > 0 && imported < count);
}
