//! What settings mean: explicit values, every form of a variable, and what is left out.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::time::Duration;

use vkfuse_cache::{CacheOptions, Disabled, Resolved};

const GIB: u64 = 1 << 30;

fn resolve(variables: &[(&str, &str)]) -> Resolved {
    CacheOptions::default().resolve(|name| {
        let found = variables.iter().find(|(other, _)| *other == name);
        found.map(|(_, value)| OsString::from(value))
    })
}

fn folder(variables: &[(&str, &str)]) -> (Option<String>, usize) {
    let resolved = resolve(variables);
    let dir = resolved.store.dir.map(|dir| dir.display().to_string());
    (dir, resolved.warnings.len())
}

/// Variables, the folder they mean, and how many of them are left out.
type Case<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>, usize);

#[test]
fn folders() {
    let long = format!("/{}", "x".repeat(5000));
    let cases: &[Case<'_>] = &[
        (&[], None, 0),
        (&[("HOME", "/home/a")], Some("/home/a/.cache/vkfuse"), 0),
        (&[("HOME", "")], None, 0),
        (&[("HOME", "home")], None, 1),
        (&[("HOME", "/nonexistent")], Some("/nonexistent/.cache/vkfuse"), 0),
        (&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")], Some("/x/vkfuse"), 0),
        (&[("HOME", "/h"), ("XDG_CACHE_HOME", "")], Some("/h/.cache/vkfuse"), 0),
        (&[("HOME", "/h"), ("XDG_CACHE_HOME", "x")], Some("/h/.cache/vkfuse"), 1),
        (&[("XDG_CACHE_HOME", "/x")], Some("/x/vkfuse"), 0),
        (&[("XDG_CACHE_HOME", "/x"), ("VKFUSE_CACHE_DIR", "/d")], Some("/d"), 0),
        (&[("XDG_CACHE_HOME", "/x"), ("VKFUSE_CACHE_DIR", "d")], Some("/x/vkfuse"), 1),
        (&[("XDG_CACHE_HOME", "/x"), ("VKFUSE_CACHE_DIR", ".")], Some("/x/vkfuse"), 1),
        (&[("XDG_CACHE_HOME", "/x"), ("VKFUSE_CACHE_DIR", "")], Some("/x/vkfuse"), 0),
        (&[("VKFUSE_CACHE_DIR", &long)], None, 1),
        (&[("VKFUSE_CACHE_DIR", "/d"), ("VKFUSE_CACHE_PERSISTENT", "0")], None, 0),
        (&[("VKFUSE_CACHE_DIR", "/d"), ("VKFUSE_CACHE_PERSISTENT", "1")], Some("/d"), 0),
        (&[("VKFUSE_CACHE_DIR", "/d"), ("VKFUSE_CACHE_PERSISTENT", "off")], None, 0),
        (&[("VKFUSE_CACHE_DIR", "/d"), ("VKFUSE_CACHE_PERSISTENT", "2")], Some("/d"), 1),
        (&[("VKFUSE_CACHE_DIR", "/d"), ("VKFUSE_CACHE_PERSISTENT", "")], Some("/d"), 0),
    ];
    for (variables, expected, warnings) in cases {
        let expected = (expected.map(str::to_owned), *warnings);
        assert_eq!(folder(variables), expected, "{variables:?}");
    }
    assert_eq!(resolve(&[]).store.off, Some(Disabled::NoFolder));
    let off = resolve(&[("HOME", "/h"), ("VKFUSE_CACHE_PERSISTENT", "0")]);
    assert_eq!(off.store.off, Some(Disabled::Asked));
}

#[test]
fn folders_need_not_be_utf8_but_switches_do() {
    let strange = OsString::from_vec(vec![b'/', 0xff, 0xfe]);
    let resolved = CacheOptions::default().resolve(|name| match name {
        "VKFUSE_CACHE_DIR" | "VKFUSE_CACHE_MAX_SIZE" => Some(strange.clone()),
        _ => None,
    });
    assert_eq!(resolved.store.dir.as_deref(), Some(Path::new(&strange)));
    assert_eq!(resolved.store.max_size, GIB);
    assert_eq!(resolved.warnings.len(), 1);
}

#[test]
fn sizes() {
    let cases: &[(&str, Option<u64>)] = &[
        ("0", Some(0)),
        ("1", Some(1)),
        ("4096", Some(4096)),
        ("1K", Some(1024)),
        ("1k", Some(1024)),
        ("1KB", Some(1024)),
        ("1KiB", Some(1024)),
        ("12B", Some(12)),
        ("10GB", Some(10 * GIB)),
        ("1G", Some(GIB)),
        ("1.5G", Some(GIB + GIB / 2)),
        ("0.5k", Some(512)),
        (" 512M ", Some(512 << 20)),
        ("512 M", Some(512 << 20)),
        ("2t", Some(2 << 40)),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("99999999999999999999999", None),
        ("16777216T", None),
        ("-1", None),
        ("+1", None),
        ("0x10", None),
        ("1e9", None),
        ("1.", None),
        (".5G", None),
        ("1.5.5G", None),
        ("G", None),
        ("ib", None),
        ("1ib", None),
        ("1P", None),
        ("1 G G", None),
        ("lots", None),
        ("1_000", None),
        ("１２", None),
        ("NaN", None),
    ];
    for (text, expected) in cases {
        let resolved = resolve(&[("VKFUSE_CACHE_MAX_SIZE", text)]);
        assert_eq!(resolved.store.max_size, expected.unwrap_or(GIB), "{text:?}");
        let warnings = usize::from(expected.is_none());
        assert_eq!(resolved.warnings.len(), warnings, "{text:?}");
    }
    assert_eq!(resolve(&[("VKFUSE_CACHE_MAX_SIZE", "")]).store.max_size, GIB);
    let resolved = resolve(&[
        ("VKFUSE_CACHE_MIN_ITEM_SIZE", "1K"),
        ("VKFUSE_CACHE_MAX_ITEM_SIZE", "1M"),
        ("VKFUSE_CACHE_IN_MEM_MAX_SIZE", "64M"),
        ("VKFUSE_CACHE_TRACE", "1"),
    ]);
    assert_eq!(resolved.store.min_item_size, 1024);
    assert_eq!(resolved.store.max_item_size, 1 << 20);
    assert_eq!(resolved.memory.bytes, 64 << 20);
    assert!(resolved.trace && resolved.store.trace);
}

#[test]
fn ages() {
    let cases: &[(&str, Option<u64>)] = &[
        ("60", Some(60)),
        ("60s", Some(60)),
        ("2000ms", Some(2)),
        ("5m", Some(300)),
        ("12h", Some(43_200)),
        ("1.5h", Some(5400)),
        ("30d", Some(2_592_000)),
        ("2 w", Some(1_209_600)),
        ("0", None),
    ];
    for (text, expected) in cases {
        let resolved = resolve(&[("VKFUSE_CACHE_MAX_AGE", text)]);
        assert_eq!(resolved.store.max_age, expected.map(Duration::from_secs), "{text}");
        assert!(resolved.warnings.is_empty());
    }
    for text in ["never", "-1d", "1y", "99999999999999999999w"] {
        let resolved = resolve(&[("VKFUSE_CACHE_MAX_AGE", text)]);
        assert_eq!(resolved.store.max_age, None);
        assert_eq!(resolved.warnings.len(), 1, "{text}");
    }
}

#[test]
fn explicit_values_come_first() {
    let options = CacheOptions {
        persistent: Some(true),
        dir: Some("/mine".into()),
        max_size: Some(5),
        trace: Some(false),
        ..CacheOptions::default()
    };
    let resolved = options.resolve(|_| Some("nonsense".into()));
    assert_eq!(resolved.store.dir.as_deref(), Some(Path::new("/mine")));
    assert_eq!(
        resolved.store.remote.unwrap().url,
        "nonsense",
        "whether it is a URL is found out when it is opened"
    );
    assert_eq!(resolved.store.max_size, 5);
    assert!(!resolved.trace);
    let mut named: Vec<_> = resolved.warnings.iter().map(|warning| warning.variable).collect();
    named.sort_unstable();
    let expected = [
        "VKFUSE_CACHE_ALLOW_NETWORK",
        "VKFUSE_CACHE_CLOSE_WAIT",
        "VKFUSE_CACHE_DURABLE",
        "VKFUSE_CACHE_FAILURE_AGE",
        "VKFUSE_CACHE_IN_MEM_MAX_ENTRIES",
        "VKFUSE_CACHE_IN_MEM_MAX_SIZE",
        "VKFUSE_CACHE_LOCK_TIMEOUT",
        "VKFUSE_CACHE_LOWER",
        "VKFUSE_CACHE_MAX_AGE",
        "VKFUSE_CACHE_MAX_ITEM_SIZE",
        "VKFUSE_CACHE_MIN_ITEM_SIZE",
        "VKFUSE_CACHE_QUARANTINE_AGE",
        "VKFUSE_CACHE_QUEUE_SIZE",
        "VKFUSE_CACHE_REMOTE_READ_ONLY",
        "VKFUSE_CACHE_REMOTE_TIMEOUT",
        "VKFUSE_CACHE_SIGN_KEY",
        "VKFUSE_CACHE_TRUST",
        "VKFUSE_CACHE_WAIT",
    ];
    assert_eq!(named, expected);
    let shown = resolved.warnings[0].to_string();
    assert!(shown.contains("=\"nonsense\" is left out: "), "{shown}");
}

/// Every setting of the environment is one of the program's, too, and the program's comes first.
#[test]
fn every_setting_has_both_ways() {
    let of_environment = resolve(&[
        ("VKFUSE_CACHE_DIR", "/d"),
        ("VKFUSE_CACHE_LOWER", "/a:/b"),
        ("VKFUSE_CACHE_MAX_SIZE", "2M"),
        ("VKFUSE_CACHE_MIN_ITEM_SIZE", "3"),
        ("VKFUSE_CACHE_MAX_ITEM_SIZE", "4"),
        ("VKFUSE_CACHE_MAX_AGE", "5"),
        ("VKFUSE_CACHE_TRACE", "1"),
        ("VKFUSE_CACHE_IN_MEM_MAX_SIZE", "6"),
        ("VKFUSE_CACHE_IN_MEM_MAX_ENTRIES", "7"),
        ("VKFUSE_CACHE_FAILURE_AGE", "8"),
        ("VKFUSE_CACHE_WAIT", "9"),
        ("VKFUSE_CACHE_LOCK_TIMEOUT", "10ms"),
        ("VKFUSE_CACHE_QUARANTINE_AGE", "11"),
        ("VKFUSE_CACHE_QUEUE_SIZE", "12"),
        ("VKFUSE_CACHE_CLOSE_WAIT", "13"),
        ("VKFUSE_CACHE_ALLOW_NETWORK", "1"),
        ("VKFUSE_CACHE_DURABLE", "1"),
        ("VKFUSE_CACHE_REMOTE", "redis://h"),
        ("VKFUSE_CACHE_REMOTE_READ_ONLY", "1"),
        ("VKFUSE_CACHE_REMOTE_TIMEOUT", "15ms"),
        ("VKFUSE_CACHE_TRUST", "/k:/l"),
        ("VKFUSE_CACHE_SIGN_KEY", "/s"),
    ]);
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let options = CacheOptions {
        persistent: Some(true),
        dir: Some("/d".into()),
        lower: Some(vec!["/a".into(), "/b".into()]),
        max_size: Some(2 << 20),
        min_item_size: Some(3),
        max_item_size: Some(4),
        max_age: seconds(5),
        trace: Some(true),
        memory_max_size: Some(6),
        memory_max_entries: Some(7),
        failure_age: seconds(8),
        wait: seconds(9),
        lock_timeout: Some(Duration::from_millis(10)),
        quarantine_age: seconds(11),
        queue_size: Some(12),
        close_wait: seconds(13),
        allow_network: Some(true),
        durable: Some(true),
        remote: Some("redis://h".to_owned()),
        remote_read_only: Some(true),
        remote_timeout: Some(Duration::from_millis(15)),
        trust: Some(vec!["/k".into(), "/l".into()]),
        sign_key: Some("/s".into()),
    };
    let of_program = options.resolve(|name| (!name.starts_with("AWS_")).then(|| "nonsense".into()));
    assert!(of_program.warnings.is_empty() && of_environment.warnings.is_empty());
    assert_eq!(of_program.memory, of_environment.memory);
    let all = |resolved: &Resolved| {
        let store = &resolved.store;
        format!(
            "{store:?} {:?} {:?} {:?} {:?} {:?} {}",
            store.lock_timeout,
            store.quarantine_age,
            store.close_patience,
            store.queue_bytes,
            (store.allow_network, store.durable, store.trace),
            resolved.trace
        )
    };
    assert_eq!(all(&of_program), all(&of_environment));
    assert_eq!(of_environment.store.close_patience, Duration::from_secs(13));
    assert!(!resolve(&[("VKFUSE_CACHE_QUEUE_SIZE", "0")]).store.background);
    let lower = resolve(&[("VKFUSE_CACHE_LOWER", "/a::b:/c")]);
    assert_eq!(lower.store.lower, [Path::new("/a"), Path::new("/c")]);
    assert_eq!(lower.warnings.len(), 1);
}

/// Values of every sort, most of them close to sound ones: they mean something or are left out with
/// one warning each, and never make the folder the working folder.
#[test]
fn any_value_is_taken_or_left_out() {
    let runs: u64 = match std::env::var_os("VKFUSE_LONG_TESTS") {
        Some(_) => 5_000_000,
        None => 100_000,
    };
    println!("{runs} values");
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    const PIECES: [&[u8]; 24] = [
        b"0",
        b"1",
        b"9",
        b"18446744073709551615",
        b"1e9",
        b".",
        b"-",
        b"+",
        b" ",
        b"\t",
        b"K",
        b"MiB",
        b"GB",
        b"T",
        b"0x",
        b"/",
        b"/tmp",
        b"..",
        b"h",
        b"d",
        b"\xff\xfe",
        b"inf",
        b"NaN",
        b"\xc3\xa9",
    ];
    const NAMES: [&str; 13] = [
        "VKFUSE_CACHE_IN_MEM_MAX_ENTRIES",
        "VKFUSE_CACHE_FAILURE_AGE",
        "VKFUSE_CACHE_WAIT",
        "VKFUSE_CACHE_QUEUE_SIZE",
        "VKFUSE_CACHE_DURABLE",
        "VKFUSE_CACHE_PERSISTENT",
        "VKFUSE_CACHE_DIR",
        "VKFUSE_CACHE_MAX_SIZE",
        "VKFUSE_CACHE_MIN_ITEM_SIZE",
        "VKFUSE_CACHE_MAX_ITEM_SIZE",
        "VKFUSE_CACHE_MAX_AGE",
        "VKFUSE_CACHE_TRACE",
        "VKFUSE_CACHE_IN_MEM_MAX_SIZE",
    ];
    for _ in 0..runs {
        let mut value = Vec::new();
        for _ in 0..next() % 5 {
            match next() % 8 {
                0 => value.push(next() as u8),
                _ => value.extend_from_slice(PIECES[next() as usize % PIECES.len()]),
            }
        }
        let name = NAMES[next() as usize % NAMES.len()];
        let value = std::os::unix::ffi::OsStringExt::from_vec(value);
        let value: std::ffi::OsString = value;
        let resolved = CacheOptions::default().resolve(|asked| match asked {
            "HOME" => Some("/home/somebody".into()),
            _ => (asked == name).then(|| value.clone()),
        });
        assert!(resolved.warnings.len() <= 1, "{name} {value:?}");
        assert!(resolved.store.dir.as_deref().is_none_or(std::path::Path::is_absolute), "{name} {value:?}");
    }
}
