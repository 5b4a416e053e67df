//! What is not run, and says so.

use vkfuse_interp::{Bind, Dispatch, Memory, ObjectId, Options, OracleError, Order, Program, execute};

use crate::harness::{bytes, dispatch, run, shader, words};

#[test]
fn endless_loop_ends_at_the_step_limit() {
    let program = shader!("endless");
    for order in Order::ALL {
        let mut memory = Memory::new();
        let x = memory.add(bytes(&[0]));
        let dispatch = dispatch(&program, [1, 1, 1], &memory, &[x], &[]);
        let options = Options { order, max_steps: 10_000, ..Options::default() };
        let outcome = execute(&[dispatch], &mut memory, &options);
        assert_eq!(outcome, Err(OracleError::StepLimit { dispatch: 0, steps: 10_000 }), "{order:?}");
    }
}

#[test]
fn unsupported_instruction_is_named() {
    let bytes = include_bytes!("shaders/images.spv");
    let error = Program::decode(&words(bytes)).expect_err("cubes are outside the subset");
    assert!(matches!(&error, OracleError::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("no cubes"), "{error}");
}

#[test]
fn missing_or_bad_bindings_are_errors() {
    let program = shader!("two_names");
    let mut memory = Memory::new();
    let object = memory.add(vec![0; 64]);
    let first = Bind { set: 0, binding: 0, object, offset: 0, len: 64 };
    let run = |bindings: Vec<Bind>, memory: &mut Memory| {
        let dispatch = Dispatch { program: &program, groups: [1, 1, 1], bindings, push: bytes(&[0]) };
        execute(&[dispatch], memory, &Options::default())
    };
    let missing = run(vec![first], &mut memory);
    assert_eq!(missing, Err(OracleError::MissingBinding { dispatch: 0, set: 0, binding: 1 }));
    for bad in [
        Bind { binding: 1, offset: 60, len: 8, ..first },
        Bind { binding: 1, offset: u64::MAX, len: 8, ..first },
        Bind { binding: 1, object: ObjectId(9), ..first },
    ] {
        let outcome = run(vec![first, bad], &mut memory);
        assert_eq!(outcome, Err(OracleError::BadRange { dispatch: 0, set: 0, binding: 1 }));
    }
}

#[test]
fn no_groups_do_nothing() {
    let program = shader!("two_names");
    let mut memory = Memory::new();
    let object = memory.add(vec![0; 64]);
    let findings =
        run(&program, [4, 0, 4], &mut memory, &[object, object], &[0], Order::Forward).expect("runs");
    assert!(findings.is_clean() && findings.steps == 0);
    let outcome = run(&program, [u32::MAX; 3], &mut memory, &[object, object], &[0], Order::Forward);
    assert!(matches!(outcome, Err(OracleError::StepLimit { .. })), "{outcome:?}");
}

#[test]
fn damaged_modules_never_panic() {
    let modules: [&[u8]; 6] = [
        include_bytes!("shaders/control.spv"),
        include_bytes!("shaders/layouts.spv"),
        include_bytes!("shaders/subgroups.spv"),
        include_bytes!("shaders/histogram.spv"),
        include_bytes!("shaders/rows_optimised.spv"),
        include_bytes!("shaders/floats.spv"),
    ];
    for module in modules {
        let module = words(module);
        for len in 0..module.len() {
            let _ = Program::decode(&module[..len]);
        }
        // Each word once changed to a few others; whatever still decodes must run or fail in order.
        for at in 5..module.len() {
            for change in [0, 1, 7, module[at] ^ 1, module[at].wrapping_add(3), u32::MAX] {
                let mut damaged = module.clone();
                damaged[at] = change;
                if let Ok(program) = Program::decode(&damaged) {
                    let mut memory = Memory::new();
                    let object = memory.add(vec![1; 64]);
                    let bindings = program.bindings();
                    let bindings = bindings
                        .map(|(set, binding)| Bind { set, binding, object, offset: 0, len: 64 })
                        .collect();
                    let dispatch =
                        Dispatch { program: &program, groups: [1, 1, 1], bindings, push: bytes(&[3]) };
                    let options = Options { max_steps: 3000, max_lanes: 1 << 17, ..Options::default() };
                    let _ = execute(&[dispatch], &mut memory, &options);
                }
            }
        }
    }
}
