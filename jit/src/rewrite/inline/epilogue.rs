//! Writes a kernel that does a consumer's items right behind the stores of their elements.
//!
//! # Requires
//! - a producer that stores whole elements of a buffer one by one; a free consumer whose items read one of them each
//!
//! # Guarantees
//! - behind each of the stores stands the body of the consumer, for the item that belongs to the element's index ([`Ids`]), if there is one; its
//!   loads of the element are the stored value, or, of halves that are there for storage alone, what is read back from where they are stored
//! - the rest of the producer is unchanged, except for the stores themselves where these are not needed ([`Handed::keeps`])
//! - floats of the one are hidden from the compiler in the other, as between members of a group, unless all are plain
//!
//! # Refuses
//! - consumers with returns on some of the paths to a block, or in loops; elements that are no scalars or vectors
//!
//! # Leaves alone
//! - whether each element is stored once, and whether other accesses conflict with the consumer's: that depends on the numbers of a call
//!   (`plan::rewrites::epilogue`)

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Block, Function, Instruction, Module, Operand};
use rspirv::spirv::{Capability, Op, SelectionControl, StorageClass, Word};

use super::parts::{declares, scalars};
use super::rows::{Row, Rows};
use super::{Copy, Ids, Parts, Place, comes_from, hides, parts, returns, width};
use crate::frontend::defs::Defs;
use crate::frontend::resource::{self, Role};
use crate::frontend::types::Type;
use crate::ir::opcodes::{is_pure, make_volatile};
use crate::kernel::{NormalKernel, Specialized};
use crate::rewrite::writer::Result;

/// Most instructions of the consumer, for all stores together.
const MOST_LINES: usize = 2048;

/// The accesses that elements pass through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Handed {
    /// Stores of the producer, by their numbers among its accesses.
    pub(crate) stores: Vec<usize>,
    /// Loads of the consumer from the item's element, and stores to it.
    pub(crate) loads: Vec<usize>,
    pub(crate) stored_back: Vec<usize>,
    /// What the producer stores is still stored.
    pub(crate) keeps: bool,
    pub(crate) rows: Rows,
}

impl Handed {
    pub(in crate::rewrite) fn bytes(&self) -> Vec<u8> {
        let Self { stores, loads, stored_back, keeps, rows } = self;
        let all = [stores, loads, stored_back].into_iter();
        let lists = all.flat_map(|list| [&[list.len()], list.as_slice()].concat());
        let all = lists.chain([usize::from(*keeps)]).chain(rows.numbers());
        all.flat_map(|n| (n as u32).to_le_bytes()).collect()
    }
}

/// Whether the elements that these stores store are read back where they are stored. Halves that a kernel only stores and converts cannot be hidden, and
/// drivers round a conversion in another way where its result is not stored but converted back: so they pass through memory as without the epilogue.
pub(crate) fn reads_back(producer: &Specialized, consumer: &Specialized, stores: &[usize]) -> bool {
    let (Ok(own), Ok(theirs)) = (&producer.normal, &consumer.normal) else { return false };
    let defs = Defs::new(&own.module);
    let is_half = |&number: &usize| {
        let (block, position) = own.analysis.accesses[number].at;
        let store = own.module.functions.first()?.blocks.get(block)?.instructions.get(position)?;
        let ty = defs.type_of(store.operands.get(1)?.id_ref_any()?)?;
        let (scalar, _) = scalars(own, ty);
        Some(matches!(own.types.get(scalar), Type::Float { width: 16 }))
    };
    let computes = [own, theirs].iter().any(|normal| declares(normal, Capability::Float16));
    hides(own, theirs) && !computes && stores.iter().any(|store| is_half(store) == Some(true))
}

/// The producer with the consumer behind its stores, as a module.
pub(in crate::rewrite) fn append(
    producer: &Specialized,
    consumer: &Specialized,
    handed: &Handed,
    ids: &Ids,
) -> Result<Module> {
    let own = producer.normal.as_ref().map_err(|_| "no normal form")?;
    let theirs = consumer.normal.as_ref().map_err(|_| "no normal form")?;
    if own.modes.agree(&theirs.modes).is_err() {
        return Err("other execution modes");
    }
    let body = theirs.module.functions.first().ok_or("no body")?;
    let lines = body.blocks.iter().map(|block| block.instructions.len()).sum::<usize>();
    if lines * handed.stores.len() > MOST_LINES {
        return Err("too long a computation");
    }
    let (mut function, copy) = Copy::begin(producer, consumer, [own, theirs], None, ids)?;
    let defs = Defs::new(&own.module);
    let locals = Locals::of(body);
    let accesses = theirs.analysis.numbered();
    let mut epilogue = Epilogue { copy, own, handed, body, locals, accesses };
    epilogue.is_followed()?;
    let variables = epilogue.variables()?;
    let mut at = Vec::new();
    for (nth, &number) in handed.stores.iter().enumerate() {
        let access = &own.analysis.accesses[number];
        let depth = access.element.and_then(|e| e.index).map(|index| index.depth).ok_or("no elements")?;
        at.push((access.at.0, access.at.1, depth, handed.rows.of.get(nth).copied().flatten()));
    }
    // From the last on, so that positions stay what they are.
    at.sort_unstable_by_key(|one| (one.0, one.1));
    for (block, position, depth, row) in at.into_iter().rev() {
        let store = function.blocks[block].instructions[position].clone();
        let [Operand::IdRef(pointer), Operand::IdRef(value)] = store.operands.as_slice() else {
            return Err("a store that is volatile");
        };
        let chain = defs.get(*pointer).filter(|inst| {
            matches!(inst.class.opcode, Op::AccessChain | Op::InBoundsAccessChain)
                && inst.operands.len() == depth + 2
        });
        let index = chain.and_then(|chain| chain.operands[depth + 1].id_ref_any());
        let index = index.ok_or("a store of no element")?;
        let ty = defs.type_of(index).ok_or("an index of no type")?;
        if width(own, ty) != Some(32) {
            return Err("an index of another width than 32 bits");
        }
        let row = row.and_then(|row| row.find(index, &defs));
        let ty_of_value = defs.type_of(*value).ok_or("a value of no type")?;
        let element = Element { pointer: *pointer, value: *value, ty: ty_of_value };
        epilogue.behind(&mut function, (block, position), ((index, ty), row), element)?;
    }
    if let Some(first) = function.blocks.first_mut() {
        first.instructions.splice(0..0, variables);
    }
    Ok(epilogue.copy.writer.finish(function))
}

/// What a store stores, and where.
#[derive(Clone, Copy)]
struct Element {
    pointer: Word,
    value: Word,
    ty: Word,
}

/// Local variables of the consumer, which all its copies share.
#[derive(Default)]
struct Locals {
    /// Each with its own in the producer, and what it holds where the body begins.
    variables: Vec<(Word, Word, Option<Word>)>,
    /// They, and pointers to parts of them.
    pointers: AHashSet<Word>,
}

impl Locals {
    /// The pointers: their own ones are made by [`Epilogue::variables`].
    fn of(body: &Function) -> Self {
        let mut locals = Self::default();
        for inst in body.blocks.iter().flat_map(|block| &block.instructions) {
            let Some(id) = inst.result_id else { continue };
            let base = inst.operands.first().and_then(Operand::id_ref_any);
            let is_local = match inst.class.opcode {
                Op::Variable => true,
                Op::AccessChain | Op::InBoundsAccessChain => {
                    base.is_some_and(|base| locals.pointers.contains(&base))
                }
                _ => false,
            };
            is_local.then(|| locals.pointers.insert(id));
        }
        locals
    }
}

/// Writes the consumer's body behind each store.
struct Epilogue<'a> {
    copy: Copy<'a>,
    own: &'a NormalKernel,
    handed: &'a Handed,
    body: &'a Function,
    locals: Locals,
    /// Numbers of the consumer's accesses, by block and position.
    accesses: AHashMap<(usize, usize), (usize, usize)>,
}

impl Epilogue<'_> {
    /// Whether the consumer's body is one that can be written elsewhere.
    fn is_followed(&self) -> Result<()> {
        let module = &self.copy.imported.module;
        let array = |role: &Role| matches!(role, Role::Resource { array: Some(_), .. });
        if resource::variables(module, &Defs::new(module)).iter().any(|one| array(&one.role)) {
            return Err("arrays of descriptors");
        }
        for inst in self.body.blocks.iter().flat_map(|block| &block.instructions) {
            match inst.class.opcode {
                Op::Load if inst.operands.len() != 1 => return Err("a load that is volatile"),
                Op::Store if inst.operands.len() != 2 => return Err("a store that is volatile"),
                Op::Load
                | Op::Store
                | Op::AccessChain
                | Op::InBoundsAccessChain
                | Op::ArrayLength
                | Op::CopyObject
                | Op::Undef
                | Op::Phi
                | Op::Variable
                | Op::SelectionMerge
                | Op::LoopMerge
                | Op::Branch
                | Op::BranchConditional
                | Op::Switch
                | Op::Return
                | Op::Unreachable => {}
                _ if is_pure(inst) => {}
                _ => return Err("an instruction that does more than compute"),
            }
        }
        Ok(())
    }

    /// The producer's own of the consumer's local variables.
    fn variables(&mut self) -> Result<Vec<Instruction>> {
        let mut made = Vec::new();
        let all = self.body.blocks.iter().flat_map(|block| &block.instructions);
        for inst in all.filter(|inst| inst.class.opcode == Op::Variable) {
            let (old, ty) = inst.result_id.zip(inst.result_type).ok_or("a variable without a type")?;
            let ty = self.copy.import.global(&mut self.copy.writer, ty)?;
            let starts = inst.operands.get(1).and_then(Operand::id_ref_any);
            let starts = starts.map(|id| self.copy.import.global(&mut self.copy.writer, id)).transpose()?;
            let new = self.copy.writer.fresh();
            let class = vec![Operand::StorageClass(StorageClass::Function)];
            made.push(Instruction::new(Op::Variable, Some(ty), Some(new), class));
            self.locals.variables.push((old, new, starts));
        }
        Ok(made)
    }

    /// Puts the body behind a store, which ends its block: what came after it is where all ways through the body meet.
    fn behind(
        &mut self,
        function: &mut Function,
        (block, position): (usize, usize),
        ((index, ty), row): ((Word, Word), Option<Row>),
        element: Element,
    ) -> Result<()> {
        let label = function.blocks[block].label_id().ok_or("a block without a label")?;
        let before = &mut function.blocks[block].instructions;
        let rest = before.split_off(position + 1);
        if rest.iter().any(|inst| inst.class.opcode == Op::LoopMerge) {
            return Err("a store where a loop begins");
        }
        if !self.handed.keeps {
            before.pop();
        }
        let copy = &mut self.copy;
        let u32 = copy.writer.u32();
        let number = copy.writer.cast(before, index, ty, u32);
        copy.row = row.map(|row| copy.row_of(before, number, row));
        let join = copy.writer.fresh();
        let is_stored = copy.is_stored(before, number);
        let start = Instruction::new(Op::Label, None, Some(join), Vec::new());
        let joined = Block { label: Some(start), instructions: rest };
        let value = self.handed_on(before, element)?;
        let (mut blocks, entry) = self.body(before, number, (value, element.ty), join)?;
        let writer = &self.copy.writer;
        if let Some(is_stored) = is_stored {
            let merge = vec![Operand::IdRef(join), Operand::SelectionControl(SelectionControl::NONE)];
            before.push(writer.effect(Op::SelectionMerge, merge));
            before.push(writer.choose(is_stored, entry, join));
        } else {
            before.push(writer.branch(entry));
        }
        blocks.push(joined);
        comes_from(function, label, join);
        function.blocks.splice(block + 1..block + 1, blocks);
        Ok(())
    }

    /// What was stored, as the consumer has it. Its floats are hidden.
    fn handed_on(&mut self, code: &mut Vec<Instruction>, element: Element) -> Result<Word> {
        let Element { pointer, value, ty } = element;
        let copy = &mut self.copy;
        if copy.zero.is_none() || !copy.writer.holds_floats(ty) {
            return Ok(value);
        }
        if !copy.writer.is_stored_half(ty) {
            return copy.hide(code, value, ty);
        }
        if mutant!(HalvesAreHandedOn) {
            return Ok(value);
        }
        if !self.handed.keeps && !mutant!(HalvesAreNotKept) {
            return Err("halves that are read back and not stored");
        }
        let read = copy.writer.apply(code, Op::Load, ty, &[pointer]);
        code.iter_mut().last().into_iter().for_each(|load| make_volatile(&mut load.operands));
        Ok(read)
    }

    /// The body for the item of an element, which goes on at `join`, and where it begins. What it is made of is put before it.
    fn body(
        &mut self,
        before: &mut Vec<Instruction>,
        number: Word,
        (value, ty): (Word, Word),
        join: Word,
    ) -> Result<(Vec<Block>, Word)> {
        let copy = &mut self.copy;
        copy.values.clear();
        copy.dims = Some(copy.digits(before, number));
        // Phis speak of what comes later.
        for block in &self.body.blocks {
            let labels = block.label.iter().chain(&block.instructions);
            for id in labels.filter_map(|inst| inst.result_id) {
                let new = copy.writer.fresh();
                copy.values.insert(id, new);
            }
        }
        for &(old, new, starts) in &self.locals.variables {
            copy.values.insert(old, new);
            // Each item begins with what the variable began with, not with what another left.
            if let Some(starts) = starts.filter(|_| !mutant!(ItemsShareVariables)) {
                let operands = vec![Operand::IdRef(new), Operand::IdRef(starts)];
                before.push(copy.writer.effect(Op::Store, operands));
            }
        }
        let mut function = Function { blocks: Vec::new(), ..self.body.clone() };
        for (number_of, block) in self.body.blocks.iter().enumerate() {
            let mut code = Vec::new();
            for (at, inst) in block.instructions.iter().enumerate() {
                let access = self.accesses.get(&(number_of, at)).map(|&(access, _)| access);
                let is_known = self.handed.rows.quotients.contains(&(number_of, at));
                if let Some(row) = self.copy.row.filter(|_| is_known) {
                    self.copy.quotient(&mut code, inst, row)?;
                    continue;
                }
                self.instruction(&mut code, inst, access, number, (value, ty))?;
            }
            let label = block.label_id().and_then(|label| self.copy.values.get(&label)).copied();
            let label = Instruction::new(Op::Label, None, label, Vec::new());
            function.blocks.push(Block { label: Some(label), instructions: code });
        }
        let joins = returns::lead_to(&mut self.copy.writer, &mut function, join);
        let mut blocks = function.blocks;
        blocks.extend(joins);
        if blocks.iter().flat_map(|block| &block.instructions).any(|inst| inst.class.opcode == Op::Return) {
            return Err("returns on some of the ways to a place");
        }
        let entry = blocks.first().and_then(Block::label_id).ok_or("no body")?;
        Ok((blocks, entry))
    }

    fn instruction(
        &mut self,
        code: &mut Vec<Instruction>,
        inst: &Instruction,
        access: Option<usize>,
        number: Word,
        (value, ty): (Word, Word),
    ) -> Result<()> {
        let is_of = |list: &[usize]| access.is_some_and(|access| list.contains(&access));
        let pointer = inst.operands.first().and_then(Operand::id_ref_any);
        let is_local = |id: Option<Word>| id.is_some_and(|id| self.locals.pointers.contains(&id));
        match inst.class.opcode {
            Op::Variable => Ok(()),
            Op::AccessChain | Op::InBoundsAccessChain | Op::Load | Op::Store if is_local(pointer) => {
                self.same(code, inst)
            }
            // Made anew where they are used.
            Op::AccessChain | Op::InBoundsAccessChain => Ok(()),
            Op::Load => {
                let (old, own) = inst.result_id.zip(inst.result_type).ok_or("a load without a result")?;
                let new = self.copy.value(old)?;
                let found = if is_of(&self.handed.loads) {
                    if parts(self.copy.imported, own, self.own, ty)? != Parts::Whole {
                        return Err("elements of another type");
                    }
                    let own = self.copy.import.global(&mut self.copy.writer, own)?;
                    self.copy.writer.stored_as(code, value, ty, own)?
                } else {
                    self.copy.argument(code, inst, &Place::Element(number))?;
                    self.copy.value(old)?
                };
                self.copy.values.insert(old, new);
                let own = self.copy.import.global(&mut self.copy.writer, own)?;
                code.push(Instruction::new(
                    Op::CopyObject,
                    Some(own),
                    Some(new),
                    vec![Operand::IdRef(found)],
                ));
                Ok(())
            }
            Op::Store => {
                let [Operand::IdRef(pointer), Operand::IdRef(stored)] = inst.operands.as_slice() else {
                    return Err("a store that is volatile");
                };
                let index = is_of(&self.handed.stored_back).then_some(number);
                let pointer = self.pointer(code, *pointer, index)?;
                let stored = self.copy.value(*stored)?;
                code.push(
                    self.copy.writer.effect(Op::Store, vec![Operand::IdRef(pointer), Operand::IdRef(stored)]),
                );
                Ok(())
            }
            _ => self.same(code, inst),
        }
    }

    /// A pointer to what a store writes; to the element of an index, where there is one.
    fn pointer(&mut self, code: &mut Vec<Instruction>, pointer: Word, index: Option<Word>) -> Result<Word> {
        let copy = &mut self.copy;
        let (base, path) = copy.import.path(pointer).ok_or("a pointer that is not followed")?;
        let variable = copy.import.global(&mut copy.writer, base)?;
        let Some(chain) = copy.import.chain(pointer) else { return Ok(variable) };
        let to = chain.result_type.ok_or("a pointer without a type")?;
        let to = copy.import.global(&mut copy.writer, to)?;
        let mut operands = vec![Operand::IdRef(variable)];
        for part in &path {
            operands.push(Operand::IdRef(copy.value(*part)?));
        }
        // Nothing comes behind the element's own index.
        if let (Some(index), Some(last)) = (index, operands.last_mut()) {
            *last = Operand::IdRef(index);
        }
        Ok(copy.writer.add(code, chain.class.opcode, to, operands))
    }

    /// An instruction as it is.
    fn same(&mut self, code: &mut Vec<Instruction>, inst: &Instruction) -> Result<()> {
        let copy = &mut self.copy;
        let operands = copy.operands(inst)?;
        let ty = inst.result_type.map(|ty| copy.import.global(&mut copy.writer, ty)).transpose()?;
        let new = inst.result_id.map(|id| copy.value(id)).transpose()?;
        if let Some((old, new)) = inst.result_id.zip(new) {
            copy.import.decorate(&mut copy.writer, old, new);
        }
        code.push(Instruction::new(inst.class.opcode, ty, new, operands));
        Ok(())
    }
}
