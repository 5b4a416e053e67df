//! A driver that does nothing: what is left of a call is the cost of this crate.
//!
//! Objects are made by the real driver, so everything is checked as always. Recording, submitting and waiting end in empty
//! functions, put into the table that vulkano asks the loader for; a submission counts as complete when it was
//! submitted. Nothing ever runs, so results mean nothing.

// The one place outside `fusion/src/vk` with `unsafe` in it: a function table can be had in no other way.
#![allow(unsafe_code, dead_code)]

use std::{
    ffi::{CStr, c_char, c_void},
    mem::transmute,
    ptr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use ash::vk;
use vkfuse::{CacheOptions, Context, ContextOptions};
use vulkano::{
    VulkanLibrary,
    device::{Device, DeviceCreateInfo, DeviceExtensions, Queue, QueueCreateInfo, QueueFlags},
    instance::{Instance, InstanceCreateInfo},
    library::{DynamicLibraryLoader, Loader},
};

/// The value that the time line has reached. There is one queue, and so one time line.
static REACHED: AtomicU64 = AtomicU64::new(0);

static REAL_DEVICE_PROC: OnceLock<vk::PFN_vkGetDeviceProcAddr> = OnceLock::new();

struct NullLoader(DynamicLibraryLoader);

// SAFETY: forwards to a loader, or gives out functions of this program, which live as long as it.
unsafe impl Loader for NullLoader {
    unsafe fn get_instance_proc_addr(
        &self,
        instance: vk::Instance,
        name: *const c_char,
    ) -> vk::PFN_vkVoidFunction {
        // SAFETY: the caller's own arguments.
        let real = unsafe { self.0.get_instance_proc_addr(instance, name) };
        // SAFETY: names are C strings.
        if unsafe { CStr::from_ptr(name) } != c"vkGetDeviceProcAddr" {
            return real;
        }
        // SAFETY: that is the type of the function of that name.
        let real: vk::PFN_vkGetDeviceProcAddr = unsafe { transmute(real) };
        let _ = REAL_DEVICE_PROC.set(real);
        // SAFETY: the same type, in the loader's general form.
        unsafe { transmute(device_proc as vk::PFN_vkGetDeviceProcAddr) }
    }
}

/// Takes what it is given and returns 0, which is `VK_SUCCESS`. In the calling conventions that Vulkan uses on 64-bit
/// machines a function may be called with arguments that it does not look at.
extern "system" fn nothing() -> i32 {
    0
}

unsafe extern "system" fn submit(
    _: vk::Queue,
    count: u32,
    infos: *const vk::SubmitInfo2<'_>,
    _: vk::Fence,
) -> vk::Result {
    for at in 0..count as usize {
        // SAFETY: the caller gives so many.
        let info = unsafe { &*infos.add(at) };
        if info.signal_semaphore_info_count > 0 {
            // SAFETY: the same.
            REACHED.store(unsafe { (*info.p_signal_semaphore_infos).value }, Relaxed);
        }
    }
    vk::Result::SUCCESS
}

unsafe extern "system" fn counter(_: vk::Device, _: vk::Semaphore, value: *mut u64) -> vk::Result {
    // SAFETY: the caller's place for the answer.
    unsafe { *value = REACHED.load(Relaxed) };
    vk::Result::SUCCESS
}

unsafe extern "system" fn device_proc(device: vk::Device, name: *const c_char) -> vk::PFN_vkVoidFunction {
    // SAFETY: names are C strings.
    let text = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("");
    let stub: *const c_void = match text {
        "vkQueueSubmit2" | "vkQueueSubmit2KHR" => submit as *const c_void,
        "vkGetSemaphoreCounterValue" => counter as *const c_void,
        "vkBeginCommandBuffer"
        | "vkEndCommandBuffer"
        | "vkResetCommandPool"
        | "vkResetCommandBuffer"
        | "vkWaitSemaphores"
        | "vkUpdateDescriptorSetWithTemplate" => nothing as *const c_void,
        _ if text.starts_with("vkCmd") => nothing as *const c_void,
        _ => ptr::null(),
    };
    if stub.is_null() {
        let real = REAL_DEVICE_PROC.get().expect("asked for before this function was given out");
        // SAFETY: the caller's own arguments.
        return unsafe { real(device, name) };
    }
    // SAFETY: the function has the type of its name, or ignores what it is called with.
    unsafe { transmute(stub) }
}

/// A device, and one of its queues that can compute.
pub(crate) fn device(library: Arc<VulkanLibrary>) -> (Arc<Device>, Arc<Queue>) {
    let instance = Instance::new(library, InstanceCreateInfo::default()).expect("an instance");
    let enabled_features = Context::required_features();
    let (physical, family) = instance
        .enumerate_physical_devices()
        .expect("devices")
        .filter(|physical| physical.supported_features().contains(&enabled_features))
        .find_map(|physical| {
            let families = physical.queue_family_properties();
            let compute = families.iter().position(|f| f.queue_flags.contains(QueueFlags::COMPUTE))?;
            Some((physical.clone(), compute as u32))
        })
        .expect("a device that can fuse");
    let enabled_extensions = DeviceExtensions { khr_push_descriptor: true, ..DeviceExtensions::empty() }
        .intersection(physical.supported_extensions());
    let info = DeviceCreateInfo {
        queue_create_infos: vec![QueueCreateInfo { queue_family_index: family, ..Default::default() }],
        enabled_features,
        enabled_extensions,
        ..DeviceCreateInfo::default()
    };
    let (device, mut queues) = Device::new(physical, info).expect("a device");
    (device, queues.next().expect("one queue"))
}

/// A context over a driver that does nothing.
pub(crate) fn open() -> Context {
    let path = if cfg!(windows) { "vulkan-1.dll" } else { "libvulkan.so.1" };
    // SAFETY: the file of that name is the Vulkan loader.
    let real = unsafe { DynamicLibraryLoader::new(path) }.expect("a Vulkan loader");
    let (device, queue) = device(VulkanLibrary::with_loader(NullLoader(real)).expect("a Vulkan library"));
    let options = ContextOptions::new().cache(CacheOptions::new().no_disk());
    Context::from_vulkano(device, vec![queue], options).expect("a context")
}
