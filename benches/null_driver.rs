//! A driver that does nothing, so that a call costs what this crate costs.
//!
//! Objects are made by the real driver, so everything is checked as always. Recording, submitting and waiting end in empty
//! functions, put into the table that vulkano asks the loader for; a submission counts as complete when it was
//! submitted. Nothing ever runs, so results mean nothing. It has as many queues as are requested; the real driver knows only the first.

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

use ash::vk::{self, Handle as _};
use vkfuse::{CacheOptions, Context, ContextOptions};
use vulkano::{
    VulkanLibrary, VulkanObject as _,
    device::{
        Device, DeviceCreateInfo, DeviceExtensions, DeviceFeatures, Queue, QueueCreateInfo, QueueFlags,
    },
    instance::{Instance, InstanceCreateInfo},
    library::{DynamicLibraryLoader, Loader},
};

/// The semaphores that are time lines, which change no more once they are there.
static LINES: [AtomicU64; LINES_MOST] = [const { AtomicU64::new(0) }; LINES_MOST];

/// The values that those have reached.
static REACHED: [Reached; LINES_MOST] = [const { Reached(AtomicU64::new(0)) }; LINES_MOST];

const LINES_MOST: usize = 64;

/// In lines of memory of its own.
#[repr(align(128))]
struct Reached(AtomicU64);

/// How many queues each family has at least.
const QUEUES: u32 = 16;

/// The value of a semaphore.
fn reached(semaphore: vk::Semaphore) -> &'static AtomicU64 {
    let name = semaphore.as_raw();
    let is_its = |of: &AtomicU64| {
        let known = of.load(Relaxed);
        known == name || known == 0 && of.compare_exchange(0, name, Relaxed, Relaxed).is_ok()
    };
    &REACHED[LINES.iter().position(is_its).expect("room for another time line")].0
}

static REAL_DEVICE_PROC: OnceLock<vk::PFN_vkGetDeviceProcAddr> = OnceLock::new();
static REAL_FAMILIES: OnceLock<vk::PFN_vkGetPhysicalDeviceQueueFamilyProperties2> = OnceLock::new();
static REAL_CREATE: OnceLock<vk::PFN_vkCreateDevice> = OnceLock::new();

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
        // SAFETY: names are C strings; functions have the types of their names, and go in and out in the loader's general form.
        unsafe {
            match (CStr::from_ptr(name).to_bytes(), real) {
                (b"vkGetDeviceProcAddr", Some(own)) => {
                    let own: vk::PFN_vkGetDeviceProcAddr = transmute(own);
                    let _ = REAL_DEVICE_PROC.set(own);
                    general(device_proc as *const c_void)
                }
                (b"vkGetPhysicalDeviceQueueFamilyProperties2", Some(own)) => {
                    let own: vk::PFN_vkGetPhysicalDeviceQueueFamilyProperties2 = transmute(own);
                    let _ = REAL_FAMILIES.set(own);
                    general(families as *const c_void)
                }
                (b"vkCreateDevice", Some(own)) => {
                    let own: vk::PFN_vkCreateDevice = transmute(own);
                    let _ = REAL_CREATE.set(own);
                    general(create as *const c_void)
                }
                _ => real,
            }
        }
    }
}

/// A function in the form in which loaders give them out.
///
/// # Safety
///
/// It is one.
pub(crate) unsafe fn general(function: *const c_void) -> vk::PFN_vkVoidFunction {
    // SAFETY: the caller's promise; a function that is not null is its address.
    unsafe { transmute(function) }
}

/// The families, with more queues.
unsafe extern "system" fn families(
    device: vk::PhysicalDevice,
    count: *mut u32,
    into: *mut vk::QueueFamilyProperties2<'_>,
) {
    let real = REAL_FAMILIES.get().expect("asked for before this function was given out");
    // SAFETY: the caller's own arguments; what is written is read.
    unsafe {
        real(device, count, into);
        for at in 0..if into.is_null() { 0 } else { *count as usize } {
            let family = &mut (*into.add(at)).queue_family_properties;
            family.queue_count = family.queue_count.max(QUEUES);
        }
    }
}

/// A device with one queue of each family.
unsafe extern "system" fn create(
    physical: vk::PhysicalDevice,
    info: *const vk::DeviceCreateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    device: *mut vk::Device,
) -> vk::Result {
    let real = REAL_CREATE.get().expect("asked for before this function was given out");
    // SAFETY: the caller's own arguments.
    unsafe {
        let asked = std::slice::from_raw_parts(
            (*info).p_queue_create_infos,
            (*info).queue_create_info_count as usize,
        );
        let ones: Vec<_> =
            asked.iter().map(|one| vk::DeviceQueueCreateInfo { queue_count: 1, ..*one }).collect();
        let info = vk::DeviceCreateInfo { p_queue_create_infos: ones.as_ptr(), ..*info };
        real(physical, &info, callbacks, device)
    }
}

/// A queue by its number: the real one, which is the first, or a name for one, which no one but this driver is ever given.
unsafe fn queue_at(device: vk::Device, (family, at): (u32, u32), queue: *mut vk::Queue) {
    static NAMES: [u64; QUEUES as usize] = [0; QUEUES as usize];
    if at > 0 {
        // SAFETY: the caller's place for the answer.
        unsafe { *queue = vk::Queue::from_raw(&raw const NAMES[at as usize] as u64) };
        return;
    }
    let real = REAL_DEVICE_PROC.get().expect("asked for before this function was given out");
    // SAFETY: that is the type of the function of that name, and the caller's own arguments.
    unsafe {
        let get = real(device, c"vkGetDeviceQueue".as_ptr()).expect("a function of Vulkan 1.0");
        let get: vk::PFN_vkGetDeviceQueue = transmute(get);
        get(device, family, 0, queue);
    }
}

unsafe extern "system" fn queue(device: vk::Device, family: u32, at: u32, queue: *mut vk::Queue) {
    // SAFETY: the caller's own arguments.
    unsafe { queue_at(device, (family, at), queue) }
}

unsafe extern "system" fn queue2(
    device: vk::Device,
    info: *const vk::DeviceQueueInfo2<'_>,
    queue: *mut vk::Queue,
) {
    // SAFETY: the caller's own arguments.
    unsafe { queue_at(device, ((*info).queue_family_index, (*info).queue_index), queue) }
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
        // SAFETY: the caller gives this many.
        let info = unsafe { &*infos.add(at) };
        if info.signal_semaphore_info_count > 0 {
            // SAFETY: the same.
            let signal = unsafe { &*info.p_signal_semaphore_infos };
            reached(signal.semaphore).store(signal.value, Relaxed);
        }
    }
    vk::Result::SUCCESS
}

unsafe extern "system" fn counter(_: vk::Device, semaphore: vk::Semaphore, value: *mut u64) -> vk::Result {
    // SAFETY: the caller's place for the answer.
    unsafe { *value = reached(semaphore).load(Relaxed) };
    vk::Result::SUCCESS
}

unsafe extern "system" fn device_proc(device: vk::Device, name: *const c_char) -> vk::PFN_vkVoidFunction {
    // SAFETY: names are C strings.
    let text = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("");
    let stub: *const c_void = match text {
        "vkQueueSubmit2" | "vkQueueSubmit2KHR" => submit as *const c_void,
        "vkGetSemaphoreCounterValue" => counter as *const c_void,
        "vkGetDeviceQueue" => queue as *const c_void,
        "vkGetDeviceQueue2" => queue2 as *const c_void,
        "vkBeginCommandBuffer"
        | "vkEndCommandBuffer"
        | "vkResetCommandPool"
        | "vkResetCommandBuffer"
        | "vkWaitSemaphores"
        | "vkQueueWaitIdle"
        | "vkDeviceWaitIdle"
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
    unsafe { general(stub) }
}

/// A device, and this many of its queues that can compute.
pub(crate) fn device(library: Arc<VulkanLibrary>, count: usize) -> (Arc<Device>, Vec<Arc<Queue>>) {
    let instance = Instance::new(library, InstanceCreateInfo::default()).expect("an instance");
    let required = Context::required_features();
    let (physical, family) = instance
        .enumerate_physical_devices()
        .expect("devices")
        .filter(|physical| physical.supported_features().contains(&required))
        .find_map(|physical| {
            let families = physical.queue_family_properties();
            let compute = families.iter().position(|f| f.queue_flags.contains(QueueFlags::COMPUTE))?;
            Some((physical.clone(), compute as u32))
        })
        .expect("a device that can fuse");
    let optional = DeviceFeatures {
        descriptor_binding_storage_buffer_update_after_bind: true,
        descriptor_binding_uniform_buffer_update_after_bind: true,
        ..DeviceFeatures::empty()
    };
    let enabled_features = required | optional.intersection(physical.supported_features());
    let enabled_extensions = DeviceExtensions { khr_push_descriptor: true, ..DeviceExtensions::empty() }
        .intersection(physical.supported_extensions());
    let info = DeviceCreateInfo {
        queue_create_infos: vec![QueueCreateInfo {
            queue_family_index: family,
            queues: vec![0.5; count],
            ..Default::default()
        }],
        enabled_features,
        enabled_extensions,
        ..DeviceCreateInfo::default()
    };
    let (device, queues) = Device::new(physical, info).expect("a device");
    let queues: Vec<Arc<Queue>> = queues.collect();
    let is_first = |at: usize| queues[..at].iter().all(|other| other.handle() != queues[at].handle());
    assert!((0..queues.len()).all(is_first), "each queue is one of its own");
    (device, queues)
}

/// A context over a driver that does nothing.
pub(crate) fn open() -> Context {
    with_queues(1)
}

/// A context over this many queues of a driver that does nothing.
pub(crate) fn with_queues(count: usize) -> Context {
    let path = if cfg!(windows) { "vulkan-1.dll" } else { "libvulkan.so.1" };
    // SAFETY: the file of that name is the Vulkan loader.
    let real = unsafe { DynamicLibraryLoader::new(path) }.expect("a Vulkan loader");
    let library = VulkanLibrary::with_loader(NullLoader(real)).expect("a Vulkan library");
    let (device, queues) = device(library, count);
    let options = ContextOptions::new().cache(CacheOptions::new().no_disk());
    Context::from_vulkano(device, queues, options).expect("a context")
}
