//! Numbers on the device and on the host.

use vkfuse::rust::f16;

use crate::support::Buf;

/// How numbers are kept in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Real {
    Single,
    Half,
    /// In blocks of 32 of four bits, with a scale that is a half: only as weights.
    Block,
}

/// Numbers in a buffer, and what plain Rust makes of the same.
#[derive(Clone)]
pub(crate) struct Tensor {
    pub(crate) buffer: Buf,
    pub(crate) host: Vec<f32>,
    pub(crate) real: Real,
}

/// Numbers without order, between -1 and 1.
pub(crate) fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let word = |i: u32| (i ^ seed << 16).wrapping_mul(2_654_435_761).wrapping_add(seed) >> 8;
    (0..count as u32).map(|i| (word(i) % 257) as f32 / 128.0 - 1.0).collect()
}

fn words(halves: &[u16]) -> Vec<u32> {
    let word = |pair: &[u16]| u32::from(pair[0]) | pair.get(1).map_or(0, |&high| u32::from(high) << 16);
    halves.chunks(2).map(word).collect()
}

fn halves(numbers: &[f32]) -> Vec<u16> {
    numbers.iter().map(|&number| f16::from_f32(number).to_bits()).collect()
}

impl Real {
    /// The numbers as they are when they come back from memory, and the words that hold them.
    pub(crate) fn store(self, numbers: &[f32]) -> (Vec<f32>, Vec<u32>) {
        match self {
            Real::Single => (numbers.to_vec(), numbers.iter().map(|number| number.to_bits()).collect()),
            Real::Half => (self.rounded(numbers.to_vec()), words(&halves(numbers))),
            Real::Block => {
                let (mut back, mut all) = (Vec::new(), Vec::new());
                for block in numbers.chunks_exact(32) {
                    let most =
                        block.iter().copied().fold(0.0_f32, |a, b| if b.abs() > a.abs() { b } else { a });
                    let scale = f16::from_f32(most / -8.0);
                    let by = if scale.to_f32() == 0.0 { 0.0 } else { scale.to_f32().recip() };
                    let own: Vec<u16> =
                        block.iter().map(|x| (x * by + 8.5).clamp(0.0, 15.0) as u16).collect();
                    back.extend(own.iter().map(|&q| scale.to_f32() * (f32::from(q) - 8.0)));
                    all.push(scale.to_bits());
                    let byte = |k: usize| own[k] | own[k + 16] << 4;
                    all.extend((0..8).map(|k| byte(2 * k) | byte(2 * k + 1) << 8));
                }
                (back, words(&all))
            }
        }
    }

    /// What is left of results.
    pub(crate) fn rounded(self, mut numbers: Vec<f32>) -> Vec<f32> {
        if self == Real::Half {
            numbers.iter_mut().for_each(|number| *number = f16::from_f32(*number).to_f32());
        }
        numbers
    }

    /// Numbers from words of memory.
    pub(crate) fn load(self, words: &[u32]) -> Vec<f32> {
        match self {
            Real::Half => {
                let both = words.iter().flat_map(|&word| [word as u16, (word >> 16) as u16]);
                both.map(|bits| f16::from_bits(bits).to_f32()).collect()
            }
            _ => words.iter().map(|&word| f32::from_bits(word)).collect(),
        }
    }

    /// Words that results take.
    pub(crate) fn len(self, count: usize) -> usize {
        if self == Real::Half { count.div_ceil(2) } else { count }
    }

    /// How far results may be from what plain Rust computes, of a result of this size.
    fn tolerance(self, of: f32) -> f32 {
        let (part, least) = if self == Real::Half { (4e-3, 4e-3) } else { (2e-5, 2e-5) };
        part * of.abs() + least
    }

    /// Demands that results are what plain Rust computes.
    pub(crate) fn assert_close(self, found: &[f32], wanted: &[f32], what: &str) {
        assert!(found.len() >= wanted.len(), "{what}");
        for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
            let is_close = (found - wanted).abs() <= self.tolerance(*wanted);
            assert!(is_close, "{what}, element {at}: {found}, and {wanted} on the host");
        }
    }
}
