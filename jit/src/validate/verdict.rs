//! The outcome of validating one step.

use std::fmt;

/// What came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Fused and unfused did the same on this many instances.
    Agreed {
        /// How many instances had this step.
        instances: usize,
    },
    /// They did not.
    Differs {
        /// The sizes of the list for which they did not.
        instance: String,
        /// What differs.
        what: String,
    },
    /// The step could not be judged.
    NotApplicable {
        /// Why.
        reason: NotApplicable,
    },
}

/// Why a step could not be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotApplicable {
    /// The interpreter does not know an instruction, or gave up.
    #[error("the interpreter cannot run it: {0}")]
    Interpreter(String),
    /// No small instance has the same code.
    #[error("no small instance of the list has the same code")]
    NoInstance,
    /// All small instances with the same code are undefined as submitted.
    #[error("every small instance is undefined already unfused: {0}")]
    Undefined(String),
    /// The list follows device addresses.
    #[error("it follows device addresses")]
    Addresses,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agreed { instances } => write!(f, "agreed on {instances} instances"),
            Self::Differs { instance, what } => write!(f, "differs with {instance}: {what}"),
            Self::NotApplicable { reason } => write!(f, "not applicable: {reason}"),
        }
    }
}
