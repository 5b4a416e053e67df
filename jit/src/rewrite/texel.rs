//! Which images keep a texel as it is written.
//!
//! What is written to a storage image is converted to its format. For formats with 32 bits a channel this changes no channel: a read
//! gives the channels that the format has, zeros for the others, and one for a missing alpha (Vulkan, "Component
//! substitution"). All other formats round or saturate, or the conversion is up to the device.

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Dim, ImageFormat, ImageOperands, Op, Word};

use super::writer::Result;
use crate::frontend::defs::Defs;

/// What channels are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbers {
    Floats,
    Integers,
    /// With a sign.
    Signed,
}

/// The texels of an image, as an instruction on it declares them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Texels {
    dim: Dim,
    arrayed: bool,
    format: ImageFormat,
    numbers: Numbers,
    is_fetched: bool,
    /// Channels of 32 bits.
    pub(crate) channels: u8,
    /// Coordinates, as many as the image has sizes.
    pub(crate) coordinates: u8,
}

impl Texels {
    /// Whether a read of these finds what is stored in those, seen through one view. A view that is written to has all of the image's
    /// channels in their order, and is of one level where they are written: what is fetched needs no format to be declared.
    pub(crate) fn are_found_in(self, stored: Self) -> bool {
        let shape = |texels: Self| (texels.dim, texels.arrayed);
        let is_format = self.format == stored.format || self.is_fetched && self.numbers == stored.numbers;
        shape(self) == shape(stored) && is_format
    }

    /// Those of the image that a read, a fetch or a write of a texel goes to.
    pub(crate) fn of(inst: &Instruction, module: &Module) -> Result<Self> {
        Self::behind(inst, &Defs::new(module))
    }

    pub(super) fn behind(inst: &Instruction, defs: &Defs<'_>) -> Result<Self> {
        // Image and coordinates, and the texel of a write; what stands behind them says more.
        let plain = match inst.class.opcode {
            Op::ImageRead => inst.operands.len() == 2,
            Op::ImageWrite => inst.operands.len() == 3,
            Op::ImageFetch => {
                matches!(inst.operands.get(2), Some(Operand::ImageOperands(ImageOperands::LOD)))
            }
            _ => return Err("something else than reads and writes of texels"),
        };
        if !plain {
            return Err("an access to a texel with operands of its own");
        }
        let handle = inst.operands.first().and_then(Operand::id_ref_any);
        let image = handle.and_then(|handle| defs.get(defs.type_of(handle)?)).ok_or("an image of no type")?;
        let [
            Operand::IdRef(scalar),
            Operand::Dim(dim),
            _,
            Operand::LiteralBit32(arrayed),
            Operand::LiteralBit32(0),
            _,
            Operand::ImageFormat(format),
            ..,
        ] = image.operands.as_slice()
        else {
            return Err("an image with several samples");
        };
        let arrayed = *arrayed == 1;
        let is_fetched = inst.class.opcode == Op::ImageFetch;
        let of = defs.get(*scalar);
        let numbers = match (of.map(|of| of.class.opcode), of.and_then(|of| of.operands.get(1))) {
            (Some(Op::TypeInt), Some(Operand::LiteralBit32(0))) => Numbers::Integers,
            (Some(Op::TypeInt), _) => Numbers::Signed,
            _ => Numbers::Floats,
        };
        let coordinates = match dim {
            Dim::Dim1D => 1,
            Dim::Dim2D => 2,
            Dim::Dim3D => 3,
            // Faces of a cube are coordinates, and no size.
            _ => return Err("an image that has no sides"),
        } + u8::from(arrayed);
        let channels = match channels(*format) {
            Some(channels) => channels,
            None if is_fetched => 4,
            None => return Err("a format that does not keep what is written, or is not said"),
        };
        if !is_word(*scalar, defs) || coordinates > 3 {
            return Err("texels that are no words");
        }
        Ok(Self { dim: *dim, arrayed, format: *format, numbers, is_fetched, channels, coordinates })
    }
}

/// How many channels a format has, if each keeps 32 bits.
fn channels(format: ImageFormat) -> Option<u8> {
    match format {
        ImageFormat::R32f | ImageFormat::R32i | ImageFormat::R32ui => Some(1),
        ImageFormat::Rg32f | ImageFormat::Rg32i | ImageFormat::Rg32ui => Some(2),
        ImageFormat::Rgba32f | ImageFormat::Rgba32i | ImageFormat::Rgba32ui => Some(4),
        _ if mutant!(FormatsKeepAll) => Some(4),
        _ => None,
    }
}

fn is_word(ty: Word, defs: &Defs<'_>) -> bool {
    let inst = defs.get(ty);
    inst.is_some_and(|inst| {
        matches!(inst.class.opcode, Op::TypeInt | Op::TypeFloat)
            && inst.operands.first() == Some(&Operand::LiteralBit32(32))
    })
}
