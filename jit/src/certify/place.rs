//! Pointers as a variable and a byte offset in it, in words of at most 64 bits that hold every address of the list.

use rspirv::spirv::Op;

use super::body::{Lines, Shape};
use super::term::{Compare, Origin, Term, Word, mask};
use super::trace::{FrameId, Path, Trace, World};

/// What a pointer leads to.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) variable: u32,
    /// Bytes from the start of the variable.
    pub(super) offset: Term,
    pub(super) ty: u32,
    lines: Lines,
    /// Inside a matrix that lies by rows: bytes between the components of a column.
    row: Option<u64>,
    /// Whether all indices are below what their arrays hold.
    pub(super) inside: Term,
    /// The indices as far as they are numbers.
    pub(super) steps: Vec<Option<u64>>,
    /// The start of the element of the outermost array it goes through, and the index that led there.
    pub(super) element: Option<(Term, Term)>,
}

/// A contiguous part of what an access touches: distance from its first byte, and size.
pub(super) type Piece = (u64, u64);

/// Most pieces of one access; whatever has more is taken for one piece where it may be touched, and for none where it
/// has to be.
const MAX_PIECES: usize = 64;

impl Trace<'_> {
    /// Follows a pointer in a frame.
    pub(super) fn place(&mut self, w: &mut World, frame: FrameId, pointer: u32) -> Option<Place> {
        if let Some(variable) = self.body().variables.get(&pointer) {
            let ty = variable.ty;
            return Some(Place {
                variable: pointer,
                offset: w.terms.constant(0, w.address),
                ty,
                lines: Lines::default(),
                row: None,
                inside: w.terms.truth(true),
                steps: Vec::new(),
                element: None,
            });
        }
        let (_, inst) = self.body().local(pointer)?;
        let base = inst.operands.first()?.id_ref_any()?;
        let mut place = self.place(w, frame, base)?;
        match inst.class.opcode {
            Op::CopyObject => {}
            Op::AccessChain | Op::InBoundsAccessChain => {
                for operand in &inst.operands[1..] {
                    let index = self.leaf(w, frame, operand.id_ref_any()?, Path::new());
                    self.step(w, &mut place, index)?;
                }
            }
            _ => return None,
        }
        Some(place)
    }

    pub(super) fn step(&mut self, w: &mut World, place: &mut Place, index: Term) -> Option<()> {
        let fixed = w.terms.value(index);
        place.steps.push(fixed);
        let (next, stride, count) = match *self.body().shape(place.ty) {
            Shape::Struct { ref parts } => {
                let field = *parts.get(fixed? as usize)?;
                let offset = w.terms.constant(field.offset, w.address);
                place.offset = w.terms.word(Word::Add, place.offset, offset);
                place.ty = field.ty;
                if field.lines.stride != 0 {
                    place.lines = field.lines;
                }
                return Some(());
            }
            Shape::Array { part, count, stride } => (part, stride, Some(count)),
            Shape::Endless { part, stride } => (part, stride, None),
            Shape::Matrix { column, count } => {
                let Shape::Vector { part, .. } = *self.body().shape(column) else { return None };
                let scalar = u64::from(self.body().width(part)?) / 8;
                let (stride, row) = if place.lines.by_rows {
                    (scalar, Some(place.lines.stride))
                } else {
                    (place.lines.stride, None)
                };
                place.row = row;
                (column, stride, Some(u64::from(count)))
            }
            Shape::Vector { part, count } => {
                let scalar = u64::from(self.body().width(part)?) / 8;
                (part, place.row.take().unwrap_or(scalar), Some(u64::from(count)))
            }
            _ => return None,
        };
        let is_array = matches!(self.body().shape(place.ty), Shape::Array { .. } | Shape::Endless { .. });
        // An index is a signed number; one that is not below this limit is past every array and every buffer.
        let width = w.terms.width(index);
        let room = mask(w.address) >> 4;
        let limit = count.unwrap_or(u64::MAX).min(room / stride.max(1)).min(mask(width) >> 1);
        let inside = match w.terms.range(index).1 < limit {
            true => w.terms.truth(true),
            false => {
                let limit = w.terms.constant(limit, width);
                w.terms.compare(Compare::ULess, index, limit)
            }
        };
        let index = if width < 32 && w.terms.range(index).1 > mask(width) >> 1 {
            // Compilers disagree on the sign of narrow indices: such a one may lead anywhere.
            let anywhere = self.unknown(w, w.address, Origin::Unknown, "narrow index into", place.variable);
            let wide = w.terms.extend(index, w.address, false);
            w.terms.choose(inside, wide, anywhere)
        } else {
            place.inside = w.terms.both(place.inside, inside);
            w.terms.extend(index, w.address, false)
        };
        let stride = w.terms.constant(stride, w.address);
        let way = w.terms.word(Word::Mul, index, stride);
        place.offset = w.terms.word(Word::Add, place.offset, way);
        place.ty = next;
        if is_array && place.element.is_none() {
            place.element = Some((place.offset, index));
        }
        Some(())
    }

    /// Byte offset of what fixed indices lead to.
    pub(super) fn fixed_offset(&self, mut ty: u32, steps: &[u32]) -> Option<u64> {
        let (mut offset, mut lines) = (0, Lines::default());
        for &step in steps {
            let stride = match self.body().shape(ty) {
                Shape::Struct { parts } => {
                    let field = parts.get(step as usize)?;
                    offset += field.offset;
                    if field.lines.stride != 0 {
                        lines = field.lines;
                    }
                    ty = field.ty;
                    continue;
                }
                Shape::Array { part, stride, .. } => {
                    ty = *part;
                    *stride
                }
                Shape::Matrix { column, .. } if !lines.by_rows => {
                    ty = *column;
                    lines.stride
                }
                Shape::Vector { part, .. } => {
                    ty = *part;
                    u64::from(self.body().width(*part)?) / 8
                }
                _ => return None,
            };
            offset += u64::from(step) * stride;
        }
        Some(offset)
    }

    /// The bytes that an access to a whole value at a place touches.
    pub(super) fn pieces(&self, place: &Place) -> Option<Vec<Piece>> {
        let mut pieces = Vec::new();
        match (place.row, self.body().shape(place.ty)) {
            (Some(row), &Shape::Vector { part, count }) => {
                let size = u64::from(self.body().width(part)?) / 8;
                (0..u64::from(count)).for_each(|n| pieces.push((n * row, size)));
            }
            _ => self.collect(place.ty, place.lines, 0, &mut pieces)?,
        }
        pieces.sort_unstable();
        let mut joined: Vec<Piece> = Vec::new();
        for (at, size) in pieces {
            match joined.last_mut() {
                Some((first, length)) if *first + *length == at => *length += size,
                _ => joined.push((at, size)),
            }
        }
        (joined.len() <= MAX_PIECES).then_some(joined)
    }

    fn collect(&self, ty: u32, lines: Lines, at: u64, pieces: &mut Vec<Piece>) -> Option<()> {
        if pieces.len() > 64 * MAX_PIECES {
            return None;
        }
        match *self.body().shape(ty) {
            Shape::Vector { part, count } => {
                let size = u64::from(self.body().width(part)?) / 8;
                pieces.push((at, size * u64::from(count)));
            }
            Shape::Matrix { column, count } => {
                let Shape::Vector { part, count: rows } = *self.body().shape(column) else { return None };
                let size = u64::from(self.body().width(part)?) / 8;
                let (outer, inner) = if lines.by_rows { (rows, count) } else { (count, rows) };
                let line = size * u64::from(inner);
                (0..u64::from(outer)).for_each(|n| pieces.push((at + n * lines.stride, line)));
            }
            Shape::Array { part, count, stride } => {
                for n in 0..count {
                    self.collect(part, lines, at + n * stride, pieces)?;
                }
            }
            Shape::Struct { ref parts } => {
                for field in parts {
                    let lines = if field.lines.stride != 0 { field.lines } else { lines };
                    self.collect(field.ty, lines, at + field.offset, pieces)?;
                }
            }
            _ => pieces.push((at, u64::from(self.body().width(ty)?) / 8)),
        }
        Some(())
    }
}
