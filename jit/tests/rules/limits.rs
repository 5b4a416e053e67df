//! Limits of the device and what modules declare: each ends a group, and says so.

use vkfuse_jit::plan::{Limits, Promote, ShapeLimits};
use vkfuse_jit::{NoPushBuffer, Reason};

use super::glsl::{glsl, is_possible};
use super::lab::{Checked, Lab, kernel};

fn copy() -> String {
    kernel("a z", "8", "z[gid.x] = a[gid.x] + 1u;")
}

fn limited(change: impl Fn(Limits) -> Limits, text: &str, push: [&[u32]; 2]) -> Checked {
    let mut lab = Lab::new(64);
    lab.limits = change(lab.limits);
    lab.submit(text, [4, 1, 1], &[0, 1], push[0]).submit(text, [4, 1, 1], &[2, 3], push[1]).check()
}

#[track_caller]
fn ended_by(checked: &Checked, reason: &Reason) {
    assert_eq!(checked.plan.steps.len(), 2);
    let mut found = checked.plan.report.splits[0].reason.clone();
    // Which loop is not bounded is asked where that is the question.
    if let Reason::LoopRounds { unbounded, .. } = &mut found {
        *unbounded = None;
    }
    assert_eq!(&found, reason);
}

probes! {
    fn bindings_are_limited() {
        let limit = |n| move |l| Limits { max_storage_buffers: n, ..l };
        limited(limit(4), &copy(), [&[], &[]]).fused(0);
        ended_by(&limited(limit(3), &copy(), [&[], &[]]), &Reason::Bindings { needed: 4, limit: 3 });
    }

    /// What stays inside is not bound, however much of it there is.
    fn what_stays_inside_needs_no_binding() {
        let lab = |limit| {
            let mut lab = Lab::new(64);
            lab.limits.max_storage_buffers = limit;
            (1..8).fold(lab, |lab, buffer| lab.promote(buffer, Promote::Private))
        };
        let chain = |lab: Lab| {
            let lab = (0..8).fold(lab, |lab, at| lab.submit(&copy(), [4, 1, 1], &[at, at + 1], &[]));
            lab.check()
        };
        let checked = chain(lab(2)).fused(0);
        assert_eq!(checked.plan.steps[0].bindings.len(), 2);
        // Behind it comes what there is no binding for.
        let chain_and_more = |lab: Lab| {
            let lab = (0..8).fold(lab, |lab, at| lab.submit(&copy(), [4, 1, 1], &[at, at + 1], &[]));
            lab.submit(&copy(), [4, 1, 1], &[10, 11], &[]).check()
        };
        ended_by(&chain_and_more(lab(3)), &Reason::Bindings { needed: 4, limit: 3 });
        chain_and_more(lab(4)).fused(0);
    }

    /// A group whose buffers do not stay inside, though they were to, is shortened to what can be bound.
    fn what_was_to_stay_inside_and_does_not_is_bound() {
        // The second submission reads what nothing here has written, so that the buffer stays in memory.
        let adds = kernel("a z", "8", "z[gid.x] = z[gid.x] + a[gid.x];");
        let list = |limit| {
            let mut lab = Lab::new(64);
            lab.limits.max_storage_buffers = limit;
            let lab = [1, 3, 5, 7].into_iter().fold(lab, |lab, at| lab.promote(at, Promote::Private));
            [0, 2, 4, 6].into_iter().fold(lab, |lab, at| lab.submit(&adds, [4, 1, 1], &[at, at + 1], &[])).check()
        };
        list(8).fused(0);
        for (limit, dispatches) in [(7, 2), (4, 2), (3, 4), (2, 4)] {
            let checked = list(limit);
            assert_eq!(checked.plan.steps.len(), dispatches, "{limit}: {:#?}", checked.plan.report.splits);
            let bound: Vec<usize> = checked.plan.steps.iter().map(|step| step.bindings.len()).collect();
            assert!(bound.iter().all(|bound| *bound <= limit as usize), "{limit}: {bound:?}");
            let reason = &checked.plan.report.splits[0].reason;
            assert!(matches!(reason, Reason::Bindings { limit: of, .. } if *of == limit), "{reason}");
        }
    }

    fn push_constants_are_limited() {
        let text = kernel("a z", "8", "z[gid.x] = a[gid.x] + p.x * p.y * p.z * p.w;");
        let limit = |n| move |l| Limits { max_push_bytes: n, max_uniform_buffers: 0, ..l };
        // Equal values share a slot, others do not.
        limited(limit(16), &text, [&[1, 2, 3, 4], &[4, 3, 2, 1]]).fused(0);
        let checked = limited(limit(16), &text, [&[1, 2, 3, 4], &[1, 2, 3, 5]]);
        let no_buffer = NoPushBuffer::AllBound { limit: 0 };
        ended_by(&checked, &Reason::PushConstants { needed: 20, limit: 16, no_buffer });
    }

    /// What does not fit goes into a uniform buffer, if the device binds one more.
    fn push_constants_beyond_the_limit_are_in_a_buffer() {
        let text = kernel("a z", "8", "z[gid.x] = a[gid.x] + p.x * p.y * p.z * p.w;");
        let limit = |n| move |l| Limits { max_push_bytes: n, max_uniform_buffers: 1, ..l };
        for (room, bytes, behind) in [(20, 20, 0), (16, 16, 16), (8, 8, 16), (3, 0, 32), (0, 0, 32)] {
            let checked = limited(limit(room), &text, [&[1, 2, 3, 4], &[1, 2, 3, 5]]).fused(0);
            let step = &checked.plan.steps[0];
            assert_eq!((step.push_bytes(), step.push.len() as u32 - step.push_bytes()), (bytes, behind), "{room}");
            assert_eq!(step.push_buffer().map(|at| at.binding), (behind > 0).then_some(4));
            assert_eq!(checked.plan.report.groups[0].push_buffer_bytes, behind);
        }
        let uniform = kernel("a u_k z", "8", "z[gid.x] = a[gid.x] + p.x * u_k.n;");
        let with_uniform = |most| {
            let mut lab = Lab::new(64);
            (lab.limits.max_push_bytes, lab.limits.max_uniform_buffers) = (4, most);
            lab.submit(&uniform, [4, 1, 1], &[0, 1, 2], &[7]).submit(&uniform, [4, 1, 1], &[3, 1, 4], &[8]).check()
        };
        with_uniform(2).fused(0);
        let no_buffer = NoPushBuffer::AllBound { limit: 1 };
        ended_by(&with_uniform(1), &Reason::PushConstants { needed: 8, limit: 4, no_buffer });
    }

    /// However many there are, and whatever the planner adds of its own: counts, totals, the number of work-groups.
    fn arguments_of_long_chains_are_in_a_buffer() {
        let text = kernel("z", "8", "if gid.x < p.y { z[gid.x] = z[gid.x] * p.x + p.z; }");
        for (group_size, items, work_groups) in [(0, 1, 1), (64, 4, 1), (0, 1, 2)] {
            let mut lab = Lab::new(60);
            lab.limits.max_push_bytes = 128;
            lab.limits.shape = ShapeLimits { group_size, items, vectors: items > 1, ..ShapeLimits::default() };
            lab.limits.block_coarsening.work_groups = work_groups;
            for n in 0..64 {
                lab = lab.submit(&text, [8 - n % 2, 1, 1], &[0], &[2 * n + 1, 50 + n % 7, n]);
            }
            let checked = lab.check();
            assert_eq!(checked.plan.steps.len(), 1, "{:#?}", checked.plan.report.splits);
            assert!(checked.plan.report.groups[0].push_buffer_bytes > 128);
        }
    }

    /// A block that a kernel needs as it is, and scalars narrower than 32 bits, stay push constants.
    fn what_is_laid_out_otherwise_in_a_buffer_stays() {
        if !is_possible() {
            return;
        }
        let limit = |n| move |l| Limits { max_push_bytes: n, ..l };
        let words = kernel("a z", "8", "z[gid.x] = a[gid.x] + p.x * p.y * p.z * p.w;");
        let block = glsl(
            "",
            "a z",
            "8",
            "layout(push_constant) uniform Q { uint k[4]; } q;---z[i] = a[i] * q.k[l & 3u];",
        );
        let small = glsl(
            "",
            "a z",
            "8",
            "layout(push_constant) uniform Q { uint8_t k, n; } q;---z[i] = a[i] * uint(q.k) + uint(q.n);",
        );
        let mixed = |first: &str, then: &str, room| {
            let mut lab = Lab::new(64);
            lab.limits = limit(room)(lab.limits);
            lab.submit(then, [4, 1, 1], &[0, 1], &[5, 6, 7, 8])
                .submit(first, [4, 1, 1], &[2, 3], &[0x0201, 2, 3, 4])
                .check()
        };
        let behind = |checked: &Checked| checked.plan.report.groups[0].push_buffer_bytes;
        assert_eq!(behind(&mixed(&block, &words, 16).fused(0)), 16);
        let no_buffer = NoPushBuffer::Fixed;
        ended_by(&mixed(&block, &block, 16), &Reason::PushConstants { needed: 32, limit: 16, no_buffer });
        assert_eq!(behind(&mixed(&small, &words, 16).fused(0)), 16);
        assert_eq!(behind(&mixed(&small, &words, 4).fused(0)), 16);
        ended_by(&mixed(&small, &words, 3), &Reason::PushConstants { needed: 20, limit: 3, no_buffer });
    }

    /// There is an end to what is laid out in one buffer, and the reason has all numbers.
    fn the_buffer_of_arguments_has_an_end() {
        // Sixteen arguments each, so that the list is no longer than it has to be: certificates are for each pair.
        let names: Vec<String> = (0..16).map(|n| format!("k{n}")).collect();
        let fields: String = names.iter().map(|name| format!("{name}: u32, ")).collect();
        let sum: String = names.iter().skip(1).map(|name| format!(" * 3u + p.{name}")).collect();
        let text = kernel("z", "8", &format!("if gid.x < p.k0 {{ z[gid.x] = z[gid.x]{sum}; }}"));
        let text = text.replace("x: u32, y: u32, z: u32, w: u32", &fields);
        let mut lab = Lab::new(60);
        (lab.limits.max_push_bytes, lab.limits.max_uniform_buffers) = (128, 1);
        for n in 0..96 {
            let mut push = [50 + n % 7; 16];
            (1..16).for_each(|k| push[k as usize] = 16 * n + k);
            lab = lab.submit(&text, [8, 1, 1], &[0], &push);
        }
        let plan = lab.check().plan;
        assert!(plan.steps.len() > 1);
        let reason = &plan.report.splits[0].reason;
        assert!(
            matches!(reason, Reason::PushConstants { limit: 128, no_buffer: NoPushBuffer::TooMany { most: 5461 }, .. }),
            "{reason}"
        );
        assert!(reason.to_string().contains("bytes of push constants of 128"), "{reason}");
    }

    fn shared_memory_is_limited() {
        let text = kernel(
            "a z",
            "8",
            "var<workgroup> part: array<u32, 8>;---part[lid.x] = a[gid.x]; workgroupBarrier(); z[gid.x] = part[7u - lid.x];",
        );
        let limit = |n| move |l| Limits { max_shared_bytes: n, ..l };
        limited(limit(64), &text, [&[], &[]]).fused(0);
        ended_by(&limited(limit(63), &text, [&[], &[]]), &Reason::SharedMemory { needed: 64, limit: 63 });
    }

    fn loop_rounds_are_limited() {
        let text = kernel(
            "a z",
            "8",
            "var s = 0u; for (var k = 0u; k < p.x; k++) { s += a[gid.x] * k; } z[gid.x] = s;",
        );
        let limit = |n| move |l| Limits { max_loop_rounds: Some(n), ..l };
        // The round that finds the loop at its end counts.
        limited(limit(22), &text, [&[10], &[10]]).fused(0);
        ended_by(&limited(limit(21), &text, [&[10], &[10]]), &Reason::LoopRounds { limit: 21, unbounded: None });
    }

    /// Where an invocation does several items, the loop iterations of all of them count, whether their number is known or not.
    fn rounds_of_items_are_counted() {
        let rows = kernel(
            "a z",
            "8",
            "var<workgroup> part: array<u32, 8>;---
             part[lid.x] = a[wid.x * 32u + lid.x];
             workgroupBarrier();
             let at = wid.x * 32u + lid.x;
             let sum = part[0] + part[7];
             z[at] = a[at] + sum; z[at + 8u] = a[at + 8u] + sum;
             z[at + 16u] = a[at + 16u] + sum; z[at + 24u] = a[at + 24u] + sum;",
        );
        let list = |bound: &str, limit| {
            let body = format!(
                "let i = gid.x; if (i >= p.y) {{ return; }}
                 var s = 0u; for (var k = 0u; k < {bound}; k++) {{ s += a[i] * k; }} z[i] = s;"
            );
            let mut lab = Lab::rewriting(160);
            lab.limits.max_loop_rounds = limit;
            lab.submit(&kernel("a z", "16", &body), [10, 1, 1], &[0, 1], &[10, 160])
                .submit(&rows, [5, 1, 1], &[1, 2], &[])
                .check()
        };
        // Eleven rounds in each of the five of the loop over four items, and those: the ones that find a loop at its end count.
        assert_eq!(list("p.x", None).plan.steps.len(), 1);
        assert_eq!(list("p.x", Some(60)).plan.steps.len(), 1);
        assert_eq!(list("p.x", Some(59)).plan.steps.len(), 2);
        // Each of them has less than 10 rounds.
        assert_eq!(list("a[i] % 10u", None).plan.steps.len(), 1);
        assert_eq!(list("a[i] % 10u", Some(1000)).plan.steps.len(), 2);
    }

    /// However long the first round's range is, a loop that halves it goes round at most as often as a word has bits; WGSL
    /// wraps the division so that its divisor is chosen by a condition.
    fn loops_that_halve_are_bounded() {
        let text = kernel(
            "a z",
            "8",
            "var s = 0u; for (var k = p.x; k > 0u; k = k / 2u) { s += a[gid.x] * k; } z[gid.x] = s;",
        );
        let limit = |n| move |l| Limits { max_loop_rounds: Some(n), ..l };
        limited(limit(130), &text, [&[1000], &[1000]]).fused(0);
        ended_by(&limited(limit(129), &text, [&[1000], &[1000]]), &Reason::LoopRounds { limit: 129, unbounded: None });
        let stays = text.replace("k / 2u", "k / a[gid.x]");
        ended_by(&limited(limit(130), &stays, [&[0, 1], &[0, 1]]), &Reason::LoopRounds { limit: 130, unbounded: None });
    }

    /// A loop that doubles from a constant to a constant is counted out; what gets to zero, or begins there, never ends.
    fn loops_that_double_are_counted() {
        let text = kernel(
            "a z",
            "8",
            "var s = 0u; for (var k = 1u; k < 64u; k = k * 2u) { s += a[gid.x] * k; } z[gid.x] = s;",
        );
        let limit = |n| move |l| Limits { max_loop_rounds: Some(n), ..l };
        limited(limit(14), &text, [&[], &[]]).fused(0);
        ended_by(&limited(limit(13), &text, [&[], &[]]), &Reason::LoopRounds { limit: 13, unbounded: None });
        let inclusive = text.replace("k < 64u", "64u >= k").replace("k * 2u", "k << 1u");
        limited(limit(16), &inclusive, [&[], &[]]).fused(0);
        ended_by(&limited(limit(15), &inclusive, [&[], &[]]), &Reason::LoopRounds { limit: 15, unbounded: None });
        // `s` ends these after a round; no one is asked to see that.
        let from_zero = text.replace("k = 1u", "k = 0u").replace("s += a", "if s > 0u { break; } s = 1u + a");
        ended_by(&limited(limit(1000), &from_zero, [&[], &[]]), &Reason::LoopRounds { limit: 1000, unbounded: None });
        let wraps = from_zero.replace("k = 0u", "k = 1u").replace("64u", "0xffffffffu");
        ended_by(&limited(limit(1000), &wraps, [&[], &[]]), &Reason::LoopRounds { limit: 1000, unbounded: None });
        let signed = text.replace("1u; k < 64u", "1; k < 0x7fffffff").replace("* k;", "* u32(k);");
        let signed = signed.replace("k * 2u", "k * 2").replace("s += a", "if s > 0u { break; } s = 1u + a");
        ended_by(&limited(limit(1000), &signed, [&[], &[]]), &Reason::LoopRounds { limit: 1000, unbounded: None });
    }

    /// What a call's push constants say of products is known when the list is planned, and the plan depends on it.
    fn loops_that_double_to_an_argument_are_counted() {
        let text = kernel(
            "a z",
            "8",
            "var s = 0u; for (var k = p.y; k < p.x; k = k * p.z) { s += a[gid.x] * k; } z[gid.x] = s;",
        );
        let limit = |n| move |l| Limits { max_loop_rounds: Some(n), ..l };
        // Six rounds, and the one that finds the loop at its end.
        let of = |x, y, z| [x, y, z];
        limited(limit(14), &text, [&of(64, 1, 2), &of(64, 1, 2)]).fused(0);
        ended_by(&limited(limit(13), &text, [&of(64, 1, 2), &of(64, 1, 2)]), &Reason::LoopRounds { limit: 13, unbounded: None });
        limited(limit(11), &text, [&of(64, 1, 2), &of(64, 1, 4)]).fused(0);
        ended_by(&limited(limit(10), &text, [&of(64, 1, 2), &of(64, 1, 4)]), &Reason::LoopRounds { limit: 10, unbounded: None });
        ended_by(&limited(limit(13), &text, [&of(64, 1, 2), &of(65, 1, 2)]), &Reason::LoopRounds { limit: 13, unbounded: None });
        let shifted = text.replace("k * p.z", "k << p.z");
        limited(limit(14), &shifted, [&of(64, 1, 1), &of(64, 1, 1)]).fused(0);
        ended_by(&limited(limit(13), &shifted, [&of(64, 1, 1), &of(64, 1, 1)]), &Reason::LoopRounds { limit: 13, unbounded: None });
        let added = text.replace("k * p.z", "k + k");
        limited(limit(14), &added, [&of(64, 1, 0), &of(64, 1, 0)]).fused(0);
        // What does not grow never ends; a product that comes from memory is anything.
        let from = text.replace("s += a", "if s > 0u { break; } s = 1u + a");
        for push in [of(64, 0, 2), of(64, 1, 1), of(u32::MAX, 1, 2)] {
            ended_by(&limited(limit(1000), &from, [&push, &push]), &Reason::LoopRounds { limit: 1000, unbounded: None });
        }
        let loaded = from.replace("k < p.x", "k < a[gid.x]");
        ended_by(&limited(limit(1000), &loaded, [&[0, 1, 2], &[0, 1, 2]]), &Reason::LoopRounds { limit: 1000, unbounded: None });
    }

    /// More groups than the device takes are folded, for fused groups and for single kernels.
    fn group_counts_are_limited() {
        let text = kernel("a z", "8", "z[gid.x] = a[gid.x] + 1u;");
        let mut lab = Lab::new(64);
        lab.limits.max_groups = [3, 3, 3];
        lab.submit(&text, [7, 1, 1], &[0, 1], &[]).submit(&text, [5, 1, 1], &[1, 2], &[]).check().fused(0);
    }

    /// The uses of one buffer must agree on what is to become of it.
    fn wishes_must_agree() {
        for (first, second) in [(Promote::Private, Promote::Local), (Promote::Local, Promote::None)] {
            let checked = Lab::new(64)
                .promote(1, first)
                .submit(&copy(), [4, 1, 1], &[0, 1], &[])
                .promote(1, second)
                .submit(&copy(), [4, 1, 1], &[1, 2], &[])
                .check()
                .fused(0);
            assert_eq!(checked.refused(1), &Reason::PromotionMismatch);
        }
    }
}
