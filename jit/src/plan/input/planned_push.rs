//! The push constants of a kernel whose values a plan may depend on.

use rspirv::spirv::{Op, StorageClass};

use crate::ir::entity::{Place, Value};
use crate::ir::{Def, Function, Module, Operation, Root, fold};
use crate::kernel::{NormalKernel, Specialized};

impl Specialized {
    /// The push constants that plans may depend on: offset and width in bits. None for a kernel that cannot be fused.
    pub fn planned_push(&self) -> &[(u32, u8)] {
        let Ok(normal) = &self.normal else { return &[] };
        normal.planned_push.get_or_init(kept!(|| {
            let mut words = normal.analysis.exprs.pushed();
            words.extend(looked_at(normal));
            words.sort_unstable();
            words.dedup();
            if mutant!(NoValueIsPlanned) { Vec::new() } else { words }
        }))
    }
}

/// The push constants that the shape of a dispatch may depend on in a kernel: offset and width in bits.
fn looked_at(normal: &NormalKernel) -> Vec<(u32, u8)> {
    let seen = std::cell::RefCell::new(Vec::new());
    // No product or quotient of ones is left early.
    let word = |at: u32| {
        seen.borrow_mut().push((at, 32));
        Some(1)
    };
    for guard in normal.guards() {
        number_of(normal, guard.limit, &word);
    }
    seen.into_inner()
}

/// A number made of constants and of push constants, whose words at offsets these are.
pub(in crate::plan) fn number_of(
    normal: &NormalKernel,
    value: Value,
    word: &impl Fn(u32) -> Option<u32>,
) -> Option<u32> {
    let module = normal.ir()?;
    number_in(module, &module.functions[*module.defined.first()?], value, word)
}

fn number_in(module: &Module, f: &Function, value: Value, word: &impl Fn(u32) -> Option<u32>) -> Option<u32> {
    let inst = match f.values[value].def {
        Def::Const(constant) => return module.number(constant),
        Def::Inst(inst) => inst,
        _ => return None,
    };
    let part = |value| number_in(module, f, value, word);
    match &f.insts[inst].operation {
        Operation::Pure { op, args, .. } => match (op, args.as_slice()) {
            (Op::CopyObject | Op::Bitcast, &[inner]) => part(inner),
            // Both, whatever the first is: what is looked at must not depend on it.
            (Op::IAdd | Op::ISub | Op::IMul | Op::UDiv, &[a, b]) => {
                part(a).zip(part(b)).and_then(|(a, b)| fold(*op, &[a, b]))
            }
            _ => None,
        },
        Operation::Load { place, .. } => pushed(module, f, *place).and_then(word),
        _ => None,
    }
}

/// The offset of a push constant of 32 bits at a place whose path is constant.
fn pushed(module: &Module, f: &Function, place: Place) -> Option<u32> {
    let data = f.flat(f.places[place].clone());
    let Root::Global(root) = data.root else { return None };
    let (class, block) = module.types.pointer(module.globals[root].pointer)?;
    let path: Option<Vec<u32>> = data.path.iter().map(|&index| f.number(module, index)).collect();
    let (ty, offset) = module.part_at(block, path?)?;
    (class == StorageClass::PushConstant && module.types.width(ty) == Some(32)).then_some(offset)
}
