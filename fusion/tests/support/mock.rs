//! A driver that fails where it is asked to: the real one, with some of its functions replaced in the table that vulkano
//! asks the loader for. It has several queues, whose work overtakes that of others.

// Function tables can be replaced in no other way.
#![allow(unsafe_code)]

use std::{
    collections::{HashMap, HashSet},
    ffi::{CStr, c_char, c_void},
    mem::transmute,
    ptr,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use ash::vk;
use vkfuse::Context;
use vulkano::{
    VulkanLibrary,
    device::{
        Device, DeviceCreateInfo, DeviceExtensions, DeviceFeatures, Queue, QueueCreateInfo, QueueFlags,
    },
    instance::{Instance, InstanceCreateInfo},
    library::{DynamicLibraryLoader, Loader},
};

/// Calls that make something, since the last reset.
pub(crate) static CALLS: AtomicU64 = AtomicU64::new(0);
/// The calls that fail: from this one on, counted from 1, this many.
pub(crate) static FAIL_FROM: AtomicU64 = AtomicU64::new(0);
pub(crate) static FAIL_COUNT: AtomicU64 = AtomicU64::new(0);
pub(crate) static FAIL_WITH: AtomicI32 = AtomicI32::new(0);
/// Handles made and not yet destroyed.
pub(crate) static LIVE: AtomicI64 = AtomicI64::new(0);
/// What `vkGetPipelineCacheData` does.
pub(crate) static DATA: AtomicUsize = AtomicUsize::new(REAL);
/// Blobs that reached the driver, and how many of them a driver would have died over.
pub(crate) static BLOBS: AtomicU64 = AtomicU64::new(0);
pub(crate) static WRONG_BLOBS: AtomicU64 = AtomicU64::new(0);
/// How often two threads were inside with the same pipeline cache.
pub(crate) static OVERLAPS: AtomicU64 = AtomicU64::new(0);

/// Which of `PROPERTIES` the driver says otherwise than it is, counted from 1.
pub(crate) static CHANGED: AtomicUsize = AtomicUsize::new(0);

/// What tells drivers and devices apart. The last tells apart two devices of one model, and nothing else.
pub(crate) const PROPERTIES: [&str; 9] = [
    "vendorID",
    "deviceID",
    "driverVersion",
    "pipelineCacheUUID",
    "driverID",
    "driverName",
    "driverInfo",
    "driverUUID",
    "deviceUUID",
];

pub(crate) const REAL: usize = 0;
/// Nothing at all.
pub(crate) const NOTHING: usize = 1;
/// More with every call than the one before said.
pub(crate) const GROWING: usize = 2;
/// A header and a payload, as drivers have that cache.
pub(crate) const PAYLOAD: usize = 3;

/// Whether every pipeline is refused.
pub(crate) static REFUSES: AtomicBool = AtomicBool::new(false);
/// Refuses pipelines of modules that end with this word; 0 is none. The word of `OpNop` changes no module.
pub(crate) static REFUSED_END: AtomicU32 = AtomicU32::new(0);
/// How many pipelines were refused.
pub(crate) static REFUSALS: AtomicU64 = AtomicU64::new(0);

const BODY: &[u8] = b"what a driver made of a kernel";

/// One test at a time: there is one set of the above.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for counter in [&CALLS, &FAIL_FROM, &FAIL_COUNT, &BLOBS, &WRONG_BLOBS, &OVERLAPS] {
        counter.store(0, SeqCst);
    }
    DATA.store(REAL, SeqCst);
    CHANGED.store(0, SeqCst);
    REFUSES.store(false, SeqCst);
    REFUSED_END.store(0, SeqCst);
    REFUSALS.store(0, SeqCst);
    running::fail(0, 0, vk::Result::SUCCESS);
    running::no_buffer_of(0);
    guard
}

/// Makes calls fail, from the `from`-th on, this many.
pub(crate) fn fail(from: u64, count: u64, with: vk::Result) {
    CALLS.store(0, SeqCst);
    FAIL_WITH.store(with.as_raw(), SeqCst);
    FAIL_COUNT.store(count, SeqCst);
    FAIL_FROM.store(from, SeqCst);
}

fn fault() -> Option<vk::Result> {
    let call = CALLS.fetch_add(1, SeqCst) + 1;
    let from = FAIL_FROM.load(SeqCst);
    let fails = from != 0 && call >= from && call - from < FAIL_COUNT.load(SeqCst);
    fails.then(|| vk::Result::from_raw(FAIL_WITH.load(SeqCst)))
}

fn made(result: vk::Result) -> vk::Result {
    if result == vk::Result::SUCCESS {
        LIVE.fetch_add(1, SeqCst);
    }
    result
}

pub(crate) mod queues;
pub(crate) mod running;

static REAL_DEVICE_PROC: OnceLock<vk::PFN_vkGetDeviceProcAddr> = OnceLock::new();
static REAL_ONES: Mutex<Option<HashMap<&'static str, usize>>> = Mutex::new(None);

/// The real function of a name, by the type that the caller knows it has.
fn real<F: Copy>(name: &'static str) -> F {
    let table = REAL_ONES.lock().unwrap_or_else(PoisonError::into_inner);
    let address = table.as_ref().and_then(|table| table.get(name)).copied().expect("asked for before");
    assert_eq!(size_of::<F>(), size_of::<usize>());
    // SAFETY: a function pointer of that name, as wide as an address.
    unsafe { ptr::from_ref(&address).cast::<F>().read() }
}

struct MockLoader(DynamicLibraryLoader);

// SAFETY: forwards to a loader, or gives out functions of this program, which live as long as it.
unsafe impl Loader for MockLoader {
    unsafe fn get_instance_proc_addr(
        &self,
        instance: vk::Instance,
        name: *const c_char,
    ) -> vk::PFN_vkVoidFunction {
        // SAFETY: the caller's own arguments.
        let real = unsafe { self.0.get_instance_proc_addr(instance, name) };
        // SAFETY: names are C strings.
        let name = unsafe { CStr::from_ptr(name) };
        let mock: Option<(&'static str, *const c_void)> = match name.to_str() {
            Ok("vkGetPhysicalDeviceProperties2") => Some(("vkGetPhysicalDeviceProperties2", properties as _)),
            Ok("vkGetPhysicalDeviceQueueFamilyProperties2") => {
                Some(("vkGetPhysicalDeviceQueueFamilyProperties2", queues::families as _))
            }
            Ok("vkCreateDevice") => Some(("vkCreateDevice", queues::create_device as _)),
            _ => None,
        };
        if let (Some((name, mock)), Some(real)) = (mock, real) {
            let mut table = REAL_ONES.lock().unwrap_or_else(PoisonError::into_inner);
            table.get_or_insert_default().insert(name, real as usize);
            // SAFETY: the mock has the type of its name.
            return unsafe { transmute::<*const c_void, vk::PFN_vkVoidFunction>(mock) };
        }
        if name != c"vkGetDeviceProcAddr" {
            return real;
        }
        // SAFETY: that is the type of the function of that name.
        let real: vk::PFN_vkGetDeviceProcAddr = unsafe { transmute(real) };
        let _ = REAL_DEVICE_PROC.set(real);
        // SAFETY: the same type, in the loader's general form.
        unsafe { transmute(device_proc as vk::PFN_vkGetDeviceProcAddr) }
    }
}

unsafe extern "system" fn device_proc(device: vk::Device, name: *const c_char) -> vk::PFN_vkVoidFunction {
    let real = REAL_DEVICE_PROC.get().expect("asked for before this function was given out");
    // SAFETY: the caller's own arguments.
    let found = unsafe { real(device, name) };
    // SAFETY: names are C strings.
    let text = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("");
    let (name, mock): (&'static str, *const c_void) = match text {
        "vkCreateShaderModule" => ("vkCreateShaderModule", create_module as _),
        "vkDestroyShaderModule" => ("vkDestroyShaderModule", destroy_module as _),
        "vkCreateDescriptorSetLayout" => ("vkCreateDescriptorSetLayout", create_set as _),
        "vkDestroyDescriptorSetLayout" => ("vkDestroyDescriptorSetLayout", destroy_set as _),
        "vkCreatePipelineLayout" => ("vkCreatePipelineLayout", create_layout as _),
        "vkDestroyPipelineLayout" => ("vkDestroyPipelineLayout", destroy_layout as _),
        "vkCreatePipelineCache" => ("vkCreatePipelineCache", create_cache as _),
        "vkDestroyPipelineCache" => ("vkDestroyPipelineCache", destroy_cache as _),
        "vkGetPipelineCacheData" => ("vkGetPipelineCacheData", cache_data as _),
        "vkCreateComputePipelines" => ("vkCreateComputePipelines", create_pipelines as _),
        "vkDestroyPipeline" => ("vkDestroyPipeline", destroy_pipeline as _),
        "vkGetDeviceQueue2" => ("vkGetDeviceQueue2", queues::get_queue as _),
        "vkQueueWaitIdle" => ("vkQueueWaitIdle", queues::wait_idle as _),
        other => match running::mock(other) {
            Some(mock) => mock,
            None => return found,
        },
    };
    let function = found?;
    let mut table = REAL_ONES.lock().unwrap_or_else(PoisonError::into_inner);
    table.get_or_insert_default().insert(name, function as usize);
    // SAFETY: the mock has the type of its name.
    unsafe { transmute(mock) }
}

/// The real properties, one of them changed.
unsafe extern "system" fn properties(
    device: vk::PhysicalDevice,
    out: *mut vk::PhysicalDeviceProperties2<'_>,
) {
    let real: vk::PFN_vkGetPhysicalDeviceProperties2 = real("vkGetPhysicalDeviceProperties2");
    // SAFETY: the caller's own arguments.
    unsafe { real(device, out) };
    let Some(name) = CHANGED.load(SeqCst).checked_sub(1).map(|index| PROPERTIES[index]) else { return };
    // SAFETY: the caller's structure, filled in.
    let first = unsafe { &mut *out };
    match name {
        "vendorID" => first.properties.vendor_id ^= 1,
        "deviceID" => first.properties.device_id ^= 1,
        "driverVersion" => first.properties.driver_version ^= 1,
        "pipelineCacheUUID" => first.properties.pipeline_cache_uuid[0] ^= 1,
        _ => {}
    }
    let mut next = first.p_next.cast::<vk::BaseOutStructure<'_>>();
    // SAFETY: a chain of structures that each begin with their type and a pointer to the next, of the caller.
    while let Some(link) = unsafe { next.as_mut() } {
        match link.s_type {
            vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES => {
                // SAFETY: the structure of that type.
                let ids = unsafe { &mut *next.cast::<vk::PhysicalDeviceVulkan11Properties<'_>>() };
                change_ids(name, &mut ids.driver_uuid, &mut ids.device_uuid);
            }
            vk::StructureType::PHYSICAL_DEVICE_ID_PROPERTIES => {
                // SAFETY: the structure of that type.
                let ids = unsafe { &mut *next.cast::<vk::PhysicalDeviceIDProperties<'_>>() };
                change_ids(name, &mut ids.driver_uuid, &mut ids.device_uuid);
            }
            vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES => {
                // SAFETY: the structure of that type.
                let driver = unsafe { &mut *next.cast::<vk::PhysicalDeviceVulkan12Properties<'_>>() };
                change_driver(name, &mut driver.driver_id, &mut driver.driver_name, &mut driver.driver_info);
            }
            vk::StructureType::PHYSICAL_DEVICE_DRIVER_PROPERTIES => {
                // SAFETY: the structure of that type.
                let driver = unsafe { &mut *next.cast::<vk::PhysicalDeviceDriverProperties<'_>>() };
                change_driver(name, &mut driver.driver_id, &mut driver.driver_name, &mut driver.driver_info);
            }
            _ => {}
        }
        next = link.p_next;
    }
}

fn change_ids(name: &str, driver: &mut [u8; 16], device: &mut [u8; 16]) {
    driver[0] ^= u8::from(name == "driverUUID");
    device[0] ^= u8::from(name == "deviceUUID");
}

fn change_driver(name: &str, id: &mut vk::DriverId, text: &mut [c_char; 256], info: &mut [c_char; 256]) {
    match name {
        "driverID" => *id = vk::DriverId::MESA_RADV,
        "driverName" => text[0] ^= 1,
        "driverInfo" => info[0] = 'x' as c_char,
        _ => {}
    }
}

/// A function that makes one handle: it fails where it is asked to, and is counted.
macro_rules! creates {
    ($name:ident, $vk:literal, $pfn:ident, $info:ty, $handle:ty) => {
        unsafe extern "system" fn $name(
            device: vk::Device,
            info: *const $info,
            allocator: *const vk::AllocationCallbacks<'_>,
            out: *mut $handle,
        ) -> vk::Result {
            if let Some(error) = fault() {
                return error;
            }
            let real: vk::$pfn = real($vk);
            // SAFETY: the caller's own arguments.
            made(unsafe { real(device, info, allocator, out) })
        }
    };
}

/// A function that destroys one handle.
macro_rules! destroys {
    ($name:ident, $vk:literal, $pfn:ident, $handle:ty) => {
        unsafe extern "system" fn $name(
            device: vk::Device,
            handle: $handle,
            allocator: *const vk::AllocationCallbacks<'_>,
        ) {
            if handle != <$handle>::null() {
                LIVE.fetch_sub(1, SeqCst);
            }
            let real: vk::$pfn = real($vk);
            // SAFETY: the caller's own arguments.
            unsafe { real(device, handle, allocator) };
        }
    };
}

creates!(
    create_set,
    "vkCreateDescriptorSetLayout",
    PFN_vkCreateDescriptorSetLayout,
    vk::DescriptorSetLayoutCreateInfo<'_>,
    vk::DescriptorSetLayout
);
creates!(
    create_layout,
    "vkCreatePipelineLayout",
    PFN_vkCreatePipelineLayout,
    vk::PipelineLayoutCreateInfo<'_>,
    vk::PipelineLayout
);
destroys!(destroy_module, "vkDestroyShaderModule", PFN_vkDestroyShaderModule, vk::ShaderModule);
destroys!(
    destroy_set,
    "vkDestroyDescriptorSetLayout",
    PFN_vkDestroyDescriptorSetLayout,
    vk::DescriptorSetLayout
);
destroys!(destroy_layout, "vkDestroyPipelineLayout", PFN_vkDestroyPipelineLayout, vk::PipelineLayout);
destroys!(destroy_cache, "vkDestroyPipelineCache", PFN_vkDestroyPipelineCache, vk::PipelineCache);
destroys!(destroy_pipeline, "vkDestroyPipeline", PFN_vkDestroyPipeline, vk::Pipeline);

/// Modules that are refused when a pipeline is made of them.
static REFUSED: Mutex<Option<HashSet<vk::ShaderModule>>> = Mutex::new(None);

unsafe extern "system" fn create_module(
    device: vk::Device,
    info: *const vk::ShaderModuleCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::ShaderModule,
) -> vk::Result {
    if let Some(error) = fault() {
        return error;
    }
    let real: vk::PFN_vkCreateShaderModule = real("vkCreateShaderModule");
    // SAFETY: the caller's own arguments.
    let result = made(unsafe { real(device, info, allocator, out) });
    // SAFETY: the caller's structure, and the words it says it has.
    let words = unsafe { std::slice::from_raw_parts((*info).p_code, (*info).code_size / 4) };
    // SAFETY: the caller's place, which was written.
    let module = unsafe { *out };
    let end = REFUSED_END.load(SeqCst);
    let mut refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
    let refused = refused.get_or_insert_default();
    // A handle may be used again.
    refused.remove(&module);
    if end != 0 && words.last() == Some(&end) {
        refused.insert(module);
    }
    result
}

unsafe extern "system" fn create_cache(
    device: vk::Device,
    info: *const vk::PipelineCacheCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::PipelineCache,
) -> vk::Result {
    if let Some(error) = fault() {
        return error;
    }
    // SAFETY: the caller's structure, and the data it says it has.
    let given = unsafe { &*info };
    if given.initial_data_size > 0 {
        // SAFETY: the same.
        let data =
            unsafe { std::slice::from_raw_parts(given.p_initial_data.cast::<u8>(), given.initial_data_size) };
        BLOBS.fetch_add(1, SeqCst);
        if data.get(32..) != Some(BODY) {
            WRONG_BLOBS.fetch_add(1, SeqCst);
        }
    }
    let empty = vk::PipelineCacheCreateInfo::default();
    let real: vk::PFN_vkCreatePipelineCache = real("vkCreatePipelineCache");
    // SAFETY: the caller's own arguments, and an empty cache.
    made(unsafe { real(device, &empty, allocator, out) })
}

unsafe extern "system" fn cache_data(
    device: vk::Device,
    cache: vk::PipelineCache,
    size: *mut usize,
    data: *mut c_void,
) -> vk::Result {
    let real: vk::PFN_vkGetPipelineCacheData = real("vkGetPipelineCacheData");
    let mode = DATA.load(SeqCst);
    if mode == REAL {
        // SAFETY: the caller's own arguments.
        return unsafe { real(device, cache, size, data) };
    }
    let mut whole = vec![0_u8; 32];
    let mut header = whole.len();
    // SAFETY: a place for a header, which is all that this driver or any other starts with.
    let _ = unsafe { real(device, cache, &mut header, whole.as_mut_ptr().cast()) };
    whole.extend_from_slice(BODY);
    // SAFETY: the caller's place for the size.
    let given = unsafe { &mut *size };
    if mode == NOTHING {
        *given = 0;
        return vk::Result::SUCCESS;
    }
    if data.is_null() {
        *given = whole.len();
        return vk::Result::SUCCESS;
    }
    let fits = (*given).min(whole.len());
    // SAFETY: the caller's place for as many bytes as it says.
    unsafe { ptr::copy_nonoverlapping(whole.as_ptr(), data.cast::<u8>(), fits) };
    *given = fits;
    if mode == GROWING || fits < whole.len() { vk::Result::INCOMPLETE } else { vk::Result::SUCCESS }
}

unsafe extern "system" fn create_pipelines(
    device: vk::Device,
    cache: vk::PipelineCache,
    count: u32,
    infos: *const vk::ComputePipelineCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::Pipeline,
) -> vk::Result {
    static INSIDE: Mutex<Option<HashSet<vk::PipelineCache>>> = Mutex::new(None);
    if let Some(error) = fault() {
        return error;
    }
    // SAFETY: the caller's structures, at least one.
    let module = unsafe { (*infos).stage.module };
    let refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
    if REFUSES.load(SeqCst) || refused.as_ref().is_some_and(|refused| refused.contains(&module)) {
        REFUSALS.fetch_add(1, SeqCst);
        return vk::Result::ERROR_INVALID_SHADER_NV;
    }
    drop(refused);
    let inside = || INSIDE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_shared = cache != vk::PipelineCache::null() && !inside().get_or_insert_default().insert(cache);
    OVERLAPS.fetch_add(u64::from(is_shared), SeqCst);
    // Time for others to come in.
    std::thread::sleep(Duration::from_millis(1));
    let real: vk::PFN_vkCreateComputePipelines = real("vkCreateComputePipelines");
    // SAFETY: the caller's own arguments.
    let result = made(unsafe { real(device, cache, count, infos, allocator, out) });
    inside().get_or_insert_default().remove(&cache);
    result
}

/// One instance for the whole process: the loader unloads a driver with its last instance, and the real functions with it.
fn instance() -> Option<Arc<Instance>> {
    static INSTANCE: OnceLock<Option<Arc<Instance>>> = OnceLock::new();
    let make = || {
        let path = if cfg!(windows) { "vulkan-1.dll" } else { "libvulkan.so.1" };
        // SAFETY: the file of that name is the Vulkan loader.
        let loader = unsafe { DynamicLibraryLoader::new(path) }.ok()?;
        let library = VulkanLibrary::with_loader(MockLoader(loader)).ok()?;
        Instance::new(library, InstanceCreateInfo::default()).ok()
    };
    INSTANCE.get_or_init(make).clone()
}

/// A device of the mock and one of its queues that can compute; `None` without a driver.
pub(crate) fn device() -> Option<(Arc<Device>, Arc<Queue>)> {
    let (device, mut queues) = device_with(1)?;
    Some((device, queues.pop()?))
}

/// A device of the mock with this many queues that can compute; `None` without a driver.
pub(crate) fn device_with(queues: u32) -> Option<(Arc<Device>, Vec<Arc<Queue>>)> {
    let instance = instance()?;
    let required = Context::required_features();
    let (physical, family) = instance
        .enumerate_physical_devices()
        .ok()?
        .filter(|physical| physical.supported_features().contains(&required))
        .find_map(|physical| {
            let families = physical.queue_family_properties();
            let compute = families.iter().position(|f| f.queue_flags.contains(QueueFlags::COMPUTE))?;
            Some((physical.clone(), compute as u32))
        })?;
    let optional = DeviceFeatures {
        buffer_device_address: true,
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
            queues: vec![0.5; queues as usize],
            ..Default::default()
        }],
        enabled_features,
        enabled_extensions,
        ..DeviceCreateInfo::default()
    };
    let (device, queues) = Device::new(physical, info).ok()?;
    Some((device, queues.collect()))
}
