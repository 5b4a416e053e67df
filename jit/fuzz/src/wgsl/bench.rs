//! What the kernels of a list have in common: work-group shape, how items share the elements out, element type.

use super::random::Random;

/// How items and elements go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cover {
    /// One element for each item.
    One,
    /// This many consecutive elements for each item.
    Blocked(u32),
    /// This many elements for each item, a work-group's size apart.
    Tiled(u32),
    /// As many as there are, the size of the whole dispatch apart.
    GridStride,
    /// One work-group for each row.
    Rows,
}

/// Type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// 32-bit integers.
    U32,
    /// 32-bit floats.
    F32,
}

impl Element {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::U32 => "u32",
            Self::F32 => "f32",
        }
    }

    pub(crate) fn zero(self) -> &'static str {
        match self {
            Self::U32 => "0u",
            Self::F32 => "0.0",
        }
    }
}

/// Kernels of one bench may work on each other's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bench {
    pub(crate) local: [u32; 3],
    /// Dimensions the index is made of.
    pub(crate) dims: u8,
    pub(crate) cover: Cover,
    pub(crate) element: Element,
}

/// Work-group shapes with the dimensions their kernels think in.
const SHAPES: [([u32; 3], u8); 16] = [
    ([8, 1, 1], 1),
    ([32, 1, 1], 1),
    ([16, 1, 1], 1),
    ([64, 1, 1], 1),
    ([1, 1, 1], 1),
    ([5, 1, 1], 1),
    ([4, 4, 1], 2),
    ([8, 4, 1], 2),
    ([4, 8, 1], 2),
    ([8, 2, 1], 2),
    ([16, 1, 1], 2),
    ([3, 5, 1], 2),
    ([1, 8, 1], 2),
    ([4, 2, 2], 3),
    ([2, 2, 2], 3),
    ([3, 1, 4], 3),
];

/// How many elements a submission works on, and in how many groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) n: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) depth: u32,
    pub(crate) groups: [u32; 3],
}

impl Bench {
    /// The bench of that number: the first few have everything, the others are random.
    pub(crate) fn random(random: &mut Random, number: usize) -> Self {
        let element = if random.one_in(3) { Element::F32 } else { Element::U32 };
        let (local, dims) = match number % 4 {
            0 => SHAPES[random.below(6)],
            1 => SHAPES[6 + random.below(7)],
            _ => *random.pick(&SHAPES),
        };
        let cover = match number % 4 {
            2 => *random.pick(&[Cover::Blocked(2), Cover::Blocked(4), Cover::Tiled(3), Cover::GridStride]),
            3 => Cover::Rows,
            _ => Cover::One,
        };
        if cover == Cover::One {
            return Self { local, dims, cover, element };
        }
        let local = *random.pick(&[[8, 1, 1], [32, 1, 1], [16, 1, 1], [5, 1, 1]]);
        Self { local, dims: 1, cover, element }
    }

    /// Items in a work-group.
    pub(crate) fn items(&self) -> u32 {
        self.local.iter().product()
    }

    /// Elements that belong to one work-group, where that is fixed.
    fn tile(&self) -> u32 {
        match self.cover {
            Cover::Blocked(k) | Cover::Tiled(k) => self.items() * k,
            _ => self.items(),
        }
    }

    /// A random size. With `wide`, at least four work-groups and 200 elements; with `exact`, groups without idle
    /// items.
    pub(crate) fn size(&self, random: &mut Random, wide: bool, exact: bool) -> Size {
        let [lx, ly, lz] = self.local;
        let mut size = Size { n: 0, width: 1, height: 1, depth: 1, groups: [1; 3] };
        let up = |n: u32, to: u32| if exact { n.next_multiple_of(to) } else { n };
        match self.dims {
            1 if self.cover == Cover::Rows => {
                size.width = 1 + random.below(50) as u32;
                size.height = if wide { 4 } else { 1 } + random.below(5) as u32;
                size.n = size.width * size.height;
            }
            1 => {
                let least = if wide { (4 * self.tile()).max(200) } else { 1 };
                size.n = up(least + random.below(150) as u32, self.tile());
                size.width = size.n;
            }
            _ => {
                let least = |l: u32| if wide { 2 * l + 1 } else { 1 };
                // Vectors of four may begin with some rows.
                let row = least(lx) + random.below(16) as u32;
                size.width = up(row.next_multiple_of(if random.one_in(2) { 4 } else { 1 }), lx);
                size.height = up(least(ly) + random.below(10) as u32, ly);
                if self.dims == 3 {
                    size.depth = up(least(lz) + random.below(4) as u32, lz);
                }
                size.n = size.width * size.height * size.depth;
            }
        }
        size.groups = self.groups(random, &size);
        size
    }

    fn groups(&self, random: &mut Random, size: &Size) -> [u32; 3] {
        let [lx, ly, lz] = self.local;
        match self.cover {
            Cover::Rows => [size.height, 1, 1],
            Cover::GridStride => [2 + random.below(2) as u32, 1, 1],
            _ if self.dims == 1 => [size.n.div_ceil(self.tile()), 1, 1],
            _ => [size.width.div_ceil(lx), size.height.div_ceil(ly), size.depth.div_ceil(lz)],
        }
    }

    /// A smaller size of the same columns, so that equal elements have equal places in the linear order.
    pub(crate) fn shorter(&self, random: &mut Random, of: &Size) -> Size {
        let mut size = *of;
        match self.cover {
            Cover::Rows => size.height = 1 + random.below(of.height as usize) as u32,
            Cover::GridStride => size.width = 1 + random.below(of.width as usize) as u32,
            _ if self.dims == 1 => size.width = 1 + random.below(of.width as usize) as u32,
            _ if self.dims == 2 => size.height = 1 + random.below(of.height as usize) as u32,
            _ => size.depth = 1 + random.below(of.depth as usize) as u32,
        }
        size.n = size.width * size.height * size.depth;
        size.groups = if self.cover == Cover::GridStride { of.groups } else { self.groups(random, &size) };
        size
    }
}
