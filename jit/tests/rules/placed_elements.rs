//! Kernels that do several elements an invocation in any of the ways that libraries write them: each element is an item.

use vkfuse_jit::plan::Promote;

use super::glsl::{RECIPES, glsl, is_possible};
use super::lab::{Checked, Lab, kernel};
use super::placed_rounds::{N, W, before_rows};
use super::placement::{flat, norm, over};

/// Ways to do `count` elements an invocation, work-groups of 16 apart, each with `store` for element `i` of `p.y`; in WGSL and GLSL alike.
fn forms(count: u32, word: &str, store: &str) -> Vec<String> {
    let (size, first) = (16 * count, |count: u32| format!("wid.x * {count}u + lid.x"));
    let var = |of: &str| format!("{word} i = {of}; ");
    let rounds = |body: &str| format!("for ({word} e = 0u; e < {count}u; e++) {{ {body} }}");
    let written_out = |one: &str| vec![one; count as usize].join(" ");
    let first = first(size);
    vec![
        var(&first) + &rounds(&format!("if (i < p.y) {{ {store} }} i += 16u;")),
        var(&first) + &rounds(&format!("if (i >= p.y) {{ continue; }} {store} i += 16u;")),
        var(&first) + &rounds(&format!("if (i < p.y) {{ {store} i += 16u; }}")),
        var(&first) + &written_out(&format!("if (i < p.y) {{ {store} }} i += 16u;")),
        var(&first) + &written_out(&format!("if (i >= p.y) {{ return; }} {store} i += 16u;")),
        format!(
            "{word} most = min(wid.x * {size}u + {size}u, p.y); for ({word} i = {first}; i < most; i += 16u) {{ {store} }}"
        ),
        var(&first)
            + &rounds(&format!("if (i >= p.y) {{ continue; }} {store} i += 16u;"))
                .replace(&format!("e < {count}u"), "e < p.z"),
    ]
}

fn groups(count: u32) -> [u32; 3] {
    [N.div_ceil(16 * count), 1, 1]
}

/// A kernel of several elements before one that goes by rows.
fn rows_behind(text: &str, count: u32, promote: Promote) -> Checked {
    let lab = Lab::rewriting(u64::from(N)).promote(1, promote);
    let lab = lab.submit(text, groups(count), &[0, 1], &[W, N, count]);
    lab.submit(&norm(), [N / W, 1, 1], &[1, 2], &[W]).check()
}

fn check_before_rows(text: &str, count: u32) {
    for promote in [Promote::None, Promote::Auto] {
        // A loop that ends with the elements has no more rounds than it takes to come to them.
        let rounds = if text.contains("most") { count.min(N.div_ceil(16)) } else { count };
        rows_behind(text, count, promote).fused(0).by_rounds(&[(0, rounds)]);
    }
}

/// A kernel that only seems to do elements in rounds: it stays as it is.
#[track_caller]
fn is_no_item(text: &str) -> Checked {
    before_rows(text, groups(2), &[0, 1]).check().by_rounds(&[])
}

impl Checked {
    /// Demands one dispatch, with whatever barriers.
    #[track_caller]
    fn fused_somehow(self) -> Self {
        assert_eq!(self.plan.steps.len(), 1, "{:#?}", self.plan.report);
        self
    }
}

probes! {
    fn several_elements_take_rows() {
        for count in [2, 3, 4, 8] {
            for text in forms(count, "var", "z[i] = a[i] * 3u + 1u;") {
                check_before_rows(&kernel("a z", "16", &text), count);
            }
        }
    }

    fn several_elements_take_rows_whoever_compiles_them() {
        if !is_possible() {
            return;
        }
        for count in [2, 4] {
            for recipe in RECIPES {
                for text in forms(count, "uint", "z[i] = a[i] * 3u + 1u;") {
                    let text = text.replace("wid.x", "g").replace("lid.x", "l").replace("uint i = ", "i = ");
                    let text = glsl(recipe, "a z", "16", &text);
                    // Returns that were merged are values that a loop carries.
                    if recipe.contains("merge-return") {
                        before_rows(&text, groups(count), &[0, 1]).check();
                    } else {
                        check_before_rows(&text, count);
                    }
                }
            }
        }
    }

    // Behind the rows, with values for each column and each row; and one row.
    fn several_elements_behind_rows() {
        for rows in [1, 5] {
            for count in [2, 3] {
                for text in forms(count, "var", "z[i] = a[i] * b[i % p.x] + c[i / p.x];") {
                    let n = rows * W;
                    let checked = Lab::rewriting(u64::from(N))
                        .promote(1, Promote::Auto)
                        .submit(&norm(), [rows, 1, 1], &[0, 1], &[W])
                        .submit(&kernel("a b c z", "16", &text), [n.div_ceil(16 * count), 1, 1], &[1, 2, 3, 4], &[W, n, count])
                        .check();
                    // One row has fewer items than the work-groups of some have places.
                    if rows > 1 {
                        checked.fused_somehow();
                    }
                }
            }
        }
    }

    // Several an invocation on either side, as many or not.
    fn several_elements_beside_several() {
        let body = "z[i] = a[i] + 5u;";
        for (first, second) in [(2, 3), (3, 2), (2, 1), (1, 4), (4, 2)] {
            for (one, other) in forms(first, "var", body).iter().zip(forms(second, "var", body).iter().rev()) {
                Lab::rewriting(u64::from(N))
                    .promote(1, Promote::Auto)
                    .submit(&kernel("a z", "16", one), groups(first), &[0, 1], &[W, N, first])
                    .submit(&kernel("a z", "16", other), groups(second), &[1, 2], &[W, N, second])
                    .check()
                    .fused_somehow();
            }
        }
    }

    // Elements that are next to each other.
    fn neighbours_are_items() {
        for count in [2, 3, 4] {
            let each = format!("let i = gid.x * {count}u + e; if (i < p.y) {{ z[i] = a[i] ^ 9u; }}");
            let text = kernel("a z", "16", &format!("for (var e = 0u; e < {count}u; e++) {{ {each} }}"));
            rows_behind(&text, count, Promote::Auto).fused_somehow();
            let one = |n: u32| format!("let i{n} = gid.x * {count}u + {n}u; if (i{n} < p.y) {{ z[i{n}] = a[i{n}] ^ 9u; }}");
            let all: Vec<String> = (0..count).map(one).collect();
            rows_behind(&kernel("a z", "16", &all.join(" ")), count, Promote::Auto).fused_somehow();
            // By work-group and local id.
            let text = kernel("a z", "16", &format!(
                "for (var e = 0u; e < {count}u; e++) {{ let i = (wid.x * 16u + lid.x) * {count}u + e; if (i < p.y) {{ z[i] = a[i] + lid.x + wid.x * gid.x; }} }}"
            ));
            rows_behind(&text, count, Promote::Auto).fused_somehow();
        }
    }

    // What an invocation stores in several elements is computed where another one reads it.
    fn several_elements_are_worked_out_again() {
        let reversed = flat("a z", "a[p.y - 1u - i]");
        let stencil = flat("a z", "a[i] + a[min(i + 1u, p.y - 1u)] + a[max(i, 1u) - 1u]");
        for consumer in [&reversed, &stencil] {
            for count in [2, 3] {
                // A guard that ends with the work-group is no number of elements.
                let all = forms(count, "var", "z[i] = a[i] * 3u + i;");
                for text in all.iter().filter(|text| !text.contains("most")) {
                    let checked = Lab::rewriting(u64::from(N))
                        .promote(1, Promote::Auto)
                        .submit(&kernel("a z", "16", text), groups(count), &[0, 1], &[W, N, count])
                        .submit(consumer, over(N), &[1, 2], &[W, N])
                        .check()
                        .fused_somehow();
                    assert_eq!(checked.plan.report.inlined.len(), 1, "{:#?}\n{text}", checked.plan.report);
                }
            }
        }
    }

    // A round that is left out once does not show that those after it are, or is followed by one that does another element.
    fn rounds_that_come_back_are_not_items() {
        let steps = |test: &str| kernel("a z", "16", &format!(
            "var i = wid.x * 32u + lid.x; for (var e = 0u; e < 2u; e++) {{ if ({test}) {{ continue; }} z[i] = a[i] + e; i += 16u; }}"
        ));
        is_no_item(&steps("i >= p.y || i % 7u == 5u"));
        is_no_item(&steps("i >= p.y || e == 0u"));
        is_no_item(&steps("i >= p.y || a[i] % 3u == 0u"));
        is_no_item(&steps("i >= p.y || i < 24u"));
        is_no_item(&steps("i >= p.y || (i & 8u) != 0u"));
        // Down, to a number below which nothing is done.
        let down = kernel("a z", "16",
            "var i = wid.x * 32u + lid.x + 16u; for (var e = 0u; e < 2u; e++) { if (i >= p.y) { continue; } z[i] = a[i]; i -= 16u; }");
        is_no_item(&down);
        // Unrolled, with a second store that is reached through the first one's condition.
        let nested = kernel("a z", "16",
            "var i = wid.x * 32u + lid.x; if (i >= p.y || i % 7u == 5u) { return; } z[i] = a[i]; i += 16u;
             if (i >= p.y || i % 7u == 5u) { return; } z[i] = a[i];");
        is_no_item(&nested);
    }

    fn several_loops_that_store_are_no_items() {
        let looped = |what: &str| format!("for (var e = 0u; e < 2u; e++) {{ let k = i + 16u * e; if (k < p.y) {{ {what} }} }}");
        let [first, second] = ["z[k] = a[k];", "z[k] += 1u;"].map(looped);
        is_no_item(&kernel("a z", "16", &format!("let i = wid.x * 32u + lid.x; {first} {second}")));
    }

    fn rounds_that_do_something_else_where_they_do_not_step() {
        let text = kernel("a y z", "16",
            "var i = wid.x * 32u + lid.x;
             for (var e = 0u; e < 2u; e++) {
                 let at = wid.x * 32u + lid.x + e * 16u;
                 if (at < p.y) { y[at] = i; }
                 if (i >= p.z) { continue; }
                 z[i] = a[i]; i += 16u;
             }");
        Lab::rewriting(u64::from(N))
            .submit(&text, groups(2), &[0, 3, 1], &[W, N, N / 2])
            .submit(&norm(), [N / W, 1, 1], &[1, 2], &[W])
            .check()
            .by_rounds(&[]);
    }

    fn what_comes_behind_a_loop_is_done() {
        let text = kernel("a y z", "16",
            "var i = wid.x * 32u + lid.x;
             for (var e = 0u; e < 2u; e++) { if (i >= p.y) { continue; } z[i] = a[i]; i += 16u; }
             if (gid.x < p.y) { y[gid.x] = 7u; }");
        Lab::rewriting(u64::from(N))
            .submit(&text, groups(2), &[0, 3, 1], &[W, N])
            .submit(&norm(), [N / W, 1, 1], &[1, 2], &[W])
            .check()
            .by_rounds(&[]);
    }

    fn stores_that_are_not_always_reached() {
        is_no_item(&kernel("a z", "16",
            "let i = wid.x * 32u + lid.x; let k = i + 16u;
             if (k < p.y) { if (a[i] % 2u == 0u) { return; } }
             if (i < p.y) { z[i] = a[i]; } if (k < p.y) { z[k] = a[k]; }"));
    }

    fn stores_that_are_not_alike() {
        let three = |a: u32, b: u32, c: u32| {
            let one = |n: u32, by: u32| format!("if (i + {n}u < p.y) {{ z[i + {n}u] = a[i + {n}u] * {by}u; }}");
            let all = [one(0, a), one(16, b), one(32, c)].join(" ");
            kernel("a z", "16", &format!("let i = wid.x * 48u + lid.x; {all}"))
        };
        // In equal steps, and not.
        before_rows(&three(2, 3, 4), groups(3), &[0, 1]).check().fused(0).by_rounds(&[(0, 3)]);
        before_rows(&three(2, 3, 5), groups(3), &[0, 1]).check().by_rounds(&[]);
        // Another operation, another buffer, another order of operands, another condition.
        for second in [
            "if (k < p.y) { z[k] = (a[k] * 3u) ^ b[k]; }",
            "if (k < p.y) { z[k] = (a[k] + 3u) | b[k]; }",
            "if (k < p.y) { z[k] = (a[k] + 3u) ^ a[k]; }",
            "if (k < p.y) { z[k] = (3u + a[k]) ^ b[k]; }",
            "if (k < p.x) { z[k] = (a[k] + 3u) ^ b[k]; }",
            "if (k >= p.y) { return; } z[k] = (a[k] + 3u) ^ b[k];",
        ] {
            let first = "let i = wid.x * 32u + lid.x; let k = i + 16u; if (i < p.y) { z[i] = (a[i] + 3u) ^ b[i]; }";
            let text = kernel("a b z", "16", &format!("{first} {second}"));
            before_rows(&text, groups(2), &[0, 3, 1]).check().by_rounds(&[]);
        }
        // One after the other in an element.
        is_no_item(&kernel("a z", "16", "let i = gid.x; if (i < p.y) { z[i] = a[i]; } if (i < p.y) { z[i] = a[i] + 1u; }"));
        // The second is made of what the first one stored.
        is_no_item(&kernel("a z", "16",
            "let i = wid.x * 32u + lid.x; let k = i + 16u; if (k < p.y) { z[i] = a[i]; z[k] = z[i] + a[k]; }"));
    }

    // A box with a guard for each dimension, whole work-groups or not; in lanes of four.
    fn boxes_are_followed_by_lines_and_boxes() {
        let inside = "if (gid.x >= p.x || gid.y >= p.y || gid.z >= p.z) { return; } let i = (gid.z * p.y + gid.y) * p.x + gid.x;";
        let (x, y, z) = (7u32, 6u32, 3u32);
        let n = x * y * z;
        let boxes = |size: [u32; 3]| [x.div_ceil(size[0]), y.div_ceil(size[1]), z.div_ceil(size[2])];
        let line = kernel("a b z", "16", "if (gid.x >= p.w) { return; } z[gid.x] = a[gid.x] + b[gid.x / p.x % p.y];");
        let push = [x, y, z, n];
        for (shape, size) in [("4, 4", [4, 4, 1]), ("8, 2", [8, 2, 1]), ("2, 2, 2", [2, 2, 2]), ("16, 1", [16, 1, 1])] {
            let one = kernel("a z", shape, &format!("{inside} z[i] = a[i] * 3u;"));
            for by in ["gid.x", "gid.y", "gid.z", "0u", "i"] {
                let other = kernel("a b z", "4, 4", &format!("{inside} z[i] = a[i] ^ b[{by}];"));
                Lab::rewriting(u64::from(n))
                    .promote(1, Promote::Auto)
                    .submit(&one, boxes(size), &[0, 1], &push)
                    .submit(&other, boxes([4, 4, 1]), &[1, 3, 2], &push)
                    .check()
                    .fused_somehow();
            }
            Lab::rewriting(u64::from(n))
                .promote(1, Promote::Auto)
                .submit(&one, boxes(size), &[0, 1], &push)
                .submit(&line, [n.div_ceil(16), 1, 1], &[1, 3, 2], &push)
                .check()
                .fused_somehow();
            Lab::rewriting(u64::from(n))
                .promote(1, Promote::Auto)
                .submit(&line, [n.div_ceil(16), 1, 1], &[0, 3, 1], &push)
                .submit(&one, boxes(size), &[1, 2], &push)
                .check()
                .fused_somehow();
        }
        let lanes = kernel("a z", "4, 4", &format!("{inside} for (var e = 0u; e < 4u; e++) {{ z[i * 4u + e] = a[i * 4u + e] * 3u; }}"));
        Lab::rewriting(u64::from(4 * n))
            .promote(1, Promote::Auto)
            .submit(&lanes, boxes([4, 4, 1]), &[0, 1], &push)
            .submit(&line, [n.div_ceil(4), 1, 1], &[1, 3, 2], &[x, y, z, 4 * n])
            .check();
    }

    fn quotients_bound_what_they_are_of() {
        let first = kernel("a z", "16", "if (gid.x / 4u < 2u) { z[gid.x] = a[gid.x] + 1u; }");
        let last = kernel("a z", "16", "if (gid.x / 4u < 1u) { z[gid.x] = a[gid.x + 5u]; }");
        let lab = Lab::new(64).submit(&first, [2, 1, 1], &[0, 1], &[]);
        lab.submit(&last, [2, 1, 1], &[1, 2], &[]).check().fused(1);
        // Elements from the eighth on are no one's.
        let other = kernel("a z", "16", "if (gid.x / 4u < 2u) { z[gid.x] = a[gid.x + 8u]; }");
        let lab = Lab::new(64).submit(&first, [2, 1, 1], &[0, 1], &[]);
        lab.submit(&other, [2, 1, 1], &[1, 2], &[]).check().fused(0);
    }

    // Values that few invocations store are computed where all read them.
    fn a_few_values_are_broadcast() {
        let few = kernel("a z", "16", "if (gid.x < p.z) { z[gid.x] = a[gid.x] * 3u; }");
        for by in ["gid.x", "gid.y", "gid.z"] {
            let (x, y, z) = (7u32, 6u32, 3u32);
            let many = kernel("a b z", "4, 4", &format!(
                "if (gid.x >= p.x || gid.y >= p.y || gid.z >= p.w) {{ return; }} let i = (gid.z * p.y + gid.y) * p.x + gid.x; z[i] = a[i] + b[{by}];"
            ));
            Lab::rewriting(u64::from(x * y * z))
                .promote(1, Promote::Auto)
                .submit(&few, [1, 1, 1], &[0, 1], &[x, y, 7, z])
                .submit(&many, [2, 2, 3], &[3, 1, 2], &[x, y, 7, z])
                .check()
                .fused_somehow();
        }
    }
}
