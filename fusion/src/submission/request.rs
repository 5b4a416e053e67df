//! What is asked for by a submission, before it is checked.

use std::{ops::Deref, sync::Arc};

use smallvec::SmallVec;

use crate::{
    jit::SetBinding,
    jit::SpecValue,
    submission::{accessor::Accessor, kernel::KernelInner},
};

/// What is asked for by a submission, but for what it comes after.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) args: SmallVec<[(SetBinding, Accessor<'a>); 8]>,
    pub(crate) push: SmallVec<[u8; 32]>,
    pub(crate) spec: SmallVec<[(u32, SpecValue); 4]>,
    pub(crate) dispatch: Option<(Called<'a>, Size)>,
    /// The first work-group.
    pub(crate) base: [u32; 3],
    /// What the kernel reaches by address.
    pub(crate) uses: Vec<Accessor<'a>>,
}

impl Request<'_> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Request {
            args: SmallVec::new(),
            push: SmallVec::new(),
            spec: SmallVec::new(),
            dispatch: None,
            base: [0; 3],
            uses: Vec::new(),
        }
    }
}

/// A kernel that somebody else keeps, or that is kept here.
#[derive(Debug)]
pub(crate) enum Called<'a> {
    Lent(&'a Arc<KernelInner>),
    Own(Arc<KernelInner>),
}

impl Deref for Called<'_> {
    type Target = Arc<KernelInner>;

    #[inline]
    fn deref(&self) -> &Arc<KernelInner> {
        match self {
            Called::Lent(kernel) => kernel,
            Called::Own(kernel) => kernel,
        }
    }
}

/// How much is dispatched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Size {
    Groups([u32; 3]),
    Items([u32; 3]),
}
