//! What bad input gets: a typed error that names the kernel, the binding or the instruction. Never a panic, never
//! a hang, and nothing half-submitted: after every refusal the queue works, the list is as it was before, and no
//! dispatch has run.

use std::error::Error as _;

use crate::support::{Rig, shader};
use vkfuse::{Buffer, Error, FusionProperties, FusionWrapper, Handler, Kernel, Module, Outcome, SubmitError};

/// The words of a kernel of the `shaders` folder.
fn words(name: &str) -> Vec<u32> {
    let bytes = std::fs::read(shader(name)).expect("the compiled kernel is checked in");
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The message of an error with those of its sources.
fn whole_message(error: &Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        message += &format!(": {inner}");
        source = inner.source();
    }
    message
}

/// Demands an error whose message names all of `named`.
#[track_caller]
fn assert_names<T>(result: Result<T, Error>, named: &[&str]) {
    let Err(error) = result else {
        panic!("was accepted, expected an error that names {named:?}");
    };
    let message = whole_message(&error).to_lowercase();
    for name in named {
        assert!(message.contains(&name.to_lowercase()), "does not name {name}: {message}");
    }
}

/// Three buffers of 64 floats, and the valid submission that the tests spoil.
struct Good {
    x: Buffer<f32>,
    y: Buffer<f32>,
    z: Buffer<f32>,
}

impl Good {
    fn new(rig: &Rig) -> Good {
        let ones = [1.0_f32; 64];
        Good {
            x: rig.context.buffer_from(&ones).unwrap().named("x"),
            y: rig.context.buffer_from(&ones).unwrap().named("y"),
            z: rig.context.buffer::<f32>(64).unwrap().named("z"),
        }
    }

    fn submit(&self, rig: &Rig) {
        let kernel = rig.kernel("chain/mul");
        rig.queue
            .submit(|h| {
                h.arg(0, self.x.read()).arg(1, self.y.read()).arg(2, self.z.write());
                h.push(&64_u32).dispatch_items(&kernel, [64, 1, 1]);
            })
            .expect("a valid submission");
    }
}

/// Submits something wrong, first with fusion off and then into a list with a valid kernel before and after.
/// Demands an error that names `named`, and that nothing but the valid kernels ran.
#[track_caller]
fn assert_refused(
    rig: &Rig,
    named: &[&str],
    kernel: &Kernel,
    spoilt: impl for<'a> Fn(&'a Good, &'a Kernel, &mut Handler<'a>),
) {
    let good = Good::new(rig);
    let before = rig.context.stats();
    assert_names(rig.queue.submit(|h| spoilt(&good, kernel, h)), named);
    rig.queue.wait().unwrap();
    assert_eq!((rig.context.stats() - before).dispatches, 0, "something ran");

    let fusion = FusionWrapper::new(&rig.queue).unwrap();
    fusion.start_fusion().unwrap();
    good.submit(rig);
    assert_names(rig.queue.submit(|h| spoilt(&good, kernel, h)), named);
    assert!(fusion.is_in_fusion_mode(), "the refusal ended fusion mode");
    good.submit(rig);
    let complete = fusion.complete_fusion(&FusionProperties::default()).unwrap();
    complete.wait().unwrap();
    assert_eq!(complete.outcome(), Outcome::Fused);
    assert_eq!((rig.context.stats() - before).dispatches, 1);
    assert_eq!(good.z.download().unwrap(), [1.0; 64]);
    rig.assert_no_validation_messages();
}

#[test]
fn not_spirv() {
    let rig = rig!();
    for text in [&b""[..], b"#version 450", b"MZ\x90\0\x03\0\0\0", &[0; 64], &[0xff; 4096]] {
        assert_names(rig.context.kernel_from_bytes("picture", text), &["picture"]);
    }
    assert_names(rig.context.load_spirv("no/such/kernel.spv"), &["no/such/kernel.spv"]);
}

#[test]
fn truncated() {
    let rig = rig!();
    let whole = bytes(&words("chain/mul"));
    for len in (0..whole.len()).step_by(7).chain([whole.len() - 1, whole.len() - 4]) {
        assert_names(rig.context.kernel_from_bytes("cut", &whole[..len]), &["cut"]);
    }
}

/// Either byte order is accepted and gives the same kernel, or the other one is named.
#[test]
fn wrong_endianness() {
    let rig = rig!();
    let swapped: Vec<u8> = words("chain/mul").iter().flat_map(|word| word.to_be_bytes()).collect();
    match rig.context.kernel_from_bytes("swapped", &swapped) {
        Ok(kernel) => assert_eq!(kernel.module().words(), words("chain/mul")),
        Err(error) => assert!(whole_message(&error).contains("endian"), "{error}"),
    }
}

#[test]
fn id_bound_out_of_all_proportion() {
    let rig = rig!();
    for bound in [0, 1, 0x0100_0000, 0x7fff_ffff, 0xffff_ffff] {
        let mut module = words("chain/mul");
        module[3] = bound;
        assert_names(rig.context.kernel_from_words("bound", &module), &["bound"]);
    }
}

#[test]
fn no_compute_entry_point() {
    let rig = rig!();
    // OpEntryPoint with the execution model Fragment instead of GLCompute.
    let mut module = words("chain/mul");
    let entry = find(&module, 15);
    module[entry + 1] = 4;
    assert_names(rig.context.kernel_from_words("fragment", &module), &["fragment"]);
}

#[test]
fn unknown_or_ambiguous_entry_point() {
    let rig = rig!();
    let module = Module::from_words("two", &words("forms/two_entries")).unwrap();
    assert_names(rig.context.kernel(&module, Some("thrice")), &["thrice", "twice", "plus_one"]);
    assert_names(rig.context.kernel(&module, None), &["twice", "plus_one"]);
    rig.context.kernel(&module, Some("twice")).unwrap();
}

#[test]
fn missing_binding() {
    let rig = rig!();
    let kernel = rig.kernel("chain/mul");
    assert_refused(&rig, &["mul", "1"], &kernel, |good, kernel, h| {
        h.arg(0, good.x.read()).arg(2, good.z.write());
        h.push(&64_u32).dispatch_items(kernel, [64, 1, 1]);
    });
    // One binding too far.
    let named = ["binding 2 (`Z`) has no argument", "binding 3 got one", "binding 0 (`X`) (storage buffer)"];
    assert_refused(&rig, &named, &kernel, |good, kernel, h| {
        h.arg(0, good.x.read()).arg(1, good.y.read()).arg(3, good.z.write());
        h.push(&64_u32).dispatch_items(kernel, [64, 1, 1]);
    });
}

/// Of another context, whose buffers and kernels are not of this one.
#[test]
fn what_belongs_to_another_context() {
    let (rig, other) = (rig!(), rig!());
    let kernel = rig.kernel("chain/mul");
    let x = other.context.buffer_from(&[1.0_f32; 64]).unwrap().named("elsewhere");
    let named = ["mul", "buffer `elsewhere`, passed for binding 0,", "with the context of this queue"];
    assert_refused(&rig, &named, &kernel, |good, kernel, h| {
        h.arg(0, x.read().into_owned()).arg(1, good.y.read()).arg(2, good.z.write());
        h.push(&64_u32).dispatch_items(kernel, [64, 1, 1]);
    });
    let foreign = other.kernel("chain/mul");
    let good = Good::new(&rig);
    let refused = rig.queue.submit(|h| {
        h.arg(0, good.x.read()).arg(1, good.y.read()).arg(2, good.z.write());
        h.push(&64_u32).dispatch_items(&foreign, [64, 1, 1]);
    });
    assert_names(refused, &["the kernel belongs to another context", "with the context of this queue"]);
}

/// A range that is reversed, too long, or of an accessor that is narrower.
#[test]
fn ranges_say_what_is_wrong_with_them() {
    let rig = rig!();
    let x = rig.context.buffer_from(&[1.0_f32; 64]).unwrap().named("x");
    let (start, end) = (32, 16);
    assert_names(
        x.download_range(start..end),
        &["buffer `x`", "32..16 ends before", "16 elements from 32 on are 32..48"],
    );
    assert_names(x.download_range(32..80), &["buffer `x`", "elements 32..80 are outside its 64 elements"]);
    let kernel = rig.kernel("chain/mul");
    let named = ["binding 0", "from element 8 on leaves the accessor", "buffer `x` of 64 elements"];
    assert_refused(&rig, &named, &kernel, |good, kernel, h| {
        h.arg(0, good.x.read().range(8, 8).range(0, 16)).arg(1, good.y.read()).arg(2, good.z.write());
        h.push(&64_u32).dispatch_items(kernel, [64, 1, 1]);
    });
}

#[test]
fn repeated_binding() {
    let rig = rig!();
    let kernel = rig.kernel("chain/mul");
    assert_refused(&rig, &["mul", "1"], &kernel, |good, kernel, h| {
        h.arg(0, good.x.read()).arg(1, good.y.read()).arg(2, good.z.write());
        h.arg(1, good.x.read());
        h.push(&64_u32).dispatch_items(kernel, [64, 1, 1]);
    });
}

/// As in Vulkan, where a pipeline layout may have more than a kernel uses.
#[test]
fn what_a_kernel_does_not_use_is_ignored() {
    let rig = rig!();
    let kernel = rig.kernel("chain/mul");
    let words: Vec<f32> = (0..64).map(|i| i as f32).collect();
    let (x, z) = (rig.context.buffer_from(&words).unwrap(), rig.context.buffer_from(&[0.0; 64]).unwrap());
    for _ in 0..3 {
        let submitted = rig.queue.submit(|h| {
            h.arg(0, x.read()).arg(1, x.read()).arg(2, z.write()).arg(7, x.read()).arg((3, 0), x.write());
            // Three words.
            h.push_bytes(&64_u32.to_ne_bytes()).push_bytes(&[7; 8]);
            h.spec(77, 1_u32).dispatch_items(&kernel, [64, 1, 1]);
        });
        submitted.unwrap().wait().unwrap();
        assert_eq!(z.download().unwrap(), words.iter().map(|x| x * x).collect::<Vec<_>>());
    }
    rig.assert_no_validation_messages();
}

#[test]
fn binding_of_the_wrong_kind() {
    let rig = rig!();
    let Ok(kernel) = rig.context.load_spirv(shader("forms/image")) else {
        return; // Refusing the kernel as a whole is as good.
    };
    assert_refused(&rig, &["image", "0"], &kernel, |good, kernel, h| {
        h.arg(0, good.x.read()).arg(1, good.z.write());
        h.push(&64_u32).dispatch_items(kernel, [64, 1, 1]);
    });
}

#[test]
fn accessor_out_of_range() {
    let rig = rig!();
    let kernel = rig.kernel("chain/mul");
    for (offset, len) in [(0, 65), (64, 1), (60, 5), (usize::MAX, 1), (1, usize::MAX), (0, 0)] {
        assert_refused(&rig, &["x"], &kernel, |good, kernel, h| {
            h.arg(0, good.x.read().range(offset, len)).arg(1, good.y.read()).arg(2, good.z.write());
            h.push(&64_u32).dispatch_items(kernel, [64, 1, 1]);
        });
    }
}

#[test]
fn access_that_the_kernel_does_not_keep_to() {
    let rig = rig!();
    let kernel = rig.kernel("chain/mul");
    let named = ["kernel `mul`", "binding 2 (`Z`) is written", "buffer `z` is `read`; use `write`"];
    assert_refused(&rig, &named, &kernel, |good, kernel, h| {
        h.arg(0, good.x.read()).arg(1, good.y.read()).arg(2, good.z.read());
        h.push(&64_u32).dispatch_items(kernel, [64, 1, 1]);
    });
}

#[test]
fn push_constants_too_short_or_too_long() {
    let rig = rig!();
    let kernel = rig.kernel("chain/mul");
    for push in [&[][..], &[64, 0, 0], &[0; 4096]] {
        assert_refused(&rig, &["mul", "push"], &kernel, |good, kernel, h| {
            h.arg(0, good.x.read()).arg(1, good.y.read()).arg(2, good.z.write());
            h.push_bytes(push).dispatch_items(kernel, [64, 1, 1]);
        });
    }
}

/// More values than the block has, or scalars of another kind or size, also where the same bytes were right before.
#[test]
fn values_that_are_not_those_of_the_block() {
    let rig = rig!();
    // A number and an integer.
    let scale = rig.kernel("pair/scale");
    let right = |h: &mut Handler<'_>| {
        h.push(&64_u32).push(&2_i32);
    };
    type Push = fn(&mut Handler<'_>);
    let wrong: [(Push, &[&str]); 8] = [
        (
            |h| {
                h.push(&64_u32).push(&2_i32).push(&1_u32);
            },
            &["12 bytes", "takes 8", "`push_bytes`"],
        ),
        (
            |h| {
                h.push(&[64_u32, 2]).push(&[64_u32, 2]);
            },
            &["16 bytes", "takes 8"],
        ),
        (
            |h| {
                h.push(&[64_u32, 2, 0, 0, 0]);
            },
            &["20 bytes", "takes 8"],
        ),
        (
            |h| {
                h.push(&64_u32).push(&2.0_f64);
            },
            &["16 bytes", "takes 8"],
        ),
        (
            |h| {
                h.push(&64_u32).push(&2.0_f32);
            },
            &["byte 4", "an integer of 32 bits", "f32", "`push_bytes`"],
        ),
        (
            |h| {
                h.push(&f32::from_bits(64)).push(&2_i32);
            },
            &["byte 0", "an integer of 32 bits", "f32"],
        ),
        (
            |h| {
                h.push(&[f32::from_bits(64), f32::from_bits(2)]);
            },
            &["byte 0", "f32"],
        ),
        (
            |h| {
                h.push(&(64_u64 | 2 << 32));
            },
            &["byte 0", "an integer of 32 bits", "an integer of 64 bits"],
        ),
    ];
    let (from, to) = (rig.context.buffer_from(&[3_i32; 64]).unwrap(), rig.context.buffer::<i32>(64).unwrap());
    let submit = |push: &dyn Fn(&mut Handler<'_>)| {
        rig.queue.submit(|h| {
            push(h);
            h.arg(0, from.read()).arg(1, to.write()).dispatch_items(&scale, [64, 1, 1]);
        })
    };
    for _ in 0..3 {
        submit(&right).unwrap().wait().unwrap();
        assert_eq!(to.download().unwrap(), [6; 64]);
        for (push, named) in &wrong {
            assert_names(submit(push), &[&["scale", "push"], *named].concat());
        }
    }
    // As bytes they may be anything, and a structure may be padded at its end.
    submit(&|h| {
        h.push_bytes(&64_u64.to_ne_bytes()).push_bytes(&[0; 8]);
    })
    .unwrap();
    submit(&|h| {
        h.push(&[64_u32, 2, 0, 0].map(u32::to_ne_bytes));
    })
    .unwrap();
    let fused = rig.queue.fuse(|_| {
        submit(&right)?;
        for (push, named) in &wrong {
            assert_names(submit(push), named);
        }
        submit(&right).map(drop)
    });
    fused.unwrap().wait().unwrap();
    // A kernel without a block.
    let kernel = rig.kernel("forms/length");
    let floats = rig.context.buffer::<f32>(64).unwrap();
    let submitted = rig.queue.submit(|h| {
        h.arg(0, floats.read()).arg(1, floats.write()).push(&1_u32).dispatch_items(&kernel, [64, 1, 1]);
    });
    assert_names(submitted, &["length", "no push-constant block"]);
    rig.assert_no_validation_messages();
}

#[test]
fn specialization_constants_of_wrong_type() {
    let rig = rig!();
    let kernel = rig.kernel("chain/mul");
    fn args<'a>(good: &'a Good, h: &mut Handler<'a>) {
        h.arg(0, good.x.read()).arg(1, good.y.read()).arg(2, good.z.write()).push(&64_u32);
    }
    assert_refused(&rig, &["mul", "0"], &kernel, |good, kernel, h| {
        args(good, h);
        h.spec(0, 1.5_f32).dispatch_items(kernel, [64, 1, 1]);
    });
    assert_refused(&rig, &["mul", "0"], &kernel, |good, kernel, h| {
        args(good, h);
        h.spec(0, 256_u64).dispatch_items(kernel, [64, 1, 1]);
    });
}

#[test]
fn work_group_sizes_the_device_lacks() {
    let rig = rig!();
    let kernel = rig.kernel("chain/mul");
    for size in [0, 1 << 20, u32::MAX] {
        assert_refused(&rig, &["mul", &size.to_string()], &kernel, |good, kernel, h| {
            h.arg(0, good.x.read()).arg(1, good.y.read()).arg(2, good.z.write());
            h.push(&64_u32).spec(0, size).dispatch(kernel, [1, 1, 1]);
        });
    }
}

#[test]
fn no_dispatch_or_two() {
    let rig = rig!();
    let kernel = rig.kernel("chain/mul");
    assert_refused(&rig, &["dispatch"], &kernel, |good, _, h| {
        h.arg(0, good.x.read());
    });
    assert_refused(&rig, &["dispatch"], &kernel, |good, kernel, h| {
        h.arg(0, good.x.read()).arg(1, good.y.read()).arg(2, good.z.write()).push(&64_u32);
        h.dispatch(kernel, [1, 1, 1]).dispatch(kernel, [1, 1, 1]);
    });
}

#[test]
fn capability_the_device_lacks() {
    let rig = rig!();
    // OpCapability with one that needs a feature no one enables for compute, put before the first instruction.
    let mut module = words("chain/mul");
    module.splice(5..5, [2 << 16 | 17, 2 /* Geometry */]);
    let loaded = rig.context.kernel_from_words("geometry", &module);
    assert_names(loaded, &["geometry"]);
}

#[cfg(feature = "wgsl")]
#[test]
fn shared_memory_over_the_limit() {
    let rig = rig!();
    let text = "
        var<workgroup> big: array<u32, 4194304>;
        @group(0) @binding(0) var<storage, read_write> z: array<u32>;
        @compute @workgroup_size(64)
        fn main(@builtin(local_invocation_id) id: vec3<u32>) {
            big[id.x] = id.x;
            workgroupBarrier();
            z[id.x] = big[63u - id.x];
        }";
    let kernel = match rig.context.kernel_from_wgsl("big", text) {
        Ok(kernel) => kernel,
        error => return assert_names(error, &["big"]),
    };
    assert_refused(&rig, &["big"], &kernel, |good, kernel, h| {
        h.arg(0, good.z.write()).dispatch(kernel, [1, 1, 1]);
    });
}

#[cfg(feature = "wgsl")]
#[test]
fn wgsl_that_is_wrong() {
    let rig = rig!();
    for text in [
        "",
        "fn main() {",
        "@fragment fn main() {}",
        "@compute @workgroup_size(1) fn main() { let x: f32 = 1u; }",
    ] {
        assert_names(rig.context.kernel_from_wgsl("text", text), &["text"]);
    }
}

#[test]
fn buffers_nobody_can_have() {
    let rig = rig!();
    assert!(rig.context.buffer::<u32>(0).is_err());
    assert_names(rig.context.buffer::<u64>(usize::MAX / 8), &["bytes", "elements of 8"]);
    assert!(rig.context.buffer::<u64>(usize::MAX).is_err());
    let good = Good::new(&rig);
    assert!(good.x.upload(&[0.0; 63]).is_err());
    assert!(good.x.download_range(60..65).is_err());
    assert!(good.x.upload_at(63, &[0.0; 2]).is_err());
    assert_eq!(good.x.download().unwrap(), [1.0; 64]);
}

/// Random bytes behind a valid header, and valid modules with flipped bits: an error or a kernel, no panic.
#[test]
fn random_bytes_and_flipped_bits() {
    let rig = rig!();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..200 {
        let mut module = vec![0x0723_0203, 0x0001_0300, 0, 100, 0];
        module.extend((0..round).map(|_| random.next() as u32));
        let _ = rig.context.kernel_from_words("random", &module);
    }
    for name in ["chain/mul", "groups/exclusive_scan", "pair/write_struct_bytes"] {
        let whole = words(name);
        let mut accepted = 0;
        for _ in 0..150 {
            let mut module = whole.clone();
            for _ in 0..=random.next() % 3 {
                let at = 5 + random.next() as usize % (module.len() - 5);
                module[at] ^= 1 << (random.next() % 32);
            }
            // Some flips only change a name or a constant.
            accepted += u32::from(rig.context.kernel_from_words("flipped", &module).is_ok());
        }
        assert!(accepted < 150, "no flip of {name} was noticed");
    }
    Good::new(&rig).submit(&rig);
    rig.queue.wait().unwrap();
    rig.assert_no_validation_messages();
}

/// The position of the first instruction with this opcode.
fn find(module: &[u32], opcode: u32) -> usize {
    let mut at = 5;
    while module[at] & 0xffff != opcode {
        at += (module[at] >> 16) as usize;
    }
    at
}

/// xorshift: the same sequence everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[test]
fn a_sub_group_size_is_the_devices_or_an_error() {
    let rig = rig!();
    let own = rig.context.device_info().subgroup_size;
    let kernel = rig.kernel("library/line");
    let sized = kernel.with_subgroup_size(own).unwrap();
    let (a, b) =
        (rig.context.buffer_from(&[1.0f32; 64]).unwrap(), rig.context.buffer_from(&[0.0f32; 64]).unwrap());
    let submitted = rig.queue.submit(|h| {
        h.arg(0, a.read()).arg(1, b.write()).push(&64u32).dispatch_items(&sized, [64, 1, 1]);
    });
    submitted.unwrap();
    assert_eq!(b.download().unwrap(), [2.0; 64]);
    for size in [0, own + 1, own * 2] {
        match kernel.with_subgroup_size(size) {
            Err(Error::Submit {
                problem: SubmitError::SubgroupSize { size: asked, default, .. }, ..
            }) => {
                assert_eq!((asked, default), (size, own));
            }
            other => panic!("{:?}", other.map(|_| ())),
        }
    }
}

/// What is said names what the caller gave: no kernel where there is none, the value and not the module, text as text.
#[test]
fn messages_are_about_what_was_given() {
    let rig = rig!();
    let nothing = rig.queue.submit(|_| ()).unwrap_err().to_string();
    assert!(nothing.starts_with("the submission dispatches nothing"), "{nothing}");
    let sized = rig.kernel("forms/sized");
    let error = sized.specialized(&[(3, vkfuse::SpecValue::U32(0))]).unwrap_err().to_string();
    assert!(error.contains("`sized` cannot have 0 for specialization constant 3 (`N`)"), "{error}");
    assert!(!error.contains("invalid SPIR-V"), "{error}");
    sized.specialized(&[(3, vkfuse::SpecValue::U32(8))]).unwrap();
    let mut text = std::fs::read(shader("chain/mul").with_extension("comp")).unwrap();
    assert_names(rig.context.kernel_from_bytes("mul", &text), &["`mul`", "GLSL"]);
    // A letter of another encoding, in a comment; and bytes that are taken for words.
    text.splice(0..2, *b"// \xb5s\n//");
    assert_names(rig.context.kernel_from_bytes("mul", &text), &["`mul`", "GLSL"]);
    let words: Vec<u32> =
        text.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    assert_names(rig.context.kernel_from_words("mul", &words), &["`mul`", "GLSL"]);
    rig.assert_no_validation_messages();
}
