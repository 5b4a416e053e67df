//! Images and samplers.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use parking_lot::Mutex;
use vulkano::{
    format::Format,
    image::{sampler::SamplerCreateInfo, view::ImageViewType},
};

use crate::{
    api::{buffer::Buffer, context::Context},
    error::{BufferError, Error},
    jit::{BufferId, ElementType},
    report::outcome::CancelCause,
    runtime::context::ContextInner,
    submission::{
        accessor::{Access, Accessor},
        buffer::BufferInner,
        dependencies::Touch,
        held::Held,
        identity::HandleId,
    },
    vk::{Command, ImageShape, Texture, UserImage},
};

/// An image in device memory, with one mip level, always in the layout `GENERAL`.
///
/// In a fusion list, kernels that read and write texels by coordinates are fused like kernels on buffers. An image that is sampled has to be
/// written by an earlier dispatch.
///
/// This is a handle: clones are the same image, which is freed when the last handle is dropped and the last submission that uses it has
/// completed.
///
/// ```no_run
/// # use vkfuse::vulkano::{format::Format, image::view::ImageViewType};
/// # fn main() -> Result<(), vkfuse::Error> {
/// # let context = vkfuse::Context::new()?;
/// # let queue = context.queue(vkfuse::QueueOptions::new())?;
/// # let blur = context.load_spirv("blur.spv")?;
/// let photo = context.image(ImageViewType::Dim2d, Format::R8G8B8A8_UNORM, [640, 480, 1], 1)?;
/// let blurred = context.image(ImageViewType::Dim2d, Format::R8G8B8A8_UNORM, [640, 480, 1], 1)?;
/// photo.upload(&[0x80; 640 * 480 * 4])?;
/// queue.submit(|h| {
///     h.arg(0, photo.read()).arg(1, blurred.write()).dispatch_items(&blur, [640, 480, 1]);
/// })?;
/// let bytes = blurred.download()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Image {
    inner: Arc<ImageInner>,
}

#[derive(Debug)]
struct ImageInner {
    buffer: Arc<BufferInner>,
    texture: Arc<Texture>,
    context: Arc<ContextInner>,
    /// The image with each sampler that it was sampled by.
    sampled: Mutex<Vec<(HandleId, Arc<BufferInner>)>>,
    next: AtomicU64,
}

/// How images are sampled. This is a handle: clones are the same sampler.
#[derive(Debug, Clone)]
pub struct Sampler {
    buffer: Arc<BufferInner>,
    texture: Arc<Texture>,
}

/// How many samplers an image is remembered with.
const SAMPLERS: usize = 8;

impl Context {
    /// Makes an image filled with zeros.
    ///
    /// Kernels can read, write and sample it as far as the device supports that for the format.
    ///
    /// # Errors
    ///
    /// Fails if the device does not support the format or the size, or if there is not enough memory.
    pub fn image(
        &self,
        kind: ImageViewType,
        format: Format,
        extent: [u32; 3],
        layers: u32,
    ) -> Result<Image, Error> {
        let shape = ImageShape { kind, format, extent, layers };
        let image = Image::over(&self.inner, self.inner.gpu.make_image(&shape)?);
        image.prepare()?;
        Ok(image)
    }

    /// Makes an image over a vulkano image of the program ([`UserImage::new`]), with its contents.
    ///
    /// # Errors
    ///
    /// Fails if the image belongs to another device, has several mip levels, or was made without the usages `TRANSFER_SRC` and
    /// `TRANSFER_DST`.
    pub fn import_image(&self, image: &UserImage) -> Result<Image, Error> {
        let imported = Image::over(&self.inner, self.inner.gpu.import_image(image)?);
        if image.is_new() {
            imported.prepare()?;
        }
        Ok(imported)
    }

    /// Makes a sampler.
    ///
    /// # Errors
    ///
    /// Fails if vulkano rejects the description.
    pub fn sampler(&self, info: SamplerCreateInfo) -> Result<Sampler, Error> {
        let texture = self.inner.gpu.make_sampler(info)?;
        Ok(Sampler { buffer: BufferInner::textured(&self.inner.device, None, 0, &texture), texture })
    }
}

impl Image {
    fn over(context: &Arc<ContextInner>, texture: Arc<Texture>) -> Image {
        let buffer = BufferInner::textured(&context.device, None, 0, &texture);
        let (sampled, next) = (Mutex::default(), AtomicU64::new(1));
        Image { inner: Arc::new(ImageInner { buffer, texture, context: context.clone(), sampled, next }) }
    }

    /// Brings it into its layout, with zeros for contents.
    fn prepare(&self) -> Result<(), Error> {
        let ImageInner { buffer, texture, context, .. } = &*self.inner;
        // Its contents are for what runs.
        if context.gpu.caps().compile_only.is_some() {
            return Ok(());
        }
        let touch = buffer.touch(0..buffer.size, false, true);
        let command = Command::Prepare { texture: texture.clone() };
        let deps = &mut context.lock().deps;
        context.transfer(deps, 0, &Arc::from("image"), &[command], &[touch])?;
        Ok(())
    }

    /// The identity of the image, as reports name it.
    #[must_use]
    pub fn id(&self) -> BufferId {
        self.inner.buffer.shared.id.planned()
    }

    fn accessor(&self, access: Access) -> Accessor<'_> {
        Accessor::new(&self.inner.buffer, (1, ElementType::Bytes), self.inner.buffer.size, access)
    }

    /// An accessor that only reads: of a storage image, or of an image that a kernel samples by a sampler of its own binding.
    #[must_use]
    pub fn read(&self) -> Accessor<'_> {
        self.accessor(Access::Read)
    }

    /// An accessor that writes.
    #[must_use]
    pub fn write(&self) -> Accessor<'_> {
        self.accessor(Access::Write)
    }

    /// An accessor that reads and writes.
    #[must_use]
    pub fn read_write(&self) -> Accessor<'_> {
        self.accessor(Access::ReadWrite)
    }

    /// An accessor for a binding that is image and sampler in one.
    #[must_use]
    pub fn sampled(&self, sampler: &Sampler) -> Accessor<'static> {
        let mut sampled = self.inner.sampled.lock();
        let known = sampled.iter().find(|(handle, _)| *handle == sampler.buffer.handle);
        let buffer = match known {
            Some((_, buffer)) => buffer.clone(),
            None => {
                let texture = Arc::new(self.inner.texture.with(&sampler.texture));
                let (shared, number) = (&self.inner.buffer.shared, self.inner.next.fetch_add(1, Relaxed));
                let device = &self.inner.context.device;
                let buffer = BufferInner::textured(device, Some(shared), number, &texture);
                sampled.truncate(SAMPLERS - 1);
                sampled.insert(0, (sampler.buffer.handle, buffer.clone()));
                buffer
            }
        };
        let size = buffer.size;
        Accessor::with(Held::Own(buffer), (1, ElementType::Bytes), size, Access::Read)
    }

    /// Bytes of all texels, line after line, slice after slice, layer after layer, without gaps.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.inner.texture.bytes()
    }

    /// Gives it a name for messages and reports.
    pub fn set_name(&self, name: &str) {
        self.inner.buffer.set_name(name);
    }

    /// Replaces all texels.
    ///
    /// # Errors
    ///
    /// Not exactly as many bytes as the image has; the device failed.
    pub fn upload(&self, bytes: &[u8]) -> Result<(), Error> {
        let (given, len) = (bytes.len() as u64, self.size_bytes());
        if given != len {
            return Err(self.inner.buffer.error(BufferError::Length { given, len, element: 1 }));
        }
        let staging = self.staging()?;
        staging.upload(bytes)?;
        self.copy(&staging, false)
    }

    /// All texels.
    ///
    /// # Errors
    ///
    /// The image holds nothing that may be read, because the work that writes it failed; the device.
    pub fn download(&self) -> Result<Vec<u8>, Error> {
        let staging = self.staging()?;
        self.copy(&staging, true)?;
        staging.download()
    }

    fn staging(&self) -> Result<Buffer<u8>, Error> {
        let (context, len) = (&self.inner.context, self.size_bytes());
        let buffer = BufferInner::new(&context.device, len);
        buffer.allocate()?;
        Ok(Buffer::over(context, buffer))
    }

    /// Copies between the image and a buffer of as many bytes, after all lists that use it.
    fn copy(&self, with: &Buffer<u8>, out: bool) -> Result<(), Error> {
        let ImageInner { buffer: image, texture, context, .. } = &*self.inner;
        let whole = 0..with.inner.size;
        let touches = [image.touch(0..image.size, out, !out), with.inner.touch(whole, !out, out)];
        let cause = if out { CancelCause::HostRead } else { CancelCause::HostWrite };
        let mut schedule =
            context.observe(&touches, [image, &with.inner].into_iter(), None, Touch::conflicts, cause)?;
        if out {
            image.check_readable(&(0..image.size))?;
        }
        let memory = with.inner.memory(&mut schedule.deps)?.clone();
        let command = match out {
            true => Command::FromImage { src: texture.clone(), dst: memory },
            false => Command::ToImage { src: memory, dst: texture.clone() },
        };
        context.transfer(&mut schedule.deps, 0, &image.name(), &[command], &touches)?;
        if !out {
            image.written(image.whole());
        }
        Ok(())
    }
}

impl<'a> From<&'a Image> for Accessor<'a> {
    fn from(image: &'a Image) -> Accessor<'a> {
        image.read_write()
    }
}

impl<'a> From<&'a Sampler> for Accessor<'a> {
    fn from(sampler: &'a Sampler) -> Accessor<'a> {
        Accessor::new(&sampler.buffer, (1, ElementType::Bytes), sampler.buffer.size, Access::Read)
    }
}
