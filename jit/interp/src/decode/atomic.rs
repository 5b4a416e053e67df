//! Atomic instructions.

use rspirv::spirv::Op;

use super::chain::View;
use super::scan::Raw;
use super::shape::Type;
use super::{Decoded, Decoder};
use crate::arith::{Binary, Num};
use crate::program::{AtomicOp, Class, Inst};

/// What an atomic does, and at which operand its value is.
fn operation(op: Op) -> Option<(AtomicOp, Option<usize>)> {
    let update = |op| Some((AtomicOp::Update(op), Some(3)));
    match op {
        Op::AtomicLoad => Some((AtomicOp::Load, None)),
        Op::AtomicStore => Some((AtomicOp::Store, Some(3))),
        Op::AtomicExchange => Some((AtomicOp::Exchange, Some(3))),
        Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => {
            Some((AtomicOp::CompareExchange, Some(4)))
        }
        Op::AtomicIIncrement => Some((AtomicOp::Update(Binary::Add), None)),
        Op::AtomicIDecrement => Some((AtomicOp::Update(Binary::Sub), None)),
        Op::AtomicIAdd => update(Binary::Add),
        Op::AtomicISub => update(Binary::Sub),
        Op::AtomicSMin => update(Binary::SMin),
        Op::AtomicUMin => update(Binary::UMin),
        Op::AtomicSMax => update(Binary::SMax),
        Op::AtomicUMax => update(Binary::UMax),
        Op::AtomicAnd => update(Binary::And),
        Op::AtomicOr => update(Binary::Or),
        Op::AtomicXor => update(Binary::Xor),
        Op::AtomicFAddEXT => update(Binary::FAdd),
        Op::AtomicFMinEXT => update(Binary::FMin),
        Op::AtomicFMaxEXT => update(Binary::FMax),
        _ => None,
    }
}

impl Decoder<'_> {
    /// Decodes an atomic instruction; false if it is none.
    pub(super) fn atomic(&mut self, raw: &Raw<'_>) -> Decoded<bool> {
        let Some((op, value)) = operation(raw.op) else {
            return Ok(false);
        };
        let (class, view, pointer) = self.pointer(raw.arg(0)?, raw)?;
        let num = match *self.shapes.get(view.ty) {
            Type::Scalar(num) if num != Num::Bool => num,
            _ => return Err(raw.unsupported("only numbers are changed atomically")),
        };
        match class {
            Class::Buffer | Class::Block => {
                self.spans(View::of(view.ty), class, raw)?;
            }
            Class::Shared => {}
            Class::Push | Class::Private => {
                return Err(raw.unsupported("only buffers and shared variables are"));
            }
        }
        let value = match value {
            // `AtomicStore` has no result, so its operands start in the same place.
            Some(index) => self.register(raw.arg(index)?, raw)?,
            None => {
                let one = self.allocate(1)?;
                self.program.registers[one as usize] = 1;
                one
            }
        };
        let comparator = match op {
            AtomicOp::CompareExchange => self.register(raw.arg(5)?, raw)?,
            _ => value,
        };
        let dst = if raw.id == 0 { self.allocate(1)? } else { self.register(raw.id, raw)? };
        self.program.has_atomics = true;
        self.emit(raw, Inst::Atomic { op, num, class, dst, pointer, value, comparator });
        Ok(true)
    }
}
