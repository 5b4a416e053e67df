//! The spirv-val on `PATH`, a process for each module.
//!
//! # Requires
//! - `PATH` and the program stay as they are while the process runs: it is looked for once
//!
//! # Guarantees
//! - a program that cannot be started, or is ended by a signal, is a complaint and never an approval

use std::io::{ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use super::{Complaint, Rules};

const NAME: &str = "spirv-val";

/// The program; nothing where there is none.
fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let look = || {
        let found = find();
        if found.is_none() {
            tracing::warn!(
                "there is no {NAME} on PATH: kernels are not validated, and only vkfuse's own checks stand between a wrong \
                 module and the driver; install SPIRV-Tools (Debian: spirv-tools), or build with the feature \
                 `compiled-spirv-tools`"
            );
        }
        found
    };
    PROGRAM.get_or_init(look).as_deref()
}

/// Looks for the program. A relative folder would be another one in each working directory.
fn find() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let name = format!("{NAME}{}", std::env::consts::EXE_SUFFIX);
    let absolute = std::env::split_paths(&folders).filter(|folder| folder.is_absolute());
    absolute.map(|folder| folder.join(&name)).find(|program| is_program(program))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

pub(super) fn is_there() -> bool {
    program().is_some()
}

/// Release, commit and date, and a hash of the program, for instance `spirv-val SPIRV-Tools v2023.1 unknown hash, 2023-02-15T14:03:51,
/// program 5d1f0c33a1b2c4e8`. Programs of one version are not all alike: one may have been patched, or broken and repaired.
pub(super) fn name() -> Option<String> {
    let program = program()?;
    let bytes = std::fs::read(program).ok()?;
    let hash = blake3::hash(&bytes).to_hex();
    let release = release(&bytes).or_else(|| asked(program))?;
    Some(format!("{NAME} {release}, program {}", &hash[..16]))
}

/// What the text of releases begins with.
const RELEASE: &[u8] = b"SPIRV-Tools v";

/// The release as it stands in the program, which it does where the tools are in it and not in a library beside it.
fn release(program: &[u8]) -> Option<String> {
    let texts = program.split(|&byte| byte == 0 || byte == b'\n');
    let text = texts.filter_map(|text| text.strip_prefix(RELEASE)).next()?;
    let text = std::str::from_utf8(text).ok()?;
    Some(format!("SPIRV-Tools v{}", text.trim_end()))
}

/// The release that the program gives when it is asked, on one of its outputs or the other.
fn asked(program: &Path) -> Option<String> {
    let Output { stdout, stderr, .. } = Command::new(program).arg("--version").output().ok()?;
    let said = [stdout, stderr].concat();
    let said = String::from_utf8_lossy(&said);
    said.lines().find(|line| line.contains("SPIRV-Tools")).map(|line| line.trim().to_owned())
}

pub(super) fn check(rules: Rules, words: &[u32]) -> Result<(), Complaint> {
    let Some(program) = program() else { return Ok(()) };
    let output = run(program, rules, words).map_err(not_run)?;
    if output.status.success() {
        return Ok(());
    }
    let complaint = complaint(&String::from_utf8_lossy(&output.stderr));
    // It is the program that something is wrong with, where it says nothing of the module.
    let ended = || not_run(format!("{} ended without a word: {}", program.display(), output.status));
    Err(complaint.unwrap_or_else(ended))
}

fn not_run(detail: String) -> Complaint {
    Complaint { not_run: true, ..Complaint::new(0, detail) }
}

/// Why there is no file for a module.
fn no_file(error: std::io::Error) -> String {
    let folder = std::env::temp_dir();
    format!(
        "a file in the temporary folder {} cannot be written: {error}; TMPDIR names another folder",
        folder.display()
    )
}

/// Why the program does not start. It was there a moment ago.
fn no_start(program: &Path, error: &std::io::Error) -> String {
    let advice = if error.kind() == ErrorKind::NotFound { "; install SPIRV-Tools" } else { "" };
    format!("{} cannot be run: {error}{advice}", program.display())
}

/// The module comes from a file without a name. Not through a pipe: writing into one whose reader has ended is a signal, by
/// which programs that are not written in Rust end.
fn run(program: &Path, rules: Rules, words: &[u32]) -> Result<Output, String> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let write = || {
        let mut module = tempfile::tempfile()?;
        module.write_all(&bytes)?;
        module.rewind()?;
        Ok(module)
    };
    let module = write().map_err(no_file)?;
    let env = match rules {
        Rules::Vulkan => "vulkan1.3",
        Rules::Universal => "spv1.6",
    };
    Command::new(program)
        .args(["--target-env", env, "--relax-block-layout", "--uniform-buffer-standard-layout"])
        .args(["--scalar-block-layout", "-"])
        .stdin(Stdio::from(module))
        .output()
        .map_err(|error| no_start(program, &error))
}

/// What is objected to, such as `error: line 17: Missing OpFunctionEnd at end of module.`: the last of these lines, whose number
/// is that of an instruction.
fn complaint(said: &str) -> Option<Complaint> {
    let numbered = |line: &str| {
        let (index, detail) = line.strip_prefix("error: line ")?.split_once(": ")?;
        Some(Complaint::new(index.parse().ok()?, detail.to_owned()))
    };
    let plain = || said.lines().next().map(|line| Complaint::new(0, line.to_owned()));
    said.lines().rev().find_map(numbered).or_else(plain)
}
