//! Machines with a Redis between them: what one has built the others take, and what a stranger has put there changes no
//! result.

use std::{
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::Ordering::SeqCst,
    thread,
    time::Duration,
};

use vkfuse::{CacheOptions, Context, Tier};
use vkfuse_cache::{
    CacheOptions as Settings, Entry, Event, Key, RemoteConfig, Store, StoreConfig, generate_signing_key,
};

use crate::{
    context,
    mock::{self, BLOBS, DATA, WRONG_BLOBS},
    run,
};

const LONG: Duration = Duration::from_secs(60);

/// A server of its own, and keys.
struct Fleet {
    child: Child,
    url: String,
    base: tempfile::TempDir,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Fleet {
    fn new() -> Option<Fleet> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let base = tempfile::tempdir().unwrap();
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""]);
        let started = command.current_dir(base.path()).stdout(Stdio::null()).spawn();
        let Ok(child) = started else {
            assert!(std::env::var_os("VKFUSE_REQUIRE_FLEET").is_none(), "no redis-server");
            println!("SKIPPED: no redis-server");
            return None;
        };
        for name in ["alice", "mallory"] {
            generate_signing_key(&base.path().join(name)).unwrap();
        }
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            thread::sleep(Duration::from_millis(10));
        }
        Some(Fleet { child, url: format!("redis://127.0.0.1:{port}"), base })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    /// A context with an empty store of its own, whose user signs as that one, and trusts Alice.
    fn machine(&self, name: &str, signs: Option<&str>) -> Option<Context> {
        let settings = Settings {
            remote: Some(self.url.clone()),
            remote_timeout: Some(LONG),
            sign_key: signs.map(|name| self.file(name)),
            trust: Some(vec![self.file("alice.pub")]),
            ..Settings::default()
        };
        context(CacheOptions::new().settings(settings).directory(self.file(name)))
    }

    /// A store over the network and nothing else, whose user signs as that one or not at all.
    fn stranger(&self, signs: Option<&str>) -> Store {
        let mut remote = RemoteConfig::at(&self.url);
        remote.sign_key = signs.map(|name| self.file(name));
        Store::open(StoreConfig { remote: Some(remote), ..StoreConfig::disabled() })
    }
}

/// The entry with the fused code, and its key.
fn code_in(folder: &Path) -> (Key, Vec<u8>) {
    let store = Store::open(StoreConfig::at(folder));
    let all = store.entries(&mut |_| {});
    let found = all.into_iter().find_map(|info| {
        let code = store.read(&info).ok()?.section("spirv")?.to_vec();
        Some((info.key?, code))
    });
    found.expect("fused code")
}

#[test]
fn a_second_machine_builds_nothing_and_gives_the_driver_its_blob() {
    let _alone = mock::alone();
    let Some(fleet) = Fleet::new() else { return };
    DATA.store(mock::PAYLOAD, SeqCst);
    let Some(first) = fleet.machine("first", Some("alice")) else { return };
    assert_eq!(run(&first).unwrap(), Tier::Miss);
    assert!(first.flush_cache(LONG));
    let stats = first.cache_stats().store;
    assert_eq!((stats.remote_upload_failures, stats.remote_hits), (0, 0), "{stats:?}");
    assert!(stats.remote_uploads >= 3, "code, blob and a kernel's normal form: {stats:?}");
    drop(first);
    for name in ["second", "third"] {
        let blobs = BLOBS.load(SeqCst);
        let other = fleet.machine(name, Some("alice")).unwrap();
        // What the mock gives out as a blob is none of the driver below it, so that says that it compiled all the same.
        run(&other).unwrap();
        let stats = other.stats();
        assert_eq!((stats.jit_builds, stats.disk_hits, stats.kernel_misses), (0, 1, 0), "{stats:?}");
        assert_eq!(
            (BLOBS.load(SeqCst) - blobs, WRONG_BLOBS.load(SeqCst)),
            (1, 0),
            "the driver is given its blob"
        );
        let stats = other.cache_stats().store;
        assert_eq!((stats.remote_hits, stats.blob_hits), (3, 1), "{stats:?}");
        // The next time it has all of it itself.
        drop(other);
        let again = fleet.machine(name, None).unwrap();
        run(&again).unwrap();
        assert_eq!((BLOBS.load(SeqCst) - blobs, again.stats().jit_builds), (2, 0));
        assert_eq!(again.cache_stats().store.remote_hits, 0);
    }
}

#[test]
fn a_stranger_wastes_time_and_changes_nothing() {
    let _alone = mock::alone();
    let Some(fleet) = Fleet::new() else { return };
    DATA.store(mock::PAYLOAD, SeqCst);
    let Some(first) = fleet.machine("first", Some("alice")) else { return };
    run(&first).unwrap();
    drop(first);
    let (key, code) = code_in(&fleet.file("first"));
    // The same code, by somebody unknown: it is built, and found to be equal.
    for signs in [None, Some("mallory")] {
        let stranger = fleet.stranger(signs);
        let _ = stranger.put(&key, &Entry::new().with("spirv", code.clone()));
        assert!(stranger.flush(LONG));
        let name = format!("equal-{signs:?}");
        let machine = fleet.machine(&name, None).unwrap();
        run(&machine).unwrap();
        let stats = machine.stats();
        assert_eq!((stats.jit_builds, stats.remote_equal, stats.remote_different), (1, 1, 0), "{stats:?}");
    }
    // Other code, each of many: none reaches the driver, and none the results.
    let words = code.len() / 4;
    for (number, at) in (5..words).step_by((words / 12).max(1)).enumerate() {
        let mut changed = code.clone();
        changed[4 * at] ^= 1;
        let signs = (number % 2 == 0).then_some("mallory");
        let stranger = fleet.stranger(signs);
        let _ = stranger.put(&key, &Entry::new().with("spirv", changed));
        assert!(stranger.flush(LONG));
        let blobs = BLOBS.load(SeqCst);
        let machine = fleet.machine(&format!("different-{number}"), None).unwrap();
        // The result is compared in there.
        assert_eq!(run(&machine).unwrap(), Tier::Miss);
        let stats = machine.stats();
        assert_eq!((stats.jit_builds, stats.remote_equal, stats.remote_different), (1, 0, 1), "{stats:?}");
        assert_eq!(BLOBS.load(SeqCst), blobs, "a blob after a lie");
    }
    // What it built is put there by a machine that signs, and the next takes it.
    let mender = fleet.machine("mender", Some("alice")).unwrap();
    run(&mender).unwrap();
    drop(mender);
    let machine = fleet.machine("mended", None).unwrap();
    run(&machine).unwrap();
    assert_eq!((machine.stats().jit_builds, machine.stats().disk_hits), (0, 1));
}

#[test]
fn reports_and_events_name_the_remote_store() {
    let _alone = mock::alone();
    let Some(fleet) = Fleet::new() else { return };
    DATA.store(mock::PAYLOAD, SeqCst);
    let Some(first) = fleet.machine("first", Some("alice")) else { return };
    run(&first).unwrap();
    drop(first);
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = told.clone();
    let settings = Settings {
        remote: Some(fleet.url.clone()),
        remote_timeout: Some(LONG),
        trust: Some(vec![fleet.file("alice.pub")]),
        remote_read_only: Some(true),
        ..Settings::default()
    };
    let cache = CacheOptions::new().settings(settings).directory(fleet.file("second"));
    let cache = cache.events(move |event: &Event| sink.lock().unwrap().push(event.name()));
    let second = context(cache).unwrap();
    run(&second).unwrap();
    drop(second);
    let told = told.lock().unwrap();
    let count = |name: &str| told.iter().filter(|other| **other == name).count();
    assert!(count("did-hit-remote") >= 3, "{told:?}");
    assert_eq!((count("did-upload"), count("did-not-upload")), (0, 0));
}
