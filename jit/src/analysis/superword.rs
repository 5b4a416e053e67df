//! Whether a kernel has one path for several items, which superword code takes (`emit::passes::superword`), as far as can be known from the kernel alone.
//!
//! # Requires
//! - the normal form of a kernel that is free (`rewrite::free`)
//!
//! # Guarantees
//! - none: this is an estimate for the plan, and a kernel without such a path is left as it is when the code is built

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{Op, StorageClass};

use super::cfg::Cfg;
use crate::frontend::opcodes;

/// What values of a function are made of.
struct Values<'a> {
    made: AHashMap<u32, &'a Instruction>,
    classes: AHashMap<u32, StorageClass>,
    constants: AHashSet<u32>,
}

/// How many conditions are on the path that a kernel has for several items: branches on ids and arguments, and branches whose sides only compute. `None`
/// if it has no such path, because another branch depends on more than constants and counters.
pub(crate) fn conditions(module: &Module) -> Option<u32> {
    let function = module.functions.first()?;
    let values = Values::of(module, function);
    let cfg = Cfg::new(function);
    let leaves_loop = |block: usize| {
        cfg.loops.iter().any(|one| {
            one.blocks.contains(block) && cfg.successors[block].iter().any(|&next| !one.blocks.contains(next))
        })
    };
    let mut count = 0;
    for (block, of_block) in function.blocks.iter().enumerate() {
        let last = of_block.instructions.last()?;
        let condition = last.operands.first().and_then(Operand::id_ref_any);
        let follows = |of_ids| condition.is_some_and(|condition| values.follows(condition, of_ids));
        let fits = match last.class.opcode {
            Op::Return | Op::Branch | Op::Unreachable => true,
            Op::BranchConditional if leaves_loop(block) => follows(false),
            Op::BranchConditional => {
                count += 1;
                follows(true) || computes(function, &cfg, &values, block)
            }
            _ => false,
        };
        if !fits || !of_block.instructions.iter().all(|inst| values.is_known(inst)) {
            return None;
        }
    }
    Some(count)
}

impl<'a> Values<'a> {
    fn of(module: &'a Module, function: &'a Function) -> Self {
        let body = function.blocks.iter().flat_map(|block| &block.instructions);
        let made = body.filter_map(|inst| Some((inst.result_id?, inst))).collect();
        let globals = module.types_global_values.iter();
        let classes = globals
            .clone()
            .filter_map(|inst| match (inst.class.opcode, inst.operands.first()) {
                (Op::Variable, Some(Operand::StorageClass(class))) => Some((inst.result_id?, *class)),
                _ => None,
            })
            .collect();
        let constants = globals.filter(|inst| inst.class.opcode == Op::Constant);
        Self { made, classes, constants: constants.filter_map(|inst| inst.result_id).collect() }
    }

    /// Whether an instruction leaves nothing open: what is not defined, and places in local variables that are not known.
    fn is_known(&self, inst: &Instruction) -> bool {
        let base = inst.operands.first().and_then(Operand::id_ref_any);
        match inst.class.opcode {
            Op::Undef => false,
            Op::Variable => inst.operands.len() == 1,
            Op::AccessChain | Op::InBoundsAccessChain if base.is_some_and(|base| self.is_local(base)) => {
                inst.operands[1..].iter().filter_map(Operand::id_ref_any).all(|id| self.follows(id, false))
            }
            _ => true,
        }
    }

    /// Whether a pointer leads into a local variable.
    fn is_local(&self, pointer: u32) -> bool {
        let Some(inst) = self.made.get(&pointer) else { return false };
        match inst.class.opcode {
            Op::Variable => true,
            _ => inst.operands.first().and_then(Operand::id_ref_any).is_some_and(|base| self.is_local(base)),
        }
    }

    /// Whether a value is computed from constants and loop-carried values alone, or also from ids and arguments if `of_ids` is set.
    fn follows(&self, value: u32, of_ids: bool) -> bool {
        let (mut open, mut seen) = (vec![value], AHashSet::new());
        while let Some(id) = open.pop() {
            let Some(inst) = self.made.get(&id).filter(|_| seen.insert(id)) else { continue };
            let op = inst.class.opcode;
            let operands = || inst.operands.iter().filter_map(Operand::id_ref_any);
            let fits = match op {
                Op::Phi | Op::CopyObject => true,
                Op::Load => of_ids && operands().next().is_some_and(|pointer| self.is_argument(pointer)),
                Op::ArrayLength => of_ids,
                Op::AccessChain | Op::InBoundsAccessChain => of_ids,
                op if opcodes::has(op, opcodes::DIVIDES) => {
                    operands().nth(1).is_some_and(|divisor| self.constants.contains(&divisor))
                }
                _ => opcodes::is_pure(inst),
            };
            if !fits {
                return false;
            }
            open.extend(operands());
        }
        true
    }

    /// Whether a pointer leads to ids or arguments.
    fn is_argument(&self, pointer: u32) -> bool {
        let base = match self.made.get(&pointer) {
            Some(inst) => inst.operands.first().and_then(Operand::id_ref_any),
            None => Some(pointer),
        };
        let class = base.and_then(|base| self.classes.get(&base));
        matches!(class, Some(StorageClass::Input | StorageClass::PushConstant))
    }
}

/// Whether both sides of the branch that a block ends in only compute.
fn computes(function: &Function, cfg: &Cfg, values: &Values<'_>, block: usize) -> bool {
    let [.., merge, branch] = function.blocks[block].instructions.as_slice() else { return false };
    let target = |operand: Option<&Operand>| cfg.block_of_label(operand?.id_ref_any()?);
    let Some(meets) = target(merge.operands.first()).filter(|_| merge.class.opcode == Op::SelectionMerge)
    else {
        return false;
    };
    let mut open: Vec<usize> = branch.operands[1..].iter().filter_map(|side| target(Some(side))).collect();
    let mut seen = AHashSet::new();
    while let Some(at) = open.pop() {
        if at == meets || !seen.insert(at) {
            continue;
        }
        let fits = |inst: &Instruction| match inst.class.opcode {
            Op::Phi | Op::SelectionMerge | Op::BranchConditional | Op::Branch | Op::CopyObject => true,
            Op::Load | Op::AccessChain => inst.result_id.is_some_and(|id| values.follows(id, true)),
            op => opcodes::is_pure(inst) && !opcodes::has(op, opcodes::DIVIDES),
        };
        if !function.blocks[at].instructions.iter().all(fits) {
            return false;
        }
        open.extend(&cfg.successors[at]);
    }
    true
}
