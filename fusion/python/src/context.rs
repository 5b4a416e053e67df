//! Contexts.

use std::{path::PathBuf, sync::Arc};

use pyo3::{prelude::*, types::PyDict};
use vkfuse::{CacheOptions, ContextOptions, FloatMode, QueueOptions, device::DeviceKind, module::Module};

use crate::{
    buffer::Buffer,
    call::run,
    errors,
    kernel::Kernel,
    life::{Life, Own},
    queue::Queue,
};

/// A device with everything that belongs to it.
#[pyclass(frozen, module = "vkfuse._native")]
pub(crate) struct Context {
    own: Own<vkfuse::Context>,
    life: Arc<Life>,
}

#[pymethods]
impl Context {
    #[new]
    #[pyo3(signature = (device, cache, cache_dir, profiling, validation, robust, contract))]
    #[expect(clippy::too_many_arguments, reason = "a context has these options")]
    fn new(
        py: Python<'_>,
        device: Option<String>,
        cache: bool,
        cache_dir: Option<PathBuf>,
        profiling: bool,
        validation: bool,
        robust: bool,
        contract: bool,
    ) -> PyResult<Context> {
        let mut options = ContextOptions::from_env();
        if let Some(device) = device {
            options = options.device(device);
        }
        if !cache {
            options = options.cache(CacheOptions::off());
        } else if let Some(folder) = cache_dir {
            options = options.cache(CacheOptions::default().directory(folder));
        }
        if profiling {
            options = options.profiling(true);
        }
        if validation {
            options = options.validation_layer(true);
        }
        if robust {
            options = options.robust_buffer_access(true);
        }
        if contract {
            options = options.float(FloatMode::Contract);
        }
        let context = run(py, || vkfuse::Context::with_options(options))?;
        let life = Life::new();
        Ok(Context { own: Own::new("context", &life, context), life })
    }

    #[getter]
    fn device(&self) -> PyResult<String> {
        Ok(self.own.get()?.device_info().name.clone())
    }

    #[getter]
    fn driver(&self) -> PyResult<String> {
        let context = self.own.get()?;
        let info = context.device_info();
        Ok(format!("{} {}", info.driver, info.driver_info))
    }

    #[getter]
    fn is_closed(&self) -> bool {
        self.own.is_closed()
    }

    fn queue(&self, profiling: bool) -> PyResult<Queue> {
        let context = self.own.get()?;
        let options = QueueOptions::new().enable_fusion(true).profiling(profiling);
        let queue = context.queue(options).map_err(|error| errors::of(&error))?;
        Ok(Queue { own: Own::new("queue", &self.life, queue) })
    }

    fn buffer(&self, py: Python<'_>, bytes: u64, scratch: bool) -> PyResult<Buffer> {
        let context = self.own.get()?;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let made = run(py, || if scratch { context.scratch(bytes) } else { context.buffer(bytes) })?;
        Ok(Buffer { own: Own::new("buffer", &self.life, made) })
    }

    fn spirv(&self, py: Python<'_>, name: &str, code: &[u8], entry: Option<&str>) -> PyResult<Kernel> {
        let context = self.own.get()?;
        let made = run(py, || match entry {
            None => context.kernel_from_bytes(name, code),
            entry => context.kernel(&Module::from_bytes(name, code)?, entry),
        })?;
        Ok(Kernel { own: Own::new("kernel", &self.life, made) })
    }

    fn wgsl(&self, py: Python<'_>, name: &str, text: &str, entry: Option<&str>) -> PyResult<Kernel> {
        let context = self.own.get()?;
        #[cfg(feature = "wgsl")]
        let made = run(py, || match entry {
            None => context.kernel_from_wgsl(name, text),
            entry => context.kernel(&Module::from_wgsl(name, text)?, entry),
        })?;
        #[cfg(not(feature = "wgsl"))]
        let made = {
            let _ = (py, context, name, text, entry);
            return Err(errors::KernelError::new_err("this package was built without WGSL"));
        };
        Ok(Kernel { own: Own::new("kernel", &self.life, made) })
    }

    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        let context = self.own.get()?;
        run(py, || context.wait())
    }

    fn wait_for_builds(&self, py: Python<'_>) -> PyResult<()> {
        let context = self.own.get()?;
        run(py, || {
            context.wait_for_builds();
            Ok(())
        })
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.own.get()?.stats();
        let counts = PyDict::new(py);
        for (name, count) in [
            ("dispatches", stats.dispatches),
            ("submits", stats.submits),
            ("barriers", stats.barriers),
            ("transfers", stats.transfers),
            ("allocations", stats.allocations),
            ("driver_compiles", stats.driver_compiles),
            ("validation_messages", stats.validation_messages),
            ("jit_builds", stats.jit_builds),
            ("memory_hits", stats.memory_hits),
            ("memory_misses", stats.memory_misses),
            ("disk_hits", stats.disk_hits),
            ("disk_misses", stats.disk_misses),
            ("lists_fused", stats.lists_fused),
            ("lists_split", stats.lists_split),
            ("lists_cancelled", stats.lists_cancelled),
            ("lists_refused", stats.lists_refused),
        ] {
            counts.set_item(name, count)?;
        }
        Ok(counts)
    }

    /// Waits for everything, and lets go. Nothing that was made with the context can be used afterwards.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.own.is_closed() {
            return Ok(());
        }
        let context = self.own.get()?;
        let waited = run(py, || {
            let waited = context.wait();
            context.wait_for_builds();
            waited
        });
        self.life.end();
        let last = self.own.close();
        run(py, || {
            drop(last);
            Ok(())
        })?;
        waited
    }
}

/// The devices of this machine: names, drivers and kinds, and the features that each lacks.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let found = run(py, vkfuse::Context::devices)?;
    let described = found.iter().map(|info| {
        let device = PyDict::new(py);
        device.set_item("index", info.index)?;
        device.set_item("name", &info.name)?;
        device.set_item("driver", format!("{} {}", info.driver, info.driver_info))?;
        device.set_item(
            "kind",
            match info.kind {
                DeviceKind::Discrete => "discrete",
                DeviceKind::Integrated => "integrated",
                DeviceKind::Virtual => "virtual",
                DeviceKind::Cpu => "cpu",
                _ => "other",
            },
        )?;
        device.set_item("missing", info.missing.clone())?;
        Ok(device)
    });
    described.collect()
}
