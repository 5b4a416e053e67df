//! Shared memory of a work-group that is one sub-group, in its registers.
//!
//! Invocation `l` of `S` keeps elements `l, l + S, l + 2 S, …` of a variable to itself. A load of an element that another one keeps takes it from that one's
//! register: a shuffle of the sub-group. So a tree over 256 words, by 32 invocations, has its first three steps in registers and five shuffles,
//! with the same sums of the same two operands as in shared memory.
//!
//! # Requires
//! - a finished kernel whose work-groups are one full sub-group of `S`, and whose local ids are made those of lanes afterwards ([`super::passes::subgroup_ids`])
//!
//! # Guarantees
//! - each element has its one register; whoever loads it finds what was stored last before the last barrier, or by itself
//! - shuffles stand where all invocations come together: where a barrier may stand
//! - floats that went through memory are hidden from the driver's compiler, as they were
//!
//! # Leaves alone
//! - variables of which some access is not followed, is stored by another invocation than keeps it, or is loaded by a pattern that no shuffle has

mod flow;
mod touches;

use std::rc::Rc;

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Operand};
use rspirv::spirv::{BuiltIn, Capability, MemorySemantics, Op, Scope, StorageClass, Word};

use super::JitError;
use super::builder::{Builder, Code};
use super::emission::Emission;
use super::hide;
use super::link::Shared;
use crate::analysis::cfg::Cfg;
use flow::{Flow, together};
use touches::{Access, Touch, has_layouts, touches};

/// Most registers that a variable takes of an invocation.
const MOST: u32 = 32;

/// Puts variables of shared memory into registers of sub-groups. Where several of them are to be in one work-group, they are together only where
/// all of these are.
pub(super) fn run(emission: &mut Emission<'_>) -> Result<(), JitError> {
    let (entry, recipe) = (emission.entry()?, emission.recipe);
    let shared = &mut emission.shared;
    let Some(size) = recipe.schedule.full_subgroups().filter(|_| emission.narrowed) else { return Ok(()) };
    if has_layouts(&shared.builder) {
        return Ok(());
    }
    let (is_packed, zero) = (recipe.schedule.packing().is_some(), recipe.zero);
    let mut ids: AHashMap<Word, BuiltIn> = AHashMap::new();
    for builtin in [BuiltIn::LocalInvocationId, BuiltIn::LocalInvocationIndex] {
        shared.inputs.get(builtin).map(|(variable, _)| ids.insert(variable, builtin));
    }
    let mut functions = std::mem::take(&mut shared.builder.module.functions);
    let called = together(&shared.builder, &functions, entry, is_packed);
    let touches: Vec<Vec<Touch>> =
        functions.iter().map(|function| touches(&shared.builder, &ids, size, function)).collect();
    let flows: Vec<Flow> =
        functions.iter().map(|function| Flow::of(&shared.builder, function, &called, is_packed)).collect();
    let mut kept: AHashMap<Word, Kept> = AHashMap::new();
    let variables: AHashSet<Word> = touches.iter().flatten().map(|touch| touch.variable).collect();
    let mut variables: Vec<Word> = variables.into_iter().collect();
    variables.sort_unstable();
    for variable in variables {
        let Some(scalars) = scalars(&shared.builder, variable, size) else { continue };
        let of = |touches: &[Touch]| touches.iter().filter(|touch| touch.variable == variable).count();
        // All of it is set to zero before anything else: registers are zero.
        let single = touches.iter().filter(|touches| of(touches) > 0).count() == 1;
        let fits = functions.iter().zip(&touches).zip(&flows).all(|((function, touches), flow)| {
            let once = single && is_called_once(&functions, function, entry);
            let mut own = touches.iter().filter(|touch| touch.variable == variable);
            own.all(|touch| match how(touch, size, scalars.depth) {
                Some(how) => how.is_own() || flow.place(function, touch, touches.iter()).is_some(),
                None => once && is_first_zero(&shared.builder, function, &flow.cfg, touch, touches),
            })
        });
        if fits {
            kept.insert(variable, Kept::new(&mut shared.builder, scalars));
        }
    }
    let all_stay = orders_more(&shared.builder, &functions) && !mutant!(BarriersAreAlone);
    for ((function, touches), flow) in functions.iter_mut().zip(&touches).zip(&flows) {
        let mine = touches.iter().filter(|touch| kept.contains_key(&touch.variable)).collect();
        Writer { shared: &mut *shared, kept: &kept, size, zero }.function(function, mine, flow);
        drop_pointers(function, &kept);
        let left = touches.iter().filter(|touch| !kept.contains_key(&touch.variable));
        if !all_stay {
            drop_barriers(&shared.builder, function, left);
        }
    }
    let builder = &mut shared.builder;
    builder.module.functions = functions;
    builder.module.types_global_values.retain(|inst| inst.result_id.is_none_or(|id| !kept.contains_key(&id)));
    if !kept.is_empty() {
        builder.capability(Capability::GroupNonUniform);
        builder.capability(Capability::GroupNonUniformShuffle);
    }
    Ok(())
}

/// A variable in registers.
struct Kept {
    scalar: Word,
    /// Indices of an element.
    depth: usize,
    registers: Vec<Word>,
}

/// What the variable is made of, how many indices an element has, and how many registers that is.
struct Scalars {
    scalar: Word,
    depth: usize,
    count: u32,
}

/// Whether a function is called once by the entry point, or is that.
fn is_called_once(functions: &[Function], function: &Function, entry: Word) -> bool {
    let id = function.def_id();
    let calls = |inst: &&Instruction| {
        inst.class.opcode == Op::FunctionCall && inst.operands.first().and_then(Operand::id_ref_any) == id
    };
    let mut places = Vec::new();
    for from in functions {
        let cfg = Cfg::new(from);
        for (number, block) in from.blocks.iter().enumerate() {
            let once = from.def_id() == Some(entry) && cfg.loop_depth(number) == 0;
            places.extend(block.instructions.iter().filter(calls).map(|_| once));
        }
    }
    if id == Some(entry) { places.is_empty() } else { places == [true] }
}

/// Whether an access sets all of a variable to zero, before anything else is done to it.
fn is_first_zero(builder: &Builder, function: &Function, cfg: &Cfg, touch: &Touch, all: &[Touch]) -> bool {
    let (block, position) = touch.at;
    let value = function.blocks[block].instructions[position].operands.get(1).and_then(Operand::id_ref_any);
    let value = value.and_then(|id| builder.definitions.get(&id));
    let is_null = value.is_some_and(|inst| inst.class.opcode == Op::ConstantNull);
    let whole = touch.element.as_ref().is_some_and(Vec::is_empty);
    if !is_null || !whole || touch.plain != Some(Access::Store) || cfg.loop_depth(block) > 0 {
        return false;
    }
    // Nothing that leads here touches it.
    let mut open = vec![block];
    let mut before: AHashSet<usize> = AHashSet::new();
    while let Some(one) = open.pop() {
        open.extend(cfg.predecessors[one].iter().copied().filter(|&from| before.insert(from)));
    }
    !all.iter().any(|other| {
        other.variable == touch.variable
            && (before.contains(&other.at.0) || other.at.0 == block && other.at.1 < position)
    })
}

/// Which elements a variable has, if these are words.
fn scalars(builder: &Builder, variable: Word, size: u32) -> Option<Scalars> {
    let pointee = |ty: Word| builder.definitions.get(&ty)?.operands.get(1)?.id_ref_any();
    let ty = pointee(builder.definitions.get(&variable)?.result_type?)?;
    let inst = builder.definitions.get(&ty)?;
    let (scalar, length, depth) = match (inst.class.opcode, inst.operands.as_slice()) {
        (Op::TypeArray, [Operand::IdRef(scalar), Operand::IdRef(length)]) => {
            match builder.definitions.get(length)?.operands.first()? {
                Operand::LiteralBit32(length) => (*scalar, *length, 1),
                _ => return None,
            }
        }
        _ => (ty, 1, 0),
    };
    let inst = builder.definitions.get(&scalar)?;
    let is_word = matches!(inst.class.opcode, Op::TypeInt | Op::TypeFloat)
        && inst.operands.first() == Some(&Operand::LiteralBit32(32));
    let count = length.div_ceil(size);
    (is_word && (1..=MOST).contains(&count)).then_some(Scalars { scalar, depth, count })
}

impl Kept {
    fn new(builder: &mut Builder, Scalars { scalar, depth, count }: Scalars) -> Self {
        let pointer = builder.pointer(StorageClass::Private, scalar);
        // Registers that nobody asks for go around in a shuffle as well.
        let null = builder.global(Op::ConstantNull, Some(scalar), Vec::new(), Vec::new());
        let registers =
            (0..count).map(|_| builder.variable(StorageClass::Private, pointer, Some(null))).collect();
        Self { scalar, depth, registers }
    }
}

/// Where an access finds its element.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum From {
    /// In the invocation's own register.
    Own,
    /// In that of this invocation.
    Lane(u32),
    /// So many invocations further on, around the end.
    Behind(u32),
    /// At the number with these bits flipped.
    Flipped(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct How {
    register: u32,
    from: From,
}

impl How {
    fn is_own(self) -> bool {
        self.from == From::Own
    }
}

/// How an access is one to registers, if it is.
fn how(touch: &Touch, size: u32, depth: usize) -> Option<How> {
    let what = touch.plain?;
    let element = touch.element.as_ref()?;
    let zero: Rc<[u32]> = vec![0; size as usize].into();
    let element = match (element.as_slice(), depth) {
        ([], 0) => &zero,
        ([one], 1) => one,
        _ => return None,
    };
    let active = || (0..size).filter(|&lane| touch.active[lane as usize]);
    let at = |lane: u32| element[lane as usize];
    let Some(first) = active().next() else { return Some(How { register: 0, from: From::Own }) };
    let register = at(first) / size;
    if active().any(|lane| at(lane) / size != register) && !mutant!(RegistersAreOne) {
        return None;
    }
    let all = |from: &dyn Fn(u32) -> u32| active().all(|lane| at(lane) % size == from(lane));
    let lane = at(first) % size;
    let (behind, flipped) = ((lane + size - first) % size, lane ^ first);
    let from = if all(&|lane| lane) || what == Access::Store && mutant!(AnybodyStores) {
        From::Own
    } else if what == Access::Store {
        return None;
    } else if all(&|_| lane) {
        From::Lane(lane)
    } else if all(&|lane| (lane + behind) % size) {
        From::Behind(behind)
    } else if all(&|lane| lane ^ flipped) {
        From::Flipped(flipped)
    } else {
        return None;
    };
    Some(How { register, from })
}

/// Where the value of another invocation's register is taken for several loads.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Taken {
    /// Where the function begins.
    Begin,
    /// At the end of this block.
    End(usize),
}

struct Writer<'a> {
    shared: &'a mut Shared,
    kept: &'a AHashMap<Word, Kept>,
    size: u32,
    zero: Option<u16>,
}

impl Writer<'_> {
    fn function(&mut self, function: &mut Function, touches: Vec<&Touch>, flow: &Flow) {
        let stored: AHashSet<Word> = touches
            .iter()
            .filter(|touch| touch.plain == Some(Access::Store))
            .map(|touch| touch.variable)
            .collect();
        let calls = function.all_inst_iter().any(|inst| inst.class.opcode == Op::FunctionCall);
        // What is put where: in front of an instruction, or at the end of a block.
        let mut before: AHashMap<(usize, usize), Code> = AHashMap::new();
        let mut behind: AHashMap<usize, Code> = AHashMap::new();
        let mut begin = Code::default();
        let mut instead: AHashMap<(usize, usize), Option<Instruction>> = AHashMap::new();
        // What was taken from another invocation already, since nobody has stored or waited.
        let mut taken: AHashMap<(Taken, Word, How), Word> = AHashMap::new();
        let mut zero = None;
        for &touch in &touches {
            let (block, position) = touch.at;
            let kept = &self.kept[&touch.variable];
            let Some(how) = how(touch, self.size, kept.depth) else {
                // It is zero.
                instead.insert(touch.at, None);
                continue;
            };
            let (register, scalar) = {
                let last = kept.registers.len() - 1;
                (kept.registers[(how.register as usize).min(last)], kept.scalar)
            };
            let inst = &function.blocks[block].instructions[position];
            if touch.plain == Some(Access::Store) {
                let value = inst.operands[1].id_ref_any().unwrap_or(0);
                let code = before.entry(touch.at).or_default();
                let value = self.hidden(code, &mut begin, &mut zero, (value, scalar));
                let operands = vec![Operand::IdRef(register), Operand::IdRef(value)];
                instead.insert(touch.at, Some(Instruction::new(Op::Store, None, None, operands)));
                continue;
            }
            let Some(result) = inst.result_id else { continue };
            if how.is_own() {
                let operands = vec![Operand::IdRef(register)];
                instead
                    .insert(touch.at, Some(Instruction::new(Op::Load, Some(scalar), Some(result), operands)));
                continue;
            }
            let Some((from, at)) = flow.place(function, touch, touches.iter().copied()) else { continue };
            // What no one stores here is what it was in the beginning.
            let unchanged = flow.begins && !calls && !stored.contains(&touch.variable);
            let key = match (unchanged, at) {
                (true, _) => Some((Taken::Begin, touch.variable, how)),
                (false, None) => Some((Taken::End(from), touch.variable, how)),
                (false, Some(_)) => None,
            };
            if let Some(known) = key.and_then(|key| taken.get(&key)) {
                let operands = vec![Operand::IdRef(*known)];
                instead.insert(
                    touch.at,
                    Some(Instruction::new(Op::CopyObject, Some(scalar), Some(result), operands)),
                );
                continue;
            }
            let code = match (unchanged, at) {
                (true, _) => &mut begin,
                (false, None) => behind.entry(from).or_default(),
                (false, Some(at)) => before.entry((from, at)).or_default(),
            };
            self.shuffle(code, (register, scalar), how.from, result);
            key.map(|key| taken.insert(key, result));
            instead.insert(touch.at, None);
        }
        for (number, block) in function.blocks.iter_mut().enumerate() {
            let count = block.instructions.len();
            let ends = block.instructions.iter().rev().take(2);
            let merge = |inst: &&Instruction| matches!(inst.class.opcode, Op::SelectionMerge | Op::LoopMerge);
            let end = count - 1 - ends.filter(merge).count().min(1);
            let variables =
                block.instructions.iter().take_while(|inst| inst.class.opcode == Op::Variable).count();
            let mut code = Vec::with_capacity(count);
            for (position, inst) in block.instructions.drain(..).enumerate() {
                if number == 0 && position == variables {
                    code.append(&mut begin.0);
                }
                if position == end {
                    behind.remove(&number).into_iter().for_each(|more| code.extend(more.0));
                }
                before.remove(&(number, position)).into_iter().for_each(|more| code.extend(more.0));
                match instead.remove(&(number, position)) {
                    Some(other) => code.extend(other),
                    None => code.push(inst),
                }
            }
            block.instructions = code;
        }
    }

    /// A value behind a sum with the zero, if there is one and the value is a float.
    fn hidden(
        &mut self,
        code: &mut Code,
        begin: &mut Code,
        zero: &mut Option<Word>,
        (value, ty): (Word, Word),
    ) -> Word {
        let Shared { builder, push, .. } = &mut *self.shared;
        let Some(slot) = self.zero.filter(|_| hide::holds_floats(builder, ty)) else { return value };
        let zero = *zero.get_or_insert_with(|| push.load_u32(builder, begin, slot));
        let hidden = builder.fresh();
        hide::hide(builder, code, zero, (value, ty), hidden);
        hidden
    }

    /// Takes the value of a register of another invocation.
    fn shuffle(&mut self, code: &mut Code, (register, ty): (Word, Word), from: From, result: Word) {
        let Shared { builder, inputs, .. } = &mut *self.shared;
        let value = code.value(builder, Op::Load, ty, vec![Operand::IdRef(register)]);
        let number = builder.u32();
        let mut lane = |builder: &mut Builder, code: &mut Code| {
            let lane = inputs.variable(builder, BuiltIn::SubgroupLocalInvocationId, number);
            code.value(builder, Op::Load, number, vec![Operand::IdRef(lane)])
        };
        let from = match from {
            From::Own | From::Behind(0) => lane(builder, code),
            From::Lane(number) => builder.constant(number),
            From::Behind(count) => {
                let (own, count) = (lane(builder, code), builder.constant(count));
                let sum = code.math(builder, Op::IAdd, own, count);
                let mask = builder.constant(self.size - 1);
                code.math(builder, Op::BitwiseAnd, sum, mask)
            }
            From::Flipped(bits) => {
                let (own, bits) = (lane(builder, code), builder.constant(bits));
                code.math(builder, Op::BitwiseXor, own, bits)
            }
        };
        let scope = builder.constant(Scope::Subgroup as u32);
        let operands = vec![Operand::IdScope(scope), Operand::IdRef(value), Operand::IdRef(from)];
        code.0.push(Instruction::new(Op::GroupNonUniformShuffle, Some(ty), Some(result), operands));
    }
}

/// Takes out pointers into variables that are in registers: nobody follows them any more.
fn drop_pointers(function: &mut Function, kept: &AHashMap<Word, Kept>) {
    let mut gone: AHashSet<Word> = kept.keys().copied().collect();
    for block in &mut function.blocks {
        block.instructions.retain(|inst| {
            let chain =
                matches!(inst.class.opcode, Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject);
            let base = inst.operands.first().and_then(Operand::id_ref_any);
            let leads = chain && base.is_some_and(|base| gone.contains(&base));
            gone.extend(inst.result_id.filter(|_| leads));
            !leads
        });
    }
}

/// Whether these semantics are about shared memory alone.
fn is_plain(builder: &Builder, semantics: Option<&Operand>) -> bool {
    let only = MemorySemantics::ACQUIRE
        | MemorySemantics::RELEASE
        | MemorySemantics::ACQUIRE_RELEASE
        | MemorySemantics::WORKGROUP_MEMORY;
    let semantics = semantics.and_then(Operand::id_ref_any);
    let bits = semantics.and_then(|id| builder.definitions.get(&id)).and_then(|inst| inst.operands.first());
    matches!(bits, Some(&Operand::LiteralBit32(bits)) if bits & !only.bits() == 0)
}

/// Whether something beside a barrier may need it to order other memory: a memory barrier before it says which, and atomics have
/// an order of their own, which barriers decide.
fn orders_more(builder: &Builder, functions: &[Function]) -> bool {
    functions.iter().flat_map(Function::all_inst_iter).any(|inst| match inst.class.opcode {
        Op::MemoryBarrier => !is_plain(builder, inst.operands.get(1)),
        _ => inst.class.opname.starts_with("Atomic"),
    })
}

/// Takes out barriers that order nothing but shared memory, of which nothing is touched since the one before; `left` is what is still in it.
fn drop_barriers<'a>(builder: &Builder, function: &mut Function, left: impl Iterator<Item = &'a Touch>) {
    let busy: AHashSet<usize> = left.map(|touch| touch.at.0).collect();
    let is_plain = |inst: &Instruction| is_plain(builder, inst.operands.get(2));
    let waits = |inst: &Instruction| inst.class.opcode == Op::ControlBarrier;
    let cfg = Cfg::new(function);
    let calls = function.all_inst_iter().any(|inst| inst.class.opcode == Op::FunctionCall);
    let all: Vec<usize> =
        (0..function.blocks.len()).filter(|&n| function.blocks[n].instructions.iter().any(waits)).collect();
    // One for each block, in no loop, and each on every way to the next.
    let is_line = all.windows(2).all(|pair| cfg.dominates(pair[0], pair[1]))
        && all.iter().all(|&n| {
            cfg.loop_depth(n) == 0
                && function.blocks[n].instructions.iter().filter(|inst| waits(inst)).count() == 1
        });
    if calls || !is_line {
        return;
    }
    // The first one stays: what came before this function is not looked at.
    let mut last = all.first().copied();
    for &block in all.iter().skip(1) {
        let Some(before) = last else { break };
        // Blocks on a way from the one to the other, both included.
        let mut open = vec![block];
        let mut between: AHashSet<usize> = AHashSet::from_iter([block, before]);
        while let Some(one) = open.pop() {
            for &from in cfg.predecessors[one].iter().filter(|_| one != before) {
                if between.insert(from) {
                    open.push(from);
                }
            }
        }
        let idle = !between.iter().any(|one| busy.contains(one)) || mutant!(BarriersAreIdle);
        let instructions = &mut function.blocks[block].instructions;
        if idle && instructions.iter().filter(|inst| waits(inst)).all(is_plain) {
            instructions.retain(|inst| !waits(inst));
        } else {
            last = Some(block);
        }
    }
}
