//! What the tests of the C interface share.

use std::{ffi::CStr, io::Write as _, ptr};

use vkfuse_c::*;

/// The last error of this thread.
pub(crate) fn message() -> String {
    // SAFETY: it is never null, and a string.
    unsafe { CStr::from_ptr(vkfuse_last_error()) }.to_str().expect("UTF-8").to_owned()
}

/// A context with validation layers and without a store; without a device the test is skipped, or fails where
/// `VKFUSE_REQUIRE_DEVICE` is set.
pub(crate) fn open(robust_buffer_access: u32, contract: u32) -> Option<VkfuseContext> {
    let options = VkfuseContextOptions {
        device: ptr::null(),
        no_disk: 1,
        profiling: 0,
        validation_layer: 1,
        robust_buffer_access,
        contract,
    };
    let mut context = VkfuseContext { id: 0 };
    // SAFETY: the pointers are to what the header says.
    let result = unsafe { vkfuse_context_create(&options, &mut context) };
    if result != VkfuseResult::Ok {
        assert!(std::env::var_os("VKFUSE_REQUIRE_DEVICE").is_none(), "no device: {}", message());
        let _ = writeln!(std::io::stderr(), "SKIPPED: {}", message());
        return None;
    }
    Some(context)
}
