//! Dot products of integers.

/// How the lanes of a dot product of integers are read, and what becomes of their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct IntDot {
    /// Whether the components of the one and of the other vector are signed.
    pub(in super::super) signed: [bool; 2],
    /// The vectors are the four bytes of a word each.
    pub(in super::super) packed: bool,
    /// A number is added to the product, and the sum saturates.
    pub(in super::super) saturates: bool,
    /// Bits of a component.
    pub(in super::super) from: u8,
    /// Bits of the result.
    pub(in super::super) to: u8,
}

/// The product of the vectors `a` and `b`, with `add` where it saturates.
pub(in super::super) fn int_dot(how: IntDot, a: &[u64], b: &[u64], add: u64) -> u64 {
    let count = if how.packed { 4 } else { a.len() };
    let component = |lanes: &[u64], number: usize, signed: bool| {
        let bits = match how.packed {
            true => lanes[0] >> (8 * number),
            false => lanes[number],
        };
        number_of(bits, if how.packed { 8 } else { how.from }, signed)
    };
    let products = (0..count).map(|n| component(a, n, how.signed[0]) * component(b, n, how.signed[1]));
    let sum = products.fold(0i128, i128::wrapping_add);
    // The product of a signed and an unsigned vector is signed.
    let is_signed = how.signed[0];
    let result = match how.saturates {
        true => {
            let (low, high) = match is_signed {
                true => (-(1i128 << (how.to - 1)), (1i128 << (how.to - 1)) - 1),
                false => (0, (1i128 << how.to) - 1),
            };
            sum.saturating_add(number_of(add, how.to, is_signed)).clamp(low, high)
        }
        false => sum,
    };
    result as u64 & super::mask(u32::from(how.to))
}

/// The integer of this many bits.
fn number_of(bits: u64, width: u8, signed: bool) -> i128 {
    let unused = 64 - u32::from(width);
    match signed {
        true => i128::from((bits << unused) as i64 >> unused),
        false => i128::from(bits << unused >> unused),
    }
}
