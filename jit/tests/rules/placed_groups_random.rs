//! Random lists of kernels over grids of one to three dimensions, and of kernels with barriers whose work-groups have a row or several. Some read another row
//! or another element. Each list is run unfused and as planned.

use vkfuse_jit::plan::{Places, Promote};

use super::lab::{Lab, kernel};
use super::placed_blocks_random::{Random, by_elements};

/// A kernel whose work-groups of `size` have `each` rows of `p.x` elements one after the other, and the work-groups: from `a` to one value a row, or to
/// elements.
fn by_groups(random: &mut Random, size: u32, each: u32, h: u32, elements: bool) -> (String, [u32; 3]) {
    let at = random.mostly(
        9,
        &["r * p.x + c", "(r * p.x + c + 1u) % (p.x * p.y)", "(p.y - 1u - r) * p.x + c", "c * p.y + r"],
    );
    let to = random.mostly(9, &["r * p.x + c", "r * p.x + p.x - 1u - c", "c * p.y + r"]);
    let row = random.mostly(7, &["r", "(p.y - 1u - r)"]);
    let end = match elements {
        true => {
            format!("for (var c = lid.x; c < p.x; c += {size}u) {{ z[{to}] = (a[{at}] * 31u) ^ part[0]; }}")
        }
        false => format!("if (lid.x == 0u) {{ z[{row}] = part[0]; }}"),
    };
    let (first, rows) = match each {
        1 => ("wid.x + wid.y * 4u".to_owned(), "if (r >= p.y) { return; }".to_owned()),
        _ => (format!("wid.x * {each}u"), String::new()),
    };
    let body = format!(
        "var own = 7u;
         for (var c = lid.x; c < p.x; c += {size}u) {{ own = own * 3u ^ a[{at}]; }}
         part[lid.x] = own;
         workgroupBarrier();
         for (var step = {}u; step > 0u; step /= 2u) {{
             if (lid.x < step) {{ part[lid.x] += part[lid.x + step]; }}
             workgroupBarrier();
         }}
         {end}",
        size / 2
    );
    let body = match each {
        1 => format!("var<workgroup> part: array<u32, {size}>;---let r = {first}; {rows} {body}"),
        _ => format!(
            "var<workgroup> part: array<u32, {size}>;---
             for (var k = 0u; k < {each}u; k++) {{ let r = {first} + k; if (r < p.y) {{ {body} workgroupBarrier(); }} }}"
        ),
    };
    let spare = if random.one_in(4) { 1 + random.below(3) as u32 } else { 0 };
    let groups = match each {
        1 if random.one_in(6) => [4, (h + spare).div_ceil(4), 1],
        1 => [h + spare, 1, 1],
        _ => [h.div_ceil(each) + spare, 1, 1],
    };
    // In a line, what the second dimension adds is nothing.
    (kernel("a z", &size.to_string(), &body), groups)
}

probes! {
    fn random_grids_beside_work_groups_are_right() {
        let (mut placed, mut whole) = (0, 0);
        for seed in 0..number() {
            let random = &mut Random(seed.wrapping_mul(77) ^ 0x9a1d);
            let (w, a, b) =
                (random.one_of(&[1, 2, 3, 5, 7, 13, 16, 17]), 1 + random.below(5) as u32, 1 + random.below(3) as u32);
            let push = [w, a * b, a, b];
            let mut lab = Lab::rewriting(2048);
            for buffer in 0..7 {
                let wish = random.mostly(3, &[Promote::None, Promote::Auto]);
                lab = lab.promote(buffer, wish);
            }
            lab.options.force = random.one_in(4);
            let size = random.one_of(&[8, 16]);
            let each = random.mostly(3, &[1, 2, 3]);
            // Elements in 0 to 3, rows in 4 to 6.
            let (mut elements, mut rows) = (0, 4);
            let count = 2 + random.below(4);
            for at in 0..count {
                let from = elements;
                if at == 1 || random.one_in(3) {
                    let to_elements = random.one_in(2);
                    let (text, groups) = by_groups(random, size, each, a * b, to_elements);
                    let to = match to_elements {
                        true => (elements + 1 + random.below(3) as u64) % 4,
                        false => 4 + random.below(3) as u64,
                    };
                    if to_elements { elements = to } else { rows = to }
                    lab = lab.submit(&text, groups, &[from, to], &push);
                } else {
                    let in_place = random.one_in(4);
                    let (text, groups) = by_elements(random, push, in_place);
                    if in_place {
                        lab = lab.submit(&text, groups, &[rows, elements], &push);
                    } else {
                        elements = (elements + 1 + random.below(3) as u64) % 4;
                        lab = lab.submit(&text, groups, &[from, rows, elements], &push);
                    }
                }
            }
            let plan = lab.check().plan;
            let is_placed = plan.report.rewrites.iter().any(|one| matches!(one.places, Places::Blocks { .. }));
            placed += usize::from(is_placed);
            whole += usize::from(is_placed && plan.steps.len() == 1);
        }
        println!("{placed} lists with grids on work-groups, {whole} of them as a whole");
        assert!(placed > 10 && whole > 3, "{placed} lists with grids on work-groups, {whole} of them as a whole");
    }
}

/// `VKFUSE_GROUP_LISTS` for a long run.
fn number() -> u64 {
    std::env::var("VKFUSE_GROUP_LISTS").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
}
