//! The module of a fused kernel under construction, and what its members share.

use rspirv::dr::ModuleHeader;

use super::interface::Bindings;
use super::internal::InternalVariable;
use super::push::PushVariable;
use crate::ir::Module;
use crate::plan::recipe::Recipe;

/// What members share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) module: Module,
    pub(crate) bindings: Bindings,
    pub(crate) push: PushVariable,
    pub(crate) internal: Vec<Option<InternalVariable>>,
    pub(crate) kept: Vec<Option<InternalVariable>>,
    /// Halves may be computed with, not only kept in memory.
    pub(crate) halves: bool,
}

impl Shared {
    /// Nothing but what the recipe itself says; `halves`: they may be computed with.
    pub(super) fn new(recipe: &Recipe, halves: bool) -> Self {
        let mut module = Module::default();
        module.generator = ModuleHeader::new(0).generator;
        let push = PushVariable::new(&mut module, recipe);
        Self {
            module,
            bindings: Bindings::default(),
            push,
            internal: vec![None; recipe.internal.len()],
            kept: vec![None; recipe.kept.len()],
            halves,
        }
    }
}
