//! What is a race, and what is not.

use vkfuse_interp::{AccessKind, Bind, Dispatch, Findings, Memory, Options, Order, Place, Program, execute};

use crate::harness::{bytes, dispatch, every_order, run, shader};

fn numbers(count: u32) -> Vec<u8> {
    bytes(&(0..count).collect::<Vec<_>>())
}

/// Runs two work-groups of 16 and hands over what was found, under every order.
fn exchange(program: &Program, check: impl Fn(Order, &[u32], &Findings)) {
    let buffers = [numbers(32), bytes(&[0; 48]), bytes(&[0; 32])];
    every_order(program, [2, 1, 1], &buffers, &[], |order, memory, objects, findings| {
        check(order, &memory.words(objects[2]), findings);
    });
}

fn mirrored(i: u32) -> u32 {
    i / 16 * 16 + 15 - i % 16
}

#[test]
fn finds_missing_barrier_under_every_order() {
    exchange(&shader!("exchange_plain"), |order, _, findings| {
        // Elements 0 to 15 of each group are each written by one and read by another.
        assert_eq!(findings.races.count, 32, "{order:?}");
        assert!(findings.out_of_bounds.is_empty() && findings.divergent_barriers.is_empty());
        for race in &findings.races.list {
            assert_ne!(race.first.invocation, race.second.invocation);
            assert_eq!(race.first.place, Place::Binding { set: 0, binding: 1 });
            assert!(!race.barrier_without_memory);
        }
    });
}

#[test]
fn race_names_element_and_both_invocations() {
    let program = shader!("exchange_plain");
    let mut memory = Memory::new();
    let objects = [memory.add(numbers(16)), memory.add(numbers(16)), memory.add(numbers(16))];
    let findings = run(&program, [1, 1, 1], &mut memory, &objects, &[], Order::Forward).expect("runs");
    let race = findings.races.list[0];
    // Invocation 0 reads element 15 before invocation 15 writes it ... but invocation 8 is the first to
    // touch what an earlier one wrote: nothing was written twice, so the first conflict is its write.
    assert_eq!((race.dispatch, race.object), (0, Some(objects[1])));
    assert_eq!(race.first.kind, AccessKind::Read);
    assert_eq!(race.second.kind, AccessKind::Write);
    assert_eq!(race.second.invocation, [8, 0, 0]);
    assert_eq!(race.first.invocation, [7, 0, 0]);
    assert_eq!(race.offset, 8 * 4);
    assert_eq!(
        race.to_string(),
        format!(
            "dispatch 0: race at offset 32: read of set 0 binding 1 by invocation (7, 0, 0) at word {}, \
             and write of set 0 binding 1 by invocation (8, 0, 0) at word {}",
            race.first.word, race.second.word
        )
    );
}

#[test]
fn barrier_of_the_common_group_orders() {
    exchange(&shader!("exchange_barrier"), |order, z, findings| {
        assert!(findings.is_clean(), "{order:?}: {findings:?}");
        assert_eq!(z, (0..32).map(mirrored).collect::<Vec<_>>());
    });
}

#[test]
fn barrier_without_buffer_semantics_does_not_order_buffers() {
    exchange(&shader!("exchange_shared_barrier"), |order, _, findings| {
        assert_eq!(findings.races.count, 32, "{order:?}");
        assert!(findings.races.list.iter().all(|race| race.barrier_without_memory));
    });
}

#[test]
fn barrier_does_not_order_different_groups() {
    exchange(&shader!("exchange_across"), |order, _, findings| {
        // Invocation 0 of group 0 reads element 16, which group 1 writes; group 1's reads element 32.
        assert_eq!(findings.races.count, 1, "{order:?}");
        let race = findings.races.list[0];
        assert_ne!(race.first.group, race.second.group);
        assert_eq!(race.offset, 16 * 4);
        assert!(!race.barrier_without_memory);
    });
}

#[test]
fn missing_barrier_on_shared_memory_is_a_race() {
    let buffers = [numbers(32), bytes(&[0; 32])];
    every_order(&shader!("shared_exchange_plain"), [2, 1, 1], &buffers, &[], |order, _, _, findings| {
        assert_eq!(findings.races.count, 32, "{order:?}");
        for race in &findings.races.list {
            assert!(matches!(race.first.place, Place::Workgroup { .. }));
            assert_eq!(race.object, None);
            assert!(race.offset < 16);
        }
    });
    every_order(
        &shader!("shared_exchange_barrier"),
        [2, 1, 1],
        &buffers,
        &[],
        |order, memory, objects, findings| {
            assert!(findings.is_clean(), "{order:?}: {findings:?}");
            assert_eq!(memory.words(objects[1]), (0..32).map(mirrored).collect::<Vec<_>>());
        },
    );
}

#[test]
fn stencil_in_place_races_at_group_borders_only() {
    every_order(&shader!("stencil_in_place"), [4, 1, 1], &[numbers(32)], &[32], |order, _, _, findings| {
        // At each of the three borders, both sides read an element that the other side writes.
        assert_eq!(findings.races.count, 6, "{order:?}");
        assert!(findings.races.list.iter().all(|race| race.first.group != race.second.group));
    });
    every_order(&shader!("stencil_in_place"), [1, 1, 1], &[numbers(8)], &[8], |order, _, _, findings| {
        assert!(findings.is_clean(), "{order:?}: {findings:?}");
    });
}

#[test]
fn atomics_do_not_race_with_each_other() {
    let values: Vec<u32> = (0..96).map(|i| i * i % 13).collect();
    let mut expected = vec![0; 8];
    values.iter().for_each(|value| expected[(value & 7) as usize] += 1);
    every_order(
        &shader!("histogram"),
        [3, 1, 1],
        &[bytes(&values), bytes(&[0; 8])],
        &[],
        |order, memory, objects, findings| {
            assert!(findings.is_clean(), "{order:?}: {findings:?}");
            assert_eq!(memory.words(objects[1]), expected);
        },
    );
}

#[test]
fn atomic_and_plain_access_race() {
    let buffers = [bytes(&[0, 0, 0, u32::MAX, 0, u32::MAX, 0, 0, 0, 5, 0]), bytes(&[0; 32])];
    every_order(&shader!("atomics_mixed"), [2, 1, 1], &buffers, &[], |order, _, _, findings| {
        let races = &findings.races;
        assert!(races.list.iter().any(|race| race.offset == 40), "{order:?}: {races:?}");
        assert!(
            races
                .list
                .iter()
                .all(|race| race.offset == 40 || race.object == Some(vkfuse_interp::ObjectId(1)))
        );
    });
    every_order(&shader!("atomics"), [2, 1, 1], &buffers, &[], |order, memory, objects, findings| {
        assert!(findings.is_clean(), "{order:?}: {findings:?}");
        let xor = (0..32).fold(0, |a, b| a ^ b);
        let expected = [64, -31i32 as u32, 0, 969, 31, 0, u32::MAX, xor, 7, 6, 0];
        assert_eq!(memory.words(objects[0]), expected);
        let mut old = memory.words(objects[1]);
        old.sort_unstable();
        assert_eq!(old, (0..32).map(|i| 2 * i).collect::<Vec<_>>());
    });
}

#[test]
fn neighbouring_bytes_do_not_race() {
    let x: Vec<u8> = (0..16).collect();
    let h: Vec<u8> = (0..16u16).flat_map(|_| 0x3c00u16.to_le_bytes()).collect();
    every_order(&shader!("bytes"), [2, 1, 1], &[x, h], &[], |order, memory, objects, findings| {
        assert!(findings.is_clean(), "{order:?}: {findings:?}");
        assert_eq!(memory.bytes(objects[0]), (0..16).map(|i| i * 3).collect::<Vec<u8>>());
        assert_eq!(memory.bytes(objects[1]), [0x00, 0x40].repeat(16));
    });
}

#[test]
fn two_bindings_of_one_object_race_where_they_overlap() {
    let program = shader!("two_names");
    for order in Order::ALL {
        for (shift, gap, races) in [(0, 0, 0), (1, 0, 7), (0, 4, 7), (0, 32, 0), (0, 2, 7)] {
            let mut memory = Memory::new();
            let object = memory.add(numbers(32));
            let bindings = vec![
                Bind { set: 0, binding: 0, object, offset: 0, len: 128 - 64 },
                Bind { set: 0, binding: 1, object, offset: gap, len: 64 },
            ];
            let dispatch = Dispatch { program: &program, groups: [2, 1, 1], bindings, push: bytes(&[shift]) };
            let options = Options { order, seed: 3, ..Options::default() };
            let findings = execute(&[dispatch], &mut memory, &options).expect("runs");
            if gap == 2 {
                // Every word of one name covers halves of two words of the other.
                assert!(findings.races.count >= 7, "{order:?}");
            } else {
                assert_eq!(findings.races.count, races, "{order:?}, shift {shift}, gap {gap}");
            }
        }
    }
}

#[test]
fn dispatches_of_a_run_are_ordered() {
    let program = shader!("two_names");
    for order in Order::ALL {
        let mut memory = Memory::new();
        let (x, y) = (memory.add(numbers(16)), memory.add(bytes(&[0; 16])));
        let there = dispatch(&program, [2, 1, 1], &memory, &[x, y], &[3]);
        let back = dispatch(&program, [2, 1, 1], &memory, &[y, x], &[1]);
        let options = Options { order, ..Options::default() };
        let findings = execute(&[there, back], &mut memory, &options).expect("runs");
        assert!(findings.is_clean(), "{order:?}: {findings:?}");
        assert_eq!(memory.words(x)[..7], [4, 5, 6, 7, 8, 9, 10]);
    }
}

#[test]
fn equal_options_give_equal_findings_and_memory() {
    let program = shader!("exchange_plain");
    for order in Order::ALL {
        let outcome = || {
            let mut memory = Memory::new();
            let objects = [memory.add(numbers(32)), memory.add(bytes(&[0; 48])), memory.add(bytes(&[0; 32]))];
            let findings = run(&program, [2, 1, 1], &mut memory, &objects, &[], order).expect("runs");
            (findings, memory.words(objects[2]))
        };
        assert_eq!(outcome(), outcome());
    }
}

#[test]
fn findings_are_capped_and_counted() {
    let program = shader!("exchange_plain");
    let mut memory = Memory::new();
    let objects = [memory.add(numbers(32)), memory.add(bytes(&[0; 48])), memory.add(bytes(&[0; 32]))];
    let dispatch = dispatch(&program, [2, 1, 1], &memory, &objects, &[]);
    let findings =
        execute(&[dispatch], &mut memory, &Options { max_findings: 3, ..Options::default() }).expect("runs");
    assert_eq!((findings.races.list.len(), findings.races.count), (3, 32));
}

#[test]
fn race_that_atomics_may_order_says_so() {
    // The last of four groups to add itself sums what all have written.
    let buffers = [numbers(16), bytes(&[0; 8])];
    every_order(&shader!("last_group"), [4, 1, 1], &buffers, &[], |order, memory, objects, findings| {
        assert_eq!(memory.words(objects[1])[1], 120, "{order:?}");
        assert!(findings.races.list.iter().all(|race| race.maybe_ordered_by_atomics), "{order:?}");
        assert!(!findings.races.is_empty());
    });
    let buffers = [numbers(32), bytes(&[0; 48]), bytes(&[0; 32])];
    every_order(&shader!("exchange_across"), [2, 1, 1], &buffers, &[], |_, _, _, findings| {
        assert!(findings.races.list.iter().all(|race| !race.maybe_ordered_by_atomics));
    });
}
