//! Input that is not what it should be: an error, never a panic, a hang or an abort.

use vkfuse_jit::kernel::{Kernel, KernelError, Module, TextKind};

use super::corpus;

/// A small generator: the tests must be the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    /// `FUZZ_SEED` chooses another sequence, `FUZZ_ROUNDS` multiplies the work: for longer runs by hand.
    pub(crate) fn new(seed: u64) -> Random {
        let other: u64 = number("FUZZ_SEED", 0);
        Random(seed ^ other.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

fn number(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.and_then(|value| value.parse().ok()).unwrap_or(default)
}

pub(crate) fn rounds() -> u64 {
    500 * number("FUZZ_ROUNDS", 1)
}

/// Takes a module as far as it goes; says whether it loaded.
fn exercise(bytes: &[u8]) -> bool {
    let Ok(module) = Module::from_bytes("hostile", bytes) else {
        return false;
    };
    for entry in module.entry_points() {
        let kernel = Kernel::new(&module, Some(entry)).expect("a listed entry point");
        // What the tools do not know they cannot accept.
        if let Ok(kernel) = kernel.specialize(&[])
            && module.is_checked()
        {
            corpus::assert_acceptable("strict words of a damaged module", &kernel.plain.strict);
            if let Ok(normal) = &kernel.normal {
                use rspirv::binary::Assemble;
                let words = normal.module.assemble();
                corpus::assert_acceptable("normal form of a damaged module", &words);
            }
        }
    }
    true
}

#[test]
fn refuses_random_bytes() {
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    for length in 0..600 {
        let mut bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        assert!(!exercise(&bytes));
        // The same behind a good header, so that more than the first check is reached.
        if length >= 20 {
            bytes[..20].copy_from_slice(&corpus::bytes("chain")[..20]);
            assert!(!exercise(&bytes));
        }
    }
}

#[test]
fn refuses_every_truncation() {
    for name in ["chain", "spec.3", "many"] {
        let bytes = corpus::bytes(name);
        for length in 0..bytes.len() {
            if length % 4 == 0 || length % 7 == 0 {
                assert!(!exercise(&bytes[..length]), "{name} cut to {length} bytes");
            }
        }
    }
}

#[test]
fn survives_flipped_bits() {
    let mut random = Random::new(0x2545_f491_4f6c_dd1d);
    for name in ["chain.0", "control.3", "spec", "types", "hlsl", "many", "atomics", "pointers", "naga"] {
        let original = corpus::bytes(name);
        for _ in 0..rounds() {
            let mut bytes = original.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
            exercise(&bytes);
        }
    }
}

#[test]
fn survives_swapped_words() {
    let mut random = Random::new(0x1234_5678_9abc_def1);
    for name in ["control", "spec.3", "shared", "spec_ops", "naga"] {
        let original = corpus::bytes(name);
        for _ in 0..rounds() {
            let mut words: Vec<[u8; 4]> = original.as_chunks::<4>().0.to_vec();
            let at = 5 + random.below(words.len() - 5);
            words[at] = words[5 + random.below(words.len() - 5)];
            exercise(words.as_flattened());
        }
    }
}

#[test]
fn accepts_the_other_byte_order() {
    let bytes = corpus::bytes("chain");
    let swapped: Vec<u8> = bytes.chunks(4).flat_map(|c| [c[3], c[2], c[1], c[0]]).collect();
    let module = Module::from_bytes("swapped", &swapped).unwrap();
    assert_eq!(module.words(), corpus::module("chain").words());
}

fn words(name: &str) -> Vec<u32> {
    corpus::module(name).words().to_vec()
}

#[test]
fn refuses_what_is_not_spirv() {
    let error = Module::from_bytes("text", b"#version 450\nvoid main() {}\n").unwrap_err();
    assert!(matches!(error, KernelError::Text { looks_like: TextKind::Glsl, .. }), "{error}");
    let error = Module::from_bytes("noise", &[0x80; 40]).unwrap_err();
    assert!(matches!(error, KernelError::NotSpirv { .. }), "{error}");
    let error = Module::from_bytes("empty", b"").unwrap_err();
    assert!(matches!(error, KernelError::Truncated { bytes: 0, .. }), "{error}");
    let error = Module::from_bytes("odd", &corpus::bytes("chain")[..101]).unwrap_err();
    assert!(matches!(error, KernelError::Truncated { bytes: 101, .. }), "{error}");
}

#[test]
fn refuses_an_implausible_header() {
    let mut bad = words("chain");
    bad[1] = 0x0001_0700;
    let error = Module::from_words("version", &bad).unwrap_err();
    assert!(matches!(error, KernelError::Version { .. }), "{error}");
    let mut bad = words("chain");
    bad[3] = 0x3f_ffff;
    let error = Module::from_words("bound", &bad).unwrap_err();
    assert!(matches!(error, KernelError::IdBound { .. }), "{error}");
    bad[3] = 0;
    let error = Module::from_words("bound", &bad).unwrap_err();
    assert!(matches!(error, KernelError::IdBound { bound: 0, .. }), "{error}");
    let big = vec![words("chain")[0]; 5 << 20];
    let error = Module::from_words("big", &big).unwrap_err();
    assert!(matches!(error, KernelError::TooLarge { .. }), "{error}");
}

#[test]
fn names_the_instruction_that_is_malformed() {
    let mut bad = words("chain");
    bad[5] &= 0xffff;
    let error = Module::from_words("zero", &bad).unwrap_err();
    assert_eq!(error.to_string(), "module `zero`, instruction 0 (word 5): its word count is zero");
    let mut bad = words("chain");
    let end = bad.len();
    bad.truncate(end - 1);
    bad[end - 2] |= 0x0004_0000;
    let error = Module::from_words("long", &bad).unwrap_err();
    assert!(error.to_string().contains("runs past the end"), "{error}");
}

#[test]
fn says_which_grammar_does_not_know_an_instruction() {
    let capability = (2 << 16) | 17;
    let mut newer = words("chain");
    newer.splice(5..5, [1 << 16 | 9999]);
    let error = Module::from_words("newer", &newer).unwrap_err();
    assert!(matches!(error, KernelError::Decode { .. }), "{error}");
    assert!(error.to_string().contains("9999") && error.to_string().contains("rspirv"), "{error}");
    // Kernel (OpenCL): the validator knows it, and not as one of Vulkan's.
    let mut other = words("chain");
    other.splice(5..5, [capability, 6]);
    let error = Module::from_words("other", &other).unwrap_err();
    assert!(matches!(error, KernelError::Invalid { .. }), "{error}");
}

/// A header and the start of a module with one `float` type, %1.
fn start(bound: u32) -> Vec<u32> {
    vec![
        0x0723_0203,
        0x0001_0300,
        0,
        bound,
        0, // header
        0x0002_0011,
        1, // OpCapability Shader
        0x0003_000e,
        0,
        1, // OpMemoryModel Logical GLSL450
        0x0003_0016,
        1,
        32, // OpTypeFloat
    ]
}

#[test]
fn refuses_types_nested_out_of_proportion() {
    let mut deep = start(5000);
    for id in 2..4000 {
        deep.extend([0x0003_001d, id, id - 1]); // OpTypeRuntimeArray
    }
    let error = Module::from_words("deep", &deep).unwrap_err();
    assert!(error.to_string().contains("nests types"), "{error}");

    // Thirty-eight structures of three of the previous: few words, 3^38 parts.
    let mut wide = start(100);
    for id in 2..40 {
        wide.extend([0x0005_001e, id, id - 1, id - 1, id - 1]); // OpTypeStruct
    }
    let error = Module::from_words("wide", &wide).unwrap_err();
    assert!(error.to_string().contains("parts"), "{error}");
}

#[test]
fn refuses_decoration_groups_out_of_proportion() {
    let mut module = start(4000);
    for _ in 0..3000 {
        module.extend([0x0003_0047, 2, 19]); // OpDecorate %2 Restrict
    }
    module.extend([0x0002_0049, 2]); // OpDecorationGroup
    module.push((3002 << 16) | 0x4a); // OpGroupDecorate %2, 3000 targets
    module.extend([2; 3001]);
    let error = Module::from_words("groups", &module).unwrap_err();
    assert!(error.to_string().contains("decoration groups"), "{error}");
}
