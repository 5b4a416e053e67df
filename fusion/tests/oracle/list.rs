//! Lists of calls, with what the engine is given besides.

use std::sync::Arc;

use vkfuse::Promote;
use vkfuse::module::{SpecType, SpecValue};
use vkfuse_jit::plan::Submission;

use super::raw;

/// A call, and what only the engine knows of.
#[derive(Clone)]
pub(crate) struct Call {
    /// What Vulkan is given.
    pub(crate) vulkan: raw::Call,
    /// Its constants with their types.
    pub(crate) spec: Vec<(u32, SpecValue)>,
    /// The wish of each argument.
    pub(crate) promote: Vec<Promote>,
}

/// Calls on buffers.
#[derive(Clone)]
pub(crate) struct List {
    pub(crate) name: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) buffers: Vec<Vec<u8>>,
}

impl Call {
    /// One kernel without arguments.
    pub(crate) fn new(words: &Arc<[u32]>, entry: &str, groups: [u32; 3]) -> Call {
        let vulkan = raw::Call {
            words: words.clone(),
            entry: entry.to_owned(),
            constants: Vec::new(),
            subgroup: None,
            push: Vec::new(),
            base: [0; 3],
            groups,
            args: Vec::new(),
        };
        Call { vulkan, spec: Vec::new(), promote: Vec::new() }
    }

    /// With these constants.
    pub(crate) fn spec(mut self, spec: &[(u32, SpecValue)]) -> Call {
        self.spec = spec.to_vec();
        self.vulkan.constants =
            spec.iter().map(|(id, value)| raw::Constant { id: *id, bytes: bytes(*value) }).collect();
        self
    }

    /// With this range of a buffer.
    pub(crate) fn arg(mut self, at: (u32, u32), buffer: usize, offset: u64, len: u64) -> Call {
        let (set, binding) = at;
        self.vulkan.args.push(raw::Arg { set, binding, element: 0, buffer, offset, len });
        self.promote.push(Promote::None);
        self
    }

    /// With these push constants.
    pub(crate) fn push(mut self, bytes: &[u8]) -> Call {
        self.vulkan.push = bytes.to_vec();
        self
    }

    /// The call of a submission that a generator made.
    pub(crate) fn of(words: &Arc<[u32]>, spec: &[(u32, SpecValue)], submission: &Submission) -> Call {
        let mut call = Call::new(words, &submission.kernel.entry, submission.groups).spec(spec);
        for arg in &submission.args {
            call = call.arg((arg.at.set, arg.at.binding), arg.buffer.0 as usize, arg.offset, arg.len);
            if let Some(last) = call.vulkan.args.last_mut() {
                last.element = arg.at.element;
            }
            call.promote.pop();
            call.promote.push(arg.promote);
        }
        call.vulkan.base = submission.base;
        call.push(&submission.push)
    }
}

/// A value as `VkSpecializationInfo` has it.
fn bytes(value: SpecValue) -> Vec<u8> {
    let width = match value.ty() {
        SpecType::I8 | SpecType::U8 => 1,
        SpecType::I16 | SpecType::U16 | SpecType::F16 => 2,
        SpecType::I64 | SpecType::U64 | SpecType::F64 => 8,
        // A Boolean is a `VkBool32`.
        _ => 4,
    };
    value.bits().to_le_bytes()[..width].to_vec()
}
