//! Passes over the IR of a fused kernel.

pub(super) mod dce;
pub(super) mod item_coarsening;
pub(super) mod shuffle_promotion;
pub(super) mod sink_stores;
mod slots;
pub(super) mod subgroup_ids;
pub(super) mod unroll_and_jam;
