//! Instructions, and the addresses that they take.

use rspirv::dr::Operand;
use rspirv::spirv::{MemoryAccess, Op, Word};

use super::body::Writer;
use crate::ir::entity::{Inst, Place, Value};
use crate::ir::function::Root;
use crate::ir::inst::{Access, Arg, Operation};
use crate::ir::opcodes::instruction;

impl Writer<'_, '_> {
    /// The id of a pointer to a place.
    pub(super) fn address(&mut self, place: Place) -> Word {
        if self.f.places[place].path.is_empty() {
            return self.root(place);
        }
        match self.addresses[place] {
            Some(id) => id,
            None => self.chain(place),
        }
    }

    fn root(&mut self, place: Place) -> Word {
        match self.f.places[place].root {
            Root::Global(global) => self.exporter.global(global),
            Root::Local(local) => match self.locals[local] {
                Some(id) => id,
                None => self.exporter.fresh(),
            },
            Root::Pointer(value) => self.id(value),
        }
    }

    /// Computes the address of a place.
    pub(super) fn chain(&mut self, place: Place) -> Word {
        let data = &self.f.places[place];
        let mut operands = Vec::with_capacity(data.path.len() + 1);
        operands.push(Operand::IdRef(self.root(place)));
        for &index in &data.path {
            operands.push(Operand::IdRef(self.id(index)));
        }
        let id = self.exporter.fresh();
        self.addresses[place] = Some(id);
        self.exporter.annotate(id, data.decorations);
        let op = if data.in_bounds { Op::InBoundsAccessChain } else { Op::AccessChain };
        let ty = self.exporter.ty(data.pointer);
        self.push(instruction(op, Some(ty), Some(id), operands));
        id
    }

    /// Writes an instruction.
    pub(super) fn instruction(&mut self, inst: Inst) {
        let data = &self.f.insts[inst];
        let (op, operands) = self.operands(&data.operation);
        let ty = data.result.map(|value| self.exporter.ty(self.f.values[value].ty));
        let id = data.result.map(|value| self.define(value));
        self.push(instruction(op, ty, id, operands));
    }

    fn refs(&mut self, args: &[Value], operands: &mut Vec<Operand>) {
        operands.extend(args.iter().map(|&arg| Operand::IdRef(self.id(arg))));
    }

    fn operands(&mut self, operation: &Operation) -> (Op, Vec<Operand>) {
        let mut operands = Vec::new();
        let op = match operation {
            Operation::Pure { op, args, literals } => {
                self.refs(args, &mut operands);
                operands.extend(literals.iter().map(|&literal| Operand::LiteralBit32(literal)));
                *op
            }
            Operation::Ext { set, number, args, .. } => {
                operands.push(Operand::IdRef(self.exporter.set(*set)));
                operands.push(Operand::LiteralExtInstInteger(*number));
                self.refs(args, &mut operands);
                Op::ExtInst
            }
            Operation::Load { place, access } => {
                operands.push(Operand::IdRef(self.address(*place)));
                self.access(*access, &mut operands);
                Op::Load
            }
            Operation::Store { place, value, access } => {
                operands.push(Operand::IdRef(self.address(*place)));
                self.refs(&[*value], &mut operands);
                self.access(*access, &mut operands);
                Op::Store
            }
            Operation::Length { place, member } => {
                operands.push(Operand::IdRef(self.address(*place)));
                operands.push(Operand::LiteralBit32(*member));
                Op::ArrayLength
            }
            Operation::Atomic { op, place, scope, semantics, unequal, args } => {
                operands.push(Operand::IdRef(self.address(*place)));
                operands.push(Operand::IdScope(self.exporter.word(*scope as u32)));
                for semantics in [Some(*semantics), *unequal].into_iter().flatten() {
                    operands.push(Operand::IdMemorySemantics(self.exporter.word(semantics.bits())));
                }
                self.refs(args, &mut operands);
                *op
            }
            Operation::Barrier { execution, memory, semantics } => {
                for scope in [*execution, Some(*memory)].into_iter().flatten() {
                    operands.push(Operand::IdScope(self.exporter.word(scope as u32)));
                }
                operands.push(Operand::IdMemorySemantics(self.exporter.word(semantics.bits())));
                if execution.is_some() { Op::ControlBarrier } else { Op::MemoryBarrier }
            }
            Operation::Call { function, args } => {
                operands.push(Operand::IdRef(self.exporter.function(*function)));
                self.refs(args, &mut operands);
                Op::FunctionCall
            }
            Operation::Other { op, operands: all } => {
                for arg in all {
                    operands.push(match arg {
                        Arg::Value(value) => Operand::IdRef(self.id(*value)),
                        Arg::Scope(value) => Operand::IdScope(self.id(*value)),
                        Arg::Semantics(value) => Operand::IdMemorySemantics(self.id(*value)),
                        Arg::Type(ty) => Operand::IdRef(self.exporter.ty(*ty)),
                        Arg::Literal(literal) => literal.clone(),
                    });
                }
                *op
            }
        };
        (op, operands)
    }

    fn access(&mut self, access: Access, operands: &mut Vec<Operand>) {
        let mut mask = access.flags.0;
        mask.set(MemoryAccess::ALIGNED, access.align.is_some());
        mask.set(MemoryAccess::MAKE_POINTER_AVAILABLE, access.available.is_some());
        mask.set(MemoryAccess::MAKE_POINTER_VISIBLE, access.visible.is_some());
        if mask.is_empty() {
            return;
        }
        operands.push(Operand::MemoryAccess(mask));
        operands.extend(access.align.map(Operand::LiteralBit32));
        for scope in [access.available, access.visible].into_iter().flatten() {
            operands.push(Operand::IdScope(self.exporter.word(scope as u32)));
        }
    }
}
