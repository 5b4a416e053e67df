//! Kernels by rows, for the probes of several rules: a work-group of eight has a row of `p.x` elements.

use vkfuse_jit::plan::Promote;

use super::lab::{Lab, kernel};

/// A work-group of eight reduces a row of `a` to an element of `z`.
pub(crate) fn reduce(own: &str, both: &str) -> String {
    let body = format!(
        "var<workgroup> part: array<u32, 8>;---
         var own = 0u;
         for (var c = lid.x; c < p.x; c += 8u) {{ let v = a[wid.x * p.x + c]; own = {own}; }}
         part[lid.x] = own;
         workgroupBarrier();
         for (var step = 4u; step > 0u; step /= 2u) {{
             if (lid.x < step) {{ let x = part[lid.x]; let y = part[lid.x + step]; part[lid.x] = {both}; }}
             workgroupBarrier();
         }}
         if (lid.x == 0u) {{ z[wid.x] = part[0]; }}"
    );
    kernel("a z", "8", &body)
}

/// Uses an element of `b` for each row of `a`.
pub(crate) fn spread(value: &str) -> String {
    let body =
        format!("for (var c = lid.x; c < p.x; c += 8u) {{ let at = wid.x * p.x + c; z[at] = {value}; }}");
    kernel("a b z", "8", &body)
}

/// Each element of a row of `p.x`, made of all of its row by a work-group of eight.
pub(crate) const NORM: &str = "var<workgroup> part: array<u32, 8>;---
        var own = 0u;
        for (var c = lid.x; c < p.x; c += 8u) { own += a[wid.x * p.x + c]; }
        part[lid.x] = own;
        workgroupBarrier();
        var all = 1u;
        for (var k = 0u; k < 8u; k++) { all += part[k]; }
        for (var c = lid.x; c < p.x; c += 8u) { let at = wid.x * p.x + c; z[at] = a[at] * 100u / all; }";

/// `rows` rows of `w`: maximum, difference, sum, quotient.
pub(crate) fn softmax(rows: u32, w: u32, promote: Promote) -> Lab {
    Lab::new(u64::from(rows * w).max(16))
        .promote(1, promote)
        .promote(2, promote)
        .promote(3, promote)
        .submit(&reduce("max(own, v)", "max(x, y)"), [rows, 1, 1], &[0, 1], &[w])
        .submit(&spread("b[wid.x] - a[at]"), [rows, 1, 1], &[0, 1, 2], &[w])
        .submit(&reduce("own + v", "x + y"), [rows, 1, 1], &[2, 3], &[w])
        .submit(&spread("a[at] * 100u / (b[wid.x] + 1u)"), [rows, 1, 1], &[2, 3, 4], &[w])
}

/// A member by rows around which others are made: it has a barrier of its own, and work-groups of eight.
pub(crate) fn with_rows(lab: Lab, rows: u32) -> Lab {
    lab.submit(&reduce("own + v", "x + y"), [rows, 1, 1], &[0, 1], &[16])
}

/// Small numbers by a rule.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    pub(crate) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }
}

/// In work-groups of 16 with a word each in `part`, each invocation reads a word, waits, may change its own, and waits; in rounds of `s`, or once.
pub(crate) fn exchange(random: &mut Random) -> String {
    let (begin, goes_on, step) = [
        ("8u", "s > 0u", "s /= 2u"),
        ("4u", "s > 0u", "s = s >> 1u"),
        ("1u", "s < 16u", "s *= 2u"),
        ("1u", "s < 8u", "s = s << 1u"),
        ("2u", "s < 3u", "s += 1u"),
    ][random.below(5) as usize];
    let index = random.pick(&[
        "lid.x ^ s",
        "(lid.x + s) % 16u",
        "(lid.x + s) & 7u",
        "min(lid.x + s, 15u)",
        "lid.x / s * s",
        "lid.x | s",
        "15u - lid.x",
        "lid.x & 12u",
        "(lid.x * 3u) % 16u",
        "lid.x - lid.x % 2u",
        "s & 15u",
        "select(lid.x, lid.x - s, lid.x >= s)",
    ]);
    let guards = [
        "lid.x < s",
        "lid.x >= s",
        "lid.x % (2u * s) == 0u",
        "(lid.x & s) == 0u",
        "lid.x < 4u",
        "lid.x == s",
        "true",
    ];
    let (reads, writes) = (random.pick(&guards), random.pick(&guards));
    let keeps = random.pick(&["", "let own = part[lid.x];", "let own = part[lid.x ^ 1u];"]);
    let value = if keeps.is_empty() { "v + s" } else { "v * 3u + own" };
    let body = format!(
        "var v = 1u; {keeps} if ({reads}) {{ v = part[{index}]; }}
         workgroupBarrier();
         if ({writes}) {{ part[lid.x] = {value}; }}
         workgroupBarrier();"
    );
    match random.below(3) {
        0 => format!("{{ let s = {}; {body} }}\n", random.pick(&["1u", "2u", "4u", "8u"])),
        _ => format!("for (var s = {begin}; {goes_on}; {step}) {{ {body} }}\n"),
    }
}

/// A kernel in which each invocation stores a word to shared memory, `steps` work on all of them, and each invocation loads its word.
pub(crate) fn with_part(steps: &str) -> String {
    kernel(
        "a z",
        "16",
        &format!(
            "var<workgroup> part: array<u32, 16>;---
             part[lid.x] = a[gid.x];
             workgroupBarrier();
             {steps}
             z[gid.x] = part[15u - lid.x] * 3u + lid.x;"
        ),
    )
}

pub(crate) fn with_flat(text: &str) -> Lab {
    let flat = kernel("a z", "16", "z[gid.x] = a[gid.x] * 5u + lid.x;");
    Lab::new(16 * 4).submit(&flat, [4, 1, 1], &[0, 1], &[]).submit(text, [4, 1, 1], &[1, 2], &[])
}
