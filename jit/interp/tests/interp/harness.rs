//! Runs checked-in shaders under every order.

use vkfuse_interp::{
    Bind, Dispatch, Findings, Memory, ObjectId, Options, OracleError, Order, Program, execute,
};

/// Decodes a shader of the `shaders` folder.
macro_rules! shader {
    ($name:literal) => {
        $crate::harness::decode(include_bytes!(concat!("shaders/", $name, ".spv")))
    };
}
pub(crate) use shader;

pub(crate) fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

pub(crate) fn decode(bytes: &[u8]) -> Program {
    Program::decode(&words(bytes)).expect("the shader is in the subset")
}

pub(crate) fn bytes(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub(crate) fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The whole of an object, as (set 0, binding).
pub(crate) fn whole(memory: &Memory, binding: u32, object: ObjectId) -> Bind {
    Bind { set: 0, binding, object, offset: 0, len: memory.bytes(object).len() as u64 }
}

/// One dispatch whose bindings are 0, 1, 2, … of set 0.
pub(crate) fn dispatch<'a>(
    program: &'a Program,
    groups: [u32; 3],
    memory: &Memory,
    objects: &[ObjectId],
    push: &[u32],
) -> Dispatch<'a> {
    let bindings = objects.iter().zip(0..).map(|(object, binding)| whole(memory, binding, *object)).collect();
    Dispatch { program, groups, bindings, push: bytes(push) }
}

pub(crate) fn run(
    program: &Program,
    groups: [u32; 3],
    memory: &mut Memory,
    objects: &[ObjectId],
    push: &[u32],
    order: Order,
) -> Result<Findings, OracleError> {
    let dispatch = dispatch(program, groups, memory, objects, push);
    execute(&[dispatch], memory, &Options { order, seed: 1, ..Options::default() })
}

/// Runs one dispatch over fresh copies of the buffers, under every order, and hands each outcome over.
pub(crate) fn every_order(
    program: &Program,
    groups: [u32; 3],
    buffers: &[Vec<u8>],
    push: &[u32],
    check: impl Fn(Order, &Memory, &[ObjectId], &Findings),
) {
    for order in Order::ALL {
        let mut memory = Memory::new();
        let objects: Vec<ObjectId> = buffers.iter().map(|buffer| memory.add(buffer.clone())).collect();
        let findings = run(program, groups, &mut memory, &objects, push, order).expect("the kernel runs");
        check(order, &memory, &objects, &findings);
    }
}

pub(crate) fn as_floats(memory: &Memory, object: ObjectId) -> Vec<f32> {
    memory.words(object).into_iter().map(f32::from_bits).collect()
}
