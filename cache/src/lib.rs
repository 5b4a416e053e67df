//! Two caches for compiled kernels: a memory cache that builds what it lacks, and a persistent store.
//!
//! The crate knows neither SPIR-V nor Vulkan; it keeps bytes under keys. It reads no environment
//! variable, prints nothing, and takes the time from a [`Clock`].
//!
//! # Words
//!
//! - A **key** says everything that an entry was made from, in four parts: device, image, spec,
//!   options. Keys are compared in full; hashes only say where to look.
//! - An **entry** is a list of named byte sections, complete or not there.
//! - A **driver blob** belongs to an entry and to one driver. It has a key of its own, so that a new
//!   driver makes the blob useless and not the entry.
//! - A **miss** is everything that is not a complete, verified entry of exactly this key, with the
//!   reason. What was wrong is replaced by the next [`Store::put`].
//!
//! # What never happens
//!
//! A fault of the disk, a damaged file, a dead or stopped process is never an error to the caller and
//! never a wrong value. The store gives nothing, or drops a write, and counts it.

#![forbid(unsafe_code)]

mod clock;
mod config;
mod container;
mod disk;
mod entry;
mod event;
mod key;
mod memory;
#[cfg(feature = "remote")]
mod remote;
#[cfg(not(feature = "remote"))]
#[path = "remote_off.rs"]
mod remote;
mod store;
mod sync;

pub use clock::{Clock, SystemClock};
pub use config::{CacheOptions, ConfigWarning, RemoteConfig, Resolved, StoreConfig};
pub use entry::Entry;
pub use event::{Event, Subscriber};
pub use key::{Difference, Field, Key, KeyId, MemoryKey, Part, PartKind, Value};
pub use memory::{BuildError, Cached, Failure, Hit, MemoryCache, MemoryLimits, MemoryStats};
#[cfg(feature = "remote")]
pub use remote::{KeyError, generate as generate_signing_key};
pub use store::reason::{Disabled, Fault, Miss, Outcome, RemoteMiss, Skip};
pub use store::{
    BlobInfo, BlobLoad, EntryInfo, Exported, Found, Imported, Layer, PackError, Progress, Pruned, Store,
    StoreStats, Swept, Usage,
};
