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
    Resource { at: SetBinding, kind: Kind, array: Option<Length> },
    Push,
    Workgroup,
    Private,
    BuiltIn(BuiltIn),
    Other,
}

/// The length of an array of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// A constant number of descriptors.
    Of(u32),
    /// As many as are bound.
    Unsized,
    /// More than [`MOST_ELEMENTS`].
    Long,
    /// It is an array of arrays.
    Nested,
}

/// Most elements of an array of descriptors. Each is an argument of its own, which every submission looks at.
const MOST_ELEMENTS: u64 = 4096;

/// Kind of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    StorageBuffer,
    UniformBuffer,
    Other(&'static str),
}

pub(super) const SAMPLER: &str = "sampler";
pub(crate) const SAMPLED: &str = "combined image sampler";
const ACCELERATION: &str = "acceleration structure";
const OPAQUE: &str = "opaque resource";
pub(super) const STORAGE_TEXELS: &str = "storage texel buffer";
pub(super) const UNIFORM_TEXELS: &str = "uniform texel buffer";
pub(crate) const STORAGE_IMAGE: &str = "storage image";
pub(crate) const SAMPLED_IMAGE: &str = "sampled image";

/// What an array is called that has as many elements as are bound.
pub(super) const UNSIZED: &str = "array of descriptors without a length";

/// What an array of too many elements is called.
pub(super) const LONG: &str = "array of more than 4096 descriptors";

/// What an array of arrays is called.
pub(super) const NESTED: &str = "array of arrays of descriptors";

/// What a binding is called that variables of different kinds share.
pub(super) const MIXED: &str = "binding of several kinds";

/// All names of what is no buffer.
pub(super) const KINDS: [&str; 12] = [
    MIXED,
    UNSIZED,
    LONG,
    NESTED,
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

/// What a global variable stands for; nothing for another instruction.
pub(super) fn role_of(inst: &Instruction, defs: &Defs<'_>) -> Option<Role> {
    Some(variable(inst, defs)?.role)
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
            let mut array = None;
            while let Some(outer) = defs.get(ty)
                && matches!(outer.class.opcode, Op::TypeArray | Op::TypeRuntimeArray)
            {
                ty = outer.operands.first()?.id_ref_any()?;
                array = Some(match array {
                    None => length(outer, defs),
                    Some(_) => Length::Nested,
                });
            }
            let at = SetBinding {
                set: defs.decoration(id, Decoration::DescriptorSet).unwrap_or(0),
                binding: defs.decoration(id, Decoration::Binding).unwrap_or(0),
                element: 0,
            };
            let kind = kind(class, ty, defs);
            Role::Resource { at, kind, array }
        }
        _ => Role::Other,
    };
    Some(Variable { id, ty, role })
}

fn length(array: &Instruction, defs: &Defs<'_>) -> Length {
    let length = array.operands.get(1).and_then(Operand::id_ref_any);
    match length.and_then(|length| defs.constant(length)) {
        None => Length::Unsized,
        Some(length @ ..=MOST_ELEMENTS) => Length::Of(length as u32),
        Some(_) => Length::Long,
    }
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

/// The kind of an `OpTypeSampledImage`. Compilers also use it for a `samplerBuffer`, which is never sampled: that is a uniform texel buffer.
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
