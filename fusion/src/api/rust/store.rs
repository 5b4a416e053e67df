//! Lowered kernels, kept by type: each is lowered and loaded once per context.

use std::{
    any::TypeId,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use ahash::AHashMap;
use vkfuse_kernel::{Form, KernelObject, LowerError, Lowered, Mode, PlainIn};

use crate::{
    api::{context::ContextInner, kernel::Kernel},
    error::{Error, SubmitError},
    jit::{self, BindingKind, Interface},
};

/// A lowered kernel in one form, loaded when it is first used.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) lowered: Lowered,
    loaded: OnceLock<jit::Kernel>,
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

impl Stored {
    /// The kernel, loaded and checked against its signature.
    pub(crate) fn kernel(&self, context: &Arc<ContextInner>) -> Result<Kernel, Error> {
        if let Some(jit) = self.loaded.get() {
            return Ok(Kernel::from_parts(context, jit.clone()));
        }
        let forms = context.programs.forms();
        let jit = jit::Kernel::from_words(self.lowered.name, &self.lowered.words, forms)?;
        let kernel = Kernel::checked(context, jit)?;
        // With constants that do not work at their defaults there is no interface yet; submission checks what it binds.
        if let Ok(specialized) = kernel.inner.jit.specialize(&[]) {
            check_signature(&self.lowered, &specialized.interface)
                .map_err(|detail| Error::submit(self.lowered.name, SubmitError::Signature { detail }))?;
        }
        let _ = self.loaded.set(kernel.inner.jit.clone());
        Ok(kernel)
    }
}

/// Whether a module has the bindings and the block that the signature says.
fn check_signature(lowered: &Lowered, interface: &Interface) -> Result<(), String> {
    let params = lowered.signature.bindings.len() as u32;
    for binding in interface.bindings.iter().filter(|binding| binding.binding < params) {
        let param = &lowered.signature.bindings[binding.binding as usize];
        let stride = param.element.size();
        if binding.set != 0 || binding.kind != BindingKind::StorageBuffer {
            return Err(format!("`{}` is no storage buffer of set 0", param.path));
        }
        if binding.runtime_stride != Some(stride) {
            return Err(format!(
                "`{}` has elements of {:?} bytes, not {stride}",
                param.path, binding.runtime_stride
            ));
        }
        if (binding.writes && param.mode == Mode::Read) || (binding.reads && param.mode == Mode::Write) {
            return Err(format!("`{}` is used otherwise than as {:?}", param.path, param.mode));
        }
    }
    let words = lowered.range_words + lowered.signature.plain_bytes.div_ceil(4);
    match &interface.push {
        Some(push) if push.size != 4 * words => {
            Err(format!("the block of plain values has {} bytes, not {}", push.size, 4 * words))
        }
        _ => Ok(()),
    }
}

/// Where plain values of so many bytes go on a device.
pub(crate) fn plain_in(context: &ContextInner, bytes: usize) -> PlainIn {
    if bytes <= context.limits.max_push_bytes as usize { PlainIn::Push } else { PlainIn::Uniform }
}
