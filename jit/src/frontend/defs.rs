//! Looking things up in a module: what defines an id, what a pointer points to, what a constant is.

use ahash::AHashMap;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Decoration, Op, StorageClass};

/// Definitions and decorations of a module, by id.
pub(crate) struct Defs<'m> {
    insts: AHashMap<u32, &'m Instruction>,
    decorations: AHashMap<u32, Vec<&'m Instruction>>,
    members: AHashMap<(u32, u32), Vec<&'m Instruction>>,
}

impl<'m> Defs<'m> {
    /// Indexes a module.
    pub(crate) fn new(module: &'m Module) -> Defs<'m> {
        let mut insts = AHashMap::new();
        for inst in module.all_inst_iter() {
            if let Some(id) = inst.result_id {
                insts.insert(id, inst);
            }
        }
        let mut decorations: AHashMap<u32, Vec<&Instruction>> = AHashMap::new();
        let mut members: AHashMap<(u32, u32), Vec<&Instruction>> = AHashMap::new();
        for inst in &module.annotations {
            let Some(target) = inst.operands.first().and_then(Operand::id_ref_any) else { continue };
            decorations.entry(target).or_default().push(inst);
            if let (Op::MemberDecorate, Some(Operand::LiteralBit32(member))) =
                (inst.class.opcode, inst.operands.get(1))
            {
                members.entry((target, *member)).or_default().push(inst);
            }
        }
        Defs { insts, decorations, members }
    }

    /// The instruction that defines an id.
    pub(crate) fn get(&self, id: u32) -> Option<&'m Instruction> {
        self.insts.get(&id).copied()
    }

    /// The opcode of that instruction.
    pub(crate) fn op(&self, id: u32) -> Option<Op> {
        self.get(id).map(|inst| inst.class.opcode)
    }

    /// Type of a value.
    pub(crate) fn type_of(&self, id: u32) -> Option<u32> {
        self.get(id)?.result_type
    }

    /// Storage class and pointee of a pointer type.
    pub(crate) fn pointer(&self, ty: u32) -> Option<(StorageClass, u32)> {
        let inst = self.get(ty)?;
        match (inst.class.opcode, inst.operands.as_slice()) {
            (Op::TypePointer, [Operand::StorageClass(class), Operand::IdRef(pointee)]) => {
                Some((*class, *pointee))
            }
            _ => None,
        }
    }

    /// Value of an integer constant, zero-extended from its width.
    pub(crate) fn constant(&self, id: u32) -> Option<u64> {
        let inst = self.get(id)?;
        match (inst.class.opcode, inst.operands.first()) {
            (Op::Constant, Some(Operand::LiteralBit32(value))) => Some(u64::from(*value)),
            (Op::Constant, Some(Operand::LiteralBit64(value))) => Some(*value),
            (Op::ConstantNull, _) => Some(0),
            _ => None,
        }
    }

    /// First operand of a decoration on an id, as a number; 0 for a decoration without operands.
    pub(crate) fn decoration(&self, id: u32, kind: Decoration) -> Option<u32> {
        self.decorations.get(&id)?.iter().find_map(|inst| {
            let rest = (inst.class.opcode == Op::Decorate).then(|| inst.operands.get(1..))??;
            literal(rest, kind)
        })
    }

    /// Whether an id, or any member if it is a structure type, has a decoration.
    pub(crate) fn decorated_anywhere(&self, id: u32, kind: Decoration) -> bool {
        self.decorations
            .get(&id)
            .is_some_and(|list| list.iter().any(|inst| inst.operands.contains(&Operand::Decoration(kind))))
    }

    /// First operand of a decoration on a structure member; 0 for one without operands.
    pub(crate) fn member_decoration(&self, ty: u32, member: u32, kind: Decoration) -> Option<u32> {
        let list = self.members.get(&(ty, member))?;
        list.iter().find_map(|inst| literal(&inst.operands[2..], kind))
    }
}

/// The number behind a decoration of this kind.
fn literal(rest: &[Operand], kind: Decoration) -> Option<u32> {
    let [Operand::Decoration(found), operands @ ..] = rest else {
        return None;
    };
    if *found != kind {
        return None;
    }
    Some(match operands.first() {
        Some(Operand::LiteralBit32(value)) => *value,
        Some(Operand::BuiltIn(value)) => *value as u32,
        _ => 0,
    })
}

/// Members of a structure type, or the single part of an array, vector or matrix type.
pub(crate) fn type_parts(inst: &Instruction) -> impl Iterator<Item = u32> + '_ {
    let used = match inst.class.opcode {
        Op::TypeStruct => inst.operands.len(),
        Op::TypeArray | Op::TypeRuntimeArray | Op::TypeVector | Op::TypeMatrix => 1,
        _ => 0,
    };
    inst.operands[..used.min(inst.operands.len())].iter().filter_map(Operand::id_ref_any)
}

/// Whether values of a type hold floats of a width that is `wanted`. `find` knows what defines a type.
pub(crate) fn holds_floats<'m>(
    find: &dyn Fn(u32) -> Option<&'m Instruction>,
    ty: u32,
    wanted: &dyn Fn(u32) -> bool,
) -> bool {
    let Some(inst) = find(ty) else { return false };
    match (inst.class.opcode, inst.operands.first()) {
        (Op::TypeFloat, Some(Operand::LiteralBit32(width))) => wanted(*width),
        (Op::TypeRuntimeArray, _) => false,
        _ => type_parts(inst).any(|part| holds_floats(find, part, wanted)),
    }
}

/// The storage class operand of a variable.
pub(crate) fn variable_class(inst: &Instruction) -> Option<StorageClass> {
    match (inst.class.opcode, inst.operands.first()) {
        (Op::Variable, Some(Operand::StorageClass(class))) => Some(*class),
        _ => None,
    }
}

/// Ids of the imports of GLSL.std.450.
pub(crate) fn glsl_imports(module: &Module) -> Vec<u32> {
    module
        .ext_inst_imports
        .iter()
        .filter(|inst| matches!(inst.operands.first(), Some(Operand::LiteralString(name)) if name == "GLSL.std.450"))
        .filter_map(|inst| inst.result_id)
        .collect()
}
