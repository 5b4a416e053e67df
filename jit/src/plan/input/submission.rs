//! What goes into a plan: kernels with their arguments.

use std::sync::Arc;

use smallvec::SmallVec;

pub use crate::analysis::numbers::{Number, Numbers};
use crate::analysis::size::BoundSize;
pub use crate::analysis::size::ImageSize;
use crate::kernel::{Binding, SetBinding, Specialized};

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

/// Whether a dispatch of `groups` work-groups does anything: Vulkan allows counts of 0.
pub fn has_work(groups: [u32; 3]) -> bool {
    !groups.contains(&0)
}

impl Arg {
    /// Whether the same image is seen through both in the same way.
    pub(crate) fn is_same_image(&self, other: &Self) -> bool {
        let view = |arg: &Self| arg.image.and_then(|image| image.view);
        let is_view = match (view(self), view(other)) {
            (Some(own), Some(other)) => own == other,
            _ => (self.offset, self.len) == (other.offset, other.len),
        };
        self.buffer == other.buffer && is_view
    }
}

impl Submission {
    /// Whether it has work-groups. One without does nothing, whatever its kernel would do.
    pub fn runs(&self) -> bool {
        has_work(self.groups)
    }

    /// How many invocations its work-groups have together.
    pub(crate) fn invocations(&self) -> u64 {
        let counts = self.groups.iter().chain(&self.kernel.interface.local_size);
        counts.map(|&count| u64::from(count)).fold(1, u64::saturating_mul)
    }

    /// Two arguments that share some bytes but not all, where the kernel writes through one of them.
    pub fn overlap(&self) -> Option<(SetBinding, SetBinding)> {
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
