//! Whether pipelines are compiled in a child process first.

use std::{ffi::OsString, path::PathBuf};

/// Whether the driver compiles new code in a child process before it does so in this one: [`ContextOptions::compile_guard`].
///
/// [`ContextOptions::compile_guard`]: crate::ContextOptions::compile_guard
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompileGuard {
    /// The program and its arguments; none where there is no guard.
    pub(crate) program: Option<(PathBuf, Vec<OsString>)>,
}

impl CompileGuard {
    /// No child process: a driver that dies of a module takes the program with it.
    #[must_use]
    pub fn off() -> CompileGuard {
        CompileGuard::default()
    }

    /// In a child process that runs this program with these arguments, which has to call
    /// [`serve_compile_guard`](crate::guard::serve_compile_guard) and do nothing else. The `vkfuse` command is one, with the
    /// argument `compile-guard`.
    #[must_use]
    pub fn program<A: Into<OsString>>(
        program: impl Into<PathBuf>,
        args: impl IntoIterator<Item = A>,
    ) -> CompileGuard {
        let args = args.into_iter().map(Into::into).collect();
        CompileGuard { program: Some((program.into(), args)) }
    }

    /// Whether there is one.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.program.is_some()
    }
}
