//! Execution modes of a kernel, and what kernels of one module have to agree on.

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::ExecutionMode;

use crate::Reason;
use crate::analysis::floats::Floats;

/// The execution modes of a kernel other than its local size, as sorted text.
#[derive(Clone, Debug)]
pub(crate) struct Modes {
    /// How it computes with floats; `None` if it has none.
    floats: Option<Vec<String>>,
    others: Vec<String>,
}

impl Modes {
    pub(super) fn of(module: &Module, floats: Floats) -> Self {
        let text = |which: fn(&Instruction) -> bool| {
            let modes = module.execution_modes.iter().filter(|mode| !is_local_size(mode) && which(mode));
            let mut modes: Vec<String> = modes
                .map(|mode| mode.operands[1..].iter().map(|o| o.to_string()).collect::<Vec<_>>().join(" "))
                .collect();
            modes.sort();
            modes
        };
        let has_floats = floats != Floats::None;
        Self {
            floats: has_floats.then(|| text(is_float_control)),
            others: text(|mode| !is_float_control(mode)),
        }
    }

    /// Whether two kernels can stand in one module. The modes of floats are nothing to a kernel without floats.
    pub(crate) fn agree(&self, other: &Modes) -> Result<(), Reason> {
        if let (Some(own), Some(theirs)) = (&self.floats, &other.floats)
            && own != theirs
            && !mutant!(FloatModesAreOne)
        {
            return Err(Reason::FloatControls);
        }
        let differs = |mode: &&String| !(self.others.contains(mode) && other.others.contains(mode));
        match self.others.iter().chain(&other.others).find(differs) {
            Some(mode) => Err(Reason::ExecutionMode { mode: mode.clone() }),
            None => Ok(()),
        }
    }

    /// What a module with this kernel has to declare besides its local size. `module` is the kernel's own.
    pub(crate) fn asked<'a>(&self, module: &'a Module) -> impl Iterator<Item = &'a Instruction> + use<'a> {
        let has_floats = self.floats.is_some();
        let modes = module.execution_modes.iter();
        modes.filter(move |mode| !is_local_size(mode) && (has_floats || !is_float_control(mode)))
    }

    /// Has a module with this kernel, to which the arithmetic of another is added, compute with floats as that one does.
    /// They agree.
    pub(crate) fn take(&self, other: &Modes, from: &Module, module: &mut Module) {
        let entry = module.entry_points.first().and_then(|inst| inst.operands.get(1)).cloned();
        if let (None, Some(_), Some(entry)) = (&self.floats, &other.floats, entry) {
            module.execution_modes.retain(|mode| !is_float_control(mode));
            for mode in from.execution_modes.iter().filter(|mode| is_float_control(mode)) {
                let mut mode = mode.clone();
                mode.operands[0] = entry.clone();
                module.execution_modes.push(mode);
            }
        }
    }
}

fn is_local_size(mode: &Instruction) -> bool {
    mode.operands.get(1) == Some(&Operand::ExecutionMode(ExecutionMode::LocalSize))
}

fn is_float_control(mode: &Instruction) -> bool {
    matches!(
        mode.operands.get(1),
        Some(Operand::ExecutionMode(
            ExecutionMode::DenormPreserve
                | ExecutionMode::DenormFlushToZero
                | ExecutionMode::SignedZeroInfNanPreserve
                | ExecutionMode::RoundingModeRTE
                | ExecutionMode::RoundingModeRTZ
        ))
    )
}
