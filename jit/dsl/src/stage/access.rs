//! Reads and writes of buffers and work-group memory.

use rspirv::{
    dr::Operand,
    spirv::{Capability, Op, StorageClass},
};

use super::{
    Cap, Val,
    builder::{Builder, Fit},
    fit::{Takes, Taking, taking},
    memory::Spot,
    shape, with,
};
use crate::{
    access::{Accessor, Atomic, AtomicInt, Ranged, ReadWrite, Reads, Writes},
    capture::{Local, Mode, Position, Value},
    shape::{ScalarType, Shape},
    shared::{FIRST_SPEC, Shared, Spec},
    value::Scalar,
};

/// What tells how an accessor is reached.
pub(super) struct Target {
    pub(super) param: u32,
    mode: Mode,
    pub(super) element: Shape,
    /// Byte offset of offset and length among the plain values.
    range: Option<u32>,
}

impl Target {
    /// All of what is bound.
    pub(super) fn whole<A: Accessor>(at: Position) -> Target {
        Target { param: at.params, mode: A::MODE, element: shape::<A::Element>(), range: None }
    }

    pub(super) fn of<A: Accessor>(at: Position) -> Target {
        let range = A::RANGED.then(|| at.aligned(4).plain);
        Target { param: at.params, mode: A::MODE, element: shape::<A::Element>(), range }
    }
}

impl Builder {
    fn target_length(&mut self, target: &Target) -> u32 {
        match target.range {
            Some(at) => self.plain_word(at + 4),
            None => {
                let variable = self.binding(target.param, &target.element, target.mode);
                self.length(target.param, variable)
            }
        }
    }

    /// Whether an index is in range; none where the runtime sees to it.
    pub(super) fn in_range(&mut self, target: &Target, index: u32) -> Option<u32> {
        if let Some(&to) = self.function().fits.get(&index) {
            self.fits.insert(Fit { param: target.param, to });
            if self.options.fitting {
                return None;
            }
        }
        let length = self.target_length(target);
        let ok = self.compare(Op::ULessThan, index, length);
        self.report_out_of_range(ok, target.param, index);
        Some(ok)
    }

    pub(super) fn spot(&mut self, target: &Target, index: u32) -> Spot {
        let root = self.binding(target.param, &target.element, target.mode);
        let zero = self.u32(0);
        let index = match target.range {
            Some(at) => {
                let (ty, offset) = (self.u32_type(), self.plain_word(at));
                self.op(Op::IAdd, ty, &[offset, index])
            }
            None => index,
        };
        Spot { root, class: StorageClass::StorageBuffer, indices: vec![zero, index] }
    }

    /// A value where a condition holds, and zero where not.
    pub(super) fn or_zero(
        &mut self,
        ok: Option<u32>,
        shape: &Shape,
        f: impl FnOnce(&mut Builder) -> u32,
    ) -> u32 {
        let Some(ok) = ok else { return f(self) };
        let ty = self.value_type(shape);
        let (result, zero) = (self.temporary(ty), self.zero(shape));
        self.store(result, zero);
        self.when(ok, |b| {
            let value = f(b);
            b.store(result, value);
        });
        self.load(result, ty)
    }

    pub(super) fn only_if(&mut self, ok: Option<u32>, f: impl FnOnce(&mut Builder)) {
        match ok {
            None => f(self),
            Some(ok) => self.when(ok, f),
        }
    }
}

/// Reading accessors.
pub trait Get {
    /// The element.
    type Element;
    /// An element; zero where there is none.
    fn get(self, index: Val<u32>) -> Val<Self::Element>;
    /// An element, unchecked.
    fn get_unchecked(self, index: Val<u32>) -> Val<Self::Element>;
}

/// Writing accessors.
pub trait Set {
    /// The element.
    type Element;
    /// Writes an element; nothing where there is none.
    fn put(self, index: Val<u32>, value: Val<Self::Element>);
    /// Writes an element, unchecked.
    fn put_unchecked(self, index: Val<u32>, value: Val<Self::Element>);
    /// [`Set::put`] of a value that may be of another type.
    fn set<A>(self, index: Val<u32>, value: Val<A>) -> Taking<At<Self, true>, A, Self::Element>
    where
        Self: Sized,
    {
        taking(At { of: self, index }, value)
    }
    /// [`Set::put_unchecked`] of a value that may be of another type.
    fn set_unchecked<A>(self, index: Val<u32>, value: Val<A>) -> Taking<At<Self, false>, A, Self::Element>
    where
        Self: Sized,
    {
        taking(At { of: self, index }, value)
    }
}

/// Where a value is written to.
pub struct At<H, const CHECKED: bool> {
    of: H,
    index: Val<u32>,
}

impl<H: Set, const CHECKED: bool> Takes for At<H, CHECKED> {
    type Value = H::Element;
    type Out = ();
    fn take(self, value: Val<H::Element>) {
        if CHECKED { self.of.put(self.index, value) } else { self.of.put_unchecked(self.index, value) }
    }
}

impl<A: Reads> Get for Cap<A> {
    type Element = A::Element;
    fn get(self, index: Val<u32>) -> Val<A::Element> {
        let target = Target::of::<A>(self.at);
        with(|b| {
            let ok = b.in_range(&target, index.id);
            Val::new(b.or_zero(ok, &target.element, |b| {
                let spot = b.spot(&target, index.id);
                b.load_laid_out(&spot, &target.element)
            }))
        })
    }
    fn get_unchecked(self, index: Val<u32>) -> Val<A::Element> {
        let target = Target::of::<A>(self.at);
        with(|b| {
            let spot = b.spot(&target, index.id);
            Val::new(b.load_laid_out(&spot, &target.element))
        })
    }
}

impl<A: Writes> Set for Cap<A> {
    type Element = A::Element;
    fn put(self, index: Val<u32>, value: Val<A::Element>) {
        let target = Target::of::<A>(self.at);
        with(|b| {
            let ok = b.in_range(&target, index.id);
            b.only_if(ok, |b| {
                let spot = b.spot(&target, index.id);
                b.store_laid_out(&spot, &target.element, value.id);
            });
        });
    }
    fn put_unchecked(self, index: Val<u32>, value: Val<A::Element>) {
        let target = Target::of::<A>(self.at);
        with(|b| {
            let spot = b.spot(&target, index.id);
            b.store_laid_out(&spot, &target.element, value.id);
        });
    }
}

impl<A: Accessor> Cap<A> {
    /// Number of elements.
    pub fn len(self) -> Val<u32> {
        let target = Target::of::<A>(self.at);
        with(|b| Val::new(b.target_length(&target)))
    }

    /// Whether there are no elements.
    pub fn is_empty(self) -> Val<bool> {
        super::eq(self.len(), super::constant(0))
    }
}

/// Work-group memory.
impl<T: Value, const N: usize> Get for Cap<Shared<T, N>> {
    type Element = T;
    fn get(self, index: Val<u32>) -> Val<T> {
        let element = shape::<T>();
        with(|b| {
            let ok = b.shared_in_range(index.id, N as u32);
            Val::new(b.or_zero(ok, &element, |b| {
                let (pointer, ty) = b.shared_element::<T, N>(self.at, index.id);
                b.load(pointer, ty)
            }))
        })
    }
    fn get_unchecked(self, index: Val<u32>) -> Val<T> {
        with(|b| {
            let (pointer, ty) = b.shared_element::<T, N>(self.at, index.id);
            Val::new(b.load(pointer, ty))
        })
    }
}

impl<T: Value, const N: usize> Set for Cap<Shared<T, N>> {
    type Element = T;
    fn put(self, index: Val<u32>, value: Val<T>) {
        with(|b| {
            let ok = b.shared_in_range(index.id, N as u32);
            b.only_if(ok, |b| {
                let (pointer, _) = b.shared_element::<T, N>(self.at, index.id);
                b.store(pointer, value.id);
            });
        });
    }
    fn put_unchecked(self, index: Val<u32>, value: Val<T>) {
        with(|b| {
            let (pointer, _) = b.shared_element::<T, N>(self.at, index.id);
            b.store(pointer, value.id);
        });
    }
}

impl Builder {
    pub(super) fn shared_in_range(&mut self, index: u32, count: u32) -> Option<u32> {
        let ok = self.below(index, count)?;
        self.report_out_of_range(ok, u32::MAX, index);
        Some(ok)
    }

    fn shared_element<T: Value, const N: usize>(&mut self, at: Position, index: u32) -> (u32, u32) {
        let root = self.shared_variable(at.shared, &<[T; N]>::shape());
        let ty = self.value_type(&T::shape());
        (self.chain(StorageClass::Workgroup, root, &[index], ty), ty)
    }
}

impl<T: Scalar> Cap<Spec<T>> {
    /// The constant.
    pub fn get(self) -> Val<T> {
        with(|b| Val::new(b.spec(FIRST_SPEC + self.at.specs, T::TYPE, 0)))
    }
}

/// Opcodes of `min` and `max` are different for signed and unsigned.
fn by_sign<T: AtomicInt>(signed: Op, unsigned: Op) -> Op {
    if T::TYPE.is_signed() { signed } else { unsigned }
}

/// The addition of the type.
fn addition<T: Atomic>() -> Op {
    if T::TYPE.is_float() { Op::AtomicFAddEXT } else { Op::AtomicIAdd }
}

/// Scope of an atomic operation on a buffer, on work-group memory.
const DEVICE: u32 = 1;
const WORKGROUP: u32 = 2;

impl Builder {
    fn atomic<T: Atomic>(&mut self, op: Op, pointer: u32, scope: u32, values: &[u32]) -> u32 {
        self.atomics.insert((T::TYPE, scope == WORKGROUP));
        match T::TYPE {
            ScalarType::F32 => self.capability(Capability::AtomicFloat32AddEXT),
            ScalarType::F64 => self.capability(Capability::AtomicFloat64AddEXT),
            ScalarType::I64 | ScalarType::U64 => self.capability(Capability::Int64Atomics),
            _ => {}
        }
        if T::TYPE.is_float() {
            self.extension("SPV_EXT_shader_atomic_float_add");
        }
        let ty = self.scalar_type(T::TYPE);
        let (scope, relaxed) = (self.u32(scope), self.u32(0));
        let mut operands = vec![Operand::IdRef(pointer), Operand::IdScope(scope)];
        operands.push(Operand::IdMemorySemantics(relaxed));
        if op == Op::AtomicCompareExchange {
            operands.push(Operand::IdMemorySemantics(relaxed));
        }
        operands.extend(values.iter().map(|&id| Operand::IdRef(id)));
        self.emit(op, ty, operands)
    }
}

impl<A> Cap<A> {
    fn atomic_of<T: Atomic>(self, op: Op, index: Val<u32>, values: &[u32]) -> Val<T>
    where
        A: Writes<Element = T>,
    {
        let target = Target::of::<A>(self.at);
        with(|b| {
            let ok = b.in_range(&target, index.id);
            Val::new(b.or_zero(ok, &target.element, |b| {
                let (spot, ty) = (b.spot(&target, index.id), b.scalar_type(T::TYPE));
                let pointer = b.chain(spot.class, spot.root, &spot.indices, ty);
                b.atomic::<T>(op, pointer, DEVICE, values)
            }))
        })
    }
}

impl<T: Value> Cap<ReadWrite<T>> {
    fn atomic(self, op: Op, index: Val<u32>, values: &[u32]) -> Val<T>
    where
        T: Atomic,
    {
        self.atomic_of(op, index, values)
    }
}

impl<T: Value> Cap<Ranged<ReadWrite<T>>> {
    fn atomic(self, op: Op, index: Val<u32>, values: &[u32]) -> Val<T>
    where
        T: Atomic,
    {
        self.atomic_of(op, index, values)
    }
}

impl<T: Value, const N: usize> Cap<Shared<T, N>> {
    fn atomic(self, op: Op, index: Val<u32>, values: &[u32]) -> Val<T>
    where
        T: Atomic,
    {
        with(|b| {
            let ok = b.shared_in_range(index.id, N as u32);
            Val::new(b.or_zero(ok, &shape::<T>(), |b| {
                let (pointer, _) = b.shared_element::<T, N>(self.at, index.id);
                b.atomic::<T>(op, pointer, WORKGROUP, values)
            }))
        })
    }
}

macro_rules! atomics {
    (impl [$($params:tt)*] $ty:ty { $($name:ident $bound:ident $op:expr;)+ }) => {
        impl<$($params)*> Cap<$ty> {
            $(
                /// The atomic operation of that name.
                pub fn $name(self, index: Val<u32>, value: Val<T>) -> Val<T>
                where
                    T: $bound,
                {
                    self.atomic($op, index, &[value.id])
                }
            )+

            /// Replaces the element if it is as expected.
            pub fn compare_exchange(self, index: Val<u32>, expected: Val<T>, value: Val<T>) -> Val<T>
            where
                T: AtomicInt,
            {
                self.atomic(Op::AtomicCompareExchange, index, &[value.id, expected.id])
            }
        }
    };
    ($($all:tt)+) => {
        atomics! { impl [T: Value] ReadWrite<T> { $($all)+ } }
        atomics! { impl [T: Value] Ranged<ReadWrite<T>> { $($all)+ } }
        atomics! { impl [T: Value, const N: usize] Shared<T, N> { $($all)+ } }
    };
}

atomics! {
    fetch_add Atomic addition::<T>();
    fetch_min AtomicInt by_sign::<T>(Op::AtomicSMin, Op::AtomicUMin);
    fetch_max AtomicInt by_sign::<T>(Op::AtomicSMax, Op::AtomicUMax);
    fetch_and AtomicInt Op::AtomicAnd;
    fetch_or AtomicInt Op::AtomicOr;
    fetch_xor AtomicInt Op::AtomicXor;
    exchange AtomicInt Op::AtomicExchange;
}

impl<T: Value, const N: usize> Cap<Shared<T, N>> {
    /// Number of elements.
    pub fn len(self) -> Val<u32> {
        super::constant(N as u32)
    }
}
