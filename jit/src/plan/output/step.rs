//! One dispatch of a plan: what to run and what to bind. On a cache miss, `emit` builds its module.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::kernel::{BindingKind, FloatControls, SetBinding, Specialized};
use crate::plan::input::options::FloatMode;
use crate::plan::input::submission::BufferId;
use crate::plan::output::members::Members;
use crate::plan::output::origin::SlotOrigin;
use crate::plan::output::recipe::Recipe;
use crate::schedule::{Domain, Schedule};

/// A byte range of a buffer bound for one dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Where.
    pub at: SetBinding,
    /// Kind of descriptor.
    pub kind: BindingKind,
    /// The memory object.
    pub buffer: BufferId,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
    /// Whether the dispatch reads it.
    pub reads: bool,
    /// Whether the dispatch writes it.
    pub writes: bool,
}

/// One dispatch.
#[derive(Clone, Debug)]
pub struct Step {
    /// Hash of [`Step::recipe`]: everything that changes the code, and nothing else.
    pub key: [u8; 32],
    /// The canonical bytes behind the key.
    pub recipe: Vec<u8>,
    /// Buffers left in memory; internalized ones are not among them.
    pub bindings: SmallVec<[Bound; 8]>,
    /// Push-constant bytes, and those of [`Step::push_buffer`] behind them.
    pub push: SmallVec<[u8; 64]>,
    /// Work-group counts.
    pub groups: [u32; 3],
    /// Submissions it does, in order.
    pub members: Members,
    /// What its module asks for; nothing unless floats are strict.
    pub(crate) floats: FloatControls,
    pub(crate) source: Source,
    /// Where the values of its push constants are from, slot by slot; nothing for a plain step, which has its submission's.
    pub(crate) origins: Vec<SlotOrigin>,
}

/// How a fused dispatch numbers the work of its members. Linear numbers count dimension x first. Of a dispatch whose
/// work-groups are coarsened, it is the numbers of the kernels' that are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Each invocation has the ids that it has in the member.
    Same,
    /// Work-group `n` of the dispatch, in linear order, is work-group `n` of the member; local ids stay.
    ByGroup,
    /// Global invocations are numbered in linear order over the member's whole range.
    ByItem {
        /// Consecutive numbers that one invocation does, or numbers a work-group size apart.
        items: u32,
        /// Whether an invocation's numbers are next to each other.
        consecutive: bool,
    },
}

/// What a step is built from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// The user's module unchanged, except for the number of its first work-group (`base`).
    Plain { kernel: Arc<Specialized>, float: FloatMode, base: [u32; 3] },
    /// Several kernels linked.
    Fused { kernels: Vec<Arc<Specialized>>, recipe: Arc<Recipe> },
}

/// The schedule of a kernel that runs as it was submitted, in work-groups of this size ([`Step::schedule`]).
pub fn unfused_schedule(local_size: [u32; 3]) -> String {
    Schedule::new(Domain::Grid, local_size, false).to_string()
}

impl Step {
    /// Name of the entry point of every module built here.
    pub const ENTRY: &str = "main";

    /// Whether this step runs several kernels as one.
    pub fn is_fused(&self) -> bool {
        self.members.len() > 1
    }

    /// How many bytes of [`Step::push`] are push constants. There are more where the kernels' arguments do not fit together into the
    /// push constants that the device has.
    pub fn push_bytes(&self) -> u32 {
        match &self.source {
            Source::Fused { recipe, .. } => recipe.behind.unwrap_or(self.push.len() as u32),
            Source::Plain { .. } => self.push.len() as u32,
        }
    }

    /// Size of the sub-groups that it has to be run in, all of them full, if it matters.
    pub fn subgroup_size(&self) -> Option<u32> {
        let Source::Fused { recipe, .. } = &self.source else { return None };
        recipe.schedule.full_subgroups()
    }

    /// The binding for the bytes of [`Step::push`] that follow the push constants: a uniform buffer that nothing writes while the step runs.
    /// `None` if there are no such bytes.
    pub fn push_buffer(&self) -> Option<SetBinding> {
        let Source::Fused { recipe, .. } = &self.source else { return None };
        recipe.behind.map(|_| (recipe.bindings.len() as u32).into())
    }

    /// Byte offset in [`Step::push`] of the zero that hides floats from the driver's compiler; `None` if nothing is hidden.
    pub fn zero_at(&self) -> Option<u32> {
        match &self.source {
            Source::Plain { kernel, .. } => kernel.zeros.first().copied(),
            Source::Fused { recipe, .. } => Some(recipe.push[usize::from(recipe.zero_slot()?)].offset),
        }
    }

    /// Local size of the dispatch.
    pub fn local_size(&self) -> [u32; 3] {
        match &self.source {
            Source::Plain { kernel, .. } => kernel.interface.local_size,
            Source::Fused { recipe, .. } => recipe.schedule.work_group(),
        }
    }

    /// Items of the kernels' work-group that one invocation does, where the code has a path for several.
    pub(crate) fn items_per_invocation(&self) -> u32 {
        match &self.source {
            Source::Plain { .. } => 1,
            Source::Fused { recipe, .. } => recipe.schedule.items_per_invocation(),
        }
    }

    /// Invocations of the kernels' work-group that one of the dispatch does (thread coarsening of a work-group).
    pub fn invocations_by_one(&self) -> u32 {
        match &self.source {
            Source::Plain { .. } => 1,
            Source::Fused { recipe, .. } => recipe.schedule.thread_coarsening().unwrap_or(1),
        }
    }

    /// Whether it is superword code of four neighbouring items, with their elements as vectors, where the code has a path for that.
    pub fn is_in_vectors(&self) -> bool {
        match &self.source {
            Source::Plain { .. } => false,
            Source::Fused { recipe, .. } => recipe.schedule.superword().is_some_and(|how| how.vectors),
        }
    }

    /// Which invocation of the dispatch does which work, as one line: `x: grid / 8 unrolled | 256 invocations, tail remainder`. Each
    /// dimension is written as digits, outermost first, those of the work-group's number before the bar and those of the local id behind it.
    /// Where the code has no way for several items in one invocation, which is known when it is built, the work-group has an invocation for each.
    pub fn schedule(&self) -> String {
        match &self.source {
            Source::Plain { kernel, .. } => unfused_schedule(kernel.interface.local_size),
            Source::Fused { recipe, .. } => recipe.schedule.to_string(),
        }
    }

    /// Work-groups of the kernels that one work-group of the dispatch does (block coarsening).
    pub fn coarsened_work_groups(&self) -> u32 {
        match &self.source {
            Source::Plain { .. } => 1,
            Source::Fused { recipe, .. } => recipe.schedule.groups_per_work_group(),
        }
    }

    /// Which invocation of the dispatch does what, for a step that runs several kernels.
    pub fn placement(&self) -> Option<Placement> {
        let Source::Fused { recipe, .. } = &self.source else { return None };
        let coarsening = recipe.schedule.item_coarsening();
        let (items, consecutive) = coarsening.map_or((1, false), |c| (c.items, c.consecutive));
        Some(match recipe.schedule.domain() {
            Domain::Grid => Placement::Same,
            Domain::LinearGroups => Placement::ByGroup,
            Domain::LinearItems => Placement::ByItem { items, consecutive },
        })
    }

    /// Whether its floats have the same bits in whatever code they are computed.
    pub(crate) fn is_strict(&self) -> bool {
        match &self.source {
            Source::Plain { float, .. } => *float == FloatMode::Strict,
            Source::Fused { recipe, .. } => recipe.float == FloatMode::Strict,
        }
    }

    /// Makes the step ask for float controls, if its floats are strict and its module can be decoded.
    pub(crate) fn ask(&mut self, floats: FloatControls) {
        let is_opaque = matches!(&self.source, Source::Plain { kernel, .. } if kernel.is_opaque());
        if self.is_strict() && !floats.is_empty() && !is_opaque {
            self.floats = floats;
            self.recipe.extend_from_slice(b"floats");
            self.recipe.extend_from_slice(&floats.bytes());
            self.key = *blake3::hash(&self.recipe).as_bytes();
        }
    }

    /// Work-groups that are counted from elsewhere than zero on are part of the code.
    pub(crate) fn plain_recipe(kernel: &Specialized, float: FloatMode, base: [u32; 3]) -> Vec<u8> {
        let mut recipe = b"vkfuse.plain".to_vec();
        recipe.push(u8::from(float == FloatMode::Strict));
        recipe.extend_from_slice(&kernel.hash);
        if base != [0; 3] {
            recipe.extend_from_slice(b"base in code");
            base.iter().for_each(|n| recipe.extend_from_slice(&n.to_le_bytes()));
        }
        recipe
    }
}
