//! Which work-groups an invocation does: their ids, and the last ones of the dispatch.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{BuiltIn, LoopControl, Op, SelectionControl, Word};

use super::{Body, One, Several, Weaver};
use crate::emit::builder::{Builder, Code};
use crate::emit::entry::{self, Blocks};
use crate::emit::link::Shared;
use crate::schedule::BlockCoarsening;

impl Weaver<'_> {
    /// The id that a pointer leads to, and which component.
    pub(super) fn id_at(&self, body: &Body<'_>, pointer: Word) -> Option<(Word, Option<Word>)> {
        let chain = body.chains.get(&pointer).copied();
        chain.or_else(|| self.globals.ids.contains_key(&pointer).then_some((pointer, None)))
    }

    /// Loads an id of one of the work-groups, or invocations.
    pub(super) fn load_id(
        &mut self,
        body: &mut Body<'_>,
        inst: &Instruction,
        at: (Word, Option<Word>),
        place: usize,
    ) {
        let (Some(result), Some(ty)) = (inst.result_id, inst.result_type) else { return };
        let result = body.values.get(&result).map_or(result, |value| value.of(place));
        let (one, code) = (body.groups[place], &mut body.blocks.code);
        match self.what {
            Several::Groups(how) => self.load_id_of_group(code, (result, ty), at, one, how),
            Several::Invocations { left } => self.load_id_of_invocation(code, (result, ty), at, one, left),
        }
    }

    /// Invocation `l` of those that are left does the kernel's invocations `l`, `l + left`, and so on.
    fn load_id_of_invocation(
        &mut self,
        code: &mut Code,
        (result, ty): (Word, Word),
        at: (Word, Option<Word>),
        one: One,
        left: u32,
    ) {
        let (variable, component) = at;
        let number = match one {
            One::Numbered(number) if !mutant!(InvocationsAreOne) => number,
            _ => 0,
        };
        let builtin = self.globals.ids[&variable];
        let Shared { builder, inputs, .. } = &mut *self.shared;
        let inside = inputs.component(builder, code, BuiltIn::LocalInvocationId, 0);
        let first = builder.constant(number * left);
        let own = code.math(builder, Op::IAdd, inside, first);
        let below = if mutant!(FewerAreLeft) { left / 2 } else { left };
        let range = (number * left, number * left + below.saturating_sub(1));
        if builtin == BuiltIn::LocalInvocationId {
            let is_first = |id: Word| {
                let inst = builder.definitions.get(&id);
                inst.and_then(|inst| inst.operands.first()) == Some(&Operand::LiteralBit32(0))
            };
            match component {
                None => self.ranges.note_id(result, range),
                Some(id) if is_first(id) => self.ranges.note(result, range),
                Some(_) => {}
            }
        }
        if builtin == BuiltIn::LocalInvocationIndex {
            let op = if ty == builder.u32() { Op::CopyObject } else { Op::Bitcast };
            let operands = vec![Operand::IdRef(own)];
            code.0.push(Instruction::new(op, Some(ty), Some(result), operands));
            self.ranges.note(result, range);
            return;
        }
        let zero = builder.constant(0);
        let mut parts = [own, zero, zero];
        if builtin == BuiltIn::GlobalInvocationId {
            let groups = inputs.all_components(builder, code, BuiltIn::WorkgroupId);
            let local = builder.constant(self.local);
            let start = code.math(builder, Op::IMul, groups[0], local);
            parts = [code.math(builder, Op::IAdd, start, own), groups[1], groups[2]];
        }
        self.made(code, parts, at, (result, ty));
    }

    /// Loads an id of one of the work-groups.
    fn load_id_of_group(
        &mut self,
        code: &mut Code,
        made: (Word, Word),
        at: (Word, Option<Word>),
        group: One,
        how: BlockCoarsening,
    ) {
        let (variable, _) = at;
        let axis = usize::from(how.axis);
        let builtin = self.globals.ids[&variable];
        let all = self.components(code, builtin);
        let Shared { builder, inputs, push, .. } = &mut *self.shared;
        let groups = builder.constant(how.groups);
        let local = builder.constant(self.local);
        let variable_of_rest = self.rest.unwrap_or(0);
        let rest = |builder: &mut Builder, code: &mut Code| {
            let number = builder.u32();
            code.value(builder, Op::Load, number, vec![Operand::IdRef(variable_of_rest)])
        };
        let own = match (builtin, group) {
            (BuiltIn::NumWorkgroups, _) => match how.total {
                Some(total) => push.load_u32(builder, code, total),
                None => code.math(builder, Op::IMul, all[axis], groups),
            },
            (BuiltIn::WorkgroupId, One::Rest) => rest(builder, code),
            (_, One::Rest) => {
                let number = rest(builder, code);
                let start = code.math(builder, Op::IMul, number, local);
                let inside = inputs.component(builder, code, BuiltIn::LocalInvocationId, axis);
                code.math(builder, Op::IAdd, start, inside)
            }
            (_, One::Numbered(number)) => {
                let first = inputs.component(builder, code, BuiltIn::WorkgroupId, axis);
                let first = code.math(builder, Op::IMul, first, groups);
                let number = builder.constant(number);
                let group = code.math(builder, Op::IAdd, first, number);
                if builtin == BuiltIn::WorkgroupId {
                    group
                } else {
                    let start = code.math(builder, Op::IMul, group, local);
                    let inside = inputs.component(builder, code, BuiltIn::LocalInvocationId, axis);
                    code.math(builder, Op::IAdd, start, inside)
                }
            }
        };
        let mut parts = all;
        parts[axis] = own;
        self.made(code, parts, at, made);
    }

    /// The three numbers of a built-in of the dispatch.
    fn components(&mut self, code: &mut Code, builtin: BuiltIn) -> [Word; 3] {
        let Shared { builder, inputs, .. } = &mut *self.shared;
        std::array::from_fn(|d| inputs.component(builder, code, builtin, d))
    }

    /// A built-in made of three numbers, or a component of it, under the id `result`.
    fn made(
        &mut self,
        code: &mut Code,
        parts: [Word; 3],
        at: (Word, Option<Word>),
        (result, ty): (Word, Word),
    ) {
        let builder = &mut self.shared.builder;
        let (variable, component) = at;
        let uvec3 = builder.uvec3();
        let operands = parts.into_iter().map(Operand::IdRef).collect();
        let mut whole = code.value(builder, Op::CompositeConstruct, uvec3, operands);
        let pointer = builder.definitions.get(&variable).and_then(|inst| inst.result_type);
        let pointer = pointer.and_then(|ty| builder.definitions.get(&ty)).cloned();
        let vector = pointer.and_then(|inst| inst.operands.get(1)?.id_ref_any()).unwrap_or(uvec3);
        if vector != uvec3 {
            whole = code.value(builder, Op::Bitcast, vector, vec![Operand::IdRef(whole)]);
        }
        let last = match component {
            None => Instruction::new(Op::CopyObject, Some(ty), Some(result), vec![Operand::IdRef(whole)]),
            Some(index) => {
                let operands = vec![Operand::IdRef(whole), Operand::IdRef(index)];
                match builder.definitions.get(&index).map(|inst| (inst.class.opcode, inst.operands.first())) {
                    Some((Op::Constant, Some(number @ Operand::LiteralBit32(_)))) => {
                        let operands = vec![Operand::IdRef(whole), number.clone()];
                        Instruction::new(Op::CompositeExtract, Some(ty), Some(result), operands)
                    }
                    _ => Instruction::new(Op::VectorExtractDynamic, Some(ty), Some(result), operands),
                }
            }
        };
        code.0.push(last);
    }

    /// The entry point that does `G` work-groups side by side, or the last ones one by one.
    pub(super) fn choose(&mut self, together: Word, alone: Word, total: u16) -> Word {
        let Shared { builder, inputs, push, .. } = &mut *self.shared;
        let mut blocks = Blocks::new(builder);
        let [side_by_side, before, header, body, next, done, end] = std::array::from_fn(|_| builder.fresh());
        let (boolean, void, number) = (builder.bool(), builder.void(), builder.u32());
        let (groups, one) = (builder.constant(self.several), builder.constant(1));
        let total = push.load_u32(builder, &mut blocks.code, total);
        let axis = self.what.axis();
        let group = inputs.component(builder, &mut blocks.code, BuiltIn::WorkgroupId, axis);
        let first = blocks.code.math(builder, Op::IMul, group, groups);
        let behind = blocks.code.math(builder, Op::IAdd, first, groups);
        let operands = [behind, total].map(Operand::IdRef).to_vec();
        let mut full = blocks.code.value(builder, Op::ULessThanEqual, boolean, operands);
        if mutant!(LastGroupIsFull) {
            full = builder.truth(true);
        }
        let merge = vec![Operand::IdRef(end), Operand::SelectionControl(SelectionControl::NONE)];
        blocks.code.effect(Op::SelectionMerge, merge);
        let sides = [full, side_by_side, before].map(Operand::IdRef).to_vec();
        blocks.code.effect(Op::BranchConditional, sides);
        let branch = |blocks: &mut Blocks, to: Word| blocks.code.effect(Op::Branch, vec![Operand::IdRef(to)]);

        blocks.next(side_by_side);
        blocks.code.value(builder, Op::FunctionCall, void, vec![Operand::IdRef(together)]);
        branch(&mut blocks, end);

        blocks.next(before);
        branch(&mut blocks, header);
        blocks.next(header);
        let (count, following) = (builder.fresh(), builder.fresh());
        let incoming = [first, before, following, next].map(Operand::IdRef).to_vec();
        blocks.code.0.push(Instruction::new(Op::Phi, Some(number), Some(count), incoming));
        let operands = [count, total].map(Operand::IdRef).to_vec();
        let more = blocks.code.value(builder, Op::ULessThan, boolean, operands);
        let merge =
            vec![Operand::IdRef(done), Operand::IdRef(next), Operand::LoopControl(LoopControl::DONT_UNROLL)];
        blocks.code.effect(Op::LoopMerge, merge);
        blocks.code.effect(Op::BranchConditional, [more, body, done].map(Operand::IdRef).to_vec());
        blocks.next(body);
        let store = [self.rest.unwrap_or(0), count].map(Operand::IdRef).to_vec();
        blocks.code.effect(Op::Store, store);
        blocks.code.value(builder, Op::FunctionCall, void, vec![Operand::IdRef(alone)]);
        if !mutant!(LastGroupsNeedNoBarrier) {
            // Never with images: those of several work-groups are not done side by side.
            entry::barrier(builder, &mut blocks.code, false);
        }
        branch(&mut blocks, next);
        blocks.next(next);
        let operands = [count, one].map(Operand::IdRef).to_vec();
        blocks.code.0.push(Instruction::new(Op::IAdd, Some(number), Some(following), operands));
        branch(&mut blocks, header);
        blocks.next(done);
        branch(&mut blocks, end);
        blocks.next(end);
        entry::finish(self.shared, blocks)
    }
}
