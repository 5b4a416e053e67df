//! Decides which buffers stay inside a fused kernel, and where each element lies there.
//!
//! A promotion is a request. It is granted if every element is touched by one invocation only
//! (private) or by one work-group only (local), if every read is covered by writes of the group that
//! came before, and if the place of an element follows from its index. Under policy `trust` the first
//! two are taken on the user's word and listed.

#[cfg(test)]
mod brute;

use std::rc::Rc;

use ahash::{AHashMap, AHashSet};
use smallvec::SmallVec;

use crate::Reason;
use crate::analysis::access::AccessKind;
use crate::analysis::affine::{Affine, Atom, AtomId, Atoms, gcd};
use crate::analysis::dependence::{Relation, relate};
use crate::analysis::evaluate::Evaluator;
use crate::kernel::BindingKind;
use crate::plan::grouping::group::{Group, site};
use crate::plan::grouping::in_range::stays;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::limits::{Limits, UnrollLimits};
use crate::plan::input::options::{FuseOptions, Policy};
use crate::plan::input::problem::Problem;
use crate::plan::input::submission::{BufferId, Internalization, Promote, Submission};
use crate::plan::input::wish::wish;
use crate::plan::output::recipe::{Internal, SlotOf};
use crate::plan::output::report::{BufferReport, TrustedReport};
use crate::plan::promotion::element::Element;
use crate::plan::promotion::reaching_definitions::check_covered;
use crate::plan::promotion::unroll;
use crate::plan::promotion::unroll::Written;
use crate::reason::AccessPair;

/// Most elements of one buffer that one invocation keeps in registers, unless loops of more rounds are unrolled.
const MAX_PRIVATE_SLOTS: u32 = 64;

/// A buffer that stays inside.
pub(crate) struct Granted {
    pub(crate) buffer: BufferId,
    pub(crate) internal: Internal,
    /// Bytes of all slots, at most.
    pub(crate) bytes: u64,
    /// For each member and binding that uses it: where its accesses go.
    pub(crate) uses: Vec<Use>,
}

impl Granted {
    /// The loops on whose rounds slots depend, by member and number.
    pub(crate) fn loops(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.uses
            .iter()
            .flat_map(|of| of.slots.iter().flat_map(|slot| slot.loops().map(|index| (of.member, index))))
    }

    /// Whether it is more than an invocation has registers for.
    fn is_too_much(&self, kind: Internalization, facts: UnrollLimits) -> bool {
        kind == Internalization::Private && self.bytes > u64::from(facts.private_bytes)
    }

    /// Whether some slot is computed at run time.
    fn is_indexed(&self) -> bool {
        self.uses.iter().flat_map(|u| &u.slots).any(|slot| matches!(slot, SlotOf::Relative { .. }))
    }
}

/// One binding of one member that became a variable.
pub(crate) struct Use {
    pub(crate) member: usize,
    pub(crate) binding: usize,
    pub(crate) slots: Vec<SlotOf>,
    /// Some access pair inside this member is ordered by the member's own barriers.
    pub(crate) widen_barriers: bool,
}

/// Decides about one buffer of a group of at least two members. `shared` is how many bytes of
/// shared memory are left.
pub(crate) fn decide(
    problem: Problem<'_>,
    group: &mut Group,
    buffer: BufferId,
    shared: u64,
    report: &mut BufferReport,
) -> Option<Granted> {
    let Problem { list, uses, limits, .. } = problem;
    let asked = match wish(list, uses, buffer) {
        Ok(Promote::None) => return None,
        Ok(asked) => asked,
        Err(reason) => {
            report.reason = Some(reason);
            return None;
        }
    };
    report.asked = asked;
    let kinds: &[Internalization] = match asked {
        Promote::None => &[],
        Promote::Private => &[Internalization::Private],
        Promote::Local => &[Internalization::Local],
        Promote::Auto => &[Internalization::Private, Internalization::Local],
    };
    let mut reasons: SmallVec<[Reason; 2]> = SmallVec::new();
    for &kind in kinds {
        let trusted = group.trusted.len();
        match grant(problem, group, buffer, kind, shared) {
            // Private memory that is indexed at run time is not in registers; `Promote::Auto` goes on to shared memory.
            Ok(granted)
                if asked == Promote::Auto && kind == Internalization::Private && granted.is_indexed() =>
            {
                group.trusted.truncate(trusted);
                reasons.push(Reason::IndexedRegisters);
            }
            Ok(granted) if asked == Promote::Auto && granted.is_too_much(kind, limits.unroll) => {
                group.trusted.truncate(trusted);
                let (slots, most) = (granted.internal.slots, limits.unroll.private_bytes);
                let size = (granted.bytes / u64::from(slots.max(1))).max(1);
                let limit = u64::from(most) / size;
                reasons.push(Reason::TooManySlots { slots: u64::from(slots), limit });
            }
            Ok(granted) => {
                report.got = kind;
                report.reason = None;
                return Some(granted);
            }
            Err(reason) => {
                group.trusted.truncate(trusted);
                reasons.push(reason);
            }
        }
    }
    reasons.dedup();
    let mut reasons = reasons.into_iter();
    (report.reason, report.not_local) = (reasons.next(), reasons.next());
    None
}

fn grant(
    problem: Problem<'_>,
    group: &mut Group,
    buffer: BufferId,
    kind: Internalization,
    shared: u64,
) -> Result<Granted, Reason> {
    let Problem { uses, limits, .. } = problem;
    let members = group.start..group.end();
    let outside = uses.of_buffer(buffer).iter().any(|(submission, _)| !members.contains(submission));
    if outside && !mutant!(PromoteAcrossGroups) {
        return Err(Reason::SeveralGroups);
    }
    let Owned { elements, size: element_size, stride, slots, places, widen } =
        owned(problem, group, buffer, kind)?;
    let limit = MAX_PRIVATE_SLOTS.max(limits.unroll.rounds);
    if kind == Internalization::Private && slots > limit {
        return Err(Reason::TooManySlots { slots: u64::from(slots), limit: u64::from(limit) });
    }
    // Bytes without layout are at most those with it.
    let bytes = u64::from(slots) * element_size.next_multiple_of(16).min(stride.max(element_size));
    if kind == Internalization::Local && bytes > shared {
        return Err(Reason::SharedMemory { needed: bytes as u32, limit: shared as u32 });
    }
    let mut granted: Vec<Use> = Vec::new();
    for &(member, binding) in uses.of_buffer(buffer) {
        if !members.contains(&member) {
            continue;
        }
        let slots = elements
            .iter()
            .zip(&places)
            .filter(|(e, _)| e.member == member && e.binding == binding)
            .map(|(_, place)| place.clone())
            .collect();
        let widen_barriers = widen.contains(&member) && !mutant!(OwnBarriersStay);
        granted.push(Use { member, binding, slots, widen_barriers });
    }
    Ok(Granted { buffer, internal: Internal { kind, slots }, bytes, uses: granted })
}

/// The accesses of a group to a buffer whose elements each belong to one invocation, or one work-group, which reads only what it
/// has stored.
pub(in crate::plan) struct Owned {
    pub(in crate::plan) elements: Vec<Element>,
    /// Bytes of an element.
    pub(in crate::plan) size: u64,
    stride: u64,
    pub(in crate::plan) slots: u32,
    /// The place of each access.
    pub(in crate::plan) places: Vec<SlotOf>,
    /// Members that exchange elements at their own barriers.
    widen: AHashSet<usize>,
}

pub(in crate::plan) fn owned(
    problem: Problem<'_>,
    group: &mut Group,
    buffer: BufferId,
    kind: Internalization,
) -> Result<Owned, Reason> {
    let Problem { list, options, .. } = problem;
    let (elements, joint, size, stride) = elements(problem, group, buffer)?;
    let private = kind == Internalization::Private && !mutant!(LocalIsPrivate);
    let needed = if private { Relation::SameInvocation } else { Relation::SameGroup };
    let mut widen = AHashSet::new();
    ownership(list, group, &elements, needed, buffer, options, &mut widen)?;
    if !mutant!(AnyReadIsDefined) {
        check_covered(list, group, &elements, &joint, kind, buffer, options)?;
    }
    let (slots, places) = places(&group.atoms, &elements, kind, i128::from(stride))?;
    Ok(Owned { elements, size, stride, slots, places, widen })
}

/// All accesses of the group to the buffer, its joint stores, the size of an element and the stride between two.
fn elements(
    problem: Problem<'_>,
    group: &mut Group,
    buffer: BufferId,
) -> Result<(Vec<Element>, Vec<Element>, u64, u64), Reason> {
    let Problem { list, uses, limits, .. } = problem;
    let &Limits { small_scalars: small, unroll: facts, robust, .. } = limits;
    let mut found = Vec::new();
    let mut joint = Vec::new();
    let mut shape: Option<(String, u64, u64)> = None;
    let range = group.start..group.end();
    let mut members: Vec<usize> = uses.of_buffer(buffer).iter().map(|&(member, _)| member).collect();
    members.retain(|member| range.contains(member));
    members.dedup();
    for position in members {
        let submission = &list[position];
        let analysis = analysis_of(submission)?;
        let sizes = submission.sizes();
        let constants = uses.constants(submission);
        let env = group
            .layout
            .environment(&mut group.atoms, position, submission, &sizes, &constants)
            .ok_or(Reason::RangeTooLarge)?;
        let mut evaluator = Evaluator::new(&group.atoms, analysis, &env);
        let loops: Rc<[Written]> = unroll::loops(&mut group.atoms, analysis, &mut evaluator, facts).into();
        let normal = submission.kernel.normal.as_ref().map_err(Clone::clone)?;
        for (number, access) in analysis.accesses.iter().enumerate() {
            let arg = &submission.args[access.binding];
            if arg.buffer != buffer {
                continue;
            }
            match submission.kernel.interface.bindings[access.binding].kind {
                BindingKind::StorageBuffer => {}
                kind if kind.texture().is_some() => return Err(Reason::Image),
                _ => return Err(Reason::UniformBuffer),
            }
            if access.kind == AccessKind::Atomic && !mutant!(AtomicsMayBeInside) {
                return Err(Reason::Atomic);
            }
            let index = access.element.and_then(|e| e.index).ok_or(Reason::ElementType)?;
            let matrix = if mutant!(MajorsAreOne) { Default::default() } else { index.matrix };
            let signature = normal.types.bit_signature(index.ty, matrix);
            let size = normal.types.span(index.ty, matrix);
            let needs = normal.types.small_scalars(index.ty);
            if needs.int8 && !small.int8 || needs.int16 && !small.int16 || needs.float16 && !small.float16 {
                return Err(Reason::SmallElements);
            }
            match &shape {
                None => shape = Some((signature, size, index.stride)),
                Some(known) if *known == (signature, size, index.stride) => {}
                Some(_) => return Err(Reason::ElementType),
            }
            let form = group.forms[position - group.start][number].clone();
            let start = evaluator.element(&mut group.atoms, access, arg.offset);
            // What does not happen may be anywhere.
            let start = if form.never { Some(start.unwrap_or_default()) } else { start };
            let start = start.ok_or(Reason::UnknownIndex)?;
            if form.unknown && !form.never {
                return Err(Reason::UnknownIndex);
            }
            if robust && !stays(&group.atoms, &form) && !mutant!(OutsideIsKept) {
                return Err(Reason::MayLeaveRange { submission: position, at: arg.at });
            }
            found.push(Element {
                member: position,
                binding: access.binding,
                access: number,
                kind: access.kind,
                array: form.accessor.0 + i128::from(index.start),
                form,
                start,
                loops: loops.clone(),
            });
        }
        for (number, access) in analysis.joint.iter().enumerate() {
            let arg = &submission.args[access.binding];
            if arg.buffer != buffer {
                continue;
            }
            let form = evaluator.access(&mut group.atoms, access, arg.offset);
            // Fewer guards may leave open what each of its stores knows.
            if !form.unknown {
                joint.push(Element {
                    member: position,
                    binding: access.binding,
                    access: analysis.accesses.len() + number,
                    kind: access.kind,
                    array: form.accessor.0,
                    form,
                    start: Affine::default(),
                    loops: loops.clone(),
                });
            }
        }
    }
    let (_, size, stride) = shape.ok_or(Reason::ElementType)?;
    if stride == 0 || size == 0 {
        return Err(Reason::ElementType);
    }
    Ok((found, joint, size, stride))
}

/// Checks that no element is shared wider than `needed` allows.
fn ownership(
    list: &[Submission],
    group: &mut Group,
    elements: &[Element],
    needed: Relation,
    buffer: BufferId,
    options: &FuseOptions,
    widen: &mut AHashSet<usize>,
) -> Result<(), Reason> {
    let shape = group.layout.shape;
    let pairs = distinct(elements);
    for (n, &a) in pairs.iter().enumerate() {
        for &b in &pairs[n..] {
            if !a.kind.writes() && !b.kind.writes() {
                continue;
            }
            let relation = relate(&mut group.atoms, shape, &a.form, &b.form);
            if relation <= needed || mutant!(NoOwnership) {
                continue;
            }
            let reason = Reason::SharedElements {
                pair: Box::new(AccessPair {
                    first: site(list, a.member, a.access),
                    second: site(list, b.member, b.access),
                }),
                between_groups: relation == Relation::Unrelated,
            };
            if options.policy == Policy::Prove {
                return Err(reason);
            }
            group.trusted.push(TrustedReport {
                first: a.member,
                second: b.member,
                buffer: Some(buffer),
                reason,
            });
        }
    }
    // What invocations exchange within one member is ordered by its own barriers.
    for member in elements.chunk_by(|a, b| a.member == b.member) {
        let exchanges = member.iter().enumerate().any(|(n, a)| {
            member[n..].iter().any(|b| {
                (a.kind.writes() || b.kind.writes())
                    && relate(&mut group.atoms, shape, &a.form, &b.form) > Relation::SameInvocation
            })
        });
        if exchanges {
            widen.insert(member[0].member);
        }
    }
    Ok(())
}

/// The first access of each form and kind: members of a long list tend to touch the same elements in
/// the same way, and need not all be compared with all.
fn distinct(elements: &[Element]) -> Vec<&Element> {
    let mut known: AHashMap<(&Affine, i128, bool), SmallVec<[&Element; 1]>> = AHashMap::new();
    let mut out = Vec::new();
    for element in elements {
        let key = (&element.form.offset, element.form.size, element.kind.writes());
        let same = known.entry(key).or_default();
        if !same.iter().any(|other| other.form.facts == element.form.facts) {
            same.push(element);
            out.push(element);
        }
    }
    out
}

/// The number of slots and the place of each access. Accesses that do not happen with the numbers of this call may have any place: calls
/// in which they happen get other code.
fn places(
    atoms: &Atoms,
    elements: &[Element],
    kind: Internalization,
    stride: i128,
) -> Result<(u32, Vec<SlotOf>), Reason> {
    let happening: Vec<&Element> = elements.iter().filter(|element| !element.form.never).collect();
    if happening.is_empty() {
        return Ok((1, vec![SlotOf::Fixed(0); elements.len()]));
    }
    let (slots, places) = places_of(atoms, &happening, kind, stride)?;
    let mut places = places.into_iter();
    let place = |element: &Element| if element.form.never { Some(SlotOf::Fixed(0)) } else { places.next() };
    let all: Option<Vec<SlotOf>> = elements.iter().map(place).collect();
    Ok((slots, all.ok_or(Reason::Slot)?))
}

/// Terms of an affine form.
type Terms = SmallVec<[(AtomId, i128); 3]>;

/// As [`places`], for accesses that happen.
fn places_of(
    atoms: &Atoms,
    elements: &[&Element],
    kind: Internalization,
    stride: i128,
) -> Result<(u32, Vec<SlotOf>), Reason> {
    // What the owner (invocation or work-group) contributes to the offset is the same everywhere, or
    // there is no fixed place.
    let owned = |id: AtomId| match atoms.get(id) {
        Atom::Group(_) => true,
        Atom::Local(_) => kind == Internalization::Private,
        _ => false,
    };
    // What has one value where an access happens is a number: the local id, where one invocation of a work-group does it. What depends on rounds in
    // private memory follows from unrolled loops.
    let number = |element: &Element, id: AtomId| {
        let (least, most) = element.form.ranges.get(atoms, id);
        let is_one = least == most || mutant!(RangesAreNumbers);
        (is_one && kind == Internalization::Local).then_some(least)
    };
    let split = |element: &&Element| {
        let (mut own, mut rest, mut constant) = (Terms::new(), Terms::new(), element.start.constant);
        for &(id, c) in &element.start.terms {
            match number(element, id) {
                _ if owned(id) => own.push((id, c)),
                Some(value) => constant += c * value,
                None => rest.push((id, c)),
            }
        }
        (own, rest, constant)
    };
    let parts: Vec<_> = elements.iter().map(split).collect();
    let Some((own, ..)) = parts.first() else {
        return Err(Reason::Slot);
    };
    if parts.iter().any(|part| part.0 != *own) && !same_opaque_owner(atoms, elements, &owned) {
        return Err(Reason::Slot);
    }
    let mut low = i128::MAX;
    let mut high = i128::MIN;
    for (element, (_, rest, constant)) in elements.iter().zip(&parts) {
        let (mut a, mut b) = (*constant, *constant);
        for &(id, c) in rest {
            if touches_owner(atoms, id, &owned) {
                if same_opaque_owner(atoms, elements, &owned) {
                    // One element per owner, wherever it lies.
                    return Ok((1, vec![SlotOf::Fixed(0); elements.len()]));
                }
                return Err(Reason::Slot);
            }
            // Local ids count in full, so that a guard on the problem size is not built into the code.
            let (least, most) = match atoms.get(id) {
                Atom::Local(_) => (0, atoms.max(id)),
                _ => element.form.ranges.get(atoms, id),
            };
            a += (c * least).min(c * most);
            b += (c * least).max(c * most);
        }
        low = low.min(a);
        high = high.max(b);
    }
    let uneven = |n: i128| n.rem_euclid(stride) != 0;
    if uneven(high - low) || own.iter().any(|&(_, c)| uneven(c)) {
        return Err(Reason::Slot);
    }
    // Elements an owner touches may lie a fixed distance apart, as in a loop that strides.
    let step = parts.iter().fold(0, |step, (_, rest, constant)| {
        rest.iter().fold(gcd(step, constant - low), |step, &(_, c)| gcd(step, c))
    });
    let step = if step == 0 { stride } else { step };
    if uneven(step) {
        return Err(Reason::Slot);
    }
    let divisor = u32::try_from(step / stride).map_err(|_| Reason::Slot)?;
    let slots = u32::try_from((high - low) / step + 1).map_err(|_| Reason::Slot)?;
    let round =
        |element: &Element, id: AtomId| element.loops.iter().find(|l| l.counter == id).map(|l| l.index);
    let unrolled = kind == Internalization::Private
        && elements
            .iter()
            .zip(&parts)
            .all(|(e, (_, rest, _))| rest.iter().all(|&(id, _)| round(e, id).is_some()));
    let mut places = Vec::with_capacity(elements.len());
    for (element, (_, rest, constant)) in elements.iter().zip(&parts) {
        if rest.is_empty() {
            let slot = if mutant!(OneSlot) { 0 } else { (constant - low) / step };
            places.push(SlotOf::Fixed(slot as u32));
            continue;
        }
        if unrolled {
            let first = ((constant - low) / step) as u32;
            let by =
                rest.iter().filter_map(|&(id, c)| Some((round(element, id)?, i64::try_from(c / step).ok()?)));
            places.push(SlotOf::Unrolled { first, by: by.collect() });
            continue;
        }
        let mut group = [0i64; 3];
        let mut local = [0i64; 3];
        for &(id, c) in own {
            let factor = i64::try_from(c / stride).map_err(|_| Reason::Slot)?;
            match atoms.get(id) {
                Atom::Group(d) => group[usize::from(*d)] = factor,
                Atom::Local(d) => local[usize::from(*d)] = factor,
                _ => return Err(Reason::Slot),
            }
        }
        // The index counts from the start of the array; `low` from that of the memory object.
        let base = match (mutant!(SlotsFromTheView), mutant!(SlotsFromTheArray)) {
            (true, _) => element.array - element.form.accessor.0 - low,
            (_, true) => element.form.accessor.0 - low,
            _ => element.array - low,
        };
        if uneven(base) {
            return Err(Reason::Slot);
        }
        let constant = i64::try_from(base / stride).map_err(|_| Reason::Slot)?;
        places.push(SlotOf::Relative { group, local, constant, divisor });
    }
    Ok((slots, places))
}

/// Whether every access is to the very same function of the owner: then one slot is enough.
fn same_opaque_owner(atoms: &Atoms, elements: &[&Element], owned: &impl Fn(AtomId) -> bool) -> bool {
    elements.first().is_some_and(|first| {
        elements.iter().all(|e| e.start == first.start)
            && first.start.terms.iter().all(|&(id, _)| only_owner(atoms, id, owned))
    })
}

/// Whether an atom is a function of what `owned` says alone.
fn only_owner(atoms: &Atoms, id: AtomId, owned: &impl Fn(AtomId) -> bool) -> bool {
    match atoms.get(id) {
        Atom::Quotient(base, _) | Atom::Remainder(base, _) => {
            base.terms.iter().all(|&(inner, _)| only_owner(atoms, inner, owned))
        }
        _ => owned(id),
    }
}

fn touches_owner(atoms: &Atoms, id: AtomId, owned: &impl Fn(AtomId) -> bool) -> bool {
    match atoms.get(id) {
        Atom::Quotient(base, _) | Atom::Remainder(base, _) => {
            base.terms.iter().any(|&(inner, _)| owned(inner) || touches_owner(atoms, inner, owned))
        }
        _ => false,
    }
}
