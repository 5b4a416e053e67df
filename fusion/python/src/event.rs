//! Events.

use std::time::Duration;

use pyo3::prelude::*;

use crate::{call::run, life::Own};

/// How long is waited before Python is asked whether somebody pressed Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

/// Whether work is complete, and what became of it.
#[pyclass(frozen, module = "vkfuse._native")]
pub(crate) struct Event {
    pub(crate) own: Own<vkfuse::Event>,
}

#[pymethods]
impl Event {
    /// Waits for this many seconds, or for ever; whether the work is complete.
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        let event = self.own.get()?;
        let mut left =
            timeout.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX));
        loop {
            let now = left.map_or(PATIENCE, |left| left.min(PATIENCE));
            if run(py, || event.wait_timeout(now))? {
                return Ok(true);
            }
            py.check_signals()?;
            if let Some(left) = &mut left {
                *left -= now;
                if left.is_zero() {
                    return Ok(false);
                }
            }
        }
    }

    #[getter]
    fn is_complete(&self) -> PyResult<bool> {
        Ok(self.own.get()?.is_complete())
    }

    #[getter]
    fn outcome(&self) -> PyResult<String> {
        Ok(self.own.get()?.outcome().to_string())
    }

    /// Seconds on the device.
    #[getter]
    fn gpu_time(&self) -> PyResult<Option<f64>> {
        Ok(self.own.get()?.gpu_time().map(|time| time.as_secs_f64()))
    }

    /// The report as JSON, if it is of a list that has ended.
    fn report_json(&self) -> PyResult<Option<String>> {
        let report = self.own.get()?.report();
        Ok(report.map(|report| report.to_json()))
    }

    /// The list as a picture, with its kernels called like this.
    fn report_svg(&self, names: Vec<String>) -> PyResult<Option<String>> {
        let event = self.own.get()?;
        Ok(event.report().map(|report| {
            let mut picture = report.picture().kernel_names(names);
            if let Some(time) = event.gpu_time() {
                picture = picture.fused_us(time.as_secs_f64() * 1e6);
            }
            picture.svg()
        }))
    }
}
