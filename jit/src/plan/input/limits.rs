//! What the device can do, and what it gains from each shape of a dispatch.

pub use crate::frontend::types::SmallScalars;
use crate::kernel::FloatControls;

/// Device limits a plan has to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// `maxPushConstantsSize`, bytes.
    pub max_push_bytes: u32,
    /// `maxComputeSharedMemorySize`, bytes.
    pub max_shared_bytes: u32,
    /// Storage buffers one stage can bind (`maxPerStageDescriptorStorageBuffers`).
    pub max_storage_buffers: u32,
    /// Uniform buffers one stage can bind.
    pub max_uniform_buffers: u32,
    /// Images, and samplers, one stage can bind: of each kind of descriptor as many.
    pub max_images: u32,
    /// `maxComputeWorkGroupSize`.
    pub max_work_group_size: [u32; 3],
    /// `maxComputeWorkGroupInvocations`.
    pub max_work_group_invocations: u32,
    /// `maxComputeWorkGroupCount`.
    pub max_groups: [u32; 3],
    /// Rounds after which the driver ends every loop of a shader, counted over all of them. Vulkan knows
    /// no such limit, but llvmpipe has it (65,535), and what it cuts short is silently wrong.
    pub max_loop_rounds: Option<u64>,
    /// Which shape of dispatch the device likes best.
    pub shape: ShapeLimits,
    /// Most bytes of elements of results that an invocation keeps in registers as it stores them, where the group reads them again;
    /// 0 keeps none.
    pub kept_result_bytes: u32,
    /// What block coarsening is worth.
    pub block_coarsening: BlockCoarseningLimits,
    /// What thread coarsening of work-groups is worth.
    pub thread_coarsening: ThreadCoarseningLimits,
    /// Which loops are unrolled.
    pub unroll: UnrollLimits,
    /// Stores that may wait for loads behind them, where a driver would keep these in order; 0 and 1: none does.
    pub late_stores: u32,
    /// What is known of sub-groups.
    pub subgroups: SubgroupLimits,
    /// Most sub-groups of a work-group whose pipeline asks for their size.
    pub max_subgroups: u32,
    /// Bytes a kernel's buffers may have for it to be fused where a work-group hands it single elements through memory, or for it to be
    /// placed where what it hands on passes through memory: more is slower fused than not. `None` if that is never so.
    pub max_broadcast_bytes: Option<u64>,
    /// A buffer of up to this many bytes stays in the device's caches from one kernel to the next: if there is no room for it in
    /// registers and shared memory, it is not recomputed.
    pub cached_bytes: u64,
    /// A dispatch of fewer invocations leaves room on the device for another one at the same time; 0 if dispatches never overlap.
    pub overlapping_invocations: u64,
    /// Scalars narrower than 32 bits the device takes outside of buffers (`shaderInt8`, `shaderInt16`,
    /// `shaderFloat16`).
    pub small_scalars: SmallScalars,
    /// Float controls that modules may ask for, in any combination of widths.
    pub float_controls: FloatControls,
    /// Whether an access outside of the range that is bound is defined (`robustBufferAccess2`): it reads zeros and writes nothing. If
    /// not, it is undefined, and nothing has to be kept of what it does.
    pub robust: bool,
}

impl Default for Limits {
    /// The least every Vulkan 1.3 device has.
    fn default() -> Self {
        Self {
            max_push_bytes: 128,
            max_shared_bytes: 16 * 1024,
            max_storage_buffers: 4,
            max_uniform_buffers: 12,
            max_images: 4,
            max_work_group_size: [128, 128, 64],
            max_work_group_invocations: 128,
            max_groups: [65_535; 3],
            max_loop_rounds: None,
            shape: ShapeLimits::default(),
            kept_result_bytes: 0,
            block_coarsening: BlockCoarseningLimits::default(),
            thread_coarsening: ThreadCoarseningLimits::default(),
            unroll: UnrollLimits::default(),
            late_stores: 0,
            subgroups: SubgroupLimits::default(),
            max_subgroups: u32::MAX,
            max_broadcast_bytes: None,
            cached_bytes: 4 << 20,
            overlapping_invocations: 0,
            small_scalars: SmallScalars::default(),
            float_controls: FloatControls::default(),
            robust: false,
        }
    }
}

/// What a device likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct ShapeLimits {
    /// Work-group size of kernels that do not care for theirs; 0 keeps the largest the users chose.
    pub group_size: u32,
    /// Items of one invocation, where their kernels are one straight line; 0 and 1 mean one.
    pub items: u32,
    /// Whether four elements next to each other are better accessed as one vector.
    pub vectors: bool,
    /// Most such vectors that an invocation does one after another where the number of items is no multiple of four, so that there is
    /// less code for single items; 0 and 1 mean one.
    pub rounds: u32,
    /// Work-groups that are to be left of a dispatch whose invocations do so.
    pub least: u32,
    /// Items of its work-group that an invocation of superword code does, where kernels have no free shape; 0 and 1 mean one.
    pub superword: u32,
    /// Fewest invocations that are to be left of a work-group for that.
    pub lanes: u32,
    /// Most conditions of all its items, where these take scarce registers.
    pub conditions: Option<u32>,
}

/// What is known of a device's sub-groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct SubgroupLimits {
    /// Invocations of a sub-group, if pipelines can ask for full ones of this size, which kernels have that do not ask; 0 if not.
    pub size: u32,
    /// Invocations of a sub-group that take the same branch stay together there and behind it, also where other sub-groups take another one.
    pub together: bool,
}

/// What a device gains from block coarsening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct BlockCoarseningLimits {
    /// Most work-groups of a fused kernel with barriers that one work-group does; 0 and 1 mean one.
    pub work_groups: u32,
    /// Fewest work-groups that are to be left of a dispatch, so that there is work for all of the device.
    pub least: u32,
    /// Most bytes of private variables for all of them in one invocation, so that they are registers.
    pub private_bytes: u32,
    /// Most bytes of shared memory for all of them, so that a processor has several work-groups; 0: what the device has.
    pub shared_bytes: u32,
}

/// What a device gains from thread coarsening of work-groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct ThreadCoarseningLimits {
    /// Invocations that are left of a work-group of a fused kernel with barriers, as many as a sub-group has; 0: it keeps its own.
    pub invocations: u32,
    /// Fewest work-groups that a dispatch has to have for that, so that there is work for all of the device.
    pub least: u32,
    /// Most bytes of private variables of all that one invocation does, and of what unrolled rounds of one loop load for all of them, so that they are registers.
    pub private_bytes: u32,
    /// Also where loops are not unrolled, or some invocations do a round more than others (if not `shuffles` and `packed` anyway), or members read what
    /// others write to memory: the loop is then done for one after another, and its loads wait for each other.
    pub any_loops: bool,
    /// Invocations of a sub-group, if pipelines can ask for full ones of this size and barriers of a work-group of one sub-group are best
    /// its; 0 if not.
    pub subgroup: u32,
    /// Shared memory of such a work-group is best in registers, and what others have there is shuffled.
    pub shuffles: bool,
    /// Most of such work-groups in one, a sub-group for each; 0 and 1: each is one.
    pub packed: u32,
    /// Most work-groups that such a sub-group does side by side; 0 and 1: each does one.
    pub side_by_side: u32,
    /// Elements of a short row for each lane, where the lanes of a sub-group are several work-groups; 0: they are one.
    pub lane_elements: u32,
    /// Invocations of a sub-group that take the same way stay together (`VK_KHR_shader_subgroup_uniform_control_flow`), so some sub-groups may have
    /// nothing to do: the number of work-groups need not be a multiple of `packed`.
    pub uniform: bool,
}

/// What a device gains from loops that are unrolled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnrollLimits {
    /// Most rounds of a loop that is unrolled as a whole, so that elements that an invocation keeps are registers.
    pub rounds: u32,
    /// Rounds of a longer loop that stand one after another in each round of what is left of it; 0 and 1: it stays as it is, and
    /// loops are unrolled as a whole only where elements become registers by it.
    pub at_once: u32,
    /// Most bytes that an invocation keeps of one buffer, so that they are registers.
    pub private_bytes: u32,
    /// Most words that an invocation keeps from one loop for later ones that load the same, where they are too long to be unrolled as a
    /// whole: as many of their first rounds stand in front of them. 0: none.
    pub keep: u32,
    /// Registers of a processor, which the invocations of a work-group share; 0 if that is not known, and nothing is kept.
    pub registers: u32,
}

impl Default for UnrollLimits {
    fn default() -> Self {
        Self { rounds: 16, at_once: 1, private_bytes: 256, keep: 0, registers: 0 }
    }
}
