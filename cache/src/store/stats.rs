//! Counters of a store.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::store::reason::{Miss, Skip};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters of one [`Store`](crate::Store) since it was opened.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct StoreStats { $($(#[$doc])* pub $name: u64,)* }

        #[derive(Debug, Default)]
        pub(crate) struct Counters { $(pub(crate) $name: AtomicU64,)* }

        impl Counters {
            pub(crate) fn read(&self) -> StoreStats {
                StoreStats { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }

        impl StoreStats {
            /// Adds other counters.
            pub(crate) fn add(&mut self, other: &StoreStats) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

counters! {
    /// Entries found.
    hits,
    /// Look-ups of entries that found nothing, for whatever reason.
    misses,
    /// Misses because something was damaged, unfinished or out of place.
    defects,
    /// Entries written.
    published,
    /// Writes of entries and blobs that were not done.
    skipped,
    /// Writes of entries and blobs that were put in the queue.
    queued,
    /// Of the writes that were not done, those that the queue had no place for.
    queue_full,
    /// Entries found in lower stores.
    lower_hits,
    /// Look-ups in lower stores that found nothing.
    lower_misses,
    /// Of these, those because something was damaged.
    lower_defects,
    /// Driver blobs found.
    blob_hits,
    /// Look-ups of driver blobs that found nothing.
    blob_misses,
    /// Driver blobs written.
    blobs_published,
    /// Driver blobs set aside because a process died loading them.
    quarantined,
    /// Look-ups and writes that a fault of the file system stopped.
    faults,
    /// Writes dropped because the lock was not free in time.
    lock_timeouts,
    /// Entries and blobs that the remote store had, made by trusted signers.
    remote_hits,
    /// Entries that it had without a trusted signature: built here all the same.
    remote_untrusted,
    /// Look-ups of entries and blobs that it did not have.
    remote_misses,
    /// Look-ups that it was not asked for, because it had failed or lied.
    remote_rests,
    /// Look-ups that failed or took too long.
    remote_errors,
    /// Objects that it returned and that were not what was asked for, were forged, or were blobs without a trusted signature; and
    /// code that differed from what was built here.
    remote_refused,
    /// Entries and blobs put there.
    remote_uploads,
    /// Entries and blobs that could not be put there.
    remote_upload_failures,
    /// Bytes read from there.
    remote_read_bytes,
    /// Bytes put there.
    remote_written_bytes,
    /// Entries and blobs evicted.
    evicted,
    /// Bytes on the disk set free by that.
    evicted_bytes,
    /// Bytes of files read.
    read_bytes,
    /// Bytes of files written.
    written_bytes,
}

pub(crate) fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

impl Counters {
    pub(crate) fn miss(&self, miss: &Miss) {
        if miss.is_defect() {
            add(&self.defects, 1);
        }
        if matches!(miss, Miss::Io(_)) {
            add(&self.faults, 1);
        }
    }

    pub(crate) fn skip(&self, skip: &Skip) {
        add(&self.skipped, 1);
        match skip {
            Skip::Io(_) => add(&self.faults, 1),
            Skip::LockTimeout => add(&self.lock_timeouts, 1),
            Skip::QueueFull => add(&self.queue_full, 1),
            _ => {}
        }
    }
}
