//! Many processes on one store: hammered, killed at random, stopped, racing for one key.
//!
//! The test binary runs itself again as the worker. Every worker reports what it did; what it says it
//! published must be there, and what anybody reads must be right. `VKFUSE_LONG_TESTS=1` runs the long
//! versions.

mod forks;
mod hammer;
mod limits;
mod other;
mod outside;
mod payload;
mod single;
mod storm;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

pub(crate) const ROLE: &str = "VKFUSE_TEST_ROLE";
pub(crate) const DIR: &str = "VKFUSE_TEST_DIR";
pub(crate) const SEED: &str = "VKFUSE_TEST_SEED";
pub(crate) const KEYS: u64 = 2000;

pub(crate) fn is_long() -> bool {
    std::env::var_os("VKFUSE_LONG_TESTS").is_some()
}

pub(crate) fn pick<T>(quick: T, long: T) -> T {
    if is_long() { long } else { quick }
}

pub(crate) fn spawn(role: &str, dir: &Path, seed: u64) -> Child {
    spawn_under(&[], role, dir, seed)
}

/// A worker that is started by another program, such as `nice`.
pub(crate) fn spawn_under(program: &[&str], role: &str, dir: &Path, seed: u64) -> Child {
    let worker = std::env::current_exe().unwrap();
    start(program.iter().map(OsStr::new).chain([worker.as_os_str()]), role, dir, seed)
}

/// A worker of another build of this test.
pub(crate) fn spawn_of(build: &OsStr, role: &str, dir: &Path, seed: u64) -> Child {
    start([build].into_iter(), role, dir, seed)
}

fn start<'a>(mut words: impl Iterator<Item = &'a OsStr>, role: &str, dir: &Path, seed: u64) -> Child {
    Command::new(words.next().unwrap())
        .args(words)
        .args(["--exact", "worker", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env(DIR, dir)
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until a worker has said so much.
pub(crate) fn wait_for(child: &mut Child, line: &str) -> BufReader<ChildStdout> {
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains(line) {
        text.clear();
        assert_ne!(reader.read_line(&mut text).unwrap(), 0, "no {line}");
    }
    reader
}

/// The other side of the tests below; does nothing when run as a test.
#[test]
fn worker() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let dir = PathBuf::from(std::env::var_os(DIR).unwrap());
    let seed: u64 = std::env::var(SEED).unwrap().parse().unwrap();
    let (name, argument) = role.split_once(' ').unwrap_or((&role, "0"));
    let argument: u64 = argument.parse().unwrap();
    match name {
        "hammer" => hammer::hammer(&dir, seed, argument, false),
        "ruins" => hammer::hammer(&dir, seed, argument, true),
        "storm" => storm::storm(&dir, seed, argument),
        "race" => single::race(&dir, seed),
        "hold" => single::hold(&dir),
        "die-loading" => single::die_loading(&dir),
        "load" => single::load(&dir),
        "children" => single::children(&dir),
        "fork" => forks::fork_while_open(&dir),
        "hold-and-fork" => forks::hold_and_fork(&dir),
        "read" => outside::read(&dir, seed),
        "few-handles" => limits::few_handles(&dir),
        "little-memory" => limits::little_memory(&dir),
        "no-memory" => limits::no_memory(&dir, argument),
        other => panic!("no role {other}"),
    }
}
