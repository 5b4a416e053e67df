//! WGSL overrides without a default, as specialization constants.
//!
//! naga cannot leave an override open in SPIR-V. So what it is given declares a private variable instead, and in the SPIR-V that comes
//! out the variable is a specialization constant, and its loads are copies of that. A compiler in between sees a load of memory,
//! of which it supposes nothing.
//!
//! # Requires
//! - a text that is valid as it is: nothing assigns to an override, and nothing takes its address
//!
//! # Guarantees
//! - each override without a default is a specialization constant of its `@id`, or, if it has none, of the lowest number that no
//!   other override has, in the order of the text; it bears the override's name
//! - all of them are named by [`REQUIRED`](super::spec::REQUIRED), because none has a value unless it is given one
//!
//! # Refuses
//! - overrides without a default where a constant is needed: sizes of arrays and work-groups, values of other overrides

use ahash::AHashMap;
use naga::{Handle, Module, Override};
use rspirv::spirv::{Decoration, Op, StorageClass};

use super::spec::REQUIRED;
use super::words::{self, HEADER};

/// An override without a default.
pub(super) struct Open {
    name: String,
    id: u32,
    /// Bytes of its declaration, without the semicolon.
    at: std::ops::Range<usize>,
}

/// The overrides of a parsed text that have no default.
pub(super) fn open(module: &Module, text: &str) -> Vec<Open> {
    let all: Vec<(Handle<Override>, &Override)> = module.overrides.iter().collect();
    let mut taken: Vec<u32> = all.iter().filter_map(|(_, one)| one.id.map(u32::from)).collect();
    let mut found = Vec::new();
    for (handle, one) in all.into_iter().filter(|(_, one)| one.init.is_none()) {
        let (Some(name), Some(range)) = (one.name.clone(), module.overrides.get_span(handle).to_range())
        else {
            continue;
        };
        let id = one.id.map_or_else(|| (0..).find(|id| !taken.contains(id)).unwrap_or(0), u32::from);
        taken.push(id);
        let Some(at) = declaration(text, range) else { continue };
        found.push(Open { name, id, at });
    }
    found
}

/// All of a declaration, its attributes included, of which a part is known.
fn declaration(text: &str, part: std::ops::Range<usize>) -> Option<std::ops::Range<usize>> {
    let end = part.start + text.get(part.start..)?.find(';')?;
    let keyword = text.get(..end)?.rfind("override")?;
    let mut start = keyword;
    // `@id(3)`, in front of it.
    let before = text.get(..keyword)?.trim_end();
    if before.ends_with(')')
        && let Some(at) = before.rfind('@')
        && before[at + 1..].trim_start().starts_with("id")
    {
        start = at;
    }
    Some(start..end)
}

/// The text with private variables in their place; lines stay what they were.
pub(super) fn with_variables(text: &str, open: &[Open]) -> String {
    let mut out = text.to_owned();
    let mut sorted: Vec<&Open> = open.iter().collect();
    sorted.sort_by_key(|one| std::cmp::Reverse(one.at.start));
    for one in sorted {
        let declared = &text[one.at.clone()];
        let keyword = declared.find("override").unwrap_or(0);
        let rest = &declared[keyword + "override".len()..];
        let lines = "\n".repeat(declared[..keyword].matches('\n').count());
        out.replace_range(one.at.clone(), &format!("{lines}var<private>{rest}"));
    }
    out
}

/// The words with specialization constants in the place of the variables. What else than a load uses one is no valid module any
/// more, and spirv-val says so.
pub(super) fn as_constants(words: &[u32], open: &[Open]) -> Vec<u32> {
    let mut names: AHashMap<u32, String> = AHashMap::new();
    let mut pointees: AHashMap<u32, u32> = AHashMap::new();
    let mut types: AHashMap<u32, (Op, u32)> = AHashMap::new();
    let mut constants: AHashMap<u32, (u32, &Open)> = AHashMap::new();
    for inst in words::instructions(words) {
        match inst.op() {
            Some(Op::Name) => names.extend(words::string(inst.from(1)).map(|(name, _)| (inst.at(0), name))),
            Some(op @ (Op::TypeBool | Op::TypeInt | Op::TypeFloat)) => {
                types.insert(inst.at(0), (op, inst.at(1)));
            }
            Some(Op::TypePointer) => drop(pointees.insert(inst.at(0), inst.at(2))),
            Some(Op::Variable) if inst.at(2) == StorageClass::Private as u32 => {
                let one = names.get(&inst.at(1)).and_then(|name| open.iter().find(|one| one.name == *name));
                let ty = pointees.get(&inst.at(0)).copied();
                constants.extend(one.zip(ty).map(|(one, ty)| (inst.at(1), (ty, one))));
            }
            _ => {}
        }
    }
    let mut out = words[..HEADER].to_vec();
    let (mut noted, mut decorated) = (false, false);
    for inst in words::instructions(words) {
        let op = inst.op();
        let is_type = op.is_some_and(|op| op.is_type());
        if (is_type || op.is_some_and(|op| op.is_annotation())) && !std::mem::replace(&mut noted, true) {
            for one in open {
                words::push(&mut out, Op::ModuleProcessed, &literal(&format!("{REQUIRED}{}", one.id)));
            }
        }
        if is_type && !std::mem::replace(&mut decorated, true) {
            let mut all: Vec<(&u32, u32)> = constants.iter().map(|(id, (_, one))| (id, one.id)).collect();
            all.sort_unstable();
            for (id, spec) in all {
                words::push(&mut out, Op::Decorate, &[*id, Decoration::SpecId as u32, spec]);
            }
        }
        match (op, constants.get(&inst.at(1)), constants.get(&inst.at(2))) {
            (Some(Op::Variable), Some(&(ty, _)), _) => match types.get(&ty) {
                Some((Op::TypeBool, _)) => words::push(&mut out, Op::SpecConstantFalse, &[ty, inst.at(1)]),
                Some((_, 64)) => words::push(&mut out, Op::SpecConstant, &[ty, inst.at(1), 0, 0]),
                _ => words::push(&mut out, Op::SpecConstant, &[ty, inst.at(1), 0]),
            },
            (Some(Op::Load), _, Some(_)) => {
                words::push(&mut out, Op::CopyObject, &[inst.at(0), inst.at(1), inst.at(2)]);
            }
            _ => out.extend_from_slice(inst.words),
        }
    }
    out
}

/// A literal string.
fn literal(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((bytes.len() / 4 + 1) * 4, 0);
    bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
}
