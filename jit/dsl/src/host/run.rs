//! Running a kernel on the host.

use std::{sync::Arc, thread};

use super::Group;
use crate::{
    item::{GroupItem, Item, Task},
    kernel::KernelObject,
};

/// Runs the one invocation of a single task.
pub fn task_on_host<K: KernelObject<Item = Task>>(kernel: &K) {
    kernel.call(Task);
}

/// Runs a kernel for each item of a range, one after the other, dimension 0 fastest.
pub fn on_host<K: KernelObject<Item = Item<D>>, const D: usize>(range: [u32; D], kernel: &K) {
    let range: [u32; 3] = std::array::from_fn(|d| range.get(d).copied().unwrap_or(1));
    for_each(range, |id| kernel.call(Item::new(id, range)));
}

/// Runs a kernel for each item of this many work-groups of a size: the groups one after the other, the items of each as
/// threads. Sub-groups have eight items.
pub fn on_host_groups<K: KernelObject<Item = GroupItem<D>> + Sync, const D: usize>(
    groups: [u32; D],
    local: [u32; D],
    kernel: &K,
) {
    let all = |of: [u32; D]| std::array::from_fn(|d| of.get(d).copied().unwrap_or(1));
    let (groups, local): ([u32; 3], [u32; 3]) = (all(groups), all(local));
    for_each(groups, |group| {
        kernel.begin_group();
        let shared = Arc::new(Group::new(local, 8));
        thread::scope(|scope| {
            for_each(local, |id| {
                let item = GroupItem { local: id, group, groups, shared: shared.clone() };
                scope.spawn(move || {
                    let (number, shared) = (item.local_index(), item.shared.clone());
                    kernel.call(item);
                    shared.leave(number);
                });
            });
        });
    });
}

fn for_each(range: [u32; 3], mut f: impl FnMut([u32; 3])) {
    for z in 0..range[2] {
        for y in 0..range[1] {
            (0..range[0]).for_each(|x| f([x, y, z]));
        }
    }
}
