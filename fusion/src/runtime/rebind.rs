//! Other buffers of the same shape, and other scalars, for a kept list.
//!
//! # Requires
//! - every submission of the list was checked against its kernel
//!
//! # Guarantees
//! - so is every changed one: a replacement has as many bytes, the promotion that the list was recorded with, and an offset that can be bound
//! - two buffers of the list have bytes in common exactly where the ones that they replace had
//!
//! # Refuses
//! - whatever would break one of these, with the names of the buffers

use std::{ops::Range, sync::Arc};

use smallvec::SmallVec;
use vulkano::format::Format;

use crate::{
    error::{Error, FusionError},
    replay::graph::Nodes,
    runtime::context::ContextInner,
    submission::{buffer::BufferInner, pushed::Pushed, signature::Buffers},
};

/// The buffers of a list, those that stay and those that come.
pub(crate) type Exchanged<'a> = SmallVec<[&'a Arc<BufferInner>; 8]>;

/// What is to be different.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changes<'a> {
    /// Old and new.
    pub(crate) buffers: SmallVec<[(&'a Arc<BufferInner>, &'a Arc<BufferInner>); 2]>,
    /// Push constants of submissions, as bytes, and their types.
    pub(crate) pushes: Vec<(usize, SmallVec<[u8; 32]>, Pushed)>,
}

/// The buffers of a list after changes, except for what sees others through a format; and whether everything else stays as it
/// is: none over the user's memory, which has bytes in common with others and starts anywhere, was replaced or is a replacement.
pub(crate) fn exchange<'a>(
    context: &ContextInner,
    (nodes, buffers): (&Nodes, &'a Buffers),
    changes: &Changes<'a>,
) -> Result<(Exchanged<'a>, bool), Error> {
    let (mut with, mut is_simple) = (buffers.iter().collect::<Exchanged<'_>>(), true);
    for (number, (old, new)) in changes.buffers.iter().enumerate() {
        if changes.buffers[..number].iter().any(|(other, _)| Arc::ptr_eq(other, old)) {
            return refuse(format!("buffer `{}` is replaced twice", old.name()));
        }
        // By their places: those that it is not need not be looked at.
        let place = buffers.iter().position(|known| Arc::ptr_eq(known, old));
        check_fit(context, (nodes, place), old, new)?;
        match place {
            Some(place) => with[place] = new,
            None if views(buffers, old).next().is_some() => {}
            None => return refuse(format!("buffer `{}` is not in the list", old.name())),
        }
        is_simple &= !(old.stands_alone() || new.stands_alone());
    }
    let is_once = |new: &Arc<BufferInner>| with.iter().filter(|one| Arc::ptr_eq(one, new)).nth(1).is_none();
    is_simple &= changes.buffers.iter().all(|(_, new)| is_once(new));
    Ok((with, is_simple))
}

/// The buffers of a list after changes, which exchange these.
pub(crate) fn exchanged(
    context: &ContextInner,
    buffers: &Buffers,
    (changes, with): (&Changes<'_>, &Exchanged<'_>),
) -> Result<Buffers, Error> {
    let mut with: Buffers = with.iter().copied().cloned().collect();
    // What sees the old one through a format sees the new one through it.
    for (old, new) in &changes.buffers {
        for (slot, format, range) in views(buffers, old) {
            with[slot] = new.texels(&mut context.lock().deps, format, range)?;
        }
    }
    Ok(with)
}

/// What sees a buffer through a format, by slot.
fn views<'a>(
    buffers: &'a Buffers,
    of: &'a BufferInner,
) -> impl Iterator<Item = (usize, Format, Range<u64>)> + 'a {
    let views = buffers.iter().enumerate().filter_map(|(slot, buffer)| Some((slot, buffer.view()?)));
    let views = views.filter(|(_, (viewed, ..))| viewed.handle == of.handle);
    views.map(|(slot, (_, format, range))| (slot, format, range))
}

/// Whether one buffer fits in the place of another.
fn check_fit(
    context: &ContextInner,
    (nodes, place): (&Nodes, Option<usize>),
    old: &BufferInner,
    new: &BufferInner,
) -> Result<(), Error> {
    if !Arc::ptr_eq(&new.device, &context.device) {
        return refuse(format!("buffer `{}` belongs to another context than the list", new.name()));
    }
    if new.size != old.size {
        let (old_name, new_name) = (old.name(), new.name());
        return refuse(format!(
            "buffer `{new_name}` has {} bytes, and `{old_name}`, which it is to replace, {}",
            new.size, old.size
        ));
    }
    // What is asked of the old one now does not matter: the list has what it was recorded with.
    let asks = new.promote();
    if place.is_some_and(|place| !nodes.all_asked(place, asks)) {
        let (old, new) = (old.name(), new.name());
        return refuse(format!(
            "the promotions of `{new}` and `{old}` differ: the list has what was asked for when it was recorded"
        ));
    }
    Ok(())
}

/// Whether buffers have bytes in common as those had that they replace.
pub(crate) fn same_overlaps(buffers: &Buffers, with: &Buffers) -> Result<(), Error> {
    for (j, (old_b, new_b)) in buffers.iter().zip(with).enumerate() {
        for (old_a, new_a) in buffers.iter().zip(with).take(j) {
            if share(old_a, old_b) != share(new_a, new_b) {
                let [a, b, old_a, old_b] = [new_a, new_b, old_a, old_b].map(|buffer| buffer.name());
                return refuse(if Arc::ptr_eq(new_a, new_b) {
                    format!(
                        "buffer `{a}` would stand for both `{old_a}` and `{old_b}`, which are different buffers in the list"
                    )
                } else {
                    format!(
                        "buffers `{a}` and `{b}` have other bytes in common than `{old_a}` and `{old_b}` had"
                    )
                });
            }
        }
    }
    Ok(())
}

/// Which bytes two buffers have in common: the distance between their starts, if any.
fn share(a: &BufferInner, b: &BufferInner) -> Option<i128> {
    let (whole_a, whole_b) = (a.touch(0..a.size, true, true), b.touch(0..b.size, true, true));
    let distance = i128::from(whole_a.span.start) - i128::from(whole_b.span.start);
    whole_a.overlaps(&whole_b).then_some(distance)
}

pub(crate) fn refuse<T>(problem: String) -> Result<T, Error> {
    Err(FusionError::Rebind { problem }.into())
}
