//! Several hardware queues where the driver has one: each hands on what it was given in its own time, once what it waits
//! for is reached. Work that is not asked to wait for another queue overtakes it.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use ash::vk::{self, Handle};

use super::real;

/// Queues of the family that the mock has.
pub(crate) const QUEUES: u32 = 4;

/// Makes queues deaf to what they are asked to wait for, to see that this would be noticed.
pub(crate) static DEAF: AtomicBool = AtomicBool::new(false);
/// Jobs that had to wait for another queue.
pub(crate) static WAITED: AtomicU64 = AtomicU64::new(0);

/// What a queue was given.
struct Job {
    commands: Vec<vk::CommandBuffer>,
    waits: Vec<(vk::Semaphore, u64)>,
    signals: Vec<(vk::Semaphore, u64)>,
}

/// A queue that is none of the driver's.
struct Worker {
    device: vk::Device,
    /// Jobs given and not handed on.
    pending: Mutex<Vec<Job>>,
    changed: Condvar,
    /// Whether it is busy with one.
    busy: AtomicBool,
}

/// Devices that were asked for several queues.
static DEVICES: Mutex<Option<HashSet<u64>>> = Mutex::new(None);
/// The queues of those devices, by their made-up handles.
static WORKERS: Mutex<Option<HashMap<u64, &'static Worker>>> = Mutex::new(None);
/// The one queue of the driver takes one submission at a time.
static ONE: Mutex<()> = Mutex::new(());

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) unsafe extern "system" fn families(
    device: vk::PhysicalDevice,
    count: *mut u32,
    out: *mut vk::QueueFamilyProperties2<'_>,
) {
    let real: vk::PFN_vkGetPhysicalDeviceQueueFamilyProperties2 =
        real("vkGetPhysicalDeviceQueueFamilyProperties2");
    // SAFETY: the caller's own arguments.
    unsafe { real(device, count, out) };
    if !out.is_null() {
        // SAFETY: as many structures as the call says that it filled in.
        let families = unsafe { std::slice::from_raw_parts_mut(out, *count as usize) };
        families.iter_mut().for_each(|family| family.queue_family_properties.queue_count = QUEUES);
    }
}

pub(super) unsafe extern "system" fn create_device(
    physical: vk::PhysicalDevice,
    info: *const vk::DeviceCreateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    out: *mut vk::Device,
) -> vk::Result {
    let create: vk::PFN_vkCreateDevice = real("vkCreateDevice");
    // SAFETY: the caller's structure and its list.
    let mut info = unsafe { *info };
    // SAFETY: the same.
    let given = unsafe {
        std::slice::from_raw_parts(info.p_queue_create_infos, info.queue_create_info_count as usize)
    };
    let has_several = given.iter().any(|queues| queues.queue_count > 1);
    let fewer: Vec<_> =
        given.iter().map(|queues| vk::DeviceQueueCreateInfo { queue_count: 1, ..*queues }).collect();
    info.p_queue_create_infos = fewer.as_ptr();
    // SAFETY: the caller's own arguments, with one queue of each family.
    let result = unsafe { create(physical, &info, callbacks, out) };
    if result == vk::Result::SUCCESS {
        // SAFETY: it was just made.
        let device = unsafe { (*out).as_raw() };
        let mut devices = locked(&DEVICES);
        let devices = devices.get_or_insert_default();
        // A handle may be that of a device that is gone.
        devices.remove(&device);
        if has_several {
            devices.insert(device);
        }
    }
    result
}

pub(super) unsafe extern "system" fn get_queue(
    device: vk::Device,
    info: *const vk::DeviceQueueInfo2<'_>,
    out: *mut vk::Queue,
) {
    let get: vk::PFN_vkGetDeviceQueue2 = real("vkGetDeviceQueue2");
    // SAFETY: the caller's structure.
    let given = unsafe { *info };
    let index = given.queue_index;
    let first = vk::DeviceQueueInfo2 { queue_index: 0, ..given };
    // SAFETY: the caller's own arguments; the device has one queue.
    unsafe { get(device, &first, out) };
    if !locked(&DEVICES).as_ref().is_some_and(|devices| devices.contains(&device.as_raw())) {
        return;
    }
    // SAFETY: the caller's place, filled in.
    let the_one = unsafe { *out };
    let worker: &'static Worker = Box::leak(Box::new(Worker {
        device,
        pending: Mutex::default(),
        changed: Condvar::new(),
        busy: AtomicBool::new(false),
    }));
    let seed = u64::from(index);
    thread::spawn(move || worker.run(the_one, seed));
    let handle = std::ptr::from_ref(worker).addr() as u64;
    locked(&WORKERS).get_or_insert_default().insert(handle, worker);
    // SAFETY: the caller's place.
    unsafe { *out = vk::Queue::from_raw(handle) };
}

impl Worker {
    /// Hands on jobs in their order, each when it may start. Goes on as long as the process.
    fn run(&self, the_one: vk::Queue, seed: u64) {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        loop {
            let job = {
                let mut pending = locked(&self.pending);
                while pending.is_empty() {
                    pending = self.changed.wait(pending).unwrap_or_else(PoisonError::into_inner);
                }
                self.busy.store(true, SeqCst);
                pending.remove(0)
            };
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            thread::sleep(Duration::from_micros((random >> 33) % 400));
            if !job.waits.is_empty() && !DEAF.load(SeqCst) {
                WAITED.fetch_add(1, SeqCst);
                self.wait(&job.waits);
            }
            self.submit(the_one, &job);
            self.busy.store(false, SeqCst);
            self.changed.notify_all();
        }
    }

    fn wait(&self, waits: &[(vk::Semaphore, u64)]) {
        let (semaphores, values): (Vec<_>, Vec<_>) = waits.iter().copied().unzip();
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        let wait: vk::PFN_vkWaitSemaphores = real("vkWaitSemaphores");
        // SAFETY: the engine keeps the semaphores until the job is done.
        let result = unsafe { wait(self.device, &info, 60_000_000_000) };
        assert_eq!(result, vk::Result::SUCCESS, "a queue waits for what never comes");
    }

    fn submit(&self, the_one: vk::Queue, job: &Job) {
        let info = |&(semaphore, value): &(vk::Semaphore, u64)| {
            let stage = vk::PipelineStageFlags2::ALL_COMMANDS;
            vk::SemaphoreSubmitInfo::default().semaphore(semaphore).value(value).stage_mask(stage)
        };
        let signals: Vec<_> = job.signals.iter().map(info).collect();
        let buffer = |&commands| vk::CommandBufferSubmitInfo::default().command_buffer(commands);
        let commands: Vec<_> = job.commands.iter().map(buffer).collect();
        let submits =
            [vk::SubmitInfo2::default().command_buffer_infos(&commands).signal_semaphore_infos(&signals)];
        let submit: vk::PFN_vkQueueSubmit2 = real("vkQueueSubmit2");
        let _one = locked(&ONE);
        // SAFETY: the engine keeps what it submitted until the job is done; one thread at a time uses the queue.
        let result = unsafe { submit(the_one, 1, submits.as_ptr(), vk::Fence::null()) };
        assert_eq!(result, vk::Result::SUCCESS);
    }

    fn drain(&self) {
        let mut pending = locked(&self.pending);
        while !pending.is_empty() || self.busy.load(SeqCst) {
            pending = self
                .changed
                .wait_timeout(pending, Duration::from_millis(10))
                .map_or_else(|poisoned| poisoned.into_inner().0, |(pending, _)| pending);
        }
    }
}

fn worker(queue: vk::Queue) -> Option<&'static Worker> {
    locked(&WORKERS).as_ref()?.get(&queue.as_raw()).copied()
}

/// Gives a made-up queue what it was given. Nothing for a queue of the driver's.
pub(super) unsafe fn take(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::SubmitInfo2<'_>,
) -> Option<vk::Result> {
    /// A list of the caller's.
    unsafe fn list<'a, T>(start: *const T, count: u32) -> &'a [T] {
        // SAFETY: as many as the caller says, if any.
        if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(start, count as usize) } }
    }
    let worker = worker(queue)?;
    // SAFETY: the caller's structures.
    for info in unsafe { list(infos, count) } {
        let semaphores = |list: &[vk::SemaphoreSubmitInfo<'_>]| {
            list.iter().map(|one| (one.semaphore, one.value)).collect::<Vec<_>>()
        };
        // SAFETY: the caller's lists.
        let job = unsafe {
            Job {
                commands: list(info.p_command_buffer_infos, info.command_buffer_info_count)
                    .iter()
                    .map(|one| one.command_buffer)
                    .collect(),
                waits: semaphores(list(info.p_wait_semaphore_infos, info.wait_semaphore_info_count)),
                signals: semaphores(list(info.p_signal_semaphore_infos, info.signal_semaphore_info_count)),
            }
        };
        locked(&worker.pending).push(job);
    }
    worker.changed.notify_all();
    Some(vk::Result::SUCCESS)
}

pub(super) unsafe extern "system" fn wait_idle(queue: vk::Queue) -> vk::Result {
    if let Some(worker) = worker(queue) {
        worker.drain();
        return vk::Result::SUCCESS;
    }
    let wait: vk::PFN_vkQueueWaitIdle = real("vkQueueWaitIdle");
    // SAFETY: the caller's own argument.
    unsafe { wait(queue) }
}
