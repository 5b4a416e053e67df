//! The bytes of memory that a value takes, without padding and the gaps of strided layouts.
//!
//! Two accesses can meet only within the *hull* of each, from the first byte to the last. But a store has *written* only
//! its pieces: `{uint8_t; float}` has three bytes of padding that keep their contents, and the
//! columns of a row-major matrix are a row apart.

use smallvec::SmallVec;

use crate::frontend::types::{MatrixLayout, Type, Types};

/// Ranges of bytes that do not touch each other, in order, from the first byte of the value.
pub(crate) type Pieces = SmallVec<[(u64, u64); 1]>;

/// Most pieces that are distinguished.
const MAX_PIECES: usize = 256;

/// Most parts of a type that are looked at: a small type can have any number of members.
const MAX_PARTS: u32 = 1 << 12;

/// Pieces in the order in which they are met.
struct Found {
    pieces: Pieces,
    /// Parts that may still be looked at.
    budget: u32,
}

impl Found {
    fn add(&mut self, at: u64, size: u64) -> Option<()> {
        let end = at.checked_add(size)?;
        let count = self.pieces.len();
        match self.pieces.last_mut() {
            _ if size == 0 => {}
            Some(last) if last.1 == at => last.1 = end,
            _ if count == MAX_PIECES => return None,
            _ => self.pieces.push((at, end)),
        }
        Some(())
    }
}

impl Types {
    /// The bytes of a value, if its type lies in memory and has not very many pieces. `row_stride` is the distance
    /// between the components of a vector that is a column of a row-major matrix.
    pub(crate) fn pieces(&self, id: u32, matrix: MatrixLayout, row_stride: Option<u64>) -> Option<Pieces> {
        let mut found = Found { pieces: Pieces::new(), budget: MAX_PARTS };
        match (row_stride, self.get(id)) {
            (Some(stride), Type::Vector { element, count }) => {
                for n in 0..u64::from(*count) {
                    found.add(n.checked_mul(stride)?, self.span(*element, matrix))?;
                }
            }
            _ => self.add_pieces(id, matrix, 0, &mut found)?,
        }
        found.pieces.sort_unstable();
        let mut joined = Pieces::new();
        for (from, to) in found.pieces {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        Some(joined)
    }

    fn add_pieces(&self, id: u32, matrix: MatrixLayout, at: u64, found: &mut Found) -> Option<()> {
        found.budget = found.budget.checked_sub(1)?;
        match self.get(id) {
            Type::Int { .. } | Type::Float { .. } | Type::Pointer { .. } => {
                found.add(at, self.span(id, matrix))
            }
            Type::Vector { element, count } => {
                found.add(at, self.span(*element, matrix).checked_mul(u64::from(*count))?)
            }
            Type::Matrix { column, count } => {
                let Type::Vector { element, count: rows } = self.get(*column) else { return None };
                let (lines, per_line) = if matrix.row_major { (*rows, *count) } else { (*count, *rows) };
                let line = self.span(*element, matrix).checked_mul(u64::from(per_line))?;
                for n in 0..u64::from(lines) {
                    found.add(at.checked_add(n.checked_mul(u64::from(matrix.stride))?)?, line)?;
                }
                Some(())
            }
            Type::Array { element, count, stride } => {
                let mut one = Found { pieces: Pieces::new(), budget: found.budget };
                self.add_pieces(*element, matrix, 0, &mut one)?;
                found.budget = one.budget;
                let stride = u64::from(*stride);
                match one.pieces.as_slice() {
                    [] => Some(()),
                    // Elements without a gap are one piece, however many there are.
                    &[(0, end)] if end == stride => found.add(at, stride.checked_mul(*count)?),
                    pieces => (0..*count).try_for_each(|n| {
                        let at = at.checked_add(n.checked_mul(stride)?)?;
                        pieces.iter().try_for_each(|&(from, to)| found.add(at.checked_add(from)?, to - from))
                    }),
                }
            }
            Type::Struct { members } => {
                for member in members {
                    let at = at.checked_add(u64::from(member.offset))?;
                    self.add_pieces(member.ty, member.matrix, at, found)?;
                }
                Some(())
            }
            Type::Bool | Type::RuntimeArray { .. } | Type::Other => None,
        }
    }
}
