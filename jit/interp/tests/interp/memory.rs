//! Layouts and uninitialised memory.

use vkfuse_interp::{Bind, Dispatch, Memory, Options, Order, Place, execute};

use crate::harness::{as_floats, bytes, dispatch, every_order, floats, run, shader};

#[test]
fn reports_uninitialised_shared_read() {
    every_order(
        &shader!("uninitialised_shared"),
        [2, 1, 1],
        &[bytes(&[0; 4]), bytes(&[0; 4])],
        &[],
        |order, _, _, findings| {
            assert_eq!(findings.uninitialised.count, 8, "{order:?}");
            let found = findings.uninitialised.list[0];
            assert!(matches!(found.access.place, Place::Workgroup { .. }));
            assert!((4..8).contains(&found.offset));
        },
    );
}

#[test]
fn reports_uninitialised_local_variable() {
    every_order(
        &shader!("uninitialised_local"),
        [1, 1, 1],
        &[bytes(&[0; 4]), bytes(&[0; 4])],
        &[],
        |order, _, _, findings| {
            assert_eq!(findings.uninitialised.count, 4, "{order:?}");
            let found = findings.uninitialised.list[0];
            assert!(matches!(found.access.place, Place::Private { .. }));
            assert_eq!(found.offset, 2);
        },
    );
}

#[test]
fn parts_of_variables_are_written_by_inserting_them() {
    every_order(
        &shader!("parts"),
        [1, 1, 1],
        &[bytes(&[5]), bytes(&[0; 2])],
        &[],
        |order, memory, objects, findings| {
            // Only what is read and was not written.
            assert_eq!(findings.uninitialised.count, 1, "{order:?}: {:?}", findings.uninitialised.list);
            let found = findings.uninitialised.list[0];
            assert!(matches!(found.access.place, Place::Private { .. }));
            assert_eq!(found.offset, 1);
            assert_eq!(memory.words(objects[1])[0], 9);
        },
    );
}

#[test]
fn initialised_variables_are_clean() {
    every_order(
        &shader!("initialised"),
        [2, 1, 1],
        &[bytes(&[0; 4]), bytes(&[0; 4])],
        &[],
        |order, memory, objects, findings| {
            // Both groups write the same words of z.
            assert!(findings.uninitialised.is_empty(), "{order:?}");
            assert_eq!(memory.words(objects[1]), [0, 2, 4, 6]);
        },
    );
}

#[test]
fn reports_uninitialised_buffer_until_something_is_written() {
    let program = shader!("uninitialised_buffer");
    for order in Order::ALL {
        let mut memory = Memory::new();
        let (x, z) = (memory.add_uninitialised(16), memory.add_uninitialised(16));
        let options = Options { order, ..Options::default() };
        let read_x = dispatch(&program, [1, 1, 1], &memory, &[x, z], &[]);
        let findings = execute(std::slice::from_ref(&read_x), &mut memory, &options).expect("runs");
        assert_eq!(findings.uninitialised.count, 4, "{order:?}");
        assert_eq!(findings.uninitialised.list[0].object, Some(x));
        // By now z is written, if only with garbage.
        let read_z = dispatch(&program, [1, 1, 1], &memory, &[z, x], &[]);
        let findings = execute(&[read_z, read_x], &mut memory, &options).expect("runs");
        assert!(findings.is_clean(), "{order:?}: {findings:?}");
    }
}

#[test]
fn std140_std430_scalar_and_row_major_layouts() {
    let program = shader!("layouts");
    let mut memory = Memory::new();
    // Uniform block, std140. A row_major mat3x4 is 4 rows of 3, each 16 bytes; then a vec3, then 3 floats
    // 16 bytes apart.
    let mut uniform = Vec::new();
    for row in 0..4 {
        uniform.extend([row as f32, 10.0 + row as f32, 20.0 + row as f32, -1.0]);
    }
    uniform.extend([1.0, 2.0, 3.0, -1.0]);
    for s in [5.0, 6.0, 7.0] {
        uniform.extend([s, -1.0, -1.0, -1.0]);
    }
    // Parts, std430: vec3, float, mat2x3 of two columns 16 bytes apart: 48 bytes, from byte 16 on.
    let part = |base: f32| -> Vec<f32> {
        vec![base, base + 1.0, base + 2.0, base + 3.0, 1.0, 2.0, 3.0, -1.0, 4.0, 5.0, 6.0, -1.0]
    };
    let mut parts = vec![f32::from_bits(2), 0.0, 0.0, 0.0];
    (0..3).for_each(|i| parts.extend(part(10.0 * i as f32)));
    let dense: Vec<f32> = (0..9).map(|i| i as f32).collect();
    let objects = [
        memory.add(floats(&uniform)),
        memory.add(floats(&parts)),
        memory.add(floats(&dense)),
        memory.add(vec![0; 128]),
    ];
    let places = [(0, 0), (0, 1), (1, 0), (1, 3)];
    let bindings = places.iter().zip(objects).map(|(&(set, binding), object)| Bind {
        set,
        binding,
        object,
        offset: 0,
        len: memory.bytes(object).len() as u64,
    });
    let dispatch =
        Dispatch { program: &program, groups: [1, 1, 1], bindings: bindings.collect(), push: Vec::new() };
    let findings = execute(&[dispatch], &mut memory, &Options::default()).expect("runs");
    assert!(findings.is_clean(), "{findings:?}");

    let z = as_floats(&memory, objects[3]);
    // m[column][row] = 10 * column + row
    assert_eq!(z[..4], [80.0, 86.0, 92.0, 98.0]);
    assert_eq!(z[4..8], [13.0, 12.0, 11.0, 7.0]);
    let column = |c: f32| (0..4).map(|r| (10.0 * c + r as f32) * (r + 1) as f32).sum::<f32>();
    assert_eq!(z[8..12], [column(0.0), column(1.0), column(2.0), 3.0]);
    assert_eq!(z[12..16], [41.0, 52.0, 63.0, 13.0]);
    // (0, 1, 2) x (10, 11, 12)
    assert_eq!(z[16..20], [1.0 * 12.0 - 2.0 * 11.0, 2.0 * 10.0 - 0.0 * 12.0, 0.0 * 11.0 - 1.0 * 10.0, 35.0]);
    assert_eq!(z[20..24], [3.0, 4.0, 5.0, 3.0]);
    assert_eq!(z[24..28], [1.0, 3.0, 3.0 / 5.0, 4.0 / 5.0]);
    assert_eq!(z[28..32], [4.0, 8.0, 42.0, 8.0]);
    let parts = as_floats(&memory, objects[1]);
    assert_eq!(parts[4 + 8 + 1], 99.0, "parts[0].m[1].y");
    assert_eq!(parts[4 + 24..4 + 28], [10.0, 12.0, 11.0, 13.0], "parts[2] with y and z swapped");
}

#[test]
fn a_binding_starts_at_its_offset() {
    let program = shader!("two_names");
    let mut memory = Memory::new();
    let object = memory.add(bytes(&(0..32).collect::<Vec<_>>()));
    let bindings = vec![
        Bind { set: 0, binding: 0, object, offset: 16, len: 32 },
        Bind { set: 0, binding: 1, object, offset: 64, len: 32 },
    ];
    let dispatch = Dispatch { program: &program, groups: [2, 1, 1], bindings, push: bytes(&[0]) };
    let findings = execute(&[dispatch], &mut memory, &Options::default()).expect("runs");
    assert!(findings.is_clean(), "{findings:?}");
    let expected: Vec<u32> = (0..16).chain(4..12).chain(24..32).collect();
    assert_eq!(memory.words(object), expected);
}

#[test]
fn programs_of_different_alignment_share_an_object() {
    // Bytes first, then words of the same object: state of one dispatch must not leak into the next.
    let (small, large) = (shader!("bytes"), shader!("two_names"));
    let mut memory = Memory::new();
    let (x, h) = (memory.add(vec![1; 64]), memory.add(vec![0; 64]));
    for _ in 0..2 {
        let findings = run(&small, [2, 1, 1], &mut memory, &[x, h], &[], Order::Reverse).expect("runs");
        assert!(findings.is_clean(), "{findings:?}");
        let findings = run(&large, [2, 1, 1], &mut memory, &[x, h], &[2], Order::Reverse).expect("runs");
        assert!(findings.is_clean(), "{findings:?}");
    }
}
