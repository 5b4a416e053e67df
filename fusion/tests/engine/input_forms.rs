//! Every form of input that must work: what compilers write, and what the language has.
//!
//! Each form is fused with a neighbour that reads its result, promoted to private memory, and compared bit for bit with
//! the unfused run and with the host.

use crate::support::{self, Rig, Size, Submit, Workload};
use vkfuse::Promote::Private;
use vkfuse::{FusionProperties, Module, Outcome};

const N: u32 = 1000;
const ITEMS: Size = Size::Items([N, 1, 1]);

/// `mul` and `sub` of every compiler and version, each with each, must fuse: four versions of SPIR-V in one module.
#[test]
fn every_compiler_with_every_other() {
    let rig = rig!();
    let variants = [
        ("", true),
        (".debug", true),
        (".debuginfo", true),
        (".optimised", true),
        (".spirv1.0", true),
        (".spirv1.3", true),
        (".spirv1.4", true),
        (".spirv1.5", true),
        (".spirv1.6", true),
        (".hlsl", true),
        (".wgsl", false),
    ];
    for (k, (first, first_takes_n)) in variants.into_iter().enumerate() {
        // Each as producer with two others as consumer covers every pair of neighbours and of distant ones.
        for step in [1, 4] {
            let (second, second_takes_n) = variants[(k + step) % variants.len()];
            let mut list = Workload::default();
            let x = list.floats("x", (0..N).map(|i| i as f32 * 0.25));
            let y = list.floats("y", (0..N).map(|i| 3.0 - i as f32));
            let tmp = list.poisoned("tmp", N as usize);
            let out = list.poisoned("out", N as usize);
            list.promote(tmp, Private);
            for (kernel, variant, takes_n, from, to) in
                [("mul", first, first_takes_n, x, tmp), ("sub", second, second_takes_n, tmp, out)]
            {
                let folder = if variant.is_empty() { "chain" } else { "chain/variants" };
                let mut submit = Submit::new(&format!("{folder}/{kernel}{variant}"), ITEMS);
                if takes_n {
                    submit = submit.push(N);
                }
                list.submit(submit.read(0, from).read(1, y).write(2, to));
            }
            let ran = list.check_fused(&rig);
            for (i, &value) in ran.floats(out).iter().enumerate() {
                let (x, y) = (i as f32 * 0.25, 3.0 - i as f32);
                assert_eq!(value, x * y - y, "mul{first} then sub{second}, out[{i}]");
            }
            ran.assert_internalized(tmp, Private);
        }
    }
}

/// WGSL as text, with two entry points in one module.
#[cfg(feature = "wgsl")]
#[test]
fn wgsl_text_and_several_entry_points() {
    let rig = rig!();
    let text = std::fs::read_to_string(support::shader("forms/two_entries").with_extension("wgsl")).unwrap();
    let module = Module::from_wgsl("two_entries", &text).unwrap();
    let mut entries = module.entry_points().to_vec();
    entries.sort();
    assert_eq!(entries, ["plus_one", "twice"]);
    let twice = rig.context.kernel(&module, Some("twice")).unwrap();
    let plus_one = rig.context.kernel(&module, Some("plus_one")).unwrap();

    let data: Vec<f32> = (0..N).map(|i| i as f32).collect();
    let x = rig.context.buffer_from(&data).unwrap();
    let tmp = rig.context.buffer::<f32>(N as usize).unwrap().promote_private();
    let out = rig.context.buffer::<f32>(N as usize).unwrap();
    let done = rig
        .queue
        .fuse(|queue| {
            queue.submit(|h| {
                h.arg(0, x.read()).arg(1, tmp.write()).dispatch_items(&twice, [N, 1, 1]);
            })?;
            queue.submit(|h| {
                h.arg(0, tmp.read()).arg(1, out.write()).dispatch_items(&plus_one, [N, 1, 1]);
            })?;
            Ok(())
        })
        .unwrap();
    done.wait().unwrap();
    assert_eq!(done.outcome(), Outcome::Fused, "{:#?}", done.report());
    for (x, value) in data.iter().zip(out.download().unwrap()) {
        assert_eq!(value, 2.0 * x + 1.0);
    }
    rig.assert_no_validation_messages();
}

/// A list of one form and, after it, a kernel that doubles its 32-bit result by adding it to itself.
fn then_add(list: &mut Workload, tmp: support::Buf) -> support::Buf {
    let out = list.poisoned("out", N as usize);
    list.promote(tmp, Private);
    list.submit(Submit::new("pair/add", ITEMS).local(&[256]).read(0, tmp).read(1, tmp).write(2, out).push(N));
    out
}

/// Helper functions, early returns, loops with break and continue, a switch that falls through.
#[test]
fn control_flow() {
    let rig = rig!();
    let mut list = Workload::default();
    let x = list.words("x", 0..N);
    let tmp = list.poisoned("tmp", N as usize);
    list.submit(Submit::new("forms/control_flow", ITEMS).read(0, x).write(1, tmp).push(N));
    let out = then_add(&mut list, tmp);
    let ran = list.check_fused(&rig);
    for (i, &value) in (0..).zip(ran.words(out)) {
        assert_eq!(value, 2 * (1000 * steps(i) + classify(i)), "out[{i}]");
    }
    ran.assert_internalized(tmp, Private);
}

fn steps(mut value: u32) -> u32 {
    let mut count = 0;
    while value > 1 && count < 200 {
        value = if value.is_multiple_of(2) { value / 2 } else { 3 * value + 1 };
        count += 1;
    }
    count
}

fn classify(value: u32) -> u32 {
    match value % 5 {
        0 => 100,
        1 => (value + 7) * 2,
        2 => value * 2,
        _ if value > 50 => 1,
        _ => value + 3,
    }
}

/// A buffer with a header in front of its data: written by two members.
#[test]
fn header_struct() {
    let rig = rig!();
    let mut list = Workload::default();
    let data = (0..N).map(|i| (i as f32 + 0.5).to_bits());
    let x = list.words("x", std::iter::once(N).chain(data));
    let y = list.poisoned("y", N as usize + 1);
    let z = list.poisoned("z", N as usize + 1);
    list.submit(Submit::new("forms/header_struct", ITEMS).read(0, x).write(1, y));
    list.submit(Submit::new("forms/header_struct", ITEMS).read(0, y).write(1, z));
    // The second kernel's bound is what the first one's item 0 wrote: no fusion, and right results.
    let ran = list.check_equal(&rig);
    assert_eq!(ran.words(z)[0], N);
    for (i, &value) in ran.floats(z)[1..].iter().enumerate() {
        assert_eq!(value, 4.0 * (i as f32 + 0.5), "z[{i}]");
    }
    assert_ne!(ran.outcome(), Outcome::Fused);
}

/// The length of the bound range, which is a part of a larger buffer, is the bound.
#[test]
fn length() {
    let rig = rig!();
    let mut list = Workload::default();
    let x = list.floats("x", (0..N).map(|i| i as f32));
    let tmp = list.poisoned("tmp", N as usize);
    let out = list.poisoned("out", 2 * N as usize);
    list.submit(Submit::new("forms/length", ITEMS).read(0, x).write(1, tmp));
    list.submit(Submit::new("forms/length", ITEMS).read(0, tmp).write(1, out).range(64, 900));
    let ran = list.check_fused(&rig);
    for (i, &value) in ran.floats(out).iter().enumerate() {
        if (64..964).contains(&i) {
            assert_eq!(value, 4.0 * (i - 64) as f32, "out[{i}]");
        } else {
            assert_eq!(value.to_bits(), list.preset(out)[i], "out[{i}] is outside the range");
        }
    }
}

/// Dot products of packed integers: the analysis knows only that they touch no memory.
#[test]
fn integer_dot_product() {
    const WORDS: u32 = 1024;
    let rig = rig!();
    let mut list = Workload::default();
    let x = list.words("x", (0..WORDS).map(|i| i.wrapping_mul(0x9e37_79b9)));
    let (tmp, out) = (list.poisoned("tmp", WORDS as usize), list.poisoned("out", WORDS as usize));
    list.promote(tmp, Private);
    list.submit(Submit::new("forms/dot_product", Size::Groups([WORDS / 64, 1, 1])).read(0, x).write(1, tmp));
    let add = Submit::new("pair/add", Size::Items([WORDS, 1, 1])).local(&[256]);
    list.submit(add.read(0, tmp).read(1, tmp).write(2, out).push(WORDS));
    let ran = list.check_fused(&rig);
    for (i, &value) in (0u32..).zip(ran.words(out)) {
        let bytes = i.wrapping_mul(0x9e37_79b9u32).to_le_bytes().map(u32::from);
        assert_eq!(value, 4 * bytes.iter().map(|byte| byte * byte).sum::<u32>(), "out[{i}]");
    }
    ran.assert_internalized(tmp, Private);
}

/// Settings in a uniform buffer with the padding of std140.
#[test]
fn uniform_buffer() {
    let rig = rig!();
    let mut list = Workload::default();
    let mut words = [0_u32; 12];
    (words[0], words[1], words[9]) = (N, 1.5_f32.to_bits(), 0.25_f32.to_bits());
    let settings = list.words("settings", words);
    let x = list.floats("x", (0..N).map(|i| i as f32));
    let tmp = list.poisoned("tmp", N as usize);
    let out = list.poisoned("out", N as usize);
    for (from, to) in [(x, tmp), (tmp, out)] {
        list.submit(Submit::new("forms/uniform_buffer", ITEMS).read(0, settings).read(1, from).write(2, to));
    }
    let ran = list.check_fused(&rig);
    for (i, &value) in ran.floats(out).iter().enumerate() {
        assert_eq!(value, (i as f32 * 1.5 + 0.25) * 1.5 + 0.25, "out[{i}]");
    }
}

/// Push constants with padding between the members, next to a kernel with another block.
#[test]
fn push_padding() {
    let rig = rig!();
    let mut list = Workload::default();
    let x = list.floats("x", (0..N).map(|i| i as f32));
    let tmp = list.poisoned("tmp", N as usize);
    let out = list.poisoned("out", N as usize);
    list.promote(tmp, Private);
    for (from, to, scalar) in [(x, tmp, 7.0), (tmp, out, 0.5)] {
        let submit = Submit::new("forms/push_padding", ITEMS).read(0, from).write(1, to);
        let submit = submit.push(N).push(u32::MAX).push(u32::MAX).push(u32::MAX);
        list.submit([2.0, 3.0, 4.0, scalar].into_iter().fold(submit, Submit::push_f32));
    }
    let ran = list.check_fused(&rig);
    for (i, &value) in ran.floats(out).iter().enumerate() {
        let factor = [2.0, 3.0, 4.0][i % 3];
        assert_eq!(value, (i as f32 * factor + 7.0) * factor + 0.5, "out[{i}]");
    }
    ran.assert_internalized(tmp, Private);
}

/// A matrix per element, with its column stride.
#[test]
fn matrix() {
    let rig = rig!();
    let mut list = Workload::default();
    // Three columns of three numbers, each padded to four.
    let m = list.floats("m", (0..12 * N).map(|k| if k % 4 == 3 { f32::NAN } else { (k % 7) as f32 }));
    let x = list.floats("x", (0..4 * N).map(|k| (k % 5) as f32));
    let tmp = list.poisoned("tmp", 4 * N as usize);
    let out = list.poisoned("out", 4 * N as usize);
    list.promote(tmp, Private);
    for (from, to) in [(x, tmp), (tmp, out)] {
        list.submit(Submit::new("forms/matrix", ITEMS).read(0, m).read(1, from).write(2, to).push(N));
    }
    let ran = list.check_fused(&rig);
    let product = |i: usize, x: [f32; 3]| {
        [0, 1, 2]
            .map(|row| (0..3).map(|column| ((12 * i + 4 * column + row) % 7) as f32 * x[column]).sum::<f32>())
    };
    for i in 0..N as usize {
        let x = [0, 1, 2].map(|k| ((4 * i + k) % 5) as f32);
        assert_eq!(ran.floats(out)[4 * i..4 * i + 3], product(i, product(i, x)), "out[{i}]");
        assert_eq!(ran.floats(out)[4 * i + 3], ((4 * i + 3) % 5) as f32);
    }
    ran.assert_internalized(tmp, Private);
}

/// Types of other widths. The result of the second kernel must be that of the unfused run; widths in words.
fn width(
    rig: &Rig,
    kernel: &str,
    words: usize,
    value: impl Fn(u32) -> u32,
) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let mut list = Workload::default();
    let len = words * N as usize / 2;
    let x = list.words("x", (0..len as u32).map(&value));
    let y = list.words("y", (0..len as u32).rev().map(&value));
    let tmp = list.poisoned("tmp", len);
    let out = list.poisoned("out", len);
    list.promote(tmp, Private);
    for (from, to) in [(x, tmp), (tmp, out)] {
        list.submit(Submit::new(kernel, ITEMS).read(0, from).read(1, y).write(2, to).push(N));
    }
    let ran = list.check_fused(rig);
    ran.assert_internalized(tmp, Private);
    (list.preset(x).to_vec(), list.preset(y).to_vec(), ran.words(out).to_vec())
}

/// Two words as one number of 64 bits, the low word first.
fn pairs<T>(words: &[u32], make: impl Fn(u64) -> T) -> Vec<T> {
    words.chunks_exact(2).map(|pair| make(u64::from(pair[0]) | u64::from(pair[1]) << 32)).collect()
}

#[test]
fn integers_of_16_bits() {
    let (x, y, out) = width(&rig!(), "forms/short", 1, |k| k.wrapping_mul(0x9e37_79b9));
    let [x, y, out]: [&[i16]; 3] = [&x, &y, &out].map(|words| bytemuck::cast_slice(words));
    for i in 0..N as usize {
        let once = x[i].wrapping_mul(y[i]).wrapping_add(y[i]);
        assert_eq!(out[i], once.wrapping_mul(y[i]).wrapping_add(y[i]), "out[{i}]");
    }
}

#[test]
fn integers_of_64_bits() {
    let (x, y, out) = width(&rig!(), "forms/long", 4, |k| k.wrapping_mul(0x9e37_79b9));
    let [x, y, out] = [x, y, out].map(|words| pairs(&words, |bits| bits as i64));
    for i in 0..N as usize {
        let once = x[i].wrapping_mul(y[i]).wrapping_add(y[i]);
        assert_eq!(out[i], once.wrapping_mul(y[i]).wrapping_add(y[i]), "out[{i}]");
    }
}

#[test]
fn floats_of_64_bits() {
    // High words of small numbers, low words of zero: 2, 2.000…, 3 and so on.
    let (x, y, out) =
        width(&rig!(), "forms/double", 4, |k| if k % 2 == 1 { 0x4000_0000 + (k << 8) } else { 0 });
    let [x, y, out] = [x, y, out].map(|words| pairs(&words, f64::from_bits));
    for i in 0..N as usize {
        assert_eq!(out[i], (x[i] * y[i] + y[i]) * y[i] + y[i], "out[{i}]");
    }
}

#[test]
fn floats_of_16_bits() {
    // 1.0 in every half: x * y + y is 2, then 3.
    let (_, _, out) = width(&rig!(), "forms/half", 1, |_| 0x3c00_3c00);
    assert!(out.iter().all(|&word| word == 0x4200_4200), "{out:x?}");
}

/// A binding in a descriptor set of its own.
#[test]
fn two_sets() {
    let rig = rig!();
    let kernel = rig.kernel("forms/two_sets");
    let ones = rig.context.buffer_from(&vec![1.0_f32; N as usize]).unwrap();
    let tmp = rig.context.buffer::<f32>(N as usize).unwrap().promote_private();
    let out = rig.context.buffer::<f32>(N as usize).unwrap();
    let done = rig
        .queue
        .fuse_with(&FusionProperties::default(), |queue| {
            for (from, to) in [(&ones, &tmp), (&tmp, &out)] {
                queue.submit(|h| {
                    h.arg((0, 0), from.read()).arg((1, 1), ones.read()).arg((2, 2), to.write());
                    h.push(&N).dispatch_items(&kernel, [N, 1, 1]);
                })?;
            }
            Ok(())
        })
        .unwrap();
    done.wait().unwrap();
    assert_eq!(done.outcome(), Outcome::Fused, "{:#?}", done.report());
    assert_eq!(out.download().unwrap(), vec![3.0; N as usize]);
    rig.assert_no_validation_messages();
}
