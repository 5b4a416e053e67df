//! Accesses out of bounds.

use vkfuse_interp::{AccessKind, Place};

use crate::harness::{bytes, every_order, shader};

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
