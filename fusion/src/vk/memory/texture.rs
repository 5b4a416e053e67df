//! Images and samplers: what is bound that is no buffer.
//!
//! Every image is in the layout `GENERAL` from when it is made, or imported, to its end: kernels read, write and sample it
//! there, and copies find it there. So what orders work on it is what orders work on buffers, global memory barriers, and no layout
//! has to be followed through lists, queues and replays.

use std::sync::Arc;

use ash::vk;
use vulkano::{
    VulkanObject,
    device::DeviceOwned,
    format::{Format, FormatFeatures, NumericType},
    image::{
        Image, ImageAspects, ImageCreateInfo, ImageType, ImageUsage, SampleCount,
        sampler::{Sampler, SamplerCreateInfo},
        view::{ImageView, ImageViewCreateInfo, ImageViewType},
    },
    memory::allocator::AllocationCreateInfo,
};

use crate::jit::{ImageDeclaration, ImageSize};

use crate::vk::{BindingKind, DeviceError, Gpu, Memory, texels::Texels};

/// What is bound where a kernel has a texture: an image, a sampler, or both; or a buffer through a format.
#[derive(Debug)]
pub(crate) struct Texture {
    gpu: u64,
    view: Option<Arc<ImageView>>,
    /// The image, where there is none because the device compiles only.
    unmade: Option<Facts>,
    sampler: Option<Arc<Sampler>>,
    texels: Option<Texels>,
}

/// What kernels and plans depend on of an image.
#[derive(Debug, Clone, Copy)]
struct Facts {
    kind: ImageViewType,
    format: Format,
    usage: ImageUsage,
    extent: [u32; 3],
    /// Of the view.
    layers: u32,
    levels: u32,
    samples: SampleCount,
    /// Of all layers.
    bytes: u64,
}

impl Facts {
    fn of(view: &ImageView) -> Facts {
        let (image, range) = (view.image(), view.subresource_range());
        Facts {
            kind: view.view_type(),
            format: view.format(),
            usage: view.usage(),
            extent: image.extent(),
            layers: range.array_layers.len() as u32,
            levels: range.mip_levels.len() as u32,
            samples: image.samples(),
            bytes: bytes(image.extent(), image.array_layers(), image.format()),
        }
    }
}

/// Bytes of all texels of a level, without gaps between lines and layers.
fn bytes(extent: [u32; 3], layers: u32, format: Format) -> u64 {
    let texels: u64 = extent.iter().map(|side| u64::from(*side)).product();
    texels * u64::from(layers) * format.block_size()
}

/// The shape of a new image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ImageShape {
    pub(crate) kind: ImageViewType,
    pub(crate) format: Format,
    /// Width, height, depth; those that the kind does not have are 1.
    pub(crate) extent: [u32; 3],
    pub(crate) layers: u32,
}

impl Texture {
    /// The image.
    pub(crate) fn image(&self) -> Option<&Arc<ImageView>> {
        self.view.as_ref()
    }

    fn facts(&self) -> Option<Facts> {
        self.view.as_deref().map(Facts::of).or(self.unmade)
    }

    pub(in crate::vk) fn belongs_to(&self, gpu: u64) -> bool {
        self.gpu == gpu
    }

    /// Whether it has what a kind of binding needs, and the image was made for that use.
    pub(crate) fn serves(&self, kind: BindingKind) -> bool {
        if let Some(texels) = &self.texels {
            return texels.serves(kind);
        }
        let can = |usage: ImageUsage| self.facts().is_some_and(|image| image.usage.contains(usage));
        match kind {
            BindingKind::StorageImage => can(ImageUsage::STORAGE),
            BindingKind::SampledImage => can(ImageUsage::SAMPLED),
            BindingKind::CombinedSampler => can(ImageUsage::SAMPLED) && self.sampler.is_some(),
            BindingKind::Sampler => self.sampler.is_some(),
            BindingKind::Storage
            | BindingKind::Uniform
            | BindingKind::UniformTexels
            | BindingKind::StorageTexels => false,
        }
    }

    /// The same image with a sampler.
    pub(crate) fn with(&self, sampler: &Texture) -> Texture {
        let (view, unmade) = (self.view.clone(), self.unmade);
        Texture { gpu: self.gpu, view, unmade, sampler: sampler.sampler.clone(), texels: None }
    }

    /// A buffer seen through a format.
    pub(in crate::vk) fn over_texels(gpu: u64, texels: Texels) -> Texture {
        Texture { gpu, view: None, unmade: None, sampler: None, texels: Some(texels) }
    }

    /// The view, of a buffer that is seen through a format.
    pub(in crate::vk) fn texels(&self) -> Option<vk::BufferView> {
        self.texels.as_ref().map(Texels::handle)
    }

    /// The format that a buffer is seen through.
    pub(crate) fn texel_format(&self) -> Option<Format> {
        self.texels.as_ref().map(Texels::format)
    }

    pub(in crate::vk) fn host_may_look(&self) -> bool {
        self.texels.as_ref().is_some_and(Texels::host_may_look)
    }

    pub(in crate::vk) fn descriptor(&self) -> vk::DescriptorImageInfo {
        let view = self.view.as_ref().map_or(vk::ImageView::null(), |view| view.handle());
        let sampler = self.sampler.as_ref().map_or(vk::Sampler::null(), |sampler| sampler.handle());
        vk::DescriptorImageInfo::default()
            .image_view(view)
            .sampler(sampler)
            .image_layout(vk::ImageLayout::GENERAL)
    }

    pub(in crate::vk) fn handle(&self) -> vk::Image {
        self.view.as_ref().map_or(vk::Image::null(), |view| view.image().handle())
    }

    /// All layers of the first level.
    pub(in crate::vk) fn layers(&self) -> vk::ImageSubresourceLayers {
        vk::ImageSubresourceLayers::default()
            .aspect_mask(vk::ImageAspectFlags::COLOR)
            .layer_count(self.view.as_ref().map_or(0, |view| view.image().array_layers()))
    }

    pub(in crate::vk) fn extent(&self) -> vk::Extent3D {
        let [width, height, depth] = self.view.as_ref().map_or([0; 3], |view| view.image().extent());
        vk::Extent3D { width, height, depth }
    }

    /// Zeros, as the format has them.
    pub(in crate::vk) fn zeros(&self) -> vk::ClearColorValue {
        vk::ClearColorValue { uint32: [0; 4] }
    }

    /// What kernels know of the size of the image, if there is one.
    pub(crate) fn size(&self) -> Option<ImageSize> {
        if let Some(texels) = &self.texels {
            let count = u32::try_from(texels.count()).ok()?;
            return Some(ImageSize { extent: [count, 0, 0], levels: 1, samples: 1, view: None });
        }
        let Facts { kind, extent: [width, height, depth], layers, levels, samples, .. } = self.facts()?;
        let extent = match kind {
            ImageViewType::Dim1d => [width, 0, 0],
            ImageViewType::Dim1dArray => [width, layers, 0],
            ImageViewType::Dim2d | ImageViewType::Cube => [width, height, 0],
            ImageViewType::Dim2dArray => [width, height, layers],
            ImageViewType::CubeArray => [width, height, layers / 6],
            ImageViewType::Dim3d => [width, height, depth],
            _ => return None,
        };
        // An image has one view, with whatever sampler.
        Some(ImageSize { extent, levels, samples: samples.into(), view: Some(0) })
    }

    /// Bytes of all texels of the first level, without gaps between lines and layers. 0 for a sampler.
    pub(crate) fn bytes(&self) -> u64 {
        self.facts().map_or(0, |image| image.bytes)
    }
}

impl Texture {
    /// What does not agree between the image and what a kernel declares.
    pub(crate) fn misfit(&self, wanted: &ImageDeclaration) -> Option<String> {
        if let Some(texels) = &self.texels {
            return format_misfit(texels.format(), wanted);
        }
        let image = self.facts()?;
        // `1D`, `2D`, `3D` and `Cube`, as SPIR-V numbers them.
        let kind = match (wanted.dim, wanted.arrayed) {
            (0, false) => ImageViewType::Dim1d,
            (0, true) => ImageViewType::Dim1dArray,
            (1, false) => ImageViewType::Dim2d,
            (1, true) => ImageViewType::Dim2dArray,
            (2, _) => ImageViewType::Dim3d,
            (3, false) => ImageViewType::Cube,
            (3, true) => ImageViewType::CubeArray,
            _ => return Some(format!("it is declared with dimension {} of SPIR-V", wanted.dim)),
        };
        if image.kind != kind {
            return Some(format!("it is declared as {}, and the image is {}", view(kind), view(image.kind)));
        }
        if wanted.multisampled != (image.samples != SampleCount::Sample1) {
            return Some("one of the two is multisampled".to_owned());
        }
        format_misfit(image.format, wanted)
    }
}

/// What is wrong with the extent of an image of a kind.
fn extent_misfit(shape: &ImageShape) -> Option<String> {
    let ImageShape { kind, extent, layers, .. } = *shape;
    let dimensions = match kind {
        ImageViewType::Dim1d | ImageViewType::Dim1dArray => 1,
        ImageViewType::Dim3d => 3,
        _ => 2,
    };
    let names = ["width", "height", "depth"];
    if let Some(empty) = extent.iter().position(|texels| *texels == 0) {
        return Some(format!("the {} of {extent:?} is 0", names[empty]));
    }
    if layers == 0 {
        return Some("it has 0 layers".to_owned());
    }
    let beyond = (dimensions..3).find(|&dimension| extent[dimension] != 1);
    beyond.map(|dimension| {
        format!(
            "the {} of {extent:?} is {}, and a {} has none; it must be 1",
            names[dimension],
            extent[dimension],
            view(kind)
        )
    })
}

/// Vulkan's name for a kind.
fn view(kind: ImageViewType) -> &'static str {
    match kind {
        ImageViewType::Dim1d => "VK_IMAGE_VIEW_TYPE_1D",
        ImageViewType::Dim1dArray => "VK_IMAGE_VIEW_TYPE_1D_ARRAY",
        ImageViewType::Dim2d => "VK_IMAGE_VIEW_TYPE_2D",
        ImageViewType::Dim2dArray => "VK_IMAGE_VIEW_TYPE_2D_ARRAY",
        ImageViewType::Dim3d => "VK_IMAGE_VIEW_TYPE_3D",
        ImageViewType::Cube => "VK_IMAGE_VIEW_TYPE_CUBE",
        ImageViewType::CubeArray => "VK_IMAGE_VIEW_TYPE_CUBE_ARRAY",
        _ => "an unknown kind of image",
    }
}

/// What does not agree between a format and what a kernel declares.
fn format_misfit(format: Format, wanted: &ImageDeclaration) -> Option<String> {
    let integers = match format.numeric_format_color().map(|format| format.numeric_type()) {
        Some(NumericType::Int) => Some(true),
        Some(NumericType::Uint) => Some(false),
        _ => None,
    };
    if integers != wanted.integers {
        let declared = match wanted.integers {
            None => "floats",
            Some(true) => "signed integers",
            Some(false) => "unsigned integers",
        };
        return Some(format!(
            "it is declared with texels of {declared}, and what is passed has VK_FORMAT_{format:?}"
        ));
    }
    let declared = format_of(wanted.format)?;
    (declared != format).then(|| {
        format!("it is declared with the format VK_FORMAT_{declared:?}, and what is passed has VK_FORMAT_{format:?}")
    })
}

/// The format that `ImageFormat` of SPIR-V stands for; nothing for `Unknown`.
fn format_of(number: u32) -> Option<Format> {
    /// In the order of their numbers, from 1 on.
    const FORMATS: [Format; 41] = [
        Format::R32G32B32A32_SFLOAT,
        Format::R16G16B16A16_SFLOAT,
        Format::R32_SFLOAT,
        Format::R8G8B8A8_UNORM,
        Format::R8G8B8A8_SNORM,
        Format::R32G32_SFLOAT,
        Format::R16G16_SFLOAT,
        Format::B10G11R11_UFLOAT_PACK32,
        Format::R16_SFLOAT,
        Format::R16G16B16A16_UNORM,
        Format::A2B10G10R10_UNORM_PACK32,
        Format::R16G16_UNORM,
        Format::R8G8_UNORM,
        Format::R16_UNORM,
        Format::R8_UNORM,
        Format::R16G16B16A16_SNORM,
        Format::R16G16_SNORM,
        Format::R8G8_SNORM,
        Format::R16_SNORM,
        Format::R8_SNORM,
        Format::R32G32B32A32_SINT,
        Format::R16G16B16A16_SINT,
        Format::R8G8B8A8_SINT,
        Format::R32_SINT,
        Format::R32G32_SINT,
        Format::R16G16_SINT,
        Format::R8G8_SINT,
        Format::R16_SINT,
        Format::R8_SINT,
        Format::R32G32B32A32_UINT,
        Format::R16G16B16A16_UINT,
        Format::R8G8B8A8_UINT,
        Format::R32_UINT,
        Format::A2B10G10R10_UINT_PACK32,
        Format::R32G32_UINT,
        Format::R16G16_UINT,
        Format::R8G8_UINT,
        Format::R16_UINT,
        Format::R8_UINT,
        Format::R64_UINT,
        Format::R64_SINT,
    ];
    FORMATS.get((number as usize).checked_sub(1)?).copied()
}

/// What vulkano says, which is in the cause where its checks find it.
fn in_full(problem: &dyn std::error::Error) -> String {
    let mut deepest = problem;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

impl Gpu {
    /// A new image of unspecified contents and layout, usable for whatever its format allows.
    pub(crate) fn make_image(&self, shape: &ImageShape) -> Result<Arc<Texture>, DeviceError> {
        let ImageShape { kind, format, extent, layers } = *shape;
        let error = |reason: String| DeviceError::Image { reason };
        if format.aspects() != ImageAspects::COLOR || format.block_extent() != [1, 1, 1] {
            return Err(error(format!("{format:?} is no uncompressed format of colours")));
        }
        if let Some(problem) = extent_misfit(shape) {
            return Err(error(problem));
        }
        let properties = self.device().physical_device().format_properties(format);
        let can = properties.map_err(|problem| error(in_full(&problem)))?.optimal_tiling_features;
        let copies = FormatFeatures::TRANSFER_SRC | FormatFeatures::TRANSFER_DST;
        if !can.contains(copies) {
            return Err(error(format!("the device has no images of {format:?}")));
        }
        let mut usage = ImageUsage::TRANSFER_SRC | ImageUsage::TRANSFER_DST;
        if can.contains(FormatFeatures::STORAGE_IMAGE) {
            usage |= ImageUsage::STORAGE;
        }
        if can.contains(FormatFeatures::SAMPLED_IMAGE) {
            usage |= ImageUsage::SAMPLED;
        }
        if self.caps().compile_only.is_some() {
            let bytes = bytes(extent, layers, format);
            let samples = SampleCount::Sample1;
            let unmade = Some(Facts { kind, format, usage, extent, layers, levels: 1, samples, bytes });
            return Ok(Arc::new(Texture { gpu: self.0.id, view: None, unmade, sampler: None, texels: None }));
        }
        let image_type = match kind {
            ImageViewType::Dim1d | ImageViewType::Dim1dArray => ImageType::Dim1d,
            ImageViewType::Dim3d => ImageType::Dim3d,
            _ => ImageType::Dim2d,
        };
        let info = ImageCreateInfo {
            image_type,
            format,
            extent,
            array_layers: layers,
            usage,
            sharing: self.sharing(),
            ..ImageCreateInfo::default()
        };
        let image = Image::new(self.0.allocator.clone(), info, AllocationCreateInfo::default())
            .map_err(|problem| error(in_full(&problem)))?;
        self.0.counters.allocation();
        let info = ImageViewCreateInfo { view_type: kind, ..ImageViewCreateInfo::from_image(&image) };
        let view = ImageView::new(image, info).map_err(|problem| error(in_full(&problem)))?;
        Ok(Arc::new(Texture { gpu: self.0.id, view: Some(view), unmade: None, sampler: None, texels: None }))
    }

    /// Takes an image of the user's, which is in the layout `GENERAL`.
    pub(crate) fn import_image(&self, image: &UserImage) -> Result<Arc<Texture>, DeviceError> {
        let view = image.view.clone();
        if view.device() != self.device() {
            return Err(DeviceError::Foreign { what: "imported image" });
        }
        let (image, format) = (view.image(), view.format());
        let is_plain = format.aspects() == ImageAspects::COLOR && format.block_extent() == [1, 1, 1];
        let layers = view.subresource_range().array_layers.clone();
        if image.mip_levels() != 1 || !is_plain || layers != (0..image.array_layers()) {
            let reason =
                "an imported image has one level, colours that are not compressed, and all layers in view";
            return Err(DeviceError::Image { reason: reason.to_owned() });
        }
        for (usage, name) in
            [(ImageUsage::TRANSFER_SRC, "TRANSFER_SRC"), (ImageUsage::TRANSFER_DST, "TRANSFER_DST")]
        {
            if !image.usage().contains(usage) {
                return Err(DeviceError::MissingUsage { usage: name });
            }
        }
        Ok(Arc::new(Texture { gpu: self.0.id, view: Some(view), unmade: None, sampler: None, texels: None }))
    }

    /// A new sampler.
    pub(crate) fn make_sampler(&self, info: SamplerCreateInfo) -> Result<Arc<Texture>, DeviceError> {
        let sampler = Sampler::new(self.device().clone(), info);
        let sampler = sampler.map_err(|problem| DeviceError::Image { reason: in_full(&problem) })?;
        Ok(Arc::new(Texture {
            gpu: self.0.id,
            view: None,
            unmade: None,
            sampler: Some(sampler),
            texels: None,
        }))
    }
}

/// A vulkano image of the user's, with the user's word that it is free to use.
#[derive(Debug, Clone)]
pub struct UserImage {
    view: Arc<ImageView>,
    is_new: bool,
}

impl UserImage {
    /// Vouches for an image.
    ///
    /// # Safety
    ///
    /// As long as an image of this crate made from it lives, or work that uses it runs:
    ///
    /// - it is in the layout `GENERAL`, which this crate leaves it in (see [`UserImage::without_contents`]);
    /// - no one else uses it, except between an event of this crate that says all work on it is done and the next submission
    ///   that uses it, ordered as [`UserBuffer`](crate::UserBuffer) describes for buffers;
    /// - it is imported once at a time, may be used by the queue families of the context it is given to, and is aliased by no
    ///   memory that the context uses.
    #[must_use]
    pub unsafe fn new(view: Arc<ImageView>) -> UserImage {
        UserImage { view, is_new: false }
    }

    /// As if it had just been made: whatever layout it is in, importing brings it into `GENERAL`, with zeros for contents.
    #[must_use]
    pub fn without_contents(self) -> UserImage {
        UserImage { is_new: true, ..self }
    }

    /// Whether it has no contents.
    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }
}

/// What is bound at a binding.
#[derive(Debug, Clone)]
pub(crate) enum Resource {
    Buffer(Arc<Memory>),
    Texture(Arc<Texture>),
}

impl Resource {
    pub(in crate::vk) fn belongs_to(&self, gpu: u64) -> bool {
        match self {
            Resource::Buffer(memory) => memory.belongs_to(gpu),
            Resource::Texture(texture) => texture.belongs_to(gpu),
        }
    }
}
