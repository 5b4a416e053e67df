//! A device of the user's by its handles, and its queues.
//!
//! vulkano has no borrowed devices: its objects destroy what they are made from. So it loads its functions through
//! [`loader`], which has other ones for the calls that would destroy something of the user's.

use std::{any::Any, fmt, sync::Arc};

use ash::vk::{self, Handle};
use smallvec::SmallVec;
use vulkano::{
    Version, VulkanLibrary, VulkanObject,
    device::{
        Device, DeviceCreateInfo, DeviceExtensions, DeviceFeatures, Queue, QueueCreateInfo, QueueFlags,
    },
    instance::{Instance, InstanceCreateInfo},
};

use crate::vk::{DeviceError, Gpu, chain, gpu::How, instance::Messages, newer::NewerFeatures};

mod loader;

/// The handles of a Vulkan device, as the program has them.
#[derive(Clone, Copy)]
pub struct RawHandles<'a> {
    /// The loader's function: `entry.static_fn().get_instance_proc_addr` of an `ash::Entry`, `vkGetInstanceProcAddr` in C.
    pub get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
    /// `VkApplicationInfo::apiVersion` that the instance was made with.
    pub api_version: u32,
    /// The instance.
    pub instance: vk::Instance,
    /// The physical device.
    pub physical_device: vk::PhysicalDevice,
    /// The device.
    pub device: vk::Device,
    /// What the device was made with: its queues, extensions, and features with the chain of structures that has them.
    pub create_info: &'a vk::DeviceCreateInfo<'a>,
}

impl fmt::Debug for RawHandles<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawHandles").field("instance", &self.instance).field("device", &self.device).finish()
    }
}

/// A Vulkan device of the user's by its handles, with the user's word that they are what they are said to be.
///
/// Nothing of it is ever destroyed by this crate, and no one waits for its queues.
#[derive(Debug, Clone)]
pub struct RawDevice {
    get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
    api_version: u32,
    instance: vk::Instance,
    physical_device: vk::PhysicalDevice,
    device: vk::Device,
    /// Families with the number of their queues, and whether they were made with flags.
    families: SmallVec<[(u32, u32, bool); 4]>,
    extensions: Vec<String>,
    features: DeviceFeatures,
    newer: NewerFeatures,
    queues: Vec<RawQueue>,
    kept: Option<Kept>,
}

/// What lives as long as something that was made over a device or a buffer of the user's.
#[derive(Clone)]
pub(in crate::vk) struct Kept(
    #[allow(dead_code, reason = "is only dropped")] pub(in crate::vk) Arc<dyn Any + Send + Sync>,
);

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}

/// A queue to use.
#[derive(Debug, Clone)]
struct RawQueue {
    family: u32,
    index: u32,
    lock: Option<Arc<dyn QueueLock>>,
}

/// Keeps two threads from using one Vulkan queue at the same time, which Vulkan forbids.
pub trait QueueLock: Send + Sync {
    /// Calls `submit` once, while no one else uses the queue. If it is not called, nothing is submitted, and the submission fails.
    fn locked(&self, submit: &mut dyn FnMut());
}

impl QueueLock for std::sync::Mutex<()> {
    fn locked(&self, submit: &mut dyn FnMut()) {
        let _alone = self.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        submit();
    }
}

impl fmt::Debug for dyn QueueLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QueueLock")
    }
}

impl RawDevice {
    /// Vouches for the handles of a device. The queues to use are named with [`queue`](RawDevice::queue).
    ///
    /// # Safety
    ///
    /// - The handles that are not null are valid, each made from the one before it, and the device was made with a
    ///   `VkDeviceCreateInfo` equal to `create_info`, whose pointers can be followed now. They are not kept.
    /// - Instance and device live until every context over them, and everything made by it, is gone.
    /// - While a call of this crate may submit, no one else uses the queues that it was given: any submission, copy,
    ///   transfer, wait, or the drop of a queue, list or context may. A [`QueueLock`] that the program holds for its own
    ///   uses of the queue satisfies this.
    #[must_use]
    pub unsafe fn new(handles: &RawHandles<'_>) -> RawDevice {
        let RawHandles {
            get_instance_proc_addr,
            api_version,
            instance,
            physical_device,
            device,
            create_info,
        } = *handles;
        // SAFETY: the pointers of `create_info` can be followed (the caller's promise).
        let (families, extensions) =
            unsafe { (chain::families(create_info), chain::extensions(create_info)) };
        // SAFETY: so can those of its chain.
        let (features, newer) = unsafe { chain::features(create_info, &extensions) };
        RawDevice {
            get_instance_proc_addr,
            api_version,
            instance,
            physical_device,
            device,
            families,
            extensions,
            features,
            newer,
            queues: Vec::new(),
            kept: None,
        }
    }

    /// Keeps something of the program's until everything that is made over the device is gone: who has the device in an object
    /// that destroys it need not wait.
    #[must_use]
    pub fn keeping(mut self, kept: Arc<dyn Any + Send + Sync>) -> RawDevice {
        self.kept = Some(Kept(kept));
        self
    }

    /// Also uses this queue, by its family and its number in it. No one else may use it meanwhile: see
    /// [`new`](RawDevice::new).
    #[must_use]
    pub fn queue(mut self, family: u32, index: u32) -> RawDevice {
        self.queues.push(RawQueue { family, index, lock: None });
        self
    }

    /// As [`queue`](RawDevice::queue), one that is only used under a lock.
    #[must_use]
    pub fn queue_with_lock(mut self, family: u32, index: u32, lock: Arc<dyn QueueLock>) -> RawDevice {
        self.queues.push(RawQueue { family, index, lock: Some(lock) });
        self
    }

    fn check_queue(&self, queue: &RawQueue, device: &Device) -> Result<(), DeviceError> {
        let wrong = |problem| DeviceError::Queue { family: queue.family, index: queue.index, problem };
        let families = device.physical_device().queue_family_properties();
        let Some((_, count, flags)) = self.families.iter().find(|(family, ..)| *family == queue.family)
        else {
            return Err(wrong("is of a family that the device was made without queues of"));
        };
        if queue.index >= *count {
            return Err(wrong("is not one that the device was made with"));
        }
        if *flags {
            return Err(wrong("was made with flags"));
        }
        let can = families.get(queue.family as usize).map(|family| family.queue_flags);
        if !can.is_some_and(|can| can.intersects(QueueFlags::COMPUTE)) {
            return Err(wrong("is of a family that cannot compute"));
        }
        Ok(())
    }
}

/// A queue with the lock of its user.
pub(in crate::vk) type LockedQueue = (Arc<Queue>, Option<Arc<dyn QueueLock>>);

impl Gpu {
    /// Works over a device by its handles. Fails by name on what it was made without.
    pub(crate) fn over_raw(raw: &RawDevice) -> Result<Gpu, DeviceError> {
        let null = |what| Err(DeviceError::NullHandle { what });
        if raw.instance.is_null() {
            return null("instance");
        }
        if raw.physical_device.is_null() {
            return null("physical device");
        }
        if raw.device.is_null() {
            return null("device");
        }
        // A function that is missing ends the program when it is called.
        for name in [c"vkEnumeratePhysicalDevices", c"vkGetPhysicalDeviceProperties2", c"vkGetDeviceProcAddr"]
        {
            // SAFETY: a function of the loader or of one with its contract, and a valid instance (`RawDevice::new`).
            let found = unsafe { (raw.get_instance_proc_addr)(raw.instance, name.as_ptr()) };
            if found.is_none() {
                let name = name.to_str().unwrap_or("a function");
                return Err(DeviceError::call(name, &"`get_instance_proc_addr` has no such function"));
            }
        }
        let library =
            VulkanLibrary::with_loader(loader::Borrowed::new(raw.get_instance_proc_addr, raw.kept.clone()))
                .map_err(|e| DeviceError::NoLoader { reason: e.to_string() })?;
        let info = InstanceCreateInfo {
            // Zero is how Vulkan 1.0 was asked for before there was another.
            max_api_version: Some(Version::from(raw.api_version).max(Version::V1_0)),
            ..InstanceCreateInfo::default()
        };
        // SAFETY: the handle is valid and outlives what is made here (`RawDevice::new`), and is not destroyed, because
        // the loader has another function for that. The extensions of an instance are not used.
        let instance = unsafe { Instance::from_handle(library, raw.instance, info) };
        if instance.api_version() < Version::V1_1 {
            let (device, found) = ("the device".to_owned(), instance.api_version().to_string());
            return Err(DeviceError::OldVersion { device, found, needed: "1.2" });
        }
        let mut all = instance
            .enumerate_physical_devices()
            .map_err(|e| DeviceError::call("vkEnumeratePhysicalDevices", &e))?
            .enumerate();
        let (index, physical) = all
            .find(|(_, physical)| physical.handle() == raw.physical_device)
            .ok_or(DeviceError::Foreign { what: "physical device" })?;
        crate::vk::gpu::check_version(&physical)?;
        let queue_create_infos = raw.families.iter().map(|(family, count, _)| QueueCreateInfo {
            queue_family_index: *family,
            queues: vec![0.5; *count as usize],
            ..QueueCreateInfo::default()
        });
        let info = DeviceCreateInfo {
            queue_create_infos: queue_create_infos.collect(),
            enabled_extensions: raw.extensions.iter().map(String::as_str).collect::<DeviceExtensions>(),
            enabled_features: raw.features,
            ..DeviceCreateInfo::default()
        };
        let functions = loader::DeviceFunctions::of(&instance, raw.get_instance_proc_addr)?;
        // SAFETY: as for the instance; the create info has what the device was made with as far as it is used.
        let (device, all) = functions.during(|| unsafe { Device::from_handle(physical, raw.device, info) });
        for queue in &raw.queues {
            raw.check_queue(queue, &device)?;
        }
        let mut queues: Vec<LockedQueue> = Vec::new();
        // Those of a family with flags are left alone: such a queue cannot be asked for without them.
        let places = raw
            .families
            .iter()
            .flat_map(|(family, count, flags)| (0..*count).map(move |index| (*family, index, *flags)));
        let mut all = all;
        for (family, index, flags) in places {
            if flags {
                // The rest are behind it, and only asked for as the iterator comes to them.
                break;
            }
            let Some(queue) = all.next() else { break };
            let wanted = raw.queues.iter().find(|one| (one.family, one.index) == (family, index));
            queues.extend(wanted.map(|wanted| (queue, wanted.lock.clone())));
        }
        Gpu::assemble((device, &raw.newer), queues, index, Messages::default(), How::default())
    }
}
