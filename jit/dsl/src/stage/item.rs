//! Items on the device: built-in inputs, barriers, sub-group functions.

use rspirv::{
    dr::{Instruction, Operand},
    spirv::{BuiltIn, Capability, Decoration, GroupOperation, Op},
};

use super::{
    Cap, Val,
    builder::{Builder, FitTo},
    shape, with,
};
use crate::{
    item::{GroupItem, Item},
    shape::ScalarType,
    value::{Ordered, Scalar},
};

/// One of three by dimension; `other` beyond the dimensions there are.
fn by_dimension(
    b: &mut Builder,
    dimension: Val<u32>,
    dimensions: usize,
    other: u32,
    mut of: impl FnMut(&mut Builder, u32) -> u32,
) -> Val<u32> {
    if let Some(k) = b.known(dimension.id) {
        return Val::new(if k < dimensions as u64 { of(b, k as u32) } else { b.u32(other) });
    }
    let ty = b.u32_type();
    let mut value = b.u32(other);
    for k in 0..dimensions as u32 {
        let (this, number) = (of(b, k), b.u32(k));
        let chosen = b.compare(Op::IEqual, dimension.id, number);
        value = b.op(Op::Select, ty, &[chosen, this, value]);
    }
    Val::new(value)
}

impl Builder {
    /// A component of the global id, known to stay within the range after the kernel's own guard.
    fn item_id(&mut self, k: u32) -> u32 {
        let id = self.input_component(BuiltIn::GlobalInvocationId, k);
        self.function().fits.insert(id, FitTo::Dimension(k));
        id
    }

    /// Leaves the kernel where the item is outside of the range.
    pub(crate) fn guard_range(&mut self, dimensions: u32) {
        for k in 0..dimensions {
            let (id, end) = (self.item_id(k), self.range_word(k));
            let outside = self.compare(Op::UGreaterThanEqual, id, end);
            self.when_leaving(outside);
        }
    }

    fn when_leaving(&mut self, condition: u32) {
        let (yes, merge) = (self.fresh(), self.fresh());
        self.selection_merge(merge);
        self.branch_if(condition, yes, merge);
        self.label(yes);
        self.terminate(Op::Return, Vec::new());
        self.label(merge);
    }

    /// Declares the size of the work-group as specialization constants 0 to 2.
    pub(crate) fn work_group_size(&mut self) {
        let parts = [0, 1, 2].map(|k| self.spec(k, ScalarType::U32, 1));
        let word = self.u32_type();
        let ty = self.vector_type(word, 3);
        let id = self.fresh();
        let operands = parts.map(Operand::IdRef).to_vec();
        self.push_global(Instruction::new(Op::SpecConstantComposite, Some(ty), Some(id), operands));
        self.decorate(id, Decoration::BuiltIn, vec![Operand::BuiltIn(BuiltIn::WorkgroupSize)]);
    }
}

impl<const D: usize> Cap<Item<D>> {
    /// The place in one dimension.
    pub fn id(self, dimension: Val<u32>) -> Val<u32> {
        with(|b| by_dimension(b, dimension, D, 0, Builder::item_id))
    }

    /// The extent of the range in one dimension.
    pub fn range(self, dimension: Val<u32>) -> Val<u32> {
        with(|b| by_dimension(b, dimension, D, 1, Builder::range_word))
    }

    /// The number of the item.
    pub fn index(self) -> Val<u32> {
        with(|b| {
            let ty = b.u32_type();
            let mut index = b.item_id(D as u32 - 1);
            for k in (0..D as u32 - 1).rev() {
                let (extent, id) = (b.range_word(k), b.item_id(k));
                let rows = b.op(Op::IMul, ty, &[index, extent]);
                index = b.op(Op::IAdd, ty, &[rows, id]);
            }
            if D > 1 {
                b.function().fits.insert(index, FitTo::Count);
            }
            Val::new(index)
        })
    }

    /// The number of items.
    pub fn count(self) -> Val<u32> {
        with(|b| {
            let ty = b.u32_type();
            let first = b.range_word(0);
            Val::new((1..D as u32).fold(first, |count, k| {
                let extent = b.range_word(k);
                b.op(Op::IMul, ty, &[count, extent])
            }))
        })
    }
}

impl<const D: usize> Cap<GroupItem<D>> {
    fn component(self, builtin: BuiltIn, dimension: Val<u32>, other: u32) -> Val<u32> {
        with(|b| by_dimension(b, dimension, D, other, |b, k| b.input_component(builtin, k)))
    }

    /// The place in one dimension, over all groups.
    pub fn global(self, dimension: Val<u32>) -> Val<u32> {
        self.component(BuiltIn::GlobalInvocationId, dimension, 0)
    }

    /// The place in the group, in one dimension.
    pub fn local(self, dimension: Val<u32>) -> Val<u32> {
        self.component(BuiltIn::LocalInvocationId, dimension, 0)
    }

    /// The place of the group among the groups, in one dimension.
    pub fn group(self, dimension: Val<u32>) -> Val<u32> {
        self.component(BuiltIn::WorkgroupId, dimension, 0)
    }

    /// The extent of a group in one dimension.
    pub fn local_range(self, dimension: Val<u32>) -> Val<u32> {
        with(|b| by_dimension(b, dimension, D, 1, |b, k| b.spec(k, ScalarType::U32, 1)))
    }

    /// The number of groups in one dimension.
    pub fn groups(self, dimension: Val<u32>) -> Val<u32> {
        self.component(BuiltIn::NumWorkgroups, dimension, 1)
    }

    /// The number of the item in its group.
    pub fn local_index(self) -> Val<u32> {
        with(|b| Val::new(b.input_word(BuiltIn::LocalInvocationIndex)))
    }

    /// Waits until all items of the group are here.
    pub fn barrier(self) {
        /// Acquire and release, of buffers and work-group memory.
        const SEMANTICS: u32 = 0x8 | 0x40 | 0x100;
        with(|b| {
            let (scope, semantics) = (b.u32(2), b.u32(SEMANTICS));
            b.effect(
                Op::ControlBarrier,
                vec![Operand::IdScope(scope), Operand::IdScope(scope), Operand::IdMemorySemantics(semantics)],
            );
        });
    }

    /// Number of items of a full sub-group.
    pub fn sub_group_size(self) -> Val<u32> {
        with(|b| {
            b.capability(Capability::GroupNonUniform);
            Val::new(b.input_word(BuiltIn::SubgroupSize))
        })
    }

    /// The number of the item in its sub-group.
    pub fn sub_group_lane(self) -> Val<u32> {
        with(|b| {
            b.capability(Capability::GroupNonUniform);
            Val::new(b.input_word(BuiltIn::SubgroupLocalInvocationId))
        })
    }

    fn sub_group<T: Scalar>(op: Op, capability: Capability, reduce: bool, ids: &[u32]) -> Val<T> {
        with(|b| {
            b.capability(Capability::GroupNonUniform);
            b.capability(capability);
            let ty = b.value_type(&shape::<T>());
            let scope = b.u32(3);
            let mut operands = vec![Operand::IdScope(scope)];
            if reduce {
                operands.push(Operand::GroupOperation(GroupOperation::Reduce));
            }
            operands.extend(ids.iter().map(|&id| Operand::IdRef(id)));
            Val::new(b.emit(op, ty, operands))
        })
    }

    /// The sum over the sub-group.
    pub fn sub_group_sum<T: Ordered>(self, value: Val<T>) -> Val<T> {
        let op = if T::TYPE.is_float() { Op::GroupNonUniformFAdd } else { Op::GroupNonUniformIAdd };
        let sum: Val<T> = Self::sub_group(op, Capability::GroupNonUniformArithmetic, true, &[value.id]);
        with(|b| Val::new(b.wrap(sum.id, T::TYPE)))
    }

    /// The least over the sub-group.
    pub fn sub_group_min<T: Ordered>(self, value: Val<T>) -> Val<T> {
        let op = match T::TYPE {
            scalar if scalar.is_float() => Op::GroupNonUniformFMin,
            scalar if scalar.is_signed() => Op::GroupNonUniformSMin,
            _ => Op::GroupNonUniformUMin,
        };
        Self::sub_group(op, Capability::GroupNonUniformArithmetic, true, &[value.id])
    }

    /// The greatest over the sub-group.
    pub fn sub_group_max<T: Ordered>(self, value: Val<T>) -> Val<T> {
        let op = match T::TYPE {
            scalar if scalar.is_float() => Op::GroupNonUniformFMax,
            scalar if scalar.is_signed() => Op::GroupNonUniformSMax,
            _ => Op::GroupNonUniformUMax,
        };
        Self::sub_group(op, Capability::GroupNonUniformArithmetic, true, &[value.id])
    }

    /// Whether it holds in all items of the sub-group.
    pub fn sub_group_all(self, value: Val<bool>) -> Val<bool> {
        Self::sub_group(Op::GroupNonUniformAll, Capability::GroupNonUniformVote, false, &[value.id])
    }

    /// Whether it holds in an item of the sub-group.
    pub fn sub_group_any(self, value: Val<bool>) -> Val<bool> {
        Self::sub_group(Op::GroupNonUniformAny, Capability::GroupNonUniformVote, false, &[value.id])
    }

    /// The value of the first item of the sub-group that is here.
    pub fn sub_group_first<T: Scalar>(self, value: Val<T>) -> Val<T> {
        let op = Op::GroupNonUniformBroadcastFirst;
        Self::sub_group(op, Capability::GroupNonUniformBallot, false, &[value.id])
    }

    /// The value of the item whose lane differs in these bits.
    pub fn sub_group_xor<T: Scalar>(self, value: Val<T>, mask: Val<u32>) -> Val<T> {
        let op = Op::GroupNonUniformShuffleXor;
        Self::sub_group(op, Capability::GroupNonUniformShuffle, false, &[value.id, mask.id])
    }
}
