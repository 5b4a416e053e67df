//! Copies of a function's own nodes, with other values in the place of some, and numbers where these make some.

use ahash::AHashMap;
use rspirv::spirv::Op;
use smallvec::SmallVec;

use crate::ir::entity::{Construct, Place, Region, Value};
use crate::ir::{
    Builder, ConstData, ConstKind, ConstructData, Def, Node, Operation, PlaceData, Root, TypeKind, ValueData,
    fold,
};

/// A copy that is being written.
pub(super) struct RegionCopy<'m> {
    /// What is written.
    pub(super) code: Builder<'m>,
    values: AHashMap<Value, Value>,
    places: AHashMap<Place, Place>,
    regions: AHashMap<Region, Region>,
    constructs: AHashMap<Construct, Construct>,
}

impl<'m> RegionCopy<'m> {
    pub(super) fn new(code: Builder<'m>) -> Self {
        let (values, places) = (AHashMap::new(), AHashMap::new());
        Self { code, values, places, regions: AHashMap::new(), constructs: AHashMap::new() }
    }

    /// Begins another copy.
    pub(super) fn begin(&mut self) {
        self.values.clear();
        self.places.clear();
        self.regions.clear();
        self.constructs.clear();
    }

    /// Says what a value is in the copy.
    pub(super) fn set(&mut self, value: Value, copy: Value) {
        self.values.insert(value, copy);
    }

    /// What a value is in the copy; what comes from outside is itself.
    pub(super) fn value(&mut self, value: Value) -> Value {
        if let Some(&known) = self.values.get(&value) {
            return known;
        }
        let Def::Address(place) = self.code.f().values[value].def else { return value };
        let place = self.place(place);
        self.code.function().address(place)
    }

    fn place(&mut self, place: Place) -> Place {
        if let Some(&known) = self.places.get(&place) {
            return known;
        }
        let mut data: PlaceData = self.code.f().places[place].clone();
        data.path.iter_mut().for_each(|index| *index = self.value(*index));
        if let Root::Pointer(pointer) = &mut data.root {
            *pointer = self.value(*pointer);
        }
        let is_same = data == self.code.f().places[place];
        let copy = if is_same { place } else { self.code.function().places.push(data) };
        self.places.insert(place, copy);
        copy
    }

    /// Adds copies of nodes; those whose results are known are left out.
    pub(super) fn nodes(&mut self, nodes: &[Node]) {
        for &node in nodes {
            match node {
                Node::Inst(inst) => {
                    let data = self.code.f().insts[inst].clone();
                    if data.result.is_some_and(|result| self.values.contains_key(&result)) {
                        continue;
                    }
                    let mut operation = data.operation;
                    operation.change_values(|value| *value = self.value(*value));
                    if let Some(place) = operation.place_mut() {
                        *place = self.place(*place);
                    }
                    let Some(result) = data.result else {
                        self.code.effect(operation);
                        continue;
                    };
                    let mut own = self.code.f().values[result];
                    if let Some(sum) = self.sum(&operation, own) {
                        (operation, own.decorations) = (sum, None);
                    }
                    let copy = self.number(&operation, own).unwrap_or_else(|| {
                        let f = self.code.function();
                        let (inst, copy) = f.inst(operation, Some(own.ty), own.decorations);
                        self.code.nodes.push(Node::Inst(inst));
                        copy.expect("invariant: an instruction with a type has a result")
                    });
                    self.set(result, copy);
                }
                Node::Construct(construct) => self.construct(construct),
            }
        }
    }

    /// The number that an operation on numbers makes.
    fn number(&mut self, operation: &Operation, own: ValueData) -> Option<Value> {
        let Operation::Pure { op, args, literals } = operation else { return None };
        let module = &*self.code.module;
        if !literals.is_empty() || !matches!(module.types.kind(own.ty), TypeKind::Int { width: 32, .. }) {
            return None;
        }
        let word = |&arg: &Value| self.code.f().as_const(arg).and_then(|arg| module.word_of(arg));
        let words: SmallVec<[u32; 4]> = args.iter().map(word).collect::<Option<_>>()?;
        let kind = ConstKind::Bits(SmallVec::from_slice(&[fold(*op, &words)?]));
        let constant = self.code.module.constant(ConstData { ty: own.ty, kind, decorations: None });
        Some(self.code.function().constant(constant, own.ty))
    }

    /// A sum of words with its known part last, so that sums that differ in that part alone have the rest in common: drivers compute it once and
    /// may add the known part in the address of an access.
    fn sum(&mut self, operation: &Operation, own: ValueData) -> Option<Operation> {
        let Operation::Pure { op: Op::IAdd, args, .. } = operation else { return None };
        let &[a, b] = args.as_slice() else { return None };
        if !matches!(self.code.module.types.kind(own.ty), TypeKind::Int { width: 32, .. }) {
            return None;
        }
        let ((a, left), (b, right)) = (self.split(a), self.split(b));
        let (rest, known) = match (a, b) {
            (Some(a), Some(b)) if left != 0 || right != 0 => {
                (self.code.pure(Op::IAdd, own.ty, &[a, b], &[]), left.wrapping_add(right))
            }
            (Some(rest), None) if left != 0 => (rest, left.wrapping_add(right)),
            (None, Some(rest)) if right != 0 => (rest, left.wrapping_add(right)),
            _ => return None,
        };
        let known = if mutant!(SumsLoseTheirKnownPart) { left } else { known };
        let args = smallvec::smallvec![rest, self.code.word(known)];
        Some(Operation::Pure { op: Op::IAdd, args, literals: SmallVec::new() })
    }

    /// A word as the sum of a value, if there is any, and a number.
    fn split(&self, word: Value) -> (Option<Value>, u32) {
        let f = self.code.f();
        let number = |value: Value| f.as_const(value).and_then(|known| self.code.module.word_of(known));
        if let Some(known) = number(word) {
            return (None, known);
        }
        if let Def::Inst(inst) = f.values[word].def
            && let Operation::Pure { op: Op::IAdd, args, .. } = &f.insts[inst].operation
            && let &[a, b] = args.as_slice()
        {
            match (number(a), number(b)) {
                (None, Some(known)) => return (Some(a), known),
                (Some(known), None) => return (Some(b), known),
                _ => {}
            }
        }
        (Some(word), 0)
    }

    fn construct(&mut self, construct: Construct) {
        let data = self.code.f().constructs[construct].clone();
        let mut kind = data.kind;
        kind.change_values(|value| *value = self.value(*value));
        let new = self.code.construct(kind.clone());
        self.constructs.insert(construct, new);
        let regions = kind.regions();
        for &region in &regions {
            let copy = self.code.function().region();
            self.regions.insert(region, copy);
        }
        regions.iter().for_each(|&region| self.region(region));
        kind.change_regions(|region| self.regions[&region]);
        self.code.function().constructs[new] = ConstructData { kind, results: Vec::new() };
        for result in data.results {
            let own = self.code.f().values[result];
            let copy = self.code.function().result(new, own.ty, own.decorations);
            self.set(result, copy);
        }
    }

    fn region(&mut self, region: Region) {
        let (data, copy) = (self.code.f().regions[region].clone(), self.regions[&region]);
        for param in data.params {
            let own = self.code.f().values[param];
            let value = self.code.function().param(copy, own.ty, own.decorations);
            self.set(param, value);
        }
        let around = std::mem::take(&mut self.code.nodes);
        self.nodes(&data.nodes);
        let nodes = std::mem::replace(&mut self.code.nodes, around);
        let mut end = data.end;
        end.change_values(|value| *value = self.value(*value));
        end.change_targets(
            |to| self.constructs.get(&to).copied().unwrap_or(to),
            |to| self.regions.get(&to).copied().unwrap_or(to),
        );
        let data = &mut self.code.function().regions[copy];
        (data.nodes, data.end) = (nodes, end);
    }
}
