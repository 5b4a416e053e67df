//! Stores of several elements side by side, each under its own guard, as one store with a digit more.
//!
//! `if (x < n) t[x] = a; if (x + 1 < n) t[x + 1] = b;` is a store of `t[x + r]` where `x + r < n`, for `r` in `0..2`. Of a block of elements there
//! are several such digits.

use smallvec::SmallVec;

use super::digits::Fresh;
use crate::analysis::access::Access;
use crate::analysis::affine::{Affine, Atoms, gcd};
use crate::analysis::evaluate::AccessForm;

/// A store by its numbers: its place, and the constants of its conditions.
type Constants = SmallVec<[i128; 6]>;

/// All stores that are one with a digit more. The digits are local ids of dimensions that there are none of.
pub(super) fn forms(
    atoms: &mut Atoms,
    fresh: &mut Fresh,
    stores: &[(&Access, &AccessForm)],
) -> Vec<AccessForm> {
    let mut left: Vec<&AccessForm> = stores
        .iter()
        .filter(|(access, form)| !form.unknown && !form.never && access.written() == [(0, form.size as u64)])
        .map(|(_, form)| *form)
        .collect();
    let mut found = Vec::new();
    while let Some(&first) = left.first() {
        let is_like = |form: &&AccessForm| {
            (form.size, &form.offset.terms, &form.counters)
                == (first.size, &first.offset.terms, &first.counters)
        };
        let (like, others): (Vec<_>, Vec<_>) = left.into_iter().partition(is_like);
        left = others;
        found.extend(one_of(atoms, fresh, &like));
    }
    found
}

fn one_of(atoms: &mut Atoms, fresh: &mut Fresh, stores: &[&AccessForm]) -> Option<AccessForm> {
    let (first, others) = stores.split_first()?;
    if others.is_empty() {
        return None;
    }
    let mut guards: Vec<Vec<Guard>> = stores.iter().map(|store| guards(atoms, store)).collect();
    // What always holds says nothing, wherever it does.
    let asked: Vec<Guard> = guards.iter().flatten().filter(|own| own.asks).cloned().collect();
    guards.iter_mut().for_each(|own| own.retain(|one| asked.iter().any(|other| other.of == one.of)));
    let of_first = guards[0].clone();
    for own in &guards {
        let is_like = own.len() == of_first.len() && own.iter().zip(&of_first).all(|(a, b)| a.of == b.of);
        if !is_like {
            return None;
        }
    }
    for n in 0..of_first.len() {
        align(stores, &mut guards, n)?;
    }
    let conditions: Vec<Affine> = guards[0].iter().map(Guard::condition).collect();
    let mut all: Vec<Constants> = Vec::new();
    for (store, own) in stores.iter().zip(&guards) {
        let own = if mutant!(GuardsAreTheFirst) { &guards[0] } else { own };
        all.push([store.offset.constant].into_iter().chain(own.iter().map(|one| one.constant)).collect());
    }
    all.sort_unstable();
    let start = all.first()?.clone();
    let digits = digits(all)?;
    let mut form = AccessForm { conditions, ..(*first).clone() };
    let (place, guards) = start.split_first()?;
    form.offset.constant = *place;
    form.conditions.iter_mut().zip(guards).for_each(|(one, constant)| one.constant = *constant);
    for (steps, count) in digits {
        let id = fresh.id(atoms, count)?;
        let (place, guards) = steps.split_first()?;
        form.offset.add_term(id, *place);
        form.conditions.iter_mut().zip(guards).for_each(|(one, step)| one.add_term(id, *step));
    }
    Some(form)
}

/// A condition: `times` a form, and a constant, are at most zero.
#[derive(Clone)]
struct Guard {
    /// Its coefficients have no common divisor, and it has no constant.
    of: Affine,
    times: i128,
    constant: i128,
    /// It does not hold for all values of the ids.
    asks: bool,
}

impl Guard {
    fn of(atoms: &Atoms, condition: &Affine) -> Self {
        let times = condition.terms.iter().fold(0, |all, &(_, c)| gcd(all, c)).max(1);
        let mut of = Affine::default();
        condition.terms.iter().for_each(|&(id, c)| of.add_term(id, c / times));
        let asks = condition.bounds(|id| (0, atoms.max(id))).1 > 0;
        Self { of, times, constant: condition.constant, asks }
    }

    /// What is less of a guard that says more; of those that say the same, of one whose constant is greater, as it is of the element's own.
    fn strength(&self) -> (i128, i128, i128) {
        (self.most(), -self.times, -self.constant)
    }

    /// The most that the form is.
    fn most(&self) -> i128 {
        (-self.constant).div_euclid(self.times)
    }

    fn condition(&self) -> Affine {
        let mut condition = Affine::constant(self.constant);
        self.of.terms.iter().for_each(|&(id, c)| condition.add_term(id, c * self.times));
        condition
    }
}

/// The conditions of a store without those that another one implies, in an order that follows from their terms.
fn guards(atoms: &Atoms, store: &AccessForm) -> Vec<Guard> {
    let mut all: Vec<Guard> = Vec::new();
    for own in store.conditions.iter().map(|one| Guard::of(atoms, one)) {
        match all.iter_mut().find(|other| other.of == own.of) {
            Some(other) if own.strength() < other.strength() => *other = own,
            Some(_) => {}
            None => all.push(own),
        }
    }
    all.sort_by(|a, b| a.of.terms.cmp(&b.of.terms));
    all
}

/// Has guard number `n` of all stores be about the same multiple of its form: `x <= 6` is `4 x <= 24`, and as well `4 x <= 27`. Of these the
/// one is taken that is as far from another store's guard as the places are apart.
fn align(stores: &[&AccessForm], guards: &mut [Vec<Guard>], n: usize) -> Option<()> {
    let (at, times) =
        { guards.iter().enumerate() }.map(|(at, own)| (at, own[n].times)).max_by_key(|&(_, times)| times)?;
    let known = guards[at][n].clone();
    let (id, coefficient) = *known.of.terms.first()?;
    let of_place = stores[at].offset.coefficient(id);
    for (store, own) in stores.iter().zip(guards) {
        let one = &mut own[n];
        if one.times == times {
            continue;
        }
        let apart = (store.offset.constant - stores[at].offset.constant).checked_mul(coefficient * times)?;
        let constant = known.constant + apart.checked_div(of_place)?;
        let other = Guard { constant, ..known.clone() };
        if apart % of_place != 0 || other.most() != one.most() {
            return None;
        }
        *one = other;
    }
    Some(())
}

/// The digits of numbers in ascending order: by how much each step of one changes them, and how many values it has.
fn digits(mut all: Vec<Constants>) -> Option<Vec<(Constants, i128)>> {
    let mut found = Vec::new();
    while all.len() > 1 {
        let apart =
            |a: &Constants, b: &Constants| -> Constants { a.iter().zip(b).map(|(a, b)| a - b).collect() };
        let step = apart(&all[1], &all[0]);
        let is_next = |pair: &[Constants]| apart(&pair[1], &pair[0]) == step;
        let count = 1 + all.windows(2).take_while(|pair| is_next(pair)).count();
        if !all.len().is_multiple_of(count) || !all.chunks(count).all(|run| run.windows(2).all(is_next)) {
            return None;
        }
        all = all.into_iter().step_by(count).collect();
        found.push((step, count as i128));
    }
    Some(found)
}
