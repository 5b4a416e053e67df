//! Compares two accesses: which invocations can touch the same bytes?
//!
//! Let `f` and `g` be the byte offsets of two accesses as functions of the invocation, and `S = f(t) -
//! g(t')` for two invocations `t`, `t'` of the fused kernel. The accesses overlap only if `S` lies in
//! a window given by their sizes. Written over atoms, `S` is a sum of coefficients times *digits*: the
//! differences of equal atoms in `t` and `t'`. Taken from the largest coefficient down, a digit whose
//! coefficient exceeds everything the smaller ones and the window can make up must be zero: both
//! invocations agree on it. What they agree on tells whether they are the same invocation or at least
//! of the same work-group.

#[cfg(test)]
mod brute;
mod digits;

use smallvec::SmallVec;

use self::digits::{Digits, Solution};
use super::affine::{Affine, Atom, AtomId, Atoms};
use super::evaluate::AccessForm;

/// Which invocations can touch the same bytes through two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Relation {
    /// None: the bytes never overlap.
    Disjoint,
    /// Only one invocation with itself.
    SameInvocation,
    /// Only invocations of one work-group.
    SameGroup,
    /// Invocations of different work-groups, or nothing could be shown.
    Unrelated,
}

/// Shape of the fused kernel: the ranges invocations are distinguished by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) groups: [u32; 3],
    pub(crate) local: [u32; 3],
}

/// Relation of two accesses of the fused kernel, possibly of different members.
pub(crate) fn relate(atoms: &mut Atoms, shape: Shape, a: &AccessForm, b: &AccessForm) -> Relation {
    if a.never || b.never {
        return Relation::Disjoint;
    }
    if a.unknown || b.unknown {
        // What cannot be followed stays within its accessor all the same.
        let apart = a.accessor.1 <= b.accessor.0 || b.accessor.1 <= a.accessor.0;
        let disjoint = apart || mutant!(UnknownIsDisjoint);
        return if disjoint { Relation::Disjoint } else { Relation::Unrelated };
    }
    let plain = relate_forms(atoms, shape, a.clone(), b.clone(), Join::Both);
    if matches!(plain, Relation::Disjoint | Relation::SameInvocation) {
        return plain;
    }
    // All ways of writing the places are exact, and any may show what the others do not.
    let (mut x, mut y) = (a.clone(), b.clone());
    let moved = align(atoms, &mut x, b);
    if align(atoms, &mut y, &x) || moved {
        let aligned = relate_forms(atoms, shape, x, y, Join::Both);
        if aligned != Relation::Unrelated {
            return aligned;
        }
    }
    match plain {
        Relation::Unrelated => relate_forms(atoms, shape, a.clone(), b.clone(), Join::Nothing),
        known => known,
    }
}

/// Where group and local id become the global id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Join {
    /// Nowhere.
    Nothing,
    /// In dimensions where both forms allow it.
    Both,
}

/// As [`relate`], for forms that are known, in one way of writing them.
fn relate_forms(
    atoms: &mut Atoms,
    shape: Shape,
    mut a: AccessForm,
    mut b: AccessForm,
    join: Join,
) -> Relation {
    let merged = merge_dimensions(atoms, shape, &mut a, &mut b, join);
    let mut agreed = Agreed::default();
    for id in all_atoms(&a, &b) {
        // An atom that the guards pin to one value on both sides is agreed on.
        if atoms.is_shared(id) && pinned(atoms, &a, &b, id) {
            agreed.insert(id);
        }
    }
    // Overlap: -a.size < f - g < b.size, exclusive on both ends.
    let Some(difference) = Digits::of(atoms, &a, &b) else {
        return Relation::Disjoint;
    };
    let shift = a.offset.constant - b.offset.constant;
    match difference.solve(atoms, &a, &b, 1 - a.size - shift, b.size - 1 - shift) {
        Solution::Never => return Relation::Disjoint,
        Solution::Zero(ids) => ids.into_iter().for_each(|id| agreed.insert(id)),
    }
    agreed.close(atoms, &a, &b);
    let agreed_on = |atom: Atom, count: u32, dim: u8| {
        let by_global = merged[usize::from(dim)];
        count <= 1
            || atoms.find(&atom).is_some_and(|id| agreed.contains(id))
            || (by_global && atoms.find(&Atom::Global(dim)).is_some_and(|id| agreed.contains(id)))
            || atoms.find(&atom).is_some_and(|id| pinned(atoms, &a, &b, id))
    };
    let same_group = (0..3u8).all(|d| agreed_on(Atom::Group(d), shape.groups[usize::from(d)], d));
    let same_local = (0..3u8).all(|d| agreed_on(Atom::Local(d), shape.local[usize::from(d)], d));
    let same_local = same_local || mutant!(GroupIsInvocation);
    let same_group = same_group || mutant!(LocalIsEnough);
    match (same_group, same_local) {
        (true, true) => Relation::SameInvocation,
        (true, false) => Relation::SameGroup,
        _ => Relation::Unrelated,
    }
}

/// Gives atoms that the guards of `a` pin to one value the weight they have in `b`, so that both sides
/// have one digit in common: `c * x = d * x + (c - d) * v` where `x` is `v`. Tells whether there was one.
fn align(atoms: &Atoms, a: &mut AccessForm, b: &AccessForm) -> bool {
    let mut moved = false;
    for id in all_atoms(a, b) {
        let Some((low, high)) = a.range(atoms, id) else { continue };
        let (own, other) = (a.offset.coefficient(id), b.offset.coefficient(id));
        if low != high || own == other || !atoms.is_shared(id) {
            continue;
        }
        let aligned = (own - other).checked_mul(low).and_then(|n| a.offset.constant.checked_add(n));
        if let Some(constant) = aligned {
            a.offset.constant = constant;
            a.offset.add_term(id, other - own);
            moved = true;
        }
    }
    moved
}

/// Whether the guards of both accesses leave an atom one and the same value.
fn pinned(atoms: &Atoms, a: &AccessForm, b: &AccessForm, id: AtomId) -> bool {
    let of = |form: &AccessForm| form.range(atoms, id).filter(|(low, high)| low == high);
    of(a).is_some_and(|value| of(b) == Some(value))
}

fn all_atoms(a: &AccessForm, b: &AccessForm) -> SmallVec<[AtomId; 8]> {
    let mut ids: SmallVec<[AtomId; 8]> = SmallVec::new();
    let forms = [&a.offset, &b.offset].into_iter().chain(&a.facts).chain(&b.facts);
    for &(id, _) in forms.flat_map(|f| &f.terms) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

/// Replaces `group * size + local` by one atom per dimension where both offsets allow it, so that a
/// guard on the global id bounds one digit. Says by dimension whether it did.
fn merge_dimensions(
    atoms: &mut Atoms,
    shape: Shape,
    a: &mut AccessForm,
    b: &mut AccessForm,
    join: Join,
) -> [bool; 3] {
    let mut merged = [false; 3];
    if join == Join::Nothing {
        return merged;
    }
    for dim in 0..3u8 {
        let (groups, size) = (shape.groups[usize::from(dim)], shape.local[usize::from(dim)]);
        if groups <= 1 || size <= 1 {
            continue;
        }
        let (Some(group), Some(local)) = (atoms.find(&Atom::Group(dim)), atoms.find(&Atom::Local(dim)))
        else {
            continue;
        };
        let (last, size) = (i128::from(groups) - 1, i128::from(size));
        let weights = |form: &AccessForm| (form.offset.coefficient(group), form.offset.coefficient(local));
        let fits = |form: &AccessForm| weights(form).0 == weights(form).1 * size;
        // A quotient or remainder of the id keeps its parts; merging only the visible ones is still
        // right, because the merged atom is a function of the same invocation.
        let used = weights(a).1 != 0 || weights(b).1 != 0;
        if !used || !(fits(a) && fits(b) || mutant!(MergeWithoutFit)) {
            continue;
        }
        merged[usize::from(dim)] = true;
        let global = atoms.intern(Atom::Global(dim), (last + 1) * size - 1);
        for form in [&mut *a, &mut *b] {
            let mut extra = Vec::new();
            for fact in &form.facts {
                let c = fact.coefficient(local);
                if c != 0 && fact.coefficient(group) == c * size {
                    let mut fact = fact.clone();
                    replace(&mut fact, group, local, global);
                    extra.push(fact);
                }
            }
            replace(&mut form.offset, group, local, global);
            form.ranges.apply(atoms, &extra);
            form.facts.extend(extra);
        }
    }
    merged
}

fn replace(form: &mut Affine, group: AtomId, local: AtomId, global: AtomId) {
    let c = form.coefficient(local);
    form.add_term(group, -form.coefficient(group));
    form.add_term(local, -c);
    form.add_term(global, c);
}

/// Atoms on which two invocations agree.
#[derive(Default)]
struct Agreed(SmallVec<[AtomId; 8]>);

impl Agreed {
    fn insert(&mut self, id: AtomId) {
        if !self.0.contains(&id) {
            self.0.push(id);
        }
    }

    fn contains(&self, id: AtomId) -> bool {
        self.0.contains(&id)
    }

    /// Draws conclusions from quotients and remainders: invocations that agree on `x / d` and `x mod d` agree on `x`; those that
    /// agree on `x / d` alone have an `x` less than `d` apart, and those that agree on `x mod d` alone one that is a multiple
    /// of `d` apart.
    fn close(&mut self, atoms: &Atoms, a: &AccessForm, b: &AccessForm) {
        let mut done: SmallVec<[(AtomId, bool); 4]> = SmallVec::new();
        loop {
            let mut next = None;
            for &id in &self.0 {
                let whole = self.is_whole(atoms, id);
                let is_part = matches!(atoms.get(id), Atom::Quotient(..) | Atom::Remainder(..));
                if is_part && !done.contains(&(id, whole)) {
                    next = Some((id, whole));
                    break;
                }
            }
            let Some((id, whole)) = next else {
                return;
            };
            done.push((id, whole));
            let (Atom::Quotient(base, divisor) | Atom::Remainder(base, divisor)) = atoms.get(id) else {
                continue;
            };
            let form = |side: &AccessForm| AccessForm { offset: base.clone(), ..side.clone() };
            let (x, y) = (form(a), form(b));
            let Some(digits) = Digits::of(atoms, &x, &y) else {
                continue;
            };
            let window = match atoms.get(id) {
                _ if whole => 0,
                Atom::Quotient(..) => divisor - 1,
                // The only multiple it can be is none.
                _ if digits.is_within(atoms, &x, &y, divisor - 1) || mutant!(RemainderIsWhole) => 0,
                _ => continue,
            };
            if let Solution::Zero(ids) = digits.solve(atoms, &x, &y, -window, window) {
                ids.into_iter().for_each(|id| self.insert(id));
            }
            // (x / d) mod e and x / (d e) make up x / d.
            if let (true, &[(inner, 1)], 0) = (whole, base.terms.as_slice(), base.constant) {
                self.insert(inner);
            }
        }
    }

    /// Whether quotient and remainder of the same number by the same divisor are both agreed on, one of them being this
    /// atom.
    fn is_whole(&self, atoms: &Atoms, id: AtomId) -> bool {
        let agreed = |atom: &Atom| atoms.find(atom).is_some_and(|id| self.contains(id));
        match atoms.get(id) {
            Atom::Quotient(base, divisor) => {
                agreed(&Atom::Remainder(base.clone(), *divisor)) || mutant!(QuotientIsWhole)
            }
            Atom::Remainder(base, divisor) => {
                // The quotient of a quotient is one by the product.
                let (number, by) = match (base.terms.as_slice(), base.constant) {
                    (&[(inner, 1)], 0) => match atoms.get(inner) {
                        Atom::Quotient(number, first) => (number, first.checked_mul(*divisor)),
                        _ => (base, Some(*divisor)),
                    },
                    _ => (base, Some(*divisor)),
                };
                by.is_some_and(|by| agreed(&Atom::Quotient(number.clone(), by)))
            }
            _ => false,
        }
    }
}
