//! Buffers that stay inside: variables in place of bindings, and accesses to them.

use rspirv::spirv::{BuiltIn, Capability, Op, StorageClass};

use crate::ir::entity::{Global, Type, Value};
use crate::ir::{Access, Args, Builder, GlobalData, Module, Operation, TypeKind};
use crate::plan::Internalization;
use crate::plan::recipe::{Internal, SlotOf};

/// The variable of one internalized buffer; made when the first member that uses it is linked.
#[derive(Clone, Copy)]
pub(crate) struct InternalVariable {
    global: Global,
    /// Element type without layout.
    element: Type,
    slots: u32,
}

impl InternalVariable {
    pub(crate) fn new(module: &mut Module, internal: &Internal, element: Type) -> Self {
        let class = match internal.kind {
            Internalization::Local => StorageClass::Workgroup,
            _ => StorageClass::Private,
        };
        let element = without_layout(module, element);
        need_scalars(module, element);
        let ty = if internal.slots == 1 {
            element
        } else {
            let length = module.word(internal.slots);
            module.ty(TypeKind::Array { element, length })
        };
        let pointer = module.pointer(class, ty);
        let global = module.global(GlobalData { pointer, class, initializer: None, decorations: None });
        Self { global, element, slots: internal.slots }
    }

    /// Whether it keeps one element.
    pub(crate) fn is_one(&self) -> bool {
        self.slots == 1
    }

    /// Number of the slot of an element; `index` is the kernel's own index.
    pub(crate) fn slot(&self, code: &mut Builder<'_>, slot: &SlotOf, index: Value) -> Value {
        match slot {
            // The linker adds the iterations.
            SlotOf::Fixed(first) | SlotOf::Unrolled { first, .. } => code.word(*first),
            SlotOf::Relative { group, local, constant, divisor } => {
                let mut sum = as_u32(code, index);
                for (factors, builtin) in [(group, BuiltIn::WorkgroupId), (local, BuiltIn::LocalInvocationId)]
                {
                    for (d, &factor) in (0..).zip(factors).filter(|(_, f)| **f != 0) {
                        // Modulo 2^32, as the kernel's own index arithmetic.
                        let id = code.component(builtin, d);
                        let factor = code.word(factor as u32);
                        let part = code.math(Op::IMul, id, factor);
                        sum = code.math(Op::ISub, sum, part);
                    }
                }
                let constant = code.word(*constant as u32);
                let sum = code.math(Op::IAdd, sum, constant);
                if *divisor == 1 {
                    sum
                } else {
                    let divisor = code.word(*divisor);
                    code.math(Op::UDiv, sum, divisor)
                }
            }
        }
    }

    /// What loads a value of (laid-out) type `ty`.
    pub(crate) fn load(&self, code: &mut Builder<'_>, path: &[Value], ty: Type) -> Operation {
        let plain = self.type_at(code, path);
        if let Some(parts) = aggregate(code.module, plain, ty) {
            let mut args = Args::new();
            for (number, part) in (0..).zip(parts) {
                let mut path = path.to_vec();
                path.push(code.word(number));
                let load = self.load(code, &path, part);
                args.push(code.value(load, part));
            }
            return Operation::Pure { op: Op::CompositeConstruct, args, literals: Default::default() };
        }
        let place = code.place_of(self.global, path, plain);
        let load = Operation::Load { place, access: Access::default() };
        if plain == ty {
            return load;
        }
        // Another member sees the same bits as another type.
        let args = Args::from_slice(&[code.value(load, plain)]);
        Operation::Pure { op: Op::Bitcast, args, literals: Default::default() }
    }

    /// Stores a value of a (laid-out) type.
    pub(crate) fn store(&self, code: &mut Builder<'_>, path: &[Value], value: Value) {
        let (plain, ty) = (self.type_at(code, path), code.f().values[value].ty);
        if let Some(parts) = aggregate(code.module, plain, ty) {
            for (number, part) in (0..).zip(parts) {
                let part = code.pure(Op::CompositeExtract, part, &[value], &[number]);
                let mut path = path.to_vec();
                path.push(code.word(number));
                self.store(code, &path, part);
            }
            return;
        }
        let value = code.cast(value, plain);
        let place = code.place_of(self.global, path, plain);
        code.effect(Operation::Store { place, value, access: Access::default() });
    }

    /// Type without layout at the end of a path whose first index is the slot, if there are several.
    fn type_at(&self, code: &Builder<'_>, path: &[Value]) -> Type {
        let inner = if self.is_one() { path } else { path.get(1..).unwrap_or(&[]) };
        let member = |index: Value| code.f().number(code.module, index);
        inner.iter().fold(self.element, |ty, &index| code.module.types.part(ty, member(index)).unwrap_or(ty))
    }
}

/// The type without explicit layout, as variables outside of buffers want it.
fn without_layout(module: &mut Module, ty: Type) -> Type {
    match module.types.kind(ty).clone() {
        TypeKind::Struct { members } => {
            let members = members.into_iter().map(|member| without_layout(module, member)).collect();
            module.ty(TypeKind::Struct { members })
        }
        TypeKind::Array { element, length } => {
            let element = without_layout(module, element);
            module.ty(TypeKind::Array { element, length })
        }
        _ => ty,
    }
}

/// Declares what variables of a type need beyond what buffers of it do.
fn need_scalars(module: &mut Module, ty: Type) {
    match *module.types.kind(ty) {
        TypeKind::Int { width: 8, .. } => module.capability(Capability::Int8),
        TypeKind::Int { width: 16, .. } => module.capability(Capability::Int16),
        TypeKind::Struct { ref members } => {
            members.clone().into_iter().for_each(|member| need_scalars(module, member));
        }
        TypeKind::Array { element: part, .. }
        | TypeKind::Vector { element: part, .. }
        | TypeKind::Matrix { column: part, .. } => need_scalars(module, part),
        _ if module.types.float_width(ty) == Some(16) => module.capability(Capability::Float16),
        _ => {}
    }
}

/// Parts of an aggregate whose laid-out type differs from the one without layout.
fn aggregate(module: &Module, plain: Type, ty: Type) -> Option<Vec<Type>> {
    (plain != ty).then(|| module.parts(ty))?
}

/// The value as an unsigned 32-bit number.
fn as_u32(code: &mut Builder<'_>, value: Value) -> Value {
    let u32_type = code.module.u32();
    match *code.module.types.kind(code.f().values[value].ty) {
        // Widening keeps the sign of signed types; narrowing keeps the low bits of either.
        TypeKind::Int { width, signed } if width != 32 => {
            let op = if signed && width < 32 { Op::SConvert } else { Op::UConvert };
            code.pure(op, u32_type, &[value], &[])
        }
        _ => code.cast(value, u32_type),
    }
}
