//! Host bytes to device memory and back.
//!
//! Where the host reaches the memory, bytes are copied in place. Elsewhere they go through staging memory: a few
//! mapped chunks that are used again as soon as the submission that used them is complete, which shows in no one but
//! the pool holding them.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use parking_lot::Mutex;

use crate::vk::{Barrier, Command, DeviceError, Gpu, GpuQueue, Memory, MemoryKind, Point};

/// Bytes of one staging chunk.
const CHUNK: usize = 8 << 20;

/// Chunks of each kind that are kept.
const MAX_CHUNKS: usize = 8;

/// Up to this many bytes travel inside the command buffer, which needs no staging memory.
const MAX_INLINE: usize = 4096;

/// Reads in flight while an earlier one is copied out.
const READS_AHEAD: usize = 2;

/// The staging chunks of a device.
#[derive(Debug, Default)]
pub(in crate::vk) struct Staging {
    upload: Mutex<Vec<Arc<Memory>>>,
    readback: Mutex<Vec<Arc<Memory>>>,
}

impl Staging {
    fn pool(&self, kind: MemoryKind) -> &Mutex<Vec<Arc<Memory>>> {
        match kind {
            MemoryKind::Readback => &self.readback,
            MemoryKind::Upload | MemoryKind::Device | MemoryKind::Passed => &self.upload,
        }
    }

    /// A chunk that nothing pending uses, and how many chunks are known.
    fn idle(&self, kind: MemoryKind) -> (Option<Arc<Memory>>, usize) {
        let mut pool = self.pool(kind).lock();
        let known = pool.len();
        // Exclusive means that no frame keeps it any more.
        let at = pool.iter_mut().position(|chunk| Arc::get_mut(chunk).is_some());
        (at.map(|at| pool.swap_remove(at)), known)
    }

    /// Hands a chunk back, which a submission may still use.
    fn give_back(&self, kind: MemoryKind, chunk: Arc<Memory>) {
        let mut pool = self.pool(kind).lock();
        if pool.len() < MAX_CHUNKS {
            pool.push(chunk);
        }
    }
}

/// An upload that failed.
#[derive(Debug)]
pub(crate) struct UploadFailure {
    pub(crate) error: DeviceError,
    /// Whether some of the bytes were written.
    pub(crate) began: bool,
}

impl From<DeviceError> for UploadFailure {
    fn from(error: DeviceError) -> UploadFailure {
        UploadFailure { error, began: false }
    }
}

impl GpuQueue<'_> {
    /// Writes host bytes into memory once `waits` are reached. The bytes are taken before this returns.
    ///
    /// Where the host reaches the memory this waits, writes, and returns a point of value 0; the range must not be in
    /// use by anything submitted that is not in `waits`. Elsewhere it submits copies that order themselves (with
    /// barriers) after all earlier and before all later work of this queue; work on other queues must wait for the
    /// point. After an error the range holds what it held, unless the failure says that it began; then everything that was
    /// begun is complete.
    pub(crate) fn upload(
        &self,
        memory: &Arc<Memory>,
        offset: u64,
        bytes: &[u8],
        waits: &[Point],
    ) -> Result<Point, UploadFailure> {
        self.check_transfer("upload", memory, offset, bytes.len())?;
        let mut point = Point { queue: self.index, value: 0 };
        if bytes.is_empty() || memory.is_host_visible() {
            self.gpu.wait_all(waits, None)?;
            memory.write_mapped(offset, bytes);
            return Ok(point);
        }
        let whole_words = memory.words(offset, bytes.len() as u64) == Some(bytes.len() as u64);
        if bytes.len() <= MAX_INLINE && whole_words {
            let update = Command::Update { dst: memory.clone(), offset, bytes: bytes.into() };
            let full = || Command::Barrier(Barrier::Full);
            return Ok(self.submit(&[full(), update, full()], waits, false)?.point);
        }
        for piece in pieces(bytes.len()) {
            let (began, start) = (piece.start > 0, point);
            let failed = |error| {
                // No one is notified of the pieces before, so no one else would come after them.
                if began && let Err(error) = self.gpu.wait(start, None) {
                    tracing::error!(%error, "an upload that failed may still be running");
                }
                UploadFailure { error, began }
            };
            let chunk = self.chunk(MemoryKind::Upload).map_err(failed)?;
            chunk.write_mapped(0, &bytes[piece.clone()]);
            let copy = Command::Copy {
                src: chunk.clone(),
                src_offset: 0,
                dst: memory.clone(),
                dst_offset: offset + piece.start as u64,
                len: piece.len() as u64,
            };
            // The barrier of the first orders all of them after earlier work, that of the last before later work.
            let first = (piece.start == 0).then_some(Command::Barrier(Barrier::Full));
            let last = (piece.end == bytes.len()).then_some(Command::Barrier(Barrier::Full));
            let commands: Vec<Command> = first.into_iter().chain([copy]).chain(last).collect();
            let waits = if piece.start == 0 { waits } else { &[] };
            let submitted = self.submit(&commands, waits, false);
            self.gpu.0.staging.give_back(MemoryKind::Upload, chunk);
            point = submitted.map_err(failed)?.point;
        }
        Ok(point)
    }

    /// Reads memory back once `waits` are reached; blocks until the bytes are there. Work that writes the range must
    /// be in `waits`.
    pub(crate) fn download(
        &self,
        memory: &Arc<Memory>,
        offset: u64,
        out: &mut [u8],
        waits: &[Point],
    ) -> Result<(), DeviceError> {
        self.check_transfer("download", memory, offset, out.len())?;
        if out.is_empty() || memory.is_host_cached() {
            // Every submission that writes memory the host can reach ends by making it visible to the host.
            self.gpu.wait_all(waits, None)?;
            memory.read_mapped(offset, out);
            return Ok(());
        }
        let mut ahead: VecDeque<(Point, Arc<Memory>, Range<usize>)> = VecDeque::new();
        for piece in pieces(out.len()) {
            if ahead.len() == READS_AHEAD {
                self.finish_read(&mut ahead, out)?;
            }
            let chunk = self.chunk(MemoryKind::Readback)?;
            let copy = Command::Copy {
                src: memory.clone(),
                src_offset: offset + piece.start as u64,
                dst: chunk.clone(),
                dst_offset: 0,
                len: piece.len() as u64,
            };
            let first = (piece.start == 0).then_some(Command::Barrier(Barrier::Full));
            let commands: Vec<Command> = first.into_iter().chain([copy]).collect();
            let waits = if piece.start == 0 { waits } else { &[] };
            let submitted = self.submit(&commands, waits, false)?;
            ahead.push_back((submitted.point, chunk, piece));
        }
        while !ahead.is_empty() {
            self.finish_read(&mut ahead, out)?;
        }
        Ok(())
    }

    fn finish_read(
        &self,
        ahead: &mut VecDeque<(Point, Arc<Memory>, Range<usize>)>,
        out: &mut [u8],
    ) -> Result<(), DeviceError> {
        if let Some((point, chunk, piece)) = ahead.pop_front() {
            self.gpu.wait(point, None)?;
            chunk.read_mapped(0, &mut out[piece]);
            self.gpu.0.staging.give_back(MemoryKind::Readback, chunk);
        }
        Ok(())
    }

    fn check_transfer(
        &self,
        what: &'static str,
        memory: &Memory,
        offset: u64,
        len: usize,
    ) -> Result<(), DeviceError> {
        if self.gpu.is_lost() {
            return Err(DeviceError::Lost);
        }
        if !memory.belongs_to(self.gpu.0.id) {
            return Err(DeviceError::Foreign { what: "memory object" });
        }
        memory.check(what, offset, len as u64)
    }

    /// A staging chunk no one uses. Waits for this queue where enough are in use already.
    fn chunk(&self, kind: MemoryKind) -> Result<Arc<Memory>, DeviceError> {
        let gpu = self.gpu;
        let _ = gpu.0.queues[self.index as usize].collect(&gpu.0);
        let (idle, known) = gpu.0.staging.idle(kind);
        if let Some(chunk) = idle {
            return Ok(chunk);
        }
        if known >= MAX_CHUNKS {
            gpu.wait(self.last(), None)?;
            if let (Some(chunk), _) = gpu.0.staging.idle(kind) {
                return Ok(chunk);
            }
        }
        gpu.allocate(CHUNK as u64, kind)
    }
}

/// `0..len` in pieces of a chunk.
fn pieces(len: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len).step_by(CHUNK).map(move |start| start..len.min(start + CHUNK))
}

impl Gpu {
    /// Bytes of one staging chunk, for tests that want to go over it.
    #[cfg(test)]
    pub(in crate::vk) const STAGING_CHUNK: usize = CHUNK;
}
