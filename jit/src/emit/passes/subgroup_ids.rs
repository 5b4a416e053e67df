//! Sub-group index remapping: ids that follow from the sub-group and the number of an invocation in it.
//!
//! Vulkan does not say which invocation is which lane, and shuffles of kernels whose work-groups are one sub-group each rest on it; nor which
//! invocations make up a sub-group, where several work-groups are in one, or where those of a padded kernel have to be whole sub-groups
//! ([`rewrite::pad`](crate::rewrite)). So the fused kernel numbers its invocations itself, in one of two ways:
//!
//! - invocation `l` is lane `l mod S` of sub-group `l / S` of its work-group
//! - `W` of the kernel's work-groups are in one: sub-group `s` of work-group `w` is work-group `W w + s`, and its lanes are the invocations. A device
//!   starts work-groups one after another, and small ones end before the next ones have started.
//! - … or `K` of them are in each sub-group: lane `l` is invocation `l mod S/K` of work-group `K (W w + s) + l / (S/K)`
//!
//! # Requires
//! - a work-group of one dimension, `S` wide, or of whole sub-groups where it is padded, run in full sub-groups of `S`; but there, nothing in the
//!   members but local and global ids tells one invocation of a work-group from another
//! - for several in one: barriers that are the sub-group's; a number of sub-groups along `x` that is a multiple of `W`, or a slot with that number
//!
//! # Guarantees
//! - each invocation of the kernel is done once, with its ids, and nothing reads the dispatch's own
//! - of several work-groups in one, each has a slice of shared memory; sub-groups that are behind the last work-group do nothing

use ahash::AHashMap;
use rspirv::spirv::{BuiltIn, Capability, Op, SelectionControl, StorageClass};
use smallvec::SmallVec;

use super::built_ins;
use super::slots::Slot;
use crate::emit::JitError;
use crate::ir::entity::{Func, Global, Type, Value};
use crate::ir::{Builder, End, Function, GlobalData, Module, Node, Operation, Root, TypeKind};
use crate::plan::recipe::Recipe;

/// Makes ids of those of sub-groups. Work-groups that are one sub-group each need that for shuffles, or where several are in one, and padded ones where they are of
/// several.
pub(in crate::emit) fn run(module: &mut Module, recipe: &Recipe) -> Result<(), JitError> {
    let entry = module.entry_points.first().map(|entry| entry.function);
    let local = module.local_size().map(|local| local[0]);
    let (Some(size), Some(entry), Some(local)) = (recipe.schedule.full_subgroups(), entry, local) else {
        return Ok(());
    };
    let packed = recipe.schedule.packing();
    let shuffles = module.capabilities.contains(&Capability::GroupNonUniformShuffle);
    let is_numbered = recipe.schedule.is_by_subgroups() && !mutant!(LocalIndicesAreLanes);
    if packed.is_none() && !shuffles && !is_numbered {
        return Ok(());
    }
    let part =
        Part { groups: recipe.schedule.groups_in_lanes(), size: size / recipe.schedule.groups_in_lanes() };
    if let Some(how) = packed.filter(|_| !mutant!(SlicesAreOne)) {
        slices(module, how.groups, part);
    }
    let total = packed.and_then(|how| how.total).map(|slot| Slot::find(module, recipe, slot)).transpose()?;
    let by_kind: &[BuiltIn] = if packed.is_some() {
        &[BuiltIn::WorkgroupId, BuiltIn::NumWorkgroups]
    } else {
        &[BuiltIn::GlobalInvocationId]
    };
    let replaced = [&[BuiltIn::LocalInvocationId, BuiltIn::LocalInvocationIndex], by_kind].concat();
    let variables = built_ins::redirect(module, &replaced);
    let mut code = Builder::new(module, entry);
    let (subgroup, lane) =
        (number(&mut code, BuiltIn::SubgroupId), number(&mut code, BuiltIn::SubgroupLocalInvocationId));
    let (zero, own) = (
        code.word(0),
        if packed.is_some() { part.own(&mut code, lane) } else { code.linear(subgroup, size, lane) },
    );
    for (builtin, variable) in variables {
        let mut parts = [own, zero, zero];
        if by_kind.contains(&builtin) {
            let is_count = builtin == BuiltIn::NumWorkgroups;
            parts = code.components(if is_count { builtin } else { BuiltIn::WorkgroupId });
            parts[0] = match (packed, total) {
                (None, _) => code.linear(parts[0], local, own),
                (_, Some(total)) if is_count => {
                    let subgroups = total.load(&mut code);
                    part.times(&mut code, subgroups)
                }
                (Some(how), _) if is_count || mutant!(SubgroupsAreOneGroup) => {
                    let subgroups = code.linear(parts[0], how.groups, zero);
                    part.times(&mut code, subgroups)
                }
                (Some(how), _) => {
                    let subgroup = code.linear(parts[0], how.groups, subgroup);
                    part.group(&mut code, subgroup, lane)
                }
            };
        }
        built_ins::set(&mut code, builtin, variable, &parts);
    }
    code.begin();
    if let (Some([x, y, z]), Some(how)) = (module.local_size(), packed) {
        module.set_local_size([x * part.groups * how.groups, y, z]);
    }
    match (packed, total) {
        (Some(how), Some(total)) if !mutant!(LastSubgroupsAreMore) => guard(module, entry, how.groups, total),
        _ => {}
    }
    Ok(())
}

/// Work-groups that are lanes of one sub-group: how many, and how many lanes each is. Both are powers of two where there are several.
#[derive(Clone, Copy)]
struct Part {
    groups: u32,
    size: u32,
}

impl Part {
    /// The number of an invocation in its work-group.
    fn own(self, code: &mut Builder<'_>, lane: Value) -> Value {
        if self.groups == 1 || mutant!(LanesAreOneGroup) {
            return lane;
        }
        let (ty, mask) = (code.module.u32(), code.word(self.size - 1));
        code.pure(Op::BitwiseAnd, ty, &[lane, mask], &[])
    }

    /// The number of a lane's work-group, by that of its sub-group.
    fn group(self, code: &mut Builder<'_>, subgroup: Value, lane: Value) -> Value {
        if self.groups == 1 {
            return subgroup;
        }
        let (ty, bits) = (code.module.u32(), code.word(self.size.trailing_zeros()));
        let which = code.pure(Op::ShiftRightLogical, ty, &[lane, bits], &[]);
        code.linear(subgroup, self.groups, which)
    }

    /// How many work-groups this number of sub-groups are.
    fn times(self, code: &mut Builder<'_>, subgroups: Value) -> Value {
        if self.groups == 1 {
            return subgroups;
        }
        let zero = code.word(0);
        code.linear(subgroups, self.groups, zero)
    }
}

/// An entry point that leaves out sub-groups for which there is no work-group. All invocations of a sub-group go the same way, and with
/// `SubgroupUniformControlFlowKHR` they stay together on it.
fn guard(module: &mut Module, called: Func, several: u32, total: Slot) {
    let Function { ty, result, control, .. } = module.functions[called];
    let entry = module.functions.push(Function::new(ty, result, control));
    module.defined.push(entry);
    module.entry_points.iter_mut().for_each(|one| one.function = entry);
    module.modes.iter_mut().for_each(|mode| mode.function = entry);
    let mut code = Builder::new(module, entry);
    let [x, ..] = code.components(BuiltIn::WorkgroupId);
    let subgroup = number(&mut code, BuiltIn::SubgroupId);
    let (own, total) = (code.linear(x, several, subgroup), total.load(&mut code));
    let boolean = code.module.ty(TypeKind::Bool);
    let condition = code.pure(Op::ULessThan, boolean, &[own, total], &[]);
    let [accept, _] = code.branch(condition, Some(SelectionControl::NONE));
    let f = code.function();
    let (call, _) = f.inst(Operation::Call { function: called, args: SmallVec::new() }, Some(result), None);
    f.regions[accept].nodes.push(Node::Inst(call));
    f.regions[f.body].end = End::Return(None);
    code.begin();
}

/// Gives each variable of shared memory a slice for each work-group of each sub-group.
fn slices(module: &mut Module, several: u32, part: Part) {
    let shared = module.declared().map(|global| (global, &module.globals[global]));
    let shared = shared.filter(|(_, data)| data.class == StorageClass::Workgroup);
    let shared: Vec<(Global, Type)> = shared.map(|(global, data)| (global, data.pointer)).collect();
    let mut of: AHashMap<Global, Global> = AHashMap::new();
    for (global, pointer) in shared {
        let Some((class, element)) = module.types.pointer(pointer) else { continue };
        let length = module.word(several * part.groups);
        let array = module.ty(TypeKind::Array { element, length });
        let pointer = module.pointer(class, array);
        // What was said of one of them is said of none.
        of.insert(global, module.global(GlobalData { pointer, class, initializer: None, decorations: None }));
    }
    for func in module.defined.clone() {
        let mut code = Builder::new(module, func);
        let subgroup = number(&mut code, BuiltIn::SubgroupId);
        let own = if part.groups > 1 {
            let lane = number(&mut code, BuiltIn::SubgroupLocalInvocationId);
            part.group(&mut code, subgroup, lane)
        } else {
            subgroup
        };
        let mut is_used = false;
        for data in code.function().places.values_mut() {
            if let Root::Global(global) = data.root
                && let Some(&slices) = of.get(&global)
            {
                is_used = true;
                data.root = Root::Global(slices);
                data.path.insert(0, own);
                data.in_bounds = false;
            }
        }
        if is_used {
            code.begin();
        }
    }
    module.remove_globals(|global| of.contains_key(&global));
}

/// The value of an input that is a number.
fn number(code: &mut Builder<'_>, builtin: BuiltIn) -> Value {
    code.module.capability(Capability::GroupNonUniform);
    let ty = code.module.u32();
    code.input(builtin, ty)
}
