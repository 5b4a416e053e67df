//! What operators and functions mean in a `const fn`, where traits have no functions yet: the same, type by type.

/// One number.
#[derive(Clone, Copy, Debug)]
pub struct One<T>(pub T);

/// Both sides of an operator.
#[derive(Clone, Copy, Debug)]
pub struct Pair<T>(pub T, pub T);

macro_rules! int {
    ($($ty:ident)+) => {$(
        impl Pair<$ty> {
            pub const fn add(self) -> $ty {
                self.0.wrapping_add(self.1)
            }
            pub const fn sub(self) -> $ty {
                self.0.wrapping_sub(self.1)
            }
            pub const fn mul(self) -> $ty {
                self.0.wrapping_mul(self.1)
            }
            pub const fn div(self) -> $ty {
                match self.0.checked_div(self.1) {
                    Some(quotient) => quotient,
                    None => self.0,
                }
            }
            pub const fn rem(self) -> $ty {
                match self.0.checked_rem(self.1) {
                    Some(left) => left,
                    None => 0,
                }
            }
        }

        impl One<$ty> {
            pub const fn shl(self, count: u32) -> $ty {
                self.0.wrapping_shl(count)
            }
            pub const fn shr(self, count: u32) -> $ty {
                self.0.wrapping_shr(count)
            }
            pub const fn min(self, other: $ty) -> $ty {
                if self.0 < other { self.0 } else { other }
            }
            pub const fn max(self, other: $ty) -> $ty {
                if self.0 > other { self.0 } else { other }
            }
            pub const fn clamp(self, low: $ty, high: $ty) -> $ty {
                if self.0 < low {
                    low
                } else if self.0 > high {
                    high
                } else {
                    self.0
                }
            }
            pub const fn div_euclid(self, other: $ty) -> $ty {
                match self.0.checked_div_euclid(other) {
                    Some(quotient) => quotient,
                    None => self.0,
                }
            }
            pub const fn rem_euclid(self, other: $ty) -> $ty {
                match self.0.checked_rem_euclid(other) {
                    Some(left) => left,
                    None => 0,
                }
            }
            pub const fn pow(self, exponent: u32) -> $ty {
                self.0.wrapping_pow(exponent)
            }
            pub const fn count_ones(self) -> u32 {
                self.0.count_ones()
            }
            pub const fn leading_zeros(self) -> u32 {
                self.0.leading_zeros()
            }
            pub const fn trailing_zeros(self) -> u32 {
                self.0.trailing_zeros()
            }
        }
        int! { @same $ty wrapping_add wrapping_sub wrapping_mul saturating_add saturating_sub saturating_mul }
        int! { @alone $ty reverse_bits swap_bytes }
        int! { @count $ty rotate_left rotate_right }
        int! { @checked $ty checked_add checked_sub checked_mul checked_div checked_rem }
    )+};
    (@same $ty:ident $($name:ident)+) => {
        impl One<$ty> {
            $(pub const fn $name(self, other: $ty) -> $ty {
                self.0.$name(other)
            })+
        }
    };
    (@alone $ty:ident $($name:ident)+) => {
        impl One<$ty> {
            $(pub const fn $name(self) -> $ty {
                self.0.$name()
            })+
        }
    };
    (@count $ty:ident $($name:ident)+) => {
        impl One<$ty> {
            $(pub const fn $name(self, count: u32) -> $ty {
                self.0.$name(count)
            })+
        }
    };
    (@checked $ty:ident $($name:ident)+) => {
        impl One<$ty> {
            $(pub const fn $name(self, other: $ty) -> Option<$ty> {
                self.0.$name(other)
            })+
        }
    };
}

int! { i8 u8 i16 u16 i32 u32 i64 u64 }

macro_rules! signed {
    ($($ty:ident)+) => {$(
        impl One<$ty> {
            pub const fn neg(self) -> $ty {
                self.0.wrapping_neg()
            }
            pub const fn abs(self) -> $ty {
                self.0.wrapping_abs()
            }
            pub const fn signum(self) -> $ty {
                self.0.signum()
            }
        }
    )+};
}

signed! { i8 i16 i32 i64 }

macro_rules! float {
    ($($ty:ident)+) => {$(
        impl Pair<$ty> {
            pub const fn add(self) -> $ty {
                self.0 + self.1
            }
            pub const fn sub(self) -> $ty {
                self.0 - self.1
            }
            pub const fn mul(self) -> $ty {
                self.0 * self.1
            }
            pub const fn div(self) -> $ty {
                self.0 / self.1
            }
            pub const fn rem(self) -> $ty {
                self.0 % self.1
            }
        }

        impl One<$ty> {
            pub const fn neg(self) -> $ty {
                -self.0
            }
            pub const fn abs(self) -> $ty {
                self.0.abs()
            }
            pub const fn signum(self) -> $ty {
                self.0.signum()
            }
            pub const fn min(self, other: $ty) -> $ty {
                if self.0 < other || other.is_nan() { self.0 } else { other }
            }
            pub const fn max(self, other: $ty) -> $ty {
                if self.0 > other || other.is_nan() { self.0 } else { other }
            }
            pub const fn clamp(self, low: $ty, high: $ty) -> $ty {
                if self.0 < low {
                    low
                } else if self.0 > high {
                    high
                } else {
                    self.0
                }
            }
        }
    )+};
}

float! { f32 f64 }
