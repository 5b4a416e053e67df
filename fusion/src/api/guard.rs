//! What a compile guard's program does.

use std::io;

/// Compiles what a context asks about, until its input ends: all that a program has to do that is named in
/// [`CompileGuard::program`](crate::guard::CompileGuard::program). Questions come from the standard input, answers go to the
/// standard output, where nothing else may be written.
///
/// # Errors
///
/// The input is not what a context of the same build sends, or the output is closed.
pub fn serve_compile_guard() -> io::Result<()> {
    serve_compile_guard_with(|_| ())
}

/// The same; looks at the words of each module before the driver does. For tests, which die of some.
///
/// # Errors
///
/// As [`serve_compile_guard`].
#[doc(hidden)]
pub fn serve_compile_guard_with(looks_at: impl FnMut(&[u32])) -> io::Result<()> {
    crate::code::guard::serve(&mut io::stdin().lock(), &mut io::stdout().lock(), looks_at)
}
