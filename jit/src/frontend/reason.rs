//! Why a kernel has no normal form and so runs unfused.

use std::fmt;

use super::set_binding::SetBinding;

/// What a kernel has that the normal form cannot express. Never an error: the kernel runs as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelReason {
    /// It declares a capability whose instructions the later stages do not know.
    #[error("it declares capability {0}")]
    Capability(String),
    /// It uses a resource that is not a buffer.
    #[error("set {}, binding {} is a {kind}", .at.set, .at.binding)]
    Resource {
        /// The binding.
        at: SetBinding,
        /// What it is.
        kind: &'static str,
    },
    /// It uses an array of descriptors.
    #[error("set {}, binding {} is an array of descriptors", .at.set, .at.binding)]
    DescriptorArray {
        /// The binding.
        at: SetBinding,
    },
    /// It addresses memory by device addresses.
    #[error("it uses device addresses")]
    DeviceAddresses,
    /// It uses an addressing model other than Logical and PhysicalStorageBuffer64.
    #[error("it uses addressing model {0}")]
    AddressingModel(String),
    /// Pointers of one of its types lead to a structure that holds pointers of the same type.
    #[error("it follows pointers that lead to pointers of the same type")]
    RecursivePointers,
    /// It uses a memory model other than GLSL450 and Vulkan, or the latter for what device addresses lead to.
    #[error("it uses memory model {0}")]
    MemoryModel(String),
    /// It computes with a pointer to a buffer or to shared memory instead of only accessing through it.
    #[error("{op} takes a pointer into {}", Root(.at))]
    VariablePointer {
        /// The binding, none for shared memory and push constants.
        at: Option<SetBinding>,
        /// The instruction.
        op: String,
    },
    /// It accesses a buffer as volatile.
    #[error("it accesses {} as volatile", Root(.at))]
    Volatile {
        /// The binding, none for shared memory.
        at: Option<SetBinding>,
    },
    /// A call is left that could not be inlined.
    #[error("a function call could not be inlined")]
    Call,
    /// It would be too large with all calls inlined.
    #[error("it has {instructions} instructions with all calls inlined; the limit is {limit}")]
    TooLarge {
        /// Number of instructions.
        instructions: u64,
        /// The most that is normalised.
        limit: u64,
    },
    /// It has an execution mode that a fused kernel could not keep for one part only.
    #[error("it has execution mode {0}")]
    ExecutionMode(String),
    /// It imports an extended instruction set other than `GLSL.std.450`.
    #[error("it imports instruction set {0}")]
    InstructionSet(String),
    /// It has an instruction that the later stages do not know.
    #[error("it uses {0}")]
    Instruction(String),
    /// It declares a capability that one of the tools does not know, so that it was not even validated.
    #[error("it declares capability {capability}, which is not known to {tool}")]
    Newer {
        /// The capability, by name and number as far as they are known.
        capability: String,
        /// The parser or the validator, with its version.
        tool: String,
    },
    /// Its entry point has an execution mode that one of the tools does not know, so that it was not even validated.
    #[error("it declares execution mode {mode}, which is not known to {tool}")]
    NewerMode {
        /// The mode, by name and number as far as they are known.
        mode: String,
        /// The parser or the validator, with its version.
        tool: String,
    },
    /// Its control flow is not structured, or it has another form that the passes to the normal form do not take.
    #[error("it could not be normalised: {0}")]
    Optimizer(String),
}

macro_rules! anchors {
    ($($variant:ident $anchor:literal),* $(,)?) => {
        impl KernelReason {
            /// The headings of `docs/reasons.md` for kernels, in the order of the variants.
            pub const ANCHORS: &'static [&'static str] = &[$(concat!("kernel-", $anchor)),*];

            /// The heading of `docs/reasons.md` that says what it means and what can be done: `kernel-volatile`, say.
            pub fn anchor(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => concat!("kernel-", $anchor),)*
                }
            }

            /// Where it is explained: the page, with its heading.
            pub fn explained_at(&self) -> String {
                format!("docs/reasons.md#{}", self.anchor())
            }
        }
    };
}

anchors! {
    Capability "capability",
    Resource "resource",
    DescriptorArray "descriptor-array",
    DeviceAddresses "device-addresses",
    AddressingModel "addressing-model",
    RecursivePointers "recursive-pointers",
    MemoryModel "memory-model",
    VariablePointer "variable-pointer",
    Volatile "volatile",
    Call "call",
    TooLarge "too-large",
    ExecutionMode "execution-mode",
    InstructionSet "instruction-set",
    Instruction "instruction",
    Newer "newer",
    NewerMode "newer-mode",
    Optimizer "optimizer",
}

/// Prints where a pointer points.
struct Root<'a>(&'a Option<SetBinding>);

impl fmt::Display for Root<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(at) => write!(f, "set {}, binding {}", at.set, at.binding),
            None => f.write_str("shared memory or push constants"),
        }
    }
}
