//! A device whose functions do nothing, below a layer or alone, without the loader: what a call costs is what the layer costs.
//!
//! The layer is asked for its functions as the loader asks. Objects are numbers.

use ash::vk::{self, Handle};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(crate) type Negotiate = unsafe extern "system" fn(*mut vkfuse_layer::Negotiation) -> vk::Result;

/// `VkNegotiateLayerInterface` of `vk_layer.h`.
#[repr(C)]
struct Asked {
    kind: c_int,
    next: *mut c_void,
    version: u32,
    instance_proc: Option<vk::PFN_vkGetInstanceProcAddr>,
    device_proc: Option<vk::PFN_vkGetDeviceProcAddr>,
    physical_device_proc: *const c_void,
}

/// `VkLayerInstanceLink` and `VkLayerDeviceLink`; the first has only the one function.
#[repr(C)]
struct Link {
    next: *mut Link,
    instance_proc: vk::PFN_vkGetInstanceProcAddr,
    device_proc: vk::PFN_vkGetDeviceProcAddr,
}

/// The beginnings of `VkLayerInstanceCreateInfo` and `VkLayerDeviceCreateInfo`: the link, or the function that fills in handles.
#[repr(C)]
struct Info {
    kind: vk::StructureType,
    next: *const c_void,
    function: c_int,
    content: *mut c_void,
}

/// What handles of an instance, and those of a device, point to: the layer and this program look for devices by what is there.
static INSTANCE: usize = 0x10_0000;
static DEVICE: usize = 0x20_0010;

fn handle<T: Handle>(of: &'static usize) -> T {
    T::from_raw(ptr::from_ref(of) as u64)
}

fn general(function: *const c_void) -> vk::PFN_vkVoidFunction {
    // SAFETY: the address of a function, which has the type of its name or ignores what it is called with.
    unsafe { std::mem::transmute(function) }
}

/// Takes anything and returns `VK_SUCCESS`: in the calling conventions of Vulkan on 64-bit machines a function may ignore its arguments.
extern "system" fn nothing() -> i32 {
    0
}

unsafe extern "system" fn create_instance(
    _: *const c_void,
    _: *const c_void,
    instance: *mut vk::Instance,
) -> vk::Result {
    // SAFETY: the caller's place for the answer, here and below.
    unsafe { *instance = handle(&INSTANCE) };
    vk::Result::SUCCESS
}

unsafe extern "system" fn create_device(
    _: vk::PhysicalDevice,
    _: *const c_void,
    _: *const c_void,
    device: *mut vk::Device,
) -> vk::Result {
    // SAFETY: as above.
    unsafe { *device = handle(&DEVICE) };
    vk::Result::SUCCESS
}

unsafe extern "system" fn properties(_: vk::PhysicalDevice, into: *mut vk::PhysicalDeviceProperties) {
    // SAFETY: as above.
    unsafe {
        let version = vk::API_VERSION_1_3;
        *into = vk::PhysicalDeviceProperties { api_version: version, ..Default::default() };
    }
}

unsafe extern "system" fn memory(_: vk::PhysicalDevice, into: *mut vk::PhysicalDeviceMemoryProperties) {
    // SAFETY: as above.
    unsafe {
        *into = vk::PhysicalDeviceMemoryProperties::default();
        (*into).memory_types[0].property_flags = vk::MemoryPropertyFlags::HOST_VISIBLE;
    }
}

unsafe extern "system" fn features(_: vk::PhysicalDevice, into: *mut vk::PhysicalDeviceFeatures2<'_>) {
    // SAFETY: as above; the chain is the caller's.
    unsafe {
        let mut at = (*into).p_next.cast::<vk::BaseOutStructure<'_>>();
        while let Some(one) = at.as_mut() {
            match one.s_type {
                vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES => {
                    (*at.cast::<vk::PhysicalDeviceVulkan12Features<'_>>()).timeline_semaphore = vk::TRUE;
                }
                vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_3_FEATURES => {
                    (*at.cast::<vk::PhysicalDeviceVulkan13Features<'_>>()).synchronization2 = vk::TRUE;
                }
                _ => {}
            }
            at = one.p_next;
        }
    }
}

unsafe extern "system" fn families(
    _: vk::PhysicalDevice,
    count: *mut u32,
    into: *mut vk::QueueFamilyProperties,
) {
    let flags = vk::QueueFlags::COMPUTE;
    let one = vk::QueueFamilyProperties { queue_flags: flags, queue_count: 1, ..Default::default() };
    // SAFETY: as above; the caller has room for one.
    unsafe {
        *count = 1;
        if let Some(into) = into.as_mut() {
            *into = one;
        }
    }
}

unsafe extern "system" fn made(
    _: vk::Device,
    _: *const c_void,
    _: *const c_void,
    to: *mut u64,
) -> vk::Result {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    // SAFETY: as above.
    unsafe { *to = NEXT.fetch_add(1, Relaxed) };
    vk::Result::SUCCESS
}

unsafe extern "system" fn pipelines(
    device: vk::Device,
    _: vk::PipelineCache,
    _: u32,
    info: *const c_void,
    allocator: *const c_void,
    to: *mut u64,
) -> vk::Result {
    // SAFETY: as above, for one.
    unsafe { made(device, info, allocator, to) }
}

unsafe extern "system" fn sets(device: vk::Device, info: *const c_void, to: *mut u64) -> vk::Result {
    // SAFETY: as above, for one.
    unsafe { made(device, info, ptr::null(), to) }
}

unsafe extern "system" fn buffers(_: vk::Device, _: *const c_void, to: *mut vk::CommandBuffer) -> vk::Result {
    // SAFETY: as above, for one.
    unsafe { *to = handle(&DEVICE) };
    vk::Result::SUCCESS
}

unsafe extern "system" fn queue(_: vk::Device, _: u32, _: u32, to: *mut vk::Queue) {
    // SAFETY: as above.
    unsafe { *to = handle(&DEVICE) };
}

unsafe extern "system" fn instance_proc(_: vk::Instance, name: *const c_char) -> vk::PFN_vkVoidFunction {
    // SAFETY: names are C strings.
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default();
    general(match name {
        "vkGetInstanceProcAddr" => instance_proc as *const c_void,
        "vkGetDeviceProcAddr" => device_proc as *const c_void,
        "vkCreateInstance" => create_instance as *const c_void,
        "vkCreateDevice" => create_device as *const c_void,
        "vkGetPhysicalDeviceProperties" => properties as *const c_void,
        "vkGetPhysicalDeviceMemoryProperties" => memory as *const c_void,
        "vkGetPhysicalDeviceFeatures2" => features as *const c_void,
        "vkGetPhysicalDeviceQueueFamilyProperties" => families as *const c_void,
        _ => ptr::null(),
    })
}

unsafe extern "system" fn device_proc(_: vk::Device, name: *const c_char) -> vk::PFN_vkVoidFunction {
    // SAFETY: names are C strings.
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default();
    general(match name {
        "vkCreateComputePipelines" => pipelines as *const c_void,
        "vkAllocateDescriptorSets" => sets as *const c_void,
        "vkAllocateCommandBuffers" => buffers as *const c_void,
        "vkGetDeviceQueue" => queue as *const c_void,
        "vkAllocateMemory" => made as *const c_void,
        _ if name.starts_with("vkCreate") => made as *const c_void,
        _ => nothing as *const c_void,
    })
}

/// A device, below the layer with this entry if there is one.
pub(crate) fn device(layer: Option<Negotiate>) -> ash::Device {
    let Some(layer) = layer else {
        // SAFETY: the functions are there, and are called with what they expect.
        return unsafe {
            ash::Device::load_with(|name| of(device_proc, handle(&DEVICE), name), handle(&DEVICE))
        };
    };
    // SAFETY: structures as those of the loader, which live as long as the calls; functions have the types of their names.
    unsafe {
        let mut asked = Asked {
            kind: 1,
            next: ptr::null_mut(),
            version: 2,
            instance_proc: None,
            device_proc: None,
            physical_device_proc: ptr::null(),
        };
        layer((&raw mut asked).cast()).result().expect("the layer");
        let get = asked.instance_proc.expect("functions");
        let mut link = Link { next: ptr::null_mut(), instance_proc, device_proc };
        let mut chain = Info {
            kind: vk::StructureType::LOADER_INSTANCE_CREATE_INFO,
            next: ptr::null(),
            function: 0,
            content: (&raw mut link).cast(),
        };
        let info = vk::InstanceCreateInfo { p_next: (&raw mut chain).cast(), ..Default::default() };
        let create = get(vk::Instance::null(), c"vkCreateInstance".as_ptr()).expect("a function");
        let create: vk::PFN_vkCreateInstance = std::mem::transmute(create);
        let mut instance = vk::Instance::null();
        create(&info, ptr::null(), &mut instance).result().expect("an instance");
        let mut device = vk::Device::null();
        let data = Info {
            kind: vk::StructureType::LOADER_DEVICE_CREATE_INFO,
            next: ptr::null(),
            function: 1,
            content: nothing as *mut c_void,
        };
        let mut chain = Info {
            kind: vk::StructureType::LOADER_DEVICE_CREATE_INFO,
            next: (&raw const data).cast(),
            function: 0,
            content: (&raw mut link).cast(),
        };
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let info = vk::DeviceCreateInfo { p_next: (&raw mut chain).cast(), ..Default::default() };
        let info = info.queue_create_infos(&queues);
        let create = get(instance, c"vkCreateDevice".as_ptr()).expect("a function");
        let create: vk::PFN_vkCreateDevice = std::mem::transmute(create);
        create(handle(&INSTANCE), &info, ptr::null(), &mut device).result().expect("a device");
        let get = asked.device_proc.expect("functions");
        ash::Device::load_with(|name| of(get, device, name), device)
    }
}

unsafe fn of(get: vk::PFN_vkGetDeviceProcAddr, device: vk::Device, name: &CStr) -> *const c_void {
    // SAFETY: the device is the function's.
    unsafe { get(device, name.as_ptr()) }.map_or(ptr::null(), |found| found as *const c_void)
}
