//! Kernels that do the work of another in another order.
//!
//! A *free* kernel may have each of its items done by any invocation. [`place`] makes of it a kernel of another shape,
//! whose invocations do its items in the order of a partner's elements: [`Order`]. That is a kernel like any other:
//! analysed, planned and emitted as if a user had submitted it. Whether a placed kernel does each item exactly once
//! depends on the numbers of a call, and is the planner's to show (`plan::place`).

mod free;
mod wrap;

use std::sync::Arc;

use crate::kernel::{SetBinding, Specialized};
use crate::reason::RewriteReason;

pub(crate) use free::why_not_free;

/// The order in which a placed kernel does its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Order {
    /// A work-group a row: group `r`, local id `l` and round `k` of a loop do item `r w + l + k L`, where that is below
    /// `(r + 1) w`, with `L` invocations in a group. Push constant: `w`.
    Rows,
    /// An item an invocation: the one at `(x, y)` does item `y w + x`, if `x < w` and the item is below `n`. Push constants:
    /// `w`, `n`.
    Grid,
}

impl Order {
    /// Push constants behind those of the kernel.
    pub(crate) fn words(self) -> u32 {
        match self {
            Order::Rows => 1,
            Order::Grid => 2,
        }
    }
}

/// A free kernel in another order and with another local size; made once for each.
pub(crate) fn place(
    kernel: &Specialized,
    order: Order,
    local: [u32; 3],
) -> Result<Arc<Specialized>, RewriteReason> {
    if let Some(what) = why_not_free(kernel) {
        return Err(RewriteReason::NotFree { what });
    }
    kernel.variants.get((order as u8, local), || wrapped(kernel, order, local).map(Arc::new))
}

fn wrapped(kernel: &Specialized, order: Order, local: [u32; 3]) -> Result<Specialized, RewriteReason> {
    let failed = |what: String| RewriteReason::Failed { what };
    let module = wrap::wrap(kernel, order, local).map_err(|what| failed(what.to_owned()))?;
    let placed = kernel.rewritten(module, local).map_err(|error| failed(error.to_string()))?;
    // Arguments are told apart by their number.
    let places = |one: &Specialized| -> Vec<SetBinding> {
        one.interface.bindings.iter().map(|binding| binding.at).collect()
    };
    match places(&placed) == places(kernel) {
        true => Ok(placed),
        false => Err(failed("it does not use all of its bindings".to_owned())),
    }
}

/// First byte of the words that a placed kernel takes behind its own push constants.
pub(crate) fn words_at(kernel: &Specialized) -> u32 {
    kernel.interface.push.as_ref().map_or(0, |push| push.size.next_multiple_of(4))
}
