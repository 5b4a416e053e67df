//! One list on a device, in two ways.

use std::io::Write as _;

use vkfuse::{
    Accessor, Buffer, CacheOptions, Context, ContextOptions, Event, FusionProperties, FusionWrapper,
    Internalization, Kernel, Outcome, Promote, Queue, QueueOptions, Reason, module::ElementType,
};
use vkfuse_fuzz::{Class, Failure, List, Pool, Verdict};

/// A context with the kernels of a pool; none where the device does not take one.
pub(crate) struct Device {
    context: Context,
    queue: Queue,
    kernels: Vec<Result<Kernel, String>>,
}

/// The words of all buffers.
type Bytes = Vec<Vec<u32>>;

impl Device {
    /// Opens the device that the environment names; without one the test is skipped, or fails where
    /// `VKFUSE_REQUIRE_DEVICE` is set.
    pub(crate) fn open(validation: bool) -> Option<Device> {
        let cache = CacheOptions::default().no_disk();
        let options = ContextOptions::from_env().validation_layer(validation).cache(cache);
        let context = match Context::with(options) {
            Ok(context) => context,
            Err(error) => {
                assert!(std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(), "no device: {error}");
                let _ = writeln!(std::io::stderr(), "SKIPPED: {error}");
                return None;
            }
        };
        let queue = context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue that can fuse");
        Some(Device { context, queue, kernels: Vec::new() })
    }

    /// Takes the kernels of a pool instead of those it has.
    pub(crate) fn load(&mut self, pool: &Pool) {
        let load = |module| self.context.kernel(module, None).map_err(|e| e.to_string());
        self.kernels = pool.modules().map(load).collect();
    }

    /// Pipelines asked of the driver so far.
    pub(crate) fn pipelines(&self) -> u64 {
        self.context.stats().driver_compiles
    }

    pub(crate) fn validation_messages(&self) -> u64 {
        self.context.validation_messages()
    }

    /// Runs a list unfused and fused.
    pub(crate) fn check(&mut self, pool: &Pool, list: &List) -> Result<Verdict, Failure> {
        let first = match self.unfused(pool, list) {
            Ok(bytes) => bytes,
            Err(why) => return Ok(Verdict::Skipped(why)),
        };
        let internal = |what: String| Failure { class: Class::Internal, what, report: String::new() };
        let failed = |error: vkfuse::Error| internal(error.to_string());
        let memory = self.memory(list).map_err(internal)?;
        let fusion = FusionWrapper::new(&self.queue).map_err(failed)?;
        fusion.start_fusion().map_err(failed)?;
        self.submit(pool, list, &memory).map_err(internal)?;
        let done = fusion.complete_fusion(&FusionProperties::default()).map_err(failed)?;
        let outcome = self.outcome(list, &done, &memory, &first);
        match outcome {
            Err(Failure { class: Class::Bytes, .. }) if is_the_devices(pool, list, &memory, &first) => {
                Ok(Verdict::Undefined("unfused runs are not what the reference is, fused ones are"))
            }
            Err(Failure { class: Class::Bytes, .. }) if vkfuse_fuzz::is_open(pool, list) => {
                Ok(Verdict::Undefined("it depends on results that SPIR-V leaves open"))
            }
            Err(_) if self.unfused(pool, list).is_ok_and(|again| again != first) => {
                Ok(Verdict::Undefined("two unfused runs differ"))
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
    ) -> Result<Verdict, Failure> {
        let failure = |class, what, report| Failure { class, what, report };
        let internal = |what: &str| failure(Class::Internal, what.to_owned(), String::new());
        let report = done.report().ok_or_else(|| internal("no report"))?;
        let plan = &report.plan;
        if let Outcome::Refused { reason: Reason::Internal { what } } = &report.outcome {
            return Err(failure(
                Class::Internal,
                format!("could not be built: {what}"),
                format!("{plan:#?}"),
            ));
        }
        let inside = |buffer: &Buffer<u32>| {
            let mut buffers = plan.buffers.iter();
            buffers.any(|b| b.buffer == buffer.id() && b.got != Internalization::None)
        };
        for (number, (buffer, want)) in memory.iter().zip(first).enumerate() {
            let got = match buffer.download() {
                Ok(got) => got,
                Err(_) if inside(buffer) => continue,
                Err(error) => return Err(internal(&format!("buffer {number}: {error}"))),
            };
            // What stayed inside and is readable all the same was written by no one.
            if let Some(at) = want.iter().zip(&got).position(|(a, b)| a != b) {
                let (want, got) = (want[at], got[at]);
                let what = format!("buffer {number}, word {at}: {got:#x} fused, {want:#x} unfused");
                return Err(failure(Class::Bytes, what, format!("{plan:#?}")));
            }
        }
        let asked = plan.buffers.iter().filter(|b| b.asked != Promote::None);
        Ok(Verdict::Right {
            steps: report.dispatches,
            submissions: list.len(),
            internalized: plan.buffers.iter().filter(|b| b.got != Internalization::None).count(),
            refused: asked.filter(|b| b.got == Internalization::None).count(),
            barriers: plan.groups.iter().flat_map(|g| &g.barriers).filter(|b| b.kept).count(),
            split: plan.splits.first().map(|s| s.reason.to_string()),
        })
    }

    fn unfused(&self, pool: &Pool, list: &List) -> Result<Bytes, String> {
        let memory = self.memory(list)?;
        self.submit(pool, list, &memory)?;
        memory.iter().map(|buffer| buffer.download().map_err(|e| e.to_string())).collect()
    }

    fn memory(&self, list: &List) -> Result<Vec<Buffer<u32>>, String> {
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
                    // Words stand for elements of any type.
                    let accessor = accessor.elements(ElementType::Bytes);
                    let accessor = accessor.range(arg.offset as usize / 4, arg.len as usize / 4);
                    h.arg(arg.at, promoted(accessor, arg.promote));
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

/// Whether the fused run, wherever it differs from the unfused one, gave what the reference interpreter gives: then it is
/// the device's unfused run that is off.
fn is_the_devices(pool: &Pool, list: &List, fused: &[Buffer<u32>], unfused: &Bytes) -> bool {
    let Ok(reference) = vkfuse_fuzz::defined(pool, list) else { return false };
    let reference = reference.iter().map(|bytes| words(bytes));
    fused.iter().zip(unfused).zip(reference).all(|((fused, unfused), reference)| {
        // What stayed inside cannot be read.
        let Ok(fused) = fused.download() else { return true };
        let mut each = fused.iter().zip(unfused).zip(reference);
        each.all(|((fused, unfused), reference)| fused == unfused || *fused == reference)
    })
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

fn promoted(accessor: Accessor, promote: Promote) -> Accessor {
    match promote {
        Promote::Private => accessor.promote_private(),
        Promote::Local => accessor.promote_local(),
        Promote::Auto => accessor.promote_auto(),
        _ => accessor,
    }
}
