//! Kernels that store several elements one after another, each in the same way: a loop that was written out.
//!
//! What a store stores, where, and under which conditions, is read as a computation; those of all stores are put side by side, operand by
//! operand ([`Alike`]). Where they differ they differ in constants, and these in equal steps: the kernel written here has the number of
//! the store, times the step, in their place.
//!
//! # Requires
//! - a kernel without loops
//!
//! # Guarantees
//! - each store is done under its own conditions, of what its own loads find
//! - each load, and each division, is one that the kernel does whenever it does the store; no condition loads from a buffer
//!
//! # Refuses
//! - several stores an element, merges of several ways but for choices between values that are at hand, constants that do not differ in
//!   equal steps, floats that differ

use ahash::AHashMap;
use rspirv::dr::{Block, Function, Instruction, Operand};
use rspirv::spirv::{Op, SelectionControl, Word};

use super::super::definition::choice;
use super::super::writer::{Result, Writer};
use super::looped::MOST_ROUNDS;
use crate::analysis::access::AccessKind;
use crate::analysis::cfg::{Cfg, Edge};
use crate::frontend::{
    defs::Defs,
    opcodes,
    resource::{self, Role},
};
use crate::kernel::NormalKernel;

/// Most instructions of the kernel that is written.
const MOST_LINES: usize = 512;
/// How deep values are made of values.
const DEEPEST: usize = 128;

/// The stores of a kernel, and the branches that lead to each of them.
pub(in crate::rewrite) struct Stores {
    /// By block and position, in program order.
    at: Vec<(usize, usize)>,
    /// Branches that a store has for itself, after those that all have in common.
    own: Vec<Vec<Edge>>,
    common: Vec<Edge>,
    /// A store is behind the branches of all before it.
    pub(super) must_last: bool,
}

impl Stores {
    pub(super) fn of(normal: &NormalKernel, function: &Function) -> Result<Self> {
        let cfg = Cfg::new(function);
        let writes = normal.analysis.accesses.iter().filter(|access| access.kind != AccessKind::Read);
        let mut at: Vec<(usize, usize)> = writes.map(|access| access.at).collect();
        at.sort_unstable();
        let all = function.all_inst_iter();
        let stores = all.filter(|inst| inst.class.opcode == Op::Store).count();
        if !(2..=MOST_ROUNDS as usize).contains(&at.len()) || stores != at.len() {
            return Err("no loop, and no stores like one");
        }
        let is_plain = |&(block, at): &(usize, usize)| {
            let inst = &function.blocks[block].instructions[at];
            inst.class.opcode == Op::Store && inst.operands.len() == 2
        };
        if !at.iter().all(is_plain) {
            return Err("a store that is volatile");
        }
        let mut guards = Vec::new();
        for &(block, _) in &at {
            let (edges, is_exact) = cfg.guards(function, block);
            let is_exact = is_exact || mutant!(StoresAreReached);
            if !is_exact || edges.iter().any(|edge| !edge.values.is_empty()) {
                return Err("stores behind branches that are not followed");
            }
            guards.push(edges);
        }
        let lengths: Vec<usize> = guards.iter().map(Vec::len).collect();
        let (first, more) = (lengths[0], lengths[1] as isize - lengths[0] as isize);
        // Each has as many for itself, behind all of those before.
        let nests = guards.windows(2).all(|pair| {
            more > 0
                && pair[1].len() as isize - pair[0].len() as isize == more
                && pair[1].starts_with(&pair[0])
        });
        let common = if nests {
            first.checked_sub(more as usize).ok_or("stores that have other conditions")?
        } else if lengths.iter().all(|&length| length == first) {
            let same = |n: &usize| guards.iter().all(|edges| edges[*n] == guards[0][*n]);
            (0..first).take_while(same).count()
        } else {
            return Err("stores that have other conditions");
        };
        let count = first - common;
        let own = guards.iter().map(|edges| edges[edges.len() - count..].to_vec()).collect();
        let common = guards[0][..common].to_vec();
        Ok(Self { at, own, common, must_last: nests })
    }

    pub(super) fn count(&self) -> u32 {
        let count = self.at.len() as u32;
        count - u32::from(mutant!(RoundsAreFewer))
    }

    /// A body that does the store of a number.
    pub(super) fn apart(&self, normal: &NormalKernel, writer: &mut Writer, round: Word) -> Result<Function> {
        let old = normal.module.functions.first().ok_or("no function")?;
        let mut function = Function { blocks: Vec::new(), ..old.clone() };
        let mut alike = Alike::new(normal, old, round);
        let label = |id: Word| Instruction::new(Op::Label, None, Some(id), Vec::new());
        let mut here = writer.fresh();
        let common = self.common.iter().map(|edge| (vec![edge; self.at.len()], false));
        let own =
            (0..self.own[0].len()).map(|n| (self.own.iter().map(|own| &own[n]).collect::<Vec<_>>(), true));
        for (edges, is_own) in common.chain(own) {
            let taken = edges[0].taken;
            if edges.iter().any(|edge| edge.taken != taken) {
                return Err("stores that have other conditions");
            }
            alike.homes = edges.iter().map(|edge| edge.block).collect();
            alike.is_condition = true;
            // A condition is asked here in rounds that the kernel does not come to.
            alike.divides = !(is_own && self.must_last);
            let conditions: Vec<Word> = edges.iter().map(|edge| edge.condition).collect();
            let condition = alike.make(writer, &conditions, 0)?;
            let (next, out) = (writer.fresh(), writer.fresh());
            let mut instructions = std::mem::take(&mut alike.lines);
            let none = Operand::SelectionControl(SelectionControl::NONE);
            instructions.push(writer.effect(Op::SelectionMerge, vec![Operand::IdRef(next), none]));
            let (yes, no) = if taken { (next, out) } else { (out, next) };
            instructions.push(writer.choose(condition, yes, no));
            function.blocks.push(Block { label: Some(label(here)), instructions });
            let instructions = vec![writer.effect(Op::Return, Vec::new())];
            function.blocks.push(Block { label: Some(label(out)), instructions });
            here = next;
        }
        alike.homes = self.at.iter().map(|&(block, _)| block).collect();
        (alike.is_condition, alike.divides) = (false, true);
        let stores: Vec<&Instruction> =
            self.at.iter().map(|&(block, at)| &old.blocks[block].instructions[at]).collect();
        let mut operands = Vec::new();
        for n in 0..2 {
            let ids: Option<Vec<Word>> = stores.iter().map(|store| store.operands[n].id_ref_any()).collect();
            operands.push(Operand::IdRef(alike.make(
                writer,
                &ids.ok_or("a store that is not followed")?,
                0,
            )?));
        }
        let mut instructions = alike.lines;
        instructions.push(writer.effect(Op::Store, operands));
        instructions.push(writer.effect(Op::Return, Vec::new()));
        function.blocks.push(Block { label: Some(label(here)), instructions });
        Ok(function)
    }
}

/// Makes one computation of several that are alike.
struct Alike<'a> {
    normal: &'a NormalKernel,
    function: &'a Function,
    defs: Defs<'a>,
    cfg: Cfg,
    places: AHashMap<Word, (usize, usize)>,
    roles: AHashMap<Word, Role>,
    /// What is decorated, and how.
    decorations: AHashMap<Word, Vec<&'a [Operand]>>,
    /// Number of the store.
    round: Word,
    /// The block of each store, or of a branch that leads to it.
    homes: Vec<usize>,
    is_condition: bool,
    /// Whether a division may be done here.
    divides: bool,
    /// What was made of values side by side.
    known: AHashMap<Vec<Word>, Word>,
    lines: Vec<Instruction>,
    count: usize,
}

impl<'a> Alike<'a> {
    fn new(normal: &'a NormalKernel, function: &'a Function, round: Word) -> Self {
        let defs = Defs::new(&normal.module);
        let variables = resource::variables(&normal.module, &defs);
        let blocks = function.blocks.iter().enumerate();
        let places = blocks.flat_map(|(block, body)| {
            let insts = body.instructions.iter().enumerate();
            insts.filter_map(move |(at, inst)| Some((inst.result_id?, (block, at))))
        });
        let mut decorations: AHashMap<Word, Vec<&[Operand]>> = AHashMap::new();
        for inst in &normal.module.annotations {
            if let (Op::Decorate, Some((Operand::IdRef(id), rest))) =
                (inst.class.opcode, inst.operands.split_first())
            {
                decorations.entry(*id).or_default().push(rest);
            }
        }
        Self {
            normal,
            function,
            cfg: Cfg::new(function),
            places: places.collect(),
            roles: variables.iter().map(|v| (v.id, v.role)).collect(),
            decorations,
            defs,
            round,
            homes: Vec::new(),
            is_condition: false,
            divides: true,
            known: AHashMap::new(),
            lines: Vec::new(),
            count: 0,
        }
    }

    fn inst(&self, id: Word) -> Option<&'a Instruction> {
        let &(block, at) = self.places.get(&id)?;
        Some(&self.function.blocks[block].instructions[at])
    }

    /// Whether values are integers of 32 bits.
    fn is_word(&self, ty: Option<Word>) -> bool {
        let inst = ty.and_then(|ty| self.defs.get(ty));
        let width =
            inst.filter(|inst| inst.class.opcode == Op::TypeInt).and_then(|inst| inst.operands.first());
        width == Some(&Operand::LiteralBit32(32))
    }

    fn constant(&self, id: Word) -> Option<u32> {
        let value = self.defs.constant(id).filter(|_| self.is_word(self.defs.type_of(id)))?;
        u32::try_from(value).ok()
    }

    /// A sum as something and a constant.
    fn peeled(&self, mut id: Word) -> (Word, u32) {
        let mut more = 0u32;
        for _ in 0..DEEPEST {
            let Some(inst) = self.inst(id) else { break };
            let ids: Vec<Word> = inst.operands.iter().filter_map(Operand::id_ref_any).collect();
            let &[a, b] = ids.as_slice() else { break };
            let (rest, by) = match (inst.class.opcode, self.constant(a), self.constant(b)) {
                (Op::IAdd, _, Some(by)) => (a, by),
                (Op::IAdd, Some(by), _) => (b, by),
                (Op::ISub, _, Some(by)) => (a, by.wrapping_neg()),
                _ => break,
            };
            // Another type may be another reading of the same word.
            if self.defs_type(rest) != inst.result_type {
                break;
            }
            (id, more) = (rest, more.wrapping_add(by));
        }
        (id, more)
    }

    fn defs_type(&self, id: Word) -> Option<Word> {
        self.inst(id).and_then(|inst| inst.result_type).or_else(|| self.defs.type_of(id))
    }

    /// By how much constants grow from one store to the next.
    fn step(values: &[u32]) -> Result<u32> {
        let step = values[1].wrapping_sub(values[0]);
        let is_even = values.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == step);
        if is_even || mutant!(StoresAreEven) {
            Ok(step)
        } else {
            Err("constants that do not differ in equal steps")
        }
    }

    /// `first + round * step`.
    fn number(&mut self, writer: &mut Writer, first: u32, step: u32) -> Word {
        let (first_id, step) = (writer.constant(first), writer.constant(step));
        let gone = writer.math(&mut self.lines, Op::IMul, self.round, step);
        if first == 0 { gone } else { writer.math(&mut self.lines, Op::IAdd, first_id, gone) }
    }

    /// What stands for values that belong together, one of each store.
    fn make(&mut self, writer: &mut Writer, ids: &[Word], depth: usize) -> Result<Word> {
        if let Some(&known) = self.known.get(ids) {
            return Ok(known);
        }
        let is_one = ids.iter().all(|id| *id == ids[0]);
        if is_one && !self.places.contains_key(&ids[0]) {
            return Ok(ids[0]);
        }
        self.count += 1;
        if depth > DEEPEST || self.count > MOST_LINES {
            return Err("too long a computation");
        }
        let made =
            if is_one { self.copied(writer, ids, depth)? } else { self.differing(writer, ids, depth)? };
        self.known.insert(ids.to_vec(), made);
        Ok(made)
    }

    fn differing(&mut self, writer: &mut Writer, ids: &[Word], depth: usize) -> Result<Word> {
        let ty = self.defs_type(ids[0]);
        if ids.iter().any(|&id| self.defs_type(id) != ty) {
            return Err("stores of other types");
        }
        let is_word = self.is_word(ty);
        let constants: Option<Vec<u32>> = ids.iter().map(|&id| self.constant(id)).collect();
        if let Some(constants) = constants.filter(|_| is_word) {
            let step = Self::step(&constants)?;
            let number = self.number(writer, constants[0], step);
            return Ok(self.as_type(writer, number, ty));
        }
        let (rest, more): (Vec<Word>, Vec<u32>) = ids.iter().map(|&id| self.peeled(id)).unzip();
        if is_word && more.iter().any(|by| *by != more[0]) {
            let step = Self::step(&more)?;
            let rest = self.make(writer, &rest, depth + 1)?;
            let number = self.number(writer, more[0], step);
            let sum = writer.fresh();
            let operands = [rest, number].map(Operand::IdRef).to_vec();
            self.lines.push(Instruction::new(Op::IAdd, ty, Some(sum), operands));
            return Ok(sum);
        }
        self.copied(writer, ids, depth)
    }

    /// A word as one of this type.
    fn as_type(&mut self, writer: &mut Writer, word: Word, ty: Option<Word>) -> Word {
        if ty == Some(writer.u32()) {
            return word;
        }
        let id = writer.fresh();
        self.lines.push(Instruction::new(Op::Bitcast, ty, Some(id), vec![Operand::IdRef(word)]));
        id
    }

    /// The same instruction of what its operands are made of.
    fn copied(&mut self, writer: &mut Writer, ids: &[Word], depth: usize) -> Result<Word> {
        let all: Option<Vec<&Instruction>> = ids.iter().map(|&id| self.inst(id)).collect();
        let all = all.ok_or("stores that are not alike")?;
        let first = all[0];
        let op = first.class.opcode;
        let none = Vec::new();
        let decorations = |id: &Word| self.decorations.get(id).unwrap_or(&none);
        let is_alike = all.iter().zip(ids).all(|(inst, id)| {
            let same =
                |(a, b): (&Operand, &Operand)| a.id_ref_any().is_some() && b.id_ref_any().is_some() || a == b;
            inst.class.opcode == op
                && inst.result_type == first.result_type
                && inst.operands.len() == first.operands.len()
                && inst.operands.iter().zip(&first.operands).all(same)
                && decorations(id) == decorations(&ids[0])
        });
        if !is_alike {
            return Err("stores that are not alike");
        }
        let decorated: Vec<Vec<Operand>> = decorations(&ids[0]).iter().map(|rest| rest.to_vec()).collect();
        let made = writer.fresh();
        let mut inst = Instruction { result_id: Some(made), ..first.clone() };
        if op == Op::Phi {
            let mut chosen: Vec<[Word; 3]> = Vec::new();
            for (inst, id) in all.iter().zip(ids) {
                let block = self.places[id].0;
                let (condition, yes, no) = choice(self.normal, &self.cfg, self.function, inst, block)
                    .ok_or("a choice between several ways")?;
                chosen.push([condition, yes, no]);
            }
            let mut parts = Vec::new();
            for n in 0..3 {
                let part: Vec<Word> = chosen.iter().map(|parts| parts[n]).collect();
                parts.push(Operand::IdRef(self.make(writer, &part, depth + 1)?));
            }
            inst = Instruction::new(Op::Select, inst.result_type, Some(made), parts);
        } else {
            self.allow(&all, ids)?;
            for n in 0..first.operands.len() {
                let part: Option<Vec<Word>> = all.iter().map(|inst| inst.operands[n].id_ref_any()).collect();
                if let (Some(part), Operand::IdRef(own)) = (part, &mut inst.operands[n]) {
                    *own = self.make(writer, &part, depth + 1)?;
                }
            }
        }
        for rest in decorated {
            let operands = [&[Operand::IdRef(made)], rest.as_slice()].concat();
            writer.decorate(operands, false);
        }
        self.lines.push(inst);
        Ok(made)
    }

    /// Whether instructions may be done where they are put.
    fn allow(&self, all: &[&Instruction], ids: &[Word]) -> Result<()> {
        let op = all[0].class.opcode;
        let mut is_always_done =
            ids.iter().zip(&self.homes).all(|(id, &home)| self.cfg.dominates(self.places[id].0, home));
        is_always_done |= mutant!(AnySideIsTaken);
        match op {
            Op::Load => {
                for inst in all {
                    let [Operand::IdRef(pointer)] = inst.operands.as_slice() else {
                        return Err("a load that is volatile");
                    };
                    let is_chain = self.inst(*pointer).is_some();
                    let base = match self.inst(*pointer) {
                        Some(chain) => chain.operands.first().and_then(Operand::id_ref_any),
                        None => Some(*pointer),
                    };
                    let role =
                        base.and_then(|base| self.roles.get(&base)).ok_or("a load that is not followed")?;
                    match role {
                        Role::Push | Role::BuiltIn(_) => {}
                        Role::Resource { array: None, .. }
                            if is_chain && !self.is_condition && is_always_done => {}
                        _ => return Err("a load under a condition, or of one"),
                    }
                }
                Ok(())
            }
            Op::AccessChain | Op::InBoundsAccessChain | Op::ArrayLength | Op::Undef | Op::CopyObject => {
                Ok(())
            }
            _ if !opcodes::is_pure(all[0]) => Err("an instruction that does more than compute"),
            _ if opcodes::has(op, opcodes::DIVIDES) && !(is_always_done && self.divides) => {
                Err("a division under a condition")
            }
            _ => Ok(()),
        }
    }
}
