//! Splits variables of structures and arrays into variables of their parts (scalar replacement of aggregates).
//!
//! # Guarantees
//! - a structure or array that is only loaded and stored as a whole, or accessed at constant first indices, is a variable for each part; parts
//!   are split in turn
//!
//! # Leaves alone
//! - variables indexed at run time, or of more than 64 parts; volatile accesses; addresses that are taken

use rspirv::dr::Operand;
use rspirv::spirv::{Decoration, Op, StorageClass};
use smallvec::SmallVec;

use super::private::addresses_taken;
use crate::ir::entity::{Const, DecorationSet, Local, Place, Region, SecondaryMap, Type, Value};
use crate::ir::{
    Access, ConstData, ConstKind, Function, LocalData, Module, Node, Operation, PlaceData, Root, TypeKind,
};

/// Larger arrays are rarely worth a value for each element.
const MAX_PARTS: u32 = 64;

/// A variable that is split.
#[derive(Clone)]
struct Split {
    ty: Type,
    /// Variables of the parts, and their types.
    parts: Vec<(Local, Type)>,
}

/// Splits until nothing is left to split.
pub(super) fn run(module: &mut Module, f: &mut Function) {
    loop {
        let splits = find(module, f);
        if f.locals.keys().all(|local| splits[local].is_none()) {
            return;
        }
        for place in f.places.keys() {
            let data = f.places[place].clone();
            if let Root::Local(local) = data.root
                && let Some(split) = &splits[local]
                && let Some(&(part, _)) =
                    part(module, f, &data, split.parts.len()).and_then(|number| split.parts.get(number))
            {
                let path = SmallVec::from_slice(&data.path[1..]);
                f.places[place] = PlaceData { root: Root::Local(part), path, ..data };
            }
        }
        for region in f.regions_in(f.body) {
            rewrite(f, region, &splits);
        }
        f.variables.retain(|&local| splits[local].is_none());
    }
}

/// The part that a place lies in.
fn part(module: &Module, f: &Function, data: &PlaceData, count: usize) -> Option<usize> {
    let constant = f.as_const(*data.path.first()?)?;
    let index = usize::try_from(index(module, constant)?).ok()?;
    (index < count).then_some(index)
}

/// The number that an index is, also of other widths.
pub(super) fn index(module: &Module, constant: Const) -> Option<u64> {
    let data = module.const_data(constant);
    match (&data.kind, module.types.kind(data.ty)) {
        (ConstKind::Null, TypeKind::Int { .. }) => Some(0),
        (ConstKind::Bits(bits), TypeKind::Int { .. }) => {
            let high = bits.get(1).copied().unwrap_or_default();
            Some(u64::from(bits[0]) | u64::from(high) << 32)
        }
        _ => None,
    }
}

/// Of the decorations of a variable, the one that its values have too.
pub(super) fn precision(module: &mut Module, decorations: Option<DecorationSet>) -> Option<DecorationSet> {
    let relaxed = vec![Operand::Decoration(Decoration::RelaxedPrecision)];
    let is_relaxed = module.decoration_list(decorations).contains(&relaxed);
    if is_relaxed { module.decorations(vec![relaxed]) } else { None }
}

/// The types of the parts of a structure or an array.
fn parts(module: &Module, ty: Type) -> Option<Vec<Type>> {
    match module.types.kind(ty) {
        TypeKind::Struct { members } if members.len() <= MAX_PARTS as usize => Some(members.clone()),
        TypeKind::Array { element, length } => {
            let length = module.number(*length).filter(|&length| length <= MAX_PARTS)?;
            Some(vec![*element; length as usize])
        }
        _ => None,
    }
}

/// What the parts of a variable begin with.
fn starts(module: &mut Module, constant: Const, parts: &[Type]) -> Option<Vec<Const>> {
    let data = module.const_data(constant).clone();
    match data.kind {
        ConstKind::Composite(starts) => (starts.len() == parts.len()).then_some(starts),
        kind @ (ConstKind::Null | ConstKind::Undef) => {
            let one = |&ty| module.constant(ConstData { ty, kind: kind.clone(), decorations: None });
            Some(parts.iter().map(one).collect())
        }
        _ => None,
    }
}

/// The accesses of a function's instructions to variables of it.
pub(super) fn accesses(f: &Function) -> Vec<(Place, Local, Option<Access>)> {
    let mut found = Vec::new();
    for region in f.regions_in(f.body) {
        for node in &f.regions[region].nodes {
            let Node::Inst(inst) = node else { continue };
            let operation = &f.insts[*inst].operation;
            let access = match operation {
                Operation::Load { access, .. } | Operation::Store { access, .. } => Some(*access),
                _ => None,
            };
            if let Some(place) = operation.place()
                && let Root::Local(local) = f.places[place].root
            {
                found.push((place, local, access));
            }
        }
    }
    found
}

fn find(module: &mut Module, f: &mut Function) -> SecondaryMap<Local, Option<Split>> {
    let mut found: SecondaryMap<Local, Option<(Type, Vec<Type>)>> = SecondaryMap::of(&f.locals);
    for &local in &f.variables {
        let pointee = module.types.pointer(f.locals[local].pointer).map(|(_, ty)| ty);
        found[local] = pointee.and_then(|ty| Some((ty, parts(module, ty)?)));
    }
    for root in addresses_taken(f) {
        if let Root::Local(local) = root {
            found[local] = None;
        }
    }
    for (place, local, access) in accesses(f) {
        let Some((_, parts)) = &found[local] else { continue };
        let data = &f.places[place];
        let whole = data.path.is_empty() && access.is_some();
        let fits = whole || part(module, f, data, parts.len()).is_some();
        if !fits || access.is_some_and(|access| access.is_volatile()) {
            found[local] = None;
        }
    }
    let mut splits: SecondaryMap<Local, Option<Split>> = SecondaryMap::of(&f.locals);
    for local in f.variables.clone() {
        let Some((ty, parts)) = found[local].take() else { continue };
        let data = f.locals[local].clone();
        let initial = match data.initializer {
            None => None,
            Some(constant) => match starts(module, constant, &parts) {
                Some(starts) => Some(starts),
                None => continue,
            },
        };
        let mut made = Vec::with_capacity(parts.len());
        for (number, ty) in parts.into_iter().enumerate() {
            let pointer = module.pointer(StorageClass::Function, ty);
            let initializer = initial.as_ref().map(|starts| starts[number]);
            let decorations = match module.types.is_pointer(ty) {
                true => data.decorations,
                false => precision(module, data.decorations),
            };
            let part = f.locals.push(LocalData { pointer, initializer, decorations });
            f.variables.push(part);
            made.push((part, ty));
        }
        splits[local] = Some(Split { ty, parts: made });
    }
    splits
}

/// Loads and stores parts instead of wholes.
fn rewrite(f: &mut Function, region: Region, splits: &SecondaryMap<Local, Option<Split>>) {
    let nodes = std::mem::take(&mut f.regions[region].nodes);
    let mut made = Vec::with_capacity(nodes.len());
    for node in nodes {
        let Node::Inst(inst) = node else {
            made.push(node);
            continue;
        };
        let place = match f.insts[inst].operation {
            Operation::Load { place, .. } | Operation::Store { place, .. } => place,
            _ => {
                made.push(node);
                continue;
            }
        };
        let split = match f.places[place].root {
            Root::Local(local) => splits[local].clone(),
            _ => None,
        };
        let Some(Split { ty, parts }) = split else {
            made.push(node);
            continue;
        };
        match f.insts[inst].operation.clone() {
            Operation::Store { value, .. } => {
                for (number, &(part, ty)) in (0..).zip(&parts) {
                    let (args, literals) = (SmallVec::from_slice(&[value]), SmallVec::from_slice(&[number]));
                    let extract = Operation::Pure { op: Op::CompositeExtract, args, literals };
                    let (inst, value) = f.inst(extract, Some(ty), None);
                    made.push(Node::Inst(inst));
                    let Some(value) = value else { continue };
                    let place = whole(f, part);
                    let store = Operation::Store { place, value, access: Access::default() };
                    made.push(Node::Inst(f.inst(store, None, None).0));
                }
            }
            _ => {
                let mut args: SmallVec<[Value; 4]> = SmallVec::new();
                for &(part, ty) in &parts {
                    let place = whole(f, part);
                    let load = Operation::Load { place, access: Access::default() };
                    let (inst, value) = f.inst(load, Some(ty), None);
                    made.push(Node::Inst(inst));
                    args.extend(value);
                }
                debug_assert!(f.insts[inst].result.is_some_and(|value| f.values[value].ty == ty));
                f.insts[inst].operation =
                    Operation::Pure { op: Op::CompositeConstruct, args, literals: SmallVec::new() };
                made.push(node);
            }
        }
    }
    f.regions[region].nodes = made;
}

/// The place of a whole variable.
fn whole(f: &mut Function, local: Local) -> Place {
    let pointer = f.locals[local].pointer;
    let (root, path) = (Root::Local(local), SmallVec::new());
    f.places.push(PlaceData { root, path, pointer, in_bounds: true, decorations: None })
}
