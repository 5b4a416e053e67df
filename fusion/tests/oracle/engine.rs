//! The same lists through the engine.

use std::collections::HashMap;
use std::sync::Arc;

use vkfuse::module::Module;
use vkfuse::report::CodeChange;
use vkfuse::{
    Accessor, Buffer, CacheOptions, Context, ContextOptions, Event, FloatMode, FusionProperties,
    FusionWrapper, Kernel, Outcome, Promote, Queue, QueueOptions, Reason, SetBinding,
};

use super::list::{Call, List};

/// How a list runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// One after the other, outside of fusion mode.
    Unfused,
    /// Each as a list of its own.
    Alone(FloatMode),
    /// As one list.
    Fused,
}

/// What comes after a run.
pub(crate) struct Ran {
    /// All bytes of each buffer; nothing of one that stayed inside.
    pub(crate) buffers: Vec<Option<Vec<u8>>>,
    /// How the code of calls that ran alone differs from the user's, if that is known.
    pub(crate) changes: Vec<CodeChange>,
    /// Dispatches, as far as they are known.
    pub(crate) dispatches: usize,
}

/// The words of a kernel, which have to live as long as their address is a key, and how they loaded.
type Loaded = (Arc<[u32]>, Result<Kernel, String>);

/// A context with kernels.
pub(crate) struct Engine {
    pub(crate) context: Context,
    queue: Queue,
    /// By the address of their words, which are kept with them, by entry point and by the size of sub-groups.
    kernels: HashMap<(usize, String, Option<u32>), Loaded>,
}

impl Engine {
    /// Opens the device that the environment names; nothing without one, where none is required.
    pub(crate) fn open(validation: bool) -> Option<Engine> {
        let cache = CacheOptions::default().no_disk();
        let options = ContextOptions::from_env().validation_layer(validation).cache(cache).autotune(false);
        let context = match Context::with(options) {
            Ok(context) => context,
            Err(error) => {
                assert!(std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(), "no device: {error}");
                eprintln!("SKIPPED: {error}");
                return None;
            }
        };
        let queue = context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue that can fuse");
        Some(Engine { context, queue, kernels: HashMap::new() })
    }

    /// The kernel of a call.
    pub(crate) fn kernel(&mut self, call: &Call) -> Result<Kernel, String> {
        let call = &call.vulkan;
        let key = (call.words.as_ptr() as usize, call.entry.clone(), call.subgroup);
        let context = &self.context;
        let load = || {
            let module = Module::from_words("kernel", &call.words).map_err(|error| error.to_string())?;
            let kernel = context.kernel(&module, Some(&call.entry)).map_err(|error| error.to_string())?;
            match call.subgroup {
                Some(size) => kernel.with_subgroup_size(size).map_err(|error| error.to_string()),
                None => Ok(kernel),
            }
        };
        let known = self.kernels.entry(key).or_insert_with(|| (call.words.clone(), load()));
        known.1.clone()
    }

    /// Runs a list.
    pub(crate) fn run(&mut self, list: &List, how: How) -> Result<Ran, String> {
        let ran = self.try_run(list, how);
        if ran.is_err()
            && let Ok(fusion) = FusionWrapper::new(&self.queue)
        {
            // The next list begins outside of fusion mode.
            let _ = fusion.cancel_fusion();
        }
        ran
    }

    fn try_run(&mut self, list: &List, how: How) -> Result<Ran, String> {
        let failed = |error: vkfuse::Error| match std::error::Error::source(&error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        };
        let kernels: Vec<Kernel> =
            list.calls.iter().map(|call| self.kernel(call)).collect::<Result<_, _>>()?;
        let made = list.buffers.iter().map(|bytes| {
            let buffer = self.context.buffer::<u8>(bytes.len())?;
            buffer.upload(bytes)?;
            Ok(buffer)
        });
        let buffers: Vec<Buffer<u8>> = made.collect::<Result<_, _>>().map_err(failed)?;
        let mut ran = Ran { buffers: Vec::new(), changes: Vec::new(), dispatches: 0 };
        let fusion = FusionWrapper::new(&self.queue).map_err(failed)?;
        let mut end = |properties: FusionProperties| -> Result<(), String> {
            let done: Event = fusion.complete_fusion(&properties).map_err(failed)?;
            done.wait().map_err(failed)?;
            let report = done.report().ok_or("no report")?;
            if let Outcome::Refused { reason: Reason::Internal { what } } = &report.outcome {
                return Err(format!("could not be built: {what}"));
            }
            ran.dispatches += report.dispatches;
            ran.changes.extend(report.steps.iter().flat_map(|step| step.changes.iter().copied()));
            Ok(())
        };
        if how == How::Fused {
            fusion.start_fusion().map_err(failed)?;
        }
        for (call, kernel) in list.calls.iter().zip(&kernels) {
            if let How::Alone(_) = how {
                fusion.start_fusion().map_err(failed)?;
            }
            self.submit(call, kernel, &buffers, how == How::Fused).map_err(failed)?;
            if let How::Alone(float) = how {
                end(FusionProperties::new().float(float))?;
            }
        }
        if how == How::Fused {
            end(FusionProperties::new())?;
        }
        self.queue.wait().map_err(failed)?;
        ran.buffers = buffers.iter().map(|buffer| buffer.download().ok()).collect();
        if how != How::Fused && ran.buffers.contains(&None) {
            return Err("a buffer of an unfused run cannot be read".to_owned());
        }
        Ok(ran)
    }

    fn submit(
        &self,
        call: &Call,
        kernel: &Kernel,
        buffers: &[Buffer<u8>],
        promotes: bool,
    ) -> Result<(), vkfuse::Error> {
        let Call { vulkan, spec, promote } = call;
        let event = self.queue.submit(|h| {
            for (arg, promote) in vulkan.args.iter().zip(promote) {
                let accessor = buffers[arg.buffer].read_write().range(arg.offset as usize, arg.len as usize);
                let at = SetBinding { set: arg.set, binding: arg.binding, element: arg.element };
                h.arg(at, promoted(accessor, if promotes { *promote } else { Promote::None }));
            }
            for (id, value) in spec {
                h.spec(*id, *value);
            }
            if !vulkan.push.is_empty() {
                h.push_bytes(&vulkan.push);
            }
            h.dispatch_base(kernel, vulkan.base, vulkan.groups);
        });
        event.map(drop)
    }
}

fn promoted(accessor: Accessor<'_>, promote: Promote) -> Accessor<'_> {
    match promote {
        Promote::Private => accessor.promote_private(),
        Promote::Local => accessor.promote_local(),
        Promote::Auto => accessor.promote_auto(),
        _ => accessor.no_promotion(),
    }
}
