//! The recipe of a fused kernel: everything that changes its code, and nothing else.
//!
//! A recipe names kernels by content hash and buffers, scalars and slots by number. It holds no
//! buffer, no address, no size and no value of a push constant unless that value was built into the
//! code. Its canonical bytes are what the cache key is made of.

use crate::analysis::resolved_branches::ResolvedBranch;
use crate::kernel::BindingKind;
use crate::plan::input::options::FloatMode;
use crate::plan::input::submission::Internalization;
use crate::schedule::Schedule;

/// Raised whenever the emitter changes what it makes of a recipe.
pub(crate) const CODE_VERSION: u32 = 40;

/// The type of the slot of the zero that hides floats.
pub(crate) const ZERO: &str = "u32 zero";

/// What one fused kernel is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recipe {
    pub(crate) float: FloatMode,
    /// Which invocation does which work.
    pub(crate) schedule: Schedule,
    pub(crate) members: Vec<Member>,
    pub(crate) bindings: Vec<UnifiedBinding>,
    pub(crate) internal: Vec<Internal>,
    pub(crate) push: Vec<PushSlot>,
    /// Slots from this byte on are in a uniform buffer of the engine's own, which is bound behind `bindings`.
    pub(crate) behind: Option<u32>,
    /// Slot of the zero that hides floats; `None`: nothing is hidden.
    pub(crate) zero: Option<u16>,
    /// Members after which a barrier stands.
    pub(crate) barriers: Vec<usize>,
    /// Elements of bindings that are kept as they are stored.
    pub(crate) kept: Vec<Internal>,
    /// Shared memory of a work-group that is one sub-group is promoted to registers, read by shuffles, where its uses are followed.
    pub(crate) shuffles: bool,
    /// Number of stores that are moved behind later loads at a time, for drivers that keep loads and stores in order.
    pub(crate) late_stores: Option<u32>,
    /// A member with sub-group operations comes behind others, and finds its sub-groups together.
    pub(crate) converges: Option<Converges>,
    /// Where the numbers of some push constants lie.
    pub(crate) push_ranges: Vec<PushRange>,
    /// Push constants that are multiples of a power of two, where vectors begin at such.
    pub(crate) push_multiples: Vec<PushMultiple>,
}

/// A power of two that a push constant of 32 bits, which is not zero, is a multiple of in every call of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PushMultiple {
    pub(crate) slot: u16,
    pub(crate) of: u32,
}

/// Least and greatest number that a push constant of 32 bits has in every call of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PushRange {
    pub(crate) slot: u16,
    pub(crate) least: u32,
    pub(crate) greatest: u32,
}

/// How the invocations of a sub-group come together between members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Converges {
    /// Members return at their ends alone, where all control flow has merged.
    AtMerges,
    /// Besides, the module asks for uniform control flow by sub-group (`SubgroupUniformControlFlowKHR`).
    Asked,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) kernel: [u8; 32],
    /// What each binding of the kernel became.
    pub(crate) targets: Vec<Target>,
    /// Push slots of the leaves of the kernel's block, in order; or the one of the whole block.
    pub(crate) push: Vec<u16>,
    /// How its ids are made; `None`: it has the ids of the fused kernel.
    pub(crate) remap: Option<Remap>,
    /// Its control barriers also order what was promoted to shared memory.
    pub(crate) widen_barriers: bool,
    /// Accesses that take the elements of all items at once, in the order of the kernel's accesses; empty if none does.
    pub(crate) wide: Vec<bool>,
    /// Loops of the kernel that are unrolled.
    pub(crate) unroll: Vec<Unroll>,
    /// Where floats come in that the driver's compiler must not see through.
    pub(crate) hidden: Hidden,
    /// Stores of elements that are kept, and loads of these, in the order of the kernel's accesses.
    pub(crate) kept: Vec<KeptAccess>,
    /// Branches that go one way in every invocation.
    pub(crate) resolved: Vec<ResolvedBranch>,
}

/// How a loop is unrolled; `index` is its number among the kernel's loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unroll {
    /// All of its rounds. The first `sure` are done by every invocation; the one that is left, if any, after its test.
    Whole { index: u32, sure: u32, most: u32 },
    /// `first` rounds one after the other, and a loop of `times` by `at_once` rounds: every invocation does all of these. Then the loop
    /// follows as it is.
    Part { index: u32, first: u32, times: u32, at_once: u32 },
}

impl Unroll {
    /// Whether its last round has a test.
    pub(crate) fn is_guarded(&self) -> bool {
        matches!(self, Self::Whole { sure, most, .. } if sure < most)
    }

    /// How many copies of a round there are, besides what is left as a loop.
    pub(crate) fn copies(&self) -> u32 {
        match *self {
            Self::Whole { most, .. } => most,
            Self::Part { first, at_once, .. } => first + at_once,
        }
    }

    /// How many rounds stand in front of what is left of it as a loop.
    pub(crate) fn first(&self) -> u32 {
        match *self {
            Self::Whole { .. } => 0,
            Self::Part { first, .. } => first,
        }
    }

    /// Which loop it is.
    pub(crate) fn index(&self) -> u32 {
        match *self {
            Self::Whole { index, .. } | Self::Part { index, .. } => index,
        }
    }
}

/// A store of an element that is kept, or a load of one that was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptAccess {
    /// Number among the kernel's accesses.
    pub(crate) access: usize,
    /// Which of the recipe's kept elements.
    pub(crate) index: u16,
    pub(crate) slot: SlotOf,
}

/// Where hidden floats come into a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hidden {
    /// By binding of the kernel: through its loads.
    pub(crate) bindings: Vec<bool>,
    /// By push slot of the member: through its arguments.
    pub(crate) push: Vec<bool>,
}

impl Hidden {
    /// Whether nothing is hidden.
    pub(crate) fn is_empty(&self) -> bool {
        !(self.bindings.contains(&true) || self.push.contains(&true))
    }
}

/// Renumbering of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Remap {
    /// Slots of the group counts (or, for items, of the extents in items); `None` where the count is one.
    pub(crate) counts: [Option<u16>; 3],
    /// Slot of the number of groups (items); `None` if no guard is needed.
    pub(crate) total: Option<u16>,
    /// Slot of the number of the first group of its part; `None` if that is 0.
    pub(crate) first: Option<u16>,
    /// Local size of the member, for its own global ids.
    pub(crate) local_size: [u32; 3],
}

/// What a binding of a member became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A binding of the fused kernel.
    Bound(u16),
    /// A variable inside it.
    Internal {
        index: u16,
        /// Where each element access of this binding goes, in the order of the kernel's accesses.
        slots: Vec<SlotOf>,
        /// Push slots of the lengths the kernel asks for, in the order of its queries.
        lengths: Vec<u16>,
    },
}

/// Where an element of an internalized buffer lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SlotOf {
    /// Always here.
    Fixed(u32),
    /// At the index, less what the invocation or work-group contributes.
    Relative {
        /// Factors of `WorkgroupId` and of `LocalInvocationId` of the fused kernel.
        group: [i64; 3],
        local: [i64; 3],
        /// Added to that.
        constant: i64,
        /// Elements from one slot to the next.
        divisor: u32,
    },
    /// In loops that are unrolled: `first`, and for each loop a number of slots times its round.
    Unrolled { first: u32, by: Vec<(u32, i64)> },
}

impl SlotOf {
    /// The loops on whose rounds it depends, by their numbers in the kernel.
    pub(crate) fn loops(&self) -> impl Iterator<Item = u32> + '_ {
        let by = if let Self::Unrolled { by, .. } = self { by.as_slice() } else { &[] };
        by.iter().map(|&(index, _)| index)
    }
}

/// One binding of the fused kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnifiedBinding {
    pub(crate) kind: BindingKind,
    /// No member writes it.
    pub(crate) read_only: bool,
    /// A barrier hands its contents from one invocation to another.
    pub(crate) coherent: bool,
    /// No other binding overlaps it.
    pub(crate) restrict: bool,
}

/// One internalized buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Internal {
    pub(crate) kind: Internalization,
    pub(crate) slots: u32,
}

/// One member of the fused push-constant block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PushSlot {
    pub(crate) offset: u32,
    pub(crate) size: u32,
    /// Type signature; a whole block is marked by a leading `!`.
    pub(crate) ty: String,
}

impl Recipe {
    /// The slot of the zero that hides floats, between members or inside of them.
    pub(crate) fn zero_slot(&self) -> Option<u16> {
        self.push.iter().position(|slot| slot.ty == ZERO).map(|slot| slot as u16)
    }

    /// Canonical, length-prefixed bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let Self {
            float,
            schedule,
            members,
            bindings,
            internal,
            push,
            behind,
            zero,
            barriers,
            kept,
            shuffles,
            late_stores,
            converges,
            push_ranges,
            push_multiples,
        } = self;
        let mut out = Writer(b"vkfuse.fused".to_vec());
        out.u32(CODE_VERSION);
        out.u32(u32::from(*float == FloatMode::Strict));
        schedule.encode(&mut out.0);
        out.list(members, |out, member| {
            let Member { kernel, targets, push, remap, widen_barriers, wide, unroll, hidden, kept, resolved } =
                member;
            out.0.extend_from_slice(kernel);
            out.list(targets, |out, target| match target {
                Target::Bound(n) => {
                    out.u32(0);
                    out.u32(u32::from(*n));
                }
                Target::Internal { index, slots, lengths } => {
                    out.u32(1);
                    out.u32(u32::from(*index));
                    out.list(slots, Writer::slot);
                    out.list(lengths, |out, &n| out.u32(u32::from(n)));
                }
            });
            out.list(push, |out, &n| out.u32(u32::from(n)));
            let first = remap.and_then(|remap| remap.first);
            out.u32(u32::from(remap.is_some()) + u32::from(first.is_some()));
            if let Some(Remap { counts, total, first, local_size }) = remap {
                counts.iter().chain([total]).for_each(|n| out.u32(n.map_or(u32::MAX, u32::from)));
                first.iter().for_each(|&n| out.u32(u32::from(n)));
                local_size.iter().for_each(|&n| out.u32(n));
            }
            out.u32(u32::from(*widen_barriers));
            out.list(wide, |out, &wide| out.u32(u32::from(wide)));
            out.list(unroll, |out, &how| {
                let numbers = match how {
                    Unroll::Whole { index, sure, most } => [0, index, sure, most],
                    Unroll::Part { index, first: 0, times, at_once } => [1, index, times, at_once],
                    Unroll::Part { index, times, at_once, .. } => [2, index, times, at_once],
                };
                numbers.into_iter().for_each(|n| out.u32(n));
                if how.first() > 0 {
                    out.u32(how.first());
                }
            });
            let Hidden { bindings, push } = hidden;
            out.list(bindings, |out, &hidden| out.u32(u32::from(hidden)));
            out.list(push, |out, &hidden| out.u32(u32::from(hidden)));
            if !kept.is_empty() {
                out.0.extend_from_slice(b"kept");
                out.list(kept, |out, KeptAccess { access, index, slot }| {
                    out.u32(*access as u32);
                    out.u32(u32::from(*index));
                    out.slot(slot);
                });
            }
            if !resolved.is_empty() {
                out.0.extend_from_slice(b"settled");
                out.list(resolved, |out, &ResolvedBranch { block, taken }| {
                    out.u32(block);
                    out.u32(u32::from(taken));
                });
            }
        });
        out.list(bindings, |out, binding| {
            let UnifiedBinding { kind, read_only, coherent, restrict } = binding;
            out.u32(match kind {
                BindingKind::StorageBuffer => 0,
                BindingKind::UniformBuffer => 1,
                BindingKind::Other(_) => 2,
            });
            [read_only, coherent, restrict].into_iter().for_each(|&b| out.u32(u32::from(b)));
        });
        out.list(internal, |out, Internal { kind, slots }| {
            out.u32(*kind as u32);
            out.u32(*slots);
        });
        out.list(push, |out, PushSlot { offset, size, ty }| {
            out.u32(*offset);
            out.u32(*size);
            out.list(ty.as_bytes(), |out, &b| out.0.push(b));
        });
        out.u32(zero.map_or(u32::MAX, u32::from));
        out.list(barriers, |out, &n| out.u32(n as u32));
        if !kept.is_empty() {
            out.0.extend_from_slice(b"kept");
            out.list(kept, |out, Internal { slots, .. }| out.u32(*slots));
        }
        if *shuffles {
            out.0.extend_from_slice(b"shared memory by shuffles");
        }
        if let Some(most) = late_stores {
            out.0.extend_from_slice(b"late stores");
            out.u32(*most);
        }
        if let Some(from) = behind {
            out.0.extend_from_slice(b"in a buffer");
            out.u32(*from);
        }
        if let Some(how) = converges {
            out.0.extend_from_slice(b"converges");
            out.u32(u32::from(*how == Converges::Asked));
        }
        if !push_ranges.is_empty() {
            out.0.extend_from_slice(b"ranges");
            out.list(push_ranges, |out, &PushRange { slot, least, greatest }| {
                [u32::from(slot), least, greatest].into_iter().for_each(|n| out.u32(n));
            });
        }
        if !push_multiples.is_empty() {
            out.0.extend_from_slice(b"multiples");
            out.list(push_multiples, |out, &PushMultiple { slot, of }| {
                [u32::from(slot), of].into_iter().for_each(|n| out.u32(n));
            });
        }
        out.0
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn u32(&mut self, n: u32) {
        self.0.extend_from_slice(&n.to_le_bytes());
    }

    fn i64(&mut self, n: i64) {
        self.0.extend_from_slice(&n.to_le_bytes());
    }

    fn slot(&mut self, slot: &SlotOf) {
        match slot {
            SlotOf::Fixed(n) => {
                self.u32(0);
                self.u32(*n);
            }
            SlotOf::Relative { group, local, constant, divisor } => {
                self.u32(1);
                group.iter().chain(local).chain([constant]).for_each(|&n| self.i64(n));
                self.u32(*divisor);
            }
            SlotOf::Unrolled { first, by } => {
                self.u32(2);
                self.u32(*first);
                self.list(by, |out, &(which, slots)| {
                    out.u32(which);
                    out.i64(slots);
                });
            }
        }
    }

    fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.u32(items.len() as u32);
        items.iter().for_each(|item| each(self, item));
    }
}
