//! Elements that are stored at `row length + column`: of their numbers the consumer has quotients and remainders without a division.

use super::items::Items;
use super::pair::Pair;
use crate::analysis::access::Access;
use crate::plan::input::analysis::analysis_of;
use crate::plan::rewrites::rows;
use crate::rewrite::Rows;

impl Pair<'_> {
    /// The rows of the stores, of a length that the consumer divides by. `origin` is where the producer's array begins, `based` whether its first
    /// element is not the consumer's.
    pub(super) fn rows(&self, stores: &[usize], items: &Items, (origin, based): (i128, bool)) -> Rows {
        let &Self { list, uses, producer, next, .. } = self;
        let Ok(analysis) = analysis_of(&list[next]) else { return Rows::default() };
        let load = items.loads.first().map(|&load| &analysis.accesses[load]);
        let begins = |load: &Access| {
            let start = load.element.and_then(|element| element.index).map(|element| element.start);
            start.map(|start| i128::from(list[next].args[load.binding].offset) + i128::from(start))
        };
        let is_same = |begin: i128| begin == origin || mutant!(ArraysBeginTogether);
        let load = load.filter(|load| begins(load).is_some_and(is_same));
        let divisions = load.map(|load| rows::divisions(&list[next], (uses, next), load));
        // The heavier digit of an index with two. A row of more digits would hide from later placements how they follow from ids.
        let by_digits = match (items.digits.as_slice(), based) {
            ([_, digit], false) => Some(digit.weight / items.stride),
            _ => None,
        };
        let divisions = divisions.unwrap_or_default();
        rows::best(&list[producer], (uses, producer), stores, &divisions, by_digits)
    }
}
