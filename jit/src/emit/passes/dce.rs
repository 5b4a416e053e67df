//! Dead code elimination.
//!
//! An internalized buffer may have no reader: a kernel stores to it, and the list has no use for that. This pass removes such stores, the computation
//! of their values, and the kernel if it does nothing else. A driver's compiler would do the same later, but one of them crashes on loops whose results are
//! unused (`docs/drivers.md`).
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
use crate::ir::entity::{Construct, Func, Inst, Place, SecondaryMap, Value};
use crate::ir::{Def, Effect, End, Function, Liveness, Module, Node, Operation, Root};
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

impl<'m> Liveness<'m> for Walk<'_, 'm> {
    fn function(&self) -> &'m Function {
        self.f
    }

    fn has_value(&self, value: Value) -> bool {
        self.live.values[value]
    }

    fn has_construct(&self, construct: Construct) -> bool {
        self.live.constructs[construct]
    }

    fn mark(&mut self, construct: Construct) {
        self.marker.is_done &= self.live.constructs.replace(construct, true);
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

    fn leave(&mut self, end: &End) -> bool {
        if self.live.is_called {
            end.values().for_each(|value| self.value(value));
        }
        self.live.is_called
    }

    fn is_kept(&self, _: Construct) -> bool {
        false
    }
}

impl Walk<'_, '_> {
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
