//! The passes in run order, and their runner.
//!
//! # Guarantees
//! - a pass is run here and nowhere else, except for [`Pass::Dce`]: `plain` runs it to rename the ids of the unfused module
//! - after every pass that changes the module an observer may see it ([`observe_passes`])
//! - in debug builds with the compiled SPIRV-Tools, spirv-val has to accept what each pass of `PIPELINE` leaves, and a
//!   complaint names the pass; what the two of `STRICT` leave is validated by their callers

use std::sync::OnceLock;

use rspirv::binary::{Assemble, Disassemble};
use rspirv::dr::Module;

use super::normal;
use super::passes::{
    by_member, check_size, copy_propagation, dce, formulas, memory_model, no_contraction, order_types,
    raise_version, refuse, storage_class,
};
use super::reason::KernelReason;
use super::tools;

/// From a specialised, pruned module to the normal form, the only form that fusion works on: one function in SSA, without
/// calls; of the GLSL450 memory model; values in ids, not in variables, except where a local array is indexed at run time; access chains that start at
/// variables; float arithmetic as in the kernel.
const PIPELINE: &[Pass] = &[
    Pass::CheckDeclarations,
    Pass::CheckSize,
    Pass::MemoryModel,
    Pass::Normal,
    Pass::ByMember,
    Pass::RaiseVersion,
    Pass::StorageClass,
    Pass::OrderTypes,
    Pass::CopyPropagation,
    Pass::Dce,
    Pass::CheckDeclarations,
    Pass::CheckInstructions,
];

/// From a module that is otherwise done to one whose floats have the same bits wherever it is compiled. Of unfused modules
/// and of fused ones.
const STRICT: &[Pass] = &[Pass::Formulas, Pass::NoContraction];

macro_rules! passes {
    ($($pass:ident $name:literal,)*) => {
        /// A pass. `frontend/passes` has a file for each, and `frontend/normal` a folder for one, which says what it takes and what it guarantees.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum Pass {
            $($pass,)*
        }

        impl Pass {
            /// Every pass.
            pub const ALL: &[Pass] = &[$(Pass::$pass),*];

            /// Its name, as in messages.
            pub fn name(self) -> &'static str {
                match self {
                    $(Pass::$pass => $name,)*
                }
            }
        }
    };
}

passes! {
    CheckDeclarations "check-declarations",
    CheckSize "check-size",
    MemoryModel "memory-model",
    Normal "normal",
    ByMember "by-member",
    RaiseVersion "raise-version",
    StorageClass "storage-class",
    OrderTypes "order-types",
    CopyPropagation "copy-propagation",
    Dce "dce",
    CheckInstructions "check-instructions",
    Formulas "formulas",
    NoContraction "no-contraction",
}

impl Pass {
    /// Whether it only looks.
    fn is_check(self) -> bool {
        matches!(self, Pass::CheckDeclarations | Pass::CheckSize | Pass::CheckInstructions)
    }

    fn run(self, module: &mut Module) -> Result<(), KernelReason> {
        match self {
            Pass::CheckDeclarations => refuse::declarations(module)?,
            Pass::CheckSize => check_size::run(module)?,
            Pass::CheckInstructions => refuse::instructions(module)?,
            Pass::MemoryModel => memory_model::run(module)?,
            Pass::Normal => normal::run(module)?,
            Pass::OrderTypes => order_types::run(module)?,
            Pass::ByMember => by_member::run(module),
            Pass::RaiseVersion => raise_version::run(module),
            Pass::StorageClass => storage_class::run(module),
            Pass::CopyPropagation => copy_propagation::run(module),
            Pass::Dce => drop(dce::run(module)),
            Pass::Formulas => formulas::run(module),
            Pass::NoContraction => no_contraction::run(module),
        }
        Ok(())
    }
}

/// The normal form of a specialised, pruned module.
pub(super) fn normalise(kernel: &str, plain: &Module) -> Result<Module, KernelReason> {
    let mut module = plain.clone();
    for &pass in PIPELINE {
        pass.run(&mut module)?;
        if !pass.is_check() {
            observe(kernel, pass, &module);
            verify(kernel, pass, &module)?;
        }
    }
    Ok(module)
}

/// Restores the normal form of a module that was made from one: types stand behind those that they use, copies are
/// propagated. The caller renumbers its ids.
pub(super) fn tidy(module: &mut Module) -> Result<(), KernelReason> {
    order_types::sort(module)?;
    copy_propagation::run(module);
    Ok(())
}

/// Runs the passes of [`STRICT`], which refuse nothing. The caller validates the result with spirv-val.
pub(crate) fn make_strict(kernel: &str, module: &mut Module) {
    for &pass in STRICT {
        if pass.run(module).is_ok() {
            observe(kernel, pass, module);
        }
    }
}

/// A module as a pass left it.
pub struct AfterPass<'a> {
    /// Name of the kernel.
    pub kernel: &'a str,
    /// The pass.
    pub pass: Pass,
    module: &'a Module,
}

impl AfterPass<'_> {
    /// The module as text.
    pub fn disassemble(&self) -> String {
        self.module.disassemble()
    }
}

type Observer = dyn Fn(&AfterPass<'_>) + Send + Sync;

static OBSERVER: OnceLock<Box<Observer>> = OnceLock::new();

/// Shows every module of this process to `observer` after every pass that may have changed it. Only the first observer is
/// taken; says whether it was.
pub fn observe_passes(observer: impl Fn(&AfterPass<'_>) + Send + Sync + 'static) -> bool {
    OBSERVER.set(Box::new(observer)).is_ok()
}

fn observe(kernel: &str, pass: Pass, module: &Module) {
    if let Some(observer) = OBSERVER.get() {
        observer(&AfterPass { kernel, pass, module });
    }
}

/// Runs spirv-val, in debug builds and if that is cheap: if it is compiled in.
fn verify(kernel: &str, pass: Pass, module: &Module) -> Result<(), KernelReason> {
    if cfg!(not(all(debug_assertions, feature = "compiled-spirv-tools"))) {
        return Ok(());
    }
    tools::verify(&module.assemble()).map_err(|complaint| {
        let detail = format!("pass {} left an invalid module: {}", pass.name(), complaint.detail);
        tracing::error!(kernel, detail);
        KernelReason::Optimizer(detail)
    })
}
