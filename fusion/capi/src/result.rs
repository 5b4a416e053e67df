//! Results, messages, and where panics end.

use std::{
    cell::RefCell,
    ffi::{CString, c_char},
    panic::{AssertUnwindSafe, catch_unwind},
};

use vkfuse::{Error, error::DeviceError};

/// What became of a call. Other values than these may come with later versions: whatever is not 0 is a failure.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VkfuseResult {
    /// It did what it says.
    Ok = 0,
    /// A pointer that may not be null is, or one is not aligned.
    NullPointer = 1,
    /// A handle that is null, destroyed, or not of this kind.
    InvalidHandle = 2,
    /// A value that is none of those allowed.
    InvalidArgument = 3,
    /// The loader, the device, its driver or one of its limits.
    Device = 4,
    /// The device was made without something that is needed; the message names it.
    MissingFeature = 5,
    /// The device is lost: nothing works any more, and a new context is needed.
    DeviceLost = 6,
    /// No memory is left.
    OutOfMemory = 7,
    /// A module that cannot be used.
    Kernel = 8,
    /// A submission that does not fit its kernel or the device.
    Submit = 9,
    /// A use of a buffer that is not possible.
    Buffer = 10,
    /// A call that the queue's fusion mode does not allow.
    Fusion = 11,
    /// Code could not be made.
    Build = 12,
    /// The work that was waited for had failed.
    Failed = 13,
    /// The time ran out first.
    Timeout = 14,
    /// A defect of vkfuse.
    Internal = 15,
}

/// A failure with its message.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) VkfuseResult, pub(crate) String);

impl Failure {
    pub(crate) fn new(result: VkfuseResult, message: impl Into<String>) -> Failure {
        Failure(result, message.into())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let mut message = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(deeper) = source {
            let text = deeper.to_string();
            if !message.contains(&text) {
                message = format!("{message}: {text}");
            }
            source = deeper.source();
        }
        Failure(code(&error), message)
    }
}

fn code(error: &Error) -> VkfuseResult {
    if error.is_device_lost() {
        return VkfuseResult::DeviceLost;
    }
    match error {
        Error::Device(DeviceError::MissingFeature { .. } | DeviceError::OldVersion { .. }) => {
            VkfuseResult::MissingFeature
        }
        Error::Device(DeviceError::OutOfMemory { .. }) => VkfuseResult::OutOfMemory,
        Error::Device(_) => VkfuseResult::Device,
        Error::Kernel(_) | Error::KernelFile { .. } => VkfuseResult::Kernel,
        Error::Submit { .. } => VkfuseResult::Submit,
        Error::Fusion(_) => VkfuseResult::Fusion,
        Error::Buffer { .. } => VkfuseResult::Buffer,
        Error::Build { .. } => VkfuseResult::Build,
        Error::Earlier(_) | Error::OwnTask | Error::OwnList => VkfuseResult::Failed,
        _ => VkfuseResult::Internal,
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

fn leave(message: &str) {
    // A message with a zero in it ends there.
    let text = message.split('\0').next().unwrap_or_default();
    let text = CString::new(text).unwrap_or_default();
    // Not while the thread ends.
    let _ = LAST.try_with(|last| last.replace(text));
}

/// The body of a function of the interface.
pub(crate) fn call(body: impl FnOnce() -> Result<(), Failure>) -> VkfuseResult {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => VkfuseResult::Ok,
        Ok(Err(Failure(result, message))) => {
            leave(&message);
            result
        }
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            leave(&format!("internal error: {}", text.unwrap_or_default()));
            VkfuseResult::Internal
        }
    }
}

/// What the latest call of this thread that failed says, in English; never null. Valid until the next call that fails.
#[unsafe(no_mangle)]
pub extern "C" fn vkfuse_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The version of the library: major, minor and patch, each below 1000, as one number (1.2.3 is 1002003). A library works for
/// a program that was compiled with a header of the same major version, and of the same minor version while the major one is 0.
#[unsafe(no_mangle)]
pub extern "C" fn vkfuse_version() -> u32 {
    let part = |text: &str| text.parse::<u32>().unwrap_or(0);
    part(env!("CARGO_PKG_VERSION_MAJOR")) * 1_000_000
        + part(env!("CARGO_PKG_VERSION_MINOR")) * 1000
        + part(env!("CARGO_PKG_VERSION_PATCH"))
}
