//! Pointers from C, checked as far as they can be.

use std::{
    ffi::{CStr, c_char},
    mem, slice,
};

use crate::result::{Failure, VkfuseResult};

fn wrong(what: &str, problem: &str) -> Failure {
    Failure::new(VkfuseResult::NullPointer, format!("`{what}` {problem}"))
}

fn check<T>(what: &str, pointer: *const T) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(wrong(what, "is null"));
    }
    if !pointer.is_aligned() {
        return Err(wrong(what, "is not aligned"));
    }
    Ok(())
}

/// A structure that is read.
///
/// # Safety
///
/// The pointer is null, misaligned, or to a value that lives as long as the result.
pub(crate) unsafe fn structure<'a, T>(what: &str, pointer: *const T) -> Result<&'a T, Failure> {
    check(what, pointer)?;
    // SAFETY: neither null nor misaligned (checked), so it is to a value (the caller's promise).
    Ok(unsafe { &*pointer })
}

/// Several values that are read. None may be null.
///
/// # Safety
///
/// The pointer is null, misaligned, or to as many values that live as long as the result.
pub(crate) unsafe fn several<'a, T>(what: &str, pointer: *const T, count: usize) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    check(what, pointer)?;
    if count > isize::MAX as usize / mem::size_of::<T>().max(1) {
        return Err(Failure::new(VkfuseResult::InvalidArgument, format!("{count} of `{what}` are too many")));
    }
    // SAFETY: neither null nor misaligned (checked), so it is to as many values (the caller's promise), whose bytes can be
    // counted (checked).
    Ok(unsafe { slice::from_raw_parts(pointer, count) })
}

/// As [`several`], to be written.
///
/// # Safety
///
/// As for [`several`], and nothing else accesses them meanwhile.
pub(crate) unsafe fn several_mut<'a, T>(
    what: &str,
    pointer: *mut T,
    count: usize,
) -> Result<&'a mut [T], Failure> {
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: the caller's promise; this checks.
    unsafe { several(what, pointer.cast_const(), count)? };
    // SAFETY: as there, and nothing else accesses them (the caller's promise).
    Ok(unsafe { slice::from_raw_parts_mut(pointer, count) })
}

/// A text; the empty one for null.
///
/// # Safety
///
/// The pointer is null or to a string that ends with a zero and lives as long as the result.
pub(crate) unsafe fn text<'a>(what: &str, pointer: *const c_char) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Ok("");
    }
    // SAFETY: it is not null, so it is to a string (the caller's promise).
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Failure::new(VkfuseResult::InvalidArgument, format!("`{what}` is not UTF-8")))
}

/// Stores a result through a pointer, which may not be null.
///
/// # Safety
///
/// The pointer is null, misaligned, or to a place that nothing else accesses meanwhile.
pub(crate) unsafe fn put<T>(what: &str, pointer: *mut T, value: T) -> Result<(), Failure> {
    check(what, pointer)?;
    // SAFETY: neither null nor misaligned (checked), so it is to a place (the caller's promise). What is there is no value that
    // has to be dropped.
    unsafe { pointer.write(value) };
    Ok(())
}

/// Whether there is a place for a result: checked before anything is done that could not be taken back.
pub(crate) fn place<T>(what: &str, pointer: *mut T) -> Result<(), Failure> {
    check(what, pointer.cast_const())
}

/// One of several values, by its number.
pub(crate) fn choice<T: Copy>(what: &str, number: u32, choices: &[T]) -> Result<T, Failure> {
    choices.get(number as usize).copied().ok_or_else(|| {
        Failure::new(VkfuseResult::InvalidArgument, format!("{number} is none of the values of `{what}`"))
    })
}
