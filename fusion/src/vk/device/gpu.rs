//! An open device and its queues.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use smallvec::SmallVec;
use vulkano::{
    Version, VulkanObject,
    device::{Device, DeviceFeatures, Queue, QueueFlags, physical::PhysicalDevice},
    memory::allocator::StandardMemoryAllocator,
};

use crate::vk::{
    Caps, DeviceError, DeviceInfo, DeviceSelector, GpuQueue, GpuStats, Point,
    calls::Calls,
    create::{self, Made},
    features,
    instance::{self, Messages},
    memory::buffer::Spares,
    newer::NewerFeatures,
    passed::PassedBuffers,
    queue::QueueShared,
    raw::LockedQueue,
    sets::{Rewritable, SetShapes},
    stats::Counters,
    transfer::Staging,
};

/// How long the last handle waits for work still running before it leaks what that work uses.
const DROP_PATIENCE: Duration = Duration::from_secs(10);

/// How to open a device.
#[derive(Debug, Clone, Default)]
pub(crate) struct GpuOptions {
    pub(crate) device: DeviceSelector,
    /// Switch the validation layer on. Where it is not installed that is a warning, and `Caps::validation` is false.
    pub(crate) validation: bool,
    /// Switch `robustBufferAccess2` on.
    pub(crate) robust: bool,
    /// Open no queues: nothing runs, buffers have no memory. Devices without hardware are opened like this in any case.
    pub(crate) compile_only: bool,
    /// At most this many queues; 4 by default.
    pub(crate) max_queues: Option<usize>,
    /// For tests: behave as on a device whose memory the host cannot reach, and whose sets are neither pushed nor written after they were bound.
    pub(crate) plain: bool,
}

/// An open device: `Clone` (a handle), `Send + Sync`. The last handle waits for what is pending.
#[derive(Debug, Clone)]
pub(crate) struct Gpu(pub(in crate::vk) Arc<GpuInner>);

#[derive(Debug)]
pub(in crate::vk) struct GpuInner {
    /// Tells memory and pipelines of this context from those of another.
    pub(in crate::vk) id: u64,
    pub(in crate::vk) caps: Caps,
    pub(in crate::vk) calls: Calls,
    /// None where the device compiles only.
    pub(in crate::vk) queues: Vec<QueueShared>,
    /// The families of `queues`, each once: what buffers are shared between.
    pub(in crate::vk) families: SmallVec<[u32; 4]>,
    pub(in crate::vk) lost: AtomicBool,
    pub(in crate::vk) counters: Counters,
    pub(in crate::vk) staging: Staging,
    pub(in crate::vk) passed: PassedBuffers,
    /// Most bindings of a pushed set; 0 where the device has no push descriptors.
    pub(in crate::vk) push_descriptors: u32,
    /// Which sets may be written after they were bound.
    pub(in crate::vk) rewritable: Rewritable,
    pub(in crate::vk) shapes: SetShapes,
    /// Whether mapped device memory is written and read in place.
    pub(in crate::vk) direct: bool,
    recording: AtomicBool,
    recorded: Mutex<Vec<(Point, Vec<String>)>>,
    pub(in crate::vk) spares: Arc<Spares>,
    pub(in crate::vk) allocator: Arc<StandardMemoryAllocator>,
    pub(in crate::vk) device: Arc<Device>,
    messages: Messages,
}

/// How a device is used that is open.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::vk) struct How {
    /// Why nothing runs there, if that is so.
    pub(in crate::vk) compile_only: Option<&'static str>,
    /// See [`GpuOptions::plain`].
    pub(in crate::vk) plain: bool,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// A number given out once in this process.
pub(in crate::vk) fn unique_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

impl Gpu {
    /// The devices of this machine.
    pub(crate) fn enumerate() -> Result<Vec<DeviceInfo>, DeviceError> {
        let (instance, _messages) = instance::shared(false)?;
        Ok(instance::devices(&instance)?.into_iter().map(|(_, info)| info).collect())
    }

    /// Opens a device of its own.
    pub(crate) fn open(options: &GpuOptions) -> Result<Gpu, DeviceError> {
        let (instance, messages) = instance::shared(options.validation)?;
        let mut devices = instance::devices(&instance)?;
        let infos: Vec<DeviceInfo> = devices.iter().map(|(_, info)| info.clone()).collect();
        let index = choose(&options.device, &infos)?;
        let (physical, info) = devices.swap_remove(index);
        let compile_only = match info.is_null_hardware() {
            true => Some("there is no hardware"),
            false => options.compile_only.then_some("`ContextOptions::compile_only`"),
        };
        // A driver of null hardware dies where it makes a timeline semaphore, and where a queue is waited for.
        let max_queues = if compile_only.is_some() { Some(0) } else { options.max_queues };
        let Made { device, queues, newer } = create::device(physical, max_queues, options.robust)?;
        let queues = queues.into_iter().map(|queue| (queue, None)).collect();
        let how = How { compile_only, plain: options.plain };
        let gpu = Gpu::assemble((device, &newer), queues, index, messages, how)?;
        let Caps { info, validation, profile, .. } = gpu.caps();
        let vendor = profile.vendor().name;
        tracing::debug!(
            device = info.name,
            vendor,
            driver = info.driver_info,
            validation,
            queues = gpu.queues()
        );
        Ok(gpu)
    }

    /// Works over a device that exists, on the queues given (the same `Arc`s the user submits to: they carry the
    /// lock, which must not be held by the thread that calls anything here; those that cannot compute are left out). Fails by name on a feature that [`Gpu::required_features`]
    /// lists and the device was made without.
    pub(crate) fn over(device: Arc<Device>, queues: Vec<Arc<Queue>>) -> Result<Gpu, DeviceError> {
        if let Some(index) = queues.iter().position(|q| q.device() != &device) {
            return Err(DeviceError::ForeignQueue { index });
        }
        let families = device.physical_device().queue_family_properties();
        let mut usable: Vec<LockedQueue> = Vec::new();
        for queue in queues {
            let flags = families[queue.queue_family_index() as usize].queue_flags;
            let known = usable.iter().any(|(other, _)| other.handle() == queue.handle());
            if flags.intersects(QueueFlags::COMPUTE) && !known {
                usable.push((queue, None));
            }
        }
        let index = device
            .instance()
            .enumerate_physical_devices()
            .ok()
            .and_then(|mut all| all.position(|other| &other == device.physical_device()))
            .unwrap_or(0);
        let newer = NewerFeatures::of_vulkano(&device);
        Gpu::assemble((device, &newer), usable, index, Messages::default(), How::default())
    }

    pub(in crate::vk) fn assemble(
        (device, newer): (Arc<Device>, &NewerFeatures),
        queues: Vec<LockedQueue>,
        index: usize,
        messages: Messages,
        How { compile_only, plain }: How,
    ) -> Result<Gpu, DeviceError> {
        let physical = device.physical_device();
        let properties = physical.properties();
        let name = || properties.device_name.clone();
        check_version(physical)?;
        if let Some(feature) = features::missing(device.enabled_features()).first() {
            return Err(DeviceError::MissingFeature { device: name(), feature });
        }
        if queues.is_empty() && compile_only.is_none() {
            return Err(DeviceError::NoComputeQueue { device: name() });
        }
        let all_families = physical.queue_family_properties();
        let mut families: SmallVec<[u32; 4]> =
            queues.iter().map(|(queue, _)| queue.queue_family_index()).collect();
        families.sort_unstable();
        families.dedup();
        let timestamp_bits = families
            .iter()
            .map(|f| all_families[*f as usize].timestamp_valid_bits.unwrap_or(0))
            .min()
            .unwrap_or(0);
        let push_descriptors = if device.enabled_extensions().khr_push_descriptor && !plain {
            properties.max_push_descriptors.unwrap_or(0)
        } else {
            0
        };
        let rewritable = if plain { Rewritable::default() } else { Rewritable::of(&device) };
        let mut caps = Caps::of((&device, newer), index, timestamp_bits, messages.active());
        caps.compile_only = compile_only;
        let shared = queues
            .into_iter()
            .enumerate()
            .map(|(index, queue)| QueueShared::new(index as u32, queue, &caps))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Gpu(Arc::new(GpuInner {
            id: unique_id(),
            caps,
            calls: Calls::of(&device),
            queues: shared,
            families,
            lost: AtomicBool::new(false),
            counters: Counters::default(),
            staging: Staging::default(),
            passed: PassedBuffers::default(),
            push_descriptors,
            rewritable,
            shapes: SetShapes::default(),
            direct: !plain,
            recording: AtomicBool::new(false),
            recorded: Mutex::new(Vec::new()),
            spares: Arc::default(),
            allocator: Arc::new(StandardMemoryAllocator::new_default(device.clone())),
            device,
            messages,
        })))
    }

    /// The features a device must have been made with.
    pub(crate) fn required_features() -> DeviceFeatures {
        features::required()
    }

    /// What the device can do.
    pub(crate) fn caps(&self) -> &Caps {
        &self.0.caps
    }

    /// Errors and warnings the validation layer has reported since this context was opened, about any context of the
    /// process; always 0 where it is not active.
    pub(crate) fn validation_messages(&self) -> u64 {
        self.0.messages.count()
    }

    /// How many queues there are; none where the device compiles only.
    pub(crate) fn queues(&self) -> usize {
        self.0.queues.len()
    }

    /// A queue by number, counted modulo the number of queues: where the device does more than compile.
    pub(crate) fn queue(&self, index: usize) -> Result<GpuQueue<'_>, DeviceError> {
        self.caps().runs()?;
        Ok(GpuQueue { gpu: self, index: (index % self.queues()) as u32 })
    }

    /// Whether the device was lost. It never comes back.
    pub(crate) fn is_lost(&self) -> bool {
        self.0.lost.load(Ordering::Acquire)
    }

    /// Acts as if the device was lost just now: for tests of what happens then.
    #[allow(dead_code, reason = "for tests")]
    pub(crate) fn inject_loss(&self) {
        self.0.lose("test");
    }

    /// The counters.
    pub(crate) fn stats(&self) -> GpuStats {
        self.0.counters.read(self.0.queues.iter().map(QueueShared::counts))
    }

    /// Starts (or stops) keeping a description of every submission, for tests that look at barriers.
    #[allow(dead_code, reason = "for tests")]
    pub(crate) fn set_recording(&self, on: bool) {
        self.0.recording.store(on, Ordering::Release);
    }

    /// The submissions kept since the last call, in the order submitted: one line per command.
    #[allow(dead_code, reason = "for tests")]
    pub(crate) fn take_recording(&self) -> Vec<(Point, Vec<String>)> {
        std::mem::take(&mut *self.0.recorded.lock())
    }

    /// The vulkano device.
    pub(crate) fn device(&self) -> &Arc<Device> {
        &self.0.device
    }
}

impl GpuInner {
    /// Notes that the device is gone; waiters see it at their next look.
    pub(in crate::vk) fn lose(&self, call: &'static str) {
        if !self.lost.swap(true, Ordering::AcqRel) {
            tracing::error!(call, device = self.caps.info.name, "device lost");
        }
    }

    /// Turns a failed raw call into an error, and remembers a loss.
    pub(in crate::vk) fn fail(&self, call: &'static str, result: ash::vk::Result) -> DeviceError {
        let error = DeviceError::raw(call, result);
        if error == DeviceError::Lost {
            self.lose(call);
        }
        error
    }

    /// [`GpuInner::fail`] unless the call succeeded.
    pub(in crate::vk) fn ok(&self, call: &'static str, result: ash::vk::Result) -> Result<(), DeviceError> {
        if result == ash::vk::Result::SUCCESS { Ok(()) } else { Err(self.fail(call, result)) }
    }

    /// The validation messages, to look at when the device is gone.
    #[cfg(test)]
    pub(in crate::vk) fn messages(&self) -> &Messages {
        &self.messages
    }

    pub(in crate::vk) fn is_recording(&self) -> bool {
        self.recording.load(Ordering::Acquire)
    }

    pub(in crate::vk) fn keep_recording(&self, point: Point, lines: Vec<String>) {
        self.recorded.lock().push((point, lines));
    }
}

impl Drop for GpuInner {
    fn drop(&mut self) {
        for queue in &self.queues {
            queue.close(&self.device, DROP_PATIENCE);
        }
    }
}

fn choose(selector: &DeviceSelector, infos: &[DeviceInfo]) -> Result<usize, DeviceError> {
    if infos.is_empty() {
        return Err(DeviceError::NoDevice);
    }
    let name = |info: &DeviceInfo| format!("{} ({})", info.index, info.name);
    selector.pick(infos).ok_or_else(|| DeviceError::NoSuchDevice {
        wanted: selector.in_words(),
        available: infos.iter().map(name).collect::<Vec<_>>().join(", "),
    })
}

pub(in crate::vk) fn check_version(physical: &PhysicalDevice) -> Result<(), DeviceError> {
    let version = physical.api_version();
    if version < Version::V1_2 {
        return Err(DeviceError::OldVersion {
            device: physical.properties().device_name.clone(),
            found: version.to_string(),
            needed: "1.2",
        });
    }
    Ok(())
}
