//! Modules that are newer than SPIRV-Tools: they declare a capability, or an execution mode, that the parser or the validator does not know.
//!
//! The instructions of such a capability are unknown, so these modules are neither validated nor fused. They run as they
//! were passed, on devices that have everything that they declare, which the caller checks. Their interface is read from the instructions
//! that are known.
//!
//! # Guarantees
//! - the rest can be decoded, and each type in it is made of types that were declared before it
//!
//! # Refuses
//! - what the tools object to in modules that declare nothing they do not know

use ahash::{AHashMap, AHashSet};
use rspirv::dr;
use rspirv::spirv::{Capability, Decoration, ExecutionMode, Op};

use super::load;
use super::reason::KernelReason;
use super::tools::{self, Complaint};
use super::words::{HEADER, Inst, instructions};

/// What a tool does not know of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Newer {
    pub(crate) what: Unknown,
    /// The tool, with its version.
    pub(crate) tool: String,
}

/// What is not known, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    Capability(u32),
    Mode(u32),
}

impl Newer {
    /// What the parser does not know, if that is why it fails.
    pub(crate) fn than_parser(words: &[u32]) -> Option<Newer> {
        let is_unknown = |mode: &u32| ExecutionMode::from_u32(*mode).is_none();
        let capability = unknown_capabilities(words).next().map(Unknown::Capability);
        let what = capability.or_else(|| modes(words).find(is_unknown).map(Unknown::Mode))?;
        Some(Newer { what, tool: load::GRAMMAR.to_owned() })
    }

    /// What the validator does not know, if that is what it complains of.
    pub(crate) fn than_validator(words: &[u32], complaint: &Complaint) -> Option<Newer> {
        let number = |prefix: &str| -> Option<u32> {
            let number = complaint.detail.trim().strip_prefix(prefix)?;
            number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        };
        let capability = number("Invalid capability operand: ")
            .filter(|number| declared(words).any(|one| one == *number))
            .map(Unknown::Capability);
        let mode = number("Invalid execution mode operand: ")
            .filter(|number| modes(words).any(|one| one == *number))
            .map(Unknown::Mode);
        Some(Newer { what: capability.or(mode)?, tool: tools::validator().to_owned() })
    }

    /// Why it is not fused.
    pub(crate) fn reason(&self) -> KernelReason {
        let tool = self.tool.clone();
        match self.what {
            Unknown::Capability(number) => {
                let capability = match Capability::from_u32(number) {
                    Some(capability) => format!("{capability:?} ({number})"),
                    None => number.to_string(),
                };
                KernelReason::Newer { capability, tool }
            }
            Unknown::Mode(number) => {
                let mode = match ExecutionMode::from_u32(number) {
                    Some(mode) => format!("{mode:?} ({number})"),
                    None => number.to_string(),
                };
                KernelReason::NewerMode { mode, tool }
            }
        }
    }
}

/// The capabilities that a module declares, by number.
fn declared(words: &[u32]) -> impl Iterator<Item = u32> + '_ {
    let first = instructions(words).take_while(|inst| inst.op() != Some(Op::MemoryModel));
    first.filter(|inst| inst.op() == Some(Op::Capability)).map(|inst| inst.at(0))
}

/// The execution modes of a module's entry points, by number.
fn modes(words: &[u32]) -> impl Iterator<Item = u32> + '_ {
    let first = instructions(words).take_while(|inst| inst.op() != Some(Op::Function));
    first
        .filter(|inst| matches!(inst.op(), Some(Op::ExecutionMode | Op::ExecutionModeId)))
        .map(|inst| inst.at(1))
}

/// The capabilities that a module declares and the parser does not know.
pub(crate) fn unknown_capabilities(words: &[u32]) -> impl Iterator<Item = u32> + '_ {
    declared(words).filter(|number| Capability::from_u32(*number).is_none())
}

/// Capabilities with types or instructions that no pass here knows, whatever the tools know: modules that declare one run as they were given.
const OPAQUE: &[Capability] = &[
    Capability::CooperativeMatrixKHR,
    Capability::CooperativeMatrixNV,
    Capability::CooperativeMatrixReductionsNV,
    Capability::CooperativeMatrixConversionsNV,
    Capability::CooperativeMatrixPerElementOperationsNV,
    Capability::CooperativeMatrixTensorAddressingNV,
    Capability::CooperativeMatrixBlockLoadsNV,
    Capability::TensorAddressingNV,
    Capability::CooperativeVectorNV,
    Capability::CooperativeVectorTrainingNV,
    Capability::BFloat16TypeKHR,
    Capability::BFloat16DotProductKHR,
    Capability::BFloat16CooperativeMatrixKHR,
    Capability::Float8EXT,
    Capability::Float8CooperativeMatrixEXT,
    Capability::UntypedPointersKHR,
];

/// Whether a module declares one of those.
pub(crate) fn is_opaque(capabilities: &[Capability]) -> bool {
    capabilities.iter().any(|capability| OPAQUE.contains(capability))
}

/// The part of a module that the parser knows, and whether an instruction of a function is missing in it.
pub(crate) fn known_part(words: &[u32]) -> Result<(dr::Module, bool), String> {
    let decodable = load::decodable(words);
    let mut known = decodable[..HEADER].to_vec();
    let (mut in_functions, mut lacks) = (false, false);
    let mut types = Types::default();
    for inst in instructions(&decodable) {
        in_functions |= inst.op() == Some(Op::Function);
        if is_known(&inst) {
            types.declare(&inst)?;
            known.extend_from_slice(inst.words);
        } else {
            lacks |= in_functions;
        }
    }
    Ok((load::module(&known)?, lacks))
}

fn is_known(inst: &Inst<'_>) -> bool {
    match inst.op() {
        None => false,
        Some(Op::Capability) => Capability::from_u32(inst.at(0)).is_some(),
        Some(Op::Decorate) => Decoration::from_u32(inst.at(1)).is_some(),
        Some(Op::MemberDecorate) => Decoration::from_u32(inst.at(2)).is_some(),
        Some(Op::ExecutionMode | Op::ExecutionModeId) => ExecutionMode::from_u32(inst.at(1)).is_some(),
        Some(_) => true,
    }
}

/// The types that were declared so far.
#[derive(Default)]
struct Types {
    known: AHashMap<u32, Op>,
    forward: AHashSet<u32>,
}

impl Types {
    /// Checks a declaration of a type. Code that walks types relies on what a validator guarantees elsewhere: that types are not recursive,
    /// and how large they can be.
    fn declare(&mut self, inst: &Inst<'_>) -> Result<(), String> {
        let Some(op) = inst.op().filter(|op| op.is_type()) else { return Ok(()) };
        let id = inst.at(0);
        if op == Op::TypeForwardPointer {
            self.forward.insert(id);
            return Ok(());
        }
        let part = inst.at(1);
        let is_made_of = |ops: &[Op]| self.known.get(&part).is_some_and(|op| ops.contains(op));
        let fits = match op {
            Op::TypeVector => is_made_of(&[Op::TypeInt, Op::TypeFloat, Op::TypeBool]) && inst.at(2) <= 16,
            Op::TypeMatrix => is_made_of(&[Op::TypeVector]) && inst.at(2) <= 4,
            Op::TypeArray | Op::TypeRuntimeArray => self.known.contains_key(&part),
            Op::TypeStruct => {
                inst.from(1).iter().all(|part| self.known.contains_key(part) || self.forward.contains(part))
            }
            _ => true,
        };
        let is_pointer = op == Op::TypePointer || !self.forward.contains(&id);
        if fits && is_pointer && self.known.insert(id, op).is_none() {
            Ok(())
        } else {
            Err(format!("Op{op:?} %{id} is declared twice, or of parts that it cannot be made of"))
        }
    }
}
