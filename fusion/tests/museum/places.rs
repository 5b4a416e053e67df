//! What this engine itself got wrong: which bytes an access means, and who else means them.

use crate::frame::Verdict::{Fused, Refused, Split};
use crate::frame::{Exhibit, numbers};
use crate::support::poison;
use vkfuse::Promote;

exhibits! {
    fn a_cell_with_different_weights() -> Split(2); {
        let mut e = Exhibit::of("weights_of_a_cell");
        let (m, x) = (e.words("m", [3]), e.numbers("x", 256));
        let (t, out) = (e.temporary("t", 1200), e.poisoned("out", 256));
        e.run("write", 4, &[(0, m), (1, x), (2, t)], &[]);
        e.run("read", 4, &[(0, m), (1, t), (2, out)], &[]);
        let all: Vec<u32> = numbers(256).collect();
        let stays = poison(1200);
        // Element 15 + 3 i is what item i + 1 wrote at 12 + 3 (i + 1).
        e.expect(out, (0..256).map(|i| *all.get(i + 1).unwrap_or(&stays[15 + 3 * i])));
        e
    }

    fn two_arrays_of_a_block() -> Fused(0); {
        let mut e = Exhibit::of("arrays_of_a_block");
        let (a, two, out) = (e.numbers("a", 256), e.temporary("two", 512), e.poisoned("out", 256));
        e.run("write", 4, &[(0, a), (1, two)], &[]);
        e.run("read", 4, &[(1, two), (3, out)], &[]);
        e.expect(out, numbers(256).map(|v| v + 1 + 5 * v));
        e
    }

    /// One kernel writes head and rest, the other the rest only; the reader sees both.
    fn a_header_that_one_kernel_sees() -> Split(2); {
        let mut e = Exhibit::of("arrays_of_a_block");
        let (a, block, out) = (e.numbers("a", 256), e.temporary("block", 260), e.poisoned("out", 256));
        e.run("head", 4, &[(0, a), (2, block)], &[]);
        e.run("plain", 4, &[(0, a), (2, block)], &[]);
        e.run("whole", 4, &[(2, block), (3, out)], &[]);
        let all: Vec<u32> = numbers(256).collect();
        e.expect(out, (0..256).map(|i| all[i % 4] + 7 + all[i] + 1));
        e
    }

    /// A read through a uniform block, and then a write of the same bytes as a storage buffer.
    fn a_uniform_view_of_what_is_written() -> Refused(2, "uniform"); {
        let mut e = Exhibit::of("uniform_view");
        let (u, b) = (e.numbers("u", 256), e.poisoned("b", 256));
        e.run("read", 1, &[(0, u), (1, b)], &[]);
        e.run("write", 1, &[(1, b), (2, u)], &[]);
        e.expect(b, numbers(256).map(|v| v + 1));
        e.expect(u, numbers(256).map(|v| 3 * (v + 1) + 5));
        e
    }

    fn a_column_of_a_row_major_matrix() -> Fused(0); {
        let mut e = Exhibit::of("row_major");
        let (a, m, out) = (e.floats("a", 64), e.temporary("m", 1024), e.poisoned("out", 64));
        e.run("column", 1, &[(0, a), (1, m)], &[]);
        e.run("numbers", 1, &[(2, m), (3, out)], &[]);
        e.in_memory(m);
        e
    }

    fn lengths_of_two_variables_on_one_binding() -> Fused(0); {
        let mut e = Exhibit::of("length_of_two");
        let (a, t, out) = (e.numbers("a", 256), e.temporary("t", 256), e.poisoned("out", 256));
        e.run("write", 4, &[(0, a), (1, t)], &[]);
        e.run("read", 4, &[(1, t), (2, out)], &[]);
        e.expect(out, numbers(256).map(|v| v + 256 + 128 + 3 * 256 + 128));
        e
    }

    /// The same element as unsigned number, as float, and as unsigned number again.
    fn two_wide_views_of_one_binding() -> Fused(0); {
        let mut e = Exhibit::of("two_wide_views");
        let (x, out) = (e.numbers("x", 256), e.poisoned("out", 256));
        e.run("first", 4, &[(0, x)], &[]);
        e.run("float", 4, &[(0, x)], &[]);
        e.run("second", 4, &[(0, x), (1, out)], &[]);
        e.expect(out, (0..256).map(|i| (i as f32 * 0.5).to_bits().wrapping_mul(3)));
        e
    }

    /// The fused module is of the other memory model, where `Coherent` is right.
    fn the_vulkan_memory_model_without_a_barrier() -> Fused(0); {
        let mut e = Exhibit::of("vulkan_memory_model");
        let (a, b) = (e.numbers("a", 256), e.poisoned("b", 256));
        e.run("double", 16, &[(0, a), (1, b)], &[]);
        e.run("plus", 16, &[(0, a), (1, b)], &[]);
        e.expect(b, numbers(256).map(|v| 3 * v));
        e
    }

    fn the_vulkan_memory_model_with_a_barrier() -> Fused(1); {
        let mut e = Exhibit::of("vulkan_memory_model");
        let (a, b, out) = (e.numbers("a", 256), e.poisoned("b", 256), e.poisoned("out", 256));
        e.run("double", 16, &[(0, a), (1, b)], &[]);
        e.run("mirror", 16, &[(0, b), (1, out)], &[]);
        let all: Vec<u32> = numbers(256).collect();
        e.expect(out, (0..256).map(|i| 2 * all[i / 16 * 16 + 15 - i % 16]));
        e
    }

    fn an_array_inside_a_struct() -> Fused(1); {
        let mut e = Exhibit::of("array_in_struct");
        let (a, s, out) = (e.numbers("a", 256), e.poisoned("s", 1024), e.poisoned("out", 256));
        e.promote(s, Promote::Local);
        e.run("write", 16, &[(0, a), (1, s)], &[]);
        e.run("read", 16, &[(1, s), (2, out)], &[]);
        let all: Vec<u32> = numbers(256).collect();
        e.expect(out, (0..256).map(|i| all[i / 16 * 16 + 15 - i % 16] * (1 + 20 + 300 + 4000)));
        e
    }

    fn padded_work_groups_that_return_everywhere() -> Fused(1); {
        let mut e = Exhibit::of("all_return");
        let (a, b, out) = (e.numbers("a", 2048), e.poisoned("b", 2048), e.poisoned("out", 512));
        e.run("write", 64, &[(0, a), (1, b)], &[]);
        e.run("read", 64, &[(1, b), (2, out)], &[]);
        let all: Vec<u32> = numbers(2048).collect();
        let row = |g: usize, l: usize| 7 * all[32 * g + 31 - l];
        e.expect(b, (0..2048).map(|i| row(i / 32, i % 32)));
        let part = |g: usize, l: usize| 3 * row(g, l) + row(g, l + 8);
        let own = (0..512).map(|i| part(i / 8, 7 - i % 8));
        e.expect(out, own.map(|own| if own % 2 == 0 { own } else { 5 * own + 1 }));
        e
    }
}
