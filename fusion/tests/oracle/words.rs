//! What the oracle reads off a SPIR-V module: entry points and kinds of descriptors; and one rewrite of float decorations.
//!
//! Written from the specification. Nothing here knows of the engine.

use std::collections::{HashMap, HashSet};

const HEADER: usize = 5;

mod op {
    pub(super) const MEMORY_MODEL: u16 = 14;
    pub(super) const ENTRY_POINT: u16 = 15;
    pub(super) const EXECUTION_MODE: u16 = 16;
    pub(super) const CAPABILITY: u16 = 17;
    pub(super) const TYPE_VOID: u16 = 19;
    pub(super) const TYPE_BOOL: u16 = 20;
    pub(super) const TYPE_INT: u16 = 21;
    pub(super) const TYPE_FLOAT: u16 = 22;
    pub(super) const TYPE_ARRAY: u16 = 28;
    pub(super) const TYPE_RUNTIME_ARRAY: u16 = 29;
    pub(super) const TYPE_POINTER: u16 = 32;
    pub(super) const SPEC_CONSTANT_TRUE: u16 = 48;
    pub(super) const SPEC_CONSTANT_FALSE: u16 = 49;
    pub(super) const SPEC_CONSTANT: u16 = 50;
    pub(super) const FUNCTION: u16 = 54;
    pub(super) const VARIABLE: u16 = 59;
    pub(super) const COPY: u16 = 60;
    pub(super) const DECORATE: u16 = 71;
    pub(super) const MEMBER_DECORATE: u16 = 72;
    pub(super) const GROUP_DECORATE: u16 = 74;
}

const GL_COMPUTE: u32 = 5;
const RELAXED_PRECISION: u32 = 0;
const SPEC_ID: u32 = 1;
const BUFFER_BLOCK: u32 = 3;
const BINDING: u32 = 33;
const DESCRIPTOR_SET: u32 = 34;
const NO_CONTRACTION: u32 = 42;
const UNIFORM: u32 = 2;
const STORAGE_BUFFER: u32 = 12;

/// Float arithmetic that `NoContraction` applies to.
const ARITHMETIC: [u16; 14] = [127, 129, 131, 133, 136, 140, 141, 142, 143, 144, 145, 146, 147, 148];

/// An instruction: opcode and operands.
pub(crate) type Inst<'a> = (u16, &'a [u32]);

/// The instructions of a module.
pub(crate) fn instructions(words: &[u32]) -> impl Iterator<Item = Inst<'_>> {
    let mut rest = words.get(HEADER..).unwrap_or(&[]);
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let length = (first >> 16) as usize;
        let operands = rest.get(1..length)?;
        rest = &rest[length..];
        Some((first as u16, operands))
    })
}

/// A literal string.
fn text(words: &[u32]) -> String {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes()).take_while(|byte| *byte != 0);
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
}

/// The names of the compute entry points.
pub(crate) fn compute_entries(words: &[u32]) -> Vec<String> {
    let entries = instructions(words).filter(|(op, at)| *op == op::ENTRY_POINT && at[0] == GL_COMPUTE);
    entries.map(|(_, at)| text(&at[2..])).collect()
}

/// What is bound at a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Storage,
    Uniform,
    /// An image, a sampler or something else that is no buffer.
    Other,
}

/// The decorations of each id with their first operand, those of groups included.
fn decorations(words: &[u32]) -> HashMap<u32, Vec<(u32, u32)>> {
    let mut decorated: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
    let mut groups = Vec::new();
    for (op, at) in instructions(words).take_while(|(op, _)| *op != op::FUNCTION) {
        match op {
            op::DECORATE => {
                decorated.entry(at[0]).or_default().push((at[1], at.get(2).copied().unwrap_or(0)));
            }
            op::GROUP_DECORATE => groups.push(at),
            _ => {}
        }
    }
    for group in groups {
        let decorations = decorated.get(&group[0]).cloned().unwrap_or_default();
        for target in &group[1..] {
            decorated.entry(*target).or_default().extend(decorations.iter().copied());
        }
    }
    decorated
}

/// The type of a specialization constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Bool,
    Int { width: u32, signed: bool },
    Float { width: u32 },
}

/// A specialization constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpecConstant {
    pub(crate) id: u32,
    pub(crate) ty: Scalar,
    /// Of its default.
    pub(crate) bits: u64,
}

/// The specialization constants of a module by id; of several of one id the first.
pub(crate) fn spec_constants(words: &[u32]) -> Vec<SpecConstant> {
    let decorated = decorations(words);
    let (mut types, mut found) = (HashMap::new(), Vec::<SpecConstant>::new());
    for (op, at) in instructions(words).take_while(|(op, _)| *op != op::FUNCTION) {
        let bits = match op {
            op::TYPE_BOOL => {
                types.insert(at[0], Scalar::Bool);
                continue;
            }
            op::TYPE_INT => {
                types.insert(at[0], Scalar::Int { width: at[1], signed: at[2] == 1 });
                continue;
            }
            op::TYPE_FLOAT => {
                types.insert(at[0], Scalar::Float { width: at[1] });
                continue;
            }
            op::SPEC_CONSTANT_TRUE => 1,
            op::SPEC_CONSTANT_FALSE => 0,
            op::SPEC_CONSTANT => at[2..].iter().rev().fold(0, |bits, word| bits << 32 | u64::from(*word)),
            _ => continue,
        };
        let ids = decorated.get(&at[1]).into_iter().flatten();
        let id = ids.filter(|(kind, _)| *kind == SPEC_ID).map(|(_, id)| *id).next();
        if let (Some(id), Some(ty)) = (id, types.get(&at[0])) {
            found.push(SpecConstant { id, ty: *ty, bits });
        }
    }
    // The sort keeps the order of those of one id.
    found.sort_by_key(|one| one.id);
    found.dedup_by_key(|one| one.id);
    found
}

/// The kinds of descriptors by set and binding, over all entry points.
pub(crate) fn descriptors(words: &[u32]) -> HashMap<(u32, u32), Kind> {
    let decorated = decorations(words);
    let (mut pointees, mut elements) = (HashMap::new(), HashMap::new());
    let mut variables = Vec::new();
    for (op, at) in instructions(words).take_while(|(op, _)| *op != op::FUNCTION) {
        match op {
            op::TYPE_POINTER => drop(pointees.insert(at[0], at[2])),
            op::TYPE_ARRAY | op::TYPE_RUNTIME_ARRAY => drop(elements.insert(at[0], at[1])),
            op::VARIABLE => variables.push((at[0], at[1], at[2])),
            _ => {}
        }
    }
    let value = |id: u32, which: u32| {
        decorated.get(&id)?.iter().find(|(kind, _)| *kind == which).map(|(_, value)| *value)
    };
    let mut found = HashMap::new();
    for (pointer, id, class) in variables {
        let (Some(set), Some(binding)) = (value(id, DESCRIPTOR_SET), value(id, BINDING)) else { continue };
        let mut ty = pointees.get(&pointer).copied().unwrap_or(pointer);
        while let Some(element) = elements.get(&ty) {
            ty = *element;
        }
        let kind = match class {
            STORAGE_BUFFER => Kind::Storage,
            UNIFORM if value(ty, BUFFER_BLOCK).is_some() => Kind::Storage,
            UNIFORM => Kind::Uniform,
            _ => Kind::Other,
        };
        found.insert((set, binding), kind);
    }
    found
}

/// The float controls of a device, by width: signed zeros, infinities and NaNs; denormals; rounding to the nearest even.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Controls {
    pub(crate) special: [bool; 3],
    pub(crate) denormals: [bool; 3],
    pub(crate) rounding: [bool; 3],
}

const WIDTHS: [u32; 3] = [16, 32, 64];

/// The execution modes of each control, the requested one first, and its capability.
const MODES: [(&[u32], u32); 3] = [(&[4461], 4466), (&[4459, 4460], 4464), (&[4462, 4463], 4467)];

/// The module with the change to floats that is decided for strict lists, as far as it is one of decorations and execution modes:
/// `NoContraction` on all arithmetic, no `RelaxedPrecision`, and the device's float controls.
pub(crate) fn with_strict_floats(words: &[u32], controls: Controls) -> Vec<u32> {
    let all: Vec<Inst<'_>> = instructions(words).collect();
    let is = |which: u32| move |(op, at): &&Inst<'_>| *op == op::DECORATE && at[1] == which;
    let done: HashSet<u32> = all.iter().filter(is(NO_CONTRACTION)).map(|(_, at)| at[0]).collect();
    let arithmetic = all.iter().filter(|(op, at)| ARITHMETIC.contains(op) && !done.contains(&at[1]));
    let has = |width: u32| all.iter().any(|(op, at)| *op == op::TYPE_FLOAT && at[1] == width);
    let (mut modes, mut capabilities) = (Vec::new(), Vec::new());
    let entries = all.iter().filter(|(op, at)| *op == op::ENTRY_POINT && at[0] == GL_COMPUTE);
    let entries: Vec<u32> = entries.map(|(_, at)| at[1]).collect();
    let kinds = [controls.special, controls.denormals, controls.rounding];
    for ((of_kind, capability), can) in MODES.into_iter().zip(kinds) {
        for entry in &entries {
            let is_said = |(op, at): &Inst<'_>| {
                *op == op::EXECUTION_MODE && at[0] == *entry && of_kind.contains(&at[1])
            };
            for (width, can) in WIDTHS.into_iter().zip(can) {
                // Single floats round as the device likes.
                let asked = can && has(width) && !(of_kind[0] == 4462 && width == 32);
                if asked && !all.iter().any(is_said) {
                    modes.push(vec![*entry, of_kind[0], width]);
                    capabilities.push(capability);
                }
            }
        }
    }
    capabilities.sort_unstable();
    capabilities.dedup();
    let mut out = words[..HEADER].to_vec();
    let mut push = |op: u16, operands: &[u32]| {
        out.push((operands.len() as u32 + 1) << 16 | u32::from(op));
        out.extend_from_slice(operands);
    };
    let mut decorations = Some(arithmetic.map(|(_, at)| at[1]).collect::<Vec<u32>>());
    let (mut head, mut modes) = (!capabilities.is_empty(), Some(modes));
    for (op, at) in &all {
        if head && *op != op::CAPABILITY {
            capabilities.iter().for_each(|one| push(op::CAPABILITY, &[*one]));
            if words[1] < 0x0001_0400 {
                let name = b"SPV_KHR_float_controls\0\0".chunks(4);
                let name: Vec<u32> = name.map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
                push(10, &name);
            }
            head = false;
        }
        let is_behind_modes = *op > op::MEMORY_MODEL && ![op::ENTRY_POINT, op::CAPABILITY].contains(op);
        if is_behind_modes {
            modes.take().into_iter().flatten().for_each(|mode| push(op::EXECUTION_MODE, &mode));
        }
        if (op::TYPE_VOID..op::COPY).contains(op) {
            let ids = decorations.take().into_iter().flatten();
            ids.for_each(|id| push(op::DECORATE, &[id, NO_CONTRACTION]));
        }
        let is_relaxed = match *op {
            op::DECORATE => at[1] == RELAXED_PRECISION,
            op::MEMBER_DECORATE => at[2] == RELAXED_PRECISION,
            _ => false,
        };
        if !is_relaxed {
            push(*op, at);
        }
    }
    out
}
