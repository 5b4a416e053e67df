//! Walks over functions, and values in the place of others.

use super::entity::{Construct, Inst, Region, SecondaryMap, Value};
use super::function::{Def, Function, PlaceData, Root, Tree};
use super::inst::{Arg, Operation};
use super::module::Module;
use super::region::{ConstructKind, End, Node};

impl Operation {
    /// Calls `change` on the values that it takes; not on those of its place.
    pub fn change_values(&mut self, mut change: impl FnMut(&mut Value)) {
        match self {
            Self::Pure { args, .. }
            | Self::Ext { args, .. }
            | Self::Atomic { args, .. }
            | Self::Call { args, .. } => args.iter_mut().for_each(change),
            Self::Store { value, .. } => change(value),
            Self::Other { operands, .. } => operands.iter_mut().for_each(|arg| match arg {
                Arg::Value(value) | Arg::Scope(value) | Arg::Semantics(value) => change(value),
                Arg::Type(_) | Arg::Literal(_) => {}
            }),
            Self::Load { .. } | Self::Length { .. } | Self::Barrier { .. } => {}
        }
    }
}

impl End {
    /// Calls `change` on the values that it takes.
    pub fn change_values(&mut self, mut change: impl FnMut(&mut Value)) {
        match self {
            Self::Exit { args, .. } | Self::Continue { args, .. } | Self::Fall { args, .. } => {
                args.iter_mut().for_each(change);
            }
            Self::Repeat { args, until } => {
                args.iter_mut().for_each(&mut change);
                if let Some(until) = until {
                    change(&mut until.condition);
                    until.args.iter_mut().for_each(change);
                }
            }
            Self::Return(value) => value.iter_mut().for_each(change),
            Self::Unreachable | Self::Terminate(_) => {}
        }
    }
}

impl End {
    /// Has it lead to other constructs and regions.
    pub(crate) fn change_targets(
        &mut self,
        construct: impl Fn(Construct) -> Construct,
        region: impl Fn(Region) -> Region,
    ) {
        match self {
            Self::Exit { to, .. } | Self::Continue { to, .. } => *to = construct(*to),
            Self::Fall { to, .. } => *to = region(*to),
            Self::Repeat { .. } | Self::Return(_) | Self::Unreachable | Self::Terminate(_) => {}
        }
    }
}

impl ConstructKind {
    /// Has it own other regions.
    pub(crate) fn change_regions(&mut self, change: impl Fn(Region) -> Region) {
        match self {
            Self::If { accept: a, reject: b, .. } | Self::Loop { body: a, continuing: b, .. } => {
                (*a, *b) = (change(*a), change(*b));
            }
            Self::Switch { cases, .. } => cases.iter_mut().for_each(|case| case.region = change(case.region)),
        }
    }

    /// Calls `change` on the values that it takes itself.
    pub fn change_values(&mut self, mut change: impl FnMut(&mut Value)) {
        match self {
            Self::If { condition, .. } => change(condition),
            Self::Switch { selector, cases, .. } => {
                change(selector);
                cases.iter_mut().flat_map(|case| &mut case.args).for_each(change);
            }
            Self::Loop { args, .. } => args.iter_mut().for_each(change),
        }
    }
}

impl Function {
    /// The number that a value is, if it is a constant of at most 32 bits.
    pub(crate) fn number(&self, module: &Module, value: Value) -> Option<u32> {
        module.number(self.as_const(value)?)
    }

    /// The regions inside of one, that one first, in the order in which they are written.
    pub fn regions_in(&self, region: Region) -> Vec<Region> {
        let (mut found, mut open) = (Vec::new(), vec![region]);
        while let Some(region) = open.pop() {
            found.push(region);
            for node in self.regions[region].nodes.iter().rev() {
                if let Node::Construct(construct) = node {
                    open.extend(self.constructs[*construct].kind.regions().into_iter().rev());
                }
            }
        }
        found
    }

    /// The constructs inside of a region, outer ones before inner ones.
    pub fn constructs_in(&self, region: Region) -> Vec<Construct> {
        let nodes = self.regions_in(region).into_iter().flat_map(|region| &self.regions[region].nodes);
        let constructs = nodes.filter_map(|node| match node {
            Node::Construct(construct) => Some(*construct),
            Node::Inst(_) => None,
        });
        constructs.collect()
    }

    /// The regions inside of a construct.
    pub fn inside(&self, construct: Construct) -> Vec<Region> {
        let regions = self.constructs[construct].kind.regions();
        regions.into_iter().flat_map(|region| self.regions_in(region)).collect()
    }

    /// The instructions inside of a region, in the order of their regions.
    pub fn insts_in(&self, region: Region) -> Vec<Inst> {
        let nodes = self.regions_in(region).into_iter().flat_map(|region| &self.regions[region].nodes);
        let insts = nodes.filter_map(|node| match node {
            Node::Inst(inst) => Some(*inst),
            Node::Construct(_) => None,
        });
        insts.collect()
    }

    /// Whether an instruction inside of a region accesses one of certain places, or takes its address.
    pub fn names(&self, region: Region, is_it: impl Fn(&PlaceData) -> bool) -> bool {
        self.insts_in(region).into_iter().any(|inst| {
            let operation = &self.insts[inst].operation;
            let addresses = operation.values().filter_map(|value| match self.values[value].def {
                Def::Address(place) => Some(place),
                _ => None,
            });
            operation.place().into_iter().chain(addresses).any(|place| is_it(&self.places[place]))
        })
    }

    /// Puts values in the place of others, everywhere. What takes the place of a value must be visible wherever that was.
    pub fn substitute(&mut self, by: &SecondaryMap<Value, Option<Value>>) {
        let change = |value: &mut Value| {
            // A value may be replaced by one that is replaced itself, and never by one that comes back to it.
            while let Some(other) = by[*value] {
                *value = other;
            }
        };
        self.insts.values_mut().for_each(|data| data.operation.change_values(change));
        self.constructs.values_mut().for_each(|data| data.kind.change_values(change));
        self.regions.values_mut().for_each(|data| data.end.change_values(change));
        for place in self.places.keys() {
            let data = &mut self.places[place];
            data.path.iter_mut().for_each(change);
            if let Root::Pointer(pointer) = &mut data.root {
                change(pointer);
            }
            let data = data.clone();
            self.places[place] = self.flat(data);
        }
    }

    /// The same place without an address as its root.
    pub fn flat(&self, mut data: PlaceData) -> PlaceData {
        while let Root::Pointer(pointer) = data.root
            && let Def::Address(base) = self.values[pointer].def
        {
            let base = &self.places[base];
            let in_bounds = |data: &PlaceData| data.path.is_empty() || data.in_bounds;
            let both = in_bounds(base) && in_bounds(&data);
            let path = base.path.iter().chain(&data.path).copied().collect();
            let decorations = data.decorations.or(base.decorations);
            data = PlaceData { root: base.root, path, pointer: data.pointer, in_bounds: both, decorations };
        }
        data
    }
}

impl Tree {
    /// The regions of a function.
    pub fn of(f: &Function) -> Self {
        let mut tree = Self::default();
        for region in f.regions_in(f.body) {
            for node in &f.regions[region].nodes {
                if let Node::Construct(construct) = node {
                    for inner in f.constructs[*construct].kind.regions() {
                        tree.add(inner, region, *construct);
                    }
                }
            }
        }
        tree
    }
}
