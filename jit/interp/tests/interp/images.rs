//! Texels: formats, bounds, races, samples.

use vkfuse_interp::{
    Access, AccessKind, Bind, Channel, Dispatch, Filter, Findings, Memory, ObjectId, Options, OracleError,
    Order, Place, Program, TexelFormat, execute,
};

use crate::harness::{as_floats, bytes, floats, shader, whole};

/// One dispatch over an image at binding 0 and buffers at the others.
fn over(
    program: &Program,
    groups: [u32; 3],
    image: (Vec<u8>, [u32; 3]),
    buffers: &[Vec<u8>],
    push: &[u32],
    order: Order,
) -> (Memory, Vec<ObjectId>, Findings) {
    let mut memory = Memory::new();
    let mut objects = vec![memory.add_image(image.0, image.1)];
    objects.extend(buffers.iter().map(|buffer| memory.add(buffer.clone())));
    let findings = run(program, groups, &mut memory, &objects, push, order, false);
    (memory, objects, findings)
}

fn run(
    program: &Program,
    groups: [u32; 3],
    memory: &mut Memory,
    objects: &[ObjectId],
    push: &[u32],
    order: Order,
    robust: bool,
) -> Findings {
    let bindings = objects.iter().zip(0..).map(|(&object, binding)| whole(memory, binding, object)).collect();
    let dispatch = Dispatch { program, groups, bindings, push: bytes(push) };
    execute(&[dispatch], memory, &Options { order, seed: 1, robust, ..Options::default() }).expect("it runs")
}

/// What eight texels of a format hold after these vectors were written, and what is read from them.
fn converted(program: &Program, bytes_of_texel: usize, written: [u32; 32]) -> (Vec<u8>, Vec<u32>) {
    let buffers = [bytes(&written), vec![0; 128]];
    let image = (vec![0; 8 * bytes_of_texel], [8, 0, 0]);
    let (memory, objects, findings) = over(program, [1, 1, 1], image, &buffers, &[], Order::Forward);
    assert!(findings.is_clean() && findings.notes.is_empty(), "{findings:?}");
    (memory.bytes(objects[0]).to_vec(), memory.words(objects[2]))
}

/// Eight vectors with these first components; the others are `k / 64` for component number `k`.
fn vectors(first: [f32; 8]) -> [u32; 32] {
    std::array::from_fn(|k| if k % 4 == 0 { first[k / 4].to_bits() } else { (k as f32 / 64.0).to_bits() })
}

fn first_of_each(words: &[u32]) -> Vec<u32> {
    words.iter().step_by(4).copied().collect()
}

#[test]
fn unorm_clamps_and_rounds_to_even() {
    let given = [0.0, 1.0, -0.5, 7.0, f32::NAN, 0.5, 1.4999 / 255.0, 254.6 / 255.0];
    let (texels, read) = converted(&shader!("texels_rgba8"), 4, vectors(given));
    let stored: Vec<u8> = texels.iter().step_by(4).copied().collect();
    // 127.5 is a tie.
    assert_eq!(stored, [0, 255, 0, 255, 0, 128, 1, 255]);
    let expected: Vec<u32> = stored.iter().map(|&byte| (f32::from(byte) / 255.0).to_bits()).collect();
    assert_eq!(first_of_each(&read), expected);
    // The second component of the second vector: 5 / 64 * 255 = 19.92.
    assert_eq!((texels[5], read[5]), (20, (20f32 / 255.0).to_bits()));
}

#[test]
fn snorm_has_two_lowest_numbers() {
    let given = [0.0, 1.0, -1.0, -3.0, 0.5, -0.5, f32::NAN, f32::NEG_INFINITY];
    let (texels, read) = converted(&shader!("texels_rgba8_snorm"), 4, vectors(given));
    let stored: Vec<i8> = texels.iter().step_by(4).map(|&byte| byte as i8).collect();
    // 63.5 is a tie.
    assert_eq!(stored, [0, 127, -127, -127, 64, -64, 0, -127]);
    assert_eq!(f32::from_bits(read[8]), -1.0);
    // -128 also stands for -1.
    let mut memory = Memory::new();
    let objects =
        [memory.add_image(vec![0x80; 32], [8, 0, 0]), memory.add(vec![0; 128]), memory.add(vec![0; 128])];
    let read = Program::clone(&shader!("texels_rgba8_snorm"));
    run(&read, [1, 1, 1], &mut memory, &objects, &[], Order::Forward, false);
    assert_eq!(memory.bytes(objects[0]), [0; 32], "zeros were written over it");
}

#[test]
fn missing_channels_are_zero_and_alpha_one() {
    let (_, read) = converted(&shader!("texels_rg8"), 2, vectors([1.0; 8]));
    assert_eq!(
        read[..4].iter().map(|&word| f32::from_bits(word)).collect::<Vec<_>>(),
        [1.0, 4.0 / 255.0, 0.0, 1.0]
    );
    let (texels, read) = converted(&shader!("texels_r32i"), 4, [0xffff_fff0; 32]);
    assert_eq!(texels[..4], [0xf0, 0xff, 0xff, 0xff]);
    assert_eq!(read[..4], [0xffff_fff0, 0, 0, 1]);
    let (_, read) = converted(&shader!("texels_rg32f"), 8, vectors([2.5; 8]));
    assert_eq!(read[..4], [2.5f32.to_bits(), (1f32 / 64.0).to_bits(), 0, 1f32.to_bits()]);
}

#[test]
fn wide_unorm_and_halves_round() {
    let (texels, _) =
        converted(&shader!("texels_rgba16"), 8, vectors([1.0, 0.5, 0.25, 2.0, 0.0, 0.0, 0.0, 0.0]));
    let word = |texel: usize| u16::from_le_bytes([texels[8 * texel], texels[8 * texel + 1]]);
    // 32767.5 is a tie, 16383.75 is not.
    assert_eq!([word(0), word(1), word(2), word(3)], [65535, 32768, 16384, 65535]);
    let given = [1.0, 65504.0, 1e6, 1.0 / 3.0, -0.0, 6e-8, 2049.0, f32::NEG_INFINITY];
    let (texels, read) = converted(&shader!("texels_r16f"), 2, vectors(given));
    let halves: Vec<u16> = texels.as_chunks::<2>().0.iter().map(|half| u16::from_le_bytes(*half)).collect();
    assert_eq!(halves, [0x3c00, 0x7bff, 0x7c00, 0x3555, 0x8000, 0x0001, 0x6800, 0xfc00]);
    assert_eq!(f32::from_bits(read[4 * 3]), 0.333_251_95);
    assert_eq!(f32::from_bits(read[4 * 6]), 2048.0);
}

#[test]
fn integers_keep_their_sign() {
    let given: [u32; 32] = std::array::from_fn(|k| [0, 200, 255, 7][k % 4]);
    let (texels, read) = converted(&shader!("texels_rgba8ui"), 4, given);
    assert_eq!((&texels[..4], &read[..4]), (&[0, 200, 255, 7][..], &[0, 200, 255, 7][..]));
    let given: [u32; 32] = std::array::from_fn(|k| [0, -128i32 as u32, -1i32 as u32, 127][k % 4]);
    let (texels, read) = converted(&shader!("texels_rgba8i"), 4, given);
    assert_eq!((&texels[..4], &read[..4]), (&[0, 128, 255, 127][..], &given[..4]));
}

/// Sixteen texels by eight, read and written somewhere else.
fn moved(read: [i32; 2], write: [i32; 2]) -> (Vec<u32>, Findings) {
    let mut memory = Memory::new();
    let texels: Vec<u32> = (100..228).collect();
    let from = memory.add_image(bytes(&texels), [16, 8, 0]);
    let to = memory.add_image(vec![0; 512], [16, 8, 0]);
    let push = [read[0], read[1], write[0], write[1]].map(|word| word as u32);
    let findings =
        run(&shader!("texels_moved"), [2, 8, 1], &mut memory, &[from, to], &push, Order::Forward, false);
    (memory.words(to), findings)
}

#[test]
fn texels_outside_are_named_by_their_coordinates() {
    let (to, findings) = moved([0, 0], [0, 0]);
    assert!(findings.is_clean() && findings.notes.is_empty(), "{findings:?}");
    assert_eq!(to, (100..228).collect::<Vec<_>>());
    // Each way out: left, right, above, below.
    let ways = [
        ([-1, 0], 8, [-1, 0, 0]),
        ([1, 0], 8, [16, 0, 0]),
        ([0, -2], 32, [0, -2, 0]),
        ([0, 3], 48, [0, 8, 0]),
    ];
    for (by, count, first) in ways {
        let (to, findings) = moved(by, [0, 0]);
        assert_eq!((findings.out_of_bounds.count, findings.notes.count), (count, 0), "{by:?}");
        let found = findings.out_of_bounds.list[0];
        assert_eq!((found.texel, found.access.kind), (Some(first), AccessKind::Read));
        let Access { place, .. } = found.access;
        assert_eq!(place, Place::Binding { set: 0, binding: 0 });
        for (k, &texel) in to.iter().enumerate() {
            let (x, y) = (k as i32 % 16 + by[0], k as i32 / 16 + by[1]);
            let inside = (0..16).contains(&x) && (0..8).contains(&y);
            assert_eq!(texel, if inside { 100 + (16 * y + x) as u32 } else { 0 }, "{by:?}");
        }
        // A write outside has no effect, and is no fault.
        let (to, findings) = moved([0, 0], by);
        assert!(findings.is_clean(), "{findings:?}");
        assert_eq!(findings.notes.count, count, "{by:?}");
        assert_eq!(to.iter().filter(|&&texel| texel == 0).count() as u64, count);
    }
}

#[test]
fn only_a_barrier_for_images_orders_texels() {
    let cases = [
        (shader!("texels_exchange_plain"), true),
        (shader!("texels_exchange_buffer"), true),
        (shader!("texels_exchange_image"), false),
    ];
    for (program, races) in cases {
        for order in Order::ALL {
            let image = (vec![0; 64], [16, 1, 0]);
            let (memory, objects, findings) = over(&program, [2, 1, 1], image, &[vec![0; 64]], &[], order);
            assert_eq!(findings.races.count > 0, races, "{order:?}: {findings:?}");
            if races {
                assert!(findings.races.list[0].barrier_without_memory);
                continue;
            }
            assert!(findings.is_clean(), "{findings:?}");
            let expected: Vec<f32> = (0..16).map(|i| (7 - i % 8) as f32 / 255.0).collect();
            assert_eq!(as_floats(&memory, objects[1]), expected);
        }
    }
}

#[test]
fn atomics_on_a_texel_are_no_race_and_plain_accesses_are() {
    for order in Order::ALL {
        let image = || (vec![0; 4 * 24], [4, 3, 2]);
        let (memory, objects, findings) =
            over(&shader!("texels_count"), [3, 1, 1], image(), &[], &[3, 2, 1], order);
        assert!(findings.is_clean(), "{findings:?}");
        assert_eq!(memory.words(objects[0])[23], (0..24).sum());
        let (_, _, findings) =
            over(&shader!("texels_count_plain"), [3, 1, 1], image(), &[], &[0, 1, 1], order);
        assert!(findings.races.count > 0);
        assert_eq!(findings.races.list[0].offset, 4 * 16);
        let outside = [[4, 0, 0], [-1i32 as u32, 0, 0], [0, 3, 0], [0, 0, 2], [0, 0, -7i32 as u32]];
        for at in outside {
            let (memory, objects, findings) =
                over(&shader!("texels_count"), [1, 1, 1], image(), &[], &at, order);
            assert_eq!(findings.out_of_bounds.count, 8);
            assert_eq!(findings.out_of_bounds.list[0].texel, Some(at.map(|side| side as i32)));
            assert_eq!(memory.words(objects[0]), [0; 24]);
        }
    }
}

#[test]
fn buffers_are_texels_of_the_format_that_is_said() {
    let halves: Vec<u8> = (0..16u16).flat_map(|k| [0, 0x3c + k as u8]).collect();
    let mut program = shader!("texels_buffer");
    let run = |program: &Program, push: [i32; 2], robust: bool| {
        let mut memory = Memory::new();
        let objects = [memory.add(halves.clone()), memory.add(vec![0; 32])];
        let push = push.map(|word| word as u32);
        let bindings = objects.iter().zip(0..).map(|(&object, n)| whole(&memory, n, object)).collect();
        let dispatch = Dispatch { program, groups: [1, 1, 1], bindings, push: bytes(&push) };
        let findings = execute(&[dispatch], &mut memory, &Options { robust, ..Options::default() });
        findings.map(|findings| (as_floats(&memory, objects[1]), findings))
    };
    let unknown = OracleError::UnknownFormat { dispatch: 0, set: 0, binding: 0 };
    assert_eq!(run(&program, [0, 0], false).unwrap_err(), unknown);
    program.set_format(0, 0, TexelFormat { channel: Channel::Float16, channels: 2 });
    let (to, findings) = run(&program, [0, 0], false).expect("it runs");
    assert!(findings.is_clean(), "{findings:?}");
    // The second halves of eight texels, and the two sizes, which are eight.
    let half = |k: u32| f32::from_bits(((k >> 2) + 112) << 23 | (k & 3) << 21);
    let expected: Vec<f32> = (0..8).map(|i| half(0x3c + 2 * i + 1) + 16.0).collect();
    assert_eq!(to, expected);
    // Outside, a texel is zeros, which is defined with robust access.
    for robust in [false, true] {
        let (to, findings) = run(&program, [3, 0], robust).expect("it runs");
        assert_eq!(
            (findings.out_of_bounds.count, findings.notes.count),
            if robust { (0, 3) } else { (3, 0) }
        );
        assert_eq!(to[5..], [16.0; 3]);
        let (to, findings) = run(&program, [0, -2], robust).expect("it runs");
        assert_eq!((findings.is_clean(), findings.notes.count, to[6]), (true, 2, 0.0));
    }
}

#[test]
fn samples_are_of_the_nearest_texel_or_of_those_around() {
    let mut program = shader!("texels_sampled");
    program.set_format(0, 0, TexelFormat { channel: Channel::Float32, channels: 1 });
    let texels: Vec<f32> = (0..12).map(|k| (k * k) as f32).collect();
    let at = |program: &Program, x: f32, y: f32, texel: [i32; 2]| {
        let push = [x.to_bits(), y.to_bits(), texel[0] as u32, texel[1] as u32];
        let image = (floats(&texels), [4, 3, 0]);
        let (memory, objects, findings) =
            over(program, [1, 1, 1], image, &[vec![0; 64]], &push, Order::Forward);
        (as_floats(&memory, objects[1]), findings)
    };
    for (x, y, expected) in [(0.3, 0.5, 25.0), (-2.0, -2.0, 0.0), (1.0, 1.0, 121.0), (0.99, 0.2, 9.0)] {
        let (y, findings) = at(&program, x, y, [2, 1]);
        // One invocation of eight would do; they all write the same.
        assert!(findings.out_of_bounds.is_empty());
        assert_eq!(y[..8], [expected, 0.0, 0.0, 1.0, 36.0, 0.0, 0.0, 1.0]);
        assert_eq!(y[8..12], [4.0, 3.0, 0.0, 0.0]);
    }
    let (_, findings) = at(&program, 0.5, 0.5, [4, 0]);
    assert_eq!(findings.out_of_bounds.list[0].texel, Some([4, 0, 0]));
    program.set_filter(0, 0, Filter::Linear);
    // Between four texels, in the middle of one, at a corner.
    let cases = [
        (0.5, 0.5, (25.0 + 36.0) / 2.0),
        (0.375, 0.5, 25.0),
        (0.0, 0.0, 0.0),
        (0.5, 1.0 / 3.0, (1.0 + 4.0 + 25.0 + 36.0) / 4.0),
    ];
    for (x, y, expected) in cases {
        assert!((at(&program, x, y, [0, 0]).0[0] - expected).abs() < 1e-4, "({x}, {y})");
    }
    // Offsets are texels.
    assert_eq!(at(&program, 0.375, 0.5, [0, 0]).0[12], 36.0);
}

/// An image that is smaller than its extent is a mistake of anyone who binds it.
#[test]
fn an_extent_has_its_texels() {
    let mut memory = Memory::new();
    let objects = [memory.add_image(vec![0; 16], [4, 4, 0]), memory.add(vec![0; 512])];
    let bindings = vec![
        Bind { set: 0, binding: 0, object: objects[0], offset: 0, len: 16 },
        Bind { set: 0, binding: 1, object: objects[1], offset: 0, len: 512 },
    ];
    let program = shader!("texels_moved");
    let dispatch = Dispatch { program: &program, groups: [1, 1, 1], bindings, push: vec![0; 16] };
    let error = execute(&[dispatch], &mut memory, &Options::default()).unwrap_err();
    assert_eq!(error, OracleError::BadRange { dispatch: 0, set: 0, binding: 0 });
}
