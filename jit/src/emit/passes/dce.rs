//! Dead code elimination.
//!
//! A buffer that stays inside may be read by nobody: a kernel has it, and this list has no use for it. Then its stores go, what computed
//! them, and the kernel where it does nothing else. A driver's compiler would find that out in its own time; but one dies of loops in which nothing is
//! used (`docs/drivers.md`).
//!
//! # Requires
//! - loops without effects end
//!
//! # Guarantees
//! - atomic operations, barriers, volatile accesses, unknown instructions, and stores to what others can see, or what is loaded here, stay as they
//!   are, and so do the selections and loops that decide whether they are executed
//! - every other instruction, selection, loop and variable of a function is used by one of these, directly or not, and every function but the entry
//!   point is called

use ahash::AHashSet;
use rspirv::spirv::StorageClass;

use crate::emit::JitError;
use crate::ir::entity::{Construct, Func, Inst, Place, Region, SecondaryMap, Value};
use crate::ir::{ConstructKind, Def, Effect, End, Function, Module, Node, Operation, Root};
use crate::plan::recipe::Recipe;

/// Removes dead code.
pub(in crate::emit) fn run(module: &mut Module, _: &Recipe) -> Result<(), JitError> {
    let mut live: SecondaryMap<Func, Live> = SecondaryMap::default();
    module.entry_points.iter().for_each(|entry| live[entry.function].is_called = true);
    let mut marker = Marker { module, live, used: AHashSet::new(), is_done: false };
    while !std::mem::replace(&mut marker.is_done, true) {
        // Members read what those before them wrote, so the last function comes first.
        module.defined.iter().rev().for_each(|&func| marker.function(func));
    }
    let Marker { live, used, .. } = marker;
    module.defined.retain(|&func| live[func].is_called);
    for &func in &module.defined {
        let (f, live) = (&mut module.functions[func], &live[func]);
        f.variables.retain(|&local| used.contains(&(Some(func), Root::Local(local))));
        f.retain_carried(|value| live.values[value]);
        for data in f.regions.values_mut() {
            data.nodes.retain(|node| match node {
                Node::Inst(inst) => live.insts[*inst],
                Node::Construct(construct) => live.constructs[*construct],
            });
        }
    }
    Ok(())
}

/// A variable of the invocation, with its function if it is local.
type Variable = (Option<Func>, Root);

/// What is live of a function.
#[derive(Clone, Default)]
struct Live {
    is_called: bool,
    has_effects: bool,
    insts: SecondaryMap<Inst, bool>,
    values: SecondaryMap<Value, bool>,
    constructs: SecondaryMap<Construct, bool>,
}

/// Marks what is live, from the last instruction of each function to its first, until nothing is new.
struct Marker<'m> {
    module: &'m Module,
    live: SecondaryMap<Func, Live>,
    /// Variables of the invocation that something loads.
    used: AHashSet<Variable>,
    is_done: bool,
}

/// A function of the marker's.
struct Walk<'w, 'm> {
    marker: &'w mut Marker<'m>,
    func: Func,
    f: &'m Function,
    live: Live,
}

impl Marker<'_> {
    fn function(&mut self, func: Func) {
        let (f, live) = (&self.module.functions[func], std::mem::take(&mut self.live[func]));
        let mut walk = Walk { func, f, live, marker: self };
        walk.region(f.body, None);
        let live = walk.live;
        self.live[func] = live;
    }
}

impl Walk<'_, '_> {
    /// Whether something in a region has to be executed.
    fn region(&mut self, region: Region, own: Option<Construct>) -> bool {
        let data = &self.f.regions[region];
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
        let f = self.f;
        match (&f.regions[region].end, own.map(|own| &f.constructs[own])) {
            (End::Exit { to, args }, _) => {
                self.edge(args, &f.constructs[*to].results);
                Some(*to) != own && self.live.constructs[*to]
            }
            (End::Continue { to, args }, _) => {
                if let ConstructKind::Loop { continuing, .. } = f.constructs[*to].kind {
                    self.edge(args, &f.regions[continuing].params);
                }
                self.live.constructs[*to]
            }
            (End::Repeat { args, until }, Some(own)) => {
                if let ConstructKind::Loop { body, .. } = own.kind {
                    self.edge(args, &f.regions[body].params);
                }
                until.iter().for_each(|until| self.edge(&until.args, &own.results));
                false
            }
            (End::Fall { to, args }, _) => {
                self.edge(args, &f.regions[*to].params);
                true
            }
            (end, _) => {
                if self.live.is_called {
                    end.values().for_each(|value| self.value(value));
                }
                self.live.is_called
            }
        }
    }

    /// What an edge carries to values that are live.
    fn edge(&mut self, args: &[Value], to: &[Value]) {
        for (&arg, &to) in args.iter().zip(to) {
            if self.live.values[to] {
                self.value(arg);
            }
        }
    }

    fn construct(&mut self, construct: Construct) -> bool {
        let f = self.f;
        let data = &f.constructs[construct];
        let mut stays = data.results.iter().any(|&result| self.live.values[result]);
        for region in data.kind.regions().into_iter().rev() {
            stays |= self.region(region, Some(construct));
        }
        if !stays {
            return false;
        }
        self.marker.is_done &= self.live.constructs.replace(construct, true);
        match &data.kind {
            ConstructKind::If { condition, .. } => self.value(*condition),
            ConstructKind::Switch { selector, cases, .. } => {
                self.value(*selector);
                cases.iter().for_each(|case| self.edge(&case.args, &f.regions[case.region].params));
            }
            ConstructKind::Loop { args, body, continuing, .. } => {
                self.edge(args, &f.regions[*body].params);
                if let End::Repeat { until: Some(until), .. } = &f.regions[*continuing].end {
                    self.value(until.condition);
                }
            }
        }
        true
    }

    fn inst(&mut self, inst: Inst) -> bool {
        let f = self.f;
        let operation = &f.insts[inst].operation;
        let has_effects = match (operation, operation.effect()) {
            (Operation::Call { function, .. }, _) => self.marker.live[*function].has_effects,
            (_, Effect::None | Effect::Reads(_)) => false,
            (_, Effect::Writes(place)) => self
                .variable(place)
                .is_none_or(|variable| self.marker.used.contains(&variable) && !mutant!(NobodyReadsInside)),
            (_, Effect::Anything) => true,
        };
        if !has_effects && !f.insts[inst].result.is_some_and(|result| self.live.values[result]) {
            return false;
        }
        self.live.has_effects |= has_effects;
        if !self.live.insts.replace(inst, true) {
            self.marker.is_done = false;
            operation.values().for_each(|value| self.value(value));
            operation.place().into_iter().for_each(|place| self.place(place));
            if let Operation::Call { function, .. } = operation {
                self.marker.live[*function].is_called = true;
            }
        }
        true
    }

    fn value(&mut self, value: Value) {
        if let Def::Address(place) = self.f.values[value].def {
            self.place(place);
        }
        self.marker.is_done &= self.live.values.replace(value, true);
    }

    fn place(&mut self, place: Place) {
        let data = &self.f.places[place];
        data.path.iter().for_each(|&index| self.value(index));
        if let Root::Pointer(pointer) = data.root {
            self.value(pointer);
        }
        if let Some(variable) = self.variable(place) {
            self.marker.is_done &= !self.marker.used.insert(variable);
        }
    }

    /// The variable of the invocation that a place lies in.
    fn variable(&self, place: Place) -> Option<Variable> {
        let root = self.f.places[place].root;
        match root {
            Root::Global(global) => {
                let is_own = self.marker.module.globals[global].class == StorageClass::Private;
                is_own.then_some((None, root))
            }
            Root::Local(_) => Some((Some(self.func), root)),
            Root::Pointer(_) => None,
        }
    }
}
