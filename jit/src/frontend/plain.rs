//! The module that runs unfused: what the user compiled, without what a driver does not need.

use ahash::AHashMap;
use rspirv::binary::Assemble;
use rspirv::dr::Module;
use rspirv::spirv::{Decoration, Op};

use super::controls::{self, FloatControls};
use super::passes::dce;
use super::pipeline;
use super::words::{self, Inst};

/// The two forms of a kernel that runs unfused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    /// With formulas expanded (`passes/formulas`), `NoContraction` on every float operation that takes it, and no `RelaxedPrecision`.
    pub strict: Vec<u32>,
    /// Floats as the user's compiler left them.
    pub contract: Vec<u32>,
}

/// How the strict form differs from the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StrictChanges {
    /// Decorations forbid contraction.
    pub(crate) no_contraction: bool,
    /// `RelaxedPrecision` is gone.
    pub(crate) full_precision: bool,
    /// Instructions that stand for a formula are expanded.
    pub(crate) formulas: bool,
}

impl Plain {
    /// How the strict form differs from the other.
    pub(crate) fn strict_changes(&self) -> StrictChanges {
        let is_relaxed = |inst: &Inst<'_>| {
            let kind = if inst.op() == Some(Op::MemberDecorate) { inst.at(2) } else { inst.at(1) };
            kind == Decoration::RelaxedPrecision as u32
        };
        let (contract, strict) = (Sections::of(&self.contract), Sections::of(&self.strict));
        let relaxed = |of: &Sections<'_>| of.decorations.iter().filter(|inst| is_relaxed(inst)).count();
        let others = |of: &Sections<'_>| -> Vec<u32> {
            of.decorations
                .iter()
                .filter(|inst| !is_relaxed(inst))
                .flat_map(|inst| inst.words)
                .copied()
                .collect()
        };
        StrictChanges {
            no_contraction: others(&contract) != others(&strict),
            full_precision: relaxed(&contract) != relaxed(&strict),
            formulas: contract.functions != strict.functions,
        }
    }

    /// Whether asking for these controls changes the strict form.
    pub(crate) fn takes(&self, floats: FloatControls) -> bool {
        controls::would_change(&self.strict, floats)
    }
}

/// The parts of a module in which its two forms may differ.
struct Sections<'a> {
    decorations: Vec<Inst<'a>>,
    /// From the first function on.
    functions: Vec<u32>,
}

impl<'a> Sections<'a> {
    fn of(words: &'a [u32]) -> Self {
        let (mut decorations, mut functions) = (Vec::new(), Vec::new());
        for inst in words::instructions(words) {
            match inst.op() {
                Some(Op::Decorate | Op::DecorateId | Op::MemberDecorate) => decorations.push(inst),
                Some(Op::Function) => functions.extend_from_slice(inst.words),
                _ if !functions.is_empty() => functions.extend_from_slice(inst.words),
                _ => {}
            }
        }
        Self { decorations, functions }
    }
}

/// The generator word of every module made here. The user's compiler is no part of a kernel's identity.
const GENERATOR: u32 = 0x000f_0000;

/// Prunes a specialised module in place; returns its words in both forms and the new id of each id.
pub(super) fn build(name: &str, module: &mut Module) -> (Plain, AHashMap<u32, u32>) {
    let ids = dce::run(module);
    if let Some(header) = &mut module.header {
        header.generator = GENERATOR;
    }
    let contract = module.assemble();
    let mut strict = module.clone();
    pipeline::make_strict(name, &mut strict);
    let plain = Plain { strict: strict.assemble(), contract };
    (plain, ids)
}

/// The kernel's identity: its specialised, stripped, renumbered words and its entry point's name.
pub(crate) fn hash(contract: &[u32], entry: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("vkfuse kernel identity, version 1");
    hasher.update(&(entry.len() as u64).to_le_bytes());
    hasher.update(entry.as_bytes());
    words::hash(&mut hasher, contract);
    *hasher.finalize().as_bytes()
}
