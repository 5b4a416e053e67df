//! Lowered kernels, kept by type: each is lowered and loaded once per context.

use std::{
    any::TypeId,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use ahash::AHashMap;
use vkfuse_kernel::{Form, KernelObject, LowerError, Lowered};

use crate::{
    error::{Error, SubmitError},
    jit,
};

/// A lowered kernel in one form, loaded when it is first used.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) lowered: Lowered,
    pub(crate) loaded: OnceLock<jit::Kernel>,
}

/// A form of a type.
type Key = (TypeId, Form);

/// Lowered kernels by type and form.
#[derive(Debug, Default)]
pub(crate) struct RustKernels {
    by_type: Mutex<AHashMap<Key, Arc<Stored>>>,
}

/// How a type is lowered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source {
    ty: TypeId,
    pub(crate) name: &'static str,
    lower: fn(Form) -> Result<Lowered, LowerError>,
}

impl Source {
    pub(crate) fn of<K: KernelObject>() -> Source {
        Source { ty: TypeId::of::<K>(), name: K::NAME, lower: Lowered::of::<K> }
    }
}

impl RustKernels {
    /// A type in a form. Two threads may lower the same at the same time; one result is kept.
    pub(crate) fn get(&self, source: &Source, form: Form) -> Result<Arc<Stored>, Error> {
        let lock = || self.by_type.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stored) = lock().get(&(source.ty, form)) {
            return Ok(stored.clone());
        }
        let lowered = (source.lower)(form)
            .map_err(|error| Error::submit(source.name, SubmitError::NotLowered(error)))?;
        let stored = Arc::new(Stored { lowered, loaded: OnceLock::new() });
        Ok(lock().entry((source.ty, form)).or_insert(stored).clone())
    }
}
