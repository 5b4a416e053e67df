//! Types, constants and variables of one kernel in the module of another.

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{BuiltIn, Decoration, Op, StorageClass, Word};

use crate::frontend::SetBinding;
use crate::frontend::defs::{Defs, holds_floats};
use crate::frontend::resource::{self, Role};
use crate::kernel::{NormalKernel, Specialized};
use crate::rewrite::definition::is_word;
use crate::rewrite::writer::{Pushed, Result, Writer, words_at};

/// Where the producer's arguments are in the kernel that recomputes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    set: u32,
    first: u32,
    /// First byte of the producer's push constants.
    pub(crate) push: u32,
    /// First byte of the words of [`Ids`]; behind them is the zero that hides floats, if there is one.
    pub(crate) words: u32,
}

impl Slots {
    pub(crate) fn of(consumer: &Specialized, producer: &Specialized) -> Self {
        let places = || consumer.interface.bindings.iter().map(|binding| binding.at);
        let set = places().map(|at| at.set).max().unwrap_or(0);
        let last = places().filter(|at| at.set == set).map(|at| at.binding).max();
        let push = words_at(consumer).next_multiple_of(16);
        let (push, words) = match words_at(producer) {
            0 => (words_at(consumer), words_at(consumer)),
            size => (push, push + size),
        };
        Self { set, first: last.map_or(0, |last| last + 1), push, words }
    }

    /// Where a binding of the producer is.
    pub(crate) fn at(&self, number: usize) -> SetBinding {
        (self.set, self.first + number as u32).into()
    }
}

/// What was taken over from a producer.
pub(super) struct Import<'a> {
    module: &'a Module,
    normal: &'a NormalKernel,
    defs: Defs<'a>,
    roles: AHashMap<Word, (Role, Word)>,
    /// Ids of the body.
    locals: AHashSet<Word>,
    bindings: Vec<SetBinding>,
    slots: Slots,
    /// What globals became.
    map: AHashMap<Word, Word>,
    /// Arguments by their first byte and type.
    arguments: AHashMap<(u32, Word), Pushed>,
}

impl<'a> Import<'a> {
    pub(super) fn new(
        writer: &mut Writer,
        producer: &Specialized,
        normal: &'a NormalKernel,
        slots: Slots,
    ) -> Result<Self> {
        let module = &normal.module;
        if let Some(header) = &module.header {
            writer.raise_to(header.version());
        }
        for capability in &module.capabilities {
            if !writer.module.capabilities.contains(capability) {
                writer.module.capabilities.push(capability.clone());
            }
        }
        for extension in &module.extensions {
            if !writer.module.extensions.contains(extension) {
                writer.module.extensions.push(extension.clone());
            }
        }
        let mut map = AHashMap::new();
        for import in &module.ext_inst_imports {
            let Some(old) = import.result_id else { continue };
            let mut known = writer.module.ext_inst_imports.iter();
            let found = known.find(|own| own.operands == import.operands).and_then(|own| own.result_id);
            let new = found.unwrap_or_else(|| {
                let id = writer.fresh();
                let import = Instruction::new(Op::ExtInstImport, None, Some(id), import.operands.clone());
                writer.module.ext_inst_imports.push(import);
                id
            });
            map.insert(old, new);
        }
        let defs = Defs::new(module);
        let variables = resource::variables(module, &defs);
        let body = module.functions.iter().flat_map(|function| function.all_inst_iter());
        Ok(Self {
            module,
            normal,
            roles: variables.iter().map(|v| (v.id, (v.role, v.ty))).collect(),
            locals: body.filter_map(|inst| inst.result_id).collect(),
            bindings: producer.interface.bindings.iter().map(|binding| binding.at).collect(),
            defs,
            slots,
            map,
            arguments: AHashMap::new(),
        })
    }

    pub(super) fn is_local(&self, id: Word) -> bool {
        self.locals.contains(&id)
    }

    pub(super) fn type_of(&self, id: Word) -> Option<Word> {
        self.defs.type_of(id)
    }

    pub(super) fn constant(&self, id: Word) -> Option<u64> {
        self.defs.constant(id)
    }

    pub(super) fn builtin(&self, variable: Word) -> Option<BuiltIn> {
        match self.roles.get(&variable) {
            Some((Role::BuiltIn(builtin), _)) => Some(*builtin),
            _ => None,
        }
    }

    /// The variable behind the handle of an image.
    pub(super) fn handle(&self, handle: Word) -> Option<Word> {
        let load = self.defs.get(handle).filter(|load| load.class.opcode == Op::Load)?;
        load.operands.first()?.id_ref_any().filter(|variable| self.roles.contains_key(variable))
    }

    /// The handle of an image and a sampler in one that this is the image of.
    pub(super) fn with_sampler(&self, handle: Word) -> Option<Word> {
        let image = self.defs.get(handle).filter(|inst| inst.class.opcode == Op::Image)?;
        image.operands.first()?.id_ref_any()
    }

    /// The scalar type of a vector, and how many it has.
    pub(super) fn vector_of(&self, ty: Word) -> Option<(Word, u32)> {
        vector_of(&self.defs, ty)
    }

    pub(super) fn is_push(&self, variable: Word) -> bool {
        matches!(self.roles.get(&variable), Some((Role::Push, _)))
    }

    /// The access chain that makes a pointer.
    pub(super) fn chain(&self, pointer: Word) -> Option<&'a Instruction> {
        let inst = self.defs.get(pointer)?;
        matches!(inst.class.opcode, Op::AccessChain | Op::InBoundsAccessChain).then_some(inst)
    }

    /// The variable behind a pointer, and the indices that lead on from it.
    pub(super) fn path(&self, pointer: Word) -> Option<(Word, Vec<Word>)> {
        if self.roles.contains_key(&pointer) {
            return Some((pointer, Vec::new()));
        }
        let mut ids = self.chain(pointer)?.operands.iter().filter_map(Operand::id_ref_any);
        let base = ids.next().filter(|base| self.roles.contains_key(base))?;
        Some((base, ids.collect()))
    }

    /// Whether values of a type hold floats.
    pub(super) fn holds_floats(&self, ty: Word) -> bool {
        holds_floats(&|id| self.defs.get(id), ty, &|_| true)
    }

    /// The push constant behind constant indices.
    pub(super) fn argument(&mut self, writer: &mut Writer, path: &[Word], ty: Word) -> Result<Pushed> {
        let block = self.normal.push_block.ok_or("no push constants")?;
        let offset =
            self.normal.types.constant_offset(block, path).ok_or("an argument that is not followed")?;
        if let Some(&known) = self.arguments.get(&(offset, ty)) {
            return Ok(known);
        }
        if !is_word(self.normal, ty) {
            return Err("arguments that are no scalars or vectors");
        }
        let own = self.global(writer, ty)?;
        let argument = writer.push_member(self.slots.push + offset, own)?;
        self.arguments.insert((offset, ty), argument);
        Ok(argument)
    }

    /// A type, constant or variable of the producer.
    pub(super) fn global(&mut self, writer: &mut Writer, id: Word) -> Result<Word> {
        if let Some(&known) = self.map.get(&id) {
            return Ok(known);
        }
        let inst = self.defs.get(id).filter(|_| !self.is_local(id)).ok_or("an id that is defined nowhere")?;
        let op = inst.class.opcode;
        let ty = inst.result_type.map(|ty| self.global(writer, ty)).transpose()?;
        let mut operands = Vec::with_capacity(inst.operands.len());
        for operand in &inst.operands {
            operands.push(match operand {
                Operand::IdRef(id) => Operand::IdRef(self.global(writer, *id)?),
                literal => literal.clone(),
            });
        }
        let new = match op {
            // Two types of one content may lie in memory in two ways.
            Op::TypeStruct | Op::TypeArray | Op::TypeRuntimeArray => {
                let new = writer.fresh();
                writer.module.types_global_values.push(Instruction::new(op, None, Some(new), operands));
                self.decorate(writer, id, new);
                new
            }
            Op::TypeVoid
            | Op::TypeBool
            | Op::TypeInt
            | Op::TypeFloat
            | Op::TypeVector
            | Op::TypeMatrix
            | Op::TypeImage
            | Op::TypeSampledImage
            | Op::TypePointer
            | Op::Constant
            | Op::ConstantTrue
            | Op::ConstantFalse
            | Op::ConstantNull
            | Op::ConstantComposite
            | Op::Undef => writer.global(op, ty, operands),
            Op::Variable => self.bound(writer, id, ty.ok_or("a variable without a type")?)?,
            _ => return Err("a global that is not taken over"),
        };
        self.map.insert(id, new);
        Ok(new)
    }

    /// A buffer or an image, at a binding of its own.
    fn bound(&self, writer: &mut Writer, id: Word, pointer: Word) -> Result<Word> {
        let Some((Role::Resource { at, .. }, _)) = self.roles.get(&id) else {
            return Err("a variable that is no buffer or image");
        };
        let number = self.bindings.iter().position(|binding| binding == at).ok_or("an unknown binding")?;
        let class = match self.defs.get(id).and_then(|inst| inst.operands.first()) {
            Some(Operand::StorageClass(
                class @ (StorageClass::StorageBuffer | StorageClass::Uniform | StorageClass::UniformConstant),
            )) => *class,
            _ => return Err("a variable that is no buffer or image"),
        };
        let new = writer.variable(class, pointer);
        let place = self.slots.at(number);
        for (decoration, number) in
            [(Decoration::DescriptorSet, place.set), (Decoration::Binding, place.binding)]
        {
            let what = [Operand::IdRef(new), Operand::Decoration(decoration), Operand::LiteralBit32(number)];
            writer.decorate(what.to_vec(), false);
        }
        Ok(new)
    }

    /// Gives what became of an id the decorations that it had.
    pub(super) fn decorate(&self, writer: &mut Writer, old: Word, new: Word) {
        for inst in &self.module.annotations {
            if let Some((Operand::IdRef(id), rest)) = inst.operands.split_first()
                && *id == old
            {
                let operands = [Operand::IdRef(new)].into_iter().chain(rest.iter().cloned()).collect();
                writer.decorate(operands, inst.class.opcode == Op::MemberDecorate);
            }
        }
    }
}

/// The scalar type of a vector, and how many it has.
pub(super) fn vector_of(defs: &Defs<'_>, ty: Word) -> Option<(Word, u32)> {
    match (defs.op(ty)?, defs.get(ty)?.operands.as_slice()) {
        (Op::TypeVector, [Operand::IdRef(scalar), Operand::LiteralBit32(count)]) => Some((*scalar, *count)),
        _ => None,
    }
}
