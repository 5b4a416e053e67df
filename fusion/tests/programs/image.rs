//! Colours to shades of grey, in bytes.

use bytemuck::{Pod, Zeroable};
use vkfuse::rust::{Captures, Item, Read, Value, Write, device, kernel};

use crate::{agree, words};

#[derive(Clone, Copy, Value, Pod, Zeroable)]
#[repr(C)]
struct Pixel {
    r: u8,
    g: u8,
    b: u8,
    a: u8,
}

#[device]
impl Pixel {
    fn grey(self) -> u8 {
        ((77 * self.r as u32 + 150 * self.g as u32 + 29 * self.b as u32) >> 8) as u8
    }
}

#[derive(Captures)]
struct ToGrey {
    pixels: Read<Pixel>,
    grey: Write<u8>,
}

#[kernel]
impl ToGrey {
    fn run(&self, item: Item<2>) {
        let i = item.index();
        let pixel = self.pixels[i];
        let grey = pixel.grey();
        // Contrast, within what a byte holds.
        let strong = (grey as i32 * 3 - 255) / 2;
        self.grey[i] = if pixel.a == 0 { 0 } else { strong.clamp(0, 255) as u8 };
    }
}

#[test]
fn image() {
    let rig = rig!();
    agree(&rig, |bench| {
        let pixels: Vec<Pixel> = bytemuck::cast_slice(&words(40 * 30, 1)).to_vec();
        let (pixels, grey) = (bench.buffer(pixels), bench.buffer(vec![0_u8; 40 * 30]));
        bench.triple(&pixels);
        bench.run([40, 30], &ToGrey { pixels: pixels.read(), grey: grey.write() });
    });
}
