//! Bytes of uniform buffers, which may not be written while a dispatch runs.
//!
//! A driver takes them for constant: their reads may move across any store and any barrier, also within one invocation.

/// Read through a uniform buffer.
const READ: u8 = 1;
/// Written through a storage buffer.
const WRITTEN: u8 = 2;

/// What happened to each byte of an object in the present dispatch; empty if no uniform buffer shares it with another
/// binding.
#[derive(Debug, Default)]
pub(super) struct Constants(Vec<u8>);

impl Constants {
    /// Forgets the dispatch before.
    pub(super) fn begin(&mut self, len: usize) {
        self.0.clear();
        self.0.resize(len, 0);
    }

    /// Notes an access. Says whether some byte of it is both read as a constant and written in this dispatch.
    pub(super) fn touch(&mut self, start: usize, width: usize, is_uniform: bool, writes: bool) -> bool {
        let mut changed = false;
        for flags in self.0.iter_mut().skip(start).take(width) {
            *flags |= if is_uniform { READ } else { 0 } | if writes { WRITTEN } else { 0 };
            changed |= *flags == READ | WRITTEN;
        }
        changed
    }
}
