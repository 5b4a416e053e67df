//! One machine of the fleet: a process with a store of its own that wants every key, and builds what it does not get.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use vkfuse_cache::{Entry, Key, Layer, Part, RemoteConfig, Store, StoreConfig};

pub(crate) const KEYS: u32 = 60;
pub(crate) const FOLDER: &str = "VKFUSE_TEST_FOLDER";
const URL: &str = "VKFUSE_TEST_URL";
const SIGNS: &str = "VKFUSE_TEST_SIGNS";
const TRUSTS: &str = "VKFUSE_TEST_TRUSTS";
const LONG: Duration = Duration::from_secs(120);

pub(crate) fn key(number: u32) -> Key {
    let image = Part::new().u32("image", number).str("recipe", "as in the list");
    Key::new(Part::new().u32("device", 1), image, Part::new(), Part::new().bool("strict", true))
}

/// The only right contents: what building gives.
pub(crate) fn payload(number: u32) -> Entry {
    let mut bytes = vec![0; 2000 + 400 * number as usize];
    blake3::Hasher::new().update(&number.to_le_bytes()).finalize_xof().fill(&mut bytes);
    Entry::new().with("spirv", bytes)
}

fn driver() -> Part {
    Part::new().str("driver", "mock").u32("version", 7)
}

/// What the driver makes of it.
fn blob(number: u32) -> Vec<u8> {
    blake3::hash(&number.to_be_bytes()).as_bytes().repeat(40)
}

/// What a machine has done.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Done {
    pub(crate) built: u32,
    pub(crate) driven: u32,
    pub(crate) remote: u64,
    pub(crate) refused: u64,
    pub(crate) errors: u64,
    /// Look-ups that it was not asked for.
    pub(crate) rests: u64,
    /// Code of no one who is trusted that was not what was built.
    pub(crate) lies: u32,
    pub(crate) uploaded: u64,
    pub(crate) not_uploaded: u64,
    pub(crate) wrong: u32,
    /// Entries that the local store has not.
    pub(crate) lost: u32,
    /// The slowest of the look-ups.
    pub(crate) slowest: Duration,
    /// All of it, without the uploads.
    pub(crate) took: Duration,
}

pub(crate) fn spawn(folder: &Path, url: &str, signs: Option<&Path>, trusts: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "worker", "--nocapture", "--test-threads=1"]);
    command.env(FOLDER, folder).env(URL, url).env(TRUSTS, trusts).stdout(Stdio::piped());
    if let Some(signs) = signs {
        command.env(SIGNS, signs);
    }
    command.spawn().unwrap()
}

pub(crate) fn wait(child: Child) -> Done {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    let line = text.lines().find_map(|line| line.strip_prefix("done ")).unwrap_or_else(|| panic!("{text}"));
    let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
    let small = |at: usize| u32::try_from(numbers[at]).unwrap();
    Done {
        built: small(0),
        driven: small(1),
        remote: numbers[2],
        refused: numbers[3],
        errors: numbers[4],
        rests: numbers[5],
        lies: small(6),
        uploaded: numbers[7],
        not_uploaded: numbers[8],
        wrong: small(9),
        lost: small(10),
        slowest: Duration::from_micros(numbers[11]),
        took: Duration::from_micros(numbers[12]),
    }
}

fn remote(url: &str, signs: Option<PathBuf>) -> RemoteConfig {
    let mut remote = RemoteConfig::at(url);
    // Four processes and a server share what CI has.
    remote.timeout = Duration::from_secs(1);
    remote.sign_key = signs;
    let credentials = [("AWS_ACCESS_KEY_ID", "fleet"), ("AWS_SECRET_ACCESS_KEY", "fleet")];
    remote.credentials = credentials.map(|(name, value)| (name, value.to_owned())).to_vec();
    remote
}

/// As the engine does: a hit is used, what no one trusted has made is built and compared, all else is built.
pub(crate) fn work(folder: &Path) {
    let variable = |name: &str| std::env::var(name).unwrap();
    let mut remote = remote(&variable(URL), std::env::var_os(SIGNS).map(PathBuf::from));
    remote.writes = remote.sign_key.is_some();
    remote.trust = vec![variable(TRUSTS).into()];
    let mut config = StoreConfig { remote: Some(remote), ..StoreConfig::at(folder) };
    config.background = true;
    config.max_file_bytes = 1 << 20;
    let store = Store::open(config);
    assert_eq!(store.remote_problem(), None);
    let mut done = Done::default();
    let start = Instant::now();
    for number in 0..KEYS {
        let (key, right) = (key(number), payload(number));
        let look = Instant::now();
        let found = store.find(&key).ok();
        done.slowest = done.slowest.max(look.elapsed());
        let entry = match found {
            Some(found) if found.layer != Layer::Untrusted => found.entry,
            found => {
                done.built += 1;
                if let Some(found) = found
                    && found.entry != right
                {
                    done.lies += 1;
                    store.has_lied();
                }
                let _ = store.put_later(&key, right.clone());
                right.clone()
            }
        };
        done.wrong += u32::from(entry != right);
        let look = Instant::now();
        let load = store.begin_load(&key, &driver()).ok();
        done.slowest = done.slowest.max(look.elapsed());
        match load {
            Some(load) => done.wrong += u32::from(load.bytes() != blob(number)),
            None => {
                done.driven += 1;
                let _ = store.put_blob_later(&key, &driver(), blob(number));
            }
        }
    }
    done.took = start.elapsed();
    assert!(store.flush(LONG));
    done.lost =
        (0..KEYS).filter(|number| store.peek(&key(*number)).ok() != Some(payload(*number))).count() as u32;
    let stats = store.stats();
    println!(
        "\ndone {} {} {} {} {} {} {} {} {} {} {} {} {}",
        done.built,
        done.driven,
        stats.remote_hits,
        stats.remote_refused,
        stats.remote_errors,
        stats.remote_rests,
        done.lies,
        stats.remote_uploads,
        stats.remote_upload_failures,
        done.wrong,
        done.lost,
        done.slowest.as_micros(),
        done.took.as_micros()
    );
}

/// Puts other bytes under every key.
pub(crate) fn lie(url: &str, signs: Option<&Path>) {
    let config =
        StoreConfig { remote: Some(remote(url, signs.map(Path::to_owned))), ..StoreConfig::disabled() };
    let store = Store::open(config);
    for number in 0..KEYS {
        let _ = store.put(&key(number), &Entry::new().with("spirv", vec![0xbd; 3000]));
        let _ = store.put_blob(&key(number), &driver(), &[0xbd; 500]);
    }
    assert!(store.flush(LONG));
}
