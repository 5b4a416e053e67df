//! Exit statuses, and what ends a command early.

use crate::pipeline::Problem;
use std::io;
use std::process::ExitCode;
use vkfuse::{DeviceError, Error};

/// How a command ended; the numbers are a public interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Ran, and nothing differs.
    Success,
    /// Ran, and an output differs, or something was found.
    Different,
    /// The file, a module or the command line is wrong.
    Wrong,
    /// No usable Vulkan device.
    NoDevice,
    /// Fusion was forced, and the list is not one group.
    NotFused,
    /// The device failed.
    DeviceFailed,
    /// Ctrl-C was pressed; the results up to then were printed.
    Interrupted,
    /// That of a program that was captured.
    Program(u8),
}

impl Status {
    /// The exit status.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Status::Success => 0,
            Status::Different => 1,
            Status::Wrong => 2,
            Status::NoDevice => 3,
            Status::NotFused => 4,
            Status::DeviceFailed => 5,
            Status::Interrupted => 130,
            Status::Program(own) => own,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status.number())
    }
}

/// Why a command ended before it could report: a status and the one message for it.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) status: Status,
    pub(crate) message: String,
}

impl Stop {
    /// The file, a module or the command line is wrong.
    pub(crate) fn wrong(message: impl Into<String>) -> Stop {
        Stop { status: Status::Wrong, message: message.into() }
    }

    /// An error of opening a device: nothing has run, and a device that does not fit is a missing one.
    pub(crate) fn opening(error: &Error) -> Stop {
        let status = match error {
            Error::Device(error) => device_status(error, Status::NoDevice),
            _ => status(error),
        };
        Stop { status, message: chain(error) + &drivers(error) }
    }

    /// An error of anything after that.
    pub(crate) fn running(error: &Error) -> Stop {
        Stop { status: status(error), message: chain(error) }
    }

    /// An error about a known place of the pipeline file, if it is the file that is wrong.
    pub(crate) fn locate(self, locate: impl FnOnce(String) -> Problem) -> Stop {
        match self.status {
            Status::Wrong => locate(self.message).into(),
            _ => self,
        }
    }
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Stop {
        Stop::wrong(problem.to_string())
    }
}

/// Output that cannot be written. A reader that closed the pipe has read what it wanted.
impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        let status = match error.kind() {
            io::ErrorKind::BrokenPipe => Status::Success,
            _ => Status::Wrong,
        };
        Stop { status, message: format!("cannot write the report: {error}") }
    }
}

fn status(error: &Error) -> Status {
    match error {
        Error::Device(error) => device_status(error, Status::DeviceFailed),
        Error::Kernel(_)
        | Error::KernelFile { .. }
        | Error::Submit { .. }
        | Error::Fusion(_)
        | Error::Buffer { .. } => Status::Wrong,
        Error::Earlier(error) => status(error),
        _ => Status::DeviceFailed,
    }
}

fn device_status(error: &DeviceError, otherwise: Status) -> Status {
    match error {
        DeviceError::NoLoader { .. }
        | DeviceError::NoDevice
        | DeviceError::NoSuchDevice { .. }
        | DeviceError::OldVersion { .. }
        | DeviceError::MissingFeature { .. }
        | DeviceError::NoComputeQueue { .. } => Status::NoDevice,
        DeviceError::OverLimit { .. }
        | DeviceError::Misaligned { .. }
        | DeviceError::OutOfRange { .. }
        | DeviceError::ZeroGroups { .. } => Status::Wrong,
        DeviceError::Lost | DeviceError::OutOfMemory { .. } => Status::DeviceFailed,
        _ => otherwise,
    }
}

/// Variables with which the loader asks other drivers than those that are installed.
const DRIVERS: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];

/// What else may be why there is no device.
fn drivers(error: &Error) -> String {
    let Error::Device(DeviceError::NoLoader { .. } | DeviceError::NoDevice | DeviceError::Call { .. }) =
        error
    else {
        return String::new();
    };
    let set = DRIVERS.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
    let mut said = String::new();
    for (name, value) in set.filter(|(_, value)| !value.is_empty()) {
        let missing = std::env::split_paths(&value).find(|path| !path.exists());
        let missing = missing.map(|path| format!(", and {} is not there", path.display()));
        let (value, missing) = (value.display(), missing.unwrap_or_default());
        said.push_str(&format!("; {name}={value} is set: only drivers that it names are used{missing}"));
    }
    said + "; VK_LOADER_DEBUG=all says more"
}

/// The error and its causes in one line, leaving out a cause that its effect already spells out.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        next = cause.source();
    }
    text.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost() -> Error {
        Error::Device(DeviceError::Lost)
    }

    #[test]
    fn a_device_that_fails_is_not_one_that_is_missing() {
        assert_eq!(Stop::running(&lost()).status, Status::DeviceFailed);
        assert_eq!(Stop::opening(&lost()).status, Status::DeviceFailed);
        let memory = DeviceError::OutOfMemory { kind: "device", bytes: 1, reason: String::new() };
        assert_eq!(Stop::running(&Error::Device(memory)).status, Status::DeviceFailed);
        let none = || Error::Device(DeviceError::NoDevice);
        assert_eq!(Stop::opening(&none()).status, Status::NoDevice);
        assert_eq!(Stop::running(&Error::Earlier(std::sync::Arc::new(lost()))).status, Status::DeviceFailed);
    }

    #[test]
    fn only_a_wrong_file_gets_a_place() {
        let problem = |message: String| Problem::file(std::path::Path::new("f.toml"), message);
        assert_eq!(Stop::wrong("what").locate(problem).message, "f.toml: what");
        let stop = Stop::running(&lost()).locate(problem);
        assert_eq!(stop.status, Status::DeviceFailed);
        assert!(!stop.message.contains("f.toml"));
    }

    #[test]
    fn a_cause_is_told_once() {
        let inner = Error::Device(DeviceError::Lost);
        let message = Stop::running(&Error::Earlier(std::sync::Arc::new(inner.clone()))).message;
        assert_eq!(message.matches(&inner.to_string()).count(), 1, "{message}");
    }
}
