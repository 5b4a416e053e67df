//! The first path through both caches, as a transcript of events.

use std::sync::{Arc, Mutex};

use vkfuse_cache::{
    BuildError, Entry, Event, Key, MemoryCache, MemoryLimits, Miss, Part, Store, StoreConfig, Subscriber,
};

fn key(image: &str) -> Key {
    let part = |name: &str| Part::new().str("name", name);
    Key::new(part("device"), part(image), Part::new().u32("width", 4), part("options"))
}

fn recorder() -> (Subscriber, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let subscriber: Subscriber = Arc::new(move |event: &Event| {
        sink.lock().unwrap().push(event.name().to_owned());
    });
    (subscriber, lines)
}

#[test]
fn cold_then_memory_then_disk() {
    let folder = tempfile::tempdir().unwrap();
    let config = StoreConfig::at(folder.path().join("cache"));
    let (subscriber, lines) = recorder();
    let key = key("saxpy");
    for process in 0..2 {
        lines.lock().unwrap().push(format!("process {process}"));
        let store = Store::open(config.clone().with_subscriber(subscriber.clone()));
        assert_eq!(store.disabled_reason(), None);
        let memory = MemoryCache::new(MemoryLimits::default()).with_subscriber(subscriber.clone());
        for _ in 0..2 {
            let build = || {
                let entry = store.get(&key).unwrap_or_else(|_| {
                    let entry = Entry::new().with("spirv", vec![7; 100]);
                    assert!(store.put(&key, &entry).is_published());
                    entry
                });
                Ok::<_, BuildError<Miss>>((entry, 100))
            };
            let (entry, _) = memory.get_or_build(key.id(), build).unwrap();
            assert_eq!(entry.section("spirv"), Some(&[7; 100][..]));
        }
    }
    let expected = "process 0,will-build,did-miss-disk,did-publish,did-build,did-hit-memory,\
                    process 1,will-build,did-hit-disk,did-build,did-hit-memory";
    assert_eq!(lines.lock().unwrap().join(","), expected);
}

#[test]
fn blob_needs_its_entry_and_its_driver() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(StoreConfig::at(folder.path().join("cache")));
    let (key, driver) = (key("saxpy"), Part::new().u32("driver version", 1));
    assert!(!store.put_blob(&key, &driver, b"blob").is_published());
    assert!(store.put(&key, &Entry::new().with("spirv", [1])).is_published());
    assert!(store.put_blob(&key, &driver, b"blob").is_published());
    let load = store.begin_load(&key, &driver).unwrap();
    assert_eq!(load.bytes(), b"blob");
    load.finish();
    let updated = Part::new().u32("driver version", 2);
    assert_eq!(store.begin_load(&key, &updated).err(), Some(Miss::Absent));
    assert!(store.get(&key).is_ok());
    assert_eq!(store.stats().blob_hits, 1);
}
