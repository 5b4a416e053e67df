//! Elements of items next to each other, loaded and stored as vectors of four.
//!
//! A way is gone through twice: first to see which elements its accesses touch, then with those of them as vectors that four items, or what they load
//! together, make up.

use std::rc::Rc;

use ahash::{AHashMap, AHashSet};

use super::words::{Factored, Polynomial};
use crate::ir::entity::{Func, Global, Value};

/// Which accesses to buffers are to vectors.
#[derive(Clone)]
pub(in crate::emit::passes) enum Which {
    /// It is not known yet: what they touch is noted.
    Open,
    /// Some of those of a way that was gone through before.
    Traced(Rc<Vectors>),
    /// Those of these functions to elements of these bindings.
    OfItems(Rc<AHashMap<(Func, u32), Lie>>),
}

/// Where the elements of four items lie that are a vector.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::emit::passes) enum Lie {
    /// At the items' numbers.
    AtNumbers,
    /// At a multiple of four, and behind it.
    AtMultiples,
}

/// Items, and elements of a vector.
pub(in crate::emit::passes) const WIDE: usize = 4;

/// An access to a buffer by all items, by its number among those of the way.
pub(in crate::emit::passes) struct Touch {
    pub(in crate::emit::passes) number: usize,
    pub(in crate::emit::passes) stores: bool,
    /// Nothing writes to the buffer while the kernel runs.
    pub(in crate::emit::passes) frozen: bool,
    /// It happens whenever the way is taken.
    pub(in crate::emit::passes) always: bool,
    /// How often it is done, item by item.
    pub(in crate::emit::passes) times: usize,
    /// Each item touches an element of its own of an array of words.
    pub(in crate::emit::passes) place: Option<Place>,
}

/// Indices of the elements that the items touch: each the same, and a number.
pub(in crate::emit::passes) struct Place {
    /// The variable of the array, and the byte at which that begins.
    pub(in crate::emit::passes) array: (Global, u32),
    pub(in crate::emit::passes) rest: Polynomial,
    pub(in crate::emit::passes) numbers: [i32; WIDE],
}

impl Place {
    /// Whether it is one vector, if those of this array begin where `rest` does.
    pub(in crate::emit::passes) fn is_whole(&self) -> bool {
        let first = self.numbers[0];
        first.rem_euclid(WIDE as i32) == 0
            && (0..).zip(&self.numbers).all(|(at, &number)| number == first.wrapping_add(at))
    }
}

/// Which accesses are to vectors.
#[derive(Default)]
pub(in crate::emit::passes) struct Vectors {
    /// By the access's number: whose element is taken from a vector.
    items: AHashMap<usize, [bool; WIDE]>,
    /// Accesses to memory that are left.
    pub(in crate::emit::passes) left: usize,
}

impl Vectors {
    /// Vectors for a trace with these accesses, if all of its stores, and its loads of buffers that are written, can be vectors. `ids` are the
    /// ids of its items and of its invocation. The alignment of an array's rows is guessed from those that are stored to; the code tests it.
    pub(in crate::emit::passes) fn of(touches: &[Touch], ids: &[Value]) -> Option<Vectors> {
        let places = || touches.iter().filter_map(|touch| touch.place.as_ref().map(|place| (touch, place)));
        let stored = places().filter(|(touch, _)| touch.stores);
        let rows: Vec<Factored> = stored.flat_map(|(_, place)| place.rest.without(ids)).collect();
        let is_aligned = |place: &Place| place.rest.is_multiple(WIDE as u32, &rows);
        if !touches.iter().any(|touch| touch.stores) {
            return None;
        }
        let mut all = Vectors::default();
        for touch in touches.iter().filter(|touch| !touch.frozen) {
            let whole = touch.place.as_ref().filter(|place| place.is_whole());
            whole.filter(|place| touch.stores || is_aligned(place))?;
            all.items.insert(touch.number, [true; WIDE]);
            all.left += 1;
        }
        let mut elements: AHashSet<((Global, u32), &Polynomial, i32)> = AHashSet::new();
        let loads = || places().filter(|(touch, place)| touch.frozen && is_aligned(place));
        for (_, place) in loads().filter(|(touch, _)| touch.always) {
            elements.extend(place.numbers.iter().map(|&number| (place.array, &place.rest, number)));
        }
        let mut met = AHashSet::new();
        for (touch, place) in loads() {
            let vector_of = |number: i32| number.div_euclid(WIDE as i32);
            let is_there = |number: i32| {
                let first = vector_of(number) * WIDE as i32;
                (first..=first + (WIDE as i32 - 1)).all(|at| match touch.always {
                    true => elements.contains(&(place.array, &place.rest, at)),
                    false => place.numbers.contains(&at),
                })
            };
            let items = place.numbers.map(is_there);
            all.items.insert(touch.number, items);
            met.extend(place.numbers.iter().zip(items).map(|(&number, is_there)| {
                let at = if is_there { vector_of(number) } else { number };
                (place.array, &place.rest, is_there, at)
            }));
        }
        let others = touches.iter().filter(|touch| touch.frozen && !all.items.contains_key(&touch.number));
        all.left += met.len() + others.map(|touch| touch.times).sum::<usize>();
        Some(all)
    }

    /// Which items of an access take their element from a vector, if any does.
    pub(in crate::emit::passes) fn items(&self, number: usize) -> Option<[bool; WIDE]> {
        self.items.get(&number).copied().filter(|items| items.contains(&true))
    }
}
