//! A product of matrices by a sub-group (VK_KHR_cooperative_matrix), with element-wise kernels before and behind it in one list.
//!
//! The module is put together here, word by word: the assemblers of many systems do not know its instructions. A device without the
//! extension refuses it, and names what it takes.

use vkfuse::{Error, Outcome, SubmitError};

/// Rows and columns of each matrix.
const SIDE: u32 = 16;
const CELLS: u32 = SIDE * SIDE;

/// `c = a * b` in row-major order: `a` and `b` of 16-bit floats, `c` of 32-bit floats. A work-group is one sub-group of 32.
fn product() -> Vec<u32> {
    let text = |text: &str| {
        let mut bytes: Vec<u8> = text.bytes().chain([0]).collect();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
            .chunks_exact(4)
            .map(|four| u32::from_le_bytes(four.try_into().expect("four")))
            .collect::<Vec<_>>()
    };
    let mut words = vec![0x0723_0203, 0x0001_0600, 0, 64, 0];
    let mut put = |opcode: u32, operands: &[u32]| {
        words.push((operands.len() as u32 + 1) << 16 | opcode);
        words.extend_from_slice(operands);
    };
    let [main, void, function, f16, f32, u32] = [1, 2, 3, 4, 5, 6];
    let [halves, half_block, to_half_block, floats, float_block, to_float_block] = [7, 8, 9, 10, 11, 12];
    let [a, b, c, to_half, to_float] = [13, 14, 15, 16, 17];
    let [zero, one, two, three, side, of_a, of_b, of_c] = [20, 21, 22, 23, 24, 25, 26, 27];
    let [none, label, at_a, at_b, at_c, left, right, sum] = [30, 31, 32, 33, 34, 35, 36, 37];
    // Shader, Float16, StorageBuffer16BitAccess, VulkanMemoryModel, CooperativeMatrixKHR.
    for capability in [1, 9, 4433, 5345, 6022] {
        put(17, &[capability]);
    }
    put(10, &text("SPV_KHR_cooperative_matrix"));
    // Logical, Vulkan.
    put(14, &[0, 3]);
    put(15, &[&[5, main], &text("main")[..], &[a, b, c]].concat());
    put(16, &[main, 17, 32, 1, 1]);
    for (number, variable) in [a, b, c].into_iter().enumerate() {
        put(71, &[variable, 34, 0]);
        put(71, &[variable, 33, number as u32]);
    }
    for (array, stride, block) in [(halves, 2, half_block), (floats, 4, float_block)] {
        put(71, &[array, 6, stride]);
        put(72, &[block, 0, 35, 0]);
        put(71, &[block, 2]);
    }
    put(19, &[void]);
    put(33, &[function, void]);
    put(22, &[f16, 16]);
    put(22, &[f32, 32]);
    put(21, &[u32, 32, 0]);
    for (array, of, block, pointer, to) in [
        (halves, f16, half_block, to_half_block, to_half),
        (floats, f32, float_block, to_float_block, to_float),
    ] {
        put(29, &[array, of]);
        put(30, &[block, array]);
        put(32, &[pointer, 12, block]);
        put(32, &[to, 12, of]);
    }
    for (variable, pointer) in [(a, to_half_block), (b, to_half_block), (c, to_float_block)] {
        put(59, &[pointer, variable, 12]);
    }
    for (constant, value) in [(zero, 0), (one, 1), (two, 2), (three, 3), (side, SIDE)] {
        put(43, &[u32, constant, value]);
    }
    // Matrices of a sub-group (scope 3): the left factor, the right one, and the sum.
    for (matrix, of, what) in [(of_a, f16, zero), (of_b, f16, one), (of_c, f32, two)] {
        put(4456, &[matrix, of, three, side, side, what]);
    }
    put(46, &[of_c, none]);
    put(54, &[void, main, 0, function]);
    put(248, &[label]);
    for (to, at, variable) in [(to_half, at_a, a), (to_half, at_b, b), (to_float, at_c, c)] {
        put(65, &[to, at, variable, zero, zero]);
    }
    put(4457, &[of_a, left, at_a, zero, side]);
    put(4457, &[of_b, right, at_b, zero, side]);
    put(4459, &[of_c, sum, left, right, none]);
    put(4458, &[at_c, sum, zero, side]);
    put(253, &[]);
    put(56, &[]);
    words
}

/// What the cells of a factor are made of.
fn cell(number: u32, low: bool) -> u32 {
    let word = (number / 2) * 3 + 1;
    if low { word & 15 } else { word >> 4 & 7 }
}

#[test]
fn a_product_of_matrices_between_kernels_that_fuse() {
    let rig = rig!();
    let product = match rig.context.kernel_from_words("product", &product()) {
        Ok(kernel) => kernel,
        Err(Error::Submit { problem: problem @ SubmitError::Requirement { .. }, .. }) => {
            let SubmitError::Requirement { what, enable, needs, .. } = &problem else { unreachable!() };
            assert_eq!(*enable, None, "the device has it, and was made without");
            assert!(needs.is_some(), "{what}");
            return println!("skipped: {problem}");
        }
        Err(other) => panic!("{other}"),
    };
    let buffers = |a: &str, z: &str| {
        format!(
            "@group(0) @binding(0) var<storage, read> a: array<{a}>;\n\
             @group(0) @binding(1) var<storage, read_write> z: array<{z}>;\n\
             @compute @workgroup_size(64)\nfn main(@builtin(global_invocation_id) gid: vec3<u32>) {{\n let i = gid.x;\n"
        )
    };
    let wgsl = |name: &str, head: &str, body: &str| {
        rig.context.kernel_from_wgsl(name, &format!("{head} {body}\n}}")).expect("it compiles")
    };
    let words = wgsl("words", &buffers("u32", "u32"), "z[i] = a[i] * 3u + 1u;");
    let halves = wgsl(
        "halves",
        &buffers("u32", "u32"),
        "z[i] = pack2x16float(vec2(f32(a[i] & 15u), f32((a[i] >> 4u) & 7u)));",
    );
    let twice = wgsl("twice", &buffers("f32", "f32"), "z[i] = a[i] * 2.0 + 1.0;");
    let less = wgsl("less", &buffers("f32", "f32"), "z[i] = a[i] - f32(i);");

    let given = rig.context.buffer_from(&(0..CELLS / 2).collect::<Vec<_>>()).unwrap();
    let [first, factor] = [(); 2].map(|()| rig.context.buffer_from(&vec![7u32; CELLS as usize / 2]).unwrap());
    let [sums, doubled, result] =
        [(); 3].map(|()| rig.context.buffer_from(&vec![f32::NAN; CELLS as usize]).unwrap());
    let event = rig.queue.fuse(|queue| {
        queue.submit(|h| {
            h.arg(0, given.read()).arg(1, first.write()).dispatch(&words, [2, 1, 1]);
        })?;
        queue.submit(|h| {
            h.arg(0, first.read()).arg(1, factor.write()).dispatch(&halves, [2, 1, 1]);
        })?;
        queue.submit(|h| {
            h.arg(0, factor.read()).arg(1, factor.read()).arg(2, sums.write()).dispatch(&product, [1, 1, 1]);
        })?;
        queue.submit(|h| {
            h.arg(0, sums.read()).arg(1, doubled.write()).dispatch(&twice, [4, 1, 1]);
        })?;
        queue.submit(|h| {
            h.arg(0, doubled.read()).arg(1, result.write()).dispatch(&less, [4, 1, 1]);
        })?;
        Ok(())
    });
    let event = event.unwrap();
    event.wait().unwrap();
    assert_ne!(event.outcome(), Outcome::Failed);
    let report = event.report().unwrap();
    let at = |row: u32, column: u32| {
        let number = row * SIDE + column;
        cell(number, number.is_multiple_of(2)) as f32
    };
    let cells = (0..CELLS).map(|i| (i / SIDE, i % SIDE));
    let expected: Vec<f32> =
        cells.map(|(row, column)| (0..SIDE).map(|k| at(row, k) * at(k, column)).sum()).collect();
    assert_eq!(sums.download().unwrap(), expected);
    let expected: Vec<f32> = expected.iter().enumerate().map(|(i, sum)| sum * 2.0 + 1.0 - i as f32).collect();
    assert_eq!(result.download().unwrap(), expected);
    assert_eq!(report.dispatches, 3, "{report:#?}");
    println!("the product is right on {}: 5 submissions in 3 dispatches", rig.context.device_info().name);
    rig.assert_no_validation_messages();
}
