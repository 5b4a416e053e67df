//! The code of several steps: built side by side, or in the background while the list runs unfused.

use std::{
    cell::Cell,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread::{self, ThreadId},
};

use ahash::AHashMap;
use parking_lot::{Condvar, Mutex};
use vkfuse_cache::Cached;

use crate::{
    code::programs::{Program, Programs},
    error::{BuildError, Error},
    jit::Step,
    report::list::StepReport,
};

/// Most threads that build the steps of one list.
const MAX_THREADS: usize = 8;

/// Steps that were asked for in the background, by key.
type Builds = AHashMap<[u8; 32], Build>;

/// The builds in the background, and the threads that wait for them.
#[derive(Debug, Default)]
pub(crate) struct Background {
    builds: Mutex<Builds>,
    built: Condvar,
}

/// The names of the kernels of a step.
pub(crate) type Label<'a> = &'a (dyn Fn(&Step) -> Arc<str> + Sync);

/// Runs it; where it panics, that is an error with the message.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, BuildError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        // What it was thrown with is the caller's, and may panic as it is dropped.
        if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            mem::forget(another);
        }
        BuildError::Panic(text.unwrap_or_else(|| "a panic without a message".to_owned()))
    })
}

/// As [`caught`], of what is about a kernel.
pub(crate) fn attempted<T>(
    kernel: impl FnOnce() -> String,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    caught(work).unwrap_or_else(|source| Err(Error::Build { kernel: kernel(), source }))
}

thread_local! {
    static BUILDER: Cell<Option<ThreadId>> = const { Cell::new(None) };
}

/// The thread that builds what this one builds: itself, or the one that it helps.
pub(crate) fn builder() -> ThreadId {
    BUILDER.get().unwrap_or_else(|| thread::current().id())
}

/// How far a step is that was asked for in the background and is not in the memory cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Build {
    /// A thread is at it.
    Running(ThreadId),
    /// It cannot be built. A call that needs it tries again, and gets the error.
    Failed,
}

impl Programs {
    /// The programs of steps, in order. Where several have to be built, that is done at the same time.
    pub(crate) fn programs_of(
        &self,
        label: Label<'_>,
        steps: &[Step],
    ) -> Result<Vec<(Cached<Program>, StepReport)>, Error> {
        let missing = steps.iter().filter(|step| !self.has(&step.key)).count();
        // How many cores there are is read from files: only where it matters.
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        let threads = if missing < 2 { 1 } else { missing.min(cores()).min(MAX_THREADS) };
        if threads < 2 {
            return steps.iter().map(|step| self.program(&label(step), step)).collect();
        }
        let next = AtomicUsize::new(0);
        let built: Vec<OnceLock<Result<_, Error>>> = steps.iter().map(|_| OnceLock::new()).collect();
        let work = || {
            while let Some((step, place)) = {
                let at = next.fetch_add(1, Relaxed);
                steps.get(at).zip(built.get(at))
            } {
                let _ = place.set(self.program(&label(step), step));
            }
        };
        let helped = builder();
        let help = move || {
            BUILDER.set(Some(helped));
            work();
        };
        thread::scope(|scope| {
            for _ in 1..threads {
                // Where there can be no thread, the others do its part.
                let _ = thread::Builder::new().name("vkfuse build".to_owned()).spawn_scoped(scope, help);
            }
            work();
        });
        let built = built.into_iter().zip(steps);
        built
            .map(|(built, step)| match built.into_inner() {
                Some(built) => built,
                None => self.program(&label(step), step),
            })
            .collect()
    }

    /// Whether a list is to run unfused for now, because some of its code is not there. Sees to it that it will be.
    pub(crate) fn building(self: &Arc<Self>, label: Label<'_>, steps: &[Step]) -> bool {
        if !self.keeps() {
            return false;
        }
        let missing: Vec<&Step> = steps.iter().filter(|step| !self.has(&step.key)).collect();
        let mut builds = self.background.builds.lock();
        if missing.iter().any(|step| builds.get(&step.key) == Some(&Build::Failed)) {
            return false;
        }
        for step in &missing {
            if builds.contains_key(&step.key) {
                continue;
            }
            let (programs, step, label) = (self.clone(), (*step).clone(), label(step));
            let (key, background) = (step.key, self.background.clone());
            let build = move || {
                // The thread drops its reference to the device here, before completion is signalled.
                let work = move || programs.program(&label, &step).is_ok();
                let is_built = caught(work).unwrap_or(false);
                let mut builds = background.builds.lock();
                if is_built {
                    builds.remove(&key);
                } else {
                    builds.insert(key, Build::Failed);
                }
                drop(builds);
                background.built.notify_all();
            };
            let spawned = thread::Builder::new().name("vkfuse build".to_owned()).spawn(build);
            let Ok(thread) = spawned else { return false };
            builds.insert(key, Build::Running(thread.thread().id()));
        }
        !missing.is_empty()
    }
}

impl Background {
    /// Waits until no other thread builds anything in the background.
    pub(crate) fn wait(&self) {
        let own = thread::current().id();
        let running = |builds: &mut Builds| {
            builds.values().any(|build| matches!(build, Build::Running(thread) if *thread != own))
        };
        self.built.wait_while(&mut self.builds.lock(), running);
    }
}
