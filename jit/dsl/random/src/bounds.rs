//! The errors that Vulkan allows single-precision functions to have ("Precision of Individual Operations").
//!
//! One unit in the last place is taken as 2^-23 of the exact result, the least that it can be bounded by from both sides
//! of a power of two.

/// One unit in the last place, of the result.
const ULP: f64 = 1.0 / (1 << 23) as f64;

/// The interval that holds what a device may give for a function of these arguments; none for a function not known here.
pub fn allowed(function: &str, a: f32, b: f32) -> Option<(f64, f64)> {
    let (a, b) = (f64::from(a), f64::from(b));
    let relative = |value: f64, ulps: f64| around(value, value.abs() * ulps * ULP);
    Some(match function {
        // Double precision is asked to be no worse than single; the result is then rounded to it.
        "divide" => relative(a / b, 2.5),
        "divide_wide" => relative(a / b, 3.5),
        "recip" => relative(1.0 / a, 2.5),
        // As 1 / inversesqrt.
        "sqrt" => relative(a.sqrt(), 4.5),
        "sqrt_wide" => relative(a.sqrt(), 5.5),
        "sin" => around(a.sin(), SINE),
        "cos" => around(a.cos(), SINE),
        // As sin / cos.
        "tan" => {
            let (low, high) = quotient(around(a.sin(), SINE), around(a.cos(), SINE));
            (low - low.abs() * 2.5 * ULP, high + high.abs() * 2.5 * ULP)
        }
        "atan" => relative(a.atan(), 4096.0),
        "atan2" => relative(a.atan2(b), 4096.0),
        // As atan2 of the argument and sqrt(1 - a * a), in either order.
        "asin" => around(a.asin(), leg_error(a) + a.asin().abs() * 4096.0 * ULP),
        "acos" => around(a.acos(), leg_error(a) + a.acos().abs() * 4096.0 * ULP),
        "exp" => relative(a.exp(), exp_ulps(a)),
        "exp2" => relative(a.exp2(), exp_ulps(a)),
        "sinh" => around(a.sinh(), half_sum_error(a)),
        "cosh" => around(a.cosh(), half_sum_error(a)),
        // As sinh / cosh.
        "tanh" => {
            let error = half_sum_error(a);
            let (low, high) = quotient(around(a.sinh(), error), around(a.cosh(), error));
            (low - low.abs() * 2.5 * ULP, high + high.abs() * 2.5 * ULP)
        }
        "ln" => around(a.ln(), log_error(a, a.ln())),
        "log2" => around(a.log2(), log_error(a, a.log2())),
        // As exp2(b * log2(a)).
        "powf" => {
            let product = b * a.log2();
            let error = b.abs() * log_error(a, a.log2()) + product.abs() * ULP;
            let slack = 1.0 + exp_ulps(product) * ULP;
            ((product - error).exp2() / slack, (product + error).exp2() * slack)
        }
        _ => return None,
    })
}

/// Of sine and cosine between minus pi and pi.
const SINE: f64 = 1.0 / 2048.0;

fn around(value: f64, error: f64) -> (f64, f64) {
    (value - error, value + error)
}

/// Of two intervals; the divisor's is positive.
fn quotient(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let all = [a.0 / b.0, a.0 / b.1, a.1 / b.0, a.1 / b.1];
    (all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(f64::MIN, f64::max))
}

fn exp_ulps(x: f64) -> f64 {
    3.0 + 2.0 * x.abs()
}

/// Of the logarithm of `x`, which is `log`.
fn log_error(x: f64, log: f64) -> f64 {
    if (0.5..=2.0).contains(&x) { 1.0 / (1 << 21) as f64 } else { log.abs() * 3.0 * ULP }
}

/// Of `(exp(x) ± exp(-x)) * 0.5`.
fn half_sum_error(x: f64) -> f64 {
    (x.exp() + (-x).exp()) * 0.5 * (exp_ulps(x) + 1.0) * ULP
}

/// How far the angle is off for the rounding of `1 - x * x` and its square root.
fn leg_error(x: f64) -> f64 {
    let (leg, error) = (1.0 - x * x, ULP);
    (leg + error).sqrt() - (leg - error).max(0.0).sqrt() + 4.5 * ULP
}

#[cfg(test)]
mod tests {
    use super::allowed;

    #[test]
    fn exact_results_are_allowed_and_others_are_not() {
        let (low, high) = allowed("sqrt", 2.0, 0.0).expect("a bound");
        assert!(low < 2_f64.sqrt() && 2_f64.sqrt() < high && high - low < 2e-6);
        let (low, high) = allowed("tan", -1.0, 0.0).expect("a bound");
        assert!(low < (-1_f64).tan() && (-1_f64).tan() < high && high - low < 1e-2);
        assert_eq!(allowed("unheard of", 1.0, 1.0), None);
    }
}
