//! Virtual ids: what `WorkgroupId` and its like are for a member of another shape.
//!
//! Each id built-in such a member reads is a Private variable that the entry point sets before it
//! calls the member. Drivers fold the variables away.

use rspirv::dr::Operand;
use rspirv::spirv::{BuiltIn, Op, StorageClass, Word};

use super::builder::{Builder, Code};
use super::inputs::Inputs;
use super::shared::Shared;
use crate::plan::recipe::{Recipe, Remap};
use crate::schedule::Domain;

/// The Private variables one member reads instead of built-ins.
#[derive(Clone, Default)]
pub(crate) struct VirtualIds(Vec<(BuiltIn, Word, Word)>);

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
    pub(crate) fn variable(&mut self, builder: &mut Builder, builtin: BuiltIn, ty: Word) -> Word {
        if let Some(known) = self.0.iter().find(|v| v.0 == builtin) {
            return known.1;
        }
        let pointer = builder.pointer(StorageClass::Private, ty);
        let id = builder.variable(StorageClass::Private, pointer, None);
        self.0.push((builtin, id, ty));
        id
    }
}

/// The linear number of the present work-group, or of the present invocation for items.
pub(crate) fn linear(builder: &mut Builder, code: &mut Code, inputs: &mut Inputs, recipe: &Recipe) -> Word {
    let mut number = group_number(builder, code, inputs, recipe);
    if recipe.schedule.domain() == Domain::LinearItems {
        let size = builder.constant(recipe.schedule.local_size()[0]);
        let local = inputs.component(builder, code, BuiltIn::LocalInvocationId, 0);
        number = code.math(builder, Op::IMul, number, size);
        number = code.math(builder, Op::IAdd, number, local);
    }
    number
}

/// The linear number of the present work-group.
fn group_number(builder: &mut Builder, code: &mut Code, inputs: &mut Inputs, recipe: &Recipe) -> Word {
    if recipe.schedule.is_line() {
        return inputs.component(builder, code, BuiltIn::WorkgroupId, 0);
    }
    let group: [Word; 3] = std::array::from_fn(|d| inputs.component(builder, code, BuiltIn::WorkgroupId, d));
    let count: [Word; 2] =
        std::array::from_fn(|d| inputs.component(builder, code, BuiltIn::NumWorkgroups, d));
    // (z * count.y + y) * count.x + x
    let mut number = code.math(builder, Op::IMul, group[2], count[1]);
    number = code.math(builder, Op::IAdd, number, group[1]);
    number = code.math(builder, Op::IMul, number, count[0]);
    code.math(builder, Op::IAdd, number, group[0])
}

/// The linear number, counted from the first of a member's part.
pub(crate) fn from_first(shared: &mut Shared, code: &mut Code, linear: Word, first: Option<u16>) -> Word {
    let Some(first) = first else { return linear };
    let Shared { builder, push, .. } = shared;
    let first = push.load_u32(builder, code, first);
    code.math(builder, Op::ISub, linear, first)
}

/// Sets the virtual ids of a member from the linear number.
pub(crate) fn assign(
    shared: &mut Shared,
    code: &mut Code,
    recipe: &Recipe,
    remap: &Remap,
    ids: &VirtualIds,
    linear: Word,
) {
    let Shared { builder, inputs, push, .. } = shared;
    if ids.0.is_empty() {
        return;
    }
    let one = builder.constant(1);
    let zero = builder.constant(0);
    let counts = remap.counts.map(|slot| slot.map(|slot| push.load_u32(builder, code, slot)));
    let mut own = [zero; 3];
    let mut rest = linear;
    for d in 0..3 {
        if counts[d + 1..].iter().all(Option::is_none) {
            own[d] = rest;
            break;
        }
        if let Some(count) = counts[d] {
            own[d] = code.math(builder, Op::UMod, rest, count);
            rest = code.math(builder, Op::UDiv, rest, count);
        }
    }
    for &(builtin, variable, ty) in &ids.0 {
        let parts: [Word; 3] = match (recipe.schedule.domain(), builtin) {
            (_, BuiltIn::NumWorkgroups) => counts.map(|c| c.unwrap_or(one)),
            (Domain::LinearItems, _) | (_, BuiltIn::WorkgroupId) => own,
            _ => std::array::from_fn(|d| {
                let size = builder.constant(remap.local_size[d]);
                let local = inputs.component(builder, code, BuiltIn::LocalInvocationId, d);
                let start = code.math(builder, Op::IMul, own[d], size);
                code.math(builder, Op::IAdd, start, local)
            }),
        };
        let uvec3 = builder.uvec3();
        let operands = parts.into_iter().map(Operand::IdRef).collect();
        let mut value = code.value(builder, Op::CompositeConstruct, uvec3, operands);
        if ty != uvec3 {
            value = code.value(builder, Op::Bitcast, ty, vec![Operand::IdRef(value)]);
        }
        code.effect(Op::Store, vec![Operand::IdRef(variable), Operand::IdRef(value)]);
    }
}
