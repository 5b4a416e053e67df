//! The types of the values that are pushed, for comparing them with those of a kernel's block.
//!
//! # Guarantees
//! - a scalar, or an array of up to four, is known by its kind and size in each of the first [`BYTES`] bytes
//! - everything else is only known to be a value and no mere bytes

use bytemuck::NoUninit;

use crate::{
    jit::{ElementType, MemoryScalar, PushLayout, PushMember, ScalarClass},
    submission::element::element_type,
};

/// How many bytes of push constants have a known type: a digit of four bits for each word.
const BYTES: usize = 64;

/// The digit of a value that is no scalar.
const OTHER: u64 = 8;

/// The types of what was pushed, by word of push constants. Bytes have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Pushed(u64);

/// A scalar that is not what the block has in its place.
pub(crate) struct Misfit {
    pub(crate) offset: u32,
    pub(crate) declared: &'static str,
    pub(crate) pushed: &'static str,
}

/// The digit of a scalar, which is also its place among the [`NAMES`].
fn digit(scalar: MemoryScalar) -> u64 {
    match scalar {
        MemoryScalar::Float(2) => 1,
        MemoryScalar::Float(4) => 2,
        MemoryScalar::Float(8) => 3,
        MemoryScalar::Int(1) => 4,
        MemoryScalar::Int(2) => 5,
        MemoryScalar::Int(4) => 6,
        MemoryScalar::Int(8) => 7,
        _ => OTHER,
    }
}

const NAMES: [&str; 9] = [
    "bytes",
    "f16",
    "f32",
    "f64",
    "an integer of 8 bits",
    "an integer of 16 bits",
    "an integer of 32 bits",
    "an integer of 64 bits",
    "a structure",
];

/// Bytes of each.
const BYTES_OF: [u32; 8] = [0, 2, 4, 8, 1, 2, 4, 8];

impl Pushed {
    /// Takes note of a value at a byte.
    #[inline]
    pub(crate) fn put<P: NoUninit>(&mut self, offset: usize) {
        // All of this is known at compile time except for the shift.
        let digits = match element_type::<P>() {
            ElementType::Scalars { scalar, count, .. } => {
                let (digit, bytes) = (digit(scalar), size_of::<P>() / count.max(1) as usize);
                let places = (0..count as usize).map(|number| number * bytes);
                let whole = places.filter(|place| place.is_multiple_of(4) && *place < BYTES);
                whole.fold(0, |digits, place| digits | digit << place)
            }
            _ => OTHER,
        };
        if size_of::<P>() > 0 && offset < BYTES && offset.is_multiple_of(4) {
            self.0 |= digits << offset;
        }
    }

    /// Of one value that is all there is.
    pub(crate) fn of<P: NoUninit>() -> Pushed {
        let mut pushed = Pushed::default();
        pushed.put::<P>(0);
        pushed
    }

    /// Whether the last of the values, among this many bytes, is beyond a block of `block` bytes. A structure may end with padding, and mere bytes
    /// may follow.
    pub(crate) fn is_beyond(self, given: usize, block: u32) -> bool {
        let Some(top) = self.0.checked_ilog2() else { return false };
        let (place, whole) = (top / 4 * 4, block.next_multiple_of(4));
        match self.0 >> place {
            OTHER if place < block => given > block.next_multiple_of(16) as usize,
            OTHER => true,
            digit => place + BYTES_OF[digit as usize] > whole,
        }
    }

    /// What was pushed where, in words; nothing where it is not known of all of it.
    pub(crate) fn list(self) -> String {
        let words = (0..BYTES as u32).step_by(4).map(|offset| (offset, self.0 >> offset & 0xf));
        let words = words.filter(|(_, digit)| *digit != 0);
        let words: Vec<String> =
            words.map(|(offset, digit)| format!("{} at byte {offset}", NAMES[digit as usize])).collect();
        if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
    }

    /// The first scalar of another kind or size than the block's. `by_address`: the kernel reaches memory by addresses, which it may take
    /// as two words.
    pub(crate) fn misfit(self, block: &PushLayout, by_address: bool) -> Option<Misfit> {
        let words = (0..BYTES as u32).step_by(4).map(|offset| (offset, self.0 >> offset & 0xf));
        words.filter(|(_, digit)| (1..OTHER).contains(digit)).find_map(|(offset, given)| {
            let member = block.members.iter().find(|member| member.offset == offset)?;
            let declared = Pushed::declared(member);
            let is_half = member.class == ScalarClass::Address && given == digit(MemoryScalar::Int(4));
            let is_whole =
                by_address && given == digit(MemoryScalar::Int(8)) && declared == digit(MemoryScalar::Int(4));
            if declared == given || declared == OTHER || is_half || is_whole {
                return None;
            }
            let name = |digit: u64| NAMES[digit as usize];
            let declared = if member.class == ScalarClass::Address { "an address" } else { name(declared) };
            Some(Misfit { offset, declared, pushed: name(given) })
        })
    }

    fn declared(member: &PushMember) -> u64 {
        let bytes = u8::try_from(member.size).unwrap_or(u8::MAX);
        digit(match member.class {
            ScalarClass::Float => MemoryScalar::Float(bytes),
            ScalarClass::Int | ScalarClass::Uint | ScalarClass::Address => MemoryScalar::Int(bytes),
        })
    }
}
