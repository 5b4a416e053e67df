//! Lowered kernels, kept by type: each is lowered and loaded once per context.

use std::{
    any::TypeId,
    sync::{Arc, OnceLock},
};

use ahash::AHashMap;
use parking_lot::Mutex;
use vkfuse_kernel::{KernelObject, LowerError, LowerOptions, Lowered};

use crate::{
    error::{Error, SubmitError},
    jit,
};

/// A kernel lowered with some options, loaded when it is first used.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) lowered: Lowered,
    pub(crate) loaded: OnceLock<jit::Kernel>,
}

/// A type, and how it is lowered.
type Key = (TypeId, LowerOptions);

/// Lowered kernels by type and options.
#[derive(Debug, Default)]
pub(crate) struct RustKernels {
    by_type: Mutex<AHashMap<Key, Arc<Stored>>>,
}

/// How a type is lowered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source {
    ty: TypeId,
    pub(crate) name: &'static str,
    lower: fn(LowerOptions) -> Result<Lowered, LowerError>,
}

impl Source {
    pub(crate) fn of<K: KernelObject>() -> Source {
        Source { ty: TypeId::of::<K>(), name: K::NAME, lower: Lowered::of::<K> }
    }
}

impl RustKernels {
    /// A type, lowered with these options. Two threads may lower the same at the same time; one result is kept.
    pub(crate) fn get(&self, source: &Source, options: LowerOptions) -> Result<Arc<Stored>, Error> {
        let lock = || self.by_type.lock();
        if let Some(stored) = lock().get(&(source.ty, options)) {
            return Ok(stored.clone());
        }
        let lowered = (source.lower)(options)
            .map_err(|error| Error::submit(source.name, SubmitError::NotLowered(error)))?;
        let stored = Arc::new(Stored { lowered, loaded: OnceLock::new() });
        Ok(lock().entry((source.ty, options)).or_insert(stored).clone())
    }
}
