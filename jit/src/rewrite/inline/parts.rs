//! Elements that are vectors to one kernel and scalars, or shorter vectors, to the other; and what elements ask of the module.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Capability, Op, Word};

use super::{Copy, width};
use crate::frontend::types::Type;
use crate::kernel::NormalKernel;
use crate::rewrite::definition::{Definition, Line};
use crate::rewrite::writer::Result;

/// How an element that is loaded is made of those that are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parts {
    /// It is one stored element.
    Whole,
    /// It consists of this many consecutive stored elements.
    Several(u32),
    /// It is a part of a stored element, which consists of this many loaded ones.
    PartOf(u32),
}

/// How elements of type `own` are made of elements of type `stored`, if all are of scalars of one width; else why not.
///
/// # Errors
/// A reason that can be shown to users.
pub(in crate::rewrite) fn parts(
    consumer: &NormalKernel,
    own: Word,
    producer: &NormalKernel,
    stored: Word,
) -> Result<Parts> {
    let ((own_scalar, own), (scalar, stored)) = (scalars(consumer, own), scalars(producer, stored));
    let (own_width, width) = (width(consumer, own_scalar), width(producer, scalar));
    if own_width != width || width.is_none() {
        return Err("elements of another type");
    }
    if own == stored {
        return Ok(Parts::Whole);
    }
    let takes = [capability_of(consumer, own_scalar), capability_of(producer, scalar)];
    if takes.into_iter().flatten().any(|takes| ![consumer, producer].iter().any(|one| declares(one, takes))) {
        return Err("parts of vectors of 8 or 16 bits, which the kernels declare for storage alone");
    }
    if own % stored == 0 {
        Ok(Parts::Several(own / stored))
    } else if stored % own == 0 {
        Ok(Parts::PartOf(stored / own))
    } else {
        Err("elements of another type")
    }
}

/// The capability that a module takes to extract a scalar from a vector, or to make one of scalars, if not every module may.
fn capability_of(normal: &NormalKernel, scalar: Word) -> Option<Capability> {
    match normal.types.get(scalar) {
        Type::Int { width: 8, .. } => Some(Capability::Int8),
        Type::Int { width: 16, .. } => Some(Capability::Int16),
        Type::Float { width: 16 } => Some(Capability::Float16),
        _ => None,
    }
}

pub(super) fn declares(normal: &NormalKernel, capability: Capability) -> bool {
    let operand = Operand::Capability(capability);
    normal.module.capabilities.iter().any(|inst| inst.operands.contains(&operand))
}

/// The scalar that a type is made of, and how many of it.
pub(super) fn scalars(normal: &NormalKernel, ty: Word) -> (Word, u32) {
    match normal.types.get(ty) {
        Type::Vector { element, count } => (*element, (*count).max(1)),
        _ => (ty, 1),
    }
}

impl Copy<'_> {
    /// Has the module compute with halves if the definition has any, for there to be words of them that can be hidden.
    pub(super) fn take_halves(&mut self, definition: &Definition) {
        let body = &self.imported.module.functions[0].blocks;
        let types = definition.lines.iter().filter_map(|line| {
            let (Line::Inst(block, at)
            | Line::Load { at: (block, at), .. }
            | Line::Choice { phi: (block, at), .. }) = *line;
            body[block].instructions[at].result_type
        });
        let is_half = |ty: Word| {
            matches!(self.imported.types.get(scalars(self.imported, ty).0), Type::Float { width: 16 })
        };
        if self.zero.is_some() && types.chain([definition.ty]).any(is_half) {
            self.writer.declare(Capability::Float16);
        }
    }

    /// Element `own` of the consumer, of type `ty`, made of `count` elements of the producer.
    pub(super) fn several(
        &mut self,
        code: &mut Vec<Instruction>,
        own: Word,
        count: u32,
        ty: Word,
    ) -> Result<Word> {
        let Type::Vector { element: scalar, count: all } = *self.own.types.get(ty) else {
            return Err("elements of another type");
        };
        let part = match all / count {
            1 => scalar,
            shorter => self.writer.vector(scalar, shorter),
        };
        let times = self.writer.constant(count);
        let first = self.writer.math(code, Op::IMul, own, times);
        let first = self.shifted(code, first);
        let mut parts = Vec::new();
        for part_number in 0..count {
            let number = self.writer.constant(if mutant!(PartsAreTheFirst) { 0 } else { part_number });
            let number = self.writer.math(code, Op::IAdd, first, number);
            let (value, of) = self.element(code, number, part_number)?;
            parts.push(self.writer.cast(code, value, of, part));
        }
        Ok(self.writer.apply(code, Op::CompositeConstruct, ty, &parts))
    }

    /// Element `own` of the consumer, of type `ty`: a part of an element of the producer, which consists of `count` such parts.
    pub(super) fn part_of(
        &mut self,
        code: &mut Vec<Instruction>,
        own: Word,
        count: u32,
        ty: Word,
    ) -> Result<Word> {
        let (scalar, all) = self.import.vector_of(self.defined()?.ty).ok_or("elements of another type")?;
        let scalar = self.import.global(&mut self.writer, scalar)?;
        let shorter = all / count;
        let number = self.shifted(code, own);
        let count = self.writer.constant(count);
        let at = self.writer.math(code, Op::UDiv, number, count);
        let mut first = self.writer.math(code, Op::UMod, number, count);
        if shorter > 1 {
            let times = self.writer.constant(shorter);
            first = self.writer.math(code, Op::IMul, first, times);
        }
        if mutant!(PartsAreTheFirst) {
            first = self.writer.constant(0);
        }
        let (value, _) = self.element(code, at, 0)?;
        let mut parts = Vec::new();
        for number in 0..shorter {
            let mut at = first;
            if number > 0 {
                let number = self.writer.constant(number);
                at = self.writer.math(code, Op::IAdd, first, number);
            }
            parts.push(self.writer.apply(code, Op::VectorExtractDynamic, scalar, &[value, at]));
        }
        if let [part] = parts[..] {
            return Ok(self.writer.cast(code, part, scalar, ty));
        }
        let vector = self.writer.vector(scalar, shorter);
        let all = self.writer.apply(code, Op::CompositeConstruct, vector, &parts);
        Ok(self.writer.cast(code, all, vector, ty))
    }
}
