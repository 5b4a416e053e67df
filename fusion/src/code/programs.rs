//! Code for a step: from the memory cache, from the persistent store, or built.
//!
//! Memory has one map: a step's key to its pipeline. Behind it the persistent store keeps, under the step's recipe, the
//! SPIR-V, and beside that the driver's own blob under the driver's identity: a new driver makes the blob useless and not the
//! SPIR-V. The first to need a step builds it; others who need it meanwhile wait for that.

mod pipeline;

use std::{
    cell::OnceCell,
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use vkfuse_cache::{
    self as cache, Cached, Entry, Event, Failure, Hit, Key, Layer, MemoryCache, MemoryStats, Store,
    StoreStats,
};

use super::{
    guard::Guard,
    keep::{note, warn_of_stores},
    kernels::KernelArtifacts,
    key::Identity,
    log,
};
use crate::{
    code::build::Background,
    error::{BuildError, Error},
    jit::{self, ArtifactStore, Bound, CodeChange, JitError, Limits, Step},
    options::{
        cache::{CacheOptions, Disk},
        environment,
        guard::CompileGuard,
    },
    report::{
        list::{CodeStatistic, StepReport, Tier},
        stats::{Counters, Stats, count},
    },
    vk::{Gpu, Pipeline},
};

/// A pipeline, ready to be dispatched.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) pipeline: Arc<Pipeline>,
    /// How its code differs from the module of the one kernel that it runs.
    changes: Box<[CodeChange]>,
}

/// Bytes of the bindings of a step that are buffers of some kind.
fn bound_bytes(step: &Step, which: impl Fn(&Bound) -> bool) -> u64 {
    let buffers = step.bindings.iter().filter(|bound| bound.kind.texture().is_none() && which(bound));
    buffers.fold(0, |sum, bound| sum.saturating_add(bound.len))
}

/// The SPIR-V of a step.
#[derive(Debug)]
pub(crate) struct Code {
    words: Arc<[u32]>,
    /// Whether it was taken from the store without being built.
    is_stored: bool,
}

/// A step that is needed. Its key in the store is made on demand, since that takes longer than a look-up in memory.
struct Wanted<'a> {
    label: &'a str,
    step: &'a Step,
    key: OnceCell<Key>,
}

impl Wanted<'_> {
    fn key(&self, identity: &Identity) -> &Key {
        self.key.get_or_init(|| identity.key(self.step))
    }
}

/// The section of an entry that holds the code.
pub(crate) const SPIRV: &str = "spirv";

/// The section of an entry that says which spirv-val accepted the code; code that none has seen has no such section.
pub(crate) const VALIDATED: &str = "validated";

/// The section of an entry that says how a process ended that had the driver compile code.
pub const DEATH: &str = "death";

/// What the caches of a context have done since it was made, and how full they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// The map of pipelines in memory.
    pub pipelines: MemoryStats,
    /// The persistent store.
    pub store: StoreStats,
}

/// The caches.
pub(crate) struct Programs {
    pub(crate) gpu: Gpu,
    counters: Arc<Counters>,
    /// Where the SPIR-V of every step is written for people to look at.
    dump_spirv: Option<PathBuf>,
    /// What is built in the background.
    pub(crate) background: Arc<Background>,
    memory: Option<Memory>,
    pub(crate) store: Store,
    pub(crate) identity: Identity,
    /// Whether the driver is asked about the code it makes.
    statistics: bool,
    /// Whether what the store has is built all the same, and compared.
    verify: bool,
    /// Whether nothing is written to the store.
    look_only: bool,
    artifacts: Option<Arc<KernelArtifacts>>,
    guard: Option<Guard>,
    pub(crate) recorder: Option<log::Recorder>,
}

/// Pipelines by the key of their step.
type Memory = MemoryCache<[u8; 32], Program, Error>;

impl std::fmt::Debug for Programs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Programs").field("store", &self.store.path()).finish_non_exhaustive()
    }
}

impl Programs {
    pub(crate) fn new(
        gpu: &Gpu,
        limits: &Limits,
        counters: &Arc<Counters>,
        (dump_spirv, statistics): (Option<PathBuf>, bool),
        options: &CacheOptions,
        guard: &CompileGuard,
    ) -> Programs {
        let mut resolved = resolve(options);
        // Hits in memory are reported only on request.
        let is_heard = resolved.trace || options.events.0.is_some();
        let subscriber = subscriber(resolved.trace, options.events.0.clone(), resolved.store.dir.clone());
        resolved.store.subscriber = Some(subscriber.clone());
        let memory = (options.memory_entries != Some(0)).then(|| {
            let memory = Memory::new(resolved.memory);
            if is_heard { memory.with_subscriber(subscriber) } else { memory }
        });
        let store = Store::open(resolved.store);
        warn_of_stores(&store);
        let verify = options.verify.unwrap_or_else(environment::verify);
        Programs {
            gpu: gpu.clone(),
            counters: counters.clone(),
            dump_spirv,
            statistics,
            background: Arc::default(),
            memory,
            artifacts: KernelArtifacts::new(&store, verify, options.look_only),
            store,
            identity: Identity::new(gpu, limits),
            verify,
            look_only: options.look_only,
            guard: Guard::new(guard, gpu),
            recorder: options.record.clone().or_else(environment::record).map(log::Recorder::new),
        }
    }

    /// Whether the pipeline of a step is in memory.
    pub(crate) fn has(&self, key: &[u8; 32]) -> bool {
        self.memory.as_ref().is_some_and(|memory| memory.peek(key).is_some())
    }

    /// Where the normal forms of kernels are kept.
    pub(crate) fn artifacts(&self) -> Option<Arc<dyn ArtifactStore>> {
        self.artifacts.clone().map(|artifacts| artifacts as Arc<dyn ArtifactStore>)
    }

    /// Counts what became of kernels' normal forms.
    pub(crate) fn count_into(&self, stats: &mut Stats) {
        if let Some(artifacts) = &self.artifacts {
            artifacts.count_into(stats);
        }
    }

    /// Whether anything is written to the store.
    pub(crate) fn writes(&self) -> bool {
        self.store.is_enabled() && !self.look_only
    }

    /// Whether pipelines are kept in memory.
    pub(crate) fn keeps(&self) -> bool {
        self.memory.is_some()
    }

    pub(crate) fn clear(&self) {
        if let Some(memory) = &self.memory {
            memory.clear();
        }
    }

    pub(crate) fn resize(&self, entries: usize, bytes: u64) {
        if let Some(memory) = &self.memory {
            memory.resize(cache::MemoryLimits { entries, bytes, ..cache::MemoryLimits::default() });
        }
    }

    pub(crate) fn stats(&self) -> CacheStats {
        let pipelines = self.memory.as_ref().map_or_else(Default::default, Memory::stats);
        CacheStats { pipelines, store: self.store.stats() }
    }
}

/// What options and environment come to.
fn resolve(options: &CacheOptions) -> cache::Resolved {
    let asked = cache::CacheOptions {
        persistent: match options.disk {
            Disk::Default => options.settings.persistent,
            Disk::At(_) => Some(true),
            Disk::Off => Some(false),
        },
        dir: match &options.disk {
            Disk::At(folder) => Some(folder.clone()),
            _ => options.settings.dir.clone(),
        },
        memory_max_size: options.memory_bytes.or(options.settings.memory_max_size),
        memory_max_entries: options.memory_entries.or(options.settings.memory_max_entries),
        ..options.settings.clone()
    };
    let resolved = asked.resolve(environment::variable);
    for warning in &resolved.warnings {
        environment::warn_once(&warning.to_string());
    }
    resolved
}

/// The store in which a context with these options keeps kernel artifacts, for tools that load kernels without a device.
#[must_use]
pub fn kernel_store(options: &CacheOptions) -> Option<Arc<dyn ArtifactStore>> {
    let verify = options.verify.unwrap_or_else(environment::verify);
    let store = Store::open(resolve(options).store);
    let artifacts = KernelArtifacts::new(&store, verify, options.look_only)?;
    Some(artifacts)
}

/// Who is notified of events: the log of writes that failed, the program, and the standard error where a trace was asked for.
fn subscriber(trace: bool, own: Option<cache::Subscriber>, folder: Option<PathBuf>) -> cache::Subscriber {
    Arc::new(move |event| {
        if let Event::DidSkip { skip, .. } = event {
            note(folder.as_deref(), *skip);
        }
        if trace {
            // One write for each line, so that lines of several threads do not mix. A failure cannot be reported anywhere.
            let _ = std::io::stderr().lock().write_all(format!("{}\n", event.to_json()).as_bytes());
        }
        if let Some(own) = &own {
            own(event);
        }
    })
}

impl Programs {
    /// The program of a step, and where it came from.
    pub(crate) fn program(&self, label: &str, step: &Step) -> Result<(Cached<Program>, StepReport), Error> {
        let mut report = StepReport { memory: Tier::Hit, ..StepReport::unmade(step) };
        let wanted = Wanted { label, step, key: OnceCell::new() };
        let Some(memory) = &self.memory else {
            report.memory = Tier::Off;
            let (program, _) = self.make(&wanted, &mut report)?;
            report.of(&program);
            return Ok((program.into(), report));
        };
        let built = memory.get_or_build(step.key, || {
            let mut mine = report.clone();
            mine.memory = Tier::Miss;
            let result = self.make(&wanted, &mut mine);
            report = mine;
            result.map_err(classed)
        });
        match built {
            Ok((program, hit)) => {
                let counter =
                    if hit == Hit::Built { &self.counters.memory_misses } else { &self.counters.memory_hits };
                count(counter, 1);
                report.of(&program);
                Ok((program, report))
            }
            Err(failure) => Err(error_of(label, failure)),
        }
    }

    /// The pipeline of a step. Where the driver refuses it, it is asked once more, with code that was built just now and
    /// without a blob: what is stored may be wrong in a way that no checksum shows. What it refuses again is an error that
    /// is remembered.
    fn make(&self, wanted: &Wanted<'_>, report: &mut StepReport) -> Result<(Program, u64), Error> {
        let code = self.load_or_build(wanted, report)?;
        let made = self.make_pipeline(wanted, &code, true, report);
        let Err(Error::Build { source: BuildError::Driver(refusal), .. }) = &made else { return made };
        if !refusal.is_refusal() {
            return made;
        }
        tracing::warn!(
            kernel = wanted.label,
            %refusal,
            stored = code.is_stored,
            "the driver refused code and is asked once more"
        );
        let code = if code.is_stored { self.build_again(wanted, &code, report)? } else { code };
        self.make_pipeline(wanted, &code, false, report)
    }

    /// Takes the code from the store or builds it.
    fn load_or_build(&self, wanted: &Wanted<'_>, report: &mut StepReport) -> Result<Code, Error> {
        let key = self.store.is_enabled().then(|| wanted.key(&self.identity));
        let found = key.and_then(|key| self.store.find(key).ok());
        let layer = found.as_ref().map(|found| found.layer);
        // What a process without a validator has built is built again where there is one, and validated.
        let is_validated = found.as_ref().is_some_and(|found| found.entry.section(VALIDATED).is_some());
        let stored = found.and_then(|found| spirv(&found.entry));
        report.disk = match (&key, &stored) {
            (None, _) => Tier::Off,
            (_, Some(_)) => tier_of(layer),
            (_, None) => Tier::Miss,
        };
        let is_untrusted = layer == Some(Layer::Untrusted);
        if let Some(words) = &stored
            && !self.verify
            && !is_untrusted
            && (is_validated || !jit::is_validated())
        {
            count(&self.counters.disk_hits, 1);
            return Ok(Code { words: words.clone(), is_stored: true });
        }
        let words = self.build(wanted, report)?;
        if is_untrusted {
            // The recipe says what is right, and it was followed here.
            if stored.as_ref() == Some(&words) {
                count(&self.counters.remote_equal, 1);
            } else {
                count(&self.counters.remote_different, 1);
                tracing::warn!(
                    kernel = wanted.label,
                    "the remote cache has other code than was built just now"
                );
                self.store.has_lied();
            }
            self.keep(wanted, &words);
            return Ok(Code { words, is_stored: false });
        }
        if stored.as_ref() == Some(&words) {
            count(&self.counters.disk_hits, 1);
            count(&self.counters.disk_verified, 1);
            if jit::is_validated() && !is_validated {
                self.keep(wanted, &words);
            }
            return Ok(Code { words, is_stored: false });
        }
        if stored.is_some() {
            self.is_other(wanted, report);
        }
        self.keep(wanted, &words);
        Ok(Code { words, is_stored: false })
    }

    /// Builds code that the store had, and puts it right there if it was other code.
    fn build_again(
        &self,
        wanted: &Wanted<'_>,
        stored: &Code,
        report: &mut StepReport,
    ) -> Result<Code, Error> {
        let words = self.build(wanted, report)?;
        if words != stored.words {
            self.is_other(wanted, report);
            self.keep(wanted, &words);
        }
        Ok(Code { words, is_stored: false })
    }

    fn build(&self, wanted: &Wanted<'_>, report: &mut StepReport) -> Result<Arc<[u32]>, Error> {
        let Wanted { label, step, .. } = wanted;
        let start = Instant::now();
        let words = step.build().map_err(|error| self.not_built(label, step, error))?;
        report.jit_us = micros(start);
        count(&self.counters.jit_builds, 1);
        count(&self.counters.jit_us, report.jit_us as u64);
        Ok(words)
    }

    /// The store had other code than was built: the key forgets something, or the code generator is not a function.
    fn is_other(&self, wanted: &Wanted<'_>, report: &mut StepReport) {
        count(&self.counters.disk_different, 1);
        let key: String = hex(&wanted.step.key);
        tracing::error!(
            kernel = wanted.label,
            key,
            "the persistent cache has other code than was built just now"
        );
        report.disk = Tier::Miss;
    }

    /// Puts code into the store. What that does with it is its own affair, and in its own counters.
    fn keep(&self, wanted: &Wanted<'_>, words: &[u32]) {
        if !self.store.is_enabled() {
            return;
        }
        count(&self.counters.disk_misses, 1);
        if self.writes() {
            let mut entry = Entry::new().with(SPIRV, bytes(words));
            if jit::is_validated() {
                entry = entry.with(VALIDATED, jit::validator());
            }
            // What becomes of it is reported by an event.
            let _ = self.store.put_later(wanted.key(&self.identity), entry);
        }
    }

    /// What comes of code that the JIT itself does not let through: an error, said loudly, and never a pipeline.
    fn not_built(&self, label: &str, step: &Step, error: JitError) -> Error {
        let folder = self.dump_spirv.as_ref().filter(|_| !error.words.is_empty());
        let file =
            folder.map(|folder| dump(folder, &format!("{}.invalid", hex(&step.key[..8])), &error.words));
        let module = file
            .map_or_else(|| "not kept: VKFUSE_DUMP_SPIRV keeps it".to_owned(), |f| f.display().to_string());
        tracing::error!(
            kernel = label,
            pass = error.pass,
            detail = error.detail,
            module,
            "the code made for a list is wrong"
        );
        Error::Build { kernel: label.to_owned(), source: BuildError::Jit(error) }
    }
}

/// Whether an error comes again. The same recipe fails the same way every time, and what a driver refuses it was asked for twice;
/// memory may be free again.
fn classed(error: Error) -> cache::BuildError<Error> {
    let comes_again = match &error {
        Error::Build { source: BuildError::Jit(_) | BuildError::Died { .. }, .. } => true,
        Error::Build { source: BuildError::Driver(error), .. } => error.is_refusal(),
        _ => false,
    };
    if comes_again { cache::BuildError::Permanent(error) } else { cache::BuildError::Transient(error) }
}

fn error_of(label: &str, failure: Failure<Error>) -> Error {
    match failure {
        Failure::Build { error, .. } => (*error).clone(),
        failure => {
            let source = BuildError::Panic(format!("{failure:?}"));
            Error::Build { kernel: label.to_owned(), source }
        }
    }
}

/// What a report says of something that was found.
pub(crate) fn tier_of(layer: Option<Layer>) -> Tier {
    match layer {
        Some(Layer::Lower(_)) => Tier::Lower,
        Some(Layer::Remote) => Tier::Remote,
        // Code without a trusted signature is built here.
        Some(Layer::Untrusted) => Tier::Miss,
        _ => Tier::Hit,
    }
}

/// The code of an entry, unless it is not whole words.
pub(crate) fn spirv(entry: &Entry) -> Option<Arc<[u32]>> {
    let (words, rest) = entry.section(SPIRV)?.as_chunks::<4>();
    (rest.is_empty() && words.len() > 5).then(|| words.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

pub(crate) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn micros(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e6
}

/// Writes the code of a step for people to look at. Failing to is no failure of the run.
fn dump(folder: &Path, name: &str, words: &[u32]) -> PathBuf {
    let path = folder.join(format!("{name}.spv"));
    if let Err(error) = fs::create_dir_all(folder).and_then(|()| fs::write(&path, bytes(words))) {
        let what = if folder.is_file() { "is a file, and has to be a folder" } else { "cannot be written" };
        environment::warn_once(&format!("the SPIR-V of kernels: {} {what}: {error}", folder.display()));
    }
    path
}

impl StepReport {
    /// The report of a step that has no code yet.
    pub(crate) fn unmade(step: &Step) -> StepReport {
        StepReport {
            members: step.members.clone(),
            key: step.key,
            memory: Tier::NotAsked,
            disk: Tier::NotAsked,
            driver_blob: Tier::NotAsked,
            jit_us: 0.0,
            driver_us: 0.0,
            load_us: 0.0,
            bytes_read: bound_bytes(step, |bound| bound.reads),
            bytes_written: bound_bytes(step, |bound| bound.writes),
            statistics: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// Adds what is known of the code of a pipeline: what the driver says of it, and how it differs from the user's.
    fn of(&mut self, program: &Program) {
        let statistics = program.pipeline.statistics().iter();
        self.statistics =
            statistics.map(|(name, value)| CodeStatistic { name: name.clone(), value: *value }).collect();
        self.changes = program.changes.to_vec();
    }
}
