//! Kernels.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::{
    api::context::Context,
    error::{Error, SubmitError},
    jit::{self, Module, SpecConstant, Specialized},
    runtime::context::ContextInner,
    submission::kernel::{KernelId, KernelInner, check_device},
};

/// One compute entry point of a SPIR-V module, checked against the device of a context.
///
/// Kernels are made by [`Context::load_spirv`], [`Context::kernel_from_bytes`] and others, and run by
/// [`Queue::submit`](crate::Queue::submit). This is a handle, cheap to clone.
#[derive(Debug, Clone)]
pub struct Kernel {
    pub(crate) inner: Arc<KernelInner>,
    pub(crate) context: Arc<ContextInner>,
}

impl Kernel {
    /// Checks a kernel against the device.
    pub(crate) fn checked(context: &Arc<ContextInner>, jit: jit::Kernel) -> Result<Kernel, Error> {
        // With other constants it may need other things: submission checks again. A kernel whose defaults do not work at
        // all, as where one divides by a constant that defaults to 0, is for submission to judge too.
        if let Ok(kernel) = jit.specialize(&[]) {
            check_device(&context.device, &kernel)?;
        }
        Ok(Kernel::from_parts(context, jit))
    }

    /// A kernel that was checked before.
    pub(crate) fn from_parts(context: &Arc<ContextInner>, jit: jit::Kernel) -> Kernel {
        let inner = Arc::new(KernelInner {
            id: KernelId::next(),
            device: context.device.clone(),
            jit,
            summary: Mutex::default(),
            within: Default::default(),
        });
        Kernel { inner, context: context.clone() }
    }

    /// The name that its module was loaded with.
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

    /// The interface of the kernel (bindings, work-group size and so on) with these values of specialization constants, and the others at their
    /// defaults. A value for a constant that the module does not declare is ignored.
    ///
    /// # Errors
    ///
    /// Fails if a value has the wrong type, or if a WGSL override without a default is not set.
    pub fn specialized(&self, values: &[(u32, jit::SpecValue)]) -> Result<Arc<Specialized>, Error> {
        Ok(self.inner.jit.specialize(values)?)
    }

    /// Returns the same kernel after checking that it runs with sub-groups of this size (`requiredSubgroupSize`).
    ///
    /// Kernels always run with the default size of the device ([`DeviceInfo::subgroup_size`](crate::DeviceInfo::subgroup_size)), fused and
    /// unfused. On a device with several sizes it is requested explicitly.
    ///
    /// # Errors
    ///
    /// [`SubmitError::SubgroupSize`] if the default is another size.
    pub fn with_subgroup_size(&self, size: u32) -> Result<Kernel, Error> {
        let info = &self.inner.device.gpu.caps().info;
        if size == info.subgroup_size {
            return Ok(self.clone());
        }
        let (default, device) = (info.subgroup_size, info.name.clone());
        Err(Error::submit(self.name(), SubmitError::SubgroupSize { size, default, device }))
    }

    /// The context that it belongs to.
    #[must_use]
    pub fn context(&self) -> Context {
        Context { inner: self.context.clone() }
    }
}
