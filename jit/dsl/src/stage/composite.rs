//! Tuples and `Option`, references to places, and what arrays have one after the other.

use rspirv::{dr::Operand, spirv::Op};

use super::{
    Cap, Composite, Place, Val,
    builder::Builder,
    place::{IndexLit as _, Rd as _, construct},
    shape, with,
};
use crate::capture::{Capture, Local, Stage};

/// Handles of the parts of a tuple.
pub trait Tuple {
    /// The tuple.
    type Of: Local;
    /// Its handle.
    fn tuple(self) -> Val<Self::Of>;
}

/// [`Tuple::tuple`].
pub fn tuple<T: Tuple>(parts: T) -> Val<T::Of> {
    parts.tuple()
}

/// What has parts by number.
#[diagnostic::on_unimplemented(message = "this has no such part by number in kernels", note = "tuples have")]
pub trait PartOf<const K: usize> {
    /// The handle of the part.
    type Out;
    /// The part.
    fn part(self) -> Self::Out;
}

/// [`PartOf::part`].
pub fn part<const K: usize, X: PartOf<K>>(x: X) -> X::Out {
    x.part()
}

macro_rules! tuple {
    ($all:tt: $($name:ident)+; $($part:ident $k:literal)+) => {
        impl<$($name: Local),+> Tuple for ($(Val<$name>,)+) {
            type Of = ($($name,)+);
            #[allow(non_snake_case)]
            fn tuple(self) -> Val<Self::Of> {
                let ($($name,)+) = self;
                construct(&[$($name.id),+])
            }
        }
        $(tuple! { @part $all $part $k })+
    };
    (@part ($($name:ident)+) $part:ident $k:literal) => {
        impl<$($name: Local),+> PartOf<$k> for Val<($($name,)+)> {
            type Out = Val<$part>;
            fn part(self) -> Val<$part> {
                let shape = shape::<$part>();
                with(|b| Val::new(b.extract(&shape, self.id, $k)))
            }
        }

        impl<$($name: Local),+> PartOf<$k> for Place<($($name,)+)> {
            type Out = Place<$part>;
            fn part(self) -> Place<$part> {
                with(|b| Place::new(b.place_field(self.at, $k)))
            }
        }
    };
}

tuple! { (A): A; A 0 }
tuple! { (A B): A B; A 0 B 1 }
tuple! { (A B C): A B C; A 0 B 1 C 2 }
tuple! { (A B C D): A B C D; A 0 B 1 C 2 D 3 }
tuple! { (A B C D E): A B C D E; A 0 B 1 C 2 D 3 E 4 }
tuple! { (A B C D E F): A B C D E F; A 0 B 1 C 2 D 3 E 4 F 5 }

/// `Some(value)`
pub fn some<T: Local>(value: Val<T>) -> Val<Option<T>> {
    let yes = super::constant(true);
    construct(&[yes.id, value.id])
}

/// `None`
pub fn none<T: Local>() -> Val<Option<T>> {
    super::constant(None)
}

/// Whether there is a value.
pub fn is_some<T: Local>(option: Val<Option<T>>) -> Val<bool> {
    with(|b| Val::new(b.extract(&bool::shape(), option.id, 0)))
}

/// Whether there is none.
pub fn is_none<T: Local>(option: Val<Option<T>>) -> Val<bool> {
    super::not(is_some(option))
}

/// The value, if there is one.
pub fn payload<T: Local>(option: Val<Option<T>>) -> Val<T> {
    let shape = shape::<T>();
    with(|b| Val::new(b.extract(&shape, option.id, 1)))
}

/// The value, or another.
pub fn unwrap_or<T: Local>(option: Val<Option<T>>, other: Val<T>) -> Val<T> {
    let (shape, is_some, value) = (shape::<T>(), is_some(option), payload(option));
    with(|b| Val::new(b.choose(is_some.id, &shape, value.id, other.id)))
}

/// A local that has no value yet.
pub fn later<T: Local>() -> Place<T> {
    let shape = shape::<T>();
    with(|b| {
        let root = b.local(&shape);
        Place::new(b.place(root))
    })
}

/// What can be lent, to be changed by a function or through another name.
#[diagnostic::on_unimplemented(
    message = "`&mut` of what is no local variable in a kernel",
    label = "cannot be lent",
    note = "of an accessor's element take a copy, and write that back"
)]
pub trait Lend {
    /// The place.
    type Of;
    /// The place.
    fn lend(self) -> Self::Of;
}

impl<T: Local> Lend for Place<T> {
    type Of = Place<T>;
    fn lend(self) -> Place<T> {
        self
    }
}

/// [`Lend::lend`].
pub fn lend<X: Lend>(x: X) -> X::Of {
    x.lend()
}

/// A handle that a function's argument can be made of.
pub trait Pass<To> {
    /// What the function takes.
    fn pass(self) -> To;
}

impl<T> Pass<Val<T>> for Val<T> {
    fn pass(self) -> Val<T> {
        self
    }
}

impl<T> Pass<Cap<T>> for Cap<T> {
    fn pass(self) -> Cap<T> {
        self
    }
}

impl<T: Local> Pass<Val<T>> for Place<T> {
    fn pass(self) -> Val<T> {
        self.rd()
    }
}

impl<T> Pass<Place<T>> for Place<T> {
    fn pass(self) -> Place<T> {
        self
    }
}

/// [`Pass::pass`].
pub fn pass<X: Pass<To>, To>(x: X) -> To {
    x.pass()
}

/// What `for` goes through.
#[diagnostic::on_unimplemented(
    message = "`for` over something else than a range or an array in a kernel",
    label = "not an array",
    note = "use `a..b`, `(a..b).rev()` or `(a..b).step_by(n)`, or `while` for other steps"
)]
pub trait Each {
    /// The handle of an element.
    type Item;
    /// Does something with each element.
    fn each(self, body: impl FnMut(Self::Item));
}

impl<T: Local, const N: usize> Each for Val<[T; N]> {
    type Item = Val<T>;
    fn each(self, mut body: impl FnMut(Val<T>)) {
        let array = shape::<[T; N]>();
        let root = with(|b| b.indexed(self.id, &array));
        super::for_range(super::constant(0_u32), super::constant(N as u32), |k| {
            // The counter is in range.
            let at = with(|b| b.place_inside(root, k.id, None));
            body(Place::<T>::new(at).rd());
        });
    }
}

impl<T: Local, const N: usize> Each for Place<[T; N]> {
    type Item = Val<T>;
    fn each(self, body: impl FnMut(Val<T>)) {
        self.rd().each(body);
    }
}

/// Captures have no addresses: the body is there once for each of them.
impl<T: Capture + Stage<Kind = Composite>, const N: usize> Each for Cap<[T; N]> {
    type Item = Cap<T>;
    fn each(self, mut body: impl FnMut(Cap<T>)) {
        super::flow::once_each(N, |k| body(self.index_lit(k)));
    }
}

/// [`Each::each`].
pub fn for_each<X: Each>(x: X, body: impl FnMut(X::Item)) {
    x.each(body);
}

impl Builder {
    /// The result of a function and what it leaves in the places that were lent to it, as one value.
    pub(super) fn leave_with(&mut self, value: Option<u32>) {
        if !self.reachable() {
            return;
        }
        let outs = self.function().outs.clone();
        if outs.is_empty() {
            return match value {
                Some(id) => self.terminate(Op::ReturnValue, vec![Operand::IdRef(id)]),
                None => self.terminate(Op::Return, Vec::new()),
            };
        }
        let ret = self.function().ret;
        let mut parts: Vec<u32> = value.into_iter().collect();
        for (at, shape) in outs {
            parts.push(self.read_place(at, &shape));
        }
        let id = self.op(Op::CompositeConstruct, ret, &parts);
        self.terminate(Op::ReturnValue, vec![Operand::IdRef(id)]);
    }
}
