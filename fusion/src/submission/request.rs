//! What is asked for by a submission, before it is checked.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{
    jit::SetBinding,
    jit::SpecValue,
    submission::{accessor::Accessor, kernel::KernelInner},
};

/// What is asked for by a submission, but for what it comes after.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) args: SmallVec<[(SetBinding, Accessor); 8]>,
    pub(crate) push: SmallVec<[u8; 32]>,
    pub(crate) spec: SmallVec<[(u32, SpecValue); 4]>,
    pub(crate) dispatch: Option<(Arc<KernelInner>, Size)>,
    /// The first work-group.
    pub(crate) base: [u32; 3],
    /// What the kernel reaches by address.
    pub(crate) uses: Vec<Accessor>,
}

/// How much is dispatched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Size {
    Groups([u32; 3]),
    Items([u32; 3]),
}
