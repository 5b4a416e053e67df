//! What the memory cache is given and what it tells: limits, values and how they were found, counters.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// Limits of a memory cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Finished entries, stored failures among them; 0 is no limit.
    pub entries: usize,
    /// Bytes, as the builders declare them; 0 is no limit. A value over the limit is returned to its
    /// callers and not kept, and nothing is evicted for it.
    pub bytes: u64,
    /// How long a lasting failure is remembered; `None` is until it is evicted or cleared.
    pub failure_ttl: Option<Duration>,
    /// How long a call waits for another thread's build; `None` is until it is over.
    pub patience: Option<Duration>,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        MemoryLimits { entries: 4096, bytes: 0, failure_ttl: Some(Duration::from_secs(300)), patience: None }
    }
}

/// A value of the cache, shared with the cache and with other callers.
///
/// It lives as long as one of these does, also after the cache has evicted it. Each thread counts its clones separately, so that threads
/// that use one value write to no memory in common.
#[expect(clippy::redundant_allocation, reason = "the outer count is a thread's, the inner one everybody's")]
#[derive(Debug, PartialEq, Eq)]
pub struct Cached<V>(Arc<Arc<V>>);

impl<V> Cached<V> {
    /// A handle with a count of its own.
    pub(crate) fn new(value: Arc<V>) -> Self {
        Cached(Arc::new(value))
    }

    /// The value as an [`Arc`], with a reference count that all threads share.
    pub fn to_arc(&self) -> Arc<V> {
        Arc::clone(&self.0)
    }

    /// Whether both are the same value, and not merely equal ones.
    pub fn ptr_eq(one: &Self, other: &Self) -> bool {
        Arc::ptr_eq(&*one.0, &*other.0)
    }
}

impl<V> Clone for Cached<V> {
    #[inline]
    fn clone(&self) -> Self {
        Cached(Arc::clone(&self.0))
    }
}

impl<V> Deref for Cached<V> {
    type Target = V;

    #[inline]
    fn deref(&self) -> &V {
        &self.0
    }
}

impl<V> From<V> for Cached<V> {
    /// A value that no cache has.
    fn from(value: V) -> Self {
        Cached::new(Arc::new(value))
    }
}

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hit {
    /// It was there.
    Memory,
    /// Another thread was building it, and this one waited.
    Waited,
    /// This call built it.
    Built,
}

/// Counters since the cache was made, and its present size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryStats {
    /// Calls that found a finished value.
    pub hits: u64,
    /// Calls that found nothing.
    pub misses: u64,
    /// Calls that slept until another thread's build was over.
    pub waits: u64,
    /// Builds that gave a value.
    pub builds: u64,
    /// Builds that failed or panicked.
    pub failures: u64,
    /// Calls that were given a stored failure.
    pub failure_hits: u64,
    /// Calls that gave up waiting for another thread's build.
    pub timeouts: u64,
    /// Second attempts by a waiter.
    pub retries: u64,
    /// Entries evicted for the limits.
    pub evictions: u64,
    /// Bytes evicted for the limits.
    pub evicted_bytes: u64,
    /// Finished entries now.
    pub entries: usize,
    /// Bytes now.
    pub bytes: u64,
    /// Entries being built now.
    pub building: usize,
}
