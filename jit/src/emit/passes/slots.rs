//! Push constants that passes on the IR read.

use rspirv::dr::Operand;
use rspirv::spirv::{Decoration, StorageClass};

use crate::emit::{JitError, push};
use crate::ir::entity::{Global, Place, Value};
use crate::ir::{Builder, Function, Module, Root};
use crate::plan::recipe::Recipe;

/// Where a slot of the recipe is, which holds a number without a sign.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    block: Global,
    member: u32,
}

impl Slot {
    pub(super) fn find(module: &Module, recipe: &Recipe, slot: u16) -> Result<Self, JitError> {
        let (is_behind, member) = push::member(recipe, slot);
        let behind = [Operand::LiteralBit32(recipe.bindings.len() as u32)];
        let is_block = |global: &Global| match module.globals[*global].class {
            StorageClass::PushConstant => !is_behind,
            _ => is_behind && module.decoration(*global, Decoration::Binding) == Some(&behind),
        };
        let block = module.globals.keys().find(is_block);
        let block = block.ok_or_else(|| JitError::new("slots", format!("slot {slot} is not declared")))?;
        Ok(Self { block, member })
    }

    /// Whether a place is this slot.
    pub(super) fn is_at(self, module: &Module, f: &Function, place: Place) -> bool {
        match *f.places[place].path.as_slice() {
            [index] => self.is_beside(f, place) && f.number(module, index) == Some(self.member),
            _ => false,
        }
    }

    /// Whether a place lies in the block that has the slot.
    pub(super) fn is_beside(self, f: &Function, place: Place) -> bool {
        f.places[place].root == Root::Global(self.block)
    }

    pub(super) fn load(self, code: &mut Builder<'_>) -> Value {
        let member = code.word(self.member);
        code.load(Root::Global(self.block), &[member])
    }
}
