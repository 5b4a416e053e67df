//! Elements that are stored at `row length + column`: of their numbers the consumer has quotients and remainders without a division.
//!
//! # Guarantees
//! - a store is listed if its index is that sum, with a column below the length
//! - a division is listed if it is one of the index of an item's element by that length

use smallvec::SmallVec;

use super::items::Items;
use super::pair::Pair;
use crate::analysis::affine::{Affine, Atoms};
use crate::analysis::evaluate::Evaluator;
use crate::plan::grouping::in_range::{FACTS, most};
use crate::plan::grouping::view;
use crate::plan::input::analysis::analysis_of;
use crate::rewrite::{RowOf, Rows};

/// A place in code: block and position.
type At = (usize, usize);

impl Pair<'_> {
    /// The rows of the stores, of a length that the consumer divides by. `origin` is where the producer's array begins, `based` whether its first
    /// element is not the consumer's.
    pub(super) fn rows(&self, stores: &[usize], items: &Items, (origin, based): (i128, bool)) -> Rows {
        let quotients = self.quotients(items, origin);
        // The digits of an index, with two of them.
        let by_digits = match (items.digits.as_slice(), based) {
            ([_, digit], false) => Some(digit.weight / items.stride),
            _ => None,
        };
        let mut lengths: SmallVec<[i128; 4]> = quotients.iter().map(|one| one.1).chain(by_digits).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let all = lengths.into_iter().map(|length| {
            let of = stores.iter().map(|&store| self.row(store, length)).collect();
            let own = quotients.iter().filter(|one| one.1 == length);
            Rows { of, quotients: own.map(|one| one.0).collect(), digits: by_digits == Some(length) }
        });
        let used = |rows: &Rows| {
            rows.of.iter().flatten().count() * (rows.quotients.len() + usize::from(rows.digits))
        };
        all.max_by_key(used).filter(|rows| used(rows) > 0).unwrap_or_default()
    }

    /// The consumer's divisions of the index of its element, and by what.
    fn quotients(&self, items: &Items, origin: i128) -> Vec<(At, i128)> {
        let &Self { list, uses, next, .. } = self;
        let one = &list[next];
        let Ok(analysis) = analysis_of(one) else { return Vec::new() };
        let access = items.loads.first().map(|&load| &analysis.accesses[load]);
        let element = access.and_then(|access| access.element).and_then(|element| element.index);
        let Some((access, element)) = access.zip(element) else { return Vec::new() };
        let own = i128::from(one.args[access.binding].offset) + i128::from(element.start);
        if own != origin && !mutant!(ArraysBeginTogether) {
            return Vec::new();
        }
        let mut found = Vec::new();
        view::ask(one, uses, next, |evaluator: &mut Evaluator, atoms: &mut Atoms| {
            let Some(index) = evaluator.number(atoms, element.node) else { return };
            for (&at, &[dividend, divisor]) in &analysis.quotients {
                let length = evaluator.number(atoms, divisor).filter(|length| length.terms.is_empty());
                let is_of_index = evaluator.number(atoms, dividend).as_ref() == Some(&index);
                let is_of_index = is_of_index || mutant!(DividendsAreTheIndex);
                if let Some(length) = length.filter(|length| is_of_index && length.constant > 1) {
                    found.push((at, length.constant));
                }
            }
        });
        found.sort_unstable();
        found
    }

    /// Which product of its index is the row of a store times this length.
    fn row(&self, store: usize, length: i128) -> Option<RowOf> {
        let &Self { list, uses, producer, .. } = self;
        let one = &list[producer];
        let analysis = analysis_of(one).ok()?;
        let (access, products) = (&analysis.accesses[store], analysis.products.get(&store)?);
        let node = access.element?.index?.node;
        let mut found = None;
        view::ask(one, uses, producer, |evaluator: &mut Evaluator, atoms: &mut Atoms| {
            let form = evaluator.access(atoms, access, one.args[access.binding].offset);
            let Some(index) = evaluator.number_here(atoms, node) else { return };
            for (product, factors) in products.iter().enumerate() {
                for factor in 0..2 {
                    let by = evaluator.number_here(atoms, factors[1 - factor]);
                    let row = evaluator.number_here(atoms, factors[factor]);
                    let (Some(by), Some(row)) = (by, row) else { continue };
                    let Some(column) = index.plus(&row, -length) else { continue };
                    let mirrored = Affine::default().plus(&column, -1);
                    let least = mirrored.map(|mirrored| -most(atoms, &form, &mirrored, FACTS));
                    let is_column = least.is_some_and(|least| least >= 0)
                        && most(atoms, &form, &column, FACTS) < length
                        || mutant!(ColumnsAreInRows);
                    let is_length = by == Affine::constant(length) || mutant!(FactorsAreLengths);
                    if is_length && is_column {
                        found.get_or_insert(RowOf { product, factor });
                    }
                }
            }
        });
        found
    }
}
