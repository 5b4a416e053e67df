//! The state of emission.

use std::sync::Arc;

use rspirv::dr::Operand;
use rspirv::spirv::Capability;

use super::JitError;
use super::link::Linked;
use super::shared::Shared;
use crate::ir::entity::Func;
use crate::kernel::{FloatControls, Specialized};
use crate::plan::recipe::Recipe;

/// A fused kernel under construction: what the passes read and write.
#[derive(Clone)]
pub(super) struct Emission<'a> {
    pub(super) recipe: &'a Recipe,
    /// The members' kernels, in order.
    pub(super) kernels: &'a [Arc<Specialized>],
    /// Float controls that the module asks for.
    pub(super) floats: FloatControls,
    /// The module, and what its members share.
    pub(super) shared: Shared,
    /// The members, linked.
    pub(super) linked: Vec<Linked>,
    /// The function that is the entry point, once there is one.
    pub(super) entry: Option<Func>,
}

impl<'a> Emission<'a> {
    pub(super) fn new(recipe: &'a Recipe, kernels: &'a [Arc<Specialized>], floats: FloatControls) -> Self {
        let halves = kernels.iter().any(|kernel| computes_with_halves(kernel));
        Self {
            recipe,
            kernels,
            floats,
            shared: Shared::new(recipe, halves),
            linked: Vec::with_capacity(kernels.len()),
            entry: None,
        }
    }

    /// The function that is the entry point so far.
    pub(super) fn entry(&self) -> Result<Func, JitError> {
        self.entry.ok_or_else(|| JitError::new("pipeline", "there is no entry point yet"))
    }
}

/// Whether a kernel has halves for more than memory.
fn computes_with_halves(kernel: &Specialized) -> bool {
    let module = kernel.normal.as_ref().ok().map(|normal| &normal.module);
    let halves = Operand::Capability(Capability::Float16);
    module.is_some_and(|m| m.capabilities.iter().any(|inst| inst.operands.contains(&halves)))
}
