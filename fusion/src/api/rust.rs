//! Kernels written in Rust.
//!
//! A kernel is a struct of captures with a body. The derive makes parameters of the fields, the attribute lowers the body
//! to SPIR-V, and [`Handler::parallel_for`](crate::Handler::parallel_for) runs it over a range: it is a submission like any
//! other, and fuses like any other. The same body runs on the host ([`host`]), where it is its own reference. What bodies
//! may contain, and what they mean, is in the guide, `docs/rust-kernels.md`.
//!
//! ```no_run
//! use vkfuse::{Context, QueueOptions, rust::{Captures, Item, Read, Write, kernel}};
//!
//! #[derive(Captures)]
//! struct Scale {
//!     factor: f32,
//!     x: Read<f32>,
//!     y: Write<f32>,
//! }
//!
//! #[kernel]
//! impl Scale {
//!     fn run(&self, item: Item<1>) {
//!         let i = item.index();
//!         self.y.set(i, self.factor * self.x.get(i));
//!     }
//! }
//!
//! # fn main() -> Result<(), vkfuse::Error> {
//! let context = Context::new()?;
//! let queue = context.queue(QueueOptions::new())?;
//! let x = context.buffer_from(&[1.0_f32, 2.0, 3.0])?;
//! let y = context.buffer::<f32>(3)?;
//! queue.submit(|h| {
//!     h.parallel_for(3, &Scale { factor: 2.0, x: x.read().into(), y: y.write().into() });
//! })?;
//! assert_eq!(y.download()?, [2.0, 4.0, 6.0]);
//! # Ok(())
//! # }
//! ```

use std::sync::Arc;

use bytemuck::Pod;
use vkfuse_kernel::access::Element;
pub use vkfuse_kernel::*;

use crate::{api::buffer::Buffer, submission::accessor::Accessor};

mod arguments;
mod checked;
mod launch;
mod store;

pub use checked::{FailedAssertion, OutOfRange, Violations};
pub(crate) use launch::Launch;
pub use launch::{GroupRange, LaunchRange};

macro_rules! from_buffers {
    ($($name:ident $method:ident)+) => {$(
        /// The accessor's element type and mode are checked when a kernel with it is submitted.
        impl<T: Element> From<Accessor<'_>> for $name<T> {
            fn from(accessor: Accessor<'_>) -> Self {
                $name::device(Arc::new(accessor.into_owned()))
            }
        }

        impl<T: Element + Pod> From<&Buffer<T>> for $name<T> {
            fn from(buffer: &Buffer<T>) -> Self {
                buffer.$method().into()
            }
        }
    )+};
}

from_buffers! { Read read Write write ReadWrite read_write }
