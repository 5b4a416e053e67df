//! Random lists of kernels over parts of one line, which overlap, leave something out or lie in each other. Each list is run unfused and as planned, with several items
//! in an invocation. `VKFUSE_LINE_LISTS` for a long run.

use vkfuse_jit::plan::{Promote, ShapeLimits};

use super::lab::{Lab, kernel};
use super::placed_blocks_random::Random;
use super::placement::over;

/// What a kernel makes of its item `i`.
const VALUES: [&str; 4] = ["a[i] * 3u + i", "a[i] ^ 7u", "a[i] + z[at] * 5u", "z[at] ^ i"];

/// One of the parts of a line of `n` items, from buffer `number` into `to`.
fn submit(random: &mut Random, lab: Lab, n: u32, (number, to): (u64, u64)) -> Lab {
    let mut ends = [random.below(n as usize + 1) as u32, random.below(n as usize + 1) as u32];
    // Often where another one may end, too.
    for end in &mut ends {
        *end = if random.one_in(2) { random.one_of(&[0, n / 4, n / 2, n - n / 4, n]) } else { *end };
    }
    ends.sort_unstable();
    let [first, end] = ends;
    let value = random.one_of(&VALUES);
    let more = u32::from(random.one_in(6));
    let (guard, at, groups, push) = match random.below(9) {
        0..=2 => {
            let (guard, less) = random.one_of(&[
                ("i >= p.y && i < p.x", 0),
                ("i < p.x && !(p.y > i)", 0),
                ("i32(i) >= i32(p.y) && i32(i) < i32(p.x)", 0),
                ("i >= p.y && i - p.y < p.x - p.y", 0),
                ("i32(i) >= i32(p.y) && i32(i) <= i32(p.x)", 1),
            ]);
            (guard, "i", over(n)[0] + more, [end.wrapping_sub(less), first])
        }
        3..=5 => {
            let (guard, less) =
                random.one_of(&[("i < p.x", 0), ("!(i >= p.x)", 0), ("i32(i) <= i32(p.x)", 1)]);
            let limit = random.one_of(&[end, end, n]);
            (guard, "i", over(end)[0] + more, [limit.wrapping_sub(less), 0])
        }
        6 => ("true", "i", end / 16, [0, 0]),
        _ => ("i < p.x", "p.y + i", over(end - first)[0] + more, [end - first, first]),
    };
    let names = if value.contains("a[") { "a z" } else { "z" };
    let body = format!("let i = gid.x; if (!({guard})) {{ return; }} let at = {at}; z[at] = {value};");
    let body = if guard == "true" { body.replace("if (!(true)) { return; }", "") } else { body };
    let buffers: &[u64] = if names == "z" { &[to] } else { &[number, to] };
    lab.submit(&kernel(names, "16", &body), [groups, 1, 1], buffers, &push)
}

fn list(seed: u64) -> Lab {
    let mut random = Random(seed);
    let n = 1 + random.below(200) as u32;
    let mut lab = if random.one_in(3) { Lab::new(u64::from(n)) } else { Lab::rewriting(u64::from(n)) };
    let shape = ShapeLimits {
        group_size: random.one_of(&[16, 64]),
        items: random.mostly(4, &[1, 4]),
        vectors: random.one_in(2),
        superword: random.one_of(&[4, 4, 2, 8]),
        lanes: random.one_of(&[1, 2]),
        ..lab.limits.shape
    };
    lab.limits.shape = shape;
    let parts = 2 + random.below(4) as u64;
    lab = lab.promote(9, random.one_of(&[Promote::None, Promote::Auto, Promote::Private]));
    for number in 0..parts {
        lab = submit(&mut random, lab, n, (number, 9));
    }
    let whole = "let i = gid.x; if (i >= p.x) { return; } z[i] = a[i] ^ (3u * i);";
    lab.submit(&kernel("a z", "16", whole), [over(n)[0], 1, 1], &[9, 8], &[n])
}

probes! {
    fn random_parts_of_lines() {
        let lists = std::env::var("VKFUSE_LINE_LISTS").ok().and_then(|text| text.parse().ok()).unwrap_or(120);
        let mut fused = 0;
        for seed in 0..lists {
            let plan = list(seed).check().plan;
            fused += usize::from(plan.steps.len() == 1 && plan.report.groups[0].items_per_invocation > 1);
        }
        assert!(fused * 3 > lists as usize, "{fused} of {lists}");
    }
}
