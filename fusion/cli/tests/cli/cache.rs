//! `vkfuse cache`: listing, checking and tidying the store that a run filled.

use crate::process::{Finished, command, example, finish, has_device, json, vkfuse};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use vkfuse_cache::{Entry, Key, Part, Store, StoreConfig};

/// All files below `folder` with this extension.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut next = vec![folder.to_owned()];
    while let Some(folder) = next.pop() {
        for entry in fs::read_dir(folder).expect("a readable folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                next.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn a_store_is_listed_checked_and_cleared() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = folder.path().display().to_string();
    let on_store = |args: &[&str]| json(&[&["cache"], args, &["--cache-dir", &dir]].concat());
    assert_eq!(json(&["run", &example("chain.toml"), "--cache-dir", &dir, "--mode", "fused"]).0, 0);

    let (status, list) = on_store(&["ls"]);
    assert_eq!(status, 0);
    let entries = list["entries"].as_array().expect("a list");
    // Two kernels' normal forms, that their modules are valid, and the fused code.
    let of = |name: &str| entries.iter().filter(|entry| entry["sections"][0][0] == name).count();
    assert_eq!((of("form"), of("accepted"), of("spirv"), entries.len()), (2, 2, 1, 5), "{list:#}");
    let key = entries[0]["key"].as_str().expect("a key");
    assert_eq!(entries[0]["defect"], Value::Null);

    let (status, shown) = on_store(&["show", &key[..8]]);
    assert_eq!(status, 0);
    assert_eq!(shown["entry"]["key"], key);
    assert_eq!(on_store(&["stats"]).1["entries"], 5);
    assert_eq!(on_store(&["path"]).1["path"], dir.as_str());
    let (status, same) = on_store(&["explain", key, key]);
    assert_eq!((status, &same["differences"]), (0, &json!([])));
    let (status, sound) = on_store(&["verify"]);
    assert_eq!((status, &sound["checked"], &sound["damaged"]), (0, &json!(5), &json!([])));

    // A damaged entry is found, and harms no run.
    for file in files(folder.path(), "bin") {
        let mut bytes = fs::read(&file).expect("readable");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&file, bytes).expect("writable");
    }
    let (status, damaged) = on_store(&["verify"]);
    assert_eq!((status, damaged["damaged"].as_array().map(Vec::len)), (1, Some(5)), "{damaged:#}");
    let (status, run) = json(&["run", &example("chain.toml"), "--cache-dir", &dir]);
    assert_eq!((status, &run["cache"]["disk"]), (0, &json!("miss")));

    assert_eq!(on_store(&["clear"]).0, 0);
    assert_eq!(on_store(&["ls"]).1["entries"], json!([]));
}

#[test]
fn a_store_that_is_not_there_is_empty_and_not_made() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = folder.path().join("none");
    let name = dir.display().to_string();
    let (status, list) = json(&["cache", "ls", "--cache-dir", &name]);
    assert_eq!((status, &list["entries"]), (0, &json!([])));
    assert!(!dir.exists());
    let finished = vkfuse(&["cache", "show", "12", "--cache-dir", &name]);
    assert_eq!(finished.status, 2);
    let finished = vkfuse(&["cache", "prune", "--to", "many", "--cache-dir", &name]);
    assert_eq!(finished.status, 2);
    assert!(finished.stderr.contains("many"), "{}", finished.stderr);
}

#[test]
fn lists_are_built_ahead_explained_and_compared() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = folder.path().display().to_string();
    let on_store = |args: &[&str]| json(&[&["cache"], args, &["--cache-dir", &dir]].concat());
    let (chain, other) = (example("chain.toml"), example("softmax.toml"));

    // Nothing is there, and nothing is like it.
    let (status, cold) = on_store(&["explain", &chain]);
    assert_eq!(status, 0, "{cold:#}");
    let step = &cold["lists"][0][0];
    assert_eq!((&step["levels"]["code"], &step["code_miss"]), (&json!(false), &json!("not stored")));
    assert_eq!(step["nearest"], Value::Null);
    let names = |list: &Value| -> Vec<String> {
        let list = list.as_array().expect("a list").iter();
        list.map(|field| field["name"].as_str().expect("a name").to_owned()).collect()
    };
    let ingredients = names(&step["ingredients"]);
    for wanted in ["kernel 0", "recipe", "code version", "shared bytes", "strict floats"] {
        assert!(ingredients.iter().any(|name| name == wanted), "no {wanted} in {ingredients:?}");
    }
    assert!(names(&step["driver"]).iter().any(|name| name == "pipelineCacheUUID"));
    assert_eq!(on_store(&["ls"]).1["entries"], json!([]), "to explain is not to store");

    let (status, warmed) = on_store(&["warm", &chain]);
    assert_eq!(status, 0, "{warmed:#}");
    let dispatches = warmed["files"][0]["dispatches"].as_u64().expect("a number");
    assert!(dispatches > 0);
    assert_eq!(warmed["files"][0]["built"], dispatches);
    // What was interrupted, or is done, is not done again.
    let (status, again) = on_store(&["warm", &chain, &other, "--jobs", "2"]);
    assert_eq!(status, 0, "{again:#}");
    assert_eq!((&again["files"][0]["built"], &again["files"][0]["stored"]), (&json!(0), &json!(dispatches)));

    let (_, warm) = on_store(&["explain", &chain]);
    assert_eq!(warm["lists"][0][0]["levels"]["code"], true);
    let (status, run) = json(&["run", &chain, "--cache-dir", &dir, "--mode", "fused"]);
    assert_eq!((status, &run["cache"]["disk"]), (0, &json!("hit")));

    let (status, verified) = on_store(&["verify", &chain]);
    assert_eq!((status, &verified["damaged"]), (0, &json!([])));
    // Each dispatch's code, and the normal forms of the two kernels.
    assert_eq!(verified["rebuilt"]["equal"], dispatches + 2);
    assert_eq!(verified["rebuilt"]["different"], 0);

    // Another list says what it lacks to be the nearest one.
    let (_, unlike) = on_store(&["explain", &example("mirror_local.toml")]);
    let nearest = &unlike["lists"][0][0]["nearest"];
    assert!(!nearest["differences"].as_array().expect("a list").is_empty(), "{nearest:#}");

    let finished = vkfuse(&["cache", "warm", "no such file", "--cache-dir", &dir]);
    assert_eq!(finished.status, 2, "{}", finished.stdout);
    assert_eq!(finished.stderr.matches("no such file").count(), 1, "{}", finished.stderr);
    let row: Vec<&str> = finished.stdout.lines().nth(1).unwrap_or_default().split_whitespace().collect();
    assert_eq!(row, ["no", "such", "file", "0", "0", "0", "0", "0", "0"], "{}", finished.stdout);
    let finished = vkfuse(&["cache", "explain", &chain, "--cache-dir", &dir]);
    assert!(finished.stdout.contains("code         found"), "{}", finished.stdout);
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = folder.path().join("none").display().to_string();
    let finished = vkfuse(&["cache", "ls", "--cache-dir", &dir]);
    assert_eq!((finished.status, finished.stdout.as_str()), (0, "0 entries\n"));
    assert!(finished.stderr.contains(&format!("there is no folder {dir}")), "{}", finished.stderr);
    assert!(!std::path::Path::new(&dir).exists());
}

#[test]
#[cfg(not(feature = "remote"))]
fn a_key_takes_the_feature_for_remote_caches() {
    let finished = vkfuse(&["cache", "keygen", "key"]);
    assert_eq!(finished.status, 2);
    assert!(finished.stderr.contains("needs the feature `remote`"), "{}", finished.stderr);
}

#[test]
fn recorded_lists_are_built_elsewhere() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (record, first, second) = (path("lists"), path("first"), path("second"));
    for _ in 0..2 {
        let arguments =
            ["run", &example("chain.toml"), "--mode", "fused", "--cache-dir", &first, "--repeat", "2"];
        let run = finish(command().args(arguments).env("VKFUSE_CACHE_RECORD", &record));
        assert_eq!(run.status, 0, "{}", run.stderr);
    }
    // A process that died while it wrote.
    let whole = fs::read(&record).expect("a recording");
    let torn = [&whole[..], &whole[..whole.len() / 3]].concat();
    fs::write(&record, torn).expect("writable");
    let (status, warmed) = json(&["cache", "warm", &record, "--cache-dir", &second]);
    assert_eq!((status, &warmed["files"][0]["lists"]), (0, &json!(1)), "{warmed:#}");
    assert!(warmed["files"][0]["built"].as_u64() > Some(0));
    let arguments = ["run", &example("chain.toml"), "--mode", "fused", "--cache-dir", &second];
    let (status, run) = json(&arguments);
    assert_eq!((status, &run["cache"]["disk"]), (0, &json!("hit")), "{run:#}");
    let (_, explained) = json(&["cache", "explain", &record, "--cache-dir", &second]);
    assert_eq!(explained["lists"][0][0]["levels"]["code"], true);
}

/// A store with two entries, made without a device.
fn filled(folder: &Path) -> PathBuf {
    let dir = folder.join("store");
    let store = Store::open(StoreConfig::at(&dir));
    for number in 0..2 {
        let key = Key::new(Part::new().u32("n", number), Part::new(), Part::new(), Part::new());
        assert!(store.put(&key, &Entry::new().with("spirv", [1; 100])).is_published());
    }
    dir
}

/// Runs a shell script as the administrator of a name space of its own, in which it may mount; the command is `$VKFUSE`.
/// `None`, which is said, where that is not possible.
fn in_namespace(script: &str, dir: &Path) -> Option<Finished> {
    let unshare = |script: &str| {
        let mut unshare = Command::new("unshare");
        unshare
            .args(["-Urm", "sh", "-c", script])
            .env("DIR", dir)
            .env("VKFUSE", env!("CARGO_BIN_EXE_vkfuse"));
        unshare
    };
    let possible = unshare("mount -t tmpfs none /mnt").output();
    if !possible.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: no name spaces or mounts here");
        return None;
    }
    Some(finish(&mut unshare(script)))
}

/// Asserts that a command ended with status 2 and one message that has these words.
fn assert_nothing_done(finished: &Finished, words: &[&str]) {
    assert_eq!((finished.status, finished.stdout.as_str()), (2, ""), "{}", finished.stderr);
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    for word in words {
        assert!(finished.stderr.contains(word), "no \"{word}\" in {}", finished.stderr);
    }
}

#[test]
fn a_held_lock_is_not_success() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = filled(folder.path());
    let name = dir.display().to_string();
    let lock = fs::File::open(dir.join("lock")).expect("the lock");
    lock.lock().expect("a free lock");
    for action in [&["clear"] as &[&str], &["prune", "--to", "1K"], &["clear", "--json"]] {
        let finished = vkfuse(&[&["cache"], action, &["--cache-dir", &name]].concat());
        assert_nothing_done(&finished, &["nothing was removed", "lock"]);
    }
    assert_nothing_done(&vkfuse(&["cache", "forgive", "--cache-dir", &name]), &["forgiven", "lock"]);
    // There is nothing that would have to go.
    assert_eq!(vkfuse(&["cache", "prune", "--to", "1G", "--cache-dir", &name]).status, 0);
    drop(lock);
    let (status, cleared) = json(&["cache", "clear", "--cache-dir", &name]);
    assert_eq!((status, &cleared["removed_files"], &cleared["complete"]), (0, &json!(2), &json!(true)));
    assert_eq!((&cleared["left_bytes"], &cleared["problem"]), (&json!(0), &Value::Null));
    let (status, forgiven) = json(&["cache", "forgive", "--cache-dir", &name]);
    assert_eq!((status, &forgiven["forgiven"]), (0, &json!(0)));
}

#[test]
fn no_size_is_no_size() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = filled(folder.path());
    for size in ["", " ", "-1", "1X", "."] {
        let to = format!("--to={size}");
        let finished = vkfuse(&["cache", "prune", &to, "--cache-dir", &dir.display().to_string()]);
        assert_nothing_done(&finished, &["is not a size"]);
    }
    assert_eq!(Store::open(StoreConfig::at(&dir)).usage().entries, 2);
}

#[test]
fn a_cache_that_is_switched_off_is_not_tidied() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = filled(folder.path());
    let off = |args: &[&str]| {
        let mut command = command();
        finish(command.args(args).env("VKFUSE_CACHE_PERSISTENT", "0").env("VKFUSE_CACHE_DIR", &dir))
    };
    for action in
        [&["clear"] as &[&str], &["prune", "--to", "0"], &["ls"], &["stats"], &["verify"], &["forgive"]]
    {
        assert_nothing_done(&off(&[&["cache"], action].concat()), &["switched off"]);
    }
    if has_device() {
        assert_nothing_done(&off(&["cache", "warm", &example("chain.toml")]), &["stored", "switched off"]);
    }
    assert_eq!(Store::open(StoreConfig::at(&dir)).usage().entries, 2);
    // A folder that is named is meant.
    let finished = off(&["cache", "clear", "--cache-dir", &dir.display().to_string()]);
    assert_eq!(finished.status, 0, "{}", finished.stderr);
    assert_eq!(Store::open(StoreConfig::at(&dir)).usage().entries, 0);
}

#[test]
fn what_cannot_be_removed_is_said() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = filled(folder.path());
    let script = "mount --bind \"$DIR\" \"$DIR\" && mount -o remount,ro,bind \"$DIR\" && \
                  exec \"$VKFUSE\" cache clear --cache-dir \"$DIR\"";
    let Some(finished) = in_namespace(script, &dir) else { return };
    assert_nothing_done(&finished, &["nothing was removed", "read-only"]);
    // One file of an entry stays.
    let script = "file=$(find \"$DIR\" -name '*.0.bin' | head -n 1); mount --bind \"$file\" \"$file\" && \
                  exec \"$VKFUSE\" cache clear --json --cache-dir \"$DIR\"";
    let finished = in_namespace(script, &dir).expect("it was possible before");
    assert_eq!(finished.status, 1, "{}{}", finished.stdout, finished.stderr);
    let report: Value = serde_json::from_str(&finished.stdout).expect("an object");
    assert_eq!((&report["removed_files"], &report["kept_files"]), (&json!(1), &json!(1)), "{report:#}");
    assert_eq!(report["complete"], false);
    assert!(report["problem"].as_str().is_some_and(|problem| problem.contains("remove")), "{report:#}");
}

/// Code is made with robust access or without. The option says which, or the file.
#[test]
fn code_with_robust_access_is_built_ahead_looked_up_and_compared() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let chain = example("chain.toml");
    // The same list, whose file says so.
    let said = folder.path().join("said.toml").display().to_string();
    let text = fs::read_to_string(&chain).expect("the example");
    let shaders = Path::new(&chain).parent().expect("a folder").join("../../shaders");
    let text = text.replace("../../shaders", &shaders.display().to_string());
    fs::write(&said, text.replace("[fusion]\n", "[fusion]\nrobust = true\n")).expect("writable");
    for (file, option) in [(&chain, &["--robust"][..]), (&said, &[])] {
        let store = tempfile::tempdir().expect("a temporary folder");
        let dir = store.path().display().to_string();
        let cache = |action: &str, file: &str, option: &[&str]| {
            let (status, report) = json(&[&["cache", action, file, "--cache-dir", &dir], option].concat());
            assert_eq!(status, 0, "{action}: {report:#}");
            report
        };
        let is_stored = |file: &str, option: &[&str]| {
            let report = cache("explain", file, option);
            let step = &report["lists"][0][0];
            let ingredients = step["ingredients"].as_array().expect("a list");
            let robust = ingredients.iter().find(|one| one["name"] == "robust buffer access");
            (robust.expect("it is one")["value"].clone(), step["levels"]["code"].clone())
        };
        assert_eq!(is_stored(file, option), (json!("true"), json!(false)));
        let warmed = cache("warm", file, option);
        assert_eq!(warmed["files"][0]["kept"], warmed["files"][0]["dispatches"], "{warmed:#}");
        assert_eq!(is_stored(file, option), (json!("true"), json!(true)));
        assert_eq!(is_stored(&chain, &[]), (json!("false"), json!(false)));
        let (status, run) = json(&[&["run", file, "--cache-dir", &dir], option].concat());
        assert_eq!((status, &run["cache"]["disk"]), (0, &json!("hit")), "{run:#}");
        // Code, and what is compared with it, is of one kind: of the other one nothing is stored.
        let verified = cache("verify", file, option);
        assert!(verified["rebuilt"]["equal"].as_u64() > Some(0), "{verified:#}");
    }
    // Both kinds at once.
    let store = tempfile::tempdir().expect("a temporary folder");
    let dir = store.path().display().to_string();
    let (status, both) = json(&["cache", "warm", &chain, &said, "--cache-dir", &dir]);
    assert_eq!(status, 0, "{both:#}");
    for file in 0..2 {
        assert!(both["files"][file]["built"].as_u64() > Some(0), "{both:#}");
    }
    let keys = vkfuse(&["cache", "explain", "12", "34", "--robust", "--cache-dir", &dir]);
    assert!(keys.status == 2 && keys.stderr.contains("--robust"), "{}", keys.stderr);
}

#[test]
fn to_warm_counts_what_is_stored() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = folder.path().join("store");
    let name = dir.display().to_string();
    let chain = example("chain.toml");
    // Room for nothing.
    let arguments = ["cache", "warm", &chain, "--json", "--cache-dir", &name];
    let finished = finish(command().args(arguments).env("VKFUSE_CACHE_MAX_SIZE", "1"));
    assert_eq!(finished.status, 1, "{}{}", finished.stdout, finished.stderr);
    let report: Value = serde_json::from_str(&finished.stdout).expect("an object");
    let file = &report["files"][0];
    assert!(file["dispatches"].as_u64() > Some(0));
    assert_eq!((&file["kept"], &file["errors"]), (&json!(0), &json!([])), "{report:#}");
    assert!(report["not_written"][0]["reason"].as_str().is_some_and(|reason| reason.contains("limit")));
    let finished =
        finish(command().args(&arguments[..3]).args(&arguments[4..]).env("VKFUSE_CACHE_MAX_SIZE", "1"));
    assert!(finished.stdout.contains("is not stored"), "{}", finished.stdout);
    // Room for everything.
    let (status, report) = json(&["cache", "warm", &chain, "--cache-dir", &name]);
    assert_eq!((status, &report["not_written"]), (0, &json!([])), "{report:#}");
    assert_eq!(report["files"][0]["kept"], report["files"][0]["dispatches"]);
    // A disk that can only be read, and one that is full.
    fs::remove_dir_all(&dir).expect("removable");
    fs::create_dir(&dir).expect("writable");
    for mount in [
        "mount -t tmpfs none \"$DIR\" && \"$VKFUSE\" cache warm \"$CHAIN\" --cache-dir \"$DIR/store\" >/dev/null && \
         \"$VKFUSE\" cache clear --cache-dir \"$DIR/store\" >/dev/null && mount -o remount,ro \"$DIR\"",
        "mount -t tmpfs -o size=8k none \"$DIR\"",
    ] {
        let script = format!(
            "CHAIN='{chain}'; {mount} && exec \"$VKFUSE\" cache warm \"$CHAIN\" --json --cache-dir \"$DIR/store\""
        );
        let Some(finished) = in_namespace(&script, &dir) else { return };
        assert_eq!(finished.status, 1, "{}{}", finished.stdout, finished.stderr);
        let report: Value = serde_json::from_str(&finished.stdout).expect("an object");
        assert_eq!(report["files"][0]["kept"], 0, "{report:#}");
        assert_ne!(report["not_written"], json!([]));
    }
}

/// The warnings on a command's standard error.
fn warnings(finished: &Finished) -> Vec<&str> {
    finished.stderr.lines().filter(|line| line.trim_start().starts_with("WARN")).collect()
}

#[test]
fn a_cache_that_is_off_is_said_once_with_what_would_help() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("file"), "no folder").expect("writable");
    std::os::unix::fs::symlink(folder.path(), path("link")).expect("possible");
    let run = |settings: &[(&str, &str)], more: &[&str]| {
        let mut command = command();
        command.args(["run", &example("chain.toml"), "--mode", "fused"]).args(more);
        let finished = finish(command.env("VKFUSE_CACHE_DIR", path("store")).envs(settings.iter().copied()));
        assert_eq!(finished.status, 0, "{}", finished.stderr);
        finished
    };
    // All is well, or as it was asked for.
    assert_eq!(run(&[], &[]).stderr, "");
    assert_eq!(run(&[("VKFUSE_CACHE_PERSISTENT", "0"), ("VKFUSE_CACHE_DIR", "/dev/null/x")], &[]).stderr, "");
    assert_eq!(run(&[("VKFUSE_CACHE_DIR", "/dev/null/x")], &["--no-cache"]).stderr, "");
    for (variable, value, words) in [
        ("VKFUSE_CACHE_DIR", "/dev/null/x", "cannot be used"),
        ("VKFUSE_CACHE_DIR", &*path("file"), "not a folder"),
        ("VKFUSE_CACHE_DIR", &*path("link"), "name the folder itself"),
        ("VKFUSE_CACHE_DIR", "not/absolute", "not an absolute path"),
        ("VKFUSE_CACHE_MAX_SIZE", "much", "512M"),
        ("VKFUSE_CACHE_MAX_AGE", "soon", "30d"),
        ("VKFUSE_CACHE_PERSISTENT", "maybe", "neither 0 nor 1"),
        ("VKFUSE_CACHE_VERIFY", "2", "neither 0 nor 1"),
        ("VKFUSE_CACHE_RECORD", "/dev/null/x", "no fused list can be recorded"),
        ("VKFUSE_LOG", "vkfuse=loud", "VKFUSE_LOG is left out"),
        ("VKFUSE_LOG", "loud", "VKFUSE_LOG is left out: loud is no level"),
    ] {
        let finished = run(&[(variable, value)], &["--repeat", "3"]);
        let said = warnings(&finished);
        assert_eq!((said.len(), finished.stderr.lines().count()), (1, 1), "{variable}: {}", finished.stderr);
        assert!(said[0].contains(words) && said[0].contains("VKFUSE_"), "{}", said[0]);
    }
    // The command that looks at the cache says so too.
    let finished = finish(
        command()
            .args(["cache", "stats"])
            .envs([("VKFUSE_CACHE_DIR", &*path("store")), ("VKFUSE_CACHE_MAX_SIZE", "much")]),
    );
    assert_eq!((finished.status, warnings(&finished).len()), (0, 1), "{}", finished.stderr);
    for name in ["file", "link"] {
        let finished = finish(command().args(["cache", "ls"]).env("VKFUSE_CACHE_DIR", path(name)));
        assert_nothing_done(&finished, &["cannot be used", "name the folder itself"]);
    }
}

#[test]
fn a_cache_that_cannot_be_written_is_said_once() {
    if !has_device() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let chain = example("chain.toml");
    let script = format!(
        "mount -t tmpfs -o size=8k none \"$DIR\" && exec \"$VKFUSE\" run '{chain}' --cache-dir \"$DIR/store\" --json"
    );
    let Some(finished) = in_namespace(&script, folder.path()) else { return };
    assert_eq!(finished.status, 0, "{}", finished.stderr);
    assert_eq!((warnings(&finished).len(), finished.stderr.lines().count()), (1, 1), "{}", finished.stderr);
    assert!(finished.stderr.contains("cannot be written"), "{}", finished.stderr);
}

#[test]
fn entries_are_carried_to_another_store_and_removed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (from, to, file) = (path("from"), path("to"), path("pack"));
    let store = Store::open(StoreConfig::at(&from));
    let (driver, other) = (Part::new().str("driver", "mock"), Part::new());
    let module =
        fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shaders/chain/mul.spv")).expect("readable");
    let put = |store: &Store, number: u32, module: &[u8]| {
        let key = Key::new(Part::new().u32("number", number), other.clone(), other.clone(), other.clone());
        assert!(store.put(&key, &Entry::new().with("spirv", module)).is_published());
        assert!(store.put_blob(&key, &driver, &[1, 2, 3]).is_published());
    };
    (0..3).for_each(|number| put(&store, number, &module));
    drop(store);
    let (status, done) = json(&["cache", "export", &file, "--driver-blobs", "--cache-dir", &from]);
    assert_eq!((status, &done["entries"], &done["driver_blobs"]), (0, &json!(3), &json!(3)));
    let (status, done) = json(&["cache", "import", &file, "--cache-dir", &to]);
    let counts = (&done["entries"], &done["driver_blobs"], &done["driver_blobs_left_out"]);
    assert_eq!((status, counts), (0, (&json!(3), &json!(0), &json!(3))));
    let (status, done) = json(&["cache", "import", &file, "--driver-blobs", "--cache-dir", &to]);
    assert_eq!((status, &done["driver_blobs"], &done["complete"]), (0, &json!(3), &json!(true)));

    let list = json(&["cache", "ls", "--cache-dir", &to]).1;
    let keys: Vec<&str> =
        list["entries"].as_array().expect("a list").iter().filter_map(|e| e["key"].as_str()).collect();
    assert_eq!(keys.len(), 3);
    let (status, done) = json(&["cache", "export", &path("one"), keys[0], "--cache-dir", &to]);
    assert_eq!((status, &done["entries"]), (0, &json!(1)));
    let (status, done) = json(&["cache", "rm", keys[0], &keys[1][..20], "--cache-dir", &to]);
    assert_eq!((status, done["removed"].as_array().map(Vec::len)), (0, Some(2)));
    assert_eq!(json(&["cache", "stats", "--cache-dir", &to]).1["entries"], 1);
    // What is not there is said, and then nothing is removed.
    let gone = vkfuse(&["cache", "rm", keys[2], keys[0], "--cache-dir", &to]);
    assert_eq!(gone.status, 2, "{}", gone.stderr);
    assert_eq!(json(&["cache", "stats", "--cache-dir", &to]).1["entries"], 1);

    // Sound records of modules that no validator accepts, or of nothing that this program knows, are left out.
    let store = Store::open(StoreConfig::at(path("rotten")));
    put(&store, 1, &module);
    let mut rotten = module.clone();
    let middle = rotten.len() / 8 * 4;
    rotten[middle..middle + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    put(&store, 2, &rotten);
    let key = Key::new(Part::new().u32("number", 3), other.clone(), other.clone(), other.clone());
    assert!(store.put(&key, &Entry::new().with("form", [7; 100])).is_published());
    drop(store);
    let (status, _) =
        json(&["cache", "export", &path("rot"), "--driver-blobs", "--cache-dir", &path("rotten")]);
    assert_eq!(status, 0);
    let (status, done) =
        json(&["cache", "import", &path("rot"), "--driver-blobs", "--cache-dir", &path("fourth")]);
    assert_eq!((status, &done["entries"], &done["driver_blobs"]), (1, &json!(1), &json!(1)));
    assert_eq!(
        (&done["invalid"], &done["damaged"], &done["complete"]),
        (&json!(3), &json!(0), &json!(false))
    );

    // A file that is cut off gives what it has, and says so; one that is something else gives nothing.
    let bytes = fs::read(&file).expect("readable");
    fs::write(path("cut"), &bytes[..bytes.len() - 40]).expect("writable");
    let (status, done) = json(&["cache", "import", &path("cut"), "--cache-dir", &path("third")]);
    assert_eq!((status, &done["complete"]), (1, &json!(false)));
    assert!(done["problem"].as_str().is_some_and(|problem| problem.contains("cut off")), "{done:#}");
    fs::write(path("text"), "not a pack").expect("writable");
    let refused = vkfuse(&["cache", "import", &path("text"), "--cache-dir", &to]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("export"), "{}", refused.stderr);
}
