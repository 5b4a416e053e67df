//! Code for a step: from the memory cache, from the persistent store, or built.

use std::{fs, path::Path, sync::Arc, time::Instant};

use ahash::AHashMap;
use smallvec::SmallVec;
use std::sync::{Mutex, PoisonError};

use crate::{
    context::ContextInner,
    error::{BuildError, Error},
    jit::{BindingKind, Step},
    report::{StepReport, Tier},
    stats::count,
    vk::{self, Pipeline, PipelineSource},
};

/// A pipeline, ready to be dispatched.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) pipeline: Arc<Pipeline>,
}

#[derive(Debug, Default)]
pub(crate) struct Programs {
    #[allow(clippy::type_complexity)]
    map: Mutex<AHashMap<[u8; 32], Arc<Mutex<Option<Arc<Program>>>>>>,
}

impl Programs {
    pub(crate) fn new(_: &vk::Gpu, _: &crate::options::CacheOptions) -> Programs {
        Programs::default()
    }

    pub(crate) fn clear(&self) {
        self.map.lock().unwrap_or_else(PoisonError::into_inner).clear();
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
        };
        let slot = {
            let mut map = self.programs.map.lock().unwrap_or_else(PoisonError::into_inner);
            map.entry(step.key).or_default().clone()
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = &*slot {
            count(&self.counters.memory_hits, 1);
            return Ok((program.clone(), report));
        }
        report.memory = Tier::Miss;
        count(&self.counters.memory_misses, 1);
        let program = self.build(label, step, &mut report)?;
        *slot = Some(program.clone());
        Ok((program, report))
    }

    fn build(&self, label: &str, step: &Step, report: &mut StepReport) -> Result<Arc<Program>, Error> {
        let failed = |source| Error::Build { kernel: label.to_owned(), source };
        let start = Instant::now();
        let words = step.build().map_err(|error| failed(BuildError::Jit(error)))?;
        report.jit_us = micros(start);
        report.disk = Tier::Off;
        count(&self.counters.jit_builds, 1);
        count(&self.counters.jit_us, report.jit_us as u64);
        if let Some(folder) = &self.dump_spirv {
            dump(folder, &step.key, &words);
        }
        let mut bindings: SmallVec<[(u32, u32, vk::BindingKind); 8]> = SmallVec::new();
        for bound in &step.bindings {
            let kind = match bound.kind {
                BindingKind::UniformBuffer => vk::BindingKind::Uniform,
                _ => vk::BindingKind::Storage,
            };
            bindings.push((bound.set, bound.binding, kind));
        }
        let source = PipelineSource { words: &words, entry: c"main", bindings: &bindings, push_bytes: step.push.len() as u32, subgroups: uses_subgroups(&words), blob: None };
        let (pipeline, origin) = self.gpu.pipeline(&source).map_err(|error| failed(BuildError::Driver(error)))?;
        report.driver_us = origin.driver_us as f64;
        count(&self.counters.driver_us, origin.driver_us);
        Ok(Arc::new(Program { pipeline }))
    }
}

pub(crate) fn micros(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e6
}

/// Writes the code of a step for people to look at. Failing to is no failure of the run.
fn dump(folder: &Path, key: &[u8; 32], words: &[u32]) {
    let name: String = key[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let path = folder.join(format!("{name}.spv"));
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    if let Err(error) = fs::create_dir_all(folder).and_then(|()| fs::write(&path, bytes)) {
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
