//! Shared memory that holds the same in all work-groups.
//!
//! A tile that all of them load is loaded once and stored once. A variable is one for all work-groups if whatever is stored into it is common, at a
//! common place, and stored by all of them together: then they find the same there at every step.
//!
//! # Guarantees
//! - a variable that is one is loaded from and stored to, plainly, through access chains that begin at it, and nothing else

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Operand};
use rspirv::spirv::{Op, Word};

use super::{Alone, Globals, Manner, has_barrier, manner};

/// How functions are done.
pub(crate) struct Manners {
    pub(crate) of: AHashMap<Word, Manner>,
    /// Pointers to shared memory that all work-groups have one copy of.
    pub(crate) one: AHashSet<Word>,
}

/// How the functions of a module, callees before their callers, can be done for several work-groups.
pub(crate) fn manners(functions: &[Function], globals: &mut Globals) -> Result<Manners, Alone> {
    let roots = roots(functions, globals);
    globals.common = globals.shared.clone();
    for inst in functions.iter().flat_map(Function::all_inst_iter) {
        let odd = |root: &Word| !mutant!(AnyUseIsPlain) || !globals.shared.contains(root);
        let used = used_otherwise(inst).filter_map(|id| roots.get(&id)).filter(|root| odd(root));
        used.for_each(|root| {
            globals.common.remove(root);
        });
    }
    // Each time round there is a variable less.
    loop {
        let (mut calls, mut of) = (AHashSet::new(), AHashMap::new());
        for function in functions {
            let id = function.def_id().unwrap_or(0);
            of.insert(id, manner(function, globals, &calls, &AHashSet::new())?);
            if has_barrier(function, &calls) {
                calls.insert(id);
            }
        }
        let differing = differing(functions, &of, &roots);
        let known = globals.common.len();
        globals.common.retain(|variable| !differing.contains(variable));
        if globals.common.len() == known {
            let one =
                roots.iter().filter(|(_, root)| globals.common.contains(*root)).map(|(&id, _)| id).collect();
            return Ok(Manners { of, one });
        }
    }
}

/// Shared variables by the pointers that lead to them, their own among these.
pub(super) fn roots(functions: &[Function], globals: &Globals) -> AHashMap<Word, Word> {
    let mut roots: AHashMap<Word, Word> = globals.shared.iter().map(|&id| (id, id)).collect();
    for inst in functions.iter().flat_map(Function::all_inst_iter).filter(|inst| leads_on(inst)) {
        let root =
            inst.operands.first().and_then(Operand::id_ref_any).and_then(|base| roots.get(&base).copied());
        if let (Some(id), Some(root)) = (inst.result_id, root) {
            roots.insert(id, root);
        }
    }
    roots
}

pub(super) fn leads_on(inst: &Instruction) -> bool {
    matches!(inst.class.opcode, Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject)
}

/// Operands of an instruction that are no pointers which it plainly loads from, stores to or leads on.
fn used_otherwise(inst: &Instruction) -> impl Iterator<Item = Word> {
    let plainly = match inst.class.opcode {
        Op::Load => inst.operands.len() == 1,
        Op::Store => inst.operands.len() == 2,
        _ => leads_on(inst),
    };
    inst.operands.iter().skip(usize::from(plainly)).filter_map(Operand::id_ref_any)
}

/// Variables that may hold one thing in one work-group and another in the next.
fn differing(
    functions: &[Function],
    manners: &AHashMap<Word, Manner>,
    roots: &AHashMap<Word, Word>,
) -> AHashSet<Word> {
    let mut differing = AHashSet::new();
    // Functions that are called for one work-group after another; callers come behind their callees.
    let mut in_turn: AHashSet<Word> = AHashSet::new();
    for function in functions.iter().rev() {
        let id = function.def_id().unwrap_or(0);
        let none = AHashSet::new();
        let (apart, varying) = match &manners[&id] {
            Manner::Together { apart, varying } if !in_turn.contains(&id) => (Some(apart), varying),
            Manner::Together { varying, .. } => (None, varying),
            Manner::InTurn => (None, &none),
        };
        for (number, block) in function.blocks.iter().enumerate() {
            let together = apart.is_some_and(|apart| !apart.iter().any(|one| one.blocks.contains(&number)));
            for inst in &block.instructions {
                let mut ids = inst.operands.iter().filter_map(Operand::id_ref_any);
                match (inst.class.opcode, ids.next(), ids.next()) {
                    (Op::FunctionCall, Some(callee), _) if !together => {
                        in_turn.insert(callee);
                    }
                    (Op::Store, Some(place), Some(value)) => {
                        let Some(&root) = roots.get(&place) else { continue };
                        let parts = !together && !mutant!(StoresMayPart);
                        let place = varying.contains(&place) && !mutant!(StoredPlacesAreOne);
                        let value = varying.contains(&value) && !mutant!(StoredValuesAreOne);
                        if parts || place || value {
                            differing.insert(root);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    differing
}
