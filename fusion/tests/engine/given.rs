//! What is given for specialization constants and overrides is used on a device, and what is given in vain is said; forms of kernels
//! that front ends write in a way of their own.
//!
//! Each kernel runs by itself and fused with itself, over a promoted buffer, and every word is compared with what is right.

use crate::support::Rig;
use vkfuse::{Kernel, Outcome, Promote, SpecValue};

const N: u32 = 256;

fn fixture(rig: &Rig, name: &str) -> Kernel {
    let path = format!("{}/../jit/tests/kernels/{name}.spv", env!("CARGO_MANIFEST_DIR"));
    rig.context.load_spirv(path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What two submissions of a kernel, the second over the results of the first, make of words. Unfused and fused, where
/// what is between stays inside.
#[track_caller]
fn twice(
    rig: &Rig,
    kernel: &Kernel,
    spec: &[(u32, SpecValue)],
    push: Option<u32>,
    right: impl Fn(u32) -> u32,
) {
    let words: Vec<u32> = (0..N).map(|word| word * 7 + 3).collect();
    let expected: Vec<u32> = words.iter().map(|&word| right(right(word))).collect();
    let from = rig.context.buffer_from(&words).unwrap();
    for promote in [Promote::None, Promote::Private] {
        let (between, to) = (
            rig.context.buffer_from(&[9u32; N as usize]).unwrap(),
            rig.context.buffer_from(&[9u32; N as usize]).unwrap(),
        );
        let between = if promote == Promote::Private { between.promote_private() } else { between };
        let submit = |fused: bool| {
            let both = |queue: &vkfuse::Queue| {
                for (a, b) in [(&from, &between), (&between, &to)] {
                    queue.submit(|h| {
                        h.arg(0, a.read()).arg(1, b.write());
                        for (id, value) in spec {
                            h.spec(*id, *value);
                        }
                        if let Some(push) = push {
                            h.push(&push);
                        }
                        h.dispatch_items(kernel, [N, 1, 1]);
                    })?;
                }
                Ok(())
            };
            match fused {
                true => Some(rig.queue.fuse(|queue| both(queue)).unwrap()),
                false => {
                    both(&rig.queue).unwrap();
                    rig.queue.wait().unwrap();
                    None
                }
            }
        };
        if promote == Promote::None {
            submit(false);
            assert_eq!(to.download().unwrap(), expected, "unfused");
        }
        let event = submit(true).expect("fused");
        event.wait().unwrap();
        assert_eq!(event.outcome(), Outcome::Fused, "{:#?}", event.report());
        assert_eq!(to.download().unwrap(), expected, "fused, {promote:?}");
    }
    rig.assert_no_validation_messages();
}

#[test]
fn constants_are_what_they_are_given() {
    let rig = rig!();
    let by_group = fixture(&rig, "given/spec_id_by_group");
    twice(&rig, &by_group, &[], None, |x| x + 5);
    twice(&rig, &by_group, &[(3, SpecValue::U32(100))], None, |x| x + 100);
    let lines = fixture(&rig, "given/lines");
    twice(&rig, &lines, &[(3, SpecValue::U32(100))], None, |x| x + 100);
    let forward = fixture(&rig, "given/forward_refs");
    twice(&rig, &forward, &[(3, SpecValue::U32(100))], None, |x| x + 100);
    let shared = fixture(&rig, "given/shared_by_group");
    twice(&rig, &shared, &[], None, |x| x + 35);
    twice(&rig, &shared, &[(3, SpecValue::U32(6))], None, |x| x + 36);
    let sized = fixture(&rig, "given/size_by_group");
    twice(&rig, &sized, &[(3, SpecValue::U32(32))], None, |x| x + 32);
}

#[test]
fn constants_with_one_id_keep_their_defaults() {
    let rig = rig!();
    let kernel = fixture(&rig, "given/spec_id_shared");
    for (given, right) in [(None, 7064), (Some(16), 16_016), (Some(7), 7007)] {
        let buffer = rig.context.buffer_from(&[0u32; N as usize]).unwrap();
        let submitted = rig.queue.submit(|h| {
            h.arg(0, buffer.read_write());
            if let Some(value) = given {
                h.spec(0, value);
            }
            h.dispatch_items(&kernel, [64, 1, 1]);
        });
        submitted.unwrap().wait().unwrap();
        assert_eq!(buffer.download().unwrap()[..64], [right; 64], "{given:?}");
    }
    rig.assert_no_validation_messages();
}

#[test]
fn loops_tested_at_their_end_fuse() {
    let rig = rig!();
    let kernel = fixture(&rig, "flow/do_while");
    let right =
        |x: u32| (0..7).fold(x, |x, k| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223).wrapping_add(k));
    twice(&rig, &kernel, &[], Some(N), right);
}

#[test]
fn unreachable_ways_do_not_keep_kernels_apart() {
    let rig = rig!();
    for (name, right) in [
        ("if_unreachable", (|x| x + 7) as fn(u32) -> u32),
        ("case_unreachable", |x| if x & 3 == 0 { x + 4 } else { x + 7 }),
        ("chain_unreachable", |x| x + 7),
        ("loop_unreachable", |x| x + 6),
    ] {
        twice(&rig, &fixture(&rig, &format!("flow/{name}")), &[], None, right);
    }
}

#[cfg(feature = "wgsl")]
mod wgsl {
    use super::*;
    use vkfuse::rust::f16;

    fn kernel(rig: &Rig, text: &str) -> Kernel {
        rig.context.kernel_from_wgsl("form", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// Stores an expression of the word `x`.
    fn storing(declared: &str, size: &str, value: &str) -> String {
        format!(
            "{declared}
             @group(0) @binding(0) var<storage, read> a: array<u32>;
             @group(0) @binding(1) var<storage, read_write> b: array<u32>;
             @compute @workgroup_size({size}) fn main(@builtin(global_invocation_id) g: vec3<u32>) {{
                 let x = a[g.x]; b[g.x] = {value};
             }}"
        )
    }

    #[test]
    fn overrides_are_what_they_are_given() {
        let rig = rig!();
        let with_default = kernel(&rig, &storing("@id(3) override K: u32 = 5u;", "64", "x + K"));
        twice(&rig, &with_default, &[], None, |x| x + 5);
        twice(&rig, &with_default, &[(3, SpecValue::U32(9))], None, |x| x + 9);
        let derived =
            "@id(1) override n: u32 = 4u; override m: u32 = n * 2u; var<workgroup> w: array<u32, m>;";
        let sized = kernel(&rig, &storing(derived, "m", "x + m + 0u * w[0]"));
        twice(&rig, &sized, &[], None, |x| x + 8);
        twice(&rig, &sized, &[(1, SpecValue::U32(16))], None, |x| x + 32);
        twice(&rig, &sized, &[(1, SpecValue::U32(16)), (0, SpecValue::U32(64))], None, |x| x + 64);
    }

    #[test]
    fn helpers_that_return_on_every_way_fuse() {
        let rig = rig!();
        let text = storing(
            "fn f(x: u32) -> u32 { if (x & 1u) == 0u { return x; } else { return x * 3u; } }",
            "64",
            "f(x)",
        );
        twice(&rig, &kernel(&rig, &text), &[], None, |x| if x & 1 == 0 { x } else { x * 3 });
    }

    #[test]
    fn loops_that_end_by_break_if_fuse() {
        let rig = rig!();
        let text = storing(
            "fn f(x: u32) -> u32 { var s = x; var k = 0u; loop { s = s * 5u + k; continuing { k += 1u; break if k >= 7u; } } return s; }",
            "64",
            "f(x)",
        );
        twice(&rig, &kernel(&rig, &text), &[], None, |x| {
            (0..7).fold(x, |s, k| s.wrapping_mul(5).wrapping_add(k))
        });
    }

    /// A specialization constant selects the buffer that a kernel stores to, and the kernel is recomputed where that buffer is read. The
    /// other buffer has no store left, was not promoted, and keeps its contents.
    #[test]
    fn a_buffer_without_a_store_left_keeps_its_contents() {
        let rig = rig!();
        let choose = kernel(
            &rig,
            "@id(0) override second: u32 = 0u;
             @group(0) @binding(0) var<storage, read> a: array<u32>;
             @group(0) @binding(1) var<storage, read_write> b: array<u32>;
             @group(0) @binding(2) var<storage, read_write> c: array<u32>;
             @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3<u32>) {
                 if second == 0u { b[g.x] = a[g.x] * 3u; } else { c[g.x] = a[g.x] * 5u; }
             }",
        );
        let next = kernel(&rig, &storing("", "64", "x + a[(g.x + 1u) % 256u]"));
        for second in [0u32, 1] {
            let [a, b, c, z] = [7u32, 11, 13, 17].map(|k| rig.context.buffer_from(&[k; 256]).unwrap());
            let (stored, other) = if second == 0 { (b, c) } else { (c, b) };
            let stored = stored.promote_private();
            let (b, c) = if second == 0 { (&stored, &other) } else { (&other, &stored) };
            for _ in 0..3 {
                let event = rig.queue.fuse(|queue| {
                    queue.submit(|h| {
                        h.arg(0, a.read()).arg(1, b.write()).arg(2, c.write());
                        h.spec(0, SpecValue::U32(second)).dispatch_items(&choose, [256, 1, 1]);
                    })?;
                    queue.submit(|h| {
                        h.arg(0, stored.read()).arg(1, z.write()).dispatch_items(&next, [256, 1, 1]);
                    })?;
                    Ok(())
                });
                let event = event.unwrap();
                event.wait().unwrap();
                assert_eq!(event.outcome(), Outcome::Fused, "{:#?}", event.report());
                let factor = if second == 0 { 3 } else { 5 };
                assert_eq!(z.download().unwrap(), [2 * 7 * factor; 256]);
                let kept = if second == 0 { 13 } else { 11 };
                assert_eq!(other.download().unwrap(), [kept; 256]);
                assert!(stored.download().is_err(), "it was kept inside");
            }
        }
        rig.assert_no_validation_messages();
    }

    /// Where the device has 16-bit storage and arithmetic, `f16` asks for no more.
    #[test]
    fn halves_run_where_they_can() {
        let rig = rig!();
        let text = "enable f16;
            @group(0) @binding(0) var<storage, read> a: array<f16>;
            @group(0) @binding(1) var<storage, read_write> b: array<f16>;
            @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3<u32>) {
                b[g.x] = a[g.x] * 2.0h + 1.0h;
            }";
        match rig.context.kernel_from_wgsl("half", text) {
            // Two halves in each word: 1.0 becomes 3.0, and that 7.0.
            Ok(kernel) => {
                let from = rig.context.buffer_from(&[0x3c00_3c00u32; 128]).unwrap();
                let (between, to) = (
                    rig.context.buffer_from(&[0u32; 128]).unwrap().promote_private(),
                    rig.context.buffer_from(&[0u32; 128]).unwrap(),
                );
                let event = rig.queue.fuse(|queue| {
                    for (a, b) in [(&from, &between), (&between, &to)] {
                        queue.submit(|h| {
                            h.arg(0, a.read().cast::<f16>()).arg(1, b.write().cast::<f16>());
                            h.dispatch_items(&kernel, [256, 1, 1]);
                        })?;
                    }
                    Ok(())
                });
                let event = event.unwrap();
                event.wait().unwrap();
                assert_eq!(event.outcome(), Outcome::Fused, "{:#?}", event.report());
                assert_eq!(to.download().unwrap(), [0x4700_4700u32; 128]);
            }
            Err(error) => assert!(!error.to_string().contains("StorageInputOutput16"), "{error}"),
        }
        rig.assert_no_validation_messages();
    }
}

/// What a kernel does not use is in the report: the values and the arguments.
#[test]
fn the_report_says_what_was_given_in_vain() {
    let rig = rig!();
    let kernel = fixture(&rig, "given/spec_id_by_group");
    let buffers = [0, 1, 2].map(|_| rig.context.buffer_from(&[7u32; N as usize]).unwrap());
    let [a, b, c] = &buffers;
    let event = rig.queue.fuse(|queue| {
        queue.submit(|h| {
            h.arg(0, a.read()).arg(1, b.write()).arg(5, c.read()).spec(3, 1_u32).spec(30, 2_u32);
            h.dispatch_items(&kernel, [N, 1, 1]);
        })?;
        queue.submit(|h| {
            h.arg(0, b.read()).arg(1, c.write()).spec(3, 1_u32).dispatch_items(&kernel, [N, 1, 1]);
        })?;
        Ok(())
    });
    let event = event.unwrap();
    event.wait().unwrap();
    assert_eq!(c.download().unwrap(), [9u32; N as usize]);
    let report = event.report().expect("of a list");
    let notes: Vec<&[String]> = report.kernels.iter().map(|one| &*one.notes).collect();
    let name = kernel.name();
    let said = [
        format!("kernel {name} is given a value for specialization constant 30, which it does not declare"),
        format!("kernel {name} is given an argument for binding 5, which it does not use"),
    ];
    assert_eq!(notes, [&said[..], &[]]);
}

/// Of push constants that are longer than the kernel's block the rest is ignored, which the report says.
#[test]
fn the_report_says_that_push_constants_are_too_long() {
    let rig = rig!();
    let kernel = rig.kernel("pair/scale");
    let buffers = [0, 1, 2].map(|_| rig.context.buffer_from(&[7i32; N as usize]).unwrap());
    let [a, b, c] = &buffers;
    let event = rig.queue.fuse(|queue| {
        queue.submit(|h| {
            h.arg(0, a.read()).arg(1, b.write()).push(&N).push(&2i32).push_bytes(&[0; 8]);
            h.dispatch_items(&kernel, [N, 1, 1]);
        })?;
        queue.submit(|h| {
            h.arg(0, b.read()).arg(1, c.write()).push(&N).push(&3i32);
            h.dispatch_items(&kernel, [N, 1, 1]);
        })?;
        Ok(())
    });
    let event = event.unwrap();
    event.wait().unwrap();
    assert_eq!(c.download().unwrap(), [42i32; N as usize]);
    let report = event.report().expect("of a list");
    let notes: Vec<&[String]> = report.kernels.iter().map(|one| &*one.notes).collect();
    let said = format!("kernel {} is given 16 bytes of push constants, and takes the first 8", kernel.name());
    assert_eq!(notes, [&[said][..], &[]]);
}

/// What is passed as `write` and only read, an array with padding that gets elements without, and work-groups that do again what others did.
#[test]
fn the_report_says_what_may_be_mistaken() {
    let rig = rig!();
    let (padded, scale) = (fixture(&rig, "blocks/padded"), rig.kernel("pair/scale"));
    let weights = rig.context.buffer::<f32>(64).unwrap();
    let vectors = rig.context.buffer::<[f32; 4]>(16).unwrap();
    let floats = rig.context.buffer::<f32>(16).unwrap();
    let [a, b] = [0, 1].map(|_| rig.context.buffer_from(&[7i32; N as usize]).unwrap());
    let event = rig.queue.fuse(|queue| {
        for weights in [weights.read(), vectors.read()] {
            queue.submit(|h| {
                h.arg(0, weights).arg(1, floats.write()).dispatch_items(&padded, [16, 1, 1]);
            })?;
        }
        for (from, groups) in [(a.write(), [1, 1, 1]), (a.read(), [1, 3, 1]), (a.read_write(), [1, 1, 1])] {
            queue.submit(|h| {
                h.arg(0, from).arg(1, b.write()).push(&1u32).push(&2i32).dispatch(&scale, groups);
            })?;
        }
        Ok(())
    });
    let event = event.unwrap();
    event.wait().unwrap();
    let report = event.report().expect("of a list");
    let notes: Vec<&[String]> = report.kernels.iter().map(|one| &*one.notes).collect();
    let (padded, scale) = (padded.name(), scale.name());
    let said = [
        format!(
            "binding 0 of kernel {padded} has an element every 16 bytes (std140), and the buffer one every 4: what lies between is left out"
        ),
        format!("kernel {scale} only reads binding 0, and the accessor there is `write`; `read` says so"),
        format!(
            "kernel {scale} is dispatched with work-groups that differ in y alone and write the same elements: it does not ask for its place in y"
        ),
    ];
    assert_eq!(notes, [&said[..1], &[], &said[1..2], &said[2..], &[]]);
    rig.assert_no_validation_messages();
}

/// Push constants are named with their places where they are too many, and a number of the host's word size is one of 64 bits.
#[test]
fn pushed_numbers_are_named() {
    let rig = rig!();
    let scale = rig.kernel("pair/scale");
    let [a, b] = [0, 1].map(|_| rig.context.buffer_from(&[7i32; N as usize]).unwrap());
    let push = |push: &dyn Fn(&mut vkfuse::Handler<'_>)| {
        let event = rig.queue.submit(|h| {
            push(h);
            h.arg(0, a.read()).arg(1, b.write()).dispatch(&scale, [1, 1, 1]);
        });
        event.map(drop).unwrap_err().to_string()
    };
    let error = push(&|h| {
        h.push(&N).push(&2f64);
    });
    let wanted = "16 bytes of push constants were given (an integer of 32 bits at byte 0, f64 at byte 8), and the kernel takes 8";
    assert!(error.contains(wanted), "{error}");
    let error = push(&|h| {
        h.push(&256usize);
    });
    assert!(error.contains("byte 0 of the push constants is an integer of 32 bits"), "{error}");
    assert!(error.contains("an integer of 64 bits was pushed"), "{error}");
}
