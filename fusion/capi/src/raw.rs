//! What a program lends: its device, buffers and semaphores.

use std::{
    ffi::{c_char, c_void},
    sync::Arc,
};

use ash::vk;
use vkfuse::{QueueLock, RawBuffer, RawDevice, RawHandles, RawSemaphore, UserBuffer};

use crate::{
    argument::{several, structure},
    result::{Failure, VkfuseResult},
};

/// `vkGetInstanceProcAddr`.
pub type VkfuseGetInstanceProcAddr =
    Option<unsafe extern "C" fn(instance: vk::Instance, name: *const c_char) -> vk::PFN_vkVoidFunction>;

/// Locks or unlocks a queue.
pub type VkfuseLockFunction = Option<unsafe extern "C" fn(user: *mut c_void)>;

/// A queue that vkfuse may use.
///
/// Vulkan forbids that two threads use a queue at the same time. Either the program does not use it while a call of vkfuse may
/// submit, or it uses it under a lock: `lock` and `unlock` are called around each submission, from any thread that
/// calls vkfuse. Both are null, or neither.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkfuseRawQueue {
    /// The queue's family.
    pub family: u32,
    /// Its number in the family.
    pub index: u32,
    /// Takes the lock.
    pub lock: VkfuseLockFunction,
    /// Gives it back.
    pub unlock: VkfuseLockFunction,
    /// What both are called with.
    pub user: *mut c_void,
}

/// A device of the program's own.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkfuseRawDevice {
    /// The loader's function.
    pub get_instance_proc_addr: VkfuseGetInstanceProcAddr,
    /// `VkApplicationInfo::apiVersion` that the instance was made with.
    pub api_version: u32,
    /// The instance.
    pub instance: vk::Instance,
    /// The physical device.
    pub physical_device: vk::PhysicalDevice,
    /// The device.
    pub device: vk::Device,
    /// What the device was made with, its chain of features included. It is not kept.
    pub create_info: *const vk::DeviceCreateInfo<'static>,
    /// The queues to use.
    pub queues: *const VkfuseRawQueue,
    /// How many there are; at least 1.
    pub queue_count: u32,
}

/// A part of a buffer of the program's own. It needs the usages `STORAGE_BUFFER`, `TRANSFER_SRC` and `TRANSFER_DST`, and lives
/// until the buffers made from it, and the work on them, are gone.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkfuseRawBuffer {
    /// The buffer.
    pub buffer: vk::Buffer,
    /// `VkBufferCreateInfo::usage` that it was made with.
    pub usage: vk::BufferUsageFlags,
    /// Where the part starts, in bytes.
    pub offset: u64,
    /// How many bytes it has.
    pub size: u64,
    /// The memory that the buffer is bound to, where other buffers given to vkfuse may be bound to the same bytes; or null.
    pub memory: vk::DeviceMemory,
    /// The offset in that.
    pub memory_offset: u64,
}

/// A semaphore of the program's own. Its signal is pending, or comes later for timelines, where it is waited for.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkfuseRawSemaphore {
    /// The semaphore.
    pub semaphore: vk::Semaphore,
    /// Of a timeline semaphore.
    pub value: u64,
    /// Whether it is one.
    pub is_timeline: u32,
}

/// The program's lock.
struct Lock {
    lock: unsafe extern "C" fn(*mut c_void),
    unlock: unsafe extern "C" fn(*mut c_void),
    user: *mut c_void,
}

// SAFETY: the program promises that both functions may be called from any thread (`VkfuseRawQueue`).
unsafe impl Send for Lock {}
// SAFETY: as above.
unsafe impl Sync for Lock {}

impl QueueLock for Lock {
    fn locked(&self, submit: &mut dyn FnMut()) {
        // SAFETY: the program's functions and what they are to be called with.
        unsafe { (self.lock)(self.user) };
        submit();
        // SAFETY: the same; the lock is held.
        unsafe { (self.unlock)(self.user) };
    }
}

impl VkfuseRawDevice {
    /// The device as vkfuse takes it.
    ///
    /// # Safety
    ///
    /// The pointers are null, misaligned, or to what the header says, and what it says of the handles is so.
    pub(crate) unsafe fn device(&self) -> Result<RawDevice, Failure> {
        let get = self
            .get_instance_proc_addr
            .ok_or_else(|| Failure::new(VkfuseResult::NullPointer, "`get_instance_proc_addr` is null"))?;
        // SAFETY: the caller's promise.
        let create_info = unsafe { structure("create_info", self.create_info)? };
        // SAFETY: the caller's promise.
        let queues = unsafe { several("queues", self.queues, self.queue_count as usize)? };
        // SAFETY: on the platforms of this library, Vulkan's functions have C's calling convention.
        let get = unsafe {
            std::mem::transmute::<
                unsafe extern "C" fn(vk::Instance, *const c_char) -> vk::PFN_vkVoidFunction,
                vk::PFN_vkGetInstanceProcAddr,
            >(get)
        };
        let handles = RawHandles {
            get_instance_proc_addr: get,
            api_version: self.api_version,
            instance: self.instance,
            physical_device: self.physical_device,
            device: self.device,
            create_info,
        };
        // SAFETY: the caller's promise.
        let mut device = unsafe { RawDevice::new(&handles) };
        for VkfuseRawQueue { family, index, lock, unlock, user } in queues.iter().copied() {
            device = match (lock, unlock) {
                (None, None) => device.queue(family, index),
                (Some(lock), Some(unlock)) => {
                    device.queue_with_lock(family, index, Arc::new(Lock { lock, unlock, user }))
                }
                _ => {
                    let problem = "of `lock` and `unlock` one is null and the other is not";
                    return Err(Failure::new(VkfuseResult::InvalidArgument, problem));
                }
            };
        }
        Ok(device)
    }
}

impl VkfuseRawBuffer {
    /// The buffer as vkfuse takes it.
    ///
    /// # Safety
    ///
    /// What the header says is so.
    pub(crate) unsafe fn buffer(&self) -> UserBuffer {
        let VkfuseRawBuffer { buffer, usage, offset, size, memory, memory_offset } = *self;
        let memory = (memory != vk::DeviceMemory::null()).then_some((memory, memory_offset));
        // SAFETY: the caller's promise.
        unsafe { UserBuffer::from_raw(&RawBuffer { buffer, usage, offset, size, memory }) }
    }
}

impl VkfuseRawSemaphore {
    /// The semaphore as vkfuse takes it.
    ///
    /// # Safety
    ///
    /// What the header says is so.
    pub(crate) unsafe fn semaphore(&self) -> RawSemaphore {
        // SAFETY: the caller's promise.
        unsafe {
            if self.is_timeline != 0 {
                RawSemaphore::timeline(self.semaphore, self.value)
            } else {
                RawSemaphore::binary(self.semaphore)
            }
        }
    }
}
