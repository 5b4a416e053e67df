//! Dispatches of no work-groups, through C: they do nothing, alone and in a list.

// The interface is C's.
#![allow(unsafe_code)]

mod support;

use std::ptr;

use support::{message, open};
use vkfuse_c::*;

const STEP: &str = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = x[id.x] * 3u + id.x; }\0";

#[test]
fn they_do_nothing() {
    let Some(context) = open(0, 0) else { return };
    let (mut kernel, mut queue) = (VkfuseKernel { id: 0 }, VkfuseQueue { id: 0 });
    let mut buffer = VkfuseBuffer { id: 0 };
    // SAFETY: the pointers are to what the header says.
    unsafe {
        let made = vkfuse_kernel_from_wgsl(context, c"step".as_ptr(), STEP.as_ptr().cast(), &mut kernel);
        assert_eq!(made, VkfuseResult::Ok, "{}", message());
        assert_eq!(vkfuse_queue_create(context, &mut queue), VkfuseResult::Ok);
        assert_eq!(vkfuse_buffer_create(context, 256, &mut buffer), VkfuseResult::Ok);
    }
    let submit = |size: [u32; 3], is_items: u32| {
        let arguments = [VkfuseArgument {
            set: 0,
            binding: 0,
            buffer,
            offset: 0,
            size: 0,
            access: VkfuseAccess::ReadWrite as u32,
        }];
        let submission = VkfuseSubmission {
            kernel,
            arguments: arguments.as_ptr(),
            argument_count: 1,
            push: ptr::null(),
            push_size: 0,
            size,
            is_items,
            after: ptr::null(),
            after_count: 0,
            constants: ptr::null(),
            constant_count: 0,
        };
        let mut event = VkfuseEvent { id: 0 };
        // SAFETY: the pointers are to what the header says.
        let result = unsafe { vkfuse_queue_submit(queue, &submission, &mut event) };
        assert_eq!(result, VkfuseResult::Ok, "{size:?}: {}", message());
        event
    };
    let held = || {
        let mut words = [0u32; 64];
        // SAFETY: there is room for this many bytes.
        let result = unsafe { vkfuse_buffer_download(buffer, 0, words.as_mut_ptr().cast(), 256) };
        assert_eq!(result, VkfuseResult::Ok, "{}", message());
        words
    };
    let zeros = [([0, 1, 1], 0), ([4, 0, 1], 0), ([0, 0, 0], 0), ([0, 1, 1], 1), ([64, 1, 0], 1)];
    for (size, is_items) in zeros {
        assert_eq!(vkfuse_event_wait(submit(size, is_items), u64::MAX), VkfuseResult::Ok);
    }
    assert_eq!(held(), [0; 64]);
    assert_eq!(vkfuse_queue_start_fusion(queue), VkfuseResult::Ok);
    for (size, is_items) in zeros {
        submit([1, 1, 1], 0);
        submit(size, is_items);
    }
    let mut event = VkfuseEvent { id: 0 };
    // SAFETY: the pointers are to what the header says.
    let done = unsafe { vkfuse_queue_complete_fusion(queue, ptr::null(), &mut event) };
    assert_eq!(done, VkfuseResult::Ok, "{}", message());
    assert_eq!(vkfuse_event_wait(event, u64::MAX), VkfuseResult::Ok);
    // Five steps from 0: 1 + 3 + 9 + 27 + 81 times the index.
    assert_eq!(held(), std::array::from_fn(|i| 121 * i as u32));
    vkfuse_context_destroy(context);
}
