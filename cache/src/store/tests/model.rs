//! Eviction compared with a model in memory, over random uses.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::Outcome;
use crate::key::NAME_BITS;
use crate::store::names::{FOLDER_BYTES, disk_bytes, shard};
use crate::store::tests::Yard;
use crate::store::tests::evict::{blob, own};

/// What the store should do, in memory.
struct Model {
    limit: u64,
    clock: u64,
    /// Stamp and bytes of the file, by key.
    entries: BTreeMap<u32, (u64, u64)>,
}

const SOURCE: u64 = 4096;

fn folder(number: u32) -> String {
    let key = own(number);
    shard(&key.stem(NAME_BITS)).to_owned()
}

impl Model {
    fn bytes(&self) -> u64 {
        let own: u64 = self.entries.values().map(|(_, bytes)| bytes + SOURCE).sum();
        let folders: BTreeSet<String> = self.entries.keys().map(|number| folder(*number)).collect();
        own + folders.len() as u64 * FOLDER_BYTES
    }

    fn put(&mut self, number: u32, bytes: u64) {
        let known = self.entries.contains_key(&number);
        let missing = u64::from(self.entries.keys().all(|other| folder(*other) != folder(number)));
        let cost = bytes + if known { 0 } else { SOURCE };
        if self.bytes() + cost + missing * FOLDER_BYTES > self.limit {
            let need = cost + 2 * FOLDER_BYTES;
            let trigger = self.limit.saturating_sub(need);
            let goal = (self.limit - self.limit / 3).saturating_sub(need);
            if self.bytes() > trigger {
                while self.bytes() > goal {
                    let oldest = self.entries.iter().min_by_key(|(_, (stamp, _))| *stamp);
                    let Some((&victim, _)) = oldest else {
                        break;
                    };
                    self.entries.remove(&victim);
                }
            }
            return self.put(number, bytes);
        }
        self.entries.insert(number, (self.clock, bytes));
    }
}

#[derive(Debug, Clone)]
enum Step {
    Get(u32),
    Put(u32, usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..10u32).prop_map(Step::Get),
        (0..10u32, 1..40usize).prop_map(|(number, kib)| Step::Put(number, kib)),
    ]
}

fn cases() -> u32 {
    let cases = match std::env::var_os("VKFUSE_LONG_TESTS") {
        Some(_) => 10_000,
        None => 25,
    };
    println!("{cases} traces");
    cases
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..Default::default() })]

    #[test]
    fn evicts_what_the_model_evicts(steps in prop::collection::vec(step(), 1..40)) {
        let mut yard = Yard::new();
        yard.config.max_size = 200 * 1024;
        let store = yard.open();
        let mut model = Model { limit: 200 * 1024, clock: 0, entries: BTreeMap::new() };
        for step in steps {
            yard.clock.advance(1);
            model.clock += 1;
            match step {
                Step::Get(number) => {
                    let found = store.get(&own(number)).is_ok();
                    prop_assert_eq!(found, model.entries.contains_key(&number));
                    if let Some((stamp, _)) = model.entries.get_mut(&number) {
                        *stamp = model.clock;
                    }
                }
                Step::Put(number, kib) => {
                    let Outcome::Published { bytes } = store.put(&own(number), &blob(kib)) else {
                        return Err(TestCaseError::fail("not published"));
                    };
                    model.put(number, disk_bytes(bytes));
                }
            }
            let usage = store.usage();
            prop_assert_eq!(usage.bytes, model.bytes());
            prop_assert_eq!(usage.recorded.unwrap_or(0), usage.bytes);
        }
        let listed: Vec<_> = store.entries(&mut |_| {}).iter().map(|info| info.id()).collect();
        let mut expected: Vec<_> = model.entries.iter().collect();
        expected.sort_by_key(|(_, (stamp, _))| std::cmp::Reverse(*stamp));
        let expected: Vec<_> = expected.iter().map(|(number, _)| Some(own(**number).id())).collect();
        prop_assert_eq!(listed, expected);
    }
}
