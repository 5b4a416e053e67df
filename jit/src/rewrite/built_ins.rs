//! The ids of an item in the place of those of the invocation that does it.
//!
//! # Requires
//! - a kernel whose built-ins are [`VIRTUAL`], or are not asked for an item
//!
//! # Guarantees
//! - each load of a built-in finds the item's
//!
//! # Refuses
//! - built-ins that are used otherwise than by loads

use rspirv::dr::Operand;
use rspirv::spirv::{BuiltIn, Decoration, Op};

use super::free::VIRTUAL;
use super::order::{Numbering, Spread};
use super::writer::Result;
use crate::ir::entity::{Func, Global, Region, SecondaryMap, Value};
use crate::ir::{Builder, Module, Node, Operation, Root};

/// Numbers of sub-groups that are known where a kernel that has them is written anew.
const COUNTS: [BuiltIn; 2] = [BuiltIn::SubgroupSize, BuiltIn::NumSubgroups];

/// The built-ins of a kernel, and what each is for the item: its components.
pub(super) struct BuiltIns {
    all: Vec<(BuiltIn, Global)>,
    parts: Vec<(BuiltIn, [Value; 3])>,
}

impl BuiltIns {
    pub(super) fn of(module: &Module) -> Self {
        let of = |global: Global| match module.decoration(global, Decoration::BuiltIn) {
            Some([Operand::BuiltIn(builtin)]) if VIRTUAL.contains(builtin) || COUNTS.contains(builtin) => {
                Some((*builtin, global))
            }
            _ => None,
        };
        Self { all: module.declared().filter_map(of).collect(), parts: Vec::new() }
    }

    /// Whether the kernel has a built-in.
    pub(super) fn has(&self, builtin: BuiltIn) -> bool {
        self.all.iter().any(|one| one.0 == builtin)
    }

    /// Says what a built-in is.
    pub(super) fn set(&mut self, builtin: BuiltIn, parts: [Value; 3]) {
        self.parts.push((builtin, parts));
    }

    /// Computes what they are for item `item` of work-groups of `size`, which has this place in rows; `counts` are those that the numbering asks for.
    pub(super) fn number(
        &mut self,
        code: &mut Builder<'_>,
        (item, [row, column]): (Value, [Value; 2]),
        size: [u32; 3],
        (numbering, counts): (Numbering, &[Value]),
    ) {
        let zero = code.word(0);
        match numbering {
            Numbering::Invocations(spread) => self.by_invocation(code, item, size, (spread, counts)),
            Numbering::GlobalIds(digits) => {
                self.by_global_id(code, (item, [zero; 3]), size, (&digits.dims(), counts));
            }
            Numbering::Rows(digits) => {
                let (dims, mut global) = (digits.dims(), [zero; 3]);
                global[dims[0]] = column;
                self.by_global_id(code, (row, global), size, (&dims[1..], counts));
            }
        }
    }

    /// For items that are numbered by invocation: there are several work-groups in each dimension of `spread`, and `counts` says how many, except
    /// in the last one.
    fn by_invocation(
        &mut self,
        code: &mut Builder<'_>,
        item: Value,
        size: [u32; 3],
        (spread, counts): (Spread, &[Value]),
    ) {
        let zero = code.word(0);
        let is_line = size[1..] == [1, 1] && spread.dims().all(|d| d == 0) || mutant!(GroupsAreALine);
        if is_line {
            self.set(BuiltIn::GlobalInvocationId, [item, zero, zero]);
        }
        let global = !is_line && self.has(BuiltIn::GlobalInvocationId);
        let count = code.word(size.iter().product());
        let mut groups = [zero; 3];
        if global || self.has(BuiltIn::WorkgroupId) {
            let group = code.math(Op::UDiv, item, count);
            let several = |n: usize| counts.get(n).copied().filter(|_| !is_line);
            code.digits(group, &mut groups, spread.dims().enumerate().map(|(n, d)| (d, several(n))));
            self.set(BuiltIn::WorkgroupId, groups);
        }
        let mut inside = [zero; 3];
        if global || self.has(BuiltIn::LocalInvocationId) || self.has(BuiltIn::LocalInvocationIndex) {
            let index = code.math(Op::UMod, item, count);
            self.set(BuiltIn::LocalInvocationIndex, [index, zero, zero]);
            code.split_index(index, &mut inside, size);
            self.set(BuiltIn::LocalInvocationId, inside);
        }
        if global {
            let all = std::array::from_fn(|d| match (groups[d] == zero, inside[d] == zero, size[d]) {
                (true, ..) => inside[d],
                (_, true, 1) => groups[d],
                (_, _, size) => code.linear(groups[d], size, inside[d]),
            });
            self.set(BuiltIn::GlobalInvocationId, all);
        }
    }

    /// For items whose number has their global ids in these dimensions as digits: `counts` says how many values each takes, except in the last one.
    /// In others they are known.
    fn by_global_id(
        &mut self,
        code: &mut Builder<'_>,
        (number, mut global): (Value, [Value; 3]),
        size: [u32; 3],
        (dims, counts): (&[usize], &[Value]),
    ) {
        let zero = code.word(0);
        let several = |n: usize| counts.get(n).copied().filter(|_| !mutant!(NumbersAreIds));
        code.digits(number, &mut global, dims.iter().enumerate().map(|(n, &d)| (d, several(n))));
        self.set(BuiltIn::GlobalInvocationId, global);
        if self.all.iter().all(|one| one.0 == BuiltIn::GlobalInvocationId) {
            return;
        }
        let (mut groups, mut inside) = (global, [zero; 3]);
        for d in (0..3).filter(|&d| global[d] != zero && size[d] != 1) {
            let size = code.word(size[d]);
            groups[d] = code.math(Op::UDiv, global[d], size);
            inside[d] = code.math(Op::UMod, global[d], size);
        }
        let index = [1, 0].into_iter().fold(inside[2], |index, d| code.linear(index, size[d], inside[d]));
        self.set(BuiltIn::WorkgroupId, groups);
        self.set(BuiltIn::LocalInvocationId, inside);
        self.set(BuiltIn::LocalInvocationIndex, [index, zero, zero]);
    }

    /// Puts these numbers in the place of what the code in a region loads.
    pub(super) fn replace(&self, module: &mut Module, func: Func, region: Region) -> Result<()> {
        let is_replaced =
            |builtin: BuiltIn| !mutant!(IdsAreNotVirtual) || builtin == BuiltIn::GlobalInvocationId;
        let all: Vec<(BuiltIn, Global)> = self.all.iter().copied().filter(|one| is_replaced(one.0)).collect();
        let builtin = |root: Root| all.iter().find(|one| Root::Global(one.1) == root).map(|one| one.0);
        let mut by = SecondaryMap::of(&module.functions[func].values);
        for region in module.functions[func].regions_in(region) {
            let nodes = std::mem::take(&mut module.functions[func].regions[region].nodes);
            let mut code = Builder::new(module, func);
            for node in nodes {
                let f = code.function();
                if let Node::Inst(inst) = node
                    && let (Operation::Load { place, .. }, Some(result)) =
                        (&f.insts[inst].operation, f.insts[inst].result)
                    && let Some(builtin) = builtin(f.places[*place].root)
                {
                    let (path, ty) = (&f.places[*place].path, f.values[result].ty);
                    let index = path.first().copied();
                    let parts = self.parts.iter().find(|one| one.0 == builtin);
                    let (_, parts) = parts.ok_or("a built-in other than its ids")?;
                    by[result] = Some(code.part(parts, index, ty));
                } else {
                    code.nodes.push(node);
                }
            }
            let nodes = std::mem::take(&mut code.nodes);
            code.function().regions[region].nodes = nodes;
        }
        let f = &mut module.functions[func];
        f.substitute(&by);
        let is_left = f.names(region, |place| builtin(place.root).is_some());
        if is_left { Err("an id used otherwise than by a load") } else { Ok(()) }
    }
}
