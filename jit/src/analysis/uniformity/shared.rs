//! Shared memory that holds the same in all work-groups.
//!
//! A tile that all of them load is loaded once and stored once. A variable is one for all work-groups if whatever is stored into it is common, at a
//! common place, and stored by all of them together: then they find the same there at every step.
//!
//! # Guarantees
//! - a variable that is one is loaded from and stored to, plainly, and nothing else

use ahash::{AHashMap, AHashSet};

use super::{Alone, Globals, Manner, has_barrier, manner};
use crate::ir::entity::{Func, Global, Place, Region, Value};
use crate::ir::{Def, Module, Node, Operation, Root};

/// How the functions of a module, callees before their callers, can be done for several work-groups.
pub(crate) fn manners(module: &Module, globals: &mut Globals) -> Result<AHashMap<Func, Manner>, Alone> {
    globals.common = globals.shared.clone();
    if !mutant!(AnyUseIsPlain) {
        let odd = used_otherwise(module);
        globals.common.retain(|variable| !odd.contains(variable));
    }
    // Each time round there is a variable less.
    loop {
        let (mut calls, mut found) = (Vec::new(), AHashMap::new());
        for &func in &module.defined {
            found.insert(func, manner(module, func, globals, &calls)?);
            if has_barrier(&module.functions[func], &calls) {
                calls.push(func);
            }
        }
        let differing = differing(module, &found, globals);
        let known = globals.common.len();
        globals.common.retain(|variable| !differing.contains(variable));
        if globals.common.len() == known {
            return Ok(found);
        }
    }
}

/// Variables that something does not plainly load from or store to.
fn used_otherwise(module: &Module) -> AHashSet<Global> {
    let mut found = AHashSet::new();
    for &func in &module.defined {
        let f = &module.functions[func];
        let mut note = |place: Place| match f.places[place].root {
            Root::Global(global) => drop(found.insert(global)),
            Root::Local(_) | Root::Pointer(_) => {}
        };
        for data in f.insts.values() {
            match &data.operation {
                Operation::Load { access, .. } | Operation::Store { access, .. } if access.is_plain() => {}
                operation => operation.place().into_iter().for_each(&mut note),
            }
        }
        for data in f.values.values() {
            if let Def::Address(place) = data.def {
                note(place);
            }
        }
    }
    found
}

/// Variables that may hold one thing in one work-group and another in the next.
fn differing(module: &Module, manners: &AHashMap<Func, Manner>, globals: &Globals) -> AHashSet<Global> {
    let mut search = Search { module, manners, globals, differing: AHashSet::new(), in_turn: Vec::new() };
    // Callers come behind their callees.
    for &func in module.defined.iter().rev() {
        let together = !search.in_turn.contains(&func);
        search.region(func, module.functions[func].body, together);
    }
    search.differing
}

struct Search<'a> {
    module: &'a Module,
    manners: &'a AHashMap<Func, Manner>,
    globals: &'a Globals,
    differing: AHashSet<Global>,
    /// Functions that are called for one work-group after another.
    in_turn: Vec<Func>,
}

impl Search<'_> {
    fn region(&mut self, func: Func, region: Region, together: bool) {
        let f = &self.module.functions[func];
        let manner = &self.manners[&func];
        let together = together && matches!(manner, Manner::Together { .. });
        let varies = |value: Value| match manner {
            Manner::Together { varying, .. } => varying[value],
            Manner::InTurn => false,
        };
        for node in &f.regions[region].nodes {
            match *node {
                Node::Inst(inst) => match &f.insts[inst].operation {
                    Operation::Call { function, .. } if !together => self.in_turn.push(*function),
                    Operation::Store { place, value, .. } => {
                        let data = &f.places[*place];
                        let Root::Global(root) = data.root else { continue };
                        let parts = !together && !mutant!(StoresMayPart);
                        let is_own = self.globals.is_own(root);
                        let place = is_own || data.path.iter().any(|&index| varies(index));
                        let place = place && !mutant!(StoredPlacesAreOne);
                        let value = varies(*value) && !mutant!(StoredValuesAreOne);
                        if parts || place || value {
                            self.differing.insert(root);
                        }
                    }
                    _ => {}
                },
                Node::Construct(construct) => {
                    let is_apart =
                        matches!(manner, Manner::Together { apart, .. } if apart.contains(&construct));
                    for region in f.constructs[construct].kind.regions() {
                        self.region(func, region, together && !is_apart);
                    }
                }
            }
        }
    }
}
