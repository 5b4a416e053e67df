//! What is uniform among coarsened work-groups, or coarsened invocations of a work-group: how one invocation can do a function for all of them.
//!
//! The work-groups have the local id of the invocation in common, and the arguments. A branch whose condition is made of these
//! alone goes the same way for all of them, so what it leads to can be done for all of them together, barriers included. A branch
//! that the work-group decides, or what was loaded, may go one way for one and another for the next: the construct that it
//! begins is done for one work-group after another, and there must be no barrier in it.
//!
//! # Guarantees
//! - outside of the constructs that are apart, no branch depends on a value that varies
//! - control leaves a construct that is apart for its end alone, and no barrier lies in it
//!
//! # Refuses
//! - a barrier under a condition that varies: what one work-group has to wait for, another does not
//! - sub-group operations: which invocations take part is not followed
//! - atomic operations on buffers: a work-group may wait for another one by them
//! - memory that is reached by device addresses

mod components;
mod ends;
mod shared;
mod side;

use ahash::{AHashMap, AHashSet};
use rspirv::dr::Operand;
use rspirv::spirv::{BuiltIn, Decoration, Op, Scope, StorageClass};

use crate::ir::entity::{Construct, Func, Global, Inst, Place, Region, SecondaryMap, Value};
use crate::ir::{ConstructKind, Def, End, Function, Module, Node, Operation, Root, TypeKind};
use components::{ALL, Mask};
pub(crate) use ends::join_ends;
pub(crate) use shared::manners;
pub(crate) use side::loads_by_side;

/// Why work-groups, or invocations, are not coarsened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Alone {
    /// A barrier under a condition that is not the same in all work-groups.
    #[error("a barrier under a condition that is not the same in all work-groups")]
    Barrier,
    /// Sub-group operations.
    #[error("sub-group operations")]
    Subgroup,
    /// Atomic operations on buffers, by which work-groups may wait for each other.
    #[error("atomic operations on a buffer")]
    Atomic,
    /// Memory reached by device addresses.
    #[error("device addresses")]
    Addresses,
    /// Images, whose texels differ between work-groups as elements of buffers do.
    #[error("images")]
    Images,
    /// Variables of the invocation or the work-group that start with a value.
    #[error("variables that start with values")]
    Initialized,
    /// Control flow, or an instruction, that the intermediate representation has no form for.
    #[error("a module without a typed form")]
    Unsupported,
}

/// What is coarsened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Sides {
    /// Work-groups that may differ in all components of their ids.
    #[default]
    Groups,
    /// Work-groups that follow each other in this dimension.
    GroupsAlong(u8),
    /// Invocations of a work-group that follow each other in a row.
    Invocations,
}

/// What the variables of a module are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Globals {
    /// Variables with one copy per work-group, except for those in `common`.
    own: AHashSet<Global>,
    /// Those of them that are shared memory.
    shared: AHashSet<Global>,
    /// Shared memory that holds the same in all work-groups, and has one copy for all of them.
    pub(crate) common: AHashSet<Global>,
    /// Inputs that differ between work-groups, or are others in a dispatch of fewer.
    pub(crate) ids: AHashMap<Global, BuiltIn>,
    sides: Sides,
    /// Variables of buffers that nothing writes while the kernel runs, as far as that is known: a single member does not know it.
    pub(crate) frozen: AHashSet<Global>,
    /// Uniform buffers may be written: once, storage buffers were these with a decoration.
    uniforms_change: bool,
    initialized: bool,
    /// Something asks for sub-groups.
    subgroups: bool,
    addresses: bool,
    images: bool,
}

/// How a function is done.
#[derive(Clone, Debug)]
pub(crate) enum Manner {
    /// Jammed: instruction by instruction for all of them, except for some constructs. `varying` are the values that each work-group has its own of.
    Together { apart: Vec<Construct>, varying: SecondaryMap<Value, bool> },
    /// Serialized: all of it for one work-group after another; there is no barrier in it.
    InTurn,
}

impl Globals {
    pub(crate) fn of(module: &Module, sides: Sides) -> Self {
        let mut found = Self { sides, ..Self::default() };
        let of_invocations = sides == Sides::Invocations;
        for (_, data) in module.types.iter() {
            let buffer = Operand::Decoration(Decoration::BufferBlock);
            found.uniforms_change |= data.decorations.iter().any(|one| one.contains(&buffer));
            found.addresses |= matches!(
                data.kind,
                TypeKind::Pointer { class, .. } | TypeKind::Forward { class }
                    if class == StorageClass::PhysicalStorageBuffer
            );
        }
        for global in module.declared() {
            let data = &module.globals[global];
            match data.class {
                StorageClass::UniformConstant => found.images = true,
                StorageClass::Workgroup | StorageClass::Private => {
                    let is_private = data.class == StorageClass::Private;
                    if is_private || !of_invocations {
                        found.own.insert(global);
                    }
                    if is_private == of_invocations {
                        found.shared.insert(global);
                    }
                    found.initialized |= data.initializer.is_some();
                }
                StorageClass::Input => {
                    let Some([Operand::BuiltIn(builtin)]) = module.decoration(global, Decoration::BuiltIn)
                    else {
                        continue;
                    };
                    let differs = match builtin {
                        BuiltIn::GlobalInvocationId => true,
                        BuiltIn::WorkgroupId | BuiltIn::NumWorkgroups => !of_invocations,
                        BuiltIn::LocalInvocationId | BuiltIn::LocalInvocationIndex => of_invocations,
                        _ => false,
                    };
                    found.subgroups |= matches!(
                        builtin,
                        BuiltIn::SubgroupId
                            | BuiltIn::NumSubgroups
                            | BuiltIn::SubgroupSize
                            | BuiltIn::SubgroupLocalInvocationId
                    );
                    if differs {
                        found.ids.insert(global, *builtin);
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// Whether a variable has one copy per work-group.
    pub(crate) fn is_own(&self, global: Global) -> bool {
        self.own.contains(&global) && !self.common.contains(&global)
    }

    /// Whether another work-group, or invocation, may write to memory of a class.
    fn is_memory(&self, class: StorageClass) -> bool {
        match class {
            StorageClass::StorageBuffer => true,
            StorageClass::Uniform => self.uniforms_change,
            // What one invocation has stored there, another loads.
            StorageClass::Workgroup => self.sides == Sides::Invocations,
            _ => false,
        }
    }

    /// Which components of an id differ between work-groups.
    fn of_id(&self, builtin: BuiltIn) -> Mask {
        match self.sides {
            Sides::Groups | Sides::GroupsAlong(_) if mutant!(WorkGroupsAreOne) => 0,
            Sides::Groups => ALL,
            Sides::GroupsAlong(_) if builtin == BuiltIn::NumWorkgroups => 0,
            Sides::GroupsAlong(axis) if mutant!(AnotherSideIsWoven) => 1 << ((axis + 1) % 3),
            Sides::GroupsAlong(axis) => 1 << axis,
            Sides::Invocations if builtin == BuiltIn::LocalInvocationIndex => ALL,
            Sides::Invocations => 1,
        }
    }
}

/// Whether there is a barrier in a function, itself or in those of `calls` that it calls.
pub(crate) fn has_barrier(f: &Function, calls: &[Func]) -> bool {
    let mut found = false;
    f.visit(f.body, &mut |node| found |= is_barrier(f, node, calls));
    found
}

fn is_barrier(f: &Function, node: Node, calls: &[Func]) -> bool {
    let Node::Inst(inst) = node else { return false };
    match f.insts[inst].operation {
        Operation::Barrier { execution, .. } => execution.is_some(),
        Operation::Call { function, .. } => calls.contains(&function),
        _ => false,
    }
}

/// How a function can be done for several work-groups; `calls` are the functions in which there is a barrier.
pub(crate) fn manner(
    module: &Module,
    func: Func,
    globals: &Globals,
    calls: &[Func],
) -> Result<Manner, Alone> {
    let f = &module.functions[func];
    if globals.addresses {
        return Err(Alone::Addresses);
    }
    if globals.images {
        return Err(Alone::Images);
    }
    if globals.initialized {
        return Err(Alone::Initialized);
    }
    let of_invocations = globals.sides == Sides::Invocations;
    if of_invocations && globals.subgroups && !mutant!(SubgroupsStay) {
        return Err(Alone::Subgroup);
    }
    let class = |place: Place| module.types.pointer(f.places[place].pointer).map(|(class, _)| class);
    for data in f.insts.values() {
        match &data.operation {
            Operation::Other { op, .. } | Operation::Pure { op, .. } if is_subgroup(*op) => {
                return Err(Alone::Subgroup);
            }
            Operation::Barrier { execution: Some(scope), .. }
                if of_invocations && *scope != Scope::Workgroup =>
            {
                return Err(Alone::Subgroup);
            }
            Operation::Atomic { place, .. } => {
                // No other work-group sees what is there.
                let is_inside = matches!(
                    class(*place),
                    Some(StorageClass::Workgroup | StorageClass::Private | StorageClass::Function)
                );
                if !is_inside || of_invocations {
                    return Err(Alone::Atomic);
                }
            }
            _ => {}
        }
    }
    let mut flow =
        Flow { module, f, globals, masks: SecondaryMap::of(&f.values), apart: Vec::new(), is_done: false };
    // Each time round there is a construct more.
    for _ in 0..=f.constructs.len() {
        flow.follow();
        let Some(Parting { around }) = flow.parting(f.body, &mut Vec::new()) else {
            let mut varying = SecondaryMap::of(&f.values);
            f.values.keys().for_each(|value| varying[value] = flow.masks[value] != 0);
            return Ok(Manner::Together { apart: flow.apart, varying });
        };
        let Some(around) = around else { break };
        let (mut waits, mut inner) = (false, Vec::new());
        f.visit_construct(around, &mut |node| {
            waits |= is_barrier(f, node, calls);
            match node {
                Node::Construct(construct) => inner.push(construct),
                Node::Inst(_) => {}
            }
        });
        if waits && !mutant!(BarriersMayPart) {
            return Err(Alone::Barrier);
        }
        flow.apart.retain(|one| !inner.contains(one));
        flow.apart.push(around);
    }
    match has_barrier(f, calls) {
        true => Err(Alone::Barrier),
        false => Ok(Manner::InTurn),
    }
}

/// Whether an instruction is one of a sub-group: `OpGroup…`, `OpGroupNonUniform…` and those of the extensions, by their numbers.
fn is_subgroup(op: Op) -> bool {
    matches!(op as u32, 261..=272 | 333..=366 | 4421..=4432 | 5571..=5580 | 6401..=6408)
}

/// A branch on a value that varies.
struct Parting {
    /// The innermost construct that it begins, or lies in, and that control leaves for its end alone, if there is one.
    around: Option<Construct>,
}

struct Flow<'a> {
    module: &'a Module,
    f: &'a Function,
    globals: &'a Globals,
    /// What differs between work-groups.
    masks: SecondaryMap<Value, Mask>,
    apart: Vec<Construct>,
    is_done: bool,
}

impl Flow<'_> {
    /// Finds the values that may differ between work-groups.
    fn follow(&mut self) {
        self.masks = SecondaryMap::of(&self.f.values);
        while !std::mem::replace(&mut self.is_done, true) {
            self.region(self.f.body, None, false);
        }
        self.is_done = false;
    }

    fn grow(&mut self, value: Value, mask: Mask) {
        let known = self.masks[value];
        self.masks[value] = known | mask;
        self.is_done &= known | mask == known;
    }

    /// Follows a region of a construct; what is made `inside` of constructs that are apart differs.
    fn region(&mut self, region: Region, own: Option<Construct>, inside: bool) {
        let f = self.f;
        let data = &f.regions[region];
        for node in &data.nodes {
            match *node {
                Node::Inst(inst) => self.inst(inst, inside),
                Node::Construct(construct) => {
                    let data = &f.constructs[construct];
                    let is_apart = self.apart.contains(&construct);
                    let within = inside || is_apart;
                    for (args, to) in f.entered(construct) {
                        self.edge(args, to, within);
                    }
                    for region in data.kind.regions() {
                        self.region(region, Some(construct), within);
                    }
                    if inside || is_apart && !mutant!(WhatPartsIsCommon) {
                        data.results.iter().for_each(|&result| self.grow(result, ALL));
                    }
                }
            }
        }
        for (number, (args, to)) in f.carried(region, own).into_iter().enumerate() {
            // What a result is carried is looked at where the construct ends.
            let is_result = matches!(data.end, End::Exit { .. }) || number > 0;
            self.edge(args, to, inside && !is_result);
        }
    }

    fn edge(&mut self, args: &[Value], to: &[Value], inside: bool) {
        for (&arg, &to) in args.iter().zip(to) {
            let mask = if inside { ALL } else { self.of(arg) };
            self.grow(to, mask);
        }
    }

    fn inst(&mut self, inst: Inst, inside: bool) {
        let data = &self.f.insts[inst];
        if let Some(result) = data.result {
            let mask = if inside { ALL } else { self.of_operation(&data.operation, result) };
            self.grow(result, mask);
        }
    }

    /// What of a value differs.
    fn of(&self, value: Value) -> Mask {
        match self.f.values[value].def {
            Def::Const(_) => 0,
            Def::Address(place) => self.of_place(place),
            Def::Param(_) => ALL,
            _ => self.masks[value],
        }
    }

    /// What of the contents of a place differs because of where it is.
    fn of_place(&self, place: Place) -> Mask {
        let data = &self.f.places[place];
        let root = match data.root {
            Root::Global(global) if self.globals.is_own(global) => ALL,
            Root::Global(global) => {
                self.globals.ids.get(&global).map_or(0, |&builtin| self.globals.of_id(builtin))
            }
            Root::Local(_) => ALL,
            Root::Pointer(value) => self.of(value),
        };
        let all = data.path.iter().fold(root, |all, &index| all | self.of(index));
        match data.path.as_slice() {
            [] => root,
            [index] => {
                let constant = self.f.number(self.module, *index);
                constant.map_or(components::any(all), |index| components::component(root, index))
            }
            _ => components::any(all),
        }
    }

    fn of_operation(&self, operation: &Operation, result: Value) -> Mask {
        match operation {
            Operation::Load { place, access } => {
                // What is loaded may differ even where the place is one: by when it is loaded, if nothing else; but not of what nothing writes.
                let data = &self.f.places[*place];
                let is_frozen =
                    matches!(data.root, Root::Global(root) if self.globals.frozen.contains(&root));
                let is_frozen = is_frozen && access.is_plain();
                if is_frozen && mutant!(FrozenPlacesAreOne) {
                    return 0;
                }
                let class = self.module.types.pointer(data.pointer).map(|(class, _)| class);
                let is_memory = class.is_none_or(|class| self.globals.is_memory(class));
                if !is_frozen && is_memory && !mutant!(MemoryIsCommon) { ALL } else { self.of_place(*place) }
            }
            Operation::Atomic { .. } | Operation::Call { .. } => ALL,
            Operation::Length { place, .. } => components::any(self.of_place(*place)),
            Operation::Pure { op, args, literals } => {
                let count = |value: Value| match *self.module.types.kind(self.f.values[value].ty) {
                    TypeKind::Vector { count, .. } => Some(count),
                    _ => None,
                };
                components::of_result(*op, args, literals, count(result), |value| self.of(value), count)
            }
            _ => components::any(operation.values().fold(0, |all, value| all | self.of(value))),
        }
    }

    /// The first branch on a value that varies, and that is in no construct that is apart already.
    fn parting(&self, region: Region, around: &mut Vec<Construct>) -> Option<Parting> {
        let f = self.f;
        let closed = |around: &[Construct]| {
            Some(Parting { around: around.iter().rev().copied().find(|&one| f.always_ends(one)) })
        };
        for node in &f.regions[region].nodes {
            let Node::Construct(construct) = *node else { continue };
            if self.apart.contains(&construct) {
                continue;
            }
            around.push(construct);
            let kind = &f.constructs[construct].kind;
            match kind {
                ConstructKind::If { condition, control, .. } if self.of(*condition) != 0 => {
                    let outer = around.len() - usize::from(control.is_none());
                    return closed(&around[..outer]);
                }
                ConstructKind::Switch { selector, .. } if self.of(*selector) != 0 => return closed(around),
                _ => {}
            }
            for region in kind.regions() {
                if let Some(found) = self.parting(region, around) {
                    return Some(found);
                }
            }
            around.pop();
        }
        match &f.regions[region].end {
            End::Repeat { until: Some(until), .. } if self.of(until.condition) != 0 => closed(around),
            _ => None,
        }
    }
}
