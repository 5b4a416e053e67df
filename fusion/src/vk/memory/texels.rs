//! Buffers seen through a format: what kernels read and write as texels.
//!
//! Unlike images they are memory as all buffers are: no layout, and what orders work on the buffer orders work through its views.

use std::{ops::Range, sync::Arc};

use ash::vk;
use vulkano::{
    VulkanObject,
    buffer::{
        BufferUsage,
        view::{BufferView, BufferViewCreateInfo},
    },
    format::{Format, FormatFeatures},
};

use crate::vk::{BindingKind, DeviceError, Gpu, Memory, texture::Texture};

/// A view of a part of a buffer.
#[derive(Debug)]
pub(in crate::vk) struct Texels {
    view: Arc<BufferView>,
    /// What it is a view of, which is not to be used for another buffer meanwhile.
    memory: Arc<Memory>,
    bytes: u64,
}

impl Texels {
    pub(in crate::vk) fn handle(&self) -> vk::BufferView {
        self.view.handle()
    }

    pub(in crate::vk) fn format(&self) -> Format {
        self.view.format()
    }

    pub(in crate::vk) fn host_may_look(&self) -> bool {
        self.memory.host_may_look()
    }

    /// How many there are.
    pub(in crate::vk) fn count(&self) -> u64 {
        self.bytes / self.format().block_size()
    }

    /// Whether the buffer was made for that use, and the format serves it.
    pub(in crate::vk) fn serves(&self, kind: BindingKind) -> bool {
        let (usage, feature) = match kind {
            BindingKind::UniformTexels => {
                (BufferUsage::UNIFORM_TEXEL_BUFFER, FormatFeatures::UNIFORM_TEXEL_BUFFER)
            }
            BindingKind::StorageTexels => {
                (BufferUsage::STORAGE_TEXEL_BUFFER, FormatFeatures::STORAGE_TEXEL_BUFFER)
            }
            _ => return false,
        };
        let made_for = self.view.buffer().buffer().usage().contains(usage);
        made_for && self.view.format_features().contains(feature)
    }
}

impl Gpu {
    /// A view of bytes of a memory, which are inside it.
    ///
    /// Of a buffer that was made for both uses, Vulkan asks for a format that serves both.
    pub(crate) fn make_texels(
        &self,
        memory: &Arc<Memory>,
        format: Format,
        range: Range<u64>,
    ) -> Result<Arc<Texture>, DeviceError> {
        let error = |reason: String| DeviceError::Texels { reason };
        memory.check("texels", range.start, range.end.saturating_sub(range.start))?;
        let (bytes, texel) = (range.end - range.start, format.block_size());
        if format.block_extent() != [1, 1, 1] || texel == 0 {
            return Err(error(format!("{format:?} is no uncompressed format")));
        }
        if bytes == 0 || !bytes.is_multiple_of(texel) {
            return Err(error(format!("{bytes} bytes are not a number of texels of {texel} bytes each")));
        }
        let properties = self.device().physical_device().properties();
        let limit = properties.max_texel_buffer_elements.into();
        if bytes / texel > limit {
            return Err(DeviceError::OverLimit {
                what: "a number of texels",
                asked: bytes / texel,
                limit,
                name: "maxTexelBufferElements",
            });
        }
        let (value, align) =
            (memory.base() + range.start, properties.min_texel_buffer_offset_alignment.as_devicesize());
        if !value.is_multiple_of(align) {
            return Err(DeviceError::Misaligned { what: "offset of texels", value, align });
        }
        let usage = memory.part(0..memory.size()).buffer().usage();
        if !usage.intersects(BufferUsage::UNIFORM_TEXEL_BUFFER | BufferUsage::STORAGE_TEXEL_BUFFER) {
            return Err(DeviceError::MissingUsage { usage: "UNIFORM_TEXEL_BUFFER or STORAGE_TEXEL_BUFFER" });
        }
        let info = BufferViewCreateInfo { format, ..BufferViewCreateInfo::default() };
        let view = BufferView::new(memory.part(range), info);
        let view = view.map_err(|problem| error(format!("{format:?}: {problem}")))?;
        let texels = Texels { view, memory: memory.clone(), bytes };
        Ok(Arc::new(Texture::over_texels(self.0.id, texels)))
    }
}
