//! Hides floats once that are hidden several times in a row.
//!
//! A value that passes from one kernel to another is hidden from the driver's compiler ([`hide`](crate::emit::hide)): its words are added to a zero.
//! Where kernels are recomputed in kernels that are recomputed themselves, it passes several seams at one place. Once hidden, it is hidden.
//!
//! # Requires
//! - a slot for the zero that no kernel has as an argument
//!
//! # Guarantees
//! - a value that is used by float operations on one side of a seam, and made by them on the other, is hidden between them
//! - no value changes

use ahash::{AHashMap, AHashSet};
use rspirv::spirv::Op;

use super::slots::Slot;
use crate::emit::{JitError, hide};
use crate::ir::{Args, Module, Operation};
use crate::plan::recipe::Recipe;

/// Removes sums with the zero of what is such a sum.
pub(in crate::emit) fn run(module: &mut Module, recipe: &Recipe) -> Result<(), JitError> {
    let Some(slot) = recipe.zero_slot() else { return Ok(()) };
    // What nothing reads is not declared.
    let Ok(slot) = Slot::find(module, recipe, slot) else { return Ok(()) };
    for func in module.defined.clone() {
        let f = &module.functions[func];
        // The zero and vectors of it; the sum with it that a value is, whatever its type.
        let (mut zeros, mut hidden) = (AHashSet::new(), AHashMap::new());
        let mut again = Vec::new();
        for inst in f.insts_in(f.body) {
            let data = &f.insts[inst];
            let Some(result) = data.result else { continue };
            match &data.operation {
                Operation::Load { place, .. } => {
                    let is_any = mutant!(AnyArgumentIsTheZero) && slot.is_beside(f, *place);
                    if is_any || slot.is_at(module, f, *place) {
                        zeros.insert(result);
                    }
                }
                Operation::Pure { op: Op::CompositeConstruct, args, .. }
                    if args.iter().all(|arg| zeros.contains(arg)) =>
                {
                    zeros.insert(result);
                }
                Operation::Pure { op: Op::CopyObject | Op::Bitcast, args, .. } => {
                    if let Some(&sum) = hidden.get(&args[0]) {
                        hidden.insert(result, sum);
                    }
                }
                Operation::Pure { op, args, .. } if *op == hide::combination() => {
                    let &[value, zero] = args.as_slice() else { continue };
                    if !zeros.contains(&zero) {
                        continue;
                    }
                    let before = hidden.get(&value).copied();
                    let before = before.filter(|&sum| f.values[sum].ty == f.values[result].ty);
                    again.extend(before.map(|sum| (inst, sum)));
                    hidden.insert(result, before.unwrap_or(result));
                }
                _ => {}
            }
        }
        let f = &mut module.functions[func];
        for (inst, sum) in again {
            f.insts[inst].operation = Operation::Pure {
                op: Op::CopyObject,
                args: Args::from_slice(&[sum]),
                literals: Default::default(),
            };
        }
    }
    Ok(())
}
