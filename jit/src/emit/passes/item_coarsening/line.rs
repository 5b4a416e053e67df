//! The entry point and its members as one straight line, written for several items side by side.
//!
//! What is the same for all items is written once. Range guards are not: what they compare with stands before the line.

use std::rc::Rc;

use ahash::{AHashMap, AHashSet};
use rspirv::spirv::{Op, StorageClass};
use smallvec::SmallVec;

use super::views::{View, Views};
use crate::emit::JitError;
use crate::emit::passes::bindings;
use crate::emit::passes::trace::copies::{Copies, Frame, of};
use crate::ir::entity::{
    Construct, DecorationSet, Entity as _, Func, Global, Inst, Place, Region, Type, Value,
};
use crate::ir::{Access, Builder, ConstructKind, Def, Effect, End, Module, Node, Operation, PlaceData, Root};

/// A comparison that an item must pass.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) op: Op,
    pub(super) limit: Value,
    /// The limit stands on its left, not the item.
    pub(super) is_swapped: bool,
    /// What must come out.
    pub(super) holds: bool,
}

pub(super) fn error(detail: impl Into<String>) -> JitError {
    JitError::new("item_coarsening", detail)
}

/// Writes lines.
pub(super) struct Line<'m> {
    /// The function in which they stand, and what is written of it.
    pub(super) code: Builder<'m>,
    /// The entry point for one item, and the item's number in it.
    pub(super) entry: (Func, Value),
    known: Views,
    /// The variables that see elements as vectors.
    pub(super) views: AHashSet<Global>,
    items: Copies,
    /// Accesses of members that take the elements of all items at once, and where the array of these begins.
    wide: AHashMap<(Func, Inst), u32>,
    /// What variables of the invocation hold.
    memory: AHashMap<(Global, Vec<u32>), Copies>,
    /// Arguments by place and type.
    arguments: AHashMap<(Global, Vec<u32>, Type), Value>,
    /// Elements of all items as they are in memory, by the variable that sees them as vectors, with its binding.
    elements: AHashMap<Global, (u32, Copies)>,
    limits: Vec<Limit>,
}

impl<'m> Line<'m> {
    pub(super) fn new(module: &'m mut Module, main: Func, entry: (Func, Value), known: Views) -> Self {
        Self {
            code: Builder::new(module, main),
            entry,
            known,
            views: AHashSet::new(),
            items: Copies::new(),
            wide: AHashMap::new(),
            memory: AHashMap::new(),
            arguments: AHashMap::new(),
            elements: AHashMap::new(),
            limits: Vec::new(),
        }
    }

    /// Writes the line for these items. Adds what the limits are made of to the code, and returns the line and its limits, each once.
    pub(super) fn write(&mut self, items: Vec<Value>) -> Result<(Vec<Node>, Vec<Limit>), JitError> {
        self.items = items.into();
        self.wide.clear();
        self.memory.clear();
        self.arguments.clear();
        self.elements.clear();
        let before = std::mem::take(&mut self.code.nodes);
        self.call(self.entry.0)?;
        let line = std::mem::replace(&mut self.code.nodes, before);
        let limits = std::mem::take(&mut self.limits);
        let mut needed: AHashSet<Value> = limits.iter().map(|one| one.limit).collect();
        let (mut moved, mut inside) = (Vec::new(), Vec::new());
        let f = self.code.function();
        for node in line.into_iter().rev() {
            let data = match node {
                Node::Inst(inst) => &f.insts[inst],
                Node::Construct(_) => return Err(error("a construct on a straight line")),
            };
            if !data.result.is_some_and(|result| needed.contains(&result)) {
                inside.push(node);
                continue;
            }
            needed.extend(data.operation.values());
            needed.extend(data.operation.place().into_iter().flat_map(|place| &f.places[place].path));
            moved.push(node);
        }
        self.code.nodes.extend(moved.into_iter().rev());
        inside.reverse();
        Ok((inside, limits))
    }

    fn call(&mut self, func: Func) -> Result<(), JitError> {
        let f = Rc::new(self.code.module.functions[func].clone());
        let body = f.body;
        let mut frame = Frame::new(func, f);
        if func == self.entry.0 {
            frame.values[self.entry.1] = self.items.clone();
        } else if self.items.len() > 1 {
            let wide = self.known.accesses(self.code.module, func.index(), &frame.f);
            let wide =
                wide.ok_or_else(|| error(format!("{func:?} has other accesses than were analysed")))?;
            self.wide.extend(wide.into_iter().map(|(inst, first)| ((func, inst), first)));
        }
        self.region(&mut frame, body).map(|_| ())
    }

    /// Writes a region; returns the construct that it leads behind, or `None` if it returns.
    fn region(&mut self, frame: &mut Frame, region: Region) -> Result<Option<Construct>, JitError> {
        let f = frame.f.clone();
        let data = &f.regions[region];
        for (number, node) in data.nodes.iter().enumerate() {
            match *node {
                Node::Inst(inst) => self.inst(frame, inst)?,
                Node::Construct(construct) => {
                    frame.open(construct, (region, number));
                    let to = self.construct(frame, construct)?;
                    frame.close();
                    if to != Some(construct) {
                        return Ok(to);
                    }
                }
            }
        }
        match &data.end {
            End::Exit { to, args } => {
                for (&arg, &result) in args.iter().zip(&f.constructs[*to].results) {
                    let copies = self.value(frame, arg)?;
                    frame.values[result] = copies;
                }
                Ok(Some(*to))
            }
            End::Return(_) => Ok(None),
            _ => Err(error("no straight line")),
        }
    }

    /// Goes the way of items in range, or computes both sides.
    fn construct(&mut self, frame: &mut Frame, construct: Construct) -> Result<Option<Construct>, JitError> {
        let f = frame.f.clone();
        let ConstructKind::If { condition, accept, reject, .. } = f.constructs[construct].kind else {
            return Err(error("a loop on a straight line"));
        };
        if let Some((limit, in_range)) = self.guard(frame, condition)? {
            let (inside, outside) = if in_range { (accept, reject) } else { (reject, accept) };
            if frame.func == self.entry.0 || frame.ends_at_once(outside) {
                if !self.limits.contains(&limit) {
                    self.limits.push(limit);
                }
                return self.region(frame, inside);
            }
        }
        match [accept, reject].map(|side| frame.is_unreachable(side)) {
            [false, true] => return self.region(frame, accept),
            [true, false] => return self.region(frame, reject),
            _ => {}
        }
        let condition = self.value(frame, condition)?;
        let results = &f.constructs[construct].results;
        let mut sides: Vec<Vec<Copies>> = Vec::new();
        for side in [accept, reject] {
            if self.region(frame, side)? != Some(construct) {
                return Err(error("two sides that do not meet"));
            }
            sides.push(results.iter().map(|&one| frame.values.replace(one, Copies::new())).collect());
        }
        for (number, &result) in results.iter().enumerate() {
            let data = f.values[result];
            let [yes, no] = [0, 1].map(|side| &sides[side][number]);
            let count = [&condition, yes, no].into_iter().map(|one| one.len()).max().unwrap_or(1);
            let chosen = (0..count).map(|item| {
                let args = SmallVec::from_slice(&[&condition, yes, no].map(|copies| of(copies, item)));
                let select = Operation::Pure { op: Op::Select, args, literals: SmallVec::new() };
                self.emit(select, data.ty, data.decorations)
            });
            let chosen = chosen.collect();
            frame.values[result] = chosen;
        }
        Ok(Some(construct))
    }

    /// What a condition compares the item with, if it does, and what it is for items in range.
    fn guard(&mut self, frame: &Frame, condition: Value) -> Result<Option<(Limit, bool)>, JitError> {
        let (mut at, mut is_negated) = (condition, false);
        loop {
            let Def::Inst(inst) = frame.f.values[at].def else { return Ok(None) };
            let Operation::Pure { op, args, .. } = &frame.f.insts[inst].operation else { return Ok(None) };
            let less = match (op, args.as_slice()) {
                (Op::LogicalNot, &[inner]) => {
                    (at, is_negated) = (inner, !is_negated);
                    continue;
                }
                (Op::ULessThan | Op::ULessThanEqual | Op::SLessThan | Op::SLessThanEqual, _) => true,
                (Op::UGreaterThan | Op::UGreaterThanEqual | Op::SGreaterThan | Op::SGreaterThanEqual, _) => {
                    false
                }
                _ => return Ok(None),
            };
            let (a, b) = (self.value(frame, args[0])?, self.value(frame, args[1])?);
            let (limit, is_swapped) = match (self.is_item(&a), self.is_item(&b)) {
                (true, false) => (b, false),
                (false, true) => (a, true),
                _ => return Ok(None),
            };
            let &[limit] = limit.as_slice() else { return Ok(None) };
            let holds = less != is_swapped;
            return Ok(Some((Limit { op: *op, limit, is_swapped, holds }, holds != is_negated)));
        }
    }

    /// Whether a value has the bits of the item's number.
    fn is_item(&mut self, copies: &[Value]) -> bool {
        let f = self.code.function();
        let plain = |mut value: Value| {
            while let Def::Inst(inst) = f.values[value].def
                && let Operation::Pure { op: Op::Bitcast | Op::CopyObject, args, .. } =
                    &f.insts[inst].operation
            {
                value = args[0];
            }
            value
        };
        copies.len() == self.items.len()
            && copies.iter().zip(&self.items).all(|(&copy, &item)| plain(copy) == item)
    }

    fn value(&mut self, frame: &Frame, value: Value) -> Result<Copies, JitError> {
        let known = &frame.values[value];
        if !known.is_empty() {
            return Ok(known.clone());
        }
        let data = frame.f.values[value];
        let Def::Const(constant) = data.def else {
            return Err(error(format!("{value:?} of {:?} is used before it is defined", frame.func)));
        };
        Ok(SmallVec::from_slice(&[self.code.function().constant(constant, data.ty)]))
    }

    fn emit(&mut self, operation: Operation, ty: Type, decorations: Option<DecorationSet>) -> Value {
        let (inst, result) = self.code.function().inst(operation, Some(ty), decorations);
        self.code.nodes.push(Node::Inst(inst));
        result.expect("invariant: an instruction with a type has a result")
    }

    fn inst(&mut self, frame: &mut Frame, inst: Inst) -> Result<(), JitError> {
        let data = &frame.f.clone().insts[inst];
        let result = data.result.map(|result| (result, frame.f.values[result]));
        if data.result.is_some_and(|result| !frame.values[result].is_empty()) {
            return Ok(());
        }
        match (&data.operation, result) {
            (Operation::Call { function, .. }, _) => self.call(*function),
            (&Operation::Store { place, value, access }, _) => {
                self.store(frame, (inst, place), value, access)
            }
            (&Operation::Load { place, access }, Some((result, data))) => {
                let loaded = self.load(frame, (inst, place), access, data.ty)?;
                frame.values[result] = loaded;
                Ok(())
            }
            (Operation::Pure { op: Op::CompositeExtract, args, literals }, Some((result, data)))
                if literals.len() == 1 =>
            {
                let (whole, number) = (self.value(frame, args[0])?, literals[0]);
                let parts = whole.iter().map(|&value| self.part(value, number, data.ty)).collect();
                frame.values[result] = parts;
                Ok(())
            }
            (operation, Some((result, data))) if operation.effect() == Effect::None => {
                let mut operation = operation.clone();
                if let Some(place) = operation.place_mut() {
                    *place = self.place(frame, *place)?.at(&mut self.code, 0);
                }
                let mut taken: AHashMap<Value, Copies> = AHashMap::new();
                for value in operation.values() {
                    taken.insert(value, self.value(frame, value)?);
                }
                let count = taken.values().map(SmallVec::len).max().unwrap_or(1);
                let copies = (0..count).map(|item| {
                    let mut own = operation.clone();
                    own.change_values(|value| *value = of(&taken[value], item));
                    self.emit(own, data.ty, data.decorations)
                });
                let copies = copies.collect();
                frame.values[result] = copies;
                Ok(())
            }
            (operation, _) => Err(error(format!("{operation:?} on a straight line"))),
        }
    }

    /// A place of a member, for all items.
    fn place(&mut self, frame: &Frame, place: Place) -> Result<Places, JitError> {
        let data = frame.f.flat(frame.f.places[place].clone());
        let Root::Global(root) = data.root else { return Err(error("a place behind a pointer")) };
        let path = data.path.iter().map(|&index| self.value(frame, index)).collect::<Result<Vec<_>, _>>()?;
        let number = |copies: &Copies| match copies.as_slice() {
            &[one] => self.code.function().as_const(one).and_then(|one| self.code.module.number(one)),
            _ => None,
        };
        let numbers = path.iter().map(number).collect();
        Ok(Places { root, path, numbers, data })
    }

    fn load(
        &mut self,
        frame: &Frame,
        (inst, place): (Inst, Place),
        access: Access,
        ty: Type,
    ) -> Result<Copies, JitError> {
        let place = self.place(frame, place)?;
        match (self.code.module.globals[place.root].class, place.numbers.clone()) {
            (StorageClass::Private, Some(numbers)) => self.held(place.root, &numbers, ty),
            (StorageClass::Private, None) => Err(error("a variable at a place that varies")),
            (_, Some(numbers))
                if access.is_plain() && self.known.holds_arguments(self.code.module, place.root) =>
            {
                let key = (place.root, numbers, ty);
                let value = match self.arguments.get(&key) {
                    Some(&known) => known,
                    None => {
                        let place = place.at(&mut self.code, 0);
                        self.emit(Operation::Load { place, access }, ty, None)
                    }
                };
                self.arguments.insert(key, value);
                Ok(SmallVec::from_slice(&[value]))
            }
            _ => match self.view(frame, inst, place.root, ty)? {
                Some(view) => Ok(self.load_vector(&view, ty)),
                None => {
                    let all = (0..place.count()).map(|item| {
                        let place = place.at(&mut self.code, item);
                        self.emit(Operation::Load { place, access }, ty, None)
                    });
                    Ok(all.collect())
                }
            },
        }
    }

    /// What a variable of the invocation holds at a place.
    fn held(&mut self, root: Global, path: &[u32], ty: Type) -> Result<Copies, JitError> {
        if let Some(known) = self.memory.get(&(root, path.to_vec())) {
            return Ok(known.clone());
        }
        let (&last, rest) = path.split_last().ok_or_else(|| error("a variable that was not written"))?;
        let whole = self.memory.get(&(root, rest.to_vec())).cloned();
        let whole = whole.ok_or_else(|| error("a variable that was not written"))?;
        Ok(whole.iter().map(|&value| self.part(value, last, ty)).collect())
    }

    /// A part of a vector.
    fn part(&mut self, value: Value, number: u32, ty: Type) -> Value {
        let f = self.code.function();
        if let Def::Inst(inst) = f.values[value].def
            && let Operation::Pure { op, args, .. } = &f.insts[inst].operation
        {
            match (*op, args.get(number as usize), args.first()) {
                (Op::CompositeConstruct, Some(&part), _) if f.values[part].ty == ty => return part,
                (Op::Bitcast, _, Some(&inner)) => {
                    let of = f.values[inner].ty;
                    if let Some(element) = self.code.module.types.part(of, None) {
                        let part = self.part(inner, number, element);
                        return self.code.cast(part, ty);
                    }
                }
                _ => {}
            }
        }
        self.code.pure(Op::CompositeExtract, ty, &[value], &[number])
    }

    fn store(
        &mut self,
        frame: &Frame,
        (inst, place): (Inst, Place),
        value: Value,
        access: Access,
    ) -> Result<(), JitError> {
        let ty = frame.f.values[value].ty;
        let (place, value) = (self.place(frame, place)?, self.value(frame, value)?);
        if self.code.module.globals[place.root].class == StorageClass::Private {
            let path = place.numbers.ok_or_else(|| error("a variable at a place that varies"))?;
            let is_around = |known: &[u32]| known.len() < path.len() && path.starts_with(known);
            if self.memory.keys().any(|(root, known)| *root == place.root && is_around(known)) {
                return Err(error("a part of a variable that is handed on as a whole"));
            }
            self.memory.retain(|(root, known), _| *root != place.root || !known.starts_with(&path));
            self.memory.insert((place.root, path), value);
            return Ok(());
        }
        let view = self.view(frame, inst, place.root, ty)?;
        let binding = bindings::binding(self.code.module, place.root);
        self.elements.retain(|_, known| Some(known.0) != binding);
        if let Some(view) = view {
            self.store_vector(&view, &value);
            return Ok(());
        }
        // Items that share a place leave there what the last of them stores, whichever that is.
        for item in 0..place.count().max(value.len()) {
            let place = place.at(&mut self.code, item);
            self.code.effect(Operation::Store { place, value: of(&value, item), access });
        }
        Ok(())
    }

    /// How an access sees the elements of all items as one vector, if it does.
    fn view(&mut self, frame: &Frame, inst: Inst, root: Global, ty: Type) -> Result<Option<View>, JitError> {
        let Some(&first) = self.wide.get(&(frame.func, inst)) else { return Ok(None) };
        let number = bindings::binding(self.code.module, root);
        let view = bindings::view(self.code.module, root, ty, first);
        let (Some(binding), Some((variable, vector))) = (number, view) else {
            return Err(error("vectors of a variable that sees no binding"));
        };
        self.views.insert(variable);
        let is_own = self.known.is_own(binding);
        Ok(Some(View { variable, binding, vector, is_own }))
    }

    fn vector(&mut self, view: &View) -> Place {
        let number = self.code.module.u32();
        let (zero, items) = (self.code.word(0), self.code.word(self.items.len() as u32));
        let at = self.code.pure(Op::UDiv, number, &[self.items[0], items], &[]);
        self.code.place(Root::Global(view.variable), &[zero, at])
    }

    fn load_vector(&mut self, view: &View, ty: Type) -> Copies {
        if let Some((_, known)) = self.elements.get(&view.variable) {
            return known.clone();
        }
        let place = self.vector(view);
        let all = self.emit(Operation::Load { place, access: Access::default() }, view.vector, None);
        let parts = 0..self.items.len() as u32;
        let parts: Copies =
            parts.map(|part| self.code.pure(Op::CompositeExtract, ty, &[all], &[part])).collect();
        self.remember(view, &parts);
        parts
    }

    fn store_vector(&mut self, view: &View, value: &Copies) {
        self.remember(view, value);
        let parts: Copies = (0..self.items.len()).map(|item| of(value, item)).collect();
        let place = self.vector(view);
        let value = self.code.pure(Op::CompositeConstruct, view.vector, &parts, &[]);
        self.code.effect(Operation::Store { place, value, access: Access::default() });
    }

    /// The invocation alone changes its items' elements, so it need not read what it knows.
    fn remember(&mut self, view: &View, value: &Copies) {
        if view.is_own {
            self.elements.insert(view.variable, (view.binding, value.clone()));
        }
    }
}

/// A place for each item.
struct Places {
    root: Global,
    path: Vec<Copies>,
    /// The path, if it is constant.
    numbers: Option<Vec<u32>>,
    data: PlaceData,
}

impl Places {
    /// How many there are.
    fn count(&self) -> usize {
        self.path.iter().map(SmallVec::len).max().unwrap_or(1)
    }

    fn at(&self, code: &mut Builder<'_>, item: usize) -> Place {
        let path = self.path.iter().map(|copies| of(copies, item)).collect();
        code.function().places.push(PlaceData { root: Root::Global(self.root), path, ..self.data.clone() })
    }
}
