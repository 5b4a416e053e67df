//! Bindings that several variables of a module have: they are views of one resource, which may not be what was meant.
//!
//! # Guarantees
//! - names are those of the variables or, where they have none, of their blocks
//!
//! # Leaves alone
//! - which entry points use a variable

use ahash::AHashMap;
use rspirv::spirv::{Decoration, Op};

use super::set_binding::SetBinding;
use super::words::{instructions, string};

/// Bindings with several variables, with the names of these, in the order of the module; those without names are left out.
pub(super) fn views(module: &[u32]) -> Vec<(SetBinding, Vec<String>)> {
    let mut names: AHashMap<u32, String> = AHashMap::new();
    let mut places: AHashMap<u32, (Option<u32>, Option<u32>)> = AHashMap::new();
    let mut pointees: AHashMap<u32, u32> = AHashMap::new();
    let mut found: Vec<(SetBinding, Vec<String>)> = Vec::new();
    for inst in instructions(module) {
        match inst.op() {
            Some(Op::Name) => {
                let name = string(inst.from(1)).map(|(name, _)| name).filter(|name| !name.is_empty());
                name.into_iter().for_each(|name| {
                    names.insert(inst.at(0), name);
                });
            }
            Some(Op::Decorate) => {
                let (set, binding) = places.entry(inst.at(0)).or_default();
                if inst.at(1) == Decoration::DescriptorSet as u32 {
                    *set = Some(inst.at(2));
                } else if inst.at(1) == Decoration::Binding as u32 {
                    *binding = Some(inst.at(2));
                }
            }
            Some(Op::TypePointer) => {
                pointees.insert(inst.at(0), inst.at(2));
            }
            Some(Op::Variable) => {
                let Some(&(set, Some(binding))) = places.get(&inst.at(1)) else { continue };
                let block = || names.get(pointees.get(&inst.at(0))?);
                let Some(name) = names.get(&inst.at(1)).or_else(block) else { continue };
                let at = SetBinding { set: set.unwrap_or(0), binding, element: 0 };
                match found.iter_mut().find(|(other, _)| *other == at) {
                    Some((_, all)) => all.push(name.clone()),
                    None => found.push((at, vec![name.clone()])),
                }
            }
            Some(Op::Function) => break,
            _ => {}
        }
    }
    found.retain(|(_, names)| names.len() > 1);
    found
}
