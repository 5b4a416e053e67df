//! Writes a loop or a guard around the body of a kernel, and makes its ids those of the item that it is to do.
//!
//! # Requires
//! - a kernel in normal form, of which `free::why_not_free` has nothing to say
//!
//! # Guarantees
//! - the body runs for an item exactly as in an invocation of the kernel's own dispatch: local variables are as at the start of
//!   one, and a return ends that item alone
//! - which items an invocation does is what [`Order`] says; the rest of the module is as it was, but for an item's number that is divided
//!   by `w`: quotient and remainder are there already
//!
//! # Refuses
//! - ids used otherwise than by loads; push constants whose block is a buffer's as well
//! - a loop around a body that returns from inside of a loop: nothing leads from there to the next item

use ahash::AHashMap;
use rspirv::dr::{Block, Function, Instruction, Module, Operand};
use rspirv::spirv::{BuiltIn, LoopControl, Op, SelectionControl, Word};
use smallvec::SmallVec;

use super::free::VIRTUAL;
use super::order::{Digits, Numbering, Order, Spread, line_of};
use super::quotient;
use super::writer::{Pushed, Result, Writer, words_at};
use crate::analysis::cfg::Cfg;
use crate::frontend::{
    defs::Defs,
    resource::{self, Role},
};
use crate::kernel::Specialized;

/// The kernel in another order, as a module.
///
/// `widths` are the first bytes of words of its push constants that are `w`.
pub(super) fn wrap(
    kernel: &Specialized,
    numbering: Numbering,
    order: Order,
    local: [u32; 3],
    widths: &[u32],
) -> Result<Module> {
    let normal = kernel.normal.as_ref().map_err(|_| "no normal form")?;
    let mut module = normal.module.clone();
    let [function] = module.functions.as_mut_slice() else { return Err("several functions") };
    let mut function = std::mem::take(function);
    if order == Order::Rows && returns_in_a_loop(&function) {
        return Err("it returns from inside of a loop");
    }
    let mut writer = Writer::new(module)?;
    let counted = numbering.counted();
    let words = writer.push_words(words_at(kernel), order.words() + counted.len() as u32)?;
    let (words, counts) = words.split_at(order.words() as usize);
    let mut ids = Ids::find(&writer)?;
    let item = writer.fresh();
    let mut head = Vec::new();
    let size = kernel.interface.local_size;
    match numbering {
        Numbering::Invocations(spread) => ids.number(&mut writer, &mut head, item, size, (spread, counts)),
        Numbering::GlobalIds(digits) => ids.digits(&mut writer, &mut head, item, size, (digits, counts)),
    }
    for block in &mut function.blocks {
        ids.replace(&mut writer, block)?;
    }
    let place = [writer.fresh(), writer.fresh()];
    if order != Order::Line {
        quotient::replace(&mut writer, &mut function, item, place, widths);
    }
    let variables = variables(&mut writer, &mut function, &mut head)?;
    match order {
        Order::Rows => {
            let dim = line_of(local).ok_or("rows of work-groups that are no line")?;
            rows(&mut writer, &mut function, (variables, head), (item, place), words, (dim, local[dim]));
        }
        Order::Grid => grid(&mut writer, &mut function, (variables, head), (item, place), words),
        Order::Line => line(&mut writer, &mut function, (variables, head), (item, place), words),
    }
    writer.shape(local);
    Ok(writer.finish(function))
}

/// The kernel with an empty body.
pub(super) fn nothing(kernel: &Specialized, local: [u32; 3]) -> Result<Module> {
    let normal = kernel.normal.as_ref().map_err(|_| "no normal form")?;
    let mut module = normal.module.clone();
    let [function] = module.functions.as_mut_slice() else { return Err("several functions") };
    let mut function = std::mem::take(function);
    let mut writer = Writer::new(module)?;
    let label = writer.fresh();
    function.blocks = vec![block(label, vec![writer.effect(Op::Return, Vec::new())])];
    writer.shape(local);
    Ok(writer.finish(function))
}

/// Whether a kernel's body is empty.
pub(super) fn is_nothing(module: &Module) -> bool {
    let [function] = module.functions.as_slice() else { return false };
    let [block] = function.blocks.as_slice() else { return false };
    block.instructions.iter().all(|inst| inst.class.opcode == Op::Return)
}

/// Whether a return lies in the construct of a loop, of which only its merge block and its continue target may be branched to.
fn returns_in_a_loop(function: &Function) -> bool {
    let cfg = Cfg::new(function);
    let merge_of = |block: &Block| {
        let merge = block.instructions.iter().find(|inst| inst.class.opcode == Op::LoopMerge)?;
        cfg.block_of_label(merge.operands.first()?.id_ref_any()?)
    };
    let returns = |block: &Block| block.instructions.iter().any(|inst| inst.class.opcode == Op::Return);
    let blocks = || function.blocks.iter().enumerate();
    let mut loops = blocks().filter_map(|(header, block)| Some((header, merge_of(block)?)));
    loops.any(|(header, merge)| {
        blocks().any(|(at, block)| returns(block) && cfg.dominates(header, at) && !cfg.dominates(merge, at))
    })
}

/// Takes the local variables out of the body. What they start with is stored where each item begins.
fn variables(
    writer: &mut Writer,
    function: &mut Function,
    head: &mut Vec<Instruction>,
) -> Result<Vec<Instruction>> {
    let first = function.blocks.first_mut().ok_or("no body")?;
    let count = first.instructions.iter().take_while(|inst| inst.class.opcode == Op::Variable).count();
    let mut variables: Vec<Instruction> = first.instructions.drain(..count).collect();
    for variable in &mut variables {
        let (Some(id), Some(value)) = (variable.result_id, variable.operands.get(1).cloned()) else {
            continue;
        };
        if !mutant!(VariablesKeepTheirValues) {
            variable.operands.truncate(1);
            head.push(writer.effect(Op::Store, vec![Operand::IdRef(id), value]));
        }
    }
    Ok(variables)
}

/// `for (j = l; j < w; j += L) body(r w + j)`.
fn rows(
    writer: &mut Writer,
    function: &mut Function,
    (variables, mut head): (Vec<Instruction>, Vec<Instruction>),
    (item, [row, column]): (Word, [Word; 2]),
    words: &[Pushed],
    (dim, local): (usize, u32),
) {
    let u32 = writer.u32();
    let step = writer.constant(local + u32::from(mutant!(RoundsAreLonger)));
    let [entry, header, test, next, exit] = std::array::from_fn(|_| writer.fresh());
    let body = label_of(function);
    let mut code = variables;
    writer.component_as(&mut code, BuiltIn::WorkgroupId, 0, row);
    let start = writer.component(&mut code, BuiltIn::LocalInvocationId, dim as u32);
    let width = writer.load(&mut code, words[0]);
    let base = writer.math(&mut code, Op::IMul, row, width);
    code.push(writer.branch(header));
    let first = block(entry, code);

    let stepped = writer.fresh();
    let phi = [start, entry, stepped, next].map(Operand::IdRef).to_vec();
    let merge = vec![Operand::IdRef(exit), Operand::IdRef(next), Operand::LoopControl(LoopControl::NONE)];
    let opens = vec![
        Instruction::new(Op::Phi, Some(u32), Some(column), phi),
        writer.effect(Op::LoopMerge, merge),
        writer.branch(test),
    ];
    let mut tests = Vec::new();
    let goes_on = writer.compare(&mut tests, column, width);
    tests.push(writer.choose(goes_on, body, exit));

    let joins = returns(writer, function, next);
    let sum = [base, column].map(Operand::IdRef).to_vec();
    head.insert(0, Instruction::new(Op::IAdd, Some(u32), Some(item), sum));
    begin(function, head);
    let steps = [column, step].map(Operand::IdRef).to_vec();
    let ends = vec![Instruction::new(Op::IAdd, Some(u32), Some(stepped), steps), writer.branch(header)];
    let before = [first, block(header, opens), block(test, tests)];
    function.blocks.splice(0..0, before);
    function.blocks.extend(joins);
    function.blocks.push(block(next, ends));
    function.blocks.push(block(exit, vec![writer.effect(Op::Return, Vec::new())]));
}

/// Makes a return end one item: go to `next`, where the loop goes on. A selection of which a side always returns becomes one around all
/// that comes after it, so that there is one way to `next`: loops of several cannot be written out, and a driver is known that
/// cannot compile some of them (docs/drivers.md). Returns the blocks in which these selections end, innermost first.
fn returns(writer: &mut Writer, function: &mut Function, next: Word) -> Vec<Block> {
    let joins = returns_at_the_end(writer, function, next);
    // Where only one of the ways through a side returns.
    for inst in function.blocks.iter_mut().flat_map(|block| &mut block.instructions) {
        if inst.class.opcode == Op::Return {
            *inst = writer.branch(next);
        }
    }
    joins
}

/// The same, but for returns that only one of the ways through a side comes to: these stay.
pub(super) fn returns_at_the_end(writer: &mut Writer, function: &mut Function, next: Word) -> Vec<Block> {
    let at: AHashMap<Word, usize> =
        function.blocks.iter().enumerate().filter_map(|(at, block)| Some((block.label_id()?, at))).collect();
    // Branches to a block: of one that several guards share, none may be sent elsewhere.
    let mut branches = vec![0; function.blocks.len()];
    for last in function.blocks.iter().filter_map(|block| block.instructions.last()) {
        let targets = last.operands.iter().filter_map(|operand| at.get(&operand.id_ref_any()?));
        targets.for_each(|&target| branches[target] += 1);
    }
    let mut joins = Vec::new();
    // Where a way begins, and where a return on it is to go.
    let mut ways = vec![(0, next)];
    // Each block is come to once: what follows a construct comes after it.
    for _ in 0..function.blocks.len() {
        let Some((here, target)) = ways.pop() else { break };
        let Some([.., last]) = function.blocks.get(here).map(|block| block.instructions.as_slice()) else {
            continue;
        };
        let Some((merge, sides)) = construct(function, &at, here) else {
            match last.class.opcode {
                Op::Branch => ways.extend(id(last, 0).and_then(|to| at.get(&to)).map(|to| (*to, target))),
                Op::Return => set_last(function, here, writer.branch(target)),
                _ => {}
            }
            continue;
        };
        let always_returns =
            |side: usize| side != merge && branches[side] == 1 && !reaches(function, &at, side, merge);
        let out: SmallVec<[usize; 2]> = sides.into_iter().filter(|side| always_returns(*side)).collect();
        // What comes after is not the end of a construct any more: only one block may lead there.
        if sides[0] == sides[1] || out.is_empty() || branches[merge] + out.len() != 2 {
            ways.push((merge, target));
            continue;
        }
        let join = writer.fresh();
        let ends_at = vec![Operand::IdRef(join), Operand::SelectionControl(SelectionControl::NONE)];
        let length = function.blocks[here].instructions.len();
        function.blocks[here].instructions[length - 2] = writer.effect(Op::SelectionMerge, ends_at);
        joins.push(block(join, vec![writer.branch(target)]));
        // The other side leads on to what comes after.
        ways.extend(sides.map(|side| (side, join)));
    }
    joins.reverse();
    joins
}

/// The merge block and the sides of a selection that a block opens with a condition; of another construct its merge block twice
/// more. None of a block that opens nothing.
fn construct(function: &Function, at: &AHashMap<Word, usize>, block: usize) -> Option<(usize, [usize; 2])> {
    let [.., merge, last] = function.blocks[block].instructions.as_slice() else { return None };
    let to = |label: Option<Word>| at.get(&label?).copied();
    if !matches!(merge.class.opcode, Op::SelectionMerge | Op::LoopMerge) {
        return None;
    }
    let after = to(id(merge, 0))?;
    if merge.class.opcode == Op::LoopMerge || last.class.opcode != Op::BranchConditional {
        return Some((after, [after; 2]));
    }
    Some((after, [to(id(last, 1))?, to(id(last, 2))?]))
}

/// Whether a way leads from one block to another.
fn reaches(function: &Function, at: &AHashMap<Word, usize>, from: usize, to: usize) -> bool {
    let (mut seen, mut ways) = (vec![false; function.blocks.len()], vec![from]);
    while let Some(here) = ways.pop() {
        if here == to {
            return true;
        }
        if std::mem::replace(&mut seen[here], true) {
            continue;
        }
        let Some(last) = function.blocks[here].instructions.last() else { continue };
        ways.extend(last.operands.iter().filter_map(|operand| at.get(&operand.id_ref_any()?)));
    }
    false
}

fn id(inst: &Instruction, n: usize) -> Option<Word> {
    inst.operands.get(n).and_then(Operand::id_ref_any)
}

fn set_last(function: &mut Function, block: usize, to: Instruction) {
    if let Some(last) = function.blocks[block].instructions.last_mut() {
        *last = to;
    }
}

/// `if (x < w && y w + x < n) body(y w + x)`.
fn grid(
    writer: &mut Writer,
    function: &mut Function,
    (variables, head): (Vec<Instruction>, Vec<Instruction>),
    (item, [y, x]): (Word, [Word; 2]),
    words: &[Pushed],
) {
    let u32 = writer.u32();
    let mut code = variables;
    writer.component_as(&mut code, BuiltIn::GlobalInvocationId, 0, x);
    writer.component_as(&mut code, BuiltIn::GlobalInvocationId, 1, y);
    let width = writer.load(&mut code, words[0]);
    let total = writer.load(&mut code, words[1]);
    let row = writer.math(&mut code, Op::IMul, y, width);
    code.push(Instruction::new(Op::IAdd, Some(u32), Some(item), [row, x].map(Operand::IdRef).to_vec()));
    let in_row = writer.compare(&mut code, x, width);
    let in_range = writer.compare(&mut code, item, total);
    let in_row = if mutant!(RowsGoOn) { in_range } else { in_row };
    guarded(writer, function, (code, head), [in_row, in_range]);
}

/// `if (x >= s && x < e) body(x - s)`.
fn line(
    writer: &mut Writer,
    function: &mut Function,
    (variables, head): (Vec<Instruction>, Vec<Instruction>),
    (item, [_, x]): (Word, [Word; 2]),
    words: &[Pushed],
) {
    let u32 = writer.u32();
    let mut code = variables;
    writer.component_as(&mut code, BuiltIn::GlobalInvocationId, 0, x);
    let start = writer.load(&mut code, words[0]);
    let end = writer.load(&mut code, words[1]);
    code.push(Instruction::new(Op::ISub, Some(u32), Some(item), [x, start].map(Operand::IdRef).to_vec()));
    let is_behind = writer.test(&mut code, Op::UGreaterThanEqual, x, start);
    let is_before = writer.compare(&mut code, x, end);
    let is_behind = if mutant!(LinesBeginEarlier) { is_before } else { is_behind };
    guarded(writer, function, (code, head), [is_behind, is_before]);
}

/// Does the body where two conditions hold.
fn guarded(
    writer: &mut Writer,
    function: &mut Function,
    (mut code, head): (Vec<Instruction>, Vec<Instruction>),
    conditions: [Word; 2],
) {
    let [entry, exit, both] = std::array::from_fn(|_| writer.fresh());
    let (body, boolean) = (label_of(function), writer.bool());
    let parts = conditions.map(Operand::IdRef).to_vec();
    code.push(Instruction::new(Op::LogicalAnd, Some(boolean), Some(both), parts));
    let merge = vec![Operand::IdRef(exit), Operand::SelectionControl(SelectionControl::NONE)];
    code.push(writer.effect(Op::SelectionMerge, merge));
    code.push(writer.choose(both, body, exit));
    begin(function, head);
    function.blocks.insert(0, block(entry, code));
    function.blocks.push(block(exit, vec![writer.effect(Op::Return, Vec::new())]));
}

fn label_of(function: &Function) -> Word {
    function.blocks.first().and_then(Block::label_id).unwrap_or(0)
}

/// Puts instructions where the body begins.
fn begin(function: &mut Function, head: Vec<Instruction>) {
    if let Some(first) = function.blocks.first_mut() {
        first.instructions.splice(0..0, head);
    }
}

fn label_of_block(label: Word) -> Instruction {
    Instruction::new(Op::Label, None, Some(label), Vec::new())
}

fn block(label: Word, instructions: Vec<Instruction>) -> Block {
    Block { label: Some(label_of_block(label)), instructions }
}

/// The ids of the item in the place of those of the invocation.
pub(super) struct Ids {
    /// Built-in variables of the kernel.
    variables: AHashMap<Word, BuiltIn>,
    /// What each is for the item: its components.
    values: AHashMap<u32, [Word; 3]>,
    /// Pointers to components.
    pointers: AHashMap<Word, Word>,
}

impl Ids {
    pub(super) fn find(writer: &Writer) -> Result<Self> {
        let defs = Defs::new(&writer.module);
        let variables = resource::variables(&writer.module, &defs).into_iter();
        let variables = variables.filter_map(|variable| match variable.role {
            Role::BuiltIn(builtin) => Some((variable.id, builtin)),
            _ => None,
        });
        Ok(Self { variables: variables.collect(), values: AHashMap::new(), pointers: AHashMap::new() })
    }

    /// Whether the kernel has a built-in.
    pub(super) fn has(&self, builtin: BuiltIn) -> bool {
        self.variables.values().any(|own| *own == builtin)
    }

    /// Says what a built-in is.
    pub(super) fn set(&mut self, builtin: BuiltIn, parts: [Word; 3]) {
        self.values.insert(builtin as u32, parts);
    }

    /// Computes what the built-ins are for item `item` of work-groups of `size`, of which there are several in the dimensions of
    /// `spread`, so many in each but the last.
    fn number(
        &mut self,
        writer: &mut Writer,
        head: &mut Vec<Instruction>,
        item: Word,
        size: [u32; 3],
        (spread, counts): (Spread, &[Pushed]),
    ) {
        let zero = writer.constant(0);
        let reads = |ids: &Self, which: &[BuiltIn]| ids.variables.values().any(|v| which.contains(v));
        let is_line = size[1..] == [1, 1] && spread.dims().all(|d| d == 0) || mutant!(GroupsAreALine);
        if is_line {
            self.values.insert(BuiltIn::GlobalInvocationId as u32, [item, zero, zero]);
        }
        let global = !is_line && reads(self, &[BuiltIn::GlobalInvocationId]);
        let count = writer.constant(size.iter().product());
        let mut groups = [zero; 3];
        if global || reads(self, &[BuiltIn::WorkgroupId]) {
            let mut rest = writer.math(head, Op::UDiv, item, count);
            let dims: Vec<usize> = spread.dims().collect();
            for (n, &d) in dims.iter().enumerate() {
                groups[d] = rest;
                if let Some(&several) = counts.get(n).filter(|_| !is_line) {
                    let several = writer.load(head, several);
                    groups[d] = writer.math(head, Op::UMod, rest, several);
                    rest = writer.math(head, Op::UDiv, rest, several);
                }
            }
            self.values.insert(BuiltIn::WorkgroupId as u32, groups);
        }
        let mut inside = [zero; 3];
        let local = [BuiltIn::LocalInvocationId, BuiltIn::LocalInvocationIndex];
        if global || reads(self, &local) {
            let mut rest = writer.math(head, Op::UMod, item, count);
            self.values.insert(BuiltIn::LocalInvocationIndex as u32, [rest, zero, zero]);
            let dims: Vec<usize> = (0..3).filter(|&d| size[d] != 1).collect();
            for (n, &d) in dims.iter().enumerate() {
                inside[d] = rest;
                if n + 1 < dims.len() {
                    let several = writer.constant(size[d]);
                    inside[d] = writer.math(head, Op::UMod, rest, several);
                    rest = writer.math(head, Op::UDiv, rest, several);
                }
            }
            self.values.insert(BuiltIn::LocalInvocationId as u32, inside);
        }
        if global {
            let all = std::array::from_fn(|d| match (groups[d] == zero, inside[d] == zero, size[d]) {
                (true, ..) => inside[d],
                (_, true, 1) => groups[d],
                (_, _, size) => {
                    let size = writer.constant(size);
                    let start = writer.math(head, Op::IMul, groups[d], size);
                    writer.math(head, Op::IAdd, start, inside[d])
                }
            });
            self.values.insert(BuiltIn::GlobalInvocationId as u32, all);
        }
    }

    /// The same where the item's number has its global ids for digits, of which there are so many in each of these dimensions but the last.
    fn digits(
        &mut self,
        writer: &mut Writer,
        head: &mut Vec<Instruction>,
        item: Word,
        size: [u32; 3],
        (digits, counts): (Digits, &[Pushed]),
    ) {
        let zero = writer.constant(0);
        let mut global = [zero; 3];
        let mut rest = item;
        for (n, &d) in digits.dims().iter().enumerate() {
            global[d] = rest;
            if let Some(&several) = counts.get(n).filter(|_| !mutant!(NumbersAreIds)) {
                let several = writer.load(head, several);
                global[d] = writer.math(head, Op::UMod, rest, several);
                rest = writer.math(head, Op::UDiv, rest, several);
            }
        }
        self.set(BuiltIn::GlobalInvocationId, global);
        let own = [BuiltIn::WorkgroupId, BuiltIn::LocalInvocationId, BuiltIn::LocalInvocationIndex];
        if !own.into_iter().any(|own| self.has(own)) {
            return;
        }
        let (mut groups, mut inside) = (global, [zero; 3]);
        for d in (0..3).filter(|&d| global[d] != zero && size[d] != 1) {
            let size = writer.constant(size[d]);
            groups[d] = writer.math(head, Op::UDiv, global[d], size);
            inside[d] = writer.math(head, Op::UMod, global[d], size);
        }
        let mut index = inside[2];
        for d in [1, 0] {
            let size = writer.constant(size[d]);
            let before = writer.math(head, Op::IMul, index, size);
            index = writer.math(head, Op::IAdd, before, inside[d]);
        }
        self.set(BuiltIn::WorkgroupId, groups);
        self.set(BuiltIn::LocalInvocationId, inside);
        self.set(BuiltIn::LocalInvocationIndex, [index, zero, zero]);
    }

    /// Replaces the loads of a block.
    pub(super) fn replace(&mut self, writer: &mut Writer, block: &mut Block) -> Result<()> {
        let (number, vector) = (writer.u32(), writer.uvec3());
        let mut kept = Vec::with_capacity(block.instructions.len());
        for mut inst in block.instructions.drain(..) {
            let base = inst.operands.first().and_then(Operand::id_ref_any);
            let builtin = base.and_then(|id| self.variables.get(&id)).copied();
            let ids = inst.operands.iter().filter_map(Operand::id_ref_any);
            let is_mentioned = { ids }.any(|id| self.variables.contains_key(&id));
            let is_kept = mutant!(IdsAreNotVirtual) && builtin != Some(BuiltIn::GlobalInvocationId);
            match (inst.class.opcode, builtin) {
                (_, Some(_)) if is_kept => kept.push(inst),
                (Op::Load, Some(builtin)) => {
                    let values = self.value(builtin)?;
                    if inst.result_type == Some(vector) {
                        let parts = values.map(Operand::IdRef).to_vec();
                        inst = Instruction::new(Op::CompositeConstruct, Some(vector), inst.result_id, parts);
                    } else if inst.result_type == Some(number) && builtin == BuiltIn::LocalInvocationIndex {
                        inst = copy(&inst, values[0]);
                    } else {
                        return Err("an id of another type");
                    }
                    kept.push(inst);
                }
                (Op::AccessChain | Op::InBoundsAccessChain, Some(builtin)) => {
                    let [_, index] = inst.operands.as_slice() else { return Err("an id of another type") };
                    let index = index.id_ref_any().and_then(|id| writer.value(id));
                    let values = self.value(builtin)?;
                    let part = index.and_then(|index| values.get(index as usize));
                    let part = part.ok_or("a component of an id chosen at run time")?;
                    self.pointers.insert(inst.result_id.unwrap_or(0), *part);
                }
                (Op::Load, None) if base.is_some_and(|id| self.pointers.contains_key(&id)) => {
                    if inst.result_type != Some(number) {
                        return Err("an id of another type");
                    }
                    kept.push(copy(&inst, self.pointers[&base.unwrap_or(0)]));
                }
                _ if is_mentioned => return Err("an id used otherwise than by a load"),
                _ => kept.push(inst),
            }
        }
        block.instructions = kept;
        Ok(())
    }

    fn value(&self, builtin: BuiltIn) -> Result<[Word; 3]> {
        debug_assert!(VIRTUAL.contains(&builtin));
        self.values.get(&(builtin as u32)).copied().ok_or("a built-in other than its ids")
    }
}

fn copy(load: &Instruction, value: Word) -> Instruction {
    Instruction::new(Op::CopyObject, load.result_type, load.result_id, vec![Operand::IdRef(value)])
}
