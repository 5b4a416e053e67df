//! PyTorch's Inductor.

use crate::frame::Exhibit;
use crate::frame::Verdict::{Fused, Split};
use crate::frame::{floats, numbers};

exhibits! {
    /// The copy back into `x` and the read of `x` from its other end.
    fn inductor_198270() -> Split(4); {
        let mut e = Exhibit::of("inductor_198270");
        let n = 256;
        let x = e.numbers("x", n);
        // A permutation, so that the list is determined.
        let index = e.words("index", 0..n);
        let (put, flip) = (e.temporary("put", n), e.temporary("flip", n));
        e.run("put", 4, &[(0, x), (1, index), (2, put)], &[]);
        e.run("copy", 4, &[(0, put), (1, x)], &[]);
        e.run("flip", 4, &[(0, x), (1, flip)], &[n]);
        e.run("add", 4, &[(0, flip), (1, x)], &[]);
        let (twice, back) = (numbers(n).map(|v| 2 * v), numbers(n).map(|v| 2 * v).collect::<Vec<_>>());
        e.expect(x, twice.zip(back.into_iter().rev()).map(|(a, b)| a + b));
        e
    }

    fn inductor_198033() -> Split(2); {
        let mut e = Exhibit::of("inductor_198033");
        let n = 256;
        let x = e.numbers("x", n);
        let flip = e.temporary("flip", n);
        e.run("flip", 4, &[(0, x), (1, flip)], &[n]);
        e.run("add", 4, &[(0, flip), (1, x)], &[]);
        let back: Vec<u32> = numbers(n).collect();
        e.expect(x, numbers(n).zip(back.into_iter().rev()).map(|(a, b)| a + b));
        e
    }

    /// Each row is a work-group's: barriers are enough, and without them it would be the published bug.
    fn inductor_162410() -> Fused(2); {
        let mut e = Exhibit::of("inductor_162410");
        let (x, y, out) = (e.numbers("x", 256), e.numbers("y", 256), e.poisoned("out", 256));
        let (flip, sum, spread) = (e.temporary("flip", 256), e.temporary("sum", 16), e.temporary("spread", 256));
        e.run("flip", 16, &[(0, x), (1, flip)], &[]);
        e.run("copy", 16, &[(0, flip), (1, x)], &[]);
        e.run("sum", 16, &[(0, y), (1, sum)], &[]);
        e.run("spread", 16, &[(0, y), (1, sum), (2, spread)], &[]);
        e.run("add", 16, &[(0, x), (1, spread), (2, out)], &[]);
        let all: Vec<u32> = numbers(256).collect();
        e.expect(out, (0..256).map(|i| {
            let row = &all[i / 16 * 16..][..16];
            row[15 - i % 16] + row[i % 16] + row.iter().sum::<u32>()
        }));
        e
    }

    fn inductor_191433() -> Fused(2); {
        let mut e = Exhibit::of("inductor_191433");
        let tokens = e.words("tokens", (0..16).map(|row| row % 4));
        let table = e.floats("table", 64);
        // bfloat16, two in a word: the upper halves of floats.
        let halves: Vec<u32> = floats(256).map(|value| value.to_bits() >> 16).collect();
        let linear = e.words("linear", halves.chunks(2).map(|two| two[0] | two[1] << 16));
        let (hidden, square) = (e.poisoned("hidden", 256), e.temporary("square", 16));
        e.run("embed", 16, &[(0, tokens), (1, table), (2, hidden)], &[]);
        e.run("mix", 16, &[(1, hidden), (3, linear)], &[]);
        e.run("square", 16, &[(1, hidden), (2, square)], &[]);
        e.run("norm", 16, &[(1, hidden), (2, square)], &[]);
        e
    }

    /// Words on one side, pairs of words on the other.
    fn inductor_198101() -> Fused(1); {
        let mut e = Exhibit::of("inductor_198101");
        let (x, y) = (e.numbers("x", 512), e.poisoned("y", 512));
        e.run("double", 8, &[(0, x), (1, y)], &[]);
        e.run("shift", 8, &[(1, y)], &[]);
        e.run("columns", 4, &[(2, x)], &[]);
        e.expect(y, numbers(512).map(|v| 2 * v + 4));
        e
    }

    fn inductor_183575() -> Fused(0); {
        let mut e = Exhibit::of("inductor_183575");
        let (g, m, p) = (e.floats("g", 256), e.floats("m", 256), e.floats("p", 256));
        let cast = e.poisoned("cast", 256);
        e.run("lerp", 4, &[(0, g), (1, m)], &[]);
        e.run("step", 4, &[(1, m), (2, p)], &[]);
        e.run("cast", 4, &[(0, g), (2, cast)], &[]);
        e.in_memory(m);
        e
    }

    /// The equality sees what was rounded to 16 bits, also where that never went to memory.
    fn inductor_195214() -> Fused(2); {
        let mut e = Exhibit::of("inductor_195214");
        let x = e.floats("x", 256);
        let (half, most, ties) = (e.temporary("half", 128), e.temporary("most", 16), e.poisoned("ties", 256));
        e.run("scale", 16, &[(0, x), (1, half)], &[]);
        e.run("maximum", 16, &[(1, half), (2, most)], &[]);
        e.run("ties", 16, &[(1, half), (2, most), (3, ties)], &[]);
        let all: Vec<u32> = numbers(256).collect();
        e.expect(ties, (0..256).map(|i| u32::from(all[i / 16 * 16..][..16].iter().max() == Some(&all[i]))));
        e
    }

    fn inductor_185337() -> Fused(0); {
        let mut e = Exhibit::of("inductor_185337");
        let x = e.given("x", (0..256).map(|i| i as f32 / 7.0));
        let (half, z) = (e.temporary("half", 128), e.poisoned("z", 256));
        e.run("narrow", 4, &[(0, x), (1, half)], &[]);
        e.run("widen", 4, &[(1, half), (2, z)], &[]);
        e
    }

    fn inductor_189895() -> Fused(1); {
        let mut e = Exhibit::of("inductor_189895");
        let (x, pad, sum) = (e.numbers("x", 256), e.temporary("pad", 256), e.poisoned("sum", 16));
        e.run("pad", 16, &[(0, x), (1, pad)], &[21, 200]);
        e.run("sum", 16, &[(0, pad), (1, sum)], &[]);
        let padded: Vec<u32> =
            [0; 21].into_iter().chain(numbers(200)).chain([0; 35]).collect();
        e.expect(sum, padded.chunks(16).map(|row| row.iter().sum()));
        e
    }

    fn inductor_195845() -> Fused(0); {
        let mut e = Exhibit::of("inductor_195845");
        let (x, y, sum) = (e.numbers("x", 256), e.temporary("y", 256), e.poisoned("sum", 16));
        e.run("scale", 16, &[(0, x), (1, y)], &[241]);
        e.run("sum", 16, &[(0, y), (1, sum)], &[241]);
        let scaled: Vec<u32> = numbers(241).map(|v| 2 * v + 1).collect();
        e.expect(sum, scaled.chunks(16).map(|row| row.iter().sum()));
        e
    }

    fn inductor_179931() -> Fused(1); {
        let mut e = Exhibit::of("inductor_179931");
        let (x, pool, sum) = (e.numbers("x", 416), e.temporary("pool", 208), e.poisoned("sum", 16));
        e.run("pool", 16, &[(0, x), (1, pool)], &[]);
        e.run("sum", 16, &[(0, pool), (1, sum)], &[]);
        let all: Vec<u32> = numbers(416).collect();
        e.expect(sum, all.chunks(26).map(|row| row.iter().sum()));
        e
    }

    fn inductor_186577() -> Fused(0); {
        let mut e = Exhibit::of("inductor_186577");
        let (x, norm, out) = (e.floats("x", 256), e.temporary("norm", 256), e.poisoned("out", 256));
        e.run("norm", 16, &[(0, x), (1, norm)], &[]);
        e.run("reciprocal", 16, &[(0, norm), (1, out)], &[]);
        e
    }
}
