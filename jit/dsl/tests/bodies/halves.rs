//! Floats of 16 bits, and atomics of floats and of 64 bits.

use vkfuse::rust::{
    Captures, GroupItem, Item, Ranged, Read, ReadWrite, Shared, Spec, Value, Write, device, f16, kernel,
};

/// Each half as a single, and each single as a half.
#[derive(Captures)]
pub struct Converts {
    pub singles: Read<f32>,
    pub halves: Read<f16>,
    pub near: Write<f16>,
    pub same: Write<f32>,
}

#[kernel]
impl Converts {
    fn run(&self, item: Item<1>) {
        let i = item.index();
        self.near[i] = f16::from_f32(self.singles[i]);
        self.same[i] = self.halves[i].to_f32();
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Value, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Texel {
    pub color: [f16; 3],
    pub count: u16,
}

#[device]
impl Texel {
    const WEIGHT: f16 = f16::from_f32_const(0.299);

    fn gray(&self) -> f16 {
        let [r, g, b] = self.color;
        r * Self::WEIGHT + g * f16::from_f32(0.587) + b * f16::from_f32(0.114)
    }
}

#[device]
fn largest<T: vkfuse::rust::value::Ordered, const N: usize>(all: [T; N]) -> T {
    let mut most = all[0];
    for x in all {
        most = most.max(x);
    }
    most
}

/// Halves wherever a value can be: captured, in structs and arrays, in work-group memory, as a constant.
#[derive(Captures)]
pub struct Texels {
    pub odd: u8,
    pub bias: f16,
    pub table: [f16; 3],
    pub scale: Spec<f16>,
    pub texels: ReadWrite<Texel>,
    pub out: Write<f16>,
    pub wide: Write<f64>,
    pub part: Shared<f16, 8>,
}

#[kernel]
impl Texels {
    fn run(&self, item: GroupItem<1>) {
        let (k, i) = (item.local(0), item.global(0));
        let mut texel = self.texels[i];
        self.part[k] = texel.gray() * self.scale.get() + self.bias;
        item.barrier();
        texel.color[k % 3] -= self.part[7 - k];
        texel.color[1] = -texel.color[1] / f16::from(3_u8);
        texel.count += (self.part[0] > self.table[k % 3]) as u16;
        let most = largest(texel.color);
        self.texels[i] = texel;
        self.texels[i + 1000].color[0] = most;
        self.texels[0].color[2] = f16::ONE;
        let pair = if let Some(x) = positive(most) { (x, x.sqrt()) } else { (f16::ONE, self.bias) };
        self.out[i] = f16::mul_add(pair.0, pair.1, f16::from_f32(f32::from(self.odd))) % self.table[2];
        self.wide[i] = f64::from(pair.0) + pair.1.to_f64() + f64::from(f32::from(self.out_of(k)));
    }

    fn out_of(&self, k: u32) -> f16 {
        self.part.get(k + 7).max(self.part[k])
    }
}

#[device]
fn positive(x: f16) -> Option<f16> {
    if x > f16::ZERO { Some(x) } else { None }
}

macro_rules! sums {
    ($($name:ident $ty:ty;)+) => {$(
        /// Whole numbers, whose sum does not depend on the order.
        #[derive(Captures)]
        pub struct $name {
            pub part: Ranged<ReadWrite<$ty>>,
            pub out: Write<$ty>,
            pub all: Shared<$ty, 2>,
        }

        #[kernel]
        impl $name {
            fn run(&self, item: GroupItem<1>) {
                let (k, i) = (item.local(0), item.global(0));
                if k < 2 {
                    self.all[k] = 0.5;
                }
                item.barrier();
                self.part.fetch_add(i % 3, i as $ty);
                let gone = self.part.fetch_add(40, 1.0) + self.all.fetch_add(2, 1.0);
                self.all.fetch_add(k % 2, k as $ty * 0.25);
                item.barrier();
                self.out[i] = self.all[k % 2] + gone;
            }
        }
    )+};
}

sums! {
    SumsF32 f32;
    SumsF64 f64;
}
