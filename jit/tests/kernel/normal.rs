//! The normal form of every module that has one.

use rspirv::binary::Assemble;
use rspirv::dr::Operand;
use rspirv::dr::{Instruction, Module};
use rspirv::spirv::{Capability, ExecutionMode, Op, StorageClass};
use vkfuse_jit::kernel::Kernel;

use super::corpus;

/// Modules that only run unfused.
const REFUSED: &[&str] = &["texel", "linked", "array", "volatile", "pointers", "mixed"];

#[test]
fn every_module_has_one_function_or_a_reason() {
    for name in corpus::names().iter().filter(|name| *name != "fragment") {
        let module = corpus::module(name);
        for entry in module.entry_points() {
            let kernel = Kernel::new(&module, Some(entry)).unwrap();
            let kernel = kernel.specialize(&[]).unwrap_or_else(|error| panic!("{name}: {error}"));
            corpus::assert_valid(&format!("{name} strict"), &kernel.plain.strict);
            corpus::assert_valid(&format!("{name} contract"), &kernel.plain.contract);
            let normal = match &kernel.normal {
                Ok(normal) => normal,
                Err(_) if REFUSED.contains(&name.as_str()) => continue,
                Err(reason) => panic!("{name}: {reason}"),
            };
            assert!(!REFUSED.contains(&name.as_str()), "{name} must be refused");
            corpus::assert_valid(&format!("{name} normal"), &normal.module.assemble());
            assert_eq!(normal.module.functions.len(), 1, "{name}");
            for inst in normal.module.all_inst_iter() {
                let op = inst.class.opcode;
                assert_ne!(op, Op::FunctionCall, "{name}");
                // An array that is indexed at run time, and a pointer that must not be one with others.
                let dynamic = name.starts_with("control") || name == "restrict_address";
                if op == Op::Variable && inst.operands[0] == Operand::StorageClass(StorageClass::Function) {
                    assert!(dynamic, "{name} keeps a local variable");
                }
            }
        }
    }
}

/// How often an opcode occurs.
fn count(module: &Module, op: Op) -> usize {
    let insts = module.all_inst_iter();
    insts.filter(|inst| inst.class.opcode == op).count()
}

fn has_locals(module: &Module) -> bool {
    let class = Operand::StorageClass(StorageClass::Function);
    let mut functions = module.functions[0].all_inst_iter();
    functions.any(|inst| inst.class.opcode == Op::Variable && inst.operands[0] == class)
}

#[test]
fn early_returns_of_the_entry_point_stay_returns() {
    let names = ["chain", "chain.0", "chain.o", "chain.gos", "hlsl", "hlsl.0g"];
    for name in names.iter().chain(&["control", "control.g", "control.3", "control.o"]) {
        let module = corpus::normal(name).module;
        assert_eq!(count(&module, Op::Return), 2, "{name}");
    }
}

#[test]
fn only_a_dynamically_indexed_array_stays_a_variable() {
    for name in ["control", "control.0", "control.g", "control.3", "control.o"] {
        let module = corpus::normal(name).module;
        let class = Operand::StorageClass(StorageClass::Function);
        let variables = module.functions[0].all_inst_iter();
        let variables = variables.filter(|inst| inst.operands.first() == Some(&class)).count();
        assert_eq!(variables, 1, "{name}");
    }
}

#[test]
fn loop_counters_are_phis() {
    assert!(count(&corpus::normal("spec").module, Op::Phi) >= 2);
    assert!(count(&corpus::normal("control").module, Op::Phi) >= 2);
}

#[test]
fn copies_are_loads_and_stores_through_whole_chains() {
    let module = corpus::normal("copies").module;
    for op in [Op::CopyMemory, Op::CopyObject] {
        assert_eq!(count(&module, op), 0, "{op:?}");
    }
    let function = &module.functions[0];
    let globals: Vec<u32> = module.types_global_values.iter().filter_map(|i| i.result_id).collect();
    for inst in function.all_inst_iter() {
        if inst.class.opcode == Op::AccessChain {
            assert!(globals.contains(&inst.operands[0].unwrap_id_ref()), "{inst:?}");
        }
    }
}

/// The float operations of a module, in order, with what decorates them.
fn arithmetic(module: &Module) -> Vec<Op> {
    let insts = module.functions.iter().flat_map(|f| f.all_inst_iter());
    let float = |op: &Op| format!("{op:?}").starts_with('F') || format!("{op:?}").contains("Times");
    insts
        .map(|inst| inst.class.opcode)
        .filter(|op| float(op) && !format!("{op:?}").starts_with("Func"))
        .collect()
}

#[test]
fn float_arithmetic_is_what_the_compiler_wrote() {
    for name in ["chain", "precise", "uniform", "shared"] {
        let kernel = corpus::specialized(name);
        let plain = rspirv::dr::load_words(&kernel.plain.contract).unwrap();
        assert_eq!(arithmetic(&plain), arithmetic(&corpus::normal(name).module), "{name}");
    }
}

/// The optimizer's passes do nothing in modules with extensions that they do not know. The normal form
/// must not depend on that.
#[test]
fn an_extension_the_optimizer_does_not_know_changes_nothing() {
    for name in ["chain", "types", "hlsl", "spec", "precise", "uniform"] {
        let mut module = rspirv::dr::load_words(corpus::module(name).words()).unwrap();
        let capability = vec![Operand::Capability(Capability::SignedZeroInfNanPreserve)];
        let capability = Instruction::new(Op::Capability, None, None, capability);
        module.capabilities.push(capability);
        let extension = vec![Operand::LiteralString("SPV_KHR_float_controls".to_owned())];
        module.extensions.push(Instruction::new(Op::Extension, None, None, extension));
        let entry = module.entry_points[0].operands[1].clone();
        let mode = vec![
            entry,
            Operand::ExecutionMode(ExecutionMode::SignedZeroInfNanPreserve),
            Operand::LiteralBit32(32),
        ];
        module.execution_modes.push(Instruction::new(Op::ExecutionMode, None, None, mode));
        let module = vkfuse_jit::kernel::Module::from_words(name, &module.assemble()).unwrap();
        let kernel = Kernel::new(&module, None).unwrap().specialize(&[]).unwrap();
        let normal = &kernel.normal.as_ref().unwrap().module;
        corpus::assert_valid(name, &normal.assemble());
        assert!(!has_locals(normal), "{name}");
        let plain = corpus::normal(name).module;
        assert_eq!(count(normal, Op::Store), count(&plain, Op::Store), "{name}");
    }
}
