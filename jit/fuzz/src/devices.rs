//! What devices can do that lists are planned for without one.

use vkfuse_jit::plan::{
    BlockCoarseningLimits, Limits, ShapeLimits, SubgroupLimits, ThreadCoarseningLimits, UnrollLimits,
};

/// A desktop device.
pub fn desktop() -> Limits {
    Limits {
        max_push_bytes: 256,
        max_shared_bytes: 48 << 10,
        max_storage_buffers: 64,
        max_work_group_size: [1024, 1024, 64],
        max_work_group_invocations: 1024,
        ..Limits::default()
    }
}

/// A middling device.
pub fn middling() -> Limits {
    Limits {
        max_push_bytes: 256,
        max_shared_bytes: 32 << 10,
        max_storage_buffers: 16,
        max_work_group_size: [256, 256, 64],
        max_work_group_invocations: 256,
        ..Limits::default()
    }
}

/// A desktop device with what the engine chooses for processors.
pub fn cpu() -> Limits {
    let shape = ShapeLimits {
        group_size: 0,
        items: 4,
        vectors: true,
        rounds: 4,
        least: 64,
        superword: 1,
        lanes: 32,
        conditions: None,
    };
    Limits { shape, ..desktop() }
}

/// A desktop device with what the engine chooses for graphics processors.
pub fn gpu() -> Limits {
    Limits {
        shape: ShapeLimits { group_size: 256, rounds: 1, superword: 4, ..cpu().shape },
        block_coarsening: BlockCoarseningLimits {
            work_groups: 8,
            least: 2048,
            private_bytes: 64,
            shared_bytes: 18 << 10,
        },
        unroll: UnrollLimits { rounds: 128, at_once: 16, private_bytes: 512, ..UnrollLimits::default() },
        late_stores: 16,
        overlapping_invocations: 1 << 16,
        // Those that the interpreter has.
        subgroups: SubgroupLimits { size: 8, together: true },
        ..desktop()
    }
}

/// A desktop device with what the engine chooses for NVIDIA's graphics processors.
pub fn nvidia() -> Limits {
    let thread_coarsening = ThreadCoarseningLimits {
        invocations: 32,
        least: 8192,
        private_bytes: 128,
        any_loops: false,
        subgroup: 32,
        shuffles: true,
        packed: 4,
        side_by_side: 4,
        lane_elements: 8,
        uniform: true,
    };
    let unroll = UnrollLimits { registers: 1 << 16, ..gpu().unroll };
    Limits { thread_coarsening, unroll, max_subgroups: 32, ..gpu() }
}
