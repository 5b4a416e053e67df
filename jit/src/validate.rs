//! Translation validation: a fused list against the unfused one, in the interpreter, on small instances of itself.
//!
//! The planner reasons about all numbers at once. This runs with a few: the same list with other sizes, from which the
//! planner makes *the same code* (a step with the same key), so that what is found out is about the code that the user's list
//! runs. Sizes are those that matter: none, one, around the work-group size and its multiples, which are the edges of guards.
//!
//! For each instance and each hostile order of work-groups and invocations, fused and unfused are compared:
//!
//! - **Bytes.** Every buffer, with several initial contents. What stays inside must be untouched.
//! - **Touched sets.** A byte that only one of the two writes shows with one of two initial contents.
//! - **Uninitialised reads.** Buffers that the unfused list does not read before it writes them are marked: reads of unwritten
//!   memory, registers or shared memory are reported. So are races, accesses out of bounds and divergent barriers.
//!
//! # Requires
//! - nothing of the planner or the emitter: only the modules that come out
//!
//! # Guarantees
//! - [`Verdict::Differs`] names an instance of the list on which fused and unfused can be distinguished
//!
//! # Refuses
//! - modules that the interpreter does not run; lists without a small instance that has the same code; instances with undefined results already unfused

mod figures;
mod images;
mod instance;
mod trial;
mod verdict;

use ahash::{AHashMap, AHashSet};

use crate::plan::rewrites::rename::{Overwriting, Renamed};
use crate::plan::rewrites::reorder::Dependences;
use crate::plan::{
    BlockCoarseningLimits, FuseOptions, Limits, Members, Plan, PlanError, Submission, ThreadCoarseningLimits,
    closed, plan_as, plan_in_order,
};
pub use figures::obstacles;
use trial::Trial;
pub use verdict::{NotApplicable, Verdict};

/// What is known of one fused step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepVerdict {
    /// The step's key.
    pub key: [u8; 32],
    /// The submissions that it does.
    pub members: Members,
    /// What came out.
    pub verdict: Verdict,
}

/// Validates the fused steps of a plan of a list, made with these options and limits. One verdict for each, in order.
pub fn validate(list: &[Submission], options: &FuseOptions, limits: &Limits, of: &Plan) -> Vec<StepVerdict> {
    // As it is planned.
    let list = &*closed(list, options.float, limits);
    let fused = of.steps.iter().filter(|step| step.is_fused());
    let mut found: AHashMap<[u8; 32], Verdict> = AHashMap::new();
    let mut open: AHashSet<[u8; 32]> = fused.clone().map(|step| step.key).collect();
    let mut note = |keys: &AHashSet<[u8; 32]>, open: &mut AHashSet<[u8; 32]>, verdict: &Verdict| {
        for key in keys {
            if matches!(verdict, Verdict::Differs { .. }) {
                open.remove(key);
            }
            merge(&mut found, *key, verdict);
        }
    };
    if list.iter().any(|one| one.kernel.interface.uses_device_addresses) {
        note(&open.clone(), &mut open, &Verdict::NotApplicable { reason: NotApplicable::Addresses });
    } else {
        for instance in instance::all(list) {
            if open.is_empty() {
                break;
            }
            let order = of.report.reordered.as_ref().map(|one| &*one.order);
            // Where less of the buffers is left, other parts of them may meet, and less may be overwritten.
            let mut overwriting = Overwriting::new(&instance.list, limits);
            if !of.report.renamed.iter().all(|one| overwriting.allows(&one.arguments).is_some()) {
                continue;
            }
            let values = of.report.renamed.iter().map(|one| &*one.arguments);
            let Some(renamed) = Renamed::of(&instance.list, values) else { continue };
            if order.is_some_and(|order| !Dependences::of(&renamed.list).allow(order)) {
                continue;
            }
            let Ok((plan, keys)) = same_code(&renamed, order, options, limits, &open) else { continue };
            if !keys.is_empty() {
                note(&keys, &mut open, &Trial::new(&instance, &plan, options.float, limits).verdict());
            }
        }
    }
    let verdict = |key: &[u8; 32]| {
        let none = Verdict::NotApplicable { reason: NotApplicable::NoInstance };
        found.get(key).cloned().unwrap_or(none)
    };
    fused
        .map(|step| StepVerdict { key: step.key, members: step.members.clone(), verdict: verdict(&step.key) })
        .collect()
}

/// The plan of an instance, renamed and done in the order of the list that it is of, and which of the keys are in it: none if a value
/// that was renamed is in memory there.
fn same_code(
    renamed: &Renamed,
    order: Option<&[usize]>,
    options: &FuseOptions,
    limits: &Limits,
    keys: &AHashSet<[u8; 32]>,
) -> Result<(Plan, AHashSet<[u8; 32]>), PlanError> {
    let made = |limits: &Limits| -> Result<(Plan, AHashSet<[u8; 32]>), PlanError> {
        let plan = match order {
            Some(order) => plan_as(&renamed.list, order, options, limits)?,
            None => plan_in_order(&renamed.list, options, limits)?,
        };
        if !renamed.in_memory(&plan).is_empty() {
            return Ok((plan, AHashSet::new()));
        }
        let same = plan.steps.iter().map(|step| step.key).filter(|key| keys.contains(key)).collect();
        Ok((plan, same))
    };
    let (plan, same) = made(limits)?;
    if !same.is_empty() || limits.block_coarsening.least <= 1 && limits.thread_coarsening.least <= 1 {
        return Ok((plan, same));
    }
    // An instance has few work-groups, and may be for a list whose work-groups, or invocations, are coarsened.
    let block_coarsening = BlockCoarseningLimits { least: 1, ..limits.block_coarsening };
    let thread_coarsening = ThreadCoarseningLimits { least: 1, ..limits.thread_coarsening };
    made(&Limits { block_coarsening, thread_coarsening, ..*limits })
}

/// A difference is the last word; an agreement goes before an instance that says nothing.
fn merge(found: &mut AHashMap<[u8; 32], Verdict>, key: [u8; 32], new: &Verdict) {
    let old = found.get(&key);
    let merged = match (old, new) {
        (Some(Verdict::Differs { .. }), _) => return,
        (Some(Verdict::Agreed { instances: a }), Verdict::Agreed { instances: b }) => {
            Verdict::Agreed { instances: a + b }
        }
        (Some(Verdict::Agreed { .. }), Verdict::NotApplicable { .. }) => return,
        _ => new.clone(),
    };
    found.insert(key, merged);
}
