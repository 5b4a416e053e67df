//! Formats of texels: how the channels of a texel become the numbers a kernel reads, and back.
//!
//! The rules are those of the Vulkan specification ("Fixed-Point Data Conversion", "Texel Output Operations"). Where they
//! leave a choice, the nearest value is taken, ties to even; an integer that a channel cannot hold keeps its low bits.

use super::arith::half;

/// What one channel of a texel holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Channel {
    /// An unsigned integer of 8 bits that stands for 0 to 1.
    Unorm8,
    /// An unsigned integer of 16 bits that stands for 0 to 1.
    Unorm16,
    /// A signed integer of 8 bits that stands for -1 to 1.
    Snorm8,
    /// A signed integer of 16 bits that stands for -1 to 1.
    Snorm16,
    /// An unsigned integer of 8 bits.
    Uint8,
    /// An unsigned integer of 16 bits.
    Uint16,
    /// An unsigned integer of 32 bits.
    Uint32,
    /// A signed integer of 8 bits.
    Sint8,
    /// A signed integer of 16 bits.
    Sint16,
    /// A signed integer of 32 bits.
    Sint32,
    /// A float of 16 bits.
    Float16,
    /// A float of 32 bits.
    Float32,
}

impl Channel {
    /// Its size.
    pub fn bytes(self) -> u32 {
        match self {
            Self::Unorm8 | Self::Snorm8 | Self::Uint8 | Self::Sint8 => 1,
            Self::Unorm16 | Self::Snorm16 | Self::Uint16 | Self::Sint16 | Self::Float16 => 2,
            Self::Uint32 | Self::Sint32 | Self::Float32 => 4,
        }
    }

    /// Whether kernels see floats.
    pub fn is_float(self) -> bool {
        !matches!(self, Self::Uint8 | Self::Uint16 | Self::Uint32 | Self::Sint8 | Self::Sint16 | Self::Sint32)
    }

    /// The 32 bits that a kernel reads, from those of the channel.
    pub(super) fn read(self, bits: u64) -> u64 {
        let float = |value: f32| u64::from(value.to_bits());
        let word = |value: i32| u64::from(value as u32);
        // Quotients of small integers: both are exact, so the division rounds once.
        match self {
            Self::Unorm8 => float(bits as f32 / 255.0),
            Self::Unorm16 => float(bits as f32 / 65535.0),
            Self::Snorm8 => float((f32::from(bits as u8 as i8) / 127.0).max(-1.0)),
            Self::Snorm16 => float((f32::from(bits as u16 as i16) / 32767.0).max(-1.0)),
            Self::Uint8 | Self::Uint16 | Self::Uint32 | Self::Sint32 | Self::Float32 => bits,
            Self::Sint8 => word(i32::from(bits as u8 as i8)),
            Self::Sint16 => word(i32::from(bits as u16 as i16)),
            Self::Float16 => float(half::to_f64(bits as u16) as f32),
        }
    }

    /// The bits of the channel, from the 32 that a kernel writes.
    pub(super) fn write(self, bits: u64) -> u64 {
        let value = f64::from(f32::from_bits(bits as u32));
        // The product of a float and so short an integer is exact, so it is rounded once. No number becomes 0.
        let scaled = |least: f64, most: f64| (value.clamp(least, 1.0) * most).round_ties_even() as i32;
        match self {
            Self::Unorm8 => scaled(0.0, 255.0) as u64,
            Self::Unorm16 => scaled(0.0, 65535.0) as u64,
            Self::Snorm8 => u64::from(scaled(-1.0, 127.0) as u8),
            Self::Snorm16 => u64::from(scaled(-1.0, 32767.0) as u16),
            Self::Uint8 | Self::Sint8 => bits & 0xff,
            Self::Uint16 | Self::Sint16 => bits & 0xffff,
            Self::Uint32 | Self::Sint32 | Self::Float32 => bits,
            Self::Float16 => u64::from(half::from_f64(value)),
        }
    }
}

/// A format of texels: this many channels of one kind, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TexelFormat {
    /// What each channel holds.
    pub channel: Channel,
    /// How many there are: one, two or four.
    pub channels: u32,
}

impl TexelFormat {
    /// Bytes of a texel.
    pub fn bytes(self) -> u32 {
        self.channel.bytes() * self.channels
    }

    /// What a kernel reads of the channels that the format does not have: zeros, and one for alpha.
    pub(super) fn missing(self) -> [u64; 4] {
        [0, 0, 0, if self.channel.is_float() { u64::from(1f32.to_bits()) } else { 1 }]
    }
}

/// How an image is sampled. Coordinates outside of the image are those of its edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The texel that the coordinates lie in.
    #[default]
    Nearest,
    /// The mean of the texels around, by distance.
    Linear,
}
