//! Buffers of arguments.

use super::*;

#[test]
fn a_buffer_takes_other_bytes_when_nobody_keeps_it() {
    let Some(gpu) = open(false) else { return };
    let buffers = &gpu.0.passed;
    let with = |word: u32| buffers.with(&gpu, &word.to_le_bytes()).unwrap();
    let holds = |memory: &Memory| {
        let mut bytes = [0; 4];
        assert!(memory.read_mapped(0, &mut bytes));
        u32::from_le_bytes(bytes)
    };
    let (first, second) = (with(1), with(2));
    let same = with(1);
    assert_eq!((first.id(), holds(&first)), (same.id(), 1));
    assert_ne!(first.id(), second.id());
    // Both are kept.
    let third = with(3);
    assert!(third.id() != first.id() && third.id() != second.id());
    let old = second.id();
    drop(second);
    let fourth = with(4);
    assert_eq!((fourth.id(), holds(&fourth)), (old, 4));
    assert_eq!([holds(&first), holds(&third)], [1, 3]);
    drop((same, first));
    assert_eq!(with(3).id(), third.id());
    // However many are kept, each has its own bytes.
    let many: Vec<_> = (10..210).map(with).collect();
    assert!(many.iter().zip(10..).all(|(memory, word)| holds(memory) == word));
    drop(many);
    let before = gpu.stats().allocations;
    (1000..2000).for_each(|word| assert_eq!(holds(&with(word)), word));
    assert_eq!(gpu.stats().allocations, before, "what nobody keeps is used again");
}

#[test]
fn a_buffer_of_arguments_is_the_last_binding() {
    let Some(gpu) = open(false) else { return };
    let words = add_words();
    let source = PipelineSource {
        words: &words,
        entry: c"main",
        bindings: &ADD_BINDINGS,
        push_bytes: 8,
        push_buffer: 16,
        subgroups: false,
        lanes: None,
        statistics: false,
        blob: None,
    };
    let refused = gpu.pipeline(&source).unwrap_err();
    assert!(matches!(refused, DeviceError::Binding { .. }), "{refused}");
}
