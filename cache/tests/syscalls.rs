//! A process is killed at every system call of what the store does, and every system call fails.
//!
//! `src/store/tests/crash.rs` does the same to the operations of the store's own seam; here the kernel
//! does it, by way of `strace`, so that nothing rests on the seam being true. The test runs itself
//! again as the worker. One thread, hence no test harness: the calls are counted.
//!
//! The quick version kills at every third call and lets some fail; `VKFUSE_LONG_TESTS=1` all of them.

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
#[path = "processes/payload.rs"]
#[allow(dead_code, reason = "the other test needs more of it")]
mod payload;

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::fs;
    use std::os::unix::process::ExitStatusExt;
    use std::path::{Path, PathBuf};
    use std::process::{Command, ExitStatus};
    use std::time::{Duration, UNIX_EPOCH};

    use vkfuse_cache::{Disabled, Miss, Part, Store};

    use crate::payload::{config, is_right, key, payload};

    const ROLE: &str = "VKFUSE_TEST_ROLE";
    const DIR: &str = "VKFUSE_TEST_DIR";
    /// Looked up before and after what is tested, to be found again in the list of calls.
    const BEGIN: &str = "/vkfuse-begin";
    const END: &str = "/vkfuse-end";
    const OLD: [u64; 3] = [1, 2, 3];

    struct Scenario {
        name: &'static str,
        /// Bytes of the store; 0 is no limit.
        limit: u64,
        /// Whether old entries may be gone afterwards.
        evicts: bool,
    }

    const SCENARIOS: [Scenario; 9] = [
        Scenario { name: "first-open", limit: 0, evicts: true },
        Scenario { name: "open", limit: 0, evicts: false },
        Scenario { name: "put", limit: 0, evicts: false },
        Scenario { name: "overwrite", limit: 0, evicts: false },
        Scenario { name: "hit", limit: 0, evicts: false },
        Scenario { name: "evict", limit: 90_000, evicts: true },
        Scenario { name: "blob", limit: 0, evicts: false },
        Scenario { name: "sweep", limit: 0, evicts: false },
        Scenario { name: "clear", limit: 0, evicts: true },
    ];

    fn is_long() -> bool {
        std::env::var_os("VKFUSE_LONG_TESTS").is_some()
    }

    pub(super) fn main() {
        if let (Ok(role), Some(dir)) = (std::env::var(ROLE), std::env::var_os(DIR)) {
            return work(&role, &PathBuf::from(dir));
        }
        // As the usual harness does: words that are no switches choose tests by name.
        let mut words = std::env::args().skip(1).filter(|word| !word.starts_with('-')).peekable();
        if words.peek().is_some() && !words.any(|word| "syscalls".contains(&word)) {
            return;
        }
        let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).status();
        if !traced.is_ok_and(|status| status.success()) {
            println!("SKIPPED: no strace, or it may not trace");
            return;
        }
        let (mut kills, mut faults) = (0, 0);
        for scenario in &SCENARIOS {
            let (killed, failed) = all_points(scenario);
            println!("{}: {killed} kills, {failed} failing calls", scenario.name);
            kills += killed;
            faults += failed;
        }
        let refusals = without_locks();
        println!("{refusals} runs without locks");
        println!("{kills} kills at system calls, {faults} failing system calls: nothing lost, nothing wrong");
        assert!(kills > if is_long() { 500 } else { 150 } && faults > 20, "{kills} kills, {faults} faults");
    }

    /// The worker.
    fn work(role: &str, dir: &Path) {
        if role.ends_with("without-locks") {
            put_without_locks(dir, role == "forced-without-locks");
        }
        let limit = SCENARIOS.iter().find(|scenario| scenario.name == role).map_or(0, |found| found.limit);
        let opens = matches!(role, "first-open" | "open");
        let mut store = (!opens).then(|| Store::open(config(dir, limit)));
        let _ = fs::metadata(BEGIN);
        let opened = store.take().unwrap_or_else(|| Store::open(config(dir, limit)));
        match role {
            "put" | "evict" => drop(opened.put(&key(4), &payload(4, 1, 5000))),
            "overwrite" => drop(opened.put(&key(2), &payload(2, 9, 5000))),
            "hit" => drop(opened.get(&key(2))),
            "blob" => {
                let driver = Part::new().u32("driver", 1);
                let _ = opened.put_blob(&key(1), &driver, b"blob of 1");
                drop(opened.begin_load(&key(1), &driver));
            }
            "sweep" => drop(opened.sweep()),
            "clear" => drop(opened.clear()),
            _ => {}
        }
        drop(opened);
        let _ = fs::metadata(END);
    }

    /// A store with something in it, and a left-over of a process that died.
    fn prepare(scenario: &Scenario, dir: &Path) {
        let _ = fs::remove_dir_all(dir);
        if scenario.name == "first-open" {
            return;
        }
        let store = Store::open(config(dir, scenario.limit));
        for number in OLD {
            assert!(store.put(&key(number), &payload(number, 1, 5000)).is_published());
        }
        drop(store);
        let old = UNIX_EPOCH + Duration::from_secs(1_600_000_000);
        let left = fs::File::create(dir.join("tmp/0123456789abcdef0123456789abcdef")).unwrap();
        left.set_modified(old).unwrap();
    }

    fn run(scenario: &Scenario, dir: &Path, log: &Path, words: &[String]) -> ExitStatus {
        Command::new("strace")
            .args(["-qq", "-o", log.to_str().unwrap()])
            .args(words)
            .arg(std::env::current_exe().unwrap())
            .env(ROLE, scenario.name)
            .env(DIR, dir)
            .status()
            .unwrap()
    }

    /// How often each call is made before and until the end of what is tested.
    fn calls(log: &Path) -> BTreeMap<String, (usize, usize)> {
        let text = fs::read_to_string(log).unwrap();
        let mut calls: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        let mut inside = false;
        let mut markers = 0;
        for line in text.lines() {
            markers += usize::from(line.contains(BEGIN) || line.contains(END));
            let Some((name, _)) = line.split_once('(') else {
                continue;
            };
            if markers < 2 {
                let counts = calls.entry(name.to_owned()).or_default();
                counts.1 += 1;
                counts.0 += usize::from(!inside);
            }
            inside |= line.contains(BEGIN);
        }
        assert_eq!(markers, 2, "{text}");
        calls
    }

    /// Whether a call is one that a file system can let fail. To fail to close is to have closed.
    fn is_about_files(name: &str) -> bool {
        const PARTS: [&str; 14] = [
            "open", "stat", "read", "write", "mkdir", "chmod", "rename", "unlink", "flock", "utimens",
            "getdents", "sync", "lseek", "fcntl",
        ];
        PARTS.iter().any(|part| name.contains(part))
    }

    fn all_points(scenario: &Scenario) -> (usize, usize) {
        let base = tempfile::tempdir().unwrap();
        let (dir, log) = (base.path().join("cache"), base.path().join("calls"));
        prepare(scenario, &dir);
        assert!(run(scenario, &dir, &log, &[]).success());
        check(scenario, &dir, scenario.name);
        let long = is_long();
        let (mut kills, mut faults, mut nth) = (0, 0, 0);
        for (name, (before, until)) in calls(&log) {
            for at in before + 1..=until {
                nth += 1;
                if !long && nth % 3 != 0 {
                    continue;
                }
                let point = |what: &str| {
                    prepare(scenario, &dir);
                    let inject = format!("inject={name}:{what}:when={at}");
                    let words = ["-e".to_owned(), format!("trace={name}"), "-e".to_owned(), inject];
                    let status = run(scenario, &dir, &log, &words);
                    let when = format!("{}: {what} at {name} {at}", scenario.name);
                    (status, when)
                };
                let (status, when) = point("signal=SIGKILL");
                // A slow machine evicts in more batches, with more calls, than a quick one.
                let was_reached = status.signal() == Some(9);
                assert!(was_reached || (scenario.evicts && status.success()), "{status}, {when}");
                check(scenario, &dir, &when);
                kills += usize::from(was_reached);
                if !is_about_files(&name) || !(long || nth % 4 == 0) {
                    continue;
                }
                let codes: &[&str] = if long { &["ENOSPC", "EIO", "EINTR"] } else { &["ENOSPC"] };
                for code in codes {
                    let (status, when) = point(&format!("error={code}"));
                    // A failing call is no one's error: the worker goes on.
                    assert!(status.success(), "{status}, {when}");
                    check(scenario, &dir, &when);
                    faults += 1;
                }
            }
        }
        (kills, faults)
    }

    /// A file system without locks: the store is off and says so, or where that is asked for, publishes
    /// without them and never evicts. Either way no one waits and nothing is lost.
    fn without_locks() -> usize {
        let base = tempfile::tempdir().unwrap();
        let (dir, log) = (base.path().join("cache"), base.path().join("calls"));
        let mut runs = 0;
        for code in ["ENOLCK", "ENOSYS", "EOPNOTSUPP", "EINVAL"] {
            for (role, published) in [("without-locks", false), ("forced-without-locks", true)] {
                let scenario = Scenario { name: role, limit: 0, evicts: false };
                prepare(&scenario, &dir);
                let words = ["-e", "trace=flock", "-e", &format!("inject=flock:error={code}")];
                let status = run(&scenario, &dir, &log, &words.map(str::to_owned));
                assert_eq!(status.code(), Some(if published { 10 } else { 11 }), "{role}, {code}");
                // Without locks nothing is counted; the next process that has them does it.
                if published {
                    Store::open(config(&dir, 0)).prune_to(u64::MAX);
                }
                check(&scenario, &dir, &format!("{role}, {code}"));
                runs += 1;
            }
        }
        runs
    }

    /// Ends the worker with what became of a write.
    fn put_without_locks(dir: &Path, forced: bool) -> ! {
        let mut config = config(dir, 0);
        config.allow_network = forced;
        let store = Store::open(config);
        assert_eq!(matches!(store.disabled_reason(), Some(Disabled::NoLocks(_))), !forced);
        let is_published = store.put(&key(4), &payload(4, 1, 5000)).is_published();
        assert_eq!(store.get(&key(4)).is_ok(), is_published);
        drop(store);
        std::process::exit(if is_published { 10 } else { 11 });
    }

    /// What must hold after whatever has happened, for the next process.
    fn check(scenario: &Scenario, dir: &Path, when: &str) {
        let store = Store::open(config(dir, scenario.limit));
        assert_eq!(store.disabled_reason(), None, "{when}");
        assert_eq!(fs::read_dir(dir.join("tmp")).unwrap().count(), 0, "temporary files, {when}");
        let usage = store.usage();
        assert!(usage.recorded.is_none_or(|bytes| bytes >= usage.bytes), "record too low, {when}");
        for number in OLD {
            match store.get(&key(number)) {
                Ok(entry) => assert!(is_right(number, &entry), "wrong {number}, {when}"),
                Err(miss) => {
                    assert!(scenario.evicts, "lost {number}: {miss}, {when}");
                    assert!(matches!(miss, Miss::Absent | Miss::Incomplete), "torn {number}: {miss}, {when}");
                }
            }
        }
        for number in [4, 2] {
            if let Ok(entry) = store.get(&key(number)) {
                assert!(is_right(number, &entry), "wrong {number}, {when}");
            }
            let entry = payload(number, 5, 5000);
            assert!(store.put(&key(number), &entry).is_published(), "{when}");
            assert_eq!(store.get(&key(number)), Ok(entry), "{when}");
        }
        let usage = store.usage();
        assert!(scenario.limit == 0 || usage.bytes <= scenario.limit, "{} bytes, {when}", usage.bytes);
        let pruned = store.prune_to(u64::MAX);
        let usage = store.usage();
        assert_eq!((pruned.files, usage.recorded), (0, Some(usage.bytes)), "{when}");
    }
}
