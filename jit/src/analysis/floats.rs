//! What a driver's compiler may make of a kernel's float arithmetic once it sees it together with another kernel's.
//!
//! An instruction is *plain* if no rewriting that drivers do across it changes a number: it moves floats, or it adds,
//! subtracts or multiplies them under `NoContraction`, and none of them is a constant: `x * 0` is a constant to some compilers, which
//! then compute what another kernel makes of it. Every other one (an extended instruction, a division, a comparison, a
//! conversion) is one side of some pair that a compiler simplifies.

mod decided;

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Op, StorageClass};

use crate::frontend::opcodes;

/// What is known of the floats of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct FloatUse {
    pub(crate) kind: Floats,
    pub(crate) numbers: Numbers,
    /// Floats that numbers decide, by result.
    pub(crate) decided: AHashSet<u32>,
}

/// Where integers become floats.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    /// Instructions that make floats of integers, by result, and the operand: of integers that the kernel does not make of its own floats
    /// alone.
    pub(crate) made: AHashMap<u32, usize>,
    /// Those whose integers are made of counters of loops and constants: they are constants where rounds are written out.
    pub(crate) counted: AHashSet<u32>,
    /// Loads of integers that go, with floats of the kernel's own, into such an instruction. What the kernel makes
    /// of its own floats (`float(int(x))`) is its compiler's business, so only what comes from outside is hidden.
    pub(crate) loads: AHashSet<u32>,
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
        let defined: AHashMap<u32, &Instruction> =
            body().filter_map(|inst| Some((inst.result_id?, inst))).collect();
        let is_float = |id: u32| types.get(&id).is_some_and(|ty| floats.contains(ty));
        let carried = carried(module);
        let mut numbers = Numbers::default();
        for inst in body() {
            let made = inst.result_id.filter(|&id| is_float(id)).zip(number_of(inst));
            let Some((result, at)) = made else { continue };
            let Some(operand) = inst.operands.get(at).and_then(Operand::id_ref_any) else { continue };
            if !is_float(operand) && defined.contains_key(&operand) {
                numbers.add((result, at, operand), &defined, &carried, &is_float);
            }
        }
        let decided = match kind {
            Floats::Any => decided::decided(module, &types, &carried, &is_float),
            _ => AHashSet::new(),
        };
        Self { kind, numbers, decided }
    }

    /// Whether numbers decide what the floats are. A compiler knows more of them in a fused kernel, whatever else is in it.
    pub(crate) fn depend_on_numbers(&self) -> bool {
        let are_chosen = !self.decided.is_empty() && !mutant!(ChoicesAreOpen);
        let are_made = self.numbers.made.len() > self.numbers.counted.len() && !mutant!(NumbersAreNotHidden);
        are_chosen || are_made
    }
}

impl Numbers {
    /// Notes an instruction that makes floats of the integer `operand`, unless it is made of constants alone: those are the
    /// same number to everybody, and a compiler that computes with them need not get what the device gets.
    fn add(
        &mut self,
        (result, at, operand): (u32, usize, u32),
        defined: &AHashMap<u32, &Instruction>,
        carried: &AHashSet<u32>,
        is_float: &dyn Fn(u32) -> bool,
    ) {
        let (mut own, mut constant, mut counted, mut loads) = (false, true, false, Vec::new());
        let (mut open, mut seen) = (vec![operand], AHashSet::new());
        while let Some(id) = open.pop() {
            let Some(inst) = defined.get(&id).filter(|inst| inst.result_type.is_some() && seen.insert(id))
            else {
                continue;
            };
            let operands = || inst.operands.iter().filter_map(Operand::id_ref_any);
            counted |= carried.contains(&id);
            constant &= carried.contains(&id) || opcodes::has(inst.class.opcode, opcodes::PURE);
            if inst.class.opcode == Op::Load {
                loads.push(id);
            } else if operands().any(is_float) {
                own = true;
            } else {
                open.extend(operands());
            }
        }
        if own {
            self.loads.extend(loads);
        }
        if !constant {
            self.made.insert(result, at);
        } else if counted && !own {
            self.made.insert(result, at);
            self.counted.insert(result);
        }
    }
}

/// What loops carry from round to round: phis of their headers.
fn carried(module: &Module) -> AHashSet<u32> {
    let blocks = module.functions.iter().flat_map(|function| &function.blocks);
    let headers =
        blocks.filter(|block| block.instructions.iter().any(|inst| inst.class.opcode == Op::LoopMerge));
    let phis = headers.flat_map(|block| &block.instructions).filter(|inst| inst.class.opcode == Op::Phi);
    phis.filter_map(|inst| inst.result_id).collect()
}

/// Which operand of an instruction is a number of which it makes floats.
fn number_of(inst: &Instruction) -> Option<usize> {
    match inst.class.opcode {
        Op::ConvertSToF | Op::ConvertUToF | Op::Bitcast => Some(0),
        // `Ldexp`, `PackDouble2x32` and, from `UnpackSnorm2x16` to `UnpackUnorm4x8`, what makes floats of one word.
        Op::ExtInst => match inst.operands.get(1) {
            Some(Operand::LiteralExtInstInteger(59..=64)) => Some(2),
            Some(Operand::LiteralExtInstInteger(53)) => Some(3),
            _ => None,
        },
        _ => None,
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
