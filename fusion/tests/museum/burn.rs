//! burn, whose fusion runs on Vulkan too.

use crate::frame::Verdict::{Fused, Split};
use crate::frame::{Exhibit, numbers};

exhibits! {
    /// Rows appended to a cache one after the other, each followed by a pass over the rows so far.
    fn burn_5257() -> Fused(0); {
        let mut e = Exhibit::of("burn_5257");
        let (row, cache, out) = (e.numbers("row", 64), e.poisoned("cache", 512), e.poisoned("out", 512));
        for at in 0..4 {
            e.run("append", 1, &[(0, row), (1, cache)], &[at]);
            e.run("attend", 1, &[(0, cache), (1, out)], &[at]);
        }
        let poison = crate::support::poison(512);
        let attended = (0..4).flat_map(|at| {
            numbers(64).map(move |v| (0..=at).map(|k| (k + 1) * (v + k)).sum::<u32>())
        });
        e.expect(out, attended.chain(poison.into_iter().skip(256)));
        e
    }

    fn burn_5079() -> Fused(0); {
        let mut e = Exhibit::of("burn_5079");
        let (target, weight, gradient) = (e.floats("target", 256), e.given("weight", [1.0; 256]), e.temporary("gradient", 256));
        for _ in 0..4 {
            e.run("gradient", 4, &[(0, target), (1, weight), (2, gradient)], &[]);
            e.run("descend", 4, &[(1, weight), (2, gradient)], &[]);
        }
        // Half of the way each time; powers of two and few digits, so that the host is exact too.
        e.expect(weight, crate::frame::floats(256).map(|target| {
            let mut weight = 1.0_f32;
            for _ in 0..4 {
                weight -= 0.25 * (2.0 * (weight - target));
            }
            weight.to_bits()
        }));
        e
    }

    fn burn_4517() -> Fused(0); {
        let mut e = Exhibit::of("burn_4517");
        let (x, once, twice) = (e.numbers("x", 256), e.temporary("once", 256), e.poisoned("twice", 256));
        e.run("fold", 4, &[(0, x), (1, once)], &[]);
        e.run("fold", 4, &[(0, once), (1, twice)], &[]);
        let fold = |mut value: u32| {
            let first = value;
            for k in 0..5 {
                let factor = if value & 1 == 0 { value / 2 } else { value.wrapping_mul(3) };
                value = factor.wrapping_add(value ^ k);
            }
            value.wrapping_add(first ^ 4)
        };
        e.expect(twice, numbers(256).map(|v| fold(fold(v))));
        e
    }

    /// Two chunks, with no one waiting in between.
    fn burn_5563() -> Fused(3); {
        let mut e = Exhibit::of("burn_5563");
        let query = e.numbers("query", 16);
        let (total, out) = (e.temporary("total", 256), e.poisoned("out", 256));
        e.run("zero", 16, &[(0, total)], &[]);
        e.run("zero", 16, &[(0, out)], &[]);
        for (key, value) in [("k0", "v0"), ("k1", "v1")] {
            let (key, value) = (e.numbers(key, 256), e.numbers(value, 256));
            let score = e.temporary("score", 256);
            e.run("score", 16, &[(0, key), (1, query), (2, score)], &[]);
            e.run("total", 16, &[(0, score), (1, total)], &[]);
            e.run("weigh", 16, &[(0, score), (1, value), (2, out)], &[]);
        }
        e.run("divide", 16, &[(0, total), (1, out)], &[]);
        e
    }

    fn burn_5122() -> Fused(1); {
        let mut e = Exhibit::of("burn_5122");
        let x = e.words("x", (0..64).map(|k: i32| (k % 7 - 3) as u32));
        let (first, second) = (e.words("first", (0..36).map(|k: i32| (k % 5 - 2) as u32)), e.numbers("second", 9));
        let (hidden, out) = (e.temporary("hidden", 144), e.poisoned("out", 16));
        e.run("hidden", 16, &[(0, x), (1, first), (2, hidden)], &[]);
        e.run("head", 16, &[(0, hidden), (1, second), (2, out)], &[]);
        let second: Vec<i32> = numbers(9).map(|v| v as i32).collect();
        e.expect(out, (0..16).map(|row| {
            let hidden = (0..9).map(|c| {
                (0..4).map(|k| ((4 * row + k) % 7 - 3) * ((4 * c + k) % 5 - 2)).sum::<i32>().max(0)
            });
            hidden.zip(&second).map(|(a, b)| a * b).sum::<i32>() as u32
        }));
        e
    }

    /// Scalars before a sum and after it: every kernel has its own.
    fn burn_3142() -> Fused(1); {
        let mut e = Exhibit::of("burn_3142");
        let (x, scaled, sum) = (e.numbers("x", 256), e.temporary("scaled", 256), e.temporary("sum", 256));
        let out = e.poisoned("out", 256);
        e.run("scale", 16, &[(0, x), (1, scaled)], &[3, 4]);
        e.run("sum", 16, &[(0, scaled), (1, sum)], &[]);
        e.run("scale", 16, &[(0, sum), (1, out)], &[5, 6]);
        let all: Vec<u32> = numbers(256).map(|v| 3 * v + 4).collect();
        e.expect(out, (0..256).map(|i| all[i / 16 * 16..][..16].iter().sum::<u32>() * 5 + 6));
        e
    }

    fn burn_4461() -> Split(2); {
        let mut e = Exhibit::of("burn_4461");
        let (x, scaled, out) = (e.numbers("x", 64), e.temporary("scaled", 64), e.poisoned("out", 64));
        e.run("scale", 4, &[(0, x), (1, scaled)], &[]);
        e.run("permute", 4, &[(0, scaled), (1, out)], &[]);
        let all: Vec<u32> = numbers(64).map(|v| 3 * v + 1).collect();
        e.expect(out, (0..64).map(|i| all[i % 2 * 32 + i / 2 % 2 * 16 + i / 4]));
        e
    }
}
