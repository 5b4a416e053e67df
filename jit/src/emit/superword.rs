//! Several items of a work-group in one invocation, so that what neighbours have in common is loaded once.
//!
//! A stencil loads each element as often as it has neighbours. Where one invocation does `n` items that lie below each other, it loads the rows that they
//! have in common once. The way that items in the middle of a range take through the fused kernel is written for all of them ([`trace`]); whether
//! they take it is asked first, and where they do not, they are done one after another by the kernel as it is.
//!
//! # Requires
//! - the finished functions of a fused kernel whose members are free: no barrier, nothing that is shared, and nothing handed from one item to another
//!
//! # Guarantees
//! - each item of the work-group is done once, with its ids
//! - its instructions are the kernel's, in their order, on the same values; what is loaded once is what nobody writes
//!
//! Kernels that have no such way are left as they are: then the work-group has an invocation for each item.

mod conditions;
mod guard;
mod trace;
mod vectors;
mod words;

use std::rc::Rc;

use ahash::{AHashMap, AHashSet};
use rspirv::dr::{Function, Instruction, Operand};
use rspirv::spirv::{BuiltIn, LoopControl, Op, SelectionControl, StorageClass, Word};

use super::JitError;
use super::builder::{Builder, Code};
use super::emission::Emission;
use super::entry::Blocks;
use super::shared::Shared;
use crate::plan::recipe::Recipe;
use crate::schedule::Superword;
use trace::{Ids, Start, Tracer};
use vectors::{Touch, Vectors};
use words::Polynomial;

/// The ids that the items have instead of the invocation's.
const VIRTUAL: [BuiltIn; 3] =
    [BuiltIn::GlobalInvocationId, BuiltIn::LocalInvocationId, BuiltIn::LocalInvocationIndex];

/// Makes an entry point of a work-group of which each invocation does several items, if there is a way.
pub(super) fn run(emission: &mut Emission<'_>) -> Result<(), JitError> {
    let (entry, recipe) = (emission.entry()?, emission.recipe);
    let Some(how) = recipe.schedule.superword() else { return Ok(()) };
    if let Some((several, how)) = build(&mut emission.shared, recipe, how, entry)? {
        emission.entry = Some(several);
        emission.local_size[usize::from(how.axis)] /= how.items;
    }
    Ok(())
}

/// The new entry point and how it does its items, if there is a way for several items; `entry` is that for one.
fn build(
    shared: &mut Shared,
    recipe: &Recipe,
    how: Superword,
    entry: Word,
) -> Result<Option<(Word, Superword)>, JitError> {
    let functions: AHashMap<Word, Rc<Function>> = { shared.builder.module.functions.iter() }
        .filter_map(|function| Some((function.def_id()?, Rc::new(function.clone()))))
        .collect();
    let mut job = Job { shared, recipe, entry, functions: &functions };
    let beside = how.in_vectors();
    let chosen = beside.and_then(|beside| Some((job.in_vectors(beside)?, beside)));
    let Some((chosen, how)) = chosen.or_else(|| Some((job.better(how)?, how))) else {
        return Ok(None);
    };
    shared.builder.module.annotations.extend(chosen.annotations.iter().cloned());
    finish(shared, recipe, how, entry, chosen).map(|entry| Some((entry, how)))
}

/// What ways are written for.
struct Job<'a> {
    shared: &'a mut Shared,
    recipe: &'a Recipe,
    entry: Word,
    functions: &'a AHashMap<Word, Rc<Function>>,
}

/// A way that has been written.
struct Way {
    blocks: Vec<rspirv::dr::Block>,
    label: Word,
    /// Code that has to stand before.
    before: Code,
    holds: Option<Word>,
    spared: usize,
    met_clamps: bool,
    annotations: Vec<Instruction>,
    /// Accesses to buffers, if it is not known yet which are to vectors.
    touches: Vec<Touch>,
    /// Ids of the items, and of the invocation.
    ids: Vec<Word>,
}

impl Job<'_> {
    /// The way without clamps, if that spares more loads.
    fn better(&mut self, how: Superword) -> Option<Way> {
        // Clamps are left out only where something is gained by it.
        let plain = self.way(how, false, None);
        let unclamped = match &plain {
            Some(way) if !way.met_clamps => None,
            _ => self.way(how, true, None),
        };
        match (plain, unclamped) {
            (Some(plain), Some(other)) => Some(if other.spared > plain.spared { other } else { plain }),
            (plain, other) => plain.or(other),
        }
    }

    /// The way with vectors that has the fewest accesses to memory, if all that is stored can be vectors.
    fn in_vectors(&mut self, how: Superword) -> Option<Way> {
        let mut best: Option<(bool, Vectors)> = None;
        for clamps in [false, true] {
            let Some(way) = self.way(how, clamps, None) else { continue };
            let found = Vectors::of(&way.touches, &way.ids);
            if let Some(found) =
                found.filter(|one| best.as_ref().is_none_or(|(_, best)| one.left < best.left))
            {
                best = Some((clamps, found));
            }
            if !way.met_clamps {
                break;
            }
        }
        let (clamps, vectors) = best?;
        self.way(how, clamps, Some(Rc::new(vectors)))
    }

    /// Writes a way.
    fn way(&mut self, how: Superword, clamps: bool, vectors: Option<Rc<Vectors>>) -> Option<Way> {
        let Job { ref mut shared, recipe, entry, functions } = *self;
        let label = shared.builder.fresh();
        let mut before = Code::default();
        let common = common(shared, &mut before, recipe, how);
        let mut items = Vec::new();
        for k in 0..how.items {
            let number = shared.builder.constant(if mutant!(ItemsAreOne) { 0 } else { k });
            items.push(numbered(shared, &mut before, recipe, how, (&common, number)));
        }
        let variables = VIRTUAL.iter().filter_map(|&one| Some((shared.inputs.get(one)?.0, one))).collect();
        let base = how.consecutive.then_some((common.base, how.items));
        let start = Start {
            functions: functions.clone(),
            frozen: shared.bindings.frozen(&recipe.bindings).collect(),
            ids: Ids { variables, base },
            items: how.items as usize,
            clamps,
            vectors,
        };
        let mut tracer = Tracer::new(shared, label, start);
        for builtin in VIRTUAL {
            let values = items.iter().map(|item| item.of(builtin)).collect();
            tracer.set_ids(builtin, values);
        }
        let axis = usize::from(how.axis);
        for item in &items {
            [item.global, item.local]
                .as_flattened()
                .iter()
                .chain([&item.index])
                .for_each(|&id| tracer.note_id(id, None));
        }
        // What is known of them: so many times the invocation's number, or the first item's, and the item's own.
        let (from, times, distance) = match how.consecutive {
            true => (common.base, how.items, 1),
            false => (common.first.global[axis], 1, recipe.schedule.local_size()[axis] / how.items),
        };
        tracer.note_id(from, None);
        for (k, item) in (0..).zip(&items) {
            let words = Polynomial::word(from).times(&Polynomial::constant(times));
            let words = words.and_then(|words| words.plus(1, &Polynomial::constant(k * distance)));
            tracer.note_id(item.global[axis], words);
        }
        tracer.call(entry).ok()?;
        let conditions = std::mem::take(&mut tracer.conditions);
        let mut blocks = std::mem::replace(&mut tracer.blocks, Blocks::at(label)).finish();
        let needed: AHashSet<Word> = conditions.words().collect();
        hoist(&mut blocks, needed, &mut before);
        let holds = (!conditions.is_empty()).then(|| guard::write(&conditions, &mut tracer, &mut before));
        let spared = tracer.spared;
        let Tracer { met_clamps, annotations, touches, .. } = tracer;
        let of_items = items.iter().flat_map(|item| [item.global, item.local].concat());
        let ids = of_items.chain([from]).collect();
        Some(Way { blocks, label, before, holds, spared, met_clamps, annotations, touches, ids })
    }
}

/// The ids of one item, each component by itself.
#[derive(Clone, Copy)]
struct Item {
    global: [Word; 3],
    local: [Word; 3],
    index: Word,
}

impl Item {
    fn of(&self, builtin: BuiltIn) -> [Word; 3] {
        match builtin {
            BuiltIn::GlobalInvocationId => self.global,
            BuiltIn::LocalInvocationId => self.local,
            _ => [self.index; 3],
        }
    }
}

/// What all items of an invocation have in common.
struct Common {
    /// The invocation's number in the dimension in which its items follow each other, where they are next to each other.
    base: Word,
    /// Ids of the first item.
    first: Item,
}

/// The ids of the first item, and what those of the others are made of.
fn common(shared: &mut Shared, code: &mut Code, recipe: &Recipe, how: Superword) -> Common {
    let Shared { builder, inputs, .. } = shared;
    let axis = usize::from(how.axis);
    let mut local = inputs.all_components(builder, code, BuiltIn::LocalInvocationId);
    let group = inputs.all_components(builder, code, BuiltIn::WorkgroupId);
    let several = builder.constant(how.items);
    let mut base = 0;
    let global = std::array::from_fn(|d| {
        let is_several = d == axis && how.consecutive;
        let size = recipe.schedule.local_size()[d] / if is_several { how.items } else { 1 };
        let size = builder.constant(size);
        let start = code.math(builder, Op::IMul, group[d], size);
        let number = code.math(builder, Op::IAdd, start, local[d]);
        if !is_several {
            return number;
        }
        base = number;
        code.math(builder, Op::IMul, number, several)
    });
    if how.consecutive {
        local[axis] = code.math(builder, Op::IMul, local[axis], several);
    }
    Common { base, first: Item { global, local, index: 0 } }
}

/// The ids of the item with this number.
fn numbered(
    shared: &mut Shared,
    code: &mut Code,
    recipe: &Recipe,
    how: Superword,
    (common, number): (&Common, Word),
) -> Item {
    let builder = &mut shared.builder;
    let axis = usize::from(how.axis);
    let Item { mut global, mut local, .. } = common.first;
    let distance = if how.consecutive {
        number
    } else {
        let distance = builder.constant(recipe.schedule.local_size()[axis] / how.items);
        code.math(builder, Op::IMul, number, distance)
    };
    for id in [&mut global[axis], &mut local[axis]] {
        *id = code.math(builder, Op::IAdd, *id, distance);
    }
    let sizes = recipe.schedule.local_size().map(|size| builder.constant(size));
    let mut index = code.math(builder, Op::IMul, local[2], sizes[1]);
    index = code.math(builder, Op::IAdd, index, local[1]);
    index = code.math(builder, Op::IMul, index, sizes[0]);
    index = code.math(builder, Op::IAdd, index, local[0]);
    Item { global, local, index }
}

/// Moves what the conditions are made of before the question.
fn hoist(blocks: &mut [rspirv::dr::Block], mut needed: AHashSet<Word>, before: &mut Code) {
    let mut moved = Vec::new();
    for block in blocks.iter_mut().rev() {
        let mut kept = Vec::with_capacity(block.instructions.len());
        for inst in block.instructions.drain(..).rev() {
            if inst.result_id.is_some_and(|id| needed.contains(&id)) {
                needed.extend(inst.operands.iter().filter_map(Operand::id_ref_any));
                moved.push(inst);
            } else {
                kept.push(inst);
            }
        }
        kept.reverse();
        block.instructions = kept;
    }
    moved.reverse();
    before.0.extend(moved);
}

/// Writes the entry point around a way.
fn finish(
    shared: &mut Shared,
    recipe: &Recipe,
    how: Superword,
    entry: Word,
    chosen: Way,
) -> Result<Word, JitError> {
    let Way { blocks: way, label, before, holds, .. } = chosen;
    let mut blocks = Blocks::new(&mut shared.builder);
    blocks.code.0.extend(before.0);
    let end = shared.builder.fresh();
    match holds {
        Some(holds) => {
            let slow = shared.builder.fresh();
            let merge = vec![Operand::IdRef(end), Operand::SelectionControl(SelectionControl::NONE)];
            blocks.code.effect(Op::SelectionMerge, merge);
            blocks.code.effect(Op::BranchConditional, trace::ids(&[holds, label, slow]));
            append(&mut blocks, way, label);
            blocks.code.effect(Op::Branch, trace::ids(&[end]));
            blocks.next(slow);
            one_by_one(shared, &mut blocks, recipe, how, entry)?;
            blocks.code.effect(Op::Branch, trace::ids(&[end]));
            blocks.next(end);
        }
        None => {
            blocks.code.effect(Op::Branch, trace::ids(&[label]));
            append(&mut blocks, way, label);
            drop_functions(&mut shared.builder);
        }
    }
    Ok(super::entry::finish(shared, blocks))
}

/// Removes the members' functions, which nothing calls.
fn drop_functions(builder: &mut Builder) {
    let functions = std::mem::take(&mut builder.module.functions);
    let all = functions.iter().flat_map(Function::all_inst_iter);
    let inside: AHashSet<Word> = all.filter_map(|inst| inst.result_id).collect();
    let target = |inst: &Instruction| inst.operands.first().and_then(Operand::id_ref_any);
    builder.module.annotations.retain(|inst| target(inst).is_none_or(|id| !inside.contains(&id)));
}

/// Adds blocks, the last of which is left open.
fn append(blocks: &mut Blocks, way: Vec<rspirv::dr::Block>, first: Word) {
    for block in way {
        blocks.next(block.label_id().unwrap_or(first));
        blocks.code.0 = block.instructions;
    }
}

/// A loop over the items, each of which the kernel does as it is.
fn one_by_one(
    shared: &mut Shared,
    blocks: &mut Blocks,
    recipe: &Recipe,
    how: Superword,
    entry: Word,
) -> Result<(), JitError> {
    let common = common(shared, &mut blocks.code, recipe, how);
    let builder = &mut shared.builder;
    let [header, body, next, done, count, following] = std::array::from_fn(|_| builder.fresh());
    let (number, boolean) = (builder.u32(), builder.bool());
    let [zero, one, all] = [0, 1, how.items].map(|n| builder.constant(n));
    let before = blocks.label();
    blocks.code.effect(Op::Branch, trace::ids(&[header]));
    blocks.next(header);
    let incoming = trace::ids(&[zero, before, following, next]);
    blocks.code.0.push(Instruction::new(Op::Phi, Some(number), Some(count), incoming));
    let more = blocks.code.value(builder, Op::ULessThan, boolean, trace::ids(&[count, all]));
    let mut merge = trace::ids(&[done, next]);
    merge.push(Operand::LoopControl(LoopControl::DONT_UNROLL));
    blocks.code.effect(Op::LoopMerge, merge);
    blocks.code.effect(Op::BranchConditional, trace::ids(&[more, body, done]));
    blocks.next(body);
    let item = numbered(shared, &mut blocks.code, recipe, how, (&common, count));
    for builtin in VIRTUAL {
        let Some((input, ty)) = shared.inputs.get(builtin) else { continue };
        let builder = &mut shared.builder;
        let pointer = builder.pointer(StorageClass::Private, ty);
        let variable = builder.variable(StorageClass::Private, pointer, None);
        redirect(builder, input, variable)?;
        let code = &mut blocks.code;
        let uvec3 = builder.uvec3();
        let (mut value, of) = match builtin {
            BuiltIn::LocalInvocationIndex => (item.index, builder.u32()),
            _ => {
                let operands = trace::ids(&item.of(builtin));
                (code.value(builder, Op::CompositeConstruct, uvec3, operands), uvec3)
            }
        };
        if of != ty {
            value = code.value(builder, Op::Bitcast, ty, trace::ids(&[value]));
        }
        code.effect(Op::Store, trace::ids(&[variable, value]));
    }
    let builder = &mut shared.builder;
    let void = builder.void();
    blocks.code.value(builder, Op::FunctionCall, void, trace::ids(&[entry]));
    blocks.code.effect(Op::Branch, trace::ids(&[next]));
    blocks.next(next);
    let operands = trace::ids(&[count, one]);
    blocks.code.0.push(Instruction::new(Op::IAdd, Some(number), Some(following), operands));
    blocks.code.effect(Op::Branch, trace::ids(&[header]));
    blocks.next(done);
    Ok(())
}

/// Has all functions read a variable of the invocation's own instead of an input.
fn redirect(builder: &mut Builder, input: Word, variable: Word) -> Result<(), JitError> {
    let mut functions = std::mem::take(&mut builder.module.functions);
    let all = functions.iter_mut().flat_map(Function::all_inst_iter_mut);
    for inst in all.filter(|inst| inst.operands.contains(&Operand::IdRef(input))) {
        match inst.class.opcode {
            Op::Load => {}
            Op::AccessChain | Op::InBoundsAccessChain => {
                let pointee = { inst.result_type }
                    .and_then(|ty| builder.definitions.get(&ty)?.operands.get(1)?.id_ref_any());
                let pointee =
                    pointee.ok_or_else(|| JitError::new("superword", "a chain that is no pointer"))?;
                inst.result_type = Some(builder.pointer(StorageClass::Private, pointee));
            }
            op => return Err(JitError::new("superword", format!("{op:?} of an id"))),
        }
        for operand in &mut inst.operands {
            if *operand == Operand::IdRef(input) {
                *operand = Operand::IdRef(variable);
            }
        }
    }
    builder.module.functions = functions;
    Ok(())
}
