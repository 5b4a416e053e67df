//! Elements of buffers that are recomputed: which item stores one, and whether all that are loaded are stored.

use smallvec::SmallVec;

use super::boundary::{Boundary, Loads, Sides, Stored, Weighed};
use super::digits::{bound, digits, numbers, parts};
use crate::analysis::access::AccessKind;
use crate::analysis::affine::{Affine, Atom, Atoms};
use crate::analysis::evaluate::AccessForm;
use crate::plan::grouping::in_range::{FACTS, most, stays};
use crate::plan::grouping::view::View;
use crate::plan::input::analysis::analysis_of;
use crate::reason::RewriteReason;
use crate::rewrite::{self, Digit, Ids, Part, Parts, Site};

/// The stores of an item.
struct Sites {
    /// In the order of their elements.
    order: SmallVec<[usize; 2]>,
    /// Bytes from one to the next.
    apart: i128,
}

impl Boundary<'_> {
    /// Which elements the producer stores: `origin + stride (first + Σ weight digit)` for all digits that its guards let through. Each
    /// weight is that of the digit before it times its number of values, so they leave no gap, and no two items store one element.
    /// Where an item does several stores, which of them it is is a digit as well.
    pub(super) fn stored(&self) -> Result<Stored, RewriteReason> {
        let &Self { uses, source, producer, ref definition, .. } = self;
        let wrong = |what| RewriteReason::NoItem { producer, what };
        let view = View::of(&self.worked_out(), uses, producer).ok_or_else(|| wrong("too many items"))?;
        let analysis = analysis_of(source).map_err(|_| wrong("a pointer"))?;
        let Sites { order, apart } = self.sites(&view)?;
        let store = definition.sites.get(order[0]).map_or(0, |site| site.store);
        let form = view.forms[store].clone();
        let element =
            analysis.accesses[store].element.and_then(|e| e.index).ok_or_else(|| wrong("no array"))?;
        let stride = i128::from(element.stride);
        let no_number = || wrong("an index that does not follow from ids alone");
        let whole = digits(&view, &form, source);
        let is_whole = whole.is_some();
        let mut digits = whole.unwrap_or_else(|| numbers(source));
        // How many values each digit has, and all of them together.
        let mut most = None;
        for condition in form.conditions.iter().filter(|_| !mutant!(GuardsAreOpen)) {
            if condition.bounds(|id| (0, view.atoms.max(id))).1 <= 0 {
                continue;
            }
            let undivided = condition.undivided(&view.atoms);
            let condition = undivided.as_ref().unwrap_or(condition);
            bound(&view, &mut digits, condition, &mut most).ok_or_else(|| wrong("a guard"))?;
        }
        if !is_whole {
            // Without a box there is no telling which parts an id has.
            if most.is_some() {
                return Err(wrong("a guard"));
            }
            digits = parts(&view, &form, &digits).ok_or_else(no_number)?;
        }
        // The least index is that of the greatest ids, where they are taken off.
        let mirrored = digits.iter().filter(|digit| digit.is.mirrored);
        let off: i128 = mirrored.map(|digit| digit.weight * (digit.count - 1)).sum();
        // What all of them make is counted by the lightest.
        let least = digits.iter().map(|digit| digit.weight).min();
        digits.retain(|digit| digit.count > 1);
        digits.sort_by_key(|digit| digit.weight);
        if most.is_some() && least != digits.first().map(|digit| digit.weight) {
            return Err(wrong("a guard"));
        }
        let all = digits.iter().map(|digit| digit.count).product::<i128>();
        let items = most.map_or(all, |most: i128| most.min(all));
        let several = order.len() as i128;
        if several > 1 {
            let is = Digit { dim: 0, part: Part::Site, mirrored: false, scaled: false };
            let at = digits.partition_point(|digit| digit.weight < apart);
            let is_between = (1..digits.len()).contains(&at);
            if is_between && items < all {
                return Err(wrong("a guard"));
            }
            digits.insert(at, Weighed { is, weight: apart, count: several, scale: 1 });
        }
        let mut next = stride;
        for (number, digit) in digits.iter().enumerate() {
            let is_site = digit.is.part == Part::Site;
            // Behind the elements of all items' first stores come those of their second ones.
            if is_site && number > 0 && number + 1 == digits.len() {
                next = stride * items;
            }
            if digit.weight != next && !mutant!(SitesOverlap) {
                if is_site {
                    return Err(wrong(
                        "several stores of an item, between whose elements are gaps or other items'",
                    ));
                }
                if !mutant!(DigitsAreDense) {
                    return Err(wrong("elements with gaps between them"));
                }
            }
            next = digit.weight * digit.count;
        }
        let count = items * several;
        let origin = i128::from(source.args[definition.binding].offset) + i128::from(element.start);
        let first = form.offset.constant - off - origin;
        if first % stride != 0 || first < 0 || count <= 0 {
            return Err(no_number());
        }
        let first = first / stride;
        if first + count >= 1 << 31 {
            return Err(wrong("too many items"));
        }
        let stores = order.iter().map(|&site| definition.sites[site].store as u32);
        let mut ids = Ids { sites: stores.collect(), ..Ids::default() };
        if definition.needs_ids {
            ids.based = first != 0;
            ids.digits = digits.iter().map(|digit| digit.is).collect();
        }
        let heavier = digits.iter().skip(1).map(|digit| digit.weight / stride);
        let greatest = digits.iter().filter(|digit| digit.is.mirrored).map(|digit| digit.count - 1);
        let scales = digits.iter().filter(|digit| digit.is.scaled).map(|digit| digit.scale);
        let weights = heavier.chain(greatest).chain(scales);
        let weights = weights.filter(|_| definition.needs_ids).map(|n| n as u32).collect();
        let count = count + i128::from(mutant!(OneMoreIsStored));
        Ok(Stored {
            ids,
            weights,
            apart: if several > 1 { apart } else { 0 },
            #[cfg(feature = "certify")]
            digits,
            first,
            count,
            origin,
            stride,
            sides: Sides::default(),
        })
    }

    /// The stores of an item in the order of their elements, which are equally far apart, and each is done wherever the others are.
    fn sites(&self, view: &View) -> Result<Sites, RewriteReason> {
        let &Self { producer, ref definition, .. } = self;
        let several = definition.sites.len() > 1;
        let wrong = |site: &Site, what| match several {
            true => RewriteReason::NoSite { producer, at: site.at, what },
            false => RewriteReason::NoItem { producer, what },
        };
        let mut all: SmallVec<[(i128, usize); 2]> = SmallVec::new();
        let first = definition.sites.first().map(|site| &view.forms[site.store]);
        for (number, site) in definition.sites.iter().enumerate() {
            let form = &view.forms[site.store];
            if form.unknown || form.never || !form.certain || !form.counters.is_empty() {
                return Err(wrong(site, "a condition or an index"));
            }
            if self.robust && !stays(&view.atoms, form) && !mutant!(OutsideIsStored) {
                return Err(wrong(site, "an index that may leave what is bound"));
            }
            let Some(first) = first else { continue };
            if form.conditions != first.conditions && !mutant!(SitesAreOfAllItems) {
                return Err(wrong(site, "other conditions than other stores"));
            }
            let apart = form.offset.plus(&first.offset, -1).filter(|apart| apart.terms.is_empty());
            let apart = apart.ok_or_else(|| wrong(site, "no fixed distance from other stores"))?;
            all.push((apart.constant, number));
        }
        all.sort_unstable();
        let apart = if let [first, second, ..] = all[..] { second.0 - first.0 } else { 0 };
        for pair in all.windows(2) {
            if pair[1].0 - pair[0].0 != apart && !mutant!(SitesOverlap) {
                return Err(wrong(&definition.sites[pair[1].1], "another distance from other stores"));
            }
        }
        Ok(Sites { order: all.iter().map(|one| one.1).collect(), apart })
    }

    /// Shows that the consumer loads stored elements only, as wholes, so that each load can be replaced.
    pub(super) fn replaceable(&self, stored: &Stored) -> Result<Loads, RewriteReason> {
        let &Self { list, uses, source, producer, next, from, ref definition, .. } = self;
        let wrong = |what| RewriteReason::NoLoads { producer, what };
        let one = &list[next];
        let view = View::of(list, uses, next).ok_or_else(|| wrong("too many items"))?;
        let analysis = analysis_of(one).map_err(|_| wrong("a pointer"))?;
        let mut loads = Loads::default();
        for (number, (access, form)) in analysis.accesses.iter().zip(&view.forms).enumerate() {
            if access.binding != from {
                continue;
            }
            let element = access.element.and_then(|e| e.index).filter(|_| access.whole_element);
            let element = element.ok_or_else(|| wrong("parts of elements"))?;
            if access.kind != AccessKind::Read {
                return Err(wrong("atomic operations"));
            }
            let stride = i128::from(element.stride);
            let parts = rewrite::parts(&one.kernel, element.ty, &source.kernel, definition).map_err(wrong)?;
            // Vectors of scalars have none of their bytes between them.
            let same = match parts {
                Parts::Whole => stride == stored.stride,
                Parts::Several(count) => {
                    stride == i128::from(count) * stored.stride && stride == i128::from(access.size)
                }
                Parts::PartOf(count) => {
                    stride * i128::from(count) == stored.stride && stride == i128::from(access.size)
                }
            };
            if !same {
                return Err(wrong("elements of another type"));
            }
            if loads.count > 0 && loads.parts != parts {
                return Err(wrong("elements of several types"));
            }
            // What both count by: the shorter elements.
            let unit = stride.min(stored.stride);
            let origin = i128::from(one.args[from].offset) + i128::from(element.start);
            let shift = origin - stored.origin;
            if shift % unit != 0 || loads.count > 0 && loads.shift != shift / unit {
                return Err(wrong("elements that begin elsewhere"));
            }
            loads.shift = shift / unit;
            loads.parts = parts;
            loads.count += 1;
            let begin = stored.origin + stored.first * stored.stride;
            let end = begin + stored.count * stored.stride;
            (loads.first, loads.end) =
                ((begin - origin).div_euclid(stride), (end - origin).div_euclid(stride));
            if form.never {
                continue;
            }
            if self.robust && !stays(&view.atoms, form) && !mutant!(OutsideIsWorkedOut) {
                return Err(wrong("elements that may be outside of what is bound"));
            }
            // The place of the first and the last element that may be meant.
            let (low, high) = if form.unknown {
                let room = form.accessor.1 - origin;
                (origin, origin + (room.div_euclid(stride) - 1) * stride)
            } else {
                let mirrored = Affine::default().plus(&form.offset, -1);
                let mirrored = mirrored.ok_or_else(|| wrong("an index beyond all numbers"))?;
                (-most(&view.atoms, form, &mirrored, FACTS), most(&view.atoms, form, &form.offset, FACTS))
            };
            if !mutant!(AllIsStored) {
                loads.below |= low < begin;
                loads.above |= high + stride > end;
            }
            let none = high + stride <= begin || low >= end;
            let counts = low >= origin && high - origin < unit << 31;
            // Either all of an element is stored, or nothing of it.
            let partly =
                loads.below && (begin - origin) % stride != 0 || loads.above && (end - origin) % stride != 0;
            if partly && !mutant!(PartlyIsStored) {
                return Err(wrong("elements that are stored only in part"));
            }
            if (none || !counts) && !mutant!(AllIsStored) {
                return Err(RewriteReason::NotStored { producer });
            }
            let count = if let Parts::Several(count) = parts { count } else { 1 };
            for part in (0..count).filter(|_| !form.unknown) {
                let site = stored.site_of(&view.atoms, form, i128::from(part) * unit, unit);
                loads.known.extend(site.map(|site| ((number as u32, part), site)));
            }
            let by = |atom| view.weight(form, atom).abs();
            loads.in_order &= !form.unknown && by(Atom::Local(0)) == stride;
            loads.add_rounds(access, form, &view);
        }
        match loads.count {
            0 => Err(wrong("there are none")),
            _ if loads.end >= 1 << 31 => Err(wrong("too many elements")),
            _ => Ok(loads),
        }
    }
}

impl Stored {
    /// The store of an item that stores what is loaded `at` bytes behind the place of a load, by its digit, if that is one for all that may be meant.
    fn site_of(&self, atoms: &Atoms, form: &AccessForm, at: i128, size: i128) -> Option<u8> {
        let several = self.ids.sites.len() as i128;
        let round = self.apart * several;
        if several < 2 || round <= 0 {
            return None;
        }
        let begin = self.origin + self.first * self.stride;
        let terms = form.offset.terms.iter().filter(|(_, weight)| weight % round != 0).copied().collect();
        let rest = Affine { terms, constant: (form.offset.constant + at - begin).rem_euclid(round) };
        let (low, high) = rest.bounds(|id| form.ranges.get(atoms, id));
        let (low, high) = (low.div_euclid(self.apart), (high + size - 1).div_euclid(self.apart));
        let is_one = low == high || mutant!(SitesAreKnown);
        is_one.then(|| low.rem_euclid(several) as u8)
    }
}
