//! What tells the items of a kernel apart.

use std::sync::Arc;

use crate::{
    capture::{Stage, Value},
    host::Group,
    stage::Composite,
    value::{Ordered, Scalar},
};

/// One item of a range of `D` dimensions, 1 to 3. A kernel that takes it can be regrouped in any way: there is one
/// invocation for each item of the range, and nothing else is promised.
#[derive(Clone, Copy, Debug)]
pub struct Item<const D: usize> {
    pub(crate) id: [u32; 3],
    pub(crate) range: [u32; 3],
}

impl<const D: usize> Item<D> {
    pub(crate) fn new(id: [u32; 3], range: [u32; 3]) -> Item<D> {
        Item { id, range }
    }

    /// The place in one dimension; zero where there is no such dimension.
    #[must_use]
    pub fn id(&self, dimension: u32) -> u32 {
        by_dimension(self.id, dimension, D, 0)
    }

    /// The extent of the range in one dimension; one where there is no such dimension.
    #[must_use]
    pub fn range(&self, dimension: u32) -> u32 {
        by_dimension(self.range, dimension, D, 1)
    }

    /// The number of the item: dimension 0 runs fastest.
    #[must_use]
    pub fn index(&self) -> u32 {
        let [x, y, z] = [0, 1, 2].map(|d| self.id(d));
        z.wrapping_mul(self.range(1)).wrapping_add(y).wrapping_mul(self.range(0)).wrapping_add(x)
    }

    /// The number of items.
    #[must_use]
    pub fn count(&self) -> u32 {
        [0, 1, 2].iter().fold(1, |count: u32, &d| count.wrapping_mul(self.range(d)))
    }
}

fn by_dimension(of: [u32; 3], dimension: u32, dimensions: usize, other: u32) -> u32 {
    of[..dimensions.min(3)].get(dimension as usize).copied().unwrap_or(other)
}

/// One item of a range of work-groups of `D` dimensions, 1 to 3: it knows its group, can wait for the others of it, and
/// exchange values with those of its sub-group.
#[derive(Clone, Debug)]
pub struct GroupItem<const D: usize> {
    pub(crate) local: [u32; 3],
    pub(crate) group: [u32; 3],
    pub(crate) groups: [u32; 3],
    pub(crate) shared: Arc<Group>,
}

impl<const D: usize> GroupItem<D> {
    /// The place in one dimension, over all groups.
    #[must_use]
    pub fn global(&self, dimension: u32) -> u32 {
        self.group(dimension).wrapping_mul(self.local_range(dimension)).wrapping_add(self.local(dimension))
    }

    /// The place in the group, in one dimension.
    #[must_use]
    pub fn local(&self, dimension: u32) -> u32 {
        by_dimension(self.local, dimension, D, 0)
    }

    /// The place of the group among the groups, in one dimension.
    #[must_use]
    pub fn group(&self, dimension: u32) -> u32 {
        by_dimension(self.group, dimension, D, 0)
    }

    /// The extent of a group in one dimension.
    #[must_use]
    pub fn local_range(&self, dimension: u32) -> u32 {
        by_dimension(self.shared.size, dimension, D, 1)
    }

    /// The number of groups in one dimension.
    #[must_use]
    pub fn groups(&self, dimension: u32) -> u32 {
        by_dimension(self.groups, dimension, D, 1)
    }

    /// The number of the item in its group: dimension 0 runs fastest.
    #[must_use]
    pub fn local_index(&self) -> u32 {
        let ([x, y, z], [width, height, _]) = (self.local, self.shared.size);
        (z * height + y) * width + x
    }

    /// Waits until all items of the group are here. What they wrote to work-group memory and buffers before, those of the
    /// group see after. All items of a group must come here, or none.
    pub fn barrier(&self) {
        self.shared.barrier();
    }

    /// Number of items of a full sub-group.
    #[must_use]
    pub fn sub_group_size(&self) -> u32 {
        self.shared.sub_group_size
    }

    /// The number of the item in its sub-group.
    #[must_use]
    pub fn sub_group_lane(&self) -> u32 {
        self.local_index() % self.shared.sub_group_size
    }

    fn gather<T: Value>(&self, value: T) -> Vec<(u32, T)> {
        self.shared.gather(self.local_index(), value)
    }

    /// The sum over the sub-group. Floats are added in an order that is the device's own.
    pub fn sub_group_sum<T: Ordered>(&self, value: T) -> T {
        self.gather(value).iter().fold(T::ZERO, |sum, &(_, value)| sum.kernel_add(value))
    }

    /// The least over the sub-group.
    pub fn sub_group_min<T: Ordered>(&self, value: T) -> T {
        self.gather(value).iter().fold(value, |least, &(_, value)| crate::host::ops::min(least, value))
    }

    /// The greatest over the sub-group.
    pub fn sub_group_max<T: Ordered>(&self, value: T) -> T {
        self.gather(value).iter().fold(value, |most, &(_, value)| crate::host::ops::max(most, value))
    }

    /// Whether it holds in all items of the sub-group.
    #[must_use]
    pub fn sub_group_all(&self, value: bool) -> bool {
        self.gather(value).iter().all(|&(_, value)| value)
    }

    /// Whether it holds in an item of the sub-group.
    #[must_use]
    pub fn sub_group_any(&self, value: bool) -> bool {
        self.gather(value).iter().any(|&(_, value)| value)
    }

    /// The value of the first item of the sub-group that is here.
    pub fn sub_group_first<T: Scalar>(&self, value: T) -> T {
        self.gather(value).first().map_or(value, |&(_, value)| value)
    }

    /// The value of the item whose lane differs in these bits. Of an item that is not there nothing is known: here it is
    /// the own value.
    pub fn sub_group_xor<T: Scalar>(&self, value: T, mask: u32) -> T {
        let lane = self.sub_group_lane() ^ mask;
        let values = self.gather(value);
        let size = self.shared.sub_group_size;
        values.iter().find(|&&(local, _)| local % size == lane).map_or(value, |&(_, value)| value)
    }
}

/// What a kernel can be run over.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a kernel is run over",
    label = "not an item",
    note = "`run` takes an `Item<1>`, `Item<2>` or `Item<3>`, a `GroupItem` or a `Task`; `item.index()` is its number"
)]
pub trait ItemKind: Stage<Kind = Composite> + Sized {
    /// Dimensions; zero for a single task.
    const DIMENSIONS: usize;
    /// Whether it is an item of a range of work-groups.
    const GROUPED: bool;
    /// Words of the range that come before the captures.
    #[doc(hidden)]
    const RANGE_WORDS: u32 = if Self::GROUPED { 0 } else { Self::DIMENSIONS as u32 };
}

/// The one invocation of a single task.
#[derive(Clone, Copy, Debug)]
pub struct Task;

impl Stage for Task {
    type Kind = Composite;
}

impl ItemKind for Task {
    const DIMENSIONS: usize = 0;
    const GROUPED: bool = false;
}

impl<const D: usize> Stage for Item<D> {
    type Kind = Composite;
}

impl<const D: usize> Stage for GroupItem<D> {
    type Kind = Composite;
}

macro_rules! dimensions {
    ($($d:literal)+) => {$(
        impl ItemKind for Item<$d> {
            const DIMENSIONS: usize = $d;
            const GROUPED: bool = false;
        }
        impl ItemKind for GroupItem<$d> {
            const DIMENSIONS: usize = $d;
            const GROUPED: bool = true;
        }
    )+};
}

dimensions! { 1 2 3 }
