//! Elements that several submissions store in parts, as the columns of matrices that are put next to each other.
//!
//! Where no element is stored twice, by whichever of them, and nothing but elements is stored, all elements are stored if there are as many stores as
//! elements. So nothing has to be known of the order in which they are stored, or of what the parts look like.
//!
//! # Guarantees
//! - no two submissions store one element, by theorem 1
//! - the stores that certainly happen are no fewer than the elements

use super::items::Items;
use super::pair::Pair;
use crate::analysis::affine::{Affine, Atom, AtomId, Atoms, Bounds, Ranges};
use crate::analysis::dependence::{Relation, Shape, relate};
use crate::analysis::evaluate::{AccessForm, Evaluator};
use crate::plan::grouping::mapping::Layout;
use crate::plan::input::analysis::analysis_of;
use crate::plan::rewrites::must_write;
use crate::plan::rewrites::must_write::flat::Flat;
use crate::reason::RewriteReason;
use crate::rewrite::Handed;

/// What is stored for a consumer.
pub(super) struct Stored {
    pub(super) handed: Handed,
    /// Place of the element of index 0 in the memory object.
    pub(super) origin: i128,
    /// Whether elements before the first or after the last that an item reads are stored as well.
    pub(super) below: bool,
    pub(super) above: bool,
    /// How many elements are certainly stored, at least.
    pub(super) certain: i128,
}

/// Shows that the producers together store all elements, each of them only once. `layout` is that of a group that all of them are in.
pub(super) fn cover(
    pairs: &[Pair<'_>],
    all: &[(Items, Stored)],
    layout: Option<Layout>,
) -> Result<(), RewriteReason> {
    let (Some(first), Some((items, stored))) = (pairs.first(), all.first()) else { return Ok(()) };
    let not_stored = RewriteReason::NotStored { producer: first.producer };
    let end = items.first + items.stride * items.count;
    if let [pair] = pairs {
        let source = &pair.list[pair.producer];
        let covers = must_write::covers(source, pair.into, (items.first, end), pair.limits);
        let counts = !stored.below && !stored.above && stored.certain >= items.count;
        return if covers || counts || mutant!(AllItemsAreDone) { Ok(()) } else { Err(not_stored) };
    }
    let layout = layout.ok_or(not_stored.clone())?;
    // All of them mean the same elements.
    let bindings = 0..first.list[first.next].args.len();
    if pairs.iter().any(|pair| bindings.clone().any(|n| pair.is_handed(n) != first.is_handed(n))) {
        return Err(first.wrong("several arguments for its elements"));
    }
    // What is stored beside the elements is none of them.
    if all.iter().any(|(_, stored)| stored.below || stored.above) && !mutant!(PartsStayInside) {
        return Err(first.source_has("elements beside those that are read, as others store parts"));
    }
    let stores = all.iter().map(|(_, stored)| stored.certain).sum::<i128>();
    if stores < items.count && !mutant!(PartsAreAll) {
        return Err(not_stored);
    }
    if !are_apart(pairs, all, layout).unwrap_or(false) && !mutant!(PartsAreApart) {
        return Err(first.source_has("elements that another submission may store as well"));
    }
    Ok(())
}

/// Whether no two of the producers store one element; `None` if that is not known.
fn are_apart(pairs: &[Pair<'_>], all: &[(Items, Stored)], layout: Layout) -> Option<bool> {
    let mut atoms = Atoms::default();
    let mut forms: Vec<Vec<AccessForm>> = Vec::new();
    for (pair, (_, stored)) in pairs.iter().zip(all) {
        let one = &pair.list[pair.producer];
        let analysis = analysis_of(one).ok()?;
        let (sizes, constants) = (one.sizes(), pair.uses.constants(one));
        let env = layout.environment(&mut atoms, pair.producer, one, &sizes, &constants)?;
        let mut evaluator = Evaluator::new(&atoms, analysis, &env);
        let stores = stored.handed.stores.iter().map(|&number| &analysis.accesses[number]);
        let each = stores.map(|access| evaluator.access(&mut atoms, access, one.args[access.binding].offset));
        forms.push(each.collect());
    }
    for (n, own) in forms.iter().enumerate() {
        for (a, b) in own.iter().flat_map(|a| forms[n + 1..].iter().flatten().map(move |b| (a, b))) {
            if relate(&mut atoms, layout.shape, a, b) != Relation::Disjoint {
                return Some(false);
            }
        }
    }
    Some(true)
}

/// Values of an id, of the rounds of a loop, or of a number that conditions bound.
struct Number {
    /// Ids and rounds that it is made of, with their weights.
    digits: Vec<(AtomId, i128)>,
    /// It takes all values below.
    count: i128,
}

/// How often a store certainly happens, over all invocations and rounds, at least.
pub(super) fn certain(atoms: &Atoms, shape: Shape, form: &AccessForm) -> i128 {
    let is_certain = form.certain && form.begun.is_empty() || mutant!(AnyStoreCounts);
    if !is_certain || shape.groups.contains(&0) {
        return 0;
    }
    counted(atoms, shape, form).unwrap_or(0)
}

/// How many values ids and rounds have together under a store's conditions; `None` if that is not known.
fn counted(atoms: &Atoms, shape: Shape, form: &AccessForm) -> Option<i128> {
    let flat = Flat { atoms, local: shape.local, counters: &form.counters };
    let ids = (0..3u8).flat_map(|d| [Atom::Group(d), Atom::Local(d)]).filter_map(|atom| atoms.find(&atom));
    let of = |id: AtomId| Number { digits: vec![(id, 1)], count: atoms.max(id) + 1 };
    let mut numbers: Vec<Number> = ids.chain(form.counters.iter().copied()).map(of).collect();
    let mut conditions = Vec::new();
    for condition in flat.asked(form).conditions.iter().filter(|_| !mutant!(GuardsCountAll)) {
        if condition.bounds(|id| (0, atoms.max(id))).1 <= 0 {
            continue;
        }
        let undivided = condition.undivided(atoms);
        conditions.push(flat.form(undivided.as_ref().unwrap_or(condition))?);
    }
    // What bounds few numbers comes before what bounds them with others, which then may say no more.
    conditions.sort_by_key(|condition| condition.terms.len());
    let mut ranges = Ranges::default();
    for (n, condition) in conditions.iter().enumerate() {
        let known = Bounds { ranges: &ranges, facts: &conditions[..n] };
        if known.of(atoms, condition).1 <= 0 {
            continue;
        }
        ranges.apply(atoms, std::slice::from_ref(condition));
        let has = |one: &Number| one.digits.iter().any(|&(id, _)| condition.coefficient(id) != 0);
        let (own, others): (Vec<_>, Vec<_>) = numbers.into_iter().partition(has);
        numbers = others;
        numbers.push(bounded(&own, condition)?);
    }
    numbers.iter().try_fold(1i128, |all, one| all.checked_mul(one.count))
}

/// The number that a condition bounds, if it is made of these: each weighs as much as those before it can make, and one. So it takes each value once.
fn bounded(of: &[Number], condition: &Affine) -> Option<Number> {
    let mut parts: Vec<(i128, i128)> = Vec::new();
    for one in of {
        let &(id, weight) = one.digits.first()?;
        let factor = condition.coefficient(id) / weight;
        let is_it = |&(id, weight): &(AtomId, i128)| condition.coefficient(id) == factor * weight;
        if factor <= 0 || !one.digits.iter().all(is_it) {
            return None;
        }
        parts.push((factor, one.count));
    }
    if of.iter().map(|one| one.digits.len()).sum::<usize>() != condition.terms.len() {
        return None;
    }
    parts.sort_unstable();
    let unit = parts.first()?.0;
    let mut count = 1i128;
    for (factor, values) in parts {
        if factor != count.checked_mul(unit)? && !mutant!(SumsAreNumbers) {
            return None;
        }
        count = (factor / unit).checked_mul(values)?;
    }
    // unit * number + constant <= 0
    let most = (-condition.constant).div_euclid(unit);
    let digits = condition.terms.iter().map(|&(id, c)| (id, c / unit)).collect();
    Some(Number { digits, count: count.min(most + 1).max(0) })
}
