//! Built-ins of three numbers that passes on the IR load.

use rspirv::spirv::{BuiltIn, Op};

use crate::ir::entity::{Type, Value};
use crate::ir::{Builder, Module, TypeKind};

pub(super) fn uvec3(module: &mut Module) -> Type {
    let element = module.u32();
    module.ty(TypeKind::Vector { element, count: 3 })
}

/// A built-in as a vector of numbers without a sign.
pub(super) fn vector(code: &mut Builder<'_>, builtin: BuiltIn) -> Value {
    let uvec3 = uvec3(code.module);
    let value = code.input(builtin, uvec3);
    code.cast(value, uvec3)
}

/// A component of a built-in.
pub(super) fn component(code: &mut Builder<'_>, builtin: BuiltIn, dim: u32) -> Value {
    let (number, value) = (code.module.u32(), vector(code, builtin));
    code.pure(Op::CompositeExtract, number, &[value], &[dim])
}

/// The vector of three numbers, as another type of vectors if that is asked for.
pub(super) fn made(code: &mut Builder<'_>, parts: &[Value; 3], ty: Type) -> Value {
    let uvec3 = uvec3(code.module);
    let value = code.pure(Op::CompositeConstruct, uvec3, parts, &[]);
    code.cast(value, ty)
}
