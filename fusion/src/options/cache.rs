//! How code is cached.

use std::{fmt, path::PathBuf};

use vkfuse_cache::Event as CacheEvent;

/// Where the persistent store is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Disk {
    /// Where the environment says, or in the user's cache folder.
    #[default]
    Default,
    /// In this folder.
    At(PathBuf),
    /// Nowhere.
    Off,
}

/// How code is cached: pipelines in memory, SPIR-V and the driver's blobs on disk.
#[derive(Debug, Clone, Default)]
pub struct CacheOptions {
    pub(crate) memory_entries: Option<usize>,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) disk: Disk,
    pub(crate) settings: vkfuse_cache::CacheOptions,
    pub(crate) verify: Option<bool>,
    pub(crate) look_only: bool,
    pub(crate) record: Option<PathBuf>,
    pub(crate) events: Events,
}

impl CacheOptions {
    /// The defaults: as many pipelines in memory as `vkfuse-cache` says, and a store in the user's cache folder; the
    /// environment variables that `vkfuse-cache` documents change both.
    #[must_use]
    pub fn new() -> CacheOptions {
        CacheOptions::default()
    }

    /// No cache at all.
    #[must_use]
    pub fn off() -> CacheOptions {
        CacheOptions::new().no_memory().no_disk()
    }

    /// How many pipelines are kept in memory; 0 keeps none.
    #[must_use]
    pub fn memory_entries(mut self, entries: usize) -> CacheOptions {
        self.memory_entries = Some(entries);
        self
    }

    /// How many bytes of code are kept in memory.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: u64) -> CacheOptions {
        self.memory_bytes = Some(bytes);
        self
    }

    /// Keeps nothing in memory.
    #[must_use]
    pub fn no_memory(mut self) -> CacheOptions {
        self.memory_entries = Some(0);
        self
    }

    /// Keeps nothing on disk.
    #[must_use]
    pub fn no_disk(mut self) -> CacheOptions {
        self.disk = Disk::Off;
        self
    }

    /// Asks these stores after the own one, the first of them first, and never writes to them. `VKFUSE_CACHE_LOWER` otherwise.
    #[must_use]
    pub fn lower<P: Into<PathBuf>>(mut self, folders: impl IntoIterator<Item = P>) -> CacheOptions {
        self.settings.lower = Some(folders.into_iter().map(Into::into).collect());
        self
    }

    /// Asks a store over the network after all others, in a build with the feature `remote`: a URL as
    /// [`RemoteConfig`](vkfuse_cache::RemoteConfig) says. `VKFUSE_CACHE_REMOTE` otherwise.
    #[must_use]
    pub fn remote(mut self, url: impl Into<String>) -> CacheOptions {
        self.settings.remote = Some(url.into());
        self
    }

    /// Takes limits, ages and times of the caches from here: every setting that has a variable of the environment can be
    /// given, and then the variable is not read. [`CacheOptions::directory`], [`CacheOptions::no_disk`],
    /// [`CacheOptions::memory_entries`] and [`CacheOptions::memory_bytes`] come before what these say.
    #[must_use]
    pub fn settings(mut self, settings: vkfuse_cache::CacheOptions) -> CacheOptions {
        self.settings = settings;
        self
    }

    /// Builds what the store has all the same, and compares: a difference is logged, counted, and replaces what was there.
    /// `VKFUSE_CACHE_VERIFY` otherwise.
    #[must_use]
    pub fn verify(mut self, on: bool) -> CacheOptions {
        self.verify = Some(on);
        self
    }

    /// Looks into the store and writes nothing to it. Driver blobs are not looked for: to load one leaves a mark.
    #[must_use]
    pub fn look_only(mut self, on: bool) -> CacheOptions {
        self.look_only = on;
        self
    }

    /// Appends every list that is fused to a file, for `vkfuse cache warm` and [`Recording`](crate::Recording).
    /// `VKFUSE_CACHE_RECORD` otherwise.
    #[must_use]
    pub fn record(mut self, file: impl Into<PathBuf>) -> CacheOptions {
        self.record = Some(file.into());
        self
    }

    /// Sends every event of the caches to a function, outside every lock: in the thread that caused it, and where that was a
    /// write in the background, in the thread of the store that writes. Where that thread builds a list, the function cannot wait for this list: that is [`Error::OwnList`](crate::Error::OwnList).
    #[must_use]
    pub fn events(mut self, receive: impl Fn(&CacheEvent) + Send + Sync + 'static) -> CacheOptions {
        self.events = Events(Some(std::sync::Arc::new(receive)));
        self
    }

    /// Keeps the store in this folder.
    #[must_use]
    pub fn directory(mut self, folder: impl Into<PathBuf>) -> CacheOptions {
        self.disk = Disk::At(folder.into());
        self
    }
}

/// Receives the events of the caches; see [`CacheOptions::events`](crate::CacheOptions::events).
#[derive(Clone, Default)]
pub(crate) struct Events(pub(crate) Option<vkfuse_cache::Subscriber>);

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Events" } else { "none" })
    }
}
