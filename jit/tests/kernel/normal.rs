//! The normal form of every module that has one.

use rspirv::binary::Assemble;
use rspirv::dr::Operand;
use rspirv::spirv::{Op, StorageClass};
use vkfuse_jit::kernel::Kernel;

use super::corpus;

/// Modules that only run unfused.
const REFUSED: &[&str] = &["image", "texel", "address", "array", "volatile", "pointers"];

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
                let dynamic = name.starts_with("control") || name == "types";
                if op == Op::Variable && inst.operands[0] == Operand::StorageClass(StorageClass::Function) {
                    assert!(dynamic, "{name} keeps a local variable");
                }
            }
        }
    }
}
