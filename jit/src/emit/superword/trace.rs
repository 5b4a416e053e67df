//! One way through the functions of a fused kernel, written for several items at once.
//!
//! Branches that constants decide are followed, so loops over constants are written out. What is the same is written once, for all
//! items and all places. A branch that turns items away, and a clamp that changes nothing in the middle of a range, are taken for decided:
//! what has to hold for that is noted ([`Conditions`]), and asked before.

mod memory;
mod ways;
mod wide;
mod write;

use std::rc::Rc;

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Operand};
use rspirv::spirv::{BuiltIn, Op, SelectionControl, StorageClass, Word};

use self::ways::{computes, ends_at_once};
use super::conditions::Conditions;
use super::vectors::{Touch, Vectors};
use super::words::Polynomial;
use crate::emit::entry::Blocks;
use crate::emit::shared::Shared;
use crate::frontend::opcodes;

/// Most instructions that are written.
const MOST: usize = 4096;

/// Most instructions that are gone through: a loop may have many rounds and write nothing.
const MOST_STEPS: usize = 1 << 15;

/// Why there is no such way: nothing is lost but time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Other;

type Traced<T> = Result<T, Other>;

/// A value: one for all items, or one for each.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
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

    fn from(ids: Vec<Word>) -> Self {
        if ids.iter().all(|&id| id == ids[0]) { Self::One(ids[0]) } else { Self::Each(ids) }
    }
}

/// What is known of a value of the code that is written.
#[derive(Clone, Default)]
pub(super) struct Fact {
    pub(super) ty: Word,
    /// It is made of ids, arguments and constants, and can be computed before anything is asked.
    early: bool,
    /// It is made of ids of the invocation.
    varies: bool,
    pub(super) words: Option<Polynomial>,
    parts: Option<Vec<Word>>,
    pub(super) made: Option<(Op, Vec<Word>)>,
}

/// An instruction by its content.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    op: Op,
    ty: Word,
    operands: Vec<KeyOperand>,
    decorations: Vec<Vec<Operand>>,
}

#[derive(PartialEq, Eq, Hash)]
enum KeyOperand {
    Words(Polynomial),
    Other(Operand),
}

/// A pointer: the variable, and the way into it.
#[derive(Clone)]
struct Pointer {
    variable: Word,
    class: StorageClass,
    path: Vec<Value>,
}

/// A function that is gone through.
struct Frame {
    function: Rc<Function>,
    blocks: AHashMap<Word, usize>,
    values: AHashMap<Word, Value>,
    pointers: AHashMap<Word, Pointer>,
    /// Blocks that end in a branch of which a side is gone through.
    open: Vec<Word>,
}

/// How a way through blocks has ended.
enum Ended {
    /// Before the block where both sides of a branch meet, coming from this one.
    Meets(Word),
    Returned,
}

/// The ids of the items.
pub(super) struct Ids {
    pub(super) variables: AHashMap<Word, BuiltIn>,
    /// Number of the first item in the dimension in which items follow each other, its type's word; and a word of which it is so many
    /// times.
    pub(super) base: Option<(Word, u32)>,
}

/// A branch of which both sides may be taken.
struct Branch {
    condition: Value,
    yes: Word,
    no: Word,
}

pub(super) struct Tracer<'a> {
    pub(super) shared: &'a mut Shared,
    pub(super) blocks: Blocks,
    pub(super) conditions: Conditions,
    /// Decorations of what is written.
    pub(super) annotations: Vec<Instruction>,
    /// Loads of which another one has taken the place.
    pub(super) spared: usize,
    /// Clamps are taken to change nothing.
    clamps: bool,
    /// There were some for which that could be.
    pub(super) met_clamps: bool,
    items: usize,
    functions: AHashMap<Word, Rc<Function>>,
    frozen: AHashSet<Word>,
    decorations: AHashMap<Word, Vec<Vec<Operand>>>,
    ids: Ids,
    values_of_ids: AHashMap<BuiltIn, Vec<[Word; 3]>>,
    facts: AHashMap<Word, Fact>,
    /// What has been written, innermost branch last.
    known: Vec<AHashMap<Key, Word>>,
    memory: AHashMap<(Word, Vec<u32>), Value>,
    written: usize,
    steps: usize,
    /// Accesses to buffers so far.
    accesses: usize,
    /// What they touch, if it is not known yet which are to vectors.
    pub(super) touches: Vec<Touch>,
    vectors: Option<Rc<Vectors>>,
}

/// What a tracer starts with.
pub(super) struct Start {
    pub(super) functions: AHashMap<Word, Rc<Function>>,
    pub(super) frozen: AHashSet<Word>,
    pub(super) ids: Ids,
    pub(super) items: usize,
    pub(super) clamps: bool,
    pub(super) vectors: Option<Rc<Vectors>>,
}

impl<'a> Tracer<'a> {
    pub(super) fn new(shared: &'a mut Shared, label: Word, start: Start) -> Self {
        let Start { functions, frozen, ids, items, clamps, vectors } = start;
        let mut decorations: AHashMap<Word, Vec<Vec<Operand>>> = AHashMap::new();
        for inst in &shared.builder.module.annotations {
            if let (Op::Decorate, Some((Operand::IdRef(id), rest))) =
                (inst.class.opcode, inst.operands.split_first())
            {
                decorations.entry(*id).or_default().push(rest.to_vec());
            }
        }
        Self {
            shared,
            blocks: Blocks::at(label),
            conditions: Conditions::default(),
            annotations: Vec::new(),
            spared: 0,
            clamps,
            met_clamps: false,
            items,
            functions,
            frozen,
            decorations,
            ids,
            values_of_ids: AHashMap::new(),
            facts: AHashMap::new(),
            known: vec![AHashMap::new()],
            memory: AHashMap::new(),
            written: 0,
            steps: 0,
            accesses: 0,
            touches: Vec::new(),
            vectors,
        }
    }

    /// The values of an id built-in, item by item.
    pub(super) fn set_ids(&mut self, builtin: BuiltIn, values: Vec<[Word; 3]>) {
        self.values_of_ids.insert(builtin, values);
    }

    /// Goes through a function that has no parameters.
    pub(super) fn call(&mut self, function: Word) -> Traced<()> {
        let function = self.functions.get(&function).cloned().ok_or(Other)?;
        let labels = function.blocks.iter().enumerate();
        let blocks = labels.filter_map(|(at, block)| Some((block.label_id()?, at))).collect();
        let first = function.blocks.first().and_then(|block| block.label_id()).ok_or(Other)?;
        let (values, pointers) = (AHashMap::new(), AHashMap::new());
        let mut frame = Frame { function, blocks, values, pointers, open: Vec::new() };
        match self.run(&mut frame, (first, 0), None)? {
            Ended::Returned => Ok(()),
            Ended::Meets(_) => Err(Other),
        }
    }

    /// Goes on from a block, come to from another one, to the end of the function or to the block where sides meet.
    fn run(
        &mut self,
        frame: &mut Frame,
        (mut at, mut from): (Word, Word),
        stop: Option<Word>,
    ) -> Traced<Ended> {
        let function = frame.function.clone();
        loop {
            if Some(at) == stop {
                return Ok(Ended::Meets(from));
            }
            // In another round, where values are others: the sides do not meet in this one.
            if frame.open.contains(&at) && !mutant!(SidesMeetLater) {
                return Err(Other);
            }
            let block = &function.blocks[*frame.blocks.get(&at).ok_or(Other)?];
            let (last, body) = block.instructions.split_last().ok_or(Other)?;
            self.steps += block.instructions.len();
            if self.steps > MOST_STEPS {
                return Err(Other);
            }
            self.phis(frame, body, from)?;
            for inst in body.iter().filter(|inst| inst.class.opcode != Op::Phi) {
                self.instruction(frame, inst)?;
            }
            let target = |n: usize| last.operands.get(n).and_then(Operand::id_ref_any).ok_or(Other);
            match last.class.opcode {
                Op::Return => return Ok(Ended::Returned),
                Op::Branch => (from, at) = (at, target(0)?),
                Op::BranchConditional => {
                    let condition = self.value(frame, target(0)?)?;
                    let (yes, no) = (target(1)?, target(2)?);
                    let decided: Vec<Option<bool>> =
                        (0..self.items).map(|item| self.truth(condition.of(item))).collect();
                    if let Some(truth) = decided[0].filter(|_| decided.iter().all(|one| *one == decided[0])) {
                        (from, at) = (at, if truth { yes } else { no });
                        continue;
                    }
                    let merge = body.last().filter(|inst| inst.class.opcode == Op::SelectionMerge);
                    let meets = merge.and_then(|inst| inst.operands.first()?.id_ref_any());
                    let ends = [yes, no].map(|side| ends_at_once((&frame.function, &frame.blocks), side));
                    if ends[0] != ends[1] {
                        // Who is turned away has nothing left to do here.
                        for item in (0..self.items).filter(|_| !mutant!(NobodyIsTurnedAway)) {
                            self.assume(condition.of(item), ends[1])?;
                        }
                        (from, at) = (at, if ends[1] { yes } else { no });
                        continue;
                    }
                    let meets = meets.ok_or(Other)?;
                    (from, at) = self.sides(frame, at, &Branch { condition, yes, no }, meets)?;
                }
                _ => return Err(Other),
            }
        }
    }

    fn phis(&mut self, frame: &mut Frame, body: &[Instruction], from: Word) -> Traced<()> {
        let mut all = Vec::new();
        for phi in body.iter().take_while(|inst| inst.class.opcode == Op::Phi) {
            let Some(result) = phi.result_id else { return Err(Other) };
            // Sides have met here: it has its value.
            if from == 0 && frame.values.contains_key(&result) {
                continue;
            }
            let mut pairs = phi.operands.chunks(2);
            let found = pairs.find(|pair| pair.get(1).and_then(Operand::id_ref_any) == Some(from));
            let id = found.and_then(|pair| pair.first()?.id_ref_any()).ok_or(Other)?;
            let value = self.value(frame, id)?;
            all.push((result, value));
        }
        for (result, value) in all {
            frame.values.insert(result, value);
        }
        Ok(())
    }

    /// Goes through both sides of a branch: computes both, or leaves the branch where it is. Returns the block where they meet, whose
    /// phis have their values, and a block before it of which no phi knows.
    fn sides(&mut self, frame: &mut Frame, at: Word, branch: &Branch, meets: Word) -> Traced<(Word, Word)> {
        let Branch { ref condition, yes, no } = *branch;
        let all = (&*frame.function, &frame.blocks);
        let computes = computes(all, yes, meets) && computes(all, no, meets);
        let (mut labels, mut memories) = (Vec::new(), Vec::new());
        let [then, otherwise, end] = std::array::from_fn(|_| self.shared.builder.fresh());
        if !computes {
            let first = condition.of(0);
            for item in 1..self.items {
                let other = condition.of(item);
                if other != first {
                    let ty = self.shared.builder.bool();
                    let same = self.write(Op::LogicalEqual, ty, ids(&[other, first]), &[])?;
                    if !mutant!(SidesAgree) {
                        self.assume(same, true)?;
                    }
                }
            }
            // The conditions of what lies behind are asked before, and so is this one.
            if !self.fact(first).early {
                return Err(Other);
            }
            let merge = vec![Operand::IdRef(end), Operand::SelectionControl(SelectionControl::NONE)];
            self.blocks.code.effect(Op::SelectionMerge, merge);
            self.blocks.code.effect(Op::BranchConditional, ids(&[first, then, otherwise]));
        }
        for (side, truth, label) in [(yes, true, then), (no, false, otherwise)] {
            let before = self.memory.clone();
            if !computes {
                self.blocks.next(label);
                self.conditions.enter(condition.of(0), truth);
            }
            self.known.push(AHashMap::new());
            frame.open.push(at);
            let ended = self.run(frame, (side, at), Some(meets));
            frame.open.pop();
            let written = self.known.pop().unwrap_or_default();
            if computes && let Some(known) = self.known.last_mut() {
                known.extend(written);
            }
            if !computes {
                self.conditions.leave();
            }
            let Ended::Meets(from) = ended? else { return Err(Other) };
            labels.push((from, self.blocks.label()));
            memories.push(std::mem::replace(&mut self.memory, before));
            if !computes {
                self.blocks.code.effect(Op::Branch, ids(&[end]));
            }
        }
        if !computes {
            self.blocks.next(end);
        }
        let function = frame.function.clone();
        let block = &function.blocks[*frame.blocks.get(&meets).ok_or(Other)?];
        let mut chosen = Vec::new();
        for phi in block.instructions.iter().take_while(|inst| inst.class.opcode == Op::Phi) {
            let (Some(result), Some(ty)) = (phi.result_id, phi.result_type) else { return Err(Other) };
            let mut sides = Vec::new();
            for &(from, _) in &labels {
                let mut pairs = phi.operands.chunks(2);
                let pair = pairs.find(|pair| pair.get(1).and_then(Operand::id_ref_any) == Some(from));
                let id = pair.and_then(|pair| pair.first()?.id_ref_any()).ok_or(Other)?;
                sides.push(self.value(frame, id)?);
            }
            chosen.push((result, ty, sides));
        }
        let mut all = Vec::new();
        for (result, ty, sides) in &chosen {
            let value = self.choose(condition, *ty, sides, &labels, computes)?;
            all.push((*result, value));
        }
        frame.values.extend(all);
        self.merge_memory(memories, condition, &labels, computes)?;
        // No phi names it, so their values stay.
        Ok((0, meets))
    }

    /// One of two values by a condition.
    fn choose(
        &mut self,
        condition: &Value,
        ty: Word,
        sides: &[Value],
        labels: &[(Word, Word)],
        computes: bool,
    ) -> Traced<Value> {
        let mut all = Vec::with_capacity(self.items);
        for item in 0..self.items {
            let (yes, no) = (sides[0].of(item), sides[1].of(item));
            all.push(if yes == no {
                yes
            } else if computes {
                self.select(condition.of(item), ty, yes, no)?
            } else {
                let id = self.shared.builder.fresh();
                let operands = ids(&[yes, labels[0].1, no, labels[1].1]);
                let place = self.blocks.code.0.iter().take_while(|inst| inst.class.opcode == Op::Phi).count();
                self.blocks.code.0.insert(place, Instruction::new(Op::Phi, Some(ty), Some(id), operands));
                let varies = self.fact(yes).varies || self.fact(no).varies;
                self.facts.insert(id, Fact { ty, varies, words: self.opaque(id, ty), ..Fact::default() });
                id
            });
        }
        Ok(Value::from(all))
    }

    fn select(&mut self, condition: Word, ty: Word, yes: Word, no: Word) -> Traced<Word> {
        if ty == self.shared.builder.bool() {
            let negation = |of: Word, made: &Option<(Op, Vec<Word>)>| matches!(made, Some((Op::LogicalNot, inner)) if inner[0] == of);
            let is_negation =
                negation(no, &self.fact(condition).made) || negation(condition, &self.fact(no).made);
            // `!a ? b : a` is `a || b`, `a ? b : a` is `a && b`.
            if is_negation {
                return self.write(Op::LogicalOr, ty, ids(&[no, yes]), &[]);
            }
            if no == condition {
                return self.write(Op::LogicalAnd, ty, ids(&[condition, yes]), &[]);
            }
        }
        self.write(Op::Select, ty, ids(&[condition, yes, no]), &[])
    }

    /// What variables hold where two sides have met.
    fn merge_memory(
        &mut self,
        mut memories: Vec<AHashMap<(Word, Vec<u32>), Value>>,
        condition: &Value,
        labels: &[(Word, Word)],
        computes: bool,
    ) -> Traced<()> {
        let (Some(no), Some(yes)) = (memories.pop(), memories.pop()) else { return Err(Other) };
        let mut places: Vec<_> = yes.keys().filter(|place| no.contains_key(*place)).cloned().collect();
        places.sort_unstable();
        self.memory.clear();
        for place in places {
            let (a, b) = (yes[&place].clone(), no[&place].clone());
            let value = if a == b {
                a
            } else {
                let ty = self.fact(a.of(0)).ty;
                self.choose(condition, ty, &[a, b], labels, computes)?
            };
            self.memory.insert(place, value);
        }
        Ok(())
    }

    fn value(&mut self, frame: &Frame, id: Word) -> Traced<Value> {
        match frame.values.get(&id) {
            Some(value) => Ok(value.clone()),
            None if self.shared.builder.definitions.contains_key(&id) => Ok(Value::One(id)),
            None => Err(Other),
        }
    }

    /// What is known of a word of the new code, or of a global.
    pub(super) fn fact(&mut self, id: Word) -> Fact {
        if let Some(fact) = self.facts.get(&id) {
            return fact.clone();
        }
        let inst = self.shared.builder.definitions.get(&id).cloned();
        let Some((ty, inst)) = inst.and_then(|inst| Some((inst.result_type?, inst))) else {
            return Fact::default();
        };
        let words = match (inst.class.opcode, inst.operands.first()) {
            (Op::Constant, Some(Operand::LiteralBit32(value))) if self.is_word(ty) => {
                Some(Polynomial::constant(*value))
            }
            (Op::ConstantNull, _) if self.is_word(ty) => Some(Polynomial::constant(0)),
            _ => self.opaque(id, ty),
        };
        let parts = match inst.class.opcode {
            Op::ConstantComposite => inst.operands.iter().map(Operand::id_ref_any).collect(),
            _ => None,
        };
        let fact = Fact { ty, early: true, words, parts, ..Fact::default() };
        self.facts.insert(id, fact.clone());
        fact
    }

    pub(super) fn varies(&mut self, id: Word) -> bool {
        self.fact(id).varies
    }

    fn opaque(&self, id: Word, ty: Word) -> Option<Polynomial> {
        self.is_word(ty).then(|| Polynomial::word(id))
    }

    /// Whether a type is an integer of 32 bits.
    fn is_word(&self, ty: Word) -> bool {
        let inst = self.shared.builder.definitions.get(&ty);
        inst.is_some_and(|inst| {
            inst.class.opcode == Op::TypeInt && inst.operands.first() == Some(&Operand::LiteralBit32(32))
        })
    }

    /// What a condition is, if it is known.
    fn truth(&mut self, id: Word) -> Option<bool> {
        match self.shared.builder.definitions.get(&id)?.class.opcode {
            Op::ConstantTrue => Some(true),
            Op::ConstantFalse => Some(false),
            _ => None,
        }
    }

    fn number(&mut self, id: Word) -> Option<u32> {
        self.fact(id).words?.as_constant()
    }

    /// The constant of an integer type.
    fn constant(&mut self, ty: Word, value: u32) -> Word {
        self.shared.builder.global(Op::Constant, Some(ty), vec![Operand::LiteralBit32(value)], Vec::new())
    }

    fn each(&mut self, value: &Value, mut of: impl FnMut(&mut Self, Word) -> Traced<Word>) -> Traced<Value> {
        Ok(match value {
            Value::One(id) => Value::One(of(self, *id)?),
            Value::Each(all) => Value::from(all.iter().map(|&id| of(self, id)).collect::<Traced<_>>()?),
        })
    }

    fn instruction(&mut self, frame: &mut Frame, inst: &Instruction) -> Traced<()> {
        let first = inst.operands.first().and_then(Operand::id_ref_any);
        let result = inst.result_id.ok_or(Other);
        match inst.class.opcode {
            Op::SelectionMerge | Op::LoopMerge => Ok(()),
            Op::Variable if inst.operands.len() == 1 => {
                let class = StorageClass::Function;
                frame.pointers.insert(result?, Pointer { variable: result?, class, path: Vec::new() });
                Ok(())
            }
            Op::AccessChain | Op::InBoundsAccessChain => {
                let mut pointer = self.pointer(frame, first.ok_or(Other)?, inst.result_type)?;
                for index in &inst.operands[1..] {
                    let index = self.value(frame, index.id_ref_any().ok_or(Other)?)?;
                    pointer.path.push(index);
                }
                frame.pointers.insert(result?, pointer);
                Ok(())
            }
            Op::CopyObject => {
                let id = first.ok_or(Other)?;
                if let Some(pointer) = frame.pointers.get(&id).cloned() {
                    frame.pointers.insert(result?, pointer);
                } else {
                    let value = self.value(frame, id)?;
                    frame.values.insert(result?, value);
                }
                Ok(())
            }
            Op::Load => {
                let ty = inst.result_type.ok_or(Other)?;
                let pointer = self.pointer(frame, first.ok_or(Other)?, None)?;
                let value = self.load(inst, &pointer, ty)?;
                frame.values.insert(result?, value);
                Ok(())
            }
            Op::Store => {
                let pointer = self.pointer(frame, first.ok_or(Other)?, None)?;
                let value = inst.operands.get(1).and_then(Operand::id_ref_any).ok_or(Other)?;
                let value = self.value(frame, value)?;
                self.store(inst, &pointer, value)
            }
            Op::ArrayLength => {
                let ty = inst.result_type.ok_or(Other)?;
                let id = self.write(Op::ArrayLength, ty, inst.operands.clone(), &[])?;
                frame.values.insert(result?, Value::One(id));
                Ok(())
            }
            Op::FunctionCall if inst.operands.len() == 1 => self.call(first.ok_or(Other)?),
            Op::Undef => Err(Other),
            _ if opcodes::is_pure(inst) => self.pure(frame, inst),
            _ => Err(Other),
        }
    }
}

pub(super) fn ids(all: &[Word]) -> Vec<Operand> {
    all.iter().copied().map(Operand::IdRef).collect()
}
