//! Contexts.

use std::ffi::c_char;

use vkfuse::{CacheOptions, Context, ContextOptions, FloatMode};

use crate::{
    VkfuseContext,
    argument::{place, put, several_mut, structure, text},
    raw::VkfuseRawDevice,
    result::{Failure, VkfuseResult, call},
};

/// How a context is made. All zero are the defaults.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VkfuseContextOptions {
    /// A part of the name of the device to use; null for the one that `VKFUSE_DEVICE` names, or else the fastest. Not used
    /// with a device of the program's own.
    pub device: *const c_char,
    /// Whether to keep code on disk from one process to the next: 0 as the environment says, 1 not.
    pub no_disk: u32,
    /// Whether to take GPU times of every submission.
    pub profiling: u32,
    /// Whether to switch the validation layer on. Not used with a device of the program's own.
    pub validation_layer: u32,
    /// Whether accesses outside of the range that is bound are defined, as with Vulkan's feature `robustBufferAccess2`: they read zeros and
    /// write nothing, fused and unfused. It costs time, and kernels that may leave their ranges fuse less. A device of vkfuse's own gets the
    /// feature, or there is no context. Of a device of the program's it is a statement: it was made with the feature.
    pub robust_buffer_access: u32,
    /// Whether what runs outside of lists, and in lists that are cancelled, leaves float operations to the driver as the module has
    /// them, which may contract and reassociate. Otherwise they are rounded one by one, as in a fused list.
    pub contract: u32,
}

/// # Safety
///
/// The pointer is null, misaligned, or to options whose texts can be read.
unsafe fn options(given: *const VkfuseContextOptions) -> Result<ContextOptions, Failure> {
    let mut options = ContextOptions::from_env();
    if given.is_null() {
        return Ok(options);
    }
    // SAFETY: the caller's promise.
    let given = unsafe { structure("options", given)? };
    // SAFETY: the same.
    let device = unsafe { text("device", given.device)? };
    if !device.is_empty() {
        options = options.device(device);
    }
    if given.no_disk != 0 {
        options = options.cache(CacheOptions::new().no_disk());
    }
    if given.profiling != 0 {
        options = options.profiling(true);
    }
    if given.validation_layer != 0 {
        options = options.validation_layer(true);
    }
    if given.robust_buffer_access != 0 {
        options = options.robust_buffer_access(true);
    }
    if given.contract != 0 {
        options = options.float(FloatMode::Contract);
    }
    Ok(options)
}

/// Makes a context with a device of its own. `options` may be null.
///
/// # Safety
///
/// The pointers are null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_context_create(
    given: *const VkfuseContextOptions,
    context: *mut VkfuseContext,
) -> VkfuseResult {
    call(|| {
        place("context", context)?;
        // SAFETY: the caller's promise.
        let options = unsafe { options(given)? };
        let made = Context::with_options(options)?;
        // SAFETY: the caller's promise.
        unsafe { put("context", context, VkfuseContext::of(made)) }
    })
}

/// Makes a context over a device of the program's own. Nothing of it is ever destroyed by vkfuse. Instance and device have to
/// live until the context, and every object made with it, is destroyed. `options` may be null.
///
/// # Safety
///
/// The pointers are null or to what the header says; the handles in them are null or valid; and what `VkfuseRawDevice` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_context_from_raw(
    device: *const VkfuseRawDevice,
    given: *const VkfuseContextOptions,
    context: *mut VkfuseContext,
) -> VkfuseResult {
    call(|| {
        place("context", context)?;
        // SAFETY: the caller's promise.
        let (device, options) = unsafe { (structure("device", device)?.device()?, options(given)?) };
        let made = Context::from_raw(&device, options)?;
        // SAFETY: the caller's promise.
        unsafe { put("context", context, VkfuseContext::of(made)) }
    })
}

/// Lets go of a context. It lives on until every object made with it is destroyed. Null is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn vkfuse_context_destroy(context: VkfuseContext) {
    call(|| {
        context.destroy();
        Ok(())
    });
}

/// Waits for everything on every queue. Ends every list that is being recorded.
#[unsafe(no_mangle)]
pub extern "C" fn vkfuse_context_wait(context: VkfuseContext) -> VkfuseResult {
    call(|| Ok(context.get()?.wait()?))
}

/// Writes the device's name to `name`, cut to `size` bytes with the zero at its end.
///
/// # Safety
///
/// The pointer is null or to as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_context_device_name(
    context: VkfuseContext,
    name: *mut c_char,
    size: usize,
) -> VkfuseResult {
    call(|| {
        let context = context.get()?;
        // SAFETY: the caller's promise.
        let to = unsafe { several_mut("name", name.cast::<u8>(), size)? };
        write_text(to, &context.device_info().name);
        Ok(())
    })
}

/// Writes a text with a zero at its end, as much of it as there is room for.
pub(crate) fn write_text(to: &mut [u8], text: &str) {
    let Some(room) = to.len().checked_sub(1) else { return };
    let mut end = text.len().min(room);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    to[..end].copy_from_slice(&text.as_bytes()[..end]);
    to[end] = 0;
}
