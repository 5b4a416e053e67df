//! The kernels that do the work of one in another order, or that of others with it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::Specialized;
use crate::reason::RewriteReason;

/// What a variant is asked for by: what `rewrite` has to know to make it, in bytes.
pub(crate) type Key = Vec<u8>;

/// Variants kept for one kernel. A program that ever makes new kernels to be inlined would make the list grow for ever, so it
/// starts again.
const MOST: usize = 64;

/// A variant, or why there is none.
type Made = Result<Arc<Specialized>, RewriteReason>;

/// The variants of one kernel, each made once. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Variants(Arc<Known>);

#[derive(Debug, Default)]
struct Known {
    made: Mutex<Vec<(Key, Made)>>,
    /// What keeps the kernel from having any.
    tied: OnceLock<Option<&'static str>>,
}

impl Variants {
    /// What keeps the kernel from having variants, found out once.
    pub(crate) fn tied(&self, find: impl FnOnce() -> Option<&'static str>) -> Option<&'static str> {
        *self.0.tied.get_or_init(find)
    }

    /// What is known under a key, or what `make` makes, which is known from then on.
    pub(crate) fn get(&self, key: Key, make: impl FnOnce() -> Made) -> Made {
        // Entries are only added, so a panic elsewhere leaves them whole.
        let known = |list: &[(Key, Made)]| list.iter().find(|one| one.0 == key).map(|one| one.1.clone());
        let lock = || self.0.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known(&lock()) {
            return found;
        }
        // Outside of the lock: two threads may make the same, and both use what was there first.
        let made = make();
        let mut list = lock();
        known(&list).unwrap_or_else(|| {
            if list.len() >= MOST {
                list.clear();
            }
            list.push((key, made.clone()));
            made
        })
    }
}
