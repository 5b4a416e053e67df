//! Which variables of a module may be cached.

use std::collections::{HashMap, HashSet};

use rspirv::dr::Operand;
use rspirv::spirv::{Decoration, MemoryAccess, MemoryModel, Op};

/// Bindings with a variable that is not `Coherent`. Under the Vulkan memory model: with an access that is not declared visible, or available,
/// to other invocations.
pub(crate) fn incoherent(words: &[u32]) -> HashSet<(u32, u32)> {
    let mut sets: HashMap<u32, u32> = HashMap::new();
    let mut bindings: HashMap<u32, u32> = HashMap::new();
    let mut coherent: HashSet<u32> = HashSet::new();
    let mut pointees: HashMap<u32, u32> = HashMap::new();
    let mut types: HashMap<u32, u32> = HashMap::new();
    let mut parts: HashMap<u32, (Op, u32)> = HashMap::new();
    let mut vulkan = false;
    // Variables by the pointers made from them, and those with an access that other invocations do not see.
    let mut roots: HashMap<u32, u32> = HashMap::new();
    let mut unseen: HashSet<u32> = HashSet::new();
    let mut at = 5;
    while at < words.len() {
        let len = (words[at] >> 16) as usize;
        let inst = &words[at..(at + len.max(1)).min(words.len())];
        let operand = |n: usize| inst.get(n).copied().unwrap_or(0);
        match Op::from_u32(words[at] & 0xffff) {
            Some(Op::Decorate) => match Decoration::from_u32(operand(2)) {
                Some(Decoration::DescriptorSet) => drop(sets.insert(operand(1), operand(3))),
                Some(Decoration::Binding) => drop(bindings.insert(operand(1), operand(3))),
                Some(Decoration::Coherent | Decoration::Volatile) => drop(coherent.insert(operand(1))),
                _ => {}
            },
            Some(Op::MemberDecorate) => {
                if let Some(Decoration::Coherent | Decoration::Volatile) = Decoration::from_u32(operand(3)) {
                    coherent.insert(operand(1));
                }
            }
            Some(Op::TypePointer) => drop(pointees.insert(operand(1), operand(3))),
            Some(op @ (Op::TypeStruct | Op::TypeArray | Op::TypeRuntimeArray | Op::TypeVector)) => {
                parts.insert(operand(1), (op, operand(2)));
            }
            Some(Op::Variable) => {
                types.insert(operand(2), operand(1));
                roots.insert(operand(2), operand(2));
            }
            Some(Op::MemoryModel) => vulkan = operand(2) == MemoryModel::Vulkan as u32,
            Some(Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject) => {
                if let Some(&root) = roots.get(&operand(3)) {
                    roots.insert(operand(2), root);
                }
            }
            Some(op @ (Op::Load | Op::Store)) => {
                let (pointer, mask, seen) = match op {
                    Op::Load => (operand(3), operand(4), MemoryAccess::MAKE_POINTER_VISIBLE),
                    _ => (operand(1), operand(3), MemoryAccess::MAKE_POINTER_AVAILABLE),
                };
                if mask & seen.bits() == 0 {
                    unseen.extend(roots.get(&pointer));
                }
            }
            _ => {}
        }
        at += len.max(1);
    }
    let mut found: HashMap<(u32, u32), (u32, bool)> = HashMap::new();
    for (variable, &binding) in &bindings {
        let block = types.get(variable).and_then(|pointer| pointees.get(pointer));
        if vulkan && !unseen.contains(variable) {
            continue;
        }
        if coherent.contains(variable) || block.is_some_and(|block| coherent.contains(block)) {
            continue;
        }
        let at = (sets.get(variable).copied().unwrap_or(0), binding);
        let (count, vectors) = found.entry(at).or_insert((0, true));
        *count += 1;
        *vectors &= block.is_some_and(|&block| holds_vectors(block, &parts));
    }
    // An invocation goes either through one view by vectors or through the others, so that one needs nothing.
    found.into_iter().filter(|(_, (count, vectors))| *count > 1 || !vectors).map(|(at, _)| at).collect()
}

/// Bindings that are loaded from, or reached in other ways than by plain stores.
///
/// # Panics
/// If the words are not a module; they were validated.
pub(crate) fn loaded(words: &[u32]) -> HashSet<(u32, u32)> {
    let module = rspirv::dr::load_words(words).unwrap_or_else(|error| panic!("not a module: {error}"));
    let (mut sets, mut bindings) = (HashMap::new(), HashMap::new());
    for inst in &module.annotations {
        if let [Operand::IdRef(id), Operand::Decoration(decoration), Operand::LiteralBit32(value)] =
            inst.operands[..]
        {
            match decoration {
                Decoration::DescriptorSet => drop(sets.insert(id, value)),
                Decoration::Binding => drop(bindings.insert(id, value)),
                _ => {}
            }
        }
    }
    let mut roots: HashMap<u32, u32> = HashMap::new();
    let mut found: HashSet<u32> = HashSet::new();
    for inst in module.functions.iter().flat_map(|f| f.all_inst_iter()) {
        let mut ids = inst.operands.iter().filter_map(Operand::id_ref_any);
        let root = |id: u32| roots.get(&id).copied().unwrap_or(id);
        match inst.class.opcode {
            Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject => {
                if let (Some(id), Some(base)) = (inst.result_id, ids.next()) {
                    roots.insert(id, root(base));
                }
            }
            Op::Store | Op::ArrayLength => {}
            // Any other instruction with the pointer among its operands may load.
            _ => found.extend(ids.map(root)),
        }
    }
    let all = bindings.into_iter().filter(|(variable, _)| found.contains(variable));
    all.map(|(variable, binding)| (sets.get(&variable).copied().unwrap_or(0), binding)).collect()
}

/// Whether a type is a block of nothing but an array of vectors.
fn holds_vectors(mut ty: u32, parts: &HashMap<u32, (Op, u32)>) -> bool {
    while let Some(&(op, part)) = parts.get(&ty) {
        if op == Op::TypeVector {
            return true;
        }
        ty = part;
    }
    false
}
