//! Passes over a module, each in a file of its own that starts with its contract.
//!
//! `pipeline` has them in run order; `normal`, which runs on the IR, is a folder beside this one. `strip_layout` repairs
//! words when they are loaded, before there is a pipeline.

pub(super) mod by_member;
pub(super) mod check_size;
pub(super) mod copy_propagation;
pub(super) mod dce;
pub(super) mod formulas;
pub(super) mod memory_model;
pub(super) mod no_contraction;
pub(super) mod order_types;
pub(super) mod raise_version;
pub(super) mod refuse;
pub(super) mod storage_class;
pub(super) mod strip_layout;
