//! Work-group memory and specialization constants among the captures.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{
    access::{Held, Kept},
    capture::{Arguments, Capture, Position, SharedParam, Signature, SpecParam, Stage, Value},
    shape::Shape,
    stage::Composite,
    value::Scalar,
};

/// `N` elements that the items of a work-group share. Holds nothing meaningful when a group starts; what one item writes
/// another sees after a barrier. An index out of range reads zero and writes nothing.
#[derive(Clone, Debug)]
pub struct Shared<T, const N: usize> {
    data: Arc<Mutex<Vec<T>>>,
}

impl<T: Value, const N: usize> Shared<T, N> {
    /// The memory, one for each group that runs.
    #[must_use]
    pub fn new() -> Self {
        Shared { data: Arc::new(Mutex::new(vec![T::zero(); N])) }
    }

    /// What `memory[index]` is where it is read.
    #[doc(hidden)]
    #[must_use]
    pub fn kernel_at(&self, index: u32) -> T {
        self.get(index)
    }

    /// The same where the index is a literal.
    #[doc(hidden)]
    #[must_use]
    pub fn kernel_lit(&self, index: usize) -> Kept<T> {
        Kept(self.get(index as u32))
    }

    /// What `memory[index]` is where it is assigned to.
    #[doc(hidden)]
    #[must_use]
    pub fn kernel_slot(&self, index: u32) -> Option<Held<'_, T>> {
        Held::of(self.data.lock().unwrap_or_else(PoisonError::into_inner), index)
    }

    /// The same where the index is a literal.
    #[doc(hidden)]
    #[must_use]
    pub fn kernel_lit_slot(&self, index: usize) -> Option<Held<'_, T>> {
        self.kernel_slot(index as u32)
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> u32 {
        N as u32
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        N == 0
    }

    /// An element; zero where there is none.
    #[must_use]
    pub fn get(&self, index: u32) -> T {
        self.kernel_slot(index).map_or_else(T::zero, |element| *element)
    }

    /// Writes an element; nothing where there is none.
    pub fn set(&self, index: u32, value: T) {
        if let Some(mut element) = self.kernel_slot(index) {
            *element = value;
        }
    }
}

impl<T: Value, const N: usize> Default for Shared<T, N> {
    fn default() -> Self {
        Shared::new()
    }
}

impl<T: Value, const N: usize> Stage for Shared<T, N> {
    type Kind = Composite;
}

impl<T: Value, const N: usize> Capture for Shared<T, N> {
    fn advance(at: Position) -> Position {
        Position { shared: at.shared + 1, ..at }
    }
    fn describe(path: &str, _: Position, signature: &mut Signature) {
        let shape = Shape::Array(Box::new(T::shape()), N as u32);
        signature.shared.push(SharedParam { path: path.to_owned(), shape });
    }
    fn bind(&self, _: Position, _: &mut Arguments) {}
    fn begin_group(&self) {
        self.data.lock().unwrap_or_else(PoisonError::into_inner).fill(T::zero());
    }
}

/// A value that is a constant when the kernel is compiled: each value is a kernel of its own, so let it be one of few.
#[derive(Clone, Copy, Debug)]
pub struct Spec<T> {
    value: T,
}

impl<T: Scalar> Spec<T> {
    /// The constant of this value.
    #[must_use]
    pub fn new(value: T) -> Spec<T> {
        Spec { value }
    }

    /// The value.
    #[must_use]
    pub fn get(&self) -> T {
        self.value
    }
}

/// The first `SpecId` of captures; those before are the size of the work-group.
pub(crate) const FIRST_SPEC: u32 = 3;

impl<T: Scalar> Stage for Spec<T> {
    type Kind = Composite;
}

impl<T: Scalar> Capture for Spec<T> {
    fn advance(at: Position) -> Position {
        Position { specs: at.specs + 1, ..at }
    }
    fn describe(path: &str, at: Position, signature: &mut Signature) {
        signature.specs.push(SpecParam {
            path: path.to_owned(),
            id: FIRST_SPEC + at.specs,
            shape: T::shape(),
        });
    }
    fn bind(&self, at: Position, arguments: &mut Arguments) {
        let mut bytes = vec![0; T::shape().size() as usize];
        self.value.write(&mut bytes);
        arguments.specs.push((FIRST_SPEC + at.specs, bytes));
    }
}
