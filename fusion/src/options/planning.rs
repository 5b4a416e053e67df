//! From what is known of a device to the limits of plans.

use crate::{
    jit::{Limits, SmallScalars, SubgroupLimits, ThreadCoarseningLimits},
    options::tuning::Tuning,
    vk::DeviceProfile,
};

impl DeviceProfile {
    /// The limits of plans, with schedules as `tuning` has them and otherwise as is known to be best.
    #[doc(hidden)]
    #[must_use]
    pub fn planning(&self, tuning: &Tuning) -> Limits {
        let (limits, vendor) = (&self.limits, self.vendor());
        let [int8, int16, float16] = self.small_scalars;
        let shuffles =
            tuning.shuffles.unwrap_or(vendor.shuffles) && self.subgroup_basic && self.subgroup_shuffle;
        // Barriers of one sub-group are also what shuffles take.
        let takes_subgroups = (vendor.narrows || shuffles) && self.full_subgroups && self.subgroup_basic;
        Limits {
            max_push_bytes: tuning.push_bytes.unwrap_or(u32::MAX).min(limits.max_push_bytes),
            max_shared_bytes: limits.max_shared_bytes,
            max_storage_buffers: limits.max_storage_bindings.min(limits.max_bindings),
            max_uniform_buffers: limits.max_uniform_bindings.min(limits.max_bindings),
            max_images: limits.max_images.min(limits.max_bindings),
            max_work_group_size: limits.max_work_group_size,
            max_work_group_invocations: limits.max_work_group_invocations,
            max_groups: limits.max_groups,
            max_loop_rounds: (vendor.max_loop_rounds)(&self.driver_info),
            shape: tuning.shape(vendor.shape),
            kept_result_bytes: tuning.kept_bytes.unwrap_or(vendor.kept_result_bytes),
            block_coarsening: tuning.interleave(vendor.blocks),
            thread_coarsening: ThreadCoarseningLimits {
                subgroup: if takes_subgroups { self.subgroup_size } else { 0 },
                packed: tuning.packed.unwrap_or(if shuffles { vendor.packed } else { 1 }),
                side_by_side: tuning.block_coarsening.unwrap_or(if shuffles {
                    vendor.side_by_side
                } else {
                    1
                }),
                lane_elements: tuning.lane_elements.unwrap_or(if shuffles {
                    vendor.lane_elements
                } else {
                    0
                }),
                shuffles,
                uniform: self.uniform_subgroups,
                ..tuning.narrow(vendor.threads(self.subgroup_size))
            },
            unroll: tuning.loops(vendor.unroll),
            late_stores: tuning.sunk_stores.unwrap_or(vendor.late_stores),
            subgroups: SubgroupLimits {
                size: if self.full_subgroups && self.subgroup_basic { self.subgroup_size } else { 0 },
                together: self.uniform_subgroups || vendor.masks,
            },
            max_subgroups: self.max_subgroups,
            max_broadcast_bytes: vendor.max_broadcast_bytes,
            cached_bytes: Limits::default().cached_bytes,
            overlapping_invocations: vendor.overlapping_invocations,
            small_scalars: SmallScalars { int8, int16, float16 },
            float_controls: self.float_controls,
            robust: self.robust,
        }
    }
}
