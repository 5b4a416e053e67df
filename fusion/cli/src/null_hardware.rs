//! Families of AMD's hardware by name, on a machine that has none: Mesa's RADV compiles for them.
//!
//! The driver is asked by the environment of the process, so the command is run once more, in one that asks.

use crate::args::{CacheAction, Command};
use crate::stop::{Status, Stop};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What RADV calls the families that it compiles for.
const FAMILIES: [&str; 20] = [
    "bonaire",
    "fiji",
    "gfx1036",
    "gfx1100",
    "gfx1101",
    "gfx1102",
    "gfx1103",
    "hawaii",
    "navi10",
    "navi14",
    "navi21",
    "navi22",
    "navi23",
    "navi24",
    "pitcairn",
    "polaris10",
    "raven",
    "vangogh",
    "vega10",
    "vega20",
];

/// Where drivers are listed.
const FOLDERS: [&str; 3] = ["/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d"];

/// The variable by which RADV is asked.
const ASKS: &str = "RADV_FORCE_FAMILY";

/// The family that a command names as its device, where no driver was asked for it yet.
pub(crate) fn family(command: &Command) -> Option<&str> {
    let device = match command {
        Command::Plan(args) if args.limits.is_none() => args.device.device.as_deref(),
        Command::Cache(args) => match &args.action {
            CacheAction::Warm { work, .. } | CacheAction::Verify { work, .. } => work.device.as_deref(),
            CacheAction::Explain { device, .. } => device.as_deref(),
            _ => None,
        },
        _ => None,
    };
    device.filter(|name| FAMILIES.contains(name) && std::env::var_os(ASKS).is_none())
}

/// An error that there is no such device, with what is compiled for without a device.
pub(crate) fn hint(command: &Command, stop: Stop) -> Stop {
    let (device, compiles) = match command {
        Command::Plan(args) if args.limits.is_none() => (args.device.device.as_deref(), true),
        Command::Cache(args) => match &args.action {
            CacheAction::Warm { work, .. } | CacheAction::Verify { work, .. } => {
                (work.device.as_deref(), true)
            }
            CacheAction::Explain { device, .. } => (device.as_deref(), true),
            _ => (None, true),
        },
        Command::Run(args) => (args.device.device.as_deref(), false),
        Command::Bench(args) => (args.device.device.as_deref(), false),
        _ => (None, false),
    };
    let Some(name) = device.filter(|name| stop.status == Status::NoDevice && name.parse::<usize>().is_err())
    else {
        return stop;
    };
    let more = match (compiles, FAMILIES.contains(&name)) {
        (true, _) => format!("families of AMD's that can be compiled for: {}", FAMILIES.join(", ")),
        (false, true) => {
            format!("`vkfuse plan` and `vkfuse cache warm` compile for {name}, and nothing runs on it")
        }
        (false, false) => return stop,
    };
    Stop { message: format!("{}; {more}", stop.message), ..stop }
}

/// Runs this command once more, where RADV compiles for the family.
pub(crate) fn run(family: &str) -> Result<ExitCode, Stop> {
    let driver = driver().ok_or_else(|| {
        Stop::wrong(format!(
            "{family} takes Mesa's RADV (Debian's mesa-vulkan-drivers), which is not installed"
        ))
    })?;
    let mut again = std::process::Command::new(std::env::current_exe()?);
    again.args(std::env::args_os().skip(1)).env(ASKS, family).env("VK_DRIVER_FILES", &driver);
    let status = again.env("VK_ICD_FILENAMES", &driver).status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// The file by which the loader finds RADV.
fn driver() -> Option<PathBuf> {
    let files = FOLDERS.iter().filter_map(|folder| Path::new(folder).read_dir().ok()).flatten().flatten();
    files.map(|file| file.path()).find(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with("radeon_icd") && name.ends_with(".json")
    })
}
