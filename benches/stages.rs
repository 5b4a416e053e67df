//! Where the wall time of a submission goes: before the driver is asked to submit, inside that call, and after it. The driver is the real one, with
//! a clock around `vkQueueSubmit2`.

#![allow(unsafe_code)]

use std::{
    ffi::{CStr, c_char, c_void},
    mem::transmute,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use ash::vk;
use vulkano::{
    VulkanLibrary,
    library::{DynamicLibraryLoader, Loader},
};

use crate::null_driver;

static START: OnceLock<Instant> = OnceLock::new();
static REAL_DEVICE_PROC: OnceLock<vk::PFN_vkGetDeviceProcAddr> = OnceLock::new();
static REAL_SUBMIT: OnceLock<vk::PFN_vkQueueSubmit2> = OnceLock::new();

/// When the latest call began and ended, in nanoseconds since `START`.
static LATEST: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

struct Timed(DynamicLibraryLoader);

// SAFETY: forwards to a loader, or gives out functions of this program, which live as long as it.
unsafe impl Loader for Timed {
    unsafe fn get_instance_proc_addr(
        &self,
        instance: vk::Instance,
        name: *const c_char,
    ) -> vk::PFN_vkVoidFunction {
        // SAFETY: the caller's own arguments; a name is a C string, and a function has the type of its name.
        unsafe {
            match (CStr::from_ptr(name).to_bytes(), self.0.get_instance_proc_addr(instance, name)) {
                (b"vkGetDeviceProcAddr", Some(real)) => {
                    let real: vk::PFN_vkGetDeviceProcAddr = transmute(real);
                    let _ = REAL_DEVICE_PROC.set(real);
                    null_driver::general(device_proc as *const c_void)
                }
                (_, real) => real,
            }
        }
    }
}

unsafe extern "system" fn device_proc(device: vk::Device, name: *const c_char) -> vk::PFN_vkVoidFunction {
    let real = REAL_DEVICE_PROC.get().expect("asked for before this function was given out");
    // SAFETY: the caller's own arguments; a name is a C string, and a function has the type of its name.
    unsafe {
        match (CStr::from_ptr(name).to_bytes(), real(device, name)) {
            (b"vkQueueSubmit2" | b"vkQueueSubmit2KHR", Some(real)) => {
                let real: vk::PFN_vkQueueSubmit2 = transmute(real);
                let _ = REAL_SUBMIT.set(real);
                null_driver::general(submit as *const c_void)
            }
            (_, real) => real,
        }
    }
}

unsafe extern "system" fn submit(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::SubmitInfo2<'_>,
    fence: vk::Fence,
) -> vk::Result {
    let real = REAL_SUBMIT.get().expect("there before this function was given out");
    let now = || START.get_or_init(Instant::now).elapsed().as_nanos() as u64;
    LATEST[0].store(now(), Relaxed);
    // SAFETY: the caller's own arguments.
    let result = unsafe { real(queue, count, infos, fence) };
    LATEST[1].store(now(), Relaxed);
    result
}

/// The library, with the clock in it.
pub(crate) fn library() -> Arc<VulkanLibrary> {
    let path = if cfg!(windows) { "vulkan-1.dll" } else { "libvulkan.so.1" };
    // SAFETY: the file of that name is the Vulkan loader.
    let real = unsafe { DynamicLibraryLoader::new(path) }.expect("a Vulkan loader");
    VulkanLibrary::with_loader(Timed(real)).expect("a Vulkan library")
}

/// How long one run took until the latest submission began, until that returned, and until the run was over.
pub(crate) fn of(run: &mut dyn FnMut()) -> [Duration; 3] {
    let start = START.get_or_init(Instant::now).elapsed();
    run();
    let end = START.get_or_init(Instant::now).elapsed();
    let [began, ended] = [0, 1].map(|at| Duration::from_nanos(LATEST[at].load(Relaxed)));
    [began.saturating_sub(start), ended.saturating_sub(began), end.saturating_sub(ended)]
}
