//! Queues, submissions and fusion mode.

use pyo3::{exceptions::PyValueError, prelude::*};
use vkfuse::{FloatMode, FusionProperties, FusionWrapper, Policy, module::ElementType};

use crate::{
    buffer::{Buffer, promote},
    call::run,
    errors,
    event::Event,
    kernel::{Kernel, values},
    life::Own,
    list::List,
};

/// Where work is submitted.
#[pyclass(frozen, module = "vkfuse._native")]
pub(crate) struct Queue {
    pub(crate) own: Own<vkfuse::Queue>,
}

/// A part of a buffer for a binding.
#[derive(FromPyObject)]
pub(crate) struct Argument<'py> {
    set: u32,
    binding: u32,
    buffer: PyRef<'py, Buffer>,
    /// In bytes.
    offset: u64,
    bytes: u64,
    /// `read`, `write` or `read_write`.
    access: String,
    /// A promotion that is the submission's own.
    promotion: Option<String>,
    /// Whether nothing writes it before the list has run.
    constant: bool,
    /// The kind of its elements, as numpy names kinds, and their bytes.
    kind: char,
    itemsize: u32,
}

impl Argument<'_> {
    fn accessor(&self) -> PyResult<((u32, u32), vkfuse::Accessor<'static>)> {
        let buffer = self.buffer.own.get()?;
        let accessor = match self.access.as_str() {
            "read" => buffer.read(),
            "write" => buffer.write(),
            "read_write" => buffer.read_write(),
            other => {
                let problem = format!("`{other}` is no access; there are `read`, `write` and `read_write`");
                return Err(PyValueError::new_err(problem));
            }
        };
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let mut accessor = accessor.range(size(self.offset), size(self.bytes));
        if let Some(name) = &self.promotion {
            accessor = match promote(Some(name))? {
                vkfuse::Promote::None => accessor.no_promotion(),
                vkfuse::Promote::Private => accessor.promote_private(),
                vkfuse::Promote::Local => accessor.promote_local(),
                vkfuse::Promote::Auto => accessor.promote_auto(),
            };
        }
        accessor = accessor.elements(self.element_type());
        if self.constant {
            accessor = accessor.constant();
        }
        Ok(((self.set, self.binding), accessor.into_owned()))
    }

    fn element_type(&self) -> ElementType {
        let bytes = u8::try_from(self.itemsize).unwrap_or(u8::MAX);
        match self.kind {
            'u' if bytes == 1 => ElementType::Bytes,
            'u' => ElementType::int(bytes, false),
            'i' => ElementType::int(bytes, true),
            'f' => ElementType::float(bytes),
            'c' => ElementType::Complex(bytes / 2),
            'b' => ElementType::Bool,
            'V' => ElementType::Struct(self.itemsize),
            _ => ElementType::Other(self.itemsize),
        }
    }
}

/// How a list may be fused.
#[derive(FromPyObject)]
pub(crate) struct Properties {
    force: bool,
    rewrites: bool,
    barriers: bool,
    trust: bool,
    contract: bool,
    background: bool,
    verify: bool,
    autotune: bool,
}

impl Properties {
    fn made(&self) -> FusionProperties {
        let mut properties = FusionProperties::new()
            .policy(if self.trust { Policy::Trust } else { Policy::Prove })
            .float(if self.contract { FloatMode::Contract } else { FloatMode::Strict })
            .verify_first_run(self.verify)
            .autotune(self.autotune);
        if self.force {
            properties = properties.force_fusion();
        }
        if !self.rewrites {
            properties = properties.no_rewrites();
        }
        if !self.barriers {
            properties = properties.no_barriers();
        }
        if self.background {
            properties = properties.build_in_background();
        }
        properties
    }
}

#[pymethods]
impl Queue {
    #[getter]
    fn is_fusing(&self) -> PyResult<bool> {
        Ok(self.own.get()?.is_in_fusion_mode())
    }

    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        let queue = self.own.get()?;
        run(py, || queue.wait())
    }

    #[expect(clippy::too_many_arguments, reason = "a submission has these parts")]
    fn submit(
        &self,
        py: Python<'_>,
        kernel: &Kernel,
        arguments: Vec<Argument<'_>>,
        push: &[u8],
        size: [u32; 3],
        is_items: bool,
        constants: Vec<(u32, u64)>,
        after: Vec<PyRef<'_, Event>>,
    ) -> PyResult<Event> {
        let queue = self.own.get()?;
        let kernel = kernel.own.get()?;
        let constants = values(&kernel, &constants);
        let accessors = arguments.iter().map(Argument::accessor).collect::<PyResult<Vec<_>>>()?;
        let after = after.iter().map(|event| event.own.get()).collect::<PyResult<Vec<_>>>()?;
        let event = run(py, || {
            queue.submit(|h| {
                for (at, accessor) in accessors {
                    h.arg(at, accessor);
                }
                for (id, value) in constants {
                    h.spec(id, value);
                }
                for event in &after {
                    h.depends_on(event);
                }
                h.push_bytes(push);
                if is_items {
                    h.dispatch_items(&kernel, size)
                } else {
                    h.dispatch(&kernel, size)
                };
            })
        })?;
        Ok(Event { own: Own::new("event", &self.own.life, event) })
    }

    fn start(&self, py: Python<'_>) -> PyResult<()> {
        let wrapper = self.wrapper()?;
        run(py, || {
            wrapper.start_fusion()?;
            wrapper.detach();
            Ok(())
        })
    }

    /// Ends fusion mode: the list runs, fused as far as that can be shown to be right.
    fn complete(&self, py: Python<'_>, properties: Properties) -> PyResult<Event> {
        let wrapper = self.wrapper()?;
        let event = run(py, || wrapper.complete_fusion(&properties.made()))?;
        Ok(Event { own: Own::new("event", &self.own.life, event) })
    }

    /// As `complete`, and keeps the list.
    fn complete_and_keep(&self, py: Python<'_>, properties: Properties) -> PyResult<(Event, List)> {
        let wrapper = self.wrapper()?;
        let (event, list) = run(py, || wrapper.complete_and_keep(&properties.made()))?;
        let life = &self.own.life;
        Ok((Event { own: Own::new("event", life, event) }, List { own: Own::new("list", life, list) }))
    }

    /// Ends fusion mode: the list runs unfused.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        let wrapper = self.wrapper()?;
        run(py, || wrapper.cancel_fusion())
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let queue = self.own.close();
        run(py, || {
            drop(queue);
            Ok(())
        })
    }
}

impl Queue {
    fn wrapper(&self) -> PyResult<FusionWrapper> {
        FusionWrapper::new(&self.own.get()?).map_err(|error| errors::of(&error))
    }
}
