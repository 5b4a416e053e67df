//! Index expressions: what is followed exactly, what is not, and that wrap-around makes no false proof.
//!
//! Work-groups have 8 invocations, there are 4 of them; buffers have 64 elements; `p.x` is 32.

use vkfuse_jit::analysis::AccessKind::{Read, Write};
use vkfuse_jit::plan::GroupReport;

use super::glsl::{glsl, is_possible};
use super::lab::{Checked, Lab, kernel};

/// Writes a buffer at one index, reads it at another.
fn through(write: &str, read: &str) -> Checked {
    guarded("", write, read)
}

fn guarded(guard: &str, write: &str, read: &str) -> Checked {
    let first = kernel("a z", "8", &format!("let i = gid.x; {guard} z[{write}] = a[gid.x] + 3u;"));
    let second = kernel("a z", "8", &format!("let i = gid.x; {guard} z[gid.x] = a[{read}] * 5u;"));
    Lab::new(64)
        .submit(&first, [4, 1, 1], &[0, 1], &[32, 4, 8])
        .submit(&second, [4, 1, 1], &[1, 2], &[32, 4, 8])
        .check()
}

/// Every form names the invocation's own element.
fn own(forms: &[&str]) {
    for form in forms {
        for other in [forms[0], form] {
            through(other, form).fused(0);
            through(form, other).fused(0);
        }
    }
}

/// The element written by another invocation of the group.
fn in_group(forms: &[&str]) {
    for form in forms {
        through("i", form).fused(1);
        through(form, "i").fused(1);
    }
}

fn across(forms: &[&str]) {
    for form in forms {
        through("i", form).split(2, Write, Read);
    }
}

probes! {
    /// Which invocations make up a sub-group is not known, but how many sub-groups there are at most is.
    fn ids_of_sub_groups_lie_within_the_work_group() {
        if !is_possible() {
            return;
        }
        let list = |guard: &str, index: &str| {
            let write = glsl("", "a z", "8", &format!("if ({guard} == 0u) {{ z[{index}] = a[i]; }}"));
            let read = glsl("", "a z", "8", "z[i] = a[8u * g + 7u - l];");
            Lab::new(4096)
                .submit(&write, [4, 1, 1], &[0, 1], &[])
                .submit(&read, [4, 1, 1], &[1, 2], &[])
                .check()
        };
        list("gl_SubgroupInvocationID", "8u * g + gl_SubgroupID").fused(1);
        list("gl_SubgroupInvocationID", "7u * g + gl_SubgroupID").split(2, Write, Read);
        // As many lanes as there may be are more than the work-group has elements.
        list("gl_SubgroupID", "8u * g + gl_SubgroupInvocationID").split(2, Write, Read);
    }

    /// Neither is a lane of a sub-group taken for the local index that it has on most devices, nor are the ids of one member those of the next:
    /// a barrier stands between them, or the list is split.
    fn the_order_of_sub_groups_is_up_to_the_device() {
        if !is_possible() {
            return;
        }
        let lane = "gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID";
        let write = |index: &str| {
            glsl("", "a z", "8", &format!("uint e = {index}; if (e < 8u) {{ z[8u * g + e] = a[8u * g + e]; }}"))
        };
        for (first, second) in [("l", lane), (lane, "l"), (lane, lane), ("l", "l")] {
            let list = Lab::new(4096)
                .submit(&write(first), [4, 1, 1], &[0, 1], &[])
                .submit(&write(second), [4, 1, 1], &[1, 2], &[]);
            let plan = list.planned().plan;
            let of_group = |group: &GroupReport| group.barriers.iter().filter(|one| one.kept).count();
            let barriers: usize = plan.report.groups.iter().map(of_group).sum();
            let is_apart = barriers + plan.steps.len() > 1;
            assert_eq!(is_apart, (first, second) != ("l", "l"), "{first}, {second}: {:#?}", plan.report);
        }
    }

    /// How far a number is from another has a range, and is that of two numbers.
    fn a_distance_lies_between_its_bounds() {
        guarded("", "32u + i", "u32(abs(i32(i) - 5))").fused(0);
        through("i", "u32(abs(i32(i) - 5))").split(2, Write, Read);
        // Where the number is the greater, it is the difference.
        through("i", "u32(abs(i32(i) + 3)) - 3u").fused(0);
    }

    /// What is left of a number after its quotient is taken off is its remainder.
    fn a_difference_that_is_a_remainder_is_one() {
        let body = |rest: &str| {
            let index = format!("let q = gid.x / 12u; let r = {rest}; let e = q * 20u + r;");
            kernel("a z", "8", &format!("{index} if (gid.x < p.x) {{ z[e] = a[e] + 1u; }}"))
        };
        for first in ["gid.x - q * 12u", "gid.x % 12u"] {
            for second in ["gid.x - q * 12u", "gid.x % 12u"] {
                Lab::new(128)
                    .submit(&body(first), [8, 1, 1], &[0, 1], &[60])
                    .submit(&body(second), [8, 1, 1], &[1, 2], &[60])
                    .check()
                    .fused(0);
            }
        }
        Lab::new(128)
            .submit(&body("gid.x % 12u"), [8, 1, 1], &[0, 1], &[60])
            .submit(&body("(gid.x - q * 11u) % 20u"), [8, 1, 1], &[1, 2], &[60])
            .planned()
            .split(2, Write, Read);
    }

    /// A division by a number that is known when the kernel is called, as a multiplication and a shift.
    fn a_fast_division_is_a_division() {
        let divide = "uint over(uint n, uint m, uint l) { uint high, low; umulExtended(n, m, high, low); return (high + n) >> l; } ---";
        let shift = "uint over(uint n, uint m, uint l) { uint high, low; umulExtended(n, m, high, low); return high >> l; } ---";
        let plain = "uint over(uint n, uint m, uint l) { return n / p.w; } ---";
        let kernel = |text: &str| {
            let body = "uint q = over(i, p.x, p.y); uint e = q * p.z + (i - q * p.w); if (i < 100u) z[e] = a[e] + 1u;";
            glsl("", "a z", "8", &format!("{text} {body}"))
        };
        for d in [3u32, 5, 7, 12, 30] {
            if !is_possible() {
                continue;
            }
            let log = u32::BITS - (d - 1).leading_zeros();
            let m = ((1u64 << 32) * ((1u64 << log) - u64::from(d)) / u64::from(d) + 1) as u32;
            // Without the sum, for numbers far below 2^32.
            let short = ((1u64 << 36) / u64::from(d) + 1).min(u64::from(u32::MAX)) as u32;
            let exact = if (1u64 << 36) / u64::from(d) < u64::from(u32::MAX) { Some((shift, short, 4)) } else { None };
            for (text, multiplier, by) in [(divide, m, log)].into_iter().chain(exact) {
                Lab::new(1024)
                    .submit(&kernel(text), [13, 1, 1], &[0, 1], &[multiplier, by, d + 3, d])
                    .submit(&kernel(plain), [13, 1, 1], &[1, 2], &[0, 0, d + 3, d])
                    .check()
                    .fused(0);
            }
        }
    }

    /// A multiplier that is rounded the wrong way, or too coarse for the numbers it meets, divides by nothing.
    fn a_multiplication_that_is_no_division_is_none() {
        let text = "uint high, low; umulExtended(i, p.x, high, low); uint e = (high >> p.y) * 8u + i % 8u; z[i] = a[e];";
        let copy = kernel("a z", "8", "z[gid.x] = a[gid.x] + 1u;");
        for (multiplier, by) in [(613_566_756, 0), (0x2800_0000, 0), (0x2001_0000, 0)] {
            if !is_possible() {
                continue;
            }
            // The last one divides by eight, as long as its numbers are below 65,536 / 8.
            let fits = multiplier == 0x2001_0000;
            let list = Lab::new(128)
                .submit(&copy, [8, 1, 1], &[0, 1], &[])
                .submit(&glsl("", "a z", "8", text), [8, 1, 1], &[1, 2], &[multiplier, by])
                .check();
            match fits {
                true => list.fused(0),
                false => list.split(2, Write, Read),
            };
        }
    }

    fn sums_and_products_of_ids_are_exact() {
        own(&["i", "wid.x * 8u + lid.x", "(wid.x << 3u) + lid.x", "i + p.x - p.x", "(2u * i + 6u) / 2u - 3u",
            "wid.x * 8u + lix", "i * 1u", "i + (nwg.x - 4u)", "((i * 4u) + 4u) / p.y - 1u"]);
    }

    fn division_and_remainder_by_constants_are_exact() {
        own(&["i", "(i / 8u) * 8u + i % 8u", "(i / 5u) * 5u + i % 5u", "(i / p.y) * p.y + i % p.y",
            "(i / 3u / 2u) * 6u + i % 6u", "u32(i32(i) / 7) * 7u + u32(i32(i) % 7)"]);
        in_group(&["(i / 8u) * 8u + 7u - i % 8u", "(i / p.z) * p.z + (p.z - 1u - i % p.z)"]);
        across(&["(i / 5u) * 5u + 4u - i % 5u", "i / 2u", "(i * 3u) % p.x", "i % 8u"]);
    }

    fn masks_and_shifts_are_exact() {
        own(&["i", "(i >> 3u << 3u) + (i & 7u)", "(i & 0xfffffff8u) + (i & 7u)", "(i >> 3u) * 8u | (i & 7u)",
            "((i << 2u) | 1u) >> 2u"]);
        in_group(&["i ^ 1u", "i ^ 7u", "(i & 0xfffffff8u) + (7u - (i & 7u))", "i ^ 4u"]);
        across(&["i ^ 8u", "i ^ 31u", "(i << 1u) & 31u"]);
    }

    fn selections_with_a_known_condition_are_exact() {
        own(&["i", "select(i + 1u, i, p.y == 4u)", "select(i, 0u, p.x < 4u)", "select(i, i, lid.x == 0u)"]);
        across(&[
            "select(i, 31u - i, p.y == 4u)",
            "select(i, 31u - i, lid.x == 0u)",
            "select(31u - i, i, lid.x == 0u)",
        ]);
    }

    fn minimum_maximum_and_clamp_that_change_nothing_are_exact() {
        own(&["i", "min(i, 63u)", "max(i, 0u)", "clamp(i, 0u, 31u)", "u32(clamp(i32(i), 0, 31))", "min(p.x - 1u, i)"]);
        across(&["min(i, 30u)", "max(i, 1u)", "clamp(i, 4u, 7u)", "min(i + 1u, 31u)"]);
    }

    /// `i < n` is what makes them change nothing.
    fn minimum_maximum_and_clamp_under_a_guard_are_exact() {
        let guard = "if (i >= p.y * 5u) { return; }";
        for form in ["min(i, 19u)", "clamp(i, 0u, p.y * 5u - 1u)", "u32(clamp(i32(i), 0, 19))"] {
                guarded(guard, "i", form).fused(0);
        }
        for form in ["min(i, 18u)", "clamp(i, 1u, 19u)"] {
            guarded(guard, "i", form).split(2, Write, Read);
        }
    }

    /// A subtraction under the guard that keeps it from wrapping.
    fn a_guard_keeps_a_subtraction_from_wrapping() {
        let guard = "if (i < 4u) { return; }";
        guarded(guard, "i", "((i - 4u) / 2u) * 2u + (i - 4u) % 2u + 4u").fused(0);
    }

    fn signed_arithmetic_is_exact() {
        own(&["i", "u32(i32(i) + 5 - 5)", "u32(-(5 - (i32(i) + 5)))", "u32((i32(i) * 3) / 3)"]);
        across(&["u32(31 - i32(i))"]);
    }

    fn small_distances_matter() {
        // Another invocation's element, the neighbour's.
        across(&["i + 1u", "min(i + 1u, 31u)"]);
        // Elements that no one wrote.
        through("i", "i + 32u").fused(0);
        through("2u * i", "2u * i + 1u").fused(0);
        through("2u * i", "i").split(2, Write, Read);
    }

    /// Products that wrap in 32 bits: every index here is `i * 2^28` or so, reduced modulo the buffer.
    fn wrap_around_makes_no_false_proof() {
        // 2^29 * 8 = 2^32: element 0 again every eight invocations.
        through("i", "(i * 0x20000000u) >> 29u").split(2, Write, Read);
        // i * 0x10000001 = i + i * 2^28; after the mask that is i, modulo 16.
        through("i", "(i * 0x10000001u) & 15u").split(2, Write, Read);
        // (i + 2^31) * 2 = 2 i in 32 bits, (i + 2^31) * 2 / 2 is not i + 2^31.
        through("i + 32u", "((i + 0x80000010u) * 2u) / 2u").split(2, Write, Read);
        // Below zero and back: a remainder of what wrapped is not the remainder of the difference.
        through("i", "(i - 5u) % 32u").split(2, Write, Read);
        through("i", "((i - 5u) % 3u) + (i - 5u) / 3u * 3u + 5u").split(2, Write, Read);
        // A comparison of what wrapped: `i - 1 < 31` leaves out 0, not 32 and above.
        guarded("if (i - 1u >= 16u) { return; }", "i", "i").fused(0);
        let far = "if (i - 16u < 4u) { return; }";
        guarded(far, "31u - i", "i").split(2, Write, Read);
        // 32-bit products of coordinates: the high half must not tell rows apart.
        through("i", "((wid.x << 30u) << 2u) + lid.x").split(2, Write, Read);
        through("i", "(wid.x * 0x40000000u) * 4u + lid.x").split(2, Write, Read);
    }

    /// An index that wraps to an element of the first group, in groups that its form puts far away.
    fn an_index_that_wraps_is_not_far_away() {
        let write = kernel("a z", "8", "z[gid.x] = a[gid.x];");
        let read = kernel("a z", "8", "if (wid.x >= 1u) { z[gid.x] = a[(wid.x * 0x40000000u) * 4u + lid.x]; }");
        Lab::new(64)
            .submit(&write, [4, 1, 1], &[0, 1], &[])
            .submit(&read, [4, 1, 1], &[1, 2], &[])
            .check()
            .split(2, Write, Read);
    }

    /// Invocations that share a quotient are not one invocation.
    fn a_quotient_is_shared_by_the_group() {
        let write = kernel("a z", "8", "if (gid.x % 2u == 0u) { z[gid.x / 2u] = a[gid.x]; }");
        let read = kernel("a z", "8", "z[gid.x] = a[gid.x / 2u];");
        Lab::new(64)
            .submit(&write, [4, 1, 1], &[0, 1], &[])
            .submit(&read, [4, 1, 1], &[1, 2], &[])
            .check()
            .fused(1);
    }

    /// The same kernel twice, each time with its own distance read from memory.
    fn distances_from_memory_differ() {
        let text = kernel("c a z", "8", "let k = gid.x + (c[p.y] & 63u); z[k] = a[k];");
        let lab = |second| {
            Lab::new(128)
                .submit(&text, [4, 1, 1], &[0, 1, 2], &[0, 1])
                .submit(&text, [4, 1, 1], &[second, 2, 3], &[0, 2])
                .check()
        };
        lab(4).split(2, Write, Read);
        lab(0).split(2, Write, Read);
        // At one fixed place that no one writes, it is one distance.
        let fixed = kernel("c a z", "8", "let k = gid.x + (c[1] & 63u); z[k] = a[k];");
        Lab::new(128)
            .submit(&fixed, [4, 1, 1], &[0, 1, 2], &[])
            .submit(&fixed, [4, 1, 1], &[4, 2, 3], &[])
            .check()
            .split(2, Write, Read);
    }

    /// Permutations of the invocations, the same on both sides: who agrees on the place is the invocation.
    fn the_same_rotation_or_flip_on_both_sides_is_the_own_element() {
        for form in ["(i + 5u) % p.x", "(i + 5u) & 31u", "i ^ 5u", "i ^ 7u", "31u - (i ^ 6u)"] {
            through(form, form).fused(0);
        }
        // A rotation of what is more than its period meets itself again.
        for form in ["(i + 5u) % 16u", "(i ^ 5u) & 15u", "(i + 5u) % 31u"] {
            let write = kernel("a z", "8", &format!("let i = gid.x; z[gid.x] = a[{form}];"));
            let read = kernel("a z", "8", &format!("let i = gid.x; if (i < 16u) {{ z[{form}] = a[gid.x]; }}"));
            Lab::new(64)
                .submit(&write, [4, 1, 1], &[0, 1], &[])
                .submit(&read, [4, 1, 1], &[2, 0], &[])
                .check()
                .split(2, Read, Write);
        }
        // Under a guard that keeps it within one period, on both sides, it does not.
        let guard = "if (i >= 16u) { return; }";
        guarded(guard, "(i + 5u) % 16u", "(i + 5u) % 16u").fused(0);
        guarded(guard, "(i + 5u) % 16u", "(i + 6u) % 16u").split(2, Write, Read);
        through("(i + 5u) % p.x", "(i + 6u) % p.x").split(2, Write, Read);
        through("i ^ 5u", "i ^ 13u").split(2, Write, Read);
        through("i ^ 5u", "i ^ 4u").fused(1);
    }

    /// `m` is 3: what is written at `4 m + 3 i` is read at `5 m + 3 (i - 1)`. The weights of a number on the two sides say
    /// nothing; their difference does.
    fn a_number_from_memory_may_have_another_weight_on_the_other_side() {
        let lab = |write: &str, read: &str| {
            let first = kernel("a c z", "8", &format!("let m = c[44]; if (m < 100u) {{ z[{write}] = a[gid.x]; }}"));
            let second = kernel("a c z", "8", &format!("let m = c[44]; if (m < 100u) {{ z[gid.x] = a[{read}]; }}"));
            Lab::new(640)
                .submit(&first, [4, 1, 1], &[1, 0, 2], &[])
                .submit(&second, [4, 1, 1], &[2, 0, 3], &[])
                .check()
        };
        for (write, read) in [("4u", "5u"), ("5u", "4u"), ("1u", "2u"), ("4u", "1u"), ("0u", "1u"), ("1u", "0u")] {
            let (write, read) = (format!("{write} * m + 3u * gid.x"), format!("{read} * m + 3u * gid.x"));
            lab(&write, &read).split(2, Write, Read);
        }
        // Within rows of a work-group each it is the neighbour's element, and never further away.
        let row = |weight: u32| format!("64u * wid.x + {weight}u * (m & 3u) + 3u * lid.x");
        lab(&row(4), &row(5)).fused(1);
        lab("4u * m + 3u * gid.x", "3u * gid.x + 4u * m").fused(0);
        lab("m + gid.x", "gid.x + m").fused(0);
        // Apart by more than the number can be.
        lab("4u * m + gid.x", "5u * m + gid.x + 132u").fused(0);
    }

    /// A quotient that is 0 in the one work-group in which it is used, and was shown to be, is not 0 in others.
    fn a_quotient_is_known_where_it_was_made_only() {
        let write = kernel("a z", "8", "z[gid.x] = a[gid.x];");
        let read = kernel(
            "a z",
            "8",
            "if (wid.x == 2u) { z[gid.x] = a[gid.x + 8u + 4u * ((40u - 19u * wid.x) / 16u)]; }",
        );
        Lab::new(64)
            .submit(&write, [4, 1, 1], &[0, 1], &[])
            .submit(&read, [4, 1, 1], &[1, 2], &[])
            .check()
            .split(2, Write, Read);
    }

    /// Where wrapping does no harm it does not stop a proof: modulo 2^32 these are `i`.
    fn congruent_forms_are_equal() {
        own(&["i", "i - 5u + 5u", "i + 0xfffffff0u + 16u", "(i * 0xffffffffu) * 0xffffffffu", "~(~i)", "0u - (0u - i)"]);
    }

    /// A value from a buffer is not the same in two kernels, and not the same in two invocations.
    fn what_is_not_expressed_is_unknown() {
        across(&["(i + a[i]) % 32u", "select(i, 31u - i, a[i] > 3u)"]);
    }
}
