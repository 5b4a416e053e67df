//! Texels of images in recomputation: replaces reads and fetches by the definition of the texel, and reads texels that a definition uses.

use ahash::AHashSet;
use rspirv::dr::{Block, Function, Instruction, Operand};
use rspirv::spirv::{ImageOperands, Op, Word};
use smallvec::SmallVec;

use super::import::vector_of;
use super::{Copy, Place};
use crate::frontend::defs::Defs;
use crate::rewrite::texel::Texels;
use crate::rewrite::writer::Result;

impl Copy<'_> {
    /// Puts the definition in the place of a read of a texel. `defs` are those of the consumer as it was.
    pub(super) fn texel_at(
        &mut self,
        block: &mut Block,
        position: usize,
        defs: &Defs<'_>,
        stored: Texels,
    ) -> Result<()> {
        let read = block.instructions[position].clone();
        if !Texels::behind(&read, defs)?.are_found_in(stored) && !mutant!(FormatsAreOne) {
            return Err("texels of another format");
        }
        let coordinates = read.operands.get(1).and_then(Operand::id_ref_any).ok_or("a read of no texel")?;
        let mut code = Vec::new();
        self.texel(&mut code, &read, coordinates, defs, stored)?;
        block.instructions.splice(position..=position, code);
        Ok(())
    }

    /// The instructions in the place of a read of a texel.
    fn texel(
        &mut self,
        code: &mut Vec<Instruction>,
        read: &Instruction,
        coordinates: Word,
        defs: &Defs<'_>,
        stored: Texels,
    ) -> Result<()> {
        let (result, ty) = read.result_id.zip(read.result_type).ok_or("a read without a result")?;
        self.values.clear();
        self.dims = None;
        let place = self.coordinates(code, coordinates, defs, stored)?;
        let definition = self.defined()?;
        if let Some(index) = definition.index.filter(|&index| self.import.is_local(index)) {
            // The same texel: the same coordinates, as the producer has them.
            let own = self.import.type_of(index).ok_or("coordinates of no type")?;
            let own = self.import.global(&mut self.writer, own)?;
            let theirs = defs.type_of(coordinates).ok_or("coordinates of no type")?;
            if self.writer.words_of(own) != self.writer.words_of(theirs)
                || self.writer.words_of(own) != Some(place.len() as u32)
            {
                return Err("coordinates of another type");
            }
            let own = self.writer.cast(code, coordinates, theirs, own);
            self.values.insert(index, own);
        }
        let (value, own) = self.definition(code, &Place::Texel(place))?;
        let channels = self.channels(code, value, own, stored)?;
        // What the image does not keep reads as zero, and alpha as one.
        let (scalar, count) = vector_of(defs, ty).ok_or("a read of something else than four channels")?;
        if count != 4 || self.writer.words_of(scalar) != Some(1) {
            return Err("a read of something else than four channels");
        }
        let is_float = defs.op(scalar) == Some(Op::TypeFloat);
        let one = if is_float { 1f32.to_bits() } else { 1 };
        let mut parts = SmallVec::<[Word; 4]>::new();
        for channel in 0..4 {
            parts.push(match channels.get(channel) {
                Some(&(value, from)) => self.writer.cast(code, value, from, scalar),
                None => {
                    let bits = if channel == 3 && !mutant!(MissingAlphaIsZero) { one } else { 0 };
                    self.writer.global(Op::Constant, Some(scalar), vec![Operand::LiteralBit32(bits)])
                }
            });
        }
        let parts = parts.into_iter().map(Operand::IdRef).collect();
        code.push(Instruction::new(Op::CompositeConstruct, Some(ty), Some(result), parts));
        Ok(())
    }

    /// The coordinates of a read, as words without signs.
    fn coordinates(
        &mut self,
        code: &mut Vec<Instruction>,
        of: Word,
        defs: &Defs<'_>,
        stored: Texels,
    ) -> Result<SmallVec<[Word; 3]>> {
        let ty = defs.type_of(of).ok_or("coordinates of no type")?;
        let (scalar, count) = vector_of(defs, ty).unwrap_or((ty, 1));
        if count != u32::from(stored.coordinates) || self.writer.words_of(scalar) != Some(1) {
            return Err("coordinates of another type");
        }
        let u32 = self.writer.u32();
        let mut all = SmallVec::new();
        for number in 0..count {
            let mut one = of;
            if scalar != ty {
                one = self.writer.extract(code, scalar, of, number);
            }
            all.push(self.writer.cast(code, one, scalar, u32));
        }
        Ok(all)
    }

    /// What an image keeps of a value, channel by channel, each with its type.
    fn channels(
        &mut self,
        code: &mut Vec<Instruction>,
        value: Word,
        ty: Word,
        stored: Texels,
    ) -> Result<SmallVec<[(Word, Word); 4]>> {
        let own = self.defined()?.ty;
        let (scalar, count) = self.import.vector_of(own).unwrap_or((own, 1));
        let scalar = self.import.global(&mut self.writer, scalar)?;
        if count < u32::from(stored.channels) || self.writer.words_of(scalar) != Some(1) {
            return Err("a texel of fewer channels than its image has");
        }
        let mut all = SmallVec::new();
        for channel in 0..u32::from(stored.channels) {
            let mut one = value;
            if scalar != ty {
                one = self.writer.extract(code, scalar, value, channel);
            }
            all.push((one, scalar));
        }
        Ok(all)
    }

    /// The ids of the item that stores the texel at these coordinates.
    pub(super) fn item_at(&mut self, code: &mut Vec<Instruction>, coordinates: &[Word]) -> [[Word; 3]; 3] {
        let zero = self.writer.constant(0);
        let mut dims = [[zero; 3]; 3];
        let mut bases = self.numbers.bases.clone().into_iter();
        let known = self.ids.coordinates.clone();
        for (one, &at) in known.iter().zip(coordinates) {
            let base = if one.based { bases.next() } else { None };
            let Some(d) = one.dim.map(usize::from) else { continue };
            let mut id = at;
            if let Some(base) = base.filter(|_| !mutant!(TexelsBeginAtZero)) {
                let base = self.writer.load(code, base);
                id = self.writer.math(code, Op::ISub, at, base);
            }
            dims[0][d] = id;
            self.parts_of_global(code, &mut dims, d);
        }
        dims
    }

    /// An instruction on an image of the producer's: a read or a fetch of a texel, or a question for its size. Of a texel that the producer
    /// reads only where `happens` is true, the first one of the image elsewhere.
    pub(super) fn of_image(
        &mut self,
        code: &mut Vec<Instruction>,
        inst: &Instruction,
        happens: Option<Word>,
    ) -> Result<()> {
        let (old, ty) = inst.result_id.zip(inst.result_type).ok_or("an instruction without a result")?;
        let handle = inst.operands.first().and_then(Operand::id_ref_any).ok_or("an image of no handle")?;
        let own = self.handle(code, handle)?;
        let mut operands = vec![Operand::IdRef(own)];
        for (number, operand) in inst.operands.iter().enumerate().skip(1) {
            let id = match operand {
                Operand::ImageOperands(ImageOperands::LOD) => {
                    operands.push(operand.clone());
                    continue;
                }
                _ => operand.id_ref_any().ok_or("a read of a texel with operands of its own")?,
            };
            operands.push(Operand::IdRef(match happens {
                Some(happens) if number == 1 => self.coordinates_where(code, id, happens)?,
                _ => self.value(id)?,
            }));
        }
        let own = self.import.global(&mut self.writer, ty)?;
        let mut value = self.writer.fresh();
        code.push(Instruction::new(inst.class.opcode, Some(own), Some(value), operands));
        // What the consumer reads as well it may have computed with.
        let is_read = matches!(inst.class.opcode, Op::ImageRead | Op::ImageFetch);
        if is_read && self.zero.is_some() && self.import.holds_floats(ty) {
            value = self.hide(code, value, own)?;
        }
        self.values.insert(old, value);
        Ok(())
    }

    /// The handle of an image of the producer's, without the sampler that may come with it.
    fn handle(&mut self, code: &mut Vec<Instruction>, handle: Word) -> Result<Word> {
        let image = self.import.type_of(handle).ok_or("an image of no type")?;
        let image = self.import.global(&mut self.writer, image)?;
        let (op, operand) = match self.import.with_sampler(handle) {
            Some(both) => (Op::Image, self.handle(code, both)?),
            None => {
                let variable = self.import.handle(handle).ok_or("an image that is not followed")?;
                (Op::Load, self.import.global(&mut self.writer, variable)?)
            }
        };
        let own = self.writer.fresh();
        code.push(Instruction::new(op, Some(image), Some(own), vec![Operand::IdRef(operand)]));
        Ok(own)
    }

    /// Drops the images of those with a sampler that are no longer fetched from, so that nothing is left of the binding.
    pub(super) fn drop_images(&self, function: &mut Function) {
        let operands = function.all_inst_iter().flat_map(|inst| &inst.operands);
        let used: AHashSet<Word> = operands.filter_map(Operand::id_ref_any).collect();
        let is_used = |inst: &Instruction| inst.result_id.is_some_and(|id| used.contains(&id));
        for block in &mut function.blocks {
            block.instructions.retain(|inst| inst.class.opcode != Op::Image || is_used(inst));
        }
    }
}
