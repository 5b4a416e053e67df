//! Where events go.
//!
//! # Guarantees
//! - A panic inside of `noted` ends the capture of the process (or what is fused in it), once said, and nothing else.
//! - A process that was forked writes a file of its own.

use crate::role;
use crate::trace::{Contents, Event, FORMAT};
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// Bytes of contents that are written if the environment sets no limit.
const LIMIT: u64 = 2 << 30;

static STOPPED: AtomicBool = AtomicBool::new(false);

/// Whether the layer failed, and captures nothing any more.
pub(crate) fn is_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

/// Notes something of a Vulkan call. A panic ends the capture.
pub(crate) fn noted<T: Default>(call: &str, work: impl FnOnce() -> T) -> T {
    if is_stopped() {
        return T::default();
    }
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        let reason = format!("{call}: {text}");
        // What says so may fail as well.
        let _ = catch_unwind(AssertUnwindSafe(|| match role::fuses() {
            true => drop(writeln!(
                std::io::stderr(),
                "vkfuse: the layer failed, and fuses nothing more: {reason}"
            )),
            false => emit(&Event::Stopped { reason }),
        }));
        STOPPED.store(true, Ordering::Relaxed);
        T::default()
    })
}

/// A lock that a panic of another thread does not take away.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says on the standard error what is wrong with a variable.
pub(crate) fn warn(problem: &str) {
    let _ = writeln!(std::io::stderr(), "vkfuse: {problem}");
}

struct Settings {
    folder: PathBuf,
    contents: Contents,
    limit: u64,
}

static SETTINGS: LazyLock<Settings> = LazyLock::new(|| {
    let said = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let contents = match said(crate::CONTENTS).as_deref() {
        Some("before") => Contents::Before,
        Some("both") => Contents::Both,
        None | Some("none") => Contents::None,
        Some(other) => {
            warn(&format!("{}={other} is left out: it is none, before or both", crate::CONTENTS));
            Contents::None
        }
    };
    let limit = said(crate::LIMIT).map(|limit| (limit.parse().ok(), limit));
    if let Some((None, text)) = &limit {
        warn(&format!(
            "{}={text} is left out: it is a number of bytes, and {LIMIT} without it",
            crate::LIMIT
        ));
    }
    let limit = limit.and_then(|(limit, _)| limit).unwrap_or(LIMIT);
    let folder = said(crate::FOLDER).unwrap_or_else(|| "vkfuse-capture".to_owned());
    // The program may change its folder.
    let folder = std::path::absolute(&folder).unwrap_or_else(|_| PathBuf::from(folder));
    Settings { folder, contents, limit }
});

/// Which contents of buffers are asked for.
pub(crate) fn contents() -> Contents {
    if role::fuses() { Contents::None } else { SETTINGS.contents }
}

/// The file that is open, and what was written beside it.
struct Output {
    process: u32,
    file: Option<BufWriter<File>>,
    seen: HashSet<[u8; 32]>,
    held: u64,
    missing: HashSet<String>,
    /// The last event, where that is a wait: a program may ask all the time.
    waited: Option<(&'static str, i32)>,
}

static OUTPUT: LazyLock<Mutex<Option<Output>>> = LazyLock::new(|| Mutex::new(None));

fn with_output<T>(work: impl FnOnce(&mut Output) -> T) -> T {
    let mut output = lock(&OUTPUT);
    let process = std::process::id();
    if output.as_ref().is_none_or(|output| output.process != process) {
        // What a fork left unwritten is its parent's to write.
        std::mem::forget(output.take());
        *output = Some(Output::open(process));
    }
    work(output.get_or_insert_with(|| Output::open(process)))
}

impl Output {
    fn open(process: u32) -> Output {
        let folder = &SETTINGS.folder;
        let path = folder.join(format!("events.{process}.jsonl"));
        let made =
            ["modules", "bytes"].iter().try_for_each(|part| std::fs::create_dir_all(folder.join(part)));
        let file = made.and_then(|()| File::options().create(true).append(true).open(&path));
        if let Err(error) = &file {
            let _ = writeln!(std::io::stderr(), "vkfuse: cannot write {}: {error}", path.display());
        }
        let file = file.ok().map(BufWriter::new);
        let mut output =
            Output { process, file, seen: HashSet::new(), held: 0, missing: HashSet::new(), waited: None };
        let program = std::env::current_exe().unwrap_or_default().display().to_string();
        output.write(&Event::Start { format: FORMAT, program, contents: SETTINGS.contents });
        output
    }

    fn write(&mut self, event: &Event) {
        self.waited = None;
        let Some(file) = &mut self.file else { return };
        let line = serde_json::to_string(event).unwrap_or_default();
        if let Err(error) = file.write_all(line.as_bytes()).and_then(|()| file.write_all(b"\n")) {
            let _ = writeln!(std::io::stderr(), "vkfuse: the capture ends: {error}");
            self.file = None;
        }
    }

    fn flush(&mut self) {
        if let Some(file) = &mut self.file {
            let _ = file.flush();
        }
    }

    /// Writes a file that is named by what is in it, and returns the name.
    fn beside(&mut self, part: &str, extension: &str, bytes: &[u8]) -> (String, bool) {
        let hash = blake3::hash(bytes);
        let name = hash.to_hex().to_string();
        let is_new = self.seen.insert(*hash.as_bytes());
        let path = SETTINGS.folder.join(part).join(format!("{name}{extension}"));
        if is_new && self.file.is_some() && !path.exists() {
            if let Err(error) = std::fs::write(&path, bytes) {
                let _ = writeln!(std::io::stderr(), "vkfuse: cannot write {}: {error}", path.display());
            }
            self.held += bytes.len() as u64;
        }
        (name, is_new)
    }
}

/// Writes an event.
pub(crate) fn emit(event: &Event) {
    if role::fuses() {
        return;
    }
    with_output(|output| output.write(event));
}

/// Writes that the host waited or asked; once where it does the same again.
pub(crate) fn waited(call: &'static str, result: i32) {
    if role::fuses() {
        return;
    }
    with_output(|output| {
        if output.waited != Some((call, result)) {
            output.write(&Event::Wait { call: call.to_owned(), result });
            output.waited = Some((call, result));
            output.flush();
        }
    });
}

/// Brings everything into the files: a process may end without a word.
pub(crate) fn flush() {
    if role::fuses() {
        return;
    }
    with_output(Output::flush);
}

/// Says what is not captured, once for each call and detail.
pub(crate) fn missing(call: &str, detail: &str) {
    if role::fuses() {
        return;
    }
    with_output(|output| {
        if output.missing.insert(format!("{call}: {detail}")) {
            output.write(&Event::Missing { call: call.to_owned(), detail: detail.to_owned() });
        }
    });
}

/// Keeps a module, and returns its hash.
pub(crate) fn module(code: &[u8]) -> String {
    with_output(|output| {
        let (hash, is_new) = output.beside("modules", ".spv", code);
        if is_new {
            output.write(&Event::Module { hash: hash.clone(), bytes: code.len() });
        }
        hash
    })
}

/// Keeps contents of buffers, and returns their hash.
pub(crate) fn bytes(bytes: &[u8]) -> String {
    with_output(|output| output.beside("bytes", "", bytes).0)
}

/// Whether as many bytes of contents may still be taken.
pub(crate) fn has_room(bytes: u64) -> bool {
    with_output(|output| output.held.saturating_add(bytes) <= SETTINGS.limit)
}

/// A number for an object, never used again.
pub(crate) fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A number for the calling thread.
pub(crate) fn thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static OWN: u64 = NEXT.fetch_add(1, Ordering::Relaxed));
    OWN.try_with(|own| *own).unwrap_or(0)
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace;
    use std::process::Command;

    #[test]
    fn numbers_in_hexadecimal() {
        assert_eq!(hex(&[0, 0x1f, 0xff]), "001fff");
    }

    /// In a process of its own, which writes a capture: itself, again.
    #[test]
    fn a_panic_ends_the_capture_and_not_the_program() {
        if std::env::var_os("VKFUSE_TEST_PANICS").is_some() {
            noted("vkCmdFirst", || missing("vkCmdFirst", "before"));
            let result: u32 = noted("vkCmdSecond", || panic!("a fault of the layer"));
            noted("vkCmdThird", || missing("vkCmdThird", "after"));
            flush();
            assert_eq!((result, is_stopped()), (0, true));
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let own = std::env::current_exe().expect("this program");
        let mut program = Command::new(own);
        program.args(["--exact", "sink::tests::a_panic_ends_the_capture_and_not_the_program"]);
        program.env("VKFUSE_TEST_PANICS", "1").env(crate::FOLDER, folder.path());
        assert!(program.output().expect("it starts").status.success());
        let files = trace::files(folder.path()).expect("a folder");
        let events = trace::read(&files[0]).expect("events");
        assert!(matches!(&events[1], Event::Missing { call, .. } if call == "vkCmdFirst"), "{events:?}");
        assert!(
            matches!(&events[2], Event::Stopped { reason } if reason == "vkCmdSecond: a fault of the layer")
        );
        assert_eq!(events.len(), 3);
    }
}
