//! The images of an instance: as large as the planner knows, of a format that the kernels declare or one that is made up.
//!
//! Code is made for any format that a kernel does not declare, so any of them tells whether the code is right.

use std::collections::BTreeMap;

use super::NotApplicable;
use super::instance::texels;
use crate::kernel::{BindingKind, SetBinding, TextureKind};
use crate::plan::{Arg, ImageSize, Step, Submission};
use vkfuse_interp::{Channel, Program, TexelFormat};

/// Bytes of the widest texel.
pub(super) const WIDEST: u64 = 16;

/// What the list binds that has texels, by the number of its memory.
#[derive(Default)]
pub(super) struct Images {
    /// Of an image its extent; nothing where that is not known, or not the same for all that see it.
    extents: BTreeMap<u64, Option<[u32; 3]>>,
    /// Of a range of a buffer its bytes and texels.
    buffers: BTreeMap<(u64, u64), (u64, u64)>,
}

impl Images {
    pub(super) fn of(list: &[Submission]) -> Self {
        let mut images = Self::default();
        for one in list {
            for (arg, binding) in one.args.iter().zip(&one.kernel.interface.bindings) {
                images.add(arg, binding.kind);
            }
        }
        images
    }

    fn add(&mut self, arg: &Arg, kind: BindingKind) {
        match (kind.texture(), arg.image) {
            (None | Some(TextureKind::Sampler), _) => {}
            (Some(kind), size) if kind.is_texels() => {
                let count = size.map_or(0, |size| u64::from(size.extent[0]));
                self.buffers.insert((arg.buffer.0, arg.offset), (arg.len, count));
            }
            (Some(_), size) => {
                let extent = size.map(|size| size.extent);
                let known = self.extents.entry(arg.buffer.0).or_insert(extent);
                if *known != extent {
                    *known = None;
                }
            }
        }
    }

    /// The extent of a buffer that is an image.
    pub(super) fn extent(&self, buffer: u64) -> Option<[u32; 3]> {
        *self.extents.get(&buffer)?
    }

    /// The bytes of each image.
    pub(super) fn sizes(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.extents.iter().map(|(&buffer, extent)| {
            let size = extent.map(|extent| ImageSize { extent, levels: 1, samples: 1, view: None });
            (buffer, size.map_or(0, |size| texels(&size) * WIDEST))
        })
    }

    /// The format of each image: the one that is declared, or one of 32 bits a channel.
    pub(super) fn formats(&self, steps: &[(&Step, Program)]) -> Result<Formats, NotApplicable> {
        let not = |what: &str| Err(NotApplicable::Interpreter(what.to_owned()));
        if self.extents.values().any(Option::is_none) {
            return not("the size of an image is not known, or it is bound in several sizes");
        }
        let mut declared: BTreeMap<u64, TexelFormat> = BTreeMap::new();
        let mut floats: BTreeMap<u64, bool> = BTreeMap::new();
        for (step, program) in steps {
            for image in program.images() {
                let Some((buffer, _)) = self.place(step, (image.set, image.binding)) else { continue };
                floats.insert(buffer, image.of_floats);
                let Some(format) = image.format else { continue };
                if *declared.entry(buffer).or_insert(format) != format {
                    return not("one image is declared in several formats");
                }
            }
        }
        for (buffer, of_floats) in floats {
            let channel = if of_floats { Channel::Float32 } else { Channel::Uint32 };
            declared.entry(buffer).or_insert(TexelFormat { channel, channels: 4 });
        }
        Ok(Formats(declared))
    }

    /// Tells programs the formats that they do not declare.
    pub(super) fn tell(
        &self,
        steps: &mut [(&Step, Program)],
        formats: &Formats,
    ) -> Result<(), NotApplicable> {
        for (step, program) in steps {
            let open: Vec<_> = program.images().filter(|image| image.format.is_none()).collect();
            for image in open {
                let at = (image.set, image.binding);
                let Some((buffer, offset)) = self.place(step, at) else { continue };
                let format = match self.buffers.get(&(buffer, offset)) {
                    None => formats.0.get(&buffer).copied(),
                    Some(&(bytes, count)) => of_bytes(bytes.checked_div(count), image.of_floats),
                };
                let Some(format) = format else {
                    let what = "the format of a buffer of texels is not known";
                    return Err(NotApplicable::Interpreter(what.to_owned()));
                };
                program.set_format(image.set, image.binding, format);
            }
        }
        Ok(())
    }

    /// What a step binds: the memory, and the first byte.
    fn place(&self, step: &Step, (set, binding): (u32, u32)) -> Option<(u64, u64)> {
        let at = SetBinding::from((set, binding));
        let bound = step.bindings.iter().find(|bound| bound.at == at)?;
        Some((bound.buffer.0, bound.offset))
    }
}

/// The formats of images, by the number of their memory.
pub(super) struct Formats(BTreeMap<u64, TexelFormat>);

/// A format with texels of this many bytes.
fn of_bytes(bytes: Option<u64>, of_floats: bool) -> Option<TexelFormat> {
    let (channel, channels) = match (bytes?, of_floats) {
        (1, true) => (Channel::Unorm8, 1),
        (1, false) => (Channel::Uint8, 1),
        (2, true) => (Channel::Float16, 1),
        (2, false) => (Channel::Uint16, 1),
        (bytes @ (4 | 8 | 16), true) => (Channel::Float32, bytes / 4),
        (bytes @ (4 | 8 | 16), false) => (Channel::Uint32, bytes / 4),
        _ => return None,
    };
    Some(TexelFormat { channel, channels: channels as u32 })
}
