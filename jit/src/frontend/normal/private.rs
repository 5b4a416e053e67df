//! Makes variables of the function of those of the module that are the invocation's own.
//!
//! # Requires
//! - one function
//!
//! # Guarantees
//! - no `Private` variable that is only loaded, stored and accessed atomically is left
//!
//! # Leaves alone
//! - variables whose address is taken, and those that begin with the address of another one

use rspirv::spirv::StorageClass;

use crate::ir::entity::{Global, Local, SecondaryMap};
use crate::ir::{Def, Function, GlobalArg, LocalData, Module, Operation, Root};

/// Moves variables.
pub(super) fn run(module: &mut Module, f: &mut Function) {
    let mut moved: SecondaryMap<Global, Option<Local>> = SecondaryMap::of(&module.globals);
    let taken = addresses_taken(f);
    for global in module.globals.keys() {
        let data = module.globals[global].clone();
        let initializer = match data.initializer {
            None => None,
            Some(GlobalArg::Const(constant)) => Some(constant),
            Some(_) => continue,
        };
        let (StorageClass::Private, Some((_, pointee))) = (data.class, module.types.pointer(data.pointer))
        else {
            continue;
        };
        if taken.contains(&Root::Global(global)) {
            continue;
        }
        let pointer = module.pointer(StorageClass::Function, pointee);
        let local = f.locals.push(LocalData { pointer, initializer, decorations: data.decorations });
        f.variables.push(local);
        moved[global] = Some(local);
    }
    for place in f.places.values_mut() {
        if let Root::Global(global) = place.root
            && let Some(local) = moved[global]
            && let Some((_, pointee)) = module.types.pointer(place.pointer)
        {
            place.root = Root::Local(local);
            place.pointer = module.pointer(StorageClass::Function, pointee);
        }
    }
    module.remove_globals(|global| moved[global].is_some());
}

/// The variables whose addresses are values of instructions or ends.
pub(super) fn addresses_taken(f: &Function) -> Vec<Root> {
    let mut taken = Vec::new();
    let mut value = |value| {
        if let Def::Address(place) = f.values[value].def {
            taken.push(f.places[place].root);
        }
    };
    for region in f.regions_in(f.body) {
        for node in &f.regions[region].nodes {
            match node {
                crate::ir::Node::Inst(inst) => {
                    let operation: &Operation = &f.insts[*inst].operation;
                    operation.values().for_each(&mut value);
                    if let Some(place) = operation.place()
                        && let Root::Pointer(pointer) = f.places[place].root
                    {
                        value(pointer);
                    }
                }
                crate::ir::Node::Construct(construct) => {
                    f.constructs[*construct].kind.values().into_iter().for_each(&mut value);
                }
            }
        }
        f.regions[region].end.values().for_each(&mut value);
    }
    taken
}
