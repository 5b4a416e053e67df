//! Buffers: bytes on the device.

use pyo3::{buffer::PyBuffer, exceptions::PyValueError, prelude::*};
use vkfuse::Promote;

use crate::{call::run, life::Own};

/// Bytes on the device.
#[pyclass(frozen, module = "vkfuse._native")]
pub(crate) struct Buffer {
    pub(crate) own: Own<vkfuse::Buffer<u8>>,
}

#[pymethods]
impl Buffer {
    #[getter]
    fn nbytes(&self) -> PyResult<u64> {
        Ok(self.own.get()?.size_bytes())
    }

    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(self.own.get()?.name())
    }

    fn set_name(&self, name: &str) -> PyResult<()> {
        self.own.get()?.set_name(name);
        Ok(())
    }

    fn set_promotion(&self, promotion: Option<&str>) -> PyResult<()> {
        self.own.get()?.set_promotion(promote(promotion)?);
        Ok(())
    }

    /// Copies bytes to the device, from an offset on. They are taken before anything waits: another thread may write what they came from.
    fn upload(&self, py: Python<'_>, offset: u64, data: PyBuffer<u8>) -> PyResult<()> {
        let buffer = self.own.get()?;
        let bytes = data.to_vec(py)?;
        run(py, || buffer.upload_at(place(offset), &bytes))
    }

    /// Copies bytes from the device, from an offset on, as many as there is room for.
    fn download(&self, py: Python<'_>, offset: u64, into: PyBuffer<u8>) -> PyResult<()> {
        let buffer = self.own.get()?;
        let (start, len) = (place(offset), into.len_bytes());
        let bytes = run(py, || buffer.download_range(start..start.saturating_add(len)))?;
        into.copy_from_slice(py, &bytes)
    }

    fn close(&self) {
        drop(self.own.close());
    }
}

/// An offset; of one that is no address the largest, which no buffer has.
fn place(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// A promotion by its name.
pub(crate) fn promote(name: Option<&str>) -> PyResult<Promote> {
    match name {
        None | Some("none") => Ok(Promote::None),
        Some("private") => Ok(Promote::Private),
        Some("local") => Ok(Promote::Local),
        Some("auto") => Ok(Promote::Auto),
        Some(other) => Err(PyValueError::new_err(format!(
            "`{other}` is no promotion; there are `private`, `local`, `auto` and `none`"
        ))),
    }
}
