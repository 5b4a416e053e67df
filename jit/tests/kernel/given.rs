//! What is given for specialization constants is used, in whatever way a module says which constant is meant.

use std::sync::Arc;

use vkfuse_interp::{Bind, Dispatch, Memory, Options, Program, execute};
use vkfuse_jit::kernel::{Kernel, KernelError, Module, SpecType, SpecValue, Specialized};

use super::corpus;

fn kernel(name: &str) -> Kernel {
    corpus::kernel(&format!("given/{name}"))
}

/// What a kernel leaves in its last binding, of this many words, where the others hold 1000, 1001 and so on. Unfused and in normal form.
pub(crate) fn results(kernel: &Specialized, words: u32) -> Vec<u32> {
    let run = |module: &[u32]| {
        let program = Program::decode(module).expect("the interpreter takes it");
        let mut memory = Memory::new();
        let mut objects = Vec::new();
        let last = kernel.interface.bindings.len() - 1;
        for (number, binding) in kernel.interface.bindings.iter().enumerate() {
            let contents = (0..words).map(|word| if number == last { 0 } else { 1000 + word });
            let bytes: Vec<u8> = contents.flat_map(u32::to_le_bytes).collect();
            let len = bytes.len() as u64;
            let object = memory.add(bytes);
            objects.push(Bind { set: binding.at.set, binding: binding.at.binding, object, offset: 0, len });
        }
        let written = objects[last].object;
        let groups = [words / kernel.interface.local_size[0], 1, 1];
        let dispatch = Dispatch { program: &program, groups, bindings: objects, push: vec![] };
        execute(&[dispatch], &mut memory, &Options::default()).expect("it runs");
        memory.words(written).to_vec()
    };
    let plain = run(&kernel.plain.strict);
    use rspirv::binary::Assemble;
    let normal = kernel.normal.as_ref().expect("a normal form");
    assert_eq!(run(&normal.module.assemble()), plain);
    plain
}

fn with(kernel: &Kernel, values: &[(u32, SpecValue)]) -> Arc<Specialized> {
    kernel.specialize(values).unwrap_or_else(|error| panic!("{error}"))
}

/// What is added to the first word.
fn added(name: &str, values: &[(u32, SpecValue)]) -> u32 {
    let kernel = with(&kernel(name), values);
    let words = kernel.interface.local_size[0] * 2;
    results(&kernel, words)[0] - 1000
}

#[test]
fn constants_with_one_id_keep_their_own_defaults() {
    let kernel = kernel("spec_id_shared");
    let of = |values: &[(u32, SpecValue)]| {
        let kernel = with(&kernel, values);
        results(&kernel, kernel.interface.local_size[0])[0]
    };
    assert_eq!(of(&[]), 7064);
    assert_eq!(of(&[(0, SpecValue::U32(5))]), 5005);
    // The default of one of them is given to all.
    assert_eq!(of(&[(0, SpecValue::U32(7))]), 7007);
    assert_eq!(of(&[(0, SpecValue::U32(64))]), 64064);
    assert_eq!(of(&[(0, SpecValue::I32(3))]), 3003);
    let [constant] = kernel.spec_constants() else { panic!("{:?}", kernel.spec_constants()) };
    let all = std::iter::once((constant.ty, constant.default));
    let mut all: Vec<_> = all.chain(constant.shared.iter().map(|one| (one.ty, one.default))).collect();
    all.sort_by_key(|(_, default)| default.bits());
    assert_eq!(all, [(SpecType::U32, SpecValue::U32(7)), (SpecType::U32, SpecValue::U32(64))]);
}

#[test]
fn ids_come_through_groups() {
    for name in ["spec_id_by_group", "lines", "forward_refs"] {
        assert_eq!(added(name, &[]), 5, "{name}");
        assert_eq!(added(name, &[(3, SpecValue::U32(100))]), 100, "{name}");
        assert_eq!(added(name, &[(3, SpecValue::U32(5))]), 5, "{name}");
        assert_eq!(added(name, &[(4, SpecValue::U32(100))]), 5, "{name}");
        let constants = kernel(name);
        let [constant] = constants.spec_constants() else { panic!("{name}") };
        assert_eq!((constant.id, constant.ty, constant.default), (3, SpecType::U32, SpecValue::U32(5)));
    }
    assert_eq!(kernel("lines").spec_constants()[0].name.as_deref(), Some("K"));
}

#[test]
fn constants_of_several_types_share_an_id() {
    // K * L if T, else K + L, of 5, 7 and true.
    assert_eq!(added("shared_by_group", &[]), 35);
    assert_eq!(added("shared_by_group", &[(3, SpecValue::U32(6))]), 36);
    assert_eq!(added("shared_by_group", &[(3, SpecValue::U32(1))]), 1);
    assert_eq!(added("shared_by_group", &[(3, SpecValue::U32(0))]), 0);
    assert_eq!(added("shared_by_group", &[(3, SpecValue::Bool(true))]), 1);
    let error = kernel("shared_by_group").specialize(&[(3, SpecValue::U64(1))]).unwrap_err();
    assert!(matches!(error, KernelError::SpecializationType { id: 3, .. }), "{error}");
}

#[test]
fn sizes_and_offsets_come_through_groups() {
    let kernel = kernel("size_by_group");
    for (values, size) in [(&[][..], 5), (&[(3, SpecValue::U32(8))][..], 8)] {
        let kernel = with(&kernel, values);
        assert_eq!(kernel.interface.local_size, [size, 1, 1]);
        let expected: Vec<u32> = (0..size * 2).map(|word| 1000 + word + size).collect();
        assert_eq!(results(&kernel, size * 2), expected);
    }
    // The array begins at the third word.
    let members = with(&self::kernel("members_by_group"), &[]);
    assert_eq!(results(&members, 128)[..4], [1007, 1008, 1009, 1010]);
}

/// A group that is used where SPIR-V does not allow it is refused by name, and never followed in part.
#[test]
fn misplaced_groups_are_refused() {
    let bytes = corpus::bytes("given/spec_id_by_group");
    let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let find = |opcode: u32, number: usize| {
        let mut at = 5;
        let mut found = Vec::new();
        while at < words.len() {
            if words[at] & 0xffff == opcode {
                found.push(at..at + (words[at] >> 16) as usize);
            }
            at += (words[at] >> 16) as usize;
        }
        found[number].clone()
    };
    let (group, applied) = (find(73, 0), find(74, 0));
    let moved = |from: std::ops::Range<usize>, to: usize| {
        let mut out = words.clone();
        let inst: Vec<u32> = out.drain(from).collect();
        out.splice(to..to, inst);
        out
    };
    let refused = |what: &str, words: &[u32]| {
        let error = Module::from_words("misplaced", words).expect_err(what);
        assert!(matches!(error, KernelError::Malformed { .. }), "{what}: {error}");
    };
    // Applied before it is declared.
    refused("applied before", &moved(group.clone(), applied.end - group.len()));
    // Declared before it is decorated.
    let decorated = find(71, 1);
    refused("declared before", &moved(group.clone(), decorated.start));
    let mut onto_itself = words.clone();
    onto_itself[applied.start + 2] = onto_itself[applied.start + 1];
    refused("applied to a group", &onto_itself);
    let mut of_no_group = words.clone();
    of_no_group[applied.start + 1] = words[applied.start + 2];
    refused("no group", &of_no_group);
}

#[test]
fn ids_that_no_constant_has_are_listed() {
    let unknown = |name: &str, ids: &[u32]| kernel(name).unknown_constants(ids.iter().copied());
    assert_eq!(unknown("spec_id_by_group", &[3]), []);
    assert_eq!(unknown("spec_id_by_group", &[4, 3, 1, 4]), [1, 4]);
    assert_eq!(unknown("spec_id_shared", &[0, 1]), [1]);
}
