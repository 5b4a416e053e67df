//! Where all invocations of a work-group come together, and so may take what others have in registers.

use ahash::AHashSet;
use rspirv::dr::{Function, Instruction, Operand};
use rspirv::spirv::{BuiltIn, Decoration, Op, StorageClass, Word};

use super::super::builder::Builder;
use super::touches::{Access, Touch};
use crate::analysis::cfg::Cfg;
use crate::frontend::opcodes::{self, PURE};

/// Where all invocations of a work-group come together.
pub(super) struct Flow {
    pub(super) cfg: Cfg,
    together: Vec<bool>,
    /// The function has all of them from its beginning.
    pub(super) begins: bool,
}

/// Functions that all invocations enter together: the entry point, and those that it calls where they all come.
pub(super) fn together(
    builder: &Builder,
    functions: &[Function],
    entry: Word,
    is_packed: bool,
) -> AHashSet<Word> {
    let mut found = AHashSet::from_iter([entry]);
    let Some(main) = functions.iter().find(|function| function.def_id() == Some(entry)) else { return found };
    let flow = Flow::of(builder, main, &found, is_packed);
    let calls = |inst: &Instruction| match inst.class.opcode {
        Op::FunctionCall => inst.operands.first().and_then(Operand::id_ref_any),
        _ => None,
    };
    let mut apart: AHashSet<Word> = AHashSet::new();
    for function in functions {
        for (number, block) in function.blocks.iter().enumerate() {
            let is_together = function.def_id() == Some(entry) && flow.together[number];
            let called = block.instructions.iter().filter_map(calls);
            if is_together { found.extend(called) } else { apart.extend(called) }
        }
    }
    found.retain(|id| !apart.contains(id));
    found
}

impl Flow {
    pub(super) fn of(
        builder: &Builder,
        function: &Function,
        called: &AHashSet<Word>,
        is_packed: bool,
    ) -> Self {
        let cfg = Cfg::new(function);
        let begins = function.def_id().is_some_and(|id| called.contains(&id));
        let mut together = vec![false; function.blocks.len()];
        if let Some(first) = together.first_mut() {
            *first = begins;
        }
        let common = commons(builder, function, is_packed);
        for number in 0..function.blocks.len() {
            if !together[number] {
                continue;
            }
            let mut inside = function.blocks[number].instructions.iter().rev().take(2);
            let Some(last) = inside.next() else { continue };
            let merge =
                inside.next().filter(|inst| matches!(inst.class.opcode, Op::SelectionMerge | Op::LoopMerge));
            let block = |inst: &Instruction, n: usize| {
                inst.operands.get(n).and_then(Operand::id_ref_any).and_then(|label| cfg.block_of_label(label))
            };
            // Whoever goes into a construct comes out where it ends, if there is no other way out.
            if let Some(end) = merge.and_then(|inst| block(inst, 0))
                && always(&cfg, function, number, end)
            {
                together[end] = true;
            }
            let goes_on = |next: usize| cfg.predecessors[next] == [number];
            let condition = || last.operands.first().and_then(Operand::id_ref_any);
            match last.class.opcode {
                Op::Branch => {
                    let Some(next) = block(last, 0) else { continue };
                    // A loop that all begin, all leave where it ends.
                    let mut inside = function.blocks[next].instructions.iter();
                    let merge = inside.find(|inst| inst.class.opcode == Op::LoopMerge);
                    match merge.and_then(|inst| block(inst, 0)) {
                        _ if goes_on(next) => together[next] = true,
                        Some(end) if always(&cfg, function, next, end) => together[end] = true,
                        _ => {}
                    }
                }
                Op::BranchConditional if condition().is_some_and(|id| common.contains(&id)) => {
                    let next =
                        [1, 2].into_iter().filter_map(|n| block(last, n)).filter(|&next| goes_on(next));
                    next.for_each(|next| together[next] = true);
                }
                _ => {}
            }
        }
        Self { cfg, together, begins }
    }

    /// Behind which instruction of which block the element of an access is taken from the other invocation: in front of the access, or at the end of
    /// the last block before it to which all come, if nobody waits in between, nor stores what it may load itself: `touches` are all of the function's.
    pub(super) fn place<'a>(
        &self,
        function: &Function,
        touch: &Touch,
        mut touches: impl Iterator<Item = &'a Touch>,
    ) -> Option<(usize, Option<usize>)> {
        let (block, position) = touch.at;
        if mutant!(ShufflesStay) {
            return Some((block, Some(position)));
        }
        if self.together[block] {
            return Some((block, Some(position)));
        }
        let mut before = self.cfg.idom(block)?;
        while !self.together[before] {
            before = self.cfg.idom(before)?;
        }
        // Nothing waits between the two.
        let mut open = vec![block];
        let mut between: AHashSet<usize> = AHashSet::new();
        while let Some(one) = open.pop() {
            for &from in &self.cfg.predecessors[one] {
                if from != before && between.insert(from) {
                    open.push(from);
                }
            }
        }
        let waits = |inst: &Instruction| matches!(inst.class.opcode, Op::ControlBarrier | Op::FunctionCall);
        let any = between.iter().any(|&one| function.blocks[one].instructions.iter().any(waits));
        let here = function.blocks[block].instructions[..position].iter().any(waits);
        let stores = touches.any(|other| {
            let is_between = between.contains(&other.at.0) || other.at.0 == block && other.at.1 < position;
            other.variable == touch.variable && other.plain == Some(Access::Store) && is_between
        });
        let stores = stores && !mutant!(ShufflesPassStores);
        (!any && !here && !stores || mutant!(ShufflesPassBarriers)).then_some((before, None))
    }
}

/// Whether every way from a block to an end of the function passes another one.
fn always(cfg: &Cfg, function: &Function, from: usize, passed: usize) -> bool {
    let mut open = vec![from];
    let mut seen = vec![false; function.blocks.len()];
    while let Some(block) = open.pop() {
        if cfg.successors[block].is_empty() {
            return false;
        }
        for &next in &cfg.successors[block] {
            if next != passed && !std::mem::replace(&mut seen[next], true) {
                open.push(next);
            }
        }
    }
    true
}

/// Values of a function that are the same in all invocations of a work-group: of constants, arguments and numbers of work-groups. Of several work-groups in
/// one, each sub-group has another number.
fn commons(builder: &Builder, function: &Function, is_packed: bool) -> AHashSet<Word> {
    let is_constant = |id: Word| {
        let inst = builder.definitions.get(&id);
        inst.is_some_and(|inst| {
            matches!(
                inst.class.opcode,
                Op::Constant | Op::ConstantTrue | Op::ConstantFalse | Op::ConstantNull
            )
        })
    };
    let is_group = |id: Word| {
        let decorations = builder.module.annotations.iter();
        let built_in = |what: BuiltIn| {
            let operands =
                [Operand::IdRef(id), Operand::Decoration(Decoration::BuiltIn), Operand::BuiltIn(what)];
            decorations.clone().any(|inst| inst.operands == operands)
        };
        !is_packed && built_in(BuiltIn::WorkgroupId) || built_in(BuiltIn::NumWorkgroups)
    };
    let class = |ty: Option<Word>| match builder.definitions.get(&ty?)?.operands.first()? {
        Operand::StorageClass(class) => Some(*class),
        _ => None,
    };
    let mut found: AHashSet<Word> = AHashSet::new();
    for inst in function.all_inst_iter() {
        let Some(id) = inst.result_id else { continue };
        let mut ids = inst.operands.iter().filter_map(Operand::id_ref_any);
        let is_common = |id: Word| found.contains(&id) || is_constant(id) || is_group(id);
        let all = match inst.class.opcode {
            Op::AccessChain | Op::InBoundsAccessChain => {
                let arguments = class(inst.result_type) == Some(StorageClass::PushConstant);
                let base = ids.next();
                (arguments || base.is_some_and(is_common)) && ids.all(is_common)
            }
            Op::Load => inst.operands.len() == 1 && ids.all(is_common),
            Op::ExtInst => false,
            op if op == Op::CopyObject || opcodes::has(op, PURE) => ids.all(is_common),
            _ => false,
        };
        if all {
            found.insert(id);
        }
    }
    found
}
