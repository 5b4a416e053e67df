//! Why a module or a kernel was rejected.

use std::fmt;

use super::set_binding::SetBinding;
use super::spec_type::SpecType;

/// What text looks like that was given as a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextKind {
    /// A shader in GLSL.
    Glsl,
    /// A shader in HLSL.
    Hlsl,
    /// A shader in WGSL.
    Wgsl,
    /// SPIR-V as text.
    Assembly,
    /// The words of a module as hexadecimal numbers.
    Hexadecimal,
    /// What Git has in place of a file that it keeps elsewhere.
    LfsPointer,
    /// Something else.
    Other,
}

impl fmt::Display for TextKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Glsl => {
                "it looks like GLSL; compile it, e.g. with `glslangValidator -V --target-env vulkan1.2`"
            }
            Self::Hlsl => "it looks like HLSL; compile it, e.g. with `dxc -spirv -T cs_6_2`",
            Self::Wgsl => "it looks like WGSL; name the file `.wgsl`, or compile it, e.g. with `naga`",
            Self::Assembly => "it looks like SPIR-V assembly; assemble it with `spirv-as`",
            Self::Hexadecimal => "it has the words of a module as text; compile it without `-x`",
            Self::LfsPointer => "it is a pointer of Git LFS; fetch the file itself with `git lfs pull`",
            Self::Other => "a module is binary, and begins with the word 0x07230203",
        })
    }
}

/// A module that cannot be used at all, or a wrong use of it.
///
/// Everything here is found before a driver sees a byte. What merely cannot be *fused* is not an
/// error but a [`KernelReason`](super::KernelReason).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The first word is not the SPIR-V magic number in either byte order.
    #[error("module `{module}` is not SPIR-V: it starts with {found:#010x} instead of 0x07230203")]
    NotSpirv {
        /// Name the module was loaded under.
        module: String,
        /// The first word, read as little-endian.
        found: u32,
    },
    /// Text of another language where WGSL was expected.
    #[error("module `{module}` is to be WGSL: {looks_like}")]
    NotWgsl {
        /// Name the module was loaded under.
        module: String,
        /// What kind of text it looks like, and what to do with it.
        looks_like: TextKind,
    },
    /// Text where a module was expected.
    #[error("module `{module}` is text and not SPIR-V: {looks_like}")]
    Text {
        /// Name the module was loaded under.
        module: String,
        /// What kind of text it looks like, and what to do with it.
        looks_like: TextKind,
    },
    /// The length is not a whole number of words, or shorter than the header.
    #[error(
        "module `{module}` is truncated: {bytes} bytes is not a whole number of 4-byte words after a \
         20-byte header"
    )]
    Truncated {
        /// Name the module was loaded under.
        module: String,
        /// Length of the input.
        bytes: usize,
    },
    /// Every line feed has a carriage return before it, and the length is wrong: the file was copied as text.
    #[error(
        "module `{module}` has {bytes} bytes, no whole number of words, and carriage returns before all line feeds: it was copied as text, \
         and has to be copied as it is"
    )]
    CopiedAsText {
        /// Name the module was loaded under.
        module: String,
        /// Length of the input.
        bytes: usize,
    },
    /// The module is larger than any kernel has a reason to be.
    #[error("module `{module}` has {bytes} bytes; the limit is {limit}")]
    TooLarge {
        /// Name the module was loaded under.
        module: String,
        /// Length of the input.
        bytes: usize,
        /// The most that is accepted.
        limit: usize,
    },
    /// The header names a SPIR-V version outside 1.0 to 1.6.
    #[error("module `{module}` has SPIR-V version word {word:#010x}; 1.0 to 1.6 are supported")]
    Version {
        /// Name the module was loaded under.
        module: String,
        /// The version word.
        word: u32,
    },
    /// The id bound is zero, over SPIR-V's universal limit, or out of all proportion to the length.
    #[error("module `{module}` has id bound {bound}; for its length at most {limit} is plausible")]
    IdBound {
        /// Name the module was loaded under.
        module: String,
        /// The bound in the header.
        bound: u32,
        /// The most that is accepted for this module.
        limit: u32,
    },
    /// An instruction that cannot be delimited or decoded.
    #[error("module `{module}`, instruction {instruction} (word {word}): {what}")]
    Malformed {
        /// Name the module was loaded under.
        module: String,
        /// Number of the instruction, from zero.
        instruction: usize,
        /// Index of its first word.
        word: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The module cannot be decoded with the SPIR-V grammar.
    #[error("module `{module}` cannot be decoded: {detail}")]
    Decode {
        /// Name the module was loaded under.
        module: String,
        /// The decoder's words.
        detail: String,
    },
    /// The module breaks a SPIR-V or Vulkan rule.
    #[error("module `{module}` is invalid SPIR-V at instruction {instruction}: {detail}")]
    Invalid {
        /// Name the module was loaded under.
        module: String,
        /// Index the validator gives, zero if it gives none.
        instruction: usize,
        /// The validator's words.
        detail: String,
    },
    /// The module has no entry point with execution model `GLCompute`.
    #[error("module `{module}` has no compute entry point; is it a shader of another stage?")]
    NoComputeEntry {
        /// Name the module was loaded under.
        module: String,
    },
    /// No compute entry point has the name asked for.
    #[error("module `{module}` has no compute entry point `{entry}`; it has {}", Names(.available))]
    UnknownEntry {
        /// Name the module was loaded under.
        module: String,
        /// The name asked for.
        entry: String,
        /// The names there are.
        available: Vec<String>,
    },
    /// Several compute entry points, and none was chosen.
    #[error(
        "module `{module}` has several compute entry points, choose one of {}: name it as `entry`",
        Names(.available)
    )]
    AmbiguousEntry {
        /// Name the module was loaded under.
        module: String,
        /// The names there are.
        available: Vec<String>,
    },
    /// No value for a specialization constant that has none by itself.
    #[error(
        "specialization constant {id} (`{name}`) of kernel `{kernel}` has no default and was given no value"
    )]
    MissingSpecialization {
        /// Name of the module.
        kernel: String,
        /// The `SpecId`.
        id: u32,
        /// Its name, if the module has debug names.
        name: String,
    },
    /// Two values for one specialization constant.
    #[error("specialization constant {id} of kernel `{kernel}` is given twice")]
    RepeatedSpecialization {
        /// Name of the module.
        kernel: String,
        /// The `SpecId`.
        id: u32,
    },
    /// A value of the wrong type for a specialization constant.
    #[error("specialization constant {id} of kernel `{kernel}` is {expected}, not {given}")]
    SpecializationType {
        /// Name of the module.
        kernel: String,
        /// The `SpecId`.
        id: u32,
        /// The constant's type.
        expected: SpecType,
        /// The value's type.
        given: SpecType,
    },
    /// Values for specialization constants with which the module is not valid; with its defaults it is.
    #[error("kernel `{kernel}` cannot have {values}: {detail}")]
    SpecializationValues {
        /// Name of the module.
        kernel: String,
        /// The constants and their values.
        values: String,
        /// The validator's words.
        detail: String,
    },
    /// A specialization constant that is computed in a way that cannot be evaluated here.
    #[error("kernel `{kernel}`: constant %{id} is computed by {op}, which cannot be specialised")]
    SpecializationOp {
        /// Name of the module.
        kernel: String,
        /// Result id of the constant.
        id: u32,
        /// The operation.
        op: String,
    },
    /// The work-group size is missing, zero in a dimension, or not constant.
    #[error("kernel `{kernel}`, entry point `{entry}`: {what}")]
    LocalSize {
        /// Name of the module.
        kernel: String,
        /// Name of the entry point.
        entry: String,
        /// What is wrong.
        what: String,
    },
    /// A resource variable whose decorations or type cannot be reflected.
    #[error("kernel `{kernel}`, set {}, binding {}: {what}", .at.set, .at.binding)]
    Binding {
        /// Name of the module.
        kernel: String,
        /// Where.
        at: SetBinding,
        /// What is wrong.
        what: &'static str,
    },
    /// The push-constant block is out of all proportion.
    #[error("kernel `{kernel}` has a push-constant block of {bytes} bytes; the limit is {limit}")]
    PushConstants {
        /// Name of the module.
        kernel: String,
        /// Size of the block.
        bytes: u64,
        /// The most that is accepted.
        limit: u64,
    },
    /// WGSL text that does not parse or validate.
    #[error("module `{module}`{}: {message}", place(*line, *column))]
    Wgsl {
        /// Name the module was loaded under.
        module: String,
        /// Line, from one; zero if unknown.
        line: u32,
        /// Column, from one; zero if unknown.
        column: u32,
        /// What is wrong.
        message: String,
    },
    /// The installed SPIRV-Tools cannot be run.
    #[error("module `{module}` cannot be validated: {detail}")]
    Tool {
        /// Name the module was loaded under.
        module: String,
        /// What the system says.
        detail: String,
    },
}

/// Prints a list of names in back quotes.
struct Names<'a>(&'a [String]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}`{name}`")?;
        }
        Ok(())
    }
}

/// A place in a text, in words; nothing if it is unknown.
fn place(line: u32, column: u32) -> String {
    if line == 0 { String::new() } else { format!(", line {line}, column {column}") }
}
