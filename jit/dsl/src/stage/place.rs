//! Constants, locals and the parts of things: fields, elements, assignments.

use std::collections::HashMap;

use rspirv::{
    dr::Operand,
    spirv::{Op, StorageClass},
};

use super::{
    Cap, Place, Staged, Val,
    builder::{Builder, PlaceData},
    fit::{Takes, Taking, taking},
    local::Root,
    memory::Spot,
    shape, with,
};
use crate::{
    capture::{Capture, HasField, Local, Stage, Value},
    lowered::LowerError,
    shape::Shape,
    stage::{Composite, Plain},
};

/// A value that is known when the kernel is lowered.
pub fn constant<T: Local>(value: T) -> Val<T> {
    let shape = shape::<T>();
    let mut bytes = vec![0; shape.size() as usize];
    value.write(&mut bytes);
    with(|b| Val::new(b.constant(&shape, &bytes)))
}

/// The value of whatever an expression names.
pub trait Rd: Copy {
    /// The handle of the value.
    type Out;
    /// Reads it.
    fn rd(self) -> Self::Out;
}

impl<T: Stage> Rd for Val<T> {
    type Out = Val<T>;
    fn rd(self) -> Val<T> {
        self
    }
}

impl<T: Stage> Rd for Cap<T> {
    type Out = Cap<T>;
    fn rd(self) -> Cap<T> {
        self
    }
}

impl<T: Local> Rd for Place<T> {
    type Out = Val<T>;
    fn rd(self) -> Val<T> {
        let shape = shape::<T>();
        with(|b| Val::new(b.read_place(self.at, &shape)))
    }
}

/// [`Rd::rd`].
pub fn rd<X: Rd>(x: X) -> X::Out {
    x.rd()
}

/// A `let mut`.
pub fn var<T: Local>(value: Val<T>) -> Place<T> {
    let shape = shape::<T>();
    with(|b| {
        let root = b.spill(value.id, &shape);
        Place::new(b.place(root))
    })
}

/// A `let`: arrays are put where they can be indexed, everything else stays as it is.
pub fn bind<X: Bind>(x: X) -> X {
    x.bind()
}

/// What `let` takes.
pub trait Bind: Copy {
    /// The same, ready to be used often.
    #[must_use]
    fn bind(self) -> Self;
}

impl<T: Local> Bind for Val<T> {
    fn bind(self) -> Self {
        let shape = shape::<T>();
        if shape.has_array() {
            with(|b| {
                if !b.function().spilled.contains_key(&self.id) {
                    let root = b.spill(self.id, &shape);
                    b.function().spilled.insert(self.id, root);
                }
            });
        }
        self
    }
}

impl<T: Local> Bind for Place<T> {
    fn bind(self) -> Self {
        self
    }
}

impl<T: Stage> Bind for Cap<T> {
    fn bind(self) -> Self {
        self
    }
}

/// What can be assigned to.
#[diagnostic::on_unimplemented(
    message = "an assignment to what is no local variable in a kernel",
    label = "not a place",
    note = "captures are read only: write through an accessor, by `accessor[i] = value` or `set`"
)]
pub trait Assign {
    /// What it holds.
    type Of;
    /// The place.
    fn target(self) -> Place<Self::Of>;
}

impl<T: Local> Assign for Place<T> {
    type Of = T;
    fn target(self) -> Place<T> {
        self
    }
}

/// [`Assign::target`].
pub fn target<P: Assign>(place: P) -> Place<P::Of> {
    place.target()
}

/// An assignment.
pub fn assign<P: Assign<Of: Local>>(place: P, value: Val<P::Of>) {
    let (at, shape) = (place.target().at, shape::<P::Of>());
    with(|b| b.write_place(at, &shape, value.id));
}

/// What has fields.
pub trait FieldOf<const NAME: u64> {
    /// The handle of the field.
    type Out;
    /// The field.
    fn field(self) -> Self::Out;
}

impl<const NAME: u64, T: Value + HasField<NAME>> FieldOf<NAME> for Val<T>
where
    T::Type: Value,
{
    type Out = Val<T::Type>;
    fn field(self) -> Self::Out {
        let shape = shape::<T::Type>();
        with(|b| Val::new(b.extract(&shape, self.id, T::INDEX)))
    }
}

impl<const NAME: u64, T: Value + HasField<NAME>> FieldOf<NAME> for Place<T>
where
    T::Type: Value,
{
    type Out = Place<T::Type>;
    fn field(self) -> Self::Out {
        with(|b| Place::new(b.place_field(self.at, T::INDEX)))
    }
}

impl<const NAME: u64, T: HasField<NAME>> FieldOf<NAME> for Cap<T> {
    type Out = Staged<T::Type>;
    fn field(self) -> Self::Out {
        <T::Type as Capture>::stage(T::position(self.at))
    }
}

/// [`FieldOf::field`].
pub fn field<const NAME: u64, X: FieldOf<NAME>>(x: X) -> X::Out {
    x.field()
}

/// What can be indexed by a value.
#[diagnostic::on_unimplemented(
    message = "this is not indexed by that in kernels",
    note = "arrays of values are indexed by `u32`; of an array that contains accessors an element is chosen by a literal index, so use `match` for others; accessors and work-group memory are indexed by `u32`, and a `Grid` by `[y, x]` or `[z, y, x]`"
)]
pub trait IndexBy<I> {
    /// The handle of the element.
    type Out;
    /// The element.
    fn index(self, index: I) -> Self::Out;
}

impl<T: Local, const N: usize> IndexBy<Val<u32>> for Val<[T; N]> {
    type Out = Val<T>;
    fn index(self, index: Val<u32>) -> Val<T> {
        let (array, element) = (shape::<[T; N]>(), shape::<T>());
        if let Some(k) = with(|b| b.known(index.id)).filter(|&k| k < N as u64) {
            return with(|b| Val::new(b.extract(&element, self.id, k as u32)));
        }
        let at = with(|b| {
            let root = b.indexed(self.id, &array);
            let ok = b.below(index.id, N as u32);
            b.place_at(root, index.id, ok)
        });
        Place::<T>::new(at).rd()
    }
}

impl<T: Local, const N: usize> IndexBy<Val<u32>> for Place<[T; N]> {
    type Out = Place<T>;
    fn index(self, index: Val<u32>) -> Place<T> {
        with(|b| {
            let ok = b.below(index.id, N as u32);
            Place::new(b.place_at(self.at, index.id, ok))
        })
    }
}

/// [`IndexBy::index`].
pub fn index<I, X: IndexBy<I>>(x: X, index: I) -> X::Out {
    x.index(index)
}

/// What has elements that can be assigned to.
#[diagnostic::on_unimplemented(
    message = "the elements of this are not assigned to by this index in kernels",
    note = "elements of local arrays, of accessors that write and of work-group memory are, by an index of type `u32`"
)]
pub trait IndexPlace<I> {
    /// The handle of the element.
    type Out;
    /// The element.
    fn index_place(self, index: I) -> Self::Out;
}

impl<T: Local, const N: usize> IndexPlace<Val<u32>> for Place<[T; N]> {
    type Out = Place<T>;
    fn index_place(self, index: Val<u32>) -> Place<T> {
        self.index(index)
    }
}

/// [`IndexPlace::index_place`].
pub fn index_place<I, X: IndexPlace<I>>(x: X, index: I) -> X::Out {
    x.index_place(index)
}

/// What has elements that can be assigned to by a literal index.
#[diagnostic::on_unimplemented(
    message = "the elements of this are not assigned to in kernels",
    note = "elements of local arrays, of accessors that write and of work-group memory are"
)]
pub trait LitPlace {
    /// The handle of the element.
    type Out;
    /// The element.
    fn lit_place(self, index: usize) -> Self::Out;
}

impl<T: Local, const N: usize> LitPlace for Place<[T; N]> {
    type Out = Place<T>;
    fn lit_place(self, index: usize) -> Place<T> {
        self.index_lit(index)
    }
}

impl<T: Capture + Stage<Kind = Composite>, const N: usize> LitPlace for Cap<[T; N]> {
    type Out = Cap<T>;
    fn lit_place(self, index: usize) -> Cap<T> {
        self.index_lit(index)
    }
}

/// [`LitPlace::lit_place`].
pub fn lit_place<X: LitPlace>(x: X, index: usize) -> X::Out {
    x.lit_place(index)
}

/// What can be indexed by a literal.
pub trait IndexLit {
    /// The handle of the element.
    type Out;
    /// The element.
    fn index_lit(self, index: usize) -> Self::Out;
}

impl<T: Local, const N: usize> IndexLit for Val<[T; N]> {
    type Out = Val<T>;
    fn index_lit(self, index: usize) -> Val<T> {
        let element = shape::<T>();
        check_literal(index, N);
        with(|b| Val::new(b.extract(&element, self.id, index as u32)))
    }
}

impl<T: Local, const N: usize> IndexLit for Place<[T; N]> {
    type Out = Place<T>;
    fn index_lit(self, index: usize) -> Place<T> {
        check_literal(index, N);
        with(|b| {
            let index = b.u32(index as u32);
            Place::new(b.place_inside(self.at, index, None))
        })
    }
}

impl<T: Capture + Stage<Kind = Composite>, const N: usize> IndexLit for Cap<[T; N]> {
    type Out = Cap<T>;
    fn index_lit(self, index: usize) -> Cap<T> {
        check_literal(index, N);
        Cap::new((0..index).fold(self.at, |at, _| T::advance(at)))
    }
}

/// Where the length is a parameter, Rust does not see that a literal is out of range.
fn check_literal(index: usize, len: usize) {
    if index >= len {
        with(|b| b.fail(LowerError::Index { index, len }));
    }
}

/// [`IndexLit::index_lit`].
pub fn index_lit<X: IndexLit>(x: X, index: usize) -> X::Out {
    x.index_lit(index)
}

/// An array of values.
pub fn array<T: Local, const N: usize>(values: [Val<T>; N]) -> Val<[T; N]> {
    let ids = values.map(|value| value.id);
    construct::<[T; N]>(&ids)
}

/// A vector of components.
pub(crate) fn vector<T: Local>(parts: &[u32]) -> Val<T> {
    construct(parts)
}

pub(super) fn construct<T: Local>(parts: &[u32]) -> Val<T> {
    let shape = shape::<T>();
    with(|b| {
        let ty = b.value_type(&shape);
        Val::new(b.op(Op::CompositeConstruct, ty, parts))
    })
}

/// A struct whose fields are given one by one, in any order.
#[derive(Debug)]
pub struct StructBuilder<T> {
    parts: Vec<(u32, u32)>,
    ty: std::marker::PhantomData<fn() -> T>,
}

impl<T: Local> Default for StructBuilder<T> {
    fn default() -> Self {
        StructBuilder { parts: Vec::new(), ty: std::marker::PhantomData }
    }
}

impl<T: Local> StructBuilder<T> {
    /// Gives a field a value, which may be of another type.
    #[must_use]
    pub fn with<const NAME: u64, A>(self, value: Val<A>) -> Taking<With<NAME, T>, A, T::Type>
    where
        T: HasField<NAME>,
        T::Type: Stage<Kind = Plain>,
    {
        taking(With { of: self }, value)
    }

    /// The struct.
    #[must_use]
    pub fn done(mut self) -> Val<T> {
        self.parts.sort_unstable();
        let ids: Vec<u32> = self.parts.iter().map(|&(_, id)| id).collect();
        construct::<T>(&ids)
    }

    /// The struct, with the fields that were not given from another, which may be of another type.
    #[must_use]
    pub fn done_from<A>(self, base: Val<A>) -> Taking<Rest<T>, A, T> {
        taking(Rest { of: self }, base)
    }

    fn finished(self, base: Val<T>) -> Val<T> {
        let fields: Vec<Shape> = match shape::<T>() {
            Shape::Struct(shape) => shape.fields.into_iter().map(|field| field.shape).collect(),
            Shape::Vector(scalar, n) => vec![Shape::Scalar(scalar); n as usize],
            Shape::Scalar(_) | Shape::Array(..) => Vec::new(),
        };
        let given: HashMap<u32, u32> = self.parts.into_iter().collect();
        let field = |(k, shape)| {
            let k = k as u32;
            given.get(&k).copied().unwrap_or_else(|| with(|b| b.extract(shape, base.id, k)))
        };
        let ids: Vec<u32> = fields.iter().enumerate().map(field).collect();
        construct::<T>(&ids)
    }
}

/// The fields that are not given.
#[derive(Debug)]
pub struct Rest<T> {
    of: StructBuilder<T>,
}

impl<T: Local> Takes for Rest<T> {
    type Value = T;
    type Out = Val<T>;
    fn take(self, base: Val<T>) -> Val<T> {
        self.of.finished(base)
    }
}

/// The field that is given next.
#[derive(Debug)]
pub struct With<const NAME: u64, T> {
    of: StructBuilder<T>,
}

impl<const NAME: u64, T: HasField<NAME>> Takes for With<NAME, T>
where
    T::Type: Stage<Kind = Plain>,
{
    type Value = T::Type;
    type Out = StructBuilder<T>;
    fn take(mut self, value: Val<T::Type>) -> StructBuilder<T> {
        self.of.parts.push((T::INDEX, value.id));
        self.of
    }
}

impl PlaceData {
    fn spot(&self) -> Spot {
        Spot { root: self.root.variable(), class: self.class, indices: self.indices.clone() }
    }
}

impl Builder {
    pub(super) fn extract(&mut self, shape: &Shape, composite: u32, index: u32) -> u32 {
        let ty = self.value_type(shape);
        self.emit(Op::CompositeExtract, ty, vec![Operand::IdRef(composite), Operand::LiteralBit32(index)])
    }

    /// The place of a local.
    pub(super) fn place(&mut self, root: Root) -> usize {
        self.place_in(StorageClass::Function, root, Vec::new(), None)
    }

    /// A place that may be no local.
    pub(super) fn place_in(
        &mut self,
        class: StorageClass,
        root: Root,
        indices: Vec<u32>,
        ok: Option<u32>,
    ) -> usize {
        self.places.push(PlaceData { root, class, indices, ok });
        self.places.len() - 1
    }

    /// A value where it can be indexed.
    pub(super) fn indexed(&mut self, value: u32, shape: &Shape) -> usize {
        let kept = self.function().spilled.get(&value).cloned();
        let root = kept.unwrap_or_else(|| self.spill(value, shape));
        self.place(root)
    }

    /// A field of a struct, or a component of a vector, in a place.
    pub(super) fn place_field(&mut self, at: usize, field: u32) -> usize {
        let PlaceData { root, class, indices, ok } = &self.places[at];
        if let Root::Fields(fields) = root {
            let root = fields[field as usize].clone();
            return self.place_in(*class, root, indices.clone(), *ok);
        }
        let field = self.u32(field);
        self.place_inside(at, field, None)
    }

    /// An element of an array in a place; `ok` is whether it is one.
    pub(super) fn place_inside(&mut self, at: usize, index: u32, ok: Option<u32>) -> usize {
        let PlaceData { root, class, mut indices, ok: outer } = self.places[at].clone();
        indices.push(index);
        let ok = match (outer, ok) {
            (Some(a), Some(b)) => {
                let ty = self.bool_type();
                Some(self.op(Op::LogicalAnd, ty, &[a, b]))
            }
            (a, b) => a.or(b),
        };
        self.place_in(class, root, indices, ok)
    }

    /// An element of an array in a place. Where the index is out of range, element 0 stands in.
    fn place_at(&mut self, at: usize, index: u32, ok: Option<u32>) -> usize {
        let mut safe = index;
        if let Some(ok) = ok {
            let (ty, zero) = (self.u32_type(), self.u32(0));
            safe = self.op(Op::Select, ty, &[ok, index, zero]);
            self.report_out_of_range(ok, u32::MAX, index);
        }
        self.place_inside(at, safe, ok)
    }

    /// Whether an index is below a constant; none where that is known.
    pub(super) fn below(&mut self, index: u32, count: u32) -> Option<u32> {
        if self.known(index).is_some_and(|k| k < u64::from(count)) {
            return None;
        }
        let (ty, count) = (self.bool_type(), self.u32(count));
        Some(self.op(Op::ULessThan, ty, &[index, count]))
    }

    /// Loads what a place of a local, or of other memory, holds. A part of a local is there even where an index is out of range.
    pub(super) fn read_place(&mut self, at: usize, shape: &Shape) -> u32 {
        let place = self.places[at].clone();
        match (place.class, place.ok) {
            (StorageClass::Function, Some(ok)) => {
                let (value, zero) = (self.load_place(&place, shape), self.zero(shape));
                self.choose(ok, shape, value, zero)
            }
            (_, ok) => self.or_zero(ok, shape, |b| b.load_place(&place, shape)),
        }
    }

    pub(super) fn write_place(&mut self, at: usize, shape: &Shape, value: u32) {
        let place = self.places[at].clone();
        self.only_if(place.ok, |b| b.store_place(&place, shape, value));
    }

    fn load_place(&mut self, place: &PlaceData, shape: &Shape) -> u32 {
        let PlaceData { root, class, indices, .. } = place;
        match class {
            StorageClass::Function => self.load_local(root, indices, shape),
            StorageClass::StorageBuffer => self.load_laid_out(&place.spot(), shape),
            _ => {
                let ty = self.value_type(shape);
                let pointer = self.chain(*class, root.variable(), indices, ty);
                self.load(pointer, ty)
            }
        }
    }

    fn store_place(&mut self, place: &PlaceData, shape: &Shape, value: u32) {
        let PlaceData { root, class, indices, .. } = place;
        match class {
            StorageClass::Function => self.store_local(root, indices, shape, value),
            StorageClass::StorageBuffer => self.store_laid_out(&place.spot(), shape, value),
            _ => {
                let ty = self.value_type(shape);
                let pointer = self.chain(*class, root.variable(), indices, ty);
                self.store(pointer, value);
            }
        }
    }

    /// One of two values of any shape.
    pub(super) fn choose(&mut self, condition: u32, shape: &Shape, yes: u32, no: u32) -> u32 {
        let ty = self.value_type(shape);
        match shape {
            Shape::Scalar(_) => self.op(Op::Select, ty, &[condition, yes, no]),
            Shape::Vector(_, n) => {
                let bools = self.bool_type();
                let bools = self.vector_type(bools, *n);
                let condition = self.op(Op::CompositeConstruct, bools, &vec![condition; *n as usize]);
                self.op(Op::Select, ty, &[condition, yes, no])
            }
            Shape::Array(..) | Shape::Struct(_) => {
                // Before SPIR-V 1.4 there is no select of composites.
                let result = self.temporary(ty);
                self.store(result, no);
                self.when(condition, |b| b.store(result, yes));
                self.load(result, ty)
            }
        }
    }

    /// Does something where a condition holds.
    pub(super) fn when(&mut self, condition: u32, f: impl FnOnce(&mut Builder)) {
        if !self.reachable() {
            return;
        }
        let (yes, merge) = (self.fresh(), self.fresh());
        self.selection_merge(merge);
        self.branch_if(condition, yes, merge);
        self.label(yes);
        f(self);
        self.branch(merge);
        self.label(merge);
    }
}
