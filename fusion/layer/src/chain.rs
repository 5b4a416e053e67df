//! The loader's side: how a layer is asked for, what instances and devices it knows, and what comes after it.
//!
//! # Safety
//! The functions here are called by the loader, or through it, as the specification of the calls of their names says.
#![allow(unsafe_op_in_unsafe_fn)]

use crate::fuse::{
    self,
    device::{self, Fuser},
};
use crate::gate::Gate;
use crate::hooks::{self, Next};
use crate::objects::Objects;
use crate::recording::CommandBuffer;
use crate::role;
use crate::sink::{self, lock, noted};
use crate::trace::{Contents, Event};
use ash::vk::{self, Handle};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};
use std::time::Instant;

type GetInstanceProcAddr = vk::PFN_vkGetInstanceProcAddr;
type GetDeviceProcAddr = vk::PFN_vkGetDeviceProcAddr;
type SetLoaderData = unsafe extern "system" fn(vk::Device, *mut c_void) -> vk::Result;

/// `VkNegotiateLayerInterface` of `vk_layer.h`.
#[repr(C)]
#[derive(Debug)]
pub struct Negotiation {
    kind: c_int,
    next: *mut c_void,
    version: u32,
    instance_proc: Option<GetInstanceProcAddr>,
    device_proc: Option<GetDeviceProcAddr>,
    physical_device_proc: *const c_void,
}

/// The beginning of `VkLayerInstanceCreateInfo` and of `VkLayerDeviceCreateInfo`.
#[repr(C)]
struct LoaderInfo {
    kind: vk::StructureType,
    next: *const c_void,
    function: c_int,
    content: *mut c_void,
}

/// `VkLayerInstanceLink`.
#[repr(C)]
struct InstanceLink {
    next: *mut InstanceLink,
    instance_proc: GetInstanceProcAddr,
}

/// `VkLayerDeviceLink`.
#[repr(C)]
struct DeviceLink {
    next: *mut DeviceLink,
    instance_proc: GetInstanceProcAddr,
    device_proc: GetDeviceProcAddr,
}

/// Bytes of a structure of the loader's.
pub(crate) const LOADER_INFO: usize = size_of::<LoaderInfo>();

const LINK: c_int = 0;
const DATA_CALLBACK: c_int = 1;

/// A structure of the loader in a chain.
unsafe fn loader_info(
    mut chain: *const c_void,
    kind: vk::StructureType,
    function: c_int,
) -> Option<*mut LoaderInfo> {
    while !chain.is_null() {
        let info = chain.cast::<LoaderInfo>().cast_mut();
        if (*info).kind == kind && (*info).function == function {
            return Some(info);
        }
        chain = (*info).next;
    }
    None
}

/// A structure of a kind in a chain.
pub(crate) unsafe fn chained<T>(chain: *const c_void, kind: vk::StructureType) -> Option<*const T> {
    let mut at = chain.cast::<vk::BaseInStructure<'_>>();
    while !at.is_null() {
        if (*at).s_type == kind {
            return Some(at.cast());
        }
        at = (*at).p_next;
    }
    None
}

/// What the loader and layers find the table of an instance, or of a device, by.
unsafe fn key(dispatchable: u64) -> usize {
    *(dispatchable as *const usize)
}

/// An instance of the program, with functions of the next layer. They are asked for when it is made: later the loader
/// answers with those of its first layer.
pub(crate) struct Instance {
    pub(crate) handle: vk::Instance,
    /// The version that it was made with.
    pub(crate) api: u32,
    pub(crate) instance_proc: GetInstanceProcAddr,
    destroy: Option<vk::PFN_vkDestroyInstance>,
    memory: Option<vk::PFN_vkGetPhysicalDeviceMemoryProperties>,
    properties: Option<vk::PFN_vkGetPhysicalDeviceProperties>,
}

/// A device of the program.
pub(crate) struct Device {
    /// The functions of the next layer that are intercepted.
    pub(crate) next: &'static Next,
    /// Whether its calls are followed.
    pub(crate) gate: &'static Gate,
    /// The functions of the next layer that the layer calls for itself.
    pub(crate) own: ash::Device,
    pub(crate) device_proc: GetDeviceProcAddr,
    set_loader_data: Option<SetLoaderData>,
    /// What fuses on it, or why nothing does.
    pub(crate) fuser: Result<Fuser, String>,
    /// What its handles stand for.
    pub(crate) objects: Mutex<Objects>,
    /// The family and the number of each queue.
    pub(crate) queues: Mutex<HashMap<vk::Queue, (u32, u64)>>,
    pub(crate) memory: vk::PhysicalDeviceMemoryProperties,
    /// Contents on their way to the host.
    pub(crate) pending: Mutex<Vec<crate::contents::Pending>>,
}

impl Device {
    /// Has the loader fill in a handle that did not come through it: a command buffer or a queue.
    pub(crate) unsafe fn adopt<T: Handle>(&self, dispatchable: T) -> Option<()> {
        let set = self.set_loader_data?;
        set(self.own.handle(), dispatchable.as_raw() as *mut c_void).result().ok()
    }
}

#[derive(Default)]
struct Known {
    instances: HashMap<usize, Arc<Instance>>,
    devices: HashMap<usize, Arc<Device>>,
    buffers: HashMap<vk::CommandBuffer, Arc<CommandBuffer>>,
}

static KNOWN: LazyLock<RwLock<Known>> = LazyLock::new(|| RwLock::new(Known::default()));

fn known<T>(ask: impl FnOnce(&Known) -> T) -> T {
    ask(&KNOWN.read().unwrap_or_else(PoisonError::into_inner))
}

fn change<T>(with: impl FnOnce(&mut Known) -> T) -> T {
    with(&mut KNOWN.write().unwrap_or_else(PoisonError::into_inner))
}

/// The device that a device, a queue or a command buffer is of.
pub(crate) unsafe fn device_of<T: Handle>(dispatchable: T) -> Option<Arc<Device>> {
    let key = key(dispatchable.as_raw());
    known(|known| known.devices.get(&key).cloned())
}

/// Rises where a handle comes to stand for another command buffer, or for none.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// The command buffer that a thread asked for last, and at which change.
type Latest = (u64, vk::CommandBuffer, Option<Arc<CommandBuffer>>);

thread_local!(static LATEST: RefCell<Latest> = const { RefCell::new((0, vk::CommandBuffer::null(), None)) });

/// What is known of a command buffer.
pub(crate) fn command_buffer(handle: vk::CommandBuffer) -> Option<Arc<CommandBuffer>> {
    let changes = CHANGES.load(Ordering::Acquire);
    let latest = LATEST.try_with(|latest| {
        let latest = latest.try_borrow().ok()?;
        if (latest.0, latest.1) == (changes, handle) { latest.2.clone() } else { None }
    });
    if let Ok(Some(latest)) = latest {
        return Some(latest);
    }
    let found = known(|known| known.buffers.get(&handle).cloned());
    // What was there before is dropped when nothing is borrowed.
    let _before = LATEST.try_with(|latest| {
        let latest = latest.try_borrow_mut().ok();
        latest.map(|mut latest| std::mem::replace(&mut *latest, (changes, handle, found.clone())))
    });
    found
}

/// Every command whose number is a multiple of this is timed: loops of programs rarely have this period.
const SAMPLE: u32 = 37;

thread_local!(static COMMANDS: Cell<u32> = const { Cell::new(0) });

/// Does what follows a call on a command buffer, and notes how long that takes.
pub(crate) fn follow(handle: vk::CommandBuffer, work: impl FnOnce(&CommandBuffer)) {
    let count = COMMANDS.try_with(|count| count.replace(count.get().wrapping_add(1))).unwrap_or(1);
    let start = (count.is_multiple_of(SAMPLE) && role::fuses()).then(Instant::now);
    let work = |buffer: &CommandBuffer| {
        work(buffer);
        if let Some(start) = start {
            lock(&buffer.recording).spent += start.elapsed() * SAMPLE;
        }
    };
    let mut work = Some(work);
    let changes = CHANGES.load(Ordering::Acquire);
    let _ = LATEST.try_with(|latest| {
        if let Ok(latest) = latest.try_borrow()
            && (latest.0, latest.1) == (changes, handle)
            && let (Some(buffer), Some(work)) = (&latest.2, work.take())
        {
            work(buffer);
        }
    });
    if let Some(work) = work
        && let Some(buffer) = command_buffer(handle)
    {
        work(&buffer);
    }
}

pub(crate) fn add_command_buffers(buffers: impl Iterator<Item = (vk::CommandBuffer, Arc<CommandBuffer>)>) {
    change(|known| known.buffers.extend(buffers));
    CHANGES.fetch_add(1, Ordering::Release);
}

/// Forgets command buffers.
pub(crate) fn drop_command_buffers(is_gone: impl Fn(vk::CommandBuffer, &CommandBuffer) -> bool) {
    let gone: Vec<_> = change(|known| {
        known
            .buffers
            .extract_if(|handle, buffer| is_gone(*handle, buffer))
            .map(|(_, buffer)| buffer)
            .collect()
    });
    gone.iter().for_each(|buffer| buffer.clear());
}

/// All devices.
pub(crate) fn devices() -> Vec<Arc<Device>> {
    known(|known| known.devices.values().cloned().collect())
}

/// The instance with a handle.
pub(crate) unsafe fn instance_of(handle: vk::Instance) -> Option<Arc<Instance>> {
    let key = key(handle.as_raw());
    known(|known| known.instances.get(&key).cloned())
}

/// Answers the loader.
///
/// # Safety
/// Called by the loader, with a structure of its own.
pub(crate) unsafe fn negotiate(asked: *mut Negotiation) -> vk::Result {
    let Some(asked) = asked.as_mut() else { return vk::Result::ERROR_INITIALIZATION_FAILED };
    if asked.version < 2 {
        return vk::Result::ERROR_INITIALIZATION_FAILED;
    }
    asked.version = 2;
    asked.instance_proc = Some(get_instance_proc_addr);
    asked.device_proc = Some(get_device_proc_addr);
    asked.physical_device_proc = std::ptr::null();
    vk::Result::SUCCESS
}

/// A function as the loader returns it.
macro_rules! void {
    ($function:expr, $kind:ty) => {{
        let function: $kind = $function;
        // SAFETY: the caller casts it back by the name that it asked for.
        Some(unsafe { std::mem::transmute::<$kind, unsafe extern "system" fn()>(function) })
    }};
}
pub(crate) use void;

unsafe extern "system" fn get_instance_proc_addr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    match CStr::from_ptr(name).to_bytes() {
        b"vkGetInstanceProcAddr" => return void!(get_instance_proc_addr, GetInstanceProcAddr),
        b"vkGetDeviceProcAddr" => return void!(get_device_proc_addr, GetDeviceProcAddr),
        b"vkCreateInstance" => return void!(create_instance, vk::PFN_vkCreateInstance),
        b"vkDestroyInstance" => return void!(destroy_instance, vk::PFN_vkDestroyInstance),
        b"vkCreateDevice" => return void!(create_device, vk::PFN_vkCreateDevice),
        _ if instance.is_null() => return None,
        _ => {}
    }
    let key = key(instance.as_raw());
    let known = known(|known| known.instances.get(&key).cloned())?;
    let next = (known.instance_proc)(known.handle, name)?;
    hooks::hook(CStr::from_ptr(name)).or(Some(next))
}

unsafe extern "system" fn get_device_proc_addr(
    device: vk::Device,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    let known = device_of(device)?;
    if CStr::from_ptr(name).to_bytes() == b"vkGetDeviceProcAddr" {
        return void!(get_device_proc_addr, GetDeviceProcAddr);
    }
    let next = (known.device_proc)(device, name)?;
    hooks::hook(CStr::from_ptr(name)).or(Some(next))
}

/// A function of the next layer.
unsafe fn of_instance<T: Copy>(get: GetInstanceProcAddr, instance: vk::Instance, name: &CStr) -> Option<T> {
    let found = get(instance, name.as_ptr())?;
    Some(std::mem::transmute_copy::<unsafe extern "system" fn(), T>(&found))
}

unsafe extern "system" fn create_instance(
    info: *const vk::InstanceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    instance: *mut vk::Instance,
) -> vk::Result {
    let failed = vk::Result::ERROR_INITIALIZATION_FAILED;
    let Some(link) = loader_info((*info).p_next, vk::StructureType::LOADER_INSTANCE_CREATE_INFO, LINK) else {
        return failed;
    };
    let own = (*link).content.cast::<InstanceLink>();
    let next = (*own).instance_proc;
    (*link).content = (*own).next.cast();
    let create = of_instance::<vk::PFN_vkCreateInstance>(next, vk::Instance::null(), c"vkCreateInstance");
    let Some(create) = create else { return failed };
    let mut raised = None;
    if role::fuses() {
        let of_program = (*info).p_application_info.as_ref();
        let own = device::raised(of_program);
        let changed = vk::InstanceCreateInfo { p_application_info: &own, ..*info };
        let content = (*link).content;
        if create(&changed, allocator, instance) == vk::Result::SUCCESS {
            raised = Some(own.api_version);
        } else {
            // The next layer has taken its link.
            (*link).content = content;
        }
    }
    if raised.is_none() {
        let result = create(info, allocator, instance);
        if result != vk::Result::SUCCESS {
            return result;
        }
    }
    let result = vk::Result::SUCCESS;
    let handle = *instance;
    let asked = (*info).p_application_info.as_ref().map_or(vk::API_VERSION_1_0, |app| app.api_version);
    let made = Instance {
        handle,
        api: raised.unwrap_or(asked),
        instance_proc: next,
        destroy: of_instance(next, handle, c"vkDestroyInstance"),
        memory: of_instance(next, handle, c"vkGetPhysicalDeviceMemoryProperties"),
        properties: of_instance(next, handle, c"vkGetPhysicalDeviceProperties"),
    };
    change(|known| known.instances.insert(key(handle.as_raw()), Arc::new(made)));
    noted("vkCreateInstance", || {
        let application = (*info).p_application_info.as_ref();
        let text = |at: *const c_char| {
            if at.is_null() { String::new() } else { CStr::from_ptr(at).to_string_lossy().into_owned() }
        };
        let api = application.map_or(vk::API_VERSION_1_0, |application| application.api_version);
        sink::emit(&Event::Instance {
            application: application.map(|it| text(it.p_application_name)).unwrap_or_default(),
            engine: application.map(|it| text(it.p_engine_name)).unwrap_or_default(),
            api: format!("{}.{}", vk::api_version_major(api), vk::api_version_minor(api)),
        });
        sink::flush();
    });
    result
}

unsafe extern "system" fn destroy_instance(
    instance: vk::Instance,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    if instance.is_null() {
        return;
    }
    let key = key(instance.as_raw());
    let Some(known) = change(|known| known.instances.remove(&key)) else { return };
    if let Some(destroy) = known.destroy {
        destroy(instance, allocator);
    }
    noted("vkDestroyInstance", sink::flush);
}

unsafe extern "system" fn create_device(
    physical: vk::PhysicalDevice,
    info: *const vk::DeviceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    device: *mut vk::Device,
) -> vk::Result {
    let failed = vk::Result::ERROR_INITIALIZATION_FAILED;
    let kind = vk::StructureType::LOADER_DEVICE_CREATE_INFO;
    let Some(link) = loader_info((*info).p_next, kind, LINK) else { return failed };
    let own = (*link).content.cast::<DeviceLink>();
    let (instance_proc, device_proc) = ((*own).instance_proc, (*own).device_proc);
    (*link).content = (*own).next.cast();
    let instance_key = key(physical.as_raw());
    let Some(instance) = known(|known| known.instances.get(&instance_key).cloned()) else { return failed };
    let create = of_instance::<vk::PFN_vkCreateDevice>(instance_proc, instance.handle, c"vkCreateDevice");
    let (memory, properties) = (instance.memory, instance.properties);
    let (Some(create), Some(get_memory), Some(get_properties)) = (create, memory, properties) else {
        return failed;
    };
    // With what fusing needs, where the device has it; otherwise as the program asks.
    let mut with = match role::fuses() {
        true => noted("vkCreateDevice", || Some(device::prepared(&instance, physical, &*info))),
        false => None,
    };
    let content = (*link).content;
    let mut result = vk::Result::ERROR_UNKNOWN;
    if let Some(Ok(with)) = &with {
        result = create(physical, with.info(), allocator, device);
        if result != vk::Result::SUCCESS {
            (*link).content = content;
        }
    }
    if result != vk::Result::SUCCESS {
        if matches!(with, Some(Ok(_))) {
            with = Some(Err("the device cannot be made with what fusing needs".to_owned()));
        }
        result = create(physical, info, allocator, device);
    }
    if result != vk::Result::SUCCESS {
        return result;
    }
    let handle = *device;
    let fuser = match with {
        Some(Ok(with)) => {
            noted("vkCreateDevice", || Some(Fuser::new(&instance, physical, handle, &with, (*info).p_next)))
                .unwrap_or(Err("the layer failed".to_owned()))
        }
        Some(Err(why)) => Err(why),
        None => Err(String::new()),
    };
    let mut memory = vk::PhysicalDeviceMemoryProperties::default();
    get_memory(physical, &mut memory);
    let load = |name: &CStr| {
        device_proc(handle, name.as_ptr()).map_or(std::ptr::null(), |found| found as *const c_void)
    };
    let callback = loader_info((*info).p_next, kind, DATA_CALLBACK);
    let set_loader_data = callback.and_then(|callback| {
        // `content` is the function itself.
        std::mem::transmute::<*mut c_void, Option<SetLoaderData>>((*callback).content)
    });
    let gate = Gate::new(key(handle.as_raw()), Next::load(load));
    if role::fuses() && fuser.is_err() {
        gate.close();
    }
    let known = Arc::new(Device {
        next: &gate.next,
        gate,
        own: ash::Device::load_with(load, handle),
        device_proc,
        set_loader_data,
        fuser,
        objects: Mutex::default(),
        queues: Mutex::default(),
        memory,
        pending: Mutex::default(),
    });
    change(|all| all.devices.insert(key(handle.as_raw()), known));
    if role::fuses() {
        return result;
    }
    noted("vkCreateDevice", || {
        let mut properties = vk::PhysicalDeviceProperties::default();
        get_properties(physical, &mut properties);
        let name = properties.device_name_as_c_str().unwrap_or_default().to_string_lossy().into_owned();
        let count = (*info).enabled_extension_count as usize;
        let names = (0..count).map(|index| *(*info).pp_enabled_extension_names.add(index));
        let extensions = names.map(|name| CStr::from_ptr(name).to_string_lossy().into_owned()).collect();
        let robustness = chained::<vk::PhysicalDeviceRobustness2FeaturesEXT<'_>>(
            (*info).p_next,
            vk::StructureType::PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT,
        );
        let robust = robustness.is_some_and(|features| (*features).robust_buffer_access2 == vk::TRUE);
        sink::emit(&Event::Device { name, extensions, robust });
    });
    result
}

/// `vkDestroyDevice`, which is called on a device.
pub(crate) unsafe extern "system" fn destroy_device(
    device: vk::Device,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    if device.is_null() {
        return;
    }
    let Some(known) = device_of(device) else { return };
    noted("vkDestroyDevice", || {
        crate::contents::finish(&known, true);
        fuse::device_gone(&known);
    });
    let key = key(device.as_raw());
    let gone = change(|all| {
        all.devices.remove(&key);
        let gone = all.buffers.extract_if(|_, buffer| Arc::ptr_eq(&buffer.device, &known));
        gone.collect::<Vec<_>>()
    });
    CHANGES.fetch_add(1, Ordering::Release);
    known.gate.end();
    drop(gone);
    if let Some(next) = known.next.destroy_device {
        next(device, allocator);
    }
    noted("vkDestroyDevice", sink::flush);
}

/// Whether contents of buffers are asked for.
pub(crate) fn takes_contents() -> bool {
    sink::contents() != Contents::None && !sink::is_stopped()
}

/// The number of a queue, and its family where that is known.
pub(crate) fn queue(device: &Device, queue: vk::Queue) -> (Option<u32>, u64) {
    lock(&device.queues).get(&queue).map_or((None, 0), |(family, number)| (Some(*family), *number))
}
