//! Why something was not fused or not promoted: one enum for reports, logs and tests.

mod access;
mod rewrite;

use crate::frontend::{KernelReason, SetBinding};

pub use access::{AccessPair, AccessSite, UnboundedLoop};
pub use rewrite::RewriteReason;

/// Why something was not fused, split or not promoted. Never an error: the work runs unfused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The list holds no submission.
    #[error("the fusion list is empty")]
    Empty,
    /// The list holds one submission, so there is nothing to fuse it with.
    #[error("single submission")]
    Single,
    /// A kernel has no normal form.
    #[error(transparent)]
    Kernel(#[from] KernelReason),
    /// A buffer is used in a way the analysis does not follow.
    #[error("the analysis does not follow how the kernel uses its buffer ({instruction})")]
    Untracked {
        /// The instruction.
        instruction: String,
    },
    /// Two kernels touch the same bytes from different work-groups.
    #[error("cross-work-group dependency")]
    CrossGroup(Box<AccessPair>),
    /// One kernel writes bytes that another reads as a uniform buffer.
    #[error("written by one kernel and a uniform buffer of another")]
    UniformWritten(Box<AccessPair>),
    /// One kernel writes texels of an image that another samples or fetches from.
    #[error("written by one kernel and sampled by another")]
    SampledWritten(Box<AccessPair>),
    /// A work-group would hand single elements to all its invocations, and through memory.
    #[error(
        "exchanging elements within a work-group through memory is slower than two dispatches; promote the buffer"
    )]
    SlowBroadcast {
        /// Bytes of the later kernel's buffers.
        bytes: u64,
        /// How many of them still pay, on this device.
        limit: u64,
    },
    /// Fused and apart were both measured on this device, and apart is faster; or the caller asked for separate dispatches.
    #[error("separate dispatches were asked for, or were measured to be faster than the fused kernel")]
    MeasuredSlower,
    /// Nothing is handed on across the boundary, and a device that neither side fills runs two dispatches at once.
    #[error("no data passes between the two here, and separate dispatches overlap on this device")]
    Overlaps,
    /// Different local sizes, where at least one of the kernels depends on its own.
    #[error("different local sizes")]
    LocalSize {
        /// A submission of the group so far.
        earlier: usize,
        /// Its kernel's local size.
        have: [u32; 3],
        /// Local size of the kernel that does not join.
        want: [u32; 3],
    },
    /// A submission whose work-group ids do not start at 0.
    #[error("work-group ids that start at {base:?}")]
    BaseGroups {
        /// The first work-group.
        base: [u32; 3],
    },
    /// Two bindings of one submission share some bytes but not all, and the kernel writes through one of them.
    #[error("{first} and {second} of one kernel overlap in part, and the kernel writes there")]
    Overlap {
        /// One binding.
        first: SetBinding,
        /// The other.
        second: SetBinding,
    },
    /// No work-groups, in the whole list or where a buffer is used.
    #[error("the dispatch has no work-groups")]
    NoWorkGroups,
    /// Too many invocations to number them in 32 bits.
    #[error("too many invocations to map one range to another")]
    RangeTooLarge,
    /// A barrier that is needed between kernels was switched off. Only in lists of what was trusted.
    #[error("a barrier between the two is required and was switched off")]
    BarrierSwitchedOff,
    /// Kernels that compute with floats and declare different floating-point modes.
    #[error("different floating-point execution modes")]
    FloatControls,
    /// Kernels that demand different things of the pipeline.
    #[error("different execution modes ({mode})")]
    ExecutionMode {
        /// The mode.
        mode: String,
    },
    /// More buffers than the device binds at once.
    #[error("device limit: {needed} bindings of {limit}")]
    Bindings {
        /// Bindings the group would need.
        needed: u32,
        /// What the device has.
        limit: u32,
    },
    /// More push constants than the device takes, and no buffer for the rest of them.
    #[error(
        "device limit: {needed} bytes of push constants of {limit}, and the rest does not fit into a uniform buffer: {no_buffer}"
    )]
    PushConstants {
        /// Bytes the group would need.
        needed: u32,
        /// What the device has.
        limit: u32,
        /// Why the rest is not in a uniform buffer.
        no_buffer: NoPushBuffer,
    },
    /// More shared memory than the device has.
    #[error("device limit: {needed} bytes of shared memory of {limit}")]
    SharedMemory {
        /// Bytes the group would need.
        needed: u32,
        /// What the device has.
        limit: u32,
    },
    /// The loops of the kernels together may go round more often than the driver allows.
    #[error("driver limit: {limit} loop iterations in one kernel{}", unbounded.as_ref().map(|one| format!("; {one}")).unwrap_or_default())]
    LoopRounds {
        /// The limit.
        limit: u64,
        /// A loop without a known number of iterations; `None` if all are known and together exceed the limit.
        unbounded: Option<Box<UnboundedLoop>>,
    },
    /// The uses of one buffer ask for different promotions.
    #[error("the uses of the buffer ask for different promotions")]
    PromotionMismatch,
    /// The buffer is used in more than one fused group.
    #[error("used in several fused groups")]
    SeveralGroups,
    /// The buffer's memory is reached by its address, whether or not a binding names it.
    #[error("reached by its device address")]
    Addressed,
    /// The submission that uses the buffer was not fused.
    #[error("not fused")]
    NotFused,
    /// An atomic operation on the buffer.
    #[error("atomic operation on the buffer")]
    Atomic,
    /// The buffer is not an array, or its views differ in element or layout.
    #[error("not one array of equal elements in every kernel")]
    ElementType,
    /// Elements narrower than 32 bits, which the device takes in buffers only.
    #[error("the device takes elements narrower than 32 bits in buffers only")]
    SmallElements,
    /// An access may leave the range that is bound, where that is defined (`robustBufferAccess2`): what it reads or writes then depends on
    /// the range.
    #[error("an access may leave the range that is bound, which is defined on this device")]
    MayLeaveRange {
        /// Position of the submission in the list.
        submission: usize,
        /// The binding.
        at: SetBinding,
    },
    /// An index may leave an array of a known length inside of a block, where accesses outside of a range are defined
    /// (`robustBufferAccess2`): it may lead to what follows the array.
    #[error("an index may leave an array inside of a block, which may be defined on this device")]
    MayLeaveArray {
        /// Position of the submission in the list.
        submission: usize,
        /// The binding.
        at: SetBinding,
    },
    /// A kernel whose shared memory has an explicit layout: all such variables lie in the same bytes.
    #[error("shared memory with an explicit layout (WorkgroupMemoryExplicitLayoutKHR)")]
    SharedBlocks,
    /// The index is not expressed.
    #[error("an index is not understood")]
    UnknownIndex,
    /// The slot of an element does not follow from its index.
    #[error("the slot is not a function of the index")]
    Slot,
    /// Each invocation has several elements and picks them at run time, which registers cannot do.
    #[error("several elements per invocation, chosen at run time")]
    IndexedRegisters,
    /// More elements per invocation than registers are good for.
    #[error("{slots} elements per invocation of at most {limit}")]
    TooManySlots {
        /// Elements one invocation touches.
        slots: u64,
        /// Most that are promoted.
        limit: u64,
    },
    /// A read that no earlier write of the group covers: it needs the buffer's old contents.
    #[error("submission {submission} reads what no earlier one of the group certainly wrote")]
    OldContents {
        /// Submission that reads.
        submission: usize,
        /// Where its buffer is bound.
        at: SetBinding,
        /// The index, as text.
        index: Box<str>,
        /// The last submission of the group that writes to the buffer before, but not certainly all that is read.
        writer: Option<u32>,
    },
    /// Elements are shared between invocations, or between work-groups.
    #[error("elements are shared between {}", if *.between_groups { "work-groups" } else { "invocations" })]
    SharedElements {
        /// The accesses that share them.
        pair: Box<AccessPair>,
        /// Whether even between work-groups.
        between_groups: bool,
    },
    /// The buffer is a uniform buffer somewhere.
    #[error("also bound as a uniform buffer")]
    UniformBuffer,
    /// An image with texels that are read where they are not recomputed.
    #[error("texels stay in their image, unless they are recomputed where they are read")]
    Image,
    /// A group count over the device's limit that cannot be folded.
    #[error("work-group count {count} over the device's limit {limit} in dimension {dim}")]
    GroupCount {
        /// Dimension: 0 = x.
        dim: usize,
        /// Count asked for.
        count: u32,
        /// The limit.
        limit: u32,
    },
    /// The driver's compiler does not come back from the fused code. The caller's to find out.
    #[error("the driver's compiler crashes on the fused code: {how}")]
    CompilerDies {
        /// How the process ended that tried.
        how: String,
    },
    /// Fused and unfused were compared, and are not the same: a defect of this library, or of the driver.
    #[error("the fused code gives other results than the unfused: {what}")]
    Differs {
        /// What compared them, and what differs.
        what: String,
    },
    /// A comparison that the user asked for could not be made.
    #[error("fused and unfused could not be compared: {what}")]
    NotCompared {
        /// Why.
        what: String,
    },
    /// A defect of this library: the fused code could not be made.
    #[error("internal error: {what}")]
    Internal {
        /// What happened.
        what: String,
    },
}

/// Why push constants beyond the device's limit are not in a uniform buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPushBuffer {
    /// The kernels bind as many uniform buffers as the device has.
    #[error("all {limit} bindings of the device are in use")]
    AllBound {
        /// How many the device binds.
        limit: u32,
    },
    /// They are more than are laid out in one.
    #[error("there are more than {most}")]
    TooMany {
        /// Most bytes of all push constants together.
        most: u32,
    },
    /// A block that a kernel indexes, and scalars narrower than 32 bits, have to be push constants.
    #[error(
        "blocks that are indexed by a variable and scalars narrower than 32 bits stay where they are, and do not fit"
    )]
    Fixed,
}

/// One name for each variant, which is a heading of `docs/reasons.md`.
macro_rules! anchors {
    ($($variant:ident $anchor:literal),* $(,)?) => {
        impl Reason {
            /// The headings of `docs/reasons.md`, in the order of the variants, except for those of kernels:
            /// [`KernelReason::ANCHORS`].
            pub const ANCHORS: &'static [&'static str] = &[$($anchor),*];

            /// The heading of `docs/reasons.md` that says what it means and what can be done: `cross-group`, say.
            pub fn anchor(&self) -> &'static str {
                match self {
                    Self::Kernel(reason) => reason.anchor(),
                    $(Self::$variant { .. } => $anchor,)*
                }
            }
        }
    };
}

anchors! {
    Empty "empty",
    Single "single",
    Untracked "untracked",
    CrossGroup "cross-group",
    UniformWritten "uniform-written",
    SampledWritten "sampled-written",
    SlowBroadcast "slow-broadcast",
    MeasuredSlower "measured-slower",
    Overlaps "overlaps",
    LocalSize "local-size",
    BaseGroups "base-groups",
    Overlap "overlap",
    NoWorkGroups "no-work-groups",
    RangeTooLarge "range-too-large",
    BarrierSwitchedOff "barrier-switched-off",
    FloatControls "float-controls",
    ExecutionMode "execution-mode",
    Bindings "bindings",
    PushConstants "push-constants",
    SharedMemory "shared-memory",
    LoopRounds "loop-rounds",
    PromotionMismatch "promotion-mismatch",
    SeveralGroups "several-groups",
    Addressed "addressed",
    NotFused "not-fused",
    Atomic "atomic",
    ElementType "element-type",
    SmallElements "small-elements",
    MayLeaveRange "may-leave-range",
    MayLeaveArray "may-leave-array",
    SharedBlocks "shared-blocks",
    UnknownIndex "unknown-index",
    Slot "slot",
    IndexedRegisters "indexed-registers",
    TooManySlots "too-many-slots",
    OldContents "old-contents",
    SharedElements "shared-elements",
    UniformBuffer "uniform-buffer",
    Image "image",
    GroupCount "group-count",
    CompilerDies "compiler-dies",
    Differs "differs",
    NotCompared "not-compared",
    Internal "internal",
}

impl Reason {
    /// Where it is explained: the page and its heading.
    pub fn explained_at(&self) -> String {
        format!("docs/reasons.md#{}", self.anchor())
    }

    /// More than the one-line message: the accesses, where there are any, of long expressions the beginning.
    pub fn detail(&self) -> String {
        match self {
            Self::CrossGroup(pair) | Self::UniformWritten(pair) | Self::SampledWritten(pair) => {
                pair.to_string()
            }
            Self::SharedElements { pair, .. } => format!("{self}: {pair}"),
            _ => self.in_full(),
        }
    }

    /// As [`Reason::detail`], with whole expressions.
    pub fn in_full(&self) -> String {
        match self {
            Self::CrossGroup(pair) | Self::UniformWritten(pair) | Self::SampledWritten(pair) => {
                format!("{pair:#}")
            }
            Self::SharedElements { pair, .. } => format!("{self}: {pair:#}"),
            Self::OldContents { at, index, writer, .. } => {
                let written = match writer {
                    None => "which none of them writes".to_owned(),
                    Some(writer) => {
                        format!("which submission {writer} may not have written wherever that is read")
                    }
                };
                let place = format!("binding {}.{} at byte {index}", at.set, at.binding);
                format!("{self}: {place}, {written}")
            }
            Self::MayLeaveRange { submission, at } | Self::MayLeaveArray { submission, at } => {
                format!("{self}: submission {submission} through binding {}.{}", at.set, at.binding)
            }
            Self::LocalSize { earlier, have, want } => {
                format!("{self}: submission {earlier} has {have:?}, and the next one {want:?}")
            }
            _ => self.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page of reasons has a heading for each, with some text, and no other third-level heading.
    #[test]
    fn every_reason_is_explained() {
        let page =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reasons.md")).unwrap();
        let mut headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("### ")).collect();
        let mut anchors = [Reason::ANCHORS, KernelReason::ANCHORS].concat();
        headings.sort_unstable();
        anchors.sort_unstable();
        assert_eq!(headings, anchors);
        let texts = page.split("\n### ").skip(1).map(|part| part.split("\n## ").next().unwrap_or_default());
        assert!(
            texts.clone().all(|text| text.len() > 80),
            "{:?}",
            texts.filter(|text| text.len() <= 80).collect::<Vec<_>>()
        );
        assert_eq!(Reason::Empty.explained_at(), "docs/reasons.md#empty");
        assert_eq!(Reason::Kernel(KernelReason::Call).explained_at(), "docs/reasons.md#kernel-call");
        assert_eq!(KernelReason::Call.explained_at(), "docs/reasons.md#kernel-call");
    }
}
