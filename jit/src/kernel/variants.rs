//! The kernels that do the work of one in another order, or that of others with it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use super::Specialized;
use crate::reason::RewriteReason;

/// What a variant is asked for by: the hash of the kernel, and what `rewrite` has to know to make it, in bytes.
pub(crate) type Key = Vec<u8>;

/// Variants kept for one kernel, those of its variants among them. Beyond, those that were not asked for longest go: a program
/// may ever make new kernels to be inlined.
const MOST: usize = 16;

/// A variant, or why there is none.
type Made = Result<Arc<Specialized>, RewriteReason>;

type List = Mutex<Vec<(Key, Made)>>;

/// The variants of one kernel, each made once while it is kept. Clones share them.
#[derive(Clone, Debug)]
pub struct Variants {
    list: Kept,
    /// What keeps the kernel from having any.
    tied: Arc<OnceLock<Option<&'static str>>>,
}

/// Where variants are: with the kernel that was submitted. It keeps its variants, so they do not keep it.
#[derive(Clone, Debug)]
enum Kept {
    Here(Arc<List>),
    There(Weak<List>),
}

impl Default for Variants {
    fn default() -> Self {
        Self { list: Kept::Here(Arc::default()), tied: Arc::default() }
    }
}

impl Variants {
    /// Those of a variant.
    pub(super) fn of_variant(&self) -> Self {
        let list = match &self.list {
            Kept::Here(list) => Arc::downgrade(list),
            Kept::There(list) => list.clone(),
        };
        Self { list: Kept::There(list), tied: Arc::default() }
    }

    /// What keeps the kernel from having variants, found out once.
    pub(crate) fn tied(&self, find: impl FnOnce() -> Option<&'static str>) -> Option<&'static str> {
        *self.tied.get_or_init(find)
    }

    /// What is known under a key, or what `make` makes, which is known from then on.
    pub(crate) fn get(&self, key: Key, make: impl FnOnce() -> Made) -> Made {
        let list = match &self.list {
            Kept::Here(list) => Some(list.clone()),
            Kept::There(list) => list.upgrade(),
        };
        let Some(list) = list else { return make() };
        // Entries are whole whatever panics.
        let lock = || list.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |list: &mut Vec<(Key, Made)>| {
            let at = list.iter().position(|one| one.0 == key)?;
            let found = list.remove(at);
            list.push(found.clone());
            Some(found.1)
        };
        if let Some(found) = known(&mut lock()) {
            return found;
        }
        // Outside of the lock: two threads may make the same, and both use what was there first.
        let made = make();
        let mut list = lock();
        known(&mut list).unwrap_or_else(|| {
            if list.len() >= MOST {
                drop(list.remove(0));
            }
            list.push((key.clone(), made.clone()));
            made
        })
    }
}
