//! Passes over a module, each in a file of its own that starts with its contract.
//!
//! `pipeline` has them in run order. `optimize` is what those that call spirv-opt have in common; `strip_layout` repairs
//! words when they are loaded, before there is a pipeline.

pub(super) mod by_member;
pub(super) mod check_size;
pub(super) mod copy_propagation;
pub(super) mod dce;
pub(super) mod expand_copies;
pub(super) mod extend;
pub(super) mod formulas;
pub(super) mod inline;
pub(super) mod memory_model;
pub(super) mod no_contraction;
mod optimize;
pub(super) mod order_types;
pub(super) mod raise_version;
pub(super) mod refuse;
pub(super) mod restore_returns;
pub(super) mod sroa;
pub(super) mod storage_class;
pub(super) mod strip_layout;
pub(super) mod trivial_phis;
