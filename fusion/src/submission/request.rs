//! What is asked for by a submission, before it is checked.

use smallvec::SmallVec;

use crate::{
    jit::SetBinding,
    jit::SpecValue,
    submission::{accessor::Accessor, held::Held, kernel::KernelInner, pushed::Pushed},
};

/// What is asked for by a submission, except for what it comes after.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) args: SmallVec<[(SetBinding, Accessor<'a>); 8]>,
    pub(crate) push: SmallVec<[u8; 32]>,
    /// The types of what was pushed.
    pub(crate) pushed: Pushed,
    pub(crate) spec: SmallVec<[(u32, SpecValue); 4]>,
    pub(crate) dispatch: Option<(Held<'a, KernelInner>, Size)>,
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
            pushed: Pushed::default(),
            spec: SmallVec::new(),
            dispatch: None,
            base: [0; 3],
            uses: Vec::new(),
        }
    }
}

/// How much is dispatched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Size {
    Groups([u32; 3]),
    Items([u32; 3]),
}
