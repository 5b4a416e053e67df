//! The remote tier: a store over the network that machines share, asked after a local miss.
//!
//! Its contents are untrusted input. An entry names its signer: one by a trusted signer is used,
//! any other is only compared with what is built here. A blob of a driver is used from trusted signers alone. The
//! network has a time limit, and a store that fails several times in a row is not asked for a while: a store that is down, slow,
//! full or malicious costs a bounded time, and nothing else.

mod backend;
mod breaker;
mod envelope;
mod keys;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::config::RemoteConfig;
use crate::container::{self, Kind};
use crate::entry::Entry;
use crate::event::{Event, Subscriber};
use crate::key::{Key, KeyId, Part};
use crate::store::lane::{Job, Lane, Refused};
use crate::store::names;
use crate::store::reason::RemoteMiss;
use crate::store::stats::{self, Counters};
use backend::Backend;
use breaker::Breaker;
use envelope::{Opened, What};
use keys::Keys;
pub use keys::{KeyError, generate};

/// How many names are remembered as not being there.
const MOST_ABSENT: usize = 16_384;
/// What may wait to be uploaded.
const QUEUE: (usize, u64) = (1024, 64 << 20);
/// Beyond the limit of a look-up, for a machine that is too busy to keep it.
const SLACK: Duration = Duration::from_millis(20);

/// What was found.
pub(crate) struct Fetched<T> {
    pub(crate) value: T,
    pub(crate) bytes: u64,
    /// Whether a trusted signer made it.
    pub(crate) is_trusted: bool,
}

pub(crate) struct Remote {
    shared: Arc<Shared>,
    uploads: Lane,
    writes: bool,
    absent: Mutex<HashMap<[u8; 32], Instant>>,
    absent_age: Duration,
    process: u32,
}

struct Shared {
    /// `None` once it is shut down.
    runtime: Mutex<Option<tokio::runtime::Runtime>>,
    handle: tokio::runtime::Handle,
    backend: Arc<Backend>,
    /// Separate breakers for reading and for writing, since a store may fail at one of them alone. A store that returned wrong data is still
    /// written to, which replaces the wrong data.
    reads: Breaker,
    writes: Breaker,
    keys: Keys,
    timeout: Duration,
    upload_timeout: Duration,
    most_bytes: u64,
    counters: Arc<Counters>,
    subscriber: Option<Subscriber>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // A program may end its store inside a runtime of its own, where this one must not be waited for.
        if let Some(runtime) = self.runtime.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            runtime.shutdown_background();
        }
    }
}

impl Shared {
    fn emit(&self, event: impl FnOnce() -> Event) {
        if let Some(subscriber) = &self.subscriber {
            subscriber(&event());
        }
    }

    /// Runs something on the runtime's thread, and waits for it here; never for longer than `limit` and a little.
    fn wait_for<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, RemoteMiss>> + Send + 'static,
    ) -> Result<T, RemoteMiss> {
        let (told, heard) = sync_channel(1);
        self.handle.spawn(async move {
            let result = tokio::time::timeout(limit, work).await.unwrap_or(Err(RemoteMiss::TimedOut));
            // Nothing receives it any more if the limit was exceeded.
            let _ = told.send(result);
        });
        match heard.recv_timeout(limit + SLACK) {
            Ok(result) => result,
            Err(RecvTimeoutError::Timeout) => Err(RemoteMiss::TimedOut),
            Err(RecvTimeoutError::Disconnected) => Err(RemoteMiss::Failed),
        }
    }

    fn fetch(&self, name: String) -> Result<Vec<u8>, RemoteMiss> {
        if !self.reads.admits(Instant::now()) {
            return Err(RemoteMiss::Resting);
        }
        let (backend, most) = (Arc::clone(&self.backend), self.most_bytes);
        self.wait_for(self.timeout, async move { backend.read(&name, most).await })
    }

    fn upload(&self, id: KeyId, name: String, bytes: Vec<u8>) {
        let length = bytes.len() as u64;
        let result = if self.writes.admits(Instant::now()) {
            let backend = Arc::clone(&self.backend);
            let result = self.wait_for(self.upload_timeout, async move { backend.write(&name, bytes).await });
            match result {
                Ok(()) => self.writes.succeeded(),
                Err(_) => self.writes.failed(Instant::now()),
            }
            result
        } else {
            Err(RemoteMiss::Resting)
        };
        match result {
            Ok(()) => {
                stats::add(&self.counters.remote_uploads, 1);
                stats::add(&self.counters.remote_written_bytes, length);
                self.emit(|| Event::DidUpload { key: id, bytes: length });
            }
            Err(reason) => self.not_uploaded(id, reason),
        }
    }

    fn not_uploaded(&self, id: KeyId, reason: RemoteMiss) {
        stats::add(&self.counters.remote_upload_failures, 1);
        self.emit(|| Event::DidNotUpload { key: id, reason });
    }
}

impl Remote {
    /// # Errors
    /// What of the settings cannot be used.
    pub(crate) fn open(
        config: &RemoteConfig,
        most_bytes: u64,
        counters: Arc<Counters>,
        subscriber: Option<Subscriber>,
    ) -> Result<Remote, String> {
        let keys =
            Keys::read(&config.trust, config.sign_key.as_deref()).map_err(|error| error.to_string())?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("vkfuse remote")
            .enable_all()
            .build()
            .map_err(|error| format!("no thread for it: {error}"))?;
        let backend = {
            let _inside = runtime.enter();
            Backend::open(&config.url, &config.credentials)?
        };
        let shared = Shared {
            handle: runtime.handle().clone(),
            runtime: Mutex::new(Some(runtime)),
            backend: Arc::new(backend),
            reads: Breaker::default(),
            writes: Breaker::default(),
            keys,
            timeout: config.timeout,
            upload_timeout: config.upload_timeout,
            most_bytes: envelope::most(most_bytes),
            counters,
            subscriber,
        };
        Ok(Remote {
            shared: Arc::new(shared),
            uploads: Lane::new("vkfuse upload", QUEUE.0, QUEUE.1),
            writes: config.writes,
            absent: Mutex::default(),
            absent_age: config.absent_age,
            process: std::process::id(),
        })
    }

    /// The entry of a key.
    pub(crate) fn entry(&self, key: &Key) -> Result<Fetched<Entry>, RemoteMiss> {
        let found = self.look(key, What::Entry, None).and_then(|opened| {
            let container =
                container::decode(Kind::Entry, &opened.body).map_err(|_| RemoteMiss::Malformed)?;
            if container.bound != key.id().0 {
                return Err(RemoteMiss::OtherKey);
            }
            let sections = container.ranges();
            let bytes = opened.body.len() as u64;
            Ok(Fetched { value: Entry::of_file(opened.body, sections), bytes, is_trusted: opened.is_trusted })
        });
        self.note(key, found)
    }

    /// The blob of a driver, if a trusted signer made it.
    pub(crate) fn blob(&self, key: &Key, driver: &Part) -> Result<Fetched<Vec<u8>>, RemoteMiss> {
        let found = self.look(key, What::Blob, Some(driver)).and_then(|opened| {
            // It is not even decoded before its signer is known.
            if !opened.is_trusted {
                return Err(RemoteMiss::Untrusted);
            }
            let container = container::decode(Kind::Blob, &opened.body).map_err(|_| RemoteMiss::Malformed)?;
            if container.bound != key.id().0 || container.section("driver") != Some(driver.as_bytes()) {
                return Err(RemoteMiss::OtherKey);
            }
            let blob = container.section("blob").ok_or(RemoteMiss::Malformed)?.to_vec();
            Ok(Fetched { bytes: opened.body.len() as u64, value: blob, is_trusted: true })
        });
        self.note(key, found)
    }

    fn look(&self, key: &Key, what: What, driver: Option<&Part>) -> Result<Opened, RemoteMiss> {
        // The thread that talks to the network is not in a process that was forked off.
        if std::process::id() != self.process {
            return Err(RemoteMiss::Resting);
        }
        let name = name(key, driver);
        let place = *blake3::hash(name.as_bytes()).as_bytes();
        if self.is_absent(&place) {
            return Err(RemoteMiss::KnownAbsent);
        }
        let fetched = self.shared.fetch(name);
        // A store that returns something else than was asked for counts as one that fails.
        let opened = fetched.and_then(|bytes| envelope::open(bytes, key, what, &self.shared.keys));
        match &opened {
            Ok(opened) if opened.is_trusted => self.shared.reads.succeeded(),
            // Of a stranger, which is neither: between two lies it makes nothing better.
            Ok(_) => {}
            Err(RemoteMiss::Absent) => {
                self.shared.reads.succeeded();
                self.set_absent(place);
            }
            Err(RemoteMiss::Resting) => {}
            Err(_) => self.shared.reads.failed(Instant::now()),
        }
        opened
    }

    fn note<T>(&self, key: &Key, found: Result<Fetched<T>, RemoteMiss>) -> Result<Fetched<T>, RemoteMiss> {
        let counters = &self.shared.counters;
        match &found {
            Ok(fetched) => {
                let counter =
                    if fetched.is_trusted { &counters.remote_hits } else { &counters.remote_untrusted };
                stats::add(counter, 1);
                stats::add(&counters.remote_read_bytes, fetched.bytes);
                let (bytes, trusted) = (fetched.bytes, fetched.is_trusted);
                self.shared.emit(|| Event::DidHitRemote { key: key.id(), bytes, trusted });
            }
            Err(reason) => {
                let counter = match reason {
                    RemoteMiss::Absent | RemoteMiss::KnownAbsent => &counters.remote_misses,
                    RemoteMiss::Resting => &counters.remote_rests,
                    RemoteMiss::TimedOut | RemoteMiss::Failed | RemoteMiss::QueueFull => {
                        &counters.remote_errors
                    }
                    RemoteMiss::TooLarge
                    | RemoteMiss::Malformed
                    | RemoteMiss::OtherKey
                    | RemoteMiss::Forged
                    | RemoteMiss::Untrusted => &counters.remote_refused,
                };
                stats::add(counter, 1);
                self.shared.emit(|| Event::DidMissRemote { key: key.id(), reason: *reason });
            }
        }
        found
    }

    /// What was fetched is not what is built here: it is not asked again for a while.
    pub(crate) fn has_lied(&self) {
        stats::add(&self.shared.counters.remote_refused, 1);
        self.shared.reads.distrust(Instant::now());
    }

    /// Puts an entry there, later.
    pub(crate) fn put(&self, key: &Key, entry: &Entry) {
        self.put_later(key, None, What::Entry, entry.sections());
    }

    /// Uploads the blob of a driver, later. Does nothing without a key to sign it, since unsigned blobs are not used.
    pub(crate) fn put_blob(&self, key: &Key, driver: &Part, blob: &[u8]) {
        if self.shared.keys.signs() {
            let sections = [("driver", driver.as_bytes()), ("blob", blob)];
            self.put_later(key, Some(driver), What::Blob, sections.into_iter());
        }
    }

    fn put_later<'a>(
        &self,
        key: &Key,
        driver: Option<&Part>,
        what: What,
        sections: impl Iterator<Item = (&'a str, &'a [u8])> + Clone,
    ) {
        if !self.writes || std::process::id() != self.process {
            return;
        }
        let id = key.id();
        let kind = if what == What::Entry { Kind::Entry } else { Kind::Blob };
        let Ok(body) = container::encode(kind, &id.0, sections) else {
            return self.shared.not_uploaded(id, RemoteMiss::TooLarge);
        };
        if (body.len() + key.source().len()) as u64 > self.shared.most_bytes {
            return self.shared.not_uploaded(id, RemoteMiss::TooLarge);
        }
        let (name, key, shared) = (name(key, driver), key.clone(), Arc::clone(&self.shared));
        self.forget_absent(blake3::hash(name.as_bytes()).as_bytes());
        let bytes = body.len() as u64;
        let job: Job = Box::new(move || {
            let sealed = envelope::seal(&key, what, &body, &shared.keys);
            shared.upload(id, name, sealed);
        });
        match self.uploads.push(bytes, job) {
            Ok(()) => {}
            Err(Refused::Full) => self.shared.not_uploaded(id, RemoteMiss::QueueFull),
            // Uploads happen on a thread, never in the caller.
            Err(Refused::NoThread(_)) => self.shared.not_uploaded(id, RemoteMiss::Failed),
        }
    }

    /// Waits until everything is uploaded, or given up.
    pub(crate) fn drain(&self, patience: Duration) -> bool {
        self.uploads.drain(patience)
    }

    fn is_absent(&self, name: &[u8; 32]) -> bool {
        let absent = self.absent.lock().unwrap_or_else(PoisonError::into_inner);
        absent.get(name).is_some_and(|since| since.elapsed() < self.absent_age)
    }

    fn set_absent(&self, name: [u8; 32]) {
        let mut absent = self.absent.lock().unwrap_or_else(PoisonError::into_inner);
        if absent.len() >= MOST_ABSENT {
            absent.retain(|_, since| since.elapsed() < self.absent_age);
            if absent.len() >= MOST_ABSENT {
                absent.clear();
            }
        }
        absent.insert(name, Instant::now());
    }

    fn forget_absent(&self, name: &[u8; 32]) {
        self.absent.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}

/// The name of an object: of an entry, or of what a driver made of it.
fn name(key: &Key, driver: Option<&Part>) -> String {
    match driver {
        None => format!("v1/{:#}.bin", key.id()),
        Some(driver) => format!("v1/{:#}.{}.blob", key.id(), names::driver(driver)),
    }
}
