//! One member's straight line, written for several items side by side.

mod memory;
mod seam;

use ahash::AHashMap;
use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Op, Word};

use super::JitError;
use super::builder::{Builder, Code};
use super::link::Linked;
use super::shared::Shared;
use crate::analysis::if_conversion::{Choice, StraightLine};
use crate::kernel::{NormalKernel, Specialized};
use crate::plan::recipe::{Member, Recipe};

/// A value of the member: one for all items, or one for each.
#[derive(Clone)]
enum Value {
    One(Word),
    Each(Vec<Word>),
}

impl Value {
    fn of(&self, item: usize) -> Word {
        match self {
            Self::One(id) => *id,
            Self::Each(ids) => ids[item],
        }
    }
}

/// A comparison that an item must pass.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    /// The item stands on its left.
    pub(super) op: Op,
    pub(super) limit: Word,
    /// What must come out.
    pub(super) holds: bool,
}

/// What one member leaves for the next.
#[derive(Default)]
pub(super) struct Passed {
    /// Values of internalized elements, by buffer and slot, with their type.
    internal: AHashMap<(u16, u32), (Value, Word)>,
    /// Push constants by slot.
    push: AHashMap<u16, Word>,
    /// Elements of all items as they are in memory, by the variable they are seen through, with its binding. Only of
    /// bindings nothing else overlaps.
    elements: AHashMap<Word, (u16, Value)>,
}

impl Passed {
    /// A push constant of type `ty`, loaded once.
    pub(super) fn push(&mut self, shared: &mut Shared, code: &mut Code, slot: u16, ty: Word) -> Word {
        if let Some(&id) = self.push.get(&slot) {
            return id;
        }
        let Shared { builder, push, .. } = shared;
        let pointer = push.pointer(builder, code, slot, ty, &[], ty);
        let id = code.value(builder, Op::Load, ty, vec![Operand::IdRef(pointer)]);
        self.push.insert(slot, id);
        id
    }
}

/// Writes the straight line of one member.
pub(super) struct Vectorizer<'a> {
    recipe: &'a Recipe,
    member: &'a Member,
    kernel: &'a Specialized,
    normal: &'a NormalKernel,
    straight_line: &'a StraightLine,
    linked: &'a Linked,
    items: &'a [Word],
    values: AHashMap<Word, Value>,
    chains: AHashMap<Word, (Word, Vec<Word>)>,
    definitions: AHashMap<Word, &'a Instruction>,
    /// Accesses by block and position: their number, and that among those of their binding.
    accesses: AHashMap<(usize, usize), (usize, usize)>,
    /// Numbers of length queries among those of their binding, by result.
    lengths: AHashMap<Word, usize>,
    decorations: AHashMap<Word, Vec<&'a [Operand]>>,
}

impl<'a> Vectorizer<'a> {
    pub(super) fn new(
        recipe: &'a Recipe,
        member: &'a Member,
        kernel: &'a Specialized,
        linked: &'a Linked,
        items: &'a [Word],
    ) -> Result<Self, JitError> {
        let fault = |detail: String| JitError::new("vectorize", format!("kernel {}: {detail}", kernel.name));
        let normal = kernel.normal.as_ref().map_err(|reason| fault(reason.to_string()))?;
        let straight_line = normal.straight_line.as_ref().ok_or_else(|| fault("no straight line".into()))?;
        let accesses = normal.analysis.numbered();
        let blocks = normal.module.functions.first().map_or(&[][..], |f| f.blocks.as_slice());
        let body = blocks.iter().flat_map(|block| &block.instructions);
        let definitions: AHashMap<Word, &Instruction> =
            body.filter_map(|inst| Some((inst.result_id?, inst))).collect();
        let mut decorations: AHashMap<Word, Vec<&[Operand]>> = AHashMap::new();
        for inst in &normal.module.annotations {
            if let Some((Operand::IdRef(id), rest)) = inst.operands.split_first()
                && inst.class.opcode == Op::Decorate
                && definitions.contains_key(id)
            {
                decorations.entry(*id).or_default().push(rest);
            }
        }
        Ok(Self {
            recipe,
            member,
            kernel,
            normal,
            straight_line,
            linked,
            items,
            values: AHashMap::new(),
            chains: AHashMap::new(),
            definitions,
            accesses,
            lengths: normal.analysis.numbered_lengths(),
            decorations,
        })
    }

    fn error(&self, detail: impl Into<String>) -> JitError {
        JitError::new("vectorize", format!("kernel {}: {}", self.kernel.name, detail.into()))
    }

    /// A type or other global of the member.
    fn global(&self, id: Word) -> Result<Word, JitError> {
        let known =
            (!self.definitions.contains_key(&id)).then(|| self.linked.map.get(&id).copied()).flatten();
        known.ok_or_else(|| self.error(format!("id {id} is used before it is defined")))
    }

    fn value(&self, id: Word) -> Result<Value, JitError> {
        match self.values.get(&id) {
            Some(value) => Ok(value.clone()),
            None => self.global(id).map(Value::One),
        }
    }

    fn operand(inst: &Instruction, n: usize) -> Option<Word> {
        inst.operands.get(n).and_then(Operand::id_ref_any)
    }

    /// Comparisons an item must pass.
    pub(super) fn limits(
        &mut self,
        shared: &mut Shared,
        code: &mut Code,
        passed: &mut Passed,
    ) -> Result<Vec<Limit>, JitError> {
        let mut all = Vec::new();
        for guard in &self.straight_line.guards {
            self.uniform(shared, code, passed, guard.limit)?;
            let limit = self.value(guard.limit)?.of(0);
            // The comparison itself, whatever is made of it afterwards.
            let less =
                matches!(guard.op, Op::ULessThan | Op::ULessThanEqual | Op::SLessThan | Op::SLessThanEqual);
            let op = if guard.swapped { mirrored(guard.op) } else { guard.op };
            all.push(Limit { op, limit, holds: less != guard.swapped });
            let truth = shared.builder.truth(guard.in_range);
            self.values.insert(guard.condition, Value::One(truth));
        }
        Ok(all)
    }

    /// Writes what a value made of arguments consists of.
    fn uniform(
        &mut self,
        shared: &mut Shared,
        code: &mut Code,
        passed: &mut Passed,
        id: Word,
    ) -> Result<(), JitError> {
        let Some(&inst) = self.definitions.get(&id) else { return Ok(()) };
        if self.values.contains_key(&id) || self.chains.contains_key(&id) {
            return Ok(());
        }
        for operand in inst.operands.iter().filter_map(Operand::id_ref_any) {
            self.uniform(shared, code, passed, operand)?;
        }
        self.instruction(shared, code, passed, inst, None)
    }

    /// Writes the line.
    pub(super) fn write(
        &mut self,
        shared: &mut Shared,
        code: &mut Code,
        passed: &mut Passed,
    ) -> Result<(), JitError> {
        let Some(function) = self.normal.module.functions.first() else {
            return Err(self.error("no function"));
        };
        let mut came_from = None;
        for &number in &self.straight_line.blocks {
            let block = &function.blocks[number];
            let choice = self.straight_line.choices.iter().find(|c| Some(c.merge) == block.label_id());
            for (position, inst) in block.instructions.iter().enumerate() {
                match (inst.class.opcode, choice) {
                    (Op::Phi, Some(choice)) => self.choose(shared, code, inst, *choice)?,
                    (Op::Phi, None) => self.phi(inst, came_from)?,
                    _ => self.instruction(shared, code, passed, inst, Some((number, position)))?,
                }
            }
            came_from = block.label_id();
        }
        Ok(())
    }

    /// Where control came from is known, unless two sides meet.
    fn phi(&mut self, inst: &Instruction, came_from: Option<Word>) -> Result<(), JitError> {
        let mut pairs = inst.operands.chunks(2);
        // With one edge there is nothing to choose, and the block before it on the line may be another side's.
        let only = inst.operands.len() == 2;
        let pair = pairs.find(|pair| only || pair.get(1).and_then(Operand::id_ref_any) == came_from);
        let id = pair.and_then(|pair| pair.first()?.id_ref_any());
        let id = id.ok_or_else(|| self.error("phi without the edge that is taken"))?;
        let value = self.value(id)?;
        let result = inst.result_id.ok_or_else(|| self.error("phi without a result"))?;
        self.values.insert(result, value);
        Ok(())
    }

    /// Both sides have been computed: takes one by the condition.
    fn choose(
        &mut self,
        shared: &mut Shared,
        code: &mut Code,
        inst: &Instruction,
        choice: Choice,
    ) -> Result<(), JitError> {
        let mut sides = [None, None];
        for pair in inst.operands.chunks(2) {
            let is_true = pair.get(1).and_then(Operand::id_ref_any) == Some(choice.on_true);
            sides[usize::from(!is_true)] = pair.first().and_then(Operand::id_ref_any);
        }
        let ([Some(yes), Some(no)], Some(result), Some(ty)) = (sides, inst.result_id, inst.result_type)
        else {
            return Err(self.error("phi without two sides"));
        };
        let operands = [choice.condition, yes, no].map(Operand::IdRef).to_vec();
        self.pure(shared, code, &Instruction::new(Op::Select, Some(ty), Some(result), operands))
    }

    fn instruction(
        &mut self,
        shared: &mut Shared,
        code: &mut Code,
        passed: &mut Passed,
        inst: &Instruction,
        at: Option<(usize, usize)>,
    ) -> Result<(), JitError> {
        if inst.result_id.is_some_and(|id| self.values.contains_key(&id)) {
            return Ok(());
        }
        let result =
            |this: &Self| inst.result_id.ok_or_else(|| this.error("an instruction without a result"));
        match inst.class.opcode {
            Op::Branch | Op::BranchConditional | Op::SelectionMerge | Op::Return => Ok(()),
            Op::AccessChain | Op::InBoundsAccessChain => {
                let base = Self::operand(inst, 0).ok_or_else(|| self.error("chain without a base"))?;
                let (base, mut indices) = self.chains.get(&base).cloned().unwrap_or((base, Vec::new()));
                indices.extend(inst.operands[1..].iter().filter_map(Operand::id_ref_any));
                let result = result(self)?;
                self.chains.insert(result, (base, indices));
                Ok(())
            }
            Op::CopyObject => {
                let id = Self::operand(inst, 0).ok_or_else(|| self.error("copy of nothing"))?;
                if let Some(chain) = self.chains.get(&id).cloned() {
                    let result = result(self)?;
                    self.chains.insert(result, chain);
                } else if self.linked.roles.contains_key(&id) {
                    let result = result(self)?;
                    self.chains.insert(result, (id, Vec::new()));
                } else {
                    let value = self.value(id)?;
                    let result = result(self)?;
                    self.values.insert(result, value);
                }
                Ok(())
            }
            Op::Load => {
                let value = self.load(shared, code, passed, inst, at)?;
                let result = result(self)?;
                self.values.insert(result, value);
                Ok(())
            }
            Op::Store => self.store(shared, code, passed, inst, at),
            Op::ArrayLength => {
                let value = self.length(shared, code, passed, inst)?;
                let result = result(self)?;
                self.values.insert(result, Value::One(value));
                Ok(())
            }
            _ => self.pure(shared, code, inst),
        }
    }

    fn pure(&mut self, shared: &mut Shared, code: &mut Code, inst: &Instruction) -> Result<(), JitError> {
        let ty = inst.result_type.map(|t| self.global(t)).transpose()?;
        let (Some(ty), Some(result)) = (ty, inst.result_id) else {
            return Err(self.error(format!("{:?} on a straight line", inst.class.opcode)));
        };
        let mut each = false;
        let mut operands: Vec<Result<Value, Operand>> = Vec::with_capacity(inst.operands.len());
        for operand in &inst.operands {
            operands.push(match operand {
                Operand::IdRef(id) => {
                    let value = self.value(*id)?;
                    each |= matches!(value, Value::Each(_));
                    Ok(value)
                }
                other => Err(other.clone()),
            });
        }
        let write = |item: usize, builder: &mut Builder, code: &mut Code| {
            let operands = operands.iter().map(|operand| match operand {
                Ok(value) => Operand::IdRef(value.of(item)),
                Err(literal) => literal.clone(),
            });
            code.value(builder, inst.class.opcode, ty, operands.collect())
        };
        let value = if each {
            let ids = (0..self.items.len()).map(|item| write(item, &mut shared.builder, code)).collect();
            Value::Each(ids)
        } else {
            Value::One(write(0, &mut shared.builder, code))
        };
        self.decorate(&mut shared.builder, result, &value);
        self.values.insert(result, value);
        Ok(())
    }

    /// Gives the copies of an instruction its decorations.
    fn decorate(&self, builder: &mut Builder, old: Word, value: &Value) {
        let ids = match value {
            Value::One(id) => std::slice::from_ref(id),
            Value::Each(ids) => ids,
        };
        for rest in self.decorations.get(&old).into_iter().flatten() {
            for &id in ids {
                let operands = [Operand::IdRef(id)].into_iter().chain(rest.iter().cloned()).collect();
                builder.module.annotations.push(Instruction::new(Op::Decorate, None, None, operands));
            }
        }
    }
}

/// Instructions of SPIR-V that compare an item with a limit, the item on the left.
fn mirrored(op: Op) -> Op {
    match op {
        Op::ULessThan => Op::UGreaterThan,
        Op::ULessThanEqual => Op::UGreaterThanEqual,
        Op::UGreaterThan => Op::ULessThan,
        Op::UGreaterThanEqual => Op::ULessThanEqual,
        Op::SLessThan => Op::SGreaterThan,
        Op::SLessThanEqual => Op::SGreaterThanEqual,
        Op::SGreaterThan => Op::SLessThan,
        Op::SGreaterThanEqual => Op::SLessThanEqual,
        other => other,
    }
}
