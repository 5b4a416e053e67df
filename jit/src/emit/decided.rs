//! Hides floats that numbers decide ([`analysis::floats::decided`](crate::analysis::floats)).
//!
//! # Requires
//! - a zero among the push constants; without one floats are not hidden
//!
//! # Guarantees
//! - what was chosen among floats by numbers, and what a loop begins with, is hidden where it is used

use ahash::AHashSet;
use rspirv::dr::{Function, Instruction, Operand};
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
        self.hides_decided() && self.normal.floats.decided.results.contains(&id)
    }

    /// Hides them in the copy of a block, and at its end what the loop begins with to which control goes from there.
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
            if normal.floats.decided.results.contains(&id) {
                names.insert(self.mapped(id)?);
            }
        }
        if !names.is_empty() {
            self.hide_results(&names, code);
        }
        for &(phi, value) in normal.floats.decided.begun.get(&number).into_iter().flatten() {
            let (value, ty) = (self.mapped(value)?, self.type_of_phi(function, phi)?);
            if !self.is_float(ty) {
                continue;
            }
            let (hidden, zero) = (self.shared.builder.fresh(), self.zero());
            let mut hiding = Code::default();
            hide::hide(&mut self.shared.builder, &mut hiding, zero, (value, ty), false, hidden);
            let ends = |inst: &Instruction| {
                matches!(
                    inst.class.opcode,
                    Op::SelectionMerge | Op::LoopMerge | Op::Branch | Op::BranchConditional | Op::Switch
                )
            };
            let end = code.iter().position(ends).unwrap_or(code.len());
            code.splice(end..end, hiding.0);
            let from = function.blocks[number].label_id().unwrap_or(0);
            self.begun.insert((phi, from), hidden);
        }
        Ok(())
    }

    fn type_of_phi(&self, function: &Function, phi: Word) -> Result<Word, JitError> {
        let found = function.all_inst_iter().find(|inst| inst.result_id == Some(phi));
        self.mapped(found.and_then(|inst| inst.result_type).unwrap_or(0))
    }

    /// Gives what has one of these names another one, and its hidden form the name; that of a phi stands behind all of them.
    fn hide_results(&mut self, names: &AHashSet<Word>, code: &mut Vec<Instruction>) {
        let (mut all, mut behind) = (Vec::with_capacity(code.len()), Vec::new());
        for mut inst in code.drain(..) {
            let is_phi = inst.class.opcode == Op::Phi;
            if !is_phi {
                all.append(&mut behind);
            }
            let found = inst.result_id.filter(|id| names.contains(id)).zip(inst.result_type);
            let Some((id, ty)) = found.filter(|&(_, ty)| self.is_float(ty)) else {
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

    /// A phi of a loop begins with what was hidden.
    pub(super) fn begin(&self, inst: &Instruction, operands: &mut [Operand]) {
        let Some(phi) = inst.result_id.filter(|_| inst.class.opcode == Op::Phi) else { return };
        for (pair, old) in operands.chunks_mut(2).zip(inst.operands.chunks(2)) {
            let from = old.get(1).and_then(Operand::id_ref_any).unwrap_or(0);
            if let Some(&hidden) = self.begun.get(&(phi, from)) {
                pair[0] = Operand::IdRef(hidden);
            }
        }
    }
}
