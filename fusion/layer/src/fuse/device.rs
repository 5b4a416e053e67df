//! The engine over the program's device.
//!
//! The engine needs timeline semaphores and `vkCmdPipelineBarrier2`: where the device has them, and the program did not ask for
//! them, instance and device are made with them. That changes nothing for who does not use them.
//!
//! # Safety
//! Structures are those that a program passes to Vulkan, valid as the specification says.
#![allow(unsafe_op_in_unsafe_fn)]

use super::builder::Builder;
use super::chains::Chain;
use super::kept::Kept;
use super::lists::Lists;
use super::trials::Trials;
use super::worth::Account;
use crate::chain::{self, Instance, chained, device_of};
use crate::descriptors::slice;
use crate::sink::lock;
use ash::vk::{self, Handle};
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Instant;
use vkfuse::{Buffer, Context, ContextOptions, QueueLock, RawDevice, RawHandles};

/// The version of Vulkan that instances are made with at least.
const VERSION: u32 = vk::API_VERSION_1_3;

/// Extensions of devices whose commands are all followed, or have no effect outside of what is not fused.
static EXTENSIONS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("extensions.txt").lines().collect());

/// What fuses on a device.
pub(crate) struct Fuser {
    raw: RawDevice,
    robust: bool,
    /// Made when it is first needed.
    context: Mutex<Option<Result<Context, String>>>,
    pub(super) lists: Lists,
    pub(super) builder: Builder,
    pub(super) trials: Trials,
    pub(super) account: Mutex<Account>,
    /// Nanoseconds of a tick of timestamps, for each family; 0 where it has none.
    pub(super) periods: Vec<f32>,
    /// The program's buffers as the engine has them: the number of the buffer, where in it, how many bytes.
    pub(super) imports: Mutex<HashMap<(u64, u64, u64), Buffer<u8>>>,
    /// Command buffers that may stand for something again.
    pub(super) kept: Kept,
    /// Command buffers with nothing in them, each with a pool of its own, by family.
    pub(super) idle: Mutex<Vec<(u32, vk::CommandPool, vk::CommandBuffer)>>,
}

/// Nothing of the engine's reaches a queue: it plans, builds and records. What it ran besides would do the program's work a second time.
struct Silent;

impl QueueLock for Silent {
    fn locked(&self, _: &mut dyn FnMut()) {}
}

/// The program's application, of a version that has what is needed.
pub(crate) fn raised<'a>(asked: Option<&vk::ApplicationInfo<'a>>) -> vk::ApplicationInfo<'a> {
    let mut own = asked.copied().unwrap_or_default();
    own.api_version = own.api_version.max(VERSION);
    own
}

/// How a device is made so that something can be fused on it.
pub(crate) struct Prepared {
    info: vk::DeviceCreateInfo<'static>,
    family: u32,
    periods: Vec<f32>,
    /// What `info` points to.
    _chain: Chain,
}

impl Prepared {
    pub(crate) fn info(&self) -> &vk::DeviceCreateInfo<'static> {
        &self.info
    }
}

/// The function of an instance, in the next layer.
unsafe fn function<T: Copy>(instance: &Instance, name: &CStr) -> Option<T> {
    let found = (instance.instance_proc)(instance.handle, name.as_ptr())?;
    Some(std::mem::transmute_copy::<unsafe extern "system" fn(), T>(&found))
}

/// Adds to what the program asks for, or says why nothing can be fused.
pub(crate) unsafe fn prepared(
    instance: &Instance,
    physical: vk::PhysicalDevice,
    info: &vk::DeviceCreateInfo<'_>,
) -> Result<Prepared, String> {
    let missing = |what: &str| format!("the device has no {what}");
    let properties: vk::PFN_vkGetPhysicalDeviceProperties =
        function(instance, c"vkGetPhysicalDeviceProperties").ok_or_else(|| missing("properties"))?;
    let features: vk::PFN_vkGetPhysicalDeviceFeatures2 =
        function(instance, c"vkGetPhysicalDeviceFeatures2").ok_or_else(|| missing("features"))?;
    let families: vk::PFN_vkGetPhysicalDeviceQueueFamilyProperties =
        function(instance, c"vkGetPhysicalDeviceQueueFamilyProperties").ok_or_else(|| missing("queues"))?;
    let mut of_device = vk::PhysicalDeviceProperties::default();
    properties(physical, &mut of_device);
    if of_device.api_version < VERSION || instance.api < VERSION {
        return Err("Vulkan is older than 1.3".to_owned());
    }
    for name in slice(info.pp_enabled_extension_names, info.enabled_extension_count) {
        let name = CStr::from_ptr(*name).to_string_lossy();
        if !EXTENSIONS.contains(&*name) {
            return Err(format!("the device is made with {name}"));
        }
    }
    if chained::<vk::BaseInStructure<'_>>(info.p_next, vk::StructureType::DEVICE_GROUP_DEVICE_CREATE_INFO)
        .is_some_and(|group| (*group.cast::<vk::DeviceGroupDeviceCreateInfo<'_>>()).physical_device_count > 1)
    {
        return Err("the device is a group of several".to_owned());
    }
    let mut newest = vk::PhysicalDeviceVulkan13Features::default();
    let mut newer =
        vk::PhysicalDeviceVulkan12Features { p_next: (&raw mut newest).cast(), ..Default::default() };
    let mut all = vk::PhysicalDeviceFeatures2::default().push_next(&mut newer);
    features(physical, &mut all);
    if newer.timeline_semaphore != vk::TRUE || newest.synchronization2 != vk::TRUE {
        return Err(missing("timeline semaphores, or no barriers of Vulkan 1.3"));
    }
    let mut count = 0;
    families(physical, &mut count, std::ptr::null_mut());
    let mut found = vec![vk::QueueFamilyProperties::default(); count as usize];
    families(physical, &mut count, found.as_mut_ptr());
    let queues = slice(info.p_queue_create_infos, info.queue_create_info_count);
    let computes = |one: &&vk::DeviceQueueCreateInfo<'_>| {
        let family = found.get(one.queue_family_index as usize);
        one.flags.is_empty()
            && family.is_some_and(|family| family.queue_flags.contains(vk::QueueFlags::COMPUTE))
    };
    let family = queues.iter().find(computes).ok_or("the device is made without a queue that computes")?;
    let chain = Chain::with_needed(info.p_next)?;
    let mut own = *info;
    own.p_next = chain.first();
    // What it points to is the program's, and used while the program's call lasts.
    let info = std::mem::transmute::<vk::DeviceCreateInfo<'_>, vk::DeviceCreateInfo<'static>>(own);
    let period = |one: &vk::QueueFamilyProperties| match one.timestamp_valid_bits {
        0 => 0.0,
        _ => of_device.limits.timestamp_period,
    };
    let periods = found.iter().map(period).collect();
    Ok(Prepared { info, family: family.queue_family_index, periods, _chain: chain })
}

impl Fuser {
    /// Of a device that was made with what was prepared.
    pub(crate) unsafe fn new(
        instance: &Instance,
        physical: vk::PhysicalDevice,
        device: vk::Device,
        with: &Prepared,
        asked: *const c_void,
    ) -> Result<Fuser, String> {
        let info = with.info();
        let more =
            chained::<vk::PhysicalDeviceFeatures2<'_>>(asked, vk::StructureType::PHYSICAL_DEVICE_FEATURES_2);
        let core = info.p_enabled_features.as_ref().copied();
        let core = core.or_else(|| more.map(|more| (*more).features)).unwrap_or_default();
        let newer = chained::<vk::PhysicalDeviceRobustness2FeaturesEXT<'_>>(
            asked,
            vk::StructureType::PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT,
        );
        let is_newer = newer.is_some_and(|newer| (*newer).robust_buffer_access2 == vk::TRUE);
        let handles = RawHandles {
            get_instance_proc_addr: instance_proc,
            api_version: instance.api,
            instance: instance.handle,
            physical_device: physical,
            device,
            create_info: info,
        };
        // SAFETY: the program's handles live until `device_gone`, which drops all that is made over them; the engine never uses the queue.
        let raw = RawDevice::new(&handles).queue_with_lock(with.family, 0, Arc::new(Silent));
        Ok(Fuser {
            raw,
            robust: core.robust_buffer_access == vk::TRUE || is_newer,
            context: Mutex::default(),
            lists: Lists::default(),
            builder: Builder::default(),
            trials: Trials::default(),
            account: Mutex::new(Account::new(Instant::now())),
            periods: with.periods.clone(),
            imports: Mutex::default(),
            kept: Kept::default(),
            idle: Mutex::default(),
        })
    }

    /// Whether accesses out of range are defined on the device.
    pub(super) fn is_robust(&self) -> bool {
        self.robust
    }

    /// The engine, or why there is none.
    pub(super) fn context(&self) -> Result<Context, String> {
        let mut context = lock(&self.context);
        let made = context.get_or_insert_with(|| {
            let options = ContextOptions::from_env().autotune(false).robust_buffer_access(self.robust);
            Context::from_raw(&self.raw, options).map_err(|error| error.to_string())
        });
        made.clone()
    }

    /// The engine, if it was made, without waiting for that.
    pub(super) fn made(&self) -> Option<Result<Context, String>> {
        self.context.try_lock().ok().and_then(|context| context.clone())
    }

    /// Lets go of all that was made over the device.
    pub(super) fn end(&self) {
        self.lists.clear();
        let gone = lock(&self.context).replace(Err("the device is no more".to_owned()));
        drop(gone);
    }
}

/// `vkGetInstanceProcAddr` for the engine: what comes after this layer.
unsafe extern "system" fn instance_proc(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    use chain::void;
    match CStr::from_ptr(name).to_bytes() {
        b"vkGetInstanceProcAddr" => return void!(instance_proc, vk::PFN_vkGetInstanceProcAddr),
        b"vkGetDeviceProcAddr" => return void!(device_proc, vk::PFN_vkGetDeviceProcAddr),
        b"vkEnumerateInstanceVersion" => return void!(version, vk::PFN_vkEnumerateInstanceVersion),
        b"vkEnumerateInstanceExtensionProperties" => {
            return void!(no_extensions, vk::PFN_vkEnumerateInstanceExtensionProperties);
        }
        b"vkEnumerateInstanceLayerProperties" => {
            return void!(no_layers, vk::PFN_vkEnumerateInstanceLayerProperties);
        }
        b"vkCreateInstance" => return void!(no_instance, vk::PFN_vkCreateInstance),
        _ if instance.is_null() => return None,
        _ => {}
    }
    let known = chain::instance_of(instance)?;
    (known.instance_proc)(known.handle, name)
}

unsafe extern "system" fn device_proc(device: vk::Device, name: *const c_char) -> vk::PFN_vkVoidFunction {
    use chain::void;
    match CStr::from_ptr(name).to_bytes() {
        // What has a handle that the loader has to know.
        b"vkAllocateCommandBuffers" => void!(command_buffers, vk::PFN_vkAllocateCommandBuffers),
        b"vkGetDeviceQueue" => void!(queue, vk::PFN_vkGetDeviceQueue),
        b"vkGetDeviceQueue2" => void!(queue2, vk::PFN_vkGetDeviceQueue2),
        _ => (device_of(device)?.device_proc)(device, name),
    }
}

unsafe extern "system" fn version(version: *mut u32) -> vk::Result {
    *version = VERSION;
    vk::Result::SUCCESS
}

unsafe extern "system" fn no_extensions(
    _: *const c_char,
    count: *mut u32,
    _: *mut vk::ExtensionProperties,
) -> vk::Result {
    *count = 0;
    vk::Result::SUCCESS
}

unsafe extern "system" fn no_layers(count: *mut u32, _: *mut vk::LayerProperties) -> vk::Result {
    *count = 0;
    vk::Result::SUCCESS
}

unsafe extern "system" fn no_instance(
    _: *const vk::InstanceCreateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    _: *mut vk::Instance,
) -> vk::Result {
    vk::Result::ERROR_INITIALIZATION_FAILED
}

unsafe extern "system" fn command_buffers(
    device: vk::Device,
    info: *const vk::CommandBufferAllocateInfo<'_>,
    buffers: *mut vk::CommandBuffer,
) -> vk::Result {
    let failed = vk::Result::ERROR_INITIALIZATION_FAILED;
    let Some(known) = device_of(device) else { return failed };
    let Some(next) = known.next.allocate_command_buffers else { return failed };
    let result = next(device, info, buffers);
    if result == vk::Result::SUCCESS {
        for buffer in slice(buffers.cast_const(), (*info).command_buffer_count) {
            known.adopt(*buffer);
        }
    }
    result
}

unsafe extern "system" fn queue(device: vk::Device, family: u32, index: u32, queue: *mut vk::Queue) {
    let Some(known) = device_of(device) else { return };
    if let Some(next) = known.next.get_device_queue {
        next(device, family, index, queue);
        if !(*queue).is_null() {
            known.adopt(*queue);
        }
    }
}

unsafe extern "system" fn queue2(
    device: vk::Device,
    info: *const vk::DeviceQueueInfo2<'_>,
    queue: *mut vk::Queue,
) {
    let Some(known) = device_of(device) else { return };
    if let Some(next) = known.next.get_device_queue2 {
        next(device, info, queue);
        if !(*queue).is_null() {
            known.adopt(*queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_named_once_and_in_order() {
        let lines: Vec<&str> = include_str!("extensions.txt").lines().collect();
        assert!(lines.is_sorted_by(|a, b| a < b));
        // Commands of these would be lost, and what the last one writes into sets would not be seen.
        for name in [
            "VK_AMD_buffer_marker",
            "VK_NV_device_generated_commands",
            "VK_KHR_video_queue",
            "VK_VALVE_descriptor_set_host_mapping",
        ] {
            assert!(!EXTENSIONS.contains(name));
        }
        // What ncnn and ggml switch on where a driver has it.
        for name in [
            "VK_EXT_descriptor_indexing",
            "VK_EXT_memory_budget",
            "VK_EXT_robustness2",
            "VK_KHR_cooperative_matrix",
            "VK_KHR_push_descriptor",
            "VK_KHR_shader_bfloat16",
            "VK_NV_cooperative_matrix2",
            "VK_NV_cooperative_vector",
        ] {
            assert!(EXTENSIONS.contains(name), "{name}");
        }
    }

    #[test]
    fn a_newer_version_of_the_program_stays() {
        let newer = vk::make_api_version(0, 1, 4, 0);
        assert_eq!(raised(None).api_version, VERSION);
        assert_eq!(raised(Some(&vk::ApplicationInfo::default().api_version(newer))).api_version, newer);
    }
}
