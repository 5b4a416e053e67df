//! Which work-groups an invocation does: their ids, and the last ones of the dispatch.

use rspirv::spirv::{BuiltIn, FunctionControl, LoopControl, Op, Scope, SelectionControl};

use super::jam::{Body, Jam, One, Several};
use crate::emit::entry::{self, Ordering};
use crate::ir::entity::{Func, Global, Place, Type, Value};
use crate::ir::{Args, Builder, End, Function, Operation, Root, TypeKind};

impl Jam<'_> {
    /// Loads an id of one of the work-groups, or invocations: three numbers, or one of them.
    pub(super) fn load_id(
        &mut self,
        body: &mut Body<'_>,
        (id, place): (Global, Place),
        ty: Type,
        at: usize,
    ) -> Value {
        let (builtin, one) = (self.globals.ids[&id], body.ones[at]);
        let path = &body.original.f.places[place].path;
        let component = path.first().map(|&index| self.value(body, index, at));
        let mut code = Builder::new(self.module, body.func);
        let (mut range, number) = (None, code.module.u32());
        let parts = match self.what {
            Several::Groups(how) => {
                let axis = usize::from(how.axis);
                let mut parts = [0, 1, 2].map(|dim| code.component(builtin, dim));
                let groups = code.word(how.groups);
                parts[axis] = match (builtin, self.total) {
                    (BuiltIn::NumWorkgroups, Some(total)) => total.load(&mut code),
                    (BuiltIn::NumWorkgroups, None) => {
                        code.pure(Op::IMul, number, &[parts[axis], groups], &[])
                    }
                    _ => {
                        let group = match (one, self.rest) {
                            (One::Rest, Some(rest)) => code.load(Root::Global(rest), &[]),
                            _ => {
                                let first = code.component(BuiltIn::WorkgroupId, how.axis.into());
                                let copy = code.word(one.number());
                                code.linear(first, how.groups, copy)
                            }
                        };
                        if builtin == BuiltIn::WorkgroupId {
                            group
                        } else {
                            let local = code.word(self.local);
                            let start = code.pure(Op::IMul, number, &[group, local], &[]);
                            let inside = code.component(BuiltIn::LocalInvocationId, how.axis.into());
                            code.pure(Op::IAdd, number, &[start, inside], &[])
                        }
                    }
                };
                parts
            }
            // Invocation `l` of those that are left does the kernel's invocations `l`, `l + left`, and so on.
            Several::Invocations { left } => {
                let copy = if mutant!(InvocationsAreOne) { 0 } else { one.number() };
                let below = if mutant!(FewerAreLeft) { left / 2 } else { left };
                range = Some((copy * left, copy * left + below.saturating_sub(1)));
                let inside = code.component(BuiltIn::LocalInvocationId, 0);
                let (first, zero) = (code.word(copy * left), code.word(0));
                let own = code.pure(Op::IAdd, number, &[inside, first], &[]);
                match builtin {
                    BuiltIn::GlobalInvocationId => {
                        let groups = [0, 1, 2].map(|dim| code.component(BuiltIn::WorkgroupId, dim));
                        [code.linear(groups[0], self.local, own), groups[1], groups[2]]
                    }
                    _ => [own, zero, zero],
                }
            }
        };
        let value = if builtin == BuiltIn::LocalInvocationIndex {
            let word = code.cast(parts[0], ty);
            if word == parts[0] { code.value(Operation::copy(word), ty) } else { word }
        } else {
            let pointer = code.module.globals[id].pointer;
            let vector = code.module.types.pointer(pointer).map_or(ty, |(_, pointee)| pointee);
            let whole = code.vector(&parts, vector);
            let known = |code: &mut Builder<'_>, index| code.f().number(code.module, index);
            match component.map(|index| (index, known(&mut code, index))) {
                None => code.value(Operation::copy(whole), ty),
                Some((_, Some(number))) => {
                    range = range.filter(|_| number == 0);
                    code.pure(Op::CompositeExtract, ty, &[whole], &[number])
                }
                Some((index, None)) => {
                    range = None;
                    code.pure(Op::VectorExtractDynamic, ty, &[whole, index], &[])
                }
            }
        };
        body.nodes.append(&mut code.nodes);
        match (range, builtin) {
            (Some(range), BuiltIn::LocalInvocationId) if component.is_none() => {
                body.ranges.note_id(value, range)
            }
            (Some(range), BuiltIn::LocalInvocationId | BuiltIn::LocalInvocationIndex) => {
                body.ranges.note(value, range);
            }
            _ => {}
        }
        value
    }

    /// The entry point that does `G` work-groups side by side, or the last ones one by one.
    pub(super) fn choose(&mut self, together: Func, alone: Func) -> Func {
        let (Some(total), Some(rest), Several::Groups(how)) = (self.total, self.rest, self.what) else {
            return together;
        };
        let Function { ty, result, .. } = self.module.functions[together];
        let entry = self.module.functions.push(Function::new(ty, result, FunctionControl::NONE));
        self.module.defined.push(entry);
        let call = |code: &mut Builder<'_>, function: Func| {
            code.value(Operation::Call { function, args: Args::new() }, result);
        };
        let mut code = Builder::new(self.module, entry);
        let (number, boolean) = (code.module.u32(), code.module.ty(TypeKind::Bool));
        let total = total.load(&mut code);
        let group = code.component(BuiltIn::WorkgroupId, how.axis.into());
        let groups = code.word(self.several);
        let first = code.pure(Op::IMul, number, &[group, groups], &[]);
        let behind = code.pure(Op::IAdd, number, &[first, groups], &[]);
        let mut full = code.pure(Op::ULessThanEqual, boolean, &[behind, total], &[]);
        if mutant!(LastGroupIsFull) {
            full = code.truth(true);
        }
        let [side_by_side, one_by_one] = code.branch(full, Some(SelectionControl::NONE));
        let before = std::mem::take(&mut code.nodes);
        let repeat = code.begin_loop(first, total, LoopControl::DONT_UNROLL);
        code.store(Root::Global(rest), &[], repeat.count);
        call(&mut code, alone);
        if !mutant!(LastGroupsNeedNoBarrier) {
            // Never with images: those of several work-groups are not done side by side.
            let (scope, semantics) = (Scope::Workgroup, entry::semantics(Ordering::Buffers));
            code.effect(Operation::Barrier { execution: Some(scope), memory: scope, semantics });
        }
        code.end_loop(repeat);
        let repeated = std::mem::take(&mut code.nodes);
        call(&mut code, together);
        let jammed = std::mem::replace(&mut code.nodes, before);
        let f = code.function();
        (f.regions[one_by_one].nodes, f.regions[side_by_side].nodes) = (repeated, jammed);
        f.regions[f.body].end = End::Return(None);
        code.begin();
        entry
    }
}
