//! Vectors of two to four components.
//!
//! `repr(C)`. Vectors of two and four are aligned as a whole, as in shaders; vectors of three as one component, as usual in
//! Rust, so that they have no padding.

use bytemuck::{Pod, Zeroable};

use crate::{
    capture::{Arguments, Capture, HasField, Position, Signature, Stage, Value, name_hash, plain},
    shape::{ScalarType, Shape},
    stage::{Plain, Val},
    value::{Number, Signed},
};

macro_rules! vector {
    ($name:ident $scalar:ident $variant:ident $n:literal align $align:literal: $($field:ident $k:literal),+) => {
        /// A vector; arithmetic is by components.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
        #[repr(C, align($align))]
        #[allow(missing_docs)]
        pub struct $name {
            $(pub $field: $scalar,)+
        }

        impl $name {
            /// A vector of these components.
            #[must_use]
            pub const fn new($($field: $scalar),+) -> Self {
                Self { $($field),+ }
            }

            /// A vector of equal components.
            #[must_use]
            pub const fn splat(value: $scalar) -> Self {
                Self { $($field: value),+ }
            }

            #[doc(hidden)]
            pub fn __lower_new($($field: Val<$scalar>),+) -> Val<Self> {
                crate::stage::vector(&[$($field.id),+])
            }

            #[doc(hidden)]
            pub fn __lower_splat(value: Val<$scalar>) -> Val<Self> {
                crate::stage::vector(&[value.id; $n])
            }
        }

        impl Stage for $name {
            type Kind = Plain;
        }
        impl Capture for $name {
            fn advance(at: Position) -> Position {
                plain::advance::<Self>(at)
            }
            fn plain_shape() -> Option<Shape> {
                Some(Self::shape())
            }
            fn describe(path: &str, at: Position, signature: &mut Signature) {
                plain::describe::<Self>(path, at, signature);
            }
            fn bind(&self, at: Position, arguments: &mut Arguments) {
                plain::bind(self, at, arguments);
            }
        }
        impl Value for $name {
            fn shape() -> Shape {
                Shape::Vector(ScalarType::$variant, $n)
            }
            fn write(&self, bytes: &mut [u8]) {
                bytes.copy_from_slice(bytemuck::bytes_of(self));
            }
            fn zero() -> Self {
                Zeroable::zeroed()
            }
        }
        impl Number for $name {
            fn kernel_add(self, other: Self) -> Self {
                Self { $($field: self.$field.kernel_add(other.$field)),+ }
            }
            fn kernel_sub(self, other: Self) -> Self {
                Self { $($field: self.$field.kernel_sub(other.$field)),+ }
            }
            fn kernel_mul(self, other: Self) -> Self {
                Self { $($field: self.$field.kernel_mul(other.$field)),+ }
            }
            fn kernel_div(self, other: Self) -> Self {
                Self { $($field: self.$field.kernel_div(other.$field)),+ }
            }
        }
        $(impl HasField<{ name_hash(stringify!($field)) }> for $name {
            type Type = $scalar;
            const INDEX: u32 = $k;
            fn position(at: Position) -> Position {
                at
            }
        })+
    };
}

macro_rules! signed {
    ($($name:ident: $($field:ident)+;)+) => {$(
        impl Signed for $name {
            fn kernel_neg(self) -> Self {
                Self { $($field: self.$field.kernel_neg()),+ }
            }
        }
    )+};
}

vector! { Vec2 f32 F32 2 align 8: x 0, y 1 }
vector! { Vec3 f32 F32 3 align 4: x 0, y 1, z 2 }
vector! { Vec4 f32 F32 4 align 16: x 0, y 1, z 2, w 3 }
vector! { DVec2 f64 F64 2 align 16: x 0, y 1 }
vector! { DVec3 f64 F64 3 align 8: x 0, y 1, z 2 }
vector! { DVec4 f64 F64 4 align 32: x 0, y 1, z 2, w 3 }
vector! { IVec2 i32 I32 2 align 8: x 0, y 1 }
vector! { IVec3 i32 I32 3 align 4: x 0, y 1, z 2 }
vector! { IVec4 i32 I32 4 align 16: x 0, y 1, z 2, w 3 }
vector! { UVec2 u32 U32 2 align 8: x 0, y 1 }
vector! { UVec3 u32 U32 3 align 4: x 0, y 1, z 2 }
vector! { UVec4 u32 U32 4 align 16: x 0, y 1, z 2, w 3 }

signed! {
    Vec2: x y; Vec3: x y z; Vec4: x y z w;
    DVec2: x y; DVec3: x y z; DVec4: x y z w;
    IVec2: x y; IVec3: x y z; IVec4: x y z w;
}
