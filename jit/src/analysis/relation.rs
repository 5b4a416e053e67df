//! Compares two accesses: who can touch the same bytes?
//!
//! Let `f` and `g` be the byte offsets of two accesses as functions of the invocation, and `S = f(t) -
//! g(t')` for two invocations `t`, `t'` of the fused kernel. The accesses overlap only if `S` lies in
//! a window given by their sizes. Written over atoms, `S` is a sum of coefficients times *digits*: the
//! differences of equal atoms in `t` and `t'`. Taken from the largest coefficient down, a digit whose
//! coefficient exceeds everything the smaller ones and the window can make up must be zero: both
//! invocations agree on it. What they agree on tells whether they are the same invocation or at least
//! of the same work-group.

use smallvec::SmallVec;

use super::atoms::{Affine, Atom, AtomId, Atoms, Bounds, gcd};
use super::form::AccessForm;

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

/// Shape of the fused kernel: the ranges invocations are told apart by.
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
        Relation::Unrelated => {
            let others = [Join::Nothing, Join::Firsts].into_iter();
            let mut found = others.map(|join| relate_forms(atoms, shape, a.clone(), b.clone(), join));
            found.find(|&other| other != Relation::Unrelated).unwrap_or(plain)
        }
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
    /// Also where only one has both ids: the other is taken for that of its work-group's first invocation.
    Firsts,
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
    if join == Join::Firsts && !merged.contains(&Merged::First) {
        return Relation::Unrelated;
    }
    let mut agreed = Agreed::default();
    for id in all_atoms(&a, &b) {
        // An atom that the guards pin to one value on both sides is agreed on.
        let (x, y) = (a.ranges.get(atoms, id), b.ranges.get(atoms, id));
        if x.0 == x.1 && x == y && atoms.is_shared(id) {
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
        let by_global = match merged[usize::from(dim)] {
            Merged::No => false,
            Merged::Both => true,
            Merged::First => matches!(atom, Atom::Group(_)) || mutant!(FirstIsWhole),
        };
        count <= 1
            || atoms.find(&atom).is_some_and(|id| agreed.contains(id))
            || (by_global && atoms.find(&Atom::Global(dim)).is_some_and(|id| agreed.contains(id)))
            || pinned(atoms, &a, &b, &atom)
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
        let (low, high) = a.ranges.get(atoms, id);
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

fn pinned(atoms: &Atoms, a: &AccessForm, b: &AccessForm, atom: &Atom) -> bool {
    atoms.find(atom).is_some_and(|id| {
        let (x, y) = (a.ranges.get(atoms, id), b.ranges.get(atoms, id));
        x.0 == x.1 && x == y
    })
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

/// What became of the ids of one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Merged {
    No,
    /// Both offsets go by the global id.
    Both,
    /// One goes by the global id, the other by that of its work-group's first invocation: who agrees on it is of one
    /// work-group.
    First,
}

/// Replaces `group * size + local` by one atom per dimension where both offsets allow it, so that a
/// guard on the global id bounds one digit.
fn merge_dimensions(
    atoms: &mut Atoms,
    shape: Shape,
    a: &mut AccessForm,
    b: &mut AccessForm,
    join: Join,
) -> [Merged; 3] {
    let mut merged = [Merged::No; 3];
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
        let both = fits(a) && fits(b) || mutant!(MergeWithoutFit);
        let same = weights(a).0 == weights(b).0;
        let first = |of: &AccessForm, other: &AccessForm| weights(of).1 == 0 && fits(other) && same;
        let (of_a, of_b) = (first(a, b), first(b, a));
        merged[usize::from(dim)] = match used {
            true if both => Merged::Both,
            true if join == Join::Firsts && (of_a || of_b) => Merged::First,
            _ => continue,
        };
        let global = atoms.intern(Atom::Global(dim), (last + 1) * size - 1);
        for (form, is_first) in [(&mut *a, of_a && !both), (&mut *b, of_b && !both)] {
            let mut extra = Vec::new();
            for fact in &form.facts {
                let c = fact.coefficient(local);
                if c != 0 && fact.coefficient(group) == c * size {
                    let mut fact = fact.clone();
                    replace(&mut fact, group, local, global);
                    extra.push(fact);
                }
            }
            if is_first {
                // What bounds the invocation's id from above bounds that of the first of its work-group.
                let mut ranges = form.ranges.clone();
                ranges.apply(atoms, &extra);
                let most = ranges.get(atoms, global).1.min(last * size);
                let weight = form.offset.coefficient(group) / size;
                form.offset.add_term(group, -weight * size);
                form.offset.add_term(global, weight);
                extra = vec![Affine::constant(-most)];
                extra[0].add_term(global, 1);
            } else {
                replace(&mut form.offset, group, local, global);
            }
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

/// One summand of the difference of two offsets.
#[derive(Clone, Debug)]
struct Digit {
    coefficient: i128,
    /// Least and greatest value.
    low: i128,
    high: i128,
    /// The atom both sides agree on if the digit is zero.
    atom: Option<AtomId>,
}

#[derive(Default)]
struct Digits(SmallVec<[Digit; 8]>);

enum Solution {
    /// The sum never falls into the window.
    Never,
    /// If it does, the digits of these atoms are zero.
    Zero(SmallVec<[AtomId; 8]>),
}

impl Digits {
    /// The difference of two offsets, or nothing if one of the accesses cannot happen.
    fn of(atoms: &Atoms, a: &AccessForm, b: &AccessForm) -> Option<Self> {
        let mut digits = Self::default();
        let mut seen: SmallVec<[AtomId; 8]> = SmallVec::new();
        for &(id, _) in a.offset.terms.iter().chain(&b.offset.terms) {
            if seen.contains(&id) {
                continue;
            }
            seen.push(id);
            let (ca, cb) = (a.offset.coefficient(id), b.offset.coefficient(id));
            let (x, y) = (a.ranges.get(atoms, id), b.ranges.get(atoms, id));
            if x.0 > x.1 || y.0 > y.1 {
                return None;
            }
            if atoms.is_uniform(id) {
                // One number on both sides.
                digits.push(Digit {
                    coefficient: ca - cb,
                    low: x.0.max(y.0),
                    high: x.1.min(y.1),
                    atom: None,
                });
            } else if ca == cb && atoms.is_shared(id) {
                digits.push(Digit { coefficient: ca, low: x.0 - y.1, high: x.1 - y.0, atom: Some(id) });
            } else {
                // Different weights, or values that have nothing to do with each other.
                if ca != 0 {
                    digits.push(Digit { coefficient: ca, low: x.0, high: x.1, atom: None });
                }
                if cb != 0 {
                    digits.push(Digit { coefficient: -cb, low: y.0, high: y.1, atom: None });
                }
            }
        }
        Some(digits)
    }

    /// Adds a digit with a positive coefficient; unattached ones of one coefficient become one.
    fn push(&mut self, mut digit: Digit) {
        if digit.coefficient == 0 {
            return;
        }
        if digit.coefficient < 0 {
            digit = Digit {
                coefficient: -digit.coefficient,
                low: -digit.high,
                high: -digit.low,
                atom: digit.atom,
            };
        }
        if digit.low == 0 && digit.high == 0 && digit.atom.is_none() {
            return;
        }
        if digit.atom.is_none()
            && let Some(same) =
                self.0.iter_mut().find(|d| d.atom.is_none() && d.coefficient == digit.coefficient)
        {
            same.low += digit.low;
            same.high += digit.high;
            return;
        }
        self.0.push(digit);
    }

    /// What follows if the sum of all digits lies in `low..=high`.
    fn solve(mut self, atoms: &Atoms, a: &AccessForm, b: &AccessForm, low: i128, high: i128) -> Solution {
        // The sum is a multiple of the common divisor of the coefficients.
        let step = self.0.iter().fold(0, |g, d| gcd(g, d.coefficient));
        let (mut low, mut high) = (low, high);
        if step > 0 {
            low = -((-low).div_euclid(step)) * step;
            high = high.div_euclid(step) * step;
        } else {
            (low, high) = (low.max(0), high.min(0));
        }
        if low > high {
            return Solution::Never;
        }
        let reach = |digits: &[Digit]| {
            digits.iter().fold((0i128, 0i128), |(l, h), d| {
                (
                    l.saturating_add(d.coefficient.saturating_mul(d.low)),
                    h.saturating_add(d.coefficient.saturating_mul(d.high)),
                )
            })
        };
        let (least, most) = reach(&self.0);
        if least > high || most < low {
            return Solution::Never;
        }
        self.0.sort_by_key(|d| std::cmp::Reverse(d.coefficient));
        let mut zero = SmallVec::new();
        for (n, digit) in self.0.iter().enumerate() {
            let (mut least, mut most) = reach(&self.0[n + 1..]);
            if self.0.get(n + 1).is_none_or(|next| next.coefficient < digit.coefficient) {
                // A guard may bound the smaller digits together (`row * width + column, column < width`).
                let x = below(atoms, a, digit.coefficient);
                let y = below(atoms, b, digit.coefficient);
                least = least.max(x.0.saturating_sub(y.1));
                most = most.min(x.1.saturating_sub(y.0));
            }
            // coefficient * digit = sum - rest, so it lies in low - most ..= high - least.
            let first = div_up(low.saturating_sub(most), digit.coefficient).max(digit.low);
            let last = high.saturating_sub(least).div_euclid(digit.coefficient).min(digit.high);
            if first > last {
                return Solution::Never;
            }
            if (first != 0 || last != 0) && !(mutant!(AnyDigitIsZero) && digit.atom.is_some()) {
                // This digit may be something else: it joins the window for those below it.
                if first == last {
                    low = low.saturating_sub(digit.coefficient * first);
                    high = high.saturating_sub(digit.coefficient * first);
                } else {
                    low = low.saturating_sub(digit.coefficient.saturating_mul(last));
                    high = high.saturating_sub(digit.coefficient.saturating_mul(first));
                }
                continue;
            }
            if let Some(id) = digit.atom {
                zero.push(id);
            }
        }
        if self.0.is_empty() && (low > 0 || high < 0) {
            return Solution::Never;
        }
        Solution::Zero(zero)
    }
}

/// Range of the terms of an offset with coefficients below `limit`.
fn below(atoms: &Atoms, side: &AccessForm, limit: i128) -> (i128, i128) {
    let mut form = Affine::default();
    side.offset.terms.iter().filter(|t| t.1.abs() < limit).for_each(|&(id, c)| form.add_term(id, c));
    Bounds { ranges: &side.ranges, facts: &side.facts }.of(atoms, &form)
}

fn div_up(a: i128, b: i128) -> i128 {
    -((-a).div_euclid(b))
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

    /// Draws conclusions from quotients and remainders: who agrees on `x / d` and `x mod d` agrees on
    /// `x`, and who agrees on `x / d` alone has an `x` less than `d` apart.
    fn close(&mut self, atoms: &Atoms, a: &AccessForm, b: &AccessForm) {
        let mut done: SmallVec<[(Affine, i128, bool); 4]> = SmallVec::new();
        loop {
            let mut next = None;
            for &id in &self.0 {
                let Atom::Quotient(base, divisor) = atoms.get(id) else {
                    continue;
                };
                let remainder = atoms.find(&Atom::Remainder(base.clone(), *divisor));
                let whole = remainder.is_some_and(|id| self.contains(id)) || mutant!(QuotientIsWhole);
                let task = (base.clone(), *divisor, whole);
                if !done.contains(&task) {
                    next = Some(task);
                    break;
                }
            }
            let Some((base, divisor, whole)) = next else {
                return;
            };
            done.push((base.clone(), divisor, whole));
            let form = |side: &AccessForm| AccessForm { offset: base.clone(), ..side.clone() };
            let Some(digits) = Digits::of(atoms, &form(a), &form(b)) else {
                continue;
            };
            let window = if whole { 0 } else { divisor - 1 };
            if let Solution::Zero(ids) = digits.solve(atoms, &form(a), &form(b), -window, window) {
                ids.into_iter().for_each(|id| self.insert(id));
            }
        }
    }
}
