//! Makes a kernel that recomputes what another one stored, where it would have loaded it.
//!
//! # Requires
//! - the [`Definition`] of the producer; a consumer that only reads whole elements of its buffer, or texels of its image, one by one
//!
//! # Guarantees
//! - where the consumer loads the element of index `j`, it has the definition's value for the item that stores the element of
//!   index `j + shift`; nothing else of the consumer changes. Where not all elements are stored, it loads the others as before
//! - where its elements are vectors of what is stored as scalars, or the other way round, it has the values of all that its element is
//!   made of, or the part of one ([`Parts`])
//! - where an item of the producer does several stores, it has the value of the store that goes to the element ([`Ids::sites`])
//! - where it reads a texel, it has what the image would keep of the definition's value for the item that stores that texel
//! - the ids that the definition is made of are the digits of that index, or coordinates ([`Ids`])
//! - floats of the one are hidden from the compiler in the other, as between members of a group, unless all are plain
//!
//! # Refuses
//! - other types of elements than scalars and vectors, halves where the device only stores them, other execution modes, push constants that are read
//!   as a whole
//!
//! # Leaves alone
//! - whether some item stores what is read: that depends on the numbers of a call (`plan::rewrites::inline`)

mod epilogue;
mod guarded;
mod ids;
mod import;
mod item;
mod parts;
mod returns;
mod rows;
mod sites;
mod texel;

use ahash::AHashMap;
use rspirv::dr::{Block, Function, Instruction, Module, Operand};
use rspirv::spirv::{Op, SelectionControl, Word};
use smallvec::SmallVec;

use super::definition::{Definition, Line};
use super::writer::{Pushed, Result, Writer};
use crate::analysis::access::AccessKind;
use crate::analysis::floats::Floats;
use crate::frontend::defs::Defs;
use crate::frontend::types::Type;
use crate::kernel::{NormalKernel, Specialized};
pub(super) use epilogue::append;
pub(crate) use epilogue::{Handed, reads_back};
use import::Import;
pub(crate) use import::Slots;
pub(crate) use item::{Coordinate, Digit, Ids, Part};
pub(crate) use parts::Parts;
pub(super) use parts::parts;
pub(crate) use rows::{RowOf, Rows};

/// Whether floats of the producer and of the consumer have to be hidden from each other.
pub(super) fn hides(consumer: &NormalKernel, producer: &NormalKernel) -> bool {
    consumer.floats.kind.max(producer.floats.kind) == Floats::Any && !mutant!(SeamsInsideAreOpen)
}

/// The consumer with the definition in the place of its loads from binding `from`, as a module. `halves`: it may compute with halves.
pub(super) fn inline(
    consumer: &Specialized,
    from: usize,
    producer: &Specialized,
    definition: &Definition,
    ids: &Ids,
    halves: bool,
) -> Result<Module> {
    let own = consumer.normal.as_ref().map_err(|_| "no normal form")?;
    let theirs = producer.normal.as_ref().map_err(|_| "no normal form")?;
    if own.modes.agree(&theirs.modes).is_err() {
        return Err("other execution modes");
    }
    let (mut function, mut copy) = Copy::begin(consumer, producer, [own, theirs], Some(definition), ids)?;
    if halves {
        copy.take_halves(definition);
    }
    let chains: AHashMap<Word, Instruction> = function
        .all_inst_iter()
        .filter(|inst| matches!(inst.class.opcode, Op::AccessChain | Op::InBoundsAccessChain))
        .filter_map(|inst| Some((inst.result_id?, inst.clone())))
        .collect();
    let defs = Defs::new(&own.module);
    if let Some(texels) = definition.texels {
        let reads = { own.analysis.accesses.iter() }
            .filter(|access| access.binding == from && access.kind == AccessKind::Read);
        let mut at: Vec<(usize, usize)> = reads.map(|access| access.at).collect();
        // From the last on, so that positions stay what they are.
        at.sort_unstable();
        for (block, position) in at.into_iter().rev() {
            copy.texel_at(&mut function.blocks[block], position, &defs, texels)?;
        }
        copy.drop_images(&mut function);
        return Ok(copy.writer.finish(function));
    }
    let mut at = Vec::new();
    let loads = own.analysis.accesses.iter().enumerate();
    for (nth, (number, access)) in loads.filter(|(_, access)| access.binding == from).enumerate() {
        let depth = access.element.and_then(|e| e.index).map(|index| index.depth).ok_or("no elements")?;
        let row = ids.rows.of.get(nth).copied().flatten();
        at.push(((access.at, depth, number), row));
    }
    // From the last on, so that positions stay what they are.
    at.sort_unstable_by_key(|one| one.0);
    for (((block, position), depth, number), row) in at.into_iter().rev() {
        copy.load_number = number;
        let body = &mut function.blocks[block].instructions;
        let load = body[position].clone();
        let pointer = load.operands.first().and_then(Operand::id_ref_any);
        let chain = pointer.and_then(|pointer| chains.get(&pointer)).ok_or("a load of no element")?;
        let index = chain.operands.get(depth + 1).and_then(Operand::id_ref_any);
        let is_element = load.class.opcode == Op::Load && chain.operands.len() == depth + 2;
        let index = index.filter(|_| is_element).ok_or("a load of no element")?;
        let ty = defs.type_of(index).ok_or("an index of no type")?;
        if width(own, ty) != Some(32) {
            return Err("an index of another width than 32 bits");
        }
        let mut code = Vec::new();
        let u32 = copy.writer.u32();
        let own = copy.writer.cast(&mut code, index, ty, u32);
        let row = row.and_then(|row| row.find(index, &defs));
        copy.row = row.map(|row| copy.row_of(&mut code, own, row));
        if !ids.from_first && !ids.to_last {
            copy.load(&mut code, &load, own)?;
            body.splice(position..=position, code);
            continue;
        }
        let parts = split(&mut copy, body, position, (code, own), &load)?;
        let label = function.blocks[block].label_id().ok_or("a block without a label")?;
        let join = parts[2].label_id().ok_or("a block without a label")?;
        comes_from(&mut function, label, join);
        function.blocks.splice(block + 1..block + 1, parts);
    }
    Ok(copy.writer.finish(function))
}

/// Says in the phis of a function that what came from a block comes from another one, where the ways meet.
fn comes_from(function: &mut Function, label: Word, join: Word) {
    for inst in function.blocks.iter_mut().flat_map(|block| &mut block.instructions) {
        if inst.class.opcode == Op::Phi {
            let parents = inst.operands.iter_mut().skip(1).step_by(2);
            parents.filter(|parent| **parent == Operand::IdRef(label)).for_each(|parent| {
                *parent = Operand::IdRef(join);
            });
        }
    }
}

/// Ends a block before a load, with a branch on whether the producer stores the element; returns the blocks on either side, and
/// the one where they meet, which goes on as the block did.
fn split(
    copy: &mut Copy<'_>,
    body: &mut Vec<Instruction>,
    position: usize,
    (code, own): (Vec<Instruction>, Word),
    load: &Instruction,
) -> Result<[Block; 3]> {
    let (result, ty) = load.result_id.zip(load.result_type).ok_or("a load without a result")?;
    if copy.writer.is_storage_only(ty) {
        return Err("a value of 8 or 16 bits on two ways");
    }
    let mut rest = body.split_off(position);
    rest.remove(0);
    if rest.iter().any(|inst| inst.class.opcode == Op::LoopMerge) {
        return Err("a load where a loop begins");
    }
    let [yes, no, join] = std::array::from_fn(|_| copy.writer.fresh());
    body.extend(code);
    let is_stored = copy.is_stored(body, own).ok_or("no bounds")?;
    let writer = &copy.writer;
    let merge = vec![Operand::IdRef(join), Operand::SelectionControl(SelectionControl::NONE)];
    body.push(writer.effect(Op::SelectionMerge, merge));
    body.push(writer.choose(is_stored, yes, no));
    let [worked_out, loaded] = std::array::from_fn(|_| copy.writer.fresh());
    let under = |id: Word| Instruction { result_id: Some(id), ..load.clone() };
    let mut definition = Vec::new();
    copy.load(&mut definition, &under(worked_out), own)?;
    definition.push(copy.writer.branch(join));
    let original = vec![under(loaded), copy.writer.branch(join)];
    let phi = [worked_out, yes, loaded, no].map(Operand::IdRef).to_vec();
    rest.insert(0, Instruction::new(Op::Phi, Some(ty), Some(result), phi));
    let block = |label, instructions| {
        let label = Instruction::new(Op::Label, None, Some(label), Vec::new());
        Block { label: Some(label), instructions }
    };
    Ok([block(yes, definition), block(no, original), block(join, rest)])
}

/// What would have been loaded.
enum Place {
    /// The element of this index.
    Element(Word),
    /// The texel at these coordinates.
    Texel(SmallVec<[Word; 3]>),
}

/// Writes the definition once for each load.
struct Copy<'a> {
    writer: Writer,
    import: Import<'a>,
    definition: Option<&'a Definition>,
    /// The kernel that is added to.
    own: &'a NormalKernel,
    /// Whose instructions are copied.
    imported: &'a NormalKernel,
    /// Its work-group size.
    size: [u32; 3],
    ids: &'a Ids,
    numbers: Numbers,
    zero: Option<Pushed>,
    /// What ids of the producer's body are in the present copy.
    values: AHashMap<Word, Word>,
    /// Global, group and local id of the present item.
    dims: Option<[[Word; 3]; 3]>,
    /// Which of its stores goes to its element; the load that is replaced, and its store, if that is known.
    site: Option<Word>,
    load_number: usize,
    known: Option<u8>,
    /// Row and column of its element, if they are there.
    row: Option<[Word; 2]>,
}

impl<'a> Copy<'a> {
    /// A copy that has written nothing to `own` yet, and the body of that.
    fn begin(
        own: &Specialized,
        imported: &Specialized,
        [normal, theirs]: [&'a NormalKernel; 2],
        definition: Option<&'a Definition>,
        ids: &'a Ids,
    ) -> Result<(Function, Self)> {
        let mut module = normal.module.clone();
        normal.modes.take(&theirs.modes, &theirs.module, &mut module);
        let [function] = module.functions.as_mut_slice() else { return Err("several functions") };
        let function = std::mem::take(function);
        let slots = Slots::of(own, imported);
        let mut writer = Writer::new(module)?;
        let numbers = Numbers::of(ids, writer.push_words(slots.words, ids.words())?);
        let zero = match hides(normal, theirs) {
            true => Some(writer.push_words(slots.words + 4 * ids.words(), 1)?[0]),
            false => None,
        };
        let copy = Self {
            import: Import::new(&mut writer, imported, theirs, slots)?,
            writer,
            definition,
            own: normal,
            imported: theirs,
            size: imported.interface.local_size,
            ids,
            numbers,
            zero,
            values: AHashMap::new(),
            dims: None,
            site: None,
            load_number: 0,
            known: None,
            row: None,
        };
        Ok((function, copy))
    }

    fn defined(&self) -> Result<&'a Definition> {
        self.definition.ok_or("no definition")
    }

    /// Whether the producer stores the element of this index of the consumer.
    fn is_stored(&mut self, code: &mut Vec<Instruction>, own: Word) -> Option<Word> {
        let mut stored = None;
        if let Some(first) = self.numbers.from_first {
            let first = self.writer.load(code, first);
            stored = Some(self.writer.test(code, Op::UGreaterThanEqual, own, first));
        }
        if let Some(end) = self.numbers.to_last {
            let end = self.writer.load(code, end);
            let below = self.writer.test(code, Op::ULessThan, own, end);
            stored = Some(match stored {
                Some(above) => self.writer.test(code, Op::LogicalAnd, above, below),
                None => below,
            });
        }
        stored
    }

    /// The instructions in the place of a load of the element of index `own`.
    fn load(&mut self, code: &mut Vec<Instruction>, load: &Instruction, own: Word) -> Result<()> {
        let (result, ty) = load.result_id.zip(load.result_type).ok_or("a load without a result")?;
        let value = match parts(self.own, ty, self.imported, self.defined()?.ty)? {
            Parts::Whole => {
                let number = self.shifted(code, own);
                let (value, of) = self.element(code, number, 0)?;
                self.writer.stored_as(code, value, of, ty)?
            }
            Parts::Several(count) => self.several(code, own, count, ty)?,
            Parts::PartOf(count) => self.part_of(code, own, count, ty)?,
        };
        let operands = vec![Operand::IdRef(value)];
        code.push(Instruction::new(Op::CopyObject, Some(ty), Some(result), operands));
        Ok(())
    }

    /// An index of the consumer's as the producer counts.
    fn shifted(&mut self, code: &mut Vec<Instruction>, number: Word) -> Word {
        match self.numbers.shift.filter(|_| !mutant!(ViewsAreInlinedUnshifted)) {
            Some(shift) => {
                let shift = self.writer.load(code, shift);
                self.writer.math(code, Op::IAdd, number, shift)
            }
            None => number,
        }
    }

    /// What the producer stores in its element of this index, which is a part of what is loaded, and its type.
    fn element(&mut self, code: &mut Vec<Instruction>, number: Word, part: u32) -> Result<(Word, Word)> {
        self.values.clear();
        self.known = self.ids.known_site(self.load_number, part);
        (self.dims, self.site) = (None, None);
        let index = self.defined()?.index.filter(|&index| self.import.is_local(index));
        if let Some((index, own)) = index.and_then(|index| Some((index, self.import.type_of(index)?))) {
            if width(self.imported, own) != Some(32) {
                return Err("an index of another width than 32 bits");
            }
            let u32 = self.writer.u32();
            let own = self.import.global(&mut self.writer, own)?;
            let own = self.writer.cast(code, number, u32, own);
            self.values.insert(index, own);
        }
        self.definition(code, &Place::Element(number))
    }

    /// What the item stores that is at this place, and its type.
    fn definition(&mut self, code: &mut Vec<Instruction>, place: &Place) -> Result<(Word, Word)> {
        let definition = self.defined()?;
        let body = &self.imported.module.functions[0].blocks;
        for line in definition.lines_of(self.known) {
            match *line {
                Line::Inst(block, at) => {
                    let inst = &body[block].instructions[at];
                    match self.row.filter(|_| self.ids.rows.quotients.contains(&(block, at))) {
                        Some(row) => self.quotient(code, inst, row)?,
                        None => self.instruction(code, inst, place)?,
                    }
                }
                Line::Load { at: (block, at), ref where_all } => {
                    self.guarded(code, &body[block].instructions[at], where_all)?;
                }
                Line::Choice { phi: (block, at), condition, yes, no } => {
                    self.choice(code, &body[block].instructions[at], [condition, yes, no])?;
                }
            }
        }
        let value = self.of_site(code, place)?;
        let own = self.import.global(&mut self.writer, definition.ty)?;
        let is_number = !self.import.holds_floats(definition.ty);
        let value = match self.zero {
            Some(_) if !is_number => self.hide(code, value, own)?,
            _ => value,
        };
        Ok((value, own))
    }

    fn value(&mut self, id: Word) -> Result<Word> {
        match self.values.get(&id) {
            Some(&known) => Ok(known),
            None if self.import.is_local(id) => Err("a value that is not made"),
            None => self.import.global(&mut self.writer, id),
        }
    }

    fn instruction(&mut self, code: &mut Vec<Instruction>, inst: &Instruction, place: &Place) -> Result<()> {
        match inst.class.opcode {
            Op::Load => self.argument(code, inst, place),
            Op::ImageRead | Op::ImageFetch | Op::ImageQuerySize => self.of_image(code, inst, None),
            _ => self.pure(code, inst),
        }
    }

    /// An instruction as it is.
    fn pure(&mut self, code: &mut Vec<Instruction>, inst: &Instruction) -> Result<()> {
        let (old, ty) = inst.result_id.zip(inst.result_type).ok_or("an instruction without a result")?;
        let operands = self.operands(inst)?;
        let ty = self.import.global(&mut self.writer, ty)?;
        let new = self.writer.add(code, inst.class.opcode, ty, operands);
        self.import.decorate(&mut self.writer, old, new);
        self.values.insert(old, new);
        Ok(())
    }

    /// The operands of an instruction, in the copy.
    fn operands(&mut self, inst: &Instruction) -> Result<Vec<Operand>> {
        let each = inst.operands.iter().map(|operand| match operand {
            Operand::IdRef(id) => self.value(*id).map(Operand::IdRef),
            Operand::IdScope(_) | Operand::IdMemorySemantics(_) => Err("an operand that orders memory"),
            literal => Ok(literal.clone()),
        });
        each.collect()
    }

    /// A value that the driver's compiler cannot see through: its words, the zero added to each, for it may be hidden again.
    fn hide(&mut self, code: &mut Vec<Instruction>, value: Word, ty: Word) -> Result<Word> {
        if self.writer.is_stored_half(ty) {
            return Err("halves, which the device only stores");
        }
        if mutant!(HalvesWorkedOutAreOpen) && self.definition.is_some() && self.writer.holds_halves(ty) {
            return Ok(value);
        }
        let zero = self.zero.ok_or("no zero")?;
        let zero = self.writer.load(code, zero);
        self.hide_with(code, (value, ty), zero)
    }

    fn hide_with(
        &mut self,
        code: &mut Vec<Instruction>,
        (value, ty): (Word, Word),
        zero: Word,
    ) -> Result<Word> {
        if let Some(words) = self.writer.words_of(ty) {
            return Ok(self.writer.plus(code, (value, ty), zero, words));
        }
        let inst = self.writer.definition(ty).cloned().ok_or("no type")?;
        match (inst.class.opcode, inst.operands.as_slice()) {
            // Two of them make a word.
            (Op::TypeFloat, [Operand::LiteralBit32(16), ..]) => {
                let pair = self.writer.vector(ty, 2);
                let both = self.writer.apply(code, Op::CompositeConstruct, pair, &[value; 2]);
                let both = self.writer.plus(code, (both, pair), zero, 1);
                Ok(self.writer.extract(code, ty, both, 0))
            }
            (Op::TypeVector, &[Operand::IdRef(part), Operand::LiteralBit32(count)]) => {
                let mut parts = Vec::with_capacity(count as usize);
                for number in 0..count {
                    let one = self.writer.extract(code, part, value, number);
                    parts.push(self.hide_with(code, (one, part), zero)?);
                }
                Ok(self.writer.apply(code, Op::CompositeConstruct, ty, &parts))
            }
            _ => Err("floats that are no scalars or vectors"),
        }
    }
}

/// The numbers of [`Ids`], as push constants.
struct Numbers {
    shift: Option<Pushed>,
    first: Option<Pushed>,
    from_first: Option<Pushed>,
    to_last: Option<Pushed>,
    weights: Vec<Pushed>,
    greatest: Vec<Pushed>,
    scales: Vec<Pushed>,
    bases: Vec<Pushed>,
}

impl Numbers {
    fn of(ids: &Ids, words: Vec<Pushed>) -> Self {
        let mut words = words.into_iter();
        Self {
            shift: ids.shifted.then(|| words.next()).flatten(),
            first: ids.based.then(|| words.next()).flatten(),
            from_first: ids.from_first.then(|| words.next()).flatten(),
            to_last: ids.to_last.then(|| words.next()).flatten(),
            weights: words.by_ref().take(ids.weights()).collect(),
            greatest: words.by_ref().take(ids.mirrored()).collect(),
            scales: words.by_ref().take(ids.scaled()).collect(),
            bases: words.collect(),
        }
    }
}

fn width(normal: &NormalKernel, ty: Word) -> Option<u8> {
    match normal.types.get(ty) {
        Type::Int { width, .. } | Type::Float { width } => Some(*width),
        _ => None,
    }
}
