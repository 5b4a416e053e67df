//! The host's side of a buffer: upload, download, and access in place.
//!
//! Every call here is ordered among the submissions: it waits for pending work on the bytes, and cancels a fusion list
//! that would write them (or, when the host writes, use them at all), which then runs first.

use std::ops::Range;

use bytemuck::Pod;
use smallvec::SmallVec;

use super::Buffer;
use crate::{
    error::{BufferError, Error, Unreadable},
    report::outcome::CancelCause,
    runtime::context::HostHold,
    submission::dependencies::Touch,
    vk::{Command, Point},
};

impl<T: Pod> Buffer<T> {
    /// Copies `data` to the buffer, replacing all elements. Waits for earlier work that uses the buffer.
    ///
    /// # Errors
    ///
    /// Fails if `data` does not have exactly [`len`](Buffer::len) elements, or if the device fails.
    pub fn upload(&self, data: &[T]) -> Result<(), Error> {
        if data.len() != self.len() {
            let (given, len) = (data.len() as u64, self.len() as u64);
            let element = size_of::<T>() as u64;
            return Err(self.inner.error(BufferError::Length { given, len, element }));
        }
        self.upload_at(0, data)
    }

    /// Copies `data` to the elements from `offset` on. Waits for earlier work that uses them.
    ///
    /// # Errors
    ///
    /// Fails if the range is outside of the buffer, or if the device fails.
    pub fn upload_at(&self, offset: usize, data: &[T]) -> Result<(), Error> {
        let range = self.byte_range(offset..offset.saturating_add(data.len()))?;
        if range.is_empty() {
            return Ok(());
        }
        let (hold, points) = self.hold(range.clone(), CancelCause::HostWrite)?;
        self.write_bytes(&hold, range, bytemuck::cast_slice(data), &points)
    }

    /// Copies all elements to the host. Waits for earlier work that writes the buffer.
    ///
    /// # Errors
    ///
    /// Fails if a fused kernel has kept newer contents of the buffer to itself (the buffer is promoted), or if the device fails.
    pub fn download(&self) -> Result<Vec<T>, Error> {
        self.download_range(0..self.len())
    }

    /// Copies a range of elements to the host. Waits for earlier work that writes them.
    ///
    /// # Errors
    ///
    /// As [`download`](Buffer::download), and if the range is outside of the buffer.
    pub fn download_range(&self, elements: Range<usize>) -> Result<Vec<T>, Error> {
        let range = self.byte_range(elements.clone())?;
        let mut out = vec![T::zeroed(); elements.len()];
        if !range.is_empty() {
            let (hold, points) = self.hold(range.clone(), CancelCause::HostRead)?;
            self.inner.check_readable(&range)?;
            self.read_bytes(&hold, range, bytemuck::cast_slice_mut(&mut out), &points)?;
        }
        Ok(out)
    }

    /// Copies all elements as they are in device memory, even if a fused kernel has kept newer contents to itself. Tests use this to see what
    /// was written to memory.
    ///
    /// # Errors
    ///
    /// Fails if the device fails.
    pub fn download_stale(&self) -> Result<Vec<T>, Error> {
        let range = self.elements();
        let mut out = vec![T::zeroed(); self.len()];
        let (hold, points) = self.hold(range.clone(), CancelCause::HostRead)?;
        self.read_bytes(&hold, range, bytemuck::cast_slice_mut(&mut out), &points)?;
        Ok(out)
    }

    /// Sets all elements to one value.
    ///
    /// # Errors
    ///
    /// The device failed.
    pub fn fill(&self, value: T) -> Result<(), Error> {
        let range = self.elements();
        let Some((word, len)) = repeated_word(bytemuck::bytes_of(&value)).zip(self.inner.words(0, range.end))
        else {
            return self.upload(&vec![value; self.len()]);
        };
        let touch = self.inner.touch(range.clone(), false, true);
        let mut schedule = self.context.observe(
            std::slice::from_ref(&touch),
            std::iter::once(&*self.inner),
            None,
            Touch::conflicts,
            CancelCause::HostWrite,
        )?;
        let dst = self.inner.to_overwrite(&mut schedule.deps, &range)?.clone();
        let fill = Command::Fill { dst, offset: 0, len, word };
        self.context.transfer(&mut schedule.deps, 0, &self.inner.name(), &[fill], &[touch])?;
        self.inner.overwritten(range);
        Ok(())
    }

    /// Runs `f` on all elements. Work that would write them waits until it is done.
    ///
    /// # Errors
    ///
    /// As [`download`](Buffer::download).
    pub fn host_read<R>(&self, f: impl FnOnce(&[T]) -> R) -> Result<R, Error> {
        let range = self.elements();
        let (hold, points) = self.hold(range.clone(), CancelCause::HostRead)?;
        self.inner.check_readable(&range)?;
        let mut data = vec![T::zeroed(); self.len()];
        self.read_bytes(&hold, range, bytemuck::cast_slice_mut(&mut data), &points)?;
        Ok(f(&data))
    }

    /// Runs `f` on all elements and writes back what it leaves. Work that uses them waits until it is done.
    ///
    /// The elements given are those in memory: after an internalization they are the older ones.
    ///
    /// # Errors
    ///
    /// The device failed.
    pub fn host_write<R>(&self, f: impl FnOnce(&mut [T]) -> R) -> Result<R, Error> {
        let range = self.elements();
        let (hold, points) = self.hold(range.clone(), CancelCause::HostWrite)?;
        let mut data = vec![T::zeroed(); self.len()];
        self.read_bytes(&hold, range.clone(), bytemuck::cast_slice_mut(&mut data), &points)?;
        let result = f(&mut data);
        self.write_bytes(&hold, range, bytemuck::cast_slice(&data), &[])?;
        Ok(result)
    }

    /// The bytes of all elements: an imported buffer may have a few more.
    fn elements(&self) -> Range<u64> {
        0..self.len() as u64 * size_of::<T>() as u64
    }

    pub(crate) fn byte_range(&self, elements: Range<usize>) -> Result<Range<u64>, Error> {
        let Range { start, end } = elements;
        let (offset, len) = (start as u64, self.len() as u64);
        let count =
            end.checked_sub(start).ok_or_else(|| self.inner.error(BufferError::Reversed { start, end }))?
                as u64;
        if end as u64 > len {
            return Err(self.inner.error(BufferError::OutOfRange { offset, count, len }));
        }
        let element = size_of::<T>() as u64;
        Ok(offset * element..end as u64 * element)
    }

    /// Keeps the range for the host until the hold is dropped; with the points to wait for first.
    pub(crate) fn hold(
        &self,
        range: Range<u64>,
        cause: CancelCause,
    ) -> Result<(HostHold, SmallVec<[Point; 4]>), Error> {
        let writes = cause == CancelCause::HostWrite;
        let touch = self.inner.touch(range, !writes, writes);
        self.context.hold(&self.inner, touch, cause)
    }

    pub(crate) fn read_bytes(
        &self,
        _: &HostHold,
        range: Range<u64>,
        out: &mut [u8],
        points: &[Point],
    ) -> Result<(), Error> {
        let context = &self.context;
        let lane = points.first().map_or(0, |point| point.queue);
        let memory = self.inner.allocate()?;
        Ok(context.gpu.queue(lane as usize)?.download(memory, range.start, out, points)?)
    }

    pub(crate) fn write_bytes(
        &self,
        _: &HostHold,
        range: Range<u64>,
        bytes: &[u8],
        points: &[Point],
    ) -> Result<(), Error> {
        let context = &self.context;
        let lane = points.first().map_or(0, |point| point.queue);
        let memory = self.inner.allocate()?;
        let queue = context.gpu.queue(lane as usize)?;
        let touch = self.inner.touch(range.clone(), false, true);
        let span = self.inner.span(range.clone());
        // The host's own writes are no work in the dependency graph where memory is mapped, so they forget here what they write.
        context.lock().deps.forget(&touch);
        let point = queue.upload(memory, range.start, bytes, points).map_err(|failure| {
            if failure.began {
                self.inner.lost(span, Unreadable::Failed);
            }
            failure.error
        })?;
        let mut schedule = context.lock();
        if point.value != 0 {
            schedule.deps.add_ordered(point, &self.inner.name(), &touch);
        }
        // Nothing else may have written these bytes since: the hold excludes it.
        if self.inner.is_small() {
            schedule.deps.know(&self.inner.shared, span.start, bytes);
        }
        drop(schedule);
        self.inner.written(span);
        Ok(())
    }
}

/// The 4-byte word whose repetition gives the same bytes as the value's repetition, if there is one.
pub(crate) fn repeated_word(value: &[u8]) -> Option<u32> {
    let word: [u8; 4] = match value {
        [a] => [*a; 4],
        [a, b] => [*a, *b, *a, *b],
        _ if !value.is_empty() && value.len().is_multiple_of(4) => value[..4].try_into().ok()?,
        _ => return None,
    };
    value.chunks(4).all(|chunk| chunk == &word[..chunk.len()]).then(|| u32::from_ne_bytes(word))
}
