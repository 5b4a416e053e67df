//! Values of the built-in inputs.

use rspirv::spirv::BuiltIn;

/// Where an invocation is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub(super) groups: [u32; 3],
    pub(super) group: [u32; 3],
    pub(super) local_size: [u32; 3],
    /// Linear index in the work-group.
    pub(super) local: u32,
    pub(super) subgroup_size: u32,
    /// Whether local ids go through the sub-groups in another order than lanes do: Vulkan does not say which invocation is which lane.
    pub(super) scattered: bool,
}

/// The coordinates of a linear index, x fastest.
pub(super) fn unfold(linear: u32, size: [u32; 3]) -> [u32; 3] {
    let [x, y] = [size[0].max(1), size[1].max(1)];
    [linear % x, linear / x % y, linear / x / y]
}

impl Position {
    /// Local invocation id.
    pub(super) fn local_id(&self) -> [u32; 3] {
        unfold(self.local_index(), self.local_size)
    }

    /// Local invocation index.
    fn local_index(&self) -> u32 {
        let all = self.local_size.iter().product::<u32>();
        // A factor that has none in common with it gives each invocation another index.
        let factor = [5, 7, 11, 13].into_iter().find(|factor| !all.is_multiple_of(*factor));
        match factor {
            Some(factor) if self.scattered => (u64::from(self.local) * factor as u64 % u64::from(all)) as u32,
            _ => self.local,
        }
    }

    /// Global invocation id.
    pub(super) fn global_id(&self) -> [u32; 3] {
        let local = self.local_id();
        [0, 1, 2].map(|d| self.group[d].wrapping_mul(self.local_size[d]).wrapping_add(local[d]))
    }

    fn lane(&self) -> u32 {
        self.local % self.subgroup_size
    }

    /// Lanes of a built-in; those past its size are 0.
    pub(super) fn value(&self, builtin: BuiltIn) -> [u64; 4] {
        let scalar = |value: u32| [u64::from(value), 0, 0, 0];
        let triple = |value: [u32; 3]| [value[0], value[1], value[2], 0].map(u64::from);
        let invocations = self.local_size.iter().product::<u32>();
        match builtin {
            BuiltIn::GlobalInvocationId => triple(self.global_id()),
            BuiltIn::LocalInvocationId => triple(self.local_id()),
            BuiltIn::WorkgroupId => triple(self.group),
            BuiltIn::NumWorkgroups => triple(self.groups),
            BuiltIn::WorkgroupSize => triple(self.local_size),
            BuiltIn::LocalInvocationIndex => scalar(self.local_index()),
            BuiltIn::SubgroupSize => scalar(self.subgroup_size),
            BuiltIn::SubgroupLocalInvocationId => scalar(self.lane()),
            BuiltIn::SubgroupId => scalar(self.local / self.subgroup_size),
            BuiltIn::NumSubgroups => scalar(invocations.div_ceil(self.subgroup_size)),
            BuiltIn::SubgroupEqMask => self.ballot(|other, lane| other == lane),
            BuiltIn::SubgroupGeMask => self.ballot(|other, lane| other >= lane),
            BuiltIn::SubgroupGtMask => self.ballot(|other, lane| other > lane),
            BuiltIn::SubgroupLeMask => self.ballot(|other, lane| other <= lane),
            BuiltIn::SubgroupLtMask => self.ballot(|other, lane| other < lane),
            _ => [0; 4],
        }
    }

    fn ballot(&self, keep: impl Fn(u32, u32) -> bool) -> [u64; 4] {
        let mut words = [0; 4];
        for other in 0..self.subgroup_size.min(128) {
            if keep(other, self.lane()) {
                words[(other / 32) as usize] |= 1 << (other % 32);
            }
        }
        words
    }
}

/// Whether [`Position::value`] knows a built-in.
pub(super) fn is_known(builtin: BuiltIn) -> bool {
    matches!(
        builtin,
        BuiltIn::GlobalInvocationId
            | BuiltIn::LocalInvocationId
            | BuiltIn::WorkgroupId
            | BuiltIn::NumWorkgroups
            | BuiltIn::WorkgroupSize
            | BuiltIn::LocalInvocationIndex
            | BuiltIn::SubgroupSize
            | BuiltIn::SubgroupLocalInvocationId
            | BuiltIn::SubgroupId
            | BuiltIn::NumSubgroups
            | BuiltIn::SubgroupEqMask
            | BuiltIn::SubgroupGeMask
            | BuiltIn::SubgroupGtMask
            | BuiltIn::SubgroupLeMask
            | BuiltIn::SubgroupLtMask
            | BuiltIn::DeviceIndex
    )
}
