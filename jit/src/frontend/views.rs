//! Bindings that several variables of a module have: they are views of one resource, which may not be what was meant.
//!
//! # Guarantees
//! - names are those of the variables or, where they have none, of their blocks
//!
//! # Leaves alone
//! - which entry points use a variable

use rspirv::spirv::Decoration;

use super::set_binding::SetBinding;
use super::words::Declarations;

/// Bindings with several variables, with the names of these, in the order of the module; those without names are left out.
pub(super) fn views(module: &[u32]) -> Vec<(SetBinding, Vec<String>)> {
    let declared = Declarations::of(module);
    let mut found: Vec<(SetBinding, Vec<String>)> = Vec::new();
    for variable in &declared.variables {
        let id = variable.at(1);
        if declared.decoration(id, None, Decoration::Binding).is_none() {
            continue;
        }
        let block = || declared.name(declared.ty(variable.at(0))?.at(2), None);
        let (Some(at), Some(name)) = (declared.place(id), declared.name(id, None).or_else(block)) else {
            continue;
        };
        match found.iter_mut().find(|(other, _)| *other == at) {
            Some((_, all)) => all.push(name),
            None => found.push((at, vec![name])),
        }
    }
    found.retain(|(_, names)| names.len() > 1);
    found
}
