//! Passes over the IR of a fused kernel.

mod bindings;
mod built_ins;
pub(super) mod dce;
pub(super) mod extrema;
pub(super) mod hide_once;
pub(super) mod item_coarsening;
mod region_copy;
pub(super) mod shuffle_promotion;
pub(super) mod sink_stores;
mod slots;
pub(super) mod subgroup_ids;
pub(super) mod superword;
mod trace;
pub(super) mod unroll;
pub(super) mod unroll_and_jam;
