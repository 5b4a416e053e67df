//! The command line.

use crate::save::SaveArg;
use clap::builder::{NonEmptyStringValueParser, RangedU64ValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::PathBuf;
use vkfuse_cache::CacheOptions;

/// Run-time kernel fusion for Vulkan compute.
///
/// Exit status: 0 ran and all outputs are equal; 1 an output differs, or `check` found something; 2 the file, a module or the
/// command line is wrong; 3 no usable Vulkan device; 4 fusion was forced and the list is not one
/// group; 5 the device failed; `capture` and `fuse` end as their program does; 130 Ctrl-C ended `bench`, `check` or `cache warm` or `verify`, which print what they did until then.
#[derive(Parser)]
#[command(name = "vkfuse", version, about, long_about, propagate_version = true)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print neither the report nor how far it is: the exit status says how it ended. Errors, files and --json are as ever.
    #[arg(long, global = true)]
    pub(crate) quiet: bool,
    /// Whether messages on the standard error have colours.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
}

/// The name of a page; `-` is no file, and what is printed goes to the standard output anyway.
fn page(name: &str) -> Result<PathBuf, String> {
    if name == "-" { Err("a page is a file, name it".to_owned()) } else { Ok(name.into()) }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// Where it is a terminal, and NO_COLOR is not set.
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run the fusion list of a pipeline file, unfused and fused, and compare the outputs.
    Run(RunArgs),
    /// Show what a pipeline file would become on a device, and what the driver says of its code; nothing runs.
    Plan(PlanArgs),
    /// Look for races, accesses out of bounds and uninitialised reads in the list of a pipeline file.
    Check(CheckArgs),
    /// Time the fusion list of a pipeline file, unfused and fused, warm.
    Bench(BenchArgs),
    /// Show a kernel module's interface and every buffer access in it.
    Inspect(InspectArgs),
    /// List the Vulkan devices.
    Devices(DevicesArgs),
    /// Run a program under a Vulkan layer that writes down what it submits for compute; and look into what it wrote.
    Capture(CaptureArgs),
    /// Run a program under a Vulkan layer that fuses what it submits for compute. Its results stay what they are.
    Fuse(FuseArgs),
    /// Look into the cache on disk, or tidy it.
    Cache(CacheArgs),
    /// Compile what a process asks for on the standard input, in its stead.
    #[command(hide = true)]
    CompileGuard,
    /// Print what makes a shell complete this command.
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Write the pages of the manual into a folder, one for each command.
    Man {
        /// The folder.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

#[derive(Args)]
pub(crate) struct RunArgs {
    /// The pipeline file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// What to run; both compares the outputs bit for bit.
    #[arg(long, value_enum, default_value_t = Mode::Both)]
    pub(crate) mode: Mode,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
    /// Run the list this many times, from the same contents each time.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
    /// Write a page with a picture of the list and what the report says, which needs nothing beside it.
    #[arg(long, value_name = "PAGE", value_parser = page)]
    pub(crate) html: Option<PathBuf>,
    /// Write what a buffer holds after the list into a file: raw bytes, or numpy's format where it ends in `.npy`.
    #[arg(long, value_name = "NAME=FILE", value_parser = SaveArg::parse)]
    pub(crate) save: Vec<SaveArg>,
    /// Write the SPIR-V of each dispatch into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) dump_spirv: Option<PathBuf>,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct PlanArgs {
    /// The pipeline file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
    /// Plan for a device that is elsewhere, without a driver: a file that `vkfuse devices --json` wrote there, a profile of
    /// vulkan.gpuinfo.org, or `apple`.
    #[arg(long, value_name = "FILE", conflicts_with = "device")]
    pub(crate) limits: Option<PathBuf>,
    /// Write the SPIR-V of each dispatch into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) dump_spirv: Option<PathBuf>,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A number from 1 on: `1000`, `1k`, `1M`, `1G`.
fn count(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'M')) => (&text[..at], 1_000_000),
        Some((at, 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let count = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(unit));
    count
        .filter(|count| *count > 0)
        .ok_or_else(|| "expected a number from 1 on, such as 1000000 or 1M".to_owned())
}

/// What `check` takes of a file's buffers together, unless it is asked for more.
pub(crate) const MOST_CHECKED: u64 = 64 << 20;

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// The pipeline file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Refuse files whose buffers have more than this many bytes together.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "64M", value_parser = CacheOptions::parse_size)]
    pub(crate) max_bytes: u64,
    /// Give up after this many instructions of all invocations together.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "4294967296", value_parser = count)]
    pub(crate) max_steps: u64,
    /// Accesses outside of what is bound are defined, as with the feature robustBufferAccess2: they are notes and no findings.
    #[arg(long)]
    pub(crate) robust: bool,
    /// How many findings of each kind are listed; all are counted.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 16)]
    pub(crate) list: usize,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct BenchArgs {
    /// The pipeline files, one after the other. Where NAME.hand.toml is given as well as NAME.toml, it is the same list by hand, and the
    /// page compares the two.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
    /// Write a page with the bandwidths and tables of all results, which needs nothing beside it.
    #[arg(long, value_name = "PAGE", value_parser = page)]
    pub(crate) html: Option<PathBuf>,
    /// Timed repetitions, after those that warm up.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) iters: u32,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `run` and `bench` share.
#[derive(Args)]
pub(crate) struct DeviceArgs {
    /// The device: its index in `vkfuse devices`, or a part of its name.
    #[arg(long = "device", value_name = "NAME-OR-INDEX", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) device: Option<String>,
    /// How fusion is justified; overrides the file.
    #[arg(long, value_enum)]
    pub(crate) policy: Option<PolicyArg>,
    /// Switch the feature robustBufferAccess2 on, with which accesses outside of what is bound are defined, and keep to that.
    #[arg(long)]
    pub(crate) robust: bool,
    /// Use neither the memory nor the disk cache.
    #[arg(long, conflicts_with = "cache_dir")]
    pub(crate) no_cache: bool,
    /// The folder of the disk cache.
    #[arg(long, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct InspectArgs {
    /// A .spv module, or a .wgsl one where that front end is built in.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Only this entry point; all compute ones otherwise.
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct DevicesArgs {
    /// Print one JSON object and nothing else.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct FuseArgs {
    /// Say on the standard error, at its end, what was fused, and why not more.
    #[arg(long)]
    pub(crate) report: bool,
    /// Let each submission wait until its lists are planned and their code is built.
    #[arg(long)]
    pub(crate) wait: bool,
    /// The program, with its arguments, behind `--`.
    #[arg(value_name = "PROGRAM", last = true, required = true)]
    pub(crate) program: Vec<OsString>,
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct CaptureArgs {
    #[command(subcommand)]
    pub(crate) action: Option<CaptureAction>,
    /// The folder that is written.
    #[arg(long, value_name = "DIR", default_value = "vkfuse-capture")]
    pub(crate) to: PathBuf,
    /// Which contents of buffers are taken around each submission, which then waits for them.
    #[arg(long, value_enum, default_value_t = ContentsArg::None)]
    pub(crate) contents: ContentsArg,
    /// How many bytes of contents are written at most; 2 GiB otherwise.
    #[arg(long, value_name = "BYTES", value_parser = CacheOptions::parse_size)]
    pub(crate) limit: Option<u64>,
    /// The program, with its arguments, behind `--`.
    #[arg(value_name = "PROGRAM", last = true)]
    pub(crate) program: Vec<OsString>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ContentsArg {
    None,
    Before,
    /// Before and after.
    Both,
}

impl ContentsArg {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ContentsArg::None => "none",
            ContentsArg::Before => "before",
            ContentsArg::Both => "both",
        }
    }
}

#[derive(Subcommand)]
pub(crate) enum CaptureAction {
    /// Write a pipeline file for each submission that is unlike the ones before.
    ToLists {
        /// The folder of the capture.
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// The folder of the files; `lists` in that of the capture otherwise.
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
        /// Print one JSON object and nothing else.
        #[arg(long)]
        json: bool,
    },
    /// Say what fusion would gain, and which reasons for splits cost most.
    Report(CaptureReportArgs),
}

#[derive(Args)]
pub(crate) struct CaptureReportArgs {
    /// The folder of the capture.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
    /// Time each list this many times on the device, unfused and fused.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 0)]
    pub(crate) measure: u32,
    /// Write a page with pictures of the lists, which needs nothing beside it.
    #[arg(long, value_name = "PAGE", value_parser = page)]
    pub(crate) html: Option<PathBuf>,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    pub(crate) action: CacheAction,
    /// The folder of the disk cache.
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Print one JSON object and nothing else.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum CacheAction {
    /// List the entries, the last used first.
    Ls,
    /// Show what an entry was made from.
    Show {
        /// The key, or the start of it.
        #[arg(value_name = "KEY")]
        key: String,
    },
    /// Count entries and bytes.
    Stats,
    /// Read and check every file of the cache; exit status 1 if one is damaged.
    ///
    /// With pipelines or recordings their code is built as well and compared with what is stored; exit status 1 also
    /// if some differs.
    Verify {
        /// Pipeline files, or recordings.
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        work: WorkArgs,
    },
    /// Build ahead of time what the lists in these files need. Goes on where it was interrupted.
    Warm {
        /// Pipeline files, or recordings made with VKFUSE_CACHE_RECORD.
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        work: WorkArgs,
    },
    /// Remove what was used longest ago.
    Prune {
        /// How much may stay, such as 512M.
        #[arg(long, value_name = "SIZE")]
        to: String,
    },
    /// Remove everything.
    Clear,
    /// Remove entries, with what drivers made of them.
    Rm {
        /// Keys, or starts of them.
        #[arg(value_name = "KEY", required = true)]
        keys: Vec<String>,
    },
    /// Write entries into a file, for another machine.
    Export {
        /// The file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Keys, or starts of them; all entries otherwise.
        #[arg(value_name = "KEY")]
        keys: Vec<String>,
        /// Write what drivers made of them, too.
        #[arg(long)]
        driver_blobs: bool,
    },
    /// Store what is in a file that `export` wrote.
    Import {
        /// The file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Store what drivers made of the entries, too. It runs in the driver's process as it is: only from whom you
        /// trust.
        #[arg(long)]
        driver_blobs: bool,
    },
    /// Forget that processes died while a driver loaded what is stored for it, or compiled code.
    Forgive {
        /// The key of an entry, or the start of it; all entries otherwise.
        #[arg(value_name = "KEY")]
        key: Option<String>,
    },
    /// Make a key that signs what is put into a remote cache: a secret in FILE, and in FILE.pub what others trust.
    #[cfg_attr(not(feature = "remote"), command(hide = true))]
    Keygen {
        /// The file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Print the folder.
    Path,
    /// Say why the lists in a file would be found or not; or what makes two keys different.
    Explain {
        /// A pipeline file or a recording; or a key, or the start of it.
        #[arg(value_name = "FILE-OR-KEY")]
        what: String,
        /// Another key.
        #[arg(value_name = "OTHER-KEY")]
        other: Option<String>,
        /// The device: its index in `vkfuse devices`, or a part of its name.
        #[arg(long = "device", value_name = "NAME-OR-INDEX", value_parser = NonEmptyStringValueParser::new())]
        device: Option<String>,
        /// The lists run with the feature robustBufferAccess2, as with `run --robust`.
        #[arg(long, conflicts_with = "other")]
        robust: bool,
    },
}

/// What the commands that build code share.
#[derive(Args)]
pub(crate) struct WorkArgs {
    /// The device: its index in `vkfuse devices`, or a part of its name.
    #[arg(long = "device", value_name = "NAME-OR-INDEX", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) device: Option<String>,
    /// How many lists to build at a time; one for each processor otherwise.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) jobs: Option<usize>,
    /// The lists run with the feature robustBufferAccess2, as with `run --robust`.
    #[arg(long)]
    pub(crate) robust: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    Unfused,
    Fused,
    Both,
}

impl Mode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::Unfused => "unfused",
            Mode::Fused => "fused",
            Mode::Both => "both",
        }
    }

    pub(crate) fn unfused(self) -> bool {
        self != Mode::Fused
    }

    pub(crate) fn fused(self) -> bool {
        self != Mode::Unfused
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyArg {
    Prove,
    Trust,
}

impl Command {
    /// Whether the command prints one JSON object.
    pub(crate) fn is_json(&self) -> bool {
        match self {
            Command::Run(args) => args.json,
            Command::Plan(args) => args.json,
            Command::Check(args) => args.json,
            Command::Bench(args) => args.json,
            Command::Inspect(args) => args.json,
            Command::Devices(args) => args.json,
            Command::Cache(args) => args.json,
            Command::Capture(args) => match &args.action {
                Some(CaptureAction::ToLists { json, .. }) => *json,
                Some(CaptureAction::Report(args)) => args.json,
                None => false,
            },
            Command::Fuse(_) | Command::CompileGuard | Command::Completions { .. } | Command::Man { .. } => {
                false
            }
        }
    }
}
