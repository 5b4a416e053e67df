//! Barriers that not all invocations reach.

use crate::harness::{bytes, every_order, shader};

#[test]
fn early_return_before_a_barrier_is_divergent() {
    every_order(&shader!("divergent_early"), [2, 1, 1], &[bytes(&[1; 8])], &[5], |order, _, _, findings| {
        assert_eq!(findings.divergent_barriers.count, 2, "{order:?}: one in each group");
        let found = findings.divergent_barriers.list[0];
        assert!(found.waiting[0] % 8 < 5 && found.missing[0] % 8 >= 5, "{found:?}");
    });
}

#[test]
fn early_return_of_all_or_none_is_uniform() {
    for n in [0, 8] {
        every_order(
            &shader!("divergent_early"),
            [1, 1, 1],
            &[bytes(&[1; 8])],
            &[n],
            |order, memory, objects, findings| {
                assert!(findings.is_clean(), "{order:?}: {findings:?}");
                assert_eq!(memory.words(objects[0]), [if n == 0 { 1 } else { 2 }; 8]);
            },
        );
    }
}

#[test]
fn different_barriers_in_two_branches_are_divergent() {
    every_order(
        &shader!("divergent_branches"),
        [1, 1, 1],
        &[bytes(&[1; 8])],
        &[4],
        |order, memory, objects, findings| {
            assert_eq!(findings.divergent_barriers.count, 1, "{order:?}");
            assert_eq!(memory.words(objects[0]), [2, 2, 2, 2, 3, 3, 3, 3]);
        },
    );
}
