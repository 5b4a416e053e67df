//! Atoms and affine forms: exact integers as sums of what tells invocations apart.

use ahash::AHashMap;
use smallvec::SmallVec;

use super::expr::NodeId;

/// Index of an atom in its [`Atoms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct AtomId(u32);

/// What an atom is. Every atom ranges over `0..=max`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Atom {
    /// Work-group id of the fused kernel.
    Group(u8),
    /// Local id of the fused kernel.
    Local(u8),
    /// `form / divisor`, form not negative.
    Quotient(Affine, i128),
    /// `form mod divisor`, form not negative.
    Remainder(Affine, i128),
    /// What a value of one member of the list, about which only the range is known, exceeds `base` by.
    Free { member: u32, node: NodeId, base: i128 },
    /// The number of rounds a loop of one member has done before, each time it is entered; the node is its counter.
    Round { member: u32, node: NodeId },
    /// How often a counter that rounds may leave as it is has been stepped before.
    Steps { member: u32, node: NodeId },
    /// An index into an array of `count` elements about which nothing else is known.
    Element { member: u32, node: NodeId, count: u64 },
    /// Stands for `group * size + local` of one dimension.
    Global(u8),
    /// A number in memory that nothing in the list writes, so that all invocations read the same value.
    Cell { buffer: u64, offset: u64, width: u8 },
}

/// All atoms met while planning one list.
#[derive(Debug, Default)]
pub(crate) struct Atoms {
    list: Vec<(Atom, i128, bool)>,
    nesting: Vec<u8>,
    index: AHashMap<Atom, AtomId>,
}

impl Atoms {
    pub(crate) fn intern(&mut self, atom: Atom, max: i128) -> AtomId {
        if let Some(&id) = self.index.get(&atom) {
            // The same atom seen from a kernel with a looser range keeps the looser one.
            let entry = &mut self.list[id.0 as usize];
            entry.1 = entry.1.max(max);
            return id;
        }
        let shared = match &atom {
            Atom::Group(_) | Atom::Local(_) | Atom::Global(_) | Atom::Cell { .. } => true,
            Atom::Quotient(base, _) | Atom::Remainder(base, _) => {
                base.terms.iter().all(|&(a, _)| self.is_shared(a))
            }
            Atom::Free { .. } | Atom::Round { .. } | Atom::Steps { .. } | Atom::Element { .. } => {
                mutant!(UnknownIsEqual)
            }
        };
        let id = AtomId(self.list.len() as u32);
        let nesting = match &atom {
            Atom::Quotient(base, _) | Atom::Remainder(base, _) => self.nesting_of(base) + 1,
            _ => 0,
        };
        self.nesting.push(nesting);
        self.list.push((atom.clone(), max, shared));
        self.index.insert(atom, id);
        id
    }

    /// How deep quotients and remainders are nested in a form.
    pub(crate) fn nesting_of(&self, form: &Affine) -> u8 {
        form.terms.iter().map(|&(id, _)| self.nesting[id.0 as usize]).max().unwrap_or(0)
    }

    pub(crate) fn get(&self, id: AtomId) -> &Atom {
        &self.list[id.0 as usize].0
    }

    pub(crate) fn find(&self, atom: &Atom) -> Option<AtomId> {
        self.index.get(atom).copied()
    }

    pub(crate) fn max(&self, id: AtomId) -> i128 {
        self.list[id.0 as usize].1
    }

    /// Whether the atom is the same function of the invocation in every member of the list.
    pub(crate) fn is_shared(&self, id: AtomId) -> bool {
        self.list[id.0 as usize].2
    }

    /// Whether the atom is one number for all invocations.
    pub(crate) fn is_uniform(&self, id: AtomId) -> bool {
        matches!(self.get(id), Atom::Cell { .. })
            || mutant!(UnknownIsEqual)
                && matches!(self.get(id), Atom::Free { .. } | Atom::Round { .. } | Atom::Steps { .. })
    }
}

/// An exact integer: `constant + sum of coefficient * atom`.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Affine {
    pub(crate) terms: SmallVec<[(AtomId, i128); 3]>,
    pub(crate) constant: i128,
}

// Derived, they copy term by term, which is a part of planning's time.
impl Clone for Affine {
    fn clone(&self) -> Self {
        Self { terms: SmallVec::from_slice(&self.terms), constant: self.constant }
    }
}

impl Clone for Ranges {
    fn clone(&self) -> Self {
        Self(SmallVec::from_slice(&self.0))
    }
}

/// Deepest nesting of quotients and remainders that is followed.
const MAX_NESTING: u8 = 6;

/// Beyond this no number of a kernel is meaningful; forms that reach it are given up.
const HUGE: i128 = 1 << 90;

/// The same for coefficients and terms. Atoms stay below 2^65, so the bounds of a form, and of the difference of two, stay
/// below 2^123: no sum of theirs overflows, whether or not the build checks that.
const STEEP: i128 = 1 << 50;
const LONG: usize = 32;

impl Affine {
    pub(crate) fn constant(constant: i128) -> Self {
        Self { terms: SmallVec::new(), constant }
    }

    pub(crate) fn atom(id: AtomId) -> Self {
        Self { terms: SmallVec::from_slice(&[(id, 1)]), constant: 0 }
    }

    pub(crate) fn coefficient(&self, id: AtomId) -> i128 {
        self.terms.iter().find(|t| t.0 == id).map_or(0, |t| t.1)
    }

    pub(crate) fn add_term(&mut self, id: AtomId, coefficient: i128) {
        match self.terms.binary_search_by_key(&id, |t| t.0) {
            Ok(at) => {
                self.terms[at].1 += coefficient;
                if self.terms[at].1 == 0 {
                    self.terms.remove(at);
                }
            }
            Err(at) if coefficient != 0 => self.terms.insert(at, (id, coefficient)),
            Err(_) => {}
        }
    }

    /// `self + factor * other`, or `None` if the numbers leave all bounds.
    pub(crate) fn plus(&self, other: &Self, factor: i128) -> Option<Self> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for &(id, c) in &other.terms {
            sum.add_term(id, c.checked_mul(factor).filter(|c| c.unsigned_abs() < HUGE.unsigned_abs())?);
        }
        sum.is_sane().then_some(sum)
    }

    pub(crate) fn scaled(&self, factor: i128) -> Option<Self> {
        Self::default().plus(self, factor)
    }

    fn is_sane(&self) -> bool {
        self.terms.len() <= LONG
            && self.constant.unsigned_abs() < HUGE.unsigned_abs()
            && self.terms.iter().all(|t| t.1.unsigned_abs() < STEEP.unsigned_abs())
    }

    /// Least and greatest value, with `range` giving each atom's.
    pub(crate) fn bounds(&self, range: impl Fn(AtomId) -> (i128, i128)) -> (i128, i128) {
        let (mut low, mut high) = (self.constant, self.constant);
        for &(id, c) in &self.terms {
            let (a, b) = range(id);
            let (a, b) = (c.saturating_mul(a), c.saturating_mul(b));
            low = low.saturating_add(a.min(b));
            high = high.saturating_add(a.max(b));
        }
        (low, high)
    }
}

/// Ranges of atoms that are tighter than their own.
#[derive(Debug, Default)]
pub(crate) struct Ranges(SmallVec<[(AtomId, i128, i128); 4]>);

impl Affine {
    /// If that this is at most zero bounds a quotient, and whole multiples of it, from above: what has to be at most zero of what is divided, for the
    /// very same. `q + x <= m` is `f + d x <= d m + d - 1`, if `q` is `f / d`.
    pub(crate) fn undivided(&self, atoms: &Atoms) -> Option<Affine> {
        let is_quotient = |&&(id, _): &&(AtomId, i128)| matches!(atoms.get(id), Atom::Quotient(..));
        let &(quotient, factor) = self.terms.iter().find(is_quotient)?;
        let Atom::Quotient(form, divisor) = atoms.get(quotient) else { return None };
        let divisor = *divisor;
        if factor <= 0 || self.terms.iter().any(|&(_, c)| c % factor != 0) {
            return None;
        }
        // The last form that has the greatest quotient.
        let beyond = if mutant!(QuotientsAreWhole) { 0 } else { divisor - 1 };
        let greatest =
            self.constant.checked_neg()?.div_euclid(factor).checked_mul(divisor)?.checked_add(beyond)?;
        let others = self.terms.iter().filter(|&&(id, _)| id != quotient);
        let terms = others.map(|&(id, c)| Some((id, (c / factor).checked_mul(divisor)?)));
        let mut sum = Affine { constant: form.constant.checked_sub(greatest)?, ..form.clone() };
        for term in terms {
            let (id, c) = term?;
            sum = sum.plus(&Affine::atom(id), c)?;
        }
        Some(sum)
    }

    /// If that this is at most zero bounds a remainder from below: the same of what is divided, which is not less. `m <= r + x` gives
    /// `m <= f + x`, if `r` is the remainder of `f`.
    pub(crate) fn unreduced(&self, atoms: &Atoms) -> Option<Affine> {
        let is_bound = |factor: i128| factor < 0 || mutant!(RemaindersAreTheNumber);
        let is_remainder = |&&(id, factor): &&(AtomId, i128)| {
            is_bound(factor) && matches!(atoms.get(id), Atom::Remainder(..))
        };
        let &(remainder, factor) = self.terms.iter().find(is_remainder)?;
        let Atom::Remainder(form, _) = atoms.get(remainder) else { return None };
        self.plus(&Affine::atom(remainder), factor.checked_neg()?)?.plus(form, factor)
    }
}

impl Ranges {
    pub(crate) fn get(&self, atoms: &Atoms, id: AtomId) -> (i128, i128) {
        self.0.iter().find(|r| r.0 == id).map_or((0, atoms.max(id)), |r| (r.1, r.2))
    }

    /// Whether some atom has no value left: what is under these facts does not happen.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().any(|&(_, low, high)| low > high)
    }

    /// Says that an atom is at most `high`.
    pub(crate) fn at_most(&mut self, atoms: &Atoms, id: AtomId, high: i128) {
        self.tighten(atoms, id, None, Some(high));
    }

    fn tighten(&mut self, atoms: &Atoms, id: AtomId, low: Option<i128>, high: Option<i128>) -> bool {
        let (mut a, mut b) = self.get(atoms, id);
        let before = (a, b);
        if let Some(low) = low {
            a = a.max(low);
        }
        if let Some(high) = high {
            b = b.min(high);
        }
        if (a, b) == before {
            return false;
        }
        match self.0.iter_mut().find(|r| r.0 == id) {
            Some(range) => (range.1, range.2) = (a, b),
            None => self.0.push((id, a, b)),
        }
        true
    }

    /// Tightens ranges of quotients in a form by what is known of what they are quotients of: that may be less than where an atom was seen first.
    pub(crate) fn bound_quotients(&mut self, atoms: &Atoms, form: &Affine, facts: &[Affine]) {
        for &(id, _) in &form.terms {
            let Atom::Quotient(base, divisor) = atoms.get(id) else { continue };
            let (low, high) = Bounds { ranges: self, facts }.of(atoms, base);
            let high = high - divisor * i128::from(mutant!(QuotientsAreLess));
            self.tighten(atoms, id, Some(low.div_euclid(*divisor)), Some(high.div_euclid(*divisor)));
        }
    }

    /// Tightens ranges until the facts give nothing more, or for a few rounds.
    pub(crate) fn apply(&mut self, atoms: &Atoms, facts: &[Affine]) {
        for _ in 0..4 {
            let mut changed = false;
            for fact in facts {
                let (low, _) = fact.bounds(|id| self.get(atoms, id));
                for &(id, c) in &fact.terms {
                    // c * atom <= -(low of the rest)
                    let (a, b) = self.get(atoms, id);
                    let own_low = c.saturating_mul(a).min(c.saturating_mul(b));
                    let room = own_low.saturating_sub(low);
                    changed |= if c > 0 {
                        self.tighten(atoms, id, None, Some(room.div_euclid(c)))
                    } else {
                        self.tighten(atoms, id, Some(-(room.div_euclid(-c))), None)
                    };
                }
            }
            if !changed {
                break;
            }
        }
    }
}

/// What is known of the values of forms: ranges of atoms, and facts about sums of them.
#[derive(Clone, Copy)]
pub(crate) struct Bounds<'a> {
    pub(crate) ranges: &'a Ranges,
    /// Each is at most zero.
    pub(crate) facts: &'a [Affine],
}

impl Bounds<'_> {
    /// Least and greatest value of a form: of its parts that facts bound, and of what is left.
    pub(crate) fn of(&self, atoms: &Atoms, form: &Affine) -> (i128, i128) {
        let (low, high) = self.of_part(atoms, form);
        let (mut rest, mut least, mut greatest) = (None, 0i128, 0i128);
        for fact in self.facts.iter().filter(|fact| (2..form.terms.len()).contains(&fact.terms.len())) {
            let left = rest.as_ref().unwrap_or(form);
            let mut part = Affine::default();
            fact.terms.iter().for_each(|&(id, _)| part.add_term(id, left.coefficient(id)));
            let bounds = self.of_part(atoms, &part);
            if part.terms.len() < fact.terms.len() || bounds == part.bounds(|id| self.ranges.get(atoms, id)) {
                continue;
            }
            let Some(others) = left.plus(&part, -1) else { continue };
            rest = Some(others);
            (least, greatest) = (least.saturating_add(bounds.0), greatest.saturating_add(bounds.1));
        }
        let Some(rest) = rest else { return (low, high) };
        let others = rest.bounds(|id| self.ranges.get(atoms, id));
        (low.max(least.saturating_add(others.0)), high.min(greatest.saturating_add(others.1)))
    }

    /// The same by facts about the whole form alone.
    fn of_part(&self, atoms: &Atoms, form: &Affine) -> (i128, i128) {
        let (mut low, mut high) = form.bounds(|id| self.ranges.get(atoms, id));
        let Some(&(_, lead)) = form.terms.first() else { return (low, high) };
        for fact in self.facts.iter().filter(|f| f.terms.len() == form.terms.len()) {
            // Proportional to the form: lead * fact = first * form, so first * form <= -lead * constant.
            let first = fact.terms[0].1;
            let same = fact.terms.iter().zip(&form.terms);
            let proportional = |((id, f), (other, c)): (&(AtomId, i128), &(AtomId, i128))| {
                id == other && f.checked_mul(lead).is_some() && f * lead == first * c
            };
            if !same.into_iter().all(proportional) {
                continue;
            }
            let Some(most) = fact.constant.checked_mul(-lead.abs()) else { continue };
            // With lead > 0: first * form <= most; with lead < 0 the sign of both sides turns.
            let first = if lead > 0 { first } else { -first };
            if first > 0 {
                high = high.min(most.div_euclid(first).saturating_add(form.constant));
            } else {
                low = low.max((-(most.div_euclid(-first))).saturating_add(form.constant));
            }
        }
        (low, high)
    }
}

/// Quotient or remainder by a positive constant of a form that is not negative within `bounds`.
pub(crate) fn split(
    atoms: &mut Atoms,
    form: &Affine,
    divisor: i128,
    quotient: bool,
    bounds: Bounds<'_>,
) -> Option<Affine> {
    if quotient && let Some((number, by)) = multiplied(atoms, form, divisor, bounds) {
        return split(atoms, &number, by, true, bounds);
    }
    if divisor == 1 {
        return Some(if quotient { form.clone() } else { Affine::default() });
    }
    // If what the divisor leaves of every coefficient stays below it, that is the remainder.
    let mut whole = Affine::constant(form.constant.div_euclid(divisor));
    let mut rest = Affine::constant(form.constant.rem_euclid(divisor));
    for &(id, c) in &form.terms {
        whole.add_term(id, c.div_euclid(divisor));
        rest.add_term(id, c.rem_euclid(divisor));
    }
    let (low, high) = bounds.of(atoms, &rest);
    if low >= 0 && high < divisor {
        return Some(if quotient { whole } else { rest });
    }
    if atoms.nesting_of(form) >= MAX_NESTING {
        return None;
    }
    // Else only whole multiples split off: a part of a coefficient would make the rest larger.
    let mut whole = Affine::constant(form.constant.div_euclid(divisor));
    let mut rest = form.clone();
    rest.constant = form.constant.rem_euclid(divisor);
    for &(id, c) in &form.terms {
        if c % divisor == 0 {
            whole.add_term(id, c / divisor);
            rest.add_term(id, -c);
        }
    }
    let (mut low, mut high) = bounds.of(atoms, &rest);
    if low < 0 {
        // What is left may be negative by itself where the whole form is not.
        (whole, rest) = (Affine::default(), form.clone());
        (low, high) = bounds.of(atoms, &rest);
    }
    if low < 0 {
        return None;
    }
    if quotient {
        // A quotient of a quotient is one by the product.
        let (rest, divisor, high) = match nested_quotient(atoms, &rest) {
            Some((base, first)) => {
                let product = first.checked_mul(divisor)?;
                let high = bounds.of(atoms, &base).1;
                (base, product, high)
            }
            None => (rest, divisor, high),
        };
        // No atom is larger than a word.
        if high > 1 << 64 {
            return None;
        }
        let atom = atoms.intern(Atom::Quotient(rest, divisor), high / divisor);
        whole.plus(&Affine::atom(atom), 1)
    } else if high < divisor {
        Some(rest)
    } else {
        Some(Affine::atom(atoms.intern(Atom::Remainder(rest, divisor), divisor - 1)))
    }
}

/// Least denominator of a quotient that is taken for a multiplication that stands for a division.
const MAGIC: i128 = 1 << 31;

/// `(x, d)` with `form / divisor = x / d`, if the form is a multiple of `x`, perhaps behind a shift, by which a division by
/// `d` is expressed without one: `(x * m) >> s`, `(((x * m) >> 32) + x) >> l`.
///
/// With `m d = D + e`, `e >= 0`: `m x / D = x / d + e x / (d D)`. The remainder of `x` by `d` is at most `d - 1`, so this
/// has the whole part of `x / d` wherever `e x < D`.
fn multiplied(atoms: &Atoms, form: &Affine, divisor: i128, bounds: Bounds<'_>) -> Option<(Affine, i128)> {
    let (mut number, mut denominator) = (form.clone(), divisor);
    for &(id, c) in &form.terms {
        if let (Atom::Quotient(base, by), 1) = (atoms.get(id), c)
            && *by >= MAGIC
        {
            // (base / by + rest) / divisor = (base + by * rest) / (by * divisor)
            let mut rest = form.clone();
            rest.add_term(id, -1);
            number = base.plus(&rest, *by)?;
            denominator = by.checked_mul(divisor)?;
            break;
        }
    }
    if !(MAGIC..=1 << 80).contains(&denominator) {
        return None;
    }
    let multiplier = number.terms.iter().fold(number.constant, |g, &(_, c)| gcd(g, c));
    if multiplier <= 1 {
        return None;
    }
    let mut x = Affine::constant(number.constant / multiplier);
    number.terms.iter().for_each(|&(id, c)| x.add_term(id, c / multiplier));
    let (low, high) = bounds.of(atoms, &x);
    let by = denominator.div_euclid(multiplier) + i128::from(denominator.rem_euclid(multiplier) != 0);
    let excess = multiplier.checked_mul(by)?.checked_sub(denominator)?;
    let exact = high.checked_mul(excess)? < denominator || mutant!(AnyMultiplierDivides);
    (low >= 0 && exact).then_some((x, by))
}

/// The upper half of a product that is not negative.
pub(crate) fn high_half(atoms: &mut Atoms, product: Affine, width: u8, bounds: Bounds<'_>) -> Option<Affine> {
    let (low, high) = bounds.of(atoms, &product);
    let period = 1i128 << width;
    if low < 0 || high >> width > 1 << 64 || atoms.nesting_of(&product) >= MAX_NESTING {
        return None;
    }
    if high < period {
        return Some(Affine::default());
    }
    Some(Affine::atom(atoms.intern(Atom::Quotient(product, period), high / period)))
}

/// `x - (x / d) d` as the remainder that it is.
pub(crate) fn as_remainder(atoms: &mut Atoms, form: Affine) -> Affine {
    let found = form.terms.iter().find_map(|&(id, c)| {
        let Atom::Quotient(base, divisor) = atoms.get(id) else { return None };
        let mut rest = form.clone();
        rest.add_term(id, -c);
        let rest = (c == -divisor).then(|| rest.plus(base, -1)).flatten()?;
        rest.terms.is_empty().then(|| (base.clone(), *divisor, rest.constant))
    });
    let Some((base, divisor, constant)) = found else { return form };
    let mut remainder = Affine::atom(atoms.intern(Atom::Remainder(base, divisor), divisor - 1));
    remainder.constant = constant;
    remainder
}

/// What is divided and by what, if the form is nothing but a quotient.
fn nested_quotient(atoms: &Atoms, form: &Affine) -> Option<(Affine, i128)> {
    match (form.terms.as_slice(), form.constant) {
        (&[(id, 1)], 0) => match atoms.get(id) {
            Atom::Quotient(base, divisor) => Some((base.clone(), *divisor)),
            _ => None,
        },
        _ => None,
    }
}

/// Replaces `c * d * (x / d) + c * (x mod d)` by `c * x`.
pub(crate) fn rejoin(atoms: &Atoms, mut form: Affine) -> Affine {
    loop {
        let found = form.terms.iter().find_map(|&(id, c)| {
            let Atom::Remainder(base, divisor) = atoms.get(id) else {
                return None;
            };
            // The quotient of a quotient is one by the product.
            let (number, by) = match nested_quotient(atoms, base) {
                Some((number, first)) => (number, first.checked_mul(*divisor)?),
                None => (base.clone(), *divisor),
            };
            let quotient = atoms.find(&Atom::Quotient(number, by))?;
            let whole = c.checked_mul(*divisor)?;
            let fits = form.coefficient(quotient) == whole
                || mutant!(AnyPartsMakeAWhole) && form.coefficient(quotient) != 0;
            fits.then(|| (id, quotient, c, form.coefficient(quotient), base.clone()))
        });
        let Some((remainder, quotient, c, whole, base)) = found else {
            return form;
        };
        form.add_term(remainder, -c);
        form.add_term(quotient, -whole);
        match form.plus(&base, c) {
            Some(sum) => form = sum,
            None => {
                form.add_term(remainder, c);
                form.add_term(quotient, whole);
                return form;
            }
        }
    }
}

pub(crate) fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is multiplied and added up, bounds are exact or there is no form.
    #[test]
    fn forms_are_given_up_before_their_bounds_overflow() {
        let mut atoms = Atoms::default();
        let widest = i128::from(u64::MAX);
        let mut sum = Affine::default();
        let mut terms = 0;
        for node in 0..64 {
            let id = atoms.intern(Atom::Cell { buffer: node, offset: 0, width: 64 }, widest);
            let mut form = Affine::atom(id);
            while let Some(steeper) = form.scaled(-0x7fff) {
                form = steeper;
            }
            assert!(form.scaled(i128::MAX).is_none() && form.scaled(i128::MIN).is_none());
            let Some(more) = sum.plus(&form, 1) else { break };
            (sum, terms) = (more, terms + 1);
        }
        assert!((1..=LONG).contains(&terms), "{terms}");
        let difference = sum.bounds(|id| (-atoms.max(id), atoms.max(id)));
        let exact = sum.terms.iter().map(|t| t.1.abs()).sum::<i128>().checked_mul(widest);
        assert_eq!(Some(difference.1), exact);
        assert!(difference.0.checked_sub(difference.1).is_some());
        assert!(Affine::constant(HUGE - 1).plus(&Affine::constant(1), 1).is_none());
    }
}
