//! Several work-groups in one, side by side; or a work-group by fewer invocations ([`super::narrow`]), each of which does several of the kernel's.
//!
//! Each invocation does what the invocations of its local id do in `G` work-groups that follow each other: a load of one, the
//! same load of the next, and so on, then what comes after it. One barrier serves all of them. What of a function has to be
//! done for one work-group after another says [`analysis::uniformity`](crate::analysis::uniformity).
//!
//! The last work-group has fewer to do if their number is no multiple of `G`: it does them one by one, in a loop, with a
//! barrier between two of them, for they use the same shared memory. Whether a work-group is that one follows from its number, so
//! all of it takes that way.
//!
//! # Requires
//! - the finished functions of a fused kernel, and functions that `analysis::uniformity` has found a manner for
//!
//! # Guarantees
//! - each work-group of the kernel is done once, with its ids, its shared memory and its invocations' own variables
//! - control flow around barriers is what it was in the kernel

mod ids;
mod ranges;

use std::rc::Rc;

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Operand};
use rspirv::spirv::{Op, StorageClass, Word};

use super::JitError;
use super::builder::Builder;
use super::emission::Emission;
use super::entry::Blocks;
use super::link::Shared;
use crate::analysis::uniformity::{Alone, Construct, Globals, Manner, Manners, Sides, join_ends, manners};
use crate::plan::recipe::Recipe;
use crate::schedule::BlockCoarsening;
use ranges::Ranges;

/// What an invocation does several of, side by side.
#[derive(Clone, Copy)]
pub(super) enum Several {
    /// Work-groups that follow each other, and the invocation of its local id in each.
    Groups(BlockCoarsening),
    /// Invocations of its work-group, of which so many are left.
    Invocations { left: u32 },
}

impl Several {
    fn sides(self) -> Sides {
        match self {
            Self::Groups(how) => Sides::GroupsAlong(how.axis),
            Self::Invocations { .. } => Sides::Invocations,
        }
    }

    fn axis(self) -> usize {
        match self {
            Self::Groups(how) => usize::from(how.axis),
            Self::Invocations { .. } => 0,
        }
    }
}

/// One of the work-groups, or of the invocations, that an invocation does.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum One {
    /// By its number among those that are side by side.
    Numbered(u32),
    /// One of the last, whose number is in a variable.
    Rest,
}

/// What a function is written for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Version {
    Together,
    Alone(One),
}

/// What an instruction is written for: all work-groups of the version, or one, by its place among them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    Only(usize),
}

/// A value or label of the function: one for all work-groups, or one for each.
enum Value {
    Common(Word),
    Each(Vec<Word>),
}

impl Value {
    fn of(&self, place: usize) -> Word {
        match self {
            Self::Common(id) => *id,
            Self::Each(ids) => ids[place],
        }
    }
}

struct Original {
    function: Function,
    manner: Manner,
}

/// Writes the work-groups of the kernel side by side.
pub(super) fn run(emission: &mut Emission<'_>) -> Result<(), JitError> {
    let (entry, recipe) = (emission.entry()?, emission.recipe);
    let Some(how) = recipe.schedule.block_coarsening() else { return Ok(()) };
    emission.entry = Some(build(&mut emission.shared, recipe, how, entry)?);
    Ok(())
}

/// Writes the work-groups of the kernel with this entry point side by side; returns the id of the new entry point.
fn build(shared: &mut Shared, recipe: &Recipe, how: BlockCoarsening, entry: Word) -> Result<Word, JitError> {
    let mut weaver = Weaver::new(shared, recipe, Several::Groups(how), how.groups)?;
    let together = weaver.version(entry, Version::Together)?;
    let main = match how.total {
        None => together,
        Some(total) => {
            let rest = weaver.version(entry, Version::Alone(One::Rest))?;
            weaver.choose(together, rest, total)
        }
    };
    weaver.decorate();
    Ok(main)
}

/// Writes the invocations of the kernel's work-group with this entry point side by side, `several` by each of those that are left; returns the id of the new
/// entry point, or none if the kernel has no such way.
pub(super) fn build_narrow(
    shared: &mut Shared,
    recipe: &Recipe,
    several: u32,
    entry: Word,
) -> Result<Option<Word>, JitError> {
    let what = Several::Invocations { left: recipe.schedule.local_size()[0] / several };
    shared.builder.module.functions.iter_mut().for_each(join_ends);
    let frozen = shared.bindings.frozen(&recipe.bindings).collect();
    let found = ways(&shared.builder, frozen, what);
    if !found.is_ok_and(|(_, known)| matches!(known.of.get(&entry), Some(Manner::Together { .. }))) {
        return Ok(None);
    }
    let mut weaver = Weaver::new(shared, recipe, what, several)?;
    let together = weaver.version(entry, Version::Together)?;
    weaver.decorate();
    Ok(Some(together))
}

/// What is known of the functions of a finished kernel.
fn ways(builder: &Builder, frozen: AHashSet<Word>, what: Several) -> Result<(Globals, Manners), Alone> {
    let module = &builder.module;
    let mut globals = Globals::of(module.types_global_values.iter(), module.annotations.iter(), what.sides());
    globals.frozen = frozen;
    let manners = manners(&module.functions, &mut globals)?;
    Ok((globals, manners))
}

struct Weaver<'a> {
    shared: &'a mut Shared,
    what: Several,
    /// How many are side by side.
    several: u32,
    /// Local size of the kernel in the dimension in which the work-groups, or invocations, follow each other.
    local: u32,
    globals: Globals,
    originals: AHashMap<Word, Rc<Original>>,
    /// Variables of which each work-group has its own.
    own: AHashMap<Word, Vec<Word>>,
    /// Pointers to shared memory that they have one copy of.
    one: AHashSet<Word>,
    /// Holds the number of one of the last work-groups.
    rest: Option<Word>,
    versions: AHashMap<(Word, Version), Word>,
    /// What is known of local ids, where invocations are side by side, and of what is made of them.
    ranges: Ranges,
    /// What became of the ids of the functions.
    renamed: AHashMap<Word, Vec<Word>>,
}

/// A function that is being written.
struct Body<'a> {
    original: &'a Function,
    version: Version,
    groups: Vec<One>,
    apart: &'a [Construct],
    values: AHashMap<Word, Value>,
    labels: AHashMap<Word, Value>,
    /// Pointers to ids, or to a component of one.
    chains: AHashMap<Word, (Word, Option<Word>)>,
    blocks: Blocks,
}

impl<'a> Weaver<'a> {
    fn new(shared: &'a mut Shared, recipe: &Recipe, what: Several, several: u32) -> Result<Self, JitError> {
        let builder = &mut shared.builder;
        let (globals, manners) = ways(builder, shared.bindings.frozen(&recipe.bindings).collect(), what)
            .map_err(|alone| JitError::new("interleave", alone.to_string()))?;
        let Manners { mut of, one } = manners;
        let functions = std::mem::take(&mut builder.module.functions);
        let mut originals = AHashMap::new();
        for function in functions {
            let id = function.def_id().unwrap_or(0);
            let manner =
                of.remove(&id).ok_or_else(|| JitError::new("interleave", "a function without a name"))?;
            originals.insert(id, Rc::new(Original { function, manner }));
        }
        let mut own = AHashMap::new();
        for inst in builder.module.types_global_values.clone() {
            let (Some(id), Some(pointer)) = (inst.result_id, inst.result_type) else { continue };
            let Some(Operand::StorageClass(class)) = inst.operands.first() else { continue };
            if globals.own.contains(&id) && !globals.common.contains(&id) {
                let mut all = vec![id];
                all.extend((1..several).map(|_| match mutant!(SharedMemoryIsOne) {
                    true => id,
                    false => builder.variable(*class, pointer, None),
                }));
                own.insert(id, all);
            }
        }
        let total = match what {
            Several::Groups(how) => how.total,
            Several::Invocations { .. } => None,
        };
        let rest = total.map(|_| {
            let number = builder.u32();
            let pointer = builder.pointer(StorageClass::Private, number);
            builder.variable(StorageClass::Private, pointer, None)
        });
        let local = recipe.schedule.local_size()[what.axis()];
        let (versions, renamed, ranges) = (AHashMap::new(), AHashMap::new(), Ranges::default());
        Ok(Self {
            shared,
            what,
            several,
            local,
            globals,
            originals,
            own,
            one,
            rest,
            versions,
            ranges,
            renamed,
        })
    }

    /// The id of a version of a function, which is written if it is new.
    fn version(&mut self, function: Word, version: Version) -> Result<Word, JitError> {
        if let Some(&known) = self.versions.get(&(function, version)) {
            return Ok(known);
        }
        let original = self.originals.get(&function).cloned();
        let original = original.ok_or_else(|| JitError::new("interleave", "a call of no function"))?;
        let id = self.shared.builder.fresh();
        self.versions.insert((function, version), id);
        self.write(id, &original, version)?;
        Ok(id)
    }

    fn write(&mut self, id: Word, original: &Original, version: Version) -> Result<(), JitError> {
        let function = &original.function;
        let (groups, apart, varying) = match (version, &original.manner) {
            (Version::Alone(one), _) => (vec![one], &[][..], None),
            (Version::Together, Manner::Together { apart, varying }) => {
                ((0..self.several).map(One::Numbered).collect(), apart.as_slice(), Some(varying))
            }
            (Version::Together, Manner::InTurn) => {
                return Err(JitError::new("interleave", "nothing to do side by side"));
            }
        };
        let builder = &mut self.shared.builder;
        let mut each = |all: bool| match all {
            true => Value::Each(groups.iter().map(|_| builder.fresh()).collect()),
            false => Value::Common(builder.fresh()),
        };
        let (mut values, mut labels) = (AHashMap::new(), AHashMap::new());
        for (number, block) in function.blocks.iter().enumerate() {
            let several = apart.iter().any(|one| one.merge == number || one.blocks.contains(&number));
            labels.insert(block.label_id().unwrap_or(0), each(several));
            for inst in &block.instructions {
                if let Some(result) = inst.result_id {
                    values.insert(result, each(varying.is_none_or(|varying| varying.contains(&result))));
                }
            }
        }
        let first = function.blocks.first().and_then(|block| labels.get(&block.label_id()?));
        let first = first.map_or(0, |label| label.of(0));
        let blocks = Blocks::at(first);
        let chains = AHashMap::new();
        let mut body = Body { original: function, version, groups, apart, values, labels, chains, blocks };
        self.body(&mut body)?;
        let mut def = function.def.clone();
        if let Some(def) = &mut def {
            def.result_id = Some(id);
        }
        self.shared.builder.module.functions.push(Function {
            def,
            end: function.end.clone(),
            parameters: Vec::new(),
            blocks: body.blocks.finish(),
        });
        Ok(())
    }

    fn body(&mut self, body: &mut Body<'_>) -> Result<(), JitError> {
        for number in 0..body.original.blocks.len() {
            if let Some(one) = body.apart.iter().find(|one| one.blocks.contains(&number)) {
                if one.is_loop && one.header == number {
                    self.in_turn(body, one)?;
                }
                continue;
            }
            let met = body.apart.iter().any(|one| one.merge == number);
            let last = body.groups.len() - 1;
            if number > 0 {
                let label = body.label(number).of(if met { last } else { 0 });
                body.blocks.next(label);
            }
            let block = &body.original.blocks[number];
            let parts = body.apart.iter().find(|one| !one.is_loop && one.header == number);
            for inst in &block.instructions {
                let which = if met && inst.class.opcode == Op::Phi { Which::Only(last) } else { Which::All };
                let ends = matches!(
                    inst.class.opcode,
                    Op::SelectionMerge | Op::BranchConditional | Op::Switch | Op::Branch
                );
                if parts.is_none() || !ends {
                    self.instruction(body, inst, which)?;
                }
            }
            if let Some(one) = parts {
                self.in_turn(body, one)?;
            }
        }
        Ok(())
    }

    /// Writes a construct for one work-group after another, up to what comes before the rest of the merge block.
    fn in_turn(&mut self, body: &mut Body<'_>, one: &Construct) -> Result<(), JitError> {
        let blocks = &body.original.blocks;
        for place in 0..body.groups.len() {
            let which = Which::Only(place);
            if !one.is_loop {
                if self.is_passed_by(body, one, place) {
                    let next = body.label(one.merge).of(place);
                    body.blocks.code.effect(Op::Branch, vec![Operand::IdRef(next)]);
                    if place + 1 < body.groups.len() {
                        body.blocks.next(next);
                    }
                    continue;
                }
                let length = blocks[one.header].instructions.len();
                for inst in &blocks[one.header].instructions[length.saturating_sub(2)..] {
                    self.instruction(body, inst, which)?;
                }
            }
            for &number in &one.blocks {
                let label = body.label(number).of(place);
                body.blocks.next(label);
                for inst in &blocks[number].instructions {
                    self.instruction(body, inst, which)?;
                }
            }
            if place + 1 == body.groups.len() {
                break;
            }
            let label = body.label(one.merge).of(place);
            body.blocks.next(label);
            let phis = blocks[one.merge].instructions.iter().take_while(|inst| inst.class.opcode == Op::Phi);
            for phi in phis {
                self.instruction(body, phi, which)?;
            }
            if one.is_loop {
                let next = body.label(one.header).of(place + 1);
                body.blocks.code.effect(Op::Branch, vec![Operand::IdRef(next)]);
            }
        }
        Ok(())
    }

    fn instruction(&mut self, body: &mut Body<'_>, inst: &Instruction, which: Which) -> Result<(), JitError> {
        let first = inst.operands.first().and_then(Operand::id_ref_any);
        match inst.class.opcode {
            Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject => {
                if let (Some(place), Some(result)) =
                    (first.and_then(|at| self.id_at(body, at)), inst.result_id)
                {
                    let component = inst.operands.get(1).and_then(Operand::id_ref_any).or(place.1);
                    body.chains.insert(result, (place.0, component));
                    return Ok(());
                }
            }
            Op::Load => {
                if let Some(place) = first.and_then(|at| self.id_at(body, at)) {
                    for at in body.copies(inst, which, false) {
                        self.load_id(body, inst, place, at);
                    }
                    return Ok(());
                }
            }
            Op::FunctionCall => return self.call(body, inst, which),
            // One serves all.
            Op::ControlBarrier | Op::MemoryBarrier => {
                let operands = inst.operands.clone();
                body.blocks.code.effect(inst.class.opcode, operands);
                return Ok(());
            }
            Op::Branch
            | Op::BranchConditional
            | Op::Switch
            | Op::SelectionMerge
            | Op::LoopMerge
            | Op::Return
            | Op::Unreachable => {
                let place = match which {
                    Which::All => 0,
                    Which::Only(place) => place,
                };
                let operands = self.operands(body, inst, which, place);
                body.blocks.code.effect(inst.class.opcode, operands);
                return Ok(());
            }
            _ => {}
        }
        let once = inst.class.opcode == Op::Store && first.is_some_and(|at| self.one.contains(&at));
        for place in body.copies(inst, which, once) {
            let operands = match inst.class.opcode {
                Op::Phi => self.phi(body, inst, which, place),
                _ => self.operands(body, inst, which, place),
            };
            let result = inst.result_id.map(|id| self.renamed(body, id, place));
            let mut copy = Instruction::new(inst.class.opcode, inst.result_type, result, operands);
            if matches!(self.what, Several::Invocations { .. })
                && let Some(truth) = self.ranges.follow(&self.shared.builder, &copy)
            {
                let truth = vec![Operand::IdRef(self.shared.builder.truth(truth))];
                copy = Instruction::new(Op::CopyObject, inst.result_type, result, truth);
            }
            body.blocks.code.0.push(copy);
        }
        Ok(())
    }

    /// The id of a result in one of the work-groups.
    fn renamed(&mut self, body: &Body<'_>, id: Word, place: usize) -> Word {
        let new = body.values.get(&id).map_or(id, |value| value.of(place));
        self.renamed.entry(id).or_default().push(new);
        new
    }

    fn value(&self, body: &Body<'_>, id: Word, place: usize) -> Word {
        if let Some(value) = body.values.get(&id) {
            return value.of(place);
        }
        let own = match body.groups[place] {
            One::Numbered(number) => number as usize,
            One::Rest => 0,
        };
        self.own.get(&id).map_or(id, |all| all[own])
    }

    fn operands(&self, body: &Body<'_>, inst: &Instruction, which: Which, place: usize) -> Vec<Operand> {
        let mapped = |operand: &Operand| match operand {
            Operand::IdRef(id) if body.labels.contains_key(id) => Operand::IdRef(body.target(*id, which)),
            Operand::IdRef(id) => Operand::IdRef(self.value(body, *id, place)),
            other => other.clone(),
        };
        inst.operands.iter().map(mapped).collect()
    }

    /// A phi, of which the blocks that come before have names of their own.
    fn phi(&self, body: &Body<'_>, inst: &Instruction, which: Which, place: usize) -> Vec<Operand> {
        let pairs = inst
            .operands
            .chunks(2)
            .filter_map(|pair| Some((pair.first()?.id_ref_any()?, pair.get(1)?.id_ref_any()?)));
        let copied = pairs.flat_map(|(value, from)| {
            let from = match which {
                Which::All => body.end_of(from, 0),
                Which::Only(place) => body.end_of(from, place),
            };
            [self.value(body, value, place), from]
        });
        copied.map(Operand::IdRef).collect()
    }

    fn call(&mut self, body: &mut Body<'_>, inst: &Instruction, which: Which) -> Result<(), JitError> {
        let callee = inst.operands.first().and_then(Operand::id_ref_any).unwrap_or(0);
        let together =
            self.originals.get(&callee).is_some_and(|f| matches!(f.manner, Manner::Together { .. }));
        let versions: Vec<Version> = match (body.version, which) {
            (Version::Together, Which::All) if together => vec![Version::Together],
            _ => body.places(which).map(|place| Version::Alone(body.groups[place])).collect(),
        };
        for version in versions {
            let function = self.version(callee, version)?;
            let ty = inst.result_type.unwrap_or(0);
            body.blocks.code.value(
                &mut self.shared.builder,
                Op::FunctionCall,
                ty,
                vec![Operand::IdRef(function)],
            );
        }
        Ok(())
    }

    /// Decorations of values go to all that became of them, and those of variables to all work-groups' own.
    fn decorate(&mut self) {
        let annotations = std::mem::take(&mut self.shared.builder.module.annotations);
        let inside: AHashSet<Word> = self
            .originals
            .values()
            .flat_map(|original| original.function.all_inst_iter().filter_map(|inst| inst.result_id))
            .collect();
        for inst in annotations {
            let Some(Operand::IdRef(id)) = inst.operands.first().cloned() else { continue };
            let ids = match (inside.contains(&id), self.own.get(&id)) {
                (true, _) => self.renamed.get(&id).cloned().unwrap_or_default(),
                (false, Some(own)) => own.clone(),
                (false, None) => vec![id],
            };
            for id in ids {
                let mut copy = inst.clone();
                copy.operands[0] = Operand::IdRef(id);
                self.shared.builder.module.annotations.push(copy);
            }
        }
    }
}

impl Body<'_> {
    fn label(&self, block: usize) -> &Value {
        &self.labels[&self.original.blocks[block].label_id().unwrap_or(0)]
    }

    /// The places among the work-groups that something is written for.
    fn places(&self, which: Which) -> std::ops::Range<usize> {
        match which {
            Which::All => 0..self.groups.len(),
            Which::Only(place) => place..place + 1,
        }
    }

    /// The places that an instruction is written for: one, if its result is common, or what it stores is (`once`).
    fn copies(&self, inst: &Instruction, which: Which, once: bool) -> std::ops::Range<usize> {
        let result = inst.result_id.and_then(|id| self.values.get(&id));
        let common = once || result.is_some_and(|value| matches!(value, Value::Common(_)));
        let all = self.places(which);
        if common { all.start..all.start + 1 } else { all }
    }

    fn block_of(&self, label: Word) -> Option<usize> {
        self.original.blocks.iter().position(|block| block.label_id() == Some(label))
    }

    /// Where a branch or a merge instruction leads.
    fn target(&self, label: Word, which: Which) -> Word {
        let value = &self.labels[&label];
        match which {
            Which::Only(place) => value.of(place),
            Which::All => {
                let number = self.block_of(label);
                let met = self.apart.iter().any(|one| Some(one.merge) == number);
                value.of(if met { self.groups.len() - 1 } else { 0 })
            }
        }
    }

    /// The label under which control comes from the end of a block, in what is written for the work-group at `place`.
    fn end_of(&self, label: Word, place: usize) -> Word {
        let Some(number) = self.block_of(label) else { return label };
        let value = &self.labels[&label];
        if self.apart.iter().any(|one| one.blocks.contains(&number)) {
            return value.of(place);
        }
        // The construct that begins there: behind the first of its copies, it begins where the copy before has ended.
        let begun = self.apart.iter().find(|one| match one.is_loop {
            false => one.header == number,
            true => {
                let header = self.original.blocks[one.header].label_id();
                let last = self.original.blocks[number].instructions.last();
                last.is_some_and(|last| last.operands.iter().any(|o| o.id_ref_any() == header))
            }
        });
        if let Some(one) = begun.filter(|_| place > 0) {
            return self.label(one.merge).of(place - 1);
        }
        let met = self.apart.iter().any(|one| one.merge == number);
        value.of(if met { self.groups.len() - 1 } else { 0 })
    }
}
