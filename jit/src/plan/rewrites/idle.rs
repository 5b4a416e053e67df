//! A submission that does nothing.

use smallvec::SmallVec;

use crate::kernel::Specialized;
use crate::plan::input::submission::Submission;
use crate::rewrite;

/// A submission that does nothing, of this shape, in the place of one of this kernel.
pub(in crate::plan) fn idle(kernel: &Specialized, groups: [u32; 3], local: [u32; 3]) -> Option<Submission> {
    let kernel = rewrite::nothing(kernel, local).ok()?;
    Some(Submission { kernel, base: [0; 3], groups, args: SmallVec::new(), push: SmallVec::new() })
}

/// Whether a submission is one of these.
pub(in crate::plan) fn is_idle(one: &Submission) -> bool {
    one.args.is_empty() && rewrite::is_nothing(&one.kernel)
}
