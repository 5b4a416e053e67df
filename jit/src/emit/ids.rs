//! Virtual ids: what `WorkgroupId` and its like are for a member of another shape.
//!
//! Each id built-in such a member reads is a Private variable that the entry point sets before it
//! calls the member. Drivers fold the variables away.

use rspirv::spirv::{BuiltIn, Op, StorageClass};

use super::push::PushVariable;
use crate::ir::entity::{Global, Type, Value};
use crate::ir::{Builder, GlobalData, Module, Root};
use crate::plan::recipe::{Recipe, Remap};
use crate::schedule::Domain;

/// The Private variables one member reads instead of built-ins.
#[derive(Clone, Default)]
pub(crate) struct VirtualIds(Vec<(BuiltIn, Global, Type)>);

impl VirtualIds {
    /// Whether a remapped member must not read this built-in itself.
    pub(crate) fn covers(domain: Domain, builtin: BuiltIn) -> bool {
        let by_group =
            matches!(builtin, BuiltIn::WorkgroupId | BuiltIn::GlobalInvocationId | BuiltIn::NumWorkgroups);
        match domain {
            Domain::Grid => false,
            Domain::LinearGroups => by_group,
            Domain::LinearItems => {
                by_group || matches!(builtin, BuiltIn::LocalInvocationId | BuiltIn::LocalInvocationIndex)
            }
        }
    }

    /// A variable for a built-in whose value has type `ty`.
    pub(crate) fn variable(&mut self, module: &mut Module, builtin: BuiltIn, ty: Type) -> Global {
        if let Some(known) = self.0.iter().find(|v| v.0 == builtin) {
            return known.1;
        }
        let class = StorageClass::Private;
        let pointer = module.pointer(class, ty);
        let global = module.global(GlobalData { pointer, class, initializer: None, decorations: None });
        self.0.push((builtin, global, ty));
        global
    }
}

/// The linear number of the present work-group, or of the present invocation for items.
pub(crate) fn linear(code: &mut Builder<'_>, recipe: &Recipe) -> Value {
    let mut number = group_number(code, recipe);
    if recipe.schedule.domain() == Domain::LinearItems {
        let size = code.word(recipe.schedule.local_size()[0]);
        let local = code.component(BuiltIn::LocalInvocationId, 0);
        number = code.math(Op::IMul, number, size);
        number = code.math(Op::IAdd, number, local);
    }
    number
}

/// The linear number of the present work-group.
fn group_number(code: &mut Builder<'_>, recipe: &Recipe) -> Value {
    if recipe.schedule.is_line() {
        return code.component(BuiltIn::WorkgroupId, 0);
    }
    let group = [0, 1, 2].map(|d| code.component(BuiltIn::WorkgroupId, d));
    let count = [0, 1].map(|d| code.component(BuiltIn::NumWorkgroups, d));
    // (z * count.y + y) * count.x + x
    let mut number = code.math(Op::IMul, group[2], count[1]);
    number = code.math(Op::IAdd, number, group[1]);
    number = code.math(Op::IMul, number, count[0]);
    code.math(Op::IAdd, number, group[0])
}

/// The linear number, counted from the first of a member's part.
pub(crate) fn from_first(
    code: &mut Builder<'_>,
    push: &mut PushVariable,
    linear: Value,
    first: Option<u16>,
) -> Value {
    let Some(first) = first else { return linear };
    let first = push.load_u32(code, first);
    code.math(Op::ISub, linear, first)
}

/// Sets the virtual ids of a member from the linear number.
pub(crate) fn assign(
    code: &mut Builder<'_>,
    push: &mut PushVariable,
    domain: Domain,
    remap: &Remap,
    ids: &VirtualIds,
    linear: Value,
) {
    if ids.0.is_empty() {
        return;
    }
    let one = code.word(1);
    let zero = code.word(0);
    let counts = remap.counts.map(|slot| slot.map(|slot| push.load_u32(code, slot)));
    let mut own = [zero; 3];
    let mut rest = linear;
    for d in 0..3 {
        if counts[d + 1..].iter().all(Option::is_none) {
            own[d] = rest;
            break;
        }
        if let Some(count) = counts[d] {
            own[d] = code.math(Op::UMod, rest, count);
            rest = code.math(Op::UDiv, rest, count);
        }
    }
    for &(builtin, variable, ty) in &ids.0 {
        let parts: [Value; 3] = match (domain, builtin) {
            (_, BuiltIn::NumWorkgroups) => counts.map(|c| c.unwrap_or(one)),
            (Domain::LinearItems, _) | (_, BuiltIn::WorkgroupId) => own,
            _ => [0, 1, 2].map(|d| {
                let size = code.word(remap.local_size[d]);
                let local = code.component(BuiltIn::LocalInvocationId, d as u32);
                let start = code.math(Op::IMul, own[d], size);
                code.math(Op::IAdd, start, local)
            }),
        };
        let value = code.vector(&parts, ty);
        code.store(Root::Global(variable), &[], value);
    }
}
