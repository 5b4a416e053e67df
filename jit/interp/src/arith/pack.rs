//! Packing of small vectors into integers and back (GLSL.std.450).

use super::half;

/// Named as in the specification, where all names start alike.
#[allow(clippy::enum_variant_names)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Pack {
    PackSnorm4x8,
    PackUnorm4x8,
    PackSnorm2x16,
    PackUnorm2x16,
    PackHalf2x16,
    PackDouble2x32,
    UnpackSnorm4x8,
    UnpackUnorm4x8,
    UnpackSnorm2x16,
    UnpackUnorm2x16,
    UnpackHalf2x16,
    UnpackDouble2x32,
}

impl Pack {
    /// Lanes read and lanes written.
    pub(in super::super) fn lanes(self) -> (u32, u32) {
        match self {
            Self::PackSnorm4x8 | Self::PackUnorm4x8 => (4, 1),
            Self::PackSnorm2x16 | Self::PackUnorm2x16 | Self::PackHalf2x16 | Self::PackDouble2x32 => (2, 1),
            Self::UnpackSnorm4x8 | Self::UnpackUnorm4x8 => (1, 4),
            _ => (1, 2),
        }
    }
}

/// Reads the lanes of `a` and writes those of `out`, as many as [`Pack::lanes`] says.
pub(in super::super) fn pack(op: Pack, a: &[u64], out: &mut [u64]) {
    match op {
        Pack::PackSnorm4x8 => {
            out[0] = packed(a, 8, |x| (x.clamp(-1.0, 1.0) * 127.0).round_ties_even() as i64)
        }
        Pack::PackUnorm4x8 => out[0] = packed(a, 8, |x| (x.clamp(0.0, 1.0) * 255.0).round_ties_even() as i64),
        Pack::PackSnorm2x16 => {
            out[0] = packed(a, 16, |x| (x.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i64);
        }
        Pack::PackUnorm2x16 => {
            out[0] = packed(a, 16, |x| (x.clamp(0.0, 1.0) * 65535.0).round_ties_even() as i64);
        }
        Pack::PackHalf2x16 => out[0] = packed(a, 16, |x| i64::from(half::from_f64(f64::from(x)))),
        Pack::PackDouble2x32 => out[0] = a[0] | a[1] << 32,
        Pack::UnpackSnorm4x8 => {
            unpacked(a[0], 8, out, |bits| (f32::from(bits as u8 as i8) / 127.0).clamp(-1.0, 1.0))
        }
        Pack::UnpackUnorm4x8 => unpacked(a[0], 8, out, |bits| f32::from(bits) / 255.0),
        Pack::UnpackSnorm2x16 => {
            unpacked(a[0], 16, out, |bits| (f32::from(bits as i16) / 32767.0).clamp(-1.0, 1.0));
        }
        Pack::UnpackUnorm2x16 => unpacked(a[0], 16, out, |bits| f32::from(bits) / 65535.0),
        Pack::UnpackHalf2x16 => unpacked(a[0], 16, out, |bits| half::to_f64(bits) as f32),
        Pack::UnpackDouble2x32 => {
            out[0] = a[0] & 0xffff_ffff;
            out[1] = a[0] >> 32;
        }
    }
}

fn packed(a: &[u64], bits: u32, encode: impl Fn(f32) -> i64) -> u64 {
    let mut result = 0;
    for (index, lane) in a.iter().enumerate() {
        let field = encode(f32::from_bits(*lane as u32)) as u64 & super::mask(bits);
        result |= field << (bits * index as u32);
    }
    result
}

fn unpacked(word: u64, bits: u32, out: &mut [u64], decode: impl Fn(u16) -> f32) {
    for (index, lane) in out.iter_mut().enumerate() {
        let field = (word >> (bits * index as u32) & super::mask(bits)) as u16;
        *lane = u64::from(decode(field).to_bits());
    }
}
