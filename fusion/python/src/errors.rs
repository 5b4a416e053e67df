//! Exceptions, one for each subject.

use pyo3::{PyErr, PyResult, create_exception, exceptions::PyException, prelude::*};
use vkfuse::error::DeviceError as Device;

create_exception!(vkfuse, Error, PyException, "Whatever vkfuse raises.");

macro_rules! exceptions {
    ($($name:ident: $base:ty, $doc:literal;)+) => {
        $(create_exception!(vkfuse, $name, $base, $doc);)+

        /// Puts them into the module.
        pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
            module.add("Error", module.py().get_type::<Error>())?;
            $(module.add(stringify!($name), module.py().get_type::<$name>())?;)+
            Ok(())
        }
    };
}

exceptions! {
    DeviceError: Error, "The loader, the device, its driver or one of its limits.";
    MissingFeatureError: DeviceError, "The device lacks something that is needed; the message names it.";
    DeviceLostError: DeviceError, "The device is lost: nothing works any more, and a new context is needed.";
    OutOfMemoryError: DeviceError, "No memory is left.";
    KernelError: Error, "A module that cannot be used.";
    SubmitError: Error, "A submission that does not fit its kernel or the device. Nothing of it was listed or run.";
    BufferError: Error, "A use of a buffer that is not possible.";
    FusionError: Error, "A call that the queue's fusion mode does not allow, or a demand that cannot be met.";
    BuildError: Error, "Code could not be made.";
    FailedError: Error, "The work that was waited for had failed.";
    ClosedError: Error, "An object that was closed, or belongs to another process.";
    InternalError: Error, "A defect of vkfuse.";
}

/// The exception for an error of the engine's.
pub(crate) fn of(error: &vkfuse::Error) -> PyErr {
    let message = in_one_line(error);
    if error.is_device_lost() {
        return DeviceLostError::new_err(message);
    }
    match error {
        vkfuse::Error::Device(Device::MissingFeature { .. } | Device::OldVersion { .. }) => {
            MissingFeatureError::new_err(message)
        }
        vkfuse::Error::Device(Device::OutOfMemory { .. }) => OutOfMemoryError::new_err(message),
        vkfuse::Error::Device(_) => DeviceError::new_err(message),
        vkfuse::Error::Kernel(_) | vkfuse::Error::KernelFile { .. } => KernelError::new_err(message),
        vkfuse::Error::Submit { .. } => SubmitError::new_err(message),
        vkfuse::Error::Fusion(_) => FusionError::new_err(message),
        vkfuse::Error::Buffer { .. } => BufferError::new_err(message),
        vkfuse::Error::Build { .. } => BuildError::new_err(message),
        vkfuse::Error::Earlier(_) => FailedError::new_err(message),
        _ => InternalError::new_err(message),
    }
}

/// An error with its causes, leaving out a cause that its effect already spells out.
fn in_one_line(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(deeper) = source {
        let text = deeper.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        source = deeper.source();
    }
    message
}
