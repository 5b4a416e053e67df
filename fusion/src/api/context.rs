//! A device with everything that belongs to it: memory, kernels, queues, caches.

use std::{
    fs,
    path::Path,
    sync::{
        Arc, Condvar, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use bytemuck::Pod;

use crate::{
    api::{buffer::Buffer, kernel::Kernel, queue::Queue},
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
    runtime::{context::ContextInner, queues::both, schedule::Schedule},
    submission::{buffer::BufferInner, device::Device, identity::Imports},
    vk::{DeviceInfo, DeviceProfile, Gpu, GpuOptions, RawDevice, UserBuffer},
};

/// A device with everything that belongs to it. A handle; clones are the same context, which lives until the last handle
/// and the last object made by it are gone.
#[derive(Debug, Clone)]
pub struct Context {
    pub(crate) inner: Arc<ContextInner>,
}

impl Context {
    /// A context on the device that the environment names, or else the fastest.
    ///
    /// # Errors
    ///
    /// No loader, no driver, no device of that name, or one without what is needed.
    pub fn new() -> Result<Context, Error> {
        Context::with_options(ContextOptions::from_env())
    }

    /// A context with a device of its own.
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

    /// A context over a device that exists, on the queues given. They must be the very `Arc`s that the rest of the program
    /// submits through, because those carry the lock. The device must have been made with
    /// [`Context::required_features`]. The options' device and validation are not used.
    ///
    /// # Errors
    ///
    /// A feature that the device was made without; a queue of another device; no queue that can compute.
    pub fn from_vulkano(
        device: Arc<vulkano::device::Device>,
        queues: Vec<Arc<vulkano::device::Queue>>,
        options: ContextOptions,
    ) -> Result<Context, Error> {
        Ok(Context::on(Gpu::over(device, queues)?, options))
    }

    /// A context over a device by its Vulkan handles, vouched for by [`RawDevice::new`], on the queues named there. Nothing of
    /// the program's is destroyed: when the context and everything made by it is gone, the device is as before. The options'
    /// device and validation are not used.
    ///
    /// # Errors
    ///
    /// A null handle; a physical device of another instance; a feature that the device was made without, by name; a queue
    /// that the device was made without or that cannot compute; no queue at all.
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
        let key = schedule.key.id();
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
            autotune: Autotune::new(!options.no_autotune),
            queues: AtomicU64::new(0),
            gone: Mutex::default(),
            device: Arc::new(Device {
                limits,
                imports: Imports::default(),
                contents: AtomicU64::new(1),
                owner: me.clone(),
                key,
                gpu,
            }),
        };
        Context { inner: Arc::new_cyclic(inner) }
    }

    /// The features that a device handed to [`Context::from_vulkano`] must have been made with.
    #[must_use]
    pub fn required_features() -> vulkano::device::DeviceFeatures {
        Gpu::required_features()
    }

    /// The devices of this machine.
    ///
    /// # Errors
    ///
    /// No loader.
    pub fn devices() -> Result<Vec<DeviceInfo>, Error> {
        Ok(Gpu::enumerate()?)
    }

    /// The device.
    #[must_use]
    pub fn device_info(&self) -> &DeviceInfo {
        &self.inner.gpu.caps().info
    }

    /// Whether the context only compiles: see [`ContextOptions::compile_only`].
    #[must_use]
    pub fn compiles_only(&self) -> bool {
        self.inner.gpu.caps().compile_only.is_some()
    }

    /// Loads a SPIR-V file with exactly one compute entry point.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is no valid module, has no or several compute entry points, or needs what the device lacks.
    pub fn load_spirv(&self, path: impl AsRef<Path>) -> Result<Kernel, Error> {
        let path = path.as_ref();
        let bytes = fs::read(path)
            .map_err(|source| Error::KernelFile { path: path.to_owned(), source: Arc::new(source) })?;
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
        self.kernel_from_bytes(&name, &bytes)
    }

    /// Takes the bytes of a SPIR-V module with exactly one compute entry point. The name is for messages.
    ///
    /// # Errors
    ///
    /// As [`Context::load_spirv`].
    pub fn kernel_from_bytes(&self, name: &str, bytes: &[u8]) -> Result<Kernel, Error> {
        let artifacts = self.inner.programs.artifacts();
        Kernel::checked(&self.inner, jit::Kernel::from_bytes(name, bytes, artifacts)?)
    }

    /// Takes the words of a SPIR-V module with exactly one compute entry point. The name is for messages.
    ///
    /// # Errors
    ///
    /// As [`Context::load_spirv`].
    pub fn kernel_from_words(&self, name: &str, words: &[u32]) -> Result<Kernel, Error> {
        let artifacts = self.inner.programs.artifacts();
        Kernel::checked(&self.inner, jit::Kernel::from_words(name, words, artifacts)?)
    }

    /// Compiles WGSL text with exactly one compute entry point. The name is for messages.
    ///
    /// # Errors
    ///
    /// The text does not parse or validate; and as [`Context::load_spirv`].
    #[cfg(feature = "wgsl")]
    pub fn kernel_from_wgsl(&self, name: &str, text: &str) -> Result<Kernel, Error> {
        let artifacts = self.inner.programs.artifacts();
        Kernel::checked(&self.inner, jit::Kernel::from_wgsl(name, text, artifacts)?)
    }

    /// Takes one entry point of a module: by name, or the only one there is.
    ///
    /// # Errors
    ///
    /// No such entry point, or no name where there are several; a kernel that needs what the device lacks.
    pub fn kernel(&self, module: &Module, entry: Option<&str>) -> Result<Kernel, Error> {
        let artifacts = self.inner.programs.artifacts();
        Kernel::checked(&self.inner, jit::Kernel::with_artifacts(module, entry, artifacts)?)
    }

    /// A buffer of this many zeros.
    ///
    /// # Errors
    ///
    /// No elements, more than the device can hold in one buffer, or no memory left.
    pub fn buffer<T: Pod>(&self, len: usize) -> Result<Buffer<T>, Error> {
        let buffer = self.scratch_inner::<T>(len)?;
        buffer.unfilled()?;
        Ok(Buffer::over(&self.inner, buffer))
    }

    /// A buffer with these contents.
    ///
    /// # Errors
    ///
    /// As [`Context::buffer`].
    pub fn buffer_from<T: Pod>(&self, data: &[T]) -> Result<Buffer<T>, Error> {
        let buffer = self.scratch_inner::<T>(data.len())?;
        buffer.allocate()?;
        let buffer = Buffer::over(&self.inner, buffer);
        buffer.upload(data)?;
        Ok(buffer)
    }

    /// A buffer over memory of the caller's: a vulkano buffer, or a part of one, vouched for by [`UserBuffer::new`]; or a
    /// part of a Vulkan buffer by its handle, vouched for by [`UserBuffer::from_raw`].
    ///
    /// Its contents are taken as they are. Several of these may be parts of one Vulkan buffer; they are ordered by the
    /// bytes they share.
    ///
    /// # Errors
    ///
    /// A buffer of another device, or one made without the usages `STORAGE_BUFFER`, `TRANSFER_SRC` and `TRANSFER_DST`; a null
    /// handle; a range that is empty, or larger than a buffer with the memory requirements of this one can be.
    pub fn import<T: Pod>(&self, buffer: &UserBuffer) -> Result<Buffer<T>, Error> {
        let memory = self.inner.gpu.import(buffer)?;
        Ok(Buffer::over(&self.inner, BufferInner::imported(&self.inner.device, memory)?))
    }

    /// A buffer for what only lives between kernels: promoted wherever that is possible, and without device memory until
    /// something needs it. Zeros otherwise, as any new buffer.
    ///
    /// # Errors
    ///
    /// As [`Context::buffer`]; that no memory is left shows when it is first needed.
    pub fn scratch<T: Pod>(&self, len: usize) -> Result<Buffer<T>, Error> {
        Ok(Buffer::over(&self.inner, self.scratch_inner::<T>(len)?).promote_auto())
    }

    fn scratch_inner<T: Pod>(&self, len: usize) -> Result<Arc<BufferInner>, Error> {
        self.inner.bury();
        let size = (len as u64)
            .checked_mul(size_of::<T>() as u64)
            .ok_or_else(|| Error::buffer("new", BufferError::TooLarge))?;
        let limit = self.inner.gpu.caps().limits().max_memory_object;
        if size == 0 {
            return Err(crate::vk::DeviceError::ZeroSize.into());
        }
        if size > limit {
            let (what, name) = ("a buffer", "maxBufferSize or maxMemoryAllocationSize");
            return Err(crate::vk::DeviceError::OverLimit { what, asked: size, limit, name }.into());
        }
        Ok(BufferInner::new(&self.inner.device, size))
    }

    /// A queue. Queues of one context share the device's hardware queues, in turn.
    ///
    /// # Errors
    ///
    /// The property `enable_fusion` on a device that cannot fuse.
    pub fn queue(&self, options: QueueOptions) -> Result<Queue, Error> {
        let info = self.device_info();
        if options.fusion && !info.supports_fusion() {
            let (device, missing) = (info.name.clone(), info.missing.join(", "));
            return Err(FusionError::Unsupported { device, missing }.into());
        }
        let lane = self.inner.queues.fetch_add(1, Relaxed) % self.inner.gpu.queues().max(1) as u64;
        Ok(Queue::new(&self.inner, lane as u32, &options))
    }

    /// What was done since the context was made.
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
        let Schedule { counts, queues, key, .. } = &mut *self.inner.lock();
        stats.add(counts);
        for queue in queues {
            stats.add(&queue.state().past.counts);
            stats.add(&queue.kept.get(key).counts);
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

    /// Waits for everything on every queue, host tasks of queues that are gone included. Ends every fusion list.
    ///
    /// # Errors
    ///
    /// A list that could not be run; a host task that failed since its queue or the context was last waited for, whether or not
    /// somebody asked its event; the device failed. Of several errors it is the first; the others are logged.
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

    /// Waits until nothing is being built in the background
    /// ([`FusionProperties::build_in_background`](crate::FusionProperties::build_in_background)). So does dropping the
    /// last handle of the context. A program that ends with a context that is never dropped, in a static for instance,
    /// has to call this: it would take the driver away from under the threads that build.
    pub fn wait_for_builds(&self) {
        self.inner.programs.background.wait();
    }

    /// Whether the caches of this context keep a sort of thing. What is too large or too small for the settings is
    /// found out when it is there.
    ///
    /// # Errors
    ///
    /// Why it is not kept.
    pub fn is_cacheable(&self, artifact: Artifact) -> Result<(), NotCacheable> {
        self.inner.programs.is_cacheable(artifact)
    }

    /// Forgets the pipelines kept in memory, except for those of lists that are kept. The persistent store keeps what it has.
    pub fn clear_memory_cache(&self) {
        self.inner.programs.clear();
        self.inner.memo.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.inner.autotune.clear();
        let known = self.inner.lock().forget_all();
        // Outside the lock: it frees much.
        drop(known);
    }

    /// Waits until the persistent store has written what was built so far, for `patience` at most. Says whether it has. What
    /// could not be written is counted in [`Context::cache_stats`], and reported by events. The end of a context waits as well:
    /// `VKFUSE_CACHE_CLOSE_WAIT`.
    pub fn flush_cache(&self, patience: std::time::Duration) -> bool {
        self.inner.programs.store.flush(patience)
    }

    /// Changes how many pipelines are kept in memory, and how many bytes of code; 0 is no limit. What is over the limit
    /// leaves, the least recently used first, and lives on where it is still used.
    pub fn resize_memory_cache(&self, entries: usize, bytes: u64) {
        self.inner.programs.resize(entries, bytes);
    }

    /// What the caches have done since the context was made, and how full they are.
    #[must_use]
    pub fn cache_stats(&self) -> CacheStats {
        self.inner.programs.stats()
    }
}
