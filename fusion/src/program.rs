//! Code for a step: from the memory cache, from the persistent store, or built.
//!
//! The memory cache maps a step's key to a pipeline. Behind it the persistent store keeps, under the step's recipe, the
//! SPIR-V, and beside that the driver's own blob under the driver's identity: a new driver makes the blob useless and not
//! the SPIR-V. The first to need a step builds it; others who need it meanwhile wait for that.

use std::{fs, path::Path, sync::Arc, time::Instant};

use smallvec::SmallVec;
use vkfuse_cache::{self as cache, Entry, Failure, Hit, Key, MemoryCache, Part, Store};

use crate::{
    context::ContextInner,
    environment,
    error::{BuildError, Error},
    jit::{BindingKind, Step},
    options::{CacheOptions, Disk},
    report::{StepReport, Tier},
    stats::count,
    vk::{self, Gpu, Pipeline, PipelineSource},
};

/// A pipeline, ready to be dispatched.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) pipeline: Arc<Pipeline>,
}

/// The section of an entry that holds the code.
const SPIRV: &str = "spirv";

/// The caches.
pub(crate) struct Programs {
    memory: Option<MemoryCache<[u8; 32], Program, Error>>,
    store: Store,
    /// What the driver's blobs depend on besides the code.
    driver: Vec<u8>,
}

impl std::fmt::Debug for Programs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Programs").field("store", &self.store.path()).finish_non_exhaustive()
    }
}

impl Programs {
    pub(crate) fn new(gpu: &Gpu, options: &CacheOptions) -> Programs {
        let asked = cache::CacheOptions {
            persistent: match options.disk {
                Disk::Default => None,
                Disk::At(_) => Some(true),
                Disk::Off => Some(false),
            },
            dir: match &options.disk {
                Disk::At(folder) => Some(folder.clone()),
                _ => None,
            },
            memory_max_size: options.memory_bytes,
            ..cache::CacheOptions::default()
        };
        let resolved = asked.resolve(environment::variable);
        for warning in &resolved.warnings {
            tracing::warn!("{warning}");
        }
        let mut limits = resolved.memory;
        let memory = (options.memory_entries != Some(0)).then(|| {
            limits.entries = options.memory_entries.unwrap_or(limits.entries);
            MemoryCache::new(limits)
        });
        let store = Store::open(resolved.store);
        if let Some(reason) = store.disabled_reason() {
            tracing::debug!(%reason, "no persistent cache");
        }
        Programs { memory, store, driver: gpu.caps().driver_identity.clone() }
    }

    pub(crate) fn clear(&self) {
        if let Some(memory) = &self.memory {
            memory.clear();
        }
    }
}

impl ContextInner {
    /// The program of a step, and where it came from.
    pub(crate) fn program(&self, label: &str, step: &Step) -> Result<(Arc<Program>, StepReport), Error> {
        let mut report = StepReport {
            members: step.members.clone(),
            key: step.key,
            memory: Tier::Hit,
            disk: Tier::NotAsked,
            driver_blob: Tier::NotAsked,
            jit_us: 0.0,
            driver_us: 0.0,
            load_us: 0.0,
        };
        let Some(memory) = &self.programs.memory else {
            report.memory = Tier::Off;
            let (program, _) = self.load_or_build(label, step, &mut report)?;
            return Ok((Arc::new(program), report));
        };
        let built = memory.get_or_build(step.key, || {
            let mut mine = report.clone();
            mine.memory = Tier::Miss;
            let result = self.load_or_build(label, step, &mut mine);
            report = mine;
            result.map_err(|error| match &error {
                // The same recipe fails the same way every time; what the driver says may change.
                Error::Build { source: BuildError::Jit(_), .. } => cache::BuildError::Permanent(error),
                _ => cache::BuildError::Transient(error),
            })
        });
        match built {
            Ok((program, hit)) => {
                let counter =
                    if hit == Hit::Built { &self.counters.memory_misses } else { &self.counters.memory_hits };
                count(counter, 1);
                Ok((program, report))
            }
            Err(Failure::Build { error, .. }) => Err((*error).clone()),
            Err(failure) => {
                let source = BuildError::Panic(format!("{failure:?}"));
                Err(Error::Build { kernel: label.to_owned(), source })
            }
        }
    }

    /// Takes the code from the store or builds it, and has the driver make a pipeline of it. Also says what it weighs.
    fn load_or_build(
        &self,
        label: &str,
        step: &Step,
        report: &mut StepReport,
    ) -> Result<(Program, u64), Error> {
        let failed = |source| Error::Build { kernel: label.to_owned(), source };
        let store = &self.programs.store;
        let key = store.is_enabled().then(|| key(step));
        let stored = key.as_ref().and_then(|key| store.get(key).ok()).and_then(|entry| spirv(&entry));
        report.disk = match (&key, &stored) {
            (None, _) => Tier::Off,
            (_, Some(_)) => Tier::Hit,
            (_, None) => Tier::Miss,
        };
        let words: Arc<[u32]> = match stored {
            Some(words) => {
                count(&self.counters.disk_hits, 1);
                words
            }
            None => {
                let start = Instant::now();
                let words = step.build().map_err(|error| failed(BuildError::Jit(error)))?;
                report.jit_us = micros(start);
                count(&self.counters.jit_builds, 1);
                count(&self.counters.jit_us, report.jit_us as u64);
                // What the store does with it is its own affair, and in its own counters.
                if let Some(key) = &key {
                    count(&self.counters.disk_misses, 1);
                    let _ = store.put(key, &Entry::new().with(SPIRV, bytes(&words)));
                }
                words
            }
        };
        if let Some(folder) = &self.dump_spirv {
            dump(folder, &step.key, &words);
        }

        let driver = Part::new()
            .bytes("driver", &self.programs.driver)
            .bytes("code", blake3::hash(&bytes(&words)).as_bytes());
        let load = key.as_ref().and_then(|key| store.begin_load(key, &driver).ok());
        let mut bindings: SmallVec<[(u32, u32, vk::BindingKind); 8]> = SmallVec::new();
        for bound in &step.bindings {
            let kind = match bound.kind {
                BindingKind::UniformBuffer => vk::BindingKind::Uniform,
                _ => vk::BindingKind::Storage,
            };
            bindings.push((bound.set, bound.binding, kind));
        }
        let source = PipelineSource {
            words: &words,
            entry: c"main",
            bindings: &bindings,
            push_bytes: step.push.len() as u32,
            subgroups: uses_subgroups(&words),
            blob: load.as_ref().map(|load| load.bytes()),
        };
        let (pipeline, origin) =
            self.gpu.pipeline(&source).map_err(|error| failed(BuildError::Driver(error)))?;
        report.driver_blob = match (&key, &load) {
            (None, _) => Tier::Off,
            (_, Some(_)) if origin.blob_taken && origin.from_blob != Some(false) => Tier::Hit,
            _ => Tier::Miss,
        };
        if report.driver_blob == Tier::Hit {
            report.load_us = origin.driver_us as f64;
            count(&self.counters.blob_hits, 1);
        } else {
            report.driver_us = origin.driver_us as f64;
            count(&self.counters.driver_us, origin.driver_us);
        }
        match load {
            Some(load) if !origin.blob_taken => load.reject(),
            Some(load) => load.finish(),
            None => {}
        }
        if let (Some(key), Some(blob)) = (&key, &origin.blob) {
            let _ = store.put_blob(key, &driver, blob);
        }
        // A pipeline's own memory is the driver's secret; its code is the nearest that can be known.
        let weight = (words.len() * 4) as u64 + origin.blob.map_or(0, |blob| blob.len() as u64);
        Ok((Program { pipeline }, weight))
    }
}

/// The store's key of a step. The code depends on neither device nor driver: what a device's limits or features change is
/// in the recipe.
fn key(step: &Step) -> Key {
    let options = Part::new().str("generator", concat!("vkfuse ", env!("CARGO_PKG_VERSION")));
    Key::new(Part::new(), Part::new().bytes("recipe", &step.recipe), Part::new(), options)
}

/// The code of an entry, unless it is not whole words.
fn spirv(entry: &Entry) -> Option<Arc<[u32]>> {
    let (words, rest) = entry.section(SPIRV)?.as_chunks::<4>();
    (rest.is_empty() && words.len() > 5).then(|| words.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub(crate) fn micros(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e6
}

/// Writes the code of a step for people to look at. Failing to is no failure of the run.
fn dump(folder: &Path, key: &[u8; 32], words: &[u32]) {
    let name: String = key[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let path = folder.join(format!("{name}.spv"));
    if let Err(error) = fs::create_dir_all(folder).and_then(|()| fs::write(&path, bytes(words))) {
        tracing::warn!(path = %path.display(), %error, "cannot write SPIR-V");
    }
}

/// Whether a module declares one of the capabilities of sub-group operations.
fn uses_subgroups(words: &[u32]) -> bool {
    const CAPABILITY: u32 = 17;
    let mut at = 5;
    while let Some(&[first, capability]) = words.get(at..at + 2) {
        if first != (2 << 16 | CAPABILITY) {
            return false;
        }
        if matches!(capability, 61..=68 | 4423 | 4431) {
            return true;
        }
        at += 2;
    }
    false
}
