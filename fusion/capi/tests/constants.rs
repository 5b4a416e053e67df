//! Specialization constants, through C: by number, as bits of the constant's type.

// The interface is C's.
#![allow(unsafe_code)]
#![cfg(feature = "wgsl")]

mod support;

use std::ptr;

use support::{message, open};
use vkfuse_c::*;

const KERNEL: &str =
    "@id(0) override n: u32 = 5u; @id(7) override factor: f32 = 2.0; @id(9) override minus: bool = false;
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < n) { x[id.x] = select(factor, -factor, minus); }
}\0";

#[test]
fn constants_have_the_values_that_are_given() {
    let Some(context) = open(0, 0) else { return };
    let (mut kernel, mut queue) = (VkfuseKernel { id: 0 }, VkfuseQueue { id: 0 });
    let mut buffer = VkfuseBuffer { id: 0 };
    // SAFETY: the pointers are to what the header says.
    unsafe {
        let made = vkfuse_kernel_from_wgsl(context, c"step".as_ptr(), KERNEL.as_ptr().cast(), &mut kernel);
        assert_eq!(made, VkfuseResult::Ok, "{}", message());
        assert_eq!(vkfuse_queue_create(context, &mut queue), VkfuseResult::Ok);
        assert_eq!(vkfuse_buffer_create(context, 256, &mut buffer), VkfuseResult::Ok);
    }
    let run = |constants: &[VkfuseConstant]| {
        let access = VkfuseAccess::ReadWrite as u32;
        let arguments = [VkfuseArgument { set: 0, binding: 0, buffer, offset: 0, size: 0, access }];
        let submission = VkfuseSubmission {
            kernel,
            arguments: arguments.as_ptr(),
            argument_count: 1,
            push: ptr::null(),
            push_size: 0,
            size: [1, 1, 1],
            is_items: 0,
            after: ptr::null(),
            after_count: 0,
            constants: constants.as_ptr(),
            constant_count: constants.len() as u32,
        };
        let mut held = [0.0_f32; 64];
        // SAFETY: the pointers are to what the header says, and there is room for the bytes that are asked for.
        unsafe {
            let zeros = [0_u8; 256];
            assert_eq!(vkfuse_buffer_upload(buffer, 0, zeros.as_ptr().cast(), 256), VkfuseResult::Ok);
            let result = vkfuse_queue_submit(queue, &submission, ptr::null_mut());
            assert_eq!(result, VkfuseResult::Ok, "{}", message());
            let result = vkfuse_buffer_download(buffer, 0, held.as_mut_ptr().cast(), 256);
            assert_eq!(result, VkfuseResult::Ok, "{}", message());
        }
        held
    };
    let first = |n: usize, value: f32| std::array::from_fn(|i| if i < n { value } else { 0.0 });
    assert_eq!(run(&[]), first(5, 2.0));
    let constant = |id, bits| VkfuseConstant { id, bits };
    let given = [constant(7, (-3.5_f32).to_bits().into()), constant(0, 9), constant(9, 1), constant(70, 4)];
    assert_eq!(run(&given), first(9, 3.5));
    vkfuse_buffer_destroy(buffer);
    vkfuse_kernel_destroy(kernel);
    vkfuse_queue_destroy(queue);
    vkfuse_context_destroy(context);
}
