//! Kernels that follow device addresses: fused with others only when that is trusted.

use std::path::Path;
use std::sync::Arc;

use rspirv::dr::{Module as Words, Operand};
use rspirv::spirv::{Capability, Decoration, MemoryAccess, Op, StorageClass};
use vkfuse_jit::Reason;
use vkfuse_jit::kernel::{Kernel, KernelReason, Module, Specialized};
use vkfuse_jit::plan::{Arg, BarrierReason, BufferId, FuseOptions, Limits, Plan, Policy, Submission, plan};

/// `tests/kernels/NAME.spv` with its default constants.
fn kernel(name: &str) -> Arc<Specialized> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/kernels/{name}.spv"));
    let module = Module::from_bytes(name, &std::fs::read(file).unwrap()).unwrap();
    Kernel::new(&module, None).unwrap().specialize(&[]).unwrap()
}

/// A submission over 64 items; every binding is buffer `buffer`.
fn submission(kernel: &Arc<Specialized>, buffer: u64, push: &[u8]) -> Submission {
    let arg = |at| Arg {
        at,
        buffer: BufferId(buffer),
        offset: 0,
        len: 256,
        promote: Default::default(),
        numbers: None,
        image: None,
    };
    Submission {
        kernel: kernel.clone(),
        base: [0; 3],
        groups: [8, 1, 1],
        args: kernel.interface.bindings.iter().map(|b| arg(b.at)).collect(),
        push: push.into(),
    }
}

/// Push constants: two addresses-sized numbers.
fn push(first: u64, second: u64) -> Vec<u8> {
    [first.to_le_bytes(), second.to_le_bytes()].concat()
}

fn planned(list: &[Submission], policy: Policy, no_barriers: bool) -> Plan {
    let limits = Limits { max_push_bytes: 256, max_storage_buffers: 64, ..Limits::default() };
    plan(list, &FuseOptions { policy, no_barriers, ..FuseOptions::default() }, &limits).unwrap()
}

/// The module of the only step. Building it runs spirv-val.
fn module(plan: &Plan) -> Words {
    assert_eq!(plan.steps.len(), 1, "{:#?}", plan.report);
    rspirv::dr::load_words(plan.steps[0].build().unwrap()).unwrap()
}

/// A kernel that takes a pointer, before and after one that picks pointers from memory.
fn mixed() -> Vec<Submission> {
    let (one, many) = (kernel("address"), kernel("addresses"));
    vec![
        submission(&one, 0, &push(0x1000, 0)[..8]),
        submission(&many, 1, &push(0x2000, 8)),
        submission(&one, 0, &push(0x3000, 0)[..8]),
    ]
}

#[test]
fn are_not_fused_unless_trusted() {
    let list = mixed();
    let plan = planned(&list, Policy::Prove, false);
    assert_eq!(plan.steps.len(), list.len());
    for split in &plan.report.splits {
        assert_eq!(split.reason, Reason::Kernel(KernelReason::DeviceAddresses));
    }
}

#[test]
fn are_trusted_with_a_barrier_on_both_sides() {
    let plan = planned(&mixed(), Policy::Trust, false);
    let pairs: Vec<_> =
        plan.report.trusted.iter().map(|pair| (pair.first, pair.second, pair.buffer)).collect();
    assert_eq!(pairs, [(0, 1, None), (1, 2, None)]);
    let barriers = &plan.report.groups[0].barriers;
    assert!(barriers.iter().all(|b| b.kept && b.reason == BarrierReason::Trusted), "{barriers:?}");

    let module = module(&plan);
    let model = &module.memory_model.as_ref().unwrap().operands[0];
    assert_eq!(model.to_string(), "PhysicalStorageBuffer64");
    let capability = Operand::Capability(Capability::PhysicalStorageBufferAddresses);
    assert!(module.capabilities.iter().any(|inst| inst.operands[0] == capability));
    let count = |op: Op| module.all_inst_iter().filter(|inst| inst.class.opcode == op).count();
    assert_eq!(count(Op::ControlBarrier), 2);
    assert_eq!(count(Op::TypeForwardPointer), 0);

    // What is reached by address, and what such an address may lead to, keeps its order.
    let mut physical = 0;
    for inst in module.all_inst_iter() {
        let aligned = inst.operands.iter().find_map(|operand| match operand {
            Operand::MemoryAccess(access) if access.contains(MemoryAccess::ALIGNED) => Some(*access),
            _ => None,
        });
        if let Some(access) = aligned {
            physical += 1;
            assert!(access.contains(MemoryAccess::VOLATILE), "{inst:?}");
        }
    }
    assert!(physical >= 6, "{physical}");
    let buffers = module.types_global_values.iter().filter(|inst| {
        inst.class.opcode == Op::Variable
            && inst.operands[0] == Operand::StorageClass(StorageClass::StorageBuffer)
    });
    for buffer in buffers {
        let id = Operand::IdRef(buffer.result_id.unwrap());
        let has = |which| {
            let which = Operand::Decoration(which);
            module.annotations.iter().any(|inst| inst.operands[0] == id && inst.operands[1] == which)
        };
        assert!(has(Decoration::Coherent) && has(Decoration::Aliased) && !has(Decoration::NonWritable));
    }
}

#[test]
fn barriers_between_them_can_be_switched_off() {
    let plan = planned(&mixed(), Policy::Trust, true);
    assert!(plan.report.groups[0].barriers.iter().all(|b| b.reason == BarrierReason::SwitchedOff));
    assert!(module(&plan).all_inst_iter().all(|inst| inst.class.opcode != Op::ControlBarrier));
    let off = plan.report.trusted.iter().filter(|one| one.reason == Reason::BarrierSwitchedOff);
    assert_eq!(
        off.map(|one| (one.first, one.second, one.buffer)).collect::<Vec<_>>(),
        [(0, 1, None), (1, 2, None)]
    );
}

#[test]
fn equal_addresses_of_one_kernel_are_one_push_constant() {
    let one = kernel("address");
    let list = |addresses: [u64; 3]| addresses.map(|at| submission(&one, 0, &push(at, 0)[..8]));
    let [same, other] = [list([1, 1, 1]), list([1, 2, 1])].map(|list| planned(&list, Policy::Trust, false));
    // Zeros hide floats.
    let words =
        |plan: &Plan| plan.steps[0].push.chunks(4).filter(|word| word.iter().any(|&byte| byte != 0)).count();
    assert_eq!((words(&same), words(&other)), (1, 2));
    assert_ne!(same.steps[0].key, other.steps[0].key);
    module(&same);
    module(&other);
}

/// What one kernel claims of its pointers is false beside another that may follow the same ones; what it asks of the
/// memory behind them stays.
#[test]
fn claims_about_pointers_are_taken_back() {
    let (claims, one) = (kernel("restrict_address"), kernel("address"));
    let list = [submission(&claims, 0, &push(0x1000, 0x2000)), submission(&one, 0, &push(0x1000, 0)[..8])];
    let module = module(&planned(&list, Policy::Trust, false));
    let count = |which| {
        let which = Operand::Decoration(which);
        module.annotations.iter().filter(|inst| inst.operands.contains(&which)).count()
    };
    assert_eq!((count(Decoration::RestrictPointer), count(Decoration::AliasedPointer)), (0, 1));
    let member = |inst: &rspirv::dr::Instruction| inst.class.opcode == Op::MemberDecorate;
    let coherent = Operand::Decoration(Decoration::Coherent);
    assert!(module.annotations.iter().any(|inst| member(inst) && inst.operands.contains(&coherent)));
}
