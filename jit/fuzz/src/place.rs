//! Which elements an invocation has to do with: expressions of the ids, most of them one-to-one.

use crate::random::Random;

/// Elements that every fixed array has room for; all families stay below for usual sizes.
pub(crate) const ROOM: u32 = 448;

/// A way of sharing out elements: each invocation has four of its own, numbered by `j`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Family {
    /// `g`
    Own,
    /// `g + c`
    Shifted(u32),
    /// `4 g + j`, with another factor
    Blocked(u32),
    /// `j s + g` with the push constant `s` or a number
    Strided(Option<u32>),
    /// From the end: `s - 1 - g`
    Reversed,
    /// `g ^ c`
    Xor(u32),
    /// `(5 g + c) mod 128`
    Multiplied(u32, u32),
    /// Rows into columns
    Transposed(u32),
    /// `g / c * c + g mod c`, which is `g`
    TakenApart(u32),
    /// The low bits of `g`
    Bits(u32),
    /// `c m + d g` with a number `m` from memory
    Cell(u32, u32),
    /// `(g + c) mod n`
    Rotated(u32),
    /// `w L + (l ^ c)`
    GroupXor(u32),
    /// `w L + (L - 1 - l)`
    GroupReversed,
    /// `w L + (l + c) mod L`
    GroupRotated(u32),
    /// `l W + w`: across groups
    Across,
    /// `w`, one for each group
    Group,
    /// Two of each two: `g & ~1`, shared by neighbours
    Neighbours(u32),
}

impl Family {
    /// A random one. Only where `grouped` is it one that knows its work-group.
    pub(crate) fn random(random: &mut Random, grouped: bool) -> Self {
        let small = random.between(1, 7);
        match random.below(if grouped { 30 } else { 22 }) {
            0..=4 => Self::Own,
            5 => Self::Shifted(random.one(&[1, 2, 4, 8, 16])),
            6..=8 => Self::Blocked(random.one(&[4, 4, 4, 2, 3, 5])),
            9 | 10 => Self::Strided(random.one(&[None, None, Some(96), Some(100), Some(64)])),
            11 => Self::Reversed,
            12 => Self::Xor(random.one(&[1, 2, 3, 5, 7, 8])),
            13 => Self::Multiplied(random.one(&[3, 5, 7]), small),
            14 => Self::Transposed(random.one(&[4, 8, 6])),
            15 => Self::TakenApart(random.one(&[3, 4, 8])),
            16 => Self::Bits(random.one(&[5, 6, 7])),
            17..=19 => Self::Cell(random.one(&[4, 4, 5, 3, 8]), random.one(&[3, 3, 1, 2, 4])),
            20 => Self::Rotated(random.one(&[0, 1, 5])),
            21 => Self::Own,
            22 | 23 => Self::GroupXor(random.one(&[1, 2, 3])),
            24 => Self::GroupReversed,
            25 | 26 => Self::GroupRotated(random.one(&[1, 2, 3])),
            27 => Self::Across,
            28 => Self::Group,
            _ => Self::Neighbours(random.one(&[2, 4])),
        }
    }

    /// Nearly the same.
    pub(crate) fn perturbed(self, random: &mut Random) -> Self {
        let turn = |n: u32, random: &mut Random| if random.percent(50) { n + 1 } else { n.max(2) - 1 };
        match self {
            Self::Own => random.one(&[Self::Shifted(1), Self::Shifted(4), Self::TakenApart(4), Self::Xor(1)]),
            Self::Shifted(c) => Self::Shifted(turn(c, random)),
            Self::Blocked(c) => Self::Blocked(turn(c, random)),
            Self::Strided(None) => Self::Strided(Some(96)),
            Self::Strided(Some(c)) => Self::Strided(Some(turn(c, random))),
            Self::Xor(c) => Self::Xor(turn(c, random)),
            Self::Multiplied(a, c) => Self::Multiplied(a, turn(c, random)),
            Self::Transposed(c) => Self::Transposed(turn(c, random)),
            Self::Bits(c) => Self::Bits(turn(c, random)),
            Self::Cell(a, b) => {
                if random.percent(70) {
                    Self::Cell(turn(a, random), b)
                } else {
                    Self::Cell(a, turn(b, random))
                }
            }
            Self::Rotated(c) => Self::Rotated(c + 1),
            Self::GroupXor(c) => Self::GroupXor(turn(c, random)),
            Self::GroupRotated(c) => Self::GroupRotated(turn(c, random)),
            Self::GroupReversed => Self::GroupXor(1),
            other => other,
        }
    }

    /// Whether different invocations always have different elements (of different `j` too).
    pub(crate) fn is_owned(self) -> bool {
        !matches!(self, Self::Group | Self::Neighbours(_) | Self::Bits(_))
    }

    pub(crate) fn needs_group(self) -> bool {
        matches!(
            self,
            Self::GroupXor(_) | Self::GroupReversed | Self::GroupRotated(_) | Self::Across | Self::Group
        )
    }

    /// The index of element `j` of an invocation. `g`, `l`, `w` are ids, `L` the size of a group as text.
    pub(crate) fn index(self, j: &str, g: &str, size: u32) -> String {
        let far = |base: String| match j {
            "0u" => base,
            _ => format!("{base} + {j} * 112u"),
        };
        match self {
            Self::Own => far(g.to_owned()),
            Self::Shifted(c) => far(format!("{g} + {c}u")),
            Self::Blocked(c) if j == "0u" => format!("{g} * {c}u"),
            Self::Blocked(c) => format!("{c}u * {g} + {j}"),
            Self::Strided(None) => format!("{j} * p.s + {g}"),
            Self::Strided(Some(c)) => format!("{j} * {c}u + {g}"),
            Self::Reversed => far(format!("(p.s - 1u - {g})")),
            Self::Xor(c) => far(format!("({g} ^ {c}u)")),
            Self::Multiplied(a, c) => far(format!("(({g} * {a}u + {c}u) & 127u)")),
            Self::Transposed(c) => far(format!("({g} % {c}u * 20u + {g} / {c}u)")),
            Self::TakenApart(c) => far(format!("({g} / {c}u * {c}u + {g} % {c}u)")),
            Self::Bits(c) => far(format!("bitfieldExtract({g}, 0, {c})")),
            Self::Cell(a, b) => far(format!("{a}u * c0 + {b}u * {g}")),
            Self::Rotated(c) => far(format!("({g} + {c}u) % max(p.n, 1u)")),
            Self::GroupXor(c) => far(format!("w * {size}u + (l ^ {c}u)")),
            Self::GroupReversed => far(format!("w * {size}u + ({} - l)", format_args!("{}u", size - 1))),
            Self::GroupRotated(c) => far(format!("w * {size}u + (l + {c}u) % {size}u")),
            Self::Across => far("l * 6u + w".to_owned()),
            Self::Group => far("w".to_owned()),
            Self::Neighbours(c) => far(format!("{g} / {c}u")),
        }
    }
}
