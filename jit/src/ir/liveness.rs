//! The walk of dead code elimination: marks what is used by something live, and the constructs that decide whether that is executed.
//!
//! What is live by itself is for the pass to say, which implements the rest of [`Liveness`]. It repeats the walk until nothing new is marked.

use super::entity::{Construct, Inst, Place, Region, SecondaryMap, Value};
use super::function::{Def, Function, Root};
use super::inst::Operation;
use super::region::{ConstructKind, End, Node};

/// What is marked of a function.
#[derive(Clone, Default)]
pub(crate) struct Marks {
    insts: SecondaryMap<Inst, bool>,
    values: SecondaryMap<Value, bool>,
    constructs: SecondaryMap<Construct, bool>,
    /// Whether nothing was marked since this was set.
    pub(crate) is_done: bool,
}

impl Marks {
    /// Whether a construct is marked.
    pub(crate) fn has_construct(&self, construct: Construct) -> bool {
        self.constructs[construct]
    }

    /// Removes from a function what is not marked.
    pub(crate) fn sweep(&self, f: &mut Function) {
        f.retain_carried(|value| self.values[value]);
        for data in f.regions.values_mut() {
            data.nodes.retain(|node| match node {
                Node::Inst(inst) => self.insts[*inst],
                Node::Construct(construct) => self.constructs[*construct],
            });
        }
    }
}

/// What is live of a function, while it is being found.
pub(crate) trait Liveness<'f> {
    /// The function.
    fn function(&self) -> &'f Function;

    /// What is marked.
    fn marks(&mut self) -> &mut Marks;

    /// Whether an operation is executed for more than its result.
    fn has_effects(&self, operation: &Operation) -> bool;

    /// Takes note of an operation that is live.
    fn executed(&mut self, _: &Operation) {}

    /// Takes note of a place that is accessed, or whose address is taken.
    fn accessed(&mut self, place: Place);

    /// Marks the operands of a live end that leaves the function or is unreachable; whether it is live.
    fn leave(&mut self, end: &End) -> bool;

    /// Whether a construct is live whatever is in it.
    fn is_kept(&self, _: Construct) -> bool {
        false
    }

    /// Marks a value, and what its address is made of.
    fn value(&mut self, value: Value) {
        if let Def::Address(place) = self.function().values[value].def {
            self.place(place);
        }
        let marks = self.marks();
        marks.is_done &= marks.values.replace(value, true);
    }

    /// Marks what the address of a place is made of.
    fn place(&mut self, place: Place) {
        let data = &self.function().places[place];
        data.path.iter().for_each(|&index| self.value(index));
        if let Root::Pointer(pointer) = data.root {
            self.value(pointer);
        }
        self.accessed(place);
    }

    /// Marks an instruction and its operands if it is live; whether what surrounds it has to stay for it.
    fn inst(&mut self, inst: Inst) -> bool {
        let data = &self.function().insts[inst];
        let has_effects = self.has_effects(&data.operation);
        if !has_effects && !data.result.is_some_and(|result| self.marks().values[result]) {
            return false;
        }
        self.executed(&data.operation);
        if !self.marks().insts.replace(inst, true) {
            self.marks().is_done = false;
            data.operation.values().for_each(|value| self.value(value));
            data.operation.place().into_iter().for_each(|place| self.place(place));
        }
        has_effects
    }

    /// Whether something in a region has to be executed. The nodes are visited from the last to the first.
    fn region(&mut self, region: Region, own: Option<Construct>) -> bool {
        let data = &self.function().regions[region];
        let mut stays = self.end(region, own);
        for node in data.nodes.iter().rev() {
            stays |= match *node {
                Node::Inst(inst) => self.inst(inst),
                Node::Construct(construct) => self.construct(construct),
            };
        }
        stays
    }

    /// Whether the end of a region decides where control goes on behind the construct that it belongs to.
    fn end(&mut self, region: Region, own: Option<Construct>) -> bool {
        let f = self.function();
        f.carried(region, own).into_iter().for_each(|(args, to)| self.edge(args, to));
        match &f.regions[region].end {
            End::Exit { to, .. } => Some(*to) != own && self.marks().constructs[*to],
            End::Continue { to, .. } => self.marks().constructs[*to],
            End::Repeat { .. } => false,
            End::Fall { .. } => true,
            end => self.leave(end),
        }
    }

    /// Marks what an edge carries to values that are marked.
    fn edge(&mut self, args: &[Value], to: &[Value]) {
        for (&arg, &to) in args.iter().zip(to) {
            if self.marks().values[to] {
                self.value(arg);
            }
        }
    }

    /// Whether a construct has to be executed; marks it then, and what decides which way it goes.
    fn construct(&mut self, construct: Construct) -> bool {
        let f = self.function();
        let data = &f.constructs[construct];
        let mut stays =
            self.is_kept(construct) || data.results.iter().any(|&result| self.marks().values[result]);
        for region in data.kind.regions().into_iter().rev() {
            stays |= self.region(region, Some(construct));
        }
        if !stays {
            return false;
        }
        let marks = self.marks();
        marks.is_done &= marks.constructs.replace(construct, true);
        f.entered(construct).into_iter().for_each(|(args, to)| self.edge(args, to));
        match &data.kind {
            ConstructKind::If { condition, .. } => self.value(*condition),
            ConstructKind::Switch { selector, .. } => self.value(*selector),
            ConstructKind::Loop { continuing, .. } => {
                if let End::Repeat { until: Some(until), .. } = &f.regions[*continuing].end {
                    self.value(until.condition);
                }
            }
        }
        true
    }
}
