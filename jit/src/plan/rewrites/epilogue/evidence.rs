//! Evidence for the certificate of an epilogue: which invocation stores an element, and which item it belongs to. `certify` proves it or not.

use super::Made;
use super::items::Items;
use super::pair::Pair;
use super::parts::Stored;
use crate::analysis::affine::{Affine, Atom, AtomId, Atoms};
use crate::analysis::evaluate::AccessForm;
use crate::plan::grouping::view::View;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::submission::Submission;
use crate::plan::output::again::{Behind, Beside, Counted, Left, Of, Part, Site};
use crate::plan::rewrites::must_write::digits::digit;
use crate::rewrite::Handed;

impl Made {
    /// Tells those that store parts of the elements of each other.
    pub(super) fn tell_of_others(made: &mut [Made]) {
        let of = |one: &Made| {
            let Behind { producer, into, ref sites, .. } = one.behind;
            Beside { producer, into, sites: sites.clone() }
        };
        let all: Vec<Beside> = made.iter().map(of).collect();
        for (n, one) in made.iter_mut().enumerate() {
            let others = all.iter().enumerate().filter(|&(other, _)| other != n);
            one.behind.others = others.map(|(_, beside)| beside.clone()).collect();
        }
    }

    /// The same of a consumer that goes by rounds.
    pub(super) fn by_rounds(mut self, own: &Submission, counted: Counted) -> Self {
        self.behind.by_rounds = Some((own.clone(), counted));
        self
    }
}

impl Pair<'_> {
    pub(super) fn evidence(
        &self,
        handed: &Handed,
        stored: &Stored,
        items: &Items,
        made: &Submission,
    ) -> Behind {
        let &Self { list, producer, next, into, .. } = self;
        let left = match (handed.keeps, items.stored_back.is_empty()) {
            (true, _) => Left::All,
            (false, false) => Left::StoredBack,
            (false, true) => Left::Nothing,
        };
        Behind {
            positions: [producer, next],
            list: list.to_vec(),
            producer,
            next,
            by_rounds: None,
            made: made.clone(),
            into,
            sites: self.sites(handed),
            others: Vec::new(),
            digits: items.digits.iter().map(|digit| digit.of_elements(items.stride)).collect(),
            first: items.first,
            stride: items.stride,
            count: items.count,
            below: stored.below,
            above: stored.above,
            left,
        }
    }

    /// The stores; without digits where it is not known which invocation stores which element.
    fn sites(&self, handed: &Handed) -> Vec<Site> {
        let &Self { list, uses, producer, .. } = self;
        let Some(view) = View::of(list, uses, producer) else { return Vec::new() };
        let accesses = analysis_of(&list[producer]).map_or(&[][..], |analysis| &analysis.accesses);
        let site = |&at: &usize| {
            let form = &view.forms[at];
            let local = list[producer].kernel.interface.local_size;
            let Some((mut digits, mut number)) = digits(&view.atoms, form, local) else {
                return Site { at: accesses[at].at, first: 0, digits: None, number: Vec::new() };
            };
            for parts in [&mut digits, &mut number] {
                parts.sort_by_key(|digit| -digit.weight.abs());
            }
            let backwards = digits.iter().filter(|digit| digit.weight < 0);
            let off: i128 = backwards.map(|digit| digit.weight * digit.most).sum();
            Site { at: accesses[at].at, first: form.offset.constant + off, digits: Some(digits), number }
        };
        handed.stores.iter().map(site).collect()
    }
}

/// The parts of ids, of one number and of rounds that make up a form, and the ids that the number is made of.
fn digits(atoms: &Atoms, form: &AccessForm, local: [u32; 3]) -> Option<(Vec<Part>, Vec<Part>)> {
    let Affine { terms, .. } = &form.offset;
    let mut number: Option<Affine> = None;
    let each = terms.iter().map(|&(id, weight)| {
        let round = form.counters.iter().position(|&counter| counter == id).map(Of::Round);
        let (of, low) = round.map(|of| (of, 1)).or_else(|| part(atoms, id)).or_else(|| {
            let digit = digit(atoms, id)?;
            let known = number.get_or_insert_with(|| digit.of.clone());
            (*known == digit.of).then_some((Of::Number, digit.low))
        })?;
        Some(Part { of, low, weight, most: form.ranges.get(atoms, id).1 })
    });
    let digits = each.collect::<Option<Vec<_>>>()?;
    let mut parts = Vec::new();
    for &(id, weight) in number.iter().flat_map(|number| &number.terms) {
        let whole = Part { of: Of::Number, low: 1, weight, most: atoms.max(id) };
        match atoms.get(id) {
            &Atom::Group(dim) => parts.push(Part { of: Of::Group(dim.into()), ..whole }),
            &Atom::Local(dim) => parts.push(Part { of: Of::Local(dim.into()), ..whole }),
            &Atom::Global(dim) => {
                let dim = usize::from(dim);
                let size = i128::from(local[dim]);
                let groups =
                    Part { of: Of::Group(dim), weight: weight * size, most: whole.most / size, low: 1 };
                parts.extend([groups, Part { of: Of::Local(dim), most: size - 1, ..whole }]);
            }
            _ => return None,
        }
    }
    let counts = number.is_none_or(|number| number.constant == 0) && parts.iter().all(|part| part.weight > 0);
    counts.then_some((digits, parts))
}

/// The id that an atom is a digit of, and how much of it one of the digit is.
fn part(atoms: &Atoms, id: AtomId) -> Option<(Of, i128)> {
    let (base, by) = match atoms.get(id) {
        &Atom::Group(dim) => return Some((Of::Group(dim.into()), 1)),
        &Atom::Local(dim) => return Some((Of::Local(dim.into()), 1)),
        Atom::Quotient(base, by) => (base, *by),
        Atom::Remainder(base, _) => (base, 1),
        _ => return None,
    };
    let &[(inner, 1)] = base.terms.as_slice() else { return None };
    let (of, low) = part(atoms, inner).filter(|_| base.constant == 0)?;
    Some((of, low.checked_mul(by)?))
}
