//! What this engine itself got wrong: floating-point functions that a driver simplifies once it sees both.

use crate::frame::Verdict::Fused;
use crate::frame::{Exhibit, floats};

/// Two floating-point functions, one after the other.
fn seam(first: &str, second: &str, values: impl Iterator<Item = f32>) -> Exhibit {
    let mut e = Exhibit::of("seam");
    let values: Vec<f32> = values.collect();
    let (groups, len) = (values.len() as u32 / 64, values.len() as u32);
    let x = e.given("x", values);
    let (t, out) = (e.temporary("t", len), e.poisoned("out", len));
    e.run(first, groups, &[(0, x), (1, t)], &[]);
    e.run(second, groups, &[(0, t), (1, out)], &[]);
    e.inside(t);
    e
}

/// Between 1/64 and 4, every bit of the fraction in use.
fn positive() -> impl Iterator<Item = f32> {
    (1..=256).map(|k| k as f32 * 0.015_627_3)
}

exhibits! {
    fn exp_of_log() -> Fused(0); { seam("log", "exp", positive()) }
    fn log_of_exp() -> Fused(0); { seam("exp", "log", floats(256)) }
    fn exp2_of_log2() -> Fused(0); { seam("log2", "exp2", positive()) }
    fn log2_of_sqrt() -> Fused(0); { seam("sqrt", "log2", positive()) }
    fn sqrt_of_exp2() -> Fused(0); { seam("exp2", "sqrt", floats(256)) }
    fn fract_of_floor() -> Fused(0); { seam("floor", "fract", floats(256)) }
    fn radians_of_degrees() -> Fused(0); { seam("degrees", "radians", floats(256)) }
    fn fma_of_fma() -> Fused(0); { seam("fma", "fma", floats(256)) }
    fn mix_of_mix() -> Fused(0); { seam("mix", "mix", floats(256)) }
    fn ldexp_of_ldexp() -> Fused(0); { seam("ldexp_back", "ldexp", positive()) }
    fn reciprocal_of_sqrt() -> Fused(0); { seam("sqrt", "rcp", positive()) }
    fn reciprocal_of_inversesqrt() -> Fused(0); { seam("rsqrt", "rcp", positive()) }
    fn reciprocal_of_reciprocal() -> Fused(0); { seam("rcp", "rcp", positive()) }
    fn reciprocal_of_exp_of_minus() -> Fused(0); { seam("negexp", "rcp", floats(256)) }

    fn clamp_of_nan() -> Fused(0); {
        seam("clamp1", "clamp0", floats(256).enumerate().map(|(i, v)| if i % 5 == 0 { f32::NAN } else { v }))
    }
    fn floor_of_quotient_by_zero() -> Fused(0); { seam("zero", "floor", floats(256)) }
    fn sum_of_product() -> Fused(0); { seam("times", "plus", floats(256)) }
}
