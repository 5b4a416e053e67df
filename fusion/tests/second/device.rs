//! One list on a device, in two ways.

use std::io::Write as _;

use vkfuse::{
    Accessor, Buffer, CacheOptions, Context, ContextOptions, Event, FusionProperties, FusionWrapper,
    Internalization, Kernel, Promote, Queue, QueueOptions, Reason,
};
use vkfuse_fuzz::{List, Pool};

/// How a list came out.
pub(crate) enum Outcome {
    /// The device or the engine does not take it even unfused.
    Skipped(String),
    /// Two unfused runs differ.
    Unstable,
    /// Fused and unfused agree.
    Equal { steps: usize, submissions: usize, internalized: usize },
}

/// A context with the kernels of a pool; none where the device does not take one.
pub(crate) struct Device {
    context: Context,
    queue: Queue,
    kernels: Vec<Result<Kernel, String>>,
}

type Bytes = Vec<Option<Vec<u32>>>;

impl Device {
    /// Opens the device that the environment names; without one the test is skipped, or fails where
    /// `VKFUSE_REQUIRE_DEVICE` is set.
    pub(crate) fn open(pool: &Pool, validation: bool) -> Option<Device> {
        let cache = CacheOptions::default().no_disk();
        let options = ContextOptions::from_env().validation(validation).cache(cache);
        let context = match Context::with(options) {
            Ok(context) => context,
            Err(error) => {
                assert!(std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(), "no device: {error}");
                let _ = writeln!(std::io::stderr(), "SKIPPED: {error}");
                return None;
            }
        };
        let queue = context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue that can fuse");
        let kernels =
            pool.modules().map(|module| context.kernel(module, None).map_err(|e| e.to_string())).collect();
        Some(Device { context, queue, kernels })
    }

    pub(crate) fn validation_messages(&self) -> u64 {
        self.context.validation_messages()
    }

    /// Runs a list unfused and fused.
    pub(crate) fn check(&mut self, pool: &Pool, list: &List) -> Result<Outcome, String> {
        let first = match self.unfused(pool, list) {
            Ok(bytes) => bytes,
            Err(why) => return Ok(Outcome::Skipped(why)),
        };
        let memory = self.memory(list)?;
        let fusion = FusionWrapper::new(&self.queue).map_err(|e| e.to_string())?;
        fusion.start_fusion().map_err(|e| e.to_string())?;
        self.submit(pool, list, &memory)?;
        let done = fusion.complete_fusion(&FusionProperties::default()).map_err(|e| e.to_string())?;
        let outcome = self.outcome(list, &done, &memory, &first);
        match outcome {
            Err(what) if self.unfused(pool, list).is_ok_and(|again| again != first) => {
                let _ = what;
                Ok(Outcome::Unstable)
            }
            outcome => outcome,
        }
    }

    fn outcome(
        &self,
        list: &List,
        done: &Event,
        memory: &[Buffer<u32>],
        first: &Bytes,
    ) -> Result<Outcome, String> {
        let report = done.report().ok_or("no report")?;
        if let vkfuse::Outcome::Refused { reason: Reason::Internal { what } } = &report.outcome {
            return Err(format!("could not be built: {what}"));
        }
        let inside = |buffer: &Buffer<u32>| {
            let mut buffers = report.plan.buffers.iter();
            buffers.any(|b| b.buffer == buffer.id() && b.got != Internalization::None)
        };
        for (number, (buffer, want)) in memory.iter().zip(first).enumerate() {
            let got = match buffer.download() {
                Ok(got) => got,
                Err(_) if inside(buffer) => continue,
                Err(error) => return Err(format!("buffer {number}: {error}")),
            };
            // What stayed inside and is readable all the same was written by nobody.
            let at = want.iter().flatten().zip(&got).position(|(a, b)| a != b);
            if let Some(at) = at {
                let (want, got) = (want.as_ref().map_or(0, |want| want[at]), got[at]);
                let plan = &report.plan;
                return Err(format!(
                    "buffer {number}, word {at}: {got:#x} fused, {want:#x} unfused\n{plan:#?}"
                ));
            }
        }
        Ok(Outcome::Equal {
            steps: report.dispatches,
            submissions: list.len(),
            internalized: report.plan.buffers.iter().filter(|b| b.got != Internalization::None).count(),
        })
    }

    fn unfused(&self, pool: &Pool, list: &List) -> Result<Bytes, String> {
        let memory = self.memory(list)?;
        self.submit(pool, list, &memory)?;
        memory.iter().map(|buffer| buffer.download().map(Some).map_err(|e| e.to_string())).collect()
    }

    fn memory(&self, list: &List) -> Result<Vec<Buffer<u32>>, String> {
        let words = |bytes: &Vec<u8>| -> Vec<u32> {
            bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
        };
        let contents = list.contents();
        contents
            .iter()
            .map(|bytes| self.context.buffer_from(&words(bytes)).map_err(|e| e.to_string()))
            .collect()
    }

    fn submit(&self, pool: &Pool, list: &List, memory: &[Buffer<u32>]) -> Result<(), String> {
        let submissions = list.submissions(pool)?;
        for (number, submission) in submissions.iter().enumerate() {
            let kernel = self.kernels[list.kernel(number)].as_ref().map_err(Clone::clone)?;
            let submitted = self.queue.submit(|h| {
                for (arg, binding) in submission.args.iter().zip(&submission.kernel.interface.bindings) {
                    let buffer = &memory[arg.buffer.0 as usize];
                    let accessor = if binding.writes { buffer.read_write() } else { buffer.read() };
                    let accessor = accessor.range(arg.offset as usize / 4, arg.len as usize / 4);
                    h.arg((arg.set, arg.binding), promoted(accessor, arg.promote));
                }
                for (id, value) in list.constants(pool, number) {
                    h.spec(id, value);
                }
                if !submission.push.is_empty() {
                    h.push_bytes(&submission.push);
                }
                h.dispatch(kernel, submission.groups);
            });
            submitted.map_err(|e| e.to_string())?;
        }
        Ok(())
    }
}

fn promoted(accessor: Accessor, promote: Promote) -> Accessor {
    match promote {
        Promote::Private => accessor.promote_private(),
        Promote::Local => accessor.promote_local(),
        Promote::Auto => accessor.promote_auto(),
        _ => accessor,
    }
}
