//! The C++ tool spirv-val, behind functions that take words.

use std::process::Command;
use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use spirv_tools::TargetEnv;
use spirv_tools::error::SpirvResult;
use spirv_tools::val::{Validator, ValidatorOptions};

use super::error::KernelError;

/// Every module up to SPIR-V 1.6 is accepted in this environment. Whether the *device* takes it is the
/// runtime's question.
const ENV: TargetEnv = TargetEnv::Vulkan_1_3;

/// The compiled tools, in the version that the manifest pins.
const COMPILED: &str = "spirv-tools 0.13.3, spirv-tools-sys 0.13.3";

/// The rules that the tools apply here.
const RULES: &str = "Vulkan 1.3, scalar block layout";

/// The tools, their version and the rules that they apply here, for what is kept of their work. Installed tools are asked
/// for their versions, once in a process; `None` where they do not answer.
pub(super) fn identity() -> Option<&'static str> {
    static IDENTITY: OnceLock<Option<String>> = OnceLock::new();
    let tools = || match cfg!(feature = "compiled-spirv-tools") {
        true => Some(COMPILED.to_owned()),
        false => installed_version("spirv-val"),
    };
    IDENTITY.get_or_init(|| Some(format!("{}, {RULES}", tools()?))).as_deref()
}

/// Which validator it is, in words.
pub(super) fn validator() -> &'static str {
    let known = identity().unwrap_or("a spirv-val that does not say its version");
    known.split([',', ';']).next().unwrap_or(known)
}

/// What a tool on `PATH` says of itself, release, commit and date, and a hash of the program, for instance
/// `spirv-val SPIRV-Tools v2023.1 unknown hash, 2023-02-15T14:03:51, program 5d1f0c33a1b2c4e8`. Programs of one version are not
/// all alike: one may have been patched, or broken and repaired.
fn installed_version(tool: &str) -> Option<String> {
    let said = Command::new(tool).arg("--version").output().ok()?;
    // One of them answers on stdout, the other on stderr.
    let said = [said.stdout, said.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let release = said.lines().find(|line| line.contains("SPIRV-Tools"))?;
    let folders = std::env::var_os("PATH")?;
    let program = std::env::split_paths(&folders).find_map(|folder| std::fs::read(folder.join(tool)).ok())?;
    let program = blake3::hash(&program).to_hex();
    Some(format!("{tool} {}, program {}", release.trim(), &program[..16]))
}

/// How many times the tool was run.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// How many times this process has run spirv-val through this crate.
pub fn tool_runs() -> u64 {
    RUNS.load(Relaxed)
}

/// SPIR-V's rules without Vulkan's.
const UNIVERSAL: TargetEnv = TargetEnv::Universal_1_6;

/// Vulkan's rule against layout decorations on types that are used outside of buffers. naga shares one
/// type between a buffer and a work-group variable and breaks it; every driver ignores the
/// decorations there, so modules that break nothing else are accepted.
const LAYOUT_OUTSIDE_BUFFERS: &str = "VUID-StandaloneSpirv-None-10684";

/// What the validator objects to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// Index that the tool gives, zero if it gives none.
    pub(crate) index: usize,
    /// Its words.
    pub(crate) detail: String,
    /// Whether the tool could not be run at all, which only happens with installed tools.
    pub(crate) not_run: bool,
}

impl Complaint {
    pub(super) fn new(index: usize, detail: String) -> Complaint {
        Complaint { index, detail, not_run: false }
    }

    /// Whether the rule is the one that [`validate`] makes an exception of.
    pub(super) fn is_layout_outside_buffers(&self) -> bool {
        self.detail.contains(LAYOUT_OUTSIDE_BUFFERS)
    }

    /// Whether the module may be valid with other values for its constants than their defaults: one of them is the length of an array, and zero.
    pub(super) fn is_of_defaults(&self) -> bool {
        self.detail.contains("default value must be at least 1")
    }

    /// The error for a module with this name.
    pub(super) fn into_error(self, module: &str) -> KernelError {
        let (module, mut detail) = (module.to_owned(), self.detail);
        if self.not_run {
            return KernelError::Tool { module, detail };
        }
        // A capability or an opcode that it does not know may be newer than it.
        if detail.starts_with("Invalid ") {
            detail = format!("{detail} (by {})", validator());
        }
        KernelError::Invalid { module, instruction: self.index, detail }
    }
}

fn validator_options() -> ValidatorOptions {
    ValidatorOptions {
        // Layout rules depend on device features, which are checked where the device is known.
        relax_block_layout: Some(true),
        uniform_buffer_standard_layout: true,
        scalar_block_layout: true,
        ..ValidatorOptions::default()
    }
}

/// Runs spirv-val, with one exception: see [`LAYOUT_OUTSIDE_BUFFERS`].
pub(crate) fn validate(words: &[u32]) -> Result<(), Complaint> {
    match validate_strictly(words) {
        Err(complaint) if complaint.is_layout_outside_buffers() => validate_for(UNIVERSAL, words),
        result => result,
    }
}

/// Runs spirv-val without that exception.
pub(super) fn validate_strictly(words: &[u32]) -> Result<(), Complaint> {
    validate_for(ENV, words)
}

/// As [`validate`], but not counted: for what only debug builds check.
pub(super) fn verify(words: &[u32]) -> Result<(), Complaint> {
    match check(ENV, words) {
        Err(complaint) if complaint.is_layout_outside_buffers() => check(UNIVERSAL, words),
        result => result,
    }
}

fn validate_for(env: TargetEnv, words: &[u32]) -> Result<(), Complaint> {
    RUNS.fetch_add(1, Relaxed);
    check(env, words)
}

fn check(env: TargetEnv, words: &[u32]) -> Result<(), Complaint> {
    let validator = spirv_tools::val::create(Some(env));
    validator.validate(words, Some(validator_options())).map_err(|error| {
        let not_run = matches!(error.inner, SpirvResult::Unsupported | SpirvResult::EndOfStream);
        let complaint = match error.diagnostic {
            Some(diagnostic) => Complaint::new(diagnostic.index, diagnostic.message),
            None => Complaint::new(0, error.inner.to_string()),
        };
        Complaint { not_run: not_run && cfg!(not(feature = "compiled-spirv-tools")), ..complaint }
    })
}
