//! What a function does to shared memory: which element each access touches, in which invocations of a work-group.
//!
//! The work is one of evaluation: with loops over constants written out, indices and conditions of the steps of a tree are functions of the local
//! id alone, and are worked out for each of the work-group's invocations.
//!
//! # Requires
//! - a function of a kernel whose work-groups are lines, loops written out
//!
//! # Guarantees
//! - every instruction that touches shared memory, or may, is found, with the variable; pointers are followed through access chains and copies
//! - an element that is known is the one that each invocation touches; an invocation that is not among those of an access does not do it

use std::rc::Rc;

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Operand};
use rspirv::spirv::{BuiltIn, Op, StorageClass, Word};

use crate::analysis::cfg::Cfg;
use crate::emit::builder::Builder;
use crate::emit::evaluate::evaluate;
use crate::frontend::opcodes;

/// A number in each invocation.
pub(super) type Lanes = Rc<[u32]>;

/// An access to shared memory.
pub(super) struct Touch {
    /// Block and position.
    pub(super) at: (usize, usize),
    pub(super) variable: Word,
    /// Whether it is a plain load, or a plain store; else anything.
    pub(super) plain: Option<Access>,
    /// The indices of the element, in each invocation, if they are known.
    pub(super) element: Option<Vec<Lanes>>,
    /// Invocations that may do it.
    pub(super) active: Rc<[bool]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Load,
    Store,
}

/// All that a function does to shared memory, in work-groups of `local` invocations; `ids` are inputs that are local ids.
pub(super) fn touches(
    builder: &Builder,
    ids: &AHashMap<Word, BuiltIn>,
    local: u32,
    function: &Function,
) -> Vec<Touch> {
    let reader = Reader { builder, ids, local, function };
    let cfg = Cfg::new(function);
    let mut found = Vec::new();
    let mut known = Known::default();
    let mut active: Vec<Option<Rc<[bool]>>> = vec![None; function.blocks.len()];
    let everybody: Rc<[bool]> = vec![true; local as usize].into();
    for (number, block) in function.blocks.iter().enumerate() {
        let here = reader.active(&cfg, number, &active, &known).unwrap_or_else(|| everybody.clone());
        active[number] = Some(here.clone());
        let looped = cfg.loop_depth(number) > 0;
        for (position, inst) in block.instructions.iter().enumerate() {
            let places = inst.operands.iter().filter_map(Operand::id_ref_any);
            let places: Vec<_> = places.filter_map(|id| reader.place(&known, id)).collect();
            reader.note(inst, &mut known, looped);
            let op = inst.class.opcode;
            let plain = match (op, inst.operands.len()) {
                (Op::Load, 1) => Some(Access::Load),
                (Op::Store, 2) => Some(Access::Store),
                _ => None,
            };
            // Pointers are followed through chains alone.
            let leads = matches!(op, Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject);
            for (variable, element) in places.into_iter().filter(|_| !leads) {
                found.push(Touch { at: (number, position), variable, plain, element, active: here.clone() });
            }
        }
    }
    found
}

/// Whether variables of shared memory may lie over each other.
pub(super) fn has_layouts(builder: &Builder) -> bool {
    let annotated: AHashSet<Word> = builder
        .module
        .annotations
        .iter()
        .filter(|inst| inst.class.opcode == Op::Decorate)
        .filter_map(|inst| inst.operands.first()?.id_ref_any())
        .collect();
    builder.module.types_global_values.iter().any(|inst| {
        let shared = inst.operands.first() == Some(&Operand::StorageClass(StorageClass::Workgroup));
        shared
            && inst.class.opcode == Op::Variable
            && inst.result_id.is_some_and(|id| annotated.contains(&id))
    })
}

struct Reader<'a> {
    builder: &'a Builder,
    /// Inputs that are local ids.
    ids: &'a AHashMap<Word, BuiltIn>,
    local: u32,
    function: &'a Function,
}

/// What is known of the values of a function.
#[derive(Default)]
struct Known {
    numbers: AHashMap<Word, Lanes>,
    /// Vectors that are the local id, and pointers to its components.
    vectors: AHashSet<Word>,
    /// Vectors of which components are known.
    made: AHashMap<Word, Vec<Option<Lanes>>>,
    components: AHashMap<Word, u32>,
    /// Pointers into shared memory: the variable, and the indices if they are known.
    pointers: AHashMap<Word, (Word, Option<Vec<Lanes>>)>,
}

impl Reader<'_> {
    /// The invocations that may come to a block, if that is known.
    fn active(
        &self,
        cfg: &Cfg,
        number: usize,
        active: &[Option<Rc<[bool]>>],
        known: &Known,
    ) -> Option<Rc<[bool]>> {
        let before = &cfg.predecessors[number];
        if number == 0 || before.is_empty() || cfg.loop_depth(number) > 0 {
            return None;
        }
        let label = self.function.blocks[number].label_id();
        let mut all = vec![false; self.local as usize];
        for &from in before {
            let come = active.get(from).cloned().flatten()?;
            let last = self.function.blocks[from].instructions.last()?;
            let id = |n: usize| last.operands.get(n).and_then(Operand::id_ref_any);
            let condition = match last.class.opcode {
                Op::BranchConditional if id(1) != id(2) => {
                    id(0).and_then(|id| known.numbers.get(&id)).map(|value| (value.clone(), id(1) == label))
                }
                _ => None,
            };
            for lane in 0..self.local as usize {
                let goes = condition.as_ref().is_none_or(|(value, side)| (value[lane] != 0) == *side);
                all[lane] |= come[lane] && goes;
            }
        }
        Some(all.into())
    }

    fn constant(&self, id: Word) -> Option<u32> {
        let inst = self.builder.definitions.get(&id)?;
        match (inst.class.opcode, inst.operands.as_slice()) {
            (Op::Constant, [Operand::LiteralBit32(value)]) if self.is_word(inst.result_type) => Some(*value),
            (Op::ConstantNull, []) if self.is_word(inst.result_type) => Some(0),
            (Op::ConstantTrue, _) => Some(1),
            (Op::ConstantFalse, _) => Some(0),
            _ => None,
        }
    }

    fn is_word(&self, ty: Option<Word>) -> bool {
        let inst = ty.and_then(|ty| self.builder.definitions.get(&ty));
        inst.is_some_and(|inst| {
            inst.class.opcode == Op::TypeInt && inst.operands.first() == Some(&Operand::LiteralBit32(32))
        })
    }

    fn is_truth(&self, ty: Option<Word>) -> bool {
        let inst = ty.and_then(|ty| self.builder.definitions.get(&ty));
        inst.is_some_and(|inst| inst.class.opcode == Op::TypeBool)
    }

    /// A number in each invocation.
    fn number(&self, known: &Known, id: Word) -> Option<Lanes> {
        if let Some(value) = known.numbers.get(&id) {
            return Some(value.clone());
        }
        self.constant(id).map(|value| vec![value; self.local as usize].into())
    }

    fn is_shared(&self, id: Word) -> bool {
        let inst = self.builder.definitions.get(&id);
        inst.is_some_and(|inst| {
            inst.class.opcode == Op::Variable
                && inst.operands.first() == Some(&Operand::StorageClass(StorageClass::Workgroup))
        })
    }

    /// What a pointer leads to in shared memory.
    fn place(&self, known: &Known, pointer: Word) -> Option<(Word, Option<Vec<Lanes>>)> {
        let found = known.pointers.get(&pointer).cloned();
        found.or_else(|| self.is_shared(pointer).then(|| (pointer, Some(Vec::new()))))
    }

    /// Notes what is known of the result of an instruction.
    fn note(&self, inst: &Instruction, known: &mut Known, looped: bool) -> Option<()> {
        let op = inst.class.opcode;
        let id = |n: usize| inst.operands.get(n).and_then(Operand::id_ref_any);
        let result = inst.result_id?;
        match op {
            Op::AccessChain | Op::InBoundsAccessChain => {
                let base = id(0)?;
                if let Some((variable, path)) = self.place(known, base) {
                    let more: Option<Vec<Lanes>> = (1..inst.operands.len())
                        .map(|n| id(n).filter(|_| !looped).and_then(|id| self.number(known, id)))
                        .collect();
                    let path = path.zip(more).map(|(mut path, more)| {
                        path.extend(more);
                        path
                    });
                    known.pointers.insert(result, (variable, path));
                } else if self.ids.get(&base) == Some(&BuiltIn::LocalInvocationId) && inst.operands.len() == 2
                {
                    let component = self.constant(id(1)?)?;
                    known.components.insert(result, component);
                }
            }
            Op::Load => {
                let pointer = id(0)?;
                let builtin = self.ids.get(&pointer);
                if builtin == Some(&BuiltIn::LocalInvocationId) {
                    known.vectors.insert(result);
                } else if builtin == Some(&BuiltIn::LocalInvocationIndex) {
                    known.numbers.insert(result, self.own(0));
                } else if let Some(&component) = known.components.get(&pointer) {
                    known.numbers.insert(result, self.own(component));
                }
            }
            Op::CompositeExtract => {
                let (from, [_, Operand::LiteralBit32(component)]) = (id(0)?, inst.operands.as_slice()) else {
                    return None;
                };
                if known.vectors.contains(&from) {
                    known.numbers.insert(result, self.own(*component));
                } else {
                    let value = known.made.get(&from)?.get(*component as usize)?.clone()?;
                    known.numbers.insert(result, value);
                }
            }
            Op::CompositeConstruct if !looped => {
                let ty = self.builder.definitions.get(&inst.result_type?)?;
                let is_vector = ty.class.opcode == Op::TypeVector
                    && self.is_word(ty.operands.first().and_then(Operand::id_ref_any))
                    && ty.operands.get(1) == Some(&Operand::LiteralBit32(inst.operands.len() as u32));
                if is_vector {
                    let parts = inst.operands.iter().filter_map(Operand::id_ref_any);
                    let parts = parts.map(|id| self.number(known, id));
                    known.made.insert(result, parts.collect());
                }
            }
            Op::CopyObject | Op::Bitcast => {
                let from = id(0)?;
                if known.vectors.contains(&from) {
                    known.vectors.insert(result);
                }
                if let (Op::CopyObject, Some(made)) = (op, known.made.get(&from).cloned()) {
                    known.made.insert(result, made);
                }
                let fits = op == Op::CopyObject || self.is_word(inst.result_type);
                if let Some(value) = self.number(known, from).filter(|_| fits) {
                    known.numbers.insert(result, value);
                }
                if let Some(place) = self.place(known, from) {
                    known.pointers.insert(result, place);
                }
            }
            _ if opcodes::has(op, opcodes::PURE) && !looped => {
                let fits = self.is_word(inst.result_type) || self.is_truth(inst.result_type);
                let operands = inst.operands.iter().filter_map(Operand::id_ref_any);
                let all: Option<Vec<Lanes>> = operands.map(|id| self.number(known, id)).collect();
                let all = all.filter(|_| fits)?;
                let of_lane = |lane: usize| {
                    let numbers: Vec<u32> = all.iter().map(|one| one[lane]).collect();
                    evaluate(op, &numbers)
                };
                let lanes: Option<Vec<u32>> = (0..self.local as usize).map(of_lane).collect();
                known.numbers.insert(result, lanes?.into());
            }
            _ => {}
        }
        Some(())
    }

    /// A component of the local id.
    fn own(&self, component: u32) -> Lanes {
        (0..self.local).map(|lane| if component == 0 { lane } else { 0 }).collect()
    }
}
