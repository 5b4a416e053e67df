//! llama.cpp, which fuses pairs of its own operations by pattern.

use crate::frame::Verdict::Fused;
use crate::frame::{Exhibit, numbers};
use vkfuse::Promote;

exhibits! {
    /// Each member has its own push constants, in its own order.
    fn llama_14540() -> Fused(0); {
        let mut e = Exhibit::of("llama_14540");
        let (x, norm, weight) = (e.floats("x", 256), e.temporary("norm", 256), e.floats("weight", 16));
        let out = e.poisoned("out", 256);
        e.run("norm", 16, &[(0, x), (1, norm)], &[16, 0.25_f32.to_bits()]);
        e.run("multiply", 16, &[(0, norm), (1, weight), (2, out)], &[3.0_f32.to_bits(), 16]);
        e
    }

    /// Five sums in a row, whose second operands are repeated, each in its own length.
    fn llama_16188() -> Fused(0); {
        let mut e = Exhibit::of("llama_16188");
        let mut sum = e.numbers("x", 256);
        let lengths = [256, 16, 64, 1, 7];
        for (k, n) in lengths.into_iter().enumerate() {
            let operand = e.numbers("operand", n);
            let next = if k == 4 { e.poisoned("out", 256) } else { e.temporary("sum", 256) };
            e.run("add", 4, &[(0, sum), (1, operand), (2, next)], &[n]);
            sum = next;
        }
        let all: Vec<u32> = numbers(256).collect();
        e.expect(sum, (0..256).map(|i| all[i] + lengths.iter().map(|&n| all[i % n as usize]).sum::<u32>()));
        e
    }

    /// Source and destination of the sum are one buffer.
    fn llama_24305() -> Fused(0); {
        let mut e = Exhibit::of("llama_24305");
        let (x, z) = (e.floats("x", 256), e.floats("z", 256));
        e.run("copy", 4, &[(0, x), (1, z)], &[]);
        e.run("add", 4, &[(0, z), (1, z)], &[]);
        e.expect(z, crate::frame::floats(256).map(f32::to_bits));
        e
    }

    /// The normalization has its own input for output, and what multiplies it is one of its rows.
    fn llama_22266() -> Fused(0); {
        let mut e = Exhibit::of("llama_22266");
        let (x, weight) = (e.floats("x", 256), e.floats("weight", 16));
        e.promote(x, Promote::None);
        e.run("norm", 16, &[(0, x)], &[]);
        e.run("multiply", 16, &[(0, weight), (1, x)], &[]);
        e
    }
}
