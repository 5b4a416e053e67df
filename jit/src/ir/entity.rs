//! Typed indices and the maps that they index.
//!
//! Everything in the IR is an entity: a four-byte index into a map of its owner. Each kind of entity has an index type, so a constant cannot be
//! mistaken for a value, and an `Option` of an index is as large as the index.
//!
//! # Guarantees
//! - [`PrimaryMap::push`] is the only maker of indices, and nothing is ever removed: an index of a map stays valid as long as the map

use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

/// A typed index.
pub trait Entity: Copy + Eq {
    /// The entity of an index.
    fn new(index: usize) -> Self;
    /// Its index.
    fn index(self) -> usize;
}

macro_rules! entities {
    ($($(#[doc = $doc:literal])* $name:ident $prefix:literal,)*) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(NonZeroU32);

        impl Entity for $name {
            fn new(index: usize) -> Self {
                let number = u32::try_from(index).ok().and_then(|index| NonZeroU32::new(index.wrapping_add(1)));
                Self(number.expect("invariant: fewer entities than words of a module"))
            }

            fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.index())
            }
        }
    )*};
}

entities! {
    /// A type of a module.
    Type "t",
    /// A constant of a module.
    Const "c",
    /// A variable of a module.
    Global "g",
    /// A function of a module.
    Func "fn",
    /// An imported set of instructions of a module.
    ExtSet "ext",
    /// A set of decorations of a module.
    DecorationSet "d",
    /// A value of a function.
    Value "v",
    /// A variable of a function.
    Local "l",
    /// A place in memory, named in a function.
    Place "p",
    /// An instruction of a function.
    Inst "i",
    /// A structured region of a function.
    Region "r",
    /// A selection or loop of a function.
    Construct "k",
}

/// A vector that owns entities and is indexed by them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PrimaryMap<K, V> {
    items: Vec<V>,
    key: PhantomData<K>,
}

impl<K, V> Default for PrimaryMap<K, V> {
    fn default() -> Self {
        Self { items: Vec::new(), key: PhantomData }
    }
}

impl<K: Entity, V> PrimaryMap<K, V> {
    /// Adds an item.
    pub fn push(&mut self, item: V) -> K {
        self.items.push(item);
        K::new(self.items.len() - 1)
    }

    /// The key that the next item gets.
    pub fn next_key(&self) -> K {
        K::new(self.items.len())
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The item of a key, if it is one of this map.
    pub fn get(&self, key: K) -> Option<&V> {
        self.items.get(key.index())
    }

    /// Keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = K> + use<K, V> {
        (0..self.items.len()).map(K::new)
    }

    /// Keys and items in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &V)> {
        self.items.iter().enumerate().map(|(index, item)| (K::new(index), item))
    }

    /// Items in order.
    pub fn values(&self) -> std::slice::Iter<'_, V> {
        self.items.iter()
    }

    /// Items in order, to be changed.
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, V> {
        self.items.iter_mut()
    }
}

impl<K: Entity, V> Index<K> for PrimaryMap<K, V> {
    type Output = V;
    fn index(&self, key: K) -> &V {
        &self.items[key.index()]
    }
}

impl<K: Entity, V> IndexMut<K> for PrimaryMap<K, V> {
    fn index_mut(&mut self, key: K) -> &mut V {
        &mut self.items[key.index()]
    }
}

/// What a pass notes of entities that another map owns: a default where nothing was noted.
#[derive(Clone, Debug)]
pub struct SecondaryMap<K, V> {
    items: Vec<V>,
    default: V,
    key: PhantomData<K>,
}

impl<K, V: Default> Default for SecondaryMap<K, V> {
    fn default() -> Self {
        Self { items: Vec::new(), default: V::default(), key: PhantomData }
    }
}

impl<K: Entity, V: Clone + Default> SecondaryMap<K, V> {
    /// Room for the entities of a map.
    pub fn of<T>(primary: &PrimaryMap<K, T>) -> Self {
        Self { items: vec![V::default(); primary.len()], default: V::default(), key: PhantomData }
    }

    /// Puts an item in the place of another.
    pub fn replace(&mut self, key: K, item: V) -> V {
        std::mem::replace(&mut self[key], item)
    }
}

impl<K: Entity, V: Clone + Default> Index<K> for SecondaryMap<K, V> {
    type Output = V;
    fn index(&self, key: K) -> &V {
        self.items.get(key.index()).unwrap_or(&self.default)
    }
}

impl<K: Entity, V: Clone + Default> IndexMut<K> for SecondaryMap<K, V> {
    fn index_mut(&mut self, key: K) -> &mut V {
        if key.index() >= self.items.len() {
            self.items.resize(key.index() + 1, self.default.clone());
        }
        &mut self.items[key.index()]
    }
}
