//! SPIR-V as words: what has to be read or rewritten before the grammar is involved.
//!
//! Specialization, debug stripping and the input checks work on this level. It needs no knowledge of
//! operand kinds, so it cannot fail on instructions that the parser does not know.
//!
//! These read words before constants have values, and so have to know every way in which SPIR-V can say a thing:
//!
//! | reader | reads |
//! | --- | --- |
//! | [`guard`](super::guard) | delimiters, nesting of types, blocks, number of decorations |
//! | [`groups`](super::groups) | decoration groups, which no other reader meets |
//! | [`module`](super::module) | entry points, names, the non-semantic sets |
//! | [`spec`](super::spec) | `SpecId`, `OpSpecConstant*`, types and constants (through [`value`](super::value)) |
//! | [`survey`](super::survey), [`specialize`](super::specialize) | all of that again, execution modes, `OpSpecConstantOp` |
//! | [`newer`](super::newer), [`load`](super::load) | capabilities, declarations of types |
//! | [`Declarations`], for [`push_names`](super::push_names), [`elements`](super::elements), [`lines`](super::lines), [`views`](super::views) | types, constants, names, decorations, variables |
//! | [`lines`](super::lines) | `OpLine`, the debug set, accesses, loops |
//! | [`strip_layout`](super::passes::strip_layout) | the parsed module, its constants at their defaults |
//!
//! Everything else sees a module whose constants are ordinary ones.

use ahash::{AHashMap, AHashSet};
use rspirv::spirv::{Decoration, Op};

use super::set_binding::SetBinding;

/// Number of words before the first instruction.
pub(super) const HEADER: usize = 5;

/// One instruction of a module that passed [`super::guard`].
#[derive(Clone, Copy)]
pub(super) struct Inst<'a> {
    /// Opcode, not necessarily a known one.
    pub(super) code: u16,
    /// All words, the first with opcode and length included.
    pub(super) words: &'a [u32],
}

impl<'a> Inst<'a> {
    /// The opcode if the grammar knows it.
    pub(super) fn op(&self) -> Option<Op> {
        Op::from_u32(u32::from(self.code))
    }

    /// Word `index` after the opcode word, zero where there is none.
    pub(super) fn at(&self, index: usize) -> u32 {
        self.words.get(index + 1).copied().unwrap_or(0)
    }

    /// The words after the opcode word, from `index` on.
    pub(super) fn from(&self, index: usize) -> &'a [u32] {
        self.words.get(index + 1..).unwrap_or(&[])
    }
}

/// Walks the instructions of a module. Stops at the first one that is not delimited.
pub(super) fn instructions(words: &[u32]) -> impl Iterator<Item = Inst<'_>> {
    let mut rest = words.get(HEADER..).unwrap_or(&[]);
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let length = (first >> 16) as usize;
        if length == 0 || length > rest.len() {
            return None;
        }
        let (words, tail) = rest.split_at(length);
        rest = tail;
        Some(Inst { code: (first & 0xffff) as u16, words })
    })
}

/// What a module declares before its functions, each of its kinds by id.
#[derive(Default)]
pub(super) struct Declarations<'a> {
    types: AHashMap<u32, Inst<'a>>,
    /// First words of constants.
    constants: AHashMap<u32, u32>,
    /// First operands of decorations, by what they are on: an id, or a member of a structure.
    decorations: AHashMap<(u32, Option<u32>, u32), u32>,
    /// Names of ids and of members of structures, as literals.
    names: AHashMap<(u32, Option<u32>), &'a [u32]>,
    /// Variables, in order.
    pub(super) variables: Vec<Inst<'a>>,
}

impl<'a> Declarations<'a> {
    pub(super) fn of(words: &'a [u32]) -> Self {
        let mut all = Self::default();
        for inst in instructions(words) {
            match inst.op() {
                Some(Op::Name) => {
                    all.names.insert((inst.at(0), None), inst.from(1));
                }
                Some(Op::MemberName) => {
                    all.names.insert((inst.at(0), Some(inst.at(1))), inst.from(2));
                }
                Some(Op::MemberDecorate) => {
                    all.decorations.insert((inst.at(0), Some(inst.at(1)), inst.at(2)), inst.at(3));
                }
                Some(Op::Decorate) => {
                    all.decorations.insert((inst.at(0), None, inst.at(1)), inst.at(2));
                }
                Some(Op::Constant) => {
                    all.constants.insert(inst.at(1), inst.at(2));
                }
                Some(Op::Variable) => all.variables.push(inst),
                Some(Op::Function) => break,
                Some(op) if op.is_type() => {
                    all.types.insert(inst.at(0), inst);
                }
                _ => {}
            }
        }
        all
    }

    /// What declares a type.
    pub(super) fn ty(&self, id: u32) -> Option<&Inst<'a>> {
        self.types.get(&id)
    }

    pub(super) fn constant(&self, id: u32) -> Option<u32> {
        self.constants.get(&id).copied()
    }

    /// The first operand of a decoration, 0 if it has none, of an id or of a member of a structure.
    pub(super) fn decoration(&self, id: u32, member: Option<u32>, what: Decoration) -> Option<u32> {
        self.decorations.get(&(id, member, what as u32)).copied()
    }

    /// The name of an id, or of a member of a structure, unless it is empty.
    pub(super) fn name(&self, id: u32, member: Option<u32>) -> Option<String> {
        string(self.names.get(&(id, member))?).map(|(name, _)| name).filter(|name| !name.is_empty())
    }

    /// Where a variable is bound, if anything says so.
    pub(super) fn place(&self, variable: u32) -> Option<SetBinding> {
        let own = [Decoration::DescriptorSet, Decoration::Binding];
        let [set, binding] = own.map(|what| self.decoration(variable, None, what));
        (set.is_some() || binding.is_some())
            .then(|| SetBinding::from((set.unwrap_or_default(), binding.unwrap_or_default())))
    }
}

/// Decodes a literal string, returns it with the number of words it takes. Bytes that are not UTF-8
/// are replaced: names are only ever shown or compared.
pub(super) fn string(words: &[u32]) -> Option<(String, usize)> {
    let mut bytes = Vec::new();
    for (i, word) in words.iter().enumerate() {
        for byte in word.to_le_bytes() {
            if byte == 0 {
                return Some((String::from_utf8_lossy(&bytes).into_owned(), i + 1));
            }
            bytes.push(byte);
        }
    }
    None
}

/// Hashes words in little-endian order.
pub(crate) fn hash(hasher: &mut blake3::Hasher, words: &[u32]) {
    let mut bytes = [0; 1024];
    for chunk in words.chunks(bytes.len() / 4) {
        for (place, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(chunk) {
            *place = word.to_le_bytes();
        }
        hasher.update(&bytes[..chunk.len() * 4]);
    }
}

/// Appends one instruction.
pub(super) fn push(out: &mut Vec<u32>, op: Op, operands: &[u32]) {
    out.push(((operands.len() as u32 + 1) << 16) | op as u32);
    out.extend_from_slice(operands);
}

/// Result ids of the non-semantic instruction sets a module imports: debug information and prints,
/// which may be dropped without changing what the module does.
pub(super) fn non_semantic_sets(words: &[u32]) -> AHashSet<u32> {
    let imports = instructions(words)
        .take_while(|inst| inst.op() != Some(Op::Function))
        .filter(|inst| inst.op() == Some(Op::ExtInstImport));
    let non_semantic =
        imports.filter(|inst| string(inst.from(1)).is_some_and(|(name, _)| name.starts_with("NonSemantic.")));
    non_semantic.map(|inst| inst.at(0)).collect()
}

/// Whether an instruction is debug information (SPIR-V, "Debug Instructions").
pub(super) fn is_debug(op: Op) -> bool {
    matches!(
        op,
        Op::Source
            | Op::SourceContinued
            | Op::SourceExtension
            | Op::String
            | Op::Name
            | Op::MemberName
            | Op::ModuleProcessed
            | Op::Line
            | Op::NoLine
    )
}

/// Whether an instruction belongs to one of these non-semantic sets: an import, or an instruction of the set, with forward
/// references or without.
pub(super) fn is_non_semantic(inst: &Inst<'_>, sets: &AHashSet<u32>) -> bool {
    match inst.op() {
        Some(Op::ExtInstImport) => sets.contains(&inst.at(0)),
        Some(Op::ExtInst | Op::ExtInstWithForwardRefsKHR) => sets.contains(&inst.at(2)),
        _ => false,
    }
}

/// Whether a module refers forward in instructions of a set: only non-semantic ones may, and older validators do not know it.
pub(super) fn has_forward_refs(words: &[u32]) -> bool {
    instructions(words).any(|inst| inst.op() == Some(Op::ExtInstWithForwardRefsKHR))
}

/// Whether this is the extension that forward references need, and nothing else does.
pub(super) fn is_forward_refs_extension(inst: &Inst<'_>) -> bool {
    inst.op() == Some(Op::Extension)
        && string(inst.from(0)).is_some_and(|(name, _)| name == "SPV_KHR_relaxed_extended_instruction")
}

/// A copy of a module's words without debug and non-semantic instructions.
pub(super) fn without_debug(words: &[u32]) -> Vec<u32> {
    let non_semantic = non_semantic_sets(words);
    let mut out = words[..HEADER].to_vec();
    for inst in instructions(words) {
        let dropped = match inst.op() {
            Some(Op::ExtInst | Op::ExtInstWithForwardRefsKHR | Op::ExtInstImport) => {
                is_non_semantic(&inst, &non_semantic)
            }
            Some(Op::Extension) => is_forward_refs_extension(&inst),
            Some(op) => is_debug(op),
            None => false,
        };
        if !dropped {
            out.extend_from_slice(inst.words);
        }
    }
    out
}
