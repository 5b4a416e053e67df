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
use crate::ir::entity::{Func, Place, SecondaryMap};
use crate::ir::{Effect, End, Function, Liveness, Marks, Module, Operation, Root};
use crate::plan::recipe::Recipe;

/// Removes dead code.
pub(in crate::emit) fn run(module: &mut Module, _: &Recipe) -> Result<(), JitError> {
    let mut live: SecondaryMap<Func, Live> = SecondaryMap::default();
    module.entry_points.iter().for_each(|entry| live[entry.function].is_called = true);
    let mut marker = Marker { module, live, used: AHashSet::new() };
    // Members read what those before them wrote, so the last function comes first.
    while module.defined.iter().rev().fold(false, |is_new, &func| marker.function(func) | is_new) {}
    let Marker { live, used, .. } = marker;
    module.defined.retain(|&func| live[func].is_called);
    for &func in &module.defined {
        let f = &mut module.functions[func];
        f.variables.retain(|&local| used.contains(&(Some(func), Root::Local(local))));
        live[func].marks.sweep(f);
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
    marks: Marks,
}

/// Marks what is live, from the last instruction of each function to its first, until nothing is new.
struct Marker<'m> {
    module: &'m Module,
    live: SecondaryMap<Func, Live>,
    /// Variables of the invocation that something loads.
    used: AHashSet<Variable>,
}

/// A function of the marker's.
struct Walk<'w, 'm> {
    marker: &'w mut Marker<'m>,
    func: Func,
    f: &'m Function,
    live: Live,
}

impl Marker<'_> {
    /// Marks what is live of a function; whether anything is new.
    fn function(&mut self, func: Func) -> bool {
        let (f, mut live) = (&self.module.functions[func], std::mem::take(&mut self.live[func]));
        live.marks.is_done = true;
        let mut walk = Walk { func, f, live, marker: self };
        walk.region(f.body, None);
        let live = walk.live;
        let is_new = !live.marks.is_done;
        self.live[func] = live;
        is_new
    }
}

impl<'m> Liveness<'m> for Walk<'_, 'm> {
    fn function(&self) -> &'m Function {
        self.f
    }

    fn marks(&mut self) -> &mut Marks {
        &mut self.live.marks
    }

    fn has_effects(&self, operation: &Operation) -> bool {
        match (operation, operation.effect()) {
            (Operation::Call { function, .. }, _) => self.marker.live[*function].has_effects,
            (_, Effect::None | Effect::Reads(_)) => false,
            (_, Effect::Writes(place)) => self
                .variable(place)
                .is_none_or(|variable| self.marker.used.contains(&variable) && !mutant!(NobodyReadsInside)),
            (_, Effect::Anything) => true,
        }
    }

    fn executed(&mut self, operation: &Operation) {
        self.live.has_effects |= self.has_effects(operation);
        if let Operation::Call { function, .. } = operation {
            self.marker.live[*function].is_called = true;
        }
    }

    fn accessed(&mut self, place: Place) {
        if let Some(variable) = self.variable(place) {
            self.live.marks.is_done &= !self.marker.used.insert(variable);
        }
    }

    fn leave(&mut self, end: &End) -> bool {
        if self.live.is_called {
            end.values().for_each(|value| self.value(value));
        }
        self.live.is_called
    }
}

impl Walk<'_, '_> {
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
