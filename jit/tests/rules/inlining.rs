//! What is recomputed where it is read, and what must not be.

use vkfuse_jit::RewriteReason;
use vkfuse_jit::plan::{Internalization, Promote};

use super::glsl::{RECIPES, glsl, is_possible};
use super::lab::{Checked, Lab, kernel};

/// What stands in for the zero that hides floats.
const SIGN: u32 = 1 << 31;

/// An element-wise kernel of `p.x` elements.
fn flat(names: &str, value: &str) -> String {
    kernel(names, "16", &format!("let i = gid.x; if (i >= p.x) {{ return; }} z[i] = {value};"))
}

/// An element-wise kernel over a grid of `p.x` columns and `p.y` rows.
fn grid(names: &str, value: &str) -> String {
    let guard = "let x = gid.x; let y = gid.y; if (x >= p.x || y >= p.y) { return; } let i = y * p.x + x;";
    kernel(names, "4, 4", &format!("{guard} z[i] = {value};"))
}

/// Work-groups of 16 for this many items.
fn over(n: u32) -> [u32; 3] {
    [n.div_ceil(16), 1, 1]
}

impl Checked {
    /// Demands that these submissions work out what those others store.
    #[track_caller]
    pub(crate) fn works_out(self, pairs: &[(usize, usize)]) -> Self {
        let report = &self.plan.report;
        let found: Vec<(usize, usize)> = report.inlined.iter().map(|o| (o.submission, o.producer)).collect();
        assert_eq!(found, pairs, "{report:#?}");
        self
    }

    /// Demands this many dispatches and nothing recomputed, and hands out why the first seam stayed open.
    #[track_caller]
    pub(crate) fn stays_apart(&self, dispatches: usize) -> Option<&RewriteReason> {
        let report = &self.plan.report;
        assert_eq!(self.plan.steps.len(), dispatches, "{report:#?}");
        assert!(report.inlined.is_empty(), "{report:#?}");
        match report.splits[0].tried.as_ref() {
            // Why these are not recomputed.
            Some(RewriteReason::SeveralElements { otherwise: Some(why), .. }) => Some(why),
            tried => tried,
        }
    }
}

/// A product, and a kernel that reads it as `read` says; buffer 2 is what is handed over.
fn product(n: u32, read: &str, promote: Promote) -> Lab {
    Lab::rewriting(u64::from(n))
        .promote(2, promote)
        .submit(&flat("a b z", "a[i] * b[i]"), over(n), &[0, 1, 2], &[n])
        .submit(&flat("a b z", read), over(n), &[2, 0, 3], &[n])
}

/// An element-wise kernel of `p.x` elements that does more than one thing.
fn flat_with(body: &str) -> String {
    kernel("a b z", "16", &format!("let i = gid.x; if (i >= p.x) {{ return; }} {body}"))
}

/// One that divides under a condition on its second input `o`.
fn divides(recipe: &str, divided: &str) -> String {
    let body =
        "if (i >= p.x) return; uint o = b[i], v = a[i]; if ((o & 1u) == 1u) { v = DIVIDED; } z[i] = v;";
    glsl(recipe, "a b z", "16", &body.replace("DIVIDED", divided))
}

/// What a kernel stores, with a number of its own, and a reversal of that.
fn divide(text: &str, y: u32) -> Lab {
    Lab::rewriting(80).submit(text, over(80), &[0, 1, 2], &[80, y]).submit(
        &flat("a z", "a[p.x - 1u - i] + a[i]"),
        over(80),
        &[2, 3],
        &[80],
    )
}

probes! {
    fn a_reversal_over_all_groups_is_worked_out() {
        for promote in [Promote::None, Promote::Auto] {
            let checked = product(80, "a[p.x - 1u - i]", promote).check().fused(0).works_out(&[(1, 0)]);
            if promote == Promote::Auto {
                checked.inside(2, Internalization::Private);
            }
        }
    }

    fn a_gather_is_worked_out() {
        product(80, "a[b[i] % p.x]", Promote::Auto).check().fused(0).works_out(&[(1, 0)]);
        // Any element of the buffer may be meant, and all of them are stored.
        product(80, "a[b[i]]", Promote::None).planned().fused(0).works_out(&[(1, 0)]);
    }

    /// What is stored as scalars and read as vectors is computed once for each of them, and of a vector that is stored a part is.
    fn vectors_of_what_is_stored_as_scalars_are_worked_out() {
        let vector = |names: &str, value: &str| {
            kernel(names, "16", &format!("let i = gid.x; if (i >= p.y) {{ return; }} z[i] = {value};"))
        };
        for (producer, (p, q), consumer, (m, n)) in [
            (flat("a z", "a[i] * 3u + i"), (80, 0), vector("a:vec4<u32> z:vec4<u32>", "a[i] * 2u"), (20, 20)),
            (flat("a z", "a[i] * 3u + i"), (80, 0), vector("a:vec4<u32> z:vec4<u32>", "a[19u - i].wzyx"), (20, 20)),
            (flat("a z:f32", "f32(a[i]) * 0.5"), (80, 0), vector("a:vec2<f32> z:vec2<u32>", "vec2<u32>(a[39u - i])"), (40, 40)),
            // Bits of another type.
            (flat("a z:f32", "f32(a[i]) * 0.5"), (80, 0), vector("a:vec4<u32> z:vec4<u32>", "a[i] + i"), (20, 20)),
            (vector("a:vec4<u32> z:vec4<u32>", "a[i] + vec4(i, 7u, 9u, i * i)"), (0, 20), flat("a z", "a[i] * 2u"), (80, 80)),
            (vector("a:vec4<u32> z:vec4<u32>", "a[i] + vec4(i, 7u, 9u, i * i)"), (0, 20), flat("a z", "a[p.x - 1u - i] + i"), (80, 80)),
            (vector("a:vec4<u32> z:vec4<f32>", "vec4<f32>(a[i]) * 0.25"), (0, 20), flat("a z", "a[(i * 7u) % p.x]"), (80, 80)),
            (vector("a:vec4<u32> z:vec4<u32>", "a[i] + vec4(i, 7u, 9u, i * i)"), (0, 20), vector("a:vec2<u32> z:vec2<u32>", "a[39u - i]"), (40, 40)),
            (vector("a:vec2<u32> z:vec2<u32>", "a[i] * vec2(i, 7u)"), (0, 40), vector("a:vec4<u32> z:vec4<u32>", "a[19u - i]"), (20, 20)),
        ] {
            println!("{producer}{consumer}");
            for promote in [Promote::None, Promote::Auto] {
                Lab::rewriting(80)
                    .promote(1, promote)
                    .submit(&producer, over(p.max(q)), &[0, 1], &[p, q])
                    .submit(&consumer, over(n), &[1, 2], &[m, n])
                    .check()
                    .fused(0)
                    .works_out(&[(1, 0)]);
            }
        }
    }

    /// A part of the buffer is stored: at vectors' ends it is one or the other, and within them neither.
    fn a_vector_is_worked_out_if_all_of_it_is_stored() {
        let vector = kernel("a:vec4<u32> z:vec4<u32>", "16",
            "let i = gid.x; if (i >= p.y) { return; } z[i] = a[p.y - 1u - i];");
        for (stored, is_whole) in [(80, true), (76, true), (8, true), (78, false), (5, false), (75, false)] {
            let checked = Lab::rewriting(80)
                .submit(&flat("a z", "a[i] * 3u + i"), over(stored), &[0, 1], &[stored])
                .submit(&vector, over(20), &[1, 2], &[80, 20])
                .check();
            match is_whole {
                true => drop(checked.fused(0).works_out(&[(1, 0)])),
                false => {
                    let tried = checked.stays_apart(2).map(ToString::to_string).unwrap_or_default();
                    assert!(tried.contains("stored only in part"), "{stored}: {tried}");
                }
            }
        }
        // Of vectors that are stored, scalars are there or not.
        for stored in [20, 19, 3] {
            let producer = kernel("a:vec4<u32> z:vec4<u32>", "16",
                "let i = gid.x; if (i >= p.y) { return; } z[i] = a[i] * 3u + vec4(i, 1u, 2u, 3u);");
            Lab::rewriting(80)
                .submit(&producer, over(stored), &[0, 1], &[80, stored])
                .submit(&flat("a z", "a[p.x - 1u - i]"), over(80), &[1, 2], &[80])
                .check()
                .fused(0)
                .works_out(&[(1, 0)]);
        }
        // Vectors with padding, and of three.
        let three = kernel("a:vec3<u32> z:vec3<u32>", "16",
            "let i = gid.x; if (i >= p.y) { return; } z[i] = a[p.y - 1u - i];");
        let tried = Lab::rewriting(80)
            .submit(&flat("a z", "a[i] * 3u + i"), over(80), &[0, 1], &[80])
            .submit(&three, over(20), &[1, 2], &[80, 20])
            .check();
        let tried = tried.stays_apart(2).map(ToString::to_string).unwrap_or_default();
        assert!(tried.contains("another type"), "{tried}");
    }

    /// Memory has one value of what is stored undefined. Anyone who computes it once more may get another.
    fn undefined_values_are_not_recomputed() {
        if !is_possible() {
            return;
        }
        for recipe in ["", "-Os"] {
            for body in ["uvec2 t; t.x = a[i]; z[i] = t.y;", "uvec2 t; t.x = a[i]; z[i] = t.x + t.y * i;", "uint t; if (a[i] > 5) t = i; z[i] = t;",
                "uvec2 t; t.x = a[i]; t = t * t.yx; z[i] = t.x + t.y * i;",
                "uvec3 t; t.x = a[i]; t.z = i; uvec3 s = t * 3; t.y = 1; t = t * t.zxy; z[i] = t.x + t.y + s.y * i;"] {
                let checked = Lab::rewriting(80)
                    .submit(&glsl(recipe, "a z", "16", body), over(80), &[0, 1], &[])
                    .submit(&flat("a z", "a[p.x - 1u - i] + a[i]"), over(80), &[1, 2], &[80])
                    .planned();
                let tried = checked.stays_apart(2).map(ToString::to_string).unwrap_or_default();
                assert!(tried.contains("an undefined value"), "{body}: {tried}");
            }
        }
    }

    fn vectors_that_are_filled_part_by_part_are_recomputed() {
        if !is_possible() {
            return;
        }
        for recipe in ["", "-Os"] {
            for body in ["uvec2 t; t.x = a[i]; t.y = i; t = t * t.yx + t; z[i] = t.x + t.y * 3;", "uvec3 t; t.z = i; t.x = a[i]; t.z = t.x; t.y = 2; t = t * t.zxy + t; z[i] = t.x + t.y * t.z;"] {
                Lab::rewriting(80)
                    .submit(&glsl(recipe, "a z", "16", body), over(80), &[0, 1], &[])
                    .submit(&flat("a z", "a[p.x - 1u - i] + a[i]"), over(80), &[1, 2], &[80])
                    .check()
                    .fused(0)
                    .works_out(&[(1, 0)]);
            }
        }
    }

    fn undefined_values_are_zeros_in_fused_kernels() {
        if !is_possible() {
            return;
        }
        for recipe in ["", "-Os"] {
            let body = "uvec2 t; t.x = a[i]; z[i] = t.y;";
            for promote in [Promote::None, Promote::Private] {
                let lab = Lab::rewriting(80)
                    .promote(1, promote)
                    .submit(&glsl(recipe, "a z", "16", body), over(80), &[0, 1], &[])
                    .submit(&flat("a z", "a[i] + i"), over(80), &[1, 2], &[80]);
                assert_eq!(lab.instructions(1), 0, "OpUndef is left");
                lab.planned().fused(0);
            }
        }
    }

    /// A module may take a scalar out of a vector of bytes only if it declares arithmetic on them, not storage alone.
    fn parts_of_vectors_for_storage_alone_are_left_alone() {
        if !is_possible() {
            return;
        }
        let copy = |ty: &str, value: &str| {
            glsl("", &format!("a:{ty} z:{ty}"), "16", &format!("if (i < p.x) z[i] = {value};"))
        };
        // Scalars of vectors, and vectors of scalars.
        for (first, count, second, items) in
            [("u8vec4", 80, "uint8_t", 320), ("uint8_t", 320, "u8vec4", 80), ("u8vec4", 80, "u8vec2", 160)]
        {
            let checked = Lab::rewriting(80)
                .submit(&copy(first, "a[i]"), over(count), &[0, 1], &[count])
                .submit(&copy(second, "a[p.x - 1u - i]"), over(items), &[1, 2], &[items])
                .check();
            let tried = checked.stays_apart(2).map(ToString::to_string).unwrap_or_default();
            assert!(tried.contains("declare for storage alone"), "{first}, {second}: {tried}");
        }
        // One that declares it may.
        Lab::rewriting(80)
            .submit(&copy("u8vec4", "a[i] + u8vec4(uint8_t(1))"), over(80), &[0, 1], &[80])
            .submit(&copy("uint8_t", "a[p.x - 1u - i]"), over(320), &[1, 2], &[320])
            .check()
            .fused(0)
            .works_out(&[(1, 0)]);
    }

    fn an_index_of_eight_bits_is_left_alone() {
        if !is_possible() {
            return;
        }
        let read = "if (i < p.x) { uint8_t j = uint8_t(i & 63u); z[i] = a[j]; }";
        let checked = Lab::rewriting(80)
            .submit(&flat("a b z", "a[i] * b[i]"), over(80), &[0, 1, 2], &[80])
            .submit(&glsl("", "a z", "16", read), over(80), &[2, 3], &[80])
            .check();
        let tried = checked.stays_apart(2).map(ToString::to_string).unwrap_or_default();
        assert!(tried.contains("width"), "{tried}");
    }

    fn a_window_is_worked_out() {
        // Clamped, guarded, and in a loop.
        for read in [
            "a[max(i, 1u) - 1u] + a[i] + a[min(i + 1u, p.x - 1u)]",
            "a[i] + select(0u, 1u, i > 0u)",
        ] {
            product(80, read, Promote::Auto).check().fused(0);
        }
        let guarded = kernel("a z", "16",
            "let i = gid.x; if (i >= p.x) { return; }
             var sum = a[i]; if (i > 0u) { sum += a[i - 1u]; } if (i + 1u < p.x) { sum += a[i + 1u]; } z[i] = sum;");
        let looped = kernel("a z", "16",
            "let i = gid.x; if (i + 4u >= p.x) { return; }
             var sum = 0u; for (var k = 0u; k < 5u; k++) { sum += a[i + k]; } z[i] = sum;");
        for text in [guarded, looped] {
            Lab::rewriting(80)
                .promote(2, Promote::Auto)
                .submit(&flat("a b z", "a[i] * b[i] + 1u"), over(80), &[0, 1, 2], &[80])
                .submit(&text, over(80), &[2, 3], &[80])
                .check()
                .fused(0)
                .works_out(&[(1, 0)])
                .inside(2, Internalization::Private);
        }
    }

    fn ids_are_digits_of_the_index() {
        // The value is made of the item's own ids, and not of the index alone.
        let blur = "a[i] + a[max(y, 1u) * p.x - p.x + x] + a[y * p.x + min(x + 1u, p.x - 1u)]";
        for (w, h) in [(8u32, 6u32), (7, 5), (4, 8)] {
            let groups = [w.div_ceil(4), h.div_ceil(4), 1];
            Lab::rewriting(u64::from(w * h))
                .promote(1, Promote::Auto)
                .submit(&grid("a z", "a[i] + 100u * gid.x + 1000u * wid.y + lid.x"), groups, &[0, 1], &[w, h])
                .submit(&grid("a z", blur), groups, &[1, 2], &[w, h])
                .check()
                .fused(0)
                .works_out(&[(1, 0)])
                .inside(1, Internalization::Private);
        }
        // Of a line, by work-group and local id.
        let strided = kernel("a z", "16", "let i = wid.x * 16u + lid.x; z[i] = a[i] + 3u * wid.x + lix;");
        Lab::rewriting(64)
            .submit(&strided, [4, 1, 1], &[0, 1], &[64])
            .submit(&flat("a z", "a[p.x - 1u - i]"), over(64), &[1, 2], &[64])
            .check()
            .fused(0)
            .works_out(&[(1, 0)]);
    }

    fn a_transposition_and_what_comes_before_it_are_worked_out() {
        let transpose = kernel("a z", "4, 4",
            "let x = gid.x; let y = gid.y; if (x >= p.x || y >= p.y) { return; } z[x * p.y + y] = a[y * p.x + x];");
        for (w, h) in [(8u32, 6u32), (5, 7)] {
            let n = w * h;
            let groups = [w.div_ceil(4), h.div_ceil(4), 1];
            Lab::rewriting(u64::from(n))
                .promote(2, Promote::Auto)
                .promote(3, Promote::Auto)
                .submit(&grid("a b z", "a[i] * b[i]"), groups, &[0, 1, 2], &[w, h])
                .submit(&transpose, groups, &[2, 3], &[w, h])
                .submit(&flat("a b z", "a[i] + b[i]"), over(n), &[3, 0, 4], &[n])
                .check()
                .fused(0)
                .works_out(&[(2, 1), (2, 0)])
                .inside(2, Internalization::Private);
        }
    }

    fn chains_are_worked_out_as_far_as_they_are_read() {
        Lab::rewriting(80)
            .promote(1, Promote::Auto)
            .promote(2, Promote::Auto)
            .submit(&flat("a z", "a[i] + 1u"), over(80), &[0, 1], &[80])
            .submit(&flat("a z", "a[i] * 3u"), over(80), &[1, 2], &[80])
            .submit(&flat("a z", "a[p.x - 1u - i]"), over(80), &[2, 3], &[80])
            .submit(&flat("a z", "a[i] ^ 5u"), over(80), &[3, 4], &[80])
            .check()
            .fused(0)
            .works_out(&[(2, 1), (2, 0)])
            .inside(1, Internalization::Private)
            .inside(2, Internalization::Private);
    }

    fn views_of_one_buffer_begin_where_they_begin() {
        // Stored from element 8 on, read through a view of the whole.
        Lab::rewriting(80)
            .submit_views(&flat("a z", "a[i] + 7u * i"), over(64), &[0.into(), (1, 8, 64).into()], &[64])
            .submit_views(&flat("a z", "a[8u + p.x - 1u - i]"), over(64), &[1.into(), 2.into()], &[64])
            .check()
            .fused(0)
            .works_out(&[(1, 0)]);
        // And the other way round.
        Lab::rewriting(80)
            .submit_views(&flat("a z", "a[i] + 7u * i"), over(80), &[0.into(), 1.into()], &[80])
            .submit_views(&flat("a z", "a[p.x - 1u - i]"), over(64), &[(1, 16, 64).into(), 2.into()], &[64])
            .check()
            .fused(0)
            .works_out(&[(1, 0)]);
    }

    fn a_store_that_begins_elsewhere_has_its_own_first_index() {
        let shifted = kernel("a z", "16", "let i = gid.x; if (i >= p.x) { return; } z[i + 5u] = a[i] + 10u * gid.x;");
        Lab::rewriting(80)
            .submit(&shifted, over(64), &[0, 1], &[64])
            .submit(&flat("a z", "a[68u - i]"), over(64), &[1, 2], &[64])
            .check()
            .fused(0)
            .works_out(&[(1, 0)]);
    }

    fn stores_in_reverse_are_worked_out() {
        let back = kernel("a z", "16", "let i = gid.x; if (i >= p.x) { return; } z[p.x - 1u - i] = a[i] + 5u * i;");
        for n in [80, 70] {
            Lab::rewriting(80)
                .promote(1, Promote::Auto)
                .submit(&back, over(n), &[0, 1], &[n])
                .submit(&flat("a b z", "a[i] * b[i]"), over(n), &[1, 0, 2], &[n])
                .check()
                .fused(0)
                .works_out(&[(1, 0)])
                .inside(1, Internalization::Private);
        }
        // Rows from the last to the first.
        let rows = grid("a z", "0u").replace("z[i] = 0u", "z[(p.y - 1u - y) * p.x + x] = a[i] + 100u * y");
        for (w, h) in [(8u32, 6u32), (7, 5)] {
            let groups = [w.div_ceil(4), h.div_ceil(4), 1];
            Lab::rewriting(u64::from(w * h))
                .submit(&rows, groups, &[0, 1], &[w, h])
                .submit(&grid("a z", "a[i] + 1u"), groups, &[1, 2], &[w, h])
                .check()
                .fused(0)
                .works_out(&[(1, 0)]);
        }
    }

    fn what_is_not_stored_is_not_worked_out() {
        let lab = |stored: u32, read: u32| {
            Lab::rewriting(96)
                .submit(&flat("a z", "a[i] + 1u"), over(stored), &[0, 1], &[stored])
                .submit(&flat("a z", "a[p.x - 1u - i]"), over(read), &[1, 2], &[read])
                .check()
        };
        lab(80, 80).fused(0).works_out(&[(1, 0)]);
        lab(80, 70).fused(0).works_out(&[(1, 0)]);
        // One element more than is stored, which is what it was; inside the last work-group, and past it.
        for (stored, read) in [(79, 80), (80, 81), (70, 80)] {
            lab(stored, read);
        }
        // An index from memory, and an unknown one: it may be that of any element of the buffer, and no comparison
        // shows that the elements that are still loaded were not stored.
        let gather = |read: &str| {
            Lab::rewriting(96)
                .submit(&flat("a z", "a[i] + 1u"), over(80), &[0, 1], &[80])
                .submit(&flat("a b z", read), over(80), &[1, 0, 2], &[80])
        };
        gather("a[b[i] % 96u]").check().fused(0).works_out(&[(1, 0)]);
        let checked = gather("a[b[i]]").planned();
        assert!(matches!(checked.stays_apart(2), Some(RewriteReason::Rejected(_))));
    }

    fn two_halves_are_one() {
        let half = |value: &str| {
            kernel("a z", "16", &format!("let i = gid.x; if (i >= p.x) {{ return; }} z[p.y + i] = {value};"))
        };
        for (n, h) in [(64, 32), (70, 30)] {
            for read in ["a[i] ^ 3u", "a[p.x - 1u - i]", "a[min(i + 1u, p.x - 1u)] + a[i]"] {
                Lab::rewriting(u64::from(n))
                    .submit(&half("a[i] + 1u"), over(h), &[0, 2], &[h, 0])
                    .submit(&half("a[i] * 3u + i"), over(n - h), &[1, 2], &[n - h, h])
                    .submit(&flat("a z", read), over(n), &[2, 3], &[n])
                    .check()
                    .fused(0);
            }
        }
        // Through a view each.
        let whole = flat("a z", "a[i] + 9u * i");
        Lab::rewriting(64)
            .submit_views(&whole, over(24), &[0.into(), (2, 0, 24).into()], &[24])
            .submit_views(&whole, over(40), &[1.into(), (2, 24, 40).into()], &[40])
            .submit(&flat("a z", "a[p.x - 1u - i]"), over(64), &[2, 3], &[64])
            .check()
            .fused(0)
            .works_out(&[(2, 1), (2, 0)]);
    }

    fn what_two_stored_is_the_last_ones() {
        // The second overwrites some of the first.
        for (first, second) in [(64, 40), (40, 64)] {
            Lab::rewriting(64)
                .submit(&flat("a z", "a[i] + 1u"), over(first), &[0, 2], &[first])
                .submit(&flat("a z", "a[i] * 3u"), over(second), &[1, 2], &[second])
                .submit(&flat("a z", "a[p.x - 1u - i]"), over(64), &[2, 3], &[64])
                .check();
        }
        // Read through two bindings.
        let both = flat("a b z", "a[i] + b[p.x - 1u - i]");
        Lab::rewriting(64)
            .submit(&flat("a z", "a[i] + 1u"), over(64), &[0, 2], &[64])
            .submit(&flat("a z", "a[i] * 3u"), over(40), &[1, 2], &[40])
            .submit(&both, over(64), &[2, 2, 3], &[64])
            .check();
    }

    fn what_nobody_stored_is_loaded() {
        // The border is what it was.
        let inner = kernel("a z", "16", "let i = gid.x; if (i + 8u >= p.x) { return; } z[i + 4u] = a[i] + 10u * gid.x;");
        Lab::rewriting(64)
            .submit(&inner, over(64), &[0, 1], &[64])
            .submit(&flat("a z", "a[max(i, 1u) - 1u] + a[i] + a[min(i + 1u, p.x - 1u)]"), over(64), &[1, 2], &[64])
            .check();
    }

    fn what_is_stored_under_a_condition_in_memory_is_not_worked_out() {
        let some = kernel("a z", "16", "let i = gid.x; if (a[i] % 3u == 0u) { z[i] = a[i] + 1u; }");
        let checked = Lab::rewriting(64)
            .submit(&some, [4, 1, 1], &[0, 1], &[])
            .submit(&flat("a z", "a[p.x - 1u - i]"), over(64), &[1, 2], &[64])
            .check();
        assert!(matches!(checked.stays_apart(2), Some(RewriteReason::NotStored { producer: 0 })));
    }

    fn elements_with_gaps_are_not_worked_out() {
        // Columns 0 to 3 of rows of five: the others are what they were.
        let padded = kernel("a z", "4, 4",
            "let x = gid.x; let y = gid.y; if (x >= 4u || y >= p.y) { return; } z[y * 5u + x] = a[y * 4u + x];");
        let checked = Lab::rewriting(64)
            .submit(&padded, [1, 2, 1], &[0, 1], &[4, 8])
            .submit(&flat("a z", "a[p.x - 1u - i]"), over(32), &[1, 2], &[32])
            .check();
        assert!(matches!(checked.stays_apart(2), Some(RewriteReason::NotStored { producer: 0 })));
    }

    fn a_load_under_a_condition_is_done_elsewhere_where_it_was_done() {
        let side = kernel("a z", "16",
            "let i = gid.x; if (i >= p.x) { return; } var v = 9u; if (i > 3u) { v = a[i - 4u]; } z[i] = v;");
        let pure = kernel("a z", "16",
            "let i = gid.x; if (i >= p.x) { return; } var v = a[i]; if (v > 40u) { v = v * 2u + i; } z[i] = v;");
        let lab = |text: &str| {
            Lab::rewriting(80)
                .submit(text, over(80), &[0, 1], &[80])
                .submit(&flat("a z", "a[p.x - 1u - i] + a[i]"), over(80), &[1, 2], &[80])
                .check()
        };
        lab(&side).fused(0).works_out(&[(1, 0)]);
        lab(&pure).fused(0).works_out(&[(1, 0)]);
    }

    /// A division under a condition is done elsewhere without it, if it has a result.
    fn a_division_under_a_condition_is_done_elsewhere_if_it_has_a_result() {
        for divided in [
            // Chosen by who compiles it, since the divisor is any number.
            "v = v / o + 1u;",
            "v = v % (o & 3u);",
            "v = u32(i32(v) / i32(o));",
            "v = u32(bitcast<i32>(v | 0x80000000u) % -1i);",
            "let d = vec2(v, 7u) / vec2(o, p.y); v = d.x + d.y;",
            "v = v / 3u;",
            "v = v / max(o, 2u);",
            "v = v % (o | 1u);",
            "v = u32(-i32(v & 255u) / (i32(o & 7u) + 1i));",
        ] {
            println!("{divided}");
            let body = format!("let o = b[i]; var v = a[i]; if ((o & 1u) == 0u) {{ {divided} }} z[i] = v;");
            divide(&flat_with(&body), 5).check().fused(0).works_out(&[(1, 0)]);
        }
        if !is_possible() {
            return;
        }
        for recipe in RECIPES {
            for divided in [
                "v / (o == 0u ? 1u : o)",
                "v / (0u != o ? o : 7u)",
                "v % max(o, 1u)",
                "v / (o | 4u)",
                "uint(int(v) / ((o == 0u || int(v) == int(0x80000000u) && int(o) == -1) ? 1 : int(o)))",
                "uint(int(v & 0xffffu) / (o == 0u ? 1 : int(o)))",
                "v / p.y",
                "uint(int(v) / int(p.y))",
                "v / (p.y - 4u)",
            ] {
                println!("{recipe}: {divided}");
                divide(&divides(recipe, divided), 5).check().fused(0).works_out(&[(1, 0)]);
            }
        }
    }

    fn a_division_that_may_have_no_result_is_not_done_elsewhere() {
        for recipe in RECIPES.iter().filter(|_| is_possible()) {
            for (divided, y) in [
                // The condition is all that keeps these from dividing by zero.
                ("v / o", 5),
                ("v % (o & 6u)", 5),
                ("v / (o > 3u ? o - 4u : 7u)", 5),
                ("v / (o == 1u ? 1u : o)", 5),
                ("v / (v == 0u ? 1u : o)", 5),
                ("v / p.y", 0),
                ("v / (p.y - 5u)", 5),
                ("v / min(o, 1u)", 5),
                ("uint(int(v | 0x80000000u) / (o == 0u ? 1 : int(o)))", 5),
                ("uint(int(v) / ((o == 0u || int(v) == int(0x80000000u) && int(o) == -2) ? 1 : int(o)))", 5),
                ("uint(int(v) / int(p.y))", u32::MAX),
            ] {
                println!("{recipe}: {divided}");
                let checked = divide(&divides(recipe, divided), y).planned();
                let what = "a division under a condition, by what may be zero";
                let tried = checked.stays_apart(2);
                assert_eq!(tried, Some(&RewriteReason::NoDefinition { producer: 0, what }), "{recipe}: {divided}");
            }
        }
    }

    fn loops_and_barriers_are_not_worked_out() {
        let looped = kernel("a z", "16",
            "let i = gid.x; var sum = 0u; for (var k = 0u; k < 3u; k++) { sum += a[i] * k; } z[i] = sum;");
        let shared = kernel("a z", "16",
            "var<workgroup> part: array<u32, 16>;---
             part[lid.x] = a[gid.x]; workgroupBarrier(); z[gid.x] = part[15u - lid.x];");
        for text in [looped, shared] {
            let checked = Lab::rewriting(128)
                .submit(&text, [4, 1, 1], &[0, 1], &[])
                .submit(&flat("a z", "a[p.x - 1u - i] + a[i]"), over(64), &[1, 2], &[64])
                .check();
            assert!(matches!(checked.stays_apart(2), Some(RewriteReason::NoDefinition { .. })));
        }
    }

    /// A uniform buffer takes what is handed over apart even where one invocation would hand it to itself.
    fn what_was_written_since_is_not_worked_out() {
        let uniform = "struct P { x: u32, y: u32, z: u32, w: u32 }
            @group(0) @binding(0) var<uniform> a: array<vec4<u32>, 16>;
            @group(0) @binding(1) var<storage, read_write> z: array<vec4<u32>>;
            @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
                z[gid.x] = a[gid.x] + vec4<u32>(1u); }";
        let four = |value: &str| {
            kernel("a:vec4<u32> z:vec4<u32>", "8", &format!("z[gid.x] = {value};"))
        };
        let lab = |between: bool| {
            let lab = Lab::rewriting(64).submit(&four("a[gid.x] * 3u"), [2, 1, 1], &[0, 1], &[]);
            // The source is written over by the same invocation.
            let lab = if between { lab.submit(&four("a[gid.x] + 5u"), [2, 1, 1], &[3, 0], &[]) } else { lab };
            lab.submit(uniform, [2, 1, 1], &[1, 2], &[]).check()
        };
        lab(false).fused(0).works_out(&[(1, 0)]);
        // What is made of it is made where it is stored instead.
        let checked = lab(true).works_out(&[]);
        assert_eq!(checked.plan.report.epilogues.len(), 1);
    }

    fn what_the_reader_writes_over_is_not_worked_out() {
        // Reads its own element after it has written it, through another binding, and one that it has not.
        let text = kernel("a z y", "16",
            "let i = gid.x; if (i >= p.x) { return; } z[i] = 7u; storageBarrier(); y[i] = a[i] + a[i + p.x];");
        let text = text.replace(" storageBarrier();", "");
        let checked = Lab::rewriting(128)
            .submit(&flat("a z", "a[i] + 1u"), over(128), &[0, 1], &[128])
            .submit(&text, over(64), &[1, 1, 2], &[64])
            .check();
        assert_eq!(
            checked.stays_apart(2),
            Some(&RewriteReason::Overwritten { producer: 0, writer: 1 })
        );
    }

    fn floats_are_hidden_where_they_come_together() {
        // Nothing is open in either: what is hidden is what the one hands to the other.
        let exp = flat("a:f32 z:f32", "exp(a[i])");
        let log = flat("a:f32 z:f32", "log(a[p.x - 1u - i])");
        let list = |second: &str| {
            let list = Lab::rewriting(80).submit(&exp, over(80), &[0, 1], &[80]);
            list.submit(second, over(80), &[1, 2], &[80])
        };
        list(&log).planned().fused(0).works_out(&[(1, 0)]);
        for one in [&exp, &log] {
            assert_eq!(Lab::new(80).submit(one, over(80), &[0, 1], &[80]).seen_through(SIGN), None);
        }
        assert!(list(&log).seen_through(SIGN).is_some_and(|words| words[2] > 0));
        // Nor is there anything to be seen in integers.
        let number = flat("a:u32 z:u32", "a[p.x - 1u - i] * 3u");
        let times = flat("a:u32 z:u32", "a[i] * 5u");
        let numbers = || {
            let list = Lab::rewriting(80).submit(&times, over(80), &[0, 1], &[80]);
            list.submit(&number, over(80), &[1, 2], &[80])
        };
        numbers().planned().fused(0).works_out(&[(1, 0)]);
        assert_eq!(numbers().seen_through(SIGN), None);
    }

    fn what_costs_more_than_it_saves_stays_apart() {
        let far = |value: &str| flat("a b z", value);
        let window = (0..21).map(|k| format!("a[min(i + {k}u, p.x - 1u)]")).collect::<Vec<_>>().join(" + ");
        let lab = |force: bool| {
            let mut lab = Lab::rewriting(80)
                .submit(&far("a[i] * b[i]"), over(80), &[0, 1, 2], &[80])
                .submit(&flat("a z", &window), over(80), &[2, 3], &[80]);
            lab.options.force = force;
            lab.check()
        };
        let checked = lab(false);
        assert!(matches!(checked.stays_apart(2), Some(RewriteReason::Costs { loads: 42, .. })));
        lab(true).fused(0).works_out(&[(1, 0)]);
    }
}
