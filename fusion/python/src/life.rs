//! How long an object can be used: until it or its context is closed, and in the process that made it.

use std::{
    mem, process,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use pyo3::prelude::*;

use crate::errors::ClosedError;

/// What the objects of a context have in common.
#[derive(Debug)]
pub(crate) struct Life {
    process: u32,
    is_closed: AtomicBool,
}

impl Life {
    pub(crate) fn new() -> Arc<Life> {
        Arc::new(Life { process: process::id(), is_closed: AtomicBool::new(false) })
    }

    /// Nothing of the context can be used from now on.
    pub(crate) fn end(&self) {
        self.is_closed.store(true, Relaxed);
    }

    fn is_here(&self) -> bool {
        self.process == process::id()
    }
}

/// An object of the engine's that can be closed.
#[derive(Debug)]
pub(crate) struct Own<T> {
    what: &'static str,
    pub(crate) life: Arc<Life>,
    object: RwLock<Option<T>>,
}

impl<T> Own<T> {
    pub(crate) fn new(what: &'static str, life: &Arc<Life>, object: T) -> Own<T> {
        Own { what, life: life.clone(), object: RwLock::new(Some(object)) }
    }

    /// Lets go of it; nothing if that was done before.
    pub(crate) fn close(&self) -> Option<T> {
        let object = self.object.write().unwrap_or_else(PoisonError::into_inner).take();
        if self.life.is_here() {
            return object;
        }
        mem::forget(object);
        None
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.life.is_closed.load(Relaxed)
            || self.object.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

impl<T: Clone> Own<T> {
    /// The object, if it can be used.
    pub(crate) fn get(&self) -> PyResult<T> {
        if !self.life.is_here() {
            let what = self.what;
            return Err(ClosedError::new_err(format!(
                "this {what} belongs to the process that this one was forked from; make a context here"
            )));
        }
        let problem = match &*self.object.read().unwrap_or_else(PoisonError::into_inner) {
            Some(_) if self.life.is_closed.load(Relaxed) => "belongs to a context that was closed",
            Some(object) => return Ok(object.clone()),
            None => "was closed",
        };
        Err(ClosedError::new_err(format!("this {} {problem}", self.what)))
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        // In a forked process there are none of the threads that letting go would wait for.
        drop(self.close());
    }
}
