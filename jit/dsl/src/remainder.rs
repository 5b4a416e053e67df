//! `%` of floats, which has no rounding: by their digits, as whole numbers. SPIR-V's own is as inexact as a division.

/// The remainder of one type of floats.
macro_rules! remainder {
    ($bits:ident $float:ident $digits:literal $exponents:literal $step:literal) => {
        pub(crate) mod $bits {
            use crate::stage::Val;

            /// Whole digits, and the exponent that they have.
            #[vkfuse_macros::device]
            fn digits(size: $bits) -> ($bits, u32) {
                let exponent = (size >> $digits) as u32;
                let low = size & ((1 << $digits) - 1);
                if exponent == 0 { (low, 1) } else { (low | (1 << $digits), exponent) }
            }

            #[vkfuse_macros::device]
            fn remainder(a: $float, b: $float) -> $float {
                let sign = a.to_bits() & (1 << ($digits + $exponents));
                let (x, y) = (a.to_bits() ^ sign, b.to_bits() & (<$bits>::MAX >> 1));
                let infinity: $bits = ((1 << $exponents) - 1) << $digits;
                if x >= infinity || y > infinity || y == 0 {
                    return $float::from_bits(infinity + 1);
                }
                if x < y {
                    return a;
                }
                let (digits_x, exponent_x) = digits(x);
                let (digits_y, exponent_y) = digits(y);
                let mut left = digits_x % digits_y;
                let mut steps = exponent_x - exponent_y;
                while steps > 0 && left != 0 {
                    let by = steps.min($step);
                    left = (left << by) % digits_y;
                    steps -= by;
                }
                if left == 0 {
                    return $float::from_bits(sign);
                }
                // Up to where the first digit is, or as far as the least exponent lets it.
                let room = left.leading_zeros() - $exponents;
                let up = room.min(exponent_y - 1);
                let raised = left << up;
                let exponent = exponent_y - up;
                let whole = raised >> $digits != 0;
                let result = if whole { raised + ((exponent as $bits - 1) << $digits) } else { raised };
                $float::from_bits(result | sign)
            }

            pub(crate) fn __remainder(a: Val<$float>, b: Val<$float>) -> Val<$float> {
                remainder::lower((a, b))
            }
        }
    };
}

remainder! { u32 f32 23 8 8 }
remainder! { u64 f64 52 11 11 }
