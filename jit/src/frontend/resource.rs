//! The global variables of a kernel, classed by what they stand for.

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{BuiltIn, Decoration, Dim, Op, StorageClass};

use super::defs::{Defs, variable_class};
use super::set_binding::SetBinding;

/// A global variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    /// Its result id.
    pub(crate) id: u32,
    /// Type it points to; for an array of descriptors, the type of one.
    pub(crate) ty: u32,
    /// What it stands for.
    pub(crate) role: Role,
}

/// What a global variable stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Resource { at: SetBinding, kind: Kind, array: bool },
    Push,
    Workgroup,
    Private,
    BuiltIn(BuiltIn),
    Other,
}

/// Kind of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    StorageBuffer,
    UniformBuffer,
    Other(&'static str),
}

pub(super) const SAMPLER: &str = "sampler";
pub(super) const SAMPLED: &str = "combined image sampler";
const ACCELERATION: &str = "acceleration structure";
const OPAQUE: &str = "opaque resource";
pub(super) const STORAGE_TEXELS: &str = "storage texel buffer";
pub(super) const UNIFORM_TEXELS: &str = "uniform texel buffer";
pub(super) const STORAGE_IMAGE: &str = "storage image";
pub(super) const SAMPLED_IMAGE: &str = "sampled image";

/// What an array of buffers is called.
pub(super) const BUFFER_ARRAY: &str = "array of buffers";

/// What an array of images, samplers and the like is called.
pub(super) const ARRAY: &str = "array of resources";

/// What a binding is called that variables of different kinds share.
pub(super) const MIXED: &str = "binding of several kinds";

/// All names of what is no single buffer.
pub(super) const KINDS: [&str; 11] = [
    MIXED,
    BUFFER_ARRAY,
    ARRAY,
    SAMPLER,
    SAMPLED,
    ACCELERATION,
    OPAQUE,
    STORAGE_TEXELS,
    UNIFORM_TEXELS,
    STORAGE_IMAGE,
    SAMPLED_IMAGE,
];

/// Lists the global variables, in order.
pub(crate) fn variables(module: &Module, defs: &Defs<'_>) -> Vec<Variable> {
    let globals = module.types_global_values.iter();
    globals.filter_map(|inst| variable(inst, defs)).collect()
}

fn variable(inst: &Instruction, defs: &Defs<'_>) -> Option<Variable> {
    let class = variable_class(inst)?;
    let id = inst.result_id?;
    let (_, pointee) = defs.pointer(inst.result_type?)?;
    let mut ty = pointee;
    let role = match class {
        StorageClass::PushConstant => Role::Push,
        StorageClass::Workgroup => Role::Workgroup,
        StorageClass::Private => Role::Private,
        StorageClass::Input => match defs.decoration(id, Decoration::BuiltIn) {
            Some(builtin) => BuiltIn::from_u32(builtin).map_or(Role::Other, Role::BuiltIn),
            None => Role::Other,
        },
        StorageClass::StorageBuffer | StorageClass::Uniform | StorageClass::UniformConstant => {
            let mut array = false;
            while let Some(outer) = defs.get(ty)
                && matches!(outer.class.opcode, Op::TypeArray | Op::TypeRuntimeArray)
            {
                ty = outer.operands.first()?.id_ref_any()?;
                array = true;
            }
            let at = SetBinding {
                set: defs.decoration(id, Decoration::DescriptorSet).unwrap_or(0),
                binding: defs.decoration(id, Decoration::Binding).unwrap_or(0),
            };
            let kind = kind(class, ty, defs);
            Role::Resource { at, kind, array }
        }
        _ => Role::Other,
    };
    Some(Variable { id, ty, role })
}

fn kind(class: StorageClass, ty: u32, defs: &Defs<'_>) -> Kind {
    let buffer_block = defs.decoration(ty, Decoration::BufferBlock).is_some();
    match class {
        StorageClass::StorageBuffer => Kind::StorageBuffer,
        StorageClass::Uniform if buffer_block => Kind::StorageBuffer,
        StorageClass::Uniform => Kind::UniformBuffer,
        _ => Kind::Other(match defs.op(ty) {
            Some(Op::TypeSampler) => SAMPLER,
            Some(Op::TypeSampledImage) => combined_kind(ty, defs),
            Some(Op::TypeAccelerationStructureKHR) => ACCELERATION,
            Some(Op::TypeImage) => image_kind(ty, defs),
            _ => OPAQUE,
        }),
    }
}

/// What compilers make of a `samplerBuffer`, of which nothing is sampled, is a combined type too.
fn combined_kind(ty: u32, defs: &Defs<'_>) -> &'static str {
    let image = defs.get(ty).and_then(|inst| inst.operands.first()?.id_ref_any());
    match image.map(|image| image_kind(image, defs)) {
        Some(UNIFORM_TEXELS) => UNIFORM_TEXELS,
        _ => SAMPLED,
    }
}

fn image_kind(ty: u32, defs: &Defs<'_>) -> &'static str {
    let operands = defs.get(ty).map_or(&[][..], |inst| &inst.operands);
    let buffer = operands.get(1) == Some(&Operand::Dim(Dim::DimBuffer));
    // 1: sampled, 2: read and written without a sampler (SPIR-V, "OpTypeImage").
    let storage = operands.get(5) == Some(&Operand::LiteralBit32(2));
    match (buffer, storage) {
        (true, true) => STORAGE_TEXELS,
        (true, false) => UNIFORM_TEXELS,
        (false, true) => STORAGE_IMAGE,
        (false, false) => SAMPLED_IMAGE,
    }
}
