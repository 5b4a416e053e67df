//! Why something was not fused or not promoted: one enum for reports, logs and tests.

use std::borrow::Cow;
use std::fmt;

use crate::analysis::access::AccessKind;
use crate::frontend::{KernelReason, SetBinding};

/// A loop whose number of rounds is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnboundedLoop {
    /// The kernel.
    pub kernel: String,
    /// Lines of the source text in which it may begin; none where debug information does not say.
    pub lines: Vec<u32>,
}

impl fmt::Display for UnboundedLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernel = &self.kernel;
        match self.lines.as_slice() {
            [] => write!(f, "the trip count of a loop in {kernel} is unknown"),
            [line] => write!(f, "the trip count of the loop in line {line} of {kernel} is unknown"),
            lines => {
                let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
                let lines = lines.join(", ");
                write!(f, "the trip count of a loop in {kernel} is unknown (lines {lines})")
            }
        }
    }
}

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

/// Why no rewrite closed a seam: why a kernel could not be placed on the rows or tiles of another, or recomputed where it is
/// read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RewriteReason {
    /// It does something that ties its invocations to each other or to their dispatch.
    #[error("it cannot be re-indexed: it has {what}")]
    NotFree {
        /// What.
        what: &'static str,
    },
    /// It has fewer items than its partner's rows or tiles, or more than them and the rest may do something.
    #[error(
        "submission {submission} has {items} invocations, and submission {partner} {places} positions for them"
    )]
    Count {
        /// The submission that was to be placed.
        submission: usize,
        /// The one on whose rows or tiles.
        partner: usize,
        /// Its invocations.
        items: u64,
        /// How many of them the partner would do.
        places: u64,
    },
    /// Its invocations are not those of its partner's rows or tiles, each once, however many there are.
    #[error("submission {submission} cannot be done at the positions of submission {partner}: {what}")]
    Places {
        /// The submission that was to be placed.
        submission: usize,
        /// The one on whose rows or tiles.
        partner: usize,
        /// What keeps it from that.
        what: String,
    },
    /// Few rows, and long ones: the kernel alone uses more of the device.
    #[error("{rows} rows of {length} leave most of the device idle")]
    FewRows {
        /// Rows.
        rows: u64,
        /// Elements of a row.
        length: u64,
    },
    /// It would have far fewer invocations than by itself, which was measured to be slower.
    #[error("in {invocations} invocations instead of {own} it was measured to be slower")]
    Narrow {
        /// Invocations that would do its items.
        invocations: u64,
        /// Its own invocations.
        own: u64,
    },
    /// It cannot have larger work-groups.
    #[error("its work-groups cannot be padded: it has {what}")]
    NotPadded {
        /// What keeps it from that.
        what: &'static str,
    },
    /// Larger work-groups would have many invocations with nothing to do, and the kernel alone uses more of the device.
    #[error("in work-groups of {all} invocations it would use {own} of them, and leave the device idle")]
    Idle {
        /// Invocations of its own work-groups.
        own: u64,
        /// Those of the larger ones.
        all: u64,
    },
    /// An invocation's part of a long row is more than it keeps, so what is stored passes through memory all the same.
    #[error(
        "on rows this long an invocation stores {bytes} bytes that later kernels load, and can keep {room} of them"
    )]
    NotKept {
        /// Bytes that an invocation stores to one buffer.
        bytes: u64,
        /// Bytes that it can keep.
        room: u64,
    },
    /// Its placed form could not be made.
    #[error("its re-indexed form could not be built: {what}")]
    Failed {
        /// Why.
        what: String,
    },
    /// With the kernels placed, the group still does not hold.
    #[error("also after re-indexing: {0}")]
    Rejected(Box<Reason>),
    /// What it stores is no definition that could be computed where it is read.
    #[error("submission {producer} cannot be recomputed where it is read: it has {what}")]
    NoDefinition {
        /// The submission that stores.
        producer: usize,
        /// What keeps it from being one.
        what: &'static str,
    },
    /// Which item stores an element does not follow from its index.
    #[error("the invocation of submission {producer} that stores an element cannot be determined: {what}")]
    NoItem {
        /// The submission that stores.
        producer: usize,
        /// What is not followed.
        what: &'static str,
    },
    /// One of several stores of an item is not like the others.
    #[error("submission {producer} cannot be recomputed where it is read: its store at block {}, instruction {}, has {what}", at.0, at.1)]
    NoSite {
        /// The submission that stores.
        producer: usize,
        /// The store, by block and position in its normal form.
        at: (usize, usize),
        /// What keeps it from being computed with the others.
        what: &'static str,
    },
    /// The loads cannot be replaced.
    #[error("its loads of what submission {producer} stores cannot be replaced: {what}")]
    NoLoads {
        /// The submission that stores.
        producer: usize,
        /// Why.
        what: &'static str,
    },
    /// More is read than was certainly written.
    #[error("elements are read that submission {producer} may not have stored")]
    NotStored {
        /// The submission that stores.
        producer: usize,
    },
    /// What it would be made of again is not what it was made of.
    #[error(
        "submission {writer} overwrites what submission {producer} reads or stores before it would be recomputed"
    )]
    Overwritten {
        /// The submission that stores.
        producer: usize,
        /// The one that writes.
        writer: usize,
    },
    /// It would not pay.
    #[error(
        "recomputing it costs more than it saves: {loads} loads and {work} operations per invocation, {read} bytes read to save {saved}"
    )]
    Costs {
        /// Loads of the definition, times how often an invocation works it out.
        loads: u64,
        /// Operations, likewise.
        work: u64,
        /// Bytes an element is made of.
        read: u64,
        /// Bytes of an element that are not moved.
        saved: u64,
    },
    /// The kernel could not be made.
    #[error("the kernel that recomputes it could not be built: {what}")]
    NotInlined {
        /// Why.
        what: String,
    },
    /// It cannot be done where what it reads is stored.
    #[error("it cannot be done where submission {producer} stores what it reads: {what}")]
    NoEpilogue {
        /// The submission that stores.
        producer: usize,
        /// Why.
        what: &'static str,
    },
    /// A kernel that does it there could not be made.
    #[error("it could not be done where what it reads is stored: {what}")]
    NotAppended {
        /// Why.
        what: String,
    },
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

/// The two accesses that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessPair {
    /// The earlier access.
    pub first: AccessSite,
    /// The later one.
    pub second: AccessSite,
}

/// One access, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessSite {
    /// Position in the list.
    pub submission: usize,
    /// Name of the kernel.
    pub kernel: String,
    /// Where its buffer is bound.
    pub at: SetBinding,
    /// Read, write or atomic.
    pub kind: AccessKind,
    /// Byte offset as an expression; of a texel, its coordinates.
    pub index: String,
    /// Lines of the source text, as far as debug information says them: those of all accesses of its kind to the binding.
    pub lines: Vec<u32>,
    /// Whether it is to a texel of an image.
    pub is_texel: bool,
    /// What the offset, or whether the access happens, depends on that is not followed, and what could be done about it.
    pub unfollowed: Option<String>,
}

/// Characters of an expression that are shown to people; its start says most.
const MAX_INDEX: usize = 160;

/// With `{:#}` the whole expression, without it a part of a long one.
impl std::fmt::Display for AccessSite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verb = self.verb();
        let SetBinding { set, binding, .. } = self.at;
        write!(
            f,
            "submission {} ({}) {verb} binding {set}.{binding} at {} ",
            self.submission,
            self.kernel,
            if self.is_texel { "texel" } else { "byte" }
        )?;
        f.write_str(&if f.alternate() { self.index.as_str().into() } else { self.short_index() })?;
        if let Some(lines) = self.in_lines() {
            write!(f, ", {lines}")?;
        }
        match &self.unfollowed {
            Some(unfollowed) => write!(f, " ({unfollowed})"),
            None => Ok(()),
        }
    }
}

impl AccessSite {
    /// What the kernel does there: `reads`, `writes`, `atomically updates`.
    pub fn verb(&self) -> &'static str {
        match self.kind {
            AccessKind::Read => "reads",
            AccessKind::Write => "writes",
            AccessKind::Atomic => "atomically updates",
        }
    }

    /// `line 14`, or `line 14 or 18`; of many lines the first.
    pub fn in_lines(&self) -> Option<String> {
        const MOST: usize = 4;
        let shown: Vec<String> = self.lines.iter().take(MOST).map(u32::to_string).collect();
        let more = if self.lines.len() > MOST { " or elsewhere" } else { "" };
        (!shown.is_empty()).then(|| format!("line {}{more}", shown.join(" or ")))
    }

    /// The index, of a long one the beginning.
    pub fn short_index(&self) -> Cow<'_, str> {
        match self.index.char_indices().nth(MAX_INDEX) {
            Some((end, _)) => format!("{}…", &self.index[..end]).into(),
            None => self.index.as_str().into(),
        }
    }
}

/// As its sites.
impl std::fmt::Display for AccessPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if f.alternate() {
            write!(f, "{:#}; {:#}", self.first, self.second)
        } else {
            write!(f, "{}; {}", self.first, self.second)
        }
    }
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

impl RewriteReason {
    /// More than the one-line message: the accesses that still keep kernels apart, where there are any.
    pub fn detail(&self) -> String {
        let Self::Rejected(reason) = self else { return self.to_string() };
        let (short, detail) = (reason.to_string(), reason.detail());
        match detail.strip_prefix(&short) {
            Some(rest) => format!("{self}{rest}"),
            None => format!("{self}: {detail}"),
        }
    }
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
