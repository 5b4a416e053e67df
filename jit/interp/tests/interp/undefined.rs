//! Undefined results: they are noticed, and another result shows whether anything depends on them.

use vkfuse_interp::{Findings, Memory, Notice, Options, Program, Undefined, execute};

use crate::harness::{bytes, dispatch, shader};

/// Runs a kernel on eight numbers and their divisors.
fn run(program: &Program, divisors: [u32; 8], undefined: Notice) -> (Findings, Vec<u32>) {
    let mut memory = Memory::new();
    let x = memory.add(bytes(&[3, 1, 4, 1, 5, 9, 2, 6]));
    let (d, z) = (memory.add(bytes(&divisors)), memory.add(vec![0; 32]));
    let dispatch = dispatch(program, [1, 1, 1], &memory, &[x, d, z], &[]);
    let options = Options { undefined, ..Options::default() };
    let findings = execute(&[dispatch], &mut memory, &options).expect("runs");
    (findings, memory.words(z))
}

/// Runs it without and with another result, and says what is undefined and whether anything changed.
fn changes(program: &Program, divisors: [u32; 8]) -> Vec<(Undefined, bool)> {
    let (unnoticed, plain) = run(program, divisors, Notice::Not);
    assert!(unnoticed.undefined.is_empty());
    let (listed, same) = run(program, divisors, Notice::Listed);
    assert_eq!(plain, same);
    assert_eq!(unnoticed.steps, listed.steps);
    let found = listed.undefined.list.iter().map(|one| {
        assert_eq!(one.dispatch, 0);
        let (other, changed) = run(program, divisors, Notice::Other { dispatch: 0, word: one.word });
        let (elsewhere, unchanged) = run(program, divisors, Notice::Other { dispatch: 1, word: one.word });
        assert_eq!((&unchanged, elsewhere.out_of_bounds), (&plain, listed.out_of_bounds.clone()));
        (one.what, changed != plain || other.out_of_bounds != listed.out_of_bounds)
    });
    found.collect()
}

const USUAL: [u32; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
const ZERO: [u32; 8] = [1, 2, 3, 0, 5, 6, 7, 0];

#[test]
fn defined_results_are_not_noticed() {
    for program in [
        shader!("undefined_dropped"),
        shader!("undefined_result"),
        shader!("undefined_index"),
        shader!("undefined_logarithm"),
        shader!("undefined_clamped"),
        shader!("undefined_smooth"),
    ] {
        assert_eq!(changes(&program, USUAL), []);
    }
}

#[test]
fn a_dropped_result_changes_nothing() {
    let divisors = [1, 2, 3, 0, 5, 6, 7, 32];
    let expected = [(Undefined::DivisionByZero, false), (Undefined::Shift, false)];
    assert_eq!(changes(&shader!("undefined_dropped"), divisors), expected);
}

#[test]
fn a_result_that_is_stored_changes_it() {
    let reaches = |program: Program, divisors, what| {
        assert_eq!(changes(&program, divisors), [(what, true)]);
    };
    reaches(shader!("undefined_result"), [1, 2, 3, 32, 5, 6, 7, 8], Undefined::Shift);
    reaches(shader!("undefined_signed"), ZERO, Undefined::DivisionByZero);
    let many = 3e10f32.to_bits();
    reaches(shader!("undefined_converted"), [0, 0, many, 0, 0, 0, 0, 0], Undefined::Conversion);
    reaches(shader!("undefined_logarithm"), ZERO, Undefined::Domain);
    reaches(shader!("undefined_power"), USUAL, Undefined::Domain);
    reaches(shader!("undefined_clamped"), ZERO, Undefined::EmptyRange);
    reaches(shader!("undefined_smooth"), ZERO, Undefined::EmptyRange);
    reaches(shader!("undefined_index"), ZERO, Undefined::DivisionByZero);
    reaches(shader!("undefined_loop"), ZERO, Undefined::DivisionByZero);
}

#[test]
fn each_instruction_is_listed_once_with_who_came_first() {
    let (listed, _) = run(&shader!("undefined_signed"), ZERO, Notice::Listed);
    assert_eq!(listed.undefined.count, 1);
    assert_eq!(listed.undefined.list[0].invocation, [3, 0, 0]);
    assert!(listed.is_clean(), "by itself it is nothing");
}
