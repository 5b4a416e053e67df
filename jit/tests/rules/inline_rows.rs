//! Elements that are loaded at a row times its length plus a column: what is recomputed there divides nothing.

use vkfuse_jit::plan::Promote;

use super::epilogue_rows::divisions;
use super::epilogues::{flat, grid, tiles};
use super::lab::{Checked, Lab};

const WIDTH: u32 = 27;
const HEIGHT: u32 = 6;
const N: u32 = WIDTH * HEIGHT;

/// A kernel by elements, with a row's length among its arguments, and one over a grid that loads what it stores at `read`, another invocation's element.
fn read_at(producer: &str, args: &[u32], read: &str, push: &[u32]) -> Checked {
    let buffers: &[u64] = if producer.contains("c[") { &[0, 1, 4, 2] } else { &[0, 1, 2] };
    let is_grid = producer.contains("gid.y");
    let groups: [u32; 3] = if is_grid { tiles(WIDTH, HEIGHT) } else { [N.div_ceil(16), 1, 1] };
    Lab::rewriting(u64::from(N))
        .promote(2, Promote::Auto)
        .submit(producer, groups, buffers, args)
        .submit(
            &grid("a z", &format!("z[y * p.x + x] = a[{read}] + x;")),
            tiles(WIDTH, HEIGHT),
            &[2, 3],
            push,
        )
        .check()
        .fused(0)
        .works_out(&[(1, 0)])
}

/// Row and column in the other order of columns.
const MIRRORED: &str = "y * p.x + (p.x - 1u - x)";

probes! {
    fn rows_and_columns() {
        let size = [WIDTH, HEIGHT];
        let plain = divisions(&read_at(&flat("a b z", "z[i] = a[i] * b[i];"), &[N], MIRRORED, &size));
        for producer in [
            "z[i] = a[i] * b[i % p.y] + i / p.y;",
            "let k = i32(i) / i32(p.y); z[i] = a[i] + b[k] + u32(i32(i) % i32(p.y));",
            "z[i] = a[i] * b[i % 27u] + i / 27u;",
        ] {
            let checked = read_at(&flat("a b z", producer), &[N, WIDTH], MIRRORED, &size);
            assert_eq!(divisions(&checked), plain, "{producer}");
        }
        // The digits of an index are its row and its column; those of a work-group's place are others.
        let digits = grid("a b c z", "z[y * p.x + x] = a[y * p.x + x] * b[x] + c[y];");
        assert_eq!(divisions(&read_at(&digits, &size, MIRRORED, &size)), plain);
        // By another number; of another number.
        for producer in [
            "z[i] = a[i] * b[i % 9u] + i / 9u;",
            "z[i] = a[i] * b[(i + 3u) % p.y] + (i + 1u) / p.y;",
        ] {
            let checked = read_at(&flat("a b z", producer), &[N, WIDTH], MIRRORED, &size);
            assert_eq!(divisions(&checked), plain + 2, "{producer}");
        }
    }

    // The last column is that of the next row; rows as long as something else; a product that is no row.
    fn other_rows_and_columns() {
        let producer = flat("a b z", "z[i] = a[i] * b[i % p.y] + i / p.y;");
        read_at(&producer, &[N, WIDTH], "min(y * p.x + x + 1u, p.z)", &[WIDTH, HEIGHT, N - 1]);
        read_at(&producer, &[N, WIDTH], "y * p.x + x + p.z", &[WIDTH, HEIGHT - 1, 1]);
        read_at(&producer, &[N, WIDTH], "y * p.z + x", &[WIDTH, HEIGHT, 13]);
        read_at(&producer, &[N, 9], "y * p.x + x / 3u", &[WIDTH, HEIGHT]);
    }

    // The consumer's array begins elsewhere in the producer's.
    fn arrays_that_begin_elsewhere() {
        Lab::rewriting(u64::from(N))
            .submit(&flat("a b z", "z[i] = a[i] * b[i % p.y] + i / p.y;"), [N.div_ceil(16), 1, 1], &[0, 1, 2], &[N, WIDTH])
            .submit_views(
                &grid("a z", "z[y * p.x + x] = a[y * p.x + (p.x - 1u - x)] + x;"),
                tiles(WIDTH, HEIGHT - 1),
                &[(2, 8u64, u64::from(N) - 8).into(), 3.into()],
                &[WIDTH, HEIGHT - 1],
            )
            .check()
            .fused(0)
            .works_out(&[(1, 0)]);
    }
}
