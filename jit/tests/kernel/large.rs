//! Valid modules that are large or deep in one respect: loaded or refused in bounded time, on the
//! small stack of a test thread.

use std::fmt::Write;
use std::time::{Duration, Instant};

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{
    AddressingModel, Capability, Decoration, ExecutionMode, ExecutionModel, FunctionControl, MemoryModel,
    SelectionControl, StorageClass,
};
use vkfuse_jit::Reason;
use vkfuse_jit::kernel::{Kernel, KernelReason, Module};

/// A module under construction with `buffer.a[0]` as `value`.
struct Shape {
    b: Builder,
    uint: u32,
    void: u32,
    boolean: u32,
    fn_void: u32,
    pointer: u32,
    buffer: u32,
    zero: u32,
}

impl Shape {
    fn new() -> Shape {
        let mut b = Builder::new();
        b.set_version(1, 3);
        b.capability(Capability::Shader);
        b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
        let void = b.type_void();
        let boolean = b.type_bool();
        let uint = b.type_int(32, 0);
        let fn_void = b.type_function(void, []);
        let array = b.type_runtime_array(uint);
        let block = b.type_struct([array]);
        let block_pointer = b.type_pointer(None, StorageClass::StorageBuffer, block);
        let pointer = b.type_pointer(None, StorageClass::StorageBuffer, uint);
        let buffer = b.variable(block_pointer, None, StorageClass::StorageBuffer, None);
        b.decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(4)]);
        b.decorate(block, Decoration::Block, []);
        b.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
        b.decorate(buffer, Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
        b.decorate(buffer, Decoration::Binding, [Operand::LiteralBit32(0)]);
        let zero = b.constant_bit32(uint, 0);
        Shape { b, uint, void, boolean, fn_void, pointer, buffer, zero }
    }

    fn begin(&mut self) -> u32 {
        let (void, fn_void) = (self.void, self.fn_void);
        let function = self.b.begin_function(void, None, FunctionControl::NONE, fn_void).unwrap();
        self.b.begin_block(None).unwrap();
        function
    }

    fn place(&mut self) -> u32 {
        let (pointer, buffer, zero) = (self.pointer, self.buffer, self.zero);
        self.b.access_chain(pointer, None, buffer, [zero, zero]).unwrap()
    }

    fn load(&mut self) -> u32 {
        let place = self.place();
        self.b.load(self.uint, None, place, None, []).unwrap()
    }

    fn store(&mut self, value: u32) {
        let place = self.place();
        self.b.store(place, value, None, []).unwrap();
    }

    fn end(&mut self) {
        self.b.ret().unwrap();
        self.b.end_function().unwrap();
    }

    fn finish(mut self, entry: u32) -> Vec<u32> {
        self.b.entry_point(ExecutionModel::GLCompute, entry, "main", []);
        self.b.execution_mode(entry, ExecutionMode::LocalSize, [1, 1, 1]);
        self.b.module().assemble()
    }
}

/// Loads and normalises; the reason if it has no normal form, or the error.
fn outcome(words: &[u32]) -> String {
    let start = Instant::now();
    let mut text = String::new();
    match Module::from_words("large", words) {
        Err(error) => write!(text, "error: {error}").unwrap(),
        Ok(module) => {
            println!("loaded after {:?}", start.elapsed());
            let kernel = Kernel::new(&module, None).unwrap();
            match kernel.specialize(&[]) {
                Err(error) => write!(text, "error: {error}").unwrap(),
                Ok(kernel) => match &kernel.normal {
                    Ok(_) => text.push_str("normal"),
                    Err(Reason::Kernel(KernelReason::TooLarge { .. })) => text.push_str("large"),
                    Err(reason) => write!(text, "reason: {reason}").unwrap(),
                },
            }
        }
    }
    let spent = start.elapsed();
    println!("{} words, {spent:?}: {text}", words.len());
    assert!(spent < Duration::from_secs(30), "{spent:?}");
    text
}

#[test]
fn calls_that_double_at_every_step() {
    let mut shape = Shape::new();
    let mut callee = shape.begin();
    let value = shape.load();
    shape.store(value);
    shape.end();
    for _ in 0..60 {
        let caller = shape.begin();
        for _ in 0..2 {
            shape.b.function_call(shape.void, None, callee, []).unwrap();
        }
        shape.end();
        callee = caller;
    }
    assert_eq!(outcome(&shape.finish(callee)), "large");
}

#[test]
fn a_long_chain_of_calls() {
    let mut shape = Shape::new();
    let mut callee = shape.begin();
    let value = shape.load();
    shape.store(value);
    shape.end();
    for _ in 0..2000 {
        let caller = shape.begin();
        shape.b.function_call(shape.void, None, callee, []).unwrap();
        shape.end();
        callee = caller;
    }
    assert_eq!(outcome(&shape.finish(callee)), "large");
}

#[test]
fn many_instructions_in_one_chain() {
    for count in [1_000, 25_000, 100_000] {
        let mut shape = Shape::new();
        let entry = shape.begin();
        let mut value = shape.load();
        for _ in 0..count {
            value = shape.b.i_add(shape.uint, None, value, value).unwrap();
        }
        shape.store(value);
        shape.end();
        let expected = if count > 30_000 { "large" } else { "normal" };
        assert_eq!(outcome(&shape.finish(entry)), expected);
    }
}

#[test]
fn long_chains_of_composites_and_copies() {
    let mut shape = Shape::new();
    let pair = shape.b.type_vector(shape.uint, 2);
    let entry = shape.begin();
    let value = shape.load();
    let mut vector = shape.b.composite_construct(pair, None, [value, value]).unwrap();
    for index in 0..6000 {
        vector = shape.b.composite_insert(pair, None, value, vector, [index % 2]).unwrap();
        vector = shape.b.copy_object(pair, None, vector).unwrap();
    }
    let value = shape.b.composite_extract(shape.uint, None, vector, [0]).unwrap();
    shape.store(value);
    shape.end();
    assert_eq!(outcome(&shape.finish(entry)), "normal");
}

#[test]
fn deeply_nested_selections() {
    for depth in [50, 150, 300, 3000] {
        let mut shape = Shape::new();
        let entry = shape.begin();
        let value = shape.load();
        let condition = shape.b.i_equal(shape.boolean, None, value, shape.zero).unwrap();
        let mut merges = Vec::new();
        for _ in 0..depth {
            let (inner, merge) = (shape.b.id(), shape.b.id());
            shape.b.selection_merge(merge, SelectionControl::NONE).unwrap();
            shape.b.branch_conditional(condition, inner, merge, []).unwrap();
            shape.b.begin_block(Some(inner)).unwrap();
            merges.push(merge);
        }
        shape.store(value);
        for merge in merges.into_iter().rev() {
            shape.b.branch(merge).unwrap();
            shape.b.begin_block(Some(merge)).unwrap();
        }
        shape.end();
        let outcome = outcome(&shape.finish(entry));
        match depth {
            300.. => assert!(outcome.contains("deeply nested"), "{outcome}"),
            _ => assert_eq!(outcome, "normal"),
        }
    }
}

#[test]
fn many_blocks_in_sequence() {
    for (count, expected) in [(500, "normal"), (2500, "large"), (20_000, "error")] {
        let outcome = outcome(&sequence(count));
        assert!(outcome.starts_with(expected), "{count}: {outcome}");
    }
}

fn sequence(count: u32) -> Vec<u32> {
    let mut shape = Shape::new();
    let entry = shape.begin();
    let value = shape.load();
    let condition = shape.b.i_equal(shape.boolean, None, value, shape.zero).unwrap();
    for _ in 0..count {
        let (inner, merge) = (shape.b.id(), shape.b.id());
        shape.b.selection_merge(merge, SelectionControl::NONE).unwrap();
        shape.b.branch_conditional(condition, inner, merge, []).unwrap();
        shape.b.begin_block(Some(inner)).unwrap();
        shape.store(value);
        shape.b.branch(merge).unwrap();
        shape.b.begin_block(Some(merge)).unwrap();
    }
    shape.end();
    shape.finish(entry)
}

#[test]
fn many_helpers_that_return_early() {
    let mut shape = Shape::new();
    let mut helpers = Vec::new();
    for _ in 0..100 {
        let helper = shape.begin();
        let value = shape.load();
        let condition = shape.b.i_equal(shape.boolean, None, value, shape.zero).unwrap();
        for _ in 0..8 {
            let (inner, merge) = (shape.b.id(), shape.b.id());
            shape.b.selection_merge(merge, SelectionControl::NONE).unwrap();
            shape.b.branch_conditional(condition, inner, merge, []).unwrap();
            shape.b.begin_block(Some(inner)).unwrap();
            shape.b.ret().unwrap();
            shape.b.begin_block(Some(merge)).unwrap();
        }
        shape.store(value);
        shape.end();
        helpers.push(helper);
    }
    let entry = shape.begin();
    for helper in helpers {
        shape.b.function_call(shape.void, None, helper, []).unwrap();
    }
    shape.end();
    assert_eq!(outcome(&shape.finish(entry)), "normal");
}
