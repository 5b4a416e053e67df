//! Images of a pipeline file: what they are made of, in the scalars that their texels consist of.

use super::element::ElementType;
use super::node::Node;
use super::problem::Problem;
use vkfuse::vulkano::format::Format;
use vkfuse::vulkano::image::sampler::{Filter, SamplerAddressMode, SamplerCreateInfo};
use vkfuse::vulkano::image::view::ImageViewType;
use vkfuse_interp::{Channel, TexelFormat};
use vkfuse_jit::kernel::ImageDeclaration;

/// What `[images.NAME]` says beside its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImageDecl {
    pub(crate) texel: Texel,
    pub(crate) kind: ImageViewType,
    /// Width, height and depth; 1 where the file has no such number.
    pub(crate) extent: [u32; 3],
}

/// A format by the name that GLSL has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Texel {
    pub(crate) format: Format,
    pub(crate) scalar: ElementType,
    pub(crate) channels: u64,
}

/// The formats of a pipeline file. Those of eight bits that are no integers to a kernel are integers here.
const FORMATS: [(&str, Format, ElementType, u64); 16] = [
    ("r8", Format::R8_UNORM, ElementType::U8, 1),
    ("rg8", Format::R8G8_UNORM, ElementType::U8, 2),
    ("rgba8", Format::R8G8B8A8_UNORM, ElementType::U8, 4),
    ("rgba8_snorm", Format::R8G8B8A8_SNORM, ElementType::I8, 4),
    ("r8ui", Format::R8_UINT, ElementType::U8, 1),
    ("rgba8ui", Format::R8G8B8A8_UINT, ElementType::U8, 4),
    ("rgba8i", Format::R8G8B8A8_SINT, ElementType::I8, 4),
    ("r16f", Format::R16_SFLOAT, ElementType::F16, 1),
    ("rgba16f", Format::R16G16B16A16_SFLOAT, ElementType::F16, 4),
    ("r32f", Format::R32_SFLOAT, ElementType::F32, 1),
    ("rg32f", Format::R32G32_SFLOAT, ElementType::F32, 2),
    ("rgba32f", Format::R32G32B32A32_SFLOAT, ElementType::F32, 4),
    ("r32ui", Format::R32_UINT, ElementType::U32, 1),
    ("rgba32ui", Format::R32G32B32A32_UINT, ElementType::U32, 4),
    ("r32i", Format::R32_SINT, ElementType::I32, 1),
    ("rgba32i", Format::R32G32B32A32_SINT, ElementType::I32, 4),
];

/// The formats that a kernel may declare, in the order of their numbers in SPIR-V, from 1 on.
const DECLARED: [&str; 39] = [
    "rgba32f",
    "rgba16f",
    "r32f",
    "rgba8",
    "rgba8_snorm",
    "rg32f",
    "rg16f",
    "r11f_g11f_b10f",
    "r16f",
    "rgba16",
    "rgb10_a2",
    "rg16",
    "rg8",
    "r16",
    "r8",
    "rgba16_snorm",
    "rg16_snorm",
    "rg8_snorm",
    "r16_snorm",
    "r8_snorm",
    "rgba32i",
    "rgba16i",
    "rgba8i",
    "r32i",
    "rg32i",
    "rg16i",
    "rg8i",
    "r16i",
    "r8i",
    "rgba32ui",
    "rgba16ui",
    "rgba8ui",
    "r32ui",
    "rgb10_a2ui",
    "rg32ui",
    "rg16ui",
    "rg8ui",
    "r16ui",
    "r8ui",
];

impl Texel {
    /// Its name in a pipeline file.
    pub(crate) fn name(self) -> &'static str {
        FORMATS.iter().find(|(_, format, ..)| *format == self.format).map_or("?", |(name, ..)| name)
    }

    /// What a kernel declares instead, if these texels are not what it takes.
    pub(super) fn misfit(self, declared: &ImageDeclaration) -> Option<String> {
        let integers = match self.interpreted().channel {
            Channel::Uint8 | Channel::Uint32 => Some(false),
            Channel::Sint8 | Channel::Sint32 => Some(true),
            _ => None,
        };
        let format = (declared.format as usize).checked_sub(1).and_then(|number| DECLARED.get(number));
        match format {
            Some(format) if *format != self.name() => Some((*format).to_owned()),
            None if integers != declared.integers => Some(
                match declared.integers {
                    None => "texels of floats",
                    Some(true) => "texels of signed integers",
                    Some(false) => "texels of unsigned integers",
                }
                .to_owned(),
            ),
            _ => None,
        }
    }

    /// What the interpreter knows it as.
    pub(crate) fn interpreted(self) -> TexelFormat {
        let normalised = matches!(
            self.format,
            Format::R8_UNORM | Format::R8G8_UNORM | Format::R8G8B8A8_UNORM | Format::R8G8B8A8_SNORM
        );
        let channel = match (self.scalar, normalised) {
            (ElementType::U8, true) => Channel::Unorm8,
            (ElementType::U8, false) => Channel::Uint8,
            (ElementType::I8, true) => Channel::Snorm8,
            (ElementType::I8, false) => Channel::Sint8,
            (ElementType::F16, _) => Channel::Float16,
            (ElementType::F32, _) => Channel::Float32,
            (ElementType::I32, _) => Channel::Sint32,
            // `FORMATS` has no other scalars.
            _ => Channel::Uint32,
        };
        TexelFormat { channel, channels: self.channels as u32 }
    }

    /// Reads the name of a format.
    pub(super) fn read(format: &Node<'_>) -> Result<Texel, Problem> {
        let known =
            FORMATS.map(|(name, format, scalar, channels)| (name, Texel { format, scalar, channels }));
        format.word(&known)
    }
}

impl ImageDecl {
    /// What a kernel declares, and what the image has instead, if that is not what it takes.
    pub(super) fn misfit(&self, declared: &ImageDeclaration) -> Option<(String, String)> {
        let kinds = ["1D", "2D", "3D", "cube"];
        let own = match self.kind {
            ImageViewType::Dim1d => 0,
            ImageViewType::Dim2d => 1,
            _ => 2,
        };
        let is_other = own != declared.dim || declared.arrayed || declared.multisampled;
        if is_other && let Some(kind) = kinds.get(declared.dim as usize) {
            let array = if declared.arrayed { " array" } else { "" };
            let samples = if declared.multisampled { " multisampled" } else { "" };
            let sizes = ["one size", "two sizes", "three sizes"][own as usize];
            return Some((format!("a{samples} {kind}{array} image"), sizes.to_owned()));
        }
        Some((self.texel.misfit(declared)?, self.texel.name().to_owned()))
    }

    /// Reads `format` and `size`; the second is how many scalars there are in all.
    pub(super) fn read(format: &Node<'_>, size: &Node<'_>) -> Result<(ImageDecl, u64), Problem> {
        let texel = Texel::read(format)?;
        let sides = size.array("an array of one to three numbers of texels")?;
        let kind = match sides.len() {
            1 => ImageViewType::Dim1d,
            2 => ImageViewType::Dim2d,
            3 => ImageViewType::Dim3d,
            count => {
                return Err(size.problem(format!("expected one to three numbers of texels, found {count}")));
            }
        };
        let mut extent = [1; 3];
        for (axis, side) in sides.iter().enumerate() {
            // Products of three of these fit 64 bits, with a channel's bytes.
            extent[axis] = side.integer_in(1, 1 << 17)? as u32;
        }
        let texels: u64 = extent.iter().map(|&side| u64::from(side)).product();
        Ok((ImageDecl { texel, kind, extent }, texels * texel.channels))
    }
}

/// How an image is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sampling {
    Nearest,
    Linear,
}

impl Sampling {
    pub(super) fn read(node: &Node<'_>) -> Result<Sampling, Problem> {
        node.word(&[("nearest", Sampling::Nearest), ("linear", Sampling::Linear)])
    }

    /// What the interpreter knows it as.
    pub(crate) fn interpreted(self) -> vkfuse_interp::Filter {
        match self {
            Sampling::Nearest => vkfuse_interp::Filter::Nearest,
            Sampling::Linear => vkfuse_interp::Filter::Linear,
        }
    }

    /// The sampler. Outside of the image are the texels at its edge.
    pub(crate) fn info(self) -> SamplerCreateInfo {
        let filter = match self {
            Sampling::Nearest => Filter::Nearest,
            Sampling::Linear => Filter::Linear,
        };
        SamplerCreateInfo {
            mag_filter: filter,
            min_filter: filter,
            address_mode: [SamplerAddressMode::ClampToEdge; 3],
            ..SamplerCreateInfo::default()
        }
    }
}
