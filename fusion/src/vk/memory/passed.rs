//! Arguments that do not fit into push constants: bytes in uniform buffers of the engine's own.
//!
//! A buffer has the bytes of one recording, or of several that pass the same, and no one writes it while one of them may still be
//! submitted or is pending: what is recorded keeps it, as it keeps all memory. Then it takes other bytes. Submitting makes what
//! the host wrote before visible to the device, so there is nothing to wait for and no barrier.

use std::sync::Arc;

use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::vk::{
    Command, DeviceError, Gpu, Memory, MemoryKind, Pipeline,
    template::{Played, Recordable},
};

/// One for each dispatch that needs one, in order.
pub(in crate::vk) type Passed = SmallVec<[Arc<Memory>; 1]>;

/// Buffers that are kept to be used again.
const MOST: usize = 64;

/// The buffers of a device, the latest used last.
#[derive(Debug, Default)]
pub(in crate::vk) struct PassedBuffers(Mutex<Vec<Buffer>>);

#[derive(Debug)]
struct Buffer {
    memory: Arc<Memory>,
    bytes: Vec<u8>,
}

impl PassedBuffers {
    /// A buffer with these bytes at its start.
    pub(in crate::vk) fn with(&self, gpu: &Gpu, bytes: &[u8]) -> Result<Arc<Memory>, DeviceError> {
        let mut buffers = self.0.lock();
        if let Some(same) = buffers.iter().position(|buffer| buffer.bytes == bytes) {
            buffers[same..].rotate_left(1);
            return Ok(buffers[buffers.len() - 1].memory.clone());
        }
        // Exclusive means that nothing recorded keeps it any more.
        let idle = buffers.iter_mut().position(|buffer| {
            buffer.memory.size() >= bytes.len() as u64 && Arc::get_mut(&mut buffer.memory).is_some()
        });
        let memory = match idle {
            Some(idle) => buffers.remove(idle).memory,
            None => {
                let size = bytes.len().next_power_of_two().max(256) as u64;
                gpu.allocate(size, MemoryKind::Passed)?
            }
        };
        if !memory.write_mapped(0, bytes) {
            return Err(DeviceError::OutOfMemory {
                kind: "argument",
                bytes: bytes.len() as u64,
                reason: "the host does not reach it".to_owned(),
            });
        }
        // Of those that are in use, their keeper frees them.
        if buffers.len() >= MOST {
            buffers.remove(0);
        }
        buffers.push(Buffer { memory: memory.clone(), bytes: bytes.to_vec() });
        Ok(memory)
    }
}

impl Gpu {
    /// The buffers that what is to be recorded needs. It is checked.
    pub(in crate::vk) fn passed(&self, what: &Recordable<'_>) -> Result<Passed, DeviceError> {
        match what {
            Recordable::Commands(commands) => {
                self.pass(commands.iter().filter_map(|command| match command {
                    Command::Dispatch(dispatch) => Some((&*dispatch.pipeline, &*dispatch.push)),
                    _ => None,
                }))
            }
            Recordable::Template(played, _) => self.passed_to(*played),
        }
    }

    /// The buffers that a template needs.
    pub(in crate::vk) fn passed_to(&self, played: Played<'_>) -> Result<Passed, DeviceError> {
        if !played.template.passes {
            return Ok(Passed::new());
        }
        self.pass(played.parts().map(|(part, push)| (&*part.pipeline, push)))
    }

    fn pass<'a>(
        &self,
        dispatches: impl Iterator<Item = (&'a Pipeline, &'a [u8])>,
    ) -> Result<Passed, DeviceError> {
        let mut passed = Passed::new();
        for (pipeline, push) in dispatches {
            if pipeline.push_buffer().is_some() {
                let behind = &push[pipeline.push_bytes() as usize..];
                passed.push(self.0.passed.with(self, behind)?);
            }
        }
        Ok(passed)
    }
}
