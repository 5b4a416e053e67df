//! The promotion that the arguments of a buffer ask for together.

use crate::Reason;
use crate::plan::input::submission::{BufferId, Promote, Submission};
use crate::plan::input::uses::Uses;

/// The promotion that all uses of a buffer ask for together: none if there is no use.
pub(crate) fn wish(list: &[Submission], uses: &Uses, buffer: BufferId) -> Result<Promote, Reason> {
    let mut wish: Option<Promote> = None;
    for &(submission, binding) in uses.of_buffer(buffer) {
        wish = Some(match (wish, list[submission].args[binding].promote) {
            (None, p) => p,
            (Some(w), p) if w == p => w,
            (Some(Promote::Auto), p @ (Promote::Private | Promote::Local)) => p,
            (Some(w @ (Promote::Private | Promote::Local)), Promote::Auto) => w,
            (Some(w), _) if mutant!(AnyWish) => w,
            _ => return Err(Reason::PromotionMismatch),
        });
    }
    Ok(wish.unwrap_or_default())
}
