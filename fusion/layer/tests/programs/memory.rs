//! Memory, buffers in it, and which accesses of them are in each other's way.

use crate::world::World;
use ash::vk;

/// A source of numbers.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// Whether it is true one time out of these.
    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Places of buffers, and of ranges in them, are multiples of this.
pub(crate) const STEP: u64 = 256;

/// An allocation that is mapped.
pub(crate) struct Memory {
    pub(crate) handle: vk::DeviceMemory,
    data: *mut u8,
    pub(crate) size: u64,
}

/// A buffer: in which memory, and where.
#[derive(Clone, Copy)]
pub(crate) struct Buffer {
    pub(crate) handle: vk::Buffer,
    pub(crate) memory: usize,
    pub(crate) at: u64,
    pub(crate) size: u64,
}

/// A part of a buffer, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub(crate) buffer: usize,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// Bytes of a memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    memory: usize,
    from: u64,
    to: u64,
}

impl Span {
    pub(crate) fn meets(&self, other: &Span) -> bool {
        self.memory == other.memory && self.from < other.to && other.from < self.to
    }

    /// Whether equal elements of both are the same bytes.
    pub(crate) fn is_along(&self, other: &Span) -> bool {
        self.memory == other.memory && self.from == other.from
    }
}

impl Memory {
    pub(crate) fn new(world: &World, size: u64, rng: &mut Rng) -> Memory {
        let info = vk::MemoryAllocateInfo::default().allocation_size(size).memory_type_index(world.kind);
        let none = vk::MemoryMapFlags::empty();
        let (handle, data) = unsafe {
            let memory = world.device.allocate_memory(&info, None).expect("memory");
            (memory, world.device.map_memory(memory, 0, vk::WHOLE_SIZE, none).expect("it is mapped"))
        };
        let memory = Memory { handle, data: data.cast(), size };
        memory.fill(0, size, rng);
        memory
    }

    /// Writes random words, while nothing is in flight.
    pub(crate) fn fill(&self, from: u64, to: u64, rng: &mut Rng) {
        for at in (from / 4..to.min(self.size) / 4).map(|word| 4 * word as usize) {
            let word = (rng.next() as u32).to_ne_bytes();
            // SAFETY: the memory is mapped, and `at` is inside.
            unsafe { std::ptr::copy_nonoverlapping(word.as_ptr(), self.data.add(at), 4) };
        }
    }

    pub(crate) fn write(&self, bytes: &[u8]) {
        assert!(bytes.len() as u64 <= self.size);
        // SAFETY: the memory is mapped, and has as much room.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.data, bytes.len()) };
    }

    /// All bytes, while nothing is in flight.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the memory is mapped, and as large.
        unsafe { std::slice::from_raw_parts(self.data, self.size as usize) }
    }

    pub(crate) fn buffer(&self, world: &World, memory: usize, at: u64, size: u64) -> Buffer {
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::UNIFORM_BUFFER
            | vk::BufferUsageFlags::INDIRECT_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
        let info = vk::BufferCreateInfo::default().size(size).usage(usage);
        let handle = unsafe { world.device.create_buffer(&info, None).expect("a buffer") };
        let needs = unsafe { world.device.get_buffer_memory_requirements(handle) };
        assert!(STEP.is_multiple_of(needs.alignment) && at.is_multiple_of(STEP));
        assert!(at + needs.size <= self.size);
        unsafe { world.device.bind_buffer_memory(handle, self.handle, at).expect("it is bound") };
        Buffer { handle, memory, at, size }
    }
}

/// What was accessed since the latest barrier.
#[derive(Default)]
pub(crate) struct Accesses(Vec<(Span, bool)>);

impl Accesses {
    /// Whether a barrier has to stand in front of these.
    pub(crate) fn are_in_the_way(&self, new: &[(Span, bool)]) -> bool {
        let conflict = |(a, is_a): &(Span, bool), (b, is_b): &(Span, bool)| (*is_a || *is_b) && a.meets(b);
        new.iter().any(|one| self.0.iter().any(|other| conflict(one, other)))
    }

    pub(crate) fn add(&mut self, new: &[(Span, bool)]) {
        self.0.extend_from_slice(new);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The bytes of a part.
pub(crate) fn span(buffers: &[Buffer], range: &Range) -> Span {
    let of = &buffers[range.buffer];
    Span { memory: of.memory, from: of.at + range.offset, to: of.at + range.offset + range.size }
}

/// A hash of bytes (FNV).
pub(crate) fn hash(bytes: &[u8], seed: u64) -> u64 {
    bytes.iter().fold(seed ^ 0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    })
}
