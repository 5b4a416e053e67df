//! Every error of this crate: [`Error`](enum@Error).
//!
//! One enum for the crate, with one enum per subject inside it. A message says where (kernel, binding, buffer) and what
//! would fix it. That something could not be *fused* is no error: it is an [`Outcome`] with a reason.

use std::{fmt, io, path::PathBuf, sync::Arc};

use thiserror::Error;

use crate::{jit::Reason, report::outcome::Outcome};
pub use crate::{
    jit::{JitError, KernelError, KernelReason, PlanError},
    vk::DeviceError,
};

mod buffer;
mod submit;

pub use buffer::{BufferError, Unreadable};
pub use submit::{BindingName, OverrunAccess, SubmitError};

/// Any error of this crate.
///
/// `Debug` is the message with its causes, so that a `main` that returns one prints what is wrong in words.
#[derive(Clone, Error)]
#[non_exhaustive]
pub enum Error {
    /// The device, its loader or its driver.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A module or kernel that cannot be used.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A kernel file that cannot be read.
    #[error("cannot read the kernel file {path}: {source}", path = path.display())]
    KernelFile {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Arc<io::Error>,
    },
    /// A submission that does not fit its kernel or the device. Nothing of it was recorded or run.
    #[error("{}{problem}", of_kernel(kernel))]
    Submit {
        /// The kernel's name, as it was loaded under; empty where there is none yet.
        kernel: String,
        /// What is wrong.
        problem: SubmitError,
    },
    /// A call that the queue's fusion mode does not allow, or a demand of fusion that cannot be met.
    #[error(transparent)]
    Fusion(#[from] FusionError),
    /// A use of a buffer that is not possible.
    #[error("buffer `{buffer}`: {problem}")]
    Buffer {
        /// The buffer's name.
        buffer: String,
        /// What is wrong.
        problem: BufferError,
    },
    /// Code could not be made for a kernel or a fused group.
    #[error("no code could be made for `{kernel}`: {source}")]
    Build {
        /// The kernel, or the members of the group.
        kernel: String,
        /// Why.
        #[source]
        source: BuildError,
    },
    /// The work that was waited for or depended on failed earlier.
    #[error("the work waited for had failed: {0}")]
    Earlier(#[source] Arc<Error>),
    /// A host task panicked.
    #[error("the host task panicked: {message}")]
    TaskPanicked {
        /// What it panicked with.
        message: String,
    },
    /// A host task was asked to wait for itself, by its event or with everything else.
    #[error("a host task cannot wait for itself")]
    OwnTask,
    /// A list was to be waited for by what is called while it is being built, such as a receiver of cache events.
    #[error("a list cannot be waited for while the same thread builds it")]
    OwnList,
    /// An error of the caller's own, carried out of a submit closure, a fusion scope or a host task.
    #[error("{0}")]
    Custom(Arc<dyn std::error::Error + Send + Sync>),
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.to_string();
        let mut next = std::error::Error::source(self);
        while let Some(cause) = next {
            let words = cause.to_string();
            if !text.contains(&words) {
                text = format!("{text}: {words}");
            }
            next = cause.source();
        }
        f.write_str(&text)
    }
}

impl Error {
    /// Wraps an error of the caller's own, to leave a closure of this crate with it.
    pub fn custom(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Custom(Arc::from(error.into()))
    }

    /// Whether the device is lost: then this context does nothing more, and a new one is needed.
    #[must_use]
    pub fn is_device_lost(&self) -> bool {
        match self {
            Error::Device(error) => *error == DeviceError::Lost,
            Error::Earlier(error) => error.is_device_lost(),
            Error::Build { source: BuildError::Driver(error), .. } => *error == DeviceError::Lost,
            _ => false,
        }
    }

    pub(crate) fn submit(kernel: &str, problem: SubmitError) -> Error {
        Error::Submit { kernel: kernel.to_owned(), problem }
    }

    pub(crate) fn buffer(buffer: &str, problem: BufferError) -> Error {
        Error::Buffer { buffer: buffer.to_owned(), problem }
    }
}

/// A use of fusion mode that is not possible.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FusionError {
    /// The queue was made without the property.
    #[error("the queue cannot enter fusion mode; make it with `QueueOptions::new().enable_fusion(true)`")]
    NotEnabled,
    /// The device cannot fuse.
    #[error("{device} cannot fuse: it lacks {missing}")]
    Unsupported {
        /// The device's name.
        device: String,
        /// What it lacks.
        missing: String,
    },
    /// `start_fusion` on a queue that is in fusion mode.
    #[error(
        "the queue is in fusion mode already, and {open}; first end that list with `complete_fusion` or `cancel_fusion`, or drop the wrapper that began it; a second list needs a queue of its own"
    )]
    AlreadyFusing {
        /// The list that is open, as the end of a sentence.
        open: Box<str>,
    },
    /// `complete_fusion` on a queue that was never in fusion mode.
    #[error("the queue is not in fusion mode; call `start_fusion` first")]
    NotFusing,
    /// `complete_and_keep` on a list that something else had ended before.
    #[error("the list had ended before it was completed ({outcome}), so there is nothing to keep")]
    NotKept {
        /// What became of it.
        outcome: Outcome,
    },
    /// The list was kept to be built or looked at, and nothing of it was run.
    #[error("the list was kept without being run")]
    NotRun,
    /// A kept list was to run on a queue of another context.
    #[error("the queue belongs to another context than the kept list")]
    ForeignQueue,
    /// A kept list cannot have these buffers or scalars.
    #[error("the kept list cannot be changed like that: {problem}")]
    Rebind {
        /// Why not.
        problem: String,
    },
    /// A kept list cannot be recorded into a command buffer of the program's.
    #[error("the kept list cannot be recorded: {problem}")]
    NotRecordable {
        /// Why not.
        problem: &'static str,
    },
    /// Fused and unfused were to be compared on the device, and could not be.
    #[error("{what}")]
    NotCompared {
        /// Why not.
        what: String,
    },
    /// `force_fusion` was asked for, and the list did not become one kernel. It ran unfused.
    #[error("fusion was forced, but the list cannot become one kernel (it ran unfused): {reason}{place}")]
    Forced {
        /// Between which submissions, over which buffer; empty where it concerns all of the list.
        place: String,
        /// Why not.
        #[source]
        reason: Reason,
    },
}

/// A kernel's name in front of what is wrong, if there is one.
fn of_kernel(kernel: &str) -> String {
    if kernel.is_empty() { String::new() } else { format!("kernel `{kernel}`: ") }
}

/// Why there is no code for a step.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The step could not be planned.
    #[error(transparent)]
    Plan(PlanError),
    /// The JIT failed.
    #[error(transparent)]
    Jit(JitError),
    /// The driver did not take the code.
    #[error(transparent)]
    Driver(DeviceError),
    /// The driver's compiler does not come back from it, as a [guard](crate::guard::CompileGuard) found out.
    #[error("the driver's compiler dies of it: {how}")]
    Died {
        /// How the process ended that tried.
        how: String,
    },
    /// Something panicked; the message says what.
    #[error("internal error: {0}")]
    Panic(String),
}
