//! How a list is to be fused.

use crate::plan::input::limits::Limits;

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

/// Words of a long row that each invocation may keep in registers ([`FuseOptions::kept`]). With 256 invocations in a work-group, 96 words leave
/// registers for two work-groups on a processor of an H200, and 192 for one.
///
/// Both are tried, because neither is always the better one. Measured on an H200, microseconds with 0, 96 and 192 words:
///
/// | row | softmax | layer normalization | cross-entropy |
/// | --- | --- | --- | --- |
/// | 65,536 | 534, 805, 461 | 563, 466, 780 | 246, 185, 190 |
/// | 131,072 | 561, 978, 758 | 594, 589, 696 | 250, 227, 222 |
pub(in crate::plan) const KEPT_WORDS: [u32; 2] = [96, 192];

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
    /// Work-groups are coarsened also where few are left of a dispatch, two at a time.
    pub coarser: bool,
    /// Most words that loops keep in registers for each other which load the same, and are too long to be unrolled as a whole; 0: none.
    pub kept: u32,
    /// No kernel is placed where it has far fewer invocations than by itself.
    pub wide: bool,
    /// Nothing is fused, because it was measured to be slower: every kernel runs by itself.
    pub apart: bool,
}

impl FuseOptions {
    /// A device's limits, as these options change them.
    pub(in crate::plan) fn limits(&self, limits: &Limits) -> Limits {
        let mut limits = *limits;
        if self.coarser {
            let blocks = &mut limits.block_coarsening;
            (blocks.work_groups, blocks.least) = (blocks.work_groups.min(2), blocks.least / 4);
        }
        if self.kept > 0 {
            limits.unroll.keep = self.kept;
        }
        limits
    }
}
