//! What the planner's cost model makes of the time of a list, next to the time it took.
//!
//! The planner compares plans by how many dispatches they have and how many bytes these bind. With a few numbers of the device that is a
//! time: what a dispatch takes that has next to nothing to do, and what a byte takes where it is copied, in single words or four at once, as
//! fused kernels have several in flight. They are measured, right behind the list.

use std::time::Duration;

use serde::Serialize;
use vkfuse::{Buffer, Context, Error, FusionReport, Module, QueueOptions, StepReport};

use crate::run::micros;

/// Words of the copy that shows what a byte takes: more than a cache has.
const LARGE: u32 = 16 << 20;
/// Words of the copy that shows what a dispatch takes.
const SMALL: u32 = 256;
/// Number of copies; their median counts.
const COPIES: usize = 7;
/// By how much the fused list may be slower before that counts as the wrong choice.
const TOLERANCE: f64 = 1.05;

/// Numbers of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    pub(crate) dispatch_us: f64,
    pub(crate) bytes_per_us: f64,
    vector_bytes_per_us: f64,
}

/// What was predicted of a list.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Predicted {
    /// Microseconds of a dispatch that has next to nothing to do.
    pub(crate) dispatch_us: f64,
    /// Bytes of a copy in a microsecond, those read and those written.
    pub(crate) bytes_per_us: f64,
    /// The same of a copy that moves four words at once.
    pub(crate) vector_bytes_per_us: f64,
    /// Bytes that the dispatches of the unfused list are given to read and to write.
    pub(crate) unfused_bytes: u64,
    /// The same of the fused list.
    pub(crate) fused_bytes: u64,
    /// Microseconds on the device.
    pub(crate) unfused_gpu: f64,
    /// The same of the fused list.
    pub(crate) fused_gpu: f64,
}

/// How good the predictions of several lists were.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    /// How far predictions were off, of the time that it took; those of fused and of unfused lists together.
    pub(crate) median_error: f64,
    /// The worst of them.
    pub(crate) worst_error: f64,
    /// The list with the worst one, by its number.
    pub(crate) worst: usize,
    /// Lists, by their number, that took more than 5 % longer fused than unfused.
    pub(crate) slower: Vec<usize>,
}

impl Model {
    /// Measures a device; `None` if it does not tell times, or has no memory left for that.
    pub(crate) fn of(context: &Context) -> Option<Model> {
        let copies = |code: &[u8], words: u32, at_once: u32| -> Result<Option<f64>, Error> {
            let module = Module::from_bytes("copy", code)?;
            let kernel = context.kernel(&module, None)?;
            let [from, to]: [Buffer<u32>; 2] =
                [context.buffer(words as usize)?, context.buffer(words as usize)?];
            let queue = context.queue(QueueOptions::new().profiling(true))?;
            let mut times = Vec::with_capacity(COPIES);
            for _ in 0..=COPIES {
                let items = words / at_once;
                let done = queue.submit(|h| {
                    h.arg(0, from.read()).arg(1, to.write()).push(&items);
                    if at_once == 1 {
                        h.push(&0u32).push(&0u32);
                    }
                    h.dispatch_items(&kernel, [items, 1, 1]);
                })?;
                done.wait()?;
                times.push(done.gpu_time());
            }
            // The first one has memory to get.
            let mut times: Vec<Duration> = times.into_iter().skip(1).flatten().collect();
            times.sort_unstable();
            Ok(times.get(times.len() / 2).copied().map(micros))
        };
        let words: &[u8] = include_bytes!("../pipeline/steps/copy.spv");
        let vectors: &[u8] = include_bytes!("copy_vec4.spv");
        let dispatch_us = copies(words, SMALL, 1).ok().flatten()?;
        let rate = |code: &[u8], at_once: u32| {
            let large = copies(code, LARGE, at_once).ok().flatten()?;
            (large > dispatch_us).then(|| 8.0 * f64::from(LARGE) / (large - dispatch_us))
        };
        let (bytes_per_us, vector_bytes_per_us) = (rate(words, 1)?, rate(vectors, 4)?);
        Some(Model { dispatch_us, bytes_per_us, vector_bytes_per_us })
    }

    /// What it says of a list.
    pub(crate) fn predict(self, report: &FusionReport) -> Predicted {
        let Model { dispatch_us, bytes_per_us, vector_bytes_per_us } = self;
        let arguments = report.kernels.iter().flat_map(|one| &one.arguments);
        let unfused_bytes: u64 =
            arguments.map(|arg| arg.bytes * (u64::from(arg.reads) + u64::from(arg.writes))).sum();
        let bytes_of = |step: &StepReport| step.bytes_read + step.bytes_written;
        // What runs alone runs as it was submitted.
        let time_of = |step: &StepReport| {
            let rate = if step.members.len() > 1 { vector_bytes_per_us } else { bytes_per_us };
            dispatch_us + bytes_of(step) as f64 / rate
        };
        Predicted {
            dispatch_us,
            bytes_per_us,
            vector_bytes_per_us,
            unfused_bytes,
            fused_bytes: report.steps.iter().map(bytes_of).sum(),
            unfused_gpu: report.kernels.len() as f64 * dispatch_us + unfused_bytes as f64 / bytes_per_us,
            fused_gpu: report.steps.iter().map(time_of).sum(),
        }
    }
}

impl Predicted {
    /// How far it was off, of the time that was measured.
    pub(super) fn error(predicted: f64, measured: f64) -> f64 {
        (predicted - measured).abs() / measured
    }
}

impl Summary {
    /// That of some lists: predicted, and the times that were measured unfused and fused. Nothing without any.
    pub(super) fn of(lists: &[Option<(Predicted, f64, f64)>]) -> Option<Summary> {
        let mut errors = Vec::new();
        let mut slower = Vec::new();
        for (number, list) in lists.iter().enumerate() {
            let Some((predicted, unfused, fused)) = *list else { continue };
            errors.push((Predicted::error(predicted.unfused_gpu, unfused), number));
            errors.push((Predicted::error(predicted.fused_gpu, fused), number));
            if fused > TOLERANCE * unfused {
                slower.push(number);
            }
        }
        errors.sort_by(|a, b| a.0.total_cmp(&b.0));
        let &(worst_error, worst) = errors.last()?;
        let (low, high) = (errors[(errors.len() - 1) / 2].0, errors[errors.len() / 2].0);
        Some(Summary { median_error: (low + high) / 2.0, worst_error, worst, slower })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_in_vectors_is_that_of_the_shaders_folder() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shaders/chain/copy_vec4.spv");
        assert_eq!(std::fs::read(file).ok().as_deref(), Some(&include_bytes!("copy_vec4.spv")[..]), "{file}");
    }

    #[test]
    fn a_summary_names_the_worst_list_and_what_got_slower() {
        let predicted = Predicted {
            dispatch_us: 1.0,
            bytes_per_us: 1.0,
            vector_bytes_per_us: 1.0,
            unfused_bytes: 0,
            fused_bytes: 0,
            unfused_gpu: 10.0,
            fused_gpu: 5.0,
        };
        let lists = [Some((predicted, 10.0, 10.0)), None, Some((predicted, 20.0, 21.5))];
        let summary = Summary::of(&lists).expect("some were measured");
        assert_eq!(summary.worst, 2);
        assert_eq!(summary.slower, [2]);
        assert!((summary.median_error - 0.5).abs() < 1e-9, "{summary:?}");
        assert!((summary.worst_error - 16.5 / 21.5).abs() < 1e-9, "{summary:?}");
        assert!(Summary::of(&[None]).is_none());
    }
}
