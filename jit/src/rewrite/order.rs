//! How the items of a kernel are numbered, and in which order a placed kernel does them.
//!
//! Both are part of the code: the counts and widths that go with them are push constants.

use smallvec::SmallVec;

/// The order in which a placed kernel does its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Order {
    /// A work-group a row: group `r`, local id `l` and round `k` of a loop do item `r w + l + k L`, where that is below
    /// `(r + 1) w`, with `L` invocations in a group, which are a line in one dimension. Push constant: `w`.
    Rows,
    /// An item an invocation: the one at `(x, y)` does item `y w + x`, if `x < w` and the item is below `n`. Push constants:
    /// `w`, `n`.
    Grid,
    /// An item an invocation, from one of them on: the invocation `x` of a line does item `x - s`, if `s <= x < e`. Push constants: `s`, `e`.
    Line,
}

impl Order {
    /// Push constants behind those of the kernel.
    pub(crate) fn words(self) -> u32 {
        match self {
            Order::Rows => 1,
            Order::Grid | Order::Line => 2,
        }
    }
}

/// The dimensions in which a dispatch has several work-groups. These are numbered in a line, `x` first; the number of one is
/// taken apart into its ids by the counts of all these dimensions but the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spread([bool; 3]);

impl Spread {
    pub(crate) fn of(groups: [u32; 3]) -> Self {
        Self(groups.map(|count| count != 1))
    }

    pub(super) fn dims(self) -> impl Iterator<Item = usize> {
        (0..3).filter(move |&d| self.0[d])
    }

    /// Dimensions whose counts are asked for.
    pub(super) fn counted(self) -> SmallVec<[usize; 2]> {
        let mut dims: SmallVec<[usize; 3]> = self.dims().collect();
        dims.pop();
        dims.into_iter().collect()
    }
}

/// The dimensions that count where items are numbered by their global ids, `x + a (y + b z)`: in the others there is only id 0. The last one goes on as long as there are
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digits([bool; 3]);

impl Digits {
    pub(crate) fn of(counts: [u32; 3]) -> Self {
        Self(counts.map(|count| count != 1))
    }

    /// The numbering of items of these counts in rows of this length.
    pub(crate) fn in_rows(counts: [u32; 3], length: u32) -> Numbering {
        let digits = Self::of(counts);
        let is_row = match digits.dims()[..] {
            [first, _, ..] if mutant!(BlocksAreRows) => length.is_multiple_of(counts[first]),
            [first, _, ..] => counts[first] == length,
            _ => false,
        };
        if is_row { Numbering::Rows(digits) } else { Numbering::GlobalIds(digits) }
    }

    pub(super) fn dims(self) -> SmallVec<[usize; 3]> {
        (0..3).filter(|&d| self.0[d]).collect()
    }
}

/// How the items of a kernel are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// Work-group by work-group, each in the order of its local index.
    Invocations(Spread),
    /// By their global ids.
    GlobalIds(Digits),
    /// The same where a row of the order has each value of the first of these ids once: it is the column, and the others number the rows.
    Rows(Digits),
}

impl Numbering {
    /// Dimensions whose counts are push constants behind those of the order.
    pub(super) fn counted(self) -> SmallVec<[usize; 2]> {
        match self {
            Numbering::Invocations(spread) => spread.counted(),
            Numbering::GlobalIds(digits) | Numbering::Rows(digits) => {
                let mut dims = digits.dims();
                dims.pop();
                dims.into_iter().skip(usize::from(matches!(self, Numbering::Rows(_)))).collect()
            }
        }
    }

    /// These push constants.
    pub(crate) fn counts(self, of: [u32; 3]) -> SmallVec<[u32; 2]> {
        self.counted().into_iter().map(|d| of[d]).collect()
    }

    pub(super) fn key(self) -> [u8; 4] {
        let (kind, [x, y, z]) = match self {
            Numbering::Invocations(Spread(dims)) => (0, dims.map(u8::from)),
            Numbering::GlobalIds(Digits(dims)) => (1, dims.map(u8::from)),
            Numbering::Rows(Digits(dims)) => (2, dims.map(u8::from)),
        };
        [kind, x, y, z]
    }
}

/// The dimension of work-groups that are a line.
pub(crate) fn line_of(local: [u32; 3]) -> Option<usize> {
    let mut long = (0..3).filter(|&d| local[d] != 1);
    let first = long.next().unwrap_or(0);
    long.next().is_none().then_some(first)
}
