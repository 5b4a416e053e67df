//! From code to a pipeline: what the driver makes of it, or of its blob in the store.

use std::sync::Arc;

use smallvec::SmallVec;
use vkfuse_cache::{Entry, Layer, Part};

use super::{Code, DEATH, Program, Programs, Wanted, bytes, dump, hex, tier_of};
use crate::{
    code::{
        guard::{Guard, Guarded},
        key::Identity,
    },
    error::{BuildError, DeviceError, Error},
    jit::{BindingKind, SetBinding, Step},
    report::{
        list::{StepReport, Tier},
        stats::count,
    },
    vk::{self, Pipeline, PipelineOrigin, PipelineSource},
};

impl Programs {
    /// Has the driver make a pipeline, of its stored blob if it is to be `given`. Also says what the pipeline weighs.
    pub(super) fn make_pipeline(
        &self,
        wanted: &Wanted<'_>,
        code: &Code,
        given: bool,
        report: &mut StepReport,
    ) -> Result<(Program, u64), Error> {
        let (words, Wanted { label, step, .. }) = (&code.words, wanted);
        if let Some(folder) = &self.dump_spirv {
            dump(folder, &hex(&step.key[..8]), words);
        }
        let programs = self;
        let stores = programs.store.is_enabled();
        let blobs = stores && !programs.look_only && programs.identity.replaces.is_none();
        let key = blobs.then(|| wanted.key(&programs.identity));
        let code_bytes = bytes(words);
        let driver = programs.identity.driver(&code_bytes);
        let load = key.filter(|_| given).and_then(|key| programs.store.begin_load(key, &driver).ok());
        let bindings = bindings_of(step);
        let has_room = self.gpu.caps().has_room_for(step.local_size().iter().product());
        let source = PipelineSource {
            words,
            entry: c"main",
            bindings: &bindings,
            push_bytes: step.push_bytes(),
            push_buffer: step.push.len() as u32 - step.push_bytes(),
            subgroups: uses_subgroups(words) && has_room,
            lanes: step.subgroup_size(),
            statistics: self.statistics,
            blob: load.as_ref().map(|load| load.bytes()),
        };
        let guarded = match &self.guard {
            Some(guard) if load.is_none() => self.guarded(guard, label, &source, &driver)?,
            _ => None,
        };
        let made = self.ask_driver(&PipelineSource { blob: source.blob.or(guarded.as_deref()), ..source });
        let (pipeline, origin) = match made {
            Ok(made) => made,
            Err(error) => {
                count(&self.counters.driver_refusals, u64::from(error.is_refusal()));
                match load {
                    // Memory that has run out says nothing about the blob.
                    Some(load) if matches!(error, DeviceError::OutOfMemory { .. }) => load.finish(),
                    // The process has survived it, but a pipeline it did not become.
                    Some(load) => load.reject(),
                    None => {}
                }
                let kernel = (*label).to_owned();
                return Err(Error::Build { kernel, source: BuildError::Driver(error) });
            }
        };
        report.driver_blob = match (stores, &load) {
            (false, _) => Tier::Off,
            (_, Some(load)) if origin.blob_taken && origin.from_blob != Some(false) => {
                tier_of(Some(load.layer()))
            }
            _ => Tier::Miss,
        };
        if report.driver_blob.is_hit() {
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
        // What a driver says after its device is lost is not kept.
        // A pipeline's own memory is the driver's secret; its code is the nearest that can be known.
        let blob = origin.blob.or(guarded);
        let weight = code_bytes.len() as u64 + blob.as_ref().map_or(0, |blob| blob.len() as u64);
        if let (Some(key), Some(blob), false) = (key, blob, self.gpu.is_lost()) {
            let _ = programs.store.put_blob_later(key, &driver, blob);
        }
        Ok((Program { pipeline, changes: step.changes().into() }, weight))
    }

    /// Has the guard compile code, unless a driver is known to have died of it; the blob that came of it.
    fn guarded(
        &self,
        guard: &Guard,
        label: &str,
        source: &PipelineSource<'_>,
        driver: &Part,
    ) -> Result<Option<Vec<u8>>, Error> {
        let key = Identity::of_deaths(driver, &format!("{:?} {}", source.bindings, source.push_bytes));
        let found = self.store.is_enabled().then(|| self.store.look(&key).ok()).flatten();
        let known = found.filter(|found| found.layer != Layer::Untrusted);
        let known = known.and_then(|found| found.entry.section(DEATH).map(<[u8]>::to_vec));
        let how = match known {
            Some(how) => String::from_utf8_lossy(&how).into_owned(),
            None => match guard.ask(source) {
                Guarded::Alive(blob) => return Ok(blob),
                Guarded::NotAsked => return Ok(None),
                Guarded::Died(how) => {
                    if self.store.is_enabled() && !self.look_only {
                        // What becomes of it is reported by an event.
                        let _ = self.store.put_later(&key, Entry::new().with(DEATH, how.as_bytes()));
                    }
                    how
                }
            },
        };
        tracing::error!(kernel = label, how, "the driver's compiler dies of code, which is not used");
        Err(Error::Build { kernel: label.to_owned(), source: BuildError::Died { how } })
    }

    /// Asks the driver, a second time without what is kept in memory if that has run out.
    fn ask_driver(
        &self,
        source: &PipelineSource<'_>,
    ) -> Result<(Arc<Pipeline>, PipelineOrigin), DeviceError> {
        match self.gpu.pipeline(source) {
            Err(DeviceError::OutOfMemory { kind, .. }) => {
                tracing::warn!(kind, "out of memory: the pipelines kept in memory are dropped");
                self.clear();
                self.gpu.pipeline(source)
            }
            Err(DeviceError::Lost) => {
                // None of them can be used again.
                self.clear();
                Err(DeviceError::Lost)
            }
            made => made,
        }
    }
}

fn bindings_of(step: &Step) -> SmallVec<[(SetBinding, vk::BindingKind); 8]> {
    let kind = |kind: BindingKind| match (kind, kind.texture()) {
        (_, Some(texture)) => vk::BindingKind::of(texture),
        (BindingKind::UniformBuffer, _) => vk::BindingKind::Uniform,
        _ => vk::BindingKind::Storage,
    };
    let given = step.bindings.iter().map(|bound| (bound.at, kind(bound.kind)));
    given.chain(step.push_buffer().map(|at| (at, vk::BindingKind::Uniform))).collect()
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
