//! What specialization has to know of a module before it rewrites the first instruction.

use ahash::{AHashMap, AHashSet};
use rspirv::spirv::{BuiltIn, Decoration, ExecutionMode, Op};

use super::words;

/// Where a kernel comes from, for messages and for choosing the entry point.
pub(super) struct Source<'a> {
    pub(super) module: &'a str,
    pub(super) words: &'a [u32],
    pub(super) entry: &'a str,
    pub(super) entry_id: u32,
}

/// Decorations come before what they decorate, and modes before the constants they name.
#[derive(Default)]
pub(super) struct Survey {
    /// Bits for the result id of a specialization constant.
    pub(super) given: AHashMap<u32, u64>,
    /// The constant decorated as `WorkgroupSize`.
    pub(super) workgroup_size: Option<u32>,
    /// Operands of `LocalSizeId`.
    pub(super) local_size_ids: Option<[u32; 3]>,
    /// Operands of `LocalSize`.
    pub(super) local_size: Option<[u32; 3]>,
    /// Non-semantic instruction sets.
    pub(super) non_semantic: AHashSet<u32>,
}

impl Survey {
    pub(super) fn of(source: &Source<'_>, values: &[(u32, u64)]) -> Survey {
        let mut survey = Survey { non_semantic: words::non_semantic_sets(source.words), ..Survey::default() };
        for inst in words::instructions(source.words) {
            match inst.op() {
                Some(Op::ExecutionMode | Op::ExecutionModeId) if inst.at(0) == source.entry_id => {
                    let size = Some([inst.at(2), inst.at(3), inst.at(4)]);
                    if inst.at(1) == ExecutionMode::LocalSize as u32 {
                        survey.local_size = size;
                    } else if inst.at(1) == ExecutionMode::LocalSizeId as u32 {
                        survey.local_size_ids = size;
                    }
                }
                Some(Op::Decorate) => survey.decorate(inst.at(0), inst.from(1), values),
                Some(Op::Function) => break,
                _ => {}
            }
        }
        survey
    }

    fn decorate(&mut self, target: u32, decoration: &[u32], values: &[(u32, u64)]) {
        let [kind, operands @ ..] = decoration else {
            return;
        };
        let operand = operands.first().copied();
        if *kind == Decoration::SpecId as u32 {
            let given = operand.and_then(|id| values.binary_search_by_key(&id, |(id, _)| *id).ok());
            if let Some(index) = given {
                self.given.insert(target, values[index].1);
            }
        }
        if *kind == Decoration::BuiltIn as u32 && operand == Some(BuiltIn::WorkgroupSize as u32) {
            self.workgroup_size = Some(target);
        }
    }
}
