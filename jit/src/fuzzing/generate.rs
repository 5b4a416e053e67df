//! Random kernels as WGSL text, and random lists over them.

use std::fmt::Write as _;
use std::sync::Arc;

use smallvec::SmallVec;

use super::random::Random;
use crate::kernel::{Kernel, Module, Specialized};
use crate::plan::{Arg, BufferId, Promote, Submission};

/// Memory objects of a case.
const BUFFERS: usize = 6;

/// One list to fuse, and what its buffers hold at first.
pub struct Case {
    /// The list.
    pub submissions: Vec<Submission>,
    /// Initial contents by buffer number.
    pub buffers: Vec<Vec<u8>>,
    texts: Vec<Arc<str>>,
}

impl Case {
    /// The case as text, to reproduce it by hand.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for (number, (submission, source)) in self.submissions.iter().zip(&self.texts).enumerate() {
            let args: Vec<String> = submission
                .args
                .iter()
                .map(|a| format!("{} -> buffer {} {:?}", a.binding, a.buffer.0, a.promote))
                .collect();
            let push: Vec<u32> = submission
                .push
                .chunks_exact(4)
                .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect();
            let _ = writeln!(
                text,
                "--- submission {number}: groups {:?}, push {push:?}, {}\n{source}",
                submission.groups,
                args.join(", ")
            );
        }
        text
    }
}

struct PoolKernel {
    kernel: Arc<Specialized>,
    text: Arc<str>,
    two_dimensional: bool,
}

/// Makes cases.
pub struct Generator {
    random: Random,
    pool: Vec<PoolKernel>,
}

/// Work-group shapes kernels come in.
const SHAPES: [[u32; 2]; 6] = [[8, 1], [8, 1], [32, 1], [1, 1], [4, 4], [8, 2]];

impl Generator {
    /// A generator with a pool of `kernels` kernels.
    ///
    /// # Panics
    /// If a generated kernel does not compile, which is a defect of the generator.
    pub fn new(seed: u64, kernels: usize) -> Self {
        let mut random = Random::new(seed);
        let pool = (0..kernels)
            .map(|number| {
                let shape = *random.pick(&SHAPES);
                let text = kernel_text(&mut random, shape);
                let module = Module::from_wgsl(&format!("k{number}"), &text)
                    .unwrap_or_else(|error| panic!("{error}\n{text}"));
                let kernel = Kernel::new(&module, None).expect("one entry point");
                PoolKernel {
                    kernel: kernel.specialize(&[]).expect("no constants"),
                    text: text.into(),
                    two_dimensional: shape[1] > 1,
                }
            })
            .collect();
        Self { random, pool }
    }

    /// The next list.
    pub fn next_case(&mut self) -> Case {
        let random = &mut self.random;
        let length = 2 + random.below(5);
        let width = 1 + random.below(20) as u32;
        let height = 1 + random.below(12) as u32;
        let n = width * height;
        // Half of the lists keep to one shape, as users' lists do.
        let one_shape = random.one_in(2).then(|| *random.pick(&SHAPES));
        let mut wishes = [Promote::None; BUFFERS];
        for wish in wishes.iter_mut().skip(2) {
            *wish = *random.pick(&[Promote::None, Promote::Private, Promote::Local, Promote::Auto]);
        }
        let bytes = 4 * (8 * n as usize + 512);
        let mut submissions = Vec::with_capacity(length);
        let mut texts = Vec::with_capacity(length);
        for position in 0..length {
            let fits =
                |k: &&PoolKernel| one_shape.is_none_or(|s| k.kernel.interface.local_size == [s[0], s[1], 1]);
            let candidates: Vec<&PoolKernel> = self.pool.iter().filter(fits).collect();
            let chosen = match candidates.as_slice() {
                [] => &self.pool[random.below(self.pool.len())],
                some => some[random.below(some.len())],
            };
            let size = chosen.kernel.interface.local_size;
            let groups = if chosen.two_dimensional {
                [width.div_ceil(size[0]), height.div_ceil(size[1]), 1]
            } else {
                // Sometimes fewer or more groups than elements need.
                let exact = n.div_ceil(size[0]);
                [if random.one_in(8) { 1 + random.below(2 * exact as usize) as u32 } else { exact }, 1, 1]
            };
            let args: SmallVec<[Arg; 8]> = chosen
                .kernel
                .interface
                .bindings
                .iter()
                .map(|binding| {
                    // A chain: outputs tend to be what the next kernel reads.
                    let output = (2 + position) % BUFFERS;
                    let buffer = if binding.writes {
                        output
                    } else if random.one_in(2) {
                        (1 + position) % BUFFERS
                    } else {
                        // In place now and then; most kernels would race with themselves.
                        let any = random.below(BUFFERS);
                        if any == output && !random.one_in(8) { (any + 1) % BUFFERS } else { any }
                    };
                    Arg {
                        set: binding.set,
                        binding: binding.binding,
                        buffer: BufferId(buffer as u64),
                        offset: 0,
                        len: bytes as u64,
                        promote: wishes[buffer],
                    }
                })
                .collect();
            let push = [n, width, height, 1 + random.below(5) as u32];
            submissions.push(Submission {
                kernel: chosen.kernel.clone(),
                groups,
                args,
                push: push.iter().flat_map(|v| v.to_le_bytes()).collect(),
            });
            texts.push(chosen.text.clone());
        }
        let buffers = (0..BUFFERS)
            .map(|_| (0..bytes / 4).flat_map(|_| (random.bits() as u32 % 1000).to_le_bytes()).collect())
            .collect();
        Case { submissions, buffers, texts }
    }
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

fn kernel_text(random: &mut Random, shape: [u32; 2]) -> String {
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
    let value = format!("{value} * 3u + p.k");
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
    match random.below(9) {
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
        _ => {
            let _ = writeln!(text, "  z[{write}] = ({value}) ^ own;");
        }
    }
    text.push_str("}\n");
    text
}
