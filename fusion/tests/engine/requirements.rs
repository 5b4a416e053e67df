//! What modules may ask of a device: capabilities, extensions, execution modes and sizes, each by a module that asks for it. A device that
//! has it runs the module; on one that lacks it the error names what is missing, before a driver sees the module.

use crate::support::{Rig, poison, shader};
use vkfuse::{Error, Outcome, SubmitError};

/// The words of a kernel of the `shaders` folder.
fn words(name: &str) -> Vec<u32> {
    let bytes = std::fs::read(shader(name)).expect("the compiled kernel is checked in");
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}

/// Where the instructions with these opcodes begin and end.
fn places(words: &[u32], opcode: u32) -> Vec<(usize, usize)> {
    let (mut at, mut places) = (5, Vec::new());
    while at < words.len() {
        let end = at + (words[at] >> 16) as usize;
        if words[at] & 0xffff == opcode {
            places.push((at, end));
        }
        at = end;
    }
    places
}

fn instruction(opcode: u32, operands: &[u32]) -> Vec<u32> {
    let head = (operands.len() as u32 + 1) << 16 | opcode;
    [&[head], operands].concat()
}

const EXTENSION: u32 = 10;
const MEMORY_MODEL: u32 = 14;
const ENTRY_POINT: u32 = 15;
const EXECUTION_MODE: u32 = 16;
const CAPABILITY: u32 = 17;

/// `CooperativeMatrixKHR`, which a module may declare with the Vulkan memory model alone.
const COOPERATIVE_MATRIX: u32 = 6022;
const VULKAN_MEMORY_MODEL: u32 = 5345;

/// `z = x + y` in a module that also declares this: a capability, an extension, an execution mode with its operands.
fn declaring(capability: Option<u32>, extension: &str, mode: &[u32]) -> Vec<u32> {
    let mut words = words("pair/add");
    let (entry, end) = places(&words, ENTRY_POINT)[0];
    if !mode.is_empty() {
        let mode = instruction(EXECUTION_MODE, &[&[words[entry + 2]], mode].concat());
        words.splice(end..end, mode);
    }
    let last = places(&words, CAPABILITY).last().expect("it has one").1;
    if !extension.is_empty() {
        let mut text: Vec<u8> = extension.bytes().chain([0]).collect();
        text.resize(text.len().next_multiple_of(4), 0);
        let text: Vec<u32> =
            text.chunks(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect();
        words.splice(last..last, instruction(EXTENSION, &text));
    }
    words.splice(last..last, capability.into_iter().flat_map(|number| instruction(CAPABILITY, &[number])));
    if capability == Some(COOPERATIVE_MATRIX) {
        words.splice(last..last, instruction(CAPABILITY, &[VULKAN_MEMORY_MODEL]));
        let (model, _) = places(&words, MEMORY_MODEL)[0];
        // Its operands are the addressing model and the memory model; 3 is the Vulkan memory model.
        words[model + 2] = 3;
    }
    words
}

/// Runs the module, alone and between two others, if the device takes it; else what is missing.
fn run(rig: &Rig, name: &str, words: &[u32]) -> Option<String> {
    let kernel = match rig.context.kernel_from_words(name, words) {
        Ok(kernel) => kernel,
        Err(Error::Submit { problem, .. }) => {
            let SubmitError::Requirement { what, enable, needs, device } = &problem else {
                panic!("{name}: {problem}");
            };
            assert_eq!(*enable, None, "{name}: the device has it, and was made without");
            assert_eq!(**device, *rig.context.device_info().name);
            let takes = needs.map(|needs| format!(": it takes {needs}")).unwrap_or_default();
            assert_eq!(problem.to_string(), format!("the kernel needs {what}, which {device} lacks{takes}"));
            // What can be switched on has a name.
            if NAMED.iter().any(|named| what.ends_with(named)) {
                assert!(needs.is_some_and(|needs| needs.contains("feature `")), "{problem}");
            }
            return Some(what.to_string());
        }
        Err(other) => return Some(format!("another error: {other}")),
    };
    let n = 100u32;
    let x = rig.context.buffer_from(&(0..n).collect::<Vec<_>>()).unwrap();
    let [y, z] = [(); 2].map(|()| rig.context.buffer_from(&poison(n as usize)).unwrap());
    let add = rig.kernel("pair/add");
    let event = rig.queue.fuse(|queue| {
        for (kernel, [a, b, c]) in
            [(&add, [&x, &x, &y]), (&add, [&y, &x, &y]), (&kernel, [&x, &y, &z]), (&add, [&z, &z, &y])]
        {
            queue.submit(|h| {
                h.arg(0, a.read()).arg(1, b.read()).arg(2, c.write()).push(&n);
                h.dispatch_items(kernel, [n, 1, 1]);
            })?;
        }
        Ok(())
    });
    let event = event.unwrap();
    event.wait().unwrap();
    assert_ne!(event.outcome(), Outcome::Failed);
    assert!(event.report().unwrap().dispatches < 4, "{name}: the two before it fuse");
    assert_eq!(z.download().unwrap(), (0..n).map(|i| 4 * i).collect::<Vec<_>>(), "{name}");
    assert_eq!(y.download().unwrap(), (0..n).map(|i| 8 * i).collect::<Vec<_>>(), "{name}");
    None
}

/// What is a feature of an extension, so that the error says which.
const NAMED: &[&str] = &[
    "CooperativeMatrixKHR",
    "CooperativeMatrixNV",
    "CooperativeVectorNV",
    "BFloat16TypeKHR",
    "Float8EXT",
    "AtomicFloat16AddEXT",
    "AtomicFloat64AddEXT",
    "GroupNonUniformRotateKHR",
    "MaximallyReconvergesKHR",
    "SubgroupUniformControlFlowKHR",
];

/// Capabilities with the extension that declares each, and whether Mesa's llvmpipe of Debian 12 has it.
const CAPABILITIES: &[(u32, &str, &str, bool)] = &[
    (9, "Float16", "", true),
    (10, "Float64", "", true),
    (11, "Int64", "", true),
    (12, "Int64Atomics", "", true),
    (22, "Int16", "", true),
    (39, "Int8", "", true),
    (61, "GroupNonUniform", "", true),
    (62, "GroupNonUniformVote", "", true),
    (63, "GroupNonUniformArithmetic", "", true),
    (64, "GroupNonUniformBallot", "", true),
    (65, "GroupNonUniformShuffle", "", true),
    (66, "GroupNonUniformShuffleRelative", "", true),
    (67, "GroupNonUniformClustered", "", false),
    (68, "GroupNonUniformQuad", "", true),
    (4423, "SubgroupBallotKHR", "SPV_KHR_shader_ballot", true),
    (4431, "SubgroupVoteKHR", "SPV_KHR_subgroup_vote", true),
    (4433, "StorageBuffer16BitAccess", "SPV_KHR_16bit_storage", true),
    (4434, "UniformAndStorageBuffer16BitAccess", "SPV_KHR_16bit_storage", true),
    (4435, "StoragePushConstant16", "SPV_KHR_16bit_storage", true),
    (4448, "StorageBuffer8BitAccess", "SPV_KHR_8bit_storage", true),
    (4449, "UniformAndStorageBuffer8BitAccess", "SPV_KHR_8bit_storage", true),
    (4450, "StoragePushConstant8", "SPV_KHR_8bit_storage", true),
    (4441, "VariablePointersStorageBuffer", "SPV_KHR_variable_pointers", true),
    (4442, "VariablePointers", "SPV_KHR_variable_pointers", true),
    (4464, "DenormPreserve", "SPV_KHR_float_controls", false),
    (4465, "DenormFlushToZero", "SPV_KHR_float_controls", false),
    (4466, "SignedZeroInfNanPreserve", "SPV_KHR_float_controls", true),
    (4467, "RoundingModeRTE", "SPV_KHR_float_controls", true),
    (4468, "RoundingModeRTZ", "SPV_KHR_float_controls", false),
    (5055, "ShaderClockKHR", "SPV_KHR_shader_clock", true),
    (5087, "QuadControlKHR", "SPV_KHR_quad_control", false),
    (5301, "ShaderNonUniform", "SPV_EXT_descriptor_indexing", true),
    (5404, "AtomicFloat16VectorNV", "SPV_NV_shader_atomic_fp16_vector", false),
    (5584, "IntegerFunctions2INTEL", "SPV_INTEL_shader_integer_functions2", false),
    (5612, "AtomicFloat32MinMaxEXT", "SPV_EXT_shader_atomic_float_min_max", true),
    (5613, "AtomicFloat64MinMaxEXT", "SPV_EXT_shader_atomic_float_min_max", false),
    (5616, "AtomicFloat16MinMaxEXT", "SPV_EXT_shader_atomic_float_min_max", false),
    (6033, "AtomicFloat32AddEXT", "SPV_EXT_shader_atomic_float_add", true),
    (6034, "AtomicFloat64AddEXT", "SPV_EXT_shader_atomic_float_add", false),
    (6095, "AtomicFloat16AddEXT", "SPV_EXT_shader_atomic_float16_add", false),
    (5629, "ExpectAssumeKHR", "SPV_KHR_expect_assume", false),
    (6016, "DotProductInputAll", "SPV_KHR_integer_dot_product", true),
    (6017, "DotProductInput4x8Bit", "SPV_KHR_integer_dot_product", true),
    (6018, "DotProductInput4x8BitPacked", "SPV_KHR_integer_dot_product", true),
    (6019, "DotProduct", "SPV_KHR_integer_dot_product", true),
    (6026, "GroupNonUniformRotateKHR", "SPV_KHR_subgroup_rotate", false),
    (6029, "FloatControls2", "SPV_KHR_float_controls2", false),
    (6022, "CooperativeMatrixKHR", "SPV_KHR_cooperative_matrix", false),
    (5357, "CooperativeMatrixNV", "SPV_NV_cooperative_matrix", false),
    (5430, "CooperativeMatrixReductionsNV", "SPV_NV_cooperative_matrix2", false),
    (5394, "CooperativeVectorNV", "SPV_NV_cooperative_vector", false),
    (5116, "BFloat16TypeKHR", "SPV_KHR_bfloat16", false),
    (5117, "BFloat16DotProductKHR", "SPV_KHR_bfloat16", false),
    (5118, "BFloat16CooperativeMatrixKHR", "SPV_KHR_bfloat16", false),
    (4212, "Float8EXT", "SPV_EXT_float8", false),
    (6024, "ReplicatedCompositesEXT", "SPV_EXT_replicated_composites", false),
    (6030, "FMAKHR", "SPV_KHR_fma", false),
    // No device is asked for it.
    (4472, "RayQueryKHR", "SPV_KHR_ray_query", false),
];

#[test]
fn capability_by_capability() {
    let rig = rig!();
    let is_llvmpipe = rig.context.device_info().driver_info.contains("Mesa 22.3");
    let (mut has, mut lacks, mut wrong) = (0, 0, Vec::new());
    for &(number, name, extension, on_llvmpipe) in CAPABILITIES {
        let missing = run(&rig, name, &declaring(Some(number), extension, &[]));
        match &missing {
            None => has += 1,
            Some(what) if *what == format!("the SPIR-V capability {name}") => lacks += 1,
            Some(what) => wrong.push(format!("{name}: {what}")),
        }
        if is_llvmpipe && missing.is_none() != on_llvmpipe {
            wrong.push(format!("{name}: {missing:?} on llvmpipe"));
        }
    }
    println!("{has} capabilities run, {lacks} are missing");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(has > 8 && lacks > 0);
    rig.assert_no_validation_messages();
}

/// What is newer than every table is missing by its number.
#[test]
fn a_capability_of_which_nothing_is_known_is_missing() {
    let rig = rig!();
    let missing = run(&rig, "unknown", &declaring(Some(65_000), "", &[]));
    assert_eq!(missing.as_deref(), Some("the SPIR-V capability 65000"));
}

#[test]
fn mode_by_mode() {
    let rig = rig!();
    let is_llvmpipe = rig.context.device_info().driver_info.contains("Mesa 22.3");
    let controls = "SPV_KHR_float_controls";
    for (mode, name, capability, extension, on_llvmpipe) in [
        (&[4421][..], "SubgroupUniformControlFlowKHR", None, "SPV_KHR_subgroup_uniform_control_flow", false),
        (&[6023], "MaximallyReconvergesKHR", None, "SPV_KHR_maximal_reconvergence", false),
        (&[4461, 32], "SignedZeroInfNanPreserve for floats of 32 bits", Some(4466), controls, true),
        (&[4461, 16], "SignedZeroInfNanPreserve for floats of 16 bits", Some(4466), controls, true),
        (&[4461, 64], "SignedZeroInfNanPreserve for floats of 64 bits", Some(4466), controls, true),
        (&[4462, 32], "RoundingModeRTE for floats of 32 bits", Some(4467), controls, true),
        (&[4462, 16], "RoundingModeRTE for floats of 16 bits", Some(4467), controls, true),
        (&[4459, 32], "DenormPreserve for floats of 32 bits", Some(4464), controls, false),
        (&[4460, 32], "DenormFlushToZero for floats of 32 bits", Some(4465), controls, false),
        (&[4463, 32], "RoundingModeRTZ for floats of 32 bits", Some(4468), controls, false),
    ] {
        let missing = run(&rig, name, &declaring(capability, extension, mode));
        assert!(!is_llvmpipe || missing.is_none() == on_llvmpipe, "{name}: {missing:?}");
        if let Some(what) = missing {
            // The capability comes first where none of the widths is there.
            let of_mode = format!("the execution mode {name}");
            let of_capability =
                format!("the SPIR-V capability {}", name.split(' ').next().unwrap_or_default());
            assert!(what == of_mode || capability.is_some() && what == of_capability, "{what}");
        }
    }
    rig.assert_no_validation_messages();
}

/// A declared extension is a requirement even if the module uses nothing from it.
#[test]
fn extension_by_extension() {
    let rig = rig!();
    let is_llvmpipe = rig.context.device_info().driver_info.contains("Mesa 22.3");
    for (name, on_llvmpipe) in [
        ("SPV_KHR_storage_buffer_storage_class", true),
        ("SPV_KHR_non_semantic_info", true),
        ("SPV_KHR_float_controls", true),
        ("SPV_KHR_shader_clock", true),
        ("SPV_EXT_shader_atomic_float_add", true),
        ("SPV_KHR_maximal_reconvergence", false),
        ("SPV_KHR_subgroup_uniform_control_flow", false),
        ("SPV_KHR_expect_assume", false),
    ] {
        let missing = run(&rig, name, &declaring(None, name, &[]));
        assert!(!is_llvmpipe || missing.is_none() == on_llvmpipe, "{name}: {missing:?}");
        assert!(missing.is_none_or(|what| what == format!("the SPIR-V extension {name}")));
    }
    rig.assert_no_validation_messages();
}

/// Sizes at the limit and one over it, in each dimension.
#[cfg(feature = "wgsl")]
#[test]
fn work_groups_over_the_limits() {
    let rig = rig!();
    let limits = rig.context.device_info().limits.clone();
    let text = |size: [u32; 3]| {
        format!(
            "@group(0) @binding(0) var<storage, read_write> z: array<u32>;\n\
             @compute @workgroup_size({}, {}, {})\nfn main(@builtin(local_invocation_index) i: u32) {{ z[i] = i; }}",
            size[0], size[1], size[2]
        )
    };
    let z = rig.context.buffer_from(&poison(limits.max_work_group_invocations as usize)).unwrap();
    for axis in 0..3 {
        for (size, fits) in [
            (limits.max_work_group_size[axis].min(limits.max_work_group_invocations), true),
            (limits.max_work_group_size[axis] + 1, false),
        ] {
            let mut whole = [1; 3];
            whole[axis] = size;
            let loaded = rig.context.kernel_from_wgsl("sized", &text(whole));
            match loaded {
                Ok(kernel) if fits => {
                    z.upload(&poison(limits.max_work_group_invocations as usize)).unwrap();
                    rig.queue
                        .submit(|h| {
                            h.arg(0, z.write()).dispatch(&kernel, [1, 1, 1]);
                        })
                        .unwrap();
                    assert_eq!(z.download().unwrap()[size as usize - 1], size - 1);
                }
                Err(Error::Submit { problem: SubmitError::WorkGroupSize { size: found, .. }, .. })
                    if !fits =>
                {
                    assert_eq!(found, whole);
                }
                other => panic!("{whole:?}: {other:?}"),
            }
        }
    }
    let loaded = rig.context.kernel_from_wgsl("sized", &text([limits.max_work_group_invocations, 2, 1]));
    assert!(matches!(loaded, Err(Error::Submit { problem: SubmitError::WorkGroupSize { .. }, .. })));
    rig.assert_no_validation_messages();
}

/// Instructions behind capabilities, with right values where the device has them.
#[test]
fn kernels_that_use_what_they_declare() {
    let rig = rig!();
    let loaded = |name: &str| match rig.context.load_spirv(shader(name)) {
        Ok(kernel) => Some(kernel),
        Err(Error::Submit { problem: SubmitError::Requirement { enable, .. }, .. }) => {
            assert_eq!(enable, None);
            None
        }
        Err(other) => panic!("{name}: {other}"),
    };
    let n = 256u32;
    let words = rig.context.buffer_from(&(0..n).collect::<Vec<_>>()).unwrap();
    let mut ran = 0;
    for (name, wanted) in [
        ("forms/clock", &(|i: u32| i + 1) as &dyn Fn(u32) -> u32),
        ("forms/uniform_flow", &|i: u32| if i.is_multiple_of(2) { i + 3 } else { i }),
    ] {
        let Some(kernel) = loaded(name) else { continue };
        let z = rig.context.buffer_from(&poison(n as usize)).unwrap();
        let event = rig.queue.submit(|h| {
            h.arg(0, words.read()).arg(1, z.write()).dispatch(&kernel, [4, 1, 1]);
        });
        event.unwrap();
        assert_eq!(z.download().unwrap(), (0..n).map(wanted).collect::<Vec<_>>(), "{name}");
        ran += 1;
    }
    if let Some(kernel) = loaded("forms/float_atomics") {
        let x = rig.context.buffer_from(&(0..n).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
        let [y, z] = [(); 2].map(|()| rig.context.buffer_from(&[10.0f32; 4]).unwrap());
        let event = rig.queue.submit(|h| {
            h.arg(0, x.read()).arg(1, y.read_write()).arg(2, z.read_write()).dispatch(&kernel, [4, 1, 1]);
        });
        event.unwrap();
        assert_eq!(y.download().unwrap(), [63.0, 127.0, 191.0, 255.0]);
        let sums = [0, 1, 2, 3].map(|group| (64 * group..64 * group + 64).sum::<u32>() as f32 + 10.0);
        assert_eq!(z.download().unwrap(), sums);
        ran += 1;
    }
    let is_llvmpipe = rig.context.device_info().driver_info.contains("Mesa 22.3");
    assert!(!is_llvmpipe || ran == 2);
    rig.assert_no_validation_messages();
}
