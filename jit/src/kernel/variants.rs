//! The kernels that do the work of one in another order, or that of others with it.
//!
//! Plans that use a variant keep it, and nothing else does for long: a program may ever make new kernels to be inlined, and who
//! drops what is remembered of lists wants the memory back.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use super::Specialized;
use crate::reason::RewriteReason;

/// What a variant is asked for by: the hash of the kernel, and what `rewrite` has to know to make it, in bytes.
pub(crate) type Key = Vec<u8>;

/// Variants known of one kernel, those of its variants among them. Beyond, those that were not asked for longest go.
const MOST: usize = 16;

/// A variant, or why there is none.
type Made = Result<Arc<Specialized>, RewriteReason>;

/// The variants that plans or `RECENT` keep, and why there are no others.
type List = Mutex<Vec<(Key, Result<Weak<Specialized>, RewriteReason>)>>;

/// The variants that were asked for last, of all kernels: a plan asks for one several times before it keeps it, and lists that
/// are planned one after the other ask for those that none of them takes.
static RECENT: Mutex<VecDeque<Arc<Specialized>>> = Mutex::new(VecDeque::new());

/// How many those are.
const MOST_RECENT: usize = 32;

// What is in the lists is whole whatever panics.
fn lock<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts a variant before all others. What it displaces is dropped when nothing is locked.
fn touch(variant: &Arc<Specialized>) {
    let displaced = {
        let mut recent = lock(&RECENT);
        let displaced = match recent.iter().position(|one| Arc::ptr_eq(one, variant)) {
            Some(at) => recent.remove(at),
            None if recent.len() >= MOST_RECENT => recent.pop_back(),
            None => None,
        };
        recent.push_front(variant.clone());
        displaced
    };
    drop(displaced);
}

/// The variants of one kernel, each made once while it is kept. Clones share them.
#[derive(Clone, Debug)]
pub struct Variants {
    list: Kept,
    /// What keeps the kernel from having any.
    tied: Arc<OnceLock<Option<&'static str>>>,
    /// Whether there may be superword code for it.
    path: Arc<OnceLock<Option<u32>>>,
}

/// Where variants are: with the kernel that was submitted. It keeps its variants, so they do not keep it.
#[derive(Clone, Debug)]
enum Kept {
    Here(Arc<List>),
    There(Weak<List>),
}

impl Default for Variants {
    fn default() -> Self {
        Self { list: Kept::Here(Arc::default()), tied: Arc::default(), path: Arc::default() }
    }
}

impl Variants {
    /// Those of a variant.
    pub(super) fn of_variant(&self) -> Self {
        let list = match &self.list {
            Kept::Here(list) => Arc::downgrade(list),
            Kept::There(list) => list.clone(),
        };
        Self { list: Kept::There(list), tied: Arc::default(), path: Arc::default() }
    }

    /// What keeps the kernel from having variants, found out once.
    pub(crate) fn tied(&self, find: impl FnOnce() -> Option<&'static str>) -> Option<&'static str> {
        *self.tied.get_or_init(kept!(find))
    }

    /// The conditions on the kernel's path for several items, as superword code takes it, if it has one; found out once.
    pub(crate) fn path(&self, find: impl FnOnce() -> Option<u32>) -> Option<u32> {
        *self.path.get_or_init(kept!(find))
    }

    /// What is known under a key, or what `make` makes, which is known from then on.
    pub(crate) fn get(&self, key: Key, make: impl FnOnce() -> Made) -> Made {
        let list = match &self.list {
            Kept::Here(list) => Some(list.clone()),
            Kept::There(list) => list.upgrade(),
        };
        let Some(list) = list else { return make() };
        let known = || {
            let mut list = lock(&list);
            let at = list.iter().position(|one| one.0 == key)?;
            let (key, found) = list.remove(at);
            // A variant that has been dropped is made again.
            let made = match &found {
                Ok(kept) => Ok(kept.upgrade()?),
                Err(why) => Err(why.clone()),
            };
            list.push((key, found));
            Some(made)
        };
        let make = kept!(make);
        // Outside of the lock: two threads may make the same, and both use what was there first.
        let found = known().unwrap_or_else(|| {
            let made = make();
            known().unwrap_or_else(|| {
                let mut list = lock(&list);
                list.retain(|(_, kept)| !kept.as_ref().is_ok_and(|kept| kept.strong_count() == 0));
                if list.len() >= MOST {
                    drop(list.remove(0));
                }
                list.push((key.clone(), made.as_ref().map(Arc::downgrade).map_err(Clone::clone)));
                made
            })
        });
        found.inspect(touch)
    }
}
