//! Ahead-of-time code for lists that are planned and not run, and why the caches have it or not.

use std::sync::Arc;

use vkfuse_cache::{self as cache, Key, Layer, Miss};

use super::{
    keep::{Artifact, NotCacheable},
    programs::{Programs, tier_of},
};
use crate::{
    error::{BuildError, Error},
    jit::{self, Members, Step},
    report::list::{StepReport, Tier},
};

/// An ingredient in which a key differs from that of the nearest entry in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The part of the key: device, image, spec or options.
    pub part: &'static str,
    /// The ingredient's name.
    pub name: String,
    /// Its value in the key that is looked for, if it has it.
    pub wanted: Option<String>,
    /// Its value in the key of the entry, if that has it.
    pub stored: Option<String>,
}

/// Where the code of one dispatch of a list would come from, and why.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Explanation {
    /// Which submissions of the list it runs, counted from 0.
    pub members: Members,
    /// The names of its kernels.
    pub label: String,
    /// The step's key, as in a [`StepReport`].
    pub step: [u8; 32],
    /// The name of the key in the store: what `vkfuse cache show` takes.
    pub key: String,
    /// Every ingredient of the key: part, name, value.
    pub ingredients: Vec<(&'static str, String, String)>,
    /// Every ingredient of the key that a driver's blob has besides.
    pub driver: Vec<(String, String)>,
    /// Whether its pipeline is in memory.
    pub pipeline_in_memory: bool,
    /// Whether the store, or a lower one, has the code; otherwise why not.
    pub code: Result<(), String>,
    /// Which of them has it.
    pub code_tier: Tier,
    /// Whether the store has what this driver made of it; otherwise why not.
    pub driver_blob: Result<(), String>,
    /// Which store has it.
    pub driver_blob_tier: Tier,
    /// The name of the entry in the store with the fewest differences, and what they are, where the store has not the
    /// code.
    pub nearest: Option<(String, Vec<Difference>)>,
    /// What of it is never kept, and why.
    pub not_cacheable: Vec<(Artifact, NotCacheable)>,
}

/// A step with its kernels' names.
pub(crate) type Labelled = (Arc<str>, Step);

/// The plan of a list, and its dispatches with the names of their kernels.
pub(crate) fn plan_only(
    submissions: &[jit::Submission],
    options: &jit::FuseOptions,
    limits: &jit::Limits,
) -> Result<(jit::Plan, Vec<Labelled>), Error> {
    let without = jit::without_numbers(submissions);
    let plan = jit::plan(&without, options, limits).and_then(|plan| match jit::is_one_kernel(&plan) {
        true => Ok(plan),
        false => jit::plan(submissions, options, limits),
    });
    let plan = plan.map_err(unplanned)?;
    let steps = plan.steps.iter().map(|step| (label(step, submissions), step.clone())).collect();
    Ok((plan, steps))
}

/// The submissions of a list that have work-groups, each by itself.
pub(crate) fn alone(
    submissions: &[jit::Submission],
    float: jit::FloatMode,
    limits: &jit::Limits,
) -> Result<Vec<Labelled>, Error> {
    let runs = submissions.iter().enumerate().filter(|(_, one)| one.runs());
    let steps = runs.map(|(position, one)| {
        let mut step = jit::plan_unfused(one, float, limits).map_err(unplanned)?;
        step.members = (position..position + 1).into();
        Ok((label(&step, submissions), step))
    });
    steps.collect()
}

fn unplanned(error: jit::PlanError) -> Error {
    Error::Build { kernel: error.kernel.clone(), source: BuildError::Plan(error) }
}

fn label(step: &Step, submissions: &[jit::Submission]) -> Arc<str> {
    let kernels = step.members.of(submissions);
    Arc::from(kernels.map(|one| one.kernel.name.as_str()).collect::<Vec<_>>().join(" + "))
}

impl Programs {
    /// Makes sure that every step has its pipeline, in memory and in the store as far as they are switched on.
    pub(crate) fn warm(&self, steps: &[Labelled]) -> Result<Vec<StepReport>, Error> {
        steps.iter().map(|(label, step)| Ok(self.program(label, step)?.1)).collect()
    }

    /// Looks where the code of every step is, and changes nothing.
    pub(crate) fn explain(&self, steps: &[Labelled]) -> Vec<Explanation> {
        let artifacts = [Artifact::Pipeline, Artifact::Kernel, Artifact::Code, Artifact::DriverBlob];
        let refused: Vec<(Artifact, NotCacheable)> = artifacts
            .into_iter()
            .filter_map(|artifact| Some((artifact, self.is_cacheable(artifact).err()?)))
            .collect();
        let steps = steps.iter();
        steps.map(|(label, step)| self.explain_step(label, step, refused.clone())).collect()
    }
}

impl Programs {
    fn explain_step(
        &self,
        label: &str,
        step: &Step,
        not_cacheable: Vec<(Artifact, NotCacheable)>,
    ) -> Explanation {
        let key = self.identity.key(step);
        let found = match self.store.look(&key) {
            // It would be built here.
            Ok(found) if found.layer == Layer::Untrusted => Err(Miss::Untrusted),
            found => found,
        };
        let code_tier = found.as_ref().map_or(Tier::Miss, |found| tier_of(Some(found.layer)));
        let stored = found.map(|found| found.entry);
        let words = stored.as_ref().ok().and_then(crate::code::programs::spirv);
        // Without the code there is no telling what a blob would have been made from.
        let driver =
            self.identity.driver(&words.as_deref().map(crate::code::programs::bytes).unwrap_or_default());
        let blob = match (&stored, &words) {
            (Ok(_), Some(_)) => self.store.look_blob(&key, &driver).map(|(_, layer)| layer),
            (Err(miss), _) => Err(*miss),
            (Ok(_), None) => Err(Miss::Malformed("code")),
        };
        let driver_blob_tier = blob.map_or(Tier::Miss, |layer| tier_of(Some(layer)));
        let nearest = match stored {
            Ok(_) => None,
            Err(_) => self
                .store
                .nearest(&key, crate::code::key::is_of_step)
                .map(|(id, list)| (format!("{id:#}"), list.iter().map(difference).collect())),
        };
        Explanation {
            members: step.members.clone(),
            label: label.to_owned(),
            step: step.key,
            key: format!("{:#}", key.id()),
            ingredients: ingredients(&key),
            driver: driver.fields().into_iter().map(|field| (field.name, field.value.to_string())).collect(),
            pipeline_in_memory: self.has(&step.key),
            code: stored.map(drop).map_err(|miss| miss.to_string()),
            code_tier,
            driver_blob: blob.map(drop).map_err(|miss| miss.to_string()),
            driver_blob_tier,
            nearest,
            not_cacheable,
        }
    }
}

fn ingredients(key: &Key) -> Vec<(&'static str, String, String)> {
    let fields = |kind: cache::PartKind| {
        let fields = key.part(kind).fields().into_iter();
        fields.map(move |field| (kind.name(), field.name, field.value.to_string()))
    };
    cache::PartKind::ALL.into_iter().flat_map(fields).collect()
}

fn difference(difference: &cache::Difference) -> Difference {
    Difference {
        part: difference.part.name(),
        name: difference.name.clone(),
        wanted: difference.here.as_ref().map(ToString::to_string),
        stored: difference.there.as_ref().map(ToString::to_string),
    }
}
