//! Lowered kernels, loaded.

use std::sync::Arc;

use vkfuse_kernel::{Lowered, Mode, PlainIn};

use crate::{
    api::kernel::Kernel,
    code::lowered::Stored,
    error::{Error, SubmitError},
    jit::{self, BindingKind, Interface},
    runtime::context::ContextInner,
};

impl Stored {
    /// The kernel, loaded and checked against its signature.
    pub(crate) fn kernel(&self, context: &Arc<ContextInner>) -> Result<Kernel, Error> {
        if let Some(jit) = self.loaded.get() {
            return Ok(Kernel::from_parts(context, jit.clone()));
        }
        let artifacts = context.programs.artifacts();
        let jit = jit::Kernel::from_words(self.lowered.name, &self.lowered.words, artifacts)?;
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
    for binding in interface.bindings.iter().filter(|binding| binding.at.binding < params) {
        let param = &lowered.signature.bindings[binding.at.binding as usize];
        let stride = param.element.size();
        if binding.at.set != 0 || binding.kind != BindingKind::StorageBuffer {
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

/// Where plain values of this many bytes go on a device.
pub(crate) fn plain_in(context: &ContextInner, bytes: usize) -> PlainIn {
    let most = context.gpu.caps().limits().max_push_bytes;
    if bytes <= most as usize { PlainIn::Push } else { PlainIn::Uniform }
}
