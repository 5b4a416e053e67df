//! Pictures of lists: kernels as nodes, buffers with their bytes on the edges between them, dispatches as boxes, splits in red.
//!
//! [`graph`](self::graph) says what is drawn, [`layout`](self::layout) where, [`route`](self::route) how edges go around nodes, and
//! [`draw`](self::draw) writes SVG. The layout within a
//! dispatch is a library's.

mod draw;
mod graph;
mod layout;
mod route;

use super::list::FusionReport;

/// A picture of a list, made by [`FusionReport::picture`]: what the report knows, and what only the program knows.
#[derive(Debug, Clone)]
pub struct Picture<'a> {
    report: &'a FusionReport,
    names: Vec<String>,
    unfused_us: Vec<f64>,
    whole_unfused_us: Option<f64>,
    fused_us: Option<f64>,
    dispatches_us: Vec<f64>,
}

impl FusionReport {
    /// The list as a picture: SVG with its styles inside, in light or dark as the reader has it. [`FusionReport::picture`] adds
    /// names and times.
    #[must_use]
    pub fn to_svg(&self) -> String {
        self.picture().svg()
    }

    /// The list as a picture that more can be written into.
    #[must_use]
    pub fn picture(&self) -> Picture<'_> {
        Picture {
            report: self,
            names: Vec::new(),
            unfused_us: Vec::new(),
            whole_unfused_us: None,
            fused_us: None,
            dispatches_us: Vec::new(),
        }
    }
}

impl Picture<'_> {
    /// What the kernels are called, by submission, instead of by their entry points.
    #[must_use]
    pub fn kernel_names(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Microseconds that each submission took on the device by itself, by submission.
    #[must_use]
    pub fn unfused_us(mut self, times: impl IntoIterator<Item = f64>) -> Self {
        self.unfused_us = times.into_iter().collect();
        self
    }

    /// Microseconds that all submissions took on the device together, unfused; otherwise the sum of what each took.
    #[must_use]
    pub fn whole_unfused_us(mut self, time: f64) -> Self {
        self.whole_unfused_us = Some(time);
        self
    }

    /// Microseconds that the dispatches of the list took on the device together.
    #[must_use]
    pub fn fused_us(mut self, time: f64) -> Self {
        self.fused_us = Some(time);
        self
    }

    /// Microseconds that each dispatch of the list took on the device, in order.
    #[must_use]
    pub fn dispatches_us(mut self, times: impl IntoIterator<Item = f64>) -> Self {
        self.dispatches_us = times.into_iter().collect();
        self
    }

    /// Writes it. The same report always gives the same text.
    #[must_use]
    pub fn svg(&self) -> String {
        draw::draw(&graph::Graph::of(self))
    }

    fn name(&self, submission: usize) -> &str {
        let own = self.report.kernels.get(submission).map(|one| &*one.kernel);
        self.names.get(submission).map(String::as_str).or(own).unwrap_or("kernel")
    }

    fn total_unfused(&self) -> Option<f64> {
        let all = self.unfused_us.len() == self.report.submissions && !self.unfused_us.is_empty();
        self.whole_unfused_us.or_else(|| all.then(|| self.unfused_us.iter().sum()))
    }
}
