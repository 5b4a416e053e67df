//! Barriers of the work-group at which it is enough that each sub-group waits for itself.
//!
//! The last steps of a tree in shared memory are done by invocations that lie in one sub-group: `if (l < 8) part[l] += part[l + 8]`. What
//! one of them reads there another one of the same sub-group has written, and the other sub-groups need not wait for it.
//!
//! The work is one of evaluation: with loops over constants written out, indices and conditions of such steps are functions of the local
//! id alone, and are worked out for each of the work-group's invocations.
//!
//! # Requires
//! - the function of a member, loops written out; local ids that are numbered by sub-groups of `size` ([`super::passes::subgroup_ids`])
//!
//! # Guarantees
//! - between two barriers of the work-group that are left, no two accesses with another barrier between them touch the same element, one of them
//!   writing, but by invocations of one sub-group
//! - each barrier that becomes a sub-group's is passed once, by all invocations
//!
//! # Refuses
//! - functions with a barrier that not all invocations pass exactly once, with calls, or with shared memory that has a layout of its own
//! - accesses whose element is not a function of the local id, stores to anything but shared memory and variables of the invocation, and all
//!   instructions that are not known: no barrier beside them is weakened

use std::rc::Rc;

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Operand};
use rspirv::spirv::{BuiltIn, Op, Scope, StorageClass, Word};

use super::JitError;
use super::builder::Builder;
use super::emission::Emission;
use super::evaluate::evaluate;
use super::link::Shared;
use crate::analysis::cfg::Cfg;
use crate::frontend::opcodes;

/// Most invocations of a work-group that are evaluated.
const MOST_INVOCATIONS: u32 = 1024;
/// Most barriers of a function that is looked at.
const MOST_BARRIERS: usize = 64;
/// Most accesses to shared memory in it.
const MOST_ACCESSES: usize = 256;

/// A number in each invocation.
pub(super) type Lanes = Rc<[u32]>;

/// An access to shared memory.
pub(super) struct Touch {
    /// Block and position.
    pub(super) at: (usize, usize),
    pub(super) variable: Word,
    /// Whether it is a plain load, or a plain store; else anything.
    pub(super) plain: Option<Access>,
    /// The indices of the element, in each invocation, if they are known.
    pub(super) element: Option<Vec<Lanes>>,
    /// Invocations that may do it.
    pub(super) active: Rc<[bool]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Load,
    Store,
}

/// What is done to memory between two barriers.
enum Effect {
    /// An element of shared memory, by invocations that may do so.
    Shared { variable: Word, writes: bool, element: Vec<Lanes>, active: Rc<[bool]> },
    /// Memory that nobody writes there, as far as this access knows.
    Read,
    /// Anything.
    Wild,
}

/// Weakens barriers of the members' functions, unless fewer invocations have weakened them ([`super::narrow`]).
pub(super) fn run(emission: &mut Emission<'_>) -> Result<(), JitError> {
    if let Some(size) = emission.recipe.schedule.full_subgroups()
        && !emission.narrowed
    {
        barriers(&mut emission.shared, size, emission.recipe.schedule.local_size()[0]);
    }
    Ok(())
}

/// Weakens barriers of the members' functions, in work-groups of `local` invocations and sub-groups of `size`.
fn barriers(shared: &mut Shared, size: u32, local: u32) {
    let builder = &mut shared.builder;
    if local > MOST_INVOCATIONS || size == 0 || !local.is_multiple_of(size) || has_layouts(builder) {
        return;
    }
    let mut ids: AHashMap<Word, BuiltIn> = AHashMap::new();
    for builtin in [BuiltIn::LocalInvocationId, BuiltIn::LocalInvocationIndex] {
        shared.inputs.get(builtin).map(|(variable, _)| ids.insert(variable, builtin));
    }
    let scope = builder.constant(Scope::Subgroup as u32);
    let mut functions = std::mem::take(&mut builder.module.functions);
    for function in &mut functions {
        let weak = Reader { builder, ids: &ids, local, size, function }.weak();
        for (block, position) in weak {
            let inst = &mut function.blocks[block].instructions[position];
            inst.operands[0] = Operand::IdScope(scope);
            inst.operands[1] = Operand::IdScope(scope);
        }
    }
    builder.module.functions = functions;
}

/// All that a function does to shared memory, in work-groups of `local` invocations; `ids` are inputs that are local ids.
pub(super) fn touches(
    builder: &Builder,
    ids: &AHashMap<Word, BuiltIn>,
    local: u32,
    function: &Function,
) -> Vec<Touch> {
    let reader = Reader { builder, ids, local, size: local, function };
    let cfg = Cfg::new(function);
    let mut found = Vec::new();
    let mut known = Known::default();
    let mut active: Vec<Option<Rc<[bool]>>> = vec![None; function.blocks.len()];
    let everybody: Rc<[bool]> = vec![true; local as usize].into();
    for (number, block) in function.blocks.iter().enumerate() {
        let here = reader.active(&cfg, number, &active, &known).unwrap_or_else(|| everybody.clone());
        active[number] = Some(here.clone());
        let looped = cfg.loop_depth(number) > 0;
        for (position, inst) in block.instructions.iter().enumerate() {
            let places = inst.operands.iter().filter_map(Operand::id_ref_any);
            let places: Vec<_> = places.filter_map(|id| reader.place(&known, id)).collect();
            let effect = reader.effect(inst, &mut known, &here, looped);
            let op = inst.class.opcode;
            let plain = match (op, inst.operands.len()) {
                (Op::Load, 1) => Some(Access::Load),
                (Op::Store, 2) => Some(Access::Store),
                _ => None,
            };
            // Pointers are followed through chains alone.
            let leads = matches!(op, Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject);
            for (variable, element) in places.into_iter().filter(|_| !leads || effect.is_some()) {
                found.push(Touch { at: (number, position), variable, plain, element, active: here.clone() });
            }
        }
    }
    found
}

/// Whether variables of shared memory may lie over each other.
pub(super) fn has_layouts(builder: &Builder) -> bool {
    let annotated: AHashSet<Word> = builder
        .module
        .annotations
        .iter()
        .filter(|inst| inst.class.opcode == Op::Decorate)
        .filter_map(|inst| inst.operands.first()?.id_ref_any())
        .collect();
    builder.module.types_global_values.iter().any(|inst| {
        let shared = inst.operands.first() == Some(&Operand::StorageClass(StorageClass::Workgroup));
        shared
            && inst.class.opcode == Op::Variable
            && inst.result_id.is_some_and(|id| annotated.contains(&id))
    })
}

struct Reader<'a> {
    builder: &'a Builder,
    /// Inputs that are local ids.
    ids: &'a AHashMap<Word, BuiltIn>,
    local: u32,
    size: u32,
    function: &'a Function,
}

/// What is known of the values of a function.
#[derive(Default)]
struct Known {
    numbers: AHashMap<Word, Lanes>,
    /// Vectors that are the local id, and pointers to its components.
    vectors: AHashSet<Word>,
    /// Vectors of which components are known.
    made: AHashMap<Word, Vec<Option<Lanes>>>,
    components: AHashMap<Word, u32>,
    /// Pointers into shared memory: the variable, and the indices if they are known.
    pointers: AHashMap<Word, (Word, Option<Vec<Lanes>>)>,
}

impl Reader<'_> {
    /// The barriers of the function that can be weakened: block and position.
    fn weak(&self) -> Vec<(usize, usize)> {
        let Some(barriers) = self.barriers() else { return Vec::new() };
        let Some(segments) = self.segments(&barriers) else { return Vec::new() };
        let mut found = Vec::new();
        // Effects since the last barrier of the work-group, with the segment of each.
        let mut run: Vec<&Effect> = segments.get(1).into_iter().flatten().collect();
        for number in 1..barriers.len().saturating_sub(1) {
            let next = &segments[number + 1];
            let meet = run.iter().any(|a| next.iter().any(|b| self.meet(a, b)));
            if meet && !mutant!(EveryBarrierIsWeak) {
                run.clear();
            } else {
                found.push(barriers[number]);
            }
            run.extend(next);
        }
        found
    }

    /// All barriers in the order in which every invocation passes them, each once; nothing if that is not so.
    fn barriers(&self) -> Option<Vec<(usize, usize)>> {
        let blocks = &self.function.blocks;
        let mut found = Vec::new();
        let all = blocks.iter().flat_map(|block| &block.instructions);
        let waits = all.filter(|inst| inst.class.opcode == Op::ControlBarrier).count();
        if !(3..=MOST_BARRIERS).contains(&waits) {
            return None;
        }
        let cfg = Cfg::new(self.function);
        let ends = |op: Op| matches!(op, Op::Return | Op::ReturnValue | Op::Kill | Op::Unreachable);
        let is_end = |n: &usize| blocks[*n].instructions.last().is_some_and(|last| ends(last.class.opcode));
        let last: Vec<usize> = (0..blocks.len()).filter(is_end).collect();
        for (number, block) in blocks.iter().enumerate() {
            for (position, inst) in block.instructions.iter().enumerate() {
                match inst.class.opcode {
                    Op::FunctionCall => return None,
                    Op::ControlBarrier => {
                        let passed = last.iter().all(|&end| cfg.dominates(number, end));
                        let workgroup = inst.operands.first().and_then(Operand::id_ref_any);
                        let workgroup = workgroup.and_then(|id| self.constant(id));
                        if !passed || cfg.loop_depth(number) > 0 || workgroup != Some(Scope::Workgroup as u32)
                        {
                            return None;
                        }
                        found.push((number, position));
                    }
                    _ => {}
                }
            }
        }
        // Each dominates the next.
        found.windows(2).all(|pair| cfg.dominates(pair[0].0, pair[1].0)).then_some(found)
    }

    /// What is done before the first barrier, between each two, and after the last.
    fn segments(&self, barriers: &[(usize, usize)]) -> Option<Vec<Vec<Effect>>> {
        let blocks = &self.function.blocks;
        let cfg = Cfg::new(self.function);
        let mut segments: Vec<Vec<Effect>> = (0..=barriers.len()).map(|_| Vec::new()).collect();
        let mut known = Known::default();
        let mut active: Vec<Option<Rc<[bool]>>> = vec![None; blocks.len()];
        let everybody: Rc<[bool]> = vec![true; self.local as usize].into();
        let mut count = 0;
        for (number, block) in blocks.iter().enumerate() {
            let here = self.active(&cfg, number, &active, &known).unwrap_or_else(|| everybody.clone());
            active[number] = Some(here.clone());
            let looped = cfg.loop_depth(number) > 0;
            for (position, inst) in block.instructions.iter().enumerate() {
                let effect = self.effect(inst, &mut known, &here, looped);
                let Some(effect) = effect else { continue };
                count += 1;
                if count > MOST_ACCESSES {
                    return None;
                }
                let passed = barriers.iter().filter(|&&(at, place)| {
                    if at == number { place < position } else { cfg.dominates(at, number) }
                });
                segments[passed.count()].push(effect);
            }
        }
        Some(segments)
    }

    /// The invocations that may come to a block, if that is known.
    fn active(
        &self,
        cfg: &Cfg,
        number: usize,
        active: &[Option<Rc<[bool]>>],
        known: &Known,
    ) -> Option<Rc<[bool]>> {
        let before = &cfg.predecessors[number];
        if number == 0 || before.is_empty() || cfg.loop_depth(number) > 0 {
            return None;
        }
        let label = self.function.blocks[number].label_id();
        let mut all = vec![false; self.local as usize];
        for &from in before {
            let come = active.get(from).cloned().flatten()?;
            let last = self.function.blocks[from].instructions.last()?;
            let id = |n: usize| last.operands.get(n).and_then(Operand::id_ref_any);
            let condition = match last.class.opcode {
                Op::BranchConditional if id(1) != id(2) => {
                    id(0).and_then(|id| known.numbers.get(&id)).map(|value| (value.clone(), id(1) == label))
                }
                _ => None,
            };
            for lane in 0..self.local as usize {
                let goes = condition.as_ref().is_none_or(|(value, side)| (value[lane] != 0) == *side);
                all[lane] |= come[lane] && goes;
            }
        }
        Some(all.into())
    }

    fn constant(&self, id: Word) -> Option<u32> {
        let inst = self.builder.definitions.get(&id)?;
        match (inst.class.opcode, inst.operands.as_slice()) {
            (Op::Constant, [Operand::LiteralBit32(value)]) if self.is_word(inst.result_type) => Some(*value),
            (Op::ConstantNull, []) if self.is_word(inst.result_type) => Some(0),
            (Op::ConstantTrue, _) => Some(1),
            (Op::ConstantFalse, _) => Some(0),
            _ => None,
        }
    }

    fn is_word(&self, ty: Option<Word>) -> bool {
        let inst = ty.and_then(|ty| self.builder.definitions.get(&ty));
        inst.is_some_and(|inst| {
            inst.class.opcode == Op::TypeInt && inst.operands.first() == Some(&Operand::LiteralBit32(32))
        })
    }

    fn is_truth(&self, ty: Option<Word>) -> bool {
        let inst = ty.and_then(|ty| self.builder.definitions.get(&ty));
        inst.is_some_and(|inst| inst.class.opcode == Op::TypeBool)
    }

    /// A number in each invocation.
    fn number(&self, known: &Known, id: Word) -> Option<Lanes> {
        if let Some(value) = known.numbers.get(&id) {
            return Some(value.clone());
        }
        self.constant(id).map(|value| vec![value; self.local as usize].into())
    }

    /// Whether it is a number of which something is known, or a constant: no vector.
    fn is_scalar(&self, known: &Known, id: Word) -> bool {
        known.numbers.contains_key(&id) || self.constant(id).is_some()
    }

    fn is_shared(&self, id: Word) -> bool {
        let inst = self.builder.definitions.get(&id);
        inst.is_some_and(|inst| {
            inst.class.opcode == Op::Variable
                && inst.operands.first() == Some(&Operand::StorageClass(StorageClass::Workgroup))
        })
    }

    /// What a pointer leads to in shared memory.
    fn place(&self, known: &Known, pointer: Word) -> Option<(Word, Option<Vec<Lanes>>)> {
        let found = known.pointers.get(&pointer).cloned();
        found.or_else(|| self.is_shared(pointer).then(|| (pointer, Some(Vec::new()))))
    }

    /// The storage class of what a pointer leads to.
    fn class(&self, pointer: Word) -> Option<StorageClass> {
        let ty = self.builder.definitions.get(&pointer).and_then(|inst| inst.result_type).or_else(|| {
            let all = self.function.blocks.iter().flat_map(|block| &block.instructions);
            { all }.find(|inst| inst.result_id == Some(pointer))?.result_type
        });
        match self.builder.definitions.get(&ty?)?.operands.first()? {
            Operand::StorageClass(class) => Some(*class),
            _ => None,
        }
    }

    /// What an instruction does to memory; notes what is known of its result.
    fn effect(
        &self,
        inst: &Instruction,
        known: &mut Known,
        active: &Rc<[bool]>,
        looped: bool,
    ) -> Option<Effect> {
        let op = inst.class.opcode;
        let id = |n: usize| inst.operands.get(n).and_then(Operand::id_ref_any);
        match op {
            Op::AccessChain | Op::InBoundsAccessChain => {
                let (base, result) = (id(0)?, inst.result_id?);
                if let Some((variable, path)) = self.place(known, base) {
                    let more: Option<Vec<Lanes>> = (1..inst.operands.len())
                        .map(|n| id(n).filter(|_| !looped).and_then(|id| self.number(known, id)))
                        .collect();
                    let path = path.zip(more).map(|(mut path, more)| {
                        path.extend(more);
                        path
                    });
                    known.pointers.insert(result, (variable, path));
                } else if self.ids.get(&base) == Some(&BuiltIn::LocalInvocationId) && inst.operands.len() == 2
                {
                    let component = id(1).and_then(|id| self.constant(id));
                    component.map(|component| known.components.insert(result, component));
                }
                None
            }
            Op::Load => {
                let (pointer, result) = (id(0)?, inst.result_id?);
                if let Some(place) = self.place(known, pointer) {
                    return Some(self.shared(place, false, active));
                }
                let builtin = self.ids.get(&pointer);
                if builtin == Some(&BuiltIn::LocalInvocationId) {
                    known.vectors.insert(result);
                } else if builtin == Some(&BuiltIn::LocalInvocationIndex) {
                    known.numbers.insert(result, self.own(0));
                } else if let Some(&component) = known.components.get(&pointer) {
                    known.numbers.insert(result, self.own(component));
                }
                match self.class(pointer) {
                    Some(
                        StorageClass::Private
                        | StorageClass::Function
                        | StorageClass::Input
                        | StorageClass::PushConstant,
                    ) => None,
                    Some(StorageClass::StorageBuffer | StorageClass::Uniform) if inst.operands.len() == 1 => {
                        Some(Effect::Read)
                    }
                    _ => Some(Effect::Wild),
                }
            }
            Op::Store => {
                let pointer = id(0)?;
                if let Some(place) = self.place(known, pointer) {
                    return Some(self.shared(place, true, active));
                }
                match self.class(pointer) {
                    Some(StorageClass::Private | StorageClass::Function) => None,
                    _ => Some(Effect::Wild),
                }
            }
            Op::CompositeExtract => {
                if let (Some(Operand::LiteralBit32(component)), true, Some(result)) = (
                    inst.operands.get(1),
                    id(0).is_some_and(|id| known.vectors.contains(&id)) && inst.operands.len() == 2,
                    inst.result_id,
                ) {
                    known.numbers.insert(result, self.own(*component));
                }
                if let (Some(Operand::LiteralBit32(component)), 2, Some(result)) =
                    (inst.operands.get(1), inst.operands.len(), inst.result_id)
                    && let Some(made) = id(0).and_then(|id| known.made.get(&id))
                    && let Some(Some(value)) = made.get(*component as usize).cloned()
                {
                    known.numbers.insert(result, value);
                }
                None
            }
            Op::CompositeConstruct => {
                let parts = inst.operands.iter().filter_map(Operand::id_ref_any);
                if parts.clone().any(|id| self.place(known, id).is_some()) {
                    return Some(Effect::Wild);
                }
                let is_vector = inst.result_type.and_then(|ty| self.builder.definitions.get(&ty));
                let is_vector = is_vector.is_some_and(|ty| {
                    ty.class.opcode == Op::TypeVector
                        && self.is_word(ty.operands.first().and_then(Operand::id_ref_any))
                        && ty.operands.get(1) == Some(&Operand::LiteralBit32(inst.operands.len() as u32))
                });
                if let (true, Some(result), false) = (is_vector, inst.result_id, looped) {
                    let parts = parts.map(|id| self.number(known, id).filter(|_| self.is_scalar(known, id)));
                    known.made.insert(result, parts.collect());
                }
                None
            }
            Op::CopyObject | Op::Bitcast => {
                let (from, result) = (id(0)?, inst.result_id?);
                if known.vectors.contains(&from) {
                    known.vectors.insert(result);
                }
                if let (Op::CopyObject, Some(made)) = (op, known.made.get(&from).cloned()) {
                    known.made.insert(result, made);
                }
                let fits = op == Op::CopyObject || self.is_word(inst.result_type);
                if let Some(value) = self.number(known, from).filter(|_| fits) {
                    known.numbers.insert(result, value);
                }
                if let Some(place) = self.place(known, from) {
                    known.pointers.insert(result, place);
                }
                None
            }
            // A barrier is none of what lies between barriers.
            Op::ControlBarrier => None,
            Op::Phi
            | Op::Variable
            | Op::Branch
            | Op::BranchConditional
            | Op::Switch
            | Op::SelectionMerge
            | Op::LoopMerge
            | Op::Return
            | Op::ArrayLength => {
                // A pointer that is one of several is not followed.
                let leads = inst.operands.iter().filter_map(Operand::id_ref_any);
                { leads }.any(|id| self.place(known, id).is_some()).then_some(Effect::Wild)
            }
            _ if opcodes::has(op, opcodes::PURE) => {
                let mut operands = inst.operands.iter().filter_map(Operand::id_ref_any);
                if operands.clone().any(|id| self.place(known, id).is_some()) {
                    return Some(Effect::Wild);
                }
                let all: Option<Vec<Lanes>> =
                    { &mut operands }.map(|id| self.number(known, id)).collect::<Option<_>>();
                let fits = self.is_word(inst.result_type) || self.is_truth(inst.result_type);
                if let (Some(all), true, false) = (all, fits, looped) {
                    let result = inst.result_id?;
                    let lanes: Option<Vec<u32>> = (0..self.local as usize)
                        .map(|lane| {
                            let numbers: Vec<u32> = all.iter().map(|one| one[lane]).collect();
                            evaluate(op, &numbers)
                        })
                        .collect();
                    lanes.map(|lanes| known.numbers.insert(result, lanes.into()));
                }
                None
            }
            _ => Some(Effect::Wild),
        }
    }

    fn shared(&self, place: (Word, Option<Vec<Lanes>>), writes: bool, active: &Rc<[bool]>) -> Effect {
        let (variable, element) = place;
        match element {
            Some(element) => Effect::Shared { variable, writes, element, active: active.clone() },
            None => Effect::Wild,
        }
    }

    /// A component of the local id.
    fn own(&self, component: u32) -> Lanes {
        (0..self.local).map(|lane| if component == 0 { lane } else { 0 }).collect()
    }

    /// Whether invocations of two sub-groups may touch the same by both, one of them writing.
    fn meet(&self, a: &Effect, b: &Effect) -> bool {
        match (a, b) {
            (Effect::Read, Effect::Read | Effect::Shared { .. }) | (Effect::Shared { .. }, Effect::Read) => {
                false
            }
            (Effect::Wild, _) | (_, Effect::Wild) => true,
            (
                Effect::Shared { variable: first, writes, element, active },
                Effect::Shared { variable: second, writes: also, element: other, active: come },
            ) => {
                if first != second || !writes && !also {
                    return false;
                }
                if element.len() != other.len() {
                    return true;
                }
                let size = if mutant!(SubgroupsAreLarger) { 2 * self.size } else { self.size };
                let at =
                    |path: &[Lanes], lane: usize| -> Vec<u32> { path.iter().map(|one| one[lane]).collect() };
                // The sub-group that touches an element, or several.
                let mut touched: AHashMap<Vec<u32>, Option<u32>> = AHashMap::new();
                for lane in (0..self.local as usize).filter(|&lane| active[lane]) {
                    let subgroup = lane as u32 / size;
                    touched
                        .entry(at(element, lane))
                        .and_modify(|one| *one = one.filter(|&one| one == subgroup))
                        .or_insert(Some(subgroup));
                }
                (0..self.local as usize).filter(|&lane| come[lane]).any(|lane| {
                    let one = touched.get(&at(other, lane));
                    one.is_some_and(|one| *one != Some(lane as u32 / size))
                })
            }
        }
    }
}
