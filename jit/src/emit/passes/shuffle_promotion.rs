//! Shared-memory promotion by shuffles: shared memory of a work-group that is one sub-group, in its registers.
//!
//! Invocation `l` of `S` keeps elements `l, l + S, l + 2 S, …` of a variable in registers. A load of an element that another invocation keeps is a
//! shuffle of the sub-group. So a tree over 256 words, by 32 invocations, is three steps in registers and five shuffles,
//! with the same sums of the same two operands as in shared memory. Where the lanes are several work-groups, `S` is the number of lanes of
//! each, and shuffles stay among them.
//!
//! # Requires
//! - a kernel whose work-groups are one full sub-group, or equal parts of its lanes, and whose local ids are made those of lanes afterwards
//!   ([`super::subgroup_ids`])
//!
//! # Guarantees
//! - each element has its one register; a load of it finds what was stored last before the last barrier, or by the invocation itself
//! - shuffles stand where control flow is uniform: where a barrier may stand
//! - floats that went through memory are hidden from the driver's compiler, as they were
//!
//! # Leaves alone
//! - variables with an access that is not followed, a store by another invocation than the one that keeps the element, or a load in a pattern that no
//!   shuffle has

mod accesses;
mod flow;
mod idle;

use std::rc::Rc;

use ahash::{AHashMap, AHashSet};
use rspirv::spirv::{BuiltIn, Capability, MemorySemantics, Op, Scope, StorageClass};

use super::slots::Slot;
use crate::emit::{JitError, hide};
use crate::ir::entity::{Func, Global, Inst, Place, Type, Value};
use crate::ir::{
    Access, Arg, Builder, ConstData, ConstKind, Def, Function, GlobalArg, GlobalData, Module, Node,
    Operation, Position, Root, TypeKind,
};
use crate::plan::recipe::{PushRange, Recipe};
use accesses::{SharedAccess, accesses};
use flow::Flow;
use idle::RegisterAccess;

/// Most registers that a variable takes of an invocation.
const MOST: u32 = 32;

/// Puts variables of shared memory into registers of sub-groups. Where several of them are to be in one work-group, control flow is uniform only where
/// it is uniform among all of these.
pub(in crate::emit) fn run(module: &mut Module, recipe: &Recipe) -> Result<(), JitError> {
    let entry = module.entry_points.first().map(|entry| entry.function);
    let is_coarsened = module.local_size() != Some(recipe.schedule.local_size());
    let lanes = recipe.schedule.full_subgroups().filter(|_| is_coarsened);
    let (Some(lanes), Some(entry)) = (lanes, entry) else { return Ok(()) };
    let size = lanes / recipe.schedule.groups_in_lanes();
    if has_layouts(module) {
        return Ok(());
    }
    let zero = recipe.zero.map(|slot| Slot::find(module, recipe, slot)).transpose()?;
    let is_packed = recipe.schedule.packing().is_some();
    let flows = Flow::of_all(module, entry, is_packed);
    let is_one = |range: &&PushRange| range.least == range.greatest || mutant!(PushedNumbersAreLeast);
    let pushed = recipe.push_ranges.iter().filter(is_one);
    let pushed = pushed.map(|range| Ok((Slot::find(module, recipe, range.slot)?, range.least)));
    let pushed: Vec<(Slot, u32)> = pushed.collect::<Result<_, JitError>>()?;
    let all: Vec<Vec<SharedAccess>> =
        flows.iter().map(|(func, _)| accesses(module, *func, size, &pushed)).collect();
    let mut kept: AHashMap<Global, Scalars> = AHashMap::new();
    for global in module.declared() {
        let is_own = |one: &&SharedAccess| one.variable == global;
        let using = all.iter().filter(|all| all.iter().any(|one| is_own(&one))).count();
        let Some(scalars) = scalars(module, global, size).filter(|_| using > 0) else { continue };
        let is_followed = flows.iter().zip(&all).all(|((func, flow), all)| {
            // All of it is set to zero before anything else: registers are zero.
            let once = using == 1 && is_called_once(&flows, *func, entry);
            all.iter().filter(is_own).all(|one| match how(one, size, scalars.depth) {
                Some(how) => how.from == From::Own || flow.place(one, all).is_some(),
                None => once && is_first_zero(module, flow.f, one, all),
            })
        });
        if is_followed {
            kept.insert(global, scalars);
        }
    }
    let edits = flows.iter().zip(&all).map(|((func, flow), all)| {
        let mut edits = edits(flow, all, &kept, size);
        // A function that is called may store as well.
        if flow.calls.is_empty() {
            let accesses = edits.iter().filter_map(Edit::register);
            let idle = idle::stores(module, flow.f, accesses, zero);
            edits.iter_mut().filter(|edit| idle.contains(&edit.inst)).for_each(|edit| edit.how = None);
        }
        (*func, edits)
    });
    let edits: Vec<(Func, Vec<Edit>)> = edits.collect();
    let all_stay = orders_more(module) && !mutant!(BarriersAreAlone);
    let mut kept: Vec<(Global, Scalars)> = kept.into_iter().collect();
    kept.sort_unstable_by_key(|one| one.0);
    let registers = kept.iter().map(|(global, scalars)| (*global, registers(module, scalars))).collect();
    for (func, edits) in edits {
        Writer { module, func, registers: &registers, size, is_part: size < lanes, zero }.write(edits);
        if !all_stay {
            drop_barriers(module, func);
        }
    }
    module.remove_globals(|global| registers.contains_key(&global));
    if !registers.is_empty() {
        module.capability(Capability::GroupNonUniform);
        module.capability(Capability::GroupNonUniformShuffle);
    }
    Ok(())
}

/// Whether variables of shared memory may lie over each other.
fn has_layouts(module: &Module) -> bool {
    let is_laid_out = |data: &GlobalData| data.class == StorageClass::Workgroup && data.decorations.is_some();
    module.declared().any(|global| is_laid_out(&module.globals[global]))
}

/// Whether a function is called once by the entry point, or is that.
fn is_called_once(flows: &[(Func, Flow<'_>)], func: Func, entry: Func) -> bool {
    let calls = flows.iter().flat_map(|(from, flow)| {
        let own = flow.calls.iter().filter(|call| call.0 == func);
        own.map(|&(_, _, in_loop)| *from == entry && !in_loop)
    });
    let calls: Vec<bool> = calls.collect();
    if func == entry { calls.is_empty() } else { calls == [true] }
}

/// Whether an access sets all of a variable to zero, before anything else is done to it.
fn is_first_zero(module: &Module, f: &Function, access: &SharedAccess, all: &[SharedAccess]) -> bool {
    let Some((inst, _)) = access.plain else { return false };
    let Operation::Store { value, .. } = f.insts[inst].operation else { return false };
    let is_null = f.as_const(value).is_some_and(|one| module.const_data(one).kind == ConstKind::Null);
    let first = all.iter().find(|other| other.variable == access.variable);
    is_null
        && access.element.as_ref().is_some_and(Vec::is_empty)
        && !access.in_loop
        && first.is_some_and(|first| std::ptr::eq(first, access))
}

/// What the elements of a variable are, how many indices each has, and how many registers they are in each invocation.
struct Scalars {
    scalar: Type,
    depth: usize,
    count: u32,
}

/// The elements of a variable, if these are words.
fn scalars(module: &Module, variable: Global, size: u32) -> Option<Scalars> {
    let data = &module.globals[variable];
    let (_, ty) = module.types.pointer(data.pointer).filter(|_| data.class == StorageClass::Workgroup)?;
    let (scalar, length, depth) = match *module.types.kind(ty) {
        TypeKind::Array { element, length } => (element, module.number(length)?, 1),
        _ => (ty, 1, 0),
    };
    let count = length.div_ceil(size);
    let is_word =
        matches!(module.types.kind(scalar), TypeKind::Int { width: 32, .. } | TypeKind::Float { width: 32 });
    (is_word && (1..=MOST).contains(&count)).then_some(Scalars { scalar, depth, count })
}

/// Declares the registers of a variable.
fn registers(module: &mut Module, scalars: &Scalars) -> Vec<Global> {
    let (ty, class) = (scalars.scalar, StorageClass::Private);
    let pointer = module.pointer(class, ty);
    // A shuffle takes part in all of them, with whatever is there.
    let null = module.constant(ConstData { ty, kind: ConstKind::Null, decorations: None });
    let data = GlobalData { pointer, class, initializer: Some(GlobalArg::Const(null)), decorations: None };
    (0..scalars.count).map(|_| module.global(data.clone())).collect()
}

/// Where an access finds its element.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum From {
    /// In the invocation's own register.
    Own,
    /// In that of this invocation.
    Lane(u32),
    /// In that of the invocation this many further on, around the end.
    Behind(u32),
    /// In that of the invocation with these bits flipped.
    Flipped(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct How {
    register: u32,
    from: From,
}

/// How an access is one to registers, if it is.
fn how(access: &SharedAccess, size: u32, depth: usize) -> Option<How> {
    access.plain?;
    let zero: Rc<[u32]> = vec![0; size as usize].into();
    let element = match (access.element.as_deref()?, depth) {
        ([], 0) => &zero,
        ([one], 1) => one,
        _ => return None,
    };
    let active = || (0..size).filter(|&lane| access.active[lane as usize]);
    let at = |lane: u32| element[lane as usize];
    let Some(first) = active().next() else { return Some(How { register: 0, from: From::Own }) };
    let register = at(first) / size;
    if active().any(|lane| at(lane) / size != register) && !mutant!(RegistersAreOne) {
        return None;
    }
    let all = |from: &dyn Fn(u32) -> u32| active().all(|lane| at(lane) % size == from(lane));
    let lane = at(first) % size;
    let (behind, flipped) = ((lane + size - first) % size, lane ^ first);
    let from = if all(&|lane| lane) || access.is_store() && mutant!(AnybodyStores) {
        From::Own
    } else if access.is_store() {
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

/// Where the value of another invocation's register is taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Taken {
    /// Where the function begins.
    Begin,
    /// In front of this node, for all loads behind it.
    Before(Position),
    /// In front of the load.
    Here,
}

/// What becomes of an access.
struct Edit {
    at: Position,
    inst: Inst,
    variable: Global,
    /// Nothing: it is a store of what is there.
    how: Option<(How, Taken)>,
}

impl Edit {
    /// The register that it accesses.
    fn register(&self) -> Option<RegisterAccess> {
        let (how, _) = self.how?;
        let (register, is_own) = ((self.variable, how.register), how.from == From::Own);
        Some(RegisterAccess { at: self.at, inst: self.inst, register, is_own })
    }
}

/// What becomes of the accesses of a function to variables that are kept in registers.
fn edits(flow: &Flow<'_>, all: &[SharedAccess], kept: &AHashMap<Global, Scalars>, size: u32) -> Vec<Edit> {
    let mut edits = Vec::new();
    for access in all {
        let (Some(scalars), Some((inst, _))) = (kept.get(&access.variable), access.plain) else { continue };
        // What the function does not store is what it was in the beginning.
        let is_stored = || all.iter().any(|one| one.is_store() && one.variable == access.variable);
        let taken = |how: How| match (how.from, flow.place(access, all)) {
            (From::Own, _) | (_, None) => Taken::Here,
            _ if flow.begins && flow.calls.is_empty() && !is_stored() => Taken::Begin,
            (_, Some(at)) if at == access.at => Taken::Here,
            (_, Some(at)) => Taken::Before(at),
        };
        let how = how(access, size, scalars.depth).map(|how| (how, taken(how)));
        edits.push(Edit { at: access.at, inst, variable: access.variable, how });
    }
    edits
}

struct Writer<'a> {
    module: &'a mut Module,
    func: Func,
    registers: &'a AHashMap<Global, Vec<Global>>,
    size: u32,
    /// The sub-group has lanes of other work-groups.
    is_part: bool,
    zero: Option<Slot>,
}

impl Writer<'_> {
    fn write(&mut self, edits: Vec<Edit>) {
        if edits.is_empty() {
            return;
        }
        let mut before: AHashMap<Position, Vec<Node>> = AHashMap::new();
        let mut begin: Vec<Node> = Vec::new();
        let mut gone: AHashSet<Position> = AHashSet::new();
        // What was taken from another invocation already.
        let mut known: AHashMap<(Taken, Global, How), Value> = AHashMap::new();
        let mut zero = None;
        for Edit { at, inst, variable, how } in edits {
            let Some((how, taken)) = how else {
                gone.insert(at);
                continue;
            };
            let registers = &self.registers[&variable];
            let register = Root::Global(registers[(how.register as usize).min(registers.len() - 1)]);
            let data = self.module.functions[self.func].insts[inst].clone();
            let operation = match (data.operation, data.result) {
                (Operation::Store { value, .. }, _) => {
                    let value = self.hidden(value, &mut zero, &mut begin, before.entry(at).or_default());
                    let place = self.code().place(register, &[]);
                    Operation::Store { place, value, access: Access::default() }
                }
                (_, Some(result)) if how.from != From::Own => {
                    let key = (taken, variable, how);
                    if let Some(&known) = known.get(&key) {
                        Operation::copy(known)
                    } else {
                        let (size, is_part) = (self.size, self.is_part && !mutant!(ShufflesCross));
                        let mut code = self.code();
                        let value = code.load(register, &[]);
                        let shuffle = shuffle(&mut code, value, how.from, (size, is_part));
                        let mut nodes = code.nodes;
                        if taken != Taken::Here {
                            known.insert(key, result);
                            gone.insert(at);
                            nodes.push(Node::Inst(inst));
                        }
                        match taken {
                            Taken::Begin => begin.extend(nodes),
                            Taken::Before(from) => before.entry(from).or_default().extend(nodes),
                            Taken::Here => before.entry(at).or_default().extend(nodes),
                        }
                        shuffle
                    }
                }
                _ => Operation::Load { place: self.code().place(register, &[]), access: Access::default() },
            };
            self.module.functions[self.func].insts[inst].operation = operation;
        }
        let f = &mut self.module.functions[self.func];
        for region in f.regions.keys() {
            let nodes = std::mem::take(&mut f.regions[region].nodes);
            let mut code = Vec::with_capacity(nodes.len());
            for (number, node) in nodes.into_iter().enumerate() {
                code.extend(before.remove(&(region, number)).into_iter().flatten());
                code.extend(Some(node).filter(|_| !gone.contains(&(region, number))));
            }
            f.regions[region].nodes = code;
        }
        f.regions[f.body].nodes.splice(0..0, begin);
    }

    fn code(&mut self) -> Builder<'_> {
        Builder::new(self.module, self.func)
    }

    /// A value behind a sum with the zero, which `begin` loads, if there is one and the value is a float.
    fn hidden(
        &mut self,
        value: Value,
        zero: &mut Option<Value>,
        begin: &mut Vec<Node>,
        nodes: &mut Vec<Node>,
    ) -> Value {
        let ty = self.module.functions[self.func].values[value].ty;
        let is_float = matches!(self.module.types.kind(ty), TypeKind::Float { .. });
        let Some(slot) = self.zero.filter(|_| is_float) else { return value };
        let zero = *zero.get_or_insert_with(|| {
            let mut code = self.code();
            let zero = slot.load(&mut code);
            begin.append(&mut code.nodes);
            zero
        });
        let mut code = self.code();
        let word = code.module.u32();
        let bits = code.cast(value, word);
        let hidden = code.pure(hide::combination(), word, &[bits, zero], &[]);
        let hidden = code.cast(hidden, ty);
        nodes.append(&mut code.nodes);
        hidden
    }
}

/// A shuffle: takes the value of a register of another invocation, of the `size` lanes that are a work-group; `is_part`: the sub-group has
/// others.
fn shuffle(code: &mut Builder<'_>, value: Value, from: From, (size, is_part): (u32, bool)) -> Operation {
    let number = code.module.u32();
    let own = |code: &mut Builder<'_>| code.input(BuiltIn::SubgroupLocalInvocationId, number);
    let lane = match from {
        From::Own | From::Behind(0) => own(code),
        From::Lane(lane) => {
            let lane = code.word(lane);
            of_part(code, lane, size, is_part)
        }
        From::Behind(count) => {
            let own = own(code);
            let (count, mask) = (code.word(count), code.word(size - 1));
            let sum = code.pure(Op::IAdd, number, &[own, count], &[]);
            let lane = code.pure(Op::BitwiseAnd, number, &[sum, mask], &[]);
            of_part(code, lane, size, is_part)
        }
        From::Flipped(bits) => {
            let own = own(code);
            let bits = code.word(bits);
            code.pure(Op::BitwiseXor, number, &[own, bits], &[])
        }
    };
    let scope = code.word(Scope::Subgroup as u32);
    let operands = vec![Arg::Scope(scope), Arg::Value(value), Arg::Value(lane)];
    Operation::Other { op: Op::GroupNonUniformShuffle, operands }
}

/// The lane of the sub-group that is a lane of the invocation's own work-group.
fn of_part(code: &mut Builder<'_>, lane: Value, size: u32, is_part: bool) -> Value {
    if !is_part {
        return lane;
    }
    let number = code.module.u32();
    let own = code.input(BuiltIn::SubgroupLocalInvocationId, number);
    let mask = code.word(!(size - 1));
    let first = code.pure(Op::BitwiseAnd, number, &[own, mask], &[]);
    code.pure(Op::BitwiseOr, number, &[first, lane], &[])
}

/// Whether these semantics are about shared memory alone.
fn is_plain(semantics: MemorySemantics) -> bool {
    let only = MemorySemantics::ACQUIRE
        | MemorySemantics::RELEASE
        | MemorySemantics::ACQUIRE_RELEASE
        | MemorySemantics::WORKGROUP_MEMORY;
    only.contains(semantics)
}

/// Whether something beside a barrier may need it to order other memory: a memory barrier before it says which, and atomics have
/// an order of their own, which barriers decide.
fn orders_more(module: &Module) -> bool {
    let all = module.defined.iter().flat_map(|&func| module.functions[func].insts.values());
    all.into_iter().any(|inst| match inst.operation {
        Operation::Barrier { execution: None, semantics, .. } => !is_plain(semantics),
        Operation::Atomic { .. } => true,
        _ => false,
    })
}

/// Removes barriers that order only shared memory, where no shared memory is accessed between the barrier before and this one.
fn drop_barriers(module: &mut Module, func: Func) {
    let flow = Flow::of(module, func, false, false);
    let (f, barriers) = (flow.f, &flow.barriers);
    // Each is in no loop, and on every way to the next.
    let is_line = barriers.iter().all(|one| !one.2)
        && barriers.windows(2).all(|pair| flow.is_inside(pair[0].0, pair[1].0));
    if !flow.calls.is_empty() || !is_line {
        return;
    }
    let is_shared = |place: Place| {
        let class = module.types.pointer(f.places[place].pointer).map(|(class, _)| class);
        class == Some(StorageClass::Workgroup)
    };
    let is_busy = |inst: &Inst| {
        let operation = &f.insts[*inst].operation;
        let addresses = operation.values().filter_map(|value| match f.values[value].def {
            Def::Address(place) => Some(place),
            _ => None,
        });
        operation.place().into_iter().chain(addresses).any(is_shared)
    };
    let mut gone: AHashSet<Node> = AHashSet::new();
    // The first one stays: what came before this function is not looked at.
    let Some(mut last) = barriers.first().map(|one| one.0) else { return };
    for &(at, inst, _) in barriers.iter().skip(1) {
        let idle = !flow.between(last, at).iter().any(is_busy) || mutant!(BarriersAreIdle);
        match f.insts[inst].operation {
            Operation::Barrier { semantics, .. } if idle && is_plain(semantics) => {
                gone.insert(Node::Inst(inst));
            }
            _ => last = at,
        }
    }
    for data in module.functions[func].regions.values_mut() {
        data.nodes.retain(|node| !gone.contains(node));
    }
}
