//! Floats that numbers decide: which of several a value is, and with which one a loop begins.
//!
//! Of the numbers of a kernel a driver's compiler knows more once it is fused: ids that are zero, arguments that are equal, bindings that
//! are one memory or another one. What it chose by them would then be a constant to it, or what another operation has made, and it
//! would work that out with other bits than the device gets. How a compiler may come to know a number is never complete, so it is
//! the floats behind the choice that are hidden (`emit::decided`).
//!
//! A choice by a comparison of one float with constants is left: nobody knows more of it than in the kernel alone.

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{Op, StorageClass};

use crate::analysis::cfg::Cfg;
use crate::frontend::opcodes;

/// The floats that numbers decide.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decided {
    /// Results of choices, of selections by an index, and of loads by an index from a variable that has constants.
    pub(crate) results: AHashSet<u32>,
    /// By block from which control comes to a loop: phis of its header, and what they begin with.
    pub(crate) begun: AHashMap<usize, Vec<(u32, u32)>>,
}

impl Decided {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.results.is_empty() && self.begun.is_empty()
    }

    /// Those of a module in normal form, whose values have these types.
    pub(super) fn of(module: &Module, types: &AHashMap<u32, u32>, is_float: &dyn Fn(u32) -> bool) -> Self {
        let mut found = Self::default();
        let Some(function) = module.functions.first() else { return found };
        let cfg = Cfg::new(function);
        let all = module.types_global_values.iter().chain(function.all_inst_iter());
        let defined: AHashMap<u32, &Instruction> =
            all.filter_map(|inst| Some((inst.result_id?, inst))).collect();
        let values = Values { types, defined, is_float, tables: tables(module, function) };
        for (number, block) in function.blocks.iter().enumerate() {
            let is_header = block.instructions.iter().any(|inst| inst.class.opcode == Op::LoopMerge);
            for inst in &block.instructions {
                let Some(id) = inst.result_id.filter(|&id| is_float(id)) else { continue };
                let first = inst.operands.first().and_then(Operand::id_ref_any).unwrap_or(0);
                match inst.class.opcode {
                    Op::Phi if is_header => {
                        for pair in inst.operands.chunks(2) {
                            let [Operand::IdRef(value), Operand::IdRef(from)] = pair else { continue };
                            let from = cfg.block_of_label(*from).filter(|&from| !cfg.dominates(number, from));
                            if let Some(from) = from {
                                found.begun.entry(from).or_default().push((id, *value));
                            }
                        }
                    }
                    Op::Phi if !values.meets_by_floats(function, &cfg, number) => {
                        found.results.insert(id);
                    }
                    Op::Select if !values.is_by_floats(first) => {
                        found.results.insert(id);
                    }
                    Op::VectorExtractDynamic | Op::VectorInsertDynamic => {
                        found.results.insert(id);
                    }
                    Op::Load if values.is_counted(first) => {
                        found.results.insert(id);
                    }
                    _ => {}
                }
            }
        }
        found
    }
}

/// Variables of the invocation that start with constants, or are given some as a whole.
fn tables(module: &Module, function: &Function) -> AHashSet<u32> {
    let constants: AHashSet<u32> = module
        .types_global_values
        .iter()
        .filter(|inst| inst.class.opcode != Op::Variable)
        .filter_map(|inst| inst.result_id)
        .collect();
    let private = |inst: &&Instruction| {
        matches!(
            inst.operands.first(),
            Some(Operand::StorageClass(StorageClass::Private | StorageClass::Function))
        )
    };
    let globals = module.types_global_values.iter().filter(private);
    let mut found = AHashSet::new();
    for inst in globals.chain(function.all_inst_iter()) {
        let id = |n: usize| inst.operands.get(n).and_then(Operand::id_ref_any);
        match inst.class.opcode {
            Op::Variable if inst.operands.len() > 1 => found.extend(inst.result_id),
            Op::Store if id(1).is_some_and(|value| constants.contains(&value)) => found.extend(id(0)),
            _ => {}
        }
    }
    let chains = function.all_inst_iter().filter(|inst| {
        matches!(inst.class.opcode, Op::AccessChain | Op::InBoundsAccessChain)
            && inst.result_id.is_some_and(|id| found.contains(&id))
    });
    let bases: Vec<u32> = chains.filter_map(|inst| inst.operands.first()?.id_ref_any()).collect();
    found.extend(bases);
    found
}

struct Values<'a> {
    types: &'a AHashMap<u32, u32>,
    defined: AHashMap<u32, &'a Instruction>,
    is_float: &'a dyn Fn(u32) -> bool,
    tables: AHashSet<u32>,
}

impl Values<'_> {
    /// Whether a pointer leads into a variable that has constants, by an index that is none.
    fn is_counted(&self, pointer: u32) -> bool {
        let (mut at, mut counted) = (pointer, false);
        while let Some(inst) = self.defined.get(&at) {
            let Some(base) = inst.operands.first().and_then(Operand::id_ref_any) else { break };
            if !matches!(inst.class.opcode, Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject) {
                break;
            }
            let mut indices = inst.operands[1..].iter().filter_map(Operand::id_ref_any);
            counted |=
                indices.any(|id| self.defined.get(&id).is_none_or(|inst| inst.class.opcode != Op::Constant));
            at = base;
        }
        counted && self.tables.contains(&at)
    }

    /// Whether floats alone decide from where control comes to a block.
    fn meets_by_floats(&self, function: &Function, cfg: &Cfg, block: usize) -> bool {
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
                        .is_some_and(|id| self.is_by_floats(id)),
                    Op::Switch => false,
                    _ => true,
                }
            })
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
