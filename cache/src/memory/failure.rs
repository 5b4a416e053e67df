//! How a build can end badly, and what of it is remembered.

use std::fmt;
use std::sync::Arc;

/// What a builder returns instead of a value.
///
/// The difference decides whether the failure is remembered: a compile error will come again, running
/// out of memory may not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildError<E> {
    /// The same input fails again: the error is stored and given to later callers without a build.
    Permanent(E),
    /// Out of memory, device lost, a file that could not be read: never stored.
    Transient(E),
}

impl<E> BuildError<E> {
    /// The error inside.
    pub fn into_inner(self) -> E {
        match self {
            BuildError::Permanent(error) | BuildError::Transient(error) => error,
        }
    }
}

/// Why a get-or-build has no value.
#[non_exhaustive]
pub enum Failure<E> {
    /// The build failed, in this call or in the one that this call waited for.
    Build {
        /// What the builder returned.
        error: Arc<E>,
        /// Whether it is remembered.
        permanent: bool,
    },
    /// The thread that built panicked. Only waiters see this; in the building thread the panic goes on.
    Panicked,
    /// This thread is building that very key, or waiting for it would close a ring of builders that
    /// wait for each other.
    Reentrant,
    /// Another thread's build took longer than this one may wait. It goes on.
    TimedOut,
}

impl<E> Failure<E> {
    /// The builder's error, if there is one.
    pub fn error(&self) -> Option<&Arc<E>> {
        match self {
            Failure::Build { error, .. } => Some(error),
            Failure::Panicked | Failure::Reentrant | Failure::TimedOut => None,
        }
    }
}

impl<E> Clone for Failure<E> {
    fn clone(&self) -> Self {
        match self {
            Failure::Build { error, permanent } => {
                Failure::Build { error: Arc::clone(error), permanent: *permanent }
            }
            Failure::Panicked => Failure::Panicked,
            Failure::Reentrant => Failure::Reentrant,
            Failure::TimedOut => Failure::TimedOut,
        }
    }
}

impl<E: fmt::Debug> fmt::Debug for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Build { error, permanent } => {
                f.debug_struct("Build").field("error", error).field("permanent", permanent).finish()
            }
            Failure::Panicked => f.write_str("Panicked"),
            Failure::Reentrant => f.write_str("Reentrant"),
            Failure::TimedOut => f.write_str("TimedOut"),
        }
    }
}

impl<E: fmt::Display> fmt::Display for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Build { error, .. } => error.fmt(f),
            Failure::Panicked => f.write_str("the thread that built this entry panicked"),
            Failure::Reentrant => {
                f.write_str("building this entry asks, directly or over other builds, for itself")
            }
            Failure::TimedOut => f.write_str("another thread has been building this entry for too long"),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for Failure<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Failure::Build { error, .. } => error.source(),
            Failure::Panicked | Failure::Reentrant | Failure::TimedOut => None,
        }
    }
}
