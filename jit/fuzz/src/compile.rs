//! Text into SPIR-V: the installed glslang, then spirv-opt in one of many ways.

use std::io::Write as _;
use std::process::{Command, Stdio};

use spirv_tools::TargetEnv;
use spirv_tools::assembler::{Assembler as _, AssemblerOptions};
use spirv_tools::opt::{Optimizer as _, Passes};
use spirv_tools::val::{Validator as _, ValidatorOptions};

use crate::kernel::Language;
use crate::random::Random;

/// What happens to a module after the front end.
#[derive(Clone, Debug)]
pub(crate) enum Treatment {
    Plain,
    /// The front end's `-Od`.
    Debug,
    /// The front end's `-Os`.
    Small,
    Performance,
    Passes(Vec<Passes>),
}

const PASSES: [Passes; 30] = [
    Passes::AggressiveDCE,
    Passes::BlockMerge,
    Passes::ConditionalConstantPropagation,
    Passes::CFGCleanup,
    Passes::CodeSinking,
    Passes::CombineAccessChains,
    Passes::CopyPropagateArrays,
    Passes::DeadBranchElim,
    Passes::DeadInsertElim,
    Passes::DeadVariableElimination,
    Passes::EliminateDeadFunctions,
    Passes::IfConversion,
    Passes::InlineExhaustive,
    Passes::LocalAccessChainConvert,
    Passes::LocalMultiStoreElim,
    Passes::LocalRedundancyElimination,
    Passes::LocalSingleBlockLoadStoreElim,
    Passes::LocalSingleStoreElim,
    Passes::LoopInvariantCodeMotion,
    Passes::LoopPeeling,
    Passes::LoopUnswitch,
    Passes::MergeReturn,
    Passes::PrivateToLocal,
    Passes::ReduceLoadSize,
    Passes::RedundancyElimination,
    Passes::RedundantLineInfoElim,
    Passes::StrengthReduction,
    Passes::Simplification,
    Passes::SSARewrite,
    Passes::VectorDCE,
];

impl Treatment {
    pub(crate) fn random(random: &mut Random) -> Self {
        match random.below(10) {
            0..=2 => Self::Plain,
            3 => Self::Debug,
            4 => Self::Small,
            5 => Self::Performance,
            6 => Self::Passes(vec![Passes::MergeReturn, Passes::InlineExhaustive]),
            _ => {
                let count = random.between(1, 12);
                Self::Passes((0..count).map(|_| random.one(&PASSES)).collect())
            }
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Plain => "as it is".to_owned(),
            Self::Debug => "-Od".to_owned(),
            Self::Small => "-Os".to_owned(),
            Self::Performance => "spirv-opt -O".to_owned(),
            Self::Passes(passes) => format!("spirv-opt {passes:?}"),
        }
    }
}

/// Whether the front end can be run here.
pub fn has_front_end() -> bool {
    Command::new("glslangValidator").arg("--version").output().is_ok_and(|out| out.status.success())
}

/// Compiles a text; the front end's complaint if it does not take it.
pub(crate) fn compile(
    text: &str,
    language: Language,
    env: &str,
    treatment: &Treatment,
) -> Result<Vec<u32>, String> {
    let words = front_end(text, language, env, treatment)?;
    treat(words, treatment)
}

fn treat(words: Vec<u32>, treatment: &Treatment) -> Result<Vec<u32>, String> {
    let mut optimizer = spirv_tools::opt::create(Some(TargetEnv::Universal_1_6));
    match treatment {
        Treatment::Plain | Treatment::Debug | Treatment::Small => return Ok(words),
        Treatment::Performance => {
            optimizer.register_performance_passes();
        }
        Treatment::Passes(passes) => {
            for pass in passes {
                optimizer.register_pass(*pass);
            }
        }
    }
    let options = spirv_tools::opt::Options {
        validator_options: Some(ValidatorOptions { skip_block_layout: true, ..ValidatorOptions::default() }),
        preserve_bindings: false,
        preserve_spec_constants: true,
        ..spirv_tools::opt::Options::default()
    };
    let done = optimizer.optimize(&words, &mut |_: spirv_tools::error::Message| {}, Some(options));
    done.map(|binary| binary.as_words().to_vec()).map_err(|error| error.to_string())
}

fn front_end(text: &str, language: Language, env: &str, treatment: &Treatment) -> Result<Vec<u32>, String> {
    let failed = |error: std::io::Error| error.to_string();
    let folder = tempfile::tempdir().map_err(failed)?;
    let out = folder.path().join("out.spv");
    let mut command = Command::new("glslangValidator");
    command.args(["--stdin", "-S", "comp", "-V", "--target-env", env, "-o"]).arg(&out);
    if language == Language::Hlsl {
        command.args(["-D", "-e", "main"]);
    }
    match treatment {
        Treatment::Debug => drop(command.arg("-Od")),
        Treatment::Small => drop(command.arg("-Os")),
        _ => {}
    }
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(text.as_bytes()).map_err(failed)?;
    }
    let done = child.wait_with_output().map_err(failed)?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let bytes = std::fs::read(&out).map_err(failed)?;
    Ok(bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// SPIR-V assembly into words.
pub(crate) fn assemble(text: &str, treatment: &Treatment) -> Result<Vec<u32>, String> {
    let assembler = spirv_tools::assembler::create(Some(TargetEnv::Vulkan_1_3));
    let words = assembler
        .assemble(text, AssemblerOptions::default())
        .map_err(|error| error.to_string())?
        .as_words()
        .to_vec();
    treat(words, treatment)
}

/// Whether a module is valid in Vulkan 1.3 with the layouts that devices may allow.
///
/// # Errors
/// The validator's complaint.
pub fn validate(words: &[u32]) -> Result<(), String> {
    let options = ValidatorOptions {
        relax_block_layout: Some(true),
        uniform_buffer_standard_layout: true,
        scalar_block_layout: true,
        ..ValidatorOptions::default()
    };
    let validator = spirv_tools::val::create(Some(TargetEnv::Vulkan_1_3));
    validator.validate(words, Some(options)).map_err(|error| error.to_string())
}
