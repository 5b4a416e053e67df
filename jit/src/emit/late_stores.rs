//! Stores that wait for loads behind them.
//!
//! A store to what another member reads in memory has to stay in order ([`super::interface::Ordered`]), and a driver keeps all loads behind it
//! there: rounds that stand one after another then load one after another. Here such stores come after the loads of several rounds, which are
//! in flight together.
//!
//! # Requires
//! - what is bound: which binding a variable sees, and whether another one overlaps it
//!
//! # Guarantees
//! - a store comes later, as long as control goes on to the one place that comes from here alone; stores to buffers stay in their order
//! - a store does not pass what may touch its bytes, nor anything that orders memory: barriers, atomic operations, calls, whatever is not known
//! - at most so many stores wait at a time

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Operand};
use rspirv::spirv::{Op, StorageClass, Word};

use super::JitError;
use super::builder::Builder;
use super::emission::Emission;
use super::entry;
use super::interface::Bindings;
use super::link::Shared;
use crate::analysis::cfg::Cfg;
use crate::frontend::opcodes::{self, PURE, is_volatile};
use crate::plan::recipe::UnifiedBinding;

/// Lets stores wait, as many at a time as the recipe says.
pub(super) fn run(emission: &mut Emission<'_>) -> Result<(), JitError> {
    let Emission { shared: Shared { builder, bindings, .. }, recipe, kernels, .. } = emission;
    let Some(most) = recipe.late_stores else { return Ok(()) };
    let ordered = bindings.coherent(&recipe.bindings, &entry::ordered(recipe, kernels)).collect();
    let mut functions = std::mem::take(&mut builder.module.functions);
    for function in &mut functions {
        let (variables, classes) = pointers(builder, function);
        let unified = &recipe.bindings;
        let memory = Memory { bindings, unified, ordered: &ordered, variables, classes };
        memory.function(function, most as usize);
    }
    builder.module.functions = functions;
    Ok(())
}

/// What an access touches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touched {
    /// What no binding sees, or nothing.
    Own,
    Binding(u16),
    Anything,
}

/// Stores that wait, and the bindings that they are to.
type Waiting = Vec<(u16, Instruction)>;

struct Memory<'a> {
    bindings: &'a Bindings,
    unified: &'a [UnifiedBinding],
    /// Variables whose accesses a driver keeps in order.
    ordered: &'a AHashSet<Word>,
    /// The variables that the function's pointers lead into.
    variables: AHashMap<Word, Word>,
    /// What sort of memory those lie in that have a pointer here.
    classes: AHashMap<Word, StorageClass>,
}

impl Memory<'_> {
    fn function(&self, function: &mut Function, most: usize) {
        // Where loads stay in order, any store holds them back.
        let loads = |inst: &Instruction| inst.class.opcode == Op::Load && self.is_ordered(inst);
        let all = function.all_inst_iter().any(loads);
        let waits = |inst: &Instruction| inst.class.opcode == Op::Store && (all || self.is_ordered(inst));
        if !function.all_inst_iter().any(waits) {
            return;
        }
        let next = next(function);
        // By the block in front of which they wait.
        let mut waiting: AHashMap<usize, Waiting> = AHashMap::new();
        for (number, block) in function.blocks.iter_mut().enumerate() {
            let mut held = waiting.remove(&number).unwrap_or_default();
            let mut code = Vec::with_capacity(block.instructions.len() + held.len());
            for inst in block.instructions.drain(..) {
                let op = inst.class.opcode;
                let touched = match op {
                    Op::Branch if next[number].is_some() => Touched::Own,
                    _ => self.touched(&inst),
                };
                match (op, touched) {
                    (Op::Store, Touched::Binding(binding)) if waits(&inst) && self.is_apart(binding) => {
                        held.push((binding, inst));
                        if held.len() >= most {
                            release(&mut held, &mut code);
                        }
                        continue;
                    }
                    (Op::Load, Touched::Binding(binding)) => {
                        if held.iter().any(|one| one.0 == binding) && !mutant!(StoresPassTheirLoads) {
                            release(&mut held, &mut code);
                        }
                    }
                    (_, Touched::Own) => {}
                    _ => release(&mut held, &mut code),
                }
                code.push(inst);
            }
            if let Some(next) = next[number].filter(|_| !held.is_empty()) {
                waiting.insert(next, held);
            }
            block.instructions = code;
        }
    }

    /// The variable that a load or store goes through.
    fn variable(&self, inst: &Instruction) -> Option<Word> {
        let pointer = inst.operands.first()?.id_ref_any()?;
        Some(self.variables.get(&pointer).copied().unwrap_or(pointer))
    }

    fn is_ordered(&self, inst: &Instruction) -> bool {
        self.variable(inst).is_some_and(|id| self.ordered.contains(&id))
    }

    fn touched(&self, inst: &Instruction) -> Touched {
        let op = inst.class.opcode;
        match op {
            Op::Load | Op::Store if is_volatile(inst) => Touched::Anything,
            Op::Load | Op::Store => self.reached(inst),
            Op::Phi | Op::Undef | Op::Variable | Op::Line | Op::NoLine | Op::CopyObject => Touched::Own,
            Op::AccessChain | Op::InBoundsAccessChain | Op::ArrayLength => Touched::Own,
            Op::ControlBarrier if mutant!(StoresPassBarriers) => Touched::Own,
            Op::ExtInst => self.by_set(inst),
            _ if opcodes::has(op, PURE) => Touched::Own,
            _ => Touched::Anything,
        }
    }

    fn reached(&self, inst: &Instruction) -> Touched {
        let Some(id) = self.variable(inst) else { return Touched::Anything };
        if let Some(binding) = self.bindings.binding_of(id) {
            return Touched::Binding(binding);
        }
        match self.classes.get(&id) {
            Some(
                StorageClass::Function
                | StorageClass::Private
                | StorageClass::Workgroup
                | StorageClass::Input
                | StorageClass::PushConstant,
            ) => Touched::Own,
            _ => Touched::Anything,
        }
    }

    /// Instructions of imported sets may write through a pointer, as `modf` and `frexp` do.
    fn by_set(&self, inst: &Instruction) -> Touched {
        let mut ids = inst.operands.iter().filter_map(Operand::id_ref_any);
        let is_pointer = |id: Word| self.variables.contains_key(&id) || self.classes.contains_key(&id);
        if ids.any(is_pointer) { Touched::Anything } else { Touched::Own }
    }

    /// Whether no other binding has a byte of this one.
    fn is_apart(&self, binding: u16) -> bool {
        self.unified[usize::from(binding)].restrict || mutant!(StoresToViewsWait)
    }
}

/// Does what waits.
fn release(held: &mut Waiting, code: &mut Vec<Instruction>) {
    if mutant!(LaterStoresComeFirst) {
        held.reverse();
    }
    code.extend(held.drain(..).map(|(_, store)| store));
}

/// The variables that pointers of a function lead into, and the sort of memory of each.
fn pointers(builder: &Builder, function: &Function) -> (AHashMap<Word, Word>, AHashMap<Word, StorageClass>) {
    let class_of = |inst: &Instruction| {
        let ty = builder.definitions.get(&inst.result_type?)?;
        match ty.operands.first() {
            Some(&Operand::StorageClass(class)) if ty.class.opcode == Op::TypePointer => Some(class),
            _ => None,
        }
    };
    let variables = builder.definitions.values().filter(|inst| inst.class.opcode == Op::Variable);
    let known = variables.filter_map(|inst| Some((inst.result_id?, class_of(inst)?)));
    let mut classes: AHashMap<Word, StorageClass> = known.collect();
    let mut leads: AHashMap<Word, Word> = AHashMap::new();
    for inst in function.all_inst_iter() {
        let (Some(id), Some(class)) = (inst.result_id, class_of(inst)) else { continue };
        let base = match inst.class.opcode {
            Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject => {
                inst.operands.first().and_then(Operand::id_ref_any).unwrap_or(id)
            }
            _ => id,
        };
        let variable = leads.get(&base).copied().unwrap_or(base);
        leads.insert(id, variable);
        classes.insert(variable, class);
    }
    (leads, classes)
}

/// By block, the one that it goes on to, if nobody else goes there, and nothing ends or begins anew there.
fn next(function: &Function) -> Vec<Option<usize>> {
    let cfg = Cfg::new(function);
    let merges = |inst: &&Instruction| matches!(inst.class.opcode, Op::SelectionMerge | Op::LoopMerge);
    let named = function.all_inst_iter().filter(merges).flat_map(|inst| &inst.operands);
    let named: AHashSet<Word> = named.filter_map(Operand::id_ref_any).collect();
    let one = |(number, block): (usize, &rspirv::dr::Block)| {
        let last = block.instructions.last().filter(|inst| inst.class.opcode == Op::Branch)?;
        let to = last.operands.first()?.id_ref_any().filter(|label| !named.contains(label))?;
        let next = cfg.block_of_label(to)?;
        (next > number && cfg.predecessors[next] == [number]).then_some(next)
    };
    function.blocks.iter().enumerate().map(one).collect()
}
