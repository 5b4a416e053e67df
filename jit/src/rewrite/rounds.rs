//! Makes each round of a kernel's loop an item of its own.
//!
//! Libraries let an invocation do several elements that are a work-group apart, in a loop. The kernel written here has as many work-groups for
//! each of the kernel's as the loop has rounds; number `g` of them does round `g mod n` of work-group `g / n`.
//!
//! # Requires
//! - a kernel in normal form, of which `free::why_not_free` has nothing to say
//!
//! # Guarantees
//! - the body runs once for each invocation and round, with the ids of the invocation; of the loop, the round alone is done
//!
//! # Refuses
//! - loops that carry anything but their counter from round to round, or whose number of rounds is no constant; local variables
//!
//! # Leaves alone
//! - whether rounds have to do with each other's bytes: that depends on the numbers of a call (`plan::rounds`)

use ahash::AHashSet;
use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{BuiltIn, Op, Word};

use super::wrap::Ids;
use super::writer::{Result, Writer};
use crate::analysis::access::AccessKind;
use crate::analysis::cfg::Cfg;
use crate::analysis::unroll::Unrollable;
use crate::frontend::defs::Defs;
use crate::kernel::{NormalKernel, Specialized};

/// Most rounds of a loop.
const MOST: u32 = 64;

/// The loop that stores, and how its counter goes.
pub(super) struct Rounds {
    parts: Unrollable,
    counter: Word,
    first: u32,
    step: u32,
    pub(super) count: u32,
}

impl Rounds {
    /// That of a kernel.
    pub(super) fn of(kernel: &Specialized) -> Result<Self> {
        let normal = kernel.normal.as_ref().map_err(|_| "no normal form")?;
        let [function] = normal.module.functions.as_slice() else { return Err("several functions") };
        if function.all_inst_iter().any(|inst| inst.class.opcode == Op::Variable) {
            return Err("local variables");
        }
        let cfg = Cfg::new(function);
        let mut stores = normal.analysis.accesses.iter().filter(|access| access.kind != AccessKind::Read);
        let store = stores.next().ok_or("no store")?;
        let outermost = (0..cfg.loops.len())
            .find(|&index| cfg.loops[index].parent.is_none() && cfg.loops[index].blocks.contains(store.at.0));
        let parts = outermost.and_then(|index| Unrollable::of(function, &cfg, index));
        let parts = parts.filter(|parts| parts.round.repeatable).ok_or("no loop that can be written out")?;
        Self::counted(normal, function, &cfg, parts).ok_or("a loop that is not counted by constants alone")
    }

    fn counted(normal: &NormalKernel, function: &Function, cfg: &Cfg, parts: Unrollable) -> Option<Self> {
        let defs = Defs::new(&normal.module);
        let constant = |id: Word| defs.constant(id).and_then(|value| u32::try_from(value).ok());
        let ids = |inst: &Instruction| -> Vec<Word> {
            inst.operands.iter().filter_map(Operand::id_ref_any).collect()
        };
        let made = |id: Word| {
            let blocks = parts.blocks.iter().flat_map(|&block| &function.blocks[block].instructions);
            blocks.into_iter().find(|inst| inst.result_id == Some(id))
        };
        let header = &function.blocks[*parts.prefix.first()?];
        let mut phis = header.instructions.iter().filter(|inst| inst.class.opcode == Op::Phi);
        let (phi, None) = (phis.next()?, phis.next()) else { return None };
        let counter = phi.result_id?;
        // A word of 32 bits, and a limit that it is compared with as such.
        let word = defs.get(phi.result_type?)?;
        let is_word =
            word.class.opcode == Op::TypeInt && word.operands.first() == Some(&Operand::LiteralBit32(32));
        let (mut first, mut next) = (None, None);
        for pair in ids(phi).chunks(2) {
            let &[value, from] = pair else { return None };
            match cfg.block_of_label(from)? == parts.latch {
                true => next = Some(value),
                false if first.is_none() => first = Some(constant(value)?),
                false => return None,
            }
        }
        let (first, stepped) = (first?, made(next?)?);
        let step = match (stepped.class.opcode, ids(stepped).as_slice()) {
            (Op::IAdd, &[a, b]) if a == counter => constant(b)?,
            (Op::IAdd, &[a, b]) if b == counter => constant(a)?,
            _ => return None,
        };
        let test = function.blocks[*parts.prefix.last()?].instructions.last()?;
        let condition = made(*ids(test).first()?)?;
        let stays = ids(test).get(1) == Some(&parts.inside);
        let (limit, is_less) = match (condition.class.opcode, ids(condition).as_slice()) {
            (Op::ULessThan | Op::SLessThan, &[a, b]) if a == counter => (constant(b)?, true),
            (Op::UGreaterThanEqual | Op::SGreaterThanEqual, &[a, b]) if a == counter => (constant(b)?, false),
            _ => return None,
        };
        // Up from a constant to a constant, below all that may be a sign.
        let counts =
            is_word && step > 0 && stays == is_less && first < limit && limit < 1 << 30 && step < 1 << 30;
        if !counts {
            return None;
        }
        let count = (limit - first).div_ceil(step);
        let count = count - u32::from(mutant!(RoundsAreFewer));
        // Nothing that is made in a round is used behind the loop.
        let blocks: AHashSet<usize> = parts.blocks.iter().copied().collect();
        let inside: AHashSet<Word> = parts
            .blocks
            .iter()
            .flat_map(|&block| function.blocks[block].instructions.iter().filter_map(|inst| inst.result_id))
            .collect();
        let others = function.blocks.iter().enumerate().filter(|(at, _)| !blocks.contains(at));
        let mut used = others.flat_map(|(_, block)| &block.instructions).flat_map(ids);
        let is_used = used.any(|id| inside.contains(&id));
        (!is_used && (2..=MOST).contains(&count)).then_some(Self { parts, counter, first, step, count })
    }
}

/// The kernel whose items are the rounds, as a module.
pub(super) fn apart(kernel: &Specialized, rounds: &Rounds) -> Result<Module> {
    let normal = kernel.normal.as_ref().map_err(|_| "no normal form")?;
    let mut module = normal.module.clone();
    let [function] = module.functions.as_mut_slice() else { return Err("several functions") };
    let mut function = std::mem::take(function);
    straight(&mut function, rounds)?;
    let mut writer = Writer::new(module)?;
    let mut ids = Ids::find(&writer)?;
    let mut head = Vec::new();
    let count = writer.constant(rounds.count);
    let number = writer.component(&mut head, BuiltIn::WorkgroupId, 0);
    let group = writer.math(&mut head, Op::UDiv, number, count);
    let round = writer.math(&mut head, Op::UMod, number, count);
    for builtin in [BuiltIn::WorkgroupId, BuiltIn::LocalInvocationId, BuiltIn::GlobalInvocationId] {
        if !ids.has(builtin) {
            continue;
        }
        let mut parts = [0, 1, 2].map(|d| writer.component(&mut head, builtin, d));
        if builtin == BuiltIn::WorkgroupId {
            parts[0] = group;
        } else if builtin == BuiltIn::GlobalInvocationId {
            let size = writer.constant(kernel.interface.local_size[0]);
            let start = writer.math(&mut head, Op::IMul, group, size);
            let inside = writer.component(&mut head, BuiltIn::LocalInvocationId, 0);
            parts[0] = writer.math(&mut head, Op::IAdd, start, inside);
        }
        ids.set(builtin, parts);
    }
    if ids.has(BuiltIn::LocalInvocationIndex) {
        return Err("a local index");
    }
    for block in &mut function.blocks {
        ids.replace(&mut writer, block)?;
    }
    let (step, first) = (writer.constant(rounds.step), writer.constant(rounds.first));
    let gone = writer.math(&mut head, Op::IMul, round, step);
    let counter = writer.math(&mut head, Op::IAdd, first, gone);
    let u32 = writer.u32();
    let phis = function.blocks.iter_mut().flat_map(|block| &mut block.instructions);
    for inst in phis.filter(|inst| inst.result_id == Some(rounds.counter)) {
        let op = if inst.result_type == Some(u32) { Op::CopyObject } else { Op::Bitcast };
        *inst = Instruction::new(op, inst.result_type, inst.result_id, vec![Operand::IdRef(counter)]);
    }
    if let Some(first) = function.blocks.first_mut() {
        first.instructions.splice(0..0, head);
    }
    Ok(writer.finish(function))
}

/// Takes the loop away from around its round.
fn straight(function: &mut Function, rounds: &Rounds) -> Result<()> {
    let parts = &rounds.parts;
    let cfg = Cfg::new(function);
    let id = |inst: &Instruction, n: usize| inst.operands.get(n).and_then(Operand::id_ref_any);
    let (&header, &test) = parts.prefix.first().zip(parts.prefix.last()).ok_or("no header")?;
    let body = &mut function.blocks[header].instructions;
    let at = body.iter().position(|inst| inst.class.opcode == Op::LoopMerge).ok_or("no loop")?;
    let merge = id(&body[at], 0).ok_or("no merge block")?;
    body.remove(at);
    let merges = cfg.block_of_label(merge).ok_or("no merge block")?;
    let carries = function.blocks[merges].instructions.iter().any(|inst| inst.class.opcode == Op::Phi);
    if carries {
        return Err("a value that the loop leaves behind");
    }
    let to = |label: Word| Instruction::new(Op::Branch, None, None, vec![Operand::IdRef(label)]);
    let body = &mut function.blocks[test].instructions;
    body.retain(|inst| inst.class.opcode != Op::SelectionMerge);
    *body.last_mut().ok_or("no test")? = to(parts.inside);
    let body = &mut function.blocks[parts.latch].instructions;
    *body.last_mut().ok_or("no latch")? = to(merge);
    if parts.out != merge {
        // Nothing leads there any more.
        function.blocks.retain(|block| block.label_id() != Some(parts.out));
    }
    // What came behind the loop comes behind its round now: in any order from the end on, each block after all that lead to it.
    let cfg = Cfg::new(function);
    let mut place = vec![usize::MAX; function.blocks.len()];
    let (mut open, mut seen, mut left) = (vec![0], vec![false; function.blocks.len()], function.blocks.len());
    while let Some(&block) = open.last() {
        seen[block] = true;
        if let Some(&next) = cfg.successors[block].iter().find(|&&next| !seen[next]) {
            open.push(next);
            continue;
        }
        open.pop();
        left -= 1;
        place[block] = left;
    }
    let mut blocks: Vec<_> = std::mem::take(&mut function.blocks).into_iter().zip(place).collect();
    blocks.sort_by_key(|&(_, place)| place);
    function.blocks = blocks.into_iter().map(|(block, _)| block).collect();
    Ok(())
}
