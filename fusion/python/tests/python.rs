//! Runs the tests in Python (`tests/*.py`) on the package with the module that Cargo has just built.
//!
//! `VKFUSE_PYTHON` names the interpreter, `python3` otherwise. Where it has no numpy or no pytest they are skipped, which is
//! written past the test harness's capture; with `VKFUSE_REQUIRE_PYTHON` set, as in CI, that is a failure.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

fn interpreter() -> Option<String> {
    let python = std::env::var("VKFUSE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let check = "import sys, numpy, pytest; sys.exit(sys.version_info < (3, 11))";
    let output = Command::new(&python).args(["-c", check]).output();
    let problem = match output {
        Ok(output) if output.status.success() => return Some(python),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    assert!(std::env::var_os("VKFUSE_REQUIRE_PYTHON").is_none(), "{python} cannot run them: {problem}");
    let why = problem.lines().last().unwrap_or("too old");
    let _ = writeln!(std::io::stderr(), "SKIPPED python: {python} cannot run them: {why}");
    None
}

/// The library of this build, beside which the test lies.
fn module() -> PathBuf {
    let own = std::env::current_exe().expect("a path");
    let name = format!("{}vkfuse_python{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    own.parent().expect("a folder").join(name)
}

#[test]
fn the_package_does_what_its_tests_say() {
    let Some(python) = interpreter() else { return };
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a folder");
    let package = folder.path().join("vkfuse");
    std::fs::create_dir(&package).expect("it is writable");
    for file in std::fs::read_dir(own.join("python/vkfuse")).expect("the package") {
        let file = file.expect("a file");
        if file.path().is_file() {
            std::fs::copy(file.path(), package.join(file.file_name())).expect("it is copied");
        }
    }
    std::fs::copy(module(), package.join("_native.abi3.so")).expect("the module is built");
    let output = Command::new(python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no"])
        .arg(own.join("tests"))
        .env("PYTHONPATH", folder.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("VKFUSE_CACHE_DIR", folder.path().join("cache"))
        .current_dir(folder.path())
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
