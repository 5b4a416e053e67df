//! What a submission was asked for, in a form that later requests are compared with.

use std::{
    hash::Hasher,
    sync::{Arc, Weak},
};

use smallvec::SmallVec;

use crate::{
    error::Slot,
    jit::{Promote, SpecValue},
    submission::{
        accessor::{Access, Accessor},
        buffer::BufferInner,
        kernel::KernelInner,
        request::{Request, Size},
    },
};

/// What a submission was asked for, to be compared with later ones. Handles are weak, and keep their addresses from being
/// used again.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    kernel: Weak<KernelInner>,
    size: Size,
    base: [u32; 3],
    spec: SmallVec<[(u32, SpecValue); 1]>,
    push: SmallVec<[u8; 32]>,
    args: SmallVec<[Arg; 4]>,
}

/// An argument.
#[derive(Debug, Clone)]
struct Arg {
    slot: Slot,
    buffer: Weak<BufferInner>,
    version: u64,
    access: Access,
    element: u64,
    offset: u64,
    count: u64,
    promote: Option<Promote>,
}

impl Arg {
    fn of(slot: Slot, accessor: &Accessor) -> Arg {
        let Accessor { buffer, access, element, offset, count, promote } = accessor;
        Arg {
            slot,
            buffer: Arc::downgrade(buffer),
            version: buffer.version(),
            access: *access,
            element: *element,
            offset: *offset,
            count: *count,
            promote: *promote,
        }
    }

    fn is(&self, slot: Slot, accessor: &Accessor) -> bool {
        let Accessor { buffer, access, element, offset, count, promote } = accessor;
        std::ptr::eq(self.buffer.as_ptr(), Arc::as_ptr(buffer))
            && self.offset == *offset
            && self.count == *count
            && self.element == *element
            && self.slot == slot
            && self.access == *access
            && self.promote == *promote
            && self.version == buffer.version()
    }
}

impl Given {
    /// What a request that was found right asks for; nothing for one that reaches memory by address.
    pub(crate) fn of(request: &Request) -> Option<Given> {
        // Every part of a request is compared, or makes it one that is never known; what it comes after is the list's affair.
        let Request { args, push, spec, dispatch, base, uses } = request;
        let (kernel, size) = dispatch.as_ref()?;
        uses.is_empty().then(|| Given {
            kernel: Arc::downgrade(kernel),
            size: *size,
            base: *base,
            spec: spec.iter().copied().collect(),
            push: push.clone(),
            args: args.iter().map(|(slot, accessor)| Arg::of(*slot, accessor)).collect(),
        })
    }

    /// Whether a request asks for the same. Waits for events are not looked at.
    pub(crate) fn is(&self, request: &Request) -> bool {
        request.dispatch.as_ref().is_some_and(|(kernel, size)| {
            std::ptr::eq(self.kernel.as_ptr(), Arc::as_ptr(kernel)) && *size == self.size
        }) && request.base == self.base
            && request.push == self.push
            && request.args.len() == self.args.len()
            && self.args.iter().zip(&request.args).all(|(known, (slot, accessor))| known.is(*slot, accessor))
            && request.uses.is_empty()
            && request.spec.len() == self.spec.len()
            && self.spec.iter().zip(&request.spec).all(|(a, b)| a.0 == b.0 && same_bits(a.1, b.1))
    }

    pub(crate) fn same(&self, other: &Given) -> bool {
        let args = |a: &Arg, b: &Arg| {
            a.buffer.ptr_eq(&b.buffer)
                && (a.slot, a.access, a.promote) == (b.slot, b.access, b.promote)
                && (a.version, a.element, a.offset, a.count) == (b.version, b.element, b.offset, b.count)
        };
        self.kernel.ptr_eq(&other.kernel)
            && (self.size, self.base, &self.push) == (other.size, other.base, &other.push)
            && self.args.len() == other.args.len()
            && self.args.iter().zip(&other.args).all(|(a, b)| args(a, b))
            && self.spec.len() == other.spec.len()
            && self.spec.iter().zip(&other.spec).all(|(a, b)| a.0 == b.0 && same_bits(a.1, b.1))
    }

    pub(crate) fn hash(&self, hasher: &mut impl Hasher) {
        hasher.write_usize(self.kernel.as_ptr().addr());
        hasher.write(&self.push);
        for arg in &self.args {
            hasher.write_usize(arg.buffer.as_ptr().addr());
            hasher.write_u64(arg.offset);
        }
    }
}

/// Hashes a request as [`Given::hash`] does.
pub(crate) fn hash_request(request: &Request, hasher: &mut impl Hasher) {
    if let Some((kernel, _)) = &request.dispatch {
        hasher.write_usize(Arc::as_ptr(kernel).addr());
    }
    hasher.write(&request.push);
    for (_, accessor) in &request.args {
        hasher.write_usize(Arc::as_ptr(&accessor.buffer).addr());
        hasher.write_u64(accessor.offset);
    }
}

/// Equality of constants by their bits: 0 and -0 are two.
fn same_bits(a: SpecValue, b: SpecValue) -> bool {
    match (a, b) {
        (SpecValue::F32(a), SpecValue::F32(b)) => a.to_bits() == b.to_bits(),
        (SpecValue::F64(a), SpecValue::F64(b)) => a.to_bits() == b.to_bits(),
        (a, b) => a == b,
    }
}
