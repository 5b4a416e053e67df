//! Scalar arithmetic against the host's.

use vkfuse_interp::{Memory, Order, Program};

use crate::harness::{as_floats, bytes, floats, run, shader};

#[test]
fn integers_match_the_host() {
    let pairs: [(u32, u32); 7] = [
        (7, 3),
        (u32::MAX, 2),
        (0x8000_0000, 5),
        (123_456_789, 987_654_321),
        (5, u32::MAX - 2),
        (0xdead_beef, 0x1234_5678),
        (3, 77),
    ];
    let mut memory = Memory::new();
    let x = memory.add(bytes(&pairs.iter().flat_map(|(a, b)| [*a, *b]).collect::<Vec<_>>()));
    let z = memory.add(vec![0; pairs.len() * 128]);
    let findings =
        run(&shader!("integers"), [pairs.len() as u32, 1, 1], &mut memory, &[x, z], &[], Order::Forward)
            .expect("runs");
    assert!(findings.is_clean(), "{findings:?}");
    for ((a, b), z) in pairs.into_iter().zip(memory.words(z).chunks(32)) {
        let (sa, sb) = (a as i32, b as i32);
        let product = u64::from(a) * u64::from(b);
        let msb = |v: u32| 31u32.wrapping_sub(v.leading_zeros());
        let field = 0x1ff << 5;
        let expected = [
            a.wrapping_add(b),
            a.wrapping_sub(b),
            a.wrapping_mul(b),
            a / b,
            a % b,
            sa.wrapping_div(sb) as u32,
            (sa >> (b & 31)) as u32,
            a >> (b & 31),
            a << (b & 31),
            a & b | a ^ !b,
            sa.min(sb) as u32,
            a.min(b),
            sa.clamp(-5, 5) as u32,
            sa.wrapping_abs() as u32,
            sa.signum() as u32,
            if a == 0 { u32::MAX } else { a.trailing_zeros() },
            msb(a),
            msb(if sa < 0 { !a } else { a }),
            a.count_ones(),
            a.reverse_bits(),
            a >> 3 & 0x7f,
            (sa >> 28) as u32,
            a & !field | b << 5 & field,
            a.wrapping_add(b),
            u32::from(a.checked_add(b).is_none()),
            a.wrapping_sub(b),
            u32::from(a < b),
            (product >> 32) as u32,
            u32::from(sa < sb) | u32::from(a < b) << 1 | u32::from(a == b) << 2,
            (product.wrapping_add(1) >> 32) as u32,
            u32::from(a as u8) + (u32::from(b as u16) << 8),
            i32::from(a as i8).wrapping_mul(i32::from(b as i16)) as u32,
        ];
        for (index, (found, expected)) in z.iter().zip(expected).enumerate() {
            assert_eq!(*found, expected, "result {index} of {a:#x}, {b:#x}");
        }
    }
}

#[test]
fn floats_match_the_host_bit_for_bit() {
    let pairs: [(f32, f32); 8] = [
        (1.5, 0.1),
        (-2.5, 3.7),
        (1e-40, 2.0),
        (3.0e38, 10.0),
        (-0.0, 0.0),
        (f32::NAN, 1.0),
        (0.5, -1.0e-3),
        (1234.567, 1234.567),
    ];
    let mut memory = Memory::new();
    let x = memory.add(floats(&pairs.iter().flat_map(|(a, b)| [*a, *b]).collect::<Vec<_>>()));
    let z = memory.add(vec![0; pairs.len() * 96]);
    let flags = memory.add(vec![0; pairs.len() * 4]);
    let objects = [x, z, flags];
    let findings =
        run(&shader!("floats"), [pairs.len() as u32, 1, 1], &mut memory, &objects, &[], Order::Forward)
            .expect("runs");
    assert!(findings.is_clean(), "{findings:?}");
    let flags = memory.words(flags);
    for (((a, b), z), flags) in pairs.into_iter().zip(as_floats(&memory, z).chunks(24)).zip(flags) {
        let expected = [
            a + b,
            a - b,
            a * b,
            a / b,
            a.abs().sqrt(),
            a.floor(),
            a.ceil(),
            a.trunc(),
            a.round_ties_even(),
            a - a.floor(),
            if b < a || a.is_nan() { b } else { a },
            if a < b || a.is_nan() { b } else { a },
            // A NaN is no number to bound: it gives the bound.
            if a.is_nan() { -1.0 } else { a.clamp(-1.0, 1.0) },
            a.mul_add(b, a),
            -a,
            if a > 0.0 {
                1.0
            } else if a < 0.0 {
                -1.0
            } else {
                a
            },
            if b < a { 0.0 } else { 1.0 },
            a.exp(),
            a as i32 as f32,
            a.abs() as u32 as f32,
            (f64::from(a) * f64::from(b)) as f32,
        ];
        for (index, (found, expected)) in z.iter().zip(expected).enumerate() {
            let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
            assert!(same, "result {index} of {a}, {b}: {found} instead of {expected}");
        }
        let expected = u32::from(a.is_nan())
            | u32::from(a.is_infinite()) << 1
            | u32::from(a < b) << 2
            | u32::from(a != b) << 3
            | u32::from(a == b) << 4;
        assert_eq!(flags, expected, "{a}, {b}");
    }
    // f16: 1.5 is exact, 0.1 becomes 0x2e66, and their product 0x30cc.5 rounds to even.
    let z = as_floats(&memory, z);
    assert_eq!(z[21], f32::from_bits(0x3e198000));
    assert_eq!(z[22].to_bits(), 0x2e66_3e00);
    assert_eq!(z[23], 0.75 + 1.0);
}

/// What depends on a result that is left open is found by taking another; what does not is the same.
#[test]
fn results_that_are_left_open_can_be_others() {
    let program = shader!("open");
    let values = [4.0, 0.0, -0.0, -1.0, f32::INFINITY, 1e-40];
    let results = |program: &Program| {
        let mut memory = Memory::new();
        let (x, z) = (memory.add(floats(&values)), memory.add(vec![0; values.len() * 8]));
        let findings = run(program, [values.len() as u32, 1, 1], &mut memory, &[x, z], &[], Order::Forward)
            .expect("runs");
        assert!(findings.is_clean(), "{findings:?}");
        memory.words(z)
    };
    let (usual, other) = (results(&program), results(&program.clone().with_other_open_results()));
    for ((value, usual), other) in values.iter().zip(usual.chunks(2)).zip(other.chunks(2)) {
        assert_eq!(usual[0] != other[0], *value <= 0.0, "inverseSqrt({value})");
        assert_eq!(usual[1] != other[1], *value < 0.0, "pow({value}, 2)");
    }
}

#[test]
fn dot_products_of_integers_match_the_host() {
    let triples: [[u32; 3]; 5] = [
        [0x0102_0304, 0x0506_0708, 9],
        [0xff80_7f01, 0x80ff_7f02, 0x7fff_fff0],
        [0x8080_8080, 0x7f7f_7f7f, 0x8000_0005],
        [0xffff_ffff, 0xffff_ffff, 0xffff_fffe],
        [0x8000_0000, 0x7fff_ffff, 3],
    ];
    let mut memory = Memory::new();
    let x = memory.add(bytes(triples.as_flattened()));
    let z = memory.add(vec![0; triples.len() * 32]);
    let program = shader!("dot_products");
    let findings = run(&program, [triples.len() as u32, 1, 1], &mut memory, &[x, z], &[], Order::Forward);
    assert!(findings.expect("runs").is_clean());
    for ([a, b, c], z) in triples.into_iter().zip(memory.words(z).chunks(8)) {
        let signed = |word: u32| word.to_le_bytes().map(|byte| i64::from(byte as i8));
        let unsigned = |word: u32| word.to_le_bytes().map(i64::from);
        let dot = |a: [i64; 4], b: [i64; 4]| -> i64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let (s, u, su) =
            (dot(signed(a), signed(b)), dot(unsigned(a), unsigned(b)), dot(signed(a), unsigned(b)));
        let saturated = |sum: i64| sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32;
        let words = a.wrapping_mul(b).wrapping_add(b.wrapping_mul(c));
        let expected = [
            s as u32,
            u as u32,
            su as u32,
            saturated(s + i64::from(c as i32)),
            (u + i64::from(c)).clamp(0, u32::MAX.into()) as u32,
            saturated(su + i64::from(c as i32)),
            words,
            words,
        ];
        assert_eq!(z, expected, "{a:#x} {b:#x} {c:#x}");
    }
}
