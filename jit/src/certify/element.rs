//! Elements by their number, and the items that they belong to: any invocation of a submission by itself.

use super::pair::Instance;
use super::place::Piece;
use super::placed::ids;
use super::term::{Compare, Term, Word};
use super::trace::{Ids, Member, World};
use crate::plan::output::again::Weight;
use crate::rewrite::Part;

/// The ids of the item of an element, as guessed, and whether there is such an item.
pub(super) fn item(w: &mut World, digits: &[Weight], of: &Member<'_>, number: Term) -> (Ids, Term) {
    let (ids, _, there) = item_and_site(w, digits, of, number);
    (ids, there)
}

/// The same, and which of its stores goes to the element, if there are several.
pub(super) fn item_and_site(
    w: &mut World,
    digits: &[Weight],
    of: &Member<'_>,
    number: Term,
) -> (Ids, Option<Term>, Term) {
    let (mut rest, mut site) = (number, None);
    let zero = w.terms.constant(0, 32);
    let size = of.submission.kernel.interface.local_size;
    let (mut group, mut local) = ([zero; 3], [zero; 3]);
    let mut globals = [None; 3];
    for digit in digits.iter().rev() {
        let weight = w.terms.constant(digit.weight as u64, 32);
        let mut value = w.terms.word(Word::UDiv, rest, weight);
        let taken = w.terms.word(Word::Mul, value, weight);
        rest = w.terms.word(Word::Sub, rest, taken);
        if digit.is.mirrored {
            let greatest = w.terms.constant(digit.most as u64, 32);
            value = w.terms.word(Word::Sub, greatest, value);
        }
        let scale = w.terms.constant(digit.scale as u64, 32);
        let value = w.terms.word(Word::Mul, value, scale);
        let d = usize::from(digit.is.dim);
        match digit.is.part {
            Part::Global => {
                let before = globals[d].unwrap_or(zero);
                globals[d] = Some(w.terms.word(Word::Add, before, value));
            }
            Part::Group => group[d] = w.terms.word(Word::Add, group[d], value),
            Part::Local => local[d] = w.terms.word(Word::Add, local[d], value),
            Part::Site => site = Some(value),
        }
    }
    let mut there = w.terms.truth(true);
    for d in 0..3 {
        let size = w.terms.constant(u64::from(size[d]), 32);
        if let Some(global) = globals[d] {
            group[d] = w.terms.word(Word::UDiv, global, size);
            let start = w.terms.word(Word::Mul, group[d], size);
            local[d] = w.terms.word(Word::Sub, global, start);
        }
        let is_one = is_there(w, of, d, (group[d], local[d]));
        there = w.terms.both(there, is_one);
    }
    (ids(w, of.submission, group, local), site, there)
}

/// Whether a group and a local id are those of an invocation.
pub(super) fn is_there(w: &mut World, of: &Member<'_>, d: usize, (group, local): (Term, Term)) -> Term {
    let bounds = [(group, of.submission.groups[d]), (local, of.submission.kernel.interface.local_size[d])];
    let [a, b] = bounds.map(|(id, bound)| {
        let bound = w.terms.constant(u64::from(bound), 32);
        w.terms.compare(Compare::ULess, id, bound)
    });
    w.terms.both(a, b)
}

/// The number of the element of an item, as guessed.
pub(super) fn number(w: &mut World, digits: &[Weight], ids: &Ids) -> Term {
    let mut sum = w.terms.constant(0, 32);
    for digit in digits {
        let d = usize::from(digit.is.dim);
        let id = match digit.is.part {
            Part::Global => ids.global[d],
            Part::Group => ids.group[d],
            Part::Local => ids.local[d],
            Part::Site => continue,
        };
        let others =
            digits.iter().filter(|other| (other.is.dim, other.is.part) == (digit.is.dim, digit.is.part));
        let next = others.map(|other| other.scale).filter(|&scale| scale > digit.scale).min();
        let scale = w.terms.constant(digit.scale as u64, 32);
        let mut value = w.terms.word(Word::UDiv, id, scale);
        if let Some(next) = next {
            let values = w.terms.constant((next / digit.scale) as u64, 32);
            value = w.terms.word(Word::URem, value, values);
        }
        if digit.is.mirrored {
            let greatest = w.terms.constant(digit.most as u64, 32);
            value = w.terms.word(Word::Sub, greatest, value);
        }
        let weight = w.terms.constant(digit.weight as u64, 32);
        let value = w.terms.word(Word::Mul, value, weight);
        sum = w.terms.word(Word::Add, sum, value);
    }
    sum
}

/// Whether two are the same invocation.
pub(super) fn is_same(w: &mut World, a: &Ids, b: &Ids) -> Term {
    let pairs = a.group.iter().chain(&a.local).zip(b.group.iter().chain(&b.local));
    let mut same = w.terms.truth(true);
    for (a, b) in pairs {
        let equal = w.terms.compare(Compare::Equal, *a, *b);
        same = w.terms.both(same, equal);
    }
    same
}

/// Any invocation of a submission by itself.
pub(super) fn somebody(w: &mut World, of: &Member<'_>, name: &str) -> Ids {
    let size = of.submission.kernel.interface.local_size;
    let [group, local] = w.any(of.submission.groups, size, name);
    ids(w, of.submission, group, local)
}

/// Every time that an access happens, and what it touches each time.
pub(super) type Side = (Vec<Instance>, Vec<Piece>);

/// Whether two accesses happen and reach a common byte.
pub(super) fn touching(w: &mut World, (ours, our_pieces): &Side, (theirs, their_pieces): &Side) -> Term {
    let mut ways = Vec::new();
    for (a, b) in ours.iter().flat_map(|a| theirs.iter().map(move |b| (a, b))) {
        for &(from_a, size_a) in our_pieces {
            for &(from_b, size_b) in their_pieces {
                let bounds = [
                    (a.first, from_a, b.first, from_b + size_b),
                    (b.first, from_b, a.first, from_a + size_a),
                ];
                let mut both = w.terms.both(a.happens, b.happens);
                for (x, dx, y, dy) in bounds {
                    let (dx, dy) = (w.terms.constant(dx, w.address), w.terms.constant(dy, w.address));
                    let low = w.terms.word(Word::Add, x, dx);
                    let high = w.terms.word(Word::Add, y, dy);
                    let below = w.terms.compare(Compare::ULess, low, high);
                    both = w.terms.both(both, below);
                }
                ways.push(both);
            }
        }
    }
    w.terms.any(ways)
}
