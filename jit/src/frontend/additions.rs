//! Ids and declarations that are added to a module.

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::Op;

use super::opcodes::instruction;

/// What is added to a module: ids that are free there, and types and constants, to stand behind those that it has.
pub(crate) struct Additions {
    bound: u32,
    globals: Vec<Instruction>,
}

impl Additions {
    /// Nothing is added to a module yet; `None` if it has no header.
    pub(crate) fn to(module: &Module) -> Option<Self> {
        Some(Self { bound: module.header.as_ref()?.bound, globals: Vec::new() })
    }

    /// An id that is free.
    pub(crate) fn fresh(&mut self) -> u32 {
        self.bound += 1;
        self.bound - 1
    }

    /// A new type or constant.
    pub(crate) fn global(&mut self, op: Op, ty: Option<u32>, operands: Vec<Operand>) -> u32 {
        let id = self.fresh();
        self.globals.push(instruction(op, ty, Some(id), operands));
        id
    }

    /// Adds all that to the module.
    pub(crate) fn finish(mut self, module: &mut Module) {
        module.types_global_values.append(&mut self.globals);
        if let Some(header) = &mut module.header {
            header.bound = self.bound;
        }
    }
}
