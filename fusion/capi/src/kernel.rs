//! Kernels.

use std::ffi::c_char;

use crate::{
    VkfuseContext, VkfuseKernel,
    argument::{place, put, several, text},
    result::{VkfuseResult, call},
};

/// Takes the words of a SPIR-V module with exactly one compute entry point. `name` is for messages, and may be null.
///
/// # Safety
///
/// The pointers are null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_kernel_from_spirv(
    context: VkfuseContext,
    name: *const c_char,
    words: *const u32,
    word_count: usize,
    kernel: *mut VkfuseKernel,
) -> VkfuseResult {
    call(|| {
        place("kernel", kernel)?;
        let context = context.get()?;
        // SAFETY: the caller's promise.
        let (name, words) = unsafe { (text("name", name)?, several("words", words, word_count)?) };
        let name = if name.is_empty() { "kernel" } else { name };
        let made = context.kernel_from_words(name, words)?;
        // SAFETY: the caller's promise.
        unsafe { put("kernel", kernel, VkfuseKernel::of(made)) }
    })
}

/// Loads a SPIR-V file with exactly one compute entry point.
///
/// # Safety
///
/// The pointers are null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_kernel_from_file(
    context: VkfuseContext,
    path: *const c_char,
    kernel: *mut VkfuseKernel,
) -> VkfuseResult {
    call(|| {
        place("kernel", kernel)?;
        let context = context.get()?;
        // SAFETY: the caller's promise.
        let made = context.load_spirv(unsafe { text("path", path)? })?;
        // SAFETY: the caller's promise.
        unsafe { put("kernel", kernel, VkfuseKernel::of(made)) }
    })
}

/// Compiles WGSL text with exactly one compute entry point. `name` is for messages, and may be null. A library that was built
/// without WGSL returns `VKFUSE_KERNEL`.
///
/// # Safety
///
/// The pointers are null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_kernel_from_wgsl(
    context: VkfuseContext,
    name: *const c_char,
    source: *const c_char,
    kernel: *mut VkfuseKernel,
) -> VkfuseResult {
    call(|| {
        place("kernel", kernel)?;
        let context = context.get()?;
        // SAFETY: the caller's promise.
        let (name, source) = unsafe { (text("name", name)?, text("source", source)?) };
        let name = if name.is_empty() { "kernel" } else { name };
        #[cfg(feature = "wgsl")]
        let made = context.kernel_from_wgsl(name, source)?;
        #[cfg(not(feature = "wgsl"))]
        let made = {
            let _ = (context, name, source);
            let problem = "this library was built without WGSL";
            return Err(crate::result::Failure::new(VkfuseResult::Kernel, problem));
        };
        // SAFETY: the caller's promise.
        unsafe { put("kernel", kernel, VkfuseKernel::of(made)) }
    })
}

/// Lets go of a kernel. Null is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn vkfuse_kernel_destroy(kernel: VkfuseKernel) {
    call(|| {
        kernel.destroy();
        Ok(())
    });
}
