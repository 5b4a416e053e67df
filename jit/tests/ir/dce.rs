//! Dead code elimination, seen in fused modules.

use rspirv::dr;
use rspirv::spirv::Op;
use vkfuse_fuzz::devices::desktop;
use vkfuse_jit::plan::{FuseOptions, Promote, plan};

use crate::fixed::bytes;
use crate::list::{List, kernel};

/// How many instructions of some opcodes a list has whose product stays inside, and is read if that is said; and how many functions.
fn counts(is_read: bool) -> ([usize; 5], usize) {
    let mut list = List::new(4096);
    list.promote(2, Promote::Private);
    let n = bytes(&[4096]);
    list.submit(&kernel("chain/mul.spv"), [16, 1, 1], &[0, 1, 2], &n);
    list.submit(&kernel("chain/sub.spv"), [16, 1, 1], &[if is_read { 2 } else { 0 }, 1, 3], &n);
    let plan = plan(&list.submissions, &FuseOptions::default(), &desktop()).expect("plan");
    let [step] = plan.steps.as_slice() else { panic!("two kernels are one") };
    let words = step.build().expect("the module stands");
    let module = dr::load_words(&*words).expect("decodes");
    let functions = || module.functions.iter().flat_map(|function| function.all_inst_iter());
    let count = |op| functions().filter(|inst| inst.class.opcode == op).count();
    ([Op::Load, Op::Store, Op::FMul, Op::FSub, Op::FunctionCall].map(count), module.functions.len())
}

#[test]
fn what_is_read_stays() {
    assert_eq!(counts(true), ([6, 2, 1, 1, 2], 3));
}

/// The product is not computed, and the kernel that has nothing else to do is not called.
#[test]
fn what_is_not_read_goes() {
    assert_eq!(counts(false), ([3, 1, 0, 1, 1], 2));
}
