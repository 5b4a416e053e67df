//! Images and texel buffers: reads, writes, samples and atomic operations of texels, and sizes.
//!
//! An image is a memory object with an extent ([`crate::Memory::add_image`]), its texels line after line; a texel buffer is a range of any
//! object. The format is that of the type, or what [`crate::Program::set_format`] says.

use rspirv::spirv::{Dim, ImageFormat, ImageOperands, Op};

use super::scan::Raw;
use super::shape::Type;
use super::{Decoded, Decoder, NONE};
use crate::arith::Num;
use crate::program::Inst;
use crate::texel::{Channel, TexelFormat};

/// What an image type declares.
#[derive(Clone, Copy, Debug)]
pub(super) struct ImageType {
    pub(super) num: Num,
    /// Nothing where the format is that of what is bound.
    pub(super) format: Option<TexelFormat>,
    /// Dimensions without layers.
    dims: u32,
    /// Coordinates of a texel.
    sizes: u32,
    pub(super) is_buffer: bool,
    /// Seen by samplers, through caches that see no writes of the same dispatch.
    pub(super) sampled: bool,
}

/// The format of this name, if it is one of those that are interpreted; nothing inside if it is not said.
fn format(name: Option<ImageFormat>) -> Option<Option<TexelFormat>> {
    use Channel::{
        Float16, Float32, Sint8, Sint16, Sint32, Snorm8, Snorm16, Uint8, Uint16, Uint32, Unorm8, Unorm16,
    };
    let (channel, channels) = match name? {
        ImageFormat::Unknown => return Some(None),
        ImageFormat::R8 => (Unorm8, 1),
        ImageFormat::Rg8 => (Unorm8, 2),
        ImageFormat::Rgba8 => (Unorm8, 4),
        ImageFormat::R16 => (Unorm16, 1),
        ImageFormat::Rg16 => (Unorm16, 2),
        ImageFormat::Rgba16 => (Unorm16, 4),
        ImageFormat::R8Snorm => (Snorm8, 1),
        ImageFormat::Rg8Snorm => (Snorm8, 2),
        ImageFormat::Rgba8Snorm => (Snorm8, 4),
        ImageFormat::R16Snorm => (Snorm16, 1),
        ImageFormat::Rg16Snorm => (Snorm16, 2),
        ImageFormat::Rgba16Snorm => (Snorm16, 4),
        ImageFormat::R8ui => (Uint8, 1),
        ImageFormat::Rg8ui => (Uint8, 2),
        ImageFormat::Rgba8ui => (Uint8, 4),
        ImageFormat::R16ui => (Uint16, 1),
        ImageFormat::Rg16ui => (Uint16, 2),
        ImageFormat::Rgba16ui => (Uint16, 4),
        ImageFormat::R32ui => (Uint32, 1),
        ImageFormat::Rg32ui => (Uint32, 2),
        ImageFormat::Rgba32ui => (Uint32, 4),
        ImageFormat::R8i => (Sint8, 1),
        ImageFormat::Rg8i => (Sint8, 2),
        ImageFormat::Rgba8i => (Sint8, 4),
        ImageFormat::R16i => (Sint16, 1),
        ImageFormat::Rg16i => (Sint16, 2),
        ImageFormat::Rgba16i => (Sint16, 4),
        ImageFormat::R32i => (Sint32, 1),
        ImageFormat::Rg32i => (Sint32, 2),
        ImageFormat::Rgba32i => (Sint32, 4),
        ImageFormat::R16f => (Float16, 1),
        ImageFormat::Rg16f => (Float16, 2),
        ImageFormat::Rgba16f => (Float16, 4),
        ImageFormat::R32f => (Float32, 1),
        ImageFormat::Rg32f => (Float32, 2),
        ImageFormat::Rgba32f => (Float32, 4),
        _ => return None,
    };
    Some(Some(TexelFormat { channel, channels }))
}

/// Operands that follow the mask of an image instruction.
struct Operands {
    lod: u32,
    offset: u32,
}

impl Decoder<'_> {
    /// The type of an image, if it is one of those that are interpreted.
    pub(super) fn image_type(&self, raw: &Raw<'_>) -> Decoded<Type> {
        let Type::Scalar(num @ (Num::F32 | Num::Int(32))) = *self.shapes.get(raw.arg(0)?) else {
            return Ok(Type::Opaque);
        };
        let Some(format) = format(raw.args.get(6).copied().and_then(ImageFormat::from_u32)) else {
            return Ok(Type::Opaque);
        };
        let (dims, is_buffer) = match Dim::from_u32(raw.arg(1)?) {
            Some(Dim::Dim1D) => (1, false),
            Some(Dim::Dim2D) => (2, false),
            Some(Dim::Dim3D) => (3, false),
            Some(Dim::DimBuffer) => (1, true),
            _ => return Ok(Type::Opaque),
        };
        // No samples.
        match (raw.arg(4)?, raw.arg(5)?, dims + raw.arg(3)?) {
            (0, sampled @ (1 | 2), sizes @ 1..=3) => {
                let sampled = sampled == 1;
                Ok(Type::Image(ImageType { num, format, dims, sizes, is_buffer, sampled }))
            }
            _ => Ok(Type::Opaque),
        }
    }

    /// Decodes an instruction on an image; false if it is none.
    pub(super) fn image(&mut self, raw: &Raw<'_>) -> Decoded<bool> {
        match raw.op {
            Op::ImageRead | Op::ImageFetch => self.read_texel(raw)?,
            Op::ImageWrite => self.write_texel(raw)?,
            Op::ImageSampleImplicitLod | Op::ImageSampleExplicitLod => self.sample(raw)?,
            Op::ImageTexelPointer => self.texel_pointer(raw)?,
            Op::ImageQuerySize | Op::ImageQuerySizeLod => {
                let (kind, image) = self.seen(raw.arg(0)?, raw)?;
                if self.shapes.lanes(raw.ty) != kind.sizes {
                    return Err(raw.malformed("the size of an image has another type"));
                }
                let dst = self.register(raw.id, raw)?;
                self.emit(raw, Inst::ImageSize { dst, image, n: kind.sizes });
            }
            Op::ImageQueryLevels | Op::ImageQuerySamples => {
                self.seen(raw.arg(0)?, raw)?;
                let one = self.allocate(1)?;
                self.program.registers[one as usize] = 1;
                let dst = self.register(raw.id, raw)?;
                self.emit(raw, Inst::Move { dst, src: one, n: 1 });
            }
            // The handle of a sampled image is that of the image, with the sampler in its second lane.
            Op::SampledImage => {
                let (_, image) = self.seen(raw.arg(0)?, raw)?;
                let sampler = self.register(raw.arg(1)?, raw)?;
                let dst = self.register(raw.id, raw)?;
                self.emit(raw, Inst::Move { dst, src: image, n: 1 });
                self.emit(raw, Inst::Move { dst: dst + 1, src: sampler, n: 1 });
            }
            Op::Image => {
                let (_, src) = self.seen(raw.arg(0)?, raw)?;
                let dst = self.register(raw.id, raw)?;
                self.emit(raw, Inst::Move { dst, src, n: 2 });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What an operand is an image of, and its handle.
    fn seen(&mut self, id: u32, raw: &Raw<'_>) -> Decoded<(ImageType, u32)> {
        match *self.shapes.get(self.value_type(id, raw)?) {
            Type::Image(kind) => Ok((kind, self.register(id, raw)?)),
            _ => Err(raw.unsupported("images of this kind are not interpreted")),
        }
    }

    /// The register of coordinates; there have to be at least `sizes`, the number that the image takes.
    fn coordinates(&mut self, id: u32, sizes: u32, raw: &Raw<'_>) -> Decoded<u32> {
        if self.shapes.lanes(self.value_type(id, raw)?) < sizes {
            return Err(raw.malformed("fewer coordinates than the image has"));
        }
        self.register(id, raw)
    }

    fn read_texel(&mut self, raw: &Raw<'_>) -> Decoded<()> {
        let (kind, image) = self.seen(raw.arg(0)?, raw)?;
        let at = self.coordinates(raw.arg(1)?, kind.sizes, raw)?;
        let operands = self.operands(raw, 2)?;
        let n = self.channels(raw)?;
        let dst = self.register(raw.id, raw)?;
        let (lod, offset) = (operands.lod, operands.offset);
        self.emit(raw, Inst::ReadTexel { dst, image, at, sizes: kind.sizes, lod, offset, n });
        Ok(())
    }

    fn write_texel(&mut self, raw: &Raw<'_>) -> Decoded<()> {
        let (kind, image) = self.seen(raw.arg(0)?, raw)?;
        let at = self.coordinates(raw.arg(1)?, kind.sizes, raw)?;
        self.operands(raw, 3)?;
        let src = self.register(raw.arg(2)?, raw)?;
        let n = self.shapes.lanes(self.value_type(raw.arg(2)?, raw)?).min(4);
        if kind.format.is_some_and(|format| format.channels > n) {
            return Err(raw.malformed("fewer channels than the image has"));
        }
        self.emit(raw, Inst::WriteTexel { src, image, at, sizes: kind.sizes, n });
        Ok(())
    }

    fn sample(&mut self, raw: &Raw<'_>) -> Decoded<()> {
        let (kind, image) = self.seen(raw.arg(0)?, raw)?;
        let coordinates = raw.arg(1)?;
        let at = self.coordinates(coordinates, kind.sizes, raw)?;
        if self.shapes.num(self.value_type(coordinates, raw)?, raw)? != Num::F32 {
            return Err(raw.unsupported("coordinates of a sample are 32-bit floats"));
        }
        let offset = self.operands(raw, 2)?.offset;
        let n = self.channels(raw)?;
        let dst = self.register(raw.id, raw)?;
        let (sizes, dims) = (kind.sizes, kind.dims);
        self.emit(raw, Inst::Sample { dst, image, at, sizes, dims, offset, n });
        Ok(())
    }

    /// A pointer to a texel, which atomic operations take.
    fn texel_pointer(&mut self, raw: &Raw<'_>) -> Decoded<()> {
        let pointer = raw.arg(0)?;
        let (_, view, handle) = self.pointer(pointer, raw)?;
        let Type::Image(kind) = *self.shapes.get(view.ty) else {
            return Err(raw.unsupported("images of this kind are not interpreted"));
        };
        let at = self.coordinates(raw.arg(1)?, kind.sizes, raw)?;
        let dst = self.register(raw.id, raw)?;
        self.emit(raw, Inst::TexelPointer { dst, image: handle, at, sizes: kind.sizes });
        Ok(())
    }

    /// How many channels an instruction results in.
    fn channels(&self, raw: &Raw<'_>) -> Decoded<u32> {
        match self.shapes.lanes(raw.ty) {
            n @ 1..=4 if self.shapes.num(raw.ty, raw)?.bits() == 32 => Ok(n),
            _ => Err(raw.unsupported("texels are read as up to four channels of 32 bits")),
        }
    }

    /// The operands behind the mask at this place, if there is one.
    fn operands(&mut self, raw: &Raw<'_>, index: usize) -> Decoded<Operands> {
        let mut found = Operands { lod: NONE, offset: NONE };
        let Some(&mask) = raw.args.get(index) else { return Ok(found) };
        let mask = ImageOperands::from_bits_retain(mask);
        let plain = ImageOperands::NON_PRIVATE_TEXEL
            | ImageOperands::VOLATILE_TEXEL
            | ImageOperands::SIGN_EXTEND
            | ImageOperands::ZERO_EXTEND
            | ImageOperands::NONTEMPORAL;
        let mut at = index + 1;
        // In the order of their bits, each with this many operands.
        let known = [
            (ImageOperands::BIAS, 1),
            (ImageOperands::LOD, 1),
            (ImageOperands::GRAD, 2),
            (ImageOperands::CONST_OFFSET, 1),
            (ImageOperands::OFFSET, 1),
            (ImageOperands::MAKE_TEXEL_AVAILABLE, 1),
            (ImageOperands::MAKE_TEXEL_VISIBLE, 1),
        ];
        let mut all = plain;
        for (operand, count) in known {
            all |= operand;
            if !mask.contains(operand) {
                continue;
            }
            if operand == ImageOperands::LOD {
                found.lod = self.register(raw.arg(at)?, raw)?;
            } else if operand == ImageOperands::CONST_OFFSET || operand == ImageOperands::OFFSET {
                let n = self.shapes.lanes(self.value_type(raw.arg(at)?, raw)?);
                let first = self.register(raw.arg(at)?, raw)?;
                // One lane for each dimension that an image may have.
                found.offset = self.allocate(3)?;
                self.emit(raw, Inst::Move { dst: found.offset, src: first, n: n.min(3) });
            }
            at += count;
        }
        if !all.contains(mask) {
            return Err(raw.unsupported("of its operands some are not interpreted"));
        }
        Ok(found)
    }
}
