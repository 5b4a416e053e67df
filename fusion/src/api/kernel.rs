//! A kernel that can be submitted.

use std::sync::Arc;

use crate::{
    api::context::{Context, ContextInner},
    error::{Error, SubmitError},
    jit::{self, Module, SpecConstant, Specialized},
};

/// One compute entry point of a module, checked against a context's device. A handle; cheap to clone.
#[derive(Debug, Clone)]
pub struct Kernel {
    pub(crate) inner: Arc<KernelInner>,
}

/// What the handles of a kernel share. One allocation, so that a handle costs one count.
#[derive(Debug)]
pub(crate) struct KernelInner {
    pub(crate) context: Arc<ContextInner>,
    pub(crate) jit: jit::Kernel,
}

impl Kernel {
    /// Checks a kernel against the device.
    pub(crate) fn checked(context: &Arc<ContextInner>, jit: jit::Kernel) -> Result<Kernel, Error> {
        // With other constants it may need other things: submission checks again. A kernel whose defaults do not work at
        // all, as where one divides by a constant that defaults to 0, is for submission to judge too.
        if let Ok(kernel) = jit.specialize(&[]) {
            check_device(context, &kernel)?;
        }
        Ok(Kernel::from_parts(context, jit))
    }

    /// A kernel that was checked before.
    pub(crate) fn from_parts(context: &Arc<ContextInner>, jit: jit::Kernel) -> Kernel {
        Kernel { inner: Arc::new(KernelInner { context: context.clone(), jit }) }
    }

    /// The name its module was loaded under.
    #[must_use]
    pub fn name(&self) -> &str {
        self.inner.jit.name()
    }

    /// The name of the entry point.
    #[must_use]
    pub fn entry(&self) -> &str {
        self.inner.jit.entry()
    }

    /// Its module.
    #[must_use]
    pub fn module(&self) -> &Module {
        self.inner.jit.module()
    }

    /// Its specialization constants, with their types and defaults.
    #[must_use]
    pub fn spec_constants(&self) -> &[SpecConstant] {
        self.inner.jit.spec_constants()
    }

    /// The kernel with some constants given and the others at their defaults: its bindings, work-group size and so on.
    ///
    /// # Errors
    ///
    /// An unknown constant, or a value of the wrong type.
    pub fn specialized(&self, values: &[(u32, jit::SpecValue)]) -> Result<Arc<Specialized>, Error> {
        Ok(self.inner.jit.specialize(values)?)
    }

    /// The context it belongs to.
    #[must_use]
    pub fn context(&self) -> Context {
        Context { inner: self.inner.context.clone() }
    }
}

/// Whether the device can run it: SPIR-V version, capabilities, work-group size, shared memory, push constants.
pub(crate) fn check_device(context: &ContextInner, kernel: &Specialized) -> Result<(), Error> {
    let caps = context.gpu.caps();
    let (interface, limits) = (&kernel.interface, caps.limits());
    let fail = |problem| Err(Error::submit(&kernel.name, problem));
    let device = || caps.info.name.clone();

    if interface.version > caps.spirv_version {
        return fail(SubmitError::Version {
            version: interface.version,
            limit: caps.spirv_version,
            device: device(),
        });
    }
    if let Some(lacking) = interface.capabilities.iter().find(|c| !caps.supports(**c as u32)) {
        return fail(SubmitError::Capability { capability: format!("{lacking:?}"), device: device() });
    }
    let (size, limit, invocations) =
        (interface.local_size, limits.max_work_group_size, limits.max_work_group_invocations);
    let product = size.iter().try_fold(1u32, |product, part| product.checked_mul(*part));
    let fits = size.iter().zip(limit).all(|(part, limit)| (1..=limit).contains(part));
    if !fits || product.is_none_or(|product| product > invocations) {
        return fail(SubmitError::WorkGroupSize { size, limit, invocations });
    }
    if interface.workgroup_bytes > limits.max_shared_bytes {
        return fail(SubmitError::SharedMemory {
            needed: interface.workgroup_bytes,
            limit: limits.max_shared_bytes,
        });
    }
    match &interface.push {
        Some(push) if push.size > limits.max_push_bytes => {
            fail(SubmitError::PushLimit { needed: push.size, limit: limits.max_push_bytes })
        }
        _ => Ok(()),
    }
}
