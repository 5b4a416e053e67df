//! What is done where another kernel stores what it reads, and what must not be.

use vkfuse_jit::plan::{Internalization, Promote};

use super::glsl::{RECIPES, glsl, is_possible};
use super::lab::{Checked, Lab, kernel};

impl Checked {
    /// Demands that these submissions are done where those others store.
    #[track_caller]
    pub(crate) fn appends(self, pairs: &[(usize, usize)]) -> Self {
        let report = &self.plan.report;
        let found: Vec<(usize, usize)> =
            report.epilogues.iter().map(|o| (o.submission, o.producer)).collect();
        assert_eq!(found, pairs, "{report:#?}");
        self
    }

    /// Demands that nothing is.
    #[track_caller]
    pub(crate) fn appends_nothing(self) -> Self {
        self.appends(&[])
    }
}

/// A value that is computed in a loop: column `x` of row `y`, in WGSL and GLSL alike.
pub(crate) fn computed(word: &str, name: &str, x: &str) -> String {
    format!(
        "{word} {name} = 0u; for ({word} k = 0u; k < p.z; k++) {{ {name} += a[(k * 7u + {x}) % p.x] * b[k] + y; }} "
    )
}

/// A kernel that stores `count` neighbours of row `y`, each under its own guard.
fn neighbours(count: u32, word: &str, z: &str) -> String {
    let mut text = format!("if (x >= p.x || y >= p.y) {{ return; }} {word} at = y * p.x + x; ");
    for r in 0..count {
        text += &computed(word, &format!("s{r}"), &format!("x + {r}u"));
    }
    text += &format!("{z}[at] = s0; ");
    for r in 1..count {
        text += &format!("if (x + {r}u < p.x) {{ {z}[at + {r}u] = s{r}; }} ");
    }
    text
}

/// The same in WGSL, in work-groups of 8 x 2.
pub(crate) fn rows_of(count: u32) -> String {
    kernel(
        "a b z",
        "8, 2",
        &format!("let x = gid.x * {count}u; let y = gid.y; {}", neighbours(count, "var", "z")),
    )
}

pub(crate) fn over_rows(count: u32, width: u32, height: u32) -> [u32; 3] {
    [width.div_ceil(8 * count), height.div_ceil(2), 1]
}

/// An element-wise kernel of `p.x` elements.
pub(crate) fn flat(names: &str, body: &str) -> String {
    kernel(names, "16", &format!("let i = gid.x; if (i >= p.x) {{ return; }} {body}"))
}

/// An element-wise kernel over a grid of `p.x` columns and `p.y` rows.
pub(crate) fn grid(names: &str, body: &str) -> String {
    let guard = "let x = gid.x; let y = gid.y; if (x >= p.x || y >= p.y) { return; } let i = y * p.x + x;";
    kernel(names, "4, 4", &format!("{guard} {body}"))
}

pub(crate) fn tiles(width: u32, height: u32) -> [u32; 3] {
    [width.div_ceil(4), height.div_ceil(4), 1]
}

/// A list that begins with a kernel that stores `count` neighbours an invocation; buffer 2 is what it stores.
pub(crate) fn begun(count: u32, width: u32, height: u32, promote: Promote) -> Lab {
    Lab::rewriting(u64::from(width * height).max(16)).promote(2, promote).submit(
        &rows_of(count),
        over_rows(count, width, height),
        &[0, 1, 2],
        &[width, height, 3],
    )
}

pub(crate) const TRIPLE: &str = "z[i] = a[i] * 3u + 1u;";

/// A list of a kernel and a sum that adds what it stores to what was there.
fn summed(text: &str, groups: [u32; 3], push: &[u32], n: u32) -> Checked {
    Lab::rewriting(u64::from(n))
        .submit(text, groups, &[0, 1, 2], push)
        .submit(&flat("a z", "z[i] = z[i] + a[i];"), [n.div_ceil(16), 1, 1], &[2, 3], &[n])
        .check()
}

probes! {
    // By elements, in whatever layout.
    fn elements_are_done_where_they_are_stored() {
        let (mut all, mut epilogues) = (0, 0);
        for promote in [Promote::None, Promote::Auto] {
            for count in [2, 4, 8] {
                for (width, height) in [(27, 5), (32, 4), (9, 3), (8, 1)] {
                    let n = width * height;
                    let lab = || begun(count, width, height, promote);
                    let lists = [
                        lab().submit(&flat("a z", TRIPLE), [n.div_ceil(16), 1, 1], &[2, 3], &[n]),
                        lab().submit(&grid("a z", TRIPLE), tiles(width, height), &[2, 3], &[width, height]),
                    ];
                    for checked in lists.map(Lab::check) {
                        all += 1;
                        assert_eq!(checked.plan.steps.len(), 1, "{:#?}", checked.plan.report);
                        // Few elements may be placed instead.
                        if checked.plan.report.epilogues.is_empty() {
                            continue;
                        }
                        epilogues += 1;
                        let checked = checked.fused(0).appends(&[(1, 0)]);
                        if promote == Promote::Auto {
                            checked.inside(2, Internalization::Private);
                        }
                    }
                }
            }
        }
        assert!(epilogues * 2 > all, "{epilogues} of {all}");
    }

    // Values of rows and columns, what others have stored, and what comes behind.
    fn a_chain_of_elements_is_done_where_they_are_stored() {
        let (width, height) = (21, 6);
        let n = width * height;
        for promote in [Promote::None, Promote::Auto] {
            begun(4, width, height, promote)
                .promote(3, promote)
                .submit(&grid("a b c z", "z[i] = a[i] * b[x] + c[y];"), tiles(width, height), &[2, 4, 5, 3], &[width, height])
                .submit(&flat("z", "z[i] = max(z[i], 9u);"), [n.div_ceil(16), 1, 1], &[3], &[n])
                .submit(&flat("a b z", "z[i] = a[i] ^ b[i];"), [n.div_ceil(16), 1, 1], &[3, 0, 6], &[n])
                .check()
                .fused(0)
                .appends(&[(1, 0), (2, 0), (3, 0)]);
        }
    }

    fn in_place() {
        let (width, height) = (27u32, 5u32);
        let n = width * height;
        for promote in [Promote::None, Promote::Auto] {
            begun(4, width, height, promote)
                .submit(&flat("z", "z[i] = z[i] * 3u + 1u;"), [n.div_ceil(16), 1, 1], &[2], &[n])
                .submit(&grid("z", "z[i] = z[i] ^ x;"), tiles(width, height), &[2], &[width, height])
                .submit(&flat("a z", TRIPLE), [n.div_ceil(16), 1, 1], &[2, 3], &[n])
                .check()
                .fused(0)
                .appends(&[(1, 0), (2, 0), (3, 0)]);
        }
        // Not all is stored back: what was stored stays.
        begun(4, width, height, Promote::Auto)
            .submit(&flat("z", "z[i] = z[i] * 3u + 1u;"), [9, 1, 1], &[2], &[n - 3])
            .check()
            .fused(0)
            .appends(&[(1, 0)]);
        begun(4, width, height, Promote::None)
            .submit(&flat("b z", "if (b[i] % 2u == 0u) { z[i] = z[i] * 3u + 1u; }"), [n.div_ceil(16), 1, 1], &[0, 2], &[n])
            .check()
            .fused(0)
            .appends(&[(1, 0)]);
        // A buffer that was to be promoted and stays in memory: a row has too many slots.
        let strip = "let x = gid.x * p.z; let y = gid.y; if (y >= p.y) { return; } \
            for (var r = 0u; r < p.z; r++) { if (x + r < p.x) { z[y * p.x + x + r] = a[x] * b[r] + r; } }";
        let checked = Lab::rewriting(40960)
            .promote(2, Promote::Auto)
            .submit(&kernel("a b z", "8, 2", strip), [1, 3, 1], &[0, 1, 2], &[8192, 5, 1024])
            .submit(&flat("z", "z[i] = z[i] * 3u + 1u;"), [2560, 1, 1], &[2], &[40960 - 3])
            .check()
            .fused(0)
            .appends(&[(1, 0)]);
        checked.refused(2);
        begun(4, width, height, Promote::None)
            .submit(&flat("z", "z[i] = z[i] * 3u + 1u;"), [3, 1, 1], &[2], &[41])
            .check()
            .fused(0)
            .appends(&[(1, 0)]);
    }

    // What is stored back is another value: it is not the one that was stored before.
    fn read_again() {
        let (width, height) = (27, 5);
        let n = width * height;
        for body in [
            "z[i] = a[i] * 3u; y[i] = z[i];",
            "if (b[i] % 2u == 0u) { z[i] = a[i] + 5u; } y[i] = z[i] + 1u;",
            "for (var k = 0u; k < 3u; k++) { z[i] = z[i] * 3u + a[i] + b[i]; } y[i] = i;",
        ] {
            begun(4, width, height, Promote::None)
                .submit(&flat("a b z y", body), [n.div_ceil(16), 1, 1], &[0, 1, 2, 3], &[n])
                .check()
                .appends_nothing();
        }
    }

    // A part of the elements, from the first on or from a later one.
    fn a_part_of_the_elements() {
        let (width, height) = (27, 5);
        for (first, n) in [(0u64, 100u64), (8, 100), (35, 100), (60, 16)] {
            begun(4, width, height, Promote::None)
                .submit_views(
                    &flat("a z", TRIPLE),
                    [n as u32 / 16 + 1, 1, 1],
                    &[(2, first, n).into(), 3.into()],
                    &[n as u32],
                )
                .check()
                .fused(0)
                .appends(&[(1, 0)]);
        }
    }

    fn blocks_of_elements() {
        let store = |r: u32, c: u32| {
            let guard = format!("x + {c}u < p.x && y + {r}u < p.y");
            format!("if ({guard}) {{ z[(y + {r}u) * p.x + x + {c}u] = s{r}{c}; }} ")
        };
        for (rows, columns) in [(2, 2), (2, 4), (4, 2)] {
            let mut body = format!("let x = gid.x * {columns}u; let y = gid.y * {rows}u; ");
            let all: Vec<(u32, u32)> = (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c))).collect();
            for &(r, c) in &all {
                body += &computed("var", &format!("s{r}{c}"), &format!("x + {c}u + {r}u"));
            }
            body += &all.iter().map(|&(r, c)| store(r, c)).collect::<String>();
            let text = kernel("a b z", "4, 2", &body);
            for (width, height) in [(16u32, 8u32), (13, 7)] {
                let groups = [width.div_ceil(4 * columns), height.div_ceil(2 * rows), 1];
                let n = width * height;
                Lab::rewriting(u64::from(n))
                    .promote(2, Promote::Auto)
                    .submit(&text, groups, &[0, 1, 2], &[width, height, 3])
                    .submit(&flat("a z", TRIPLE), [n.div_ceil(16), 1, 1], &[2, 3], &[n])
                    .check()
                    .fused(0)
                    .appends(&[(1, 0)]);
            }
        }
    }

    // One dimension and three; a loop that stores.
    fn other_shapes() {
        let one = kernel("a b z", "16", &format!("let x = gid.x * 4u; let y = 0u; {}", neighbours(4, "var", "z")));
        for n in [64, 61] {
            Lab::rewriting(64)
                .submit(&one, [1, 1, 1], &[0, 1, 2], &[n, 1, 3])
                .submit(&flat("a z", TRIPLE), [4, 1, 1], &[2, 3], &[n])
                .check()
                .fused(0)
                .appends(&[(1, 0)]);
        }
        let (width, height, depth) = (10, 3, 4);
        let deep = neighbours(2, "var", "z").replace("y * p.x + x", "(gid.z * p.y + y) * p.x + x");
        let deep = deep.replace("return;", "return; } if (gid.z >= p.w) { return;");
        let three = kernel("a b z", "4, 2, 2", &format!("let x = gid.x * 2u; let y = gid.y; {deep}"));
        let of_three = kernel("a z", "4, 4, 4", "let i = (gid.z * p.y + gid.y) * p.x + gid.x;
            if (gid.x >= p.x || gid.y >= p.y || gid.z >= p.z) { return; } z[i] = a[i] * 3u + gid.z;");
        let n = width * height * depth;
        for consumer in 0..2 {
            let lab = Lab::rewriting(u64::from(n)).promote(2, Promote::Auto)
                .submit(&three, [2, 2, 2], &[0, 1, 2], &[width, height, 3, depth]);
            let lab = match consumer {
                0 => lab.submit(&flat("a z", TRIPLE), [n.div_ceil(16), 1, 1], &[2, 3], &[n]),
                _ => lab.submit(&of_three, [3, 1, 1], &[2, 3], &[width, height, depth]),
            };
            lab.check().fused(0).appends(&[(1, 0)]);
        }
        let values: String = (0..4).map(|r| computed("var", &format!("s{r}"), &format!("x + {r}u"))).collect();
        let looped = format!("let x = gid.x * 4u; let y = gid.y; if (y >= p.y) {{ return; }} {values}
            var s = array<u32, 4>(s0, s1, s2, s3);
            for (var r = 0u; r < 4u; r++) {{ if (x + r < p.x) {{ z[y * p.x + x + r] = s[r]; }} }}");
        Lab::rewriting(27 * 5)
            .submit(&kernel("a b z", "8, 2", &looped), over_rows(4, 27, 5), &[0, 1, 2], &[27, 5, 3])
            .submit(&flat("a z", TRIPLE), [9, 1, 1], &[2, 3], &[27 * 5])
            .check()
            .fused(0)
            .appends(&[(1, 0)]);
    }

    // One invocation of a work-group stores, behind barriers.
    fn the_first_of_a_work_group_stores() {
        let outside = "var<workgroup> part: array<u32, 16>; ---";
        let body = "var s = 0u; for (var k = lid.x; k < p.x; k += 16u) { s += a[k] * b[(k + wid.x) % p.x]; }
            part[lid.x] = s; workgroupBarrier();
            if (lid.x == 0u) { var t = 0u; for (var k = 0u; k < 16u; k++) { t += part[k]; } z[wid.x] = t; }";
        let text = kernel("a b z", "16", &format!("{outside}{body}"));
        for rows in [40, 16] {
            let checked = Lab::rewriting(64)
                .submit(&text, [rows, 1, 1], &[0, 1, 2], &[64])
                .submit(&flat("a b z", "z[i] = a[i] + b[i];"), [rows.div_ceil(16), 1, 1], &[2, 0, 3], &[rows])
                .check();
            assert_eq!(checked.plan.steps.len(), 1, "{:#?}", checked.plan.report);
        }
    }

    // Tiles in work-groups that are lines, whose number is divided as well.
    fn tiles_in_a_line() {
        let tile = |wide: u32| format!("let tiles = (p.x + {wide}u - 1u) / {wide}u;
            let x = wid.x % tiles * {wide}u + lid.x % {wide}u; let y = wid.x / tiles * {}u + lid.x / {wide}u;", 32 / wide);
        let store = "if (x < p.x && y < p.y) { z[y * p.x + x] = s; }";
        for (wide, width, height) in [(8, 16, 8), (8, 13, 7), (4, 16, 16), (16, 32, 6)] {
            let text = kernel("a b z", "32", &format!("{} {} {store}", tile(wide), computed("var", "s", "x")));
            let (n, groups) = (width * height, u32::div_ceil(width, wide) * u32::div_ceil(height, 32 / wide));
            summed(&text, [groups, 1, 1], &[width, height, 3], n).fused(0).appends(&[(1, 0)]);
        }
        // Digits of digits, as of invocations in sub-groups in tiles.
        let nested = "let w = lid.x / 16u; let t = lid.x % 16u; let x = w % 2u * 4u + t % 4u; let y = wid.x * 8u + w / 2u * 4u + t / 4u;";
        let text = kernel("a b z", "64", &format!("{nested} {} {store}", computed("var", "s", "x")));
        for (width, height) in [(8, 16), (7, 13)] {
            summed(&text, [2, 1, 1], &[width, height, 3], width * height).fused(0).appends(&[(1, 0)]);
        }
    }

    // Not all pairs of a quotient and a remainder are there: `lid.x` of 12 is no `8 q + r` for all `q` and `r`.
    fn parts_of_ids_cover_if_they_divide_them() {
        for (size, covers) in [("12", false), ("16", true)] {
            let body = "let x = lid.x % 8u; let y = lid.x / 8u; z[x * 2u + y] = a[x] + y;";
            let lab = Lab::new(16).submit(&kernel("a z", size, body), [1, 1, 1], &[0, 1], &[]);
            assert_eq!(lab.overwrites(1), covers, "{size}");
        }
    }

    // What permutes elements reads them by quotients and remainders of its id.
    fn permutations() {
        let (width, height) = (16u32, 8u32);
        let n = width * height;
        let tile = "let x = wid.x % 2u * 8u + lid.x % 8u; let y = wid.x / 2u * 4u + lid.x / 8u; part[lid.x] = a[y * 16u + x]; workgroupBarrier();
            z[y * 16u + x] = part[31u - lid.x] + b[x];";
        let tile = kernel("a b z", "32", &format!("var<workgroup> part: array<u32, 32>; --- {tile}"));
        for (body, taken) in [
            ("let y = i / p.y; let x = i % p.y; z[i] = a[x * p.z + y] * 3u + i;", true),
            ("let t = i / 4u; let x = i % 4u; let y = t % 8u; let w = t / 8u; z[i] = a[(y * 4u + w) * 4u + x] + i;", true),
            // Not all of them, one twice, and more than there are.
            ("let y = i / p.y; let x = i % p.y; z[i] = a[x * p.z + y / 2u] * 3u + i;", false),
            ("let y = i / 5u; let x = i % 5u; z[i] = a[x * 25u + y] * 3u + i;", false),
        ] {
            let checked = Lab::rewriting(u64::from(n) * 2)
                .submit(&tile, [8, 1, 1], &[0, 1, 2], &[])
                .submit(&flat("a z", body), [n.div_ceil(16), 1, 1], &[2, 3], &[n, height, width])
                .check();
            match taken {
                true => drop(checked.fused(0).appends(&[(1, 0)])),
                false => drop(checked.appends_nothing()),
            }
        }
    }

    // Loads and stores that several rounds of a loop do.
    fn several_elements_an_invocation_are_done_one_by_one() {
        let (width, height) = (27u32, 5u32);
        let n = width * height;
        let each = "for (var r = 0u; r < 2u; r++) { let i = wid.x * 32u + r * 16u + lid.x; if (i < p.x) { z[i] = a[i] * 3u + b[i]; } }";
        let also = "for (var r = 0u; r < 2u; r++) { let i = wid.x * 32u + r * 16u + lid.x; if (i >= p.x) { continue; } z[i] = a[i] * 3u + b[i]; }";
        for body in [each, also] {
            let text = kernel("a b z", "16", body);
            let checked = begun(4, width, height, Promote::None)
                .submit(&text, [n.div_ceil(32), 1, 1], &[2, 4, 3], &[n])
                .check();
            assert_eq!(checked.plan.steps.len(), 1, "{:#?}", checked.plan.report);
        }
        // Of a kernel that nothing else takes.
        let tile = "let x = wid.x % 2u * 8u + lid.x % 8u; let y = wid.x / 2u * 4u + lid.x / 8u; part[lid.x] = a[y * 16u + x]; workgroupBarrier();
            z[y * 16u + x] = part[31u - lid.x] + b[x];";
        let tile = kernel("a b z", "32", &format!("var<workgroup> part: array<u32, 32>; --- {tile}"));
        for body in [each, also] {
            Lab::rewriting(256)
                .submit(&tile, [8, 1, 1], &[0, 1, 2], &[])
                .submit(&kernel("a b z", "16", body), [8, 1, 1], &[2, 4, 3], &[256])
                .check()
                .fused(0)
                .appends(&[(1, 0)]);
        }
    }

    // Two kernels that make something of the same elements, one of them several things, at other places, or where memory says.
    fn several_results() {
        let (width, height) = (27u32, 5u32);
        let n = width * height;
        let groups = [n.div_ceil(16), 1, 1];
        for promote in [Promote::None, Promote::Auto] {
            let checked = begun(4, width, height, promote)
                .submit(&flat("a z zz", "z[i] = a[i] * 3u; zz[p.x - 1u - i] = a[i] + 1u;"), groups, &[2, 3, 4], &[n])
                .submit(&flat("a z", TRIPLE), groups, &[2, 5], &[n])
                .check()
                .fused(0)
                .appends(&[(1, 0), (2, 0)]);
            if promote == Promote::Auto {
                checked.inside(2, Internalization::Private);
            }
            let turned = grid("a z", "z[x * p.y + y] = a[i] * 3u;");
            begun(4, width, height, promote)
                .submit(&turned, tiles(width, height), &[2, 3], &[width, height])
                .check()
                .fused(0)
                .appends(&[(1, 0)]);
        }
    }

    // Of what is stored at several places, a part is for somebody else.
    fn what_others_read_stays() {
        let (width, height) = (27u32, 5u32);
        let n = width * height;
        let groups = [n.div_ceil(16), 1, 1];
        let reversed = flat("a z", "z[i] = a[p.x - 1u - i];");
        begun(4, width, height, Promote::Auto)
            .submit(&flat("a z", TRIPLE), groups, &[2, 3], &[n])
            .submit(&reversed, groups, &[2, 4], &[n])
            .check()
            .appends(&[(1, 0)]);
        // Fewer items than elements: what is behind the guard stays as it was.
        for items in [40, n - 1] {
            begun(4, width, height, Promote::None)
                .submit(&flat("a z", TRIPLE), groups, &[2, 3], &[items])
                .check()
                .fused(0)
                .appends(&[(1, 0)]);
        }
    }

    // Items with loops, and with variables that are no values, which begin anew in each.
    fn loops_and_local_variables() {
        let (width, height) = (27u32, 5u32);
        let n = width * height;
        let groups = [n.div_ceil(16), 1, 1];
        for body in [
            "var s = 0u; for (var k = 0u; k < a[i] % 5u; k++) { s += k; } z[i] = s;",
            "var s: array<u32, 4>; s[a[i] % 4u] = i; for (var k = 0u; k < 4u; k++) { s[k] += a[i] + k; } z[i] = s[b[i] % 4u];",
            "var s: array<u32, 4>; for (var k = 0u; k < 3u; k++) { if (a[i] < k) { break; } s[(a[i] + k) % 4u] = k; } z[i] = s[1] + s[3];",
        ] {
            for count in [2, 4] {
                let list = begun(count, width, height, Promote::Auto);
                list.submit(&flat("a b z", body), groups, &[2, 0, 3], &[n]).check().fused(0).appends(&[(1, 0)]);
            }
        }
        // Where few invocations store, loops would run on a part of the device.
        let body = "var s = 0u; for (var k = 0u; k < a[i] % 5u; k++) { s += k; } z[i] = s;";
        for (filling, pairs) in [(32, &[(1, 0)][..]), (1 << 16, &[])] {
            let mut list = begun(4, width, height, Promote::None);
            list.limits.overlapping_invocations = filling;
            list.submit(&flat("a z", body), groups, &[2, 3], &[n]).check().appends(pairs);
        }
        // A return inside of a loop.
        let returns = "for (var k = 0u; k < 3u; k++) { if (a[i] < k) { return; } z[i] = k; }";
        begun(4, width, height, Promote::None)
            .submit(&flat("a z", returns), groups, &[2, 3], &[n])
            .check()
            .appends_nothing();
    }

    // What is tied to its invocation, its dispatch or others stays where it is.
    fn what_is_tied() {
        let (width, height) = (27u32, 5u32);
        let n = width * height;
        let groups = [n.div_ceil(16), 1, 1];
        for (names, body) in [
            ("a z", "z[i] = a[i] + nwg.x;"),
            ("a z:atomic<u32>", "atomicAdd(&z[i % 4u], a[i]);"),
        ] {
            begun(4, width, height, Promote::None)
                .submit(&flat(names, body), groups, &[2, 3], &[n])
                .check()
                .appends_nothing();
        }
    }

    fn whoever_compiles_them() {
        if !is_possible() {
            return;
        }
        let (width, height) = (27, 5);
        for recipe in RECIPES {
            for count in [2, 4] {
                let body = format!("uint x = i * {count}u, y = gl_GlobalInvocationID.y; {}", neighbours(count, "uint", "z"));
                let text = glsl(recipe, "a b z", "8, local_size_y = 2", &body);
                let guarded = "if (i < p.x) { z[i] = a[i] * 3u + 1u; }";
                let returns = "if (i >= p.x) return; z[i] = a[i] * 3u + 1u;";
                for consumer in [guarded, returns] {
                    let consumer = glsl(recipe, "a z", "16", consumer);
                    let n = width * height;
                    let checked = Lab::rewriting(u64::from(n))
                        .submit(&text, over_rows(count, width, height), &[0, 1, 2], &[width, height, 3])
                        .submit(&consumer, [n.div_ceil(16), 1, 1], &[2, 3], &[n])
                        .check();
                    // Returns that were merged are values that branches choose.
                    if !recipe.contains("merge-return") {
                        checked.fused(0).appends(&[(1, 0)]);
                    }
                }
            }
        }
    }

    fn guards_that_depend_on_data() {
        let text = rows_of(4).replace("x + 2u < p.x)", "x + 2u < p.x && a[x] % 3u != 0u)");
        assert!(text.contains("% 3u"));
        let checked = summed(&text, over_rows(4, 27, 5), &[27, 5, 3], 27 * 5);
        checked.stays_apart(2);
        checked.appends_nothing();
    }

    fn elements_that_nobody_stores() {
        for (width, guard) in [(27, "x + 3u < p.x"), (28, "x + 2u < p.x")] {
            let text = rows_of(2).replace("x + 1u < p.x", guard);
            summed(&text, over_rows(2, width, 4), &[width, 4, 3], width * 4).appends_nothing();
        }
        // More items than elements.
        let n = 27 * 5;
        let checked = Lab::rewriting(u64::from(n) + 20)
            .submit(&rows_of(4), over_rows(4, 27, 5), &[0, 1, 2], &[27, 5, 3])
            .submit(&flat("a z", TRIPLE), [10, 1, 1], &[2, 3], &[n + 20])
            .check();
        checked.stays_apart(2);
    }

    // Rows that a kernel in between does not do, which it says by the quotient of an index.
    fn rows_that_nobody_stores() {
        let less = grid("a z", "if (y + 1u < p.y) { z[i] = a[i] * 3u; }");
        begun(4, 21, 6, Promote::None)
            .submit(&less, tiles(21, 6), &[2, 3], &[21, 6])
            .submit(&flat("a z", TRIPLE), [8, 1, 1], &[3, 4], &[126])
            .check()
            .appends(&[(1, 0)]);
    }

    fn elements_that_are_stored_twice() {
        let twice = rows_of(4).replace("z[at + 3u]", "z[at + 2u]").replace("x + 3u < p.x", "x + 2u < p.x");
        summed(&twice, over_rows(4, 27, 5), &[27, 5, 1], 27 * 5).appends_nothing();
        // In rounds of a loop.
        let looped = "let x = gid.x * 2u; let y = gid.y; if (x >= p.x || y >= p.y) { return; } let at = y * p.x + x; \
            for (var r = 0u; r < 2u; r++) { z[at] = a[x] * b[r] + r; if (x + 1u < p.x) { z[at + 1u] = a[x + 1u] + r; } }";
        summed(&kernel("a b z", "8, 2", looped), over_rows(2, 27, 5), &[27, 5, 1], 27 * 5).appends_nothing();
    }

    fn items_that_read_other_elements() {
        let (width, height) = (27u32, 5u32);
        let n = width * height;
        for read in ["a[i] + a[min(i + 1u, p.x - 1u)]", "a[i] + a[p.x - 1u - i]", "a[i / 2u]", "a[b[i] % p.x]"] {
            let checked = begun(4, width, height, Promote::None)
                .submit(&flat("a b z", &format!("z[i] = {read};")), [n.div_ceil(16), 1, 1], &[2, 0, 3], &[n])
                .check();
            checked.appends_nothing();
        }
    }

    fn what_is_touched_in_between() {
        let (width, height) = (27u32, 5u32);
        let n = width * height;
        let groups = [n.div_ceil(16), 1, 1];
        // What it writes is read by the other, or by a third one before it is written.
        begun(4, width, height, Promote::None)
            .submit(&flat("a z", TRIPLE), groups, &[2, 0], &[n])
            .check()
            .appends_nothing();
        let reversed = flat("a z", "z[i] = a[p.x - 1u - i];");
        begun(4, width, height, Promote::None)
            .submit(&reversed, groups, &[3, 4], &[n])
            .submit(&flat("a z", TRIPLE), groups, &[2, 3], &[n])
            .check()
            .appends_nothing();
        // What it reads is written in between.
        begun(4, width, height, Promote::None)
            .submit(&reversed, groups, &[0, 5], &[n])
            .submit(&flat("a b z", "z[i] = a[i] + b[i];"), groups, &[2, 5, 6], &[n])
            .check();
        // The elements are written over in between.
        begun(4, width, height, Promote::None)
            .submit(&reversed, groups, &[0, 2], &[n])
            .submit(&flat("a z", TRIPLE), groups, &[2, 6], &[n])
            .check();
        // Others read them as well.
        begun(4, width, height, Promote::Auto)
            .submit(&flat("a z", TRIPLE), groups, &[2, 3], &[n])
            .submit(&reversed, groups, &[2, 4], &[n])
            .check();
    }

    fn stores_side_by_side_cover() {
        for (count, width, height) in [(4, 26, 5), (2, 10, 4), (8, 66, 2), (4, 27, 5), (2, 9, 4)] {
            let lab = |text: &str| {
                let groups = over_rows(count, width, height);
                Lab::new(u64::from(width * height)).submit(text, groups, &[0, 1, 2], &[width, height, 3])
            };
            assert!(lab(&rows_of(count)).overwrites(2));
            // The last of a row, if it is the second of an invocation.
            if width % count == 2 % count {
                assert!(!lab(&rows_of(count).replace("x + 1u < p.x", "x + 2u < p.x")).overwrites(2));
            }
        }
    }
}
