//! The ids of the items of an invocation.

use rspirv::spirv::{BuiltIn, Op};

use crate::emit::passes::trace::stage::Stage;
use crate::ir::Builder;
use crate::ir::entity::Value;
use crate::plan::recipe::Recipe;
use crate::schedule::Superword;

/// The ids that the items have instead of the invocation's.
pub(super) const VIRTUAL: [BuiltIn; 3] =
    [BuiltIn::GlobalInvocationId, BuiltIn::LocalInvocationId, BuiltIn::LocalInvocationIndex];

/// The ids of one item, each component by itself.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub(super) global: [Value; 3],
    pub(super) local: [Value; 3],
    pub(super) index: Value,
}

impl Item {
    pub(super) fn of(&self, builtin: BuiltIn) -> [Value; 3] {
        match builtin {
            BuiltIn::GlobalInvocationId => self.global,
            BuiltIn::LocalInvocationId => self.local,
            _ => [self.index; 3],
        }
    }
}

/// What all items of an invocation have in common.
pub(super) struct Common {
    /// The invocation's number in the dimension in which its items follow each other, where they are next to each other.
    pub(super) base: Option<Value>,
    /// Ids of the first item.
    pub(super) global: [Value; 3],
    pub(super) local: [Value; 3],
}

/// The ids of the first item, from which those of the others are computed. `is_turned` exchanges `x` and `y` of the invocation's local id.
pub(super) fn common(code: &mut Builder<'_>, recipe: &Recipe, how: Superword, is_turned: bool) -> Common {
    let axis = usize::from(how.axis);
    let mut local = code.components(BuiltIn::LocalInvocationId);
    if is_turned && !mutant!(ColumnsAreRows) {
        local.swap(0, 1);
    }
    let group = code.components(BuiltIn::WorkgroupId);
    let several = code.word(how.items);
    let mut base = None;
    let global = std::array::from_fn(|d| {
        let is_several = d == axis && how.consecutive;
        let size = recipe.schedule.local_size()[d] / if is_several { how.items } else { 1 };
        let number = code.linear(group[d], size, local[d]);
        if !is_several {
            return number;
        }
        base = Some(number);
        code.math(Op::IMul, number, several)
    });
    if how.consecutive {
        local[axis] = code.math(Op::IMul, local[axis], several);
    }
    Common { base, global, local }
}

/// The ids of the item with this number.
pub(super) fn numbered(
    code: &mut Builder<'_>,
    recipe: &Recipe,
    how: Superword,
    (common, number): (&Common, Value),
) -> Item {
    let (axis, size) = (usize::from(how.axis), recipe.schedule.local_size());
    let &Common { mut global, mut local, .. } = common;
    let distance = if how.consecutive {
        number
    } else {
        let distance = code.word(size[axis] / how.items);
        code.math(Op::IMul, number, distance)
    };
    for id in [&mut global[axis], &mut local[axis]] {
        *id = code.math(Op::IAdd, *id, distance);
    }
    let row = code.linear(local[2], size[1], local[1]);
    Item { global, local, index: code.linear(row, size[0], local[0]) }
}

/// Words of the array from one column of a square to the next: one is padding, so that neighbours in either direction use different banks.
pub(super) fn row(rows: u32) -> u32 {
    if mutant!(ColumnsOverlap) { rows - 1 } else { rows + 1 }
}

/// The index in the array of an item's word.
pub(super) fn word(code: &mut Builder<'_>, recipe: &Recipe, stage: &Stage, item: &Item) -> Value {
    match stage {
        Stage::Open => code.word(0),
        _ => code.linear(item.local[0], row(recipe.schedule.local_size()[1]), item.local[1]),
    }
}
