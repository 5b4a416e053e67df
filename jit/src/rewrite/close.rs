//! The closed form of a kernel: what is open of its floats is hidden in it ([`Open`]).
//!
//! A hidden value is `bits + zero`, where `zero` is a push constant behind the kernel's own that is zero in every call. The operation is part of the kernel, so it is
//! the same where the kernel runs alone, is fused, placed on other items, recomputed elsewhere, or unrolled.
//!
//! # Requires
//! - a kernel in normal form
//!
//! # Guarantees
//! - the bits of all values are what they were
//! - every choice among floats is one among closed floats, and every integer that becomes a float is hidden
//!
//! # Refuses
//! - push constants whose block is a buffer's as well

use ahash::AHashMap;
use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{Op, Word};

use super::writer::{Pushed, Result, Writer, words_at};
use crate::analysis::floats::{Open, OpenUse, Place};
use crate::ir::opcodes::make_volatile;
use crate::kernel::{NormalKernel, Specialized};

/// The closed form, as a module, and the first byte of the zero; `None` if nothing is open.
pub(super) fn close(kernel: &Specialized, normal: &NormalKernel) -> Result<Option<(Module, u32)>> {
    let open = normal.open();
    if open.is_empty() {
        return Ok(None);
    }
    let mut module = normal.module.clone();
    let [function] = module.functions.as_mut_slice() else { return Err("several functions") };
    let mut function = std::mem::take(function);
    let mut writer = Writer::new(module)?;
    let at = words_at(kernel);
    let zero = writer.push_words(at, 1)?[0];
    let types = function.all_inst_iter().filter_map(|inst| Some((inst.result_id?, inst.result_type?)));
    let types = types.collect();
    let zero = Closer::zero(&mut writer, zero);
    let mut closer = Closer { writer, types, zero: zero.1, start: zero.0, constants: AHashMap::new() };
    for &(block, position) in &open.volatile {
        make_volatile(&mut function.blocks[block].instructions[position].operands);
    }
    closer.uses(&mut function, &open)?;
    closer.results(&mut function, &open)?;
    closer.starts(&mut function, &open)?;
    let first = function.blocks.first_mut().ok_or("no body")?;
    let behind = first.instructions.iter().take_while(|inst| inst.class.opcode == Op::Variable).count();
    first.instructions.splice(behind..behind, closer.start);
    Ok(Some((closer.writer.finish(function), at)))
}

struct Closer {
    writer: Writer,
    /// Types of the body's values.
    types: AHashMap<Word, Word>,
    zero: Word,
    /// What stands where the kernel begins.
    start: Vec<Instruction>,
    /// Hidden forms of constants.
    constants: AHashMap<Word, Word>,
}

impl Closer {
    fn zero(writer: &mut Writer, zero: Pushed) -> (Vec<Instruction>, Word) {
        let mut start = Vec::new();
        let zero = writer.load(&mut start, zero);
        (start, zero)
    }

    fn type_of(&self, id: Word) -> Result<Word> {
        let global = || self.writer.definition(id).and_then(|inst| inst.result_type);
        self.types.get(&id).copied().or_else(global).ok_or("a value without a type")
    }

    /// Hides operands.
    fn uses(&mut self, function: &mut Function, open: &Open) -> Result<()> {
        let mut uses = open.uses.clone();
        // From the last on, so that positions stay what they are; what is put at the ends of blocks goes before all.
        uses.sort_by_key(|one| std::cmp::Reverse((matches!(one.place, Place::End(_)), one.at, one.operand)));
        for OpenUse { at: (block, position), operand, place } in uses {
            let value = function.blocks[block].instructions[position].operands[operand].id_ref_any();
            let value = value.ok_or("an operand that is no value")?;
            let mut code = Vec::new();
            let hidden = match place {
                Place::Start => self.constant(value)?,
                Place::Before | Place::End(_) => {
                    let ty = self.type_of(value)?;
                    self.hide(&mut code, value, ty)?
                }
            };
            function.blocks[block].instructions[position].operands[operand] = Operand::IdRef(hidden);
            match place {
                Place::Start => {}
                Place::Before => {
                    function.blocks[block].instructions.splice(position..position, code);
                }
                Place::End(block) => {
                    let body = &mut function.blocks[block].instructions;
                    let is_merge =
                        |inst: &Instruction| matches!(inst.class.opcode, Op::SelectionMerge | Op::LoopMerge);
                    let merges = body.iter().rev().nth(1).is_some_and(is_merge);
                    let end = body.len().saturating_sub(1 + usize::from(merges));
                    body.splice(end..end, code);
                }
            }
        }
        Ok(())
    }

    /// Gives results that are hidden another name, and their hidden forms the name; that of a phi stands behind all phis.
    fn results(&mut self, function: &mut Function, open: &Open) -> Result<()> {
        if open.results.is_empty() {
            return Ok(());
        }
        for block in &mut function.blocks {
            let (mut all, mut behind) = (Vec::with_capacity(block.instructions.len()), Vec::new());
            for mut inst in std::mem::take(&mut block.instructions) {
                let is_phi = inst.class.opcode == Op::Phi;
                if !is_phi {
                    all.append(&mut behind);
                }
                let result = inst.result_id.filter(|id| open.results.contains(id)).zip(inst.result_type);
                let Some((id, ty)) = result else {
                    all.push(inst);
                    continue;
                };
                let seen = self.writer.fresh();
                self.writer.decorate_as(id, seen);
                inst.result_id = Some(seen);
                all.push(inst);
                let code = if is_phi { &mut behind } else { &mut all };
                let hidden = self.hide(code, seen, ty)?;
                // The last instruction is what makes it.
                let last = code.iter_mut().rev().find(|inst| inst.result_id == Some(hidden));
                last.ok_or("nothing hidden")?.result_id = Some(id);
            }
            all.append(&mut behind);
            block.instructions = all;
        }
        Ok(())
    }

    /// Has local variables begin with hidden constants.
    fn starts(&mut self, function: &mut Function, open: &Open) -> Result<()> {
        let first = function.blocks.first_mut().ok_or("no body")?;
        for &variable in &open.starts {
            let found = first.instructions.iter_mut().find(|inst| inst.result_id == Some(variable));
            let found = found.ok_or("no variable")?;
            let value = found.operands.pop().and_then(|value| value.id_ref_any()).ok_or("no value")?;
            let hidden = self.constant(value)?;
            self.start.push(self.writer.effect(Op::Store, [variable, hidden].map(Operand::IdRef).to_vec()));
        }
        Ok(())
    }

    /// The hidden form of a constant, made once.
    fn constant(&mut self, value: Word) -> Result<Word> {
        if let Some(&known) = self.constants.get(&value) {
            return Ok(known);
        }
        let ty = self.type_of(value)?;
        let mut code = std::mem::take(&mut self.start);
        let is_null = self.writer.definition(value).is_some_and(|inst| inst.class.opcode == Op::ConstantNull);
        let hidden = match is_null {
            true => self.null(&mut code, ty),
            false => self.hide(&mut code, value, ty),
        };
        self.start = code;
        self.constants.insert(value, hidden?);
        hidden
    }

    /// A value of zeros of a type, in which all elements of an array or a matrix share one hidden zero.
    fn null(&mut self, code: &mut Vec<Instruction>, ty: Word) -> Result<Word> {
        let inst = self.writer.definition(ty).ok_or("no type")?;
        let count = self.writer.count(inst);
        let (Op::TypeArray | Op::TypeMatrix, Some(count)) = (inst.class.opcode, count) else {
            let null = self.writer.global(Op::ConstantNull, Some(ty), Vec::new());
            return self.hide(code, null, ty);
        };
        let part = inst.operands.first().and_then(Operand::id_ref_any).ok_or("no part")?;
        let part = self.null(code, part)?;
        Ok(self.writer.apply(code, Op::CompositeConstruct, ty, &vec![part; count as usize]))
    }

    /// A value whose floats the driver's compiler cannot see through, or its integers if it holds none. What makes it is the last instruction.
    fn hide(&mut self, code: &mut Vec<Instruction>, value: Word, ty: Word) -> Result<Word> {
        if let Some(words) = self.writer.words_of(ty) {
            return Ok(self.words(code, value, ty, words));
        }
        let inst = self.writer.definition(ty).ok_or("no type")?.clone();
        let literal = |at: usize| match inst.operands.get(at) {
            Some(Operand::LiteralBit32(value)) => Some(*value),
            _ => None,
        };
        match inst.class.opcode {
            // Two of them make a word.
            Op::TypeFloat => {
                let pair = self.writer.vector(ty, 2);
                let both = self.writer.apply(code, Op::CompositeConstruct, pair, &[value; 2]);
                let both = self.words(code, both, pair, 1);
                Ok(self.writer.extract(code, ty, both, 0))
            }
            // A kernel that has them only in its buffers may convert them and nothing else.
            Op::TypeInt => {
                let convert = if literal(1) == Some(0) { Op::UConvert } else { Op::SConvert };
                let operands =
                    vec![Operand::LiteralBit32(32), Operand::LiteralBit32(literal(1).unwrap_or(0))];
                let word = self.writer.global(Op::TypeInt, None, operands);
                let wide = self.writer.apply(code, convert, word, &[value]);
                let hidden = self.words(code, wide, word, 1);
                Ok(self.writer.apply(code, convert, ty, &[hidden]))
            }
            Op::TypeVector | Op::TypeMatrix | Op::TypeArray | Op::TypeStruct => {
                let parts: Vec<Word> = match self.writer.count(&inst) {
                    Some(count) => {
                        let part = inst.operands.first().and_then(Operand::id_ref_any).ok_or("no part")?;
                        vec![part; count as usize]
                    }
                    None => inst.operands.iter().filter_map(Operand::id_ref_any).collect(),
                };
                let mut all = Vec::with_capacity(parts.len());
                for (number, part) in (0..).zip(parts) {
                    let mut one = self.writer.extract(code, part, value, number);
                    if self.writer.holds_floats(part) || inst.class.opcode == Op::TypeVector {
                        one = self.hide(code, one, part)?;
                    }
                    all.push(one);
                }
                Ok(self.writer.apply(code, Op::CompositeConstruct, ty, &all))
            }
            _ => Err("a value that has no words"),
        }
    }

    /// The words of a value, the zero added to each.
    fn words(&mut self, code: &mut Vec<Instruction>, value: Word, ty: Word, words: u32) -> Word {
        self.writer.plus(code, (value, ty), self.zero, words)
    }
}
