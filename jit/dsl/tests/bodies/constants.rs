//! Functions that the compiler evaluates, too.

use vkfuse::rust::{Captures, Item, Read, Value, Write, device, kernel};

/// What Rust would panic at is wrapped, here and there.
#[device]
pub const fn hashed(x: u32, by: i64) -> u32 {
    let mut left = x;
    let mut sum = 0x9e37_79b9_u32;
    while left != 0 {
        sum = (sum ^ left).rotate_left(left & 7) * 0x85eb_ca6b + 1;
        left >>= by + 1;
        if left == 9 {
            continue;
        }
        left -= (left > 100) as u32;
    }
    let quotient = (-by) / (by - 2) + i64::MIN % (by - 4);
    if let Some(more) = sum.checked_add(0xf000_0000) {
        return more - quotient as u32;
    }
    sum.max(7) - (quotient >> 40) as u32
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Value, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Fixed {
    bits: i32,
}

#[device]
impl Fixed {
    pub const ONE: Fixed = Fixed::of(1.0);

    pub const fn of(x: f32) -> Fixed {
        Fixed { bits: (x * 65536.0) as i32 }
    }

    pub const fn times(self, other: Fixed) -> Fixed {
        Fixed { bits: ((self.bits as i64 * other.bits as i64) >> 16) as i32 }
    }

    const fn parts(&self) -> (i32, u32) {
        let [high, low] = [self.bits >> 16, self.bits & 0xffff];
        (high.abs(), low as u32)
    }
}

const TABLE: [u32; 3] = [hashed(1, 1), hashed(77, 3), hashed(u32::MAX, 2)];

#[derive(Captures)]
pub struct Constants {
    pub x: Read<u32>,
    pub out: Write<u32>,
    pub fixed: Write<Fixed>,
}

#[kernel]
impl Constants {
    const fn twice(x: u32) -> u32 {
        x * 2
    }

    fn run(&self, item: Item<1>) {
        let i = item.index();
        let x = self.x[i];
        let fixed = Fixed::of(x as f32 * 0.1).times(Fixed { bits: 98_304 });
        let (high, low) = fixed.parts();
        self.fixed[i] = if i % 2 == 0 { fixed } else { Fixed::ONE };
        self.out[i] = hashed(x, (i % 5) as i64) ^ TABLE[i % 4] + high as u32 + Self::twice(low);
    }
}
