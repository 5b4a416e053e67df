//! Why a module cannot be interpreted, or why a run was given up.

use thiserror::Error;

/// Everything that stops the interpreter. What the interpreter *finds* in a kernel that it can run
/// is not an error but part of [`Findings`](super::Findings).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OracleError {
    /// The words are not a module, or break a rule of SPIR-V that the interpreter relies on.
    #[error("malformed module: {what} (word {word}); validate it with spirv-val")]
    Malformed {
        /// The broken rule.
        what: &'static str,
        /// Offset in words of the instruction at fault.
        word: usize,
    },
    /// No compute entry point of that name.
    #[error("no compute entry point named {name:?}")]
    NoEntry {
        /// The name asked for.
        name: String,
    },
    /// A valid instruction or feature outside the interpreted subset.
    #[error("{instruction} at word {word} is not interpreted: {why}")]
    Unsupported {
        /// The instruction, e.g. `OpImageRead`, or the built-in, execution mode or storage class.
        instruction: String,
        /// Offset in words of the instruction.
        word: usize,
        /// What about it is not interpreted.
        why: &'static str,
    },
    /// A size over what the interpreter accepts.
    #[error("{what} is {asked}, the interpreter takes at most {limit}")]
    Limit {
        /// Which size.
        what: &'static str,
        /// The size asked for.
        asked: u64,
        /// The most that is accepted.
        limit: u64,
    },
    /// The kernel uses a binding that the dispatch does not provide.
    #[error("dispatch {dispatch} provides nothing for set {set}, binding {binding}")]
    MissingBinding {
        /// Index of the dispatch in the run.
        dispatch: usize,
        /// Descriptor set.
        set: u32,
        /// Binding in the set.
        binding: u32,
    },
    /// A bound range does not lie inside its memory object, or the object does not exist.
    #[error("dispatch {dispatch}: set {set}, binding {binding} is bound to bytes outside its memory object")]
    BadRange {
        /// Index of the dispatch in the run.
        dispatch: usize,
        /// Descriptor set.
        set: u32,
        /// Binding in the set.
        binding: u32,
    },
    /// Nothing says which format an image or texel buffer has.
    #[error("dispatch {dispatch}: the format of the texels at set {set}, binding {binding} is not known")]
    UnknownFormat {
        /// Index of the dispatch in the run.
        dispatch: usize,
        /// Descriptor set.
        set: u32,
        /// Binding in the set.
        binding: u32,
    },
    /// The run executed as many instructions as it was allowed to. An endless loop, a loop that waits
    /// for another work-group, or a limit that is too low.
    #[error(
        "dispatch {dispatch} was stopped after {steps} instructions; raise `max_steps` if the kernel ends at all"
    )]
    StepLimit {
        /// Index of the dispatch in the run.
        dispatch: usize,
        /// Instructions executed in the whole run.
        steps: u64,
    },
    /// Control flow reached `OpUnreachable`, which the module promised would not happen.
    #[error("dispatch {dispatch}: invocation {invocation:?} reached OpUnreachable at word {word}")]
    Unreachable {
        /// Index of the dispatch in the run.
        dispatch: usize,
        /// Global invocation id.
        invocation: [u32; 3],
        /// Offset in words of the instruction.
        word: usize,
    },
    /// Invocations of one sub-group wait at different places, one of them at a sub-group instruction.
    #[error(
        "dispatch {dispatch}: the sub-group instruction at word {word} is in divergent control flow, which is not interpreted"
    )]
    DivergentSubgroup {
        /// Index of the dispatch in the run.
        dispatch: usize,
        /// Offset in words of the instruction.
        word: usize,
    },
}

impl OracleError {
    pub(super) fn malformed(what: &'static str, word: usize) -> Self {
        Self::Malformed { what, word }
    }

    pub(super) fn unsupported(instruction: impl Into<String>, word: usize, why: &'static str) -> Self {
        Self::Unsupported { instruction: instruction.into(), word, why }
    }
}
