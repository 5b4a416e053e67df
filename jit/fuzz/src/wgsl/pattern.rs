//! Which element an item touches: as WGSL text, and as what is known of it by construction.

use super::bench::{Bench, Cover};

/// An index expression of a kernel over `e`, the element of the item's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// The item's own element.
    Own,
    /// This many elements further on.
    Shift(u32),
    /// Counted from the end.
    Reverse,
    /// Row and column exchanged (two dimensions).
    Transpose,
    /// `2 e`.
    Even,
    /// `2 e + 1`.
    Odd,
    /// The group's own elements from the end.
    GroupReverse,
    /// Neighbours in the group exchanged.
    GroupXor,
    /// The next element of the group, round and round.
    GroupRotate,
    /// The group's first element.
    Leader,
    /// One element for each group.
    Slot,
    /// The next element.
    Next,
    /// The element before.
    Previous,
    /// The element of the next row.
    Below,
    /// Element 0.
    Zero,
    /// `e / 2`.
    Half,
    /// `3 e mod n`.
    Thrice,
    /// `(e + 1) mod n`.
    Rotate,
    /// What a table says, which holds a permutation.
    Table,
    /// The element of the next group.
    NextSlot,
    /// The sum of all groups' elements.
    AllSlots,
    /// One of eight counters.
    Bin,
}

/// Accesses of one form to one buffer may follow each other in one fused kernel, whatever they are; those of
/// different forms may not, or it depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Each group keeps to the elements its items own.
    Own,
    /// The same, moved.
    Shift(u32),
    /// The same, counted from the end.
    Reverse,
    /// The same, transposed.
    Transpose,
    /// The same, with two elements each.
    Interleaved,
    /// Each group keeps to its one element.
    Slot,
    /// Groups touch each other's elements.
    Cross,
}

impl Pattern {
    /// What may stand beside it.
    pub(crate) fn form(self) -> Form {
        match self {
            Self::Own | Self::GroupReverse | Self::GroupXor | Self::GroupRotate | Self::Leader => Form::Own,
            Self::Shift(by) => Form::Shift(by),
            Self::Reverse => Form::Reverse,
            Self::Transpose => Form::Transpose,
            Self::Even | Self::Odd => Form::Interleaved,
            Self::Slot => Form::Slot,
            _ => Form::Cross,
        }
    }

    /// Whether other items of the group touch the element too.
    pub(crate) fn is_shared_in_group(self) -> bool {
        matches!(self, Self::GroupReverse | Self::GroupXor | Self::GroupRotate | Self::Leader | Self::Slot)
    }

    /// Whether its place depends on how many elements there are.
    pub(crate) fn depends_on_count(self) -> bool {
        matches!(self, Self::Reverse | Self::Transpose) || self.form() == Form::Cross
    }

    /// Whether, on buffers of the form that the flag says, it certainly makes two groups of at least four meet
    /// with what they own.
    pub(crate) fn certainly_crosses(self, bench: &Bench, size: &super::bench::Size) -> bool {
        let spread = bench.cover != Cover::GridStride;
        match self {
            Self::Next | Self::Previous | Self::Zero | Self::Half | Self::Rotate => true,
            Self::Bin => size.n >= 16,
            Self::Table | Self::Reverse => spread,
            Self::Thrice => spread && bench.dims == 1 && bench.cover != Cover::Rows,
            Self::Below => bench.cover == Cover::Rows || size.height > bench.local[1],
            Self::Transpose => bench.dims == 2 && size.width >= 2 && size.height > 2 * bench.local[1],
            Self::NextSlot | Self::AllSlots => true,
            _ => false,
        }
    }

    /// The index as text.
    pub(crate) fn text(self, bench: &Bench, variant: usize, table: &str) -> String {
        let by_rows = bench.cover == Cover::Rows;
        match self {
            Self::Own => match variant % 4 {
                1 if bench.dims == 1 => "(e / 4u) * 4u + e % 4u".into(),
                2 => "(e + 5u) - 5u".into(),
                3 => "e + p.k - p.k".into(),
                _ => "e".into(),
            },
            Self::Shift(by) => format!("e + {by}u"),
            Self::Reverse => "p.n - 1u - e".into(),
            Self::Transpose => "x * p.h + y".into(),
            Self::Even => "2u * e".into(),
            Self::Odd => if variant.is_multiple_of(2) { "2u * e + 1u" } else { "(e << 1u) | 1u" }.into(),
            Self::GroupReverse if by_rows => "g * p.w + (p.w - 1u - c)".into(),
            Self::GroupReverse if variant.is_multiple_of(2) => "g * L + (L - 1u - t)".into(),
            Self::GroupReverse => "(e / L) * L + (L - 1u - e % L)".into(),
            Self::GroupXor => "g * L + (t ^ 1u)".into(),
            Self::GroupRotate if by_rows => "g * p.w + (c + 1u) % p.w".into(),
            Self::GroupRotate => "g * L + (t + 1u) % L".into(),
            Self::Leader if by_rows => "g * p.w".into(),
            Self::Leader if bench.dims == 1 => "g * L".into(),
            Self::Leader => "(wid.y * LY) * p.w + wid.x * LX".into(),
            Self::Slot => "g".into(),
            Self::Next => "min(e + 1u, p.n - 1u)".into(),
            Self::Previous => {
                if variant.is_multiple_of(2) { "max(e, 1u) - 1u" } else { "select(e - 1u, 0u, e == 0u)" }
                    .into()
            }
            Self::Below if by_rows => "((g + 1u) % p.h) * p.w + c".into(),
            Self::Below => "min(y + 1u, p.h - 1u) * p.w + x".into(),
            Self::Zero => "0u".into(),
            Self::Half => if variant.is_multiple_of(2) { "e / 2u" } else { "e >> 1u" }.into(),
            Self::Thrice => "(e * 3u) % p.n".into(),
            Self::Rotate => "(e + 1u) % p.n".into(),
            Self::Table => format!("{table}[e]"),
            Self::NextSlot => "(g + 1u) % (nw.x * nw.y * nw.z)".into(),
            Self::AllSlots => "s".into(),
            Self::Bin => if variant.is_multiple_of(2) { "e % 8u" } else { "e & 7u" }.into(),
        }
    }
}
