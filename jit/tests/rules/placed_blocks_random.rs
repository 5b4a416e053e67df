//! Random lists of kernels over grids of one to three dimensions, by row or by element. Some work in place, and some read another row or another
//! element. Each list is run unfused and as planned.

use vkfuse_jit::plan::{Places, Promote};

use super::lab::{Lab, kernel};

/// Numbers that look random (SplitMix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(super) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// The first of these, except for one time in this many.
    pub(super) fn mostly<T: Copy>(&mut self, n: usize, all: &[T]) -> T {
        if self.one_in(n) { self.one_of(all) } else { all[0] }
    }
}

/// Work-groups of a size that cover these ids, sometimes with some to spare.
fn cover(random: &mut Random, size: [u32; 3], ids: [u32; 3]) -> [u32; 3] {
    std::array::from_fn(|d| ids[d].div_ceil(size[d]) + u32::from(random.one_in(9)))
}

fn text(size: [u32; 3], names: &str, body: &str) -> String {
    kernel(names, &size.map(|n| n.to_string()).join(", "), body)
}

/// A kernel, its work-groups, and whether it goes by rows. Of its push constants `x` is the length of a row, `y` the number of rows, `z` and `w` the two factors of that.
fn by_rows(random: &mut Random, [_, h, a, b]: [u32; 4]) -> (String, [u32; 3]) {
    let size = random.one_of(&[[16, 1, 1], [4, 4, 1], [2, 2, 4], [4, 4, 4]]);
    let (row, ids) = match random.below(2) {
        0 => ("if (gid.x >= p.y || gid.y >= 1u || gid.z >= 1u) { return; } let r = gid.x;", [h, 1, 1]),
        _ => (
            "if (gid.x >= p.z || gid.y >= p.w || gid.z >= 1u) { return; } let r = gid.y * p.z + gid.x;",
            [a, b, 1],
        ),
    };
    let at = random.mostly(
        9,
        &["r * p.x + c", "min(r * p.x + c + 1u, p.x * p.y - 1u)", "(p.y - 1u - r) * p.x + c", "c * p.y + r"],
    );
    let each = random.one_of(&["max(own, a[at])", "own * 31u + a[at]", "own * 3u ^ a[at]"]);
    let body = format!(
        "{row} var own = 7u;
         for (var c = 0u; c < p.x; c++) {{ let at = {at}; own = {each}; }}
         z[r] = own;"
    );
    (text(size, "a z", &body), cover(random, size, ids))
}

/// The same of a kernel that goes by elements: in place, or from `a`; always with a value `b` of a row.
pub(super) fn by_elements(random: &mut Random, [w, h, a, b]: [u32; 4], in_place: bool) -> (String, [u32; 3]) {
    let (item, size, ids) = match random.below(4) {
        0 => (
            "let i = gid.x; if (i >= p.x * p.y || gid.y >= 1u || gid.z >= 1u) { return; } let row = i / p.x;",
            random.one_of(&[[16, 1, 1], [8, 1, 1]]),
            [w * h, 1, 1],
        ),
        1 => (
            "if (gid.x >= p.x || gid.y >= p.z || gid.z >= p.w) { return; }
             let row = gid.z * p.z + gid.y; let i = row * p.x + gid.x;",
            random.one_of(&[[2, 2, 4], [4, 4, 1], [4, 4, 4]]),
            [w, a, b],
        ),
        _ => (
            "if (gid.x >= p.x || gid.y >= p.y || gid.z >= 1u) { return; } let row = gid.y; let i = row * p.x + gid.x;",
            random.one_of(&[[4, 4, 1], [8, 2, 1], [4, 4, 4]]),
            [w, h, 1],
        ),
    };
    let row = random.mostly(9, &["row", "(row + 1u) % p.y", "p.y - 1u - row", "i % p.y"]);
    let at = random.mostly(
        9,
        &["i", "(i + 1u) % (p.x * p.y)", "p.x * p.y - 1u - i", "(i % p.x) * p.y + i / p.x", "i / 2u"],
    );
    let value = if in_place { "z[i]".to_owned() } else { format!("a[{at}]") };
    let body = format!("{item} z[i] = {value} * 5u + b[{row}];");
    (text(size, if in_place { "b z" } else { "a b z" }, &body), cover(random, size, ids))
}

probes! {
    fn random_rows_beside_elements_are_right() {
        let mut placed = 0;
        for seed in 0..60 {
            let random = &mut Random(seed);
            let (w, a, b) =
                (random.one_of(&[1, 2, 3, 5, 7, 16, 17, 33]), 1 + random.below(6) as u32, 1 + random.below(4) as u32);
            let push = [w, a * b, a, b];
            let mut lab = Lab::rewriting(1024);
            for buffer in 0..7 {
                let wish = random.mostly(3, &[Promote::None, Promote::Auto]);
                lab = lab.promote(buffer, wish);
            }
            lab.options.force = random.one_in(4);
            // Elements in 0 to 3, rows in 4 to 6.
            let (mut elements, mut rows) = (0, 4);
            for _ in 0..2 + random.below(4) {
                if random.one_in(2) {
                    let (text, groups) = by_rows(random, push);
                    rows = 4 + random.below(3) as u64;
                    lab = lab.submit(&text, groups, &[elements, rows], &push);
                } else if random.one_in(2) {
                    let (text, groups) = by_elements(random, push, true);
                    lab = lab.submit(&text, groups, &[rows, elements], &push);
                } else {
                    let (text, groups) = by_elements(random, push, false);
                    let to = (elements + 1 + random.below(3) as u64) % 4;
                    lab = lab.submit(&text, groups, &[elements, rows, to], &push);
                    elements = to;
                }
            }
            let rewrites = lab.check().plan.report.rewrites;
            placed += usize::from(rewrites.iter().any(|one| matches!(one.places, Places::Blocks { .. })));
        }
        assert!(placed > 10, "{placed} lists with whole rows");
    }
}
