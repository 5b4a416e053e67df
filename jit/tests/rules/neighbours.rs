//! Indices of items next to each other that are remainders: vectors where rows are a multiple of four long, and elements one by one where not.

use vkfuse_jit::plan::ShapeLimits;

use super::glsl::{glsl, is_possible};
use super::lab::{Lab, kernel};
use super::placed_blocks_random::Random;

/// A device that takes four items next to each other as vectors.
fn lab() -> Lab {
    let mut lab = Lab::new(64);
    lab.limits.shape = ShapeLimits {
        group_size: 4,
        items: 4,
        vectors: true,
        rounds: 1,
        least: 1,
        superword: 1,
        lanes: 1,
        conditions: None,
    };
    lab
}

/// The number of `OpUMod`.
const UMOD: u32 = 137;

const TRIPLE: &str = "let i = gid.x; if (i >= p.x) { return; } z[i] = a[i] * 3u;";

/// Runs a kernel with numbers behind another one, with items as vectors if they can be; how often the code divides.
fn divisions(body: &str, push: &[u32]) -> usize {
    divisions_of(&kernel("a b z", "8", body), push)
}

fn divisions_of(text: &str, push: &[u32]) -> usize {
    let groups = push[0].div_ceil(8) + 1;
    let lab = lab().submit(&kernel("a z", "8", TRIPLE), [groups, 1, 1], &[0, 1], &push[..1]).submit(
        text,
        [groups, 1, 1],
        &[0, 1, 2],
        push,
    );
    let count = lab.instructions(UMOD);
    lab.check().fused(0);
    count
}

/// A word made of the item's number and push constants, which may wrap.
fn word(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.one_in(8) {
        return random.one_of(&["i", "i", "i", "i", "p.y", "p.z"]).to_owned();
    }
    let a = word(random, depth - 1);
    let b = match random.one_in(3) {
        true => random.one_of(&["1u", "3u", "4u", "8u", "16u", "4294967292u"]).to_owned(),
        false => word(random, depth - 1),
    };
    let row = random.one_of(&[
        "p.y",
        "p.y",
        "p.z",
        "(p.y / 2u)",
        "(p.y * 2u)",
        "4u",
        "8u",
        "12u",
        "5u",
        "(p.y - p.z)",
    ]);
    match random.below(14) {
        0..4 => format!("({a} % {row})"),
        4 | 5 => format!("({a} / {row})"),
        6 => format!("({a} + {b})"),
        7 => format!("({a} - {b})"),
        8 => format!("({a} - {a} % {row})"),
        9 => format!("({a} * {})", random.one_of(&["2u", "3u", "4u", "p.z", "12u"])),
        10 => format!("({a} {} {})", random.one_of(&[">>", "<<"]), random.one_of(&["1u", "2u", "3u"])),
        11 => format!("({a} & {})", random.one_of(&["3u", "7u", "15u", "28u", "p.z"])),
        12 => format!("select({a}, {b}, {a} < {row})"),
        _ => format!("select({a}, {b}, {} < {row})", word(random, depth - 1)),
    }
}

fn lists() -> u64 {
    std::env::var("VKFUSE_ROWS").ok().and_then(|text| text.parse().ok()).unwrap_or(150)
}

probes! {
    // Indices of any form: each item has its own elements.
    fn random_rows_are_those_of_the_items() {
        let mut vectors = 0;
        for seed in 0..lists() {
            let random = &mut Random(seed);
            let mut body = "let i = gid.x; if (i >= p.x) { return; } var r = b[i];\n".to_owned();
            for _ in 0..1 + random.below(3) {
                let index = word(random, 4);
                let what = random.one_of(&["a[(INDEX) & 63u]", "a[(INDEX) & 63u]", "(INDEX)", "a[min(INDEX, 63u)]"]);
                body.push_str(&format!("r = r * 5u + {};\n", what.replace("INDEX", &index)));
            }
            body.push_str("z[i] = r;");
            let rows = [4, 8, 8, 16, 16, 32, 12, 24, 6, 9];
            let all: u32 = random.one_of(&[48, 48, 45, 46, 40, 64]);
            let push = [all, random.one_of(&rows), random.one_of(&[4, 8, 2, 1, 12, 3])];
            let mut lab = lab();
            if random.one_in(3) {
                (lab.limits.shape.items, lab.limits.shape.superword) = (1, 4);
            }
            let groups = [all.div_ceil(8), 1, 1];
            let lab = lab
                .submit(&kernel("a z", "8", TRIPLE), groups, &[0, 1], &push[..1])
                .submit(&kernel("a b z", "8", &body), groups, &[0, 1, 2], &push);
            let schedule = lab.check().plan.report.groups[0].schedule.clone();
            vectors += u64::from(schedule.contains("vec4"));
        }
        println!("{vectors} of {} lists are done in vectors", lists());
        assert!(vectors * 2 > lists(), "{vectors}");
    }

    // Two halves of each row, one of them negative, as in rotary embeddings.
    fn halves_of_rows_are_vectors() {
        let body = "let i = gid.x; if (i >= p.x) { return; }
            let column = i % p.y; let first = i - column; let half = p.y / 2u; let pair = column % half;
            let low = a[first + pair]; let high = a[first + pair + half];
            z[i] = select(high, low, column < half) * 5u + select(low, high, column < half) * 7u + a[pair] + (b[i] ^ i);";
        let whole = |row: u32| 48 / row * row;
        let apart = divisions(body, &[whole(6), 6]);
        for row in [8, 16, 24, 48] {
            assert!(divisions(body, &[whole(row), row]) + 6 <= apart, "rows of {row}");
        }
        for row in [2, 4, 10, 12, 20, 14, 22] {
            divisions(body, &[whole(row), row]);
        }
        // The last items are less than four.
        for (all, row) in [(45, 8), (46, 16), (47, 24), (45, 10), (37, 12)] {
            let body = body.replace("a[first + pair + half]", "a[min(first + pair + half, 63u)]");
            divisions(&body, &[all, row]);
        }
    }

    // A row that is chosen for all four, and one that is not.
    fn rows_that_are_chosen_are_vectors() {
        let body = |from: &str| format!("let i = gid.x; if (i >= p.x) {{ return; }}
            let column = i % p.y; let half = p.y / 2u;
            let other = select(i - half, i + half, {from} < half);
            z[i] = a[other] * 5u + a[i] * 3u + (b[i] ^ column);");
        let apart = divisions(&body("column"), &[48, 6]);
        for row in [8, 16, 24, 12] {
            assert!(divisions(&body("column"), &[48, row]) + 3 <= apart, "rows of {row}");
        }
        divisions(&body("(column + 1u)").replace("i + half", "min(i + half, 63u)").replace("i - half", "i - min(i, half)"), &[48, 8]);
    }

    // Numbers that do not begin at a multiple of four where the items do.
    fn rows_that_begin_elsewhere_are_apart() {
        for shift in [0, 1, 2, 3, 4, 8] {
            for row in [4, 8, 12, 16, 10] {
                let body = "let i = gid.x; if (i >= p.x) { return; }
                    z[i] = a[(i + p.z) % p.y] * 5u + a[i] * 3u + b[i] + a[(i * 3u + p.z) % p.y] + a[(i / p.y + p.z) % p.y];";
                divisions(body, &[48, row, shift]);
            }
        }
    }

    // Quotients, numbers of lines, a quarter of a row, and remainders of remainders.
    fn quotients_are_the_same_for_all() {
        for row in [4, 8, 16, 32, 12, 6, 7] {
            let body = "let i = gid.x; if (i >= p.x) { return; }
                let line = i / p.y; let column = i % p.y; let quarter = max(p.y / 4u, 1u);
                z[i] = a[line] * 5u + a[column] * 3u + b[i] + a[column % quarter] + a[(line * p.y + column) % 16u] + a[column / quarter]
                    + a[(line * 4u + column) % p.y];";
            divisions(body, &[48, row]);
            divisions(body, &[45, row]);
        }
    }

    // The same from GLSL, whose divisors are not compared with zero.
    fn divisors_of_glsl_are_followed() {
        if !is_possible() {
            return;
        }
        let body = "if (i >= p.x) return; uint column = i % p.y, first = i - column, half_row = p.y / 2, pair = column % half_row;
            uint low = a[first + pair], high = a[first + pair + half_row];
            z[i] = (column < half_row ? low : high) * 5u + (column < half_row ? high : low) * 7u + (b[i] ^ i);";
        let rotary = glsl("", "a b z", "8", body);
        let apart = divisions_of(&rotary, &[48, 6]);
        for row in [8, 16, 24] {
            assert!(divisions_of(&rotary, &[48, row]) + 6 <= apart, "rows of {row}");
        }
        for (all, row) in [(48, 12), (40, 10), (45, 9)] {
            divisions_of(&rotary, &[all, row]);
        }
    }

    // A device that few items do not fill keeps the work-groups that kernels were submitted with.
    fn small_dispatches_keep_their_work_groups() {
        for (overlapping_invocations, size) in [(1 << 16, 8), (12, 16), (0, 16)] {
            let mut lab = lab();
            (lab.limits.shape.group_size, lab.limits.overlapping_invocations) = (16, overlapping_invocations);
            let checked = lab
                .submit(&kernel("a z", "8", TRIPLE), [6, 1, 1], &[0, 1], &[48])
                .submit(&kernel("a z", "8", TRIPLE), [6, 1, 1], &[1, 2], &[48])
                .check()
                .fused(0);
            let found = checked.plan.report.groups[0].schedule.clone();
            assert!(found.starts_with(&format!("items: grid x / {size} invocations / vec4")), "{found}");
        }
    }
}
