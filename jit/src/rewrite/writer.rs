//! A module that is added to: what rewrites write with.

use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{Capability, Decoration, Op, StorageClass, Word};

use crate::frontend::defs::{Defs, holds_floats};
use crate::frontend::resource::{self, Role};
use crate::ir::opcodes::instruction;
use crate::kernel::Specialized;

/// The version of SPIR-V from which on an entry point names all global variables that it uses, and not its inputs alone.
const NAMES_ALL: (u8, u8) = (1, 4);

/// What a rewrite has to say if it cannot be written.
pub(super) type Result<T> = std::result::Result<T, &'static str>;

/// First byte of the words that a placed kernel takes behind its own push constants.
pub(crate) fn words_at(kernel: &Specialized) -> u32 {
    kernel.interface.push.as_ref().map_or(0, |push| push.size.next_multiple_of(4))
}

/// A push constant: the variable, the type of a pointer to it, and the index of its member.
#[derive(Clone, Copy)]
pub(super) struct Pushed {
    variable: Word,
    pointer: Word,
    member: Word,
    ty: Word,
}

/// A module that is added to.
pub(super) struct Writer {
    pub(super) module: Module,
    bound: Word,
}

impl Writer {
    pub(super) fn new(mut module: Module) -> Result<Self> {
        module.functions.clear();
        let bound = module.header.as_ref().map(|header| header.bound).ok_or("no header")?;
        let mut writer = Self { module, bound };
        // What a push-constant block is to be made of has to stand before it, and depends on nothing.
        let u32 = writer.u32();
        let globals = &mut writer.module.types_global_values;
        if let Some(at) = globals.iter().position(|inst| inst.result_id == Some(u32)) {
            globals[..=at].rotate_right(1);
        }
        Ok(writer)
    }

    pub(super) fn finish(mut self, function: Function) -> Module {
        self.module.functions.push(function);
        if let Some(header) = &mut self.module.header {
            header.bound = self.bound;
        }
        self.module
    }

    pub(super) fn fresh(&mut self) -> Word {
        self.bound += 1;
        self.bound - 1
    }

    /// A type or constant; made if there is none.
    pub(super) fn global(&mut self, op: Op, ty: Option<Word>, operands: Vec<Operand>) -> Word {
        let same = |inst: &&Instruction| {
            inst.class.opcode == op && inst.result_type == ty && inst.operands == operands
        };
        let found = self.module.types_global_values.iter().find(same).and_then(|inst| inst.result_id);
        found.unwrap_or_else(|| {
            let id = self.fresh();
            self.module.types_global_values.push(Instruction::new(op, ty, Some(id), operands));
            id
        })
    }

    pub(super) fn u32(&mut self) -> Word {
        self.global(Op::TypeInt, None, vec![Operand::LiteralBit32(32), Operand::LiteralBit32(0)])
    }

    pub(super) fn uvec3(&mut self) -> Word {
        let u32 = self.u32();
        self.vector(u32, 3)
    }

    pub(super) fn vector(&mut self, scalar: Word, count: u32) -> Word {
        self.global(Op::TypeVector, None, vec![Operand::IdRef(scalar), Operand::LiteralBit32(count)])
    }

    pub(super) fn bool(&mut self) -> Word {
        self.global(Op::TypeBool, None, Vec::new())
    }

    pub(super) fn constant(&mut self, value: u32) -> Word {
        let u32 = self.u32();
        self.global(Op::Constant, Some(u32), vec![Operand::LiteralBit32(value)])
    }

    /// The value of a constant.
    pub(super) fn value(&self, id: Word) -> Option<u32> {
        let inst = self.definition(id)?;
        match (inst.class.opcode, inst.operands.first()) {
            (Op::Constant, Some(Operand::LiteralBit32(value))) => Some(*value),
            (Op::ConstantNull, _) => Some(0),
            _ => None,
        }
    }

    /// What defines a type or a constant.
    pub(super) fn definition(&self, id: Word) -> Option<&Instruction> {
        self.module.types_global_values.iter().find(|inst| inst.result_id == Some(id))
    }

    /// How many parts of one type a type is made of.
    pub(super) fn count(&self, ty: &Instruction) -> Option<u32> {
        match (ty.class.opcode, ty.operands.get(1)?) {
            (Op::TypeVector | Op::TypeMatrix, count) => literal(count),
            (Op::TypeArray, count) => self.value(count.id_ref_any()?),
            _ => None,
        }
    }

    /// Whether integers of a type are only loaded, stored and converted: the module does not ask for the capability of anything else.
    pub(super) fn is_storage_only(&self, ty: Word) -> bool {
        let Some(inst) = self.definition(ty) else { return false };
        let needed = match (inst.class.opcode, inst.operands.first()) {
            (Op::TypeVector, Some(&Operand::IdRef(part))) => return self.is_storage_only(part),
            (Op::TypeInt, Some(Operand::LiteralBit32(8))) => Capability::Int8,
            (Op::TypeInt, Some(Operand::LiteralBit32(16))) => Capability::Int16,
            (Op::TypeFloat, Some(Operand::LiteralBit32(16))) => Capability::Float16,
            _ => return false,
        };
        !self.declares(needed)
    }

    fn declares(&self, capability: Capability) -> bool {
        let declared = Some(&Operand::Capability(capability));
        self.module.capabilities.iter().any(|inst| inst.operands.first() == declared)
    }

    /// Has the module ask for a capability.
    pub(super) fn declare(&mut self, capability: Capability) {
        if !self.declares(capability) {
            let asked = self.effect(Op::Capability, vec![Operand::Capability(capability)]);
            self.module.capabilities.push(asked);
        }
    }

    /// Whether values of a type hold floats.
    pub(super) fn holds_floats(&self, ty: Word) -> bool {
        holds_floats(&|id| self.definition(id), ty, &|_| true)
    }

    /// Whether values of a type hold halves.
    pub(super) fn holds_halves(&self, ty: Word) -> bool {
        holds_floats(&|id| self.definition(id), ty, &|width| width == 16)
    }

    /// Whether values of a type are halves, or vectors of them, that are there for storage alone.
    pub(super) fn is_stored_half(&self, ty: Word) -> bool {
        self.holds_floats(ty) && self.is_storage_only(ty)
    }

    /// Has the decorations of one id be those of another one.
    pub(super) fn decorate_as(&mut self, id: Word, new: Word) {
        for inst in &mut self.module.annotations {
            if inst.class.opcode == Op::Decorate && inst.operands.first() == Some(&Operand::IdRef(id)) {
                inst.operands[0] = Operand::IdRef(new);
            }
        }
    }

    /// How many words of 32 bits a scalar or a vector is, if it is a whole number of at most four.
    pub(super) fn words_of(&self, ty: Word) -> Option<u32> {
        let inst = self.definition(ty)?;
        let (scalar, count) = match (inst.class.opcode, inst.operands.as_slice()) {
            (Op::TypeVector, [Operand::IdRef(scalar), Operand::LiteralBit32(count)]) => {
                (self.definition(*scalar)?, *count)
            }
            _ => (inst, 1),
        };
        let bits = match (scalar.class.opcode, scalar.operands.first()) {
            (Op::TypeInt | Op::TypeFloat, Some(Operand::LiteralBit32(width))) => width * count,
            _ => return None,
        };
        (bits % 32 == 0 && bits <= 128).then_some(bits / 32)
    }

    pub(super) fn pointer(&mut self, class: StorageClass, to: Word) -> Word {
        self.global(Op::TypePointer, None, vec![Operand::StorageClass(class), Operand::IdRef(to)])
    }

    pub(super) fn decorate(&mut self, operands: Vec<Operand>, member: bool) {
        let op = if member { Op::MemberDecorate } else { Op::Decorate };
        self.module.annotations.push(Instruction::new(op, None, None, operands));
    }

    /// Raises the version of SPIR-V to this one, if it is later.
    pub(super) fn raise_to(&mut self, version: (u8, u8)) {
        let Some(header) = self.module.header.as_mut().filter(|header| header.version() < version) else {
            return;
        };
        let names_inputs = header.version() < NAMES_ALL;
        header.set_version(version.0, version.1);
        if names_inputs && version >= NAMES_ALL {
            let globals = self.module.types_global_values.iter();
            let variables = globals.filter(|inst| inst.class.opcode == Op::Variable);
            let ids: Vec<Operand> = variables.filter_map(|inst| inst.result_id).map(Operand::IdRef).collect();
            for entry in &mut self.module.entry_points {
                let others: Vec<Operand> =
                    ids.iter().filter(|id| !entry.operands.contains(id)).cloned().collect();
                entry.operands.extend(others);
            }
        }
    }

    /// A new global variable; part of the entry point's interface where the version asks for it.
    pub(super) fn variable(&mut self, class: StorageClass, pointer: Word) -> Word {
        let id = self.fresh();
        let operands = vec![Operand::StorageClass(class)];
        let inst = Instruction::new(Op::Variable, Some(pointer), Some(id), operands);
        self.module.types_global_values.push(inst);
        let version = self.module.header.as_ref().map_or((1, 3), |header| header.version());
        if class == StorageClass::Input || version >= NAMES_ALL {
            let entries = self.module.entry_points.iter_mut();
            entries.for_each(|entry| entry.operands.push(Operand::IdRef(id)));
        }
        id
    }

    /// Appends `count` words to the push-constant block, from byte `at` on.
    pub(super) fn push_words(&mut self, at: u32, count: u32) -> Result<Vec<Pushed>> {
        let u32 = self.u32();
        (0..count).map(|number| self.push_member(at + 4 * number, u32)).collect()
    }

    /// Puts a scalar or a vector behind what the push-constant block holds, at byte `at`.
    pub(super) fn push_member(&mut self, at: u32, ty: Word) -> Result<Pushed> {
        let (variable, block) = self.push_block()?;
        let globals = &mut self.module.types_global_values;
        let block_type = globals.iter_mut().find(|inst| inst.result_id == Some(block));
        let members = &mut block_type.ok_or("no push-constant block")?.operands;
        let number = members.len() as u32;
        members.push(Operand::IdRef(ty));
        let offset = vec![
            Operand::IdRef(block),
            Operand::LiteralBit32(number),
            Operand::Decoration(Decoration::Offset),
            Operand::LiteralBit32(at),
        ];
        self.decorate(offset, true);
        let member = self.constant(number);
        let pointer = self.pointer(StorageClass::PushConstant, ty);
        Ok(Pushed { variable, pointer, member, ty })
    }

    /// The variable of the push constants and the type of its block; made if there are none.
    fn push_block(&mut self) -> Result<(Word, Word)> {
        let defs = Defs::new(&self.module);
        let known = resource::variables(&self.module, &defs).into_iter().find(|v| v.role == Role::Push);
        let shared = |block: Word| {
            let mut pointers = self.module.types_global_values.iter().filter(|inst| {
                inst.class.opcode == Op::TypePointer && inst.operands.get(1) == Some(&Operand::IdRef(block))
            });
            let push = Operand::StorageClass(StorageClass::PushConstant);
            pointers.any(|inst| inst.operands.first() != Some(&push))
        };
        match known {
            Some(variable) if shared(variable.ty) => {
                Err("push constants that share their type with a buffer")
            }
            Some(variable) => Ok((variable.id, variable.ty)),
            None => {
                // Never one that is there already: this one is decorated.
                let block = self.fresh();
                let inst = Instruction::new(Op::TypeStruct, None, Some(block), Vec::new());
                self.module.types_global_values.push(inst);
                self.decorate(vec![Operand::IdRef(block), Operand::Decoration(Decoration::Block)], false);
                let pointer = self.pointer(StorageClass::PushConstant, block);
                Ok((self.variable(StorageClass::PushConstant, pointer), block))
            }
        }
    }

    pub(super) fn load(&mut self, code: &mut Vec<Instruction>, of: Pushed) -> Word {
        let pointer = self.apply(code, Op::AccessChain, of.pointer, &[of.variable, of.member]);
        self.apply(code, Op::Load, of.ty, &[pointer])
    }

    /// Adds an instruction with a result.
    pub(super) fn add(
        &mut self,
        code: &mut Vec<Instruction>,
        op: Op,
        ty: Word,
        operands: Vec<Operand>,
    ) -> Word {
        let id = self.fresh();
        code.push(instruction(op, Some(ty), Some(id), operands));
        id
    }

    /// Adds an operation on values.
    pub(super) fn apply(&mut self, code: &mut Vec<Instruction>, op: Op, ty: Word, ids: &[Word]) -> Word {
        self.add(code, op, ty, ids.iter().copied().map(Operand::IdRef).collect())
    }

    /// The part of a composite value with this number.
    pub(super) fn extract(
        &mut self,
        code: &mut Vec<Instruction>,
        ty: Word,
        value: Word,
        number: u32,
    ) -> Word {
        let operands = vec![Operand::IdRef(value), Operand::LiteralBit32(number)];
        self.add(code, Op::CompositeExtract, ty, operands)
    }

    /// The same bits as a value of another type.
    pub(super) fn cast(&mut self, code: &mut Vec<Instruction>, value: Word, from: Word, to: Word) -> Word {
        if from == to { value } else { self.apply(code, Op::Bitcast, to, &[value]) }
    }

    /// The same of values that may be there for storage alone: these are converted, and to nothing but integers of their width.
    pub(super) fn stored_as(
        &mut self,
        code: &mut Vec<Instruction>,
        value: Word,
        from: Word,
        to: Word,
    ) -> Result<Word> {
        if from == to || ![from, to].iter().any(|&ty| self.is_storage_only(ty)) {
            return Ok(self.cast(code, value, from, to));
        }
        if [from, to].iter().any(|&ty| self.holds_floats(ty)) {
            return Err("elements of another type");
        }
        let inst = self.definition(to).ok_or("no type")?;
        let count = self.count(inst);
        let scalar = inst.operands.first().and_then(Operand::id_ref_any).unwrap_or(to);
        let sign = self.definition(scalar).and_then(|inst| inst.operands.get(1));
        let convert = if sign == Some(&Operand::LiteralBit32(0)) { Op::UConvert } else { Op::SConvert };
        let word = self.u32();
        let words = count.map_or(word, |count| self.vector(word, count));
        let wide = self.apply(code, Op::UConvert, words, &[value]);
        Ok(self.apply(code, convert, to, &[wide]))
    }

    /// The words of a value of `words` words, `zero` added to each: one that the driver's compiler cannot see through.
    pub(super) fn plus(
        &mut self,
        code: &mut Vec<Instruction>,
        (value, ty): (Word, Word),
        zero: Word,
        words: u32,
    ) -> Word {
        let (mut bits, mut mask) = (self.u32(), zero);
        if words > 1 {
            bits = self.vector(bits, words);
            mask = self.apply(code, Op::CompositeConstruct, bits, &vec![zero; words as usize]);
        }
        let seen = self.cast(code, value, ty, bits);
        let hidden = self.apply(code, Op::IAdd, bits, &[seen, mask]);
        self.cast(code, hidden, bits, ty)
    }

    pub(super) fn math(&mut self, code: &mut Vec<Instruction>, op: Op, a: Word, b: Word) -> Word {
        let u32 = self.u32();
        self.apply(code, op, u32, &[a, b])
    }

    /// An operation with a Boolean result.
    pub(super) fn test(&mut self, code: &mut Vec<Instruction>, op: Op, a: Word, b: Word) -> Word {
        let boolean = self.bool();
        self.apply(code, op, boolean, &[a, b])
    }

    pub(super) fn effect(&self, op: Op, operands: Vec<Operand>) -> Instruction {
        Instruction::new(op, None, None, operands)
    }

    pub(super) fn branch(&self, to: Word) -> Instruction {
        self.effect(Op::Branch, vec![Operand::IdRef(to)])
    }

    pub(super) fn choose(&self, condition: Word, yes: Word, no: Word) -> Instruction {
        self.effect(Op::BranchConditional, [condition, yes, no].map(Operand::IdRef).to_vec())
    }
}

fn literal(operand: &Operand) -> Option<u32> {
    match operand {
        Operand::LiteralBit32(value) => Some(*value),
        _ => None,
    }
}
