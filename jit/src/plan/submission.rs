//! What goes into a plan: submissions, options and device limits.

use std::sync::Arc;

use smallvec::SmallVec;

use super::interleave::InterleaveFacts;
use super::narrow::NarrowFacts;
pub use super::shape::ShapeFacts;
use super::unroll::LoopFacts;
pub use crate::analysis::layout::SmallScalars;
pub use crate::analysis::numbers::{Number, Numbers};
use crate::analysis::size::BoundSize;
pub use crate::analysis::size::ImageSize;
use crate::kernel::{Binding, FloatControls, SetBinding, Specialized};

/// Identity of a memory object: equal ids mean the same memory, different ids disjoint memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u64);

/// Where a buffer's dataflow is asked to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Promote {
    /// In memory.
    #[default]
    None,
    /// In registers of one invocation (SYCL: `promote_private`).
    Private,
    /// In shared memory of one work-group (SYCL: `promote_local`).
    Local,
    /// Private if possible, else local, else in memory.
    Auto,
}

/// What a buffer got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Internalization {
    /// Stayed in memory.
    #[default]
    None,
    /// Private variables.
    Private,
    /// Work-group shared memory.
    Local,
}

/// One kernel with its arguments.
#[derive(Clone, Debug)]
pub struct Submission {
    /// The kernel, with its specialization constants set.
    pub kernel: Arc<Specialized>,
    /// The first work-group: `WorkgroupId` counts from it (`vkCmdDispatchBase`). Other than 0, it is not fused.
    pub base: [u32; 3],
    /// Work-group counts.
    pub groups: [u32; 3],
    /// One argument per binding of the kernel.
    pub args: SmallVec<[Arg; 8]>,
    /// Push-constant bytes.
    pub push: SmallVec<[u8; 32]>,
}

/// A byte range of a buffer bound to a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    /// Where.
    pub at: SetBinding,
    /// The memory object.
    pub buffer: BufferId,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
    /// Promotion asked for.
    pub promote: Promote,
    /// What it holds at places that the plan may depend on, where that is known and stays so until the list has run. The
    /// caller sees to it that a plan is used again only where it holds the same.
    pub numbers: Option<Numbers>,
    /// The size of what it is a range of, if that is an image and the size is known. The plan may depend on it.
    pub image: Option<ImageSize>,
}

/// Whether a dispatch of so many work-groups does anything: Vulkan allows counts of 0.
pub fn has_work(groups: [u32; 3]) -> bool {
    !groups.contains(&0)
}

impl Submission {
    /// Whether it has work-groups. One without does nothing, whatever its kernel would do.
    pub fn runs(&self) -> bool {
        has_work(self.groups)
    }

    /// Two arguments that share some bytes but not all, where the kernel writes through one of them.
    pub(crate) fn overlap(&self) -> Option<(SetBinding, SetBinding)> {
        let ends = |arg: &Arg| (arg.offset, arg.offset.saturating_add(arg.len));
        let all = || self.args.iter().zip(&self.kernel.interface.bindings);
        all().enumerate().find_map(|(number, (b, of_b))| {
            let meets = |(a, of_a): &(&Arg, &Binding)| {
                let ((from, to), (start, end)) = (ends(a), ends(b));
                a.buffer == b.buffer
                    && (of_a.writes || of_b.writes)
                    && (from, to) != (start, end)
                    && from < end
                    && start < to
            };
            all().take(number).find(meets).map(|(a, _)| (a.at, b.at))
        })
    }

    /// How much is bound at each of the kernel's bindings.
    pub(crate) fn sizes(&self) -> SmallVec<[BoundSize; 8]> {
        self.args.iter().map(|arg| BoundSize { bytes: arg.len, image: arg.image }).collect()
    }
}

/// What has to be shown before kernels are fused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Policy {
    /// Fuse only what is proven right.
    #[default]
    Prove,
    /// Take the user's word for what cannot be proven, as SYCL does, and list it.
    Trust,
}

/// What drivers may do to floating-point arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum FloatMode {
    /// No contraction: fused and unfused give the same bits.
    #[default]
    Strict,
    /// As the kernels were compiled.
    Contract,
}

/// How to fuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct FuseOptions {
    /// Proof or trust.
    pub policy: Policy,
    /// No barriers, even where one is needed; heeded only under [`Policy::Trust`].
    pub no_barriers: bool,
    /// Floating-point mode.
    pub float: FloatMode,
    /// Fuse also where that is known to be slower than not to fuse.
    pub force: bool,
    /// Kernels run in their own order alone: none is rewritten to fuse.
    pub no_rewrites: bool,
    /// Nothing is fused, because it was measured to be slower: every kernel runs by itself.
    pub apart: bool,
}

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
    pub shape: ShapeFacts,
    /// Most bytes of elements that an invocation keeps in registers once it has loaded them; 0 keeps none.
    pub kept_bytes: u32,
    /// Most bytes of elements of results that an invocation keeps in registers as it stores them, where the group reads them again;
    /// 0 keeps none.
    pub kept_result_bytes: u32,
    /// What work-groups side by side are worth.
    pub interleave: InterleaveFacts,
    /// What work-groups of fewer invocations are worth.
    pub narrow: NarrowFacts,
    /// Which loops are written out.
    pub loops: LoopFacts,
    /// Stores that may wait for loads behind them, where a driver would keep these in order; 0 and 1: none does.
    pub late_stores: u32,
    /// Invocations of a sub-group, if pipelines can ask for full ones of this size and barriers of sub-groups are worth it; 0 if not.
    pub subgroup_size: u32,
    /// Most sub-groups of a work-group whose pipeline asks for their size.
    pub max_subgroups: u32,
    /// Bytes a kernel's buffers may have for it to be fused where a work-group hands it single elements through memory, or for it to be
    /// placed where what it hands on passes through memory: more is slower fused than not. `None` if that is never so.
    pub max_broadcast_bytes: Option<u64>,
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
            shape: ShapeFacts::default(),
            kept_bytes: 0,
            kept_result_bytes: 0,
            interleave: InterleaveFacts::default(),
            narrow: NarrowFacts::default(),
            loops: LoopFacts::default(),
            late_stores: 0,
            subgroup_size: 0,
            max_subgroups: u32::MAX,
            max_broadcast_bytes: None,
            overlapping_invocations: 0,
            small_scalars: SmallScalars::default(),
            float_controls: FloatControls::default(),
            robust: false,
        }
    }
}
