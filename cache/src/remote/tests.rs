//! The remote tier against a server in this process that answers as it is asked to.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::*;
use crate::{Layer, Miss, Outcome, Store, StoreConfig};

/// How a server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    /// As it should.
    Fair,
    /// Nothing for a while.
    Slow,
    /// Zeros without end.
    Huge,
    /// The first half, and says that it is all.
    Half,
    /// The first half, and hangs up.
    Cut,
    /// Another object than was asked for.
    Other,
    /// 500.
    Broken,
    /// No HTTP.
    Rude,
}

#[derive(Default)]
struct Shelf {
    objects: Mutex<HashMap<String, Vec<u8>>>,
    connections: AtomicUsize,
    gets: AtomicUsize,
    puts: AtomicUsize,
}

struct Server {
    port: u16,
    mood: Arc<Mutex<Mood>>,
    shelf: Arc<Shelf>,
}

impl Server {
    fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mood = Arc::new(Mutex::new(Mood::Fair));
        let shelf = Arc::<Shelf>::default();
        let (mine, stock) = (Arc::clone(&mood), Arc::clone(&shelf));
        // It lives as long as the process; no one connects any more.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (mood, shelf) = (Arc::clone(&mine), Arc::clone(&stock));
                shelf.connections.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    let _ = serve(stream, &mood, &shelf);
                });
            }
        });
        Server { port, mood, shelf }
    }

    fn is(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/cache", self.port)
    }

    fn gets(&self) -> usize {
        self.shelf.gets.load(Ordering::SeqCst)
    }

    fn puts(&self) -> usize {
        self.shelf.puts.load(Ordering::SeqCst)
    }

    /// Changes every object.
    fn change(&self, change: impl Fn(&mut Vec<u8>)) {
        self.shelf.objects.lock().unwrap().values_mut().for_each(change);
    }
}

fn serve(stream: TcpStream, mood: &Mutex<Mood>, shelf: &Shelf) -> std::io::Result<()> {
    let mut from = BufReader::new(stream.try_clone()?);
    let mut to = stream;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut length = 0;
        loop {
            let mut header = String::new();
            from.read_line(&mut header)?;
            let header = header.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        from.read_exact(&mut body)?;
        let mood = *mood.lock().unwrap();
        let mut answer = |status: &str, length: usize, body: &[u8]| {
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n");
            // In one piece, for the second would wait for the other side's word about the first.
            to.write_all(&[head.as_bytes(), body].concat())
        };
        if method == "PUT" {
            shelf.puts.fetch_add(1, Ordering::SeqCst);
            match mood {
                Mood::Broken => answer("507 Insufficient Storage", 0, b"")?,
                _ => {
                    shelf.objects.lock().unwrap().insert(path, body);
                    answer("201 Created", 0, b"")?;
                }
            }
            continue;
        }
        shelf.gets.fetch_add(1, Ordering::SeqCst);
        let object = shelf.objects.lock().unwrap().get(&path).cloned();
        let other =
            || shelf.objects.lock().unwrap().iter().find(|(name, _)| **name != path).map(|(_, o)| o.clone());
        match (mood, object) {
            (Mood::Slow, _) => {
                thread::sleep(Duration::from_secs(2));
                answer("404 Not Found", 0, b"")?;
            }
            (Mood::Huge, _) => {
                answer("200 OK", 1 << 40, &[])?;
                loop {
                    to.write_all(&[0; 1 << 16])?;
                }
            }
            (Mood::Broken, _) => answer("500 Broken", 0, b"")?,
            (Mood::Rude, _) => return to.write_all(b"* OK IMAP4rev1 ready\r\n"),
            (Mood::Other, _) => {
                let other = other().unwrap_or_default();
                answer("200 OK", other.len(), &other)?;
            }
            (_, None) => answer("404 Not Found", 0, b"")?,
            (Mood::Half, Some(object)) => answer("200 OK", object.len() / 2, &object[..object.len() / 2])?,
            (Mood::Cut, Some(object)) => {
                return answer("200 OK", object.len(), &object[..object.len() / 2]);
            }
            (Mood::Fair, Some(object)) => answer("200 OK", object.len(), &object)?,
        }
    }
}

/// Machines with their keys.
struct Yard {
    base: TempDir,
    server: Server,
}

impl Yard {
    fn new() -> Yard {
        Yard { base: tempfile::tempdir().unwrap(), server: Server::start() }
    }

    /// The secret key of that name, made if it is not there.
    fn secret(&self, name: &str) -> PathBuf {
        let file = self.base.path().join(name);
        if !file.exists() {
            generate(&file).unwrap();
        }
        file
    }

    fn public(&self, name: &str) -> PathBuf {
        keys::public_of(&self.secret(name))
    }

    fn config(&self, signs: Option<&str>, trusts: &[&str]) -> RemoteConfig {
        let mut config = RemoteConfig::at(self.server.url());
        // A machine that tests much is slow to answer.
        config.timeout = Duration::from_secs(10);
        config.sign_key = signs.map(|name| self.secret(name));
        config.trust = trusts.iter().map(|name| self.public(name)).collect();
        config
    }

    /// A machine with an empty store of its own.
    fn machine(&self, remote: RemoteConfig) -> Store {
        let folder = tempfile::tempdir_in(self.base.path()).unwrap().keep();
        let mut config = StoreConfig::at(folder.join("cache"));
        config.remote = Some(remote);
        let store = Store::open(config);
        assert_eq!(store.remote_problem(), None);
        store
    }
}

fn key(number: u32) -> Key {
    Key::new(Part::new().u32("device", 1), Part::new().u32("image", number), Part::new(), Part::new())
}

fn payload(number: u32) -> Entry {
    Entry::new().with("spirv", number.to_le_bytes().repeat(100))
}

fn driver() -> Part {
    Part::new().str("driver", "mock")
}

const LONG: Duration = Duration::from_secs(60);

fn fill(store: &Store, count: u32) {
    for number in 0..count {
        assert!(store.put(&key(number), &payload(number)).is_published());
        assert!(store.put_blob(&key(number), &driver(), &[number as u8; 64]).is_published());
    }
    assert!(store.flush(LONG));
}

#[test]
fn a_machine_takes_what_a_trusted_one_has_made() {
    let yard = Yard::new();
    let first = yard.machine(yard.config(Some("alice"), &[]));
    fill(&first, 3);
    let stats = first.stats();
    assert_eq!((stats.remote_uploads, stats.remote_upload_failures, yard.server.puts()), (6, 0, 6));
    let second = yard.machine(yard.config(None, &["alice"]));
    for number in 0..3 {
        let found = second.find(&key(number)).unwrap();
        assert_eq!((found.entry, found.layer), (payload(number), Layer::Remote));
        let load = second.begin_load(&key(number), &driver()).ok().unwrap();
        assert_eq!((load.bytes(), load.layer()), (&[number as u8; 64][..], Layer::Remote));
        drop(load);
        // From now on it is here.
        assert_eq!(second.find(&key(number)).unwrap().layer, Layer::Store);
        assert_eq!(second.begin_load(&key(number), &driver()).ok().unwrap().layer(), Layer::Store);
    }
    let stats = second.stats();
    assert_eq!((stats.remote_hits, stats.remote_uploads), (6, 0), "what came from there is not put there");
    assert!(stats.remote_read_bytes > 1200);
    assert!(second.get(&key(9)).is_err());
    // Without a store of its own, too.
    let config = StoreConfig { remote: Some(yard.config(None, &["alice"])), ..StoreConfig::disabled() };
    let bare = Store::open(config);
    assert!(bare.is_enabled());
    assert_eq!(bare.find(&key(1)).unwrap().layer, Layer::Remote);
    assert_eq!(bare.begin_load(&key(1), &driver()).ok().unwrap().bytes(), [1; 64]);
}

#[test]
fn what_nobody_trusted_has_made_is_only_for_comparison() {
    let yard = Yard::new();
    for (signs, trusts) in [(None, &["alice"][..]), (Some("mallory"), &["alice"]), (Some("alice"), &[])] {
        let first = yard.machine(yard.config(signs, &[]));
        fill(&first, 2);
        let second = yard.machine(yard.config(None, trusts));
        let found = second.find(&key(1)).unwrap();
        assert_eq!((found.entry, found.layer), (payload(1), Layer::Untrusted));
        assert_eq!(second.get(&key(1)), Err(Miss::Untrusted));
        assert_eq!(second.peek(&key(1)), Err(Miss::Untrusted));
        assert!(second.begin_load(&key(1), &driver()).is_err(), "a blob is nothing to compare");
        assert_eq!(second.stats().remote_hits, 0);
        // It is not in the local store either.
        yard.server.change(Vec::clear);
        assert!(second.find(&key(1)).is_err());
        second.has_lied();
        let before = yard.server.gets();
        assert!(second.find(&key(0)).is_err());
        assert_eq!(yard.server.gets(), before, "who lied is not asked");
    }
}

#[test]
fn a_store_that_is_dropped_takes_no_connection_of_another_along() {
    let yard = Yard::new();
    fill(&yard.machine(yard.config(Some("alice"), &[])), 1);
    for number in 1..=20 {
        let store = yard.machine(yard.config(None, &["alice"]));
        assert_eq!(store.find(&key(0)).map(|found| found.layer), Ok(Layer::Remote));
        drop(store);
        let connections = yard.server.shelf.connections.load(Ordering::SeqCst);
        assert!(connections > number, "{connections} connections of {} stores", number + 1);
    }
}

#[test]
fn keys_are_rotated() {
    let yard = Yard::new();
    fill(&yard.machine(yard.config(Some("old"), &[])), 1);
    // Both are trusted before the new one signs, and the old one is taken out when no one needs it.
    let layer = |trusts: &[&str]| yard.machine(yard.config(None, trusts)).find(&key(0)).unwrap().layer;
    assert_eq!(layer(&["old", "new"]), Layer::Remote);
    fill(&yard.machine(yard.config(Some("new"), &["old"])), 1);
    assert_eq!(layer(&["old", "new"]), Layer::Remote);
    assert_eq!(layer(&["new"]), Layer::Remote);
    assert_eq!(layer(&["old"]), Layer::Untrusted);
    // One file may have all of them.
    let all = yard.base.path().join("all");
    let lines = ["old", "new"].map(|name| std::fs::read_to_string(yard.public(name)).unwrap());
    std::fs::write(&all, format!("# those of the fleet\n\n{} since May\n{}", lines[0].trim(), lines[1]))
        .unwrap();
    let config = RemoteConfig { trust: vec![all], ..yard.config(None, &[]) };
    assert_eq!(yard.machine(config).find(&key(0)).unwrap().layer, Layer::Remote);
}

#[test]
fn an_object_with_one_changed_bit_is_never_trusted() {
    let yard = Yard::new();
    let first = yard.machine(yard.config(Some("alice"), &[]));
    fill(&first, 1);
    let keys = Keys::read(&[yard.public("alice")], None).unwrap();
    let objects = yard.server.shelf.objects.lock().unwrap().clone();
    let mut changes = 0;
    for (name, object) in objects {
        let what = if name.ends_with(".bin") { What::Entry } else { What::Blob };
        assert!(envelope::open(object.clone(), &key(0), what, &keys).unwrap().is_trusted);
        for at in 0..object.len() {
            let mut changed = object.clone();
            changed[at] ^= 1 << (at % 8);
            if let Ok(opened) = envelope::open(changed, &key(0), what, &keys) {
                assert!(!opened.is_trusted, "byte {at}");
            }
            let cut = envelope::open(object[..at].to_vec(), &key(0), what, &keys);
            assert!(!cut.is_ok_and(|opened| opened.is_trusted), "cut at {at}");
            changes += 2;
        }
        let (other, another) = if what == What::Entry { (key(1), What::Blob) } else { (key(1), What::Entry) };
        assert_eq!(envelope::open(object.clone(), &other, what, &keys).err(), Some(RemoteMiss::OtherKey));
        assert_eq!(envelope::open(object, &key(0), another, &keys).err(), Some(RemoteMiss::OtherKey));
    }
    println!("{changes} changed objects");
    let mut state = 1_u64;
    for length in 0..400 {
        let bytes = (0..length).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        });
        assert!(envelope::open(bytes.collect(), &key(0), What::Entry, &keys).is_err());
    }
}

#[test]
fn a_server_in_every_mood_gives_nothing_wrong_and_rests_after_three_failures() {
    for mood in [Mood::Slow, Mood::Huge, Mood::Half, Mood::Cut, Mood::Other, Mood::Broken, Mood::Rude] {
        let yard = Yard::new();
        fill(&yard.machine(yard.config(Some("alice"), &[])), 20);
        yard.server.is(mood);
        let mut config = yard.config(None, &["alice"]);
        if mood == Mood::Slow {
            config.timeout = Duration::from_millis(30);
        }
        let folder = yard.base.path().join("machine");
        let mut config = StoreConfig { remote: Some(config), ..StoreConfig::at(folder) };
        config.max_file_bytes = 1 << 20;
        let store = Store::open(config);
        let before = yard.server.gets();
        let start = Instant::now();
        for number in 0..20 {
            if let Ok(entry) = store.get(&key(number)) {
                assert_eq!(entry, payload(number), "{mood:?}");
            }
            // What it cannot give is built, and stored here.
            assert!(store.put(&key(number), &payload(number)).is_published());
        }
        let (asked, took) = (yard.server.gets() - before, start.elapsed());
        assert!(asked <= 4 + took.as_secs() as usize, "{mood:?}: asked {asked} times in {took:?}");
        let stats = store.stats();
        assert_eq!(stats.remote_hits, 0, "{mood:?}");
        assert!(stats.remote_rests >= 10, "{mood:?}: {stats:?}");
        let failed = stats.remote_errors + stats.remote_refused;
        assert!(failed >= 3, "{mood:?}: {stats:?}");
        println!("{mood:?}: 20 look-ups and puts in {took:?}, {asked} of them reached the server");
    }
}

#[test]
fn a_server_that_is_not_there_costs_little_and_loses_nothing() {
    let yard = Yard::new();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for url in [
        format!("http://127.0.0.1:{closed}"),
        format!("redis://127.0.0.1:{closed}"),
        format!("s3://bucket?endpoint=http://127.0.0.1:{closed}"),
    ] {
        let mut config = RemoteConfig { url: url.clone(), ..yard.config(Some("alice"), &[]) };
        config.timeout = Duration::from_millis(50);
        config.upload_timeout = Duration::from_millis(50);
        let credentials = [("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")];
        config.credentials = credentials.map(|(name, value)| (name, value.to_owned())).to_vec();
        let store = yard.machine(config);
        let start = Instant::now();
        for number in 0..100 {
            assert_eq!(store.get(&key(number)), Err(Miss::Absent));
            assert!(store.put(&key(number), &payload(number)).is_published());
            assert_eq!(store.get(&key(number)).unwrap(), payload(number));
        }
        let stats = store.stats();
        assert!(store.flush(LONG));
        assert_eq!((stats.remote_hits, stats.remote_uploads), (0, 0));
        assert!(store.stats().remote_upload_failures >= 90, "{url}: {stats:?}");
        println!("{url}: 100 look-ups and puts in {:?}", start.elapsed());
    }
}

#[test]
fn what_was_not_there_is_not_asked_for_again_at_once() {
    let yard = Yard::new();
    let store = yard.machine(yard.config(Some("alice"), &[]));
    for _ in 0..5 {
        assert_eq!(store.get(&key(1)), Err(Miss::Absent));
    }
    assert_eq!((yard.server.gets(), store.stats().remote_misses), (1, 5));
    // Putting it makes it worth asking.
    fill(&store, 2);
    let other = yard.machine(RemoteConfig { absent_age: Duration::ZERO, ..yard.config(None, &["alice"]) });
    for _ in 0..5 {
        assert!(other.get(&key(7)).is_err());
    }
    assert_eq!(yard.server.gets(), 6);
    assert_eq!(other.get(&key(1)).unwrap(), payload(1));
}

#[test]
fn a_full_server_takes_nothing_and_the_local_store_has_all() {
    let yard = Yard::new();
    yard.server.is(Mood::Broken);
    let store = yard.machine(yard.config(Some("alice"), &[]));
    for number in 0..20 {
        assert!(store.put(&key(number), &payload(number)).is_published());
    }
    assert!(store.flush(LONG));
    assert_eq!((store.stats().remote_upload_failures, store.stats().remote_uploads), (20, 0));
    assert!(yard.server.puts() <= 4, "it rests");
    assert!((0..20).all(|number| store.get(&key(number)).is_ok()));
}

#[test]
fn a_read_only_machine_puts_nothing_there() {
    let yard = Yard::new();
    fill(&yard.machine(yard.config(Some("alice"), &[])), 1);
    let before = yard.server.puts();
    let store = yard.machine(RemoteConfig { writes: false, ..yard.config(Some("bob"), &["alice"]) });
    assert_eq!(store.get(&key(0)).unwrap(), payload(0));
    fill(&store, 5);
    assert_eq!(yard.server.puts(), before);
    // Blobs that no one would take are not put there either.
    let unsigned = yard.machine(yard.config(None, &["alice"]));
    fill(&unsigned, 5);
    assert_eq!(yard.server.puts(), before + 5);
}

/// A store may be used, and end, inside the runtime of a program.
#[test]
fn it_works_inside_a_runtime() {
    let yard = Yard::new();
    fill(&yard.machine(yard.config(Some("alice"), &[])), 1);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = yard.machine(yard.config(Some("bob"), &["alice"]));
        assert_eq!(store.get(&key(0)).unwrap(), payload(0));
        assert!(matches!(store.put_later(&key(1), payload(1)), Outcome::Published { .. } | Outcome::Queued));
    });
}

#[test]
fn files_of_keys_are_checked() {
    use std::os::unix::fs::PermissionsExt;
    let yard = Yard::new();
    let secret = yard.secret("alice");
    assert_eq!(std::fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(generate(&secret), Err(KeyError::Io { .. })), "nothing is overwritten");
    let set = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(&secret, 0o644);
    assert!(matches!(Keys::read(&[], Some(&secret)), Err(KeyError::Open { what: "read", .. })));
    set(&secret, 0o600);
    let public = yard.public("alice");
    set(&public, 0o666);
    let result = Keys::read(std::slice::from_ref(&public), None);
    assert!(matches!(result, Err(KeyError::Open { what: "write", .. })));
    set(&public, 0o644);
    // Neither in the place of the other.
    assert!(matches!(
        Keys::read(std::slice::from_ref(&secret), None),
        Err(KeyError::Malformed { line: 1, .. })
    ));
    assert!(Keys::read(&[], Some(&public)).is_err());
    let text = std::fs::read_to_string(&public).unwrap();
    let weak = format!("vkfuse-public-key-1 01{}", "0".repeat(62));
    for bad in [&text[..text.len() - 3], "vkfuse-public-key-1", "hello", &weak, &text.replace("-1", "-2")] {
        std::fs::write(&public, format!("# first\n{bad}\n")).unwrap();
        let result = Keys::read(std::slice::from_ref(&public), None);
        assert!(matches!(result, Err(KeyError::Malformed { line: 2, .. })), "{bad}");
    }
    let config = RemoteConfig { trust: vec![public], ..yard.config(None, &[]) };
    let folder = yard.base.path().join("off");
    let store = Store::open(StoreConfig { remote: Some(config), ..StoreConfig::at(folder) });
    assert!(store.remote_problem().is_some_and(|problem| problem.contains("line 2")));
    assert!(store.put(&key(0), &payload(0)).is_published(), "the local store goes on");
}

#[test]
fn urls_are_checked_and_passwords_not_shown() {
    let yard = Yard::new();
    for url in ["", "127.0.0.1", "ftp://127.0.0.1", "redis://127.0.0.1/x"] {
        let config = RemoteConfig { url: url.to_owned(), ..yard.config(None, &[]) };
        let folder = tempfile::tempdir().unwrap();
        let store =
            Store::open(StoreConfig { remote: Some(config), ..StoreConfig::at(folder.path().join("c")) });
        assert!(store.remote_problem().is_some(), "{url}");
    }
    let shown = format!("{:?}", RemoteConfig::at("redis://user:secret@127.0.0.1:6379/3"));
    assert!(shown.contains("redis://…@127.0.0.1:6379/3") && !shown.contains("secret"), "{shown}");
}
