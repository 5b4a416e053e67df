//! Hides floats that numbers decide ([`analysis::floats::decided`](crate::analysis::floats)).
//!
//! # Requires
//! - a zero among the push constants; without one floats are not hidden
//!
//! # Guarantees
//! - what was chosen among floats by numbers is hidden where it is used

use ahash::AHashSet;
use rspirv::dr::{Function, Instruction};
use rspirv::spirv::{Op, Word};

use super::JitError;
use super::builder::Code;
use super::hide;
use super::link::Linker;

impl Linker<'_> {
    fn hides_decided(&self) -> bool {
        self.recipe.zero.is_some() && !mutant!(ChoicesAreOpen)
    }

    /// Whether the kernel's value is hidden because numbers decide what it is.
    pub(super) fn is_decided(&self, id: Word) -> bool {
        self.hides_decided() && self.normal.floats.decided.contains(&id)
    }

    /// Hides them in the copy of a block.
    pub(super) fn hide_decided(
        &mut self,
        function: &Function,
        number: usize,
        code: &mut Vec<Instruction>,
    ) -> Result<(), JitError> {
        if !self.hides_decided() {
            return Ok(());
        }
        let normal = self.normal;
        let mut names = AHashSet::new();
        for id in function.blocks[number].instructions.iter().filter_map(|inst| inst.result_id) {
            if normal.floats.decided.contains(&id) {
                names.insert(self.mapped(id)?);
            }
        }
        self.hide_results(&names, |_, _| true, code);
        Ok(())
    }

    /// Gives floats of these names that are `wanted` other ones, and their hidden forms the names; that of a phi stands behind all phis.
    pub(super) fn hide_results(
        &mut self,
        names: &AHashSet<Word>,
        wanted: impl Fn(&Self, &Instruction) -> bool,
        code: &mut Vec<Instruction>,
    ) {
        if names.is_empty() {
            return;
        }
        let (mut all, mut behind) = (Vec::with_capacity(code.len()), Vec::new());
        for mut inst in code.drain(..) {
            let is_phi = inst.class.opcode == Op::Phi;
            if !is_phi {
                all.append(&mut behind);
            }
            let found = inst.result_id.filter(|id| names.contains(id)).zip(inst.result_type);
            let Some((id, ty)) = found.filter(|&(_, ty)| self.is_float(ty) && wanted(self, &inst)) else {
                all.push(inst);
                continue;
            };
            let seen = self.shared.builder.fresh();
            inst.result_id = Some(seen);
            all.push(inst);
            let mut hiding = Code::default();
            let zero = self.zero();
            hide::hide(&mut self.shared.builder, &mut hiding, zero, (seen, ty), false, id);
            if is_phi { &mut behind } else { &mut all }.extend(hiding.0);
        }
        *code = all;
    }
}
