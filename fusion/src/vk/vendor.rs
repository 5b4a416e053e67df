//! What is known of drivers beside what they report, one row for each: what a device gains from, and what a driver does otherwise.
//!
//! A row takes another and changes some of it; whatever names a driver elsewhere belongs here. Faults that are worked around whatever the
//! driver are in `docs/drivers.md` alone.

use vulkano::device::physical::DriverId;

use crate::jit::{BlockCoarseningLimits, ShapeLimits, ThreadCoarseningLimits, UnrollLimits};

use super::mesa;

/// Bytes of private variables of all work-groups side by side in one invocation. Measured on an H200 (`performance.md`): four
/// elements of each of four rows are faster than those of one, 16 of each of two are not.
pub(crate) const PRIVATE_BYTES: u32 = 64;

/// Bytes of private variables of all invocations of a work-group that one does. Measured (`performance.md`): one element of each of eight
/// invocations, and four, are faster than work-groups of 256, 16 are slower.
pub(crate) const NARROW_BYTES: u32 = 128;

/// What is known of the devices of one driver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vendor {
    /// Who makes it, in words.
    pub(crate) name: &'static str,
    /// The shape of dispatch that is best where the choice is free.
    pub(crate) shape: ShapeLimits,
    /// How many work-groups of kernels with barriers are best done by one.
    pub(crate) blocks: BlockCoarseningLimits,
    /// Whether work-groups of kernels with barriers are best done by one sub-group.
    pub(crate) narrows: bool,
    /// Fewest work-groups for that. A processor of NVIDIA's takes 32 work-groups of one sub-group at once, so that 8,192 fill a large device about
    /// twice. Measured (`performance.md`): 8,192 gain more than they lose, 2,048 do not.
    pub(crate) narrow_least: u32,
    /// Whether barriers of a work-group of one sub-group are best its, and its shared memory in registers
    /// ([`ThreadCoarseningLimits::shuffles`]).
    pub(crate) shuffles: bool,
    /// [`ThreadCoarseningLimits::packed`], where it shuffles. Measured (`performance.md`): four and eight are as good where shared memory is
    /// in registers, and slower than one where it is not.
    pub(crate) packed: u32,
    /// [`ThreadCoarseningLimits::side_by_side`], where it shuffles.
    pub(crate) side_by_side: u32,
    /// [`ThreadCoarseningLimits::lane_elements`], where it shuffles.
    pub(crate) lane_elements: u32,
    /// Which loops of fused kernels are unrolled.
    pub(crate) unroll: UnrollLimits,
    /// [`Limits::late_stores`](crate::jit::Limits::late_stores): as many as rounds of a long loop stand one after another.
    pub(crate) late_stores: u32,
    /// [`Limits::kept_result_bytes`](crate::jit::Limits::kept_result_bytes). What was just stored has to come from memory, and in order: as
    /// much is kept as a row may have in registers.
    pub(crate) kept_result_bytes: u32,
    /// [`Limits::max_broadcast_bytes`](crate::jit::Limits::max_broadcast_bytes).
    pub(crate) max_broadcast_bytes: Option<u64>,
    /// [`Limits::overlapping_invocations`](crate::jit::Limits::overlapping_invocations). The largest GPUs hold some 270,000 at once.
    pub(crate) overlapping_invocations: u64,
    /// Whether halves are best without `DenormPreserve`: see `float_controls`.
    pub(crate) plain_halves: bool,
    /// Whether a sub-group is one vector of the processor's, whose mask follows the structure of the code: invocations that take the same branch
    /// are together in it and behind it, though the driver does not have `VK_KHR_shader_subgroup_uniform_control_flow`.
    pub(crate) masks: bool,
    /// Rounds after which loops end, given what the driver says of its version.
    pub(crate) max_loop_rounds: fn(&str) -> Option<u64>,
    /// Most work-groups of all dimensions together, where the driver loses count beyond.
    pub(crate) max_total_groups: Option<u64>,
}

/// A device on which dispatches overlap, with nothing else known. Shapes were measured on an H200 (`performance.md`): four elements in
/// one access are worth as much as four in flight; rows of 128 rounds of their work-group are faster in registers than in shared memory or
/// memory; work-groups that fill a large device several times over are left of a dispatch.
const GPU: Vendor = Vendor {
    name: "GPU",
    shape: ShapeLimits {
        group_size: 256,
        items: 4,
        vectors: true,
        rounds: 1,
        least: 64,
        superword: 4,
        lanes: 32,
        conditions: None,
    },
    blocks: BlockCoarseningLimits {
        work_groups: 8,
        least: 2048,
        private_bytes: PRIVATE_BYTES,
        // Eight times 2 KiB and twice 6 are faster than once, four times 6 slower than twice.
        shared_bytes: 18 << 10,
    },
    narrows: false,
    narrow_least: 8192,
    shuffles: false,
    packed: 1,
    side_by_side: 1,
    lane_elements: 0,
    unroll: UnrollLimits { rounds: 128, at_once: 16, private_bytes: 512, keep: 0, registers: 0 },
    late_stores: 16,
    kept_result_bytes: 512,
    max_broadcast_bytes: Some(16 << 20),
    overlapping_invocations: 1 << 16,
    plain_halves: false,
    masks: false,
    max_loop_rounds: |_| None,
    max_total_groups: None,
};

/// A driver that computes on the processor: a work-group is a loop, whatever its size, memory is the cache, one dispatch runs after the other,
/// and both sides of each branch are computed, so that code for single items costs as much as if it ran.
const PROCESSOR: Vendor = Vendor {
    name: "processor",
    shape: ShapeLimits { group_size: 0, rounds: 4, superword: 1, ..GPU.shape },
    blocks: BlockCoarseningLimits { work_groups: 1, ..GPU.blocks },
    unroll: UnrollLimits { rounds: 16, at_once: 1, private_bytes: 256, keep: 0, registers: 0 },
    late_stores: 0,
    kept_result_bytes: 0,
    max_broadcast_bytes: None,
    overlapping_invocations: 0,
    ..GPU
};

/// AMD's hardware whose sub-groups are of 32 or 64. By Mesa's compiler (22.3.6, `./x amd`): two work-groups side by side take 2 to 14 % fewer cycles
/// than one, and leave as many sub-groups on a unit; four take 3 to 9 % less again, and leave half as many where registers or shared memory
/// are short. Eight rounds at once are in as many registers as one, sixteen halve what a unit holds.
const RDNA: Vendor = Vendor {
    name: "AMD RDNA",
    blocks: BlockCoarseningLimits { work_groups: 2, shared_bytes: 8 << 10, ..GPU.blocks },
    unroll: UnrollLimits { at_once: 8, ..GPU.unroll },
    ..GPU
};

/// AMD's hardware whose sub-groups are of 64 alone: half as many registers are left for each, and two work-groups side by side already leave fewer.
/// A condition takes two of some hundred scalar registers; four items of a stencil with 15 branches spilled them.
const GCN: Vendor = Vendor {
    name: "AMD GCN",
    shape: ShapeLimits { conditions: Some(48), ..RDNA.shape },
    blocks: BlockCoarseningLimits { work_groups: 1, ..RDNA.blocks },
    ..RDNA
};

/// Drivers of AMD's hardware.
const AMD: &[DriverId] = &[DriverId::MesaRADV, DriverId::AMDOpenSource, DriverId::AMDProprietary];

/// The drivers that something is known about, with the smallest sub-groups that the device has, if that matters. The first row counts.
const ROWS: &[(&[DriverId], Option<u32>, Vendor)] = &[
    (
        &[DriverId::NvidiaProprietary],
        None,
        Vendor {
            name: "NVIDIA",
            unroll: UnrollLimits { registers: 1 << 16, ..GPU.unroll },
            narrows: true,
            shuffles: true,
            packed: 4,
            side_by_side: 4,
            lane_elements: 8,
            plain_halves: true,
            ..GPU
        },
    ),
    (AMD, Some(32), RDNA),
    (AMD, None, GCN),
    (&[DriverId::MoltenVK], None, Vendor { name: "Apple", ..GPU }),
    (
        &[DriverId::MesaLLVMpipe],
        None,
        Vendor {
            name: "llvmpipe",
            masks: true,
            max_loop_rounds: mesa::max_loop_rounds,
            // Counts that are too large for one dimension are dispatched as two of at most this many.
            max_total_groups: Some(65_535 * 65_535),
            ..PROCESSOR
        },
    ),
];

impl Vendor {
    /// What is known of a driver, or else of devices of its kind.
    pub(crate) fn of(driver: Option<DriverId>, is_cpu: bool, least_subgroup: u32) -> &'static Vendor {
        let row = ROWS.iter().find(|(drivers, subgroup, _)| {
            driver.is_some_and(|driver| drivers.contains(&driver))
                && subgroup.is_none_or(|subgroup| subgroup == least_subgroup)
        });
        match row {
            Some((.., vendor)) => vendor,
            None if is_cpu => &PROCESSOR,
            None => &GPU,
        }
    }

    /// Thread coarsening of work-groups to one sub-group of this size.
    pub(crate) fn threads(&self, subgroup: u32) -> ThreadCoarseningLimits {
        ThreadCoarseningLimits {
            invocations: if self.narrows { subgroup } else { 0 },
            least: self.narrow_least,
            private_bytes: NARROW_BYTES,
            any_loops: false,
            ..ThreadCoarseningLimits::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_driver_has_one_row_that_always_counts() {
        let always = ROWS.iter().filter(|(_, subgroup, _)| subgroup.is_none());
        let mut drivers: Vec<_> = always.flat_map(|(drivers, ..)| *drivers).collect();
        let count = drivers.len();
        drivers.sort_by_key(|driver| format!("{driver:?}"));
        drivers.dedup();
        assert_eq!(drivers.len(), count);
        assert!(ROWS.iter().all(|(all, ..)| all.iter().all(|driver| drivers.contains(&driver))));
    }

    #[test]
    fn an_unknown_driver_is_one_of_its_kind() {
        assert_eq!(Vendor::of(None, false, 32).name, "GPU");
        assert_eq!(Vendor::of(Some(DriverId::MesaTurnip), false, 64).name, "GPU");
        assert_eq!(Vendor::of(Some(DriverId::GoogleSwiftshader), true, 4).name, "processor");
        assert_eq!(Vendor::of(Some(DriverId::MoltenVK), false, 32).name, "Apple");
    }

    #[test]
    fn nvidia_narrows_to_one_sub_group_and_shuffles() {
        let nvidia = Vendor::of(Some(DriverId::NvidiaProprietary), false, 32);
        let threads = nvidia.threads(32);
        assert_eq!((threads.invocations, threads.least, threads.private_bytes), (32, 8192, NARROW_BYTES));
        assert!(nvidia.shuffles && nvidia.packed == 4 && nvidia.plain_halves);
        assert_eq!(nvidia.shape, GPU.shape);
    }

    #[test]
    fn llvmpipe_ends_loops_before_mesa_25() {
        let llvmpipe = Vendor::of(Some(DriverId::MesaLLVMpipe), true, 8);
        assert_eq!((llvmpipe.max_loop_rounds)("Mesa 22.3.6 (LLVM 15.0.6)"), Some(65_535));
        assert_eq!((llvmpipe.max_loop_rounds)("Mesa 25.0.7-2 (LLVM 19.1.7)"), None);
        assert_eq!((llvmpipe.shape.group_size, llvmpipe.blocks.work_groups, llvmpipe.late_stores), (0, 1, 0));
    }

    #[test]
    fn amd_has_two_work_groups_side_by_side_where_sub_groups_may_be_of_32() {
        for driver in AMD {
            let [rdna, gcn] = [32, 64].map(|least| Vendor::of(Some(*driver), false, least));
            assert_eq!((rdna.name, rdna.blocks.work_groups, rdna.unroll.at_once), ("AMD RDNA", 2, 8));
            assert_eq!((gcn.name, gcn.blocks.work_groups, gcn.unroll.at_once), ("AMD GCN", 1, 8));
            assert!([rdna, gcn].iter().all(|amd| amd.threads(64).invocations == 0 && !amd.shuffles));
        }
    }
}
