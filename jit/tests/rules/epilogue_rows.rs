//! Elements that are stored at a row times its length plus a column: their consumers divide nothing.

use rspirv::dr::Instruction;
use rspirv::spirv::Op;
use vkfuse_jit::plan::Promote;

use super::epilogues::{TRIPLE, begun, computed, flat, grid, tiles};
use super::lab::{Checked, Lab, kernel};

/// How many quotients and remainders are in the code of a dispatch.
pub(super) fn divisions(checked: &Checked) -> usize {
    let words = checked.plan.steps[0].build().expect("a module");
    let module = rspirv::dr::load_words(words).expect("a module");
    let divides = |inst: &&Instruction| {
        matches!(inst.class.opcode, Op::UDiv | Op::UMod | Op::SDiv | Op::SRem | Op::SMod)
    };
    module.all_inst_iter().filter(divides).count()
}

probes! {
    // Of an index that is row and column, the consumer divides nothing.
    fn rows_and_columns() {
        let (width, height) = (27u32, 6u32);
        let n = width * height;
        let groups = [n.div_ceil(16), 1, 1];
        let triple = flat("a z", TRIPLE);
        let plain = begun(4, width, height, Promote::None).submit(&triple, groups, &[2, 3], &[n]).check();
        let plain = divisions(&plain.appends(&[(1, 0)]));
        // Quotients, remainders, digits; behind each other; by numbers of the code.
        for consumer in [
            flat("a b z", "z[i] = a[i] * b[i % p.y] + i / p.y;"),
            flat("a b z", "let k = i32(i) / i32(p.y); z[i] = a[i] + b[k] + u32(i32(i) % i32(p.y));"),
            flat("a b z", "z[i] = a[i] * b[i % 27u] + i / 27u;"),
        ] {
            let checked = begun(4, width, height, Promote::Auto)
                .submit(&consumer, groups, &[2, 4, 3], &[n, width])
                .submit(&flat("a b z", "z[i] = a[i] ^ b[i / p.y];"), groups, &[3, 5, 6], &[n, width])
                .check()
                .fused(0)
                .appends(&[(1, 0), (2, 0)]);
            assert_eq!(divisions(&checked), plain, "{consumer}");
        }
        let checked = begun(4, width, height, Promote::None)
            .submit(&grid("a b c z", "z[i] = a[i] * b[x] + c[y];"), tiles(width, height), &[2, 4, 5, 3], &[width, height])
            .check()
            .fused(0)
            .appends(&[(1, 0)]);
        assert!(divisions(&checked) <= plain + 8, "of digits none, of a work-group's place some");
        // By another number; of another number; of elements that begin elsewhere.
        for consumer in [
            flat("a b z", "z[i] = a[i] * b[i % 9u] + i / 9u;"),
            flat("a b z", "z[i] = a[i] * b[(i + 3u) % p.y] + (i + 1u) / p.y;"),
        ] {
            begun(4, width, height, Promote::None)
                .submit(&consumer, groups, &[2, 4, 3], &[n, width])
                .check()
                .fused(0)
                .appends(&[(1, 0)]);
        }
        begun(4, width, height, Promote::None)
            .submit_views(
                &flat("a b z", "z[i] = a[i] * b[i % p.y] + i / p.y;"),
                [7, 1, 1],
                &[(2, 8u64, 100u64).into(), 4.into(), 3.into()],
                &[100, width],
            )
            .check()
            .fused(0)
            .appends(&[(1, 0)]);
        // Columns that go beyond the factor of the row: 16 of them, and every other row.
        let values: String = (0..2).map(|r| computed("var", &format!("s{r}"), &format!("x + {r}u"))).collect();
        let store = "z[y * p.y + x] = s0; z[y * p.y + x + 1u] = s1;";
        let wide = format!("let x = gid.x * 2u; let y = gid.y * 2u; {values} {store}");
        Lab::rewriting(64)
            .submit(&kernel("a b z", "8, 2", &wide), [1, 2, 1], &[0, 1, 2], &[16, 8, 3])
            .submit(&flat("a b z", "z[i] = a[i] * b[i % p.y] + i / p.y;"), [4, 1, 1], &[2, 4, 3], &[64, 8])
            .check()
            .fused(0)
            .appends(&[(1, 0)]);
    }

    // A row that is a factor of several products, which make up its length together.
    fn rows_in_two_products() {
        let values: String = (0..2).map(|r| computed("var", &format!("s{r}"), &format!("x + {r}u"))).collect();
        let at = "y * p.w + y * p.w + x";
        let text = format!("let x = gid.x * 2u; let y = gid.y; {values} z[{at}] = s0; z[{at} + 1u] = s1;");
        Lab::rewriting(64)
            .submit(&kernel("a b z", "4, 2", &text), [1, 4, 1], &[0, 1, 2], &[16, 8, 3, 4])
            .submit(&flat("a b z", "z[i] = a[i] * b[i % p.y] + i / p.y;"), [4, 1, 1], &[2, 4, 3], &[64, 8])
            .check()
            .fused(0)
            .appends(&[(1, 0)]);
    }

    // Behind consumers over columns, lines and channels, pooling is placed on the blocks that the producer stores.
    fn pooling_behind_channels_is_placed() {
        let (width, height, channels) = (8u32, 16u32, 2u32);
        let n = width * height * channels;
        let values: String = (0..4).map(|r| computed("var", &format!("s{r}"), &format!("x + {r}u"))).collect();
        let stores: String = (0..4).map(|r| format!("z[y * p.w + x + {r}u] = s{r}; ")).collect();
        let columns = kernel("a b z", "16, 1", &format!("let x = gid.x * 4u; let y = gid.y; {values} {stores}"));
        let guard = |size: &str| {
            format!("let x = gid.x; let y = gid.y; let c = gid.z; if (any(gid >= vec3<u32>({size}))) {{ return; }} ")
        };
        let scale = guard("p.x, p.y, p.z") + "let i = c * p.w + y * p.x + x; z[i] = a[i] * b[c] + x;";
        let at = "c * p.w + (y * 2u + k / 2u) * p.x + x * 2u + k % 2u";
        let pool = guard("p.x / 2u, p.y / 2u, p.z")
            + &format!("var m = 0u; for (var k = 0u; k < 4u; k++) {{ m = max(m, a[{at}]); }} z[(c * (p.y / 2u) + y) * (p.x / 2u) + x] = m;");
        let size = [width, height, channels, width * height];
        for promote in [Promote::None, Promote::Auto] {
            Lab::rewriting(u64::from(n))
                .promote(2, promote)
                .promote(3, promote)
                .promote(5, promote)
                .submit(&columns, [2, channels, 1], &[0, 1, 2], &[16, 8, 3, width * height])
                .submit(&kernel("a b z", "4, 4, 2", &scale), [2, 4, 1], &[2, 4, 3], &size)
                .submit(&kernel("a b z", "4, 4, 2", &scale), [2, 4, 1], &[3, 4, 5], &size)
                .submit(&kernel("a z", "4, 4, 2", &pool), [1, 2, 1], &[5, 6], &size)
                .check()
                .fused(1)
                .appends(&[(1, 0), (2, 0)]);
        }
    }
}
