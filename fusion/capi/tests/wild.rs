//! Null and wild arguments, as far as they can be detected: an error with a message, and never the end of the process.

// The interface is C's.
#![allow(unsafe_code)]

mod support;

use std::{ffi::c_void, mem::MaybeUninit, ptr};

use ash::vk;
use support::{message, open};
use vkfuse_c::*;

/// A small generator of numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A number that is small, at an edge, or anything.
    fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => self.below(8),
            1 => u64::MAX - self.below(3),
            2 => 1 << self.below(64),
            _ => self.next(),
        }
    }

    /// A handle that is null, wild, one of those that exist, or one of another kind.
    fn handle(&mut self, known: &[u64]) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => self.next(),
            2 => self.below(100),
            _ if known.is_empty() => 0,
            _ => known[self.below(known.len() as u64) as usize],
        }
    }

    /// Null sometimes, misaligned sometimes, and otherwise as it is.
    fn pointer<T>(&mut self, pointer: *const T) -> *const T {
        match self.below(12) {
            0 => ptr::null(),
            1 if align_of::<T>() > 1 => pointer.cast::<u8>().wrapping_add(1).cast(),
            _ => pointer,
        }
    }

    fn place<T>(&mut self, place: &mut T) -> *mut T {
        self.pointer(ptr::from_mut(place)).cast_mut()
    }
}

const FILL: &str = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < arrayLength(&x)) { x[id.x] = x[id.x] * 3u + id.x; }
}\0";

/// Every handle that was ever given out, by kind; some are destroyed meanwhile.
#[derive(Default)]
struct World {
    contexts: Vec<u64>,
    queues: Vec<u64>,
    kernels: Vec<u64>,
    buffers: Vec<u64>,
    events: Vec<u64>,
    lists: Vec<u64>,
}

fn keep(known: &mut Vec<u64>, result: VkfuseResult, id: u64) {
    if result == VkfuseResult::Ok && id != 0 {
        known.push(id);
    }
}

fn step(random: &mut Random, world: &mut World) -> VkfuseResult {
    let context = VkfuseContext { id: random.handle(&world.contexts) };
    let queue = VkfuseQueue { id: random.handle(&world.queues) };
    let kernel = VkfuseKernel { id: random.handle(&world.kernels) };
    let buffer = VkfuseBuffer { id: random.handle(&world.buffers) };
    let event = VkfuseEvent { id: random.handle(&world.events) };
    let list = VkfuseList { id: random.handle(&world.lists) };
    let mut new_buffer = VkfuseBuffer { id: 0 };
    let mut new_event = VkfuseEvent { id: 0 };
    let mut new_list = VkfuseList { id: 0 };
    let mut bytes = [0_u8; 64];
    let size = random.number();
    let few = size.min(64);
    // SAFETY: pointers are null, misaligned, or to what the header says; sizes are those of what they are to, where anything is.
    unsafe {
        match random.below(22) {
            0 => {
                let place = random.place(&mut new_buffer);
                // Not so much that the machine has no memory left.
                let size = if size > 1 << 40 { size } else { size % (1 << 16) };
                let result = vkfuse_buffer_create(context, size, place);
                keep(&mut world.buffers, result, new_buffer.id);
                result
            }
            1 => {
                let result = vkfuse_buffer_scratch(context, 256, random.place(&mut new_buffer));
                keep(&mut world.buffers, result, new_buffer.id);
                result
            }
            2 => {
                let from = random.pointer(bytes.as_ptr().cast::<c_void>());
                vkfuse_buffer_upload(buffer, random.number(), from, few)
            }
            3 => {
                let to = random.pointer(bytes.as_mut_ptr().cast::<c_void>().cast_const()).cast_mut();
                vkfuse_buffer_download(buffer, random.number(), to, few)
            }
            4 => vkfuse_buffer_set_promotion(buffer, random.number() as u32),
            5 => vkfuse_buffer_set_name(buffer, random.pointer(c"a name".as_ptr())),
            6..=8 => {
                let arguments = [VkfuseArgument {
                    set: random.below(2) as u32,
                    binding: random.below(2) as u32,
                    buffer,
                    offset: if random.below(2) == 0 { 0 } else { random.number() },
                    size: if random.below(2) == 0 { 0 } else { random.number() },
                    access: random.below(4) as u32,
                }];
                let after = [event];
                let constants = [VkfuseConstant { id: random.below(3) as u32, bits: random.number() }];
                let submission = VkfuseSubmission {
                    kernel,
                    arguments: random.pointer(arguments.as_ptr()),
                    argument_count: random.below(2) as u32,
                    push: random.pointer(bytes.as_ptr().cast::<c_void>()),
                    push_size: [0, 0, 4, 64][random.below(4) as usize],
                    size: [0, 1, 2].map(|_| [1, 1, 1, 0, 70_000][random.below(5) as usize]),
                    is_items: random.below(2) as u32,
                    after: random.pointer(after.as_ptr()),
                    after_count: u32::from(random.below(4) == 0),
                    constants: random.pointer(constants.as_ptr()),
                    constant_count: u32::from(random.below(4) == 0),
                };
                let result =
                    vkfuse_queue_submit(queue, random.pointer(&submission), random.place(&mut new_event));
                keep(&mut world.events, result, new_event.id);
                result
            }
            9 => vkfuse_queue_start_fusion(queue),
            10 => {
                let result = vkfuse_queue_complete_fusion(queue, ptr::null(), random.place(&mut new_event));
                keep(&mut world.events, result, new_event.id);
                result
            }
            11 => {
                let result = vkfuse_queue_complete_and_keep(
                    queue,
                    ptr::null(),
                    ptr::null_mut(),
                    random.place(&mut new_list),
                );
                keep(&mut world.lists, result, new_list.id);
                result
            }
            12 => vkfuse_queue_cancel_fusion(queue),
            13 => vkfuse_event_wait(event, [0, 1, u64::MAX][random.below(3) as usize]),
            14 => {
                let mut outcome = MaybeUninit::<VkfuseOutcome>::uninit();
                let place = random.pointer(outcome.as_mut_ptr().cast_const()).cast_mut();
                vkfuse_event_outcome(event, place)
            }
            15 => {
                let to =
                    random.pointer(bytes.as_mut_ptr().cast_const().cast::<std::ffi::c_char>()).cast_mut();
                vkfuse_event_outcome_text(event, to, few as usize)
            }
            16 => {
                let result = vkfuse_list_run(list, random.place(&mut new_event));
                keep(&mut world.events, result, new_event.id);
                result
            }
            17 => {
                let others = [VkfuseBuffer { id: random.handle(&world.buffers) }];
                let size = random.number() as u32 % 9;
                let submission = random.number() as u32 % 3;
                let push = VkfusePush { submission, bytes: random.pointer(bytes.as_ptr()).cast(), size };
                let changes = VkfuseChanges {
                    of: random.pointer(&buffer),
                    with: random.pointer(others.as_ptr()),
                    buffer_count: 1,
                    pushes: random.pointer(&push),
                    push_count: few as u32 % 2,
                };
                let changes = random.pointer(&changes);
                if few > 1 {
                    let result = vkfuse_list_run_with(list, changes, random.place(&mut new_event));
                    keep(&mut world.events, result, new_event.id);
                    result
                } else {
                    let result = vkfuse_list_rebind(list, changes, random.place(&mut new_list));
                    keep(&mut world.lists, result, new_list.id);
                    result
                }
            }
            18 => {
                let into = VkfuseRecording {
                    command_buffer: vk::CommandBuffer::null(),
                    before_stages: vk::PipelineStageFlags2::empty(),
                    before_accesses: vk::AccessFlags2::empty(),
                    after_stages: vk::PipelineStageFlags2::empty(),
                    after_accesses: vk::AccessFlags2::empty(),
                };
                let mut recorded = VkfuseRecorded { id: 0 };
                let result = vkfuse_list_record(list, random.pointer(&into), random.place(&mut recorded));
                assert_ne!(result, VkfuseResult::Ok, "a null command buffer");
                result
            }
            19 => {
                let semaphore =
                    VkfuseRawSemaphore { semaphore: vk::Semaphore::null(), value: size, is_timeline: 1 };
                vkfuse_queue_wait_semaphore(queue, random.pointer(&semaphore))
            }
            20 => {
                let raw = VkfuseRawBuffer {
                    buffer: vk::Buffer::null(),
                    usage: vk::BufferUsageFlags::from_raw(size as u32),
                    offset: size,
                    size: random.number(),
                    memory: vk::DeviceMemory::null(),
                    memory_offset: 0,
                };
                vkfuse_buffer_import(context, random.pointer(&raw), random.place(&mut new_buffer))
            }
            _ => {
                // Destroying anything of anything is allowed.
                match random.below(8) {
                    0 => vkfuse_buffer_destroy(buffer),
                    1 | 2 => vkfuse_event_destroy(event),
                    3 => vkfuse_list_destroy(list),
                    4 => vkfuse_kernel_destroy(VkfuseKernel { id: random.next() }),
                    _ => vkfuse_recorded_destroy(VkfuseRecorded { id: random.number() }),
                }
                VkfuseResult::Ok
            }
        }
    }
}

#[test]
fn null_and_wild_arguments_are_errors_with_messages() {
    let Some(context) = open(0, 0) else { return };
    let mut world = World { contexts: vec![context.id], ..World::default() };
    // SAFETY: the pointers are to what the header says.
    unsafe {
        let mut kernel = VkfuseKernel { id: 0 };
        let made = vkfuse_kernel_from_wgsl(context, c"fill".as_ptr(), FILL.as_ptr().cast(), &mut kernel);
        assert_eq!(made, VkfuseResult::Ok, "{}", message());
        world.kernels.push(kernel.id);
        for _ in 0..2 {
            let mut queue = VkfuseQueue { id: 0 };
            assert_eq!(vkfuse_queue_create(context, &mut queue), VkfuseResult::Ok);
            world.queues.push(queue.id);
        }
        for words in [&[][..], &[0; 4][..], &[0x0723_0203; 64][..]] {
            let result =
                vkfuse_kernel_from_spirv(context, ptr::null(), words.as_ptr(), words.len(), &mut kernel);
            assert_eq!(result, VkfuseResult::Kernel, "{}", message());
        }
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut counts = [0_u32; 2];
    for _ in 0..6000 {
        match step(&mut random, &mut world) {
            VkfuseResult::Ok => counts[0] += 1,
            VkfuseResult::Internal => panic!("{}", message()),
            _ => {
                assert!(!message().is_empty());
                counts[1] += 1;
            }
        }
    }
    println!("{} calls did what they say, {} were refused", counts[0], counts[1]);
    assert!(counts[0] > 500 && counts[1] > 500, "{counts:?}");
    assert_eq!(vkfuse_context_wait(context), VkfuseResult::Ok, "{}", message());
    world.queues.iter().for_each(|id| vkfuse_queue_destroy(VkfuseQueue { id: *id }));
    world.buffers.iter().for_each(|id| vkfuse_buffer_destroy(VkfuseBuffer { id: *id }));
    world.events.iter().for_each(|id| vkfuse_event_destroy(VkfuseEvent { id: *id }));
    world.lists.iter().for_each(|id| vkfuse_list_destroy(VkfuseList { id: *id }));
    vkfuse_context_destroy(context);
}

#[test]
fn handles_of_other_kinds_and_destroyed_ones_are_told_apart() {
    let Some(context) = open(0, 0) else { return };
    assert_eq!(vkfuse_queue_wait(VkfuseQueue { id: context.id }), VkfuseResult::InvalidHandle);
    assert_eq!(message(), "the queue was destroyed, or never was one");
    assert_eq!(vkfuse_queue_wait(VkfuseQueue { id: 0 }), VkfuseResult::InvalidHandle);
    assert_eq!(message(), "the queue is null");
    vkfuse_context_destroy(context);
    vkfuse_context_destroy(context);
    assert_eq!(vkfuse_context_wait(context), VkfuseResult::InvalidHandle);
    assert!(vkfuse_version() < 1_000_000_000);
}

#[test]
fn a_device_of_null_handles_is_refused() {
    let mut context = VkfuseContext { id: 0 };
    let mut device = VkfuseRawDevice {
        get_instance_proc_addr: None,
        api_version: vk::API_VERSION_1_3,
        instance: vk::Instance::null(),
        physical_device: vk::PhysicalDevice::null(),
        device: vk::Device::null(),
        create_info: ptr::null(),
        queues: ptr::null(),
        queue_count: 0,
    };
    unsafe extern "C" fn none(_: vk::Instance, _: *const std::ffi::c_char) -> vk::PFN_vkVoidFunction {
        None
    }
    // SAFETY: the pointers are to what the header says, or null.
    unsafe {
        assert_eq!(
            vkfuse_context_from_raw(ptr::null(), ptr::null(), &mut context),
            VkfuseResult::NullPointer
        );
        assert_eq!(vkfuse_context_from_raw(&device, ptr::null(), ptr::null_mut()), VkfuseResult::NullPointer);
        assert_eq!(vkfuse_context_from_raw(&device, ptr::null(), &mut context), VkfuseResult::NullPointer);
        device.get_instance_proc_addr = Some(none);
        assert_eq!(vkfuse_context_from_raw(&device, ptr::null(), &mut context), VkfuseResult::NullPointer);
        let info = vk::DeviceCreateInfo::default();
        device.create_info = &info;
        assert_eq!(vkfuse_context_from_raw(&device, ptr::null(), &mut context), VkfuseResult::Device);
        assert_eq!(message(), "the instance given is a null handle");
    }
}
