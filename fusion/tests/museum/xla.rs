//! XLA, as its own users and JAX's met it, and nvFuser.

use crate::frame::Verdict::{Fused, Split};
use crate::frame::{Exhibit, numbers};

exhibits! {
    /// An update of a part whose source is the same array, one element before.
    fn xla_49176() -> Split(2); {
        let mut e = Exhibit::of("xla_49176");
        let (x, base, slice) = (e.numbers("x", 256), e.poisoned("base", 256), e.temporary("slice", 256));
        e.run("base", 4, &[(0, x), (1, base)], &[]);
        e.run("slice", 4, &[(0, base), (1, slice)], &[]);
        e.run("update", 4, &[(0, slice), (1, base)], &[256]);
        let all: Vec<u32> = numbers(256).map(|v| v + 1).collect();
        e.expect(base, (0..256).map(|i: usize| all[i.saturating_sub(1)]));
        e
    }

    /// Two temporaries of one kernel, each updated in one part: two places, not one.
    fn jax_39100() -> Fused(0); {
        let mut e = Exhibit::of("jax_39100");
        let (x, sum) = (e.numbers("x", 256), e.poisoned("sum", 256));
        let (one, two) = (e.temporary("one", 256), e.temporary("two", 256));
        e.run("split", 4, &[(0, x), (1, one), (2, two)], &[]);
        e.run("first", 4, &[(0, x), (1, one)], &[10, 90]);
        e.run("second", 4, &[(0, x), (1, two)], &[60, 200]);
        e.run("add", 4, &[(0, one), (1, two), (2, sum)], &[]);
        e.inside(one);
        e.inside(two);
        e.expect(sum, numbers(256).enumerate().map(|(i, v)| {
            let one = if (10..90).contains(&i) { 10 * v } else { v + 1 };
            let two = if (60..200).contains(&i) { 100 * v } else { v + 2 };
            one + two
        }));
        e
    }

    fn xla_49119() -> Fused(0); {
        let mut e = Exhibit::of("xla_49119");
        let x = e.numbers("x", 256);
        let (crop, out) = (e.poisoned("crop", 256), e.poisoned("out", 256));
        e.run("crop", 4, &[(0, x), (1, crop)], &[256, 5]);
        e.run("update", 4, &[(0, x), (1, crop)], &[20, 90, 200, 7]);
        e.run("roll", 4, &[(0, crop), (1, x), (2, out)], &[256, 33]);
        let all: Vec<u32> = numbers(256).collect();
        e.expect(out, (0..256).map(|i| {
            let updated = (20..90).contains(&i) || i == 200;
            let crop = if updated { all[i] + 20 } else { (3 * all[(i + 5) % 256]).wrapping_sub(1) };
            crop.wrapping_add(all[(i + 33) % 256])
        }));
        e
    }

    fn jax_39336() -> Fused(0); {
        let mut e = Exhibit::of("jax_39336");
        let (a, b, bias, point) = (e.numbers("a", 256), e.numbers("b", 64), e.numbers("bias", 8), e.numbers("point", 256));
        let (product, scaled, out) = (e.temporary("product", 256), e.temporary("scaled", 256), e.poisoned("out", 256));
        e.run("product", 4, &[(0, a), (1, b), (2, product)], &[]);
        e.run("bias", 4, &[(0, bias), (1, product)], &[]);
        e.run("alpha", 4, &[(0, product), (1, scaled)], &[]);
        e.run("point", 4, &[(0, scaled), (1, point), (2, out)], &[]);
        let all: Vec<u32> = numbers(256).collect();
        e.expect(out, (0..256).map(|i| {
            let sum: u32 = (0..8).map(|k| all[i / 8 * 8 + k] * all[8 * k + i % 8]).sum();
            64 * (sum + all[i % 8]) + all[i]
        }));
        e
    }

    /// One kernel has four elements more than the two before it.
    fn jax_40588() -> Fused(0); {
        let mut e = Exhibit::of("jax_40588");
        let first = e.words("first", (0..100).map(|k| k % 3));
        let rest = e.words("rest", (0..152).map(|k| k % 2));
        let (x, registers) = (e.numbers("x", 252), e.numbers("registers", 4));
        let (mask, masked, out) = (e.temporary("mask", 252), e.temporary("masked", 252), e.poisoned("out", 256));
        e.run("mask", 4, &[(0, first), (1, rest), (2, mask)], &[100, 252]);
        e.run("apply", 4, &[(0, mask), (1, x), (2, masked)], &[100, 252]);
        e.run("append", 4, &[(0, masked), (1, registers), (2, out)], &[100, 252]);
        e.expect(out, numbers(252).enumerate().map(|(i, v)| {
            let keep = if i < 100 { i % 3 != 0 } else { (i - 100) % 2 != 0 };
            if keep { v } else { 0 }
        }).chain(numbers(4)));
        e
    }

    /// Invocations that have nothing to do in one member are at the barriers of the next.
    fn nvfuser_893() -> Fused(0); {
        let mut e = Exhibit::of("nvfuser_893");
        let (x, y, out) = (e.numbers("x", 256), e.words("y", [5; 256]), e.poisoned("out", 256));
        e.run("scale", 16, &[(0, x), (1, y)], &[200]);
        e.run("halo", 16, &[(0, y), (1, out)], &[]);
        let scaled: Vec<u32> = numbers(200).map(|v| 3 * v).chain([5; 56]).collect();
        e.expect(out, (0..256).map(|i| scaled[i] + if i % 16 == 15 { 1000 } else { scaled[i + 1] }));
        e
    }
}
