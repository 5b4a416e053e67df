//! Elements of accessors and of work-group memory by `[index]`: read as by `get`, and assigned to as by `set`.

use std::marker::PhantomData;

use rspirv::spirv::StorageClass;

use super::{
    Cap, Place, Val,
    access::{Get as _, Target},
    local::Root,
    place::{Assign, FieldOf, IndexBy, IndexLit, IndexPlace, LitPlace, Rd},
    shape, with,
};
use crate::{
    access::{Reads, Writes},
    capture::{HasField, Local, Value},
    shared::Shared,
};

/// An element, or a part of one, of what `A` is. It can be read if elements of `A` can.
pub struct Slot<A, T> {
    place: Place<T>,
    of: PhantomData<fn() -> A>,
}

impl<A, T> Clone for Slot<A, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A, T> Copy for Slot<A, T> {}

impl<A, T> Slot<A, T> {
    pub(super) fn new(place: Place<T>) -> Slot<A, T> {
        Slot { place, of: PhantomData }
    }
}

/// What elements can be read of.
#[diagnostic::on_unimplemented(message = "`{Self}` does not read", note = "use `ReadWrite`")]
pub trait Readable {}

impl<A: Reads> Readable for A {}
impl<T, const N: usize> Readable for Shared<T, N> {}

impl<A: Readable, T: Local> Rd for Slot<A, T> {
    type Out = Val<T>;
    fn rd(self) -> Val<T> {
        self.place.rd()
    }
}

impl<A, T: Local> Assign for Slot<A, T> {
    type Of = T;
    fn target(self) -> Place<T> {
        self.place
    }
}

impl<const NAME: u64, A, T: Value + HasField<NAME>> FieldOf<NAME> for Slot<A, T>
where
    T::Type: Value,
{
    type Out = Slot<A, T::Type>;
    fn field(self) -> Self::Out {
        Slot::new(self.place.field())
    }
}

impl<A, T: Local, const N: usize> IndexPlace<Val<u32>> for Slot<A, [T; N]> {
    type Out = Slot<A, T>;
    fn index_place(self, index: Val<u32>) -> Slot<A, T> {
        Slot::new(self.place.index(index))
    }
}

impl<A, T: Local, const N: usize> LitPlace for Slot<A, [T; N]> {
    type Out = Slot<A, T>;
    fn lit_place(self, index: usize) -> Slot<A, T> {
        Slot::new(self.place.index_lit(index))
    }
}

impl<A: Reads> IndexBy<Val<u32>> for Cap<A> {
    type Out = Val<A::Element>;
    fn index(self, index: Val<u32>) -> Val<A::Element> {
        self.get(index)
    }
}

impl<A: Reads> IndexLit for Cap<A> {
    type Out = Val<A::Element>;
    fn index_lit(self, index: usize) -> Val<A::Element> {
        self.get(super::constant(index as u32))
    }
}

impl<A: Writes> IndexPlace<Val<u32>> for Cap<A> {
    type Out = Slot<A, A::Element>;
    fn index_place(self, index: Val<u32>) -> Slot<A, A::Element> {
        let target = Target::of::<A>(self.at);
        Slot::new(with(|b| {
            let ok = b.in_range(&target, index.id);
            let spot = b.spot(&target, index.id);
            Place::new(b.place_in(spot.class, Root::One(spot.root), spot.indices, ok))
        }))
    }
}

impl<A: Writes> LitPlace for Cap<A> {
    type Out = Slot<A, A::Element>;
    fn lit_place(self, index: usize) -> Slot<A, A::Element> {
        self.index_place(super::constant(index as u32))
    }
}

impl<T: Value, const N: usize> IndexBy<Val<u32>> for Cap<Shared<T, N>> {
    type Out = Val<T>;
    fn index(self, index: Val<u32>) -> Val<T> {
        self.get(index)
    }
}

impl<T: Value, const N: usize> IndexLit for Cap<Shared<T, N>> {
    type Out = Val<T>;
    fn index_lit(self, index: usize) -> Val<T> {
        self.get(super::constant(index as u32))
    }
}

impl<T: Value, const N: usize> IndexPlace<Val<u32>> for Cap<Shared<T, N>> {
    type Out = Slot<Shared<T, N>, T>;
    fn index_place(self, index: Val<u32>) -> Self::Out {
        Slot::new(with(|b| {
            let ok = b.shared_in_range(index.id, N as u32);
            let root = b.shared_variable(self.at.shared, &shape::<[T; N]>());
            Place::new(b.place_in(StorageClass::Workgroup, Root::One(root), vec![index.id], ok))
        }))
    }
}

impl<T: Value, const N: usize> LitPlace for Cap<Shared<T, N>> {
    type Out = Slot<Shared<T, N>, T>;
    fn lit_place(self, index: usize) -> Self::Out {
        self.index_place(super::constant(index as u32))
    }
}
