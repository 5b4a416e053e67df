//! Commands besides kernels: copy, fill, update.
//!
//! They run at once, also in fusion mode; one that touches a buffer of a listed kernel ends that list first.

use std::{ops::Range, sync::Arc};

use bytemuck::{NoUninit, Pod};
use smallvec::SmallVec;

use super::Queue;
use crate::{
    api::buffer::repeated_word,
    error::{BufferError, Error},
    jit::ElementType,
    report::outcome::CancelCause,
    runtime::event::{Done, Event, EventInner},
    submission::{
        accessor::{Access, Accessor},
        buffer::BufferInner,
        dependencies::{Dependencies, Touch},
        element::element_type,
    },
    vk::{Command, Memory},
};

/// How many bytes one update command carries at most.
const UPDATE: usize = 65_536;

/// A part of a buffer in bytes, checked.
struct Part {
    buffer: Arc<BufferInner>,
    offset: u64,
    len: u64,
}

impl Part {
    fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.len
    }

    /// The memory of a part that a command overwrites.
    fn to_overwrite(&self, deps: &mut Dependencies) -> Result<Arc<Memory>, Error> {
        self.buffer.to_overwrite(deps, &self.range()).cloned()
    }

    fn touch(&self, reads: bool) -> Touch {
        self.buffer.touch(self.range(), reads, !reads)
    }
}

/// What a command leaves in the range that it writes.
enum Left<'a> {
    /// A word, again and again.
    Word(u32),
    Bytes(&'a [u8]),
    /// What another range holds.
    Copy(&'a Part),
}

impl Left<'_> {
    /// What the range that is written holds once the command has run, as far as that is known: it may be numbers that indices
    /// depend on, as what the host writes.
    fn contents(&self, dst: &Part, deps: &Dependencies) -> Option<Vec<u8>> {
        if !dst.buffer.is_small() {
            return None;
        }
        let len = dst.len as usize;
        match self {
            Left::Word(word) => Some(word.to_ne_bytes().into_iter().cycle().take(len).collect()),
            Left::Bytes(bytes) => Some(bytes.to_vec()),
            // Imported memory, and memory whose address is known to the program, may have other writers.
            Left::Copy(src) if src.buffer.imported || src.buffer.is_addressed() => None,
            Left::Copy(src) => {
                let at = src.buffer.span(src.range()).start;
                Some(deps.holds(&src.buffer.shared, at)?.get(..len)?.to_vec())
            }
        }
    }
}

/// Whether values of `T` are what an accessor's elements are made of. Bytes may be anything.
fn same_type<T: 'static>(accessor: &Accessor<'_>) -> Result<(), Error> {
    let (declared, given) = (accessor.ty, element_type::<T>());
    match (declared, given) {
        (ElementType::Scalars { scalar, .. }, ElementType::Scalars { scalar: other, .. })
            if scalar != other =>
        {
            Err(accessor.buffer.error(BufferError::ElementType { declared, given }))
        }
        _ => Ok(()),
    }
}

impl Queue {
    /// Copies bytes from one buffer to another, or within one.
    ///
    /// # Errors
    ///
    /// A source that is not passed to be read, or a destination not to be written; ranges of different length, outside their buffers, or
    /// overlapping; a source that holds nothing readable; the device.
    pub fn copy<'a, 'b>(
        &self,
        src: impl Into<Accessor<'a>>,
        dst: impl Into<Accessor<'b>>,
    ) -> Result<Event, Error> {
        let (src, dst) = (src.into(), dst.into());
        if src.access == Access::Write && !dst.access.may_write() {
            return Err(src.buffer.error(BufferError::CopyReversed { dst: (&*dst.buffer.name()).into() }));
        }
        let (src, dst) = (self.source(src, "a copy")?, self.destination(dst, "a copy")?);
        if src.len != dst.len {
            return Err(dst.buffer.error(BufferError::CopyLength { src: src.len, dst: dst.len }));
        }
        let touches = [src.touch(true), dst.touch(false)];
        if touches[0].overlaps(&touches[1]) {
            return Err(dst.buffer.error(BufferError::CopyOverlap));
        }
        self.command(&[&src], &dst, &touches, Left::Copy(&src), |schedule| {
            let from = src.buffer.memory(&mut schedule.deps)?.clone();
            let to = dst.to_overwrite(&mut schedule.deps)?;
            let copy = Command::Copy {
                src: from,
                src_offset: src.offset,
                dst: to,
                dst_offset: dst.offset,
                len: src.len,
            };
            Ok(SmallVec::from_iter([copy]))
        })
    }

    /// Sets every element to one value.
    ///
    /// # Errors
    ///
    /// An accessor that is not to be written; a value of another type than the accessor's elements; a range outside the buffer or not a
    /// whole number of values; the device.
    pub fn fill<'a, T: Pod>(&self, dst: impl Into<Accessor<'a>>, value: T) -> Result<Event, Error> {
        let dst = dst.into();
        same_type::<T>(&dst)?;
        let dst = self.destination(dst, "a fill")?;
        let value = bytemuck::bytes_of(&value);
        if value.is_empty() || !dst.len.is_multiple_of(value.len() as u64) {
            return Err(dst.buffer.error(BufferError::NotWhole { len: dst.len, value: value.len() as u64 }));
        }
        match repeated_word(value).zip(dst.buffer.words(dst.offset, dst.len)) {
            Some((word, len)) => {
                let touches = [dst.touch(false)];
                self.command(&[], &dst, &touches, Left::Word(word), |schedule| {
                    let to = dst.to_overwrite(&mut schedule.deps)?;
                    Ok(SmallVec::from_iter([Command::Fill { dst: to, offset: dst.offset, len, word }]))
                })
            }
            _ => self.write(&dst, &value.repeat((dst.len / value.len() as u64) as usize)),
        }
    }

    /// Replaces elements by data given now.
    ///
    /// # Errors
    ///
    /// An accessor that is not to be written; data of another type than its elements, or not exactly as many bytes; a range outside the
    /// buffer; the device.
    pub fn update<'a, T: NoUninit>(&self, dst: impl Into<Accessor<'a>>, data: &[T]) -> Result<Event, Error> {
        let dst = dst.into();
        same_type::<T>(&dst)?;
        let element = dst.element;
        let dst = self.destination(dst, "an update")?;
        let bytes: &[u8] = bytemuck::cast_slice(data);
        let given = bytes.len() as u64;
        if given != dst.len {
            let element = if given.is_multiple_of(element) { element } else { 1 };
            let (given, len) = (given / element, dst.len / element);
            return Err(dst.buffer.error(BufferError::Length { given, len, element }));
        }
        self.write(&dst, bytes)
    }

    /// Writes bytes: carried in the command where they are few and whole words, otherwise through memory of their own.
    fn write(&self, dst: &Part, bytes: &[u8]) -> Result<Event, Error> {
        let touches = [dst.touch(false)];
        let whole = dst.buffer.words(dst.offset, dst.len) == Some(dst.len);
        if whole && bytes.len() <= 4 * UPDATE {
            return self.command(&[], dst, &touches, Left::Bytes(bytes), |schedule| {
                let to = dst.to_overwrite(&mut schedule.deps)?;
                let chunk = |(number, bytes): (usize, &[u8])| {
                    let offset = dst.offset + (number * UPDATE) as u64;
                    Command::Update { dst: to.clone(), offset, bytes: Arc::from(bytes) }
                };
                Ok(bytes.chunks(UPDATE).enumerate().map(chunk).collect())
            });
        }
        let staging = BufferInner::new(&self.inner.context.device, dst.len);
        let staging = crate::Buffer::<u8>::over(&self.inner.context, staging);
        staging.inner.allocate()?;
        staging.upload(bytes)?;
        let src = Part { buffer: Arc::clone(&staging.inner), offset: 0, len: dst.len };
        let touches = [src.touch(true), dst.touch(false)];
        self.command(&[&src], dst, &touches, Left::Bytes(bytes), |schedule| {
            let from = src.buffer.memory(&mut schedule.deps)?.clone();
            let to = dst.to_overwrite(&mut schedule.deps)?;
            let copy =
                Command::Copy { src: from, src_offset: 0, dst: to, dst_offset: dst.offset, len: dst.len };
            Ok(SmallVec::from_iter([copy]))
        })
    }

    /// What a command reads.
    fn source(&self, accessor: Accessor<'_>, command: &'static str) -> Result<Part, Error> {
        if accessor.access == Access::Write {
            return Err(accessor.buffer.error(BufferError::ReadThroughWrite { command }));
        }
        self.part(accessor)
    }

    /// What a command writes.
    fn destination(&self, accessor: Accessor<'_>, command: &'static str) -> Result<Part, Error> {
        if !accessor.access.may_write() {
            return Err(accessor.buffer.error(BufferError::WriteThroughRead { command }));
        }
        self.part(accessor)
    }

    fn part(&self, accessor: Accessor<'_>) -> Result<Part, Error> {
        let range = accessor.checked(&self.inner.context.device)?;
        Ok(Part { buffer: accessor.buffer.into_inner(), offset: range.start, len: range.end - range.start })
    }

    fn command(
        &self,
        reads: &[&Part],
        dst: &Part,
        touches: &[Touch],
        left: Left<'_>,
        commands: impl FnOnce(&mut crate::runtime::schedule::Schedule) -> Result<SmallVec<[Command; 4]>, Error>,
    ) -> Result<Event, Error> {
        let context = &self.inner.context;
        let buffers = reads.iter().copied().chain([dst]).map(|part| &part.buffer);
        context.gpu.wait_for_room(self.inner.lane);
        let mut schedule = context.observe(touches, buffers, None, Touch::overlaps, CancelCause::Command)?;
        for part in reads {
            part.buffer.check_readable(&part.range())?;
        }
        let commands = commands(&mut schedule)?;
        let lane = self.inner.lane;
        let contents = left.contents(dst, &schedule.deps);
        // Puts the command in force, which ends what was known of the range.
        let submitted = context.transfer(&mut schedule.deps, lane, &dst.buffer.name(), &commands, touches)?;
        if let Some(contents) = contents {
            schedule.deps.know(&dst.buffer.shared, dst.buffer.span(dst.range()).start, &contents);
        }
        dst.buffer.overwritten(dst.range());
        self.inner.past.lock().ran(submitted.point);
        Ok(EventInner::done(&self.inner.origin, Done::Gpu(submitted)))
    }
}
