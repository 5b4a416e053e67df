//! A device, held so that whoever lets go of it last does so in turn.
//!
//! Making and destroying devices on several threads at once hangs or crashes some drivers (seen with NVIDIA's 580
//! series). So everything here that needs the device holds it through this, as its last field: vulkano's objects,
//! which hold it too, are gone by then, and the device itself goes while nobody else makes or destroys one.

use std::{mem::ManuallyDrop, ops::Deref, sync::Arc};

use vulkano::device::Device;

use super::instance;

/// A share in a device.
#[derive(Debug, Clone)]
pub(super) struct Hold(Arc<Held>);

#[derive(Debug)]
struct Held(ManuallyDrop<Arc<Device>>);

impl Hold {
    /// Takes a device over. Must not be dropped by a thread that has its turn already.
    pub(super) fn new(device: Arc<Device>) -> Hold {
        Hold(Arc::new(Held(ManuallyDrop::new(device))))
    }
}

impl Deref for Hold {
    type Target = Arc<Device>;

    fn deref(&self) -> &Arc<Device> {
        &self.0.0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _turn = instance::opening();
        // SAFETY: this is the only place that drops it, and it is not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.0) };
    }
}
