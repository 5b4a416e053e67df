//! Copies the code of a function into another one.
//!
//! # Requires
//! - the function that is copied makes no calls
//!
//! # Guarantees
//! - the copy reads arguments where the function reads parameters; a place behind a pointer that is an address becomes a place of that variable

use crate::ir::entity::{Construct, Entity as _, Inst, Local, Place, Region, SecondaryMap, Value};
use crate::ir::{ConstructData, Def, Function, InstData, Node, PlaceData, RegionData, Root, ValueData};

/// Where the entities of a function stand in another one.
pub(super) struct Copy {
    values: SecondaryMap<Value, Option<Value>>,
    places: SecondaryMap<Place, Option<Place>>,
    insts: usize,
    regions: usize,
    constructs: usize,
    locals: usize,
    /// The copies of the function's variables.
    pub(super) variables: Vec<Local>,
    /// The copy of its body.
    pub(super) body: Region,
}

/// Copies everything of `from` to `to`; nothing there leads to the copy yet.
pub(super) fn copy(from: &Function, to: &mut Function, args: &[Value]) -> Copy {
    let regions = to.regions.len();
    let mut copy = Copy {
        values: SecondaryMap::of(&from.values),
        places: SecondaryMap::of(&from.places),
        insts: to.insts.len(),
        regions,
        constructs: to.constructs.len(),
        locals: to.locals.len(),
        variables: Vec::new(),
        body: Region::new(regions + from.body.index()),
    };
    for local in from.locals.values() {
        to.locals.push(local.clone());
    }
    copy.variables = from.variables.iter().map(|&local| copy.local(local)).collect();
    to.variables.extend(&copy.variables);
    copy.values(from, to, args);
    copy.places(from, to);
    copy.code(from, to);
    copy
}

impl Copy {
    fn inst(&self, inst: Inst) -> Inst {
        Inst::new(self.insts + inst.index())
    }

    fn region(&self, region: Region) -> Region {
        Region::new(self.regions + region.index())
    }

    fn construct(&self, construct: Construct) -> Construct {
        Construct::new(self.constructs + construct.index())
    }

    fn local(&self, local: Local) -> Local {
        Local::new(self.locals + local.index())
    }

    /// The copy of a value.
    fn value(&self, value: Value) -> Value {
        self.values[value].expect("invariant: every value has a copy")
    }

    /// Values other than addresses.
    fn values(&mut self, from: &Function, to: &mut Function, args: &[Value]) {
        for (value, data) in from.values.iter() {
            let def = match data.def {
                Def::Address(_) => continue,
                Def::Const(constant) => {
                    self.values[value] = Some(to.constant(constant, data.ty));
                    continue;
                }
                Def::Param(number) => {
                    self.values[value] = args.get(number as usize).copied();
                    continue;
                }
                Def::Inst(inst) => Def::Inst(self.inst(inst)),
                Def::Region(region, number) => Def::Region(self.region(region), number),
                Def::Result(construct, number) => Def::Result(self.construct(construct), number),
            };
            let made = to.values.push(ValueData { def, ..*data });
            self.values[value] = Some(made);
            if let Some(name) = from.names.get(&value) {
                to.names.insert(made, name.clone());
            }
        }
    }

    /// Places, and their addresses.
    fn places(&mut self, from: &Function, to: &mut Function) {
        for place in from.places.keys() {
            let PlaceData { root, path, pointer, in_bounds, decorations } =
                from.flat(from.places[place].clone());
            let root = match root {
                Root::Global(global) => Root::Global(global),
                Root::Local(local) => Root::Local(self.local(local)),
                Root::Pointer(value) => Root::Pointer(self.value(value)),
            };
            let path = path.iter().map(|&index| self.value(index)).collect();
            let data = to.flat(PlaceData { root, path, pointer, in_bounds, decorations });
            self.places[place] = Some(to.places.push(data));
        }
        for (value, data) in from.values.iter() {
            if let Def::Address(place) = data.def {
                self.values[value] = self.places[place].map(|place| to.address(place));
            }
        }
    }

    fn code(&mut self, from: &Function, to: &mut Function) {
        for data in from.insts.values() {
            let mut operation = data.operation.clone();
            operation.change_values(|value| *value = self.value(*value));
            if let Some(place) = operation.place_mut() {
                *place = self.places[*place].expect("invariant: every place has a copy");
            }
            to.insts.push(InstData { operation, result: data.result.map(|value| self.value(value)) });
        }
        for data in from.regions.values() {
            let nodes = data.nodes.iter().map(|node| match *node {
                Node::Inst(inst) => Node::Inst(self.inst(inst)),
                Node::Construct(construct) => Node::Construct(self.construct(construct)),
            });
            let mut end = data.end.clone();
            end.change_values(|value| *value = self.value(*value));
            end.change_targets(|to| self.construct(to), |to| self.region(to));
            let params = data.params.iter().map(|&value| self.value(value)).collect();
            to.regions.push(RegionData { params, nodes: nodes.collect(), end });
        }
        for data in from.constructs.values() {
            let mut kind = data.kind.clone();
            kind.change_values(|value| *value = self.value(*value));
            kind.change_regions(|region| self.region(region));
            let results = data.results.iter().map(|&value| self.value(value)).collect();
            to.constructs.push(ConstructData { kind, results });
        }
    }
}
