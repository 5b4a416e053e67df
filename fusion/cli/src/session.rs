//! A device with the kernels and buffer contents of one pipeline on it, ready to run the list.
//!
//! # Guarantees
//! - nothing runs before the whole list was checked against the device's limits
//! - every run starts from the same contents, in buffers of its own

use crate::args::{DeviceArgs, PolicyArg};
use crate::cache;
use crate::limits;
use crate::pipeline::check::{Checked, Known};
use crate::pipeline::{BufferDecl, ImageDecl, Pipeline, Place, Promotion, Sampling, bind, contents};
use crate::stop::Stop;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use vkfuse::report::Members;
use vkfuse::{
    Accessor, Buffer, BufferId, CacheOptions, Context, ContextOptions, DeviceInfo, Error, Event, FloatMode,
    FusedList, FusionError, FusionProperties, FusionReport, FusionWrapper, Image, Kernel, Policy, Queue,
    QueueOptions, guard::CompileGuard,
};
use vkfuse_jit::plan::FuseOptions;

/// A pipeline on a device.
pub(crate) struct Session<'p> {
    context: Context,
    pipeline: &'p Pipeline,
    checked: &'p Checked,
    kernels: Vec<Kernel>,
    contents: Vec<Option<Vec<u8>>>,
    properties: FusionProperties,
    queues: Queues,
}

/// A queue for each way to run the list. A program keeps its queues, and what a queue learns of a list that comes again belongs to
/// the time that is measured.
struct Queues {
    unfused: Queue,
    recorded: Queue,
    fused: Queue,
}

impl Queues {
    fn new(context: &Context) -> Result<Queues, Stop> {
        let queue = |fusion: bool| {
            let options = QueueOptions::new().enable_fusion(fusion).profiling(true);
            context.queue(options).map_err(|error| Stop::running(&error))
        };
        Ok(Queues { unfused: queue(false)?, recorded: queue(true)?, fused: queue(true)? })
    }
}

/// The buffers and images of one run, filled with the initial contents.
pub(crate) struct Buffers {
    held: Vec<Held>,
    /// By declaration, whether promotions apply; buffers whose promotion is off stay in memory whatever the file asks for.
    promotes: Vec<bool>,
}

/// What a declared name stands for.
enum Held {
    Buffer(Buffer<u8>),
    Image(Image),
}

impl Held {
    /// The image of a declaration.
    fn image(context: &Context, declared: &BufferDecl, image: &ImageDecl) -> Result<Held, Error> {
        let made = context.image(image.kind, image.texel.format, image.extent, 1)?;
        made.set_name(&declared.name);
        Ok(Held::Image(made))
    }
}

/// How long one run of the list took.
pub(crate) struct Timed {
    /// The fused run's report.
    pub(crate) fusion: Option<Arc<FusionReport>>,
    /// Time on the device, the sum over the dispatches; `None` where the device cannot tell.
    pub(crate) gpu: Option<Duration>,
    /// Time on the device of each submission of an unfused run.
    pub(crate) each: Vec<Option<Duration>>,
    /// From the first submission to the last result.
    pub(crate) wall: Duration,
}

impl<'p> Session<'p> {
    /// Opens the device, checks the list against its limits and puts the kernels on it.
    pub(crate) fn open(
        pipeline: &'p Pipeline,
        checked: &'p Checked,
        args: &DeviceArgs,
        dump_spirv: Option<&Path>,
    ) -> Result<Session<'p>, Stop> {
        let context = Context::with_options(options(args, pipeline, dump_spirv)?.float(float(pipeline)))
            .map_err(|error| Stop::opening(&error))?;
        limits::check(pipeline, checked, context.device_info())?;
        let kernels = kernels(&context, pipeline, checked)?;
        let mut contents = Vec::with_capacity(pipeline.buffers.len());
        for buffer in &pipeline.buffers {
            contents.push(contents::initial(pipeline, buffer)?);
        }
        let properties = properties(pipeline, args.policy);
        let queues = Queues::new(&context)?;
        Ok(Session { context, pipeline, checked, kernels, contents, properties, queues })
    }

    /// Names of the device and of its driver, the latter with its version.
    pub(crate) fn device(&self) -> (String, String) {
        let info = self.context.device_info();
        (info.name.clone(), driver(info))
    }

    /// The device.
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Fresh buffers with the initial contents.
    pub(crate) fn buffers(&self) -> Result<Buffers, Stop> {
        self.buffers_promoting(|_| true)
    }

    /// Fresh buffers with the initial contents. Only those that `promotes` names may be promoted.
    pub(crate) fn buffers_promoting(&self, promotes: impl Fn(usize) -> bool) -> Result<Buffers, Stop> {
        let promotes: Vec<bool> = (0..self.contents.len()).map(promotes).collect();
        let mut buffers = Vec::with_capacity(self.contents.len());
        for ((declared, contents), promotes) in
            self.pipeline.buffers.iter().zip(&self.contents).zip(&promotes)
        {
            let failed = |error: Error| located(self.pipeline, &declared.place, &error);
            if let Some(image) = &declared.image {
                let held = Held::image(&self.context, declared, image).map_err(failed)?;
                if let (Held::Image(image), Some(contents)) = (&held, contents) {
                    image.upload(contents).map_err(failed)?;
                }
                buffers.push(held);
                continue;
            }
            // `read` has made sure that the size fits.
            let buffer = self.context.buffer::<u8>(declared.bytes() as usize).map_err(failed)?;
            let buffer = buffer.named(&declared.name);
            let buffer = if *promotes { promoted(declared, buffer) } else { buffer };
            if let Some(contents) = contents {
                buffer.upload(contents).map_err(failed)?;
            }
            buffers.push(Held::Buffer(buffer));
        }
        Ok(Buffers { held: buffers, promotes })
    }

    /// Gives these buffers their initial contents again.
    pub(crate) fn refill(&self, buffers: &Buffers, which: &[usize]) -> Result<(), Stop> {
        for &index in which {
            let declared = &self.pipeline.buffers[index];
            let failed = |error: Error| located(self.pipeline, &declared.place, &error);
            let Held::Buffer(buffer) = &buffers.held[index] else { continue };
            match &self.contents[index] {
                Some(contents) => buffer.upload(contents).map_err(failed)?,
                None => buffer.upload(&vec![0; declared.bytes() as usize]).map_err(failed)?,
            }
        }
        Ok(())
    }

    /// Runs the list as it is, one dispatch for each submission.
    pub(crate) fn run_unfused(&self, buffers: &Buffers) -> Result<Timed, Stop> {
        let queue = &self.queues.unfused;
        let start = Instant::now();
        let events = self.submit(queue, buffers)?;
        queue.wait().map_err(|error| Stop::running(&error))?;
        let wall = start.elapsed();
        let each: Vec<Option<Duration>> = events.iter().map(Event::gpu_time).collect();
        Ok(Timed { fusion: None, gpu: each.iter().copied().sum(), each, wall })
    }

    /// Runs the list in fusion mode.
    pub(crate) fn run_fused(&self, buffers: &Buffers) -> Result<Timed, Stop> {
        self.run_as(&self.queues.fused, buffers, &self.properties)
    }

    /// Runs the list as it is, in one command buffer with the barriers that it needs.
    pub(crate) fn run_recorded(&self, buffers: &Buffers) -> Result<Timed, Stop> {
        let unfused = FusionProperties::new().float(float(self.pipeline)).unfused();
        self.run_as(&self.queues.recorded, buffers, &unfused)
    }

    fn run_as(&self, queue: &Queue, buffers: &Buffers, properties: &FusionProperties) -> Result<Timed, Stop> {
        let running = |error: Error| Stop::running(&error);
        let start = Instant::now();
        let fusion = FusionWrapper::new(queue).map_err(running)?;
        fusion.start_fusion().map_err(running)?;
        if let Err(wrong) = self.submit(queue, buffers) {
            // Of a list that is wrong nothing is to run.
            drop(fusion.keep_unrun(properties));
            return Err(wrong);
        }
        let done = match fusion.complete_fusion(properties) {
            // It ran unfused, and why belongs into the report: asked again, it gives the event of that.
            Err(Error::Fusion(FusionError::Forced { .. })) => fusion.complete_fusion(properties),
            done => done,
        };
        let done = done.map_err(running)?;
        done.wait().map_err(running)?;
        let wall = start.elapsed();
        Ok(Timed { fusion: done.report(), gpu: done.gpu_time(), each: Vec::new(), wall })
    }

    /// Runs the dispatches of a fused list one after the other, each as a list of its own, and returns the time of each on the
    /// device: nothing for one whose code is another then.
    pub(crate) fn run_dispatches(
        &self,
        buffers: &Buffers,
        report: &FusionReport,
    ) -> Result<Vec<Option<Duration>>, Stop> {
        let queue = &self.queues.fused;
        let running = |error: Error| Stop::running(&error);
        let fusion = FusionWrapper::new(queue).map_err(running)?;
        let mut times = Vec::with_capacity(report.steps.len());
        for step in &report.steps {
            fusion.start_fusion().map_err(running)?;
            self.submit_some(queue, buffers, &step.members)?;
            let done = fusion.complete_fusion(&self.properties).map_err(running)?;
            done.wait().map_err(running)?;
            let is_same =
                done.report().is_some_and(|own| matches!(&own.steps[..], [one] if one.key == step.key));
            times.push(done.gpu_time().filter(|_| is_same));
        }
        Ok(times)
    }

    fn submit(&self, queue: &Queue, buffers: &Buffers) -> Result<Vec<Event>, Stop> {
        self.submit_some(queue, buffers, &Members::from(0..self.pipeline.submits.len()))
    }

    fn submit_some(&self, queue: &Queue, buffers: &Buffers, which: &Members) -> Result<Vec<Event>, Stop> {
        let mut events = Vec::with_capacity(which.len());
        let sampler = |how: Option<Sampling>| how.map(|how| self.context.sampler(how.info())).transpose();
        let mut samplers = Vec::new();
        for how in [Sampling::Nearest, Sampling::Linear] {
            let asked = self.pipeline.submits.iter().flat_map(|submit| &submit.args);
            let asked = { asked }.any(|arg| arg.sampler == Some(how));
            let made = sampler(asked.then_some(how)).map_err(|error| Stop::running(&error))?;
            samplers.extend(made.map(|made| (how, made)));
        }
        for (submit, checked) in which.of(&self.pipeline.submits).zip(which.of(&self.checked.submits)) {
            let mut seen = Vec::new();
            for index in &checked.args {
                let arg = &submit.args[*index];
                let (Some(texel), Held::Buffer(buffer)) = (arg.texels, &buffers.held[arg.buffer]) else {
                    continue;
                };
                let (offset, len) = bind::bytes(self.pipeline, arg);
                let view = buffer.texels_of(texel.format, offset as usize..(offset + len) as usize);
                seen.push((*index, view.map_err(|error| located(self.pipeline, &arg.place, &error))?));
            }
            let event = queue.submit(|handler| {
                for index in &checked.args {
                    let arg = &submit.args[*index];
                    let buffer = match &buffers.held[arg.buffer] {
                        Held::Buffer(buffer) => buffer,
                        Held::Image(image) => {
                            let sampler = samplers.iter().find(|(how, _)| Some(*how) == arg.sampler);
                            handler.arg(
                                arg.at,
                                match sampler {
                                    Some((_, sampler)) => image.sampled(sampler),
                                    None => image.read_write(),
                                },
                            );
                            continue;
                        }
                    };
                    let (offset, len) = bind::bytes(self.pipeline, arg);
                    if let Some((_, view)) = seen.iter().find(|(of, _)| of == index) {
                        handler.arg(arg.at, view);
                        continue;
                    }
                    let accessor = buffer.read_write().range(offset as usize, len as usize);
                    let accessor = if arg.constant { accessor.constant() } else { accessor };
                    let promote = arg.promote.filter(|_| buffers.promotes[arg.buffer]);
                    handler.arg(arg.at, accessor_promoted(promote, accessor));
                }
                for (id, value) in &checked.spec {
                    handler.spec(*id, *value);
                }
                if !checked.push.is_empty() {
                    handler.push_bytes(&checked.push);
                }
                handler.dispatch_base(&self.kernels[submit.kernel], submit.base, checked.groups);
            });
            events.push(event.map_err(|error| located(self.pipeline, &submit.place, &error))?);
        }
        Ok(events)
    }
}

/// The list of a pipeline, recorded on a device; nothing of it runs, and no buffer has memory. Images have.
pub(crate) fn unrun(
    context: &Context,
    pipeline: &Pipeline,
    checked: &Checked,
    policy: Option<PolicyArg>,
) -> Result<FusedList, Stop> {
    limits::check(pipeline, checked, context.device_info())?;
    let kernels = kernels(context, pipeline, checked)?;
    let mut buffers = Vec::with_capacity(pipeline.buffers.len());
    for declared in &pipeline.buffers {
        if let Some(image) = &declared.image {
            let held = Held::image(context, declared, image);
            buffers.push(held.map_err(|error| located(pipeline, &declared.place, &error))?);
            continue;
        }
        let buffer = context.scratch::<u8>(declared.bytes() as usize);
        let buffer = buffer.map_err(|error| located(pipeline, &declared.place, &error))?;
        buffers.push(Held::Buffer(promoted(declared, buffer.no_promotion().named(&declared.name))));
    }
    let (context, contents) = (context.clone(), Vec::new());
    let (properties, queues) = (properties(pipeline, policy), Queues::new(&context)?);
    let session = Session { context, pipeline, checked, kernels, contents, properties, queues };
    let running = |error: Error| Stop::running(&error);
    let queue = &session.queues.fused;
    let fusion = FusionWrapper::new(queue).map_err(running)?;
    fusion.start_fusion().map_err(running)?;
    let promotes = vec![true; buffers.len()];
    let submitted = session.submit(queue, &Buffers { held: buffers, promotes });
    // Whether it is right or wrong.
    let kept = fusion.keep_unrun(&session.properties).map_err(running);
    submitted.and(kept)
}

fn kernels(context: &Context, pipeline: &Pipeline, checked: &Checked) -> Result<Vec<Kernel>, Stop> {
    let declared = pipeline.kernels.iter().zip(&checked.modules);
    let kernels = declared.map(|(declared, module)| {
        let kernel = context.kernel(module, declared.entry.as_deref());
        kernel.map_err(|error| located(pipeline, &declared.path_place, &error))
    });
    kernels.collect()
}

impl Buffers {
    /// Identities of the buffers in a fusion report, in the order of the file.
    pub(crate) fn ids(&self) -> Vec<BufferId> {
        let id = |held: &Held| match held {
            Held::Buffer(buffer) => buffer.id(),
            Held::Image(image) => image.id(),
        };
        self.held.iter().map(id).collect()
    }

    /// The bytes of a buffer.
    pub(crate) fn download(&self, index: usize) -> Result<Vec<u8>, Stop> {
        let bytes = match &self.held[index] {
            Held::Buffer(buffer) => buffer.download(),
            Held::Image(image) => image.download(),
        };
        bytes.map_err(|error| Stop::running(&error))
    }
}

/// A driver's name and what it says about its version.
pub(crate) fn driver(info: &DeviceInfo) -> String {
    format!("{} {}", info.driver, info.driver_info).trim().to_owned()
}

/// Chooses a device by its number or a part of its name.
pub(crate) fn on_device(options: ContextOptions, device: Option<&str>) -> ContextOptions {
    match device.map(|device| (device, device.parse::<usize>())) {
        None => options,
        Some((_, Ok(index))) => options.device(index),
        Some((name, Err(_))) => options.device(name),
    }
}

/// Has this program compile new code in a process of its own first, unless the environment says otherwise.
pub(crate) fn guarded(options: ContextOptions) -> ContextOptions {
    let said = std::env::var("VKFUSE_COMPILE_GUARD").unwrap_or_default();
    match std::env::current_exe() {
        Ok(own) if matches!(&*said, "" | "1") => {
            options.compile_guard(CompileGuard::program(own, ["compile-guard"]))
        }
        _ => options,
    }
}

fn options(
    args: &DeviceArgs,
    pipeline: &Pipeline,
    dump_spirv: Option<&Path>,
) -> Result<ContextOptions, Stop> {
    let mut options = on_device(guarded(ContextOptions::from_env()).profiling(true), args.device.as_deref());
    if let Some(cache) = cache_options(args)? {
        options = options.cache(cache);
    }
    if args.robust || pipeline.fusion.robust {
        options = options.robust_buffer_access(true);
    }
    if let Some(folder) = dump_spirv {
        options = options.dump_spirv(folder);
    }
    Ok(options)
}

/// A context that only compiles for a pipeline.
pub(crate) fn compiling(
    args: &DeviceArgs,
    pipeline: &Pipeline,
    dump_spirv: Option<&Path>,
) -> Result<Context, Stop> {
    let options = options(args, pipeline, dump_spirv)?.float(float(pipeline)).compile_only(true);
    Context::with_options(options).map_err(|error| Stop::opening(&error))
}

/// How a pipeline is planned without a device.
pub(crate) fn fuse_options(pipeline: &Pipeline, policy: Option<PolicyArg>) -> FuseOptions {
    FuseOptions {
        policy: if trusts(pipeline, policy) { Policy::Trust } else { Policy::Prove },
        no_barriers: pipeline.fusion.no_barriers,
        float: float(pipeline),
        force: pipeline.fusion.force,
        ..FuseOptions::default()
    }
}

/// How code is cached, where that is not the environment's affair.
fn cache_options(args: &DeviceArgs) -> Result<Option<CacheOptions>, Stop> {
    Ok(match &args.cache_dir {
        _ if args.no_cache => Some(CacheOptions::off()),
        Some(folder) => Some(CacheOptions::default().directory(cache::folder(folder)?)),
        None => None,
    })
}

/// What is known of kernels before there is a device.
pub(crate) fn known(args: &DeviceArgs) -> Result<Known, Stop> {
    Ok(vkfuse::cache::kernel_store(&cache_options(args)?.unwrap_or_default()))
}

/// How floats are compiled, fused and unfused.
fn float(pipeline: &Pipeline) -> FloatMode {
    if pipeline.fusion.contract { FloatMode::Contract } else { FloatMode::Strict }
}

fn trusts(pipeline: &Pipeline, policy: Option<PolicyArg>) -> bool {
    policy.map_or(pipeline.fusion.trust, |policy| policy == PolicyArg::Trust)
}

fn properties(pipeline: &Pipeline, policy: Option<PolicyArg>) -> FusionProperties {
    let trust = trusts(pipeline, policy);
    if let Some(place) =
        pipeline.fusion.no_barriers_place.as_ref().filter(|_| pipeline.fusion.no_barriers && !trust)
    {
        tracing::warn!(
            "{}",
            pipeline.problem(place, "`no_barriers` has no effect without the policy `trust`")
        );
    }
    let properties = FusionProperties::default()
        .policy(if trust { Policy::Trust } else { Policy::Prove })
        .float(float(pipeline));
    let properties = if pipeline.fusion.force { properties.force_fusion() } else { properties };
    if pipeline.fusion.no_barriers { properties.no_barriers() } else { properties }
}

fn promoted(declared: &BufferDecl, buffer: Buffer<u8>) -> Buffer<u8> {
    match declared.promote {
        Promotion::None => buffer,
        Promotion::Private => buffer.promote_private(),
        Promotion::Local => buffer.promote_local(),
        Promotion::Auto => buffer.promote_auto(),
    }
}

fn accessor_promoted(promotion: Option<Promotion>, accessor: Accessor) -> Accessor {
    match promotion {
        None => accessor,
        Some(Promotion::None) => accessor.no_promotion(),
        Some(Promotion::Private) => accessor.promote_private(),
        Some(Promotion::Local) => accessor.promote_local(),
        Some(Promotion::Auto) => accessor.promote_auto(),
    }
}

/// An error about something that stands at `place` in the file.
fn located(pipeline: &Pipeline, place: &Place, error: &Error) -> Stop {
    Stop::running(error).locate(|message| pipeline.problem(place, message))
}
