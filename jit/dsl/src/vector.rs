//! Vectors of two to four components.
//!
//! `repr(C)`. Vectors of two and four are aligned as a whole, as in shaders; vectors of three as one component, as usual in
//! Rust, so that they have no padding.

use bytemuck::{Pod, Zeroable};

use crate::{
    capture::{Arguments, Capture, HasField, Local, Position, Signature, Stage, Value, name_hash, plain},
    shape::{ScalarType, Shape},
    stage::{Plain, Val},
    value::{Add, Div, Mul, Neg, Sub, operator},
};

/// The operators outside of kernels, with the meaning that they have in them.
macro_rules! host_operators {
    ($name:ident $scalar:ident: $($trait:ident $method:ident $kernel:ident),+) => {
        $(impl std::ops::$trait for $name {
            type Output = $name;
            fn $method(self, other: $name) -> $name {
                $trait::$kernel(self, other)
            }
        })+
        impl std::ops::Mul<$scalar> for $name {
            type Output = $name;
            fn mul(self, by: $scalar) -> $name {
                Mul::kernel_mul(self, by)
            }
        }
        impl std::ops::Div<$scalar> for $name {
            type Output = $name;
            fn div(self, by: $scalar) -> $name {
                Div::kernel_div(self, by)
            }
        }
        impl std::ops::Mul<$name> for $scalar {
            type Output = $name;
            fn mul(self, vector: $name) -> $name {
                Mul::kernel_mul(self, vector)
            }
        }
    };
}

macro_rules! vector {
    (@handle $field:ident $scalar:ident) => { Val<$scalar> };
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
            pub fn __build() -> crate::stage::StructBuilder<Self> {
                Default::default()
            }

            #[doc(hidden)]
            pub fn __lower_new(($($field),+): ($(vector!(@handle $field $scalar)),+)) -> Val<Self> {
                crate::stage::vector(&[$($field.id),+])
            }

            #[doc(hidden)]
            pub fn __lower_splat((value,): (Val<$scalar>,)) -> Val<Self> {
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
        impl Value for $name {}
        impl Local for $name {
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
        operator! { $name Add kernel_add stage_add plain_add
            |self, other| Self { $($field: self.$field.kernel_add(other.$field)),+ } }
        operator! { $name Sub kernel_sub stage_sub plain_sub
            |self, other| Self { $($field: self.$field.kernel_sub(other.$field)),+ } }
        operator! { $name Mul kernel_mul stage_mul plain_mul
            |self, other| Self { $($field: self.$field.kernel_mul(other.$field)),+ } }
        operator! { $name Div kernel_div stage_div plain_div
            |self, other| Self { $($field: self.$field.kernel_div(other.$field)),+ } }
        impl Mul<$scalar> for $name {
            type Output = $name;
            fn kernel_mul(self, by: $scalar) -> $name {
                Mul::kernel_mul(self, $name::splat(by))
            }
            fn stage_mul(a: Val<$name>, by: Val<$scalar>) -> Val<$name> {
                crate::stage::plain_mul(a, $name::__lower_splat((by,)))
            }
        }
        impl Div<$scalar> for $name {
            type Output = $name;
            fn kernel_div(self, by: $scalar) -> $name {
                Div::kernel_div(self, $name::splat(by))
            }
            fn stage_div(a: Val<$name>, by: Val<$scalar>) -> Val<$name> {
                crate::stage::plain_div(a, $name::__lower_splat((by,)))
            }
        }
        impl Mul<$name> for $scalar {
            type Output = $name;
            fn kernel_mul(self, vector: $name) -> $name {
                Mul::kernel_mul($name::splat(self), vector)
            }
            fn stage_mul(a: Val<$scalar>, vector: Val<$name>) -> Val<$name> {
                crate::stage::plain_mul($name::__lower_splat((a,)), vector)
            }
        }
        host_operators! { $name $scalar: Add add kernel_add, Sub sub kernel_sub, Mul mul kernel_mul, Div div kernel_div }
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
        impl Neg for $name {
            fn kernel_neg(self) -> Self {
                Self { $($field: self.$field.kernel_neg()),+ }
            }
            fn stage_neg(a: Val<Self>) -> Val<Self> {
                crate::stage::plain_neg(a)
            }
        }
        impl std::ops::Neg for $name {
            type Output = $name;
            fn neg(self) -> $name {
                Neg::kernel_neg(self)
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

macro_rules! products {
    ($($name:ident $scalar:ident: $($field:ident)+;)+) => {$(
        #[vkfuse_macros::device]
        impl $name {
            /// The sum of the products of the components, in order.
            #[must_use]
            pub fn dot(self, other: $name) -> $scalar {
                self.x * other.x $(+ self.$field * other.$field)+
            }

            /// All components by one number.
            #[must_use]
            pub fn scale(self, by: $scalar) -> $name {
                self * $name::splat(by)
            }
        }
    )+};
}

macro_rules! lengths {
    ($($name:ident $scalar:ident;)+) => {$(
        #[vkfuse_macros::device]
        impl $name {
            /// The root of [`dot`](Self::dot) with itself.
            #[must_use]
            pub fn length(self) -> $scalar {
                self.dot(self).sqrt()
            }

            /// By its length; no number where that is zero.
            #[must_use]
            pub fn normalize(self) -> $name {
                self / $name::splat(self.length())
            }
        }
    )+};
}

macro_rules! parts {
    ($($two:ident $three:ident $four:ident $scalar:ident;)+) => {$(
        #[vkfuse_macros::device]
        impl $two {
            /// The components in another order.
            #[must_use]
            pub fn yx(self) -> $two {
                $two::new(self.y, self.x)
            }

            /// With a third component.
            #[must_use]
            pub fn extend(self, z: $scalar) -> $three {
                $three::new(self.x, self.y, z)
            }
        }

        #[vkfuse_macros::device]
        impl $three {
            /// The vector at right angles to both, as long as the area between them.
            #[must_use]
            pub fn cross(self, other: $three) -> $three {
                $three::new(
                    self.y * other.z - self.z * other.y,
                    self.z * other.x - self.x * other.z,
                    self.x * other.y - self.y * other.x,
                )
            }

            /// Two of the components.
            #[must_use]
            pub fn xy(self) -> $two {
                $two::new(self.x, self.y)
            }

            /// Two of the components.
            #[must_use]
            pub fn xz(self) -> $two {
                $two::new(self.x, self.z)
            }

            /// Two of the components.
            #[must_use]
            pub fn yz(self) -> $two {
                $two::new(self.y, self.z)
            }

            /// The components in another order.
            #[must_use]
            pub fn yzx(self) -> $three {
                $three::new(self.y, self.z, self.x)
            }

            /// The components in another order.
            #[must_use]
            pub fn zxy(self) -> $three {
                $three::new(self.z, self.x, self.y)
            }

            /// With a fourth component.
            #[must_use]
            pub fn extend(self, w: $scalar) -> $four {
                $four::new(self.x, self.y, self.z, w)
            }
        }

        #[vkfuse_macros::device]
        impl $four {
            /// Two of the components.
            #[must_use]
            pub fn xy(self) -> $two {
                $two::new(self.x, self.y)
            }

            /// Two of the components.
            #[must_use]
            pub fn zw(self) -> $two {
                $two::new(self.z, self.w)
            }

            /// Three of the components.
            #[must_use]
            pub fn xyz(self) -> $three {
                $three::new(self.x, self.y, self.z)
            }
        }
    )+};
}

products! {
    Vec2 f32: y; Vec3 f32: y z; Vec4 f32: y z w;
    DVec2 f64: y; DVec3 f64: y z; DVec4 f64: y z w;
    IVec2 i32: y; IVec3 i32: y z; IVec4 i32: y z w;
    UVec2 u32: y; UVec3 u32: y z; UVec4 u32: y z w;
}
lengths! { Vec2 f32; Vec3 f32; Vec4 f32; DVec2 f64; DVec3 f64; DVec4 f64; }
parts! { Vec2 Vec3 Vec4 f32; DVec2 DVec3 DVec4 f64; IVec2 IVec3 IVec4 i32; UVec2 UVec3 UVec4 u32; }
