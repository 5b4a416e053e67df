//! Which global variables a pointer value may point into.
//!
//! Follows access chains, copies, selections, phis and function parameters to the variables they come
//! from. In logical addressing every pointer comes from a variable, so this is complete; pointers made
//! from device addresses have no root.

use ahash::AHashMap;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::Op;
use smallvec::SmallVec;

use super::opcodes::{ATOMIC, has};

/// Roots of every pointer value of a module.
pub(crate) struct Roots {
    roots: AHashMap<u32, SmallVec<[u32; 1]>>,
}

impl Roots {
    /// Variables that a pointer may point into; empty for values that are not pointers.
    pub(crate) fn of(&self, id: u32) -> &[u32] {
        self.roots.get(&id).map_or(&[], |roots| roots)
    }

    /// Traces the pointers of a module to those of its variables that are in `variables`.
    pub(crate) fn trace(module: &Module, variables: impl Iterator<Item = u32>) -> Roots {
        Roots::follow(module, variables, false)
    }

    /// The same for variables that hold image and sampler handles: what is loaded from them still
    /// stands for the resource.
    pub(crate) fn trace_handles(module: &Module, variables: impl Iterator<Item = u32>) -> Roots {
        Roots::follow(module, variables, true)
    }

    fn follow(module: &Module, variables: impl Iterator<Item = u32>, handles: bool) -> Roots {
        let flows = flows(module, handles);
        let mut roots: AHashMap<u32, SmallVec<[u32; 1]>> = AHashMap::new();
        for root in variables {
            let mut queue = vec![root];
            while let Some(id) = queue.pop() {
                let known = roots.entry(id).or_default();
                // One root is followed to its end before the next, so it is last where it is known.
                if known.last() != Some(&root) {
                    known.push(root);
                    queue.extend(flows.get(&id).into_iter().flatten());
                }
            }
        }
        Roots { roots }
    }
}

/// For each value, the values that take a pointer over from it.
fn flows(module: &Module, handles: bool) -> AHashMap<u32, SmallVec<[u32; 2]>> {
    let parameters: AHashMap<u32, Vec<u32>> = module
        .functions
        .iter()
        .filter_map(|function| {
            let ids = function.parameters.iter().filter_map(|p| p.result_id);
            Some((function.def_id()?, ids.collect()))
        })
        .collect();
    let mut flows: AHashMap<u32, SmallVec<[u32; 2]>> = AHashMap::new();
    for inst in module.functions.iter().flat_map(|f| f.all_inst_iter()) {
        if inst.class.opcode == Op::FunctionCall {
            let mut ids = inst.operands.iter().filter_map(Operand::id_ref_any);
            let callee = ids.next().and_then(|id| parameters.get(&id));
            for (parameter, argument) in callee.into_iter().flatten().zip(ids) {
                flows.entry(argument).or_default().push(*parameter);
            }
        }
        if let Some(result) = inst.result_id {
            for source in sources(inst, handles) {
                flows.entry(source).or_default().push(result);
            }
        }
    }
    flows
}

/// Operands whose pointer an instruction's result may be derived from.
fn sources(inst: &Instruction, handles: bool) -> impl Iterator<Item = u32> + '_ {
    let range = match inst.class.opcode {
        Op::AccessChain
        | Op::InBoundsAccessChain
        | Op::PtrAccessChain
        | Op::InBoundsPtrAccessChain
        | Op::CopyObject
        | Op::ImageTexelPointer => 0..1,
        Op::Load | Op::Image | Op::SampledImage if handles => 0..inst.operands.len(),
        Op::Select => 1..3,
        // A phi alternates values and blocks; blocks have no roots. Values returned from a function and
        // others that merely pass a pointer on are covered by taking every operand.
        Op::Phi | Op::FunctionCall | Op::Bitcast | Op::CopyLogical => 0..inst.operands.len(),
        _ => 0..0,
    };
    let end = range.end.min(inst.operands.len());
    inst.operands[range.start.min(end)..end].iter().filter_map(Operand::id_ref_any)
}

/// What an instruction does with the memory behind a pointer operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    Read,
    Write,
    Both,
    /// Neither reads nor writes: address computation, `OpArrayLength`.
    None,
    /// Does something with the pointer that is not an access.
    Escapes,
}

/// What `inst` does with its operand number `operand`, which is a pointer.
pub(crate) fn touch(inst: &Instruction, operand: usize) -> Touch {
    match (inst.class.opcode, operand) {
        (Op::Load, 0) | (Op::CopyMemory | Op::CopyMemorySized, 1) | (Op::AtomicLoad, 0) => Touch::Read,
        (Op::Store | Op::AtomicStore | Op::CopyMemory | Op::CopyMemorySized, 0) => Touch::Write,
        (op, 0) if has(op, ATOMIC) => Touch::Both,
        (Op::CooperativeMatrixLoadKHR | Op::CooperativeMatrixLoadNV, 0) => Touch::Read,
        (Op::CooperativeMatrixStoreKHR | Op::CooperativeMatrixStoreNV, 0) => Touch::Write,
        (Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject | Op::ArrayLength, 0) => Touch::None,
        _ => Touch::Escapes,
    }
}

/// What `inst` does with its operand number `operand`, which is an image or sampler handle.
pub(crate) fn touch_handle(inst: &Instruction, operand: usize) -> Touch {
    match (inst.class.opcode, operand) {
        (Op::ImageWrite, 0) => Touch::Write,
        (op, 0) if has(op, ATOMIC) => Touch::Both,
        (
            Op::Load
            | Op::Image
            | Op::SampledImage
            | Op::ImageTexelPointer
            | Op::ImageQuerySize
            | Op::ImageQuerySizeLod
            | Op::ImageQueryLevels
            | Op::ImageQuerySamples
            | Op::AccessChain
            | Op::InBoundsAccessChain
            | Op::CopyObject
            | Op::FunctionCall,
            _,
        ) => Touch::None,
        _ => Touch::Read,
    }
}
