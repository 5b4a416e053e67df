//! Functions for vulkano's objects over handles that are not theirs: all as the user's loader has them, except for those that
//! end something.

use std::{
    cell::Cell,
    ffi::{CStr, c_char},
    mem,
};

use ash::vk;
use vulkano::{VulkanObject, instance::Instance, library::Loader};

use super::Kept;
use crate::vk::DeviceError;

/// The user's loader, behind an instance that is not destroyed.
pub(super) struct Borrowed {
    get: vk::PFN_vkGetInstanceProcAddr,
    /// vulkano's objects keep their instance, and that its loader: this goes after the last of them.
    _kept: Option<Kept>,
}

impl Borrowed {
    pub(super) fn new(get: vk::PFN_vkGetInstanceProcAddr, kept: Option<Kept>) -> Self {
        Self { get, _kept: kept }
    }
}

// SAFETY: the functions of the user's loader stay valid as long as its instance lives, which outlives everything made from it
// (`RawDevice::new`); the others are of this program.
unsafe impl Loader for Borrowed {
    unsafe fn get_instance_proc_addr(
        &self,
        instance: vk::Instance,
        name: *const c_char,
    ) -> vk::PFN_vkVoidFunction {
        // SAFETY: the caller's promises are those of the function.
        let found = unsafe { (self.get)(instance, name) };
        // SAFETY: `name` is a string that ends with a zero.
        match unsafe { CStr::from_ptr(name) }.to_bytes() {
            b"vkDestroyInstance" => erased(keep_instance as vk::PFN_vkDestroyInstance),
            b"vkGetDeviceProcAddr" => erased(device_function as vk::PFN_vkGetDeviceProcAddr),
            _ => found,
        }
    }
}

/// A function without its type.
fn erased<F: Copy>(function: F) -> vk::PFN_vkVoidFunction {
    const { assert!(size_of::<F>() == size_of::<vk::PFN_vkVoidFunction>()) };
    // SAFETY: only called with function pointers (in this file), which have the size of this one; the caller gives it
    // its type back.
    Some(unsafe { mem::transmute_copy(&function) })
}

thread_local! {
    /// The user's `vkGetDeviceProcAddr`, while a device object is made in this thread. vulkano asks for all functions then,
    /// and the call has no place for anything of ours.
    static DEVICE: Cell<Option<vk::PFN_vkGetDeviceProcAddr>> = const { Cell::new(None) };
}

/// The user's `vkGetDeviceProcAddr`.
#[derive(Clone, Copy)]
pub(super) struct DeviceFunctions(vk::PFN_vkGetDeviceProcAddr);

impl DeviceFunctions {
    pub(super) fn of(
        instance: &Instance,
        get: vk::PFN_vkGetInstanceProcAddr,
    ) -> Result<DeviceFunctions, DeviceError> {
        // SAFETY: the instance is alive, and the name ends with a zero.
        let found = unsafe { get(instance.handle(), c"vkGetDeviceProcAddr".as_ptr()) };
        let found = found
            .ok_or_else(|| DeviceError::NoLoader { reason: "it has no vkGetDeviceProcAddr".to_owned() })?;
        // SAFETY: that is the type of the function of this name.
        Ok(DeviceFunctions(unsafe {
            mem::transmute::<unsafe extern "system" fn(), vk::PFN_vkGetDeviceProcAddr>(found)
        }))
    }

    /// Makes a device object with them.
    pub(super) fn during<R>(self, make: impl FnOnce() -> R) -> R {
        DEVICE.set(Some(self.0));
        let made = make();
        DEVICE.set(None);
        made
    }
}

unsafe extern "system" fn device_function(device: vk::Device, name: *const c_char) -> vk::PFN_vkVoidFunction {
    let get = DEVICE.get()?;
    // SAFETY: the caller's promises are those of the function.
    let found = unsafe { get(device, name) };
    // SAFETY: `name` is a string that ends with a zero.
    match unsafe { CStr::from_ptr(name) }.to_bytes() {
        b"vkDestroyDevice" => erased(keep_device as vk::PFN_vkDestroyDevice),
        // vulkano waits for queues as it lets go of them. The work of this crate was waited for before, and the rest is
        // not its affair.
        b"vkQueueWaitIdle" => erased(no_wait as vk::PFN_vkQueueWaitIdle),
        _ => found,
    }
}

unsafe extern "system" fn keep_instance(_: vk::Instance, _: *const vk::AllocationCallbacks<'_>) {}

unsafe extern "system" fn keep_device(_: vk::Device, _: *const vk::AllocationCallbacks<'_>) {}

unsafe extern "system" fn no_wait(_: vk::Queue) -> vk::Result {
    vk::Result::SUCCESS
}
