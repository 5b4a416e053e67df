//! The outputs of a run: which they are, what they hold, and whether both runs agree.

use crate::compare::{Difference, compare};
use crate::pipeline::Pipeline;
use crate::report::Number;
use crate::report::json::Output;
use crate::session::Buffers;
use crate::stop::Stop;

/// Elements that the report shows.
const HEAD: usize = 8;

/// Bytes of the outputs after one run, by position in the list of outputs; `None` where there is
/// nothing to read.
pub(crate) type Contents = Vec<Option<Vec<u8>>>;

/// What the repetitions so far found.
pub(crate) struct Outputs<'p> {
    pipeline: &'p Pipeline,
    /// Indices of buffers.
    chosen: Vec<usize>,
    found: Vec<Found>,
}

#[derive(Default)]
struct Found {
    difference: Option<Difference>,
    differing: Option<[Number; 2]>,
    blake3: Option<String>,
    head: Option<Vec<Number>>,
}

impl<'p> Outputs<'p> {
    /// The outputs that the file asks for: those it lists, or all buffers.
    pub(crate) fn new(pipeline: &'p Pipeline) -> Outputs<'p> {
        let all = || (0..pipeline.buffers.len()).collect();
        let chosen: Vec<usize> = pipeline.fusion.outputs.clone().unwrap_or_else(all);
        Outputs { pipeline, found: chosen.iter().map(|_| Found::default()).collect(), chosen }
    }

    /// Reads the outputs, except those that are not `readable`.
    pub(crate) fn download(
        &self,
        buffers: &Buffers,
        readable: impl Fn(usize) -> bool,
    ) -> Result<Contents, Stop> {
        let chosen = self.chosen.iter();
        chosen.map(|index| readable(*index).then(|| buffers.download(*index)).transpose()).collect()
    }

    /// Adds one repetition: compares where there are both runs, and notes what the fused one left,
    /// or the unfused one where there is no fused.
    pub(crate) fn add(&mut self, unfused: Option<Contents>, fused: Option<Contents>) {
        for (position, found) in self.found.iter_mut().enumerate() {
            let ty = self.pipeline.buffers[self.chosen[position]].ty;
            let unfused_bytes = unfused.as_ref().and_then(|contents| contents[position].as_deref());
            let fused_bytes = fused.as_ref().and_then(|contents| contents[position].as_deref());
            let result = if fused.is_some() { fused_bytes } else { unfused_bytes };
            if let (None, Some(bytes)) = (&found.blake3, result) {
                found.blake3 = Some(blake3::hash(bytes).to_hex().to_string());
                found.head = Some(Number::head(ty, bytes, HEAD));
            }
            let (Some(left), Some(right)) = (unfused_bytes, fused_bytes) else {
                continue;
            };
            let difference = compare(ty, left, right);
            if let (None, Some(first)) = (&found.differing, difference.first) {
                let start = (first as usize).saturating_mul(ty.size());
                let element = |bytes: &[u8]| {
                    let bytes = bytes.get(start..start + ty.size());
                    Number::from_bytes(ty, bytes.unwrap_or_default())
                };
                found.differing = Some([element(left), element(right)]);
            }
            found.difference = Some(match found.difference.take() {
                Some(before) => before.join(difference),
                None => difference,
            });
        }
    }

    /// Whether any output differs between the runs.
    pub(crate) fn differ(&self) -> bool {
        let mut differences = self.found.iter().filter_map(|found| found.difference.as_ref());
        differences.any(|difference| !difference.is_equal())
    }

    /// Whether all outputs that differ are of floats.
    pub(crate) fn differ_in_floats(&self) -> bool {
        let is_equal = |found: &Found| found.difference.as_ref().is_none_or(Difference::is_equal);
        let ty = |index: &usize| self.pipeline.buffers[*index].ty;
        let mut differing = self.chosen.iter().zip(&self.found).filter(|(_, found)| !is_equal(found));
        self.differ() && differing.all(|(index, _)| ty(index).is_float())
    }

    /// The outputs for the report, by name. Buffers that were internalized are left out unless the
    /// file lists them.
    pub(crate) fn finish(self, internalized: &[bool]) -> Vec<(String, Output)> {
        let listed = self.pipeline.fusion.outputs.is_some();
        let mut outputs = Vec::with_capacity(self.chosen.len());
        for (index, found) in self.chosen.into_iter().zip(self.found) {
            if internalized[index] && !listed {
                continue;
            }
            let difference = found.difference.as_ref();
            let output = Output {
                equal: difference.map(Difference::is_equal),
                first_difference: difference.and_then(|difference| difference.first),
                max_ulp: difference.and_then(|difference| difference.max_ulp),
                blake3: found.blake3,
                head: found.head,
                differences: difference.map(|difference| difference.count),
                nan_payloads: difference.map(|difference| difference.nans),
                differing: found.differing,
            };
            outputs.push((self.pipeline.buffers[index].name.clone(), output));
        }
        outputs
    }
}
