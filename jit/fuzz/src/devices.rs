//! What devices can do that lists are planned for without one.

use vkfuse_jit::plan::Limits;

/// A desktop device.
pub fn desktop() -> Limits {
    Limits {
        max_push_bytes: 256,
        max_shared_bytes: 48 << 10,
        max_storage_buffers: 64,
        max_work_group_size: [1024, 1024, 64],
        max_work_group_invocations: 1024,
        ..Limits::default()
    }
}

/// A middling device.
pub fn middling() -> Limits {
    Limits {
        max_push_bytes: 256,
        max_shared_bytes: 32 << 10,
        max_storage_buffers: 16,
        max_work_group_size: [256, 256, 64],
        max_work_group_invocations: 256,
        ..Limits::default()
    }
}
