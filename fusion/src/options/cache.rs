//! Options of the caches of code.

use std::{fmt, path::PathBuf};

use vkfuse_cache::Event as CacheEvent;

/// Where the persistent store is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Disk {
    /// In the folder that the environment names, or in the user's cache folder.
    #[default]
    Default,
    /// In this folder.
    At(PathBuf),
    /// Nowhere.
    Off,
}

/// Options of the caches of code: pipelines in memory, SPIR-V and the driver's binaries on disk.
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
    /// The default options: a memory cache of the default size, and a store on disk in the user's cache folder. Environment variables
    /// ([`VARIABLES`](crate::environment::VARIABLES)) change both.
    #[must_use]
    pub fn new() -> CacheOptions {
        CacheOptions::default()
    }

    /// No cache at all.
    #[must_use]
    pub fn off() -> CacheOptions {
        CacheOptions::new().no_memory().no_disk()
    }

    /// Sets the largest number of pipelines in the memory cache; 0 keeps none.
    #[must_use]
    pub fn memory_entries(mut self, entries: usize) -> CacheOptions {
        self.memory_entries = Some(entries);
        self
    }

    /// Sets the largest number of bytes of code in the memory cache.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: u64) -> CacheOptions {
        self.memory_bytes = Some(bytes);
        self
    }

    /// Disables the memory cache.
    #[must_use]
    pub fn no_memory(mut self) -> CacheOptions {
        self.memory_entries = Some(0);
        self
    }

    /// Disables the store on disk.
    #[must_use]
    pub fn no_disk(mut self) -> CacheOptions {
        self.disk = Disk::Off;
        self
    }

    /// Adds read-only stores in these folders, which are asked after the store of this context, in order. Without this, those that the
    /// environment variable `VKFUSE_CACHE_LOWER` names are used.
    #[must_use]
    pub fn lower<P: Into<PathBuf>>(mut self, folders: impl IntoIterator<Item = P>) -> CacheOptions {
        self.settings.lower = Some(folders.into_iter().map(Into::into).collect());
        self
    }

    /// Adds a store over the network, which is asked after all others. This takes the feature `remote`, and a URL as
    /// [`RemoteConfig`](vkfuse_cache::RemoteConfig) describes it. Without this, the one in the environment variable `VKFUSE_CACHE_REMOTE` is used.
    #[must_use]
    pub fn remote(mut self, url: impl Into<String>) -> CacheOptions {
        self.settings.remote = Some(url.into());
        self
    }

    /// Sets limits, ages and times of the caches. Every setting that has an environment variable can be set here, and then the variable is
    /// not read. [`CacheOptions::directory`], [`CacheOptions::no_disk`], [`CacheOptions::memory_entries`] and
    /// [`CacheOptions::memory_bytes`] take precedence over these settings.
    #[must_use]
    pub fn settings(mut self, settings: vkfuse_cache::CacheOptions) -> CacheOptions {
        self.settings = settings;
        self
    }

    /// Builds code also if the store has it, and compares. A difference is logged and counted, and the new code replaces the old. The
    /// environment variable `VKFUSE_CACHE_VERIFY` is the default.
    #[must_use]
    pub fn verify(mut self, on: bool) -> CacheOptions {
        self.verify = Some(on);
        self
    }

    /// Reads from the store and writes nothing to it. Binaries of the driver are not read either, since loading one leaves a marker file.
    #[must_use]
    pub fn look_only(mut self, on: bool) -> CacheOptions {
        self.look_only = on;
        self
    }

    /// Appends every list that is fused to a file, for `vkfuse cache warm` and [`Recording`](crate::Recording). The environment variable
    /// `VKFUSE_CACHE_RECORD` is the default.
    #[must_use]
    pub fn record(mut self, file: impl Into<PathBuf>) -> CacheOptions {
        self.record = Some(file.into());
        self
    }

    /// Calls a function for every event of the caches.
    ///
    /// It is called without locks held, in the thread that caused the event; for writes in the background that is the store's thread. In a thread
    /// that is building a list, the function cannot wait for that list: this fails with [`Error::OwnList`](crate::Error::OwnList).
    #[must_use]
    pub fn events(mut self, receive: impl Fn(&CacheEvent) + Send + Sync + 'static) -> CacheOptions {
        self.events = Events(Some(std::sync::Arc::new(receive)));
        self
    }

    /// Sets the folder of the store on disk.
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
