//! Values behind a lock that is somewhere else.
//!
//! Who has the lock has the [`Key`] that is in it, and with that everything under it. Such a value costs no lock of its own, and need
//! not be in the same place as the key.

use std::{cell::UnsafeCell, fmt};

use super::gpu::unique_id;

/// The right to look at what is under it: not two of a number, and none can be copied.
#[derive(Debug)]
pub(crate) struct Key(KeyId);

/// Which key it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyId(u64);

impl Default for Key {
    fn default() -> Key {
        Key(KeyId(unique_id()))
    }
}

impl Key {
    pub(crate) fn id(&self) -> KeyId {
        self.0
    }
}

/// A value that only who has the key may look at.
pub(crate) struct Under<T> {
    key: KeyId,
    value: UnsafeCell<T>,
}

// SAFETY: a shared `Under` gives its value to who has the key exclusively, and there is one key of that number: to one thread at a
// time, as a mutex does. How the key came to that thread orders it after the thread that had it before.
unsafe impl<T: Send> Sync for Under<T> {}

impl<T> Under<T> {
    pub(crate) fn new(key: KeyId, value: T) -> Under<T> {
        Under { key, value: UnsafeCell::new(value) }
    }

    /// The value, for as long as the key is not used for another one.
    #[inline]
    pub(crate) fn get<'a>(&'a self, key: &'a mut Key) -> &'a mut T {
        assert!(self.key == key.0, "invariant: values of a context are under its key");
        // SAFETY: the key is the only one of its number (checked to be this value's), and it is borrowed exclusively for as long as
        // the result is used, so there is no other reference to the value; `self` is borrowed for as long.
        unsafe { &mut *self.value.get() }
    }
}

impl<T> fmt::Debug for Under<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Under")
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Mutex, thread};

    use super::*;

    #[test]
    fn a_value_is_counted_by_many_threads_under_one_key() {
        let key = Mutex::<Key>::default();
        let count = Under::new(key.lock().unwrap().id(), 0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| *count.get(&mut key.lock().unwrap()) += 1));
            }
        });
        assert_eq!(*count.get(&mut key.lock().unwrap()), 4000);
    }

    #[test]
    #[should_panic(expected = "invariant")]
    fn another_key_does_not_fit() {
        let value = Under::new(Key::default().id(), 0);
        value.get(&mut Key::default());
    }
}
