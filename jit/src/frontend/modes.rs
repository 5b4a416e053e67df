//! Execution modes of an entry point, as they are declared.

use rspirv::binary::Assemble;
use rspirv::dr::{Module, Operand};
use rspirv::spirv::{ExecutionMode, Op};

use super::words;

/// An execution mode of an entry point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Its number in SPIR-V, known here or not.
    pub number: u32,
    /// Its operands.
    pub operands: Box<[u32]>,
}

impl Mode {
    /// Its name, or its number where the parser does not know it.
    pub fn name(&self) -> String {
        match ExecutionMode::from_u32(self.number) {
            Some(mode) => format!("{mode:?}"),
            None => self.number.to_string(),
        }
    }

    /// The width that it is for, of a mode of floats.
    pub fn width(&self) -> Option<u32> {
        self.operands.first().copied()
    }
}

/// The modes of a module with one entry point.
pub(super) fn of(module: &Module) -> Vec<Mode> {
    let mode = |operands: &[Operand]| {
        let [_, Operand::ExecutionMode(mode), operands @ ..] = operands else { return None };
        let mut words = Vec::new();
        operands.iter().for_each(|operand| operand.assemble_into(&mut words));
        Some(Mode { number: *mode as u32, operands: words.into() })
    };
    module.execution_modes.iter().filter_map(|inst| mode(&inst.operands)).collect()
}

/// The modes of an entry point, those among them that the parser does not know.
pub(super) fn of_words(words: &[u32], entry_id: u32) -> Vec<Mode> {
    words::instructions(words)
        .take_while(|inst| inst.op() != Some(Op::Function))
        .filter(|inst| matches!(inst.op(), Some(Op::ExecutionMode | Op::ExecutionModeId)))
        .filter(|inst| inst.at(0) == entry_id)
        .map(|inst| Mode { number: inst.at(1), operands: inst.from(2).into() })
        .collect()
}
