//! The gate in front of everything: bytes that may be anything become words that can be walked.
//!
//! # Guarantees
//! - native byte order, header plausible, every instruction delimited, strings that are read here
//!   terminated
//! - type nesting and id bound are small enough for the recursive and id-indexed code of the
//!   validator and the passes, control flow for the validator's cubic one
//! - decoration groups are expanded ([`groups`])
//!
//! # Refuses
//! - everything else, naming the instruction

use ahash::AHashSet;
use rspirv::spirv::{MAGIC_NUMBER, Op};

use super::error::{KernelError, TextKind};
use super::groups;
use super::words::{self, HEADER};

/// No compute kernel comes near this; it bounds the work a hostile file can cause.
const MAX_BYTES: usize = 4 << 20;
/// SPIR-V's universal limit on ids (section "Universal Limits").
const MAX_BOUND: u32 = 0x3f_ffff;
/// SPIR-V's universal limit on structure nesting, applied to every kind of type.
const MAX_NESTING: u32 = 255;
/// Limit on [`ControlFlow::cost`]: a quarter of a microsecond each in the validator.
const MAX_CONTROL_FLOW: u64 = 8_000_000;
/// Decorations times targets of decoration groups, which both the validator and this crate write out.
const MAX_GROUPED: u64 = 1 << 20;
/// Types in a type, with repetition: sixteen times the universal limit on structure members.
const MAX_PARTS: u32 = 1 << 18;

/// Turns bytes of either byte order into checked words.
pub(crate) fn from_bytes(module: &str, bytes: &[u8]) -> Result<Vec<u32>, KernelError> {
    if let Some(looks_like) = text(bytes) {
        return Err(KernelError::Text { module: module.to_owned(), looks_like });
    }
    if is_copied_as_text(bytes) {
        return Err(KernelError::CopiedAsText { module: module.to_owned(), bytes: bytes.len() });
    }
    check_length(module, bytes.len())?;
    let (chunks, _) = bytes.as_chunks::<4>();
    let words: Vec<u32> = chunks.iter().map(|c| u32::from_le_bytes(*c)).collect();
    from_words(module, words)
}

/// Whether a module became longer because each of its line feeds got a carriage return.
fn is_copied_as_text(bytes: &[u8]) -> bool {
    let feeds = bytes.iter().filter(|byte| **byte == b'\n').count();
    let pairs = bytes.windows(2).filter(|pair| *pair == b"\r\n").count();
    let is_module = bytes.starts_with(&MAGIC_NUMBER.to_le_bytes());
    is_module
        && feeds > 0
        && feeds == pairs
        && !bytes.len().is_multiple_of(4)
        && (bytes.len() - pairs).is_multiple_of(4)
}

/// What text is, if it is text and no module: the header of a module has a byte that no text has.
fn text(bytes: &[u8]) -> Option<TextKind> {
    let start = &bytes[..bytes.len().min(1 << 16)];
    let mut is_certain = true;
    // The end may be in the middle of a character.
    let text = match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&start[..error.valid_up_to()]).ok()?
        }
        // Perhaps of another encoding, in a comment: it is text if it has words that only text has.
        Err(_) => {
            is_certain = false;
            &String::from_utf8_lossy(start)
        }
    };
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.is_empty() || text.contains(|c: char| c.is_control() && !c.is_whitespace()) {
        return None;
    }
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    Some(if text.starts_with("version https://git-lfs") {
        TextKind::LfsPointer
    } else if has(&["0x07230203"]) {
        TextKind::Hexadecimal
    } else if text.starts_with("; SPIR-V") || has(&["OpCapability", "OpMemoryModel"]) {
        TextKind::Assembly
    } else if has(&["@compute", "@group(", "@workgroup_size", "var<storage"]) {
        TextKind::Wgsl
    } else if has(&["[numthreads", "RWStructuredBuffer", "SV_DispatchThreadID"]) {
        TextKind::Hlsl
    } else if has(&["#version", "void main", "local_size_x", "layout("]) {
        TextKind::Glsl
    } else if is_certain {
        TextKind::Other
    } else {
        return None;
    })
}

/// The language of a text that is no WGSL, if it is plain.
#[cfg(feature = "wgsl")]
pub(super) fn text_of_another_language(wgsl: &str) -> Option<TextKind> {
    text(wgsl.as_bytes()).filter(|kind| !matches!(kind, TextKind::Wgsl | TextKind::Other))
}

/// Checks words; a module of the other byte order is swapped first.
pub(crate) fn from_words(module: &str, mut words: Vec<u32>) -> Result<Vec<u32>, KernelError> {
    check_length(module, words.len().saturating_mul(4))?;
    match words[0] {
        MAGIC_NUMBER => {}
        found if found.swap_bytes() == MAGIC_NUMBER => {
            for word in &mut words {
                *word = word.swap_bytes();
            }
        }
        found => {
            let bytes: Vec<u8> = words.iter().take(1 << 14).flat_map(|word| word.to_le_bytes()).collect();
            let module = module.to_owned();
            return Err(match text(&bytes) {
                Some(looks_like) if looks_like != TextKind::Other => KernelError::Text { module, looks_like },
                _ => KernelError::NotSpirv { module, found },
            });
        }
    }
    check_header(module, &words)?;
    check_instructions(module, &words)?;
    let misplaced = |groups::Misplaced { instruction, word, what }| KernelError::Malformed {
        module: module.to_owned(),
        instruction,
        word,
        what,
    };
    Ok(groups::expand(&words).map_err(misplaced)?.unwrap_or(words))
}

fn check_length(module: &str, bytes: usize) -> Result<(), KernelError> {
    if !bytes.is_multiple_of(4) || bytes < HEADER * 4 {
        return Err(KernelError::Truncated { module: module.to_owned(), bytes });
    }
    if bytes > MAX_BYTES {
        return Err(KernelError::TooLarge { module: module.to_owned(), bytes, limit: MAX_BYTES });
    }
    Ok(())
}

fn check_header(module: &str, words: &[u32]) -> Result<(), KernelError> {
    let version = words[1];
    if version & 0xff00_00ff != 0 || !(0x0001_0000..=0x0001_0600).contains(&version) {
        return Err(KernelError::Version { module: module.to_owned(), word: version });
    }
    // An id costs at least two words to define; strippers leave gaps, hence the generous factor.
    let limit = (words.len() as u32).saturating_mul(16).clamp(4096, MAX_BOUND);
    let bound = words[3];
    if bound == 0 || bound > limit {
        return Err(KernelError::IdBound { module: module.to_owned(), bound, limit });
    }
    Ok(())
}

fn check_instructions(module: &str, words: &[u32]) -> Result<(), KernelError> {
    let bound = words[3];
    let mut extents = vec![Extent::default(); bound as usize];
    let mut control_flow = ControlFlow::default();
    let (mut decorations, mut targets) = (0u64, 0u64);
    let mut at = HEADER;
    let mut instruction = 0;
    while at < words.len() {
        let malformed =
            |what| KernelError::Malformed { module: module.to_owned(), instruction, word: at, what };
        let length = (words[at] >> 16) as usize;
        if length == 0 {
            return Err(malformed("its word count is zero"));
        }
        if length > words.len() - at {
            return Err(malformed("it runs past the end of the module"));
        }
        let code = words[at] & 0xffff;
        let operands = &words[at + 1..at + length];
        check_type(&mut extents, code, operands, bound).map_err(malformed)?;
        control_flow.instruction(code, operands);
        if control_flow.cost() > MAX_CONTROL_FLOW {
            return Err(malformed("its function has too many or too deeply nested blocks"));
        }
        match Op::from_u32(code) {
            Some(Op::Decorate) => decorations += 1,
            Some(Op::GroupDecorate | Op::GroupMemberDecorate) => targets += operands.len() as u64,
            _ => {}
        }
        if decorations * targets > MAX_GROUPED {
            return Err(malformed("decoration groups have too many targets"));
        }
        if code == Op::EntryPoint as u32 && words::string(operands.get(2..).unwrap_or(&[])).is_none() {
            return Err(malformed("its name is not terminated"));
        }
        at += length;
        instruction += 1;
    }
    Ok(())
}

/// How long the validator will take over control flow: its time grows with the square of a function's
/// blocks, and for each block with the square of the number of constructs around it.
#[derive(Default)]
struct ControlFlow {
    /// Merge blocks announced and not met yet.
    open: AHashSet<u32>,
    blocks: u64,
    nested: u64,
    done: u64,
}

impl ControlFlow {
    fn instruction(&mut self, code: u32, operands: &[u32]) {
        let first = operands.first().copied().unwrap_or(0);
        match Op::from_u32(code) {
            Some(Op::Label) => {
                self.open.remove(&first);
                self.blocks += 1;
                self.nested += (self.open.len() as u64).pow(2);
            }
            Some(Op::SelectionMerge | Op::LoopMerge) => {
                self.open.insert(first);
            }
            Some(Op::FunctionEnd) => {
                self.done = self.cost();
                (self.blocks, self.nested) = (0, 0);
                self.open.clear();
            }
            _ => {}
        }
    }

    fn cost(&self) -> u64 {
        self.done + self.nested + self.blocks * self.blocks / 8
    }
}

/// Size of a type as a tree, where a type that is used twice counts twice.
#[derive(Clone, Copy, Default)]
struct Extent {
    depth: u32,
    parts: u32,
}

/// Tracks the extent of types: the C++ tools and this crate recurse over them, without remembering
/// which they have visited.
fn check_type(extents: &mut [Extent], code: u32, operands: &[u32], bound: u32) -> Result<(), &'static str> {
    let parts: &[u32] = match Op::from_u32(code) {
        Some(Op::TypeVector | Op::TypeMatrix | Op::TypeArray | Op::TypeRuntimeArray) => {
            operands.get(1..2).unwrap_or(&[])
        }
        Some(Op::TypePointer) => operands.get(2..3).unwrap_or(&[]),
        Some(Op::TypeStruct | Op::TypeFunction) => operands.get(1..).unwrap_or(&[]),
        _ => return Ok(()),
    };
    let Some(&id) = operands.first() else {
        return Err("it has no result id");
    };
    if id >= bound {
        return Err("its result id is not below the id bound");
    }
    let mut extent = Extent::default();
    for part in parts {
        let part = extents.get(*part as usize).copied().unwrap_or_default();
        extent.depth = extent.depth.max(part.depth);
        extent.parts = extent.parts.saturating_add(part.parts);
    }
    extent.depth += 1;
    extent.parts = extent.parts.saturating_add(1);
    if extent.depth > MAX_NESTING {
        return Err("it nests types more than 255 deep");
    }
    if extent.parts > MAX_PARTS {
        return Err("it is a type of more than 262144 parts");
    }
    extents[id as usize] = extent;
    Ok(())
}
