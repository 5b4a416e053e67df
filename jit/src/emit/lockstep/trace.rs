//! One way through the functions of a fused kernel, written for several items at once.
//!
//! Branches that constants decide are followed, so loops over constants are written out. What is the same is written once, for all
//! items and all places. A branch that turns items away, and a clamp that changes nothing in the middle of a range, are taken for decided:
//! what has to hold for that is noted ([`Conditions`]), and asked before.

use std::rc::Rc;

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Operand};
use rspirv::spirv::{BuiltIn, Op, SelectionControl, StorageClass, Word};

use super::conditions::{Conditions, Order};
use super::words::Polynomial;
use crate::emit::entry::Blocks;
use crate::emit::link::Shared;
use crate::frontend::opcodes;

/// Most instructions that are written.
const MOST: usize = 4096;

/// Most instructions that are gone through: a loop may have many rounds and write nothing.
const MOST_STEPS: usize = 1 << 15;

/// Why there is no such way: nothing is lost but time.
#[derive(Debug)]
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
}

/// What a tracer starts with.
pub(super) struct Start {
    pub(super) functions: AHashMap<Word, Rc<Function>>,
    pub(super) frozen: AHashSet<Word>,
    pub(super) ids: Ids,
    pub(super) items: usize,
    pub(super) clamps: bool,
}

impl<'a> Tracer<'a> {
    pub(super) fn new(shared: &'a mut Shared, label: Word, start: Start) -> Self {
        let Start { functions, frozen, ids, items, clamps } = start;
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
        let mut frame = Frame { function, blocks, values, pointers };
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
                    let ends = [yes, no].map(|side| ends_at_once(frame, side));
                    if ends[0] != ends[1] {
                        // Who is turned away has nothing left to do here.
                        for item in (0..self.items).filter(|_| !mutant!(NobodyIsTurnedAway)) {
                            self.assume(condition.of(item), ends[1])?;
                        }
                        (from, at) = (at, if ends[1] { yes } else { no });
                        continue;
                    }
                    let meets = meets.ok_or(Other)?;
                    (from, at) = self.sides(frame, at, (&condition, yes, no), meets)?;
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
    fn sides(
        &mut self,
        frame: &mut Frame,
        at: Word,
        (condition, yes, no): (&Value, Word, Word),
        meets: Word,
    ) -> Traced<(Word, Word)> {
        let computes = computes(frame, yes, meets) && computes(frame, no, meets);
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
            let ended = self.run(frame, (side, at), Some(meets));
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
        let Some(inst) = self.shared.builder.definitions.get(&id).cloned() else { return Fact::default() };
        let ty = inst.result_type.unwrap_or(0);
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
        let result = inst.result_id.unwrap_or(0);
        match inst.class.opcode {
            Op::SelectionMerge | Op::LoopMerge => Ok(()),
            Op::Variable if inst.operands.len() == 1 => {
                let class = StorageClass::Function;
                frame.pointers.insert(result, Pointer { variable: result, class, path: Vec::new() });
                Ok(())
            }
            Op::AccessChain | Op::InBoundsAccessChain => {
                let mut pointer = self.pointer(frame, first.ok_or(Other)?, inst.result_type)?;
                for index in &inst.operands[1..] {
                    let index = self.value(frame, index.id_ref_any().ok_or(Other)?)?;
                    pointer.path.push(index);
                }
                frame.pointers.insert(result, pointer);
                Ok(())
            }
            Op::CopyObject => {
                let id = first.ok_or(Other)?;
                if let Some(pointer) = frame.pointers.get(&id).cloned() {
                    frame.pointers.insert(result, pointer);
                } else {
                    let value = self.value(frame, id)?;
                    frame.values.insert(result, value);
                }
                Ok(())
            }
            Op::Load => {
                let ty = inst.result_type.ok_or(Other)?;
                let pointer = self.pointer(frame, first.ok_or(Other)?, None)?;
                let value = self.load(inst, &pointer, ty)?;
                frame.values.insert(result, value);
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
                frame.values.insert(result, Value::One(id));
                Ok(())
            }
            Op::FunctionCall if inst.operands.len() == 1 => self.call(first.ok_or(Other)?),
            Op::Undef => Err(Other),
            op if opcodes::has(op, opcodes::PURE) => self.pure(frame, inst),
            _ => Err(Other),
        }
    }

    fn pointer(&mut self, frame: &Frame, id: Word, ty: Option<Word>) -> Traced<Pointer> {
        if let Some(pointer) = frame.pointers.get(&id) {
            return Ok(pointer.clone());
        }
        // What is no variable yet is the one of the arguments.
        let definitions = &self.shared.builder.definitions;
        let own = definitions.get(&id).and_then(|inst| inst.operands.first().cloned());
        let class = own.or_else(|| definitions.get(&ty?)?.operands.first().cloned());
        match class {
            Some(Operand::StorageClass(class)) => Ok(Pointer { variable: id, class, path: Vec::new() }),
            _ => Err(Other),
        }
    }

    fn load(&mut self, inst: &Instruction, pointer: &Pointer, ty: Word) -> Traced<Value> {
        match pointer.class {
            StorageClass::Input => self.load_id(pointer, ty),
            StorageClass::Private | StorageClass::Function => {
                let path = self.numbers(&pointer.path)?;
                for known in (0..=path.len()).rev() {
                    let place = (pointer.variable, path[..known].to_vec());
                    let Some(mut value) = self.memory.get(&place).cloned() else { continue };
                    let mut of = self.fact(value.of(0)).ty;
                    for &index in &path[known..] {
                        let number = self.shared.builder.constant(index);
                        of = self.shared.builder.step(of, number).ok_or(Other)?;
                        let operands = |id| vec![Operand::IdRef(id), Operand::LiteralBit32(index)];
                        value = self.each(&value, |this, id| {
                            this.write(Op::CompositeExtract, of, operands(id), &[])
                        })?;
                    }
                    return Ok(value);
                }
                Err(Other)
            }
            StorageClass::PushConstant | StorageClass::Uniform | StorageClass::StorageBuffer => {
                let stays = pointer.class != StorageClass::StorageBuffer
                    || self.frozen.contains(&pointer.variable)
                    || mutant!(StoredWordsAreShared);
                let shares = stays && inst.operands.len() == 1;
                let varies = pointer.path.iter().any(|index| matches!(index, Value::Each(_)));
                let count = if varies || inst.operands.len() > 1 { self.items } else { 1 };
                let mut all = Vec::with_capacity(count);
                for item in 0..count {
                    let at = self.chain(pointer, ty, item)?;
                    let mut operands = inst.operands.clone();
                    operands[0] = Operand::IdRef(at);
                    all.push(if shares {
                        let before = self.written;
                        let id = self.write(Op::Load, ty, operands, &[])?;
                        let is_spared =
                            self.written == before && pointer.class == StorageClass::StorageBuffer;
                        self.spared += usize::from(is_spared);
                        id
                    } else {
                        self.emit(Op::Load, ty, operands, &[])?
                    });
                }
                Ok(Value::from(all))
            }
            _ => Err(Other),
        }
    }

    /// A chain of the new code to what a pointer leads to, of this type.
    fn chain(&mut self, pointer: &Pointer, ty: Word, item: usize) -> Traced<Word> {
        if pointer.path.is_empty() {
            return Ok(pointer.variable);
        }
        let ty = self.shared.builder.pointer(pointer.class, ty);
        let path = pointer.path.iter().map(|index| Operand::IdRef(index.of(item)));
        let operands = [Operand::IdRef(pointer.variable)].into_iter().chain(path).collect();
        self.write(Op::AccessChain, ty, operands, &[])
    }

    fn load_id(&mut self, pointer: &Pointer, ty: Word) -> Traced<Value> {
        let Some(builtin) = self.ids.variables.get(&pointer.variable).copied() else {
            let id = match pointer.path.as_slice() {
                [] => pointer.variable,
                _ => self.chain(pointer, ty, 0)?,
            };
            let id = self.write(Op::Load, ty, vec![Operand::IdRef(id)], &[])?;
            return Ok(Value::One(id));
        };
        let values = self.values_of_ids.get(&builtin).cloned().ok_or(Other)?;
        let path = self.numbers(&pointer.path)?;
        let uvec3 = self.shared.builder.uvec3();
        let mut all = Vec::with_capacity(self.items);
        for parts in values {
            let (id, from) = match path.as_slice() {
                [] if builtin == BuiltIn::LocalInvocationIndex => (parts[0], self.shared.builder.u32()),
                [] => (self.write(Op::CompositeConstruct, uvec3, ids(&parts), &[])?, uvec3),
                [dimension] => (*parts.get(*dimension as usize).ok_or(Other)?, self.shared.builder.u32()),
                _ => return Err(Other),
            };
            all.push(if from == ty { id } else { self.write(Op::Bitcast, ty, ids(&[id]), &[])? });
        }
        Ok(Value::from(all))
    }

    fn numbers(&mut self, path: &[Value]) -> Traced<Vec<u32>> {
        path.iter()
            .map(|index| match index {
                Value::One(id) => self.number(*id).ok_or(Other),
                Value::Each(_) => Err(Other),
            })
            .collect()
    }

    fn store(&mut self, inst: &Instruction, pointer: &Pointer, value: Value) -> Traced<()> {
        match pointer.class {
            StorageClass::Private | StorageClass::Function => {
                let path = self.numbers(&pointer.path)?;
                let part =
                    |place: &(Word, Vec<u32>)| place.0 == pointer.variable && path.starts_with(&place.1);
                if self.memory.keys().any(|place| part(place) && place.1.len() < path.len()) {
                    return Err(Other);
                }
                self.memory.retain(|place, _| place.0 != pointer.variable || !place.1.starts_with(&path));
                self.memory.insert((pointer.variable, path), value);
                Ok(())
            }
            StorageClass::StorageBuffer => {
                let ty = self.fact(value.of(0)).ty;
                let varies = pointer.path.iter().chain([&value]).any(|one| matches!(one, Value::Each(_)));
                for item in 0..if varies { self.items } else { 1 } {
                    let mut operands = inst.operands.clone();
                    operands[0] = Operand::IdRef(self.chain(pointer, ty, item)?);
                    operands[1] = Operand::IdRef(value.of(item));
                    self.blocks.code.effect(Op::Store, operands);
                    self.written += 1;
                }
                Ok(())
            }
            _ => Err(Other),
        }
    }

    fn pure(&mut self, frame: &mut Frame, inst: &Instruction) -> Traced<()> {
        let (Some(ty), Some(result)) = (inst.result_type, inst.result_id) else { return Err(Other) };
        let decorations = self.decorations.get(&result).cloned().unwrap_or_default();
        let mut operands: Vec<Result<Value, Operand>> = Vec::with_capacity(inst.operands.len());
        for operand in &inst.operands {
            let Operand::IdRef(id) = operand else {
                operands.push(Err(operand.clone()));
                continue;
            };
            if inst.class.opcode == Op::ExtInst && operands.is_empty() {
                operands.push(Err(operand.clone()));
                continue;
            }
            operands.push(Ok(self.value(frame, *id)?));
        }
        let several = operands.iter().any(|operand| matches!(operand, Ok(Value::Each(_))));
        let count = if several { self.items } else { 1 };
        let mut all = Vec::with_capacity(count);
        for item in 0..count {
            let operands: Vec<Operand> = { operands.iter() }
                .map(|operand| match operand {
                    Ok(value) => Operand::IdRef(value.of(item)),
                    Err(literal) => literal.clone(),
                })
                .collect();
            let id = match self.unclamped(inst, ty, &operands)? {
                Some(id) => id,
                None => self.write(inst.class.opcode, ty, operands, &decorations)?,
            };
            all.push(id);
        }
        frame.values.insert(result, Value::from(all));
        Ok(())
    }

    /// What a clamp, a least or a greatest is where it changes nothing.
    fn unclamped(&mut self, inst: &Instruction, ty: Word, operands: &[Operand]) -> Traced<Option<Word>> {
        if inst.class.opcode != Op::ExtInst || !self.is_word(ty) {
            return Ok(None);
        }
        let Some(Operand::LiteralExtInstInteger(which)) = operands.get(1) else { return Ok(None) };
        let ids: Vec<Word> = operands[2..].iter().filter_map(Operand::id_ref_any).collect();
        let mut facts: Vec<Fact> = Vec::new();
        for &id in &ids {
            facts.push(self.fact(id));
        }
        if facts.iter().any(|fact| !fact.early || fact.ty != ty) || facts.iter().all(|fact| !fact.varies) {
            return Ok(None);
        }
        let signed = matches!(which, 39 | 42 | 45);
        let (value, order) = match (which, ids.as_slice()) {
            (38 | 39 | 41 | 42, &[a, b]) if facts[0].varies != facts[1].varies => {
                let (value, limit) = if facts[0].varies { (a, b) } else { (b, a) };
                let is_least = matches!(which, 38 | 39);
                (value, if is_least { vec![(value, limit)] } else { vec![(limit, value)] })
            }
            (44 | 45, &[value, low, high]) if facts[0].varies && !facts[1].varies && !facts[2].varies => {
                (value, vec![(low, value), (value, high)])
            }
            _ => return Ok(None),
        };
        self.met_clamps = true;
        if !self.clamps {
            return Ok(None);
        }
        for (a, b) in order.into_iter().filter(|_| !mutant!(ClampsChangeNothing)) {
            self.conditions.add_order(Order { signed, strict: false, a, b });
        }
        Ok(Some(value))
    }

    fn assume(&mut self, condition: Word, truth: bool) -> Traced<()> {
        if let Some(known) = self.truth(condition) {
            return if known == truth { Ok(()) } else { Err(Other) };
        }
        let fact = self.fact(condition);
        if !fact.early {
            return Err(Other);
        }
        let (op, operands) = fact.made.unwrap_or((Op::Nop, Vec::new()));
        match (op, operands.as_slice(), truth) {
            (Op::LogicalNot, &[inner], _) => self.assume(inner, !truth),
            (Op::LogicalOr, &[a, b], false) | (Op::LogicalAnd, &[a, b], true) => {
                self.assume(a, truth)?;
                self.assume(b, truth)
            }
            (_, &[a, b], _) => {
                match Order::of(op, truth, a, b) {
                    Some(order) => self.conditions.add_order(order),
                    None => self.conditions.add(condition, truth),
                }
                Ok(())
            }
            _ => {
                self.conditions.add(condition, truth);
                Ok(())
            }
        }
    }

    /// A value of the new code: one that is there already, or a new instruction.
    pub(super) fn write(
        &mut self,
        op: Op,
        ty: Word,
        operands: Vec<Operand>,
        decorations: &[Vec<Operand>],
    ) -> Traced<Word> {
        if let Some(known) = self.folded(op, ty, &operands)? {
            return Ok(known);
        }
        let words = self.words(op, ty, &operands);
        let mut key = Vec::with_capacity(operands.len());
        if let Some(words) = &words {
            if let Some(value) = words.as_constant() {
                return Ok(self.constant(ty, value));
            }
            if let Some(word) = words.as_word()
                && self.fact(word).ty == ty
            {
                return Ok(word);
            }
            key.push(KeyOperand::Words(words.clone()));
        } else {
            for operand in &operands {
                let words = operand.id_ref_any().and_then(|id| self.fact(id).words);
                key.push(words.map_or_else(|| KeyOperand::Other(operand.clone()), KeyOperand::Words));
            }
        }
        let op_of_key = if words.is_some() { Op::Nop } else { op };
        let key = Key { op: op_of_key, ty, operands: key, decorations: decorations.to_vec() };
        if let Some(&known) = self.known.iter().rev().find_map(|scope| scope.get(&key)) {
            return Ok(known);
        }
        let id = self.emit(op, ty, operands, decorations)?;
        if words.is_some()
            && let Some(fact) = self.facts.get_mut(&id)
        {
            fact.words = words;
        }
        if let Some(scope) = self.known.last_mut() {
            scope.insert(key, id);
        }
        Ok(id)
    }

    /// A new instruction.
    fn emit(
        &mut self,
        op: Op,
        ty: Word,
        operands: Vec<Operand>,
        decorations: &[Vec<Operand>],
    ) -> Traced<Word> {
        self.written += 1;
        if self.written > MOST {
            return Err(Other);
        }
        let used: Vec<Word> = operands.iter().filter_map(Operand::id_ref_any).collect();
        let (mut early, mut varies) = (true, false);
        for &id in &used {
            // Import sets, variables and the arguments, which are not declared yet, are nothing that is computed.
            if let Some(fact) = self.facts.get(&id) {
                early &= fact.early;
                varies |= fact.varies;
            }
        }
        let safe = match op {
            Op::Load => {
                let class = self.class_of(&operands);
                matches!(class, Some(StorageClass::PushConstant | StorageClass::Input))
            }
            Op::AccessChain | Op::ArrayLength => true,
            op if opcodes::has(op, opcodes::DIVIDES) => {
                let divisor = used.get(1).copied().and_then(|id| self.number(id));
                divisor.is_some_and(|divisor| divisor != 0 && divisor != u32::MAX)
            }
            _ => true,
        };
        let id = self.blocks.code.value(&mut self.shared.builder, op, ty, operands.clone());
        for decoration in decorations {
            let operands = [Operand::IdRef(id)].into_iter().chain(decoration.iter().cloned()).collect();
            let inst = Instruction::new(Op::Decorate, None, None, operands);
            self.annotations.push(inst);
        }
        let parts = match op {
            Op::CompositeConstruct => Some(used.clone()),
            _ => None,
        };
        let words = self.opaque(id, ty);
        let made = Some((op, used));
        self.facts.insert(id, Fact { ty, early: early && safe, varies, words, parts, made });
        Ok(id)
    }

    /// Class of what a load loads from.
    fn class_of(&mut self, load: &[Operand]) -> Option<StorageClass> {
        let pointer = load.first()?.id_ref_any()?;
        let ty = match self.facts.get(&pointer) {
            Some(fact) => fact.ty,
            None => self.shared.builder.definitions.get(&pointer)?.result_type?,
        };
        match self.shared.builder.definitions.get(&ty)?.operands.first()? {
            Operand::StorageClass(class) => Some(*class),
            _ => None,
        }
    }

    /// Notes a value of the new code that differs from invocation to invocation.
    pub(super) fn note_id(&mut self, id: Word, words: Option<Polynomial>) {
        let ty = self.shared.builder.u32();
        let words = words.or_else(|| Some(Polynomial::word(id)));
        self.facts.insert(id, Fact { ty, early: true, varies: true, words, ..Fact::default() });
    }

    /// The polynomial of a result, if operands have some.
    fn words(&mut self, op: Op, ty: Word, operands: &[Operand]) -> Option<Polynomial> {
        if !self.is_word(ty) {
            return None;
        }
        let mut of = |n: usize| self.fact(operands.get(n)?.id_ref_any()?).words;
        let minus = u32::MAX;
        match op {
            Op::Bitcast => of(0),
            Op::IAdd => of(0)?.plus(1, &of(1)?),
            Op::ISub => of(0)?.plus(if mutant!(DifferencesAreSums) { 1 } else { minus }, &of(1)?),
            Op::IMul => of(0)?.times(&of(1)?),
            Op::SNegate => Polynomial::constant(0).plus(minus, &of(0)?),
            Op::ShiftLeftLogical => {
                let by = of(1)?.as_constant().filter(|by| *by < 32)?;
                of(0)?.times(&Polynomial::constant(1 << by))
            }
            Op::UDiv | Op::UMod | Op::ShiftRightLogical | Op::BitwiseAnd => {
                let (value, by) = (of(0)?, of(1)?.as_constant()?);
                self.part(op, &value, by)
            }
            _ => None,
        }
    }

    /// Quotient or remainder of an item's number by a divisor of the distance from one invocation to the next.
    fn part(&self, op: Op, value: &Polynomial, by: u32) -> Option<Polynomial> {
        let (base, step) = self.ids.base?;
        let (factor, constant) = value.of(base)?;
        let divisor = match op {
            Op::UDiv | Op::UMod => by,
            Op::ShiftRightLogical => 1u32.checked_shl(by)?,
            _ => by.checked_add(1).filter(|n| n.is_power_of_two())?,
        };
        // The item's number, and so many more: a number that has room in a word.
        let divides = divisor != 0 && (step % divisor == 0 || mutant!(AnyDistanceIsDivided));
        if factor != step || !divides || constant >= 1 << 16 {
            return None;
        }
        match op {
            Op::UDiv | Op::ShiftRightLogical => {
                let quotient = Polynomial::word(base).times(&Polynomial::constant(step / divisor))?;
                quotient.plus(1, &Polynomial::constant(constant / divisor))
            }
            _ => Some(Polynomial::constant(constant % divisor)),
        }
    }

    /// What follows from constants, and from what a composite is made of.
    fn folded(&mut self, op: Op, ty: Word, operands: &[Operand]) -> Traced<Option<Word>> {
        let id = |n: usize| operands.get(n).and_then(Operand::id_ref_any);
        let literal = |n: usize| match operands.get(n) {
            Some(Operand::LiteralBit32(value)) => Some(*value as usize),
            _ => None,
        };
        let (a, b) = (id(0), id(1));
        Ok(match op {
            Op::CompositeExtract if operands.len() == 2 => {
                let parts = a.and_then(|a| self.fact(a).parts);
                parts.zip(literal(1)).and_then(|(parts, n)| parts.get(n).copied())
            }
            Op::VectorShuffle => {
                let mut parts = Vec::new();
                for id in [a, b].into_iter().flatten() {
                    match self.fact(id).parts {
                        Some(all) => parts.extend(all),
                        None => return Ok(None),
                    }
                }
                let picked: Option<Vec<Word>> =
                    (2..operands.len()).map(|n| parts.get(literal(n)?).copied()).collect();
                match picked {
                    Some(picked) => Some(self.write(Op::CompositeConstruct, ty, ids(&picked), &[])?),
                    None => None,
                }
            }
            Op::LogicalNot => a.and_then(|a| self.truth(a)).map(|truth| self.shared.builder.truth(!truth)),
            Op::LogicalAnd | Op::LogicalOr => {
                let (Some(a), Some(b)) = (a, b) else { return Ok(None) };
                let absorbs = op == Op::LogicalOr;
                match (self.truth(a), self.truth(b)) {
                    (Some(truth), _) => Some(if truth == absorbs { a } else { b }),
                    (_, Some(truth)) => Some(if truth == absorbs { b } else { a }),
                    _ => None,
                }
            }
            Op::Select => match a.and_then(|a| self.truth(a)) {
                Some(truth) => {
                    if truth {
                        b
                    } else {
                        id(2)
                    }
                }
                None => None,
            },
            Op::IEqual
            | Op::INotEqual
            | Op::ULessThan
            | Op::ULessThanEqual
            | Op::UGreaterThan
            | Op::UGreaterThanEqual
            | Op::SLessThan
            | Op::SLessThanEqual
            | Op::SGreaterThan
            | Op::SGreaterThanEqual => {
                let (Some(a), Some(b)) = (a, b) else { return Ok(None) };
                let (Some(x), Some(y)) = (self.number(a), self.number(b)) else { return Ok(None) };
                let (s, t) = (x as i32, y as i32);
                let truth = match op {
                    Op::IEqual => x == y,
                    Op::INotEqual => x != y,
                    Op::ULessThan => x < y,
                    Op::ULessThanEqual => x <= y,
                    Op::UGreaterThan => x > y,
                    Op::UGreaterThanEqual => x >= y,
                    Op::SLessThan => s < t,
                    Op::SLessThanEqual => s <= t,
                    Op::SGreaterThan => s > t,
                    _ => s >= t,
                };
                Some(self.shared.builder.truth(truth))
            }
            _ => None,
        })
    }
}

/// Whether nothing happens from a block to the end of the function.
fn ends_at_once(frame: &Frame, mut at: Word) -> bool {
    for _ in 0..frame.function.blocks.len() {
        let Some(&block) = frame.blocks.get(&at) else { return false };
        let [last] = frame.function.blocks[block].instructions.as_slice() else { return false };
        match (last.class.opcode, last.operands.first()) {
            (Op::Return, _) => return true,
            (Op::Branch, Some(Operand::IdRef(next))) => at = *next,
            _ => return false,
        }
    }
    false
}

/// Whether all that lies between a block and the one where sides meet only computes, and can be computed in vain.
fn computes(frame: &Frame, first: Word, meets: Word) -> bool {
    let (mut open, mut seen) = (vec![first], AHashSet::new());
    while let Some(label) = open.pop() {
        if label == meets || !seen.insert(label) {
            continue;
        }
        let Some(&block) = frame.blocks.get(&label) else { return false };
        for inst in &frame.function.blocks[block].instructions {
            let op = inst.class.opcode;
            let fits = match op {
                Op::Phi | Op::SelectionMerge | Op::BranchConditional | Op::Branch | Op::CopyObject => true,
                op => opcodes::has(op, opcodes::PURE) && !opcodes::has(op, opcodes::DIVIDES),
            };
            let argument = matches!(op, Op::AccessChain | Op::Load);
            if !fits && !argument {
                return false;
            }
            if argument && !is_argument(frame, inst) {
                return false;
            }
            if matches!(op, Op::Branch | Op::BranchConditional) {
                let skipped = usize::from(op == Op::BranchConditional);
                open.extend(inst.operands.iter().skip(skipped).filter_map(Operand::id_ref_any));
            }
        }
    }
    true
}

/// Whether a chain or load has to do with variables of which each invocation has its own, or with arguments at a constant place.
fn is_argument(frame: &Frame, inst: &Instruction) -> bool {
    let Some(base) = inst.operands.first().and_then(Operand::id_ref_any) else { return false };
    let body = || frame.function.blocks.iter().flat_map(|block| &block.instructions);
    let own = |id: Word| body().find(|inst| inst.result_id == Some(id));
    match inst.class.opcode {
        Op::Load => own(base).is_some_and(|chain| is_argument(frame, chain)),
        // A chain on a global, with no index of the function's own.
        _ => {
            own(base).is_none()
                && inst.operands[1..].iter().filter_map(Operand::id_ref_any).all(|index| own(index).is_none())
        }
    }
}

pub(super) fn ids(all: &[Word]) -> Vec<Operand> {
    all.iter().copied().map(Operand::IdRef).collect()
}
