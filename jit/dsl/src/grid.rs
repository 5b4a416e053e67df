//! Accessors of two and three dimensions.

use std::marker::PhantomData;

use crate::{
    access::{Accessor, Held, Reads, Writes},
    capture::{Arguments, BindingParam, Capture, Local as _, Position, Signature, Stage, join},
    stage::Composite,
};

/// Elements in rows, and in planes of rows: `grid[[y, x]]`, `grid[[z, y, x]]`. The first row begins anywhere in what the accessor
/// spans, and rows may be further apart than they are long; both travel with the plain values. What is outside of the extents
/// is out of range: a read gives zero, a write is skipped.
#[derive(Clone, Debug)]
pub struct Grid<A, const D: usize> {
    inner: A,
    offset: u32,
    extents: [u32; D],
    /// Elements from one to the next in each dimension; of the last, that is one.
    pitches: [u32; D],
    marker: PhantomData<A>,
}

impl<A: Accessor, const D: usize> Grid<A, D> {
    /// Rows without gaps from the first element on. The extents are those of `[T; WIDTH]` in `[_; HEIGHT]`: height before width.
    #[must_use]
    pub fn new(inner: impl Into<A>, extents: [u32; D]) -> Self {
        const { assert!(D == 2 || D == 3, "a grid has two or three dimensions") };
        let mut grid = Grid { inner: inner.into(), offset: 0, extents, pitches: [1; D], marker: PhantomData };
        let width = extents[D - 1];
        grid = grid.pitch(width);
        grid
    }

    /// From one row to the next there are this many elements; planes follow each other without gaps.
    #[must_use]
    pub fn pitch(mut self, elements: u32) -> Self {
        let mut pitch = elements;
        for k in (0..D - 1).rev() {
            self.pitches[k] = pitch;
            pitch = pitch.saturating_mul(self.extents[k]);
        }
        self
    }

    /// The first row begins at this element.
    #[must_use]
    pub fn at(mut self, offset: u32) -> Self {
        self.offset = offset;
        self
    }

    /// The extents.
    #[must_use]
    pub fn extents(&self) -> [u32; D] {
        self.extents
    }

    /// Elements from the offset to the last one, or more than there can be.
    fn spanned(&self) -> u32 {
        if self.extents.contains(&0) {
            return 0;
        }
        let way = |k: usize| u64::from(self.extents[k] - 1).saturating_mul(u64::from(self.pitches[k]));
        let last = (0..D).map(way).fold(0, u64::saturating_add);
        u32::try_from(last.saturating_add(1)).unwrap_or(u32::MAX)
    }

    fn index(&self, index: [u32; D]) -> Option<u32> {
        let mut at = self.offset;
        for ((index, extent), pitch) in index.into_iter().zip(self.extents).zip(self.pitches) {
            if index >= extent {
                return None;
            }
            at = at.wrapping_add(index.wrapping_mul(pitch));
        }
        Some(at)
    }
}

impl<A: Reads, const D: usize> Grid<A, D> {
    /// An element; zero where there is none.
    #[must_use]
    pub fn get(&self, index: [u32; D]) -> A::Element {
        self.index(index).map_or_else(A::Element::zero, |at| Reads::get(&self.inner, at))
    }

    /// What `grid[index]` is where it is read.
    #[doc(hidden)]
    #[must_use]
    pub fn kernel_at(&self, index: [u32; D]) -> A::Element {
        self.get(index)
    }
}

impl<A: Writes, const D: usize> Grid<A, D> {
    /// Writes an element; nothing where there is none.
    pub fn set(&self, index: [u32; D], value: A::Element) {
        if let Some(at) = self.index(index) {
            Writes::set(&self.inner, at, value);
        }
    }

    /// What `grid[index]` is where it is assigned to.
    #[doc(hidden)]
    #[must_use]
    pub fn kernel_slot(&self, index: [u32; D]) -> Option<Held<'_, A::Element>> {
        self.inner.host_slot(self.index(index)?)
    }
}

impl<A: Accessor, const D: usize> Stage for Grid<A, D> {
    type Kind = Composite;
}

impl<A: Accessor, const D: usize> Capture for Grid<A, D> {
    fn advance(at: Position) -> Position {
        let at = at.aligned(4);
        // The offset, the extents, and the pitches but that of the last dimension.
        Position { params: at.params + 1, plain: at.plain + 8 * D as u32, ..at }
    }

    fn describe(path: &str, at: Position, signature: &mut Signature) {
        signature.bindings.push(BindingParam {
            path: path.to_owned(),
            binding: at.params,
            element: A::Element::shape(),
            mode: A::MODE,
            range: None,
        });
        let mut at = at.aligned(4);
        let names = ["offset".to_owned()].into_iter();
        let names = names.chain((0..D).map(|k| format!("extent[{k}]")));
        for name in names.chain((0..D - 1).map(|k| format!("pitch[{k}]"))) {
            u32::describe(&join(path, &name), at, signature);
            at = u32::advance(at);
        }
    }

    fn bind(&self, at: Position, arguments: &mut Arguments) {
        let mut at = at.aligned(4);
        let words = [self.offset].into_iter().chain(self.extents).chain(self.pitches.into_iter().take(D - 1));
        for word in words {
            word.bind(at, arguments);
            at = u32::advance(at);
        }
        arguments.accessors.push(self.inner.argument(Some((self.offset, self.spanned()))));
    }
}
