//! Storage images: reads and writes of texels, and their size.
//!
//! An image is a memory object with an extent ([`crate::Memory::add_image`]), its texels line after line. Formats are those of 32 bits a
//! channel, which keep what is written.

use rspirv::spirv::{Dim, ImageFormat, Op};

use super::scan::Raw;
use super::shape::Type;
use super::{Decoded, Decoder};
use crate::arith::Num;
use crate::program::{Inst, Span};

/// What an image type declares.
#[derive(Clone, Copy, Debug)]
pub(super) struct ImageType {
    num: Num,
    channels: u32,
    sizes: u32,
}

impl Decoder<'_> {
    /// The type of an image, if it is one of those that are interpreted.
    pub(super) fn image_type(&self, raw: &Raw<'_>) -> Decoded<Type> {
        let Type::Scalar(num @ (Num::F32 | Num::Int(32))) = *self.shapes.get(raw.arg(0)?) else {
            return Ok(Type::Opaque);
        };
        let format = raw.args.get(6).copied().and_then(ImageFormat::from_u32);
        let channels = match format {
            Some(ImageFormat::R32f | ImageFormat::R32i | ImageFormat::R32ui) => 1,
            Some(ImageFormat::Rg32f | ImageFormat::Rg32i | ImageFormat::Rg32ui) => 2,
            Some(ImageFormat::Rgba32f | ImageFormat::Rgba32i | ImageFormat::Rgba32ui) => 4,
            _ => return Ok(Type::Opaque),
        };
        let sizes = match Dim::from_u32(raw.arg(1)?) {
            Some(Dim::Dim1D) => 1,
            Some(Dim::Dim2D) => 2,
            Some(Dim::Dim3D) => 3,
            _ => return Ok(Type::Opaque),
        } + raw.arg(3)?;
        // No samples, and used without a sampler.
        match (raw.arg(4)?, raw.arg(5)?, sizes) {
            (0, 2, 1..=3) => Ok(Type::Image(ImageType { num, channels, sizes })),
            _ => Ok(Type::Opaque),
        }
    }

    /// Decodes an instruction on an image; false if it is none.
    pub(super) fn image(&mut self, raw: &Raw<'_>) -> Decoded<bool> {
        let operands = match raw.op {
            Op::ImageRead => 2,
            Op::ImageWrite => 3,
            Op::ImageQuerySize => 1,
            _ => return Ok(false),
        };
        if raw.args.len() != operands {
            return Err(raw.unsupported("it has operands of its own"));
        }
        let Type::Image(ImageType { num, channels, sizes }) =
            *self.shapes.get(self.value_type(raw.arg(0)?, raw)?)
        else {
            return Err(raw.unsupported("images of this kind are not interpreted"));
        };
        let image = self.register(raw.arg(0)?, raw)?;
        if raw.op == Op::ImageQuerySize {
            let dst = self.register(raw.id, raw)?;
            if self.shapes.lanes(raw.ty) != sizes {
                return Err(raw.malformed("the size of an image has another type"));
            }
            self.emit(raw, Inst::ImageSize { dst, image, n: sizes });
            return Ok(true);
        }
        let at = self.register(raw.arg(1)?, raw)?;
        if self.shapes.lanes(self.value_type(raw.arg(1)?, raw)?) < sizes {
            return Err(raw.malformed("fewer coordinates than the image has"));
        }
        let first = self.program.spans.len() as u32;
        self.program.spans.extend((0..channels).map(|channel| Span { offset: 4 * channel, bytes: 4 }));
        if raw.op == Op::ImageRead {
            let dst = self.register(raw.id, raw)?;
            if self.shapes.lanes(raw.ty) != 4 {
                return Err(raw.unsupported("texels are read as four channels"));
            }
            let one = if num == Num::F32 { 1f32.to_bits() } else { 1 };
            self.emit(raw, Inst::ReadTexel { dst, image, at, sizes, first, n: channels, one });
        } else {
            let src = self.register(raw.arg(2)?, raw)?;
            if self.shapes.lanes(self.value_type(raw.arg(2)?, raw)?) < channels {
                return Err(raw.malformed("fewer channels than the image has"));
            }
            self.emit(raw, Inst::WriteTexel { src, image, at, sizes, first, n: channels });
        }
        Ok(true)
    }
}
