//! Contexts: a Vulkan device with its memory, kernels, queues and caches.

use std::{
    fs,
    path::Path,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use parking_lot::{Condvar, Mutex};

use crate::{
    api::{
        buffer::{Buffer, BufferElement},
        kernel::Kernel,
        queue::Queue,
    },
    code::{
        autotune::Autotune,
        judged::Judged,
        keep::{Artifact, NotCacheable},
        lowered::RustKernels,
        memo::{self, Memo},
        programs::{CacheStats, Programs},
    },
    error::{BufferError, Error, FusionError},
    jit::{self, Module},
    options::context::{ContextOptions, QueueOptions},
    report::{
        outcome::CancelCause,
        stats::{Counters, Objects, Stats},
    },
    runtime::{context::ContextInner, queues::both, schedule::Schedule, warnings::Warnings},
    submission::{buffer::BufferInner, device::Device, identity::Imports},
    vk::{DeviceInfo, DeviceProfile, Gpu, GpuOptions, RawDevice, UserBuffer},
};

/// A Vulkan device, and what is made with it: [buffers](Buffer), [kernels](Kernel), [queues](Queue), caches.
///
/// Most programs make one context with [`Context::new`] and keep it. A context either opens a device of its own, or uses one that the
/// program has opened ([`from_vulkano`](Context::from_vulkano), [`from_raw`](Context::from_raw)). Objects of different contexts
/// cannot be used together.
///
/// This is a handle: clones are the same context, which may be used from several threads at once. The device is closed when the last
/// handle and the last object made from it are dropped.
#[derive(Debug, Clone)]
pub struct Context {
    pub(crate) inner: Arc<ContextInner>,
}

impl Context {
    /// Opens the fastest device of this machine, or the one that the environment variable `VKFUSE_DEVICE` names.
    ///
    /// Other [environment variables](crate::environment::VARIABLES) change its options: this is [`Context::with_options`] with
    /// [`ContextOptions::from_env`].
    ///
    /// # Errors
    ///
    /// Fails if there is no Vulkan loader, no driver or no such device, or if the device lacks a feature that is required.
    pub fn new() -> Result<Context, Error> {
        Context::with_options(ContextOptions::from_env())
    }

    /// Opens a device with these options.
    ///
    /// # Errors
    ///
    /// As [`Context::new`].
    pub fn with_options(options: ContextOptions) -> Result<Context, Error> {
        let (device, validation) = (options.device.clone(), options.validation);
        let (robust, compile_only) = (options.robust, options.compile_only);
        let gpu =
            Gpu::open(&GpuOptions { device, validation, robust, compile_only, ..GpuOptions::default() })?;
        Ok(Context::on(gpu, options))
    }

    /// Makes a context on a vulkano device that the program has opened, and on these of its queues.
    ///
    /// The device has to be made with [`Context::required_features`]. The queues have to be the same `Arc`s that the rest of the
    /// program submits through, because they hold the locks of the queues. [`ContextOptions::device`] and
    /// [`ContextOptions::validation_layer`] have no effect.
    ///
    /// # Errors
    ///
    /// Fails if the device was made without a required feature, a queue belongs to another device, or no queue supports compute.
    pub fn from_vulkano(
        device: Arc<vulkano::device::Device>,
        queues: Vec<Arc<vulkano::device::Queue>>,
        options: ContextOptions,
    ) -> Result<Context, Error> {
        Ok(Context::on(Gpu::over(device, queues)?, options))
    }

    /// Makes a context on a device that the program has opened, given as raw Vulkan handles, and on the queues that the
    /// [`RawDevice`] names. [`RawDevice::new`] states what the handles have to satisfy.
    ///
    /// The context destroys none of these handles: the program destroys the device after the context and everything made from it are
    /// dropped. [`ContextOptions::device`] and [`ContextOptions::validation_layer`] have no effect.
    ///
    /// # Errors
    ///
    /// Fails if a handle is null, the physical device belongs to another instance, the device was made without a required feature
    /// (the error names it) or without one of the queues, a queue does not support compute, or no queue is named.
    pub fn from_raw(device: &RawDevice, options: ContextOptions) -> Result<Context, Error> {
        Ok(Context::on(Gpu::over_raw(device)?, options))
    }

    /// [`Context::with_options`].
    #[doc(hidden)]
    pub fn with(options: ContextOptions) -> Result<Context, Error> {
        Context::with_options(options)
    }

    /// [`Context::from_vulkano`].
    #[doc(hidden)]
    pub fn over(
        device: Arc<vulkano::device::Device>,
        queues: Vec<Arc<vulkano::device::Queue>>,
        options: ContextOptions,
    ) -> Result<Context, Error> {
        Context::from_vulkano(device, queues, options)
    }

    fn on(gpu: Gpu, options: ContextOptions) -> Context {
        let profile = &gpu.caps().profile;
        let limits = DeviceProfile { robust: options.robust || profile.robust, ..profile.clone() };
        let limits = limits.planning(&options.tuning);
        crate::jit::print_after(options.print_after);
        let counters = Arc::<Counters>::default();
        let schedule = Schedule::default();
        let inner = |me: &Weak<ContextInner>| ContextInner {
            schedule: Mutex::new(schedule),
            changed: Condvar::new(),
            memo: Mutex::new(Memo::new(memo::CAPACITY)),
            programs: Arc::new(Programs::new(
                &gpu,
                &limits,
                &counters,
                (options.dump_spirv, options.profiling || gpu.caps().compile_only.is_some()),
                &options.cache,
                &options.guard,
            )),
            rust: RustKernels::default(),
            counters,
            profiling: options.profiling,
            validate: options.validate,
            float: options.float,
            judged: Judged::default(),
            warnings: Warnings::default(),
            autotune: Autotune::new(!options.no_autotune),
            queues: AtomicU64::new(0),
            gone: Mutex::default(),
            device: Arc::new(Device {
                limits,
                imports: Imports::default(),
                contents: AtomicU64::new(1),
                owner: me.clone(),
                gpu,
            }),
        };
        Context { inner: Arc::new_cyclic(inner) }
    }

    /// The features that a device has to be made with for [`Context::from_vulkano`].
    #[must_use]
    pub fn required_features() -> vulkano::device::DeviceFeatures {
        Gpu::required_features()
    }

    /// Lists the devices of this machine, also those that lack what a context requires.
    ///
    /// # Errors
    ///
    /// Fails if there is no Vulkan loader.
    pub fn devices() -> Result<Vec<DeviceInfo>, Error> {
        Ok(Gpu::enumerate()?)
    }

    /// Name, limits and capabilities of the device.
    #[must_use]
    pub fn device_info(&self) -> &DeviceInfo {
        &self.inner.gpu.caps().info
    }

    /// Whether the context only compiles: see [`ContextOptions::compile_only`].
    #[must_use]
    pub fn compiles_only(&self) -> bool {
        self.inner.gpu.caps().compile_only.is_some()
    }

    /// Loads a kernel from a SPIR-V file with exactly one compute entry point. For one with several, see [`Context::kernel`].
    ///
    /// The module is validated and analysed. The result of that is cached, so that loading the same module again is fast.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, is no valid module, has no compute entry point or several, or requires a capability that the
    /// device does not have.
    pub fn load_spirv(&self, path: impl AsRef<Path>) -> Result<Kernel, Error> {
        let path = path.as_ref();
        let bytes = fs::read(path)
            .map_err(|source| Error::KernelFile { path: path.to_owned(), source: Arc::new(source) })?;
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
        self.kernel_from_bytes(&name, &bytes)
    }

    /// Loads a kernel from the bytes of a SPIR-V module with exactly one compute entry point. The name appears in messages and reports.
    ///
    /// # Errors
    ///
    /// As [`Context::load_spirv`].
    pub fn kernel_from_bytes(&self, name: &str, bytes: &[u8]) -> Result<Kernel, Error> {
        let artifacts = self.inner.programs.artifacts();
        Kernel::checked(&self.inner, jit::Kernel::from_bytes(name, bytes, artifacts)?)
    }

    /// Loads a kernel from the words of a SPIR-V module with exactly one compute entry point. The name appears in messages and reports.
    ///
    /// # Errors
    ///
    /// As [`Context::load_spirv`].
    pub fn kernel_from_words(&self, name: &str, words: &[u32]) -> Result<Kernel, Error> {
        let artifacts = self.inner.programs.artifacts();
        Kernel::checked(&self.inner, jit::Kernel::from_words(name, words, artifacts)?)
    }

    /// Compiles a kernel from WGSL with exactly one compute entry point. The name appears in messages and reports.
    ///
    /// # Errors
    ///
    /// Fails if the text does not parse or validate, and as [`Context::load_spirv`].
    #[cfg(feature = "wgsl")]
    pub fn kernel_from_wgsl(&self, name: &str, text: &str) -> Result<Kernel, Error> {
        let artifacts = self.inner.programs.artifacts();
        Kernel::checked(&self.inner, jit::Kernel::from_wgsl(name, text, artifacts)?)
    }

    /// Makes a kernel from one compute entry point of a module: the one of this name, or without a name the only one.
    ///
    /// # Errors
    ///
    /// Fails if there is no such entry point, if there are several and none is named, or if the kernel requires a capability that the
    /// device does not have.
    pub fn kernel(&self, module: &Module, entry: Option<&str>) -> Result<Kernel, Error> {
        let artifacts = self.inner.programs.artifacts();
        Kernel::checked(&self.inner, jit::Kernel::with_artifacts(module, entry, artifacts)?)
    }

    /// Makes a buffer of `len` elements, filled with zeros.
    ///
    /// # Errors
    ///
    /// Fails if `len` is 0, if the buffer would be larger than the device allows, or if there is not enough memory.
    pub fn buffer<T: BufferElement>(&self, len: usize) -> Result<Buffer<T>, Error> {
        let buffer = self.scratch_inner::<T>(len)?;
        buffer.unfilled()?;
        Ok(Buffer::over(&self.inner, buffer))
    }

    /// Makes a buffer with these contents.
    ///
    /// # Errors
    ///
    /// As [`Context::buffer`].
    pub fn buffer_from<T: BufferElement>(&self, data: &[T]) -> Result<Buffer<T>, Error> {
        let buffer = self.scratch_inner::<T>(data.len())?;
        buffer.allocate()?;
        let buffer = Buffer::over(&self.inner, buffer);
        buffer.upload(data)?;
        Ok(buffer)
    }

    /// Makes a buffer over memory of the program: all or a part of a vulkano buffer ([`UserBuffer::new`]), or of a Vulkan buffer given
    /// by its handle ([`UserBuffer::from_raw`]).
    ///
    /// The buffer keeps the contents of that memory. Several buffers may be parts of one Vulkan buffer, and may overlap: submissions that
    /// use them are ordered by the bytes that they share.
    ///
    /// # Errors
    ///
    /// Fails if the Vulkan buffer belongs to another device, was made without one of the usages `STORAGE_BUFFER`, `TRANSFER_SRC` and
    /// `TRANSFER_DST`, or its handle is null; or if the range is empty, or larger than a buffer with these memory requirements can be.
    pub fn import<T: BufferElement>(&self, buffer: &UserBuffer) -> Result<Buffer<T>, Error> {
        let memory = self.inner.gpu.import(buffer)?;
        Ok(Buffer::over(&self.inner, BufferInner::imported(&self.inner.device, memory)?))
    }

    /// Makes a buffer for temporaries, which one kernel writes and later ones read.
    ///
    /// It is like [`Context::buffer`] with [`promote_auto`](Buffer::promote_auto): fused kernels keep its contents in registers or
    /// shared memory where that is possible. It gets device memory, filled with zeros, only when something needs it.
    ///
    /// # Errors
    ///
    /// As [`Context::buffer`], except that a lack of memory is reported by the call that first needs the memory.
    pub fn scratch<T: BufferElement>(&self, len: usize) -> Result<Buffer<T>, Error> {
        Ok(Buffer::over(&self.inner, self.scratch_inner::<T>(len)?).promote_auto())
    }

    fn scratch_inner<T: BufferElement>(&self, len: usize) -> Result<Arc<BufferInner>, Error> {
        self.inner.bury();
        let size = (len as u64)
            .checked_mul(size_of::<T>() as u64)
            .ok_or_else(|| Error::buffer("new", BufferError::TooLarge))?;
        let limit = self.inner.gpu.caps().limits().max_memory_object;
        if size == 0 {
            return Err(crate::vk::DeviceError::ZeroSize.into());
        }
        if size > limit {
            let (elements, element) = (len as u64, size_of::<T>() as u64);
            return Err(crate::vk::DeviceError::BufferSize { size, elements, element, limit }.into());
        }
        Ok(BufferInner::new(&self.inner.device, size))
    }

    /// Makes a queue. The queues of a context are distributed over the hardware queues of the device.
    ///
    /// # Errors
    ///
    /// Fails if [`enable_fusion`](QueueOptions::enable_fusion) is set and the device does not support fusion.
    pub fn queue(&self, options: QueueOptions) -> Result<Queue, Error> {
        let info = self.device_info();
        if options.fusion && !info.supports_fusion() {
            let (device, missing) = (info.name.clone(), info.missing.join(", "));
            return Err(FusionError::Unsupported { device, missing }.into());
        }
        let lane = self.inner.queues.fetch_add(1, Relaxed) % self.inner.gpu.queues().max(1) as u64;
        Ok(Queue::new(&self.inner, lane as u32, &options))
    }

    /// Counts of dispatches, barriers, compilations and so on since the context was made.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let gpu = self.inner.gpu.stats();
        let mut stats = Stats {
            dispatches: gpu.dispatches,
            submits: gpu.submits,
            barriers: gpu.barriers,
            transfers: gpu.transfers,
            recordings: gpu.recordings,
            allocations: gpu.allocations,
            driver_compiles: gpu.pipelines,
            validation_messages: self.inner.gpu.validation_messages(),
            ..self.inner.counters.snapshot()
        };
        self.inner.programs.count_into(&mut stats);
        let Schedule { counts, queues, .. } = &*self.inner.lock();
        stats.add(counts);
        for queue in queues {
            stats.add(&queue.past.lock().counts);
        }
        stats
    }

    /// Objects of the driver that exist now.
    #[must_use]
    pub fn objects(&self) -> Objects {
        let [buffers, pipelines, submissions] = self.inner.gpu.stats().live;
        Objects { buffers, pipelines, submissions }
    }

    /// How many errors and warnings the validation layer has reported so far; always 0 where it is not active.
    #[must_use]
    pub fn validation_messages(&self) -> u64 {
        self.inner.gpu.validation_messages()
    }

    /// Waits for all work of all queues, including the host tasks of queues that were dropped. Cancels every open fusion list, which
    /// then runs unfused.
    ///
    /// # Errors
    ///
    /// Fails if a list could not be run, if a host task has failed since its queue or the context was last waited for (also if its event has
    /// returned that error already), or if the device fails. Returns the first of several errors, and logs the others.
    pub fn wait(&self) -> Result<(), Error> {
        let queues = self.inner.lock().queues.clone();
        let mut result = Ok(());
        for queue in queues {
            result = both(result, self.inner.wait_for_queue(&queue, CancelCause::QueueWait));
        }
        // After the queues: one that was dropped meanwhile has left its tasks there.
        result = both(result, self.inner.wait_for_orphans());
        self.inner.gpu.wait_idle()?;
        result
    }

    /// Waits until no code is being built in the background
    /// ([`FusionProperties::build_in_background`](crate::FusionProperties::build_in_background)).
    ///
    /// Dropping the last handle of the context does the same. A program that never drops its context, because it is in a static for
    /// instance, has to call this before it exits: otherwise the driver is unloaded while threads still use it.
    pub fn wait_for_builds(&self) {
        self.inner.programs.background.wait();
    }

    /// Checks whether the caches of this context keep artifacts of this kind. A single artifact may still be too large or too small for
    /// the cache's settings.
    ///
    /// # Errors
    ///
    /// The reason why artifacts of this kind are not kept.
    pub fn is_cacheable(&self, artifact: Artifact) -> Result<(), NotCacheable> {
        self.inner.programs.is_cacheable(artifact)
    }

    /// Empties the memory cache of pipelines, except for those of kept lists. The persistent cache is left as it is.
    pub fn clear_memory_cache(&self) {
        self.inner.programs.clear();
        self.inner.memo.lock().clear();
        self.inner.autotune.clear();
        let graphs = self.inner.lock().forget_all();
        // Outside the lock: it frees much.
        drop(graphs);
    }

    /// Waits until the persistent cache has written everything that was built so far, or until `patience` has passed. Returns whether it
    /// has finished.
    ///
    /// Failed writes count in [`Context::cache_stats`], and are reported as events. Dropping the context waits in the same way, for as long as
    /// the environment variable `VKFUSE_CACHE_CLOSE_WAIT` says.
    pub fn flush_cache(&self, patience: std::time::Duration) -> bool {
        self.inner.programs.store.flush(patience)
    }

    /// Sets the largest number of pipelines, and of bytes of their code, in the memory cache; 0 is no limit. Pipelines beyond the limit
    /// are removed, the least recently used first. Work that still uses them is not affected.
    pub fn resize_memory_cache(&self, entries: usize, bytes: u64) {
        self.inner.programs.resize(entries, bytes);
    }

    /// Hits, misses and sizes of the caches of this context, since it was made.
    #[must_use]
    pub fn cache_stats(&self) -> CacheStats {
        self.inner.programs.stats()
    }
}
