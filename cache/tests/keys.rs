//! Keys: every ingredient counts, equal ingredients are equal bytes, everywhere.

use std::collections::HashSet;

use proptest::prelude::*;
use vkfuse_cache::{Key, Part, PartKind, Value};

/// A caller's ingredients. A new field does not compile until it is in the key and in the test.
#[derive(Clone, Debug)]
struct Ingredients {
    vendor: u32,
    name: String,
    features: Vec<String>,
    words: Vec<u8>,
    entry: String,
    constant: u64,
    strict: bool,
}

impl Ingredients {
    fn key(&self) -> Key {
        let Ingredients { vendor, name, features, words, entry, constant, strict } = self;
        Key::new(
            Part::new()
                .u32("vendor", *vendor)
                .str("name", name)
                .list("features", features.iter().map(String::as_str)),
            Part::new().bytes("words", words).str("entry", entry),
            Part::new().u64("constant", *constant),
            Part::new().bool("strict", *strict),
        )
    }
}

fn sample() -> Ingredients {
    Ingredients {
        vendor: 1,
        name: "H200".to_owned(),
        features: vec!["int64".to_owned(), "fp16".to_owned()],
        words: vec![3, 2, 35, 7],
        entry: "main".to_owned(),
        constant: 4,
        strict: true,
    }
}

#[test]
fn every_field_changes_the_key() {
    let changes: [fn(&mut Ingredients); 9] = [
        |i| i.vendor += 1,
        |i| i.name.push('\0'),
        |i| i.features.swap(0, 1),
        |i| i.features = vec!["int64fp16".to_owned()],
        |i| i.features.clear(),
        |i| i.words.push(0),
        |i| i.entry.clear(),
        |i| i.constant = 5,
        |i| i.strict = false,
    ];
    let mut seen = HashSet::from([sample().key().id()]);
    for (index, change) in changes.iter().enumerate() {
        let mut changed = sample();
        change(&mut changed);
        let (one, other) = (sample().key(), changed.key());
        assert_ne!(one, other);
        assert!(seen.insert(other.id()), "change {index}");
        assert_eq!(one.differs(&other).len(), 1, "change {index}");
    }
}

#[test]
fn keys_are_the_same_in_every_process() {
    let id = format!("{:#}", sample().key().id());
    assert_eq!(id, "628d3ab32d6a3f38833e5aba75f0ffd8b98397bf402056327ebed00f2ee0077c");
}

#[test]
fn names_types_and_places_are_part_of_the_key() {
    let key = |part: Part| Key::new(part.clone(), Part::new(), Part::new(), Part::new()).id();
    let parts = [
        Part::new(),
        Part::new().u32("a", 1),
        Part::new().u64("a", 1),
        Part::new().u32("b", 1),
        Part::new().bytes("a", &1u32.to_le_bytes()),
        Part::new().bool("a", true),
        Part::new().u32("a", 1).u32("a", 1),
        Part::new().str("a", "ab").str("b", "c"),
        Part::new().str("a", "a").str("b", "bc"),
        Part::new().list("a", ["ab", "c"]),
        Part::new().list("a", ["a", "bc"]),
        Part::raw(b"a"),
    ];
    let ids: HashSet<_> = parts.iter().map(|part| key(part.clone())).collect();
    assert_eq!(ids.len(), parts.len());
    let part = Part::new().u32("a", 1);
    let moved = Key::new(Part::new(), part.clone(), Part::new(), Part::new());
    assert_ne!(moved.id(), key(part));
}

#[test]
fn differences_are_named() {
    let mut other = sample();
    other.vendor = 2;
    other.strict = false;
    let found = sample().key().differs(&other.key());
    let named: Vec<_> = found.iter().map(|one| (one.part, one.name.as_str())).collect();
    assert_eq!(named, [(PartKind::Device, "vendor"), (PartKind::Options, "strict")]);
    assert_eq!(found[0].here, Some(Value::U32(1)));
    assert_eq!(found[0].there, Some(Value::U32(2)));
    assert!(sample().key().differs(&sample().key()).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn parts_decode_to_what_was_put_in(
        text in ".{0,20}", bytes in prop::collection::vec(any::<u8>(), 0..50),
        number in any::<u32>(), items in prop::collection::vec(".{0,5}", 0..5),
    ) {
        let part = Part::new()
            .str("text", &text)
            .bytes("bytes", &bytes)
            .u32("number", number)
            .list("items", items.iter().map(String::as_str));
        let values: Vec<_> = part.fields().into_iter().map(|field| field.value).collect();
        let expected = [
            Value::Text(text),
            Value::Bytes(bytes),
            Value::U32(number),
            Value::List(items),
        ];
        prop_assert_eq!(values, expected);
        prop_assert_eq!(Part::from_bytes(part.as_bytes()), Some(part));
    }

    #[test]
    fn any_bytes_decode_or_not(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Some(part) = Part::from_bytes(&bytes) {
            prop_assert_eq!(part.as_bytes(), &bytes[..]);
        }
    }
}
