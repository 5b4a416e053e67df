//! Elements of buffers that are recomputed: which item stores one, and whether all that are loaded are stored.

use smallvec::SmallVec;

use super::boundary::{Boundary, Loads, Sides, Stored, Weighed};
use crate::analysis::access::AccessKind;
use crate::analysis::affine::{Affine, Atom};
use crate::analysis::evaluate::AccessForm;
use crate::plan::grouping::in_range::{FACTS, most, stays};
use crate::plan::grouping::view::View;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::submission::Submission;
use crate::reason::RewriteReason;
use crate::rewrite::{self, Digit, Ids, Part, Parts};

impl Boundary<'_> {
    /// Which elements the producer stores: `origin + stride (first + Σ weight digit)` for all digits that its guards let through. Each
    /// weight is that of the digit before it times its number of values, so they leave no gap, and no two items store one element.
    pub(super) fn stored(&self) -> Result<Stored, RewriteReason> {
        let &Self { uses, source, producer, ref definition, .. } = self;
        let wrong = |what| RewriteReason::NoItem { producer, what };
        let view = View::of(&self.worked_out(), uses, producer).ok_or_else(|| wrong("too many items"))?;
        let analysis = analysis_of(source).map_err(|_| wrong("a pointer"))?;
        let form = view.forms[definition.store].clone();
        let access = &analysis.accesses[definition.store];
        let element = access.element.and_then(|e| e.index).ok_or_else(|| wrong("no array"))?;
        if form.unknown || form.never || !form.certain || !form.counters.is_empty() {
            return Err(wrong("a condition or an index"));
        }
        if self.robust && !stays(&view.atoms, &form) && !mutant!(OutsideIsStored) {
            return Err(wrong("an index that may leave what is bound"));
        }
        let stride = i128::from(element.stride);
        let mut digits =
            digits(&view, &form, source).ok_or_else(|| wrong("an index that is no number of digits"))?;
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
        // The least index is that of the greatest ids, where they are taken off.
        let mirrored = digits.iter().filter(|digit| digit.is.mirrored);
        let off: i128 = mirrored.map(|digit| digit.weight * (digit.count - 1)).sum();
        digits.retain(|digit| digit.count > 1);
        digits.sort_by_key(|digit| digit.weight);
        let mut next = stride;
        for digit in &digits {
            if digit.weight != next && !mutant!(DigitsAreDense) {
                return Err(wrong("elements with gaps between them"));
            }
            next = digit.weight * digit.count;
        }
        let mut count = digits.iter().map(|digit| digit.count).product::<i128>();
        if let Some(most) = most {
            count = count.min(most);
        }
        let origin = i128::from(source.args[definition.binding].offset) + i128::from(element.start);
        let first = form.offset.constant - off - origin;
        if first % stride != 0 || first < 0 || count <= 0 {
            return Err(wrong("an index that is no number of digits"));
        }
        let first = first / stride;
        if first + count >= 1 << 31 {
            return Err(wrong("too many items"));
        }
        let ids = match definition.needs_ids {
            true => Ids {
                based: first != 0,
                digits: digits.iter().map(|digit| digit.is).collect(),
                ..Ids::default()
            },
            false => Ids::default(),
        };
        let heavier = digits.iter().skip(1).map(|digit| digit.weight / stride);
        let greatest = digits.iter().filter(|digit| digit.is.mirrored).map(|digit| digit.count - 1);
        let weights = heavier.chain(greatest).filter(|_| definition.needs_ids).map(|n| n as u32).collect();
        let count = count + i128::from(mutant!(OneMoreIsStored));
        Ok(Stored {
            ids,
            weights,
            #[cfg(feature = "certify")]
            digits,
            first,
            count,
            origin,
            stride,
            sides: Sides::default(),
        })
    }

    /// Shows that the consumer loads stored elements only, as wholes, so that each load can be replaced.
    pub(super) fn replaceable(&self, stored: &Stored) -> Result<Loads, RewriteReason> {
        let &Self { list, uses, source, producer, next, from, ref definition, .. } = self;
        let wrong = |what| RewriteReason::NoLoads { producer, what };
        let one = &list[next];
        let view = View::of(list, uses, next).ok_or_else(|| wrong("too many items"))?;
        let analysis = analysis_of(one).map_err(|_| wrong("a pointer"))?;
        let mut loads = Loads::default();
        for (access, form) in analysis.accesses.iter().zip(&view.forms) {
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

/// The offset of a store as a sum of digits: none that is not there tells two items apart.
pub(in crate::plan) fn digits(
    view: &View,
    form: &AccessForm,
    source: &Submission,
) -> Option<SmallVec<[Weighed; 4]>> {
    let known = |atom: &Atom| matches!(atom, Atom::Group(_) | Atom::Local(_));
    if !form.offset.terms.iter().all(|&(id, _)| known(view.atoms.get(id))) {
        return None;
    }
    let mut digits = SmallVec::new();
    for d in 0..3u8 {
        let groups = i128::from(source.groups[usize::from(d)]);
        let local = i128::from(source.kernel.interface.local_size[usize::from(d)]);
        let (of_group, of_local) = (view.weight(form, Atom::Group(d)), view.weight(form, Atom::Local(d)));
        let mut add = |part, weight: i128, count| {
            let is = Digit { dim: d, part, mirrored: weight < 0, scaled: false };
            digits.push(Weighed { is, weight: weight.abs(), count, scale: 1 });
            weight != 0
        };
        let fits = match (groups, local) {
            (0, _) | (_, 0) => false,
            (1, 1) => true,
            (1, _) => add(Part::Global, of_local, local),
            (_, 1) => add(Part::Global, of_group, groups),
            _ if of_group == of_local * local => add(Part::Global, of_local, groups * local),
            _ => add(Part::Group, of_group, groups) && add(Part::Local, of_local, local),
        };
        if !fits {
            return None;
        }
    }
    Some(digits)
}

/// Takes in a condition of a store, which is at most zero: a greatest value of one digit, or of the number that all of them make.
pub(in crate::plan) fn bound(
    view: &View,
    digits: &mut [Weighed],
    condition: &Affine,
    most: &mut Option<i128>,
) -> Option<()> {
    let of = |atom: Atom| view.atoms.find(&atom).map_or(0, |id| condition.coefficient(id));
    let mut left = condition.terms.len();
    let mut factors: SmallVec<[i128; 4]> = SmallVec::new();
    for digit in digits.iter() {
        let d = digit.is.dim;
        let (group, local) = (of(Atom::Group(d)), of(Atom::Local(d)));
        left -= usize::from(group != 0 && digit.is.part != Part::Local);
        left -= usize::from(local != 0 && digit.is.part != Part::Group);
        let size = i128::from(view.shape.local[usize::from(d)]);
        factors.push(match digit.is.part {
            Part::Group => group,
            Part::Local => local,
            // An id with one value only has no atom.
            Part::Global if view.atoms.find(&Atom::Local(d)).is_none() || size == 1 => group,
            Part::Global if view.shape.groups[usize::from(d)] == 1 => local,
            Part::Global if group == local * size => local,
            Part::Global => return None,
        });
    }
    if left != 0 {
        return None;
    }
    let mut in_it = factors.iter().enumerate().filter(|(_, factor)| **factor != 0);
    let (first, &factor) = in_it.next()?;
    if in_it.next().is_none() {
        // factor * digit + constant <= 0
        let greatest = (factor > 0).then(|| (-condition.constant).div_euclid(factor))?;
        let digit = &mut digits[first];
        digit.count = digit.count.min(greatest.saturating_add(1)).max(0);
        return Some(());
    }
    // factor / weight is one number for all of them.
    let (lead, weight) = (factor, digits[first].weight);
    let same = digits
        .iter()
        .zip(&factors)
        .all(|(digit, &factor)| factor * weight == lead * digit.weight && !digit.is.mirrored);
    if !same || lead <= 0 {
        return None;
    }
    // lead / weight * bytes + constant <= 0, for the bytes from the first element.
    let least = digits.iter().map(|digit| digit.weight).min()?;
    let bytes = (-condition.constant).checked_mul(weight)?.div_euclid(lead);
    let count = bytes.div_euclid(least) + 1;
    *most = Some(most.map_or(count, |most| most.min(count)).max(0));
    Some(())
}
