//! What a driver's compiler may make of a kernel's float arithmetic once it sees it together with another kernel's.
//!
//! An instruction is *plain* if no rewriting that drivers do across it changes a number: it moves floats, or it adds,
//! subtracts or multiplies them under `NoContraction`, and none of them is a constant: `x * 0` is a constant to some compilers, which
//! then compute what another kernel makes of it. Every other one (an extended instruction, a division, a comparison, a
//! conversion) is one side of some pair that a compiler simplifies.

mod open;

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Op, StorageClass};

use crate::frontend::opcodes;

pub(crate) use open::{Open, OpenUse, Place};

/// What is known of the floats of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct FloatUse {
    pub(crate) kind: Floats,
}

/// The float arithmetic of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Floats {
    /// None: no instruction has to do with floats.
    None,
    /// Plain instructions only.
    Plain,
    /// Others, too.
    Any,
}

impl FloatUse {
    /// The floats of a module in normal form.
    pub(crate) fn of(module: &Module) -> Self {
        let mut floats: AHashSet<u32> = AHashSet::new();
        let mut types: AHashMap<u32, u32> = AHashMap::new();
        let mut constants: AHashSet<u32> = AHashSet::new();
        for inst in &module.types_global_values {
            let Some(id) = inst.result_id else { continue };
            if is_float_type(inst, &floats) {
                floats.insert(id);
            }
            types.extend(inst.result_type.map(|ty| (id, ty)));
            constants.extend(inst.result_type.filter(|ty| floats.contains(ty)).map(|_| id));
        }
        let body = || module.functions.iter().flat_map(|function| function.all_inst_iter());
        types.extend(body().filter_map(|inst| Some((inst.result_id?, inst.result_type?))));
        let touches = |inst: &Instruction| {
            let operands = inst.operands.iter().filter_map(Operand::id_ref_any);
            let mut ids = operands.filter_map(|id| types.get(&id)).chain(&inst.result_type);
            ids.any(|ty| floats.contains(ty))
        };
        let is_constant = |operand: &Operand| {
            operand.id_ref_any().is_some_and(|id| constants.contains(&id)) && !mutant!(ConstantsArePlain)
        };
        let plain = |inst: &Instruction| {
            opcodes::has(inst.class.opcode, opcodes::PLAIN_FLOATS) && !inst.operands.iter().any(is_constant)
                || mutant!(EveryFloatIsPlain)
        };
        let kind = |inst: &Instruction| if plain(inst) { Floats::Plain } else { Floats::Any };
        let mut kind = body().filter(|inst| touches(inst)).map(kind).max().unwrap_or(Floats::None);
        // Numbers may be constants that are read as floats, of the same memory or from a variable that starts with them.
        let shows = |inst: &Instruction| match inst.class.opcode {
            Op::Store => !inst.operands.get(1).is_some_and(|value| {
                value.id_ref_any().and_then(|id| types.get(&id)).is_some_and(|ty| floats.contains(ty))
            }),
            Op::Variable => inst.operands.len() > 1,
            _ => false,
        };
        let private = module
            .types_global_values
            .iter()
            .filter(|inst| inst.operands.first() == Some(&Operand::StorageClass(StorageClass::Private)));
        if kind == Floats::Plain && !mutant!(ConstantsArePlain) && body().chain(private).any(shows) {
            kind = Floats::Any;
        }
        Self { kind }
    }
}

/// Whether values of a type hold floats; those of a pointer do not. `known` are the types before it.
fn is_float_type(inst: &Instruction, known: &AHashSet<u32>) -> bool {
    let part = |operand: &Operand| operand.id_ref_any().is_some_and(|id| known.contains(&id));
    match inst.class.opcode {
        Op::TypeFloat => true,
        Op::TypeVector | Op::TypeMatrix | Op::TypeArray | Op::TypeRuntimeArray => {
            inst.operands.first().is_some_and(part)
        }
        Op::TypeStruct => inst.operands.iter().any(part),
        _ => false,
    }
}
