//! What nobody uses is not computed.
//!
//! A buffer that stays inside may be read by nobody: a kernel has it, and this list has no use for it. Then its stores go, what computed
//! them, and the kernel where it does nothing else. A driver's compiler would find that out in its own time; but one dies of loops in which nothing is
//! used (`docs/drivers.md`).
//!
//! # Requires
//! - nothing: any module
//!
//! # Guarantees
//! - atomic operations, barriers, and stores to what others can see, or what somebody loads here, stay what they were, and so do control flow and calls
//!   of functions that have any of these
//! - every other value is used by one of these, directly or not; no other function is called

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{Op, StorageClass, Word};

use super::JitError;
use super::emission::Emission;
use crate::frontend::opcodes::{self, is_volatile};

/// Drops what nobody uses.
pub(super) fn run(emission: &mut Emission<'_>) -> Result<(), JitError> {
    drop(&mut emission.shared.builder.module);
    Ok(())
}

/// Drops what nobody uses.
fn drop(module: &mut Module) {
    loop {
        drop_values(module);
        if !drop_calls(module) {
            return;
        }
    }
}

/// Drops calls of functions that do nothing, and these; says whether there were any calls.
fn drop_calls(module: &mut Module) -> bool {
    let is_idle = |function: &&Function| {
        let mut code = function.blocks.iter().flat_map(|block| &block.instructions);
        code.all(|inst| has_no_effect(inst) || is_control_flow(inst.class.opcode))
    };
    let idle: AHashSet<Word> = module.functions.iter().filter(is_idle).filter_map(Function::def_id).collect();
    let is_call = |inst: &Instruction| {
        inst.class.opcode == Op::FunctionCall && ids(inst).next().is_some_and(|id| idle.contains(&id))
    };
    let mut called: AHashSet<Word> = AHashSet::new();
    for block in module.functions.iter_mut().flat_map(|function| &mut function.blocks) {
        block.instructions.retain(|inst| {
            if is_call(inst) {
                called.extend(ids(inst).next());
            }
            !is_call(inst)
        });
    }
    let is_called = |function: &Function| function.def_id().is_some_and(|id| called.contains(&id));
    let idle = module.functions.iter().filter(|function| is_called(function));
    let gone = idle.flat_map(Function::all_inst_iter).filter_map(|inst| inst.result_id).collect();
    module.functions.retain(|function| !is_called(function));
    forget(module, &gone);
    !called.is_empty()
}

/// Drops values that nobody uses, and stores of them.
fn drop_values(module: &mut Module) {
    let mut stays = Uses::of(module).live().into_iter();
    let mut gone: AHashSet<Word> = AHashSet::new();
    for block in module.functions.iter_mut().flat_map(|function| &mut function.blocks) {
        block.instructions.retain(|inst| {
            let stays = stays.next().unwrap_or(true);
            gone.extend(inst.result_id.filter(|_| !stays));
            stays
        });
    }
    forget(module, &gone);
}

/// Drops what is said of things that are gone.
fn forget(module: &mut Module, gone: &AHashSet<Word>) {
    let of_what_is_left = |inst: &Instruction| !ids(inst).next().is_some_and(|id| gone.contains(&id));
    module.annotations.retain(of_what_is_left);
    module.debug_names.retain(of_what_is_left);
}

fn ids(inst: &Instruction) -> impl Iterator<Item = Word> + '_ {
    inst.operands.iter().filter_map(Operand::id_ref_any)
}

/// The instructions of all functions, in order.
struct Uses<'a> {
    code: Vec<&'a Instruction>,
    /// Where each result is made.
    made: AHashMap<Word, usize>,
    /// Variables that only this invocation sees, with the stores to them.
    stores: AHashMap<Word, Vec<usize>>,
    /// Those stores.
    is_inside: Vec<bool>,
}

impl<'a> Uses<'a> {
    fn of(module: &'a Module) -> Self {
        let blocks = module.functions.iter().flat_map(|function| &function.blocks);
        let code: Vec<&Instruction> = blocks.flat_map(|block| &block.instructions).collect();
        let results = code.iter().enumerate().filter_map(|(at, inst)| Some((inst.result_id?, at)));
        let made = results.collect();
        let variables =
            module.types_global_values.iter().chain(code.iter().copied()).filter(|inst| is_own(inst));
        let stores = variables.filter_map(|inst| Some((inst.result_id?, Vec::new()))).collect();
        let mut uses = Uses { is_inside: vec![false; code.len()], code, made, stores };
        for at in 0..uses.code.len() {
            let inst = uses.code[at];
            if inst.class.opcode != Op::Store || is_volatile(inst) {
                continue;
            }
            if let Some(stores) =
                ids(inst).next().map(|id| uses.variable(id)).and_then(|id| uses.stores.get_mut(&id))
            {
                stores.push(at);
                uses.is_inside[at] = true;
            }
        }
        uses
    }

    /// What a pointer leads into.
    fn variable(&self, mut pointer: Word) -> Word {
        while let Some(inst) = self.made.get(&pointer).map(|at| self.code[*at])
            && matches!(inst.class.opcode, Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject)
            && let Some(base) = ids(inst).next()
        {
            pointer = base;
        }
        pointer
    }

    /// Which instructions stay.
    fn live(&self) -> Vec<bool> {
        let may_go = |at: usize| self.is_inside[at] || has_no_effect(self.code[at]);
        let mut live: Vec<bool> = (0..self.code.len()).map(|at| !may_go(at)).collect();
        let mut queue: Vec<usize> = (0..live.len()).filter(|at| live[*at]).collect();
        let mut variables: AHashSet<Word> = AHashSet::new();
        while let Some(at) = queue.pop() {
            for id in ids(self.code[at]) {
                let stores = self.stores.get(&id).filter(|_| variables.insert(id));
                let stores = stores.filter(|_| !mutant!(NobodyReadsInside));
                for at in self.made.get(&id).into_iter().chain(stores.into_iter().flatten()) {
                    if !std::mem::replace(&mut live[*at], true) {
                        queue.push(*at);
                    }
                }
            }
        }
        live
    }
}

/// Whether it is a variable that only this invocation sees.
fn is_own(inst: &Instruction) -> bool {
    let class = match inst.operands.first() {
        Some(Operand::StorageClass(class)) => *class,
        _ => return false,
    };
    inst.class.opcode == Op::Variable && matches!(class, StorageClass::Private | StorageClass::Function)
}

/// Whether it does nothing but give its result.
fn has_no_effect(inst: &Instruction) -> bool {
    match inst.class.opcode {
        Op::Load => !is_volatile(inst),
        Op::Phi
        | Op::CopyObject
        | Op::Undef
        | Op::AccessChain
        | Op::InBoundsAccessChain
        | Op::ArrayLength
        | Op::Variable => true,
        _ => opcodes::is_pure(inst),
    }
}

/// Whether it only says where a function goes on, which gives no value to who called it.
fn is_control_flow(op: Op) -> bool {
    matches!(
        op,
        Op::SelectionMerge
            | Op::LoopMerge
            | Op::Branch
            | Op::BranchConditional
            | Op::Switch
            | Op::Return
            | Op::Unreachable
    )
}

#[cfg(test)]
mod tests {
    use rspirv::binary::Assemble;
    use rspirv::dr::Builder;
    use rspirv::spirv::{
        AddressingModel, Capability, Decoration, ExecutionMode, ExecutionModel, FunctionControl, LoopControl,
        MemoryModel,
    };

    use super::*;
    use crate::frontend::tools;

    /// A loop that loads of a buffer, adds, and stores the sum to a variable of the invocation's; another function, called afterwards, that
    /// loads it, if `is_read`, and stores it to the buffer.
    fn module(is_read: bool) -> Module {
        let mut b = Builder::new();
        b.set_version(1, 3);
        b.capability(Capability::Shader);
        b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
        let (void, bool_, uint) = (b.type_void(), b.type_bool(), b.type_int(32, 0));
        let [zero, one, four] = [0, 1, 4].map(|value| b.constant_bit32(uint, value));
        let array = b.type_runtime_array(uint);
        b.decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(4)]);
        let block = b.type_struct([array]);
        b.decorate(block, Decoration::Block, []);
        b.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
        let to_block = b.type_pointer(None, StorageClass::StorageBuffer, block);
        let to_element = b.type_pointer(None, StorageClass::StorageBuffer, uint);
        let to_private = b.type_pointer(None, StorageClass::Private, uint);
        let buffer = b.variable(to_block, None, StorageClass::StorageBuffer, None);
        b.decorate(buffer, Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
        b.decorate(buffer, Decoration::Binding, [Operand::LiteralBit32(0)]);
        let sum = b.variable(to_private, None, StorageClass::Private, None);
        let of_nothing = b.type_function(void, []);

        let first = b.begin_function(void, None, FunctionControl::NONE, of_nothing).unwrap();
        let [head, body, next, end, added, index_next, sum_next] = [(); 7].map(|()| b.id());
        let start = b.begin_block(None).unwrap();
        b.branch(head).unwrap();
        b.begin_block(Some(head)).unwrap();
        let index = b.phi(uint, None, [(zero, start), (index_next, next)]).unwrap();
        let so_far = b.phi(uint, None, [(zero, start), (sum_next, next)]).unwrap();
        let goes_on = b.u_less_than(bool_, None, index, four).unwrap();
        b.loop_merge(end, next, LoopControl::NONE, []).unwrap();
        b.branch_conditional(goes_on, body, end, []).unwrap();
        b.begin_block(Some(body)).unwrap();
        let place = b.access_chain(to_element, None, buffer, [zero, index]).unwrap();
        let value = b.load(uint, None, place, None, []).unwrap();
        b.i_add(uint, Some(added), so_far, value).unwrap();
        b.decorate(added, Decoration::RelaxedPrecision, []);
        b.branch(next).unwrap();
        b.begin_block(Some(next)).unwrap();
        b.phi(uint, Some(sum_next), [(added, body)]).unwrap();
        b.i_add(uint, Some(index_next), index, one).unwrap();
        b.branch(head).unwrap();
        b.begin_block(Some(end)).unwrap();
        b.store(sum, so_far, None, []).unwrap();
        b.ret().unwrap();
        b.end_function().unwrap();

        let second = b.begin_function(void, None, FunctionControl::NONE, of_nothing).unwrap();
        b.begin_block(None).unwrap();
        let value = if is_read { b.load(uint, None, sum, None, []).unwrap() } else { one };
        let place = b.access_chain(to_element, None, buffer, [zero, zero]).unwrap();
        b.store(place, value, None, []).unwrap();
        b.ret().unwrap();
        b.end_function().unwrap();

        let main = b.begin_function(void, None, FunctionControl::NONE, of_nothing).unwrap();
        b.begin_block(None).unwrap();
        b.function_call(void, None, first, []).unwrap();
        b.function_call(void, None, second, []).unwrap();
        b.ret().unwrap();
        b.end_function().unwrap();
        b.entry_point(ExecutionModel::GLCompute, main, "main", []);
        b.execution_mode(main, ExecutionMode::LocalSize, [1, 1, 1]);
        b.module()
    }

    /// How many instructions there are of some opcodes.
    fn counts(module: &Module) -> [usize; 5] {
        let functions = || module.functions.iter().flat_map(|function| function.all_inst_iter());
        [Op::Load, Op::Store, Op::Phi, Op::IAdd, Op::FunctionCall]
            .map(|op| functions().filter(|inst| inst.class.opcode == op).count())
    }

    #[test]
    fn what_somebody_loads_stays() {
        let mut read = module(true);
        let before = counts(&read);
        drop(&mut read);
        tools::validate(&read.assemble()).unwrap();
        assert_eq!(counts(&read), before);
    }

    #[test]
    fn what_nobody_loads_is_not_computed() {
        let mut unread = module(false);
        assert_eq!(counts(&unread), [1, 2, 3, 2, 2]);
        drop(&mut unread);
        tools::validate(&unread.assemble()).unwrap();
        // The store that others can see, and the call of who makes it.
        assert_eq!(counts(&unread), [0, 1, 0, 0, 1]);
        assert_eq!(unread.functions.len(), 2);
        let relaxed = Operand::Decoration(Decoration::RelaxedPrecision);
        assert!(unread.annotations.iter().all(|inst| !inst.operands.contains(&relaxed)));
    }
}
