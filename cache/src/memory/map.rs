//! The map of the memory cache: order of use, weights, limits. All of it under one lock.

use std::sync::Arc;

use lru::LruCache;

use crate::key::MemoryKey;
use crate::memory::front::{Front, Places};
use crate::memory::limits::{Cached, MemoryLimits, MemoryStats};
use crate::memory::slot::Slot;

struct Kept<V, E> {
    slot: Arc<Slot<V, E>>,
    /// Bytes of a finished entry. An entry that is being built has none, and is never evicted.
    weight: Option<u64>,
    /// Which local maps of the front have a copy.
    copies: Places,
}

/// An evicted entry, to be dropped outside the lock.
pub(crate) struct Dropped<K, V, E> {
    pub(crate) key: K,
    pub(crate) bytes: u64,
    _slot: Arc<Slot<V, E>>,
}

pub(crate) struct Map<K: MemoryKey, V, E> {
    order: LruCache<K, Kept<V, E>, ahash::RandomState>,
    /// The finished entries, for look-ups that do not build. It changes with the order, under the same lock.
    front: Arc<Front<K, V>>,
    limits: MemoryLimits,
    finished: usize,
    bytes: u64,
    pub(crate) stats: MemoryStats,
}

impl<K: MemoryKey, V, E> Map<K, V, E> {
    pub(crate) fn new(limits: MemoryLimits, front: Arc<Front<K, V>>) -> Self {
        Map {
            order: LruCache::unbounded_with_hasher(ahash::RandomState::new()),
            front,
            limits,
            finished: 0,
            bytes: 0,
            stats: MemoryStats::default(),
        }
    }

    pub(crate) fn limits(&self) -> MemoryLimits {
        self.limits
    }

    /// The finished value of a key, which was used now and which this thread finds by itself from now on.
    pub(crate) fn copy(&mut self, key: &K) -> Option<Cached<V>> {
        let kept = self.order.peek_mut(key)?;
        let (value, places) = self.front.copy(key, kept.slot.value.get()?);
        kept.copies |= places;
        Some(value)
    }

    pub(crate) fn peek(&self, key: &K) -> Option<Cached<V>> {
        self.order.peek(key)?.slot.value.get().map(|value| Cached::new(Arc::clone(value)))
    }

    /// Finds a slot and marks it as used last.
    pub(crate) fn touch(&mut self, key: &K) -> Option<&Arc<Slot<V, E>>> {
        self.catch_up();
        self.order.get(key).map(|kept| &kept.slot)
    }

    /// Brings the order up to the hits of the meantime. Whatever changes the order comes after them.
    fn catch_up(&mut self) {
        for key in self.front.take_hits() {
            self.order.promote(&key);
        }
    }

    pub(crate) fn insert(&mut self, key: K, slot: Arc<Slot<V, E>>) {
        self.catch_up();
        self.order.put(key, Kept { slot, weight: None, copies: 0 });
    }

    /// Counts a slot as finished, unless the map has let go of it, and makes room.
    pub(crate) fn finish(&mut self, key: &K, slot: &Arc<Slot<V, E>>, bytes: u64) -> Vec<Dropped<K, V, E>> {
        if self.limits.bytes != 0 && bytes > self.limits.bytes {
            self.forget(key, slot);
            return Vec::new();
        }
        self.catch_up();
        match self.order.get_mut(key) {
            Some(kept) if Arc::ptr_eq(&kept.slot, slot) && kept.weight.is_none() => {
                kept.weight = Some(bytes);
                if let Some(value) = slot.value.get() {
                    kept.copies |= self.front.insert(*key, value);
                }
                self.finished += 1;
                self.bytes += bytes;
                self.evict()
            }
            _ => Vec::new(),
        }
    }

    /// Takes `key` out if it is still this slot.
    pub(crate) fn forget(&mut self, key: &K, slot: &Arc<Slot<V, E>>) -> Option<Arc<Slot<V, E>>> {
        match self.order.peek(key) {
            Some(kept) if Arc::ptr_eq(&kept.slot, slot) => self.pop(key),
            _ => None,
        }
    }

    pub(crate) fn pop(&mut self, key: &K) -> Option<Arc<Slot<V, E>>> {
        let kept = self.order.pop(key)?;
        self.front.remove(key, kept.copies);
        if let Some(bytes) = kept.weight {
            self.finished -= 1;
            self.bytes -= bytes;
        }
        Some(kept.slot)
    }

    pub(crate) fn take_all(&mut self) -> impl Sized + use<K, V, E> {
        self.finished = 0;
        self.bytes = 0;
        let empty = LruCache::unbounded_with_hasher(ahash::RandomState::new());
        (std::mem::replace(&mut self.order, empty), self.front.take_all())
    }

    pub(crate) fn set_limits(&mut self, limits: MemoryLimits) -> Vec<Dropped<K, V, E>> {
        self.limits = limits;
        self.evict()
    }

    pub(crate) fn stats(&self) -> MemoryStats {
        MemoryStats {
            entries: self.finished,
            bytes: self.bytes,
            building: self.order.len() - self.finished,
            hits: self.stats.hits + self.front.hits(),
            ..self.stats
        }
    }

    fn is_over(&self) -> bool {
        (self.limits.entries != 0 && self.finished > self.limits.entries)
            || (self.limits.bytes != 0 && self.bytes > self.limits.bytes)
    }

    fn evict(&mut self) -> Vec<Dropped<K, V, E>> {
        let mut dropped = Vec::new();
        if self.is_over() {
            self.catch_up();
        }
        while self.is_over() {
            // Entries being built may lie at the old end; there are as many of them as builders.
            let oldest =
                self.order.iter().rev().find_map(|(key, kept)| kept.weight.map(|bytes| (*key, bytes)));
            let Some((key, bytes)) = oldest else {
                break;
            };
            let Some(slot) = self.pop(&key) else {
                break;
            };
            self.stats.evictions += 1;
            self.stats.evicted_bytes += bytes;
            dropped.push(Dropped { key, bytes, _slot: slot });
        }
        dropped
    }
}
