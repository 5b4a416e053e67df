//! Texels: where they lie, and what reading, writing and sampling them gives.

use super::access::{Outside, Reports, Site};
use super::world::{Texels, World};
use crate::decode::NONE;
use crate::finding::AccessKind;
use crate::program::{POISON, Span};
use crate::texel::{Filter, TexelFormat};

/// The scalars of a texel.
fn spans(format: TexelFormat) -> [Span; 4] {
    let bytes = format.channel.bytes();
    [0, 1, 2, 3].map(|channel| Span { offset: channel * bytes, bytes })
}

/// In the offset of a pointer to a texel outside of its image; no image has as many bytes. The coordinates are below it, 20 bits each.
const FAR: u64 = 1 << 62;

fn pack(at: [i32; 3]) -> u64 {
    let most = (1 << 19) - 1;
    at.iter().fold(0, |bits, &at| bits << 20 | u64::from(at.clamp(-most, most) as u32 & 0xf_ffff))
}

fn unpack(bits: u64) -> [i32; 3] {
    [40, 20, 0].map(|shift| ((bits >> shift) as u32) << 12).map(|word| word as i32 >> 12)
}

/// Integer coordinates in registers, with an offset if there is one.
pub(super) fn integers(r: &[u64], first: u32, sizes: u32, offset: u32) -> [i64; 3] {
    [0, 1, 2].map(|d| {
        let lane = |first: u32| i64::from(r[(first + d) as usize] as u32 as i32);
        match (d < sizes, offset) {
            (false, _) => 0,
            (true, NONE) => lane(first),
            (true, offset) => lane(first) + lane(offset),
        }
    })
}

impl World<'_> {
    /// How the sampler of a sampled image filters: the one of its own handle, or that of the binding.
    pub(super) fn filter(&self, image: u64, sampler: u64) -> Filter {
        let own = sampler.checked_sub(1).and_then(|number| self.program.samplers.get(number as usize));
        match own {
            Some(sampler) => sampler.filter,
            None => self.texels(image).map_or(Filter::Nearest, |texels| texels.filter),
        }
    }

    /// What an image is made of. `World::new` has made sure that every slot of an image has a format.
    fn texels(&self, meta: u64) -> Option<Texels> {
        self.slots.get(meta as usize).filter(|_| meta & POISON == 0)?.texels
    }

    /// Width, height and depth or layers of an image; nothing of what is none.
    pub(super) fn image_size(&self, meta: u64) -> [u32; 3] {
        self.texels(meta).map_or([0; 3], |texels| texels.extent)
    }

    /// The byte at which a texel lies in its image, or the coordinates that lead outside of it.
    fn place(texels: Texels, at: &[i64]) -> Result<u64, Outside> {
        let mut number = 0;
        for d in (0..3).rev() {
            // An image without a dimension has one line or slice.
            let (side, coordinate) = match at.get(d) {
                Some(&coordinate) => (i64::from(texels.extent[d]), coordinate),
                None => (1, 0),
            };
            if !(0..side).contains(&coordinate) {
                let at = |d: usize| at.get(d).map_or(0, |&at| at as i32);
                return Err(Outside::Texel([at(0), at(1), at(2)]));
            }
            number = number * side as u64 + coordinate as u64;
        }
        Ok(number * u64::from(texels.format.bytes()))
    }

    /// All four channels of the texel at these coordinates.
    pub(super) fn read_texel(&mut self, at: u32, meta: u64, coordinates: &[i64]) -> [u64; 4] {
        let outside = Site { at, meta, offset: 0 };
        let Some(texels) = self.texels(meta) else {
            self.report_texel(outside, AccessKind::Read, Outside::Texel([0; 3]));
            return [0; 4];
        };
        let mut out = texels.format.missing();
        let n = texels.format.channels as usize;
        match Self::place(texels, coordinates) {
            Ok(offset) => {
                let site = Site { at, meta, offset };
                self.load_bytes(site, &spans(texels.format)[..n], &mut out[..n]);
                for channel in &mut out[..n] {
                    *channel = texels.format.channel.read(*channel);
                }
            }
            Err(place) => self.report_texel(outside, AccessKind::Read, place),
        }
        out
    }

    /// Writes the channels that the format has. A texel outside of the image is not written.
    pub(super) fn write_texel(&mut self, at: u32, meta: u64, coordinates: &[i64], values: &[u64]) {
        let outside = Site { at, meta, offset: 0 };
        let Some(texels) = self.texels(meta) else {
            return self.report_texel(outside, AccessKind::Write, Outside::Texel([0; 3]));
        };
        let n = (texels.format.channels as usize).min(values.len());
        match Self::place(texels, coordinates) {
            Ok(offset) => {
                let mut bits = [0; 4];
                for (bits, value) in bits.iter_mut().zip(&values[..n]) {
                    *bits = texels.format.channel.write(*value);
                }
                self.store_bytes(Site { at, meta, offset }, &spans(texels.format)[..n], &bits[..n]);
            }
            Err(place) => self.report_texel(outside, AccessKind::Write, place),
        }
    }

    /// The two lanes of a pointer to a texel, for atomic operations.
    pub(super) fn texel_pointer(&self, meta: u64, coordinates: &[i64]) -> (u64, u64) {
        let Some(texels) = self.texels(meta) else { return (meta | POISON, 0) };
        match Self::place(texels, coordinates) {
            Ok(offset) => (meta, offset),
            Err(Outside::Texel(at)) => (meta, FAR | pack(at)),
            Err(Outside::Byte(_)) => (meta | POISON, 0),
        }
    }

    /// Coordinates instead of a byte, of a pointer to a texel outside of its image.
    pub(super) fn outside(&self, site: Site, outside: Outside) -> Outside {
        match outside {
            Outside::Byte(at) if at as u64 & FAR != 0 && self.texels(site.meta).is_some() => {
                Outside::Texel(unpack(at as u64))
            }
            other => other,
        }
    }

    /// What a sampler finds at these coordinates; if there is one more than `dims`, the last is the layer.
    pub(super) fn sample(
        &mut self,
        at: u32,
        meta: u64,
        filter: Filter,
        (coordinates, dims): (&[f32], usize),
        offset: [i64; 3],
    ) -> [u64; 4] {
        let Some(texels) = self.texels(meta) else { return self.read_texel(at, meta, &[]) };
        let size = texels.extent.map(|side| i64::from(side.max(1)));
        let layer =
            coordinates.get(dims).map(|layer| (layer.round_ties_even() as i64).clamp(0, size[dims] - 1));
        // The lower texel of each dimension, and how far it is to the upper one.
        let (mut low, mut part) = ([0; 3], [0.0; 3]);
        for d in 0..dims {
            let scaled = coordinates[d] * size[d] as f32;
            let shift = if filter == Filter::Linear { 0.5 } else { 0.0 };
            let floor = (scaled - shift).floor();
            (low[d], part[d]) = ((floor as i64).saturating_add(offset[d]), scaled - shift - floor);
        }
        let texel = |world: &mut Self, corner: usize| {
            let mut place = [0; 3];
            for d in 0..dims {
                place[d] = low[d].saturating_add((corner >> d & 1) as i64).clamp(0, size[d] - 1);
            }
            if let Some(layer) = layer {
                place[dims] = layer;
            }
            world.read_texel(at, meta, &place[..coordinates.len()])
        };
        if filter == Filter::Nearest || !texels.format.channel.is_float() {
            return texel(self, 0);
        }
        let mut sum = [0f32; 4];
        for corner in 0..1 << dims {
            let weight = |d: usize| if corner >> d & 1 == 1 { part[d] } else { 1.0 - part[d] };
            let weight: f32 = (0..dims).map(weight).product();
            let found = texel(self, corner);
            for (sum, channel) in sum.iter_mut().zip(found) {
                *sum += weight * f32::from_bits(channel as u32);
            }
        }
        sum.map(|sum| u64::from(sum.to_bits()))
    }

    fn report_texel(&mut self, site: Site, kind: AccessKind, outside: Outside) {
        let touch = self.touch(site, kind);
        self.report(touch, site, Reports { outside: Some(outside), ..Reports::default() });
    }
}
