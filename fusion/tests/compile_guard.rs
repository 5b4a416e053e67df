//! A driver that dies of a module dies in a child process: the list runs unfused, and it is remembered.
//!
//! This program is its own guard: with the argument `guard` it serves as one that dies of fused code, by an abort, and notes in a
//! file how often it was started.

#[macro_use]
mod support;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use support::{Rig, Size, Submit, Workload};
use vkfuse::guard::{CompileGuard, serve_compile_guard_with};
use vkfuse::{BuildError, CacheOptions, ContextOptions, Error, Outcome, Reason};

/// What the guard dies of.
#[derive(Clone, Copy)]
enum Dies {
    Never,
    OfFused,
    Always,
    AtOnce,
}

fn main() {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|arg| arg == "guard") {
        let (dies, notes) = (args.next().unwrap_or_default(), args.next().unwrap_or_default());
        guard(&dies, Path::new(&notes));
        return;
    }
    // Options of the test harness are not for this one.
    let tests: [(&str, fn()); 5] = [
        ("code_is_compiled_by_the_guard_first", code_is_compiled_by_the_guard_first),
        ("a_death_is_the_guards_alone", a_death_is_the_guards_alone),
        ("a_death_is_remembered", a_death_is_remembered),
        ("a_kernel_that_kills_the_compiler_is_an_error", a_kernel_that_kills_the_compiler_is_an_error),
        ("without_a_guard_code_is_compiled_all_the_same", without_a_guard_code_is_compiled_all_the_same),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
}

fn guard(dies: &OsString, notes: &Path) {
    let note = |what: &str| {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(notes);
        file.and_then(|mut file| writeln!(file, "{what}")).expect("the test's folder can be written");
    };
    note("started");
    if dies == "at once" {
        std::process::abort();
    }
    serve_compile_guard_with(|words| {
        note("asked");
        if dies == "always" || dies == "of fused" && bindings(words) > 3 {
            std::process::abort();
        }
    })
    .expect("a context asks");
}

/// A kernel by itself has three buffers; the two that fuse have four.
fn bindings(words: &[u32]) -> usize {
    const DECORATE: u32 = 71;
    const BINDING: u32 = 33;
    let (mut at, mut count) = (5, 0);
    while let Some(&first) = words.get(at) {
        let binds = first & 0xffff == DECORATE && words.get(at + 2) == Some(&BINDING);
        count += usize::from(binds);
        at += (first >> 16).max(1) as usize;
    }
    count
}

/// A folder with a cache and what the guard notes.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place { folder: tempfile::tempdir().expect("a folder for the test") }
    }

    fn notes(&self) -> PathBuf {
        self.folder.path().join("notes")
    }

    fn noted(&self, what: &str) -> usize {
        let notes = std::fs::read_to_string(self.notes()).unwrap_or_default();
        notes.lines().filter(|line| *line == what).count()
    }

    fn guard(&self, dies: Dies) -> CompileGuard {
        let own = std::env::current_exe().expect("this program has a path");
        let dies = match dies {
            Dies::Never => "never",
            Dies::OfFused => "of fused",
            Dies::Always => "always",
            Dies::AtOnce => "at once",
        };
        CompileGuard::program(own, ["guard".into(), dies.into(), self.notes().into_os_string()])
    }

    fn rig(&self, guard: CompileGuard) -> Option<Rig> {
        let cache = CacheOptions::default().directory(self.folder.path().join("cache"));
        let options = ContextOptions::from_env().validation_layer(true).cache(cache);
        Rig::with(options.compile_guard(guard))
    }
}

/// Two kernels that fuse.
fn list() -> Workload {
    let mut list = Workload::default();
    let values = |k: u32| (0..1000u32).map(move |i| (i * k) as f32 * 0.25 - 9.0);
    let (x, w) = (list.floats("x", values(3)), list.floats("w", values(5)));
    let (t, y) = (list.poisoned("t", 1000), list.poisoned("y", 1000));
    let mul = |a, b, to| {
        Submit::new("chain/mul", Size::Groups([4, 1, 1])).read(0, a).read(1, b).write(2, to).push(1000)
    };
    list.submit(mul(x, w, t));
    list.submit(mul(t, w, y));
    list
}

fn code_is_compiled_by_the_guard_first() {
    let place = Place::new();
    let Some(rig) = place.rig(place.guard(Dies::Never)) else { return };
    let ran = list().check_equal(&rig);
    assert_eq!(ran.report().outcome, Outcome::Fused);
    // One process for all: the kernel by itself, and the list.
    assert_eq!((place.noted("started"), place.noted("asked")), (1, 2));
    list().check_equal(&rig);
    assert_eq!(place.noted("asked"), 2, "what is in memory is not compiled");
}

fn a_death_is_the_guards_alone() {
    let place = Place::new();
    let Some(rig) = place.rig(place.guard(Dies::OfFused)) else { return };
    let ran = list().check_equal(&rig);
    let Outcome::Refused { reason: Reason::CompilerDies { how } } = &ran.report().outcome else {
        panic!("{:?}", ran.report().outcome)
    };
    assert!(how.contains("signal 6") || cfg!(not(unix)), "{how}");
    assert_eq!(ran.report().dispatches, 2);
    // A new process for what comes next, if anything does; and the dead one's question is not asked again.
    let asked = place.noted("asked");
    let again = list().check_equal(&rig);
    assert!(matches!(again.report().outcome, Outcome::Refused { reason: Reason::CompilerDies { .. } }));
    assert_eq!(place.noted("asked"), asked);
}

fn a_death_is_remembered() {
    let place = Place::new();
    let Some(rig) = place.rig(place.guard(Dies::OfFused)) else { return };
    list().check_equal(&rig);
    drop(rig);
    // Another process would not know that the guard would live this time.
    let started = place.noted("started");
    let Some(rig) = place.rig(place.guard(Dies::Never)) else { return };
    let ran = list().check_equal(&rig);
    assert!(matches!(ran.report().outcome, Outcome::Refused { reason: Reason::CompilerDies { .. } }));
    assert!(place.noted("started") <= started + 1, "the unfused kernel may be asked about, the list is not");
}

fn a_kernel_that_kills_the_compiler_is_an_error() {
    let place = Place::new();
    let Some(rig) = place.rig(place.guard(Dies::Always)) else { return };
    let kernel = rig.kernel("chain/mul");
    let buffer = |_| rig.context.buffer::<f32>(256).expect("a buffer");
    let [a, b, c] = [0, 1, 2].map(buffer);
    let submitted = rig.queue.submit(|h| {
        h.arg(0, a.read()).arg(1, b.read()).arg(2, c.write()).push(&256u32).dispatch(&kernel, [1, 1, 1]);
    });
    match submitted {
        Err(Error::Build { source: BuildError::Died { .. }, .. }) => {}
        other => panic!("{other:?}"),
    }
    // The context goes on.
    rig.context.wait().expect("nothing is pending");
}

fn without_a_guard_code_is_compiled_all_the_same() {
    let place = Place::new();
    for guard in [place.guard(Dies::AtOnce), CompileGuard::program("/nonexistent/guard", ["x"])] {
        let Some(rig) = place.rig(guard) else { return };
        assert_eq!(list().check_equal(&rig).report().outcome, Outcome::Fused);
    }
}
