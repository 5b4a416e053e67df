//! Counters of what was done, for tests and for the curious.

use std::{
    ops::Sub,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use crate::report::outcome::Outcome;

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// What a context has done since it was made. A snapshot; subtract an earlier one to see what happened between.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Stats {
            /// Dispatches submitted to the device.
            pub dispatches: u64,
            /// Submissions to the device, those of uploads and downloads included.
            pub submits: u64,
            /// Pipeline barriers recorded, those of uploads and downloads included.
            pub barriers: u64,
            /// Copies, fills and updates, those of uploads and downloads included.
            pub transfers: u64,
            /// Command buffers recorded, those of uploads and downloads included. One that is submitted again, be it on other buffers, is not.
            pub recordings: u64,
            /// Buffers made, with memory. One that went may be used again instead.
            pub allocations: u64,
            /// Pipelines asked of the driver.
            pub driver_compiles: u64,
            /// Errors and warnings of the validation layer; 0 where it is not active.
            pub validation_messages: u64,
            /// Kernels, with one set of constants each, whose normal form the persistent store had: spirv-val was not
            /// run for them.
            pub kernel_hits: u64,
            /// Kernels whose normal form was made and is kept there.
            pub kernel_misses: u64,
            $($(#[doc = $doc])+ pub $name: u64,)+
        }

        /// The counters that this crate keeps itself.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: AtomicU64,)+
        }

        impl Counters {
            pub(crate) fn snapshot(&self) -> Stats {
                Stats { $($name: self.$name.load(Relaxed),)+ ..Stats::default() }
            }
        }

        impl Stats {
            /// Adds what this crate counted elsewhere.
            pub(crate) fn add(&mut self, other: &Stats) {
                $(self.$name += other.$name;)+
            }
        }

        impl Sub for Stats {
            type Output = Stats;

            fn sub(self, earlier: Stats) -> Stats {
                Stats {
                    dispatches: self.dispatches.saturating_sub(earlier.dispatches),
                    submits: self.submits.saturating_sub(earlier.submits),
                    barriers: self.barriers.saturating_sub(earlier.barriers),
                    transfers: self.transfers.saturating_sub(earlier.transfers),
                    recordings: self.recordings.saturating_sub(earlier.recordings),
                    allocations: self.allocations.saturating_sub(earlier.allocations),
                    driver_compiles: self.driver_compiles.saturating_sub(earlier.driver_compiles),
                    validation_messages: self.validation_messages.saturating_sub(earlier.validation_messages),
                    kernel_hits: self.kernel_hits.saturating_sub(earlier.kernel_hits),
                    kernel_misses: self.kernel_misses.saturating_sub(earlier.kernel_misses),
                    $($name: self.$name.saturating_sub(earlier.$name),)+
                }
            }
        }
    };
}

counters! {
    /// Steps whose SPIR-V was built: by the JIT for fused groups, by copying for single kernels.
    jit_builds,
    /// Steps whose pipeline the memory cache had.
    memory_hits,
    /// Steps whose pipeline it did not have.
    memory_misses,
    /// Steps whose SPIR-V the persistent store had.
    disk_hits,
    /// Steps whose SPIR-V it did not have.
    disk_misses,
    /// Of those it had, how many were built all the same and were equal: see `VKFUSE_CACHE_VERIFY`.
    disk_verified,
    /// How many were not equal. Never anything but 0, or the cache has a defect.
    disk_different,
    /// Steps whose SPIR-V was in the remote store without a trusted signature, and equal to what was built here.
    remote_equal,
    /// Steps whose SPIR-V was in the remote store without a trusted signature, and differed from what was built here.
    remote_different,
    /// Pipelines that the driver found in a stored blob of its own.
    blob_hits,
    /// How often the driver refused to make a pipeline of code.
    driver_refusals,
    /// Microseconds spent making SPIR-V.
    jit_us,
    /// Microseconds spent in the driver's compiler.
    driver_us,
    /// Lists, and submissions outside fusion mode, that were made again as they had been recorded.
    made_again,
    /// Fused steps that translation validation agreed with.
    validated,
    /// Fused steps that it could not judge.
    not_validated,
    /// Fused steps that it found to differ, and that are not used.
    validated_different,
    /// Lists whose first run was verified on the device.
    verified,
    /// Lists whose first run could not be, and that ran unfused.
    not_verified,
    /// Lists whose first run differed, and whose fused code is not used.
    verified_different,
    /// Lists that became one kernel.
    lists_fused,
    /// Lists that became several kernels.
    lists_split,
    /// Lists that were cancelled, by request or by something that observed them.
    lists_cancelled,
    /// Lists that were completed and could not be fused at all.
    lists_refused,
    /// Lists that were completed and ran unfused because their fused code was being built in the background.
    lists_building,
}

impl Stats {
    /// Counts a list that ended.
    pub(crate) fn list(&mut self, outcome: &Outcome) {
        self.lists(outcome, 1);
    }

    /// Counts this many lists that ended alike.
    pub(crate) fn lists(&mut self, outcome: &Outcome, times: u64) {
        *match outcome {
            Outcome::Fused => &mut self.lists_fused,
            Outcome::Split => &mut self.lists_split,
            Outcome::Refused { .. } => &mut self.lists_refused,
            Outcome::Building => &mut self.lists_building,
            _ => &mut self.lists_cancelled,
        } += times;
    }
}

/// Objects of the driver that a context has at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Objects {
    /// Buffers in use, those for staging and imported ones included. A few that went are kept to be used again, and do not count.
    pub buffers: u64,
    /// Compute pipelines.
    pub pipelines: u64,
    /// Command buffers with their pools, pending or kept for later.
    pub submissions: u64,
}

/// Adds to a counter.
pub(crate) fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Relaxed);
}
