//! Another work-group size than the module says, for kernels that take any.
//!
//! # Refuses
//! - modules whose size follows from specialization constants: those have values in the file

use super::model::{KernelDecl, Pipeline};
use super::problem::Problem;
use vkfuse_jit::kernel::Module;

const HEADER: usize = 5;
/// Word of the header with the bound of all ids.
const BOUND: usize = 3;
const ENTRY_POINT: u32 = 15;
const EXECUTION_MODE: u32 = 16;
const CONSTANT: u32 = 43;
const CONSTANT_COMPOSITE: u32 = 44;
const DECORATE: u32 = 71;
const EXECUTION_MODE_ID: u32 = 331;
/// Operands: the mode and the decoration, with the built-in.
const LOCAL_SIZE: u32 = 17;
const LOCAL_SIZE_ID: u32 = 38;
const BUILT_IN: u32 = 11;
const WORKGROUP_SIZE: u32 = 25;
const GL_COMPUTE: u32 = 5;

/// The module with the local size that the file asks for.
pub(super) fn replaced(
    pipeline: &Pipeline,
    declared: &KernelDecl,
    module: Module,
) -> Result<Module, Problem> {
    let Some((size, place)) = &declared.local_size else { return Ok(module) };
    let wrong = |message: String| pipeline.problem(place, message);
    if module.has_overrides() {
        let message = "its text has overrides: size its work-group by one of them, and give that in spec";
        return Err(wrong(format!("kernel {}: {message}", declared.name)));
    }
    let words = with_size(module.words(), declared.entry.as_deref(), *size);
    let words = words.map_err(|message| wrong(format!("kernel {}: {message}", declared.name)))?;
    Module::from_words(&declared.name, &words).map_err(|error| wrong(error.to_string()))
}

/// A constant of the module that is the size: `gl_WorkGroupSize`.
struct Constant {
    id: u32,
    /// Where its three numbers stand in the words, and their type.
    at: Option<(usize, u32)>,
}

fn with_size(words: &[u32], entry: Option<&str>, size: [u32; 3]) -> Result<Vec<u32>, &'static str> {
    let mut out = words.to_vec();
    let mut entries = Vec::new();
    let mut named: Option<Constant> = None;
    // Type of each constant.
    let mut types: Vec<(u32, u32)> = Vec::new();
    let mut at = HEADER;
    let mut found = false;
    // The module was read before: each instruction has a length, and stands in the words.
    while let Some(&first) = words.get(at) {
        let length = (first >> 16).max(1) as usize;
        let operand = |n: usize| words.get(at + 1 + n).copied().unwrap_or(0);
        match first & 0xffff {
            ENTRY_POINT if operand(0) == GL_COMPUTE => {
                let name: Vec<u8> = words[at + 3..].iter().flat_map(|word| word.to_le_bytes()).collect();
                let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
                if entry.is_none_or(|entry| entry.as_bytes() == name) {
                    entries.push(operand(1));
                }
            }
            EXECUTION_MODE if entries.contains(&operand(0)) && operand(1) == LOCAL_SIZE && length == 6 => {
                out[at + 3..at + 6].copy_from_slice(&size);
                found = true;
            }
            EXECUTION_MODE_ID if entries.contains(&operand(0)) && operand(1) == LOCAL_SIZE_ID => {
                return Err("its local size follows from constants; give those in spec");
            }
            DECORATE if operand(1) == BUILT_IN && operand(2) == WORKGROUP_SIZE => {
                named = Some(Constant { id: operand(0), at: None });
            }
            CONSTANT => types.push((operand(1), operand(0))),
            CONSTANT_COMPOSITE if length == 6 => {
                let ty = types.iter().find(|(id, _)| *id == operand(2)).map(|(_, ty)| *ty);
                if let (Some(named), Some(ty)) = (named.as_mut().filter(|named| named.id == operand(1)), ty) {
                    named.at = Some((at, ty));
                }
            }
            _ => {}
        }
        at += length;
    }
    match named {
        None => {}
        // It goes before the mode, and all of the module's entry points have the one.
        Some(Constant { at: Some((at, ty)), .. }) => {
            let bound = out[BOUND];
            let fresh = [bound, bound + 1, bound + 2];
            out[at + 3..at + 6].copy_from_slice(&fresh);
            let numbers = fresh.iter().zip(size).flat_map(|(id, n)| [4 << 16 | CONSTANT, ty, *id, n]);
            out.splice(at..at, numbers.collect::<Vec<u32>>());
            out[BOUND] = bound + 3;
        }
        Some(Constant { at: None, .. }) => return Err("its local size is specialized; give it in spec"),
    }
    if found { Ok(out) } else { Err("it has no local size to replace") }
}
