//! The report of `run` and `bench`: fields in the order of the format's description.
//!
//! A field that does not apply is `null` and never missing: no field is skipped
//! when it is empty.

use super::number::Number;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Version of the report, equal to that of the pipeline file.
pub(crate) const FORMAT: u32 = 1;

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
    pub(crate) rewrites: Vec<Rewrite>,
    pub(crate) cache: Cache,
    pub(crate) time_us: Times,
    /// One entry per repetition.
    pub(crate) runs: Vec<Run>,
    pub(crate) outputs: Named<Output>,
}

/// One dispatch.
#[derive(Serialize)]
pub(crate) struct Group {
    /// Submissions, counted from 0.
    pub(crate) kernels: Vec<usize>,
    pub(crate) fused: bool,
    pub(crate) work_group: [u32; 3],
    pub(crate) items_per_invocation: u32,
    /// Places that load what was loaded before, and take it from a register.
    pub(crate) loads_kept: u32,
    /// Work-groups of the kernels that one of the dispatch does side by side.
    pub(crate) work_groups: u32,
    /// Why it does its own alone, if several might be worth it.
    pub(crate) alone: Option<String>,
    pub(crate) barriers: Vec<Barrier>,
    /// The key of its code, in hexadecimal: `--dump-spirv` names files by its start.
    pub(crate) key: Option<String>,
}

/// A place in a group where a barrier could stand.
#[derive(Serialize)]
pub(crate) struct Barrier {
    pub(crate) after: usize,
    pub(crate) kept: bool,
    pub(crate) reason: String,
}

/// Why the list was cut after a submission.
#[derive(Serialize)]
pub(crate) struct Split {
    pub(crate) after: usize,
    pub(crate) buffer: Option<String>,
    pub(crate) reason: String,
    pub(crate) detail: String,
    /// Why no rewrite closed it, if one was tried.
    pub(crate) tried: Option<String>,
    /// Where the reason is explained: the page, with its heading.
    pub(crate) explained_at: String,
}

/// A submission whose items are done in the order of another's elements, or that works out what another stores.
#[derive(Serialize)]
pub(crate) struct Rewrite {
    /// `place` or `inline`.
    pub(crate) kind: &'static str,
    /// Submissions, counted from 0.
    pub(crate) kernel: usize,
    pub(crate) partner: usize,
    /// Of what is placed.
    pub(crate) pi: Option<Pi>,
    /// Of what is inlined.
    pub(crate) again: Option<Again>,
    /// The item of an invocation, or what it costs, in words.
    pub(crate) detail: String,
}

/// Which invocation does which item.
#[derive(Serialize)]
pub(crate) struct Pi {
    /// `rows`: item `group * length + local + k * work_group.x`; `grid`: item `y * length + x`.
    pub(crate) order: &'static str,
    pub(crate) length: u32,
    pub(crate) work_group: [u32; 3],
    pub(crate) groups: [u32; 3],
    /// How many there are.
    pub(crate) items: u64,
}

/// What is worked out again instead of being loaded.
#[derive(Serialize)]
pub(crate) struct Again {
    pub(crate) buffer: Option<String>,
    /// Loads that were replaced, and how often an invocation does one.
    pub(crate) loads: u32,
    pub(crate) times: u64,
    /// Loads that this costs an invocation.
    pub(crate) paid: u64,
    /// Bytes that are not moved.
    pub(crate) saved: u64,
}

/// What became of a promotion.
#[derive(Serialize)]
pub(crate) struct BufferOutcome {
    pub(crate) asked: String,
    pub(crate) got: String,
    pub(crate) reason: Option<String>,
}

/// A pair of accesses that was not proven but taken on the user's word.
#[derive(Serialize)]
pub(crate) struct Trusted {
    pub(crate) first: usize,
    pub(crate) second: usize,
    pub(crate) buffer: Option<String>,
    pub(crate) reason: String,
}

/// Where the fused kernels came from: `hit`, `miss`, or `null` where that level was not asked.
#[derive(Serialize, Clone, Copy, Default)]
pub(crate) struct Cache {
    pub(crate) memory: Option<&'static str>,
    pub(crate) disk: Option<&'static str>,
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
    /// The first element that differs, in the unfused and in the fused run.
    pub(crate) differing: Option<[Number; 2]>,
}

/// A map that keeps the order in which the pipeline file has its names.
pub(crate) struct Named<T>(pub(crate) Vec<(String, T)>);

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
