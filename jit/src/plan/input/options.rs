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

/// Most words that an invocation keeps of a row that is too long for registers, where that is asked for ([`FuseOptions::kept`]). Measured on an
/// H200, with 32 rounds at once behind them: cross-entropy of rows of 65,536 takes 238 µs without and 185 with 96, of 131,072 251 and 227. By
/// hand, with 128 to 160, softmax of rows of 65,536 takes 530 and 400, layer normalization 537 and 427; of 131,072 both take as long either way.
pub(in crate::plan) const KEPT_WORDS: u32 = 96;

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
    /// Loops that load the same words, and are too long to be unrolled as a whole, keep some of them in registers.
    pub kept: bool,
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
        if self.kept {
            limits.unroll.keep = KEPT_WORDS;
        }
        limits
    }
}
