//! vkfuse for Python: the native half of the package.
//!
//! What users see is written in Python (`python/vkfuse`), over numpy; here are the objects of the engine with their calls, on bytes.
//! What is common to them:
//!
//! - *Closing.* Objects keep what they need, so that they may go in any order. One that was closed, or whose context was, is
//!   [`ClosedError`](errors::ClosedError); and so is any in a process that was forked, where no device can be used.
//! - *Waiting.* Whatever may wait or compile runs without the interpreter's lock ([`call::run`]).
//! - *Failures* are exceptions, by subject. A panic is [`InternalError`](errors::InternalError).

mod buffer;
mod call;
mod context;
mod errors;
mod event;
mod kernel;
mod life;
mod list;
mod queue;

use pyo3::prelude::*;

#[pymodule]
#[pyo3(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("has_wgsl", cfg!(feature = "wgsl"))?;
    module.add_class::<buffer::Buffer>()?;
    module.add_class::<context::Context>()?;
    module.add_class::<event::Event>()?;
    module.add_class::<kernel::Kernel>()?;
    module.add_class::<list::List>()?;
    module.add_class::<queue::Queue>()?;
    module.add_function(wrap_pyfunction!(context::devices, module)?)?;
    errors::add(module)
}
