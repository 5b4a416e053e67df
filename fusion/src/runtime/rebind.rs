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

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{
    error::{Error, FusionError},
    jit::Promote,
    runtime::{check, context::ContextInner},
    submission::{buffer::BufferInner, entry::Entry, signature::Buffers},
};

/// What is to be different.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changes<'a> {
    /// Old and new.
    pub(crate) buffers: SmallVec<[(&'a Arc<BufferInner>, &'a Arc<BufferInner>); 2]>,
    /// Push constants of submissions, as bytes.
    pub(crate) pushes: Vec<(usize, SmallVec<[u8; 32]>)>,
}

/// The buffers of a list after changes.
pub(crate) type Exchanged<'a> = SmallVec<[&'a Arc<BufferInner>; 8]>;

/// The promotions that each buffer of a list asked for as the list was recorded.
#[derive(Debug)]
pub(crate) struct Shape {
    asked: Vec<SmallVec<[Promote; 1]>>,
}

impl Shape {
    /// The shape of a list, and its buffers, in order of first use.
    pub(crate) fn of(entries: &[Entry]) -> (Shape, Buffers) {
        let (mut asked, mut buffers): (Vec<SmallVec<[Promote; 1]>>, _) = (Vec::new(), Buffers::new());
        for entry in entries {
            for (position, buffer) in entry.buffers.iter().enumerate() {
                let place = place(&buffers, buffer).unwrap_or_else(|| {
                    buffers.push(buffer.clone());
                    asked.push(SmallVec::new());
                    buffers.len() - 1
                });
                let asked = &mut asked[place];
                asked.extend(entry.asked.get(position).filter(|promote| !asked.contains(promote)).copied());
            }
        }
        (Shape { asked }, buffers)
    }

    /// The buffers after changes of buffers that leave everything else as it is: none over the user's memory, which has
    /// bytes in common with others and starts anywhere. Nothing where it is not as simple as that. Also which are other ones, of the
    /// first 64, as bits.
    pub(crate) fn exchange<'a>(
        &self,
        buffers: &'a Buffers,
        changes: &Changes<'a>,
    ) -> Option<(Exchanged<'a>, u64)> {
        let mut changed = 0;
        let mut with: Exchanged<'_> = match &buffers[..] {
            all @ [first, ..] if all.len() <= 8 => {
                let mut with = SmallVec::from_buf_and_len([first; 8], all.len());
                with.iter_mut().zip(all).for_each(|(with, buffer)| *with = buffer);
                with
            }
            all => all.iter().collect(),
        };
        for (old, new) in &changes.buffers {
            let place = place(buffers, old)?;
            let promote = new.promote();
            let fits = !old.stands_alone()
                && !new.stands_alone()
                && Arc::ptr_eq(&new.device, &old.device)
                && new.size == old.size
                && self.asked[place].iter().all(|asked| *asked == promote);
            if !fits {
                return None;
            }
            with[place] = *new;
            changed |= 1u64.checked_shl(place as u32).unwrap_or(0);
        }
        let is_twice =
            |new: &Arc<BufferInner>| with.iter().filter(|one| Arc::ptr_eq(one, new)).nth(1).is_some();
        changes.buffers.iter().all(|(_, new)| !is_twice(new)).then_some((with, changed))
    }

    /// Applies the changes to a list on these buffers.
    pub(crate) fn apply(
        &self,
        context: &Arc<ContextInner>,
        buffers: &Buffers,
        entries: &mut [Entry],
        changes: &Changes<'_>,
    ) -> Result<(), Error> {
        let (mut with, count) = (buffers.clone(), entries.len());
        for (old, new) in &changes.buffers {
            self.replace(context, (buffers, &mut with), old, new)?;
        }
        for (submission, bytes) in &changes.pushes {
            let push = checked_push(context, entries.get(*submission), (*submission, count), bytes)?;
            entries[*submission].submission.push = SmallVec::from_slice(push);
        }
        same_overlaps(buffers, &with)?;
        for entry in entries {
            // It is not what was asked for any more.
            entry.given = None;
            rebind(entry, buffers, &with);
            check::rebound(context, entry)?;
        }
        Ok(())
    }

    fn replace(
        &self,
        context: &Arc<ContextInner>,
        (buffers, with): (&Buffers, &mut Buffers),
        old: &Arc<BufferInner>,
        new: &Arc<BufferInner>,
    ) -> Result<(), Error> {
        let place = place(buffers, old);
        let views = buffers.iter().enumerate().filter_map(|(number, buffer)| Some((number, buffer.view()?)));
        let views = views.filter(|(_, (viewed, ..))| viewed.handle == old.handle);
        let mut views = views.map(|(number, (_, format, range))| (number, format, range)).peekable();
        if place.is_none() && views.peek().is_none() {
            return refuse(format!("buffer `{}` is not in the list", old.name()));
        }
        if !Arc::ptr_eq(&new.device, &context.device) {
            return refuse(format!("buffer `{}` belongs to another context", new.name()));
        }
        if new.size != old.size {
            let (old_name, new_name) = (old.name(), new.name());
            return refuse(format!(
                "buffer `{new_name}` has {} bytes, and `{old_name}`, which it is to replace, {}",
                new.size, old.size
            ));
        }
        // What sees the old one through a format sees the new one through it.
        for (number, format, range) in views {
            with[number] = new.texels(&mut context.lock().graph, format, range)?;
        }
        let Some(place) = place else { return Ok(()) };
        // What is asked of the old one now does not matter: the list has what it was recorded with.
        let asks = new.promote();
        if self.asked[place].iter().any(|asked| *asked != asks) {
            let (old, new) = (old.name(), new.name());
            return refuse(format!(
                "the promotions of `{new}` and `{old}` differ: the list has what was asked for when it was recorded"
            ));
        }
        with[place] = new.clone();
        Ok(())
    }
}

/// The number of a buffer.
fn place(buffers: &Buffers, buffer: &Arc<BufferInner>) -> Option<usize> {
    // By their places: those that it is not need not be looked at.
    buffers.iter().position(|known| Arc::ptr_eq(known, buffer))
}

fn same_overlaps(buffers: &Buffers, with: &Buffers) -> Result<(), Error> {
    for (j, (old_b, new_b)) in buffers.iter().zip(with).enumerate() {
        for (old_a, new_a) in buffers.iter().zip(with).take(j) {
            if share(old_a, old_b) != share(new_a, new_b) {
                let (a, b) = (new_a.name(), new_b.name());
                return refuse(format!(
                    "buffers `{a}` and `{b}` have other bytes in common than `{}` and `{}` had",
                    old_a.name(),
                    old_b.name()
                ));
            }
        }
    }
    Ok(())
}

fn rebind(entry: &mut Entry, buffers: &Buffers, with: &Buffers) {
    for (position, buffer) in entry.buffers.iter_mut().enumerate() {
        let Some(place) = place(buffers, buffer) else { continue };
        let (old, new) = (&buffers[place], &with[place]);
        let touch = &mut entry.touches[position];
        let Some(range) = old.within(touch.span) else { continue };
        *touch = new.touch(range, touch.reads, touch.writes);
        if let Some(arg) = entry.submission.args.get_mut(position) {
            arg.buffer = new.shared.id.planned();
            arg.offset = touch.span.start;
        }
        *buffer = new.clone();
    }
}

/// Which bytes two buffers have in common: the distance between their starts, if any.
fn share(a: &BufferInner, b: &BufferInner) -> Option<i128> {
    let (whole_a, whole_b) = (a.touch(0..a.size, true, true), b.touch(0..b.size, true, true));
    let distance = i128::from(whole_a.span.start) - i128::from(whole_b.span.start);
    whole_a.overlaps(&whole_b).then_some(distance)
}

/// Of bytes for a submission, those that its kernel takes. It is the one `at` a place of a list of this many.
pub(crate) fn checked_push<'a>(
    context: &ContextInner,
    entry: Option<&Entry>,
    (at, count): (usize, usize),
    bytes: &'a [u8],
) -> Result<&'a [u8], Error> {
    let Some(entry) = entry else {
        return refuse(format!("there is no submission {at} in a list of {count}"));
    };
    let pushed = check::push(context, &entry.submission.kernel, bytes.len())
        .map_err(|problem| Error::submit(&entry.label, problem))?;
    Ok(&bytes[..pushed])
}

fn refuse<T>(problem: String) -> Result<T, Error> {
    Err(FusionError::Rebind { problem }.into())
}
