//! Pointers: access chains, and where the scalars behind a pointer lie.

use rspirv::spirv::Op;

use super::scan::Raw;
use super::shape::{MatrixLayout, Type};
use super::{Decoded, Decoder};
use crate::arith::sign_extend;
use crate::program::{Class, Inst, Span, Term};

/// What a pointer points at. The layout of a matrix is a matter of the member that holds it, so it
/// is carried along from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct View {
    pub(super) ty: u32,
    matrix: Option<MatrixLayout>,
    /// Bytes between the components of a column of a row-major matrix.
    step: Option<u32>,
}

impl View {
    pub(super) fn of(ty: u32) -> Self {
        Self { ty, matrix: None, step: None }
    }
}

/// Most scalars in one load or store.
const SPAN_LIMIT: usize = 1 << 16;

impl Decoder<'_> {
    /// Class, view and register of a pointer.
    pub(super) fn pointer(&mut self, id: u32, raw: &Raw<'_>) -> Decoded<(Class, View, u32)> {
        let register = self.register(id, raw)?;
        let ty = self.value_type(id, raw)?;
        let Type::Pointer { class, to, .. } = *self.shapes.get(ty) else {
            return Err(raw.malformed("an operand is not a pointer"));
        };
        let view = self.views[id as usize].unwrap_or(View::of(to));
        Ok((self.class_of(class, raw)?, view, register))
    }

    /// The scalars behind a pointer into byte memory, as a range of the span table.
    pub(super) fn spans(&mut self, view: View, class: Class, raw: &Raw<'_>) -> Decoded<(u32, u32)> {
        let known = self.span_cache.get(&view).copied();
        let (first, n) = match known {
            Some(range) => range,
            None => {
                let mut spans = Vec::new();
                self.add_spans(view, 0, &mut spans, raw)?;
                let first = self.program.spans.len() as u32;
                let range = (first, spans.len() as u32);
                self.program.spans.append(&mut spans);
                self.span_cache.insert(view, range);
                range
            }
        };
        if class == Class::Buffer {
            for span in &self.program.spans[first as usize..(first + n) as usize] {
                self.grain_bits |= span.offset | span.bytes;
            }
        }
        Ok((first, n))
    }

    fn add_spans(&self, view: View, offset: u32, out: &mut Vec<Span>, raw: &Raw<'_>) -> Decoded<()> {
        let over = || raw.unsupported("a value is empty or too large");
        let at = |stride: u32, index: u32| {
            stride.checked_mul(index).and_then(|bytes| bytes.checked_add(offset)).ok_or_else(over)
        };
        // The second is a value of nothing, which must not be repeated without bound.
        if out.len() > SPAN_LIMIT || self.shapes.lanes(view.ty) == 0 {
            return Err(over());
        }
        match self.shapes.get(view.ty) {
            Type::Scalar(num) if num.bits() >= 8 => out.push(Span { offset, bytes: num.bits() / 8 }),
            Type::Vector { of, len } => {
                let stride = view.step.unwrap_or(self.shapes.bits(*of, raw)? / 8);
                for index in 0..*len {
                    self.add_spans(View::of(*of), at(stride, index)?, out, raw)?;
                }
            }
            Type::Matrix { len, .. } => {
                for index in 0..*len {
                    let (column, stride) = self.column(view, raw)?;
                    self.add_spans(column, at(stride, index)?, out, raw)?;
                }
            }
            Type::Array { of, len, stride } => {
                let stride =
                    stride.ok_or_else(|| raw.malformed("an array in a buffer has no ArrayStride"))?;
                for index in 0..*len {
                    self.add_spans(View { ty: *of, ..view }, at(stride, index)?, out, raw)?;
                }
            }
            Type::Struct(members) => {
                for member in members {
                    let first =
                        member.offset.ok_or_else(|| raw.malformed("a member in a buffer has no Offset"))?;
                    let inner = View { ty: member.ty, matrix: member.matrix, step: None };
                    self.add_spans(inner, at(first, 1)?, out, raw)?;
                }
            }
            _ => return Err(raw.unsupported("a value of this type does not lie in bytes")),
        }
        Ok(())
    }

    /// View of the columns of a matrix, and the bytes between them.
    fn column(&self, view: View, raw: &Raw<'_>) -> Decoded<(View, u32)> {
        let Type::Matrix { of, .. } = *self.shapes.get(view.ty) else {
            return Err(raw.malformed("not a matrix"));
        };
        let layout =
            view.matrix.ok_or_else(|| raw.unsupported("a matrix whose MatrixStride is not known here"))?;
        let scalar = self.shapes.bits(of, raw)? / 8;
        Ok(if layout.row_major {
            (View { ty: of, matrix: None, step: Some(layout.stride) }, scalar)
        } else {
            (View::of(of), layout.stride)
        })
    }

    /// `OpAccessChain` and its relatives.
    pub(super) fn chain(&mut self, raw: &Raw<'_>) -> Decoded<()> {
        let (class, mut view, base) = self.pointer(raw.arg(0)?, raw)?;
        let bytes = matches!(class, Class::Buffer | Class::Push | Class::Block);
        let mut offset = 0u32;
        let mut terms = Vec::new();
        let mut indices = raw.rest(1).iter().copied();
        if matches!(raw.op, Op::PtrAccessChain | Op::InBoundsPtrAccessChain) {
            let index = indices.next().ok_or_else(|| raw.malformed("an operand is missing"))?;
            let stride = if bytes {
                let ty = self.value_type(raw.arg(0)?, raw)?;
                match self.shapes.get(ty) {
                    Type::Pointer { stride: Some(stride), .. } => *stride,
                    _ => return Err(raw.malformed("a pointer that is stepped has no ArrayStride")),
                }
            } else {
                self.shapes.lanes(view.ty)
            };
            terms.push(self.term(index, stride, u64::MAX, raw)?);
        }
        for index in indices {
            let (stride, len, inner) = match self.shapes.get(view.ty) {
                Type::Struct(members) => {
                    let number = self.constant_value(index, raw)? as usize;
                    let member =
                        *members.get(number).ok_or_else(|| raw.malformed("index outside a structure"))?;
                    let first = if bytes { member.offset } else { Some(member.lane) };
                    let first = first.ok_or_else(|| raw.malformed("a member in a buffer has no Offset"))?;
                    offset =
                        offset.checked_add(first).ok_or_else(|| raw.unsupported("an offset is too large"))?;
                    view = View { ty: member.ty, matrix: member.matrix, step: None };
                    continue;
                }
                Type::Array { of, len, stride } => {
                    let lanes = self.shapes.lanes(*of);
                    (if bytes { *stride } else { Some(lanes) }, u64::from(*len), View { ty: *of, ..view })
                }
                Type::RuntimeArray { of, stride } => (*stride, i64::MAX as u64, View { ty: *of, ..view }),
                Type::Vector { of, len } => {
                    let scalar = self.shapes.bits(*of, raw)? / 8;
                    let stride = if bytes { view.step.unwrap_or(scalar) } else { 1 };
                    (Some(stride), u64::from(*len), View::of(*of))
                }
                Type::Matrix { of, len } => {
                    if bytes {
                        let (column, stride) = self.column(view, raw)?;
                        (Some(stride), u64::from(*len), column)
                    } else {
                        (Some(self.shapes.lanes(*of)), u64::from(*len), View::of(*of))
                    }
                }
                Type::Opaque => return Err(raw.unsupported("the type it leads into is not interpreted")),
                _ => return Err(raw.malformed("an index into what is not a composite")),
            };
            let stride = stride.ok_or_else(|| raw.malformed("an array in a buffer has no ArrayStride"))?;
            view = inner;
            let term = self.term(index, stride, len, raw)?;
            match self.folded(index, &term, raw) {
                Some(step) if offset.checked_add(step).is_some() => offset += step,
                _ => terms.push(term),
            }
        }
        if class == Class::Buffer {
            self.grain_bits |= offset;
            terms.iter().for_each(|term| self.grain_bits |= term.stride);
        }
        let dst = self.register(raw.id, raw)?;
        self.views[raw.id as usize] = Some(view);
        let first = self.program.terms.len() as u32;
        let count = terms.len() as u32;
        self.program.terms.append(&mut terms);
        self.emit(raw, Inst::Chain { dst, base, offset, first, count });
        Ok(())
    }

    fn term(&mut self, index: u32, stride: u32, len: u64, raw: &Raw<'_>) -> Decoded<Term> {
        let bits = self.shapes.bits(self.value_type(index, raw)?, raw)?;
        Ok(Term { register: self.register(index, raw)?, bits, stride, len })
    }

    /// The offset of a constant index inside the declared length. Others are left to run time, which
    /// reports them where they are used.
    fn folded(&self, index: u32, term: &Term, raw: &Raw<'_>) -> Option<u32> {
        let value = self.constant_value(index, raw).ok()?;
        let value = u32::try_from(sign_extend(value, term.bits)).ok()?;
        if u64::from(value) < term.len { value.checked_mul(term.stride) } else { None }
    }
}
