//! A kernel that can be submitted.

use std::sync::{Arc, Mutex};

use crate::{
    api::context::Context,
    error::{Error, SubmitError},
    jit::{self, Module, SpecConstant, Specialized},
    runtime::context::ContextInner,
    submission::kernel::{KernelId, KernelInner, check_device},
};

/// One compute entry point of a module, checked against a context's device. A handle; cheap to clone.
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
            said: Mutex::default(),
            within: Default::default(),
        });
        Kernel { inner, context: context.clone() }
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
    /// A value of the wrong type; an override without a default that is given none. A value for a constant that the module does not
    /// declare is ignored.
    pub fn specialized(&self, values: &[(u32, jit::SpecValue)]) -> Result<Arc<Specialized>, Error> {
        Ok(self.inner.jit.specialize(values)?)
    }

    /// The same kernel, for who relies on sub-groups of this many invocations (`requiredSubgroupSize`). Kernels run with the device's default
    /// ([`DeviceInfo::subgroup_size`](crate::DeviceInfo::subgroup_size)), fused and unfused, which is pinned where a device could take another one.
    ///
    /// # Errors
    ///
    /// [`SubmitError::SubgroupSize`], where the default is another size.
    pub fn with_subgroup_size(&self, size: u32) -> Result<Kernel, Error> {
        let info = &self.inner.device.gpu.caps().info;
        if size == info.subgroup_size {
            return Ok(self.clone());
        }
        let (default, device) = (info.subgroup_size, info.name.clone());
        Err(Error::submit(self.name(), SubmitError::SubgroupSize { size, default, device }))
    }

    /// The context it belongs to.
    #[must_use]
    pub fn context(&self) -> Context {
        Context { inner: self.context.clone() }
    }
}
