//! Settings: an explicit value first, then the environment, then the default.
//!
//! The environment is a function that the caller passes in; this crate reads none. A setting that
//! cannot be used is left out and reported as a [`ConfigWarning`]; it never stops anything.

mod parse;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::event::Subscriber;
use crate::memory::MemoryLimits;
use crate::store::reason::Disabled;

const GIB: u64 = 1 << 30;

/// What a program sets by itself. `None` leaves it to the environment, then to the default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheOptions {
    /// Whether there is a persistent store: `VKFUSE_CACHE_PERSISTENT`, default yes.
    pub persistent: Option<bool>,
    /// Its folder: `VKFUSE_CACHE_DIR`, default `$XDG_CACHE_HOME/vkfuse`, then `$HOME/.cache/vkfuse`.
    pub dir: Option<PathBuf>,
    /// Bytes of the store, 0 for no limit: `VKFUSE_CACHE_MAX_SIZE`, default 1 GiB.
    pub max_size: Option<u64>,
    /// Least bytes of a file worth keeping: `VKFUSE_CACHE_MIN_ITEM_SIZE`, default 0.
    pub min_item_size: Option<u64>,
    /// Most bytes of one file, 0 for no limit: `VKFUSE_CACHE_MAX_ITEM_SIZE`, default 0.
    pub max_item_size: Option<u64>,
    /// How long an unused entry stays, zero for ever: `VKFUSE_CACHE_MAX_AGE`, default for ever.
    pub max_age: Option<Duration>,
    /// Whether keys are spelt out in events: `VKFUSE_CACHE_TRACE`, default no.
    pub trace: Option<bool>,
    /// Bytes of the memory cache, 0 for no limit: `VKFUSE_CACHE_IN_MEM_MAX_SIZE`, default 0.
    pub memory_max_size: Option<u64>,
    /// Use a network file system all the same, and one without locks, on which nothing is evicted.
    pub allow_network: bool,
    /// Write every file through to the device before it is moved into place.
    pub durable: bool,
}

/// A setting that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigWarning {
    /// The variable.
    pub variable: &'static str,
    /// Its value.
    pub value: OsString,
    /// What is wrong with it.
    pub problem: &'static str,
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.value.to_string_lossy().chars().take(80).collect();
        let Self { variable, problem, .. } = self;
        write!(f, "{variable}={shown:?} is left out: {problem}")
    }
}

/// Settings after explicit values, environment and defaults are put together.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// For [`Store::open`](crate::Store::open).
    pub store: StoreConfig,
    /// For [`MemoryCache::new`](crate::MemoryCache::new).
    pub memory: MemoryLimits,
    /// Whether keys are spelt out in events.
    pub trace: bool,
    /// What could not be used. To be logged once.
    pub warnings: Vec<ConfigWarning>,
}

/// Everything a store needs to know.
#[derive(Clone)]
pub struct StoreConfig {
    /// The root folder; `None` is a store that is off.
    pub dir: Option<PathBuf>,
    /// Why there is no folder.
    pub off: Option<Disabled>,
    /// Bytes on the disk; 0 is no limit.
    pub max_size: u64,
    /// Least bytes of a file worth keeping.
    pub min_item_size: u64,
    /// Most bytes of one file; 0 is no limit of its own.
    pub max_item_size: u64,
    /// Bytes beyond which no file is read or written, whatever the other limits are.
    pub max_file_bytes: u64,
    /// How long an unused entry stays.
    pub max_age: Option<Duration>,
    /// How long a write waits for the lock before it is dropped.
    pub lock_timeout: Duration,
    /// How often at most the use of an entry is written to the disk.
    pub touch_interval: Duration,
    /// How old a temporary file of a dead process has to be before it is removed.
    pub sweep_age: Duration,
    /// How long it is remembered that processes died over a driver's blobs.
    pub quarantine_age: Duration,
    /// Use a network file system all the same.
    pub allow_network: bool,
    /// Write files through to the device.
    pub durable: bool,
    /// Send [`Event::Attributes`](crate::Event::Attributes) with every look-up.
    pub trace: bool,
    /// Bits of the hashes that name folders. Fewer make collisions, for tests.
    pub folder_bits: u32,
    /// Receives events.
    pub subscriber: Option<Subscriber>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl StoreConfig {
    /// The defaults, in a given folder.
    pub fn at(dir: impl Into<PathBuf>) -> StoreConfig {
        StoreConfig { dir: Some(dir.into()), ..StoreConfig::disabled() }
    }

    /// No store.
    pub fn disabled() -> StoreConfig {
        StoreConfig {
            dir: None,
            off: Some(Disabled::Asked),
            max_size: GIB,
            min_item_size: 0,
            max_item_size: 0,
            max_file_bytes: 256 << 20,
            max_age: None,
            lock_timeout: Duration::from_secs(1),
            touch_interval: Duration::from_secs(600),
            sweep_age: Duration::from_secs(60),
            quarantine_age: Duration::from_secs(7 * 24 * 3600),
            allow_network: false,
            durable: false,
            trace: false,
            folder_bits: crate::key::FOLDER_BITS,
            subscriber: None,
            clock: Arc::new(SystemClock),
        }
    }

    /// Sends events to `subscriber`.
    pub fn with_subscriber(mut self, subscriber: Subscriber) -> StoreConfig {
        self.subscriber = Some(subscriber);
        self
    }

    /// Takes the time from `clock`.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> StoreConfig {
        self.clock = clock;
        self
    }
}

impl fmt::Debug for StoreConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreConfig")
            .field("dir", &self.dir)
            .field("off", &self.off)
            .field("max_size", &self.max_size)
            .field("min_item_size", &self.min_item_size)
            .field("max_item_size", &self.max_item_size)
            .field("max_age", &self.max_age)
            .field("trace", &self.trace)
            .finish_non_exhaustive()
    }
}

impl CacheOptions {
    /// Bytes, spelt as in the environment: `1024`, `512M`, `1.5G`.
    ///
    /// # Errors
    /// What is wrong with it. No text is no size.
    pub fn parse_size(text: &str) -> Result<u64, &'static str> {
        parse::size(text.trim())
    }

    /// Puts explicit values, environment and defaults together.
    ///
    /// ```
    /// use vkfuse_cache::CacheOptions;
    ///
    /// let env = |name: &str| match name {
    ///     "VKFUSE_CACHE_MAX_SIZE" => Some("2G".into()),
    ///     "HOME" => Some("relative".into()),
    ///     _ => None,
    /// };
    /// let resolved = CacheOptions::default().resolve(env);
    /// assert_eq!(resolved.store.max_size, 2 << 30);
    /// assert!(resolved.store.dir.is_none());
    /// assert_eq!(resolved.warnings[0].variable, "HOME");
    /// ```
    pub fn resolve(&self, env: impl Fn(&str) -> Option<OsString>) -> Resolved {
        let mut reader = parse::Reader { env: &env, warnings: Vec::new() };
        let mut store = StoreConfig::disabled();
        let persistent = self.persistent.or_else(|| reader.switch("VKFUSE_CACHE_PERSISTENT")).unwrap_or(true);
        if persistent {
            store.dir = self.dir.clone().or_else(|| reader.folder());
            store.off = store.dir.is_none().then_some(Disabled::NoFolder);
        }
        let mut size = |explicit: Option<u64>, variable| explicit.or_else(|| reader.size(variable));
        store.max_size = size(self.max_size, "VKFUSE_CACHE_MAX_SIZE").unwrap_or(store.max_size);
        store.min_item_size = size(self.min_item_size, "VKFUSE_CACHE_MIN_ITEM_SIZE").unwrap_or(0);
        store.max_item_size = size(self.max_item_size, "VKFUSE_CACHE_MAX_ITEM_SIZE").unwrap_or(0);
        let memory_max_size = size(self.memory_max_size, "VKFUSE_CACHE_IN_MEM_MAX_SIZE");
        store.max_age =
            self.max_age.or_else(|| reader.age("VKFUSE_CACHE_MAX_AGE")).filter(|age| !age.is_zero());
        let trace = self.trace.or_else(|| reader.switch("VKFUSE_CACHE_TRACE")).unwrap_or(false);
        store.trace = trace;
        store.allow_network = self.allow_network;
        store.durable = self.durable;
        Resolved {
            store,
            memory: MemoryLimits { bytes: memory_max_size.unwrap_or(0), ..MemoryLimits::default() },
            trace,
            warnings: reader.warnings,
        }
    }
}
