//! Takes structures and arrays apart that are handled as one value, down to scalars, vectors and matrices.
//!
//! A push-constant block that a function takes by value, an element of a buffer that is loaded whole, a structure that is
//! chosen by a branch: each is a load, a store, a phi of every member, and `copy_propagation` then forwards members to their
//! uses and drops those without any.
//!
//! # Requires
//! - one function, no `OpCopyMemory`
//!
//! # Guarantees
//! - no structure or array is loaded from or stored to memory other than the invocation's own, and none is the result of a
//!   phi, a selection, `OpCopyLogical` or `OpUndef`
//! - members are loaded and stored where the whole was, with its memory operands; padding is neither read nor written
//!
//! # Leaves alone
//! - values of more than 256 members, volatile accesses, a null that clears shared memory, variables of the invocation (`normal/split` splits those)

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Block, Instruction, Module, Operand};
use rspirv::spirv::{Decoration, MemoryAccess, Op, StorageClass};

use crate::frontend::additions::Additions;
use crate::frontend::defs::{Defs, type_parts};
use crate::frontend::opcodes;

/// Most members of a value that is taken apart, those of its parts counted one by one.
const MOST_MEMBERS: usize = 256;

/// Takes values apart.
pub(in crate::frontend) fn run(module: &mut Module) {
    let shapes = Shapes::of(module);
    let Some(mut maker) = Maker::new(module, shapes) else { return };
    maker.cleared = maker.nulls_of_shared_memory(module);
    take_nulls_apart(module, &mut maker);
    let mut functions = std::mem::take(&mut module.functions);
    for block in functions.iter_mut().flat_map(|function| &mut function.blocks) {
        let mut out = Vec::with_capacity(block.instructions.len());
        for inst in block.instructions.drain(..) {
            maker.rewrite(inst, &mut out);
        }
        block.instructions = out;
    }
    for function in &mut functions {
        split_phis(&mut function.blocks, &mut maker);
    }
    module.functions = functions;
    maker.added.finish(module);
}

/// A scalar, vector or matrix in a structure or array.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    /// The indices that lead to it.
    path: Vec<u32>,
    ty: u32,
    /// Bytes from the start, in memory that has a layout.
    offset: u64,
}

/// The structure and array types that are taken apart.
struct Shapes {
    members: AHashMap<u32, Vec<Member>>,
    /// The types of each one's parts.
    parts: AHashMap<u32, Vec<u32>>,
}

impl Shapes {
    fn of(module: &Module) -> Self {
        let defs = Defs::new(module);
        let mut shapes = Self { members: AHashMap::new(), parts: AHashMap::new() };
        // A type stands behind its parts.
        for inst in &module.types_global_values {
            if let Some(id) = inst.result_id {
                shapes.add(id, inst, &defs);
            }
        }
        shapes
    }

    fn add(&mut self, id: u32, inst: &Instruction, defs: &Defs<'_>) {
        let parts: Vec<u32> = match inst.class.opcode {
            Op::TypeStruct => type_parts(inst).collect(),
            Op::TypeArray => {
                let length = inst.operands.get(1).and_then(|n| defs.constant(n.id_ref_any()?));
                let length = length.and_then(|n| usize::try_from(n).ok()).filter(|&n| n <= MOST_MEMBERS);
                let (Some(length), Some(part)) = (length, type_parts(inst).next()) else { return };
                vec![part; length]
            }
            _ => return,
        };
        let stride = u64::from(defs.decoration(id, Decoration::ArrayStride).unwrap_or_default());
        let mut members = Vec::new();
        for (index, &part) in (0u32..).zip(&parts) {
            let at = match inst.class.opcode {
                Op::TypeArray => u64::from(index) * stride,
                _ => u64::from(defs.member_decoration(id, index, Decoration::Offset).unwrap_or_default()),
            };
            match (defs.op(part), self.members.get(&part)) {
                (_, Some(inner)) => members.extend(inner.iter().map(|member| Member {
                    path: [&[index][..], &member.path].concat(),
                    ty: member.ty,
                    offset: at + member.offset,
                })),
                (
                    Some(Op::TypeBool | Op::TypeInt | Op::TypeFloat | Op::TypeVector | Op::TypeMatrix),
                    None,
                ) => members.push(Member { path: vec![index], ty: part, offset: at }),
                // Pointers, handles, and what is too large.
                _ => return,
            }
            if members.len() > MOST_MEMBERS {
                return;
            }
        }
        self.members.insert(id, members);
        self.parts.insert(id, parts);
    }
}

/// Makes instructions, and the globals that they need.
struct Maker {
    shapes: Shapes,
    added: Additions,
    /// Types of values; pointees and classes of pointer types.
    types: AHashMap<u32, u32>,
    pointees: AHashMap<u32, (StorageClass, u32)>,
    pointers: AHashMap<(StorageClass, u32), u32>,
    int: Option<u32>,
    indices: AHashMap<u32, u32>,
    nulls: AHashMap<u32, u32>,
    /// Nulls that are stored to shared memory as a whole, which they clear.
    cleared: AHashSet<u32>,
}

impl Maker {
    fn new(module: &Module, shapes: Shapes) -> Option<Self> {
        let mut maker = Self {
            shapes,
            added: Additions::to(module)?,
            types: AHashMap::new(),
            pointees: AHashMap::new(),
            pointers: AHashMap::new(),
            int: None,
            indices: AHashMap::new(),
            nulls: AHashMap::new(),
            cleared: AHashSet::new(),
        };
        for inst in module.all_inst_iter() {
            let Some(id) = inst.result_id else { continue };
            maker.types.extend(inst.result_type.map(|ty| (id, ty)));
            match (inst.class.opcode, inst.operands.as_slice()) {
                (Op::TypePointer, [Operand::StorageClass(class), Operand::IdRef(pointee)]) => {
                    maker.pointees.insert(id, (*class, *pointee));
                    maker.pointers.entry((*class, *pointee)).or_insert(id);
                }
                (Op::TypeInt, [Operand::LiteralBit32(32), Operand::LiteralBit32(0)]) => maker.int = Some(id),
                (Op::Constant, [Operand::LiteralBit32(value)]) if inst.result_type == maker.int => {
                    maker.indices.insert(*value, id);
                }
                _ => {}
            }
        }
        Some(maker)
    }

    fn index(&mut self, value: u32) -> u32 {
        if let Some(&id) = self.indices.get(&value) {
            return id;
        }
        let int = match self.int {
            Some(int) => int,
            None => {
                let operands = vec![Operand::LiteralBit32(32), Operand::LiteralBit32(0)];
                self.added.global(Op::TypeInt, None, operands)
            }
        };
        self.int = Some(int);
        let id = self.added.global(Op::Constant, Some(int), vec![Operand::LiteralBit32(value)]);
        self.indices.insert(value, id);
        id
    }

    fn pointer(&mut self, class: StorageClass, pointee: u32) -> u32 {
        if let Some(&id) = self.pointers.get(&(class, pointee)) {
            return id;
        }
        let operands = vec![Operand::StorageClass(class), Operand::IdRef(pointee)];
        let id = self.added.global(Op::TypePointer, None, operands);
        self.pointers.insert((class, pointee), id);
        id
    }

    fn members(&self, ty: Option<u32>) -> Option<Vec<Member>> {
        self.shapes.members.get(&ty?).cloned()
    }

    fn value(&mut self, op: Op, ty: u32, operands: Vec<Operand>, out: &mut Vec<Instruction>) -> u32 {
        let id = self.added.fresh();
        self.types.insert(id, ty);
        out.push(Instruction::new(op, Some(ty), Some(id), operands));
        id
    }

    fn extract(&mut self, whole: u32, member: &Member, out: &mut Vec<Instruction>) -> u32 {
        let path = member.path.iter().map(|&index| Operand::LiteralBit32(index));
        let operands = [Operand::IdRef(whole)].into_iter().chain(path).collect();
        self.value(Op::CompositeExtract, member.ty, operands, out)
    }

    /// Puts a value together of its members, which are taken from the front. `id` is the result's.
    fn construct(
        &mut self,
        op: Op,
        id: u32,
        ty: u32,
        from: &mut std::vec::IntoIter<u32>,
        out: &mut Vec<Instruction>,
    ) {
        let parts = self.shapes.parts.get(&ty).cloned().unwrap_or_default();
        let mut operands = Vec::with_capacity(parts.len());
        for part in parts {
            let value = match self.shapes.parts.contains_key(&part) {
                true => {
                    let id = self.added.fresh();
                    self.construct(op, id, part, from, out);
                    Some(id)
                }
                false => from.next(),
            };
            operands.extend(value.map(Operand::IdRef));
        }
        self.types.insert(id, ty);
        out.push(Instruction::new(op, Some(ty), Some(id), operands));
    }

    /// Storage class of a pointer to something that is taken apart, and the members.
    fn memory(&self, pointer: &Operand) -> Option<(StorageClass, Vec<Member>)> {
        let (class, pointee) = *self.pointees.get(self.types.get(&pointer.id_ref_any()?)?)?;
        let is_shared = matches!(
            class,
            StorageClass::PushConstant
                | StorageClass::Uniform
                | StorageClass::StorageBuffer
                | StorageClass::PhysicalStorageBuffer
                | StorageClass::Workgroup
        );
        is_shared.then_some(())?;
        Some((class, self.members(Some(pointee))?))
    }

    /// Nulls that clear shared memory.
    fn nulls_of_shared_memory(&self, module: &Module) -> AHashSet<u32> {
        let globals = module.types_global_values.iter();
        let nulls = globals.filter(|inst| inst.class.opcode == Op::ConstantNull);
        let nulls: AHashSet<u32> = nulls.filter_map(|inst| inst.result_id).collect();
        let cleared = |inst: &Instruction| match (inst.class.opcode, inst.operands.as_slice()) {
            (Op::Store, [pointer, Operand::IdRef(value), ..]) if nulls.contains(value) => {
                self.memory(pointer).filter(|(class, _)| *class == StorageClass::Workgroup).map(|_| *value)
            }
            _ => None,
        };
        module.functions.iter().flat_map(|function| function.all_inst_iter()).filter_map(cleared).collect()
    }

    fn chain(
        &mut self,
        base: &Operand,
        class: StorageClass,
        member: &Member,
        out: &mut Vec<Instruction>,
    ) -> u32 {
        let pointer = self.pointer(class, member.ty);
        let mut operands = vec![base.clone()];
        for &index in &member.path {
            operands.push(Operand::IdRef(self.index(index)));
        }
        self.value(Op::AccessChain, pointer, operands, out)
    }

    fn rewrite(&mut self, inst: Instruction, out: &mut Vec<Instruction>) {
        let op = inst.class.opcode;
        if opcodes::is_volatile(&inst) {
            return out.push(inst);
        }
        match (op, inst.operands.as_slice(), inst.result_id.zip(inst.result_type)) {
            (Op::Load, [pointer, how @ ..], Some((id, ty))) => {
                let Some((class, members)) = self.memory(pointer) else { return out.push(inst) };
                let mut values = Vec::with_capacity(members.len());
                for member in &members {
                    let at = self.chain(pointer, class, member, out);
                    let operands =
                        [Operand::IdRef(at)].into_iter().chain(narrowed(how, class, member)).collect();
                    values.push(self.value(Op::Load, member.ty, operands, out));
                }
                self.construct(Op::CompositeConstruct, id, ty, &mut values.into_iter(), out);
            }
            (Op::Store, [pointer, Operand::IdRef(whole), how @ ..], None) => {
                let Some((class, members)) = self.memory(pointer) else { return out.push(inst) };
                if class == StorageClass::Workgroup && self.cleared.contains(whole) {
                    return out.push(inst);
                }
                for member in &members {
                    let value = self.extract(*whole, member, out);
                    let at = self.chain(pointer, class, member, out);
                    let operands =
                        [at, value].map(Operand::IdRef).into_iter().chain(narrowed(how, class, member));
                    out.push(Instruction::new(Op::Store, None, None, operands.collect()));
                }
            }
            (Op::CopyLogical, [Operand::IdRef(from)], Some((id, ty))) => {
                let (old, new) = (self.members(self.types.get(from).copied()), self.members(Some(ty)));
                let (Some(old), Some(new)) = (old, new) else { return out.push(inst) };
                if !old.iter().map(|member| (&member.path, member.ty)).eq(new.iter().map(|m| (&m.path, m.ty)))
                {
                    return out.push(inst);
                }
                let values: Vec<u32> = old.iter().map(|member| self.extract(*from, member, out)).collect();
                self.construct(Op::CompositeConstruct, id, ty, &mut values.into_iter(), out);
            }
            (Op::Select, [condition, Operand::IdRef(yes), Operand::IdRef(no)], Some((id, ty))) => {
                let Some(members) = self.members(Some(ty)) else { return out.push(inst) };
                let mut values = Vec::with_capacity(members.len());
                for member in &members {
                    let sides = [*yes, *no].map(|side| Operand::IdRef(self.extract(side, member, out)));
                    let operands = [condition.clone()].into_iter().chain(sides).collect();
                    values.push(self.value(Op::Select, member.ty, operands, out));
                }
                self.construct(Op::CompositeConstruct, id, ty, &mut values.into_iter(), out);
            }
            (Op::Undef, [], Some((id, ty))) => {
                let Some(members) = self.members(Some(ty)) else { return out.push(inst) };
                let values: Vec<u32> =
                    members.iter().map(|member| self.value(Op::Undef, member.ty, Vec::new(), out)).collect();
                self.construct(Op::CompositeConstruct, id, ty, &mut values.into_iter(), out);
            }
            _ => out.push(inst),
        }
    }
}

/// The memory operands of an access to a whole, for one to a member of it. Only device addresses need an alignment.
fn narrowed(how: &[Operand], class: StorageClass, member: &Member) -> Vec<Operand> {
    // The alignment stands behind the mask.
    let (Some(Operand::MemoryAccess(mask)), Some(Operand::LiteralBit32(alignment))) =
        (how.first(), how.get(1))
    else {
        return how.to_vec();
    };
    let mut how = how.to_vec();
    if class == StorageClass::PhysicalStorageBuffer {
        let most = 1u32 << member.offset.trailing_zeros().min(31);
        how[1] = Operand::LiteralBit32(most.min(*alignment));
    } else {
        let mask = *mask - MemoryAccess::ALIGNED;
        how.remove(1);
        how[0] = Operand::MemoryAccess(mask);
        how.drain(..usize::from(mask.is_empty()));
    }
    how
}

/// Writes zeros of structures and arrays as constants of their members. A variable of shared memory starts with a zero that
/// has to be one constant.
fn take_nulls_apart(module: &mut Module, maker: &mut Maker) {
    let is_shared = |inst: &&Instruction| {
        inst.class.opcode == Op::Variable
            && inst.operands.first() == Some(&Operand::StorageClass(StorageClass::Workgroup))
    };
    let variables = module.types_global_values.iter().filter(is_shared);
    let kept: AHashSet<u32> = variables.filter_map(|inst| inst.operands.get(1)?.id_ref_any()).collect();
    let kept = &kept | &maker.cleared;
    let mut out = Vec::with_capacity(module.types_global_values.len());
    for inst in module.types_global_values.drain(..) {
        let (Op::ConstantNull, Some(id), Some(ty)) = (inst.class.opcode, inst.result_id, inst.result_type)
        else {
            out.push(inst);
            continue;
        };
        match maker.members(Some(ty)) {
            Some(members) if !kept.contains(&id) => {
                let mut values = Vec::with_capacity(members.len());
                for member in &members {
                    let null = match maker.nulls.get(&member.ty) {
                        Some(&null) => null,
                        None => maker.value(Op::ConstantNull, member.ty, Vec::new(), &mut out),
                    };
                    maker.nulls.insert(member.ty, null);
                    values.push(null);
                }
                maker.construct(Op::ConstantComposite, id, ty, &mut values.into_iter(), &mut out);
            }
            _ => out.push(inst),
        }
    }
    module.types_global_values = out;
}

/// Makes a phi for each member of those of structures and arrays.
fn split_phis(blocks: &mut [Block], maker: &mut Maker) {
    let labels: AHashMap<u32, usize> = blocks
        .iter()
        .enumerate()
        .filter_map(|(at, block)| Some((block.label.as_ref()?.result_id?, at)))
        .collect();
    for at in 0..blocks.len() {
        let count = blocks[at].instructions.iter().take_while(|inst| inst.class.opcode == Op::Phi).count();
        let phis: Vec<Instruction> = blocks[at].instructions.drain(..count).collect();
        let (mut heads, mut wholes) = (Vec::new(), Vec::new());
        for phi in phis {
            let (Some(id), Some(ty)) = (phi.result_id, phi.result_type) else { continue };
            let Some(members) = maker.members(Some(ty)) else {
                heads.push(phi);
                continue;
            };
            let mut values = Vec::with_capacity(members.len());
            for member in &members {
                let mut operands = Vec::with_capacity(phi.operands.len());
                for way in phi.operands.chunks(2) {
                    let [Operand::IdRef(value), Operand::IdRef(from)] = way else { continue };
                    let mut extract = Vec::new();
                    operands.push(Operand::IdRef(maker.extract(*value, member, &mut extract)));
                    operands.push(Operand::IdRef(*from));
                    if let Some(&from) = labels.get(from) {
                        let end = end_of(&blocks[from]);
                        drop(blocks[from].instructions.splice(end..end, extract));
                    }
                }
                values.push(maker.value(Op::Phi, member.ty, operands, &mut heads));
            }
            maker.construct(Op::CompositeConstruct, id, ty, &mut values.into_iter(), &mut wholes);
        }
        heads.append(&mut wholes);
        drop(blocks[at].instructions.splice(0..0, heads));
    }
}

/// Where the instructions end that are not part of how a block goes on.
fn end_of(block: &Block) -> usize {
    let ends = |inst: &Instruction| matches!(inst.class.opcode, Op::SelectionMerge | Op::LoopMerge);
    let last = block.instructions.len().saturating_sub(1);
    match block.instructions.get(last.saturating_sub(1)).is_some_and(ends) && last > 0 {
        true => last - 1,
        false => last,
    }
}
