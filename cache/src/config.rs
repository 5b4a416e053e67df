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
    /// Stores to be asked after it and not written: `VKFUSE_CACHE_LOWER`, absolute paths as in `PATH`, default none.
    pub lower: Option<Vec<PathBuf>>,
    /// A store over the network, asked last: `VKFUSE_CACHE_REMOTE`, a URL as in [`RemoteConfig::url`], default none.
    pub remote: Option<String>,
    /// Whether nothing is put there: `VKFUSE_CACHE_REMOTE_READ_ONLY`, default no.
    pub remote_read_only: Option<bool>,
    /// How long a look-up there may take: `VKFUSE_CACHE_REMOTE_TIMEOUT`, default 50 ms.
    pub remote_timeout: Option<Duration>,
    /// Files of public keys whose owners are trusted to have made what is there: `VKFUSE_CACHE_TRUST`, absolute paths as
    /// in `PATH`, default none.
    pub trust: Option<Vec<PathBuf>>,
    /// The file of the key that signs what is put there: `VKFUSE_CACHE_SIGN_KEY`, default none.
    pub sign_key: Option<PathBuf>,
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
    /// Finished entries of the memory cache, 0 for no limit: `VKFUSE_CACHE_IN_MEM_MAX_ENTRIES`, default 4096.
    pub memory_max_entries: Option<usize>,
    /// How long a lasting failure is remembered, zero for ever: `VKFUSE_CACHE_FAILURE_AGE`, default 5 minutes.
    pub failure_age: Option<Duration>,
    /// How long a call waits for another thread's build, zero for ever: `VKFUSE_CACHE_WAIT`, default for ever.
    pub wait: Option<Duration>,
    /// How long a write waits for the store's lock: `VKFUSE_CACHE_LOCK_TIMEOUT`, default a second.
    pub lock_timeout: Option<Duration>,
    /// How long it is remembered that processes died over a driver's blobs: `VKFUSE_CACHE_QUARANTINE_AGE`, default a
    /// week.
    pub quarantine_age: Option<Duration>,
    /// Bytes that may wait to be written: `VKFUSE_CACHE_QUEUE_SIZE`, default 64 MiB. 0 writes at once, in the thread that
    /// built.
    pub queue_size: Option<u64>,
    /// How long the end of a store waits for what is still to be written: `VKFUSE_CACHE_CLOSE_WAIT`, default 5 seconds.
    pub close_wait: Option<Duration>,
    /// Use a network file system all the same, and one without locks, on which nothing is evicted:
    /// `VKFUSE_CACHE_ALLOW_NETWORK`, default no.
    pub allow_network: Option<bool>,
    /// Write every file through to the device before it is moved into place: `VKFUSE_CACHE_DURABLE`, default no.
    pub durable: Option<bool>,
}

/// Where the remote tier is, and what it may do. Only of use in a build with the feature `remote`.
#[derive(Clone)]
pub struct RemoteConfig {
    /// `redis://HOST:PORT/DATABASE?prefix=P`, `s3://BUCKET/PREFIX?endpoint=URL&region=R`, or `http://HOST/PATH` for a
    /// server that takes GET and PUT.
    pub url: String,
    /// Whether what is built here is put there.
    pub writes: bool,
    /// How long a look-up may take.
    pub timeout: Duration,
    /// How long an upload may take.
    pub upload_timeout: Duration,
    /// How long it is remembered that something is not there.
    pub absent_age: Duration,
    /// How long the end of a store waits for uploads.
    pub close_patience: Duration,
    /// Files of public keys whose owners are trusted.
    pub trust: Vec<PathBuf>,
    /// The file of the key that signs what is put there; its owner is trusted as well.
    pub sign_key: Option<PathBuf>,
    /// What the variables `AWS_…` of S3 say.
    pub credentials: Vec<(&'static str, String)>,
}

impl RemoteConfig {
    /// The defaults, for a store at a URL: read and written, without trusted signers.
    pub fn at(url: impl Into<String>) -> RemoteConfig {
        RemoteConfig {
            url: url.into(),
            writes: true,
            timeout: Duration::from_millis(50),
            upload_timeout: Duration::from_secs(5),
            absent_age: Duration::from_secs(30),
            close_patience: Duration::from_secs(5),
            trust: Vec::new(),
            sign_key: None,
            credentials: Vec::new(),
        }
    }
}

impl fmt::Debug for RemoteConfig {
    /// Without passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = match (self.url.find("://"), self.url.rfind('@')) {
            (Some(start), Some(end)) if start < end => {
                format!("{}://…{}", &self.url[..start], &self.url[end..])
            }
            _ => self.url.clone(),
        };
        f.debug_struct("RemoteConfig")
            .field("url", &url)
            .field("writes", &self.writes)
            .field("timeout", &self.timeout)
            .field("trust", &self.trust)
            .field("sign_key", &self.sign_key)
            .finish_non_exhaustive()
    }
}

/// Variables that name a user of S3.
const CREDENTIALS: [&str; 5] =
    ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_ENDPOINT_URL"];

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
    /// Stores that are asked after this one and never written, the first of them first.
    pub lower: Vec<PathBuf>,
    /// A store over the network that is asked last.
    pub remote: Option<RemoteConfig>,
    /// Whether [`Store::put_later`](crate::Store::put_later), ageing and sweeping have threads of their own.
    pub background: bool,
    /// Writes that may wait.
    pub queue_entries: usize,
    /// Bytes that may wait.
    pub queue_bytes: u64,
    /// How long the end of a store waits for what is still to be written.
    pub close_patience: Duration,
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
    /// How often at most the use of an entry is written to the disk: zero is every time. A process looks an entry up once
    /// and has it in memory then, and an entry whose use is not written is evicted as if it were not used.
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
    /// Bits of the hashes that name files. Fewer make collisions, for tests.
    pub name_bits: u32,
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
            lower: Vec::new(),
            remote: None,
            background: false,
            queue_entries: 1024,
            queue_bytes: 64 << 20,
            close_patience: Duration::from_secs(5),
            max_size: GIB,
            min_item_size: 0,
            max_item_size: 0,
            max_file_bytes: 256 << 20,
            max_age: None,
            lock_timeout: Duration::from_secs(1),
            touch_interval: Duration::ZERO,
            sweep_age: Duration::from_secs(60),
            quarantine_age: Duration::from_secs(7 * 24 * 3600),
            allow_network: false,
            durable: false,
            trace: false,
            name_bits: crate::key::NAME_BITS,
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
            .field("lower", &self.lower)
            .field("remote", &self.remote)
            .field("background", &self.background)
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
        if persistent {
            store.lower = self.lower.clone().unwrap_or_else(|| reader.folders("VKFUSE_CACHE_LOWER"));
        }
        let mut size = |explicit: Option<u64>, variable| explicit.or_else(|| reader.size(variable));
        store.max_size = size(self.max_size, "VKFUSE_CACHE_MAX_SIZE").unwrap_or(store.max_size);
        store.min_item_size = size(self.min_item_size, "VKFUSE_CACHE_MIN_ITEM_SIZE").unwrap_or(0);
        store.max_item_size = size(self.max_item_size, "VKFUSE_CACHE_MAX_ITEM_SIZE").unwrap_or(0);
        let is_least_over = (1..store.min_item_size).contains(&store.max_item_size);
        let queue = size(self.queue_size, "VKFUSE_CACHE_QUEUE_SIZE").unwrap_or(store.queue_bytes);
        (store.background, store.queue_bytes) = (queue > 0, queue);
        let mut memory = MemoryLimits::default();
        memory.bytes = size(self.memory_max_size, "VKFUSE_CACHE_IN_MEM_MAX_SIZE").unwrap_or(memory.bytes);
        let entries = || reader.count("VKFUSE_CACHE_IN_MEM_MAX_ENTRIES");
        memory.entries = self.memory_max_entries.or_else(entries).unwrap_or(memory.entries);
        let mut age = |explicit: Option<Duration>, variable| explicit.or_else(|| reader.age(variable));
        let or_ever = |age: Duration| (!age.is_zero()).then_some(age);
        store.max_age = age(self.max_age, "VKFUSE_CACHE_MAX_AGE").and_then(or_ever);
        memory.failure_ttl =
            age(self.failure_age, "VKFUSE_CACHE_FAILURE_AGE").map_or(memory.failure_ttl, or_ever);
        memory.patience = age(self.wait, "VKFUSE_CACHE_WAIT").and_then(or_ever);
        store.lock_timeout =
            age(self.lock_timeout, "VKFUSE_CACHE_LOCK_TIMEOUT").unwrap_or(store.lock_timeout);
        store.quarantine_age =
            age(self.quarantine_age, "VKFUSE_CACHE_QUARANTINE_AGE").unwrap_or(store.quarantine_age);
        store.close_patience =
            age(self.close_wait, "VKFUSE_CACHE_CLOSE_WAIT").unwrap_or(store.close_patience);
        let remote_timeout = age(self.remote_timeout, "VKFUSE_CACHE_REMOTE_TIMEOUT");
        let trace = self.trace.or_else(|| reader.switch("VKFUSE_CACHE_TRACE")).unwrap_or(false);
        store.trace = trace;
        if persistent && let Some(url) = self.remote.clone().or_else(|| reader.text("VKFUSE_CACHE_REMOTE")) {
            let mut remote = RemoteConfig::at(url);
            remote.timeout = remote_timeout.unwrap_or(remote.timeout);
            remote.close_patience = store.close_patience;
            let read_only = || reader.switch("VKFUSE_CACHE_REMOTE_READ_ONLY");
            remote.writes = !self.remote_read_only.or_else(read_only).unwrap_or(false);
            remote.trust = self.trust.clone().unwrap_or_else(|| reader.folders("VKFUSE_CACHE_TRUST"));
            remote.sign_key = self.sign_key.clone().or_else(|| reader.absolute("VKFUSE_CACHE_SIGN_KEY"));
            let found = CREDENTIALS.iter().filter_map(|name| Some((*name, env(name)?.into_string().ok()?)));
            remote.credentials = found.collect();
            store.remote = Some(remote);
        }
        if is_least_over && self.min_item_size.is_none() {
            store.min_item_size = 0;
            reader.leave_out(
                "VKFUSE_CACHE_MIN_ITEM_SIZE",
                "more than the most of a file, which would keep none",
            );
        }
        if persistent && store.remote.is_none() {
            for name in ["VKFUSE_CACHE_TRUST", "VKFUSE_CACHE_SIGN_KEY"] {
                reader.leave_out(name, "there is no VKFUSE_CACHE_REMOTE");
            }
        }
        let mut switch = |explicit: Option<bool>, variable| explicit.or_else(|| reader.switch(variable));
        store.allow_network = switch(self.allow_network, "VKFUSE_CACHE_ALLOW_NETWORK").unwrap_or(false);
        store.durable = switch(self.durable, "VKFUSE_CACHE_DURABLE").unwrap_or(false);
        Resolved { store, memory, trace, warnings: reader.warnings }
    }
}
