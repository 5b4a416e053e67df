//! Images that a list writes in part.

use super::{List, Use};
use crate::pipeline::problem::Problem;
use vkfuse_jit::plan::{Span, Texels, in_words, may_write_texels};

impl<'a> List<'a> {
    /// Images without contents of their own that are outputs and are written in part.
    pub(super) fn drawn_in_part(&self) -> Vec<Problem> {
        let extent = |index: usize| self.pipeline.buffers[index].image.map(|image| image.extent);
        let part = |index: usize| {
            let image = &self.pipeline.buffers[index];
            let extent_of = extent(index).filter(|_| !image.initialised)?;
            let uses: Vec<Use<'a>> = self.uses_of(index).filter(|one| one.binding.writes).collect();
            let last = uses.last()?;
            let mut all: Option<Texels> = None;
            for one in &uses {
                let (submit, args) =
                    (&self.pipeline.submits[one.submission], &self.submits[one.submission].args);
                let buffer = |arg: usize| submit.args[args[arg]].buffer;
                let written = may_write_texels(&self.submissions[one.submission], |arg| extent(buffer(arg)));
                for (_, texels) in written.into_iter().filter(|(arg, _)| buffer(*arg) == index) {
                    let known = all.unwrap_or(texels);
                    all = Some(std::array::from_fn(|d| {
                        (known[d].0.min(texels[d].0), known[d].1.max(texels[d].1))
                    }));
                }
            }
            let all = all?;
            let (d, line) = [(1, "row"), (0, "column"), (2, "slice")]
                .into_iter()
                .find(|&(d, _)| all[d].0 > 0 || all[d].1 + 1 < extent_of[d])?;
            let ends =
                [(0, all[d].0), (all[d].1 + 1, extent_of[d])].into_iter().filter(|(from, to)| from < to);
            let ends: Vec<Span> = ends.map(|(from, to)| (from.into(), to.into())).collect();
            let name = &image.name;
            let message = format!(
                "nothing writes {} of {name}, an image of {} {line}s that is an output and has no `init`: it holds zeros there",
                in_words(line, &ends, 1),
                extent_of[d],
            );
            Some(self.pipeline.problem(&last.arg.place, message))
        };
        self.outputs().into_iter().filter_map(part).collect()
    }
}
