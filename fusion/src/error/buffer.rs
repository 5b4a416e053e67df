//! What is wrong with a use of a buffer.

use std::fmt;

use thiserror::Error;

use crate::jit::ElementType;

/// Why a buffer's memory does not hold what was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreadable {
    /// A fused kernel kept the contents in registers or shared memory, as asked.
    Internalized,
    /// The work that should have written it failed.
    Failed,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unreadable::Internalized => {
                "whose contents a fused kernel kept to itself (it was promoted, so nothing was written to memory); write to it first, or do not promote it"
            }
            Unreadable::Failed => "which holds nothing valid, because the work that writes it failed; write to it first",
        })
    }
}

/// What is wrong with a use of a buffer by the host or by a command.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BufferError {
    /// A read of what is not there.
    #[error("this is a buffer {0}")]
    Unreadable(Unreadable),
    /// A range outside the buffer.
    #[error("{} its {len} elements", outside(*.offset, *.count))]
    OutOfRange {
        /// First element asked for.
        offset: u64,
        /// Number of elements asked for.
        count: u64,
        /// Number of elements there are.
        len: u64,
    },
    /// A range that ends before it starts.
    #[error(
        "the range {start}..{end} ends before it starts; {end} elements from {start} on are {start}..{}",
        start.saturating_add(*end)
    )]
    Reversed {
        /// First element asked for.
        start: usize,
        /// The element that was to be the first after the range.
        end: usize,
    },
    /// An image or a sampler where a buffer is needed.
    #[error("it is an image or a sampler, not a buffer")]
    Texture,
    /// As many elements are needed as the buffer or accessor has.
    #[error("it takes {}, and got {}", elements(*.len, *.element), elements(*.given, *.element))]
    Length {
        /// Elements given.
        given: u64,
        /// Elements there are.
        len: u64,
        /// Bytes of an element.
        element: u64,
    },
    /// A fill of bytes that are no whole number of values.
    #[error("{len} bytes are no whole number of values of {value} bytes")]
    NotWhole {
        /// Bytes to be filled.
        len: u64,
        /// Bytes of the value.
        value: u64,
    },
    /// Values that are others than the buffer's elements: floats and integers, or of another size.
    #[error(
        "it has elements of {declared}, and the value is {given}; convert it or, where its bytes are meant, say so with `cast` on the accessor"
    )]
    ElementType {
        /// The buffer's elements.
        declared: ElementType,
        /// The value's type.
        given: ElementType,
    },
    /// The source and the destination of a copy, exchanged.
    #[error(
        "the source is passed as `write`, and the destination, buffer `{dst}`, as `read`; the order is `copy(source.read(), destination.write())`"
    )]
    CopyReversed {
        /// The name of the buffer that was passed as the destination.
        dst: Box<str>,
    },
    /// A command that reads what was passed as `write`.
    #[error("{command} reads it, and its accessor is `write`; use `read`")]
    ReadThroughWrite {
        /// Which command.
        command: &'static str,
    },
    /// A command that writes what was passed as `read`.
    #[error("{command} writes it, and its accessor is `read`; use `write`")]
    WriteThroughRead {
        /// Which command.
        command: &'static str,
    },
    /// A copy between ranges of different size.
    #[error("a copy of {src} bytes into {dst} bytes")]
    CopyLength {
        /// Bytes at the source.
        src: u64,
        /// Bytes at the destination.
        dst: u64,
    },
    /// A copy within overlapping ranges.
    #[error("source and destination of the copy overlap")]
    CopyOverlap,
    /// A command whose byte range is not a multiple of what the device copies or fills by.
    #[error("{what} of bytes {offset}..{end}: both ends must be multiples of 4", end = offset + len)]
    Misaligned {
        /// Which command.
        what: &'static str,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        len: u64,
    },
    /// A command on a buffer that the host is reading or writing at this moment, from the same thread.
    #[error("it is in use by the host access or host task that this call was made from")]
    HostAccess,
    /// A buffer that a host task did not list.
    #[error("the host task did not list it; pass an accessor on it")]
    NotListed,
    /// A buffer that a host task listed with several ranges, where one was needed.
    #[error("the host task listed several ranges of it; say which with `read_range` or `write_range`")]
    SeveralRanges,
    /// A write to a buffer that a host task only listed to read.
    #[error("the host task listed it to read; pass a `write` or `read_write` accessor")]
    NotWritable,
    /// The address of a buffer on a device that has no such addresses.
    #[error("the device has no buffer addresses (`bufferDeviceAddress`)")]
    NoAddress,
    /// An import that shares bytes with several buffers that were imported as different memories.
    #[error(
        "it shares memory with several buffers that share none with each other; import it before the second of them"
    )]
    JoinsMemories,
    /// A buffer of another context.
    #[error(
        "it belongs to another context; make it with the context of this queue, or copy its elements by `download` and `upload`"
    )]
    Foreign,
    /// More bytes than can be addressed.
    #[error("its size in bytes does not fit the host's address space")]
    TooLarge,
}

/// A range that is not there, up to the name of what has none such. A range that leaves the one that it was taken from counts as endless.
pub(super) fn outside(offset: u64, count: u64) -> String {
    match count {
        0 => format!("the range is empty, from element {offset} on, in"),
        u64::MAX => {
            format!(
                "the range from element {offset} on leaves the accessor that it was taken from, or begins inside of an element, in"
            )
        }
        _ => format!("elements {offset}..{} are outside", offset.saturating_add(count)),
    }
}

/// A number of elements, with their bytes.
fn elements(count: u64, element: u64) -> String {
    let (plural, bytes) = (if count == 1 { "" } else { "s" }, count.saturating_mul(element));
    match element {
        1 => format!("{count} byte{plural}"),
        _ => format!("{count} element{plural} ({bytes} bytes)"),
    }
}
