//! Kept lists.

use pyo3::prelude::*;

use crate::{buffer::Buffer, call::run, event::Event, life::Own, queue::Queue};

/// A list that was kept, to be run again.
#[pyclass(frozen, module = "vkfuse._native")]
pub(crate) struct List {
    pub(crate) own: Own<vkfuse::FusedList>,
}

#[pymethods]
impl List {
    #[getter]
    fn submissions(&self) -> PyResult<usize> {
        Ok(self.own.get()?.len())
    }

    /// Runs it again, on the queue it was recorded on or on another.
    fn run(&self, py: Python<'_>, on: Option<&Queue>) -> PyResult<Event> {
        let list = self.own.get()?;
        let queue = on.map(|queue| queue.own.get()).transpose()?;
        let event = run(py, || match queue {
            Some(queue) => list.run_on(&queue),
            None => list.run(),
        })?;
        Ok(Event { own: Own::new("event", &self.own.life, event) })
    }

    /// A list with other buffers, and other push constants of some submissions.
    fn rebind(
        &self,
        py: Python<'_>,
        buffers: Vec<(PyRef<'_, Buffer>, PyRef<'_, Buffer>)>,
        push: Vec<(usize, Vec<u8>)>,
    ) -> PyResult<List> {
        let list = self.own.get()?;
        let pairs = buffers.iter().map(|(old, new)| Ok((old.own.get()?, new.own.get()?)));
        let pairs = pairs.collect::<PyResult<Vec<_>>>()?;
        let mut rebind = list.rebind();
        for (old, new) in &pairs {
            rebind = rebind.buffer(old, new);
        }
        for (submission, bytes) in &push {
            rebind = rebind.push_bytes(*submission, bytes);
        }
        let list = run(py, || rebind.finish())?;
        Ok(List { own: Own::new("list", &self.own.life, list) })
    }

    fn close(&self) {
        drop(self.own.close());
    }
}
