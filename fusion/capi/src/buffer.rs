//! Buffers.

use std::ffi::{c_char, c_void};

use vkfuse::Promote;

use crate::{
    VkfuseBuffer, VkfuseContext,
    argument::{choice, place, put, several, several_mut, structure, text},
    raw::VkfuseRawBuffer,
    result::{Failure, VkfuseResult, call},
};

/// Whether and how a fused kernel may keep a buffer's contents to itself.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VkfusePromotion {
    /// It stays in memory.
    None = 0,
    /// In registers.
    Private = 1,
    /// In shared memory.
    Local = 2,
    /// As the planner likes.
    Auto = 3,
}

fn bytes(size: u64) -> Result<usize, Failure> {
    usize::try_from(size)
        .map_err(|_| Failure::new(VkfuseResult::InvalidArgument, format!("{size} bytes are too many")))
}

/// Makes a buffer of this many bytes, all zero.
///
/// # Safety
///
/// The pointer is null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_buffer_create(
    context: VkfuseContext,
    size: u64,
    buffer: *mut VkfuseBuffer,
) -> VkfuseResult {
    call(|| {
        place("buffer", buffer)?;
        let made = context.get()?.buffer::<u8>(bytes(size)?)?;
        // SAFETY: the caller's promise.
        unsafe { put("buffer", buffer, VkfuseBuffer::of(made)) }
    })
}

/// Makes a buffer for what only lives between kernels: promoted wherever that is possible, and without device memory until
/// something needs it.
///
/// # Safety
///
/// The pointer is null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_buffer_scratch(
    context: VkfuseContext,
    size: u64,
    buffer: *mut VkfuseBuffer,
) -> VkfuseResult {
    call(|| {
        place("buffer", buffer)?;
        let made = context.get()?.scratch::<u8>(bytes(size)?)?;
        // SAFETY: the caller's promise.
        unsafe { put("buffer", buffer, VkfuseBuffer::of(made)) }
    })
}

/// Makes a buffer over a part of one of the program's own. Its contents are taken as they are.
///
/// # Safety
///
/// The pointers are null or to what the header says; the handles are null or valid; and what `VkfuseRawBuffer` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_buffer_import(
    context: VkfuseContext,
    raw: *const VkfuseRawBuffer,
    buffer: *mut VkfuseBuffer,
) -> VkfuseResult {
    call(|| {
        place("buffer", buffer)?;
        let context = context.get()?;
        // SAFETY: the caller's promise.
        let user = unsafe { structure("raw", raw)?.buffer() };
        let made = context.import::<u8>(&user)?;
        // SAFETY: the caller's promise.
        unsafe { put("buffer", buffer, VkfuseBuffer::of(made)) }
    })
}

/// Copies bytes from the host into a buffer, from an offset on. Work that uses them is waited for; a list with them ends.
///
/// # Safety
///
/// The pointer is null or to as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_buffer_upload(
    buffer: VkfuseBuffer,
    offset: u64,
    data: *const c_void,
    size: u64,
) -> VkfuseResult {
    call(|| {
        let buffer = buffer.get()?;
        // SAFETY: the caller's promise.
        let data = unsafe { several("data", data.cast::<u8>(), bytes(size)?)? };
        Ok(buffer.upload_at(bytes(offset)?, data)?)
    })
}

/// Copies bytes of a buffer to the host, from an offset on. Work that writes them is waited for; a list that does ends.
///
/// # Safety
///
/// The pointer is null or to as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_buffer_download(
    buffer: VkfuseBuffer,
    offset: u64,
    data: *mut c_void,
    size: u64,
) -> VkfuseResult {
    call(|| {
        let buffer = buffer.get()?;
        let (offset, size) = (bytes(offset)?, bytes(size)?);
        let end = offset
            .checked_add(size)
            .ok_or_else(|| Failure::new(VkfuseResult::InvalidArgument, "the range has no end"))?;
        // SAFETY: the caller's promise.
        let to = unsafe { several_mut("data", data.cast::<u8>(), size)? };
        to.copy_from_slice(&buffer.download_range(offset..end)?);
        Ok(())
    })
}

/// Gives a buffer a name for messages and reports.
///
/// # Safety
///
/// The pointer is null or to what the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vkfuse_buffer_set_name(buffer: VkfuseBuffer, name: *const c_char) -> VkfuseResult {
    call(|| {
        // SAFETY: the caller's promise.
        buffer.get()?.set_name(unsafe { text("name", name)? });
        Ok(())
    })
}

/// Says whether and how fused kernels may keep the contents to themselves: a `VkfusePromotion`.
#[unsafe(no_mangle)]
pub extern "C" fn vkfuse_buffer_set_promotion(buffer: VkfuseBuffer, promotion: u32) -> VkfuseResult {
    call(|| {
        let choices = [Promote::None, Promote::Private, Promote::Local, Promote::Auto];
        buffer.get()?.set_promotion(choice("promotion", promotion, &choices)?);
        Ok(())
    })
}

/// Lets go of a buffer. Its memory lives on as long as work or lists use it. Null is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn vkfuse_buffer_destroy(buffer: VkfuseBuffer) {
    call(|| {
        buffer.destroy();
        Ok(())
    });
}
