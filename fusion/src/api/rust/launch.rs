//! Launching function objects: over a range, over work-groups, once.

use std::sync::Arc;

use vkfuse_kernel::{Arguments, GroupItem, Item, ItemKind, KernelObject, Task};

use super::arguments;
use crate::{
    api::handler::Handler,
    code::lowered::Source,
    error::Error,
    runtime::context::ContextInner,
    submission::{
        held::Held,
        request::{Request, Size},
    },
};

/// This many work-groups of this many items, in one to three dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupRange<const D: usize> {
    /// Number of groups.
    pub groups: [u32; D],
    /// Items of a group.
    pub local: [u32; D],
}

impl<const D: usize> GroupRange<D> {
    /// This many groups of this many items.
    #[must_use]
    pub fn new(groups: [u32; D], local: [u32; D]) -> GroupRange<D> {
        GroupRange { groups, local }
    }
}

/// What a kernel can be run over: `n` or `[n]`, `[x, y]`, `[x, y, z]` items, a [`GroupRange`], or `()` for a single task.
pub trait LaunchRange {
    /// What the kernel's body takes.
    type Item: ItemKind;
    /// Items, or groups where the kernel is given groups; and the size of a group, where that is given.
    #[doc(hidden)]
    fn extent(&self) -> ([u32; 3], Option<[u32; 3]>);
}

fn three<const D: usize>(extent: [u32; D]) -> [u32; 3] {
    std::array::from_fn(|d| extent.get(d).copied().unwrap_or(1))
}

impl LaunchRange for () {
    type Item = Task;
    fn extent(&self) -> ([u32; 3], Option<[u32; 3]>) {
        ([1; 3], None)
    }
}

impl LaunchRange for u32 {
    type Item = Item<1>;
    fn extent(&self) -> ([u32; 3], Option<[u32; 3]>) {
        (three([*self]), None)
    }
}

impl<const D: usize> LaunchRange for [u32; D]
where
    Item<D>: ItemKind,
{
    type Item = Item<D>;
    fn extent(&self) -> ([u32; 3], Option<[u32; 3]>) {
        (three(*self), None)
    }
}

impl<const D: usize> LaunchRange for GroupRange<D>
where
    GroupItem<D>: ItemKind,
{
    type Item = GroupItem<D>;
    fn extent(&self) -> ([u32; 3], Option<[u32; 3]>) {
        (three(self.groups), Some(three(self.local)))
    }
}

/// A function object on its way to the device.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) source: Source,
    pub(crate) arguments: Arguments,
    pub(crate) extent: [u32; 3],
    /// The size of a group, for kernels that are given groups.
    pub(crate) local: Option<[u32; 3]>,
}

impl Launch {
    pub(crate) fn new<R: LaunchRange, K: KernelObject<Item = R::Item>>(range: &R, kernel: &K) -> Launch {
        let (extent, local) = range.extent();
        Launch { source: Source::of::<K>(), arguments: Arguments::of(kernel), extent, local }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.source.name
    }

    /// Puts kernel and arguments into a request.
    pub(crate) fn resolve(self, context: &Arc<ContextInner>, request: &mut Request<'_>) -> Result<(), Error> {
        let (kernel, local) = arguments::bind(&self, context, request, None)?;
        let size = if local { Size::Groups(self.extent) } else { Size::Items(self.extent) };
        request.dispatch = Some((Held::Own(kernel.inner.clone()), size));
        Ok(())
    }
}

impl Handler<'_> {
    /// Runs a kernel written in Rust for each item of a range: `n` or `[n]`, `[x, y]`, `[x, y, z]`, or a [`GroupRange`].
    ///
    /// The kernel is lowered when its type is first submitted. Whatever is wrong with its captures shows when the closure
    /// ends.
    pub fn parallel_for<R: LaunchRange, K: KernelObject<Item = R::Item>>(
        &mut self,
        range: R,
        kernel: &K,
    ) -> &mut Self {
        self.set_launch(Launch::new(&range, kernel));
        self
    }

    /// Runs a kernel written in Rust once.
    pub fn single_task<K: KernelObject<Item = Task>>(&mut self, kernel: &K) -> &mut Self {
        self.parallel_for((), kernel)
    }
}
