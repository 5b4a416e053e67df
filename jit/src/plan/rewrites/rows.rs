//! Elements at `row length + column`: row and column are the quotient and the remainder of the index by the length, without a division.
//!
//! # Guarantees
//! - an access has a row if its index is that sum, with a column below the length ([`row_of`])
//! - a division is listed if it is one of the same number by that length ([`divisions`])

use smallvec::SmallVec;

use crate::analysis::access::Access;
use crate::analysis::affine::{Affine, Atoms};
use crate::analysis::evaluate::Evaluator;
use crate::plan::grouping::in_range::{FACTS, most};
use crate::plan::grouping::view;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::submission::Submission;
use crate::plan::input::uses::Uses;
use crate::rewrite::{RowOf, Rows};

/// A place in code: block and position.
type At = (usize, usize);

/// Rows of the length for which there are most divisions to leave out, if any. `accesses` of submission `at` go to the elements whose index is divided
/// by the lengths of `divisions`, and by `by_digits`, the weight of the heaviest digit that the index is taken apart in.
pub(super) fn best(
    one: &Submission,
    (uses, at): (&Uses, usize),
    accesses: &[usize],
    divisions: &[(At, i128)],
    by_digits: Option<i128>,
) -> Rows {
    let mut lengths: SmallVec<[i128; 4]> = divisions.iter().map(|one| one.1).chain(by_digits).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let all = lengths.into_iter().map(|length| {
        let of = accesses.iter().map(|&access| row_of(one, (uses, at), access, length)).collect();
        let own = divisions.iter().filter(|one| one.1 == length);
        Rows { of, quotients: own.map(|one| one.0).collect(), digits: by_digits == Some(length) }
    });
    let used =
        |rows: &Rows| rows.of.iter().flatten().count() * (rows.quotients.len() + usize::from(rows.digits));
    all.max_by_key(used).filter(|rows| used(rows) > 0).unwrap_or_default()
}

/// Divisions of the index of an access, and by what.
pub(super) fn divisions(one: &Submission, (uses, at): (&Uses, usize), access: &Access) -> Vec<(At, i128)> {
    let (Ok(analysis), Some(element)) = (analysis_of(one), access.element.and_then(|element| element.index))
    else {
        return Vec::new();
    };
    let mut found = Vec::new();
    view::ask(one, uses, at, |evaluator: &mut Evaluator, atoms: &mut Atoms| {
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

/// Which product of its index is the row of an access times this length.
fn row_of(one: &Submission, (uses, at): (&Uses, usize), number: usize, length: i128) -> Option<RowOf> {
    let analysis = analysis_of(one).ok()?;
    let (access, products) = (&analysis.accesses[number], analysis.products.get(&number)?);
    let node = access.element?.index?.node;
    let mut found = None;
    view::ask(one, uses, at, |evaluator: &mut Evaluator, atoms: &mut Atoms| {
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
