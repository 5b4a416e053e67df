//! Options of contexts and lists, through C: robust access, and floats as the module has them.

// The interface is C's.
#![allow(unsafe_code)]

mod support;

use std::{ffi::CStr, ptr};

use support::message;
use vkfuse_c::*;

/// A context with a queue.
struct Rig {
    context: VkfuseContext,
    queue: VkfuseQueue,
}

impl Rig {
    fn open(robust_buffer_access: u32, contract: u32) -> Option<Rig> {
        let context = support::open(robust_buffer_access, contract)?;
        let mut queue = VkfuseQueue { id: 0 };
        // SAFETY: the pointer is to what the header says.
        let made = unsafe { vkfuse_queue_create(context, &mut queue) };
        assert_eq!(made, VkfuseResult::Ok, "{}", message());
        Some(Rig { context, queue })
    }

    fn device(&self) -> String {
        let mut name = [0u8; 256];
        // SAFETY: there is room for this many bytes.
        let result =
            unsafe { vkfuse_context_device_name(self.context, name.as_mut_ptr().cast(), name.len()) };
        assert_eq!(result, VkfuseResult::Ok, "{}", message());
        CStr::from_bytes_until_nul(&name).expect("a string").to_string_lossy().into_owned()
    }

    fn kernel(&self, types: &str, body: &str) -> VkfuseKernel {
        let text = format!(
            "@group(0) @binding(0) var<storage, read> x: array<{types}>;
            @group(0) @binding(1) var<storage, read_write> z: array<{types}>;
            @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
                let i = id.x;
                {body}
            }}\0"
        );
        let mut kernel = VkfuseKernel { id: 0 };
        // SAFETY: the pointers are to what the header says.
        let made = unsafe {
            vkfuse_kernel_from_wgsl(self.context, c"kernel".as_ptr(), text.as_ptr().cast(), &mut kernel)
        };
        assert_eq!(made, VkfuseResult::Ok, "{}", message());
        kernel
    }

    fn buffer(&self, words: &[u32; 256]) -> VkfuseBuffer {
        let mut buffer = VkfuseBuffer { id: 0 };
        // SAFETY: the pointers are to what the header says.
        unsafe {
            assert_eq!(vkfuse_buffer_create(self.context, 1024, &mut buffer), VkfuseResult::Ok);
            let done = vkfuse_buffer_upload(buffer, 0, words.as_ptr().cast(), 1024);
            assert_eq!(done, VkfuseResult::Ok, "{}", message());
        }
        buffer
    }

    /// Runs a kernel on 256 items, with the given numbers of words of its two buffers bound.
    fn submit(&self, kernel: VkfuseKernel, x: (VkfuseBuffer, u64), z: (VkfuseBuffer, u64)) {
        let argument = |binding: u32, (buffer, words): (VkfuseBuffer, u64), access: VkfuseAccess| {
            let access = access as u32;
            VkfuseArgument { set: 0, binding, buffer, offset: 0, size: 4 * words, access }
        };
        let arguments = [argument(0, x, VkfuseAccess::Read), argument(1, z, VkfuseAccess::Write)];
        let submission = VkfuseSubmission {
            kernel,
            arguments: arguments.as_ptr(),
            argument_count: 2,
            push: ptr::null(),
            push_size: 0,
            size: [4, 1, 1],
            is_items: 0,
            after: ptr::null(),
            after_count: 0,
            constants: ptr::null(),
            constant_count: 0,
        };
        // SAFETY: the pointers are to what the header says.
        let result = unsafe { vkfuse_queue_submit(self.queue, &submission, ptr::null_mut()) };
        assert_eq!(result, VkfuseResult::Ok, "{}", message());
    }

    /// Completes a list, and returns its dispatches.
    fn complete(&self, properties: &VkfuseFusionProperties) -> u32 {
        let (mut event, mut dispatches) = (VkfuseEvent { id: 0 }, 0);
        // SAFETY: the pointers are to what the header says.
        unsafe {
            let done = vkfuse_queue_complete_fusion(self.queue, properties, &mut event);
            assert_eq!(done, VkfuseResult::Ok, "{}", message());
            assert_eq!(vkfuse_event_wait(event, u64::MAX), VkfuseResult::Ok, "{}", message());
            let counted = vkfuse_event_dispatches(event, &mut dispatches);
            assert_eq!(counted, VkfuseResult::Ok, "{}", message());
        }
        dispatches
    }

    fn words(&self, buffer: VkfuseBuffer) -> [u32; 256] {
        let mut words = [0u32; 256];
        // SAFETY: there is room for this many bytes.
        let result = unsafe { vkfuse_buffer_download(buffer, 0, words.as_mut_ptr().cast(), 1024) };
        assert_eq!(result, VkfuseResult::Ok, "{}", message());
        words
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        vkfuse_context_destroy(self.context);
    }
}

const DEFAULTS: VkfuseFusionProperties = VkfuseFusionProperties {
    force: 0,
    no_rewrites: 0,
    build_in_background: 0,
    verify_first_run: 0,
    no_autotune: 0,
    contract: 0,
    trust: 0,
};

/// What a list of two kernels came to, in two calls: one for the size, one for the text.
#[test]
fn reports_and_times_of_lists() {
    let Some(rig) = Rig::open(0, 0) else { return };
    let more = rig.kernel("u32", "z[i] = x[i] + 1u;");
    let (x, y, z) = (rig.buffer(&[1; 256]), rig.buffer(&[0; 256]), rig.buffer(&[0; 256]));
    // The second kernel reads what it was handed from elsewhere: which element cannot be known.
    let gather = rig.kernel("u32", "z[i] = x[x[i] % 256u];");
    for trust in [0, 1] {
        assert_eq!(vkfuse_queue_start_fusion(rig.queue), VkfuseResult::Ok);
        rig.submit(more, (x, 256), (y, 256));
        rig.submit(gather, (y, 256), (z, 256));
        let mut event = VkfuseEvent { id: 0 };
        let properties = VkfuseFusionProperties { trust, ..DEFAULTS };
        let mut needed = 7;
        let mut time = 7;
        // SAFETY: the pointers are to what the header says.
        let text = unsafe {
            let done = vkfuse_queue_complete_fusion(rig.queue, &properties, &mut event);
            assert_eq!(done, VkfuseResult::Ok, "{}", message());
            assert_eq!(vkfuse_event_wait(event, u64::MAX), VkfuseResult::Ok, "{}", message());
            assert_eq!(vkfuse_event_gpu_time(event, &mut time), VkfuseResult::Ok);
            assert_eq!(vkfuse_event_report_json(event, ptr::null_mut(), 0, &mut needed), VkfuseResult::Ok);
            let mut text = vec![1u8; needed];
            let to = text.as_mut_ptr().cast();
            // A byte too few is none.
            assert_eq!(vkfuse_event_report_json(event, to, needed - 1, &mut needed), VkfuseResult::Ok);
            assert_eq!(text[0], 1);
            assert_eq!(vkfuse_event_report_json(event, to, needed, &mut needed), VkfuseResult::Ok);
            text
        };
        let json = CStr::from_bytes_with_nul(&text).expect("a zero at its end").to_str().expect("UTF-8");
        assert!(json.starts_with('{') && json.ends_with('}') && json.contains("\"groups\""), "{json}");
        assert_eq!(json.contains("\"trusted\":[]"), trust == 0, "{json}");
        assert!(json.contains("\"notes\":[]"), "{json}");
        // Profiling is off.
        assert_eq!(time, 0);
        vkfuse_event_destroy(event);
    }
}

/// What may be a mistake in a list is in its report.
#[test]
fn reports_note_what_is_overwritten() {
    let Some(rig) = Rig::open(0, 0) else { return };
    let more = rig.kernel("u32", "z[i] = x[i] + 1u;");
    let (x, z) = (rig.buffer(&[1; 256]), rig.buffer(&[0; 256]));
    assert_eq!(vkfuse_queue_start_fusion(rig.queue), VkfuseResult::Ok);
    rig.submit(more, (x, 256), (z, 256));
    rig.submit(more, (x, 256), (z, 256));
    let mut event = VkfuseEvent { id: 0 };
    let (mut text, mut needed) = (vec![0u8; 1 << 16], 0);
    // SAFETY: the pointers are to what the header says.
    unsafe {
        let done = vkfuse_queue_complete_fusion(rig.queue, &DEFAULTS, &mut event);
        assert_eq!(done, VkfuseResult::Ok, "{}", message());
        let to = text.as_mut_ptr().cast();
        assert_eq!(vkfuse_event_report_json(event, to, text.len(), &mut needed), VkfuseResult::Ok);
    }
    let json = CStr::from_bytes_until_nul(&text).expect("a zero at its end").to_str().expect("UTF-8");
    assert!(json.contains("writes over all that submission 0"), "{json}");
    vkfuse_event_destroy(event);
}

/// What lies outside of a range reads as zeros and is not written. So what is stored and what is loaded there stay two dispatches.
#[test]
fn robust_access_is_kept_to() {
    let Some(rig) = Rig::open(1, 0) else { return };
    let more = rig.kernel("u32", "z[i] = x[i] + 1u;");
    for (len, dispatches) in [(256, 1), (250, 2)] {
        let from = |first: u32| std::array::from_fn(|i| first + i as u32);
        let (x, t, z) = (rig.buffer(&from(1000)), rig.buffer(&from(5000)), rig.buffer(&from(9000)));
        assert_eq!(vkfuse_queue_start_fusion(rig.queue), VkfuseResult::Ok);
        rig.submit(more, (x, 256), (t, len));
        rig.submit(more, (t, len), (z, 256));
        assert_eq!(rig.complete(&DEFAULTS), dispatches, "{len}");
        let outside = |i: usize| i as u64 >= len;
        let expected = |i: usize| if outside(i) { 1 } else { 1002 + i as u32 };
        assert_eq!(rig.words(z), std::array::from_fn(expected), "{len}");
        let behind = |i: usize| if outside(i) { 5000 + i as u32 } else { 1001 + i as u32 };
        assert_eq!(rig.words(t), std::array::from_fn(behind), "{len}");
    }
}

/// What is left of a number that is too small to change a large one: rounded one by one it is 0. llvmpipe finds it unless it is asked not
/// to.
#[test]
fn floats_are_rounded_or_left_to_the_driver() {
    for contract in [0, 1] {
        let Some(rig) = Rig::open(0, contract) else { return };
        let kernel = rig.kernel("f32", "let large = x[i] + 1.0e8; z[i] = large - 1.0e8;");
        let small = 0.25f32.to_bits();
        let x = rig.buffer(&[small; 256]);
        let is_llvmpipe = rig.device().contains("llvmpipe");
        let check = |z: VkfuseBuffer, contract: u32, what: &str| {
            let words = rig.words(z);
            if contract == 0 {
                assert_eq!(words, [0; 256], "{what}");
            } else if is_llvmpipe {
                assert_eq!(words, [small; 256], "{what}");
            }
        };
        let z = rig.buffer(&[7; 256]);
        rig.submit(kernel, (x, 256), (z, 256));
        check(z, contract, "outside of a list");
        // A list says it for itself.
        for in_list in [0, 1] {
            let z = rig.buffer(&[7; 256]);
            assert_eq!(vkfuse_queue_start_fusion(rig.queue), VkfuseResult::Ok);
            rig.submit(kernel, (x, 256), (z, 256));
            rig.complete(&VkfuseFusionProperties { contract: in_list, ..DEFAULTS });
            check(z, in_list, "in a list");
        }
    }
}
