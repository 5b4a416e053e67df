//! What a kernel declares about its images, for the caller that binds them.

use ahash::AHashMap;
use rspirv::spirv::{Decoration, Op, StorageClass};

use super::set_binding::SetBinding;
use super::words::{Inst, instructions};

/// What a kernel declares of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageDeclaration {
    /// `Dim`, as SPIR-V numbers it.
    pub dim: u32,
    /// Whether it has layers.
    pub arrayed: bool,
    /// Whether its texels have several samples.
    pub multisampled: bool,
    /// Whether texels are integers, and if so whether they have signs.
    pub integers: Option<bool>,
    /// `ImageFormat`, as SPIR-V numbers it; 0 (`Unknown`) if none is declared.
    pub format: u32,
}

/// The image at a binding of a module, or the images of an array, which are alike; `None` if there is none.
pub(crate) fn image_at(module: &[u32], at: SetBinding) -> Option<ImageDeclaration> {
    let mut types: AHashMap<u32, Inst<'_>> = AHashMap::new();
    let mut places: AHashMap<u32, SetBinding> = AHashMap::new();
    let mut found = None;
    for inst in instructions(module) {
        match inst.op() {
            Some(Op::Decorate) => {
                let (place, value) = (places.entry(inst.at(0)).or_default(), inst.at(2));
                if inst.at(1) == Decoration::DescriptorSet as u32 {
                    place.set = value;
                } else if inst.at(1) == Decoration::Binding as u32 {
                    place.binding = value;
                }
            }
            Some(Op::TypeInt | Op::TypeImage | Op::TypeSampledImage | Op::TypePointer | Op::TypeArray) => {
                types.insert(inst.at(0), inst);
            }
            Some(Op::Variable)
                if inst.at(2) == StorageClass::UniformConstant as u32
                    && places.get(&inst.at(1)) == Some(&at.whole()) =>
            {
                found = Some(inst.at(0));
            }
            Some(Op::Function) => break,
            _ => {}
        }
    }
    // A pointer has its class before its type.
    let mut image = types.get(&types.get(&found?)?.at(2))?;
    if image.op() == Some(Op::TypeArray) {
        image = types.get(&image.at(1))?;
    }
    if image.op() == Some(Op::TypeSampledImage) {
        image = types.get(&image.at(1))?;
    }
    let texel = types.get(&image.at(1)).filter(|texel| texel.op() == Some(Op::TypeInt));
    (image.op() == Some(Op::TypeImage)).then(|| ImageDeclaration {
        dim: image.at(2),
        arrayed: image.at(4) == 1,
        multisampled: image.at(5) == 1,
        integers: texel.map(|texel| texel.at(2) == 1),
        format: image.at(7),
    })
}
