//! Modules that declare capabilities which the tools do not know: they load, with the reason why they are not fused, and run as they are.

use smallvec::SmallVec;
use vkfuse_jit::Reason;
use vkfuse_jit::kernel::{Binding, FloatControls, FloatWidths, Kernel, KernelError, KernelReason, Module};
use vkfuse_jit::plan::{Arg, BufferId, FloatMode, Limits, Promote, Submission, plan_unfused};

use super::corpus;

/// One that no version of the grammar has.
const UNKNOWN: u32 = 65_000;

/// The words of a module that also declares a capability.
fn declaring(name: &str, capability: u32) -> Vec<u32> {
    let mut words = corpus::module(name).words().to_vec();
    words.splice(5..5, [2 << 16 | 17, capability]);
    words
}

/// Where the instructions with this opcode begin.
fn places(words: &[u32], opcode: u32) -> Vec<usize> {
    let mut at = 5;
    let mut places = Vec::new();
    while at < words.len() {
        if words[at] & 0xffff == opcode {
            places.push(at);
        }
        at += (words[at] >> 16) as usize;
    }
    places
}

#[test]
fn a_capability_that_the_parser_does_not_know_keeps_a_module_from_being_fused() {
    let words = declaring("chain", UNKNOWN);
    let module = Module::from_words("newer", &words).unwrap();
    assert!(!module.is_checked());
    assert_eq!(module.unknown_capabilities().collect::<Vec<_>>(), [UNKNOWN]);
    let kernel = Kernel::new(&module, None).unwrap().specialize(&[]).unwrap();
    let Err(Reason::Kernel(reason @ KernelReason::Newer { capability, tool })) = &kernel.normal else {
        panic!("{:?}", kernel.normal.as_ref().map(|_| ()));
    };
    assert_eq!(capability, "65000");
    assert!(tool.starts_with("rspirv"), "{tool}");
    assert!(reason.to_string().contains("capability 65000, which is not known to rspirv"), "{reason}");
    // It is what it was, with its constants fixed.
    assert_eq!(kernel.plain.strict, kernel.plain.contract);
    assert_eq!(places(&kernel.plain.strict, 17).len(), places(&words, 17).len());
    let usual = corpus::specialized("chain");
    assert_eq!(kernel.interface.bindings, usual.interface.bindings);
    assert_eq!(kernel.interface.push, usual.interface.push);
    assert_eq!(kernel.interface.local_size, usual.interface.local_size);
    // Of one without, all is known.
    assert!(corpus::module("chain").is_checked());
    assert_eq!(corpus::module("chain").unknown_capabilities().count(), 0);
}

/// Alone it runs as it is under strict floats, too: its execution modes cannot be added to.
#[test]
fn a_module_that_cannot_be_decoded_asks_for_no_float_controls() {
    let module = Module::from_words("newer", &declaring("chain", UNKNOWN)).unwrap();
    let kernel = Kernel::new(&module, None).unwrap().specialize(&[]).unwrap();
    let single = FloatWidths { f32: true, ..FloatWidths::NONE };
    let float_controls = FloatControls { special: single, denormals: single, rounding: FloatWidths::NONE };
    let limits = Limits { float_controls, ..Limits::default() };
    let one = Submission {
        kernel: kernel.clone(),
        base: [0; 3],
        groups: [1; 3],
        args: SmallVec::new(),
        push: SmallVec::new(),
    };
    let step = plan_unfused(&one, FloatMode::Strict, &limits).unwrap();
    assert_eq!(step.build().unwrap()[..], kernel.plain.strict[..]);
    assert_eq!(step.changes(), []);
}

/// An unknown instruction may do anything.
#[test]
fn instructions_that_are_not_known_may_write() {
    let mut words = declaring("chain", UNKNOWN);
    let end = places(&words, 253)[0];
    words.insert(end, 1 << 16 | 7000);
    let module = Module::from_words("newer", &words).unwrap();
    let kernel = Kernel::new(&module, None).unwrap().specialize(&[]).unwrap();
    assert!(kernel.interface.bindings.iter().all(|binding| binding.reads && binding.writes));
    assert!(!corpus::specialized("chain").interface.bindings.iter().all(|binding| binding.writes));
    // The driver gets it.
    assert_eq!(places(&kernel.plain.strict, 7000).len(), 1);
}

/// A capability makes an instruction one that may be newer; without one it is wrong.
#[test]
fn what_the_tools_object_to_is_an_error_in_a_module_of_which_they_know_all() {
    let mut words = corpus::module("chain").words().to_vec();
    let end = places(&words, 253)[0];
    words.insert(end, 1 << 16 | 7000);
    assert!(matches!(Module::from_words("wrong", &words), Err(KernelError::Decode { .. })));
}

#[test]
fn types_that_are_made_of_themselves_are_refused_whatever_is_declared() {
    let words = declaring("chain", UNKNOWN);
    for structure in places(&words, 30) {
        let mut words = words.clone();
        words[structure + 2] = words[structure + 1];
        assert!(matches!(Module::from_words("circle", &words), Err(KernelError::Decode { .. })));
    }
}

/// Whether the validator knows cooperative matrices depends on its version; that it can be used does not.
#[test]
fn a_capability_that_the_validator_does_not_know_is_named_with_its_version() {
    let module = match Module::from_words("matrices", &declaring("chain", 6022)) {
        Ok(module) => module,
        // One that knows them knows as well that they need an extension, which is not declared.
        Err(KernelError::Invalid { detail, .. }) => {
            return assert!(detail.contains("CooperativeMatrixKHR"), "{detail}");
        }
        Err(other) => panic!("{other}"),
    };
    let kernel = Kernel::new(&module, None).unwrap().specialize(&[]).unwrap();
    let Err(Reason::Kernel(reason)) = &kernel.normal else { panic!("it has a normal form") };
    match reason {
        KernelReason::Newer { capability, tool } => {
            assert!(!module.is_checked());
            assert_eq!(capability, "CooperativeMatrixKHR (6022)");
            assert!(tool.contains("spirv-val") || tool.contains("SPIRV-Tools"), "{tool}");
        }
        KernelReason::Capability(name) => assert_eq!(name, "CooperativeMatrixKHR"),
        other => panic!("{other}"),
    }
    assert_eq!(module.unknown_capabilities().count(), 0);
}

/// Damaged modules of this kind are met by no validator.
#[test]
fn survives_damage_to_modules_that_nobody_has_validated() {
    let mut random = super::hostile::Random::new(0x51ed_270b_9f2c_3a11);
    for name in
        ["chain.0", "control.3", "spec", "types", "hlsl", "many", "atomics", "pointers", "naga", "image"]
    {
        let original = declaring(name, UNKNOWN);
        for _ in 0..super::hostile::rounds() / 2 {
            let mut words = original.clone();
            for _ in 0..=random.below(3) {
                let at = 7 + random.below(words.len() - 7);
                match random.below(2) {
                    0 => words[at] ^= 1 << random.below(32),
                    _ => words[at] = words[7 + random.below(words.len() - 7)],
                }
            }
            let Ok(module) = Module::from_words("damaged", &words) else { continue };
            for entry in module.entry_points() {
                let _ = Kernel::new(&module, Some(entry)).expect("a listed entry point").specialize(&[]);
            }
        }
    }
}

/// An array as long as a constant says, whose default is zero, has a length once the constant is given.
#[test]
fn constants_that_are_given_make_a_module_valid() {
    let mut words = corpus::module("spec").words().to_vec();
    let decorated = places(&words, 71).into_iter().find(|&at| words[at + 2] == 1 && words[at + 3] == 2);
    let count = words[decorated.expect("constant 2") + 1];
    let default = places(&words, 50).into_iter().find(|&at| words[at + 2] == count).expect("its default");
    words[default + 3] = 0;
    let computed: Vec<u32> = places(&words, 52).into_iter().map(|at| words[at + 2]).collect();
    let arrays = places(&words, 28).into_iter().filter(|&at| computed.contains(&words[at + 3]));
    for array in arrays.collect::<Vec<_>>() {
        words[array + 3] = count;
    }
    let module = Module::from_words("empty", &words).unwrap();
    let kernel = Kernel::new(&module, None).unwrap();
    let with = |count: u32| kernel.specialize(&[(2, vkfuse_jit::kernel::SpecValue::U32(count))]);
    assert!(matches!(kernel.specialize(&[]), Err(KernelError::Invalid { .. })));
    assert!(matches!(with(0), Err(KernelError::Invalid { .. })));
    let usual = with(8).unwrap();
    assert!(usual.normal.is_ok());
    assert_eq!(usual.interface.workgroup_bytes, 32);
    corpus::assert_valid("the module with its constants", &usual.plain.strict);
}

/// A module with something that the tools or the passes do not know runs unmodified: no decorations and no execution modes are added.
#[test]
fn they_run_as_they_were_given() {
    let all = FloatWidths { f16: true, f32: true, f64: true };
    let limits = Limits {
        float_controls: FloatControls { special: all, denormals: all, rounding: all },
        ..Limits::default()
    };
    let plan = |words: &[u32]| {
        let module = Module::from_words("newer", words).unwrap();
        let kernel = Kernel::new(&module, None).unwrap().specialize(&[]).unwrap();
        let arg = |(number, binding): (usize, &Binding)| Arg {
            at: binding.at,
            buffer: BufferId(number as u64),
            offset: 0,
            len: 1 << 12,
            promote: Promote::None,
            numbers: None,
            image: None,
        };
        let push = kernel.interface.push.as_ref().map_or(0, |push| push.size as usize);
        let submission = Submission {
            base: [0; 3],
            groups: [1; 3],
            args: kernel.interface.bindings.iter().enumerate().map(arg).collect(),
            push: vec![0; push].into(),
            kernel: kernel.clone(),
        };
        let step = plan_unfused(&submission, FloatMode::Strict, &limits).unwrap();
        (step.build().expect("it stands").to_vec(), kernel)
    };
    // Cooperative matrices, which newer tools know: with their extension, so that those have nothing to object to.
    let mut matrices = declaring("vulkan_memory", 6022);
    let text: Vec<u32> = b"SPV_KHR_cooperative_matrix\0\0"
        .chunks(4)
        .map(|four| u32::from_le_bytes(four.try_into().unwrap()))
        .collect();
    let end = places(&matrices, 17).last().copied().unwrap() + 2;
    matrices.splice(end..end, [&[(text.len() as u32 + 1) << 16 | 10], &text[..]].concat());
    for words in [declaring("chain", UNKNOWN), matrices] {
        let (built, kernel) = plan(&words);
        assert_eq!(built, kernel.plain.contract);
        assert_eq!(kernel.plain.strict, kernel.plain.contract);
        assert!(kernel.normal.is_err());
    }
    // Any other is strict, and asks for the float controls.
    let (built, kernel) = plan(corpus::module("chain").words());
    assert!(built != kernel.plain.contract && kernel.plain.strict != kernel.plain.contract);
}

/// Execution modes of the entry point, those among them that the parser does not know.
#[test]
fn execution_modes_are_told_by_number() {
    let mut words = declaring("chain", UNKNOWN);
    let entry = places(&words, 15)[0];
    let id = words[entry + 2];
    let end = entry + (words[entry] >> 16) as usize;
    words.splice(end..end, [4 << 16 | 16, id, 64_000, 7, 3 << 16 | 16, id, 4421]);
    let module = Module::from_words("newer", &words).unwrap();
    let kernel = Kernel::new(&module, None).unwrap().specialize(&[]).unwrap();
    let modes: Vec<(u32, String)> =
        kernel.interface.modes.iter().map(|mode| (mode.number, mode.name())).collect();
    let own = |number: u32, name: &str| (number, name.to_owned());
    let wanted = [own(17, "LocalSize"), own(64_000, "64000"), own(4421, "SubgroupUniformControlFlowKHR")];
    assert!(wanted.iter().all(|mode| modes.contains(mode)) && modes.len() == 3, "{modes:?}");
    let of_number = kernel.interface.modes.iter().find(|mode| mode.number == 64_000);
    assert_eq!(of_number.and_then(|mode| mode.width()), Some(7));
}

/// One that the tools do not know keeps a module from being checked, and not from being run.
#[test]
fn a_mode_that_the_tools_do_not_know_keeps_a_module_from_being_fused() {
    for (mode, name) in [(64_000, "64000"), (6023, "MaximallyReconvergesKHR (6023)")] {
        let mut words = corpus::module("chain").words().to_vec();
        let entry = places(&words, 15)[0];
        let (id, end) = (words[entry + 2], entry + (words[entry] >> 16) as usize);
        words.splice(end..end, [3 << 16 | 16, id, mode]);
        let module = match Module::from_words("newer", &words) {
            Ok(module) => module,
            // A validator that knows the mode wants its extension.
            Err(KernelError::Invalid { .. }) if mode == 6023 => continue,
            Err(error) => panic!("{error}"),
        };
        let kernel = Kernel::new(&module, None).unwrap().specialize(&[]).unwrap();
        assert!(kernel.interface.modes.iter().any(|one| one.number == mode));
        let Err(Reason::Kernel(KernelReason::NewerMode { mode: found, .. })) = &kernel.normal else {
            continue;
        };
        assert_eq!(found, name);
        assert!(!module.is_checked());
    }
}

/// What language a module was written in says nothing about its code: a validator that does not know the number is not asked about it.
#[test]
fn a_module_from_a_newer_language_is_what_it_would_be_from_another() {
    const SOURCE: u32 = 3;
    const SLANG: u32 = 11;
    let usual = corpus::module("chain").words().to_vec();
    let mut words = usual.clone();
    let names = places(&usual, 5).into_iter().chain(places(&usual, 71)).min().expect("names or decorations");
    match places(&usual, SOURCE).first() {
        Some(&source) => words[source + 1] = SLANG,
        None => drop(words.splice(names..names, [3 << 16 | SOURCE, SLANG, 1])),
    }
    let module = Module::from_words("newer", &words).unwrap();
    assert!(module.is_checked());
    let kernel = Kernel::new(&module, None).unwrap().specialize(&[]).unwrap();
    assert!(kernel.normal.is_ok(), "{:?}", kernel.normal.as_ref().map(|_| ()));
}
