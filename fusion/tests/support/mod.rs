//! What the conformance tests share: opening a device, describing a list of submissions once, and running
//! that list unfused and fused from the same memory contents.
//!
//! A test that merely looks at results passes with an engine that never fuses. Everything here is made so that a
//! test states what happened besides: how many dispatches ran, what the report says, and that the memory of an
//! internalized buffer still holds the poison it was given.

// Every test file is a crate of its own and uses its own part of this module.
#![allow(dead_code, unused_imports, unused_macros, unreachable_pub)]

pub mod mock;
pub mod own;
mod pair;
mod workload;

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use vkfuse::{CacheOptions, Context, ContextOptions, Kernel, Queue, QueueOptions};

pub use pair::Pair;
pub use workload::{Buf, Ran, Size, Submit, Workload};

/// A device of the machine with a queue that can fuse, validation layers on and no cache on disk.
pub struct Rig {
    pub context: Context,
    pub queue: Queue,
    kernels: Mutex<HashMap<String, Kernel>>,
}

impl Rig {
    /// Opens the device that the environment selects. Without one the test is skipped, which is written past the
    /// test harness's capture; with `VKFUSE_REQUIRE_DEVICE` set, as in CI, it fails.
    pub fn open() -> Option<Rig> {
        Rig::with(ContextOptions::from_env().validation_layer(true).cache(CacheOptions::default().no_disk()))
    }

    /// As [`Rig::open`], with other options.
    pub fn with(options: ContextOptions) -> Option<Rig> {
        let context = match Context::with(options) {
            Ok(context) => context,
            Err(error) => {
                let test = std::thread::current().name().unwrap_or("?").to_owned();
                assert!(std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(), "no device for {test}: {error}");
                let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {error}");
                return None;
            }
        };
        Some(Rig::over(context))
    }

    /// A queue and kernels of a context.
    pub fn over(context: Context) -> Rig {
        let queue = context.queue(QueueOptions::new().enable_fusion(true)).expect("a queue that can fuse");
        Rig { context, queue, kernels: Mutex::default() }
    }

    /// Loads a kernel of the `shaders` folder by its path without `.spv`.
    pub fn kernel(&self, name: &str) -> Kernel {
        let mut kernels = self.kernels.lock().expect("no test panics while loading");
        if let Some(kernel) = kernels.get(name) {
            return kernel.clone();
        }
        let kernel = self.context.load_spirv(shader(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        kernels.insert(name.to_owned(), kernel.clone());
        kernel
    }

    /// Fails if the validation layers said anything since the context was opened.
    pub fn assert_no_validation_messages(&self) {
        assert_eq!(self.context.stats().validation_messages, 0, "the validation layers complained");
    }
}

/// The compiled kernel of that name in the `shaders` folder.
pub fn shader(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders").join(format!("{name}.spv"))
}

/// The contents of memory before a run: a different word at every place, and none that any kernel computes.
pub fn poison(len: usize) -> Vec<u32> {
    (0..len as u32).map(|k| 0xdead_0000 ^ k.wrapping_mul(0x0101)).collect()
}

/// Skips the test, visibly, if there is no device.
macro_rules! rig {
    () => {
        match $crate::support::Rig::open() {
            Some(rig) => rig,
            None => return,
        }
    };
}
