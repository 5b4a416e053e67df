//! Kept lists.

use pyo3::prelude::*;
use vkfuse::Rebind;

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
    fn rebind(&self, py: Python<'_>, buffers: Pairs<'_>, push: Pushes) -> PyResult<List> {
        let list = self.changed(py, &buffers, &push, |rebind| rebind.finish())?;
        Ok(List { own: Own::new("list", &self.own.life, list) })
    }

    /// Runs it once with other buffers, and other push constants of some submissions.
    fn run_with(&self, py: Python<'_>, buffers: Pairs<'_>, push: Pushes) -> PyResult<Event> {
        let event = self.changed(py, &buffers, &push, |rebind| rebind.run())?;
        Ok(Event { own: Own::new("event", &self.own.life, event) })
    }

    fn close(&self) {
        drop(self.own.close());
    }
}

type Pairs<'py> = Vec<(PyRef<'py, Buffer>, PyRef<'py, Buffer>)>;
type Pushes = Vec<(usize, Vec<u8>)>;

impl List {
    /// Does something with it and changes to it.
    fn changed<T: Send>(
        &self,
        py: Python<'_>,
        buffers: &Pairs<'_>,
        push: &Pushes,
        done: impl FnOnce(Rebind<'_>) -> Result<T, vkfuse::Error> + Send,
    ) -> PyResult<T> {
        let list = self.own.get()?;
        let pairs = buffers.iter().map(|(old, new)| Ok((old.own.get()?, new.own.get()?)));
        let pairs = pairs.collect::<PyResult<Vec<_>>>()?;
        run(py, || {
            let rebind = pairs.iter().fold(list.rebind(), |rebind, (old, new)| rebind.buffer(old, new));
            done(
                push.iter().fold(rebind, |rebind, (submission, bytes)| rebind.push_bytes(*submission, bytes)),
            )
        })
    }
}
