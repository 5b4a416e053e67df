//! What the rights of files and of the process do, as an ordinary user.
//!
//! An administrator may write everywhere, so these tests run themselves again as an ordinary user
//! where they are started as an administrator; without `setpriv` they say that they were skipped.

#![cfg(target_os = "linux")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use vkfuse_cache::{Disabled, Entry, Key, Layer, Outcome, Part, Skip, Store, StoreConfig};

const ROLE: &str = "VKFUSE_TEST_ROLE";
const DIR: &str = "VKFUSE_TEST_DIR";

fn key() -> Key {
    Key::new(Part::new(), Part::new(), Part::new(), Part::new())
}

fn entry() -> Entry {
    Entry::new().with("spirv", [1; 100])
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Copies this program to where others may run it.
///
/// Another process copies: what this one has open for writing, a process that another test starts at that moment
/// inherits, and a file that is open for writing cannot be run (`ETXTBSY`).
fn copy_program(to: &Path) {
    let program = std::env::current_exe().unwrap();
    let status = Command::new("install").args(["-m", "755"]).arg(program).arg(to).status().unwrap();
    assert!(status.success(), "install: {status}");
}

/// Runs the worker with this role as an ordinary user; `None` where that is not possible.
fn as_user(role: &str, dir: &Path, mask: &str) -> Option<bool> {
    // The build folder may not be open to others; the copy is.
    let copy = dir.parent().unwrap().join("worker");
    if !copy.exists() {
        copy_program(&copy);
    }
    let script = format!("umask {mask}; exec \"$@\"");
    let mut words: Vec<&str> = Vec::new();
    if is_root() {
        words.extend(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    }
    words.extend(["sh", "-c", &script, "sh", copy.to_str().unwrap()]);
    words.extend(["--exact", "worker", "--nocapture"]);
    let output =
        Command::new(words[0]).args(&words[1..]).current_dir("/").env(ROLE, role).env(DIR, dir).output();
    let Ok(output) = output else {
        println!("SKIPPED: no setpriv");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{role}: {text}{errors}");
    Some(text.contains("fine"))
}

/// A folder that an ordinary user owns.
fn home() -> (tempfile::TempDir, PathBuf) {
    let base = tempfile::tempdir().unwrap();
    fs::set_permissions(base.path(), Permissions::from_mode(0o755)).unwrap();
    let home = base.path().join("home");
    fs::create_dir(&home).unwrap();
    if is_root() {
        std::os::unix::fs::chown(&home, Some(65534), Some(65534)).unwrap();
    }
    (base, home)
}

#[test]
fn worker() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let dir = PathBuf::from(std::env::var_os(DIR).unwrap());
    let root = dir.join("made/on/the/way/cache");
    match role.as_str() {
        "modes" => modes(&root),
        "read-only" => read_only(&root),
        "foreign" => foreign(&dir),
        "full" => full(&dir),
        "unwritable" => unwritable(&dir),
        "capable" => capable(&root),
        "lower" => lower(&root),
        other => panic!("no role {other}"),
    }
    println!("\nfine");
}

fn walk(folder: &Path, found: &mut Vec<(PathBuf, u32, bool)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        found.push((path.clone(), meta.mode() & 0o7777, meta.is_dir()));
        if meta.is_dir() {
            walk(&path, found);
        }
    }
}

fn modes(root: &Path) {
    let store = Store::open(StoreConfig::at(root));
    assert_eq!(store.disabled_reason(), None);
    assert!(store.put(&key(), &entry()).is_published());
    assert!(store.put_blob(&key(), &Part::new(), b"blob").is_published());
    assert_eq!(store.get(&key()), Ok(entry()));
    let mut found = Vec::new();
    walk(root.ancestors().nth(4).unwrap(), &mut found);
    assert!(found.len() >= 12, "{found:?}");
    for (path, mode, is_folder) in found {
        let expected = if is_folder { 0o700 } else { 0o600 };
        assert_eq!(mode, expected, "{mode:o} {path:?}");
    }
}

#[test]
fn folders_and_files_are_for_the_owner_whatever_the_mask() {
    for mask in ["000", "022", "077", "0777"] {
        let (_base, home) = home();
        let _ = as_user("modes", &home, mask);
    }
}

fn set_modes(root: &Path, folder: u32, file: u32) {
    let mut found = Vec::new();
    walk(root, &mut found);
    for (path, _, is_folder) in found.into_iter().rev() {
        let mode = if is_folder { folder } else { file };
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    fs::set_permissions(root, Permissions::from_mode(folder)).unwrap();
}

fn read_only(root: &Path) {
    let store = Store::open(StoreConfig::at(root));
    assert!(store.put(&key(), &entry()).is_published());
    assert!(store.put_blob(&key(), &Part::new(), b"blob").is_published());
    drop(store);
    set_modes(root, 0o500, 0o400);
    let mut config = StoreConfig::at(root);
    config.touch_interval = std::time::Duration::ZERO;
    let store = Store::open(config);
    assert_eq!(store.disabled_reason(), None);
    for _ in 0..100 {
        assert_eq!(store.get(&key()), Ok(entry()));
        assert!(store.begin_load(&key(), &Part::new()).is_ok());
    }
    let outcome = store.put(&key(), &entry());
    assert!(matches!(outcome, Outcome::Skipped(Skip::Io(_))), "{outcome:?}");
    store.sweep();
    set_modes(root, 0o700, 0o600);
    assert!(store.put(&key(), &entry()).is_published());
}

#[test]
fn a_folder_that_can_only_be_read_serves_hits() {
    let (_base, home) = home();
    let _ = as_user("read-only", &home, "022");
}

fn foreign(dir: &Path) {
    let root = dir.join("foreign");
    let store = Store::open(StoreConfig::at(&root));
    assert_eq!(store.disabled_reason(), Some(&Disabled::ForeignOwner(root)));
}

#[test]
fn refuses_a_root_of_another_user() {
    if !is_root() {
        println!("SKIPPED: needs an administrator to make a foreign folder");
        return;
    }
    let (_base, home) = home();
    fs::create_dir(home.join("foreign")).unwrap();
    let _ = as_user("foreign", &home, "022");
}

/// Runs the worker in a name space of its own, with a file system of its own at its folder.
fn capable(root: &Path) {
    let store = Store::open(StoreConfig::at(root));
    assert_eq!(store.disabled_reason(), Some(&Disabled::RaisedRights));
    assert!(!root.exists());
}

#[test]
fn refuses_to_work_for_a_program_with_capabilities_of_its_own() {
    if !is_root() {
        println!("SKIPPED: only root gives capabilities to a file");
        return;
    }
    let (base, root) = home();
    let copy = base.path().join("worker");
    copy_program(&copy);
    let given = Command::new("setcap").arg("cap_net_raw+ep").arg(&copy).output();
    if !given.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: no setcap, or a file system without capabilities");
        return;
    }
    if let Some(fine) = as_user("capable", &root, "077") {
        assert!(fine);
    }
}

/// What an image of a container has: files of the administrator that everybody can read.
fn image(base: &Path) -> PathBuf {
    let image = base.join("image");
    let store = Store::open(StoreConfig::at(&image));
    assert!(store.put(&key(), &entry()).is_published());
    drop(store);
    let mut found = Vec::new();
    walk(&image, &mut found);
    for (path, _, is_folder) in found {
        fs::set_permissions(path, Permissions::from_mode(if is_folder { 0o755 } else { 0o644 })).unwrap();
    }
    fs::set_permissions(&image, Permissions::from_mode(0o755)).unwrap();
    image
}

fn lower(root: &Path) {
    let dir = PathBuf::from(std::env::var_os(DIR).unwrap());
    let image = dir.parent().unwrap().join("image");
    for own in [true, false] {
        let mut config = if own { StoreConfig::at(root) } else { StoreConfig::disabled() };
        config.lower = vec![image.clone()];
        let store = Store::open(config);
        assert!(store.is_enabled());
        assert_eq!(store.lower().next().unwrap().1, None);
        let found = store.find(&key()).unwrap();
        assert_eq!((found.entry, found.layer), (entry(), Layer::Lower(0)));
        assert_eq!(store.stats().lower_hits, 1);
    }
}

#[test]
fn a_store_of_the_administrator_is_a_lower_store() {
    let (base, root) = home();
    let image = image(base.path());
    if let Some(fine) = as_user("lower", &root, "077") {
        assert!(fine);
    }
    // The administrator's own word does not make it his: others could have written there.
    fs::set_permissions(&image, Permissions::from_mode(0o777)).unwrap();
    let mut config = StoreConfig::disabled();
    config.lower = vec![image];
    let store = Store::open(config);
    assert!(matches!(store.lower().next().unwrap().1, Some(Disabled::SharedFolder(_))));
    assert!(!store.is_enabled());
}

fn in_namespace(role: &str, mount: &str) {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("mounted");
    fs::create_dir(&dir).unwrap();
    let script = format!("{mount} && exec \"$@\"");
    let output = Command::new("unshare")
        .args(["-Urm", "sh", "-c", &script, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "worker", "--nocapture"])
        .env(ROLE, role)
        .env(DIR, &dir)
        .output();
    let text = match output {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!text.contains("panicked") && !errors.contains("panicked"), "{errors}");
            text
        }
        Err(_) => String::new(),
    };
    if !text.contains("fine") {
        println!("SKIPPED: no name spaces or mounts here");
    }
}

fn numbered(number: u32) -> (Key, Entry) {
    let key = Key::new(Part::new().u32("n", number), Part::new(), Part::new(), Part::new());
    (key, Entry::new().with("spirv", vec![number as u8; 9000]))
}

fn full(dir: &Path) {
    let root = dir.join("cache");
    let store = Store::open(StoreConfig::at(&root));
    let mut published = Vec::new();
    let mut refused = 0;
    for number in 0..60 {
        let (key, entry) = numbered(number);
        match store.put(&key, &entry) {
            Outcome::Published { .. } => published.push(number),
            Outcome::Skipped(Skip::Io(_)) => refused += 1,
            other => panic!("{other:?}"),
        }
        assert_eq!(fs::read_dir(root.join("tmp")).unwrap().count(), 0);
    }
    assert!(refused > 10 && published.len() > 2, "{refused} refused");
    for number in 0..60 {
        let (key, entry) = numbered(number);
        match store.get(&key) {
            Ok(found) => assert_eq!(found, entry),
            Err(_) => assert!(!published.contains(&number)),
        }
    }
    assert_eq!(store.stats().faults, refused);
    // Room again: the next write succeeds.
    store.prune_to(40_000);
    let (key, entry) = numbered(99);
    assert!(store.put(&key, &entry).is_published());
    assert_eq!(store.get(&key), Ok(entry));
}

#[test]
fn a_full_disk_stops_writing_only() {
    in_namespace("full", "mount -t tmpfs -o size=300k none \"$VKFUSE_TEST_DIR\"");
    in_namespace("full", "mount -t tmpfs -o size=9m,nr_inodes=60 none \"$VKFUSE_TEST_DIR\"");
}

fn unwritable(dir: &Path) {
    let root = dir.join("cache");
    let store = Store::open(StoreConfig::at(&root));
    let (key, entry) = numbered(1);
    assert!(store.put(&key, &entry).is_published());
    drop(store);
    let script = "mount -o remount,ro \"$VKFUSE_TEST_DIR\"";
    assert!(Command::new("sh").args(["-c", script]).status().unwrap().success());
    let mut config = StoreConfig::at(&root);
    config.touch_interval = std::time::Duration::ZERO;
    let store = Store::open(config);
    for _ in 0..20 {
        assert_eq!(store.get(&key), Ok(entry.clone()));
    }
    assert!(!store.put(&key, &entry).is_published());
}

#[test]
fn a_file_system_that_can_only_be_read_serves_hits() {
    in_namespace("unwritable", "mount -t tmpfs -o size=1m none \"$VKFUSE_TEST_DIR\"");
}
