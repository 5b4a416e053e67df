//! Accesses out of bounds.

use vkfuse_interp::{AccessKind, Memory, Options, Order, Place, execute};

use crate::harness::{bytes, dispatch, every_order, shader};

#[test]
fn reads_out_of_bounds_give_zero_and_are_reported() {
    for (offset, outside) in [(0, 0), (1, 1), (3, 3), (-1, 1), (-4, 4), (i32::MAX, 4), (i32::MIN, 4)] {
        let buffers = [bytes(&[7, 1, 2, 3, 4]), bytes(&[9; 4])];
        every_order(
            &shader!("bounds_read"),
            [1, 1, 1],
            &buffers,
            &[offset as u32],
            |order, memory, objects, findings| {
                assert_eq!(findings.out_of_bounds.count, outside, "{order:?}, offset {offset}");
                let expected = |i: i32| match i.checked_add(offset) {
                    Some(at @ 0..4) => at as u32 + 1,
                    _ => 0,
                };
                assert_eq!(memory.words(objects[1]), (0..4).map(expected).collect::<Vec<_>>());
                for found in &findings.out_of_bounds.list {
                    assert_eq!(found.access.kind, AccessKind::Read);
                    assert_eq!(found.access.place, Place::Binding { set: 0, binding: 0 });
                }
            },
        );
    }
}

#[test]
fn writes_out_of_bounds_are_skipped_and_reported() {
    let buffers = [bytes(&[7, 1, 2, 3, 4]), bytes(&[9; 4])];
    every_order(&shader!("bounds_write"), [1, 1, 1], &buffers, &[2], |order, memory, objects, findings| {
        assert_eq!(findings.out_of_bounds.count, 2, "{order:?}");
        assert_eq!(findings.out_of_bounds.list[0].access.kind, AccessKind::Write);
        assert_eq!(memory.words(objects[0]), [7, 1, 2, 9, 9]);
    });
    // A negative index would hit `head`, which is inside the binding but not in the array.
    every_order(
        &shader!("bounds_write"),
        [1, 1, 1],
        &buffers,
        &[-1i32 as u32],
        |order, memory, objects, findings| {
            assert_eq!(findings.out_of_bounds.count, 1, "{order:?}");
            assert_eq!(memory.words(objects[0]), [7, 9, 9, 9, 4]);
        },
    );
}

#[test]
fn declared_array_length_is_a_bound() {
    let buffers = [bytes(&[0; 4]), bytes(&[9; 4])];
    every_order(&shader!("bounds_shared"), [1, 1, 1], &buffers, &[1], |order, memory, objects, findings| {
        assert_eq!(findings.out_of_bounds.count, 1, "{order:?}");
        let found = findings.out_of_bounds.list[0];
        assert!(matches!(found.access.place, Place::Workgroup { .. }));
        assert_eq!(found.offset, 4);
        assert_eq!(memory.words(objects[1]), [5, 5, 5, 0]);
    });
}

#[test]
fn missing_push_constants_are_out_of_bounds() {
    let buffers = [bytes(&[7, 1, 2, 3, 4]), bytes(&[9; 4])];
    every_order(&shader!("bounds_read"), [1, 1, 1], &buffers, &[], |order, _, _, findings| {
        assert_eq!(findings.out_of_bounds.count, 4, "{order:?}");
        assert_eq!(findings.out_of_bounds.list[0].access.place, Place::PushConstants);
    });
}

/// The scalars of the binding are counted from its start, and those before it are negative.
#[test]
fn what_lies_before_a_range_is_negative() {
    for (offset, first) in
        [(-1, 0), (-2, -4), (-4, -12), (-1000, -3996), (i32::MIN, 4 * i64::from(i32::MIN) + 4)]
    {
        let buffers = [bytes(&[7, 1, 2, 3, 4]), bytes(&[9; 4])];
        every_order(
            &shader!("bounds_read"),
            [1, 1, 1],
            &buffers,
            &[offset as u32],
            |order, _, _, findings| {
                let least = findings.out_of_bounds.list.iter().map(|found| found.offset).min();
                assert_eq!(least, Some(first), "{order:?}, offset {offset}");
            },
        );
    }
}

/// With robust access what is outside of the range is a note; what is inside of it and outside of its array is no less undefined.
#[test]
fn robust_access_is_defined_outside_of_the_range() {
    for (offset, outside, undefined) in
        [(0, 0, 0), (1, 1, 0), (3, 3, 0), (-1, 0, 1), (-2, 1, 1), (-4, 3, 1), (i32::MAX, 4, 0)]
    {
        for order in Order::ALL {
            let mut memory = Memory::new();
            let objects = [memory.add(bytes(&[7, 1, 2, 3, 4])), memory.add(bytes(&[9; 4]))];
            let program = shader!("bounds_read");
            let dispatch = dispatch(&program, [1, 1, 1], &memory, &objects, &[offset as u32]);
            let options = Options { order, robust: true, ..Options::default() };
            let findings = execute(&[dispatch], &mut memory, &options).expect("it runs");
            assert_eq!(
                (findings.notes.count, findings.out_of_bounds.count),
                (outside, undefined),
                "{offset}"
            );
            assert_eq!(findings.is_clean(), undefined == 0);
            let expected = |i: i32| match i.checked_add(offset) {
                Some(at @ 0..4) => at as u32 + 1,
                _ => 0,
            };
            assert_eq!(memory.words(objects[1]), (0..4).map(expected).collect::<Vec<_>>());
        }
    }
    // Shared memory and push constants have no such thing.
    for program in [shader!("bounds_shared"), shader!("bounds_read")] {
        let mut memory = Memory::new();
        let objects = [memory.add(bytes(&[0; 5])), memory.add(bytes(&[9; 4]))];
        let push: &[u32] =
            if program.bindings().count() == 2 && program.local_size() == [4, 1, 1] { &[] } else { &[1] };
        let dispatch = dispatch(&program, [1, 1, 1], &memory, &objects, push);
        let options = Options { robust: true, ..Options::default() };
        let findings = execute(&[dispatch], &mut memory, &options).expect("it runs");
        assert!(findings.out_of_bounds.count > 0 && findings.notes.is_empty(), "{findings:?}");
    }
}
