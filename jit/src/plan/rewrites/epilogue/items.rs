//! The items of a consumer, each with the one element that it reads.
//!
//! # Guarantees
//! - an item that writes anything has an element, which it does not read after it stored it back; no two have the same,
//!   and all elements are in a row
//! - the digits of an element's index, each times what one of it is of an id, make up the ids of its item

use smallvec::SmallVec;

use super::pair::Pair;
use crate::analysis::access::{Access, AccessKind};
use crate::analysis::affine::{Affine, AtomId};
use crate::analysis::cfg::Cfg;
use crate::analysis::evaluate::AccessForm;
use crate::plan::grouping::in_range::stays;
use crate::plan::grouping::view::View;
use crate::plan::input::analysis::analysis_of;
use crate::plan::rewrites::inline::boundary::Weighed;
use crate::plan::rewrites::inline::digits::{bound, digits, numbers, parts};
use crate::reason::RewriteReason;

/// The elements of a consumer's items.
pub(super) struct Items {
    pub(super) loads: Vec<usize>,
    pub(super) stored_back: Vec<usize>,
    pub(super) digits: SmallVec<[Weighed; 4]>,
    /// First byte of the first element in the memory object, bytes of an element, and how many there are.
    pub(super) first: i128,
    pub(super) stride: i128,
    pub(super) count: i128,
    /// All of them are certainly stored back.
    pub(super) all_back: bool,
}

/// How many values digits have.
type Counts = SmallVec<[i128; 4]>;

/// The items that may do a write.
struct Writers {
    counts: Counts,
    /// How many: the first ones, in the order of the number that the digits make.
    items: i128,
    /// All of them do it, and it stores the element back.
    is_exact: bool,
}

impl Pair<'_> {
    /// Which items there are, and their elements: all accesses of an item to the bytes that the other stores to are to one element, and
    /// the elements are `first + stride Σ weight digit` over ids of the item, without a gap; an item that reads several elements is refused.
    pub(super) fn items(&self) -> Result<Items, Option<RewriteReason>> {
        let &Self { list, uses, next, .. } = self;
        let wrong = |what| self.wrong(what);
        let one = &list[next];
        let view = View::of(list, uses, next).ok_or_else(|| wrong("too many items"))?;
        let analysis = analysis_of(one).map_err(|_| wrong("a pointer"))?;
        let accesses = || analysis.accesses.iter().zip(&view.forms).enumerate();
        let (mut loads, mut stored_back) = (Vec::new(), Vec::new());
        let mut place: Option<(&AccessForm, i128, i128)> = None;
        let mut first_access = 0;
        for (number, (access, form)) in accesses() {
            if !self.is_handed(access.binding) {
                continue;
            }
            let element = access.element.and_then(|e| e.index).filter(|_| access.whole_element);
            let element = element.ok_or_else(|| self.wrong_at("a part of an element", number))?;
            if form.never {
                continue;
            }
            if form.unknown || self.limits.robust && !stays(&view.atoms, form) {
                return Err(Some(self.wrong_at("an index that is not followed", number)));
            }
            let origin = i128::from(one.args[access.binding].offset) + i128::from(element.start);
            let stride = i128::from(element.stride);
            if place.is_none() {
                first_access = number;
            }
            let (first, ..) = *place.get_or_insert((form, origin, stride));
            let is_same =
                first.offset == form.offset && place.is_some_and(|p| (p.1, p.2) == (origin, stride));
            if !is_same && !mutant!(ElementsAreTheItems) {
                return Err(Some(self.several(first_access, number)));
            }
            match access.kind {
                AccessKind::Read => loads.push(number),
                AccessKind::Write => stored_back.push(number),
                _ => return Err(Some(self.wrong_at("an atomic operation", number))),
            }
        }
        if self.reads_again(&analysis.accesses, &loads, &stored_back) && !mutant!(StoredBackIsUnread) {
            return Err(Some(wrong("an element that may be read after it was stored back")));
        }
        let (form, origin, stride) = place.filter(|_| !loads.is_empty()).ok_or_else(|| wrong("no loads"))?;
        let is_several = |&id: &AtomId| {
            let (low, high) = form.ranges.get(&view.atoms, id);
            form.offset.coefficient(id) != 0 && low < high
        };
        if form.counters.iter().any(is_several) {
            return Err(Some(self.several(first_access, first_access)));
        }
        // What an item does it does where one of its writes happens.
        let whole = digits(&view, form, one);
        let is_whole = whole.is_some();
        let mut digits = whole.unwrap_or_else(|| numbers(one));
        let all: Counts = digits.iter().map(|digit| digit.count).collect();
        let mut boxes: SmallVec<[Writers; 2]> = SmallVec::new();
        for (number, (access, form)) in accesses() {
            if !access.kind.writes() || form.never {
                continue;
            }
            digits.iter_mut().zip(&all).for_each(|(digit, &count)| digit.count = count);
            let (mut most, mut is_exact) = (None, form.certain && form.counters.is_empty());
            // What is not followed lets all through.
            let mut follows = |condition: &Affine| {
                let is_all = condition.bounds(|id| (0, view.atoms.max(id))).1 <= 0;
                let undivided = condition.undivided(&view.atoms);
                let condition = undivided.as_ref().unwrap_or(condition);
                is_all || bound(&view, &mut digits, condition, &mut most).is_some()
            };
            form.facts.iter().for_each(|fact| {
                follows(fact);
            });
            is_exact &= form.conditions.iter().all(follows);
            let counts: Counts = digits.iter().map(|digit| digit.count).collect();
            let items = counts.iter().product::<i128>();
            let items = most.map_or(items, |most: i128| most.min(items));
            // Without a box there is no telling which digits an id has.
            if most.is_some() && !is_whole {
                return Err(Some(self.wrong_at("an access under a guard", number)));
            }
            boxes.push(Writers { counts, items, is_exact: is_exact && stored_back.contains(&number) });
        }
        // All items that write anything are in this one; where it is no more than one that writes, these are all.
        let counts: Counts =
            (0..digits.len()).map(|n| boxes.iter().map(|one| one.counts[n]).max().unwrap_or(0)).collect();
        let largest = boxes.iter().map(|one| one.items).max().ok_or_else(|| wrong("no stores"))?;
        let is_one = boxes.iter().any(|one| one.counts == counts && one.items == largest);
        let items = if is_one { largest } else { counts.iter().product() };
        let all_back = boxes.iter().any(|one| one.is_exact && one.counts == counts && one.items == items);
        digits.iter_mut().zip(counts).for_each(|(digit, count)| digit.count = count);
        if !is_whole {
            digits = parts(&view, form, &digits)
                .ok_or_else(|| self.wrong_at("an index that does not follow from ids alone", first_access))?;
        }
        let mirrored = digits.iter().filter(|digit| digit.is.mirrored);
        let off: i128 = mirrored.map(|digit| digit.weight * (digit.count - 1)).sum();
        // A mirrored digit counts from the greatest id there is.
        if is_whole
            && digits.iter().zip(&all).any(|(digit, &count)| digit.is.mirrored && digit.count != count)
        {
            return Err(Some(self.wrong_at("an index that counts down, under a guard", first_access)));
        }
        digits.retain(|digit| digit.count > 1);
        digits.sort_by_key(|digit| digit.weight);
        let mut weight = stride;
        for digit in &digits {
            if digit.weight != weight {
                return Err(Some(self.wrong_at("elements with gaps between them", first_access)));
            }
            weight = digit.weight * digit.count;
        }
        let count = items;
        let first = form.offset.constant - off;
        if first < origin || (first - origin) % stride != 0 || count <= 0 {
            return Err(Some(self.wrong_at("an index that does not follow from ids alone", first_access)));
        }
        Ok(Items { loads, stored_back, digits, first, stride, count, all_back })
    }
}

impl Pair<'_> {
    /// Whether the consumer may come from one of these stores to one of these loads.
    fn reads_again(&self, accesses: &[Access], loads: &[usize], stores: &[usize]) -> bool {
        let Ok(normal) = &self.list[self.next].kernel.normal else { return true };
        let [function] = normal.module.functions.as_slice() else { return true };
        let cfg = Cfg::new(function);
        stores.iter().any(|&store| {
            let (block, position) = accesses[store].at;
            let after = cfg.after(block);
            loads.iter().any(|&load| {
                let (other, at) = accesses[load].at;
                after[other] || other == block && at > position
            })
        })
    }
}
