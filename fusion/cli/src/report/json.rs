//! The report of `run` and `bench`: fields in the order of the format's description. Those of a list are the library's.
//!
//! A field that does not apply is `null` and never missing: no field is skipped
//! when it is empty.

use super::number::Number;
use serde::Serialize;
pub(crate) use vkfuse::report::json::{
    BufferOutcome, Cache, Changed, Check, Choice, Group, Named, Rewrite, Split, Trusted,
};

/// Version of the report, equal to that of the pipeline file.
pub(crate) const FORMAT: u32 = vkfuse::report::json::FORMAT;

/// What `vkfuse run` found.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) format: u32,
    pub(crate) name: Option<String>,
    pub(crate) device: String,
    pub(crate) driver: String,
    pub(crate) mode: &'static str,
    pub(crate) outcome: Option<String>,
    pub(crate) groups: Vec<Group>,
    pub(crate) splits: Vec<Split>,
    pub(crate) buffers: Named<BufferOutcome>,
    pub(crate) trusted: Vec<Trusted>,
    pub(crate) changed: Vec<Changed>,
    pub(crate) rewrites: Vec<Rewrite>,
    /// What comparing fused and unfused came to, where that was asked for.
    pub(crate) checks: Vec<Check>,
    /// What the file gives and no kernel uses.
    pub(crate) notes: Vec<String>,
    pub(crate) choice: Option<Choice>,
    pub(crate) cache: Cache,
    pub(crate) time_us: Times,
    /// One entry per repetition.
    pub(crate) runs: Vec<Run>,
    pub(crate) outputs: Named<Output>,
}

/// Times in microseconds.
#[derive(Serialize, Clone, Copy, Default)]
pub(crate) struct Times {
    pub(crate) jit: Option<f64>,
    pub(crate) driver: Option<f64>,
    pub(crate) unfused_gpu: Option<f64>,
    pub(crate) fused_gpu: Option<f64>,
    pub(crate) unfused_wall: Option<f64>,
    pub(crate) fused_wall: Option<f64>,
    /// All submissions as they are, in one command buffer with the barriers that they need.
    pub(crate) recorded_gpu: Option<f64>,
    pub(crate) recorded_wall: Option<f64>,
    /// Of the first run of each, in which a driver may compile what it compiles late. It is not among the others.
    pub(crate) first_unfused_wall: Option<f64>,
    pub(crate) first_fused_wall: Option<f64>,
}

/// One repetition.
#[derive(Serialize, Clone, Copy, Default)]
pub(crate) struct Run {
    pub(crate) cache: Cache,
    pub(crate) time_us: Times,
}

/// What an output held at the end.
#[derive(Serialize, Default)]
pub(crate) struct Output {
    pub(crate) equal: Option<bool>,
    /// Index of the first element that differs.
    pub(crate) first_difference: Option<u64>,
    pub(crate) max_ulp: Option<u64>,
    pub(crate) blake3: Option<String>,
    pub(crate) head: Option<Vec<Number>>,
    /// How many elements differ.
    pub(crate) differences: Option<u64>,
    /// How many elements are NaNs in both runs, and not the same NaN. They count as equal.
    pub(crate) nan_payloads: Option<u64>,
    /// The first element that differs, in the unfused and in the fused run.
    pub(crate) differing: Option<[Number; 2]>,
}
