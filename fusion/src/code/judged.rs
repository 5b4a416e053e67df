//! Results of comparing fused code with unfused code, by the key of the step.
//!
//! # Guarantees
//! - code that was found to differ is not used again by the context, whichever list needs it and however lists are remembered

use std::sync::atomic::{AtomicBool, Ordering};

use ahash::{AHashMap, AHashSet};
use parking_lot::Mutex;

use crate::{
    jit::{FuseOptions, Limits, Plan, Reason, Step, StepVerdict, Submission, Verdict, validate},
    report::{
        list::{CheckReport, CheckedBy},
        stats::{Counters, count},
    },
};

/// The key of a step.
pub(crate) type StepKey = [u8; 32];

/// What was found out so far.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    any_dropped: AtomicBool,
    found: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Found {
    /// By the interpreter.
    validated: AHashMap<StepKey, Verdict>,
    /// Equal on the device.
    verified: AHashSet<StepKey>,
    /// Not to be used, and why.
    dropped: AHashMap<StepKey, String>,
}

impl Judged {
    /// Whether any code was dropped: then nothing that was remembered with its code runs again unlooked at.
    pub(crate) fn any_dropped(&self) -> bool {
        self.any_dropped.load(Ordering::Acquire)
    }

    /// Why steps are not to be used, if one of them is not.
    pub(crate) fn dropped(&self, steps: &[Step]) -> Option<Reason> {
        if !self.any_dropped() {
            return None;
        }
        let found = self.found.lock();
        let what = steps.iter().find_map(|step| found.dropped.get(&step.key))?;
        Some(Reason::Differs { what: what.clone() })
    }

    /// Fused steps that no run on the device verified yet.
    pub(crate) fn unverified(&self, steps: &[Step]) -> Vec<StepKey> {
        let found = self.found.lock();
        let fused = steps.iter().filter(|step| step.is_fused()).map(|step| step.key);
        fused.filter(|key| !found.verified.contains(key)).collect()
    }

    /// Notes that a run on the device was equal.
    pub(crate) fn verify(&self, keys: &[StepKey]) {
        self.found.lock().verified.extend(keys);
    }

    /// Gives code up.
    pub(crate) fn drop_all(&self, keys: &[StepKey], what: &str) {
        let mut found = self.found.lock();
        found.dropped.extend(keys.iter().map(|key| (*key, what.to_owned())));
        self.any_dropped.store(true, Ordering::Release);
    }
}

impl Judged {
    /// Has the interpreter compare the fused steps of a plan with the list, unless it did so before.
    pub(crate) fn validate(
        &self,
        list: &[Submission],
        options: &FuseOptions,
        (plan, limits): (&Plan, &Limits),
        counters: &Counters,
    ) -> Vec<CheckReport> {
        let fused = || plan.steps.iter().filter(|step| step.is_fused());
        let is_new = |found: &Found| fused().any(|step| !found.validated.contains_key(&step.key));
        let new = is_new(&self.found.lock());
        // Outside the lock: it may take a second.
        let verdicts = if new { validate(list, options, limits, plan) } else { Vec::new() };
        for StepVerdict { key, verdict, .. } in verdicts {
            if self.found.lock().validated.insert(key, verdict.clone()).is_some() {
                continue;
            }
            count(
                match &verdict {
                    Verdict::Agreed { .. } => &counters.validated,
                    Verdict::Differs { .. } => &counters.validated_different,
                    Verdict::NotApplicable { .. } => &counters.not_validated,
                },
                1,
            );
            match &verdict {
                Verdict::Differs { .. } => {
                    tracing::error!(%verdict, "translation validation: fused code is wrong");
                    self.drop_all(&[key], &format!("translation validation: {verdict}"));
                }
                _ => tracing::debug!(%verdict, "translation validation"),
            }
        }
        let found = self.found.lock();
        let check = |step: &Step| {
            let verdict = found.validated.get(&step.key)?;
            Some(CheckReport {
                by: CheckedBy::Interpreter,
                members: step.members.clone(),
                agreed: match verdict {
                    Verdict::Agreed { .. } => Some(true),
                    Verdict::Differs { .. } => Some(false),
                    Verdict::NotApplicable { .. } => None,
                },
                detail: verdict.to_string(),
            })
        };
        fused().filter_map(check).collect()
    }
}
