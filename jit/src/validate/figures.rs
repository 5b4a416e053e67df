//! What was found of a kernel, as numbers: for tests that compare forms of it.

use rspirv::dr::Operand;
use rspirv::spirv::{Op, StorageClass};

use crate::analysis::loops::Rounds;
use crate::kernel::Specialized;
use crate::plan::not_followed;
use crate::rewrite::why_not_free;

/// What is in the way of fusing a kernel in the best of ways: the less of each, the better. Nothing of a kernel without a normal form.
pub fn obstacles(kernel: &Specialized) -> Option<Vec<(&'static str, usize)>> {
    let normal = kernel.normal.as_ref().ok()?;
    let analysis = &normal.analysis;
    let unknown =
        |access: &&_| not_followed(kernel, access).is_some_and(|why| !why.contains("number at byte"));
    let local = Operand::StorageClass(StorageClass::Function);
    let insts = || normal.module.functions.iter().flat_map(|function| function.all_inst_iter());
    let count = |op: Op| insts().filter(|inst| inst.class.opcode == op).count();
    let loops = &analysis.loops;
    let no = |holds: bool| usize::from(!holds);
    Some(vec![
        ("unknown accesses", analysis.accesses.iter().filter(unknown).count()),
        ("inexact guards", analysis.accesses.iter().filter(|access| !access.exact_guards).count()),
        ("escaped bindings", analysis.escaped.len()),
        (
            "uncounted loops",
            loops.iter().filter(|one| one.rounds == Rounds::Unknown && one.fixed.is_none()).count(),
        ),
        ("loops not unrolled", loops.iter().filter(|one| one.round.is_none()).count()),
        ("loops left early", loops.iter().filter(|one| one.exits.is_none()).count()),
        ("not item-only", no(kernel.interface.item_only)),
        ("not free", no(why_not_free(kernel).is_none())),
        ("not a straight line", no(normal.straight_line().is_some())),
        ("blocks stay apart", no(normal.waits_in_coarsened_blocks().is_ok())),
        ("invocations stay apart", no(normal.waits_in_coarsened_threads(&[]).is_ok())),
        ("open floats", normal.floats.kind as usize),
        (
            "variables",
            insts()
                .filter(|inst| inst.class.opcode == Op::Variable && inst.operands.first() == Some(&local))
                .count(),
        ),
        ("phis", count(Op::Phi)),
        ("branches", count(Op::BranchConditional) + count(Op::Switch)),
        ("instructions", insts().count()),
    ])
}
