//! What was under way where a driver, a layer or this crate crashes: otherwise the process ends with all that its tests had printed.

use std::{backtrace::Backtrace, sync::Once, thread};

const SIGSEGV: i32 = 11;

#[cfg(unix)]
unsafe extern "C" {
    fn signal(number: i32, handler: usize) -> usize;
    fn raise(number: i32) -> i32;
    fn alarm(seconds: u32) -> u32;
    fn write(file: i32, bytes: *const u8, count: usize) -> isize;
}

/// Has a crash tell its thread, which has the name of its test, and what that was doing.
pub(crate) fn is_told() {
    static ONCE: Once = Once::new();
    #[cfg(unix)]
    ONCE.call_once(|| {
        // SAFETY: the handler takes a signal's number and returns.
        unsafe { signal(SIGSEGV, tell as *const () as usize) };
    });
}

#[cfg(unix)]
extern "C" fn tell(number: i32) {
    // SAFETY: functions of the C library, with what they take. What is called between may wait for a lock that this thread has: the
    // alarm ends that.
    unsafe {
        signal(number, 0);
        alarm(10);
        let text = format!("crash in {:?}\n{}\n", thread::current().name(), Backtrace::force_capture());
        write(2, text.as_ptr(), text.len());
        raise(number);
    }
}
