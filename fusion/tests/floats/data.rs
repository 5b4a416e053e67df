//! Floats with everything in them that arithmetic treats in a way of its own.

/// Items of a run: all pairs of edge values, then random ones.
pub(crate) const ITEMS: usize = 2048;

/// Fraction bits, and the exponent's bias.
fn layout(width: u32) -> (u32, i32) {
    match width {
        16 => (10, 15),
        64 => (52, 1023),
        _ => (23, 127),
    }
}

/// The bits of `value * 2^0` in a float of this width, cut off; finite values only.
fn bits(width: u32, value: f64) -> u64 {
    let (fraction, bias) = layout(width);
    let double = value.to_bits();
    let sign = (double >> 63) << (width - 1);
    if value == 0.0 {
        return sign;
    }
    let exponent = ((double >> 52) & 0x7ff) as i32 - 1023 + bias;
    if exponent < 1 {
        return sign;
    }
    let largest = (2 * bias) as u64;
    if exponent as u64 > largest {
        return sign | largest << fraction | ((1 << fraction) - 1);
    }
    sign | (exponent as u64) << fraction | (double & ((1 << 52) - 1)) >> (52 - fraction)
}

/// Zeros, denormals, infinities, NaNs of both kinds with payloads, and numbers at which functions change their ways.
pub(crate) fn edges(width: u32) -> Vec<u64> {
    let (fraction, bias) = layout(width);
    let sign = 1u64 << (width - 1);
    let infinity = (2 * bias as u64 + 1) << fraction;
    let quiet = infinity | 1 << (fraction - 1);
    let least_normal = 1u64 << fraction;
    let mut all = vec![
        0,
        1,
        5,
        least_normal - 1,
        least_normal,
        least_normal + 3,
        infinity - 1,
        infinity,
        quiet,
        quiet | 0x55,
        infinity | 0x2a,
    ];
    let numbers = [
        1.0,
        1.0 + 2f64.powi(-(fraction as i32)),
        1.0 - 2f64.powi(-(fraction as i32) - 1),
        0.5,
        2.0,
        3.0,
        0.1,
        0.7,
        1.5,
        2.5,
        10.0,
        std::f64::consts::PI,
        std::f64::consts::FRAC_PI_2,
        100.25,
        1e-3,
        88.8,
        2f64.powi(fraction as i32),
        2147483648.0,
        4294967040.0,
        1e15,
        1e-15,
    ];
    all.extend(numbers.map(|value| bits(width, value)));
    let negative: Vec<u64> = all.iter().map(|bits| bits | sign).collect();
    all.extend(negative);
    all
}

/// The three inputs, as bytes.
pub(crate) fn inputs(width: u32) -> [Vec<u8>; 3] {
    let edges = edges(width);
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut all: [Vec<u8>; 3] = Default::default();
    for item in 0..ITEMS {
        // Edges with edges, shifted on each way through so that different ones meet.
        let round = item / edges.len();
        let edge = |k: usize| edges[k % edges.len()];
        let any = match item % 8 {
            0..=5 => [edge(item), edge(item * 7 + round * 5 + 3), edge(item * 11 + round * 3)],
            6 => std::array::from_fn(|_| random()),
            _ => std::array::from_fn(|_| bits(width, (random() % 20_000) as f64 / 1000.0 - 10.0)),
        };
        for (bytes, value) in all.iter_mut().zip(any) {
            bytes.extend(&value.to_le_bytes()[..width as usize / 8]);
        }
    }
    all
}

/// Whether bits are those of a NaN.
pub(crate) fn is_nan(width: u32, bits: u64) -> bool {
    let (fraction, bias) = layout(width);
    let infinity = (2 * bias as u64 + 1) << fraction;
    bits & ((1 << (width - 1)) - 1) > infinity
}
