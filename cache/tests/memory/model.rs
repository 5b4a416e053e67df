//! Eviction compared with a model, over random uses.

use std::collections::BTreeMap;

use proptest::prelude::*;
use vkfuse_cache::{Hit, MemoryLimits};

use crate::unlimited;

#[derive(Debug, Clone)]
enum Step {
    Get(u64),
    Build(u64, u64),
    Resize(usize, u64),
    Remove(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..12u64).prop_map(Step::Get),
        6 => (0..12u64, 0..50u64).prop_map(|(key, bytes)| Step::Build(key, bytes)),
        1 => (0..6usize, 0..120u64).prop_map(|(entries, bytes)| Step::Resize(entries, bytes)),
        1 => (0..12u64).prop_map(Step::Remove),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn keeps_what_the_model_keeps(steps in prop::collection::vec(step(), 1..200)) {
        let cache = unlimited::<u64>();
        // Key to (time of use, bytes).
        let mut model: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
        let (mut most, mut bytes_most) = (0, 0);
        for (time, step) in steps.into_iter().enumerate() {
            match step {
                Step::Get(key) => {
                    prop_assert_eq!(cache.get(&key).is_some(), model.contains_key(&key));
                    if let Some(kept) = model.get_mut(&key) {
                        kept.0 = time;
                    }
                }
                Step::Build(key, bytes) => {
                    let (_, hit) = cache.get_or_build(key, || Ok((key, bytes))).unwrap();
                    prop_assert_eq!(hit == Hit::Memory, model.contains_key(&key));
                    match model.get_mut(&key) {
                        Some(kept) => kept.0 = time,
                        None if bytes_most != 0 && bytes > bytes_most => {}
                        None => {
                            model.insert(key, (time, bytes));
                        }
                    }
                }
                Step::Resize(entries, bytes) => {
                    (most, bytes_most) = (entries, bytes);
                    cache.resize(MemoryLimits { entries, bytes, failure_ttl: None, patience: None });
                }
                Step::Remove(key) => {
                    prop_assert_eq!(cache.remove(&key).is_some(), model.remove(&key).is_some());
                }
            }
            let sum = |model: &BTreeMap<u64, (usize, u64)>| model.values().map(|kept| kept.1).sum::<u64>();
            while (most != 0 && model.len() > most) || (bytes_most != 0 && sum(&model) > bytes_most) {
                let oldest = *model.iter().min_by_key(|(_, kept)| kept.0).unwrap().0;
                model.remove(&oldest);
            }
            let stats = cache.stats();
            prop_assert_eq!((stats.entries, stats.bytes), (model.len(), sum(&model)));
        }
        for key in 0..12 {
            prop_assert_eq!(cache.peek(&key).is_some(), model.contains_key(&key));
        }
    }
}
