//! Built-ins of three numbers: loads of them, and other numbers in their place.

use rspirv::spirv::{BuiltIn, Op};

use super::build::Builder;
use super::entity::{Type, Value};
use super::types::TypeKind;

impl Builder<'_> {
    /// The type of vectors of three numbers without a sign.
    pub fn uvec3(&mut self) -> Type {
        let element = self.module.u32();
        self.module.ty(TypeKind::Vector { element, count: 3 })
    }

    /// Loads a built-in as a vector of numbers without a sign.
    pub fn ids(&mut self, builtin: BuiltIn) -> Value {
        let uvec3 = self.uvec3();
        let value = self.input(builtin, uvec3);
        self.cast(value, uvec3)
    }

    /// Loads a component of a built-in.
    pub fn component(&mut self, builtin: BuiltIn, dim: u32) -> Value {
        let (number, value) = (self.module.u32(), self.ids(builtin));
        self.pure(Op::CompositeExtract, number, &[value], &[dim])
    }

    /// Loads a built-in, and takes its components.
    pub fn components(&mut self, builtin: BuiltIn) -> [Value; 3] {
        let (number, value) = (self.module.u32(), self.ids(builtin));
        [0, 1, 2].map(|dim| self.pure(Op::CompositeExtract, number, &[value], &[dim]))
    }

    /// Sets components to the digits of a number, the lightest first: each with how many values it takes, if the rest is not all its own.
    pub(crate) fn digits(
        &mut self,
        number: Value,
        parts: &mut [Value; 3],
        digits: impl IntoIterator<Item = (usize, Option<Value>)>,
    ) {
        let mut rest = number;
        for (dim, several) in digits {
            parts[dim] = rest;
            if let Some(several) = several {
                parts[dim] = self.math(Op::UMod, rest, several);
                rest = self.math(Op::UDiv, rest, several);
            }
        }
    }

    /// The numbers that make up a local index of work-groups of a size; components of dimensions of one invocation are as they were.
    pub(crate) fn split_index(&mut self, index: Value, parts: &mut [Value; 3], size: [u32; 3]) {
        let dims = (0..3).filter(|&dim| size[dim] != 1);
        let last = dims.clone().next_back();
        let dims: Vec<_> = dims.map(|dim| (dim, (Some(dim) != last).then(|| self.word(size[dim])))).collect();
        self.digits(index, parts, dims);
    }

    /// The vector of three numbers, as another type of vectors if that is asked for.
    pub fn vector(&mut self, parts: &[Value; 3], ty: Type) -> Value {
        let uvec3 = self.uvec3();
        let value = self.pure(Op::CompositeConstruct, uvec3, parts, &[]);
        self.cast(value, ty)
    }

    /// What a load finds of three numbers: of type `ty`, one of them where there is an index, or all; the first where that is no vector.
    pub fn part(&mut self, parts: &[Value; 3], index: Option<Value>, ty: Type) -> Value {
        let Some(index) = index else {
            return match *self.module.types.kind(ty) {
                TypeKind::Int { .. } => self.cast(parts[0], ty),
                _ => self.vector(parts, ty),
            };
        };
        let known = self.f().number(self.module, index);
        match known.and_then(|known| parts.get(known as usize)) {
            Some(&part) => self.cast(part, ty),
            None => {
                let (uvec3, number) = (self.uvec3(), self.module.u32());
                let all = self.vector(parts, uvec3);
                let part = self.pure(Op::VectorExtractDynamic, number, &[all, index], &[]);
                self.cast(part, ty)
            }
        }
    }
}
