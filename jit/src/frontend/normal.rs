//! Makes one function in SSA of a module, on the IR.
//!
//! # Requires
//! - the size was checked
//!
//! # Guarantees
//! - exactly one function, no call
//! - values flow through ids, not through variables, except where an array is indexed at run time or an address is taken
//! - instructions stand in the order in which they stood; arithmetic is exactly the kernel's: no pass rewrites, reorders or folds it
//! - every access chain starts at a variable, or at a pointer that is a value
//!
//! # Refuses
//! - recursion, and control flow that merge instructions do not describe
//! - loops that may not come back from what continues them
//!
//! # Leaves alone
//! - early returns of the entry point: rewriting them would bury its guard under flags
//!
//! The passes are the files of this folder; each starts with its contract.

mod branches;
mod continuing;
mod copy;
mod dce;
mod extend;
mod inline;
mod private;
mod returns;
mod split;
mod straighten;
mod trivial;
mod values;

use rspirv::dr;
use rspirv::spirv::FunctionControl;

use super::reason::KernelReason;
use crate::ir::entity::Func;
use crate::ir::{self, Function, Module};

/// A pass over the only function.
type Pass = fn(&mut Module, &mut Function);

/// The passes behind inlining, in run order.
const PASSES: &[(&str, Pass)] = &[
    ("extend", |module, f| extend::run(module, f)),
    ("restore-returns", |_, f| returns::restore(f)),
    ("private", private::run),
    ("branches", |module, f| {
        branches::run(module, f);
    }),
    ("split", split::run),
    ("values", values::run),
    ("fold", fold),
    ("leave-last", |_, f| returns::leave_last(f)),
    ("straighten", |_, f| straighten::run(f)),
    ("dce", |module, f| dce::run(module, f)),
];

/// Most rounds of [`fold`].
const MOST_FOLDS: usize = 8;

/// Removes what carries one value, and branches on what turns out to be a constant then.
fn fold(module: &mut Module, f: &mut Function) {
    trivial::run(f);
    for _ in 0..MOST_FOLDS {
        if !branches::run(module, f) || !trivial::run(f) {
            return;
        }
    }
}

/// Makes one function in SSA of a module.
///
/// # Errors
/// Why it has no such form.
pub fn run(module: &mut dr::Module) -> Result<(), KernelReason> {
    let refused = |reason: ir::Unsupported| KernelReason::Optimizer(reason.to_string());
    let mut form = ir::import(module).map_err(refused)?;
    check("import", &form)?;
    let entry = inline::run(&mut form)?;
    // `DontInline` would be obeyed.
    form.functions[entry].control = FunctionControl::NONE;
    for (name, pass) in PASSES {
        on(&mut form, entry, *pass);
        if cfg!(debug_assertions) {
            check(name, &form)?;
        }
    }
    check("dce", &form)?;
    continuing::check(&form.functions[entry])?;
    *module = ir::export(&form);
    Ok(())
}

/// Gives each function of a module a single return, behind all of its constructs.
pub(crate) fn single_returns(module: &mut Module) -> Result<(), KernelReason> {
    module.defined.clone().into_iter().try_for_each(|func| on(module, func, returns::single))
}

/// Gives a function a single return, if it takes no more for that than to put what stands behind selections into them; whether it has one now.
pub(crate) fn fold_returns(module: &mut Module, func: Func) -> bool {
    on(module, func, |module, f| returns::fold(module, f))
}

/// Folds selections on constants in a function, and drops what control does not come to then.
pub(crate) fn fold_selections(module: &mut Module, func: Func) {
    on(module, func, |module, f| branches::run(module, f));
}

/// Runs a pass on a function.
fn on<R>(module: &mut Module, func: Func, pass: impl FnOnce(&mut Module, &mut Function) -> R) -> R {
    let place = &module.functions[func];
    let empty = Function::new(place.ty, place.result, place.control);
    let mut f = std::mem::replace(&mut module.functions[func], empty);
    let result = pass(module, &mut f);
    module.functions[func] = f;
    result
}

/// Checks the invariants of the IR behind a pass.
fn check(pass: &str, module: &Module) -> Result<(), KernelReason> {
    ir::verify(module).map_err(|fault| {
        let detail = format!("pass {pass} left unsound code: {fault}");
        tracing::debug!(detail);
        KernelReason::Optimizer(detail)
    })
}
