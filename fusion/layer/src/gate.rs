//! Whether the hooks of a device follow what the program does, or pass it on.
//!
//! While the gate of a device is open, commands are followed. Where that is not worth it (`fuse::worth`), it is closed: a hook finds the gate
//! by its handle, sees that it is closed, and jumps to the next layer. Objects, pools, and the beginnings of command buffers are followed
//! always, updates of sets until there were [`UPDATES`] of them.
//!
//! # What is missed
//! - Updates of sets: where some passed, all contents are forgotten when the gate opens.
//! - Commands: a command buffer counts as known only if it was begun and ended in the same *opening*, a number that is odd while the gate is
//!   closed. Closing changes the number before the first command passes, and opening after the last one did: who reads one even number at the
//!   beginning and at the end has missed none between them.
//!
//! A set, like a command buffer, is used by one thread at a time. Who follows its update sees that the gate is open, and so does who updates it
//! next: an update that passes is never behind one that was followed in the same opening.

use crate::hooks::Next;
use ash::vk::Handle;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// The gate of a device. It is never freed: a hook on another device may look at it.
pub(crate) struct Gate {
    /// What handles of the device begin with; 0 once it is no more.
    key: AtomicUsize,
    is_closed: AtomicBool,
    opening: AtomicU64,
    /// Whether updates of sets pass as well, and those that were followed since it was closed.
    misses_sets: AtomicBool,
    updates: AtomicU32,
    /// Whether something new is there to fuse since it was closed.
    news: AtomicBool,
    pub(crate) next: Next,
}

/// Updates of sets that are followed while the gate is closed: a program that updates none for each command buffer loses nothing.
const UPDATES: u32 = 256;

/// Of no device.
static NONE: Gate = Gate::of_key(0, Next::NONE);

const PLACES: usize = 16;

/// Gates by the keys of their devices. One whose place is taken is not here, and its device is always followed.
static GATES: [AtomicPtr<Gate>; PLACES] = [const { AtomicPtr::new((&raw const NONE).cast_mut()) }; PLACES];

fn place(key: usize) -> &'static AtomicPtr<Gate> {
    &GATES[(key >> 4 ^ key >> 12) % PLACES]
}

/// The gate of the device that a handle is of, or one that is open and has no functions.
///
/// # Safety
/// The handle is a device, a queue or a command buffer.
#[inline(always)]
pub(crate) unsafe fn of<T: Handle>(dispatchable: T) -> &'static Gate {
    // SAFETY: what is dispatchable begins with a pointer of the loader's.
    let key = unsafe { *(dispatchable.as_raw() as *const usize) };
    // SAFETY: gates are never freed.
    let gate = unsafe { &*place(key).load(Ordering::Acquire) };
    if gate.key.load(Ordering::Relaxed) == key { gate } else { &NONE }
}

impl Gate {
    const fn of_key(key: usize, next: Next) -> Gate {
        Gate {
            key: AtomicUsize::new(key),
            is_closed: AtomicBool::new(false),
            opening: AtomicU64::new(0),
            misses_sets: AtomicBool::new(false),
            updates: AtomicU32::new(0),
            news: AtomicBool::new(false),
            next,
        }
    }

    /// An open gate of a device with this key.
    pub(crate) fn new(key: usize, next: Next) -> &'static Gate {
        let gate = Box::leak(Box::new(Gate::of_key(key, next)));
        let none = (&raw const NONE).cast_mut();
        let _ = place(key).compare_exchange(none, gate, Ordering::Release, Ordering::Relaxed);
        gate
    }

    /// The device is no more.
    pub(crate) fn end(&'static self) {
        let key = self.key.swap(0, Ordering::Relaxed);
        let (own, none) = ((&raw const *self).cast_mut(), (&raw const NONE).cast_mut());
        let _ = place(key).compare_exchange(own, none, Ordering::Release, Ordering::Relaxed);
    }

    #[inline(always)]
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Whether updates of sets pass.
    #[inline(always)]
    pub(crate) fn misses_sets(&self) -> bool {
        self.misses_sets.load(Ordering::Acquire)
    }

    /// The number of the present opening; none while it is closed.
    pub(crate) fn opening(&self) -> Option<u64> {
        Some(self.opening.load(Ordering::Acquire)).filter(|number| number % 2 == 0)
    }

    /// Passes everything on from now on. Of what follows, one is called at a time, with the objects of the device locked.
    pub(crate) fn close(&self) {
        if !self.is_closed() {
            self.news.store(false, Ordering::Relaxed);
            self.updates.store(0, Ordering::Relaxed);
            self.opening.fetch_add(1, Ordering::Release);
            self.is_closed.store(true, Ordering::Release);
        }
    }

    /// Follows again; `forget` what was known of sets, where some were missed.
    pub(crate) fn open(&self, forget: impl FnOnce()) {
        if self.is_closed() {
            if self.misses_sets() {
                forget();
                self.misses_sets.store(false, Ordering::Release);
            }
            self.is_closed.store(false, Ordering::Release);
            self.opening.fetch_add(1, Ordering::Release);
        }
    }

    /// A set was updated, and that was followed.
    pub(crate) fn updated(&self) {
        if self.is_closed() && self.updates.fetch_add(1, Ordering::Relaxed) >= UPDATES {
            self.misses_sets.store(true, Ordering::Release);
        }
    }

    /// Something is new: a pipeline.
    pub(crate) fn tell(&self) {
        self.news.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_news(&self) -> bool {
        self.news.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ash::vk;

    fn queue(key: &usize) -> vk::Queue {
        vk::Queue::from_raw((&raw const *key) as u64)
    }

    #[test]
    fn a_gate_is_found_by_handles_of_its_device_alone() {
        let (one, other) = (0x7000_0010usize, 0x7000_0010usize + (PLACES << 12));
        let gate = Gate::new(one, Next::NONE);
        // SAFETY: as handles are.
        let found = |key: &usize| unsafe { of(queue(key)) };
        assert!(std::ptr::eq(found(&one), gate));
        // The same place; it is taken.
        let second = Gate::new(other, Next::NONE);
        assert!(std::ptr::eq(place(one), place(other)) && std::ptr::eq(found(&other), &NONE));
        second.close();
        assert!(!found(&other).is_closed() && !found(&one).is_closed());
        gate.close();
        assert!(found(&one).is_closed());
        second.end();
        gate.end();
        assert!(std::ptr::eq(found(&one), &NONE));
    }

    #[test]
    fn an_opening_has_one_number() {
        let gate = Gate::new(0, Next::NONE);
        let first = gate.opening();
        gate.tell();
        gate.close();
        assert_eq!((gate.opening(), gate.has_news()), (None, false));
        gate.open(|| unreachable!("nothing was missed"));
        assert!(first.is_some() && gate.opening().is_some() && gate.opening() != first);
    }

    #[test]
    fn sets_are_missed_only_where_there_are_many_updates() {
        let gate = Gate::new(0, Next::NONE);
        (0..2 * UPDATES).for_each(|_| gate.updated());
        for _ in 0..2 {
            gate.close();
            (0..UPDATES).for_each(|_| gate.updated());
            assert!(!gate.misses_sets());
            gate.open(|| unreachable!("nothing was missed"));
        }
        gate.close();
        (0..=UPDATES).for_each(|_| gate.updated());
        assert!(gate.misses_sets());
        let mut forgotten = 0;
        gate.open(|| forgotten += 1);
        assert_eq!((forgotten, gate.misses_sets()), (1, false));
    }
}
