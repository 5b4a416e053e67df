//! The calls that run work, and allocate what it needs: each fails where it is asked to.

use std::{
    ffi::c_void,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicI32, AtomicU64, Ordering::SeqCst},
    },
};

use ash::vk;

use super::real;

/// Calls since the last reset.
static CALLS: AtomicU64 = AtomicU64::new(0);
static FROM: AtomicU64 = AtomicU64::new(0);
static COUNT: AtomicU64 = AtomicU64::new(0);
static WITH: AtomicI32 = AtomicI32::new(0);
/// Buffers of this size are never made; 0 for none.
static NO_BUFFER_OF: AtomicU64 = AtomicU64::new(0);
/// The calls that failed since the last reset.
static FAILED: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// Makes calls fail, from the `from`-th on, this many.
pub(crate) fn fail(from: u64, count: u64, with: vk::Result) {
    FROM.store(0, SeqCst);
    CALLS.store(0, SeqCst);
    WITH.store(with.as_raw(), SeqCst);
    COUNT.store(count, SeqCst);
    FROM.store(from, SeqCst);
    FAILED.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// Makes every attempt to make a buffer of this many bytes fail.
pub(crate) fn no_buffer_of(bytes: u64) {
    NO_BUFFER_OF.store(bytes, SeqCst);
}

/// The calls that were made to fail.
pub(crate) fn failed() -> Vec<&'static str> {
    FAILED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The calls that say that the device is lost; the others go on as if it were there.
const SEES_LOSS: [&str; 3] = ["vkQueueSubmit2", "vkWaitSemaphores", "vkGetSemaphoreCounterValue"];

fn fault(name: &'static str) -> Option<vk::Result> {
    let call = CALLS.fetch_add(1, SeqCst) + 1;
    let from = FROM.load(SeqCst);
    let is_lost = WITH.load(SeqCst) == vk::Result::ERROR_DEVICE_LOST.as_raw();
    let says_so = !is_lost || SEES_LOSS.contains(&name);
    let fails = from != 0 && call >= from && call - from < COUNT.load(SeqCst);
    (fails && says_so).then(|| {
        FAILED.lock().unwrap_or_else(PoisonError::into_inner).push(name);
        vk::Result::from_raw(WITH.load(SeqCst))
    })
}

/// Functions that fail where they are asked to, and a table of them.
macro_rules! functions {
    ($($name:ident = $vk:literal as $pfn:ident ($($arg:ident: $ty:ty),*);)+) => {
        $(unsafe extern "system" fn $name($($arg: $ty),*) -> vk::Result {
            if let Some(error) = fault($vk) {
                return error;
            }
            let real: vk::$pfn = real($vk);
            // SAFETY: the caller's own arguments.
            unsafe { real($($arg),*) }
        })+

        /// The function that stands in for the one of a name.
        pub(super) fn mock(name: &str) -> Option<(&'static str, *const c_void)> {
            match name {
                "vkCreateBuffer" => Some(("vkCreateBuffer", create_buffer as _)),
                // One function by two names.
                "vkQueueSubmit2" | "vkQueueSubmit2KHR" => Some(("vkQueueSubmit2", submit as _)),
                $($vk => Some(($vk, $name as _)),)+
                _ => None,
            }
        }
    };
}

type Callbacks = *const vk::AllocationCallbacks<'static>;

functions! {
    allocate = "vkAllocateMemory" as PFN_vkAllocateMemory(
        device: vk::Device, info: *const vk::MemoryAllocateInfo<'_>, callbacks: Callbacks,
        out: *mut vk::DeviceMemory);
    map = "vkMapMemory" as PFN_vkMapMemory(
        device: vk::Device, memory: vk::DeviceMemory, offset: u64, size: u64, flags: vk::MemoryMapFlags,
        out: *mut *mut c_void);
    bind = "vkBindBufferMemory2" as PFN_vkBindBufferMemory2(
        device: vk::Device, count: u32, infos: *const vk::BindBufferMemoryInfo<'_>);
    command_pool = "vkCreateCommandPool" as PFN_vkCreateCommandPool(
        device: vk::Device, info: *const vk::CommandPoolCreateInfo<'_>, callbacks: Callbacks,
        out: *mut vk::CommandPool);
    reset_commands = "vkResetCommandPool" as PFN_vkResetCommandPool(
        device: vk::Device, pool: vk::CommandPool, flags: vk::CommandPoolResetFlags);
    commands = "vkAllocateCommandBuffers" as PFN_vkAllocateCommandBuffers(
        device: vk::Device, info: *const vk::CommandBufferAllocateInfo<'_>, out: *mut vk::CommandBuffer);
    begin = "vkBeginCommandBuffer" as PFN_vkBeginCommandBuffer(
        commands: vk::CommandBuffer, info: *const vk::CommandBufferBeginInfo<'_>);
    end = "vkEndCommandBuffer" as PFN_vkEndCommandBuffer(commands: vk::CommandBuffer);
    set_pool = "vkCreateDescriptorPool" as PFN_vkCreateDescriptorPool(
        device: vk::Device, info: *const vk::DescriptorPoolCreateInfo<'_>, callbacks: Callbacks,
        out: *mut vk::DescriptorPool);
    sets = "vkAllocateDescriptorSets" as PFN_vkAllocateDescriptorSets(
        device: vk::Device, info: *const vk::DescriptorSetAllocateInfo<'_>, out: *mut vk::DescriptorSet);
    query_pool = "vkCreateQueryPool" as PFN_vkCreateQueryPool(
        device: vk::Device, info: *const vk::QueryPoolCreateInfo<'_>, callbacks: Callbacks,
        out: *mut vk::QueryPool);
    wait = "vkWaitSemaphores" as PFN_vkWaitSemaphores(
        device: vk::Device, info: *const vk::SemaphoreWaitInfo<'_>, timeout: u64);
    counter = "vkGetSemaphoreCounterValue" as PFN_vkGetSemaphoreCounterValue(
        device: vk::Device, semaphore: vk::Semaphore, out: *mut u64);
}

unsafe extern "system" fn create_buffer(
    device: vk::Device,
    info: *const vk::BufferCreateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::Buffer,
) -> vk::Result {
    // SAFETY: the caller's structure.
    let size = unsafe { (*info).size };
    if size == NO_BUFFER_OF.load(SeqCst) {
        return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
    }
    if let Some(error) = fault("vkCreateBuffer") {
        return error;
    }
    let real: vk::PFN_vkCreateBuffer = real("vkCreateBuffer");
    // SAFETY: the caller's own arguments.
    unsafe { real(device, info, callbacks, out) }
}

unsafe extern "system" fn submit(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::SubmitInfo2<'_>,
    fence: vk::Fence,
) -> vk::Result {
    if let Some(error) = fault("vkQueueSubmit2") {
        return error;
    }
    // SAFETY: the caller's own arguments.
    if let Some(result) = unsafe { super::queues::take(queue, count, infos) } {
        return result;
    }
    let real: vk::PFN_vkQueueSubmit2 = real("vkQueueSubmit2");
    // SAFETY: the same.
    unsafe { real(queue, count, infos, fence) }
}
