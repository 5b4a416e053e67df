//! Kernels and lists without known legality: any kernel may follow any other, and now and then one races with itself.

use std::fmt::Write as _;
use std::sync::Arc;

use super::case::{Case, Family, Legality};
use super::pool::{Kind, Pool, PoolKernel};
use super::random::Random;
use vkfuse_jit::kernel::Interface;
use vkfuse_jit::plan::{Arg, BufferId, Promote, Submission};

/// Memory objects of a case.
const BUFFERS: usize = 6;

/// Work-group shapes kernels come in.
pub(super) const SHAPES: [[u32; 2]; 6] = [[8, 1], [8, 1], [32, 1], [1, 1], [4, 4], [8, 2]];

/// A list over kernels that were made without a plan. Some kernels race with themselves or leave their buffers.
pub(super) fn soup(random: &mut Random, detail: &mut Random, pool: &Pool) -> Case {
    let [width, height] = [1 + detail.below(20) as u32, 1 + detail.below(12) as u32];
    let n = width * height;
    // Half of the lists keep to one shape, as users' lists do.
    let one_shape = random.one_in(2).then(|| *random.pick(&SHAPES));
    let bytes = 4 * (8 * n as usize + 512);
    let mut wishes = [Promote::None; BUFFERS];
    for wish in wishes.iter_mut().skip(2) {
        *wish = *random.pick(&[Promote::None, Promote::Private, Promote::Local, Promote::Auto]);
    }
    let all = || pool.kernels.iter().filter(|k| matches!(k.kind, Kind::Soup { .. }));
    let fits =
        |k: &&Arc<PoolKernel>| one_shape.is_none_or(|s| k.kernel.interface.local_size == [s[0], s[1], 1]);
    let mut candidates: Vec<&Arc<PoolKernel>> = all().filter(fits).collect();
    if candidates.is_empty() {
        candidates = all().collect();
    }
    let mut submissions = Vec::new();
    let mut kernels = Vec::new();
    for position in 0..2 + random.below(5) {
        let chosen = candidates[random.below(candidates.len())];
        let size = chosen.kernel.interface.local_size;
        let groups = if matches!(chosen.kind, Kind::Soup { dims: 2 }) {
            [width.div_ceil(size[0]), height.div_ceil(size[1]), 1]
        } else {
            // Sometimes fewer or more groups than elements need.
            let exact = n.div_ceil(size[0]);
            [if random.one_in(8) { 1 + detail.below(2 * exact as usize) as u32 } else { exact }, 1, 1]
        };
        let buffers = buffers_for(random, position, &chosen.kernel.interface);
        let arg = |(binding, buffer): (&vkfuse_jit::kernel::Binding, usize)| Arg {
            at: binding.at,
            buffer: BufferId(buffer as u64),
            offset: 0,
            len: bytes as u64,
            promote: wishes[buffer],
            numbers: None,
            image: None,
        };
        let push = [n, width, height, 1 + detail.below(5) as u32];
        submissions.push(Submission {
            kernel: chosen.kernel.clone(),
            base: [0; 3],
            groups,
            args: chosen.kernel.interface.bindings.iter().zip(buffers).map(arg).collect(),
            push: push.iter().flat_map(|v| v.to_le_bytes()).collect(),
        });
        kernels.push(chosen.clone());
    }
    let content = |random: &mut Random| (random.bits() as u32 % 1000).to_le_bytes();
    let buffers = (0..BUFFERS).map(|_| (0..bytes / 4).flat_map(|_| content(detail)).collect()).collect();
    let (family, legality) = (Family::Mixed, Legality::Unlabelled);
    Case { family, legality, violation: "", submissions, kernels, buffers }
}

/// A buffer for each binding. A chain: outputs tend to be what the next kernel reads.
fn buffers_for(random: &mut Random, position: usize, interface: &Interface) -> Vec<usize> {
    let output = (2 + position) % BUFFERS;
    let choose = |binding: &vkfuse_jit::kernel::Binding| {
        if binding.writes {
            return output;
        }
        if random.one_in(2) {
            return (1 + position) % BUFFERS;
        }
        // In place now and then; most kernels would race with themselves.
        let any = random.below(BUFFERS);
        if any == output && !random.one_in(8) { (any + 1) % BUFFERS } else { any }
    };
    interface.bindings.iter().map(choose).collect()
}

/// Index expressions that send different items to different elements. `i` is the item's number, `x` and
/// `y` its coordinates, `g` its group, `t` its place in the group, `L` the group's size.
const INJECTIVE: [&str; 12] = [
    "i",
    "i",
    "i",
    "p.n - 1u - i",
    "i ^ 1u",
    "g * L + (L - 1u - t)",
    "g * L + (t ^ 1u)",
    "i + 3u",
    "2u * i",
    "2u * i + 1u",
    "(i / L) * L + i % L",
    "min(i, p.n + 500u)",
];

/// Index expressions that do not.
const OTHER: [&str; 10] = [
    "i / 2u",
    "i + 1u",
    "min(i + 1u, p.n - 1u)",
    "max(i, 1u) - 1u",
    "0u",
    "g",
    "(i * 3u) % p.n",
    "g * L",
    "i % 8u",
    "select(i, i + 1u, p.k > 2u)",
];

/// A loop with an index beside its counter, which some rounds may leave as it is.
fn stepping(random: &mut Random, text: &mut String, value: &str) {
    const CONDITIONS: [&str; 9] = [
        "e >= p.n",
        "e >= p.n",
        "e >= 4u * p.n",
        "e < p.k",
        "j == 2u",
        "j < p.k",
        "(e & 3u) == 2u",
        "a0[e] > 500u",
        "p.k == 3u",
    ];
    let (first, step) =
        *random.pick(&[("4u * i", "1u"), ("i", "p.n"), ("i", "nw.x * nw.y * L"), ("i + 8u", "p.k")]);
    let head = *random.pick(&["j < 4u; j++", "j != 3u; j++", "j < 4u && e < p.n; j++", "j < p.k; j += 2u"]);
    let condition = *random.pick(&CONDITIONS);
    let leave = *random.pick(&["continue", "continue", "break", "return"]);
    let work = format!("z[e] = ({value}) + own;");
    let (before, behind) = if random.one_in(4) { (work.as_str(), "") } else { ("", work.as_str()) };
    let body = match random.below(4) {
        0 => format!("if (!({condition})) {{ {behind} }} {before} e += {step};"),
        1 => format!("{before} if (!({condition})) {{ {behind} e += {step}; }}"),
        2 => format!("{before} if ({condition}) {{ {leave}; }} {behind} e += {step};"),
        _ => format!("{behind} e += {step}; if ({condition}) {{ {leave}; }} {before}"),
    };
    let _ = match random.below(5) {
        // Tested behind what it does: at its end, or before a step.
        0 => {
            let stop = *random.pick(&["j >= 4u", "j > p.k", "!(j < p.k)", "j == 3u"]);
            writeln!(
                text,
                "  var e = {first};\n  var j = 0u; loop {{ {body} continuing {{ j += 1u; break if {stop}; }} }}"
            )
        }
        // Its step is in the body, where a `continue` would pass it by for ever.
        1 if !body.contains("continue") => {
            let stop = *random.pick(&["j >= 3u", "j + 1u >= p.k", "j == 2u"]);
            writeln!(
                text,
                "  var e = {first};\n  var j = 0u; loop {{ {body} if ({stop}) {{ break; }} j++; }}"
            )
        }
        _ => writeln!(text, "  var e = {first};\n  for (var j = 0u; {head}) {{ {body} }}"),
    };
}

/// Helpers that return on every way.
const HELPERS: [&str; 5] = [
    "fn either(x: u32, y: u32) -> u32 { if (x & 1u) == 0u { return x; } else { return x * 3u + y; } }",
    "fn either(x: u32, y: u32) -> u32 { if y < 4u { return x; } else if y < 9u { return y; } else { return x ^ y; } }",
    "fn either(x: u32, y: u32) -> u32 { switch y & 3u { case 0u: { return x; } case 1u, 2u: { return y; } default: { return x - y; } } }",
    "fn either(x: u32, y: u32) -> u32 { var z = x; loop { if z < 16u { return z + y; } z = z / 3u; } }",
    "fn either(x: u32, y: u32) -> u32 { if x > y { if y > 2u { return x; } else { return y; } } else { return 5u; } }",
];

/// A random kernel. `open`: with an override.
pub(super) fn kernel_text(random: &mut Random, shape: [u32; 2], open: bool) -> String {
    let [lx, ly] = shape;
    let size = lx * ly;
    let mut text =
        String::from("struct P { n: u32, width: u32, height: u32, k: u32 }\nvar<immediate> p: P;\n");
    let reads = 1 + random.below(2);
    let atomic = random.one_in(16);
    for number in 0..reads {
        let _ = writeln!(text, "@group(0) @binding({number}) var<storage, read> a{number}: array<u32>;");
    }
    let element = if atomic { "atomic<u32>" } else { "u32" };
    let _ = writeln!(text, "@group(0) @binding({reads}) var<storage, read_write> z: array<{element}>;");
    let shared = random.one_in(6);
    if shared {
        let _ = writeln!(text, "var<workgroup> part: array<u32, {size}>;");
    }
    let helps = random.one_in(4);
    if helps {
        let _ = writeln!(text, "{}", random.pick(&HELPERS));
    }
    // Given a value that is not its default, or none.
    let factor = if open { "override q: u32 = 3u;\n" } else { "const q = 3u;\n" };
    text.push_str(factor);
    let _ = writeln!(
        text,
        "const L: u32 = {size}u;\n@compute @workgroup_size({lx}, {ly}, 1)\nfn main(\n\
         @builtin(global_invocation_id) gid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,\n\
         @builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nw: vec3<u32>) {{"
    );
    let item_only = !shared && random.one_in(2);
    if ly > 1 {
        let row_major = !random.one_in(5);
        let index = if row_major { "gid.y * p.width + gid.x" } else { "gid.x * p.height + gid.y" };
        let _ = writeln!(text, "  let i = {index};");
    } else {
        text.push_str("  let i = gid.x;\n");
    }
    if item_only {
        text.push_str("  let g = i / L; let t = i % L;\n");
    } else {
        text.push_str("  let t = lid.y * ");
        let _ = writeln!(text, "{lx}u + lid.x;\n  let g = wid.y * nw.x + wid.x;");
    }
    let read = |random: &mut Random, buffer: usize| {
        let index = if random.one_in(4) { random.pick(&OTHER) } else { random.pick(&INJECTIVE[..6]) };
        format!("a{buffer}[{index}]")
    };
    let mut value = read(random, 0);
    for buffer in 1..reads {
        let other = read(random, buffer);
        let op = *random.pick(&["+", "*", "^", "-"]);
        value = format!("({value} {op} {other})");
    }
    let mut value = format!("{value} * q + p.k");
    if helps {
        value = format!("either({value}, i)");
    }
    let guard = if ly > 1 { "gid.x >= p.width || gid.y >= p.height" } else { "i >= p.n" };
    if shared {
        // No early return before a barrier.
        let _ = writeln!(text, "  part[t] = i + p.k;\n  workgroupBarrier();");
        let other = *random.pick(&["L - 1u - t", "t ^ (L / 2u)", "0u"]);
        let _ = writeln!(text, "  let own = part[min({other}, L - 1u)];");
    } else {
        text.push_str("  let own = 7u;\n");
    }
    let write = if random.one_in(12) { *random.pick(&OTHER) } else { *random.pick(&INJECTIVE) };
    // Without its guard a reversal leaves the buffer.
    if write.starts_with("p.n") || !random.one_in(6) {
        let _ = writeln!(text, "  if ({guard}) {{ return; }}");
    }
    match random.below(13) {
        _ if atomic => {
            let _ = writeln!(text, "  atomicAdd(&z[{write}], ({value}) ^ own);");
        }
        0 => {
            let bound = if random.one_in(3) { "p.k" } else { "4u" };
            let _ = writeln!(
                text,
                "  for (var k = 0u; k < {bound}; k++) {{ z[4u * i + k] = ({value}) + own * k; }}"
            );
        }
        1 if ly == 1 && !item_only => {
            let _ = writeln!(text, "  for (var j = i; j < p.n; j += nw.x * L) {{ z[j] = a0[j] + own; }}");
        }
        2 => {
            let _ = writeln!(text, "  if (i % 2u == 0u) {{ z[{write}] = ({value}) ^ own; }}");
        }
        3 => {
            let _ = writeln!(text, "  z[2u * i] = ({value}) + own;\n  z[2u * i + 1u] = {value};");
        }
        4 => {
            let _ = writeln!(text, "  if (i % 2u == 0u) {{ z[i] = {value}; }} else {{ z[i] = own; }}");
        }
        5 => {
            let other = *random.pick(&INJECTIVE);
            let _ = writeln!(
                text,
                "  switch (p.k) {{ case 1u, 4u: {{ z[{other}] = {value}; }} case 2u: {{ z[{write}] = own; }} \
                 default: {{ z[{write}] = ({value}) ^ own; }} }}"
            );
        }
        6 => {
            let (condition, other) =
                (*random.pick(&["p.k == 2u", "p.k < 3u", "p.k != 4u"]), *random.pick(&INJECTIVE));
            let _ =
                writeln!(text, "  if ({condition}) {{ z[{other}] = {value}; }} else {{ z[{write}] = own; }}");
        }
        7 | 8 => stepping(random, &mut text, &value),
        _ => {
            let _ = writeln!(text, "  z[{write}] = ({value}) ^ own;");
        }
    }
    text.push_str("}\n");
    text
}
