//! A fleet: processes, each with a store of its own, that share a remote one: Redis, S3 or plain HTTP.
//!
//! `./x fleet` installs the servers; each test starts its own. Without a server the test says that it was skipped, and
//! `VKFUSE_REQUIRE_FLEET=1` makes that a failure. Times are printed and bounded by hundreds of what they should be, so that a
//! busy machine is no failure.

mod machine;
mod server;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use machine::{Done, KEYS, key, payload};
use server::{Engine, Server};
use vkfuse_cache::{Entry, RemoteConfig, Store, StoreConfig, generate_signing_key};

/// The machines of a test with what they have.
struct Fleet {
    base: tempfile::TempDir,
    server: Server,
}

impl Fleet {
    fn new(engine: Engine) -> Option<Fleet> {
        let base = tempfile::tempdir().unwrap();
        for name in ["alice", "mallory"] {
            generate_signing_key(&base.path().join(name)).unwrap();
        }
        let server = Server::start(engine, base.path());
        if server.is_none() {
            assert!(std::env::var_os("VKFUSE_REQUIRE_FLEET").is_none(), "no server of {engine:?}");
            println!("SKIPPED: no server of {engine:?}");
        }
        Some(Fleet { server: server?, base })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    /// Runs machines with empty stores of their own at the same time; each wants every key. All trust Alice, and those that
    /// put what they build there sign as she does.
    fn run(&self, name: &str, count: usize, writes: bool) -> Vec<Done> {
        let start = |number: usize| {
            let folder = self.file(&format!("{}-{number}", name.replace(' ', "-")));
            let signs = writes.then(|| self.file("alice"));
            machine::spawn(&folder, self.server.url(), signs.as_deref(), &self.file("alice.pub"))
        };
        let running: Vec<_> = (0..count).map(start).collect();
        running.into_iter().map(machine::wait).collect()
    }
}

fn print(what: &str, engine: Engine, all: &[Done]) {
    for done in all {
        println!("{engine:?}, {what}: {done:?}");
    }
}

/// One builds, four take: nothing is built, and nothing asked of the driver.
fn one_builds_and_the_others_take(fleet: &Fleet, engine: Engine) {
    let first = fleet.run("first", 1, true);
    print("builds", engine, &first);
    assert_eq!((first[0].built, first[0].driven, first[0].uploaded), (KEYS, KEYS, 2 * u64::from(KEYS)));
    let others = fleet.run("others", 4, true);
    print("takes", engine, &others);
    for done in &others {
        assert_eq!((done.built, done.driven), (0, 0), "{done:?}");
        assert_eq!(done.remote, 2 * u64::from(KEYS));
    }
}

/// Whatever the server does, all values are right, what it did not give is built, and no look-up takes long.
fn survives(fleet: &Fleet, engine: Engine, what: &str, writes: bool, rests: bool) {
    let all = fleet.run(what, 4, writes);
    print(what, engine, &all);
    for done in &all {
        assert_eq!((done.wrong, done.lost), (0, 0), "{done:?}");
        assert!(done.slowest < Duration::from_secs(20), "{done:?}");
        // Anyone who fails is left alone, unless that is over sooner than it could be.
        assert!(!rests || done.rests > 0, "{done:?}");
    }
}

fn lies(fleet: &Fleet, engine: Engine) {
    // Other bytes for each key, by somebody who has a key of his own; then by no one.
    machine::lie(fleet.server.url(), Some(&fleet.file("mallory")));
    let all = fleet.run("mallory", 4, false);
    print("other bytes, signed by a stranger", engine, &all);
    for done in &all {
        assert_eq!((done.wrong, done.lost), (0, 0), "{done:?}");
        assert!(done.built > 0 && done.lies > 0, "{done:?}");
    }
    machine::lie(fleet.server.url(), None);
    survives(fleet, engine, "other bytes, unsigned", false, true);
    // What Alice signed, under the names of others; cut off; and very large.
    let names: Vec<String> = (0..KEYS).map(|number| format!("v1/{:#}.bin", key(number).id())).collect();
    let sound = fleet.server.sound(&names[0]);
    fleet.server.put(&names[0], sound.clone());
    for (what, change) in [
        ("another key's object", (|sound: &[u8]| sound.to_vec()) as fn(&[u8]) -> Vec<u8>),
        ("cut off", |sound| sound[..sound.len() / 2].to_vec()),
        ("nothing", |_| vec![0]),
        ("huge", |sound| [sound, &vec![0; 24 << 20]].concat()),
    ] {
        let object = change(&sound);
        // Few of the huge ones are as good as many.
        let count = if object.len() > 1 << 20 { 4 } else { names.len() };
        for name in &names[1..count] {
            fleet.server.put(name, object.clone());
        }
        survives(fleet, engine, what, false, true);
    }
}

fn whole(engine: Engine) {
    let Some(mut fleet) = Fleet::new(engine) else { return };
    one_builds_and_the_others_take(&fleet, engine);
    fleet.server.keep_sound();
    lies(&fleet, engine);
    fleet.server.pause();
    survives(&fleet, engine, "paused", true, true);
    fleet.server.go_on();
    fleet.server.stop();
    survives(&fleet, engine, "stopped", true, true);
}

#[test]
fn redis() {
    whole(Engine::Redis);
}

#[test]
fn s3() {
    whole(Engine::S3);
}

#[test]
fn http() {
    whole(Engine::Http);
}

/// Redis with less room than is wanted: it refuses what it has no room for.
#[test]
fn a_redis_that_is_full() {
    let Some(fleet) = Fleet::new(Engine::FullRedis) else { return };
    let all = fleet.run("full", 4, true);
    print("full", Engine::FullRedis, &all);
    for done in &all {
        assert_eq!((done.wrong, done.lost), (0, 0), "{done:?}");
    }
    assert!(all.iter().any(|done| done.not_uploaded > 0), "it was not full");
}

/// What a start takes with a warm remote store, against building: for `docs/performance.md`. Values of kernels' sizes, and
/// builds that take what a driver takes.
#[test]
fn cold_start() {
    for engine in [Engine::Redis, Engine::Http] {
        let Some(fleet) = Fleet::new(engine) else { continue };
        let store = |name: &str, writes: bool| {
            let mut remote = RemoteConfig::at(fleet.server.url());
            (remote.writes, remote.timeout) = (writes, Duration::from_secs(5));
            remote.sign_key = Some(fleet.file("alice"));
            Store::open(StoreConfig { remote: Some(remote), ..StoreConfig::at(fleet.file(name)) })
        };
        let first = store("cold", true);
        (0..KEYS).for_each(|number| assert!(first.put(&key(number), &payload(number)).is_published()));
        assert!(first.flush(Duration::from_secs(60)));
        let second = store("warm", false);
        let start = Instant::now();
        let found: Vec<Entry> = (0..KEYS).map(|number| second.get(&key(number)).unwrap()).collect();
        let took = start.elapsed();
        assert!(found.iter().enumerate().all(|(number, entry)| *entry == payload(number as u32)));
        println!("{engine:?}: {KEYS} entries taken in {took:?}, {:?} each", took / KEYS);
    }
}

/// The other side; does nothing when run as a test.
#[test]
fn worker() {
    if let Some(folder) = std::env::var_os(machine::FOLDER) {
        machine::work(Path::new(&folder));
    }
}
