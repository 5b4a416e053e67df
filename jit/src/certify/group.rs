//! One fused dispatch as the claims see it: members, their accesses, and the ids of an invocation in each.

use ahash::{AHashMap, AHashSet};
use rspirv::dr::Operand;
use rspirv::spirv::{BuiltIn, Op, StorageClass};

use super::body::{At, Body};
use super::term::{Compare, Origin, Term, Word};
use super::trace::{Actor, Ids, Member, Trace, World};
use crate::analysis::AccessKind;
use crate::kernel::BindingKind;
use crate::plan::recipe::Recipe;
use crate::plan::{Arg, RenameReport, Step, Submission};
use crate::schedule::Domain;

/// An instruction that touches a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) at: At,
    pub(super) pointer: u32,
    pub(super) kind: AccessKind,
    /// Number of the argument.
    pub(super) argument: usize,
    pub(super) is_uniform: bool,
    /// Its number among the accesses to this argument.
    pub(super) nth: usize,
}

pub(super) struct Group<'a> {
    pub(super) step: &'a Step,
    /// Work-groups of the kernels: of the dispatch, if one does not do several side by side.
    groups: [u32; 3],
    pub(super) recipe: &'a Recipe,
    pub(super) members: Vec<Member<'a>>,
    /// The accesses of each member, or why they are not known.
    pub(super) accesses: Vec<Result<Vec<Access>, String>>,
}

/// Traces that were begun, by member, invocation and whether loops are unrolled.
pub(super) type Traces<'a> = AHashMap<(usize, String, bool), Trace<'a>>;

/// The arguments that a submission writes; `None` if its kernel is not read.
pub(super) fn written(submission: &Submission) -> Option<Vec<usize>> {
    let body = Body::new(&submission.kernel.normal.as_ref().ok()?.module)?;
    let all = accesses(&Member { position: 0, submission, body }).ok()?.into_iter();
    Some(all.filter(|access| access.kind != AccessKind::Read).map(|access| access.argument).collect())
}

/// The arguments that a submission reads, by its instructions; none if it is not read.
fn read(submission: &Submission) -> Option<Vec<usize>> {
    let body = Body::new(&submission.kernel.normal.as_ref().ok()?.module)?;
    let all = accesses(&Member { position: 0, submission, body }).ok()?.into_iter();
    Some(all.filter(|access| access.kind != AccessKind::Write).map(|access| access.argument).collect())
}

/// Why the order of two submissions may matter: `None` if it does not. Each comes with the arguments that it writes, if these are known.
pub(super) fn common(pair: [(&Submission, Option<&[usize]>); 2]) -> Option<String> {
    if pair.iter().any(|(one, _)| one.kernel.interface.uses_device_addresses) {
        return Some("one of them follows device addresses".to_owned());
    }
    // A kernel whose instructions were not read accesses what its declarations allow.
    let may_write = |(one, written): (&Submission, Option<&[usize]>), argument: usize| match written {
        Some(written) => written.contains(&argument),
        None => one.kernel.interface.bindings[argument].writes,
    };
    for (n, a) in pair[0].0.args.iter().enumerate() {
        for (m, b) in pair[1].0.args.iter().enumerate() {
            // Offsets say nothing about the texels of an image.
            let is_buffer = [(0, n), (1, m)].into_iter().all(|(of, argument)| {
                let kind = pair[of].0.kernel.interface.bindings[argument].kind;
                matches!(kind, BindingKind::StorageBuffer | BindingKind::UniformBuffer)
            });
            let apart = is_buffer && (a.offset + a.len <= b.offset || b.offset + b.len <= a.offset);
            if a.buffer == b.buffer && !apart && (may_write(pair[0], n) || may_write(pair[1], m)) {
                return Some(format!(
                    "binding {} of the one and {} of the other",
                    a.at.binding, b.at.binding
                ));
            }
        }
    }
    None
}

/// Why a value has to be in memory, as a text: another access touches its bytes while it is in use, or reads them before the submissions
/// that overwrite it have done so. `None` if it need not be.
pub(super) fn missed(list: &[Submission], value: &RenameReport) -> Option<String> {
    let places = &value.arguments;
    let (Some(&(first, _)), Some(&(last, _))) = (places.first(), places.last()) else {
        return Some("nothing uses it".to_owned());
    };
    let own: Vec<&Arg> = places.iter().map(|&(at, number)| &list[at].args[number]).collect();
    if own.iter().any(|arg| arg.buffer != own[0].buffer) {
        return Some("it is in several buffers".to_owned());
    }
    // Bytes that have not been overwritten yet.
    let mut left: Vec<(u64, u64)> = own.iter().map(|arg| (arg.offset, arg.offset + arg.len)).collect();
    for (at, one) in list.iter().enumerate().skip(first) {
        if left.is_empty() {
            break;
        }
        if one.kernel.interface.uses_device_addresses {
            return Some(format!("submission {at} follows device addresses"));
        }
        let touched = written(one);
        let reads = read(one);
        for (number, arg) in one.args.iter().enumerate() {
            let is_buffer = matches!(
                one.kernel.interface.bindings[number].kind,
                BindingKind::StorageBuffer | BindingKind::UniformBuffer
            );
            let meets = left.iter().any(|&(from, to)| arg.offset < to && from < arg.offset + arg.len);
            if arg.buffer != own[0].buffer || is_buffer && !meets || places.contains(&(at, number)) {
                continue;
            }
            // A kernel whose instructions were not read accesses what its declarations allow.
            let binding = &one.kernel.interface.bindings[number];
            let is_read = reads.as_ref().map_or(binding.reads, |reads| reads.contains(&number));
            let is_written = touched.as_ref().map_or(binding.writes, |written| written.contains(&number));
            if !is_buffer || at <= last || is_read || !is_written {
                return Some(format!("submission {at} by argument {number}"));
            }
        }
        for (number, arg) in one.args.iter().enumerate() {
            if at > last && value.overwritten_by.contains(&at) && arg.buffer == own[0].buffer {
                let is_written = touched
                    .as_ref()
                    .map_or(one.kernel.interface.bindings[number].writes, |w| w.contains(&number));
                let parts = |&(from, to): &(u64, u64)| {
                    [(from, to.min(arg.offset)), (from.max(arg.offset + arg.len), to)]
                };
                if is_written {
                    left = left.iter().flat_map(parts).filter(|(from, to)| from < to).collect();
                }
            }
        }
    }
    (!left.is_empty()).then(|| "not all of it is overwritten".to_owned())
}

impl<'a> Group<'a> {
    /// Reads the members of a fused step; the position of one that cannot be read otherwise.
    pub(super) fn new(list: &'a [Submission], step: &'a Step, recipe: &'a Recipe) -> Result<Self, usize> {
        let mut members = Vec::new();
        for &position in &step.members {
            let submission = &list[position];
            let normal = submission.kernel.normal.as_ref().map_err(|_| position)?;
            let body = Body::new(&normal.module).ok_or(position)?;
            members.push(Member { position, submission, body });
        }
        let accesses = members.iter().map(accesses).collect();
        let mut group = Self { step, groups: step.groups, recipe, members, accesses };
        // Each sub-group of a work-group is one of these, or equal parts of its lanes are; there are no more.
        if let Some(how) = recipe.schedule.packing() {
            let subgroups = match how.total {
                Some(total) => group.pushed(total),
                None => step.groups[0].saturating_mul(how.groups),
            };
            group.groups[0] = subgroups.saturating_mul(recipe.schedule.groups_in_lanes());
        }
        if let Some(how) = recipe.schedule.block_coarsening() {
            let axis = usize::from(how.axis);
            group.groups[axis] = match how.total {
                Some(total) => group.pushed(total),
                None => group.groups[axis].saturating_mul(how.groups),
            };
        }
        Ok(group)
    }

    /// The world of the group: what it writes, and how wide its addresses are.
    pub(super) fn world(&self) -> World {
        let mut written = AHashSet::new();
        for (member, accesses) in self.members.iter().zip(&self.accesses) {
            let args = &member.submission.args;
            match accesses {
                Ok(accesses) => {
                    let writes = accesses.iter().filter(|a| a.kind != AccessKind::Read);
                    written.extend(writes.map(|a| args[a.argument].buffer.0));
                }
                Err(_) => written.extend(args.iter().map(|a| a.buffer.0)),
            }
        }
        World::new(self.members.iter().flat_map(|m| &m.submission.args), written)
    }

    /// Any invocation, or, of several items, any item.
    pub(super) fn actor(&self, w: &mut World, name: &str) -> Actor {
        if let Some(coarsening) = self.recipe.schedule.item_coarsening() {
            let all =
                self.capacity().saturating_mul(u64::from(coarsening.items * coarsening.rounds)).min(1 << 32)
                    - 1;
            let item = w.terms.symbol(32, all, Origin::Id, format!("{name}: item"));
            let zero = w.terms.constant(0, 32);
            return Actor { name: name.to_owned(), group: [zero; 3], local: [zero; 3], item: Some(item) };
        }
        let [group, local] = w.any(self.groups, self.recipe.schedule.local_size(), name);
        Actor { name: name.to_owned(), group, local, item: None }
    }

    /// The invocation of `of`'s work-group with this local id.
    pub(super) fn neighbour(&self, w: &mut World, of: &Actor, local: [u32; 3]) -> Actor {
        let name = format!("{}'s neighbour {local:?}", of.name);
        let local = local.map(|n| w.terms.constant(u64::from(n), 32));
        Actor { name, group: of.group, local, item: None }
    }

    fn capacity(&self) -> u64 {
        self.groups.iter().chain(&self.recipe.schedule.local_size()).map(|&n| u64::from(n)).product()
    }

    /// Whether two invocations are the same, or of the same work-group.
    pub(super) fn is_same(&self, w: &mut World, a: &Actor, b: &Actor, by_group: bool) -> Term {
        let mut same = w.terms.truth(true);
        if let (Some(a), Some(b)) = (a.item, b.item) {
            return w.terms.compare(Compare::Equal, a, b);
        }
        for d in 0..3 {
            let equal = w.terms.compare(Compare::Equal, a.group[d], b.group[d]);
            same = w.terms.both(same, equal);
            if !by_group {
                let equal = w.terms.compare(Compare::Equal, a.local[d], b.local[d]);
                same = w.terms.both(same, equal);
            }
        }
        same
    }

    /// Present value of a slot of the fused push constants.
    fn pushed(&self, slot: u16) -> u32 {
        let offset = self.recipe.push.get(usize::from(slot)).map_or(0, |slot| slot.offset as usize);
        let bytes = (0..4).map(|n| self.step.push.get(offset + n).copied().unwrap_or(0));
        bytes.rev().fold(0, |value, byte| value << 8 | u32::from(byte))
    }

    /// The ids that a member has in an invocation, computed as the emitted code does.
    pub(super) fn ids(&self, w: &mut World, number: usize, actor: &Actor) -> Ids {
        let member = &self.recipe.members[number];
        let local_size = self.members[number].submission.kernel.interface.local_size;
        let constant = |w: &mut World, n: u32| w.terms.constant(u64::from(n), 32);
        let one = constant(w, 1);
        let zero = constant(w, 0);
        let linear = |w: &mut World, x: [Term; 3], n: [u32; 3]| {
            let (a, b) = (constant(w, n[0]), constant(w, n[1]));
            let mut number = w.terms.word(Word::Mul, x[2], b);
            number = w.terms.word(Word::Add, number, x[1]);
            number = w.terms.word(Word::Mul, number, a);
            w.terms.word(Word::Add, number, x[0])
        };
        let index = linear(w, actor.local, self.recipe.schedule.local_size());
        // Work-groups that were made larger have the items of several of the member's.
        let local_size = if member.remap.is_some() { local_size } else { self.recipe.schedule.local_size() };
        let globals = |w: &mut World, group: [Term; 3]| {
            std::array::from_fn(|d| {
                let size = constant(w, local_size[d]);
                let start = w.terms.word(Word::Mul, group[d], size);
                w.terms.word(Word::Add, start, actor.local[d])
            })
        };
        let Some(remap) = &member.remap else {
            let global = globals(w, actor.group);
            let counts = self.groups.map(|n| constant(w, n));
            let runs = w.terms.truth(true);
            return Ids { group: actor.group, local: actor.local, global, counts, index, runs };
        };
        let number = match actor.item {
            Some(item) => item,
            None => {
                let mut number = match self.recipe.schedule.is_line() {
                    true => actor.group[0],
                    false => linear(w, actor.group, self.groups),
                };
                if self.recipe.schedule.domain() == Domain::LinearItems {
                    let size = constant(w, self.recipe.schedule.local_size()[0]);
                    number = w.terms.word(Word::Mul, number, size);
                    number = w.terms.word(Word::Add, number, actor.local[0]);
                }
                number
            }
        };
        let number = match remap.first {
            None => number,
            Some(first) => {
                let first = constant(w, self.pushed(first).wrapping_neg());
                w.terms.word(Word::Add, number, first)
            }
        };
        let runs = match remap.total {
            None => w.terms.truth(true),
            Some(total) => {
                let total = constant(w, self.pushed(total));
                w.terms.compare(Compare::ULess, number, total)
            }
        };
        let counts = remap.counts.map(|slot| slot.map(|slot| constant(w, self.pushed(slot))));
        let (mut own, mut rest) = ([zero; 3], number);
        for d in 0..3 {
            if counts[d + 1..].iter().all(Option::is_none) {
                own[d] = rest;
                break;
            }
            if let Some(count) = counts[d] {
                own[d] = w.terms.word(Word::URem, rest, count);
                rest = w.terms.word(Word::UDiv, rest, count);
            }
        }
        let by_items = self.recipe.schedule.domain() == Domain::LinearItems;
        let global = if by_items { own } else { globals(w, own) };
        let counts = counts.map(|c| c.unwrap_or(one));
        Ids { group: own, local: if by_items { own } else { actor.local }, global, counts, index, runs }
    }

    /// The way of an invocation through a member.
    pub(super) fn trace<'t>(
        &'a self,
        w: &mut World,
        traces: &'t mut Traces<'a>,
        number: usize,
        actor: &Actor,
        exact: bool,
    ) -> &'t mut Trace<'a> {
        traces.entry((number, actor.name.clone(), exact)).or_insert_with(|| {
            let ids = self.ids(w, number, actor);
            Trace::new(&self.members[number], ids, actor.name.clone(), exact)
        })
    }

    /// Whether a barrier stands between two members.
    pub(super) fn has_barrier(&self, first: usize, second: usize) -> bool {
        self.recipe.barriers.iter().any(|&after| first <= after && after < second)
    }

    /// Invocations of a member's own dispatch and of the group's, by dimension.
    pub(super) fn extents(&self, member: &Member<'_>) -> ([u32; 3], [u32; 3]) {
        let extent =
            |groups: [u32; 3], local: [u32; 3]| [0, 1, 2].map(|d| groups[d].saturating_mul(local[d]));
        let one = member.submission;
        let own = extent(one.groups, one.kernel.interface.local_size);
        (own, extent(self.groups, self.recipe.schedule.local_size()))
    }

    /// Whether every invocation of every member is done exactly once, and nothing a renumbered member reads gives it
    /// away.
    pub(super) fn mapping(&self) -> Result<(), String> {
        let product = |n: [u32; 3]| n.iter().map(|&n| u64::from(n)).product::<u64>();
        if let Some(how) = self.recipe.schedule.block_coarsening() {
            let axis = usize::from(how.axis);
            // Work-group `w`, or sub-group, does those from `G w` to `G w + G - 1`, as far as they exist.
            if how.groups == 0 || self.step.groups[axis] != self.recipe.schedule.dispatch(self.groups)[axis] {
                return Err("does not do all of its work-groups side by side".to_owned());
            }
        }
        for (member, one) in self.members.iter().zip(&self.recipe.members) {
            let (groups, local) = (member.submission.groups, member.submission.kernel.interface.local_size);
            let complain = |what: &str| Err(format!("submission {}: {what}", member.position));
            let Some(remap) = &one.remap else {
                let (own, all) = self.extents(member);
                let has_local = local == self.recipe.schedule.local_size();
                // Of a line's items, those that the dispatch has besides are asked about (`Group::beyond`).
                let is_larger = (self.recipe.schedule.superword().is_some() || has_local)
                    && (own == all || own[1..] == [1, 1] && all[1..] == [1, 1] && own[0] < all[0])
                    && what_knows_its_group(member).is_none();
                if (groups != self.groups || !has_local) && !is_larger {
                    return complain("has another shape than the dispatch and is not renumbered");
                }
                continue;
            };
            let by_items = self.recipe.schedule.domain() == Domain::LinearItems;
            let mut extent = groups;
            if by_items {
                (0..3).for_each(|d| extent[d] = groups[d].saturating_mul(local[d]));
                if let Some(what) = what_knows_its_group(member) {
                    return complain(&format!("is renumbered by invocation, but has {what}"));
                }
            } else if local != self.recipe.schedule.local_size() {
                return complain("has another local size");
            }
            let counts = remap.counts.map(|slot| slot.map_or(1, |slot| self.pushed(slot)));
            let is_line = remap.counts[1..].iter().all(Option::is_none);
            let fits = (1..3).all(|d| counts[d] == extent[d]) && (is_line || counts[0] == extent[0]);
            // Invocations without work are kept out by their guard, whatever their ids are.
            if !fits && product(extent) > 0 {
                return complain("is renumbered by other counts than its own");
            }
            let items = self.recipe.schedule.item_coarsening().map_or(1, |c| u64::from(c.items * c.rounds));
            let all = if by_items { self.capacity() * items } else { product(self.groups) };
            let total = product(extent);
            let first = remap.first.map_or(0, |slot| u64::from(self.pushed(slot)));
            if all < first + total || all > 1 << 32 {
                return complain("is larger than the dispatch");
            }
            match remap.total {
                None if all != total => return complain("is smaller than the dispatch and has no guard"),
                Some(slot) if u64::from(self.pushed(slot)) != total => {
                    return complain("is guarded by another number than its own");
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// What makes a kernel depend on the work-group it runs in.
fn what_knows_its_group(member: &Member<'_>) -> Option<String> {
    for variable in member.body.variables.values() {
        match (variable.class, variable.builtin) {
            (StorageClass::Workgroup, _) => return Some("shared memory".to_owned()),
            (StorageClass::Input, Some(which)) if which != BuiltIn::GlobalInvocationId => {
                return Some(format!("{which:?}"));
            }
            _ => {}
        }
    }
    member.body.instructions().find_map(|(_, inst)| {
        let op = inst.class.opcode;
        let grouped = op == Op::ControlBarrier || format!("{op:?}").starts_with("Group");
        grouped.then(|| format!("{op:?}"))
    })
}

/// What makes an item of a kernel depend on others, or on the invocation that does it.
pub(super) fn what_is_not_free(member: &Member<'_>) -> Option<String> {
    for variable in member.body.variables.values() {
        match variable.class {
            StorageClass::Workgroup => return Some("shared memory".to_owned()),
            StorageClass::Private => return Some("private variables".to_owned()),
            _ => {}
        }
    }
    member.body.instructions().find_map(|(_, inst)| {
        let name = format!("{:?}", inst.class.opcode);
        let tied = matches!(inst.class.opcode, Op::ControlBarrier | Op::MemoryBarrier)
            || name.starts_with("Group")
            || name.starts_with("Atomic");
        tied.then_some(name)
    })
}

/// Every load, store and atomic operation on a buffer.
pub(super) fn accesses(member: &Member<'_>) -> Result<Vec<Access>, String> {
    let body = &member.body;
    let root = |mut pointer: u32| {
        for _ in 0..64 {
            if let Some(variable) = body.variables.get(&pointer) {
                return Some((pointer, *variable));
            }
            let (_, inst) = body.local(pointer)?;
            if !matches!(inst.class.opcode, Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject) {
                return None;
            }
            pointer = inst.operands.first()?.id_ref_any()?;
        }
        None
    };
    let class_of = |id: u32| match body.shape(body.type_of(id)?) {
        super::body::Shape::Pointer { class, .. } => Some(*class),
        _ => None,
    };
    let is_buffer = |class: StorageClass| {
        matches!(
            class,
            StorageClass::StorageBuffer | StorageClass::Uniform | StorageClass::PhysicalStorageBuffer
        )
    };
    let mut found = Vec::new();
    let mut counts: AHashMap<usize, usize> = AHashMap::new();
    for (at, inst) in body.instructions() {
        let op = inst.class.opcode;
        let name = format!("{op:?}");
        let kind = match op {
            Op::Load => AccessKind::Read,
            Op::Store => AccessKind::Write,
            Op::AccessChain | Op::InBoundsAccessChain | Op::ArrayLength | Op::CopyObject => continue,
            _ if name.starts_with("Atomic") => AccessKind::Atomic,
            _ => {
                let pointers = inst.operands.iter().filter_map(Operand::id_ref_any);
                match pointers.filter_map(class_of).any(is_buffer) {
                    true => return Err(format!("a pointer goes through Op{name}")),
                    false => continue,
                }
            }
        };
        let Some(pointer) = inst.operands.first().and_then(Operand::id_ref_any) else { continue };
        if !class_of(pointer).is_some_and(is_buffer) {
            continue;
        }
        let known = root(pointer).and_then(|(id, variable)| Some((member.argument(id)?, variable)));
        let Some((argument, variable)) = known else {
            return Err(format!("Op{name} through a pointer that is not followed"));
        };
        let next = counts.entry(argument).or_default();
        *next += 1;
        let is_uniform = variable.class == StorageClass::Uniform;
        found.push(Access { at, pointer, kind, argument, is_uniform, nth: *next - 1 });
    }
    Ok(found)
}
