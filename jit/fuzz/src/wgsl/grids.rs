//! Lists of kernels over a grid, as images are worked on: neighbours with all sorts of borders, up- and down-sampling, rows, columns and transposed
//! reads, and flat kernels between them.
//!
//! Each item writes its own elements of buffers that its kernel does not read, and reads what it likes of what was written before. So each kernel is
//! right by itself; whether a list may be one kernel is not known: a neighbour of what an earlier kernel wrote has to be recomputed.

use std::fmt::Write as _;
use std::sync::Arc;

use super::case::{Case, Family, Legality};
use super::pool::PoolKernel;
use super::random::Random;
use super::written::{Written, stream, submission, text, wishes};
use vkfuse_jit::plan::{Promote, Submission};

/// Buffers that are only read, and those that are written.
const INPUTS: [u64; 2] = [0, 1];
const WORK: [u64; 4] = [2, 3, 4, 5];
/// Words of every buffer: more than any grid has, for kernels that write some elements further on.
const WORDS: usize = 2048;

/// Sizes of work-groups.
const LOCALS: [[u32; 2]; 12] =
    [[8, 8], [8, 8], [16, 4], [8, 4], [4, 8], [16, 8], [32, 4], [16, 16], [32, 1], [16, 2], [64, 1], [5, 3]];

/// Makes such lists.
pub struct Grids {
    seed: u64,
    sizes: usize,
    kernels: Written,
}

/// The list being made.
struct Draft {
    random: Random,
    width: u32,
    height: u32,
    /// What has been written, with the size of its grid.
    written: Vec<(u64, [u32; 2])>,
    wishes: Vec<Promote>,
    submissions: Vec<Submission>,
    kernels: Vec<Arc<PoolKernel>>,
}

impl Grids {
    /// Lists of a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, sizes: 1, kernels: Written::default() }
    }

    /// The same with this many lists in a row that are made of the same kernels, as far as their sizes allow.
    #[must_use]
    pub fn sizes(mut self, sizes: usize) -> Self {
        self.sizes = sizes.max(1);
        self
    }

    /// The list of that number.
    pub fn case(&mut self, number: usize) -> Case {
        let mut detail = stream(self.seed, number ^ 0x6e1d_0000_0000);
        let width = *detail.pick(&[4, 8, 16, 16, 24, 32, 32, 64, 13, 30]);
        let height = *detail.pick(&[1, 2, 4, 8, 8, 16, 16, 7, 11]);
        let mut random = stream(self.seed, number / self.sizes);
        let mut wishes = wishes(&mut random, 6);
        // Shared memory is for rows and tiles.
        wishes.iter_mut().filter(|wish| **wish == Promote::Local).for_each(|wish| *wish = Promote::Auto);
        let (written, submissions, kernels) = (Vec::new(), Vec::new(), Vec::new());
        let mut draft = Draft { random, width, height, written, wishes, submissions, kernels };
        let mut was_flat = false;
        for _ in 0..2 + draft.random.below(3) {
            // Only what is cheap is recomputed for neighbours.
            let is_flat = draft.random.below(8) < if was_flat { 1 } else { 5 };
            match is_flat {
                true => self.flat(&mut draft),
                false => self.grid(&mut draft),
            }
            was_flat = is_flat;
        }
        let mut contents = Random::new(number as u64 ^ 0x5eed);
        let buffers = (0..6)
            .map(|_| (0..WORDS).flat_map(|_| (contents.below(1000) as u32).to_le_bytes()).collect())
            .collect();
        let Draft { submissions, kernels, .. } = draft;
        let (family, legality) = (Family::Grids, Legality::Unlabelled);
        Case { family, legality, violation: "", submissions, kernels, buffers }
    }

    /// What is read, with the size of its grid.
    fn read(draft: &mut Draft) -> (u64, [u32; 2]) {
        let whole = [draft.width, draft.height];
        match draft.written.last().copied().filter(|_| !draft.random.one_in(5)) {
            Some(last) => last,
            None => (*draft.random.pick(&INPUTS), whole),
        }
    }

    fn target(draft: &mut Draft, others: &[u64]) -> u64 {
        let free: Vec<u64> = WORK.into_iter().filter(|one| !others.contains(one)).collect();
        *draft.random.pick(&free)
    }

    /// By elements in a line.
    fn flat(&mut self, draft: &mut Draft) {
        let (from, [width, height]) = Self::read(draft);
        let other = *draft.random.pick(&INPUTS);
        let to = Self::target(draft, &[from]);
        let total = width * height;
        let size = *draft.random.pick(&[16, 32, 64]);
        let value = draft.random.pick(&[
            "a[i] * 3u + b[i]",
            "a[i] ^ (b[i] + 7u)",
            "a[i] + b[i % p.x]",
            "(a[i] >> 1u) + 5u",
        ]);
        let body = format!("let i = gid.x; if (i >= p.z) {{ return; }} z[i] = {value};");
        let (groups, push) = ([total.div_ceil(size), 1, 1], [width, height, total, 0]);
        self.submit(draft, &text("a b z", size, &body), groups, &[from, other, to], push);
        draft.written.retain(|(buffer, _)| *buffer != to);
        draft.written.push((to, [width, height]));
    }

    /// By items of a grid.
    fn grid(&mut self, draft: &mut Draft) {
        let (from, [width, height]) = Self::read(draft);
        let other = *draft.random.pick(&INPUTS);
        let to = Self::target(draft, &[from]);
        let also = Self::target(draft, &[from, to]);
        let random = &mut draft.random;
        let [lx, ly] = *random.pick(&LOCALS);
        // The grid that is written: the one that is read, half of it, or twice as much.
        let (grid, value) = match random.below(12) {
            0 | 1 if width * height <= 512 => ([2 * width, 2 * height], up(random)),
            2 if width > 1 && height > 1 => ([width / 2, height / 2], down(random)),
            3 => ([width, height], "let v = a[x * p.w + y] + b[i];".to_owned()),
            4 => ([width, height], "let v = a[i] + b[x] * 3u + b[y];".to_owned()),
            5 => ([width, height], "let v = a[i] * 3u + b[i];".to_owned()),
            _ => ([width, height], stencil(random)),
        };
        let shift = *random.pick(&[0, 0, 0, 0, 4, 1, 3]);
        let is_exact = grid[0] % lx == 0 && grid[1] % ly == 0 && random.one_in(2);
        let (mut store, mut names) = (format!("z[i + {shift}u] = v;"), "a b z");
        match random.below(10) {
            0 => store = format!("if (v % 3u != 0u) {{ {store} }}"),
            1 => store = format!("if (v % 2u == 0u) {{ z[i + {shift}u] = v + 1u; }} else {{ {store} }}"),
            2 | 3 => (store, names) = (format!("{store} zz[i] = v ^ 9u;"), "a b z zz"),
            _ => {}
        }
        let ids = match random.below(4) {
            0 => format!("let x = wid.x * {lx}u + lid.x; let y = wid.y * {ly}u + lid.y;"),
            1 => format!("let x = wid.x * {lx}u + lid.x; let y = gid.y;"),
            _ => "let x = gid.x; let y = gid.y;".to_owned(),
        };
        let own = format!("let i = y * p.x + x; {value} {store}");
        let body = match random.below(2) {
            _ if is_exact => format!("{ids} {own}"),
            0 => format!("{ids} if (x >= p.x || y >= p.y) {{ return; }} {own}"),
            _ => format!("{ids} if (x < p.x && y < p.y) {{ {own} }}"),
        };
        let spare = u32::from(!is_exact && random.one_in(6));
        let groups = [grid[0].div_ceil(lx) + spare, grid[1].div_ceil(ly), 1];
        let push = [grid[0], grid[1], width, height];
        let all = [from, other, to, also];
        let buffers = &all[..names.split_whitespace().count()];
        self.submit(draft, &text(names, format!("{lx}, {ly}"), &body), groups, buffers, push);
        let written = if buffers.len() == 4 { &[also, to][..] } else { &[to] };
        draft.written.retain(|(buffer, _)| !written.contains(buffer));
        draft.written.extend(written.iter().map(|buffer| (*buffer, grid)));
    }

    fn submit(&mut self, draft: &mut Draft, text: &str, groups: [u32; 3], buffers: &[u64], push: [u32; 4]) {
        let kernel = self.kernels.of(text);
        draft.submissions.push(submission(&kernel, groups, buffers, (WORDS, &draft.wishes), push));
        draft.kernels.push(kernel);
    }
}

/// Reads of a grid of half the size, `p.z` wide.
fn up(random: &mut Random) -> String {
    random
        .pick(&[
            "let v = a[(y / 2u) * p.z + x / 2u] + 1u;",
            "let v = a[(y >> 1u) * p.z + (x >> 1u)] + b[i % 7u];",
            "let r = min(x / 2u + (x & 1u), p.z - 1u); let v = a[(y / 2u) * p.z + x / 2u] + a[(y / 2u) * p.z + r];",
        ])
        .to_string()
}

/// Reads of a grid of twice the size, `p.z` wide.
fn down(random: &mut Random) -> String {
    random
        .pick(&[
            "let v = a[2u * y * p.z + 2u * x];",
            "let j = 2u * y * p.z + 2u * x; let v = a[j] + a[j + 1u] + a[j + p.z] + a[j + p.z + 1u];",
        ])
        .to_string()
}

/// A sum over neighbours, with one sort of border.
fn stencil(random: &mut Random) -> String {
    let [left, right] = [*random.pick(&[0, 1, 1, 2]), *random.pick(&[0, 1, 1, 2, 3])];
    let [above, below] = [*random.pick(&[0, 1, 1]), *random.pick(&[0, 1, 1, 2])];
    let border = random.below(7);
    let weight = ["1", "(d + 2)", "(e * e + 1)"][random.below(3)];
    let is_written_out = random.one_in(2);
    // `d` and `e` from the item's own place; `w` and `h` as signed numbers.
    let read = match border {
        0 => "a[clamp(iy + e, 0, h - 1) * w + clamp(ix + d, 0, w - 1)]",
        1 => "a[u32(max(min(iy + e, h - 1), 0)) * p.x + u32(max(min(ix + d, w - 1), 0))]",
        2 => "a[((iy + e + h) % h) * w + (ix + d + w) % w]",
        3 => "a[min(abs(iy + e), h - 1) * w + min(abs(ix + d), w - 1)]",
        4 => {
            "select(0u, a[clamp(iy + e, 0, h - 1) * w + clamp(ix + d, 0, w - 1)], ix + d >= 0 && ix + d < w)"
        }
        _ => "a[(iy + e) * w + ix + d]",
    };
    let term = format!("v += u32{weight_of} * {read};", weight_of = format_args!("({weight})"));
    // Beyond the border nothing is read.
    let round = match border {
        5 => format!("if (iy + e < 0 || iy + e >= h || ix + d < 0 || ix + d >= w) {{ continue; }} {term}"),
        6 => format!("if (iy + e >= 0 && iy + e < h && ix + d >= 0 && ix + d < w) {{ {term} }}"),
        _ => term,
    };
    let mut body =
        "let w = i32(p.x); let h = i32(p.y); let ix = i32(x); let iy = i32(y); var v = b[i];".to_owned();
    if is_written_out && border != 5 {
        for e in -above..=below {
            for d in -left..=right {
                let _ = write!(body, " {{ let d = {d}; let e = {e}; {round} }}");
            }
        }
        return body;
    }
    format!(
        "{body} for (var e = {}; e <= {below}; e++) {{ for (var d = {}; d <= {right}; d++) {{ {round} }} }}",
        -above, -left
    )
}
