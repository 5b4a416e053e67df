//! Whole kernels against host references.

use crate::harness::{as_floats, bytes, every_order, floats, shader};

fn input(count: u32) -> Vec<f32> {
    (0..count).map(|i| (i * 37 % 101) as f32 * 0.25 - 9.0).collect()
}

#[test]
fn elementwise_kernel_matches_the_host_and_is_clean() {
    for program in [shader!("saxpy"), shader!("saxpy_optimised")] {
        let (x, y) = (input(200), input(200).into_iter().rev().collect::<Vec<_>>());
        let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 1.5 * x + y).collect();
        let buffers = [floats(&x), floats(&y), floats(&[0.0; 200])];
        every_order(
            &program,
            [4, 1, 1],
            &buffers,
            &[200, 1.5f32.to_bits()],
            |order, memory, objects, findings| {
                assert!(findings.is_clean(), "{order:?}: {findings:?}");
                assert_eq!(as_floats(memory, objects[2]), expected, "{order:?}");
            },
        );
    }
}

fn control(x: u32, i: u32) -> u32 {
    let mut steps = 0;
    let mut history = [0; 4];
    for k in 0..4u32 {
        let (mut n, mut count) = (x + k, 0);
        let mut peak = n;
        while n != 1 {
            n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
            peak = peak.max(n);
            count += 1;
            if count == 200 {
                break;
            }
        }
        let result = if count == 200 { 0 } else { count };
        steps += result;
        history[((k + i) % 4) as usize] = result + peak;
        if k == 2 && i == 5 {
            return 12345;
        }
    }
    let kind = match x % 5 {
        0 => 10,
        1 => (x + 3) * 2,
        2 => x * 2,
        _ => 77,
    };
    history[0] + 3 * history[1] + 5 * history[2] + 7 * history[3] + steps + kind + 5
}

#[test]
fn loops_calls_switches_and_local_arrays_match_the_host() {
    for program in [shader!("control"), shader!("control_optimised")] {
        let x: Vec<u32> = (0..16).map(|i| 27 + 3 * i).collect();
        let expected: Vec<u32> = x.iter().zip(0..).map(|(x, i)| control(*x, i)).collect();
        every_order(
            &program,
            [2, 1, 1],
            &[bytes(&x), bytes(&[0; 16])],
            &[],
            |order, memory, objects, findings| {
                assert!(findings.is_clean(), "{order:?}: {findings:?}");
                assert_eq!(memory.words(objects[1]), expected, "{order:?}");
            },
        );
    }
}

#[test]
fn row_kernel_with_reductions_matches_the_host_and_is_clean() {
    for program in [shader!("rows"), shader!("rows_optimised")] {
        assert_eq!(program.local_size(), [16, 1, 1], "the specialization constant's default");
        let x = input(3 * 50);
        every_order(&program, [3, 1, 1], &[floats(&x)], &[50], |order, memory, objects, findings| {
            assert!(findings.is_clean(), "{order:?}: {findings:?}");
            for (row, result) in x.chunks(50).zip(as_floats(memory, objects[0]).chunks(50)) {
                let most = row.iter().fold(f32::MIN, |a, b| a.max(*b));
                let sum: f32 = row.iter().map(|x| (x - most).exp()).sum();
                for (x, y) in row.iter().zip(result) {
                    assert!(((x - most).exp() / sum - y).abs() < 1e-6);
                }
            }
        });
    }
}

#[test]
fn id_builtins_in_three_dimensions() {
    let program = shader!("ids");
    let size = [4, 3, 4];
    let count = size.iter().product::<u32>() as usize;
    let buffers = [vec![0; count * 32]];
    every_order(&program, [2, 1, 2], &buffers, &[], |order, memory, objects, findings| {
        assert!(findings.is_clean(), "{order:?}");
        let z = memory.words(objects[0]);
        for (at, z) in z.chunks(8).enumerate() {
            let at = at as u32;
            let g = [at % 4, at / 4 % 3, at / 12];
            let local = [g[0] % 2, g[1] % 3, g[2] % 2];
            assert_eq!(z[..3], [g[0] / 2, g[1] / 3, g[2] / 2]);
            assert_eq!(z[3], (local[2] * 3 + local[1]) * 2 + local[0]);
            assert_eq!(z[4..7], local);
            assert_eq!(z[7], 434);
        }
    });
}

#[test]
fn pointers_chosen_at_run_time_and_swapping_phis() {
    let program = shader!("pointers");
    let buffers = [bytes(&[10, 11, 12, 13]), bytes(&[99; 16])];
    every_order(&program, [1, 1, 1], &buffers, &[], |order, memory, objects, findings| {
        assert!(findings.is_clean(), "{order:?}: {findings:?}");
        let expected = [1, 1, 1, 1, 10, 10, 12, 12, 10, 11, 12, 13, 1, 0, 1, 0];
        assert_eq!(memory.words(objects[1]), expected, "{order:?}");
    });
}

#[test]
fn packed_and_reinterpreted_scalars() {
    let v = [0.25f32, 0.5, -0.5, -2.75];
    let mut x = bytes(&[u32::MAX, 0xabcd_1234, 0, 0]);
    x.extend(floats(&v));
    x.extend(bytes(&[3]));
    every_order(
        &shader!("packing"),
        [1, 1, 1],
        &[x, vec![0; 64]],
        &[],
        |order, memory, objects, findings| {
            assert!(findings.is_clean(), "{order:?}: {findings:?}");
            let z = memory.words(objects[1]);
            let expected = [
                0,
                0xabcd_1235,
                0x1235,
                0x0000_8040,
                0x4000_2000,
                (128.0f32 / 255.0).to_bits(),
                (-0.75f32).to_bits(),
                (-2.0f32).to_bits(),
                2.0f32.to_bits(),
                2,
                0.25f32.to_bits(),
                (-1.0f32).to_bits(),
                0,
                (-0.5f32).to_bits(),
                (-0.25f32).to_bits(),
                5.0f32.to_bits(),
            ];
            assert_eq!(z, expected);
        },
    );
}
