//! Shared memory with an explicit layout: all blocks begin at the same byte.

use vkfuse_interp::{Findings, Memory, ObjectId, Order, Place, Program};

use crate::harness::{bytes, every_order, shader};

fn check(program: &Program, each: impl Fn(Order, &[u32], &Findings)) {
    let buffers = [bytes(&(50..82).collect::<Vec<_>>()), bytes(&[0; 32])];
    every_order(
        program,
        [2, 1, 1],
        &buffers,
        &[],
        |order, memory: &Memory, objects: &[ObjectId], findings| {
            each(order, &memory.words(objects[1]), findings);
        },
    );
}

#[test]
fn words_are_read_as_vectors() {
    check(&shader!("blocks_alias"), |order, b, findings| {
        assert!(findings.is_clean(), "{order:?}: {findings:?}");
        let expected: Vec<u32> = (0..32).map(|i| 50 + i / 16 * 16 + 15 - i % 16).collect();
        assert_eq!(b, expected);
    });
}

#[test]
fn members_lie_at_their_offsets() {
    check(&shader!("blocks_members"), |order, b, findings| {
        assert!(findings.is_clean(), "{order:?}: {findings:?}");
        for group in 0..2 {
            // Words 4 and 15 of the array.
            assert_eq!((b[16 * group], b[16 * group + 1]), (54 + 16 * group as u32, 65 + 16 * group as u32));
        }
    });
}

#[test]
fn bits_are_read_as_another_type() {
    let program = shader!("blocks_floats");
    let numbers: Vec<u32> = (0..32).map(|i| (i as f32 + 3.0).to_bits()).collect();
    every_order(
        &program,
        [2, 1, 1],
        &[bytes(&numbers), bytes(&[0; 32])],
        &[],
        |order, memory, objects, findings| {
            assert!(findings.is_clean(), "{order:?}: {findings:?}");
            let expected: Vec<u32> = (0..32).map(|i| 3 + i / 16 * 16 + 15 - i % 16).collect();
            assert_eq!(memory.words(objects[1]), expected);
        },
    );
}

#[test]
fn atomics_change_what_other_blocks_see() {
    check(&shader!("blocks_added"), |order, b, findings| {
        assert!(findings.is_clean(), "{order:?}: {findings:?}");
        for group in 0..2 {
            assert_eq!(b[16 * group], 51 + 16 * group as u32 + 16);
        }
    });
}

#[test]
fn races_between_blocks_are_found() {
    check(&shader!("blocks_race"), |order, _, findings| {
        assert!(findings.races.count > 0, "{order:?}");
        assert!(matches!(findings.races.list[0].second.place, Place::Workgroup { .. }));
    });
}

#[test]
fn what_nobody_wrote_is_found() {
    check(&shader!("blocks_parts"), |order, _, findings| {
        // Words 8 to 15 are read by the invocations 0 to 7, each in a vector.
        assert_eq!(findings.uninitialised.count, 16, "{order:?}");
        assert!(findings.races.is_empty() && findings.out_of_bounds.is_empty());
    });
}

#[test]
fn bounds_are_those_of_the_block_that_is_used() {
    check(&shader!("blocks_outside"), |order, b, findings| {
        assert_eq!(findings.out_of_bounds.count, 32, "{order:?}");
        assert_eq!(b, [0; 32]);
    });
    // The longest block decides how many bytes there are.
    check(&shader!("blocks_longer"), |order, _, findings| {
        assert!(findings.out_of_bounds.is_empty(), "{order:?}");
        assert_eq!(findings.uninitialised.count, 32);
    });
}

/// Instructions of a non-semantic set do nothing, also those that may name what comes later; decorations by groups count.
#[test]
fn remarks_are_passed_over() {
    let module = crate::harness::words(include_bytes!("shaders/notes.spv"));
    let mut forward = module.clone();
    let mut at = 5;
    let mut changed = 0;
    while at < forward.len() {
        if forward[at] & 0xffff == 12 {
            // OpExtInst becomes OpExtInstWithForwardRefsKHR.
            forward[at] = forward[at] & !0xffff | 4433;
            changed += 1;
        }
        at += (forward[at] >> 16) as usize;
    }
    assert_eq!(changed, 2);
    for words in [module, forward] {
        let program = Program::decode(&words).expect("it is in the subset");
        every_order(&program, [1, 1, 1], &[bytes(&[9; 5])], &[], |_, memory, objects, findings| {
            assert!(findings.is_clean(), "{findings:?}");
            assert_eq!(memory.words(objects[0]), [9, 7, 8, 9, 10]);
        });
    }
}
