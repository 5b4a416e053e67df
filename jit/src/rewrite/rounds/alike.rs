//! Makes one computation of several that are alike.
//!
//! # Requires
//! - a function without loops; values that belong together, one of each store
//!
//! # Guarantees
//! - in round `k` the value made is that of store `k`
//! - what may not be done where the kernel would not do it is done for stores, or conditions, that the kernel does it for

use ahash::AHashMap;
use rspirv::spirv::{Op, StorageClass};
use smallvec::SmallVec;

use crate::frontend::opcodes;
use crate::ir::entity::{Inst, Place, Region, SecondaryMap, Type, Value};
use crate::ir::{
    Builder, ConstructKind, Def, Effect, End, Function, Node, Operation, PlaceData, Root, Tree, TypeKind,
};
use crate::rewrite::writer::Result;

/// Most values that are made.
const MOST_LINES: usize = 512;
/// How deep values are made of values.
const DEEPEST: usize = 128;

/// Where values are used.
pub(super) struct Home {
    /// The region of each store, or of a selection that leads to it.
    pub(super) regions: Vec<Region>,
    pub(super) is_condition: bool,
    /// Whether a division may be done here.
    pub(super) divides: bool,
}

pub(super) struct Alike<'a> {
    pub(super) code: Builder<'a>,
    pub(super) home: Home,
    /// Number of the store.
    round: Value,
    tree: Tree,
    /// The region that a value is made in.
    made: SecondaryMap<Value, Option<Region>>,
    /// What was made of values side by side.
    known: AHashMap<Vec<Value>, Value>,
    count: usize,
}

impl<'a> Alike<'a> {
    pub(super) fn new(code: Builder<'a>, round: Value) -> Self {
        let f = code.f();
        let mut made = SecondaryMap::of(&f.values);
        for region in f.regions_in(f.body) {
            f.regions[region].params.iter().for_each(|&value| made[value] = Some(region));
            for node in &f.regions[region].nodes {
                let results = match *node {
                    Node::Inst(inst) => f.insts[inst].result.as_slice(),
                    Node::Construct(construct) => f.constructs[construct].results.as_slice(),
                };
                results.iter().for_each(|&value| made[value] = Some(region));
            }
        }
        let tree = Tree::of(f);
        let home = Home { regions: Vec::new(), is_condition: false, divides: false };
        Self { code, home, round, tree, made, known: AHashMap::new(), count: 0 }
    }

    fn f(&self) -> &Function {
        self.code.f()
    }

    /// Whether values are integers of 32 bits.
    fn is_word(&self, ty: Type) -> bool {
        matches!(self.code.module.types.kind(ty), TypeKind::Int { width: 32, .. })
    }

    fn constant(&self, value: Value) -> Option<u32> {
        let constant = self.f().as_const(value)?;
        self.code.module.number(constant).filter(|_| self.is_word(self.code.module.const_data(constant).ty))
    }

    /// The instruction of the kernel that makes a value.
    fn inst(&self, value: Value) -> Option<Inst> {
        match (self.f().values[value].def, self.made[value]) {
            (Def::Inst(inst), Some(_)) => Some(inst),
            _ => None,
        }
    }

    /// A sum as something and a constant.
    fn peeled(&self, mut value: Value) -> (Value, u32) {
        let mut more = 0u32;
        for _ in 0..DEEPEST {
            let Some(inst) = self.inst(value) else { break };
            let Operation::Pure { op, args, .. } = &self.f().insts[inst].operation else { break };
            let (op, &[a, b]) = (*op, args.as_slice()) else { break };
            let (rest, by) = match (op, self.constant(a), self.constant(b)) {
                (Op::IAdd, _, Some(by)) => (a, by),
                (Op::IAdd, Some(by), _) => (b, by),
                (Op::ISub, _, Some(by)) => (a, by.wrapping_neg()),
                _ => break,
            };
            // Another type may be another reading of the same word.
            if self.f().values[rest].ty != self.f().values[value].ty {
                break;
            }
            (value, more) = (rest, more.wrapping_add(by));
        }
        (value, more)
    }

    /// By how much constants grow from one store to the next.
    fn step(values: &[u32]) -> Result<u32> {
        let step = values[1].wrapping_sub(values[0]);
        let is_even = values.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == step);
        if is_even || mutant!(StoresAreEven) {
            Ok(step)
        } else {
            Err("constants that do not differ in equal steps")
        }
    }

    /// `first + round * step`.
    fn number(&mut self, first: u32, step: u32) -> Value {
        let (first_value, step) = (self.code.word(first), self.code.word(step));
        let gone = self.code.math(Op::IMul, self.round, step);
        if first == 0 { gone } else { self.code.math(Op::IAdd, first_value, gone) }
    }

    /// What stands for values that belong together.
    pub(super) fn value(&mut self, values: &[Value], depth: usize) -> Result<Value> {
        if let Some(&known) = self.known.get(values) {
            return Ok(known);
        }
        let is_one = values.iter().all(|value| *value == values[0]);
        if is_one && self.made[values[0]].is_none() {
            return Ok(values[0]);
        }
        self.count += 1;
        if depth > DEEPEST || self.count > MOST_LINES {
            return Err("too long a computation");
        }
        let made = if is_one { self.copied(values, depth)? } else { self.differing(values, depth)? };
        self.known.insert(values.to_vec(), made);
        Ok(made)
    }

    fn differing(&mut self, values: &[Value], depth: usize) -> Result<Value> {
        let ty = self.f().values[values[0]].ty;
        if values.iter().any(|&value| self.f().values[value].ty != ty) {
            return Err("stores of other types");
        }
        let is_word = self.is_word(ty);
        let constants: Option<Vec<u32>> = values.iter().map(|&value| self.constant(value)).collect();
        if let Some(constants) = constants.filter(|_| is_word) {
            let step = Self::step(&constants)?;
            let number = self.number(constants[0], step);
            return Ok(self.code.cast(number, ty));
        }
        let (rest, more): (Vec<Value>, Vec<u32>) = values.iter().map(|&value| self.peeled(value)).unzip();
        if is_word && more.iter().any(|by| *by != more[0]) {
            let step = Self::step(&more)?;
            let rest = self.value(&rest, depth + 1)?;
            let number = self.number(more[0], step);
            return Ok(self.code.pure(Op::IAdd, ty, &[rest, number], &[]));
        }
        self.copied(values, depth)
    }

    /// The same instruction, or choice, of what its operands are made of.
    fn copied(&mut self, values: &[Value], depth: usize) -> Result<Value> {
        let data: Vec<_> = values.iter().map(|&value| self.f().values[value]).collect();
        let first = data[0];
        if data.iter().any(|one| (one.ty, one.decorations) != (first.ty, first.decorations)) {
            return Err("stores that are not alike");
        }
        let choices: Vec<Option<[Value; 3]>> = values.iter().map(|&value| self.choice(value)).collect();
        let operation = if choices.iter().any(Option::is_some) {
            let mut args = SmallVec::new();
            for n in 0..3 {
                let part: Option<Vec<Value>> = choices.iter().map(|parts| Some((*parts)?[n])).collect();
                args.push(self.value(&part.ok_or("stores that are not alike")?, depth + 1)?);
            }
            Operation::Pure { op: Op::Select, args, literals: SmallVec::new() }
        } else {
            let insts: Option<Vec<Inst>> = values.iter().map(|&value| self.inst(value)).collect();
            self.operation(&insts.ok_or("stores that are not alike")?, depth)?
        };
        let (inst, made) = self.code.function().inst(operation, Some(first.ty), first.decorations);
        self.code.nodes.push(Node::Inst(inst));
        made.ok_or("an instruction without a result")
    }

    fn operation(&mut self, insts: &[Inst], depth: usize) -> Result<Operation> {
        let all: Vec<Operation> = insts.iter().map(|&inst| self.f().insts[inst].operation.clone()).collect();
        // What is left where all values and places are the same.
        let anything = self.round;
        let place = all[0].place();
        let shell = |operation: &Operation| {
            let mut shell = operation.clone();
            shell.change_values(|value| *value = anything);
            shell.place_mut().into_iter().zip(place).for_each(|(own, place)| *own = place);
            shell
        };
        if all.iter().any(|one| shell(one) != shell(&all[0])) {
            return Err("stores that are not alike");
        }
        self.allow(&all, insts)?;
        let operands: Vec<Vec<Value>> = all.iter().map(|one| one.values().collect()).collect();
        let mut made = Vec::with_capacity(operands[0].len());
        for n in 0..operands[0].len() {
            let part: Vec<Value> = operands.iter().map(|own| own[n]).collect();
            made.push(self.value(&part, depth + 1)?);
        }
        let mut made = made.into_iter();
        let mut operation = all[0].clone();
        operation.change_values(|value| *value = made.next().unwrap_or(*value));
        if place.is_some() {
            let places: Vec<Place> = all.iter().filter_map(Operation::place).collect();
            let made = self.place(&places, depth)?;
            operation.place_mut().into_iter().for_each(|place| *place = made);
        }
        Ok(operation)
    }

    /// What stands for places that belong together.
    pub(super) fn place(&mut self, places: &[Place], depth: usize) -> Result<Place> {
        let all: Vec<PlaceData> = places.iter().map(|&place| self.f().places[place].clone()).collect();
        let mut made = all[0].clone();
        let shell = |place: &PlaceData| (place.root, place.path.len(), place.pointer, place.decorations);
        if all.iter().any(|place| shell(place) != shell(&made)) {
            return Err("stores that are not alike");
        }
        let Root::Global(global) = made.root else { return Err("a load that is not followed") };
        let mut ty =
            self.code.module.types.pointer(self.code.module.globals[global].pointer).map(|(_, ty)| ty);
        for n in 0..made.path.len() {
            let part: Vec<Value> = all.iter().map(|place| place.path[n]).collect();
            let own = ty.ok_or("a place that is not followed")?;
            let is_struct = matches!(self.code.module.types.kind(own), TypeKind::Struct { .. });
            if is_struct && part.iter().any(|index| *index != part[0]) {
                return Err("stores that are not alike");
            }
            made.path[n] = self.value(&part, depth + 1)?;
            let member = self.f().as_const(part[0]);
            ty = self.code.module.types.part(own, member.and_then(|member| self.code.module.number(member)));
        }
        made.in_bounds = all.iter().all(|place| place.in_bounds);
        Ok(self.code.function().places.push(made))
    }

    /// The condition of a selection with two ways to its end, and what a value is behind either.
    fn choice(&self, value: Value) -> Option<[Value; 3]> {
        let ty = self.f().values[value].ty;
        let kind = self.code.module.types.kind(ty);
        if !matches!(kind, TypeKind::Int { .. } | TypeKind::Float { .. } | TypeKind::Bool) {
            return None;
        }
        let f = self.f();
        let Def::Result(construct, number) = f.values[value].def else { return None };
        let ConstructKind::If { condition, accept, reject, .. } = f.constructs[construct].kind else {
            return None;
        };
        let gives = |region: Region| match &f.regions[region].end {
            End::Exit { to, args } if *to == construct => args.get(number as usize).copied(),
            _ => None,
        };
        let ways = f.inside(construct).into_iter().filter(|&region| gives(region).is_some()).count();
        let (yes, no) = (gives(accept)?, gives(reject)?);
        (ways == 2).then_some([condition, yes, no])
    }

    /// Whether instructions may be done where they are put.
    fn allow(&self, all: &[Operation], insts: &[Inst]) -> Result<()> {
        let f = self.f();
        let homes = insts.iter().map(|&inst| f.insts[inst].result.and_then(|result| self.made[result]));
        let mut is_always_done = homes
            .zip(&self.home.regions)
            .all(|(made, &home)| made.is_some_and(|made| self.tree.is_around(made, home)));
        is_always_done |= mutant!(AnySideIsTaken);
        match &all[0] {
            Operation::Load { access, .. } if !access.is_plain() => Err("a load that is volatile"),
            Operation::Load { place, .. } => {
                let Root::Global(global) = f.places[*place].root else {
                    return Err("a load that is not followed");
                };
                let is_part = !f.places[*place].path.is_empty();
                let module = &*self.code.module;
                let data = &module.globals[global];
                let is_block = module
                    .types
                    .pointer(data.pointer)
                    .is_some_and(|(_, ty)| matches!(module.types.kind(ty), TypeKind::Struct { .. }));
                match data.class {
                    StorageClass::PushConstant | StorageClass::Input => Ok(()),
                    // Of arrays of descriptors nothing is known.
                    StorageClass::StorageBuffer | StorageClass::Uniform
                        if is_block && is_part && !self.home.is_condition && is_always_done =>
                    {
                        Ok(())
                    }
                    _ => Err("a load under a condition, or of one"),
                }
            }
            one if one.effect() != Effect::None => Err("an instruction that does more than compute"),
            Operation::Pure { op, .. } | Operation::Other { op, .. }
                if opcodes::has(*op, opcodes::DIVIDES) && !(is_always_done && self.home.divides) =>
            {
                Err("a division under a condition")
            }
            _ => Ok(()),
        }
    }
}
