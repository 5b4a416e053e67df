//! An access to a buffer that is considered for promotion, with the element it lies in.

use std::rc::Rc;

use crate::analysis::access::AccessKind;
use crate::analysis::affine::Affine;
use crate::analysis::evaluate::AccessForm;
use crate::plan::promotion::unroll::Written;

/// One access to the buffer under consideration.
pub(crate) struct Element {
    pub(crate) member: usize,
    pub(crate) binding: usize,
    pub(crate) access: usize,
    pub(crate) kind: AccessKind,
    pub(crate) form: AccessForm,
    /// Byte offset in the memory object of the element the access lies in.
    pub(in crate::plan) start: Affine,
    /// The same of the array's first element.
    pub(in crate::plan) array: i128,
    /// Loops of the member that can be unrolled.
    pub(in crate::plan) loops: Rc<[Written]>,
}

#[cfg(test)]
impl Element {
    /// An access for tests in which only the form matters.
    pub(in crate::plan) fn bare(member: usize, kind: AccessKind, form: AccessForm) -> Self {
        let start = form.offset.clone();
        Self { member, binding: 0, access: 0, kind, form, start, array: 0, loops: Rc::from([]) }
    }
}
