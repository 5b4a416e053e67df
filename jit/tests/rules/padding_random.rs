//! Random lists of kernels that exchange values inside of work-groups of several sizes and shapes: trees, rounds, branches that whole work-groups take, atomic
//! sums, returns. Some read or write another row. Each list is run unfused and as planned.

use std::fmt::Write as _;

use vkfuse_fuzz::devices::{cpu, gpu, middling, nvidia};
use vkfuse_jit::plan::{Places, Promote};

use super::lab::{Lab, kernel};
use super::placed_blocks_random::Random;

const SIZES: [[u32; 3]; 9] =
    [[4, 1, 1], [8, 1, 1], [16, 1, 1], [32, 1, 1], [2, 2, 1], [4, 4, 1], [2, 2, 4], [1, 8, 1], [6, 1, 1]];

/// A kernel whose work-group `r` goes through row `r`. Of its push constants `x` is the length of a row, `y` the number of rows, `z` a small number.
fn by_work_groups(random: &mut Random, has_spare: bool) -> String {
    let size = random.one_of(&SIZES);
    let n: u32 = size.iter().product();
    let mut body = format!("var<workgroup> s: array<u32, {n}>; var<workgroup> t: atomic<u32>;\n---\n");
    if has_spare || random.one_in(2) {
        body.push_str("if (wid.x >= p.y) { return; }\n");
    }
    body.push_str("let r = wid.x % p.y;\n");
    let row = random.mostly(12, &["r", "(r + 1u) % p.y"]);
    let near = random.one_of(&["lix", "lid.x + lid.y * 2u", "gid.x % 5u + lix", "(lix * 3u)"]);
    let _ = writeln!(
        body,
        "var own = {near} * 9u + nwg.x;
         for (var k = lix; k < p.x; k += {n}u) {{ own = own * 31u + a[{row} * p.x + k]; }}"
    );
    for phase in 0..1 + random.below(3) {
        let rounds = random.one_of(&["2u", "p.z", "r % 3u", "min(p.z, 2u) + 1u"]);
        let taken = random.one_of(&["r % 2u == 0u", "p.z > 1u", "(r + p.z) % 3u != 0u"]);
        let text = match random.below(8) {
            0 => format!(
                "s[lix] = own; workgroupBarrier();
                 for (var h = {}u; h > 0u; h >>= 1u) {{ if (lix < h) {{ s[lix] = s[lix] * 7u + s[lix + h]; }} workgroupBarrier(); }}
                 own += s[0]; workgroupBarrier();",
                n / 2
            ),
            1 => format!(
                "for (var q = 0u; q < {rounds}; q++) {{
                   s[lix] = own; workgroupBarrier();
                   let x{phase} = s[(lix + q + 1u) % {n}u]; own = own * 5u + x{phase}; workgroupBarrier(); }}"
            ),
            2 => format!(
                "if ({taken}) {{ s[lix] = own; workgroupBarrier(); own ^= s[{n}u - 1u - lix]; workgroupBarrier(); }}
                 else {{ own = own * 11u + lix; }}"
            ),
            3 => "if (lix % 2u == 0u) { own += a[r * p.x] * 3u; } else { own ^= 77u; }".to_owned(),
            4 => "if (lix == 0u) { atomicStore(&t, 5u); } workgroupBarrier(); atomicAdd(&t, own); workgroupBarrier();
                  own ^= atomicLoad(&t); workgroupBarrier();"
                .to_owned(),
            5 => format!(
                "var q{phase} = 0u;
                 loop {{
                   s[lix] = own + q{phase}; workgroupBarrier();
                   own = own * 3u + s[lix ^ 1u]; workgroupBarrier();
                   continuing {{ q{phase} += 1u; break if q{phase} >= {rounds}; }}
                 }}"
            ),
            6 => format!(
                "var part{phase}: array<u32, 3>;
                 for (var q = 0u; q < 3u; q++) {{ part{phase}[q] = own * (q + 2u); }}
                 s[lix] = part{phase}[lix % 3u]; workgroupBarrier(); own = part{phase}[1] ^ s[(lix + 1u) % {n}u]; workgroupBarrier();"
            ),
            _ => format!(
                "switch (r % 3u + p.z) {{
                   case 1u: {{ s[lix] = own; workgroupBarrier(); own += s[{n}u - 1u - lix]; workgroupBarrier(); }}
                   case 2u: {{ own *= 13u; }}
                   default: {{ if (own % 2u == 0u) {{ own += lix; }} }}
                 }}"
            ),
        };
        body.push_str(&text);
        body.push('\n');
    }
    let to = random.mostly(12, &["r", "(r + 1u) % p.y"]);
    let at = random.mostly(3, &["k", "(p.x - 1u - k)"]);
    let mut step = n;
    if random.one_in(4) && n.is_multiple_of(2) {
        step = n / 2;
        let _ = writeln!(body, "if (lix >= {step}u) {{ return; }}");
    }
    let store = format!("for (var k = lix; k < p.x; k += {step}u) {{ z[{to} * p.x + {at}] = own + k; }}");
    // All ways out may be returns.
    let _ = match random.below(4) {
        0 => {
            writeln!(body, "if (own % 2u == 0u) {{ {store} return; }} else {{ own *= 3u; {store} return; }}")
        }
        1 => writeln!(
            body,
            "if (r % 2u == 0u) {{ {store} return; }} else {{ if (own % 3u != 0u) {{ {store} }} else {{ own = 5u; {store} return; }} }}"
        ),
        _ => writeln!(body, "{store}"),
    };
    // One binary digit selects the neighbour: a work-group of six has none for its last two.
    let body = if n == 6 { body.replace("lix ^ 1u", "5u - lix") } else { body };
    kernel("a z", &size.map(|n| n.to_string()).join(", "), &body)
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

probes! {
    fn random_lists_of_work_groups_of_several_sizes() {
        let (lists, first) = (number("VKFUSE_PADDED_LISTS", 60), number("VKFUSE_PADDED_SEED", 0));
        let (mut padded, mut inside) = (0, 0);
        for seed in first..first + lists {
            let random = &mut Random(seed);
            // Shown where the list is wrong.
            println!("VKFUSE_PADDED_LISTS=1 VKFUSE_PADDED_SEED={seed}");
            let push = [random.one_of(&[1, 7, 16, 24, 32, 33]), 1 + random.below(4) as u32, random.below(4) as u32];
            let has_spare = random.one_in(4);
            let groups = [push[1] + u32::from(has_spare), 1, 1];
            let mut lab = Lab::rewriting(256);
            for buffer in 0..4 {
                let wish = random.one_of(&[Promote::None, Promote::Auto, Promote::Local]);
                lab = lab.promote(buffer, wish);
            }
            lab.options.force = random.one_in(3);
            lab.limits = random.one_of(&[middling(), cpu(), gpu(), nvidia()]);
            // A few work-groups are enough for whatever these devices gain from.
            (lab.limits.thread_coarsening.least, lab.limits.block_coarsening.least) = (1, 1);
            for from in 0..2 + random.below(3) as u64 {
                let to = if random.one_in(8) { from } else { from + 1 };
                let from = if to == from { (from + 3) % 4 } else { from };
                let text = by_work_groups(random, has_spare);
                if lists == 1 {
                    println!("{push:?}, {from} to {to}:\n{text}");
                }
                lab = lab.submit(&text, groups, &[from, to], &push);
            }
            let report = lab.check().plan.report;
            let has = report.rewrites.iter().any(|one| matches!(one.places, Places::Padded { .. }));
            padded += u64::from(has);
            inside += u64::from(has && report.buffers.iter().any(|one| one.reason.is_none() && one.asked != Promote::None));
        }
        println!("{padded} of {lists} lists are padded, {inside} of these with a promoted buffer");
        assert!(lists == 1 || padded * 4 > lists && inside > 0, "{padded} padded, {inside} with a promoted buffer");
    }
}
