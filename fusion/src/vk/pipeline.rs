//! SPIR-V words to a compute pipeline, with the driver's cache blob.

use std::{ffi::CStr, sync::Arc};

use super::{BindingKind, DeviceError, Gpu};

/// What a pipeline is made from.
#[derive(Debug, Clone)]
pub(crate) struct PipelineSource<'a> {
    /// A module that spirv-val accepts, without specialization constants left.
    pub(crate) words: &'a [u32],
    pub(crate) entry: &'a CStr,
    /// `(set, binding, kind)`, in any order, none twice. May be more than the module uses, never fewer.
    pub(crate) bindings: &'a [(u32, u32, BindingKind)],
    /// Bytes of push constants; 0 for none. A multiple of 4.
    pub(crate) push_bytes: u32,
    /// The driver's blob of an earlier build of the same words, from a cache. Checked; a wrong one is ignored.
    pub(crate) blob: Option<&'a [u8]>,
}

/// How a pipeline came to be.
#[derive(Debug, Clone, Default)]
pub(crate) struct PipelineOrigin {
    /// Microseconds spent in the driver.
    pub(crate) driver_us: u64,
    /// Whether the driver says that it found the pipeline in the blob; `None` where it does not say.
    pub(crate) from_blob: Option<bool>,
    /// Whether a blob was given, and was taken (its header fits this device and driver).
    pub(crate) blob_taken: bool,
    /// The blob to store, where it is worth storing: there was none, or it was not taken, or did not hit.
    pub(crate) blob: Option<Vec<u8>>,
}

/// A compute pipeline. `Send + Sync`; destroyed when the last handle goes, which the submissions that use it hold too.
#[derive(Debug)]
pub(crate) struct Pipeline {
    id: u64,
}

impl Pipeline {
    /// A number no other pipeline of this process ever has.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }
}

impl Gpu {
    /// Has the driver compile a pipeline. May take long; takes no lock that submissions need.
    pub(crate) fn pipeline(&self, source: &PipelineSource<'_>) -> Result<(Arc<Pipeline>, PipelineOrigin), DeviceError> {
        let _ = source;
        Err(DeviceError::Lost)
    }
}
