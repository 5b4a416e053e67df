//! An open device and its queues.

use std::{sync::Arc, time::Duration};

use vulkano::device::{Device, DeviceFeatures, Queue};

use super::{Caps, DeviceError, DeviceInfo, GpuQueue, GpuStats, Point};

/// Which device to open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum DeviceSelector {
    /// The fastest kind there is: discrete before integrated before virtual before CPU.
    #[default]
    Default,
    /// By number in the loader's order, as [`DeviceInfo::index`].
    Index(usize),
    /// The first whose name contains this text, in any case.
    Name(String),
}

/// How to open a device.
#[derive(Debug, Clone, Default)]
pub(crate) struct GpuOptions {
    pub(crate) device: DeviceSelector,
    /// Switch the validation layer on. Where it is not installed that is a warning, and `Caps::validation` is false.
    pub(crate) validation: bool,
    /// At most so many queues; 0 for the default of 4.
    pub(crate) max_queues: usize,
}

/// An open device: `Clone` (a handle), `Send + Sync`. The last handle waits for what is pending.
#[derive(Debug, Clone)]
pub(crate) struct Gpu(Arc<GpuInner>);

#[derive(Debug)]
struct GpuInner {
    caps: Caps,
}

impl Gpu {
    /// The devices of this machine.
    pub(crate) fn enumerate() -> Result<Vec<DeviceInfo>, DeviceError> {
        Err(DeviceError::NoDevice)
    }

    /// Opens a device of its own.
    pub(crate) fn open(options: &GpuOptions) -> Result<Gpu, DeviceError> {
        let _ = options;
        Err(DeviceError::NoDevice)
    }

    /// Works over a device that exists, on the queues given (the same `Arc`s the user submits to: they carry the
    /// lock). Fails by name on a feature that [`Gpu::required_features`] lists and the device was made without.
    pub(crate) fn over(device: Arc<Device>, queues: Vec<Arc<Queue>>) -> Result<Gpu, DeviceError> {
        let _ = (device, queues);
        Err(DeviceError::NoDevice)
    }

    /// The features a device must have been made with.
    pub(crate) fn required_features() -> DeviceFeatures {
        DeviceFeatures::empty()
    }

    /// What the device can do.
    pub(crate) fn caps(&self) -> &Caps {
        &self.0.caps
    }

    /// Errors and warnings the validation layer has reported so far; always 0 where it is not active.
    pub(crate) fn validation_messages(&self) -> u64 {
        0
    }

    /// How many queues there are; at least 1.
    pub(crate) fn queues(&self) -> usize {
        1
    }

    /// A queue by number, counted modulo the number of queues.
    pub(crate) fn queue(&self, index: usize) -> GpuQueue {
        GpuQueue { gpu: self.clone(), index: (index % self.queues()) as u32 }
    }

    /// Whether a point is reached. Never blocks. Stays false for what was pending when the device was lost.
    pub(crate) fn is_done(&self, point: Point) -> bool {
        point.value == 0
    }

    /// Waits for a point: true once it is reached, false if the time ran out first, an error if the device is lost.
    pub(crate) fn wait(&self, point: Point, timeout: Option<Duration>) -> Result<bool, DeviceError> {
        let _ = (point, timeout);
        Err(DeviceError::Lost)
    }

    /// Waits for all points.
    pub(crate) fn wait_all(&self, points: &[Point], timeout: Option<Duration>) -> Result<bool, DeviceError> {
        let _ = (points, timeout);
        Err(DeviceError::Lost)
    }

    /// Waits for everything submitted so far on every queue.
    pub(crate) fn wait_idle(&self) -> Result<(), DeviceError> {
        Err(DeviceError::Lost)
    }

    /// Whether the device was lost. It never comes back.
    pub(crate) fn is_lost(&self) -> bool {
        false
    }

    /// Acts as if the device was lost just now: for tests of what happens then.
    pub(crate) fn inject_loss(&self) {}

    /// The counters.
    pub(crate) fn stats(&self) -> GpuStats {
        GpuStats::default()
    }

    /// Starts (or stops) keeping a copy of the commands of every submission, for tests that look at barriers.
    pub(crate) fn set_recording(&self, on: bool) {
        let _ = on;
    }

    /// The submissions kept since the last call, in the order submitted.
    pub(crate) fn take_recording(&self) -> Vec<(Point, Vec<String>)> {
        Vec::new()
    }

    /// The vulkano device.
    pub(crate) fn device(&self) -> Option<&Arc<Device>> {
        None
    }
}
