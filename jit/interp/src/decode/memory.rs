//! Loads, stores, copies, array lengths, pointer comparisons.

use rspirv::spirv::Op;

use super::scan::Raw;
use super::shape::Type;
use super::{Decoded, Decoder};
use crate::arith::{Binary, Num};
use crate::program::{Class, Inst};

impl Decoder<'_> {
    /// Decodes an instruction on pointers or memory; false if it is none.
    pub(super) fn memory(&mut self, raw: &Raw<'_>) -> Decoded<bool> {
        match raw.op {
            Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain => {
                self.chain(raw)?;
            }
            Op::Load => {
                let dst = self.register(raw.id, raw)?;
                self.load(raw, raw.arg(0)?, dst)?;
            }
            Op::Store => {
                let src = self.register(raw.arg(1)?, raw)?;
                self.store(raw, raw.arg(0)?, src)?;
            }
            Op::CopyMemory => {
                let (_, view, _) = self.pointer(raw.arg(1)?, raw)?;
                let temporary = self.allocate(self.shapes.lanes(view.ty))?;
                self.load(raw, raw.arg(1)?, temporary)?;
                self.store(raw, raw.arg(0)?, temporary)?;
            }
            Op::ArrayLength => self.array_length(raw)?,
            Op::PtrEqual | Op::PtrNotEqual => self.compare_pointers(raw)?,
            Op::PtrDiff => self.pointer_difference(raw)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn load(&mut self, raw: &Raw<'_>, from: u32, dst: u32) -> Decoded<()> {
        let (class, view, pointer) = self.pointer(from, raw)?;
        let inst = match class {
            // The handle of an image or a sampler.
            Class::Buffer if matches!(self.shapes.get(view.ty), Type::Image(_) | Type::Sampler) => {
                Inst::Move { dst, src: pointer, n: 2 }
            }
            Class::Buffer | Class::Push => {
                let (first, n) = self.spans(view, class, raw)?;
                Inst::LoadBytes { push: class == Class::Push, dst, pointer, first, n }
            }
            Class::Block => {
                let (first, n) = self.spans(view, class, raw)?;
                Inst::LoadBlock { dst, pointer, first, n }
            }
            Class::Private | Class::Shared => {
                let n = self.shapes.lanes(view.ty);
                let asked = self.part_of(raw, class);
                Inst::LoadLanes { shared: class == Class::Shared, dst, pointer, n, asked }
            }
        };
        self.emit(raw, inst);
        Ok(())
    }

    pub(super) fn store(&mut self, raw: &Raw<'_>, to: u32, src: u32) -> Decoded<()> {
        let (class, view, pointer) = self.pointer(to, raw)?;
        let inst = match class {
            Class::Push => return Err(raw.malformed("push constants are read-only")),
            Class::Buffer => {
                let (first, n) = self.spans(view, class, raw)?;
                Inst::StoreBytes { src, pointer, first, n }
            }
            Class::Block => {
                let (first, n) = self.spans(view, class, raw)?;
                Inst::StoreBlock { src, pointer, first, n }
            }
            Class::Private | Class::Shared => {
                let n = self.shapes.lanes(view.ty);
                let changed = self.part_of(raw, class);
                Inst::StoreLanes { shared: class == Class::Shared, src, pointer, n, changed }
            }
        };
        self.emit(raw, inst);
        Ok(())
    }

    fn array_length(&mut self, raw: &Raw<'_>) -> Decoded<()> {
        let (class, view, pointer) = self.pointer(raw.arg(0)?, raw)?;
        let Type::Struct(members) = self.shapes.get(view.ty) else {
            return Err(raw.malformed("the operand does not point at a structure"));
        };
        let member = members.get(raw.arg(1)? as usize).copied();
        let member = member.ok_or_else(|| raw.malformed("index outside a structure"))?;
        match (class, self.shapes.get(member.ty), member.offset) {
            (Class::Buffer, Type::RuntimeArray { stride: Some(stride @ 1..), .. }, Some(offset)) => {
                let stride = *stride;
                let dst = self.register(raw.id, raw)?;
                self.emit(raw, Inst::ArrayLength { dst, pointer, offset, stride });
                Ok(())
            }
            _ => Err(raw.malformed("the member is not a runtime array with a layout")),
        }
    }

    /// Equal means the same memory at the same offset: both lanes.
    fn compare_pointers(&mut self, raw: &Raw<'_>) -> Decoded<()> {
        let (_, _, a) = self.pointer(raw.arg(0)?, raw)?;
        let (_, _, b) = self.pointer(raw.arg(1)?, raw)?;
        let dst = self.register(raw.id, raw)?;
        let lanes = self.allocate(2)?;
        let equal = raw.op == Op::PtrEqual;
        let op = if equal { Binary::Equal } else { Binary::NotEqual };
        self.emit(raw, Inst::Binary { op, num: Num::Int(64), splat: false, dst: lanes, a, b, n: 2 });
        let a = lanes;
        self.emit(raw, if equal { Inst::All { dst, a, n: 2 } } else { Inst::Any { dst, a, n: 2 } });
        Ok(())
    }

    fn pointer_difference(&mut self, raw: &Raw<'_>) -> Decoded<()> {
        let (class, view, a) = self.pointer(raw.arg(0)?, raw)?;
        let (_, _, b) = self.pointer(raw.arg(1)?, raw)?;
        let stride = match (class, self.shapes.get(self.value_type(raw.arg(0)?, raw)?)) {
            (Class::Buffer | Class::Push | Class::Block, Type::Pointer { stride, .. }) => *stride,
            _ => Some(self.shapes.lanes(view.ty)),
        };
        let step =
            stride.filter(|step| *step > 0).ok_or_else(|| raw.malformed("the pointer has no ArrayStride"))?;
        let bits = self.shapes.bits(raw.ty, raw)?;
        let dst = self.register(raw.id, raw)?;
        self.emit(raw, Inst::PointerDifference { dst, a, b, step, bits });
        Ok(())
    }
}
