//! Floats that numbers decide: which of several a value is.
//!
//! Of the numbers of a kernel a driver's compiler knows more once it is fused: ids that are zero, arguments that are equal, bindings that
//! are one memory or another one. What it chose by them would then be a constant to it, or what another operation has made, and it
//! would work that out with other bits than the device gets. How a compiler may come to know a number is never complete, so it is
//! the floats behind the choice that are hidden (`emit::decided`).
//!
//! A choice by a comparison of one float with constants is left, and one by counters of loops: nobody knows more of these than in the kernel
//! alone, and there they may be known.

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::Op;

use crate::analysis::cfg::Cfg;
use crate::frontend::opcodes;

/// Results of choices, and of selections by an index, of a module in normal form. `types` are those of its values, `carried` the phis of
/// its loops' headers.
pub(super) fn decided(
    module: &Module,
    types: &AHashMap<u32, u32>,
    carried: &AHashSet<u32>,
    is_float: &dyn Fn(u32) -> bool,
) -> AHashSet<u32> {
    let mut found = AHashSet::new();
    let Some(function) = module.functions.first() else { return found };
    let cfg = Cfg::new(function);
    let all = module.types_global_values.iter().chain(function.all_inst_iter());
    let defined: AHashMap<u32, &Instruction> = all.filter_map(|inst| Some((inst.result_id?, inst))).collect();
    let values = Values { types, defined, carried, is_float };
    for (number, block) in function.blocks.iter().enumerate() {
        for inst in &block.instructions {
            let Some(id) = inst.result_id.filter(|&id| is_float(id)) else { continue };
            let first = inst.operands.first().and_then(Operand::id_ref_any).unwrap_or(0);
            match inst.class.opcode {
                // What a loop begins with, and goes on with, the compiler of the kernel alone may know as well.
                Op::Phi if carried.contains(&id) => {}
                Op::Phi if !values.meets_alone(function, &cfg, number) => {
                    found.insert(id);
                }
                Op::Select if !values.is_decided_alone(first) => {
                    found.insert(id);
                }
                Op::VectorExtractDynamic | Op::VectorInsertDynamic => {
                    let index = inst.operands.last().and_then(Operand::id_ref_any).unwrap_or(0);
                    if !values.is_decided_alone(index) {
                        found.insert(id);
                    }
                }
                _ => {}
            }
        }
    }
    found
}

struct Values<'a> {
    types: &'a AHashMap<u32, u32>,
    defined: AHashMap<u32, &'a Instruction>,
    /// Phis of the headers of loops.
    carried: &'a AHashSet<u32>,
    is_float: &'a dyn Fn(u32) -> bool,
}

impl Values<'_> {
    /// Whether the kernel alone says from where control comes to a block.
    fn meets_alone(&self, function: &Function, cfg: &Cfg, block: usize) -> bool {
        let Some(above) = cfg.idom(block) else { return false };
        (0..function.blocks.len())
            .filter(|&one| one != block && cfg.dominates(above, one) && !cfg.dominates(block, one))
            .all(|one| {
                let Some(last) = function.blocks[one].instructions.last() else { return true };
                match last.class.opcode {
                    Op::BranchConditional => last
                        .operands
                        .first()
                        .and_then(Operand::id_ref_any)
                        .is_some_and(|id| self.is_decided_alone(id)),
                    Op::Switch => false,
                    _ => true,
                }
            })
    }

    /// Whether nobody knows more of a condition or an index than in the kernel alone: it is made of counters of loops and constants, or a
    /// comparison of one float.
    fn is_decided_alone(&self, id: u32) -> bool {
        self.is_counted(id) || self.is_by_floats(id)
    }

    /// Whether a number is made of counters and constants.
    fn is_counted(&self, id: u32) -> bool {
        let (mut open, mut seen) = (vec![id], AHashSet::new());
        while let Some(id) = open.pop() {
            let Some(inst) = self.defined.get(&id).filter(|_| seen.insert(id)) else { continue };
            let op = inst.class.opcode;
            if is_global(op) || !self.types.contains_key(&id) {
                continue;
            }
            let is_made = self.carried.contains(&id) || opcodes::has(op, opcodes::PURE);
            if !is_made || (self.is_float)(id) {
                return false;
            }
            open.extend(inst.operands.iter().filter_map(Operand::id_ref_any));
        }
        true
    }

    /// Whether a condition is made of one float of the kernel and constants.
    fn is_by_floats(&self, condition: u32) -> bool {
        let (mut open, mut seen, mut leaves) = (vec![condition], AHashSet::new(), 0);
        while let Some(id) = open.pop() {
            let Some(inst) = self.defined.get(&id).filter(|_| seen.insert(id)) else { continue };
            let is_body = self.types.contains_key(&id) && !is_global(inst.class.opcode);
            if !is_body {
                continue;
            }
            let is_float = (self.is_float)(id);
            match inst.class.opcode {
                Op::Load | Op::Phi if is_float => leaves += 1,
                op if opcodes::has(op, opcodes::PURE) && (is_float || self.is_truth(id)) => {
                    open.extend(inst.operands.iter().filter_map(Operand::id_ref_any));
                }
                _ => return false,
            }
        }
        leaves <= 1
    }

    fn is_truth(&self, id: u32) -> bool {
        let ty = self.types.get(&id).and_then(|ty| self.defined.get(ty));
        let of = |inst: &Instruction| inst.operands.first().and_then(Operand::id_ref_any);
        ty.is_some_and(|ty| match ty.class.opcode {
            Op::TypeBool => true,
            Op::TypeVector => of(ty)
                .and_then(|part| self.defined.get(&part))
                .is_some_and(|part| part.class.opcode == Op::TypeBool),
            _ => false,
        })
    }
}

fn is_global(op: Op) -> bool {
    matches!(
        op,
        Op::Constant
            | Op::ConstantComposite
            | Op::ConstantNull
            | Op::ConstantTrue
            | Op::ConstantFalse
            | Op::SpecConstant
            | Op::SpecConstantComposite
            | Op::SpecConstantTrue
            | Op::SpecConstantFalse
            | Op::SpecConstantOp
            | Op::Undef
            | Op::ExtInstImport
    )
}
