//! Texels of storage images that are recomputed: which item writes one, and whether all that are read are written.
//!
//! A producer writes a box of texels if each coordinate is one of its ids and a number. A texel that is read has to lie in the box and in
//! the image, by each of its coordinates.

use smallvec::SmallVec;

use super::boundary::{Boundary, Loads, Sides, Stored, Weighed, size_of, texels_of};
use super::digits::bound;
use crate::analysis::access::{Access, AccessKind};
use crate::analysis::affine::{Affine, Atom};
use crate::analysis::evaluate::AccessForm;
use crate::plan::grouping::in_range::{FACTS, most};
use crate::plan::grouping::view::View;
use crate::plan::input::analysis::analysis_of;
use crate::plan::input::submission::Submission;
use crate::plan::input::uses::Uses;
use crate::reason::RewriteReason;
use crate::rewrite::{Coordinate, Digit, Ids, Part, Texels};

impl Boundary<'_> {
    /// Which texels the producer writes.
    pub(super) fn stored_texels(&self, stored: Texels) -> Result<Stored, RewriteReason> {
        let &Self { list, uses, source, producer, next, from, ref definition, .. } = self;
        let wrong = |what| RewriteReason::NoItem { producer, what };
        // Through two views, one image may have two origins, or formats.
        let (own, target) = (&source.args[definition.binding], &list[next].args[from]);
        if !own.is_same_image(target) && !mutant!(ViewsOfImagesAreOne) {
            return Err(wrong("another view of the image"));
        }
        let view = View::of(&self.worked_out(), uses, producer).ok_or_else(|| wrong("too many items"))?;
        let analysis = analysis_of(source).map_err(|_| wrong("a pointer"))?;
        let (sides, coordinates) = written(&view, source, definition.store()).map_err(wrong)?;
        if coordinates.len() != usize::from(stored.coordinates) {
            return Err(wrong("more coordinates than the image has"));
        }
        let mut ids = Ids { coordinates, ..Ids::default() };
        if !definition.needs_ids {
            ids = Ids::default();
        }
        // What an item reads outside of an image is up to the device, each time.
        for (access, (form, place)) in analysis.accesses.iter().zip(view.forms.iter().zip(&view.coordinates))
        {
            if access.texel.is_some() && access.kind == AccessKind::Read && !form.never {
                let whole = Sides::default();
                let is_inside = within(&view, source, access, form, place.as_deref(), &whole);
                if is_inside != Some(true) && !mutant!(AnyTexelIsInside) {
                    return Err(wrong("it may read outside of an image"));
                }
            }
        }
        Ok(Stored::texels(ids, sides))
    }

    /// Shows that the consumer reads written texels only, so that each read can be replaced.
    pub(super) fn replaceable_texels(&self, sides: &Sides, stored: Texels) -> Result<Loads, RewriteReason> {
        let &Self { list, uses, producer, next, from, .. } = self;
        let wrong = |what| RewriteReason::NoLoads { producer, what };
        let one = &list[next];
        let view = View::of(list, uses, next).ok_or_else(|| wrong("too many items"))?;
        let analysis = analysis_of(one).map_err(|_| wrong("a pointer"))?;
        let mut loads = Loads::default();
        let mut writes = analysis
            .accesses
            .iter()
            .zip(&view.coordinates)
            .filter(|(access, _)| access.binding == from && access.kind != AccessKind::Read);
        // The one that an item stores over what it has loaded.
        let own = if self.is_own { writes.next().and_then(|(_, place)| place.as_deref()) } else { None };
        if writes.next().is_some() || self.is_own && own.is_none() {
            return Err(wrong("writes"));
        }
        let all = view.forms.iter().zip(&view.coordinates);
        for (access, (form, place)) in analysis.accesses.iter().zip(all) {
            if access.binding != from || access.kind != AccessKind::Read {
                continue;
            }
            let texels = texels_of(&one.kernel, access).map_err(wrong)?;
            if !texels.are_found_in(stored) && !mutant!(FormatsAreOne) {
                return Err(wrong("texels of another format"));
            }
            loads.count += 1;
            if form.never {
                continue;
            }
            let place = place.as_deref().ok_or_else(|| wrong("coordinates that are not followed"))?;
            if own.is_some_and(|own| own != place) && !mutant!(InPlaceIsAnywhere) {
                return Err(wrong("another texel than the item writes"));
            }
            if place.len() != usize::from(stored.coordinates) {
                return Err(wrong("more coordinates than the image has"));
            }
            match within(&view, one, access, form, Some(place), sides) {
                Some(true) => {}
                _ if mutant!(AllTexelsAreWritten) => {}
                _ => return Err(RewriteReason::NotStored { producer }),
            }
            let along = place.first().zip(view.atoms.find(&Atom::Local(0)));
            loads.in_order &= along.is_some_and(|(x, id)| x.coefficient(id).abs() == 1);
            loads.add_rounds(access, form, &view);
        }
        match loads.count {
            0 => Err(wrong("there are none")),
            _ => Ok(loads),
        }
    }
}

/// The box of texels that a store certainly writes, each by exactly one item; and what its coordinates are.
fn written(
    view: &View,
    source: &Submission,
    store: usize,
) -> Result<(Sides, SmallVec<[Coordinate; 3]>), &'static str> {
    let form = &view.forms[store];
    let place = view.coordinates.get(store).and_then(Option::as_ref);
    let place = place.ok_or("coordinates that are not followed")?;
    if form.never || !form.certain || !form.counters.is_empty() {
        return Err("a condition");
    }
    let mut digits: SmallVec<[Weighed; 4]> = SmallVec::new();
    let mut dims: SmallVec<[Option<u8>; 3]> = SmallVec::new();
    for coordinate in place {
        let dim = dimension(view, coordinate, source)?;
        if let Some(dim) = dim {
            let count = i128::from(source.groups[usize::from(dim)]) * i128::from(local(source, dim));
            let is = Digit { dim, part: Part::Global, mirrored: false, scaled: false };
            digits.push(Weighed { is, weight: 1, count, scale: 1 });
        }
        dims.push(dim);
    }
    // Items that no coordinate tells apart write one texel.
    let is_told = |d: u8| match dims.iter().filter(|&&dim| dim == Some(d)).count() {
        0 => source.groups[usize::from(d)] == 1 && local(source, d) == 1,
        times => times == 1,
    };
    if !(0..3).all(is_told) && !mutant!(AnyItemWritesATexel) {
        return Err("a dimension that is none of the image");
    }
    let mut all = None;
    for condition in form.conditions.iter().filter(|_| !mutant!(TexelGuardsAreOpen)) {
        if condition.bounds(|id| (0, view.atoms.max(id))).1 <= 0 {
            continue;
        }
        // Digits of one weight: a bound of several together is one that is not followed.
        bound(view, &mut digits, condition, &mut all).ok_or("a guard")?;
        if all.is_some() {
            return Err("a guard");
        }
    }
    let mut counts = digits.iter().map(|digit| digit.count);
    let mut sides = Sides::default();
    let mut coordinates = SmallVec::new();
    for (coordinate, dim) in place.iter().zip(dims) {
        let first = coordinate.constant;
        let count = if dim.is_some() { counts.next().unwrap_or(0) } else { 1 };
        let last = first + count - 1 + i128::from(mutant!(OneMoreTexelIsWritten));
        if first.unsigned_abs() >= 1 << 31 || last >= 1 << 31 {
            return Err("coordinates beyond all images");
        }
        sides.0.push((first, last));
        coordinates.push(Coordinate { dim, based: dim.is_some() && first != 0 });
    }
    Ok((sides, coordinates))
}

/// Whether a submission certainly writes every texel of the image at one of its bindings.
pub(in crate::plan) fn covers(one: &Submission, uses: &Uses, binding: usize) -> bool {
    let list = std::slice::from_ref(one);
    let (Some(view), Ok(analysis)) = (View::of(list, uses, 0), analysis_of(one)) else { return false };
    let Some(size) = one.args[binding].image.map(|image| image.extent) else { return false };
    let count = size.iter().take_while(|&&side| side > 0).count();
    let mut accesses = analysis.accesses.iter().enumerate();
    accesses.any(|(store, access)| {
        let is_store = access.binding == binding && access.kind == AccessKind::Write;
        let Some((sides, _)) = is_store.then(|| written(&view, one, store).ok()).flatten() else {
            return false;
        };
        let whole =
            |(&(first, last), &side): (&(i128, i128), &u32)| first <= 0 && last + 1 >= i128::from(side);
        count > 0 && sides.0.len() == count && sides.0.iter().zip(&size).all(whole)
    })
}

fn local(of: &Submission, dim: u8) -> u32 {
    of.kernel.interface.local_size[usize::from(dim)]
}

/// The dimension whose global id a coordinate is, up to a constant; `None` if it is a constant.
fn dimension(view: &View, coordinate: &Affine, source: &Submission) -> Result<Option<u8>, &'static str> {
    let foreign = "coordinates that are no ids of its own";
    let of = |atom: Atom| view.atoms.find(&atom).map_or(0, |id| coordinate.coefficient(id));
    let mut found = None;
    let mut terms = 0;
    for dim in 0..3u8 {
        let (group, inside) = (of(Atom::Group(dim)), of(Atom::Local(dim)));
        terms += usize::from(group != 0) + usize::from(inside != 0);
        if group == 0 && inside == 0 {
            continue;
        }
        let (groups, size) = (source.groups[usize::from(dim)], local(source, dim));
        // An id with one value only has no atom.
        let fits = (group == i128::from(size) || groups == 1) && (inside == 1 || size == 1);
        if !fits || found.is_some() {
            return Err(foreign);
        }
        found = Some(dim);
    }
    (terms == coordinate.terms.len()).then_some(found).ok_or(foreign)
}

/// Whether a texel certainly lies in its image, and on these sides if there are any; `None` if its place, or the size of the image, is
/// not known.
fn within(
    view: &View,
    of: &Submission,
    access: &Access,
    form: &AccessForm,
    place: Option<&[Affine]>,
    sides: &Sides,
) -> Option<bool> {
    let size = of.args[access.binding].image?.extent;
    for (number, coordinate) in place?.iter().enumerate() {
        let mirrored = Affine::default().plus(coordinate, -1)?;
        let low = -most(&view.atoms, form, &mirrored, FACTS);
        let high = most(&view.atoms, form, coordinate, FACTS);
        let end = i128::from(*size.get(number)?);
        let is_inside = low >= 0 && high < end || mutant!(AnyTexelIsInside);
        let side = sides.0.get(number);
        if !is_inside || side.is_some_and(|&(first, last)| low < first || high > last) {
            return Some(false);
        }
    }
    Some(true)
}

/// Bytes of what is bound to an image, as far as its size is known.
pub(super) fn bytes_of(of: &Submission, binding: usize) -> u64 {
    let extent = of.args[binding].image.map_or([u32::MAX; 3], |image| image.extent);
    let texels = extent.iter().map(|&side| u64::from(side.max(1)));
    texels.fold(size_of(of, binding), u64::saturating_mul)
}
